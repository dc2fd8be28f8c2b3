/* SPDX-License-Identifier: Apache-2.0 */
/* Values of rows by their types, of other sizes than the types have, and in collections. */
#include "cql/responses.h"

#include "notation.h"

/* A result of one row with one value, which it stands at. */
static struct vvcql_result *one_value(const char *type, const char *value)
{
    char notation[1024];
    snprintf(notation, sizeof notation,
             "00000002 00000001 00000001 0000 0000 0000 %s 00000001 %08zx %s", type,
             bytes(value).size, value);
    struct vvcql_frame frame = {.opcode = VVCQL_OP_RESULT, .body = bytes(notation)};
    struct vvcql_result *result;
    assert_int_equal(vvcql_result_create(&frame, "h", &result, NULL), VVCQL_OK);
    assert_true(vvcql_next_row(result));
    return result;
}

struct values {
    bool boolean;
    int8_t tiny;
    int16_t small;
    int32_t number;
    int64_t big;
    float single;
    double twice;
    uint8_t uuid[16];
};

/* Asks for the value in every way; which ones gave it, as bits. */
static unsigned get_all(const struct vvcql_result *result, size_t column, struct values *values)
{
    return (unsigned)vvcql_get_boolean(result, column, &values->boolean) |
           (unsigned)vvcql_get_tinyint(result, column, &values->tiny) << 1 |
           (unsigned)vvcql_get_smallint(result, column, &values->small) << 2 |
           (unsigned)vvcql_get_int(result, column, &values->number) << 3 |
           (unsigned)vvcql_get_bigint(result, column, &values->big) << 4 |
           (unsigned)vvcql_get_float(result, column, &values->single) << 5 |
           (unsigned)vvcql_get_double(result, column, &values->twice) << 6 |
           (unsigned)vvcql_get_uuid(result, column, values->uuid) << 7;
}

static void test_only_values_of_the_size_asked_for_are_given(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        unsigned given;
    } sizes[] = {{0, 0}, {1, 3},       {2, 4}, {3, 0},  {4, 8 | 32}, {5, 0},
                 {7, 0}, {8, 16 | 64}, {9, 0}, {15, 0}, {16, 128},   {17, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char value[64] = "";
        for (size_t k = 0; k < sizes[i].size; k++) {
            strcat(value, "80");
        }
        struct vvcql_result *result = one_value("0003", value);
        struct values untouched;
        memset(&untouched, 1, sizeof untouched);
        struct values values = untouched;
        assert_int_equal(get_all(result, 0, &values), sizes[i].given);
        if (sizes[i].given == 0) {
            assert_memory_equal(&values, &untouched, sizeof values);
        }
        assert_int_equal(get_all(result, 1, &values), 0); /* no such column */
        assert_int_equal(get_all(result, SIZE_MAX, &values), 0);
        struct vvcql_bytes all;
        assert_true(vvcql_get_bytes(result, 0, &all));
        assert_bytes(all, value);
        vvcql_result_destroy(result);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    struct values values;
    struct vvcql_result *result = one_value("0004", "00");
    get_all(result, 0, &values);
    assert_false(values.boolean);
    vvcql_result_destroy(result);
    result = one_value("0004", "80");
    get_all(result, 0, &values);
    assert_true(values.boolean);
    assert_int_equal(values.tiny, INT8_MIN);
    vvcql_result_destroy(result);
    result = one_value("0013", "8001");
    get_all(result, 0, &values);
    assert_int_equal(values.small, -32767);
    vvcql_result_destroy(result);
    result = one_value("0009", "80000001");
    get_all(result, 0, &values);
    assert_int_equal(values.number, -2147483647);
    vvcql_result_destroy(result);
    result = one_value("0002", "8000000000000001");
    get_all(result, 0, &values);
    assert_true(values.big == -INT64_MAX);
    vvcql_result_destroy(result);
    result = one_value("0008", "3fc00000");
    get_all(result, 0, &values);
    assert_true(values.single == 1.5f);
    vvcql_result_destroy(result);
    result = one_value("0007", "7ff4deadbeef0001");
    get_all(result, 0, &values);
    const uint64_t bits = 0x7FF4DEADBEEF0001; /* a NaN with a payload */
    assert_memory_equal(&values.twice, &bits, sizeof bits);
    vvcql_result_destroy(result);
    result = one_value("000c", "000102030405060708090a0b0c0d0e0f");
    get_all(result, 0, &values);
    assert_memory_equal(values.uuid, "\0\1\2\3\4\5\6\7\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f", 16);
    vvcql_result_destroy(result);
}

static void assert_elements(const char *type, const char *value, const char *const *expected,
                            uint32_t count)
{
    struct vvcql_result *result = one_value(type, value);
    struct vvcql_elements elements;
    assert_true(vvcql_get_elements(result, 0, &elements));
    assert_int_equal(elements.left, count);
    struct vvcql_bytes element;
    for (uint32_t i = 0; i < count; i++) {
        assert_true(vvcql_next_element(&elements, &element));
        if (expected[i] == NULL) {
            assert_null(element.data);
        } else {
            assert_bytes(element, expected[i]);
        }
        assert_int_equal(elements.left, count - i - 1);
    }
    assert_false(vvcql_next_element(&elements, &element));
    vvcql_result_destroy(result);
}

static void test_elements_of_collections(void **state)
{
    (void)state;
    const char *const list[] = {"'a'", "", NULL, "'bc'"};
    assert_elements("0020 000d", "00000004 00000001 'a' 00000000 ffffffff 00000002 'bc'", list, 4);
    assert_elements("0022 000d", "00000004 00000001 'a' 00000000 ffffffff 00000002 'bc'", list, 4);
    assert_elements("0020 000d", "00000000", NULL, 0);
    const char *const map[] = {"'k'", "01", "'l'", NULL};
    assert_elements("0021 000d 0014", "00000002 00000001 'k' 00000001 01 00000001 'l' ffffffff",
                    map, 4);
    assert_elements("0021 000d 0014", "00000000", NULL, 0);
    assert_elements("0020 000d", "00000001 00000001 'a' 'more behind'", list, 1);
}

static void test_what_is_no_collection_has_no_elements(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *value;
    } wrong[] = {
        {"0003", "00000001 00000001 'a'"}, /* bytes that look like one */
        {"0031 0001 000d", "00000001 'a'"},
        {"0020 000d", ""},
        {"0020 000d", "000000"},
        {"0020 000d", "00000001"},
        {"0020 000d", "00000002 00000001 'abc'"},
        {"0020 000d", "ffffffff 00000001 'a'"},
        {"0020 000d", "7fffffff 00000001 'a'"},
        {"0021 000d 000d", "00000001 00000003 'abc'"},
        {"0021 000d 000d", "80000001 00000000 00000000"}, /* twice of it is two */
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct vvcql_result *result = one_value(wrong[i].type, wrong[i].value);
        struct vvcql_elements elements;
        assert_false(vvcql_get_elements(result, 0, &elements));
        assert_false(vvcql_get_elements(result, 1, &elements));
        vvcql_result_destroy(result);
    }
}

static void test_elements_cut_short_end_the_walk(void **state)
{
    (void)state;
    struct vvcql_result *result = one_value("0020 000d", "00000002 00000001 'a' 00000002 'b'");
    struct vvcql_elements elements;
    struct vvcql_bytes element;
    assert_true(vvcql_get_elements(result, 0, &elements));
    assert_true(vvcql_next_element(&elements, &element));
    assert_text(element, "a");
    assert_false(vvcql_next_element(&elements, &element));
    assert_text(element, "a"); /* nothing was written */
    assert_int_equal(elements.left, 0);
    assert_false(vvcql_next_element(&elements, &element));
    vvcql_result_destroy(result);
}

static void test_a_null_collection_has_no_elements(void **state)
{
    (void)state;
    struct vvcql_frame frame = {
        .opcode = VVCQL_OP_RESULT,
        .body = bytes("00000002 00000001 00000001 0000 0000 0000 0020 0009 00000001 ffffffff")};
    struct vvcql_result *result;
    struct vvcql_elements elements;
    assert_int_equal(vvcql_result_create(&frame, "h", &result, NULL), VVCQL_OK);
    assert_false(vvcql_get_elements(result, 0, &elements)); /* no row yet */
    assert_true(vvcql_next_row(result));
    assert_true(vvcql_is_null(result, 0));
    assert_false(vvcql_get_elements(result, 0, &elements));
    vvcql_result_destroy(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_only_values_of_the_size_asked_for_are_given, forget_bytes),
        cmocka_unit_test_teardown(test_numbers, forget_bytes),
        cmocka_unit_test_teardown(test_elements_of_collections, forget_bytes),
        cmocka_unit_test_teardown(test_what_is_no_collection_has_no_elements, forget_bytes),
        cmocka_unit_test_teardown(test_elements_cut_short_end_the_walk, forget_bytes),
        cmocka_unit_test_teardown(test_a_null_collection_has_no_elements, forget_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
