/* SPDX-License-Identifier: Apache-2.0 */
/* The store's life: session, schema, statements; failures and recovery; the write clock. */
#include "store/cassandra/hint.h"
#include "store/cassandra/rows.h"

#include "store/keys.h"

#include <stdio.h>
#include <stdlib.h>

#define CLOCK_REACH_US 60000000 /* how far ahead the write clock is kept */
#define GONE_NS        (30 * VV_SECOND)

/* ---- statements ---- */

const struct vvcql_prepared *vv_cassandra_prepare_in(struct vv_cassandra *store,
                                                     const char *keyspace, const char *text,
                                                     const char *table)
{
    char whole[640];
    const char *at = strchr(text, '@');
    int size = snprintf(whole, sizeof whole, "%.*s%s.%s%s", (int)(at - text), text, keyspace, table,
                        at + 1);
    vv_invariant(size > 0 && (size_t)size < sizeof whole);
    return vvcql_prepare(store->session, whole);
}

const struct vvcql_prepared *vv_cassandra_prepare(struct vv_cassandra *store, const char *text,
                                                  const char *table)
{
    return vv_cassandra_prepare_in(store, store->keyspace, text, table);
}

static bool prepare_rows(struct vv_cassandra *store, struct vv_class *class, const char *table)
{
    class->put_value[VV_FLOAT64] = vv_cassandra_prepare(
        store,
        "INSERT INTO @ (" VV_ROWS_COLUMNS ", event_time, nanos, metric, value) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?",
        table);
    class->put_value[VV_INT64] = vv_cassandra_prepare(
        store,
        "INSERT INTO @ (" VV_ROWS_COLUMNS ", event_time, nanos, metric, value_int) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?",
        table);
    class->remove_value = vv_cassandra_prepare(store,
                                               "DELETE FROM @ USING TIMESTAMP ? WHERE " VV_ROWS_ARE
                                               " AND event_time = ? AND nanos = ? AND metric = ?",
                                               table);
    class->remove_range = vv_cassandra_prepare(store,
                                               "DELETE FROM @ USING TIMESTAMP ? WHERE " VV_ROWS_ARE
                                               " AND event_time >= ? AND event_time <= ?",
                                               table);
    class->remove_parts = vv_cassandra_prepare(store,
                                               "DELETE FROM @ USING TIMESTAMP ? WHERE " VV_ROWS_ARE
                                               " AND event_time = ? AND nanos >= ? AND nanos <= ?",
                                               table);
    return class->put_value[VV_FLOAT64] && class->put_value[VV_INT64] && class->remove_value &&
           class->remove_range && class->remove_parts;
}

static bool prepare_blocks(struct vv_cassandra *store, const char *table,
                           struct vv_block_statements *out)
{
    out->put = vv_cassandra_prepare(
        store,
        "INSERT INTO @ (" VV_PARTITION_COLUMNS ", measurement, span, seal, part, parts, metrics, "
        "data, tail) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?",
        table);
    out->newest_seal = vv_cassandra_prepare(store,
                                            "SELECT seal FROM @ WHERE " VV_PARTITION_IS
                                            " AND measurement = ? AND span = ? LIMIT 1",
                                            table);
    out->drop_seals = vv_cassandra_prepare(store,
                                           "DELETE FROM @ USING TIMESTAMP ? WHERE " VV_PARTITION_IS
                                           " AND measurement = ? AND span = ? AND seal < ?",
                                           table);
    return out->put && out->newest_seal && out->drop_seals;
}

static bool prepare_class(struct vv_cassandra *store, struct vv_class *class)
{
    const struct vv_class_tables tables = vv_schema_class_tables(class->retention_ns);
    bool all = prepare_rows(store, class, tables.rows);
    for (uint32_t i = 0; i < vv_cassandra_tables(store) && all; i++) {
        all = prepare_blocks(store, tables.blocks[i], &class->blocks[i]) &&
              prepare_blocks(store, tables.late[i], &class->late[i]);
    }
    return all;
}

#define PUT_RUN(columns)                                                                           \
    "INSERT INTO @ (" columns ", measurement, span, run, part, metrics, data, written) "           \
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?"
#define READ_COVER(partition)                                                                      \
    "SELECT data FROM @ WHERE " partition                                                          \
    " AND measurement = ? AND span = ? AND run = ? AND part = ?"

static bool prepare_all(struct vv_cassandra *store)
{
    store->runs = (struct vv_run_statements){
        .put = vv_cassandra_prepare(store, PUT_RUN(VV_PARTITION_COLUMNS), "runs"),
        .read_cover = vv_cassandra_prepare(store, READ_COVER(VV_PARTITION_IS), "runs"),
    };
    store->shared_runs = (struct vv_run_statements){
        .put = vv_cassandra_prepare(store, PUT_RUN(VV_SHARED_COLUMNS), "shared_runs"),
        .read_cover = vv_cassandra_prepare(store, READ_COVER(VV_SHARED_IS), "shared_runs"),
    };
    store->put_bucket =
        vv_cassandra_prepare(store,
                             "INSERT INTO @ (tenant, source, period, bucket, bucket_s) "
                             "VALUES (?, ?, ?, ?, ?) USING TTL ? AND TIMESTAMP ?",
                             "buckets");
    bool all = store->runs.put && store->runs.read_cover && store->shared_runs.put &&
               store->shared_runs.read_cover && store->put_bucket && vv_regions_prepare(store) &&
               vv_shared_prepare(store);
    for (size_t i = 0; i < store->n_classes && all; i++) {
        all = prepare_class(store, &store->classes[i]);
    }
    return all;
}

/* ---- failures ---- */

enum vv_status vv_cassandra_check(struct vv_cassandra *store, struct vv_error *error)
{
    atomic_store(&store->writer, (uintptr_t)pthread_self());
    return atomic_load(&store->failed)
               ? vv_error_set(error, VV_IO, "a write to Cassandra failed before")
               : VV_OK;
}

enum vv_status vv_cassandra_failed(struct vv_cassandra *store, enum vv_status status)
{
    if (status == VV_IO || status == VV_FULL) {
        atomic_store(&store->failed, true);
    }
    return status;
}

static enum vv_status check_schema(struct vv_cassandra *store, struct vv_error *error)
{
    enum vv_status status = store->schema ? vv_schema_verify(store->session, store->schema, error)
                                          : vv_schema_check(store->session, store->keyspace, error);
    store->has_checked = store->has_checked || status == VV_OK;
    return status;
}

/* Once a start, so that a node whose row was taken away learns of it. */
static enum vv_status join(struct vv_cassandra *store, struct vv_error *error)
{
    enum vv_status status = store->has_joined ? VV_OK : vv_shared_join(store, error);
    store->has_joined = status == VV_OK;
    return status;
}

/* What was looked at since the start may be away now, when only other parts of Cassandra answer. */
static enum vv_status look_at_cassandra(struct vv_cassandra *store, struct vv_error *error)
{
    enum vv_status status = check_schema(store, error);
    if (vv_dead_any(&store->dead) || (status == VV_IO && store->has_checked)) {
        enum vv_status probed = vv_cassandra_probe(store, error);
        bool is_partial = probed == VV_OK && store->has_checked && status == VV_IO;
        status = is_partial || status == VV_OK ? probed : status;
    }
    return status;
}

static enum vv_status recover(struct vv_store *base, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    vv_shared_forget_told(&store->shared);
    if (!atomic_load(&store->failed)) {
        return VV_OK;
    }
    (void)!vv_flight_wait(&store->flight, NULL);
    vv_flight_clear(&store->flight);
    vv_cassandra_forget_batches(store);
    vv_cassandra_forget_changes(store);
    vv_shared_forget(store);
    vv_noted_deinit(&store->noted);
    enum vv_status status = store->local->ops->recover(store->local, error);
    if (status == VV_OK) {
        status = vv_cassandra_load_classes(store, error);
    }
    if (status == VV_OK) {
        status = vv_parking_load(store, error);
    }
    if (status == VV_OK) {
        status = look_at_cassandra(store, error);
    }
    if (status == VV_OK) {
        status = join(store, error);
    }
    if (status == VV_OK) {
        atomic_store(&store->failed, false);
        atomic_fetch_add(&store->recoveries, 1);
    }
    return status == VV_OK || status == VV_FULL ? status : VV_IO;
}

/* ---- the write clock ---- */

static enum vv_status load_clock(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_buffer value = {0};
    struct vv_str key = VV_STR_LITERAL("us");
    enum vv_status status =
        store->local->ops->get_meta(store->local, VV_LOCAL_CLOCK, key, &value, error);
    if (status == VV_OK && value.size == 8) {
        store->write_us = vv_key_get_u64(value.data);
        store->write_us_bound = store->write_us;
    }
    if (status == VV_OK || status == VV_NOT_FOUND) {
        key = (struct vv_str)VV_STR_LITERAL("slot");
        vv_buffer_clear(&value);
        status = store->local->ops->get_meta(store->local, VV_LOCAL_CLOCK, key, &value, error);
        if (status == VV_OK && value.size == 8) {
            store->shared.change_slot = (int64_t)vv_key_get_u64(value.data);
        }
    }
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}

/* Keeps how far the clock may go, before it goes there. */
static enum vv_status extend_clock(struct vv_cassandra *store, uint64_t us, struct vv_error *error)
{
    uint8_t value[8];
    struct vv_store *local = store->local;
    vv_key_put_u64(value, us + CLOCK_REACH_US);
    enum vv_status status =
        local->ops->put_meta(local, VV_LOCAL_CLOCK, (struct vv_str)VV_STR_LITERAL("us"),
                             (struct vv_str){(char *)value, sizeof value}, error);
    if (status == VV_OK) {
        status = local->ops->confirm(local, error);
    }
    if (status == VV_OK) {
        store->write_us_bound = us + CLOCK_REACH_US;
    }
    return vv_cassandra_failed(store, status);
}

enum vv_status vv_cassandra_write_us(struct vv_cassandra *store, int64_t *us_out,
                                     struct vv_error *error)
{
    int64_t now = store->clock->wall_ns(store->clock);
    uint64_t us = now > 0 ? (uint64_t)now / 1000 : 0;
    us = us > store->write_us ? us : store->write_us + 1;
    enum vv_status status = us < store->write_us_bound ? VV_OK : extend_clock(store, us, error);
    if (status == VV_OK) {
        store->write_us = us;
        *us_out = (int64_t)us;
    }
    return status;
}

/* ---- open, close ---- */

static void close_store(struct vv_store *base)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    if (store->session) {
        (void)!vv_flight_wait(&store->flight, NULL);
        vv_cassandra_forget_batches(store);
        vvcql_session_close(store->session);
        vv_flight_deinit(&store->flight);
    }
    vv_cassandra_forget_changes(store);
    vv_purge_deinit(store);
    vv_shared_deinit(store);
    vv_regions_deinit(store);
    if (store->local) {
        store->local->ops->close(store->local);
    }
    vv_parking_deinit(&store->parking);
    vv_dead_deinit(&store->dead);
    pthread_mutex_destroy(&store->lock);
    free(store->tenants);
    free(store->turns);
    free(store->rows_tenants);
    vv_noted_deinit(&store->noted);
    free(store);
}

/* The hard range of a partition of rows. */
#define ROWS_VALUES_MAX 100000

static uint64_t values_max(struct vv_store *base, uint32_t tenant)
{
    return vv_cassandra_written_layout(vv_cassandra_of(base), tenant) == VV_LAYOUT_ROWS
               ? ROWS_VALUES_MAX
               : 0;
}

bool vv_cassandra_has_values(struct vv_store *base, uint32_t tenant)
{
    return vv_cassandra_classes_of(vv_cassandra_of(base), tenant).layouts & VV_LAYOUT_ROWS;
}

static const struct vv_store_ops ops = {
    .close = close_store,
    .put_run = vv_cassandra_put_run,
    .put_mark = vv_cassandra_put_mark,
    .put_meta = vv_cassandra_put_meta,
    .remove_meta = vv_cassandra_remove_meta,
    .confirm = vv_cassandra_confirm,
    .put_blocks = vv_cassandra_put_blocks,
    .remove_runs = vv_cassandra_remove_runs,
    .remove_values = vv_cassandra_remove_values,
    .retire_marks = vv_cassandra_retire_marks,
    .set_retention = vv_cassandra_set_retention,
    .expire = vv_cassandra_expire,
    .recover = recover,
    .read = vv_cassandra_read,
    .begin_read = vv_cassandra_begin_read,
    .visit_read = vv_cassandra_visit_read,
    .end_read = vv_cassandra_end_read,
    .nearest = vv_cassandra_nearest,
    .scan_marks = vv_cassandra_scan_marks,
    .get_meta = vv_cassandra_get_meta,
    .scan_meta = vv_cassandra_scan_meta,
    .read_figures = vv_cassandra_read_figures,
    .write_metrics = vv_cassandra_write_metrics,
    .values_max = values_max,
    .has_values = vv_cassandra_has_values,
    .shared = &vv_cassandra_shared_ops,
};

static struct vv_cassandra *create(const struct vv_cassandra_options *options,
                                   struct vv_store *take_local, const struct vv_store_names *names,
                                   struct vv_clock *clock)
{
    struct vv_cassandra *store = calloc(1, sizeof *store);
    char *rows_tenants = vv_str_duplicate(vv_str_of(options->rows_tenants));
    if (!store || !rows_tenants) {
        free(store);
        free(rows_tenants);
        take_local->ops->close(take_local);
        return NULL;
    }
    store->base.ops = &ops;
    store->local = take_local;
    store->names = *names;
    store->clock = clock;
    store->schema = options->schema;
    store->slack_ns = options->slack_ns;
    store->lead_ns = options->lead_ns;
    store->gone_ns = options->gone_ns > 0 ? options->gone_ns : GONE_NS;
    store->purge_every_ns = options->purge_every_ns;
    store->purges = options->purge_every_ns > 0;
    store->fold_ns = options->fold_ns;
    store->rows_tenants = rows_tenants;
    vv_regions_init(store, options);
    memcpy(store->keyspace, store->views[0].keyspace, sizeof store->keyspace);
    vv_invariant(options->n_classes <= VV_CASSANDRA_CLASSES_MAX);
    for (size_t i = 0; i < options->n_classes; i++) {
        store->classes[store->n_classes++].retention_ns = options->classes_ns[i];
    }
    store->n_classes++; /* for ever */
    vv_invariant(pthread_mutex_init(&store->lock, NULL) == 0);
    vv_dead_init(&store->dead, clock, options->parked_max == 0);
    bool has_parking = vv_parking_init(&store->parking, options->parked_max);
    if (!vv_shared_init(store, store->views[0].name) || !has_parking) {
        close_store(&store->base);
        return NULL;
    }
    return store;
}

static enum vv_status connect(struct vv_cassandra *store,
                              const struct vv_cassandra_options *options, struct vv_error *error)
{
    struct vvcql_error cql_error = {0};
    enum vvcql_status status =
        vvcql_session_open(&options->cql, false, &store->session, &cql_error);
    bool is_away = status == VVCQL_UNREACHABLE;
    if (is_away) { /* it is tried again, and recover() looks at the schema then */
        atomic_store(&store->failed, true);
        status = vvcql_session_open(&options->cql, true, &store->session, &cql_error);
    }
    if (status != VVCQL_OK) {
        store->session = NULL;
        enum vv_status failure = vv_cassandra_status(&cql_error, "connecting", error);
        const char *hint = vv_cassandra_hint(&cql_error);
        if (hint && error) {
            size_t used = strlen(error->message);
            snprintf(error->message + used, sizeof error->message - used, "; %s", hint);
        }
        return failure;
    }
    vv_flight_init(&store->flight, store->session, &store->dead, options->requests_max,
                   options->bytes_max);
    enum vv_status checked = is_away ? VV_OK : check_schema(store, error);
    if (checked == VV_IO) { /* too few of its hosts answer: it is away as well */
        atomic_store(&store->failed, true);
        checked = VV_OK;
    }
    return checked;
}

enum vv_status vv_store_cassandra_open(const struct vv_cassandra_options *options,
                                       struct vv_store *take_local,
                                       const struct vv_store_names *names, struct vv_clock *clock,
                                       struct vv_store **store_out, struct vv_error *error)
{
    struct vv_cassandra *store = create(options, take_local, names, clock);
    if (!store) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while opening the store");
    }
    enum vv_status status = connect(store, options, error);
    if (status == VV_OK && !prepare_all(store)) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory while opening the store");
    }
    if (status == VV_OK) {
        status = vv_cassandra_load_classes(store, error);
    }
    if (status == VV_OK) {
        status = load_clock(store, error);
    }
    if (status == VV_OK) {
        status = vv_parking_load(store, error);
    }
    if (status == VV_OK) {
        status = vv_shared_load_node(store, error);
    }
    if (status == VV_OK) {
        status = vv_regions_check_order(store, error);
    }
    if (status == VV_OK && !atomic_load(&store->failed)) {
        status = join(store, error);
        if (status == VV_IO) { /* too few hosts answer: recover() comes to it again */
            atomic_store(&store->failed, true);
            status = VV_OK;
        }
    }
    if (status != VV_OK) {
        close_store(&store->base);
        return status;
    }
    if (!atomic_load(&store->failed)) {
        vv_regions_look_at_all(store);
    }
    vv_shared_divide(store);
    *store_out = &store->base;
    return VV_OK;
}
