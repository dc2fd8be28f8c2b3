/* SPDX-License-Identifier: Apache-2.0 */
/* The schema's figures, what of its options is refused, and its texts. */
#include "store/cassandra/schema_private.h"

#include "base/clock.h"
#include "model/partition.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct vv_schema_replicas replicas[] = {{{"dc1", 3}, 3}, {{"o'dc", 4}, 2}};
static const int64_t classes[] = {7 * VV_DAY, 30 * VV_DAY};
static const struct vv_schema_options usual = {
    .keyspace = "varve",
    .replication = replicas,
    .n_replication = 2,
    .classes_ns = classes,
    .n_classes = 2,
    .run_life_ns = 2 * VV_DAY,
};

/* ---- figures ---- */

static void classes_have_short_names(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *name;
    } cases[] = {{7 * VV_DAY, "7d"},      {365 * VV_DAY, "365d"},    {36 * VV_HOUR, "36h"},
                 {90 * VV_MINUTE, "90m"}, {100 * VV_SECOND, "100s"}, {0, "forever"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char name[VV_CLASS_NAME_SIZE];
        vv_schema_class_name(cases[i].ns, name);
        assert_string_equal(name, cases[i].name);
    }
}

static int64_t length_of(struct vv_schema_window window)
{
    return window.size * (strcmp(window.unit, "DAYS") == 0    ? VV_DAY
                          : strcmp(window.unit, "HOURS") == 0 ? VV_HOUR
                                                              : VV_MINUTE);
}

static void a_life_has_20_to_30_windows(void **state)
{
    (void)state;
    for (int64_t minutes = 40; minutes <= 7300 * INT64_C(1440); minutes += 1 + minutes / 97) {
        int64_t life = minutes * VV_MINUTE;
        struct vv_schema_window window = vv_schema_window_of(life);
        int64_t length = length_of(window);
        if (length * 30 < life || length * 20 > life) {
            fail_msg("%lld minutes: %lld %s", (long long)minutes, (long long)window.size,
                     window.unit);
        }
    }
    assert_int_equal(length_of(vv_schema_window_of(VV_MINUTE)), VV_MINUTE);
    assert_int_equal(length_of(vv_schema_window_of(30 * VV_MINUTE)), VV_MINUTE);
}

static void windows_are_round(void **state)
{
    (void)state;
    static const struct {
        int64_t life_ns;
        const char *unit;
        int64_t size;
    } cases[] = {{VV_DAY, "HOURS", 1},     {2 * VV_DAY, "HOURS", 2}, {7 * VV_DAY, "HOURS", 6},
                 {30 * VV_DAY, "DAYS", 1}, {90 * VV_DAY, "DAYS", 4}, {365 * VV_DAY, "DAYS", 15},
                 {40 * VV_DAY, "DAYS", 2}, {VV_HOUR, "MINUTES", 2},  {VV_DAY * 29, "DAYS", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_schema_window window = vv_schema_window_of(cases[i].life_ns);
        assert_string_equal(window.unit, cases[i].unit);
        assert_int_equal(window.size, cases[i].size);
    }
}

/* What is in a bucket expires at once: a window of the usual classes has whole ones of most
 * lengths, or a bucket has whole windows. Their days and hours always. */
static void windows_are_aligned_with_buckets(void **state)
{
    (void)state;
    static const struct {
        int64_t life_ns;
        size_t most_cut; /* lengths of buckets that windows cut */
    } cases[] = {
        {VV_DAY, 0}, {7 * VV_DAY, 0}, {30 * VV_DAY, 0}, {90 * VV_DAY, 2}, {365 * VV_DAY, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t window_ns = length_of(vv_schema_window_of(cases[i].life_ns));
        size_t n;
        size_t cut = 0;
        const int64_t *lengths = vv_bucket_lengths(&n);
        for (size_t j = 0; j < n && lengths[j] <= cases[i].life_ns / 8; j++) {
            bool whole = window_ns % lengths[j] == 0 || lengths[j] % window_ns == 0;
            cut += !whole;
            assert_true(whole || lengths[j] > VV_DAY);
        }
        assert_in_range(cut, 0, cases[i].most_cut);
    }
}

static void gc_grace_follows_repairs(void **state)
{
    (void)state;
    static const struct {
        int64_t life_ns;
        int64_t repair_ns;
        int64_t least_ns;
        int64_t expected_s;
    } cases[] = {
        /* not told: by the window */
        {2 * VV_DAY, 0, 0, 86400},
        {7 * VV_DAY, 0, 0, 86400},
        {30 * VV_DAY, 0, 0, 2 * 86400},
        {90 * VV_DAY, 0, 0, 7 * 86400},
        {140 * VV_DAY, 0, 0, 7 * 86400},
        {365 * VV_DAY, 0, 0, 10 * 86400},
        {0, 0, 0, 10 * 86400},
        /* told: longer than it, by a day at least */
        {7 * VV_DAY, VV_HOUR, 0, 86400 + 3600},
        {365 * VV_DAY, VV_DAY, 0, 2 * 86400},
        {7 * VV_DAY, 7 * VV_DAY, 0, 756000},
        {0, 7 * VV_DAY, 0, 756000},
        /* insisted on: windows of hours only, or above the repairs */
        {2 * VV_DAY, 0, 4 * VV_HOUR, 4 * 3600},
        {7 * VV_DAY, 0, 4 * VV_HOUR, 4 * 3600},
        {30 * VV_DAY, 0, 4 * VV_HOUR, 2 * 86400},
        {0, 0, 4 * VV_HOUR, 10 * 86400},
        {7 * VV_DAY, VV_HOUR, 4 * VV_HOUR, 5 * 3600},
        {30 * VV_DAY, 0, 3 * VV_DAY, 3 * 86400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct vv_schema_options options = {.repair_interval_ns = cases[i].repair_ns,
                                                  .gc_grace_min_ns = cases[i].least_ns};
        int64_t gc_grace_s = vv_schema_gc_grace_s(&options, cases[i].life_ns);
        assert_int_equal(gc_grace_s, cases[i].expected_s);
        assert_true(gc_grace_s >= (cases[i].least_ns ? 4 * 3600 : 86400));
        assert_true(gc_grace_s * VV_SECOND > cases[i].repair_ns);
    }
}

/* ---- options ---- */

static void expect_refused(const struct vv_schema_options *options, const char *needle)
{
    struct vv_error error = {0};
    assert_int_equal(vv_schema_options_check(options, &error), VV_INVALID);
    assert_non_null(strstr(error.message, needle));
    struct vv_buffer out = {0};
    assert_int_equal(vv_schema_print(options, &out, &error), VV_INVALID);
    assert_int_equal(out.size, 0);
}

static void options_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",    "1a",  "_a",   "Varve",
        "a b", "a;b", "a\"b", "a234567890123456789012345678901234567890123456789"};
    struct vv_schema_options options = usual;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        options.keyspace = names[i];
        expect_refused(&options, "keyspace's name");
    }
    static const int64_t descending[] = {2 * VV_DAY, VV_DAY};
    static const int64_t equal[] = {VV_DAY, VV_DAY};
    static const int64_t small[] = {VV_SECOND, VV_DAY};
    static const int64_t broken[] = {VV_MINUTE + 1, VV_DAY};
    const int64_t *const wrong[] = {descending, equal, small, broken};
    for (size_t i = 0; i < 4; i++) {
        options = usual;
        options.classes_ns = wrong[i];
        expect_refused(&options, "must ascend");
    }
    options = usual;
    options.n_classes = VV_SCHEMA_CLASSES_MAX + 1;
    expect_refused(&options, "too many");
    static const struct vv_schema_replicas none[] = {{{"dc1", 3}, 0}, {{"", 0}, 1}};
    options = usual;
    options.n_replication = 1;
    options.replication = &none[0];
    expect_refused(&options, "at least one replica");
    options.replication = &none[1];
    expect_refused(&options, "must have a name");
}

static void a_text_needs_replication(void **state)
{
    (void)state;
    struct vv_schema_options options = usual;
    struct vv_buffer out = {0};
    struct vv_error error = {0};
    options.n_replication = 0;
    assert_int_equal(vv_schema_options_check(&options, NULL), VV_OK); /* enough for comparing */
    assert_int_equal(vv_schema_print(&options, &out, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "replicate"));
}

/* ---- texts ---- */

/* For the caller to free. */
static char *printed(const struct vv_schema_options *options)
{
    struct vv_buffer out = {0};
    assert_int_equal(vv_schema_print(options, &out, NULL), VV_OK);
    vv_buffer_u8(&out, '\0');
    assert_int_equal(vv_buffer_status(&out), VV_OK);
    return (char *)out.data;
}

static void expect_text(const char *text, const char *needle)
{
    if (!strstr(text, needle)) {
        fail_msg("is missing:\n%s\nin:\n%s", needle, text);
    }
}

static void the_whole_schema_is_printed(void **state)
{
    (void)state;
    char *text = printed(&usual);
    static const char begin[] =
        "CREATE KEYSPACE IF NOT EXISTS varve\n"
        "  WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3', 'o''dc': '2'}\n"
        "  AND durable_writes = true;\n"
        "\n"
        "-- What flushes wrote.";
    static const char end[] =
        "\nCREATE TABLE IF NOT EXISTS varve.varve_schema (\n"
        "    id text,\n"
        "    version int,\n"
        "    PRIMARY KEY ((id))\n"
        ") WITH default_time_to_live = 0;\n"
        "\n"
        "INSERT INTO varve.varve_schema (id, version) VALUES ('schema', 8);\n";
    assert_memory_equal(text, begin, sizeof begin - 1);
    assert_string_equal(text + strlen(text) - sizeof end + 1, end);
    static const char *const tables[] = {
        "runs",         "blocks_7d", "blocks_30d", "blocks_forever", "rows_7d",     "rows_30d",
        "rows_forever", "late_7d",   "late_30d",   "late_forever",   "shared_runs", "buckets"};
    const char *at = text;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char line[96];
        snprintf(line, sizeof line, "\nCREATE TABLE IF NOT EXISTS varve.%s (\n", tables[i]);
        at = strstr(at, line);
        assert_non_null(at);
    }
    free(text);
}

static void classes_that_are_purged_have_second_tables(void **state)
{
    (void)state;
    struct vv_schema_options options = usual;
    options.purges = true;
    char *text = printed(&options);
    static const char *const tables[] = {"blocks_7d_2", "late_7d_2",        "blocks_30d_2",
                                         "late_30d_2",  "blocks_forever_2", "late_forever_2"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char line[96];
        snprintf(line, sizeof line, "\nCREATE TABLE IF NOT EXISTS varve.%s (\n", tables[i]);
        expect_text(text, line);
    }
    assert_null(strstr(text, "rows_7d_2"));
    free(text);
}

static void tables_say_what_they_are(void **state)
{
    (void)state;
    char *text = printed(&usual);
    expect_text(text,
                "    data blob,              -- a columnar block, or of a cover the runs that are "
                "in a block\n"
                "    written bigint,         -- tells a run that was written again, with more, "
                "from the first\n"
                "    PRIMARY KEY ((region, tenant, source, bucket, bucket_s, split), measurement, "
                "span, run, part)\n"
                ") WITH CLUSTERING ORDER BY (measurement ASC, span ASC, run ASC, part ASC)\n"
                "  -- 20 to 30 windows: a whole file goes when its window has expired\n"
                "  AND compaction = {'class': 'TimeWindowCompactionStrategy',\n"
                "    'compaction_window_unit': 'HOURS', 'compaction_window_size': '2'}\n");
    expect_text(text,
                ") WITH CLUSTERING ORDER BY (measurement ASC, span ASC, seal DESC, part ASC)\n");
    expect_text(text,
                "    metric text,            -- measurement.field\n"
                "    value double,           -- null where value_int is set\n"
                "    value_int bigint,       -- of metrics that are integers\n"
                "    PRIMARY KEY ((tenant, source, bucket, bucket_s, split), event_time, nanos, "
                "metric)\n"
                ") WITH CLUSTERING ORDER BY (event_time DESC, nanos DESC, metric ASC)\n");
    expect_text(text, "  AND compaction = {'class': 'UnifiedCompactionStrategy'}\n");
    expect_text(text, "  AND read_repair = 'NONE'\n");
    expect_text(text, "  AND speculative_retry = '99p'\n");
    assert_null(strstr(text, "unsafe_aggressive_sstable_expiration"));
    free(text);
}

/* Simple readers of CQL take a semicolon or an apostrophe in a comment for what it is elsewhere. */
static void comments_have_plain_signs(void **state)
{
    (void)state;
    char *text = printed(&usual);
    size_t n = 0;
    for (char *at = text; (at = strstr(at, "-- ")); n++) {
        size_t size = strcspn(at, "\n");
        if (memchr(at, ';', size) || memchr(at, '\'', size)) {
            fail_msg("%.*s", (int)size, at);
        }
        at += size;
    }
    assert_true(n > 40);
    for (char *at = text; *at;) {
        size_t size = strcspn(at, "\n");
        if (size > 100) {
            fail_msg("too long: %.*s", (int)size, at);
        }
        at += size + (at[size] == '\n');
    }
    free(text);
}

static void without_classes_there_is_one_table(void **state)
{
    (void)state;
    struct vv_schema_options options = usual;
    options.n_classes = 0;
    options.repair_interval_ns = 7 * VV_DAY;
    char *text = printed(&options);
    assert_null(strstr(text, "blocks_7d"));
    expect_text(text, "varve.blocks_forever (");
    expect_text(text, "varve.rows_forever (");
    expect_text(text, "varve.late_forever (");
    expect_text(text, "gc_grace_seconds = 756000");
    assert_null(strstr(text, "gc_grace_seconds = 8"));
    free(text);
}

struct walk {
    char whats[512];
    size_t stop_after;
    size_t n;
};

static enum vv_status note(void *context, struct vv_str what, struct vv_str cql)
{
    struct walk *walk = context;
    size_t used = strlen(walk->whats);
    snprintf(walk->whats + used, sizeof walk->whats - used, "%.*s,", (int)what.size, what.data);
    assert_true(cql.size > 2 && memcmp(cql.data + cql.size - 2, ";\n", 2) == 0);
    return ++walk->n == walk->stop_after ? VV_CANCELLED : VV_OK;
}

static void statements_come_one_by_one(void **state)
{
    (void)state;
    struct walk walk = {.n = 0};
    assert_int_equal(vv_schema_statements(&usual, note, &walk, NULL), VV_OK);
    assert_string_equal(walk.whats,
                        "keyspace varve,table runs,table blocks_7d,table blocks_30d,"
                        "table blocks_forever,table rows_7d,table rows_30d,table rows_forever,"
                        "table late_7d,table late_30d,table late_forever,table shared_runs,"
                        "table buckets,table ledger,table ledger_slots,table seals,table plans,"
                        "table places,table moves,table purges,"
                        "table definitions,table changes,table nodes,table varve_schema,"
                        "version 8,");
    for (size_t i = 1; i <= 22; i++) {
        walk = (struct walk){.stop_after = i};
        assert_int_equal(vv_schema_statements(&usual, note, &walk, NULL), VV_CANCELLED);
        assert_int_equal(walk.n, i);
    }
}

static void mends_are_statements(void **state)
{
    (void)state;
    struct vv_schema wanted;
    struct vv_buffer out = {0};
    assert_int_equal(vv_schema_want(&usual, &wanted), VV_OK);
    const struct vv_schema_table *runs = vv_schema_find_table(&wanted, VV_STR_LITERAL("runs"));
    vv_schema_alter_keyspace(&out, &wanted, VV_STR_LITERAL("replication"));
    vv_buffer_u8(&out, '\n');
    vv_schema_alter_options(&out, "varve", runs, VV_STR_LITERAL("compaction"));
    vv_buffer_u8(&out, '\n');
    vv_schema_alter_options(&out, "varve", runs, VV_STR_LITERAL("gc_grace_seconds"));
    vv_buffer_u8(&out, '\n');
    vv_schema_add_column(&out, "varve", runs->name,
                         vv_schema_find_column(runs, VV_STR_LITERAL("data")));
    vv_buffer_u8(&out, '\n');
    vv_schema_drop_column(&out, "varve", runs->name, VV_STR_LITERAL("a\"B"));
    vv_buffer_u8(&out, '\n');
    vv_schema_drop_column(&out, "varve", runs->name, VV_STR_LITERAL("a_1"));
    vv_buffer_u8(&out, '\0');
    assert_string_equal(
        (char *)out.data,
        "ALTER KEYSPACE varve WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3', "
        "'o''dc': '2'}\n"
        "ALTER TABLE varve.runs WITH compaction = {'class': 'TimeWindowCompactionStrategy', "
        "'compaction_window_unit': 'HOURS', 'compaction_window_size': '2'}\n"
        "ALTER TABLE varve.runs WITH gc_grace_seconds = 86400\n"
        "ALTER TABLE varve.runs ADD data blob\n"
        "ALTER TABLE varve.runs DROP \"a\"\"B\"\n"
        "ALTER TABLE varve.runs DROP a_1");
    vv_buffer_deinit(&out);
    vv_schema_deinit(&wanted);
}

static void without_memory_it_says_so(void **state)
{
    (void)state;
    for (uint64_t k = 1;; k++) {
        struct vv_buffer out = {0};
        struct vv_error error = {0};
        vv_sim_memory_fail(k);
        enum vv_status status = vv_schema_print(&usual, &out, &error);
        bool failed = vv_sim_memory_failed();
        vv_buffer_deinit(&out);
        if (!failed) {
            assert_int_equal(status, VV_OK);
            assert_true(k > 5);
            break;
        }
        assert_int_equal(status, VV_NO_MEMORY);
        assert_string_equal(error.message, "out of memory");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_have_short_names),
        cmocka_unit_test(a_life_has_20_to_30_windows),
        cmocka_unit_test(windows_are_round),
        cmocka_unit_test(windows_are_aligned_with_buckets),
        cmocka_unit_test(gc_grace_follows_repairs),
        cmocka_unit_test(options_that_cannot_be_are_refused),
        cmocka_unit_test(a_text_needs_replication),
        cmocka_unit_test(the_whole_schema_is_printed),
        cmocka_unit_test(classes_that_are_purged_have_second_tables),
        cmocka_unit_test(tables_say_what_they_are),
        cmocka_unit_test(comments_have_plain_signs),
        cmocka_unit_test(without_classes_there_is_one_table),
        cmocka_unit_test(statements_come_one_by_one),
        cmocka_unit_test(mends_are_statements),
        cmocka_unit_test(without_memory_it_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
