/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Little-endian words, variable-length integers, and a writer and a reader that never pass the
 * end of their bytes: after the first failure they stay failed and do nothing more.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_BYTES_H
#define VV_CODEC_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VV_VARINT_BYTES_MAX 10u

struct vv_writer {
    uint8_t *at;
    uint8_t *end;
    bool overflowed;
};

struct vv_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline uint64_t vv_load_u64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return value;
}

static inline void vv_store_u64(uint8_t *bytes, uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    memcpy(bytes, &value, sizeof value);
}

/* Signed numbers near zero become small unsigned ones: 0, -1, 1, -2 are 0, 1, 2, 3. */
static inline uint64_t vv_zigzag(uint64_t value)
{
    return (value << 1) ^ (0 - (value >> 63));
}

static inline uint64_t vv_unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

/* Two's complement in both directions, without the implementation-defined conversion. */
static inline int64_t vv_signed(uint64_t value)
{
    int64_t result;
    memcpy(&result, &value, sizeof result);
    return result;
}

/* How many bits a value needs: 0 for 0, 64 for the largest. */
static inline unsigned vv_bit_length(uint64_t value)
{
    return value == 0 ? 0 : 64u - (unsigned)__builtin_clzll(value);
}

static inline size_t vv_varint_size(uint64_t value)
{
    return ((size_t)vv_bit_length(value | 1) + 6) / 7;
}

/* Reserves size bytes; NULL when they do not fit. */
static inline uint8_t *vv_writer_reserve(struct vv_writer *writer, size_t size)
{
    if (writer->overflowed || size > (size_t)(writer->end - writer->at)) {
        writer->overflowed = true;
        return NULL;
    }
    uint8_t *reserved = writer->at;
    writer->at += size;
    return reserved;
}

static inline void vv_put_byte(struct vv_writer *writer, unsigned value)
{
    uint8_t *out = vv_writer_reserve(writer, 1);
    if (out != NULL) {
        *out = (uint8_t)value;
    }
}

static inline void vv_put_u64(struct vv_writer *writer, uint64_t value)
{
    uint8_t *out = vv_writer_reserve(writer, sizeof value);
    if (out != NULL) {
        vv_store_u64(out, value);
    }
}

static inline void vv_put_bytes(struct vv_writer *writer, const uint8_t *bytes, size_t size)
{
    uint8_t *out = vv_writer_reserve(writer, size);
    if (out != NULL && size > 0) {
        memcpy(out, bytes, size);
    }
}

static inline void vv_put_varint(struct vv_writer *writer, uint64_t value)
{
    uint8_t *out = vv_writer_reserve(writer, vv_varint_size(value));
    if (out == NULL) {
        return;
    }
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out = (uint8_t)value;
}

static inline size_t vv_reader_left(const struct vv_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

/* Takes size bytes; NULL when there are fewer. */
static inline const uint8_t *vv_take_bytes(struct vv_reader *reader, size_t size)
{
    if (reader->failed || size > vv_reader_left(reader)) {
        reader->failed = true;
        return NULL;
    }
    const uint8_t *taken = reader->at;
    reader->at += size;
    return taken;
}

static inline uint8_t vv_take_byte(struct vv_reader *reader)
{
    const uint8_t *bytes = vv_take_bytes(reader, 1);
    return bytes == NULL ? 0 : *bytes;
}

static inline uint64_t vv_take_u64(struct vv_reader *reader)
{
    const uint8_t *bytes = vv_take_bytes(reader, sizeof(uint64_t));
    return bytes == NULL ? 0 : vv_load_u64(bytes);
}

/* At most 64 bits; a longer number fails the reader. */
static inline uint64_t vv_take_varint(struct vv_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = vv_take_byte(reader);
        if (shift == 63 && byte > 1) {
            break;
        }
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            return reader->failed ? 0 : value;
        }
    }
    reader->failed = true;
    return 0;
}

#endif
