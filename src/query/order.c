/* SPDX-License-Identifier: Apache-2.0 */
/* From the names of a request to delete, or to reroll, to the numbers of an order. */
#include "base/compare.h"
#include "model/deletion.h"
#include "query/request.h"
#include "query/result.h"

#include <stdlib.h>

/* The metrics that are asked for, as there are now, and their measurements. */
struct named {
    uint32_t *metrics;
    size_t n_metrics;
    uint32_t *measurements; /* ascending, each once */
    size_t n_measurements;
};

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory for the request");
}

static bool is_wanted(const struct vv_request *request, struct vv_str measurement)
{
    bool wanted = request->measurements.n == 0;
    for (size_t i = 0; i < request->measurements.n && !wanted; i++) {
        wanted = vv_glob_match(request->measurements.items[i], measurement);
    }
    return wanted;
}

/* Ascending, each once: numbers of an order, and what is found in it, have one form. */
static void sort_once(uint32_t *numbers, size_t *n)
{
    size_t kept = 0;
    if (*n > 1) {
        qsort(numbers, *n, sizeof *numbers, vv_compare_u32);
    }
    for (size_t i = 0; i < *n; i++) {
        if (kept == 0 || numbers[kept - 1] != numbers[i]) {
            numbers[kept++] = numbers[i];
        }
    }
    *n = kept;
}

static enum vv_status find_named(const struct vv_query_context *context,
                                 const struct vv_request *request, uint32_t tenant,
                                 struct named *named, struct vv_error *error)
{
    struct vv_registry *registry = context->registry;
    enum vv_status status =
        vv_registry_find_metrics(registry, tenant, request->metrics.items, request->metrics.n,
                                 &named->metrics, &named->n_metrics, error);
    if (status != VV_OK) {
        return status;
    }
    named->measurements =
        calloc(named->n_metrics ? named->n_metrics : 1, sizeof *named->measurements);
    if (!named->measurements) {
        return no_memory(error);
    }
    size_t kept = 0;
    for (size_t i = 0; i < named->n_metrics; i++) {
        struct vv_metric_info info;
        vv_registry_metric_info(registry, named->metrics[i], &info);
        if (is_wanted(request, vv_registry_measurement_name(registry, info.measurement))) {
            named->measurements[kept] = info.measurement;
            named->metrics[kept++] = named->metrics[i];
        }
    }
    named->n_metrics = named->n_measurements = kept;
    sort_once(named->metrics, &named->n_metrics);
    sort_once(named->measurements, &named->n_measurements);
    if (kept == 0 && request->measurements.n > 0) {
        return vv_error_set(error, VV_NOT_FOUND,
                            "there is no such measurement, or no such metric "
                            "of it");
    }
    return VV_OK;
}

static enum vv_status make_order(const struct vv_request *request, uint32_t tenant,
                                 const struct named *named, const uint32_t *sources,
                                 size_t n_sources, struct vv_deletion_order **order_out,
                                 struct vv_error *error)
{
    bool by_metric = request->metrics.n > 0;
    bool by_measurement = !by_metric && request->measurements.n > 0;
    size_t n = by_metric ? named->n_metrics : by_measurement ? named->n_measurements : 0;
    if (n_sources == 0 || (n == 0 && by_metric)) {
        return VV_OK; /* a pattern that nothing matches */
    }
    struct vv_deletion_order *order = vv_deletion_order_create(n, n_sources);
    if (!order) {
        return no_memory(error);
    }
    order->tenant = tenant;
    order->scope = by_metric        ? VV_DELETION_METRIC
                   : by_measurement ? VV_DELETION_MEASUREMENT
                                    : VV_DELETION_SOURCE;
    order->from = request->from;
    order->to = request->to;
    if (n > 0) {
        memcpy(order->numbers, by_metric ? named->metrics : named->measurements,
               n * sizeof *order->numbers);
    }
    memcpy(order->sources, sources, n_sources * sizeof *sources);
    *order_out = order;
    return VV_OK;
}

static enum vv_status find_sources(const struct vv_query_context *context,
                                   const struct vv_request *request, uint32_t tenant,
                                   uint64_t sources_max, uint32_t **sources_out, size_t *n_out,
                                   struct vv_error *error)
{
    const struct vv_selector selector = vv_request_selector(request);
    size_t limit = sources_max < SIZE_MAX ? (size_t)sources_max + 1 : SIZE_MAX;
    enum vv_status status = vv_registry_select(context->registry, tenant, &selector,
                                               VV_REGISTRY_NONE, limit, sources_out, n_out, error);
    if (status == VV_OK && *n_out > sources_max) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "more than %llu sources are selected, as many markers of deletion as "
                            "are kept in all (deletion.markers_max): narrow it with source or tag, "
                            "or raise the setting",
                            (unsigned long long)sources_max);
    }
    return status;
}

enum vv_status vv_request_order(const struct vv_query_context *context,
                                const struct vv_request *request, uint64_t sources_max,
                                struct vv_delete_selection *selection_out, struct vv_error *error)
{
    uint32_t tenant;
    uint32_t *sources = NULL;
    size_t n = 0;
    struct named named = {0};
    vv_invariant(request->kind == VV_REQUEST_DELETE || request->kind == VV_REQUEST_REROLL);
    *selection_out = (struct vv_delete_selection){
        .from = request->from,
        .to = request->to,
        .dry_run = request->dry_run,
        .tier =
            request->tier >= VV_TIER_MINUTE ? (int)(request->tier - VV_TIER_MINUTE) : VV_SPACES};
    enum vv_status status =
        vv_registry_tenant(context->registry, request->tenant, false, &tenant, error);
    if (status == VV_OK) {
        status = find_named(context, request, tenant, &named, error);
    }
    if (status == VV_OK) {
        status = find_sources(context, request, tenant, sources_max, &sources, &n, error);
    }
    if (status == VV_OK) {
        status = make_order(request, tenant, &named, sources, n, &selection_out->order, error);
    }
    selection_out->sources = n;
    selection_out->metrics = named.n_metrics;
    free(sources);
    free(named.metrics);
    free(named.measurements);
    return status;
}
