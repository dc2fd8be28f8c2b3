/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to PREPARE: the id, the partition key's values, types of every kind. */
#include "cql/responses.h"

#include "notation.h"

static enum vvcql_status decode(const char *notation, struct vvcql_prepared_answer *answer_out)
{
    return vvcql_decode_prepared(bytes(notation), answer_out, NULL);
}

static void assert_refused(const char *notation)
{
    struct vvcql_prepared_answer answer;
    struct vvcql_error error;
    memset(&answer, 0x5A, sizeof answer);
    assert_int_equal(vvcql_decode_prepared(bytes(notation), &answer, &error), VVCQL_PROTOCOL);
    assert_int_equal(error.status, VVCQL_PROTOCOL);
    assert_null(answer.id.data);
    assert_int_equal(answer.n_key_parts, 0);
    assert_int_equal(answer.n_values, 0);
    assert_string_equal(answer.keyspace, "");
}

/* Kind, id; flags, values, parts of the key and which they are; the table; values. */
static const char *const insert = "00000004 0002 beef 00000001 00000003 00000002 0002 0000"
                                  "0002 'ks' 0001 't' 0001 'a' 0009 0001 'b' 0003 0001 'c' 000d";

static void test_a_prepared_text(void **state)
{
    (void)state;
    struct vvcql_bytes body = bytes(insert);
    struct vvcql_prepared_answer answer;
    assert_int_equal(vvcql_decode_prepared(body, &answer, NULL), VVCQL_OK);
    assert_bytes(answer.id, "beef");
    assert_int_equal(answer.n_values, 3);
    assert_int_equal(answer.n_key_parts, 2);
    assert_int_equal(answer.key_parts[0], 2);
    assert_int_equal(answer.key_parts[1], 0);
    assert_string_equal(answer.keyspace, "ks");
    for (size_t size = 0; size < body.size; size++) {
        assert_int_equal(vvcql_decode_prepared(prefix(body, size), &answer, NULL), VVCQL_PROTOCOL);
    }
}

static void test_tables_with_each_value(void **state)
{
    (void)state;
    struct vvcql_prepared_answer answer;
    assert_int_equal(decode("00000004 0001 01 00000000 00000002 00000000"
                            "0002 'k1' 0001 't' 0001 'a' 0009 0002 'k2' 0001 'u' 0001 'b' 0009"
                            "00000004 00000000", /* metadata of rows: not read */
                            &answer),
                     VVCQL_OK);
    assert_int_equal(answer.n_values, 2);
    assert_int_equal(answer.n_key_parts, 0);
    assert_string_equal(answer.keyspace, "k1");
}

static void test_no_values(void **state)
{
    (void)state;
    struct vvcql_prepared_answer answer;
    assert_int_equal(decode("00000004 0001 01 00000000 00000000 00000000", &answer), VVCQL_OK);
    assert_int_equal(answer.n_values, 0);
    assert_string_equal(answer.keyspace, "");
    assert_int_equal(
        decode("00000004 0001 01 00000001 00000000 00000000 0002 'ks' 0001 't'", &answer),
        VVCQL_OK);
    assert_string_equal(answer.keyspace, "ks"); /* of the table, though no value is of it */
}

static void test_long_keyspaces_are_none(void **state)
{
    (void)state;
    for (size_t size = 63; size <= 64; size++) {
        char name[65] = "";
        memset(name, 'k', size);
        char notation[256];
        snprintf(notation, sizeof notation,
                 "00000004 0001 01 00000001 00000000 00000000 %04zx '%s' 0001 't'", size, name);
        struct vvcql_prepared_answer answer;
        assert_int_equal(decode(notation, &answer), VVCQL_OK);
        assert_string_equal(answer.keyspace, size == 63 ? name : "");
    }
}

static void test_long_keys_are_none(void **state)
{
    (void)state;
    for (unsigned parts = 16; parts <= 17; parts++) {
        char notation[1024];
        int used =
            snprintf(notation, sizeof notation, "00000004 0001 01 00000001 00000011 %08x", parts);
        for (unsigned i = 0; i < parts; i++) {
            used += snprintf(notation + used, sizeof notation - (size_t)used, "%04x", 16 - i);
        }
        used += snprintf(notation + used, sizeof notation - (size_t)used, "0000 0000");
        for (int i = 0; i < 17; i++) {
            used += snprintf(notation + used, sizeof notation - (size_t)used, "0000 0009");
        }
        struct vvcql_prepared_answer answer;
        assert_int_equal(decode(notation, &answer), VVCQL_OK);
        assert_int_equal(answer.n_values, 17);
        assert_int_equal(answer.n_key_parts, parts == 16 ? 16 : 0);
        for (unsigned i = 0; i < answer.n_key_parts; i++) {
            assert_int_equal(answer.key_parts[i], 16 - i);
        }
    }
}

static void test_wrong_counts_are_refused(void **state)
{
    (void)state;
    /* other kinds */
    assert_refused("00000001");
    assert_refused("00000002 0001 01 00000000 00000000 00000000");
    /* more parts of the key than values, or parts that are no values */
    assert_refused("00000004 0001 01 00000001 00000001 00000002 0000 0000 0000 0000 0000 0009");
    assert_refused("00000004 0001 01 00000001 00000001 00000001 0001 0000 0000 0000 0009");
    assert_refused("00000004 0001 01 00000001 00000001 ffffffff 0000 0000 0000 0009");
    /* more values than there can be, or than there are */
    assert_refused("00000004 0001 01 00000001 00010000 00000000 0000 0000 0000 0009");
    assert_refused("00000004 0001 01 00000001 ffffffff 00000000 0000 0000 0000 0009");
    assert_refused("00000004 0001 01 00000001 0000ffff 00000000 0000 0000 0000 0009");
}

/* ---- types of values ---- */

static enum vvcql_status decode_type(const char *type)
{
    char notation[1024];
    snprintf(notation, sizeof notation,
             "00000004 0001 01 00000001 00000001 00000000 0000 0000 0001 'a' %s", type);
    struct vvcql_bytes body = bytes(notation);
    struct vvcql_prepared_answer answer;
    enum vvcql_status status = vvcql_decode_prepared(body, &answer, NULL);
    for (size_t size = 0; size < body.size; size++) { /* it needs all of its bytes */
        assert_int_equal(vvcql_decode_prepared(prefix(body, size), &answer, NULL), VVCQL_PROTOCOL);
    }
    return status;
}

static void test_types_of_every_kind(void **state)
{
    (void)state;
    const char *const types[] = {
        "0001",
        "0015",
        "001f", /* of a later Cassandra */
        "0000 0003 'x.Y'",
        "0000 0000",
        "0020 0009",
        "0022 000d",
        "0021 0009 000d",
        "0021 0020 0009 0022 0000 0001 'C'",
        "0031 0000",
        "0031 0003 0009 0021 0009 0009 0031 0001 000d",
        "0030 0002 'ks' 0001 'u' 0000",
        "0030 0002 'ks' 0001 'u' 0002 0001 'f' 0009 0001 'g' 0030 0000 0000 0001 0000 0020 0009",
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        assert_int_equal(decode_type(types[i]), VVCQL_OK);
    }
    const char *const wrong[] = {"0023", "0032", "ffff", "0020 0040", "0031 0002 0009 ffff"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(decode_type(wrong[i]), VVCQL_PROTOCOL);
    }
}

static void assert_nested(const char *outer, int depth, enum vvcql_status expected)
{
    char type[1024] = "";
    for (int i = 0; i < depth; i++) {
        strcat(type, outer);
    }
    strcat(type, "0009");
    assert_int_equal(decode_type(type), expected);
}

static void test_types_nested_up_to_16_deep(void **state)
{
    (void)state;
    const char *const outers[] = {"0020", "0022", "0021 0009", "0031 0001",
                                  "0030 0000 0000 0001 0000"};
    for (size_t i = 0; i < sizeof outers / sizeof outers[0]; i++) {
        assert_nested(outers[i], 15, VVCQL_OK);
        assert_nested(outers[i], 16, VVCQL_PROTOCOL);
        assert_nested(outers[i], 30, VVCQL_PROTOCOL);
    }
}

static void test_up_to_65535_values(void **state)
{
    (void)state;
    for (unsigned count = 65535; count <= 65536; count++) {
        const size_t size = 4 + 3 + 12 + 4 + (size_t)count * 4;
        uint8_t *body = vv_sim_calloc(1, size);
        memcpy(body, "\0\0\0\4\0\1i\0\0\0\1", 11);
        body[12] = (uint8_t)(count >> 16);
        body[13] = (uint8_t)(count >> 8);
        body[14] = (uint8_t)count;
        for (size_t i = 23; i < size; i += 4) {
            body[i + 3] = VVCQL_TYPE_INT;
        }
        struct vvcql_prepared_answer answer;
        assert_int_equal(
            vvcql_decode_prepared((struct vvcql_bytes){.data = body, .size = size}, &answer, NULL),
            count == 65535 ? VVCQL_OK : VVCQL_PROTOCOL);
        free(body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_prepared_text, forget_bytes),
        cmocka_unit_test_teardown(test_tables_with_each_value, forget_bytes),
        cmocka_unit_test_teardown(test_no_values, forget_bytes),
        cmocka_unit_test_teardown(test_long_keyspaces_are_none, forget_bytes),
        cmocka_unit_test_teardown(test_long_keys_are_none, forget_bytes),
        cmocka_unit_test_teardown(test_wrong_counts_are_refused, forget_bytes),
        cmocka_unit_test_teardown(test_types_of_every_kind, forget_bytes),
        cmocka_unit_test_teardown(test_types_nested_up_to_16_deep, forget_bytes),
        cmocka_unit_test(test_up_to_65535_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
