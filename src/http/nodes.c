/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/nodes: the nodes that share the store. */
#include "http/http_private.h"

#include <stdlib.h>

/* Names of regions need no escapes. */
static void write_node(const struct vv_engine_node *node, const char *region, int64_t now,
                       struct vv_buffer *body)
{
    vv_buffer_format(body, "{\"node\":%u", node->node);
    if (region) {
        vv_buffer_format(body, ",\"region\":\"%s\"", region);
    }
    vv_buffer_format(body, ",\"self\":%s,\"state\":\"%s\",\"partial\":%s",
                     node->is_self ? "true" : "false", node->is_gone ? "gone" : "live",
                     node->is_partial ? "true" : "false");
    int64_t until = node->flushed_until_ns;
    if (!node->is_known || until < VV_TIME_MIN || until > VV_TIME_MAX) {
        vv_buffer_text(body, ",\"flushed_until\":null,\"age_seconds\":null}");
        return;
    }
    char time[VV_TIME_TEXT_SIZE];
    vv_time_format(until, time);
    double age = (double)now / 1e9 - (double)until / 1e9;
    vv_buffer_format(body, ",\"flushed_until\":\"%s\",\"age_seconds\":%.3f}", time,
                     age > 0 ? age : 0);
}

static void write_regions(const struct vv_region *regions, size_t n, struct vv_buffer *body)
{
    static const char *const states[] = {[VV_REGION_UNKNOWN] = "unknown",
                                         [VV_REGION_ABSENT] = "absent",
                                         [VV_REGION_READABLE] = "readable",
                                         [VV_REGION_IN_PART] = "in_part"};
    vv_buffer_text(body, ",\n\"regions\":[");
    for (size_t i = 0; i < n; i++) {
        vv_buffer_format(body, "%s{\"region\":\"%s\",\"self\":%s,\"state\":\"%s\"}",
                         i > 0 ? ",\n" : "\n", regions[i].name, i == 0 ? "true" : "false",
                         states[regions[i].state]);
    }
    vv_buffer_text(body, "]");
}

static void finish_nodes(struct vv_exchange *exchange)
{
    struct vv_engine *engine = exchange->http->engine;
    struct vv_engine_node *nodes;
    struct vv_region regions[VV_REGIONS_MAX];
    size_t n;
    size_t n_regions = vv_engine_read_regions(engine, regions);
    if (vv_engine_read_nodes(engine, &nodes, &n) != VV_OK) {
        vv_exchange_fail(exchange, VV_NO_MEMORY, "out of memory: try again later");
        return;
    }
    struct vv_clock *clock = vv_engine_query_context(engine)->clock;
    int64_t now = clock->wall_ns(clock);
    vv_reply_begin(&exchange->reply, MHD_HTTP_OK, VV_TYPE_JSON);
    struct vv_buffer *body = &exchange->reply.body;
    vv_buffer_text(body, "{\"nodes\":[");
    for (size_t i = 0; i < n; i++) {
        vv_buffer_text(body, i > 0 ? ",\n" : "\n");
        const char *region = nodes[i].region < n_regions ? regions[nodes[i].region].name : NULL;
        write_node(&nodes[i], region, now, body);
    }
    vv_buffer_text(body, "]");
    if (n_regions > 0) {
        write_regions(regions, n_regions, body);
    }
    vv_buffer_text(body, "}\n");
    free(nodes);
}

const struct vv_handler vv_nodes_handler = {.finish = finish_nodes};
