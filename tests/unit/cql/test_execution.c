/* SPDX-License-Identifier: Apache-2.0 */
/* Requests on their way: to which hosts, how often, and how they end. */
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

/* ---- retries ---- */

static void test_next_host_after_bootstrapping(void **state)
{
    (void)state;
    opened_site(3);
    prepare_everywhere(INSERT1);
    fake_node_do(&fakes.nodes[1], FAKE_FAIL, VVCQL_CODE_IS_BOOTSTRAPPING);
    struct outcome outcome = {0};
    site_do(&site, insert_at(1), &outcome);
    assert_status(&outcome, VVCQL_OK);
    assert_int_equal(counted(&site.loop.tally.retries), 1);
    close_site();
}

static void test_every_host_once_then_the_error(void **state)
{
    (void)state;
    opened_site(3);
    prepare_everywhere(INSERT1);
    size_t before = fake_all_asked(&fakes);
    fake_all_do(&fakes, FAKE_FAIL, VVCQL_CODE_OVERLOADED);
    struct outcome outcome = {0};
    site_do(&site, idempotent(insert_at(0)), &outcome);
    assert_int_equal(outcome.error.code, VVCQL_CODE_OVERLOADED);
    assert_true(outcome.error.outcome_unknown); /* some replicas may have it */
    assert_int_equal(fake_all_asked(&fakes) - before, 3);
    close_site();
}

static void test_unavailable_is_retried_once(void **state)
{
    (void)state;
    opened_site(3);
    prepare_everywhere(INSERT1);
    size_t before = fake_all_asked(&fakes);
    fake_all_do(&fakes, FAKE_FAIL, VVCQL_CODE_UNAVAILABLE);
    struct outcome outcome = {0};
    site_do(&site, insert_at(2), &outcome);
    assert_int_equal(outcome.error.code, VVCQL_CODE_UNAVAILABLE);
    assert_int_equal(outcome.error.required, 2);
    assert_false(outcome.error.outcome_unknown);
    assert_int_equal(fake_all_asked(&fakes) - before, 2);
    close_site();
}

static void test_read_timeout_without_data_asks_the_same_host(void **state)
{
    (void)state;
    opened_site(2);
    prepare_everywhere(SELECT1);
    size_t before = fake_asked(&fakes.nodes[1]);
    fake_node_do(&fakes.nodes[1], FAKE_FAIL, VVCQL_CODE_READ_TIMEOUT);
    struct outcome outcome = {0};
    site_do(&site, idempotent(site_statement(&site, SELECT1, key_of(1))), &outcome);
    assert_answered_by(&outcome, &fakes.nodes[0]);
    assert_int_equal(fake_asked(&fakes.nodes[1]) - before, 2);
    close_site();
}

static void test_not_idempotent_is_sent_once(void **state)
{
    static const struct {
        enum fake_deed deed;
        int32_t code;
        enum vvcql_status status;
    } cases[] = {
        {FAKE_FAIL, VVCQL_CODE_WRITE_TIMEOUT, VVCQL_SERVER},
        {FAKE_FAIL, VVCQL_CODE_SERVER_ERROR, VVCQL_SERVER},
        {FAKE_FAIL, VVCQL_CODE_OVERLOADED, VVCQL_SERVER},
        {FAKE_FAIL, 0x7777, VVCQL_SERVER},
        {FAKE_GARBLE, 0, VVCQL_PROTOCOL},
        {FAKE_HANG_UP, 0, VVCQL_LOST},
    };
    (void)state;
    opened_site(2);
    prepare_everywhere(INSERT1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t before = fake_all_asked(&fakes);
        struct outcome outcome = {0};
        fake_all_do(&fakes, cases[i].deed, cases[i].code);
        site_do(&site, insert_at(1), &outcome);
        assert_status(&outcome, cases[i].status);
        assert_true(outcome.error.outcome_unknown);
        assert_int_equal(fake_all_asked(&fakes) - before, 1);
        site_run_up(&site, 2);
    }
    assert_int_equal(counted(&site.loop.tally.retries), 0);
    close_site();
}

static void test_conditional_is_sent_once_and_unknown(void **state)
{
    static const struct {
        enum fake_deed deed;
        int32_t code;
    } cases[] = {
        {FAKE_FAIL, VVCQL_CODE_WRITE_TIMEOUT},
        {FAKE_FAIL, VVCQL_CODE_UNAVAILABLE},
        {FAKE_FAIL, VVCQL_CODE_OVERLOADED},
        {FAKE_FAIL, VVCQL_CODE_READ_TIMEOUT},
        {FAKE_GARBLE, 0},
        {FAKE_HANG_UP, 0},
    };
    (void)state;
    opened_site(2);
    prepare_everywhere(INSERT1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t before = fake_all_asked(&fakes);
        struct outcome outcome = {0};
        fake_all_do(&fakes, cases[i].deed, cases[i].code);
        site_do(&site, conditional(insert_at(1)), &outcome);
        assert_int_equal(outcome.has_result, 0);
        assert_true(outcome.error.outcome_unknown);
        assert_int_equal(fake_all_asked(&fakes) - before, 1);
    }
    close_site();
}

static void test_refusals_are_known(void **state)
{
    static const int32_t codes[] = {VVCQL_CODE_SYNTAX_ERROR, VVCQL_CODE_INVALID,
                                    VVCQL_CODE_UNAUTHORIZED, VVCQL_CODE_ALREADY_EXISTS};
    (void)state;
    opened_site(2);
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        size_t before = fake_all_asked(&fakes);
        struct outcome outcome = {0};
        fake_all_do(&fakes, FAKE_FAIL, codes[i]);
        site_do(&site, conditional(vvcql_statement_create("UPDATE t")), &outcome);
        assert_int_equal(outcome.error.code, codes[i]);
        assert_false(outcome.error.outcome_unknown);
        assert_int_equal(fake_all_asked(&fakes) - before, 1);
    }
    close_site();
}

static void test_idempotent_goes_on_after_a_lost_connection(void **state)
{
    (void)state;
    opened_site(2);
    prepare_everywhere(INSERT1);
    fake_node_do(&fakes.nodes[1], FAKE_HANG_UP, 0);
    struct outcome outcome = {0};
    site_do(&site, idempotent(insert_at(1)), &outcome);
    assert_answered_by(&outcome, &fakes.nodes[0]);
    close_site();
}

/* A first attempt that may have been carried out isn't undone by a second one's refusal. */
static void test_unknown_stays_unknown(void **state)
{
    (void)state;
    opened_site(2);
    prepare_everywhere(INSERT1);
    fake_node_do(&fakes.nodes[1], FAKE_HANG_UP, 0);
    fake_node_do(&fakes.nodes[0], FAKE_FAIL, VVCQL_CODE_INVALID);
    struct outcome outcome = {0};
    site_do(&site, idempotent(insert_at(1)), &outcome);
    assert_int_equal(outcome.error.code, VVCQL_CODE_INVALID);
    assert_true(outcome.error.outcome_unknown);
    close_site();
}

static void test_reads_are_never_unknown(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    opened_site(1);
    fake_node_do(&fakes.nodes[0], FAKE_GARBLE, 0);
    site_do(&site, vvcql_statement_create("  select * from t"), &outcome);
    assert_status(&outcome, VVCQL_PROTOCOL);
    assert_false(outcome.error.outcome_unknown);
    site_do(&site, vvcql_statement_create("SELECTED"), &outcome);
    assert_true(outcome.error.outcome_unknown);
    close_site();
}

/* ---- time ---- */

static void test_timeout_and_late_answer(void **state)
{
    (void)state;
    opened_site(1);
    struct fake_node *node = &fakes.nodes[0];
    struct outcome outcome = {0};
    struct outcome next = {0};
    fake_node_do(node, FAKE_WAIT, 0);
    site_execute(&site, vvcql_statement_create("UPDATE t"), &outcome);
    site_run_asked(&site, node, 1);
    site_reach(&site, deadline_of(&outcome));
    assert_status(&outcome, VVCQL_TIMEOUT);
    assert_true(outcome.error.outcome_unknown);
    assert_int_equal(outcome.n_done, 1);
    assert_int_equal(counted(&site.loop.tally.orphans), 1);
    assert_int_equal(counted(&site.loop.tally.timeouts), 1);
    fake_node_do(node, FAKE_ROW, 0);
    fake_server_let_pass(&node->server);
    site_do(&site, vvcql_statement_create("SELECT 1"), &next);
    assert_int_equal(next.n_rows, 1); /* its own answer, not the late one */
    assert_int_equal(counted(&site.loop.tally.orphans), 0);
    assert_int_equal(outcome.n_done, 1);
    close_site();
}

static void test_timeout_of_a_read_is_known(void **state)
{
    (void)state;
    opened_site(1);
    struct outcome outcome = {0};
    fake_node_do(&fakes.nodes[0], FAKE_SILENCE, 0);
    site_execute(&site, vvcql_statement_create("SELECT 1"), &outcome);
    site_run_asked(&site, &fakes.nodes[0], 1);
    site_reach(&site, deadline_of(&outcome));
    assert_status(&outcome, VVCQL_TIMEOUT);
    assert_false(outcome.error.outcome_unknown);
    close_site();
}

static void speculative_site(int n_nodes, uint32_t speculative_max)
{
    open_site(n_nodes);
    site.options.speculative_delay_ms = LONG_MS;
    site.options.speculative_max = speculative_max;
    site_open(&site, (uint64_t)n_nodes);
    prepare_everywhere(INSERT1);
}

static void test_speculation_wins(void **state)
{
    (void)state;
    speculative_site(2, 1);
    size_t before = fake_asked(&fakes.nodes[1]);
    fake_node_do(&fakes.nodes[1], FAKE_WAIT, 0);
    struct outcome outcome = {0};
    site_execute(&site, idempotent(insert_at(1)), &outcome);
    site_run_asked(&site, &fakes.nodes[1], before + 1);
    site_reach(&site, speculation_of(&outcome));
    assert_int_equal(speculation_of(&outcome)->place_, 0); /* at most one */
    site_run_done(&site, &outcome);
    assert_answered_by(&outcome, &fakes.nodes[0]);
    assert_int_equal(counted(&site.loop.tally.speculative), 1);
    assert_int_equal(counted(&site.loop.tally.speculative_won), 1);
    assert_int_equal(counted(&site.loop.tally.orphans), 1);
    fake_server_let_pass(&fakes.nodes[1].server);
    while (counted(&site.loop.tally.orphans) > 0) {
        site_step(&site);
    }
    assert_int_equal(outcome.n_done, 1);
    close_site();
}

/* An attempt that fails doesn't end what another one may still bring. */
static void test_error_waits_for_the_other_attempt(void **state)
{
    (void)state;
    speculative_site(2, 1);
    struct fake_node *slow = &fakes.nodes[1];
    struct fake_node *wrong = &fakes.nodes[0];
    size_t before = fake_asked(slow);
    size_t before_wrong = fake_asked(wrong);
    fake_node_do(slow, FAKE_WAIT, 0);
    fake_node_do(wrong, FAKE_FAIL, VVCQL_CODE_SYNTAX_ERROR);
    struct outcome outcome = {0};
    site_execute(&site, idempotent(insert_at(1)), &outcome);
    site_run_asked(&site, slow, before + 1);
    site_reach(&site, speculation_of(&outcome));
    site_run_asked(&site, wrong, before_wrong + 1);
    const struct vvcql_execution *execution = (void *)outcome.submission;
    while (execution->n_running > 1) {
        site_step(&site);
    }
    assert_int_equal(outcome.n_done, 0);
    fake_server_let_pass(&slow->server);
    site_run_done(&site, &outcome);
    assert_answered_by(&outcome, slow);
    assert_int_equal(counted(&site.loop.tally.speculative_won), 0);
    close_site();
}

static void test_both_attempts_fail(void **state)
{
    (void)state;
    speculative_site(3, 1);
    fake_all_do(&fakes, FAKE_SILENCE, 0);
    size_t before = fake_all_asked(&fakes);
    struct outcome outcome = {0};
    site_execute(&site, idempotent(insert_at(1)), &outcome);
    site_reach(&site, speculation_of(&outcome));
    while (fake_all_asked(&fakes) < before + 2) {
        (void)uv_run(&site.loop.uv, UV_RUN_NOWAIT);
    }
    fake_all_do(&fakes, FAKE_ANSWER, 0);
    for (int i = 0; i < 3; i++) { /* the third host is asked when both are lost */
        fake_node_drop(&fakes.nodes[i]);
    }
    site_run_done(&site, &outcome);
    if (!outcome.has_result) { /* unless it was down at that moment, too */
        assert_status(&outcome, VVCQL_LOST);
        assert_true(outcome.error.outcome_unknown);
    }
    close_site();
}

static void test_no_speculation_unless_idempotent(void **state)
{
    (void)state;
    speculative_site(2, 1);
    fake_all_do(&fakes, FAKE_SILENCE, 0);
    struct outcome plain = {0};
    struct outcome serial = {0};
    site_execute(&site, insert_at(1), &plain);
    site_execute(&site, conditional(insert_at(1)), &serial);
    assert_int_equal(speculation_of(&plain)->place_, 0);
    assert_int_equal(speculation_of(&serial)->place_, 0);
    close_site();
    assert_status(&plain, VVCQL_CLOSED);
    assert_status(&serial, VVCQL_CLOSED);
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
        cmocka_unit_test(test_next_host_after_bootstrapping),
        cmocka_unit_test(test_every_host_once_then_the_error),
        cmocka_unit_test(test_unavailable_is_retried_once),
        cmocka_unit_test(test_read_timeout_without_data_asks_the_same_host),
        cmocka_unit_test(test_not_idempotent_is_sent_once),
        cmocka_unit_test(test_conditional_is_sent_once_and_unknown),
        cmocka_unit_test(test_refusals_are_known),
        cmocka_unit_test(test_idempotent_goes_on_after_a_lost_connection),
        cmocka_unit_test(test_unknown_stays_unknown),
        cmocka_unit_test(test_reads_are_never_unknown),
        cmocka_unit_test(test_timeout_and_late_answer),
        cmocka_unit_test(test_timeout_of_a_read_is_known),
        cmocka_unit_test(test_speculation_wins),
        cmocka_unit_test(test_error_waits_for_the_other_attempt),
        cmocka_unit_test(test_both_attempts_fail),
        cmocka_unit_test(test_no_speculation_unless_idempotent),
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
