/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The route of a query: which tiers answer it. Private to src/query. Pure functions, any thread.
 *
 * The coarsest tier whose steps make up the asked ones comes first; what its records do not cover
 * is read from the next finer one that is on, at last from raw points. Points alone, `where`, and
 * changes from point to point are in no tier.
 */
#ifndef VV_QUERY_ROUTE_H
#define VV_QUERY_ROUTE_H

#include "model/space.h"
#include "query/steps.h"
#include "query/window.h"

#define VV_POINTS_MAX 100000u
/* So much of what has just expired may be asked for without an error, as clocks differ, and those
 * who ask round: the answer says since when it has anything (vv_result_facts.expired_before). Where
 * a longer step can be chosen that has it, only as clocks differ. */
#define VV_ROUTE_SLACK_NS        VV_HOUR
#define VV_ROUTE_CHOICE_SLACK_NS VV_MINUTE

/* What `tier` says. */
enum vv_tier_wish {
    VV_TIER_UNSAID,
    VV_TIER_AUTO,
    VV_TIER_RAW,
    VV_TIER_MINUTE,
    VV_TIER_HOUR,
    VV_TIER_DAY,
};

struct vv_route_tier {
    bool is_on;
    uint32_t space;
    int64_t oldest;        /* what was before is not shown */
    int64_t whole_from;    /* what was before that may have expired, when it was kept for less */
    int64_t lacked_before; /* what was before that it may lack for good */
};

struct vv_route_question {
    int64_t from; /* [from, to) */
    int64_t to;
    bool has_from;     /* `from` was given */
    bool has_choice;   /* the step was chosen here: it may be a longer one */
    int64_t slack_ns;  /* so much of what has expired may be asked for */
    int64_t kept_from; /* what of the range is to lie there begins then … */
    int64_t kept_to;   /* … and ends then */
    const struct vv_steps *steps;
    const char *needs_raw; /* what of the request is in no tier; NULL: nothing */
    enum vv_tier_wish wish;
    bool has_regions; /* others than the own one: their tiers are not read */
    int64_t raw_oldest;
    int64_t raw_whole_from;
    struct vv_route_tier tiers[VV_SPACES];
};

struct vv_route_level {
    enum vv_space tier;
    uint32_t space;
    int64_t oldest; /* what was before is not shown, or does not fit the asked steps */
    int64_t whole_from;
};

/* Zero-initialised: raw points only, however old. */
struct vv_route {
    size_t n;
    struct vv_route_level levels[VV_SPACES]; /* the coarsest first */
    int64_t raw_oldest;
    int64_t raw_whole_from;
};

/* A stretch of the range, of which another place has the points: its own route. */
struct vv_leg {
    struct vv_window range;
    const struct vv_route *route;
};

/* The first time, `from` or later, from which on nothing of points or whole steps is hidden. */
int64_t vv_route_begin(const struct vv_route *route, int64_t from);
/* From when on the route has all: of points, or of the tiers that it names, which may lack what is
 * to be there; VV_TIME_MIN: nothing is known to be missing but what retentions hide. */
int64_t vv_route_lacks_before(const struct vv_route_question *question,
                              const struct vv_route *route);

/* VV_INVALID: the wish cannot be met, or what is asked for is not kept so long; the message says
 * what can be had. */
VV_MUST_CHECK enum vv_status vv_route_choose(const struct vv_route_question *question,
                                             struct vv_route *route_out, struct vv_error *error);

/* "minute", "hour", "day"; "raw" for VV_SPACES. */
const char *vv_route_tier_name(size_t tier);

/* The shortest step of a round length that gives at most `points` rows, 1 … VV_POINTS_MAX, in
 * [from, to); 0 for one point, which is the whole range. VV_INVALID where the range is too long. */
VV_MUST_CHECK enum vv_status vv_route_step(int64_t from, int64_t to, const struct vv_zone *zone,
                                           uint32_t points, int64_t *step_out,
                                           struct vv_error *error);
/* The next longer one of these lengths; 0: there is none. */
int64_t vv_route_coarser(int64_t step_ns);
/* The step of a wish without step and points: that of the tier; of `auto` by the range: a second up
 * to 6 h, a minute up to 7 days, an hour up to 90 days, then a day; of others 0. */
int64_t vv_route_step_of(enum vv_tier_wish wish, int64_t from, int64_t to);

#endif
