/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lightweight transactions: one after the other on a partition, each sees all before it. One that
 * timed out may have been decided, or not, or be decided by the next one that comes.
 */
#include "simulation/cassandra/model.h"

static bool is_same(const struct cass_table *table, const struct cass_partition *a,
                    const struct cass_partition *b)
{
    for (size_t i = 0; i < table->n_partition_key; i++) {
        if (!vv_str_equal(a->values[i], b->values[i])) {
            return false;
        }
    }
    return true;
}

/* To a quorum at once; the last replica gets it now or later. */
static void commit(struct vv_sim_cassandra *cassandra, struct cass_table *table,
                   struct cass_partition *write)
{
    uint32_t last = (uint32_t)vv_random_below(&cassandra->random, CASS_REPLICAS);
    for (uint32_t r = 0; r < CASS_REPLICAS; r++) {
        if (r == last && cass_happens(cassandra, cassandra->faults.write_lost)) {
            cass_pend(&cassandra->hints, r, table, write);
        } else {
            cass_apply(r, table, write);
        }
    }
}

void cass_decide(struct vv_sim_cassandra *cassandra, struct cass_table *table,
                 const struct cass_partition *like)
{
    struct cass_pending_list *open = &cassandra->open;
    size_t kept = 0;
    for (size_t i = 0; i < open->n; i++) {
        struct cass_pending_write *one = &open->items[i];
        if (one->table != table || !is_same(table, one->write, like)) {
            open->items[kept++] = *one;
            continue;
        }
        if (vv_random_below(&cassandra->random, 2) == 0) {
            commit(cassandra, table, one->write);
        }
        cass_partition_drop(table, one->write);
    }
    open->n = kept;
}

/* ---- conditions ---- */

/* The row that a statement's conditions are about, in what is there; NULL: none. */
static const struct cass_row *present_row(const struct cass_call *call,
                                          const struct cass_partition *present,
                                          const struct cass_partition *write)
{
    if (write->n_rows != 1) {
        cass_give_up(call->ast, "a conditional statement must be about one row");
    }
    for (size_t i = 0; i < present->n_rows; i++) {
        const struct cass_row *row = present->rows[i];
        if (cass_compare_clustering(call->table, &row->clustering, &write->rows[0]->clustering) ==
            0) {
            int64_t deleted_at = cass_row_deleted_at(call->table, present, row);
            return cass_row_is_live(call->table, row, deleted_at, call->now_us / 1000000) ? row
                                                                                          : NULL;
        }
    }
    return NULL;
}

static bool is_fulfilled(struct cass_call *call, const struct cass_partition *present,
                         const struct cass_row *row)
{
    const struct cass_ast *ast = call->ast;
    if (ast->if_not_exists || ast->if_exists) {
        return (row != NULL) == ast->if_exists;
    }
    for (size_t i = 0; i < ast->n_conditions; i++) {
        const struct cass_condition *condition = &ast->conditions[i];
        const struct cass_column *column = cass_column(call, condition->columns[0]);
        struct vv_str value = {0};
        if (condition->n_columns != 1 || column->kind != CASS_REGULAR) {
            cass_give_up(ast, "IF can only compare regular columns");
        }
        if (row) {
            value = cass_column_value(call->table, present, row, column, call->now_us / 1000000);
        }
        if (!cass_fulfils(call, condition, column->type, value)) {
            return false;
        }
    }
    return true;
}

/* ---- answers ---- */

static void put_not_applied(struct cass_call *call, const struct cass_partition *present,
                            const struct cass_row *row, struct vvcql_buffer *body)
{
    const struct cass_table *table = call->table;
    const struct cass_column *columns[CASS_LIST_MAX];
    size_t n = 0;
    for (size_t i = 0; row && call->ast->n_conditions == 0 && i < table->n_columns; i++) {
        columns[n++] = &table->columns[i];
    }
    for (size_t i = 0; row && i < call->ast->n_conditions; i++) {
        const struct cass_column *column = cass_column(call, call->ast->conditions[i].columns[0]);
        bool is_new = true;
        for (size_t j = 0; j < n; j++) {
            is_new = is_new && columns[j] != column;
        }
        if (is_new) {
            columns[n++] = column;
        }
    }
    cass_put_header(body, table, n + 1, (struct vvcql_bytes){0});
    cass_put_column(body, "[applied]", VVCQL_TYPE_BOOLEAN);
    for (size_t i = 0; i < n; i++) {
        cass_put_column(body, columns[i]->name, columns[i]->type);
    }
    vvcql_write_u32(body, 1);
    cass_put_value(body, (struct vv_str){"\0", 1});
    for (size_t i = 0; i < n; i++) {
        cass_put_value(body,
                       cass_column_value(table, present, row, columns[i], call->now_us / 1000000));
    }
}

static void put_applied(const struct cass_call *call, struct vvcql_buffer *body)
{
    cass_put_header(body, call->table, 1, (struct vvcql_bytes){0});
    cass_put_column(body, "[applied]", VVCQL_TYPE_BOOLEAN);
    vvcql_write_u32(body, 1);
    cass_put_value(body, (struct vv_str){"\1", 1});
}

static void put_unknown(struct vv_sim_cassandra *cassandra, struct cass_outcome *outcome)
{
    cassandra->figures.transactions_unknown++;
    vvcql_buffer_clear(&outcome->body);
    cass_refuse(outcome, VVCQL_CODE_WRITE_TIMEOUT, "the transaction timed out");
    outcome->error.write_type = VVCQL_WRITE_CAS;
    outcome->error.outcome_unknown = true;
}

/* ---- one transaction ---- */

static void next_ballot(struct cass_call *calls, size_t n)
{
    struct vv_sim_cassandra *cassandra = calls->cassandra;
    int64_t now_us = calls->now_us;
    cassandra->ballot_us = now_us > cassandra->ballot_us ? now_us : cassandra->ballot_us + 1;
    for (size_t i = 0; i < n; i++) {
        calls[i].write_us = cassandra->ballot_us;
    }
}

/* What the statements write together; NULL when Cassandra refuses one. */
static struct cass_partition *build(struct cass_call *calls, size_t n,
                                    struct cass_partition **writes, struct cass_outcome *outcome)
{
    struct cass_partition *whole = NULL;
    for (size_t i = 0; i < n; i++) {
        writes[i] = cass_build_write(&calls[i], outcome);
        if (!writes[i]) {
            cass_partition_drop(calls->table, whole);
            return NULL;
        }
        if (i > 0 &&
            (calls[i].table != calls[0].table || !is_same(calls->table, writes[i], writes[0]))) {
            cass_give_up(calls[i].ast, "a conditional batch must have one partition");
        }
        whole = whole ? whole : cass_partition_create(calls->table, writes[0]->values);
        cass_partition_merge(calls->table, whole, writes[i]);
    }
    return whole;
}

/* Decides and writes; whether it was applied. */
static bool carry_out(struct cass_call *calls, size_t n, struct cass_partition **writes,
                      struct cass_partition *whole, struct cass_outcome *outcome)
{
    struct vv_sim_cassandra *cassandra = calls->cassandra;
    struct cass_partition *present = cass_partition_create(calls->table, whole->values);
    bool applied = true;
    cass_read_replicas(cassandra, calls->table, CASS_QUORUM, present);
    for (size_t i = 0; i < n && applied; i++) {
        if (cass_is_conditional(calls[i].ast)) {
            const struct cass_row *row = present_row(&calls[i], present, writes[i]);
            applied = is_fulfilled(&calls[i], present, row);
            if (!applied) {
                put_not_applied(&calls[i], present, row, &outcome->body);
            }
        }
    }
    cass_partition_drop(calls->table, present);
    if (applied) {
        put_applied(calls, &outcome->body);
    }
    return applied;
}

void cass_transact(struct cass_call *calls, size_t n, struct cass_outcome *outcome)
{
    struct vv_sim_cassandra *cassandra = calls->cassandra;
    struct cass_partition *writes[CASS_LIST_MAX] = {NULL};
    if (n > CASS_LIST_MAX) {
        cass_give_up(calls->ast, "too many statements in a conditional batch");
    }
    cassandra->figures.transactions++;
    next_ballot(calls, n);
    struct cass_partition *whole = build(calls, n, writes, outcome);
    if (whole && cass_is_unavailable(cassandra, whole->token)) {
        cass_refuse(outcome, VVCQL_CODE_UNAVAILABLE, "too few replicas are alive");
        outcome->error.outcome_unknown = true;
    } else if (whole && cass_happens(cassandra, cassandra->faults.transaction_lost)) {
        put_unknown(cassandra, outcome);
    } else if (whole) {
        cass_decide(cassandra, calls->table, whole);
        if (carry_out(calls, n, writes, whole, outcome)) {
            if (cass_happens(cassandra, cassandra->faults.transaction_open)) {
                cass_pend(&cassandra->open, CASS_REPLICAS, calls->table, whole);
                put_unknown(cassandra, outcome);
            } else {
                commit(cassandra, calls->table, whole);
            }
        }
        if (outcome->error.status == VVCQL_OK &&
            cass_happens(cassandra, cassandra->faults.transaction_done)) {
            put_unknown(cassandra, outcome);
        }
    }
    cass_partition_drop(calls->table, whole);
    for (size_t i = 0; i < n; i++) {
        cass_partition_drop(calls->table, writes[i]);
    }
}
