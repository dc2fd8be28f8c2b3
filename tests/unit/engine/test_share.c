/* SPDX-License-Identifier: Apache-2.0 */
/* A share of a thread's time: never more than it while other work waits, and all of it when none
 * does. */
#include "base/clock.h"
#include "base/random.h"
#include "engine/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SLICE_NS (100 * VV_MILLISECOND)

/* Turns of both kinds until so much time has passed; returns what the share's work had of it. */
static int64_t run(struct vv_share *share, struct vv_random *random, int64_t until_ns)
{
    int64_t now_ns = 0;
    int64_t had_ns = 0;
    while (now_ns < until_ns) {
        int64_t job_ns = (int64_t)vv_random_below(random, 300) * VV_MILLISECOND;
        now_ns += job_ns;
        vv_share_earn(share, job_ns);
        if (vv_share_may(share, true)) {
            int64_t slice_ns = SLICE_NS + (int64_t)vv_random_below(random, 50) * VV_MILLISECOND;
            vv_share_spend(share, slice_ns, true);
            now_ns += slice_ns;
            had_ns += slice_ns;
        }
    }
    return had_ns;
}

static void what_may_wait_has_its_share_beside_what_waits(void **state)
{
    (void)state;
    for (int64_t percent = 10; percent <= 40; percent += 10) {
        struct vv_random random = {(uint64_t)percent};
        struct vv_share share = {.percent = percent, .most_ns = VV_SECOND};
        int64_t had_ns = run(&share, &random, 1000 * VV_SECOND);
        assert_true(had_ns <= 10 * percent * VV_SECOND + 2 * VV_SECOND);
        assert_true(had_ns >= 9 * percent * VV_SECOND); /* nor is it starved */
    }
}

static void it_has_all_the_time_when_nothing_waits(void **state)
{
    (void)state;
    struct vv_share share = {.percent = 25, .most_ns = SLICE_NS};
    assert_false(vv_share_may(&share, true));
    for (int i = 0; i < 100; i++) {
        assert_true(vv_share_may(&share, false));
        vv_share_spend(&share, VV_SECOND, false);
    }
    vv_share_earn(&share, VV_SECOND); /* what it had then costs it nothing now */
    assert_true(vv_share_may(&share, true));
}

static void a_long_quiet_is_no_right_to_a_long_turn(void **state)
{
    (void)state;
    struct vv_share share = {.percent = 50, .most_ns = SLICE_NS};
    vv_share_earn(&share, VV_HOUR);
    vv_share_spend(&share, SLICE_NS, true);
    assert_false(vv_share_may(&share, true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_wait_has_its_share_beside_what_waits),
        cmocka_unit_test(it_has_all_the_time_when_nothing_waits),
        cmocka_unit_test(a_long_quiet_is_no_right_to_a_long_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
