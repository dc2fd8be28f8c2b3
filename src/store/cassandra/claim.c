/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A keyspace belongs to one node of Varve, by the data folder: each node numbers sources and seals
 * by its own marks, so two on one keyspace would lose each other's points. The owner is a random
 * id, kept in the local store; a row of the table `nodes` says who was first.
 */
#include "store/cassandra/cassandra.h"

#include <sys/random.h>

#define OWNER_SIZE 16

static enum vv_status make_owner(struct vv_cassandra *store, uint8_t owner_out[OWNER_SIZE],
                                 struct vv_error *error)
{
    struct vv_store *local = store->local;
    if (getrandom(owner_out, OWNER_SIZE, 0) != OWNER_SIZE) {
        return vv_error_set(error, VV_IO, "the system gives no random numbers");
    }
    owner_out[6] = (uint8_t)((owner_out[6] & 0x0f) | 0x40); /* a random UUID */
    owner_out[8] = (uint8_t)((owner_out[8] & 0x3f) | 0x80);
    enum vv_status status =
        local->ops->put_meta(local, VV_LOCAL_OWNER, (struct vv_str)VV_STR_LITERAL("id"),
                             (struct vv_str){(const char *)owner_out, OWNER_SIZE}, error);
    return status == VV_OK ? local->ops->confirm(local, error) : status;
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

static enum vv_status refuse(const struct vv_cassandra *store, struct vv_error *error)
{
    return vv_error_set(error, VV_LOCKED,
                        "keyspace %s is used by another node of Varve (another data folder), and "
                        "several nodes can't share one yet: choose another cassandra.keyspace, or "
                        "start with that node's folder. If the folder is lost for ever: DELETE "
                        "FROM %s.nodes WHERE region = 'default' AND node = 0",
                        store->keyspace, store->keyspace);
}

/* Whose the keyspace is: VV_OK, VV_NOT_FOUND when it is nobody's, VV_LOCKED. */
static enum vv_status read_owner(struct vv_cassandra *store, const uint8_t own[OWNER_SIZE],
                                 struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->node_owner);
    struct vvcql_result *result;
    struct vvcql_error cql_error;
    uint8_t owner[OWNER_SIZE];
    vvcql_set_idempotent(statement, true);
    if (vvcql_wait(store->session, statement, &result, &cql_error) != VVCQL_OK) {
        return vv_cassandra_status(&cql_error, "looking whose the keyspace is", error);
    }
    bool is_owned = vvcql_next_row(result) && vvcql_get_uuid(result, 0, owner);
    vvcql_result_destroy(result);
    if (!is_owned) {
        return VV_NOT_FOUND;
    }
    return memcmp(owner, own, OWNER_SIZE) == 0 ? VV_OK : refuse(store, error);
}

/* By a lightweight transaction: of two that begin, one is first. */
static enum vv_status become_owner(struct vv_cassandra *store, const uint8_t own[OWNER_SIZE],
                                   struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_prepared(store->claim_node);
    struct vvcql_result *result;
    struct vvcql_error cql_error;
    bool applied = false;
    vvcql_add_uuid(statement, own);
    vvcql_set_serial_consistency(statement, VVCQL_LOCAL_SERIAL);
    if (vvcql_wait(store->session, statement, &result, &cql_error) != VVCQL_OK) {
        return vv_cassandra_status(&cql_error, "claiming the keyspace", error);
    }
    bool told = vvcql_next_row(result) && vvcql_get_boolean(result, 0, &applied);
    vvcql_result_destroy(result);
    if (told && applied) {
        return VV_OK;
    }
    enum vv_status status = read_owner(store, own, error); /* an earlier try may have been ours */
    return status == VV_NOT_FOUND
               ? vv_error_set(error, VV_IO, "Cassandra does not say whose the keyspace is")
               : status;
}

enum vv_status vv_cassandra_claim(struct vv_cassandra *store, struct vv_error *error)
{
    uint8_t own[OWNER_SIZE];
    if (!store->exclusive) {
        return VV_OK;
    }
    enum vv_status status = own_id(store, own, error);
    if (status == VV_OK) {
        status = read_owner(store, own, error);
    }
    if (status == VV_NOT_FOUND) {
        status = become_owner(store, own, error);
    }
    store->exclusive = status != VV_OK; /* once is enough */
    return status;
}
