/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/frozen.h"

#include "tier/chunk.h"

#include <stdlib.h>

void vv_frozen_begin(struct vv_frozen *frozen)
{
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        vv_piece_list_truncate(&frozen->tiers[tier].parts, 0);
        frozen->tiers[tier].is_read = false;
    }
}

void vv_frozen_deinit(struct vv_frozen *frozen)
{
    for (size_t tier = 0; tier < VV_SPACES; tier++) {
        vv_piece_list_deinit(&frozen->tiers[tier].parts);
    }
}

enum vv_status vv_frozen_take(void *records, const struct vv_piece *piece)
{
    struct vv_frozen_records *taking = records;
    bool is_part = piece->kind == VV_PIECE_BLOCK && piece->bytes.size > 0;
    return !is_part || vv_piece_list_add(&taking->parts, piece, true) ? VV_OK : VV_NO_MEMORY;
}

/* ---- what they have ---- */

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

bool vv_frozen_is_whole(const struct vv_unit_record *record, const struct vv_expired *expired)
{
    return record->whole_at > 0 && !vv_expired_may(expired, record->whole_at, record->unit.from);
}

/* `expired`: as of vv_frozen_look; NULL: whatever the record says. */
static enum vv_status part_meets(struct vv_str bytes, int64_t from, int64_t to,
                                 const struct vv_expired *expired, bool *has, bool *covers,
                                 bool *unreadable)
{
    struct vv_unit_record record;
    struct vv_chunk chunk;
    struct vv_block block;
    *unreadable = true;
    if (vv_unit_read(bytes, &record, NULL) != VV_OK) {
        return VV_OK;
    }
    const struct vv_str *content = &record.content;
    bool is_of_all = record.unit.from <= from && record.unit.to >= to;
    if (expired && vv_frozen_is_whole(&record, expired)) {
        *covers |= is_of_all;
        *unreadable = false;
        return VV_OK;
    }
    if (record.kind == VV_UNIT_STEPS) {
        if (vv_chunk_open_steps(*content, &chunk, NULL) != VV_OK) {
            return VV_OK;
        }
        *covers |= is_of_all;
        *unreadable = false;
        return any_meets(chunk_times, &chunk, chunk.n_steps, chunk.step_ns, from, to, has);
    }
    if (vv_block_open((const uint8_t *)content->data, content->size, &block) != VV_BLOCK_OK) {
        return VV_OK;
    }
    *covers |= is_of_all;
    *unreadable = false;
    return any_meets(block_times, &block, block.n_rows, 1, from, to, has);
}

enum vv_status vv_frozen_meets(struct vv_str bytes, int64_t from, int64_t to, bool *has_out)
{
    bool covers = false;
    bool is_unreadable;
    *has_out = false;
    return part_meets(bytes, from, to, NULL, has_out, &covers, &is_unreadable);
}

enum vv_status vv_frozen_look(const struct vv_frozen_records *records, int64_t from, int64_t to,
                              const struct vv_expired *expired, struct vv_frozen_found *found_out)
{
    enum vv_status status = VV_OK;
    *found_out = (struct vv_frozen_found){0};
    for (size_t i = 0; i < records->parts.n && status == VV_OK && !found_out->has; i++) {
        bool is_unreadable;
        status = part_meets(records->parts.items[i].bytes, from, to, expired, &found_out->has,
                            &found_out->covers, &is_unreadable);
        found_out->is_unreadable |= is_unreadable;
    }
    return status;
}

enum vv_status vv_frozen_keep(const struct vv_frozen_records *records, int64_t made_from,
                              struct vv_piece_list *blocks_out)
{
    for (size_t i = 0; i < records->parts.n; i++) {
        struct vv_piece piece = records->parts.items[i];
        piece.version = made_from;
        if (!vv_piece_list_add(blocks_out, &piece, true)) {
            return VV_NO_MEMORY;
        }
    }
    return VV_OK;
}
