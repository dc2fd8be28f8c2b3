/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants: names, limits, retention, and what is settled. */
#include "registry_fixture.h"

static enum vv_status find(struct vv_registry *registry, struct vv_str name, bool create,
                           struct vv_error *error)
{
    uint32_t tenant = 0;
    enum vv_status status = vv_registry_tenant(registry, name, create, &tenant, error);
    assert_int_equal(tenant == VV_REGISTRY_NONE, status != VV_OK);
    return status;
}

static void names_and_numbers(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_error error = {0};
    assert_int_equal(find(registry, TEXT("acme"), false, &error), VV_NOT_FOUND);
    assert_non_null(strstr(error.message, "acme"));
    assert_int_equal(vv_registry_tenant_count(registry), 0);
    assert_int_equal(fixture_tenant(registry, "acme"), 0);
    assert_int_equal(fixture_tenant(registry, "other"), 1);
    assert_int_equal(fixture_tenant(registry, "acme"), 0);
    assert_int_equal(find(registry, TEXT("other"), false, &error), VV_OK);
    assert_str(vv_registry_tenant_name(registry, 1), "other");
    assert_str(vv_registry_tenant_name(registry, 2), "");
    assert_str(vv_registry_tenant_name(registry, VV_REGISTRY_NONE), "");
    assert_int_equal(vv_registry_tenant_count(registry), 2);
    vv_registry_destroy(registry);
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_error error = {0};
    char name[VV_TENANT_NAME_MAX + 1];
    memset(name, 'n', sizeof name);
    assert_int_equal(find(registry, (struct vv_str){name, sizeof name}, true, &error), VV_INVALID);
    assert_int_equal(find(registry, (struct vv_str){name, VV_TENANT_NAME_MAX}, true, &error),
                     VV_OK);
    assert_int_equal(find(registry, TEXT(""), true, &error), VV_INVALID);
    assert_int_equal(find(registry, (struct vv_str){NULL, 0}, true, &error), VV_INVALID);
    assert_int_equal(find(registry, TEXT("a/b"), true, &error), VV_INVALID);
    assert_int_equal(find(registry, TEXT("a\nb"), true, &error), VV_INVALID);
    assert_int_equal(find(registry, TEXT("a\xFF"), true, &error), VV_INVALID);
    assert_int_equal(find(registry, TEXT("a\xFF"), false, NULL), VV_INVALID);
    vv_registry_destroy(registry);
}

static void tenants_have_a_limit(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.tenants_max = 3;
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    fixture_tenant(registry, "a");
    fixture_tenant(registry, "b");
    fixture_tenant(registry, "c");
    struct vv_error error = {0};
    assert_int_equal(find(registry, TEXT("d"), true, &error), VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "3 tenants"));
    assert_int_equal(find(registry, TEXT("b"), true, &error), VV_OK);
    vv_registry_destroy(registry);
}

static void many_tenants(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.tenants_max = 1000;
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    char name[16];
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(fixture_tenant(registry, name), i);
    }
    for (uint32_t i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "t%u", i);
        assert_int_equal(fixture_tenant(registry, name), i);
        assert_str(vv_registry_tenant_name(registry, i), name);
    }
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_int_equal(figures.tenants, 1000);
    vv_registry_destroy(registry);
}

static uint64_t encode(struct vv_registry *registry, uint32_t tenant)
{
    struct vv_buffer buffer = {0};
    uint64_t version = vv_registry_encode(registry, VV_REGISTRY_TENANT, tenant, &buffer);
    assert_int_equal(vv_buffer_status(&buffer), VV_OK);
    vv_buffer_deinit(&buffer);
    return version;
}

static void retention_makes_versions(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "acme");
    assert_int_equal(vv_registry_retention(registry, tenant), 0);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant));
    uint64_t version = encode(registry, tenant);
    vv_registry_settle(registry, VV_REGISTRY_TENANT, tenant, version);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant));

    vv_registry_set_retention(registry, tenant, VV_DAY);
    assert_int_equal(vv_registry_retention(registry, tenant), VV_DAY);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant));
    vv_registry_settle(registry, VV_REGISTRY_TENANT, tenant, version); /* an older one */
    assert_false(vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant));
    uint64_t newer = encode(registry, tenant);
    assert_true(newer > version);
    vv_registry_settle(registry, VV_REGISTRY_TENANT, tenant, newer);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant));
    vv_registry_set_retention(registry, tenant, VV_DAY); /* the same again */
    assert_true(vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant));
    vv_registry_settle(registry, VV_REGISTRY_TENANT, tenant, version);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_TENANT, tenant));
    vv_registry_destroy(registry);
}

static void holes_are_harmless(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    const uint32_t holes[] = {0, 5, 100000, VV_REGISTRY_NONE};
    for (size_t i = 0; i < sizeof holes / sizeof holes[0]; i++) {
        struct vv_buffer buffer = {0};
        vv_registry_set_retention(registry, holes[i], VV_DAY);
        assert_int_equal(vv_registry_retention(registry, holes[i]), 0);
        assert_true(vv_registry_settled(registry, VV_REGISTRY_TENANT, holes[i]));
        assert_int_equal(vv_registry_encode(registry, VV_REGISTRY_TENANT, holes[i], &buffer), 0);
        assert_int_equal(buffer.size, 0);
        vv_registry_settle(registry, VV_REGISTRY_TENANT, holes[i], 1);
        vv_buffer_deinit(&buffer);
    }
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers),        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(tenants_have_a_limit),     cmocka_unit_test(many_tenants),
        cmocka_unit_test(retention_makes_versions), cmocka_unit_test(holes_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
