/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replica sets: as in a cluster with more hosts than replicas, each range of tokens has replicas of
 * its own, which may be away together. Here a range is a sixteenth of all tokens.
 */
#include "simulation/cassandra/model.h"

#include "cql/prepared.h"
#include "cql/statement_private.h"

static uint32_t set_of(int64_t token)
{
    return (uint32_t)((uint64_t)token >> 60); /* of VV_SIM_CASSANDRA_SETS */
}

bool cass_is_unavailable(const struct vv_sim_cassandra *cassandra, int64_t token)
{
    return (token >= cassandra->unavailable_from && token <= cassandra->unavailable_to) ||
           (cassandra->sets_away >> set_of(token) & 1) != 0;
}

static const struct cass_term *term_of(const struct cass_ast *ast, struct vv_str column)
{
    for (size_t i = 0; i < ast->n_assignments && ast->kind == CASS_INSERT; i++) {
        if (vv_str_equal(ast->assignments[i].column, column)) {
            return &ast->assignments[i].term;
        }
    }
    for (size_t i = 0; i < ast->n_where; i++) {
        const struct cass_condition *condition = &ast->where[i];
        if (condition->n_columns == 1 && condition->operator== CASS_EQ &&
                                         vv_str_equal(condition->columns[0], column)) {
            return &condition->terms[0];
        }
    }
    return NULL;
}

static bool bind_key(struct cass_call *call, struct vv_str key_out[CASS_KEY_MAX])
{
    for (size_t i = 0; i < call->table->n_columns; i++) {
        const struct cass_column *column = &call->table->columns[i];
        if (column->kind != CASS_PARTITION_KEY) {
            continue;
        }
        const struct cass_term *term = term_of(call->ast, vv_str_of(column->name));
        if (!term || (term->kind == CASS_MARKER && term->marker >= call->values->n_values) ||
            cass_bind(call, term, column->type, &key_out[column->position]) != CASS_BOUND) {
            return false;
        }
    }
    return true;
}

uint64_t cass_replica_set(struct vv_sim_cassandra *cassandra,
                          const struct vvcql_statement *statement)
{
    const struct vvcql_statement *first = statement;
    if (statement && statement->kind == VVCQL_KIND_BATCH) {
        first = statement->parts_first;
    }
    if (!first || first->kind != VVCQL_KIND_EXECUTE) {
        return 0;
    }
    struct cass_call call = {.cassandra = cassandra,
                             .ast = cass_parsed(cassandra, vv_str_of(first->prepared->text)),
                             .values = first};
    struct vv_str key[CASS_KEY_MAX] = {{0}};
    uint64_t set = 0;
    call.table = cass_table_find(cassandra, call.ast->keyspace, call.ast->table);
    if (call.table && bind_key(&call, key)) {
        struct cass_partition *like = cass_partition_create(call.table, key);
        set = (set_of(like->token) + 1) * UINT64_C(0x9e3779b97f4a7c15);
        cass_partition_drop(call.table, like);
    }
    vv_arena_deinit(&call.arena);
    return set;
}
