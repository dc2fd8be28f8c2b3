/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered is bounded, and what falls out is only done again. */
#include "store/cassandra/noted.h"

#include "base/random.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(struct vv_noted *noted, uint64_t seed, size_t n)
{
    struct vv_random random = {seed};
    for (size_t i = 0; i < n; i++) {
        vv_noted_add(noted, vv_random_next(&random));
    }
}

static size_t count(const struct vv_noted *noted, uint64_t seed, size_t n)
{
    struct vv_random random = {seed};
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        found += vv_noted_has(noted, vv_random_next(&random));
    }
    return found;
}

static void it_begins_empty_and_knows_what_was_added(void **state)
{
    (void)state;
    struct vv_noted noted = {0};
    assert_false(vv_noted_has(&noted, 7));
    assert_false(vv_noted_has(&noted, 0));
    vv_noted_add(&noted, 7);
    vv_noted_add(&noted, 0);
    assert_true(vv_noted_has(&noted, 7));
    assert_true(vv_noted_has(&noted, 0));
    assert_false(vv_noted_has(&noted, 8));
    vv_noted_add(&noted, 7);
    assert_int_equal(noted.n, 2);
    vv_noted_deinit(&noted);
    assert_false(vv_noted_has(&noted, 7));
}

/* A source that is forgotten costs two writes with each of its runs. */
static void almost_all_of_a_large_fleet_are_remembered(void **state)
{
    (void)state;
    struct vv_noted noted = {0};
    const size_t n = 1000000;
    add(&noted, 1, n);
    assert_true(count(&noted, 1, n) > n - n / 1000);
    assert_int_equal(count(&noted, 2, n), 0);
    vv_noted_deinit(&noted);
}

static void it_is_bounded_and_goes_on_learning(void **state)
{
    (void)state;
    struct vv_noted noted = {0};
    add(&noted, 1, 2 * VV_NOTED_MAX);
    assert_int_equal(noted.n_slots, VV_NOTED_MAX);
    assert_true(noted.n <= VV_NOTED_MAX);
    add(&noted, 3, 1000);
    assert_true(count(&noted, 3, 1000) > 990);
    vv_noted_deinit(&noted);
}

static void without_memory_it_forgets(void **state)
{
    (void)state;
    struct vv_noted noted = {0};
    vv_sim_memory_fail(1);
    vv_noted_add(&noted, 7);
    assert_true(vv_sim_memory_failed());
    assert_false(vv_noted_has(&noted, 7));
    add(&noted, 1, 1);
    size_t n_slots = noted.n_slots;
    vv_sim_memory_fail(1);
    add(&noted, 1, n_slots / 2);
    assert_true(vv_sim_memory_failed());
    assert_true(count(&noted, 1, n_slots / 2) > n_slots / 4);
    vv_noted_deinit(&noted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_begins_empty_and_knows_what_was_added),
        cmocka_unit_test(almost_all_of_a_large_fleet_are_remembered),
        cmocka_unit_test(it_is_bounded_and_goes_on_learning),
        cmocka_unit_test(without_memory_it_forgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
