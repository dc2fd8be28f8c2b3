/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact numbers. A decimal text is mantissa × 10^exponent; what is usual in telemetry has at most
 * 19 digits and a small exponent, and then three ways lead to the correctly rounded double:
 *   - both parts are doubles themselves, so one operation rounds once (Clinger 1990);
 *   - the product or quotient by a power of five is computed in 128 bits, with what was cut off
 * kept in the lowest bit, so that the conversion to double rounds once;
 *   - everything else goes to strtod, from a bounded copy in the C locale.
 */
#include "ingest/decimal.h"

#include "base/bits.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLINGER_EXPONENT_MAX 22                  /* 10^22 is a double, 10^23 is not */
#define CLINGER_MANTISSA_MAX (UINT64_C(1) << 53) /* so are all integers up to this */
#define FIVES_MAX            27                  /* 5^27 fits in 63 bits */
#define WORD_DIGITS_MAX      19                  /* any 19 digits fit in 64 bits */
#define DECIDING_DIGITS      800                 /* 767 decide the rounding of any text */
#define EXPONENT_MAX         INT64_C(100000)     /* beyond, every text is zero or infinite */

/* The parts of a number's text. */
struct parts {
    const char *digits; /* where they begin; there may be one '.' among them */
    const char *digits_end;
    size_t n_digits;
    uint64_t mantissa; /* of all digits; meaningless with more than WORD_DIGITS_MAX */
    int64_t exponent;
    bool negative;
    bool is_float; /* it has a '.' or an exponent */
};

static bool is_digit(char byte)
{
    return (unsigned char)(byte - '0') < 10;
}

static const uint64_t whole_powers_of_ten[] = {1,      10,      100,      1000,     10000,
                                               100000, 1000000, 10000000, 100000000};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* How many of the eight bytes at text, from the first on, are digits; *values_out has their values
 * one a byte, and those that are none differ from any digit. The number of digits varies from
 * value to value, and a loop over them would be guessed wrong by the processor each time. */
static inline unsigned leading_digits(const char *text, uint64_t *values_out)
{
    uint64_t word;
    memcpy(&word, text, sizeof word);
    word ^= EACH_BYTE('0');
    *values_out = word;
    uint64_t others = ((word + EACH_BYTE(0x80 - 10)) | word) & EACH_BYTE(0x80);
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* The number of eight digits, one a byte. Joins neighbours three times: to pairs, to fours, to
 * eight. */
static inline uint64_t eight_digits_value(uint64_t digits)
{
    digits = (digits * 10 + (digits >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
    digits = (digits * 100 + (digits >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
    return (digits * 10000 + (digits >> 32)) & UINT64_C(0xFFFFFFFF);
}
#endif

/* Adds the digits at text to *value (modulo 2^64) and returns the first byte that is none. */
static inline const char *read_digits(const char *text, const char *end, uint64_t *value)
{
    uint64_t sum = *value;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    while (end - text >= 8) {
        uint64_t digits;
        unsigned n = leading_digits(text, &digits);
        uint64_t with_zeros = n ? digits << (8 - n) * 8 : 0; /* zeros before them */
        sum = sum * whole_powers_of_ten[n] + eight_digits_value(with_zeros);
        text += n;
        if (n < 8) {
            *value = sum;
            return text;
        }
    }
#endif
    while (text < end && is_digit(*text)) {
        sum = sum * 10 + (uint64_t)(*text - '0');
        text++;
    }
    *value = sum;
    return text;
}

static const double powers_of_ten[CLINGER_EXPONENT_MAX + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t powers_of_five[FIVES_MAX + 1] = {
    UINT64_C(1),
    UINT64_C(5),
    UINT64_C(25),
    UINT64_C(125),
    UINT64_C(625),
    UINT64_C(3125),
    UINT64_C(15625),
    UINT64_C(78125),
    UINT64_C(390625),
    UINT64_C(1953125),
    UINT64_C(9765625),
    UINT64_C(48828125),
    UINT64_C(244140625),
    UINT64_C(1220703125),
    UINT64_C(6103515625),
    UINT64_C(30517578125),
    UINT64_C(152587890625),
    UINT64_C(762939453125),
    UINT64_C(3814697265625),
    UINT64_C(19073486328125),
    UINT64_C(95367431640625),
    UINT64_C(476837158203125),
    UINT64_C(2384185791015625),
    UINT64_C(11920928955078125),
    UINT64_C(59604644775390625),
    UINT64_C(298023223876953125),
    UINT64_C(1490116119384765625),
    UINT64_C(7450580596923828125),
};

static double power_of_two(int64_t exponent)
{
    return vv_bits_double((uint64_t)(exponent + 1023) << 52);
}

/* mantissa × 5^exponent × 2^exponent, the product in 128 bits. mantissa > 0. */
static double round_product(uint64_t mantissa, int64_t exponent)
{
    unsigned __int128 product = (unsigned __int128)mantissa * powers_of_five[exponent];
    uint64_t high = (uint64_t)(product >> 64);
    if (high == 0) {
        return (double)(uint64_t)product * power_of_two(exponent);
    }
    int shift = 64 - __builtin_clzll(high);
    uint64_t top = (uint64_t)(product >> shift);
    bool cut = (product & (((unsigned __int128)1 << shift) - 1)) != 0;
    return (double)(top | cut) * power_of_two(exponent + shift);
}

/* mantissa ÷ 5^fives ÷ 2^fives. Both are shifted up to 64 bits and the mantissa by another 63, so
 * that the quotient has 63 or 64 bits: ten more than a double needs. mantissa > 0. */
static double round_quotient(uint64_t mantissa, int64_t fives)
{
    int mantissa_shift = __builtin_clzll(mantissa);
    int divisor_shift = __builtin_clzll(powers_of_five[fives]);
    uint64_t divisor = powers_of_five[fives] << divisor_shift;
    unsigned __int128 dividend = (unsigned __int128)(mantissa << mantissa_shift) << 63;
    uint64_t quotient = (uint64_t)(dividend / divisor);
    bool cut = dividend != (unsigned __int128)quotient * divisor;
    return (double)(quotient | cut) * power_of_two(divisor_shift - mantissa_shift - 63 - fives);
}

enum vv_status vv_decimal_round(uint64_t mantissa, int64_t exponent, double *value_out)
{
    if (mantissa == 0) {
        *value_out = 0.0;
        return VV_OK;
    }
    if (exponent < -FIVES_MAX || exponent > FIVES_MAX) {
        return VV_INVALID;
    }
    if (mantissa <= CLINGER_MANTISSA_MAX && exponent >= -CLINGER_EXPONENT_MAX &&
        exponent <= CLINGER_EXPONENT_MAX) {
        double exact = (double)mantissa;
        *value_out =
            exponent < 0 ? exact / powers_of_ten[-exponent] : exact * powers_of_ten[exponent];
    } else if (exponent < 0) {
        *value_out = round_quotient(mantissa, -exponent);
    } else {
        *value_out = round_product(mantissa, exponent);
    }
    return VV_OK;
}

/* Writes the digits that decide, without leading zeros; returns how many, and in *skipped_out how
 * many powers of ten those that were left out stand for. */
static size_t deciding_digits(const struct parts *parts, char *out, int64_t *skipped_out)
{
    size_t n = 0;
    int64_t skipped = 0;
    bool rest = false;
    for (const char *at = parts->digits; at < parts->digits_end; at++) {
        if (*at == '.' || (n == 0 && *at == '0')) {
            continue;
        }
        if (n < DECIDING_DIGITS) {
            out[n++] = *at;
        } else {
            skipped++;
            rest = rest || *at != '0';
        }
    }
    if (rest) {
        out[n++] = '1'; /* somewhat more than the digits before say */
        skipped--;
    }
    *skipped_out = skipped;
    return n;
}

static double round_long(const struct parts *parts)
{
    char text[DECIDING_DIGITS + 32];
    int64_t skipped = 0;
    size_t n = deciding_digits(parts, text, &skipped); /* not 0: zero is rounded elsewhere */
    int64_t exponent = parts->exponent + skipped;
    exponent = exponent > EXPONENT_MAX ? EXPONENT_MAX : exponent;
    exponent = exponent < -EXPONENT_MAX ? -EXPONENT_MAX : exponent;
    snprintf(text + n, sizeof text - n, "e%lld", (long long)exponent);
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a static object, not made */
    double value = strtod_l(text, NULL, locale);
    freelocale(locale);
    return value;
}

/* The digits without zeros in front, which do not count. */
static size_t significant_digits(const struct parts *parts)
{
    size_t n = parts->n_digits;
    const char *at = parts->digits;
    for (; n > WORD_DIGITS_MAX && (*at == '0' || *at == '.'); at++) {
        n -= *at == '0';
    }
    return n;
}

static const char *finish_float(const struct parts *parts, const char *at,
                                struct vv_decimal *number)
{
    double value = 0.0;
    if (significant_digits(parts) > WORD_DIGITS_MAX ||
        vv_decimal_round(parts->mantissa, parts->exponent, &value) != VV_OK) {
        value = round_long(parts);
    }
    if (isinf(value)) {
        number->kind = VV_DECIMAL_BAD;
        number->problem = "a float beyond ±1.797e308";
        return parts->digits;
    }
    value = parts->negative ? -value : value;
    number->kind = VV_DECIMAL_FLOAT;
    number->bits = vv_bits_of_double(value);
    return at;
}

/* The digits as one word; false when it overflows. */
static bool exact_word(const struct parts *parts, uint64_t *value_out)
{
    const char *at = parts->digits;
    while (at < parts->digits_end && *at == '0') {
        at++;
    }
    size_t n = (size_t)(parts->digits_end - at);
    *value_out = parts->mantissa;
    if (n <= WORD_DIGITS_MAX) {
        return true;
    }
    /* Twenty digits fit when they did not wrap around: then there is a 1 in front. */
    return n == WORD_DIGITS_MAX + 1 && *at == '1' &&
           parts->mantissa >= UINT64_C(10000000000000000000);
}

static const char *finish_int(const struct parts *parts, const char *at, struct vv_decimal *number)
{
    uint64_t value = 0;
    uint64_t limit = (uint64_t)INT64_MAX + parts->negative;
    if (!exact_word(parts, &value) || value > limit) {
        number->kind = VV_DECIMAL_BAD;
        number->problem = "an integer beyond int64 (-9223372036854775808 to 9223372036854775807)";
        return parts->digits;
    }
    number->kind = VV_DECIMAL_INT;
    number->bits = parts->negative ? 0 - value : value;
    return at;
}

static const char *finish_unsigned(const struct parts *parts, const char *at,
                                   struct vv_decimal *number)
{
    uint64_t value = 0;
    bool fits = exact_word(parts, &value);
    if (parts->negative || !fits) {
        number->kind = VV_DECIMAL_BAD;
        number->problem = parts->negative
                              ? "an unsigned integer with a minus sign"
                              : "an unsigned integer beyond uint64 (0 to 18446744073709551615)";
        return parts->digits;
    }
    number->kind = value > INT64_MAX ? VV_DECIMAL_ABOVE_INT : VV_DECIMAL_INT;
    number->bits = value;
    return at;
}

static const char *bad(struct vv_decimal *number, const char *at, const char *problem)
{
    number->kind = VV_DECIMAL_BAD;
    number->problem = problem;
    return at;
}

/* Reads what follows 'e'. NULL when there is no digit. */
static const char *read_exponent(const char *at, const char *end, int64_t *exponent)
{
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) {
        at++;
    }
    const char *digits = at;
    int64_t value = 0;
    while (at < end && is_digit(*at)) {
        value = value < INT64_C(1000000000000) ? value * 10 + (*at - '0') : value;
        at++;
    }
    *exponent += negative ? -value : value;
    return at == digits ? NULL : at;
}

const char *vv_decimal_parse(const char *text, const char *end, struct vv_decimal *number_out)
{
    struct parts parts = {.digits = text};
    const char *at = text;
    if (at < end && *at == '-') {
        parts.negative = true;
        parts.digits = ++at;
    }
    at = read_digits(at, end, &parts.mantissa);
    parts.n_digits = (size_t)(at - parts.digits);
    if (at < end && *at == '.') {
        const char *fraction = ++at;
        parts.is_float = true;
        at = read_digits(at, end, &parts.mantissa);
        parts.n_digits += (size_t)(at - fraction);
        parts.exponent = fraction - at;
    }
    parts.digits_end = at;
    if (parts.n_digits == 0) {
        return bad(number_out, text,
                   "not a value: write 1.5, 12i, 12u, true or \"text\" (NaN and infinity cannot be "
                   "stored)");
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *exponent_end = read_exponent(at + 1, end, &parts.exponent);
        if (!exponent_end) {
            return bad(number_out, at, "an exponent without digits");
        }
        parts.is_float = true;
        at = exponent_end;
    }
    if (at < end && (*at == 'i' || *at == 'u')) {
        if (parts.is_float) {
            return bad(number_out, at, "an integer with a fraction or an exponent");
        }
        return *at == 'i' ? finish_int(&parts, at + 1, number_out)
                          : finish_unsigned(&parts, at + 1, number_out);
    }
    return finish_float(&parts, at, number_out);
}

int64_t vv_decimal_scale(int64_t value, int64_t unit)
{
    int64_t scaled;
    if (__builtin_mul_overflow(value, unit, &scaled)) {
        return value < 0 ? INT64_MIN : INT64_MAX;
    }
    return scaled;
}

const char *vv_decimal_time(const char *text, const char *end, int64_t unit, int64_t *time_out)
{
    struct parts parts = {.digits = text};
    if (text < end && *text == '-') {
        parts.negative = true;
        parts.digits = text + 1;
    }
    const char *at = read_digits(parts.digits, end, &parts.mantissa);
    if (at == parts.digits) {
        return NULL;
    }
    parts.digits_end = at;
    struct vv_decimal number = {0};
    finish_int(&parts, at, &number);
    if (number.kind == VV_DECIMAL_BAD) {
        *time_out = parts.negative ? INT64_MIN : INT64_MAX;
    } else {
        *time_out = vv_decimal_scale((int64_t)number.bits, unit);
    }
    return at;
}
