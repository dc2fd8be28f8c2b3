/* SPDX-License-Identifier: Apache-2.0 */
/* Which statements bring a keyspace to what it should be, with steps that are invented here. */
#include "store/cassandra/schema_private.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct vv_schema_replicas replicas[] = {{{"dc1", 3}, 1}};
static const int64_t classes[] = {7 * VV_DAY};
static const struct vv_schema_options usual = {
    .keyspace = "varve",
    .replication = replicas,
    .n_replication = 1,
    .classes_ns = classes,
    .n_classes = 1,
    .run_life_ns = 2 * VV_DAY,
};

static const struct vv_schema_step steps[] = {
    {2, (const char *const[]){"ALTER TABLE {keyspace}.runs ADD IF NOT EXISTS a int", NULL}},
    {3, (const char *const[]){"ALTER TABLE {keyspace}.{blocks} ADD IF NOT EXISTS b {blob}",
                              "ALTER TABLE {keyspace}.buckets ADD IF NOT EXISTS c int", NULL}},
};

/* ---- a runner that only notes */

struct record {
    char text[2048]; /* first lines of statements, without comments; and what was told */
    size_t n;
    size_t fail_at; /* the n-th statement fails, from 1 */
};

static void note(struct record *record, const char *line, size_t size)
{
    size_t used = strlen(record->text);
    snprintf(record->text + used, sizeof record->text - used, "%.*s\n", (int)size, line);
}

static enum vv_status run(void *context, const char *cql, struct vv_error *error)
{
    struct record *record = context;
    if (++record->n == record->fail_at) {
        return vv_error_set(error, VV_IO, "as asked");
    }
    while (strncmp(cql, "--", 2) == 0) {
        cql += strcspn(cql, "\n") + 1;
    }
    note(record, cql, strcspn(cql, "\n"));
    return VV_OK;
}

static void told(void *context, const char *what, const char *done)
{
    char line[128];
    int size = snprintf(line, sizeof line, "> %s: %s", what, done);
    note(context, line, (size_t)size);
}

static enum vv_status bring(struct record *record, const struct vv_schema *wanted,
                            const struct vv_schema *found, struct vv_error *error)
{
    const struct vv_schema_runner runner = {run, record, told, record};
    return vv_schema_bring(&runner, wanted, found, steps, 2, error);
}

static void expect_run(const struct vv_schema *wanted, const struct vv_schema *found,
                       const char *expected)
{
    struct record record = {.n = 0};
    struct vv_error error = {0};
    if (bring(&record, wanted, found, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(record.text, expected);
}

static struct vv_schema schema(void)
{
    struct vv_schema schema;
    assert_int_equal(vv_schema_want(&usual, &schema), VV_OK);
    return schema;
}

static void nothing_becomes_everything(void **state)
{
    (void)state;
    struct vv_schema wanted = schema();
    struct vv_schema found = {.keyspace = "varve"};
    expect_run(
        &wanted, &found,
        "CREATE KEYSPACE IF NOT EXISTS varve\n> keyspace varve: created\n"
        "CREATE TABLE IF NOT EXISTS varve.runs (\n> table runs: created\n"
        "CREATE TABLE IF NOT EXISTS varve.blocks_7d (\n> table blocks_7d: created\n"
        "CREATE TABLE IF NOT EXISTS varve.blocks_forever (\n> table blocks_forever: created\n"
        "CREATE TABLE IF NOT EXISTS varve.rows_7d (\n> table rows_7d: created\n"
        "CREATE TABLE IF NOT EXISTS varve.rows_forever (\n> table rows_forever: created\n"
        "CREATE TABLE IF NOT EXISTS varve.late_7d (\n> table late_7d: created\n"
        "CREATE TABLE IF NOT EXISTS varve.late_forever (\n> table late_forever: created\n"
        "CREATE TABLE IF NOT EXISTS varve.shared_runs (\n> table shared_runs: created\n"
        "CREATE TABLE IF NOT EXISTS varve.buckets (\n> table buckets: created\n"
        "CREATE TABLE IF NOT EXISTS varve.ledger (\n> table ledger: created\n"
        "CREATE TABLE IF NOT EXISTS varve.ledger_slots (\n> table ledger_slots: created\n"
        "CREATE TABLE IF NOT EXISTS varve.seals (\n> table seals: created\n"
        "CREATE TABLE IF NOT EXISTS varve.plans (\n> table plans: created\n"
        "CREATE TABLE IF NOT EXISTS varve.places (\n> table places: created\n"
        "CREATE TABLE IF NOT EXISTS varve.moves (\n> table moves: created\n"
        "CREATE TABLE IF NOT EXISTS varve.purges (\n> table purges: created\n"
        "CREATE TABLE IF NOT EXISTS varve.definitions (\n> table definitions: created\n"
        "CREATE TABLE IF NOT EXISTS varve.changes (\n> table changes: created\n"
        "CREATE TABLE IF NOT EXISTS varve.nodes (\n> table nodes: created\n"
        "CREATE TABLE IF NOT EXISTS varve.varve_schema (\n> table varve_schema: created\n"
        "INSERT INTO varve.varve_schema (id, version) VALUES ('schema', 8);\n"
        "> version 8: written\n");
    vv_schema_deinit(&wanted);
}

static void what_is_there_is_left_alone(void **state)
{
    (void)state;
    struct vv_schema wanted = schema();
    struct vv_schema found = schema();
    expect_run(&wanted, &found, "");
    found.tables[0].columns[0].type = vv_str_of("int"); /* changed by hand: not ours to mend */
    expect_run(&wanted, &found, "");
    vv_schema_deinit(&wanted);
    vv_schema_deinit(&found);
}

static void only_what_is_missing_is_made(void **state)
{
    (void)state;
    struct vv_schema wanted = schema();
    struct vv_schema found = schema();
    found.tables[1].name = vv_str_of("blocks_8d");
    expect_run(&wanted, &found,
               "CREATE TABLE IF NOT EXISTS varve.blocks_7d (\n> table blocks_7d: created\n");
    found.version = 0; /* it was cut off before its end */
    expect_run(&wanted, &found,
               "CREATE TABLE IF NOT EXISTS varve.blocks_7d (\n> table blocks_7d: created\n"
               "INSERT INTO varve.varve_schema (id, version) VALUES ('schema', 8);\n"
               "> version 8: written\n");
    vv_schema_deinit(&wanted);
    vv_schema_deinit(&found);
}

static void tables_of_others_get_no_version(void **state)
{
    (void)state;
    struct vv_schema wanted = schema();
    struct vv_schema found = schema();
    found.version = 0;
    found.tables[0].columns[0].type = vv_str_of("int");
    expect_run(&wanted, &found, "");
    vv_schema_deinit(&wanted);
    vv_schema_deinit(&found);
}

/* Tables of blocks that are not configured any more are changed too, and those of late points. */
static void older_versions_go_step_by_step(void **state)
{
    (void)state;
    struct vv_schema wanted = schema();
    struct vv_schema found = schema();
    wanted.version = 3;
    found.version = 1;
    found.tables[1].name = vv_str_of("blocks_8d");
#define THIRD                                                                                      \
    "ALTER TABLE varve.blocks_8d ADD IF NOT EXISTS b {blob}\n"                                     \
    "ALTER TABLE varve.blocks_forever ADD IF NOT EXISTS b {blob}\n"                                \
    "ALTER TABLE varve.late_7d ADD IF NOT EXISTS b {blob}\n"                                       \
    "ALTER TABLE varve.late_forever ADD IF NOT EXISTS b {blob}\n"                                  \
    "ALTER TABLE varve.buckets ADD IF NOT EXISTS c int\n"                                          \
    "INSERT INTO varve.varve_schema (id, version) VALUES ('schema', 3);\n"                         \
    "> version 3: reached\n"                                                                       \
    "CREATE TABLE IF NOT EXISTS varve.blocks_7d (\n> table blocks_7d: created\n"
    expect_run(&wanted, &found,
               "ALTER TABLE varve.runs ADD IF NOT EXISTS a int\n"
               "INSERT INTO varve.varve_schema (id, version) VALUES ('schema', 2);\n"
               "> version 2: reached\n" THIRD);
    found.version = 2;
    expect_run(&wanted, &found, THIRD);
    found.version = 3;
    expect_run(&wanted, &found,
               "CREATE TABLE IF NOT EXISTS varve.blocks_7d (\n> table blocks_7d: created\n");
    vv_schema_deinit(&wanted);
    vv_schema_deinit(&found);
}

/* Wherever it is cut off, no version is written that was not reached. */
static void a_failure_ends_it(void **state)
{
    (void)state;
    static const struct {
        size_t fail_at;
        const char *last;
    } cases[] = {{1, ""},
                 {2, "ALTER TABLE varve.runs ADD IF NOT EXISTS a int\n"},
                 {3, "> version 2: reached\n"},
                 {8, "ALTER TABLE varve.buckets ADD IF NOT EXISTS c int\n"},
                 {9, "> version 3: reached\n"}};
    struct vv_schema wanted = schema();
    struct vv_schema found = schema();
    wanted.version = 3;
    found.version = 1;
    found.tables[1].name = vv_str_of("blocks_8d");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct record record = {.fail_at = cases[i].fail_at};
        struct vv_error error = {0};
        assert_int_equal(bring(&record, &wanted, &found, &error), VV_IO);
        assert_string_equal(error.message, "as asked");
        assert_int_equal(record.n, cases[i].fail_at);
        size_t size = strlen(record.text);
        size_t last = strlen(cases[i].last);
        assert_true(size >= last);
        assert_string_equal(record.text + size - last, cases[i].last);
    }
    vv_schema_deinit(&wanted);
    vv_schema_deinit(&found);
}

static void a_newer_version_is_refused(void **state)
{
    (void)state;
    struct vv_schema found = {.keyspace = "varve", .version = 4};
    struct vv_error error = {0};
    assert_int_equal(vv_schema_refuse_newer(&found, 4, &error), VV_OK);
    assert_int_equal(vv_schema_refuse_newer(&found, 3, &error), VV_NEWER);
    assert_string_equal(error.message, "keyspace varve has the schema of a newer Varve (version 4, "
                                       "this one knows 3): upgrade Varve");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_becomes_everything),
        cmocka_unit_test(what_is_there_is_left_alone),
        cmocka_unit_test(only_what_is_missing_is_made),
        cmocka_unit_test(tables_of_others_get_no_version),
        cmocka_unit_test(older_versions_go_step_by_step),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(a_newer_version_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
