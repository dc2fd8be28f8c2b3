/* SPDX-License-Identifier: Apache-2.0 */
/* Moves that nodes agree on, where clocks are wrong, somebody is away, or people change their mind.
 */
#include "move_nodes_rig.h"

static void both_have_points(struct nodes *nodes)
{
    begin(nodes);
    for (int i = 0; i < NODES; i++) {
        write_at(&nodes->rigs[i], "m", RIG_START - VV_HOUR);
        flush(&nodes->rigs[i]);
    }
    learn_all(nodes);
}

static enum vv_move_state state_of(struct rig *rig)
{
    struct vv_move moves[VV_MOVES_MAX];
    size_t n = vv_registry_moves(registry_of(rig), number_of(rig, "m"), moves);
    assert_true(n > 0);
    return moves[n - 1].state;
}

/* All have agreed on all. */
static void pass_days(struct nodes *nodes, int64_t until)
{
    go_to(nodes, NODES, until);
    learn_all(nodes);
    learn_all(nodes);
    for (int i = 0; i < NODES; i++) {
        assert_false(is_agreeing(&nodes->rigs[i]));
    }
}

static void assert_place_at(struct nodes *nodes, int64_t time, const char *place)
{
    for (int i = 0; i < NODES; i++) {
        assert_string_equal(place_at(&nodes->rigs[i], "m", time), place);
    }
}

/* Its own clock was wrong for a moment. */
static void a_point_far_ahead_holds_up_nothing(void **state)
{
    (void)state;
    struct nodes nodes;
    both_have_points(&nodes);
    (void)set_class(&nodes.rigs[0], "c", "x\n");
    learn_all(&nodes);
    go_to(&nodes, 1, DAY + 30 * VV_DAY);
    write_at(&nodes.rigs[1], "other", DAY + 30 * VV_DAY);
    vv_sim_clock_jump(&nodes.rigs[1].clock, RIG_START + VV_HOUR);
    learn_all(&nodes);
    flush(&nodes.rigs[1]);
    assert_int_equal(
        vv_registry_is_placed(registry_of(&nodes.rigs[1]), number_of(&nodes.rigs[1], "other")),
        true);
    end(&nodes);
}

/* Nor does it settle what its points are not about. */
static void a_flush_settles_what_it_has_points_of(void **state)
{
    (void)state;
    struct nodes nodes;
    both_have_points(&nodes);
    write_at(&nodes.rigs[1], "other", RIG_START - VV_HOUR);
    flush(&nodes.rigs[1]);
    hub.nodes[1].is_deaf = true; /* it does not learn that all know the class */
    (void)set_class(&nodes.rigs[0], "c", "m\n");
    vv_sim_clock_advance(&nodes.rigs[0].clock, VV_SECOND);
    flush(&nodes.rigs[0]);
    learn(&nodes.rigs[1]);
    go_to(&nodes, 1, DAY + 30 * VV_DAY);
    write_at(&nodes.rigs[1], "other", DAY + 30 * VV_DAY);
    vv_sim_clock_jump(&nodes.rigs[1].clock, RIG_START + VV_HOUR);
    flush(&nodes.rigs[1]);
    for (size_t i = 0; i < hub.n_places; i++) {
        assert_null(strstr(hub.places[i].name, "t/m@"));
    }
    end(&nodes);
}

/* It learns, but can keep nothing, so it has not asked where the points of the others lie. */
static void who_can_settle_nothing_lets_readers_wait(void **state)
{
    (void)state;
    struct nodes nodes;
    struct vv_error error = {0};
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    go_to(&nodes, NODES, known_by);
    learn(&nodes.rigs[0]);
    go_to(&nodes, NODES, DAY + VV_HOUR);
    hub.nodes[2].wait = 1;
    hub.nodes[2].fail = 1000;
    (void)!vv_engine_step(nodes.rigs[1].engine, VV_TASK_LEARN, &error);
    assert_int_equal(ask(&nodes.rigs[1], "m.v", &error), VV_OVERLOAD);
    assert_int_equal(ask(&nodes.rigs[0], "m.v", &error), VV_OK);
    hub.nodes[2].fail = 0;
    end(&nodes);
}

/* The first is gone, and the other hears of it when the notice has begun. */
static void who_hears_of_a_move_late_is_against_it(void **state)
{
    (void)state;
    struct nodes nodes;
    both_have_points(&nodes);
    (void)set_class(&nodes.rigs[0], "c", "x\n");
    learn_all(&nodes);
    struct vv_class_effect effect = set_class(&nodes.rigs[0], "c", "m\n");
    learn(&nodes.rigs[0]);
    go_to(&nodes, 1, effect.known_by);
    learn(&nodes.rigs[1]);
    go_to(&nodes, NODES, effect.known_by);
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t");
    end(&nodes);
}

static void what_is_parked_is_not_told(void **state)
{
    (void)state;
    struct nodes nodes;
    both_have_points(&nodes);
    hub.nodes[1].parked_told = 1;
    (void)set_class(&nodes.rigs[0], "c", "m\n");
    learn_all(&nodes);
    assert_int_equal(state_of(&nodes.rigs[0]), VV_MOVE_PROPOSED);
    hub.nodes[1].parked_told = 0;
    learn_all(&nodes);
    assert_int_equal(state_of(&nodes.rigs[0]), VV_MOVE_SURE);
    end(&nodes);
}

/* What it was for before it ended it is for when it comes back, though all are late then. */
static void what_a_node_is_for_outlives_it(void **state)
{
    (void)state;
    struct nodes nodes;
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(state_of(&nodes.rigs[i]), VV_MOVE_SURE);
        crash(&nodes, i);
    }
    go_to(&nodes, NODES, known_by);
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t/@c");
    end(&nodes);
}

/* On this node or the other, which hears of it, too. */
static void what_was_taken_back_can_be_set_again_anywhere(void **state)
{
    (void)state;
    for (int was_told = 0; was_told < 2; was_told++) {
        for (int where = 0; where < NODES; where++) {
            struct nodes nodes;
            int64_t known_by = propose(&nodes);
            if (was_told) {
                learn_all(&nodes);
            }
            (void)set_class(&nodes.rigs[0], "c", "x\n");
            learn_all(&nodes);
            struct vv_class_effect effect = set_class(&nodes.rigs[where], "c", "m\n");
            assert_int_equal(effect.moved.n, 1);
            assert_int_equal(effect.moved_from, DAY + VV_DAY);
            learn_all(&nodes);
            pass_days(&nodes, known_by + 2 * VV_DAY);
            assert_place_at(&nodes, DAY, "t");
            assert_place_at(&nodes, DAY + VV_DAY, "t/@c");
            end(&nodes);
        }
    }
}

/* Each time a day later: of the one before it is settled that nothing moves. */
static void who_changes_his_mind_often_is_heard(void **state)
{
    (void)state;
    struct nodes nodes;
    int64_t known_by = propose(&nodes);
    for (int i = 1; i <= 30; i++) {
        struct vv_class_effect effect = set_class(&nodes.rigs[0], "c", "x\n");
        learn_all(&nodes);
        effect = set_class(&nodes.rigs[0], "c", "m\n");
        assert_int_equal(effect.moved_from, DAY + i * VV_DAY);
        learn_all(&nodes);
    }
    pass_days(&nodes, known_by + 40 * VV_DAY);
    assert_place_at(&nodes, DAY + 29 * VV_DAY, "t");
    assert_place_at(&nodes, DAY + 30 * VV_DAY, "t/@c");
    end(&nodes);
}

/* Over many days, of which the other one hears at once, as one that comes new. */
static void a_new_node_learns_what_became_of_all(void **state)
{
    (void)state;
    struct nodes nodes;
    both_have_points(&nodes);
    (void)set_class(&nodes.rigs[0], "c", "x\n");
    learn_all(&nodes);
    hub.nodes[2].deaf_to = 1;
    for (int i = 0; i < 30; i++) {
        (void)set_class(&nodes.rigs[0], "c", "m\n");
        vv_sim_clock_advance(&nodes.rigs[0].clock, 5 * VV_SECOND);
        learn(&nodes.rigs[0]);
        (void)set_class(&nodes.rigs[0], "c", "x\n");
        vv_sim_clock_advance(&nodes.rigs[0].clock, 5 * VV_SECOND);
        learn(&nodes.rigs[0]);
        vv_sim_clock_advance(&nodes.rigs[0].clock, VV_DAY);
    }
    hub.nodes[2].deaf_to = 0;
    hub.nodes[2].learnt = 0;
    int64_t now = RIG_START + 30 * VV_DAY + VV_HOUR;
    pass_days(&nodes, now);
    write_at(&nodes.rigs[1], "m", now - VV_HOUR);
    flush(&nodes.rigs[1]);
    assert_place_at(&nodes, now, "t");
    end(&nodes);
}

/* Where it went before is not known while one before it is not settled. */
static void what_went_nowhere_stays_known_behind_what_is_open(void **state)
{
    (void)state;
    struct nodes nodes;
    struct vv_error error = {0};
    both_have_points(&nodes);
    (void)set_class(&nodes.rigs[0], "c", "x\n");
    learn_all(&nodes);
    struct vv_registry *registry = registry_of(&nodes.rigs[0]);
    uint32_t m = number_of(&nodes.rigs[0], "m");
    uint32_t t;
    assert_int_equal(vv_registry_tenant(registry, TEXT("t"), false, &t, NULL), VV_OK);
    uint32_t c = vv_registry_class(registry, t, TEXT("c"));
    struct vv_move open = {DAY, c, VV_MOVE_TOLD, false};
    assert_int_equal(vv_registry_add_move(registry, m, &open, 0, INT64_MAX, &error), VV_OK);
    enum vv_status status = VV_OK;
    for (int i = 1; i < 2 * VV_MOVES_MAX && status == VV_OK; i++) {
        struct vv_move stay = {DAY + i * VV_DAY, t, VV_MOVE_SETTLED, false};
        status = vv_registry_add_move(registry, m, &stay, 0, INT64_MAX, &error);
    }
    assert_int_equal(status, VV_EXISTS);
    open.state = VV_MOVE_SETTLED;
    assert_int_equal(vv_registry_change_move(registry, m, VV_MOVE_TOLD, &open, &error), VV_OK);
    assert_int_equal(vv_registry_stay(registry, m, DAY).place, c);
    assert_int_equal(vv_registry_stay(registry, m, DAY + VV_DAY).place, t);
    end(&nodes);
}

/* A reader has learnt of a class and of a move into it, and neither is kept. */
static void a_journal_has_the_classes_that_are_moved_to(void **state)
{
    (void)state;
    struct nodes nodes;
    struct vv_error error = {0};
    both_have_points(&nodes);
    (void)set_class(&nodes.rigs[0], "d", "x\n");
    learn_all(&nodes);
    (void)set_class(&nodes.rigs[0], "c", "m\n");
    for (int i = 0; i < 2; i++) {
        vv_sim_clock_advance(&nodes.rigs[0].clock, VV_SECOND);
        learn(&nodes.rigs[0]);
    }
    assert_int_equal(vv_fleet_learn(nodes.rigs[1].engine->fleet, &error), VV_OK);
    assert_int_equal(set_class(&nodes.rigs[1], "d", "m*\n").moved.n, 1);
    crash(&nodes, 1);
    learn_all(&nodes);
    assert_true(number_of(&nodes.rigs[1], "m") != VV_REGISTRY_NONE);
    end(&nodes);
}

/* What others have proposed is not touched. */
static void what_can_not_be_journaled_is_withdrawn(void **state)
{
    (void)state;
    struct nodes nodes;
    struct vv_class_effect effect;
    struct vv_error error = {0};
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    go_to(&nodes, NODES, known_by - 30 * VV_MINUTE); /* too late to take it back */
    learn_all(&nodes);
    struct vv_class_wish wish = {
        .name = TEXT("c"),
        .has_measurements = true,
        .measurements = TEXT("x\n"),
        .retentions = {VV_RETENTION_AS_IS,
                       {VV_RETENTION_AS_IS, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS}}};
    bool failed_behind = false;
    for (uint64_t call = 1; call < 8 && !failed_behind; call++) {
        vv_sim_disk_fail_call(nodes.rigs[1].disk, VV_SIM_WRITE, call, VV_FULL);
        enum vv_status status =
            vv_engine_set_class(nodes.rigs[1].engine, TEXT("t"), &wish, &effect, &error);
        vv_sim_disk_heal(nodes.rigs[1].disk);
        failed_behind = status != VV_OK && state_of(&nodes.rigs[1]) == VV_MOVE_WITHDRAWN;
        if (status == VV_OK) {
            break;
        }
    }
    struct vv_move moves[VV_MOVES_MAX];
    (void)vv_registry_moves(registry_of(&nodes.rigs[1]), number_of(&nodes.rigs[1], "m"), moves);
    assert_int_equal(moves[0].state, VV_MOVE_SURE);
    end(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_point_far_ahead_holds_up_nothing),
        cmocka_unit_test(a_flush_settles_what_it_has_points_of),
        cmocka_unit_test(who_can_settle_nothing_lets_readers_wait),
        cmocka_unit_test(who_hears_of_a_move_late_is_against_it),
        cmocka_unit_test(what_is_parked_is_not_told),
        cmocka_unit_test(what_a_node_is_for_outlives_it),
        cmocka_unit_test(what_was_taken_back_can_be_set_again_anywhere),
        cmocka_unit_test(who_changes_his_mind_often_is_heard),
        cmocka_unit_test(a_new_node_learns_what_became_of_all),
        cmocka_unit_test(what_went_nowhere_stays_known_behind_what_is_open),
        cmocka_unit_test(a_journal_has_the_classes_that_are_moved_to),
        cmocka_unit_test(what_can_not_be_journaled_is_withdrawn),
    };
    return cmocka_run_group_tests_name("engine/move_trouble", tests, NULL, NULL);
}
