/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, buckets, splits and spans: arithmetic on times, no state. */
#include "model/partition.h"

#include "base/random.h"

/* Slices of a bucket per split: enough that a bucket which is only partly filled still spreads. */
#define SLICES_PER_SPLIT 8

#define CHOOSE_ROWS_MIN      8
#define CHOOSE_RANGE_MIN     (10 * VV_SECOND) /* a burst says little about an hour */
#define BUCKET_ROWS_MAX      16384 /* the aim; neighbours on the ladder differ by 3 at most */
#define HOUR_SPAN_ROWS_MIN   60
#define DEFAULT_BUCKET_LIMIT (360 * VV_DAY)

static const int64_t bucket_ladder[] = {
    VV_MINUTE,   5 * VV_MINUTE, 15 * VV_MINUTE, 30 * VV_MINUTE, VV_HOUR,    3 * VV_HOUR,
    6 * VV_HOUR, 12 * VV_HOUR,  VV_DAY,         2 * VV_DAY,     5 * VV_DAY, 10 * VV_DAY,
    30 * VV_DAY, 90 * VV_DAY,   180 * VV_DAY,   360 * VV_DAY,
};
#define LADDER_COUNT (sizeof(bucket_ladder) / sizeof(bucket_ladder[0]))

_Static_assert(VV_BUCKET_NS_MIN == VV_MINUTE, "the ladder begins with the shortest bucket");
_Static_assert(INT64_MAX - VV_TIME_MAX > VV_BUCKET_NS_MAX, "the last bucket's end is a time");
_Static_assert(VV_TIME_MIN - INT64_MIN > VV_BUCKET_NS_MAX, "the first bucket's start is a time");

enum vv_status vv_plan_check(const struct vv_plan *plan, struct vv_error *error)
{
    if (plan->from_ns < VV_TIME_MIN || plan->from_ns > VV_TIME_MAX) {
        return vv_error_set(error, VV_INVALID, "a plan must begin between the years 1684 and 2255");
    }
    if (plan->bucket_ns < VV_BUCKET_NS_MIN || plan->bucket_ns > VV_BUCKET_NS_MAX) {
        return vv_error_set(error, VV_INVALID,
                            "a bucket must be between one minute and 366 days long");
    }
    if (plan->span_ns < VV_MINUTE || plan->span_ns % VV_MINUTE != 0) {
        return vv_error_set(error, VV_INVALID, "a span must be whole minutes long");
    }
    if (plan->bucket_ns % plan->span_ns != 0) {
        return vv_error_set(error, VV_INVALID,
                            "the length of a bucket must be a multiple of its span");
    }
    if (plan->splits < 1 || plan->splits > VV_SPLITS_MAX) {
        return vv_error_set(error, VV_INVALID, "a bucket must have between 1 and %d splits",
                            VV_SPLITS_MAX);
    }
    struct vv_plan same;
    if (!vv_plan_divide(&same, vv_plan_division(plan))) {
        return vv_error_set(error, VV_INVALID,
                            "runs are shared by sources without splits only, by %d to %d bits",
                            VV_SHARE_BITS_MIN, VV_SHARE_BITS_MAX);
    }
    return VV_OK;
}

/* The last plan that begins at or before time. */
static size_t plan_index(const struct vv_plan *plans, size_t n, int64_t time)
{
    size_t low = 0;
    size_t high = n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (plans[middle].from_ns <= time) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

struct vv_bucket vv_bucket_of(const struct vv_plan *plans, size_t n, int64_t time)
{
    vv_invariant(n > 0);
    vv_invariant(time >= VV_TIME_MIN && time <= VV_TIME_MAX);
    size_t index = plan_index(plans, n, time);
    const struct vv_plan *plan = &plans[index];
    int64_t start = vv_time_floor(time, plan->bucket_ns);
    int64_t end = start + plan->bucket_ns;
    if (index + 1 < n && plans[index + 1].from_ns < end) {
        end = plans[index + 1].from_ns;
    }
    return (struct vv_bucket){
        .start = start,
        .end = end,
        .bucket_ns = plan->bucket_ns,
        .span_ns = plan->span_ns,
        .splits = plan->splits,
        .share_bits = plan->share_bits,
    };
}

bool vv_bucket_next(const struct vv_plan *plans, size_t n, const struct vv_bucket *bucket,
                    bool forward, struct vv_bucket *next_out)
{
    if (forward) {
        if (bucket->end > VV_TIME_MAX) {
            return false;
        }
        *next_out = vv_bucket_of(plans, n, bucket->end);
        return true;
    }
    /* A bucket whose plan begins inside it holds nothing before that: what lies there belongs to
     * the plan before, perhaps under the same start. */
    int64_t last = bucket->end - 1 < VV_TIME_MAX ? bucket->end - 1 : VV_TIME_MAX;
    int64_t plan_from = plans[plan_index(plans, n, last)].from_ns;
    int64_t first = bucket->start > plan_from ? bucket->start : plan_from;
    if (first <= VV_TIME_MIN) {
        return false;
    }
    *next_out = vv_bucket_of(plans, n, first - 1);
    return true;
}

/*
 * Slices go round the splits in turn, and each round begins at a split that a hash chooses: a full
 * bucket is spread evenly, and a source whose period is a multiple of a round is spread as well.
 * Stored partitions depend on it: it must never change.
 */
uint16_t vv_split_of(const struct vv_bucket *bucket, int64_t time)
{
    vv_invariant(time >= bucket->start && time - bucket->start < bucket->bucket_ns);
    if (bucket->splits <= 1) {
        return vv_split_name(bucket, 0);
    }
    uint64_t slice_ns = (uint64_t)bucket->bucket_ns / (SLICES_PER_SPLIT * (uint64_t)bucket->splits);
    uint64_t slice = (uint64_t)(time - bucket->start) / slice_ns;
    uint64_t round = slice / bucket->splits;
    struct vv_random hash = {.state = (uint64_t)bucket->start ^ (round << 56)};
    uint64_t first = vv_random_below(&hash, bucket->splits);
    return vv_split_name(bucket, (uint16_t)((first + slice) % bucket->splits));
}

static int compare_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int vv_span_key_compare(const struct vv_span_key *a, const struct vv_span_key *b)
{
    const struct vv_partition *p = &a->partition;
    const struct vv_partition *q = &b->partition;
    int order = compare_i64(p->tenant, q->tenant);
    order = order ? order : compare_i64(p->source, q->source);
    order = order ? order : compare_i64(p->bucket_start, q->bucket_start);
    order = order ? order : compare_i64(p->bucket_ns, q->bucket_ns);
    order = order ? order : compare_i64(p->split, q->split);
    order = order ? order : compare_i64(a->measurement, b->measurement);
    order = order ? order : compare_i64(a->span_start, b->span_start);
    return order ? order : compare_i64(p->region, q->region);
}

/* Rows that `length` will hold when `rows` came in `range`; at most 2^62. */
static uint64_t rows_expected(uint64_t rows, int64_t range, int64_t length)
{
    unsigned __int128 expected = (unsigned __int128)rows * (uint64_t)length / (uint64_t)range;
    return expected > (UINT64_C(1) << 62) ? UINT64_C(1) << 62 : (uint64_t)expected;
}

/* The longest of the ladder that is not longer than limit, or the shortest. */
static size_t ladder_index(int64_t limit)
{
    size_t index = LADDER_COUNT - 1;
    while (index > 0 && bucket_ladder[index] > limit) {
        index--;
    }
    return index;
}

const int64_t *vv_bucket_lengths(size_t *n_out)
{
    *n_out = LADDER_COUNT;
    return bucket_ladder;
}

struct vv_plan vv_plan_fit(uint64_t rows, uint64_t load, int64_t range_ns, int64_t bucket_ns_max)
{
    int64_t limit = bucket_ns_max > 0 ? bucket_ns_max : DEFAULT_BUCKET_LIMIT;
    struct vv_plan plan = {.from_ns = VV_TIME_MIN, .splits = 1};
    if (rows < CHOOSE_ROWS_MIN) {
        plan.bucket_ns = bucket_ladder[ladder_index(limit < VV_DAY ? limit : VV_DAY)];
        plan.span_ns = plan.bucket_ns < VV_HOUR ? plan.bucket_ns : VV_HOUR;
        return plan;
    }
    int64_t range = range_ns > CHOOSE_RANGE_MIN ? range_ns : CHOOSE_RANGE_MIN;
    size_t index = ladder_index(limit);
    /* Not below an hour for the sake of size: its steps are made by one seal. Splits help there. */
    while (bucket_ladder[index] > VV_HOUR &&
           rows_expected(load, range, bucket_ladder[index]) > BUCKET_ROWS_MAX) {
        index--;
    }
    plan.bucket_ns = bucket_ladder[index];
    while (vv_plan_load(&plan, load, range) > VV_SPLIT_LOAD_MAX && plan.splits < VV_SPLITS_MAX) {
        plan.splits = (uint16_t)(plan.splits * 2);
    }
    bool slow = rows_expected(rows, range, VV_HOUR) < HOUR_SPAN_ROWS_MIN;
    int64_t span = slow && plan.bucket_ns >= VV_DAY ? VV_DAY : VV_HOUR;
    plan.span_ns = plan.bucket_ns < span ? plan.bucket_ns : span;
    return plan;
}

struct vv_plan vv_plan_choose(uint64_t rows, int64_t range_ns, int64_t bucket_ns_max)
{
    return vv_plan_fit(rows, rows, range_ns, bucket_ns_max);
}

uint64_t vv_plan_load(const struct vv_plan *plan, uint64_t load, int64_t range_ns)
{
    return rows_expected(load, range_ns > 0 ? range_ns : 1, plan->bucket_ns) / plan->splits;
}

uint8_t vv_plan_choose_share(const struct vv_plan *plan, uint64_t sources, uint64_t load,
                             int64_t range_ns)
{
    uint8_t bits = VV_SHARE_BITS_MIN;
    int64_t range = range_ns > CHOOSE_RANGE_MIN ? range_ns : CHOOSE_RANGE_MIN;
    bool is_known = load >= CHOOSE_ROWS_MIN;
    if (plan->splits > 1 || (is_known && vv_plan_load(plan, load, range) > VV_SHARED_LOAD_MAX)) {
        return 0;
    }
    while (bits < VV_SHARE_BITS_MAX && sources >> bits >= VV_SHARERS) {
        bits++;
    }
    return bits;
}

int64_t vv_plan_begin(int64_t bucket_ns, int64_t time)
{
    if (time > VV_TIME_MAX - bucket_ns) {
        return INT64_MAX;
    }
    int64_t begin = vv_time_floor(time, bucket_ns);
    return begin < time ? begin + bucket_ns : begin;
}
