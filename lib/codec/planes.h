/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte planes: the lowest bytes of all numbers, then their second bytes, and so on, compressed
 * with zstd. Bytes of equal weight resemble each other, which bit-packing hides.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_PLANES_H
#define VV_CODEC_PLANES_H

#include "bytes.h"
#include "scratch.h"

struct vv_planes {
    uint64_t base;
    unsigned n_planes;
    const uint8_t *frame; /* NULL when compression did not pay; else in the scratch's slot */
    size_t frame_size;
    size_t size; /* base, n_planes and frame */
};

/* Splits and compresses count numbers to fewer than size_limit bytes in all, if it can. */
enum vv_block_status vv_planes_plan(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                    int zstd_level, const uint64_t *values, size_t count,
                                    size_t size_limit, struct vv_planes *planes_out);

void vv_planes_write(const struct vv_planes *planes, struct vv_writer *writer);

/* Reads count numbers from what is left in the reader, up to its end. */
enum vv_block_status vv_planes_read(struct vv_scratch *scratch, struct vv_reader *reader,
                                    size_t count, uint64_t *values_out);

#endif
