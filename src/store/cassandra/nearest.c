/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which buckets a source has: rows of the table `buckets`, a partition for each period of 512 days,
 * and one, period PERIODS, that lists the periods (as if they were buckets). They are only ever
 * added to, so a bucket may be named that has nothing any more. A row lives as long as what lives
 * longest in its bucket, whoever put that, and whatever the retention was. So one that waits for a
 * part of Cassandra (parked.c) keeps the retention that it was made with.
 */
#include "store/cassandra/cassandra.h"

#include "base/random.h"
#include "store/keys.h"

#define PERIOD_NS (512 * VV_DAY)
#define PERIODS   INT32_MIN /* the partition that lists them */

static int32_t period_of(int64_t time_ns)
{
    return (int32_t)(vv_time_floor(time_ns, PERIOD_NS) / PERIOD_NS);
}

/* ---- noting ---- */

#define NO_END_S INT64_C(4102444800) /* 2100: behind all that ends (retention.c) */

/* A row's CQL timestamp is when it ends, not when it was written: so of two that nodes write, or
 * one before and after a retention is changed, that counts which lives longer, as long as any
 * block. */
static int64_t timestamp_of(int32_t ttl_s, int64_t now_ns)
{
    int64_t end_s = ttl_s == 0 ? NO_END_S : now_ns / VV_SECOND + ttl_s;
    return end_s * (VV_SECOND / VV_MICROSECOND);
}

/* A row that says that the bucket, or (PERIODS) the period, is there. */
static enum vv_status make_note(struct vv_cassandra *store, const struct vv_partition *partition,
                                int64_t retention_ns, int32_t period, int64_t value_ms,
                                int32_t bucket_s, struct vvcql_statement **statement_out,
                                struct vv_error *error)
{
    int64_t end = partition->bucket_start + partition->bucket_ns;
    int64_t now = store->clock->wall_ns(store->clock);
    struct vvcql_statement *statement = vvcql_statement_prepared(store->put_bucket);
    enum vv_status status =
        vv_cassandra_add_source(store, statement, partition->tenant, partition->source, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    vvcql_add_int(statement, period);
    vvcql_add_timestamp(statement, value_ms);
    vvcql_add_int(statement, bucket_s);
    int32_t ttl =
        store->purges ? 0 : vv_cassandra_block_ttl(store, end > now ? end : now, retention_ns, now);
    vvcql_add_int(statement, ttl); /* as long as its blocks */
    vvcql_add_bigint(statement, timestamp_of(ttl, now));
    vvcql_set_idempotent(statement, true);
    *statement_out = statement;
    return VV_OK;
}

enum vv_status vv_cassandra_bucket_notes(struct vv_cassandra *store,
                                         const struct vv_partition *partition, int64_t retention_ns,
                                         struct vvcql_statement *notes_out[2],
                                         struct vv_error *error)
{
    int32_t period = period_of(partition->bucket_start);
    enum vv_status status =
        make_note(store, partition, retention_ns, period, vv_cassandra_ms(partition->bucket_start),
                  (int32_t)(partition->bucket_ns / VV_SECOND), &notes_out[0], error);
    if (status == VV_OK) {
        status =
            make_note(store, partition, retention_ns, PERIODS, period, 0, &notes_out[1], error);
        if (status != VV_OK) {
            vvcql_statement_destroy(notes_out[0]);
        }
    }
    return status;
}

enum vv_status vv_cassandra_note_again(struct vv_cassandra *store, struct vv_str tenant,
                                       const uint8_t source[16], int64_t bucket_ms,
                                       int32_t bucket_s, struct vv_error *error)
{
    struct vvcql_statement *statements[2];
    struct vvcql_result *results[2];
    int32_t period = period_of(bucket_ms * VV_MILLISECOND);
    for (int i = 0; i < 2; i++) {
        statements[i] = vvcql_statement_prepared(store->put_bucket);
        vv_cassandra_add_str(statements[i], tenant);
        vvcql_add_uuid(statements[i], source);
        vvcql_add_int(statements[i], i == 0 ? period : PERIODS);
        vvcql_add_timestamp(statements[i], i == 0 ? bucket_ms : period);
        vvcql_add_int(statements[i], i == 0 ? bucket_s : 0);
        vvcql_add_int(statements[i], 0);
        vvcql_add_bigint(statements[i], timestamp_of(0, 0));
        vvcql_set_idempotent(statements[i], true);
    }
    enum vv_status status = vv_cassandra_ask(store, statements, 2, results, error);
    for (int i = 0; i < 2 && status == VV_OK; i++) {
        vvcql_result_destroy(results[i]);
    }
    return status;
}

/* Both of them, or it is parked. */
static enum vv_status put_notes(struct vv_cassandra *store, const struct vv_partition *partition,
                                int64_t retention_ns, struct vv_error *error)
{
    struct vvcql_statement *notes[2];
    enum vv_status status = vv_cassandra_bucket_notes(store, partition, retention_ns, notes, error);
    if (status != VV_OK) {
        return status;
    }
    if (vv_cassandra_is_away(store, notes[0], VV_DEAD_BY_WRITE) ||
        vv_cassandra_is_away(store, notes[1], VV_DEAD_BY_WRITE)) {
        vvcql_statement_destroy(notes[0]);
        vvcql_statement_destroy(notes[1]);
        return vv_park_bucket(store, partition, retention_ns, error);
    }
    status = vv_flight_gather(&store->flight, notes[0], 1, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(notes[1]);
        return status;
    }
    return vv_flight_gather(&store->flight, notes[1], 1, error);
}

/* Of the bucket, and of how long what is put into it lives. */
static uint64_t hash_of(const struct vv_partition *partition, int64_t retention_ns)
{
    struct vv_random random = {(uint64_t)partition->source << 32 ^ partition->tenant};
    uint64_t hash = vv_random_next(&random);
    random.state = hash ^ (uint64_t)partition->bucket_start;
    hash = vv_random_next(&random) ^ (uint64_t)partition->bucket_ns;
    random.state = hash ^ (uint64_t)retention_ns;
    return vv_random_next(&random);
}

/* A bucket that is forgotten is noted again, which does no harm. */
enum vv_status vv_cassandra_note_bucket(struct vv_cassandra *store,
                                        const struct vv_partition *partition,
                                        struct vv_error *error)
{
    int64_t retention_ns = vv_cassandra_retention(store, partition->tenant);
    uint64_t hash = hash_of(partition, retention_ns);
    if (vv_noted_has(&store->noted, hash)) {
        return VV_OK;
    }
    bool is_tentative = vv_cassandra_is_tentative(store, partition);
    enum vv_status status = is_tentative ? vv_park_bucket(store, partition, retention_ns, error)
                                         : put_notes(store, partition, retention_ns, error);
    if (status == VV_OK) {
        vv_noted_add(&store->noted, hash);
    }
    return vv_cassandra_failed(store, status);
}

bool vv_cassandra_is_noted(struct vv_cassandra *store, const struct vv_partition *partition)
{
    int64_t retention_ns = vv_cassandra_retention(store, partition->tenant);
    return vv_noted_has(&store->noted, hash_of(partition, retention_ns));
}

/* ---- asking ---- */

/* The first value at or after (or before) `from` in a partition. */
static enum vv_status ask(struct vv_cassandra *store, const struct vv_region_view *view,
                          uint32_t tenant, uint32_t source, int32_t period, int64_t from,
                          bool forward, int64_t *value_out, struct vv_error *error)
{
    struct vvcql_statement *statement =
        vvcql_statement_prepared(forward ? view->bucket_after : view->bucket_before);
    struct vvcql_result *result;
    enum vv_status status = vv_cassandra_add_source(store, statement, tenant, source, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    vvcql_add_int(statement, period);
    vvcql_add_timestamp(statement, from);
    vvcql_set_idempotent(statement, true);
    status = vv_cassandra_ask(store, &statement, 1, &result, error);
    if (status == VV_OK) {
        status = vvcql_next_row(result) && vvcql_get_bigint(result, 0, value_out) ? VV_OK : VV_DONE;
        vvcql_result_destroy(result);
    }
    return status;
}

static int64_t ms_toward(int64_t time_ns, bool forward)
{
    int64_t ms = vv_time_floor(time_ns, VV_MILLISECOND) / VV_MILLISECOND;
    return forward && ms * VV_MILLISECOND != time_ns ? ms + 1 : ms;
}

/* The nearest that Cassandra knows of. */
static enum vv_status find(struct vv_cassandra *store, const struct vv_region_view *view,
                           uint32_t tenant, uint32_t source, int64_t time, bool forward,
                           int64_t *bucket_start_out, struct vv_error *error)
{
    int64_t from = ms_toward(time, forward);
    int64_t period = period_of(time);
    enum vv_status status = vv_cassandra_see_own(store, error);
    while (status == VV_OK) {
        int64_t value = 0;
        status = ask(store, view, tenant, source, PERIODS, period, forward, &period, error);
        if (status != VV_OK) {
            break;
        }
        status = ask(store, view, tenant, source, (int32_t)period, from, forward, &value, error);
        if (status == VV_OK) {
            *bucket_start_out = value * VV_MILLISECOND;
            return VV_OK;
        }
        if (status != VV_DONE) {
            break;
        }
        status = VV_OK;
        period += forward ? 1 : -1;
    }
    return status;
}

enum vv_status vv_cassandra_nearest(struct vv_store *base, uint8_t region, uint32_t tenant,
                                    uint32_t source, int64_t bucket_start, bool forward,
                                    int64_t *bucket_start_out, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    const struct vv_region_view *view = vv_regions_view(store, region);
    if (!view) {
        return VV_DONE;
    }
    int64_t time = bucket_start < VV_TIME_MIN - VV_BUCKET_NS_MAX ? VV_TIME_MIN - VV_BUCKET_NS_MAX
                                                                 : bucket_start;
    time = time > VV_TIME_MAX ? VV_TIME_MAX : time;
    int64_t parked = 0;
    enum vv_status status =
        region == 0 ? vv_parked_nearest(store, tenant, source, time, forward, &parked, error)
                    : VV_DONE; /* only what is this region's own is parked */
    bool has_parked = status == VV_OK;
    if (status == VV_OK || status == VV_DONE) {
        status = find(store, view, tenant, source, time, forward, bucket_start_out, error);
    }
    bool is_nearer =
        has_parked &&
        (status == VV_DONE ||
         (status == VV_OK && (forward ? parked < *bucket_start_out : parked > *bucket_start_out)));
    if (is_nearer) {
        *bucket_start_out = parked;
        return VV_OK;
    }
    return vv_cassandra_put_off(status);
}
