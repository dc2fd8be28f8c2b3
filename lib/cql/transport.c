/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's socket and TLS: connecting, reading, writing. */
#include "connection_private.h"

#include <stdlib.h>
#include <string.h>

#define KEEPALIVE_SECONDS 60
#define READ_SIZE         ((size_t)64 << 10)
/* Shorter bodies gain nothing from being compressed. */
#define COMPRESS_SIZE_MIN ((size_t)1 << 10)
/* What TLS itself has to say while earlier bytes aren't taken: a host that asks for ever more (new
 * keys, say) and reads nothing is not waited for. */
#define TLS_BACKLOG_MAX ((size_t)64 << 10)
/* Buffers that a burst made larger are given back. */
#define KEPT_CAPACITY_MAX ((size_t)1 << 20)

bool vvcql_transport_init(struct vvcql_connection *connection)
{
    const struct vvcql_connection_options *options = &connection->options;
    if (options->tls == NULL) {
        return true;
    }
    connection->tls = vvcql_tls_create(options->tls, connection->address, options->name);
    connection->received = malloc(READ_SIZE);
    return connection->tls != NULL && connection->received != NULL;
}

void vvcql_transport_deinit(struct vvcql_connection *connection)
{
    vvcql_tls_destroy(connection->tls);
    free(connection->received);
    vvcql_buffer_deinit(&connection->plain);
    vvcql_buffer_deinit(&connection->out);
    vvcql_buffer_deinit(&connection->cipher);
    vvcql_buffer_deinit(&connection->sending);
}

/* ---- writing ---- */

static void mark_dirty(struct vvcql_connection *connection)
{
    if (!connection->is_dirty && connection->step != VVCQL_STEP_CLOSING) {
        connection->is_dirty = true;
        connection->next_dirty = connection->loop->dirty;
        connection->loop->dirty = connection;
    }
}

bool vvcql_transport_write(struct vvcql_connection *connection, uint8_t opcode, uint8_t flags,
                           int16_t stream, struct vvcql_bytes body)
{
    struct vvcql_buffer *out = &connection->out;
    size_t before = out->size;
    vvcql_frame_write(out, opcode, flags, stream, body,
                      connection->compress && body.size >= COMPRESS_SIZE_MIN);
    if (out->failed) {
        out->failed = false;
        return false;
    }
    connection->written += out->size - before;
    mark_dirty(connection);
    return true;
}

size_t vvcql_transport_backlog(const struct vvcql_connection *connection)
{
    return connection->out.size + connection->cipher.size + connection->sending.size -
           connection->sent;
}

static void empty(struct vvcql_buffer *buffer)
{
    if (buffer->capacity > KEPT_CAPACITY_MAX) {
        vvcql_buffer_deinit(buffer);
    }
    vvcql_buffer_clear(buffer);
}

/* Nothing can be written any more. Why, the host may have said before it closed: reading goes on
 * and meets its words or the end. */
static void stop_writing(struct vvcql_connection *connection)
{
    connection->cannot_write = true;
    connection->sent = 0;
    empty(&connection->sending);
    empty(&connection->out);
    empty(&connection->cipher);
}

static void add_sent(struct vvcql_connection *connection, size_t size)
{
    connection->sent += size;
    vvcql_tally_add(&connection->loop->tally.bytes_sent, size);
    if (connection->sent == connection->sending.size) {
        connection->sent = 0;
        empty(&connection->sending);
    }
}

static void on_written(uv_write_t *request, int status)
{
    struct vvcql_connection *connection = request->data;
    size_t room = vvcql_connection_room(connection);
    connection->is_writing = false;
    if (connection->step == VVCQL_STEP_CLOSING) {
        return;
    }
    if (status != 0) {
        stop_writing(connection);
        return;
    }
    add_sent(connection, connection->sending.size - connection->sent);
    if (connection->out.size > 0 || connection->cipher.size > 0) {
        mark_dirty(connection);
    }
    vvcql_connection_tell_room(connection, room);
}

/* The rest of `sending`: what the kernel takes at once, then as it takes it. */
static void write_sending(struct vvcql_connection *connection)
{
    uv_stream_t *stream = (uv_stream_t *)&connection->tcp;
    struct vvcql_buffer *sending = &connection->sending;
    uv_buf_t buffer = uv_buf_init((char *)sending->data, (unsigned)sending->size);
    int result = uv_try_write(stream, &buffer, 1);
    if (result >= 0) {
        add_sent(connection, (size_t)result);
    } else if (result != UV_EAGAIN) {
        stop_writing(connection);
    }
    if (sending->size == 0) {
        return;
    }
    buffer = uv_buf_init((char *)sending->data + connection->sent,
                         (unsigned)(sending->size - connection->sent));
    connection->write.data = connection;
    result = uv_write(&connection->write, stream, &buffer, 1, on_written);
    connection->is_writing = result == 0;
    if (result != 0) {
        stop_writing(connection);
    }
}

/* false: it failed. */
static bool encrypt(struct vvcql_connection *connection)
{
    if (connection->tls == NULL || connection->out.size == 0) {
        return true;
    }
    struct vvcql_error error;
    struct vvcql_bytes plain = {.data = connection->out.data, .size = connection->out.size};
    if (vvcql_tls_send(connection->tls, plain, &connection->cipher, &error) != VVCQL_OK) {
        vvcql_connection_fail(connection, &error);
        return false;
    }
    empty(&connection->out);
    return true;
}

void vvcql_connection_flush(struct vvcql_connection *connection)
{
    connection->is_dirty = false;
    if (connection->is_writing || connection->cannot_write || !encrypt(connection)) {
        return;
    }
    struct vvcql_buffer *next = connection->tls != NULL ? &connection->cipher : &connection->out;
    if (next->size == 0) {
        return;
    }
    size_t room = vvcql_connection_room(connection);
    struct vvcql_buffer taken = *next;
    *next = connection->sending;
    connection->sending = taken;
    connection->handed = connection->written;
    write_sending(connection);
    vvcql_connection_tell_room(connection, room);
}

/* ---- reading ---- */

static void take_frames(struct vvcql_connection *connection)
{
    while (connection->step != VVCQL_STEP_CLOSING) {
        struct vvcql_frame frame;
        struct vvcql_error error;
        bool found;
        if (vvcql_splitter_next(&connection->splitter, &frame, &found, &error) != VVCQL_OK) {
            vvcql_connection_fail(connection, &error);
            return;
        }
        if (!found) {
            return;
        }
        vvcql_connection_frame(connection, &frame);
    }
}

/* Gives the frames' stream what was decrypted. */
static bool add_plain(struct vvcql_connection *connection)
{
    struct vvcql_buffer *plain = &connection->plain;
    size_t taken = 0;
    while (taken < plain->size) {
        size_t left = plain->size - taken;
        size_t capacity;
        uint8_t *at = vvcql_splitter_reserve(&connection->splitter, left, &capacity);
        if (at == NULL) {
            vvcql_connection_fail_text(connection, VVCQL_NO_MEMORY, "no memory to receive");
            return false;
        }
        size_t size = left < capacity ? left : capacity;
        memcpy(at, plain->data + taken, size);
        vvcql_splitter_added(&connection->splitter, size);
        taken += size;
    }
    empty(plain);
    return true;
}

/* The alert that tells the host why, as far as the kernel takes it at once. */
static void fail_tls(struct vvcql_connection *connection, const struct vvcql_error *error)
{
    if (connection->step != VVCQL_STEP_CLOSING && !connection->is_writing &&
        connection->cipher.size > 0) {
        uv_buf_t buffer =
            uv_buf_init((char *)connection->cipher.data, (unsigned)connection->cipher.size);
        (void)uv_try_write((uv_stream_t *)&connection->tcp, &buffer, 1);
    }
    vvcql_connection_fail(connection, error);
}

/* Bytes from the socket, none at the start; true when there may be frames. */
static bool decrypt(struct vvcql_connection *connection, size_t size)
{
    struct vvcql_bytes received = {.data = connection->received, .size = size};
    struct vvcql_error error;
    bool ready;
    enum vvcql_status status = vvcql_tls_receive(connection->tls, received, &connection->plain,
                                                 &connection->cipher, &ready, &error);
    /* Words before the end count. */
    if (!add_plain(connection)) {
        return false;
    }
    if (status != VVCQL_OK) {
        take_frames(connection);
        fail_tls(connection, &error);
        return false;
    }
    if (connection->cipher.size > TLS_BACKLOG_MAX) {
        vvcql_connection_fail_text(connection, VVCQL_PROTOCOL,
                                   "%s asks for answers of TLS and does not take them",
                                   connection->host);
        return false;
    }
    if (connection->cipher.size > 0) {
        mark_dirty(connection);
    }
    if (ready && connection->step == VVCQL_STEP_TLS) {
        vvcql_handshake_begin(connection);
    }
    return true;
}

static void give_memory(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer_out)
{
    (void)suggested;
    struct vvcql_connection *connection = handle->data;
    size_t capacity = READ_SIZE;
    uint8_t *at = connection->received;
    if (connection->tls == NULL) {
        at = vvcql_splitter_reserve(&connection->splitter, READ_SIZE, &capacity);
    }
    *buffer_out = uv_buf_init((char *)at, (unsigned)capacity);
}

static void end_reading(struct vvcql_connection *connection, int error)
{
    if (error == UV_ENOBUFS) {
        vvcql_connection_fail_text(connection, VVCQL_NO_MEMORY, "no memory to receive");
        return;
    }
    const char *text = error == UV_EOF ? "the host closed it" : uv_strerror(error);
    if (connection->step == VVCQL_STEP_READY) {
        vvcql_connection_fail_text(connection, VVCQL_LOST, "the connection to %s was lost: %s",
                                   connection->host, text);
    } else {
        vvcql_connection_fail_text(connection, VVCQL_LOST,
                                   "the connection to %s was lost before %s came: %s%s",
                                   connection->host, vvcql_handshake_awaited(connection), text,
                                   connection->step == VVCQL_STEP_OPTIONS && connection->tls == NULL
                                       ? " (does it want TLS?)"
                                       : "");
    }
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    (void)buffer;
    struct vvcql_connection *connection = stream->data;
    if (size < 0) {
        end_reading(connection, (int)size);
        return;
    }
    if (size == 0) {
        return;
    }
    connection->received_ms = vvcql_loop_now(connection->loop);
    connection->heartbeat_awaited = false;
    vvcql_tally_add(&connection->loop->tally.bytes_received, (uint64_t)size);
    if (connection->tls == NULL) {
        vvcql_splitter_added(&connection->splitter, (size_t)size);
    } else if (!decrypt(connection, (size_t)size)) {
        return;
    }
    take_frames(connection);
}

/* ---- connecting ---- */

static void fail_connect(struct vvcql_connection *connection, int error)
{
    vvcql_connection_fail_text(connection, VVCQL_LOST, "cannot connect to %s: %s", connection->host,
                               uv_strerror(error));
}

static void on_connected(uv_connect_t *request, int status)
{
    struct vvcql_connection *connection = request->data;
    if (connection->step == VVCQL_STEP_CLOSING) {
        return;
    }
    if (status == 0) {
        /* Without these it works too. */
        (void)uv_tcp_nodelay(&connection->tcp, 1);
        (void)uv_tcp_keepalive(&connection->tcp, 1, KEEPALIVE_SECONDS);
        status = uv_read_start((uv_stream_t *)&connection->tcp, give_memory, on_read);
    }
    if (status != 0) {
        fail_connect(connection, status);
    } else if (connection->tls == NULL) {
        vvcql_handshake_begin(connection);
    } else {
        connection->step = VVCQL_STEP_TLS;
        (void)decrypt(connection, 0);
    }
}

void vvcql_transport_connect(struct vvcql_connection *connection)
{
    connection->tcp.data = connection;
    connection->connect.data = connection;
    /* Fails only for a family of addresses or a socket, and makes none yet. */
    (void)uv_tcp_init(&connection->loop->uv, &connection->tcp);
    int result =
        uv_tcp_connect(&connection->connect, &connection->tcp,
                       (const struct sockaddr *)&connection->options.address, on_connected);
    if (result != 0) {
        fail_connect(connection, result);
    }
}
