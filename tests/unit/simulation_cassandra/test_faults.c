/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong in the model of Cassandra, and what stays right then. */
#include "simulation/cassandra/sim_cassandra.h"

#include "cql/session.h"
#include "simulation/sim_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MILLION 1000000
#define START   (INT64_C(1767225600) * VV_SECOND)

static struct vv_sim_clock clock_of_all;
static struct vv_sim_cassandra *model;
static struct vvcql_session *session;
static struct vvcql_error error;
static char text[1024];

static int open_model(void **state)
{
    const struct vvcql_options options = {.contact_points = "faults/1"};
    struct vvcql_result *result;
    (void)state;
    vv_sim_clock_init(&clock_of_all, START);
    model = vv_sim_cassandra_create("faults", 7, &clock_of_all.clock);
    assert_int_equal(vvcql_session_open(&options, false, &session, NULL), VVCQL_OK);
    struct vvcql_statement *table =
        vvcql_statement_create("CREATE TABLE k.t (p int, c int, v int, PRIMARY KEY (p, c))");
    assert_int_equal(vvcql_wait(session, table, &result, NULL), VVCQL_OK);
    vvcql_result_destroy(result);
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    vvcql_session_close(session);
    vv_sim_cassandra_destroy(model);
    return 0;
}

static struct vvcql_statement *statement_of(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0)));
static struct vvcql_statement *statement_of(const char *format, va_list arguments)
{
    char cql[256];
    vsnprintf(cql, sizeof cql, format, arguments);
    struct vvcql_statement *statement = vvcql_statement_create(cql);
    if (strstr(cql, " IF ")) {
        vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    }
    return statement;
}

/* Rows of ints joined by commas; `error` says how it failed. */
static bool run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *format, ...)
{
    struct vvcql_result *result;
    va_list arguments;
    va_start(arguments, format);
    struct vvcql_statement *statement = statement_of(format, arguments);
    va_end(arguments);
    error = (struct vvcql_error){.code = VVCQL_CODE_NONE};
    text[0] = '\0';
    if (vvcql_wait(session, statement, &result, &error) != VVCQL_OK) {
        return false;
    }
    while (vvcql_next_row(result)) {
        bool truth;
        int32_t number;
        size_t used = strlen(text);
        if (vvcql_get_boolean(result, 0, &truth)) {
            snprintf(text + used, sizeof text - used, "%s", truth ? "true" : "false");
        } else if (vvcql_get_int(result, 0, &number)) {
            snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? "," : "", number);
        }
    }
    vvcql_result_destroy(result);
    return true;
}

static void set(struct vv_sim_cassandra_faults faults)
{
    vv_sim_cassandra_set_faults(model, &faults);
}

/* ---- time ---- */

static void a_ttl_ends_at_its_second(void **state)
{
    (void)state;
    assert_true(run("INSERT INTO k.t (p, c, v) VALUES (1, 1, 5) USING TTL 60"));
    vv_sim_clock_advance(&clock_of_all, 60 * VV_SECOND - 1);
    assert_true(run("SELECT v FROM k.t WHERE p = 1"));
    assert_string_equal(text, "5");
    assert_true(run("SELECT TTL(v) FROM k.t WHERE p = 1"));
    assert_string_equal(text, "1");
    vv_sim_clock_advance(&clock_of_all, 1);
    assert_true(run("SELECT v FROM k.t WHERE p = 1"));
    assert_string_equal(text, "");
    assert_true(run("INSERT INTO k.t (p, c, v) VALUES (2, 1, 5) USING TTL %d",
                    (int)(INT64_C(2147483646) - START / VV_SECOND - 60)));
    assert_false(run("INSERT INTO k.t (p, c, v) VALUES (2, 1, 5) USING TTL %d",
                     (int)(INT64_C(2147483647) - START / VV_SECOND - 60)));
    assert_int_equal(error.code, VVCQL_CODE_INVALID);
    assert_false(error.outcome_unknown);
}

/* An expired value hides what was written before it. */
static void what_expired_does_not_bring_back_what_was_before(void **state)
{
    (void)state;
    assert_true(run("INSERT INTO k.t (p, c, v) VALUES (1, 1, 4) USING TIMESTAMP 1"));
    assert_true(run("UPDATE k.t USING TTL 60 AND TIMESTAMP 2 SET v = 5 WHERE p = 1 AND c = 1"));
    vv_sim_clock_advance(&clock_of_all, VV_MINUTE);
    assert_true(run("SELECT v FROM k.t WHERE p = 1"));
    assert_string_equal(text, ""); /* a row without the value */
    assert_true(run("SELECT c FROM k.t WHERE p = 1"));
    assert_string_equal(text, "1");
}

/* Hosts give timestamps by their own clocks: a later write may lose. */
static void clocks_of_hosts_differ(void **state)
{
    (void)state;
    int lost = 0;
    set((struct vv_sim_cassandra_faults){.skew_ns = VV_SECOND});
    for (int i = 1; i <= 100; i++) {
        assert_true(run("INSERT INTO k.t (p, c, v) VALUES (1, 1, %d)", i));
        assert_true(run("SELECT v FROM k.t WHERE p = 1"));
        lost += atoi(text) != i;
        vv_sim_clock_advance(&clock_of_all, VV_MILLISECOND);
    }
    assert_true(lost > 10 && lost < 90);
}

/* ---- replicas ---- */

static void what_was_acknowledged_is_read_by_any_quorum(void **state)
{
    (void)state;
    int failed = 0;
    set((struct vv_sim_cassandra_faults){.write_lost = 300000, .write_late = 500000});
    for (int i = 1; i <= 500; i++) {
        if (!run("INSERT INTO k.t (p, c, v) VALUES (%d, 1, %d) USING TIMESTAMP %d", i % 7, i, i)) {
            assert_int_equal(error.code, VVCQL_CODE_WRITE_TIMEOUT);
            assert_true(error.outcome_unknown && error.received < 2 && error.required == 2);
            failed++;
            continue;
        }
        for (int again = 0; again < 3; again++) {
            assert_true(run("SELECT v FROM k.t WHERE p = %d", i % 7));
            assert_int_equal(atoi(text), i);
        }
    }
    assert_true(failed > 50 && failed < 250);
    struct vv_sim_cassandra_figures figures;
    vv_sim_cassandra_read_figures(model, &figures);
    assert_true(figures.writes_lost > 300 && figures.hints > 100);
}

/* What failed may be there for some readers and not for others. */
static void what_timed_out_may_be_there(void **state)
{
    (void)state;
    int seen = 0;
    int written = 0;
    for (int i = 1; i <= 300; i++) {
        set((struct vv_sim_cassandra_faults){.write_lost = 700000});
        if (run("INSERT INTO k.t (p, c, v) VALUES (%d, 1, 1)", i)) {
            written++;
            continue;
        }
        set((struct vv_sim_cassandra_faults){0});
        for (int again = 0; again < 4; again++) {
            assert_true(run("SELECT v FROM k.t WHERE p = %d", i));
            seen += text[0] != '\0';
        }
    }
    assert_true(seen > 100 && seen < 4 * (300 - written) - 100);
}

static void late_writes_change_nothing_newer(void **state)
{
    (void)state;
    set((struct vv_sim_cassandra_faults){.write_lost = MILLION, .write_late = MILLION});
    for (int i = 1; i <= 20; i++) {
        assert_false(run("INSERT INTO k.t (p, c, v) VALUES (1, %d, 1) USING TIMESTAMP %d", i, i));
        assert_false(run("DELETE FROM k.t USING TIMESTAMP 15 WHERE p = 1 AND c < 100"));
    }
    vv_sim_cassandra_settle(model);
    set((struct vv_sim_cassandra_faults){0});
    assert_true(run("SELECT c FROM k.t WHERE p = 1"));
    assert_string_equal(text, "16,17,18,19,20");
}

static void too_few_replicas_are_told(void **state)
{
    (void)state;
    vv_sim_cassandra_set_unavailable(model, INT64_MIN, 0);
    int refused = 0;
    for (int i = 0; i < 40; i++) {
        bool done = run("INSERT INTO k.t (p, c, v) VALUES (%d, 1, 1)", i);
        assert_true(done || error.code == VVCQL_CODE_UNAVAILABLE);
        assert_int_equal(run("SELECT v FROM k.t WHERE p = %d", i), done);
        refused += !done;
    }
    assert_true(refused > 5 && refused < 35);
    vv_sim_cassandra_set_unavailable(model, 1, 0);
    assert_true(run("SELECT COUNT(*) FROM k.t"));
}

/* ---- lightweight transactions ---- */

/* The value as transactions see it: what was open is decided by asking. */
static int32_t serial_value(void)
{
    struct vvcql_result *result;
    int32_t value = -1;
    struct vvcql_statement *statement =
        vvcql_statement_create("SELECT v FROM k.t WHERE p = 1 AND c = 1");
    vvcql_set_consistency(statement, VVCQL_LOCAL_SERIAL);
    assert_int_equal(vvcql_wait(session, statement, &result, NULL), VVCQL_OK);
    assert_true(vvcql_next_row(result) && vvcql_get_int(result, 0, &value));
    vvcql_result_destroy(result);
    return value;
}

/* Each adds one if the value is still what it read. */
static void unknown_transactions_happened_or_did_not(void **state)
{
    (void)state;
    int told = 0;
    int happened = 0;
    int did_not = 0;
    set((struct vv_sim_cassandra_faults){.transaction_lost = 200000,
                                         .transaction_done = 200000,
                                         .transaction_open = 200000,
                                         .write_lost = 300000});
    while (!run("INSERT INTO k.t (p, c, v) VALUES (1, 1, 0) IF NOT EXISTS")) {
        assert_true(error.outcome_unknown && error.write_type == VVCQL_WRITE_CAS);
    }
    int32_t now = serial_value();
    for (int i = 0; i < 300; i++) {
        if (run("UPDATE k.t SET v = %d WHERE p = 1 AND c = 1 IF v = %d", now + 1, now)) {
            assert_string_equal(text, "true");
            told++;
            now++;
            assert_true(run("SELECT v FROM k.t WHERE p = 1")); /* a quorum is enough */
            assert_int_equal(atoi(text), now);
            continue;
        }
        assert_true(error.outcome_unknown && error.write_type == VVCQL_WRITE_CAS);
        int32_t after = serial_value();
        assert_true(after == now || after == now + 1);
        assert_int_equal(serial_value(), after); /* once decided, it stays */
        happened += after != now;
        did_not += after == now;
        now = after;
    }
    assert_true(told > 50 && happened > 20 && did_not > 20);
}

/* ---- clients ---- */

struct counting {
    int done;
    int failed;
};

static void count(void *context, struct vvcql_result *take_result, const struct vvcql_error *why)
{
    struct counting *counting = context;
    counting->done++;
    counting->failed += why != NULL;
    assert_true(!why || why->outcome_unknown);
    vvcql_result_destroy(take_result);
}

/* What a killed program had asked for is carried out in part; what it asks for afterwards is not.
 */
static void a_client_is_cut_off(void **state)
{
    (void)state;
    struct counting counting = {0};
    vv_sim_cassandra_set_deferred(model, true);
    for (int i = 0; i < 100; i++) {
        char cql[96];
        snprintf(cql, sizeof cql, "INSERT INTO k.t (p, c, v) VALUES (1, %d, 1)", i);
        vvcql_execute(session, vvcql_statement_create(cql), count, &counting);
    }
    vv_sim_cassandra_cut(model, 1);
    assert_false(run("INSERT INTO k.t (p, c, v) VALUES (1, 1000, 1)"));
    assert_int_equal(error.status, VVCQL_UNREACHABLE);
    close_model(NULL);
    assert_int_equal(counting.done, 100);
    assert_int_equal(counting.failed, 100);
    open_model(NULL);
    vv_sim_cassandra_set_deferred(model, true);
    counting = (struct counting){0};
    for (int i = 0; i < 100; i++) {
        char cql[96];
        snprintf(cql, sizeof cql, "INSERT INTO k.t (p, c, v) VALUES (1, %d, 1)", i);
        vvcql_execute(session, vvcql_statement_create(cql), count, &counting);
    }
    vv_sim_cassandra_cut(model, 1);
    vvcql_session_close(session);
    vv_sim_cassandra_join(model, 1);
    const struct vvcql_options options = {.contact_points = "faults/2"};
    assert_int_equal(vvcql_session_open(&options, false, &session, NULL), VVCQL_OK);
    assert_true(run("SELECT c FROM k.t WHERE p = 1"));
    size_t rows = 0;
    for (const char *at = text; at && *at; at = strchr(at + 1, ',')) {
        rows++;
    }
    assert_true(rows > 20 && rows < 80);
}

struct hooked {
    int calls;
    bool is_inside;
};

/* Another client writes whenever this one is about to, or has. */
static void other_writes(void *context, uint32_t client)
{
    struct hooked *hooked = context;
    hooked->calls++;
    if (hooked->is_inside || client != 1) {
        return;
    }
    hooked->is_inside = true;
    assert_true(run("INSERT INTO k.t (p, c, v) VALUES (9, %d, 1)", hooked->calls));
    hooked->is_inside = false;
}

static void others_work_between_request_and_answer(void **state)
{
    (void)state;
    struct hooked hooked = {0};
    vv_sim_cassandra_set_hook(model, other_writes, &hooked);
    assert_true(run("SELECT c FROM k.t WHERE p = 9"));
    assert_string_equal(text, "1");
    vv_sim_cassandra_set_hook(model, NULL, NULL);
    assert_true(run("SELECT c FROM k.t WHERE p = 9"));
    assert_string_equal(text, "1,4");
}

static void the_same_seed_gives_the_same_fates(void **state)
{
    (void)state;
    uint64_t failures[2];
    for (int round = 0; round < 2; round++) {
        struct vv_sim_cassandra_figures figures;
        set((struct vv_sim_cassandra_faults){.write_lost = 300000,
                                             .write_silent = 100000,
                                             .read_fails = 100000,
                                             .connection_lost = 100000});
        for (int i = 0; i < 200; i++) {
            (void)run("INSERT INTO k.t (p, c, v) VALUES (%d, 1, 1)", i);
            (void)run("SELECT v FROM k.t WHERE p = %d", i);
        }
        vv_sim_cassandra_read_figures(model, &figures);
        failures[round] = figures.failures;
        close_model(NULL);
        open_model(NULL);
    }
    assert_true(failures[0] > 50 && failures[0] == failures[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_ttl_ends_at_its_second, open_model, close_model),
        cmocka_unit_test_setup_teardown(what_expired_does_not_bring_back_what_was_before,
                                        open_model, close_model),
        cmocka_unit_test_setup_teardown(clocks_of_hosts_differ, open_model, close_model),
        cmocka_unit_test_setup_teardown(what_was_acknowledged_is_read_by_any_quorum, open_model,
                                        close_model),
        cmocka_unit_test_setup_teardown(what_timed_out_may_be_there, open_model, close_model),
        cmocka_unit_test_setup_teardown(late_writes_change_nothing_newer, open_model, close_model),
        cmocka_unit_test_setup_teardown(too_few_replicas_are_told, open_model, close_model),
        cmocka_unit_test_setup_teardown(unknown_transactions_happened_or_did_not, open_model,
                                        close_model),
        cmocka_unit_test_setup_teardown(a_client_is_cut_off, open_model, close_model),
        cmocka_unit_test_setup_teardown(others_work_between_request_and_answer, open_model,
                                        close_model),
        cmocka_unit_test_setup_teardown(the_same_seed_gives_the_same_fates, open_model,
                                        close_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
