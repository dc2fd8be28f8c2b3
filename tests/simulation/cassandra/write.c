/* SPDX-License-Identifier: Apache-2.0 */
/* What INSERT, UPDATE and DELETE change, as a partition to be merged. */
#include "simulation/cassandra/model.h"

#include <stdio.h>
#include <stdlib.h>

#define TTL_MAX_S   INT64_C(630720000)
#define EPOCH_END_S INT64_C(2147483646)

void cass_refuse(struct cass_outcome *outcome, int32_t code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    outcome->error = (struct vvcql_error){.status = VVCQL_SERVER, .code = code};
    vsnprintf(outcome->error.message, sizeof outcome->error.message, format, arguments);
    va_end(arguments);
}

/* ---- keys ---- */

/* What the statement says of a column of the key; NULL: nothing. */
static const struct cass_condition *condition_of(const struct cass_call *call, const char *name)
{
    for (size_t i = 0; i < call->ast->n_where; i++) {
        const struct cass_condition *condition = &call->ast->where[i];
        if (condition->n_columns == 1 && vv_str_equal(condition->columns[0], vv_str_of(name))) {
            return condition;
        }
    }
    return NULL;
}

static const struct cass_term *term_of(const struct cass_call *call, const char *name)
{
    const struct cass_ast *ast = call->ast;
    if (ast->kind != CASS_INSERT) {
        const struct cass_condition *condition = condition_of(call, name);
        return condition && condition->operator== CASS_EQ ? &condition->terms[0] : NULL;
    }
    for (size_t i = 0; i < ast->n_assignments; i++) {
        if (vv_str_equal(ast->assignments[i].column, vv_str_of(name))) {
            return &ast->assignments[i].term;
        }
    }
    return NULL;
}

static void bind_key(struct cass_call *call, const struct cass_column *column,
                     struct vv_str *value_out)
{
    const struct cass_term *term = term_of(call, column->name);
    if (!term || cass_bind(call, term, column->type, value_out) != CASS_BOUND) {
        cass_give_up(call->ast, "%s must be given, and not null", column->name);
    }
    if (column->kind == CASS_PARTITION_KEY && call->table->n_partition_key == 1 &&
        value_out->size == 0) {
        cass_give_up(call->ast, "the partition key is empty");
    }
}

/* ---- cells ---- */

static bool take_time(struct cass_call *call, struct cass_cell *cell, struct cass_outcome *outcome)
{
    const struct cass_ast *ast = call->ast;
    int64_t ttl = call->table->default_ttl_s;
    int64_t now_s = call->now_us / 1000000;
    if (ast->has_ttl) {
        ttl = cass_bind_number(call, &ast->ttl, VVCQL_TYPE_INT, 0);
    }
    if (ttl < 0 || ttl > TTL_MAX_S) {
        cass_refuse(outcome, VVCQL_CODE_INVALID, "a TTL of %lld s can't be", (long long)ttl);
        return false;
    }
    if (ttl > 0 && now_s + ttl > EPOCH_END_S) {
        cass_refuse(outcome, VVCQL_CODE_INVALID, "a TTL of %lld s ends too late", (long long)ttl);
        return false;
    }
    *cell = (struct cass_cell){
        .is_set = true,
        .timestamp = ast->has_timestamp ? cass_bind_number(call, &ast->timestamp, VVCQL_TYPE_BIGINT,
                                                           call->write_us)
                                        : call->write_us,
        .ttl_s = (int32_t)ttl,
        .ends_s = ttl > 0 ? now_s + ttl : INT64_MAX,
    };
    if (ast->has_timestamp && cell->timestamp == INT64_MIN) {
        cass_refuse(outcome, VVCQL_CODE_INVALID, "the timestamp is out of bounds");
        return false;
    }
    return true;
}

static void put_cells(struct cass_call *call, struct cass_row *row, const struct cass_cell *time)
{
    for (size_t i = 0; i < call->ast->n_assignments; i++) {
        const struct cass_assignment *assignment = &call->ast->assignments[i];
        const struct cass_column *column = cass_column(call, assignment->column);
        struct vv_str value;
        if (column->kind != CASS_REGULAR) {
            if (call->ast->kind != CASS_INSERT) {
                cass_give_up(call->ast, "%s belongs to the key", column->name);
            }
            continue;
        }
        enum cass_binding binding = cass_bind(call, &assignment->term, column->type, &value);
        struct cass_cell cell = *time;
        if (binding == CASS_UNSET) {
            continue;
        }
        if (binding == CASS_NULL) {
            cell.is_tombstone = true;
            cell.ttl_s = 0;
            cell.ends_s = call->now_us / 1000000;
        } else {
            cell.value = cass_blob_create(value.data, value.size);
        }
        cass_cell_reconcile(&row->cells[column->position], &cell);
        cass_blob_drop(cell.value);
    }
}

/* ---- ranges ---- */

/* Adds a bound of the column behind those that are equal. */
static void bound(struct cass_call *call, const struct cass_column *column,
                  const struct cass_condition *condition, struct cass_range *range)
{
    struct vv_str value;
    if (cass_bind(call, &condition->terms[0], column->type, &value) != CASS_BOUND) {
        cass_give_up(call->ast, "a bound can't be null");
    }
    bool is_lower = condition->operator== CASS_GT || condition->operator== CASS_GE;
    bool is_included = condition->operator== CASS_LE || condition->operator== CASS_GE;
    if (is_lower != column->descending) {
        range->from.values[range->from.n++] = value;
        range->from_included = is_included;
    } else {
        range->to.values[range->to.n++] = value;
        range->to_included = is_included;
    }
}

static void bound_column(struct cass_call *call, const struct cass_column *column,
                         struct cass_range *range, bool *ended)
{
    bool is_equal = false;
    for (size_t i = 0; i < call->ast->n_where; i++) {
        const struct cass_condition *condition = &call->ast->where[i];
        if (condition->n_columns != 1 ||
            condition->operator== CASS_IN || condition->operator== CASS_NE) {
            cass_give_up(call->ast, "a DELETE with such a condition is not known here");
        }
        if (!vv_str_equal(condition->columns[0], vv_str_of(column->name))) {
            continue;
        }
        if (*ended) {
            cass_give_up(call->ast, "%s can't be compared behind a range", column->name);
        }
        is_equal = condition->operator== CASS_EQ;
        if (is_equal) {
            struct vv_str value;
            bind_key(call, column, &value);
            range->from.values[range->from.n++] = value;
            range->to.values[range->to.n++] = value;
        } else {
            bound(call, column, condition, range);
        }
    }
    *ended = !is_equal;
}

static void delete_range(struct cass_call *call, struct cass_partition *partition,
                         int64_t timestamp)
{
    const struct cass_table *table = call->table;
    struct cass_range range = {.from_included = true, .to_included = true, .deleted_at = timestamp};
    bool ended = false;
    for (size_t i = 0; i < table->n_clustering; i++) {
        bound_column(call, &table->columns[table->n_partition_key + i], &range, &ended);
    }
    struct vv_str values[2 * CASS_KEY_MAX];
    memcpy(values, range.from.values, sizeof range.from.values);
    memcpy(values + range.from.n, range.to.values, range.to.n * sizeof *values);
    range.key = cass_keep_values(values, range.from.n + range.to.n);
    memcpy(range.from.values, values, range.from.n * sizeof *values);
    memcpy(range.to.values, values + range.from.n, range.to.n * sizeof *values);
    cass_partition_delete(table, partition, &range);
}

/* ---- statements ---- */

static bool has_whole_clustering(const struct cass_call *call)
{
    const struct cass_table *table = call->table;
    for (size_t i = 0; i < table->n_clustering; i++) {
        if (!term_of(call, table->columns[table->n_partition_key + i].name)) {
            return false;
        }
    }
    return true;
}

static struct cass_row *row_of(struct cass_call *call, struct cass_partition *partition)
{
    const struct cass_table *table = call->table;
    struct cass_clustering clustering = {.n = table->n_clustering};
    for (size_t i = 0; i < table->n_clustering; i++) {
        bind_key(call, &table->columns[table->n_partition_key + i], &clustering.values[i]);
    }
    return cass_partition_row(table, partition, &clustering);
}

static void check_columns(const struct cass_call *call)
{
    for (size_t i = 0; i < call->ast->n_where; i++) {
        for (size_t c = 0; c < call->ast->where[i].n_columns; c++) {
            if (cass_column(call, call->ast->where[i].columns[c])->kind == CASS_REGULAR) {
                cass_give_up(call->ast, "a write can't look for other columns than the key's");
            }
        }
    }
}

static void delete_from(struct cass_call *call, struct cass_partition *partition,
                        const struct cass_cell *time)
{
    const struct cass_table *table = call->table;
    if (call->ast->n_assignments > 0) {
        put_cells(call, row_of(call, partition), time);
    } else if (call->ast->n_where == table->n_partition_key) {
        partition->deleted_at = time->timestamp;
    } else if (has_whole_clustering(call)) {
        row_of(call, partition)->deleted_at = time->timestamp;
    } else {
        delete_range(call, partition, time->timestamp);
    }
}

struct cass_partition *cass_build_write(struct cass_call *call, struct cass_outcome *outcome)
{
    const struct cass_table *table = call->table;
    struct vv_str key[CASS_KEY_MAX];
    struct cass_cell time;
    check_columns(call);
    if (cass_is_conditional(call->ast) && call->ast->has_timestamp) {
        cass_give_up(call->ast, "a conditional statement can't have a timestamp of its own");
    }
    for (size_t i = 0; i < table->n_partition_key; i++) {
        bind_key(call, &table->columns[i], &key[i]);
    }
    if (!take_time(call, &time, outcome)) {
        return NULL;
    }
    struct cass_partition *partition = cass_partition_create(table, key);
    if (call->ast->kind == CASS_DELETE) {
        delete_from(call, partition, &time);
        return partition;
    }
    struct cass_row *row = row_of(call, partition);
    if (call->ast->kind == CASS_INSERT) {
        cass_cell_reconcile(&row->liveness, &time);
    }
    put_cells(call, row, &time);
    return partition;
}
