/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers and times as text: the shortest that is read back as the same. */
#include "base/random.h"
#include "query/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED 5

static const char *format(double value)
{
    static char text[VV_NUMBER_TEXT_SIZE + 1];
    text[vv_number_format(value, text)] = '\0';
    return text;
}

static void plain_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-17, "-17"},
        {21.5, "21.5"},
        {0.1, "0.1"},
        {-0.001, "-0.001"},
        {0.05, "0.05"},
        {1e15, "1000000000000000"},
        {123456.789, "123456.789"},
        {1e22, "1e+22"},
        {1e-7, "1e-07"},
        {5e-324, "4.94065645841247e-324"},
        {1.0 / 3, "0.3333333333333333"},
        {0.30000000000000004, "0.30000000000000004"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {9007199254740991, "9007199254740991"},
        {100.00000000000001, "100.00000000000001"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(format(cases[i].value), cases[i].text);
    }
}

/* printf's shortest precision that is read back, as the number of significant digits. */
static int digits_needed(double value)
{
    char text[40];
    for (int digits = 1; digits < 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, value);
        if (strtod(text, NULL) == value) {
            return digits;
        }
    }
    return 17;
}

static int digits_of(const char *text)
{
    int digits = 0;
    int zeros = 0; /* at the end they do not count, unless more follow */
    for (; *text && *text != 'e'; text++) {
        if (*text == '0') {
            zeros += digits > 0;
        } else if (*text >= '1' && *text <= '9') {
            digits += 1 + zeros;
            zeros = 0;
        }
    }
    return digits;
}

static double random_double(struct vv_random *random)
{
    uint64_t kind = vv_random_below(random, 4);
    if (kind == 0) { /* any bits */
        uint64_t bits = vv_random_next(random);
        double value;
        memcpy(&value, &bits, sizeof value);
        return isfinite(value) ? value : 1;
    }
    if (kind == 1) { /* decimals of few digits */
        double scale = pow(10, (double)vv_random_below(random, 8));
        return (double)((int64_t)vv_random_below(random, 2000000) - 1000000) / scale;
    }
    if (kind == 2) { /* means */
        return (double)vv_random_below(random, 100000) / (1 + (double)vv_random_below(random, 97));
    }
    return vv_random_unit(random) * pow(10, (double)vv_random_below(random, 30) - 15);
}

static void every_number_is_read_back(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int i = 0; i < 200000; i++) {
        double value = random_double(&random);
        const char *text = format(value);
        char *end;
        if (strtod(text, &end) != value || *end != '\0') {
            fail_msg("%.17g became %s", value, text);
        }
        int needed = digits_needed(value);
        int allowed = needed < 15 ? 15 : needed; /* subnormal ones may take printf's 15 */
        if (digits_of(text) > allowed || (fabs(value) > 1e-300 && digits_of(text) > needed)) {
            fail_msg("%s has more than %d digits", text, needed);
        }
    }
}

static void what_is_neither_large_nor_small_is_as_printf_gives_it(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int i = 0; i < 300000; i++) {
        int exponent = (int)vv_random_below(&random, 63) - 13;
        double value = ldexp(1 + (i % 3 ? vv_random_unit(&random) : 0), exponent);
        value = i % 2 ? value : nextafter(value, i % 4 ? 0 : INFINITY);
        value = i % 5 ? value : round(value * 1e6) / 1e6;
        char expected[40];
        int digits = 15;
        do {
            snprintf(expected, sizeof expected, "%.*g", digits, value);
        } while (digits++ < 17 && strtod(expected, NULL) != value);
        assert_string_equal(format(value), value < 1e15 ? expected : format(value));
    }
}

static void integers(void **state)
{
    (void)state;
    static const int64_t values[] = {0, 7, -7, INT64_MAX, INT64_MIN, 1000000007};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[VV_NUMBER_TEXT_SIZE];
        char expected[VV_NUMBER_TEXT_SIZE];
        text[vv_integer_format(values[i], text)] = '\0';
        snprintf(expected, sizeof expected, "%lld", (long long)values[i]);
        assert_string_equal(text, expected);
    }
}

static void times_are_as_the_clock_formats_them(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    struct vv_time_writer writer = {.format = VV_TIME_RFC3339};
    int64_t time = 0;
    for (int i = 0; i < 100000; i++) {
        static const int64_t units[] = {1, VV_MICROSECOND, VV_MILLISECOND, VV_SECOND, VV_HOUR};
        if (i % 3 == 0) {
            time =
                (int64_t)(vv_random_below(&random, 18000000000000000000u) + (uint64_t)VV_TIME_MIN);
            int64_t unit = units[vv_random_below(&random, 5)];
            time -= time % unit;
        } else {
            time += time < VV_TIME_MAX - VV_DAY ? 25 * VV_MINUTE : 0;
        }
        char text[VV_TIME_TEXT_SIZE];
        char expected[VV_TIME_TEXT_SIZE];
        text[vv_time_write(&writer, time, text)] = '\0';
        vv_time_format(time, expected);
        assert_string_equal(text, expected);
    }
}

static void times_in_units_are_rounded_down(void **state)
{
    (void)state;
    char text[VV_TIME_TEXT_SIZE];
    struct vv_time_writer writer = {.format = VV_TIME_MS};
    text[vv_time_write(&writer, -1, text)] = '\0';
    assert_string_equal(text, "-1");
    text[vv_time_write(&writer, 1999999, text)] = '\0';
    assert_string_equal(text, "1");
    writer.format = VV_TIME_NS;
    text[vv_time_write(&writer, VV_TIME_MIN, text)] = '\0';
    assert_string_equal(text, "-9000000000000000000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_numbers),
        cmocka_unit_test(every_number_is_read_back),
        cmocka_unit_test(what_is_neither_large_nor_small_is_as_printf_gives_it),
        cmocka_unit_test(integers),
        cmocka_unit_test(times_are_as_the_clock_formats_them),
        cmocka_unit_test(times_in_units_are_rounded_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
