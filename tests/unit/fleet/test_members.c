/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources are of which cohort: all that the registry has at the time, in one order. */
#include "fleet/members.h"
#include "tier/cohort.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define COHORTS 3
#define SOURCES 500

static struct vv_registry *registry;
static struct vv_members *members;
static struct vv_shared_ops shared;
static struct vv_store_ops ops;
static struct vv_store store;
static uint32_t nameless = VV_REGISTRY_NONE; /* a source whose name is not there yet */

/* Ids descend as numbers ascend. */
static enum vv_status cohort_of(struct vv_store *base, uint32_t tenant, uint32_t source,
                                uint32_t *cohort_out, uint64_t *id_out)
{
    (void)base;
    if (source == nameless) {
        return VV_INVALID;
    }
    *cohort_out = VV_COHORT_NUMBER | (source + tenant) % COHORTS;
    *id_out = UINT64_MAX - source;
    return VV_OK;
}

static uint32_t tenant_named(const char *name)
{
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, vv_str_of(name), true, &tenant, NULL), VV_OK);
    return tenant;
}

static uint32_t add_source(uint32_t tenant, int number)
{
    char value[16];
    uint32_t source;
    snprintf(value, sizeof value, "%d", number);
    const struct vv_tag tag = {VV_STR_LITERAL("host"), vv_str_of(value)};
    assert_int_equal(vv_registry_source(registry, tenant, &tag, 1, 0, &source, NULL), VV_OK);
    return source;
}

static int set_up(void **state)
{
    const struct vv_registry_options options = {
        .tenants_max = 10, .sources_max = 2 * SOURCES, .metrics_max = 10};
    (void)state;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    shared = (struct vv_shared_ops){.cohort_of = cohort_of};
    ops = (struct vv_store_ops){.shared = &shared};
    store = (struct vv_store){.ops = &ops};
    assert_int_equal(vv_members_create(registry, &store, &members), VV_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    vv_members_destroy(members);
    vv_registry_destroy(registry);
    return 0;
}

static size_t check_cohort(uint32_t tenant, uint32_t cohort)
{
    struct vv_member_list list = {0};
    size_t n;
    assert_int_equal(vv_members_of(members, tenant, cohort, &list), VV_OK);
    assert_int_equal(vv_members_count(members, tenant, cohort, &n), VV_OK);
    assert_true(list.n <= n); /* some may have come in between */
    for (size_t i = 0; i < list.n; i++) {
        assert_int_equal(vv_registry_source_tenant(registry, list.items[i].source), tenant);
        assert_true(list.items[i].id == UINT64_MAX - list.items[i].source);
        assert_true(i == 0 || list.items[i - 1].id < list.items[i].id);
    }
    vv_member_list_deinit(&list);
    return n;
}

static void each_source_is_in_its_cohort_as_soon_as_it_is_there(void **state)
{
    (void)state;
    uint32_t one = tenant_named("one");
    uint32_t two = tenant_named("two");
    for (size_t i = 0; i < SOURCES; i++) {
        add_source(i % 5 ? one : two, (int)i);
        if (i % 50 == 7) {
            size_t n = 0;
            for (uint32_t cohort = 0; cohort < COHORTS; cohort++) {
                n += check_cohort(one, VV_COHORT_NUMBER | cohort);
                n += check_cohort(two, VV_COHORT_NUMBER | cohort);
            }
            assert_int_equal(n, i + 1);
        }
    }
    assert_int_equal(check_cohort(one, VV_COHORT_NUMBER | COHORTS), 0);
    assert_int_equal(check_cohort(two + 1000, VV_COHORT_NUMBER), 0);
}

static void sources_are_ordered_by_cohort_and_id(void **state)
{
    (void)state;
    uint32_t sources[9];
    uint32_t tenant = tenant_named("one");
    for (size_t i = 0; i < 9; i++) {
        sources[i] = add_source(tenant, (int)i);
    }
    assert_int_equal(vv_members_order(members, sources, 9), VV_OK);
    for (size_t i = 0; i < 9; i++) {
        uint32_t cohort;
        uint64_t id;
        assert_int_equal(vv_members_find(members, sources[i], &cohort, &id), VV_OK);
        assert_int_equal(cohort, VV_COHORT_NUMBER | i / 3);
        assert_true(i % 3 == 0 || sources[i] < sources[i - 1]);
    }
    uint32_t cohort;
    uint64_t id;
    assert_int_equal(vv_members_find(members, 9, &cohort, &id), VV_NOT_FOUND);
}

static void one_that_has_no_name_yet_keeps_no_other_out(void **state)
{
    (void)state;
    uint32_t tenant = tenant_named("one");
    for (int i = 0; i < 9; i++) {
        add_source(tenant, i);
    }
    nameless = 4;
    size_t n = 0;
    for (uint32_t cohort = 0; cohort < COHORTS; cohort++) {
        n += check_cohort(tenant, VV_COHORT_NUMBER | cohort);
    }
    assert_int_equal(n, 8);
    nameless = VV_REGISTRY_NONE;
    assert_int_equal(check_cohort(tenant, VV_COHORT_NUMBER | (4 + tenant) % COHORTS), 3);
}

static void *ask(void *context)
{
    (void)context;
    for (int i = 0; i < 200; i++) {
        (void)check_cohort(0, VV_COHORT_NUMBER | (uint32_t)i % COHORTS);
    }
    return NULL;
}

static void threads_ask_while_sources_are_made(void **state)
{
    (void)state;
    pthread_t threads[2];
    uint32_t tenant = tenant_named("one");
    add_source(tenant, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, NULL), 0);
    }
    for (int i = 1; i < SOURCES; i++) {
        add_source(tenant, i);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    size_t n = 0;
    for (uint32_t cohort = 0; cohort < COHORTS; cohort++) {
        n += check_cohort(tenant, VV_COHORT_NUMBER | cohort);
    }
    assert_int_equal(n, SOURCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_source_is_in_its_cohort_as_soon_as_it_is_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(sources_are_ordered_by_cohort_and_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_that_has_no_name_yet_keeps_no_other_out, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(threads_ask_while_sources_are_made, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
