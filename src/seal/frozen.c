/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/frozen.h"

#include "tier/chunk.h"
#include "tier/unit.h"

#include <stdlib.h>

void vv_frozen_begin(struct vv_frozen *frozen)
{
    vv_piece_list_truncate(&frozen->record, 0);
    frozen->is_read = false;
}

void vv_frozen_deinit(struct vv_frozen *frozen)
{
    vv_piece_list_deinit(&frozen->record);
}

/* ---- reading ---- */

static enum vv_status take(void *context, const struct vv_piece *piece)
{
    struct vv_frozen *frozen = context;
    bool is_part = piece->kind == VV_PIECE_BLOCK && piece->bytes.size > 0;
    return !is_part || vv_piece_list_add(&frozen->record, piece, true) ? VV_OK : VV_NO_MEMORY;
}

static enum vv_status read_record(struct vv_frozen *frozen, struct vv_store *store,
                                  const struct vv_span_key *key, struct vv_error *error)
{
    const struct vv_store_read read = {.partition = key->partition,
                                       .measurement = key->measurement,
                                       .span_from = key->span_start,
                                       .span_to = key->span_start + 1};
    if (frozen->is_read) {
        return VV_OK;
    }
    frozen->is_read = true;
    return store->ops->read(store, &read, take, frozen, error);
}

/* ---- what it has ---- */

/* Times of n rows, each of which stands for so much time; false: damaged. */
typedef bool (*read_times)(const void *context, int64_t *times_out);

static bool chunk_times(const void *context, int64_t *times_out)
{
    return vv_chunk_starts(context, times_out, NULL) == VV_OK;
}

static bool block_times(const void *context, int64_t *times_out)
{
    return vv_block_times(context, times_out) == VV_BLOCK_OK;
}

static enum vv_status any_meets(read_times read, const void *context, size_t n, int64_t length,
                                int64_t from, int64_t to, bool *has)
{
    int64_t *times = malloc((n ? n : 1) * sizeof *times);
    if (!times) {
        return VV_NO_MEMORY;
    }
    bool good = read(context, times);
    for (size_t i = 0; i < n && good && !*has; i++) {
        *has = times[i] < to && times[i] > from - length;
    }
    free(times);
    return VV_OK;
}

static enum vv_status part_meets(struct vv_str bytes, int64_t from, int64_t to, bool *has)
{
    struct vv_unit_record record;
    struct vv_chunk chunk;
    struct vv_block block;
    if (vv_unit_read(bytes, &record, NULL) != VV_OK) {
        return VV_OK;
    }
    const struct vv_str *content = &record.content;
    if (record.kind == VV_UNIT_STEPS) {
        return vv_chunk_open_steps(*content, &chunk, NULL) == VV_OK
                   ? any_meets(chunk_times, &chunk, chunk.n_steps, chunk.step_ns, from, to, has)
                   : VV_OK;
    }
    return vv_block_open((const uint8_t *)content->data, content->size, &block) == VV_BLOCK_OK
               ? any_meets(block_times, &block, block.n_rows, 1, from, to, has)
               : VV_OK;
}

enum vv_status vv_frozen_has(struct vv_frozen *frozen, struct vv_store *store,
                             const struct vv_span_key *key, int64_t from, int64_t to, bool *has_out,
                             struct vv_error *error)
{
    *has_out = false;
    enum vv_status status = read_record(frozen, store, key, error);
    for (size_t i = 0; i < frozen->record.n && status == VV_OK && !*has_out; i++) {
        status = part_meets(frozen->record.items[i].bytes, from, to, has_out);
    }
    return status == VV_NO_MEMORY
               ? vv_error_set(error, status, "out of memory while building tiers")
               : status;
}

enum vv_status vv_frozen_keep(const struct vv_frozen *frozen, int64_t made_from,
                              struct vv_piece_list *blocks_out)
{
    for (size_t i = 0; i < frozen->record.n; i++) {
        struct vv_piece piece = frozen->record.items[i];
        piece.version = made_from;
        if (!vv_piece_list_add(blocks_out, &piece, true)) {
            return VV_NO_MEMORY;
        }
    }
    return VV_OK;
}
