/* SPDX-License-Identifier: Apache-2.0 */
/* /query: what loaders for InfluxDB send before they write, answered in InfluxDB's shape. */
#include "http/influxql.h"

#include "http/blocking.h"
#include "http/http_private.h"
#include "http/json_text.h"
#include "http/parameters.h"

#define BODY_BYTES_MAX (1u << 20)

static struct vv_registry *registry_of(const struct vv_exchange *exchange)
{
    return vv_engine_query_context(exchange->http->engine)->registry;
}

static void write_databases(const struct vv_exchange *exchange, struct vv_buffer *body)
{
    struct vv_registry *registry = registry_of(exchange);
    uint32_t n = vv_registry_tenant_count(registry);
    vv_buffer_text(body, ",\"series\":[{\"name\":\"databases\",\"columns\":[\"name\"]");
    bool first = true;
    for (uint32_t tenant = 0; tenant < n; tenant++) {
        if (vv_registry_is_tenant(registry, tenant)) {
            vv_buffer_text(body, first ? ",\"values\":[[" : ",[");
            vv_json_text(body, vv_registry_tenant_name(registry, tenant));
            vv_buffer_text(body, "]");
            first = false;
        }
    }
    vv_buffer_text(body, first ? "}]" : "]}]");
}

/* A duration is the retention of a tenant that is new; that of an older one is not touched, since
 * shortening it deletes. */
static enum vv_status create_database(struct vv_exchange *exchange,
                                      const struct vv_influxql_statement *statement,
                                      struct vv_buffer *body, struct vv_error *error)
{
    struct vv_engine *engine = exchange->http->engine;
    struct vv_str name = {statement->name, statement->name_size};
    uint32_t tenant = VV_REGISTRY_NONE;
    struct vv_error ignored = {0};
    bool known = vv_registry_tenant(registry_of(exchange), name, false, &tenant, &ignored) == VV_OK;
    if (statement->duration_ns > 0 && statement->duration_ns < VV_RETENTION_NS_MIN) {
        return vv_error_set(error, VV_INVALID,
                            "DURATION must be INF, or of a second at least, such as 30d");
    }
    enum vv_status status = vv_engine_create_tenant(engine, name, error);
    if (status != VV_OK || !statement->has_duration) {
        return status;
    }
    if (!known) {
        return vv_engine_set_retention(engine, name, statement->duration_ns, error);
    }
    if (vv_registry_retention(registry_of(exchange), tenant) != statement->duration_ns) {
        vv_buffer_text(body, ",\"messages\":[{\"level\":\"warning\",\"text\":\"the database "
                             "existed; its retention was left as it is (set it with PUT "
                             "/api/v1/tenants)\"}]");
    }
    return VV_OK;
}

/* Whether an answer can go on; errors of one statement are told in its result. */
static bool execute(struct vv_exchange *exchange, const struct vv_influxql_statement *statement,
                    struct vv_buffer *body)
{
    if (statement->verb == VV_INFLUXQL_SHOW_DATABASES) {
        write_databases(exchange, body);
        return true;
    }
    struct vv_error error = {0};
    enum vv_status status = create_database(exchange, statement, body, &error);
    if (status == VV_INVALID || status == VV_EXISTS || status == VV_TOO_LARGE) {
        vv_buffer_text(body, ",\"error\":");
        vv_json_text(body, vv_str_of(error.message));
        return true;
    }
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        return false;
    }
    return true;
}

static enum vv_status check_all(struct vv_str query, struct vv_error *error)
{
    struct vv_influxql_statement statement;
    size_t n = 0;
    enum vv_status status;
    while ((status = vv_influxql_next(&query, &statement, error)) == VV_OK) {
        n++;
    }
    if (status == VV_DONE && n == 0) {
        return vv_error_set(error, VV_INVALID, "missing required parameter \"q\"");
    }
    return status == VV_DONE ? VV_OK : status;
}

static void answer(struct vv_exchange *exchange, struct vv_str query)
{
    struct vv_error error = {0};
    enum vv_status status = check_all(query, &error);
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        return;
    }
    struct vv_buffer body = {0};
    struct vv_influxql_statement statement;
    size_t n = 0;
    bool going = true;
    vv_buffer_text(&body, "{\"results\":[");
    while (going && vv_influxql_next(&query, &statement, &error) == VV_OK) {
        vv_buffer_format(&body, "%s{\"statement_id\":%zu", n ? "," : "", n);
        going = execute(exchange, &statement, &body);
        vv_buffer_text(&body, "}");
        n++;
    }
    vv_buffer_text(&body, "]}\n");
    if (going) {
        vv_reply_begin(&exchange->reply, MHD_HTTP_OK, VV_TYPE_JSON);
        exchange->reply.body = body;
        vv_reply_header(&exchange->reply, "X-Influxdb-Version", VV_INFLUX_VERSION);
    } else {
        vv_buffer_deinit(&body);
    }
}

static void work(struct vv_exchange *exchange)
{
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    struct vv_str form = {(const char *)exchange->body.data, exchange->body.size};
    enum vv_status status = vv_parameters_add_url(&parameters, exchange->connection, &error);
    if (status == VV_OK) {
        status = vv_parameters_add_form(&parameters, form, &error);
    }
    if (status == VV_OK) {
        struct vv_str query = vv_parameters_find(&parameters, "q");
        answer(exchange, query.data ? query : VV_STR_LITERAL(""));
    } else {
        vv_exchange_fail(exchange, status, error.message);
    }
    vv_parameters_deinit(&parameters);
}

static void finish(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work);
}

const struct vv_handler vv_influxql_handler = {
    .finish = finish, .release = vv_blocking_release, .body_bytes_max = BODY_BYTES_MAX};
