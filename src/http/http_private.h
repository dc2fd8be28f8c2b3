/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the HTTP door share. */
#ifndef VV_HTTP_PRIVATE_H
#define VV_HTTP_PRIVATE_H

#include "http/exchange.h"
#include "http/listen.h"
#include "http/server.h"
#include "http/traffic.h"
#include "http/workers.h"

#include <pthread.h>

/* InfluxDB's clients look for this version before they write; its protocol is what /write speaks.
 */
#define VV_INFLUX_VERSION "1.8.10-varve"

/* What may be read of a body after its answer is known, to keep the connection: more is answered at
 * once, and the connection closed. */
#define VV_DRAIN_BYTES_MAX (256u << 10)

struct vv_http {
    struct vv_settings settings;
    struct vv_engine *engine;
    struct MHD_Daemon *daemon;
    struct vv_listener listener;
    struct vv_guard *guard;
    struct vv_workers *query_workers;
    struct vv_workers *admin_workers;
    struct vv_workers *look_workers; /* look up what writes have to know */
    struct vv_traffic traffic;
    int64_t started_wall_ns;
    int64_t started_ns;
    atomic_bool started;
    atomic_bool recovered; /* seen once: the engine answers queries */
    atomic_bool stopping;  /* new requests are refused */
    atomic_uint turn;
    atomic_int_least64_t warned_ns;        /* the last warning of libmicrohttpd's that was logged */
    atomic_uint_least64_t writes;          /* exchanges that are staging points */
    atomic_uint_least64_t replacing_bytes; /* of bodies that replace frozen days */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct vv_exchange *suspended;
    size_t active; /* exchanges that were begun and not completed */
    bool stopped;  /* no exchange may suspend any more */
};

/* Handlers of the route table. */
extern const struct vv_handler vv_root_handler;
extern const struct vv_handler vv_ping_handler;
extern const struct vv_handler vv_health_handler;
extern const struct vv_handler vv_ready_handler;
extern const struct vv_handler vv_exposition_handler;
extern const struct vv_handler vv_write_handler; /* kind: enum vv_write_kind */
extern const struct vv_handler vv_query_handler; /* kind: enum vv_request_kind */
extern const struct vv_handler vv_influxql_handler;
extern const struct vv_handler vv_describe_handler;
extern const struct vv_handler vv_tenants_handler;
extern const struct vv_handler vv_set_tenants_handler;
extern const struct vv_handler vv_flush_handler;
extern const struct vv_handler vv_sealing_handler;
extern const struct vv_handler vv_replace_handler;
extern const struct vv_handler vv_frozen_handler;
extern const struct vv_handler vv_purge_handler; /* kind: VV_PURGE_ASKS, or 0 */
#define VV_PURGE_ASKS 1
extern const struct vv_handler vv_nodes_handler;
extern const struct vv_handler vv_plans_handler;
extern const struct vv_handler vv_set_plan_handler;
extern const struct vv_handler vv_delete_handler; /* kind: VV_REQUEST_DELETE */
extern const struct vv_handler vv_influx_delete_handler;
extern const struct vv_handler vv_reroll_handler;   /* kind: VV_REQUEST_REROLL */
extern const struct vv_handler vv_rerolled_handler; /* kind: VV_REROLL_CANCELS, or 0 */
#define VV_REROLL_CANCELS 1

enum vv_write_kind { VV_WRITE_V1, VV_WRITE_V2, VV_WRITE_JSON };

/* What the URL and the body (a form, or a JSON object) ask for, of the kind that the route names.
 * When the body has come. */
VV_MUST_CHECK enum vv_status vv_exchange_parse_request(struct vv_exchange *exchange,
                                                       struct vv_request **request_out,
                                                       struct vv_error *error);
/* Hands the answer to libmicrohttpd: in the first call, which closes the connection afterwards, or
 * when the body has come. For libmicrohttpd's callback to return. */
enum MHD_Result vv_exchange_deliver(struct vv_exchange *exchange);
/* Libmicrohttpd takes no answer while it hands out a body. What it has sent before on this
 * connection has been sent, so the answer can go to the socket; then the connection is closed. */
enum MHD_Result vv_exchange_answer_midway(struct vv_exchange *exchange);

/* Monotonic time of the machine. */
int64_t vv_http_now_ns(void);
/* Whether the engine has recovered: before that, only health is answered. */
bool vv_http_recovered(struct vv_http *http);

#endif
