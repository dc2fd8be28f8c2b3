/* SPDX-License-Identifier: Apache-2.0 */
/* The section cassandra: its lists, the password's file, and what is refused with which words. */
#include "settings/settings.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct vv_settings with(const char *name, const char *value)
{
    struct vv_settings settings;
    struct vv_error error = {0};
    vv_settings_init(&settings);
    if (vv_settings_set(&settings, name, value, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return settings;
}

static void expect_classes(const char *text, const int64_t *expected, size_t n_expected)
{
    int64_t classes[VV_SETTINGS_CLASSES_MAX];
    size_t n;
    struct vv_settings settings = with("cassandra.classes", text);
    assert_int_equal(vv_settings_classes(&settings, classes, &n, NULL), VV_OK);
    assert_int_equal(n, n_expected);
    assert_memory_equal(classes, expected, n * sizeof *expected);
}

static void classes_are_durations(void **state)
{
    (void)state;
    expect_classes("7d,30d,90d,365d",
                   (int64_t[]){7 * VV_DAY, 30 * VV_DAY, 90 * VV_DAY, 365 * VV_DAY}, 4);
    expect_classes(" 90s , 1h30m,2w ", (int64_t[]){90 * VV_SECOND, 90 * VV_MINUTE, 14 * VV_DAY}, 3);
    expect_classes("7300d", (int64_t[]){7300 * VV_DAY}, 1);
    expect_classes("", NULL, 0);
    expect_classes("  ", NULL, 0);
    int64_t most[VV_SETTINGS_CLASSES_MAX];
    char text[128] = "";
    for (int i = 0; i < VV_SETTINGS_CLASSES_MAX; i++) {
        char one[16];
        snprintf(one, sizeof one, "%s%dh", i ? "," : "", i + 1);
        strcat(text, one);
        most[i] = (i + 1) * VV_HOUR;
    }
    expect_classes(text, most, VV_SETTINGS_CLASSES_MAX);
}

static void replication_is_by_data_centre(void **state)
{
    (void)state;
    struct vv_settings_replicas replicas[VV_SETTINGS_REPLICAS_MAX];
    size_t n;
    struct vv_settings settings = with("cassandra.replication", "dc1:3, EU West : 2");
    assert_int_equal(vv_settings_replication(&settings, replicas, &n, NULL), VV_OK);
    assert_int_equal(n, 2);
    assert_true(vv_str_equal(replicas[0].datacenter, VV_STR_LITERAL("dc1")));
    assert_int_equal(replicas[0].replicas, 3);
    assert_true(vv_str_equal(replicas[1].datacenter, VV_STR_LITERAL("EU West")));
    assert_int_equal(replicas[1].replicas, 2);
}

static void expect_refused(const struct vv_settings *settings, const char *needle)
{
    struct vv_error error = {0};
    if (vv_settings_check(settings, &error) != VV_INVALID || !strstr(error.message, needle)) {
        fail_msg("\"%s\" is not in \"%s\"", needle, error.message);
    }
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *value;
        const char *needle;
    } cases[] = {
        {"cassandra.classes", "7d,x", "'x' is not a duration"},
        {"cassandra.classes", "7d,", "'' is not a duration"},
        {"cassandra.classes", ",", "'' is not a duration"},
        {"cassandra.classes", "30d,7d", "'7d' is not longer than the one before"},
        {"cassandra.classes", "7d,168h", "'168h' is not longer"},
        {"cassandra.classes", "59s", "not whole seconds in that range"},
        {"cassandra.classes", "0s", "not whole seconds in that range"},
        {"cassandra.classes", "60500ms", "not whole seconds in that range"},
        {"cassandra.classes", "7301d", "allowed: up to 16 durations of 1m to 7300d"},
        {"cassandra.classes", "1h,2h,3h,4h,5h,6h,7h,8h,9h,10h,11h,12h,13h,14h,15h,16h,17h",
         "'17h' is one too many"},
        {"cassandra.replication", "dc1", "'dc1' is no data centre with a number of copies"},
        {"cassandra.replication", "dc1:", "no data centre"},
        {"cassandra.replication", ":3", "no data centre"},
        {"cassandra.replication", "dc1:0", "no data centre"},
        {"cassandra.replication", "dc1:101", "no data centre"},
        {"cassandra.replication", "dc1:-1", "no data centre"},
        {"cassandra.replication", "dc1:3,dc1:2", "'dc1' is named twice"},
        {"cassandra.replication", "dc1:3,", "such as dc1:3,dc2:3"},
        {"cassandra.rows_tenants", "a,,b", "'' is no name"},
        {"cassandra.rows_tenants", "a,", "names of tenants with commas"},
        {"cassandra.rows_tenants", "a,web*", "'web*' is no name"},
        {"cassandra.keyspace", "Varve", "small letters"},
        {"cassandra.keyspace", "1a", "a letter first"},
        {"cassandra.keyspace", "_a", "a letter first"},
        {"cassandra.keyspace", "a b", "is no name"},
        {"cassandra.keyspace", "a;drop", "is no name"},
        {"cassandra.keyspace", "a234567890123456789012345678901234567890123456789", "at most 48"},
        {"cassandra.keyspace", "varve_{x}", "is no name"},
        {"cassandra.keyspace", "{region}234567890123456789012345678901234567890123", "at most 48"},
        {"cassandra.region", "a b", "'a b' is no name"},
        {"cassandra.regions", "default,a b", "cassandra.regions: 'a b' is no name"},
        {"cassandra.regions", "default,", "cassandra.regions: '' is no name"},
        {"cassandra.regions", "default,a,default", "'default' is named twice"},
        {"cassandra.regions", "a,b", "'default' is not in cassandra.regions"},
        {"cassandra.regions", "default,b", "such as varve_{region}"},
        {"cassandra.regions", "default,1,2,3,4,5,6,7,8", "'8' is one too many; at most 8"},
        {"cassandra.user", "u", "there is no password"},
        {"cassandra.password", "p", "no cassandra.user"},
        {"cassandra.password_file", "p", "no cassandra.user"},
        {"cassandra.tls_ca", "ca.pem", "cassandra.tls is off"},
        {"cassandra.tls_skip_name_check", "true", "cassandra.tls is off"},
        {"cassandra.tls_key", "key.pem", "belong together"},
        {"cassandra.tls_certificate", "c.pem", "belong together"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vv_settings settings = with(cases[i].name, cases[i].value);
        expect_refused(&settings, cases[i].needle);
    }
}

static void expect_regions(const char *keyspace, const char *region, const char *list,
                           const char *expected, size_t own)
{
    char text[256] = "";
    struct vv_settings_regions regions;
    struct vv_settings settings = with("cassandra.keyspace", keyspace);
    struct vv_error error = {0};
    assert_int_equal(vv_settings_set(&settings, "cassandra.region", region, NULL), VV_OK);
    assert_int_equal(vv_settings_set(&settings, "cassandra.regions", list, NULL), VV_OK);
    if (vv_settings_regions(&settings, &regions, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    for (size_t i = 0; i < regions.n; i++) {
        strcat(text, i ? " " : "");
        strcat(text, regions.regions[i].name);
        strcat(text, ":");
        strcat(text, regions.regions[i].keyspace);
    }
    assert_string_equal(text, expected);
    assert_int_equal(regions.own, own);
}

static void each_region_has_a_keyspace(void **state)
{
    (void)state;
    expect_regions("varve", "default", "", "default:varve", 0);
    expect_regions("varve", "one", " one ", "one:varve", 0);
    expect_regions("v_{region}", "one", "", "one:v_one", 0);
    expect_regions("v_{region}_x", "two", "one, two,three",
                   "one:v_one_x two:v_two_x three:v_three_x", 1);
    expect_regions("v{region}", "EU-West", "us,EU-West", "us:vus EU-West:veu_west", 1);
    struct vv_settings settings = with("cassandra.keyspace", "v_{region}");
    assert_int_equal(vv_settings_set(&settings, "cassandra.regions", "default,eu-1,EU_1", NULL),
                     VV_OK);
    expect_refused(&settings, "the regions eu-1 and EU_1 one keyspace");
}

static void set(struct vv_settings *settings, const char *name, const char *value)
{
    assert_int_equal(vv_settings_set(settings, name, value, NULL), VV_OK);
}

static void late_points_are_kept_apart_in_any_layout(void **state)
{
    (void)state;
    struct vv_settings settings = with("store.kind", "cassandra");
    set(&settings, "late.policy", "separate");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    set(&settings, "cassandra.rows_tenants", "plant");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
}

static void runs_that_expire_before_they_are_due_are_refused(void **state)
{
    (void)state;
    struct vv_settings settings = with("store.kind", "cassandra");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    set(&settings, "cassandra.slack", "4h");
    set(&settings, "seal.lateness", "30m");
    set(&settings, "seal.spread", "30m");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    set(&settings, "seal.spread", "1801s");
    expect_refused(&settings, "raise cassandra.slack, or lower them");
    set(&settings, "seal.spread", "0s");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    set(&settings, "partition.bucket", "1d");
    set(&settings, "partition.span", "1h");
    expect_refused(&settings, "than a quarter of cassandra.slack");
    set(&settings, "seal.spread", "1s");
    set(&settings, "seal.lateness", "30d");
    expect_refused(&settings, "seal.lateness and seal.spread");
    set(&settings, "store.kind", "rocksdb");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
}

static void runs_that_are_written_again_too_seldom_are_refused(void **state)
{
    (void)state;
    struct vv_settings settings = with("store.kind", "cassandra");
    set(&settings, "cassandra.slack", "32h");
    set(&settings, "retention.interval", "2h");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    set(&settings, "retention.interval", "7201s");
    expect_refused(&settings, "retention.interval is longer than a 16th of cassandra.slack");
    set(&settings, "store.kind", "rocksdb");
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
}

static void many_data_centres_are_refused(void **state)
{
    (void)state;
    char text[VV_SETTING_TEXT_MAX] = "";
    for (int i = 0; i <= VV_SETTINGS_REPLICAS_MAX; i++) {
        char one[16];
        snprintf(one, sizeof one, "%s%d:1", i ? "," : "", i);
        strcat(text, one);
    }
    struct vv_settings settings = with("cassandra.replication", text);
    expect_refused(&settings, "'32' is one too many");
}

static void what_fits_together_is_taken(void **state)
{
    (void)state;
    struct vv_settings settings = with("cassandra.tls", "true");
    static const char *const tenants[] = {"", " ", "*", "a", "a, b c ,*"};
    for (size_t i = 0; i < sizeof tenants / sizeof tenants[0]; i++) {
        assert_int_equal(vv_settings_set(&settings, "cassandra.rows_tenants", tenants[i], NULL),
                         VV_OK);
        assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    }
    assert_int_equal(vv_settings_set(&settings, "cassandra.tls_ca", "ca.pem", NULL), VV_OK);
    assert_int_equal(vv_settings_set(&settings, "cassandra.tls_certificate", "c.pem", NULL), VV_OK);
    assert_int_equal(vv_settings_set(&settings, "cassandra.tls_key", "c.key", NULL), VV_OK);
    assert_int_equal(vv_settings_set(&settings, "cassandra.user", "u", NULL), VV_OK);
    assert_int_equal(vv_settings_set(&settings, "cassandra.password", "p", NULL), VV_OK);
    assert_int_equal(vv_settings_check(&settings, NULL), VV_OK);
    assert_int_equal(vv_settings_set(&settings, "cassandra.password_file", "f", NULL), VV_OK);
    expect_refused(&settings, "keep one of them");
}

/* The status of reading a file with this content, and the password or the message. */
static enum vv_status password_of(struct vv_str content, char *out, struct vv_error *error)
{
    char path[] = "/tmp/varve-password-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, content.data, content.size), (ssize_t)content.size);
    close(file);
    struct vv_settings settings = with("cassandra.password_file", path);
    enum vv_status status = vv_settings_password(&settings, out, error);
    unlink(path);
    return status;
}

static void the_password_comes_from_its_file(void **state)
{
    (void)state;
    char password[VV_SETTING_TEXT_MAX];
    static const char *const contents[] = {"p 1", "p 1\n", "p 1\r\n", "p 1\nsecond line\n"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        assert_int_equal(password_of(vv_str_of(contents[i]), password, NULL), VV_OK);
        assert_string_equal(password, "p 1");
    }
    char longest[VV_SETTING_TEXT_MAX];
    memset(longest, 'x', sizeof longest);
    assert_int_equal(password_of((struct vv_str){longest, sizeof longest - 1}, password, NULL),
                     VV_OK);
    assert_int_equal(strlen(password), sizeof longest - 1);
    struct vv_error error = {0};
    assert_int_equal(password_of((struct vv_str){longest, sizeof longest}, password, &error),
                     VV_INVALID);
    assert_non_null(strstr(error.message, "too long"));
    assert_null(strstr(error.message, "xxx"));
    assert_int_equal(password_of((struct vv_str){0}, password, &error), VV_INVALID);
    assert_int_equal(password_of(vv_str_of("\np"), password, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "empty"));
}

static void the_password_may_be_a_setting_or_missing(void **state)
{
    (void)state;
    char password[VV_SETTING_TEXT_MAX];
    struct vv_error error = {0};
    struct vv_settings settings = with("cassandra.password", "secret");
    assert_int_equal(vv_settings_password(&settings, password, NULL), VV_OK);
    assert_string_equal(password, "secret");
    vv_settings_init(&settings);
    assert_int_equal(vv_settings_password(&settings, password, NULL), VV_OK);
    assert_string_equal(password, "");
    settings = with("cassandra.password_file", "/nothing/here");
    assert_int_equal(vv_settings_password(&settings, password, &error), VV_IO);
    assert_non_null(strstr(error.message, "/nothing/here"));
    settings = with("cassandra.password_file", "/");
    assert_int_equal(vv_settings_password(&settings, password, &error), VV_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_durations),
        cmocka_unit_test(replication_is_by_data_centre),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(each_region_has_a_keyspace),
        cmocka_unit_test(late_points_are_kept_apart_in_any_layout),
        cmocka_unit_test(runs_that_expire_before_they_are_due_are_refused),
        cmocka_unit_test(runs_that_are_written_again_too_seldom_are_refused),
        cmocka_unit_test(many_data_centres_are_refused),
        cmocka_unit_test(what_fits_together_is_taken),
        cmocka_unit_test(the_password_comes_from_its_file),
        cmocka_unit_test(the_password_may_be_a_setting_or_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
