/* SPDX-License-Identifier: Apache-2.0 */
/* Life, merging and asking. */
#include "sketch.h"

#include <float.h>
#include <math.h>

#include "sketch_private.h"

#define LOG_GAMMA_DEFAULT 0.020000666706669525 /* log(1.01 / 0.99) */

static void reset_values(struct vv_sketch *sketch)
{
    sketch->n_zero = 0;
    sketch->n_infinite_positive = 0;
    sketch->n_infinite_negative = 0;
    sketch->min = INFINITY;
    sketch->max = -INFINITY;
    sketch->absorbed = 0;
}

bool vv_sketch_set_alpha(struct vv_sketch *sketch, double alpha)
{
    bool valid = alpha >= VV_SKETCH_ALPHA_MIN && alpha <= VV_SKETCH_ALPHA_MAX;
    sketch->alpha = valid ? alpha : VV_SKETCH_ALPHA_DEFAULT;
    /* gamma - 1 = 2 alpha / (1 - alpha) */
    sketch->log_gamma = sketch->alpha == VV_SKETCH_ALPHA_DEFAULT
                            ? LOG_GAMMA_DEFAULT
                            : log1p(2.0 * sketch->alpha / (1.0 - sketch->alpha));
    return valid || alpha == 0.0;
}

bool vv_sketch_init(struct vv_sketch *sketch, double alpha)
{
    *sketch = (struct vv_sketch){0};
    reset_values(sketch);
    return vv_sketch_set_alpha(sketch, alpha);
}

void vv_sketch_deinit(struct vv_sketch *sketch)
{
    vv_sketch_store_deinit(&sketch->positive);
    vv_sketch_store_deinit(&sketch->negative);
    reset_values(sketch);
}

void vv_sketch_clear(struct vv_sketch *sketch)
{
    vv_sketch_store_clear(&sketch->positive);
    vv_sketch_store_clear(&sketch->negative);
    reset_values(sketch);
}

/* 2 gamma^i / (gamma + 1), which is (1 - alpha) gamma^i: at most alpha away from all of the bin. */
static double magnitude_of(const struct vv_sketch *sketch, int32_t index)
{
    double magnitude = exp(index * sketch->log_gamma + log1p(-sketch->alpha));
    return magnitude < DBL_MAX ? magnitude : DBL_MAX;
}

bool vv_sketch_merge(struct vv_sketch *into, const struct vv_sketch *from)
{
    struct vv_sketch_store_merge positive;
    struct vv_sketch_store_merge negative;
    if (into->alpha != from->alpha || vv_sketch_count(from) > UINT64_MAX - vv_sketch_count(into)) {
        return false;
    }
    if (!vv_sketch_store_merge_prepare(&into->positive, &from->positive, &positive)) {
        return false;
    }
    if (!vv_sketch_store_merge_prepare(&into->negative, &from->negative, &negative)) {
        vv_sketch_store_merge_cancel(&positive);
        return false;
    }
    vv_sketch_store_merge_commit(&positive);
    vv_sketch_store_merge_commit(&negative);
    into->n_zero += from->n_zero;
    into->n_infinite_positive += from->n_infinite_positive;
    into->n_infinite_negative += from->n_infinite_negative;
    vv_sketch_note_absorbed(into, from->absorbed);
    vv_sketch_extend_range(into, from->min, from->max);
    return true;
}

void vv_sketch_note_absorbed(struct vv_sketch *sketch, double error)
{
    sketch->absorbed = error > sketch->absorbed ? error : sketch->absorbed;
}

/* The least magnitude that may be in a store: the sketch knows the least of all its values. */
static double least_of(const struct vv_sketch *sketch, bool negative)
{
    uint64_t n_others = negative ? sketch->positive.total : sketch->negative.total;
    double least = negative ? -sketch->max : sketch->min;
    return n_others + sketch->n_zero > 0 ? 0.0 : least;
}

/*
 * What a bin stands for, and by how much each of its values may be off from that, relative to the
 * value. Of the collapsed one it is what is least off from both ends of all that was folded there,
 * as it is of the others: by at most 1, where these may reach down to zero.
 */
static double magnitude_in(const struct vv_sketch *sketch, bool negative, uint32_t bin,
                           double *error_out)
{
    const struct vv_sketch_store *store = negative ? &sketch->negative : &sketch->positive;
    double magnitude = magnitude_of(sketch, store->indexes[bin]);
    *error_out = sketch->alpha;
    if (bin > 0 || !store->collapsed) {
        return magnitude;
    }
    double least = least_of(sketch, negative);
    if (least >= magnitude) {
        return magnitude;
    }
    double most = magnitude / (1 - sketch->alpha);
    most = most < DBL_MAX ? most : DBL_MAX;
    double middle = least / 2 + most / 2;
    double error = (most / 2 - least / 2) / middle;
    *error_out = error > sketch->alpha ? error : sketch->alpha;
    return least * (most / middle); /* their harmonic mean */
}

/* The error of a bin, upon that of what was absorbed. */
static double upon(const struct vv_sketch *sketch, double error)
{
    return sketch->absorbed + error * (1 + sketch->absorbed);
}

/* What the bins of one sign stand for; bins reach a little beyond the least and greatest value. */
static bool absorb_bins(struct vv_sketch *into, const struct vv_sketch *from,
                        const struct vv_sketch_store *bins, bool negative)
{
    bool added = true;
    for (uint32_t bin = 0; bin < bins->n_bins && added; bin++) {
        double error;
        double magnitude = magnitude_in(from, negative, bin, &error);
        double value = negative ? 0.0 - magnitude : magnitude;
        value = value < from->min ? from->min : value > from->max ? from->max : value;
        added = vv_sketch_add(into, value, bins->counts[bin]);
        vv_sketch_note_absorbed(into, upon(from, error));
    }
    return added;
}

bool vv_sketch_absorb(struct vv_sketch *into, const struct vv_sketch *from)
{
    if (into->alpha == from->alpha) {
        return vv_sketch_merge(into, from);
    }
    if (vv_sketch_count(from) > UINT64_MAX - vv_sketch_count(into)) {
        return false;
    }
    bool added = absorb_bins(into, from, &from->positive, false) &&
                 absorb_bins(into, from, &from->negative, true) &&
                 vv_sketch_add(into, 0.0, from->n_zero) &&
                 vv_sketch_add(into, INFINITY, from->n_infinite_positive) &&
                 vv_sketch_add(into, -INFINITY, from->n_infinite_negative);
    vv_sketch_extend_range(into, from->min, from->max);
    return added;
}

uint64_t vv_sketch_count(const struct vv_sketch *sketch)
{
    return sketch->positive.total + sketch->negative.total + sketch->n_zero +
           sketch->n_infinite_positive + sketch->n_infinite_negative;
}

static uint64_t rank_of(double q, uint64_t count)
{
    uint64_t last = count - 1;
    if (q <= 0.0) {
        return 0;
    }
    double rank = q * (double)last;
    return q >= 1.0 || rank >= (double)last ? last : (uint64_t)rank;
}

/* The bin of a rank, counted from the lowest bin. */
static uint32_t bin_at_rank(const struct vv_sketch_store *store, uint64_t rank)
{
    uint32_t bin = 0;
    while (bin + 1 < store->n_bins && rank >= store->counts[bin]) {
        rank -= store->counts[bin];
        bin++;
    }
    return bin;
}

/* The value at a rank among the finite ones. */
static double finite_at_rank(const struct vv_sketch *sketch, uint64_t rank, double *error_out)
{
    const struct vv_sketch_store *negative = &sketch->negative;
    double value = 0.0;
    if (rank < negative->total) {
        /* The lowest value has the greatest magnitude. */
        uint64_t magnitude_rank = negative->total - 1 - rank;
        value = 0.0 - magnitude_in(sketch, true, bin_at_rank(negative, magnitude_rank), error_out);
    } else if (rank - negative->total >= sketch->n_zero) {
        uint64_t positive_rank = rank - negative->total - sketch->n_zero;
        uint32_t bin = bin_at_rank(&sketch->positive, positive_rank);
        value = magnitude_in(sketch, false, bin, error_out);
    }
    value = value < sketch->min ? sketch->min : value;
    return value > sketch->max ? sketch->max : value;
}

double vv_sketch_quantile_within(const struct vv_sketch *sketch, double q, double *error_out)
{
    uint64_t count = vv_sketch_count(sketch);
    double error = sketch->alpha;
    *error_out = vv_sketch_error(sketch);
    if (count == 0 || isnan(q)) {
        return NAN;
    }
    uint64_t rank = rank_of(q, count);
    uint64_t n_finite = count - sketch->n_infinite_negative - sketch->n_infinite_positive;
    if (rank < sketch->n_infinite_negative) {
        return -INFINITY;
    }
    rank -= sketch->n_infinite_negative;
    if (rank >= n_finite) {
        return INFINITY;
    }
    if (rank == 0) {
        return sketch->min;
    }
    if (rank == n_finite - 1) {
        return sketch->max;
    }
    double value = finite_at_rank(sketch, rank, &error);
    *error_out = upon(sketch, error);
    return value;
}

double vv_sketch_quantile(const struct vv_sketch *sketch, double q)
{
    double error;
    return vv_sketch_quantile_within(sketch, q, &error);
}

double vv_sketch_error(const struct vv_sketch *sketch)
{
    return upon(sketch, sketch->alpha);
}

double vv_sketch_alpha(const struct vv_sketch *sketch)
{
    return sketch->alpha;
}

bool vv_sketch_collapsed(const struct vv_sketch *sketch)
{
    return sketch->positive.collapsed || sketch->negative.collapsed;
}

size_t vv_sketch_memory_bytes(const struct vv_sketch *sketch)
{
    return sizeof *sketch + vv_sketch_store_memory_bytes(&sketch->positive) +
           vv_sketch_store_memory_bytes(&sketch->negative);
}
