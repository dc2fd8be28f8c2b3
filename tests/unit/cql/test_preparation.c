/* SPDX-License-Identifier: Apache-2.0 */
/* Texts prepared on hosts: when, how often, and again after they were forgotten. */
#include "execution_fixture.h"

static size_t prepared(int node)
{
    return fake_node_count(&fakes.nodes[node], &fakes.nodes[node].n_prepared);
}

static size_t prepared_everywhere(void)
{
    size_t n = 0;
    for (int i = 0; i < fakes.n_nodes; i++) {
        n += prepared(i);
    }
    return n;
}

static void prepare_does(enum fake_deed deed, int32_t code)
{
    pthread_mutex_lock(&fakes.lock);
    for (int i = 0; i < fakes.n_nodes; i++) {
        fakes.nodes[i].prepare_deed = deed;
        fakes.nodes[i].code = code;
    }
    pthread_mutex_unlock(&fakes.lock);
}

static void set_salt(int node, uint8_t salt)
{
    pthread_mutex_lock(&fakes.lock);
    fakes.nodes[node].salt = salt;
    pthread_mutex_unlock(&fakes.lock);
}

static void test_first_use_prepares_once_for_all(void **state)
{
    (void)state;
    struct outcome outcomes[20] = {0};
    opened_site(1);
    for (int i = 0; i < 20; i++) {
        site_execute(&site, site_statement(&site, INSERT1, i), &outcomes[i]);
    }
    for (int i = 0; i < 20; i++) {
        site_run_done(&site, &outcomes[i]);
        assert_status(&outcomes[i], VVCQL_OK);
    }
    assert_int_equal(prepared(0), 1);
    assert_int_equal(fake_asked(&fakes.nodes[0]), 20);
    close_site();
}

static void test_forgotten_text_is_prepared_again(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    opened_site(2);
    prepare_everywhere(INSERT1);
    assert_int_equal(prepared(1), 1);
    for (size_t i = 1; i <= 3; i++) {
        fake_forget(&fakes.nodes[1]);
        site_do(&site, insert_at(1), &outcome); /* also what isn't idempotent */
        assert_answered_by(&outcome, &fakes.nodes[1]);
        assert_int_equal(prepared(1), 1 + i);
    }
    assert_int_equal(counted(&site.loop.tally.unprepared), 3 + 1); /* one by prepare_everywhere */
    assert_int_equal(counted(&site.loop.tally.retries), 0);
    close_site();
}

static void test_forgotten_text_is_prepared_once_for_all(void **state)
{
    (void)state;
    struct outcome outcomes[20] = {0};
    opened_site(1);
    prepare_everywhere(INSERT1);
    fake_forget(&fakes.nodes[0]);
    prepare_does(FAKE_WAIT, 0); /* until all were told that it is forgotten */
    for (int i = 0; i < 20; i++) {
        site_execute(&site, site_statement(&site, INSERT1, i), &outcomes[i]);
    }
    while (counted(&site.loop.tally.unprepared) < 1) {
        site_step(&site);
    }
    fake_server_let_pass(&fakes.nodes[0].server);
    prepare_does(FAKE_ANSWER, 0);
    for (int i = 0; i < 20; i++) {
        site_run_done(&site, &outcomes[i]);
        assert_status(&outcomes[i], VVCQL_OK);
    }
    assert_in_range(prepared(0), 2, 3);
    close_site();
}

/* Hosts of several versions may give a text different ids: each gets its own. */
static void test_hosts_with_ids_of_their_own(void **state)
{
    (void)state;
    opened_site(2);
    set_salt(1, 1);
    prepare_everywhere(INSERT1);
    for (int i = 0; i < 10; i++) {
        struct outcome outcome = {0};
        site_do(&site, insert_at(i % 2), &outcome);
        assert_answered_by(&outcome, &fakes.nodes[i % 2]);
    }
    close_site();
}

static void test_host_that_always_forgets(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    opened_site(1);
    pthread_mutex_lock(&fakes.lock);
    fakes.nodes[0].is_fickle = true;
    pthread_mutex_unlock(&fakes.lock);
    site_do(&site, insert_at(0), &outcome);
    assert_int_equal(outcome.error.code, VVCQL_CODE_UNPREPARED);
    assert_false(outcome.error.outcome_unknown);
    assert_in_range(prepared(0), 2, 5);
    assert_int_equal(fake_asked(&fakes.nodes[0]), 0);
    close_site();
}

static void test_text_that_can_not_be_prepared(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    opened_site(2);
    prepare_does(FAKE_FAIL, VVCQL_CODE_SYNTAX_ERROR);
    site_do(&site, insert_at(0), &outcome);
    assert_int_equal(outcome.error.code, VVCQL_CODE_SYNTAX_ERROR);
    assert_false(outcome.error.outcome_unknown);
    assert_int_equal(prepared_everywhere(), 1);
    prepare_does(FAKE_GARBLE, 0);
    site_do(&site, idempotent(insert_at(0)), &outcome);
    assert_status(&outcome, VVCQL_PROTOCOL);
    assert_false(outcome.error.outcome_unknown);
    prepare_does(FAKE_ANSWER, 0); /* the next one tries again */
    site_do(&site, insert_at(0), &outcome);
    assert_status(&outcome, VVCQL_OK);
    close_site();
}

static void test_preparing_goes_to_the_next_host(void **state)
{
    static const struct {
        enum fake_deed deed;
        int32_t code;
    } cases[] = {{FAKE_FAIL, VVCQL_CODE_OVERLOADED}, {FAKE_HANG_UP, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct outcome outcome = {0};
        opened_site(2);
        pthread_mutex_lock(&fakes.lock);
        fakes.nodes[0].prepare_deed = cases[i].deed;
        fakes.nodes[0].code = cases[i].code;
        pthread_mutex_unlock(&fakes.lock);
        for (int k = 0; k < 2; k++) { /* hosts take turns: one of the two begins at node 0 */
            site_do(&site, site_statement(&site, k == 0 ? INSERT1 : INSERT2, 1), &outcome);
            assert_answered_by(&outcome, &fakes.nodes[1]);
        }
        assert_true(prepared(0) > 0);
        close_site();
    }
}

static void test_preparing_has_a_deadline(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    opened_site(2);
    prepare_does(FAKE_SILENCE, 0);
    site_execute(&site, insert_at(0), &outcome);
    while (prepared_everywhere() < 1) {
        (void)uv_run(&site.loop.uv, UV_RUN_NOWAIT);
    }
    int first = prepared(0) > 0 ? 0 : 1;
    prepare_does(FAKE_ANSWER, 0);
    struct vvcql_host *host = ((struct vvcql_execution *)outcome.submission)->tries[0].host;
    site_reach(&site, &host->preparations->deadline);
    site_run_done(&site, &outcome);
    assert_answered_by(&outcome, &fakes.nodes[1 - first]);
    assert_int_equal(counted(&site.loop.tally.orphans), 1);
    close_site();
}

/* PREPARE goes on for those that come later. */
static void test_timeout_while_preparing_is_known(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    struct outcome next = {0};
    opened_site(1);
    prepare_does(FAKE_WAIT, 0);
    site_execute(&site, insert_at(0), &outcome);
    site_reach(&site, deadline_of(&outcome));
    assert_status(&outcome, VVCQL_TIMEOUT);
    assert_false(outcome.error.outcome_unknown);
    assert_int_equal(counted(&site.loop.tally.orphans), 0);
    site_execute(&site, insert_at(0), &next);
    fake_server_let_pass(&fakes.nodes[0].server);
    site_run_done(&site, &next);
    assert_status(&next, VVCQL_OK);
    assert_int_equal(prepared(0), 1);
    close_site();
}

static struct vvcql_statement *batch_of(int n, const char *const *texts, int owner)
{
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
    for (int i = 0; i < n; i++) {
        vvcql_batch_add(batch, site_statement(&site, texts[i], key_of(owner)));
    }
    return batch;
}

static void test_batch_prepares_all_its_texts(void **state)
{
    static const char *const texts[] = {INSERT1, DELETE1, INSERT1, INSERT2, DELETE1};
    (void)state;
    struct outcome outcome = {0};
    opened_site(3);
    site_do(&site, batch_of(5, texts, 1), &outcome);
    assert_status(&outcome, VVCQL_OK);
    assert_int_equal(prepared_everywhere(), 3);
    prepare_everywhere(INSERT1);
    for (int i = 0; i < 3; i++) {
        fake_forget(&fakes.nodes[i]);
        site_do(&site, batch_of(5, texts, i), &outcome); /* goes by its first statement */
        assert_answered_by(&outcome, &fakes.nodes[i]);
    }
    assert_int_equal(fake_all_asked(&fakes), 1 + 3 + 3);
    close_site();
}

static void test_batch_with_a_wrong_part(void **state)
{
    (void)state;
    struct outcome outcome = {0};
    opened_site(1);
    prepare_everywhere(INSERT1);
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    vvcql_batch_add(batch, vvcql_statement_create("DELETE FROM t"));
    vvcql_batch_add(batch, vvcql_statement_prepared(vvcql_prepared_find(&site.prepared, INSERT1)));
    site_do(&site, batch, &outcome);
    assert_status(&outcome, VVCQL_INVALID);
    assert_false(outcome.error.outcome_unknown);
    close_site();
}

/* After PREPARE there may be no room for the request itself on the host. */
static void test_no_room_after_preparing(void **state)
{
    (void)state;
    struct outcome blocking[2] = {0};
    struct outcome outcome = {0};
    open_site(1);
    site.options.requests_per_connection_max = 2;
    site_open(&site, 1);
    prepare_does(FAKE_WAIT, 0);
    site_execute(&site, insert_at(0), &outcome);
    site_execute(&site, vvcql_statement_create("UPDATE t"), &blocking[0]);
    site_execute(&site, vvcql_statement_create("UPDATE t"), &blocking[1]); /* waits for room */
    fake_server_let_pass(&fakes.nodes[0].server);
    site_run_done(&site, &outcome);
    site_run_done(&site, &blocking[0]);
    site_run_done(&site, &blocking[1]);
    assert_status(&outcome, VVCQL_OK);
    assert_status(&blocking[0], VVCQL_OK);
    assert_status(&blocking[1], VVCQL_OK);
    close_site();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_use_prepares_once_for_all),
        cmocka_unit_test(test_forgotten_text_is_prepared_again),
        cmocka_unit_test(test_forgotten_text_is_prepared_once_for_all),
        cmocka_unit_test(test_hosts_with_ids_of_their_own),
        cmocka_unit_test(test_host_that_always_forgets),
        cmocka_unit_test(test_text_that_can_not_be_prepared),
        cmocka_unit_test(test_preparing_goes_to_the_next_host),
        cmocka_unit_test(test_preparing_has_a_deadline),
        cmocka_unit_test(test_timeout_while_preparing_is_known),
        cmocka_unit_test(test_batch_prepares_all_its_texts),
        cmocka_unit_test(test_batch_with_a_wrong_part),
        cmocka_unit_test(test_no_room_after_preparing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
