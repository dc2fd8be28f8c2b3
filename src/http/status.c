/* SPDX-License-Identifier: Apache-2.0 */
/* What the server is and how it is: /, /ping, /health, /ready, /metrics. */
#include "http/http_private.h"
#include "http/json_text.h"

static void finish_root(struct vv_exchange *exchange)
{
    vv_reply_begin(&exchange->reply, MHD_HTTP_OK, VV_TYPE_JSON);
    struct vv_buffer *body = &exchange->reply.body;
    vv_buffer_text(body, "{\"name\":\"varve\",\"version\":\"" VARVE_VERSION "\",\n"
                         "\"about\":\"telemetry and time-series service; docs/http-api.md "
                         "describes the paths\",\n\"paths\":[");
    size_t n = 0;
    const struct vv_route *routes = vv_route_table(&n);
    for (size_t i = 0; i < n; i++) {
        char methods[40];
        vv_route_methods(routes[i].methods, methods, sizeof methods);
        vv_buffer_format(body, "%s\n{\"path\":\"%s\",\"methods\":\"%s\",\"about\":", i ? "," : "",
                         routes[i].path, methods);
        vv_json_text(body, vv_str_of(routes[i].doc));
        vv_buffer_text(body, "}");
    }
    vv_buffer_text(body, "]}\n");
}

/* InfluxDB's clients ask this before they write. */
static void finish_ping(struct vv_exchange *exchange)
{
    vv_reply_empty(&exchange->reply, MHD_HTTP_NO_CONTENT);
    vv_reply_header(&exchange->reply, "X-Influxdb-Version", VV_INFLUX_VERSION);
    vv_reply_header(&exchange->reply, "X-Influxdb-Build", "Varve");
    vv_reply_header(&exchange->reply, "X-Varve-Version", "%s", VARVE_VERSION);
}

/* What waits here for a part of the store that is away. */
static void write_parked(const struct vv_engine_health *health, struct vv_buffer *body)
{
    char since[VV_TIME_TEXT_SIZE];
    if (health->parked == 0) {
        return;
    }
    vv_buffer_format(body, ",\"parked\":{\"count\":%llu,\"bytes\":%llu",
                     (unsigned long long)health->parked, (unsigned long long)health->parked_bytes);
    if (health->parked_since_ns != 0) {
        vv_time_format(health->parked_since_ns / VV_SECOND * VV_SECOND, since);
        vv_buffer_format(body, ",\"since\":\"%s\"", since);
    }
    vv_buffer_text(body, "}");
}

/* What can't be sealed since something is damaged. */
static void write_held_up(const struct vv_engine_health *health, struct vv_buffer *body)
{
    if (health->held_up > 0) {
        vv_buffer_format(body, ",\"held_up\":%llu", (unsigned long long)health->held_up);
    }
}

static void finish_health(struct vv_exchange *exchange)
{
    struct vv_engine_health health;
    vv_engine_read_health(exchange->http->engine, &health);
    unsigned code = health.live ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
    vv_reply_begin(&exchange->reply, code, VV_TYPE_JSON);
    struct vv_buffer *body = &exchange->reply.body;
    vv_buffer_format(body, "{\"name\":\"varve\",\"status\":\"%s\",\"ready\":%s,\"message\":",
                     health.live ? "pass" : "fail", health.ready ? "true" : "false");
    vv_json_text(body, health.reason[0] ? vv_str_of(health.reason)
                                        : VV_STR_LITERAL("ready for queries and writes"));
    write_parked(&health, body);
    write_held_up(&health, body);
    vv_buffer_text(body, ",\"version\":\"" VARVE_VERSION "\"}\n");
}

static void finish_ready(struct vv_exchange *exchange)
{
    struct vv_http *http = exchange->http;
    struct vv_engine_health health;
    vv_engine_read_health(http->engine, &health);
    bool stopping = atomic_load_explicit(&http->stopping, memory_order_relaxed);
    bool ready = health.ready && !stopping;
    vv_reply_begin(&exchange->reply, ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                   VV_TYPE_JSON);
    struct vv_buffer *body = &exchange->reply.body;
    char started[VV_TIME_TEXT_SIZE];
    char up[VV_TIME_TEXT_SIZE];
    vv_time_format(http->started_wall_ns / VV_SECOND * VV_SECOND, started);
    vv_duration_format((vv_http_now_ns() - http->started_ns) / VV_SECOND * VV_SECOND, up);
    vv_buffer_format(body, "{\"status\":\"%s\",\"started\":\"%s\",\"up\":\"%s\"",
                     ready ? "ready" : "not_ready", started, up);
    if (!ready || health.reason[0]) { /* ready in spite of something */
        vv_buffer_text(body, ",\"reason\":");
        vv_json_text(body, vv_str_of(stopping ? "the server is stopping" : health.reason));
        if (health.recovering) {
            vv_buffer_format(body, ",\"replayed_bytes\":%llu",
                             (unsigned long long)health.replayed_bytes);
        }
    }
    write_parked(&health, body);
    write_held_up(&health, body);
    vv_buffer_text(body, "}\n");
    if (!ready) {
        vv_reply_header(&exchange->reply, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    }
}

static void finish_exposition(struct vv_exchange *exchange)
{
    struct vv_http *http = exchange->http;
    vv_reply_begin(&exchange->reply, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8");
    struct vv_buffer *body = &exchange->reply.body;
    vv_engine_write_metrics(http->engine, body);
    size_t n = 0;
    const char *const *paths = vv_route_paths(&n);
    vv_traffic_write(&http->traffic, paths, n, body);
}

const struct vv_handler vv_root_handler = {.finish = finish_root};
const struct vv_handler vv_ping_handler = {.finish = finish_ping};
const struct vv_handler vv_health_handler = {.finish = finish_health};
const struct vv_handler vv_ready_handler = {.finish = finish_ready};
const struct vv_handler vv_exposition_handler = {.finish = finish_exposition};
