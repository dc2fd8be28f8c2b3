/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP door: line protocol and JSON in, answers out, metrics and health.
 *
 * Threads: libmicrohttpd's threads read requests, parse bodies to the end and never block; writes
 * and queries suspend their connection until the engine, or a query worker, has something for them.
 */
#ifndef VV_HTTP_SERVER_H
#define VV_HTTP_SERVER_H

#include "engine/engine.h"

struct vv_http;

/* Listens as settings->listen says (port 0: any). VV_INVALID for a bad address, VV_LOCKED when the
 * port is in use; the message says what to do. The engine may still be recovering: what the server
 * is and how it is (/, /ping, /health, /ready, /metrics) is answered, the rest is 503. The engine
 * must live until vv_http_stop has returned. */
VV_MUST_CHECK enum vv_status vv_http_start(const struct vv_settings *settings,
                                           struct vv_engine *engine, struct vv_http **http_out,
                                           struct vv_error *error);
/* "127.0.0.1:8987", the address that is really listened on. */
const char *vv_http_address(const struct vv_http *http);
/* Takes no new connections, lets what is under way finish for up to `grace_ns`, then closes: a
 * write that is still being committed is answered as unknown. */
void vv_http_stop(struct vv_http *http, int64_t grace_ns);

#endif
