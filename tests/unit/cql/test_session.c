/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions with their own thread: opened, used by several threads at once, closed at any moment. */
#include "fake_cluster.h"

#include "cql/session.h"

#include <sched.h>
#include <stdatomic.h>

#define INSERT "INSERT INTO ks1.t (a) VALUES (?)"

static struct fake_cluster fakes;
static char contact_points[256];
static struct vvcql_session *session;
static struct vvcql_error error;

/* ---- helpers ---- */

static struct vvcql_options options(void)
{
    return (struct vvcql_options){
        .contact_points = fake_contact_points(&fakes, fakes.n_nodes, contact_points),
        .connect_timeout_ms = 600000,
        .request_timeout_ms = 600000,
        .reconnect_first_ms = 1,
        .reconnect_last_ms = 2,
    };
}

static void start_fakes(int n_nodes)
{
    memset(&fakes, 0, sizeof fakes);
    fake_cluster_start(&fakes, n_nodes);
}

static void open_with(const struct vvcql_options *wanted)
{
    if (vvcql_session_open(wanted, false, &session, &error) != VVCQL_OK) {
        fail_msg("%s", error.message);
    }
}

static void opened(int n_nodes)
{
    start_fakes(n_nodes);
    struct vvcql_options wanted = options();
    open_with(&wanted);
}

static void closed(void)
{
    vvcql_session_close(session);
    session = NULL;
    fake_cluster_stop(&fakes);
}

static enum vvcql_status wait_for(struct vvcql_statement *statement)
{
    struct vvcql_result *result;
    enum vvcql_status status = vvcql_wait(session, statement, &result, &error);
    assert_int_equal(status == VVCQL_OK, result != NULL);
    vvcql_result_destroy(result);
    return status;
}

static struct vvcql_statement *insert(int32_t key)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(vvcql_prepare(session, INSERT));
    vvcql_add_int(statement, key);
    return statement;
}

/* Ends of requests, counted by status; one per callback. */
struct ends {
    atomic_int n;
    atomic_int of[VVCQL_CLOSED + 1];
    atomic_int unknown;
};

static void count_end(void *context, struct vvcql_result *take_result,
                      const struct vvcql_error *ended)
{
    struct ends *ends = context;
    assert_int_equal(take_result == NULL, ended != NULL);
    vvcql_result_destroy(take_result);
    atomic_fetch_add(&ends->of[ended != NULL ? ended->status : VVCQL_OK], 1);
    atomic_fetch_add(&ends->unknown, ended != NULL && ended->outcome_unknown);
    atomic_fetch_add(&ends->n, 1);
}

static struct vvcql_counters counters(void)
{
    struct vvcql_counters now;
    vvcql_session_counters(session, &now);
    return now;
}

/* ---- life ---- */

static void test_opens_works_and_closes(void **state)
{
    (void)state;
    opened(3);
    assert_int_equal(wait_for(vvcql_statement_create("UPDATE t")), VVCQL_OK);
    assert_int_equal(wait_for(insert(1)), VVCQL_OK);
    assert_int_equal(wait_for(vvcql_statement_create("USE ks")), VVCQL_INVALID);
    struct vvcql_counters now = counters();
    assert_int_equal(now.requests, 3);
    assert_int_equal(now.errors, 1);
    assert_int_equal(now.in_flight, 0);
    assert_int_equal(now.hosts, 3);
    assert_in_range(now.hosts_up, 1, 3);
    assert_true(now.bytes_sent > 0 && now.bytes_received > 0);
    closed();
}

static void test_closes_before_anything_happened(void **state)
{
    (void)state;
    start_fakes(2);
    struct vvcql_options wanted = options();
    for (int i = 0; i < 10; i++) {
        assert_int_equal(vvcql_session_open(&wanted, true, &session, &error), VVCQL_OK);
        vvcql_session_close(session);
    }
    vvcql_session_close(NULL);
    fake_cluster_stop(&fakes);
}

static void test_options_that_can_not_be(void **state)
{
    (void)state;
    static const struct vvcql_options wrong[] = {
        {.contact_points = NULL},
        {.contact_points = ""},
        {.contact_points = "a", .connections_per_host = 17},
        {.contact_points = "a", .requests_per_connection_max = 32769},
        {.contact_points = "a", .requests_max = 1000001},
        {.contact_points = "a", .speculative_max = 9},
        {.contact_points = "a", .consistency = VVCQL_SERIAL},
        {.contact_points = "a", .reconnect_first_ms = 100, .reconnect_last_ms = 99},
        {.contact_points = "a", .tls = {.enabled = true, .ca_file = "/no/such/file"}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        session = (void *)1;
        assert_int_equal(vvcql_session_open(&wrong[i], true, &session, &error), VVCQL_INVALID);
        assert_null(session);
        assert_true(error.message[0] != '\0');
    }
}

static void test_opening_fails(void **state)
{
    (void)state;
    start_fakes(1);
    struct vvcql_options wanted = options();
    wanted.local_datacenter = "nowhere";
    assert_int_equal(vvcql_session_open(&wanted, false, &session, &error), VVCQL_INVALID);
    assert_null(session);
    fake_node_stop(&fakes.nodes[0]);
    wanted.local_datacenter = "dc1";
    assert_int_equal(vvcql_session_open(&wanted, false, &session, &error), VVCQL_UNREACHABLE);
    assert_null(session);
    assert_int_equal(vvcql_session_open(&wanted, false, &session, NULL), VVCQL_UNREACHABLE);
    fake_cluster_stop(&fakes);
}

static void test_patient_session_says_so(void **state)
{
    (void)state;
    start_fakes(1);
    struct vvcql_options wanted = options();
    fake_node_stop(&fakes.nodes[0]);
    assert_int_equal(vvcql_session_open(&wanted, true, &session, &error), VVCQL_OK);
    assert_int_equal(wait_for(vvcql_statement_create("UPDATE t")), VVCQL_UNREACHABLE);
    fake_node_start(&fakes.nodes[0]);
    while (counters().hosts_up == 0) {
        (void)sched_yield();
    }
    assert_int_equal(wait_for(vvcql_statement_create("UPDATE t")), VVCQL_OK);
    closed();
}

static void test_close_ends_requests_under_way(void **state)
{
    (void)state;
    struct ends ends = {0};
    opened(2);
    fake_all_do(&fakes, FAKE_SILENCE, 0);
    for (int i = 0; i < 100; i++) {
        vvcql_execute(session, vvcql_statement_create("UPDATE t"), count_end, &ends);
    }
    while (fake_all_asked(&fakes) == 0) { /* whichever host was up first */
        (void)sched_yield();
    }
    closed();
    assert_int_equal(atomic_load(&ends.n), 100);
    assert_int_equal(atomic_load(&ends.of[VVCQL_CLOSED]), 100);
    assert_true(atomic_load(&ends.unknown) > 0);
}

/* What a callback submits while the session closes is ended, too. */
static void submit_again(void *context, struct vvcql_result *take_result,
                         const struct vvcql_error *ended)
{
    struct ends *ends = context;
    vvcql_execute(session, vvcql_statement_create("UPDATE t"), count_end, ends);
    count_end(ends, take_result, ended);
}

static void test_callbacks_submit_while_closing(void **state)
{
    (void)state;
    struct ends ends = {0};
    opened(1);
    fake_all_do(&fakes, FAKE_SILENCE, 0);
    for (int i = 0; i < 10; i++) {
        vvcql_execute(session, vvcql_statement_create("UPDATE t"), submit_again, &ends);
    }
    fake_await(&fakes.nodes[0], &fakes.nodes[0].n_asked, 10);
    closed();
    assert_int_equal(atomic_load(&ends.n), 20);
    assert_int_equal(atomic_load(&ends.of[VVCQL_CLOSED]), 20);
}

/* ---- threads ---- */

#define THREADS      4
#define BY_EACH      500
#define ONES_OF_WAIT 50

static void *submit_many(void *context)
{
    for (int32_t i = 0; i < BY_EACH; i++) {
        vvcql_execute(session, insert(i), count_end, context);
        if (i % (BY_EACH / ONES_OF_WAIT) == 0) {
            struct vvcql_host_info hosts[4];
            struct vvcql_result *result;
            struct vvcql_error own;
            if (vvcql_wait(session, insert(i), &result, &own) != VVCQL_OK) {
                return "failed";
            }
            vvcql_result_destroy(result);
            (void)vvcql_session_hosts(session, hosts, 4);
            (void)vvcql_session_replicas(session, "ks1", i, hosts, 4);
            (void)counters();
        }
    }
    return NULL;
}

static void test_threads_submit_together(void **state)
{
    (void)state;
    struct ends ends = {0};
    pthread_t threads[THREADS];
    opened(3);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &ends), 0);
    }
    for (int i = 0; i < 20; i++) { /* while the hosts are read again and again */
        fake_tell(&fakes, "TOPOLOGY_CHANGE", "MOVED_NODE", "127.0.0.1", 1);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failure;
        assert_int_equal(pthread_join(threads[i], &failure), 0);
        assert_null(failure);
    }
    while (atomic_load(&ends.n) < THREADS * BY_EACH) {
        (void)sched_yield();
    }
    assert_int_equal(atomic_load(&ends.of[VVCQL_OK]), THREADS * BY_EACH);
    assert_int_equal(fake_all_asked(&fakes), THREADS * (BY_EACH + ONES_OF_WAIT));
    closed();
}

static void test_too_many_requests_are_turned_away(void **state)
{
    (void)state;
    struct ends ends = {0};
    start_fakes(1);
    struct vvcql_options wanted = options();
    wanted.requests_max = 10;
    open_with(&wanted);
    fake_all_do(&fakes, FAKE_SILENCE, 0);
    for (int i = 0; i < 25; i++) {
        vvcql_execute(session, vvcql_statement_create("UPDATE t"), count_end, &ends);
    }
    while (atomic_load(&ends.n) < 15) {
        (void)sched_yield();
    }
    assert_int_equal(atomic_load(&ends.of[VVCQL_OVERLOADED]), 15);
    assert_int_equal(counters().in_flight, 10);
    assert_int_equal(counters().overloaded, 15);
    assert_int_equal(wait_for(vvcql_statement_create("UPDATE t")), VVCQL_OVERLOADED);
    assert_non_null(strstr(error.message, "requests_max"));
    closed();
    assert_int_equal(atomic_load(&ends.of[VVCQL_CLOSED]), 10);
    assert_int_equal(atomic_load(&ends.unknown), 10);
}

/* ---- callbacks ---- */

struct chain {
    atomic_int left;
    enum vvcql_status waited;
    enum vvcql_status waited_for_schema;
};

static void go_on(void *context, struct vvcql_result *take_result, const struct vvcql_error *ended)
{
    struct chain *chain = context;
    struct vvcql_result *result;
    vvcql_result_destroy(take_result);
    assert_null(ended);
    chain->waited = vvcql_wait(session, vvcql_statement_create("UPDATE t"), &result, NULL);
    chain->waited_for_schema = vvcql_wait_for_schema(session, 1000, NULL);
    if (atomic_fetch_sub(&chain->left, 1) > 1) {
        vvcql_execute(session, insert(1), go_on, chain);
    }
}

static void test_callbacks_submit_but_can_not_wait(void **state)
{
    (void)state;
    struct chain chain = {.left = 50};
    opened(1);
    vvcql_execute(session, insert(1), go_on, &chain);
    while (atomic_load(&chain.left) > 0) {
        (void)sched_yield();
    }
    closed();
    assert_int_equal(chain.waited, VVCQL_INVALID);
    assert_int_equal(chain.waited_for_schema, VVCQL_INVALID);
}

static void test_statement_without_memory(void **state)
{
    (void)state;
    struct ends ends = {0};
    opened(1);
    vvcql_execute(session, NULL, count_end, &ends);
    assert_int_equal(wait_for(NULL), VVCQL_NO_MEMORY);
    assert_int_equal(atomic_load(&ends.of[VVCQL_NO_MEMORY]), 1);
    assert_int_equal(counters().in_flight, 0);
    closed();
}

/* ---- looking at it ---- */

/* Known once the text was prepared; the values of the key are enough. */
static void test_statements_tell_their_replica_set(void **state)
{
    (void)state;
    opened(3);
    struct vvcql_statement *one = insert(1);
    struct vvcql_statement *same = insert(1);
    struct vvcql_statement *text = vvcql_statement_create("UPDATE t");
    assert_int_equal(vvcql_statement_replicas(session, one), 0);
    assert_int_equal(vvcql_statement_replicas(session, NULL), 0);
    assert_int_equal(wait_for(insert(1)), VVCQL_OK);
    assert_true(vvcql_statement_replicas(session, one) != 0);
    assert_true(vvcql_statement_replicas(session, one) == vvcql_statement_replicas(session, same));
    assert_int_equal(vvcql_statement_replicas(session, text), 0);
    bool differs = false;
    for (int32_t key = 2; key < 32; key++) {
        struct vvcql_statement *other = insert(key);
        differs = differs || vvcql_statement_replicas(session, other) !=
                                 vvcql_statement_replicas(session, one);
        vvcql_statement_destroy(other);
    }
    assert_true(differs);
    vvcql_statement_destroy(one);
    vvcql_statement_destroy(same);
    vvcql_statement_destroy(text);
    closed();
}

static void test_hosts_and_replicas(void **state)
{
    (void)state;
    struct vvcql_host_info hosts[4];
    char name[64];
    opened(3);
    assert_int_equal(vvcql_session_hosts(session, NULL, 0), 3);
    assert_int_equal(vvcql_session_hosts(session, hosts, 4), 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(hosts[i].datacenter, "dc1");
        assert_true(hosts[i].is_local);
    }
    char datacenter[128];
    vvcql_session_datacenter(session, datacenter);
    assert_string_equal(datacenter, "dc1");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vvcql_session_replicas(session, "ks2", fake_token(i), hosts, 4), 2);
        fake_node_name(&fakes.nodes[i], name);
        assert_string_equal(hosts[0].address, name);
    }
    assert_int_equal(vvcql_session_replicas(session, "none", 0, hosts, 4), 0);
    assert_int_equal(vvcql_session_replicas(session, "ks2", 0, hosts, 1), 2);
    closed();
}

static void test_waits_for_the_schema(void **state)
{
    (void)state;
    opened(2);
    while (counters().hosts_up < 2) {
        (void)sched_yield();
    }
    assert_int_equal(vvcql_wait_for_schema(session, 600000, &error), VVCQL_OK);
    pthread_mutex_lock(&fakes.lock);
    fakes.nodes[1].salt = 1; /* part of its schema's version, too */
    pthread_mutex_unlock(&fakes.lock);
    assert_int_equal(vvcql_wait_for_schema(session, 50, &error), VVCQL_TIMEOUT);
    assert_non_null(strstr(error.message, "have different schemas"));
    fake_node_stop(&fakes.nodes[1]); /* who is away isn't asked */
    while (counters().hosts_up > 1) {
        (void)sched_yield();
    }
    assert_int_equal(vvcql_wait_for_schema(session, 600000, &error), VVCQL_OK);
    closed();
}

/* ---- memory ---- */

static void test_memory_runs_out(void **state)
{
    (void)state;
    start_fakes(1);
    struct vvcql_options wanted = options();
    wanted.user = "u";
    wanted.password = "p";
    bool failed = true;
    uint64_t k = 1;
    for (; failed; k++) {
        vv_sim_memory_fail(k);
        enum vvcql_status status = vvcql_session_open(&wanted, true, &session, &error);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VVCQL_NO_MEMORY : VVCQL_OK);
        assert_int_equal(session == NULL, failed);
    }
    vvcql_session_close(session);
    assert_in_range(k, 8, 1000);
    open_with(&wanted);
    for (k = 1, failed = true; failed; k++) {
        vv_sim_memory_fail(k);
        struct vvcql_statement *statement = vvcql_statement_create("UPDATE t");
        enum vvcql_status status = wait_for(statement);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VVCQL_NO_MEMORY : VVCQL_OK);
        assert_int_equal(counters().in_flight, 0);
    }
    assert_in_range(k, 3, 100);
    closed();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opens_works_and_closes),
        cmocka_unit_test(test_closes_before_anything_happened),
        cmocka_unit_test(test_options_that_can_not_be),
        cmocka_unit_test(test_opening_fails),
        cmocka_unit_test(test_patient_session_says_so),
        cmocka_unit_test(test_close_ends_requests_under_way),
        cmocka_unit_test(test_callbacks_submit_while_closing),
        cmocka_unit_test(test_threads_submit_together),
        cmocka_unit_test(test_too_many_requests_are_turned_away),
        cmocka_unit_test(test_callbacks_submit_but_can_not_wait),
        cmocka_unit_test(test_statement_without_memory),
        cmocka_unit_test(test_statements_tell_their_replica_set),
        cmocka_unit_test(test_hosts_and_replicas),
        cmocka_unit_test(test_waits_for_the_schema),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
