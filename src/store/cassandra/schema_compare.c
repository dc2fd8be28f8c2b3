/* SPDX-License-Identifier: Apache-2.0 */
/* What is different between the schema that should be and the one that is. */
#include "store/cassandra/schema_private.h"

#include <stdio.h>
#include <stdlib.h>

#define STR(text) VV_STR_LITERAL(text)
#define TEXT(text)                                                                                 \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    } /* in a static table */

struct comparing {
    const struct vv_schema *wanted;
    const struct vv_schema *found;
    struct vv_schema_report *report;
    bool failed; /* no memory */
};

/* ---- the report ---- */

static struct vv_str keep(struct comparing *comparing, struct vv_str text)
{
    struct vv_str copy = vv_arena_str(&comparing->report->arena, text);
    comparing->failed = comparing->failed || !copy.data;
    return copy.data ? copy : STR("");
}

static void add(struct comparing *comparing, const struct vv_schema_difference *difference)
{
    struct vv_schema_report *report = comparing->report;
    if (report->n == report->capacity) {
        size_t capacity = report->capacity > 0 ? report->capacity * 2 : 16;
        struct vv_schema_difference *longer =
            realloc(report->differences, capacity * sizeof *longer);
        if (!longer) {
            comparing->failed = true;
            return;
        }
        report->differences = longer;
        report->capacity = capacity;
    }
    report->differences[report->n++] = (struct vv_schema_difference){
        .table = keep(comparing, difference->table),
        .what = keep(comparing, difference->what),
        .found = keep(comparing, difference->found),
        .wanted = keep(comparing, difference->wanted),
        .mend = difference->mend,
        .statement = keep(comparing, difference->statement),
        .breaks = difference->breaks,
    };
}

/* The same with a statement, which is deinited. */
static void add_alter(struct comparing *comparing, struct vv_schema_difference *difference,
                      struct vv_buffer *take_statement)
{
    comparing->failed = comparing->failed || vv_buffer_status(take_statement) != VV_OK;
    difference->mend = VV_MEND_ALTER;
    difference->statement =
        (struct vv_str){(const char *)take_statement->data, take_statement->size};
    add(comparing, difference);
    vv_buffer_deinit(take_statement);
}

/* ---- columns ---- */

/* "text, partition key 1", "bigint, clustering 3 descending", "blob". */
static struct vv_str describe(const struct vv_schema_column *column, char *out, size_t out_size)
{
    bool key = vv_str_equal(column->kind, STR("partition_key"));
    bool clustering = vv_str_equal(column->kind, STR("clustering"));
    int size = snprintf(out, out_size, "%.*s", VV_STR_ARG(column->type));
    size_t used = size < 0 || (size_t)size >= out_size ? out_size - 1 : (size_t)size;
    if (key || clustering) {
        snprintf(out + used, out_size - used, ", %s %d%s", key ? "partition key" : "clustering",
                 column->position + 1, column->descending ? " descending" : "");
    } else if (!vv_str_equal(column->kind, STR("regular"))) {
        snprintf(out + used, out_size - used, ", %.*s", VV_STR_ARG(column->kind));
    }
    return vv_str_of(out);
}

static bool is_same_column(const struct vv_schema_column *a, const struct vv_schema_column *b)
{
    return vv_str_equal(a->type, b->type) && vv_str_equal(a->kind, b->kind) &&
           a->position == b->position && a->descending == b->descending;
}

static bool is_key(const struct vv_schema_column *column)
{
    return vv_str_equal(column->kind, STR("partition_key")) ||
           vv_str_equal(column->kind, STR("clustering"));
}

static void compare_column(struct comparing *comparing, struct vv_str table,
                           const struct vv_schema_column *wanted,
                           const struct vv_schema_column *found)
{
    char what[128];
    char texts[2][160];
    if (wanted && found && is_same_column(wanted, found)) {
        return;
    }
    const struct vv_schema_column *any = wanted ? wanted : found;
    snprintf(what, sizeof what, "column %.*s", VV_STR_ARG(any->name));
    struct vv_schema_difference difference = {
        .table = table,
        .what = vv_str_of(what),
        .found = found ? describe(found, texts[0], sizeof texts[0]) : STR("missing"),
        .wanted = wanted ? describe(wanted, texts[1], sizeof texts[1]) : STR("no such column"),
        .mend = VV_MEND_NONE,
        .breaks = wanted != NULL || is_key(found),
    };
    struct vv_buffer statement = {0};
    if (!found && !is_key(wanted)) {
        vv_schema_add_column(&statement, comparing->wanted->keyspace, table, wanted);
        add_alter(comparing, &difference, &statement);
    } else if (!wanted && !is_key(found)) {
        vv_schema_drop_column(&statement, comparing->wanted->keyspace, table, found->name);
        add_alter(comparing, &difference, &statement);
    } else {
        add(comparing, &difference);
    }
}

static void compare_columns(struct comparing *comparing, const struct vv_schema_table *wanted,
                            const struct vv_schema_table *found)
{
    for (size_t i = 0; i < wanted->n_columns; i++) {
        compare_column(comparing, wanted->name, &wanted->columns[i],
                       vv_schema_find_column(found, wanted->columns[i].name));
    }
    for (size_t i = 0; i < found->n_columns; i++) {
        if (!vv_schema_find_column(wanted, found->columns[i].name)) {
            compare_column(comparing, wanted->name, NULL, &found->columns[i]);
        }
    }
}

/* ---- options ---- */

struct option_lists {
    const struct vv_schema_table *table; /* as wanted; NULL: the keyspace */
    const struct vv_schema_option *wanted;
    size_t n_wanted;
    const struct vv_schema_option *found;
    size_t n_found;
};

static void differ(struct comparing *comparing, const struct option_lists *lists,
                   struct vv_str name, const struct vv_schema_option *found,
                   const struct vv_schema_option *wanted)
{
    struct vv_buffer statement = {0};
    struct vv_str group = vv_schema_group_of(name);
    struct vv_schema_difference difference = {
        .table = lists->table ? lists->table->name : STR(""),
        .what = name,
        .found = found ? found->value : STR("not set"),
        .wanted = wanted ? wanted->value : STR("not set"),
        /* without it what Cassandra has acknowledged does not survive a power cut */
        .breaks = vv_str_equal(name, STR("durable_writes")),
    };
    if (lists->table) {
        vv_schema_alter_options(&statement, comparing->wanted->keyspace, lists->table, group);
    } else {
        vv_schema_alter_keyspace(&statement, comparing->wanted, group);
    }
    add_alter(comparing, &difference, &statement);
}

/* What Cassandra adds by itself, or what somebody wrote that says nothing new. */
static bool is_default(const struct vv_schema_option *option)
{
    static const struct vv_schema_option defaults[] = {
        {TEXT("compaction.min_threshold"), TEXT("4")},
        {TEXT("compaction.max_threshold"), TEXT("32")},
        {TEXT("compaction.enabled"), TEXT("true")},
        {TEXT("compaction.timestamp_resolution"), TEXT("MICROSECONDS")},
        {TEXT("compaction.unsafe_aggressive_sstable_expiration"), TEXT("false")},
        {TEXT("compaction.scaling_parameters"), TEXT("T4")},
        {TEXT("compression.enabled"), TEXT("true")},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        if (vv_str_equal(option->name, defaults[i].name) &&
            vv_str_equal(option->value, defaults[i].value)) {
            return true;
        }
    }
    return false;
}

/* The option `class` of a map, when it is another one: then what else is in the map says nothing.
 */
static bool has_other_class(const struct option_lists *lists, struct vv_str group)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s.class", VV_STR_ARG(group));
    const struct vv_schema_option *wanted =
        vv_schema_find_option(lists->wanted, lists->n_wanted, vv_str_of(name));
    const struct vv_schema_option *found =
        vv_schema_find_option(lists->found, lists->n_found, vv_str_of(name));
    return wanted && (!found || !vv_str_equal(wanted->value, found->value));
}

static bool is_class(struct vv_str name)
{
    return name.size > 6 && memcmp(name.data + name.size - 6, ".class", 6) == 0;
}

static void compare_wanted_options(struct comparing *comparing, const struct option_lists *lists)
{
    for (size_t i = 0; i < lists->n_wanted; i++) {
        const struct vv_schema_option *wanted = &lists->wanted[i];
        const struct vv_schema_option *found =
            vv_schema_find_option(lists->found, lists->n_found, wanted->name);
        bool same = found && vv_str_equal(found->value, wanted->value);
        bool idle =
            !is_class(wanted->name) && has_other_class(lists, vv_schema_group_of(wanted->name));
        if (!same && !idle) {
            differ(comparing, lists, wanted->name, found, wanted);
        }
    }
}

/* What stands in a map beside what is wanted there. Options that nobody wants are the operator's.
 */
static void compare_found_options(struct comparing *comparing, const struct option_lists *lists)
{
    for (size_t i = 0; i < lists->n_found; i++) {
        const struct vv_schema_option *found = &lists->found[i];
        struct vv_str group = vv_schema_group_of(found->name);
        bool mapped = group.size < found->name.size;
        bool ours = false;
        for (size_t j = 0; j < lists->n_wanted; j++) {
            ours = ours || vv_str_equal(vv_schema_group_of(lists->wanted[j].name), group);
        }
        if (mapped && ours && !has_other_class(lists, group) && !is_default(found) &&
            !vv_schema_find_option(lists->wanted, lists->n_wanted, found->name)) {
            differ(comparing, lists, found->name, found, NULL);
        }
    }
}

static void compare_options(struct comparing *comparing, const struct option_lists *lists)
{
    compare_wanted_options(comparing, lists);
    compare_found_options(comparing, lists);
}

/* ---- all ---- */

static void add_missing(struct comparing *comparing, struct vv_str table, const char *what)
{
    const struct vv_schema_difference difference = {
        .table = table,
        .what = vv_str_of(what),
        .found = STR("missing"),
        .wanted = STR("there"),
        .mend = VV_MEND_APPLY,
        .breaks = true,
    };
    add(comparing, &difference);
}

static void compare_table(struct comparing *comparing, const struct vv_schema_table *wanted)
{
    const struct vv_schema_table *found = vv_schema_find_table(comparing->found, wanted->name);
    if (!found) {
        add_missing(comparing, wanted->name, "table");
        return;
    }
    compare_columns(comparing, wanted, found);
    const struct option_lists lists = {wanted, wanted->options, wanted->n_options, found->options,
                                       found->n_options};
    compare_options(comparing, &lists);
}

static void compare_version(struct comparing *comparing)
{
    char texts[2][16];
    snprintf(texts[0], sizeof texts[0], "%d", comparing->found->version);
    snprintf(texts[1], sizeof texts[1], "%d", comparing->wanted->version);
    const struct vv_schema_difference difference = {
        .table = STR("varve_schema"),
        .what = STR("version"),
        .found = comparing->found->version > 0 ? vv_str_of(texts[0]) : STR("none"),
        .wanted = vv_str_of(texts[1]),
        .mend = VV_MEND_APPLY,
        .breaks = true,
    };
    add(comparing, &difference);
}

enum vv_status vv_schema_compare(const struct vv_schema *wanted, const struct vv_schema *found,
                                 struct vv_schema_report *report)
{
    struct comparing comparing = {wanted, found, report, false};
    report->version = found->version;
    if (!found->exists) {
        add_missing(&comparing, STR(""), "keyspace");
        return comparing.failed ? VV_NO_MEMORY : VV_OK;
    }
    const struct option_lists lists = {NULL, wanted->options, wanted->n_options, found->options,
                                       found->n_options};
    compare_options(&comparing, &lists);
    for (size_t i = 0; i < wanted->n_tables; i++) {
        compare_table(&comparing, &wanted->tables[i]);
    }
    if (found->version != wanted->version) {
        compare_version(&comparing);
    }
    return comparing.failed ? VV_NO_MEMORY : VV_OK;
}
