/* SPDX-License-Identifier: Apache-2.0 */
/* Byte ranges, the growing buffer and the bounds-checked reader. */
#include "base/bytes.h"

#include <stdio.h>
#include <stdlib.h>

#define CAPACITY_MIN    64u
#define VARINT_SIZE_MAX 10

int vv_str_compare(struct vv_str a, struct vv_str b)
{
    size_t shared = a.size < b.size ? a.size : b.size;
    int order = shared ? memcmp(a.data, b.data, shared) : 0;
    if (order != 0) {
        return order;
    }
    return (a.size > b.size) - (a.size < b.size);
}

char *vv_str_duplicate(struct vv_str text)
{
    if (text.size == SIZE_MAX) {
        return NULL;
    }
    char *copy = malloc(text.size + 1);
    if (!copy) {
        return NULL;
    }
    if (text.size) {
        memcpy(copy, text.data, text.size);
    }
    copy[text.size] = '\0';
    return copy;
}

void vv_buffer_deinit(struct vv_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct vv_buffer){.limit = buffer->limit};
}

void vv_buffer_clear(struct vv_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
    buffer->too_large = false;
}

enum vv_status vv_buffer_status(const struct vv_buffer *buffer)
{
    if (!buffer->failed) {
        return VV_OK;
    }
    return buffer->too_large ? VV_TOO_LARGE : VV_NO_MEMORY;
}

/* Makes the capacity at least `needed`, doubling so that appending stays linear over all. */
static bool grow(struct vv_buffer *buffer, size_t needed)
{
    if (needed <= buffer->capacity) {
        return true;
    }
    size_t capacity = buffer->capacity < CAPACITY_MIN ? CAPACITY_MIN : buffer->capacity;
    while (capacity < needed) {
        capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
    }
    uint8_t *data = realloc(buffer->data, capacity);
    if (!data) {
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

uint8_t *vv_buffer_reserve(struct vv_buffer *buffer, size_t size)
{
    if (buffer->failed) {
        return NULL;
    }
    buffer->too_large =
        buffer->limit && (buffer->size > buffer->limit || size > buffer->limit - buffer->size);
    if (buffer->too_large || size >= SIZE_MAX - buffer->size ||
        !grow(buffer, buffer->size + size + 1)) {
        buffer->failed = true;
        return NULL;
    }
    return buffer->data + buffer->size;
}

void vv_buffer_append(struct vv_buffer *buffer, const void *bytes, size_t size)
{
    uint8_t *room = vv_buffer_reserve(buffer, size);
    if (room && size) {
        memcpy(room, bytes, size);
        buffer->size += size;
    }
}

void vv_buffer_text(struct vv_buffer *buffer, const char *text)
{
    vv_buffer_append(buffer, text, strlen(text));
}

void vv_buffer_str(struct vv_buffer *buffer, struct vv_str text)
{
    vv_buffer_append(buffer, text.data, text.size);
}

void vv_buffer_format(struct vv_buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0) {
        buffer->failed = true;
    } else {
        /* reserve() keeps one byte more than it was asked for: the terminator fits. */
        uint8_t *room = vv_buffer_reserve(buffer, (size_t)length);
        if (room) {
            vsnprintf((char *)room, (size_t)length + 1, format, again);
            buffer->size += (size_t)length;
        }
    }
    va_end(again);
}

static void append_little(struct vv_buffer *buffer, uint64_t value, size_t size)
{
    uint8_t *room = vv_buffer_reserve(buffer, size);
    if (!room) {
        return;
    }
    for (size_t i = 0; i < size; i++) {
        room[i] = (uint8_t)(value >> (8 * i));
    }
    buffer->size += size;
}

static void append_big(struct vv_buffer *buffer, uint64_t value, size_t size)
{
    uint8_t *room = vv_buffer_reserve(buffer, size);
    if (!room) {
        return;
    }
    for (size_t i = 0; i < size; i++) {
        room[i] = (uint8_t)(value >> (8 * (size - 1 - i)));
    }
    buffer->size += size;
}

void vv_buffer_u8(struct vv_buffer *buffer, uint8_t value)
{
    append_little(buffer, value, 1);
}

void vv_buffer_u16(struct vv_buffer *buffer, uint16_t value)
{
    append_little(buffer, value, 2);
}

void vv_buffer_u32(struct vv_buffer *buffer, uint32_t value)
{
    append_little(buffer, value, 4);
}

void vv_buffer_u64(struct vv_buffer *buffer, uint64_t value)
{
    append_little(buffer, value, 8);
}

void vv_buffer_be16(struct vv_buffer *buffer, uint16_t value)
{
    append_big(buffer, value, 2);
}

void vv_buffer_be32(struct vv_buffer *buffer, uint32_t value)
{
    append_big(buffer, value, 4);
}

void vv_buffer_be64(struct vv_buffer *buffer, uint64_t value)
{
    append_big(buffer, value, 8);
}

void vv_buffer_varint(struct vv_buffer *buffer, uint64_t value)
{
    uint8_t bytes[VARINT_SIZE_MAX];
    size_t size = 0;
    while (value >= 0x80) {
        bytes[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[size++] = (uint8_t)value;
    vv_buffer_append(buffer, bytes, size);
}

void vv_buffer_zigzag(struct vv_buffer *buffer, int64_t value)
{
    uint64_t sign = value < 0 ? UINT64_MAX : 0;
    vv_buffer_varint(buffer, ((uint64_t)value << 1) ^ sign);
}

void vv_buffer_sized(struct vv_buffer *buffer, struct vv_str text)
{
    size_t before = buffer->size;
    vv_buffer_varint(buffer, text.size);
    vv_buffer_str(buffer, text);
    if (buffer->failed) {
        buffer->size = before;
    }
}

/* A failed reader stands at its end, so that loops over what is left come to one. */
static void fail(struct vv_reader *reader)
{
    reader->failed = true;
    reader->at = reader->size;
}

const uint8_t *vv_reader_bytes(struct vv_reader *reader, size_t size)
{
    if (reader->failed || size > vv_reader_left(reader)) {
        fail(reader);
        return NULL;
    }
    static const uint8_t nothing[1];
    const uint8_t *bytes = reader->data ? reader->data + reader->at : nothing;
    reader->at += size;
    return bytes;
}

static uint64_t read_little(struct vv_reader *reader, size_t size)
{
    const uint8_t *bytes = vv_reader_bytes(reader, size);
    uint64_t value = 0;
    for (size_t i = 0; bytes && i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static uint64_t read_big(struct vv_reader *reader, size_t size)
{
    const uint8_t *bytes = vv_reader_bytes(reader, size);
    uint64_t value = 0;
    for (size_t i = 0; bytes && i < size; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

uint8_t vv_reader_u8(struct vv_reader *reader)
{
    return (uint8_t)read_little(reader, 1);
}

uint16_t vv_reader_u16(struct vv_reader *reader)
{
    return (uint16_t)read_little(reader, 2);
}

uint32_t vv_reader_u32(struct vv_reader *reader)
{
    return (uint32_t)read_little(reader, 4);
}

uint64_t vv_reader_u64(struct vv_reader *reader)
{
    return read_little(reader, 8);
}

uint16_t vv_reader_be16(struct vv_reader *reader)
{
    return (uint16_t)read_big(reader, 2);
}

uint32_t vv_reader_be32(struct vv_reader *reader)
{
    return (uint32_t)read_big(reader, 4);
}

uint64_t vv_reader_be64(struct vv_reader *reader)
{
    return read_big(reader, 8);
}

uint64_t vv_reader_varint(struct vv_reader *reader)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < VARINT_SIZE_MAX; i++) {
        const uint8_t *byte = vv_reader_bytes(reader, 1);
        if (!byte) {
            return 0;
        }
        if (i == VARINT_SIZE_MAX - 1 && *byte > 1) {
            break; /* more than 64 bits */
        }
        value |= (uint64_t)(*byte & 0x7F) << (7 * i);
        if (*byte < 0x80) {
            return value;
        }
    }
    fail(reader);
    return 0;
}

int64_t vv_reader_zigzag(struct vv_reader *reader)
{
    uint64_t value = vv_reader_varint(reader);
    uint64_t sign = value & 1 ? UINT64_MAX : 0;
    return (int64_t)((value >> 1) ^ sign);
}

struct vv_str vv_reader_sized(struct vv_reader *reader)
{
    uint64_t size = vv_reader_varint(reader);
    if (size > vv_reader_left(reader)) {
        fail(reader);
        return (struct vv_str){"", 0};
    }
    const uint8_t *bytes = vv_reader_bytes(reader, (size_t)size);
    return bytes ? (struct vv_str){(const char *)bytes, (size_t)size} : (struct vv_str){"", 0};
}
