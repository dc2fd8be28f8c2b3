/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: they cover time without gaps or overlaps, in every zone; searching in arrays. */
#include "base/random.h"
#include "query/request.h"
#include "query/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED 17

static const struct vv_zone *find(const char *name)
{
    const struct vv_zone *zone;
    assert_int_equal(vv_zone_find(vv_str_of(name), &zone, NULL), VV_OK);
    return zone;
}

static void check_step(const struct vv_steps *steps, int64_t time)
{
    int64_t start = vv_steps_start(steps, time);
    int64_t next = vv_steps_next(steps, start);
    assert_true(start <= time && time < next);
    assert_true(vv_steps_start(steps, start) == start);
    assert_true(vv_steps_start(steps, next - 1) == start);
    assert_true(vv_steps_start(steps, next) == next);
    assert_true(vv_steps_previous(steps, next) == start);
}

static void steps_cover_all_of_time(void **state)
{
    (void)state;
    static const char *const zones[] = {
        "UTC",          "Europe/Berlin", "America/St_Johns", "America/Sao_Paulo",
        "Pacific/Apia", "Asia/Gaza"};
    static const int64_t lengths[] = {1,           VV_SECOND,     VV_MINUTE,  7 * VV_HOUR,
                                      VV_DAY,      36 * VV_HOUR,  2 * VV_DAY, 7 * VV_DAY,
                                      14 * VV_DAY, VV_STEP_NS_MAX};
    struct vv_random random = {SEED};
    for (size_t z = 0; z < sizeof zones / sizeof zones[0]; z++) {
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            struct vv_steps steps;
            vv_steps_init(&steps, lengths[l], find(zones[z]), VV_TIME_MIN, VV_TIME_MAX + 1);
            check_step(&steps, VV_TIME_MIN);
            check_step(&steps, VV_TIME_MAX);
            for (int i = 0; i < 300; i++) {
                int64_t time =
                    (int64_t)vv_random_below(&random, 4000000000000000000u) - 1000000000000000000;
                check_step(&steps, time);
            }
        }
    }
}

static void one_step_is_the_range(void **state)
{
    (void)state;
    struct vv_steps steps;
    vv_steps_init(&steps, 0, NULL, -5, 100);
    assert_true(vv_steps_start(&steps, 7) == -5);
    assert_true(vv_steps_next(&steps, -5) == 100);
}

static void weeks_begin_on_mondays(void **state)
{
    (void)state;
    struct vv_steps steps;
    vv_steps_init(&steps, 7 * VV_DAY, NULL, 0, 1);
    assert_true(vv_steps_start(&steps, 0) == -3 * VV_DAY); /* 1970-01-01 was a Thursday */
    assert_true(vv_steps_start(&steps, 4 * VV_DAY) == 4 * VV_DAY);
}

static void searching_finds_the_bound(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    int64_t times[300];
    for (int round = 0; round < 2000; round++) {
        size_t n = (size_t)vv_random_below(&random, 300);
        int64_t time = 0;
        for (size_t i = 0; i < n; i++) {
            time += 1 + (int64_t)vv_random_below(&random, 5);
            times[i] = time;
        }
        int64_t bound = (int64_t)vv_random_below(&random, (uint64_t)time + 3);
        size_t before = 0;
        while (before < n && times[before] < bound) {
            before++;
        }
        assert_int_equal(vv_steps_count_before(times, n, bound), before);
        assert_int_equal(vv_steps_count_from(times, n, bound), n - before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_cover_all_of_time),
        cmocka_unit_test(one_step_is_the_range),
        cmocka_unit_test(weeks_begin_on_mondays),
        cmocka_unit_test(searching_finds_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
