/* SPDX-License-Identifier: Apache-2.0 */
/* The YAML reader: what it takes, and that every refusal has file, line, key and cause. */
#include "settings/settings.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void maps_are_dotted_names(void **state)
{
    (void)state;
    struct vv_settings settings;
    vv_settings_init(&settings);
    static const char text[] = "# a comment\n"
                               "---\n"
                               "data: /var/lib/varve\n"
                               "http:\n"
                               "  listen: '0.0.0.0:1'\n"
                               "  threads: \"4\"\n"
                               "head.flush_age: 1m\n"
                               "journal: {skip_damaged: yes, segment_bytes: 8MiB}\n"
                               "query:\n";
    struct vv_error error = {0};
    assert_int_equal(vv_settings_parse(&settings, VV_STR_LITERAL(text), "f", &error), VV_OK);
    assert_string_equal(settings.data, "/var/lib/varve");
    assert_string_equal(settings.listen, "0.0.0.0:1");
    assert_int_equal(settings.http_threads, 4);
    assert_int_equal(settings.head_flush_age_ns, VV_MINUTE);
    assert_true(settings.journal_skip_damaged);
    assert_int_equal(settings.journal_segment_bytes, 8 << 20);
    assert_int_equal(settings.query_threads, 2);
}

static void a_word_for_a_section_is_its_kind(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "store: cassandra\nstore.eras: 8\n",
        "store.eras: 8\nstore: 'cassandra'\n",
        "store: {kind: cassandra, eras: 8}\n",
        "store.kind: cassandra\nstore.eras: 8\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct vv_settings settings;
        struct vv_error error = {0};
        vv_settings_init(&settings);
        if (vv_settings_parse(&settings, vv_str_of(texts[i]), "f", &error) != VV_OK) {
            fail_msg("%s%s", texts[i], error.message);
        }
        assert_string_equal(settings.store_kind, "cassandra");
        assert_int_equal(settings.store_eras, 8);
    }
}

static void nothing_changes_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "# only\n", "---\n", "--- {}\n", "---\n...\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct vv_settings settings;
        struct vv_settings before;
        vv_settings_init(&settings);
        before = settings;
        assert_int_equal(vv_settings_parse(&settings, vv_str_of(texts[i]), "f", NULL), VV_OK);
        assert_memory_equal(&settings, &before, sizeof settings);
    }
}

struct refusal {
    const char *text;
    const char *needle;
};

static const struct refusal refusals[] = {
    {"http:\n  lisen: a\n",
     "f.yaml:2: there is no setting 'http.lisen'; did you mean http.listen?"},
    {"htp:\n  listen: a:1\n", "f.yaml:1: there is no setting 'htp'; did you mean http?"},
    {"zzzzzzzz: 1\n", "varve config"},
    {"data: a\n\ndata: b\n", "f.yaml:3: data: is given twice"},
    {"http:\n  threads: 1\nhttp.threads: 2\n", "f.yaml:3: http.threads: is given twice"},
    {"http:\n  threads: 1\nhttp:\n  listen: a:1\n", "f.yaml:3: http: is given twice; join"},
    {"http:\n  threads: [1, 2]\n", "f.yaml:2: http.threads: takes one value, not a list"},
    {"http: [1]\n", "f.yaml:1: http: takes one value, not a list"},
    {"nothing_like_it: [1]\n", "f.yaml:1: there is no setting"},
    {"http: 5\n", "f.yaml:1: http: is a group of settings, not one"},
    {"cassandra: yes\n", "f.yaml:1: cassandra: is a group of settings, not one"},
    {"store: sqlite\n", "f.yaml:1: store.kind: 'sqlite' is not one of the words; allowed: rocksdb"},
    {"store: cassandra\nstore.kind: rocksdb\n", "f.yaml:2: store.kind: is given twice"},
    {"store: cassandra\nstore:\n  eras: 8\n", "f.yaml:2: store: is given twice; join"},
    {"store:\n  eras: 8\nstore: cassandra\n", "f.yaml:3: store: is given twice; join"},
    {"store: [cassandra]\n", "f.yaml:1: store: takes one value, not a list"},
    {"data:\n  x: 1\n", "f.yaml:1: data: takes one value"},
    {"data:\n", "f.yaml:1: data: has no value"},
    {"data: null\n", "f.yaml:1: data: has no value"},
    {"http:\n  threads: many\n",
     "f.yaml:2: http.threads: 'many' is not a whole number; allowed: 1"},
    {"http:\n  threads: 1000\n", "f.yaml:2: http.threads: '1000' is too large; allowed: 1 to 64"},
    {"head:\n  flush_age: 5\n", "f.yaml:2: head.flush_age: '5' is not a duration"},
    {"log:\n  level: loud\n", "allowed: debug, info, warn or error"},
    {"data: &a x\n? *a\n: 1\n", "f.yaml:2: a key must be a word"},
    {"data: &a x\nhttp:\n  listen: *a\n", "f.yaml:3: http.listen: anchors and aliases"},
    {"[a]: 1\n", "a key must be a word"},
    {"'': 1\n", "a key is empty"},
    {"\"a\\0b\": 1\n", "a zero byte"},
    {"data: \"a\\0b\"\n", "control characters"},
    {"- data\n", "the file must consist of lines"},
    {"just text\n", "the file must consist of lines"},
    {"data: a\n---\ndata: b\n", "f.yaml:2: a second document"},
    {"data: a\n b: c\n", "this is not YAML"},
    {"data: 'a\n", "this is not YAML"},
    {"\tdata: a\n", "this is not YAML"},
    {"data: \xff\n", "this is not YAML"},
    {"{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{", "a key must be a word"},
};

static void each_refusal_says_where_and_what(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        struct vv_settings settings;
        struct vv_settings before;
        struct vv_error error = {0};
        vv_settings_init(&settings);
        before = settings;
        enum vv_status status =
            vv_settings_parse(&settings, vv_str_of(refusals[i].text), "f.yaml", &error);
        if (status != VV_INVALID || !strstr(error.message, refusals[i].needle)) {
            fail_msg("%s\n→ %s: \"%s\", expected \"%s\"", refusals[i].text, vv_status_name(status),
                     error.message, refusals[i].needle);
        }
        assert_memory_equal(&settings, &before, sizeof settings);
    }
}

static void long_names_are_refused(void **state)
{
    (void)state;
    char text[4096];
    memset(text, 'k', sizeof text);
    memcpy(text + sizeof text - 4, ": 1", 4);
    struct vv_settings settings;
    vv_settings_init(&settings);
    struct vv_error error = {0};
    /* libyaml itself ends simple keys at 1,024 characters */
    assert_int_equal(vv_settings_parse(&settings, vv_str_of(text), "f", &error), VV_INVALID);
    assert_int_equal(vv_settings_parse(&settings, vv_str_of(text + 3500), "f", &error), VV_INVALID);
    assert_non_null(strstr(error.message, "too long"));
}

static void files_are_loaded(void **state)
{
    (void)state;
    char path[] = "/tmp/varve-settings-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "http:\n  threads: 7\n", 19), 19);
    close(file);
    struct vv_settings settings;
    vv_settings_init(&settings);
    assert_int_equal(vv_settings_load(&settings, path, NULL), VV_OK);
    assert_int_equal(settings.http_threads, 7);
    unlink(path);
    struct vv_error error = {0};
    assert_int_equal(vv_settings_load(&settings, path, &error), VV_NOT_FOUND);
    assert_non_null(strstr(error.message, path));
    assert_int_equal(vv_settings_load(&settings, "/", &error), VV_IO);
}

static void huge_files_are_refused(void **state)
{
    (void)state;
    char path[] = "/tmp/varve-settings-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, 2 << 20), 0);
    close(file);
    struct vv_settings settings;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    assert_int_equal(vv_settings_load(&settings, path, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "larger than 1MiB"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_are_dotted_names),
        cmocka_unit_test(a_word_for_a_section_is_its_kind),
        cmocka_unit_test(nothing_changes_nothing),
        cmocka_unit_test(each_refusal_says_where_and_what),
        cmocka_unit_test(long_names_are_refused),
        cmocka_unit_test(files_are_loaded),
        cmocka_unit_test(huge_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
