/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on their way: to which hosts, in what order, and how they end. */
#include "execution_fixture.h"

/* ---- routing ---- */

static void test_goes_to_the_replica(void **state)
{
    (void)state;
    opened_site(4);
    prepare_everywhere(INSERT1);
    for (int32_t key = 0; key < 64; key++) {
        struct outcome outcome = {0};
        site_do(&site, site_statement(&site, INSERT1, key), &outcome);
        assert_answered_by(&outcome, &fakes.nodes[owner_of(key)]);
    }
    close_site();
}

static void test_uses_all_replicas_and_no_other(void **state)
{
    (void)state;
    size_t answers[4] = {0};
    opened_site(4);
    prepare_everywhere(INSERT2); /* two replicas: the owner and the next on the ring */
    int32_t key = key_of(1);
    for (int i = 0; i < 64; i++) {
        struct outcome outcome = {0};
        site_do(&site, site_statement(&site, INSERT2, key), &outcome);
        for (int k = 0; k < 4; k++) {
            char name[64];
            fake_node_name(&fakes.nodes[k], name);
            answers[k] += strcmp(name, outcome.host) == 0;
        }
    }
    assert_int_equal(answers[1] + answers[2], 64);
    assert_in_range(answers[1], 16, 48);
    close_site();
}

static void test_conditional_prefers_the_first_replica(void **state)
{
    (void)state;
    opened_site(4);
    prepare_everywhere(INSERT2);
    for (int i = 0; i < 16; i++) {
        struct outcome outcome = {0};
        site_do(&site, conditional(site_statement(&site, INSERT2, key_of(2))), &outcome);
        assert_answered_by(&outcome, &fakes.nodes[2]);
    }
    close_site();
}

static void test_without_key_hosts_take_turns(void **state)
{
    (void)state;
    opened_site(3);
    for (int i = 0; i < 9; i++) {
        struct outcome outcome = {0};
        site_do(&site, vvcql_statement_create("TRUNCATE t"), &outcome);
        assert_status(&outcome, VVCQL_OK);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fake_asked(&fakes.nodes[i]), 3);
    }
    close_site();
}

static void test_replica_down_goes_elsewhere(void **state)
{
    (void)state;
    opened_site(3);
    prepare_everywhere(INSERT1);
    fake_node_stop(&fakes.nodes[1]);
    site_run_up(&site, 2);
    struct outcome outcome = {0};
    site_do(&site, insert_at(1), &outcome);
    assert_status(&outcome, VVCQL_OK);
    assert_int_equal(counted(&site.loop.tally.retries), 0);
    close_site();
}

static void test_pinned_asks_nobody_else(void **state)
{
    (void)state;
    char name[64];
    struct outcome outcome = {0};
    opened_site(3);
    fake_node_name(&fakes.nodes[2], name);
    for (int i = 0; i < 5; i++) {
        struct vvcql_statement *statement = vvcql_statement_create("SELECT 1");
        vvcql_set_host(statement, name);
        site_do(&site, statement, &outcome);
        assert_answered_by(&outcome, &fakes.nodes[2]);
    }
    fake_node_do(&fakes.nodes[2], FAKE_FAIL, VVCQL_CODE_IS_BOOTSTRAPPING);
    struct vvcql_statement *statement = vvcql_statement_create("SELECT 1");
    vvcql_set_host(statement, name);
    site_do(&site, statement, &outcome);
    assert_int_equal(outcome.error.code, VVCQL_CODE_IS_BOOTSTRAPPING);
    assert_string_equal(outcome.error.host, name);
    assert_int_equal(fake_all_asked(&fakes), 6);
    fake_node_stop(&fakes.nodes[2]);
    site_run_up(&site, 2);
    statement = vvcql_statement_create("SELECT 1");
    vvcql_set_host(statement, name);
    site_do(&site, statement, &outcome);
    assert_status(&outcome, VVCQL_UNREACHABLE);
    assert_non_null(strstr(outcome.error.message, name));
    statement = vvcql_statement_create("SELECT 1");
    vvcql_set_host(statement, "10.1.2.3:9042");
    site_do(&site, statement, &outcome);
    assert_status(&outcome, VVCQL_UNREACHABLE);
    assert_string_equal(outcome.error.message, "10.1.2.3:9042 is no host of the cluster");
    close_site();
}

/* ---- room ---- */

struct queue {
    struct outcome outcomes[6];
    int order[6];
    int n;
};

static void note_order(struct outcome *outcome)
{
    struct queue *queue = outcome->context;
    queue->order[queue->n++] = (int)(outcome - queue->outcomes);
}

/* A connection with room for two. */
static void narrow_site(void)
{
    open_site(1);
    site.options.requests_per_connection_max = 2;
    site_open(&site, 1);
}

static void fill(struct queue *queue, const char *pinned)
{
    memset(queue, 0, sizeof *queue);
    for (int i = 0; i < 6; i++) {
        queue->outcomes[i].then = note_order;
        queue->outcomes[i].context = queue;
        struct vvcql_statement *statement = vvcql_statement_create("UPDATE t");
        if (pinned != NULL) {
            vvcql_set_host(statement, pinned);
        }
        site_execute(&site, statement, &queue->outcomes[i]);
    }
}

static void test_full_hosts_make_requests_wait_in_order(void **state)
{
    (void)state;
    char name[64];
    narrow_site();
    struct fake_node *node = &fakes.nodes[0];
    fake_node_name(node, name);
    for (int pinned = 0; pinned < 2; pinned++) {
        struct queue queue;
        fake_node_do(node, FAKE_WAIT, 0);
        fill(&queue, pinned == 1 ? name : NULL);
        for (int i = 0; i < 6; i++) {
            fake_server_let_pass(&node->server);
        }
        while (queue.n < 6) {
            site_step(&site);
        }
        for (int i = 0; i < 6; i++) {
            assert_status(&queue.outcomes[i], VVCQL_OK);
            assert_int_equal(queue.order[i], i);
        }
    }
    close_site();
}

static void test_waiting_requests_end_with_the_last_host(void **state)
{
    (void)state;
    narrow_site();
    struct queue queue;
    fake_node_do(&fakes.nodes[0], FAKE_SILENCE, 0);
    fill(&queue, NULL);
    site_run_asked(&site, &fakes.nodes[0], 2);
    fake_node_stop(&fakes.nodes[0]);
    while (queue.n < 6) {
        site_step(&site);
    }
    for (int i = 0; i < 6; i++) {
        assert_status(&queue.outcomes[i], i < 2 ? VVCQL_LOST : VVCQL_UNREACHABLE);
        assert_int_equal(queue.outcomes[i].error.outcome_unknown, i < 2);
    }
    close_site();
}

static void test_waiting_request_times_out(void **state)
{
    (void)state;
    narrow_site();
    struct queue queue;
    fake_node_do(&fakes.nodes[0], FAKE_SILENCE, 0);
    fill(&queue, NULL);
    site_reach(&site, deadline_of(&queue.outcomes[3]));
    assert_int_equal(queue.n, 1);
    assert_status(&queue.outcomes[3], VVCQL_TIMEOUT);
    assert_false(queue.outcomes[3].error.outcome_unknown);
    assert_string_equal(queue.outcomes[3].error.host, "");
    close_site();
}

static void test_close_ends_all(void **state)
{
    (void)state;
    narrow_site();
    struct queue queue;
    struct outcome prepared = {0};
    fake_node_do(&fakes.nodes[0], FAKE_SILENCE, 0);
    fill(&queue, NULL);
    site_execute(&site, site_statement(&site, INSERT1, 1), &prepared);
    site_run_asked(&site, &fakes.nodes[0], 2);
    close_site();
    assert_int_equal(queue.n, 6);
    for (int i = 0; i < 6; i++) {
        assert_status(&queue.outcomes[i], VVCQL_CLOSED);
        assert_int_equal(queue.outcomes[i].error.outcome_unknown, i < 2);
        assert_int_equal(queue.outcomes[i].n_done, 1);
    }
    assert_status(&prepared, VVCQL_CLOSED);
    assert_false(prepared.error.outcome_unknown);
    assert_int_equal(counted(&site.loop.tally.in_flight), 0);
}

/* ---- what never is sent ---- */

static void test_wrong_statements_are_not_sent(void **state)
{
    (void)state;
    opened_site(1);
    prepare_everywhere(INSERT1);
    size_t before = fake_all_asked(&fakes);
    struct outcome outcome = {0};
    site_do(&site, vvcql_statement_create(" use\tks1"), &outcome);
    assert_status(&outcome, VVCQL_INVALID);
    struct vvcql_statement *statement = insert_at(0);
    vvcql_add_int(statement, 2);
    site_do(&site, statement, &outcome);
    assert_status(&outcome, VVCQL_INVALID);
    assert_non_null(strstr(outcome.error.message, "2 values were added for 1 markers"));
    statement = insert_at(0);
    vvcql_begin_list(statement);
    site_do(&site, statement, &outcome);
    assert_status(&outcome, VVCQL_INVALID);
    assert_false(outcome.error.outcome_unknown);
    assert_int_equal(fake_all_asked(&fakes), before);
    close_site();
}

static void test_nobody_up_is_told_at_once(void **state)
{
    (void)state;
    opened_site(2);
    fake_node_stop(&fakes.nodes[0]);
    fake_node_stop(&fakes.nodes[1]);
    site_run_up(&site, 0);
    struct outcome outcome = {0};
    site_execute(&site, vvcql_statement_create("UPDATE t"), &outcome);
    assert_int_equal(outcome.n_done, 1);
    assert_status(&outcome, VVCQL_UNREACHABLE);
    assert_false(outcome.error.outcome_unknown);
    char name[64];
    fake_node_name(&fakes.nodes[1], name);
    assert_non_null(strstr(outcome.error.message, name));
    close_site();
}

/* ---- memory ---- */

/* Whatever allocation fails: the request ends once, and the next one is well. */
static void test_memory_runs_out(void **state)
{
    (void)state;
    opened_site(2);
    prepare_everywhere(INSERT1);
    bool failed = true;
    uint64_t k = 1;
    for (; failed; k++) {
        struct outcome outcome = {0};
        for (int i = 0; i < 2; i++) {
            fake_forget(&fakes.nodes[i]);
        }
        struct vvcql_statement *statement = idempotent(insert_at(k % 2));
        vv_sim_memory_fail(k);
        /* Without memory for the execution there is nothing to follow. */
        struct vvcql_submission *submission =
            vvcql_execution_create(statement, 0, outcome_done, &outcome);
        if (submission != NULL) {
            vvcql_tally_add(&site.loop.tally.in_flight, 1);
            vvcql_execution_start(&site.executor, submission);
            site_run_done(&site, &outcome);
        } else {
            vvcql_statement_destroy(statement);
        }
        failed = vv_sim_memory_failed();
        if (!outcome.has_result && submission != NULL && outcome.error.status != VVCQL_LOST) {
            assert_status(&outcome, VVCQL_NO_MEMORY);
        }
        assert_true(failed || outcome.has_result);
        site_run_up(&site, 2);
        site_do(&site, idempotent(insert_at(1)), &outcome);
        assert_status(&outcome, VVCQL_OK);
    }
    assert_in_range(k, 6, 1000); /* execution, PREPARE, its id, the result … */
    close_site();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goes_to_the_replica),
        cmocka_unit_test(test_uses_all_replicas_and_no_other),
        cmocka_unit_test(test_conditional_prefers_the_first_replica),
        cmocka_unit_test(test_without_key_hosts_take_turns),
        cmocka_unit_test(test_replica_down_goes_elsewhere),
        cmocka_unit_test(test_pinned_asks_nobody_else),
        cmocka_unit_test(test_full_hosts_make_requests_wait_in_order),
        cmocka_unit_test(test_waiting_requests_end_with_the_last_host),
        cmocka_unit_test(test_waiting_request_times_out),
        cmocka_unit_test(test_close_ends_all),
        cmocka_unit_test(test_wrong_statements_are_not_sent),
        cmocka_unit_test(test_nobody_up_is_told_at_once),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
