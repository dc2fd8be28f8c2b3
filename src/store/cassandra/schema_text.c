/* SPDX-License-Identifier: Apache-2.0 */
/* Schemas as statements of CQL. */
#include "store/cassandra/schema_private.h"

#define WHY_COLUMN 28 /* where the comments of columns begin */

/* Why an option is as it is: a line of the tables' texts. Without apostrophes and semicolons, at
 * which simple readers of CQL stumble; other comments too. */
static const struct {
    const char *option;
    const char *value; /* NULL: any */
    const char *why;
} option_reasons[] = {
    {"compaction", "TimeWindowCompactionStrategy",
     "20 to 30 windows: a whole file goes when its window has expired"},
    {"compaction", "UnifiedCompactionStrategy", "nothing here expires together"},
    {"gc_grace_seconds", NULL,
     "must be longer than the time between two repairs (cassandra.repair_interval)"},
    {"default_time_to_live", NULL, "each row brings its own"},
    {"speculative_retry", NULL, "one slow replica is not waited for"},
    {"read_repair", "NONE",
     "it would write old rows into files of the newest window, which then outlive theirs"},
    {"compression", NULL, "data is packed already: what LZ4 does not shrink is left as it is"},
};

/* 'it''s' */
static void put_quoted(struct vv_buffer *out, struct vv_str text, char quote)
{
    vv_buffer_u8(out, (uint8_t)quote);
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == quote) {
            vv_buffer_u8(out, (uint8_t)quote);
        }
        vv_buffer_u8(out, (uint8_t)text.data[i]);
    }
    vv_buffer_u8(out, (uint8_t)quote);
}

/* A name, in quotes where it needs them. */
static void put_name(struct vv_buffer *out, struct vv_str name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    bool is_plain = name.size > 0 && name.data[0] >= 'a';
    for (size_t i = 0; i < name.size; i++) {
        is_plain = is_plain && name.data[i] != '\0' && strchr(plain, name.data[i]);
    }
    if (is_plain) {
        vv_buffer_str(out, name);
    } else {
        put_quoted(out, name, '"');
    }
}

static void put_comment(struct vv_buffer *out, const char *indent, const char *lines)
{
    while (*lines) {
        size_t size = strcspn(lines, "\n");
        vv_buffer_format(out, "%s-- %.*s\n", indent, (int)size, lines);
        lines += size + (lines[size] == '\n');
    }
}

/* ---- options ---- */

static bool is_number(struct vv_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
    }
    return text.size > 0;
}

/* The option of a group that begins at options[i]: `name = value` or `name = {map}`, of which what
 * follows the first entry stands after `space`; returns the index after it. */
static size_t put_group(struct vv_buffer *out, const struct vv_schema_option *options, size_t n,
                        size_t i, const char *space)
{
    struct vv_str group = vv_schema_group_of(options[i].name);
    vv_buffer_str(out, group);
    vv_buffer_text(out, " = ");
    if (group.size == options[i].name.size) {
        struct vv_str value = options[i].value;
        bool bare = is_number(value) || vv_str_equal(value, VV_STR_LITERAL("true"));
        if (bare) {
            vv_buffer_str(out, value);
        } else {
            put_quoted(out, value, '\'');
        }
        return i + 1;
    }
    vv_buffer_u8(out, '{');
    for (size_t first = i; i < n && vv_str_equal(vv_schema_group_of(options[i].name), group); i++) {
        struct vv_str key = {options[i].name.data + group.size + 1,
                             options[i].name.size - group.size - 1};
        vv_buffer_text(out, i == first ? "" : i == first + 1 ? "," : ", ");
        vv_buffer_text(out, i == first + 1 ? space : "");
        put_quoted(out, key, '\'');
        vv_buffer_text(out, ": ");
        put_quoted(out, options[i].value, '\'');
    }
    vv_buffer_u8(out, '}');
    return i;
}

static void put_reason(struct vv_buffer *out, const struct vv_schema_option *option)
{
    struct vv_str group = vv_schema_group_of(option->name);
    for (size_t i = 0; i < sizeof option_reasons / sizeof option_reasons[0]; i++) {
        if (vv_str_equal(group, vv_str_of(option_reasons[i].option)) &&
            (!option_reasons[i].value ||
             vv_str_equal(option->value, vv_str_of(option_reasons[i].value)))) {
            put_comment(out, "  ", option_reasons[i].why);
            return;
        }
    }
}

/* ---- the keyspace ---- */

void vv_schema_put_keyspace(struct vv_buffer *out, const struct vv_schema *wanted)
{
    vv_buffer_format(out, "CREATE KEYSPACE IF NOT EXISTS %s\n  WITH ", wanted->keyspace);
    for (size_t i = 0; i < wanted->n_options;) {
        vv_buffer_text(out, i > 0 ? "\n  AND " : "");
        i = put_group(out, wanted->options, wanted->n_options, i, " ");
    }
    vv_buffer_text(out, ";\n");
}

void vv_schema_put_version(struct vv_buffer *out, const char *keyspace, int32_t version)
{
    vv_buffer_format(out, "INSERT INTO %s.varve_schema (id, version) VALUES ('schema', %d);\n",
                     keyspace, version);
}

/* ---- tables ---- */

static void put_column(struct vv_buffer *out, const struct vv_schema_column *column)
{
    size_t begin = out->size;
    vv_buffer_format(out, "    %.*s %.*s,", VV_STR_ARG(column->name), VV_STR_ARG(column->type));
    if (column->why) {
        size_t size = out->size - begin;
        vv_buffer_format(out, "%*s-- %s", size < WHY_COLUMN ? (int)(WHY_COLUMN - size) : 1, "",
                         column->why);
    }
    vv_buffer_u8(out, '\n');
}

/* The names of one kind, with commas. Columns stand in the order of their key. */
static size_t put_names(struct vv_buffer *out, const struct vv_schema_table *table,
                        const char *kind, const char *joint, bool with_order)
{
    size_t n = 0;
    size_t line = out->size;
    for (size_t i = 0; i < table->n_columns; i++) {
        const struct vv_schema_column *column = &table->columns[i];
        if (vv_str_equal(column->kind, vv_str_of(kind))) {
            bool is_full = out->size - line > (with_order ? 75 : 50);
            line = is_full ? out->size : line;
            vv_buffer_text(out, is_full ? ",\n    " : n > 0 ? ", " : joint);
            n++;
            vv_buffer_str(out, column->name);
            vv_buffer_text(out, !with_order ? "" : column->descending ? " DESC" : " ASC");
        }
    }
    return n;
}

void vv_schema_put_table(struct vv_buffer *out, const char *keyspace,
                         const struct vv_schema_table *table)
{
    put_comment(out, "", table->why);
    vv_buffer_format(out, "CREATE TABLE IF NOT EXISTS %s.%.*s (\n", keyspace,
                     VV_STR_ARG(table->name));
    for (size_t i = 0; i < table->n_columns; i++) {
        put_column(out, &table->columns[i]);
    }
    vv_buffer_text(out, "    PRIMARY KEY (");
    put_names(out, table, "partition_key", "(", false);
    vv_buffer_u8(out, ')');
    put_names(out, table, "clustering", ", ", false);
    vv_buffer_text(out, ")\n) WITH ");
    bool ordered = put_names(out, table, "clustering", "CLUSTERING ORDER BY (", true) > 0;
    vv_buffer_text(out, ordered ? ")\n" : "");
    for (size_t i = 0; i < table->n_options;) {
        bool first = i == 0 && !ordered;
        if (!first) {
            put_reason(out, &table->options[i]);
        }
        vv_buffer_text(out, first ? "" : "  AND ");
        i = put_group(out, table->options, table->n_options, i, "\n    ");
        vv_buffer_text(out, i < table->n_options ? "\n" : ";\n");
    }
}

/* ---- statements that mend ---- */

static void put_named_group(struct vv_buffer *out, const struct vv_schema_option *options, size_t n,
                            struct vv_str group)
{
    for (size_t i = 0; i < n; i++) {
        if (vv_str_equal(vv_schema_group_of(options[i].name), group)) {
            (void)put_group(out, options, n, i, " ");
            return;
        }
    }
}

void vv_schema_alter_keyspace(struct vv_buffer *out, const struct vv_schema *wanted,
                              struct vv_str group)
{
    vv_buffer_format(out, "ALTER KEYSPACE %s WITH ", wanted->keyspace);
    put_named_group(out, wanted->options, wanted->n_options, group);
}

void vv_schema_alter_options(struct vv_buffer *out, const char *keyspace,
                             const struct vv_schema_table *table, struct vv_str group)
{
    vv_buffer_format(out, "ALTER TABLE %s.%.*s WITH ", keyspace, VV_STR_ARG(table->name));
    put_named_group(out, table->options, table->n_options, group);
}

void vv_schema_add_column(struct vv_buffer *out, const char *keyspace, struct vv_str table,
                          const struct vv_schema_column *column)
{
    vv_buffer_format(out, "ALTER TABLE %s.%.*s ADD %.*s %.*s", keyspace, VV_STR_ARG(table),
                     VV_STR_ARG(column->name), VV_STR_ARG(column->type));
}

void vv_schema_drop_column(struct vv_buffer *out, const char *keyspace, struct vv_str table,
                           struct vv_str column)
{
    vv_buffer_format(out, "ALTER TABLE %s.%.*s DROP ", keyspace, VV_STR_ARG(table));
    put_name(out, column);
}
