/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of times, durations and dates. */
#include "base/clock.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

static void test_the_system_clock_runs(void **state)
{
    (void)state;
    struct vv_clock *clock = vv_clock_system();
    int64_t first = clock->monotonic_ns(clock);
    assert_true(clock->monotonic_ns(clock) >= first);
    assert_true(clock->wall_ns(clock) > INT64_C(1577836800) * VV_SECOND); /* 2020 */
}

static void test_dates_agree_with_the_library(void **state)
{
    (void)state;
    for (int64_t days = -110000; days < 110000; days++) {
        int64_t year;
        unsigned month;
        unsigned day;
        vv_civil_from_days(days, &year, &month, &day);
        assert_true(vv_days_from_civil(year, month, day) == days);
        if (days % 7 == 0) {
            time_t seconds = (time_t)(days * 86400);
            struct tm parts;
            assert_non_null(gmtime_r(&seconds, &parts));
            assert_int_equal(parts.tm_year + 1900, year);
            assert_int_equal(parts.tm_mon + 1, month);
            assert_int_equal(parts.tm_mday, day);
        }
    }
    assert_true(vv_days_from_civil(1970, 1, 1) == 0);
    assert_true(vv_days_from_civil(2000, 3, 1) == 11017);
    assert_true(vv_days_from_civil(0, 3, 1) == -719468);
}

static void check_format(int64_t time, const char *expected)
{
    char text[VV_TIME_TEXT_SIZE];
    assert_int_equal(vv_time_format(time, text), strlen(expected));
    assert_string_equal(text, expected);
    int64_t parsed;
    assert_int_equal(vv_time_parse(vv_str_of(text), &parsed, NULL), VV_OK);
    assert_true(parsed == time);
}

static void test_times_format_with_the_digits_they_need(void **state)
{
    (void)state;
    check_format(0, "1970-01-01T00:00:00Z");
    check_format(-1, "1969-12-31T23:59:59.999999999Z");
    check_format(-VV_SECOND, "1969-12-31T23:59:59Z");
    check_format(INT64_C(1386018900) * VV_SECOND, "2013-12-02T21:15:00Z");
    check_format(INT64_C(1386018900) * VV_SECOND + 250 * VV_MILLISECOND,
                 "2013-12-02T21:15:00.250Z");
    check_format(1000, "1970-01-01T00:00:00.000001Z");
    check_format(1, "1970-01-01T00:00:00.000000001Z");
    check_format(INT64_MAX, "2262-04-11T23:47:16.854775807Z");
    check_format(INT64_MIN, "1677-09-21T00:12:43.145224192Z");
}

static void test_any_time_round_trips(void **state)
{
    (void)state;
    struct vv_random random = {77};
    for (unsigned i = 0; i < 20000; i++) {
        int64_t time = (int64_t)(vv_random_next(&random) >> vv_random_below(&random, 63));
        time = i % 2 ? -time : time;
        char text[VV_TIME_TEXT_SIZE];
        size_t size = vv_time_format(time, text);
        int64_t parsed;
        assert_int_equal(vv_time_parse((struct vv_str){text, size}, &parsed, NULL), VV_OK);
        assert_true(parsed == time);
    }
}

static void test_forms_of_a_time(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t seconds;
        int64_t fraction_ns;
    } cases[] = {
        {"2013-12-02", 1385942400, 0},
        {"2013-12-02T21:15:00", 1386018900, 0},
        {"2013-12-02 21:15:00Z", 1386018900, 0},
        {"2013-12-02t21:15:00z", 1386018900, 0},
        {"2013-12-02T22:15:00+01:00", 1386018900, 0},
        {"2013-12-02T17:45:00-0330", 1386018900, 0},
        {"2013-12-03T00:15:00+03:00", 1386018900, 0},
        {"2013-12-02T21:15:00.5Z", 1386018900, 500000000},
        {"2013-12-02T21:15:00.123456789+00:00", 1386018900, 123456789},
        {"2016-12-31T23:59:60Z", 1483228800, 0},
        {"2017-01-01T00:59:60.25+01:00", 1483228800, 250000000},
        {"2000-02-29", 951782400, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t time;
        struct vv_error error = {0};
        enum vv_status status = vv_time_parse(vv_str_of(cases[i].text), &time, &error);
        if (status != VV_OK || time != cases[i].seconds * VV_SECOND + cases[i].fraction_ns) {
            fail_msg("%s: %s %s", cases[i].text, vv_status_name(status), error.message);
        }
    }
}

static void test_wrong_times_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "x",
        "2013",
        "2013-12",
        "2013-12-2",
        "2013-13-01",
        "2013-00-01",
        "2013-12-00",
        "2013-02-29",
        "1900-02-29",
        "2013-04-31",
        "2013-12-02T",
        "2013-12-02T21",
        "13-12-02",
        "2013-12-02T21:15",
        "2013-12-02T21:15:0",
        "2013-12-02T24:00:00",
        "2013-12-02T21:60:00",
        "2013-12-02T21:15:61Z",
        "2013-12-02T21:15:60Z",
        "2013-12-02T23:59:60+01:00",
        "2013-12-02T21:15:00.Z",
        "2013-12-02T21:15:00.1234567890Z",
        "2013-12-02T21:15:00 Z",
        "2013-12-02T21:15:00Zx",
        "2013-12-02T21:15:00+",
        "2013-12-02T21:15:00+1",
        "2013-12-02T21:15:00+24:00",
        "2013-12-02T21:15:00+01:60",
        "2013-12-02T21:15:00+01:0",
        "2013-12-02Z",
        "2013/12/02",
        "+013-12-02",
        "2013-12-02T-1:00:00",
        "0000-01-01",
        "9999-12-31T23:59:59Z",
        "1677-09-21T00:12:43.145224191Z",
        "2262-04-11T23:47:16.854775808Z",
        "2262-04-11T23:47:16.854775807-00:01",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t time = 42;
        struct vv_error error = {0};
        enum vv_status status = vv_time_parse(vv_str_of(cases[i]), &time, &error);
        if (status != VV_INVALID || time != 42 || error.message[0] == '\0') {
            fail_msg("'%s' gives %s", cases[i], vv_status_name(status));
        }
    }
    int64_t time;
    assert_int_equal(vv_time_parse((struct vv_str){"2013-12-02\0", 11}, &time, NULL), VV_INVALID);
    assert_int_equal(vv_time_parse((struct vv_str){NULL, 0}, &time, NULL), VV_INVALID);
    assert_int_equal(
        vv_time_parse(VV_STR_LITERAL("2262-04-12T00:47:16.854775807+01:00"), &time, NULL), VV_OK);
    assert_true(time == INT64_MAX);
}

static void test_durations_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t duration;
        const char *formatted;
    } cases[] = {
        {"0", 0, "0s"},
        {"0s", 0, "0s"},
        {"90s", 90 * VV_SECOND, "1m30s"},
        {"1h30m", 90 * VV_MINUTE, "1h30m"},
        {"7d", 7 * VV_DAY, "7d"},
        {"1w", 7 * VV_DAY, "7d"},
        {"250ms", 250 * VV_MILLISECOND, "250ms"},
        {"10us", 10 * VV_MICROSECOND, "10us"},
        {"5ns", 5, "5ns"},
        {"1w2d3h4m5s6ms7us8ns",
         9 * VV_DAY + 3 * VV_HOUR + 4 * VV_MINUTE + 5 * VV_SECOND + 6 * VV_MILLISECOND +
             7 * VV_MICROSECOND + 8,
         "9d3h4m5s6ms7us8ns"},
        {"9223372036854775807ns", INT64_MAX, "106751d23h47m16s854ms775us807ns"},
        {"0000001s", VV_SECOND, "1s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t duration = -1;
        enum vv_status status = vv_duration_parse(vv_str_of(cases[i].text), &duration, NULL);
        if (status != VV_OK || duration != cases[i].duration) {
            fail_msg("%s gives %s", cases[i].text, vv_status_name(status));
        }
        char text[VV_TIME_TEXT_SIZE];
        assert_int_equal(vv_duration_format(duration, text), strlen(cases[i].formatted));
        assert_string_equal(text, cases[i].formatted);
    }
    char text[VV_TIME_TEXT_SIZE];
    vv_duration_format(INT64_MIN, text);
    assert_string_equal(text, "-106751d23h47m16s854ms775us808ns");
}

static void test_wrong_durations_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "s",
        "1",
        "00",
        "10",
        "1x",
        "-1s",
        "+1s",
        "1.5s",
        "1s1h",
        "5m5m",
        "1h 30m",
        " 1s",
        "1s ",
        "9223372036854775808ns",
        "99999999999999999999999s",
        "15251w",
        "1H",
        "1ms1s",
        "9223372036s855ms",
        "18446744073709551616ns",
        "1y",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t duration = 42;
        struct vv_error error = {0};
        enum vv_status status = vv_duration_parse(vv_str_of(cases[i]), &duration, &error);
        if (status != VV_INVALID || duration != 42 || error.message[0] == '\0') {
            fail_msg("'%s' gives %s", cases[i], vv_status_name(status));
        }
    }
}

static void test_floor_goes_down(void **state)
{
    (void)state;
    assert_true(vv_time_floor(7, 5) == 5);
    assert_true(vv_time_floor(5, 5) == 5);
    assert_true(vv_time_floor(-1, 5) == -5);
    assert_true(vv_time_floor(-5, 5) == -5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_system_clock_runs),
        cmocka_unit_test(test_dates_agree_with_the_library),
        cmocka_unit_test(test_times_format_with_the_digits_they_need),
        cmocka_unit_test(test_any_time_round_trips),
        cmocka_unit_test(test_forms_of_a_time),
        cmocka_unit_test(test_wrong_times_are_refused),
        cmocka_unit_test(test_durations_are_parsed),
        cmocka_unit_test(test_wrong_durations_are_refused),
        cmocka_unit_test(test_floor_goes_down),
    };
    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
