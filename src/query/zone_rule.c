/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX TZ rules: parsing, and the changes of a year. */
#include "query/zone_rule.h"

#include "base/clock.h"

#define DAY_S          86400
#define DEFAULT_TIME_S 7200 /* 02:00, when a date has no time */
#define HOURS_MAX      24   /* of an offset */
#define RULE_HOURS_MAX 167  /* of a date's time, RFC 8536 */
#define SUMMER_DEFAULT 3600

struct cursor {
    const char *at;
    const char *end;
};

static bool at_char(const struct cursor *cursor, char c)
{
    return cursor->at < cursor->end && *cursor->at == c;
}

static bool take_char(struct cursor *cursor, char c)
{
    bool found = at_char(cursor, c);
    cursor->at += found;
    return found;
}

static bool take_number(struct cursor *cursor, int max, int *value_out)
{
    const char *start = cursor->at;
    int value = 0;
    while (cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9' && value <= max) {
        value = value * 10 + (*cursor->at++ - '0');
    }
    *value_out = value;
    return cursor->at > start && value <= max;
}

/* "CET", or anything in angle brackets. */
static bool take_name(struct cursor *cursor)
{
    const char *start = cursor->at;
    if (take_char(cursor, '<')) {
        while (cursor->at < cursor->end && *cursor->at != '>') {
            cursor->at++;
        }
        return take_char(cursor, '>') && cursor->at - start > 2;
    }
    while (cursor->at < cursor->end && (*cursor->at | 0x20) >= 'a' && (*cursor->at | 0x20) <= 'z') {
        cursor->at++;
    }
    return cursor->at - start >= 3;
}

/* [+-]hh[:mm[:ss]] */
static bool take_time(struct cursor *cursor, int hours_max, int32_t *seconds_out)
{
    bool negative = at_char(cursor, '-');
    if (negative || at_char(cursor, '+')) {
        cursor->at++;
    }
    int hours;
    int minutes = 0;
    int seconds = 0;
    if (!take_number(cursor, hours_max, &hours)) {
        return false;
    }
    if (take_char(cursor, ':')) {
        if (!take_number(cursor, 59, &minutes) ||
            (take_char(cursor, ':') && !take_number(cursor, 59, &seconds))) {
            return false;
        }
    }
    int32_t sum = hours * 3600 + minutes * 60 + seconds;
    *seconds_out = negative ? -sum : sum;
    return true;
}

static bool take_date(struct cursor *cursor, struct vv_zone_date *date)
{
    bool valid;
    if (take_char(cursor, 'M')) {
        date->kind = VV_ZONE_DATE_WEEKDAY;
        valid = take_number(cursor, 12, &date->month) && date->month >= 1 &&
                take_char(cursor, '.') && take_number(cursor, 5, &date->week) && date->week >= 1 &&
                take_char(cursor, '.') && take_number(cursor, 6, &date->day);
    } else if (take_char(cursor, 'J')) {
        date->kind = VV_ZONE_DATE_JULIAN;
        valid = take_number(cursor, 365, &date->day) && date->day >= 1;
    } else {
        date->kind = VV_ZONE_DATE_ORDINAL;
        valid = take_number(cursor, 365, &date->day);
    }
    date->time_of_day = DEFAULT_TIME_S;
    return valid &&
           (!take_char(cursor, '/') || take_time(cursor, RULE_HOURS_MAX, &date->time_of_day));
}

bool vv_zone_rule_parse(struct vv_str text, struct vv_zone_rule *rule_out)
{
    struct cursor cursor = {text.data, text.data + text.size};
    *rule_out = (struct vv_zone_rule){0};
    int32_t west;
    if (!take_name(&cursor) || !take_time(&cursor, HOURS_MAX, &west)) {
        return false;
    }
    rule_out->standard = -west;
    if (cursor.at == cursor.end) {
        return true;
    }
    rule_out->has_summer = true;
    rule_out->summer = rule_out->standard + SUMMER_DEFAULT;
    if (!take_name(&cursor)) {
        return false;
    }
    if (!at_char(&cursor, ',')) {
        if (!take_time(&cursor, HOURS_MAX, &west)) {
            return false;
        }
        rule_out->summer = -west;
    }
    return take_char(&cursor, ',') && take_date(&cursor, &rule_out->begin) &&
           take_char(&cursor, ',') && take_date(&cursor, &rule_out->end) && cursor.at == cursor.end;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* The day (since 1970) of a date in a year. */
static int64_t day_of(const struct vv_zone_date *date, int64_t year)
{
    int64_t new_year = vv_days_from_civil(year, 1, 1);
    if (date->kind == VV_ZONE_DATE_ORDINAL) {
        return new_year + date->day;
    }
    if (date->kind == VV_ZONE_DATE_JULIAN) {
        return new_year + date->day - 1 + (is_leap(year) && date->day >= 60);
    }
    int64_t first = vv_days_from_civil(year, (unsigned)date->month, 1);
    int64_t next = date->month == 12 ? vv_days_from_civil(year + 1, 1, 1)
                                     : vv_days_from_civil(year, (unsigned)date->month + 1, 1);
    int64_t weekday = (first + 4) - vv_time_floor(first + 4, 7); /* 1970-01-01 was a Thursday */
    int64_t day = first + (date->day - weekday + 7) % 7 + (date->week - 1) * 7;
    return day < next ? day : day - 7;
}

static int64_t begin_of(const struct vv_zone_rule *rule, int64_t year)
{
    return day_of(&rule->begin, year) * DAY_S + rule->begin.time_of_day - rule->standard;
}

static int64_t end_of(const struct vv_zone_rule *rule, int64_t year)
{
    return day_of(&rule->end, year) * DAY_S + rule->end.time_of_day - rule->summer;
}

int32_t vv_zone_rule_offset(const struct vv_zone_rule *rule, int64_t instant, int64_t *until_out)
{
    *until_out = INT64_MAX;
    if (!rule->has_summer) {
        return rule->standard;
    }
    int64_t year;
    unsigned month;
    unsigned day;
    vv_civil_from_days(vv_time_floor(instant, DAY_S) / DAY_S, &year, &month, &day);
    /* The latest change at or before the instant decides; where two fall together, as in "summer
     * time all year", the beginning of summer time is the one that counts. */
    int64_t latest = INT64_MIN;
    bool summer = false;
    for (int64_t y = year - 2; y <= year + 2; y++) {
        int64_t changes[2] = {end_of(rule, y), begin_of(rule, y)};
        for (int i = 0; i < 2; i++) {
            if (changes[i] > instant) {
                *until_out = changes[i] < *until_out ? changes[i] : *until_out;
            } else if (changes[i] >= latest) {
                latest = changes[i];
                summer = i == 1;
            }
        }
    }
    return summer ? rule->summer : rule->standard;
}
