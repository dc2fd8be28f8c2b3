/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that begin a tenant at the same moment, and put it into different classes or layouts: what
 * one has stored or sealed before it heard of the other is found by all, and sealed. */
#include "engines_fixture.h"

/* How the two differ. */
struct difference {
    int64_t retentions_ns[2]; /* 0: none is set */
    const char *rows_tenants[2];
};

static void work_alone(struct node *node)
{
    assert_int_equal(rig_step(&node->rig, VV_TASK_FLUSH), VV_OK);
    for (int i = 0; i < 4; i++) {
        (void)rig_step(&node->rig, VV_TASK_SEAL_ALL);
    }
}

/* No time goes by: neither learns anything of the other. `order`: who stores, and seals, first. */
static void begin_at_once(const struct difference *difference, unsigned order)
{
    make_cluster(order + 1);
    for (uint32_t i = 0; i < 2; i++) {
        rows_tenants[i] = difference->rows_tenants[i];
        (void)make_node(i);
    }
    for (size_t i = 0; i < 4; i++) { /* both know of each other */
        (void)rig_step(&nodes[i % 2].rig, VV_TASK_BEAT);
        (void)rig_step(&nodes[i % 2].rig, VV_TASK_LEARN);
    }
    for (size_t i = 0; i < 2; i++) {
        if (difference->retentions_ns[i] > 0) {
            assert_int_equal(vv_engine_set_retention(nodes[i].rig.engine, VV_STR_LITERAL("t"),
                                                     difference->retentions_ns[i], NULL),
                             VV_OK);
        }
    }
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < 2; i++) {
            write_at(&nodes[i], RIG_START - 5 * VV_HOUR);
            write_at(&nodes[i], RIG_START - VV_MINUTE);
        }
        work_alone(&nodes[(order >> round) & 1]);
        work_alone(&nodes[1 - ((order >> round) & 1)]);
    }
    live(20 * VV_MINUTE);
    (void)make_node(2);
    live(20 * VV_MINUTE);
    assert_all_is_there();
    advance(9 * VV_DAY); /* the runs have expired */
    for (size_t i = 0; i < 3; i++) {
        (void)rig_step(&nodes[i].rig, VV_TASK_LEARN);
        assert_int_equal(count_points(&nodes[i]), written);
    }
    drop_cluster();
}

static void in_any_order(const struct difference *difference)
{
    for (unsigned order = 0; order < 8; order++) {
        begin_at_once(difference, order);
    }
}

static void different_classes(void **state)
{
    (void)state;
    in_any_order(&(struct difference){{20 * VV_DAY, 200 * VV_DAY}, {"", ""}});
    in_any_order(&(struct difference){{20 * VV_DAY, 0}, {"", ""}});
}

static void different_layouts(void **state)
{
    (void)state;
    in_any_order(&(struct difference){{0, 0}, {"t", ""}});
    in_any_order(&(struct difference){{20 * VV_DAY, 200 * VV_DAY}, {"", "t"}});
}

struct counting {
    uint32_t tenant; /* or space */
    int64_t time;
    size_t n; /* marks of what holds that */
};

static enum vv_status count_mark(void *context, const struct vv_mark *mark)
{
    struct counting *counting = context;
    int64_t start = mark->key.span_start;
    counting->n += mark->key.partition.tenant == counting->tenant && start <= counting->time &&
                   start + mark->span_ns > counting->time;
    return VV_OK;
}

/* Who wishes for blocks begins with values where another one has values: these have no marks. */
static void a_unit_of_its_first_values_is_marked(void **state)
{
    (void)state;
    has_tiers = true;
    make_cluster(1);
    rows_tenants[0] = "t";
    rows_tenants[1] = "";
    for (uint32_t i = 0; i < 2; i++) {
        (void)make_node(i);
    }
    write_at(&nodes[0], RIG_START - 5 * VV_DAY);
    for (size_t i = 0; i < 4; i++) {
        work(&nodes[0]);
        (void)rig_step(&nodes[1].rig, VV_TASK_BEAT);
        (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
        advance(VV_SECOND);
    }
    write_at(&nodes[1], now_ns());
    work(&nodes[1]);
    struct vv_store *store = nodes[1].rig.engine->store;
    struct vv_registry *registry = nodes[1].rig.engine->registry;
    struct counting counting = {.time = now_ns()};
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_int_equal(store->ops->values_max(store, tenant) > 0, true); /* or it is no test */
    for (int tier = 0; tier < VV_SPACES; tier++) {
        uint32_t part = 0;
        counting.n = 0;
        counting.tenant = vv_registry_tiers(registry, tenant).spaces[tier];
        assert_int_equal(store->ops->shared->look_at_marks(store, INT64_MIN, &part, UINT64_MAX,
                                                           count_mark, &counting, NULL),
                         VV_OK);
        assert_int_equal(counting.n, 1);
    }
    drop_cluster();
    has_tiers = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(different_classes),
        cmocka_unit_test(different_layouts),
        cmocka_unit_test(a_unit_of_its_first_values_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
