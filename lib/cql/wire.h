/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol's notations (section 3 of the native protocol's specification), written to a growing
 * buffer and read from borrowed bytes. Big-endian. A buffer or reader belongs to one thread.
 */
#ifndef VVCQL_WIRE_H
#define VVCQL_WIRE_H

#include "types.h"

/* Zero-initialised is empty. After a failed append (memory, or a text that its length field can't
 * hold) `failed` stays set and nothing more is appended: check it once at the end. */
struct vvcql_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed;
};

void vvcql_buffer_deinit(struct vvcql_buffer *buffer);
void vvcql_buffer_clear(struct vvcql_buffer *buffer); /* keeps the memory, forgets the failure */
/* Room for `size` bytes more at the end, not yet counted; NULL on failure. */
uint8_t *vvcql_buffer_reserve(struct vvcql_buffer *buffer, size_t size);

void vvcql_write_bytes(struct vvcql_buffer *buffer, const void *data,
                       size_t size); /* as they are */
void vvcql_write_u8(struct vvcql_buffer *buffer, uint8_t value);
void vvcql_write_u16(struct vvcql_buffer *buffer, uint16_t value);      /* [short] */
void vvcql_write_u32(struct vvcql_buffer *buffer, uint32_t value);      /* [int] */
void vvcql_write_u64(struct vvcql_buffer *buffer, uint64_t value);      /* [long] */
void vvcql_write_string(struct vvcql_buffer *buffer, const char *text); /* [string] */
void vvcql_write_long_string(struct vvcql_buffer *buffer, struct vvcql_bytes text);
void vvcql_write_short_bytes(struct vvcql_buffer *buffer, struct vvcql_bytes bytes);
/* [bytes], [value]; data NULL is written as null. */
void vvcql_write_value(struct vvcql_buffer *buffer, struct vvcql_bytes bytes);

static inline void vvcql_store_u16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void vvcql_store_u32(uint8_t *at, uint32_t value)
{
    vvcql_store_u16(at, (uint16_t)(value >> 16));
    vvcql_store_u16(at + 2, (uint16_t)value);
}

static inline void vvcql_store_u64(uint8_t *at, uint64_t value)
{
    vvcql_store_u32(at, (uint32_t)(value >> 32));
    vvcql_store_u32(at + 4, (uint32_t)value);
}

static inline uint16_t vvcql_load_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t vvcql_load_u32(const uint8_t *at)
{
    return (uint32_t)vvcql_load_u16(at) << 16 | vvcql_load_u16(at + 2);
}

static inline uint64_t vvcql_load_u64(const uint8_t *at)
{
    return (uint64_t)vvcql_load_u32(at) << 32 | vvcql_load_u32(at + 4);
}

/* A read beyond the end, or of a negative length where there can be none, sets `failed` and gives
 * 0 or nothing; a failed reader stands at its end. */
struct vvcql_reader {
    const uint8_t *at;
    size_t left;
    bool failed;
};

static inline struct vvcql_reader vvcql_reader_of(struct vvcql_bytes bytes)
{
    return (struct vvcql_reader){.at = bytes.data, .left = bytes.size};
}

void vvcql_reader_fail(struct vvcql_reader *reader); /* for content that can't be */
struct vvcql_bytes vvcql_read_bytes(struct vvcql_reader *reader, size_t size);
uint8_t vvcql_read_u8(struct vvcql_reader *reader);
uint16_t vvcql_read_u16(struct vvcql_reader *reader);
uint32_t vvcql_read_u32(struct vvcql_reader *reader);
uint64_t vvcql_read_u64(struct vvcql_reader *reader);
struct vvcql_bytes vvcql_read_string(struct vvcql_reader *reader);
struct vvcql_bytes vvcql_read_long_string(struct vvcql_reader *reader);
struct vvcql_bytes vvcql_read_short_bytes(struct vvcql_reader *reader);
/* [bytes]: data NULL for null (any negative length); an empty value has size 0 and data not NULL.
 */
struct vvcql_bytes vvcql_read_value(struct vvcql_reader *reader);

/* Copies a text, cut so that it fits with its zero, without half a UTF-8 character at its end and
 * with '?' for control characters and for bytes that are not UTF-8. */
void vvcql_copy_text(char *out, size_t capacity, struct vvcql_bytes text);

/* A copy with a zero at its end, to be freed with free(). NULL: no memory. */
char *vvcql_duplicate(struct vvcql_bytes text);

#endif
