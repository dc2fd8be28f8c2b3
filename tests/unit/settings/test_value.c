/* SPDX-License-Identifier: Apache-2.0 */
/* Values of each type: what is read, what is refused, and how it is written. */
#include "settings/table.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A row of its own over one member, with the widest range. */
static struct vv_setting row_of(enum vv_setting_type type)
{
    return (struct vv_setting){
        .name = "test",
        .type = type,
        .offset = offsetof(struct vv_settings, http_body_bytes_max),
        .least = INT64_MIN,
        .most = INT64_MAX,
    };
}

static void expect_number(enum vv_setting_type type, const char *text, int64_t expected)
{
    struct vv_setting row = row_of(type);
    struct vv_settings settings = {0};
    struct vv_error error = {0};
    if (vv_setting_read(&row, vv_str_of(text), &settings, &error) != VV_OK) {
        fail_msg("%s: %s", text, error.message);
    }
    assert_int_equal(settings.http_body_bytes_max, expected);
}

static void expect_refused(enum vv_setting_type type, const char *text)
{
    struct vv_setting row = row_of(type);
    struct vv_settings settings = {.http_body_bytes_max = 77};
    if (vv_setting_read(&row, vv_str_of(text), &settings, NULL) != VV_INVALID) {
        fail_msg("'%s' was read as %lld", text, (long long)settings.http_body_bytes_max);
    }
    assert_int_equal(settings.http_body_bytes_max, 77);
}

static void sizes(void **state)
{
    (void)state;
    expect_number(VV_SETTING_SIZE, "0", 0);
    expect_number(VV_SETTING_SIZE, "4096", 4096);
    expect_number(VV_SETTING_SIZE, "12B", 12);
    expect_number(VV_SETTING_SIZE, "64KiB", 65536);
    expect_number(VV_SETTING_SIZE, "64 MiB", 64 << 20);
    expect_number(VV_SETTING_SIZE, "1GB", 1000000000);
    expect_number(VV_SETTING_SIZE, "2gib", INT64_C(2) << 30);
    expect_number(VV_SETTING_SIZE, "3TiB", INT64_C(3) << 40);
    expect_number(VV_SETTING_SIZE, "9223372036854775807", INT64_MAX);
    static const char *const wrong[] = {"",    "MiB",  "1.5GiB",    "-1",    "64M",
                                        "1 ",  "1  B", " 1",        "1MiBs", "9223372036854775808",
                                        "1e6", "0x10", "9000000TiB"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_refused(VV_SETTING_SIZE, wrong[i]);
    }
}

static void durations(void **state)
{
    (void)state;
    expect_number(VV_SETTING_DURATION, "0", 0);
    expect_number(VV_SETTING_DURATION, "250ms", 250 * VV_MILLISECOND);
    expect_number(VV_SETTING_DURATION, "1h30m", 90 * VV_MINUTE);
    expect_number(VV_SETTING_DURATION, "7d", 7 * VV_DAY);
    expect_refused(VV_SETTING_DURATION, "7");
    expect_refused(VV_SETTING_DURATION, "-7d");
    expect_refused(VV_SETTING_DURATION, "");
}

static void whole_numbers(void **state)
{
    (void)state;
    expect_number(VV_SETTING_INT, "-5", -5);
    expect_number(VV_SETTING_INT, "007", 7);
    expect_refused(VV_SETTING_INT, "-");
    expect_refused(VV_SETTING_INT, "1_000");
    expect_refused(VV_SETTING_INT, "5 ");
    expect_refused(VV_SETTING_INT, "9223372036854775808");
}

static void booleans(void **state)
{
    (void)state;
    static const char *const words[] = {"false", "true", "no", "Yes", "OFF", "on"};
    struct vv_setting row = row_of(VV_SETTING_BOOL);
    row.offset = offsetof(struct vv_settings, journal_skip_damaged);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct vv_settings settings = {.journal_skip_damaged = i % 2 == 0};
        assert_int_equal(vv_setting_read(&row, vv_str_of(words[i]), &settings, NULL), VV_OK);
        assert_int_equal(settings.journal_skip_damaged, i % 2 == 1);
    }
    struct vv_settings settings = {0};
    assert_int_equal(vv_setting_read(&row, vv_str_of("1"), &settings, NULL), VV_INVALID);
}

static void texts_keep_nothing_of_the_one_before(void **state)
{
    (void)state;
    struct vv_setting row = row_of(VV_SETTING_TEXT);
    row.offset = offsetof(struct vv_settings, data);
    row.least = 0;
    row.most = VV_SETTING_TEXT_MAX - 1;
    struct vv_settings settings = {0};
    char longest[VV_SETTING_TEXT_MAX + 1];
    memset(longest, 'x', sizeof longest);
    struct vv_str text = {longest, VV_SETTING_TEXT_MAX - 1};
    assert_int_equal(vv_setting_read(&row, text, &settings, NULL), VV_OK);
    assert_int_equal(strlen(settings.data), VV_SETTING_TEXT_MAX - 1);
    text.size++;
    assert_int_equal(vv_setting_read(&row, text, &settings, NULL), VV_INVALID);
    assert_int_equal(vv_setting_read(&row, vv_str_of("ab"), &settings, NULL), VV_OK);
    struct vv_settings expected = {.data = "ab"};
    assert_memory_equal(settings.data, expected.data, sizeof settings.data);
    assert_int_equal(vv_setting_read(&row, (struct vv_str){0}, &settings, NULL), VV_OK);
    assert_string_equal(settings.data, "");
}

static void expect_written(enum vv_setting_type type, int64_t value, const char *expected)
{
    struct vv_setting row = row_of(type);
    struct vv_settings settings = {.http_body_bytes_max = value};
    char out[VV_SETTING_WRITTEN_SIZE];
    vv_setting_write(&row, &settings, out);
    assert_string_equal(out, expected);
}

static void values_are_written_as_people_would(void **state)
{
    (void)state;
    expect_written(VV_SETTING_SIZE, 0, "0");
    expect_written(VV_SETTING_SIZE, 64 << 20, "64MiB");
    expect_written(VV_SETTING_SIZE, 1536, "1536");
    expect_written(VV_SETTING_SIZE, INT64_C(5) << 40, "5TiB");
    expect_written(VV_SETTING_DURATION, 90 * VV_MINUTE, "1h30m");
    expect_written(VV_SETTING_DURATION, 0, "0s");
    expect_written(VV_SETTING_INT, -3, "-3");
}

static void what_is_allowed_is_said(void **state)
{
    (void)state;
    char out[160];
    vv_setting_allowed(vv_setting_find(vv_str_of("seal.quiet")), out, sizeof out);
    assert_string_equal(out, "1s to 1d; 0: at once");
    vv_setting_allowed(vv_setting_find(vv_str_of("log.level")), out, sizeof out);
    assert_string_equal(out, "debug, info, warn or error");
    vv_setting_allowed(vv_setting_find(vv_str_of("journal.skip_damaged")), out, sizeof out);
    assert_string_equal(out, "true or false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(durations),
        cmocka_unit_test(whole_numbers),
        cmocka_unit_test(booleans),
        cmocka_unit_test(texts_keep_nothing_of_the_one_before),
        cmocka_unit_test(values_are_written_as_people_would),
        cmocka_unit_test(what_is_allowed_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
