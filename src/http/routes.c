/* SPDX-License-Identifier: Apache-2.0 */
/* The routes. */
#include "http/routes.h"

#include "http/http_private.h"

#include <stdio.h>

#define GET  (VV_METHOD_GET | VV_METHOD_HEAD)
#define POST VV_METHOD_POST
#define PUT  (VV_METHOD_PUT | VV_METHOD_POST)

/* Rows of the same path stand next to each other. */
static const struct vv_route table[] = {
    {"/", GET, &vv_root_handler, 0, true, "what this server is, and this list"},
    {"/ping", GET, &vv_ping_handler, 0, true, "204 while the server runs"},
    {"/health", GET, &vv_health_handler, 0, true, "whether the process works"},
    {"/ready", GET, &vv_ready_handler, 0, true, "200 when it takes writes, else 503 and why"},
    {"/metrics", GET, &vv_exposition_handler, 0, true, "metrics for Prometheus"},
    {"/write", POST, &vv_write_handler, VV_WRITE_V1, false, "line protocol: ?db=, ?precision="},
    {"/api/v2/write", POST, &vv_write_handler, VV_WRITE_V2, false,
     "line protocol: ?bucket=, ?precision="},
    {"/api/v1/points", POST, &vv_write_handler, VV_WRITE_JSON, false,
     "points in JSON: ?tenant=, ?precision="},
    {"/query", VV_METHOD_GET | POST, &vv_influxql_handler, 0, false,
     "InfluxQL for loaders: CREATE DATABASE, SHOW DATABASES"},
    {"/api/v1/query", GET | POST, &vv_query_handler, VV_REQUEST_QUERY, false,
     "points, or steps of aggregates"},
    {"/api/v1/latest", GET | POST, &vv_query_handler, VV_REQUEST_LATEST, false,
     "the newest value of each source and metric"},
    {"/api/v1/sources", GET | POST, &vv_query_handler, VV_REQUEST_SOURCES, false,
     "sources and their tags"},
    {"/api/v1/metrics", GET, &vv_query_handler, VV_REQUEST_METRICS, false,
     "metrics, their units and descriptions"},
    {"/api/v1/metrics", PUT, &vv_describe_handler, 0, false,
     "set units and descriptions (JSON or CSV)"},
    {"/api/v1/tags", GET | POST, &vv_query_handler, VV_REQUEST_TAGS, false,
     "tag keys, or the values of one"},
    {"/api/v1/export", GET | POST, &vv_query_handler, VV_REQUEST_EXPORT, false,
     "all points, as line protocol, JSON lines or CSV"},
    {"/api/v1/delete", POST, &vv_delete_handler, VV_REQUEST_DELETE, false,
     "delete a range of time of sources, tags, metrics"},
    {"/api/v2/delete", POST, &vv_influx_delete_handler, 0, false,
     "the same, as InfluxDB 2 has it: ?bucket="},
    {"/api/v1/reroll", POST, &vv_reroll_handler, VV_REQUEST_REROLL, false,
     "build tiers again, compare and repair them; ?dry_run=true only compares"},
    {"/api/v1/reroll", VV_METHOD_PUT, &vv_rerolled_handler, VV_REROLL_CANCELS, false,
     "end one: ?id=, ?cancel=true"},
    {"/api/v1/reroll", GET, &vv_rerolled_handler, 0, false, "how far it is: ?id="},
    {"/api/v1/replace", POST, &vv_replace_handler, 0, false,
     "frozen days from line protocol: ?tenant=, ?precision="},
    {"/api/v1/replace", GET, &vv_frozen_handler, 0, false, "which days are frozen: ?tenant="},
    {"/api/v1/tenants", GET, &vv_tenants_handler, 0, false, "tenants, retentions, accounts"},
    {"/api/v1/tenants", PUT, &vv_set_tenants_handler, 0, false,
     "make a tenant, set its retention and tiers (JSON)"},
    {"/api/v1/plans", GET, &vv_plans_handler, 0, false,
     "how a source's points are divided: ?source="},
    {"/api/v1/plans", PUT, &vv_set_plan_handler, 0, false,
     "change it ahead: ?source=, ?bucket=, ?span=, ?splits="},
    {"/api/v1/flush", POST, &vv_flush_handler, 0, false,
     "write the head to the store; ?seal=true seals too"},
    {"/api/v1/sealing", GET, &vv_sealing_handler, 0, false,
     "what waits to be sealed: ?tenant=, ?from=, ?to="},
    {"/api/v1/purge", GET, &vv_purge_handler, 0, false, "how far purges by copying are"},
    {"/api/v1/purge", POST, &vv_purge_handler, VV_PURGE_ASKS, false, "ask for one of each class"},
    {"/api/v1/nodes", GET, &vv_nodes_handler, 0, false, "the nodes that share the store"},
};

#define N_ROUTES (sizeof table / sizeof table[0])

static unsigned method_bit(const char *method)
{
    static const struct {
        const char *name;
        unsigned bit;
    } methods[] = {{"GET", VV_METHOD_GET},
                   {"HEAD", VV_METHOD_HEAD},
                   {"POST", VV_METHOD_POST},
                   {"PUT", VV_METHOD_PUT}};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        if (strcmp(method, methods[i].name) == 0) {
            return methods[i].bit;
        }
    }
    return 0;
}

const struct vv_route *vv_route_find(const char *path, const char *method, unsigned *methods_out)
{
    unsigned bit = method_bit(method);
    *methods_out = 0;
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (strcmp(table[i].path, path) == 0) {
            if (table[i].methods & bit) {
                return &table[i];
            }
            *methods_out |= table[i].methods;
        }
    }
    return NULL;
}

void vv_route_methods(unsigned methods, char *out, size_t size)
{
    snprintf(out, size, "%s%s%s%s", methods & VV_METHOD_GET ? ", GET" : "",
             methods & VV_METHOD_HEAD ? ", HEAD" : "", methods & VV_METHOD_POST ? ", POST" : "",
             methods & VV_METHOD_PUT ? ", PUT" : "");
    size_t length = strlen(out);
    if (length >= 2) {
        memmove(out, out + 2, length - 1); /* with the terminator, without the first comma */
    }
}

const struct vv_route *vv_route_table(size_t *n_out)
{
    *n_out = N_ROUTES;
    return table;
}

/* Rows of a path share the index of the first. */
size_t vv_route_path_index(const struct vv_route *route)
{
    size_t index = 0;
    for (size_t i = 0; i < N_ROUTES; i++) {
        if (i > 0 && strcmp(table[i].path, table[i - 1].path) != 0) {
            index++;
        }
        if (&table[i] == route) {
            return index;
        }
    }
    return index + 1;
}

const char *const *vv_route_paths(size_t *n_out)
{
    static const char *const paths[] = {"/",
                                        "/ping",
                                        "/health",
                                        "/ready",
                                        "/metrics",
                                        "/write",
                                        "/api/v2/write",
                                        "/api/v1/points",
                                        "/query",
                                        "/api/v1/query",
                                        "/api/v1/latest",
                                        "/api/v1/sources",
                                        "/api/v1/metrics",
                                        "/api/v1/tags",
                                        "/api/v1/export",
                                        "/api/v1/delete",
                                        "/api/v2/delete",
                                        "/api/v1/reroll",
                                        "/api/v1/replace",
                                        "/api/v1/tenants",
                                        "/api/v1/plans",
                                        "/api/v1/flush",
                                        "/api/v1/sealing",
                                        "/api/v1/purge",
                                        "/api/v1/nodes",
                                        "other"};
    *n_out = sizeof paths / sizeof paths[0];
    return paths;
}
