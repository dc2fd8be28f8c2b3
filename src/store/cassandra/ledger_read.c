/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the ledger: which slots of a shard have changed since they were read, and then those,
 * into the local store. A shard is read when this node begins to own it, and from time to time
 * while other nodes live. Some shards and slots a call, so that nothing else waits for long.
 */
#include "model/space.h"
#include "store/cassandra/cassandra.h"
#include "tier/cohort.h"

#include <stdlib.h>

#define READ_INTERVAL_NS (5 * VV_SECOND)
#define SHARDS_AT_ONCE   32
#define SLOTS_AT_ONCE    32
#define PAGE             5000

/* A node's part of a slot that has changed. */
struct changed {
    uint8_t shard;
    struct vv_slot_seen slot;
};

struct reading {
    struct vv_cassandra *store;
    struct changed *changed;
    size_t n;
    struct vv_error *error;
};

/* ---- marks of a slot ---- */

/* A cohort has units in tiers that have cohorts, and what is in doubt is never marked. */
static bool is_sound(const struct vv_cassandra *store, const struct vv_partition *partition)
{
    enum vv_space tier;
    uint32_t source = partition->source;
    return !vv_cohort_is(source) ||
           (source != VV_COHORT_DOUBTS &&
            vv_space_of_name(vv_cassandra_tenant(store, partition->tenant), &tier) &&
            vv_tier_has_cohorts(tier));
}

/* False when this node doesn't know one of its names yet. */
static bool find_names(const struct vv_cassandra *store, const struct vv_ledger_name *name,
                       struct vv_span_key *key)
{
    const struct vv_store_names *names = &store->names;
    void *context = names->context;
    return names->tenant_named(context, name->tenant, &key->partition.tenant) &&
           names->source_named(context, key->partition.tenant, name->source,
                               &key->partition.source) &&
           names->measurement_named(context, key->partition.tenant, name->measurement,
                                    &key->measurement);
}

enum vv_status vv_ledger_read_row(const struct vv_cassandra *store, const struct vvcql_result *row,
                                  struct vv_mark *mark_out, int64_t *put_us_out,
                                  struct vv_error *error)
{
    struct vv_mark mark = {0};
    struct vv_ledger_name name;
    int64_t retired = 0;
    struct vv_str newest = vv_cassandra_text(row, 1);
    if (newest.size == 0) { /* expired but for what was retired */
        return VV_DONE;
    }
    if (!vv_ledger_read_name(vv_cassandra_text(row, 0), &name) ||
        !vv_ledger_read_newest(newest, &mark, put_us_out)) {
        return vv_error_set(error, VV_CORRUPT, "a row of the ledger is not as Varve writes it");
    }
    if (vvcql_get_bigint(row, 2, &retired) && *put_us_out <= retired) {
        return VV_DONE;
    }
    mark.due_ns = name.due_ns;
    mark.key.partition.bucket_start = name.bucket_s * VV_SECOND;
    mark.key.partition.bucket_ns = name.bucket_length_s * VV_SECOND;
    mark.key.partition.split = name.split;
    mark.key.span_start = name.span_s * VV_SECOND;
    if (!find_names(store, &name, &mark.key)) {
        return VV_NOT_FOUND;
    }
    if (!is_sound(store, &mark.key.partition)) {
        return vv_error_set(error, VV_CORRUPT, "a row of the ledger is not as Varve writes it");
    }
    *mark_out = mark;
    return VV_OK;
}

/* VV_NOT_FOUND: it must be read again when more names are known. */
static enum vv_status read_mark(struct reading *reading, const struct changed *slot,
                                const struct vvcql_result *row)
{
    struct vv_mark mark;
    int64_t put;
    enum vv_status status = vv_ledger_read_row(reading->store, row, &mark, &put, reading->error);
    if (status != VV_OK) {
        return status == VV_DONE ? VV_OK : status;
    }
    return vv_ledger_note(reading->store, &mark, slot->slot.node, put, reading->error);
}

struct vvcql_statement *vv_ledger_slot_question(const struct vv_cassandra *store, uint8_t shard,
                                                int64_t slot_ms, uint32_t node)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_ledger);
    vv_ledger_add_part(store, statement, shard, slot_ms, node);
    vvcql_set_page_size(statement, PAGE);
    vvcql_set_idempotent(statement, true);
    return statement;
}

static struct vvcql_statement *slot_statement(const struct vv_cassandra *store,
                                              const struct changed *slot)
{
    return vv_ledger_slot_question(store, slot->shard, slot->slot.slot_ms, slot->slot.node);
}

struct vvcql_statement *vv_ledger_slots_question(const struct vv_cassandra *store, uint8_t shard)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.read_slots);
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, vv_ledger_part_of(shard));
    vvcql_add_int(statement, shard);
    vvcql_set_idempotent(statement, true);
    return statement;
}

static bool is_away(struct vv_cassandra *store, const struct changed *slot)
{
    if (!vv_dead_any(&store->dead)) {
        return false;
    }
    struct vvcql_statement *statement = slot_statement(store, slot);
    bool is = vv_cassandra_is_away(store, statement, VV_DEAD_BY_READ);
    vvcql_statement_destroy(statement);
    return is;
}

static enum vv_status read_page(struct reading *reading, const struct changed *slot,
                                struct vvcql_result *page, bool *whole)
{
    enum vv_status status = VV_OK;
    while (status == VV_OK && vvcql_next_row(page)) {
        status = read_mark(reading, slot, page);
        *whole &= status == VV_OK;
        status = status == VV_NOT_FOUND ? VV_OK : status;
    }
    return status;
}

/* The pages after the first. */
static enum vv_status read_rest(struct reading *reading, const struct changed *slot,
                                struct vvcql_result *page, bool *whole)
{
    enum vv_status status = VV_OK;
    struct vvcql_bytes state = vvcql_result_paging_state(page);
    struct vvcql_result *own = NULL;
    while (state.size > 0 && status == VV_OK) {
        struct vvcql_statement *statement = slot_statement(reading->store, slot);
        struct vvcql_result *next;
        vvcql_set_paging_state(statement, state.data, state.size);
        status = vv_cassandra_ask(reading->store, &statement, 1, &next, reading->error);
        vvcql_result_destroy(own);
        own = status == VV_OK ? next : NULL;
        if (status == VV_OK) {
            status = read_page(reading, slot, own, whole);
            state = vvcql_result_paging_state(own);
        }
    }
    vvcql_result_destroy(own);
    return status;
}

/* A slot that was read whole is seen. */
static enum vv_status see(struct vv_shard *shard, const struct vv_slot_seen *slot,
                          struct vv_error *error)
{
    for (size_t i = 0; i < shard->n_seen; i++) {
        if (shard->seen[i].slot_ms == slot->slot_ms && shard->seen[i].node == slot->node) {
            shard->seen[i].touched = slot->touched;
            return VV_OK;
        }
    }
    struct vv_slot_seen *seen = realloc(shard->seen, (shard->n_seen + 1) * sizeof *seen);
    if (!seen) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading the ledger");
    }
    shard->seen = seen;
    seen[shard->n_seen++] = *slot;
    return VV_OK;
}

static enum vv_status read_slots(struct reading *reading, const struct changed *slots, size_t n)
{
    struct vvcql_statement *statements[SLOTS_AT_ONCE];
    struct vvcql_result *pages[SLOTS_AT_ONCE];
    enum vv_status statuses[SLOTS_AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        statements[i] = slot_statement(reading->store, &slots[i]);
    }
    enum vv_status asked = vv_cassandra_ask_each(reading->store, VV_DEAD_BY_READ, statements, n,
                                                 pages, statuses, reading->error);
    enum vv_status status = asked;
    for (size_t i = 0; i < n && asked == VV_OK; i++) {
        bool whole = true;
        if (statuses[i] != VV_OK) {
            reading->store->shared.shards[slots[i].shard].misses_some = true;
            continue;
        }
        if (status == VV_OK) {
            status = read_page(reading, &slots[i], pages[i], &whole);
        }
        if (status == VV_OK) {
            status = read_rest(reading, &slots[i], pages[i], &whole);
        }
        if (status == VV_OK && whole) {
            status =
                see(&reading->store->shared.shards[slots[i].shard], &slots[i].slot, reading->error);
        }
        vvcql_result_destroy(pages[i]);
    }
    return status;
}

/* ---- slots of a shard ---- */

static bool is_seen(const struct vv_shard *shard, const struct vv_slot_seen *slot)
{
    for (size_t i = 0; i < shard->n_seen; i++) {
        if (shard->seen[i].slot_ms == slot->slot_ms && shard->seen[i].node == slot->node) {
            return shard->seen[i].touched == slot->touched;
        }
    }
    return false;
}

/* What has expired in the index is forgotten. */
static void keep_seen(struct vv_shard *shard, struct vvcql_result *rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < shard->n_seen; i++) {
        int64_t slot_ms;
        int32_t node;
        bool is_there = false;
        vvcql_rewind(rows);
        while (!is_there && vvcql_next_row(rows)) {
            is_there = vvcql_get_bigint(rows, 0, &slot_ms) && vvcql_get_int(rows, 1, &node) &&
                       slot_ms == shard->seen[i].slot_ms && (uint32_t)node == shard->seen[i].node;
        }
        if (is_there) {
            shard->seen[kept++] = shard->seen[i];
        }
    }
    shard->n_seen = kept;
}

static enum vv_status find_changed(struct reading *reading, uint8_t number,
                                   struct vvcql_result *rows)
{
    struct vv_shard *shard = &reading->store->shared.shards[number];
    struct changed one = {.shard = number};
    int32_t node;
    if (shard->n_seen > vvcql_result_rows(rows)) {
        keep_seen(shard, rows);
    }
    vvcql_rewind(rows);
    while (vvcql_next_row(rows)) {
        if (!vvcql_get_bigint(rows, 0, &one.slot.slot_ms) || !vvcql_get_int(rows, 1, &node) ||
            !vvcql_get_bigint(rows, 2, &one.slot.touched)) {
            continue;
        }
        one.slot.node = (uint32_t)node;
        if (is_seen(shard, &one.slot)) {
            continue;
        }
        if (is_away(reading->store, &one)) { /* so that those behind it have their turn */
            shard->misses_some = true;
            continue;
        }
        struct changed *changed =
            realloc(reading->changed, (reading->n + 1) * sizeof *reading->changed);
        if (!changed) {
            return vv_error_set(reading->error, VV_NO_MEMORY,
                                "out of memory while reading the ledger");
        }
        reading->changed = changed;
        changed[reading->n++] = one;
    }
    return VV_OK;
}

static enum vv_status read_shards(struct reading *reading, const uint8_t *shards, size_t n)
{
    struct vv_cassandra *store = reading->store;
    struct vvcql_statement *statements[SHARDS_AT_ONCE];
    struct vvcql_result *results[SHARDS_AT_ONCE];
    enum vv_status statuses[SHARDS_AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        statements[i] = vv_ledger_slots_question(store, shards[i]);
    }
    enum vv_status asked = vv_cassandra_ask_each(store, VV_DEAD_BY_READ, statements, n, results,
                                                 statuses, reading->error);
    enum vv_status status = asked;
    for (size_t i = 0; i < n && asked == VV_OK; i++) {
        store->shared.shards[shards[i]].misses_some = statuses[i] != VV_OK;
        if (status == VV_OK && statuses[i] == VV_OK) {
            status = find_changed(reading, shards[i], results[i]);
        }
        vvcql_result_destroy(results[i]);
    }
    return status;
}

/* ---- reading ---- */

static size_t choose_shards(struct vv_cassandra *store, int64_t now, bool has_peers,
                            uint8_t list_out[SHARDS_AT_ONCE])
{
    struct vv_cassandra_shared *shared = &store->shared;
    size_t n = 0;
    for (uint32_t i = 0; i < VV_CASSANDRA_SHARDS && n < SHARDS_AT_ONCE; i++) {
        _Static_assert(VV_CASSANDRA_SHARDS == UINT8_MAX + 1, "a byte goes around the shards");
        uint8_t number = shared->read_next++; /* in turn, however seldom this is called */
        const struct vv_shard *shard = &shared->shards[number];
        bool may_have_more = has_peers || shard->read_at_ns == 0 || shard->misses_some;
        if (shard->is_owned && shard->read_at_ns <= now && may_have_more) {
            list_out[n++] = number;
        }
    }
    return n;
}

static bool is_among(const struct changed *changed, size_t n, uint8_t shard)
{
    for (size_t i = 0; i < n; i++) {
        if (changed[i].shard == shard) {
            return true;
        }
    }
    return false;
}

/* A shard of which something was not read whole is looked at again soon. */
enum vv_status vv_ledger_read(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    struct reading reading = {.store = store, .error = error};
    uint8_t shards[SHARDS_AT_ONCE];
    int64_t now = store->clock->monotonic_ns(store->clock);
    vv_shared_divide(store);
    pthread_mutex_lock(&shared->lock);
    bool has_peers = store->views[0].n_nodes > 0;
    pthread_mutex_unlock(&shared->lock);
    size_t n = choose_shards(store, now, has_peers, shards);
    if (n == 0) {
        return VV_OK;
    }
    enum vv_status status = read_shards(&reading, shards, n);
    size_t some = reading.n < SLOTS_AT_ONCE ? reading.n : SLOTS_AT_ONCE;
    if (status == VV_OK && some > 0) { /* what is retired, but not there yet, would come back */
        status = vv_cassandra_failed(store, vv_flight_wait(&store->flight, error));
    }
    if (status == VV_OK && some > 0) {
        status = read_slots(&reading, reading.changed, some);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        bool is_left = is_among(reading.changed + some, reading.n - some, shards[i]);
        shared->shards[shards[i]].read_at_ns = is_left ? 0 : now + READ_INTERVAL_NS;
    }
    free(reading.changed);
    return vv_cassandra_put_off(status);
}
