/* SPDX-License-Identifier: Apache-2.0 */
/* Values as they are kept: 64 bits of a double or of an integer. */
#ifndef VV_BASE_BITS_H
#define VV_BASE_BITS_H

#include <stdint.h>
#include <string.h>

static inline double vv_bits_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t vv_bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The bits of a float64 for those of an int64: the nearest one. */
static inline uint64_t vv_int_as_float(uint64_t bits)
{
    return vv_bits_of_double((double)(int64_t)bits);
}

#endif
