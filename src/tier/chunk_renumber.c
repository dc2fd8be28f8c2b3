/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same chunk with other numbers of its metrics: they stand in its block only, once for each
 * column, so all but its head's sizes and the block is copied as it is.
 */
#include "tier/chunk_format.h"

#include <stdlib.h>
#include <xxhash.h>

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading steps");
}

/* The number of each column. NULL: no memory. */
static uint32_t *spread_over_columns(const struct vv_chunk *chunk, const uint32_t *metrics)
{
    uint32_t at = 0;
    uint32_t *numbers = malloc(((size_t)chunk->block_.n_columns + 1) * sizeof *numbers);
    for (uint32_t m = 0; numbers && m < chunk->n_metrics; m++) {
        for (uint32_t c = vv_chunk_columns(chunk->types_[m]); c > 0; c--) {
            numbers[at++] = metrics[m];
        }
    }
    return numbers;
}

/* The block under the other numbers. */
static enum vv_status make_block(const struct vv_chunk *chunk, struct vv_str block,
                                 const uint32_t *metrics, struct vv_buffer *out,
                                 struct vv_error *error)
{
    size_t size = 0;
    size_t bound = vv_block_renumbered_bound(&chunk->block_, block.size);
    uint32_t *numbers = spread_over_columns(chunk, metrics);
    uint8_t *bytes = vv_buffer_reserve(out, bound);
    enum vv_block_status status = VV_BLOCK_NO_MEMORY;
    if (numbers && bytes) {
        status = vv_block_renumber((const uint8_t *)block.data, block.size, numbers, bytes, bound,
                                   &size);
    }
    out->size += size;
    free(numbers);
    if (status == VV_BLOCK_OK) {
        return VV_OK;
    }
    return status == VV_BLOCK_NO_MEMORY
               ? no_memory(error)
               : vv_error_set(error, VV_CORRUPT, "a chunk of steps is damaged");
}

/* Sketches have a checksum of their own and are not looked at. */
enum vv_status vv_chunk_renumber(struct vv_str bytes, const uint32_t *metrics,
                                 struct vv_buffer *out, struct vv_error *error)
{
    struct vv_chunk_head head;
    struct vv_chunk chunk;
    struct vv_buffer block = {0};
    size_t begin = out->size;
    enum vv_status status = vv_chunk_look(bytes, &head, error);
    if (status == VV_OK) {
        status = vv_chunk_open_steps(bytes, &chunk, error);
    }
    if (status != VV_OK) {
        return status;
    }
    size_t before = (size_t)((const char *)chunk.types_ + chunk.n_metrics - bytes.data);
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    (void)vv_reader_bytes(&reader, before);
    size_t old_size = (size_t)vv_reader_varint(&reader);
    uint64_t sketches_size = vv_reader_varint(&reader);
    const struct vv_str old = {bytes.data + head.steps_size - old_size, old_size};
    status = make_block(&chunk, old, metrics, &block, error);
    if (status == VV_OK) {
        vv_buffer_append(out, bytes.data, before);
        vv_buffer_varint(out, block.size);
        vv_buffer_varint(out, sketches_size);
    }
    if (status == VV_OK && !out->failed) {
        vv_buffer_u64(out, XXH3_64bits(out->data + begin, out->size - begin));
        vv_buffer_append(out, block.data, block.size);
        vv_buffer_append(out, bytes.data + head.steps_size, bytes.size - head.steps_size);
    }
    vv_buffer_deinit(&block);
    return status == VV_OK && out->failed ? no_memory(error) : status;
}
