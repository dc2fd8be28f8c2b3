/* SPDX-License-Identifier: Apache-2.0 */
/* A tier that was off begins anew where nodes share the store: nothing of what it had before is
 * taken for what there is now. */
#include "tiers_fixture.h"

static void set_hours(struct node *node, int64_t kept_ns)
{
    const int64_t wanted[VV_SPACES] = {VV_RETENTION_AS_IS, kept_ns, VV_RETENTION_AS_IS};
    (void)rig_step(&node->rig, VV_TASK_LEARN);
    set_tiers(node, wanted);
}

/* "" while it is off. */
static struct vv_str name_of_hours(struct node *node)
{
    struct vv_registry *registry = node->rig.engine->registry;
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    struct vv_tiers tiers = vv_registry_tiers(registry, tenant);
    return tiers.spaces[VV_SPACE_HOUR] == VV_REGISTRY_NONE
               ? VV_STR_LITERAL("")
               : vv_registry_tenant_name(registry, tiers.spaces[VV_SPACE_HOUR]);
}

static void assert_life(const char *name)
{
    for (size_t n = 0; n < 2; n++) {
        struct vv_str found = name_of_hours(&nodes[n]);
        if (!vv_str_equal(found, vv_str_of(name))) {
            fail_msg("node %zu: hours are in '%.*s', not in '%s'", n, VV_STR_ARG(found), name);
        }
    }
}

static void assert_count(long long count)
{
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(count_by_hours(&nodes[n]), count);
    }
}

/* What comes while it is off comes into hours that it has records of. */
static void a_tier_that_was_off_has_nothing_of_its_former_life(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_minutes(&nodes[1]);
    live_long(2, 12 * VV_HOUR);
    hear_each_other();
    assert_count(written);
    assert_life("t/hour");
    set_hours(&nodes[0], VV_SPACE_OFF_NS);
    hear_each_other();
    assert_life("");
    for (int i = 0; i < 100; i++) {
        write_at(&nodes[1], from + i * VV_SECOND);
    }
    work(&nodes[1]);
    live_long(2, VV_DAY);
    set_hours(&nodes[1], 300 * VV_DAY);
    hear_each_other();
    assert_life("t/hour.2");
    restart_node(&nodes[0], 3);
    restart_node(&nodes[1], 4);
    hear_each_other();
    assert_life("t/hour.2");
    assert_count(written); /* of what is finer */
    live_long(1, VV_DAY);
    hear_each_other();
    assert_count(written);
    long long before = written;
    (void)fill_minutes(&nodes[1]);
    live_long(1, 2 * VV_DAY);
    live_long(5, 9 * VV_DAY);
    hear_each_other();
    assert_count(written - before);
    end();
}

static void it_can_be_switched_on_as_often_as_one_likes_by_any_node(void **state)
{
    (void)state;
    begin("blocks", 1);
    hear_each_other();
    for (int life = 2; life < 6; life++) {
        char name[16];
        snprintf(name, sizeof name, "t/hour.%d", life);
        set_hours(&nodes[life % 2], VV_SPACE_OFF_NS);
        hear_each_other();
        assert_life("");
        live_long(2, VV_DAY); /* until then it went on */
        set_hours(&nodes[0], 300 * VV_DAY);
        set_hours(&nodes[1], 300 * VV_DAY); /* before it has heard of that */
        hear_each_other();
        assert_life(name);
        (void)fill_minutes(&nodes[1]);
        live_long(2, VV_DAY);
        hear_each_other();
        assert_count(written);
    }
    restart_node(&nodes[1], 4);
    hear_each_other();
    assert_life("t/hour.5");
    assert_count(written);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tier_that_was_off_has_nothing_of_its_former_life),
        cmocka_unit_test(it_can_be_switched_on_as_often_as_one_likes_by_any_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
