/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that share a store move measurements that have points: they agree on each, by the
 * measurement and the day, before any of them stores a point of then.
 */
#include "move_nodes_rig.h"

static void all_nodes_move_a_measurement_on_the_same_day(void **state)
{
    (void)state;
    struct nodes nodes;
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    for (int i = 0; i < NODES; i++) { /* it counts for nothing yet */
        assert_true(is_agreeing(&nodes.rigs[i]));
        assert_string_equal(place_at(&nodes.rigs[i], "m", DAY), "t");
    }
    go_to(&nodes, NODES, known_by);
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t/@c");
    go_to(&nodes, NODES, DAY + VV_HOUR);
    learn_all(&nodes);
    for (int i = 0; i < NODES; i++) {
        struct rig *rig = &nodes.rigs[i];
        write_at(rig, "m", DAY - VV_MINUTE);
        write_at(rig, "m", DAY);
        flush(rig);
        assert_true(has_run(rig, "t", DAY - VV_MINUTE));
        assert_true(has_run(rig, "t/@c", DAY));
        assert_false(has_run(rig, "t", DAY + VV_DAY));
        crash(&nodes, (uint32_t)i);
        assert_string_equal(place_at(&nodes.rigs[i], "m", DAY), "t/@c");
    }
    assert_int_equal(hub.n_places, 1); /* the day's; nobody knew of a class before the first */
    end(&nodes);
}

/* Wherever the one that proposed it ends. */
static void what_was_proposed_outlives_a_crash(void **state)
{
    (void)state;
    for (int stage = 0; stage < 4; stage++) {
        struct nodes nodes;
        int64_t known_by = propose(&nodes);
        if (stage > 0) {
            learn(&nodes.rigs[0]);
        }
        if (stage > 1) {
            learn_all(&nodes);
        }
        if (stage > 2) {
            go_to(&nodes, NODES, known_by);
            learn(&nodes.rigs[0]);
        }
        crash(&nodes, 0);
        learn_all(&nodes);
        go_to(&nodes, NODES, known_by);
        crash(&nodes, 1);
        learn_all(&nodes);
        assert_settled(&nodes, "m", DAY, "t/@c");
        end(&nodes);
    }
}

/* The others settle it though the one that proposed it is gone. */
static void a_move_needs_its_node_only_until_it_is_told(void **state)
{
    (void)state;
    struct nodes nodes;
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    go_to(&nodes, 1, known_by);
    learn(&nodes.rigs[1]);
    assert_string_equal(place_at(&nodes.rigs[1], "m", DAY), "t/@c");
    go_to(&nodes, 0, DAY);
    learn(&nodes.rigs[0]);
    assert_settled(&nodes, "m", DAY, "t/@c");
    end(&nodes);
}

/* Nobody is for what could not be told, or what not all know the class of, in time. */
static void what_not_all_know_in_time_stays(void **state)
{
    (void)state;
    for (int is_told = 0; is_told < 2; is_told++) {
        struct nodes nodes;
        int64_t known_by = propose(&nodes);
        if (is_told) { /* the other says nothing of the class */
            for (int i = 0; i < 3; i++) {
                vv_sim_clock_advance(&nodes.rigs[0].clock, VV_SECOND);
                learn(&nodes.rigs[0]);
            }
        }
        go_to(&nodes, NODES, known_by);
        learn_all(&nodes);
        assert_settled(&nodes, "m", DAY, "t");
        go_to(&nodes, NODES, DAY);
        write_at(&nodes.rigs[1], "m", DAY);
        flush(&nodes.rigs[1]);
        assert_true(has_run(&nodes.rigs[1], "t", DAY));
        end(&nodes);
    }
}

/* One that hears nothing for longer than the notice stores nothing of then. */
static void who_has_not_heard_of_a_move_holds_back_what_it_is_about(void **state)
{
    (void)state;
    struct nodes nodes;
    struct vv_error error = {0};
    begin(&nodes);
    write_at(&nodes.rigs[0], "m", RIG_START - VV_HOUR);
    flush(&nodes.rigs[0]);
    (void)set_class(&nodes.rigs[0], "c", "x\n");
    learn_all(&nodes);
    hub.nodes[2].deaf_to = 1;
    struct vv_class_effect effect = set_class(&nodes.rigs[0], "c", "m\n");
    assert_int_equal(effect.moved_from, DAY);
    go_to(&nodes, NODES, DAY - VV_DAY - VV_HOUR);
    learn(&nodes.rigs[0]);
    hub.nodes[2].is_deaf = true; /* it can't hear, so it knows that it does not know */
    go_to(&nodes, NODES, DAY + VV_HOUR);
    learn(&nodes.rigs[0]);
    write_at(&nodes.rigs[1], "m", DAY);
    assert_int_not_equal(vv_engine_step(nodes.rigs[1].engine, VV_TASK_FLUSH, &error), VV_OK);
    assert_non_null(strstr(error.message, "has not heard the others for a day"));
    hub.nodes[2].is_deaf = false;
    hub.nodes[2].deaf_to = 0;
    vv_sim_clock_advance(&nodes.rigs[1].clock, VV_MINUTE);
    (void)!vv_engine_step(nodes.rigs[1].engine, VV_TASK_LEARN, &error);
    vv_sim_clock_advance(&nodes.rigs[1].clock, 2 * VV_MINUTE);
    learn(&nodes.rigs[1]);
    flush(&nodes.rigs[1]);
    assert_true(has_run(&nodes.rigs[1], "t/@c", DAY));
    assert_false(has_run(&nodes.rigs[1], "t", DAY));
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t/@c");
    end(&nodes);
}

/* One that can't ask says so, to who reads and to who writes. */
static void what_is_not_agreed_on_when_it_begins_is_waited_for(void **state)
{
    (void)state;
    struct nodes nodes;
    struct vv_error error = {0};
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    hub.nodes[2].places_away = true;
    go_to(&nodes, NODES, known_by);
    learn(&nodes.rigs[0]);
    (void)!vv_engine_step(nodes.rigs[1].engine, VV_TASK_LEARN, &error);
    assert_int_equal(ask(&nodes.rigs[1], "m.v", &error), VV_OK);
    go_to(&nodes, NODES, DAY);
    (void)!vv_engine_step(nodes.rigs[1].engine, VV_TASK_LEARN, &error);
    assert_int_equal(ask(&nodes.rigs[1], "m.v", &error), VV_OVERLOAD);
    assert_non_null(strstr(error.message, "points of m.v from 2026-01-03 on lie"));
    write_at(&nodes.rigs[1], "m", DAY);
    assert_int_not_equal(vv_engine_step(nodes.rigs[1].engine, VV_TASK_FLUSH, &error), VV_OK);
    hub.nodes[2].places_away = false;
    vv_sim_clock_advance(&nodes.rigs[1].clock, VV_MINUTE);
    flush(&nodes.rigs[1]);
    assert_true(has_run(&nodes.rigs[1], "t/@c", DAY));
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t/@c");
    end(&nodes);
}

/* Points of then that one has already lie where they were put. */
static void who_has_points_of_then_is_against_it(void **state)
{
    (void)state;
    struct nodes nodes;
    begin(&nodes);
    write_at(&nodes.rigs[0], "m", RIG_START - VV_HOUR);
    flush(&nodes.rigs[0]);
    go_to(&nodes, 1, DAY + VV_HOUR); /* a wrong clock */
    learn(&nodes.rigs[1]);
    write_at(&nodes.rigs[1], "m", DAY);
    flush(&nodes.rigs[1]);
    vv_sim_clock_jump(&nodes.rigs[1].clock, RIG_START);
    learn_all(&nodes);
    struct vv_class_effect effect = set_class(&nodes.rigs[0], "c", "m\n");
    assert_int_equal(effect.moved_from, DAY);
    learn_all(&nodes);
    learn_all(&nodes);
    go_to(&nodes, NODES, effect.known_by);
    learn_all(&nodes);
    assert_settled(&nodes, "m", DAY, "t");
    end(&nodes);
}

static void a_move_can_be_taken_back_and_another_one_proposed(void **state)
{
    (void)state;
    for (int is_told = 0; is_told < 2; is_told++) {
        struct nodes nodes;
        int64_t known_by = propose(&nodes);
        if (is_told) {
            learn_all(&nodes);
        }
        struct vv_class_effect effect = set_class(&nodes.rigs[0], "c", "x\n");
        assert_int_equal(effect.moved.n, 1);
        learn_all(&nodes);
        (void)set_class(&nodes.rigs[0], "d", "m\n");
        learn_all(&nodes);
        go_to(&nodes, NODES, known_by + VV_DAY);
        learn_all(&nodes);
        assert_settled(&nodes, "m", DAY + VV_DAY, "t/@d");
        assert_string_equal(place_at(&nodes.rigs[1], "m", DAY), "t");
        end(&nodes);
    }
}

/* What is settled is moved back behind it. */
static void what_is_agreed_on_stays_so(void **state)
{
    (void)state;
    struct nodes nodes;
    int64_t known_by = propose(&nodes);
    learn_all(&nodes);
    go_to(&nodes, NODES, known_by);
    learn_all(&nodes);
    struct vv_class_effect effect = set_class(&nodes.rigs[1], "c", "x\n");
    assert_int_equal(effect.moved.n, 1);
    assert_true(effect.moved_from > DAY);
    learn_all(&nodes);
    go_to(&nodes, NODES, effect.known_by);
    learn_all(&nodes);
    for (int i = 0; i < NODES; i++) {
        assert_string_equal(place_at(&nodes.rigs[i], "m", DAY), "t/@c");
        assert_string_equal(place_at(&nodes.rigs[i], "m", effect.moved_from), "t");
    }
    end(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_nodes_move_a_measurement_on_the_same_day),
        cmocka_unit_test(what_was_proposed_outlives_a_crash),
        cmocka_unit_test(a_move_needs_its_node_only_until_it_is_told),
        cmocka_unit_test(what_not_all_know_in_time_stays),
        cmocka_unit_test(who_has_not_heard_of_a_move_holds_back_what_it_is_about),
        cmocka_unit_test(what_is_not_agreed_on_when_it_begins_is_waited_for),
        cmocka_unit_test(who_has_points_of_then_is_against_it),
        cmocka_unit_test(a_move_can_be_taken_back_and_another_one_proposed),
        cmocka_unit_test(what_is_agreed_on_stays_so),
    };
    return cmocka_run_group_tests_name("engine/move_nodes", tests, NULL, NULL);
}
