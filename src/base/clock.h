/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time: the clock interface (real or simulated), and text forms of times and durations.
 * All times are int64 nanoseconds, UTC, since 1970.
 */
#ifndef VV_BASE_CLOCK_H
#define VV_BASE_CLOCK_H

#include "base/bytes.h"

#define VV_MICROSECOND INT64_C(1000)
#define VV_MILLISECOND INT64_C(1000000)
#define VV_SECOND      INT64_C(1000000000)
#define VV_MINUTE      (60 * VV_SECOND)
#define VV_HOUR        (60 * VV_MINUTE)
#define VV_DAY         (24 * VV_HOUR)
/* Clocks of nodes that share a store differ by so much at most. */
#define VV_CLOCKS_DIFFER_NS (5 * VV_MINUTE)

/* Any thread may call both functions. */
struct vv_clock {
    int64_t (*wall_ns)(struct vv_clock *clock);      /* may jump either way */
    int64_t (*monotonic_ns)(struct vv_clock *clock); /* never goes back */
};

/* The machine's clock; one static object, never freed. */
struct vv_clock *vv_clock_system(void);

#define VV_TIME_TEXT_SIZE 40
/* RFC 3339 in UTC with as many of 0, 3, 6 or 9 digits of fraction as the value needs. Returns the
 * length; out holds VV_TIME_TEXT_SIZE bytes and is terminated. */
size_t vv_time_format(int64_t time_ns, char *out);
/* Parses RFC 3339 ("2013-12-02T21:15:00Z", with a space for T, a zone offset, a fraction of up to
 * nine digits; a bare date is its midnight; no zone means UTC; the leap second 23:59:60 UTC is the
 * second after it). VV_INVALID with a message, also outside of 1677-09-21 … 2262-04-11. */
VV_MUST_CHECK enum vv_status vv_time_parse(struct vv_str text, int64_t *time_out,
                                           struct vv_error *error);
/* Parses a duration such as "90s", "1h30m", "7d", "1w", "250ms", "10us", "5ns": each unit at most
 * once, the larger first; "0" is allowed; no sign, no fraction. VV_INVALID with a message on
 * anything else and on overflow. */
VV_MUST_CHECK enum vv_status vv_duration_parse(struct vv_str text, int64_t *duration_out,
                                               struct vv_error *error);
/* Such a text in days and smaller units ("1h30m", "7d"), each as small as it can be; "0s" for 0,
 * "-" before a negative one. Returns the length; out holds VV_TIME_TEXT_SIZE bytes. */
size_t vv_duration_format(int64_t duration_ns, char *out);

/* Days since 1970-01-01 of a date of the proleptic Gregorian calendar, and back. */
int64_t vv_days_from_civil(int64_t year, unsigned month, unsigned day);
void vv_civil_from_days(int64_t days, int64_t *year_out, unsigned *month_out, unsigned *day_out);

/* Floor division towards minus infinity: the start of the step of `length` > 0 that holds time. */
static inline int64_t vv_time_floor(int64_t time, int64_t length)
{
    int64_t rest = time % length;
    return time - (rest < 0 ? rest + length : rest);
}

/* The same towards plus infinity: the start of the first step that begins at time or after it. */
static inline int64_t vv_time_ceil(int64_t time, int64_t length)
{
    int64_t floor = vv_time_floor(time, length);
    return floor < time ? floor + length : floor;
}

#endif
