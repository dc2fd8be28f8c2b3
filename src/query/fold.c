/* SPDX-License-Identifier: Apache-2.0 */
/* Folding slices: loops over arrays, one for each thing that is needed. */
#include "query/fold.h"

#include "query/bits.h"

#include <math.h>

#define LANES 4 /* independent chains, so that additions need not wait for each other */

/* ---- sums ---- */

/* high + value exactly as high' + rest; the rest goes to low. */
static inline void add_exactly(double *high, double *low, double value)
{
    double sum = *high + value;
    double part = sum - *high;
    *low += (*high - (sum - part)) + (value - part);
    *high = sum;
}

static void sum_doubles(struct vv_fold *fold, const uint64_t *values, size_t n)
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
        add_exactly(&fold->sum.real.high, &fold->sum.real.low, high[lane]);
        fold->sum.real.low += low[lane];
    }
}

static void sum_integers(struct vv_fold *fold, const uint64_t *values, size_t n)
{
    /* Halves of 32 bits add up in 64 without overflow, for fewer than 2^32 values. */
    uint64_t low = 0;
    int64_t high = 0;
    for (size_t i = 0; i < n; i++) {
        low += values[i] & UINT32_MAX;
        high += (int64_t)values[i] >> 32;
    }
    fold->sum.integer += (__int128)high * ((int64_t)1 << 32) + low;
}

/* ---- bounds ---- */

static void bound_doubles(struct vv_fold *fold, const uint64_t *values, size_t n, bool is_first)
{
    double min[LANES];
    double max[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        min[lane] = vv_bits_double(is_first ? values[0] : fold->min);
        max[lane] = vv_bits_double(is_first ? values[0] : fold->max);
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
    fold->min = vv_bits_of_double(min[0]);
    fold->max = vv_bits_of_double(max[0]);
}

static void bound_integers(struct vv_fold *fold, const uint64_t *values, size_t n, bool is_first)
{
    int64_t min = (int64_t)(is_first ? values[0] : fold->min);
    int64_t max = (int64_t)(is_first ? values[0] : fold->max);
    for (size_t i = 0; i < n; i++) {
        int64_t value = (int64_t)values[i];
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    fold->min = (uint64_t)min;
    fold->max = (uint64_t)max;
}

/* ---- moments ---- */

/* A value's distance to the reference: what differs little far from 0 is kept apart. */
static double distance(const struct vv_fold *fold, enum vv_value_type type, uint64_t bits)
{
    if (type == VV_FLOAT64) {
        return vv_bits_double(bits) - vv_bits_double(fold->reference);
    }
    int64_t difference;
    if (__builtin_sub_overflow((int64_t)bits, (int64_t)fold->reference, &difference)) {
        return (double)(int64_t)bits - (double)(int64_t)fold->reference;
    }
    return (double)difference;
}

static double mean_distance(const struct vv_fold *fold, enum vv_value_type type,
                            const uint64_t *values, size_t n)
{
    double share = 1 / (double)n; /* of each value: the sum of large values could overflow */
    double sums[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            sums[lane] += distance(fold, type, values[i + (size_t)lane]) * share;
        }
    }
    for (; i < n; i++) {
        sums[0] += distance(fold, type, values[i]) * share;
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Two passes over the slice, then Chan's merge. `count` is before the slice. */
static void add_moments(struct vv_fold *fold, enum vv_value_type type, uint64_t count,
                        const uint64_t *values, size_t n)
{
    if (count == 0) {
        fold->reference = values[0];
        fold->mean = fold->squares = 0;
    }
    double mean = mean_distance(fold, type, values, n);
    double squares[LANES] = {0};
    double rest[LANES] = {0}; /* Σ (value − mean): 0 but for the mean's rounding */
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) {
            double apart = distance(fold, type, values[i + (size_t)lane]) - mean;
            squares[lane] += apart * apart;
            rest[lane] += apart;
        }
    }
    for (; i < n; i++) {
        double apart = distance(fold, type, values[i]) - mean;
        squares[0] += apart * apart;
        rest[0] += apart;
    }
    double sum = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    double correction = (rest[0] + rest[1]) + (rest[2] + rest[3]);
    sum -= correction * correction / (double)n;
    mean += correction / (double)n;
    double total = (double)count + (double)n;
    double apart = mean - fold->mean;
    fold->squares += sum + apart * apart * ((double)count * ((double)n / total));
    fold->mean = count == 0 ? mean : fold->mean + apart * ((double)n / total);
}

/* ---- ends ---- */

static void add_ends(struct vv_fold *fold, bool is_first, const int64_t *times,
                     const uint64_t *values, size_t n)
{
    if (is_first || times[0] < fold->first_time) {
        fold->first_time = times[0];
        fold->first = values[0];
    }
    if (is_first || times[n - 1] > fold->last_time) {
        fold->last_time = times[n - 1];
        fold->last = values[n - 1];
    }
}

/* ---- percentiles ---- */

static enum vv_status add_percentiles(const struct vv_fold_spec *spec, struct vv_fold *fold,
                                      const uint64_t *values, size_t n)
{
    double part[256];
    enum vv_status status = VV_OK;
    for (size_t at = 0; at < n && status == VV_OK;) {
        size_t size = n - at < 256 ? n - at : 256;
        for (size_t i = 0; i < size; i++) {
            part[i] = spec->type == VV_INT64 ? (double)(int64_t)values[at + i]
                                             : vv_bits_double(values[at + i]);
        }
        status = vv_percentiles_add(&fold->percentiles, spec->budget, part, size);
        at += size;
    }
    return status;
}

enum vv_status vv_fold_add(const struct vv_fold_spec *spec, struct vv_fold *fold,
                           const int64_t *times, const uint64_t *values, size_t n)
{
    uint64_t before = fold->count;
    bool integers = spec->type == VV_INT64;
    fold->count += n;
    add_ends(fold, before == 0, times, values, n);
    if (spec->needs & VV_NEED_SUM) {
        (integers ? sum_integers : sum_doubles)(fold, values, n);
    }
    if (spec->needs & VV_NEED_BOUNDS) {
        (integers ? bound_integers : bound_doubles)(fold, values, n, before == 0);
    }
    if (spec->needs & VV_NEED_MOMENTS) {
        add_moments(fold, spec->type, before, values, n);
    }
    return spec->needs & VV_NEED_PERCENTILES ? add_percentiles(spec, fold, values, n) : VV_OK;
}

/* ---- reading ---- */

static struct vv_cell cell_of_bits(const struct vv_fold_spec *spec, uint64_t bits)
{
    return spec->type == VV_INT64 ? vv_cell_integer((int64_t)bits)
                                  : vv_cell_double(vv_bits_double(bits));
}

/* An exact integer, or the nearest double when it does not fit. */
static struct vv_cell cell_of_total(const struct vv_fold_spec *spec, union vv_total total)
{
    if (spec->type == VV_FLOAT64) {
        return vv_cell_double(total.real);
    }
    if (total.integer >= INT64_MIN && total.integer <= INT64_MAX) {
        return vv_cell_integer((int64_t)total.integer);
    }
    return vv_cell_double((double)total.integer);
}

static union vv_total total_sum(const struct vv_fold_spec *spec, const struct vv_fold *fold)
{
    union vv_total total;
    if (spec->type == VV_INT64) {
        total.integer = fold->sum.integer;
    } else {
        double high = fold->sum.real.high;
        total.real = isfinite(high) ? high + fold->sum.real.low : high;
    }
    return total;
}

static struct vv_cell read_mean(const struct vv_fold_spec *spec, const struct vv_fold *fold)
{
    union vv_total total = total_sum(spec, fold);
    double sum = spec->type == VV_INT64 ? (double)total.integer : total.real;
    return vv_cell_double(sum / (double)fold->count);
}

static struct vv_cell read_stddev(const struct vv_fold *fold)
{
    if (fold->count < 2) {
        return (struct vv_cell){VV_CELL_NULL, {0}};
    }
    double variance = fold->squares / (double)(fold->count - 1);
    return vv_cell_double(variance < 0 ? 0 : sqrt(variance));
}

static struct vv_cell read_aggregate(const struct vv_fold_spec *spec, struct vv_fold *fold,
                                     const struct vv_aggregate *aggregate)
{
    static const struct vv_cell null = {VV_CELL_NULL, {0}};
    if (aggregate->kind == VV_AGGREGATE_COUNT) {
        return vv_cell_integer((int64_t)fold->count);
    }
    if (fold->count == 0) {
        return null;
    }
    switch (aggregate->kind) {
    case VV_AGGREGATE_SUM:
        return cell_of_total(spec, total_sum(spec, fold));
    case VV_AGGREGATE_MIN:
        return cell_of_bits(spec, fold->min);
    case VV_AGGREGATE_MAX:
        return cell_of_bits(spec, fold->max);
    case VV_AGGREGATE_MEAN:
        return read_mean(spec, fold);
    case VV_AGGREGATE_STDDEV:
        return read_stddev(fold);
    case VV_AGGREGATE_FIRST:
        return cell_of_bits(spec, fold->first);
    case VV_AGGREGATE_LAST:
        return cell_of_bits(spec, fold->last);
    case VV_AGGREGATE_RATE:
        return fold->rate.n ? vv_cell_double(fold->rate.rate) : null;
    case VV_AGGREGATE_INCREASE:
        return fold->rate.n ? cell_of_total(spec, fold->rate.increase) : null;
    case VV_AGGREGATE_DELTA:
        return fold->rate.n ? cell_of_total(spec, fold->rate.delta) : null;
    default:
        return vv_cell_double(
            vv_percentiles_read(&fold->percentiles, spec->budget, aggregate->quantile));
    }
}

void vv_fold_read(const struct vv_fold_spec *spec, struct vv_fold *fold, struct vv_cell *cells_out)
{
    for (size_t i = 0; i < spec->n_aggregates; i++) {
        cells_out[i] = read_aggregate(spec, fold, &spec->aggregates[i]);
    }
}

void vv_fold_clear(const struct vv_fold_spec *spec, struct vv_fold *fold)
{
    struct vv_percentiles kept = fold->percentiles;
    if (spec->needs & VV_NEED_PERCENTILES) {
        vv_percentiles_clear(&kept, spec->budget);
    }
    *fold = (struct vv_fold){.percentiles = kept};
}

void vv_fold_deinit(const struct vv_fold_spec *spec, struct vv_fold *fold)
{
    if (spec->needs & VV_NEED_PERCENTILES) {
        vv_percentiles_deinit(&fold->percentiles, spec->budget);
    }
    *fold = (struct vv_fold){0};
}
