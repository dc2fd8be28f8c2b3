/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge's working memory: rows in any order, as columns with one presence byte per row, and the
 * resolution of equal times. Private to the merge.
 */
#ifndef VV_MODEL_MERGE_BUFFER_H
#define VV_MODEL_MERGE_BUFFER_H

#include "model/merge.h"

struct vv_lane {
    uint64_t *values;
    uint8_t *has; /* a byte a row: 1 present */
    bool full;    /* every row has it */
};

struct vv_merge_buffer {
    size_t n_rows;
    size_t capacity;
    size_t n_lanes;
    int64_t *times;
    uint64_t *stamps;
    struct vv_lane *lanes;
    bool sorted; /* ascending by (time, stamp) */
    bool unique; /* no time occurs twice; only meaningful when sorted */
};

VV_MUST_CHECK enum vv_status vv_merge_buffer_init(struct vv_merge_buffer *buffer, size_t n_lanes);
void vv_merge_buffer_deinit(struct vv_merge_buffer *buffer);
void vv_merge_buffer_clear(struct vv_merge_buffer *buffer);
VV_MUST_CHECK enum vv_status vv_merge_buffer_reserve(struct vv_merge_buffer *buffer, size_t rows);
size_t vv_merge_buffer_bytes(const struct vv_merge_buffer *buffer);

/* Call after rows [first, n_rows) were written: keeps `sorted`, `unique` and `full` right. */
void vv_merge_buffer_appended(struct vv_merge_buffer *buffer, size_t first);
/* Sorts all rows by (time, stamp), rows of equal (time, stamp) in the order of appending, through
 * `spare`, which has the same lanes. */
VV_MUST_CHECK enum vv_status vv_merge_buffer_sort(struct vv_merge_buffer *buffer,
                                                  struct vv_merge_buffer *spare);
/* Appends rows [first, end) of a sorted buffer to `out` with equal times resolved, leaving out rows
 * without a value: see join_times in merge.h. */
VV_MUST_CHECK enum vv_status vv_merge_buffer_resolve(const struct vv_merge_buffer *buffer,
                                                     size_t first, size_t end, bool join_times,
                                                     struct vv_merge_buffer *out);
/* Keeps only rows [first, end). */
void vv_merge_buffer_keep(struct vv_merge_buffer *buffer, size_t first, size_t end);

#endif
