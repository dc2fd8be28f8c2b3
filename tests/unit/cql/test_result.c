/* SPDX-License-Identifier: Apache-2.0 */
/* Results made of RESULT bodies: rows, types, pages, and everything that is cut or counted wrong.
 */
#include "cql/responses.h"

#include "notation.h"

static enum vvcql_status create(uint8_t flags, struct vvcql_bytes body,
                                struct vvcql_result **result_out)
{
    struct vvcql_frame frame = {.flags = flags, .opcode = VVCQL_OP_RESULT, .body = body};
    struct vvcql_error error;
    enum vvcql_status status = vvcql_result_create(&frame, "10.0.0.1:9042", result_out, &error);
    assert_true(status == VVCQL_OK || error.status == status);
    assert_true((*result_out != NULL) == (status == VVCQL_OK));
    return status;
}

/* The frame's memory is gone when the result is used, as a connection's is. */
static struct vvcql_result *result_of(uint8_t flags, const char *notation)
{
    struct vvcql_result *result;
    struct vvcql_bytes body = bytes(notation);
    uint8_t *copy = vv_sim_malloc(body.size + 1);
    memcpy(copy, body.data, body.size);
    enum vvcql_status status =
        create(flags, (struct vvcql_bytes){.data = copy, .size = body.size}, &result);
    memset(copy, 0x5A, body.size);
    free(copy);
    assert_int_equal(status, VVCQL_OK);
    return result;
}

static void assert_refused(const char *notation)
{
    struct vvcql_result *result;
    assert_int_equal(create(0, bytes(notation), &result), VVCQL_PROTOCOL);
}

/* Every prefix is refused, and what follows the whole is ignored. */
static void assert_needs_all(uint8_t flags, const char *notation)
{
    struct vvcql_bytes body = bytes(notation);
    struct vvcql_result *result;
    for (size_t size = 0; size < body.size; size++) {
        assert_int_equal(create(flags, prefix(body, size), &result), VVCQL_PROTOCOL);
    }
    char longer[4096];
    snprintf(longer, sizeof longer, "%s 'more'", notation);
    assert_int_equal(create(flags, bytes(longer), &result), VVCQL_OK);
    vvcql_result_destroy(result);
}

/* ---- rows ---- */

/* Two columns of one table; three rows: values, null and empty, values. */
static const char *const rows = "00000002 00000001 00000002 0002 'ks' 0001 't' 0001 'a' 0009"
                                "0004 'name' 000d 00000003"
                                "00000004 00000007 00000003 'one'"
                                "ffffffff 00000000"
                                "00000004 fffffffe 00000001 00";

static void test_rows_one_after_the_other(void **state)
{
    (void)state;
    struct vvcql_result *result = result_of(0, rows);
    assert_int_equal(vvcql_result_rows(result), 3);
    assert_int_equal(vvcql_result_columns(result), 2);
    assert_text(vvcql_column_name(result, 0), "a");
    assert_text(vvcql_column_name(result, 1), "name");
    assert_int_equal(vvcql_column_type(result, 0), VVCQL_TYPE_INT);
    assert_int_equal(vvcql_column_type(result, 1), VVCQL_TYPE_TEXT);
    assert_int_equal(vvcql_result_size(result), bytes(rows).size);
    assert_string_equal(vvcql_result_host(result), "10.0.0.1:9042");
    assert_int_equal(vvcql_result_paging_state(result).size, 0);
    assert_int_equal(vvcql_result_warnings(result), 0);

    int32_t number = 0;
    struct vvcql_bytes text;
    assert_true(vvcql_is_null(result, 0)); /* before the first row */
    assert_false(vvcql_get_int(result, 0, &number));
    assert_true(vvcql_next_row(result));
    assert_true(vvcql_get_int(result, 0, &number));
    assert_int_equal(number, 7);
    assert_true(vvcql_get_bytes(result, 1, &text));
    assert_text(text, "one");
    assert_true(vvcql_next_row(result));
    assert_true(vvcql_is_null(result, 0));
    assert_false(vvcql_get_int(result, 0, &number));
    assert_int_equal(number, 7); /* nothing was written */
    assert_false(vvcql_is_null(result, 1));
    assert_true(vvcql_get_bytes(result, 1, &text));
    assert_int_equal(text.size, 0);
    assert_non_null(text.data);
    assert_true(vvcql_next_row(result));
    assert_true(vvcql_get_int(result, 0, &number));
    assert_int_equal(number, -2);
    assert_false(vvcql_next_row(result));
    assert_false(vvcql_next_row(result));
    assert_true(vvcql_is_null(result, 0)); /* behind the last row */
    assert_false(vvcql_get_bytes(result, 1, &text));
    vvcql_result_destroy(result);
    assert_needs_all(0, rows);
}

static void test_tables_with_each_column(void **state)
{
    (void)state;
    const char *notation = "00000002 00000000 00000002 0001 'k' 0001 't' 0001 'a' 0014"
                           "0001 'k' 0001 'u' 0001 'b' 0004 00000001 00000001 ff 00000001 02";
    struct vvcql_result *result = result_of(0, notation);
    assert_text(vvcql_column_name(result, 0), "a");
    assert_text(vvcql_column_name(result, 1), "b");
    assert_true(vvcql_next_row(result));
    int8_t tiny;
    bool truth;
    assert_true(vvcql_get_tinyint(result, 0, &tiny));
    assert_int_equal(tiny, -1);
    assert_true(vvcql_get_boolean(result, 1, &truth));
    assert_true(truth);
    vvcql_result_destroy(result);
    assert_needs_all(0, notation);
}

static void test_pages(void **state)
{
    (void)state;
    const char *notation = "00000002 00000003 00000001 00000003 'pag' 0001 'k' 0001 't' 0001 'a'"
                           "0009 00000000";
    struct vvcql_result *result = result_of(0, notation);
    assert_text(vvcql_result_paging_state(result), "pag");
    assert_int_equal(vvcql_result_rows(result), 0);
    assert_false(vvcql_next_row(result));
    vvcql_result_destroy(result);
    assert_needs_all(0, notation);
    /* no columns at all, and a state that is null */
    result = result_of(0, "00000002 00000006 00000000 ffffffff 00000000");
    assert_int_equal(vvcql_result_paging_state(result).size, 0);
    assert_int_equal(vvcql_result_columns(result), 0);
    vvcql_result_destroy(result);
}

static void test_what_stands_before_the_body_is_kept(void **state)
{
    (void)state;
    const uint8_t flags = VVCQL_FLAG_TRACING | VVCQL_FLAG_WARNING | VVCQL_FLAG_PAYLOAD;
    const char *notation = "000102030405060708090a0b0c0d0e0f 0002 0005 'large' 0003 'old'"
                           "0001 0001 'k' 00000001 'v' 00000002 00000001 00000001 0001 'k' 0001 't'"
                           "0001 'a' 0009 00000001 00000004 00000009";
    struct vvcql_result *result = result_of(flags, notation);
    uint8_t id[16];
    assert_true(vvcql_result_tracing_id(result, id));
    for (size_t i = 0; i < sizeof id; i++) {
        assert_int_equal(id[i], i);
    }
    assert_int_equal(vvcql_result_warnings(result), 2);
    assert_text(vvcql_result_warning(result, 0), "large");
    assert_text(vvcql_result_warning(result, 1), "old");
    assert_int_equal(vvcql_result_warning(result, 2).size, 0);
    assert_true(vvcql_next_row(result));
    int32_t number;
    assert_true(vvcql_get_int(result, 0, &number));
    assert_int_equal(number, 9);
    assert_int_equal(vvcql_result_size(result), bytes(notation).size);
    vvcql_result_destroy(result);
    assert_needs_all(flags, notation);
}

static void test_results_without_rows(void **state)
{
    (void)state;
    const char *const notations[] = {
        "00000001",
        "00000003 0002 'ks'",
        "00000005 0007 'CREATED' 0005 'TABLE' 0002 'ks' 0001 't'",
    };
    for (size_t i = 0; i < 3; i++) {
        struct vvcql_result *result = result_of(0, notations[i]);
        uint8_t id[16];
        assert_int_equal(vvcql_result_rows(result), 0);
        assert_int_equal(vvcql_result_columns(result), 0);
        assert_false(vvcql_next_row(result));
        assert_true(vvcql_is_null(result, 0));
        assert_false(vvcql_result_tracing_id(result, id));
        assert_int_equal(vvcql_result_paging_state(result).size, 0);
        vvcql_result_destroy(result);
    }
    assert_needs_all(0, notations[0]);
    assert_needs_all(0, notations[1]);
    assert_needs_all(0, "00000005 0007 'CREATED' 0008 'KEYSPACE' 0002 'ks'");
    vvcql_result_destroy(NULL);
}

/* ---- wrong bodies ---- */

static void test_other_answers_are_refused(void **state)
{
    (void)state;
    assert_refused("00000000");
    assert_refused("00000004 0001 01 00000000 00000000 00000000"); /* prepared */
    struct vvcql_frame frame = {.opcode = VVCQL_OP_READY, .body = bytes("00000001")};
    struct vvcql_result *result;
    assert_int_equal(vvcql_result_create(&frame, "", &result, NULL), VVCQL_PROTOCOL);
    assert_null(result);
}

static void test_wrong_counts_are_refused(void **state)
{
    (void)state;
    const char *const columns[] = {"00000003", "00000005", "00010000", "7fffffff", "ffffffff"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        char notation[512];
        snprintf(notation, sizeof notation,
                 "00000002 00000001 %s 0000 0000 0000 0009 0000 0009 00000000", columns[i]);
        vv_sim_memory_fail(1);
        struct vvcql_result *result;
        struct vvcql_frame frame = {.opcode = VVCQL_OP_RESULT, .body = bytes(notation)};
        enum vvcql_status status = vvcql_result_create(&frame, "h", &result, NULL);
        bool asked = vv_sim_memory_failed();
        assert_int_equal(status, asked ? VVCQL_NO_MEMORY : VVCQL_PROTOCOL);
        assert_true(!asked || i < 2); /* those that the body could hold */
        assert_refused(notation);
    }
    const char *const counts[] = {"00000002", "00000003", "40000000", "7fffffff", "ffffffff"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char notation[512];
        snprintf(notation, sizeof notation,
                 "00000002 00000001 00000002 0000 0000 0000 0009 0000 0009 %s"
                 "ffffffff ffffffff ffffffff",
                 counts[i]);
        assert_refused(notation);
    }
}

static void test_rows_without_columns_are_refused(void **state)
{
    (void)state;
    assert_refused("00000002 00000001 00000000 0000 0000 00000001");
    assert_refused("00000002 00000004 00000000 7fffffff");
    /* columns that are said not to be described */
    assert_refused("00000002 00000004 00000001 00000001 00000004 00000001");
    assert_refused("00000002 00000004 00000001 0000 0000 0000 0009 00000000");
}

static void test_values_beyond_the_body_are_refused(void **state)
{
    (void)state;
    const char *const values[] = {"00000005 01020304", "7fffffff 01020304", "00000001", "000000"};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char notation[256];
        snprintf(notation, sizeof notation,
                 "00000002 00000001 00000001 0000 0000 0000 0003 00000001 %s", values[i]);
        assert_refused(notation);
    }
}

static void test_wrong_types_are_refused(void **state)
{
    (void)state;
    assert_refused("00000002 00000001 00000001 0000 0000 0000 0033 00000000");
    assert_refused("00000002 00000001 00000001 0000 0000 0000 0030 00000000");
    char deep[512] = "00000002 00000001 00000001 0000 0000 0000";
    for (int i = 0; i < 40; i++) {
        strcat(deep, "0020");
    }
    strcat(deep, "0009 00000000");
    assert_refused(deep);
}

/* ---- many columns, large values, memory ---- */

/* One row of empty values, in columns that have no names. */
static enum vvcql_status create_wide(unsigned columns, struct vvcql_result **result_out)
{
    const size_t size = 12 + 4 + (size_t)columns * 8 + 4;
    uint8_t *body = vv_sim_calloc(1, size);
    memcpy(body, "\0\0\0\2\0\0\0\1", 8);
    body[9] = (uint8_t)(columns >> 16);
    body[10] = (uint8_t)(columns >> 8);
    body[11] = (uint8_t)columns;
    for (unsigned i = 0; i < columns; i++) {
        body[16 + i * 4 + 3] = VVCQL_TYPE_INT;
    }
    body[16 + columns * 4 + 3] = 1;
    enum vvcql_status status =
        create(0, (struct vvcql_bytes){.data = body, .size = size}, result_out);
    free(body);
    return status;
}

static void test_up_to_65535_columns(void **state)
{
    (void)state;
    struct vvcql_result *result;
    assert_int_equal(create_wide(65535, &result), VVCQL_OK);
    assert_int_equal(vvcql_result_columns(result), 65535);
    assert_true(vvcql_next_row(result));
    assert_false(vvcql_is_null(result, 65534));
    assert_true(vvcql_is_null(result, 65535));
    vvcql_result_destroy(result);
    assert_int_equal(create_wide(65536, &result), VVCQL_PROTOCOL);
}

static void test_a_failed_allocation_is_told(void **state)
{
    (void)state;
    struct vvcql_frame frame = {.opcode = VVCQL_OP_RESULT, .body = bytes(rows)};
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vvcql_result *result;
        vv_sim_memory_fail(k);
        enum vvcql_status status = vvcql_result_create(&frame, "h", &result, NULL);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VVCQL_NO_MEMORY : VVCQL_OK);
        assert_true((result == NULL) == failed);
        vvcql_result_destroy(result);
        assert_true(k <= 2); /* one piece of memory */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_rows_one_after_the_other, forget_bytes),
        cmocka_unit_test_teardown(test_tables_with_each_column, forget_bytes),
        cmocka_unit_test_teardown(test_pages, forget_bytes),
        cmocka_unit_test_teardown(test_what_stands_before_the_body_is_kept, forget_bytes),
        cmocka_unit_test_teardown(test_results_without_rows, forget_bytes),
        cmocka_unit_test_teardown(test_other_answers_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_wrong_counts_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_rows_without_columns_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_values_beyond_the_body_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_wrong_types_are_refused, forget_bytes),
        cmocka_unit_test(test_up_to_65535_columns),
        cmocka_unit_test_teardown(test_a_failed_allocation_is_told, forget_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
