/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan's state and its windows. Private to scan.c, scan_window.c, scan_lane.c and scan_head.c.
 *
 * A scan has a lane for each region of which plans are known, the own one as the first, and one
 * more of each for the place's late points, where they are kept apart: looked for after the head,
 * as what it had may have gone there. All lanes begin anew when the place is another one: where the
 * measurement was moved, or nodes agree on its place only when its first points are flushed. No
 * window lies in two stays. Regions have buckets and spans of their own; a window is the same for
 * all lanes, and what they have in it is merged, with the head, by stamps.
 *
 * What makes a scan safe beside flushes and seals, for each window: the head is read FIRST, then
 * the source's plans, then the store. A row that was acknowledged before is in the head at the
 * first step, or its flush was confirmed by then and the store has it; the plans under which it was
 * stored were set before it was flushed. Rows found twice are one row after merging. The same order
 * holds for stretches that are skipped: the head's times are read before the store is asked for
 * the nearest bucket; what it said then counts for later windows as long as the head has dropped
 * nothing. Where a first plan gives way to another one meanwhile, what was found by it may lack
 * something: it is looked for again.
 */
#ifndef VV_QUERY_SCAN_PRIVATE_H
#define VV_QUERY_SCAN_PRIVATE_H

#include "query/scan.h"

#define VV_SCAN_WIDTH_MAX (INT64_MAX / 4)
/* What of the scan's memory the encoded pieces of a window may take. */
#define VV_SCAN_PIECES_SHARE 4
/* Tries, until plans that move have come to rest. */
#define VV_SCAN_MOVE_WAITS 2000

struct vv_lane {
    uint32_t tenant; /* the place, or the space of its late points */
    uint8_t region;
    bool is_late;
    bool begun;               /* it was looked at */
    bool store_empty;         /* the store had nothing in the last window */
    struct vv_window unheard; /* of which the store could not say whether it has anything */
    struct vv_window empty;   /* where it said that it has nothing … */
    uint64_t empty_epoch;     /* … in this epoch: see vv_fetch_epoch */
    struct vv_plans plans;    /* as they were when it was looked at last … */
    uint64_t plans_epoch;     /* … and the epoch before: what is found by them may count in it */
    /* The bucket whose partitions were counted last, and which of its splits. */
    int64_t counted_start;
    int64_t counted_ns;
    uint64_t counted_splits;
};

/* What the lanes have at the near end of what is left. */
struct vv_outlook {
    bool active;            /* in some the store may have something */
    struct vv_window range; /* around it; no bucket and no empty stretch ends inside */
    int64_t span_ns;        /* the shortest of those that may have something */
};

struct vv_scan {
    const struct vv_query_context *context;
    struct vv_scan_options options;
    struct vv_result_facts *facts;
    struct vv_merge *merge;
    struct vv_deletion_list deletions; /* as they were when it was opened */
    struct vv_merge_figures counted;   /* what of the merge's figures is in facts */
    struct vv_window left;             /* what was not given yet; one end moves */
    int64_t now_ns;                    /* when it was opened: what is older then is not shown */
    struct vv_window stay;             /* at that end … */
    int64_t shown_from;                /* … and what of it is shown */
    struct vv_window window;           /* being given */
    bool in_window;
    bool found;
    int64_t width;       /* windows are not wider … */
    bool narrowed;       /* … and may be narrower than a span, since one did not fit */
    size_t window_bytes; /* encoded, of this window */
    uint64_t n_windows;  /* so far */
    /* The head as it was before this window's store was looked at. */
    bool has_head;
    struct vv_window head;
    bool copy_tried;
    bool copied;         /* the copy has all that the head had of what was left then */
    struct vv_rows copy; /* ascending in time */
    size_t n_lanes;
    struct vv_lane lanes[2 * VV_REGIONS_MAX];
};

_Static_assert(VV_SPLITS_MAX <= 64, "splits fit a word");

/* At most VV_SCAN_WIDTH_MAX: the whole of time is longer than an int64. */
static inline int64_t vv_window_length(struct vv_window window)
{
    uint64_t length = vv_window_is_empty(window) ? 0 : (uint64_t)window.to - (uint64_t)window.from;
    return length < VV_SCAN_WIDTH_MAX ? (int64_t)length : VV_SCAN_WIDTH_MAX;
}

/* Of the place, with what is known of none: one for each region. */
void vv_scan_begin_lanes(struct vv_scan *scan, uint32_t place);
/* The next window, of what is left; VV_DONE when nothing can be there. */
VV_MUST_CHECK enum vv_status vv_scan_choose_window(struct vv_scan *scan, struct vv_error *error);
/* Gives the merge all that head and store have in the window. VV_TOO_LARGE when it is too much. */
VV_MUST_CHECK enum vv_status vv_scan_fill_window(struct vv_scan *scan, struct vv_error *error);
/* Adds to the outlook what a lane has at `near`, which lies inside it. */
VV_MUST_CHECK enum vv_status vv_scan_look_at_lane(struct vv_scan *scan, struct vv_lane *lane,
                                                  int64_t near, struct vv_outlook *outlook,
                                                  struct vv_error *error);
/* Gives the merge what a lane has in the window: its buckets, by its plans as they are now;
 * stretches without any are skipped. VV_TOO_LARGE. */
VV_MUST_CHECK enum vv_status vv_scan_add_lane(struct vv_scan *scan, struct vv_lane *lane,
                                              struct vv_error *error);
/* Whether the plans by which the lanes were looked at last still hold: else what they found may
 * lack something. */
bool vv_scan_plans_hold(const struct vv_scan *scan);
/* The next bucket of each lane is read without asking whether it has anything. */
void vv_scan_expect_all(struct vv_scan *scan);
/* Notes what the head has of the series. */
VV_MUST_CHECK enum vv_status vv_scan_look_at_head(struct vv_scan *scan);
/* Gives the merge the head's rows of the window. */
VV_MUST_CHECK enum vv_status vv_scan_add_head(struct vv_scan *scan);
/* Takes a stretch off what is left, with all that lies before it in the scan's direction. */
void vv_scan_skip(struct vv_scan *scan, struct vv_window stretch);
/* Adds what the merge did since the last time to the facts. */
void vv_scan_count_figures(struct vv_scan *scan);

#endif
