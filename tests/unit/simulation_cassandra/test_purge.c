/* SPDX-License-Identifier: Apache-2.0 */
/* Purging by copying: what lives is there whoever stops wherever, and what is over is gone. */
#include "engines_fixture.h"

#define KEPT          (20 * VV_DAY)
#define CLASS         "30d"
#define STATE_COPYING 2
#define STATE_WAITING 3
#define ROUNDS        400 /* a purge has come to its end long before */

/* ---- what the tables have ---- */

static struct vvcql_result *ask_cassandra(struct vvcql_session *session, const char *text)
{
    struct vvcql_result *result;
    struct vvcql_error error = {0};
    if (vvcql_wait(session, vvcql_statement_create(text), &result, &error) != VVCQL_OK) {
        fail_msg("%s: %s", text, error.message);
    }
    return result;
}

static struct vvcql_session *open_session(void)
{
    const struct vvcql_options cql = {.contact_points = NAME "/7"};
    struct vvcql_session *session;
    assert_int_equal(vvcql_session_open(&cql, false, &session, NULL), VVCQL_OK);
    return session;
}

static long long count_rows(const char *table)
{
    char text[96];
    int64_t n = 0;
    struct vvcql_session *session = open_session();
    snprintf(text, sizeof text, "SELECT COUNT(*) FROM varve.%s", table);
    struct vvcql_result *result = ask_cassandra(session, text);
    assert_true(vvcql_next_row(result) && vvcql_get_bigint(result, 0, &n));
    vvcql_result_destroy(result);
    vvcql_session_close(session);
    return n;
}

struct purge {
    int64_t number;
    int32_t state;
};

static struct purge look_at_purge(void)
{
    struct purge purge = {0, -1};
    struct vvcql_session *session = open_session();
    struct vvcql_result *result =
        ask_cassandra(session, "SELECT number, state FROM varve.purges WHERE region = 'default' "
                               "AND class = '" CLASS "' AND part = -1");
    if (vvcql_next_row(result)) {
        assert_true(vvcql_get_bigint(result, 0, &purge.number));
        assert_true(vvcql_get_int(result, 1, &purge.state));
    }
    vvcql_result_destroy(result);
    vvcql_session_close(session);
    return purge;
}

/* ---- working ---- */

static void begin(uint64_t seed, uint32_t n_nodes)
{
    purge_every_ns = 10 * VV_DAY;
    make_cluster(seed);
    for (uint32_t i = 0; i < n_nodes; i++) {
        (void)make_node(i);
    }
}

static void end(void)
{
    drop_cluster();
    purge_every_ns = 0;
}

static void work_all(void)
{
    for (size_t i = 0; i < NODES_MAX; i++) {
        if (is_up(&nodes[i]) && !nodes[i].is_killed) {
            work(&nodes[i]);
        }
    }
}

static void seal_all(void)
{
    for (int round = 0; round < 20; round++) { /* the ledger is read in parts */
        advance(10 * VV_SECOND);
        for (size_t i = 0; i < NODES_MAX; i++) {
            if (is_up(&nodes[i]) && !nodes[i].is_killed) {
                (void)rig_step(&nodes[i].rig, VV_TASK_LEARN);
                (void)rig_step(&nodes[i].rig, VV_TASK_SEAL_ALL);
                (void)rig_step(&nodes[i].rig, VV_TASK_BEAT);
            }
        }
    }
}

/* One after the other, a day apart. */
static void write_days(struct node *node, int days)
{
    for (int i = 0; i < days; i++) {
        write_at(node, now_ns());
        work_all();
        seal_all();
        advance(VV_DAY);
    }
}

/* Whoever is up does what there is to do; false: all purges are at rest. */
static void purge_for_a_while(void)
{
    for (size_t i = 0; i < NODES_MAX; i++) {
        if (is_up(&nodes[i]) && !nodes[i].is_killed) {
            (void)rig_step(&nodes[i].rig, VV_TASK_LEARN);
            (void)rig_step(&nodes[i].rig, VV_TASK_EXPIRE);
            (void)rig_step(&nodes[i].rig, VV_TASK_BEAT);
        }
    }
    advance(10 * VV_SECOND);
}

static void purge_until(int64_t number, int32_t state)
{
    struct purge purge = look_at_purge();
    for (int i = 0; i < ROUNDS && (purge.number < number || purge.state != state); i++) {
        purge_for_a_while();
        purge = look_at_purge();
    }
    assert_int_equal(purge.number, number);
    assert_int_equal(purge.state, state);
}

static void ask_for_purge(struct node *node)
{
    struct vv_error error = {0};
    struct vv_store *store = node->rig.engine->store;
    if (store->ops->shared->ask_purge(store, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
}

/* ---- cases ---- */

static void what_lives_is_copied_and_what_is_over_is_gone(void **state)
{
    (void)state;
    begin(1, 2);
    write_at(&nodes[0], now_ns());
    work_all();
    keep_for(&nodes[0], KEPT);
    write_days(&nodes[0], 40);
    long long before = count_rows("blocks_" CLASS);
    long long points = count_points(&nodes[1]);
    assert_true(before >= 35 && points >= 19 && points < 25);
    ask_for_purge(&nodes[1]);
    purge_until(1, 0);
    long long after = count_rows("blocks_" CLASS "_2");
    assert_int_equal(count_rows("blocks_" CLASS), 0);
    assert_true(after >= 19 && after < before - 10);
    assert_int_equal(count_points(&nodes[0]), points);
    assert_int_equal(count_points(&nodes[1]), points);
    write_days(&nodes[1], 3);
    assert_int_equal(count_rows("blocks_" CLASS), 0);
    assert_true(count_rows("blocks_" CLASS "_2") > after);
    advance(10 * VV_DAY);
    points = count_points(&nodes[1]);
    purge_until(2, 0);
    assert_int_equal(count_rows("blocks_" CLASS "_2"), 0);
    assert_true(count_rows("blocks_" CLASS) > 0);
    assert_int_equal(count_points(&nodes[0]), points);
    end();
}

/* Something of it may be in no tier yet. */
static void what_was_shortened_is_copied_as_long_as_tiers_may_need_it(void **state)
{
    (void)state;
    begin(1, 2);
    write_at(&nodes[0], now_ns());
    work_all();
    keep_for(&nodes[0], KEPT);
    write_days(&nodes[0], 12);
    long long before = count_rows("blocks_" CLASS);
    keep_for(&nodes[0], 2 * VV_DAY);
    work_all();
    ask_for_purge(&nodes[1]);
    purge_until(1, 0);
    assert_int_equal(count_rows("blocks_" CLASS "_2"), before);
    advance(2 * VV_DAY);
    work_all();
    ask_for_purge(&nodes[1]);
    purge_until(2, 0);
    assert_in_range(count_rows("blocks_" CLASS), 1, before - 5);
    end();
}

/* ---- kills ---- */

/* Some days of points in blocks, some not sealed yet, and points that come late into blocks. */
static void fill(uint64_t seed)
{
    begin(seed, 2);
    write_at(&nodes[0], now_ns());
    work_all();
    keep_for(&nodes[0], KEPT);
    write_days(&nodes[0], 4);
    write_at(&nodes[1], now_ns());
    write_at(&nodes[1], now_ns() - 2 * VV_DAY);
    work_all();
    ask_for_purge(&nodes[0]);
}

/* What only runs had is gone by then, but for what is written again. */
static void wait_for_runs(void)
{
    for (int i = 0; i < 5; i++) {
        seal_all();
        purge_for_a_while();
        advance(VV_DAY);
    }
}

static void assert_all_points(const char *when, int where)
{
    for (size_t i = 0; i < 2; i++) {
        work_all();
        long long points = count_points(&nodes[i]);
        if (points != written) {
            fail_msg("%s %d: node %zu has %lld of %lld points", when, where, i, points, written);
        }
    }
}

/* Returns how many requests the node had left to wait for. */
static int die_purging(int requests)
{
    fill((uint64_t)requests + 1);
    struct killing killing = {&nodes[0], requests};
    vv_sim_cassandra_set_hook(model, kill_in_time, &killing);
    for (int i = 0; i < ROUNDS && !nodes[0].is_killed && look_at_purge().number == 0; i++) {
        purge_for_a_while();
    }
    for (int i = 0; i < ROUNDS && !nodes[0].is_killed && look_at_purge().state != 0; i++) {
        purge_for_a_while();
    }
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    if (nodes[0].is_killed) {
        bury_node(&nodes[0], (uint64_t)requests);
        for (int i = 0; i < requests % 20; i++) {
            purge_for_a_while(); /* by the other one alone */
        }
        rig_open(&nodes[0].rig);
    }
    purge_until(1, 0);
    assert_all_points("killed at request", requests);
    wait_for_runs();
    assert_all_points("runs are over, killed at request", requests);
    end();
    return killing.left;
}

static void all_is_there_wherever_a_node_dies_in_a_purge(void **state)
{
    (void)state;
    int left = 0;
    int tries = 0;
    for (int requests = 0; left <= 0; requests += 83, tries++) {
        left = die_purging(requests);
    }
    assert_true(tries > 10);
}

/* ---- pauses ---- */

/* While a node waits for the answer of a request the other one does a whole purge, or copies all
 * and does not drop it yet. */
struct pausing {
    struct node *node;
    int left;
    int32_t until; /* this state */
    bool is_over;
};

static void purge_meanwhile(void *context, uint32_t client)
{
    struct pausing *pausing = context;
    if (client != pausing->node->client || pausing->left-- != 0) {
        return;
    }
    size_t number = (size_t)(pausing->node - nodes);
    pausing->is_over = true;
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    struct purge purge = look_at_purge();
    for (int i = 0; i < ROUNDS && (purge.number == 0 || purge.state != pausing->until); i++) {
        (void)rig_step(&nodes[1 - number].rig, VV_TASK_LEARN);
        (void)rig_step(&nodes[1 - number].rig, VV_TASK_EXPIRE);
        (void)rig_step(&nodes[1 - number].rig, VV_TASK_BEAT);
        advance(10 * VV_SECOND);
        purge = look_at_purge();
    }
    assert_int_equal(purge.number, 1);
    assert_int_equal(purge.state, pausing->until);
}

static bool pause_sealing(size_t number, int requests, int32_t until)
{
    fill((uint64_t)requests + 1);
    struct pausing pausing = {&nodes[number], requests, until, false};
    for (int i = 0; i < 4 && !pausing.is_over; i++) {
        (void)rig_step(&nodes[number].rig, VV_TASK_LEARN);
        vv_sim_cassandra_set_hook(model, purge_meanwhile, &pausing);
        (void)rig_step(&nodes[number].rig, VV_TASK_SEAL_ALL);
        vv_sim_cassandra_set_hook(model, NULL, NULL);
    }
    assert_all_points("paused at request", requests);
    wait_for_runs();
    assert_all_points("runs are over, paused at request", requests);
    end();
    return pausing.is_over;
}

static void pause_everywhere(int32_t until)
{
    for (size_t number = 0; number < 2; number++) {
        int requests = until; /* other ones for each state */
        while (pause_sealing(number, requests, until)) {
            requests += 13;
        }
        assert_true(requests > 100);
    }
}

static void a_seal_that_was_held_up_by_a_whole_purge_loses_nothing(void **state)
{
    (void)state;
    pause_everywhere(0);
}

static void a_seal_that_goes_on_when_all_is_copied_loses_nothing(void **state)
{
    (void)state;
    pause_everywhere(STATE_WAITING);
}

/* ---- answers meanwhile ---- */

#define POINTS_OF_A_BLOCK 3000

/* Of a block of many parts each node asks when the other one has asked for something. */
struct looking {
    bool is_within;
    int looks;
    long long least;
};

static void look(void *context, uint32_t client)
{
    struct looking *looking = context;
    if (client > 1 || looking->is_within) {
        return;
    }
    looking->is_within = true;
    if (look_at_purge().state == STATE_COPYING && look_at_purge().number == 2) {
        long long points = count_points(&nodes[1 - client]);
        looking->looks++;
        looking->least = points < looking->least ? points : looking->least;
    }
    looking->is_within = false;
}

/* The second purge fills the table that is read first. */
static void a_block_that_is_copied_part_by_part_is_answered_whole(void **state)
{
    (void)state;
    block_bytes_max = 4096;
    begin(1, 2);
    write_at(&nodes[0], now_ns());
    work_all();
    keep_for(&nodes[0], KEPT);
    uint64_t value = 7;
    int64_t time = now_ns();
    for (int i = 0; i < POINTS_OF_A_BLOCK; i++) {
        char line[100];
        value = value * 6364136223846793005U + 1442695040888963407U;
        snprintf(line, sizeof line, "m,id=x v=%lldi %lld\n", (long long)(value >> 8),
                 (long long)(time + ++written));
        rig_write_line(&nodes[0].rig, line);
    }
    work_all();
    advance(VV_DAY);
    seal_all();
    advance(VV_DAY);
    seal_all();
    assert_true(count_rows("blocks_" CLASS) > 5);
    ask_for_purge(&nodes[0]);
    purge_until(1, 0);
    advance(2 * VV_HOUR);
    ask_for_purge(&nodes[0]);
    struct looking looking = {.least = INT64_MAX};
    vv_sim_cassandra_set_hook(model, look, &looking);
    purge_until(2, 0);
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    assert_true(looking.looks > 100);
    assert_int_equal(looking.least, written);
    block_bytes_max = 0;
    end();
}

/* ---- retentions ---- */

static void what_is_kept_for_longer_is_found_when_its_first_retention_is_over(void **state)
{
    (void)state;
    begin(1, 2);
    write_at(&nodes[0], now_ns());
    work_all();
    keep_for(&nodes[0], KEPT);
    write_days(&nodes[0], 5);
    keep_for(&nodes[0], 10 * KEPT);
    for (int i = 0; i < 40; i++) {
        advance(VV_DAY);
        work_all();
        seal_all();
    }
    assert_all_points("kept for longer", 40);
    ask_for_purge(&nodes[0]);
    purge_until(1, 0);
    assert_all_points("purged", 1);
    end();
}

struct killing_copier {
    int killed; /* -1: nobody yet */
    bool is_within;
};

static void kill_copier(void *context, uint32_t client)
{
    struct killing_copier *killing = context;
    if (client > 1 || killing->is_within || killing->killed >= 0) {
        return;
    }
    killing->is_within = true;
    if (look_at_purge().state == STATE_COPYING && count_rows("blocks_" CLASS "_2") > 0) {
        killing->killed = (int)client;
        kill_node(&nodes[client]);
    }
    killing->is_within = false;
}

/* What was copied is sealed into another class then, and dropped where it was copied to. */
static void a_purge_ends_though_a_tenant_changes_its_class_meanwhile(void **state)
{
    (void)state;
    struct killing_copier killing = {.killed = -1};
    begin(1, 2);
    write_at(&nodes[0], now_ns());
    work_all();
    keep_for(&nodes[0], KEPT);
    int64_t old = now_ns();
    write_days(&nodes[0], 3);
    advance(VV_DAY);
    seal_all();
    keep_for(&nodes[0], 10 * KEPT);
    for (int i = 0; i < 30; i++) {
        advance(10 * VV_SECOND);
        work_all();
        purge_for_a_while();
    }
    ask_for_purge(&nodes[0]);
    vv_sim_cassandra_set_hook(model, kill_copier, &killing);
    for (int i = 0; i < ROUNDS && killing.killed < 0; i++) {
        purge_for_a_while();
    }
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    assert_true(killing.killed >= 0);
    struct node *other = &nodes[1 - killing.killed];
    bury_node(&nodes[killing.killed], 1);
    for (int day = 0; day < 3; day++) {
        write_at(other, old + day * VV_DAY + VV_SECOND);
    }
    for (int i = 0; i < 6; i++) {
        advance(10 * VV_SECOND);
        work(other);
    }
    seal_all();
    advance(6 * VV_HOUR);
    seal_all();
    assert_true(count_rows("blocks_300d") > 0);
    rig_open(&nodes[killing.killed].rig);
    purge_until(1, 0);
    assert_all_points("purged", 1);
    end();
}

/* Shards tell which table is written, whatever became of the rows of purges. */
static void what_lives_is_not_truncated_though_the_rows_of_purges_are_lost(void **state)
{
    (void)state;
    fill(1);
    purge_until(1, 0);
    struct vvcql_session *session = open_session();
    vvcql_result_destroy(ask_cassandra(
        session, "DELETE FROM varve.purges WHERE region = 'default' AND class = '" CLASS "'"));
    vvcql_session_close(session);
    advance(VV_MINUTE);
    ask_for_purge(&nodes[0]);
    purge_until(2, 0);
    assert_int_equal(count_rows("blocks_" CLASS "_2"), 0);
    assert_true(count_rows("blocks_" CLASS) > 0);
    wait_for_runs();
    assert_all_points("purged again", 2);
    end();
}

/* A node that was away for so long that the others purge without it, and was not restarted. */
static void a_node_that_reads_too_few_tables_says_so(void **state)
{
    (void)state;
    struct vv_error error = {0};
    int64_t set = 10 * VV_DAY;
    begin(1, 0);
    purge_every_ns = 0;
    (void)make_node(1);
    purge_every_ns = set;
    (void)make_node(0);
    write_at(&nodes[0], now_ns());
    work_all();
    keep_for(&nodes[0], KEPT);
    write_days(&nodes[0], 3);
    ask_for_purge(&nodes[0]);
    for (int i = 0; i < 50; i++) {
        purge_for_a_while();
    }
    assert_int_equal(look_at_purge().number, 0); /* it lives: none begins */
    long long points = count_points(&nodes[0]);
    assert_true(points >= 3);
    assert_int_equal(count_points(&nodes[1]), points);
    nodes[1].is_killed = true; /* it does nothing, but has not ended */
    advance(VV_DAY + VV_HOUR);
    ask_for_purge(&nodes[0]);
    purge_until(1, 0);
    struct vv_store *store = nodes[1].rig.engine->store;
    const struct vv_store_read read = {.span_from = 0, .span_to = VV_DAY};
    struct vv_store_answer *answer;
    assert_int_equal(store->ops->begin_read(store, &read, &answer, &error), VV_OVERLOAD);
    assert_non_null(strstr(error.message, "cassandra.purge_every"));
    assert_int_equal(count_points(&nodes[0]), points);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_reads_too_few_tables_says_so),
        cmocka_unit_test(what_lives_is_copied_and_what_is_over_is_gone),
        cmocka_unit_test(what_was_shortened_is_copied_as_long_as_tiers_may_need_it),
        cmocka_unit_test(all_is_there_wherever_a_node_dies_in_a_purge),
        cmocka_unit_test(a_seal_that_was_held_up_by_a_whole_purge_loses_nothing),
        cmocka_unit_test(a_seal_that_goes_on_when_all_is_copied_loses_nothing),
        cmocka_unit_test(a_block_that_is_copied_part_by_part_is_answered_whole),
        cmocka_unit_test(what_is_kept_for_longer_is_found_when_its_first_retention_is_over),
        cmocka_unit_test(a_purge_ends_though_a_tenant_changes_its_class_meanwhile),
        cmocka_unit_test(what_lives_is_not_truncated_though_the_rows_of_purges_are_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
