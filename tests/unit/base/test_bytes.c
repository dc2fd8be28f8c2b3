/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of byte ranges, buffers and readers. */
#include "base/bytes.h"
#include "base/random.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_strings_compare_by_bytes(void **state)
{
    (void)state;
    struct vv_str a = VV_STR_LITERAL("ab");
    assert_true(vv_str_compare(a, VV_STR_LITERAL("ab")) == 0);
    assert_true(vv_str_compare(a, VV_STR_LITERAL("abc")) < 0);
    assert_true(vv_str_compare(VV_STR_LITERAL("b"), a) > 0);
    assert_true(vv_str_compare(VV_STR_LITERAL("\xff"), a) > 0);
    assert_true(vv_str_compare((struct vv_str){NULL, 0}, a) < 0);
    assert_true(vv_str_compare((struct vv_str){NULL, 0}, (struct vv_str){NULL, 0}) == 0);
    assert_true(vv_str_equal((struct vv_str){NULL, 0}, VV_STR_LITERAL("")));
    assert_false(vv_str_equal(a, VV_STR_LITERAL("ac")));
    assert_int_equal(vv_str_of(NULL).size, 0);
}

static void test_duplicate_terminates(void **state)
{
    (void)state;
    char *copy = vv_str_duplicate((struct vv_str){"abcdef", 3});
    assert_string_equal(copy, "abc");
    free(copy);
    copy = vv_str_duplicate((struct vv_str){NULL, 0});
    assert_string_equal(copy, "");
    free(copy);
    assert_null(vv_str_duplicate((struct vv_str){"", SIZE_MAX}));
    vv_sim_memory_fail(1);
    assert_null(vv_str_duplicate(VV_STR_LITERAL("abc")));
    assert_true(vv_sim_memory_failed());
}

static void test_integers_have_their_byte_order(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    vv_buffer_u8(&buffer, 0x01);
    vv_buffer_u16(&buffer, 0x0203);
    vv_buffer_u32(&buffer, 0x04050607);
    vv_buffer_u64(&buffer, 0x08090A0B0C0D0E0F);
    vv_buffer_be16(&buffer, 0x0203);
    vv_buffer_be32(&buffer, 0x04050607);
    vv_buffer_be64(&buffer, 0x08090A0B0C0D0E0F);
    static const uint8_t expected[] = {1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8,
                                       2, 3, 4, 5, 6, 7, 8, 9,  10, 11, 12, 13, 14, 15};
    assert_int_equal(buffer.size, sizeof expected);
    assert_memory_equal(buffer.data, expected, sizeof expected);

    struct vv_reader reader = vv_reader_of(buffer.data, buffer.size);
    assert_int_equal(vv_reader_u8(&reader), 1);
    assert_int_equal(vv_reader_u16(&reader), 0x0203);
    assert_int_equal(vv_reader_u32(&reader), 0x04050607);
    assert_true(vv_reader_u64(&reader) == 0x08090A0B0C0D0E0F);
    assert_int_equal(vv_reader_be16(&reader), 0x0203);
    assert_int_equal(vv_reader_be32(&reader), 0x04050607);
    assert_true(vv_reader_be64(&reader) == 0x08090A0B0C0D0E0F);
    assert_int_equal(vv_reader_left(&reader), 0);
    assert_false(reader.failed);
    vv_buffer_deinit(&buffer);
}

static void test_varints_at_their_bounds(void **state)
{
    (void)state;
    struct vv_random random = {11};
    struct vv_buffer buffer = {0};
    for (unsigned i = 0; i < 2000; i++) {
        unsigned bits = i % 65;
        uint64_t value = bits == 0 ? 0 : vv_random_next(&random) >> (64 - bits);
        value = i < 128 ? (i % 2 ? UINT64_MAX >> (i / 2) : (UINT64_MAX >> (i / 2)) + 1) : value;
        vv_buffer_clear(&buffer);
        vv_buffer_varint(&buffer, value);
        vv_buffer_zigzag(&buffer, (int64_t)value);
        assert_in_range(buffer.size, 2, 20);
        struct vv_reader reader = vv_reader_of(buffer.data, buffer.size);
        assert_true(vv_reader_varint(&reader) == value);
        assert_true(vv_reader_zigzag(&reader) == (int64_t)value);
        assert_false(reader.failed);
    }
    vv_buffer_clear(&buffer);
    vv_buffer_zigzag(&buffer, -1);
    vv_buffer_zigzag(&buffer, INT64_MIN);
    assert_int_equal(buffer.data[0], 1);
    assert_int_equal(buffer.size, 11);
    vv_buffer_deinit(&buffer);
}

static void test_malformed_varints_fail(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } cases[] = {
        {"", 0},
        {"\x80", 1},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_reader reader = vv_reader_of(cases[i].bytes, cases[i].size);
        assert_true(vv_reader_varint(&reader) == 0);
        assert_true(reader.failed);
        assert_int_equal(vv_reader_left(&reader), 0);
    }
}

static void test_a_failed_reader_gives_nothing_more(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {5, 'a', 'b', 'c', 1};
    struct vv_reader reader = vv_reader_of(bytes, sizeof bytes);
    struct vv_str text = vv_reader_sized(&reader);
    assert_true(reader.failed);
    assert_int_equal(text.size, 0);
    assert_int_equal(vv_reader_u8(&reader), 0);
    assert_null(vv_reader_bytes(&reader, 0));
    assert_int_equal(vv_reader_left(&reader), 0);

    reader = vv_reader_of(NULL, 0);
    assert_non_null(vv_reader_bytes(&reader, 0));
    assert_false(reader.failed);
    assert_null(vv_reader_bytes(&reader, 1));
    assert_true(reader.failed);

    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 'a'};
    reader = vv_reader_of(huge, sizeof huge);
    assert_int_equal(vv_reader_sized(&reader).size, 0);
    assert_true(reader.failed);
}

static void test_sized_text_round_trips(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    vv_buffer_sized(&buffer, VV_STR_LITERAL("hello"));
    vv_buffer_sized(&buffer, (struct vv_str){NULL, 0});
    vv_buffer_text(&buffer, "tail");
    struct vv_reader reader = vv_reader_of(buffer.data, buffer.size);
    assert_true(vv_str_equal(vv_reader_sized(&reader), VV_STR_LITERAL("hello")));
    assert_int_equal(vv_reader_sized(&reader).size, 0);
    assert_memory_equal(vv_reader_bytes(&reader, 4), "tail", 4);
    assert_false(reader.failed);
    vv_buffer_deinit(&buffer);
}

static void test_format_grows_the_buffer(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    for (int i = 0; i < 1000; i++) {
        vv_buffer_format(&buffer, "%d,%s;", i, "text");
    }
    assert_int_equal(vv_buffer_status(&buffer), VV_OK);
    assert_memory_equal(buffer.data, "0,text;1,text;", 14);
    assert_memory_equal(buffer.data + buffer.size - 9, "999,text;", 9);
    vv_buffer_deinit(&buffer);
    assert_null(buffer.data);
}

static void test_the_limit_is_exact_and_sticky(void **state)
{
    (void)state;
    struct vv_buffer buffer = {.limit = 8};
    vv_buffer_text(&buffer, "12345");
    vv_buffer_format(&buffer, "%s", "678");
    assert_int_equal(vv_buffer_status(&buffer), VV_OK);
    assert_int_equal(buffer.size, 8);
    vv_buffer_u8(&buffer, 9);
    assert_int_equal(vv_buffer_status(&buffer), VV_TOO_LARGE);
    assert_int_equal(buffer.size, 8);
    vv_buffer_append(&buffer, NULL, 0);
    assert_int_equal(buffer.size, 8);
    vv_buffer_clear(&buffer);
    assert_int_equal(vv_buffer_status(&buffer), VV_OK);
    vv_buffer_sized(&buffer, VV_STR_LITERAL("12345678"));
    assert_int_equal(vv_buffer_status(&buffer), VV_TOO_LARGE);
    assert_int_equal(buffer.size, 0); /* not even the length stays */
    vv_buffer_deinit(&buffer);
    assert_int_equal(buffer.limit, 8);
    assert_null(vv_buffer_reserve(&buffer, SIZE_MAX));
    vv_buffer_deinit(&buffer);
}

static void test_a_failed_allocation_keeps_the_content(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    vv_buffer_text(&buffer, "kept");
    static const uint8_t large[1000];
    vv_sim_memory_fail(1);
    vv_buffer_append(&buffer, large, sizeof large);
    assert_true(vv_sim_memory_failed());
    assert_int_equal(vv_buffer_status(&buffer), VV_NO_MEMORY);
    assert_int_equal(buffer.size, 4);
    assert_memory_equal(buffer.data, "kept", 4);
    vv_buffer_text(&buffer, "x");
    assert_int_equal(buffer.size, 4);
    vv_buffer_deinit(&buffer);

    struct vv_buffer unlimited = {0};
    assert_null(vv_buffer_reserve(&unlimited, SIZE_MAX));
    assert_int_equal(vv_buffer_status(&unlimited), VV_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_compare_by_bytes),
        cmocka_unit_test(test_duplicate_terminates),
        cmocka_unit_test(test_integers_have_their_byte_order),
        cmocka_unit_test(test_varints_at_their_bounds),
        cmocka_unit_test(test_malformed_varints_fail),
        cmocka_unit_test(test_a_failed_reader_gives_nothing_more),
        cmocka_unit_test(test_sized_text_round_trips),
        cmocka_unit_test(test_format_grows_the_buffer),
        cmocka_unit_test(test_the_limit_is_exact_and_sticky),
        cmocka_unit_test(test_a_failed_allocation_keeps_the_content),
    };
    return cmocka_run_group_tests_name("bytes", tests, NULL, NULL);
}
