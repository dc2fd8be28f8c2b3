/* SPDX-License-Identifier: Apache-2.0 */
/* The registry's names for the store on Cassandra. */
#include "engine/names.h"

#include "../fleet/fleet_fixture.h"
#include "../registry/registry_fixture.h"

struct fixture {
    struct vv_registry *registry;
    struct vv_names *names;
    struct vv_store_names of;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->registry = fixture_open(NULL);
    f->names = vv_names_create();
    assert_non_null(f->names);
    vv_names_set_registry(f->names, f->registry);
    f->of = vv_names_of_store(f->names);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    vv_names_destroy(f->names);
    vv_registry_destroy(f->registry);
    free(f);
    return 0;
}

static void numbers_become_names(void **state)
{
    struct fixture *f = *state;
    uint32_t tenant = fixture_tenant(f->registry, "plant");
    uint32_t measurement = fixture_measurement(f->registry, tenant, "a.b");
    uint32_t metric = fixture_metric(f->registry, measurement, "c.d", VV_INT64);
    uint32_t found = 99;
    enum vv_value_type type = VV_FLOAT64;
    assert_str(f->of.tenant(f->of.context, tenant), "plant");
    assert_str(f->of.measurement(f->of.context, measurement), "a.b");
    assert_str(f->of.field(f->of.context, metric, &found, &type), "c.d");
    assert_int_equal(found, measurement);
    assert_int_equal(type, VV_INT64);
    assert_int_equal(f->of.tenant(f->of.context, 77).size, 0);
    assert_int_equal(f->of.measurement(f->of.context, 77).size, 0);
    assert_int_equal(f->of.field(f->of.context, 77, &found, &type).size, 0);
}

static void metrics_are_found_by_id_and_by_name(void **state)
{
    struct fixture *f = *state;
    uint32_t tenant = fixture_tenant(f->registry, "plant");
    uint32_t other = fixture_tenant(f->registry, "other");
    char name[16];
    for (uint32_t i = 0; i < 300; i++) { /* more as time goes on */
        uint32_t owner = i % 2 ? tenant : other;
        uint32_t measurement = fixture_measurement(f->registry, owner, i % 3 ? "m" : "m.n");
        snprintf(name, sizeof name, "f%u", i);
        uint32_t metric = fixture_metric(f->registry, measurement, name, VV_FLOAT64);
        int64_t id;
        uint32_t found = VV_REGISTRY_NONE;
        struct vv_str field = vv_str_of(name);
        assert_true(vv_cassandra_metric_id(vv_str_of(i % 3 ? "m" : "m.n"), field, &id));
        assert_true(f->of.metric(f->of.context, measurement, id, &found));
        assert_int_equal(found, metric);
        assert_false(f->of.metric(f->of.context, measurement, id + 1, &found));
        assert_false(f->of.metric(f->of.context, measurement + 10, id, &found));
        snprintf(name, sizeof name, "%s.f%u", i % 3 ? "m" : "m.n", i);
        assert_true(f->of.metric_named(f->of.context, owner, vv_str_of(name), &found));
        assert_int_equal(found, metric);
        assert_false(
            f->of.metric_named(f->of.context, i % 2 ? other : tenant, vv_str_of(name), &found));
        assert_false(f->of.metric_named(f->of.context, owner, TEXT("m"), &found));
    }
}

/* Metrics that another node made are learnt when they are met, at most every 200 ms. */
static void unknown_metrics_are_learnt(void **state)
{
    (void)state;
    fake_begin(5);
    struct node *a = node_open(1);
    struct node *b = node_open(2);
    struct vv_names *names = vv_names_create();
    assert_non_null(names);
    vv_names_set_registry(names, b->registry);
    vv_names_set_fleet(names, b->fleet);
    struct vv_store_names of = vv_names_of_store(names);
    vv_sim_clock_advance(&b->clock, VV_SECOND);
    node_metric(b, "t", "pump", "speed", VV_INT64);
    node_metric(a, "t", "pump", "temp", VV_INT64);
    node_flush(a);
    int64_t id;
    uint32_t found;
    assert_true(vv_cassandra_metric_id(TEXT("pump"), TEXT("temp"), &id));
    assert_true(of.metric(of.context, 0, id, &found));
    assert_int_equal(found, 1);
    node_metric(a, "t", "pump", "flow", VV_INT64);
    node_flush(a);
    assert_true(vv_cassandra_metric_id(TEXT("pump"), TEXT("flow"), &id));
    assert_false(of.metric(of.context, 0, id, &found));
    vv_sim_clock_advance(&b->clock, 200 * VV_MILLISECOND);
    assert_true(of.metric_named(of.context, 0, TEXT("pump.flow"), &found));
    assert_int_equal(found, 2);
    vv_names_destroy(names);
    node_close(a);
    node_close(b);
    fake_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(numbers_become_names, setup, teardown),
        cmocka_unit_test_setup_teardown(metrics_are_found_by_id_and_by_name, setup, teardown),
        cmocka_unit_test(unknown_metrics_are_learnt),
    };
    return cmocka_run_group_tests_name("engine/names", tests, NULL, NULL);
}
