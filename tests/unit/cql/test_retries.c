/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that fail: which are sent again, to whom, and what is known of the others. */
#include "execution_fixture.h"

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

static uint64_t set_of_failure(struct vvcql_statement *take_statement)
{
    struct outcome outcome = {0};
    site_do(&site, take_statement, &outcome);
    assert_int_equal(outcome.error.code, VVCQL_CODE_UNAVAILABLE);
    return outcome.error.replicas;
}

/* Keys of the same hosts are of one set; in whatever order the hosts come. */
static void test_failures_tell_their_replica_set(void **state)
{
    (void)state;
    uint64_t sets[4];
    opened_site(4);
    prepare_everywhere(INSERT1);
    prepare_everywhere(INSERT2);
    fake_all_do(&fakes, FAKE_FAIL, VVCQL_CODE_UNAVAILABLE);
    for (int i = 0; i < 4; i++) {
        sets[i] = set_of_failure(insert_at(i));
        assert_true(sets[i] != 0);
        assert_true(sets[i] == set_of_failure(idempotent(insert_at(i))));
        for (int j = 0; j < i; j++) {
            assert_true(sets[i] != sets[j]);
        }
    }
    for (int32_t key = 0; key < 64; key++) {
        int owner = owner_of(key);
        uint64_t both = sets[owner] + sets[(owner + 1) % 4];
        assert_true(set_of_failure(site_statement(&site, INSERT2, key)) == both);
        struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
        vvcql_batch_add(batch, site_statement(&site, INSERT1, key));
        assert_true(set_of_failure(batch) == sets[owner]);
    }
    assert_int_equal(set_of_failure(vvcql_statement_create("UPDATE t")), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_host_after_bootstrapping),
        cmocka_unit_test(test_every_host_once_then_the_error),
        cmocka_unit_test(test_failures_tell_their_replica_set),
        cmocka_unit_test(test_unavailable_is_retried_once),
        cmocka_unit_test(test_read_timeout_without_data_asks_the_same_host),
        cmocka_unit_test(test_not_idempotent_is_sent_once),
        cmocka_unit_test(test_conditional_is_sent_once_and_unknown),
        cmocka_unit_test(test_refusals_are_known),
        cmocka_unit_test(test_idempotent_goes_on_after_a_lost_connection),
        cmocka_unit_test(test_unknown_stays_unknown),
        cmocka_unit_test(test_reads_are_never_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
