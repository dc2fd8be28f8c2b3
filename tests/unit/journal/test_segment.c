/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the bytes of segments. */
#include "journal/segment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct vv_segment_header example_header(void)
{
    return (struct vv_segment_header){
        .number = 0x1122, .created_ns = -5, .previous_number = 0x1121, .previous_end = 4096};
}

static void test_a_header_round_trips(void **state)
{
    (void)state;
    struct vv_segment_header header = example_header();
    uint8_t bytes[VV_SEGMENT_HEADER_SIZE];
    vv_segment_header_encode(&header, bytes);
    struct vv_segment_header read;
    assert_int_equal(vv_segment_header_decode(bytes, sizeof bytes, "x", &read, NULL), VV_OK);
    assert_true(read.number == 0x1122 && read.created_ns == -5);
    assert_true(read.previous_number == 0x1121 && read.previous_end == 4096);
    assert_true(read.seed == header.seed);
}

/* The format is on disks: it must not change by accident. */
static void test_the_bytes_are_as_documented(void **state)
{
    (void)state;
    struct vv_segment_header header = example_header();
    uint8_t bytes[VV_SEGMENT_HEADER_SIZE];
    vv_segment_header_encode(&header, bytes);
    static const uint8_t expected[56] = {
        'V',  'A',  'R', 'V', 'E', 'J', 'N', 'L', 1,    0,    0,    0,    64,   0,    0,    0,
        0x22, 0x11, 0,   0,   0,   0,   0,   0,   0xFB, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0x21, 0x11, 0,   0,   0,   0,   0,   0,   0,    0x10, 0,    0,    0,    0,    0,    0,
    };
    assert_memory_equal(bytes, expected, sizeof expected);

    struct vv_buffer buffer = {0};
    struct vv_journal_record record = {
        .stamp = 0x0102030405060708, .kind = 9, .bytes = "abc", .size = 3};
    vv_segment_record_encode(&buffer, 42, 64, &record, 7, true);
    static const uint8_t expected_record[24] = {3, 0, 0, 0, 7, 0, 0, 0, 9, 1, 0, 0,
                                                0, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
    assert_int_equal(buffer.size, 48);
    assert_memory_equal(buffer.data, expected_record, sizeof expected_record);
    /* XXH3-64 of "abc" with seed 42, and of the 32 bytes with seed 42 + 64. */
    static const uint8_t checksums[16] = {0xC3, 0xDC, 0xBB, 0x21, 0xEF, 0x8D, 0x43, 0xD8,
                                          0x35, 0x1D, 0xD6, 0xD1, 0x04, 0xD4, 0x04, 0x35};
    assert_memory_equal(buffer.data + 24, checksums, sizeof checksums);
    assert_memory_equal(buffer.data + 40, "abc\0\0\0\0\0", 8);
    vv_buffer_deinit(&buffer);
}

static void test_any_wrong_bit_of_a_header_is_found(void **state)
{
    (void)state;
    struct vv_segment_header header = example_header();
    uint8_t bytes[VV_SEGMENT_HEADER_SIZE];
    vv_segment_header_encode(&header, bytes);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        struct vv_error error = {0};
        struct vv_segment_header read;
        assert_int_equal(vv_segment_header_decode(bytes, sizeof bytes, "the/path", &read, &error),
                         VV_CORRUPT);
        assert_non_null(strstr(error.message, "the/path"));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    struct vv_segment_header read;
    for (size_t size = 0; size < sizeof bytes; size++) {
        assert_int_equal(vv_segment_header_decode(bytes, size, "x", &read, NULL), VV_CORRUPT);
    }
}

static void test_any_wrong_bit_of_a_record_is_found(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    struct vv_journal_record record = {.stamp = 5, .kind = 1, .bytes = "payload!", .size = 8};
    vv_segment_record_encode(&buffer, 42, 128, &record, 3, false);
    assert_int_equal(vv_buffer_status(&buffer), VV_OK);
    struct vv_segment_record read = {0};
    assert_true(vv_segment_record_decode(buffer.data, 42, 128, &read));
    assert_true(read.size == 8 && read.commit == 3 && read.kind == 1 && !read.last);
    assert_true(read.stamp == 5);
    assert_true(vv_segment_payload_valid(&read, buffer.data + VV_SEGMENT_RECORD_SIZE, 42));
    for (size_t bit = 0; bit < buffer.size * 8; bit++) {
        buffer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_false(vv_segment_record_decode(buffer.data, 42, 128, &read) &&
                     vv_segment_payload_valid(&read, buffer.data + VV_SEGMENT_RECORD_SIZE, 42));
        buffer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    /* Nor is it one elsewhere in the segment, or in another segment. */
    assert_false(vv_segment_record_decode(buffer.data, 42, 136, &read));
    assert_false(vv_segment_record_decode(buffer.data, 43, 128, &read));
    vv_buffer_deinit(&buffer);
}

static void test_zeros_are_no_record(void **state)
{
    (void)state;
    static const uint8_t zeros[VV_SEGMENT_RECORD_SIZE];
    struct vv_segment_record read;
    assert_false(vv_segment_record_decode(zeros, 0, 64, &read));
}

static void test_sizes_are_padded(void **state)
{
    (void)state;
    assert_int_equal(vv_segment_record_bytes(0), 40);
    assert_int_equal(vv_segment_record_bytes(1), 48);
    assert_int_equal(vv_segment_record_bytes(8), 48);
    assert_int_equal(vv_segment_record_bytes(9), 56);
}

static void test_names(void **state)
{
    (void)state;
    char path[VV_SEGMENT_PATH_SIZE];
    vv_segment_path("/folder", 0xABC, false, path);
    assert_string_equal(path, "/folder/0000000000000abc.seg");
    vv_segment_path("/folder", 0xABC, true, path);
    assert_string_equal(path, "/folder/0000000000000abc.new");
    uint64_t number = 0;
    bool is_new = true;
    assert_true(vv_segment_name_parse("0000000000000abc.seg", &number, &is_new));
    assert_true(number == 0xABC && !is_new);
    assert_true(vv_segment_name_parse("ffffffffffffffff.new", &number, &is_new));
    assert_true(number == UINT64_MAX && is_new);
    static const char *const others[] = {"",
                                         "x",
                                         "0000000000000abc",
                                         "0000000000000ABC.seg",
                                         "000000000000abc.seg",
                                         "0000000000000abc.segx",
                                         "0000000000000abc.sst",
                                         "00000000000000abc.seg",
                                         "LOCK"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(vv_segment_name_parse(others[i], &number, &is_new));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_header_round_trips),
        cmocka_unit_test(test_the_bytes_are_as_documented),
        cmocka_unit_test(test_any_wrong_bit_of_a_header_is_found),
        cmocka_unit_test(test_any_wrong_bit_of_a_record_is_found),
        cmocka_unit_test(test_zeros_are_no_record),
        cmocka_unit_test(test_sizes_are_padded),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("segment", tests, NULL, NULL);
}
