/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calling thread's working memory: growing buffers and zstd contexts that are kept between
 * calls and freed when the thread ends. All allocations of lib/codec are made in scratch.c.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_SCRATCH_H
#define VV_CODEC_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "block.h"

enum vv_scratch_slot {
    VV_SCRATCH_VALUES,      /* the present values of a column, times, lengths and stamps */
    VV_SCRATCH_NUMBERS,     /* decimals */
    VV_SCRATCH_CORRECTIONS, /* what is between decimals and values */
    VV_SCRATCH_RESIDUALS_A, /* of two sequences that are compared; likewise the next three pairs */
    VV_SCRATCH_RESIDUALS_B,
    VV_SCRATCH_TABLE_A,
    VV_SCRATCH_TABLE_B,
    VV_SCRATCH_FRAME_A,
    VV_SCRATCH_FRAME_B,
    VV_SCRATCH_RAW_FRAME_A,
    VV_SCRATCH_RAW_FRAME_B,
    VV_SCRATCH_PLANES,
    VV_SCRATCH_DIRECTORY, /* metrics, then ends */
    VV_SCRATCH_SLOTS
};

struct vv_scratch;

/* The calling thread's working memory; NULL when it cannot be allocated. */
struct vv_scratch *vv_scratch_acquire(void);

/* Ends a use: large buffers are given back. */
void vv_scratch_relax(struct vv_scratch *scratch);

/* Frees all of the calling thread's working memory. */
void vv_scratch_release(void);

/*
 * A buffer of at least size bytes, aligned for any type, valid until the same slot is asked for
 * again. NULL when it cannot be allocated.
 */
void *vv_scratch_buffer(struct vv_scratch *scratch, enum vv_scratch_slot slot, size_t size);

/*
 * Compresses into capacity bytes. *size_out is 0 when the result does not fit. Only a failed
 * allocation is an error.
 */
enum vv_block_status vv_scratch_compress(struct vv_scratch *scratch, int level,
                                         const uint8_t *bytes, size_t size, uint8_t *out,
                                         size_t capacity, size_t *size_out);

/* Decompresses frames that must give exactly size_expected bytes. */
enum vv_block_status vv_scratch_decompress(struct vv_scratch *scratch, const uint8_t *bytes,
                                           size_t size, uint8_t *out, size_t size_expected);

#endif
