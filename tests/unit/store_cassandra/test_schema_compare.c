/* SPDX-License-Identifier: Apache-2.0 */
/* Which differences are noticed, how bad they are, and what mends them. */
#include "store/cassandra/schema_private.h"

#include "base/clock.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const struct vv_schema_replicas replicas[] = {{{"dc1", 3}, 3}};
static const int64_t classes[] = {7 * VV_DAY};
static const struct vv_schema_options usual = {
    .keyspace = "varve",
    .replication = replicas,
    .n_replication = 1,
    .classes_ns = classes,
    .n_classes = 1,
    .run_life_ns = 2 * VV_DAY,
};

/* What should be, and what is: the same at first. */
struct pair {
    struct vv_schema wanted;
    struct vv_schema found;
    struct vv_schema_report report;
};

static struct pair make_pair(const struct vv_schema_options *options)
{
    struct pair pair = {.report = {.n = 0}};
    assert_int_equal(vv_schema_want(options, &pair.wanted), VV_OK);
    assert_int_equal(vv_schema_want(&usual, &pair.found), VV_OK);
    return pair;
}

static void free_pair(struct pair *pair)
{
    vv_schema_deinit(&pair->wanted);
    vv_schema_deinit(&pair->found);
    vv_schema_report_deinit(&pair->report);
}

static struct vv_schema_table *table_of(struct vv_schema *schema, const char *name)
{
    for (size_t i = 0; i < schema->n_tables; i++) {
        if (vv_str_equal(schema->tables[i].name, vv_str_of(name))) {
            return &schema->tables[i];
        }
    }
    fail_msg("there is no table %s", name);
    return NULL;
}

static struct vv_schema_column *column_of(struct vv_schema_table *table, const char *name)
{
    for (size_t i = 0; i < table->n_columns; i++) {
        if (vv_str_equal(table->columns[i].name, vv_str_of(name))) {
            return &table->columns[i];
        }
    }
    fail_msg("there is no column %s", name);
    return NULL;
}

static struct vv_schema_option *option_of(struct vv_schema_option *options, size_t n,
                                          const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (vv_str_equal(options[i].name, vv_str_of(name))) {
            return &options[i];
        }
    }
    fail_msg("there is no option %s", name);
    return NULL;
}

static void set_option(struct vv_schema_table *table, const char *name, const char *value)
{
    option_of(table->options, table->n_options, name)->value = vv_str_of(value);
}

static void add_option(struct vv_schema_table *table, const char *name, const char *value)
{
    table->options[table->n_options++] =
        (struct vv_schema_option){vv_str_of(name), vv_str_of(value)};
}

/* As lines "table|what|found|wanted|mend[!]|statement", and frees the pair. */
static void expect_differences(struct pair *pair, const char *expected)
{
    static const char *const mends[] = {"apply", "alter", "none"};
    char text[4096] = "";
    size_t used = 0;
    assert_int_equal(vv_schema_compare(&pair->wanted, &pair->found, &pair->report), VV_OK);
    for (size_t i = 0; i < pair->report.n; i++) {
        const struct vv_schema_difference *difference = &pair->report.differences[i];
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s|%s|%s|%s|%s%s|%s\n", difference->table.data,
            difference->what.data, difference->found.data, difference->wanted.data,
            mends[difference->mend], difference->breaks ? "!" : "", difference->statement.data);
        assert_true(used < sizeof text);
    }
    assert_string_equal(text, expected);
    free_pair(pair);
}

static void the_same_is_no_difference(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    expect_differences(&pair, "");
}

static void what_cassandra_adds_is_none_either(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    struct vv_schema_table *runs = table_of(&pair.found, "runs");
    add_option(runs, "compaction.min_threshold", "4");
    add_option(runs, "compaction.max_threshold", "32");
    add_option(runs, "caching.keys", "ALL");
    add_option(runs, "comment", "my table");
    add_option(table_of(&pair.found, "buckets"), "compression.class", "ZstdCompressor");
    expect_differences(&pair, "");
}

static void other_tables_are_nobodys_business(void **state)
{
    (void)state;
    struct vv_schema_options fewer = usual;
    fewer.n_classes = 0;
    struct pair pair = make_pair(&fewer);
    expect_differences(&pair, "");
}

static void a_keyspace_or_table_can_be_missing(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    vv_schema_deinit(&pair.found);
    expect_differences(&pair, "|keyspace|missing|there|apply!|\n");
    pair = make_pair(&usual);
    table_of(&pair.found, "blocks_7d")->name = vv_str_of("blocks_8d");
    pair.found.version = 0;
    expect_differences(&pair, "blocks_7d|table|missing|there|apply!|\n"
                              "varve_schema|version|none|8|apply!|\n");
}

static void a_missing_column_breaks(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    column_of(table_of(&pair.found, "runs"), "data")->name = vv_str_of("Old");
    column_of(table_of(&pair.found, "buckets"), "period")->name = vv_str_of("week");
    expect_differences(
        &pair, "runs|column data|missing|blob|alter!|ALTER TABLE varve.runs ADD data blob\n"
               "runs|column Old|blob|no such column|alter|ALTER TABLE varve.runs DROP \"Old\"\n"
               "buckets|column period|missing|int, partition key 3|none!|\n"
               "buckets|column week|int, partition key 3|no such column|none!|\n");
}

static void a_column_of_another_kind_breaks(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    struct vv_schema_table *runs = table_of(&pair.found, "runs");
    column_of(runs, "data")->type = vv_str_of("text");
    column_of(runs, "metrics")->kind = vv_str_of("static");
    column_of(runs, "run")->position = 3;
    column_of(runs, "part")->position = 2;
    column_of(table_of(&pair.found, "blocks_7d"), "seal")->descending = false;
    expect_differences(&pair, "runs|column run|bigint, clustering 4|bigint, clustering 3|none!|\n"
                              "runs|column part|bigint, clustering 3|bigint, clustering 4|none!|\n"
                              "runs|column metrics|blob, static|blob|none!|\n"
                              "runs|column data|text|blob|none!|\n"
                              "blocks_7d|column seal|bigint, clustering 3|bigint, clustering 3 "
                              "descending|none!|\n");
}

static void options_are_compared(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    struct vv_schema_table *runs = table_of(&pair.found, "runs");
    set_option(runs, "gc_grace_seconds", "3600");
    set_option(runs, "default_time_to_live", "60");
    set_option(runs, "read_repair", "BLOCKING");
    set_option(runs, "speculative_retry", "NEVER");
    set_option(runs, "compaction.compaction_window_size", "12");
    set_option(runs, "compression.chunk_length_in_kb", "64");
    add_option(runs, "compaction.unsafe_aggressive_sstable_expiration", "true");
#define COMPACTION                                                                                 \
    "|ALTER TABLE varve.runs WITH compaction = {'class': 'TimeWindowCompactionStrategy', "         \
    "'compaction_window_unit': 'HOURS', 'compaction_window_size': '2'}\n"
    expect_differences(
        &pair,
        "runs|compaction.compaction_window_size|12|2|alter" COMPACTION
        "runs|gc_grace_seconds|3600|86400|alter|ALTER TABLE varve.runs WITH gc_grace_seconds = "
        "86400\n"
        "runs|default_time_to_live|60|0|alter|ALTER TABLE varve.runs WITH default_time_to_live = "
        "0\n"
        "runs|speculative_retry|NEVER|99p|alter|ALTER TABLE varve.runs WITH speculative_retry = "
        "'99p'\n"
        "runs|read_repair|BLOCKING|NONE|alter|ALTER TABLE varve.runs WITH read_repair = 'NONE'\n"
        "runs|compression.chunk_length_in_kb|64|16|alter|ALTER TABLE varve.runs WITH compression "
        "= {'class': 'LZ4Compressor', 'chunk_length_in_kb': '16'}\n"
        "runs|compaction.unsafe_aggressive_sstable_expiration|true|not set|alter" COMPACTION);
}

static void of_another_class_only_the_class_is_told(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    struct vv_schema_table *runs = table_of(&pair.found, "runs");
    struct vv_schema_table *forever = table_of(&pair.found, "blocks_forever");
    set_option(runs, "compaction.class", "LeveledCompactionStrategy");
    option_of(runs->options, runs->n_options, "compaction.compaction_window_unit")->name =
        vv_str_of("compaction.sstable_size_in_mb");
    option_of(forever->options, forever->n_options, "compression.class")->name =
        vv_str_of("compression.enabled");
    set_option(forever, "compression.enabled", "false");
    expect_differences(&pair,
                       "runs|compaction.class|LeveledCompactionStrategy|"
                       "TimeWindowCompactionStrategy|alter" COMPACTION
                       "blocks_forever|compression.class|not set|LZ4Compressor|alter|ALTER TABLE "
                       "varve.blocks_forever WITH compression = {'class': 'LZ4Compressor', "
                       "'chunk_length_in_kb': '32'}\n");
}

static void replication_is_compared(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    option_of(pair.found.options, pair.found.n_options, "replication.dc1")->value = vv_str_of("2");
    option_of(pair.found.options, pair.found.n_options, "durable_writes")->name =
        vv_str_of("replication.dc2");
#define REPLICATION                                                                                \
    "|ALTER KEYSPACE varve WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3'}\n"
    expect_differences(&pair, "|replication.dc1|2|3|alter" REPLICATION
                              "|durable_writes|not set|true|alter!|ALTER KEYSPACE varve WITH "
                              "durable_writes = true\n"
                              "|replication.dc2|true|not set|alter" REPLICATION);
    pair = make_pair(&usual);
    option_of(pair.found.options, pair.found.n_options, "replication.class")->value =
        vv_str_of("SimpleStrategy");
    option_of(pair.found.options, pair.found.n_options, "replication.dc1")->name =
        vv_str_of("replication.replication_factor");
    expect_differences(
        &pair, "|replication.class|SimpleStrategy|NetworkTopologyStrategy|alter" REPLICATION);
}

/* Without knowing the whole configuration only what breaks is compared. */
static void unknown_options_are_not_compared(void **state)
{
    (void)state;
    struct vv_schema_options options = {.keyspace = "varve", .run_life_ns = VV_DAY};
    struct pair pair = make_pair(&options);
    struct vv_schema_table *runs = table_of(&pair.found, "runs");
    set_option(runs, "gc_grace_seconds", "3600");
    set_option(runs, "compaction.class", "LeveledCompactionStrategy");
    column_of(runs, "data")->type = vv_str_of("text");
    option_of(pair.found.options, pair.found.n_options, "replication.dc1")->value = vv_str_of("2");
    option_of(pair.found.options, pair.found.n_options, "durable_writes")->value =
        vv_str_of("false");
    expect_differences(&pair, "|durable_writes|false|true|alter!|ALTER KEYSPACE varve WITH "
                              "durable_writes = true\n"
                              "runs|column data|text|blob|none!|\n");
}

static void the_version_is_compared(void **state)
{
    (void)state;
    struct pair pair = make_pair(&usual);
    pair.wanted.version = 3;
    pair.found.version = 2;
    expect_differences(&pair, "varve_schema|version|2|3|apply!|\n");
}

static void without_memory_it_says_so(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct pair pair = make_pair(&usual);
        set_option(table_of(&pair.found, "runs"), "gc_grace_seconds", "3600");
        column_of(table_of(&pair.found, "runs"), "data")->type = vv_str_of("text");
        vv_sim_memory_fail(k);
        enum vv_status status = vv_schema_compare(&pair.wanted, &pair.found, &pair.report);
        bool failed = vv_sim_memory_failed();
        free_pair(&pair);
        if (!failed) {
            assert_int_equal(status, VV_OK);
            assert_true(k > 3);
            break;
        }
        assert_int_equal(status, VV_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_is_no_difference),
        cmocka_unit_test(what_cassandra_adds_is_none_either),
        cmocka_unit_test(other_tables_are_nobodys_business),
        cmocka_unit_test(a_keyspace_or_table_can_be_missing),
        cmocka_unit_test(a_missing_column_breaks),
        cmocka_unit_test(a_column_of_another_kind_breaks),
        cmocka_unit_test(options_are_compared),
        cmocka_unit_test(of_another_class_only_the_class_is_told),
        cmocka_unit_test(replication_is_compared),
        cmocka_unit_test(unknown_options_are_not_compared),
        cmocka_unit_test(the_version_is_compared),
        cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
