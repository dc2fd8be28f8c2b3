/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source's markers in the metadata, version 1. Integers are varints, signed ones zigzag.
 *
 *   u8 form (1), how many markers; for each: u8 scope, u8 flags (1: swept, 2: cleared, 4: told),
 *   number, from in ns (signed), to in ns (signed), u64 stamp
 *
 * Nothing may follow. The key is the source's number, big-endian.
 */
#include "deletion/private.h"

#include "model/partition.h"

#include <stdlib.h>
#include <string.h>

#define FORM_VERSION 1
#define FLAG_SWEPT   1u
#define FLAG_CLEARED 2u
#define FLAG_TOLD    4u
#define FLAGS_MAX    7u
#define MARKER_MIN   13 /* bytes */

static uint8_t flags_of(const struct vv_marker *marker)
{
    return (uint8_t)((marker->is_swept ? FLAG_SWEPT : 0) | (marker->is_cleared ? FLAG_CLEARED : 0) |
                     (marker->is_told ? FLAG_TOLD : 0));
}

bool vv_deletions_encode(struct vv_deletions *deletions, uint32_t source, struct vv_buffer *buffer)
{
    pthread_rwlock_rdlock(&deletions->lock);
    const struct vv_marked_source *place = vv_marked_find(deletions, source);
    size_t n = place ? place->now.n : 0;
    if (n > 0) {
        vv_buffer_u8(buffer, FORM_VERSION);
        vv_buffer_varint(buffer, n);
    }
    for (size_t i = 0; i < n; i++) {
        const struct vv_marker *marker = &place->now.items[i];
        vv_buffer_u8(buffer, marker->scope);
        vv_buffer_u8(buffer, flags_of(marker));
        vv_buffer_varint(buffer, marker->number);
        vv_buffer_zigzag(buffer, marker->from);
        vv_buffer_zigzag(buffer, marker->to);
        vv_buffer_u64(buffer, marker->stamp);
    }
    pthread_rwlock_unlock(&deletions->lock);
    return n > 0;
}

static bool read_marker(struct vv_reader *reader, struct vv_marker *marker_out)
{
    uint8_t scope = vv_reader_u8(reader);
    uint8_t flags = vv_reader_u8(reader);
    uint64_t number = vv_reader_varint(reader);
    int64_t from = vv_reader_zigzag(reader);
    int64_t to = vv_reader_zigzag(reader);
    vv_stamp stamp = vv_reader_u64(reader);
    *marker_out = (struct vv_marker){.from = from,
                                     .to = to,
                                     .stamp = stamp,
                                     .scope = scope,
                                     .is_swept = (flags & FLAG_SWEPT) != 0,
                                     .is_cleared = (flags & FLAG_CLEARED) != 0,
                                     .is_told = (flags & FLAG_TOLD) != 0,
                                     .number = (uint32_t)number};
    return !reader->failed && scope >= VV_DELETION_SOURCE && scope <= VV_DELETION_METRIC &&
           flags <= FLAGS_MAX && number < UINT32_MAX && from >= VV_TIME_MIN && from < to &&
           to <= VV_TIME_MAX + 1;
}

/* Adds what the reader has to a copy of what is there. */
static enum vv_status apply(struct vv_deletions *deletions, uint32_t source,
                            struct vv_reader *reader, uint64_t n)
{
    struct vv_marked_source *place = vv_marked_make(deletions, source);
    struct vv_markers markers = {0};
    enum vv_status status =
        place ? vv_markers_reserve(&markers, place->now.n + (size_t)n) : VV_NO_MEMORY;
    if (status == VV_OK && place->now.n > 0) {
        memcpy(markers.items, place->now.items, place->now.n * sizeof *markers.items);
        markers.n = place->now.n;
    }
    for (uint64_t i = 0; i < n && status == VV_OK; i++) {
        struct vv_marker marker;
        status = read_marker(reader, &marker) ? vv_markers_add(&markers, &marker) : VV_CORRUPT;
    }
    if (status == VV_OK && vv_reader_left(reader) > 0) {
        status = VV_CORRUPT;
    }
    if (status == VV_OK) {
        vv_marked_note_newest(deletions, &markers);
        vv_marked_replace(deletions, place, &markers);
    }
    free(markers.items);
    return status;
}

enum vv_status vv_deletions_apply(struct vv_deletions *deletions, uint32_t source,
                                  struct vv_str record, struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(record.data, record.size);
    uint8_t form = vv_reader_u8(&reader);
    uint64_t n = vv_reader_varint(&reader);
    if (!reader.failed && form > FORM_VERSION) {
        return vv_error_set(error, VV_NEWER,
                            "markers of deletion in the store have form %u, this program knows up "
                            "to %d: use a newer program",
                            (unsigned)form, FORM_VERSION);
    }
    bool good = !reader.failed && form > 0 && n > 0 && n <= vv_reader_left(&reader) / MARKER_MIN;
    enum vv_status status = VV_CORRUPT;
    if (good) {
        pthread_rwlock_wrlock(&deletions->lock);
        status = apply(deletions, source, &reader, n);
        pthread_rwlock_unlock(&deletions->lock);
    }
    if (status == VV_CORRUPT) {
        return vv_error_set(error, status, "the markers of deletion of source %u are damaged",
                            (unsigned)source);
    }
    return status == VV_OK ? status : vv_error_set(error, status, "out of memory");
}
