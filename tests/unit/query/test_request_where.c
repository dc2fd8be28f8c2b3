/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: exact for doubles and integers, whatever the number is. */
#include "base/random.h"
#include "query/request.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED 21

static struct vv_where parse(const char *text)
{
    struct vv_where where;
    struct vv_error error = {0};
    vv_where_init(&where);
    if (vv_where_parse(&where, vv_str_of(text), &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return where;
}

static const char *const operators[] = {">", ">=", "<", "<=", "=", "==", "!="};

/* In long double, which holds every int64 and every double used here. */
static bool compare(long double value, int operator, long double operand)
{
    switch (operator) {
    case 0:
        return value > operand;
    case 1:
        return value >= operand;
    case 2:
        return value < operand;
    case 3:
        return value <= operand;
    case 6:
        return value != operand;
    default:
        return value == operand;
    }
}

static const char *const operands[] = {
    "0",
    "-0",
    "80",
    "-3.5",
    "2.5",
    "1e3",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "1e300",
    "-1e300",
    "9223372036854775806",
    "0.5",
    "-Infinity",
    "inf",
    "9007199254740992",
    "5e-324",
    "0.1",
};
#define OPERAND_COUNT (sizeof operands / sizeof operands[0])

static long double operand_of(const char *text)
{
    char *end;
    long long integer = strtoll(text, &end, 10);
    bool in_range = *end == '\0' && !(integer == INT64_MAX && strcmp(text, "9223372036854775807"));
    return in_range ? (long double)integer : (long double)strtod(text, NULL);
}

static int64_t some_integer(struct vv_random *random, int i)
{
    static const int64_t values[] = {0,
                                     80,
                                     81,
                                     79,
                                     -3,
                                     -4,
                                     2,
                                     3,
                                     INT64_MAX,
                                     INT64_MIN,
                                     INT64_MAX - 1,
                                     9007199254740992,
                                     9007199254740993,
                                     9007199254740994,
                                     -9007199254740993,
                                     1000,
                                     1};
    size_t n = sizeof values / sizeof values[0];
    return (size_t)i < n ? values[i] : (int64_t)vv_random_next(random);
}

static double some_double(struct vv_random *random, int i)
{
    static const double values[] = {0,
                                    -0.0,
                                    80,
                                    80.00000000000001,
                                    79.99999999999999,
                                    2.5,
                                    -3.5,
                                    9007199254740992,
                                    9007199254740994,
                                    -9007199254740994,
                                    -9007199254740992,
                                    9223372036854775808.0,
                                    9223372036854774784.0,
                                    1e300,
                                    INFINITY,
                                    -INFINITY,
                                    5e-324,
                                    -9223372036854775808.0,
                                    1.7976931348623157e308,
                                    -1.7976931348623157e308,
                                    0.1};
    size_t n = sizeof values / sizeof values[0];
    return (size_t)i < n ? values[i] : (vv_random_unit(random) - 0.5) * 200;
}

static void comparisons_are_exact(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (size_t k = 0; k < OPERAND_COUNT; k++) {
        long double operand = operand_of(operands[k]);
        for (int op = 0; op < 7; op++) {
            char text[64];
            snprintf(text, sizeof text, "value%s%s", operators[op], operands[k]);
            struct vv_where where = parse(text);
            for (int i = 0; i < 60; i++) {
                int64_t integer = some_integer(&random, i);
                double real = some_double(&random, i);
                if (vv_where_integer(&where, integer) != compare(integer, op, operand)) {
                    fail_msg("%lld %s", (long long)integer, text);
                }
                if (vv_where_double(&where, real) != compare(real, op, operand)) {
                    fail_msg("%.17g %s", real, text);
                }
            }
            assert_true(vv_where_double(&where, NAN) == (op == 6));
        }
    }
}

static void conditions_hold_together(void **state)
{
    (void)state;
    struct vv_where where = parse(" value >= 10 ");
    assert_int_equal(vv_where_parse(&where, vv_str_of("value<20"), NULL), VV_OK);
    assert_int_equal(vv_where_parse(&where, vv_str_of("value!=15"), NULL), VV_OK);
    assert_int_equal(vv_where_parse(&where, vv_str_of("value>5"), NULL), VV_OK);
    for (int64_t i = 0; i < 30; i++) {
        bool passes = i >= 10 && i < 20 && i != 15;
        assert_true(vv_where_integer(&where, i) == passes);
        assert_true(vv_where_double(&where, (double)i) == passes);
    }
    assert_true(vv_where_double(&where, 19.999));
    assert_false(vv_where_double(&where, NAN));
}

static void nothing_lets_everything_through(void **state)
{
    (void)state;
    struct vv_where where;
    vv_where_init(&where);
    assert_false(where.active);
    assert_true(vv_where_double(&where, NAN) && vv_where_double(&where, -INFINITY));
    assert_true(vv_where_integer(&where, INT64_MIN) && vv_where_integer(&where, INT64_MAX));
}

static void texts_that_are_no_conditions(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "value",
        "value>",
        "80",
        "value=>80",
        "value>nan",
        "value>0x1",
        "value>1e",
        "time>5",
        "value>80 or value<3",
        "value>--1",
        "value>1,5",
        "Value>3",
        "value<>3",
        "value>infinite",
        "value>1111111111111111111111111111111111111111111111111111",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct vv_where where;
        struct vv_error error;
        vv_where_init(&where);
        if (vv_where_parse(&where, vv_str_of(wrong[i]), &error) != VV_INVALID) {
            fail_msg("'%s' is accepted", wrong[i]);
        }
        assert_non_null(strstr(error.message, "write value>80"));
    }
}

static void exclusions_are_bounded(void **state)
{
    (void)state;
    struct vv_where where;
    struct vv_error error;
    vv_where_init(&where);
    for (int i = 0; i < VV_WHERE_MAX; i++) {
        assert_int_equal(vv_where_parse(&where, vv_str_of("value!=1"), &error), VV_OK);
    }
    assert_int_equal(vv_where_parse(&where, vv_str_of("value!=1"), &error), VV_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_are_exact),
        cmocka_unit_test(conditions_hold_together),
        cmocka_unit_test(nothing_lets_everything_through),
        cmocka_unit_test(texts_that_are_no_conditions),
        cmocka_unit_test(exclusions_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
