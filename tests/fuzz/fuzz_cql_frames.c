/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile server. The first byte says in pieces of how many bytes the rest arrives; the frames
 * cut out of it must be those that come out when it arrives at once. Each body goes through every
 * decoder, and out and in again as a frame.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cql/responses.h"

#define FRAME_BYTES_MAX 65536u

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

/* In memory of exactly its size, so that reads beyond are seen. */
static struct vvcql_bytes copy_of(struct vvcql_bytes bytes)
{
    uint8_t *copy = malloc(bytes.size > 0 ? bytes.size : 1);
    require(copy != NULL);
    if (bytes.size > 0) {
        memcpy(copy, bytes.data, bytes.size);
    }
    return (struct vvcql_bytes){.data = copy, .size = bytes.size};
}

static void require_within(struct vvcql_bytes part, struct vvcql_bytes whole)
{
    require(part.size == 0 || (part.data >= whole.data && part.size <= whole.size &&
                               part.data + part.size <= whole.data + whole.size));
}

static void require_text(const char *text, size_t capacity)
{
    size_t size = strnlen(text, capacity);
    require(size < capacity);
    for (size_t i = 0; i < size; i++) {
        require((uint8_t)text[i] >= 0x20 && text[i] != 0x7F);
    }
}

static void decode_body(struct vvcql_bytes body)
{
    struct vvcql_error error;
    struct vvcql_bytes part;
    struct vvcql_event event;
    struct vvcql_prepared_answer prepared;
    enum vvcql_result_kind kind;
    bool found;
    enum vvcql_status status = vvcql_decode_error(body, &error, &part);
    require(status == error.status && status != VVCQL_OK);
    require_text(error.message, sizeof error.message);
    require_within(part, body);
    if (vvcql_decode_authenticate(body, &part, &error) == VVCQL_OK) {
        require_within(part, body);
    }
    status = vvcql_decode_supported(body, "COMPRESSION", "lz4", &found, &error);
    require(status == VVCQL_OK || !found);
    if (vvcql_decode_event(body, &event, &error) == VVCQL_OK) {
        require_within(event.address, body);
        require_within(event.keyspace, body);
        require(event.address.size == 0 || event.address.size == 4 || event.address.size == 16);
    }
    if (vvcql_decode_kind(body, &kind, &error) == VVCQL_OK) {
        require(kind >= VVCQL_RESULT_VOID && kind <= VVCQL_RESULT_SCHEMA_CHANGE);
    }
    if (vvcql_decode_prepared(body, &prepared, &error) == VVCQL_OK) {
        require_within(prepared.id, body);
        require(prepared.n_key_parts <= VVCQL_KEY_PARTS_MAX);
        for (size_t i = 0; i < prepared.n_key_parts; i++) {
            require(prepared.key_parts[i] < prepared.n_values);
        }
    }
}

static void decode_frame(const struct vvcql_frame *frame)
{
    struct vvcql_frame copy = *frame;
    struct vvcql_prelude prelude;
    struct vvcql_result *result;
    copy.body = copy_of(frame->body);
    if (vvcql_decode_prelude(&copy, &prelude, NULL) == VVCQL_OK) {
        require_within(prelude.body, copy.body);
        require_within(prelude.warnings, copy.body);
        decode_body(prelude.body);
    }
    if (vvcql_result_create(&copy, "127.0.0.1:9042", &result, NULL) == VVCQL_OK) {
        while (vvcql_next_row(result)) {
        }
        vvcql_result_destroy(result);
    }
    free((void *)(uintptr_t)copy.body.data);
}

static void feed(struct vvcql_splitter *splitter, const uint8_t *data, size_t size)
{
    size_t capacity;
    uint8_t *at = vvcql_splitter_reserve(splitter, size, &capacity);
    require(at != NULL && capacity >= size);
    memcpy(at, data, size);
    vvcql_splitter_added(splitter, size);
}

/* What is written as a request's frame comes back as an answer's. */
static void write_and_read(const struct vvcql_frame *frame, bool compress)
{
    struct vvcql_buffer out = {0};
    vvcql_frame_write(&out, frame->opcode, frame->flags, frame->stream, frame->body, compress);
    require(!out.failed && out.size <= VVCQL_FRAME_HEADER_SIZE + frame->body.size);
    out.data[0] |= 0x80;
    struct vvcql_splitter splitter = {.frame_bytes_max = FRAME_BYTES_MAX};
    feed(&splitter, out.data, out.size);
    struct vvcql_frame again;
    bool found;
    require(vvcql_splitter_next(&splitter, &again, &found, NULL) == VVCQL_OK && found);
    require(again.opcode == frame->opcode && again.flags == frame->flags &&
            again.stream == frame->stream && again.body.size == frame->body.size);
    require(again.body.size == 0 ||
            memcmp(again.body.data, frame->body.data, again.body.size) == 0);
    vvcql_splitter_deinit(&splitter);
    vvcql_buffer_deinit(&out);
}

/* What a stream came to: the same however it was torn. */
struct summary {
    enum vvcql_status status;
    size_t frames;
    uint64_t hash;
};

static void add_to(struct summary *summary, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++) {
        summary->hash = (summary->hash ^ bytes[i]) * 0x100000001B3u;
    }
}

static void take_frames(struct vvcql_splitter *splitter, struct summary *summary, bool decode)
{
    bool found = true;
    while (found && summary->status == VVCQL_OK) {
        struct vvcql_frame frame;
        struct vvcql_error error;
        summary->status = vvcql_splitter_next(splitter, &frame, &found, &error);
        require(summary->status == VVCQL_OK || summary->status == VVCQL_PROTOCOL);
        if (summary->status == VVCQL_OK && found) {
            require(frame.body.size <= FRAME_BYTES_MAX);
            summary->frames++;
            add_to(summary, &frame.opcode, sizeof frame.opcode);
            add_to(summary, &frame.flags, sizeof frame.flags);
            add_to(summary, &frame.stream, sizeof frame.stream);
            add_to(summary, frame.body.data, frame.body.size);
        }
        if (summary->status == VVCQL_OK && found && decode) {
            decode_frame(&frame);
            write_and_read(&frame, false);
            write_and_read(&frame, true);
        }
    }
}

static struct summary split(const uint8_t *data, size_t size, size_t piece, bool decode)
{
    struct vvcql_splitter splitter = {.frame_bytes_max = FRAME_BYTES_MAX};
    struct summary summary = {.status = VVCQL_OK};
    for (size_t at = 0; at < size && summary.status == VVCQL_OK; at += piece) {
        feed(&splitter, data + at, size - at < piece ? size - at : piece);
        take_frames(&splitter, &summary, decode);
    }
    vvcql_splitter_deinit(&splitter);
    return summary;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct summary whole = split(data + 1, size - 1, size - 1, true);
    struct summary torn = split(data + 1, size - 1, 1 + (size_t)data[0], false);
    require(whole.status == torn.status && whole.frames == torn.frames && whole.hash == torn.hash);
    return 0;
}
