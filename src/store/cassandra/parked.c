/* SPDX-License-Identifier: Apache-2.0 */
/* Parked records: what they say (parking.h has their layout), and plans that are tentative. */
#include "store/cassandra/cassandra.h"

#include "store/keys.h"

#include <stdlib.h>

#define VERSION     VV_PARKED_VERSION
#define RUN_HEAD    9 /* of a run's value: version 1, µs 8 */
#define PLAN_SIZE   19
#define BUCKET_SIZE 9

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while a part of Cassandra is away");
}

/* ---- records ---- */

static struct vv_str str_of(const uint8_t *bytes, size_t size)
{
    return (struct vv_str){(const char *)bytes, size};
}

enum vv_status vv_parked_version(struct vv_cassandra *store, const struct vv_piece *run,
                                 int64_t *version_out, struct vv_error *error)
{
    uint8_t key[VV_KEY_RUN_SIZE];
    struct vv_buffer value = {0};
    struct vv_piece parked;
    vv_key_from_run(run, key);
    *version_out = 0;
    const struct vv_str name = str_of(key, sizeof key);
    enum vv_status status = store->local->ops->get_meta(
        store->local, VV_LOCAL_PARKED + VV_PARKED_RUN, name, &value, error);
    if (status == VV_OK &&
        vv_parked_run(name, (struct vv_str){(char *)value.data, value.size}, &parked) == VV_OK) {
        *version_out = parked.version;
    }
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}

enum vv_status vv_park_run(struct vv_cassandra *store, const struct vv_piece *run,
                           struct vv_error *error)
{
    uint8_t key[VV_KEY_RUN_SIZE];
    struct vv_buffer value = {0};
    struct vv_piece own = *run;
    int64_t us = run->version;
    int64_t newest = 0;
    own.run = vv_cassandra_own(store, run->run);
    enum vv_status status = us ? vv_parked_version(store, &own, &newest, error)
                               : vv_cassandra_write_us(store, &us, error);
    if (status != VV_OK || newest > us) { /* what is written again is older than what waits */
        return status;
    }
    vv_key_from_run(&own, key);
    vv_buffer_u8(&value, VERSION);
    vv_buffer_be64(&value, (uint64_t)us);
    vv_buffer_str(&value, run->bytes);
    status = vv_park_record(store, VV_PARKED_RUN, str_of(key, sizeof key), &value, error);
    vv_buffer_deinit(&value);
    return status;
}

enum vv_status vv_parked_run(struct vv_str key, struct vv_str value, struct vv_piece *run_out)
{
    if (key.size != VV_KEY_RUN_SIZE || value.size < RUN_HEAD || value.data[0] != VERSION) {
        return VV_CORRUPT;
    }
    *run_out = (struct vv_piece){.kind = VV_PIECE_RUN};
    vv_key_to_run((const uint8_t *)key.data, run_out);
    if (!vv_split_is_name(run_out->key.partition.split)) {
        return VV_CORRUPT;
    }
    run_out->version = (int64_t)vv_key_get_u64((const uint8_t *)value.data + 1);
    run_out->bytes = (struct vv_str){value.data + RUN_HEAD, value.size - RUN_HEAD};
    return VV_OK;
}

enum vv_status vv_park_mark(struct vv_cassandra *store, const struct vv_mark *mark,
                            struct vv_error *error)
{
    uint8_t key[VV_KEY_MARK_SIZE];
    uint8_t room[VV_MARK_VALUE_SIZE];
    struct vv_buffer value = {0};
    vv_key_from_mark(mark, key);
    vv_mark_value(mark, room);
    vv_buffer_u8(&value, VERSION);
    vv_buffer_append(&value, room, sizeof room);
    enum vv_status status =
        vv_park_record(store, VV_PARKED_MARK, str_of(key, sizeof key), &value, error);
    vv_buffer_deinit(&value);
    return status;
}

enum vv_status vv_parked_mark(struct vv_str key, struct vv_str value, struct vv_mark *mark_out)
{
    if (key.size != VV_KEY_MARK_SIZE || value.size != 1 + VV_MARK_VALUE_SIZE ||
        value.data[0] != VERSION) {
        return VV_CORRUPT;
    }
    vv_key_to_mark((const uint8_t *)key.data, (const uint8_t *)value.data + 1, mark_out);
    return vv_split_is_name(mark_out->key.partition.split) ? VV_OK : VV_CORRUPT;
}

enum vv_status vv_park_slot(struct vv_cassandra *store, const struct vv_slot_out *slot,
                            struct vv_error *error)
{
    uint8_t key[VV_PARKED_SLOT_KEY_SIZE];
    struct vv_buffer value = {0};
    key[0] = slot->shard;
    vv_key_put_i64(key + 1, slot->slot_ms);
    vv_buffer_u8(&value, VERSION);
    vv_buffer_be64(&value, (uint64_t)slot->end_ns);
    enum vv_status status =
        vv_park_record(store, VV_PARKED_SLOT, str_of(key, sizeof key), &value, error);
    vv_buffer_deinit(&value);
    return status;
}

enum vv_status vv_parked_slot(struct vv_str key, struct vv_str value, struct vv_slot_out *slot_out)
{
    const uint8_t *at = (const uint8_t *)key.data;
    if (key.size != VV_PARKED_SLOT_KEY_SIZE || value.size != 9 || value.data[0] != VERSION) {
        return VV_CORRUPT;
    }
    *slot_out = (struct vv_slot_out){
        .shard = at[0],
        .slot_ms = vv_key_get_i64(at + 1),
        .end_ns = (int64_t)vv_key_get_u64((const uint8_t *)value.data + 1),
    };
    return VV_OK;
}

int64_t vv_parked_bucket_retention(struct vv_str value, int64_t retention_ns)
{
    if (value.size != BUCKET_SIZE || value.data[0] != VERSION) {
        return retention_ns;
    }
    int64_t parked_ns = (int64_t)vv_key_get_u64((const uint8_t *)value.data + 1);
    return vv_retention_longer(parked_ns, retention_ns);
}

enum vv_status vv_park_bucket(struct vv_cassandra *store, const struct vv_partition *partition,
                              int64_t retention_ns, struct vv_error *error)
{
    uint8_t room[VV_KEY_PARTITION_SIZE] = {0};
    const struct vv_str key = str_of(room, sizeof room);
    struct vv_buffer value = {0};
    struct vv_partition whole = *partition;
    whole.split = 0;
    vv_key_from_partition(&whole, room);
    enum vv_status status = store->local->ops->get_meta(
        store->local, VV_LOCAL_PARKED + VV_PARKED_BUCKET, key, &value, error);
    if (status != VV_OK && status != VV_NOT_FOUND) {
        vv_buffer_deinit(&value);
        return status;
    }
    retention_ns = vv_parked_bucket_retention(str_of(value.data, value.size), retention_ns);
    vv_buffer_clear(&value);
    vv_buffer_u8(&value, VERSION);
    vv_buffer_be64(&value, (uint64_t)retention_ns);
    status = vv_park_record(store, VV_PARKED_BUCKET, key, &value, error);
    vv_buffer_deinit(&value);
    return status;
}

static void told_key(struct vv_buffer *key, const struct vv_told *told)
{
    vv_buffer_u8(key, told->kind);
    vv_buffer_be64(key, (uint64_t)told->item);
    vv_buffer_be32(key, (uint32_t)told->tenant.size);
    vv_buffer_str(key, told->tenant);
    vv_buffer_str(key, told->name);
}

enum vv_status vv_park_told(struct vv_cassandra *store, const struct vv_told *told,
                            struct vv_error *error)
{
    struct vv_buffer key = {0};
    struct vv_buffer value = {0};
    told_key(&key, told);
    vv_buffer_u8(&value, VERSION);
    vv_buffer_str(&value, told->value);
    enum vv_status status = vv_buffer_status(&key);
    status = status == VV_OK
                 ? vv_park_record(store, VV_PARKED_TOLD, str_of(key.data, key.size), &value, error)
                 : no_memory(error);
    vv_buffer_deinit(&key);
    vv_buffer_deinit(&value);
    return status;
}

enum vv_status vv_unpark_told(struct vv_cassandra *store, const struct vv_told *told,
                              struct vv_error *error)
{
    struct vv_buffer key = {0};
    if (store->parking.n[VV_PARKED_TOLD] == 0) {
        return VV_OK;
    }
    told_key(&key, told);
    enum vv_status status = vv_buffer_status(&key);
    status = status == VV_OK ? vv_unpark(store, VV_PARKED_TOLD, str_of(key.data, key.size), error)
                             : no_memory(error);
    vv_buffer_deinit(&key);
    return status;
}

enum vv_status vv_parked_told(struct vv_str key, struct vv_str value, struct vv_told *told_out)
{
    const uint8_t *at = (const uint8_t *)key.data;
    if (key.size < VV_PARKED_TOLD_HEAD || value.size < 1 || value.data[0] != VERSION ||
        vv_key_get_u32(at + 9) > key.size - VV_PARKED_TOLD_HEAD) {
        return VV_CORRUPT;
    }
    size_t tenant = vv_key_get_u32(at + 9);
    *told_out = (struct vv_told){
        .kind = at[0],
        .item = (int64_t)vv_key_get_u64(at + 1),
        .tenant = {key.data + VV_PARKED_TOLD_HEAD, tenant},
        .name = {key.data + VV_PARKED_TOLD_HEAD + tenant, key.size - VV_PARKED_TOLD_HEAD - tenant},
        .value = {value.data + 1, value.size - 1},
    };
    return VV_OK;
}

/* ---- tentative plans ---- */

/* Where the source's stands, or would, in the list, which ascends by source and tenant. */
static size_t plan_place(const struct vv_parking *parking, uint32_t tenant, uint32_t source,
                         bool *found_out)
{
    uint64_t wanted = (uint64_t)source << 32 | tenant;
    uint64_t at = 0;
    size_t low = 0;
    size_t high = parking->n_tentative;
    *found_out = false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        at = (uint64_t)parking->tentative[middle].source << 32 | parking->tentative[middle].tenant;
        *found_out = *found_out || at == wanted;
        if (at < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool fit_plan(struct vv_parking *parking)
{
    size_t n = parking->n_tentative;
    if (n < parking->tentative_capacity) {
        return true;
    }
    size_t capacity = n ? n * 2 : 64;
    struct vv_first_plan *bigger = realloc(parking->tentative, capacity * sizeof *bigger);
    if (!bigger) {
        return false;
    }
    parking->tentative = bigger;
    parking->tentative_capacity = capacity;
    return true;
}

static bool keep_plan(struct vv_parking *parking, const struct vv_first_plan *plan)
{
    bool found;
    pthread_mutex_lock(&parking->lock);
    size_t place = plan_place(parking, plan->tenant, plan->source, &found);
    bool fits = found || fit_plan(parking);
    if (fits) {
        struct vv_first_plan *there = &parking->tentative[place];
        if (!found) {
            memmove(there + 1, there, (parking->n_tentative - place) * sizeof *there);
            parking->n_tentative++;
        }
        *there = *plan;
        there->is_tentative = true;
    }
    pthread_mutex_unlock(&parking->lock);
    return fits;
}

static void drop_plan(struct vv_parking *parking, uint32_t tenant, uint32_t source)
{
    bool found;
    pthread_mutex_lock(&parking->lock);
    size_t place = plan_place(parking, tenant, source, &found);
    if (found) {
        struct vv_first_plan *there = &parking->tentative[place];
        parking->n_tentative--;
        memmove(there, there + 1, (parking->n_tentative - place) * sizeof *there);
    }
    pthread_mutex_unlock(&parking->lock);
}

enum vv_status vv_park_plan(struct vv_cassandra *store, const struct vv_first_plan *plan,
                            struct vv_error *error)
{
    uint8_t key[VV_KEY_SOURCE_SIZE];
    struct vv_buffer value = {0};
    vv_key_from_source(plan->tenant, plan->source, key);
    vv_buffer_u8(&value, VERSION);
    vv_buffer_be64(&value, (uint64_t)plan->plan.bucket_ns);
    vv_buffer_be64(&value, (uint64_t)plan->plan.span_ns);
    vv_buffer_be16(&value, vv_plan_division(&plan->plan));
    enum vv_status status =
        vv_park_record(store, VV_PARKED_PLAN, str_of(key, sizeof key), &value, error);
    vv_buffer_deinit(&value);
    return status == VV_OK && !keep_plan(&store->parking, plan) ? no_memory(error) : status;
}

enum vv_status vv_unpark_plan(struct vv_cassandra *store, uint32_t tenant, uint32_t source,
                              struct vv_error *error)
{
    uint8_t key[VV_KEY_SOURCE_SIZE];
    vv_key_from_source(tenant, source, key);
    enum vv_status status = vv_unpark(store, VV_PARKED_PLAN, str_of(key, sizeof key), error);
    if (status == VV_OK) {
        drop_plan(&store->parking, tenant, source);
    }
    return status;
}

bool vv_parking_has_tentative(struct vv_parking *parking)
{
    return atomic_load_explicit(&parking->n_tentative, memory_order_relaxed) > 0;
}

bool vv_parking_is_tentative(struct vv_parking *parking, uint32_t tenant, uint32_t source)
{
    if (!vv_parking_has_tentative(parking)) {
        return false;
    }
    bool found;
    pthread_mutex_lock(&parking->lock);
    (void)plan_place(parking, tenant, source, &found);
    pthread_mutex_unlock(&parking->lock);
    return found;
}

size_t vv_shared_tentative(struct vv_store *base, struct vv_first_plan *plans_out, size_t max)
{
    struct vv_parking *parking = &vv_cassandra_of(base)->parking;
    pthread_mutex_lock(&parking->lock);
    size_t n = parking->n_tentative;
    if (n > 0 && max > 0) {
        memcpy(plans_out, parking->tentative, (n < max ? n : max) * sizeof *plans_out);
    }
    pthread_mutex_unlock(&parking->lock);
    return n;
}

enum vv_status vv_parking_load_plan(struct vv_parking *parking, struct vv_str key,
                                    struct vv_str value)
{
    const uint8_t *at = (const uint8_t *)value.data;
    if (value.size != PLAN_SIZE) {
        return VV_CORRUPT;
    }
    struct vv_first_plan plan = {
        .tenant = vv_key_get_u32((const uint8_t *)key.data),
        .source = vv_key_get_u32((const uint8_t *)key.data + 4),
        .plan = {.from_ns = VV_TIME_MIN,
                 .bucket_ns = (int64_t)vv_key_get_u64(at + 1),
                 .span_ns = (int64_t)vv_key_get_u64(at + 9)},
    };
    if (!vv_plan_divide(&plan.plan, vv_key_get_u16(at + 17))) {
        return VV_CORRUPT;
    }
    return keep_plan(parking, &plan) ? VV_OK : VV_NO_MEMORY;
}
