/* SPDX-License-Identifier: Apache-2.0 */
/* Where steps begin, by length or by a calendar, and which times of an array lie in one. */
#include "query/steps.h"

#define MONDAY_DAYS 4 /* from Thursday, 1970-01-01, to a Monday */
#define WEEK        (7 * VV_DAY)

void vv_steps_init(struct vv_steps *steps, int64_t length_ns, const struct vv_zone *zone,
                   int64_t from, int64_t to)
{
    bool days = length_ns > 0 && length_ns % VV_DAY == 0;
    bool weeks = length_ns > 0 && length_ns % WEEK == 0;
    *steps = (struct vv_steps){
        .length_ns = length_ns,
        .origin_ns = weeks ? MONDAY_DAYS * VV_DAY : 0,
        .from = from,
        .to = to,
        .zone = days ? zone : NULL,
        .days = length_ns / VV_DAY,
    };
}

/* ---- local days ---- */

static int64_t floor_seconds(int64_t time)
{
    return vv_time_floor(time, VV_SECOND) / VV_SECOND;
}

/* The local day that holds an instant: its start is at or before, the next one's after it. */
static int64_t day_of(const struct vv_zone *zone, int64_t instant)
{
    int64_t local = instant + vv_zone_offset(zone, instant, NULL);
    int64_t day = vv_time_floor(local, VV_DAY / VV_SECOND) / (VV_DAY / VV_SECOND);
    while (vv_zone_day_start(zone, day) > instant) {
        day--;
    }
    while (vv_zone_day_start(zone, day + 1) <= instant) {
        day++;
    }
    return day;
}

/* The first day of the step of whole days that holds time. */
static int64_t step_day(const struct vv_steps *steps, int64_t time)
{
    int64_t origin = steps->origin_ns / VV_DAY;
    int64_t day = day_of(steps->zone, floor_seconds(time));
    return vv_time_floor(day - origin, steps->days) + origin;
}

int64_t vv_steps_start(const struct vv_steps *steps, int64_t time)
{
    if (steps->length_ns == 0) {
        return steps->from;
    }
    if (steps->zone) {
        return vv_zone_day_start(steps->zone, step_day(steps, time)) * VV_SECOND;
    }
    return vv_time_floor(time - steps->origin_ns, steps->length_ns) + steps->origin_ns;
}

int64_t vv_steps_next(const struct vv_steps *steps, int64_t start)
{
    if (steps->length_ns == 0) {
        return steps->to;
    }
    if (!steps->zone) {
        return start + steps->length_ns;
    }
    /* Where the calendar skips days, steps of no length are passed over. */
    int64_t day = step_day(steps, start);
    int64_t next = start;
    while (next <= start) {
        day += steps->days;
        next = vv_zone_day_start(steps->zone, day) * VV_SECOND;
    }
    return next;
}

int64_t vv_steps_previous(const struct vv_steps *steps, int64_t start)
{
    return vv_steps_start(steps, start - 1);
}

/* ---- arrays ---- */

/* Doubling strides, then halves: the cost grows with the logarithm of the answer. */
size_t vv_steps_count_before(const int64_t *times, size_t n, int64_t end)
{
    size_t low = 0;
    size_t stride = 1;
    while (low + stride <= n && times[low + stride - 1] < end) {
        low += stride;
        stride *= 2;
    }
    size_t high = low + stride <= n ? low + stride - 1 : n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times[middle] < end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

size_t vv_steps_count_from(const int64_t *times, size_t n, int64_t start)
{
    size_t high = n; /* times[high …] are at or after start */
    size_t stride = 1;
    while (stride <= high && times[high - stride] >= start) {
        high -= stride;
        stride *= 2;
    }
    size_t low = stride <= high ? high - stride + 1 : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (times[middle] < start) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return n - high;
}
