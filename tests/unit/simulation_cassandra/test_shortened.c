/* SPDX-License-Identifier: Apache-2.0 */
/* A retention that is shortened where nodes share the store takes nothing from tiers that they were
 * still to get of the points. */
#include "tiers_fixture.h"

#define SLACK (2 * VV_DAY)

/* Sealed and built long ago, and some that came late since. When they begin. */
static int64_t write_late(void)
{
    begin("blocks", 1);
    int64_t from = fill_minutes(&nodes[1]);
    live_long(5, 2 * VV_DAY);
    assert_int_equal(count_by(&nodes[0], VV_SPACE_MINUTE), written);
    for (int i = 0; i < 100; i++) {
        write_at(&nodes[1], from + i * VV_SECOND);
    }
    work(&nodes[1]);
    return from;
}

static void assert_tiers(long long count)
{
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(count_by(&nodes[n], VV_SPACE_MINUTE), count);
        assert_int_equal(count_by(&nodes[n], VV_SPACE_HOUR), count);
        assert_int_equal(count_by(&nodes[n], VV_SPACE_DAY), count);
    }
}

static void what_was_not_built_yet_is_built(void **state)
{
    (void)state;
    (void)write_late();
    keep_for(&nodes[0], 2 * VV_DAY);
    live_long(1, VV_HOUR);
    assert_tiers(written);
    live_long(2, 2 * SLACK);
    assert_tiers(written);
    end();
}

/* Whoever has not seen the change knows it, too, also who starts again. */
static void it_is_known_to_all_nodes(void **state)
{
    (void)state;
    (void)write_late();
    keep_for(&nodes[0], 2 * VV_DAY);
    work(&nodes[1]);
    kill_node(&nodes[1]);
    bury_node(&nodes[1], 3);
    rig_open(&nodes[1].rig);
    work(&nodes[1]);
    live_long(1, VV_HOUR);
    assert_tiers(written);
    end();
}

/* What was sealed in between has gone by then, so tiers keep what they have. */
static void behind_the_slack_it_counts(void **state)
{
    (void)state;
    int64_t from = write_late() + 50 * VV_MINUTE; /* where nothing is: units are built again */
    keep_for(&nodes[0], 2 * VV_DAY);
    live_long(1, VV_HOUR);
    live_long(2, SLACK);
    delete_between(&nodes[1], from, from + VV_MINUTE);
    sweep();
    live_long(1, VV_HOUR);
    assert_tiers(written);
    end();
}

static void keep(struct node *node, const struct vv_retentions *retentions)
{
    struct vv_error error = {0};
    if (vv_engine_set_retentions(node->rig.engine, VV_STR_LITERAL("t"), retentions, &error) !=
        VV_OK) {
        fail_msg("%s", error.message);
    }
    hear_each_other();
}

/* Until all know that points are kept for longer, days would be built of hours. */
static void points_are_taken_while_what_replaces_a_tier_does_not_count_yet(void **state)
{
    (void)state;
    const struct vv_retentions with_hours = {20 * VV_DAY, {VV_SPACE_OFF_NS, 50 * VV_DAY, 0}};
    const struct vv_retentions without = {60 * VV_DAY, {VV_SPACE_OFF_NS, VV_SPACE_OFF_NS, 0}};
    begin("blocks", 1);
    keep(&nodes[0], &with_hours);
    live_long(2, VV_DAY);
    hear_each_other();
    keep(&nodes[0], &without);
    for (size_t n = 0; n < 2; n++) {
        write_at(&nodes[n], now_ns() - VV_HOUR);
        write_at(&nodes[n], now_ns() - 5 * VV_DAY);
    }
    hear_each_other();
    live_long(40, VV_DAY);
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(count_by(&nodes[n], VV_SPACE_DAY), written);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_built_yet_is_built),
        cmocka_unit_test(it_is_known_to_all_nodes),
        cmocka_unit_test(behind_the_slack_it_counts),
        cmocka_unit_test(points_are_taken_while_what_replaces_a_tier_does_not_count_yet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
