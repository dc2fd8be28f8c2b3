/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/journal: the bytes of a segment file.
 *
 * A segment is a header and then commits; a commit is one or more records. Integers are
 * little-endian, everything begins at a multiple of 8.
 *
 *   segment header, 64 bytes
 *    0  8  magic "VARVEJNL"
 *    8  4  version, now 1
 *   12  4  size of this header
 *   16  8  number of the segment, as in the file's name; from 1 upwards
 *   24  8  created, wall time in ns
 *   32  8  number of the segment before it, 0 when there was none
 *   40  8  durable end of the segment before it; what lies there or behind does not count
 *   48  8  zero
 *   56  8  XXH3-64 of bytes 0 to 55; magic, version and checksum keep their places in all versions
 *
 *   record, 40 bytes and the payload, padded with zeros to a multiple of 8
 *    0  4  size of the payload
 *    4  4  number of the commit in this segment, from 1 upwards
 *    8  1  kind, not 0
 *    9  1  flags: 1 = last record of its commit
 *   10  6  zero
 *   16  8  stamp
 *   24  8  XXH3-64 of the payload, with the segment header's checksum as the seed
 *   32  8  XXH3-64 of bytes 0 to 31, with the segment header's checksum + offset as the seed
 *
 * The segment header's checksum covers number and creation time: bytes that another segment left on
 * the same place of the disk never validate, nor does a record at another offset. A record's own
 * header has a checksum of its own, so that it can be told from damage without its payload.
 *
 * A commit is written only when the one before it is durable. A record that does not validate,
 * with no valid header of a later commit behind it, is therefore the torn tail of a commit that was
 * never acknowledged; with such a header behind it, it is damage.
 *
 * It is assumed that the disk writes a sector of 512 bytes as a whole or not at all.
 */
#ifndef VV_JOURNAL_SEGMENT_H
#define VV_JOURNAL_SEGMENT_H

#include "journal/journal.h"

#define VV_SEGMENT_MAGIC            "VARVEJNL"
#define VV_SEGMENT_VERSION          1u
#define VV_SEGMENT_HEADER_SIZE      64u
#define VV_SEGMENT_CHECKSUM_AT      56u
#define VV_SEGMENT_RECORD_SIZE      40u /* without the payload */
#define VV_SEGMENT_RECORD_HEADER_AT 32u /* of the checksum of the record's header */
#define VV_SEGMENT_ALIGNMENT        8u
#define VV_SEGMENT_FLAG_LAST        1u
#define VV_SEGMENT_PATH_SIZE        4096u

_Static_assert(VV_SEGMENT_CHECKSUM_AT + 8 == VV_SEGMENT_HEADER_SIZE, "the checksum is last");
_Static_assert(VV_SEGMENT_RECORD_HEADER_AT + 8 == VV_SEGMENT_RECORD_SIZE, "the checksum is last");
_Static_assert(VV_SEGMENT_HEADER_SIZE % VV_SEGMENT_ALIGNMENT == 0, "records are aligned");
_Static_assert(VV_SEGMENT_RECORD_SIZE % VV_SEGMENT_ALIGNMENT == 0, "payloads are aligned");

struct vv_segment_header {
    uint64_t number;
    int64_t created_ns;
    uint64_t previous_number;
    uint64_t previous_end;
    uint64_t seed; /* the checksum; set by encode and decode */
};

/* Writes the header's bytes and sets header->seed. */
void vv_segment_header_encode(struct vv_segment_header *header,
                              uint8_t out[VV_SEGMENT_HEADER_SIZE]);
/* VV_CORRUPT, VV_NEWER; `path` is for the message. */
VV_MUST_CHECK enum vv_status vv_segment_header_decode(const uint8_t *bytes, size_t size,
                                                      const char *path,
                                                      struct vv_segment_header *header_out,
                                                      struct vv_error *error);

struct vv_segment_record {
    uint32_t size; /* of the payload */
    uint32_t commit;
    uint8_t kind;
    bool last; /* of its commit */
    vv_stamp stamp;
    uint64_t payload_checksum;
};

/* What a record with this payload takes in the file. */
static inline uint64_t vv_segment_record_bytes(uint64_t payload_size)
{
    uint64_t padded =
        (payload_size + VV_SEGMENT_ALIGNMENT - 1) & ~(uint64_t)(VV_SEGMENT_ALIGNMENT - 1);
    return VV_SEGMENT_RECORD_SIZE + padded;
}

/* Appends the record, which will stand at `offset` of the segment. A failure stays in the buffer.
 */
void vv_segment_record_encode(struct vv_buffer *buffer, uint64_t seed, uint64_t offset,
                              const struct vv_journal_record *record, uint32_t commit, bool last);
/* Reads the VV_SEGMENT_RECORD_SIZE bytes at `offset`; false when they are no record's header. */
bool vv_segment_record_decode(const uint8_t *bytes, uint64_t seed, uint64_t offset,
                              struct vv_segment_record *record_out);
bool vv_segment_payload_valid(const struct vv_segment_record *record, const uint8_t *payload,
                              uint64_t seed);

/* Writes "<folder>/<16 hex digits>.seg", or ".new" for one that is being made. The folder was
 * checked to be short enough. */
void vv_segment_path(const char *folder, uint64_t number, bool is_new,
                     char out[VV_SEGMENT_PATH_SIZE]);
/* Reads a file's name; false when it is no segment's. */
bool vv_segment_name_parse(const char *name, uint64_t *number_out, bool *is_new_out);

#endif
