/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: merging parts in any order gives what adding all values gives. */
#include "tier/step.h"

#include "base/bits.h"
#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEED   77
#define POINTS 500
#define PARTS  20

static int64_t times[POINTS];
static uint64_t values[POINTS];

static void fill(struct vv_random *random, enum vv_value_type type, int shape)
{
    static const double offsets[] = {0, 1e9, -1e15, 1e-3, 9e18};
    for (size_t i = 0; i < POINTS; i++) {
        double unit = vv_random_unit(random) - 0.5;
        times[i] = (int64_t)i * 7;
        values[i] = type == VV_INT64 ? (uint64_t)(int64_t)(unit * 1e6 + offsets[shape])
                                     : vv_bits_of_double(unit + offsets[shape]);
    }
}

static void assert_near(double a, double b, double relative)
{
    if (fabs(a - b) > relative * (fabs(a) + fabs(b)) + 1e-300) {
        fail_msg("%.17g is not near %.17g", a, b);
    }
}

static void assert_same(enum vv_value_type type, const struct vv_step *a, const struct vv_step *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->first_time, b->first_time);
    assert_int_equal(a->last_time, b->last_time);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->last, b->last);
    assert_int_equal(a->min, b->min);
    assert_int_equal(a->max, b->max);
    union vv_total x = vv_step_sum(type, a);
    union vv_total y = vv_step_sum(type, b);
    if (type == VV_INT64) {
        assert_true(x.integer == y.integer);
    } else {
        assert_near(x.real, y.real, 1e-15);
    }
    assert_near(vv_step_mean(type, a), vv_step_mean(type, b), 1e-15);
    if (a->count > 1) {
        assert_near(vv_step_stddev(a), vv_step_stddev(b), 1e-9);
    }
}

static void parts_in_any_order_make_the_whole(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 400; round++) {
        enum vv_value_type type = round % 2 ? VV_INT64 : VV_FLOAT64;
        struct vv_step whole = {0};
        struct vv_step parts[PARTS] = {{0}};
        struct vv_step merged = {0};
        fill(&random, type, round / 2 % 5);
        vv_step_add(type, VV_STEP_ALL, &whole, times, values, POINTS);
        for (size_t i = 0; i < POINTS; i++) { /* some parts stay empty */
            size_t part = vv_random_below(&random, PARTS / 2) * (1 + vv_random_below(&random, 2));
            vv_step_add(type, VV_STEP_ALL, &parts[part], &times[i], &values[i], 1);
        }
        for (size_t n = PARTS; n > 0; n--) {
            size_t pick = vv_random_below(&random, n);
            vv_step_merge(type, VV_STEP_ALL, &merged, &parts[pick]);
            parts[pick] = parts[n - 1];
        }
        assert_same(type, &merged, &whole);
    }
}

/* Sums without rounding for what lies near each other, and doubles for the rest, beside exact ones.
 */
static void moments_of_integers_are_right_at_all_spreads(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    for (int spread = 1; spread < 62; spread++) {
        for (int negative = 0; negative < 2; negative++) {
            struct vv_step step = {0};
            long double mean = 0;
            long double squares = 0;
            __int128 sum = 0;
            for (size_t i = 0; i < POINTS; i++) {
                int64_t value =
                    (int64_t)vv_random_below(&random, UINT64_C(1) << spread) * (negative ? -1 : 1);
                times[i] = (int64_t)i;
                values[i] = (uint64_t)value;
                sum += value;
            }
            mean = (long double)sum / POINTS;
            for (size_t i = 0; i < POINTS; i++) {
                long double apart = (long double)(int64_t)values[i] - mean;
                squares += apart * apart;
            }
            vv_step_add(VV_INT64, VV_STEP_ALL, &step, times, values, POINTS / 3);
            vv_step_add(VV_INT64, VV_STEP_ALL, &step, times + POINTS / 3, values + POINTS / 3,
                        POINTS - POINTS / 3);
            assert_true(vv_step_sum(VV_INT64, &step).integer == sum);
            assert_near(vv_step_mean(VV_INT64, &step), (double)mean, 1e-14);
            assert_near(vv_step_stddev(&step), (double)sqrtl(squares / (POINTS - 1)), 1e-12);
        }
    }
}

static void integers_at_both_ends_of_their_range_add_up(void **state)
{
    (void)state;
    static const int64_t ends[][2] = {
        {INT64_MAX, INT64_MIN}, {INT64_MIN, INT64_MAX}, {INT64_MAX - 9, INT64_MIN + 1000000}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct vv_step step = {0};
        for (size_t j = 0; j < 2; j++) {
            times[j] = (int64_t)j;
            values[j] = (uint64_t)ends[i][j];
        }
        vv_step_add(VV_INT64, VV_STEP_ALL, &step, times, values, 2);
        assert_true(step.sum.integer == (__int128)ends[i][0] + ends[i][1]);
        assert_near(sqrt(step.squares), 1.8446744073709552e19 / sqrt(2), 1e-9);
    }
}

static void an_empty_step_changes_nothing(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    struct vv_step step = {0};
    struct vv_step empty = {0};
    fill(&random, VV_FLOAT64, 1);
    vv_step_add(VV_FLOAT64, VV_STEP_ALL, &step, times, values, 10);
    struct vv_step before = step;
    vv_step_merge(VV_FLOAT64, VV_STEP_ALL, &step, &empty);
    assert_same(VV_FLOAT64, &step, &before);
    vv_step_merge(VV_FLOAT64, VV_STEP_ALL, &empty, &step);
    assert_same(VV_FLOAT64, &empty, &before);
}

/* A metric that has become one of doubles. */
static void a_widened_step_is_that_of_doubles(void **state)
{
    (void)state;
    static const int64_t integers[] = {-7, 3, INT64_C(1) << 53, 12, INT64_MAX, INT64_MIN};
    struct vv_step widened = {0};
    struct vv_step doubles = {0};
    for (size_t i = 0; i < sizeof integers / sizeof integers[0]; i++) {
        int64_t time = (int64_t)i;
        uint64_t bits = (uint64_t)integers[i];
        uint64_t real = vv_bits_of_double((double)integers[i]);
        vv_step_add(VV_INT64, VV_STEP_ALL, &widened, &time, &bits, 1);
        vv_step_add(VV_FLOAT64, VV_STEP_ALL, &doubles, &time, &real, 1);
    }
    vv_step_widen(&widened);
    assert_near(vv_step_sum(VV_FLOAT64, &widened).real, vv_step_sum(VV_FLOAT64, &doubles).real,
                1e-15);
    assert_int_equal(widened.min, doubles.min);
    assert_int_equal(widened.max, doubles.max);
    assert_int_equal(widened.first, doubles.first);
    assert_int_equal(widened.last, doubles.last);
    assert_near(vv_step_stddev(&widened), vv_step_stddev(&doubles), 1e-12);
    vv_step_merge(VV_FLOAT64, VV_STEP_ALL, &widened, &doubles);
    assert_int_equal(widened.count, 12);
}

static void infinities_follow_arithmetic(void **state)
{
    (void)state;
    const int64_t at[] = {1, 2};
    const uint64_t up[] = {vv_bits_of_double(INFINITY), vv_bits_of_double(1)};
    const uint64_t down[] = {vv_bits_of_double(-INFINITY), vv_bits_of_double(1)};
    struct vv_step a = {0};
    struct vv_step b = {0};
    vv_step_add(VV_FLOAT64, VV_STEP_ALL, &a, at, up, 2);
    vv_step_add(VV_FLOAT64, VV_STEP_ALL, &b, at, down, 2);
    assert_true(isinf(vv_step_sum(VV_FLOAT64, &a).real));
    vv_step_merge(VV_FLOAT64, VV_STEP_ALL, &a, &b);
    assert_true(isnan(vv_step_sum(VV_FLOAT64, &a).real));
    assert_true(vv_bits_double(a.max) == INFINITY && vv_bits_double(a.min) == -INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_in_any_order_make_the_whole),
        cmocka_unit_test(moments_of_integers_are_right_at_all_spreads),
        cmocka_unit_test(integers_at_both_ends_of_their_range_add_up),
        cmocka_unit_test(an_empty_step_changes_nothing),
        cmocka_unit_test(a_widened_step_is_that_of_doubles),
        cmocka_unit_test(infinities_follow_arithmetic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
