/* SPDX-License-Identifier: Apache-2.0 */
/* Folds: slices in any order and of any size give what long double over all points gives. */
#include "base/bits.h"
#include "base/random.h"
#include "query/fold.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SEED   51
#define POINTS 3000

static int64_t times[POINTS];
static uint64_t values[POINTS];
static struct vv_percentile_budget budget;
static struct vv_aggregate aggregates[] = {
    {.kind = VV_AGGREGATE_COUNT},
    {.kind = VV_AGGREGATE_SUM},
    {.kind = VV_AGGREGATE_MIN},
    {.kind = VV_AGGREGATE_MAX},
    {.kind = VV_AGGREGATE_MEAN},
    {.kind = VV_AGGREGATE_STDDEV},
    {.kind = VV_AGGREGATE_FIRST},
    {.kind = VV_AGGREGATE_LAST},
    {.kind = VV_AGGREGATE_PERCENTILE, .quantile = 0.5},
    {.kind = VV_AGGREGATE_RATE},
};
#define AGGREGATES (sizeof aggregates / sizeof aggregates[0])

static struct vv_fold_spec spec_of(enum vv_value_type type)
{
    return (struct vv_fold_spec){.type = type,
                                 .needs = VV_NEED_SUM | VV_NEED_BOUNDS | VV_NEED_MOMENTS |
                                          VV_NEED_ENDS | VV_NEED_PERCENTILES | VV_NEED_CHANGE,
                                 .aggregates = aggregates,
                                 .n_aggregates = AGGREGATES,
                                 .budget = &budget};
}

static double real_of(enum vv_value_type type, uint64_t bits)
{
    return type == VV_INT64 ? (double)(int64_t)bits : vv_bits_double(bits);
}

static void fill(struct vv_random *random, enum vv_value_type type, size_t n, int shape)
{
    static const double offsets[] = {0, 1e9, -1e15, 1e-3};
    for (size_t i = 0; i < n; i++) {
        double unit = vv_random_unit(random) - 0.5;
        times[i] = (int64_t)i;
        values[i] = type == VV_INT64 ? (uint64_t)(int64_t)(unit * 1e6 + offsets[shape])
                                     : vv_bits_of_double(unit + offsets[shape]);
    }
}

/* Adds slices of random sizes in a random order. */
static void add_randomly(struct vv_random *random, const struct vv_fold_spec *spec,
                         struct vv_fold *fold, size_t n)
{
    size_t starts[POINTS];
    size_t ends[POINTS];
    size_t slices = 0;
    for (size_t at = 0; at < n; at = ends[slices++]) {
        uint64_t most = vv_random_below(random, 4) ? 10 : 700;
        starts[slices] = at;
        ends[slices] = at + 1 + (size_t)vv_random_below(random, most);
        ends[slices] = ends[slices] < n ? ends[slices] : n;
    }
    while (slices > 0) {
        size_t pick = (size_t)vv_random_below(random, slices);
        assert_int_equal(vv_fold_add(spec, fold, times + starts[pick], values + starts[pick],
                                     ends[pick] - starts[pick]),
                         VV_OK);
        slices--;
        starts[pick] = starts[slices];
        ends[pick] = ends[slices];
    }
}

static double number(struct vv_cell cell)
{
    assert_int_not_equal(cell.kind, VV_CELL_NULL);
    return cell.kind == VV_CELL_INTEGER ? (double)cell.integer : cell.real;
}

static void check(enum vv_value_type type, const struct vv_cell *cells, size_t n)
{
    long double sum = 0;
    long double shifted = 0; /* about the first value: long double is not exact enough else */
    long double squares = 0;
    long double origin = real_of(type, values[0]);
    double min = INFINITY;
    double max = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double value = real_of(type, values[i]);
        sum += value;
        shifted += value - origin;
        min = fmin(min, value);
        max = fmax(max, value);
    }
    for (size_t i = 0; i < n; i++) {
        long double apart = real_of(type, values[i]) - origin - shifted / n;
        squares += apart * apart;
    }
    long double size = fabsl(sum) + 1e-12L;
    assert_int_equal(cells[0].integer, n);
    assert_true(fabsl(number(cells[1]) - sum) <= 1e-14L * size);
    assert_true(number(cells[2]) == min && number(cells[3]) == max);
    assert_true(fabsl(number(cells[4]) - sum / n) <= 1e-14L * size / n);
    if (n > 1) {
        long double deviation = sqrtl(squares / (n - 1));
        if (fabsl(number(cells[5]) - deviation) > 1e-9L * deviation) {
            fail_msg("%zu values: %.17g, not %.17Lg", n, number(cells[5]), deviation);
        }
    } else {
        assert_int_equal(cells[5].kind, VV_CELL_NULL);
    }
    assert_true(number(cells[6]) == real_of(type, values[0]));
    assert_true(number(cells[7]) == real_of(type, values[n - 1]));
    assert_int_equal(cells[9].kind, VV_CELL_NULL); /* rates are added elsewhere */
}

static void any_order_of_slices_is_right(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    assert_true(vv_percentile_budget_init(&budget, 1 << 20));
    for (int round = 0; round < 300; round++) {
        enum vv_value_type type = round % 2 ? VV_INT64 : VV_FLOAT64;
        struct vv_fold_spec spec = spec_of(type);
        struct vv_fold fold = {0};
        struct vv_cell cells[AGGREGATES];
        size_t n = 1 + (size_t)vv_random_below(&random, round % 3 ? POINTS : 5);
        fill(&random, type, n, round / 2 % 4);
        for (int again = 0; again < 2; again++) { /* a cleared fold is as good as a new one */
            add_randomly(&random, &spec, &fold, n);
            vv_fold_read(&spec, &fold, cells);
            check(type, cells, n);
            vv_fold_clear(&spec, &fold);
        }
        vv_fold_deinit(&spec, &fold);
    }
    assert_int_equal(budget.bytes, 0);
    vv_percentile_budget_deinit(&budget);
}

static void an_empty_fold_has_a_count_only(void **state)
{
    (void)state;
    struct vv_fold_spec spec = spec_of(VV_FLOAT64);
    struct vv_fold fold = {0};
    struct vv_cell cells[AGGREGATES];
    vv_fold_read(&spec, &fold, cells);
    assert_int_equal(cells[0].integer, 0);
    for (size_t i = 1; i < AGGREGATES; i++) {
        assert_int_equal(cells[i].kind, VV_CELL_NULL);
    }
}

static void small_and_large_add_up(void **state)
{
    (void)state;
    struct vv_fold_spec spec = spec_of(VV_FLOAT64);
    struct vv_fold fold = {0};
    struct vv_cell cells[AGGREGATES];
    spec.needs = VV_NEED_SUM;
    for (size_t i = 0; i < 1000; i++) {
        times[i] = (int64_t)i;
        values[i] = vv_bits_of_double(i == 0 ? 1e17 : i == 999 ? -1e17 : 0.1);
    }
    assert_int_equal(vv_fold_add(&spec, &fold, times, values, 1000), VV_OK);
    vv_fold_read(&spec, &fold, cells);
    assert_true(fabs(cells[1].real - 99.8) < 1e-9);
}

static void infinities_follow_ieee(void **state)
{
    (void)state;
    struct vv_fold_spec spec = spec_of(VV_FLOAT64);
    struct vv_fold fold = {0};
    struct vv_cell cells[AGGREGATES];
    spec.needs = VV_NEED_SUM | VV_NEED_BOUNDS | VV_NEED_MOMENTS;
    spec.n_aggregates = 6;
    uint64_t some[] = {vv_bits_of_double(1), vv_bits_of_double(INFINITY), vv_bits_of_double(2)};
    assert_int_equal(vv_fold_add(&spec, &fold, times, some, 3), VV_OK);
    vv_fold_read(&spec, &fold, cells);
    assert_true(cells[1].real == INFINITY && cells[4].real == INFINITY);
    assert_true(cells[2].real == 1 && cells[3].real == INFINITY && isnan(cells[5].real));
    uint64_t other[] = {vv_bits_of_double(-INFINITY)};
    assert_int_equal(vv_fold_add(&spec, &fold, times, other, 1), VV_OK);
    vv_fold_read(&spec, &fold, cells);
    assert_true(isnan(cells[1].real) && isnan(cells[4].real));
    assert_true(cells[2].real == -INFINITY);
}

static void sums_of_integers_do_not_overflow(void **state)
{
    (void)state;
    struct vv_fold_spec spec = spec_of(VV_INT64);
    struct vv_fold fold = {0};
    struct vv_cell cells[AGGREGATES];
    spec.needs = VV_NEED_SUM;
    for (size_t i = 0; i < POINTS; i++) {
        times[i] = (int64_t)i;
        values[i] = (uint64_t)(i % 2 ? INT64_MAX : INT64_MIN);
    }
    assert_int_equal(vv_fold_add(&spec, &fold, times, values, POINTS), VV_OK);
    vv_fold_read(&spec, &fold, cells);
    assert_true(cells[1].kind == VV_CELL_INTEGER && cells[1].integer == -POINTS / 2);
    assert_true(cells[4].real == -0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_of_slices_is_right),
        cmocka_unit_test(an_empty_fold_has_a_count_only),
        cmocka_unit_test(small_and_large_add_up),
        cmocka_unit_test(infinities_follow_ieee),
        cmocka_unit_test(sums_of_integers_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
