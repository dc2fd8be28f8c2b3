/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans and partitions: where a point lies. Pure functions, any thread.
 *
 * A plan says how long a source's buckets are, into how many splits each is divided and how long a
 * span is; a source has a history of plans, each valid from its date to the next one's. A bucket
 * starts at a multiple of its length since 1970 and ends after its length or where the next plan
 * begins. A span divides a bucket. The split of a time is a hash of its slice of the bucket, so a
 * point written again lands in the same partition.
 *
 * Regions are groups of nodes that write and seal by themselves, each by plans of its own; what one
 * of them stores of a source lies in partitions of that region.
 */
#ifndef VV_MODEL_PARTITION_H
#define VV_MODEL_PARTITION_H

#include "base/clock.h"

/* Times outside are refused on entry, so that no computation with buckets can overflow. */
#define VV_TIME_MIN (-INT64_C(9000000000000000000)) /* year 1684 */
#define VV_TIME_MAX INT64_C(9000000000000000000)    /* year 2255 */

#define VV_BUCKET_NS_MIN VV_MINUTE
#define VV_BUCKET_NS_MAX (366 * VV_DAY)
#define VV_SPLITS_MAX    64
#define VV_REGIONS_MAX   8

struct vv_plan {
    int64_t from_ns;   /* valid for points at or after; VV_TIME_MIN for the first */
    int64_t bucket_ns; /* VV_BUCKET_NS_MIN … VV_BUCKET_NS_MAX */
    int64_t span_ns;   /* divides bucket_ns */
    uint16_t splits;   /* 1 … VV_SPLITS_MAX */
};

/* Whether two plans differ in nothing but the time from which they hold. */
static inline bool vv_plan_divides_alike(const struct vv_plan *a, const struct vv_plan *b)
{
    return a->bucket_ns == b->bucket_ns && a->span_ns == b->span_ns && a->splits == b->splits;
}

struct vv_partition {
    uint32_t tenant;
    uint32_t source;
    int64_t bucket_start;
    int64_t bucket_ns;
    uint16_t split;
    uint8_t region; /* 0: this node's; else one of the others, by the order in which they are
                       listed. Only what is of this node's own is written. */
};

/* A span of one measurement in one partition: what runs and blocks belong to. */
struct vv_span_key {
    struct vv_partition partition;
    uint32_t measurement;
    int64_t span_start;
};

/* A source's bucket, before it is divided into splits. `end` is exclusive and at most
 * start + bucket_ns: a following plan may cut it short. */
struct vv_bucket {
    int64_t start;
    int64_t end;
    int64_t bucket_ns;
    int64_t span_ns;
    uint16_t splits;
};

/* VV_INVALID with a message when a plan breaks the bounds above. */
VV_MUST_CHECK enum vv_status vv_plan_check(const struct vv_plan *plan, struct vv_error *error);

/* The bucket that holds time. plans: n ≥ 1, ascending by from_ns, the first from VV_TIME_MIN. */
struct vv_bucket vv_bucket_of(const struct vv_plan *plans, size_t n, int64_t time);

/* The bucket after (forward) or before this one; false at the ends of time. */
bool vv_bucket_next(const struct vv_plan *plans, size_t n, const struct vv_bucket *bucket,
                    bool forward, struct vv_bucket *next_out);

/* The split of a time in its bucket. */
uint16_t vv_split_of(const struct vv_bucket *bucket, int64_t time);

static inline int64_t vv_span_of(const struct vv_bucket *bucket, int64_t time)
{
    return vv_time_floor(time, bucket->span_ns);
}

/* Order by tenant, source, bucket start and length, split, measurement, span: the order of keys of
 * one region; then by region. */
int vv_span_key_compare(const struct vv_span_key *a, const struct vv_span_key *b);

/*
 * The first plan of a source, chosen from what was seen: a bucket aims at 4–16 k points a metric,
 * a span at an hour, or at a day when an hour would hold fewer than about 60 rows. `rows` readings
 * over `range_ns`; fewer than 8 rows give the default: a day with spans of an hour. bucket_ns_max:
 * an eighth of the retention, 0 for none.
 */
struct vv_plan vv_plan_choose(uint64_t rows, int64_t range_ns, int64_t bucket_ns_max);
/* The lengths that it chooses from, ascending. */
const int64_t *vv_bucket_lengths(size_t *n_out);
/* The same where a row weighs more, or less, than one of a few metrics: `load` is what `rows` weigh
 * together, in rows. */
struct vv_plan vv_plan_fit(uint64_t rows, uint64_t load, int64_t range_ns, int64_t bucket_ns_max);

/* What a split of a bucket may hold before its source has outgrown its plan, in rows: four times
 * the aim. */
#define VV_SPLIT_LOAD_MAX 65536
/* What a split will hold, in rows, when `load` comes in `range_ns`. */
uint64_t vv_plan_load(const struct vv_plan *plan, uint64_t load, int64_t range_ns);

/* The earliest that a plan with such buckets may begin when it may not begin before `time`: a
 * multiple of their length. VV_TIME_MAX or less; INT64_MAX: there is none. */
int64_t vv_plan_begin(int64_t bucket_ns, int64_t time);

#endif
