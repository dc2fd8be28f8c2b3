/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/plans: how a source's points are divided into partitions, and changing it. */
#include "http/blocking.h"
#include "http/http_private.h"
#include "http/json_text.h"
#include "http/parameters.h"

/* What the URL asks for; texts are borrowed from `parameters`. */
struct asked {
    struct vv_parameters parameters;
    struct vv_str tenant;
    struct vv_str source;
    struct vv_plan_wish wish;
    bool has_wish;
};

static bool is_known(struct vv_str name)
{
    static const char *const names[] = {"tenant", "db", "source", "bucket", "span", "splits"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (vv_str_equal(name, vv_str_of(names[i]))) {
            return true;
        }
    }
    return false;
}

static enum vv_status parse_length(struct asked *asked, const char *name, int64_t *length_out,
                                   struct vv_error *error)
{
    struct vv_str text = vv_parameters_find(&asked->parameters, name);
    *length_out = 0;
    if (!text.data) {
        return VV_OK;
    }
    asked->has_wish = true;
    if (vv_duration_parse(text, length_out, NULL) != VV_OK || *length_out <= 0) {
        return vv_error_set(error, VV_INVALID, "%s must be a duration such as 1h or 1d", name);
    }
    return VV_OK;
}

static enum vv_status parse_splits(struct asked *asked, struct vv_error *error)
{
    struct vv_str text = vv_parameters_find(&asked->parameters, "splits");
    unsigned splits = 0;
    if (!text.data) {
        return VV_OK;
    }
    asked->has_wish = true;
    for (size_t i = 0; i < text.size && splits <= VV_SPLITS_MAX; i++) {
        bool is_digit = text.data[i] >= '0' && text.data[i] <= '9';
        splits = is_digit ? splits * 10 + (unsigned)(text.data[i] - '0') : VV_SPLITS_MAX + 1;
    }
    if (splits < 1 || splits > VV_SPLITS_MAX) {
        return vv_error_set(error, VV_INVALID, "splits must be a number from 1 to %d",
                            VV_SPLITS_MAX);
    }
    asked->wish.splits = (uint16_t)splits;
    return VV_OK;
}

static enum vv_status parse_names(struct asked *asked, struct vv_error *error)
{
    const struct vv_parameters *parameters = &asked->parameters;
    for (size_t i = 0; i < parameters->n; i++) {
        if (!is_known(parameters->items[i].name)) {
            return vv_error_set(error, VV_INVALID,
                                "there is no parameter '%.*s' here; there are tenant, source, "
                                "bucket, span and splits",
                                VV_STR_ARG(parameters->items[i].name));
        }
    }
    asked->tenant = vv_parameters_tenant(parameters);
    asked->source = vv_parameters_find(parameters, "source");
    return asked->source.size > 0
               ? VV_OK
               : vv_error_set(error, VV_INVALID, "give the id of a source: ?source=ID");
}

static enum vv_status parse(struct vv_exchange *exchange, struct asked *asked,
                            struct vv_error *error)
{
    *asked = (struct asked){.has_wish = false};
    enum vv_status status = vv_parameters_add_url(&asked->parameters, exchange->connection, error);
    if (status == VV_OK) {
        status = parse_names(asked, error);
    }
    if (status == VV_OK) {
        status = parse_length(asked, "bucket", &asked->wish.bucket_ns, error);
    }
    if (status == VV_OK) {
        status = parse_length(asked, "span", &asked->wish.span_ns, error);
    }
    return status == VV_OK ? parse_splits(asked, error) : status;
}

/* ---- the answer ---- */

static void write_plan(const struct vv_plan *plan, int64_t now, bool is_present,
                       struct vv_buffer *body)
{
    char from[VV_TIME_TEXT_SIZE];
    char bucket[VV_TIME_TEXT_SIZE];
    char span[VV_TIME_TEXT_SIZE];
    vv_duration_format(plan->bucket_ns, bucket);
    vv_duration_format(plan->span_ns, span);
    if (plan->from_ns == VV_TIME_MIN) {
        vv_buffer_text(body, "{\"from\":null");
    } else {
        vv_time_format(plan->from_ns, from);
        vv_buffer_format(body, "{\"from\":\"%s\"", from);
    }
    const char *state = is_present ? "present" : plan->from_ns > now ? "ahead" : "past";
    vv_buffer_format(body, ",\"bucket\":\"%s\",\"span\":\"%s\",\"splits\":%u,\"state\":\"%s\"}",
                     bucket, span, (unsigned)plan->splits, state);
}

static enum vv_status write_plans(struct vv_exchange *exchange, const struct asked *asked,
                                  struct vv_error *error)
{
    const struct vv_query_context *context = vv_engine_query_context(exchange->http->engine);
    uint32_t tenant;
    uint32_t source;
    enum vv_status status =
        vv_registry_tenant(context->registry, asked->tenant, false, &tenant, error);
    if (status != VV_OK) {
        return status;
    }
    if (vv_registry_source_by_id(context->registry, tenant, asked->source, &source) != VV_OK) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no source %.*s",
                            VV_STR_ARG(asked->source));
    }
    struct vv_plans plans = vv_registry_source_plans(context->registry, source);
    int64_t now = context->clock->wall_ns(context->clock);
    vv_reply_begin(&exchange->reply, MHD_HTTP_OK, VV_TYPE_JSON);
    struct vv_buffer *body = &exchange->reply.body;
    vv_buffer_text(body, "{\"source\":");
    vv_json_text(body, asked->source);
    vv_buffer_text(body, ",\"plans\":[");
    for (size_t i = 0; i < plans.n; i++) {
        bool has_begun = plans.plans[i].from_ns <= now;
        bool is_present = has_begun && (i + 1 == plans.n || plans.plans[i + 1].from_ns > now);
        vv_buffer_text(body, i > 0 ? ",\n" : "\n");
        write_plan(&plans.plans[i], now, is_present, body);
    }
    vv_buffer_text(body, "]}\n");
    return VV_OK;
}

/* ---- the doors ---- */

static void finish_plans(struct vv_exchange *exchange)
{
    struct vv_error error = {0};
    struct asked asked;
    enum vv_status status = parse(exchange, &asked, &error);
    if (status == VV_OK && asked.has_wish) {
        status = vv_error_set(&error, VV_INVALID, "use PUT to change a plan");
    }
    if (status == VV_OK) {
        status = write_plans(exchange, &asked, &error);
    }
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
    }
    vv_parameters_deinit(&asked.parameters);
}

const struct vv_handler vv_plans_handler = {.finish = finish_plans};

static void work_set_plan(struct vv_exchange *exchange)
{
    struct vv_error error = {0};
    struct vv_plan plan;
    struct asked asked;
    enum vv_status status = parse(exchange, &asked, &error);
    if (status == VV_OK && !asked.has_wish) {
        status = vv_error_set(&error, VV_INVALID, "give bucket, span or splits");
    }
    if (status == VV_OK) {
        status = vv_engine_change_plan(exchange->http->engine, asked.tenant, asked.source,
                                       &asked.wish, &plan, &error);
    }
    if (status == VV_OK) {
        status = write_plans(exchange, &asked, &error);
    }
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
    }
    vv_parameters_deinit(&asked.parameters);
}

static void finish_set_plan(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_set_plan);
}

const struct vv_handler vv_set_plan_handler = {.finish = finish_set_plan,
                                               .release = vv_blocking_release};
