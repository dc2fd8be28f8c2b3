/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which buckets a source has: rows of the table `buckets`, a partition for each period of 512 days,
 * and one, period PERIODS, that lists the periods (as if they were buckets). They are only ever
 * added to, so a bucket may be named that has nothing any more.
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

static enum vv_status put(struct vv_cassandra *store, const struct vv_partition *partition,
                          int32_t period, int64_t value_ms, int32_t bucket_s, int32_t ttl,
                          struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->put_bucket);
    int64_t us;
    enum vv_status status =
        vv_cassandra_add_source(store, statement, partition->tenant, partition->source, error);
    if (status == VV_OK) {
        status = vv_cassandra_write_us(store, &us, error);
    }
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    vvcql_add_int(statement, period);
    vvcql_add_timestamp(statement, value_ms);
    vvcql_add_int(statement, bucket_s);
    vvcql_add_int(statement, ttl);
    vvcql_add_bigint(statement, us);
    vvcql_set_idempotent(statement, true);
    return vv_flight_send(&store->flight, statement, error);
}

/* What was noted is remembered in a table of hashes: a bucket that falls out is noted again, which
 * does no harm. */
static bool is_noted(struct vv_cassandra *store, const struct vv_partition *partition,
                     uint64_t **slot_out, uint64_t *hash_out)
{
    struct vv_random random = {(uint64_t)partition->source << 32 ^ partition->tenant};
    uint64_t hash = vv_random_next(&random);
    random.state = hash ^ (uint64_t)partition->bucket_start;
    hash = vv_random_next(&random) ^ (uint64_t)partition->bucket_ns;
    hash = hash ? hash : 1;
    *slot_out = &store->noted[hash % VV_BUCKETS_NOTED];
    *hash_out = hash;
    return **slot_out == hash;
}

enum vv_status vv_cassandra_note_bucket(struct vv_cassandra *store,
                                        const struct vv_partition *partition,
                                        struct vv_error *error)
{
    uint64_t *slot;
    uint64_t hash;
    if (is_noted(store, partition, &slot, &hash)) {
        return VV_OK;
    }
    struct vv_tenant_classes classes = vv_cassandra_classes_of(store, partition->tenant);
    int64_t end = partition->bucket_start + partition->bucket_ns;
    int64_t now = store->clock->wall_ns(store->clock);
    int32_t ttl = vv_cassandra_block_ttl(store, end > now ? end : now, classes.retention_ns, now);
    int32_t period = period_of(partition->bucket_start);
    enum vv_status status = put(store, partition, period, vv_cassandra_ms(partition->bucket_start),
                                (int32_t)(partition->bucket_ns / VV_SECOND), ttl, error);
    if (status == VV_OK) {
        status = put(store, partition, PERIODS, period, 0, ttl, error);
    }
    if (status == VV_OK) {
        *slot = hash;
    }
    return vv_cassandra_failed(store, status);
}

/* ---- asking ---- */

/* The first value at or after (or before) `from` in a partition. */
static enum vv_status ask(struct vv_cassandra *store, uint32_t tenant, uint32_t source,
                          int32_t period, int64_t from, bool forward, int64_t *value_out,
                          struct vv_error *error)
{
    struct vvcql_statement *statement =
        vvcql_statement_prepared(forward ? store->bucket_after : store->bucket_before);
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

enum vv_status vv_cassandra_nearest(struct vv_store *base, uint32_t tenant, uint32_t source,
                                    int64_t bucket_start, bool forward, int64_t *bucket_start_out,
                                    struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    int64_t time = bucket_start < VV_TIME_MIN - VV_BUCKET_NS_MAX ? VV_TIME_MIN - VV_BUCKET_NS_MAX
                                                                 : bucket_start;
    time = time > VV_TIME_MAX ? VV_TIME_MAX : time;
    int64_t from = ms_toward(time, forward);
    int64_t period = period_of(time);
    enum vv_status status = vv_cassandra_see_own(store, error);
    while (status == VV_OK) {
        int64_t value = 0;
        status = ask(store, tenant, source, PERIODS, period, forward, &period, error);
        if (status != VV_OK) {
            break;
        }
        status = ask(store, tenant, source, (int32_t)period, from, forward, &value, error);
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
    return vv_cassandra_put_off(status);
}
