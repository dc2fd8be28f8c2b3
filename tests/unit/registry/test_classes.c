/* SPDX-License-Identifier: Apache-2.0 */
/* Classes: which measurements they take, what they are to their tenant, and their records. */
#include "registry_fixture.h"

static void settle(struct vv_registry *registry, enum vv_registry_kind kind, uint32_t number)
{
    struct vv_buffer record = {0};
    uint64_t version = vv_registry_encode(registry, kind, number, &record);
    vv_registry_settle(registry, kind, number, version);
    vv_buffer_deinit(&record);
}

static uint32_t make_class(struct vv_registry *registry, uint32_t tenant, const char *name,
                           const char *patterns)
{
    uint32_t class = VV_REGISTRY_NONE;
    assert_int_equal(
        vv_registry_make_class(registry, tenant, vv_str_of(name), VV_DAY, &class, NULL), VV_OK);
    assert_int_equal(vv_registry_set_class_patterns(registry, class, vv_str_of(patterns), NULL),
                     VV_OK);
    settle(registry, VV_REGISTRY_TENANT, class);
    return class;
}

static uint32_t measurement_of(struct vv_registry *registry, uint32_t tenant, const char *name)
{
    uint32_t number = VV_REGISTRY_NONE;
    assert_int_equal(
        vv_registry_measurement(registry, tenant, vv_str_of(name), true, &number, NULL), VV_OK);
    return number;
}

static uint32_t match(struct vv_registry *registry, uint32_t tenant, const char *name)
{
    return vv_registry_match_class(registry, tenant, vv_str_of(name));
}

static void the_pattern_that_says_most_wins(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    uint32_t other = fixture_tenant(registry, "other");
    settle(registry, VV_REGISTRY_TENANT, plant);
    uint32_t debug = make_class(registry, plant, "debug", "debug*\ntrace\n");
    uint32_t deep = make_class(registry, plant, "deep", "debug.deep*\ndebug.flat\n");
    uint32_t rest = make_class(registry, plant, "rest", "d*\n");
    assert_int_equal(match(registry, plant, "debug"), debug);
    assert_int_equal(match(registry, plant, "debug.x"), debug);
    assert_int_equal(match(registry, plant, "debug.deeper"), deep);
    assert_int_equal(match(registry, plant, "debug.flat"), deep);
    assert_int_equal(match(registry, plant, "debug.flatter"), debug);
    assert_int_equal(match(registry, plant, "trace"), debug);
    assert_int_equal(match(registry, plant, "traces"), plant);
    assert_int_equal(match(registry, plant, "dust"), rest);
    assert_int_equal(match(registry, plant, "energy"), plant);
    assert_int_equal(match(registry, other, "debug"), other);
    assert_int_equal(vv_registry_set_class_patterns(registry, rest, TEXT("*\n"), NULL), VV_OK);
    assert_int_equal(match(registry, plant, "energy"), rest);
    assert_int_equal(match(registry, plant, "debug"), debug);
    vv_registry_destroy(registry);
}

/* Else what is there would have to be moved. */
static void a_measurement_stays_where_it_was_made(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    settle(registry, VV_REGISTRY_TENANT, plant);
    uint32_t before = measurement_of(registry, plant, "debug1");
    uint32_t debug = make_class(registry, plant, "debug", "debug*\n");
    uint32_t after = measurement_of(registry, plant, "debug2");
    assert_int_equal(vv_registry_first_place(registry, before), plant);
    assert_int_equal(vv_registry_first_place(registry, after), debug);
    assert_int_equal(vv_registry_place_named(registry, plant, TEXT("debug1"), 0), plant);
    assert_int_equal(vv_registry_place_named(registry, plant, TEXT("debug3"), 0), debug);
    assert_int_equal(vv_registry_set_class_patterns(registry, debug, TEXT(""), NULL), VV_OK);
    assert_int_equal(vv_registry_first_place(registry, after), debug);
    assert_int_equal(vv_registry_place_named(registry, plant, TEXT("debug3"), 0), plant);
    assert_int_equal(vv_registry_first_place(registry, 77), VV_REGISTRY_NONE);
    vv_registry_destroy(registry);
}

static void a_class_has_spaces_of_its_own(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    uint32_t hours, late, class_hours, place;
    enum vv_space space;
    settle(registry, VV_REGISTRY_TENANT, plant);
    uint32_t debug = make_class(registry, plant, "debug", "debug*\n");
    assert_int_equal(vv_registry_space(registry, plant, VV_SPACE_HOUR, true, &hours, NULL), VV_OK);
    assert_int_equal(vv_registry_space(registry, debug, VV_SPACE_HOUR, true, &class_hours, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_space(registry, debug, VV_SPACE_LATE, true, &late, NULL), VV_OK);
    settle(registry, VV_REGISTRY_TENANT, hours);
    settle(registry, VV_REGISTRY_TENANT, class_hours);
    settle(registry, VV_REGISTRY_TENANT, late);
    assert_true(
        vv_str_equal(vv_registry_tenant_name(registry, class_hours), TEXT("plant/@debug/hour")));
    assert_int_equal(vv_registry_tiers(registry, plant).spaces[VV_SPACE_HOUR], hours);
    assert_int_equal(vv_registry_tiers(registry, debug).spaces[VV_SPACE_HOUR], class_hours);
    assert_int_equal(vv_registry_late_space(registry, debug), late);
    assert_int_equal(vv_registry_late_space(registry, plant), VV_REGISTRY_NONE);
    assert_int_equal(vv_registry_retention(registry, late), VV_DAY);
    assert_true(vv_registry_space_of(registry, class_hours, &place, &space));
    assert_int_equal(place, debug);
    assert_int_equal(space, VV_SPACE_HOUR);
    assert_false(vv_registry_space_of(registry, debug, &place, &space));
    assert_false(vv_registry_space_of(registry, late, &place, &space));
    const uint32_t all[] = {debug, class_hours, late, hours, plant};
    const uint32_t places[] = {debug, debug, debug, plant, plant};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(vv_registry_owner(registry, all[i]), plant);
        assert_int_equal(vv_registry_place_of(registry, all[i]), places[i]);
    }
    assert_false(vv_registry_is_tenant(registry, debug));
    vv_registry_destroy(registry);
}

static void a_class_takes_the_tenants_policy_for_late_points(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    settle(registry, VV_REGISTRY_TENANT, plant);
    uint32_t debug = make_class(registry, plant, "debug", "debug*\n");
    vv_registry_set_late(registry, plant, (struct vv_late){VV_LATE_REFUSE, VV_HOUR});
    assert_int_equal(vv_registry_late(registry, debug).policy, VV_LATE_REFUSE);
    vv_registry_destroy(registry);
}

/* Its number could become another one's. */
static void a_class_that_no_journal_has_takes_nothing(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    uint32_t class;
    settle(registry, VV_REGISTRY_TENANT, plant);
    assert_int_equal(vv_registry_make_class(registry, plant, TEXT("c"), 0, &class, NULL), VV_OK);
    assert_int_equal(vv_registry_set_class_patterns(registry, class, TEXT("*\n"), NULL), VV_OK);
    assert_int_equal(match(registry, plant, "m"), plant);
    settle(registry, VV_REGISTRY_TENANT, class);
    assert_int_equal(match(registry, plant, "m"), class);
    vv_registry_destroy(registry);
}

static void buckets_and_markers_heed_all_places(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    settle(registry, VV_REGISTRY_TENANT, plant);
    vv_registry_set_retention(registry, plant, 80 * VV_DAY);
    assert_int_equal(vv_registry_bucket_max(registry, plant), 10 * VV_DAY);
    uint32_t debug = make_class(registry, plant, "debug", "debug*\n");
    assert_int_equal(vv_registry_bucket_max(registry, plant), VV_DAY);
    assert_int_equal(vv_registry_longest_retention(registry, plant), 80 * VV_DAY);
    vv_registry_set_retention(registry, debug, 160 * VV_DAY);
    assert_int_equal(vv_registry_bucket_max(registry, plant), 10 * VV_DAY);
    assert_int_equal(vv_registry_longest_retention(registry, plant), 160 * VV_DAY);
    vv_registry_set_retention(registry, debug, 0);
    assert_int_equal(vv_registry_longest_retention(registry, plant), 0);
    assert_int_equal(vv_registry_bucket_max(registry, plant), 10 * VV_DAY);
    vv_registry_destroy(registry);
}

static void classes_are_bounded_and_checked(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    uint32_t class;
    settle(registry, VV_REGISTRY_TENANT, plant);
    for (int i = 0; i < VV_CLASSES_OF_TENANT_MAX; i++) {
        char name[8];
        snprintf(name, sizeof name, "c%d", i);
        make_class(registry, plant, name, "");
    }
    assert_int_equal(vv_registry_make_class(registry, plant, TEXT("more"), 0, &class, NULL),
                     VV_TOO_LARGE);
    assert_int_equal(vv_registry_make_class(registry, plant, TEXT("c3"), 0, &class, NULL), VV_OK);
    uint32_t other = fixture_tenant(registry, "other");
    assert_int_equal(vv_registry_make_class(registry, other, TEXT("a/b"), 0, &class, NULL),
                     VV_INVALID);
    assert_int_equal(vv_class_check_pattern(TEXT("a*b"), NULL), VV_INVALID);
    assert_int_equal(vv_class_check_pattern(TEXT("a**"), NULL), VV_INVALID);
    assert_int_equal(vv_class_check_pattern(TEXT(""), NULL), VV_INVALID);
    assert_int_equal(vv_class_check_pattern(TEXT("a*"), NULL), VV_OK);
    assert_int_equal(vv_class_check_pattern(TEXT("*"), NULL), VV_OK);
    vv_registry_destroy(registry);
}

/* ---- records ---- */

static void copy(struct vv_registry *from, struct vv_registry *to, enum vv_registry_kind kind,
                 uint32_t number, enum vv_status expected)
{
    struct vv_buffer record = {0};
    vv_registry_encode(from, kind, number, &record);
    struct vv_str bytes = {(const char *)record.data, record.size};
    assert_int_equal(vv_registry_apply(to, kind, bytes, NULL), expected);
    vv_buffer_deinit(&record);
}

static void records_bring_classes_and_places_back(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_registry *again = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    settle(registry, VV_REGISTRY_TENANT, plant);
    uint32_t debug = make_class(registry, plant, "debug", "debug*\ntrace\n");
    uint32_t number = measurement_of(registry, plant, "debug1");
    copy(registry, again, VV_REGISTRY_TENANT, plant, VV_OK);
    copy(registry, again, VV_REGISTRY_MEASUREMENT, number, VV_CORRUPT); /* its class is not there */
    copy(registry, again, VV_REGISTRY_TENANT, debug, VV_OK);
    copy(registry, again, VV_REGISTRY_MEASUREMENT, number, VV_OK);
    copy(registry, again, VV_REGISTRY_MEASUREMENT, number, VV_OK);
    assert_int_equal(vv_registry_first_place(again, number), debug);
    assert_int_equal(match(again, plant, "trace"), debug);
    assert_true(vv_str_equal(vv_registry_class_patterns(again, debug), TEXT("debug*\ntrace\n")));
    assert_int_equal(vv_registry_retention(again, debug), VV_DAY);
    assert_int_equal(vv_registry_set_class_patterns(registry, debug, TEXT("x\n"), NULL), VV_OK);
    copy(registry, again, VV_REGISTRY_TENANT, debug, VV_OK);
    assert_int_equal(match(again, plant, "trace"), plant);
    assert_int_equal(match(again, plant, "x"), debug);
    vv_registry_destroy(again);
    vv_registry_destroy(registry);
}

static void a_measurement_of_another_tenants_class_is_damage(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_registry *again = fixture_open(NULL);
    uint32_t plant = fixture_tenant(registry, "plant");
    settle(registry, VV_REGISTRY_TENANT, plant);
    uint32_t debug = make_class(registry, plant, "debug", "debug*\n");
    uint32_t number = measurement_of(registry, plant, "debug1");
    fixture_tenant(again, "plant");
    uint32_t hours;
    uint32_t again_plant = 0;
    assert_int_equal(vv_registry_space(again, again_plant, VV_SPACE_HOUR, true, &hours, NULL),
                     VV_OK);
    settle(again, VV_REGISTRY_TENANT, again_plant);
    settle(again, VV_REGISTRY_TENANT, hours);
    assert_int_equal(hours, debug); /* a tier's space where the record has a class */
    copy(registry, again, VV_REGISTRY_MEASUREMENT, number, VV_CORRUPT);
    vv_registry_destroy(again);
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pattern_that_says_most_wins),
        cmocka_unit_test(a_measurement_stays_where_it_was_made),
        cmocka_unit_test(a_class_has_spaces_of_its_own),
        cmocka_unit_test(a_class_takes_the_tenants_policy_for_late_points),
        cmocka_unit_test(a_class_that_no_journal_has_takes_nothing),
        cmocka_unit_test(buckets_and_markers_heed_all_places),
        cmocka_unit_test(classes_are_bounded_and_checked),
        cmocka_unit_test(records_bring_classes_and_places_back),
        cmocka_unit_test(a_measurement_of_another_tenants_class_is_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
