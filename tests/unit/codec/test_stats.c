/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics: right for all shapes, with NaN and infinities, and back from their bytes. */
#include "codec/stats.h"

#include "shapes.h"

#define COUNT 400u

static void assert_stats_equal(const struct vv_block_stats *a, const struct vv_block_stats *b)
{
    assert_int_equal(a->count, b->count);
    assert_true(a->min == b->min && a->max == b->max);
    assert_true(a->first == b->first && a->last == b->last);
    assert_true(vv_bits_of_double(a->sum) == vv_bits_of_double(b->sum));
    assert_int_equal(a->valid, b->valid);
}

static size_t round_trip(enum vv_value_type type, const struct vv_block_stats *stats,
                         size_t n_present)
{
    uint8_t bytes[64];
    struct vv_block_stats read;
    struct vv_writer writer = {bytes, bytes + sizeof bytes, false};
    vv_stats_write(type, stats, n_present, &writer);
    assert_false(writer.overflowed);
    struct vv_reader reader = {bytes, writer.at, false};
    assert_true(vv_stats_read(type, n_present > 0, &reader, &read));
    assert_ptr_equal(reader.at, reader.end);
    assert_stats_equal(stats, &read);
    for (uint8_t *end = bytes; end < writer.at; end++) {
        struct vv_reader shorter = {bytes, end, false};
        assert_false(vv_stats_read(type, n_present > 0, &shorter, &read));
    }
    return (size_t)(writer.at - bytes);
}

static void assert_float_stats(const uint64_t *values, size_t count,
                               const struct vv_block_stats *stats)
{
    uint32_t expected = 0;
    bool min_seen = false;
    bool max_seen = false;
    for (size_t i = 0; i < count; i++) {
        double value = vv_bits_double(values[i]);
        expected += isnan(value) ? 0 : 1;
        assert_false(value < vv_bits_double(stats->min));
        assert_false(value > vv_bits_double(stats->max));
        min_seen |= values[i] == stats->min;
        max_seen |= values[i] == stats->max;
    }
    assert_int_equal(stats->count, expected);
    assert_true(expected == 0 || (min_seen && max_seen));
}

static void assert_int_stats(const uint64_t *values, size_t count,
                             const struct vv_block_stats *stats)
{
    __extension__ __int128 sum = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t value = vv_signed(values[i]);
        assert_true(value >= vv_signed(stats->min) && value <= vv_signed(stats->max));
        sum += value;
    }
    assert_int_equal(stats->count, count);
    assert_true(stats->sum == (double)sum);
}

static void every_shape(void **state)
{
    (void)state;
    struct vv_random random = {81};
    uint64_t values[COUNT];
    for (int shape = 0; shape < SHAPE_END; shape++) {
        for (size_t count = 1; count <= COUNT; count += count < 10 ? 1 : 77) {
            struct vv_block_stats stats;
            enum vv_value_type type = shape_type((enum shape)shape);
            fill_shape((enum shape)shape, &random, count, values);
            vv_stats_compute(type, values, count, &stats);
            assert_true(stats.valid);
            assert_true(stats.first == values[0] && stats.last == values[count - 1]);
            if (type == VV_FLOAT64) {
                assert_float_stats(values, count, &stats);
            } else {
                assert_int_stats(values, count, &stats);
            }
            round_trip(type, &stats, count);
        }
    }
}

static void sums_do_not_drift(void **state)
{
    (void)state;
    const uint64_t values[] = {vv_bits_of_double(1e16), vv_bits_of_double(1.0),
                               vv_bits_of_double(1.0), vv_bits_of_double(-1e16)};
    struct vv_block_stats stats;
    vv_stats_compute(VV_FLOAT64, values, 4, &stats);
    assert_true(stats.sum == 2.0);
    const uint64_t integers[] = {UINT64_MAX >> 1, UINT64_MAX >> 1, UINT64_C(1) << 63, 5};
    vv_stats_compute(VV_INT64, integers, 4, &stats);
    assert_true(stats.sum == 0x1p63);
}

static void infinities_are_values_and_nan_is_not(void **state)
{
    (void)state;
    const uint64_t values[] = {vv_bits_of_double((double)NAN), vv_bits_of_double(2.5),
                               vv_bits_of_double((double)INFINITY), vv_bits_of_double((double)NAN)};
    struct vv_block_stats stats;
    vv_stats_compute(VV_FLOAT64, values, 4, &stats);
    assert_int_equal(stats.count, 2);
    assert_true(stats.min == vv_bits_of_double(2.5) &&
                stats.max == vv_bits_of_double((double)INFINITY));
    assert_true(isinf(stats.sum) && stats.first == values[0] && stats.last == values[3]);
    round_trip(VV_FLOAT64, &stats, 4);
    vv_stats_compute(VV_FLOAT64, values, 1, &stats);
    assert_true(stats.count == 0 && stats.min == 0 && stats.max == 0 && stats.sum == 0.0);
    assert_true(stats.first == values[0]);
    round_trip(VV_FLOAT64, &stats, 1);
}

static void nothing_present(void **state)
{
    (void)state;
    struct vv_block_stats stats;
    vv_stats_compute(VV_INT64, NULL, 0, &stats);
    assert_true(stats.valid && stats.count == 0 && stats.sum == 0.0);
    assert_int_equal(round_trip(VV_INT64, &stats, 0), 1);
}

static void decimals_are_small(void **state)
{
    (void)state;
    struct vv_random random = {82};
    uint64_t values[COUNT];
    struct vv_block_stats stats;
    fill_shape(SHAPE_DECIMAL_NOISE, &random, COUNT, values);
    vv_stats_compute(VV_FLOAT64, values, COUNT, &stats);
    assert_true(round_trip(VV_FLOAT64, &stats, COUNT) <= 2 + 1 + 4 * 2 + 8);
}

static void hostile_scales_are_refused(void **state)
{
    (void)state;
    uint8_t bytes[64] = {1, 19};
    struct vv_block_stats stats;
    struct vv_reader reader = {bytes, bytes + sizeof bytes, false};
    assert_false(vv_stats_read(VV_FLOAT64, true, &reader, &stats));
    bytes[1] = 0;
    bytes[0] = 5; /* a count where nothing is present */
    struct vv_reader counted = {bytes, bytes + sizeof bytes, false};
    assert_false(vv_stats_read(VV_FLOAT64, false, &counted, &stats));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape),
        cmocka_unit_test(sums_do_not_drift),
        cmocka_unit_test(infinities_are_values_and_nan_is_not),
        cmocka_unit_test(nothing_present),
        cmocka_unit_test(decimals_are_small),
        cmocka_unit_test(hostile_scales_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
