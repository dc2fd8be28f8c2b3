/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node tells the others: rows of `definitions`, which stay, and the same in rows of
 * `changes`, from which the others learn the newest.
 *
 * Rows of changes ascend by the write clock, and one is written when the one before has landed: a
 * reader that asks for what is above the last one it saw misses nothing. What failed, or may have,
 * is told again as a whole under a later time. A slot is a partition; the next one begins before
 * this one is too large, and a beat says so before it is written to.
 *
 * An entry of a change: kind 1, tenant and name (size as varint, bytes), item (zigzag varint),
 * value (size as varint, bytes).
 */
#include "store/cassandra/cassandra.h"

#include "store/keys.h"

#define CHANGE_BYTES_MAX (32u << 10)
#define SLOT_BYTES_MAX   (4u << 20)
#define VALUE_BYTES_MAX  (1u << 20)

static void encode(struct vv_buffer *buffer, const struct vv_told *told)
{
    vv_buffer_u8(buffer, told->kind);
    vv_buffer_sized(buffer, told->tenant);
    vv_buffer_sized(buffer, told->name);
    vv_buffer_zigzag(buffer, told->item);
    vv_buffer_sized(buffer, told->value);
}

bool vv_told_next(struct vv_reader *reader, struct vv_told *told_out)
{
    if (vv_reader_left(reader) == 0) {
        return false;
    }
    *told_out = (struct vv_told){.kind = vv_reader_u8(reader)};
    told_out->tenant = vv_reader_sized(reader);
    told_out->name = vv_reader_sized(reader);
    told_out->item = vv_reader_zigzag(reader);
    told_out->value = vv_reader_sized(reader);
    return !reader->failed;
}

enum vv_status vv_shared_tell(struct vv_store *base, const struct vv_told *told,
                              struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_buffer *all = &store->shared.told;
    enum vv_status status = vv_cassandra_check(store, error);
    if (status != VV_OK) {
        return status;
    }
    if (told->value.size > VALUE_BYTES_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "a definition is too large to be shared");
    }
    size_t before = all->size;
    encode(all, told);
    if (all->failed) {
        all->failed = false;
        all->size = before;
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing definitions");
    }
    return VV_OK;
}

/* ---- sending ---- */

static enum vv_status put_definition(struct vv_cassandra *store, const struct vv_told *told,
                                     int64_t us, struct vv_error *error)
{
    uint8_t shard;
    if (!vv_cassandra_definition_shard(told->tenant, told->name, &shard)) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing definitions");
    }
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.put_definition);
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, shard);
    vv_cassandra_add_str(statement, told->tenant);
    vvcql_add_int(statement, told->kind);
    vv_cassandra_add_str(statement, told->name);
    vvcql_add_bigint(statement, told->item);
    vvcql_add_int(statement, (int32_t)store->shared.node);
    vv_cassandra_add_str(statement, told->value);
    vvcql_add_bigint(statement, us);
    vvcql_set_idempotent(statement, true);
    return vv_flight_send(&store->flight, statement, error);
}

/* The slot is kept before it is used, so that it never goes back. */
static enum vv_status begin_slot(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_store *local = store->local;
    uint8_t value[8];
    vv_key_put_u64(value, (uint64_t)store->shared.change_slot + 1);
    enum vv_status status =
        local->ops->put_meta(local, VV_LOCAL_CLOCK, (struct vv_str)VV_STR_LITERAL("slot"),
                             (struct vv_str){(char *)value, sizeof value}, error);
    if (status == VV_OK) {
        status = local->ops->confirm(local, error);
    }
    if (status == VV_OK) {
        store->shared.change_slot++;
        store->shared.change_bytes = 0;
        status = vv_shared_say_slot(store, error);
    }
    return status;
}

static enum vv_status put_change(struct vv_cassandra *store, struct vv_str entries,
                                 struct vv_error *error)
{
    int64_t us;
    enum vv_status status = VV_OK;
    if (store->shared.change_bytes + entries.size > SLOT_BYTES_MAX &&
        store->shared.change_bytes > 0) {
        status = begin_slot(store, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_write_us(store, &us, error);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.put_change);
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, (int32_t)store->shared.node);
    vvcql_add_bigint(statement, store->shared.change_slot);
    vvcql_add_bigint(statement, us);
    vv_cassandra_add_str(statement, entries);
    vvcql_add_int(statement, (int32_t)(VV_SCHEMA_CHANGES_LIFE_NS / VV_SECOND));
    vvcql_add_bigint(statement, us);
    vvcql_set_idempotent(statement, true);
    store->shared.change_bytes += entries.size;
    status = vv_flight_send(&store->flight, statement, error);
    return status == VV_OK ? vv_flight_wait(&store->flight, error) : status;
}

/* One change's entries: its definitions first, so that who learns of them while all are read again
 * finds them in one place or the other. */
static enum vv_status send_entries(struct vv_cassandra *store, struct vv_reader *reader,
                                   struct vv_error *error)
{
    struct vv_buffer *all = &store->shared.told;
    size_t begin = store->shared.told_sent;
    size_t end = begin;
    int64_t us;
    struct vv_told told;
    enum vv_status status = vv_cassandra_write_us(store, &us, error);
    while (status == VV_OK && end - begin < CHANGE_BYTES_MAX && vv_told_next(reader, &told)) {
        status = put_definition(store, &told, us, error);
        end = all->size - vv_reader_left(reader);
    }
    if (status == VV_OK) {
        status = put_change(store, (struct vv_str){(char *)all->data + begin, end - begin}, error);
    }
    if (status == VV_OK) {
        store->shared.told_sent = end;
    }
    return status;
}

enum vv_status vv_shared_send_told(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_buffer *all = &store->shared.told;
    enum vv_status status = VV_OK;
    if (store->shared.told_sent == all->size) {
        return VV_OK;
    }
    struct vv_reader reader =
        vv_reader_of(all->data + store->shared.told_sent, all->size - store->shared.told_sent);
    while (status == VV_OK && store->shared.told_sent < all->size) {
        status = send_entries(store, &reader, error);
    }
    return vv_cassandra_failed(store, status);
}
