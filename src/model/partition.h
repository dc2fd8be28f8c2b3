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
 * Where many nodes share a store, sources that send little share partitions of runs, so that what a
 * flush has of them goes there together: those of a tenant of which the UUIDs begin with the same
 * bits. How many bits is a part of the plan, since all must agree where the runs lie.
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

#define VV_BUCKET_NS_MIN  VV_MINUTE
#define VV_BUCKET_NS_MAX  (366 * VV_DAY)
#define VV_SPLITS_MAX     64
#define VV_SHARE_BITS_MIN 8 /* so that all that share are of one shard */
#define VV_SHARE_BITS_MAX 24
#define VV_SHARERS        32 /* that share a partition, about */
#define VV_REGIONS_MAX    8

struct vv_plan {
    int64_t from_ns;   /* valid for points at or after; VV_TIME_MIN for the first */
    int64_t bucket_ns; /* VV_BUCKET_NS_MIN … VV_BUCKET_NS_MAX */
    int64_t span_ns;   /* divides bucket_ns */
    uint16_t splits;   /* 1 … VV_SPLITS_MAX */
    uint8_t share_bits; /* VV_SHARE_BITS_MIN … VV_SHARE_BITS_MAX, where splits is 1; 0: the source's
                           runs have partitions of their own */
};

static inline bool vv_can_share(uint8_t share_bits)
{
    return share_bits >= VV_SHARE_BITS_MIN && share_bits <= VV_SHARE_BITS_MAX;
}

/* Whether two plans differ in nothing but the time from which they hold. */
static inline bool vv_plan_divides_alike(const struct vv_plan *a, const struct vv_plan *b)
{
    return a->bucket_ns == b->bucket_ns && a->span_ns == b->span_ns && a->splits == b->splits &&
           a->share_bits == b->share_bits;
}

/* How it divides a bucket, in one number: splits in the low byte, share_bits above. */
static inline uint16_t vv_plan_division(const struct vv_plan *plan)
{
    return (uint16_t)(plan->splits | plan->share_bits << 8);
}

/* The other way round; false when there is no such division. */
static inline bool vv_plan_divide(struct vv_plan *plan, uint64_t division)
{
    plan->splits = (uint16_t)(division & 0xff);
    plan->share_bits = (uint8_t)(division >> 8);
    return division <= UINT16_MAX && plan->splits <= VV_SPLITS_MAX &&
           (plan->share_bits == 0 || (plan->splits == 1 && vv_can_share(plan->share_bits)));
}

struct vv_partition {
    uint32_t tenant;
    uint32_t source;
    int64_t bucket_start;
    int64_t bucket_ns;
    uint16_t split; /* its name in the bucket: see vv_split_name */
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
    uint8_t share_bits; /* as in the plan */
};

/* The name of a split by its index, below bucket->splits: it says where its runs lie, too, so that
 * whoever has the partition, from a mark or a parked run, need not know the plan. */
static inline uint16_t vv_split_name(const struct vv_bucket *bucket, uint16_t index)
{
    return (uint16_t)(index | bucket->share_bits << 8);
}

static inline uint16_t vv_split_index(uint16_t split)
{
    return split & 0xff;
}

static inline uint8_t vv_split_share_bits(uint16_t split)
{
    return (uint8_t)(split >> 8);
}

static inline bool vv_split_is_name(uint16_t split)
{
    uint8_t bits = vv_split_share_bits(split);
    return bits == 0 ? split < VV_SPLITS_MAX : vv_split_index(split) == 0 && vv_can_share(bits);
}

/* Of this node's region. */
static inline struct vv_partition vv_bucket_partition(const struct vv_bucket *bucket,
                                                      uint32_t tenant, uint32_t source,
                                                      uint16_t split_index)
{
    return (struct vv_partition){.tenant = tenant,
                                 .source = source,
                                 .bucket_start = bucket->start,
                                 .bucket_ns = bucket->bucket_ns,
                                 .split = vv_split_name(bucket, split_index)};
}

/* VV_INVALID with a message when a plan breaks the bounds above. */
VV_MUST_CHECK enum vv_status vv_plan_check(const struct vv_plan *plan, struct vv_error *error);

/* The bucket that holds time. plans: n ≥ 1, ascending by from_ns, the first from VV_TIME_MIN. */
struct vv_bucket vv_bucket_of(const struct vv_plan *plans, size_t n, int64_t time);

/* The bucket after (forward) or before this one; false at the ends of time. */
bool vv_bucket_next(const struct vv_plan *plans, size_t n, const struct vv_bucket *bucket,
                    bool forward, struct vv_bucket *next_out);

/* The name of the split of a time in its bucket. */
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
/* How many bits are to be the same for so many sources of a tenant, so that about VV_SHARERS share;
 * 0 where a bucket of the plan will hold more than VV_SHARED_LOAD_MAX: `load` as vv_plan_load. */
#define VV_SHARED_LOAD_MAX 16384
uint8_t vv_plan_choose_share(const struct vv_plan *plan, uint64_t sources, uint64_t load,
                             int64_t range_ns);
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
