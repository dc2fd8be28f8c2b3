/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs, marks and metadata on their way. Runs of one partition that come one after the other go
 * together, in an unlogged batch. Measured on one node, 700 bytes each: alone they cost Cassandra
 * 62 us of CPU, 16 to 32 at a time 18 to 26. It warns of large batches of several partitions only.
 */
#include "store/cassandra/rows.h"

#include "store/keys.h"
#include "tier/cohort.h"

#include <stdlib.h>

#define BATCH_BYTES_MAX  4096 /* of a source's own partition */
#define SHARED_BYTES_MAX (16u << 10)
#define STALE_STEPS_MAX  8

/* ---- runs ---- */

/* What says no more than that a unit is stale: that has no columns. */
static bool says_stale(const struct vv_cassandra *store, const struct vv_piece *run,
                       const struct vv_buffer *metrics)
{
    return metrics->size == 0 && vv_cassandra_is_tier(store, run->key.partition.tenant);
}

/* A copy of a run that waits to be sealed replaces the run, but not what its own node may write
 * there later: its timestamp stays near the run's. What makes a unit stale has one key for all
 * times (seal/stale.c), so there the next version may be near, too: some us are enough for a copy
 * to replace the one before. Where they are not, that which expires later wins, cell by cell, which
 * is right where both have the same bytes, as these have. */
static int64_t copy_age(const struct vv_cassandra *store, bool is_stale_run, int64_t age_us)
{
    int64_t step_us = is_stale_run ? store->slack_ns / VV_MICROSECOND / 8 : 1024;
    int64_t steps = age_us > 0 && step_us > 0 ? age_us / step_us : 0;
    return is_stale_run && steps > STALE_STEPS_MAX ? STALE_STEPS_MAX : steps;
}

static enum vv_status fill_run(struct vv_cassandra *store, const struct vv_piece *run, bool is_copy,
                               struct vvcql_statement *statement, struct vv_error *error)
{
    const struct vv_partition *partition = &run->key.partition;
    struct vv_buffer metrics = {0};
    int64_t now = store->clock->wall_ns(store->clock);
    int64_t us = run->version;
    int64_t version;
    enum vv_status status = vv_cassandra_add_runs_partition(store, statement, partition, error);
    if (status == VV_OK) {
        status = vv_cassandra_metrics(store, run->bytes, &metrics);
    }
    if (status == VV_OK && (is_copy || us == 0)) {
        status = vv_cassandra_write_us(store, &us, error);
    }
    if (status == VV_OK) {
        version = run->version ? run->version : us;
        vv_cassandra_add_str(statement, vv_cassandra_measurement(store, run->key.measurement));
        vvcql_add_timestamp(statement, vv_cassandra_ms(run->key.span_start));
        vvcql_add_bigint(statement, vv_cassandra_from_stamp(vv_cassandra_own(store, run->run)));
        vvcql_add_bigint(statement, run->part);
        vvcql_add_bytes(statement, metrics.data ? metrics.data : (const uint8_t *)"", metrics.size);
        vv_cassandra_add_str(statement, run->bytes);
        vvcql_add_bigint(statement, version);
        vvcql_add_int(statement, vv_cassandra_runs_ttl(store, &run->key, now));
        vvcql_add_bigint(statement,
                         version + copy_age(store, says_stale(store, run, &metrics), us - version));
    }
    vv_buffer_deinit(&metrics);
    return status;
}

enum vv_status vv_cassandra_run_statement(struct vv_cassandra *store, const struct vv_piece *run,
                                          bool is_copy, struct vvcql_statement **statement_out,
                                          struct vv_error *error)
{
    struct vvcql_statement *statement =
        vvcql_statement_prepared(vv_cassandra_runs_of(store, &run->key.partition)->put);
    enum vv_status status = statement
                                ? fill_run(store, run, is_copy, statement, error)
                                : vv_error_set(error, VV_NO_MEMORY, "out of memory while writing");
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
    vvcql_set_idempotent(statement, true);
    *statement_out = statement;
    return VV_OK;
}

static enum vv_status gather_run(struct vv_cassandra *store, const struct vv_partition *partition,
                                 struct vvcql_statement *take_statement, struct vv_error *error)
{
    struct vv_partition shared = *partition;
    uint8_t share_bits = vv_split_share_bits(partition->split);
    uint8_t uuid[16];
    if (share_bits == 0) {
        return vv_cassandra_gather(store, partition, BATCH_BYTES_MAX, take_statement, error);
    }
    enum vv_status status =
        vv_cassandra_source_id(store, partition->tenant, partition->source, uuid, error);
    if (status != VV_OK) {
        vvcql_statement_destroy(take_statement);
        return status;
    }
    shared.source = (uint32_t)vv_cassandra_share_of(uuid, share_bits);
    return vv_cassandra_gather(store, &shared, SHARED_BYTES_MAX, take_statement, error);
}

static enum vv_status put_whole(struct vv_cassandra *store, const struct vv_piece *run,
                                struct vv_error *error)
{
    struct vvcql_statement *statement;
    enum vv_status status = vv_cassandra_run_statement(store, run, true, &statement, error);
    if (status != VV_OK) {
        return status;
    }
    if (vvcql_statement_size(statement) <= BATCH_BYTES_MAX) {
        return gather_run(store, &run->key.partition, statement, error);
    }
    return vv_cassandra_failed(store, vv_flight_gather(&store->flight, statement, 1, error));
}

/* What makes a cohort's unit stale is put now, too, as one more part, and its mark (ledger.c): of
 * some of its sources all may have landed, and be told of by this run alone. What is parked comes
 * behind what the others wait for. Where it can't be put it is said beside. */
static enum vv_status park(struct vv_cassandra *store, const struct vv_piece *run,
                           struct vv_error *error)
{
    struct vv_piece now = *run;
    enum vv_status status = vv_park_run(store, run, error);
    if (status != VV_OK || !vv_cohort_is(run->key.partition.source)) {
        return status;
    }
    now.part++;
    bool is_there = vv_park_puts_now(store, &run->key.partition) || vv_park_doubts(store, &now);
    return is_there ? put_whole(store, &now, error) : VV_OK;
}

/* Whether it is parked. What others see already comes behind nothing: they would lose it. */
static bool must_wait(struct vv_cassandra *store, const struct vv_partition *partition,
                      bool is_seen)
{
    return is_seen
               ? vv_cassandra_is_tentative(store, partition) || vv_park_is_away(store, partition)
               : vv_park_wants_run(store, partition);
}

static enum vv_status put_run(struct vv_cassandra *store, const struct vv_piece *run, bool is_seen,
                              struct vv_error *error)
{
    uint32_t tenant = run->key.partition.tenant;
    enum vv_status status = vv_cassandra_check(store, error);
    if (status == VV_OK) {
        status = vv_key_check(&run->key, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_note_layout(store, tenant, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_note_bucket(store, &run->key.partition, error);
    }
    if (status == VV_OK) { /* its names are known before it is */
        status = vv_shared_send_told(store, error);
    }
    if (status == VV_OK && must_wait(store, &run->key.partition, is_seen)) {
        return vv_cassandra_failed(store, park(store, run, error));
    }
    if (status != VV_OK) {
        return status;
    }
    return vv_cassandra_written_layout(store, tenant) == VV_LAYOUT_ROWS
               ? vv_cassandra_put_rows(store, run, error)
               : put_whole(store, run, error);
}

enum vv_status vv_cassandra_put_run(struct vv_store *base, const struct vv_piece *run,
                                    struct vv_error *error)
{
    return put_run(vv_cassandra_of(base), run, false, error);
}

enum vv_status vv_cassandra_put_run_again(struct vv_cassandra *store, const struct vv_piece *run,
                                          struct vv_error *error)
{
    return put_run(store, run, true, error);
}

enum vv_status vv_cassandra_see_own(struct vv_cassandra *store, struct vv_error *error)
{
    if (atomic_load(&store->writer) != (uintptr_t)pthread_self() || atomic_load(&store->failed)) {
        return VV_OK;
    }
    enum vv_status status = vv_cassandra_send_batches(store, error);
    if (status == VV_OK) {
        status = vv_flight_wait(&store->flight, error);
    }
    return vv_cassandra_failed(store, status);
}

/* ---- changes of the local store ---- */

void vv_cassandra_forget_changes(struct vv_cassandra *store)
{
    pthread_mutex_lock(&store->lock);
    struct vv_local_change *change = store->changes_first;
    store->changes_first = NULL;
    store->changes_last = NULL;
    pthread_mutex_unlock(&store->lock);
    while (change) {
        struct vv_local_change *next = change->next;
        free(change);
        change = next;
    }
}

static enum vv_status defer(struct vv_cassandra *store, bool is_removal, uint8_t kind,
                            struct vv_str key, struct vv_str value, struct vv_error *error)
{
    enum vv_status status = vv_cassandra_check(store, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_local_change *change = malloc(sizeof *change + key.size + value.size);
    if (!change) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing");
    }
    *change = (struct vv_local_change){
        .is_removal = is_removal, .kind = kind, .key_size = key.size, .value_size = value.size};
    if (key.size > 0) {
        memcpy(change->bytes, key.data, key.size);
    }
    if (value.size > 0) {
        memcpy(change->bytes + key.size, value.data, value.size);
    }
    pthread_mutex_lock(&store->lock);
    if (store->changes_last) {
        store->changes_last->next = change;
    } else {
        store->changes_first = change;
    }
    store->changes_last = change;
    pthread_mutex_unlock(&store->lock);
    return VV_OK;
}

enum vv_status vv_cassandra_put_meta(struct vv_store *base, uint8_t kind, struct vv_str key,
                                     struct vv_str value, struct vv_error *error)
{
    return defer(vv_cassandra_of(base), false, kind, key, value, error);
}

enum vv_status vv_cassandra_remove_meta(struct vv_store *base, uint8_t kind, struct vv_str key,
                                        struct vv_error *error)
{
    return defer(vv_cassandra_of(base), true, kind, key, (struct vv_str){0}, error);
}

static enum vv_status apply_change(struct vv_cassandra *store, const struct vv_local_change *change,
                                   struct vv_error *error)
{
    struct vv_store *local = store->local;
    struct vv_str key = {change->bytes, change->key_size};
    struct vv_str value = {change->bytes + change->key_size, change->value_size};
    return change->is_removal ? local->ops->remove_meta(local, change->kind, key, error)
                              : local->ops->put_meta(local, change->kind, key, value, error);
}

/* They are in the local store before they leave the list, so that a reader finds them in one. */
static enum vv_status apply_changes(struct vv_cassandra *store, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (struct vv_local_change *change = store->changes_first; change && status == VV_OK;
         change = change->next) {
        status = apply_change(store, change, error);
    }
    if (status == VV_OK) {
        vv_cassandra_forget_changes(store);
    }
    return status;
}

enum vv_status vv_cassandra_settle(struct vv_cassandra *store, struct vv_error *error)
{
    enum vv_status status = vv_cassandra_send_batches(store, error);
    enum vv_status landed = vv_flight_wait(&store->flight, status == VV_OK ? error : NULL);
    status = status == VV_OK ? landed : status;
    if (status == VV_OK) {
        status = vv_shared_send_told(store, error);
    }
    if (status == VV_OK) {
        status = vv_ledger_send(store, error);
    }
    if (status == VV_OK) {
        status = apply_changes(store, error);
    }
    return vv_cassandra_failed(store, status);
}

enum vv_status vv_cassandra_confirm(struct vv_store *base, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = vv_cassandra_check(store, error);
    if (status == VV_OK) {
        status = vv_cassandra_settle(store, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_turn(store, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_failed(store, store->local->ops->confirm(store->local, error));
    }
    if (status == VV_OK) {
        vv_buffer_clear(&store->shared.told);
        store->shared.told_sent = 0;
    }
    return status;
}

/* ---- marks ---- */

/* Rows are not sealed. */
enum vv_status vv_cassandra_put_mark(struct vv_store *base, const struct vv_mark *mark,
                                     struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = vv_cassandra_check(store, error);
    if (status != VV_OK ||
        (!mark->is_of_block &&
         vv_cassandra_written_layout(store, mark->key.partition.tenant) == VV_LAYOUT_ROWS)) {
        return status;
    }
    status = vv_key_check(&mark->key, error);
    return status == VV_OK ? vv_cassandra_failed(store, vv_ledger_put(store, mark, error)) : status;
}

enum vv_status vv_cassandra_retire_marks(struct vv_store *base, const struct vv_mark *marks,
                                         size_t n, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    enum vv_status status = vv_cassandra_check(store, error);
    if (status == VV_OK) {
        status = vv_ledger_send(store, error);
    }
    if (status == VV_OK) {
        status = vv_ledger_retire(store, marks, n, error);
    }
    return vv_cassandra_failed(store, status);
}
