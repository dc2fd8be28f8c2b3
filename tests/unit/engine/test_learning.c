/* SPDX-License-Identifier: Apache-2.0 */
/* Engines of one shared store: what one takes the others know by name, whatever fails and whenever
 * a process ends. */
#include "../fleet/fleet_fixture.h"
#include "nodes_rig.h"

static void open_node(struct rig *rig, uint32_t number)
{
    struct vv_disk *disk;
    vv_log_level_set(VV_LOG_OFF);
    *rig = (struct rig){.disk = vv_sim_disk_create(number)};
    disk = vv_sim_disk_interface(rig->disk);
    assert_int_equal(disk->ops->make_folder(disk, "/data", NULL), VV_OK);
    assert_int_equal(disk->ops->make_folder(disk, "/data/journal", NULL), VV_OK);
    vv_sim_clock_init(&rig->clock, RIG_START);
    rig->store = fake_open(number);
    rig_open(rig);
    hub.nodes[number].registry = vv_engine_query_context(rig->engine)->registry;
}

static void end_hard(struct rig *rig, uint32_t number)
{
    vv_engine_close(rig->engine);
    fake_crash(number);
    vv_sim_disk_restart(rig->disk);
    rig_open(rig);
    hub.nodes[number].registry = vv_engine_query_context(rig->engine)->registry;
}

static void close_node(struct rig *rig)
{
    vv_engine_close(rig->engine);
    vv_sim_disk_destroy(rig->disk);
}

static void assert_same_names(struct rig *a, struct rig *b)
{
    struct node first = {.number = 1, .registry = vv_engine_query_context(a->engine)->registry};
    struct node second = {.number = 2, .registry = vv_engine_query_context(b->engine)->registry};
    assert_same_nodes(&first, &second);
}

static size_t plans_of(struct rig *rig)
{
    return vv_registry_source_plans(vv_engine_query_context(rig->engine)->registry, 0).n;
}

static void what_one_flushes_the_other_knows(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(1);
    open_node(&a, 1);
    open_node(&b, 2);
    rig_write(&a);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_DONE);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(hub.nodes[1].plans_at_first_run, 1);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_OK);
    assert_int_equal(plans_of(&b), 1);
    assert_same_names(&a, &b);
    end_hard(&b, 2); /* it was kept */
    assert_same_names(&a, &b);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_DONE);
    rig_write(&b); /* the same source: nothing of it is news */
    assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(hub.nodes[2].told, 0);
    close_node(&a);
    close_node(&b);
    fake_end();
}

static void both_take_the_plan_that_was_agreed_first(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(2);
    open_node(&a, 1);
    open_node(&b, 2);
    rig_write(&a);
    for (int i = 0; i < 100; i++) {
        rig_write(&b); /* by itself it would choose another one */
    }
    assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    assert_int_equal(rig_step(&a, VV_TASK_LEARN), VV_OK);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_OK);
    assert_same_names(&a, &b);
    close_node(&a);
    close_node(&b);
    fake_end();
}

/* Calls fail one after the other; the process goes on, or ends there. */
static void whatever_fails_others_learn_all(void **state)
{
    (void)state;
    uint32_t failures = 0;
    for (uint32_t k = 0; k < 40; k++) {
        struct rig a;
        struct rig b;
        fake_begin(100 + k);
        open_node(&a, 1);
        open_node(&b, 2);
        rig_write(&b); /* some of it is there already */
        assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
        rig_write(&a);
        hub.nodes[1].wait = k / 4;
        hub.nodes[1].fail = 1;
        if (k % 4 < 2) { /* else it has much to tell itself */
            (void)!rig_step(&a, VV_TASK_LEARN);
        }
        (void)!rig_step(&a, VV_TASK_FLUSH);
        failures += hub.nodes[1].fail == 0;
        hub.nodes[1].fail = 0;
        hub.nodes[1].wait = 0;
        if (k % 2) {
            end_hard(&a, 1);
        }
        vv_sim_clock_advance(&a.clock, VV_MINUTE);
        assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
        (void)!rig_step(&a, VV_TASK_LEARN);
        (void)!rig_step(&b, VV_TASK_LEARN);
        assert_same_names(&a, &b);
        end_hard(&a, 1);
        assert_same_names(&a, &b);
        close_node(&a);
        close_node(&b);
        fake_end();
    }
    print_message("%u of 40 failed\n", (unsigned)failures);
    assert_true(failures > 8 && failures < 40);
}

static void a_start_without_the_others_is_a_start(void **state)
{
    (void)state;
    struct rig a;
    struct rig b;
    fake_begin(3);
    open_node(&a, 1);
    open_node(&b, 2);
    rig_write(&a);
    assert_int_equal(rig_step(&a, VV_TASK_FLUSH), VV_OK);
    vv_engine_close(b.engine);
    hub.nodes[2].fail = 1;
    rig_open(&b);
    assert_int_equal(hub.nodes[2].fail, 0);
    rig_write(&b);
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_OK);
    hub.nodes[2].fail = 1; /* asking fails: the store is not given up for that */
    assert_int_equal(rig_step(&b, VV_TASK_LEARN), VV_IO);
    hub.nodes[2].registry = vv_engine_query_context(b.engine)->registry;
    assert_int_equal(rig_step(&b, VV_TASK_FLUSH), VV_OK);
    assert_same_names(&a, &b);
    close_node(&a);
    close_node(&b);
    fake_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_one_flushes_the_other_knows),
        cmocka_unit_test(both_take_the_plan_that_was_agreed_first),
        cmocka_unit_test(whatever_fails_others_learn_all),
        cmocka_unit_test(a_start_without_the_others_is_a_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
