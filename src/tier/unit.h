/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units: what is built of a tier at once, where it lies in the store, and how its records begin.
 *
 * A tier of a tenant is kept in a space (model/space.h) under plans of its own, the same for all
 * sources. A unit is a stretch of time of one measurement of one source:
 *   minutes  an hour, or a UTC day where the raw data's spans are longer than an hour; it ends
 *            where the plan of the raw data does
 *   hours    a UTC day
 *   days     28 days
 * In the store a unit is a span that begins with it. A block there is its record: chunk of steps,
 * or rows where a step would hold few values. A run says that the unit is to be built again.
 *
 *   record = magic "VU", version u8, kind u8 (enum vv_unit_kind), i64 from, i64 to (the unit),
 *            applied, whole, content
 *   applied = from version 2 on, not empty where nodes share a store: u16 n, n times u64, the
 *             deletions that it has in it, as far as they meet the unit
 *             (src/seal/pyramid_applied.c says what numbers)
 *   whole   = in version 3 alone: u64, see struct vv_unit_record
 *
 *   content = of kind steps a chunk (chunk.h), of rows a block (lib/codec), of stale nothing or
 *             what replaces a day, of members u64 ids, ascending: whose points are in a cohort's
 *             record (cohort.h)
 *
 *   what replaces a day = a block: its first row, a nanosecond before the day begins, has a value
 *             of each metric that is replaced, which says nothing else; the others are the day's
 *             points, as far as they lie in the unit (src/seal/replace.c)
 *
 * A record may have several parts, each with the unit: rows that follow, or steps of other metrics.
 * Metrics go by the numbers of the node that wrote them; where nodes share a store,
 * record_metrics.h gives them others. Pure functions, any thread.
 */
#ifndef VV_TIER_UNIT_H
#define VV_TIER_UNIT_H

#include "model/partition.h"
#include "model/space.h"

/* How long a tier's steps are: a minute, an hour, a day. */
int64_t vv_tier_step_ns(enum vv_space tier);
/* The longest that a unit of it can be. */
int64_t vv_tier_unit_ns_max(enum vv_space tier);
/* How its spaces are divided. */
struct vv_plan vv_tier_plan(enum vv_space tier);

/* A unit is due to be built so long after its end at most, but for lateness (src/seal/stale.c). */
int64_t vv_tier_spread_ns_max(enum vv_space tier);
#define VV_TIER_DUE_NS_MAX (3 * VV_DAY)

struct vv_unit {
    int64_t from; /* [from, to) */
    int64_t to;
};

/* The unit that holds `time`; `plans`, n ≥ 1: of the source's raw data. */
struct vv_unit vv_unit_of(enum vv_space tier, const struct vv_plan *plans, size_t n, int64_t time);

/* Where what begins at `from` lies in the tier's space. */
struct vv_span_key vv_unit_key(enum vv_space tier, uint32_t space, uint32_t source,
                               uint32_t measurement, int64_t from);
/*
 * A volume: the steps that the records of a partition of hours have, metric by metric
 * (src/seal/volumes.h). It is a span that begins with the bucket, in a split of its own, as spaces
 * have no others. Each part is a record of one metric and of a stretch of units that follow each
 * other; of a metric that is in it there is one for each stretch.
 */
#define VV_VOLUME_SPLIT      1
#define VV_VOLUME_STRETCHES  32u /* of a bucket, at most */
#define VV_VOLUME_METRIC_MAX ((VV_VOLUME_PARTS_MAX / VV_VOLUME_STRETCHES) - 1)
#define VV_VOLUME_PARTS_MAX  0x7fffffffu /* as many numbers as parts of blocks have */
/* The first part of a metric ≤ VV_VOLUME_METRIC_MAX; those of the next one follow its stretches. */
static inline uint32_t vv_volume_part(uint32_t metric)
{
    return metric * VV_VOLUME_STRETCHES;
}
static inline bool vv_tier_has_volumes(enum vv_space tier)
{
    return tier == VV_SPACE_HOUR;
}
/* That of the partition that a span of the space lies in. */
static inline struct vv_span_key vv_volume_key(const struct vv_span_key *of)
{
    struct vv_span_key key = *of;
    key.partition.split = VV_VOLUME_SPLIT;
    key.span_start = key.partition.bucket_start;
    return key;
}
/* Whether a span of a space is one. */
static inline bool vv_volume_is(const struct vv_span_key *key)
{
    return key->partition.split == VV_VOLUME_SPLIT;
}

/* The first time at which a unit may begin that has something at or after `from`. */
int64_t vv_unit_earliest(enum vv_space tier, int64_t from);

enum vv_unit_kind { VV_UNIT_STALE, VV_UNIT_STEPS, VV_UNIT_ROWS, VV_UNIT_MEMBERS };

struct vv_unit_record {
    enum vv_unit_kind kind;
    struct vv_unit unit;
    struct vv_str applied; /* borrowed: 8 bytes each, as vv_buffer_u64 writes them; n of them … */
    /* All that the record was made of was there as raw points when it was made, at that count of
     * what has expired (seal/expired.h): it came behind what younger points did. Where nodes share
     * the store: all of it was put at that time, in ns, or later. 0: not said, as a rule. */
    uint64_t whole_at;
    struct vv_str content; /* borrowed */
};
#define VV_UNIT_APPLIED_MAX UINT16_MAX /* … at most */

/* Appends what a record begins with, of a kind; the content follows. */
void vv_unit_write(struct vv_buffer *out, enum vv_unit_kind kind, const struct vv_unit *unit);
/* The same of all that a record says but for its content. */
void vv_unit_write_head(struct vv_buffer *out, const struct vv_unit_record *record);
/* VV_CORRUPT, VV_NEWER. The content's own checksum is its reader's matter. */
VV_MUST_CHECK enum vv_status vv_unit_read(struct vv_str bytes, struct vv_unit_record *record_out,
                                          struct vv_error *error);
/* Whether it is a record of a stale unit that replaces a day of it. */
bool vv_unit_replaces(struct vv_str bytes);

#endif
