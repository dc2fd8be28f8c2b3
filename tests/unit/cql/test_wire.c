/* SPDX-License-Identifier: Apache-2.0 */
/* The notations of the protocol, written and read, at their bounds and beyond. */
#include "cql/wire.h"

#include "notation.h"

static struct vvcql_bytes written(const struct vvcql_buffer *buffer)
{
    return (struct vvcql_bytes){.data = buffer->data, .size = buffer->size};
}

static void test_numbers_are_written_big_endian(void **state)
{
    (void)state;
    struct vvcql_buffer buffer = {0};
    vvcql_write_u8(&buffer, 0xAB);
    vvcql_write_u16(&buffer, 0x0102);
    vvcql_write_u32(&buffer, 0x03040506);
    vvcql_write_u64(&buffer, 0x0708090A0B0C0D0E);
    assert_false(buffer.failed);
    assert_bytes(written(&buffer), "ab 0102 03040506 0708090a0b0c0d0e");
    vvcql_buffer_deinit(&buffer);
}

static void test_texts_and_bytes_are_written_with_lengths(void **state)
{
    (void)state;
    struct vvcql_buffer buffer = {0};
    vvcql_write_string(&buffer, "ab");
    vvcql_write_string(&buffer, "");
    vvcql_write_long_string(&buffer, bytes("'xyz'"));
    vvcql_write_long_string(&buffer, (struct vvcql_bytes){0});
    vvcql_write_short_bytes(&buffer, bytes("00ff"));
    vvcql_write_value(&buffer, bytes("01"));
    vvcql_write_value(&buffer, bytes(""));
    vvcql_write_value(&buffer, (struct vvcql_bytes){0});
    vvcql_write_bytes(&buffer, "q", 1);
    vvcql_write_bytes(&buffer, NULL, 0);
    assert_false(buffer.failed);
    assert_bytes(written(&buffer), "0002 'ab' 0000 00000003 'xyz' 00000000 0002 00ff"
                                   "00000001 01 00000000 ffffffff 'q'");
    vvcql_buffer_deinit(&buffer);
}

static void test_a_text_longer_than_its_length_field_fails(void **state)
{
    (void)state;
    char *text = vv_sim_calloc(1, UINT16_MAX + 2);
    memset(text, 'a', UINT16_MAX + 1);
    struct vvcql_buffer buffer = {0};
    vvcql_write_u8(&buffer, 7);
    vvcql_write_string(&buffer, text);
    assert_true(buffer.failed);
    assert_int_equal(buffer.size, 1);
    vvcql_write_u8(&buffer, 8); /* the failure stays */
    assert_int_equal(buffer.size, 1);
    vvcql_buffer_clear(&buffer);
    text[UINT16_MAX] = '\0';
    vvcql_write_string(&buffer, text);
    assert_false(buffer.failed);
    assert_int_equal(buffer.size, UINT16_MAX + 2);
    vvcql_buffer_clear(&buffer);
    vvcql_write_long_string(&buffer, (struct vvcql_bytes){bytes("00").data, (size_t)INT32_MAX + 1});
    assert_true(buffer.failed);
    vvcql_buffer_deinit(&buffer);
    free(text);
}

static void test_a_buffer_grows_and_keeps_what_it_has(void **state)
{
    (void)state;
    struct vvcql_buffer buffer = {0};
    for (uint32_t i = 0; i < 10000; i++) {
        vvcql_write_u32(&buffer, i);
    }
    assert_false(buffer.failed);
    struct vvcql_reader reader = vvcql_reader_of(written(&buffer));
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(vvcql_read_u32(&reader), i);
    }
    assert_int_equal(reader.left, 0);
    assert_false(reader.failed);
    size_t capacity = buffer.capacity;
    vvcql_buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(buffer.capacity, capacity);
    vvcql_buffer_deinit(&buffer);
    assert_null(buffer.data);
}

static void test_reserved_room_is_not_counted(void **state)
{
    (void)state;
    struct vvcql_buffer buffer = {0};
    assert_non_null(vvcql_buffer_reserve(&buffer, 0));
    uint8_t *at = vvcql_buffer_reserve(&buffer, 1000);
    assert_non_null(at);
    memset(at, 1, 1000);
    assert_int_equal(buffer.size, 0);
    vvcql_write_u8(&buffer, 2);
    assert_null(vvcql_buffer_reserve(&buffer, SIZE_MAX)); /* the sum would not fit */
    assert_true(buffer.failed);
    vvcql_buffer_deinit(&buffer);
}

static void test_a_failed_allocation_stays_failed(void **state)
{
    (void)state;
    struct vvcql_buffer buffer = {0};
    vv_sim_memory_fail(2);
    for (uint32_t i = 0; i < 100; i++) {
        vvcql_write_u32(&buffer, i);
    }
    assert_true(vv_sim_memory_failed());
    assert_true(buffer.failed);
    size_t size = buffer.size;
    assert_true(size > 0 && size < 400 && size % 4 == 0);
    vvcql_write_string(&buffer, "");
    assert_int_equal(buffer.size, size);
    vvcql_buffer_deinit(&buffer);
    vvcql_write_u32(&buffer, 1);
    assert_false(buffer.failed);
    vvcql_buffer_deinit(&buffer);
}

static void test_everything_is_read(void **state)
{
    (void)state;
    struct vvcql_reader reader = vvcql_reader_of(
        bytes("ab 0102 83040506 8708090a0b0c0d0e 0002 'ab' 00000003 'xyz' 0001 ff 00000001 01"
              "00000000 ffffffff 80000000 0000 'rest'"));
    assert_int_equal(vvcql_read_u8(&reader), 0xAB);
    assert_int_equal(vvcql_read_u16(&reader), 0x0102);
    assert_int_equal(vvcql_read_u32(&reader), 0x83040506);
    assert_true(vvcql_read_u64(&reader) == 0x8708090A0B0C0D0E);
    assert_bytes(vvcql_read_string(&reader), "'ab'");
    assert_bytes(vvcql_read_long_string(&reader), "'xyz'");
    assert_bytes(vvcql_read_short_bytes(&reader), "ff");
    assert_bytes(vvcql_read_value(&reader), "01");
    assert_bytes(vvcql_read_value(&reader), ""); /* empty */
    assert_null(vvcql_read_value(&reader).data); /* null */
    assert_null(vvcql_read_value(&reader).data); /* any negative length */
    assert_bytes(vvcql_read_string(&reader), "");
    assert_bytes(vvcql_read_bytes(&reader, 4), "'rest'");
    assert_false(reader.failed);
    assert_int_equal(reader.left, 0);
}

static void read_all(struct vvcql_reader *reader)
{
    vvcql_read_u8(reader);
    vvcql_read_u16(reader);
    vvcql_read_u32(reader);
    vvcql_read_u64(reader);
    vvcql_read_string(reader);
    vvcql_read_long_string(reader);
    vvcql_read_value(reader);
    vvcql_read_bytes(reader, 2);
}

static void test_every_prefix_fails(void **state)
{
    (void)state;
    struct vvcql_bytes whole = bytes("01 0203 04050607 08090a0b0c0d0e0f 0002 'ab' 00000001 'c'"
                                     "00000002 'de' 'fg'");
    for (size_t size = 0; size <= whole.size; size++) {
        struct vvcql_reader reader = vvcql_reader_of(prefix(whole, size));
        read_all(&reader);
        assert_int_equal(reader.failed, size < whole.size);
        assert_int_equal(reader.left, 0);
    }
}

static void test_a_failed_reader_gives_nothing(void **state)
{
    (void)state;
    struct vvcql_bytes whole = bytes("0005 'abc'");
    struct vvcql_reader reader = vvcql_reader_of(whole);
    struct vvcql_bytes text = vvcql_read_string(&reader);
    assert_true(reader.failed);
    assert_ptr_equal(reader.at, whole.data + whole.size);
    assert_null(text.data);
    assert_int_equal(text.size, 0);
    assert_int_equal(vvcql_read_u8(&reader), 0);
    assert_int_equal(vvcql_read_u16(&reader), 0);
    assert_int_equal(vvcql_read_u32(&reader), 0);
    assert_true(vvcql_read_u64(&reader) == 0);
    assert_null(vvcql_read_value(&reader).data);
    assert_null(vvcql_read_bytes(&reader, 0).data);
    struct vvcql_reader nothing = {0};
    assert_null(vvcql_read_bytes(&nothing, 0).data);
    assert_false(nothing.failed);
    vvcql_read_u8(&nothing);
    assert_true(nothing.failed);
}

static void test_lengths_that_cannot_be_fail(void **state)
{
    (void)state;
    struct vvcql_reader reader = vvcql_reader_of(bytes("ffffffff 'abc'"));
    assert_null(vvcql_read_long_string(&reader).data); /* there is no null text */
    assert_true(reader.failed);
    reader = vvcql_reader_of(bytes("7fffffff 'abc'"));
    vvcql_read_value(&reader);
    assert_true(reader.failed);
    reader = vvcql_reader_of(bytes("'abc'"));
    vvcql_read_bytes(&reader, SIZE_MAX);
    assert_true(reader.failed);
    reader = vvcql_reader_of(bytes("'abc'"));
    vvcql_reader_fail(&reader);
    assert_true(reader.failed);
    assert_int_equal(reader.left, 0);
}

static void assert_copied(struct vvcql_bytes text, size_t capacity, const char *expected)
{
    char *out = vv_sim_malloc(capacity); /* of exactly that size */
    memset(out, 'x', capacity);
    vvcql_copy_text(out, capacity, text);
    assert_string_equal(out, expected);
    free(out);
}

static void test_texts_are_cut_between_characters(void **state)
{
    (void)state;
    struct vvcql_bytes text = bytes("'a' c3a9 e282ac f09f8c8d 'z'"); /* 1, 2, 3, 4, 1 bytes */
    const char *const cuts[] = {
        "",
        "a",
        "a",
        "a\u00e9",
        "a\u00e9",
        "a\u00e9",
        "a\u00e9\u20ac",
        "a\u00e9\u20ac",
        "a\u00e9\u20ac",
        "a\u00e9\u20ac",
        "a\u00e9\u20ac\U0001F30D",
        "a\u00e9\u20ac\U0001F30Dz",
        "a\u00e9\u20ac\U0001F30Dz",
    };
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        assert_copied(text, i + 1, cuts[i]);
    }
    char untouched = 'u';
    vvcql_copy_text(&untouched, 0, text);
    assert_int_equal(untouched, 'u');
    assert_copied((struct vvcql_bytes){0}, 4, "");
}

static void test_control_characters_are_not_copied(void **state)
{
    (void)state;
    assert_copied(bytes("'a' 00 'b' 0a 'c' 1b 'd' 7f 'e'"), 32, "a?b?c?d?e");
    assert_copied(bytes("c280 'a' c29f c2a0"), 32, "?a?\u00a0"); /* the second set of them */
    assert_copied(bytes("0000"), 2, "?");
}

static void test_what_is_not_utf_8_is_not_copied(void **state)
{
    (void)state;
    assert_copied(bytes("80 'a' bf"), 32, "?a?");                  /* no first byte */
    assert_copied(bytes("c3 'a'"), 32, "?a");                      /* no second byte */
    assert_copied(bytes("e282"), 32, "??");                        /* ends too early */
    assert_copied(bytes("c0af e080af f08080af"), 32, "?????????"); /* longer than needed */
    assert_copied(bytes("eda080"), 32, "???");                     /* half a pair */
    assert_copied(bytes("f4908080 f5808080 ff"), 32, "?????????"); /* beyond the last one */
    assert_copied(bytes("f48fbfbf ed9fbf"), 32, "\xf4\x8f\xbf\xbf\xed\x9f\xbf");
    assert_copied(bytes("e0a080 f0908080 ee8080"), 32, "\u0800\U00010000\ue000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_numbers_are_written_big_endian, forget_bytes),
        cmocka_unit_test_teardown(test_texts_and_bytes_are_written_with_lengths, forget_bytes),
        cmocka_unit_test_teardown(test_a_text_longer_than_its_length_field_fails, forget_bytes),
        cmocka_unit_test_teardown(test_a_buffer_grows_and_keeps_what_it_has, forget_bytes),
        cmocka_unit_test_teardown(test_reserved_room_is_not_counted, forget_bytes),
        cmocka_unit_test_teardown(test_a_failed_allocation_stays_failed, forget_bytes),
        cmocka_unit_test_teardown(test_everything_is_read, forget_bytes),
        cmocka_unit_test_teardown(test_every_prefix_fails, forget_bytes),
        cmocka_unit_test_teardown(test_a_failed_reader_gives_nothing, forget_bytes),
        cmocka_unit_test_teardown(test_lengths_that_cannot_be_fail, forget_bytes),
        cmocka_unit_test_teardown(test_texts_are_cut_between_characters, forget_bytes),
        cmocka_unit_test_teardown(test_control_characters_are_not_copied, forget_bytes),
        cmocka_unit_test_teardown(test_what_is_not_utf_8_is_not_copied, forget_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
