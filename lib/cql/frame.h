/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of the native protocol v4: header and body, cut out of a stream of bytes.
 *
 *   version 1 (0x04 request, 0x84 answer) · flags 1 · stream 2 · opcode 1 · length 4 · body
 *
 * This is the one place that knows how frames lie in the stream. In v5 they (there: envelopes) are
 * wrapped in segments with checksums: that is another pair of these functions, and nothing above
 * changes.
 */
#ifndef VVCQL_FRAME_H
#define VVCQL_FRAME_H

#include "error.h"
#include "wire.h"

#define VVCQL_PROTOCOL_VERSION  4
#define VVCQL_FRAME_HEADER_SIZE 9
#define VVCQL_FRAME_BODY_MAX    ((size_t)256 << 20) /* the protocol's bound */

enum vvcql_frame_flag {
    VVCQL_FLAG_COMPRESSED = 0x01,
    VVCQL_FLAG_TRACING = 0x02,
    VVCQL_FLAG_PAYLOAD = 0x04,
    VVCQL_FLAG_WARNING = 0x08,
};

enum vvcql_opcode {
    VVCQL_OP_ERROR = 0x00,
    VVCQL_OP_STARTUP = 0x01,
    VVCQL_OP_READY = 0x02,
    VVCQL_OP_AUTHENTICATE = 0x03,
    VVCQL_OP_OPTIONS = 0x05,
    VVCQL_OP_SUPPORTED = 0x06,
    VVCQL_OP_QUERY = 0x07,
    VVCQL_OP_RESULT = 0x08,
    VVCQL_OP_PREPARE = 0x09,
    VVCQL_OP_EXECUTE = 0x0A,
    VVCQL_OP_REGISTER = 0x0B,
    VVCQL_OP_EVENT = 0x0C,
    VVCQL_OP_BATCH = 0x0D,
    VVCQL_OP_AUTH_CHALLENGE = 0x0E,
    VVCQL_OP_AUTH_RESPONSE = 0x0F,
    VVCQL_OP_AUTH_SUCCESS = 0x10,
};

/* A whole frame, its body uncompressed; borrowed. */
struct vvcql_frame {
    uint8_t flags; /* without VVCQL_FLAG_COMPRESSED */
    uint8_t opcode;
    int16_t stream;
    struct vvcql_bytes body;
};

/* Appends a request's frame to `out`; compressed with LZ4 when `compress` is set and that makes it
 * smaller (short ones are not tried). Failure (memory, or a body beyond VVCQL_FRAME_BODY_MAX) is
 * kept in out->failed, and out is as long as before. */
void vvcql_frame_write(struct vvcql_buffer *out, uint8_t opcode, uint8_t flags, int16_t stream,
                       struct vvcql_bytes body, bool compress);

/* Cuts the stream of one connection into frames. Zero-initialised but for frame_bytes_max is empty
 * and valid. */
struct vvcql_splitter {
    size_t frame_bytes_max; /* of a body, compressed or not: more is VVCQL_PROTOCOL */
    struct vvcql_buffer bytes_;
    size_t at_;
    struct vvcql_buffer body_; /* what was uncompressed last */
};

void vvcql_splitter_deinit(struct vvcql_splitter *splitter);
/* Where to read more bytes to, at least one and about `wanted`; NULL: no memory. The buffer grows
 * with what has arrived, never at once to what a header claims. */
uint8_t *vvcql_splitter_reserve(struct vvcql_splitter *splitter, size_t wanted,
                                size_t *capacity_out);
void vvcql_splitter_added(struct vvcql_splitter *splitter, size_t size);
/* The next whole frame, valid until the next call with this splitter; false in *found_out when more
 * bytes are needed. VVCQL_PROTOCOL (the stream can't go on): wrong version or direction, a body
 * beyond the bound, or that can't be uncompressed. VVCQL_NO_MEMORY. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_splitter_next(struct vvcql_splitter *splitter,
                                                       struct vvcql_frame *frame_out,
                                                       bool *found_out, struct vvcql_error *error);

/* compression.c: a body as section 5 says for LZ4: 4 bytes of uncompressed length (big-endian), the
 * block. Appends to out; failure in out->failed. Returns the compressed size. */
size_t vvcql_compress(struct vvcql_buffer *out, struct vvcql_bytes body);
/* Replaces out's content. VVCQL_PROTOCOL when the bytes are not such a body or longer than
 * bytes_max uncompressed; VVCQL_NO_MEMORY. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_uncompress(struct vvcql_bytes bytes, size_t bytes_max,
                                                    struct vvcql_buffer *out);

#endif
