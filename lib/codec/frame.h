/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zstd frames, made and read with contexts that the calling thread keeps for its next call: a
 * context costs more to make than a small frame does (it asks the processor what it can do, which
 * a virtual machine answers slowly, and clears its tables).
 *
 * Threads: as block.h.
 */
#ifndef VV_CODEC_FRAME_H
#define VV_CODEC_FRAME_H

#include "block.h"

/*
 * Compresses into capacity bytes at level 1 to 19. *size_out is 0 when the result does not fit.
 * VV_BLOCK_NO_MEMORY.
 */
VV_BLOCK_MUST_CHECK enum vv_block_status vv_frame_encode(int level, const uint8_t *bytes,
                                                         size_t size, uint8_t *out, size_t capacity,
                                                         size_t *size_out);

/* How many bytes hostile bytes say that they are a frame of; UINT64_MAX when they don't say it. */
uint64_t vv_frame_content_size(const uint8_t *bytes, size_t size);

/*
 * Decompresses hostile bytes that must be one frame of exactly size_expected bytes, for which out
 * has room. VV_BLOCK_CORRUPT, VV_BLOCK_NO_MEMORY.
 */
VV_BLOCK_MUST_CHECK enum vv_block_status vv_frame_decode(const uint8_t *bytes, size_t size,
                                                         uint8_t *out, size_t size_expected);

#endif
