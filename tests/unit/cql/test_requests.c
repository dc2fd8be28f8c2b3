/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of requests, byte by byte against the specification. */
#include "cql/frame.h"
#include "cql/requests.h"

#include "notation.h"

/* Stands for what a session prepared; requests see it through id_of() only. */
struct vvcql_prepared {
    const char *id; /* NULL: not known to the host */
};

static struct vvcql_bytes id_of(const struct vvcql_prepared *prepared)
{
    if (prepared->id == NULL) {
        return (struct vvcql_bytes){0};
    }
    return (struct vvcql_bytes){.data = (const uint8_t *)prepared->id,
                                .size = strlen(prepared->id)};
}

static const struct vvcql_prepared insert = {.id = "ins"};
static const struct vvcql_prepared update = {.id = "up"};
static const struct vvcql_prepared unknown = {.id = NULL};
static const struct vvcql_request_defaults defaults = {.consistency = VVCQL_LOCAL_QUORUM};

static void assert_written(struct vvcql_buffer *buffer, const char *notation)
{
    assert_false(buffer->failed);
    assert_bytes((struct vvcql_bytes){.data = buffer->data, .size = buffer->size}, notation);
    vvcql_buffer_deinit(buffer);
}

static void assert_request(struct vvcql_statement *take_statement, int opcode, const char *notation)
{
    assert_int_equal(vvcql_statement_check(take_statement, NULL), VVCQL_OK);
    struct vvcql_buffer out = {0};
    assert_int_equal(vvcql_request_statement(&out, take_statement, &defaults, id_of), opcode);
    assert_written(&out, notation);
    vvcql_statement_destroy(take_statement);
}

static void test_startup(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vvcql_request_startup(&out, NULL, NULL, NULL);
    assert_written(&out, "0001 000b 'CQL_VERSION' 0005 '3.0.0'");
    vvcql_request_startup(&out, "lz4", "varve", "0.1");
    assert_written(&out, "0004 000b 'CQL_VERSION' 0005 '3.0.0' 000b 'COMPRESSION' 0003 'lz4'"
                         "000b 'DRIVER_NAME' 0005 'varve' 000e 'DRIVER_VERSION' 0003 '0.1'");
}

static void test_register(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vvcql_request_register(&out);
    assert_written(&out, "0003 000f 'TOPOLOGY_CHANGE' 000d 'STATUS_CHANGE' 000d 'SCHEMA_CHANGE'");
}

static void test_authentication(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vvcql_request_auth_plain(&out, "me", "secret");
    assert_written(&out, "0000000a 00 'me' 00 'secret'");
    vvcql_request_auth_plain(&out, "", "");
    assert_written(&out, "00000002 00 00");
}

static void test_prepare(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vvcql_request_prepare(&out, "SELECT a FROM t");
    assert_written(&out, "0000000f 'SELECT a FROM t'");
}

static void test_a_text_without_values(void **state)
{
    (void)state;
    assert_request(vvcql_statement_create("TRUNCATE t"), VVCQL_OP_QUERY,
                   "0000000a 'TRUNCATE t' 0006 00");
}

static void test_a_text_with_values(void **state)
{
    (void)state;
    struct vvcql_statement *statement = vvcql_statement_create("SELECT ?");
    vvcql_add_int(statement, 5);
    vvcql_add_null(statement);
    assert_request(statement, VVCQL_OP_QUERY,
                   "00000008 'SELECT ?' 0006 01 0002 00000004 00000005 ffffffff");
}

static void test_a_prepared_text(void **state)
{
    (void)state;
    assert_request(vvcql_statement_prepared(&insert), VVCQL_OP_EXECUTE, "0003 'ins' 0006 00");
    struct vvcql_statement *statement = vvcql_statement_prepared(&insert);
    vvcql_set_consistency(statement, VVCQL_ANY);
    vvcql_set_timestamp(statement, 0x0102030405060708);
    vvcql_add_bytes(statement, "\1\2\3", 3);
    vvcql_add_unset(statement);
    vvcql_begin_list(statement);
    vvcql_add_text(statement, "x");
    vvcql_end_list(statement);
    assert_request(statement, VVCQL_OP_EXECUTE,
                   "0003 'ins' 0000 21 0003 00000003 010203 fffffffe"
                   "00000009 00000001 00000001 'x' 0102030405060708");
}

static void test_every_option_at_its_place(void **state)
{
    (void)state;
    struct vvcql_statement *statement = vvcql_statement_prepared(&update);
    vvcql_set_consistency(statement, VVCQL_LOCAL_ONE);
    vvcql_set_page_size(statement, 5000);
    vvcql_set_paging_state(statement, "\xde\xad", 2);
    vvcql_set_serial_consistency(statement, VVCQL_SERIAL);
    vvcql_set_timestamp(statement, 9);
    vvcql_add_boolean(statement, true);
    assert_request(statement, VVCQL_OP_EXECUTE,
                   "0002 'up' 000a 3d 0001 00000001 01 00001388 00000002 dead 0008"
                   "0000000000000009");
    statement = vvcql_statement_create("q");
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    assert_request(statement, VVCQL_OP_QUERY, "00000001 'q' 0006 10 0009");
    statement = vvcql_statement_create("q");
    vvcql_set_page_size(statement, 1);
    assert_request(statement, VVCQL_OP_QUERY, "00000001 'q' 0006 04 00000001");
    statement = vvcql_statement_create("q");
    vvcql_set_paging_state(statement, "p", 1);
    assert_request(statement, VVCQL_OP_QUERY, "00000001 'q' 0006 08 00000001 'p'");
}

static void test_batches(void **state)
{
    (void)state;
    assert_request(vvcql_batch_create(VVCQL_BATCH_COUNTER), VVCQL_OP_BATCH, "02 0000 0006 00");

    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
    struct vvcql_statement *part = vvcql_statement_prepared(&insert);
    vvcql_add_int(part, 7);
    vvcql_add_null(part);
    vvcql_set_timestamp(part, 1); /* the batch's counts */
    vvcql_batch_add(batch, part);
    vvcql_batch_add(batch, vvcql_statement_create("DELETE"));
    part = vvcql_statement_create("UPD");
    vvcql_add_text(part, "v");
    vvcql_batch_add(batch, part);
    vvcql_batch_add(batch, vvcql_statement_prepared(&update));
    assert_request(batch, VVCQL_OP_BATCH,
                   "01 0004 01 0003 'ins' 0002 00000004 00000007 ffffffff"
                   "00 00000006 'DELETE' 0000 00 00000003 'UPD' 0001 00000001 'v'"
                   "01 0002 'up' 0000 0006 00");
}

static void test_options_of_batches(void **state)
{
    (void)state;
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    vvcql_batch_add(batch, vvcql_statement_create("X"));
    vvcql_set_consistency(batch, VVCQL_QUORUM);
    vvcql_set_serial_consistency(batch, VVCQL_SERIAL);
    vvcql_set_timestamp(batch, 255);
    vvcql_set_page_size(batch, 10); /* a batch has no pages */
    vvcql_set_paging_state(batch, "p", 1);
    assert_request(batch, VVCQL_OP_BATCH,
                   "00 0001 00 00000001 'X' 0000 0004 30 0008 00000000000000ff");
}

static void test_a_text_that_the_host_does_not_know_fails(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    struct vvcql_statement *statement = vvcql_statement_prepared(&unknown);
    vvcql_request_statement(&out, statement, &defaults, id_of);
    assert_true(out.failed);
    vvcql_buffer_clear(&out);
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    vvcql_batch_add(batch, statement);
    vvcql_request_statement(&out, batch, &defaults, id_of);
    assert_true(out.failed);
    vvcql_statement_destroy(batch);
    vvcql_buffer_deinit(&out);
}

static void test_bodies_are_appended(void **state)
{
    (void)state;
    struct vvcql_buffer out = {0};
    vvcql_write_u8(&out, 0xEE);
    vvcql_request_prepare(&out, "a");
    vvcql_request_register(&out);
    assert_false(out.failed);
    assert_memory_equal(out.data, "\xee\0\0\0\1a\0\3", 8);
    vvcql_buffer_deinit(&out);
}

static void test_failed_allocations_fail_the_body(void **state)
{
    (void)state;
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_LOGGED);
    for (int i = 0; i < 20; i++) {
        struct vvcql_statement *part =
            vvcql_statement_create("INSERT INTO t (a, b) VALUES (?, ?) USING TTL 100000");
        vvcql_add_text(part, "a text");
        vvcql_batch_add(batch, part);
    }
    assert_int_equal(vvcql_statement_check(batch, NULL), VVCQL_OK);
    uint64_t k = 1;
    for (bool failed = true; failed; k++) {
        struct vvcql_buffer out = {0};
        vv_sim_memory_fail(k);
        vvcql_request_statement(&out, batch, &defaults, id_of);
        failed = vv_sim_memory_failed();
        assert_int_equal(out.failed, failed);
        vvcql_buffer_deinit(&out);
    }
    assert_true(k > 2);
    vvcql_statement_destroy(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_startup, forget_bytes),
        cmocka_unit_test_teardown(test_register, forget_bytes),
        cmocka_unit_test_teardown(test_authentication, forget_bytes),
        cmocka_unit_test_teardown(test_prepare, forget_bytes),
        cmocka_unit_test_teardown(test_a_text_without_values, forget_bytes),
        cmocka_unit_test_teardown(test_a_text_with_values, forget_bytes),
        cmocka_unit_test_teardown(test_a_prepared_text, forget_bytes),
        cmocka_unit_test_teardown(test_every_option_at_its_place, forget_bytes),
        cmocka_unit_test_teardown(test_batches, forget_bytes),
        cmocka_unit_test_teardown(test_options_of_batches, forget_bytes),
        cmocka_unit_test(test_a_text_that_the_host_does_not_know_fails),
        cmocka_unit_test(test_bodies_are_appended),
        cmocka_unit_test(test_failed_allocations_fail_the_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
