/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/journal: reads the records of one segment file in order, and tells a torn tail
 * from damage. Memory: a window that grows to the largest record. One thread.
 */
#ifndef VV_JOURNAL_SCAN_H
#define VV_JOURNAL_SCAN_H

#include "journal/segment.h"

/* A limit for vv_segment_scan_init: the end of the file. */
#define VV_SEGMENT_END_OF_FILE UINT64_MAX

struct vv_segment_scan {
    struct vv_file *file; /* borrowed */
    uint64_t seed;
    uint64_t limit;        /* records end here */
    uint64_t at;           /* where the next record should begin */
    uint64_t commit_start; /* where the commit of the last valid record begins */
    uint32_t commit;       /* its number; 0 before the first */
    bool commit_complete;  /* its last record was seen */
    uint8_t *window;
    size_t window_capacity;
    size_t window_size;
    uint64_t window_at;
};

/* Scans from behind the segment's header to `limit`. */
VV_MUST_CHECK enum vv_status vv_segment_scan_init(struct vv_segment_scan *scan,
                                                  struct vv_file *file, uint64_t seed,
                                                  uint64_t limit, struct vv_error *error);
void vv_segment_scan_deinit(struct vv_segment_scan *scan);

/* The next record; its bytes are valid until the next call. VV_DONE at the limit, VV_CORRUPT
 * (without a message) when what stands at scan->at is no valid record, VV_IO, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_segment_scan_next(struct vv_segment_scan *scan,
                                                  struct vv_journal_record *record_out,
                                                  struct vv_error *error);

/* After VV_CORRUPT: whether a commit that was begun later stands behind scan->at, which means that
 * the record at scan->at was durable once and is damaged now. */
VV_MUST_CHECK enum vv_status vv_segment_scan_is_damage(struct vv_segment_scan *scan,
                                                       bool *damage_out, struct vv_error *error);

#endif
