/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the seeded generator. */
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_the_sequence_is_that_of_splitmix64(void **state)
{
    (void)state;
    struct vv_random random = {1234567};
    assert_true(vv_random_next(&random) == UINT64_C(6457827717110365317));
    assert_true(vv_random_next(&random) == UINT64_C(3203168211198807973));
    assert_true(vv_random_next(&random) == UINT64_C(9817491932198370423));
}

static void test_bounds_hold_and_all_values_come(void **state)
{
    (void)state;
    struct vv_random random = {1};
    unsigned seen[10] = {0};
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t value = vv_random_below(&random, 10);
        assert_true(value < 10);
        seen[value]++;
        double unit = vv_random_unit(&random);
        assert_true(unit >= 0.0 && unit < 1.0);
        assert_true(vv_random_below(&random, 1) == 0);
    }
    for (unsigned i = 0; i < 10; i++) {
        assert_in_range(seen[i], 800, 1200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sequence_is_that_of_splitmix64),
        cmocka_unit_test(test_bounds_hold_and_all_values_come),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
