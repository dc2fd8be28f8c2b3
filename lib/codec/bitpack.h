/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unsigned numbers side by side at a fixed width of 0 to 64 bits, lowest bits first.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_BITPACK_H
#define VV_CODEC_BITPACK_H

#include "bytes.h"

/* Unpacking may read, but never uses, this many bytes behind the packed ones. */
#define VV_BITPACK_SLACK 8u

/* The bytes of count numbers; count * width must not overflow. */
static inline size_t vv_bitpack_size(size_t count, unsigned width)
{
    return (count * width + 7) / 8;
}

/* Writes vv_bitpack_size() bytes. Bits above the width are cut off. */
void vv_bitpack(const uint64_t *values, size_t count, unsigned width, uint8_t *out);

/* Reads vv_bitpack_size() bytes, with VV_BITPACK_SLACK readable bytes behind them. */
void vv_bitunpack(const uint8_t *packed, size_t count, unsigned width, uint64_t *values_out);

/* One number of a width up to 57, with the same slack. */
static inline uint64_t vv_bitpack_get(const uint8_t *packed, size_t index, unsigned width)
{
    size_t bit = index * width;
    return (vv_load_u64(packed + bit / 8) >> (bit % 8)) & ((UINT64_C(1) << width) - 1);
}

#endif
