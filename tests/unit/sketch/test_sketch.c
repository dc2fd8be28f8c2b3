/* SPDX-License-Identifier: Apache-2.0 */
/* The sketch: its error bound against exact quantiles, exact merges, and its edges. */
#include "sketch/sketch.h"

#include "samples.h"

static int compare_doubles(const void *a, const void *b)
{
    double left;
    double right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

static void assert_quantiles_within(const struct vv_sketch *sketch, double bound, double *values,
                                    size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
    double largest = 0;
    for (int percent = 0; percent <= 1000; percent++) {
        double q = percent / 1000.0;
        double exact = values[(size_t)(q * (double)(count - 1))];
        double error;
        double found = vv_sketch_quantile_within(sketch, q, &error);
        assert_true(found == vv_sketch_quantile(sketch, q));
        if (!(fabs(found - exact) <= error * (1.0 + 1e-9) * fabs(exact))) {
            fail_msg("q %g: %g instead of %g, within %g", q, found, exact, error);
        }
        largest = error > largest ? error : largest;
    }
    bool is_as_said = fabs(largest - bound) < 1e-12;
    assert_true(is_as_said || (vv_sketch_collapsed(sketch) && largest > bound));
    assert_true(largest <= 1 + 2 * bound);
    assert_true(vv_sketch_quantile(sketch, 0.0) == values[0]);
    assert_true(vv_sketch_quantile(sketch, 1.0) == values[count - 1]);
}

static void assert_quantiles(const struct vv_sketch *sketch, double *values, size_t count)
{
    assert_quantiles_within(sketch, vv_sketch_error(sketch), values, count);
}

static void quantiles_are_within_the_error(void **state)
{
    (void)state;
    static const double alphas[] = {0.0, 0.001, 0.05, 0.3, 0.0001};
    static const size_t counts[] = {1, 2, 3, 60, 1000, 20000};
    double *values = malloc(20000 * sizeof *values);
    assert_non_null(values);
    struct vv_random random = {201};
    int n_collapsed = 0;
    for (int distribution = 0; distribution < DISTRIBUTION_END; distribution++) {
        for (size_t i = 0; i < 5 * 6; i++) {
            size_t count = counts[i / 5];
            struct vv_sketch sketch;
            assert_true(vv_sketch_init(&sketch, alphas[i % 5]));
            for (size_t k = 0; k < count; k++) {
                values[k] = sample((enum distribution)distribution, &random);
                add_one(&sketch, values[k]);
            }
            assert_int_equal(vv_sketch_count(&sketch), count);
            n_collapsed += vv_sketch_collapsed(&sketch);
            assert_quantiles(&sketch, values, count);
            vv_sketch_deinit(&sketch);
        }
    }
    assert_true(n_collapsed > 0);
    free(values);
}

static void merging_equals_adding_everything(void **state)
{
    (void)state;
    struct vv_random random = {202};
    for (int distribution = 0; distribution < DISTRIBUTION_END; distribution++) {
        struct vv_sketch all;
        struct vv_sketch forward;
        struct vv_sketch parts[7];
        (void)vv_sketch_init(&all, 0.0);
        (void)vv_sketch_init(&forward, 0.0);
        for (size_t i = 0; i < 7; i++) {
            (void)vv_sketch_init(&parts[i], 0.0);
        }
        for (size_t i = 0; i < 3000; i++) {
            double value = sample((enum distribution)distribution, &random);
            add_one(&all, value);
            add_one(&parts[vv_random_next(&random) % 6], value); /* the seventh stays empty */
        }
        for (size_t i = 0; i < 7; i++) {
            assert_true(vv_sketch_merge(&forward, &parts[i]));
        }
        for (size_t i = 7; i-- > 1;) {
            assert_true(vv_sketch_merge(&parts[i - 1], &parts[i]));
        }
        assert_sketch_equal(&all, &forward);
        assert_sketch_equal(&all, &parts[0]);
        for (size_t i = 0; i < 7; i++) {
            vv_sketch_deinit(&parts[i]);
        }
        vv_sketch_deinit(&forward);
        vv_sketch_deinit(&all);
    }
}

static void assert_many_equal_single(double alpha, const double *values, size_t count)
{
    struct vv_sketch single;
    struct vv_sketch many;
    assert_true(vv_sketch_init(&single, alpha));
    assert_true(vv_sketch_init(&many, alpha));
    for (size_t i = 0; i < count; i++) {
        add_one(&single, values[i]);
    }
    size_t some = count / 3;
    assert_true(vv_sketch_add_values(&many, values, some));
    assert_true(vv_sketch_add_values(&many, values + some, 0));
    assert_true(vv_sketch_add_values(&many, values + some, count - some));
    assert_sketch_equal(&single, &many);
    vv_sketch_deinit(&many);
    double min = INFINITY;
    double max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        if (isnan(values[i])) {
            vv_sketch_deinit(&single);
            return;
        }
        min = values[i] < min ? values[i] : min;
        max = values[i] > max ? values[i] : max;
    }
    assert_true(vv_sketch_init(&many, alpha));
    assert_true(vv_sketch_add_within(&many, values, count, min, max));
    assert_sketch_equal(&single, &many);
    vv_sketch_deinit(&single);
    vv_sketch_deinit(&many);
}

static void adding_many_equals_adding_one_by_one(void **state)
{
    (void)state;
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p-1070, -0x1p-1070};
    static const size_t counts[] = {1, 3, 60, 256, 257, 2000};
    static const double alphas[] = {0.01, 0.001, 0.2};
    struct vv_random random = {211};
    double values[2000];
    for (int distribution = 0; distribution < DISTRIBUTION_END; distribution++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0] * 3; i++) {
            size_t count = counts[i / 3];
            for (size_t at = 0; at < count; at++) {
                bool is_special = i % 2 && vv_random_next(&random) % 10 == 0;
                values[at] = is_special ? special[vv_random_next(&random) % 7]
                                        : sample((enum distribution)distribution, &random);
            }
            assert_many_equal_single(alphas[i % 3], values, count);
        }
    }
}

static void adding_integers_equals_adding_one_by_one(void **state)
{
    (void)state;
    static const int64_t firsts[] = {0,         1,       -3,  60, 1000000, (INT64_C(1) << 53) - 60,
                                     INT64_MIN, -100000, 127, 2};
    static const uint64_t ranges[] = {1, 2, 12, 127, 128, 129, 100000, UINT64_C(1) << 62};
    static const size_t counts[] = {1, 3, 60, 257, 2000};
    struct vv_random random = {213};
    int64_t values[2000];
    for (size_t round = 0; round < 10 * 8 * 5; round++) {
        size_t count = counts[round % 5];
        struct vv_sketch single;
        struct vv_sketch many;
        assert_true(vv_sketch_init(&single, round % 3 ? 0.01 : 0.001));
        assert_true(vv_sketch_init(&many, round % 3 ? 0.01 : 0.001));
        for (int part = 0; part < 3; part++) { /* the bounds are those of all, or wider */
            int64_t min = firsts[round / 40];
            int64_t max = min + (int64_t)(ranges[round / 5 % 8] - 1);
            for (size_t i = 0; i < count; i++) {
                values[i] = min + (int64_t)vv_random_below(&random, (uint64_t)(max - min) + 1);
            }
            if (part == 0) {
                values[0] = min;
                values[count - 1] = max;
            }
            if (count == 1) {
                min = max = values[0];
            }
            for (size_t i = 0; i < count; i++) {
                add_one(&single, (double)values[i]);
            }
            assert_true(vv_sketch_add_integers(&many, values, count, min, max));
        }
        assert_sketch_equal(&single, &many);
        vv_sketch_deinit(&single);
        vv_sketch_deinit(&many);
    }
}

/* The k-th of some that differ in where their values are, how many there are, and in kind. */
static void make_part(struct vv_random *random, size_t k, enum distribution distribution,
                      struct vv_sketch *part)
{
    size_t count = vv_random_below(random, k % 7 == 0 ? 2000 : 60);
    (void)vv_sketch_init(part, k % 11 == 5 ? 0.02 : 0.01);
    for (size_t i = 0; i < count; i++) {
        double value = sample(distribution, random);
        add_one(part, k % 3 == 0 ? value : 50 + fmod(fabs(value), 20));
    }
    if (k % 5 == 0) {
        assert_true(vv_sketch_add(part, k % 2 ? INFINITY : -(double)INFINITY, 2));
        add_one(part, 0.0);
    }
}

static void summing_equals_absorbing(void **state)
{
    (void)state;
    struct vv_random random = {214};
    struct vv_sketch_sum sum = {0};
    for (int round = 0; round < 20 * DISTRIBUTION_END; round++) {
        struct vv_sketch one_by_one;
        struct vv_sketch summed;
        (void)vv_sketch_init(&one_by_one, 0.01);
        (void)vv_sketch_init(&summed, 0.01);
        for (int turn = 0; turn < 2; turn++) {
            vv_sketch_sum_begin(&sum, &summed);
            for (size_t k = 0; k < (size_t)(round % 20); k++) {
                struct vv_sketch part;
                make_part(&random, k, (enum distribution)(round / 20), &part);
                assert_true(vv_sketch_absorb(&one_by_one, &part));
                assert_true(vv_sketch_sum_add(&sum, &part));
                vv_sketch_deinit(&part);
            }
            assert_true(vv_sketch_sum_end(&sum));
        }
        assert_sketch_equal(&one_by_one, &summed);
        vv_sketch_deinit(&one_by_one);
        vv_sketch_deinit(&summed);
    }
}

static void a_sum_that_would_overflow_is_refused(void **state)
{
    (void)state;
    struct vv_sketch_sum sum = {0};
    struct vv_sketch part;
    struct vv_sketch summed;
    (void)vv_sketch_init(&part, 0.0);
    (void)vv_sketch_init(&summed, 0.0);
    assert_true(vv_sketch_add(&part, 3.0, UINT64_MAX / 2));
    vv_sketch_sum_begin(&sum, &summed);
    assert_true(vv_sketch_sum_add(&sum, &part));
    assert_true(vv_sketch_sum_add(&sum, &part));
    assert_false(vv_sketch_sum_add(&sum, &part));
    vv_sketch_deinit(&part);
    vv_sketch_deinit(&summed);
}

/* Each bin holds what is within alpha of it, at all magnitudes and at the bounds of powers of 2. */
static void a_single_value_is_within_the_error(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    struct vv_random random = {212};
    assert_true(vv_sketch_init(&sketch, 0.001));
    for (int i = 0; i < 200000; i++) {
        double value = i % 3 == 0   ? ldexp(1.0, (int)(vv_random_next(&random) % 2000) - 1000)
                       : i % 3 == 1 ? ldexp(sqrt(0.5), (int)(vv_random_next(&random) % 2000) - 1000)
                                    : sample(DISTRIBUTION_ALL_MAGNITUDES, &random);
        double bounds[] = {value / 4, value, value * 4};
        vv_sketch_clear(&sketch);
        assert_true(vv_sketch_add_values(&sketch, bounds, 3));
        double middle = vv_sketch_quantile(&sketch, 0.5); /* not an end, which is exact */
        assert_true(fabs(middle - value) <= 0.001 * (1 + 1e-9) * fabs(value));
    }
    vv_sketch_deinit(&sketch);
}

/* At an error this small the values of all magnitudes do not fit the bins. */
static void collapsing_does_not_depend_on_the_order(void **state)
{
    (void)state;
    struct vv_random random = {203};
    struct vv_sketch all;
    struct vv_sketch backward;
    struct vv_sketch parts[3];
    double *values = malloc(30000 * sizeof *values);
    assert_non_null(values);
    assert_true(vv_sketch_init(&all, 0.001));
    assert_true(vv_sketch_init(&backward, 0.001));
    for (size_t i = 0; i < 3; i++) {
        assert_true(vv_sketch_init(&parts[i], 0.001));
    }
    for (size_t i = 0; i < 30000; i++) {
        values[i] = sample(DISTRIBUTION_ALL_MAGNITUDES, &random);
        add_one(&all, values[i]);
        add_one(&parts[i % 3], values[i]);
    }
    for (size_t i = 30000; i-- > 0;) {
        add_one(&backward, values[i]);
    }
    assert_true(vv_sketch_collapsed(&all));
    assert_true(vv_sketch_merge(&parts[1], &parts[2]));
    assert_true(vv_sketch_merge(&parts[0], &parts[1]));
    assert_sketch_equal(&all, &backward);
    assert_sketch_equal(&all, &parts[0]);
    assert_true(vv_sketch_memory_bytes(&all) <=
                sizeof all + (size_t)2 * VV_SKETCH_BINS_MAX * (8 + 4));
    /* What is far from zero keeps its error. */
    qsort(values, 30000, sizeof *values, compare_doubles);
    for (double q = 0.95; q < 1.0; q += 0.01) {
        double exact = values[(size_t)(q * 29999.0)];
        assert_true(fabs(vv_sketch_quantile(&all, q) - exact) <= 0.001001 * exact);
    }
    for (size_t i = 0; i < 3; i++) {
        vv_sketch_deinit(&parts[i]);
    }
    vv_sketch_deinit(&all);
    vv_sketch_deinit(&backward);
    free(values);
}

static void merging_with_itself_doubles(void **state)
{
    (void)state;
    struct vv_random random = {204};
    struct vv_sketch once;
    struct vv_sketch twice;
    (void)vv_sketch_init(&once, 0.0);
    (void)vv_sketch_init(&twice, 0.0);
    for (size_t i = 0; i < 500; i++) {
        double value = sample(DISTRIBUTION_AROUND_ZERO, &random);
        add_one(&once, value);
        assert_true(vv_sketch_add(&twice, value, 2));
    }
    assert_true(vv_sketch_merge(&once, &once));
    assert_sketch_equal(&once, &twice);
    vv_sketch_deinit(&once);
    vv_sketch_deinit(&twice);
}

static void absorbing_adds_both_errors(void **state)
{
    (void)state;
    static double values[4000];
    struct vv_random random = {205};
    for (int distribution = 0; distribution < DISTRIBUTION_END; distribution++) {
        struct vv_sketch fine;
        struct vv_sketch coarse;
        assert_true(vv_sketch_init(&fine, 0.004));
        assert_true(vv_sketch_init(&coarse, 0.03));
        for (size_t i = 0; i < 4000; i++) {
            values[i] = sample((enum distribution)distribution, &random);
            add_one(i % 2 ? &fine : &coarse, values[i]);
        }
        bool is_whole = !vv_sketch_collapsed(&fine);
        assert_false(vv_sketch_merge(&coarse, &fine));
        assert_true(vv_sketch_absorb(&coarse, &fine));
        assert_int_equal(vv_sketch_count(&coarse), 4000);
        bool is_as_said = fabs(vv_sketch_error(&coarse) - (0.03 * 1.004 + 0.004)) < 1e-12;
        assert_true(is_as_said || !is_whole);
        assert_quantiles_within(&coarse, vv_sketch_error(&coarse), values, 4000);
        vv_sketch_deinit(&fine);
        vv_sketch_deinit(&coarse);
    }
}

static void absorbing_the_same_error_is_merging(void **state)
{
    (void)state;
    struct vv_random random = {213};
    struct vv_sketch merged;
    struct vv_sketch absorbed;
    struct vv_sketch from;
    (void)vv_sketch_init(&merged, 0.0);
    (void)vv_sketch_init(&absorbed, 0.0);
    (void)vv_sketch_init(&from, 0.0);
    for (int i = 0; i < 1000; i++) {
        add_one(&from, sample(DISTRIBUTION_LOGNORMAL, &random));
    }
    assert_true(vv_sketch_merge(&merged, &from));
    assert_true(vv_sketch_absorb(&absorbed, &from));
    assert_sketch_equal(&merged, &absorbed);
    assert_true(vv_sketch_absorb(&absorbed, &absorbed));
    assert_true(vv_sketch_merge(&merged, &merged));
    assert_sketch_equal(&merged, &absorbed);
    vv_sketch_deinit(&merged);
    vv_sketch_deinit(&absorbed);
    vv_sketch_deinit(&from);
}

static void absorbing_keeps_what_is_not_finite(void **state)
{
    (void)state;
    struct vv_sketch from;
    struct vv_sketch into;
    assert_true(vv_sketch_init(&from, 0.02));
    assert_true(vv_sketch_init(&into, 0.01));
    assert_true(vv_sketch_absorb(&into, &from));
    assert_int_equal(vv_sketch_count(&into), 0);
    assert_true(vv_sketch_add(&from, INFINITY, 2));
    assert_true(vv_sketch_add(&from, -INFINITY, 1));
    assert_true(vv_sketch_add(&from, 0.0, 3));
    assert_true(vv_sketch_absorb(&into, &from));
    assert_int_equal(vv_sketch_count(&into), 6);
    assert_true(vv_sketch_quantile(&into, 0.0) == -INFINITY);
    assert_true(vv_sketch_quantile(&into, 0.5) == 0.0);
    assert_true(vv_sketch_quantile(&into, 1.0) == INFINITY);
    vv_sketch_deinit(&from);
    vv_sketch_deinit(&into);
}

static void special_values(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    (void)vv_sketch_init(&sketch, 0.0);
    assert_true(isnan(vv_sketch_quantile(&sketch, 0.5)));
    add_one(&sketch, (double)NAN);
    assert_true(vv_sketch_add(&sketch, 1.0, 0));
    assert_int_equal(vv_sketch_count(&sketch), 0);
    add_one(&sketch, (double)INFINITY);
    add_one(&sketch, -(double)INFINITY);
    assert_true(vv_sketch_quantile(&sketch, 0.0) == -(double)INFINITY);
    assert_true(vv_sketch_quantile(&sketch, 1.0) == (double)INFINITY);
    add_one(&sketch, -0.0);
    add_one(&sketch, DBL_TRUE_MIN);
    add_one(&sketch, DBL_MAX);
    assert_int_equal(vv_sketch_count(&sketch), 5);
    assert_true(vv_sketch_quantile(&sketch, 0.25) == 0.0);
    assert_false(signbit(vv_sketch_quantile(&sketch, 0.25)));
    assert_true(vv_sketch_quantile(&sketch, 0.75) == DBL_MAX);
    assert_true(isnan(vv_sketch_quantile(&sketch, (double)NAN)));
    assert_true(vv_sketch_quantile(&sketch, -1.0) == -(double)INFINITY);
    assert_true(vv_sketch_quantile(&sketch, 2.0) == (double)INFINITY);
    vv_sketch_deinit(&sketch);
}

static void the_largest_doubles_stay_finite(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    (void)vv_sketch_init(&sketch, VV_SKETCH_ALPHA_MAX);
    for (int i = 0; i < 10; i++) {
        add_one(&sketch, DBL_MAX / (1 + i));
        add_one(&sketch, -DBL_MAX / (1 + i));
        add_one(&sketch, DBL_MIN * (1 + i));
    }
    for (double q = 0.0; q <= 1.0; q += 0.01) {
        assert_true(isfinite(vv_sketch_quantile(&sketch, q)));
    }
    vv_sketch_deinit(&sketch);
}

static void counts_do_not_overflow(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    struct vv_sketch other;
    (void)vv_sketch_init(&sketch, 0.0);
    (void)vv_sketch_init(&other, 0.0);
    assert_true(vv_sketch_add(&sketch, 1.0, UINT64_MAX - 1));
    assert_false(vv_sketch_add(&sketch, 2.0, 2));
    assert_true(vv_sketch_add(&other, 2.0, 2));
    assert_false(vv_sketch_merge(&sketch, &other));
    assert_true(vv_sketch_count(&sketch) == UINT64_MAX - 1);
    assert_true(vv_sketch_add(&sketch, 4.0, 1));
    assert_true(vv_sketch_quantile(&sketch, 0.999) == 1.0 ||
                fabs(vv_sketch_quantile(&sketch, 0.999) - 1.0) <= 0.01);
    assert_true(vv_sketch_quantile(&sketch, 1.0) == 4.0);
    vv_sketch_deinit(&sketch);
    vv_sketch_deinit(&other);
}

static void alpha_is_bounded(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    struct vv_sketch coarse;
    static const double wrong[] = {-0.01, 1e-9, 0.51, 1.0, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(vv_sketch_init(&sketch, wrong[i]));
        assert_true(vv_sketch_error(&sketch) == VV_SKETCH_ALPHA_DEFAULT);
    }
    assert_true(vv_sketch_init(&sketch, 0.0));
    assert_true(vv_sketch_init(&coarse, 0.02));
    add_one(&coarse, 1.0);
    assert_false(vv_sketch_merge(&sketch, &coarse));
    assert_int_equal(vv_sketch_count(&sketch), 0);
    vv_sketch_deinit(&coarse);
    vv_sketch_deinit(&sketch);
}

static void clearing_keeps_the_memory(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    struct vv_sketch fresh;
    (void)vv_sketch_init(&sketch, 0.0);
    (void)vv_sketch_init(&fresh, 0.0);
    assert_int_equal(vv_sketch_memory_bytes(&sketch), sizeof sketch);
    for (int i = 1; i < 100; i++) {
        add_one(&sketch, i);
    }
    size_t bytes = vv_sketch_memory_bytes(&sketch);
    vv_sketch_clear(&sketch);
    assert_int_equal(vv_sketch_memory_bytes(&sketch), bytes);
    assert_sketch_equal(&sketch, &fresh);
    vv_sketch_deinit(&sketch);
    assert_int_equal(vv_sketch_memory_bytes(&sketch), sizeof sketch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_within_the_error),
        cmocka_unit_test(merging_equals_adding_everything),
        cmocka_unit_test(adding_many_equals_adding_one_by_one),
        cmocka_unit_test(adding_integers_equals_adding_one_by_one),
        cmocka_unit_test(summing_equals_absorbing),
        cmocka_unit_test(a_sum_that_would_overflow_is_refused),
        cmocka_unit_test(a_single_value_is_within_the_error),
        cmocka_unit_test(collapsing_does_not_depend_on_the_order),
        cmocka_unit_test(merging_with_itself_doubles),
        cmocka_unit_test(absorbing_adds_both_errors),
        cmocka_unit_test(absorbing_the_same_error_is_merging),
        cmocka_unit_test(absorbing_keeps_what_is_not_finite),
        cmocka_unit_test(special_values),
        cmocka_unit_test(the_largest_doubles_stay_finite),
        cmocka_unit_test(counts_do_not_overflow),
        cmocka_unit_test(alpha_is_bounded),
        cmocka_unit_test(clearing_keeps_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
