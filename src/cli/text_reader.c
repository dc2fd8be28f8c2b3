/* SPDX-License-Identifier: Apache-2.0 */
/* The window's buffer: it grows up to the longest record and is read into piece by piece. */
#include "cli/text_reader.h"

#include <stdlib.h>

#define PIECE_BYTES (256u << 10)

enum vv_status vv_text_reader_init(struct vv_text_reader *reader, struct vv_input *input)
{
    *reader = (struct vv_text_reader){.input = input, .line = 1, .capacity = 2 * PIECE_BYTES};
    reader->bytes = malloc(reader->capacity);
    return reader->bytes ? VV_OK : VV_NO_MEMORY;
}

void vv_text_reader_deinit(struct vv_text_reader *reader)
{
    free(reader->bytes);
    *reader = (struct vv_text_reader){0};
}

struct vv_str vv_text_reader_window(const struct vv_text_reader *reader, bool *at_end_out)
{
    size_t size = reader->filled - reader->at;
    *at_end_out = reader->ended || size >= VV_RECORD_BYTES_MAX;
    return (struct vv_str){reader->bytes + reader->at, size};
}

/* Room for a piece behind what is there. */
static enum vv_status make_room(struct vv_text_reader *reader, struct vv_error *error)
{
    memmove(reader->bytes, reader->bytes + reader->at, reader->filled - reader->at);
    reader->filled -= reader->at;
    reader->at = 0;
    if (reader->capacity - reader->filled >= PIECE_BYTES) {
        return VV_OK;
    }
    char *larger = realloc(reader->bytes, reader->capacity * 2);
    if (!larger) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    reader->bytes = larger;
    reader->capacity *= 2;
    return VV_OK;
}

enum vv_status vv_text_reader_fill(struct vv_text_reader *reader, struct vv_error *error)
{
    if (reader->ended) {
        return reader->at == reader->filled ? VV_DONE : VV_OK;
    }
    enum vv_status status = make_room(reader, error);
    if (status != VV_OK) {
        return status;
    }
    size_t size;
    status =
        vv_input_read(reader->input, reader->bytes + reader->filled, PIECE_BYTES, &size, error);
    if (status == VV_DONE) {
        reader->ended = true;
        return reader->filled == 0 ? VV_DONE : VV_OK;
    }
    reader->filled += status == VV_OK ? size : 0;
    return status;
}

void vv_text_reader_skip(struct vv_text_reader *reader, size_t size, uint32_t newlines)
{
    reader->at += size;
    reader->line += newlines;
}

enum vv_status vv_text_reader_skip_line(struct vv_text_reader *reader, struct vv_error *error)
{
    for (;;) {
        char *start = reader->bytes + reader->at;
        char *newline = memchr(start, '\n', reader->filled - reader->at);
        if (newline) {
            vv_text_reader_skip(reader, (size_t)(newline + 1 - start), 1);
            return VV_OK;
        }
        reader->at = reader->filled;
        enum vv_status status = vv_text_reader_fill(reader, error);
        if (status != VV_OK) {
            return status;
        }
    }
}
