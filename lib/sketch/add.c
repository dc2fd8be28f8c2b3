/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding values, one or many. Most of the work is finding their bins, so that is a loop over a few
 * numbers without calls or branches, which compilers make vector instructions of. A value's bin
 * must not depend on how it came: there is one place where it is computed.
 */
#include "sketch.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "sketch_private.h"

#define PART           256
#define NEAR           128 /* integers that are counted in an array */
#define LANES          4   /* numbers whose bins are found at once */
#define MANTISSA_BITS  52
#define EXPONENT_ZERO  1024 /* added to exponents, which stay above zero so */
#define EXPONENT_BIAS  ((uint64_t)EXPONENT_ZERO << MANTISSA_BITS)
#define SQRT_HALF_BITS UINT64_C(0x3fe6a09e667f3bcd)
#define LOG_2          0.69314718055994530942
/* 2^52 and 1.5 * 2^52: the lowest bits of what is added to one of them are an integer. */
#define INTEGER_BITS   UINT64_C(0x4330000000000000)
#define INTEGER        0x1p52
#define SIGNED_INTEGER 0x1.8p52
#define INTEGER_MAX    (INT64_C(1) << 53) /* up to here each is a double */
#define ALMOST_HALF    (0.5 - 0x1p-32)    /* rounding what is that much more rounds up */

typedef double reals __attribute__((vector_size(LANES * sizeof(double))));
typedef uint64_t words __attribute__((vector_size(LANES * sizeof(uint64_t))));

/*
 * ceil(log_gamma(magnitude)) of LANES normal numbers, whose natural logarithms are good to some
 * 1e-12: 2^e m with m around 1, and log m = 2 artanh((m - 1) / (m + 1)), whose series ends early
 * since that is less than 0.172. What is lost moves the bounds of bins by much less than alpha.
 * Integers are made and read by additions: many processors have no conversions of vectors of 64
 * bits.
 */
static inline void find_some(const double *magnitudes, double scale, int32_t *indexes_out)
{
    reals magnitude;
    memcpy(&magnitude, magnitudes, sizeof magnitude);
    words bits = (words)magnitude + (EXPONENT_BIAS - SQRT_HALF_BITS);
    words exponent_bits = bits >> MANTISSA_BITS;
    reals exponent = (reals)(exponent_bits | INTEGER_BITS) - (INTEGER + EXPONENT_ZERO);
    reals m = (reals)((words)magnitude + EXPONENT_BIAS - (exponent_bits << MANTISSA_BITS));
    reals s = (m - 1.0) / (m + 1.0);
    reals square = s * s;
    reals series =
        1.0 +
        square *
            (1.0 / 3 +
             square * (1.0 / 5 +
                       square * (1.0 / 7 +
                                 square * (1.0 / 9 + square * (1.0 / 11 + square * (1.0 / 13))))));
    reals position = (exponent * LOG_2 + 2.0 * s * series) * scale;
    words index = (words)(position + ALMOST_HALF + SIGNED_INTEGER);
    for (size_t lane = 0; lane < LANES; lane++) {
        indexes_out[lane] = (int32_t)(uint32_t)index[lane];
    }
}

static void find_indexes(const struct vv_sketch *sketch, const double *magnitudes, size_t n,
                         int32_t *indexes_out)
{
    double scale = 1.0 / sketch->log_gamma;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        find_some(magnitudes + i, scale, indexes_out + i);
    }
    if (i < n) {
        double last[LANES];
        int32_t indexes[LANES];
        for (size_t lane = 0; lane < LANES; lane++) {
            last[lane] = i + lane < n ? magnitudes[i + lane] : 1.0;
        }
        find_some(last, scale, indexes);
        memcpy(indexes_out + i, indexes, (n - i) * sizeof *indexes);
    }
}

/* ---- one ---- */

static bool add_finite(struct vv_sketch *sketch, double value, uint64_t count)
{
    double magnitude = fabs(value);
    bool added = true;
    if (magnitude < DBL_MIN) {
        sketch->n_zero += count;
    } else {
        int32_t index;
        find_indexes(sketch, &magnitude, 1, &index);
        added =
            vv_sketch_store_add(value > 0.0 ? &sketch->positive : &sketch->negative, index, count);
    }
    if (added) {
        /* Adding zero makes -0.0 to 0.0: which of them came first must leave no trace. */
        vv_sketch_extend_range(sketch, value + 0.0, value + 0.0);
    }
    return added;
}

bool vv_sketch_add(struct vv_sketch *sketch, double value, uint64_t count)
{
    if (isnan(value) || count == 0) {
        return true;
    }
    if (count > UINT64_MAX - vv_sketch_count(sketch)) {
        return false;
    }
    if (!isinf(value)) {
        return add_finite(sketch, value, count);
    }
    if (value > 0.0) {
        sketch->n_infinite_positive += count;
    } else {
        sketch->n_infinite_negative += count;
    }
    return true;
}

/* ---- many ---- */

static bool add_magnitudes(struct vv_sketch *sketch, struct vv_sketch_store *store,
                           const double *magnitudes, size_t n)
{
    int32_t indexes[PART];
    find_indexes(sketch, magnitudes, n, indexes);
    return vv_sketch_store_add_many(store, indexes, n);
}

/* At most PART values; the total does not overflow. */
static bool add_part(struct vv_sketch *sketch, const double *values, size_t n)
{
    double magnitudes[2][PART]; /* of positive values, and of negative ones */
    size_t kept[2] = {0};
    double min = INFINITY;
    double max = -INFINITY;
    bool added = true;
    for (size_t i = 0; i < n && added; i++) {
        double value = values[i];
        double magnitude = fabs(value);
        if (magnitude >= DBL_MIN && magnitude <= DBL_MAX) {
            int sign = value < 0.0;
            magnitudes[sign][kept[sign]++] = magnitude;
            min = value < min ? value : min;
            max = value > max ? value : max;
        } else {
            added = vv_sketch_add(sketch, value, 1); /* needs no memory */
        }
    }
    added = added && add_magnitudes(sketch, &sketch->positive, magnitudes[0], kept[0]) &&
            add_magnitudes(sketch, &sketch->negative, magnitudes[1], kept[1]);
    vv_sketch_extend_range(sketch, min, max);
    return added;
}

bool vv_sketch_add_values(struct vv_sketch *sketch, const double *values, size_t n)
{
    bool added = n <= UINT64_MAX - vv_sketch_count(sketch);
    for (size_t at = 0; at < n && added; at += PART) {
        added = add_part(sketch, values + at, n - at < PART ? n - at : PART);
    }
    return added;
}

bool vv_sketch_add_within(struct vv_sketch *sketch, const double *values, size_t n, double min,
                          double max)
{
    if (!(min >= DBL_MIN && max <= DBL_MAX)) {
        return vv_sketch_add_values(sketch, values, n);
    }
    bool added = n <= UINT64_MAX - vv_sketch_count(sketch);
    for (size_t at = 0; at < n && added; at += PART) {
        added =
            add_magnitudes(sketch, &sketch->positive, values + at, n - at < PART ? n - at : PART);
    }
    vv_sketch_extend_range(sketch, min, max);
    return added;
}

/* ---- integers ---- */

/* n_distinct integers from `first` on, with how often each occurs. */
static bool add_counted(struct vv_sketch *sketch, int64_t first, const uint64_t *counts,
                        size_t n_distinct)
{
    double magnitudes[NEAR];
    uint64_t kept[NEAR];
    int32_t indexes[NEAR];
    size_t n = 0;
    for (size_t i = 0; i < n_distinct; i++) {
        magnitudes[n] = (double)(first + (int64_t)i);
        kept[n] = counts[i];
        n += counts[i] > 0;
    }
    size_t n_zero = n > 0 && magnitudes[0] == 0.0;
    sketch->n_zero += n_zero ? kept[0] : 0;
    find_indexes(sketch, magnitudes + n_zero, n - n_zero, indexes);
    return vv_sketch_store_add_counted(&sketch->positive, indexes, kept + n_zero, n - n_zero);
}

/* Of integers that are not below zero and near to each other; the total does not overflow. */
static bool add_near(struct vv_sketch *sketch, const int64_t *values, size_t n, int64_t min,
                     int64_t max)
{
    uint64_t even[NEAR]; /* two arrays: the same number often comes again, and need not wait */
    uint64_t odd[NEAR];
    size_t n_distinct = (size_t)(max - min) + 1;
    size_t i = 0;
    memset(even, 0, n_distinct * sizeof *even);
    memset(odd, 0, n_distinct * sizeof *odd);
    for (; i + 2 <= n; i += 2) {
        even[values[i] - min]++;
        odd[values[i + 1] - min]++;
    }
    if (i < n) {
        even[values[i] - min]++;
    }
    for (i = 0; i < n_distinct; i++) {
        even[i] += odd[i];
    }
    vv_sketch_extend_range(sketch, (double)min, (double)max);
    return add_counted(sketch, min, even, n_distinct);
}

bool vv_sketch_add_integers(struct vv_sketch *sketch, const int64_t *values, size_t n, int64_t min,
                            int64_t max)
{
    bool added = n <= UINT64_MAX - vv_sketch_count(sketch);
    if (added && min >= 0 && max <= INTEGER_MAX && max - min < NEAR &&
        (size_t)(max - min) < 4 * n) {
        return add_near(sketch, values, n, min, max);
    }
    for (size_t at = 0; at < n && added; at += PART) {
        size_t length = n - at < PART ? n - at : PART;
        double doubles[PART];
        for (size_t i = 0; i < length; i++) {
            doubles[i] = (double)values[at + i];
        }
        added = vv_sketch_add_within(sketch, doubles, length, (double)min, (double)max);
    }
    return added;
}
