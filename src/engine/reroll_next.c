/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/reroll_next.h"

#define SPANS_FIRST  8 /* of a bucket are looked into at once, … */
#define SPANS_GROWTH 4 /* … and each time so many times as many as before, if these are empty */

static enum vv_status nearest(struct vv_engine *engine, uint32_t tenant, uint32_t source,
                              int64_t from, int64_t *time, struct vv_error *error)
{
    struct vv_store *store = engine->store;
    int64_t found;
    enum vv_status status =
        store->ops->nearest(store, 0, tenant, source, from, true, &found, error);
    if (status == VV_OK && found < *time) {
        *time = found;
    }
    return status == VV_DONE ? VV_OK : status;
}

struct first {
    int64_t from;
    int64_t time;
};

static enum vv_status see_first(void *context, const struct vv_piece *piece)
{
    struct first *first = context;
    int64_t time = piece->key.span_start > first->from ? piece->key.span_start : first->from;
    first->time = time < first->time ? time : first->time;
    return VV_OK;
}

/* What can't be read may be anything: the reroll then tells of each unit that it is in. */
static enum vv_status read_from(struct vv_engine *engine, const struct vv_store_read *read,
                                struct first *first, struct vv_error *error)
{
    struct vv_store *store = engine->store;
    enum vv_status status = store->ops->read(store, read, see_first, first, error);
    if (status == VV_CORRUPT || status == VV_NEWER || status == VV_OVERLOAD) {
        int64_t begin = read->span_from > read->partition.bucket_start
                            ? read->span_from
                            : read->partition.bucket_start;
        const struct vv_piece unknown = {.key = {.span_start = begin}};
        error->message[0] = '\0';
        return see_first(first, &unknown);
    }
    return status;
}

/* The first record of a tier, or what makes it stale, if it is before *time. Buckets of tiers are
 * long, so they are looked into. */
static enum vv_status nearest_record(struct vv_engine *engine, const struct vv_reroll_place *at,
                                     enum vv_space tier, uint32_t space, int64_t *time,
                                     struct vv_error *error)
{
    int64_t bucket_ns = vv_tier_plan(tier).bucket_ns;
    int64_t earliest = vv_unit_earliest(tier, at->time);
    int64_t bucket = vv_time_floor(earliest, bucket_ns);
    struct first first = {.from = at->time, .time = *time};
    enum vv_status status = VV_OK;
    while (status == VV_OK && first.time == *time) {
        int64_t found = INT64_MAX;
        status = nearest(engine, space, at->source, bucket, &found, error);
        if (status != VV_OK || found >= *time) {
            return status;
        }
        const struct vv_span_key key = vv_unit_key(tier, space, at->source, at->measurement, found);
        const struct vv_store_read read = {.partition = key.partition,
                                           .measurement = at->measurement,
                                           .span_from = earliest,
                                           .span_to = found + bucket_ns};
        status = read_from(engine, &read, &first, error);
        bucket = found + bucket_ns;
    }
    *time = first.time;
    return status;
}

/* In some spans of a bucket. */
static enum vv_status look_into(struct vv_engine *engine, const struct vv_reroll_place *at,
                                uint32_t number, const struct vv_bucket *bucket, int64_t from,
                                int64_t to, int64_t *time, struct vv_error *error)
{
    struct first first = {.from = at->time, .time = *time};
    enum vv_status status = VV_OK;
    for (uint16_t split = 0; split < bucket->splits && status == VV_OK; split++) {
        const struct vv_store_read read = {
            .partition = vv_bucket_partition(bucket, number, at->source, split),
            .measurement = at->measurement,
            .span_from = from,
            .span_to = to,
            .span_ns = bucket->span_ns,
            .heads_only = true};
        status = read_from(engine, &read, &first, error);
    }
    *time = first.time;
    return status;
}

/* The first span with points, of a place or of its late points, if it is before *time. The bucket
 * may be as long as a year, so it is looked into, over ever longer stretches: who has gaps is not
 * read again and again, and who has little is not asked for each span. */
static enum vv_status nearest_points(struct vv_engine *engine, const struct vv_reroll_place *at,
                                     uint32_t number, const struct vv_bucket *bucket, int64_t *time,
                                     struct vv_error *error)
{
    int64_t found = INT64_MAX;
    enum vv_status status = nearest(engine, number, at->source, bucket->start, &found, error);
    int64_t from = vv_span_of(bucket, at->time);
    int64_t end = found == bucket->start ? bucket->end : from; /* else it has nothing */
    int64_t in_bucket = INT64_MAX;
    for (int64_t spans = SPANS_FIRST;
         status == VV_OK && in_bucket == INT64_MAX && from < end && from < *time;
         spans *= SPANS_GROWTH) {
        bool is_last = (end - from) / bucket->span_ns <= spans;
        int64_t to = is_last ? end : from + spans * bucket->span_ns;
        status = look_into(engine, at, number, bucket, from, to, &in_bucket, error);
        from = to;
    }
    *time = in_bucket < *time ? in_bucket : *time;
    if (found >= bucket->end) {
        *time = found < *time ? found : *time;
        return status;
    }
    /* What begins before the bucket's end is another plan's, of which this one took the place. */
    return status == VV_OK && in_bucket == INT64_MAX
               ? nearest(engine, number, at->source, bucket->end, time, error)
               : status;
}

enum vv_status vv_reroll_next(struct vv_engine *engine, const struct vv_reroll_place *at,
                              int64_t *next_out, struct vv_error *error)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, at->place);
    struct vv_plans plans = vv_registry_source_plans(engine->registry, at->source);
    struct vv_bucket bucket = vv_bucket_of(plans.plans, plans.n, at->time);
    int64_t next = INT64_MAX;
    for (size_t i = plans.n; i-- > 0 && plans.plans[i].from_ns > at->time;) {
        next = plans.plans[i].from_ns; /* other plans' buckets need not be aligned to these */
    }
    uint32_t late = vv_registry_late_seen(engine->registry, at->place);
    /* Points come first: they are asked for by bucket, and end the search for records. */
    enum vv_status status = nearest_points(engine, at, at->place, &bucket, &next, error);
    if (status == VV_OK && late != VV_REGISTRY_NONE) {
        status = nearest_points(engine, at, late, &bucket, &next, error);
    }
    for (int tier = 0; tier <= (int)at->tier && status == VV_OK; tier++) {
        if (tiers.spaces[tier] != VV_REGISTRY_NONE) {
            status =
                nearest_record(engine, at, (enum vv_space)tier, tiers.spaces[tier], &next, error);
        }
    }
    *next_out = next;
    return status;
}
