/* SPDX-License-Identifier: Apache-2.0 */
/* Selecting sources and listing tags: examples, and agreement with looking at every source. */
#include "base/random.h"
#include "registry_fixture.h"

static struct vv_registry *registry_with_sources(uint32_t *tenant_out)
{
    struct vv_registry *registry = fixture_open(NULL);
    fixture_source(registry, fixture_tenant(registry, "other"), "host=h1,region=eu", 0);
    *tenant_out = fixture_tenant(registry, "a");
    fixture_source(registry, *tenant_out, "host=h1,region=eu", 0);         /* 1 */
    fixture_source(registry, *tenant_out, "host=h2,region=eu", 0);         /* 2 */
    fixture_source(registry, *tenant_out, "host=h3,region=us", 0);         /* 3 */
    fixture_source(registry, *tenant_out, "host=x4", 0);                   /* 4 */
    fixture_source(registry, *tenant_out, "host=h5,region=us,role=db", 0); /* 5 */
    return registry;
}

/* The numbers selected, joined. */
static void selected(struct vv_registry *registry, uint32_t tenant,
                     const struct vv_selector *selector, uint32_t after, size_t limit, char *out)
{
    uint32_t *sources = NULL;
    size_t n = 0;
    struct vv_error error = {0};
    assert_int_equal(
        vv_registry_select(registry, tenant, selector, after, limit, &sources, &n, &error), VV_OK);
    *out = '\0';
    for (size_t i = 0; i < n; i++) {
        out += sprintf(out, "%s%u", i ? " " : "", sources[i]);
    }
    assert_true(n > 0 || !sources);
    free(sources);
}

static void assert_matcher(const char *key, enum vv_match_op op, const char *const *values,
                           size_t n, const char *expected)
{
    uint32_t tenant = 0;
    struct vv_registry *registry = registry_with_sources(&tenant);
    struct vv_str texts[4];
    for (size_t i = 0; i < n; i++) {
        texts[i] = vv_str_of(values[i]);
    }
    const struct vv_matcher matcher = {vv_str_of(key), op, texts, n};
    const struct vv_selector selector = {.matchers = &matcher, .n_matchers = 1};
    char text[128];
    selected(registry, tenant, &selector, VV_REGISTRY_NONE, 100, text);
    assert_string_equal(text, expected);
    vv_registry_destroy(registry);
}

#define MATCHES(expected, key, op, ...)                                                            \
    assert_matcher((key), (op), (const char *const[]){__VA_ARGS__},                                \
                   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (expected))

static void matchers(void **state)
{
    (void)state;
    MATCHES("1 2", "region", VV_MATCH_IN, "eu");
    MATCHES("1 2 3 5", "region", VV_MATCH_IN, "us", "eu", "asia");
    MATCHES("", "region", VV_MATCH_IN, "asia");
    MATCHES("", "nothing", VV_MATCH_IN, "eu");
    MATCHES("", "region", VV_MATCH_IN, "");
    MATCHES("3 4 5", "region", VV_MATCH_NOT_IN, "eu");
    MATCHES("1 2 3 4 5", "nothing", VV_MATCH_NOT_IN, "eu");
    MATCHES("1 2 3 5", "host", VV_MATCH_GLOB, "h*");
    MATCHES("1 4", "host", VV_MATCH_GLOB, "?1", "x*");
    MATCHES("4", "host", VV_MATCH_NOT_GLOB, "h*");
    MATCHES("1 2 3 4", "role", VV_MATCH_NOT_GLOB, "*");
    MATCHES("5", "role", VV_MATCH_GLOB, "*");
    assert_matcher("region", VV_MATCH_IN, NULL, 0, "");
    assert_matcher("region", VV_MATCH_NOT_IN, NULL, 0, "1 2 3 4 5");
    assert_matcher("region", VV_MATCH_GLOB, NULL, 0, "");
}

static void ids_patterns_and_pages(void **state)
{
    (void)state;
    uint32_t tenant = 0;
    struct vv_registry *registry = registry_with_sources(&tenant);
    const struct vv_str ids[] = {TEXT("host=x4"), TEXT("no such"), TEXT("host=h1,region=eu")};
    const struct vv_str patterns[] = {TEXT("*role=db")};
    const struct vv_str us = TEXT("us");
    const struct vv_matcher matcher = {TEXT("region"), VV_MATCH_IN, &us, 1};
    struct vv_selector selector = {.ids = ids, .n_ids = 3};
    char text[128];
    selected(registry, tenant, &selector, VV_REGISTRY_NONE, 100, text);
    assert_string_equal(text, "1 4");
    selector.id_patterns = patterns;
    selector.n_id_patterns = 1;
    selected(registry, tenant, &selector, VV_REGISTRY_NONE, 100, text);
    assert_string_equal(text, "1 4 5");
    selector.matchers = &matcher;
    selector.n_matchers = 1;
    selected(registry, tenant, &selector, VV_REGISTRY_NONE, 100, text);
    assert_string_equal(text, "5");

    const struct vv_selector all = {0};
    selected(registry, tenant, &all, VV_REGISTRY_NONE, 100, text);
    assert_string_equal(text, "1 2 3 4 5");
    selected(registry, tenant, &all, VV_REGISTRY_NONE, 2, text);
    assert_string_equal(text, "1 2");
    selected(registry, tenant, &all, 2, 2, text);
    assert_string_equal(text, "3 4");
    selected(registry, tenant, &all, 4, 2, text);
    assert_string_equal(text, "5");
    selected(registry, tenant, &all, 5, 2, text);
    assert_string_equal(text, "");
    selected(registry, tenant, &all, UINT32_MAX - 1, 2, text);
    assert_string_equal(text, "");
    selected(registry, tenant, &all, VV_REGISTRY_NONE, 0, text);
    assert_string_equal(text, "");
    selected(registry, 99, &all, VV_REGISTRY_NONE, 9, text);
    assert_string_equal(text, "");
    vv_registry_destroy(registry);
}

static void the_id_tag_can_be_matched(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("host");
    uint32_t tenant = fixture_tenant(registry, "a");
    fixture_source(registry, tenant, "host=h1,region=eu", 0); /* 0 */
    fixture_source(registry, tenant, "host=h2,region=eu", 0); /* 1 */
    fixture_source(registry, tenant, "region=eu", 0);         /* 2, without an id tag */
    const struct vv_str values[] = {TEXT("h1"), TEXT("region=eu")};
    const struct vv_str pattern = TEXT("*e*u");
    const struct vv_str any = TEXT("*");
    const struct {
        struct vv_matcher matcher;
        const char *expected;
    } cases[] = {
        {{TEXT("host"), VV_MATCH_IN, values, 2}, "0"},
        {{TEXT("host"), VV_MATCH_NOT_IN, values, 2}, "1 2"},
        {{TEXT("host"), VV_MATCH_GLOB, &any, 1}, "0 1"},
        {{TEXT("host"), VV_MATCH_GLOB, &pattern, 1}, ""},
        {{TEXT("host"), VV_MATCH_NOT_GLOB, &any, 1}, "2"},
        {{TEXT("region"), VV_MATCH_GLOB, &any, 1}, "0 1 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct vv_selector selector = {.matchers = &cases[i].matcher, .n_matchers = 1};
        char text[64];
        selected(registry, tenant, &selector, VV_REGISTRY_NONE, 9, text);
        assert_string_equal(text, cases[i].expected);
    }
    vv_registry_destroy(registry);
}

static void only_present_tags_count(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    fixture_source(registry, tenant, "id=p,hall=1", 10);
    fixture_source(registry, tenant, "id=p,hall=2", 20);
    fixture_source(registry, tenant, "id=p,hall=3", 5); /* late */
    const char *const expected[] = {"", "0", ""};
    for (int i = 0; i < 3; i++) {
        char value[2] = {(char)('1' + i), '\0'};
        const struct vv_str hall = vv_str_of(value);
        const struct vv_matcher matcher = {TEXT("hall"), VV_MATCH_IN, &hall, 1};
        const struct vv_selector selector = {.matchers = &matcher, .n_matchers = 1};
        char text[64];
        selected(registry, tenant, &selector, VV_REGISTRY_NONE, 9, text);
        assert_string_equal(text, expected[i]);
    }
    vv_registry_destroy(registry);
}

/* ---- against looking at every source ---- */

#define KEYS   4
#define VALUES 6

static struct vv_str tag_value(struct vv_registry *registry, struct vv_arena *arena,
                               uint32_t source, struct vv_str key)
{
    struct vv_tag_version version;
    assert_int_equal(vv_registry_source_tags(registry, source, arena, &version), VV_OK);
    for (size_t i = 0; i < version.n_tags; i++) {
        if (vv_str_equal(version.tags[i].key, key)) {
            return version.tags[i].value;
        }
    }
    return (struct vv_str){"", 0};
}

static bool has_value(const struct vv_matcher *matcher, struct vv_str value)
{
    bool glob = matcher->op == VV_MATCH_GLOB || matcher->op == VV_MATCH_NOT_GLOB;
    for (size_t i = 0; value.size && i < matcher->n_values; i++) {
        if (glob ? vv_glob_match(matcher->values[i], value)
                 : vv_str_equal(matcher->values[i], value)) {
            return true;
        }
    }
    return false;
}

static bool is_selected(struct vv_registry *registry, uint32_t source,
                        const struct vv_selector *selector)
{
    struct vv_arena arena = {0};
    bool good = true;
    for (size_t i = 0; i < selector->n_matchers; i++) {
        const struct vv_matcher *matcher = &selector->matchers[i];
        bool negative = matcher->op == VV_MATCH_NOT_IN || matcher->op == VV_MATCH_NOT_GLOB;
        struct vv_str value = tag_value(registry, &arena, source, matcher->key);
        good = good && has_value(matcher, value) != negative;
    }
    bool by_id = selector->n_ids == 0 && selector->n_id_patterns == 0;
    struct vv_str id = vv_registry_source_id(registry, source);
    for (size_t i = 0; i < selector->n_ids; i++) {
        by_id = by_id || vv_str_equal(id, selector->ids[i]);
    }
    for (size_t i = 0; i < selector->n_id_patterns; i++) {
        by_id = by_id || vv_glob_match(selector->id_patterns[i], id);
    }
    vv_arena_deinit(&arena);
    return good && by_id;
}

static void random_tags(struct vv_random *random, char *out)
{
    *out = '\0';
    for (int key = 0; key < KEYS; key++) {
        if (vv_random_below(random, 3)) {
            out += sprintf(out, "%sk%d=v%d", key ? "," : "", key,
                           (int)vv_random_below(random, VALUES));
        }
    }
}

static void random_changes(struct vv_registry *registry, uint32_t tenant, uint32_t n,
                           struct vv_random *random)
{
    for (uint32_t i = 0; i < n; i++) {
        char text[256];
        int size = sprintf(text, "id=s%u,", (unsigned)vv_random_below(random, n));
        random_tags(random, text + size);
        fixture_source(registry, tenant, text, (int64_t)vv_random_below(random, 100));
    }
}

struct random_selector {
    struct vv_selector selector;
    struct vv_matcher matchers[3];
    struct vv_str values[3][3];
    struct vv_str ids[2];
    struct vv_str patterns[2];
};

static void random_selector(struct vv_random *random, struct random_selector *out)
{
    static const char *const keys[] = {"k0", "k1", "k2", "k3", "none"};
    static const char *const values[] = {"v0", "v1", "v2", "v3", "v4", "v5", "vx", ""};
    static const char *const globs[] = {"v*", "?0", "v1", "*", "\\v2", "*3", "x*"};
    static const char *const ids[] = {"s1", "s2", "s30", "none"};
    static const char *const patterns[] = {"s1*", "*2", "s??", "none*"};
    *out = (struct random_selector){0};
    out->selector.matchers = out->matchers;
    out->selector.n_matchers = vv_random_below(random, 4);
    for (size_t i = 0; i < out->selector.n_matchers; i++) {
        struct vv_matcher *matcher = &out->matchers[i];
        matcher->key = vv_str_of(keys[vv_random_below(random, 5)]);
        matcher->op = (enum vv_match_op)vv_random_below(random, 4);
        bool glob = matcher->op == VV_MATCH_GLOB || matcher->op == VV_MATCH_NOT_GLOB;
        matcher->n_values = vv_random_below(random, 4);
        matcher->values = out->values[i];
        for (size_t k = 0; k < matcher->n_values; k++) {
            out->values[i][k] = vv_str_of(glob ? globs[vv_random_below(random, 7)]
                                               : values[vv_random_below(random, 8)]);
        }
    }
    out->selector.ids = out->ids;
    out->selector.id_patterns = out->patterns;
    if (vv_random_below(random, 3) == 0) {
        out->selector.n_ids = vv_random_below(random, 3);
        out->selector.n_id_patterns = vv_random_below(random, 3);
    }
    for (size_t i = 0; i < 2; i++) {
        out->ids[i] = vv_str_of(ids[vv_random_below(random, 4)]);
        out->patterns[i] = vv_str_of(patterns[vv_random_below(random, 4)]);
    }
}

static void compare_with_every_source(struct vv_registry *registry, uint32_t tenant,
                                      const struct vv_selector *selector)
{
    uint32_t *sources = NULL;
    size_t n = 0;
    assert_int_equal(vv_registry_select(registry, tenant, selector, VV_REGISTRY_NONE, SIZE_MAX,
                                        &sources, &n, NULL),
                     VV_OK);
    size_t at = 0;
    for (uint32_t source = 0; source < vv_registry_source_count(registry); source++) {
        if (vv_registry_source_tenant(registry, source) == tenant &&
            is_selected(registry, source, selector)) {
            assert_true(at < n);
            assert_int_equal(sources[at++], source);
        }
    }
    assert_int_equal(at, n);
    free(sources);
}

static void agrees_with_looking_at_every_source(void **state)
{
    (void)state;
    const uint64_t seed = 42;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    uint32_t other = fixture_tenant(registry, "b");
    for (int round = 0; round < 20; round++) {
        random_changes(registry, tenant, 300, &random);
        random_changes(registry, other, 50, &random);
        for (int i = 0; i < 20; i++) {
            struct random_selector selector;
            random_selector(&random, &selector);
            compare_with_every_source(registry, tenant, &selector.selector);
        }
    }
    vv_registry_destroy(registry);
}

/* ---- listing ---- */

struct listing {
    char text[512];
    size_t left;
};

static bool note(void *context, struct vv_str text, uint64_t sources)
{
    struct listing *listing = context;
    size_t size = strlen(listing->text);
    snprintf(listing->text + size, sizeof listing->text - size, "%s%.*s:%llu", size ? " " : "",
             VV_STR_ARG(text), (unsigned long long)sources);
    return --listing->left > 0;
}

static void assert_listed(struct vv_registry *registry, uint32_t tenant, const char *key,
                          size_t most, const char *expected)
{
    struct listing listing = {.left = most};
    struct vv_str wanted = {key, key ? strlen(key) : 0};
    assert_int_equal(vv_registry_tags(registry, tenant, wanted, note, &listing), VV_OK);
    assert_string_equal(listing.text, expected);
}

static void keys_and_values_are_listed(void **state)
{
    (void)state;
    uint32_t tenant = 0;
    struct vv_registry *registry = registry_with_sources(&tenant);
    assert_listed(registry, tenant, NULL, 9, "host:5 region:4 role:1");
    assert_listed(registry, tenant, NULL, 2, "host:5 region:4");
    assert_listed(registry, tenant, "region", 9, "eu:2 us:2");
    assert_listed(registry, tenant, "host", 9, "h1:1 h2:1 h3:1 h5:1 x4:1");
    assert_listed(registry, tenant, "none", 9, "");
    assert_listed(registry, 99, NULL, 9, "");
    vv_registry_destroy(registry);
}

static void old_values_are_not_listed(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open("id");
    uint32_t tenant = fixture_tenant(registry, "a");
    fixture_source(registry, tenant, "id=p,hall=1", 10);
    fixture_source(registry, tenant, "id=p,hall=2,site=x", 20);
    assert_listed(registry, tenant, NULL, 9, "hall:1 site:1");
    assert_listed(registry, tenant, "hall", 9, "2:1");
    vv_registry_destroy(registry);
}

static void long_lists_go_in_slices(void **state)
{
    (void)state;
    struct vv_registry *registry = fixture_open(NULL);
    uint32_t tenant = fixture_tenant(registry, "a");
    for (int i = 0; i < 5000; i++) {
        char text[32];
        snprintf(text, sizeof text, "host=h%04d", i);
        fixture_source(registry, tenant, text, 0);
    }
    assert_listed(registry, tenant, "host", 2, "h0000:1 h0001:1");
    const struct vv_str patterns[] = {TEXT("h?000"), TEXT("h4999")};
    const struct vv_matcher matcher = {TEXT("host"), VV_MATCH_GLOB, patterns, 2};
    const struct vv_selector selector = {.matchers = &matcher, .n_matchers = 1};
    char text[64];
    selected(registry, tenant, &selector, VV_REGISTRY_NONE, 99, text);
    assert_string_equal(text, "0 1000 2000 3000 4000 4999");
    vv_registry_destroy(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matchers),
        cmocka_unit_test(ids_patterns_and_pages),
        cmocka_unit_test(the_id_tag_can_be_matched),
        cmocka_unit_test(only_present_tags_count),
        cmocka_unit_test(agrees_with_looking_at_every_source),
        cmocka_unit_test(keys_and_values_are_listed),
        cmocka_unit_test(old_values_are_not_listed),
        cmocka_unit_test(long_lists_go_in_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
