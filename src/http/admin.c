/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants and flushing. */
#include "http/blocking.h"
#include "http/changes.h"
#include "http/json_text.h"
#include "http/parameters.h"

#include <inttypes.h>
#include <jansson.h>

#define BODY_BYTES_MAX (1u << 20)

/* ---- GET /api/v1/tenants ---- */

static void write_account(const struct vv_account *account, struct vv_buffer *body)
{
    vv_buffer_format(body,
                     ",\"account\":{\"received\":%" PRIu64 ",\"accepted\":%" PRIu64
                     ",\"accepted_here\":%" PRIu64 ",\"unknown\":%" PRIu64 ",\"refused\":{",
                     account->received, account->accepted, account->accepted_here,
                     account->unknown);
    bool first = true;
    for (int reason = 0; reason < VV_REASON_COUNT; reason++) {
        if (account->refused[reason] > 0) {
            vv_buffer_format(body, "%s\"%s\":%" PRIu64, first ? "" : ",",
                             vv_reason_name((enum vv_reason)reason), account->refused[reason]);
            first = false;
        }
    }
    vv_buffer_text(body, "}}");
}

static void write_tenant(struct vv_engine *engine, uint32_t tenant, struct vv_buffer *body)
{
    struct vv_registry *registry = vv_engine_query_context(engine)->registry;
    vv_buffer_text(body, "{\"tenant\":");
    vv_json_text(body, vv_registry_tenant_name(registry, tenant));
    char retention[VV_TIME_TEXT_SIZE] = "forever";
    int64_t retention_ns = vv_registry_retention(registry, tenant);
    if (retention_ns > 0) {
        vv_duration_format(retention_ns, retention);
    }
    vv_buffer_format(body, ",\"retention\":\"%s\"", retention);
    struct vv_account account = {0};
    vv_engine_read_account(engine, tenant, &account);
    write_account(&account, body);
    vv_buffer_text(body, "}");
}

/* A number that was never journaled has no name. */
static bool is_tenant(struct vv_engine *engine, uint32_t tenant)
{
    struct vv_registry *registry = vv_engine_query_context(engine)->registry;
    return vv_registry_tenant_name(registry, tenant).size > 0;
}

static void finish_tenants(struct vv_exchange *exchange)
{
    struct vv_engine *engine = exchange->http->engine;
    vv_reply_begin(&exchange->reply, MHD_HTTP_OK, VV_TYPE_JSON);
    struct vv_buffer *body = &exchange->reply.body;
    uint32_t n = vv_registry_tenant_count(vv_engine_query_context(engine)->registry);
    bool first = true;
    vv_buffer_text(body, "{\"tenants\":[");
    for (uint32_t tenant = 0; tenant < n; tenant++) {
        if (is_tenant(engine, tenant)) {
            vv_buffer_text(body, first ? "\n" : ",\n");
            write_tenant(engine, tenant, body);
            first = false;
        }
    }
    vv_buffer_text(body, "]}\n");
}

const struct vv_handler vv_tenants_handler = {.finish = finish_tenants};

/* ---- PUT /api/v1/tenants ---- */

struct change {
    struct vv_str tenant;
    bool has_retention;
    int64_t retention_ns;
};

static struct vv_str json_str(const json_t *value)
{
    return (struct vv_str){json_string_value(value), json_string_length(value)};
}

static enum vv_status parse_retention(const json_t *value, int64_t *retention_out,
                                      struct vv_error *error)
{
    struct vv_str text = json_is_string(value) ? json_str(value) : (struct vv_str){NULL, 0};
    if (text.data && vv_str_equal(text, VV_STR_LITERAL("forever"))) {
        *retention_out = 0;
        return VV_OK;
    }
    struct vv_error ignored = {0};
    if (!text.data || vv_duration_parse(text, retention_out, &ignored) != VV_OK ||
        *retention_out <= 0) {
        return vv_error_set(error, VV_INVALID,
                            "retention must be a duration such as \"30d\" or \"12h\", or "
                            "\"forever\"");
    }
    return VV_OK;
}

static enum vv_status parse_change(const json_t *object, struct change *change_out,
                                   struct vv_error *error)
{
    *change_out = (struct change){.tenant = VV_STR_LITERAL("")};
    const char *key = NULL;
    const json_t *value = NULL;
    json_t *members = (json_t *)(uintptr_t)object; /* jansson's iteration takes no const */
    json_object_foreach(members, key, value)
    {
        if (strcmp(key, "tenant") == 0 && json_is_string(value)) {
            change_out->tenant = json_str(value);
        } else if (strcmp(key, "retention") == 0) {
            enum vv_status status = parse_retention(value, &change_out->retention_ns, error);
            if (status != VV_OK) {
                return status;
            }
            change_out->has_retention = true;
        } else {
            return vv_error_set(error, VV_INVALID,
                                "'%.100s' is not allowed; an object has the texts tenant and "
                                "retention",
                                key);
        }
    }
    if (change_out->tenant.size == 0) {
        return vv_error_set(error, VV_INVALID,
                            "give {\"tenant\": NAME, \"retention\": \"30d\"}, or an array of such "
                            "objects");
    }
    return VV_OK;
}

static void apply(struct vv_changes *changes, const json_t *object)
{
    struct vv_engine *engine = changes->exchange->http->engine;
    struct vv_error error = {0};
    struct change change;
    enum vv_status status = parse_change(object, &change, &error);
    if (status == VV_OK) {
        status = vv_engine_create_tenant(engine, change.tenant, &error);
    }
    if (status == VV_OK && change.has_retention) {
        status = vv_engine_set_retention(engine, change.tenant, change.retention_ns, &error);
    }
    vv_changes_note(changes, change.tenant, status, &error);
}

static void apply_all(struct vv_changes *changes, struct vv_str body)
{
    json_error_t problem;
    json_t *root = json_loadb(body.data, body.size, JSON_REJECT_DUPLICATES, &problem);
    if (!root) {
        struct vv_error error = {0};
        vv_error_set(&error, VV_INVALID, "the body is not JSON: line %d, column %d: %s",
                     problem.line, problem.column, problem.text);
        vv_changes_note(changes, VV_STR_LITERAL(""), VV_INVALID, &error);
    } else if (json_is_array(root)) {
        size_t index = 0;
        const json_t *element = NULL;
        json_array_foreach(root, index, element)
        {
            apply(changes, element);
        }
    } else {
        apply(changes, root);
    }
    json_decref(root);
}

static void work_set_tenants(struct vv_exchange *exchange)
{
    struct vv_changes changes = {.exchange = exchange, .noun = "tenant"};
    struct vv_str body = {exchange->body.data ? (const char *)exchange->body.data : "",
                          exchange->body.size};
    apply_all(&changes, body);
    vv_changes_answer(&changes);
}

static void finish_set_tenants(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_set_tenants);
}

const struct vv_handler vv_set_tenants_handler = {
    .finish = finish_set_tenants, .release = vv_blocking_release, .body_bytes_max = BODY_BYTES_MAX};

/* ---- POST /api/v1/flush ---- */

static bool wants_seal(const struct vv_exchange *exchange, bool *seal_out)
{
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    bool valid = vv_parameters_add_url(&parameters, exchange->connection, &error) == VV_OK;
    struct vv_str seal = vv_parameters_find(&parameters, "seal");
    *seal_out = vv_str_equal(seal, VV_STR_LITERAL("true"));
    valid = valid && (*seal_out || !seal.data || vv_str_equal(seal, VV_STR_LITERAL("false")));
    vv_parameters_deinit(&parameters);
    return valid;
}

static void work_flush(struct vv_exchange *exchange)
{
    bool seal = false;
    if (!wants_seal(exchange, &seal)) {
        vv_exchange_fail(exchange, VV_INVALID, "seal must be true or false");
        return;
    }
    struct vv_error error = {0};
    enum vv_status status = vv_engine_flush(exchange->http->engine, seal, &error);
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        return;
    }
    vv_reply_empty(&exchange->reply, MHD_HTTP_NO_CONTENT);
}

static void finish_flush(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_flush);
}

const struct vv_handler vv_flush_handler = {.finish = finish_flush, .release = vv_blocking_release};
