/* SPDX-License-Identifier: Apache-2.0 */
/* Plain words and their frames. */
#include "codec/raw.h"

#include "shapes.h"

#define COUNT 300u

static void words_come_back(void **state)
{
    (void)state;
    struct vv_random random = {64};
    uint64_t numbers[COUNT];
    uint64_t read[COUNT];
    uint8_t bytes[8 * COUNT];
    fill_shape(SHAPE_RANDOM_BITS, &random, COUNT, numbers);
    struct vv_writer writer = {bytes, bytes + sizeof bytes, false};
    vv_raw_write(numbers, COUNT, &writer);
    assert_true(!writer.overflowed && writer.at == writer.end);
    struct vv_reader reader = {bytes, writer.at, false};
    vv_raw_read(&reader, COUNT, read);
    assert_memory_equal(read, numbers, sizeof read);
    struct vv_reader shorter = {bytes, writer.at - 1, false};
    vv_raw_read(&shorter, COUNT, read);
    assert_true(shorter.failed);
}

static void repeated_words_are_compressed(void **state)
{
    (void)state;
    struct vv_random random = {65};
    uint64_t numbers[COUNT];
    uint64_t read[COUNT];
    struct vv_raw_frame frame;
    struct vv_scratch *scratch = vv_scratch_acquire();
    fill_shape(SHAPE_FEW_VALUES, &random, COUNT, numbers);
    assert_int_equal(
        vv_raw_plan(scratch, VV_SCRATCH_RAW_FRAME_A, 3, numbers, COUNT, 4 * COUNT, &frame),
        VV_BLOCK_OK);
    assert_non_null(frame.bytes);
    struct vv_reader reader = {frame.bytes, frame.bytes + frame.size, false};
    assert_int_equal(vv_raw_read_frame(scratch, &reader, COUNT, read), VV_BLOCK_OK);
    assert_memory_equal(read, numbers, sizeof read);
    struct vv_reader longer = {frame.bytes, frame.bytes + frame.size, false};
    assert_int_equal(vv_raw_read_frame(scratch, &longer, COUNT - 1, read), VV_BLOCK_CORRUPT);
    fill_shape(SHAPE_RANDOM_BITS, &random, COUNT, numbers);
    assert_int_equal(
        vv_raw_plan(scratch, VV_SCRATCH_RAW_FRAME_A, 3, numbers, COUNT, 9 * COUNT, &frame),
        VV_BLOCK_OK);
    assert_null(frame.bytes);
    vv_scratch_release();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_come_back),
        cmocka_unit_test(repeated_words_are_compressed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
