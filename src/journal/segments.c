/* SPDX-License-Identifier: Apache-2.0 */
/* The list of segments. */
#include "journal/journal_private.h"

#include <stdlib.h>

enum vv_status vv_journal_segments_reserve(struct vv_journal_segments *segments,
                                           struct vv_error *error)
{
    if (segments->count < segments->capacity) {
        return VV_OK;
    }
    size_t capacity = segments->capacity ? segments->capacity * 2 : 8;
    struct vv_journal_segment *items = realloc(segments->items, capacity * sizeof *items);
    if (!items) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for a list of %zu segments",
                            capacity);
    }
    segments->items = items;
    segments->capacity = capacity;
    return VV_OK;
}

void vv_journal_segments_push(struct vv_journal_segments *segments,
                              struct vv_journal_segment segment)
{
    vv_invariant(segments->count < segments->capacity);
    segments->items[segments->count++] = segment;
}

void vv_journal_segments_pop_front(struct vv_journal_segments *segments)
{
    vv_invariant(segments->count > 0);
    segments->count--;
    memmove(segments->items, segments->items + 1, segments->count * sizeof *segments->items);
}

struct vv_journal_segment *vv_journal_segments_last(struct vv_journal_segments *segments)
{
    return segments->count ? &segments->items[segments->count - 1] : NULL;
}

uint64_t vv_journal_segments_file_bytes(const struct vv_journal_segments *segments)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < segments->count; i++) {
        bytes += segments->items[i].file_bytes;
    }
    return bytes;
}
