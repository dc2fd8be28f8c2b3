/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection is inside; for connection.c, transport.c and handshake.c. */
#ifndef VVCQL_CONNECTION_PRIVATE_H
#define VVCQL_CONNECTION_PRIVATE_H

#include "connection.h"
#include "stream_ids.h"

/* In this order; those between TLS and READY are named for the request whose answer is awaited. */
enum vvcql_step {
    VVCQL_STEP_CONNECT,
    VVCQL_STEP_TLS,
    VVCQL_STEP_OPTIONS,
    VVCQL_STEP_STARTUP,
    VVCQL_STEP_AUTH_RESPONSE,
    VVCQL_STEP_REGISTER,
    VVCQL_STEP_READY,
    VVCQL_STEP_CLOSING, /* libuv holds it still; fails with `error` */
};

/*
 * Bytes to be sent: frames are written to `out`. A flush encrypts them to `cipher`, where there is
 * TLS, and exchanges the buffer (out or cipher) with `sending`, which is libuv's until it is sent.
 */
struct vvcql_connection {
    struct vvcql_connection_options options;
    struct vvcql_loop *loop;
    char address[VVCQL_HOST_MAX]; /* without the port */
    char host[VVCQL_HOST_MAX];
    enum vvcql_step step;
    bool compress; /* agreed */
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;

    struct vvcql_splitter splitter;
    struct vvcql_tls *tls;     /* NULL: none, as the next two */
    uint8_t *received;         /* as it came from the socket */
    struct vvcql_buffer plain; /* what it was decrypted to */
    uint64_t received_ms;      /* when bytes came last */

    struct vvcql_buffer out;
    struct vvcql_buffer cipher;
    struct vvcql_buffer sending;
    size_t sent;       /* of `sending` */
    bool is_writing;   /* libuv has `sending` */
    bool cannot_write; /* any more; what the host said before is read still */
    uint64_t written;  /* bytes of frames, ever */
    uint64_t handed;   /* those of them that libuv or TLS was given */
    bool is_dirty;     /* in the loop's list */
    struct vvcql_connection *next_dirty;

    struct vvcql_stream_ids ids;
    struct vvcql_deadline deadline; /* of connecting, then of silence */
    struct vvcql_call heartbeat;
    bool heartbeat_awaited; /* it was sent, and nothing came since */
    struct vvcql_error error;
};

/* ---- connection.c ---- */

/* Closes it for this reason, unless it is closing already: the first reason stands. Calls nobody
 * before the loop's round ends. */
void vvcql_connection_fail(struct vvcql_connection *connection, const struct vvcql_error *error);
void vvcql_connection_fail_text(struct vvcql_connection *connection, enum vvcql_status status,
                                const char *format, ...) __attribute__((format(printf, 3, 4)));
/* A whole frame came. */
void vvcql_connection_frame(struct vvcql_connection *connection, const struct vvcql_frame *frame);
/* The handshake is over. */
void vvcql_connection_ready(struct vvcql_connection *connection);
/* Calls on_room when there was none before and is now. */
void vvcql_connection_tell_room(struct vvcql_connection *connection, size_t room_before);

/* ---- transport.c ---- */

/* Makes TLS's channel, if it is wanted; false: no memory. */
VVCQL_MUST_CHECK bool vvcql_transport_init(struct vvcql_connection *connection);
void vvcql_transport_deinit(struct vvcql_connection *connection);
/* Begins to connect. Failures are told by vvcql_connection_fail(). */
void vvcql_transport_connect(struct vvcql_connection *connection);
/* Writes a frame to be sent at the end of this round; false: no memory, and nothing is written. */
VVCQL_MUST_CHECK bool vvcql_transport_write(struct vvcql_connection *connection, uint8_t opcode,
                                            uint8_t flags, int16_t stream, struct vvcql_bytes body);
/* Bytes that are not with the kernel yet. */
size_t vvcql_transport_backlog(const struct vvcql_connection *connection);

/* ---- handshake.c ---- */

/* The connection can carry frames: asks for OPTIONS. */
void vvcql_handshake_begin(struct vvcql_connection *connection);
/* A frame before the connection is ready. */
void vvcql_handshake_frame(struct vvcql_connection *connection, const struct vvcql_frame *frame);
/* What is waited for: "the answer to STARTUP". */
const char *vvcql_handshake_awaited(const struct vvcql_connection *connection);

#endif
