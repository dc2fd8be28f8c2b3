/* SPDX-License-Identifier: Apache-2.0 */
/* Squares of integers as an integer: they come back, and what is none is refused. */
#include "tier/squares.h"

#include "base/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEED   99
#define VALUES 400
#define ROUNDS 3000

/* Values of a width in bits, far from 0 or not. */
static uint64_t value_of(struct vv_random *random, unsigned width, int64_t offset)
{
    return (uint64_t)offset + (vv_random_next(random) & ((UINT64_C(1) << width) - 1));
}

/* Σ (value − mean)², of which only the last division rounds. */
static double exact_squares(const uint64_t *values, size_t n)
{
    __int128 sum = 0;
    __int128 squares = 0;
    for (size_t i = 0; i < n; i++) {
        __int128 apart = (int64_t)(values[i] - values[0]);
        sum += apart;
        squares += apart * apart;
    }
    return (double)((__int128)n * squares - sum * sum) / (double)n;
}

/* Added one by one, or in two parts that are merged. */
static struct vv_step make_step(struct vv_random *random, const uint64_t *values, size_t n)
{
    struct vv_step step = {0};
    struct vv_step second = {0};
    size_t half = vv_random_below(random, n + 1);
    for (size_t i = 0; i < n; i++) {
        int64_t time = (int64_t)i;
        vv_step_add(VV_INT64, VV_STEP_ALL, i < half ? &step : &second, &time, &values[i], 1);
    }
    vv_step_merge(VV_INT64, VV_STEP_ALL, &step, &second);
    return step;
}

static void squares_of_integers_come_back(void **state)
{
    (void)state;
    static const int64_t offsets[] = {0, -50, 1000000007, -(INT64_C(1) << 60)};
    struct vv_random random = {SEED};
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t values[VALUES];
        size_t n = 1 + vv_random_below(&random, VALUES);
        unsigned width = (unsigned)vv_random_below(&random, 21);
        int64_t offset = offsets[vv_random_below(&random, 4)];
        for (size_t i = 0; i < n; i++) {
            values[i] = value_of(&random, width, offset);
        }
        struct vv_step step = make_step(&random, values, n);
        uint64_t whole;
        double squares;
        assert_true(vv_squares_to_whole(&step, &whole));
        assert_true(vv_squares_from_whole(&step, whole, &squares));
        assert_true(squares == exact_squares(values, n));
    }
}

static void squares_of_nothing_whole_are_refused(void **state)
{
    (void)state;
    static const double bad[] = {0.4, -1, 1e300, 0x1p53, INFINITY, NAN};
    uint64_t whole;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const struct vv_step step = {.count = 2, .sum = {.integer = 1}, .squares = bad[i]};
        assert_false(vv_squares_to_whole(&step, &whole));
    }
    /* So many values that what makes the mean whole is larger than any double's digits. */
    const struct vv_step many = {
        .count = INT64_MAX, .sum = {.integer = INT64_MAX - 1}, .squares = 1};
    assert_false(vv_squares_to_whole(&many, &whole));
}

static void what_no_integers_have_is_refused(void **state)
{
    (void)state;
    const struct vv_step step = {.count = 2, .sum = {.integer = -1}};
    const struct vv_step large = {.count = INT64_MAX, .sum = {.integer = INT64_MIN}};
    double squares;
    assert_false(vv_squares_from_whole(&step, 0, &squares)); /* an odd sum of two equal values */
    assert_true(vv_squares_from_whole(&step, 1, &squares));
    assert_true(squares == 0.5);
    assert_true(vv_squares_from_whole(&large, UINT64_MAX, &squares));
    assert_true(squares > 0 && isfinite(squares));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squares_of_integers_come_back),
        cmocka_unit_test(squares_of_nothing_whole_are_refused),
        cmocka_unit_test(what_no_integers_have_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
