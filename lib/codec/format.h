/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte format of a block, version 1. Private to lib/codec.
 *
 * Words are little-endian; "varint" is base 128, low bits first, at most 64 bits; "zigzag" maps
 * 0, -1, 1, -2 to 0, 1, 2, 3; "packed" numbers stand side by side at a fixed width of bits, low
 * bits first. All arithmetic on numbers is modulo 2^64.
 *
 *   block     = magic "VB", version u8, flags u8 (bit 0: columns have statistics)
 *               time_min i64, stamp_min u64
 *               varint n_rows, varint n_columns
 *               varint time_max - time_min, varint stamp_max - stamp_min
 *               varint metric_min, metric_width u8 (0..32), packed (metric - metric_min)
 *               sections: times, stamps, then one for each column
 *               packed ends of the sections, counted from the start of the first
 *               end_width u8 (0..57)
 *               XXH3-64 u64 of all bytes before it
 *
 * Behind each packed number there are thus always VV_BITPACK_SLACK readable bytes.
 *
 *   times     = nothing: the times are evenly spaced from time_min to time_max
 *             | sequence of time - time_min
 *   stamps    = nothing: all equal to stamp_min
 *             | varint n_runs, varint size of the next, sequence of run lengths - 1,
 *               sequence of stamp - stamp_min
 *   column    = head u8, [statistics], [presence], body        (of the rows that are present)
 *   sequence  = head u8, body                                  (of int64 numbers)
 *
 *   head      = bits 0-3 form, bit 4 scaled, bits 5-6 presence, bit 7 float64
 *   presence  = all (0): nothing | bitmap (1): (n_rows + 7) / 8 bytes
 *             | runs (2): varint lengths of present and absent runs in turn, until n_rows
 *             | none (3): nothing, and no body
 *   body      = [scale u8, [corrections], [divisor]] numbers   (what is in [] if scaled)
 *   scale     = bits 0-4 decimal exponent 0..18, or 31: the numbers are the values' bits
 *               bit 5 corrections, bit 6 divisor, bit 7 decimals are rounded to float32
 *   divisor   = varint divisor >= 1, varint remainder
 *
 * A value is the number itself (int64) or its bits (float64), or with a decimal exponent e the
 * double number / 10^e, to whose bits the correction is added. Corrections are groups, one number
 * for each value. With a divisor each residual (below) is remainder + divisor * what is stored.
 *
 *   numbers, by form (in the order of enum vv_form)
 *     raw     = u64 for each value, no divisor
 *     table   = no divisor: n_entries - 1 u8, u64 for each entry, groups of the places in it
 *     constant= one number for all: u64 if numbers are the bits of a float64, else varint zigzag
 *     direct  = groups of the numbers
 *     delta   = varint zigzag first, groups of the differences
 *     delta2  = varint zigzag first, varint zigzag first difference, groups of the differences
 *               of the differences
 *     *_planes= the same firsts, varint zigzag base, n_planes u8 (1..8), a zstd frame of
 *               n_planes * count bytes: the lowest bytes of all residuals - base, then the next
 *     raw_zstd= no divisor: what raw is, as one zstd frame
 *
 *   groups    = for each 128 numbers, fewer in the last group:
 *               width u8 (0..64, bit 7: exceptions), varint zigzag base - base of the group before
 *               [n_exceptions u8, for each: position u8, varint zigzag number - base]
 *               packed number - base (0 for an exception)
 *
 *   statistics= varint count; nothing more if no row is present, else
 *               scale u8: decimal exponent 0..18 (0 for int64), or 31
 *               31: min, max, first, last as u64 bits
 *               else the same as decimals: varint zigzag min, varint max - min,
 *               varint first - min, varint last - min
 *               sum float64
 */
#ifndef VV_CODEC_FORMAT_H
#define VV_CODEC_FORMAT_H

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdint.h>

#define VV_FORMAT_MAGIC_0       0x56u
#define VV_FORMAT_MAGIC_1       0x42u
#define VV_FORMAT_VERSION       1u
#define VV_FORMAT_FLAG_STATS    0x01u
#define VV_FORMAT_FIXED_SIZE    20u /* magic to stamp_min */
#define VV_FORMAT_CHECKSUM_SIZE 8u
/* The header after its fixed part and without the packed metrics, at most. */
#define VV_FORMAT_VARINTS_SIZE_MAX (5u * 10u + 1u)

#define VV_FORMAT_METRIC_WIDTH_MAX 32u
#define VV_FORMAT_END_WIDTH_MAX    57u

#define VV_FORMAT_HEAD_FORM      0x0fu
#define VV_FORMAT_HEAD_SCALED    0x10u
#define VV_FORMAT_PRESENCE_SHIFT 5u
#define VV_FORMAT_PRESENCE_MASK  0x03u
#define VV_FORMAT_HEAD_FLOAT     0x80u

enum vv_form {
    VV_FORM_RAW = 0,
    VV_FORM_TABLE = 1,
    VV_FORM_CONSTANT = 2,
    VV_FORM_DIRECT = 3,
    VV_FORM_DELTA = 4,
    VV_FORM_DELTA2 = 5,
    VV_FORM_DIRECT_PLANES = 6,
    VV_FORM_DELTA_PLANES = 7,
    VV_FORM_DELTA2_PLANES = 8,
    VV_FORM_RAW_ZSTD = 9,
    VV_FORM_END = 10
};

enum vv_presence {
    VV_PRESENCE_ALL = 0,
    VV_PRESENCE_BITMAP = 1,
    VV_PRESENCE_RUNS = 2,
    VV_PRESENCE_NONE = 3
};

#define VV_FORMAT_SCALE_EXPONENT    0x1fu
#define VV_FORMAT_SCALE_CORRECTIONS 0x20u
#define VV_FORMAT_SCALE_DIVISOR     0x40u
#define VV_FORMAT_SCALE_SINGLE      0x80u
#define VV_FORMAT_EXPONENT_MAX      18u
#define VV_FORMAT_EXPONENT_NONE     31u

#define VV_FORMAT_GROUP_EXCEPTIONS 0x80u

static_assert(CHAR_BIT == 8, "bytes have eight bits");
static_assert(sizeof(double) == 8 && DBL_MANT_DIG == 53 && DBL_MAX_EXP == 1024,
              "double is IEEE 754 binary64");
static_assert(sizeof(float) == 4 && FLT_MANT_DIG == 24, "float is IEEE 754 binary32");
static_assert(FLT_EVAL_METHOD == 0, "decimals need arithmetic without excess precision");
static_assert(VV_FORMAT_FIXED_SIZE == 2 + 1 + 1 + 8 + 8, "the fixed part has no gaps");
static_assert((VV_FORMAT_HEAD_FORM | VV_FORMAT_HEAD_SCALED |
               (VV_FORMAT_PRESENCE_MASK << VV_FORMAT_PRESENCE_SHIFT) | VV_FORMAT_HEAD_FLOAT) ==
                  0xff,
              "the head's fields fill one byte");
static_assert(VV_FORM_END <= VV_FORMAT_HEAD_FORM + 1, "a form fits its field");
static_assert((VV_FORMAT_SCALE_EXPONENT | VV_FORMAT_SCALE_CORRECTIONS | VV_FORMAT_SCALE_DIVISOR |
               VV_FORMAT_SCALE_SINGLE) == 0xff,
              "the scale's fields fill one byte");

#endif
