/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and times of sources. */
#include "registry/shared.h"
#include "registry_fixture.h"

static struct vv_plan plan(int64_t from_ns, int64_t bucket_ns)
{
    return (struct vv_plan){
        .from_ns = from_ns, .bucket_ns = bucket_ns, .span_ns = VV_HOUR, .splits = 1};
}

static void assert_plans(struct vv_plans plans, const struct vv_plan *expected, size_t n)
{
    assert_int_equal(plans.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(plans.plans[i].from_ns, expected[i].from_ns);
        assert_int_equal(plans.plans[i].bucket_ns, expected[i].bucket_ns);
        assert_int_equal(plans.plans[i].span_ns, expected[i].span_ns);
        assert_int_equal(plans.plans[i].splits, expected[i].splits);
    }
}

static void plans_are_replaced(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t source = fixture_source(registry, fixture_tenant(registry, "a"), "h=1", 0);
    struct vv_plan plans[VV_PLANS_MAX + 1];
    assert_plans(vv_registry_source_plans(registry, source), plans, 0);
    plans[0] = plan(VV_TIME_MIN, VV_DAY);
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans, 1), VV_OK);
    struct vv_plans first = vv_registry_source_plans(registry, source);
    assert_plans(first, plans, 1);
    for (size_t n = 2; n <= VV_PLANS_MAX; n++) {
        plans[n - 1] = plan((int64_t)n * VV_DAY, VV_HOUR);
        assert_int_equal(vv_registry_source_set_plans(registry, source, plans, n), VV_OK);
        assert_plans(vv_registry_source_plans(registry, source), plans, n);
    }
    assert_plans(first, plans, 1);
    struct vv_plans all = vv_registry_source_plans(registry, source);
    struct vv_plan fewer[2] = {plans[0], plans[5]};
    fewer[1].splits = 4;
    assert_int_equal(vv_registry_source_set_plans(registry, source, fewer, 2), VV_OK);
    assert_plans(vv_registry_source_plans(registry, source), fewer, 2);
    assert_plans(all, plans, VV_PLANS_MAX);
    vv_registry_destroy(registry);
}

static void adding_at_the_end_uses_the_same_memory(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t source = fixture_source(registry, fixture_tenant(registry, "a"), "h=1", 0);
    struct vv_plan plans[4] = {plan(VV_TIME_MIN, VV_DAY), plan(VV_DAY, VV_HOUR),
                               plan(2 * VV_DAY, VV_DAY), plan(3 * VV_DAY, VV_HOUR)};
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans, 2), VV_OK);
    struct vv_plans two = vv_registry_source_plans(registry, source);
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans, 4), VV_OK);
    struct vv_plans four = vv_registry_source_plans(registry, source);
    assert_ptr_equal(two.plans, four.plans);
    assert_int_equal(two.n, 2);
    assert_plans(four, plans, 4);
    vv_registry_destroy(registry);
}

static void equal_plans_are_shared_and_change_nothing(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t a = fixture_source(registry, tenant, "h=1", 0);
    uint32_t b = fixture_source(registry, tenant, "h=2", 0);
    const struct vv_plan one = plan(VV_TIME_MIN, VV_DAY);
    assert_int_equal(vv_registry_source_set_plans(registry, a, &one, 1), VV_OK);
    assert_int_equal(vv_registry_source_set_plans(registry, b, &one, 1), VV_OK);
    assert_ptr_equal(vv_registry_source_plans(registry, a).plans,
                     vv_registry_source_plans(registry, b).plans);
    struct vv_buffer buffer = {0};
    uint64_t version = vv_registry_encode(registry, VV_REGISTRY_SOURCE, a, &buffer);
    vv_registry_settle(registry, VV_REGISTRY_SOURCE, a, version);
    assert_int_equal(vv_registry_source_set_plans(registry, a, &one, 1), VV_OK);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_SOURCE, a));
    const struct vv_plan other = plan(VV_TIME_MIN, VV_HOUR);
    assert_int_equal(vv_registry_source_set_plans(registry, a, &other, 1), VV_OK);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_SOURCE, a));
    assert_plans(vv_registry_source_plans(registry, b), &one, 1);
    vv_buffer_deinit(&buffer);
    vv_registry_destroy(registry);
}

static void a_first_plan_moves_and_the_others_stay(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t a = fixture_source(registry, tenant, "h=1", 0);
    uint32_t b = fixture_source(registry, tenant, "h=2", 0);
    const struct vv_plan first = plan(VV_TIME_MIN, VV_DAY);
    const struct vv_plan agreed = plan(VV_TIME_MIN, VV_HOUR);
    const struct vv_plan later[] = {first, plan(VV_DAY, VV_DAY)};
    const struct vv_plan both[] = {agreed, later[1]};
    assert_int_equal(vv_registry_source_set_plans(registry, a, &first, 1), VV_OK);
    assert_int_equal(vv_registry_source_set_plans(registry, b, &first, 1), VV_OK);
    struct vv_plans before = vv_registry_source_plans(registry, a);
    uint64_t moves = vv_registry_plan_moves(registry);
    assert_true(vv_registry_plans_hold(registry, a, &before));
    assert_int_equal(vv_registry_begin_move(registry, a, &agreed, NULL), VV_OK);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_SOURCE, a));
    struct vv_plans meanwhile = vv_registry_source_plans(registry, a);
    assert_plans(meanwhile, &agreed, 1);
    assert_true(meanwhile.is_moving);
    assert_false(vv_registry_plans_hold(registry, a, &before));
    assert_false(vv_registry_plans_hold(registry, a, &meanwhile));
    assert_true(vv_registry_plan_moves(registry) > moves);
    moves = vv_registry_plan_moves(registry);
    assert_int_equal(vv_registry_source_set_plans(registry, a, both, 2), VV_OK);
    assert_true(vv_registry_source_plans(registry, a).is_moving);
    vv_registry_end_move(registry, a);
    assert_true(vv_registry_plan_moves(registry) > moves);
    struct vv_plans after = vv_registry_source_plans(registry, a);
    assert_plans(after, both, 2);
    assert_false(after.is_moving);
    assert_true(vv_registry_plans_hold(registry, a, &after));
    assert_false(vv_registry_plans_hold(registry, a, &meanwhile)); /* read while it moved */
    assert_plans(before, &first, 1);                               /* whoever holds it */
    assert_plans(vv_registry_source_plans(registry, b), &first, 1);
    assert_int_equal(vv_registry_begin_move(registry, a, &first, NULL), VV_OK);
    vv_registry_end_move(registry, a);
    assert_plans(vv_registry_source_plans(registry, a), later, 2);
    assert_int_equal(vv_registry_begin_move(registry, a, &later[1], NULL), VV_INVALID);
    assert_int_equal(vv_registry_begin_move(registry, 99, &first, NULL), VV_NOT_FOUND);
    vv_registry_destroy(registry);
}

static void bad_plans_are_refused(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t source = fixture_source(registry, fixture_tenant(registry, "a"), "h=1", 0);
    struct vv_plan plans[VV_PLANS_MAX + 1];
    for (size_t i = 0; i <= VV_PLANS_MAX; i++) {
        plans[i] = plan(i ? (int64_t)i * VV_DAY : VV_TIME_MIN, VV_DAY);
    }
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans, 0), VV_INVALID);
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans, VV_PLANS_MAX + 1),
                     VV_TOO_LARGE);
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans + 1, 1), VV_INVALID);
    assert_int_equal(vv_registry_source_set_plans(registry, 99, plans, 1), VV_INVALID);
    plans[2].from_ns = plans[1].from_ns;
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans, 3), VV_INVALID);
    plans[0].splits = 0;
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans, 1), VV_INVALID);
    assert_int_equal(vv_registry_source_plans(registry, source).n, 0);
    vv_registry_destroy(registry);
}

/* ---- plans of other regions ---- */

static size_t bytes_of(struct vv_registry *registry)
{
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    return (size_t)figures.bytes;
}

static void each_region_has_plans_of_its_own(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t a = fixture_source(registry, tenant, "h=1", 0);
    uint32_t b = fixture_source(registry, tenant, "h=2", 0);
    const struct vv_plan own = plan(VV_TIME_MIN, VV_DAY);
    const struct vv_plan far[3] = {plan(VV_TIME_MIN, VV_HOUR), plan(VV_DAY, VV_DAY),
                                   plan(2 * VV_DAY, VV_HOUR)};
    assert_int_equal(vv_registry_plan_regions(registry), 1);
    assert_int_equal(vv_registry_learn_plans(registry, a, 0, &own, 1, NULL), VV_OK);
    assert_int_equal(vv_registry_plan_regions(registry), 1);
    assert_int_equal(vv_registry_learn_plans(registry, a, 2, far, 1, NULL), VV_OK);
    assert_int_equal(vv_registry_plan_regions(registry), 3);
    assert_int_equal(vv_registry_learn_plans(registry, a, 1, far, 3, NULL), VV_OK);
    assert_int_equal(vv_registry_learn_plans(registry, b, 1, &own, 1, NULL), VV_OK);
    assert_int_equal(vv_registry_plan_regions(registry), 3);
    assert_plans(vv_registry_source_plans(registry, a), &own, 1);
    assert_plans(vv_registry_source_plans_in(registry, a, 0), &own, 1);
    assert_plans(vv_registry_source_plans_in(registry, a, 1), far, 3);
    assert_plans(vv_registry_source_plans_in(registry, a, 2), far, 1);
    assert_plans(vv_registry_source_plans_in(registry, b, 1), &own, 1);
    assert_int_equal(vv_registry_source_plans(registry, b).n, 0);
    for (uint8_t region = 3; region < VV_REGIONS_MAX; region++) {
        assert_int_equal(vv_registry_source_plans_in(registry, a, region).n, 0);
    }
    assert_int_equal(vv_registry_source_plans_in(registry, 99999, 1).n, 0);
    assert_int_equal(vv_registry_source_plans_in(registry, VV_REGISTRY_NONE, 2).n, 0);
    vv_registry_destroy(registry);
}

/* Learning is a union in each region, and what is no plan or no region is refused. */
static void plans_of_a_region_are_united(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t source = fixture_source(registry, fixture_tenant(registry, "a"), "h=1", 0);
    const struct vv_plan all[3] = {plan(VV_TIME_MIN, VV_DAY), plan(5, VV_HOUR), plan(9, VV_DAY)};
    const struct vv_plan late[2] = {all[0], all[2]};
    const struct vv_plan other = plan(VV_TIME_MIN, VV_HOUR);
    struct vv_error error = {0};
    assert_int_equal(vv_registry_learn_plans(registry, source, 3, late, 2, NULL), VV_OK);
    struct vv_plans before = vv_registry_source_plans_in(registry, source, 3);
    assert_int_equal(vv_registry_learn_plans(registry, source, 3, all, 2, NULL), VV_OK);
    assert_plans(vv_registry_source_plans_in(registry, source, 3), all, 3);
    assert_plans(before, late, 2); /* who holds it keeps it */
    assert_int_equal(vv_registry_learn_plans(registry, source, 3, &other, 1, &error), VV_CORRUPT);
    assert_plans(vv_registry_source_plans_in(registry, source, 3), all, 3);
    assert_int_equal(vv_registry_learn_plans(registry, source, 4, &other, 1, NULL), VV_OK);
    assert_int_equal(vv_registry_learn_plans(registry, source, VV_REGIONS_MAX, &other, 1, NULL),
                     VV_INVALID);
    assert_int_equal(vv_registry_learn_plans(registry, source, 5, all + 1, 1, NULL), VV_INVALID);
    assert_int_equal(vv_registry_learn_plans(registry, 77, 5, all, 1, NULL), VV_NOT_FOUND);
    assert_int_equal(vv_registry_plan_regions(registry), 5);
    vv_registry_destroy(registry);
}

/* They are in no record, make no version, and cost nothing where there are none. */
static void plans_of_other_regions_are_in_memory_only(void **state)
{
    (void)state;
    enum { SOURCES = 20000 };
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    struct vv_buffer before = {0};
    struct vv_buffer after = {0};
    const struct vv_plan one = plan(VV_TIME_MIN, VV_DAY);
    for (int i = 0; i < SOURCES; i++) {
        char tags[16];
        snprintf(tags, sizeof tags, "h=%d", i);
        fixture_source(registry, tenant, tags, 0);
    }
    assert_int_equal(vv_registry_learn_plans(registry, 0, 0, &one, 1, NULL), VV_OK);
    uint64_t version = vv_registry_encode(registry, VV_REGISTRY_SOURCE, 0, &before);
    vv_registry_settle(registry, VV_REGISTRY_SOURCE, 0, version);
    size_t bytes = bytes_of(registry);
    assert_int_equal(vv_registry_learn_plans(registry, 0, 1, &one, 1, NULL), VV_OK);
    assert_ptr_equal(vv_registry_source_plans_in(registry, 0, 1).plans,
                     vv_registry_source_plans(registry, 0).plans);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_SOURCE, 0));
    vv_registry_encode(registry, VV_REGISTRY_SOURCE, 0, &after);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.data, before.data, before.size);
    size_t grown = bytes_of(registry) - bytes;
    assert_in_range(grown, 8, 150000); /* a directory and a chunk */
    for (uint32_t i = 1; i < SOURCES; i++) {
        assert_int_equal(vv_registry_learn_plans(registry, i, 1, &one, 1, NULL), VV_OK);
    }
    assert_in_range(bytes_of(registry) - bytes, grown, grown + SOURCES * 8 + 100000);
    vv_buffer_deinit(&before);
    vv_buffer_deinit(&after);
    vv_registry_destroy(registry);
}

static void times_widen(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t source = fixture_source(registry, fixture_tenant(registry, "a"), "h=1", 0);
    int64_t first = 0;
    int64_t last = 0;
    assert_false(vv_registry_source_times(registry, source, &first, &last));
    assert_true(vv_registry_settled(registry, VV_REGISTRY_TIMES, source));
    vv_registry_source_observe(registry, source, 10, 10);
    assert_true(vv_registry_source_times(registry, source, &first, &last));
    assert_int_equal(first, 10);
    assert_int_equal(last, 10);
    vv_registry_source_observe(registry, source, -5, 3);
    vv_registry_source_observe(registry, source, 4, 20);
    assert_true(vv_registry_source_times(registry, source, &first, &last));
    assert_int_equal(first, -5);
    assert_int_equal(last, 20);
    vv_registry_source_observe(registry, source, VV_TIME_MIN, VV_TIME_MAX);
    assert_true(vv_registry_source_times(registry, source, &first, &last));
    assert_true(first == VV_TIME_MIN && last == VV_TIME_MAX);
    vv_registry_destroy(registry);
}

static void times_settle_by_how_wide_they_are(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t source = fixture_source(registry, fixture_tenant(registry, "a"), "h=1", 0);
    struct vv_buffer buffer = {0};
    assert_int_equal(vv_registry_encode(registry, VV_REGISTRY_TIMES, source, &buffer), 0);
    assert_int_equal(buffer.size, 0);
    vv_registry_source_observe(registry, source, 10, 10);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_TIMES, source));
    uint64_t narrow = vv_registry_encode(registry, VV_REGISTRY_TIMES, source, &buffer);
    vv_registry_source_observe(registry, source, 5, 5);
    uint64_t wide = vv_registry_encode(registry, VV_REGISTRY_TIMES, source, &buffer);
    vv_registry_settle(registry, VV_REGISTRY_TIMES, source, narrow);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_TIMES, source));
    vv_registry_settle(registry, VV_REGISTRY_TIMES, source, wide);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_TIMES, source));
    vv_registry_settle(registry, VV_REGISTRY_TIMES, source, narrow);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_TIMES, source));
    vv_registry_source_observe(registry, source, 7, 10);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_TIMES, source));
    vv_registry_source_observe(registry, source, 7, 11);
    assert_false(vv_registry_settled(registry, VV_REGISTRY_TIMES, source));
    vv_buffer_deinit(&buffer);
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_replaced),
        cmocka_unit_test(adding_at_the_end_uses_the_same_memory),
        cmocka_unit_test(equal_plans_are_shared_and_change_nothing),
        cmocka_unit_test(a_first_plan_moves_and_the_others_stay),
        cmocka_unit_test(bad_plans_are_refused),
        cmocka_unit_test(each_region_has_plans_of_its_own),
        cmocka_unit_test(plans_of_a_region_are_united),
        cmocka_unit_test(plans_of_other_regions_are_in_memory_only),
        cmocka_unit_test(times_widen),
        cmocka_unit_test(times_settle_by_how_wide_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
