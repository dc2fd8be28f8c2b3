/* SPDX-License-Identifier: Apache-2.0 */
/* Percentiles: exact against sorting, then within the sketch's error, and their memory. */
#include "base/random.h"
#include "query/percentiles.h"
#include "simulation/sim_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED 31
#define MANY 9000

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double expected(const double *sorted, size_t n, double q)
{
    double position = q * (double)(n - 1);
    size_t rank = (size_t)position;
    double part = position - (double)rank;
    return part > 0 ? sorted[rank] + (sorted[rank + 1] - sorted[rank]) * part : sorted[rank];
}

static double values[MANY];

static void fill(struct vv_random *random, size_t n, int shape)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = shape == 0   ? (double)vv_random_below(random, 50)
                    : shape == 1 ? (vv_random_unit(random) - 0.5) * 1e9
                                 : pow(10, vv_random_unit(random) * 20 - 10);
    }
}

static const double quantiles[] = {0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};

static void few_values_are_exact(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 3, 48, 49, 100, 1000, 4096};
    struct vv_random random = {SEED};
    struct vv_percentile_budget budget;
    struct vv_percentiles percentiles = {0};
    assert_true(vv_percentile_budget_init(&budget, 1 << 20));
    for (int shape = 0; shape < 3; shape++) {
        for (size_t s = 0; s < 8; s++) {
            fill(&random, sizes[s], shape);
            size_t half = sizes[s] / 2;
            assert_int_equal(vv_percentiles_add(&percentiles, &budget, values, half), VV_OK);
            assert_int_equal(
                vv_percentiles_add(&percentiles, &budget, values + half, sizes[s] - half), VV_OK);
            qsort(values, sizes[s], sizeof values[0], compare);
            for (size_t i = 0; i < 9; i++) {
                assert_true(vv_percentiles_read(&percentiles, &budget, quantiles[i]) ==
                            expected(values, sizes[s], quantiles[i]));
            }
            vv_percentiles_clear(&percentiles, &budget);
        }
    }
    assert_true(budget.error == 0);
    assert_true(isnan(vv_percentiles_read(&percentiles, &budget, 0.5)));
    vv_percentiles_deinit(&percentiles, &budget);
    assert_int_equal(budget.bytes, 0);
    vv_percentile_budget_deinit(&budget);
}

static void many_values_are_close(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    struct vv_percentile_budget budget;
    struct vv_percentiles percentiles = {0};
    assert_true(vv_percentile_budget_init(&budget, 1 << 20));
    for (int shape = 0; shape < 3; shape++) {
        fill(&random, MANY, shape);
        for (size_t i = 0; i < MANY; i += 100) {
            assert_int_equal(vv_percentiles_add(&percentiles, &budget, values + i, 100), VV_OK);
        }
        qsort(values, MANY, sizeof values[0], compare);
        for (size_t i = 0; i < 9; i++) {
            double right = expected(values, MANY, quantiles[i]);
            double got = vv_percentiles_read(&percentiles, &budget, quantiles[i]);
            assert_true(fabs(got - right) <= 0.0101 * fabs(right));
        }
        assert_true(budget.error == 0.01);
        assert_true(vv_percentiles_read(&percentiles, &budget, 0) == values[0]);
        assert_true(vv_percentiles_read(&percentiles, &budget, 1) == values[MANY - 1]);
        vv_percentiles_clear(&percentiles, &budget);
    }
    vv_percentiles_deinit(&percentiles, &budget);
    assert_int_equal(budget.bytes, 0);
    vv_percentile_budget_deinit(&budget);
}

static void little_memory_takes_sketches_early(void **state)
{
    (void)state;
    struct vv_percentile_budget budget;
    struct vv_percentiles few = {0};
    struct vv_percentiles many = {0};
    assert_true(vv_percentile_budget_init(&budget, 4000));
    for (int i = 0; i < 1000; i++) {
        values[i] = i + 1;
    }
    assert_int_equal(vv_percentiles_add(&many, &budget, values, 1000), VV_OK);
    assert_non_null(many.sketch);
    assert_int_equal(vv_percentiles_add(&few, &budget, values, 10), VV_OK);
    assert_null(few.sketch); /* a handful of values is always less than a sketch */
    double got = vv_percentiles_read(&many, &budget, 0.5);
    assert_true(fabs(got - 500.5) <= 0.0101 * 500.5);
    vv_percentiles_deinit(&few, &budget);
    vv_percentiles_deinit(&many, &budget);
    vv_percentile_budget_deinit(&budget);
}

static double of_three(double a, double b, double c, double q)
{
    struct vv_percentile_budget budget;
    struct vv_percentiles percentiles = {0};
    double three[] = {a, b, c};
    assert_true(vv_percentile_budget_init(&budget, 4000));
    assert_int_equal(vv_percentiles_add(&percentiles, &budget, three, 3), VV_OK);
    double result = vv_percentiles_read(&percentiles, &budget, q);
    vv_percentiles_deinit(&percentiles, &budget);
    vv_percentile_budget_deinit(&budget);
    return result;
}

static void infinities_stand_at_the_ends(void **state)
{
    (void)state;
    assert_true(of_three(INFINITY, 1, -INFINITY, 0) == -INFINITY);
    assert_true(of_three(INFINITY, 1, -INFINITY, 0.5) == 1);
    assert_true(of_three(INFINITY, 1, -INFINITY, 0.75) == INFINITY);
    assert_true(of_three(INFINITY, INFINITY, -INFINITY, 0.75) == INFINITY);
    assert_true(of_three(INFINITY, INFINITY, -INFINITY, 0.25) == -INFINITY); /* no middle */
    assert_true(of_three(-1.7e308, 1.7e308, 1.7e308, 0.25) == 0);            /* no overflow */
}

/* Half as values, half as a sketch of this error. */
static enum vv_status mix(struct vv_percentiles *percentiles, struct vv_percentile_budget *budget,
                          double alpha)
{
    struct vv_sketch sketch;
    uint64_t paused = vv_sim_memory_pause();
    assert_true(vv_sketch_init(&sketch, alpha));
    for (size_t i = 0; i < 500; i++) {
        assert_true(vv_sketch_add(&sketch, (double)(2 * i + 1), 1));
    }
    vv_sim_memory_resume(paused);
    double halves[500];
    for (size_t i = 0; i < 500; i++) {
        halves[i] = (double)(2 * i + 2);
    }
    enum vv_status status = vv_percentiles_add(percentiles, budget, halves, 250);
    if (status == VV_OK) {
        status = vv_percentiles_merge(percentiles, budget, &sketch);
    }
    if (status == VV_OK) {
        status = vv_percentiles_add(percentiles, budget, halves + 250, 250);
    }
    vv_sketch_deinit(&sketch);
    return status;
}

static void sketches_are_merged(void **state)
{
    (void)state;
    struct vv_percentile_budget budget;
    struct vv_percentiles percentiles = {0};
    assert_true(vv_percentile_budget_init(&budget, 1 << 20));
    assert_int_equal(mix(&percentiles, &budget, 0.02), VV_OK);
    for (double q = 0; q <= 1; q += 0.125) {
        double exact = 1 + q * 999;
        assert_true(fabs(vv_percentiles_read(&percentiles, &budget, q) - exact) <= 0.021 * exact);
    }
    assert_true(budget.error == 0.02);
    assert_true(budget.bytes > 0);
    assert_int_equal(mix(&percentiles, &budget, 0.05), VV_OK); /* another error, the same values */
    double both = 0.02 * 1.05 + 0.05;
    for (double q = 0; q <= 1; q += 0.125) {
        double exact = 1 + q * 999;
        double got = vv_percentiles_read(&percentiles, &budget, q);
        assert_true(fabs(got - exact) <= (both + 0.002) * exact);
    }
    assert_true(fabs(budget.error - both) < 1e-12);
    vv_percentiles_deinit(&percentiles, &budget);
    assert_int_equal(budget.bytes, 0);
    vv_percentile_budget_deinit(&budget);
}

/* More values than a sketch of so small an error has bins for. */
static void the_error_is_that_of_values_which_share_a_bin(void **state)
{
    (void)state;
    struct vv_percentile_budget budget;
    struct vv_percentiles percentiles = {0};
    struct vv_sketch sketch;
    struct vv_random random = {7};
    assert_true(vv_sketch_init(&sketch, 0.0001));
    for (size_t i = 0; i < MANY; i++) {
        values[i] = 1 + 999 * vv_random_unit(&random);
        assert_true(vv_sketch_add(&sketch, values[i], 1));
    }
    qsort(values, MANY, sizeof *values, compare);
    assert_true(vv_percentile_budget_init(&budget, 1 << 20));
    assert_int_equal(vv_percentiles_merge(&percentiles, &budget, &sketch), VV_OK);
    static const double qs[] = {0.99, 0.01};
    for (size_t i = 0; i < 2; i++) {
        double exact = expected(values, MANY, qs[i]);
        double found = vv_percentiles_read(&percentiles, &budget, qs[i]);
        assert_true(fabs(found - exact) <= (budget.error + 1e-9) * exact);
        assert_true(i == 0 ? fabs(budget.error - 0.0001) < 1e-12 : budget.error > 0.9);
    }
    vv_sketch_deinit(&sketch);
    vv_percentiles_deinit(&percentiles, &budget);
    vv_percentile_budget_deinit(&budget);
}

static void memory_that_runs_out_while_merging(void **state)
{
    (void)state;
    struct vv_percentile_budget budget;
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vv_percentiles percentiles = {0};
        assert_true(vv_percentile_budget_init(&budget, 1 << 20));
        vv_sim_memory_fail(k);
        enum vv_status status = mix(&percentiles, &budget, 0.01);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        vv_percentiles_deinit(&percentiles, &budget);
        assert_int_equal(budget.bytes, 0);
        vv_percentile_budget_deinit(&budget);
    }
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    struct vv_percentile_budget budget;
    for (uint64_t k = 1;; k++) {
        struct vv_percentiles percentiles = {0};
        vv_sim_memory_fail(k);
        enum vv_status status = vv_percentile_budget_init(&budget, 1 << 20) ? VV_OK : VV_NO_MEMORY;
        for (size_t i = 0; i < MANY && status == VV_OK; i += 300) {
            status = vv_percentiles_add(&percentiles, &budget, values + i, 300);
        }
        bool failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        vv_percentiles_deinit(&percentiles, &budget);
        vv_percentile_budget_deinit(&budget);
        if (!failed) {
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_values_are_exact),
        cmocka_unit_test(many_values_are_close),
        cmocka_unit_test(little_memory_takes_sketches_early),
        cmocka_unit_test(infinities_stand_at_the_ends),
        cmocka_unit_test(sketches_are_merged),
        cmocka_unit_test(the_error_is_that_of_values_which_share_a_bin),
        cmocka_unit_test(memory_that_runs_out_while_merging),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
