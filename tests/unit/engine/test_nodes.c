/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine tells of the nodes that share its store: list, metrics, readiness, answers. */
#include "nodes_rig.h"

#include "engine/engine_private.h"
#include "registry/shared.h"

#include <stdlib.h>

static void this_node_comes_first(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_engine_node *nodes;
    size_t n;
    rig_init(&rig, 5, false);
    rig_write(&rig);
    vv_sim_clock_advance(&rig.clock, VV_SECOND);
    fake_shared_set_peer(rig.fake, 2, false, 100);
    fake_shared_set_peer(rig.fake, 9, true, 90);
    assert_int_equal(vv_engine_read_nodes(rig.engine, &nodes, &n), VV_OK);
    assert_int_equal(n, 3);
    assert_int_equal(nodes[0].node, 5);
    assert_true(nodes[0].is_self && nodes[0].is_known && !nodes[0].is_gone);
    assert_int_equal(nodes[0].flushed_until_ns, RIG_START);
    assert_int_equal(nodes[1].node, 2);
    assert_true(!nodes[1].is_self && nodes[1].is_known && !nodes[1].is_gone);
    assert_int_equal(nodes[1].flushed_until_ns, 100);
    assert_int_equal(nodes[2].node, 9);
    assert_true(nodes[2].is_gone);
    free(nodes);
    rig_restart(&rig, 1); /* what is replayed is not in the store yet */
    assert_int_equal(vv_engine_read_nodes(rig.engine, &nodes, &n), VV_OK);
    assert_false(nodes[0].is_known);
    free(nodes);
    rig_deinit(&rig);
}

static void a_store_of_one_node_has_one(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_engine_node *nodes;
    size_t n;
    rig_init(&rig, 0, false);
    assert_int_equal(vv_engine_read_nodes(rig.engine, &nodes, &n), VV_OK);
    assert_int_equal(n, 1);
    assert_true(nodes[0].is_self && nodes[0].is_known);
    assert_int_equal(nodes[0].node, 0);
    assert_int_equal(nodes[0].flushed_until_ns, RIG_START);
    free(nodes);
    rig_deinit(&rig);
}

static void assert_ready(struct rig *rig, const char *part)
{
    struct vv_engine_health health;
    vv_engine_read_health(rig->engine, &health);
    assert_true(health.ready);
    assert_non_null(strstr(health.reason, part));
    assert_true(part[0] || !health.reason[0]);
}

static void a_gone_node_is_a_reason_and_no_hindrance(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 5, false);
    assert_ready(&rig, "");
    fake_shared_set_peer(rig.fake, 2, false, 100);
    assert_ready(&rig, "");
    fake_shared_set_peer(rig.fake, 2, true, 100);
    assert_ready(&rig, "has not been heard of");
    assert_int_equal(vv_engine_admit(rig.engine, NULL), VV_OK);
    fake_shared_set_peer(rig.fake, 2, false, 100);
    assert_ready(&rig, "");
    rig_deinit(&rig);
}

static char *metrics_of(struct rig *rig)
{
    struct vv_buffer buffer = {0};
    vv_engine_write_metrics(rig->engine, &buffer);
    vv_buffer_u8(&buffer, 0);
    return (char *)buffer.data;
}

static void metrics_count_the_others(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0, false);
    char *text = metrics_of(&rig);
    assert_null(strstr(text, "varve_nodes_"));
    free(text);
    rig_deinit(&rig);
    rig_init(&rig, 5, false);
    text = metrics_of(&rig);
    assert_non_null(strstr(text, "\nvarve_nodes_known 0\n"));
    assert_non_null(strstr(text, "\nvarve_nodes_flushed_age_seconds 0\n"));
    free(text);
    fake_shared_set_peer(rig.fake, 2, false, RIG_START - 8 * VV_SECOND);
    fake_shared_set_peer(rig.fake, 3, true, RIG_START - 64 * VV_SECOND);
    fake_shared_set_peer(rig.fake, 4, false, RIG_START - 16 * VV_SECOND);
    text = metrics_of(&rig);
    assert_non_null(strstr(text, "\nvarve_nodes_known 3\n"));
    assert_non_null(strstr(text, "\nvarve_nodes_gone 1\n"));
    assert_non_null(strstr(text, "\nvarve_nodes_flushed_age_seconds 64\n"));
    free(text);
    rig_deinit(&rig);
}

static size_t two_regions(struct vv_store *store, struct vv_region regions_out[VV_REGIONS_MAX])
{
    (void)store;
    regions_out[0] = (struct vv_region){"east", VV_REGION_READABLE};
    regions_out[1] = (struct vv_region){"west", VV_REGION_ABSENT};
    return 2;
}

static void regions_are_counted_apart(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_engine_node *nodes;
    size_t n;
    rig_init(&rig, 5, false);
    fake_shared_set_peer(rig.fake, 2, false, RIG_START - 8 * VV_SECOND);
    fake_shared_set_peer(rig.fake, 3, true, RIG_START - 64 * VV_SECOND);
    rig.fake->peers[1].region = 1;
    char *text = metrics_of(&rig);
    assert_null(strstr(text, "varve_region_"));
    free(text);
    rig.fake->shared.regions = two_regions;
    text = metrics_of(&rig);
    assert_non_null(strstr(text, "\nvarve_nodes_known 2\n"));
    assert_non_null(strstr(text, "\nvarve_nodes_flushed_age_seconds 8\n"));
    assert_non_null(strstr(text, "\nvarve_region_readable{region=\"east\"} 1\n"));
    assert_non_null(strstr(text, "\nvarve_region_readable{region=\"west\"} 0\n"));
    assert_null(strstr(text, "varve_region_heard_age_seconds{region=\"east\"}"));
    assert_non_null(strstr(text, "\nvarve_region_heard_age_seconds{region=\"west\"} 64.000\n"));
    free(text);
    assert_int_equal(vv_engine_read_nodes(rig.engine, &nodes, &n), VV_OK);
    assert_int_equal(n, 3);
    assert_int_equal(nodes[0].region, 0);
    assert_int_equal(nodes[1].region, 0);
    assert_int_equal(nodes[2].region, 1);
    free(nodes);
    rig_deinit(&rig);
}

static void answers_say_it(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_result_facts facts;
    rig_init(&rig, 5, false);
    rig_write(&rig);
    assert_int_equal(rig_count(&rig, &facts), 1);
    assert_false(facts.has_peers);
    fake_shared_set_peer(rig.fake, 2, true, RIG_START - VV_MINUTE);
    assert_int_equal(rig_count(&rig, &facts), 1);
    assert_true(facts.has_peers && facts.complete);
    assert_int_equal(facts.complete_until_ns, RIG_START - VV_MINUTE);
    assert_int_equal(facts.nodes_gone, 1);
    assert_int_equal(facts.gone[0].node, 2);
    rig_deinit(&rig);
}

/* The others hear of it later; this node needs nobody for it. */
static void what_is_deleted_where_nodes_share_the_store_is_hidden_at_once(void **state)
{
    (void)state;
    static const struct vv_parameter parameters[] = {
        {{"tenant", 6}, {"t", 1}}, {{"all", 3}, {"true", 4}}, {{"time", 4}, {"all", 3}}};
    struct rig rig;
    struct vv_request *request;
    struct vv_deleted deleted;
    struct vv_result_facts facts;
    struct vv_error error = {0};
    rig_init(&rig, 5, false);
    rig_write(&rig);
    assert_int_equal(vv_request_parse(VV_REQUEST_DELETE, parameters, 3, 0, &request, NULL), VV_OK);
    assert_int_equal(rig_count(&rig, &facts), 1);
    assert_int_equal(vv_engine_delete(rig.engine, request, &deleted, &error), VV_OK);
    assert_int_equal(deleted.sources, 1);
    assert_int_equal(rig_count(&rig, &facts), 0);
    vv_request_destroy(request);
    rig_deinit(&rig);
}

/* By a node whose clock is ahead of this one's; but one that is wrong by far takes none with it. */
static void what_is_written_after_a_deletion_was_heard_stays(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_result_facts facts;
    rig_init(&rig, 5, false);
    rig_write(&rig);
    uint64_t now_us = RIG_START / 1000;
    struct vv_marker marker = {.from = VV_TIME_MIN,
                               .to = VV_TIME_MAX + 1,
                               .stamp = vv_stamp_make(now_us + 60000000, 9),
                               .scope = VV_DELETION_SOURCE,
                               .is_told = true};
    assert_int_equal(vv_deletions_learn(rig.engine->deletions, 0, &marker, 1), VV_OK);
    assert_int_equal(rig_count(&rig, &facts), 0);
    rig_write(&rig);
    assert_int_equal(rig_count(&rig, &facts), 1);
    assert_true(rig.engine->last_stamp > marker.stamp);
    marker.stamp = vv_stamp_make(now_us + UINT64_C(90000000000), 9); /* 25 hours */
    assert_int_equal(vv_deletions_learn(rig.engine->deletions, 0, &marker, 1), VV_OK);
    rig_write(&rig);
    assert_true(rig.engine->last_stamp < marker.stamp);
    rig_deinit(&rig);
}

/* Others hear of it with its retention, and not with the default before. */
static void a_new_tenant_is_journaled_with_its_retention(void **state)
{
    (void)state;
    static const int64_t retentions[] = {0, 30 * VV_DAY}; /* the first is the default */
    for (size_t i = 0; i < 2; i++) {
        struct rig rig;
        uint32_t tenant;
        rig_init(&rig, 5, false);
        (void)rig_step(&rig, VV_TASK_LEARN);
        assert_int_equal(
            vv_engine_set_retention(rig.engine, VV_STR_LITERAL("new"), retentions[i], NULL), VV_OK);
        rig_restart(&rig, 1);
        struct vv_registry *registry = rig.engine->registry;
        assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("new"), false, &tenant, NULL),
                         VV_OK);
        assert_int_equal(vv_registry_retention(registry, tenant), retentions[i]);
        assert_int_equal(vv_registry_whole(registry, tenant).n, 0);
        rig_deinit(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_deleted_where_nodes_share_the_store_is_hidden_at_once),
        cmocka_unit_test(what_is_written_after_a_deletion_was_heard_stays),
        cmocka_unit_test(a_new_tenant_is_journaled_with_its_retention),
        cmocka_unit_test(this_node_comes_first),
        cmocka_unit_test(a_store_of_one_node_has_one),
        cmocka_unit_test(a_gone_node_is_a_reason_and_no_hindrance),
        cmocka_unit_test(metrics_count_the_others),
        cmocka_unit_test(regions_are_counted_apart),
        cmocka_unit_test(answers_say_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
