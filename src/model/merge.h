/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging rows of one series from any number of pieces (runs, blocks, the head): ascending or
 * descending in time, the higher stamp winning for each metric and time. Sealing and queries both
 * read through it, so both resolve conflicts in the same way.
 *
 * How: pieces are opened in the order of their first time; rows before the first time of the next
 * piece not opened are complete and are emitted. Memory: the pieces that overlap at one time.
 * One thread at a time.
 */
#ifndef VV_MODEL_MERGE_H
#define VV_MODEL_MERGE_H

#include "base/bits.h"
#include "base/status.h"
#include "codec/block.h"
#include "model/deletion.h"

/* ---- rows that own their memory ---- */

/* Arrays for n_rows × n_columns, zeroed presence bitmaps (nothing present), column metrics and
 * types unset. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_rows_alloc(size_t n_rows, size_t n_columns,
                                           struct vv_rows *rows_out);
void vv_rows_free(struct vv_rows *rows); /* zeroed rows are allowed */
/* A copy that owns its memory. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_rows_copy(const struct vv_rows *rows, struct vv_rows *copy_out);

static inline void vv_column_mark(struct vv_column *column, size_t row)
{
    column->present[row >> 3] = (uint8_t)(column->present[row >> 3] | 1u << (row & 7));
}

/* ---- merging ---- */

struct vv_merge;

struct vv_merge_options {
    int64_t from; /* rows in [from, to) */
    int64_t to;
    const uint32_t *metrics; /* wanted columns in this order, borrowed; NULL: all that occur,
                                ascending by metric */
    const enum vv_value_type *types; /* of these metrics, borrowed for the merge's life; NULL: as
                                        the pieces have them. Where some pieces have integers and
                                        some (or this) floats, all become floats. */
    size_t n_metrics;
    bool descending;
    /* true: one row for each time, absent where no piece has the metric; stamps are the highest.
     * false: values keep their stamps: rows ascend by (time, stamp), a value stands only in the
     * row whose stamp won (what is written into blocks). */
    bool join_times;
    size_t memory_max;  /* of opened pieces; beyond it VV_TOO_LARGE; 0: no limit */
    size_t chunk_bytes; /* pieces are opened until a chunk has about so many bytes of times, stamps
                           and values, also where some rows are complete before: for who writes
                           chunks again; 0: chunks come as soon as they can */
    /* What hides rows of the series, borrowed for the merge's life, or until it is set anew; NULL:
     * nothing. A row loses the values that are hidden, and is left out when it has none left. */
    const struct vv_deletion_list *deletions;
    bool notes_stamps; /* see vv_merge_stamp_min */
};

VV_MUST_CHECK enum vv_status vv_merge_create(const struct vv_merge_options *options,
                                             struct vv_merge **merge_out);
void vv_merge_destroy(struct vv_merge *merge);

/* Adds an encoded piece; the bytes are copied. Columns that are not wanted are never decoded, and
 * a piece outside [from, to) is dropped at once. VV_CORRUPT, VV_NEWER, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_merge_add_block(struct vv_merge *merge, const uint8_t *bytes,
                                                size_t size, struct vv_error *error);
/* Adds decoded rows in any order of time; of rows with equal (time, stamp) the later wins. The
 * merge takes them (also on failure). */
VV_MUST_CHECK enum vv_status vv_merge_add_rows(struct vv_merge *merge, struct vv_rows *take_rows);

/* The next chunk of complete rows, ascending inside the chunk whatever the direction: with
 * `descending`, chunks come from the newest to the oldest, to be walked from their end. Rows
 * without any value are left out. Valid until the next call. VV_DONE at the end. */
VV_MUST_CHECK enum vv_status vv_merge_next(struct vv_merge *merge, const struct vv_rows **rows_out,
                                           struct vv_error *error);
/* Forgets all input and starts again with another range; keeps the memory. */
void vv_merge_reset(struct vv_merge *merge, int64_t from, int64_t to);
/* The lowest stamp of the rows in the range that were read since the last reset, also of such as
 * another one wins over, or a deletion hides; UINT64_MAX: there were none. With `notes_stamps`. */
uint64_t vv_merge_stamp_min(const struct vv_merge *merge);
/* Before the first rows are asked for: other deletions than those of the options. */
void vv_merge_set_deletions(struct vv_merge *merge, const struct vv_deletion_list *deletions);

struct vv_merge_figures {
    uint64_t pieces_added;
    uint64_t pieces_opened;
    uint64_t bytes_opened; /* encoded */
    uint64_t rows_opened;
    uint64_t values_hidden; /* of the wanted metrics, by deletions */
};
void vv_merge_read_figures(const struct vv_merge *merge, struct vv_merge_figures *figures_out);

#endif
