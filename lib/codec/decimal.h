/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doubles as decimals: number / 10^exponent, and where that misses a value, by how many steps of
 * its bits (the correction). Most telemetry was printed with a few digits, so that the numbers
 * are small and the corrections zero; averages are off by a step or two; anything else, NaN
 * included, still comes back exactly through its correction.
 *
 * The idea of exact decimal scaling with a checked round trip is from: A. Afroozeh, L. Kuffo,
 * P. Boncz, "ALP: Adaptive Lossless floating-Point Compression", SIGMOD 2024 (PACMMOD 1(4)).
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_DECIMAL_H
#define VV_CODEC_DECIMAL_H

#include "bytes.h"

struct vv_decimal_scale {
    unsigned exponent; /* 0 to VV_FORMAT_EXPONENT_MAX */
    bool single;       /* the quotient is rounded to float32: the values came from one */
};

/* The bits of number / 10^exponent. */
uint64_t vv_decimal_join_one(uint64_t number, struct vv_decimal_scale scale);

/* Whether a value is exactly a decimal of this scale, and which. */
bool vv_decimal_split_one(uint64_t bits, struct vv_decimal_scale scale, uint64_t *number_out);

/* Chooses a scale from samples; false when the values do not look like decimals. */
bool vv_decimal_choose(const uint64_t *values, size_t count, struct vv_decimal_scale *scale_out);

/* Splits all values; returns whether any correction is not zero. */
bool vv_decimal_split(const uint64_t *values, size_t count, struct vv_decimal_scale scale,
                      uint64_t *numbers_out, uint64_t *corrections_out);

/* Turns numbers into bits, in place. */
void vv_decimal_join(uint64_t *numbers, size_t count, struct vv_decimal_scale scale);

#endif
