/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SELECT: which partitions, what their replicas have of them, which rows of that, what of a row.
 *
 * A paging state is where the page ended: the partition key, then the clustering key of its last
 * row, each value with its length, and how many rows the limit still allows.
 */
#include "simulation/cassandra/model.h"

#include "cql/statement_private.h"

#include "simulation/sim_memory.h"

#include <stdlib.h>

struct page_start {
    bool is_given;
    struct cass_partition *partition; /* of the last row; one reference */
    struct cass_clustering clustering;
    int64_t limit;
};

struct selecting {
    struct cass_call *call;
    enum vvcql_consistency consistency;
    struct cass_outcome *outcome;
    struct cass_partition **partitions; /* merged, in their order; one reference each */
    size_t n_partitions;
    struct page_start start;
    bool reversed;
    bool counts; /* COUNT(*) */
    uint64_t count;
    int64_t limit;
    int32_t page_size; /* 0: all */
    uint32_t n_rows;
    struct vvcql_buffer rows;
    struct vvcql_buffer paging_state;
};

/* ---- checks that Cassandra makes ---- */

static bool is_partition_whole(const struct cass_call *call)
{
    size_t n = 0;
    for (size_t i = 0; i < call->ast->n_where; i++) {
        const struct cass_condition *condition = &call->ast->where[i];
        const struct cass_column *column = cass_column(call, condition->columns[0]);
        n += column->kind == CASS_PARTITION_KEY &&
             (condition->operator== CASS_EQ || condition->operator== CASS_IN);
    }
    return n == call->table->n_partition_key;
}

/* Clustering columns may be compared from the first on, each but the last with equality. */
static void check_clustering(const struct cass_call *call)
{
    const struct cass_table *table = call->table;
    bool ended = false;
    for (size_t i = 0; i < table->n_clustering; i++) {
        const struct cass_column *column = &table->columns[table->n_partition_key + i];
        bool found = false;
        bool equal = false;
        bool in_tuple = false;
        bool alone = false;
        for (size_t j = 0; j < call->ast->n_where; j++) {
            const struct cass_condition *condition = &call->ast->where[j];
            for (size_t c = 0; c < condition->n_columns; c++) {
                if (vv_str_equal(condition->columns[c], vv_str_of(column->name))) {
                    found = true;
                    in_tuple |= condition->n_columns > 1;
                    alone |= condition->n_columns == 1;
                    equal = condition->n_columns > 1 ||
                            condition->operator== CASS_EQ || condition->operator== CASS_IN;
                }
            }
        }
        if (in_tuple && alone) {
            cass_give_up(call->ast, "%s is compared alone and in a tuple", column->name);
        }
        if (found && ended) {
            cass_give_up(call->ast, "%s can't be compared: a column before it is not equal",
                         column->name);
        }
        ended = ended || !found || !equal;
    }
}

/* SELECT DISTINCT columns of the partition key … WHERE token(all of it) … */
static void check_distinct(const struct cass_call *call)
{
    const struct cass_ast *ast = call->ast;
    for (size_t i = 0; i < ast->n_selectors; i++) {
        if (ast->selectors[i].kind != CASS_COLUMN ||
            cass_column(call, ast->selectors[i].column)->kind != CASS_PARTITION_KEY) {
            cass_give_up(ast, "DISTINCT is for columns of the partition key");
        }
    }
    for (size_t i = 0; i < ast->n_where; i++) {
        const struct cass_condition *condition = &ast->where[i];
        bool is_whole = condition->is_token && condition->n_columns == call->table->n_partition_key;
        for (size_t j = 0; j < condition->n_columns && is_whole; j++) {
            is_whole = vv_str_equal(condition->columns[j], vv_str_of(call->table->columns[j].name));
        }
        if (!is_whole) {
            cass_give_up(ast, "with DISTINCT only token() of the whole key is known here");
        }
    }
}

static void check(const struct cass_call *call)
{
    const struct cass_ast *ast = call->ast;
    bool needs_filtering = ast->n_where > 0 && !is_partition_whole(call);
    if (ast->is_distinct) {
        check_distinct(call);
        return;
    }
    for (size_t i = 0; i < ast->n_where; i++) {
        if (ast->where[i].is_token) {
            cass_give_up(ast, "token() is known with DISTINCT only");
        }
        needs_filtering |= cass_column(call, ast->where[i].columns[0])->kind == CASS_REGULAR;
        if (ast->where[i].operator== CASS_NE) {
            cass_give_up(ast, "!= is not known in a SELECT");
        }
    }
    if (needs_filtering && !ast->allows_filtering) {
        cass_give_up(ast, "this needs ALLOW FILTERING");
    }
    if (!ast->allows_filtering) {
        check_clustering(call);
    }
    for (size_t i = 0; i < ast->n_selectors; i++) {
        const struct cass_selector *selector = &ast->selectors[i];
        if (selector->kind == CASS_WRITETIME || selector->kind == CASS_TTL) {
            if (cass_column(call, selector->column)->kind != CASS_REGULAR) {
                cass_give_up(ast, "only regular columns have a time");
            }
        } else if (selector->kind == CASS_COUNT && ast->n_selectors > 1) {
            cass_give_up(ast, "COUNT(*) stands alone here");
        }
    }
}

static bool is_reversed(const struct cass_call *call)
{
    const struct cass_ast *ast = call->ast;
    bool reversed = false;
    for (size_t i = 0; i < ast->n_orders; i++) {
        const struct cass_column *column = cass_column(call, ast->orders[i].column);
        bool against = ast->orders[i].descending != column->descending;
        if (column->kind != CASS_CLUSTERING || column->position != i ||
            (i > 0 && against != reversed)) {
            cass_give_up(ast, "rows can only be ordered by the clustering key, or its reverse");
        }
        reversed = against;
    }
    if (ast->n_orders > 0 && !is_partition_whole(call)) {
        cass_give_up(ast, "ORDER BY needs the whole partition key");
    }
    return reversed;
}

/* ---- partitions ---- */

/* Keeps a partition's merged replicas, unless they have nothing. */
static bool add_partition(struct selecting *selecting, const struct cass_partition *like)
{
    struct cass_call *call = selecting->call;
    struct vv_sim_cassandra *cassandra = call->cassandra;
    bool is_serial =
        selecting->consistency == VVCQL_SERIAL || selecting->consistency == VVCQL_LOCAL_SERIAL;
    if (cass_is_unavailable(cassandra, like->token) &&
        cass_replicas_needed(selecting->consistency) > 1) {
        cass_refuse(selecting->outcome, VVCQL_CODE_UNAVAILABLE, "too few replicas are alive");
        return false;
    }
    if (is_serial) {
        cass_decide(cassandra, call->table, like);
    }
    struct cass_partition *merged = cass_partition_create(call->table, like->values);
    cass_read_replicas(cassandra, call->table, cass_replicas_needed(selecting->consistency),
                       merged);
    selecting->partitions = vv_sim_realloc(
        selecting->partitions, (selecting->n_partitions + 1) * sizeof *selecting->partitions);
    selecting->partitions[selecting->n_partitions++] = merged;
    return true;
}

static bool add_whole(struct selecting *selecting)
{
    struct cass_call *call = selecting->call;
    struct vv_str key[CASS_KEY_MAX] = {{0}};
    const struct cass_condition *many = NULL;
    const struct cass_column *many_column = NULL;
    for (size_t i = 0; i < call->ast->n_where; i++) {
        const struct cass_condition *condition = &call->ast->where[i];
        const struct cass_column *column = cass_column(call, condition->columns[0]);
        if (column->kind != CASS_PARTITION_KEY) {
            continue;
        }
        if (condition->operator== CASS_IN) {
            if (many || condition->is_list) {
                cass_give_up(call->ast, "only one IN (…) of the partition key is known here");
            }
            many = condition;
            many_column = column;
        } else if (cass_bind(call, &condition->terms[0], column->type, &key[column->position]) !=
                   CASS_BOUND) {
            cass_give_up(call->ast, "%s must be given, and not null", column->name);
        }
    }
    for (size_t i = 0; i < (many ? many->n_terms : 1); i++) {
        if (many && cass_bind(call, &many->terms[i], many_column->type,
                              &key[many_column->position]) != CASS_BOUND) {
            cass_give_up(call->ast, "%s must be given, and not null", many_column->name);
        }
        struct cass_partition *like = cass_partition_create(call->table, key);
        bool added = add_partition(selecting, like);
        cass_partition_drop(call->table, like);
        if (!added) {
            return false;
        }
    }
    return true;
}

static bool is_in_range(struct cass_call *call, int64_t token)
{
    bool is_in = true;
    for (size_t i = 0; i < call->ast->n_where && call->ast->is_distinct; i++) {
        uint8_t bytes[8];
        vvcql_store_u64(bytes, (uint64_t)token);
        is_in &= cass_fulfils(call, &call->ast->where[i], VVCQL_TYPE_BIGINT,
                              (struct vv_str){(const char *)bytes, sizeof bytes});
    }
    return is_in;
}

/* All that any replica knows of, by token. */
static bool add_all(struct selecting *selecting)
{
    struct cass_table *table = selecting->call->table;
    struct cass_partitions all = {0};
    bool added = true;
    for (uint32_t r = 0; r < CASS_REPLICAS; r++) {
        for (size_t i = 0; i < table->replicas[r].n; i++) {
            (void)cass_partitions_find(table, &all, table->replicas[r].items[i], true);
        }
    }
    for (size_t i = 0; i < all.n && added; i++) {
        if (is_in_range(selecting->call, all.items[i]->token)) {
            added = add_partition(selecting, all.items[i]);
        }
    }
    cass_partitions_deinit(table, &all);
    return added;
}

/* ---- paging ---- */

static void write_start(struct selecting *selecting, const struct cass_partition *partition,
                        const struct cass_row *row)
{
    const struct cass_table *table = selecting->call->table;
    struct vvcql_buffer *state = &selecting->paging_state;
    vvcql_buffer_clear(state);
    for (size_t i = 0; i < table->n_partition_key; i++) {
        cass_put_value(state, partition->values[i]);
    }
    for (size_t i = 0; i < table->n_clustering; i++) {
        cass_put_value(state, row->clustering.values[i]);
    }
    vvcql_write_u64(state, (uint64_t)selecting->limit);
}

static void read_start(struct selecting *selecting)
{
    struct cass_call *call = selecting->call;
    const struct vvcql_buffer *state = &call->values->paging_state;
    struct page_start *start = &selecting->start;
    struct vv_str key[CASS_KEY_MAX];
    if (state->size == 0) {
        return;
    }
    struct vvcql_reader reader = vvcql_reader_of((struct vvcql_bytes){state->data, state->size});
    for (size_t i = 0; i < call->table->n_partition_key; i++) {
        struct vvcql_bytes value = vvcql_read_value(&reader);
        key[i] = (struct vv_str){(const char *)value.data, value.size};
    }
    start->clustering.n = call->table->n_clustering;
    for (size_t i = 0; i < start->clustering.n; i++) {
        struct vvcql_bytes value = vvcql_read_value(&reader);
        start->clustering.values[i] = (struct vv_str){(const char *)value.data, value.size};
    }
    selecting->limit = (int64_t)vvcql_read_u64(&reader);
    if (reader.failed) {
        cass_give_up(call->ast, "the paging state is not one of this statement");
    }
    start->is_given = true;
    start->partition = cass_partition_create(call->table, key);
}

/* Whether the row was in an earlier page. */
static bool was_given(const struct selecting *selecting, const struct cass_partition *partition,
                      const struct cass_row *row)
{
    const struct cass_table *table = selecting->call->table;
    const struct page_start *start = &selecting->start;
    if (!start->is_given) {
        return false;
    }
    for (size_t i = 0; i < table->n_partition_key; i++) {
        if (!vv_str_equal(partition->values[i], start->partition->values[i])) {
            return partition->token < start->partition->token;
        }
    }
    int order = cass_compare_clustering(table, &row->clustering, &start->clustering);
    return selecting->reversed ? order >= 0 : order <= 0;
}

/* ---- rows ---- */

static bool matches(struct selecting *selecting, const struct cass_partition *partition,
                    const struct cass_row *row)
{
    struct cass_call *call = selecting->call;
    int64_t now_s = call->now_us / 1000000;
    for (size_t i = 0; i < call->ast->n_where; i++) {
        const struct cass_condition *condition = &call->ast->where[i];
        if (condition->n_columns > 1) {
            if (!cass_fulfils_tuple(call, condition, &row->clustering)) {
                return false;
            }
            continue;
        }
        const struct cass_column *column = cass_column(call, condition->columns[0]);
        struct vv_str value = cass_column_value(call->table, partition, row, column, now_s);
        if (!value.data || !cass_fulfils(call, condition, column->type, value)) {
            return false;
        }
    }
    return true;
}

static void put_selected(struct selecting *selecting, const struct cass_selector *selector,
                         const struct cass_partition *partition, const struct cass_row *row)
{
    struct cass_call *call = selecting->call;
    int64_t now_s = call->now_us / 1000000;
    const struct cass_column *column = cass_column(call, selector->column);
    if (selector->kind == CASS_COLUMN) {
        cass_put_value(&selecting->rows,
                       cass_column_value(call->table, partition, row, column, now_s));
        return;
    }
    const struct cass_cell *cell = &row->cells[column->position];
    int64_t deleted_at = cass_row_deleted_at(call->table, partition, row);
    uint8_t bytes[8];
    struct vv_str value = {0};
    if (!cass_cell_is_live(cell, deleted_at, now_s)) {
        cass_put_value(&selecting->rows, value);
        return;
    }
    if (selector->kind == CASS_WRITETIME) {
        vvcql_store_u64(bytes, (uint64_t)cell->timestamp);
        value = (struct vv_str){(const char *)bytes, 8};
    } else if (cell->ttl_s > 0) {
        vvcql_store_u32(bytes, (uint32_t)(cell->ends_s - now_s));
        value = (struct vv_str){(const char *)bytes, 4};
    }
    cass_put_value(&selecting->rows, value);
}

static void put_row(struct selecting *selecting, const struct cass_partition *partition,
                    const struct cass_row *row)
{
    const struct cass_ast *ast = selecting->call->ast;
    const struct cass_table *table = selecting->call->table;
    for (size_t i = 0; i < ast->n_selectors; i++) {
        put_selected(selecting, &ast->selectors[i], partition, row);
    }
    for (size_t i = 0; ast->n_selectors == 0 && i < table->n_columns; i++) {
        struct cass_selector all = {CASS_COLUMN, vv_str_of(table->columns[i].name)};
        put_selected(selecting, &all, partition, row);
    }
}

/* False when the page or the limit is full. */
static bool take_row(struct selecting *selecting, const struct cass_partition *partition,
                     const struct cass_row *row)
{
    const struct cass_table *table = selecting->call->table;
    int64_t deleted_at = cass_row_deleted_at(table, partition, row);
    if (was_given(selecting, partition, row) ||
        !cass_row_is_live(table, row, deleted_at, selecting->call->now_us / 1000000) ||
        !matches(selecting, partition, row)) {
        return true;
    }
    if (selecting->counts) {
        selecting->count++;
        return true;
    }
    if (selecting->limit == 0) {
        vvcql_buffer_clear(&selecting->paging_state); /* there is more, but not asked for */
        return false;
    }
    if (selecting->page_size > 0 && selecting->n_rows == (uint32_t)selecting->page_size) {
        return false; /* the state stands at the row before */
    }
    put_row(selecting, partition, row);
    selecting->n_rows++;
    selecting->limit -= selecting->limit > 0;
    write_start(selecting, partition, row);
    return true;
}

/* The first row that is live stands for its partition; of one that was given none is taken. */
static bool take_partition(struct selecting *selecting, const struct cass_partition *partition)
{
    const struct cass_table *table = selecting->call->table;
    const struct cass_partition *last = selecting->start.partition;
    if (last && cass_compare_partitions(table, partition, last) <= 0) {
        return true;
    }
    for (size_t i = 0; i < partition->n_rows; i++) {
        const struct cass_row *row = partition->rows[i];
        int64_t deleted_at = cass_row_deleted_at(table, partition, row);
        if (!cass_row_is_live(table, row, deleted_at, selecting->call->now_us / 1000000)) {
            continue;
        }
        if (selecting->page_size > 0 && selecting->n_rows == (uint32_t)selecting->page_size) {
            return false;
        }
        put_row(selecting, partition, row);
        selecting->n_rows++;
        write_start(selecting, partition, row);
        return true;
    }
    return true;
}

static bool take_partitions(struct selecting *selecting)
{
    for (size_t i = 0; i < selecting->n_partitions; i++) {
        if (!take_partition(selecting, selecting->partitions[i])) {
            return false;
        }
    }
    return true;
}

/* Whether all rows fitted. */
static bool take_rows(struct selecting *selecting)
{
    for (size_t i = 0; i < selecting->n_partitions; i++) {
        const struct cass_partition *partition = selecting->partitions[i];
        for (size_t j = 0; j < partition->n_rows; j++) {
            size_t at = selecting->reversed ? partition->n_rows - 1 - j : j;
            if (!take_row(selecting, partition, partition->rows[at])) {
                return false;
            }
        }
    }
    return true;
}

/* ---- the answer ---- */

static void put_columns(struct selecting *selecting, struct vvcql_buffer *body)
{
    const struct cass_ast *ast = selecting->call->ast;
    const struct cass_table *table = selecting->call->table;
    for (size_t i = 0; i < ast->n_selectors; i++) {
        const struct cass_selector *selector = &ast->selectors[i];
        if (selector->kind == CASS_COUNT) {
            cass_put_column(body, "count", VVCQL_TYPE_BIGINT);
            continue;
        }
        const struct cass_column *column = cass_column(selecting->call, selector->column);
        cass_put_column(body, column->name,
                        selector->kind == CASS_WRITETIME ? VVCQL_TYPE_BIGINT
                        : selector->kind == CASS_TTL     ? VVCQL_TYPE_INT
                                                         : cass_shown_type(table, column));
    }
    for (size_t i = 0; ast->n_selectors == 0 && i < table->n_columns; i++) {
        cass_put_column(body, table->columns[i].name, cass_shown_type(table, &table->columns[i]));
    }
}

static void put_answer(struct selecting *selecting, bool is_last)
{
    const struct cass_ast *ast = selecting->call->ast;
    const struct cass_table *table = selecting->call->table;
    struct vvcql_buffer *body = &selecting->outcome->body;
    struct vvcql_buffer *state = &selecting->paging_state;
    bool has_more = !is_last && state->size > 0;
    cass_put_header(body, table, ast->n_selectors > 0 ? ast->n_selectors : table->n_columns,
                    has_more ? (struct vvcql_bytes){state->data, state->size}
                             : (struct vvcql_bytes){0});
    put_columns(selecting, body);
    vvcql_write_u32(body, selecting->counts ? 1 : selecting->n_rows);
    if (selecting->counts) {
        vvcql_write_u32(body, 8);
        vvcql_write_u64(body, selecting->count);
    } else {
        vvcql_write_bytes(body, selecting->rows.data, selecting->rows.size);
    }
}

void cass_select(struct cass_call *call, enum vvcql_consistency consistency,
                 struct cass_outcome *outcome)
{
    struct selecting selecting = {.call = call,
                                  .consistency = consistency,
                                  .outcome = outcome,
                                  .limit = -1,
                                  .page_size = call->values->page_size};
    check(call);
    selecting.reversed = is_reversed(call);
    selecting.counts = call->ast->n_selectors > 0 && call->ast->selectors[0].kind == CASS_COUNT;
    if (call->ast->has_limit) {
        selecting.limit = cass_bind_number(call, &call->ast->limit, VVCQL_TYPE_INT, -1);
    }
    read_start(&selecting);
    if (is_partition_whole(call) ? add_whole(&selecting) : add_all(&selecting)) {
        put_answer(&selecting,
                   call->ast->is_distinct ? take_partitions(&selecting) : take_rows(&selecting));
    }
    for (size_t i = 0; i < selecting.n_partitions; i++) {
        cass_partition_drop(call->table, selecting.partitions[i]);
    }
    free(selecting.partitions);
    cass_partition_drop(call->table, selecting.start.partition);
    vvcql_buffer_deinit(&selecting.rows);
    vvcql_buffer_deinit(&selecting.paging_state);
}
