/* SPDX-License-Identifier: Apache-2.0 */
/* Sources: one per tag set in any order, ids, limits, tag versions and their bounds. */
#include "base/random.h"
#include "registry_fixture.h"

static void one_source_per_tag_set(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source = fixture_source(registry, tenant, "host=h1,region=eu,rack=7", 5);
    assert_int_equal(fixture_source(registry, tenant, "rack=7,region=eu,host=h1", 6), source);
    assert_int_equal(fixture_source(registry, tenant, "rack=7,region=us,host=h1,region=eu", 6),
                     source);
    assert_int_equal(fixture_source(registry, tenant, "x=,rack=7,region=eu,host=h1", 6), source);
    assert_int_not_equal(fixture_source(registry, tenant, "host=h1,region=eu", 6), source);
    assert_str(vv_registry_source_id(registry, source), "host=h1,rack=7,region=eu");
    assert_tags(registry, source, "host=h1,rack=7,region=eu");
    assert_int_equal(vv_registry_source_tenant(registry, source), tenant);
    uint32_t none = fixture_source(registry, tenant, "", 0);
    assert_str(vv_registry_source_id(registry, none), "-");
    assert_tags(registry, none, "");
    assert_int_equal(fixture_source(registry, tenant, "x=", 0), none);
    assert_int_equal(vv_registry_source_count(registry), 3);
    vv_registry_destroy(registry);
}

static void tenants_do_not_share_sources(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t a = fixture_tenant(registry, "a");
    uint32_t b = fixture_tenant(registry, "b");
    uint32_t of_a = fixture_source(registry, a, "host=h1", 0);
    uint32_t of_b = fixture_source(registry, b, "host=h1", 0);
    assert_int_not_equal(of_a, of_b);
    uint32_t found = 0;
    assert_int_equal(vv_registry_source_by_id(registry, b, TEXT("host=h1"), &found), VV_OK);
    assert_int_equal(found, of_b);
    assert_int_equal(vv_registry_source_by_id(registry, b, TEXT("host=h2"), &found), VV_NOT_FOUND);
    assert_int_equal(vv_registry_source_by_id(registry, 77, TEXT("host=h1"), &found), VV_NOT_FOUND);
    struct vv_error error = {0};
    assert_int_equal(fixture_try_source(registry, 77, "host=h1", 0, &found, &error), VV_INVALID);
    vv_registry_destroy(registry);
}

static void bad_tags_are_refused(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    static char large[VV_NAME_BYTES_MAX + 1];
    memset(large, 'x', sizeof large);
    const struct vv_str long_text = {large, sizeof large};
    const struct {
        struct vv_tag tag;
        enum vv_status expected;
        const char *message;
    } cases[] = {
        {{TEXT(""), TEXT("v")}, VV_INVALID, "empty key"},
        {{TEXT("k"), TEXT("a\nb")}, VV_INVALID, "control character"},
        {{TEXT("k\x01"), TEXT("v")}, VV_INVALID, "control character"},
        {{TEXT("k"), TEXT("\xFF")}, VV_INVALID, "UTF-8"},
        {{TEXT("\xC0"), TEXT("v")}, VV_INVALID, "UTF-8"},
        {{TEXT("id"), TEXT("\x80")}, VV_INVALID, "UTF-8"},
        {{TEXT("k"), long_text}, VV_TOO_LARGE, "4096"},
        {{long_text, TEXT("v")}, VV_TOO_LARGE, "4096"},
        {{TEXT("id"), long_text}, VV_TOO_LARGE, "4096"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t source = 0;
        struct vv_error error = {0};
        assert_int_equal(vv_registry_source(registry, tenant, &cases[i].tag, 1, 0, &source, &error),
                         cases[i].expected);
        assert_non_null(strstr(error.message, cases[i].message));
    }
    assert_int_equal(vv_registry_source_count(registry), 0);
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_int_equal(figures.tag_values, 0);
    vv_registry_destroy(registry);
}

static void sources_have_a_limit(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.sources_max = 2;
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t first = fixture_source(registry, tenant, "h=1", 0);
    fixture_source(registry, tenant, "h=2", 0);
    uint32_t source = 0;
    struct vv_error error = {0};
    assert_int_equal(fixture_try_source(registry, tenant, "h=3", 0, &source, &error), VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "2 sources"));
    assert_int_equal(fixture_source(registry, tenant, "h=1", 0), first);
    vv_registry_destroy(registry);
}

static void memory_has_a_limit(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.bytes_max = 4 << 20;
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    uint32_t tenant = fixture_tenant(registry, "a");
    char value[VV_NAME_BYTES_MAX];
    memset(value, 'x', sizeof value);
    enum vv_status status = VV_OK;
    struct vv_error error = {0};
    uint32_t made = 0;
    while (status == VV_OK && made < 10000) {
        uint32_t source = 0;
        for (uint32_t i = 0, digits = made; i < 7; i++, digits /= 10) {
            value[i] = (char)('0' + digits % 10);
        }
        const struct vv_tag tag = {TEXT("host"), {value, sizeof value}};
        status = vv_registry_source(registry, tenant, &tag, 1, 0, &source, &error);
        made += status == VV_OK;
    }
    assert_int_equal(status, VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "4194304 bytes"));
    assert_in_range(made, 100, 600);
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_in_range(figures.bytes, 4 << 20, 7 << 20);
    uint32_t number = 0;
    assert_int_equal(vv_registry_measurement(registry, tenant, TEXT("m"), true, &number, NULL),
                     VV_TOO_LARGE);
    vv_registry_destroy(registry);
}

/* ---- with an id tag ---- */

static void the_id_tag_names_the_source(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("device");
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source = fixture_source(registry, tenant, "device=p1,site=x", 100);
    assert_str(vv_registry_source_id(registry, source), "p1");
    assert_tags(registry, source, "site=x");
    assert_int_equal(fixture_source(registry, tenant, "site=x,device=p1", 200), source);
    assert_int_equal(fixture_source(registry, tenant, "device=p1", 200), source);
    assert_history(registry, source, "100:site=x");
    uint32_t other = fixture_source(registry, tenant, "site=x", 100);
    assert_str(vv_registry_source_id(registry, other), "site=x");
    assert_tags(registry, other, "site=x");
    uint32_t bare = fixture_source(registry, tenant, "device=p2", 7);
    assert_history(registry, bare, "7:");
    vv_registry_destroy(registry);
}

static void tags_change_over_time(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source = fixture_source(registry, tenant, "id=p,site=x,hall=1", 100);
    vv_registry_settle(registry, VV_REGISTRY_SOURCE, source, 1);
    assert_int_equal(fixture_source(registry, tenant, "id=p,hall=1", 150), source);
    assert_true(vv_registry_settled(registry, VV_REGISTRY_SOURCE, source));
    fixture_source(registry, tenant, "id=p,hall=2", 200); /* site stays */
    assert_false(vv_registry_settled(registry, VV_REGISTRY_SOURCE, source));
    assert_history(registry, source, "100:hall=1,site=x;200:hall=2,site=x");
    fixture_source(registry, tenant, "id=p,zone=z,area=a", 300);
    assert_tags(registry, source, "area=a,hall=2,site=x,zone=z");
    /* What is late does not rewrite history. */
    fixture_source(registry, tenant, "id=p,hall=9", 250);
    assert_history(registry, source,
                   "100:hall=1,site=x;200:hall=2,site=x;300:area=a,hall=2,site=x,zone=z");
    /* At the same time the last one counts. */
    fixture_source(registry, tenant, "id=p,hall=3", 300);
    assert_history(registry, source,
                   "100:hall=1,site=x;200:hall=2,site=x;300:area=a,hall=3,site=x,zone=z");
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_int_equal(figures.tag_changes, 3);
    assert_int_equal(figures.tag_values, 6); /* hall=1, 2, 3; site, area, zone */
    vv_registry_destroy(registry);
}

static void flapping_tags_stay_bounded(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source = fixture_source(registry, tenant, "id=p,n=0", 0);
    struct vv_registry_figures before = {0};
    for (int i = 1; i <= 20000; i++) {
        char text[64];
        snprintf(text, sizeof text, "id=p,n=%d,k%d=v", i, i % 100);
        assert_int_equal(fixture_source(registry, tenant, text, i), source);
        if (i == 1000) {
            vv_registry_read_figures(registry, &before);
        }
    }
    struct vv_registry_figures after;
    vv_registry_read_figures(registry, &after);
    assert_int_equal(after.tag_values, before.tag_values);
    assert_int_equal(after.tag_values, VV_TAG_HISTORY_MAX + 100);
    assert_in_range(after.bytes, before.bytes / 2, before.bytes + 4096);

    struct vv_arena arena = {0};
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
    size_t n = 0;
    assert_int_equal(vv_registry_source_history(registry, source, &arena, versions, &n), VV_OK);
    assert_int_equal(n, VV_TAG_HISTORY_MAX);
    assert_int_equal(versions[0].from_ns, 20000 - VV_TAG_HISTORY_MAX + 1);
    assert_int_equal(versions[n - 1].from_ns, 20000);
    vv_arena_deinit(&arena);
    vv_registry_destroy(registry);
}

static void old_versions_of_all_sources_are_bounded(void **state)
{
    (void)state;
    struct vv_registry_options options = fixture_defaults;
    options.id_tag = "id";
    options.bytes_max = 16 << 20;
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    uint32_t tenant = fixture_tenant(registry, "a");
    static char text[VV_NAME_BYTES_MAX];
    memset(text, 'x', sizeof text - 1);
    for (int change = 0; change < VV_TAG_HISTORY_MAX; change++) {
        for (int i = 0; i < 300; i++) {
            char start[32];
            int size = snprintf(start, sizeof start, "id=p%04d,n=%04d-%04d", i, change, i);
            memcpy(text, start, (size_t)size);
            fixture_source(registry, tenant, text, change);
        }
    }
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    /* Unbounded it would be 300 × 32 × 4 KiB = 39 MB. */
    assert_in_range(figures.bytes, 4 << 20, 16 << 20);
    vv_registry_destroy(registry);
}

static void tags_that_add_up_to_too_many_are_refused(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    char text[64];
    uint32_t source = 0;
    enum vv_status status = VV_OK;
    struct vv_error error = {0};
    int i = 0;
    for (; i < 300 && status == VV_OK; i++) {
        snprintf(text, sizeof text, "id=p,key%03d=v", i);
        status = fixture_try_source(registry, tenant, text, i, &source, &error);
    }
    assert_int_equal(status, VV_TOO_LARGE);
    assert_int_equal(i, VV_TAGS_MAX + 1);
    assert_non_null(strstr(error.message, "256 tags"));
    struct vv_registry_figures figures;
    vv_registry_read_figures(registry, &figures);
    assert_int_equal(figures.tag_values, VV_TAGS_MAX);

    char *large = malloc(VV_NAME_BYTES_MAX + 16);
    assert_non_null(large);
    memset(large, 'x', VV_NAME_BYTES_MAX + 16);
    memcpy(large, "id=q,a=", 7);
    large[VV_NAME_BYTES_MAX + 5] = '\0';
    fixture_source(registry, tenant, large, 0);
    large[5] = 'b';
    fixture_source(registry, tenant, large, 1);
    large[5] = 'c';
    assert_int_equal(fixture_try_source(registry, tenant, large, 2, &source, &error), VV_TOO_LARGE);
    free(large);
    vv_registry_destroy(registry);
}

static void an_id_that_is_a_tag_set_is_that_source(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t source = fixture_source(registry, tenant, "a=b", 0);
    const struct vv_tag tags[] = {{TEXT("id"), TEXT("a=b")}, {TEXT("c"), TEXT("d")}};
    uint32_t again = 0;
    assert_int_equal(vv_registry_source(registry, tenant, tags, 2, 5, &again, NULL), VV_OK);
    assert_int_equal(again, source);
    assert_tags(registry, source, "a=b");
    vv_registry_destroy(registry);
}

static void holes_are_harmless(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    const uint32_t holes[] = {0, 1, 8192, VV_SOURCES_LIMIT, VV_REGISTRY_NONE};
    uint32_t tenant = fixture_tenant(registry, "a");
    assert_int_equal(vv_registry_reserve(registry, VV_REGISTRY_SOURCE, 8191), VV_OK);
    assert_int_equal(vv_registry_reserve(registry, VV_REGISTRY_SOURCE, VV_SOURCES_LIMIT),
                     VV_CORRUPT);
    for (size_t i = 0; i < sizeof holes / sizeof holes[0]; i++) {
        int64_t first = 0;
        int64_t last = 0;
        struct vv_buffer buffer = {0};
        assert_int_equal(vv_registry_source_id(registry, holes[i]).size, 0);
        assert_int_equal(vv_registry_source_tenant(registry, holes[i]), VV_REGISTRY_NONE);
        assert_tags(registry, holes[i], "");
        assert_history(registry, holes[i], "");
        vv_registry_source_observe(registry, holes[i], 1, 2);
        assert_false(vv_registry_source_times(registry, holes[i], &first, &last));
        assert_int_equal(vv_registry_source_plans(registry, holes[i]).n, 0);
        for (int kind = VV_REGISTRY_MEASUREMENT; kind <= VV_REGISTRY_TIMES; kind++) {
            enum vv_registry_kind one = (enum vv_registry_kind)kind;
            assert_true(vv_registry_settled(registry, one, holes[i]));
            assert_int_equal(vv_registry_encode(registry, one, holes[i], &buffer), 0);
            vv_registry_settle(registry, one, holes[i], 1);
        }
        assert_int_equal(buffer.size, 0);
        assert_str(vv_registry_measurement_name(registry, holes[i]), "");
    }
    assert_int_equal(fixture_source(registry, tenant, "id=p", 0), 8192);
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_source_per_tag_set),
        cmocka_unit_test(tenants_do_not_share_sources),
        cmocka_unit_test(bad_tags_are_refused),
        cmocka_unit_test(sources_have_a_limit),
        cmocka_unit_test(memory_has_a_limit),
        cmocka_unit_test(the_id_tag_names_the_source),
        cmocka_unit_test(tags_change_over_time),
        cmocka_unit_test(flapping_tags_stay_bounded),
        cmocka_unit_test(old_versions_of_all_sources_are_bounded),
        cmocka_unit_test(tags_that_add_up_to_too_many_are_refused),
        cmocka_unit_test(an_id_that_is_a_tag_set_is_that_source),
        cmocka_unit_test(holes_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
