/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: half-open stretches of time that together cover all of it. Private to src/query. Pure
 * functions, any thread. Times are within VV_TIME_MIN … VV_TIME_MAX + 1.
 */
#ifndef VV_QUERY_STEPS_H
#define VV_QUERY_STEPS_H

#include "model/partition.h"
#include "query/zone.h"

struct vv_steps {
    int64_t length_ns; /* 0: one step, the whole range */
    int64_t origin_ns; /* a step begins here */
    int64_t from;      /* the range */
    int64_t to;
    const struct vv_zone *zone; /* set: steps of whole local days */
    int64_t days;
};

/* Steps of a length, or one over [from, to) when it is 0. Whole days follow the zone's calendar;
 * whole weeks begin on Mondays; all else is aligned to 1970-01-01T00:00:00Z. */
void vv_steps_init(struct vv_steps *steps, int64_t length_ns, const struct vv_zone *zone,
                   int64_t from, int64_t to);
/* The start of the step that holds time. */
int64_t vv_steps_start(const struct vv_steps *steps, int64_t time);
/* The start of the step after the one that starts at `start`. */
int64_t vv_steps_next(const struct vv_steps *steps, int64_t start);
int64_t vv_steps_previous(const struct vv_steps *steps, int64_t start);

/* How many of n ascending times, from the first on, lie before `end`; and how many, up to the last,
 * lie at or after `start`. Quick for a few as for many. */
size_t vv_steps_count_before(const int64_t *times, size_t n, int64_t end);
size_t vv_steps_count_from(const int64_t *times, size_t n, int64_t start);

#endif
