/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: which spans have runs that are in no block yet.
 *
 * In Cassandra each node has a row for each span (ledger_mark.c), with its newest run, in a
 * partition of some shards and the hour in which the span is due. It goes there when the run has
 * landed, and the slot is touched when it has; so a run without a mark belongs to a flush that is
 * not confirmed and is done again. `put`, a time of the node's write clock, goes up with each
 * writing, also of the same run, which may hold more then. Sealing writes `retired` beside it:
 * exactly the time that was known before the span was read. Both carry that time as CQL timestamp,
 * so the highest of each counts in whatever order they come, and nothing is ever deleted.
 *
 * The marks of shards that this node owns are in the local store too, where the sealer finds them;
 * beside each stands what was put, by node.
 */
#include "store/cassandra/cassandra.h"

#include "store/keys.h"

#include <stdlib.h>

#define BATCH_BYTES_MAX    (16u << 10)
#define MARKS_PER_COST     10 /* of a batch cost as much as one row alone */
#define ENTRY_SIZE         20 /* node 4, run 8, put 8 */
#define DROPS_MAX          64
#define SLOTS_TOGETHER_MAX 50 /* rows of a batch */

/* ---- the local store ---- */

static struct vv_str key_of(const struct vv_mark *mark, uint8_t room[VV_KEY_MARK_SIZE])
{
    vv_key_from_mark(mark, room);
    return (struct vv_str){(char *)room, VV_KEY_MARK_SIZE};
}

/* What was put of a mark, by node; nothing when it is not there. */
static enum vv_status get_runs(struct vv_cassandra *store, const struct vv_mark *mark,
                               struct vv_buffer *out, struct vv_error *error)
{
    uint8_t room[VV_KEY_MARK_SIZE];
    vv_buffer_clear(out);
    enum vv_status status =
        store->local->ops->get_meta(store->local, VV_LOCAL_RUNS, key_of(mark, room), out, error);
    return status == VV_NOT_FOUND ? VV_OK : status;
}

/* Sets what a node put unless it is known; false when nothing is new. */
static bool set_run(struct vv_buffer *runs, uint32_t node, vv_stamp run, int64_t put_us)
{
    for (size_t at = 0; at + ENTRY_SIZE <= runs->size; at += ENTRY_SIZE) {
        if (vv_key_get_u32(runs->data + at) == node) {
            bool is_newer = put_us > (int64_t)vv_key_get_u64(runs->data + at + 12);
            if (is_newer) {
                vv_key_put_u64(runs->data + at + 4, run);
                vv_key_put_u64(runs->data + at + 12, (uint64_t)put_us);
            }
            return is_newer;
        }
    }
    vv_buffer_be32(runs, node);
    vv_buffer_be64(runs, run);
    vv_buffer_be64(runs, (uint64_t)put_us);
    return true;
}

/* As the sealer sees a mark: its highest run, of whatever node. */
static vv_stamp highest(const struct vv_buffer *runs)
{
    vv_stamp run = 0;
    for (size_t at = 0; at + ENTRY_SIZE <= runs->size; at += ENTRY_SIZE) {
        vv_stamp one = vv_key_get_u64(runs->data + at + 4);
        run = one > run ? one : run;
    }
    return run;
}

enum vv_status vv_ledger_note(struct vv_cassandra *store, const struct vv_mark *mark, uint32_t node,
                              int64_t put_us, struct vv_error *error)
{
    struct vv_store *local = store->local;
    struct vv_buffer runs = {0};
    uint8_t room[VV_KEY_MARK_SIZE];
    enum vv_status status = get_runs(store, mark, &runs, error);
    if (status == VV_OK && set_run(&runs, node, mark->run, put_us)) {
        status = vv_buffer_status(&runs);
        if (status == VV_OK) {
            status = local->ops->put_meta(local, VV_LOCAL_RUNS, key_of(mark, room),
                                          (struct vv_str){(char *)runs.data, runs.size}, error);
        }
    }
    if (status == VV_OK) { /* also of what is known: a crash may have come between the two */
        struct vv_mark whole = *mark;
        whole.run = highest(&runs);
        status = local->ops->put_mark(local, &whole, error);
    }
    vv_buffer_deinit(&runs);
    return status;
}

static enum vv_status forget(struct vv_cassandra *store, const struct vv_mark *mark,
                             struct vv_error *error)
{
    struct vv_store *local = store->local;
    uint8_t room[VV_KEY_MARK_SIZE];
    enum vv_status status =
        local->ops->remove_meta(local, VV_LOCAL_RUNS, key_of(mark, room), error);
    return status == VV_OK ? local->ops->retire_marks(local, mark, 1, error) : status;
}

/* ---- to Cassandra ---- */

static int32_t part_of(const struct vv_mark_out *out)
{
    return vv_ledger_part_of(vv_cassandra_shard_of(out->source));
}

/* In one partition of the ledger. */
static bool is_together(const struct vv_mark_out *a, const struct vv_mark_out *b)
{
    return part_of(a) == part_of(b) && a->slot_ms == b->slot_ms;
}

static int compare_out(const void *a, const void *b)
{
    const struct vv_mark_out *x = a;
    const struct vv_mark_out *y = b;
    uint8_t shard_x = vv_cassandra_shard_of(x->source);
    uint8_t shard_y = vv_cassandra_shard_of(y->source);
    if (part_of(x) != part_of(y)) {
        return part_of(x) < part_of(y) ? -1 : 1;
    }
    if (x->slot_ms != y->slot_ms) {
        return x->slot_ms < y->slot_ms ? -1 : 1;
    }
    if (shard_x != shard_y) {
        return shard_x < shard_y ? -1 : 1;
    }
    return vv_span_key_compare(&x->mark.key, &y->mark.key);
}

/* A slot may stand in the list twice; it is touched twice then. */
static enum vv_status note_slot(struct vv_cassandra *store, const struct vv_mark_out *out,
                                struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    uint8_t shard = vv_cassandra_shard_of(out->source);
    int64_t end_ns = vv_ledger_end_of(store, &out->mark);
    struct vv_slot_out *last = shared->n_slots > 0 ? &shared->slots[shared->n_slots - 1] : NULL;
    if (last && last->shard == shard && last->slot_ms == out->slot_ms) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return VV_OK;
    }
    if (shared->n_slots == shared->slots_capacity) {
        size_t capacity = shared->slots_capacity ? shared->slots_capacity * 2 : 256;
        struct vv_slot_out *slots = realloc(shared->slots, capacity * sizeof *slots);
        if (!slots) {
            return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing marks");
        }
        shared->slots = slots;
        shared->slots_capacity = capacity;
    }
    shared->slots[shared->n_slots++] = (struct vv_slot_out){shard, out->slot_ms, end_ns};
    return VV_OK;
}

static enum vv_status send_batch(struct vv_cassandra *store, struct vvcql_statement *take_batch,
                                 uint32_t n, struct vv_error *error)
{
    vvcql_set_idempotent(take_batch, true);
    return vv_flight_gather(&store->flight, take_batch, (n + MARKS_PER_COST - 1) / MARKS_PER_COST,
                            error);
}

/* Marks from `at` on that go together; returns how many. */
static enum vv_status send_some(struct vv_cassandra *store, size_t at, size_t *n_out,
                                struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
    size_t n = 0;
    if (!batch) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing marks");
    }
    while (at + n < shared->n_marks && is_together(&shared->marks[at], &shared->marks[at + n]) &&
           vvcql_statement_size(batch) < BATCH_BYTES_MAX) {
        struct vvcql_statement *one = vv_ledger_mark_statement(store, &shared->marks[at + n]);
        if (!one) {
            vvcql_statement_destroy(batch);
            return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing marks");
        }
        vvcql_batch_add(batch, one);
        n++;
    }
    *n_out = n;
    return send_batch(store, batch, (uint32_t)n, error);
}

/* Whether the slot's part of the ledger is away. */
static bool is_slot_away(struct vv_cassandra *store, const struct vv_mark_out *out)
{
    if (!vv_dead_any(&store->dead)) {
        return false;
    }
    struct vvcql_statement *statement = vv_ledger_mark_statement(store, out);
    bool is = vv_cassandra_is_away(store, statement, VV_DEAD_BY_WRITE);
    vvcql_statement_destroy(statement);
    return is;
}

static enum vv_status park_some(struct vv_cassandra *store, size_t at, size_t *n_out,
                                struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    enum vv_status status = VV_OK;
    size_t n = 0;
    while (at + n < shared->n_marks && status == VV_OK &&
           is_together(&shared->marks[at], &shared->marks[at + n])) {
        status = vv_park_mark(store, &shared->marks[at + n].mark, error);
        shared->marks[at + n].is_parked = true;
        n++;
    }
    *n_out = n;
    return status;
}

/* The same, and the slots that they are in. */
static enum vv_status send_noted(struct vv_cassandra *store, size_t at, size_t *n_out,
                                 struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    enum vv_status status = note_slot(store, &shared->marks[at], error);
    if (status == VV_OK) {
        status = send_some(store, at, n_out, error);
    }
    for (size_t i = at; i < at + *n_out && status == VV_OK; i++) {
        status = note_slot(store, &shared->marks[i], error); /* of a later bucket, perhaps */
    }
    return status;
}

/* The runs that they tell of must be there. */
static enum vv_status send_marks(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    enum vv_status status = VV_OK;
    if (shared->n_marks == 0) {
        return VV_OK;
    }
    status = vv_cassandra_send_batches(store, error);
    if (status == VV_OK) {
        status = vv_flight_wait(&store->flight, error);
    }
    qsort(shared->marks, shared->n_marks, sizeof *shared->marks, compare_out);
    for (size_t at = 0; at < shared->n_marks && status == VV_OK;) {
        size_t n = 1;
        status = is_slot_away(store, &shared->marks[at]) ? park_some(store, at, &n, error)
                                                         : send_noted(store, at, &n, error);
        at += n;
    }
    return status;
}

/* In the local store from when they are in the ledger, and not before: what is sealed meanwhile
 * would be retired before it was put. */
static enum vv_status note_own(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    enum vv_status status = shared->n_marks > 0 ? vv_flight_wait(&store->flight, error) : VV_OK;
    for (size_t i = 0; i < shared->n_marks && status == VV_OK; i++) {
        const struct vv_mark_out *out = &shared->marks[i];
        if (shared->shards[vv_cassandra_shard_of(out->source)].is_owned && !out->is_parked) {
            status = vv_ledger_note(store, &out->mark, shared->node, out->put_us, error);
        }
    }
    if (status == VV_OK) {
        shared->n_marks = 0;
    }
    return status;
}

static enum vv_status make_touch(struct vv_cassandra *store, const struct vv_slot_out *slot,
                                 struct vvcql_statement **statement_out, struct vv_error *error)
{
    int64_t us;
    enum vv_status status = vv_cassandra_write_us(store, &us, error);
    if (status == VV_OK) {
        *statement_out = vv_ledger_slot_statement(store, slot, us);
        status = *statement_out ? VV_OK
                                : vv_error_set(error, VV_IO, "out of memory while writing marks");
    }
    return status;
}

/* The rest of the slots that go with the first. */
static enum vv_status touch_together(struct vv_cassandra *store, const struct vv_slot_out *slots,
                                     size_t n, struct vvcql_statement *take_first,
                                     struct vv_error *error)
{
    struct vvcql_statement *batch = vvcql_batch_create(VVCQL_BATCH_UNLOGGED);
    vvcql_batch_add(batch, take_first);
    for (size_t i = 1; i < n; i++) {
        struct vvcql_statement *next;
        enum vv_status status = make_touch(store, &slots[i], &next, error);
        if (status != VV_OK) {
            vvcql_statement_destroy(batch);
            return status;
        }
        vvcql_batch_add(batch, next);
    }
    return send_batch(store, batch, (uint32_t)n, error);
}

/* Slots from `at` on that are in one partition; returns how many. */
static enum vv_status touch_some(struct vv_cassandra *store, size_t at, size_t *n_out,
                                 struct vv_error *error)
{
    const struct vv_slot_out *slots = &store->shared.slots[at];
    int32_t part = vv_ledger_part_of(slots[0].shard);
    size_t n = 1;
    while (at + n < store->shared.n_slots && vv_ledger_part_of(slots[n].shard) == part &&
           n < SLOTS_TOGETHER_MAX) {
        n++;
    }
    *n_out = n;
    struct vvcql_statement *first;
    enum vv_status status = make_touch(store, slots, &first, error);
    if (status != VV_OK) {
        return status;
    }
    if (vv_cassandra_is_away(store, first, VV_DEAD_BY_WRITE)) {
        vvcql_statement_destroy(first);
        for (size_t i = 0; i < n && status == VV_OK; i++) {
            status = vv_park_slot(store, &slots[i], error);
        }
        return status;
    }
    return n == 1 ? vv_flight_gather(&store->flight, first, 1, error)
                  : touch_together(store, slots, n, first, error);
}

enum vv_status vv_ledger_send(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    enum vv_status status = send_marks(store, error);
    if (status == VV_OK) {
        status = note_own(store, error);
    }
    for (size_t at = 0, n; at < shared->n_slots && status == VV_OK; at += n) {
        status = touch_some(store, at, &n, error);
    }
    if (status == VV_OK && shared->n_slots > 0) {
        status = vv_flight_wait(&store->flight, error);
    }
    if (status == VV_OK) {
        shared->n_slots = 0;
    }
    return status;
}

/* ---- marks ---- */

/* One of the span that waits would put an older run in its place. It is not taken away: this one
 * may never land, and then not be put again, as what comes late is kept apart by then. */
static enum vv_status renew_parked(struct vv_cassandra *store, const struct vv_mark *mark,
                                   struct vv_error *error)
{
    uint8_t room[VV_KEY_MARK_SIZE];
    struct vv_buffer value = {0};
    if (store->parking.n[VV_PARKED_MARK] == 0) {
        return VV_OK;
    }
    enum vv_status status =
        store->local->ops->get_meta(store->local, (uint8_t)(VV_LOCAL_PARKED + VV_PARKED_MARK),
                                    key_of(mark, room), &value, error);
    vv_buffer_deinit(&value);
    if (status == VV_OK) {
        status = vv_park_mark(store, mark, error);
    }
    return status == VV_NOT_FOUND ? VV_OK : status;
}

bool vv_ledger_is_away(struct vv_cassandra *store, const struct vv_mark *mark)
{
    struct vv_mark_out out = {.mark = *mark, .slot_ms = vv_ledger_slot_ms(mark->due_ns)};
    const struct vv_partition *partition = &mark->key.partition;
    if (!vv_dead_any(&store->dead) ||
        vv_cassandra_source_id(store, partition->tenant, partition->source, out.source, NULL) !=
            VV_OK) {
        return false;
    }
    const struct vv_slot_out slot = {.shard = vv_cassandra_shard_of(out.source),
                                     .slot_ms = out.slot_ms,
                                     .end_ns = vv_ledger_end_of(store, mark)};
    struct vvcql_statement *touch = vv_ledger_slot_statement(store, &slot, 0);
    bool is_touch_away = vv_cassandra_is_away(store, touch, VV_DEAD_BY_WRITE);
    vvcql_statement_destroy(touch);
    return is_touch_away || is_slot_away(store, &out);
}

/* Its run comes first. Of a cohort's unit there is another one at once (park() in write.c), for
 * which somebody has to build it even if this node is lost. */
static enum vv_status park_mark(struct vv_cassandra *store, const struct vv_mark *mark,
                                bool *puts_now_out, struct vv_error *error)
{
    *puts_now_out = vv_park_puts_now(store, &mark->key.partition);
    return vv_park_mark(store, mark, error);
}

enum vv_status vv_ledger_put(struct vv_cassandra *store, const struct vv_mark *mark,
                             struct vv_error *error)
{
    struct vv_cassandra_shared *shared = &store->shared;
    const struct vv_partition *partition = &mark->key.partition;
    int64_t put_us;
    bool puts_now = true;
    enum vv_status status = vv_parked_has_span(store, &mark->key, error);
    if (status == VV_OK) {
        status = park_mark(store, mark, &puts_now, error);
    } else if (status == VV_NOT_FOUND) {
        status = renew_parked(store, mark, error);
    }
    if (status != VV_OK || !puts_now) {
        return status;
    }
    if (status == VV_OK && shared->n_marks == VV_MARKS_OUT_MAX) {
        status = send_marks(store, error);
        status = status == VV_OK ? note_own(store, error) : status;
    }
    if (status == VV_OK) {
        status = vv_cassandra_write_us(store, &put_us, error);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vv_mark_out *out = &shared->marks[shared->n_marks];
    *out = (struct vv_mark_out){
        .mark = *mark, .slot_ms = vv_ledger_slot_ms(mark->due_ns), .put_us = put_us};
    status =
        vv_cassandra_source_id(store, partition->tenant, partition->source, out->source, error);
    shared->n_marks += status == VV_OK;
    return status;
}

/* What is in the local store was there before the span was read: between the two, nothing is
 * noted. */
static enum vv_status retire(struct vv_cassandra *store, const struct vv_mark *mark,
                             const uint8_t source[16], struct vv_error *error)
{
    struct vv_buffer runs = {0};
    enum vv_status status = get_runs(store, mark, &runs, error);
    if (status == VV_OK && runs.size == 0) { /* a crash took the rest of forgetting it */
        status = forget(store, mark, error);
    } else if (status == VV_OK && highest(&runs) <= mark->run) {
        for (size_t at = 0; at + ENTRY_SIZE <= runs.size && status == VV_OK; at += ENTRY_SIZE) {
            struct vvcql_statement *statement = vv_ledger_retire_statement(
                store, mark, vv_cassandra_shard_of(source), vv_key_get_u32(runs.data + at),
                (int64_t)vv_key_get_u64(runs.data + at + 12));
            status = vv_flight_send(&store->flight, statement, error);
        }
        if (status == VV_OK) {
            status = forget(store, mark, error);
        }
    } else if (status == VV_OK) { /* renewed; a crash may have taken that from the mark alone */
        struct vv_mark renewed = *mark;
        renewed.run = highest(&runs);
        status = store->local->ops->put_mark(store->local, &renewed, error);
    }
    vv_buffer_deinit(&runs);
    return status;
}

enum vv_status vv_ledger_retire(struct vv_cassandra *store, const struct vv_mark *marks, size_t n,
                                struct vv_error *error)
{
    bool shards[VV_CASSANDRA_SHARDS] = {false};
    bool current[VV_CASSANDRA_SHARDS] = {false};
    enum vv_status status = VV_OK;
    uint8_t shard;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = vv_cassandra_shard(store, &marks[i].key.partition, &shard, error);
        shards[shard] = true;
    }
    if (status == VV_OK) { /* the blocks and covers must be there before this is asked */
        status = vv_flight_wait(&store->flight, error);
    }
    if (status == VV_OK) {
        status = vv_shared_check_passes(store, shards, current, error);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        uint8_t source[16];
        const struct vv_partition *partition = &marks[i].key.partition;
        if (vv_cassandra_source_id(store, partition->tenant, partition->source, source, NULL) ==
                VV_OK &&
            current[vv_cassandra_shard_of(source)]) {
            status = retire(store, &marks[i], source, error);
        }
    }
    return status;
}

/* ---- scanning ---- */

struct scanning {
    struct vv_cassandra *store;
    struct vv_ledger_scan scan;
    vv_mark_visit visit;
    void *context;
    int64_t now_ns;
    struct vv_mark drops[DROPS_MAX]; /* of shards that other nodes own now */
    size_t n_drops;
};

static enum vv_status visit_mark(void *context, const struct vv_mark *mark)
{
    struct scanning *scanning = context;
    struct vv_cassandra *store = scanning->store;
    uint8_t number;
    if (vv_cassandra_shard(store, &mark->key.partition, &number, NULL) != VV_OK) {
        return VV_OK;
    }
    const struct vv_shard *shard = &store->shared.shards[number];
    if (!shard->is_owned) {
        if (scanning->n_drops < DROPS_MAX) {
            scanning->drops[scanning->n_drops++] = *mark;
        }
        return VV_OK;
    }
    bool is_away = scanning->scan.all ? vv_shared_is_span_away(store, &mark->key.partition)
                                      : vv_shared_is_away(store, mark, number) ||
                                            vv_parked_above_is_away(store, mark);
    if (is_away) {
        return VV_OK; /* it waits until the set is back */
    }
    bool is_left = shard->leave_until_ns > scanning->now_ns &&
                   shard->leave_until_ns - scanning->now_ns < VV_MINUTE; /* else a clock jumped */
    return is_left ? VV_OK : scanning->visit(scanning->context, mark);
}

enum vv_status vv_ledger_scan(struct vv_cassandra *store, int64_t due_until,
                              const struct vv_mark *after, struct vv_ledger_scan scan,
                              vv_mark_visit visit, void *context, struct vv_error *error)
{
    struct scanning *scanning = calloc(1, sizeof *scanning);
    struct vv_store *local = store->local;
    if (!scanning) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading marks");
    }
    scanning->store = store;
    scanning->scan = scan;
    scanning->visit = visit;
    scanning->context = context;
    scanning->now_ns = store->clock->wall_ns(store->clock);
    enum vv_status status =
        local->ops->scan_marks(local, due_until, after, visit_mark, scanning, error);
    for (size_t i = 0; i < scanning->n_drops && scan.drops && status == VV_OK; i++) {
        status = forget(store, &scanning->drops[i], error);
    }
    free(scanning);
    return status;
}
