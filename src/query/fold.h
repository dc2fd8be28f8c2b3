/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fold: the state of one step, from which its aggregates are read. Private to src/query. One
 * thread at a time.
 *
 * Slices may be added in any order; each is folded by itself and merged into the state. NaN must
 * not be among the values; infinities follow IEEE arithmetic.
 */
#ifndef VV_QUERY_FOLD_H
#define VV_QUERY_FOLD_H

#include "query/percentiles.h"
#include "query/rate.h"
#include "query/request.h"

enum vv_cell_kind { VV_CELL_NULL, VV_CELL_DOUBLE, VV_CELL_INTEGER, VV_CELL_TIME };

struct vv_cell {
    enum vv_cell_kind kind;
    union {
        double real;
        int64_t integer; /* of a time: ns */
    };
};

static inline struct vv_cell vv_cell_double(double value)
{
    return (struct vv_cell){.kind = VV_CELL_DOUBLE, .real = value};
}
static inline struct vv_cell vv_cell_integer(int64_t value)
{
    return (struct vv_cell){.kind = VV_CELL_INTEGER, .integer = value};
}

/* What the folds of one metric share; borrowed by them. */
struct vv_fold_spec {
    enum vv_value_type type;
    unsigned needs; /* of enum vv_need */
    const struct vv_aggregate *aggregates;
    size_t n_aggregates;
    struct vv_percentile_budget *budget;
};

/* Zero-initialised is empty and valid. */
struct vv_fold {
    struct vv_step step;
    struct vv_percentiles percentiles;
    struct vv_rate_sums rate;
};

/* Adds n ≥ 1 points that ascend in time. VV_NO_MEMORY. Rates are added by vv_rate_add. */
VV_MUST_CHECK enum vv_status vv_fold_add(const struct vv_fold_spec *spec, struct vv_fold *fold,
                                         const int64_t *times, const uint64_t *values, size_t n);
/* Adds all that n ≥ 1 steps stand for, of values of the spec's type, none empty; `sketches` are of
 * the same values, NULL where no percentiles are needed. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_fold_merge(const struct vv_fold_spec *spec, struct vv_fold *fold,
                                           const struct vv_step *steps,
                                           const struct vv_sketch *sketches, size_t n);
/* One cell for each aggregate of the spec. */
void vv_fold_read(const struct vv_fold_spec *spec, struct vv_fold *fold, struct vv_cell *cells_out);
/* The same of a step that is not empty, by aggregates that need neither percentiles nor changes. */
void vv_fold_read_step(const struct vv_fold_spec *spec, const struct vv_step *step,
                       struct vv_cell *cells_out);
/* Empties it; some memory is kept. */
void vv_fold_clear(const struct vv_fold_spec *spec, struct vv_fold *fold);
void vv_fold_deinit(const struct vv_fold_spec *spec, struct vv_fold *fold);

#endif
