/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile chunks of steps: with a checksum that fits, so that what is behind it is reached. What
 * opens must be readable without harm.
 */
#include "tier/chunk.h"

#include <stdlib.h>
#include <string.h>
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size + sizeof(uint64_t));
    struct vv_chunk chunk;
    if (!bytes) {
        return 0;
    }
    memcpy(bytes, data, size);
    uint64_t checksum = XXH3_64bits(bytes, size);
    for (size_t i = 0; i < sizeof checksum; i++) {
        bytes[size + i] = (uint8_t)(checksum >> (8 * i));
    }
    struct vv_str whole = {(char *)bytes, size + sizeof checksum};
    if (vv_chunk_open(whole, &chunk, NULL) == VV_OK) {
        for (uint32_t i = 0; i < chunk.n_metrics && i < METRICS_MAX; i++) {
            read_metric(&chunk, i);
        }
    }
    free(bytes);
    return 0;
}
