/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as plain words, and the same compressed: the form for sequences that repeat themselves
 * in a way that no prediction sees.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_RAW_H
#define VV_CODEC_RAW_H

#include "bytes.h"
#include "scratch.h"

struct vv_raw_frame {
    const uint8_t *bytes; /* NULL when compression did not pay; else in the scratch's slot */
    size_t size;
};

void vv_raw_write(const uint64_t *numbers, size_t count, struct vv_writer *writer);
void vv_raw_read(struct vv_reader *reader, size_t count, uint64_t *numbers_out);

/* Compresses numbers that repeat often to fewer than size_limit bytes, if it can. */
enum vv_block_status vv_raw_plan(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                 int zstd_level, const uint64_t *numbers, size_t count,
                                 size_t size_limit, struct vv_raw_frame *frame_out);

/* Reads count numbers from the frame that fills the rest of the reader. */
enum vv_block_status vv_raw_read_frame(struct vv_scratch *scratch, struct vv_reader *reader,
                                       size_t count, uint64_t *numbers_out);

#endif
