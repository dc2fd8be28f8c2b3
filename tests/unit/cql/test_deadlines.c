/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines: all that are due, in their order, whatever their callbacks do. */
#include "cql/deadlines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cql/policy.h"
#include "simulation/sim_memory.h"

enum { N = 300 };

/* A deadline of the tests, and what is expected of it. */
struct item {
    struct vvcql_deadline deadline;
    bool is_set;
    uint64_t at_ms;
};

static struct vvcql_deadlines deadlines;
static struct item items[N];
static uint64_t now_ms;
static uint64_t last_ms; /* of the calls of this run */
static size_t n_calls;
static uint64_t random_state;
static bool has_busy_callbacks;

static struct item *earliest(void)
{
    struct item *found = NULL;
    for (size_t i = 0; i < N; i++) {
        if (items[i].is_set && (found == NULL || items[i].at_ms < found->at_ms)) {
            found = &items[i];
        }
    }
    return found;
}

static void set(struct item *item, uint64_t at_ms)
{
    assert_true(vvcql_deadline_set(&deadlines, &item->deadline, at_ms));
    item->is_set = true;
    item->at_ms = at_ms;
}

static void clear(struct item *item)
{
    vvcql_deadline_clear(&deadlines, &item->deadline);
    item->is_set = false;
}

static void change_some(void)
{
    for (uint64_t left = vvcql_random(&random_state) % 4; left > 0; left--) {
        struct item *item = &items[vvcql_random(&random_state) % N];
        if (vvcql_random(&random_state) % 2 == 0) {
            clear(item);
        } else {
            /* Mostly later; what is due is called in this run. */
            set(item, now_ms - 5 + vvcql_random(&random_state) % 50);
        }
    }
}

static void expired(struct vvcql_deadline *deadline)
{
    struct item *item = (struct item *)((char *)deadline - offsetof(struct item, deadline));
    assert_true(item->is_set);
    assert_true(item->at_ms <= now_ms);
    assert_int_equal(item->at_ms, earliest()->at_ms);
    assert_int_equal(deadline->place_, 0);
    item->is_set = false;
    n_calls++;
    if (has_busy_callbacks) {
        change_some();
    } else {
        assert_true(item->at_ms >= last_ms);
        last_ms = item->at_ms;
    }
}

static int set_up(void **state)
{
    (void)state;
    memset(&deadlines, 0, sizeof deadlines);
    memset(items, 0, sizeof items);
    for (size_t i = 0; i < N; i++) {
        items[i].deadline.expired = expired;
    }
    now_ms = 1000;
    last_ms = 0;
    n_calls = 0;
    has_busy_callbacks = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vvcql_deadlines_deinit(&deadlines);
    return 0;
}

static void check_heap(void)
{
    size_t n_set = 0;
    for (size_t i = 0; i < N; i++) {
        n_set += items[i].is_set;
        assert_int_equal(items[i].deadline.place_ != 0, items[i].is_set);
    }
    assert_int_equal(deadlines.n, n_set);
    const struct item *first = earliest();
    assert_int_equal(vvcql_deadlines_next(&deadlines), first == NULL ? UINT64_MAX : first->at_ms);
}

static void run(void)
{
    vvcql_deadlines_run(&deadlines, now_ms);
    const struct item *first = earliest();
    assert_true(first == NULL || first->at_ms > now_ms);
    check_heap();
}

static void nothing_is_set(void **state)
{
    (void)state;
    assert_int_equal(vvcql_deadlines_next(&deadlines), UINT64_MAX);
    run();
    clear(&items[0]);
    assert_int_equal(n_calls, 0);
}

static void due_ones_in_their_order(void **state)
{
    (void)state;
    static const uint64_t times[] = {1001, 5, 1000, 999, 5, 0, UINT64_MAX};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        set(&items[i], times[i]);
    }
    assert_int_equal(vvcql_deadlines_next(&deadlines), 0);
    run();
    assert_int_equal(n_calls, 5);
    assert_int_equal(vvcql_deadlines_next(&deadlines), 1001);
    now_ms = UINT64_MAX;
    run();
    assert_int_equal(n_calls, 7);
}

static void moved_and_cleared(void **state)
{
    (void)state;
    for (size_t i = 0; i < 10; i++) {
        set(&items[i], 900 + i);
    }
    set(&items[0], 2000); /* later */
    set(&items[9], 1);    /* earlier */
    clear(&items[5]);
    clear(&items[5]);
    check_heap();
    run();
    assert_int_equal(n_calls, 8);
    assert_int_equal(vvcql_deadlines_next(&deadlines), 2000);
}

static void random_operations(void **state)
{
    (void)state;
    random_state = 17;
    print_message("seed %d\n", (int)random_state);
    for (int step = 0; step < 20000; step++) {
        uint64_t number = vvcql_random(&random_state) >> 8;
        struct item *item = &items[number / 16 % N];
        if (number % 16 < 9) {
            set(item, now_ms + (number >> 20) % 400);
        } else if (number % 16 < 14) {
            clear(item);
        } else {
            now_ms += (number >> 20) % 20;
            last_ms = 0;
            run();
        }
        check_heap();
    }
    assert_true(n_calls > 1000);
}

static void callbacks_that_set_and_clear(void **state)
{
    (void)state;
    random_state = 18;
    print_message("seed %d\n", (int)random_state);
    has_busy_callbacks = true;
    for (int round = 0; round < 2000; round++) {
        set(&items[vvcql_random(&random_state) % N], now_ms + vvcql_random(&random_state) % 50);
        now_ms += vvcql_random(&random_state) % 3;
        run();
    }
    assert_true(n_calls > 2000);
}

static void what_is_left_is_cleared_at_the_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < 40; i++) {
        set(&items[i], i);
    }
    vvcql_deadlines_deinit(&deadlines);
    for (size_t i = 0; i < 40; i++) {
        items[i].is_set = false;
    }
    check_heap();
    clear(&items[3]);
    set(&items[3], 7); /* empty again, and usable */
    check_heap();
}

static void without_memory(void **state)
{
    (void)state;
    size_t n_failures = 0;
    for (size_t i = 0; i < N; i++) {
        vv_sim_memory_fail(1);
        bool is_set = vvcql_deadline_set(&deadlines, &items[i].deadline, N - i);
        bool failed = vv_sim_memory_failed();
        assert_int_equal(is_set, !failed);
        if (failed) {
            n_failures++;
            check_heap();
            assert_true(vvcql_deadline_set(&deadlines, &items[i].deadline, N - i));
        }
        items[i].is_set = true;
        items[i].at_ms = N - i;
        check_heap();
    }
    assert_in_range(n_failures, 1, 10);
    vv_sim_memory_fail(1); /* moving needs none */
    for (size_t i = 0; i < N; i++) {
        set(&items[i], i);
    }
    assert_false(vv_sim_memory_failed());
    check_heap();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_set, set_up, tear_down),
        cmocka_unit_test_setup_teardown(due_ones_in_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(moved_and_cleared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_operations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(callbacks_that_set_and_clear, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_left_is_cleared_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
