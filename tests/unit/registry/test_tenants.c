/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants: names, limits, retention, and what is settled. */
#include "registry_fixture.h"

#include "base/random.h"
#include "registry/shared.h"

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

/* A space is found by its tenant, or by its name, but not as a tenant. */
static void spaces_are_no_tenants(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.tenants_max = 1;
    struct vv_registry *registry = NULL;
    struct vv_error error = {0};
    uint32_t hours, found;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    uint32_t plant = fixture_tenant(registry, "plant");
    assert_int_equal(vv_registry_space(registry, plant, VV_SPACE_HOUR, false, &hours, &error),
                     VV_NOT_FOUND);
    assert_int_equal(vv_registry_space(registry, plant, VV_SPACE_HOUR, true, &hours, &error),
                     VV_OK); /* the limit is one of tenants */
    assert_int_not_equal(hours, plant);
    assert_int_equal(vv_registry_space(registry, plant, VV_SPACE_HOUR, false, &found, &error),
                     VV_OK);
    assert_int_equal(found, hours);
    assert_int_equal(vv_registry_space_named(registry, TEXT("plant/hour"), false, &found, &error),
                     VV_OK);
    assert_int_equal(found, hours);
    assert_int_equal(vv_registry_space_named(registry, TEXT("plant"), false, &found, &error),
                     VV_OK);
    assert_int_equal(found, plant);
    assert_int_equal(find(registry, TEXT("plant/hour"), false, &error), VV_INVALID);
    assert_int_equal(find(registry, TEXT("plant/hour"), true, &error), VV_INVALID);
    static const char *const bad[] = {"plant/", "plant/hours", "plant/hour/day", "/hour", "/", ""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(vv_registry_space_named(registry, vv_str_of(bad[i]), true, &found, &error),
                         VV_INVALID);
    }
    assert_true(vv_registry_is_tenant(registry, plant));
    assert_false(vv_registry_is_tenant(registry, hours));
    assert_false(vv_registry_is_tenant(registry, 77));
    vv_registry_set_retention(registry, hours, VV_DAY);
    assert_int_equal(vv_registry_retention(registry, hours), VV_DAY);
    assert_int_equal(vv_registry_retention(registry, plant), 0);
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

static void settle(struct vv_registry *registry, uint32_t number)
{
    vv_registry_settle(registry, VV_REGISTRY_TENANT, number, encode(registry, number));
}

static void tiers_are_spaces_that_are_settled_and_on(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_error error = {0};
    uint32_t hours, days, owner;
    enum vv_space space;
    uint32_t plant = fixture_tenant(registry, "plant");
    assert_int_equal(vv_registry_space(registry, plant, VV_SPACE_HOUR, true, &hours, &error),
                     VV_OK);
    assert_int_equal(vv_registry_space(registry, plant, VV_SPACE_DAY, true, &days, &error), VV_OK);
    assert_false(vv_registry_tiers(registry, plant).any);
    assert_false(vv_registry_space_of(registry, hours, &owner, &space));
    settle(registry, hours);
    assert_true(vv_registry_tiers(registry, plant).any);
    assert_int_equal(vv_registry_tiers(registry, plant).spaces[VV_SPACE_HOUR], hours);
    assert_int_equal(vv_registry_tiers(registry, plant).spaces[VV_SPACE_DAY], VV_REGISTRY_NONE);
    assert_true(vv_registry_space_of(registry, hours, &owner, &space));
    assert_int_equal(owner, plant);
    assert_int_equal(space, VV_SPACE_HOUR);
    vv_registry_set_retention(registry, hours, VV_DAY); /* unsettled again, but known */
    assert_int_equal(vv_registry_tiers(registry, plant).spaces[VV_SPACE_HOUR], hours);
    vv_registry_set_retention(registry, hours, VV_SPACE_OFF_NS);
    assert_false(vv_registry_tiers(registry, plant).any);
    assert_false(vv_registry_space_of(registry, plant, &owner, &space));
    assert_false(vv_registry_tiers(registry, 77).any);
    vv_registry_destroy(registry);
}

static void late_points_have_a_space_that_is_kept_as_long_as_others(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.late = (struct vv_late){VV_LATE_SEPARATE, VV_HOUR};
    struct vv_registry *registry = NULL;
    uint32_t late, owner;
    enum vv_space space;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    uint32_t plant = fixture_tenant(registry, "plant");
    assert_int_equal(vv_registry_late(registry, plant).policy, VV_LATE_SEPARATE);
    assert_int_equal(vv_registry_space_named(registry, TEXT("plant/late"), false, &late, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_late_space(registry, plant), VV_REGISTRY_NONE);
    uint32_t unsettled[VV_SPACES_ALL + 1];
    assert_int_equal(vv_registry_unsettled(registry, plant, unsettled), 2);
    settle(registry, unsettled[0]);
    assert_int_equal(vv_registry_late_space(registry, plant), late);
    assert_int_equal(vv_registry_owner(registry, late), plant);
    assert_int_equal(vv_registry_owner(registry, plant), plant);
    vv_registry_set_retention(registry, plant, 9 * VV_DAY);
    assert_int_equal(vv_registry_retention(registry, late), 9 * VV_DAY);
    assert_false(vv_registry_space_of(registry, late, &owner, &space)); /* it is no tier */
    assert_false(vv_registry_tiers(registry, plant).any);
    assert_false(vv_registry_is_tenant(registry, late));
    vv_registry_destroy(registry);
}

static void a_space_that_comes_before_its_tenant_is_found(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_registry *other = fixture_open(NULL);
    struct vv_error error = {0};
    uint32_t hours;
    uint32_t plant = fixture_tenant(registry, "plant");
    const uint32_t order[] = {1, 0};
    assert_int_equal(vv_registry_space(registry, plant, VV_SPACE_HOUR, true, &hours, &error),
                     VV_OK);
    for (size_t i = 0; i < 2; i++) {
        struct vv_buffer record = {0};
        vv_registry_encode(registry, VV_REGISTRY_TENANT, order[i], &record);
        assert_int_equal(vv_registry_apply(other, VV_REGISTRY_TENANT,
                                           (struct vv_str){(char *)record.data, record.size},
                                           &error),
                         VV_OK);
        vv_buffer_deinit(&record);
    }
    assert_int_equal(vv_registry_tiers(other, plant).spaces[VV_SPACE_HOUR], hours);
    vv_registry_destroy(registry);
    vv_registry_destroy(other);
}

/* Whichever comes first, and however it was found before. */
static void the_latest_life_of_a_tier_counts(void **state)
{
    (void)state;
    static const uint32_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 3, 2, 1},
                                         {3, 1, 0, 2}, {1, 3, 2, 0}, {2, 3, 0, 1}};
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_error error = {0};
    uint32_t lives[3];
    uint32_t found;
    uint32_t plant = fixture_tenant(registry, "plant");
    settle(registry, plant);
    for (int i = 0; i < 3; i++) {
        enum vv_status status =
            i == 0 ? vv_registry_space(registry, plant, VV_SPACE_HOUR, true, &lives[i], &error)
                   : vv_registry_next_space(registry, plant, VV_SPACE_HOUR, &lives[i], &error);
        assert_int_equal(status, VV_OK);
        vv_registry_set_retention(registry, lives[i], (i + 1) * VV_DAY);
        assert_int_equal(vv_registry_space(registry, plant, VV_SPACE_HOUR, false, &found, &error),
                         VV_OK);
        assert_int_equal(found, lives[i]);
        uint32_t before = i > 0 ? lives[i - 1] : VV_REGISTRY_NONE; /* until it is settled */
        assert_int_equal(vv_registry_tiers(registry, plant).spaces[VV_SPACE_HOUR], before);
        uint32_t unsettled[VV_SPACES_ALL + 1];
        assert_int_equal(vv_registry_unsettled(registry, plant, unsettled), 1);
        assert_int_equal(unsettled[0], lives[i]);
        settle(registry, lives[i]);
        assert_int_equal(vv_registry_tiers(registry, plant).spaces[VV_SPACE_HOUR], lives[i]);
        assert_int_equal(vv_registry_retention(registry, lives[i]), (i + 1) * VV_DAY);
        assert_true(i == 0 || vv_registry_retention(registry, before) == VV_SPACE_OFF_NS);
    }
    assert_true(vv_str_equal(vv_registry_tenant_name(registry, lives[2]), TEXT("plant/hour.3")));
    for (size_t o = 0; o < sizeof orders / sizeof orders[0]; o++) {
        struct vv_registry *other = fixture_open(NULL);
        for (size_t i = 0; i < 4; i++) {
            struct vv_buffer record = {0};
            vv_registry_encode(registry, VV_REGISTRY_TENANT, orders[o][i], &record);
            assert_int_equal(vv_registry_apply(other, VV_REGISTRY_TENANT,
                                               (struct vv_str){(char *)record.data, record.size},
                                               &error),
                             VV_OK);
            vv_buffer_deinit(&record);
        }
        assert_int_equal(vv_registry_tiers(other, plant).spaces[VV_SPACE_HOUR], lives[2]);
        for (int i = 0; i < 3; i++) {
            enum vv_space tier;
            assert_true(vv_registry_space_of(other, lives[i], &found, &tier));
            assert_int_equal(found, plant);
            assert_int_equal(tier, VV_SPACE_HOUR);
            assert_int_equal(vv_registry_retention(other, lives[i]),
                             i == 2 ? 3 * VV_DAY : VV_SPACE_OFF_NS);
        }
        vv_registry_destroy(other);
    }
    vv_registry_destroy(registry);
}

static void names_of_lives_are_read_as_they_are_written(void **state)
{
    (void)state;
    static const char *const bad[] = {"p/hour.",   "p/hour.1",     "p/hour.0",  "p/hour.02",
                                      "p/hour.2x", "p/hour.10000", "p/hour.-2", "p/late.2"};
    char room[VV_SPACE_SUFFIX_MAX + 1];
    enum vv_space tier;
    assert_true(vv_str_equal(vv_space_suffix(VV_SPACE_MINUTE, 9999, room), TEXT("/minute.9999")));
    assert_true(vv_str_equal(vv_space_suffix(VV_SPACE_DAY, 1, room), TEXT("/day")));
    assert_true(vv_space_of_name(TEXT("p/@c/minute.9999"), &tier));
    assert_int_equal(tier, VV_SPACE_MINUTE);
    assert_int_equal(vv_space_life(TEXT("p/@c/minute.9999")), 9999);
    assert_int_equal(vv_space_life(TEXT("p/minute")), 1);
    assert_int_equal(vv_space_life(TEXT("p/late")), 1);
    assert_true(vv_space_has_good_suffix(TEXT("p/day.2")));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(vv_space_of_name(vv_str_of(bad[i]), &tier));
        assert_false(vv_space_has_good_suffix(vv_str_of(bad[i])));
    }
}

static void from_when_on_a_tenant_is_whole_is_kept_and_only_goes_up(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_registry *other = fixture_open(NULL);
    struct vv_error error = {0};
    struct vv_buffer record = {0};
    uint32_t plant = fixture_tenant(registry, "plant");
    assert_int_equal(vv_registry_whole(registry, plant).n, 0);
    static const struct vv_whole noted[] = {
        {.longer = {{.from = 5 * VV_DAY, .kept_ns = VV_DAY}}, .n = 1},
        {.longer = {{4 * VV_DAY, 2 * VV_DAY, 0, 0}}, .n = 1}, /* said */
        {.longer = {{3 * VV_DAY, VV_HOUR, 0, 0}, {7 * VV_DAY, 4 * VV_DAY, 0, 0}}, .n = 2},
    };
    static const struct vv_lengthened expected[] = {
        {3 * VV_DAY, VV_HOUR, 0, 0}, {5 * VV_DAY, VV_DAY, 0, 0}, {7 * VV_DAY, 4 * VV_DAY, 0, 0}};
    for (size_t i = 0; i < sizeof noted / sizeof noted[0]; i++) {
        vv_registry_note_whole(registry, plant, noted[i]);
    }
    vv_registry_encode(registry, VV_REGISTRY_TENANT, plant, &record);
    struct vv_str bytes = {(char *)record.data, record.size};
    assert_int_equal(vv_registry_apply(other, VV_REGISTRY_TENANT, bytes, &error), VV_OK);
    struct vv_whole whole = vv_registry_whole(other, plant);
    assert_int_equal(whole.n, 3);
    assert_memory_equal(whole.longer, expected, sizeof expected);
    assert_int_equal(vv_whole_from(&whole), 7 * VV_DAY);
    /* By when what was put has gone, which was to live for so long when it was. */
    assert_int_equal(vv_whole_gone(&whole, 2 * VV_DAY, 0), 2 * VV_DAY - VV_HOUR);
    assert_int_equal(vv_whole_gone(&whole, 4 * VV_DAY, 0), 3 * VV_DAY);
    assert_int_equal(vv_whole_gone(&whole, 5 * VV_DAY, 0), 4 * VV_DAY);
    assert_int_equal(vv_whole_gone(&whole, 8 * VV_DAY, 0), 5 * VV_DAY);
    assert_int_equal(vv_whole_gone(&whole, 10 * VV_DAY, 0), 6 * VV_DAY);
    assert_int_equal(vv_whole_gone(&whole, 20 * VV_DAY, 0), 7 * VV_DAY);
    vv_buffer_deinit(&record);
    vv_registry_destroy(registry);
    vv_registry_destroy(other);
}

/* In whatever order nodes hear of it. */
static void lives_that_were_made_shorter_count_until_each_has_ended(void **state)
{
    (void)state;
    static const struct vv_shortened noted[] = {
        {9, 30 * VV_DAY}, {12, 7 * VV_DAY}, {8, 30 * VV_DAY}, /* said */
        {12, 6 * VV_DAY},                                     /* said */
        {15, 3 * VV_DAY},
    };
    static const struct vv_shortened expected[] = {
        {9, 30 * VV_DAY}, {12, 7 * VV_DAY}, {15, 3 * VV_DAY}};
    enum { N = sizeof noted / sizeof noted[0] };
    struct vv_error error = {0};
    for (size_t first = 0; first < N; first++) {
        struct vv_registry *registry = fixture_open(NULL);
        struct vv_registry *other = fixture_open(NULL);
        struct vv_buffer record = {0};
        uint32_t plant = fixture_tenant(registry, "plant");
        vv_registry_set_retention(registry, plant, VV_DAY);
        for (size_t i = 0; i < N; i++) {
            struct vv_whole whole = {.shorter = {noted[(first + i) % N]}, .n_shorter = 1};
            vv_registry_note_whole(registry, plant, whole);
        }
        vv_registry_encode(registry, VV_REGISTRY_TENANT, plant, &record);
        assert_int_equal(record.data[0], 9); /* the form */
        struct vv_str bytes = {(char *)record.data, record.size};
        assert_int_equal(vv_registry_apply(other, VV_REGISTRY_TENANT, bytes, &error), VV_OK);
        struct vv_whole whole = vv_registry_whole(other, plant);
        assert_int_equal(whole.n_shorter, 3);
        assert_memory_equal(whole.shorter, expected, sizeof expected);
        assert_int_equal(vv_whole_until(&whole), 15);
        assert_int_equal(vv_registry_life(other, plant, 15), 30 * VV_DAY); /* none ends yet */
        vv_registry_note_held(other, 10);
        assert_int_equal(vv_registry_life(other, plant, 24), 3 * VV_DAY);
        assert_int_equal(vv_registry_life(other, plant, 25), VV_DAY);
        vv_registry_note_held(other, 0);
        assert_int_equal(vv_registry_life(other, plant, 8), 30 * VV_DAY);
        assert_int_equal(vv_registry_life(other, plant, 9), 7 * VV_DAY);
        assert_int_equal(vv_registry_life(other, plant, 14), 3 * VV_DAY);
        assert_int_equal(vv_registry_life(other, plant, 15), VV_DAY);
        for (int i = 0; i <= VV_SHORTENED_MAX - 3; i++) { /* the one that ends first makes room */
            whole = (struct vv_whole){.shorter = {{16 + i, (20 - i) * VV_HOUR}}, .n_shorter = 1};
            vv_registry_note_whole(other, plant, whole);
        }
        whole = vv_registry_whole(other, plant);
        assert_int_equal(whole.n_shorter, VV_SHORTENED_MAX);
        assert_memory_equal(whole.shorter, expected + 1, 2 * sizeof *expected);
        assert_int_equal(vv_registry_life(other, plant, 8), 7 * VV_DAY);
        whole = (struct vv_whole){.shorter = {{90, 0}}, .n_shorter = 1}; /* all are said */
        vv_registry_note_whole(other, plant, whole);
        assert_int_equal(vv_registry_whole(other, plant).n_shorter, 1);
        assert_int_equal(vv_registry_life(other, plant, 89), 0);
        vv_buffer_deinit(&record);
        vv_registry_destroy(registry);
        vv_registry_destroy(other);
    }
}

/* What was to live for 30 days still does, though it was 7 days meanwhile: what may have been put
 * then is older only when that has ended. What was made longer before lives as it did. */
static void what_was_made_longer_behind_a_shorter_life_is_there_until_that_ends(void **state)
{
    (void)state;
    const int64_t until = 104 * VV_DAY;
    static const struct vv_lengthened longer[] = {
        {50 * VV_DAY, 7 * VV_DAY, 0, 0},
        {100 * VV_DAY, 7 * VV_DAY, 104 * VV_DAY, 60 * VV_DAY},
        {90 * VV_DAY, 7 * VV_DAY, 105 * VV_DAY,
         60 * VV_DAY}, /* said: from before, and for longer */
    };
    struct vv_error error = {0};
    for (size_t first = 0; first < 3; first++) {
        struct vv_registry *registry = fixture_open(NULL);
        struct vv_registry *other = fixture_open(NULL);
        struct vv_buffer record = {0};
        uint32_t plant = fixture_tenant(registry, "plant");
        for (size_t i = 0; i < 3; i++) {
            struct vv_whole one = {.longer = {longer[(first + i) % 3]}, .n = 1};
            vv_registry_note_whole(registry, plant, one);
        }
        vv_registry_encode(registry, VV_REGISTRY_TENANT, plant, &record);
        struct vv_str bytes = {(char *)record.data, record.size};
        assert_int_equal(vv_registry_apply(other, VV_REGISTRY_TENANT, bytes, &error), VV_OK);
        struct vv_whole whole = vv_registry_whole(other, plant);
        assert_int_equal(whole.n, 2); /* the earlier one is not said by one that ends later */
        assert_memory_equal(whole.longer, longer, 2 * sizeof longer[0]);
        assert_int_equal(vv_lengthened_kept_ns(&whole.longer[1], until - 1), 60 * VV_DAY);
        assert_int_equal(vv_lengthened_kept_ns(&whole.longer[1], until), 7 * VV_DAY);
        assert_int_equal(vv_whole_gone(&whole, 103 * VV_DAY, until - 1), 50 * VV_DAY);
        assert_int_equal(vv_whole_gone(&whole, 103 * VV_DAY, until), 96 * VV_DAY);
        whole.longer[1].lived_ns = 0; /* for ever */
        assert_int_equal(vv_whole_gone(&whole, 112 * VV_DAY, until - 1), 50 * VV_DAY);
        vv_buffer_deinit(&record);
        vv_registry_destroy(registry);
        vv_registry_destroy(other);
    }
}

/* Records from before there could be several. */
static void the_last_shorter_life_of_an_older_record_is_read(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_buffer record = {0};
    struct vv_error error = {0};
    uint32_t plant = fixture_tenant(registry, "plant");
    vv_buffer_u8(&record, 7);
    vv_buffer_varint(&record, plant);
    vv_buffer_varint(&record, 1000);
    vv_buffer_sized(&record, TEXT("plant"));
    vv_buffer_zigzag(&record, VV_DAY);
    vv_buffer_u64(&record, 0);
    vv_buffer_varint(&record, 0);
    vv_buffer_u64(&record, 0);
    vv_buffer_sized(&record, TEXT(""));
    vv_buffer_zigzag(&record, 0);
    vv_buffer_zigzag(&record, 0);
    vv_buffer_u64(&record, 0);
    vv_buffer_zigzag(&record, 6);
    vv_buffer_zigzag(&record, 9 * VV_DAY);
    struct vv_str bytes = {(char *)record.data, record.size};
    assert_int_equal(vv_registry_apply(registry, VV_REGISTRY_TENANT, bytes, &error), VV_OK);
    struct vv_whole whole = vv_registry_whole(registry, plant);
    assert_int_equal(whole.n_shorter, 1);
    vv_registry_note_held(registry, 0);
    assert_int_equal(vv_registry_life(registry, plant, 5), 9 * VV_DAY);
    assert_int_equal(vv_registry_life(registry, plant, 6), VV_DAY);
    vv_buffer_deinit(&record);
    vv_registry_destroy(registry);
}

static vv_stamp first_stamp(void *context)
{
    (void)context;
    return 1;
}

/* Beside other nodes until a time, alone until it is said. */
static void a_tier_that_is_off_ends_with_its_life(void **state)
{
    (void)state;
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        struct vv_registry *registry = fixture_open(NULL);
        struct vv_error error = {0};
        uint32_t minutes;
        if (is_shared) {
            vv_registry_share(registry, first_stamp, NULL);
        }
        uint32_t plant = fixture_tenant(registry, "plant");
        assert_int_equal(
            vv_registry_space(registry, plant, VV_SPACE_MINUTE, true, &minutes, &error), VV_OK);
        vv_registry_set_retention(registry, minutes, VV_DAY);
        const uint32_t numbers[] = {plant, minutes};
        for (size_t i = 0; i < 2; i++) {
            struct vv_buffer record = {0};
            uint64_t version =
                vv_registry_encode(registry, VV_REGISTRY_TENANT, numbers[i], &record);
            vv_registry_settle(registry, VV_REGISTRY_TENANT, numbers[i], version);
            vv_buffer_deinit(&record);
        }
        assert_false(vv_registry_is_ending(registry, minutes));
        vv_registry_set_retention(registry, minutes, VV_SPACE_OFF_NS);
        assert_false(vv_registry_is_ending(registry, minutes));
        vv_registry_note_whole(registry, minutes,
                               (struct vv_whole){.shorter = {{100, VV_DAY}}, .n_shorter = 1});
        vv_registry_note_time(registry, 99);
        assert_true(vv_registry_is_ending(registry, minutes));
        assert_int_equal(vv_registry_life(registry, minutes, 99), VV_DAY);
        assert_int_equal(vv_registry_kept(registry, minutes, 99), VV_DAY);
        assert_false(vv_registry_tiers(registry, plant).any);
        assert_int_equal(vv_registry_tiers_built(registry, plant).spaces[VV_SPACE_MINUTE], minutes);
        vv_registry_note_time(registry, 100);
        assert_int_equal(vv_registry_is_ending(registry, minutes), !is_shared);
        vv_registry_end_life(registry, minutes);
        assert_false(vv_registry_is_ending(registry, minutes));
        vv_registry_destroy(registry);
    }
}

/* Of more than there is room for the earliest are taken together, by all nodes in the same way, in
 * whatever order they hear of them. */
static void what_was_lengthened_often_takes_the_first_together(void **state)
{
    (void)state;
    static const struct vv_lengthened all[] = {{1, 10, 0, 0}, {2, 20, 0, 0}, {3, 30, 0, 0},
                                               {4, 40, 0, 0}, {5, 50, 0, 0}, {6, 60, 0, 0},
                                               {5, 55, 0, 0}, {3, 50, 0, 0}};
    static const struct vv_lengthened expected[] = {{4, 10, 0, 0}, {5, 50, 0, 0}, {6, 60, 0, 0}};
    enum { N = sizeof all / sizeof all[0] };
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct vv_random random = {seed};
        struct vv_registry *registry = fixture_open(NULL);
        uint32_t plant = fixture_tenant(registry, "plant");
        bool is_noted[N] = {0};
        for (size_t left = N; left > 0;) {
            size_t i = vv_random_below(&random, N);
            vv_registry_note_whole(registry, plant, (struct vv_whole){.longer = {all[i]}, .n = 1});
            left -= !is_noted[i];
            is_noted[i] = true;
        }
        struct vv_whole whole = vv_registry_whole(registry, plant);
        assert_int_equal(whole.n, VV_LENGTHENED_MAX);
        assert_memory_equal(whole.longer, expected, sizeof expected);
        vv_registry_destroy(registry);
    }
}

/* In whatever order nodes hear of it, and by a record. */
static void what_was_built_again_last_counts(void **state)
{
    (void)state;
    static const struct vv_rebuilt all[] = {{5, VV_TIME_MIN}, {7, 3}, {7, 2},
                                            {6, -9},          {7, 6}, {0, 0}};
    enum { N = sizeof all / sizeof all[0] };
    for (size_t first = 0; first < N; first++) {
        struct vv_registry *registry = fixture_open(NULL);
        struct vv_registry *other = fixture_open(NULL);
        struct vv_error error = {0};
        struct vv_buffer record = {0};
        uint32_t plant = fixture_tenant(registry, "plant");
        for (size_t i = 0; i < N; i++) {
            vv_registry_note_whole(registry, plant,
                                   (struct vv_whole){.built = all[(first + i) % N]});
        }
        vv_registry_encode(registry, VV_REGISTRY_TENANT, plant, &record);
        struct vv_str bytes = {(char *)record.data, record.size};
        assert_int_equal(vv_registry_apply(other, VV_REGISTRY_TENANT, bytes, &error), VV_OK);
        struct vv_whole whole = vv_registry_whole(other, plant);
        assert_int_equal(whole.built.longer_from, 7);
        assert_int_equal(whole.built.from, 2);
        assert_int_equal(whole.n, 0);
        vv_buffer_deinit(&record);
        vv_registry_destroy(registry);
        vv_registry_destroy(other);
    }
}

static void what_is_new_begins_as_the_options_say(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.retention_ns = 9 * VV_DAY;
    options.has_spaces = true;
    options.tenants_max = 1;
    struct vv_registry *registry = NULL;
    struct vv_error error = {0};
    uint32_t tenant, numbers[VV_SPACES_ALL + 1];
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    uint32_t plant = fixture_tenant(registry, "plant");
    assert_int_equal(vv_registry_retention(registry, plant), 9 * VV_DAY);
    assert_false(vv_registry_tiers(registry, plant).any); /* not yet */
    assert_int_equal(vv_registry_unsettled(registry, plant, numbers), VV_SPACES + 1);
    assert_int_equal(numbers[VV_SPACES], plant);
    for (int i = 0; i < VV_SPACES; i++) {
        settle(registry, numbers[i]);
        assert_int_equal(vv_registry_tiers(registry, plant).spaces[i], numbers[i]);
        assert_int_equal(vv_registry_retention(registry, numbers[i]),
                         vv_space_retention_ns_default((enum vv_space)i));
    }
    settle(registry, plant);
    assert_int_equal(vv_registry_unsettled(registry, plant, numbers), 0);
    uint32_t before = vv_registry_tenant_count(registry); /* one that is refused leaves nothing */
    assert_int_equal(vv_registry_tenant(registry, TEXT("other"), true, &tenant, &error),
                     VV_TOO_LARGE);
    assert_int_equal(vv_registry_tenant_count(registry), before);
    vv_registry_destroy(registry);
}

static void what_other_nodes_told_of_has_no_retention_of_this_one(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.retention_ns = 9 * VV_DAY;
    struct vv_registry *registry = NULL;
    struct vv_error error = {0};
    uint32_t tenant;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    assert_int_equal(vv_registry_space_named(registry, TEXT("told"), true, &tenant, &error), VV_OK);
    assert_int_equal(vv_registry_retention(registry, tenant), 0);
    vv_registry_destroy(registry);
}

static void the_longest_name_has_room_for_its_space(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    struct vv_error error = {0};
    char name[VV_TENANT_NAME_MAX];
    uint32_t tenant, space;
    memset(name, 'n', sizeof name);
    assert_int_equal(
        vv_registry_tenant(registry, (struct vv_str){name, sizeof name}, true, &tenant, &error),
        VV_OK);
    for (int i = 0; i < VV_SPACES; i++) {
        assert_int_equal(
            vv_registry_space(registry, tenant, (enum vv_space)i, true, &space, &error), VV_OK);
        struct vv_str full = vv_registry_tenant_name(registry, space);
        assert_true(full.size <= VV_SPACE_NAME_MAX);
        assert_int_equal(vv_space_tenant_name(full).size, sizeof name);
        assert_true(vv_space_is_name(full));
    }
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
        cmocka_unit_test(names_and_numbers),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(tenants_have_a_limit),
        cmocka_unit_test(spaces_are_no_tenants),
        cmocka_unit_test(tiers_are_spaces_that_are_settled_and_on),
        cmocka_unit_test(late_points_have_a_space_that_is_kept_as_long_as_others),
        cmocka_unit_test(a_space_that_comes_before_its_tenant_is_found),
        cmocka_unit_test(the_latest_life_of_a_tier_counts),
        cmocka_unit_test(names_of_lives_are_read_as_they_are_written),
        cmocka_unit_test(from_when_on_a_tenant_is_whole_is_kept_and_only_goes_up),
        cmocka_unit_test(lives_that_were_made_shorter_count_until_each_has_ended),
        cmocka_unit_test(what_was_made_longer_behind_a_shorter_life_is_there_until_that_ends),
        cmocka_unit_test(the_last_shorter_life_of_an_older_record_is_read),
        cmocka_unit_test(a_tier_that_is_off_ends_with_its_life),
        cmocka_unit_test(what_was_lengthened_often_takes_the_first_together),
        cmocka_unit_test(what_was_built_again_last_counts),
        cmocka_unit_test(what_is_new_begins_as_the_options_say),
        cmocka_unit_test(what_other_nodes_told_of_has_no_retention_of_this_one),
        cmocka_unit_test(the_longest_name_has_room_for_its_space),
        cmocka_unit_test(many_tenants),
        cmocka_unit_test(retention_makes_versions),
        cmocka_unit_test(holes_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
