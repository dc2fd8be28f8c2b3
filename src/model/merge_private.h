/* SPDX-License-Identifier: Apache-2.0 */
/* What a merge holds: merge.c has its life and what it gives out, merge_input.c what is added to
 * it, merge_open.c how that is opened. */
#ifndef VV_MODEL_MERGE_PRIVATE_H
#define VV_MODEL_MERGE_PRIVATE_H

#include "model/merge.h"

#include "model/merge_buffer.h"

/* Encoded bytes or decoded rows that wait to be opened. */
struct vv_merge_input {
    int64_t time_min;
    int64_t time_max;
    size_t order; /* of adding: keeps equal keys stable */
    uint8_t *bytes;
    size_t size;
    struct vv_rows rows; /* when bytes is NULL */
};

struct vv_merge {
    struct vv_merge_options options;
    uint32_t *metrics; /* own copy; grows to the union when none were asked for */
    enum vv_value_type *types;
    bool *typed; /* whether the type of a wanted metric is known yet */
    size_t n_metrics;
    bool all_metrics;
    struct vv_merge_input *inputs;
    size_t n_inputs;
    size_t inputs_capacity;
    size_t next_input;
    size_t input_bytes;
    bool started;
    struct vv_merge_buffer rows;  /* opened, not emitted */
    struct vv_merge_buffer spare; /* for sorting */
    struct vv_merge_buffer out;   /* what was resolved */
    size_t emitted_first;         /* rows of `rows` given out by the last call … */
    size_t emitted_end;           /* … to be dropped by the next */
    struct vv_rows view;          /* what the caller sees */
    uint8_t *bitmaps;
    size_t bitmaps_capacity;
    uint8_t *scratch; /* a presence bitmap while decoding */
    size_t scratch_capacity;
    struct vv_merge_figures figures;
    uint64_t stamp_min; /* of rows that were opened, if it is wanted; UINT64_MAX: none were */
};

/* ---- merge_input.c ---- */

/* The bytes or rows of an input that was opened, or is not wanted any more. */
void vv_merge_free_input(struct vv_merge *merge, struct vv_merge_input *input);
/* NULL: the rows have none of the metric. */
const struct vv_column *vv_merge_find_column(const struct vv_rows *rows, uint32_t metric);
VV_MUST_CHECK enum vv_status vv_merge_block_status(enum vv_block_status status,
                                                   struct vv_error *error);

/* ---- merge_open.c ---- */

/* Appends the rows of the next input to `rows`, and drops the input. VV_CORRUPT, VV_NEWER,
 * VV_NO_MEMORY; VV_TOO_LARGE beyond memory_max. */
VV_MUST_CHECK enum vv_status vv_merge_open_next(struct vv_merge *merge, struct vv_error *error);

#endif
