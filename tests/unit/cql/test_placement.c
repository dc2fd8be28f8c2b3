/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas where Cassandra places them: by its own word, in small rings, and beside a model. */
#include "cql/policy.h"
#include "rings.h"

/* ---- what Cassandra says ---- */

/*
 * From Cassandra 5.0.8: the full replicas among calculateNaturalReplicas() of its
 * NetworkTopologyStrategy and SimpleStrategy, for two rings out of a larger number that was
 * compared.
 */
static const struct vvcql_ring_host first_ring[] = {
    {"dc2", "r3", TOKENS(-84, 63, -32)}, {"dc2", "r1", TOKENS(-90, 93, -42)},
    {"dc1", "r2", TOKENS(-99, -41, 65)}, {"dc1", "r1", TOKENS(-94, -6, -21)},
    {"dc1", "r3", TOKENS(-27, 43, 26)},  {"dc1", "r2", TOKENS(29, -62, -95)},
    {"dc2", "r3", TOKENS(-10, 52, -45)},
};

static const struct vvcql_ring_host second_ring[] = {
    {"dc1", "r2", TOKENS(-33, -31)}, {"dc1", "r4", TOKENS(-3, -4)},
    {"dc1", "r1", TOKENS(-44, -7)},  {"dc3", "r1", TOKENS(-99, -38)},
    {"dc1", "r1", TOKENS(-97, -76)}, {"dc3", "r2", TOKENS(-100, -54)},
    {"dc1", "r1", TOKENS(-67, 57)},
};

struct answer {
    const char *keyspace;
    int64_t token;
    const char *replicas;
};

static const struct answer first_answers[] = {
    {"NetworkTopologyStrategy dc1=3 dc2=6 dc3=1", -49, "6 1 2 0 4 3"},
    {"NetworkTopologyStrategy dc1=3 dc2=6 dc3=1", -11, "6 3 4 5 0 1"},
    {"NetworkTopologyStrategy dc1=3 dc2=6 dc3=1", 10, "4 5 6 0 1 3"},
    {"NetworkTopologyStrategy dc1=3 dc2=6 dc3=1", -77, "5 6 1 0 4 3"},
    {"NetworkTopologyStrategy dc1=3 dc2=6 dc3=1", -114, "2 3 1 0 6 4"},
    {"NetworkTopologyStrategy dc1=3 dc2=6 dc3=1", 69, "1 2 3 0 6 4"},
    {"NetworkTopologyStrategy dc1=3/1 dc2=2/1 dc4=3", 104, "2 3 1"},
    {"NetworkTopologyStrategy dc1=3/1 dc2=2/1 dc4=3", -55, "6 2 4"},
    {"NetworkTopologyStrategy dc1=3/1 dc2=2/1 dc4=3", -68, "5 6 4"},
    {"NetworkTopologyStrategy dc1=3/1 dc2=2/1 dc4=3", 62, "0 2 3"},
    {"NetworkTopologyStrategy dc1=3/1 dc2=2/1 dc4=3", -85, "0 5 4"},
    {"NetworkTopologyStrategy dc2=5 dc3=5 dc4=6", 27, "6 0 1"},
    {"NetworkTopologyStrategy dc2=5 dc3=5 dc4=6", -39, "0 6 1"},
    {"NetworkTopologyStrategy dc2=5 dc3=5 dc4=6", 109, "1 0 6"},
    {"NetworkTopologyStrategy dc2=5 dc3=5 dc4=6", 63, "0 1 6"},
    {"SimpleStrategy replication_factor=6", 66, "1 2 5 3 0 6"},
    {"SimpleStrategy replication_factor=6", -103, "2 5 3 1 0 6"},
    {"SimpleStrategy replication_factor=6", -53, "6 1 2 0 4 3"},
    {"SimpleStrategy replication_factor=6", -92, "1 0 5 6 2 4"},
};

static const struct answer second_answers[] = {
    {"NetworkTopologyStrategy dc1=6 dc2=1 dc4=2", 14, "6 4 2 0 1"},
    {"NetworkTopologyStrategy dc1=6 dc2=1 dc4=2", -40, "0 2 1 6 4"},
    {"NetworkTopologyStrategy dc1=6 dc2=1 dc4=2", -70, "6 2 0 1 4"},
    {"NetworkTopologyStrategy dc2=4 dc3=3 dc4=6/4", -6, "5 3"},
    {"NetworkTopologyStrategy dc2=4 dc3=3 dc4=6/4", -99, "3 5"},
    {"NetworkTopologyStrategy dc1=6/4 dc2=3/2 dc3=3", 0, "6 5 3 4"},
    {"NetworkTopologyStrategy dc1=6/4 dc2=3/2 dc3=3", -4, "1 6 5 3"},
    {"NetworkTopologyStrategy dc1=6/4 dc2=3/2 dc3=3", -42, "3 0 2 5"},
    {"NetworkTopologyStrategy dc1=6/4 dc2=3/2 dc3=3", -99, "3 4 6 5"},
    {"SimpleStrategy replication_factor=5", -32, "0 2 1 6 5"},
    {"SimpleStrategy replication_factor=5", 116, "5 3 4 6 2"},
};

static void placed_as_cassandra_places_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(first_answers); i++) {
        const struct answer *answer = &first_answers[i];
        check_one(first_ring, LENGTH(first_ring), answer->keyspace, answer->token,
                  answer->replicas);
    }
    for (size_t i = 0; i < LENGTH(second_answers); i++) {
        const struct answer *answer = &second_answers[i];
        check_one(second_ring, LENGTH(second_ring), answer->keyspace, answer->token,
                  answer->replicas);
    }
}

/* ---- small rings ---- */

static void a_token_goes_to_the_next_one_of_the_ring(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {
        {"dc1", "r1", TOKENS(INT64_MIN)},
        {"dc1", "r1", TOKENS(0)},
        {"dc1", "r1", TOKENS(1000)},
    };
    struct vvcql_token_map *map = map_of(hosts, 3, "SimpleStrategy replication_factor=1");
    check_replicas(map, INT64_MIN, "0");
    check_replicas(map, INT64_MIN + 1, "1");
    check_replicas(map, -1, "1");
    check_replicas(map, 0, "1");
    check_replicas(map, 1, "2");
    check_replicas(map, 1000, "2");
    check_replicas(map, 1001, "0");
    check_replicas(map, INT64_MAX, "0");
    vvcql_token_map_destroy(map);
}

static void racks_come_in_turn_before_they_are_used_again(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {
        {"dc1", "r1", TOKENS(10)}, {"dc1", "r1", TOKENS(20)}, {"dc1", "r1", TOKENS(30)},
        {"dc1", "r2", TOKENS(40)}, {"dc1", "r2", TOKENS(50)},
    };
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=1", 5, "0");
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=2", 5, "0 3");
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=2", 15, "1 3");
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=2", 45, "4 0");
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=3", 5, "0 1 3");
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=3", 35, "3 4 0");
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=4", 5, "0 1 2 3");
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=5", 5, "0 1 2 3 4");
    check_one(hosts, 5, "NetworkTopologyStrategy dc1=7", 25, "2 3 4 0 1");
    check_one(hosts, 5, "SimpleStrategy replication_factor=2", 5, "0 1");
}

static void racks_of_one_name_in_two_data_centres(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {
        {"dc1", "r1", TOKENS(10)},
        {"dc2", "r1", TOKENS(20)},
        {"dc1", "r1", TOKENS(30)},
        {"dc2", "r2", TOKENS(40)},
    };
    check_one(hosts, 4, "NetworkTopologyStrategy dc1=1 dc2=2", 0, "0 1 3");
    check_one(hosts, 4, "NetworkTopologyStrategy dc2=1 dc1=2", 25, "2 3 0");
}

static void vnodes_of_one_host_in_a_row(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {
        {"dc1", "r1", TOKENS(0, 100, 1000)},
        {"dc1", "r1", TOKENS(200, 2000, 20000)},
        {"dc1", "r1", TOKENS(300, 3000, 30000)},
    };
    check_one(hosts, 3, "NetworkTopologyStrategy dc1=2", 0, "0 1");
    check_one(hosts, 3, "SimpleStrategy replication_factor=2", 0, "0 1");
    check_one(hosts, 3, "SimpleStrategy replication_factor=2", 201, "2 0");
}

static void hosts_without_tokens_keep_nothing(void **state)
{
    (void)state;
    /* The rack r2 has no token: it must not hold up what is left. */
    const struct vvcql_ring_host hosts[] = {
        {"dc1", "r2", NULL, 0},
        {"dc1", "r1", TOKENS(10)},
        {"dc1", "r1", TOKENS(20)},
        {"dc2", "r1", NULL, 0},
    };
    check_one(hosts, 4, "NetworkTopologyStrategy dc1=2 dc2=1", 15, "2 1");
    check_one(hosts, 4, "SimpleStrategy replication_factor=4", 5, "1 2");
    check_one(hosts, 1, "SimpleStrategy replication_factor=4", 5, "");
}

static void a_token_that_two_hosts_claim_is_the_first_ones(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {
        {"dc1", "r1", TOKENS(30)},
        {"dc1", "r2", TOKENS(20, 10, 20)},
        {"dc1", "r3", TOKENS(10)}, /* has none of its own */
    };
    check_one(hosts, 3, "NetworkTopologyStrategy dc1=3", 5, "1 0");
    check_one(hosts, 3, "SimpleStrategy replication_factor=3", 25, "0 1");
}

static void names_that_are_not_known(void **state)
{
    (void)state;
    const struct vvcql_ring_host hosts[] = {
        {NULL, NULL, TOKENS(10)},
        {NULL, "", TOKENS(20)},
        {"dc1", NULL, TOKENS(30)},
    };
    check_one(hosts, 3, "NetworkTopologyStrategy =2 dc1=1", 15, "1 2 0");
}

static void no_more_than_the_first_ones_of_a_data_centre(void **state)
{
    (void)state;
    struct vvcql_ring_host hosts[24];
    int64_t tokens[24];
    for (size_t i = 0; i < 24; i++) {
        tokens[i] = (int64_t)i;
        hosts[i] = (struct vvcql_ring_host){i % 2 == 0 ? "dc1" : "dc2", "r1", &tokens[i], 1};
    }
    check_one(hosts, 24, "NetworkTopologyStrategy dc1=12 dc2=1", 0, "0 1 2 4 6 8 10 12 14");
    check_one(hosts, 24, "SimpleStrategy replication_factor=2147483647", 20, "20 21 22 23 0 1 2 3");
}

/* ---- a model: each replica by its rule, one after the other, with nothing kept ---- */

enum { HOSTS_MAX = 24, TOKENS_MAX = 4, DATACENTERS = 4 };

struct model_host {
    char datacenter[NAME_SIZE];
    char rack[NAME_SIZE];
    int64_t tokens[TOKENS_MAX];
    size_t n_tokens;
    bool is_owner;
};

struct model {
    struct model_host hosts[HOSTS_MAX];
    struct vvcql_ring_host ring_hosts[HOSTS_MAX];
    size_t n_hosts;
    bool is_simple;
    int64_t all[DATACENTERS];
    int64_t transient[DATACENTERS];
    char text[TEXT_MAX];
};

/* The host of the least token that is not below this one, and that token; false: none is. */
static bool next_owner(const struct model *model, int64_t from, size_t *host_out,
                       int64_t *token_out)
{
    bool found = false;
    for (size_t i = 0; i < model->n_hosts; i++) {
        for (size_t k = 0; k < model->hosts[i].n_tokens; k++) {
            int64_t token = model->hosts[i].tokens[k];
            if (token >= from && (!found || token < *token_out)) {
                found = true;
                *host_out = i;
                *token_out = token;
            }
        }
    }
    return found;
}

static bool is_same_datacenter(const struct model *model, size_t a, size_t b)
{
    return model->is_simple || strcmp(model->hosts[a].datacenter, model->hosts[b].datacenter) == 0;
}

/* Of some hosts: how many are of the data centre of `host`, and of how many racks. */
static int64_t count_like(const struct model *model, const bool *some, size_t host,
                          int64_t *n_racks_out)
{
    int64_t n = 0;
    *n_racks_out = 0;
    for (size_t i = 0; i < model->n_hosts; i++) {
        if (!some[i] || !is_same_datacenter(model, i, host)) {
            continue;
        }
        n++;
        bool is_first = true;
        for (size_t k = 0; k < i; k++) {
            is_first = is_first && !(some[k] && is_same_datacenter(model, i, k) &&
                                     strcmp(model->hosts[i].rack, model->hosts[k].rack) == 0);
        }
        *n_racks_out += is_first;
    }
    return n;
}

static bool has_rack(const struct model *model, const bool *some, size_t host)
{
    for (size_t i = 0; i < model->n_hosts; i++) {
        if (some[i] && is_same_datacenter(model, i, host) &&
            strcmp(model->hosts[i].rack, model->hosts[host].rack) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a host that is met is one more replica, and a full one. */
static bool is_replica(const struct model *model, const bool *taken, size_t host, bool *is_full_out,
                       bool *is_kept_out)
{
    bool owners[HOSTS_MAX];
    for (size_t i = 0; i < model->n_hosts; i++) {
        owners[i] = model->hosts[i].is_owner;
    }
    int datacenter = model->is_simple ? 0 : model->hosts[host].datacenter[2] - '1';
    int64_t all = model->all[datacenter];
    int64_t n_racks;
    int64_t n_hosts = count_like(model, owners, host, &n_racks);
    int64_t n_racks_taken;
    int64_t n_taken = count_like(model, taken, host, &n_racks_taken);
    int64_t goal = all < n_hosts ? all : n_hosts;
    if (taken[host] || n_taken >= goal) {
        return false;
    }
    if (!model->is_simple && has_rack(model, taken, host) &&
        n_taken - n_racks_taken >= all - n_racks) {
        return false;
    }
    int64_t transient = model->transient[datacenter] - (all - goal);
    *is_full_out = goal - n_taken > (transient > 0 ? transient : 0);
    *is_kept_out = *is_full_out && n_taken < VVCQL_REPLICAS_MAX;
    return true;
}

static void model_replicas(const struct model *model, int64_t token, char *text_out)
{
    bool taken[HOSTS_MAX] = {false};
    bool has_wrapped = false;
    int64_t from = token;
    size_t size = 0;
    text_out[0] = 0;
    while (!has_wrapped || from < token) {
        size_t host = 0;
        if (!next_owner(model, from, &host, &from)) {
            if (has_wrapped) {
                break;
            }
            has_wrapped = true;
            from = INT64_MIN;
            continue;
        }
        bool is_full;
        bool is_kept;
        if ((!has_wrapped || from < token) && is_replica(model, taken, host, &is_full, &is_kept)) {
            taken[host] = true;
            if (is_kept) {
                size += (size_t)sprintf(text_out + size, size == 0 ? "%zu" : " %zu", host);
            }
        }
        from++;
    }
}

static uint64_t below(uint64_t *random, uint64_t bound)
{
    return (vvcql_random(random) >> 16) % bound;
}

static void make_hosts(struct model *model, uint64_t *random)
{
    model->n_hosts = 1 + below(random, below(random, 3) == 0 ? HOSTS_MAX : 8);
    uint64_t n_datacenters = 1 + below(random, 3);
    uint64_t n_racks = 1 + below(random, 5);
    uint64_t n_tokens = 1 + below(random, TOKENS_MAX);
    bool some_have_none = below(random, 4) == 0;
    for (size_t i = 0; i < model->n_hosts; i++) {
        struct model_host *host = &model->hosts[i];
        snprintf(host->datacenter, NAME_SIZE, "dc%d", 1 + (int)below(random, n_datacenters));
        snprintf(host->rack, NAME_SIZE, "r%d", 1 + (int)below(random, n_racks));
        host->n_tokens = some_have_none && below(random, 3) == 0 ? 0 : n_tokens;
        host->is_owner = false;
        for (size_t k = 0; k < n_tokens; k++) {
            host->tokens[k] = (int64_t)below(random, 300) - 150; /* some twice */
        }
        model->ring_hosts[i] =
            (struct vvcql_ring_host){host->datacenter, host->rack, host->tokens, host->n_tokens};
    }
    size_t owner;
    for (int64_t token = INT64_MIN; next_owner(model, token, &owner, &token); token++) {
        model->hosts[owner].is_owner = true;
    }
}

static void make_setting(struct model *model, uint64_t *random)
{
    model->is_simple = below(random, 4) == 0;
    int size =
        sprintf(model->text, model->is_simple ? "SimpleStrategy" : "NetworkTopologyStrategy");
    for (int i = 0; i < (model->is_simple ? 1 : DATACENTERS); i++) {
        int64_t all = (int64_t)below(random, below(random, 4) == 0 ? 12 : 6);
        int64_t transient =
            all > 1 && below(random, 4) == 0 ? 1 + (int64_t)below(random, (uint64_t)all - 1) : 0;
        model->all[i] = all;
        model->transient[i] = transient;
        char key[NAME_SIZE + 8];
        snprintf(key, sizeof key, model->is_simple ? "replication_factor" : "dc%d", i + 1);
        size += sprintf(model->text + size, transient > 0 ? " %s=%d/%d" : " %s=%d", key, (int)all,
                        (int)transient);
    }
}

static void random_rings_are_those_of_a_model(void **state)
{
    (void)state;
    uint64_t random = 29;
    print_message("seed %d\n", (int)random);
    for (int ring = 0; ring < 400; ring++) {
        struct model model;
        make_hosts(&model, &random);
        for (int setting = 0; setting < 4; setting++) {
            make_setting(&model, &random);
            struct vvcql_token_map *map = map_of(model.ring_hosts, model.n_hosts, model.text);
            for (int query = 0; query < 8; query++) {
                int64_t token = (int64_t)below(&random, 320) - 160;
                char expected[TEXT_MAX];
                model_replicas(&model, token, expected);
                check_replicas(map, token, expected);
            }
            vvcql_token_map_destroy(map);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placed_as_cassandra_places_them),
        cmocka_unit_test(a_token_goes_to_the_next_one_of_the_ring),
        cmocka_unit_test(racks_come_in_turn_before_they_are_used_again),
        cmocka_unit_test(racks_of_one_name_in_two_data_centres),
        cmocka_unit_test(vnodes_of_one_host_in_a_row),
        cmocka_unit_test(hosts_without_tokens_keep_nothing),
        cmocka_unit_test(a_token_that_two_hosts_claim_is_the_first_ones),
        cmocka_unit_test(names_that_are_not_known),
        cmocka_unit_test(no_more_than_the_first_ones_of_a_data_centre),
        cmocka_unit_test(random_rings_are_those_of_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
