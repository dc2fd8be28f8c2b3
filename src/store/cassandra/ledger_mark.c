/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of the ledger, and what writes them.
 *
 *   mark    text: due, bucket, its length, split, span, tenant, measurement, id of the source, a
 *           tabulator between, as no name has one; due in ns since 1970, bucket and span in s
 *   newest  24 bytes, big-endian: put 8 (us of the write clock), run 8, length of the span 8 (ns)
 *
 * One clustering column and one cell, since a mark is written with each run: with nine columns and
 * four cells that said the same it cost Cassandra twice as much.
 */
#include "store/cassandra/cassandra.h"

#define NEWEST_SIZE 24
#define SEPARATOR   '\t'
#define SECONDS_MAX (INT64_MAX / VV_SECOND)

int32_t vv_ledger_part_of(uint8_t shard)
{
    return shard / VV_LEDGER_SHARDS;
}

int64_t vv_ledger_slot_ms(int64_t due_ns)
{
    int64_t due = due_ns < VV_TIME_MIN ? VV_TIME_MIN : due_ns; /* so that rounding is safe */
    return vv_time_floor(due, VV_HOUR) / VV_MILLISECOND;
}

int64_t vv_ledger_end_of(const struct vv_cassandra *store, const struct vv_mark *mark)
{
    int64_t end_ns = vv_cassandra_runs_end(store, &mark->key);
    return end_ns > mark->due_ns ? end_ns : mark->due_ns;
}

/* ---- the text ---- */

void vv_ledger_write_name(const struct vv_ledger_name *name, struct vv_buffer *out)
{
    vv_buffer_format(out, "%lld\t%lld\t%lld\t%u\t%lld\t", (long long)name->due_ns,
                     (long long)name->bucket_s, (long long)name->bucket_length_s,
                     (unsigned)name->split, (long long)name->span_s);
    vv_buffer_str(out, name->tenant);
    vv_buffer_u8(out, SEPARATOR);
    vv_buffer_str(out, name->measurement);
    vv_buffer_u8(out, SEPARATOR);
    vv_buffer_str(out, name->source);
}

/* Up to the next separator, which is passed over; false without one. */
static bool next_field(struct vv_str *text, struct vv_str *field_out)
{
    const char *end = text->size > 0 ? memchr(text->data, SEPARATOR, text->size) : NULL;
    if (!end) {
        return false;
    }
    *field_out = (struct vv_str){text->data, (size_t)(end - text->data)};
    text->size -= field_out->size + 1;
    text->data = end + 1;
    return true;
}

static bool next_number(struct vv_str *text, int64_t min, int64_t max, int64_t *number_out)
{
    struct vv_str field;
    if (!next_field(text, &field)) {
        return false;
    }
    bool is_negative = field.size > 0 && field.data[0] == '-';
    int64_t number = 0;
    for (size_t i = is_negative; i < field.size; i++) {
        int digit = field.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, digit, &number)) { /* below zero there is one more */
            return false;
        }
    }
    if (field.size == (size_t)is_negative || (!is_negative && number == INT64_MIN)) {
        return false;
    }
    *number_out = is_negative ? number : -number;
    return *number_out >= min && *number_out <= max;
}

bool vv_ledger_read_name(struct vv_str text, struct vv_ledger_name *name_out)
{
    struct vv_ledger_name name = {0};
    int64_t split = 0;
    if (!next_number(&text, INT64_MIN, INT64_MAX, &name.due_ns) ||
        !next_number(&text, -SECONDS_MAX, SECONDS_MAX, &name.bucket_s) ||
        !next_number(&text, 1, SECONDS_MAX, &name.bucket_length_s) ||
        !next_number(&text, 0, UINT16_MAX, &split) || !vv_split_is_name((uint16_t)split) ||
        !next_number(&text, -SECONDS_MAX, SECONDS_MAX, &name.span_s) ||
        !next_field(&text, &name.tenant) || !next_field(&text, &name.measurement)) {
        return false;
    }
    name.split = (uint16_t)split;
    name.source = text;
    *name_out = name;
    return true;
}

static void add_name(const struct vv_cassandra *store, struct vvcql_statement *statement,
                     const struct vv_mark *mark)
{
    const struct vv_partition *partition = &mark->key.partition;
    const struct vv_ledger_name name = {
        .due_ns = mark->due_ns,
        .bucket_s = partition->bucket_start / VV_SECOND, /* whole minutes, so s are exact */
        .bucket_length_s = partition->bucket_ns / VV_SECOND,
        .split = partition->split,
        .span_s = mark->key.span_start / VV_SECOND,
        .tenant = vv_cassandra_tenant(store, partition->tenant),
        .measurement = vv_cassandra_measurement(store, mark->key.measurement),
        .source = store->names.source(store->names.context, partition->source),
    };
    struct vv_buffer text = {0};
    vv_ledger_write_name(&name, &text);
    if (vv_buffer_status(&text) == VV_OK) {
        vvcql_add_bytes(statement, text.data, text.size);
    } /* else a value is missing, and the statement fails */
    vv_buffer_deinit(&text);
}

/* ---- statements ---- */

static void add_newest(struct vvcql_statement *statement, const struct vv_mark_out *out)
{
    struct vv_buffer newest = {0};
    vv_buffer_be64(&newest, (uint64_t)out->put_us);
    vv_buffer_be64(&newest, out->mark.run);
    vv_buffer_be64(&newest, (uint64_t)out->mark.span_ns);
    if (vv_buffer_status(&newest) == VV_OK) {
        vvcql_add_bytes(statement, newest.data, newest.size);
    }
    vv_buffer_deinit(&newest);
}

bool vv_ledger_read_newest(struct vv_str bytes, struct vv_mark *mark_out, int64_t *put_us_out)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    *put_us_out = (int64_t)vv_reader_be64(&reader);
    mark_out->run = vv_reader_be64(&reader);
    mark_out->span_ns = (int64_t)vv_reader_be64(&reader);
    return bytes.size == NEWEST_SIZE;
}

static void add_row(const struct vv_cassandra *store, struct vvcql_statement *statement,
                    const struct vv_mark *mark, uint8_t shard, uint32_t node)
{
    vv_ledger_add_part(store, statement, shard, vv_ledger_slot_ms(mark->due_ns), node);
    add_name(store, statement, mark);
}

void vv_ledger_add_part(const struct vv_cassandra *store, struct vvcql_statement *statement,
                        uint8_t shard, int64_t slot_ms, uint32_t node)
{
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, vv_ledger_part_of(shard));
    vvcql_add_timestamp(statement, slot_ms);
    vvcql_add_int(statement, shard);
    vvcql_add_int(statement, (int32_t)node);
}

struct vvcql_statement *vv_ledger_mark_statement(const struct vv_cassandra *store,
                                                 const struct vv_mark_out *out)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.put_ledger);
    int64_t now = store->clock->wall_ns(store->clock);
    vvcql_add_int(statement, vv_cassandra_run_ttl(store, vv_ledger_end_of(store, &out->mark), now));
    vvcql_add_bigint(statement, out->put_us);
    add_newest(statement, out);
    add_row(store, statement, &out->mark, vv_cassandra_shard_of(out->source), store->shared.node);
    vvcql_set_idempotent(statement, true);
    return statement;
}

struct vvcql_statement *vv_ledger_retire_statement(const struct vv_cassandra *store,
                                                   const struct vv_mark *mark, uint8_t shard,
                                                   uint32_t node, int64_t put_us)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.retire_ledger);
    int64_t now = store->clock->wall_ns(store->clock);
    vvcql_add_int(statement, vv_cassandra_run_ttl(store, vv_ledger_end_of(store, mark), now));
    vvcql_add_bigint(statement, put_us);
    vvcql_add_bigint(statement, put_us);
    add_row(store, statement, mark, shard, node);
    vvcql_set_idempotent(statement, true);
    return statement;
}

struct vvcql_statement *vv_ledger_slot_statement(const struct vv_cassandra *store,
                                                 const struct vv_slot_out *slot, int64_t us)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.put_slot);
    int64_t now = store->clock->wall_ns(store->clock);
    vvcql_add_int(statement, vv_cassandra_run_ttl(store, slot->end_ns, now));
    vvcql_add_bigint(statement, us);
    vvcql_add_bigint(statement, us);
    vv_ledger_add_part(store, statement, slot->shard, slot->slot_ms, store->shared.node);
    vvcql_set_idempotent(statement, true);
    return statement;
}
