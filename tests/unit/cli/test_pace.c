/* SPDX-License-Identifier: Apache-2.0 */
/* A bound of points a second. */
#include "cli/pace.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* How many points of ten each may go in so many seconds, asked each millisecond. */
static uint64_t run(struct vv_pace *pace, int64_t seconds)
{
    uint64_t points = 0;
    for (int64_t end = pace->at_ns + seconds * VV_SECOND; pace->at_ns < end;) {
        if (vv_pace_may_go(pace, pace->at_ns + VV_MILLISECOND)) {
            vv_pace_take(pace, 10);
            points += 10;
        }
    }
    return points;
}

static void the_rate_is_kept(void **state)
{
    (void)state;
    struct vv_pace pace = {.rate = 1000, .at_ns = 5};
    assert_in_range(run(&pace, 10), 9980, 10020);
}

static void a_pause_is_not_caught_up_with(void **state)
{
    (void)state;
    struct vv_pace pace = {.rate = 1000, .at_ns = 5};
    assert_in_range(run(&pace, 2), 1980, 2020);
    pace.at_ns -= VV_HOUR; /* nothing was sent for an hour */
    assert_true(vv_pace_may_go(&pace, pace.at_ns + VV_HOUR));
    assert_in_range(run(&pace, 2), 2980, 3020); /* a second's worth of it, and no more */
}

static void without_a_rate_everything_may_go(void **state)
{
    (void)state;
    struct vv_pace pace = {.at_ns = 5};
    vv_pace_take(&pace, UINT32_MAX);
    assert_true(vv_pace_may_go(&pace, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_is_kept),
        cmocka_unit_test(a_pause_is_not_caught_up_with),
        cmocka_unit_test(without_a_rate_everything_may_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
