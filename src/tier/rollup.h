/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A roll-up: points of one measurement of one source, or steps of a finer tier, become the steps of
 * a tier. Owns its memory and keeps it from one roll-up to the next. One thread at a time.
 */
#ifndef VV_TIER_ROLLUP_H
#define VV_TIER_ROLLUP_H

#include "tier/chunk.h"

#define VV_ROLLUP_METRICS_MAX 4096u /* as many as blocks have */

struct vv_rollup;

/* alpha: relative error of the sketches, as of vv_sketch_init; 0: none are kept. VV_NO_MEMORY;
 * VV_INVALID for another alpha than sketches have. */
VV_MUST_CHECK enum vv_status vv_rollup_create(double alpha, struct vv_rollup **rollup_out);
void vv_rollup_destroy(struct vv_rollup *rollup); /* NULL is allowed */

/* Forgets what was added. step_ns ≥ 1: how long the steps are that come now; they begin at its
 * multiples since 1970. */
void vv_rollup_begin(struct vv_rollup *rollup, int64_t step_ns);

#define VV_ROLLUP_ALL_METRICS UINT32_MAX

/* Steps of this roll-up that begin in [from, to), of a metric or of all. */
struct vv_rollup_part {
    uint32_t metric;
    int64_t from;
    int64_t to;
};
/* What is added from now on goes into steps of the part only, or into all but these, until the next
 * vv_rollup_begin. */
void vv_rollup_take_only(struct vv_rollup *rollup, const struct vv_rollup_part *part);
void vv_rollup_leave_out(struct vv_rollup *rollup, const struct vv_rollup_part *part);
/* The same of n metrics, ascending, borrowed until something else is to be taken. */
void vv_rollup_leave_out_metrics(struct vv_rollup *rollup, const uint32_t *metrics, size_t n,
                                 int64_t from, int64_t to);
/* All of what is added counts again. */
void vv_rollup_take_all(struct vv_rollup *rollup);

/* Adds all values but NaN of rows that ascend in time, each metric's at most once for each time, as
 * vv_merge gives them. After a failure only vv_rollup_begin may follow. VV_NO_MEMORY; VV_TOO_LARGE:
 * more steps than a chunk has, more metrics than VV_ROLLUP_METRICS_MAX, or too many of both. */
VV_MUST_CHECK enum vv_status vv_rollup_add_rows(struct vv_rollup *rollup,
                                                const struct vv_rows *rows, struct vv_error *error);
/* Adds the steps of a chunk whose step length divides that of this roll-up. VV_CORRUPT;
 * VV_INVALID: it does not divide it, or has no sketches where they are kept; else as above. */
VV_MUST_CHECK enum vv_status vv_rollup_add_chunk(struct vv_rollup *rollup,
                                                 const struct vv_chunk *chunk,
                                                 struct vv_error *error);

/* Steps so far, and values over all metrics: values / (steps × metrics) is what a step holds. */
size_t vv_rollup_steps(const struct vv_rollup *rollup);
size_t vv_rollup_metrics(const struct vv_rollup *rollup);
uint64_t vv_rollup_values(const struct vv_rollup *rollup);

/* Appends the steps of the metrics from the first_metric-th on, of VV_CHUNK_METRICS_MAX at most, as
 * a chunk; nothing when there are none. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_rollup_encode(struct vv_rollup *rollup, size_t first_metric,
                                              int zstd_level, struct vv_buffer *out,
                                              struct vv_error *error);

#endif
