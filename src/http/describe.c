/* SPDX-License-Identifier: Apache-2.0 */
/* PUT /api/v1/metrics: units and descriptions, in JSON or CSV. */
#include "http/blocking.h"
#include "http/changes.h"
#include "http/csv.h"
#include "http/parameters.h"

#include <strings.h>

#define BODY_BYTES_MAX (4u << 20)
#define CSV_FIELDS_MAX 3

static void describe(struct vv_changes *changes, struct vv_str tenant, struct vv_str metric,
                     struct vv_str unit, struct vv_str description)
{
    struct vv_error error = {0};
    enum vv_status status = vv_engine_describe(changes->exchange->http->engine, tenant, metric,
                                               unit, description, &error);
    vv_changes_note(changes, metric, status, &error);
}

/* Whether the members are those that are known, and texts. */
static bool check_members(const json_t *object, struct vv_error *error)
{
    const char *key = NULL;
    const json_t *value = NULL;
    json_t *members = (json_t *)(uintptr_t)object; /* jansson's iteration takes no const */
    json_object_foreach(members, key, value)
    {
        bool known = strcmp(key, "metric") == 0 || strcmp(key, "unit") == 0 ||
                     strcmp(key, "description") == 0;
        if (!known || !json_is_string(value)) {
            vv_error_set(error, VV_INVALID,
                         "'%.100s' is not allowed; an object has the texts metric, unit and "
                         "description",
                         key);
            return false;
        }
    }
    return true;
}

static void describe_object(struct vv_changes *changes, void *context, const json_t *object)
{
    struct vv_str tenant = *(const struct vv_str *)context;
    struct vv_error error = {0};
    struct vv_str metric = vv_changes_text(json_object_get(object, "metric"));
    if (!metric.data) {
        vv_error_set(&error, VV_INVALID,
                     "each element must be an object with \"metric\", and \"unit\" or "
                     "\"description\" as texts");
        vv_changes_note(changes, VV_STR_LITERAL(""), VV_INVALID, &error);
    } else if (!check_members(object, &error)) {
        vv_changes_note(changes, metric, VV_INVALID, &error);
    } else {
        describe(changes, tenant, metric, vv_changes_text(json_object_get(object, "unit")),
                 vv_changes_text(json_object_get(object, "description")));
    }
}

static bool is_head(const struct vv_str *fields, size_t n)
{
    return n >= 2 && vv_str_equal(fields[0], VV_STR_LITERAL("metric")) &&
           vv_str_equal(fields[1], VV_STR_LITERAL("unit"));
}

/* Rows of metric,unit,description; an empty cell leaves what is there. */
static void describe_csv(struct vv_changes *changes, struct vv_str tenant, struct vv_str body)
{
    struct vv_arena arena = {0};
    struct vv_csv csv = vv_csv_of(body, &arena);
    struct vv_error error = {0};
    struct vv_str fields[CSV_FIELDS_MAX];
    size_t n = 0;
    bool first = true;
    enum vv_status status;
    while ((status = vv_csv_row(&csv, fields, CSV_FIELDS_MAX, &n, &error)) == VV_OK) {
        struct vv_str nothing = {NULL, 0};
        if (!(first && is_head(fields, n))) {
            describe(changes, tenant, fields[0], n > 1 && fields[1].size ? fields[1] : nothing,
                     n > 2 && fields[2].size ? fields[2] : nothing);
        }
        first = false;
    }
    if (status != VV_DONE) {
        vv_changes_note(changes, VV_STR_LITERAL(""), status, &error);
    }
    vv_arena_deinit(&arena);
}

static bool is_csv(const struct vv_exchange *exchange)
{
    struct vv_str type = vv_exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE);
    return type.data && type.size >= 8 && strncasecmp(type.data, "text/csv", 8) == 0;
}

static void work(struct vv_exchange *exchange)
{
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    struct vv_changes changes = {.exchange = exchange, .noun = "metric"};
    enum vv_status status = vv_parameters_add_url(&parameters, exchange->connection, &error);
    if (status != VV_OK) {
        vv_changes_note(&changes, VV_STR_LITERAL(""), status, &error);
    } else {
        struct vv_str tenant = vv_parameters_tenant(&parameters);
        struct vv_str body = {exchange->body.data ? (const char *)exchange->body.data : "",
                              exchange->body.size};
        if (is_csv(exchange)) {
            describe_csv(&changes, tenant, body);
        } else {
            vv_changes_each(&changes, body, describe_object, &tenant);
        }
    }
    vv_parameters_deinit(&parameters);
    vv_changes_answer(&changes);
}

static void finish(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work);
}

const struct vv_handler vv_describe_handler = {
    .finish = finish, .release = vv_blocking_release, .body_bytes_max = BODY_BYTES_MAX};
