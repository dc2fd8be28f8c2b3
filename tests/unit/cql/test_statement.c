/* SPDX-License-Identifier: Apache-2.0 */
/* Statements built: values byte by byte, batches, options, and every wrong use of them. */
#include "cql/frame.h"
#include "cql/statement_private.h"

#include "notation.h"

/* Statements only carry it. */
static const char any_prepared;
#define PREPARED ((const struct vvcql_prepared *)(const void *)&any_prepared)

static struct vvcql_bytes content(const struct vvcql_buffer *buffer)
{
    return (struct vvcql_bytes){.data = buffer->data, .size = buffer->size};
}

static void assert_fine(const struct vvcql_statement *statement)
{
    struct vvcql_error error;
    assert_int_equal(vvcql_statement_check(statement, &error), VVCQL_OK);
}

static void assert_wrong(struct vvcql_statement *take_statement, const char *needle)
{
    struct vvcql_error error;
    assert_int_equal(vvcql_statement_check(take_statement, &error), VVCQL_INVALID);
    if (strstr(error.message, needle) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", needle, error.message);
    }
    vvcql_statement_destroy(take_statement);
}

/* ---- values ---- */

static void add_one_of_each(struct vvcql_statement *statement)
{
    static const uint8_t uuid[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    vvcql_add_null(statement);
    vvcql_add_unset(statement);
    vvcql_add_boolean(statement, true);
    vvcql_add_boolean(statement, false);
    vvcql_add_tinyint(statement, -2);
    vvcql_add_smallint(statement, INT16_MIN);
    vvcql_add_int(statement, -3);
    vvcql_add_bigint(statement, INT64_MAX);
    vvcql_add_float(statement, 1.5f);
    vvcql_add_double(statement, -0.0);
    vvcql_add_timestamp(statement, -1);
    vvcql_add_uuid(statement, uuid);
    vvcql_add_text(statement, "t\u00e4");
    vvcql_add_text(statement, "");
    vvcql_add_bytes(statement, "\0\xff", 2);
    vvcql_add_bytes(statement, NULL, 0);
}

static const char *const one_of_each[] = {
    NULL,
    NULL,
    "01",
    "00",
    "fe",
    "8000",
    "fffffffd",
    "7fffffffffffffff",
    "3fc00000",
    "8000000000000000",
    "ffffffffffffffff",
    "000102030405060708090a0b0c0d0e0f",
    "'t' c3a4",
    "",
    "00ff",
    "",
};

static void test_values_are_kept_as_they_are_sent(void **state)
{
    (void)state;
    struct vvcql_statement *statement = vvcql_statement_prepared(PREPARED);
    add_one_of_each(statement);
    assert_fine(statement);
    const size_t count = sizeof one_of_each / sizeof one_of_each[0];
    assert_int_equal(statement->n_values, count);
    for (size_t i = 0; i < count; i++) {
        struct vvcql_bytes value = vvcql_statement_value(statement, i);
        if (one_of_each[i] == NULL) {
            assert_null(value.data);
            assert_int_equal(value.size, 0);
        } else {
            assert_bytes(value, one_of_each[i]);
        }
    }
    assert_null(vvcql_statement_value(statement, count).data);
    assert_bytes(content(&statement->values),
                 "ffffffff fffffffe 00000001 01 00000001 00 00000001 fe 00000002 8000"
                 "00000004 fffffffd 00000008 7fffffffffffffff 00000004 3fc00000"
                 "00000008 8000000000000000 00000008 ffffffffffffffff"
                 "00000010 000102030405060708090a0b0c0d0e0f 00000003 't' c3a4 00000000"
                 "00000002 00ff 00000000");
    assert_int_equal(vvcql_statement_size(statement), statement->values.size);
    vvcql_statement_destroy(statement);
}

static void test_every_bit_of_a_number_is_kept(void **state)
{
    (void)state;
    struct vvcql_statement *statement = vvcql_statement_prepared(PREPARED);
    const uint64_t bits = 0x7FF4DEADBEEF0001; /* a NaN with a payload */
    double value;
    memcpy(&value, &bits, sizeof value);
    vvcql_add_double(statement, value);
    assert_bytes(vvcql_statement_value(statement, 0), "7ff4deadbeef0001");
    vvcql_statement_destroy(statement);
}

static void test_lists(void **state)
{
    (void)state;
    struct vvcql_statement *statement = vvcql_statement_prepared(PREPARED);
    vvcql_add_int(statement, 1);
    vvcql_begin_list(statement);
    vvcql_add_text(statement, "ab");
    vvcql_add_text(statement, "");
    vvcql_add_tinyint(statement, 5);
    vvcql_end_list(statement);
    vvcql_begin_list(statement);
    vvcql_end_list(statement);
    vvcql_add_int(statement, 2);
    assert_fine(statement);
    assert_int_equal(statement->n_values, 4);
    assert_bytes(vvcql_statement_value(statement, 0), "00000001");
    assert_bytes(vvcql_statement_value(statement, 1),
                 "00000003 00000002 'ab' 00000000 00000001 05");
    assert_bytes(vvcql_statement_value(statement, 2), "00000000");
    assert_bytes(vvcql_statement_value(statement, 3), "00000002");
    assert_bytes(content(&statement->values),
                 "00000004 00000001 00000013 00000003 00000002 'ab' 00000000 00000001 05"
                 "00000004 00000000 00000004 00000002");
    vvcql_statement_destroy(statement);
}

static void test_a_list_may_have_more_elements_than_a_statement_values(void **state)
{
    (void)state;
    struct vvcql_statement *statement = vvcql_statement_prepared(PREPARED);
    vvcql_begin_list(statement);
    for (int i = 0; i < 70000; i++) {
        vvcql_add_tinyint(statement, 1);
    }
    vvcql_end_list(statement);
    assert_fine(statement);
    assert_int_equal(vvcql_statement_value(statement, 0).size, 4 + 70000 * 5);
    vvcql_statement_destroy(statement);
}

static void test_up_to_65535_values(void **state)
{
    (void)state;
    struct vvcql_statement *statement = vvcql_statement_prepared(PREPARED);
    for (int i = 0; i < 65535; i++) {
        vvcql_add_smallint(statement, (int16_t)i);
    }
    assert_fine(statement);
    assert_bytes(vvcql_statement_value(statement, 65534), "fffe");
    vvcql_add_null(statement);
    assert_wrong(statement, "65,535 values");
    statement = vvcql_statement_prepared(PREPARED);
    for (int i = 0; i < 65535; i++) {
        vvcql_add_null(statement);
    }
    vvcql_begin_list(statement);
    assert_wrong(statement, "65,535 values");
}

/* ---- wrong uses ---- */

static struct vvcql_statement *prepared(void)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(PREPARED);
    assert_non_null(statement);
    return statement;
}

static void test_wrong_lists(void **state)
{
    (void)state;
    struct vvcql_statement *statement = prepared();
    vvcql_begin_list(statement);
    vvcql_add_null(statement);
    assert_wrong(statement, "element of a list");

    statement = prepared();
    vvcql_begin_list(statement);
    vvcql_add_unset(statement);
    assert_wrong(statement, "element of a list");

    statement = prepared();
    vvcql_begin_list(statement);
    vvcql_begin_list(statement);
    assert_wrong(statement, "nested");

    statement = prepared();
    vvcql_end_list(statement);
    assert_wrong(statement, "not begun");

    statement = prepared();
    vvcql_begin_list(statement);
    vvcql_add_int(statement, 1);
    assert_wrong(statement, "not ended");
}

static void test_wrong_values(void **state)
{
    (void)state;
    struct vvcql_statement *statement = prepared();
    vvcql_add_text(statement, NULL);
    assert_wrong(statement, "NULL pointer");
    statement = prepared();
    vvcql_add_uuid(statement, NULL);
    assert_wrong(statement, "NULL pointer");
    statement = prepared();
    vvcql_add_bytes(statement, NULL, 1);
    assert_wrong(statement, "NULL pointer");
    statement = prepared();
    vvcql_add_bytes(statement, "", SIZE_MAX);
    assert_wrong(statement, "256 MiB");
    statement = prepared();
    vvcql_add_int(statement, 1);
    vvcql_add_bytes(statement, "", VVCQL_FRAME_BODY_MAX);
    assert_wrong(statement, "256 MiB");
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    vvcql_add_int(batch, 1);
    assert_wrong(batch, "not to the batch");
}

static void test_wrong_options(void **state)
{
    (void)state;
    struct vvcql_statement *statement = prepared();
    vvcql_set_timestamp(statement, -1);
    assert_wrong(statement, "negative");
    statement = prepared();
    vvcql_set_consistency(statement, (enum vvcql_consistency)0x0B);
    assert_wrong(statement, "consistency");
    statement = prepared();
    vvcql_set_serial_consistency(statement, VVCQL_QUORUM);
    assert_wrong(statement, "LOCAL_SERIAL");
    statement = prepared();
    vvcql_set_page_size(statement, -1);
    assert_wrong(statement, "rows");
    statement = prepared();
    vvcql_set_paging_state(statement, NULL, 1);
    assert_wrong(statement, "paging state");
    statement = prepared();
    vvcql_set_host(statement, "0123456789012345678901234567890123456789012345678901234567890123");
    assert_wrong(statement, "address");
}

static void test_wrong_creations(void **state)
{
    (void)state;
    assert_wrong(vvcql_statement_create(NULL), "text");
    assert_wrong(vvcql_statement_create(""), "text");
    assert_wrong(vvcql_batch_create((enum vvcql_batch_type)3), "type");
    struct vvcql_statement *statement = vvcql_statement_prepared(NULL);
    assert_int_equal(vvcql_statement_check(statement, NULL), VVCQL_NO_MEMORY);
    vvcql_add_int(statement, 1);
    assert_int_equal(vvcql_statement_size(statement), 0);
    vvcql_statement_destroy(statement);
    assert_int_equal(vvcql_statement_check(NULL, NULL), VVCQL_NO_MEMORY);
}

static void test_the_first_wrong_use_is_told_and_nothing_follows(void **state)
{
    (void)state;
    struct vvcql_statement *statement = prepared();
    vvcql_add_int(statement, 1);
    vvcql_set_timestamp(statement, -5);
    add_one_of_each(statement);
    vvcql_end_list(statement);
    vvcql_set_page_size(statement, -1);
    assert_int_equal(statement->n_values, 1);
    assert_wrong(statement, "timestamp");
}

static void test_no_statement_is_nothing(void **state)
{
    (void)state;
    add_one_of_each(NULL);
    vvcql_begin_list(NULL);
    vvcql_end_list(NULL);
    vvcql_set_consistency(NULL, VVCQL_ONE);
    vvcql_set_serial_consistency(NULL, VVCQL_SERIAL);
    vvcql_set_timestamp(NULL, 1);
    vvcql_set_idempotent(NULL, true);
    vvcql_set_timeout(NULL, 1);
    vvcql_set_page_size(NULL, 1);
    vvcql_set_paging_state(NULL, "x", 1);
    vvcql_set_tracing(NULL, true);
    vvcql_set_host(NULL, "127.0.0.1:9042");
    vvcql_batch_add(NULL, NULL);
    vvcql_batch_add(NULL, prepared()); /* taken */
    assert_int_equal(vvcql_statement_size(NULL), 0);
    vvcql_statement_destroy(NULL);
}

static void test_options_are_kept(void **state)
{
    (void)state;
    struct vvcql_statement *statement = vvcql_statement_create("SELECT 1");
    assert_false(statement->has_consistency || statement->has_serial_consistency ||
                 statement->has_timestamp || statement->is_idempotent || statement->tracing);
    vvcql_set_consistency(statement, VVCQL_ANY);
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    vvcql_set_timestamp(statement, 0);
    vvcql_set_idempotent(statement, true);
    vvcql_set_timeout(statement, 7);
    vvcql_set_page_size(statement, 0);
    vvcql_set_page_size(statement, INT32_MAX);
    vvcql_set_paging_state(statement, "older", 5);
    vvcql_set_paging_state(statement, "state", 5);
    vvcql_set_tracing(statement, true);
    vvcql_set_host(statement, "[2001:db8::1]:9042");
    vvcql_set_host(statement, "10.0.0.1:9042");
    assert_fine(statement);
    assert_true(statement->has_consistency && statement->consistency == VVCQL_ANY);
    assert_true(statement->has_serial_consistency &&
                statement->serial_consistency == VVCQL_LOCAL_SERIAL);
    assert_true(statement->has_timestamp && statement->timestamp_us == 0);
    assert_true(statement->is_idempotent && statement->tracing);
    assert_int_equal(statement->timeout_ms, 7);
    assert_int_equal(statement->page_size, INT32_MAX);
    assert_bytes(content(&statement->paging_state), "'state'");
    assert_string_equal(statement->host, "10.0.0.1:9042");
    assert_bytes(content(&statement->text), "'SELECT 1'");
    vvcql_set_host(statement, NULL);
    assert_string_equal(statement->host, "");
    vvcql_set_paging_state(statement, NULL, 0);
    assert_int_equal(statement->paging_state.size, 0);
    vvcql_statement_destroy(statement);
}

/* ---- batches ---- */

static void test_a_batch_keeps_its_parts_in_order(void **state)
{
    (void)state;
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
    struct vvcql_statement *parts[3];
    for (int i = 0; i < 3; i++) {
        parts[i] = i == 1 ? vvcql_statement_create("INSERT") : prepared();
        vvcql_add_int(parts[i], i);
        vvcql_batch_add(batch, parts[i]);
    }
    assert_fine(batch);
    assert_int_equal(batch->n_parts, 3);
    assert_ptr_equal(batch->parts_first, parts[0]);
    assert_ptr_equal(parts[0]->next, parts[1]);
    assert_ptr_equal(parts[1]->next, parts[2]);
    assert_null(parts[2]->next);
    assert_int_equal(vvcql_statement_size(batch), 3 * 8);
    vvcql_statement_destroy(batch);
}

static struct vvcql_statement *batch_with(struct vvcql_statement *take_part)
{
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    vvcql_batch_add(batch, prepared());
    vvcql_batch_add(batch, take_part);
    vvcql_batch_add(batch, prepared()); /* taken, though the batch is lost */
    assert_int_equal(batch->n_parts, 1);
    return batch;
}

static void test_wrong_parts_make_a_batch_wrong(void **state)
{
    (void)state;
    assert_wrong(batch_with(vvcql_batch_create(VVCQL_BATCH_LOGGED)), "in a batch");
    assert_wrong(batch_with(vvcql_statement_create("")), "text");
    struct vvcql_statement *part = prepared();
    vvcql_begin_list(part);
    assert_wrong(batch_with(part), "not ended");
    struct vvcql_statement *batch = batch_with(NULL);
    assert_int_equal(vvcql_statement_check(batch, NULL), VVCQL_NO_MEMORY);
    vvcql_statement_destroy(batch);
    batch = batch_with(vvcql_statement_prepared(NULL));
    assert_int_equal(vvcql_statement_check(batch, NULL), VVCQL_NO_MEMORY);
    vvcql_statement_destroy(batch);
    batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    vvcql_batch_add(batch, batch);
    assert_wrong(batch, "in a batch");
    struct vvcql_statement *statement = prepared();
    vvcql_batch_add(statement, prepared());
    assert_wrong(statement, "only a batch");
    statement = prepared();
    vvcql_batch_add(statement, statement);
    assert_wrong(statement, "only a batch");
}

static void test_up_to_65535_parts(void **state)
{
    (void)state;
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    for (int i = 0; i < 65535; i++) {
        vvcql_batch_add(batch, prepared());
    }
    assert_fine(batch);
    vvcql_batch_add(batch, prepared());
    assert_int_equal(batch->n_parts, 65535);
    assert_wrong(batch, "65,535 statements");
}

static void test_a_batch_is_not_longer_than_a_frame(void **state)
{
    (void)state;
    const size_t size = 100 << 20;
    uint8_t *data = vv_sim_calloc(1, size);
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    for (int i = 0; i < 3; i++) {
        struct vvcql_statement *part = prepared();
        vvcql_add_bytes(part, data, size);
        vvcql_batch_add(batch, part);
    }
    free(data);
    assert_int_equal(batch->n_parts, 2);
    assert_wrong(batch, "256 MiB");
}

/* ---- memory ---- */

/* Builds the same batch whatever fails; the parts' sizes tell what is in it. */
static struct vvcql_statement *build(void)
{
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    vvcql_set_paging_state(batch, "state", 5);
    struct vvcql_statement *part = vvcql_statement_create("UPDATE t SET a = ? WHERE k = 1");
    for (int i = 0; i < 20; i++) {
        vvcql_add_text(part, "some text that makes the buffer grow");
    }
    vvcql_begin_list(part);
    vvcql_add_bigint(part, 1);
    vvcql_end_list(part);
    vvcql_batch_add(batch, part);
    part = vvcql_statement_prepared(PREPARED);
    vvcql_add_null(part);
    vvcql_batch_add(batch, part);
    return batch;
}

static void test_every_failed_allocation_is_told_at_the_end(void **state)
{
    (void)state;
    struct vvcql_statement *batch = build();
    assert_fine(batch);
    size_t size = vvcql_statement_size(batch);
    vvcql_statement_destroy(batch);
    uint64_t k = 1;
    for (bool failed = true; failed; k++) {
        vv_sim_memory_fail(k);
        batch = build();
        failed = vv_sim_memory_failed();
        enum vvcql_status status = vvcql_statement_check(batch, NULL);
        assert_int_equal(status, failed ? VVCQL_NO_MEMORY : VVCQL_OK);
        assert_true(failed || vvcql_statement_size(batch) == size);
        vvcql_statement_destroy(batch);
    }
    assert_true(k > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_values_are_kept_as_they_are_sent, forget_bytes),
        cmocka_unit_test_teardown(test_every_bit_of_a_number_is_kept, forget_bytes),
        cmocka_unit_test_teardown(test_lists, forget_bytes),
        cmocka_unit_test(test_a_list_may_have_more_elements_than_a_statement_values),
        cmocka_unit_test_teardown(test_up_to_65535_values, forget_bytes),
        cmocka_unit_test(test_wrong_lists),
        cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_wrong_creations),
        cmocka_unit_test(test_the_first_wrong_use_is_told_and_nothing_follows),
        cmocka_unit_test(test_no_statement_is_nothing),
        cmocka_unit_test_teardown(test_options_are_kept, forget_bytes),
        cmocka_unit_test(test_a_batch_keeps_its_parts_in_order),
        cmocka_unit_test(test_wrong_parts_make_a_batch_wrong),
        cmocka_unit_test(test_up_to_65535_parts),
        cmocka_unit_test(test_a_batch_is_not_longer_than_a_frame),
        cmocka_unit_test(test_every_failed_allocation_is_told_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
