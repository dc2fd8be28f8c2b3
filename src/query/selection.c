/* SPDX-License-Identifier: Apache-2.0 */
/* From the names of a request to the numbers of the registry. */
#include "query/fetch.h"
#include "query/result.h"

#include <stdlib.h>

struct vv_selector vv_request_selector(const struct vv_request *request)
{
    return (struct vv_selector){
        .ids = request->ids.items,
        .n_ids = request->ids.n,
        .id_patterns = request->id_patterns.items,
        .n_id_patterns = request->id_patterns.n,
        .matchers = request->matchers,
        .n_matchers = request->n_matchers,
    };
}

#define SOON_NS VV_HOUR /* before points of a time may come it is long settled where they lie */

/* Other nodes may have stored something of the range where this one would not look. */
static enum vv_status check_places(const struct vv_result *result, struct vv_error *error)
{
    const struct vv_selection *selection = &result->selection;
    __int128 until = (__int128)result->request->now_ns + result->limits.future_ns_max + SOON_NS;
    until = until < VV_TIME_MAX ? until : VV_TIME_MAX;
    for (size_t i = 0; i < selection->n_metrics; i++) {
        int64_t from = vv_registry_waits_from(result->context.registry,
                                              selection->metrics[i].measurement, (int64_t)until);
        if (from != 0 && from < result->to) {
            char text[VV_TIME_TEXT_SIZE];
            vv_time_format(from, text);
            return vv_error_set(error, VV_OVERLOAD,
                                "it is not agreed on yet where points of %.*s from %.10s on lie: "
                                "ask for earlier ones (to=), or try again later",
                                VV_STR_ARG(selection->metrics[i].name), text);
        }
    }
    return VV_OK;
}

static enum vv_status find_metrics(struct vv_result *result, struct vv_error *error)
{
    struct vv_selection *selection = &result->selection;
    uint32_t *numbers = NULL;
    size_t n = 0;
    enum vv_status status = vv_registry_find_metrics(
        result->context.registry, result->tenant, result->request->metrics.items,
        result->request->metrics.n, &numbers, &n, error);
    if (status != VV_OK) {
        return status;
    }
    selection->metrics = calloc(n ? n : 1, sizeof *selection->metrics);
    selection->n_metrics = selection->metrics ? n : 0;
    for (size_t i = 0; i < selection->n_metrics; i++) {
        vv_registry_metric_info(result->context.registry, numbers[i], &selection->metrics[i]);
    }
    free(numbers);
    result->memory_bytes += n * sizeof *selection->metrics;
    return selection->metrics ? VV_OK : vv_result_no_memory(error);
}

static enum vv_status too_many_series(const struct vv_result *result, struct vv_error *error)
{
    return vv_error_set(error, VV_TOO_LARGE,
                        "the request asks for more than %llu series (sources x metrics; "
                        "query.series_max): narrow it with source, tag or metric",
                        (unsigned long long)result->limits.series_max);
}

enum vv_status vv_result_select(struct vv_result *result, bool sources, struct vv_error *error)
{
    struct vv_selection *selection = &result->selection;
    enum vv_status status = find_metrics(result, error);
    if (status == VV_OK) {
        status = check_places(result, error);
    }
    if (status == VV_OK && result->request->kind == VV_REQUEST_QUERY) {
        status = vv_result_choose_routes(result, error);
    }
    if (status != VV_OK || !sources || selection->n_metrics == 0) {
        return status;
    }
    if (selection->n_metrics > result->limits.series_max) {
        return too_many_series(result, error);
    }
    uint64_t most = result->limits.series_max / selection->n_metrics;
    size_t limit = most < SIZE_MAX ? (size_t)most + 1 : SIZE_MAX;
    struct vv_selector selector = vv_request_selector(result->request);
    status =
        vv_registry_select(result->context.registry, result->tenant, &selector, VV_REGISTRY_NONE,
                           limit, &selection->sources, &selection->n_sources, error);
    if (status != VV_OK) {
        return status;
    }
    result->memory_bytes += selection->n_sources * sizeof *selection->sources;
    return selection->n_sources > most ? too_many_series(result, error) : VV_OK;
}

enum vv_status vv_result_select_to_read(struct vv_result *result, bool descending, bool few,
                                        struct vv_error *error)
{
    enum vv_status status = vv_result_select(result, true, error);
    if (status == VV_OK) {
        vv_fetch_expect(result->context.fetch, result->selection.sources,
                        result->selection.n_sources, result->from, result->to, descending, few);
        vv_fetch_expect_tiers(result->context.fetch, result->selection.sources,
                              result->selection.n_sources, result->from, result->to, descending,
                              few);
    }
    return status;
}

static struct vv_str find_tag(const struct vv_tag_version *version, struct vv_str key)
{
    for (size_t i = 0; i < version->n_tags; i++) {
        if (vv_str_equal(version->tags[i].key, key)) {
            return version->tags[i].value;
        }
    }
    return VV_STR_LITERAL("");
}

enum vv_status vv_result_group_values(const struct vv_result *result, uint32_t source,
                                      struct vv_arena *arena, struct vv_str *values_out)
{
    const struct vv_request *request = result->request;
    if (request->n_group_tags == 0) {
        return VV_OK;
    }
    struct vv_tag_version version;
    enum vv_status status =
        vv_registry_source_tags(result->context.registry, source, arena, &version);
    for (size_t i = 0; i < request->n_group_tags && status == VV_OK; i++) {
        values_out[i] = find_tag(&version, request->group_tags[i]);
    }
    return status;
}

void vv_result_layout_series(struct vv_result *result)
{
    const struct vv_request *request = result->request;
    result->layout.group_tags = request->group_tags;
    result->layout.n_group_tags = request->n_group_tags;
    result->layout.aggregates = request->aggregates;
    result->layout.n_aggregates = request->n_aggregates;
}

struct vv_writer_series vv_result_series(struct vv_str source, const struct vv_str *values,
                                         const struct vv_metric_info *metric)
{
    return (struct vv_writer_series){
        .source = source,
        .values = values,
        .metric = metric->name,
        .unit = metric->unit,
    };
}
