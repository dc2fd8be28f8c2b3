/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings and byte buffers: borrowed views, a growing buffer with a limit, and a bounds-checked
 * reader. Integers in buffers are little-endian unless the name says `be` (big-endian, for keys
 * that must sort) or `varint` (LEB128, at most 10 bytes). A buffer belongs to one thread.
 */
#ifndef VV_BASE_BYTES_H
#define VV_BASE_BYTES_H

#include "base/status.h"

#include <stdint.h>
#include <string.h>

/* A borrowed text or byte range; not terminated by zero. */
struct vv_str {
    const char *data;
    size_t size;
};

#define VV_STR_LITERAL(text) ((struct vv_str){(text), sizeof(text) - 1})
/* For printf: `"%.*s", VV_STR_ARG(s)`. */
#define VV_STR_ARG(s) (int)((s).size > 4096 ? 4096 : (s).size), (s).data

static inline struct vv_str vv_str_of(const char *text)
{
    return (struct vv_str){text, text ? strlen(text) : 0};
}

static inline bool vv_str_equal(struct vv_str a, struct vv_str b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* Byte-wise order: negative, 0, positive. */
int vv_str_compare(struct vv_str a, struct vv_str b);

/* A zero-terminated copy for the caller to free; NULL when memory is out. */
char *vv_str_duplicate(struct vv_str text);

/*
 * A growing byte buffer. Zero-initialised is empty and valid; `limit` 0 means no limit. When an
 * append fails (memory or limit), `failed` is set, the content stays as it was, and later appends
 * do nothing: check once at the end with vv_buffer_status().
 */
struct vv_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t limit;
    bool failed;
    bool too_large; /* it failed because of the limit */
};

void vv_buffer_deinit(struct vv_buffer *buffer);
void vv_buffer_clear(struct vv_buffer *buffer); /* keeps the memory, resets failed */
/* VV_OK, VV_TOO_LARGE beyond the limit, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_buffer_status(const struct vv_buffer *buffer);
/* Room for `size` more bytes at the end, not yet counted in size; NULL when it fails. */
uint8_t *vv_buffer_reserve(struct vv_buffer *buffer, size_t size);
void vv_buffer_append(struct vv_buffer *buffer, const void *bytes, size_t size);
void vv_buffer_text(struct vv_buffer *buffer, const char *text);
void vv_buffer_str(struct vv_buffer *buffer, struct vv_str text);
void vv_buffer_format(struct vv_buffer *buffer, const char *format, ...) VV_PRINTF(2, 3);
void vv_buffer_u8(struct vv_buffer *buffer, uint8_t value);
void vv_buffer_u16(struct vv_buffer *buffer, uint16_t value);
void vv_buffer_u32(struct vv_buffer *buffer, uint32_t value);
void vv_buffer_u64(struct vv_buffer *buffer, uint64_t value);
void vv_buffer_be16(struct vv_buffer *buffer, uint16_t value);
void vv_buffer_be32(struct vv_buffer *buffer, uint32_t value);
void vv_buffer_be64(struct vv_buffer *buffer, uint64_t value);
void vv_buffer_varint(struct vv_buffer *buffer, uint64_t value);
void vv_buffer_zigzag(struct vv_buffer *buffer, int64_t value);
/* varint length, then the bytes. */
void vv_buffer_sized(struct vv_buffer *buffer, struct vv_str text);

/*
 * A reader over borrowed bytes. A read beyond the end, or a malformed varint, sets `failed` and
 * gives 0 or an empty string; check once at the end. A failed reader stands at its end and stays
 * there, so a loop over what is left comes to one.
 */
struct vv_reader {
    const uint8_t *data;
    size_t size;
    size_t at;
    bool failed;
};

static inline struct vv_reader vv_reader_of(const void *data, size_t size)
{
    return (struct vv_reader){.data = data, .size = size};
}

static inline size_t vv_reader_left(const struct vv_reader *reader)
{
    return reader->size - reader->at;
}

/* Borrows `size` bytes from the input; NULL (and failed) when there are fewer. */
const uint8_t *vv_reader_bytes(struct vv_reader *reader, size_t size);
uint8_t vv_reader_u8(struct vv_reader *reader);
uint16_t vv_reader_u16(struct vv_reader *reader);
uint32_t vv_reader_u32(struct vv_reader *reader);
uint64_t vv_reader_u64(struct vv_reader *reader);
uint16_t vv_reader_be16(struct vv_reader *reader);
uint32_t vv_reader_be32(struct vv_reader *reader);
uint64_t vv_reader_be64(struct vv_reader *reader);
uint64_t vv_reader_varint(struct vv_reader *reader);
int64_t vv_reader_zigzag(struct vv_reader *reader);
struct vv_str vv_reader_sized(struct vv_reader *reader);

#endif
