/* SPDX-License-Identifier: Apache-2.0 */
/* Counting of requests, and their metrics. */
#include "http/traffic.h"

#include <inttypes.h>
#include <stdio.h>

/* What is not in the list is counted under the last, 0. */
static const unsigned codes[VV_TRAFFIC_CODES] = {200, 204, 400, 403, 404, 405, 413, 415,
                                                 429, 431, 500, 501, 503, 504, 499, 0};
#define NO_ANSWER 499 /* the client, or the server's end, broke it off */

static size_t code_index(unsigned code)
{
    size_t i = 0;
    while (i < VV_TRAFFIC_CODES - 1 && codes[i] != code) {
        i++;
    }
    return i;
}

void vv_traffic_count(struct vv_traffic *traffic, size_t route, unsigned code, int64_t duration_ns)
{
    vv_invariant(route < VV_TRAFFIC_ROUTES_MAX);
    struct vv_traffic_route *counters = &traffic->routes[route];
    vv_traffic_add(&counters->requests[code_index(code ? code : NO_ANSWER)], 1);
    vv_histogram_add_duration(&counters->duration, duration_ns);
}

static uint64_t value_of(const atomic_uint_least64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void write_head(struct vv_buffer *buffer, const char *name, const char *type,
                       const char *help)
{
    vv_buffer_format(buffer, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_one(struct vv_buffer *buffer, const char *name, const char *type,
                      const char *help, uint64_t value)
{
    write_head(buffer, name, type, help);
    vv_buffer_format(buffer, "%s %" PRIu64 "\n", name, value);
}

static void write_requests(const struct vv_traffic *traffic, const char *const *paths, size_t n,
                           struct vv_buffer *buffer)
{
    write_head(buffer, "varve_http_requests_total", "counter",
               "Requests by path and status code (499: broken off, 0: another code).");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < VV_TRAFFIC_CODES; k++) {
            uint64_t count = value_of(&traffic->routes[i].requests[k]);
            if (count > 0) {
                vv_buffer_format(buffer,
                                 "varve_http_requests_total{path=\"%s\",code=\"%u\"} %" PRIu64 "\n",
                                 paths[i], codes[k], count);
            }
        }
    }
}

static bool was_used(const struct vv_traffic_route *route)
{
    for (size_t k = 0; k < VV_TRAFFIC_CODES; k++) {
        if (value_of(&route->requests[k]) > 0) {
            return true;
        }
    }
    return false;
}

static void write_durations(const struct vv_traffic *traffic, const char *const *paths, size_t n,
                            struct vv_buffer *buffer)
{
    static const char name[] = "varve_http_request_seconds";
    write_head(buffer, name, "histogram",
               "From the headers of a request to the end of its answer, by path.");
    for (size_t i = 0; i < n; i++) {
        if (was_used(&traffic->routes[i])) {
            char label[64];
            snprintf(label, sizeof label, "path=\"%s\"", paths[i]);
            vv_histogram_write_durations(&traffic->routes[i].duration, name, label, buffer);
        }
    }
}

void vv_traffic_write(const struct vv_traffic *traffic, const char *const *paths, size_t n_routes,
                      struct vv_buffer *buffer)
{
    write_requests(traffic, paths, n_routes, buffer);
    write_durations(traffic, paths, n_routes, buffer);
    uint64_t closed = value_of(&traffic->closed);
    uint64_t accepted = value_of(&traffic->accepted);
    write_one(buffer, "varve_http_connections", "gauge", "Open connections.",
              accepted > closed ? accepted - closed : 0);
    write_one(buffer, "varve_http_connections_accepted_total", "counter",
              "Connections since the start.", accepted);
    write_one(buffer, "varve_http_received_bytes_total", "counter",
              "Bytes of request bodies, as sent (compressed or not).",
              value_of(&traffic->bytes_in));
    write_one(buffer, "varve_http_sent_bytes_total", "counter", "Bytes of answers' bodies.",
              value_of(&traffic->bytes_out));
    write_one(buffer, "varve_http_queries", "gauge",
              "Queries that run or wait for their client to read on.", value_of(&traffic->queries));
}
