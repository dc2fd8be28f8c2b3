/* SPDX-License-Identifier: Apache-2.0 */
/* Changes: segments joined in any grouping are what a walk over all points gives. */
#include "base/bits.h"
#include "base/clock.h"
#include "base/random.h"
#include "query/rate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEED   41
#define POINTS 40

static int64_t times[POINTS];
static uint64_t values[POINTS];

static void fill(struct vv_random *random, enum vv_value_type type)
{
    int64_t value = 0;
    for (int i = 0; i < POINTS; i++) {
        bool reset = vv_random_below(random, 4) == 0;
        value = (reset ? 0 : value) + (int64_t)vv_random_below(random, 20) -
                (vv_random_below(random, 8) == 0 ? 15 : 0);
        times[i] = i * VV_SECOND;
        values[i] = type == VV_INT64 ? (uint64_t)value : vv_bits_of_double((double)value / 4);
    }
}

static double value_at(enum vv_value_type type, int i)
{
    double real;
    memcpy(&real, &values[i], sizeof real);
    return type == VV_INT64 ? (double)(int64_t)values[i] : real;
}

/* Joins [first, end) from parts cut and grouped at random. */
static struct vv_rate_segment join_randomly(struct vv_random *random, enum vv_value_type type,
                                            int first, int end)
{
    if (end == first) {
        return (struct vv_rate_segment){0};
    }
    if (end - first == 1 || vv_random_below(random, 5) == 0) {
        return vv_rate_segment_of(type, times + first, values + first, (size_t)(end - first));
    }
    int middle = first + (int)vv_random_below(random, (uint64_t)(end - first + 1));
    struct vv_rate_segment a;
    struct vv_rate_segment b;
    if (middle == first || middle == end) {
        return vv_rate_segment_of(type, times + first, values + first, (size_t)(end - first));
    }
    a = join_randomly(random, type, first, middle);
    b = join_randomly(random, type, middle, end);
    return vv_rate_join(type, &a, &b);
}

static void any_grouping_gives_the_same(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 20000; round++) {
        enum vv_value_type type = round % 2 ? VV_INT64 : VV_FLOAT64;
        fill(&random, type);
        int n = 2 + (int)vv_random_below(&random, POINTS - 1);
        double increase = 0;
        for (int i = 1; i < n; i++) {
            double change = value_at(type, i) - value_at(type, i - 1);
            increase += change < 0 ? value_at(type, i) : change;
        }
        struct vv_rate_segment segment = join_randomly(&random, type, 0, n);
        struct vv_rate_sums sums = {0};
        vv_rate_add(type, &segment, &sums);
        assert_int_equal(segment.n, n);
        double got = type == VV_INT64 ? (double)sums.increase.integer : sums.increase.real;
        double delta = type == VV_INT64 ? (double)sums.delta.integer : sums.delta.real;
        assert_true(got == increase); /* quarters are exact in doubles */
        assert_true(delta == value_at(type, n - 1) - value_at(type, 0));
        assert_true(fabs(sums.rate - increase / (n - 1)) < 1e-9);
        assert_int_equal(sums.n, 1);
    }
}

static void extremes_of_integers_are_exact(void **state)
{
    (void)state;
    static const int64_t extremes[] = {INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        times[i] = i;
        values[i] = (uint64_t)extremes[i];
    }
    struct vv_rate_segment segment = vv_rate_segment_of(VV_INT64, times, values, 4);
    struct vv_rate_sums sums = {0};
    vv_rate_add(VV_INT64, &segment, &sums);
    __int128 rise = (__int128)INT64_MAX - INT64_MIN;
    assert_true(sums.increase.integer == rise + INT64_MIN + rise);
    assert_true(sums.delta.integer == rise);
}

static void one_point_has_no_change(void **state)
{
    (void)state;
    struct vv_rate_sums sums = {0};
    times[0] = 0;
    values[0] = 5;
    struct vv_rate_segment one = vv_rate_segment_of(VV_INT64, times, values, 1);
    struct vv_rate_segment none = {0};
    vv_rate_add(VV_INT64, &one, &sums);
    vv_rate_add(VV_INT64, &none, &sums);
    assert_int_equal(sums.n, 0);
    struct vv_rate_segment joined = vv_rate_join(VV_INT64, &none, &one);
    assert_int_equal(joined.n, 1);
    joined = vv_rate_join(VV_INT64, &one, &none);
    assert_int_equal(joined.n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_grouping_gives_the_same),
        cmocka_unit_test(extremes_of_integers_are_exact),
        cmocka_unit_test(one_point_has_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
