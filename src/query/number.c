/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as text. Readings are mostly decimals of few digits: where value = m / 10^k with
 * m < 10^15 and k ≤ 22, both are exact doubles and the division rounds once, so the digits of m
 * with k decimals are read back as value. All else, as most means, is given 15, 16 or 17 digits, as
 * many as it needs: by integers of 128 bits where it is neither large nor near 0, else by printf.
 */
#include "query/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define INTEGER_EXACT   9007199254740992.0 /* 2^53 */
#define DECIMALS_FEW    4u                 /* tried first */
#define DIGITS_MIN      15
#define DIGITS_MAX      17
#define SECONDS_PER_DAY INT64_C(86400)
#define PLAIN_MIN       1e-4 /* below it printf uses an exponent */
#define EXACT_MAX       1e15
#define MANTISSA_BITS   52

/* m · 10^k of what is formatted exactly is less than 2^53 · 10^20, and fits. */
typedef unsigned __int128 wide;

static const double powers[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
                                1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
#define POWER_OF_ONE 4 /* where 1e0 is */

static void write_two(char *out, unsigned value)
{
    out[0] = (char)('0' + value / 10);
    out[1] = (char)('0' + value % 10);
}

static size_t count_digits(uint64_t value)
{
    size_t n = 1;
    for (; value >= 100; value /= 100) {
        n += 2;
    }
    return n + (value >= 10);
}

static size_t format_unsigned(uint64_t value, char *out)
{
    size_t n = count_digits(value);
    size_t at = n; /* from the end, two digits at a time */
    while (value >= 100) {
        at -= 2;
        write_two(out + at, (unsigned)(value % 100));
        value /= 100;
    }
    if (at == 2) {
        write_two(out, (unsigned)value);
    } else {
        *out = (char)('0' + value);
    }
    return n;
}

size_t vv_integer_format(int64_t value, char *out)
{
    bool negative = value < 0;
    if (negative) {
        *out = '-';
    }
    uint64_t magnitude = negative ? 0 - (uint64_t)value : (uint64_t)value;
    return negative + format_unsigned(magnitude, out + negative);
}

/* `digits` with a point before the last `decimals` of them. */
static size_t format_decimal(uint64_t digits, unsigned decimals, char *out)
{
    char text[24];
    size_t size = format_unsigned(digits, text);
    size_t at = 0;
    size_t whole = size > decimals ? size - decimals : 0;
    if (whole == 0) {
        out[at++] = '0';
    }
    memcpy(out + at, text, whole);
    at += whole;
    out[at++] = '.';
    for (size_t i = size; i < decimals; i++) {
        out[at++] = '0';
    }
    memcpy(out + at, text + whole, size - whole);
    return at + size - whole;
}

static size_t format_by_printf(double value, char *out)
{
    int size = 0;
    for (int digits = DIGITS_MIN; digits <= DIGITS_MAX; digits++) {
        size = snprintf(out, VV_NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (digits == DIGITS_MAX || strtod(out, NULL) == value) {
            break;
        }
    }
    return (size_t)size;
}

static wide power_of_ten(int exponent)
{
    wide power = 1;
    for (wide base = 10; exponent > 0; exponent >>= 1, base *= base) {
        power *= exponent & 1 ? base : 1;
    }
    return power;
}

/* A double that is no integer: mantissa / 2^shift. */
struct fraction {
    uint64_t mantissa;
    unsigned shift;
    int exponent; /* of ten: of its first digit */
};

static struct fraction fraction_of(double magnitude)
{
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    uint64_t one = UINT64_C(1) << MANTISSA_BITS;
    int exponent = POWER_OF_ONE;
    while (magnitude >= powers[exponent]) {
        exponent++;
    }
    while (magnitude < powers[exponent]) {
        exponent--;
    }
    return (struct fraction){.mantissa = (bits & (one - 1)) | one,
                             .shift = 1023 + MANTISSA_BITS - (unsigned)(bits >> MANTISSA_BITS),
                             .exponent = exponent - POWER_OF_ONE};
}

/* The digits of the nearest decimal with so many decimals; false: another double is nearer to it,
 * or as near. */
static bool round_to(const struct fraction *fraction, int decimals, uint64_t *digits_out)
{
    wide power = power_of_ten(decimals);
    wide exact = power * fraction->mantissa;
    wide rest = exact & (((wide)1 << fraction->shift) - 1);
    wide half = (wide)1 << (fraction->shift - 1);
    uint64_t digits = (uint64_t)(exact >> fraction->shift);
    bool up = rest > half || (rest == half && (digits & 1));
    wide apart = up ? 2 * half - rest : rest;
    /* Below a power of two doubles are twice as near. */
    bool is_edge = !up && fraction->mantissa == UINT64_C(1) << MANTISSA_BITS;
    *digits_out = digits + up;
    return apart * (is_edge ? 4 : 2) < power;
}

/* As printf does with as few of 15, 16 and 17 digits as are read back. */
static size_t format_exactly(double magnitude, char *out)
{
    struct fraction fraction = fraction_of(magnitude);
    uint64_t digits = 0;
    int decimals = 0;
    bool is_enough = false;
    for (int n = DIGITS_MIN; n <= DIGITS_MAX && !is_enough; n++) {
        decimals = n - 1 - fraction.exponent;
        is_enough = round_to(&fraction, decimals, &digits);
    }
    while (digits % 10 == 0 && decimals > 1) {
        digits /= 10;
        decimals--;
    }
    return format_decimal(digits, (unsigned)decimals, out);
}

size_t vv_number_format(double value, char *out)
{
    double magnitude = fabs(value);
    size_t sign = signbit(value) ? 1 : 0;
    if (sign) {
        *out = '-';
    }
    if (magnitude < INTEGER_EXACT && magnitude == (double)(uint64_t)magnitude) {
        return sign + format_unsigned((uint64_t)magnitude, out + sign);
    }
    for (unsigned k = 1; magnitude >= PLAIN_MIN && k <= DECIMALS_FEW; k++) {
        double scaled = magnitude * powers[POWER_OF_ONE + k];
        if (scaled >= EXACT_MAX) {
            break; /* of more digits there may be several */
        }
        uint64_t digits = (uint64_t)(scaled + 0.5);
        if ((double)digits / powers[POWER_OF_ONE + k] == magnitude) {
            return sign + format_decimal(digits, k, out + sign);
        }
    }
    if (magnitude >= PLAIN_MIN && magnitude < EXACT_MAX) {
        return sign + format_exactly(magnitude, out + sign);
    }
    return format_by_printf(value, out);
}

/* ---- times ---- */

static int64_t floor_divide(int64_t time_ns, int64_t unit_ns)
{
    return time_ns / unit_ns - (time_ns % unit_ns < 0);
}

static void set_date(struct vv_time_writer *writer, int64_t day_start)
{
    int64_t year;
    unsigned month;
    unsigned day;
    vv_civil_from_days(day_start / SECONDS_PER_DAY, &year, &month, &day);
    write_two(writer->date, (unsigned)(year / 100));
    write_two(writer->date + 2, (unsigned)(year % 100));
    writer->date[4] = '-';
    write_two(writer->date + 5, month);
    writer->date[7] = '-';
    write_two(writer->date + 8, day);
    writer->day_start = day_start;
    writer->has_date = true;
}

/* A point and 3, 6 or 9 digits, as many as are needed; nothing for whole seconds. */
static size_t write_fraction(char *out, int64_t fraction_ns)
{
    size_t digits = 9;
    if (fraction_ns == 0) {
        return 0;
    }
    while (fraction_ns % 1000 == 0) {
        fraction_ns /= 1000;
        digits -= 3;
    }
    out[0] = '.';
    for (size_t i = digits; i > 0; i--) {
        out[i] = (char)('0' + fraction_ns % 10);
        fraction_ns /= 10;
    }
    return digits + 1;
}

static size_t write_rfc3339(struct vv_time_writer *writer, int64_t time_ns, char *out)
{
    int64_t seconds = floor_divide(time_ns, VV_SECOND);
    if (!writer->has_date || seconds < writer->day_start ||
        seconds >= writer->day_start + SECONDS_PER_DAY) {
        set_date(writer, vv_time_floor(seconds, SECONDS_PER_DAY));
    }
    unsigned second_of_day = (unsigned)(seconds - writer->day_start);
    memcpy(out, writer->date, sizeof writer->date);
    out[10] = 'T';
    write_two(out + 11, second_of_day / 3600);
    out[13] = ':';
    write_two(out + 14, second_of_day / 60 % 60);
    out[16] = ':';
    write_two(out + 17, second_of_day % 60);
    size_t size = 19 + write_fraction(out + 19, time_ns - seconds * VV_SECOND);
    out[size] = 'Z';
    return size + 1;
}

size_t vv_time_write(struct vv_time_writer *writer, int64_t time_ns, char *out)
{
    static const int64_t units[] = {
        [VV_TIME_NS] = 1,
        [VV_TIME_US] = VV_MICROSECOND,
        [VV_TIME_MS] = VV_MILLISECOND,
        [VV_TIME_S] = VV_SECOND,
    };
    if (writer->format == VV_TIME_RFC3339) {
        return write_rfc3339(writer, time_ns, out);
    }
    return vv_integer_format(floor_divide(time_ns, units[writer->format]), out);
}
