/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: exact for any numbers, small with outliers, safe on damaged bytes. */
#include "codec/groups.h"

#include "codec/bitpack.h"
#include "shapes.h"

#define COUNT_MAX 1000u

struct written {
    uint8_t *bytes; /* with the slack behind them */
    size_t size;
};

static struct written write_groups(const uint64_t *values, size_t count)
{
    size_t size = vv_groups_size(values, count);
    struct written written = {exact_array(size + VV_BITPACK_SLACK, 1), size};
    struct vv_writer writer = {written.bytes, written.bytes + size, false};
    vv_groups_write(values, count, &writer);
    assert_false(writer.overflowed);
    assert_ptr_equal(writer.at, writer.end);
    return written;
}

static size_t round_trip(const uint64_t *values, size_t count)
{
    struct written written = write_groups(values, count);
    uint64_t *read = exact_array(count, sizeof *read);
    struct vv_reader reader = {written.bytes, written.bytes + written.size, false};
    assert_true(vv_groups_read(&reader, count, read));
    assert_ptr_equal(reader.at, reader.end);
    assert_memory_equal(read, values, count * sizeof *read);
    struct vv_reader skipping = {written.bytes, written.bytes + written.size, false};
    for (size_t start = 0; start < count; start += VV_GROUP_LENGTH) {
        size_t left = count - start;
        vv_group_skip(&skipping, left < VV_GROUP_LENGTH ? left : VV_GROUP_LENGTH);
    }
    assert_true(!skipping.failed && skipping.at == skipping.end);
    free(read);
    free(written.bytes);
    return written.size;
}

static void every_shape_and_count(void **state)
{
    (void)state;
    struct vv_random random = {21};
    uint64_t values[COUNT_MAX];
    for (int shape = 0; shape < SHAPE_END; shape++) {
        for (size_t count = 0; count <= 300; count++) {
            fill_shape((enum shape)shape, &random, count, values);
            round_trip(values, count);
        }
    }
}

static void every_width_of_numbers(void **state)
{
    (void)state;
    struct vv_random random = {22};
    uint64_t values[COUNT_MAX];
    for (unsigned width = 1; width <= 64; width++) {
        for (unsigned outlier_width = 1; outlier_width <= 64; outlier_width += 3) {
            for (size_t i = 0; i < VV_GROUP_LENGTH; i++) {
                unsigned bits = vv_random_below(&random, 40) == 0 ? outlier_width : width;
                values[i] = vv_unzigzag(vv_random_next(&random) >> (64 - bits));
            }
            round_trip(values, VV_GROUP_LENGTH);
        }
    }
}

static void outliers_do_not_widen_a_group(void **state)
{
    (void)state;
    struct vv_random random = {23};
    uint64_t values[VV_GROUP_LENGTH];
    for (size_t i = 0; i < VV_GROUP_LENGTH; i++) {
        values[i] = vv_random_below(&random, 8);
    }
    size_t plain = round_trip(values, VV_GROUP_LENGTH);
    values[17] = UINT64_C(1) << 40;
    values[99] = UINT64_C(0) - (UINT64_C(1) << 50);
    size_t patched = round_trip(values, VV_GROUP_LENGTH);
    assert_int_equal(plain, 2 + VV_GROUP_LENGTH * 3 / 8);
    assert_true(patched <= plain + 1 + 2 * (1 + 8));
}

static void an_exception_behind_the_group_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[5 + VV_BITPACK_SLACK] = {0x80, 0, 1, 10, 2}; /* position 10 of 10 numbers */
    uint64_t values[10];
    struct vv_reader reader = {bytes, bytes + 5, false};
    assert_false(vv_groups_read(&reader, 10, values));
    bytes[3] = 9;
    struct vv_reader good = {bytes, bytes + 5, false};
    assert_true(vv_groups_read(&good, 10, values));
    assert_true(values[9] == 1);
}

static void truncated_and_wide_groups_are_refused(void **state)
{
    (void)state;
    struct vv_random random = {24};
    uint64_t values[300];
    uint64_t read[300];
    fill_shape(SHAPE_SPIKES, &random, 300, values);
    struct written written = write_groups(values, 300);
    for (size_t size = 0; size < written.size; size++) {
        struct vv_reader reader = {written.bytes, written.bytes + size, false};
        assert_false(vv_groups_read(&reader, 300, read));
    }
    written.bytes[0] = 65;
    struct vv_reader reader = {written.bytes, written.bytes + written.size, false};
    assert_false(vv_groups_read(&reader, 300, read));
    free(written.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_and_count),
        cmocka_unit_test(every_width_of_numbers),
        cmocka_unit_test(outliers_do_not_widen_a_group),
        cmocka_unit_test(an_exception_behind_the_group_is_refused),
        cmocka_unit_test(truncated_and_wide_groups_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
