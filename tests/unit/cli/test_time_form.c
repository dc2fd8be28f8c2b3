/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of times: numbers of units, RFC 3339, patterns; against the C library where it can. */
#include "cli/time_form.h"

#include "base/clock.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define SEED 20260104

static void expect(const char *form_text, const char *text, int64_t expected)
{
    struct vv_time_form form;
    struct vv_error error = {0};
    int64_t time = -1;
    assert_int_equal(vv_time_form_parse(form_text, &form, NULL), VV_OK);
    if (vv_time_form_read(&form, vv_str_of(text), &time, &error) != VV_OK || time != expected) {
        fail_msg("%s %s: %lld %s", form_text, text, (long long)time, error.message);
    }
}

static void expect_refused(const char *form_text, const char *text)
{
    struct vv_time_form form;
    struct vv_error error = {0};
    int64_t time = -1;
    assert_int_equal(vv_time_form_parse(form_text, &form, NULL), VV_OK);
    if (vv_time_form_read(&form, vv_str_of(text), &time, &error) != VV_INVALID) {
        fail_msg("%s %s: %lld", form_text, text, (long long)time);
    }
    assert_true(error.message[0] != '\0');
}

static void numbers_of_units(void **state)
{
    (void)state;
    expect("s", "1385932500", 1385932500 * VV_SECOND);
    expect("s", "1385932500.25", 1385932500 * VV_SECOND + 250 * VV_MILLISECOND);
    expect("ms", "-1.5", -1500 * VV_MICROSECOND);
    expect("us", "7", 7 * VV_MICROSECOND);
    expect("ns", "1385932500000000001", INT64_C(1385932500000000001));
    expect("ns", "5.000", 5);
    expect("ns", "-9223372036854775807", -INT64_MAX);
    static const char *const wrong[] = {
        "", "-", "x", "1e9", "1.", "5.5", "9223372036854775808", "99999999999999999999999", "1 "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        expect_refused("ns", wrong[i]);
    }
    expect_refused("s", "9223372037");
}

static void texts(void **state)
{
    (void)state;
    const int64_t noon = INT64_C(1386072000) * VV_SECOND; /* 2013-12-03T12:00:00Z */
    expect("rfc3339", "2013-12-03T12:00:00Z", noon);
    expect("rfc3339", "2013-12-03 12:00:00", noon);
    expect("rfc3339", "2013-12-03T13:00:00+01:00", noon);
    expect("%Y-%m-%d %H:%M:%S", "2013-12-03 12:00:00", noon);
    expect("%F %T", "2013-12-03 12:00:00", noon);
    expect("%FT%TZ", "2013-12-03T12:00:00Z", noon);
    expect("%d.%m.%Y %R", "3.12.2013 12:00", noon);
    expect("%D %I:%M %p", "12/03/13 12:00 PM", noon);
    expect("%d %b %Y %H", "03 Dec 2013 12", noon);
    expect("%d %B %y %H", "03 december 13 12", noon);
    expect("%e %b %Y %H", " 3 dec 2013 12", noon);
    expect("%Y-%j %H", "2013-337 12", noon);
    expect("%s", "1386072000", noon);
    expect("%F %T%z", "2013-12-03 13:30:00+0130", noon);
    expect("%F %T %Z", "2013-12-03   12:00:00 UTC", noon);
    expect("%F %T.%f", "2013-12-03 12:00:00.5", noon + 500 * VV_MILLISECOND);
    expect("%F %T.%f", "2013-12-03 12:00:00.000000001", noon + 1);
    expect("%F %T", "2013-12-02 24:00:00", noon - 12 * VV_HOUR);
    expect("%F %I%p", "2013-12-03 12am", noon - 12 * VV_HOUR);
    expect("at %H%% of %F", "at 12% of 2013-12-03", noon);
}

static void wrong_texts(void **state)
{
    (void)state;
    expect_refused("%F", "2013-02-29");
    expect_refused("%F", "2013-13-01");
    expect_refused("%F", "2013-00-01");
    expect_refused("%F", "2013-1");
    expect_refused("%F %T", "2013-12-03 24:00:01");
    expect_refused("%F %T", "2013-12-03 12:60:00");
    expect_refused("%F", "2013-12-03 ");
    expect_refused("%F %I %p", "2013-12-03 13 PM");
    expect_refused("%Y %j", "2013 366");
    expect_refused("%d %b", "3 Foo");
    expect_refused("%F", "");
    expect_refused("%Y", "1492"); /* before what 64 bits of ns can hold */
    expect_refused("%F %T.%f", "2013-12-03 12:00:00.0123456789");
    expect_refused("rfc3339", "yesterday");
}

static void wrong_forms(void **state)
{
    (void)state;
    struct vv_time_form form;
    struct vv_error error = {0};
    assert_int_equal(vv_time_form_parse("seconds", &form, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "rfc3339, s, ms, us, ns"));
    assert_int_equal(vv_time_form_parse("%Y-%Q", &form, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "%Q"));
    assert_int_equal(vv_time_form_parse("%Y-%", &form, &error), VV_INVALID);
    assert_int_equal(vv_time_form_parse("%%%", &form, &error), VV_INVALID);
}

/* The text of a time in one of several patterns; the compiler wants them as literals. */
static const char *write_time(uint64_t which, time_t seconds, char *text, size_t size)
{
    struct tm parts;
    gmtime_r(&seconds, &parts);
    switch (which) {
    case 0:
        assert_true(strftime(text, size, "%Y-%m-%d %H:%M:%S", &parts) > 0);
        return "%Y-%m-%d %H:%M:%S";
    case 1:
        assert_true(strftime(text, size, "%d/%b/%Y:%H:%M:%S", &parts) > 0);
        return "%d/%b/%Y:%H:%M:%S";
    case 2:
        assert_true(strftime(text, size, "%B %e %Y %I:%M:%S %p", &parts) > 0);
        return "%B %e %Y %I:%M:%S %p";
    case 3:
        assert_true(strftime(text, size, "%Y %j %T", &parts) > 0);
        return "%Y %j %T";
    default:
        snprintf(text, size, "%lld", (long long)seconds);
        return "%s";
    }
}

/* Whatever strftime writes is read as what it was. */
static void strftime_is_understood(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 6000; round++) {
        char text[64];
        time_t seconds = (time_t)vv_random_below(&random, 9000000000u); /* 1970 to 2255 */
        const char *pattern = write_time(vv_random_below(&random, 5), seconds, text, sizeof text);
        expect(pattern, text, (int64_t)seconds * VV_SECOND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_units),
        cmocka_unit_test(texts),
        cmocka_unit_test(wrong_texts),
        cmocka_unit_test(wrong_forms),
        cmocka_unit_test(strftime_is_understood),
    };
    printf("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
