/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of a series: what rate, increase and delta are made of. Private to src/query. Pure
 * functions, any thread.
 *
 * A segment stands for consecutive points of one series; segments that follow each other are
 * joined. A counter that falls was reset: it counts from 0 again, so the lower value is its
 * increase. Exact for integers.
 */
#ifndef VV_QUERY_RATE_H
#define VV_QUERY_RATE_H

#include "tier/step.h"

/* Empty while n is 0. */
struct vv_rate_segment {
    union vv_total increased; /* without what was increased since the last reset */
    union vv_total base;      /* the value from which is counted since then */
    uint64_t n;
    int64_t first_time;
    int64_t last_time;
    uint64_t first; /* bit patterns */
    uint64_t last;
};

/* The segment of n ≥ 1 points that ascend in time; no value is NaN. */
struct vv_rate_segment vv_rate_segment_of(enum vv_value_type type, const int64_t *times,
                                          const uint64_t *values, size_t n);
/* Both in one; `later` follows `earlier`. Either may be empty. */
struct vv_rate_segment vv_rate_join(enum vv_value_type type, const struct vv_rate_segment *earlier,
                                    const struct vv_rate_segment *later);

/* Changes of one step, added up over series. */
struct vv_rate_sums {
    union vv_total increase;
    union vv_total delta;
    double rate; /* per second */
    uint64_t n;  /* series that had a change to tell */
};

/* Adds a series' part in a step: the step's segment, joined to the point before it if there is one.
 * Less than two points have no change to tell. */
void vv_rate_add(enum vv_value_type type, const struct vv_rate_segment *segment,
                 struct vv_rate_sums *sums);

#endif
