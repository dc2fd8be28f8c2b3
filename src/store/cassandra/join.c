/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes: each has a number, which its stamps carry, for as long as its data folder lives. The
 * number goes with a random id that is kept in the local store; a row of the table `nodes` says
 * whose it is. Beats are written to the same row.
 */
#include "store/cassandra/cassandra.h"

#include "store/keys.h"

#include <stdlib.h>
#include <sys/random.h>

#define OWNER_SIZE 16
#define TRIES_MAX  64 /* when many nodes join at once */

/* ---- what the local store knows ---- */

static enum vv_status keep_local(struct vv_cassandra *store, const char *name, const void *bytes,
                                 size_t size, struct vv_error *error)
{
    struct vv_store *local = store->local;
    enum vv_status status = local->ops->put_meta(local, VV_LOCAL_OWNER, vv_str_of(name),
                                                 (struct vv_str){(const char *)bytes, size}, error);
    return status == VV_OK ? local->ops->confirm(local, error) : status;
}

static enum vv_status make_owner(struct vv_cassandra *store, uint8_t owner_out[OWNER_SIZE],
                                 struct vv_error *error)
{
    if (getrandom(owner_out, OWNER_SIZE, 0) != OWNER_SIZE) {
        return vv_error_set(error, VV_IO, "the system gives no random numbers");
    }
    owner_out[6] = (uint8_t)((owner_out[6] & 0x0f) | 0x40); /* a random UUID */
    owner_out[8] = (uint8_t)((owner_out[8] & 0x3f) | 0x80);
    return keep_local(store, "id", owner_out, OWNER_SIZE, error);
}

static enum vv_status own_id(struct vv_cassandra *store, uint8_t owner_out[OWNER_SIZE],
                             struct vv_error *error)
{
    struct vv_buffer value = {0};
    struct vv_str key = VV_STR_LITERAL("id");
    enum vv_status status =
        store->local->ops->get_meta(store->local, VV_LOCAL_OWNER, key, &value, error);
    if (status == VV_OK && value.size == OWNER_SIZE) {
        memcpy(owner_out, value.data, OWNER_SIZE);
    } else if (status == VV_NOT_FOUND) {
        status = make_owner(store, owner_out, error);
    } else if (status == VV_OK) {
        status = vv_error_set(error, VV_CORRUPT, "the id of this node is damaged");
    }
    vv_buffer_deinit(&value);
    return status;
}

/* The number stands beside the region: a folder that moves to another one joins anew. */
enum vv_status vv_shared_load_node(struct vv_cassandra *store, struct vv_error *error)
{
    struct vv_buffer value = {0};
    struct vv_str key = VV_STR_LITERAL("node");
    struct vv_str region = vv_str_of(store->shared.region);
    enum vv_status status =
        store->local->ops->get_meta(store->local, VV_LOCAL_OWNER, key, &value, error);
    if (status == VV_OK && value.size == 4 + region.size &&
        memcmp(value.data + 4, region.data, region.size) == 0) {
        store->shared.node = vv_key_get_u32(value.data);
    }
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}

static enum vv_status keep_node(struct vv_cassandra *store, uint32_t node, struct vv_error *error)
{
    uint8_t value[4 + VV_REGION_SIZE];
    size_t size = strlen(store->shared.region);
    vv_key_put_u32(value, node);
    memcpy(value + 4, store->shared.region, size);
    enum vv_status status = keep_local(store, "node", value, 4 + size, error);
    if (status == VV_OK) {
        store->shared.node = node;
    }
    return status;
}

/* ---- joining ---- */

/* Numbers are unique over all regions, though these may not hear of each other: each gives out
 * those that leave a rest of their own. */
#define NUMBER_STEP VV_REGIONS_MAX

struct joining {
    uint32_t mine; /* 0: there is none */
    uint32_t free; /* the least number of this region that nobody has */
};

static enum vv_status look(struct vv_cassandra *store, const uint8_t owner[OWNER_SIZE],
                           struct joining *out, struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->views[0].read_nodes);
    struct vvcql_result *result;
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_set_idempotent(statement, true);
    enum vv_status status = vv_cassandra_ask(store, &statement, 1, &result, error);
    if (status != VV_OK) {
        return status;
    }
    *out = (struct joining){.free = 1 + (uint32_t)store->own_region};
    int32_t node;
    uint8_t whose[OWNER_SIZE];
    while (vvcql_next_row(result) && vvcql_get_int(result, 0, &node)) { /* ascending */
        out->free += (uint32_t)node == out->free ? NUMBER_STEP : 0;
        if (vvcql_get_uuid(result, 1, whose) && memcmp(whose, owner, OWNER_SIZE) == 0) {
            out->mine = (uint32_t)node;
            (void)vvcql_get_bigint(result, 3, &store->parking.beaten_ns);
        }
    }
    vvcql_result_destroy(result);
    return VV_OK;
}

/* Of two that begin, one is first; the other looks again. */
static enum vv_status take_number(struct vv_cassandra *store, const uint8_t owner[OWNER_SIZE],
                                  uint32_t number, struct vv_error *error)
{
    if (number > VV_STAMP_NODE_MAX) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "keyspace %s has %u nodes of Varve in region %s, and can't have more: "
                            "delete those that are gone for ever from %s.nodes",
                            store->keyspace, VV_STAMP_NODE_MAX / NUMBER_STEP, store->shared.region,
                            store->keyspace);
    }
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.join);
    struct vvcql_result *result;
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, (int32_t)number);
    vvcql_add_uuid(statement, owner);
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    enum vv_status status = vv_cassandra_ask(store, &statement, 1, &result, error);
    if (status == VV_OK) {
        vvcql_result_destroy(result);
    }
    return status;
}

enum vv_status vv_shared_join(struct vv_cassandra *store, struct vv_error *error)
{
    uint8_t owner[OWNER_SIZE];
    enum vv_status status = own_id(store, owner, error);
    struct joining joining = {0};
    for (int i = 0; i < TRIES_MAX && status == VV_OK && joining.mine == 0; i++) {
        if (i > 0) {
            status = take_number(store, owner, joining.free, error);
            /* Whatever came of it, the row tells. */
            status = status == VV_IO ? VV_OK : status;
        }
        if (status == VV_OK) {
            status = look(store, owner, &joining, error);
        }
    }
    if (status == VV_OK && joining.mine == 0) {
        status = vv_error_set(error, VV_IO, "Cassandra does not say which node this is");
    }
    if (status == VV_OK && store->shared.node != 0 && joining.mine != store->shared.node) {
        status = vv_error_set(error, VV_INVALID,
                              "this data folder was node %u of keyspace %s and is node %u now: its "
                              "row in %s.nodes was deleted or changed. Start with the folder's own "
                              "keyspace, or with an empty folder",
                              store->shared.node, store->keyspace, joining.mine, store->keyspace);
    }
    if (status == VV_OK && store->shared.node == 0) {
        status = keep_node(store, joining.mine, error);
    }
    return status == VV_OK ? vv_purge_join(store, error) : status;
}

/* ---- beats ---- */

static enum vv_status execute(struct vv_cassandra *store, struct vvcql_statement *take_statement,
                              struct vv_error *error)
{
    struct vvcql_result *result;
    vvcql_set_idempotent(take_statement, true);
    enum vv_status status = vv_cassandra_ask(store, &take_statement, 1, &result, error);
    if (status == VV_OK) {
        vvcql_result_destroy(result);
    }
    return status;
}

static void add_self(const struct vv_cassandra *store, struct vvcql_statement *statement)
{
    vv_cassandra_add_str(statement, vv_str_of(store->shared.region));
    vvcql_add_int(statement, (int32_t)store->shared.node);
}

enum vv_status vv_shared_beat(struct vv_store *base, int64_t flushed_until_ns,
                              struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    int64_t us;
    enum vv_status status = vv_cassandra_check(store, error);
    if (status == VV_OK) {
        status = vv_shared_send_told(store, error); /* a beat says that they are there */
    }
    if (status == VV_OK) {
        status = vv_cassandra_turn(store, error);
    }
    if (status == VV_OK) {
        status = vv_cassandra_write_us(store, &us, error);
    }
    if (status != VV_OK) {
        return status;
    }
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.put_beat);
    vvcql_add_bigint(statement, us);
    vvcql_add_bigint(statement, us);
    vvcql_add_bigint(statement, vv_parking_bound(&store->parking, flushed_until_ns));
    vvcql_add_bigint(statement, store->shared.change_slot);
    vvcql_add_int(statement, atomic_load(&store->shared.is_partial));
    add_self(store, statement);
    return execute(store, statement, error);
}

static struct vvcql_statement *slot_statement(const struct vv_cassandra *store, int64_t us)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->shared.say_slot);
    vvcql_add_bigint(statement, us);
    vvcql_add_bigint(statement, store->shared.change_slot);
    vvcql_add_int(statement, vv_purge_tables(store));
    add_self(store, statement);
    return statement;
}

bool vv_shared_is_self_away(struct vv_cassandra *store)
{
    struct vvcql_statement *statement = slot_statement(store, 0);
    bool is = vv_cassandra_is_away(store, statement, VV_DEAD_BY_WRITE);
    vvcql_statement_destroy(statement);
    return is;
}

enum vv_status vv_shared_say_slot(struct vv_cassandra *store, struct vv_error *error)
{
    int64_t us;
    enum vv_status status = vv_cassandra_write_us(store, &us, error);
    if (status != VV_OK) {
        return status;
    }
    return execute(store, slot_statement(store, us), error);
}
