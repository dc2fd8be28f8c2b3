/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading times. Conversions of patterns:
 *   %Y %y %m %b %B %d %e %j   year, two digits of it, month, its English name, day, day of the year
 *   %H %I %p %M %S %f         hour, hour of 12 with AM or PM, minute, second, fraction of a second
 *   %z %Z                     +01:00, +0100 or Z; UTC or GMT
 *   %F %T %R %D %s %%         %Y-%m-%d, %H:%M:%S, %H:%M, %m/%d/%y, seconds since 1970, a '%'
 * A space in a pattern is any number of spaces; everything else stands for itself.
 */
#include "cli/time_form.h"

#include "base/clock.h"

#include <strings.h>

#define SHOWN_TEXT_MAX 48
#define CONVERSIONS    "YymbBdejHIpMSfzZFTRDs%"

enum vv_status vv_time_form_parse(const char *text, struct vv_time_form *form_out,
                                  struct vv_error *error)
{
    static const struct {
        const char *word;
        int64_t unit_ns;
    } units[] = {{"rfc3339", 0},
                 {"s", VV_SECOND},
                 {"ms", VV_MILLISECOND},
                 {"us", VV_MICROSECOND},
                 {"ns", 1}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].word, text) == 0) {
            *form_out = (struct vv_time_form){.unit_ns = units[i].unit_ns};
            return VV_OK;
        }
    }
    const char *percent = strchr(text, '%');
    if (!percent) {
        return vv_error_set(error, VV_INVALID,
                            "'%.48s' is no form of time; allowed: rfc3339, s, ms, us, ns, or a "
                            "pattern such as '%%d.%%m.%%Y %%H:%%M:%%S'",
                            text);
    }
    for (; percent; percent = strchr(percent + 2, '%')) {
        if (percent[1] == '\0' || !strchr(CONVERSIONS, percent[1])) {
            return vv_error_set(error, VV_INVALID,
                                "'%%%.1s' in a time pattern is not known; allowed after %%: %s",
                                percent + 1, CONVERSIONS);
        }
    }
    *form_out = (struct vv_time_form){.pattern = text};
    return VV_OK;
}

/* ---- numbers ---- */

/* "1385932500", "-3", "1385932500.25": exact, digits beyond a nanosecond are refused unless 0. */
static bool read_units(struct vv_str text, int64_t unit_ns, int64_t *time_out)
{
    size_t at = text.size > 0 && text.data[0] == '-';
    bool negative = at == 1;
    __int128 value = 0;
    size_t digits = 0;
    for (; at < text.size && text.data[at] >= '0' && text.data[at] <= '9' && digits < 20; at++) {
        value = value * 10 + (text.data[at] - '0');
        digits++;
    }
    value *= unit_ns;
    if (digits > 0 && at + 1 < text.size && text.data[at] == '.') {
        int64_t scale = unit_ns;
        for (at++; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++) {
            scale /= 10;
            if (scale == 0 && text.data[at] != '0') {
                return false;
            }
            value += (__int128)scale * (text.data[at] - '0');
        }
    }
    if (digits == 0 || at != text.size || value > INT64_MAX) {
        return false;
    }
    *time_out = (int64_t)(negative ? -value : value);
    return true;
}

/* ---- patterns ---- */

struct moment {
    const char *at;
    const char *end;
    int64_t year;
    int64_t month;
    int64_t day;
    int64_t day_of_year; /* 0: not given */
    int64_t hour;
    int64_t minute;
    int64_t second;
    int64_t fraction_ns;
    int64_t offset_s;
    int64_t unix_s;
    bool is_unix;
    int half; /* 0: of 24 hours; 1: AM; 2: PM */
};

/* One to `digits_max` digits whose number is in the range. */
static bool read_digits(struct moment *moment, size_t digits_max, int64_t least, int64_t most,
                        int64_t *value_out)
{
    int64_t value = 0;
    size_t digits = 0;
    while (moment->at < moment->end && digits < digits_max && *moment->at >= '0' &&
           *moment->at <= '9') {
        value = value * 10 + (*moment->at++ - '0');
        digits++;
    }
    *value_out = value;
    return digits > 0 && value >= least && value <= most;
}

static bool read_fraction(struct moment *moment)
{
    int64_t scale = VV_SECOND;
    size_t digits = 0;
    moment->fraction_ns = 0;
    for (; moment->at < moment->end && *moment->at >= '0' && *moment->at <= '9'; digits++) {
        scale /= 10;
        moment->fraction_ns += scale * (*moment->at++ - '0');
    }
    return digits > 0 && digits <= 9;
}

static bool read_month_name(struct moment *moment)
{
    static const char *const names[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};
    size_t left = (size_t)(moment->end - moment->at);
    for (size_t i = 0; i < 12; i++) {
        size_t whole = strlen(names[i]);
        size_t size = left >= whole && strncasecmp(moment->at, names[i], whole) == 0 ? whole : 3;
        if (left >= size && strncasecmp(moment->at, names[i], size) == 0) {
            moment->at += size;
            moment->month = (int64_t)i + 1;
            return true;
        }
    }
    return false;
}

static bool read_half(struct moment *moment)
{
    if (moment->end - moment->at < 2) {
        return false;
    }
    bool before = strncasecmp(moment->at, "AM", 2) == 0;
    bool after = strncasecmp(moment->at, "PM", 2) == 0;
    moment->half = after ? 2 : 1;
    moment->at += 2;
    return before || after;
}

/* Z, +01, +0100 or +01:00. */
static bool read_offset(struct moment *moment)
{
    int64_t hours;
    int64_t minutes = 0;
    if (moment->at == moment->end) {
        return false;
    }
    char sign = *moment->at++;
    if (sign == 'Z' || sign == 'z') {
        moment->offset_s = 0;
        return true;
    }
    if ((sign != '+' && sign != '-') || !read_digits(moment, 2, 0, 23, &hours)) {
        return false;
    }
    if (moment->at < moment->end && *moment->at == ':') {
        moment->at++;
    }
    if (moment->at < moment->end && *moment->at >= '0' && *moment->at <= '9' &&
        !read_digits(moment, 2, 0, 59, &minutes)) {
        return false;
    }
    moment->offset_s = (hours * 3600 + minutes * 60) * (sign == '-' ? -1 : 1);
    return true;
}

static bool read_zone_name(struct moment *moment)
{
    if (moment->end - moment->at < 3 ||
        (strncasecmp(moment->at, "UTC", 3) != 0 && strncasecmp(moment->at, "GMT", 3) != 0)) {
        return false;
    }
    moment->at += 3;
    return true;
}

static bool read_short_year(struct moment *moment)
{
    if (!read_digits(moment, 2, 0, 99, &moment->year)) {
        return false;
    }
    moment->year += moment->year < 69 ? 2000 : 1900; /* as POSIX has it */
    return true;
}

static bool read_unix(struct moment *moment)
{
    bool negative = moment->at < moment->end && *moment->at == '-';
    moment->at += negative;
    moment->is_unix = true;
    bool good = read_digits(moment, 11, 0, INT64_C(99999999999), &moment->unix_s);
    moment->unix_s *= negative ? -1 : 1;
    return good;
}

static bool read_pattern(struct moment *moment, const char *pattern);

static bool read_conversion(struct moment *moment, char conversion)
{
    switch (conversion) {
    case 'Y':
        return read_digits(moment, 4, 1, 9999, &moment->year);
    case 'y':
        return read_short_year(moment);
    case 'm':
        return read_digits(moment, 2, 1, 12, &moment->month);
    case 'b':
    case 'B':
        return read_month_name(moment);
    case 'e':
        moment->at += moment->at < moment->end && *moment->at == ' ';
        return read_digits(moment, 2, 1, 31, &moment->day);
    case 'd':
        return read_digits(moment, 2, 1, 31, &moment->day);
    case 'j':
        return read_digits(moment, 3, 1, 366, &moment->day_of_year);
    case 'H':
        return read_digits(moment, 2, 0, 24, &moment->hour);
    case 'I':
        return read_digits(moment, 2, 1, 12, &moment->hour);
    case 'p':
        return read_half(moment);
    case 'M':
        return read_digits(moment, 2, 0, 59, &moment->minute);
    case 'S':
        return read_digits(moment, 2, 0, 60, &moment->second);
    case 'f':
        return read_fraction(moment);
    case 'z':
        return read_offset(moment);
    case 'Z':
        return read_zone_name(moment);
    case 's':
        return read_unix(moment);
    case 'F':
        return read_pattern(moment, "%Y-%m-%d");
    case 'T':
        return read_pattern(moment, "%H:%M:%S");
    case 'R':
        return read_pattern(moment, "%H:%M");
    case 'D':
        return read_pattern(moment, "%m/%d/%y");
    default:
        return moment->at < moment->end && *moment->at++ == '%';
    }
}

static bool read_pattern(struct moment *moment, const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern == '%') {
            if (!read_conversion(moment, *++pattern)) {
                return false;
            }
        } else if (*pattern == ' ') {
            while (moment->at < moment->end && *moment->at == ' ') {
                moment->at++;
            }
        } else if (moment->at == moment->end || *moment->at++ != *pattern) {
            return false;
        }
    }
    return true;
}

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool day_exists(const struct moment *moment)
{
    static const int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = is_leap(moment->year);
    if (moment->day_of_year) {
        return moment->day_of_year <= 365 + leap;
    }
    return moment->day <= days[moment->month - 1] + (moment->month == 2 && leap);
}

/* Hours of 12 to hours of 24; 24:00:00 is the end of the day. */
static bool settle_hour(struct moment *moment)
{
    if (moment->half) {
        moment->hour = moment->hour % 12 + (moment->half == 2 ? 12 : 0);
    }
    return moment->hour < 24 ||
           (moment->minute == 0 && moment->second == 0 && moment->fraction_ns == 0);
}

static bool moment_time(struct moment *moment, int64_t *time_out)
{
    if (!moment->is_unix && (!day_exists(moment) || !settle_hour(moment))) {
        return false;
    }
    int64_t seconds = moment->unix_s;
    if (!moment->is_unix) {
        int64_t days =
            moment->day_of_year
                ? vv_days_from_civil(moment->year, 1, 1) + moment->day_of_year - 1
                : vv_days_from_civil(moment->year, (unsigned)moment->month, (unsigned)moment->day);
        seconds = days * 86400 + moment->hour * 3600 + moment->minute * 60 + moment->second;
    }
    __int128 time = (__int128)(seconds - moment->offset_s) * VV_SECOND + moment->fraction_ns;
    *time_out = (int64_t)time;
    return time >= INT64_MIN && time <= INT64_MAX;
}

static bool read_text(const char *pattern, struct vv_str text, int64_t *time_out)
{
    struct moment moment = {
        .at = text.data, .end = text.data + text.size, .year = 1970, .month = 1, .day = 1};
    return read_pattern(&moment, pattern) && moment.at == moment.end &&
           moment_time(&moment, time_out);
}

enum vv_status vv_time_form_read(const struct vv_time_form *form, struct vv_str text,
                                 int64_t *time_out, struct vv_error *error)
{
    int shown = text.size < SHOWN_TEXT_MAX ? (int)text.size : SHOWN_TEXT_MAX;
    if (form->unit_ns > 0) {
        return read_units(text, form->unit_ns, time_out)
                   ? VV_OK
                   : vv_error_set(error, VV_INVALID, "'%.*s' is not a number of time units", shown,
                                  text.data);
    }
    if (!form->pattern) {
        return vv_time_parse(text, time_out, error);
    }
    return read_text(form->pattern, text, time_out)
               ? VV_OK
               : vv_error_set(error, VV_INVALID, "'%.*s' is not a time in the form '%.64s'", shown,
                              text.data, form->pattern);
}
