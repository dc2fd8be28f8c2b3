/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the first frame to a connection that is ready:
 *
 *   OPTIONS → SUPPORTED (is LZ4 offered?)
 *   STARTUP → READY, or AUTHENTICATE
 *   AUTH_RESPONSE (SASL PLAIN: user and password) → AUTH_SUCCESS
 *   REGISTER, where events are wanted → READY
 *
 * One request at a time, each on stream 0.
 */
#include "connection_private.h"
#include "requests.h"

#include <string.h>

#define DRIVER_NAME    "vvcql"
#define DRIVER_VERSION "1.0"
#define COMPRESSION    "lz4"

static void send_step(struct vvcql_connection *connection, enum vvcql_step step, uint8_t opcode,
                      struct vvcql_buffer *body)
{
    struct vvcql_bytes bytes = {.data = body->data, .size = body->size};
    if (body->failed || !vvcql_transport_write(connection, opcode, 0, 0, bytes)) {
        vvcql_connection_fail_text(connection, VVCQL_NO_MEMORY,
                                   "no memory to open a connection to %s", connection->host);
    } else {
        connection->step = step;
    }
    vvcql_buffer_deinit(body);
}

void vvcql_handshake_begin(struct vvcql_connection *connection)
{
    struct vvcql_buffer body = {0};
    send_step(connection, VVCQL_STEP_OPTIONS, VVCQL_OP_OPTIONS, &body);
}

const char *vvcql_handshake_awaited(const struct vvcql_connection *connection)
{
    switch (connection->step) {
    case VVCQL_STEP_CONNECT:
        return "a connection";
    case VVCQL_STEP_TLS:
        return "the end of the TLS handshake";
    case VVCQL_STEP_OPTIONS:
        return "an answer to OPTIONS";
    case VVCQL_STEP_STARTUP:
        return "an answer to STARTUP";
    case VVCQL_STEP_AUTH_RESPONSE:
        return "an answer to AUTH_RESPONSE";
    case VVCQL_STEP_REGISTER:
        return "an answer to REGISTER";
    default:
        return "an answer";
    }
}

static void fail_unexpected(struct vvcql_connection *connection, const struct vvcql_frame *frame)
{
    vvcql_connection_fail_text(connection, VVCQL_PROTOCOL,
                               "%s sent opcode 0x%02x on stream %d instead of %s", connection->host,
                               frame->opcode, frame->stream, vvcql_handshake_awaited(connection));
}

/* What an error that ended the handshake means to who opens connections: whether it is worth
 * trying again soon. */
static enum vvcql_status status_of_error(const struct vvcql_error *error)
{
    if (error->status != VVCQL_SERVER) {
        return error->status;
    }
    switch (error->code) {
    case VVCQL_CODE_BAD_CREDENTIALS:
    case VVCQL_CODE_UNAUTHORIZED:
        return VVCQL_REFUSED;
    case VVCQL_CODE_PROTOCOL_ERROR:
        return VVCQL_PROTOCOL;
    default:
        return VVCQL_LOST;
    }
}

static void fail_error(struct vvcql_connection *connection, struct vvcql_bytes body)
{
    struct vvcql_error error;
    struct vvcql_bytes prepared_id;
    (void)vvcql_decode_error(body, &error, &prepared_id);
    error.status = status_of_error(&error);
    error.outcome_unknown = false;
    vvcql_connection_fail(connection, &error);
}

static void take_supported(struct vvcql_connection *connection, struct vvcql_bytes body)
{
    struct vvcql_error error;
    bool offered;
    if (vvcql_decode_supported(body, "COMPRESSION", COMPRESSION, &offered, &error) != VVCQL_OK) {
        vvcql_connection_fail(connection, &error);
        return;
    }
    bool compress = offered && connection->options.compress;
    struct vvcql_buffer startup = {0};
    vvcql_request_startup(&startup, compress ? COMPRESSION : NULL, DRIVER_NAME, DRIVER_VERSION);
    send_step(connection, VVCQL_STEP_STARTUP, VVCQL_OP_STARTUP, &startup);
    connection->compress = compress; /* from the frame after STARTUP on */
}

static void take_authenticate(struct vvcql_connection *connection, struct vvcql_bytes body)
{
    const struct vvcql_connection_options *options = &connection->options;
    struct vvcql_error error;
    struct vvcql_bytes class;
    if (vvcql_decode_authenticate(body, &class, &error) != VVCQL_OK) {
        vvcql_connection_fail(connection, &error);
        return;
    }
    if (options->user == NULL || options->password == NULL) {
        char name[128];
        vvcql_copy_text(name, sizeof name, class);
        vvcql_connection_fail_text(connection, VVCQL_REFUSED,
                                   "%s needs user and password (its authenticator is %s)",
                                   connection->host, name);
        return;
    }
    struct vvcql_buffer response = {0};
    vvcql_request_auth_plain(&response, options->user, options->password);
    send_step(connection, VVCQL_STEP_AUTH_RESPONSE, VVCQL_OP_AUTH_RESPONSE, &response);
}

/* The host lets it in. */
static void take_admission(struct vvcql_connection *connection)
{
    if (!connection->options.want_events) {
        vvcql_connection_ready(connection);
        return;
    }
    struct vvcql_buffer body = {0};
    vvcql_request_register(&body);
    send_step(connection, VVCQL_STEP_REGISTER, VVCQL_OP_REGISTER, &body);
}

static void take_startup_answer(struct vvcql_connection *connection,
                                const struct vvcql_frame *frame, struct vvcql_bytes body)
{
    if (frame->opcode == VVCQL_OP_READY) {
        take_admission(connection);
    } else if (frame->opcode == VVCQL_OP_AUTHENTICATE) {
        take_authenticate(connection, body);
    } else {
        fail_unexpected(connection, frame);
    }
}

static void take_auth_answer(struct vvcql_connection *connection, const struct vvcql_frame *frame)
{
    if (frame->opcode == VVCQL_OP_AUTH_SUCCESS) {
        take_admission(connection);
    } else if (frame->opcode == VVCQL_OP_AUTH_CHALLENGE) {
        vvcql_connection_fail_text(connection, VVCQL_REFUSED,
                                   "%s wants more than user and password: its authenticator does "
                                   "not take SASL PLAIN",
                                   connection->host);
    } else {
        fail_unexpected(connection, frame);
    }
}

static void take_step(struct vvcql_connection *connection, const struct vvcql_frame *frame,
                      struct vvcql_bytes body)
{
    if (connection->step == VVCQL_STEP_OPTIONS && frame->opcode == VVCQL_OP_SUPPORTED) {
        take_supported(connection, body);
    } else if (connection->step == VVCQL_STEP_STARTUP) {
        take_startup_answer(connection, frame, body);
    } else if (connection->step == VVCQL_STEP_AUTH_RESPONSE) {
        take_auth_answer(connection, frame);
    } else if (connection->step == VVCQL_STEP_REGISTER && frame->opcode == VVCQL_OP_READY) {
        vvcql_connection_ready(connection);
    } else {
        fail_unexpected(connection, frame);
    }
}

void vvcql_handshake_frame(struct vvcql_connection *connection, const struct vvcql_frame *frame)
{
    struct vvcql_prelude prelude;
    struct vvcql_error error;
    if (vvcql_decode_prelude(frame, &prelude, &error) != VVCQL_OK) {
        vvcql_connection_fail(connection, &error);
    } else if (frame->opcode == VVCQL_OP_ERROR) {
        /* On any stream: of a request that it can't read, a host doesn't know the stream. */
        fail_error(connection, prelude.body);
    } else if (frame->stream != 0) {
        fail_unexpected(connection, frame);
    } else {
        take_step(connection, frame, prelude.body);
    }
}
