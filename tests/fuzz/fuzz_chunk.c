/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile chunks of steps: with checksums that fit, so that what is behind them is reached. What
 * opens must be readable without harm. The first byte says how long the head is, without its
 * checksum; the next two, low one first, how long the block is; all behind that is sketches.
 */
#include "tier/chunk.h"

#include <stdlib.h>
#include <xxhash.h>

#define METRICS_MAX 16u

static void read_metric(const struct vv_chunk *chunk, uint32_t index)
{
    int64_t *starts = malloc(chunk->n_steps * sizeof *starts);
    struct vv_step *steps = malloc(chunk->n_steps * sizeof *steps);
    struct vv_sketch *sketches = malloc(chunk->n_steps * sizeof *sketches);
    struct vv_step all = {0};
    uint32_t metric;
    enum vv_value_type type;
    if (starts && steps && sketches &&
        vv_chunk_metric(chunk, index, &metric, &type, NULL) == VV_OK &&
        vv_chunk_starts(chunk, starts, NULL) == VV_OK &&
        vv_chunk_steps(chunk, index, starts, steps, NULL) == VV_OK) {
        for (uint32_t i = 0; i < chunk->n_steps; i++) {
            vv_step_merge(type, VV_STEP_ALL, &all, &steps[i]);
        }
        if (chunk->has_sketches &&
            vv_chunk_sketches(chunk, index, steps, sketches, NULL) == VV_OK) {
            for (uint32_t i = 0; i < chunk->n_steps; i++) {
                vv_sketch_deinit(&sketches[i]);
            }
        }
    }
    free(starts);
    free(steps);
    free(sketches);
}

static void add_checked(struct vv_buffer *buffer, const uint8_t *bytes, size_t size)
{
    vv_buffer_append(buffer, bytes, size);
    vv_buffer_u64(buffer, XXH3_64bits(bytes, size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vv_buffer bytes = {0};
    struct vv_reader input = vv_reader_of(data, size);
    struct vv_chunk chunk;
    uint8_t head_size = vv_reader_u8(&input);
    uint16_t block_size = vv_reader_u16(&input);
    const uint8_t *head = vv_reader_bytes(&input, head_size);
    const uint8_t *block = vv_reader_bytes(&input, block_size);
    if (input.failed) {
        return 0;
    }
    add_checked(&bytes, head, head_size);
    vv_buffer_append(&bytes, block, block_size);
    if (vv_reader_left(&input) > 0) {
        add_checked(&bytes, input.data + input.at, vv_reader_left(&input));
    }
    if (vv_buffer_status(&bytes) != VV_OK) {
        vv_buffer_deinit(&bytes);
        return 0;
    }
    struct vv_str whole = {(char *)bytes.data, bytes.size};
    if (vv_chunk_open_steps(whole, &chunk, NULL) == VV_OK) {
        read_metric(&chunk, 0);
    }
    if (vv_chunk_open(whole, &chunk, NULL) == VV_OK) {
        for (uint32_t i = 0; i < chunk.n_metrics && i < METRICS_MAX; i++) {
            read_metric(&chunk, i);
        }
    }
    vv_buffer_deinit(&bytes);
    return 0;
}
