/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: loops over arrays, one for each part that is wanted; and merging. */
#include "tier/step.h"

#include "base/bits.h"

#include <math.h>

#define LANES 4 /* independent chains, so that additions need not wait for each other */
#define NEAR  (UINT64_C(1) << 20) /* as many squares of what is less add up in 64 bits */

/* ---- sums ---- */

/* high + value exactly as high' + rest; the rest goes to low. */
static inline void add_exactly(double *high, double *low, double value)
{
    double sum = *high + value;
    double part = sum - *high;
    *low += (*high - (sum - part)) + (value - part);
    *high = sum;
}

static void sum_doubles(struct vv_step *step, const uint64_t *values, size_t n)
{
    double high[LANES] = {0};
    double low[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            add_exactly(&high[lane], &low[lane], vv_bits_double(values[i + (size_t)lane]));
        }
    }
    for (; i < n; i++) {
        add_exactly(&high[0], &low[0], vv_bits_double(values[i]));
    }
    for (int lane = 0; lane < LANES; lane++) {
        add_exactly(&step->sum.real.high, &step->sum.real.low, high[lane]);
        step->sum.real.low += low[lane];
    }
}

static void sum_integers(struct vv_step *step, const uint64_t *values, size_t n)
{
    /* Halves of 32 bits add up in 64 without overflow, for fewer than 2^32 values. */
    uint64_t low = 0;
    int64_t high = 0;
    for (size_t i = 0; i < n; i++) {
        low += values[i] & UINT32_MAX;
        high += (int64_t)values[i] >> 32;
    }
    step->sum.integer += (__int128)high * ((int64_t)1 << 32) + low;
}

/* ---- bounds ---- */

static void bound_doubles(struct vv_step *step, const uint64_t *values, size_t n, bool is_first)
{
    double min[LANES];
    double max[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        min[lane] = vv_bits_double(is_first ? values[0] : step->min);
        max[lane] = vv_bits_double(is_first ? values[0] : step->max);
    }
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            double value = vv_bits_double(values[i + (size_t)lane]);
            min[lane] = value < min[lane] ? value : min[lane];
            max[lane] = value > max[lane] ? value : max[lane];
        }
    }
    for (; i < n; i++) {
        double value = vv_bits_double(values[i]);
        min[0] = value < min[0] ? value : min[0];
        max[0] = value > max[0] ? value : max[0];
    }
    for (int lane = 1; lane < LANES; lane++) {
        min[0] = min[lane] < min[0] ? min[lane] : min[0];
        max[0] = max[lane] > max[0] ? max[lane] : max[0];
    }
    step->min = vv_bits_of_double(min[0]);
    step->max = vv_bits_of_double(max[0]);
}

static void bound_integers(struct vv_step *step, const uint64_t *values, size_t n, bool is_first)
{
    int64_t min = (int64_t)(is_first ? values[0] : step->min);
    int64_t max = (int64_t)(is_first ? values[0] : step->max);
    for (size_t i = 0; i < n; i++) {
        int64_t value = (int64_t)values[i];
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    step->min = (uint64_t)min;
    step->max = (uint64_t)max;
}

/* ---- moments ---- */

/* A value's distance to the reference: what differs little far from 0 is kept apart. */
static double distance(const struct vv_step *step, enum vv_value_type type, uint64_t bits)
{
    if (type == VV_FLOAT64) {
        return vv_bits_double(bits) - vv_bits_double(step->reference);
    }
    int64_t difference;
    if (__builtin_sub_overflow((int64_t)bits, (int64_t)step->reference, &difference)) {
        return (double)(int64_t)bits - (double)(int64_t)step->reference;
    }
    return (double)difference;
}

static double mean_distance(const struct vv_step *step, enum vv_value_type type,
                            const uint64_t *values, size_t n)
{
    double share = 1 / (double)n; /* of each value: the sum of large values could overflow */
    double sums[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            sums[lane] += distance(step, type, values[i + (size_t)lane]) * share;
        }
    }
    for (; i < n; i++) {
        sums[0] += distance(step, type, values[i]) * share;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Chan's merge of a slice's moments, of distances to the reference. `count` is before the slice. */
static void merge_slice(struct vv_step *step, uint64_t count, size_t n, double mean, double squares)
{
    double total = (double)count + (double)n;
    double apart = mean - step->mean;
    step->squares += squares + apart * apart * ((double)count * ((double)n / total));
    step->mean = count == 0 ? mean : step->mean + apart * ((double)n / total);
}

/* Two passes over the slice. `count` is before the slice. */
static void add_moments(struct vv_step *step, enum vv_value_type type, uint64_t count,
                        const uint64_t *values, size_t n)
{
    double mean = mean_distance(step, type, values, n);
    double squares[LANES] = {0};
    double rest[LANES] = {0}; /* Σ (value − mean): 0 but for the mean's rounding */
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            double apart = distance(step, type, values[i + (size_t)lane]) - mean;
            squares[lane] += apart * apart;
            rest[lane] += apart;
        }
    }
    for (; i < n; i++) {
        double apart = distance(step, type, values[i]) - mean;
        squares[0] += apart * apart;
        rest[0] += apart;
    }
    double sum = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    double correction = (rest[0] + rest[1]) + (rest[2] + rest[3]);
    sum -= correction * correction / (double)n;
    mean += correction / (double)n;
    merge_slice(step, count, n, mean, sum);
}

/*
 * Sum and moments of integers that are near the reference, as most are, in one pass without
 * rounding before its end. False, and nothing added, when some are not near.
 */
static bool add_near_integers(struct vv_step *step, uint64_t count, const uint64_t *values,
                              size_t n)
{
    int64_t reference = (int64_t)step->reference;
    if (reference < INT64_MIN + (int64_t)NEAR || reference > INT64_MAX - (int64_t)NEAR) {
        return false; /* what is near could be so beyond the other end of the range */
    }
    uint64_t reach = 0; /* the bits of all distances, as of their magnitudes */
    uint64_t sum = 0;
    uint64_t squares = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t apart = values[i] - step->reference;
        reach |= apart ^ (uint64_t)((int64_t)apart >> 63);
        sum += apart;
        squares += apart * apart;
    }
    if (reach >= NEAR || n > NEAR) {
        return false;
    }
    __int128 signed_sum = (int64_t)sum;
    double n_squares = (double)((__int128)n * squares - signed_sum * signed_sum);
    step->sum.integer += (__int128)reference * (__int128)n + signed_sum;
    merge_slice(step, count, n, (double)(int64_t)sum / (double)n, n_squares / (double)n);
    return true;
}

/* ---- ends ---- */

static void add_ends(struct vv_step *step, bool is_first, const int64_t *times,
                     const uint64_t *values, size_t n)
{
    if (is_first || times[0] < step->first_time) {
        step->first_time = times[0];
        step->first = values[0];
    }
    if (is_first || times[n - 1] > step->last_time) {
        step->last_time = times[n - 1];
        step->last = values[n - 1];
    }
}

/* ---- adding ---- */

void vv_step_add(enum vv_value_type type, unsigned parts, struct vv_step *step,
                 const int64_t *times, const uint64_t *values, size_t n)
{
    uint64_t before = step->count;
    bool integers = type == VV_INT64;
    step->count += n;
    add_ends(step, before == 0, times, values, n);
    if (parts & VV_STEP_BOUNDS) {
        (integers ? bound_integers : bound_doubles)(step, values, n, before == 0);
    }
    if (before == 0 && (parts & VV_STEP_MOMENTS)) {
        step->reference = values[0];
        step->mean = step->squares = 0;
    }
    if (integers && (parts & VV_STEP_SUM) && (parts & VV_STEP_MOMENTS) &&
        add_near_integers(step, before, values, n)) {
        return;
    }
    if (parts & VV_STEP_SUM) {
        (integers ? sum_integers : sum_doubles)(step, values, n);
    }
    if (parts & VV_STEP_MOMENTS) {
        add_moments(step, type, before, values, n);
    }
}

/* ---- merging ---- */

static void merge_ends(struct vv_step *into, const struct vv_step *from)
{
    if (from->first_time < into->first_time) {
        into->first_time = from->first_time;
        into->first = from->first;
    }
    if (from->last_time > into->last_time) {
        into->last_time = from->last_time;
        into->last = from->last;
    }
}

static void merge_sums(enum vv_value_type type, struct vv_step *into, const struct vv_step *from)
{
    if (type == VV_INT64) {
        into->sum.integer += from->sum.integer;
        return;
    }
    add_exactly(&into->sum.real.high, &into->sum.real.low, from->sum.real.high);
    into->sum.real.low += from->sum.real.low;
}

static void merge_moments(enum vv_value_type type, struct vv_step *into, const struct vv_step *from)
{
    double n = (double)from->count;
    double total = (double)into->count + n;
    double apart = distance(into, type, from->reference) + from->mean - into->mean;
    into->squares += from->squares + apart * apart * ((double)into->count * (n / total));
    into->mean += apart * (n / total);
}

void vv_step_merge(enum vv_value_type type, unsigned parts, struct vv_step *into,
                   const struct vv_step *from)
{
    if (from->count == 0 || into->count == 0) {
        *into = from->count == 0 ? *into : *from;
        return;
    }
    if (parts & VV_STEP_SUM) {
        merge_sums(type, into, from);
    }
    if (parts & VV_STEP_BOUNDS) {
        uint64_t bounds[] = {from->min, from->max};
        (type == VV_INT64 ? bound_integers : bound_doubles)(into, bounds, 2, false);
    }
    if (parts & VV_STEP_MOMENTS) {
        merge_moments(type, into, from);
    }
    merge_ends(into, from);
    into->count += from->count;
}

static void widen(uint64_t *bits)
{
    *bits = vv_bits_of_double((double)(int64_t)*bits);
}

void vv_step_widen(struct vv_step *step)
{
    double sum = (double)step->sum.integer;
    double rest = (double)(step->sum.integer - (__int128)sum);
    widen(&step->first);
    widen(&step->last);
    widen(&step->min);
    widen(&step->max);
    widen(&step->reference);
    step->sum.real.high = sum;
    step->sum.real.low = rest;
}

/* ---- reading ---- */

union vv_total vv_step_sum(enum vv_value_type type, const struct vv_step *step)
{
    union vv_total total;
    if (type == VV_INT64) {
        total.integer = step->sum.integer;
    } else {
        double high = step->sum.real.high;
        total.real = isfinite(high) ? high + step->sum.real.low : high;
    }
    return total;
}

double vv_step_mean(enum vv_value_type type, const struct vv_step *step)
{
    union vv_total total = vv_step_sum(type, step);
    double sum = type == VV_INT64 ? (double)total.integer : total.real;
    return sum / (double)step->count;
}

double vv_step_stddev(const struct vv_step *step)
{
    double variance = step->squares / (double)(step->count - 1);
    return variance < 0 ? 0 : sqrt(variance);
}
