/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests: the first byte chooses the kind of answer and the form; what follows is a JSON object,
 * or lines of name=value. A request that is accepted is answered over a small world, a bounded
 * number of pieces, and what comes out as JSON must be JSON.
 */
#include "base/status.h"
#include "query/query.h"
#include "simulation/sim_clock.h"

#include <jansson.h>
#include <math.h>

#define PARAMETERS_MAX 64
#define CALLS_MAX      40
#define NOW            (20000 * VV_DAY)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vv_sim_clock sim_clock;
static struct vv_query_context context;
static const struct vv_query_limits limits = {.time_ns_max = VV_MINUTE,
                                              .memory_bytes_max = 4 << 20,
                                              .series_max = 100,
                                              .future_ns_max = VV_MINUTE};

static void write_points(uint32_t tenant, uint32_t source, uint32_t measurement, uint32_t metric)
{
    struct vv_batch *batch;
    size_t frame;
    vv_invariant(vv_batch_create(tenant, &batch) == VV_OK);
    vv_invariant(vv_batch_frame(batch, measurement, &metric, 1, &frame) == VV_OK);
    for (int64_t i = 0; i < 50; i++) {
        int64_t time = NOW - i * i * VV_MINUTE;
        double real = i % 7 == 6 ? (double)INFINITY : (double)i / 3;
        uint64_t value = (uint64_t)(i * 3 % 17);
        if (metric == 0) {
            memcpy(&value, &real, sizeof value);
        }
        vv_invariant(vv_batch_row(batch, frame, source, time, &value) == VV_OK);
        vv_registry_source_observe(context.registry, source, time, time);
    }
    vv_invariant(vv_head_prepare(context.head, batch, vv_stamp_make(metric + 1, 0)) == VV_OK);
    vv_head_publish(context.head);
    vv_batch_destroy(batch);
}

/* Tenant `default`: sources a and b of two sites, metrics m.real and m.count. */
static void make_world(void)
{
    struct vv_registry_options options = {.id_tag = "id",
                                          .tenants_max = 2,
                                          .sources_max = 10,
                                          .metrics_max = 10,
                                          .cache_bytes = 4096};
    struct vv_store_options store_options = {.folder = "", .eras = 24};
    vv_sim_clock_init(&sim_clock, NOW);
    context.clock = &sim_clock.clock;
    vv_invariant(vv_registry_create(&options, &context.registry) == VV_OK);
    vv_invariant(vv_head_create(&context.head) == VV_OK);
    vv_invariant(vv_store_memory_open(&store_options, &context.store, NULL) == VV_OK);
    struct vv_registry *registry = context.registry;
    uint32_t tenant;
    uint32_t measurement;
    vv_invariant(vv_registry_tenant(registry, VV_STR_LITERAL("default"), true, &tenant, NULL) ==
                 VV_OK);
    vv_invariant(vv_registry_measurement(registry, tenant, VV_STR_LITERAL("m"), true, &measurement,
                                         NULL) == VV_OK);
    for (int i = 0; i < 2; i++) {
        struct vv_tag tags[2] = {{VV_STR_LITERAL("id"), vv_str_of(i ? "b" : "a")},
                                 {VV_STR_LITERAL("site"), vv_str_of(i ? "south" : "north")}};
        uint32_t source;
        uint32_t metric;
        enum vv_value_type type;
        vv_invariant(vv_registry_source(registry, tenant, tags, 2, 0, &source, NULL) == VV_OK);
        vv_invariant(vv_registry_metric(registry, measurement, VV_STR_LITERAL("real"), VV_FLOAT64,
                                        true, &metric, &type, NULL) == VV_OK);
        write_points(tenant, source, measurement, metric);
        vv_invariant(vv_registry_metric(registry, measurement, VV_STR_LITERAL("count"), VV_INT64,
                                        true, &metric, &type, NULL) == VV_OK);
        write_points(tenant, source, measurement, metric);
    }
}

static enum vv_status parse_lines(enum vv_request_kind kind, struct vv_str text,
                                  struct vv_request **request_out, struct vv_error *error)
{
    struct vv_parameter parameters[PARAMETERS_MAX];
    size_t n = 0;
    while (text.size > 0 && n < PARAMETERS_MAX) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t line = end ? (size_t)(end - text.data) : text.size;
        const char *equals = memchr(text.data, '=', line);
        size_t name = equals ? (size_t)(equals - text.data) : line;
        size_t skipped = equals ? name + 1 : line;
        parameters[n].name = (struct vv_str){text.data, name};
        parameters[n++].value = (struct vv_str){text.data + skipped, line - skipped};
        size_t used = end ? line + 1 : line;
        text = (struct vv_str){text.data + used, text.size - used};
    }
    return vv_request_parse(kind, parameters, n, NOW, request_out, error);
}

static void check_json(const struct vv_buffer *buffer)
{
    json_t *json =
        json_loadb((const char *)buffer->data, buffer->size, JSON_REJECT_DUPLICATES, NULL);
    vv_invariant(json);
    json_decref(json);
}

static void answer(struct vv_request *take_request, enum vv_format format)
{
    struct vv_result *result;
    struct vv_error error = {0};
    bool json = vv_request_format(take_request, format) == VV_FORMAT_JSON;
    if (vv_result_open(&context, &limits, take_request, format, &result, &error) != VV_OK) {
        vv_invariant(error.message[0]);
        return;
    }
    struct vv_buffer buffer = {0};
    enum vv_status status = VV_OK;
    for (int i = 0; i < CALLS_MAX && status == VV_OK; i++) {
        status = vv_result_write(result, &buffer, 1000, &error);
    }
    if (status != VV_DONE) {
        vv_result_abort(result, &buffer, status == VV_OK ? VV_CANCELLED : status, &error);
    }
    if (json) {
        check_json(&buffer);
    }
    vv_result_close(result);
    vv_buffer_deinit(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (!context.registry) {
        make_world();
    }
    enum vv_request_kind kind = (enum vv_request_kind)(data[0] % VV_REQUEST_KINDS);
    struct vv_str text = {(const char *)data + 1, size - 1};
    struct vv_request *request;
    struct vv_error error = {0};
    enum vv_status status = data[0] & 0x40
                                ? vv_request_parse_json(kind, text, NOW, &request, &error)
                                : parse_lines(kind, text, &request, &error);
    if (status == VV_OK) {
        answer(request, data[0] & 0x20 ? VV_FORMAT_CSV : VV_FORMAT_JSON);
    } else {
        vv_invariant(status == VV_INVALID && error.message[0]);
    }
    return 0;
}
