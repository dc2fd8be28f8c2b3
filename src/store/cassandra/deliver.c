/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivering what is parked, some of each kind at a time: what was told, notes of buckets, runs,
 * marks, slots. Whatever fails stays, and its set is noted again; so what others wait for is never
 * behind it. Everything keeps its keys, and runs their versions: what is delivered twice, since the
 * node was killed in between, is the same.
 *
 * A set that is noted is tried with a few things only, and one that was tried a moment ago not at
 * all. Nothing is written to the local store while it is scanned.
 */
#include "store/cassandra/rows.h"

#include "store/keys.h"

#include <stdlib.h>

#define WAIT_NS        (3 * VV_SECOND) /* when nothing could be delivered */
#define BYTES_MAX      (2u << 20)      /* of a call */
#define RECORDS_MAX    512             /* of a kind */
#define PARTITIONS_MAX 4096            /* looked at */
#define TELL_BYTES_MAX (32u << 10)
#define TRIES_MAX      16 /* of sets that are noted */

struct delivering {
    struct vv_cassandra *store;
    struct vv_delivery delivery; /* of the kind that is sent now */
    struct vv_mark_out *marks;   /* of its items, where these are marks */
    size_t delivered;
    /* What says of cohorts that they are stale is sent with what makes their sources' units stale,
     * and again when that has landed: who covers it then has seen that. Items are the same. */
    struct vv_delivery behind;
    int64_t versions[2]; /* of runs of cohorts that go with those of their sources, and behind */
    uint32_t tries;
    bool is_unreachable; /* no host at all, as it seems */
    struct vv_error *error;
};

/* Whether something may be sent to the set now. */
static bool may_send(struct delivering *delivering, uint64_t set)
{
    struct vv_dead *dead = &delivering->store->dead;
    if (!vv_dead_any(dead)) {
        return true;
    }
    if (!vv_dead_is_due(dead, set)) {
        return false;
    }
    if (!vv_dead_is(dead, set, VV_DEAD_BY_WRITE)) {
        return true;
    }
    return delivering->tries++ < TRIES_MAX;
}

static bool may_send_statement(struct delivering *delivering,
                               const struct vvcql_statement *statement)
{
    struct vv_cassandra *store = delivering->store;
    return !vv_dead_any(&store->dead) ||
           may_send(delivering, vvcql_statement_replicas(store->session, statement));
}

static void begin(struct delivering *delivering, enum vv_parked_kind kind)
{
    delivering->delivery = (struct vv_delivery){.store = delivering->store, .kind = kind};
    delivering->tries = 0;
}

static bool is_full(const struct vv_delivery *delivery)
{
    return delivery->n_items >= RECORDS_MAX || delivery->bytes >= BYTES_MAX;
}

/* Sends what was gathered. A failure of Cassandra is none of delivering. */
static void send(struct delivering *delivering)
{
    struct vv_delivery *delivery = &delivering->delivery;
    if (delivery->n_items > 0 && vv_delivery_send(delivery, NULL) != VV_OK) {
        delivering->is_unreachable = true;
        for (size_t i = 0; i < delivery->n_items; i++) {
            delivery->items[i].failed = true;
        }
    }
}

static enum vv_status finish(struct delivering *delivering, enum vv_status status)
{
    if (status == VV_OK) {
        status =
            vv_delivery_finish(&delivering->delivery, &delivering->delivered, delivering->error);
    }
    vv_delivery_deinit(&delivering->delivery);
    return status;
}

static enum vv_status no_memory(struct delivering *delivering)
{
    return vv_error_set(delivering->error, VV_NO_MEMORY, "out of memory while delivering");
}

/* ---- what was told ---- */

static enum vv_status gather_told(void *context, struct vv_str key, struct vv_str value)
{
    struct delivering *delivering = context;
    struct vv_delivery *delivery = &delivering->delivery;
    struct vv_told told;
    if (vv_parked_told(key, value, &told) != VV_OK) {
        return VV_OK; /* it stays, and is counted */
    }
    /* Its time is given when it is sent: the local store may not be written here. */
    struct vvcql_statement *statement = vv_told_definition(delivering->store, &told, 0);
    bool may = statement && may_send_statement(delivering, statement);
    vvcql_statement_destroy(statement);
    if (!may) {
        return statement ? VV_OK : no_memory(delivering);
    }
    if (vv_delivery_begin(delivery, key) != VV_OK) {
        return no_memory(delivering);
    }
    delivery->bytes += key.size + value.size;
    return delivery->n_items >= RECORDS_MAX || delivery->bytes >= TELL_BYTES_MAX ? VV_DONE : VV_OK;
}

static enum vv_status get_told(struct delivering *delivering, size_t item, struct vv_buffer *value,
                               struct vv_told *told_out)
{
    struct vv_store *local = delivering->store->local;
    struct vv_str key = vv_delivery_key(&delivering->delivery, item);
    vv_buffer_clear(value);
    enum vv_status status = local->ops->get_meta(local, VV_LOCAL_PARKED + VV_PARKED_TOLD, key,
                                                 value, delivering->error);
    return status == VV_OK
               ? vv_parked_told(key, (struct vv_str){(char *)value->data, value->size}, told_out)
               : status;
}

static enum vv_status encode_told(struct delivering *delivering, struct vv_buffer *entries)
{
    struct vv_buffer value = {0};
    struct vv_told told;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < delivering->delivery.n_items && status == VV_OK; i++) {
        status = get_told(delivering, i, &value, &told);
        if (status == VV_OK) {
            vv_change_add(entries, &told);
        }
    }
    vv_buffer_deinit(&value);
    return status == VV_OK ? vv_buffer_status(entries) : status;
}

/* A change comes before its definitions (tell.c). */
static enum vv_status send_change(struct delivering *delivering, bool *landed_out)
{
    struct vv_buffer entries = {0};
    int64_t us;
    enum vv_status status = encode_told(delivering, &entries);
    *landed_out = false;
    if (status == VV_OK) {
        status = vv_cassandra_write_us(delivering->store, &us, delivering->error);
    }
    if (status == VV_OK) {
        struct vv_str text = {(char *)entries.data, entries.size};
        struct vvcql_statement *statement = vv_told_change(delivering->store, text, us);
        enum vv_status sent = VV_IO;
        enum vv_status asked = vv_cassandra_ask_each(delivering->store, VV_DEAD_BY_WRITE,
                                                     &statement, 1, NULL, &sent, NULL);
        *landed_out = asked == VV_OK && sent == VV_OK;
    }
    vv_buffer_deinit(&entries);
    return status;
}

/* Those that fail are told again with another change. */
static enum vv_status send_definitions(struct delivering *delivering)
{
    struct vv_delivery *delivery = &delivering->delivery;
    struct vv_buffer value = {0};
    struct vv_delivery all = {.store = delivering->store, .kind = VV_PARKED_TOLD};
    int64_t us;
    enum vv_status status = vv_cassandra_write_us(delivering->store, &us, delivering->error);
    for (size_t i = 0; i < delivery->n_items && status == VV_OK; i++) {
        struct vv_told told;
        status = get_told(delivering, i, &value, &told);
        if (status == VV_OK && vv_delivery_begin(&all, vv_delivery_key(delivery, i)) != VV_OK) {
            status = no_memory(delivering);
        }
        if (status == VV_OK) {
            (void)!vv_delivery_add(&all, vv_told_definition(delivering->store, &told, us));
        }
    }
    vv_buffer_deinit(&value);
    vv_delivery_deinit(delivery);
    *delivery = all;
    if (status == VV_OK) {
        send(delivering);
    }
    return status;
}

static bool may_change(struct delivering *delivering)
{
    struct vvcql_statement *statement =
        vv_told_change(delivering->store, (struct vv_str){"", 0}, 0);
    bool may = statement && may_send_statement(delivering, statement);
    vvcql_statement_destroy(statement);
    return may;
}

static enum vv_status deliver_told(struct delivering *delivering)
{
    begin(delivering, VV_PARKED_TOLD);
    bool has_landed = false;
    if (!may_change(delivering)) {
        return VV_OK;
    }
    enum vv_status status = vv_parked_scan(delivering->store, VV_PARKED_TOLD, (struct vv_str){0},
                                           gather_told, delivering, delivering->error);
    if (status == VV_OK && delivering->delivery.n_items > 0) {
        status = send_change(delivering, &has_landed);
    }
    if (!has_landed) {
        vv_delivery_deinit(&delivering->delivery);
        return status;
    }
    return finish(delivering, send_definitions(delivering));
}

/* ---- keys first, statements afterwards ---- */

static enum vv_status gather_key(void *context, struct vv_str key, struct vv_str value)
{
    struct vv_buffer *keys = context;
    vv_buffer_sized(keys, key);
    vv_buffer_sized(keys, value);
    return vv_buffer_status(keys);
}

/* All records of a kind of small ones. */
static enum vv_status gather_all(struct delivering *delivering, enum vv_parked_kind kind,
                                 struct vv_buffer *records)
{
    enum vv_status status = vv_parked_scan(delivering->store, kind, (struct vv_str){0}, gather_key,
                                           records, delivering->error);
    return status == VV_NO_MEMORY ? no_memory(delivering) : status;
}

static bool next_record(struct vv_reader *reader, struct vv_str *key_out, struct vv_str *value_out)
{
    if (vv_reader_left(reader) == 0) {
        return false;
    }
    *key_out = vv_reader_sized(reader);
    *value_out = vv_reader_sized(reader);
    return !reader->failed;
}

/* Its statements are sent with the others, or none of them when one may not be sent now. */
static enum vv_status add_record(struct delivering *delivering, struct vv_str key,
                                 struct vvcql_statement *const *take_statements, size_t n)
{
    struct vv_delivery *delivery = &delivering->delivery;
    enum vv_status status = VV_OK;
    bool may = true;
    for (size_t i = 0; i < n && may; i++) {
        may = !take_statements[i] || may_send_statement(delivering, take_statements[i]);
    }
    if (may) {
        status = vv_delivery_begin(delivery, key);
    }
    for (size_t i = 0; i < n; i++) {
        if (may && status == VV_OK) {
            (void)!vv_delivery_add(delivery, take_statements[i]);
        } else {
            vvcql_statement_destroy(take_statements[i]);
        }
    }
    return status == VV_OK ? VV_OK : no_memory(delivering);
}

/* All of a kind of small records that a call may send; `add` makes what is sent of one. */
static enum vv_status send_records(struct delivering *delivering, enum vv_parked_kind kind,
                                   enum vv_status (*add)(struct delivering *delivering,
                                                         struct vv_str key, struct vv_str value))
{
    struct vv_buffer records = {0};
    struct vv_str key;
    struct vv_str value;
    begin(delivering, kind);
    enum vv_status status = gather_all(delivering, kind, &records);
    struct vv_reader reader = vv_reader_of(records.data, records.size);
    while (status == VV_OK && !is_full(&delivering->delivery) &&
           next_record(&reader, &key, &value)) {
        status = add(delivering, key, value);
    }
    if (status == VV_OK) {
        send(delivering);
    }
    vv_buffer_deinit(&records);
    return status;
}

/* ---- notes of buckets ---- */

static enum vv_status add_bucket(struct delivering *delivering, struct vv_str key,
                                 struct vv_str value)
{
    struct vv_cassandra *store = delivering->store;
    struct vv_partition partition = vv_key_to_partition((const uint8_t *)key.data);
    struct vvcql_statement *notes[2];
    if (vv_cassandra_is_tentative(store, &partition)) {
        return VV_OK;
    }
    int64_t retention_ns =
        vv_parked_bucket_retention(value, vv_cassandra_retention(store, partition.tenant));
    enum vv_status status =
        vv_cassandra_bucket_notes(store, &partition, retention_ns, notes, delivering->error);
    if (status != VV_OK) {
        return status == VV_INVALID ? VV_OK : status;
    }
    return add_record(delivering, key, notes, 2);
}

static enum vv_status deliver_buckets(struct delivering *delivering)
{
    return finish(delivering, send_records(delivering, VV_PARKED_BUCKET, add_bucket));
}

/* ---- runs ---- */

struct partition_runs {
    struct delivering *delivering;
    bool is_rows;
    bool needs_notes; /* rows, which live by the retention of now; their bucket may be noted by
                       * another */
    size_t left;      /* runs that may still be sent */
};

static enum vv_status make_notes(struct delivering *delivering,
                                 const struct vv_partition *partition,
                                 struct vvcql_statement *notes_out[2])
{
    struct vv_cassandra *store = delivering->store;
    int64_t retention_ns = vv_cassandra_retention(store, partition->tenant);
    return vv_cassandra_bucket_notes(store, partition, retention_ns, notes_out, delivering->error);
}

static bool may_note(struct delivering *delivering, const struct vv_partition *partition)
{
    struct vvcql_statement *notes[2];
    if (make_notes(delivering, partition, notes) != VV_OK) {
        return false;
    }
    bool may = may_send_statement(delivering, notes[0]) && may_send_statement(delivering, notes[1]);
    vvcql_statement_destroy(notes[0]);
    vvcql_statement_destroy(notes[1]);
    return may;
}

static void add_notes(struct delivering *delivering, const struct vv_partition *partition)
{
    struct vvcql_statement *notes[2];
    if (make_notes(delivering, partition, notes) != VV_OK) {
        vv_delivery_give_up(&delivering->delivery);
        return;
    }
    (void)!vv_delivery_add(&delivering->delivery, notes[0]);
    (void)!vv_delivery_add(&delivering->delivery, notes[1]);
}

static void add_rows(struct delivering *delivering, const struct vv_piece *run)
{
    struct vv_cassandra *store = delivering->store;
    store->delivery = &delivering->delivery;
    enum vv_status status = vv_cassandra_put_rows(store, run, NULL);
    enum vv_status sent = vv_cassandra_send_batches(store, NULL);
    store->delivery = NULL;
    if (status != VV_OK || sent != VV_OK) {
        vv_delivery_give_up(&delivering->delivery);
    }
}

static void add_cohort(struct delivering *delivering, const struct vv_piece *run, size_t time,
                       struct vv_delivery *delivery)
{
    struct vvcql_statement *statement =
        vv_parked_cohort_run(delivering->store, run, delivering->versions[time]);
    if (statement) {
        (void)!vv_delivery_add(delivery, statement);
    }
}

/* Of what others could be sent behind, but not this, the record stays. */
static void send_behind(struct delivering *delivering)
{
    struct vv_delivery *behind = &delivering->behind;
    bool failed = behind->n > 0 && vv_delivery_send(behind, NULL) != VV_OK;
    delivering->is_unreachable |= failed;
    for (size_t i = 0; i < behind->n_items; i++) {
        delivering->delivery.items[i].failed |= failed || behind->items[i].failed;
    }
}

/* What can't be sent as it is stays. */
static enum vv_status add_run(void *context, struct vv_str key, struct vv_str value)
{
    struct partition_runs *runs = context;
    struct delivering *delivering = runs->delivering;
    struct vv_delivery *delivery = &delivering->delivery;
    struct vv_piece run;
    struct vvcql_statement *statement;
    if (runs->left == 0 || is_full(delivery)) {
        return VV_DONE;
    }
    if (vv_parked_run(key, value, &run) != VV_OK) {
        return VV_OK;
    }
    if (vv_delivery_begin(delivery, key) != VV_OK ||
        vv_delivery_begin(&delivering->behind, key) != VV_OK) {
        return no_memory(delivering);
    }
    runs->left--;
    if (runs->is_rows) {
        if (runs->needs_notes) {
            add_notes(delivering, &run.key.partition);
        }
        add_rows(delivering, &run);
    } else if (vv_cassandra_run_statement(delivering->store, &run, false, &statement, NULL) ==
               VV_OK) {
        add_cohort(delivering, &run, 0, delivery);
        (void)!vv_delivery_add(delivery, statement);
        add_cohort(delivering, &run, 1, &delivering->behind);
    } else {
        vv_delivery_give_up(delivery);
    }
    return VV_OK;
}

static enum vv_status add_partition(struct delivering *delivering, const uint8_t *key)
{
    struct vv_cassandra *store = delivering->store;
    struct vv_partition partition = vv_key_to_partition(key);
    uint64_t set = vv_cassandra_partition_set(store, &partition);
    if (vv_cassandra_is_tentative(store, &partition) || vv_parked_below(store, &partition) ||
        !may_send(delivering, set)) {
        return VV_OK;
    }
    bool is_tried = vv_dead_any(&store->dead) && vv_dead_is(&store->dead, set, VV_DEAD_BY_WRITE);
    struct partition_runs runs = {
        .delivering = delivering,
        .left = is_tried ? 1 : SIZE_MAX,
    };
    enum vv_status status = vv_cassandra_note_layout(store, partition.tenant, delivering->error);
    runs.is_rows = vv_cassandra_written_layout(store, partition.tenant) == VV_LAYOUT_ROWS;
    runs.needs_notes = runs.is_rows && !vv_cassandra_is_noted(store, &partition);
    if (status == VV_OK && runs.needs_notes && !may_note(delivering, &partition)) {
        return VV_OK;
    }
    return status == VV_OK ? vv_parked_scan(store, VV_PARKED_RUN,
                                            (struct vv_str){(char *)key, VV_KEY_PARTITION_SIZE},
                                            add_run, &runs, delivering->error)
                           : status;
}

/* In turn, so that partitions of a set that is away are not in front of the others for ever. */
static enum vv_status deliver_runs(struct delivering *delivering)
{
    struct vv_parking *parking = &delivering->store->parking;
    size_t steps = 0;
    begin(delivering, VV_PARKED_RUN);
    delivering->behind = (struct vv_delivery){.store = delivering->store};
    enum vv_status status =
        vv_cassandra_write_us(delivering->store, &delivering->versions[0], delivering->error);
    if (status == VV_OK) {
        status =
            vv_cassandra_write_us(delivering->store, &delivering->versions[1], delivering->error);
    }
    for (size_t looked = 0; status == VV_OK && steps < parking->capacity &&
                            looked < PARTITIONS_MAX && !is_full(&delivering->delivery);
         steps++) {
        const struct vv_parked_partition one =
            parking->partitions[parking->place & (parking->capacity - 1)];
        if (one.n > 0) {
            looked++;
            status = add_partition(delivering, one.key);
        }
        /* Of one that has more than a call takes the rest comes with the next. */
        parking->place += !is_full(&delivering->delivery);
    }
    parking->looked += steps;
    if (status == VV_OK) {
        send(delivering);
        send_behind(delivering);
    }
    vv_delivery_deinit(&delivering->behind);
    return finish(delivering, status);
}

/* ---- marks and slots ---- */

static enum vv_status add_slot(struct delivering *delivering, struct vv_str key,
                               struct vv_str value)
{
    struct vv_cassandra *store = delivering->store;
    struct vv_slot_out slot;
    int64_t us;
    if (vv_parked_slot(key, value, &slot) != VV_OK) {
        return VV_OK;
    }
    enum vv_status status = vv_cassandra_write_us(store, &us, delivering->error);
    if (status != VV_OK) {
        return status;
    }
    struct vvcql_statement *statement = vv_ledger_slot_statement(store, &slot, us);
    return add_record(delivering, key, &statement, 1);
}

static enum vv_status deliver_slots(struct delivering *delivering)
{
    return finish(delivering, send_records(delivering, VV_PARKED_SLOT, add_slot));
}

/* A mark may go when the runs of its partition have gone. */
static enum vv_status add_mark(struct delivering *delivering, struct vv_str key,
                               struct vv_str value)
{
    struct vv_cassandra *store = delivering->store;
    struct vv_mark_out *out = &delivering->marks[delivering->delivery.n_items];
    const struct vv_partition *partition = &out->mark.key.partition;
    *out = (struct vv_mark_out){0};
    if (vv_parked_mark(key, value, &out->mark) != VV_OK ||
        vv_parking_has_partition(&store->parking, partition) ||
        vv_cassandra_source_id(store, partition->tenant, partition->source, out->source, NULL) !=
            VV_OK) {
        return VV_OK;
    }
    enum vv_status status = vv_cassandra_write_us(store, &out->put_us, delivering->error);
    if (status != VV_OK) {
        return status;
    }
    out->slot_ms = vv_ledger_slot_ms(out->mark.due_ns);
    struct vvcql_statement *statement = vv_ledger_mark_statement(store, out);
    return add_record(delivering, key, &statement, 1);
}

/* The slot is parked before the mark is taken away, and touched with the slots. */
static enum vv_status settle_marks(struct delivering *delivering)
{
    struct vv_cassandra *store = delivering->store;
    struct vv_delivery *delivery = &delivering->delivery;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < delivery->n_items && status == VV_OK; i++) {
        const struct vv_mark_out *out = &delivering->marks[i];
        if (delivery->items[i].failed) {
            continue;
        }
        const struct vv_slot_out slot = {
            .shard = vv_cassandra_shard_of(out->source),
            .slot_ms = out->slot_ms,
            .end_ns = vv_ledger_end_of(store, &out->mark),
        };
        status = vv_park_slot(store, &slot, delivering->error);
        if (status == VV_OK && store->shared.shards[slot.shard].is_owned) {
            status = vv_ledger_note(store, &out->mark, store->shared.node, out->put_us,
                                    delivering->error);
        }
    }
    return status;
}

static enum vv_status deliver_marks(struct delivering *delivering)
{
    begin(delivering, VV_PARKED_MARK);
    delivering->marks = calloc(RECORDS_MAX, sizeof *delivering->marks);
    enum vv_status status = delivering->marks ? send_records(delivering, VV_PARKED_MARK, add_mark)
                                              : no_memory(delivering);
    if (status == VV_OK) {
        status = settle_marks(delivering);
    }
    free(delivering->marks);
    return finish(delivering, status);
}

/* ---- all of them ---- */

static enum vv_status deliver_some(struct delivering *delivering)
{
    static enum vv_status (*const steps[])(struct delivering *) = {
        deliver_told, deliver_buckets, deliver_runs, deliver_marks, deliver_slots};
    static const enum vv_parked_kind kinds[] = {VV_PARKED_TOLD, VV_PARKED_BUCKET, VV_PARKED_RUN,
                                                VV_PARKED_MARK, VV_PARKED_SLOT};
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (status == VV_OK && !delivering->is_unreachable &&
            delivering->store->parking.n[kinds[i]] > 0) {
            status = steps[i](delivering);
        }
    }
    return status;
}

enum vv_status vv_shared_deliver(struct vv_store *base, bool *more_out, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_parking *parking = &store->parking;
    struct delivering delivering = {.store = store, .error = error};
    int64_t now = store->clock->monotonic_ns(store->clock);
    *more_out = false;
    enum vv_status status = vv_cassandra_check(store, error);
    if (status != VV_OK || !vv_parking_has_any(parking) || now < parking->deliver_at_ns) {
        return status;
    }
    status = vv_cassandra_failed(store, vv_cassandra_send_batches(store, error));
    if (status == VV_OK) {
        status = vv_cassandra_failed(store, deliver_some(&delivering));
    }
    bool is_round_over = parking->looked >= parking->capacity || parking->n[VV_PARKED_RUN] == 0;
    *more_out = status == VV_OK && !delivering.is_unreachable &&
                (delivering.delivered > 0 || !is_round_over);
    if (delivering.delivered > 0 || is_round_over) {
        parking->looked = 0;
    }
    parking->deliver_at_ns = *more_out ? now : now + WAIT_NS;
    return status;
}
