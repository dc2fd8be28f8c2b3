/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics by patterns. */
#include "registry/registry_private.h"
#include "registry/text.h"

#include <stdlib.h>

#define LITERAL_BYTES_MAX (2 * VV_NAME_BYTES_MAX + 1)

struct found {
    struct vv_str name;
    uint32_t metric;
};

struct search {
    struct vv_registry *registry;
    struct found *found;
    size_t n;
    size_t capacity;
};

static bool search_add(struct search *search, uint32_t number)
{
    if (search->n == search->capacity) {
        size_t capacity = search->capacity ? search->capacity * 2 : 16;
        struct found *found = realloc(search->found, capacity * sizeof *found);
        if (!found) {
            return false;
        }
        search->found = found;
        search->capacity = capacity;
    }
    struct vv_metric *metric = vv_metric_at(search->registry, number);
    search->found[search->n++] = (struct found){vv_text_str(metric->name), number};
    return true;
}

static bool has_wildcard(struct vv_str pattern)
{
    for (size_t i = 0; i < pattern.size; i++) {
        if (pattern.data[i] == '*' || pattern.data[i] == '?') {
            return true;
        }
        i += pattern.data[i] == '\\';
    }
    return false;
}

/* The metric with the name that a pattern without wildcards stands for. */
static uint32_t find_literal(struct vv_registry *registry, uint32_t tenant, struct vv_str pattern)
{
    char text[LITERAL_BYTES_MAX];
    size_t size = 0;
    for (size_t i = 0; i < pattern.size; i++) {
        i += pattern.data[i] == '\\' && i + 1 < pattern.size;
        if (size == sizeof text) {
            return VV_REGISTRY_NONE;
        }
        text[size++] = pattern.data[i];
    }
    return vv_registry_metric_named(registry, tenant, (struct vv_str){text, size});
}

static bool any_matches(const struct vv_str *patterns, size_t n, struct vv_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (has_wildcard(patterns[i]) && vv_glob_match(patterns[i], name)) {
            return true;
        }
    }
    return false;
}

/* All of the tenant's metrics that a pattern with wildcards matches, or all. */
static enum vv_status scan(struct search *search, const struct vv_tenant *tenant,
                           const struct vv_str *patterns, size_t n)
{
    uint32_t next = atomic_load_explicit(&tenant->metric_last, memory_order_acquire);
    while (next) {
        const struct vv_metric *metric = vv_metric_at(search->registry, next - 1);
        if ((n == 0 || any_matches(patterns, n, vv_text_str(metric->name))) &&
            !search_add(search, next - 1)) {
            return VV_NO_MEMORY;
        }
        next = metric->next;
    }
    return VV_OK;
}

static enum vv_status find_literals(struct search *search, uint32_t tenant,
                                    const struct vv_str *patterns, size_t n, bool *wildcards_out,
                                    struct vv_error *error)
{
    *wildcards_out = n == 0;
    for (size_t i = 0; i < n; i++) {
        if (has_wildcard(patterns[i])) {
            *wildcards_out = true;
            continue;
        }
        uint32_t metric = find_literal(search->registry, tenant, patterns[i]);
        if (metric == VV_REGISTRY_NONE) {
            bool shows = vv_text_check(patterns[i], "", NULL) == VV_OK;
            struct vv_str shown = shows ? vv_text_cut(patterns[i], 256) : VV_STR_LITERAL("?");
            return vv_error_set(error, VV_NOT_FOUND, "there is no metric '%.*s'",
                                VV_STR_ARG(shown));
        }
        if (!search_add(search, metric)) {
            return VV_NO_MEMORY;
        }
    }
    return VV_OK;
}

static int compare_names(const void *a, const void *b)
{
    return vv_str_compare(((const struct found *)a)->name, ((const struct found *)b)->name);
}

/* In the order of names, each once. */
static enum vv_status hand_over(struct search *search, uint32_t **metrics_out, size_t *n_out)
{
    if (search->n == 0) {
        return VV_OK;
    }
    uint32_t *metrics = malloc(search->n * sizeof *metrics);
    if (!metrics) {
        return VV_NO_MEMORY;
    }
    qsort(search->found, search->n, sizeof *search->found, compare_names);
    size_t n = 0;
    for (size_t i = 0; i < search->n; i++) {
        if (n == 0 || metrics[n - 1] != search->found[i].metric) {
            metrics[n++] = search->found[i].metric;
        }
    }
    *metrics_out = metrics;
    *n_out = n;
    return VV_OK;
}

enum vv_status vv_registry_find_metrics(struct vv_registry *registry, uint32_t tenant_number,
                                        const struct vv_str *patterns, size_t n,
                                        uint32_t **metrics_out, size_t *n_out,
                                        struct vv_error *error)
{
    *metrics_out = NULL;
    *n_out = 0;
    struct vv_tenant *tenant = vv_tenant_at(registry, tenant_number);
    struct search search = {.registry = registry};
    bool wildcards = false;
    enum vv_status status = find_literals(&search, tenant_number, patterns, n, &wildcards, error);
    if (status == VV_OK && wildcards && tenant) {
        status = scan(&search, tenant, patterns, n);
    }
    if (status == VV_OK) {
        status = hand_over(&search, metrics_out, n_out);
    }
    free(search.found);
    return status;
}
