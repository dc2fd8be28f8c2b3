/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes do anything in any order, learn in any order, end and begin again: in the end all know the
 * same. */
#include "fleet_fixture.h"

#define NODES 4

struct world {
    struct node *nodes[NODES + 1];
    struct vv_random random;
};

static uint32_t pick(struct world *world, uint32_t n)
{
    return (uint32_t)vv_random_below(&world->random, n);
}

static void change_tenant(struct world *world, struct node *node, const char *tenant)
{
    uint32_t number = node_tenant(node, tenant);
    if (pick(world, 3) == 0) {
        vv_registry_set_retention(node->registry, number, (1 + pick(world, 5)) * VV_DAY);
        if (pick(world, 3) == 0) {
            int64_t until = pick(world, 5) * VV_HOUR;
            vv_registry_note_whole(
                node->registry, number,
                (struct vv_whole){.longer = {{1 + pick(world, 9) * VV_HOUR, pick(world, 9) * VV_DAY,
                                              pick(world, 2) * pick(world, 9) * VV_HOUR,
                                              pick(world, 9) * VV_DAY}},
                                  .n = 1,
                                  .shorter = {{until, pick(world, 9) * VV_DAY}},
                                  .n_shorter = until > 0});
        }
        vv_registry_set_late(node->registry, number,
                             (struct vv_late){VV_LATE_REFUSE, (1 + pick(world, 5)) * VV_HOUR});
    }
}

static void change_metric(struct world *world, struct node *node, const char *tenant)
{
    char measurement[16];
    char field[16];
    char text[16];
    snprintf(measurement, sizeof measurement, "m%u", pick(world, 3));
    snprintf(field, sizeof field, "f%u", pick(world, 4));
    uint32_t metric =
        node_metric(node, tenant, measurement, field, pick(world, 2) ? VV_INT64 : VV_FLOAT64);
    if (pick(world, 2)) {
        snprintf(text, sizeof text, "t%u", pick(world, 50));
        node_describe(node, metric, pick(world, 2) ? text : NULL, pick(world, 2) ? text : NULL);
    }
}

static void change_source(struct world *world, struct node *node, const char *tenant)
{
    char text[96];
    int size = pick(world, 5) ? snprintf(text, sizeof text, "id=s%u,", pick(world, 3)) : 0;
    switch (pick(world, 4)) {
    case 0:
        text[size ? size - 1 : 0] = '\0';
        break;
    case 1:
        snprintf(text + size, sizeof text - (size_t)size, "a=%u", pick(world, 4));
        break;
    default:
        snprintf(text + size, sizeof text - (size_t)size, "a=%u,b=%u", pick(world, 4),
                 pick(world, 4));
        break;
    }
    /* Many from the same times, so that versions meet; enough to go beyond what is kept. */
    uint32_t source = node_source(node, tenant, text, pick(world, 80));
    if (pick(world, 3) == 0) {
        const struct vv_plan plan = {VV_TIME_MIN, (1 + pick(world, 3)) * VV_HOUR, VV_HOUR, 1, 0};
        node_agree(node, source, plan);
    }
}

static void do_anything(struct world *world, struct node *node)
{
    char tenant[16];
    snprintf(tenant, sizeof tenant, "t%u", pick(world, 2));
    vv_sim_clock_advance(&node->clock, pick(world, 2) * VV_MICROSECOND);
    switch (pick(world, 16)) {
    case 0:
        change_tenant(world, node, tenant);
        break;
    case 1:
    case 2:
        change_metric(world, node, tenant);
        break;
    case 3:
        node_flush(node);
        break;
    case 4:
    case 5:
        node_learn(node);
        break;
    case 6:
        node_keep(node);
        break;
    case 7:
        node_restart(node, pick(world, 2));
        break;
    default:
        change_source(world, node, tenant);
        break;
    }
}

static void all_nodes_come_to_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fake_begin(seed);
        struct world world = {.random = {seed * 977}};
        for (uint32_t i = 1; i <= NODES; i++) {
            world.nodes[i] = node_open(i);
        }
        for (int step = 0; step < 600; step++) {
            do_anything(&world, world.nodes[1 + pick(&world, NODES)]);
        }
        for (uint32_t i = 1; i <= NODES; i++) {
            node_flush(world.nodes[i]);
        }
        for (uint32_t i = 1; i <= 2 * NODES; i++) { /* what one has to add to it, too */
            node_learn(world.nodes[1 + i % NODES]);
            node_keep(world.nodes[1 + i % NODES]);
        }
        print_message("seed %llu: %zu told\n", (unsigned long long)seed, hub.n);
        for (uint32_t i = 2; i <= NODES; i++) {
            assert_same_nodes(world.nodes[1], world.nodes[i]);
        }
        uint64_t told[NODES + 1];
        for (uint32_t i = 1; i <= NODES; i++) { /* nothing new: nothing is told; all was kept */
            told[i] = hub.nodes[i].told;
            node_restart(world.nodes[i], true);
            node_learn(world.nodes[i]);
            node_flush(world.nodes[i]);
            assert_same_nodes(world.nodes[1], world.nodes[i]);
            assert_int_equal(hub.nodes[i].told, told[i]);
        }
        for (uint32_t i = 1; i <= NODES; i++) {
            node_close(world.nodes[i]);
        }
        fake_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_nodes_come_to_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
