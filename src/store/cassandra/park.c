/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked records: in the local store, and counted in memory, where any thread can see which
 * partitions and tenants have some.
 */
#include "store/cassandra/rows.h"

#include "base/random.h"
#include "store/keys.h"

#include <stdlib.h>

#define VERSION      VV_PARKED_VERSION
#define STATE_SIZE   17
#define STATE_KEY    VV_STR_LITERAL("since")
#define CAPACITY_MIN 64

_Static_assert(VV_KEY_PARTITION_SIZE <= sizeof((struct vv_parked_partition){0}.key),
               "a partition's key fits");

bool vv_parking_init(struct vv_parking *parking, uint64_t bytes_max)
{
    parking->bytes_max = bytes_max;
    parking->beaten_ns = INT64_MIN;
    vv_invariant(pthread_mutex_init(&parking->lock, NULL) == 0);
    parking->partitions = calloc(CAPACITY_MIN, sizeof *parking->partitions);
    parking->capacity = CAPACITY_MIN;
    return parking->partitions != NULL;
}

void vv_parking_deinit(struct vv_parking *parking)
{
    free(parking->partitions);
    free(parking->tenants);
    free(parking->tentative);
    pthread_mutex_destroy(&parking->lock);
}

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while a part of Cassandra is away");
}

/* ---- partitions, with the lock ---- */

static size_t place_of(const struct vv_parking *parking, const uint8_t *key)
{
    struct vv_random random = {0};
    for (size_t i = 0; i < VV_KEY_PARTITION_SIZE; i++) {
        random.state = random.state * 31 + key[i];
    }
    size_t place = vv_random_next(&random) & (parking->capacity - 1);
    while (parking->partitions[place].is_used &&
           memcmp(parking->partitions[place].key, key, VV_KEY_PARTITION_SIZE) != 0) {
        place = (place + 1) & (parking->capacity - 1);
    }
    return place;
}

/* Room for one more; those that have nothing any more are left behind. */
static bool grow(struct vv_parking *parking)
{
    if (parking->n_partitions * 4 < parking->capacity * 3) {
        return true;
    }
    struct vv_parked_partition *before = parking->partitions;
    size_t n = parking->capacity;
    size_t live = 0;
    for (size_t i = 0; i < n; i++) {
        live += before[i].n > 0;
    }
    size_t capacity = live * 2 < n ? n : n * 2;
    struct vv_parked_partition *partitions = calloc(capacity, sizeof *partitions);
    if (!partitions) {
        return false;
    }
    parking->partitions = partitions;
    parking->capacity = capacity;
    parking->n_partitions = live;
    for (size_t i = 0; i < n; i++) {
        if (before[i].n > 0) {
            partitions[place_of(parking, before[i].key)] = before[i];
        }
    }
    free(before);
    return true;
}

static bool count_partition(struct vv_parking *parking, const uint8_t *key, bool comes)
{
    if (comes && !grow(parking)) {
        return false;
    }
    struct vv_parked_partition *one = &parking->partitions[place_of(parking, key)];
    if (comes && !one->is_used) {
        memcpy(one->key, key, VV_KEY_PARTITION_SIZE);
        one->is_used = true;
        parking->n_partitions++;
    }
    one->n += comes ? 1 : -(uint32_t)(one->n > 0);
    return true;
}

/* ---- tenants, with the lock ---- */

static struct vv_parked_tenant *tenant_of(struct vv_parking *parking, uint64_t whose, bool make)
{
    for (size_t i = 0; i < parking->n_tenants; i++) {
        if (parking->tenants[i].whose == whose) {
            return &parking->tenants[i];
        }
    }
    if (!make) {
        return NULL;
    }
    struct vv_parked_tenant *bigger =
        realloc(parking->tenants, (parking->n_tenants + 1) * sizeof *bigger);
    if (!bigger) {
        return NULL;
    }
    parking->tenants = bigger;
    bigger[parking->n_tenants] = (struct vv_parked_tenant){.whose = whose};
    return &bigger[parking->n_tenants++];
}

/* What others don't see while it is parked: not what only sealing needs. */
static bool is_seen(enum vv_parked_kind kind)
{
    return kind != VV_PARKED_MARK && kind != VV_PARKED_SLOT;
}

/* Above all numbers of tenants. */
static uint64_t hash_of_name(struct vv_str name)
{
    struct vv_random random = {name.size};
    for (size_t i = 0; i < name.size; i++) {
        random.state = random.state * 31 + (uint8_t)name.data[i];
    }
    return vv_random_next(&random) | UINT64_C(1) << 63;
}

/* Whose it is. What is told goes by its tenant's name: when it is loaded, names have no numbers
 * yet. */
static uint64_t whose_is(enum vv_parked_kind kind, struct vv_str key)
{
    struct vv_told told;
    if (kind == VV_PARKED_RUN || kind == VV_PARKED_BUCKET || kind == VV_PARKED_PLAN) {
        return vv_key_get_u32((const uint8_t *)key.data);
    }
    bool is_told =
        kind == VV_PARKED_TOLD && vv_parked_told(key, (struct vv_str){"\1", 1}, &told) == VV_OK;
    return is_told ? hash_of_name(vv_space_tenant_name(told.tenant)) : UINT64_MAX;
}

/* ---- counting ---- */

static const size_t key_sizes[VV_PARKED_KINDS] = {
    [VV_PARKED_RUN] = VV_KEY_RUN_SIZE,          [VV_PARKED_MARK] = VV_KEY_MARK_SIZE,
    [VV_PARKED_SLOT] = VV_PARKED_SLOT_KEY_SIZE, [VV_PARKED_BUCKET] = VV_KEY_PARTITION_SIZE,
    [VV_PARKED_TOLD] = 0 /* at least */,        [VV_PARKED_PLAN] = VV_KEY_SOURCE_SIZE,
};

/* Its lists have room for one more; then counting can't fail. */
static enum vv_status count(struct vv_cassandra *store, enum vv_parked_kind kind, struct vv_str key,
                            bool comes, struct vv_error *error)
{
    struct vv_parking *parking = &store->parking;
    pthread_mutex_lock(&parking->lock);
    struct vv_parked_tenant *whose =
        is_seen(kind) ? tenant_of(parking, whose_is(kind, key), comes) : NULL;
    bool fits =
        (whose || !is_seen(kind) || !comes) &&
        (kind != VV_PARKED_RUN || count_partition(parking, (const uint8_t *)key.data, comes));
    if (fits) {
        parking->n[kind] += comes ? 1 : UINT64_MAX;
        if (whose) {
            whose->n += comes ? 1 : UINT64_MAX;
        }
    }
    pthread_mutex_unlock(&parking->lock);
    if (!fits) {
        return no_memory(error);
    }
    uint64_t by = comes ? 1 : UINT64_MAX;
    atomic_fetch_add(&parking->n_seen, is_seen(kind) ? by : 0);
    atomic_fetch_add(&parking->n_runs, kind == VV_PARKED_RUN ? by : 0);
    atomic_fetch_add(&parking->n_buckets, kind == VV_PARKED_BUCKET ? by : 0);
    return VV_OK;
}

static uint64_t n_all(struct vv_parking *parking)
{
    uint64_t n = 0;
    for (size_t i = 0; i < VV_PARKED_KINDS; i++) {
        n += parking->n[i];
    }
    return n;
}

static void count_bytes(struct vv_parking *parking, uint64_t more, uint64_t less)
{
    pthread_mutex_lock(&parking->lock);
    parking->bytes = parking->bytes + more > less ? parking->bytes + more - less : 0;
    pthread_mutex_unlock(&parking->lock);
}

/* ---- since when, and what beats say ---- */

static enum vv_status put_state(struct vv_cassandra *store, int64_t since_ns, int64_t beat_ns,
                                struct vv_error *error)
{
    struct vv_parking *parking = &store->parking;
    uint8_t value[STATE_SIZE] = {VERSION};
    vv_key_put_i64(value + 1, since_ns);
    vv_key_put_i64(value + 9, beat_ns);
    enum vv_status status =
        store->local->ops->put_meta(store->local, VV_LOCAL_PARKED_STATE, STATE_KEY,
                                    (struct vv_str){(char *)value, sizeof value}, error);
    if (status == VV_OK) {
        pthread_mutex_lock(&parking->lock);
        parking->since_ns = since_ns;
        parking->beat_ns = beat_ns;
        pthread_mutex_unlock(&parking->lock);
    }
    return status;
}

/* Before the first record: it is there whenever a record is. */
static enum vv_status begin_state(struct vv_cassandra *store, enum vv_parked_kind kind,
                                  struct vv_error *error)
{
    struct vv_parking *parking = &store->parking;
    bool is_first = n_all(parking) == 0;
    if (!is_first && (!is_seen(kind) || atomic_load(&parking->n_seen) > 0)) {
        return VV_OK;
    }
    int64_t since = is_first ? store->clock->wall_ns(store->clock) : parking->since_ns;
    return put_state(store, since, parking->beaten_ns, error);
}

static enum vv_status end_state(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_parking *parking = &store->parking;
    if (n_all(parking) > 0) {
        return VV_OK;
    }
    pthread_mutex_lock(&parking->lock);
    parking->since_ns = 0;
    parking->bytes = 0;
    pthread_mutex_unlock(&parking->lock);
    return store->local->ops->remove_meta(store->local, VV_LOCAL_PARKED_STATE, STATE_KEY, error);
}

int64_t vv_parking_bound(struct vv_parking *parking, int64_t flushed_until_ns)
{
    int64_t until = flushed_until_ns;
    if (atomic_load(&parking->n_seen) > 0) {
        until = parking->beat_ns < until ? parking->beat_ns : until;
    }
    parking->beaten_ns = until;
    return until;
}

/* ---- putting and removing ---- */

static uint64_t cost_of(struct vv_str key, size_t value_size)
{
    return key.size + value_size + VV_PARKED_OVERHEAD;
}

/* How much the record costs that is there; 0: none. */
static enum vv_status cost_before(struct vv_cassandra *store, enum vv_parked_kind kind,
                                  struct vv_str key, uint64_t *cost_out, struct vv_error *error)
{
    struct vv_buffer value = {0};
    enum vv_status status = store->local->ops->get_meta(
        store->local, (uint8_t)(VV_LOCAL_PARKED + kind), key, &value, error);
    *cost_out = status == VV_OK ? cost_of(key, value.size) : 0;
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}

enum vv_status vv_park_record(struct vv_cassandra *store, enum vv_parked_kind kind,
                              struct vv_str key, const struct vv_buffer *value,
                              struct vv_error *error)
{
    struct vv_parking *parking = &store->parking;
    uint64_t before = 0;
    enum vv_status status = vv_buffer_status(value);
    if (status != VV_OK) {
        return no_memory(error);
    }
    if (parking->n[kind] > 0) {
        status = cost_before(store, kind, key, &before, error);
    }
    uint64_t cost = cost_of(key, value->size);
    /* What goes with runs that are there already must have room too. */
    uint64_t most = parking->bytes_max + (kind == VV_PARKED_RUN ? 0 : parking->bytes_max / 4);
    if (status == VV_OK && parking->bytes - before + cost > most) {
        status = vv_error_set(error, VV_IO,
                              "a part of Cassandra is away, and as much is parked for it as "
                              "cassandra.parked_max allows");
    }
    if (status == VV_OK) {
        status = begin_state(store, kind, error);
    }
    if (status == VV_OK && before == 0) {
        status = count(store, kind, key, true, error);
    }
    if (status == VV_OK) {
        count_bytes(parking, cost, before);
        status =
            store->local->ops->put_meta(store->local, (uint8_t)(VV_LOCAL_PARKED + kind), key,
                                        (struct vv_str){(char *)value->data, value->size}, error);
    }
    return status;
}

enum vv_status vv_unpark(struct vv_cassandra *store, enum vv_parked_kind kind, struct vv_str key,
                         struct vv_error *error)
{
    uint64_t before;
    enum vv_status status = cost_before(store, kind, key, &before, error);
    if (status != VV_OK || before == 0) {
        return status;
    }
    status =
        store->local->ops->remove_meta(store->local, (uint8_t)(VV_LOCAL_PARKED + kind), key, error);
    if (status == VV_OK) {
        count_bytes(&store->parking, 0, before);
        status = count(store, kind, key, false, error);
    }
    return status == VV_OK ? end_state(store, error) : status;
}

enum vv_status vv_parked_scan(struct vv_cassandra *store, enum vv_parked_kind kind,
                              struct vv_str prefix, vv_meta_visit visit, void *context,
                              struct vv_error *error)
{
    return store->local->ops->scan_meta(store->local, (uint8_t)(VV_LOCAL_PARKED + kind), prefix,
                                        visit, context, error);
}

/* ---- loading ---- */

struct loading {
    struct vv_cassandra *store;
    enum vv_parked_kind kind;
    struct vv_error *error;
};

static enum vv_status load_record(void *context, struct vv_str key, struct vv_str value)
{
    struct loading *loading = context;
    struct vv_parking *parking = &loading->store->parking;
    enum vv_parked_kind kind = loading->kind;
    bool is_told = kind == VV_PARKED_TOLD;
    if ((is_told ? key.size < VV_PARKED_TOLD_HEAD : key.size != key_sizes[kind]) ||
        value.size == 0 || value.data[0] != VERSION) {
        return vv_error_set(loading->error, VV_CORRUPT,
                            "what was parked in the local store is damaged");
    }
    enum vv_status status = count(loading->store, kind, key, true, loading->error);
    count_bytes(parking, cost_of(key, value.size), 0);
    return status == VV_OK && kind == VV_PARKED_PLAN ? vv_parking_load_plan(parking, key, value)
                                                     : status;
}

static enum vv_status load_state(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_parking *parking = &store->parking;
    struct vv_buffer value = {0};
    enum vv_status status =
        store->local->ops->get_meta(store->local, VV_LOCAL_PARKED_STATE, STATE_KEY, &value, error);
    pthread_mutex_lock(&parking->lock);
    if (status == VV_OK && value.size == STATE_SIZE) {
        parking->since_ns = vv_key_get_i64(value.data + 1);
        parking->beat_ns = vv_key_get_i64(value.data + 9);
    }
    pthread_mutex_unlock(&parking->lock);
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}

static void forget_all(struct vv_parking *parking)
{
    pthread_mutex_lock(&parking->lock);
    memset(parking->partitions, 0, parking->capacity * sizeof *parking->partitions);
    memset(parking->n, 0, sizeof parking->n);
    parking->n_partitions = 0;
    parking->n_tenants = 0;
    parking->n_tentative = 0;
    parking->bytes = 0;
    parking->since_ns = 0;
    pthread_mutex_unlock(&parking->lock);
    atomic_store(&parking->n_runs, 0);
    atomic_store(&parking->n_buckets, 0);
    atomic_store(&parking->n_seen, 0);
    parking->deliver_at_ns = 0;
}

enum vv_status vv_parking_load(struct vv_cassandra *store, struct vv_error *error)
{
    atomic_store(&store->parking.is_loading, true);
    forget_all(&store->parking);
    enum vv_status status = load_state(store, error);
    for (int kind = 0; kind < VV_PARKED_KINDS && status == VV_OK; kind++) {
        struct loading loading = {store, (enum vv_parked_kind)kind, error};
        status =
            vv_parked_scan(store, loading.kind, (struct vv_str){0}, load_record, &loading, error);
    }
    atomic_store(&store->parking.is_loading, status != VV_OK);
    return status;
}

/* ---- asking ---- */

static bool counts(struct vv_cassandra *store, uint32_t tenant)
{
    struct vv_parking *parking = &store->parking;
    uint64_t name = hash_of_name(vv_space_tenant_name(vv_cassandra_tenant(store, tenant)));
    pthread_mutex_lock(&parking->lock);
    const struct vv_parked_tenant *own = tenant_of(parking, tenant, false);
    const struct vv_parked_tenant *told = tenant_of(parking, name, false);
    bool has = (own && own->n > 0) || (told && told->n > 0);
    pthread_mutex_unlock(&parking->lock);
    return has;
}

/* Its late points are its own, too. */
bool vv_shared_has_parked(struct vv_store *base, uint32_t tenant)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_parking *parking = &store->parking;
    if (atomic_load(&parking->is_loading)) {
        return true;
    }
    if (atomic_load(&parking->n_seen) == 0) {
        return false;
    }
    uint32_t late;
    return counts(store, tenant) ||
           (vv_cassandra_late_space(store, tenant, &late) && counts(store, late));
}

bool vv_parking_has_partition(struct vv_parking *parking, const struct vv_partition *partition)
{
    uint8_t key[VV_KEY_PARTITION_SIZE];
    if (atomic_load(&parking->is_loading)) {
        return true;
    }
    if (atomic_load(&parking->n_runs) == 0) {
        return false;
    }
    vv_key_from_partition(partition, key);
    pthread_mutex_lock(&parking->lock);
    bool has = parking->partitions[place_of(parking, key)].n > 0;
    pthread_mutex_unlock(&parking->lock);
    return has;
}

/* Takes the statement. */
static uint64_t set_of(struct vv_cassandra *store, struct vvcql_statement *take_statement,
                       enum vv_status status)
{
    uint64_t set = status == VV_OK ? vvcql_statement_replicas(store->session, take_statement) : 0;
    vvcql_statement_destroy(take_statement);
    return set;
}

uint64_t vv_cassandra_partition_set(struct vv_cassandra *store,
                                    const struct vv_partition *partition)
{
    bool is_rows = vv_cassandra_written_layout(store, partition->tenant) == VV_LAYOUT_ROWS;
    struct vv_tenant_classes classes = vv_cassandra_classes_of(store, partition->tenant);
    struct vvcql_statement *statement =
        vvcql_statement_prepared(is_rows ? store->classes[classes.classes[0]].put_value[VV_FLOAT64]
                                         : vv_cassandra_runs_of(store, partition)->put);
    enum vv_status status =
        is_rows ? vv_cassandra_add_rows_partition(store, statement, partition, NULL)
                : vv_cassandra_add_runs_partition(store, statement, partition, NULL);
    return set_of(store, statement, status);
}

uint64_t vv_cassandra_blocks_set(struct vv_cassandra *store, const struct vv_partition *partition)
{
    struct vv_tenant_classes classes = vv_cassandra_classes_of(store, partition->tenant);
    struct vvcql_statement *statement =
        vvcql_statement_prepared(store->classes[classes.classes[0]].blocks[0].put);
    return set_of(store, statement, vv_cassandra_add_partition(store, statement, partition, NULL));
}

bool vv_park_is_away(struct vv_cassandra *store, const struct vv_partition *partition)
{
    return vv_dead_any(&store->dead) &&
           vv_dead_is(&store->dead, vv_cassandra_partition_set(store, partition), VV_DEAD_BY_WRITE);
}

bool vv_park_wants_run(struct vv_cassandra *store, const struct vv_partition *partition)
{
    return vv_cassandra_is_tentative(store, partition) || vv_parked_below(store, partition) ||
           vv_park_is_away(store, partition);
}

static enum vv_status find_any(void *context, struct vv_str key, struct vv_str value)
{
    (void)key;
    (void)value;
    *(bool *)context = true;
    return VV_DONE;
}

enum vv_status vv_parked_has_runs(struct vv_cassandra *store, const uint8_t *key, size_t size,
                                  struct vv_error *error)
{
    bool found = false;
    enum vv_status status = vv_parked_scan(
        store, VV_PARKED_RUN, (struct vv_str){(const char *)key, size}, find_any, &found, error);
    return status == VV_OK && !found ? VV_NOT_FOUND : status;
}

enum vv_status vv_parked_has_span(struct vv_cassandra *store, const struct vv_span_key *span,
                                  struct vv_error *error)
{
    uint8_t key[VV_KEY_SPAN_SIZE];
    if (!vv_parking_has_partition(&store->parking, &span->partition)) {
        return VV_NOT_FOUND;
    }
    vv_key_from_span(span, key);
    return vv_parked_has_runs(store, key, sizeof key, error);
}

size_t vv_parked_places(struct vv_cassandra *store, uint32_t tenant, uint32_t *places_out,
                        size_t max)
{
    struct vv_parking *parking = &store->parking;
    struct vv_str owner = vv_cassandra_tenant(store, tenant);
    size_t n = 0;
    pthread_mutex_lock(&parking->lock);
    for (size_t i = 0; i < parking->n_tenants; i++) {
        uint64_t whose = parking->tenants[i].whose;
        if (whose > UINT32_MAX || parking->tenants[i].n == 0) {
            continue; /* what is told, or nothing any more */
        }
        struct vv_str name = vv_cassandra_tenant(store, (uint32_t)whose);
        bool is_place =
            (vv_space_place_name(name).size == name.size || vv_space_is_late_name(name)) &&
            vv_str_equal(vv_space_tenant_name(name), owner);
        vv_invariant(!is_place || n < max);
        if (is_place) {
            places_out[n++] = (uint32_t)whose;
        }
    }
    pthread_mutex_unlock(&parking->lock);
    return n;
}

bool vv_parking_has_any(struct vv_parking *parking)
{
    return n_all(parking) > 0;
}

void vv_shared_parked(struct vv_store *base, struct vv_parked *parked_out)
{
    struct vv_parking *parking = &vv_cassandra_of(base)->parking;
    pthread_mutex_lock(&parking->lock);
    *parked_out = (struct vv_parked){n_all(parking), parking->bytes, parking->since_ns,
                                     parking->n[VV_PARKED_TOLD]};
    pthread_mutex_unlock(&parking->lock);
}
