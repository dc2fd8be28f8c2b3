/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk: the points of one series cut into steps, ascending or descending. Private to src/query.
 * One thread at a time.
 *
 * With routes, what their tiers answer comes as their steps, the rest as points.
 *
 * For each step that has points come its parts, then its end. With changes (rate, increase, delta)
 * the end carries the step's segment, joined to the last point before the step; at the range's
 * start that point is looked for before `from`, as far as the lookback goes.
 */
#ifndef VV_QUERY_WALK_H
#define VV_QUERY_WALK_H

#include "query/feed.h"
#include "query/rate.h"
#include "query/steps.h"
#include "query/tier_scan.h"

#define VV_LOOKBACK_NS_MIN VV_HOUR
#define VV_WALK_SCANS      2

enum vv_walk_kind {
    VV_WALK_WORK,   /* nothing yet: call again */
    VV_WALK_PART,   /* points of the step that begins at `start` */
    VV_WALK_MERGED, /* steps of a tier, of that step */
    VV_WALK_WHOLE, /* n ≥ 1 steps of a tier, each of which is a complete step: see vv_walk_take */
    VV_WALK_STEP,  /* that step is complete */
    VV_WALK_END,
};

/* What is not of the kind is not set. */
struct vv_walk_event {
    enum vv_walk_kind kind;
    int64_t start;
    struct vv_slice part;
    struct vv_tier_run merged;
    bool ends; /* with what was merged the step is complete, and no VV_WALK_STEP follows */
    struct vv_rate_segment segment;
};

/* How points are put together. Pointers are borrowed for the walk's life. */
struct vv_walk_plan {
    const struct vv_steps *steps;
    struct vv_leg legs[VV_STAYS_MAX]; /* ascending; with any tiers neither `where` nor changes */
    size_t n_legs;
    bool changes;
    unsigned step_parts; /* that are wanted of a tier's steps, of enum vv_step_part … */
    bool sketches;       /* … and their sketches */
    bool only;           /* no other metric is asked for */
    bool whole;          /* VV_WALK_WHOLE may come, instead of the same merged one by one */
};

enum vv_walk_phase { VV_WALK_LOOKS_BACK, VV_WALK_READS, VV_WALK_LOOKS_BACK_LAST, VV_WALK_DONE };

/* Zero-initialised is closed. May be opened again. */
struct vv_walk {
    const struct vv_query_context *context;
    struct vv_feed_options options;
    struct vv_result_facts *facts;
    const struct vv_steps *steps;
    bool changes;
    bool whole;
    enum vv_walk_phase phase;
    struct vv_feed feed;   /* of a gap, with tiers */
    struct vv_slice slice; /* what of it is left */
    bool has_tiers;
    struct vv_walk_plan plan; /* with tiers: what they are asked for … */
    size_t legs_left;         /* … by legs that were not begun yet … */
    size_t leg; /* … and this one. They take turns of two scans, so that what was read of both legs
                   serves the next metric: */
    struct vv_tier_scan tiers[VV_WALK_SCANS];
    struct vv_tier_sealed sealed; /* of all legs */
    struct vv_tier_run run;       /* a tier's steps that were not given yet */
    bool in_step;
    int64_t start; /* of the step */
    int64_t end;
    struct vv_rate_segment segment;  /* of the step so far */
    struct vv_rate_segment previous; /* ascending: the last point before it */
    bool found;                      /* head or store had something of the measurement */
    bool has_any;                    /* something of the metric was given */
};

/* The context and facts are borrowed for the walk's life. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_walk_open(struct vv_walk *walk,
                                          const struct vv_query_context *context,
                                          const struct vv_feed_options *options,
                                          const struct vv_walk_plan *plan,
                                          struct vv_result_facts *facts);
bool vv_walk_is_open(const struct vv_walk *walk);
/* Whether the next event is made of what has been read. */
static inline bool vv_walk_is_ready(const struct vv_walk *walk)
{
    return walk->run.n > 0 || walk->slice.n > 0;
}
void vv_walk_close(struct vv_walk *walk);
void vv_walk_deinit(struct vv_walk *walk);

/* The next event; parts are valid until the next call, and what was merged until the next but for
 * vv_walk_take. Errors of the feed. */
VV_MUST_CHECK enum vv_status vv_walk_next(struct vv_walk *walk, struct vv_walk_event *event_out,
                                          struct vv_error *error);
/* Of the steps that the last event was of, VV_WALK_WHOLE, the first n in the walk's direction were
 * taken, at least one; those that were not come again. */
void vv_walk_take(struct vv_walk *walk, size_t n);

#endif
