/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants: how long their points and tiers are kept, and their accounts. */
#include "http/blocking.h"
#include "http/changes.h"
#include "http/classes.h"
#include "http/json_text.h"
#include "http/parameters.h"
#include "http/retention_notes.h"
#include "http/retentions.h"

#include <inttypes.h>

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

static void write_late(struct vv_late late, struct vv_buffer *body)
{
    vv_buffer_text(body, ",\"late\":");
    vv_json_text(body, vv_late_word(late.policy));
    if (late.policy != VV_LATE_ACCEPT) {
        vv_buffer_text(body, ",\"late_limit\":");
        vv_write_retention(body, late.limit_ns);
    }
}

static void write_tenant(struct vv_engine *engine, uint32_t tenant, struct vv_buffer *body)
{
    struct vv_registry *registry = vv_engine_query_context(engine)->registry;
    vv_buffer_text(body, "{\"tenant\":");
    vv_json_text(body, vv_registry_tenant_name(registry, tenant));
    vv_buffer_text(body, ",\"retention\":");
    vv_write_retention(body, vv_registry_retention(registry, tenant));
    vv_write_tiers(registry, tenant, body);
    write_late(vv_registry_late(registry, tenant), body);
    vv_write_classes(registry, tenant, body);
    vv_write_moves(registry, tenant, body);
    struct vv_account account = {0};
    vv_engine_read_account(engine, tenant, &account);
    write_account(&account, body);
    vv_buffer_text(body, "}");
}

/* Of these numbers. */
static void write_tenants(struct vv_engine *engine, uint32_t from, uint32_t end,
                          struct vv_reply *reply)
{
    struct vv_registry *registry = vv_engine_query_context(engine)->registry;
    bool first = true;
    vv_reply_begin(reply, MHD_HTTP_OK, VV_TYPE_JSON);
    vv_buffer_text(&reply->body, "{\"tenants\":[");
    for (uint32_t tenant = from; tenant < end; tenant++) {
        if (vv_registry_is_tenant(registry, tenant)) {
            vv_buffer_text(&reply->body, first ? "\n" : ",\n");
            write_tenant(engine, tenant, &reply->body);
            first = false;
        }
    }
    vv_buffer_text(&reply->body, "]}\n");
}

/* All, or the one that is asked for. */
static void finish_tenants(struct vv_exchange *exchange)
{
    struct vv_engine *engine = exchange->http->engine;
    struct vv_registry *registry = vv_engine_query_context(engine)->registry;
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    uint32_t from = 0;
    uint32_t end = vv_registry_tenant_count(registry);
    enum vv_status status = vv_parameters_add_url(&parameters, exchange->connection, &error);
    struct vv_str name = vv_parameters_find(&parameters, "tenant");
    if (status == VV_OK && name.data) {
        status = vv_registry_tenant(registry, name, false, &from, &error);
        end = from + 1;
    }
    if (status == VV_OK) {
        write_tenants(engine, from, end, &exchange->reply);
    } else {
        vv_exchange_fail(exchange, status, error.message);
    }
    vv_parameters_deinit(&parameters);
}

const struct vv_handler vv_tenants_handler = {.finish = finish_tenants};

/* ---- PUT /api/v1/tenants ---- */

struct change {
    struct vv_str tenant;
    bool has_retentions;
    struct vv_retentions retentions;
    bool has_late;
    struct vv_late_wish late;
    json_t *classes; /* borrowed; NULL: none */
};

static enum vv_status parse_late(const json_t *value, struct change *change, struct vv_error *error)
{
    struct vv_str word = vv_changes_text(value);
    change->has_late = true;
    change->late.has_policy = true;
    return word.data && vv_late_of_word(word, &change->late.policy)
               ? VV_OK
               : vv_error_set(error, VV_INVALID,
                              "late must be \"accept\", \"separate\" or \"refuse\"");
}

static enum vv_status parse_late_limit(const json_t *value, struct change *change,
                                       struct vv_error *error)
{
    struct vv_error ignored = {0};
    struct vv_str text = vv_changes_text(value);
    change->has_late = true;
    bool good = text.data && vv_duration_parse(text, &change->late.limit_ns, &ignored) == VV_OK &&
                vv_late_is_good((struct vv_late){VV_LATE_REFUSE, change->late.limit_ns});
    return good ? VV_OK
                : vv_error_set(error, VV_INVALID,
                               "late_limit must be a duration of whole seconds, such as \"1h\"");
}

static enum vv_status parse_member(const char *key, json_t *value, struct change *change,
                                   struct vv_error *error)
{
    if (strcmp(key, "tenant") == 0 && json_is_string(value)) {
        change->tenant = vv_changes_text(value);
        return VV_OK;
    }
    if (strcmp(key, "retention") == 0) {
        change->has_retentions = true;
        return vv_parse_retention(value, &change->retentions, error);
    }
    if (strcmp(key, "tiers") == 0) {
        change->has_retentions = true;
        return vv_parse_tiers(value, &change->retentions, error);
    }
    if (strcmp(key, "late") == 0) {
        return parse_late(value, change, error);
    }
    if (strcmp(key, "late_limit") == 0) {
        return parse_late_limit(value, change, error);
    }
    if (strcmp(key, "classes") == 0 && json_is_object(value)) {
        change->classes = value;
        return VV_OK;
    }
    return vv_error_set(error, VV_INVALID,
                        "'%.100s' is not allowed; an object has the texts tenant, retention, late "
                        "and late_limit, tiers, and the object classes",
                        key);
}

static enum vv_status parse_change(const json_t *object, struct change *change_out,
                                   struct vv_error *error)
{
    *change_out =
        (struct change){.tenant = VV_STR_LITERAL(""), .retentions = vv_retentions_as_is()};
    const char *key = NULL;
    json_t *value = NULL;
    json_t *members = (json_t *)(uintptr_t)object; /* jansson's iteration takes no const */
    json_object_foreach(members, key, value)
    {
        enum vv_status status = parse_member(key, value, change_out, error);
        if (status != VV_OK) {
            return status;
        }
    }
    if (change_out->tenant.size == 0) {
        return vv_error_set(error, VV_INVALID,
                            "give {\"tenant\": NAME, \"retention\": \"30d\"}, or an array of such "
                            "objects");
    }
    return VV_OK;
}

static enum vv_status set_retentions(struct vv_engine *engine, const struct change *change,
                                     struct vv_buffer *notes, struct vv_error *error)
{
    const struct vv_query_context *context = vv_engine_query_context(engine);
    struct vv_retentions before = {0};
    uint32_t number;
    bool is_known =
        vv_registry_tenant(context->registry, change->tenant, false, &number, NULL) == VV_OK;
    if (is_known) {
        before = vv_engine_retentions(engine, number);
    }
    enum vv_status status =
        vv_engine_set_retentions(engine, change->tenant, &change->retentions, error);
    if (status == VV_OK && is_known) {
        const struct vv_retentions after = vv_engine_retentions(engine, number);
        vv_note_retentions(engine, change->tenant, &before, &after, notes);
    }
    return status;
}

static void apply(struct vv_changes *changes, void *context, const json_t *object)
{
    (void)context;
    struct vv_engine *engine = changes->exchange->http->engine;
    struct vv_error error = {0};
    struct change change;
    enum vv_status status = parse_change(object, &change, &error);
    if (status == VV_OK && change.classes) { /* before anything is changed */
        status = vv_check_classes(vv_engine_query_context(engine)->registry, change.tenant,
                                  change.classes, &error);
    }
    if (status == VV_OK) {
        status = change.has_retentions ? set_retentions(engine, &change, &changes->notes, &error)
                                       : vv_engine_create_tenant(engine, change.tenant, &error);
    }
    if (status == VV_OK && change.has_late) {
        status = vv_engine_set_late(engine, change.tenant, &change.late, &error);
    }
    if (status == VV_OK && change.classes) {
        status = vv_apply_classes(engine, change.tenant, change.classes, &changes->notes, &error);
    }
    vv_changes_note(changes, change.tenant, status, &error);
}

static void work_set_tenants(struct vv_exchange *exchange)
{
    struct vv_changes changes = {.exchange = exchange, .noun = "tenant"};
    struct vv_str body = {exchange->body.data ? (const char *)exchange->body.data : "",
                          exchange->body.size};
    vv_changes_each(&changes, body, apply, NULL);
    vv_changes_answer(&changes);
}

static void finish_set_tenants(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_set_tenants);
}

const struct vv_handler vv_set_tenants_handler = {
    .finish = finish_set_tenants, .release = vv_blocking_release, .body_bytes_max = BODY_BYTES_MAX};
