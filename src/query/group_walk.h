/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group walk: the points of one metric of many sources, cut into steps. Private to src/query. One
 * thread at a time.
 *
 * Where all sources of a cohort (tier/cohort.h) are among them, the cohort's records are asked
 * first, and each of its sources only for what these leave; else source by source. Steps come as
 * they are found, so those of one source or cohort stand beside those of others.
 */
#ifndef VV_QUERY_GROUP_WALK_H
#define VV_QUERY_GROUP_WALK_H

#include "query/result.h"
#include "query/walk.h"
#include "tier/cohort.h"

#define VV_COHORT_GAPS_MAX 128

/* What is walked; borrowed for the walk's life. */
struct vv_group_walk_options {
    struct vv_result *result; /* its context, range, route and facts */
    const struct vv_steps *steps;
    const struct vv_metric_info *metric;
    const uint32_t *sources;
    size_t n;
    uint8_t *absent; /* by source: it has nothing of the metric's measurement; read and written */
};

/* Zero-initialised is closed. May be opened again. */
struct vv_group_walk {
    struct vv_group_walk_options options;
    size_t source; /* the one that is read, or next */
    size_t end;    /* of the cohort that it is in; the source itself: of none */
    size_t alone;  /* sources before this one are in no cohort that can be asked */
    size_t gap;    /* of the source, where it is in a cohort */
    bool in_cohort;
    bool is_open; /* source or cohort */
    struct vv_walk walk;
    struct vv_leg legs[VV_STAYS_MAX];
    size_t n_legs;
    bool has_cohorts;             /* some leg has tiers for which they are asked */
    size_t leg;                   /* that is being read of a cohort */
    struct vv_route route;        /* its tiers that have cohorts */
    struct vv_tier_sealed sealed; /* of all legs of the cohort */
    struct vv_tier_scan cohort;
    struct vv_tier_run run; /* its steps that were not given yet */
    uint64_t *ids;          /* where nodes share the store: of the cohort's sources */
    size_t ids_capacity;
    struct vv_window gaps[VV_COHORT_GAPS_MAX]; /* that its records leave, ascending, apart */
    size_t n_gaps;
    /* What is asked for ahead: records of cohorts, in this order; what they leave of their sources;
     * or sources that are in no cohort that can be asked, up to expected_end. */
    enum { VV_GROUP_NOTHING, VV_GROUP_COHORTS, VV_GROUP_MEMBERS, VV_GROUP_SOURCES } expected;
    size_t expected_end;
    uint32_t *cohorts; /* NULL until they are looked for */
    size_t n_cohorts;
    size_t cohort_at; /* the next one */
};

/* Whether the next event is made of what has been read. */
static inline bool vv_group_walk_is_ready(const struct vv_group_walk *walk)
{
    return walk->run.n > 0 || vv_walk_is_ready(&walk->walk);
}

/* Reads nothing yet. */
void vv_group_walk_open(struct vv_group_walk *walk, const struct vv_group_walk_options *options);
void vv_group_walk_close(struct vv_group_walk *walk); /* closed is allowed */
void vv_group_walk_deinit(struct vv_group_walk *walk);

/* The next event, as of vv_walk_next: VV_WALK_END comes once, behind all sources. */
VV_MUST_CHECK enum vv_status vv_group_walk_next(struct vv_group_walk *walk,
                                                struct vv_walk_event *event_out,
                                                struct vv_error *error);

#endif
