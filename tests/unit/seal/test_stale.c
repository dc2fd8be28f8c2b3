/* SPDX-License-Identifier: Apache-2.0 */
/* When what is stale is due, where nodes share the store. */
#include "seal/stale.h"
#include "tier/cohort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static enum vv_status cohort_of(struct vv_store *base, uint32_t tenant, uint32_t source,
                                uint32_t *cohort_out, uint64_t *id_out)
{
    (void)base;
    (void)tenant;
    *cohort_out = VV_COHORT_NUMBER | source % VV_COHORTS_SHARED;
    *id_out = source;
    return VV_OK;
}

/* Behind all of their sources, at the same time wherever it is asked for, before runs expire; not
 * all at once. */
static void cohorts_are_due_one_after_the_other(void **state)
{
    (void)state;
    const struct vv_registry_options registry_options = {
        .tenants_max = 1, .sources_max = 1, .metrics_max = 1};
    struct vv_shared_ops shared = {.cohort_of = cohort_of};
    struct vv_store_ops ops = {.shared = &shared};
    struct vv_store store = {.ops = &ops};
    struct vv_stale_options options = {.store = &store,
                                       .ledger = {.lateness_ns = VV_MINUTE, .spread_ns = VV_HOUR}};
    assert_int_equal(vv_registry_create(&registry_options, &options.registry), VV_OK);
    for (int tier = VV_SPACE_HOUR; tier < VV_SPACES; tier++) {
        int64_t most = vv_tier_spread_ns_max((enum vv_space)tier);
        int64_t first = INT64_MAX;
        int64_t last = INT64_MIN;
        for (uint32_t source = 0; source < 2 * VV_COHORTS_SHARED; source++) {
            const struct vv_stale_unit unit = {
                .key = vv_unit_key((enum vv_space)tier, 1, source, source, 0),
                .to = vv_tier_unit_ns_max((enum vv_space)tier),
                .tier = (enum vv_space)tier,
            };
            struct vv_stale_unit cohort;
            struct vv_stale_unit other;
            assert_int_equal(vv_stale_cohort(&options, unit.tier, &unit, &cohort), VV_OK);
            struct vv_stale_unit beside = unit;
            beside.key = vv_unit_key(unit.tier, 2, source + VV_COHORTS_SHARED, 3, 0);
            assert_int_equal(vv_stale_cohort(&options, unit.tier, &beside, &other), VV_OK);
            assert_int_equal(cohort.due_ns, other.due_ns);
            assert_true(cohort.due_ns > unit.to + VV_MINUTE + most);
            assert_true(cohort.due_ns < unit.to + VV_MINUTE + VV_TIER_DUE_NS_MAX);
            first = cohort.due_ns < first ? cohort.due_ns : first;
            last = cohort.due_ns > last ? cohort.due_ns : last;
        }
        assert_true(last - first > most / 8);
    }
    vv_registry_destroy(options.registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cohorts_are_due_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
