/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of many shapes for the tests of the codec, from fixed seeds, and their round trip.
 */
#ifndef TESTS_UNIT_CODEC_SHAPES_H
#define TESTS_UNIT_CODEC_SHAPES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "base/bits.h"
#include "base/random.h"
#include "codec/block.h"

static inline double random_normal(struct vv_random *random)
{
    double radius = sqrt(-2.0 * log(vv_random_unit(random) + 0x1p-60));
    return radius * cos(6.283185307179586 * vv_random_unit(random));
}

/* A fresh array of exactly count elements (1 at least), so that overruns are seen. (gcc, where it
 * inlines, takes the size apart from the loop over count and warns of overruns that cannot be.) */
__attribute__((noinline, unused)) static void *exact_array(size_t count, size_t element_size)
{
    void *array = calloc(count > 0 ? count : 1, element_size);
    assert_non_null(array);
    return array;
}

enum shape {
    SHAPE_CONSTANT,
    SHAPE_CONSTANT_ODD,
    SHAPE_DECIMAL_WALK,
    SHAPE_DECIMAL_NOISE,
    SHAPE_DECIMAL_WITH_NAN,
    SHAPE_DECIMAL_NEGATIVE_ZERO,
    SHAPE_AVERAGES,
    SHAPE_SINGLES,
    SHAPE_SINGLE_DECIMALS,
    SHAPE_FULL_DOUBLES,
    SHAPE_SMOOTH,
    SHAPE_FEW_VALUES,
    SHAPE_SPIKES,
    SHAPE_EXTREME_DOUBLES,
    SHAPE_RANDOM_BITS,
    SHAPE_LARGE_WHOLE,
    SHAPE_INT_CONSTANT,
    SHAPE_INT_COUNTER,
    SHAPE_INT_COUNTER_RESET,
    SHAPE_INT_JITTER,
    SHAPE_INT_NOISE,
    SHAPE_INT_MULTIPLES,
    SHAPE_INT_EXTREMES,
    SHAPE_INT_MIN_MAX,
    SHAPE_INT_PARABOLA,
    SHAPE_INT_RANDOM_BITS,
    SHAPE_END
};

static inline enum vv_value_type shape_type(enum shape shape)
{
    return shape < SHAPE_INT_CONSTANT ? VV_FLOAT64 : VV_INT64;
}

static inline double odd_double(struct vv_random *random)
{
    static const uint64_t odd[] = {
        UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000), UINT64_C(0x7ff8000000000001),
        UINT64_C(0x7ff0000000000001), UINT64_C(0xffffffffffffffff), UINT64_C(0x8000000000000000),
        UINT64_C(0x0000000000000001), UINT64_C(0x7fefffffffffffff), UINT64_C(0x0010000000000000),
        UINT64_C(0x000fffffffffffff), UINT64_C(0xffefffffffffffff), 0};
    return vv_bits_double(odd[vv_random_below(random, sizeof odd / sizeof odd[0])]);
}

static inline uint64_t float_value(enum shape shape, size_t i, struct vv_random *random,
                                   double *walk)
{
    double noise = random_normal(random);
    switch (shape) {
    case SHAPE_CONSTANT:
        return vv_bits_of_double(21.5);
    case SHAPE_CONSTANT_ODD:
        return vv_bits_of_double(1.0 / 3.0);
    case SHAPE_DECIMAL_WALK:
        *walk += (double)vv_random_below(random, 5) - 2.0;
        return vv_bits_of_double(round(*walk) / 10.0);
    case SHAPE_DECIMAL_NOISE:
        return vv_bits_of_double(round((20.0 + noise) * 100.0) / 100.0);
    case SHAPE_DECIMAL_WITH_NAN:
        return vv_random_below(random, 50) == 0
                   ? vv_bits_of_double((double)NAN)
                   : vv_bits_of_double(round((20.0 + noise) * 100.0) / 100.0);
    case SHAPE_DECIMAL_NEGATIVE_ZERO:
        return vv_random_below(random, 4) == 0 ? vv_bits_of_double(-0.0)
                                               : vv_bits_of_double(round(noise * 10.0) / 10.0);
    case SHAPE_AVERAGES:
        return vv_bits_of_double((round((50.0 + 5.0 * noise) * 1000.0) / 1000.0 * 3.0 + 0.6) / 3.0 -
                                 0.2);
    case SHAPE_SINGLES:
        *walk += noise;
        return vv_bits_of_double((double)(float)*walk);
    case SHAPE_SINGLE_DECIMALS:
        return vv_bits_of_double((double)(float)(round((20.0 + noise) * 10.0) / 10.0));
    case SHAPE_FULL_DOUBLES:
        return vv_bits_of_double(20.0 + noise);
    case SHAPE_SMOOTH:
        return vv_bits_of_double(100.0 * sin((double)i / 40.0));
    case SHAPE_FEW_VALUES:
        return vv_bits_of_double((double)vv_random_below(random, 20) / 7.0);
    case SHAPE_SPIKES:
        return vv_bits_of_double(vv_random_below(random, 60) == 0 ? 1e9 * noise
                                                                  : round(noise * 4.0));
    case SHAPE_EXTREME_DOUBLES:
        return vv_bits_of_double(odd_double(random));
    case SHAPE_LARGE_WHOLE:
        return vv_bits_of_double(1e18 + 4096.0 * (double)vv_random_below(random, 1000));
    default:
        return vv_random_next(random);
    }
}

static inline uint64_t int_value(enum shape shape, size_t i, struct vv_random *random,
                                 uint64_t *counter)
{
    switch (shape) {
    case SHAPE_INT_CONSTANT:
        return UINT64_C(0) - 42;
    case SHAPE_INT_COUNTER:
        return *counter += 100;
    case SHAPE_INT_COUNTER_RESET:
        *counter =
            vv_random_below(random, 90) == 0 ? 0 : *counter + 1000 + vv_random_below(random, 9);
        return *counter;
    case SHAPE_INT_JITTER:
        return (*counter += UINT64_C(1000000000)) + 1000000 * vv_random_below(random, 20);
    case SHAPE_INT_NOISE:
        return vv_random_below(random, 1000) - 500;
    case SHAPE_INT_MULTIPLES:
        return 4096 * vv_random_below(random, 300) + 17;
    case SHAPE_INT_EXTREMES:
        return vv_random_below(random, 2) == 0 ? UINT64_C(1) << 63 : UINT64_MAX >> 1;
    case SHAPE_INT_MIN_MAX:
        return (UINT64_C(1) << 63) + 3 * vv_random_below(random, 1000);
    case SHAPE_INT_PARABOLA:
        return (uint64_t)i * i * 7 - 3 * (uint64_t)i + 1;
    default:
        return vv_random_next(random);
    }
}

static inline void fill_shape(enum shape shape, struct vv_random *random, size_t count,
                              uint64_t *values_out)
{
    double walk = 210.0;
    uint64_t counter = 1234567;
    for (size_t i = 0; i < count; i++) {
        values_out[i] = shape_type(shape) == VV_FLOAT64 ? float_value(shape, i, random, &walk)
                                                        : int_value(shape, i, random, &counter);
    }
}

enum timing {
    TIMING_REGULAR,
    TIMING_JITTER,
    TIMING_GAPS,
    TIMING_DUPLICATES,
    TIMING_ALL_EQUAL,
    TIMING_WIDE,
    TIMING_END
};

static inline void fill_times(enum timing timing, struct vv_random *random, size_t count,
                              int64_t *times_out)
{
    uint64_t time = timing == TIMING_WIDE ? UINT64_C(1) << 63 : UINT64_C(1700000000000000000);
    for (size_t i = 0; i < count; i++) {
        memcpy(&times_out[i], &time, sizeof time);
        switch (timing) {
        case TIMING_REGULAR:
            time += UINT64_C(10000000000);
            break;
        case TIMING_JITTER:
            time += UINT64_C(10000000000) + 1000000 * vv_random_below(random, 30);
            break;
        case TIMING_GAPS:
            time += UINT64_C(1000000000) * (vv_random_below(random, 40) == 0 ? 3600 : 1);
            break;
        case TIMING_DUPLICATES:
            time += vv_random_below(random, 3) == 0 ? 0 : 1000 * vv_random_below(random, 1000);
            break;
        case TIMING_WIDE:
            time += UINT64_MAX / count;
            break;
        default:
            break;
        }
    }
}

enum stamping { STAMPING_ONE, STAMPING_RUNS, STAMPING_EACH, STAMPING_RANDOM, STAMPING_END };

/* Where times are equal the stamps must ascend, so only random ones need care. */
static inline void fill_stamps(enum stamping stamping, struct vv_random *random, size_t count,
                               const int64_t *times, uint64_t *stamps_out)
{
    uint64_t stamp = UINT64_C(1700000000000000) << 8;
    for (size_t i = 0; i < count; i++) {
        if (stamping == STAMPING_RUNS && vv_random_below(random, 30) == 0) {
            stamp += vv_random_below(random, 1u << 20);
        } else if (stamping == STAMPING_EACH) {
            stamp += 256000000 + 256 * vv_random_below(random, 5000);
        } else if (stamping == STAMPING_RANDOM) {
            uint64_t next = vv_random_next(random);
            bool same_time = i > 0 && times[i] == times[i - 1];
            stamp = same_time && next < stamp ? stamp : next;
        }
        stamps_out[i] = stamp;
    }
}

enum absence { ABSENCE_NONE, ABSENCE_SOME, ABSENCE_MOST, ABSENCE_HALF, ABSENCE_ALL, ABSENCE_END };

/* A bitmap whose bits behind the last row are set, to see that they do not matter. */
static inline uint8_t *make_presence(enum absence absence, struct vv_random *random, size_t n_rows)
{
    size_t size = (n_rows + 7) / 8;
    uint8_t *bitmap = exact_array(size, 1);
    memset(bitmap, absence == ABSENCE_ALL ? 0 : 0xff, size);
    for (size_t i = 0; i < n_rows; i++) {
        bool absent = (absence == ABSENCE_SOME && vv_random_below(random, 10) == 0) ||
                      (absence == ABSENCE_MOST && vv_random_below(random, 10) != 0) ||
                      (absence == ABSENCE_HALF && i < n_rows / 2);
        if (absent) {
            bitmap[i >> 3] &= (uint8_t) ~(1u << (i & 7));
        }
    }
    return bitmap;
}

static inline struct vv_rows make_rows(size_t n_rows, size_t n_columns, enum timing timing,
                                       enum stamping stamping, struct vv_random *random)
{
    struct vv_rows rows = {.n_rows = n_rows, .n_columns = n_columns};
    rows.times = exact_array(n_rows, sizeof *rows.times);
    rows.stamps = exact_array(n_rows, sizeof *rows.stamps);
    rows.columns = exact_array(n_columns, sizeof *rows.columns);
    fill_times(timing, random, n_rows, rows.times);
    fill_stamps(stamping, random, n_rows, rows.times, rows.stamps);
    return rows;
}

static inline void set_column(struct vv_rows *rows, size_t index, uint32_t metric, enum shape shape,
                              enum absence absence, struct vv_random *random)
{
    struct vv_column *column = &rows->columns[index];
    column->metric = metric;
    column->type = shape_type(shape);
    column->values = exact_array(rows->n_rows, sizeof *column->values);
    fill_shape(shape, random, rows->n_rows, column->values);
    column->present = absence == ABSENCE_NONE ? NULL : make_presence(absence, random, rows->n_rows);
}

static inline void free_rows(struct vv_rows *rows)
{
    for (size_t i = 0; i < rows->n_columns; i++) {
        free(rows->columns[i].values);
        free(rows->columns[i].present);
    }
    free(rows->columns);
    free(rows->times);
    free(rows->stamps);
}

/* Rows with one column of each shape. */
static inline struct vv_rows make_all_shapes(size_t n_rows, enum timing timing,
                                             enum stamping stamping, enum absence absence,
                                             struct vv_random *random)
{
    struct vv_rows rows = make_rows(n_rows, SHAPE_END, timing, stamping, random);
    for (size_t i = 0; i < SHAPE_END; i++) {
        set_column(&rows, i, (uint32_t)(1000 + 3 * i), (enum shape)i, absence, random);
    }
    return rows;
}

struct encoded {
    uint8_t *bytes; /* of exactly size bytes */
    size_t size;
};

static inline struct encoded encode_rows(const struct vv_rows *rows, int zstd_level,
                                         bool with_stats)
{
    struct vv_block_options options = {zstd_level, with_stats};
    size_t bound = vv_block_bound(rows);
    uint8_t *out = exact_array(bound, 1);
    struct encoded encoded = {NULL, 0};
    assert_int_equal(vv_block_encode(rows, &options, out, bound, &encoded.size), VV_BLOCK_OK);
    encoded.bytes = exact_array(encoded.size, 1);
    memcpy(encoded.bytes, out, encoded.size);
    free(out);
    return encoded;
}

static inline bool is_present(const uint8_t *bitmap, size_t row)
{
    return bitmap == NULL || ((bitmap[row >> 3] >> (row & 7)) & 1) != 0;
}

static inline void assert_column_equal(const struct vv_block *block, uint32_t index,
                                       const struct vv_column *expected)
{
    size_t n_rows = block->n_rows;
    uint64_t *values = exact_array(n_rows, sizeof *values);
    uint8_t *present = exact_array((n_rows + 7) / 8, 1);
    memset(present, 0xa5, (n_rows + 7) / 8);
    assert_int_equal(vv_block_values(block, index, values, present), VV_BLOCK_OK);
    for (size_t i = 0; i < n_rows; i++) {
        assert_int_equal(is_present(present, i), is_present(expected->present, i));
        if (is_present(present, i) && values[i] != expected->values[i]) {
            fail_msg("column %u row %zu: %#llx instead of %#llx", index, i,
                     (unsigned long long)values[i], (unsigned long long)expected->values[i]);
        }
    }
    for (size_t i = n_rows; i < (n_rows + 7) / 8 * 8; i++) {
        assert_false(is_present(present, i));
    }
    free(values);
    free(present);
}

static inline void assert_block_equal(const struct encoded *encoded, const struct vv_rows *rows)
{
    struct vv_block block;
    size_t n_rows = rows->n_rows;
    assert_int_equal(vv_block_open(encoded->bytes, encoded->size, &block), VV_BLOCK_OK);
    assert_int_equal(block.n_rows, n_rows);
    assert_int_equal(block.n_columns, rows->n_columns);
    assert_int_equal(block.time_min, rows->times[0]);
    assert_int_equal(block.time_max, rows->times[n_rows - 1]);
    int64_t *times = exact_array(n_rows, sizeof *times);
    uint64_t *stamps = exact_array(n_rows, sizeof *stamps);
    assert_int_equal(vv_block_times(&block, times), VV_BLOCK_OK);
    assert_int_equal(vv_block_stamps(&block, stamps), VV_BLOCK_OK);
    assert_memory_equal(times, rows->times, n_rows * sizeof *times);
    assert_memory_equal(stamps, rows->stamps, n_rows * sizeof *stamps);
    free(times);
    free(stamps);
    for (uint32_t i = 0; i < block.n_columns; i++) {
        struct vv_block_column column;
        uint32_t found = UINT32_MAX;
        assert_int_equal(vv_block_column_info(&block, i, &column), VV_BLOCK_OK);
        assert_int_equal(column.metric, rows->columns[i].metric);
        assert_int_equal(column.type, rows->columns[i].type);
        assert_true(vv_block_find(&block, column.metric, &found));
        assert_true(found <= i);
        assert_int_equal(rows->columns[found].metric, column.metric);
        assert_column_equal(&block, i, &rows->columns[i]);
    }
}

#endif
