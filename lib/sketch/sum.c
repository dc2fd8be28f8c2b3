/* SPDX-License-Identifier: Apache-2.0 */
/* Adding many sketches: their bins are mostly near to each other, so that most merges are a few
 * additions. What is not near is merged by itself: the order in which bins are added does not
 * matter. */
#include "sketch_private.h"

void vv_sketch_sum_begin(struct vv_sketch_sum *sum, struct vv_sketch *into)
{
    sum->into = into;
    sum->low = sum->end = 0;
    sum->total = 0;
}

/* Whether all bins are positive and have a place in the array; the first ones that come are put in
 * its middle. */
static bool is_near(struct vv_sketch_sum *sum, const struct vv_sketch *from)
{
    const struct vv_sketch_store *bins = &from->positive;
    if (from->alpha != sum->into->alpha || bins->n_bins == 0 || from->negative.n_bins > 0 ||
        bins->collapsed) {
        return false;
    }
    int64_t lowest = bins->indexes[0];
    int64_t highest = bins->indexes[bins->n_bins - 1];
    if (sum->end == 0) {
        sum->first = (int32_t)(lowest - (int64_t)VV_SKETCH_SUM_BINS / 2);
    }
    return lowest >= sum->first && highest - sum->first < (int64_t)VV_SKETCH_SUM_BINS;
}

bool vv_sketch_sum_add(struct vv_sketch_sum *sum, const struct vv_sketch *from)
{
    const struct vv_sketch_store *bins = &from->positive;
    if (vv_sketch_count(from) > UINT64_MAX - sum->total - vv_sketch_count(sum->into)) {
        return false;
    }
    if (!is_near(sum, from)) {
        return vv_sketch_absorb(sum->into, from);
    }
    for (uint32_t i = 0; i < bins->n_bins; i++) {
        sum->counts[bins->indexes[i] - sum->first] += bins->counts[i];
    }
    uint32_t low = (uint32_t)(bins->indexes[0] - sum->first);
    uint32_t end = (uint32_t)(bins->indexes[bins->n_bins - 1] - sum->first) + 1;
    sum->low = sum->end == 0 || low < sum->low ? low : sum->low;
    sum->end = end > sum->end ? end : sum->end;
    sum->total += bins->total;
    sum->into->n_zero += from->n_zero;
    sum->into->n_infinite_positive += from->n_infinite_positive;
    sum->into->n_infinite_negative += from->n_infinite_negative;
    vv_sketch_note_absorbed(sum->into, from->absorbed);
    vv_sketch_extend_range(sum->into, from->min, from->max);
    return true;
}

bool vv_sketch_sum_end(struct vv_sketch_sum *sum)
{
    int32_t indexes[VV_SKETCH_SUM_BINS];
    uint64_t counts[VV_SKETCH_SUM_BINS];
    size_t n = 0;
    for (uint32_t i = sum->low; i < sum->end; i++) {
        indexes[n] = sum->first + (int32_t)i;
        counts[n] = sum->counts[i];
        n += sum->counts[i] > 0;
        sum->counts[i] = 0;
    }
    return vv_sketch_store_add_counted(&sum->into->positive, indexes, counts, n);
}
