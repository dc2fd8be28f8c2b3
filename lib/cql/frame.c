/* SPDX-License-Identifier: Apache-2.0 */
/* Frames written, and cut out of a stream of bytes. */
#include "frame.h"

#include <string.h>

#define VERSION_REQUEST VVCQL_PROTOCOL_VERSION
#define VERSION_ANSWER  (0x80 | VVCQL_PROTOCOL_VERSION)
#define VERSION_MASK    0x7F

/* Bodies below this size gain nothing that is worth the time. */
#define COMPRESS_SIZE_MIN 64
/* Buffers that a large frame made larger than this are given back when it has gone. */
#define KEPT_CAPACITY_MAX ((size_t)4 << 20)

static void put_header(uint8_t *at, uint8_t opcode, uint8_t flags, int16_t stream, size_t size)
{
    at[0] = VERSION_REQUEST;
    at[1] = flags;
    vvcql_store_u16(at + 2, (uint16_t)stream);
    at[4] = opcode;
    vvcql_store_u32(at + 5, (uint32_t)size);
}

static void write_body(struct vvcql_buffer *out, struct vvcql_bytes body, bool compress,
                       bool *compressed_out)
{
    size_t start = out->size;
    *compressed_out = false;
    if (compress && body.size >= COMPRESS_SIZE_MIN) {
        *compressed_out = vvcql_compress(out, body) < body.size;
        if (out->failed || *compressed_out) {
            return;
        }
        out->size = start;
    }
    vvcql_write_bytes(out, body.data, body.size);
}

void vvcql_frame_write(struct vvcql_buffer *out, uint8_t opcode, uint8_t flags, int16_t stream,
                       struct vvcql_bytes body, bool compress)
{
    size_t start = out->size;
    if (body.size > VVCQL_FRAME_BODY_MAX) {
        out->failed = true;
        return;
    }
    if (vvcql_buffer_reserve(out, VVCQL_FRAME_HEADER_SIZE + body.size) == NULL) {
        return;
    }
    out->size += VVCQL_FRAME_HEADER_SIZE;
    bool compressed;
    write_body(out, body, compress, &compressed);
    if (out->failed) {
        out->size = start;
        return;
    }
    if (compressed) {
        flags |= VVCQL_FLAG_COMPRESSED;
    }
    put_header(out->data + start, opcode, flags, stream,
               out->size - start - VVCQL_FRAME_HEADER_SIZE);
}

/* ---- splitting ---- */

void vvcql_splitter_deinit(struct vvcql_splitter *splitter)
{
    vvcql_buffer_deinit(&splitter->bytes_);
    vvcql_buffer_deinit(&splitter->body_);
    splitter->at_ = 0;
}

static void give_back(struct vvcql_buffer *buffer)
{
    if (buffer->capacity > KEPT_CAPACITY_MAX) {
        vvcql_buffer_deinit(buffer);
    }
}

/* Moves what was not cut yet to the front, and gives large memory back that isn't needed now. */
static void settle(struct vvcql_splitter *splitter)
{
    struct vvcql_buffer *bytes = &splitter->bytes_;
    size_t rest = bytes->size - splitter->at_;
    if (splitter->at_ > 0 && rest > 0) {
        memmove(bytes->data, bytes->data + splitter->at_, rest);
    }
    bytes->size = rest;
    bytes->failed = false;
    splitter->at_ = 0;
    if (rest == 0) {
        give_back(bytes);
    }
    give_back(&splitter->body_);
}

uint8_t *vvcql_splitter_reserve(struct vvcql_splitter *splitter, size_t wanted,
                                size_t *capacity_out)
{
    settle(splitter);
    struct vvcql_buffer *bytes = &splitter->bytes_;
    uint8_t *at = vvcql_buffer_reserve(bytes, wanted > 0 ? wanted : 1);
    *capacity_out = at != NULL ? bytes->capacity - bytes->size : 0;
    return at;
}

void vvcql_splitter_added(struct vvcql_splitter *splitter, size_t size)
{
    splitter->bytes_.size += size;
}

static enum vvcql_status check_version(uint8_t version, struct vvcql_error *error)
{
    if (version == VERSION_ANSWER) {
        return VVCQL_OK;
    }
    if ((version & ~VERSION_MASK) == 0) {
        return vvcql_error_set(error, VVCQL_PROTOCOL,
                               "the bytes that came (first: 0x%02x) are no answer of Cassandra's "
                               "native protocol: check address, port and TLS",
                               version);
    }
    return vvcql_error_set(error, VVCQL_PROTOCOL,
                           "the server answers in version %d of the native protocol; version %d is "
                           "needed (Cassandra 2.2 or later)",
                           version & VERSION_MASK, VVCQL_PROTOCOL_VERSION);
}

static enum vvcql_status uncompress(struct vvcql_splitter *splitter, struct vvcql_frame *frame,
                                    struct vvcql_error *error)
{
    enum vvcql_status status =
        vvcql_uncompress(frame->body, splitter->frame_bytes_max, &splitter->body_);
    if (status == VVCQL_NO_MEMORY) {
        return vvcql_error_set(error, status, "no memory to uncompress an answer of %zu bytes",
                               frame->body.size);
    }
    if (status != VVCQL_OK) {
        return vvcql_error_set(error, status,
                               "an answer of %zu bytes can't be uncompressed to at most %zu bytes",
                               frame->body.size, splitter->frame_bytes_max);
    }
    frame->body = (struct vvcql_bytes){.data = splitter->body_.data, .size = splitter->body_.size};
    frame->flags &= (uint8_t)~VVCQL_FLAG_COMPRESSED;
    return VVCQL_OK;
}

enum vvcql_status vvcql_splitter_next(struct vvcql_splitter *splitter,
                                      struct vvcql_frame *frame_out, bool *found_out,
                                      struct vvcql_error *error)
{
    *found_out = false;
    size_t left = splitter->bytes_.size - splitter->at_;
    if (left == 0) {
        return VVCQL_OK;
    }
    const uint8_t *header = splitter->bytes_.data + splitter->at_;
    enum vvcql_status status = check_version(header[0], error);
    if (status != VVCQL_OK || left < VVCQL_FRAME_HEADER_SIZE) {
        return status;
    }
    size_t size = vvcql_load_u32(header + 5);
    if (size > splitter->frame_bytes_max) {
        return vvcql_error_set(error, VVCQL_PROTOCOL,
                               "an answer of %zu bytes is longer than the %zu that are allowed",
                               size, splitter->frame_bytes_max);
    }
    if (left - VVCQL_FRAME_HEADER_SIZE < size) {
        return VVCQL_OK;
    }
    struct vvcql_frame frame = {
        .flags = header[1],
        .opcode = header[4],
        .stream = (int16_t)vvcql_load_u16(header + 2),
        .body = {.data = header + VVCQL_FRAME_HEADER_SIZE, .size = size},
    };
    if ((frame.flags & VVCQL_FLAG_COMPRESSED) != 0) {
        status = uncompress(splitter, &frame, error);
        if (status != VVCQL_OK) {
            return status;
        }
    }
    splitter->at_ += VVCQL_FRAME_HEADER_SIZE + size;
    *frame_out = frame;
    *found_out = true;
    return VVCQL_OK;
}
