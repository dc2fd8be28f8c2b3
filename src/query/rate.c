/* SPDX-License-Identifier: Apache-2.0 */
/* Increases with resets, by segments that can be joined in any grouping. */
#include "query/rate.h"

#include "base/bits.h"
#include "base/clock.h"

static void scan_integers(const uint64_t *values, size_t n, struct vv_rate_segment *segment)
{
    __int128 base = (int64_t)values[0];
    __int128 increased = 0;
    for (size_t i = 1; i < n; i++) {
        if ((int64_t)values[i] < (int64_t)values[i - 1]) {
            increased += (int64_t)values[i - 1] - base;
            base = 0;
        }
    }
    segment->base.integer = base;
    segment->increased.integer = increased;
}

static void scan_doubles(const uint64_t *values, size_t n, struct vv_rate_segment *segment)
{
    double previous = vv_bits_double(values[0]);
    double base = previous;
    double increased = 0;
    for (size_t i = 1; i < n; i++) {
        double value = vv_bits_double(values[i]);
        if (value < previous) {
            increased += previous - base;
            base = 0;
        }
        previous = value;
    }
    segment->base.real = base;
    segment->increased.real = increased;
}

struct vv_rate_segment vv_rate_segment_of(enum vv_value_type type, const int64_t *times,
                                          const uint64_t *values, size_t n)
{
    struct vv_rate_segment segment = {
        .n = n,
        .first_time = times[0],
        .last_time = times[n - 1],
        .first = values[0],
        .last = values[n - 1],
    };
    if (type == VV_INT64) {
        scan_integers(values, n, &segment);
    } else {
        scan_doubles(values, n, &segment);
    }
    return segment;
}

/*
 * Joining: the open part of the earlier segment ends at its last value. If the later one begins
 * lower, there was a reset between, and what it begins with is an increase too; else its first
 * value continues the open part. Either is closed only if the later segment has a reset itself,
 * which shows in its base.
 */
static void join_integers(const struct vv_rate_segment *a, const struct vv_rate_segment *b,
                          struct vv_rate_segment *joined)
{
    __int128 first = (int64_t)b->first;
    __int128 last = (int64_t)a->last;
    bool reset = first < last;
    __int128 base = reset ? 0 : a->base.integer;
    joined->increased.integer = a->increased.integer + (reset ? last - a->base.integer : 0);
    bool later_reset = b->base.integer != first || b->increased.integer != 0;
    if (later_reset) {
        joined->increased.integer += first - base + b->increased.integer;
        base = b->base.integer;
    }
    joined->base.integer = base;
}

static void join_doubles(const struct vv_rate_segment *a, const struct vv_rate_segment *b,
                         struct vv_rate_segment *joined)
{
    double first = vv_bits_double(b->first);
    double last = vv_bits_double(a->last);
    bool reset = first < last;
    double base = reset ? 0 : a->base.real;
    joined->increased.real = a->increased.real + (reset ? last - a->base.real : 0);
    bool later_reset = b->base.real != first || b->increased.real != 0;
    if (later_reset) {
        joined->increased.real += first - base + b->increased.real;
        base = b->base.real;
    }
    joined->base.real = base;
}

struct vv_rate_segment vv_rate_join(enum vv_value_type type, const struct vv_rate_segment *earlier,
                                    const struct vv_rate_segment *later)
{
    if (earlier->n == 0 || later->n == 0) {
        return earlier->n == 0 ? *later : *earlier;
    }
    struct vv_rate_segment joined = {
        .n = earlier->n + later->n,
        .first_time = earlier->first_time,
        .last_time = later->last_time,
        .first = earlier->first,
        .last = later->last,
    };
    if (type == VV_INT64) {
        join_integers(earlier, later, &joined);
    } else {
        join_doubles(earlier, later, &joined);
    }
    return joined;
}

void vv_rate_add(enum vv_value_type type, const struct vv_rate_segment *segment,
                 struct vv_rate_sums *sums)
{
    if (segment->n < 2) {
        return;
    }
    double seconds =
        (double)((uint64_t)segment->last_time - (uint64_t)segment->first_time) / (double)VV_SECOND;
    double increase;
    if (type == VV_INT64) {
        __int128 last = (int64_t)segment->last;
        __int128 exact = segment->increased.integer + last - segment->base.integer;
        sums->increase.integer += exact;
        sums->delta.integer += last - (int64_t)segment->first;
        increase = (double)exact;
    } else {
        double last = vv_bits_double(segment->last);
        increase = segment->increased.real + (last - segment->base.real);
        sums->increase.real += increase;
        sums->delta.real += last - vv_bits_double(segment->first);
    }
    sums->rate += increase / seconds;
    sums->n++;
}
