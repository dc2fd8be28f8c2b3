/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that take long: timeouts, and a second host that is asked too. */
#include "execution_fixture.h"

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
    site.options.speculative_writes = true;
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

/* Where all hosts are slow, writing everything twice would make it worse. */
static void test_only_reads_are_speculated_as_a_rule(void **state)
{
    (void)state;
    open_site(2);
    site.options.speculative_delay_ms = LONG_MS;
    site_open(&site, 2);
    prepare_everywhere(INSERT1);
    prepare_everywhere(SELECT1);
    fake_all_do(&fakes, FAKE_SILENCE, 0);
    size_t before = fake_all_asked(&fakes);
    struct outcome write = {0};
    struct outcome read = {0};
    site_execute(&site, idempotent(insert_at(1)), &write);
    site_execute(&site, idempotent(site_statement(&site, SELECT1, key_of(1))), &read);
    assert_int_equal(speculation_of(&write)->place_, 0);
    assert_int_not_equal(speculation_of(&read)->place_, 0);
    site_reach(&site, speculation_of(&read));
    while (fake_all_asked(&fakes) < before + 3) {
        (void)uv_run(&site.loop.uv, UV_RUN_NOWAIT);
    }
    assert_int_equal(counted(&site.loop.tally.speculative), 1);
    close_site();
    assert_status(&write, VVCQL_CLOSED);
    assert_status(&read, VVCQL_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout_and_late_answer),
        cmocka_unit_test(test_timeout_of_a_read_is_known),
        cmocka_unit_test(test_speculation_wins),
        cmocka_unit_test(test_error_waits_for_the_other_attempt),
        cmocka_unit_test(test_both_attempts_fail),
        cmocka_unit_test(test_no_speculation_unless_idempotent),
        cmocka_unit_test(test_only_reads_are_speculated_as_a_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
