/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comparing two records of steps, of a chunk or several, that should hold the same: counts, bounds,
 * ends and sums of integers exactly, sums of doubles and moments up to what rounding in another
 * order may make of them, sketches of the same error bin by bin. Pure; any thread.
 */
#ifndef VV_TIER_COMPARE_H
#define VV_TIER_COMPARE_H

#include "tier/chunk.h"

struct vv_comparison {
    uint64_t steps; /* of single metrics, that are not the same */
    /* Of the first one: */
    uint32_t metric;
    int64_t start;
    const char *what; /* a fixed text: "count", "sum", … */
};

/* The chunks of each have other metrics. Steps that one of them has and the other has not are
 * different in their count. VV_CORRUPT, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_chunk_compare(const struct vv_chunk *a, size_t n_a,
                                              const struct vv_chunk *b, size_t n_b,
                                              struct vv_comparison *comparison_out,
                                              struct vv_error *error);

#endif
