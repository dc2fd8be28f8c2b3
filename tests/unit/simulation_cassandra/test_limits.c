/* SPDX-License-Identifier: Apache-2.0 */
/* A node whose limits are too low for what the others tell: what it does not know the others seal.
 */
#include "cohorts_fixture.h"

/* The other node writes one more source than this one may know. */
static void write_more_than_fit(size_t limited)
{
    int64_t begun = now_ns();
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < SOURCES; i++) {
            size_t writer = i < SOURCES - 1 ? limited : 1 - limited;
            write_source(&nodes[writer], sources[i], begun + round * VV_MINUTE);
        }
        work(&nodes[limited]);
        work(&nodes[1 - limited]);
    }
}

static void live_some_days(int days)
{
    for (int i = 0; i < days * 4; i++) {
        advance(6 * VV_HOUR);
        for (size_t node = 0; node < 2; node++) {
            work(&nodes[node]);
            (void)rig_step(&nodes[node].rig, VV_TASK_SEAL_ALL);
            (void)rig_step(&nodes[node].rig, VV_TASK_EXPIRE);
        }
    }
}

static long long points_at(size_t node)
{
    return ask_tier(&nodes[node], "raw", "source", NULL, NULL).count;
}

/* As one of the two says it of that one. */
static bool is_partial(size_t asked, size_t about)
{
    struct vv_engine_node *list;
    size_t n;
    uint32_t number = vv_engine_node(nodes[about].rig.engine);
    bool is = false;
    assert_int_equal(vv_engine_read_nodes(nodes[asked].rig.engine, &list, &n), VV_OK);
    assert_int_equal(n, 2);
    assert_int_equal(list[asked == about ? 0 : 1].node, number);
    is = list[asked == about ? 0 : 1].is_partial;
    free(list);
    return is;
}

static void all_say_which_nodes_leave_something_out(void **state)
{
    (void)state;
    sources_max[0] = SOURCES - 1;
    begin_empty(9);
    write_more_than_fit(0);
    for (size_t round = 0; round < 4; round++) {
        work(&nodes[round % 2]);
    }
    assert_true(is_partial(0, 0) && is_partial(1, 0));
    assert_false(is_partial(0, 1) || is_partial(1, 1));
    end();
    sources_max[0] = 0;
}

/* Runs expire after two days here, unless they are sealed, or written again by whoever is to seal
 * them. Whichever node owns the shard, and whatever limit is too low. */
static void what_a_node_does_not_know_is_sealed_by_others(void **state)
{
    (void)state;
    for (size_t limited = 0; limited < 2; limited++) {
        sources_max[limited] = SOURCES - 1;
        begin_empty(9);
        write_more_than_fit(limited);
        assert_true(vv_fleet_leaves_out(nodes[limited].rig.engine->fleet));
        assert_int_equal(points_at(1 - limited), written);
        live_some_days(8);
        assert_int_equal(points_at(1 - limited), written);
        end();
        sources_max[limited] = 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_say_which_nodes_leave_something_out),
        cmocka_unit_test(what_a_node_does_not_know_is_sealed_by_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
