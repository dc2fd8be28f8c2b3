/* SPDX-License-Identifier: Apache-2.0 */
/* The CQL client and a Cassandra of three nodes, of which one hangs and one dies. */
#include "cql_fixture.h"

#include <signal.h>
#include <time.h>

#define KEYS      30
#define WRITES    3000
#define POLL_NS   50000000
#define POLLS_MAX 1200

/* Of a node, by its place in VARVE_CASSANDRA. */
static pid_t pid_of(size_t node)
{
    const char *pids = getenv("VARVE_CASSANDRA_PIDS");
    assert_non_null(pids);
    for (; node > 0; node--) {
        pids = strchr(pids, ',');
        assert_non_null(pids);
        pids++;
    }
    return (pid_t)strtol(pids, NULL, 10);
}

static void poll_again(int *polls)
{
    struct timespec wait = {.tv_nsec = POLL_NS};
    assert_true(++*polls < POLLS_MAX);
    (void)nanosleep(&wait, NULL);
}

static void wait_for_hosts_up(uint64_t n)
{
    struct vvcql_counters counters;
    int polls = 0;
    vvcql_session_counters(session, &counters);
    while (counters.hosts_up != n) {
        poll_again(&polls);
        vvcql_session_counters(session, &counters);
    }
}

static void test_all_hosts_are_found(void **state)
{
    (void)state;
    struct vvcql_host_info hosts[4];
    wait_for_hosts_up(3);
    assert_int_equal(vvcql_session_hosts(session, hosts, 4), 3);
    for (int i = 0; i < 3; i++) {
        assert_true(hosts[i].is_up && hosts[i].is_local);
        assert_string_equal(hosts[i].datacenter, "dc1");
        assert_int_equal(hosts[i].release[0], '5');
        assert_non_null(strstr(getenv("VARVE_CASSANDRA"), hosts[i].address));
    }
}

/* Hosts that took part in a traced request, once its trace is complete. */
static size_t sources_of(const uint8_t id[16])
{
    uint8_t sources[8][16];
    size_t n = 0;
    int polls = 0;
    struct vvcql_bytes duration = {0};
    while (duration.data == NULL) {
        struct vvcql_statement *select = vvcql_statement_prepared(vvcql_prepare(
            session, "SELECT duration FROM system_traces.sessions WHERE session_id = ?"));
        vvcql_add_uuid(select, id);
        struct vvcql_result *result = query(select);
        bool is_complete = vvcql_next_row(result) && !vvcql_is_null(result, 0);
        vvcql_result_destroy(result);
        if (is_complete) {
            break;
        }
        poll_again(&polls);
    }
    struct vvcql_statement *select = vvcql_statement_prepared(
        vvcql_prepare(session, "SELECT source FROM system_traces.events WHERE session_id = ?"));
    vvcql_add_uuid(select, id);
    struct vvcql_result *result = query(select);
    while (vvcql_next_row(result)) {
        struct vvcql_bytes source;
        assert_true(vvcql_get_bytes(result, 0, &source) && source.size <= 16);
        size_t i = 0;
        while (i < n && memcmp(sources[i], source.data, source.size) != 0) {
            i++;
        }
        if (i == n && n < 8) {
            memcpy(sources[n++], source.data, source.size);
        }
    }
    vvcql_result_destroy(result);
    return n;
}

/* With one replica, a request that reaches it takes no other host. */
static void test_requests_go_to_the_replica(void **state)
{
    (void)state;
    execute(vvcql_statement_create(
        "CREATE KEYSPACE varve_cql_one WITH replication = {'class': 'NetworkTopologyStrategy', "
        "'dc1': 1}"));
    assert_int_equal(vvcql_wait_for_schema(session, SCHEMA_WAIT_MS, &error), VVCQL_OK);
    execute(vvcql_statement_create(
        "CREATE TABLE varve_cql_one.t (a int, b text, v int, PRIMARY KEY ((a, b)))"));
    assert_int_equal(vvcql_wait_for_schema(session, SCHEMA_WAIT_MS, &error), VVCQL_OK);
    struct vvcql_host_info hosts[3];
    int polls = 0;
    while (vvcql_session_replicas(session, "varve_cql_one", 0, hosts, 3) == 0) {
        poll_again(&polls); /* until the event has brought the keyspace */
    }
    const struct vvcql_prepared *insert =
        vvcql_prepare(session, "INSERT INTO varve_cql_one.t (v, b, a) VALUES (?, ?, ?)");
    for (int32_t i = -1; i < KEYS; i++) {
        uint8_t id[16];
        struct vvcql_statement *statement = vvcql_statement_prepared(insert);
        vvcql_add_int(statement, 0);
        vvcql_add_text(statement, "text");
        vvcql_add_int(statement, i);
        vvcql_set_tracing(statement, true);
        struct vvcql_result *result = query(statement);
        assert_true(vvcql_result_tracing_id(result, id));
        vvcql_result_destroy(result);
        if (i >= 0) { /* the first one is prepared wherever it comes */
            assert_int_equal(sources_of(id), 1);
        }
    }
}

/* The client's tokens and replicas are those of Cassandra. */
static void test_tokens_are_those_of_cassandra(void **state)
{
    (void)state;
    struct vvcql_result *result =
        query(vvcql_statement_create("SELECT token(a, b) FROM varve_cql_one.t"));
    size_t by_host[3] = {0};
    while (vvcql_next_row(result)) {
        int64_t token;
        struct vvcql_host_info one;
        struct vvcql_host_info hosts[3];
        assert_true(vvcql_get_bigint(result, 0, &token));
        assert_int_equal(vvcql_session_replicas(session, "varve_cql_one", token, &one, 1), 1);
        assert_int_equal(vvcql_session_hosts(session, hosts, 3), 3);
        for (int i = 0; i < 3; i++) {
            by_host[i] += strcmp(hosts[i].address, one.address) == 0;
        }
    }
    vvcql_result_destroy(result);
    assert_int_equal(by_host[0] + by_host[1] + by_host[2], KEYS + 1);
}

static void write_many(int32_t first)
{
    for (int32_t i = first; i < first + WRITES; i++) {
        struct vvcql_statement *insert = prepared("INSERT INTO writes (k, v) VALUES (?, 1)");
        vvcql_add_int(insert, i);
        vvcql_set_idempotent(insert, true);
        start(insert);
    }
}

static size_t count_writes(void)
{
    int64_t n = 0;
    struct vvcql_statement *select =
        vvcql_statement_create("SELECT count(*) FROM varve_cql.writes");
    vvcql_set_consistency(select, VVCQL_LOCAL_QUORUM);
    vvcql_set_idempotent(select, true);
    struct vvcql_result *result = query(select);
    assert_true(vvcql_next_row(result) && vvcql_get_bigint(result, 0, &n));
    vvcql_result_destroy(result);
    return (size_t)n;
}

/* A node that hangs delays what is idempotent by the speculative delay, no more. */
static void test_a_node_hangs(void **state)
{
    (void)state;
    struct vvcql_counters counters;
    run("CREATE TABLE writes (k int PRIMARY KEY, v int)");
    write_many(0);
    finish();
    assert_int_equal(kill(pid_of(1), SIGSTOP), 0);
    write_many(WRITES);
    finish();
    vvcql_session_counters(session, &counters);
    assert_true(counters.speculative_won > 0);
    assert_int_equal(counters.timeouts, 0);
    assert_int_equal(kill(pid_of(1), SIGCONT), 0);
    wait_for_hosts_up(3);
    assert_int_equal(count_writes(), 2 * WRITES);
}

/* A node that dies in the middle costs nothing that is idempotent. */
static void test_a_node_dies(void **state)
{
    (void)state;
    write_many(2 * WRITES);
    assert_int_equal(kill(pid_of(2), SIGKILL), 0);
    write_many(3 * WRITES);
    finish();
    wait_for_hosts_up(2);
    assert_int_equal(count_writes(), 4 * WRITES);
    assert_int_equal(vvcql_wait_for_schema(session, SCHEMA_WAIT_MS, &error), VVCQL_OK);
}

/* The first contact point is the one that has died. */
static void test_opens_beside_a_dead_node(void **state)
{
    (void)state;
    char contact_points[256];
    const char *all = getenv("VARVE_CASSANDRA");
    const char *last = strrchr(all, ',') + 1;
    (void)snprintf(contact_points, sizeof contact_points, "%s,%.*s", last, (int)(last - all - 1),
                   all);
    struct vvcql_options options = {.contact_points = contact_points};
    struct vvcql_session *first = session;
    open_session(&options);
    wait_for_hosts_up(2);
    vvcql_session_close(session);
    session = first;
}

static int open_speculative(void **state)
{
    if (open_keyspace(state) != 0) {
        return -1;
    }
    vvcql_session_close(session);
    struct vvcql_options options = {
        .contact_points = getenv("VARVE_CASSANDRA"),
        .speculative_delay_ms = 500,
        .speculative_max = 2,
        .speculative_writes = true,
        .request_timeout_ms = 60000,
    };
    open_session(&options);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_hosts_are_found),
        cmocka_unit_test(test_requests_go_to_the_replica),
        cmocka_unit_test(test_tokens_are_those_of_cassandra),
        cmocka_unit_test(test_a_node_hangs),
        cmocka_unit_test(test_a_node_dies),
        cmocka_unit_test(test_opens_beside_a_dead_node),
    };
    return cmocka_run_group_tests(tests, open_speculative, close_keyspace);
}
