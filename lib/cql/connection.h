/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to one host: socket, TLS, framing, handshake (OPTIONS, STARTUP, authentication,
 * REGISTER), calls in flight by stream id, heartbeats. Belongs to the session's thread.
 *
 * Life: created → connecting → ready → closed. Exactly one on_closed, after which the connection
 * frees itself when libuv has let go of it; nobody may use it from then on. Before on_closed, every
 * call in flight was completed.
 */
#ifndef VVCQL_CONNECTION_H
#define VVCQL_CONNECTION_H

#include "frame.h"
#include "loop.h"
#include "responses.h"
#include "tls.h"

struct vvcql_connection;

struct vvcql_connection_options {
    struct sockaddr_storage address;
    const char *name;              /* what the address was found by, for TLS; NULL: none */
    struct vvcql_tls_context *tls; /* NULL: none */
    const char *user;              /* NULL: none */
    const char *password;
    bool compress;         /* LZ4 where the server offers it */
    bool want_events;      /* REGISTER */
    uint32_t requests_max; /* stream ids */
    size_t frame_bytes_max;
    uint32_t connect_timeout_ms;
    uint32_t heartbeat_ms; /* 0: none */
    void *context;         /* of the functions below */
    void (*on_ready)(void *context, struct vvcql_connection *connection);
    void (*on_event)(void *context, const struct vvcql_event *event); /* may be NULL */
    /* vvcql_connection_room() was 0 and is no longer. */
    void (*on_room)(void *context, struct vvcql_connection *connection);
    /* error->status: VVCQL_REFUSED (password, certificate; retrying soon won't help), VVCQL_LOST,
     * VVCQL_TIMEOUT, VVCQL_PROTOCOL, VVCQL_NO_MEMORY, VVCQL_CLOSED (vvcql_connection_close). */
    void (*on_closed)(void *context, struct vvcql_connection *connection,
                      const struct vvcql_error *error);
};

/* One request in flight; lives in its owner, who sets done before it is sent. */
struct vvcql_call {
    /* frame NULL: it failed with *error; else error NULL. Both borrowed for the call. ERROR frames
     * are frames. The call may be freed or sent again here. */
    void (*done)(struct vvcql_call *call, const struct vvcql_frame *frame,
                 const struct vvcql_error *error);
    struct vvcql_connection *connection_; /* NULL while not in flight */
    int stream_;
    uint64_t position_; /* where its frame begins among all bytes of the connection */
};

/* Texts and context are borrowed for the connection's life. NULL: no memory. Failures to connect
 * are told by on_closed, never before this has returned. */
struct vvcql_connection *vvcql_connection_create(struct vvcql_loop *loop,
                                                 const struct vvcql_connection_options *options);
/* Closes it; on_closed comes later, from the loop, calls in flight fail with VVCQL_CLOSED. Safe to
 * call twice. */
void vvcql_connection_close(struct vvcql_connection *connection);

bool vvcql_connection_is_ready(const struct vvcql_connection *connection);
/* Free stream ids; 0 unless it is ready, and while too many bytes wait to be sent. */
size_t vvcql_connection_room(const struct vvcql_connection *connection);
size_t vvcql_connection_in_flight(const struct vvcql_connection *connection); /* without orphans */
const char *vvcql_connection_host(const struct vvcql_connection *connection); /* "address:port" */

/* Sends a request; completed by call->done, never before this has returned. Bytes go out together
 * with what else is sent in this round of the loop. VVCQL_OVERLOADED: no stream id is free, or more
 * bytes wait to be sent than a slow host should hold (16 MiB); VVCQL_NO_MEMORY; VVCQL_LOST when it
 * isn't ready. In these cases done is not called. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_connection_send(struct vvcql_connection *connection,
                                                         struct vvcql_call *call, uint8_t opcode,
                                                         uint8_t flags, struct vvcql_bytes body);
/* The owner no longer waits: done won't be called, the stream id is kept until the answer comes.
 * When half of the ids are orphans the host is taken for hung and the connection is closed. Nothing
 * when the call isn't in flight. */
void vvcql_call_abandon(struct vvcql_call *call);

/* For loop.c: sends what was written. */
void vvcql_connection_flush(struct vvcql_connection *connection);
struct vvcql_connection **vvcql_connection_next_dirty(struct vvcql_connection *connection);

#endif
