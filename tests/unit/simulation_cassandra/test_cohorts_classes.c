/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What many sources have together of measurements that are in a class, where nodes share the store:
 * a class has cohorts of its own in its own tiers, beside those of its tenant, and as long as
 * these.
 */
#include "cohorts_fixture.h"

#include "fleet/told.h"
#include "registry/registry_private.h"

#define AS  VV_RETENTION_AS_IS
#define OFF VV_SPACE_OFF_NS

/* m, which is in the class, and n, which is not, of each source. */
static void write_both(int64_t begun_ns)
{
    for (int round = 0; round < 10; round++) {
        for (size_t i = 0; i < SOURCES; i++) {
            write_measurement(&nodes[round % 2], "m", sources[i], begun_ns + round * VV_MINUTE);
            write_measurement(&nodes[(round + 1) % 2], "n", sources[i],
                              begun_ns + round * VV_MINUTE);
        }
        work(&nodes[0]);
        work(&nodes[1]);
    }
    assert_place("m", "t/@c");
    assert_place("n", "t");
}

/* Of one measurement, on both nodes, together and one by one; how many parts were of cohorts. */
static uint64_t assert_measurement(const char *metric, long long count, const char *when)
{
    uint64_t cohorts = 0;
    asked_metric = metric;
    for (size_t i = 0; i < 2; i++) {
        uint64_t parts = assert_same(&nodes[i], when);
        assert_int_equal(ask(&nodes[i], "all", NULL, NULL).count, count);
        assert_true(i == 0 || (cohorts > 0) == (parts > 0));
        cohorts = parts;
    }
    asked_metric = "m.v";
    return cohorts;
}

static void a_class_has_cohorts_beside_those_of_its_tenant(void **state)
{
    static const struct vv_retentions kept = {20 * VV_DAY, {OFF, 250 * VV_DAY, 0}};
    (void)state;
    begin_empty(1);
    make_class(&kept);
    int64_t begun = now_ns();
    write_both(begun);
    build_all();
    assert_true(assert_measurement("m.v", written / 2, "built") > 0);
    assert_true(assert_measurement("n.v", written / 2, "built") > 0);
    long long before = written;
    write_measurement(&nodes[1], "m", sources[1], begun); /* late, of the class only */
    work(&nodes[1]);
    assert_int_equal(assert_measurement("m.v", before / 2 + 1, "late"), 0);
    assert_true(assert_measurement("n.v", before / 2, "late") > 0);
    build_all();
    assert_true(assert_measurement("m.v", before / 2 + 1, "built again") > 0);
    end();
}

/* Each as long as its place's tier. */
static void cohorts_of_a_class_are_kept_as_long_as_its_tiers(void **state)
{
    static const struct vv_retentions kept = {20 * VV_DAY, {OFF, 90 * VV_DAY, OFF}};
    (void)state;
    begin_empty(2);
    make_class(&kept);
    write_both(now_ns());
    build_all();
    for (int i = 0; i < 8; i++) { /* points are gone after 20 days, or 40 */
        advance(8 * VV_DAY);
        for (size_t node = 0; node < 2; node++) {
            work(&nodes[node]);
            (void)rig_step(&nodes[node].rig, VV_TASK_EXPIRE);
        }
    }
    assert_true(assert_measurement("m.v", written / 2, "points are gone") > 0);
    assert_true(assert_measurement("n.v", written / 2, "points are gone") > 0);
    advance(40 * VV_DAY);
    work(&nodes[0]);
    work(&nodes[1]);
    assert_int_equal(assert_measurement("m.v", 0, "hours are gone"), 0);
    assert_true(assert_measurement("n.v", written / 2, "hours are there") > 0);
    end();
}

static void a_class_without_tiers_has_no_cohorts(void **state)
{
    static const struct vv_retentions kept = {20 * VV_DAY, {OFF, OFF, OFF}};
    (void)state;
    begin_empty(3);
    make_class(&kept);
    write_both(now_ns());
    build_all();
    assert_true(assert_measurement("n.v", written / 2, "built") > 0);
    for (size_t i = 0; i < 2; i++) {
        assert_false(ask(&nodes[i], "all", NULL, NULL).is_there); /* tier=hour is refused */
        struct answer raw = ask_tier(&nodes[i], "raw", "all", NULL, NULL);
        assert_int_equal(raw.count, written / 2);
        assert_int_equal(raw.facts.tiers[VV_SPACE_HOUR].cohorts, 0);
    }
    end();
}

/* Of one source, at the second node; the sweep is over some minutes later. */
static void delete_some(void)
{
    static const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("measurement"), VV_STR_LITERAL("m")},
        {VV_STR_LITERAL("tag"), VV_STR_LITERAL("id=18")},
        {VV_STR_LITERAL("time"), VV_STR_LITERAL("all")},
    };
    struct vv_request *request;
    struct vv_deleted deleted;
    assert_int_equal(vv_request_parse(VV_REQUEST_DELETE, parameters, 4, now_ns(), &request, NULL),
                     VV_OK);
    assert_int_equal(vv_engine_delete(nodes[1].rig.engine, request, &deleted, NULL), VV_OK);
    vv_request_destroy(request);
    for (int i = 0; i < 40; i++) {
        advance(30 * VV_SECOND);
        for (size_t node = 0; node < 2; node++) {
            work(&nodes[node]);
            (void)rig_step(&nodes[node].rig, VV_TASK_SWEEP);
        }
    }
}

/* Whoever deletes it. */
static void what_is_deleted_of_a_class_is_in_no_cohort(void **state)
{
    static const struct vv_retentions kept = {20 * VV_DAY, {OFF, 250 * VV_DAY, 0}};
    (void)state;
    begin_empty(4);
    make_class(&kept);
    write_both(now_ns());
    build_all();
    assert_true(assert_measurement("m.v", written / 2, "built") > 0);
    delete_some();
    long long left = written / 2 / SOURCES * (SOURCES - 1);
    (void)assert_measurement("m.v", left, "swept");
    build_all();
    assert_true(assert_measurement("m.v", left, "built again") > 0);
    assert_true(assert_measurement("n.v", written / 2, "built again") > 0);
    end();
}

/* What the second node can't understand of a measurement; and it does not know where m is. */
static void make_it_lack_a_place(void)
{
    struct vv_store *store = nodes[0].rig.engine->store;
    struct vv_registry *registry = nodes[1].rig.engine->registry;
    const struct vv_told told = {.kind = VV_TOLD_MEASUREMENT,
                                 .tenant = VV_STR_LITERAL("t"),
                                 .name = VV_STR_LITERAL("z"),
                                 .value = VV_STR_LITERAL("\1damaged")};
    uint32_t tenant;
    uint32_t number;
    assert_int_equal(store->ops->shared->tell(store, &told, NULL), VV_OK);
    assert_int_equal(store->ops->confirm(store, NULL), VV_OK);
    work(&nodes[1]);
    assert_true(vv_fleet_lacks(nodes[1].rig.engine->fleet));
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("t"), false, &tenant, NULL),
                     VV_OK);
    assert_int_equal(
        vv_registry_measurement(registry, tenant, VV_STR_LITERAL("m"), false, &number, NULL),
        VV_OK);
    vv_measurement_place(registry, vv_measurement_at(registry, number), tenant, false);
}

/* It would look where there is nothing, and say that all is swept. */
static void who_does_not_know_where_it_is_leaves_sweeping_to_others(void **state)
{
    static const struct vv_retentions kept = {20 * VV_DAY, {OFF, 250 * VV_DAY, 0}};
    (void)state;
    begin_empty(4);
    make_class(&kept);
    write_both(now_ns());
    build_all();
    make_it_lack_a_place();
    delete_some();
    build_all();
    long long left = written / 2 / SOURCES * (SOURCES - 1);
    assert_int_equal(ask_tier(&nodes[0], "raw", "all", NULL, NULL).count, left);
    assert_int_equal(ask(&nodes[0], "all", NULL, NULL).count, left);
    assert_int_equal(ask(&nodes[0], "source", NULL, NULL).count, left);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_has_cohorts_beside_those_of_its_tenant),
        cmocka_unit_test(cohorts_of_a_class_are_kept_as_long_as_its_tiers),
        cmocka_unit_test(a_class_without_tiers_has_no_cohorts),
        cmocka_unit_test(what_is_deleted_of_a_class_is_in_no_cohort),
        cmocka_unit_test(who_does_not_know_where_it_is_leaves_sweeping_to_others),
    };
    const struct CMUnitTest as_of_others[] = {
        cmocka_unit_test(what_is_parked_of_a_source_is_missing_in_no_answer_together),
        cmocka_unit_test(what_a_lost_node_had_parked_leaves_no_record_as_it_was),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    in_class = true;
    return failed + cmocka_run_group_tests(as_of_others, NULL, NULL);
}
