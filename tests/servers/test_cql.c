/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CQL client and a real Cassandra, whose contact points are in VARVE_CASSANDRA:
 *
 *   python3 -B tools/cassandra run --nodes 1 -- test_servers_cql
 */
#include "cql_fixture.h"

/* ---- types ---- */

/* A column of a type, a literal of CQL, and how that literal is sent. */
struct type_case {
    const char *type;
    enum vvcql_type number;
    const char *literal;
    const char *bytes;
    size_t size;
};

#define BYTES(text) text, sizeof(text) - 1

static const struct type_case type_cases[] = {
    {"ascii", VVCQL_TYPE_ASCII, "'az'", BYTES("az")},
    {"bigint", VVCQL_TYPE_BIGINT, "-2", BYTES("\xff\xff\xff\xff\xff\xff\xff\xfe")},
    {"blob", VVCQL_TYPE_BLOB, "0x00ff", BYTES("\x00\xff")},
    {"boolean", VVCQL_TYPE_BOOLEAN, "true", BYTES("\x01")},
    {"date", VVCQL_TYPE_DATE, "'1970-01-02'", BYTES("\x80\x00\x00\x01")},
    {"decimal", VVCQL_TYPE_DECIMAL, "-1.5", BYTES("\x00\x00\x00\x01\xf1")},
    {"double", VVCQL_TYPE_DOUBLE, "0.5", BYTES("\x3f\xe0\x00\x00\x00\x00\x00\x00")},
    {"duration", VVCQL_TYPE_CUSTOM, /* its number is of v5 */ "1mo2d3ns", BYTES("\x02\x04\x06")},
    {"float", VVCQL_TYPE_FLOAT, "-0.5", BYTES("\xbf\x00\x00\x00")},
    {"inet", VVCQL_TYPE_INET, "'127.0.0.1'", BYTES("\x7f\x00\x00\x01")},
    {"int", VVCQL_TYPE_INT, "258", BYTES("\x00\x00\x01\x02")},
    {"smallint", VVCQL_TYPE_SMALLINT, "-32768", BYTES("\x80\x00")},
    {"text", VVCQL_TYPE_TEXT, "'\xc3\xa9'", BYTES("\xc3\xa9")},
    {"time", VVCQL_TYPE_TIME, "'00:00:00.000000001'", BYTES("\0\0\0\0\0\0\0\x01")},
    {"timestamp", VVCQL_TYPE_TIMESTAMP, "256", BYTES("\0\0\0\0\0\0\x01\x00")},
    {"timeuuid", VVCQL_TYPE_TIMEUUID, "00000000-0000-1000-8000-000000000001",
     BYTES("\0\0\0\0\0\0\x10\0\x80\0\0\0\0\0\0\x01")},
    {"tinyint", VVCQL_TYPE_TINYINT, "-1", BYTES("\xff")},
    {"uuid", VVCQL_TYPE_UUID, "00000000-0000-4000-8000-000000000002",
     BYTES("\0\0\0\0\0\0\x40\0\x80\0\0\0\0\0\0\x02")},
    {"varint", VVCQL_TYPE_VARINT, "-129", BYTES("\xff\x7f")},
    {"list<int>", VVCQL_TYPE_LIST, "[1, 2]",
     BYTES("\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x04\0\0\0\x02")},
    {"set<tinyint>", VVCQL_TYPE_SET, "{2, 1}", BYTES("\0\0\0\x02\0\0\0\x01\x01\0\0\0\x01\x02")},
    {"map<text, boolean>", VVCQL_TYPE_MAP, "{'k': false}",
     BYTES("\0\0\0\x01\0\0\0\x01k\0\0\0\x01\x00")},
    {"frozen<list<frozen<set<int>>>>", VVCQL_TYPE_LIST, "[{1}]",
     BYTES("\0\0\0\x01\0\0\0\x0c\0\0\0\x01\0\0\0\x04\0\0\0\x01")},
    {"frozen<tuple<int, text>>", VVCQL_TYPE_TUPLE, "(1, 'a')",
     BYTES("\0\0\0\x04\0\0\0\x01\0\0\0\x01"
           "a")},
    {"frozen<point>", VVCQL_TYPE_UDT, "{x: 1, y: 2}",
     BYTES("\0\0\0\x04\0\0\0\x01\0\0\0\x04\0\0\0\x02")},
    {"vector<float, 1>", VVCQL_TYPE_CUSTOM, "[0.5]", BYTES("\x3f\x00\x00\x00")},
};

static void assert_value(const struct type_case *type, struct vvcql_result *result, size_t column)
{
    struct vvcql_bytes value;
    if (!vvcql_get_bytes(result, column, &value) || value.size != type->size ||
        memcmp(value.data, type->bytes, type->size) != 0) {
        fail_msg("%s: not the value that was written", type->type);
    }
    assert_int_equal(vvcql_column_type(result, column), type->number);
}

#define N_TYPES (sizeof type_cases / sizeof type_cases[0])

static void create_types(void)
{
    char columns[1024] = "";
    size_t size = 0;
    for (size_t i = 0; i < N_TYPES; i++) {
        size += (size_t)snprintf(columns + size, sizeof columns - size, ", v%zu %s", i,
                                 type_cases[i].type);
    }
    run("CREATE TYPE point (x int, y int)");
    run("CREATE TABLE types (k int PRIMARY KEY%s)", columns);
}

/* Row 1 by the literal, row 2 by the bytes, row 3 null, row 4 unset. */
static void write_type(size_t i)
{
    run("INSERT INTO types (k, v%zu) VALUES (1, %s)", i, type_cases[i].literal);
    for (int32_t k = 2; k <= 4; k++) {
        struct vvcql_statement *insert = prepared("INSERT INTO types (k, v%zu) VALUES (?, ?)", i);
        vvcql_add_int(insert, k);
        if (k == 2) {
            vvcql_add_bytes(insert, type_cases[i].bytes, type_cases[i].size);
        } else if (k == 3) {
            vvcql_add_null(insert);
        } else {
            vvcql_add_unset(insert);
        }
        execute(insert);
    }
}

static void test_every_type(void **state)
{
    (void)state;
    create_types();
    for (size_t i = 0; i < N_TYPES; i++) {
        write_type(i);
    }
    for (int32_t k = 1; k <= 4; k++) {
        for (size_t i = 0; i < N_TYPES; i++) {
            struct vvcql_statement *select = prepared("SELECT v%zu FROM types WHERE k = ?", i);
            vvcql_add_int(select, k);
            struct vvcql_result *result = query(select);
            assert_true(vvcql_next_row(result));
            if (k <= 2) {
                assert_value(&type_cases[i], result, 0);
            } else {
                assert_true(vvcql_is_null(result, 0));
            }
            assert_false(vvcql_next_row(result));
            vvcql_result_destroy(result);
        }
    }
}

static void add_numbers(struct vvcql_statement *insert, const uint8_t uuid[16])
{
    vvcql_add_int(insert, -7);
    vvcql_add_boolean(insert, true);
    vvcql_add_tinyint(insert, -8);
    vvcql_add_smallint(insert, -9);
    vvcql_add_bigint(insert, INT64_MIN);
    vvcql_add_float(insert, 1.25f);
    vvcql_add_double(insert, -1e300);
    vvcql_add_timestamp(insert, -1);
    vvcql_add_uuid(insert, uuid);
    vvcql_add_text(insert, "text");
    vvcql_begin_list(insert);
    vvcql_add_int(insert, 5);
    vvcql_add_int(insert, 6);
    vvcql_end_list(insert);
}

/* Each function that adds, and the one that gets. */
static void test_values_by_their_functions(void **state)
{
    static const uint8_t uuid[16] = {1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16};
    (void)state;
    run("CREATE TABLE functions (k int PRIMARY KEY, b boolean, t tinyint, s smallint, i bigint, "
        "f float, d double, ts timestamp, u uuid, x text, l list<int>)");
    struct vvcql_statement *insert = prepared(
        "INSERT INTO functions (k, b, t, s, i, f, d, ts, u, x, l) VALUES (?,?,?,?,?,?,?,?,?,?,?)");
    add_numbers(insert, uuid);
    execute(insert);
    struct vvcql_result *result = query(
        vvcql_statement_create("SELECT k, b, t, s, i, f, d, ts, u, x, l FROM varve_cql.functions"));
    int32_t k;
    bool b;
    int8_t t;
    int16_t s;
    int64_t i;
    int64_t ts;
    float f;
    double d;
    uint8_t u[16];
    struct vvcql_bytes x;
    struct vvcql_elements elements;
    assert_true(vvcql_next_row(result));
    assert_true(vvcql_get_int(result, 0, &k) && k == -7);
    assert_true(vvcql_get_boolean(result, 1, &b) && b);
    assert_true(vvcql_get_tinyint(result, 2, &t) && t == -8);
    assert_true(vvcql_get_smallint(result, 3, &s) && s == -9);
    assert_true(vvcql_get_bigint(result, 4, &i) && i == INT64_MIN);
    assert_true(vvcql_get_float(result, 5, &f) && f == 1.25f);
    assert_true(vvcql_get_double(result, 6, &d) && d == -1e300);
    assert_true(vvcql_get_bigint(result, 7, &ts) && ts == -1);
    assert_true(vvcql_get_uuid(result, 8, u) && memcmp(u, uuid, 16) == 0);
    assert_true(vvcql_get_bytes(result, 9, &x) && x.size == 4 && memcmp(x.data, "text", 4) == 0);
    assert_true(vvcql_get_elements(result, 10, &elements) && elements.left == 2);
    assert_true(vvcql_next_element(&elements, &x) && x.size == 4 && x.data[3] == 5);
    assert_true(vvcql_next_element(&elements, &x) && x.data[3] == 6);
    assert_false(vvcql_next_element(&elements, &x));
    vvcql_result_destroy(result);
}

/* ---- pages ---- */

#define ROWS 1000

static void fill_pages(void)
{
    run("CREATE TABLE pages (p int, c int, v blob, PRIMARY KEY (p, c))");
    for (int32_t i = 0; i < ROWS; i++) {
        struct vvcql_statement *insert = prepared("INSERT INTO pages (p, c, v) VALUES (1, ?, ?)");
        vvcql_add_int(insert, i);
        vvcql_add_bytes(insert, "0123456789", 10);
        start(insert);
    }
    finish();
}

static void test_pages(void **state)
{
    (void)state;
    int32_t expected = 0;
    size_t n_pages = 0;
    uint8_t paging_state[1024];
    size_t size = 0;
    fill_pages();
    do {
        struct vvcql_statement *select = prepared("SELECT c FROM pages WHERE p = 1");
        vvcql_set_page_size(select, 90);
        if (n_pages > 0) {
            vvcql_set_paging_state(select, paging_state, size);
        }
        struct vvcql_result *result = query(select);
        int32_t c;
        assert_true(vvcql_result_rows(result) <= 90);
        while (vvcql_next_row(result)) {
            assert_true(vvcql_get_int(result, 0, &c) && c == expected);
            expected++;
        }
        size = vvcql_result_paging_state(result).size;
        assert_true(size <= sizeof paging_state);
        if (size > 0) {
            memcpy(paging_state, vvcql_result_paging_state(result).data, size);
        }
        vvcql_result_destroy(result);
        n_pages++;
    } while (size > 0);
    assert_int_equal(expected, ROWS);
    assert_in_range(n_pages, 12, 13);
}

/* ---- batches ---- */

static size_t count_rows(const char *table)
{
    int64_t n = -1;
    char text[128];
    (void)snprintf(text, sizeof text, "SELECT count(*) FROM varve_cql.%s", table);
    struct vvcql_result *result = query(vvcql_statement_create(text));
    assert_true(vvcql_next_row(result) && vvcql_get_bigint(result, 0, &n));
    vvcql_result_destroy(result);
    return (size_t)n;
}

static void test_batches(void **state)
{
    (void)state;
    run("CREATE TABLE batches (p int, c int, PRIMARY KEY (p, c))");
    for (int32_t type = 0; type < 2; type++) {
        struct vvcql_statement *batch =
            vvcql_batch_create(type == 0 ? VVCQL_BATCH_LOGGED : VVCQL_BATCH_UNLOGGED);
        for (int32_t i = 0; i < 100; i++) {
            struct vvcql_statement *part =
                prepared(i % 2 == 0 ? "INSERT INTO batches (p, c) VALUES (?, ?)"
                                    : "INSERT INTO batches (c, p) VALUES (?, ?)");
            vvcql_add_int(part, i % 2 == 0 ? type : i);
            vvcql_add_int(part, i % 2 == 0 ? i : type);
            vvcql_batch_add(batch, part);
        }
        vvcql_batch_add(
            batch, vvcql_statement_create("INSERT INTO varve_cql.batches (p, c) VALUES (7, 7)"));
        execute(batch);
    }
    assert_int_equal(count_rows("batches"), 201);
}

static void test_counter_batch(void **state)
{
    (void)state;
    int64_t n = 0;
    run("CREATE TABLE counters (k int PRIMARY KEY, n counter)");
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_COUNTER);
    for (int i = 1; i <= 3; i++) {
        struct vvcql_statement *part = prepared("UPDATE counters SET n = n + ? WHERE k = 1");
        vvcql_add_bigint(part, i);
        vvcql_batch_add(batch, part);
    }
    execute(batch);
    struct vvcql_result *result =
        query(vvcql_statement_create("SELECT n FROM varve_cql.counters WHERE k = 1"));
    assert_true(vvcql_next_row(result) && vvcql_get_bigint(result, 0, &n));
    assert_int_equal(vvcql_column_type(result, 0), VVCQL_TYPE_COUNTER);
    assert_int_equal(n, 6);
    vvcql_result_destroy(result);
}

/* ---- timestamps, lightweight transactions ---- */

static void test_the_higher_timestamp_wins(void **state)
{
    (void)state;
    static const int64_t timestamps[] = {2000, 1000, 1500};
    int64_t written = 0;
    run("CREATE TABLE stamps (k int PRIMARY KEY, v int)");
    for (int32_t i = 0; i < 3; i++) {
        struct vvcql_statement *insert = prepared("INSERT INTO stamps (k, v) VALUES (1, ?)");
        vvcql_add_int(insert, i);
        vvcql_set_timestamp(insert, timestamps[i]);
        execute(insert);
    }
    struct vvcql_result *result =
        query(vvcql_statement_create("SELECT v, writetime(v) FROM varve_cql.stamps"));
    int32_t v = -1;
    assert_true(vvcql_next_row(result) && vvcql_get_int(result, 0, &v));
    assert_true(vvcql_get_bigint(result, 1, &written));
    assert_int_equal(v, 0);
    assert_int_equal(written, 2000);
    vvcql_result_destroy(result);
}

static bool is_applied(struct vvcql_statement *statement)
{
    bool applied = false;
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    struct vvcql_result *result = query(statement);
    assert_true(vvcql_next_row(result) && vvcql_get_boolean(result, 0, &applied));
    vvcql_result_destroy(result);
    return applied;
}

static void test_lightweight_transactions(void **state)
{
    (void)state;
    run("CREATE TABLE leases (k int PRIMARY KEY, v int)");
    assert_true(is_applied(prepared("INSERT INTO leases (k, v) VALUES (1, 1) IF NOT EXISTS")));
    assert_false(is_applied(prepared("INSERT INTO leases (k, v) VALUES (1, 2) IF NOT EXISTS")));
    assert_true(is_applied(prepared("UPDATE leases SET v = 3 WHERE k = 1 IF v = 1")));
    struct vvcql_statement *select =
        vvcql_statement_create("SELECT v FROM varve_cql.leases WHERE k = 1");
    vvcql_set_consistency(select, VVCQL_LOCAL_SERIAL);
    struct vvcql_result *result = query(select);
    int32_t v = -1;
    assert_true(vvcql_next_row(result) && vvcql_get_int(result, 0, &v));
    assert_int_equal(v, 3);
    vvcql_result_destroy(result);
}

/* ---- prepared texts ---- */

/* A table that is dropped takes its prepared texts with it; made again, they are prepared again,
 * with the same columns or others. */
static void test_prepared_again(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct vvcql_counters before;
        struct vvcql_counters after;
        run("CREATE TABLE again (%s)",
            round < 2 ? "k int PRIMARY KEY, v int" : "k int PRIMARY KEY, a int, v int");
        vvcql_session_counters(session, &before);
        for (int32_t i = 0; i < 10; i++) {
            struct vvcql_statement *insert = prepared("INSERT INTO again (k, v) VALUES (?, ?)");
            vvcql_add_int(insert, i);
            vvcql_add_int(insert, 7);
            execute(insert);
        }
        struct vvcql_result *result = query(prepared("SELECT * FROM again WHERE k = 3"));
        assert_int_equal(vvcql_result_columns(result), round < 2 ? 2 : 3);
        vvcql_result_destroy(result);
        vvcql_session_counters(session, &after);
        assert_int_equal(after.unprepared > before.unprepared, round > 0);
        assert_int_equal(after.errors, before.errors);
        run("DROP TABLE again");
    }
}

static void test_columns_added_to_a_prepared_select(void **state)
{
    (void)state;
    run("CREATE TABLE wider (k int PRIMARY KEY, a int)");
    run("INSERT INTO wider (k, a) VALUES (1, 2)");
    for (size_t n = 2; n <= 3; n++) {
        struct vvcql_result *result = query(prepared("SELECT * FROM wider WHERE k = 1"));
        assert_int_equal(vvcql_result_columns(result), n);
        vvcql_result_destroy(result);
        if (n == 2) {
            run("ALTER TABLE wider ADD b int");
        }
    }
}

/* ---- errors, warnings, tracing ---- */

static void test_errors_as_cassandra_tells_them(void **state)
{
    (void)state;
    assert_int_equal(failure(vvcql_statement_create("SELEC")), VVCQL_SERVER);
    assert_int_equal(error.code, VVCQL_CODE_SYNTAX_ERROR);
    assert_false(error.outcome_unknown);
    assert_true(error.host[0] != '\0');
    assert_int_equal(failure(vvcql_statement_create("SELECT * FROM varve_cql.none")), VVCQL_SERVER);
    assert_int_equal(error.code, VVCQL_CODE_INVALID);
    assert_int_equal(failure(prepared("INSERT INTO none (k) VALUES (?)")), VVCQL_SERVER);
    assert_int_equal(error.code, VVCQL_CODE_INVALID);
    assert_int_equal(failure(vvcql_statement_create("CREATE KEYSPACE varve_cql WITH replication = "
                                                    "{'class': 'SimpleStrategy', "
                                                    "'replication_factor': 1}")),
                     VVCQL_SERVER);
    assert_int_equal(error.code, VVCQL_CODE_ALREADY_EXISTS);
    run("CREATE TABLE errors (k int PRIMARY KEY)");
    struct vvcql_statement *insert = prepared("INSERT INTO errors (k) VALUES (?)");
    vvcql_add_bytes(insert, "abc", 3); /* no int */
    assert_int_equal(failure(insert), VVCQL_SERVER);
    assert_int_equal(error.code, VVCQL_CODE_INVALID);
    struct vvcql_statement *select = vvcql_statement_create("SELECT * FROM varve_cql.errors");
    vvcql_set_consistency(select, VVCQL_ALL);
    vvcql_result_destroy(query(select));
}

static void test_warnings(void **state)
{
    (void)state;
    static uint8_t large[8192];
    run("CREATE TABLE warnings (p int, c int, v blob, PRIMARY KEY (p, c))");
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
    struct vvcql_statement *part = prepared("INSERT INTO warnings (p, c, v) VALUES (?, 1, ?)");
    vvcql_add_int(part, 1);
    vvcql_add_bytes(part, large, sizeof large); /* beyond batch_size_warn_threshold */
    vvcql_batch_add(batch, part);
    part = prepared("INSERT INTO warnings (p, c, v) VALUES (?, 1, ?)");
    vvcql_add_int(part, 2);
    vvcql_add_bytes(part, "", 0);
    vvcql_batch_add(batch, part);
    assert_true(vvcql_statement_size(batch) > sizeof large);
    struct vvcql_result *result = query(batch);
    assert_true(vvcql_result_warnings(result) > 0);
    assert_true(vvcql_result_warning(result, 0).size > 0);
    vvcql_result_destroy(result);
}

static void test_tracing(void **state)
{
    (void)state;
    uint8_t id[16];
    struct vvcql_statement *select = vvcql_statement_create("SELECT key FROM system.local");
    vvcql_set_tracing(select, true);
    struct vvcql_result *result = query(select);
    assert_true(vvcql_result_tracing_id(result, id));
    assert_int_equal(vvcql_result_rows(result), 1);
    vvcql_result_destroy(result);
    result = query(vvcql_statement_create("SELECT key FROM system.local"));
    assert_false(vvcql_result_tracing_id(result, id));
    vvcql_result_destroy(result);
}

/* ---- large and many ---- */

static void test_a_large_value(void **state)
{
    (void)state;
    static uint8_t large[3 << 20];
    run("CREATE TABLE large (k int PRIMARY KEY, v blob)");
    for (size_t i = 0; i < sizeof large; i++) {
        large[i] = (uint8_t)(i * i >> 8);
    }
    struct vvcql_statement *insert = prepared("INSERT INTO large (k, v) VALUES (1, ?)");
    vvcql_add_bytes(insert, large, sizeof large);
    execute(insert);
    struct vvcql_result *result = query(prepared("SELECT v FROM large WHERE k = 1"));
    struct vvcql_bytes value;
    assert_true(vvcql_next_row(result) && vvcql_get_bytes(result, 0, &value));
    assert_int_equal(value.size, sizeof large);
    assert_memory_equal(value.data, large, sizeof large);
    vvcql_result_destroy(result);
}

static void test_many_at_once(void **state)
{
    (void)state;
    struct vvcql_counters before;
    struct vvcql_counters after;
    run("CREATE TABLE many (k int PRIMARY KEY, v int)");
    vvcql_session_counters(session, &before);
    for (int32_t i = 0; i < 5000; i++) {
        struct vvcql_statement *insert = prepared("INSERT INTO many (k, v) VALUES (?, ?)");
        vvcql_add_int(insert, i);
        vvcql_add_int(insert, i * 2);
        start(insert);
    }
    finish();
    vvcql_session_counters(session, &after);
    assert_int_equal(after.requests - before.requests, 5000);
    assert_int_equal(after.errors, before.errors);
    assert_int_equal(count_rows("many"), 5000);
}

static void test_without_compression(void **state)
{
    (void)state;
    struct vvcql_options options = {
        .contact_points = getenv("VARVE_CASSANDRA"),
        .no_compression = true,
        .connections_per_host = 1,
    };
    struct vvcql_session *first = session;
    open_session(&options);
    struct vvcql_result *result =
        query(vvcql_statement_create("SELECT * FROM system_schema.columns"));
    assert_true(vvcql_result_rows(result) > 100);
    vvcql_result_destroy(result);
    vvcql_session_close(session);
    session = first;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),
        cmocka_unit_test(test_values_by_their_functions),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_counter_batch),
        cmocka_unit_test(test_the_higher_timestamp_wins),
        cmocka_unit_test(test_lightweight_transactions),
        cmocka_unit_test(test_prepared_again),
        cmocka_unit_test(test_columns_added_to_a_prepared_select),
        cmocka_unit_test(test_errors_as_cassandra_tells_them),
        cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_tracing),
        cmocka_unit_test(test_a_large_value),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_without_compression),
    };
    return cmocka_run_group_tests(tests, open_keyspace, close_keyspace);
}
