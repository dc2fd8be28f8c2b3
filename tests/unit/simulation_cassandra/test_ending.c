/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers that are switched off on nodes that share a store: they go on, unseen, until what is
 * coarser has been built of what they had.
 */
#include "longer_fixture.h"

#include "registry/shared.h"

/* ---- tiers that come and go ---- */

static void check_days(uint64_t seed)
{
    live_all(33, VV_DAY); /* the unit of days is over, and all is due */
    long long count = written > 0 ? count_by(&nodes[below(2)], VV_SPACE_DAY) : 0;
    if (count != written) {
        fail_msg("seed %llu: days have %lld of %lld", (unsigned long long)seed, count, written);
    }
}

static uint64_t live_with_tiers(uint64_t seed)
{
    switch (below(8)) {
    case 0:
    case 1:
        change_tiers();
        return 0;
    case 2:
    case 3:
        live_all(1 + (int)below(10), 12 * VV_HOUR);
        return 0;
    case 4:
        restart_node(any_node(), below(1000));
        hear_each_other();
        return 0;
    case 5:
        if (below(4) == 0) {
            check_days(seed);
        }
        return 0;
    default:
        return write_any();
    }
}

static void walk_with_tiers(uint64_t seed)
{
    const struct vv_retentions first = {40 * VV_DAY, {0, 0, 0}};
    begin_walk(seed);
    add_nodes(2);
    assert_true(try_lives(any_node(), &first));
    let_all_know();
    for (int i = 0; i < 60; i++) {
        (void)live_with_tiers(seed);
    }
    check_days(seed);
    end();
}

static void days_have_all_whatever_tiers_are_switched_off(void **state)
{
    (void)state;
    if (!walk_those_asked_for(walk_with_tiers)) {
        walk_with_tiers(113);
        walk_with_tiers(2011);
    }
}

/* ---- one that goes on ---- */

static void keep(struct node *node, int64_t points_ns, int64_t minute_ns, int64_t hour_ns)
{
    const struct vv_retentions retentions = {points_ns, {minute_ns, hour_ns, 0}};
    assert_true(try_lives(node, &retentions));
}

static void write_second(struct node *node, int64_t from, int n)
{
    assert_int_equal(write_some(node, "m,id=a", from, VV_SECOND, n), n);
    written += n;
}

/* Points are kept for a week, minutes for long; switched off and on again by the other node within
 * the slack, the tier has all, and what days of the unit lack without it is taken all the same. */
static void one_that_is_switched_on_again_lacks_nothing(void **state)
{
    (void)state;
    enum { N = 300 }; /* more than are kept as points */
    begin("blocks", 7);
    written = 0;
    keep(&nodes[0], 8 * VV_DAY, 200 * VV_DAY, VV_SPACE_OFF_NS);
    let_all_know();
    int64_t edge = vv_time_floor(now_ns(), 28 * VV_DAY) + 56 * VV_DAY;
    advance(edge - 20 * VV_DAY - now_ns());
    while (now_ns() < edge) {
        write_second(&nodes[0], vv_time_floor(now_ns(), VV_DAY) - 21 * VV_HOUR, N);
        live_all(2, 12 * VV_HOUR);
    }
    advance(edge + 4 * VV_DAY - now_ns());
    live_all(2, VV_HOUR);
    keep(&nodes[0], 40 * VV_DAY, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS);
    live_all(3, VV_HOUR);
    write_second(&nodes[1], edge - 10 * VV_HOUR, N);
    keep(&nodes[1], 8 * VV_DAY, 200 * VV_DAY, VV_SPACE_OFF_NS);
    live_all(2, 12 * VV_HOUR);
    write_second(&nodes[1], edge - 8 * VV_HOUR, N);
    live_all(20, VV_DAY);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(count_by(&nodes[i], VV_SPACE_DAY), written);
    }
    end();
}

static uint32_t hours_of(struct node *node)
{
    struct vv_registry *registry = node->rig.engine->registry;
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    return vv_registry_tiers(registry, tenant).spaces[VV_SPACE_HOUR];
}

/* Shortened to two days, then off; it is on again while the life from before still counts for who
 * switches it on, and no more when the other one hears of it, who puts what lives for two days. */
static void one_that_was_shortened_before_is_said_to_have_lived_as_long_as_all_know(void **state)
{
    (void)state;
    begin("blocks", 7);
    keep(&nodes[0], 40 * VV_DAY, VV_SPACE_OFF_NS, 200 * VV_DAY);
    live_all(2, VV_DAY);
    keep(&nodes[0], 40 * VV_DAY, VV_SPACE_OFF_NS, 2 * VV_DAY);
    struct vv_whole whole = vv_registry_whole(nodes[0].rig.engine->registry, hours_of(&nodes[0]));
    int64_t end_ns = vv_whole_until(&whole);
    uint32_t hours = hours_of(&nodes[0]);
    live_all(1, VV_DAY);
    keep(&nodes[0], 40 * VV_DAY, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS);
    advance(end_ns - 8 * VV_MINUTE - now_ns());
    hear_each_other();
    assert_true(now_ns() < end_ns);
    keep(&nodes[0], 40 * VV_DAY, VV_SPACE_OFF_NS, 200 * VV_DAY);
    assert_int_equal(hours_of(&nodes[0]), hours); /* it went on */
    whole = vv_registry_whole(nodes[0].rig.engine->registry, hours);
    assert_int_equal(whole.longer[whole.n - 1].kept_ns, 2 * VV_DAY);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_have_all_whatever_tiers_are_switched_off),
        cmocka_unit_test(one_that_is_switched_on_again_lacks_nothing),
        cmocka_unit_test(one_that_was_shortened_before_is_said_to_have_lived_as_long_as_all_know),
    };
    if (getenv("FIRST")) { /* that alone: for a seed that failed, and for many more */
        cmocka_set_test_filter("days_have*");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
