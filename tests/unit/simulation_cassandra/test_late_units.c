/* SPDX-License-Identifier: Apache-2.0 */
/* Units of tiers that were open when what belongs to them was parked: whoever builds them meanwhile
 * lacks it, and they are built again when it has come. */
#include "tiers_fixture.h"

#define SETS_MAX VV_SIM_CASSANDRA_SETS

/* What the first node writes now waits with it; false: nothing of the set is away for that. */
static bool park(uint32_t set)
{
    bool is_parked = false;
    vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
    for (int i = 0; i < 4 && !is_parked; i++) {
        write_at(&nodes[0], now_ns());
        work(&nodes[0]);
        advance(11 * VV_SECOND);
        is_parked = parked(&nodes[0]) > 0;
    }
    vv_sim_cassandra_set_away(model, 0);
    return is_parked;
}

/* The first node does nothing for two days, in which the other builds what is over. */
static void build_without(const char *layout, uint32_t set, bool builds_first)
{
    begin(layout, set + 1);
    int64_t begun_at = now_ns();
    if (!park(set)) {
        end();
        return;
    }
    for (int i = 0; i < 12; i++) {
        advance(4 * VV_HOUR);
        write_at(&nodes[1], now_ns());
        work(&nodes[1]);
    }
    if (builds_first) { /* with what is parked with it, before the other one does */
        seal(&nodes[0]);
        write_at(&nodes[1], begun_at);
        work(&nodes[1]);
        advance(VV_HOUR);
    }
    seal(&nodes[1]);
    deliver_all(&nodes[0]);
    (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
    for (size_t i = 0; i < 4; i++) { /* at once, and when it has been built again */
        struct node *node = &nodes[1 - i % 2];
        long long n = count_by_hours(node);
        if (n != written) {
            fail_msg("%s, set %u: node %zu has %lld of %lld points in its hours%s", layout, set,
                     1 - i % 2, n, written, i < 2 ? ", as it comes" : ", when all is built");
        }
        if (i == 1) {
            seal(&nodes[1]);
        }
    }
    end();
}

/* Points are kept for longer from now on, and all nodes know. */
static void lengthen(void)
{
    struct vv_error error = {0};
    uint32_t tenant;
    (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
    if (vv_engine_set_retention(nodes[1].rig.engine, VV_STR_LITERAL("t"), 366 * VV_DAY, &error) !=
        VV_OK) {
        fail_msg("%s", error.message);
    }
    for (int i = 0; i < 6; i++) {
        work(&nodes[1]);
        advance(11 * VV_SECOND);
        (void)rig_step(&nodes[0].rig, VV_TASK_LEARN);
        (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
    }
    struct vv_registry *registry = vv_engine_query_context(nodes[0].rig.engine)->registry;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_true(vv_registry_retention(registry, tenant) == 366 * VV_DAY);
}

enum longer { NEVER, AT_THE_BEGINNING, AT_THE_END };

/* The first node is away for longer than points are kept. */
static void come_back_late(const char *layout, uint32_t set, enum longer longer, int *without)
{
    begin(layout, set + 1);
    if (!park(set)) {
        end();
        return;
    }
    if (longer == AT_THE_BEGINNING) {
        lengthen();
    }
    for (int i = 0; i < 8; i++) { /* first all is sealed and built in time */
        advance(i < 4 ? 12 * VV_HOUR : 12 * VV_DAY);
        work(&nodes[1]);
        seal(&nodes[1]);
    }
    long long before = count_by_hours(&nodes[1]);
    assert_in_range(before, 1, written);
    if (longer == AT_THE_END) {
        lengthen();
    }
    deliver_all(&nodes[0]);
    for (int i = 0; i < 3; i++) {
        work(&nodes[1]);
        seal(&nodes[1]);
        assert_in_range(count_by_hours(&nodes[1]), before, written);
        advance(VV_DAY);
    }
    *without += before < written;
    end();
}

static void what_comes_when_points_have_expired_takes_nothing_from_tiers(void **state)
{
    (void)state;
    int without[2] = {0}; /* times that points were missing before it came back */
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        come_back_late("blocks", set, NEVER, &without[0]);
        come_back_late("rows", set, NEVER, &without[1]);
    }
    assert_true(without[0] > 0 && without[1] > 0);
}

/* What has gone by then is not there again. */
static void so_it_does_when_points_are_kept_for_longer_by_then(void **state)
{
    (void)state;
    int without[2] = {0};
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        come_back_late("blocks", set, AT_THE_END, &without[0]);
        come_back_late("rows", set, AT_THE_END, &without[1]);
    }
    assert_true(without[0] > 0 && without[1] > 0);
}

/* What was put just before that lives for no longer. */
static void so_it_does_when_points_are_kept_for_longer_all_the_time(void **state)
{
    (void)state;
    int without[2] = {0};
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        come_back_late("blocks", set, AT_THE_BEGINNING, &without[0]);
        come_back_late("rows", set, AT_THE_BEGINNING, &without[1]);
    }
    assert_true(without[0] > 0 && without[1] > 0);
}

/* ---- what was deleted ---- */

/* Something is deleted in time, and perhaps written again. What comes when the points have expired
 * takes nothing from tiers, and brings nothing back. */
static void come_late_where_something_was_deleted(const char *layout, bool writes_again)
{
    begin(layout, 1);
    int64_t from = fill_minutes(&nodes[1]);
    write_at(&nodes[0], from + 10 * VV_SECOND); /* it is away until the end */
    live_long(2, 12 * VV_HOUR);
    assert_int_equal(count_by_hours(&nodes[1]), written - 1);
    delete_between(&nodes[1], from + VV_MINUTE, from + 2 * VV_MINUTE);
    sweep();
    seal(&nodes[1]);
    assert_int_equal(count_by_hours(&nodes[1]), written - 1 - 60);
    for (int i = 0; i < 20 && writes_again; i++) {
        write_at(&nodes[1], from + VV_MINUTE + i * VV_SECOND);
    }
    work(&nodes[1]);
    seal(&nodes[1]);
    live_long(5, 10 * VV_DAY + 12 * VV_HOUR);
    long long before = count_by_hours(&nodes[1]);
    assert_int_equal(before, written - 1 - 60);
    work(&nodes[0]);
    (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
    assert_int_equal(count_by_hours(&nodes[1]), before);
    live_long(2, VV_DAY);
    assert_int_equal(count_by_hours(&nodes[1]), before);
    end();
}

static void a_deletion_of_long_ago_takes_nothing_from_what_only_tiers_have(void **state)
{
    (void)state;
    come_late_where_something_was_deleted("blocks", false);
    come_late_where_something_was_deleted("blocks", true);
}

struct held_up {
    int64_t from; /* of what is deleted, in seconds from the first point; before it there are 6 */
    int64_t to;
    bool keeps_minutes; /* that hours can be built of */
    long long left;
};

/* The sealers do nothing until the points have expired. Whole minutes go; and the whole hour, where
 * there are no minutes any more. */
static void hold_up(const struct held_up *held)
{
    begin("blocks", 1);
    if (held->keeps_minutes) {
        keep_minutes_for_ever();
    }
    int64_t from = fill_minutes(&nodes[1]);
    live_long(2, 12 * VV_HOUR);
    assert_int_equal(count_by_hours(&nodes[1]), written);
    delete_between(&nodes[1], from + held->from * VV_SECOND, from + held->to * VV_SECOND);
    sweep();
    for (int day = 0; day < 44; day++) {
        advance(VV_DAY);
        work(&nodes[1]);
        (void)rig_step(&nodes[1].rig, VV_TASK_EXPIRE);
    }
    live_long(2, VV_DAY);
    assert_int_equal(count_by_hours(&nodes[1]), held->left);
    end();
}

static void what_was_deleted_before_points_expired_is_in_no_tier_however_late_it_is_built(
    void **state)
{
    (void)state;
    static const struct held_up held[] = {
        {60, 120, true, 246},         {30, 150, true, 126}, {0, 300, true, 6},
        {-5 * 86400, 120, true, 180}, {60, 120, false, 6},  {-7200, 120, false, 0},
    };
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++) {
        hold_up(&held[i]);
    }
}

static void what_was_parked_for_an_open_unit_is_in_its_tiers_when_it_has_come(void **state)
{
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        build_without("blocks", set, false);
    }
}

static void so_it_is_where_each_value_is_a_row(void **state)
{
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        build_without("rows", set, false);
    }
}

static void who_has_something_parked_builds_nothing_above_it(void **state)
{
    (void)state;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        build_without("blocks", set, true);
        build_without("rows", set, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_parked_for_an_open_unit_is_in_its_tiers_when_it_has_come),
        cmocka_unit_test(so_it_is_where_each_value_is_a_row),
        cmocka_unit_test(who_has_something_parked_builds_nothing_above_it),
        cmocka_unit_test(what_comes_when_points_have_expired_takes_nothing_from_tiers),
        cmocka_unit_test(so_it_does_when_points_are_kept_for_longer_by_then),
        cmocka_unit_test(so_it_does_when_points_are_kept_for_longer_all_the_time),
        cmocka_unit_test(a_deletion_of_long_ago_takes_nothing_from_what_only_tiers_have),
        cmocka_unit_test(
            what_was_deleted_before_points_expired_is_in_no_tier_however_late_it_is_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
