/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a segment: a window over the file, records checked one by one. */
#include "journal/scan.h"

#include <stdlib.h>

#define WINDOW_SIZE ((size_t)1 << 20)

enum vv_status vv_segment_scan_init(struct vv_segment_scan *scan, struct vv_file *file,
                                    uint64_t seed, uint64_t limit, struct vv_error *error)
{
    *scan = (struct vv_segment_scan){.file = file,
                                     .seed = seed,
                                     .limit = limit,
                                     .at = VV_SEGMENT_HEADER_SIZE,
                                     .commit_start = VV_SEGMENT_HEADER_SIZE,
                                     .commit_complete = true};
    if (limit == VV_SEGMENT_END_OF_FILE) {
        return file->ops->size(file, &scan->limit, error);
    }
    return VV_OK;
}

void vv_segment_scan_deinit(struct vv_segment_scan *scan)
{
    free(scan->window);
    scan->window = NULL;
}

static enum vv_status window_grow(struct vv_segment_scan *scan, size_t size, struct vv_error *error)
{
    if (size <= scan->window_capacity) {
        return VV_OK;
    }
    size_t capacity = size < WINDOW_SIZE ? WINDOW_SIZE : size;
    uint8_t *window = realloc(scan->window, capacity);
    if (!window) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for a record of %zu bytes", size);
    }
    scan->window = window;
    scan->window_capacity = capacity;
    return VV_OK;
}

/* Borrows `size` bytes at `offset`; NULL when the file ends before. */
static enum vv_status window_read(struct vv_segment_scan *scan, uint64_t offset, size_t size,
                                  const uint8_t **bytes_out, struct vv_error *error)
{
    *bytes_out = NULL;
    bool inside = offset >= scan->window_at && offset - scan->window_at <= scan->window_size &&
                  size <= scan->window_size - (offset - scan->window_at);
    if (!inside) {
        enum vv_status status = window_grow(scan, size, error);
        if (status != VV_OK) {
            return status;
        }
        scan->window_size = 0;
        scan->window_at = offset;
        status = scan->file->ops->read(scan->file, offset, scan->window, scan->window_capacity,
                                       &scan->window_size, error);
        if (status != VV_OK) {
            scan->window_size = 0;
            return status;
        }
        if (scan->window_size < size) {
            return VV_OK;
        }
    }
    *bytes_out = scan->window + (offset - scan->window_at);
    return VV_OK;
}

/* Whether a record of this commit may follow the last valid one. */
static bool follows(const struct vv_segment_scan *scan, uint32_t commit)
{
    return scan->commit_complete ? commit == scan->commit + 1 : commit == scan->commit;
}

/* The record's header at scan->at; false when there is none. */
static enum vv_status read_header(struct vv_segment_scan *scan, struct vv_segment_record *header,
                                  bool *valid_out, struct vv_error *error)
{
    *valid_out = false;
    if (scan->limit - scan->at < VV_SEGMENT_RECORD_SIZE) {
        return VV_OK;
    }
    const uint8_t *bytes;
    enum vv_status status = window_read(scan, scan->at, VV_SEGMENT_RECORD_SIZE, &bytes, error);
    if (status != VV_OK || !bytes) {
        return status;
    }
    *valid_out = vv_segment_record_decode(bytes, scan->seed, scan->at, header) &&
                 follows(scan, header->commit) &&
                 vv_segment_record_bytes(header->size) <= scan->limit - scan->at;
    return VV_OK;
}

enum vv_status vv_segment_scan_next(struct vv_segment_scan *scan,
                                    struct vv_journal_record *record_out, struct vv_error *error)
{
    if (scan->at == scan->limit) {
        return VV_DONE;
    }
    struct vv_segment_record header = {0};
    bool valid = false;
    enum vv_status status =
        scan->at < scan->limit ? read_header(scan, &header, &valid, error) : VV_OK;
    if (status != VV_OK || !valid) {
        return status != VV_OK ? status : VV_CORRUPT;
    }
    const uint8_t *bytes;
    size_t whole = (size_t)vv_segment_record_bytes(header.size);
    status = window_read(scan, scan->at, whole, &bytes, error);
    if (status != VV_OK) {
        return status;
    }
    if (!bytes || !vv_segment_payload_valid(&header, bytes + VV_SEGMENT_RECORD_SIZE, scan->seed)) {
        return VV_CORRUPT;
    }
    if (scan->commit_complete) {
        scan->commit_start = scan->at;
    }
    scan->commit = header.commit;
    scan->commit_complete = header.last;
    scan->at += whole;
    *record_out = (struct vv_journal_record){
        .stamp = header.stamp,
        .kind = header.kind,
        .bytes = bytes + VV_SEGMENT_RECORD_SIZE,
        .size = header.size,
    };
    return VV_OK;
}

enum vv_status vv_segment_scan_is_damage(struct vv_segment_scan *scan, bool *damage_out,
                                         struct vv_error *error)
{
    *damage_out = false;
    /* The commit that was being written when the tail was torn; a later one proves it durable. */
    uint32_t torn = scan->commit_complete ? scan->commit + 1 : scan->commit;
    uint64_t offset = scan->at + VV_SEGMENT_ALIGNMENT;
    while (offset < scan->limit && scan->limit - offset >= VV_SEGMENT_RECORD_SIZE) {
        const uint8_t *bytes;
        enum vv_status status = window_read(scan, offset, VV_SEGMENT_RECORD_SIZE, &bytes, error);
        if (status != VV_OK) {
            return status;
        }
        struct vv_segment_record header;
        if (!bytes) {
            return VV_OK;
        }
        if (vv_segment_record_decode(bytes, scan->seed, offset, &header) && header.commit > torn) {
            *damage_out = true;
            return VV_OK;
        }
        offset += VV_SEGMENT_ALIGNMENT;
    }
    return VV_OK;
}
