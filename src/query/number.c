/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as text. Readings are mostly decimals of few digits: where value = m / 10^k with
 * m < 2^53 and k ≤ 22, both are exact doubles and the division rounds once, so the digits of m with
 * k decimals are read back as value. All else goes through printf with 15, 16 and 17 digits.
 */
#include "query/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define INTEGER_EXACT   9007199254740992.0 /* 2^53 */
#define DECIMALS_MAX    17u
#define SECONDS_PER_DAY INT64_C(86400)
#define PLAIN_MIN       1e-5 /* below it printf uses an exponent, which is shorter */

static const double powers[DECIMALS_MAX + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
                                                1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17};

static void write_two(char *out, unsigned value)
{
    out[0] = (char)('0' + value / 10);
    out[1] = (char)('0' + value % 10);
}

static size_t format_unsigned(uint64_t value, char *out)
{
    char text[20]; /* filled from its end, two digits at a time */
    size_t at = sizeof text;
    while (value >= 100) {
        at -= 2;
        write_two(text + at, (unsigned)(value % 100));
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        write_two(text + at, (unsigned)value);
    } else {
        text[--at] = (char)('0' + value);
    }
    memcpy(out, text + at, sizeof text - at);
    return sizeof text - at;
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
    for (int digits = 15; digits <= 17; digits++) {
        size = snprintf(out, VV_NUMBER_TEXT_SIZE, "%.*g", digits, value);
        if (digits == 17 || strtod(out, NULL) == value) {
            break;
        }
    }
    return (size_t)size;
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
    for (unsigned k = 1; magnitude >= PLAIN_MIN && k <= DECIMALS_MAX; k++) {
        double scaled = magnitude * powers[k];
        if (scaled >= INTEGER_EXACT) {
            break;
        }
        uint64_t digits = (uint64_t)(scaled + 0.5);
        if ((double)digits / powers[k] == magnitude) {
            return sign + format_decimal(digits, k, out + sign);
        }
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
