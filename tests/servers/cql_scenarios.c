/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Cassandra answers to statements like those of the store, in small: run on a real one and on
 * the model of one (tests/simulation/cassandra), which have to say the same.
 */
#include "cql_scenarios.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SCHEMA_WAIT_MS 30000

static struct vvcql_session *session;
static char text[8192];

/* ---- answers as texts: values of a row joined by commas, rows by spaces, null is "-" ---- */

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
}

static void add_value(const struct vvcql_result *row, size_t column)
{
    int64_t number;
    int32_t small;
    bool truth;
    struct vvcql_bytes bytes;
    if (vvcql_is_null(row, column)) {
        add("-");
    } else if (vvcql_column_type(row, column) == VVCQL_TYPE_BLOB ||
               vvcql_column_type(row, column) == VVCQL_TYPE_UUID) {
        assert_true(vvcql_get_bytes(row, column, &bytes));
        for (size_t i = 0; i < bytes.size; i++) {
            add("%02x", bytes.data[i]);
        }
    } else if (vvcql_column_type(row, column) == VVCQL_TYPE_BOOLEAN) {
        assert_true(vvcql_get_boolean(row, column, &truth));
        add(truth ? "true" : "false");
    } else if (vvcql_column_type(row, column) == VVCQL_TYPE_INT) {
        assert_true(vvcql_get_int(row, column, &small));
        add("%d", small);
    } else if (vvcql_get_bigint(row, column, &number) &&
               vvcql_column_type(row, column) != VVCQL_TYPE_TEXT) {
        add("%lld", (long long)number);
    } else {
        assert_true(vvcql_get_bytes(row, column, &bytes));
        add("%.*s", (int)bytes.size, (const char *)bytes.data);
    }
}

static void add_rows(struct vvcql_result *result)
{
    while (vvcql_next_row(result)) {
        add(text[0] ? " " : "");
        for (size_t i = 0; i < vvcql_result_columns(result); i++) {
            add(i > 0 ? "," : "");
            add_value(result, i);
        }
    }
}

static void run_statement(struct vvcql_statement *statement)
{
    struct vvcql_result *result;
    struct vvcql_error error = {.code = VVCQL_CODE_NONE};
    text[0] = '\0';
    if (vvcql_wait(session, statement, &result, &error) != VVCQL_OK) {
        add("!%s", error.code >= 0 ? vvcql_code_name(error.code) : error.message);
        return;
    }
    add_rows(result);
    vvcql_result_destroy(result);
}

/* `expected` is the answer; NULL: none, and it must not fail. */
static void expect(const char *cql, const char *expected)
{
    run_statement(vvcql_statement_create(cql));
    if (strcmp(text, expected ? expected : "") != 0) {
        fail_msg("%s\n  found    '%s'\n  expected '%s'", cql, text, expected ? expected : "");
    }
}

static void run(const char *cql)
{
    expect(cql, NULL);
}

/* ---- tables ---- */

static void create(const char *cql)
{
    struct vvcql_error error;
    run(cql);
    assert_int_equal(vvcql_wait_for_schema(session, SCHEMA_WAIT_MS, &error), VVCQL_OK);
}

/* Of each test its own partitions, so tables are made once. */
static int set_up(void **state)
{
    const struct vvcql_options options = {.contact_points = scenario_contact_points()};
    struct vvcql_error error;
    (void)state;
    if (vvcql_session_open(&options, false, &session, &error) != VVCQL_OK) {
        fail_msg("%s", error.message);
    }
    create("CREATE KEYSPACE IF NOT EXISTS scenarios WITH replication = {'class': "
           "'NetworkTopologyStrategy', 'dc1': 1} AND durable_writes = true");
    create("CREATE TABLE IF NOT EXISTS scenarios.mixed (p text, c int, d bigint, v text, n int, "
           "PRIMARY KEY ((p), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC)");
    create("CREATE TABLE IF NOT EXISTS scenarios.plain (p text, q int, c int, d int, v text, "
           "w blob, PRIMARY KEY ((p, q), c, d))");
    create("CREATE TABLE IF NOT EXISTS scenarios.ids (p text, u uuid, b blob, s smallint, "
           "PRIMARY KEY (p, u, b, s))");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vvcql_session_close(session);
    return 0;
}

/* ---- two values of one cell ---- */

static void the_higher_timestamp_wins_then_the_larger_value(void **state)
{
    (void)state;
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ts', 1, 1, 'x') USING TIMESTAMP 10");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ts', 1, 1, 'z') USING TIMESTAMP 9");
    expect("SELECT v, WRITETIME(v), TTL(v) FROM scenarios.mixed WHERE p = 'ts'", "x,10,-");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ts', 1, 1, 'w') USING TIMESTAMP 10");
    expect("SELECT v FROM scenarios.mixed WHERE p = 'ts'", "x");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ts', 1, 1, 'xa') USING TIMESTAMP 10");
    expect("SELECT v FROM scenarios.mixed WHERE p = 'ts'", "xa");
}

static void a_deletion_wins_at_the_same_time(void **state)
{
    (void)state;
    run("INSERT INTO scenarios.mixed (p, c, d, v, n) VALUES ('del', 1, 1, 'x', 5) "
        "USING TIMESTAMP 10");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('del', 1, 1, null) USING TIMESTAMP 10");
    expect("SELECT c, v, n FROM scenarios.mixed WHERE p = 'del'", "1,-,5");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('del', 1, 1, 'zz') USING TIMESTAMP 10");
    expect("SELECT c, v, n FROM scenarios.mixed WHERE p = 'del'", "1,-,5");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('del', 1, 1, 'b') USING TIMESTAMP 11");
    expect("SELECT c, v, n FROM scenarios.mixed WHERE p = 'del'", "1,b,5");
    run("DELETE n FROM scenarios.mixed USING TIMESTAMP 10 WHERE p = 'del' AND c = 1 AND d = 1");
    expect("SELECT c, v, n FROM scenarios.mixed WHERE p = 'del'", "1,b,-");
}

static void what_a_ttl_ends_wins_at_the_same_time(void **state)
{
    (void)state;
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ttl', 1, 1, 'z') USING TIMESTAMP 10");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ttl', 1, 1, 'a') USING TIMESTAMP 10 "
        "AND TTL 10000");
    expect("SELECT v FROM scenarios.mixed WHERE p = 'ttl'", "a");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ttl', 1, 1, 'y') USING TTL 5000 AND "
        "TIMESTAMP 10");
    expect("SELECT v FROM scenarios.mixed WHERE p = 'ttl'", "a");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ttl', 1, 1, 'b') USING TTL 20000 AND "
        "TIMESTAMP 10");
    expect("SELECT v FROM scenarios.mixed WHERE p = 'ttl'", "b");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ttl', 1, 1, null) USING TIMESTAMP 10");
    expect("SELECT v FROM scenarios.mixed WHERE p = 'ttl'", "-");
    expect("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ttl', 1, 1, 'b') USING TTL 630720001",
           "!invalid");
    expect("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ttl', 1, 1, 'b') USING TTL -1",
           "!invalid");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('ttl', 1, 1, 'b') USING TTL 0 AND "
        "TIMESTAMP 11");
    expect("SELECT v, TTL(v) FROM scenarios.mixed WHERE p = 'ttl'", "b,-");
}

/* ---- rows and deletions ---- */

static void an_insert_makes_a_row_and_an_update_only_values(void **state)
{
    (void)state;
    run("INSERT INTO scenarios.mixed (p, c, d) VALUES ('row', 1, 1)");
    run("UPDATE scenarios.mixed USING TIMESTAMP 10 SET v = 'a', n = 3 WHERE p = 'row' AND c = 2 "
        "AND d = 1");
    expect("SELECT * FROM scenarios.mixed WHERE p = 'row'", "row,2,1,3,a row,1,1,-,-");
    run("UPDATE scenarios.mixed USING TIMESTAMP 11 SET v = null, n = null WHERE p = 'row' AND "
        "c = 2 AND d = 1");
    expect("SELECT c FROM scenarios.mixed WHERE p = 'row'", "1");
    run("DELETE FROM scenarios.mixed WHERE p = 'row' AND c = 1 AND d = 1");
    expect("SELECT c FROM scenarios.mixed WHERE p = 'row'", "");
}

static void fill(const char *partition)
{
    char cql[256];
    for (int c = 1; c <= 5; c++) {
        for (int d = 1; d <= 2; d++) {
            snprintf(cql, sizeof cql,
                     "INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('%s', %d, %d, 'x') USING "
                     "TIMESTAMP 10",
                     partition, c, d);
            run(cql);
        }
    }
}

static void ranges_are_deleted(void **state)
{
    (void)state;
    fill("range");
    run("DELETE FROM scenarios.mixed USING TIMESTAMP 9 WHERE p = 'range' AND c < 5");
    run("DELETE FROM scenarios.mixed USING TIMESTAMP 10 WHERE p = 'range' AND c < 2");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'range'", "5,1 5,2 4,1 4,2 3,1 3,2 2,1 2,2");
    run("DELETE FROM scenarios.mixed USING TIMESTAMP 12 WHERE p = 'range' AND c = 4 AND d > 1");
    run("DELETE FROM scenarios.mixed USING TIMESTAMP 12 WHERE p = 'range' AND c = 3");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'range'", "5,1 5,2 4,1 2,1 2,2");
    run("DELETE FROM scenarios.mixed USING TIMESTAMP 12 WHERE p = 'range' AND c > 1 AND c <= 4");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'range'", "5,1 5,2");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('range', 3, 1, 'y') USING TIMESTAMP 12");
    run("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('range', 3, 2, 'y') USING TIMESTAMP 13");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'range'", "5,1 5,2 3,2");
    run("DELETE FROM scenarios.mixed USING TIMESTAMP 12 WHERE p = 'range'");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'range'", "3,2");
    run("DELETE FROM scenarios.mixed USING TIMESTAMP 13 WHERE p = 'range' AND c = 3 AND d = 2");
    expect("SELECT COUNT(*) FROM scenarios.mixed WHERE p = 'range'", "0");
}

/* ---- reading ---- */

static void ranges_are_read_in_either_order(void **state)
{
    (void)state;
    fill("read");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'read' AND c >= 2 AND c < 4",
           "3,1 3,2 2,1 2,2");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'read' ORDER BY c ASC LIMIT 3",
           "1,2 1,1 2,2");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'read' ORDER BY c DESC, d ASC LIMIT 3",
           "5,1 5,2 4,1");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'read' AND c = 4 AND d >= 2", "4,2");
    expect("SELECT c, d FROM scenarios.mixed WHERE p = 'read' AND c IN (1, 5, 9)",
           "5,1 5,2 1,1 1,2");
    expect("SELECT COUNT(*) FROM scenarios.mixed WHERE p = 'read' AND d = 1 ALLOW FILTERING", "5");
    expect("SELECT c FROM scenarios.mixed WHERE p = 'none'", "");
    expect("SELECT c FROM scenarios.absent WHERE p = 'none'", "!invalid");
}

static void tuples_are_compared(void **state)
{
    (void)state;
    for (int c = 1; c <= 3; c++) {
        for (int d = 1; d <= 2; d++) {
            char cql[256];
            snprintf(cql, sizeof cql,
                     "INSERT INTO scenarios.plain (p, q, c, d, v, w) VALUES ('tuple', %d, %d, %d, "
                     "'', 0x0%d)",
                     c % 2, c, d, d);
            run(cql);
        }
    }
    expect("SELECT c, d, v, w FROM scenarios.plain WHERE p = 'tuple' AND q = 1 AND (c, d) > (1, 1)",
           "1,2,,02 3,1,,01 3,2,,02");
    expect("SELECT c, d FROM scenarios.plain WHERE p = 'tuple' AND q IN (0, 1) AND c = 2",
           "2,1 2,2");
    expect("SELECT c, d FROM scenarios.plain WHERE p = 'tuple' AND q = 1 AND (c, d) <= (3, 1) AND "
           "(c, d) > (1, 1)",
           "1,2 3,1");
}

static void keys_are_in_the_order_of_their_types(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "ffffffff-0000-4000-8000-000000000000, 0x, 1",
        "00000000-0000-8000-8000-000000000000, 0x, 1",
        "00000000-0000-4000-8000-000000000001, 0x80, 1",
        "00000000-0000-4000-8000-000000000001, 0x7f00, 1",
        "00000000-0000-4000-8000-000000000001, 0x7f, 5",
        "00000000-0000-4000-8000-000000000001, 0x7f, -5",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char cql[256];
        snprintf(cql, sizeof cql, "INSERT INTO scenarios.ids (p, u, b, s) VALUES ('ids', %s)",
                 rows[i]);
        run(cql);
    }
    expect("SELECT u, b FROM scenarios.ids WHERE p = 'ids'",
           "00000000000040008000000000000001,7f 00000000000040008000000000000001,7f "
           "00000000000040008000000000000001,7f00 00000000000040008000000000000001,80 "
           "ffffffff000040008000000000000000, 00000000000080008000000000000000,");
    expect("SELECT COUNT(*) FROM scenarios.ids WHERE p = 'ids' AND u = "
           "00000000-0000-4000-8000-000000000001 AND b = 0x7f AND s < 0",
           "1");
}

static void pages_go_on_where_they_ended(void **state)
{
    (void)state;
    char whole[512] = "";
    struct vvcql_result *result = NULL;
    fill("page");
    for (int pages = 0; pages < 20; pages++) {
        struct vvcql_statement *statement = vvcql_statement_create(
            "SELECT c, d FROM scenarios.mixed WHERE p = 'page' AND c < 5 LIMIT 7");
        struct vvcql_result *next;
        vvcql_set_page_size(statement, 3);
        if (result) {
            struct vvcql_bytes at = vvcql_result_paging_state(result);
            vvcql_set_paging_state(statement, at.data, at.size);
        }
        if (pages == 1) { /* what comes meanwhile is read where it belongs */
            run("INSERT INTO scenarios.mixed (p, c, d) VALUES ('page', 4, 0)");
            run("INSERT INTO scenarios.mixed (p, c, d) VALUES ('page', 3, 5)");
        }
        assert_int_equal(vvcql_wait(session, statement, &next, NULL), VVCQL_OK);
        vvcql_result_destroy(result);
        result = next;
        assert_true(vvcql_result_rows(result) <= 3);
        text[0] = '\0';
        add_rows(result);
        size_t size = strlen(whole);
        snprintf(whole + size, sizeof whole - size, "%s%s", size > 0 && text[0] ? "|" : "", text);
        if (vvcql_result_paging_state(result).size == 0) {
            break;
        }
    }
    vvcql_result_destroy(result);
    assert_string_equal(whole, "4,1 4,2 3,1|3,2 3,5 2,1|2,2");
}

/* ---- lightweight transactions ---- */

static void conditions_decide(void **state)
{
    (void)state;
    run("DELETE FROM scenarios.mixed WHERE p = 'lwt'");
    expect("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('lwt', 1, 1, 'a') IF NOT EXISTS",
           "true");
    expect("INSERT INTO scenarios.mixed (p, c, d, v) VALUES ('lwt', 1, 1, 'b') IF NOT EXISTS",
           "false,lwt,1,1,-,a");
    expect("UPDATE scenarios.mixed SET v = 'b' WHERE p = 'lwt' AND c = 1 AND d = 1 IF v = 'a'",
           "true");
    expect("UPDATE scenarios.mixed SET v = 'c' WHERE p = 'lwt' AND c = 1 AND d = 1 IF v = 'a'",
           "false,b");
    expect("UPDATE scenarios.mixed SET v = 'c' WHERE p = 'lwt' AND c = 1 AND d = 1 IF v = 'b' AND "
           "n = 5",
           "false,b,-");
    expect("UPDATE scenarios.mixed SET n = 6 WHERE p = 'lwt' AND c = 1 AND d = 1 IF n = null AND "
           "v IN ('a', 'b')",
           "true");
    expect("UPDATE scenarios.mixed SET n = 7 WHERE p = 'lwt' AND c = 1 AND d = 1 IF n < 6",
           "false,6");
    expect("UPDATE scenarios.mixed SET n = 7 WHERE p = 'lwt' AND c = 1 AND d = 1 IF n <= 6",
           "true");
    expect("UPDATE scenarios.mixed SET n = 8 WHERE p = 'lwt' AND c = 1 AND d = 1 IF n != 8",
           "true");
    expect("UPDATE scenarios.mixed SET v = 'c' WHERE p = 'lwt' AND c = 9 AND d = 1 IF v = 'b'",
           "false");
    expect("UPDATE scenarios.mixed SET v = 'c' WHERE p = 'lwt' AND c = 9 AND d = 1 IF EXISTS",
           "false");
    expect("UPDATE scenarios.mixed SET v = 'c' WHERE p = 'lwt' AND c = 8 AND d = 1 IF v = null",
           "true");
    expect("SELECT c, v, n FROM scenarios.mixed WHERE p = 'lwt'", "8,c,- 1,b,8");
    expect("DELETE FROM scenarios.mixed WHERE p = 'lwt' AND c = 1 AND d = 1 IF n = 7", "false,8");
    expect("DELETE FROM scenarios.mixed WHERE p = 'lwt' AND c = 1 AND d = 1 IF n = 8", "true");
    expect("DELETE FROM scenarios.mixed WHERE p = 'lwt' AND c = 1 AND d = 1 IF EXISTS", "false");
    expect("SELECT c, v, n FROM scenarios.mixed WHERE p = 'lwt'", "8,c,-");
}

static void batches_of_one_partition_are_decided_together(void **state)
{
    (void)state;
    const struct vvcql_prepared *insert = vvcql_prepare(
        session,
        "INSERT INTO scenarios.plain (p, q, c, d, v) VALUES (?, ?, ?, ?, ?) IF NOT EXISTS");
    const struct vvcql_prepared *update =
        vvcql_prepare(session, "UPDATE scenarios.plain SET v = ? WHERE p = ? AND q = ? AND c = ? "
                               "AND d = ? IF v = ?");
    run("DELETE FROM scenarios.plain WHERE p = 'both' AND q = 1");
    run("INSERT INTO scenarios.plain (p, q, c, d, v) VALUES ('both', 1, 1, 1, 'a')");
    for (int round = 0; round < 2; round++) {
        struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
        struct vvcql_statement *part = vvcql_statement_prepared(insert);
        vvcql_add_text(part, "both");
        vvcql_add_int(part, 1);
        vvcql_add_int(part, 2);
        vvcql_add_int(part, 1);
        vvcql_add_text(part, "new");
        vvcql_batch_add(batch, part);
        part = vvcql_statement_prepared(update);
        vvcql_add_text(part, "b");
        vvcql_add_text(part, "both");
        vvcql_add_int(part, 1);
        vvcql_add_int(part, 1);
        vvcql_add_int(part, 1);
        vvcql_add_text(part, round == 0 ? "wrong" : "a");
        vvcql_batch_add(batch, part);
        vvcql_set_serial_consistency(batch, VVCQL_LOCAL_SERIAL);
        run_statement(batch);
        assert_int_equal(strncmp(text, round == 0 ? "false" : "true", 4), 0);
        expect("SELECT c, v FROM scenarios.plain WHERE p = 'both' AND q = 1",
               round == 0 ? "1,a" : "1,b 2,new");
    }
}

/* ---- prepared ---- */

static void prepared_values_are_null_or_unset(void **state)
{
    (void)state;
    const struct vvcql_prepared *insert = vvcql_prepare(
        session, "INSERT INTO scenarios.mixed (p, c, d, v, n) VALUES (?, ?, ?, ?, ?) USING TTL ? "
                 "AND TIMESTAMP ?");
    for (int round = 0; round < 2; round++) {
        struct vvcql_statement *statement = vvcql_statement_prepared(insert);
        vvcql_add_text(statement, "unset");
        vvcql_add_int(statement, -1);
        vvcql_add_bigint(statement, INT64_MIN);
        if (round == 0) {
            vvcql_add_text(statement, "v");
            vvcql_add_int(statement, 5);
        } else {
            vvcql_add_unset(statement);
            vvcql_add_null(statement);
        }
        vvcql_add_int(statement, 1000);
        vvcql_add_bigint(statement, 100 + round);
        run_statement(statement);
        assert_string_equal(text, "");
    }
    expect("SELECT c, d, v, n, WRITETIME(v) FROM scenarios.mixed WHERE p = 'unset'",
           "-1,-9223372036854775808,v,-,100");
}

static void a_batch_has_one_timestamp(void **state)
{
    (void)state;
    const struct vvcql_prepared *insert =
        vvcql_prepare(session, "INSERT INTO scenarios.mixed (p, c, d, n) VALUES (?, ?, 1, ?)");
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
    for (int i = 0; i < 4; i++) {
        struct vvcql_statement *part = vvcql_statement_prepared(insert);
        vvcql_add_text(part, "batch");
        vvcql_add_int(part, i / 2);
        vvcql_add_int(part, 10 - i);
        vvcql_batch_add(batch, part);
    }
    vvcql_set_timestamp(batch, 77);
    run_statement(batch);
    assert_string_equal(text, "");
    expect("SELECT c, n, WRITETIME(n) FROM scenarios.mixed WHERE p = 'batch'", "1,8,77 0,10,77");
}

static void a_column_can_be_added(void **state)
{
    (void)state;
    create("CREATE TABLE IF NOT EXISTS scenarios.grows (p text PRIMARY KEY, b int)");
    run("INSERT INTO scenarios.grows (p, b) VALUES ('old', 1)");
    create("ALTER TABLE scenarios.grows ADD IF NOT EXISTS a text");
    expect("SELECT p, a, b FROM scenarios.grows WHERE p = 'old'", "old,-,1");
    run("UPDATE scenarios.grows SET a = 'x' WHERE p = 'old'");
    expect("SELECT p, a, b FROM scenarios.grows WHERE p = 'old'", "old,x,1");
    expect("ALTER TABLE scenarios.grows ADD a text", "!invalid");
    expect("SELECT column_name, type, kind, position, clustering_order FROM system_schema.columns "
           "WHERE keyspace_name = 'scenarios' AND table_name = 'grows'",
           "a,text,regular,-1,none b,int,regular,-1,none p,text,partition_key,0,none");
}

int run_scenarios(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_higher_timestamp_wins_then_the_larger_value),
        cmocka_unit_test(a_deletion_wins_at_the_same_time),
        cmocka_unit_test(what_a_ttl_ends_wins_at_the_same_time),
        cmocka_unit_test(an_insert_makes_a_row_and_an_update_only_values),
        cmocka_unit_test(ranges_are_deleted),
        cmocka_unit_test(ranges_are_read_in_either_order),
        cmocka_unit_test(tuples_are_compared),
        cmocka_unit_test(keys_are_in_the_order_of_their_types),
        cmocka_unit_test(pages_go_on_where_they_ended),
        cmocka_unit_test(conditions_decide),
        cmocka_unit_test(batches_of_one_partition_are_decided_together),
        cmocka_unit_test(prepared_values_are_null_or_unset),
        cmocka_unit_test(a_batch_has_one_timestamp),
        cmocka_unit_test(a_column_can_be_added),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
