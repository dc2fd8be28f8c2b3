/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the registry share: short ways to make and ask for things. */
#ifndef TESTS_UNIT_REGISTRY_FIXTURE_H
#define TESTS_UNIT_REGISTRY_FIXTURE_H

#include "registry/registry.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#ifndef TEXT
#define TEXT(literal) VV_STR_LITERAL(literal)
#endif

static const struct vv_registry_options fixture_defaults = {
    .tenants_max = 100,
    .sources_max = 100000,
    .metrics_max = 10000,
    .cache_bytes = 1 << 20,
};

__attribute__((unused)) static struct vv_registry *fixture_open(const char *id_tag)
{
    struct vv_registry_options options = fixture_defaults;
    options.id_tag = id_tag;
    struct vv_registry *registry = NULL;
    assert_int_equal(vv_registry_create(&options, &registry), VV_OK);
    return registry;
}

__attribute__((unused)) static uint32_t fixture_tenant(struct vv_registry *registry,
                                                       const char *name)
{
    uint32_t tenant = VV_REGISTRY_NONE;
    struct vv_error error = {0};
    enum vv_status status = vv_registry_tenant(registry, vv_str_of(name), true, &tenant, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, VV_OK);
    return tenant;
}

/* Takes "k=v,k2=v2" apart, without escapes. */
__attribute__((unused)) static size_t fixture_tags(const char *text, struct vv_tag *tags_out)
{
    size_t n = 0;
    while (*text) {
        size_t key = strcspn(text, "=");
        size_t value = strcspn(text + key + 1, ",");
        tags_out[n++] = (struct vv_tag){{text, key}, {text + key + 1, value}};
        text += key + 1 + value;
        text += *text == ',';
    }
    return n;
}

__attribute__((unused)) static enum vv_status fixture_try_source(struct vv_registry *registry,
                                                                 uint32_t tenant, const char *text,
                                                                 int64_t time, uint32_t *source_out,
                                                                 struct vv_error *error)
{
    struct vv_tag tags[VV_TAGS_MAX];
    size_t n = fixture_tags(text, tags);
    return vv_registry_source(registry, tenant, tags, n, time, source_out, error);
}

__attribute__((unused)) static uint32_t fixture_source(struct vv_registry *registry,
                                                       uint32_t tenant, const char *text,
                                                       int64_t time)
{
    uint32_t source = VV_REGISTRY_NONE;
    struct vv_error error = {0};
    enum vv_status status = fixture_try_source(registry, tenant, text, time, &source, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, VV_OK);
    return source;
}

__attribute__((unused)) static void fixture_print_version(const struct vv_tag_version *version,
                                                          char *out)
{
    *out = '\0';
    for (size_t i = 0; i < version->n_tags; i++) {
        out += sprintf(out, "%s%.*s=%.*s", i ? "," : "", VV_STR_ARG(version->tags[i].key),
                       VV_STR_ARG(version->tags[i].value));
    }
}

__attribute__((unused)) static void assert_tags(struct vv_registry *registry, uint32_t source,
                                                const char *expected)
{
    struct vv_arena arena = {0};
    struct vv_tag_version version;
    char text[4096];
    assert_int_equal(vv_registry_source_tags(registry, source, &arena, &version), VV_OK);
    fixture_print_version(&version, text);
    assert_string_equal(text, expected);
    vv_arena_deinit(&arena);
}

/* The history as "from:tags;from:tags", oldest first. */
__attribute__((unused)) static void assert_history(struct vv_registry *registry, uint32_t source,
                                                   const char *expected)
{
    struct vv_arena arena = {0};
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
    size_t n = 0;
    char text[8192] = "";
    assert_int_equal(vv_registry_source_history(registry, source, &arena, versions, &n), VV_OK);
    for (size_t i = 0, at = 0; i < n; i++) {
        at += (size_t)sprintf(text + at, "%s%lld:", i ? ";" : "", (long long)versions[i].from_ns);
        fixture_print_version(&versions[i], text + at);
        at = strlen(text);
    }
    assert_string_equal(text, expected);
    vv_arena_deinit(&arena);
}

__attribute__((unused)) static void assert_str(struct vv_str text, const char *expected)
{
    char copy[20000];
    snprintf(copy, sizeof copy, "%.*s", (int)text.size, text.data);
    assert_string_equal(copy, expected);
}

__attribute__((unused)) static uint32_t fixture_measurement(struct vv_registry *registry,
                                                            uint32_t tenant, const char *name)
{
    uint32_t measurement = VV_REGISTRY_NONE;
    struct vv_error error = {0};
    assert_int_equal(
        vv_registry_measurement(registry, tenant, vv_str_of(name), true, &measurement, &error),
        VV_OK);
    return measurement;
}

__attribute__((unused)) static uint32_t fixture_metric(struct vv_registry *registry,
                                                       uint32_t measurement, const char *field,
                                                       enum vv_value_type type)
{
    uint32_t metric = VV_REGISTRY_NONE;
    enum vv_value_type known = type;
    struct vv_error error = {0};
    assert_int_equal(vv_registry_metric(registry, measurement, vv_str_of(field), type, true,
                                        &metric, &known, &error),
                     VV_OK);
    return metric;
}

#endif
