/* SPDX-License-Identifier: Apache-2.0 */
/* What waits for the committer: small writes do not wait for all the large ones, and neither kind
 * waits for ever. */
#include "base/random.h"
#include "engine/engine_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LARGE ((size_t)100 << 10)
#define SMALL ((size_t)1 << 10)
#define MANY  6000

struct waiting {
    struct vv_batch batches[MANY];
    struct vv_submission submissions[MANY];
    size_t n;
    struct vv_queue queue;
    struct vv_submission *round[VV_ROUND_BATCHES_MAX];
};

static struct waiting waiting;

static int begin(void **state)
{
    (void)state;
    memset(&waiting, 0, sizeof waiting);
    return 0;
}

static void add_kind(size_t bytes, size_t times, bool is_history)
{
    for (size_t i = 0; i < times; i++) {
        size_t at = waiting.n++ % MANY;
        waiting.batches[at].bytes = bytes;
        waiting.submissions[at] =
            (struct vv_submission){.batch = &waiting.batches[at], .is_history = is_history};
        vv_queue_add(&waiting.queue, &waiting.submissions[at]);
    }
}

static void add(size_t bytes, size_t times)
{
    add_kind(bytes, times, false);
}

/* Takes a round; how many of it are history. */
static size_t take_history(bool with_history)
{
    size_t bytes_max = with_history ? VV_ROUND_LARGE_BYTES : 0;
    size_t n = vv_queue_take(&waiting.queue, bytes_max, waiting.round);
    size_t history = 0;
    for (size_t i = 0; i < n; i++) {
        history += waiting.round[i]->is_history;
    }
    return history;
}

/* Takes a round; how many large ones it has, and small ones. */
static size_t take(size_t *small_out)
{
    size_t n = vv_queue_take(&waiting.queue, VV_ROUND_BYTES_MAX, waiting.round);
    size_t large = 0;
    for (size_t i = 0; i < n; i++) {
        large += waiting.round[i]->batch->bytes > VV_SMALL_BYTES_MAX;
    }
    *small_out = n - large;
    return large;
}

static void a_small_write_is_in_the_next_round_whatever_waits(void **state)
{
    (void)state;
    size_t small;
    add(LARGE, 40);
    (void)take(&small);
    for (size_t i = 0; i < 10; i++) {
        add(SMALL, 3);
        size_t large = take(&small);
        assert_int_equal(small, 3);
        assert_true(large * LARGE < VV_ROUND_LARGE_BYTES + LARGE);
    }
}

static void a_round_has_few_large_writes_while_small_ones_come(void **state)
{
    (void)state;
    size_t small;
    add(SMALL, 1);
    add(LARGE, 40);
    (void)take(&small);
    for (size_t i = 0; i < 10; i++) {
        size_t large = take(&small);
        assert_true(large >= 1 && (large - 1) * LARGE < VV_ROUND_LARGE_BYTES);
    }
}

static void large_writes_share_a_round_when_no_small_ones_come(void **state)
{
    (void)state;
    size_t small;
    for (size_t i = 0; i < VV_QUEUE_CALM_ROUNDS; i++) {
        add(LARGE, 1);
        assert_int_equal(take(&small), 1);
    }
    add(LARGE, 40);
    assert_int_equal(take(&small), 40);
}

static void one_that_is_larger_than_a_round_is_taken(void **state)
{
    (void)state;
    size_t small;
    add(2 * VV_ROUND_BYTES_MAX, 2);
    assert_int_equal(take(&small), 1);
    assert_int_equal(take(&small), 1);
    assert_true(vv_queue_is_empty(&waiting.queue));
}

/* Also when there are more of them than a round takes. */
static void large_writes_are_not_starved_by_small_ones(void **state)
{
    (void)state;
    size_t small;
    add(LARGE, 5);
    size_t taken = 0;
    for (size_t i = 0; i < 10; i++) {
        add(SMALL, VV_ROUND_BATCHES_MAX - (waiting.queue.small.first ? 1 : 0));
        taken += take(&small);
    }
    assert_int_equal(taken, 5);
}

static void history_that_rests_is_in_no_round_and_holds_up_nothing(void **state)
{
    (void)state;
    add_kind(SMALL, 3, true);
    add_kind(LARGE, 3, true);
    assert_false(vv_queue_has_some(&waiting.queue, false));
    for (size_t i = 0; i < 5; i++) {
        add(SMALL, 2);
        assert_true(vv_queue_has_some(&waiting.queue, false));
        assert_int_equal(take_history(false), 0);
        assert_false(vv_queue_has_some(&waiting.queue, false));
    }
    assert_true(take_history(true) > 0);
}

static void history_goes_alone_or_every_second_time_and_little_at_once(void **state)
{
    (void)state;
    add_kind(LARGE, 40, true);
    size_t rounds_with = 0;
    for (size_t i = 0; i < 20; i++) {
        add(SMALL, 1);
        add(LARGE, 1);
        size_t history = take_history(true);
        assert_true(history == 0 || (history - 1) * LARGE < VV_ROUND_LARGE_BYTES);
        rounds_with += history > 0;
    }
    assert_int_equal(rounds_with, 10);
    while (waiting.queue.small.first || waiting.queue.large.first) {
        (void)take_history(false);
    }
    assert_true(take_history(true) > 0);
}

static void history_is_little_beside_live_data_that_is_large(void **state)
{
    (void)state;
    for (size_t i = 0; i < VV_QUEUE_CALM_ROUNDS + 8; i++) {
        add(LARGE, 1);
        (void)take_history(true);
    }
    add_kind(LARGE, 40, true);
    for (size_t i = 0; i < 10; i++) {
        add(LARGE, 1);
        size_t history = take_history(true);
        assert_true(history == 0 || (history - 1) * LARGE < VV_ROUND_LARGE_BYTES);
    }
    assert_true(vv_queue_take(&waiting.queue, VV_ROUND_BYTES_MAX, waiting.round) > 10);
}

static void what_history_has_waiting_is_counted_by_itself(void **state)
{
    (void)state;
    add_kind(SMALL, 2, true);
    add(LARGE, 1);
    assert_int_equal(waiting.queue.history_bytes, 2 * SMALL);
    assert_int_equal(waiting.queue.bytes, LARGE);
    while (vv_queue_take_one(&waiting.queue)) {
    }
    assert_int_equal(waiting.queue.history_bytes, 0);
    assert_int_equal(waiting.queue.bytes, 0);
    assert_true(vv_queue_is_empty(&waiting.queue));
}

static void each_kind_keeps_its_order_and_all_bytes_are_counted(void **state)
{
    (void)state;
    struct vv_random random = {7};
    size_t added = 0;
    size_t taken = 0;
    size_t next[2] = {0, 0}; /* of a kind, the least index that may come */
    while (taken < MANY) {
        for (size_t i = vv_random_below(&random, 20); i > 0 && added < MANY; i--, added++) {
            add(vv_random_below(&random, 2) ? SMALL : LARGE, 1);
        }
        size_t n = vv_queue_take(&waiting.queue, VV_ROUND_BYTES_MAX, waiting.round);
        for (size_t i = 0; i < n; i++) {
            size_t at = (size_t)(waiting.round[i] - waiting.submissions);
            size_t kind = waiting.batches[at].bytes == LARGE;
            assert_true(at >= next[kind]);
            next[kind] = at + 1;
        }
        taken += n;
        assert_int_equal(vv_queue_is_empty(&waiting.queue), taken == added);
    }
    assert_int_equal(waiting.queue.bytes, 0);
    assert_null(vv_queue_take_one(&waiting.queue));
}

static void what_is_left_can_be_taken_one_by_one(void **state)
{
    (void)state;
    add(LARGE, 2);
    add(SMALL, 2);
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(vv_queue_take_one(&waiting.queue));
    }
    assert_null(vv_queue_take_one(&waiting.queue));
    assert_int_equal(waiting.queue.bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_small_write_is_in_the_next_round_whatever_waits, begin),
        cmocka_unit_test_setup(a_round_has_few_large_writes_while_small_ones_come, begin),
        cmocka_unit_test_setup(large_writes_share_a_round_when_no_small_ones_come, begin),
        cmocka_unit_test_setup(one_that_is_larger_than_a_round_is_taken, begin),
        cmocka_unit_test_setup(large_writes_are_not_starved_by_small_ones, begin),
        cmocka_unit_test_setup(history_that_rests_is_in_no_round_and_holds_up_nothing, begin),
        cmocka_unit_test_setup(history_goes_alone_or_every_second_time_and_little_at_once, begin),
        cmocka_unit_test_setup(history_is_little_beside_live_data_that_is_large, begin),
        cmocka_unit_test_setup(what_history_has_waiting_is_counted_by_itself, begin),
        cmocka_unit_test_setup(each_kind_keeps_its_order_and_all_bytes_are_counted, begin),
        cmocka_unit_test_setup(what_is_left_can_be_taken_one_by_one, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
