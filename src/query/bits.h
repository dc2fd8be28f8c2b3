/* SPDX-License-Identifier: Apache-2.0 */
/* Values as they are kept: 64 bits of a double or of an integer. Private to src/query. */
#ifndef VV_QUERY_BITS_H
#define VV_QUERY_BITS_H

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

#endif
