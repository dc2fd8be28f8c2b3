/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percentiles of one step: exact while there are few values and memory for them, a DDSketch beyond.
 * Private to src/query. One thread at a time.
 *
 * The percentile q of n sorted values lies at rank q × (n − 1), between its two neighbours in
 * proportion (the usual linear interpolation). With a sketch, each neighbour is off by at most its
 * relative error.
 */
#ifndef VV_QUERY_PERCENTILES_H
#define VV_QUERY_PERCENTILES_H

#include "base/status.h"
#include "sketch/sketch.h"

#define VV_PERCENTILES_EXACT_MAX 4096u

/* What the percentiles of one query share. */
struct vv_percentile_budget {
    size_t bytes;           /* held by all of them */
    size_t exact_bytes_max; /* beyond it values turn into sketches early */
    double error;           /* the largest relative error so far; 0 while all are exact */
    double *scratch;        /* 2 × VV_PERCENTILES_EXACT_MAX */
};

VV_MUST_CHECK bool vv_percentile_budget_init(struct vv_percentile_budget *budget,
                                             size_t exact_bytes_max);
void vv_percentile_budget_deinit(struct vv_percentile_budget *budget);

/* Zero-initialised is empty and valid. */
struct vv_percentiles {
    double *values;
    uint32_t n;
    uint32_t capacity;
    bool sorted;
    struct vv_sketch *sketch; /* set: it has all values */
};

/* Adds n values, none of them NaN. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_percentiles_add(struct vv_percentiles *percentiles,
                                                struct vv_percentile_budget *budget,
                                                const double *values, size_t n);
/* Adds all values of a sketch; what is exact so far becomes one of the same error. Where there is
 * one of another error already, percentiles are off by both. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_percentiles_merge(struct vv_percentiles *percentiles,
                                                  struct vv_percentile_budget *budget,
                                                  const struct vv_sketch *sketch);
/* The quantile 0 ≤ q ≤ 1; NaN when there is no value. Notes the error in the budget. */
double vv_percentiles_read(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget,
                           double q);
/* Forgets all values; keeps the memory of the exact ones. */
void vv_percentiles_clear(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget);
void vv_percentiles_deinit(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget);

#endif
