/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of line protocol, exactly: floats are correctly rounded, integers never lose a digit.
 * Pure functions, any thread; nothing depends on the process's locale.
 */
#ifndef VV_INGEST_DECIMAL_H
#define VV_INGEST_DECIMAL_H

#include "base/status.h"

#include <stdint.h>

enum vv_decimal_kind {
    VV_DECIMAL_FLOAT,
    VV_DECIMAL_INT,       /* `12i`, or `12u` up to the largest int64 */
    VV_DECIMAL_ABOVE_INT, /* an unsigned number above int64; it has no bits */
    VV_DECIMAL_BAD,
};

struct vv_decimal {
    enum vv_decimal_kind kind;
    uint64_t bits;       /* of the double, or two's complement */
    const char *problem; /* BAD: what is wrong, a fixed text */
};

/* Reads a number from the front of [text, end). Returns what follows it, or for a bad one the byte
 * where it goes wrong. Whether the byte that follows may stand there is the caller's to check. */
const char *vv_decimal_parse(const char *text, const char *end, struct vv_decimal *number_out);

/* Reads digits with an optional '-', as a count of `unit` > 0 nanoseconds. Beyond int64 it becomes
 * the nearest int64. Returns what follows, or NULL when there is no digit. */
const char *vv_decimal_time(const char *text, const char *end, int64_t unit, int64_t *time_out);

/* value × unit, or the nearest int64. */
int64_t vv_decimal_scale(int64_t value, int64_t unit);

/* mantissa × 10^exponent, rounded to the nearest double, ties to even; VV_INVALID outside of the
 * range that is computed here: 0, or exponents from -27 to 27. */
VV_MUST_CHECK enum vv_status vv_decimal_round(uint64_t mantissa, int64_t exponent,
                                              double *value_out);

#endif
