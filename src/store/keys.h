/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of the stores that keep sorted bytes. Integers are big-endian, and a signed one has its sign
 * bit flipped, so that the order of the bytes is the order of the values. The region is not in
 * them: they are of this node's own. Pure functions, any thread.
 *
 *   span   38 bytes: tenant 4, source 4, bucket start 8 (signed), bucket length 8 (signed),
 *          split 2, measurement 4, span start 8 (signed)
 *   run    50 bytes: span 38, stamp of the run 8, part 4
 *   block  42 bytes: span 38, part 4
 *   mark   46 bytes: due 8 (signed), span 38; its value, 16 bytes: run 8, span length 8 (signed)
 */
#ifndef VV_STORE_KEYS_H
#define VV_STORE_KEYS_H

#include "store/store.h"

#define VV_KEY_SOURCE_SIZE    8  /* tenant and source */
#define VV_KEY_PARTITION_SIZE 26 /* up to the split */
#define VV_KEY_SPAN_SIZE      38
#define VV_KEY_RUN_SIZE       50
#define VV_KEY_BLOCK_SIZE     42
#define VV_KEY_MARK_SIZE      46
#define VV_MARK_VALUE_SIZE    16

/* Each writes as many bytes as its SIZE says. */
void vv_key_from_source(uint32_t tenant, uint32_t source, uint8_t *out);
void vv_key_from_partition(const struct vv_partition *partition, uint8_t *out);
void vv_key_from_span(const struct vv_span_key *key, uint8_t *out);
void vv_key_from_run(const struct vv_piece *run, uint8_t *out);
void vv_key_from_block(const struct vv_piece *block, uint8_t *out);
void vv_key_from_mark(const struct vv_mark *mark, uint8_t *out);
void vv_mark_value(const struct vv_mark *mark, uint8_t *out);

/* Each reads as many bytes as its SIZE says; the pieces' bytes are left alone. */
struct vv_partition vv_key_to_partition(const uint8_t *bytes);
void vv_key_to_span(const uint8_t *bytes, struct vv_span_key *key_out);
void vv_key_to_run(const uint8_t *bytes, struct vv_piece *run_out);
void vv_key_to_block(const uint8_t *bytes, struct vv_piece *block_out);
void vv_key_to_mark(const uint8_t *key, const uint8_t *value, struct vv_mark *mark_out);

/* VV_INVALID when a span lies outside of what times and buckets can be, or in another region. */
VV_MUST_CHECK enum vv_status vv_key_check(const struct vv_span_key *key, struct vv_error *error);

/* VV_INVALID when pieces are not what put_blocks takes: blocks that ascend by key and part, empty
 * bytes in a span's only piece, part 0, alone. */
VV_MUST_CHECK enum vv_status vv_key_check_blocks(const struct vv_piece *pieces, size_t n,
                                                 struct vv_error *error);

/* Turns bytes into the least that are above all which begin with them; returns their length, 0 when
 * there are none (all were 0xff). */
size_t vv_key_successor(uint8_t *bytes, size_t size);

/* The range of spans [span_from, span_to) of a read, as keys of spans; of one of its buckets. */
void vv_key_read_bounds(const struct vv_store_read *read, uint32_t bucket, uint8_t *from_out,
                        uint8_t *to_out);

/* The same of its blocks: keys of spans or, where single parts are read, of blocks, as long as it
 * returns. */
size_t vv_key_block_bounds(const struct vv_store_read *read, uint32_t bucket,
                           uint8_t from_out[VV_KEY_BLOCK_SIZE], uint8_t to_out[VV_KEY_BLOCK_SIZE]);

static inline void vv_key_put_u16(uint8_t *out, uint16_t value)
{
    out[0] = (uint8_t)(value >> 8);
    out[1] = (uint8_t)value;
}

static inline void vv_key_put_u32(uint8_t *out, uint32_t value)
{
    vv_key_put_u16(out, (uint16_t)(value >> 16));
    vv_key_put_u16(out + 2, (uint16_t)value);
}

static inline void vv_key_put_u64(uint8_t *out, uint64_t value)
{
    vv_key_put_u32(out, (uint32_t)(value >> 32));
    vv_key_put_u32(out + 4, (uint32_t)value);
}

static inline void vv_key_put_i64(uint8_t *out, int64_t value)
{
    vv_key_put_u64(out, (uint64_t)value ^ (UINT64_C(1) << 63));
}

static inline uint16_t vv_key_get_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t vv_key_get_u32(const uint8_t *bytes)
{
    return (uint32_t)vv_key_get_u16(bytes) << 16 | vv_key_get_u16(bytes + 2);
}

static inline uint64_t vv_key_get_u64(const uint8_t *bytes)
{
    return (uint64_t)vv_key_get_u32(bytes) << 32 | vv_key_get_u32(bytes + 4);
}

static inline int64_t vv_key_get_i64(const uint8_t *bytes)
{
    return (int64_t)(vv_key_get_u64(bytes) ^ (UINT64_C(1) << 63));
}

#endif
