/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frozen days are replaced where nodes share the store: by any node, in all tiers and nothing else,
 * whoever is killed when, and whatever is deleted meanwhile.
 */
#include "replace_fixture.h"

static void a_day_is_replaced_in_all_tiers_by_any_node(void **state)
{
    (void)state;
    static const int each[] = {2, 60, 1, 1800, 7}; /* rows in place of steps, and back */
    int64_t day = begin_frozen(1);
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        replace(&nodes[i % 2], day, each[i]);
        build_all();
        assert_day_has(each[i]);
    }
    live_long(4, 5 * VV_DAY); /* runs and what covers them have gone */
    build_all();
    assert_day_has(7);
    end();
}

static void the_last_request_counts_and_many_are_put_into_a_unit_at_once(void **state)
{
    (void)state;
    int64_t day = begin_frozen(2);
    for (int i = 1; i <= 9; i++) {
        replace(&nodes[i % 2], day, i);
        replace(&nodes[i % 2], day - VV_DAY, i); /* of the same 28 days, and without points */
        advance(VV_SECOND);
    }
    build_all();
    assert_tiers(others + 2 * 24 * 9);
    end();
}

static void the_last_request_counts_though_the_clock_of_the_one_before_was_ahead(void **state)
{
    (void)state;
    int64_t day = begin_frozen(11);
    vv_sim_clock_jump(&clock_of_all, now_ns() + 4 * VV_MINUTE);
    replace(&nodes[1], day, 5);
    vv_sim_clock_jump(&clock_of_all, now_ns() - 4 * VV_MINUTE);
    replace(&nodes[0], day, 60);
    build_all();
    assert_day_has(60);
    end();
}

static void a_source_that_never_was_gets_what_tiers_keep(void **state)
{
    (void)state;
    struct vv_error error = {0};
    int64_t day = begin_frozen(3);
    for (uint32_t i = 0; i < 2; i++) { /* both make it */
        if (try_replace_as(&nodes[i], "m,id=new", day - i * VV_DAY, 30, &error) != VV_OK) {
            fail_msg("%s", error.message);
        }
    }
    build_all();
    assert_tiers(written + 2 * 24 * 30);
    end();
}

static void what_is_deleted_before_and_after_is_gone(void **state)
{
    (void)state;
    int64_t day = begin_frozen(4);
    delete_between(&nodes[1], day, day + VV_DAY);
    sweep();
    build_all();
    assert_tiers(others);
    replace(&nodes[0], day, 60);
    build_all();
    assert_day_has(60);
    replace(&nodes[1], day, 30);
    delete_between(&nodes[0], day, day + VV_DAY); /* before it is built */
    for (int i = 0; i < 30; i++) {
        work(&nodes[0]);
        (void)rig_step(&nodes[0].rig, VV_TASK_SWEEP);
        advance(2 * VV_SECOND);
    }
    build_all();
    assert_tiers(others);
    replace(&nodes[1], day, 30);
    build_all();
    delete_between(&nodes[1], day, day + 18 * VV_HOUR); /* and afterwards */
    sweep();
    build_all();
    assert_tiers(others + 6 * 30);
    end();
}

static void what_is_deleted_later_goes_though_the_clock_was_put_back(void **state)
{
    (void)state;
    int64_t day = begin_frozen(5);
    advance(VV_MINUTE);
    replace(&nodes[1], day, 1); /* kept as rows */
    vv_sim_clock_jump(&clock_of_all, now_ns() - VV_HOUR);
    delete_between(&nodes[1], day, day + VV_DAY);
    sweep();
    build_all();
    assert_tiers(others);
    end();
}

static void until_it_is_built_a_day_is_as_it_was(void **state)
{
    (void)state;
    int64_t day = begin_frozen(9);
    replace(&nodes[0], day, 5);
    build_all();
    assert_day_has(5);
    replace(&nodes[1], day, 60);
    assert_day_has(5);
    build_all();
    assert_day_has(60);
    end();
}

/* What can't be put anywhere now is refused, or waits with the node that has said that it is
 * replaced. */
static void what_is_answered_while_parts_are_away_is_so_when_they_are_back(void **state)
{
    (void)state;
    int n_good = 0;
    int n_refused = 0;
    int n_later = 0;
    int64_t day = begin_frozen(10);
    replace(&nodes[0], day, 3);
    build_all();
    for (uint32_t set = 0; set < VV_SIM_CASSANDRA_SETS; set++) {
        vv_sim_cassandra_set_away(model, 1u << set);
        enum vv_status status = try_replace(&nodes[set % 2], day, 60);
        bool is_refused = status == VV_OVERLOAD;
        for (int i = 0; i < 3 && status != VV_OK; i++) { /* which part is known then */
            advance(10 * VV_SECOND);
            (void)rig_step(&nodes[set % 2].rig, VV_TASK_FLUSH);
            status = try_replace(&nodes[set % 2], day, 60);
            is_refused = is_refused && status == VV_OVERLOAD;
        }
        advance(VV_MINUTE);
        vv_sim_cassandra_set_away(model, 0);
        advance(VV_MINUTE);
        build_all();
        bool is_new = count_by(&nodes[0], VV_SPACE_DAY) != others + 24 * 3;
        assert_day_has(is_new ? 60 : 3);
        assert_true(status != VV_OK || is_new);
        assert_false(is_refused && is_new);
        n_good += status == VV_OK;
        n_refused += is_refused;
        n_later += !is_refused && status != VV_OK && is_new;
        replace(&nodes[0], day, 3);
        build_all();
        assert_day_has(3);
    }
    assert_true(n_good > 0);
    assert_true(n_refused > 0);
    assert_true(n_later > 0);
    end();
}

static void what_is_not_frozen_is_not_replaced(void **state)
{
    (void)state;
    int64_t day = begin_frozen(6);
    int64_t now = vv_time_floor(now_ns(), VV_DAY) - VV_DAY;
    int64_t until;
    struct vv_error error = {0};
    assert_int_equal(try_replace(&nodes[0], now, 1), VV_INVALID);
    assert_int_equal(try_replace(&nodes[0], now - 41 * VV_DAY, 1), VV_INVALID); /* the slack */
    assert_int_equal(
        vv_engine_read_frozen(nodes[1].rig.engine, VV_STR_LITERAL("t"), &until, &error), VV_OK);
    assert_int_equal(until, vv_time_floor(now_ns() - 42 * VV_DAY, VV_DAY));
    build_all();
    assert_tiers(written);
    replace(&nodes[0], until - VV_DAY, 5);
    assert_true(day < until);
    build_all();
    assert_tiers(written + 5 * 24);
    end();
}

/* Who was killed carries out what it had noted when it is there again; until then, and when it had
 * noted nothing, the day is as it was. */
static void a_kill_at_any_request_leaves_a_day_as_it_was_or_replaced(void **state)
{
    (void)state;
    int n_new = 0;
    int n_old = 0;
    bool is_done = false;
    int64_t day = begin_frozen(7);
    replace(&nodes[0], day, 3);
    build_all();
    for (int wait = 0; !is_done; wait += 1 + wait / 8) {
        struct killing killing = {.node = &nodes[1], .left = wait};
        vv_sim_cassandra_set_hook(model, kill_in_time, &killing);
        (void)try_replace(&nodes[1], day, 60);
        vv_sim_cassandra_set_hook(model, NULL, NULL);
        is_done = !nodes[1].is_killed;
        if (!is_done) {
            bury_node(&nodes[1], (uint64_t)wait);
            rig_open(&nodes[1].rig);
        }
        build_all();
        bool is_new = count_by(&nodes[0], VV_SPACE_DAY) != others + 24 * 3;
        assert_day_has(is_new ? 60 : 3);
        n_new += is_new;
        n_old += !is_new;
        replace(&nodes[0], day, 3);
        build_all();
    }
    assert_true(n_old > 1);
    assert_true(n_new > 1);
    end();
}

/* Whoever is asked does it, when the one that was asked first is lost. */
static void a_day_that_was_put_in_part_is_replaced_by_another_node(void **state)
{
    (void)state;
    int64_t day = begin_frozen(8);
    for (int wait = 5; wait < 60; wait += 6) {
        struct killing killing = {.node = &nodes[1], .left = wait};
        vv_sim_cassandra_set_hook(model, kill_in_time, &killing);
        (void)try_replace(&nodes[1], day, 60);
        vv_sim_cassandra_set_hook(model, NULL, NULL);
        advance(2 * VV_MINUTE);
        (void)rig_step(&nodes[0].rig, VV_TASK_LEARN);
        replace(&nodes[0], day, 60);
        if (nodes[1].is_killed) {
            bury_node(&nodes[1], (uint64_t)wait);
            rig_open(&nodes[1].rig);
        }
        build_all();
        assert_day_has(60);
        replace(&nodes[0], day, 3);
        build_all();
        assert_day_has(3);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_is_replaced_in_all_tiers_by_any_node),
        cmocka_unit_test(the_last_request_counts_and_many_are_put_into_a_unit_at_once),
        cmocka_unit_test(the_last_request_counts_though_the_clock_of_the_one_before_was_ahead),
        cmocka_unit_test(a_source_that_never_was_gets_what_tiers_keep),
        cmocka_unit_test(what_is_deleted_before_and_after_is_gone),
        cmocka_unit_test(what_is_deleted_later_goes_though_the_clock_was_put_back),
        cmocka_unit_test(until_it_is_built_a_day_is_as_it_was),
        cmocka_unit_test(what_is_answered_while_parts_are_away_is_so_when_they_are_back),
        cmocka_unit_test(what_is_not_frozen_is_not_replaced),
        cmocka_unit_test(a_kill_at_any_request_leaves_a_day_as_it_was_or_replaced),
        cmocka_unit_test(a_day_that_was_put_in_part_is_replaced_by_another_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
