/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking of fixed-width numbers. */
#include "bitpack.h"

/* The widest number that one 64-bit load at a byte boundary holds at every bit offset. */
#define SINGLE_LOAD_WIDTH_MAX 57u

static uint64_t width_mask(unsigned width)
{
    return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

void vv_bitpack(const uint64_t *values, size_t count, unsigned width, uint8_t *out)
{
    uint64_t mask = width_mask(width);
    uint64_t pending = 0;
    unsigned pending_bits = 0;
    if (width == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t value = values[i] & mask;
        pending |= value << pending_bits;
        pending_bits += width;
        if (pending_bits >= 64) {
            vv_store_u64(out, pending);
            out += 8;
            pending_bits -= 64;
            pending = pending_bits == 0 ? 0 : value >> (width - pending_bits);
        }
    }
    for (; pending_bits > 0; pending_bits = pending_bits > 8 ? pending_bits - 8 : 0) {
        *out++ = (uint8_t)pending;
        pending >>= 8;
    }
}

static void unpack_narrow(const uint8_t *packed, size_t count, unsigned width, uint64_t *values_out)
{
    uint64_t mask = width_mask(width);
    size_t bit = 0;
    for (size_t i = 0; i < count; i++) {
        values_out[i] = (vv_load_u64(packed + bit / 8) >> (bit % 8)) & mask;
        bit += width;
    }
}

static void unpack_wide(const uint8_t *packed, size_t count, unsigned width, uint64_t *values_out)
{
    uint64_t mask = width_mask(width);
    size_t bit = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = packed + bit / 8;
        unsigned shift = (unsigned)(bit % 8);
        uint64_t high = (uint64_t)at[8] << 1;
        values_out[i] = ((vv_load_u64(at) >> shift) | (high << (63 - shift))) & mask;
        bit += width;
    }
}

void vv_bitunpack(const uint8_t *packed, size_t count, unsigned width, uint64_t *values_out)
{
    if (width == 0) {
        memset(values_out, 0, count * sizeof *values_out);
    } else if (width <= SINGLE_LOAD_WIDTH_MAX) {
        unpack_narrow(packed, count, width, values_out);
    } else {
        unpack_wide(packed, count, width, values_out);
    }
}
