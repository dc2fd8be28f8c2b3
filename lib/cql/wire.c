/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol's notations, written and read. */
#include "wire.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 64

void vvcql_buffer_deinit(struct vvcql_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct vvcql_buffer){0};
}

void vvcql_buffer_clear(struct vvcql_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

static bool grow(struct vvcql_buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity > 0 ? buffer->capacity * 2 : CAPACITY_FIRST;
    capacity = capacity < needed ? needed : capacity;
    uint8_t *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

uint8_t *vvcql_buffer_reserve(struct vvcql_buffer *buffer, size_t size)
{
    if (buffer->failed) {
        return NULL;
    }
    bool fits = buffer->data != NULL && size <= buffer->capacity - buffer->size;
    if (!fits && (size > SIZE_MAX - buffer->size || !grow(buffer, buffer->size + size))) {
        buffer->failed = true;
        return NULL;
    }
    return buffer->data + buffer->size;
}

void vvcql_write_bytes(struct vvcql_buffer *buffer, const void *data, size_t size)
{
    uint8_t *at = vvcql_buffer_reserve(buffer, size);
    if (at != NULL && size > 0) {
        memcpy(at, data, size);
        buffer->size += size;
    }
}

void vvcql_write_u8(struct vvcql_buffer *buffer, uint8_t value)
{
    vvcql_write_bytes(buffer, &value, sizeof value);
}

void vvcql_write_u16(struct vvcql_buffer *buffer, uint16_t value)
{
    uint8_t bytes[sizeof value];
    vvcql_store_u16(bytes, value);
    vvcql_write_bytes(buffer, bytes, sizeof bytes);
}

void vvcql_write_u32(struct vvcql_buffer *buffer, uint32_t value)
{
    uint8_t bytes[sizeof value];
    vvcql_store_u32(bytes, value);
    vvcql_write_bytes(buffer, bytes, sizeof bytes);
}

void vvcql_write_u64(struct vvcql_buffer *buffer, uint64_t value)
{
    uint8_t bytes[sizeof value];
    vvcql_store_u64(bytes, value);
    vvcql_write_bytes(buffer, bytes, sizeof bytes);
}

/* Room for a length field of `field` bytes and what it counts, if the field can hold it. */
static uint8_t *reserve_counted(struct vvcql_buffer *buffer, size_t field, size_t size)
{
    size_t size_max = field == sizeof(uint16_t) ? UINT16_MAX : INT32_MAX;
    if (size > size_max) {
        buffer->failed = true;
        return NULL;
    }
    return vvcql_buffer_reserve(buffer, field + size);
}

static void put_counted(struct vvcql_buffer *buffer, uint8_t *at, size_t field, const void *data,
                        size_t size)
{
    if (size > 0) {
        memcpy(at + field, data, size);
    }
    buffer->size += field + size;
}

static void write_short(struct vvcql_buffer *buffer, const void *data, size_t size)
{
    uint8_t *at = reserve_counted(buffer, sizeof(uint16_t), size);
    if (at != NULL) {
        vvcql_store_u16(at, (uint16_t)size);
        put_counted(buffer, at, sizeof(uint16_t), data, size);
    }
}

static void write_long(struct vvcql_buffer *buffer, const void *data, size_t size)
{
    uint8_t *at = reserve_counted(buffer, sizeof(uint32_t), size);
    if (at != NULL) {
        vvcql_store_u32(at, (uint32_t)size);
        put_counted(buffer, at, sizeof(uint32_t), data, size);
    }
}

void vvcql_write_string(struct vvcql_buffer *buffer, const char *text)
{
    write_short(buffer, text, strlen(text));
}

void vvcql_write_long_string(struct vvcql_buffer *buffer, struct vvcql_bytes text)
{
    write_long(buffer, text.data, text.size);
}

void vvcql_write_short_bytes(struct vvcql_buffer *buffer, struct vvcql_bytes bytes)
{
    write_short(buffer, bytes.data, bytes.size);
}

void vvcql_write_value(struct vvcql_buffer *buffer, struct vvcql_bytes bytes)
{
    if (bytes.data == NULL) {
        vvcql_write_u32(buffer, (uint32_t)-1);
        return;
    }
    write_long(buffer, bytes.data, bytes.size);
}

/* ---- reading ---- */

void vvcql_reader_fail(struct vvcql_reader *reader)
{
    if (reader->left > 0) {
        reader->at += reader->left;
    }
    reader->left = 0;
    reader->failed = true;
}

struct vvcql_bytes vvcql_read_bytes(struct vvcql_reader *reader, size_t size)
{
    if (reader->failed || size > reader->left) {
        vvcql_reader_fail(reader);
        return (struct vvcql_bytes){0};
    }
    struct vvcql_bytes bytes = {.data = reader->at, .size = size};
    if (size > 0) {
        reader->at += size;
        reader->left -= size;
    }
    return bytes;
}

uint8_t vvcql_read_u8(struct vvcql_reader *reader)
{
    struct vvcql_bytes bytes = vvcql_read_bytes(reader, sizeof(uint8_t));
    return reader->failed ? 0 : bytes.data[0];
}

uint16_t vvcql_read_u16(struct vvcql_reader *reader)
{
    struct vvcql_bytes bytes = vvcql_read_bytes(reader, sizeof(uint16_t));
    return reader->failed ? 0 : vvcql_load_u16(bytes.data);
}

uint32_t vvcql_read_u32(struct vvcql_reader *reader)
{
    struct vvcql_bytes bytes = vvcql_read_bytes(reader, sizeof(uint32_t));
    return reader->failed ? 0 : vvcql_load_u32(bytes.data);
}

uint64_t vvcql_read_u64(struct vvcql_reader *reader)
{
    struct vvcql_bytes bytes = vvcql_read_bytes(reader, sizeof(uint64_t));
    return reader->failed ? 0 : vvcql_load_u64(bytes.data);
}

struct vvcql_bytes vvcql_read_string(struct vvcql_reader *reader)
{
    uint16_t size = vvcql_read_u16(reader);
    return vvcql_read_bytes(reader, size);
}

struct vvcql_bytes vvcql_read_long_string(struct vvcql_reader *reader)
{
    uint32_t size = vvcql_read_u32(reader);
    if (size > INT32_MAX) {
        vvcql_reader_fail(reader);
    }
    return vvcql_read_bytes(reader, size);
}

struct vvcql_bytes vvcql_read_short_bytes(struct vvcql_reader *reader)
{
    return vvcql_read_string(reader);
}

struct vvcql_bytes vvcql_read_value(struct vvcql_reader *reader)
{
    uint32_t size = vvcql_read_u32(reader);
    if (size > INT32_MAX) {
        return (struct vvcql_bytes){0};
    }
    return vvcql_read_bytes(reader, size);
}

/* ---- texts for people ---- */

/* The size of the UTF-8 character that the text begins with; 0 when it begins with none. */
static size_t character_size(struct vvcql_bytes text)
{
    uint8_t first = text.data[0];
    size_t size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (first > 0xF4 || size == 0 || size > text.size) {
        return 0;
    }
    for (size_t i = 1; i < size; i++) {
        if ((text.data[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    uint8_t second = size > 1 ? text.data[1] : 0;
    bool is_overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
    bool is_beyond = (first == 0xED && second >= 0xA0) || (first == 0xF4 && second >= 0x90);
    return is_overlong || is_beyond ? 0 : size;
}

static bool is_control(const uint8_t *character)
{
    return character[0] < 0x20 || character[0] == 0x7F ||
           (character[0] == 0xC2 && character[1] < 0xA0);
}

void vvcql_copy_text(char *out, size_t capacity, struct vvcql_bytes text)
{
    if (capacity == 0) {
        return;
    }
    size_t used = 0;
    while (text.size > 0) {
        size_t size = character_size(text);
        bool is_shown = size > 0 && !is_control(text.data);
        size_t needed = is_shown ? size : 1;
        if (needed > capacity - 1 - used) {
            break;
        }
        if (is_shown) {
            memcpy(out + used, text.data, size);
        } else {
            out[used] = '?';
        }
        used += needed;
        size = size == 0 ? 1 : size;
        text.data += size;
        text.size -= size;
    }
    out[used] = '\0';
}

char *vvcql_duplicate(struct vvcql_bytes text)
{
    char *copy = malloc(text.size + 1);
    if (copy == NULL) {
        return NULL;
    }
    if (text.size > 0) {
        memcpy(copy, text.data, text.size);
    }
    copy[text.size] = '\0';
    return copy;
}
