/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a record of a tier has of one metric: its steps, all at once, or its points. Private to
 * src/query. One thread at a time.
 */
#ifndef VV_QUERY_TIER_GIVE_H
#define VV_QUERY_TIER_GIVE_H

#include "model/merge.h"
#include "query/tier_level.h"
#include "tier/chunk.h"

#define VV_TIER_POINTS_MAX 1024

enum vv_tier_part_kind {
    VV_TIER_WORK,   /* nothing yet: call again */
    VV_TIER_STEPS,  /* each has all values of a stretch that is inside of one asked step */
    VV_TIER_POINTS, /* without NaN */
    VV_TIER_GAP,    /* a stretch that is to be read from raw data */
};

/* Steps of a tier, none of them empty, ascending. */
struct vv_tier_run {
    const int64_t *times; /* one in each */
    const struct vv_step *steps;
    const struct vv_sketch *sketches; /* NULL: none are wanted */
    size_t n;
};

/* The first n of a run, or the last; the run keeps the others. */
static inline struct vv_tier_run vv_tier_run_take(struct vv_tier_run *run, size_t n, bool last)
{
    size_t rest = run->n - n;
    size_t taken = last ? rest : 0;
    size_t kept = last ? 0 : n;
    const struct vv_sketch *sketches = run->sketches;
    struct vv_tier_run out = {run->times + taken, run->steps + taken,
                              sketches ? sketches + taken : NULL, n};
    *run = (struct vv_tier_run){run->times + kept, run->steps + kept,
                                sketches ? sketches + kept : NULL, rest};
    return out;
}

/* Valid until the next call. */
struct vv_tier_part {
    enum vv_tier_part_kind kind;
    struct vv_tier_run run; /* of steps */
    const int64_t *times;   /* of points, ascending, whatever the order */
    const uint64_t *values;
    size_t n;
    struct vv_window gap;
};

/* Zero-initialised is closed. */
struct vv_tier_give {
    bool is_open;
    uint32_t metric;
    enum vv_value_type type; /* in which values are given */
    bool descending;
    unsigned step_parts;
    bool with_sketches;
    struct vv_window stretch;
    /* Of steps: room that is kept, and what of it is to be given. */
    int64_t *starts;
    struct vv_step *steps;
    size_t capacity;
    struct vv_sketch *sketches;
    size_t n_steps;
    size_t first; /* of those in `steps` */
    bool given;
    /* Of which part of a volume all steps are there, n_steps of them: a question by steps of
     * another time zone asks for one stretch of it after the other. */
    struct {
        const struct vv_tier_level *level; /* NULL: of none */
        uint64_t load;
        uint32_t record;
        unsigned parts;
        size_t n_steps;
    } kept;
    /* Of rows. */
    struct vv_merge *merge;
    const struct vv_rows *rows;
    size_t rows_left;
    int64_t times[VV_TIER_POINTS_MAX];
    uint64_t values[VV_TIER_POINTS_MAX];
};

struct vv_tier_wanted {
    uint32_t metric;
    enum vv_value_type type;
    bool descending;
    unsigned step_parts; /* of a step, of enum vv_step_part */
    bool sketches;
    size_t memory_max;
};

/* Of a record of the level that covers the stretch: whole steps, or any part of rows. To be
 * closed before the level loads another window. VV_CORRUPT, VV_NO_MEMORY, VV_TOO_LARGE. */
VV_MUST_CHECK enum vv_status vv_tier_give_open(struct vv_tier_give *give,
                                               const struct vv_tier_level *level, uint32_t record,
                                               struct vv_window stretch,
                                               const struct vv_tier_wanted *wanted,
                                               struct vv_error *error);
void vv_tier_give_close(struct vv_tier_give *give); /* closed is allowed */
void vv_tier_give_deinit(struct vv_tier_give *give);

/* VV_DONE at the end. VV_OVERLOAD when the metric has become one of floats meanwhile. */
VV_MUST_CHECK enum vv_status vv_tier_give_next(struct vv_tier_give *give,
                                               struct vv_tier_part *part_out,
                                               struct vv_error *error);

#endif
