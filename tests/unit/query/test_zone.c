/* SPDX-License-Identifier: Apache-2.0 */
/* Zones: offsets and days against the C library, rules, and damaged files. */
#include "base/random.h"
#include "query/zone.h"
#include "query/zone_rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SEED  11
#define DAY_S 86400

static const char *const names[] = {
    "Europe/Berlin",    "America/New_York",   "America/St_Johns", "America/Sao_Paulo",
    "America/Havana",   "Asia/Kolkata",       "Asia/Tehran",      "Australia/Lord_Howe",
    "Pacific/Apia",     "Africa/Casablanca",  "Asia/Gaza",        "America/Nuuk",
    "Antarctica/Troll", "Pacific/Kiritimati",
};
#define NAME_COUNT (sizeof names / sizeof names[0])

static const struct vv_zone *find(const char *name)
{
    const struct vv_zone *zone;
    struct vv_error error = {0};
    enum vv_status status = vv_zone_find(vv_str_of(name), &zone, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, VV_OK);
    assert_non_null(zone);
    return zone;
}

static int64_t library_offset(int64_t instant)
{
    time_t time = (time_t)instant;
    struct tm local;
    assert_non_null(localtime_r(&time, &local));
    return local.tm_gmtoff;
}

/* Years 1900 to 2100: listed changes and the rule behind them. */
static int64_t random_instant(struct vv_random *random)
{
    int64_t span = (int64_t)200 * 365 * DAY_S;
    return (int64_t)vv_random_below(random, (uint64_t)span) - (int64_t)70 * 365 * DAY_S;
}

static void offsets_are_those_of_the_c_library(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (size_t i = 0; i < NAME_COUNT; i++) {
        const struct vv_zone *zone = find(names[i]);
        setenv("TZ", names[i], 1);
        tzset();
        for (int k = 0; k < 4000; k++) {
            int64_t instant = random_instant(&random);
            int64_t until;
            int64_t offset = vv_zone_offset(zone, instant, &until);
            if (offset != library_offset(instant)) {
                fail_msg("%s at %lld: %lld, not %lld", names[i], (long long)instant,
                         (long long)offset, (long long)library_offset(instant));
            }
            assert_true(until > instant);
            if (until < INT64_MAX && until < instant + 1000 * (int64_t)DAY_S) {
                assert_int_equal(vv_zone_offset(zone, until - 1, NULL), offset);
                assert_int_equal(library_offset(until), vv_zone_offset(zone, until, NULL));
            }
        }
    }
}

/* By definition: at its start the local clock shows midnight or later, just before it does not. */
static void a_day_starts_when_the_clock_first_shows_midnight(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    for (size_t i = 0; i < NAME_COUNT; i++) {
        const struct vv_zone *zone = find(names[i]);
        for (int k = 0; k < 2000; k++) {
            int64_t day = random_instant(&random) / DAY_S;
            int64_t start = vv_zone_day_start(zone, day);
            assert_true(start + vv_zone_offset(zone, start, NULL) >= day * DAY_S);
            assert_true(start - 1 + vv_zone_offset(zone, start - 1, NULL) < day * DAY_S);
            assert_true(start <= vv_zone_day_start(zone, day + 1));
        }
    }
}

static int64_t at(const char *text)
{
    int64_t time;
    assert_int_equal(vv_time_parse(vv_str_of(text), &time, NULL), VV_OK);
    return time / VV_SECOND;
}

static int64_t day(const char *text)
{
    return at(text) / DAY_S;
}

static void days_with_changes(void **state)
{
    (void)state;
    const struct vv_zone *berlin = find("Europe/Berlin");
    assert_int_equal(vv_zone_day_start(berlin, day("2024-03-31")), at("2024-03-30T23:00:00Z"));
    assert_int_equal(vv_zone_day_start(berlin, day("2024-04-01")), at("2024-03-31T22:00:00Z"));
    assert_int_equal(vv_zone_day_start(berlin, day("2090-07-01")), at("2090-06-30T22:00:00Z"));
    const struct vv_zone *paulo = find("America/Sao_Paulo"); /* the clock skipped midnight */
    assert_int_equal(vv_zone_day_start(paulo, day("2018-11-04")), at("2018-11-04T03:00:00Z"));
    const struct vv_zone *apia = find("Pacific/Apia"); /* 2011-12-30 was skipped */
    assert_int_equal(vv_zone_day_start(apia, day("2011-12-30")),
                     vv_zone_day_start(apia, day("2011-12-31")));
}

static void utc_needs_no_zone(void **state)
{
    (void)state;
    const struct vv_zone *zone;
    assert_int_equal(vv_zone_find(VV_STR_LITERAL("UTC"), &zone, NULL), VV_OK);
    assert_null(zone);
    assert_ptr_equal(find("Europe/Berlin"), find("Europe/Berlin"));
}

static void names_that_are_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "Europe",
        "Nowhere/Here",
        "../../etc/passwd",
        "/etc/passwd",
        "Europe//Berlin",
        "./Europe/Berlin",
        "Europe/",
        "zone.tab",
        "CET-1CEST",
        "europe/berlin",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "right/Europe/Berlin",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const struct vv_zone *zone;
        struct vv_error error = {0};
        if (vv_zone_find(vv_str_of(wrong[i]), &zone, &error) != VV_INVALID) {
            fail_msg("'%s' is a zone", wrong[i]);
        }
        assert_non_null(strstr(error.message, "time zone database"));
    }
}

static void rules(void **state)
{
    (void)state;
    struct vv_zone_rule rule;
    int64_t until;
    assert_true(vv_zone_rule_parse(vv_str_of("<+0330>-3:30"), &rule));
    assert_int_equal(vv_zone_rule_offset(&rule, 0, &until), 12600);
    assert_true(until == INT64_MAX);
    /* Summer time all the year, as RFC 8536 writes it. */
    assert_true(vv_zone_rule_parse(vv_str_of("EST5EDT,0/0,J365/25"), &rule));
    for (int64_t d = 0; d < 3000; d++) {
        assert_int_equal(vv_zone_rule_offset(&rule, d * DAY_S + 17, &until), -4 * 3600);
    }
    /* The southern half: summer time over new year; a week that is the last. */
    assert_true(vv_zone_rule_parse(vv_str_of("AEST-10AEDT,M10.1.0,M4.1.0/3"), &rule));
    assert_int_equal(vv_zone_rule_offset(&rule, at("2050-01-01T00:00:00Z"), &until), 11 * 3600);
    assert_int_equal(vv_zone_rule_offset(&rule, at("2050-07-01T00:00:00Z"), &until), 10 * 3600);
    assert_true(vv_zone_rule_parse(vv_str_of("AAA3BBB,J60/0,300/0"), &rule));
    assert_int_equal(vv_zone_rule_offset(&rule, at("2052-03-01T02:59:59Z"), &until), -3 * 3600);
    assert_int_equal(vv_zone_rule_offset(&rule, at("2052-03-01T03:00:00Z"), &until), -2 * 3600);
}

static void texts_that_are_no_rules(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "CE-1",
        "CET",
        "CET-1CEST",
        "CET-25",
        "<CET-1",
        "CET-1CEST,M3",
        "CET-1CEST,M13.1.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1x",
        "CET-1CEST,J0,J5",
        "CET-1CEST,M3.5.0,M10.5.0/168",
        "CET-1CEST,M3.5.0",
        "CET-1:60",
        "CET-1CEST,M3.5.0,M10.5.0,",
        "CET99999999999999999999",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct vv_zone_rule rule;
        if (vv_zone_rule_parse(vv_str_of(wrong[i]), &rule)) {
            fail_msg("'%s' is a rule", wrong[i]);
        }
    }
}

static size_t read_berlin(char *bytes, size_t capacity)
{
    FILE *file = fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

static void try_zone(const char *bytes, size_t size)
{
    struct vv_zone *zone;
    char *exact = malloc(size ? size : 1); /* so that a read beyond the end is seen */
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    if (vv_zone_parse((struct vv_str){exact, size}, &zone, NULL) == VV_OK) {
        for (int64_t instant = -4000000000; instant < 8000000000; instant += 1234567890) {
            (void)vv_zone_offset(zone, instant, NULL);
        }
        (void)vv_zone_day_start(zone, 20000);
    }
    vv_zone_destroy(zone);
    free(exact);
}

static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    static char bytes[1 << 16];
    struct vv_random random = {SEED + 2};
    size_t size = read_berlin(bytes, sizeof bytes);
    struct vv_zone *zone;
    assert_int_equal(vv_zone_parse((struct vv_str){bytes, size}, &zone, NULL), VV_OK);
    vv_zone_destroy(zone);
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_not_equal(vv_zone_parse((struct vv_str){bytes, cut}, &zone, NULL), VV_OK);
    }
    for (int i = 0; i < 20000; i++) {
        size_t where = (size_t)vv_random_below(&random, i % 2 ? size : 80);
        char before = bytes[where];
        bytes[where] = (char)vv_random_next(&random);
        try_zone(bytes, size);
        bytes[where] = before;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_those_of_the_c_library),
        cmocka_unit_test(a_day_starts_when_the_clock_first_shows_midnight),
        cmocka_unit_test(days_with_changes),
        cmocka_unit_test(utc_needs_no_zone),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(rules),
        cmocka_unit_test(texts_that_are_no_rules),
        cmocka_unit_test(damaged_files_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
