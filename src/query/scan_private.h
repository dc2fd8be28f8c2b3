/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan's state and its windows. Private to scan.c, scan_window.c and scan_head.c.
 *
 * What makes a scan safe beside flushes and seals, for each window: the head is read FIRST, then
 * the source's plans, then the store. A row that was acknowledged before is in the head at the
 * first step, or its flush was confirmed by then and the store has it; the plans under which it was
 * stored were set before it was flushed. Rows found twice are one row after merging. The same order
 * holds for stretches that are skipped: the head's times are read before the store is asked for
 * the nearest bucket.
 */
#ifndef VV_QUERY_SCAN_PRIVATE_H
#define VV_QUERY_SCAN_PRIVATE_H

#include "query/scan.h"

#define VV_SCAN_WIDTH_MAX (INT64_MAX / 4)
/* What of the scan's memory the encoded pieces of a window may take. */
#define VV_SCAN_PIECES_SHARE 4

struct vv_window {
    int64_t from;
    int64_t to;
};

struct vv_scan {
    const struct vv_query_context *context;
    struct vv_scan_options options;
    struct vv_result_facts *facts;
    struct vv_merge *merge;
    struct vv_merge_figures counted; /* what of the merge's figures is in facts */
    struct vv_window left;           /* what was not given yet; one end moves */
    struct vv_window window;         /* being given */
    bool in_window;
    bool store_empty;         /* the store had nothing in the last window */
    bool begun;               /* a window was looked for */
    struct vv_window unheard; /* of which the store could not say whether it has anything */
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
    /* The bucket whose partitions were counted last, and which of its splits. */
    int64_t counted_start;
    int64_t counted_ns;
    uint64_t counted_splits;
};

_Static_assert(VV_SPLITS_MAX <= 64, "splits fit a word");

static inline struct vv_window vv_window_intersect(struct vv_window a, struct vv_window b)
{
    return (struct vv_window){a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};
}

static inline bool vv_window_is_empty(struct vv_window window)
{
    return window.from >= window.to;
}

/* At most VV_SCAN_WIDTH_MAX: the whole of time is longer than an int64. */
static inline int64_t vv_window_length(struct vv_window window)
{
    uint64_t length = vv_window_is_empty(window) ? 0 : (uint64_t)window.to - (uint64_t)window.from;
    return length < VV_SCAN_WIDTH_MAX ? (int64_t)length : VV_SCAN_WIDTH_MAX;
}

/* From the source's first to its last time, as far as this node knows. */
struct vv_window vv_scan_known(const struct vv_query_context *context, uint32_t source);
/* The next window, of what is left; VV_DONE when nothing can be there. */
VV_MUST_CHECK enum vv_status vv_scan_choose_window(struct vv_scan *scan, struct vv_error *error);
/* Gives the merge all that head and store have in the window. VV_TOO_LARGE when it is too much. */
VV_MUST_CHECK enum vv_status vv_scan_fill_window(struct vv_scan *scan, struct vv_error *error);
/* Notes what the head has of the series. */
VV_MUST_CHECK enum vv_status vv_scan_look_at_head(struct vv_scan *scan);
/* Gives the merge the head's rows of the window. */
VV_MUST_CHECK enum vv_status vv_scan_add_head(struct vv_scan *scan);
/* Takes a stretch off what is left, with all that lies before it in the scan's direction. */
void vv_scan_skip(struct vv_scan *scan, struct vv_window stretch);
/* Adds what the merge did since the last time to the facts. */
void vv_scan_count_figures(struct vv_scan *scan);

#endif
