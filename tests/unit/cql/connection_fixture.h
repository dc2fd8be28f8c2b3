/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to a server of fake_server.h, driven by the test's own thread. */
#ifndef VARVE_TEST_CQL_CONNECTION_FIXTURE_H
#define VARVE_TEST_CQL_CONNECTION_FIXTURE_H

#include "fake_answers.h"

#include "cql/connection_private.h"

#include <signal.h>

struct client {
    struct vvcql_loop loop;
    struct vvcql_connection_options options;
    struct vvcql_connection *connection; /* NULL: closed */
    bool is_ready;
    bool is_closed;
    struct vvcql_error error; /* why it was closed */
    size_t n_ready;
    size_t n_room;
    size_t n_events;
    struct vvcql_event event; /* the last one; only its numbers are valid */
};

struct request {
    struct vvcql_call call; /* first */
    size_t n_done;
    bool has_answer;
    uint8_t opcode;
    uint8_t flags;
    size_t size;
    uint32_t first; /* four bytes of the body */
    struct vvcql_error error;
    void (*then)(struct request *request); /* NULL: nothing */
    void *context;
};

static inline void client_on_ready(void *context, struct vvcql_connection *connection)
{
    struct client *client = context;
    assert_true(vvcql_connection_is_ready(connection));
    client->is_ready = true;
    client->n_ready++;
}

static inline void client_on_event(void *context, const struct vvcql_event *event)
{
    struct client *client = context;
    client->n_events++;
    client->event = *event;
}

static inline void client_on_room(void *context, struct vvcql_connection *connection)
{
    struct client *client = context;
    assert_true(vvcql_connection_room(connection) > 0);
    client->n_room++;
}

static inline void client_on_closed(void *context, struct vvcql_connection *connection,
                                    const struct vvcql_error *error)
{
    struct client *client = context;
    assert_false(client->is_closed);
    assert_int_equal(vvcql_connection_in_flight(connection), 0);
    client->is_closed = true;
    client->is_ready = false;
    client->error = *error;
    client->connection = NULL;
}

/* The options may be changed before client_connect(). */
static inline void client_init(struct client *client, const struct fake_server *server)
{
    sigset_t set; /* as vvcql_loop_run() does */
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    memset(client, 0, sizeof *client);
    assert_true(vvcql_loop_init(&client->loop, 1));
    client->options = (struct vvcql_connection_options){
        .address = server->socket_address,
        .requests_max = 128,
        .frame_bytes_max = (size_t)64 << 20,
        .connect_timeout_ms = 60000,
        .context = client,
        .on_ready = client_on_ready,
        .on_event = client_on_event,
        .on_room = client_on_room,
        .on_closed = client_on_closed,
    };
}

static inline void client_connect(struct client *client)
{
    client->is_closed = false;
    client->connection = vvcql_connection_create(&client->loop, &client->options);
    assert_non_null(client->connection);
    assert_false(client->is_closed);
}

/* Runs the loop until the flag is set, or the connection has closed. */
static inline void client_run(struct client *client, const bool *flag)
{
    while (!*flag && !client->is_closed) {
        (void)uv_run(&client->loop.uv, UV_RUN_ONCE);
    }
}

static inline void client_run_until(struct client *client, const size_t *count, size_t wanted)
{
    while (*count < wanted && !client->is_closed) {
        (void)uv_run(&client->loop.uv, UV_RUN_ONCE);
    }
}

static inline void client_run_ready(struct client *client)
{
    client_run(client, &client->is_ready);
    if (client->is_closed) {
        fail_msg("closed: %s", client->error.message);
    }
}

/* Runs until nothing is open; the connection's end must come of itself or have begun. */
static inline void client_run_closed(struct client *client)
{
    vvcql_loop_run(&client->loop);
    assert_true(client->is_closed);
}

static inline void client_deinit(struct client *client)
{
    if (client->connection != NULL) {
        vvcql_connection_close(client->connection);
        client_run_closed(client);
        assert_int_equal(client->error.status, VVCQL_CLOSED);
    }
    assert_int_equal(atomic_load(&client->loop.tally.orphans), 0);
    assert_int_equal(vvcql_deadlines_next(&client->loop.deadlines), UINT64_MAX);
    vvcql_loop_deinit(&client->loop);
}

static inline void request_done(struct vvcql_call *call, const struct vvcql_frame *frame,
                                const struct vvcql_error *error)
{
    struct request *request = (struct request *)call;
    assert_int_equal(frame == NULL, error != NULL);
    request->n_done++;
    request->has_answer = frame != NULL;
    if (frame != NULL) {
        request->opcode = frame->opcode;
        request->flags = frame->flags;
        request->size = frame->body.size;
        request->first = frame->body.size >= 4 ? fake_load(frame->body.data, 4) : 0;
    } else {
        request->error = *error;
    }
    if (request->then != NULL) {
        request->then(request);
    }
}

/* Sends a QUERY whose body is the number and `size` - 4 bytes more, of a pattern that LZ4 likes. */
static inline enum vvcql_status request_send(struct client *client, struct request *request,
                                             uint32_t number, size_t size)
{
    request->call.done = request_done;
    uint8_t *body = vv_sim_calloc(1, size);
    for (size_t i = 0; i < size; i++) {
        body[i] = (uint8_t)(i < 4 ? number >> (24 - 8 * i) : i / 64);
    }
    enum vvcql_status status =
        vvcql_connection_send(client->connection, &request->call, VVCQL_OP_QUERY, 0,
                              (struct vvcql_bytes){.data = body, .size = size});
    free(body);
    return status;
}

/* As if the connection's deadline had come. */
static inline void client_reach_deadline(struct client *client)
{
    struct vvcql_deadlines *deadlines = &client->loop.deadlines;
    uint64_t now_ms = vvcql_loop_now(&client->loop);
    assert_true(vvcql_deadline_set(deadlines, &client->connection->deadline, now_ms));
    vvcql_deadlines_run(deadlines, now_ms);
}

/* The same, and heartbeat_ms have passed since bytes came last. */
static inline void client_pass_silence(struct client *client)
{
    client->connection->received_ms -= client->options.heartbeat_ms;
    client_reach_deadline(client);
}

#endif
