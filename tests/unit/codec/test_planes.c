/* SPDX-License-Identifier: Apache-2.0 */
/* Byte planes: exact, bounded, and safe on damaged frames. */
#include "codec/planes.h"

#include "shapes.h"

#define COUNT 500u

static void planes_come_back(void **state)
{
    (void)state;
    struct vv_random random = {62};
    uint64_t values[COUNT];
    uint64_t read[COUNT];
    struct vv_scratch *scratch = vv_scratch_acquire();
    for (unsigned width = 1; width <= 64; width++) {
        struct vv_planes planes;
        for (size_t i = 0; i < COUNT; i++) {
            values[i] = vv_unzigzag(vv_random_next(&random) >> (64 - width));
        }
        size_t limit = 9 * COUNT; /* more than any frame of this input */
        assert_int_equal(
            vv_planes_plan(scratch, VV_SCRATCH_FRAME_A, 1, values, COUNT, limit, &planes),
            VV_BLOCK_OK);
        assert_non_null(planes.frame);
        uint8_t *bytes = exact_array(planes.size, 1);
        struct vv_writer writer = {bytes, bytes + planes.size, false};
        vv_planes_write(&planes, &writer);
        assert_true(!writer.overflowed && writer.at == writer.end);
        struct vv_reader reader = {bytes, bytes + planes.size, false};
        assert_int_equal(vv_planes_read(scratch, &reader, COUNT, read), VV_BLOCK_OK);
        assert_memory_equal(read, values, sizeof read);
        struct vv_reader other = {bytes, bytes + planes.size, false};
        assert_int_equal(vv_planes_read(scratch, &other, COUNT - 1, read), VV_BLOCK_CORRUPT);
        struct vv_reader shorter = {bytes, bytes + planes.size - 1, false};
        assert_int_equal(vv_planes_read(scratch, &shorter, COUNT, read), VV_BLOCK_CORRUPT);
        free(bytes);
    }
    vv_scratch_release();
}

static void what_does_not_pay_is_left(void **state)
{
    (void)state;
    struct vv_random random = {63};
    uint64_t values[COUNT];
    struct vv_planes planes;
    struct vv_scratch *scratch = vv_scratch_acquire();
    fill_shape(SHAPE_RANDOM_BITS, &random, COUNT, values);
    assert_int_equal(
        vv_planes_plan(scratch, VV_SCRATCH_FRAME_A, 3, values, COUNT, 8 * COUNT, &planes),
        VV_BLOCK_OK);
    assert_null(planes.frame);
    fill_shape(SHAPE_INT_CONSTANT, &random, COUNT, values);
    assert_int_equal(
        vv_planes_plan(scratch, VV_SCRATCH_FRAME_A, 3, values, COUNT, 8 * COUNT, &planes),
        VV_BLOCK_OK);
    assert_null(planes.frame);
    vv_scratch_release();
}

static void hostile_counts_of_planes_are_refused(void **state)
{
    (void)state;
    uint64_t read[4];
    struct vv_scratch *scratch = vv_scratch_acquire();
    for (unsigned n_planes = 0; n_planes < 256; n_planes += 9) {
        uint8_t bytes[] = {0, (uint8_t)n_planes, 1, 2, 3, 4, 5, 6, 7, 8};
        struct vv_reader reader = {bytes, bytes + sizeof bytes, false};
        assert_int_equal(vv_planes_read(scratch, &reader, 4, read), VV_BLOCK_CORRUPT);
    }
    vv_scratch_release();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_come_back),
        cmocka_unit_test(what_does_not_pay_is_left),
        cmocka_unit_test(hostile_counts_of_planes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
