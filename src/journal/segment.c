/* SPDX-License-Identifier: Apache-2.0 */
/* Segment headers, records and file names: bytes to structs and back. */
#include "journal/segment.h"

#include <stdio.h>
#include <xxhash.h>

#define NAME_DIGITS 16u

static uint64_t checksum(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

static void put(uint8_t *out, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t get(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

void vv_segment_header_encode(struct vv_segment_header *header, uint8_t out[VV_SEGMENT_HEADER_SIZE])
{
    memset(out, 0, VV_SEGMENT_HEADER_SIZE);
    memcpy(out, VV_SEGMENT_MAGIC, 8);
    put(out + 8, VV_SEGMENT_VERSION, 4);
    put(out + 12, VV_SEGMENT_HEADER_SIZE, 4);
    put(out + 16, header->number, 8);
    put(out + 24, (uint64_t)header->created_ns, 8);
    put(out + 32, header->previous_number, 8);
    put(out + 40, header->previous_end, 8);
    header->seed = checksum(out, VV_SEGMENT_CHECKSUM_AT, 0);
    put(out + VV_SEGMENT_CHECKSUM_AT, header->seed, 8);
}

enum vv_status vv_segment_header_decode(const uint8_t *bytes, size_t size, const char *path,
                                        struct vv_segment_header *header_out,
                                        struct vv_error *error)
{
    if (size < VV_SEGMENT_HEADER_SIZE || memcmp(bytes, VV_SEGMENT_MAGIC, 8) != 0 ||
        get(bytes + VV_SEGMENT_CHECKSUM_AT, 8) != checksum(bytes, VV_SEGMENT_CHECKSUM_AT, 0)) {
        return vv_error_set(error, VV_CORRUPT, "the header of %s is damaged", path);
    }
    uint64_t version = get(bytes + 8, 4);
    if (version > VV_SEGMENT_VERSION) {
        return vv_error_set(error, VV_NEWER,
                            "%s has version %u, this program reads up to %u: use the newer program",
                            path, (unsigned)version, VV_SEGMENT_VERSION);
    }
    if (version == 0 || get(bytes + 12, 4) != VV_SEGMENT_HEADER_SIZE) {
        return vv_error_set(error, VV_CORRUPT, "the header of %s is malformed", path);
    }
    *header_out = (struct vv_segment_header){
        .number = get(bytes + 16, 8),
        .created_ns = (int64_t)get(bytes + 24, 8),
        .previous_number = get(bytes + 32, 8),
        .previous_end = get(bytes + 40, 8),
        .seed = get(bytes + VV_SEGMENT_CHECKSUM_AT, 8),
    };
    return VV_OK;
}

void vv_segment_record_encode(struct vv_buffer *buffer, uint64_t seed, uint64_t offset,
                              const struct vv_journal_record *record, uint32_t commit, bool last)
{
    size_t whole = (size_t)vv_segment_record_bytes(record->size);
    uint8_t *out = vv_buffer_reserve(buffer, whole);
    if (!out) {
        return;
    }
    memset(out, 0, VV_SEGMENT_RECORD_SIZE);
    put(out, record->size, 4);
    put(out + 4, commit, 4);
    out[8] = record->kind;
    out[9] = last ? VV_SEGMENT_FLAG_LAST : 0;
    put(out + 16, record->stamp, 8);
    uint8_t *payload = out + VV_SEGMENT_RECORD_SIZE;
    if (record->size) {
        memcpy(payload, record->bytes, record->size);
    }
    memset(payload + record->size, 0, whole - VV_SEGMENT_RECORD_SIZE - record->size);
    put(out + 24, checksum(payload, record->size, seed), 8);
    put(out + VV_SEGMENT_RECORD_HEADER_AT,
        checksum(out, VV_SEGMENT_RECORD_HEADER_AT, seed + offset), 8);
    buffer->size += whole;
}

bool vv_segment_record_decode(const uint8_t *bytes, uint64_t seed, uint64_t offset,
                              struct vv_segment_record *record_out)
{
    uint8_t kind = bytes[8];
    uint8_t flags = bytes[9];
    /* Zeros end most tails: they need no checksum. */
    if (kind == 0 || flags > VV_SEGMENT_FLAG_LAST || get(bytes + 10, 6) != 0 ||
        get(bytes, 4) > VV_JOURNAL_RECORD_BYTES_MAX) {
        return false;
    }
    if (get(bytes + VV_SEGMENT_RECORD_HEADER_AT, 8) !=
        checksum(bytes, VV_SEGMENT_RECORD_HEADER_AT, seed + offset)) {
        return false;
    }
    *record_out = (struct vv_segment_record){
        .size = (uint32_t)get(bytes, 4),
        .commit = (uint32_t)get(bytes + 4, 4),
        .kind = kind,
        .last = (flags & VV_SEGMENT_FLAG_LAST) != 0,
        .stamp = get(bytes + 16, 8),
        .payload_checksum = get(bytes + 24, 8),
    };
    return true;
}

bool vv_segment_payload_valid(const struct vv_segment_record *record, const uint8_t *payload,
                              uint64_t seed)
{
    return checksum(payload, record->size, seed) == record->payload_checksum;
}

void vv_segment_path(const char *folder, uint64_t number, bool is_new,
                     char out[VV_SEGMENT_PATH_SIZE])
{
    int length = snprintf(out, VV_SEGMENT_PATH_SIZE, "%s/%016llx.%s", folder,
                          (unsigned long long)number, is_new ? "new" : "seg");
    vv_invariant(length > 0 && (unsigned)length < VV_SEGMENT_PATH_SIZE);
}

bool vv_segment_name_parse(const char *name, uint64_t *number_out, bool *is_new_out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < NAME_DIGITS; i++) {
        char c = name[i];
        bool digit = c >= '0' && c <= '9';
        if (!digit && (c < 'a' || c > 'f')) {
            return false; /* also at the end of a shorter name */
        }
        number = number << 4 | (unsigned)(digit ? c - '0' : c - 'a' + 10);
    }
    *number_out = number;
    *is_new_out = strcmp(name + NAME_DIGITS, ".new") == 0;
    return *is_new_out || strcmp(name + NAME_DIGITS, ".seg") == 0;
}
