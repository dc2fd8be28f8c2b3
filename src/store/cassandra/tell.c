/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node tells the others: rows of `definitions`, which stay, and the same in rows of
 * `changes`, from which the others learn the newest.
 *
 * A change comes before its definitions. Other nodes hear of it within moments then, or never: who
 * dies in between hears itself when it is back (learn.c), and tells the rest. The other way round a
 * definition could be found hours later, by whoever reads all, and of a plan that would be too
 * late.
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

void vv_change_add(struct vv_buffer *buffer, const struct vv_told *told)
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
    vv_change_add(all, told);
    if (all->failed) {
        all->failed = false;
        all->size = before;
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing definitions");
    }
    return VV_OK;
}

/* ---- sending ---- */

struct vvcql_statement *vv_told_definition(const struct vv_cassandra *store,
                                           const struct vv_told *told, int64_t us)
{
    uint8_t shard;
    if (!vv_cassandra_definition_shard(told->tenant, told->name, &shard)) {
        return NULL;
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
    return statement;
}

/* Where it is parked, a change may tell it nevertheless. */
static enum vv_status put_definition(struct vv_cassandra *store, const struct vv_told *told,
                                     int64_t us, struct vv_error *error)
{
    struct vvcql_statement *statement = vv_told_definition(store, told, us);
    if (!statement) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while writing definitions");
    }
    if (vv_cassandra_is_away(store, statement, VV_DEAD_BY_WRITE)) {
        vvcql_statement_destroy(statement);
        return vv_park_told(store, told, error);
    }
    enum vv_status status = vv_unpark_told(store, told, error); /* it is older */
    if (status != VV_OK) {
        vvcql_statement_destroy(statement);
        return status;
    }
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

struct vvcql_statement *vv_told_change(struct vv_cassandra *store, struct vv_str entries,
                                       int64_t us)
{
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
    return statement;
}

static enum vv_status park_entries(struct vv_cassandra *store, struct vv_str entries,
                                   struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(entries.data, entries.size);
    struct vv_told told;
    enum vv_status status = VV_OK;
    while (status == VV_OK && vv_told_next(&reader, &told)) {
        status = vv_park_told(store, &told, error);
    }
    return status;
}

/* Another slot helps nobody while this one is away: others read slots to their ends, one after the
 * other. What is parked is told as a whole when it is delivered. */
static enum vv_status put_change(struct vv_cassandra *store, struct vv_str entries,
                                 bool *parked_out, struct vv_error *error)
{
    int64_t us;
    enum vv_status status = VV_OK;
    *parked_out = false;
    if (store->shared.change_bytes + entries.size > SLOT_BYTES_MAX &&
        store->shared.change_bytes > 0 && !vv_shared_is_self_away(store)) {
        status = begin_slot(store, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_write_us(store, &us, error);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vvcql_statement *statement = vv_told_change(store, entries, us);
    if (vv_cassandra_is_away(store, statement, VV_DEAD_BY_WRITE)) {
        vvcql_statement_destroy(statement);
        *parked_out = true;
        return park_entries(store, entries, error);
    }
    status = vv_flight_send(&store->flight, statement, error);
    return status == VV_OK ? vv_flight_wait(&store->flight, error) : status;
}

static enum vv_status put_definitions(struct vv_cassandra *store, struct vv_str entries,
                                      struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(entries.data, entries.size);
    struct vv_told told;
    int64_t us;
    enum vv_status status = vv_cassandra_write_us(store, &us, error);
    while (status == VV_OK && vv_told_next(&reader, &told)) {
        status = put_definition(store, &told, us, error);
    }
    return status == VV_OK ? vv_flight_wait(&store->flight, error) : status;
}

/* As many as one change takes, at least one. */
static struct vv_str next_entries(const struct vv_buffer *all, size_t begin)
{
    struct vv_reader reader = vv_reader_of(all->data + begin, all->size - begin);
    struct vv_told told;
    size_t size = 0;
    while (size < CHANGE_BYTES_MAX && vv_told_next(&reader, &told)) {
        size = all->size - begin - vv_reader_left(&reader);
    }
    return (struct vv_str){(const char *)all->data + begin, size};
}

enum vv_status vv_shared_send_told(struct vv_cassandra *store, struct vv_error *error)
{
    const struct vv_buffer *all = &store->shared.told;
    enum vv_status status = VV_OK;
    while (status == VV_OK && store->shared.told_sent < all->size) {
        struct vv_str entries = next_entries(all, store->shared.told_sent);
        bool is_parked;
        status = put_change(store, entries, &is_parked, error);
        if (status == VV_OK && !is_parked) {
            status = put_definitions(store, entries, error);
        }
        store->shared.told_sent += status == VV_OK ? entries.size : 0;
    }
    return vv_cassandra_failed(store, status);
}

static bool is_away(struct vv_cassandra *store, struct vvcql_statement *take_statement)
{
    bool is = !take_statement || vv_cassandra_is_away(store, take_statement, VV_DEAD_BY_WRITE);
    vvcql_statement_destroy(take_statement);
    return is;
}

bool vv_told_is_away(struct vv_cassandra *store)
{
    return is_away(store, vv_told_change(store, (struct vv_str){"", 0}, 0));
}

bool vv_told_source_is_away(struct vv_cassandra *store, uint32_t tenant, uint32_t source)
{
    const struct vv_told told = {.tenant = vv_cassandra_tenant(store, tenant),
                                 .name = store->names.source(store->names.context, source)};
    return is_away(store, vv_told_definition(store, &told, 0));
}

enum vv_status vv_told_try(struct vv_cassandra *store, struct vv_error *error)
{
    int64_t us;
    enum vv_status status = vv_cassandra_write_us(store, &us, error);
    if (status == VV_OK) {
        struct vvcql_statement *statement = vv_told_change(store, (struct vv_str){"", 0}, us);
        status = vv_flight_send(&store->flight, statement, error);
    }
    return status == VV_OK ? vv_flight_wait(&store->flight, error) : status;
}
