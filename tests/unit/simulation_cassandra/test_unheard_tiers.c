/* SPDX-License-Identifier: Apache-2.0 */
/* Tiers that were switched on unheard: what a node writes that has not learnt of them yet is in
 * their units all the same, also where these were built before it came. */
#include "tiers_fixture.h"

#define SETS_MAX  VV_SIM_CASSANDRA_SETS
#define LONG_AGO  (5 * VV_DAY) /* all units of then are over, and built at once */
#define EACH_WAIT (11 * VV_SECOND)

static const char *const layouts[] = {"rows", "blocks"};

static int64_t long_ago(void)
{
    return vv_time_floor(now_ns(), VV_HOUR) - LONG_AGO;
}

static void begin_without_tiers(const char *layout, uint64_t seed)
{
    begin_with(layout, seed, false);
    (void)rig_step(&nodes[0].rig, VV_TASK_LEARN);
    (void)rig_step(&nodes[1].rig, VV_TASK_LEARN);
}

/* Minutes, hours and days, from now on. */
static void switch_on(struct node *node)
{
    const int64_t for_ever_ns[VV_SPACES] = {0};
    set_tiers(node, for_ever_ns);
}

/* The second node has one more point of then, and all units of then built. */
static void build(void)
{
    write_at(&nodes[1], long_ago());
    work(&nodes[1]);
    seal(&nodes[1]);
}

static void expect_all(const char *layout, uint32_t set, const char *when)
{
    for (size_t i = 0; i < 2; i++) {
        for (int tier = 0; tier < VV_SPACES; tier++) {
            long long n = count_by(&nodes[i], (enum vv_space)tier);
            if (n != written) {
                fail_msg("%s, set %u: node %zu has %lld of %lld points in its tier %d %s", layout,
                         set, i, n, written, tier, when);
            }
        }
    }
}

static void hear(void)
{
    for (size_t i = 0; i < 4; i++) {
        (void)rig_step(&nodes[i % 2].rig, VV_TASK_LEARN);
        (void)rig_step(&nodes[i % 2].rig, VV_TASK_BEAT);
    }
}

static void what_is_flushed_by_who_has_not_learnt_of_a_tier_is_in_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin_without_tiers(layouts[i], 1);
        switch_on(&nodes[1]);
        build();
        write_at(&nodes[0], long_ago());
        assert_int_equal(rig_step(&nodes[0].rig, VV_TASK_FLUSH), VV_OK);
        hear();
        expect_all(layouts[i], 0, "as it comes");
        seal(&nodes[1]);
        expect_all(layouts[i], 0, "when all is built");
        end();
    }
}

/* ---- a part of Cassandra is away ---- */

/* The first node flushes without the set; what belongs there waits with it. */
static void flush_without(uint32_t set, bool *learns_out)
{
    enum vv_status status = VV_IO;
    vv_sim_cassandra_set_away(model, UINT32_C(1) << set);
    write_at(&nodes[0], long_ago());
    for (int i = 0; i < 20 && status != VV_OK; i++) {
        status = rig_step(&nodes[0].rig, VV_TASK_FLUSH);
        advance(EACH_WAIT);
    }
    assert_int_equal(status, VV_OK);
    *learns_out = rig_step(&nodes[0].rig, VV_TASK_LEARN) == VV_OK;
}

static void come_back(void)
{
    vv_sim_cassandra_set_away(model, 0);
    for (int i = 0; i < 20; i++) {
        advance(EACH_WAIT);
        work(&nodes[0]);
    }
    assert_int_equal(parked(&nodes[0]), 0);
    work(&nodes[1]);
    seal(&nodes[1]);
    seal(&nodes[0]);
    hear();
}

static void so_it_is_when_others_cannot_be_heard_then(void **state)
{
    (void)state;
    int unheard = 0;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        for (size_t i = 0; i < 2; i++) {
            bool learns;
            begin_without_tiers(layouts[i], set + 1);
            switch_on(&nodes[1]);
            build();
            flush_without(set, &learns);
            unheard += !learns && parked(&nodes[0]) == 0;
            come_back();
            expect_all(layouts[i], set, "when all is built");
            end();
        }
    }
    assert_true(unheard > 0);
}

/* It is delivered when units have been built of a tier that was unknown when it was parked. */
static void so_it_is_when_it_was_parked_before_the_tier_was_switched_on(void **state)
{
    (void)state;
    int waited = 0;
    for (uint32_t set = 0; set < SETS_MAX; set++) {
        for (size_t i = 0; i < 2; i++) {
            bool learns;
            begin_without_tiers(layouts[i], set + 1);
            write_at(&nodes[1], long_ago()); /* so that the source has a place there */
            work(&nodes[1]);
            (void)rig_step(&nodes[0].rig, VV_TASK_LEARN);
            flush_without(set, &learns);
            waited += parked(&nodes[0]) > 0;
            vv_sim_cassandra_set_away(model, 0);
            switch_on(&nodes[1]);
            build();
            come_back();
            expect_all(layouts[i], set, "when all is built");
            end();
        }
    }
    assert_true(waited > 0);
}

/* ---- what is not told yet ---- */

/* A generation that was cut before the tier was switched on makes units of it stale before others
 * can hear of it. */
static void nothing_is_built_of_a_tier_before_others_can_have_learnt_of_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        begin_without_tiers(layouts[i], 1);
        write_at(&nodes[1], long_ago());
        vv_sim_cassandra_set_away(model, UINT32_MAX);
        assert_int_not_equal(rig_step(&nodes[1].rig, VV_TASK_FLUSH), VV_OK);
        vv_sim_cassandra_set_away(model, 0);
        switch_on(&nodes[1]);
        advance(EACH_WAIT);
        vv_sim_cassandra_settle(model);
        assert_non_null(nodes[1].rig.engine->job_first);
        struct vv_job *cut = nodes[1].rig.engine->job_first;
        for (int n = 0; n < 20 && nodes[1].rig.engine->job_first == cut; n++) {
            (void)rig_step(&nodes[1].rig, VV_TASK_FLUSH);
            advance(EACH_WAIT);
        }
        seal(&nodes[1]);
        write_at(&nodes[0], long_ago());
        (void)rig_step(&nodes[0].rig, VV_TASK_LEARN);
        assert_int_equal(rig_step(&nodes[0].rig, VV_TASK_FLUSH), VV_OK);
        seal(&nodes[0]);
        work(&nodes[1]);
        seal(&nodes[1]);
        hear();
        expect_all(layouts[i], 0, "when all is built");
        end();
    }
}

/* A deletion is told before anything is flushed. What others put meanwhile would be in no tier. */
static void who_hears_of_a_tenant_by_a_deletion_hears_of_its_tiers(void **state)
{
    (void)state;
    uint32_t tenant;
    has_tiers = true;
    make_cluster(1);
    (void)make_node(0);
    (void)make_node(1);
    write_at(&nodes[1], long_ago());
    delete_between(&nodes[1], long_ago() - VV_HOUR, long_ago());
    hear();
    kill_node(&nodes[1]);
    advance(EACH_WAIT);
    (void)rig_step(&nodes[0].rig, VV_TASK_LEARN);
    struct vv_registry *registry = nodes[0].rig.engine->registry;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    struct vv_tiers tiers = vv_registry_tiers(registry, tenant);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        assert_int_not_equal(tiers.spaces[tier], VV_REGISTRY_NONE);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_flushed_by_who_has_not_learnt_of_a_tier_is_in_it),
        cmocka_unit_test(so_it_is_when_others_cannot_be_heard_then),
        cmocka_unit_test(so_it_is_when_it_was_parked_before_the_tier_was_switched_on),
        cmocka_unit_test(nothing_is_built_of_a_tier_before_others_can_have_learnt_of_it),
        cmocka_unit_test(who_hears_of_a_tenant_by_a_deletion_hears_of_its_tiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
