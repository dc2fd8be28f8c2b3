/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from Cassandra's own tables what a keyspace has. */
#include "store/cassandra/cassandra.h"
#include "store/cassandra/hint.h"
#include "store/cassandra/schema_private.h"

#include <stdio.h>

#define CHANGE_TIMEOUT_MS 60000 /* it may take its time in a large cluster */
#define MAP_ENTRIES_MAX   64
#define PLAIN_OPTIONS     4

/* Whether asking again helps only after somebody has changed something. */
static bool is_lasting(const struct vvcql_error *from)
{
    return from->status == VVCQL_REFUSED || from->code == VVCQL_CODE_UNAUTHORIZED ||
           from->code == VVCQL_CODE_SYNTAX_ERROR || from->code == VVCQL_CODE_INVALID ||
           from->code == VVCQL_CODE_CONFIG_ERROR;
}

enum vv_status vv_schema_failed(const struct vvcql_error *from, const char *doing,
                                struct vv_error *error)
{
    struct vv_error message = {0};
    const char *hint = vv_cassandra_hint(from);
    enum vv_status status = vv_cassandra_status(from, doing, &message);
    if (status != VV_NO_MEMORY) {
        status = is_lasting(from) ? VV_INVALID : VV_IO;
    }
    return vv_error_set(error, status, "%s%s%s", message.message, hint ? "; " : "",
                        hint ? hint : "");
}

static enum vv_status execute(struct vvcql_session *session, struct vvcql_statement *take_statement,
                              const char *doing, struct vvcql_result **result_out,
                              struct vv_error *error)
{
    struct vvcql_error cql_error = {0};
    if (take_statement) {
        vvcql_set_idempotent(take_statement, true);
    }
    if (vvcql_wait(session, take_statement, result_out, &cql_error) != VVCQL_OK) {
        return vv_schema_failed(&cql_error, doing, error);
    }
    return VV_OK;
}

enum vv_status vv_schema_change(struct vvcql_session *session, const char *cql, const char *doing,
                                struct vvcql_result **result_out, struct vv_error *error)
{
    struct vvcql_statement *statement = vvcql_statement_create(cql);
    if (statement) {
        vvcql_set_timeout(statement, CHANGE_TIMEOUT_MS);
    }
    return execute(session, statement, doing, result_out, error);
}

static struct vv_str str_of(struct vvcql_bytes bytes)
{
    return (struct vv_str){(const char *)bytes.data, bytes.size};
}

/* A text of the present row in the arena; empty when it is null. NULL data: no memory. */
static struct vv_str take_text(struct vv_schema *schema, const struct vvcql_result *result,
                               size_t column)
{
    struct vvcql_bytes bytes = {0};
    (void)vvcql_get_bytes(result, column, &bytes);
    return vv_arena_str(&schema->arena, str_of(bytes));
}

/* "a.b.C" → "C" */
static struct vv_str without_package(struct vv_str name)
{
    for (size_t i = name.size; i > 0; i--) {
        if (name.data[i - 1] == '.') {
            return (struct vv_str){name.data + i, name.size - i};
        }
    }
    return name;
}

/* ---- options ---- */

struct options {
    struct vv_schema_option items[2 * MAP_ENTRIES_MAX + PLAIN_OPTIONS];
    size_t n;
    bool failed; /* no memory */
};

static void add_option(struct vv_schema *schema, struct options *options, const char *group,
                       struct vv_str name, struct vv_str value)
{
    struct vv_buffer whole = {0};
    bool is_class = *group && vv_str_equal(name, VV_STR_LITERAL("class"));
    vv_buffer_format(&whole, "%s%s", group, *group ? "." : "");
    vv_buffer_str(&whole, name);
    struct vv_str kept =
        vv_arena_str(&schema->arena, (struct vv_str){(const char *)whole.data, whole.size});
    struct vv_str kept_value =
        vv_arena_str(&schema->arena, is_class ? without_package(value) : value);
    options->failed = options->failed || whole.failed || !kept.data || !kept_value.data;
    vv_buffer_deinit(&whole);
    vv_invariant(options->n < sizeof options->items / sizeof options->items[0]);
    options->items[options->n++] = (struct vv_schema_option){kept, kept_value};
}

/* The entries of a map of texts; what is beyond MAP_ENTRIES_MAX says nothing to anybody. */
static void add_map(struct vv_schema *schema, struct options *options, const char *group,
                    const struct vvcql_result *result, size_t column)
{
    struct vvcql_elements elements;
    struct vvcql_bytes key;
    struct vvcql_bytes value;
    if (!vvcql_get_elements(result, column, &elements)) {
        return;
    }
    for (size_t i = 0; i < MAP_ENTRIES_MAX && vvcql_next_element(&elements, &key) &&
                       vvcql_next_element(&elements, &value);
         i++) {
        add_option(schema, options, group, str_of(key), str_of(value));
    }
}

static void add_int(struct vv_schema *schema, struct options *options, const char *name,
                    const struct vvcql_result *result, size_t column)
{
    int32_t value;
    char text[16];
    if (vvcql_get_int(result, column, &value)) {
        snprintf(text, sizeof text, "%d", value);
        add_option(schema, options, "", vv_str_of(name), vv_str_of(text));
    }
}

static void add_text(struct vv_schema *schema, struct options *options, const char *name,
                     const struct vvcql_result *result, size_t column)
{
    struct vvcql_bytes value;
    if (vvcql_get_bytes(result, column, &value)) {
        add_option(schema, options, "", vv_str_of(name), str_of(value));
    }
}

/* Into the arena; NULL: no memory. */
static struct vv_schema_option *keep_options(struct vv_schema *schema,
                                             const struct options *options)
{
    size_t size = options->n * sizeof *options->items;
    struct vv_schema_option *kept =
        options->failed ? NULL : vv_arena_alloc(&schema->arena, size > 0 ? size : 1);
    if (kept) {
        memcpy(kept, options->items, size);
    }
    return kept;
}

/* ---- the keyspace ---- */

static enum vv_status read_keyspace(struct vv_schema *schema, struct vvcql_result *result)
{
    struct options options = {.n = 0};
    bool durable;
    schema->exists = vvcql_next_row(result);
    if (!schema->exists) {
        return VV_OK;
    }
    add_map(schema, &options, "replication", result, 0);
    if (vvcql_get_boolean(result, 1, &durable)) {
        add_option(schema, &options, "", VV_STR_LITERAL("durable_writes"),
                   vv_str_of(durable ? "true" : "false"));
    }
    schema->options = keep_options(schema, &options);
    schema->n_options = options.n;
    return schema->options ? VV_OK : VV_NO_MEMORY;
}

/* ---- tables ---- */

static enum vv_status read_table(struct vv_schema *schema, const struct vvcql_result *result)
{
    struct vv_schema_table *table = &schema->tables[schema->n_tables++];
    struct options options = {.n = 0};
    *table = (struct vv_schema_table){.name = take_text(schema, result, 0)};
    add_map(schema, &options, "compaction", result, 1);
    add_map(schema, &options, "compression", result, 2);
    add_int(schema, &options, "gc_grace_seconds", result, 3);
    add_int(schema, &options, "default_time_to_live", result, 4);
    add_text(schema, &options, "speculative_retry", result, 5);
    add_text(schema, &options, "read_repair", result, 6);
    table->options = keep_options(schema, &options);
    table->n_options = options.n;
    return table->name.data && table->options ? VV_OK : VV_NO_MEMORY;
}

static enum vv_status read_tables(struct vv_schema *schema, struct vvcql_result *result)
{
    size_t size = (vvcql_result_rows(result) + 1) * sizeof *schema->tables;
    schema->tables = vv_arena_alloc(&schema->arena, size);
    enum vv_status status = schema->tables ? VV_OK : VV_NO_MEMORY;
    while (status == VV_OK && vvcql_next_row(result)) {
        status = read_table(schema, result);
    }
    return status;
}

/* ---- columns ---- */

static enum vv_status read_column(struct vv_schema *schema, const struct vvcql_result *result,
                                  struct vv_schema_column *column_out)
{
    struct vvcql_bytes order = {0};
    *column_out = (struct vv_schema_column){
        .name = take_text(schema, result, 1),
        .type = take_text(schema, result, 2),
        .kind = take_text(schema, result, 3),
        .position = -1,
    };
    (void)vvcql_get_int(result, 4, &column_out->position);
    (void)vvcql_get_bytes(result, 5, &order);
    column_out->descending = vv_str_equal(str_of(order), VV_STR_LITERAL("desc"));
    return column_out->name.data && column_out->type.data && column_out->kind.data ? VV_OK
                                                                                   : VV_NO_MEMORY;
}

/* Columns come table by table. */
static enum vv_status read_columns(struct vv_schema *schema, struct vvcql_result *result)
{
    size_t size = (vvcql_result_rows(result) + 1) * sizeof(struct vv_schema_column);
    struct vv_schema_column *columns = vv_arena_alloc(&schema->arena, size);
    enum vv_status status = columns ? VV_OK : VV_NO_MEMORY;
    for (size_t n = 0; status == VV_OK && vvcql_next_row(result); n++) {
        struct vvcql_bytes name = {0};
        (void)vvcql_get_bytes(result, 0, &name);
        for (size_t i = 0; i < schema->n_tables; i++) {
            struct vv_schema_table *table = &schema->tables[i];
            if (vv_str_equal(table->name, str_of(name))) {
                table->columns = table->n_columns > 0 ? table->columns : &columns[n];
                table->n_columns++;
            }
        }
        status = read_column(schema, result, &columns[n]);
    }
    return status;
}

/* ---- all ---- */

static enum vv_status read_version(struct vv_schema *schema, struct vvcql_result *result)
{
    int32_t version;
    if (vvcql_next_row(result) && vvcql_get_int(result, 0, &version) && version > 0) {
        schema->version = version;
    }
    return VV_OK;
}

/* Each host has all of this, and one is enough. */
static enum vv_status ask(struct vvcql_session *session, struct vv_schema *schema,
                          const char *select,
                          enum vv_status (*read)(struct vv_schema *, struct vvcql_result *),
                          struct vv_error *error)
{
    char cql[256];
    struct vvcql_result *result;
    snprintf(cql, sizeof cql, "%s WHERE keyspace_name = '%s'", select, schema->keyspace);
    struct vvcql_statement *statement = vvcql_statement_create(cql);
    if (statement) {
        vvcql_set_consistency(statement, VVCQL_ONE);
    }
    enum vv_status status = execute(session, statement, "reading the schema", &result, error);
    if (status == VV_OK) {
        status = read(schema, result);
        vvcql_result_destroy(result);
    }
    return status;
}

/* Only where it can be there: asking for what is missing is an error. */
static enum vv_status ask_version(struct vvcql_session *session, struct vv_schema *schema,
                                  struct vv_error *error)
{
    char cql[160];
    struct vvcql_result *result;
    const struct vv_schema_table *table =
        vv_schema_find_table(schema, VV_STR_LITERAL("varve_schema"));
    if (!table || !vv_schema_find_column(table, VV_STR_LITERAL("version")) ||
        !vv_schema_find_column(table, VV_STR_LITERAL("id"))) {
        return VV_OK;
    }
    snprintf(cql, sizeof cql, "SELECT version FROM %s.varve_schema WHERE id = 'schema'",
             schema->keyspace);
    enum vv_status status = execute(session, vvcql_statement_create(cql),
                                    "reading the schema's version", &result, error);
    if (status == VV_OK) {
        status = read_version(schema, result);
        vvcql_result_destroy(result);
    }
    return status;
}

enum vv_status vv_schema_find(struct vvcql_session *session, const char *keyspace,
                              struct vv_schema *schema_out, struct vv_error *error)
{
    *schema_out = (struct vv_schema){.keyspace = keyspace};
    enum vv_status status =
        ask(session, schema_out, "SELECT replication, durable_writes FROM system_schema.keyspaces",
            read_keyspace, error);
    if (status == VV_OK && schema_out->exists) {
        status = ask(session, schema_out,
                     "SELECT table_name, compaction, compression, gc_grace_seconds, "
                     "default_time_to_live, speculative_retry, read_repair "
                     "FROM system_schema.tables",
                     read_tables, error);
    }
    if (status == VV_OK && schema_out->exists) {
        status = ask(session, schema_out,
                     "SELECT table_name, column_name, type, kind, position, clustering_order "
                     "FROM system_schema.columns",
                     read_columns, error);
    }
    if (status == VV_OK) {
        status = ask_version(session, schema_out, error);
    }
    return status == VV_NO_MEMORY ? vv_error_set(error, status, "out of memory") : status;
}
