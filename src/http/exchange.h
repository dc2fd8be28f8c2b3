/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange: one request and its answer. Handlers see only this; how and when libmicrohttpd is
 * spoken to is decided in exchange.c.
 *
 * Threads: an exchange belongs to its MHD thread. While it is suspended it belongs to whoever is to
 * resume it, who must not touch it afterwards.
 */
#ifndef VV_HTTP_EXCHANGE_H
#define VV_HTTP_EXCHANGE_H

#include "http/guard.h"
#include "http/reply.h"
#include "http/routes.h"

#include <microhttpd.h>

struct vv_http;

enum vv_phase {
    VV_PHASE_HEAD, /* the headers are there */
    VV_PHASE_BODY, /* the body is coming */
    VV_PHASE_END,  /* it has come */
};

#define VV_BODY_UNKNOWN UINT64_MAX

/* Called when the server stops and the exchange is still suspended: sees to it that nobody else
 * resumes it. Returns false when somebody is doing so already. */
typedef bool (*vv_abandon)(struct vv_exchange *exchange);

struct vv_exchange {
    struct vv_http *http;
    struct MHD_Connection *connection;
    struct vv_door *door; /* may be NULL */
    const struct vv_route *route;
    const char *method;
    const char *path;
    int64_t begun_ns; /* monotonic */
    enum vv_phase phase;
    uint64_t body_declared; /* Content-Length; VV_BODY_UNKNOWN when chunked */
    uint64_t body_bytes;    /* come so far */
    uint64_t drained_bytes; /* of them, thrown away after the answer was known */
    struct vv_reply reply;
    unsigned sent_code;    /* of the answer that was handed to libmicrohttpd */
    void *state;           /* the handler's own; freed by its release */
    void *blocking;        /* blocking.c's own */
    struct vv_buffer body; /* when the route collects it */
    int fd;
    int64_t patience_ns; /* until when the client must have made progress, while it is its turn */
    atomic_uint resumes; /* carries what the resumer has written over to the MHD thread */
    unsigned resumes_seen;
    bool handed_over; /* suspended in this call of the handler: nothing of it may be looked at */
    /* under vv_http.lock */
    vv_abandon abandon;
    bool suspended;
    struct vv_exchange *next;
    struct vv_exchange **link;
};

/* libmicrohttpd's callbacks; the closure is the struct vv_http. */
enum MHD_Result vv_exchange_handle(void *http, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_size, void **exchange);
void vv_exchange_completed(void *http, struct MHD_Connection *connection, void **exchange,
                           enum MHD_RequestTerminationCode how);

/* Suspends the exchange's connection; false when the server is stopping: then answer. From a
 * handler's feed (only if it leaves bytes untaken) or finish, or a content reader that gives 0.
 * `abandon` NULL: it will be resumed soon, also when the server stops. */
VV_MUST_CHECK bool vv_exchange_suspend(struct vv_exchange *exchange, vv_abandon abandon);
/* Exactly once after each suspend, by any thread; may come before the handler has returned. */
void vv_exchange_resume(struct vv_exchange *exchange);
/* When the server stops: everything that is suspended and can be abandoned is resumed, then this
 * waits until nothing is suspended. Suspending has been forbidden before. */
void vv_exchange_abandon_all(struct vv_http *http);

/* The value of a request header; data is NULL when it is absent. */
struct vv_str vv_exchange_header(const struct vv_exchange *exchange, const char *name);
/* The client has closed its connection (or its half of it). While suspended; any thread. */
bool vv_exchange_client_gone(const struct vv_exchange *exchange);
/* "POST /write", for errors; out holds at least 1 byte. */
struct vv_str vv_exchange_where(const struct vv_exchange *exchange, char *out, size_t size);

/* Answers with an error: status and code by the table in reply.c, with Retry-After where it
 * helps. */
void vv_exchange_fail(struct vv_exchange *exchange, enum vv_status status, const char *message);
void vv_exchange_refuse(struct vv_exchange *exchange, unsigned code, const char *word,
                        const char *format, ...) VV_PRINTF(4, 5);
/* More bytes have been handed to the client: it gets time to take them. */
void vv_exchange_sending(struct vv_exchange *exchange, size_t bytes);

#endif
