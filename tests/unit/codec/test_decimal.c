/* SPDX-License-Identifier: Apache-2.0 */
/* Decimals: exact with their corrections for any bits; the scale that people would choose. */
#include "codec/decimal.h"

#include "codec/format.h"
#include "shapes.h"

#define COUNT 500u

static void split_and_join_any_bits(void **state)
{
    (void)state;
    struct vv_random random = {41};
    uint64_t values[COUNT];
    uint64_t numbers[COUNT];
    uint64_t corrections[COUNT];
    for (int shape = 0; shape < SHAPE_INT_CONSTANT; shape++) {
        fill_shape((enum shape)shape, &random, COUNT, values);
        for (unsigned exponent = 0; exponent <= VV_FORMAT_EXPONENT_MAX; exponent++) {
            struct vv_decimal_scale scale = {exponent, exponent % 2 == 1};
            bool corrected = vv_decimal_split(values, COUNT, scale, numbers, corrections);
            vv_decimal_join(numbers, COUNT, scale);
            bool differs = false;
            for (size_t i = 0; i < COUNT; i++) {
                assert_true(numbers[i] + corrections[i] == values[i]);
                differs |= numbers[i] != values[i];
            }
            assert_int_equal(corrected, differs);
        }
    }
}

static struct vv_decimal_scale chosen(enum shape shape, uint64_t *values)
{
    struct vv_random random = {42};
    struct vv_decimal_scale scale;
    fill_shape(shape, &random, COUNT, values);
    assert_true(vv_decimal_choose(values, COUNT, &scale));
    return scale;
}

static void the_number_of_digits_is_found(void **state)
{
    (void)state;
    uint64_t values[COUNT];
    uint64_t numbers[COUNT];
    uint64_t corrections[COUNT];
    struct vv_decimal_scale tenths = chosen(SHAPE_DECIMAL_WALK, values);
    assert_true(tenths.exponent == 1 && !tenths.single);
    assert_false(vv_decimal_split(values, COUNT, tenths, numbers, corrections));
    struct vv_decimal_scale hundredths = chosen(SHAPE_DECIMAL_NOISE, values);
    assert_true(hundredths.exponent == 2 && !hundredths.single);
    struct vv_decimal_scale singles = chosen(SHAPE_SINGLE_DECIMALS, values);
    assert_true(singles.exponent == 1 && singles.single);
    assert_false(vv_decimal_split(values, COUNT, singles, numbers, corrections));
}

static void averages_need_small_corrections(void **state)
{
    (void)state;
    uint64_t values[COUNT];
    uint64_t numbers[COUNT];
    uint64_t corrections[COUNT];
    struct vv_decimal_scale scale = chosen(SHAPE_AVERAGES, values);
    assert_int_equal(scale.exponent, 3);
    assert_true(vv_decimal_split(values, COUNT, scale, numbers, corrections));
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(vv_zigzag(corrections[i]) < 16);
    }
}

static void random_bits_are_no_decimals(void **state)
{
    (void)state;
    struct vv_random random = {43};
    uint64_t values[COUNT];
    struct vv_decimal_scale scale;
    fill_shape(SHAPE_RANDOM_BITS, &random, COUNT, values);
    assert_false(vv_decimal_choose(values, COUNT, &scale));
}

static void one_value(void **state)
{
    (void)state;
    uint64_t number;
    struct vv_decimal_scale cents = {2, false};
    assert_true(vv_decimal_split_one(vv_bits_of_double(-21.37), cents, &number));
    assert_true(number == UINT64_C(0) - 2137);
    assert_true(vv_decimal_join_one(number, cents) == vv_bits_of_double(-21.37));
    assert_false(vv_decimal_split_one(vv_bits_of_double(21.375), cents, &number));
    assert_false(vv_decimal_split_one(vv_bits_of_double(-0.0), cents, &number));
    assert_false(vv_decimal_split_one(vv_bits_of_double((double)NAN), cents, &number));
    assert_false(vv_decimal_split_one(vv_bits_of_double((double)INFINITY), cents, &number));
    assert_false(vv_decimal_split_one(vv_bits_of_double(1e300), cents, &number));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_and_join_any_bits),
        cmocka_unit_test(the_number_of_digits_is_found),
        cmocka_unit_test(averages_need_small_corrections),
        cmocka_unit_test(random_bits_are_no_decimals),
        cmocka_unit_test(one_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
