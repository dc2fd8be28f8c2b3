/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan of tiers: what a route's tiers answer of one metric of one source, and the gaps that are
 * left to raw points, ascending or descending. Private to src/query. One thread at a time.
 *
 * What makes it right beside flushes and seals: the head is looked at FIRST, then what is to be
 * built again, then the records (a store's reads visit them in this order), then finer data. A
 * record counts only where neither of the first two speaks against it; every gap is read at the
 * next finer level and at last as raw rows, which scan.h reads in its own safe order. A gap may
 * have data or none.
 *
 * Parts of the range, and of asked steps, that are no multiple of a tier's steps are gaps of it.
 * Where finer data is no longer kept, they are left out.
 */
#ifndef VV_QUERY_TIER_SCAN_H
#define VV_QUERY_TIER_SCAN_H

#include "query/tier_give.h"

/* How far tiers are built, by tier, where several scans are one series: the farthest counts. */
struct vv_tier_sealed {
    bool is_sealed[VV_SPACES];
    int64_t until[VV_SPACES];
};
/* In the facts, of several series, the least far. */
void vv_tier_note_sealed(const struct vv_tier_sealed *sealed, struct vv_result_facts *facts);

struct vv_tier_scan_options {
    const struct vv_route *route; /* borrowed, as the steps; n 0: all is a gap */
    const struct vv_steps *steps; /* that are asked: no part lies in two of them, but gaps may */
    uint32_t source;              /* or a cohort: */
    /* Those of its sources that there are, borrowed: all of them, or its records would have more.
     * Gaps are what each of them is to be asked for, by a route of its own. */
    const uint32_t *members;
    size_t n_members; /* 0: the source itself */
    const uint64_t
        *member_ids; /* as in fleet/members.h, ascending; NULL: nobody shares the store */
    const struct vv_metric_info *metric; /* borrowed */
    int64_t from;                        /* [from, to) */
    int64_t to;
    bool descending;
    bool few;                      /* the first rows may be enough */
    bool only;                     /* no other metric is asked for */
    struct vv_tier_sealed *sealed; /* borrowed, added to; NULL: the facts are told at the end */
    unsigned step_parts;           /* of steps that are wanted, of enum vv_step_part */
    bool sketches;                 /* are wanted */
    size_t memory_max;
};

/* Zero-initialised is closed. May be opened again: what was read of the same source and
 * measurement serves other metrics, as long as it holds. */
struct vv_tier_scan {
    bool is_open;
    const struct vv_query_context *context;
    struct vv_tier_scan_options options;
    struct vv_result_facts *facts;
    struct vv_tier_series series;
    struct vv_unit *head_units;
    bool has_head;
    uint64_t epoch;        /* before the first window of the series was read */
    bool is_kept;          /* windows are, of the series and range that `options` names */
    struct vv_window left; /* in no level yet */
    struct vv_window gap;  /* to be given */
    struct vv_window
        left_to_points; /* stretches that are not named yet, from the first to the last */
    uint64_t n_left_to_points;
    size_t n_levels;
    struct vv_tier_level levels[VV_SPACES];
    const struct vv_tier_level *giving; /* whose record is being given … */
    bool is_noted;                      /* … and is named in the facts */
    struct vv_tier_give give;
};

/* Looks at the head. `facts` are added to; they outlive the scan. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_tier_scan_open(struct vv_tier_scan *scan,
                                               const struct vv_query_context *context,
                                               const struct vv_tier_scan_options *options,
                                               struct vv_result_facts *facts);
void vv_tier_scan_close(struct vv_tier_scan *scan); /* closed is allowed */
void vv_tier_scan_deinit(struct vv_tier_scan *scan);

/* The next part. VV_DONE at the end; VV_TOO_LARGE when a unit does not fit the memory; VV_CORRUPT,
 * VV_NEWER, VV_IO, …: the message names source, tier and time. */
VV_MUST_CHECK enum vv_status vv_tier_scan_next(struct vv_tier_scan *scan,
                                               struct vv_tier_part *part_out,
                                               struct vv_error *error);

/* Of an ascending scan whose next() failed: nothing was given of this time on, and all before it.
 */
int64_t vv_tier_scan_undone(const struct vv_tier_scan *scan);

/* Something of the metric was given, by tiers or of what they left, the earliest of it at `time`.
 * The answer's facts name what was left so far, but for what lies before all that was given. Of a
 * source that has nothing of the metric nothing is named. */
void vv_tier_scan_note_given(struct vv_tier_scan *scan, int64_t time, bool is_first);
/* Ascending, when something was given before: names what was left so far. */
void vv_tier_scan_note_left(struct vv_tier_scan *scan);

/* Whether head or tiers had anything of the measurement so far. */
bool vv_tier_scan_found(const struct vv_tier_scan *scan);

#endif
