/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A feed: the points of one series as slices of arrays, in the order of a scan, without the points
 * that `where` drops and, for aggregates, without NaN. Private to src/query. One thread at a time.
 */
#ifndef VV_QUERY_FEED_H
#define VV_QUERY_FEED_H

#include "query/request.h"
#include "query/scan.h"

#define VV_SLICE_POINTS_MAX 8192

/* Points ascending in time; valid until the next call of the feed. */
struct vv_slice {
    const int64_t *times;
    const uint64_t *values; /* bit patterns of the feed's type */
    size_t n;
};

struct vv_feed_options {
    uint32_t place; /* of the measurement */
    uint32_t source;
    const struct vv_metric_info *metric;
    int64_t from;
    int64_t to;
    bool descending;
    bool few;
    bool hidden_too; /* as of vv_scan_options */
    bool skip_nan;
    const struct vv_where *where; /* borrowed for the feed's life */
    size_t memory_max;
};

/* Zero-initialised is closed. It may be opened again and keeps its memory meanwhile. */
struct vv_feed {
    struct vv_feed_options options;
    uint32_t metric; /* what the scan borrows */
    enum vv_value_type type;
    struct vv_scan *scan;
    struct vv_result_facts *facts;
    const struct vv_rows *rows; /* the scan's chunk */
    size_t left;                /* rows of it not given yet */
    int64_t *times;             /* VV_SLICE_POINTS_MAX, for slices that leave points out */
    uint64_t *values;
};

VV_MUST_CHECK enum vv_status vv_feed_open(struct vv_feed *feed,
                                          const struct vv_query_context *context,
                                          const struct vv_feed_options *options,
                                          struct vv_result_facts *facts);
static inline bool vv_feed_is_open(const struct vv_feed *feed)
{
    return feed->scan != NULL;
}
void vv_feed_close(struct vv_feed *feed);  /* closed is allowed */
void vv_feed_deinit(struct vv_feed *feed); /* also frees what it keeps */

/* The next slice; with `descending` slices come from the newest to the oldest. A slice may be
 * empty: then some work was done without finding a point. VV_DONE at the end; errors of the scan.
 */
VV_MUST_CHECK enum vv_status vv_feed_next(struct vv_feed *feed, struct vv_slice *slice_out,
                                          struct vv_error *error);

/* As vv_scan_reached, points of the last slice counted as given. */
int64_t vv_feed_reached(const struct vv_feed *feed);

#endif
