/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a connection, calls in flight, heartbeats. */
#include "address.h"
#include "connection_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than this waits for a slow host in its owner, not here. */
#define BACKLOG_MAX ((size_t)16 << 20)

static void on_deadline(struct vvcql_deadline *deadline);
static void on_heartbeat(struct vvcql_call *call, const struct vvcql_frame *frame,
                         const struct vvcql_error *error);

/* ---- life ---- */

static void name_host(struct vvcql_connection *connection)
{
    const struct sockaddr_storage *address = &connection->options.address;
    vvcql_address_name(address, connection->host);
    if (uv_ip_name((const struct sockaddr *)address, connection->address,
                   sizeof connection->address) != 0) {
        connection->address[0] = '\0';
    }
}

/* Frees it; libuv must not have its handle. */
static void destroy(struct vvcql_connection *connection)
{
    vvcql_deadline_clear(&connection->loop->deadlines, &connection->deadline);
    vvcql_transport_deinit(connection);
    vvcql_splitter_deinit(&connection->splitter);
    vvcql_stream_ids_deinit(&connection->ids);
    free(connection);
}

static bool set_up(struct vvcql_connection *connection)
{
    const struct vvcql_connection_options *options = &connection->options;
    uint64_t until_ms = vvcql_loop_now(connection->loop) + options->connect_timeout_ms;
    return vvcql_stream_ids_init(&connection->ids, options->requests_max) &&
           vvcql_transport_init(connection) &&
           vvcql_deadline_set(&connection->loop->deadlines, &connection->deadline, until_ms);
}

struct vvcql_connection *vvcql_connection_create(struct vvcql_loop *loop,
                                                 const struct vvcql_connection_options *options)
{
    struct vvcql_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL) {
        return NULL;
    }
    connection->options = *options;
    connection->loop = loop;
    connection->splitter.frame_bytes_max = options->frame_bytes_max;
    connection->deadline.expired = on_deadline;
    connection->heartbeat.done = on_heartbeat;
    name_host(connection);
    if (!set_up(connection)) {
        destroy(connection);
        return NULL;
    }
    vvcql_transport_connect(connection);
    return connection;
}

/* Why calls in flight fail. That the connection took too long is not that a request did: to whom
 * sent it, it is lost. */
static enum vvcql_status status_of_calls(enum vvcql_status status)
{
    return status == VVCQL_CLOSED || status == VVCQL_PROTOCOL ? status : VVCQL_LOST;
}

static void complete_all(struct vvcql_connection *connection)
{
    struct vvcql_error error = connection->error;
    error.status = status_of_calls(error.status);
    void *owner;
    int id;
    while ((id = vvcql_stream_ids_any(&connection->ids, &owner)) >= 0) {
        bool known;
        (void)vvcql_stream_ids_answer(&connection->ids, id, &known);
        struct vvcql_call *call = owner;
        call->connection_ = NULL;
        error.outcome_unknown = call->position_ < connection->handed;
        call->done(call, NULL, &error);
    }
}

static void on_uv_closed(uv_handle_t *handle)
{
    struct vvcql_connection *connection = handle->data;
    complete_all(connection);
    vvcql_tally_subtract(&connection->loop->tally.orphans, connection->ids.orphans);
    connection->options.on_closed(connection->options.context, connection, &connection->error);
    destroy(connection);
}

static void leave_dirty(struct vvcql_connection *connection)
{
    if (!connection->is_dirty) {
        return;
    }
    struct vvcql_connection **at = &connection->loop->dirty;
    while (*at != NULL && *at != connection) {
        at = &(*at)->next_dirty;
    }
    if (*at != NULL) {
        *at = connection->next_dirty;
    }
    connection->next_dirty = NULL;
    connection->is_dirty = false;
}

void vvcql_connection_fail(struct vvcql_connection *connection, const struct vvcql_error *error)
{
    if (connection->step == VVCQL_STEP_CLOSING) {
        return;
    }
    if (connection->step == VVCQL_STEP_READY && error->status != VVCQL_CLOSED) {
        vvcql_tally_add(&connection->loop->tally.connections_lost, 1);
    }
    connection->error = *error;
    memcpy(connection->error.host, connection->host, sizeof connection->error.host);
    connection->step = VVCQL_STEP_CLOSING;
    vvcql_deadline_clear(&connection->loop->deadlines, &connection->deadline);
    leave_dirty(connection);
    uv_close((uv_handle_t *)&connection->tcp, on_uv_closed);
}

void vvcql_connection_fail_text(struct vvcql_connection *connection, enum vvcql_status status,
                                const char *format, ...)
{
    char text[VVCQL_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    struct vvcql_error error;
    (void)vvcql_error_set(&error, status, "%s", text);
    vvcql_connection_fail(connection, &error);
}

void vvcql_connection_close(struct vvcql_connection *connection)
{
    vvcql_connection_fail_text(connection, VVCQL_CLOSED, "the connection to %s was closed",
                               connection->host);
}

/* ---- looking at it ---- */

bool vvcql_connection_is_ready(const struct vvcql_connection *connection)
{
    return connection->step == VVCQL_STEP_READY && !connection->cannot_write;
}

size_t vvcql_connection_room(const struct vvcql_connection *connection)
{
    if (!vvcql_connection_is_ready(connection) ||
        vvcql_transport_backlog(connection) >= BACKLOG_MAX) {
        return 0;
    }
    return connection->ids.capacity - connection->ids.in_use;
}

size_t vvcql_connection_in_flight(const struct vvcql_connection *connection)
{
    return connection->ids.in_use - connection->ids.orphans;
}

const char *vvcql_connection_host(const struct vvcql_connection *connection)
{
    return connection->host;
}

struct vvcql_connection **vvcql_connection_next_dirty(struct vvcql_connection *connection)
{
    return &connection->next_dirty;
}

void vvcql_connection_tell_room(struct vvcql_connection *connection, size_t room_before)
{
    if (room_before == 0 && vvcql_connection_room(connection) > 0) {
        connection->options.on_room(connection->options.context, connection);
    }
}

/* ---- calls ---- */

enum vvcql_status vvcql_connection_send(struct vvcql_connection *connection,
                                        struct vvcql_call *call, uint8_t opcode, uint8_t flags,
                                        struct vvcql_bytes body)
{
    if (!vvcql_connection_is_ready(connection)) {
        return VVCQL_LOST;
    }
    if (vvcql_transport_backlog(connection) >= BACKLOG_MAX) {
        return VVCQL_OVERLOADED;
    }
    int id = vvcql_stream_ids_take(&connection->ids, call);
    if (id < 0) {
        return VVCQL_OVERLOADED;
    }
    uint64_t position = connection->written;
    if (!vvcql_transport_write(connection, opcode, flags, (int16_t)id, body)) {
        bool known;
        (void)vvcql_stream_ids_answer(&connection->ids, id, &known);
        return VVCQL_NO_MEMORY;
    }
    call->connection_ = connection;
    call->stream_ = id;
    call->position_ = position;
    return VVCQL_OK;
}

void vvcql_call_abandon(struct vvcql_call *call)
{
    struct vvcql_connection *connection = call->connection_;
    if (connection == NULL) {
        return;
    }
    call->connection_ = NULL;
    vvcql_stream_ids_abandon(&connection->ids, call->stream_);
    vvcql_tally_add(&connection->loop->tally.orphans, 1);
    if (connection->ids.orphans * 2 >= connection->ids.capacity) {
        vvcql_connection_fail_text(connection, VVCQL_LOST,
                                   "%s is taken for hung: it has not answered %zu requests",
                                   connection->host, connection->ids.orphans);
    }
}

static void fail_unknown_stream(struct vvcql_connection *connection,
                                const struct vvcql_frame *frame)
{
    struct vvcql_error said = {0};
    if (frame->opcode == VVCQL_OP_ERROR) {
        struct vvcql_bytes id;
        (void)vvcql_decode_error(frame->body, &said, &id);
    }
    vvcql_connection_fail_text(connection, VVCQL_PROTOCOL,
                               "%s answered (opcode 0x%02x%s%.300s) what nobody asked: stream %d",
                               connection->host, frame->opcode, said.message[0] != '\0' ? ": " : "",
                               said.message, frame->stream);
}

static void take_answer(struct vvcql_connection *connection, const struct vvcql_frame *frame)
{
    size_t room = vvcql_connection_room(connection);
    bool known;
    struct vvcql_call *call = vvcql_stream_ids_answer(&connection->ids, frame->stream, &known);
    if (!known) {
        fail_unknown_stream(connection, frame);
        return;
    }
    if (call == NULL) {
        vvcql_tally_subtract(&connection->loop->tally.orphans, 1);
    } else {
        call->connection_ = NULL;
        call->done(call, frame, NULL);
    }
    vvcql_connection_tell_room(connection, room);
}

static void take_event(struct vvcql_connection *connection, const struct vvcql_frame *frame)
{
    struct vvcql_prelude prelude;
    struct vvcql_event event;
    struct vvcql_error error;
    if (vvcql_decode_prelude(frame, &prelude, &error) != VVCQL_OK ||
        vvcql_decode_event(prelude.body, &event, &error) != VVCQL_OK) {
        vvcql_connection_fail(connection, &error);
    } else if (connection->options.want_events && connection->options.on_event != NULL) {
        connection->options.on_event(connection->options.context, &event);
    }
}

void vvcql_connection_frame(struct vvcql_connection *connection, const struct vvcql_frame *frame)
{
    if (frame->opcode == VVCQL_OP_EVENT && frame->stream == -1) {
        take_event(connection, frame);
    } else if (connection->step < VVCQL_STEP_READY) {
        vvcql_handshake_frame(connection, frame);
    } else {
        take_answer(connection, frame);
    }
}

/* ---- time ---- */

static void await_silence(struct vvcql_connection *connection, uint64_t from_ms, bool awaited)
{
    connection->heartbeat_awaited = awaited;
    if (!vvcql_deadline_set(&connection->loop->deadlines, &connection->deadline,
                            from_ms + connection->options.heartbeat_ms)) {
        vvcql_connection_fail_text(connection, VVCQL_NO_MEMORY, "no memory for a deadline");
    }
}

static void on_heartbeat(struct vvcql_call *call, const struct vvcql_frame *frame,
                         const struct vvcql_error *error)
{
    /* That bytes came is all it is for. */
    (void)call;
    (void)frame;
    (void)error;
}

/* Whether it can be sent or not (no stream id is free: then other answers are due), something must
 * come until the deadline. */
static void send_heartbeat(struct vvcql_connection *connection)
{
    if (connection->heartbeat.connection_ == NULL) {
        enum vvcql_status status =
            vvcql_connection_send(connection, &connection->heartbeat, VVCQL_OP_OPTIONS, 0,
                                  (struct vvcql_bytes){.data = NULL, .size = 0});
        (void)status;
    }
}

static void check_silence(struct vvcql_connection *connection)
{
    uint64_t now_ms = vvcql_loop_now(connection->loop);
    if (now_ms - connection->received_ms < connection->options.heartbeat_ms) {
        await_silence(connection, connection->received_ms, false);
    } else if (connection->heartbeat_awaited) {
        vvcql_connection_fail_text(connection, VVCQL_TIMEOUT,
                                   "%s is silent: nothing came for %llu ms, not even an answer to "
                                   "a heartbeat",
                                   connection->host,
                                   (unsigned long long)(now_ms - connection->received_ms));
    } else {
        send_heartbeat(connection);
        await_silence(connection, now_ms, true);
    }
}

static void on_deadline(struct vvcql_deadline *deadline)
{
    struct vvcql_connection *connection =
        (struct vvcql_connection *)((char *)deadline - offsetof(struct vvcql_connection, deadline));
    if (connection->step == VVCQL_STEP_READY) {
        check_silence(connection);
    } else {
        vvcql_connection_fail_text(connection, VVCQL_TIMEOUT,
                                   "%s did not give %s within %u ms of connecting",
                                   connection->host, vvcql_handshake_awaited(connection),
                                   connection->options.connect_timeout_ms);
    }
}

void vvcql_connection_ready(struct vvcql_connection *connection)
{
    connection->step = VVCQL_STEP_READY;
    vvcql_tally_add(&connection->loop->tally.connections_opened, 1);
    if (connection->options.heartbeat_ms == 0) {
        vvcql_deadline_clear(&connection->loop->deadlines, &connection->deadline);
    } else {
        await_silence(connection, vvcql_loop_now(connection->loop), false);
    }
    if (connection->step == VVCQL_STEP_READY) {
        connection->options.on_ready(connection->options.context, connection);
    }
}
