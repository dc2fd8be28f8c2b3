/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of line protocol: the grammar, the limits, and floats against the C library's. */
#include "ingest/decimal.h"

#include "base/bits.h"
#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __OPTIMIZE__
#define ROUNDS 1500000
#else
#define ROUNDS 100000
#endif
#define SEED 20240611

/* Parses from a copy without anything behind it, so that a sanitizer sees reads beyond the end. */
static struct vv_decimal parse(const char *text, size_t *used_out)
{
    size_t size = strlen(text);
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, text, size);
    struct vv_decimal number = {0};
    const char *end = vv_decimal_parse(copy, copy + size, &number);
    assert_true(end >= copy && end <= copy + size);
    *used_out = (size_t)(end - copy);
    free(copy);
    return number;
}

static void assert_float(const char *text)
{
    size_t used = 0;
    struct vv_decimal number = parse(text, &used);
    double expected = strtod(text, NULL);
    if (number.kind != VV_DECIMAL_FLOAT || used != strlen(text) ||
        number.bits != vv_bits_of_double(expected)) {
        fail_msg("'%s': kind %d, used %zu, bits %016llx, expected %016llx", text, number.kind, used,
                 (unsigned long long)number.bits, (unsigned long long)vv_bits_of_double(expected));
    }
}

static void test_float_texts(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "-1",
        "5.",
        ".5",
        "-.5",
        "00012.50",
        "1e3",
        "1E3",
        "1e+3",
        "1e-3",
        "1.5e-7",
        "0e999999999999999999999",
        "0.1",
        "0.3",
        "123456789012345678901234567890",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.00000000000000000000000000000001",
        "1e22",
        "1e23",
        "1e27",
        "1e28",
        "9999999999999999999e27",
        "9999999999999999999e-27",
        "18446744073709551616",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "1e-400",
        "1e-99999999999999999999999",
        "58.13172150306375",
        "0.000000000000000000000000000000000000000000000000000001",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_float(texts[i]);
    }
}

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum vv_decimal_kind kind;
        int64_t value;
    } cases[] = {
        {"0i", VV_DECIMAL_INT, 0},
        {"-0i", VV_DECIMAL_INT, 0},
        {"12i", VV_DECIMAL_INT, 12},
        {"-12i", VV_DECIMAL_INT, -12},
        {"0000000000000000000000000012i", VV_DECIMAL_INT, 12},
        {"12345678i", VV_DECIMAL_INT, 12345678},
        {"1234567890123456i", VV_DECIMAL_INT, 1234567890123456},
        {"9223372036854775807i", VV_DECIMAL_INT, INT64_MAX},
        {"-9223372036854775808i", VV_DECIMAL_INT, INT64_MIN},
        {"9223372036854775807u", VV_DECIMAL_INT, INT64_MAX},
        {"0u", VV_DECIMAL_INT, 0},
        {"9223372036854775808u", VV_DECIMAL_ABOVE_INT, 0},
        {"18446744073709551615u", VV_DECIMAL_ABOVE_INT, 0},
        {"00018446744073709551615u", VV_DECIMAL_ABOVE_INT, 0},
        {"9223372036854775808i", VV_DECIMAL_BAD, 0},
        {"-9223372036854775809i", VV_DECIMAL_BAD, 0},
        {"18446744073709551616i", VV_DECIMAL_BAD, 0},
        {"18446744073709551617u", VV_DECIMAL_BAD, 0},
        {"18446744073709551616u", VV_DECIMAL_BAD, 0},
        {"99999999999999999999u", VV_DECIMAL_BAD, 0},
        {"20000000000000000000u", VV_DECIMAL_BAD, 0},
        {"100000000000000000000000u", VV_DECIMAL_BAD, 0},
        {"-1u", VV_DECIMAL_BAD, 0},
        {"1.0i", VV_DECIMAL_BAD, 0},
        {"1e3i", VV_DECIMAL_BAD, 0},
        {"1.5u", VV_DECIMAL_BAD, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t used = 0;
        struct vv_decimal number = parse(cases[i].text, &used);
        if (number.kind != cases[i].kind) {
            fail_msg("'%s': kind %d, expected %d", cases[i].text, number.kind, cases[i].kind);
        }
        if (number.kind == VV_DECIMAL_INT) {
            assert_int_equal((int64_t)number.bits, cases[i].value);
            assert_int_equal(used, strlen(cases[i].text));
        }
        assert_true((number.kind == VV_DECIMAL_BAD) == (number.problem != NULL));
    }
}

static void test_not_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = {"",      "-",      "+1",   ".",        "-.", "e5",  "NaN",
                                        "nan",   "inf",    "-inf", "Infinity", "1e", "1e+", "1e-",
                                        "1e999", "-1e999", "x",    "i",        "-i", "--1"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        size_t used = 0;
        struct vv_decimal number = parse(texts[i], &used);
        if (number.kind != VV_DECIMAL_BAD) {
            fail_msg("'%s' was taken for a number", texts[i]);
        }
        assert_true(strlen(number.problem) > 0);
    }
}

static void test_stops_behind_the_number(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t used;
    } cases[] = {{"1,b=2", 1},     {"1.5 7", 3}, {"12ix", 3}, {"1.2.3", 3},
                 {"12345678x", 8}, {"1e5e5", 3}, {"7ui", 2},  {"0x1F", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t used = 0;
        struct vv_decimal number = parse(cases[i].text, &used);
        assert_int_not_equal(number.kind, VV_DECIMAL_BAD);
        assert_int_equal(used, cases[i].used);
    }
}

static char *append_digits(struct vv_random *random, char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        *out++ = (char)('0' + vv_random_below(random, 10));
    }
    return out;
}

/* Decimal texts of all lengths, with and without fraction and exponent. */
static void test_random_decimals(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    print_message("seed %d, %d rounds\n", SEED, ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        char text[96];
        char *at = text;
        if (vv_random_below(&random, 2)) {
            *at++ = '-';
        }
        at = append_digits(&random, at, 1 + vv_random_below(&random, 20));
        if (vv_random_below(&random, 4)) {
            *at++ = '.';
            at = append_digits(&random, at, vv_random_below(&random, 20));
        }
        if (vv_random_below(&random, 2)) {
            int range = vv_random_below(&random, 8) ? 30 : 290;
            at += sprintf(at, "e%d", (int)vv_random_below(&random, (uint64_t)(2 * range)) - range);
        }
        *at = '\0';
        if (isfinite(strtod(text, NULL))) {
            assert_float(text);
        }
    }
}

/* Random doubles in the forms that programs print, and the points half-way to the next one, where
 * rounding is hardest. */
static void test_random_doubles(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    for (int i = 0; i < ROUNDS / 4; i++) {
        uint64_t bits = vv_random_next(&random);
        if (vv_random_below(&random, 2)) { /* near 1, as most measurements are */
            bits = (bits & ~(UINT64_C(0x7ff) << 52)) | (1023 - 40 + vv_random_below(&random, 80))
                                                           << 52;
        }
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) {
            continue;
        }
        char text[64];
        snprintf(text, sizeof text, "%.17e", value);
        assert_float(text);
        snprintf(text, sizeof text, "%.*g", 15 + (int)vv_random_below(&random, 3), value);
        assert_float(text);
    }
}

static void assert_half_way(uint64_t mantissa, int shift)
{
    /* 2 × mantissa + 1 is half-way between two doubles of 53 bits; long double shows it exactly. */
    char text[1200];
    long double middle = ldexpl((long double)(2 * mantissa + 1), shift);
    snprintf(text, sizeof text, "%.*Lf", shift < 0 ? -shift : 1, middle);
    assert_float(text);
    size_t length = strlen(text);
    memcpy(text + length, "0000000000000000000001", 23);
    assert_float(text);
}

static void test_half_way(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 2};
    for (int i = 0; i < ROUNDS / 100; i++) {
        uint64_t mantissa = UINT64_C(1) << 52 | vv_random_below(&random, UINT64_C(1) << 52);
        assert_half_way(mantissa, (int)vv_random_below(&random, 40) - 30);
        assert_half_way(mantissa, -(int)vv_random_below(&random, 1000));
    }
}

static void test_very_long_texts(void **state)
{
    (void)state;
    size_t size = 60000;
    char *text = malloc(size + 32);
    assert_non_null(text);
    memset(text, '0', size);
    memcpy(text, "0.", 2);
    strcpy(text + size, "12345e59998");
    assert_float(text);
    memset(text, '7', size);
    strcpy(text + size, "e-59999");
    assert_float(text);
    text[1] = '.';
    strcpy(text + size, "");
    assert_float(text);
    free(text);
}

static void test_round(void **state)
{
    (void)state;
    double value = 1;
    assert_int_equal(vv_decimal_round(0, 500, &value), VV_OK);
    assert_true(value == 0.0);
    assert_int_equal(vv_decimal_round(UINT64_MAX, 27, &value), VV_OK);
    assert_true(value == 18446744073709551615e27);
    assert_int_equal(vv_decimal_round(UINT64_MAX, -27, &value), VV_OK);
    assert_true(value == 18446744073709551615e-27);
    assert_int_equal(vv_decimal_round(1, 28, &value), VV_INVALID);
    assert_int_equal(vv_decimal_round(1, -28, &value), VV_INVALID);
}

static void test_times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t unit;
        int64_t time;
        size_t used;
    } cases[] = {
        {"0", 1, 0, 1},
        {"1451606400000000000", 1, 1451606400000000000, 19},
        {"-1 ", 1000, -1000, 2},
        {"1451606400", 1000000000, 1451606400000000000, 10},
        {"9223372036854775807", 1, INT64_MAX, 19},
        {"9223372036854775808", 1, INT64_MAX, 19},
        {"-9223372036854775808", 1, INT64_MIN, 20},
        {"-9223372036854775809", 1, INT64_MIN, 20},
        {"9223372036854775", 1000000, INT64_MAX, 16},
        {"-9223372036854775", 1000000, INT64_MIN, 17},
        {"123456789012345678901234567890", 1, INT64_MAX, 30},
        {"12.5", 1, 12, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = cases[i].text;
        int64_t time = 0;
        const char *end = vv_decimal_time(text, text + strlen(text), cases[i].unit, &time);
        assert_ptr_equal(end, text + cases[i].used);
        assert_int_equal(time, cases[i].time);
    }
    int64_t time = 0;
    assert_null(vv_decimal_time("", "", 1, &time));
    const char *minus = "-";
    assert_null(vv_decimal_time(minus, minus + 1, 1, &time));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float_texts),     cmocka_unit_test(test_integers),
        cmocka_unit_test(test_not_numbers),     cmocka_unit_test(test_stops_behind_the_number),
        cmocka_unit_test(test_random_decimals), cmocka_unit_test(test_random_doubles),
        cmocka_unit_test(test_half_way),        cmocka_unit_test(test_very_long_texts),
        cmocka_unit_test(test_round),           cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
