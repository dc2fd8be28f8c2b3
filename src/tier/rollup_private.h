/* SPDX-License-Identifier: Apache-2.0 */
/* What a roll-up keeps. */
#ifndef VV_TIER_ROLLUP_PRIVATE_H
#define VV_TIER_ROLLUP_PRIVATE_H

#include "tier/rollup.h"

struct vv_rolled_metric {
    uint32_t metric;
    enum vv_value_type type;
    struct vv_step *steps; /* steps_capacity of the roll-up */
    struct vv_sketch
        *sketches; /* the same; empty where the step has no values; NULL: none are kept */
};

struct vv_rollup {
    double alpha;
    int64_t step_ns;
    int64_t *starts; /* of steps, as they came */
    uint32_t *order; /* indexes of steps, ascending by start */
    size_t n_steps;
    size_t steps_capacity;
    size_t recent;                    /* the place in `order` that was found last */
    struct vv_rolled_metric *metrics; /* ascending by metric */
    size_t n_metrics;
    size_t metrics_capacity;
    size_t metrics_made; /* those from n_metrics on keep their arrays for the next */
    uint64_t n_values;
    enum vv_rollup_takes { VV_TAKES_ALL, VV_TAKES_ONLY, VV_LEAVES_OUT } takes;
    struct vv_rollup_part part; /* unless it takes all */
    const uint32_t *left_out;   /* metrics of it, in place of the part's, ascending … */
    size_t n_left_out;          /* … unless there are none */
};

enum vv_status vv_rollup_no_memory(struct vv_error *error);
/* The metric, made if it is not there, with values of the type or of floats. */
VV_MUST_CHECK enum vv_status vv_rollup_metric(struct vv_rollup *rollup, uint32_t metric,
                                              enum vv_value_type type,
                                              struct vv_rolled_metric **metric_out,
                                              struct vv_error *error);
/* The index of the step that begins then, made if it is not there. */
VV_MUST_CHECK enum vv_status vv_rollup_step(struct vv_rollup *rollup, int64_t start,
                                            size_t *step_out, struct vv_error *error);
/* Puts the steps of all metrics in the order of time. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_rollup_sort(struct vv_rollup *rollup, struct vv_error *error);

#endif
