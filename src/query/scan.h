/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan: the merged rows of one source and measurement in a range, ascending or descending, from
 * head and store, of all regions. Private to src/query. One thread at a time.
 *
 * It goes through the range window by window; a window is a bucket, or less where few rows are
 * wanted or memory is short, or a longer stretch of which only the head holds something. Each call
 * does the work of at most one window or one chunk of rows.
 */
#ifndef VV_QUERY_SCAN_H
#define VV_QUERY_SCAN_H

#include "query/query.h"
#include "query/window.h"

struct vv_scan_options {
    uint32_t place; /* of the measurement's points, as far as the registry knows of none */
    uint32_t source;
    uint32_t measurement;
    const uint32_t *metrics; /* columns; borrowed for the scan's life, as the types */
    const enum vv_value_type *types;
    size_t n_metrics;
    int64_t from; /* [from, to) */
    int64_t to;
    bool descending;
    bool few;        /* a few rows are likely to be enough: begin with a small window */
    bool hidden_too; /* what the retention hides, too, as far as it is still there */
    size_t memory_max;
};

struct vv_scan;

/* Reads nothing yet but the source's first and last time. `facts` are added to; they outlive the
 * scan. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_scan_open(const struct vv_query_context *context,
                                          const struct vv_scan_options *options,
                                          struct vv_result_facts *facts, struct vv_scan **scan_out);
void vv_scan_close(struct vv_scan *scan); /* NULL is allowed */

/* The next chunk, ascending inside; with `descending` chunks come from the newest to the oldest.
 * *rows_out is NULL when a window had nothing more. Valid until the next call. VV_DONE at the end;
 * VV_TOO_LARGE when the rows of a single instant do not fit memory_max; VV_CORRUPT, VV_IO, …; the
 * message names the source. */
VV_MUST_CHECK enum vv_status vv_scan_next(struct vv_scan *scan, const struct vv_rows **rows_out,
                                          struct vv_error *error);

/* Points before this time are not shown at `now_ns`: the place's retention hides them, though they
 * may still be on disk, since whole eras go later. */
int64_t vv_scan_oldest(const struct vv_query_context *context, uint32_t place, int64_t now_ns);
/* Of a measurement's points that are taken to lie there: where that is not agreed on, of all places
 * that they may come to lie in the one that is kept longest counts. */
int64_t vv_scan_oldest_of(const struct vv_query_context *context, uint32_t measurement,
                          uint32_t place, int64_t now_ns);

/* From the source's first to its last time, as far as this node knows. */
struct vv_window vv_scan_known(const struct vv_query_context *context, uint32_t source);
/* Notes a part of the range that can't be read now and is left out. */
void vv_scan_note_missing(struct vv_result_facts *facts, const struct vv_missing *missing);

/* Up to where all rows have been given: those before this time, with `descending` those at or
 * after it. */
int64_t vv_scan_reached(const struct vv_scan *scan);

/* Whether head or store had anything of the measurement so far, even if not of these metrics. */
bool vv_scan_found(const struct vv_scan *scan);

#endif
