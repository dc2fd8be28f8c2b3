/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/purge: how far classes are that are purged by copying; asking for a purge. */
#include "http/blocking.h"
#include "http/http_private.h"

#include <inttypes.h>

static void write_purge(const struct vv_purge_progress *purge, struct vv_buffer *body)
{
    char since[VV_TIME_TEXT_SIZE];
    vv_buffer_format(body, "{\"class\":\"%s\",\"state\":\"%s\",\"number\":%" PRId64 ",\"asked\":%s",
                     purge->class, purge->state, purge->number, purge->is_asked ? "true" : "false");
    if (purge->since_ns != 0) {
        vv_time_format(purge->since_ns, since);
        vv_buffer_format(body, ",\"since\":\"%s\"", since);
    }
    if (purge->done > 0) {
        vv_buffer_format(body, ",\"done\":%" PRIu32 ",\"of\":%" PRIu32, purge->done, purge->ranges);
    }
    vv_buffer_text(body, "}");
}

static void work_purge(struct vv_exchange *exchange)
{
    struct vv_engine *engine = exchange->http->engine;
    struct vv_purge_progress purges[VV_PURGES_MAX];
    struct vv_error error = {0};
    size_t n;
    bool asks = exchange->route->kind == VV_PURGE_ASKS;
    enum vv_status status = asks ? vv_engine_ask_purge(engine, &error) : VV_OK;
    if (status == VV_OK) {
        status = vv_engine_read_purges(engine, purges, &n, &error);
    }
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        return;
    }
    vv_reply_begin(&exchange->reply, asks ? MHD_HTTP_ACCEPTED : MHD_HTTP_OK, VV_TYPE_JSON);
    struct vv_buffer *body = &exchange->reply.body;
    vv_buffer_text(body, "{\"purges\":[");
    for (size_t i = 0; i < n; i++) {
        vv_buffer_text(body, i > 0 ? ",\n" : "\n");
        write_purge(&purges[i], body);
    }
    vv_buffer_text(body, "]}\n");
}

static void finish_purge(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_purge);
}

const struct vv_handler vv_purge_handler = {.finish = finish_purge, .release = vv_blocking_release};
