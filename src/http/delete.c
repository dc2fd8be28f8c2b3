/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/delete, and /api/v2/delete as InfluxDB 2 has it. */
#include "http/blocking.h"
#include "http/http_private.h"
#include "http/influx_delete.h"

#include <inttypes.h>

#define BODY_BYTES_MAX (1u << 20)

static void write_time(struct vv_buffer *body, const char *name, int64_t time)
{
    char text[VV_TIME_TEXT_SIZE];
    if (time <= VV_TIME_MIN || time > VV_TIME_MAX) {
        vv_buffer_format(body, "\"%s\":null", name);
        return;
    }
    vv_time_format(time, text);
    vv_buffer_format(body, "\"%s\":\"%s\"", name, text);
}

static void write_range(struct vv_buffer *body, int64_t from, int64_t to)
{
    write_time(body, "from", from);
    vv_buffer_text(body, ",");
    write_time(body, "to", to);
}

static void write_deleted(const struct vv_deleted *deleted, struct vv_buffer *body)
{
    vv_buffer_format(
        body,
        "{\"dry_run\":%s,\"sources\":%" PRIu64 ",\"metrics\":%" PRIu64 ",\"markers\":%" PRIu64 ",",
        deleted->dry_run ? "true" : "false", deleted->sources, deleted->metrics, deleted->markers);
    write_range(body, deleted->from, deleted->to);
    if (deleted->tiers_from < deleted->tiers_to) {
        vv_buffer_text(body, ",\"only_tiers\":{");
        write_range(body, deleted->tiers_from, deleted->tiers_to);
        vv_buffer_text(body, "}");
    }
    vv_buffer_text(body, "}\n");
}

/* Deletes what the request that was parsed, and is taken, asks for; false, and the answer says why,
 * when nothing was deleted. */
static bool delete_it(struct vv_exchange *exchange, enum vv_status parsed,
                      struct vv_request *take_request, const struct vv_error *why,
                      struct vv_deleted *deleted_out)
{
    struct vv_error error = *why;
    enum vv_status status = parsed;
    if (status == VV_OK) {
        status = vv_engine_delete(exchange->http->engine, take_request, deleted_out, &error);
    }
    vv_request_destroy(take_request);
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
    }
    return status == VV_OK;
}

static void work_delete(struct vv_exchange *exchange)
{
    struct vv_error error = {0};
    struct vv_request *request = NULL;
    struct vv_deleted deleted;
    enum vv_status status = vv_exchange_parse_request(exchange, &request, &error);
    if (delete_it(exchange, status, request, &error, &deleted)) {
        vv_reply_begin(&exchange->reply, MHD_HTTP_OK, VV_TYPE_JSON);
        write_deleted(&deleted, &exchange->reply.body);
    }
}

static void finish_delete(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_delete);
}

const struct vv_handler vv_delete_handler = {
    .finish = finish_delete, .release = vv_blocking_release, .body_bytes_max = BODY_BYTES_MAX};

/* ---- InfluxDB 2 ---- */

static enum vv_status parse_influx(struct vv_exchange *exchange, struct vv_request **request_out,
                                   struct vv_error *error)
{
    struct vv_clock *clock = vv_engine_query_context(exchange->http->engine)->clock;
    struct vv_parameters parameters = {0};
    struct vv_parameters url = {0};
    struct vv_str body = {(const char *)exchange->body.data, exchange->body.size};
    enum vv_status status = vv_parameters_add_url(&url, exchange->connection, error);
    struct vv_str bucket = vv_parameters_find(&url, "bucket");
    if (status == VV_OK) {
        status = vv_influx_delete_parse(bucket, body, &parameters, error);
    }
    if (status == VV_OK) {
        status = vv_request_parse(VV_REQUEST_DELETE, parameters.items, parameters.n,
                                  clock->wall_ns(clock), request_out, error);
    }
    vv_parameters_deinit(&parameters);
    vv_parameters_deinit(&url);
    return status;
}

static void work_influx_delete(struct vv_exchange *exchange)
{
    struct vv_error error = {0};
    struct vv_request *request = NULL;
    struct vv_deleted deleted;
    enum vv_status status = parse_influx(exchange, &request, &error);
    if (delete_it(exchange, status, request, &error, &deleted)) {
        vv_reply_empty(&exchange->reply, MHD_HTTP_NO_CONTENT);
    }
}

static void finish_influx_delete(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_influx_delete);
}

const struct vv_handler vv_influx_delete_handler = {.finish = finish_influx_delete,
                                                    .release = vv_blocking_release,
                                                    .body_bytes_max = BODY_BYTES_MAX};
