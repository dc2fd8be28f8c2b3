/* SPDX-License-Identifier: Apache-2.0 */
/* The table as a whole: defaults, one by name, what must hold between settings, and that what is
 * printed is read back as it was. */
#include "settings/settings.h"

#include "base/clock.h"
#include "settings/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    struct vv_settings settings;
    vv_settings_init(&settings);
    assert_string_equal(settings.data, "varve-data");
    assert_string_equal(settings.listen, "127.0.0.1:8987");
    assert_string_equal(settings.id_tag, "");
    assert_int_equal(settings.http_body_bytes_max, 64 << 20);
    assert_int_equal(settings.future_ns_max, 10 * VV_MINUTE);
    assert_int_equal(settings.past_ns_max, 0);
    assert_int_equal(settings.sources_max, 2000000);
    assert_int_equal(settings.retention_raw_ns, 0);
    assert_false(settings.journal_skip_damaged);
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
}

static bool is_text(const struct vv_setting *row)
{
    return row->type == VV_SETTING_TEXT || row->type == VV_SETTING_ENUM ||
           row->type == VV_SETTING_SECRET;
}

/* Every byte of the struct that is a setting has a row, and no two rows share bytes. */
static void rows_cover_the_struct_once(void **state)
{
    (void)state;
    unsigned char *owned = calloc(1, sizeof(struct vv_settings));
    assert_non_null(owned);
    for (size_t i = 0; i < vv_setting_count; i++) {
        const struct vv_setting *row = &vv_setting_table[i];
        size_t size = row->type == VV_SETTING_BOOL ? sizeof(bool)
                      : is_text(row)               ? VV_SETTING_TEXT_MAX
                                                   : sizeof(int64_t);
        for (size_t at = row->offset; at < row->offset + size; at++) {
            assert_int_equal(owned[at]++, 0);
        }
    }
    for (size_t at = 0; at < sizeof(struct vv_settings); at++) {
        bool padding = at % sizeof(int64_t) != 0; /* after truth values, up to the next number */
        assert_true(owned[at] == 1 || padding);
    }
    free(owned);
}

static void names_are_unique_and_sections_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < vv_setting_count; i++) {
        const char *name = vv_setting_table[i].name;
        assert_ptr_equal(vv_setting_find(vv_str_of(name)), &vv_setting_table[i]);
        size_t section = strcspn(name, ".");
        for (size_t j = 0; j + 1 < i; j++) {
            bool same = strncmp(vv_setting_table[j].name, name, section + 1) == 0;
            bool same_before = strncmp(vv_setting_table[i - 1].name, name, section + 1) == 0;
            assert_true(!same || same_before);
        }
        assert_true(vv_setting_table[i].meaning[strlen(vv_setting_table[i].meaning) - 1] != '.');
    }
}

/* Also holds the list of sections for suggestions against the table. */
static void a_mistyped_section_is_recognised(void **state)
{
    (void)state;
    for (size_t i = 0; i < vv_setting_count; i++) {
        char section[32];
        snprintf(section, sizeof section, "%.*s", (int)strcspn(vv_setting_table[i].name, "."),
                 vv_setting_table[i].name);
        bool is_section = strchr(vv_setting_table[i].name, '.') != NULL;
        if (is_section) {
            char typed[40];
            snprintf(typed, sizeof typed, "%sx", section);
            assert_string_equal(vv_setting_nearest(vv_str_of(typed)), section);
        }
    }
}

static void expect_set(const char *name, const char *value, enum vv_status status,
                       const char *needle)
{
    struct vv_settings settings;
    struct vv_settings before;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    before = settings;
    assert_int_equal(vv_settings_set(&settings, name, value, &error), status);
    if (!strstr(error.message, needle)) {
        fail_msg("%s=%s: \"%s\" is not in \"%s\"", name, value, needle, error.message);
    }
    if (status != VV_OK) {
        assert_memory_equal(&settings, &before, sizeof settings);
    }
}

static void one_is_set_by_name(void **state)
{
    (void)state;
    struct vv_settings settings;
    vv_settings_init(&settings);
    assert_int_equal(vv_settings_set(&settings, "head.flush_age", "1m30s", NULL), VV_OK);
    assert_int_equal(settings.head_flush_age_ns, 90 * VV_SECOND);
    assert_int_equal(vv_settings_set(&settings, "store.cache_bytes", "8MiB", NULL), VV_OK);
    assert_int_equal(settings.store_cache_bytes, 8 << 20);
    assert_int_equal(vv_settings_set(&settings, "data", "/a", NULL), VV_OK);
    assert_string_equal(settings.data, "/a");
    assert_string_equal(settings.store_kind, "rocksdb");
    assert_int_equal(vv_settings_set(&settings, "store", "cassandra", NULL), VV_OK);
    assert_string_equal(settings.store_kind, "cassandra");
    assert_int_equal(vv_settings_set(&settings, "store.kind", "rocksdb", NULL), VV_OK);
    assert_string_equal(settings.store_kind, "rocksdb");
}

static void wrong_names_and_values_say_what_is_allowed(void **state)
{
    (void)state;
    expect_set("http.thread", "1", VV_INVALID, "did you mean http.threads?");
    expect_set("threads", "1", VV_INVALID, "did you mean http.threads?");
    expect_set("qwertyuiop", "1", VV_INVALID, "varve config");
    expect_set("", "1", VV_INVALID, "no setting");
    expect_set("http.threads", "0", VV_INVALID, "too small; allowed: 1 to 64");
    expect_set("http.threads", "65", VV_INVALID, "too large; allowed: 1 to 64");
    expect_set("http.threads", "two", VV_INVALID, "not a whole number");
    expect_set("data", "", VV_INVALID, "too short");
    expect_set("data", "a\nb", VV_INVALID, "control");
    expect_set("log.level", "inf", VV_INVALID, "debug, info, warn or error");
    expect_set("partition.bucket", "1s", VV_INVALID, "0: chosen for each source");
    expect_set("store", "casandra", VV_INVALID, "store.kind: 'casandra'");
    expect_set("cassandra", "on", VV_INVALID, "no setting 'cassandra'");
    expect_set("kind", "rocksdb", VV_INVALID, "did you mean store.kind?");
}

static void pairs_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *needle;
    } cases[] = {
        {"head.bytes_max", "100MiB", "head.flush_bytes (64MiB)"},
        {"journal.bytes_max", "16MiB", "4 times journal.segment_bytes"},
        {"partition.span", "1h", "set both or none"},
        {"head.flush_bytes", "16GiB", "2 times"},
        {"fleet.gone_after", "3s", "2 times fleet.beat (2s)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_settings settings;
        struct vv_error error = {0};
        vv_settings_init(&settings);
        assert_int_equal(vv_settings_set(&settings, cases[i].name, cases[i].value, NULL), VV_OK);
        assert_int_equal(vv_settings_check(&settings, &error), VV_INVALID);
        assert_non_null(strstr(error.message, cases[i].needle));
    }
}

static void a_span_divides_its_bucket(void **state)
{
    (void)state;
    struct vv_settings settings;
    vv_settings_init(&settings);
    settings.bucket_ns = VV_DAY;
    settings.span_ns = VV_HOUR;
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    settings.span_ns = 7 * VV_HOUR;
    assert_int_equal(vv_settings_check(&settings, NULL), VV_INVALID);
}

static void default_tiers_need_points_that_live_long_enough(void **state)
{
    (void)state;
    struct vv_settings settings;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    assert_int_equal(vv_settings_raw_ns(&settings), 0);
    settings.tiers_default = true;
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    assert_int_equal(vv_settings_raw_ns(&settings), 7 * VV_DAY);
    settings.retention_raw_ns = 2 * VV_DAY;
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    assert_int_equal(vv_settings_raw_ns(&settings), 2 * VV_DAY);
    settings.retention_raw_ns = 2 * VV_DAY - 1;
    assert_int_equal(vv_settings_check(&settings, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "retention.raw"));
    settings.retention_raw_ns = 0;
    strcpy(settings.store_kind, "cassandra");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    strcpy(settings.cassandra_classes, "7d,90d");
    assert_int_equal(vv_settings_check(&settings, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "cassandra.classes"));
}

/* What vv_settings_print writes, for the caller to free. */
static char *printed(const struct vv_settings *settings, size_t *size_out)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, size_out);
    assert_non_null(file);
    vv_settings_print(settings, file);
    fclose(file);
    return text;
}

/* What `varve config` prints gives the same settings, with values that need quoting too. */
static void printed_settings_are_read_back(void **state)
{
    (void)state;
    struct vv_settings settings;
    vv_settings_init(&settings);
    for (size_t i = 0; i < vv_setting_count; i++) {
        const struct vv_setting *row = &vv_setting_table[i];
        char most[32];
        snprintf(most, sizeof most, "%lld%s", (long long)row->most,
                 row->type == VV_SETTING_DURATION ? "ns" : "");
        const char *value = row->type == VV_SETTING_TEXT   ? "a \"b\" #c\\ : d ü"
                            : row->type == VV_SETTING_ENUM ? strrchr(row->choices, '|') + 1
                            : row->type == VV_SETTING_BOOL ? "true"
                                                           : most;
        if (row->type != VV_SETTING_SECRET) {
            assert_int_equal(vv_settings_set(&settings, row->name, value, NULL), VV_OK);
        }
    }
    size_t size = 0;
    char *text = printed(&settings, &size);
    struct vv_settings again;
    struct vv_error error = {0};
    vv_settings_init(&again);
    enum vv_status status =
        vv_settings_parse(&again, (struct vv_str){text, size}, "printed", &error);
    if (status != VV_OK) {
        fail_msg("%s\n%s", error.message, text);
    }
    assert_memory_equal(&again, &settings, sizeof settings);
    free(text);
}

/* Neither printed nor in any message; and what is printed without it is a valid file. */
static void a_secret_is_not_shown(void **state)
{
    (void)state;
    struct vv_settings settings;
    struct vv_error error = {0};
    size_t size = 0;
    vv_settings_init(&settings);
    char *text = printed(&settings, &size);
    assert_non_null(strstr(text, "\n  password: \"\"\n"));
    free(text);
    assert_int_equal(vv_settings_set(&settings, "cassandra.password", "s3cret", NULL), VV_OK);
    assert_string_equal(settings.cassandra_password, "s3cret");
    text = printed(&settings, &size);
    assert_null(strstr(text, "s3cret"));
    assert_non_null(strstr(text, "\n  # password: it is set, and not shown\n"));
    struct vv_settings again;
    vv_settings_init(&again);
    assert_int_equal(vv_settings_parse(&again, (struct vv_str){text, size}, "printed", NULL),
                     VV_OK);
    assert_string_equal(again.cassandra_password, "");
    free(text);
    char longest[VV_SETTING_TEXT_MAX + 1];
    memset(longest, 'x', sizeof longest - 1);
    memcpy(longest, "s3cret", 6);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(vv_settings_set(&settings, "cassandra.password", longest, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "cassandra.password: the value is too long"));
    assert_null(strstr(error.message, "s3cret"));
    assert_int_equal(vv_settings_set(&settings, "cassandra.password", "s3cret\n", &error),
                     VV_INVALID);
    assert_null(strstr(error.message, "s3cret"));
}

static void the_document_names_every_setting(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    vv_settings_document(file);
    fclose(file);
    for (size_t i = 0; i < vv_setting_count; i++) {
        char row[128];
        snprintf(row, sizeof row, "| `%s` |", vv_setting_table[i].name);
        assert_non_null(strstr(text, row));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_table),
        cmocka_unit_test(rows_cover_the_struct_once),
        cmocka_unit_test(names_are_unique_and_sections_together),
        cmocka_unit_test(a_mistyped_section_is_recognised),
        cmocka_unit_test(one_is_set_by_name),
        cmocka_unit_test(wrong_names_and_values_say_what_is_allowed),
        cmocka_unit_test(pairs_are_checked),
        cmocka_unit_test(default_tiers_need_points_that_live_long_enough),
        cmocka_unit_test(a_span_divides_its_bucket),
        cmocka_unit_test(printed_settings_are_read_back),
        cmocka_unit_test(a_secret_is_not_shown),
        cmocka_unit_test(the_document_names_every_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
