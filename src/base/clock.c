/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's clock, and the text forms of times and durations. */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#define SECONDS_PER_DAY   INT64_C(86400)
#define DAYS_PER_ERA      INT64_C(146097) /* 400 years of the Gregorian calendar */
#define YEARS_PER_ERA     INT64_C(400)
#define DAYS_TO_1970      INT64_C(719468) /* from 0000-03-01 */
#define FRACTION_DIGITS   9u
#define TEXT_SHOWN_MAX    64 /* of wrong input in a message */
#define DURATION_UNIT_MAX 8u

static int64_t read_clock(clockid_t id)
{
    struct timespec now;
    vv_invariant(clock_gettime(id, &now) == 0);
    return (int64_t)now.tv_sec * VV_SECOND + now.tv_nsec;
}

static int64_t system_wall_ns(struct vv_clock *clock)
{
    (void)clock;
    return read_clock(CLOCK_REALTIME);
}

static int64_t system_monotonic_ns(struct vv_clock *clock)
{
    (void)clock;
    return read_clock(CLOCK_MONOTONIC);
}

struct vv_clock *vv_clock_system(void)
{
    static struct vv_clock system_clock = {system_wall_ns, system_monotonic_ns};
    return &system_clock;
}

/*
 * Dates. A year is counted from March, so that the leap day is its last one; then the day of the
 * year of a month is a straight line, (153 m + 2) / 5, and an era of 400 years has a fixed length.
 */
int64_t vv_days_from_civil(int64_t year, unsigned month, unsigned day)
{
    vv_invariant(month >= 1 && month <= 12);
    int64_t march_year = month <= 2 ? year - 1 : year;
    int64_t march_month = month <= 2 ? (int64_t)month + 9 : (int64_t)month - 3;
    int64_t era_start = vv_time_floor(march_year, YEARS_PER_ERA);
    int64_t year_of_era = march_year - era_start;
    int64_t day_of_year = (153 * march_month + 2) / 5 + (int64_t)day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era_start / YEARS_PER_ERA * DAYS_PER_ERA + day_of_era - DAYS_TO_1970;
}

void vv_civil_from_days(int64_t days, int64_t *year_out, unsigned *month_out, unsigned *day_out)
{
    int64_t shifted = days + DAYS_TO_1970;
    int64_t era_start = vv_time_floor(shifted, DAYS_PER_ERA);
    int64_t day_of_era = shifted - era_start;
    /* Takes out the leap days of 4, 100 and 400 years, so that each year has 365 days. */
    int64_t leap_days = day_of_era / 1460 - day_of_era / 36524 + day_of_era / (DAYS_PER_ERA - 1);
    int64_t year_of_era = (day_of_era - leap_days) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t march_month = (5 * day_of_year + 2) / 153;
    int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    *day_out = (unsigned)(day_of_year - (153 * march_month + 2) / 5 + 1);
    *month_out = (unsigned)month;
    *year_out = era_start / DAYS_PER_ERA * YEARS_PER_ERA + year_of_era + (month <= 2);
}

static size_t format_fraction(int64_t fraction_ns, char *out, size_t out_size)
{
    int length = 0;
    if (fraction_ns == 0) {
        out[0] = '\0';
    } else if (fraction_ns % VV_MILLISECOND == 0) {
        length = snprintf(out, out_size, ".%03d", (int)(fraction_ns / VV_MILLISECOND));
    } else if (fraction_ns % VV_MICROSECOND == 0) {
        length = snprintf(out, out_size, ".%06d", (int)(fraction_ns / VV_MICROSECOND));
    } else {
        length = snprintf(out, out_size, ".%09d", (int)fraction_ns);
    }
    return (size_t)length;
}

size_t vv_time_format(int64_t time_ns, char *out)
{
    int64_t fraction_ns = time_ns % VV_SECOND;
    fraction_ns += fraction_ns < 0 ? VV_SECOND : 0;
    int64_t seconds = time_ns / VV_SECOND - (time_ns % VV_SECOND < 0);
    int64_t day_start = vv_time_floor(seconds, SECONDS_PER_DAY);
    int second_of_day = (int)(seconds - day_start);
    int64_t year;
    unsigned month;
    unsigned day;
    vv_civil_from_days(day_start / SECONDS_PER_DAY, &year, &month, &day);
    char fraction[16];
    format_fraction(fraction_ns, fraction, sizeof fraction);
    int length =
        snprintf(out, VV_TIME_TEXT_SIZE, "%04d-%02u-%02uT%02d:%02d:%02d%sZ", (int)year, month, day,
                 second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60, fraction);
    return (size_t)length;
}

/* A cursor over the text of a time. Its steps give false where the text does not fit. */
struct cursor {
    const char *at;
    const char *end;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_digits(struct cursor *cursor, unsigned count, int *value_out)
{
    int value = 0;
    for (unsigned i = 0; i < count; i++) {
        if (cursor->at == cursor->end || !is_digit(*cursor->at)) {
            return false;
        }
        value = value * 10 + (*cursor->at++ - '0');
    }
    *value_out = value;
    return true;
}

static bool take_char(struct cursor *cursor, const char *choices)
{
    if (cursor->at == cursor->end || *cursor->at == '\0' || !strchr(choices, *cursor->at)) {
        return false;
    }
    cursor->at++;
    return true;
}

static unsigned days_in_month(int year, int month)
{
    static const unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

static bool take_date(struct cursor *cursor, int64_t *days_out)
{
    int year;
    int month;
    int day;
    if (!take_digits(cursor, 4, &year) || !take_char(cursor, "-") ||
        !take_digits(cursor, 2, &month) || !take_char(cursor, "-") ||
        !take_digits(cursor, 2, &day)) {
        return false;
    }
    if (month < 1 || month > 12 || day < 1 || (unsigned)day > days_in_month(year, month)) {
        return false;
    }
    *days_out = vv_days_from_civil(year, (unsigned)month, (unsigned)day);
    return true;
}

/* Seconds of the day; 60 is let through as a second, for leap seconds. */
static bool take_time_of_day(struct cursor *cursor, int *seconds_out)
{
    int hour;
    int minute;
    int second;
    if (!take_digits(cursor, 2, &hour) || !take_char(cursor, ":") ||
        !take_digits(cursor, 2, &minute) || !take_char(cursor, ":") ||
        !take_digits(cursor, 2, &second)) {
        return false;
    }
    *seconds_out = hour * 3600 + minute * 60 + second;
    return hour < 24 && minute < 60 && second <= 60;
}

static bool take_fraction(struct cursor *cursor, int *fraction_ns_out)
{
    *fraction_ns_out = 0;
    if (!take_char(cursor, ".")) {
        return true;
    }
    int fraction_ns = 0;
    unsigned digits = 0;
    while (digits < FRACTION_DIGITS && cursor->at < cursor->end && is_digit(*cursor->at)) {
        fraction_ns = fraction_ns * 10 + (*cursor->at++ - '0');
        digits++;
    }
    for (unsigned i = digits; i < FRACTION_DIGITS; i++) {
        fraction_ns *= 10;
    }
    *fraction_ns_out = fraction_ns;
    return digits > 0;
}

/* "Z", "+01:00", "-0330"; nothing is UTC. */
static bool take_zone(struct cursor *cursor, int *offset_seconds_out)
{
    *offset_seconds_out = 0;
    if (cursor->at == cursor->end || take_char(cursor, "Zz")) {
        return true;
    }
    bool west = *cursor->at == '-';
    int hours;
    int minutes;
    if (!take_char(cursor, "+-") || !take_digits(cursor, 2, &hours)) {
        return false;
    }
    (void)take_char(cursor, ":");
    if (!take_digits(cursor, 2, &minutes) || hours > 23 || minutes > 59) {
        return false;
    }
    int offset_seconds = hours * 3600 + minutes * 60;
    *offset_seconds_out = west ? -offset_seconds : offset_seconds;
    return true;
}

static bool parse_parts(struct vv_str text, int64_t *seconds_out, int *fraction_ns_out)
{
    struct cursor cursor = {text.data, text.data + text.size};
    int64_t days;
    int second_of_day = 0;
    int offset_seconds = 0;
    *fraction_ns_out = 0;
    if (!take_date(&cursor, &days)) {
        return false;
    }
    const char *seconds_end = NULL;
    if (cursor.at < cursor.end) {
        if (!take_char(&cursor, "Tt ") || !take_time_of_day(&cursor, &second_of_day)) {
            return false;
        }
        seconds_end = cursor.at;
        if (!take_fraction(&cursor, fraction_ns_out) || !take_zone(&cursor, &offset_seconds)) {
            return false;
        }
    }
    *seconds_out = days * SECONDS_PER_DAY + second_of_day - offset_seconds;
    bool leap_second = seconds_end && seconds_end[-2] == '6';
    return cursor.at == cursor.end && (!leap_second || *seconds_out % SECONDS_PER_DAY == 0);
}

enum vv_status vv_time_parse(struct vv_str text, int64_t *time_out, struct vv_error *error)
{
    int64_t seconds;
    int fraction_ns;
    int shown = text.size > TEXT_SHOWN_MAX ? TEXT_SHOWN_MAX : (int)text.size;
    if (text.size == 0 || !parse_parts(text, &seconds, &fraction_ns)) {
        return vv_error_set(error, VV_INVALID,
                            "'%.*s' is not a time: write it as 2013-12-02T21:15:00Z, with at most "
                            "nine digits of fraction",
                            shown, text.size ? text.data : "");
    }
    __int128 time = (__int128)seconds * VV_SECOND + fraction_ns;
    if (time < INT64_MIN || time > INT64_MAX) {
        return vv_error_set(error, VV_INVALID,
                            "the time '%.*s' is out of range: from 1677-09-21 to 2262-04-11 can "
                            "be stored",
                            shown, text.data);
    }
    *time_out = (int64_t)time;
    return VV_OK;
}

struct duration_unit {
    const char *name;
    int64_t length_ns;
};

/* The larger first. */
static const struct duration_unit duration_units[DURATION_UNIT_MAX] = {
    {"w", 7 * VV_DAY}, {"d", VV_DAY},          {"h", VV_HOUR},         {"m", VV_MINUTE},
    {"s", VV_SECOND},  {"ms", VV_MILLISECOND}, {"us", VV_MICROSECOND}, {"ns", 1},
};

/* The index of the unit that the letters at the cursor name, or DURATION_UNIT_MAX. */
static unsigned take_unit(struct cursor *cursor)
{
    const char *start = cursor->at;
    while (cursor->at < cursor->end && !is_digit(*cursor->at)) {
        cursor->at++;
    }
    struct vv_str name = {start, (size_t)(cursor->at - start)};
    unsigned unit = 0;
    while (unit < DURATION_UNIT_MAX && !vv_str_equal(name, vv_str_of(duration_units[unit].name))) {
        unit++;
    }
    return unit;
}

static bool take_number(struct cursor *cursor, int64_t *value_out, bool *overflow)
{
    const char *start = cursor->at;
    int64_t value = 0;
    while (cursor->at < cursor->end && is_digit(*cursor->at)) {
        *overflow |= __builtin_mul_overflow(value, 10, &value);
        *overflow |= __builtin_add_overflow(value, *cursor->at - '0', &value);
        cursor->at++;
    }
    *value_out = value;
    return cursor->at > start;
}

static bool parse_duration(struct vv_str text, int64_t *duration_out, bool *overflow)
{
    struct cursor cursor = {text.data, text.data + text.size};
    unsigned next_unit = 0;
    int64_t sum = 0;
    while (cursor.at < cursor.end) {
        int64_t value;
        if (!take_number(&cursor, &value, overflow)) {
            return false;
        }
        if (value == 0 && text.size == 1) {
            break; /* a lone 0 needs no unit */
        }
        unsigned unit = take_unit(&cursor);
        if (unit < next_unit || unit == DURATION_UNIT_MAX) {
            return false;
        }
        next_unit = unit + 1;
        *overflow |= __builtin_mul_overflow(value, duration_units[unit].length_ns, &value);
        *overflow |= __builtin_add_overflow(sum, value, &sum);
    }
    *duration_out = sum;
    return text.size > 0;
}

enum vv_status vv_duration_parse(struct vv_str text, int64_t *duration_out, struct vv_error *error)
{
    int64_t duration;
    bool overflow = false;
    int shown = text.size > TEXT_SHOWN_MAX ? TEXT_SHOWN_MAX : (int)text.size;
    if (text.size == 0 || !parse_duration(text, &duration, &overflow)) {
        return vv_error_set(error, VV_INVALID,
                            "'%.*s' is not a duration: write it as 90s, 1h30m or 7d (units w, d, "
                            "h, m, s, ms, us, ns; the larger first)",
                            shown, text.size ? text.data : "");
    }
    if (overflow) {
        return vv_error_set(error, VV_INVALID,
                            "the duration '%.*s' is too long: at most 15250w (292 years)", shown,
                            text.data);
    }
    *duration_out = duration;
    return VV_OK;
}

size_t vv_duration_format(int64_t duration_ns, char *out)
{
    uint64_t left = duration_ns < 0 ? 0 - (uint64_t)duration_ns : (uint64_t)duration_ns;
    size_t length = 0;
    if (duration_ns < 0) {
        out[length++] = '-';
    }
    for (unsigned unit = 1; unit < DURATION_UNIT_MAX; unit++) { /* weeks are for input only */
        uint64_t unit_ns = (uint64_t)duration_units[unit].length_ns;
        if (left >= unit_ns) {
            length +=
                (size_t)snprintf(out + length, VV_TIME_TEXT_SIZE - length, "%llu%s",
                                 (unsigned long long)(left / unit_ns), duration_units[unit].name);
            left %= unit_ns;
        }
    }
    if (length == 0) {
        memcpy(out, "0s", 3);
        length = 2;
    }
    return length;
}
