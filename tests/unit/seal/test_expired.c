/* SPDX-License-Identifier: Apache-2.0 */
/* What has expired is known of each time something came, or more is taken for gone. */
#include "seal/expired.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOTES 40
#define TIMES 50

static void nothing_is_gone_before_something_expires(void **state)
{
    (void)state;
    struct vv_expired expired = {0};
    assert_false(vv_expired_may(&expired, 0, INT64_MIN));
    vv_expired_note(&expired, 10);
    assert_true(vv_expired_may(&expired, 0, 9));
    assert_false(vv_expired_may(&expired, 0, 10));
    assert_false(vv_expired_may(&expired, expired.count, 9));
}

static void what_came_between_is_there_until_its_own_time_goes(void **state)
{
    (void)state;
    struct vv_expired expired = {0};
    vv_expired_note(&expired, 100);
    uint64_t came = expired.count;
    vv_expired_note(&expired, 20);
    assert_true(vv_expired_may(&expired, came, 19));
    assert_false(vv_expired_may(&expired, came, 20));
    assert_true(vv_expired_may(&expired, came - 1, 99));
    vv_expired_note(&expired, 30);
    assert_int_equal(expired.n, 2);
    assert_true(vv_expired_may(&expired, came, 29));
    vv_expired_note(&expired, 100);
    assert_int_equal(expired.n, 1);
    assert_true(vv_expired_may(&expired, came, 99));
}

/* Beside all that was noted: nothing counts as there that is not, and as gone only what is where
 * there is room. */
static void it_is_like_all_that_was_noted(void **state)
{
    (void)state;
    uint64_t exact = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct vv_random random = {seed};
        struct vv_expired expired = {0};
        int64_t noted[NOTES];
        bool has_room = true;
        int64_t times = seed % 2 ? TIMES : VV_EXPIRED_TIMES;
        for (int i = 0; i < NOTES; i++) {
            noted[i] = (int64_t)vv_random_below(&random, (uint64_t)times);
            has_room &= expired.n < VV_EXPIRED_TIMES;
            vv_expired_note(&expired, noted[i]);
            for (int came = 0; came <= i + 1; came++) {
                int64_t before = INT64_MIN;
                for (int k = came; k <= i; k++) {
                    before = noted[k] > before ? noted[k] : before;
                }
                for (int64_t time = 0; time < times; time++) {
                    bool may = vv_expired_may(&expired, (uint64_t)came, time);
                    assert_true(may || time >= before);
                    assert_true(!may || time < before || !has_room);
                    exact += has_room;
                }
            }
        }
    }
    assert_true(exact > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_gone_before_something_expires),
        cmocka_unit_test(what_came_between_is_there_until_its_own_time_goes),
        cmocka_unit_test(it_is_like_all_that_was_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
