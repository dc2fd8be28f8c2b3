/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables made by CREATE and ALTER, and Cassandra's own that tell of them: system_schema.keyspaces,
 * tables and columns, which are tables like others, and system.local.
 */
#include "simulation/cassandra/model.h"

#include "simulation/sim_memory.h"

#include <stdio.h>
#include <stdlib.h>

struct cass_table *cass_table_find(struct vv_sim_cassandra *cassandra, struct vv_str keyspace,
                                   struct vv_str name)
{
    for (struct cass_table *table = cassandra->tables; table; table = table->next) {
        if (vv_str_equal(vv_str_of(table->keyspace), keyspace) &&
            vv_str_equal(vv_str_of(table->name), name)) {
            return table;
        }
    }
    return NULL;
}

/* ---- what Cassandra tells ---- */

/* Executes an INSERT of Cassandra's own, on all replicas. */
static void note(struct vv_sim_cassandra *cassandra, const struct vv_buffer *cql)
{
    struct cass_outcome outcome = {.error = {.status = VVCQL_OK}};
    struct vvcql_statement *none = vvcql_statement_create("-");
    vv_invariant(!cql->failed && none != NULL);
    struct cass_call call = {.cassandra = cassandra,
                             .ast = cass_parse((struct vv_str){(char *)cql->data, cql->size}),
                             .owns_ast = true,
                             .values = none,
                             .now_us = cassandra->clock->wall_ns(cassandra->clock) / 1000};
    call.write_us = call.now_us;
    call.table = cass_table_find(cassandra, call.ast->keyspace, call.ast->table);
    struct cass_partition *write = cass_build_write(&call, &outcome);
    vv_invariant(write != NULL);
    for (uint32_t r = 0; r < CASS_REPLICAS; r++) {
        cass_apply(r, call.table, write);
    }
    cass_partition_drop(call.table, write);
    cass_ast_destroy(call.ast);
    vv_arena_deinit(&call.arena);
    vvcql_statement_destroy(none);
}

static void put_text(struct vv_buffer *out, struct vv_str text)
{
    vv_buffer_u8(out, '\'');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\'') {
            vv_buffer_u8(out, '\'');
        }
        vv_buffer_u8(out, (uint8_t)text.data[i]);
    }
    vv_buffer_u8(out, '\'');
}

/* The entries of a map among the options, as a serialised map in a blob. */
static void put_map(struct vv_buffer *out, const struct cass_ast *ast, const char *group)
{
    struct vv_buffer map = {0};
    size_t size = strlen(group);
    uint32_t n = 0;
    vv_buffer_be32(&map, 0);
    for (size_t i = 0; i < ast->n_options; i++) {
        struct vv_str name = ast->options[i].name;
        struct vv_str value = ast->options[i].value;
        if (name.size > size && memcmp(name.data, group, size) == 0 && name.data[size] == '.') {
            vv_buffer_be32(&map, (uint32_t)(name.size - size - 1));
            vv_buffer_append(&map, name.data + size + 1, name.size - size - 1);
            vv_buffer_be32(&map, (uint32_t)value.size);
            vv_buffer_str(&map, value);
            n++;
        }
    }
    vv_invariant(!map.failed);
    map.data[3] = (uint8_t)n;
    vv_buffer_text(out, "0x");
    for (size_t i = 0; i < map.size; i++) {
        vv_buffer_format(out, "%02x", map.data[i]);
    }
    vv_buffer_deinit(&map);
}

static struct vv_str option_of(const struct cass_ast *ast, const char *name, const char *otherwise)
{
    for (size_t i = 0; i < ast->n_options; i++) {
        if (vv_str_equal(ast->options[i].name, vv_str_of(name))) {
            return ast->options[i].value;
        }
    }
    return vv_str_of(otherwise);
}

static void note_table(struct vv_sim_cassandra *cassandra, const struct cass_ast *ast)
{
    struct vv_buffer cql = {0};
    vv_buffer_text(&cql, "INSERT INTO system_schema.tables (keyspace_name, table_name, compaction, "
                         "compression, gc_grace_seconds, default_time_to_live, "
                         "speculative_retry, read_repair) VALUES (");
    put_text(&cql, ast->keyspace);
    vv_buffer_text(&cql, ", ");
    put_text(&cql, ast->table);
    vv_buffer_text(&cql, ", ");
    put_map(&cql, ast, "compaction");
    vv_buffer_text(&cql, ", ");
    put_map(&cql, ast, "compression");
    vv_buffer_format(&cql, ", %.*s, %.*s, ",
                     VV_STR_ARG(option_of(ast, "gc_grace_seconds", "864000")),
                     VV_STR_ARG(option_of(ast, "default_time_to_live", "0")));
    put_text(&cql, option_of(ast, "speculative_retry", "99p"));
    vv_buffer_text(&cql, ", ");
    put_text(&cql, option_of(ast, "read_repair", "BLOCKING"));
    vv_buffer_u8(&cql, ')');
    note(cassandra, &cql);
    vv_buffer_deinit(&cql);
}

static void note_column(struct vv_sim_cassandra *cassandra, const struct cass_table *table,
                        const struct cass_column *column)
{
    static const char *const kinds[] = {"partition_key", "clustering", "regular"};
    bool is_clustering = column->kind == CASS_CLUSTERING;
    struct vv_buffer cql = {0};
    vv_buffer_text(&cql, "INSERT INTO system_schema.columns (keyspace_name, table_name, "
                         "column_name, type, kind, position, clustering_order) VALUES (");
    put_text(&cql, vv_str_of(table->keyspace));
    vv_buffer_text(&cql, ", ");
    put_text(&cql, vv_str_of(table->name));
    vv_buffer_text(&cql, ", ");
    put_text(&cql, vv_str_of(column->name));
    vv_buffer_text(&cql, ", ");
    put_text(&cql, vv_str_of(column->type_name));
    vv_buffer_format(&cql, ", '%s', %d, '%s')", kinds[column->kind],
                     column->kind == CASS_REGULAR ? -1 : (int)column->position,
                     !is_clustering       ? "none"
                     : column->descending ? "desc"
                                          : "asc");
    note(cassandra, &cql);
    vv_buffer_deinit(&cql);
}

static void note_keyspace(struct vv_sim_cassandra *cassandra, const struct cass_ast *ast)
{
    struct vv_buffer cql = {0};
    vv_buffer_text(&cql, "INSERT INTO system_schema.keyspaces (keyspace_name, replication, "
                         "durable_writes) VALUES (");
    put_text(&cql, ast->keyspace);
    vv_buffer_text(&cql, ", ");
    put_map(&cql, ast, "replication");
    vv_buffer_format(&cql, ", %.*s)", VV_STR_ARG(option_of(ast, "durable_writes", "true")));
    note(cassandra, &cql);
    vv_buffer_deinit(&cql);
}

/* ---- making tables ---- */

static void copy_name(const struct cass_ast *ast, char out[64], struct vv_str name)
{
    if (name.size >= 64) {
        cass_give_up(ast, "a name is too long");
    }
    snprintf(out, 64, "%.*s", VV_STR_ARG(name));
}

static const struct cass_definition *definition_of(const struct cass_ast *ast, struct vv_str name)
{
    for (size_t i = 0; i < ast->n_definitions; i++) {
        if (vv_str_equal(ast->definitions[i].name, name)) {
            return &ast->definitions[i];
        }
    }
    cass_give_up(ast, "the column %.*s of the key is not there", VV_STR_ARG(name));
}

static struct cass_column *add_column(struct cass_table *table, const struct cass_ast *ast,
                                      const struct cass_definition *definition,
                                      enum cass_column_kind kind, size_t position)
{
    struct cass_column *column = &table->columns[table->n_columns++];
    *column = (struct cass_column){.kind = kind, .position = position};
    copy_name(ast, column->name, definition->name);
    copy_name(ast, column->type_name, definition->type);
    if (!cass_type_of(definition->type, &column->type) || definition->is_static) {
        cass_give_up(ast, "columns like %s are not known here", column->name);
    }
    for (size_t i = 0; i < ast->n_orders && kind == CASS_CLUSTERING; i++) {
        if (vv_str_equal(ast->orders[i].column, definition->name)) {
            column->descending = ast->orders[i].descending;
        }
    }
    return column;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct cass_column *)a)->name, ((const struct cass_column *)b)->name);
}

static void add_columns(struct cass_table *table, const struct cass_ast *ast)
{
    for (size_t i = 0; i < ast->n_partition_key; i++) {
        (void)add_column(table, ast, definition_of(ast, ast->partition_key[i]), CASS_PARTITION_KEY,
                         i);
    }
    for (size_t i = 0; i < ast->n_clustering; i++) {
        (void)add_column(table, ast, definition_of(ast, ast->clustering[i]), CASS_CLUSTERING, i);
    }
    table->n_partition_key = ast->n_partition_key;
    table->n_clustering = ast->n_clustering;
    size_t first = table->n_columns;
    for (size_t i = 0; i < ast->n_definitions; i++) {
        if (!cass_find_column(table, ast->definitions[i].name)) {
            (void)add_column(table, ast, &ast->definitions[i], CASS_REGULAR, 0);
        }
    }
    table->n_regular = table->n_columns - first;
    if (table->n_regular > 1) {
        qsort(table->columns + first, table->n_regular, sizeof *table->columns, compare_names);
    }
    for (size_t i = 0; i < table->n_regular; i++) {
        table->columns[first + i].position = i;
    }
}

static struct cass_table *create_table(struct vv_sim_cassandra *cassandra,
                                       const struct cass_ast *ast)
{
    struct cass_table *table = vv_sim_calloc(1, sizeof *table);
    copy_name(ast, table->keyspace, ast->keyspace);
    copy_name(ast, table->name, ast->table);
    if (ast->n_partition_key == 0 || (ast->n_orders > 0 && ast->n_orders != ast->n_clustering)) {
        cass_give_up(ast, "the primary key or its order is not whole");
    }
    add_columns(table, ast);
    table->default_ttl_s = strtoll(option_of(ast, "default_time_to_live", "0").data, NULL, 10);
    table->next = cassandra->tables;
    cassandra->tables = table;
    return table;
}

/* Rows have a cell for each column. */
static void lengthen_rows(const struct cass_table *table, struct cass_partitions *partitions)
{
    for (size_t i = 0; i < partitions->n; i++) {
        struct cass_partition *partition = partitions->items[i];
        for (size_t j = 0; j < partition->n_rows; j++) {
            cass_row_lengthen(table, &partition->rows[j]);
        }
    }
}

static void alter(struct cass_call *call, struct cass_outcome *outcome)
{
    struct vv_sim_cassandra *cassandra = call->cassandra;
    struct cass_table *table = call->table;
    const struct cass_definition *definition = &call->ast->definitions[0];
    if (cass_find_column(table, definition->name)) {
        if (!call->ast->if_not_exists) {
            cass_refuse(outcome, VVCQL_CODE_INVALID, "the column is there already");
        }
        return;
    }
    while (cassandra->hints.n > 0) {
        cass_deliver_hint(cassandra, 0);
    }
    cass_pending_clear(&cassandra->open);
    const struct cass_column *column =
        add_column(table, call->ast, definition, CASS_REGULAR, table->n_regular);
    table->n_regular++; /* rows have one less until they are longer */
    for (uint32_t r = 0; r < CASS_REPLICAS; r++) {
        lengthen_rows(table, &table->replicas[r]);
    }
    note_column(cassandra, table, column);
}

static void forget_pending(struct cass_pending_list *list, const struct cass_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].table == table) {
            cass_partition_drop(list->items[i].table, list->items[i].write);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->n = kept;
}

/* All hosts must be there. What was written before comes back by no hint. */
static void truncate(struct cass_call *call, struct cass_outcome *outcome)
{
    struct vv_sim_cassandra *cassandra = call->cassandra;
    struct cass_table *table = call->table;
    if (cassandra->sets_away != 0 || cassandra->unavailable_from <= cassandra->unavailable_to) {
        cass_refuse(outcome, VVCQL_CODE_UNAVAILABLE, "too few replicas are alive");
        return;
    }
    forget_pending(&cassandra->hints, table);
    forget_pending(&cassandra->open, table);
    for (uint32_t r = 0; r < CASS_REPLICAS; r++) {
        cass_partitions_deinit(table, &table->replicas[r]);
        table->replicas[r] = (struct cass_partitions){0};
    }
    if (cass_happens(cassandra, cassandra->faults.write_silent)) {
        cass_refuse(outcome, VVCQL_CODE_TRUNCATE_ERROR, "not all replicas answered");
    }
}

void cass_change_schema(struct cass_call *call, struct cass_outcome *outcome)
{
    struct vv_sim_cassandra *cassandra = call->cassandra;
    const struct cass_ast *ast = call->ast;
    if (ast->kind == CASS_ADD_COLUMN) {
        alter(call, outcome);
    } else if (ast->kind == CASS_TRUNCATE) {
        truncate(call, outcome);
    } else if (ast->kind == CASS_CREATE_KEYSPACE) {
        note_keyspace(cassandra, ast);
    } else if (!cass_table_find(cassandra, ast->keyspace, ast->table)) {
        const struct cass_table *table = create_table(cassandra, ast);
        note_table(cassandra, ast);
        for (size_t i = 0; i < table->n_columns; i++) {
            note_column(cassandra, table, &table->columns[i]);
        }
    } else if (!ast->if_not_exists) {
        cass_refuse(outcome, VVCQL_CODE_ALREADY_EXISTS, "the table is there already");
    }
    if (outcome->error.status == VVCQL_OK) {
        cass_put_void(&outcome->body);
    }
}

/* ---- Cassandra's own ---- */

/* Maps are blobs here; readers get them as maps. */
static const char *const own_tables[] = {
    "CREATE TABLE system_schema.keyspaces (keyspace_name text PRIMARY KEY, replication blob, "
    "durable_writes boolean)",
    "CREATE TABLE system_schema.tables (keyspace_name text, table_name text, compaction blob, "
    "compression blob, gc_grace_seconds int, default_time_to_live int, speculative_retry text, "
    "read_repair text, PRIMARY KEY (keyspace_name, table_name))",
    "CREATE TABLE system_schema.columns (keyspace_name text, table_name text, column_name text, "
    "type text, kind text, position int, clustering_order text, PRIMARY KEY (keyspace_name, "
    "table_name, column_name))",
    "CREATE TABLE system.local (key text PRIMARY KEY, schema_version uuid, partitioner text)",
};

static const char *const maps[] = {"replication", "compaction", "compression"};

void cass_tables_init(struct vv_sim_cassandra *cassandra)
{
    for (size_t i = 0; i < sizeof own_tables / sizeof own_tables[0]; i++) {
        struct cass_ast *ast = cass_parse(vv_str_of(own_tables[i]));
        (void)create_table(cassandra, ast);
        cass_ast_destroy(ast);
    }
    struct vv_buffer cql = {0};
    vv_buffer_text(&cql, "INSERT INTO system.local (key, schema_version, partitioner) VALUES "
                         "('local', 00000000-0000-4000-8000-000000000001, "
                         "'org.apache.cassandra.dht.Murmur3Partitioner')");
    note(cassandra, &cql);
    vv_buffer_deinit(&cql);
}

void cass_tables_deinit(struct vv_sim_cassandra *cassandra)
{
    while (cassandra->tables) {
        struct cass_table *table = cassandra->tables;
        cassandra->tables = table->next;
        for (uint32_t r = 0; r < CASS_REPLICAS; r++) {
            cass_partitions_deinit(table, &table->replicas[r]);
        }
        free(table);
    }
}

enum vvcql_type cass_shown_type(const struct cass_table *table, const struct cass_column *column)
{
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        if (column->type == VVCQL_TYPE_BLOB && strcmp(column->name, maps[i]) == 0 &&
            strcmp(table->keyspace, "system_schema") == 0) {
            return VVCQL_TYPE_MAP;
        }
    }
    return column->type;
}
