/* SPDX-License-Identifier: Apache-2.0 */
/* Differences and divisors are undone exactly, also where they wrap around. */
#include "codec/predict.h"

#include "shapes.h"

#define COUNT 200u

static void residuals_are_restored(void **state)
{
    (void)state;
    struct vv_random random = {31};
    uint64_t numbers[COUNT];
    uint64_t restored[COUNT];
    for (int shape = 0; shape < SHAPE_END; shape++) {
        for (unsigned order = 0; order <= VV_PREDICT_ORDER_MAX; order++) {
            fill_shape((enum shape)shape, &random, COUNT, numbers);
            memcpy(restored, numbers, order * sizeof *numbers);
            vv_predict_residuals(numbers, COUNT, order, restored + order);
            vv_predict_restore(restored, COUNT, order);
            assert_memory_equal(restored, numbers, sizeof numbers);
        }
    }
}

static void assert_divisor(uint64_t *residuals, size_t count, uint64_t divisor, uint64_t remainder)
{
    uint64_t found_divisor;
    uint64_t found_remainder;
    uint64_t divided[COUNT];
    vv_predict_divisor(residuals, count, &found_divisor, &found_remainder);
    assert_true(found_divisor == divisor);
    assert_true(found_remainder == remainder);
    memcpy(divided, residuals, count * sizeof *residuals);
    vv_predict_divide(divided, count, found_divisor, found_remainder);
    vv_predict_multiply(divided, count, found_divisor, found_remainder);
    assert_memory_equal(divided, residuals, count * sizeof *residuals);
}

static void common_divisors_are_found(void **state)
{
    (void)state;
    uint64_t multiples[] = {17, 17 + 4096, 17 + 5 * 4096, 17 - 4096 * UINT64_C(3)};
    assert_divisor(multiples, 4, 4096, 17);
    uint64_t negative[] = {UINT64_C(0) - 7, UINT64_C(0) - 17, UINT64_C(0) - 37};
    assert_divisor(negative, 3, 10, 3);
    uint64_t none[] = {1, 2, 4};
    assert_divisor(none, 3, 1, 0);
    uint64_t equal[] = {1000, 1000, 1000};
    assert_divisor(equal, 3, 1, 0);
}

static void extremes_keep_their_bits(void **state)
{
    (void)state;
    uint64_t least = UINT64_C(1) << 63;
    uint64_t extremes[] = {least, least + 10, UINT64_MAX >> 1};
    uint64_t divisor;
    uint64_t remainder;
    uint64_t copy[3];
    vv_predict_divisor(extremes, 3, &divisor, &remainder);
    memcpy(copy, extremes, sizeof copy);
    vv_predict_divide(copy, 3, divisor, remainder);
    vv_predict_multiply(copy, 3, divisor, remainder);
    assert_memory_equal(copy, extremes, sizeof copy);
    uint64_t halves[] = {least, 0};
    assert_divisor(halves, 2, 1, 0); /* 2^63 is not used as a divisor */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(residuals_are_restored),
        cmocka_unit_test(common_divisors_are_found),
        cmocka_unit_test(extremes_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
