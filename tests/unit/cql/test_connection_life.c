/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a connection at any time, callbacks that do more, events, failing allocations. */
#include "connection_fixture.h"

/* ---- its end ---- */

static void test_close_completes_calls(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_silence, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_ready(&client);
    struct request sent = {0};
    struct request unsent = {0};
    assert_int_equal(request_send(&client, &sent, 1, 4), VVCQL_OK);
    (void)uv_run(&client.loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(request_send(&client, &unsent, 2, 4), VVCQL_OK);
    vvcql_connection_close(client.connection);
    vvcql_connection_close(client.connection);
    assert_int_equal(sent.n_done, 0);
    struct request late = {0};
    assert_int_equal(request_send(&client, &late, 3, 4), VVCQL_LOST);
    client_run_closed(&client);
    assert_int_equal(sent.n_done, 1);
    assert_int_equal(sent.error.status, VVCQL_CLOSED);
    assert_true(sent.error.outcome_unknown);
    assert_int_equal(unsent.n_done, 1);
    assert_int_equal(unsent.error.status, VVCQL_CLOSED);
    assert_false(unsent.error.outcome_unknown);
    assert_string_not_equal(sent.error.host, "");
    vvcql_call_abandon(&sent.call);
    client_deinit(&client);
    assert_int_equal(fake_server_count(&server, VVCQL_OP_QUERY), 0); /* hanging: not recorded */
    fake_server_stop(&server);
}

static void test_close_while_connecting(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    for (int rounds = 0; rounds < 6; rounds++) {
        client_connect(&client);
        for (int i = 0; i < rounds; i++) {
            (void)uv_run(&client.loop.uv, UV_RUN_NOWAIT);
        }
        vvcql_connection_close(client.connection);
        client_run_closed(&client);
        assert_int_equal(client.error.status, VVCQL_CLOSED);
    }
    client_deinit(&client);
    fake_server_stop(&server);
}

static void test_refused(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    fake_server_stop(&server);
    client_connect(&client);
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_LOST);
    assert_non_null(strstr(client.error.message, "cannot connect to 127.0.0.1:"));
    assert_non_null(strstr(client.error.message, "refused"));
    assert_int_equal(atomic_load(&client.loop.tally.connections_opened), 0);
    assert_int_equal(atomic_load(&client.loop.tally.connections_lost), 0);
    client.options.address.ss_family = AF_UNIX;
    client_connect(&client);
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_LOST);
    client_deinit(&client);
}

/* ---- callbacks that do more ---- */

static void then_close(struct request *request)
{
    struct client *client = request->context;
    vvcql_connection_close(client->connection);
}

static void then_abandon(struct request *request)
{
    vvcql_call_abandon(request->context);
}

/* Sends itself again until it was sent five times. */
static void then_again(struct request *request)
{
    struct client *client = request->context;
    if (request->has_answer && request->n_done < 5) {
        assert_int_equal(request_send(client, request, 10, 4), VVCQL_OK);
    }
}

static void test_done_does_more(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_ready(&client);
    struct request again = {.then = then_again, .context = &client};
    assert_int_equal(request_send(&client, &again, 10, 4), VVCQL_OK);
    client_run_until(&client, &again.n_done, 5);
    struct request other = {0};
    struct request abandons = {.then = then_abandon, .context = &other.call};
    struct request closes = {.then = then_close, .context = &client};
    struct request rest = {0};
    assert_int_equal(request_send(&client, &abandons, 1, 4), VVCQL_OK);
    assert_int_equal(request_send(&client, &other, 2, 4), VVCQL_OK);
    assert_int_equal(request_send(&client, &closes, 3, 4), VVCQL_OK);
    assert_int_equal(request_send(&client, &rest, 4, 4), VVCQL_OK);
    client_run_closed(&client);
    assert_int_equal(abandons.n_done, 1);
    assert_int_equal(other.n_done, 0);
    assert_true(closes.has_answer);
    assert_int_equal(rest.n_done, 1);
    assert_int_equal(rest.error.status, VVCQL_CLOSED);
    client_deinit(&client);
    fake_server_stop(&server);
}

/* While all are being ended: one abandons the next, one is sent elsewhere, one frees itself. */
static void then_send_other(struct request *request)
{
    struct client *other = request->context;
    request->then = NULL;
    assert_int_equal(request_send(other, request, 77, 4), VVCQL_OK);
}

static void then_free(struct request *request)
{
    size_t *n = request->context;
    (*n)++;
    free(request);
}

static void test_end_does_more(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_silence, NULL);
    struct fake_server second = {0};
    fake_server_start(&second, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_ready(&client);
    struct client other = client; /* on the same loop */
    other.options.address = second.socket_address;
    other.options.context = &other;
    other.is_ready = false;
    other.connection = vvcql_connection_create(&client.loop, &other.options);
    while (!other.is_ready) {
        (void)uv_run(&client.loop.uv, UV_RUN_ONCE);
    }
    struct request abandoned = {0};
    struct request abandons = {.then = then_abandon, .context = &abandoned.call};
    struct request moves = {.then = then_send_other, .context = &other};
    size_t n_freed = 0;
    struct request *freed = vv_sim_calloc(1, sizeof *freed);
    freed->then = then_free;
    freed->context = &n_freed;
    assert_int_equal(request_send(&client, &abandons, 1, 4), VVCQL_OK);
    assert_int_equal(request_send(&client, &abandoned, 2, 4), VVCQL_OK);
    assert_int_equal(request_send(&client, &moves, 3, 4), VVCQL_OK);
    assert_int_equal(request_send(&client, freed, 4, 4), VVCQL_OK);
    vvcql_connection_close(client.connection);
    while (moves.n_done < 2) {
        (void)uv_run(&client.loop.uv, UV_RUN_ONCE);
    }
    assert_true(client.is_closed);
    assert_int_equal(moves.first, 77);
    assert_int_equal(abandons.n_done, 1);
    assert_int_equal(abandoned.n_done, 0);
    assert_int_equal(n_freed, 1);
    vvcql_connection_close(other.connection);
    client_run_closed(&client);
    assert_true(other.is_closed);
    client_deinit(&client);
    fake_server_stop(&server);
    fake_server_stop(&second);
}

static void close_at_once(void *context, struct vvcql_connection *connection)
{
    struct client *client = context;
    client->n_ready++;
    vvcql_connection_close(connection);
}

static void test_close_when_ready(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.on_ready = close_at_once;
    client_connect(&client);
    client_run_closed(&client);
    assert_int_equal(client.n_ready, 1);
    assert_int_equal(client.error.status, VVCQL_CLOSED);
    client_deinit(&client);
    fake_server_stop(&server);
}

/* ---- events, and what nobody asked for ---- */

static void serve_events(struct fake_peer *peer)
{
    struct fake_request request;
    if (fake_handshake(peer) && fake_expect(peer, VVCQL_OP_REGISTER, &request) &&
        fake_send_status(peer, "UP", "127.0.0.9", 9042) && /* even before its answer */
        fake_answer_empty(peer, request.stream, VVCQL_OP_READY) && fake_wait(peer)) {
        (void)fake_send_status(peer, "DOWN", "127.0.0.9", 9043);
    }
    if (fake_wait(peer)) {
        (void)fake_answer_empty(peer, -1, VVCQL_OP_EVENT);
    }
    fake_hang(peer);
}

static void test_events(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_events, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.want_events = true;
    client_connect(&client);
    client_run_ready(&client);
    assert_int_equal(client.n_events, 1);
    assert_int_equal(client.event.kind, VVCQL_EVENT_UP);
    assert_int_equal(client.event.port, 9042);
    fake_server_let_pass(&server);
    client_run_until(&client, &client.n_events, 2);
    assert_int_equal(client.event.kind, VVCQL_EVENT_DOWN);
    fake_server_let_pass(&server);
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_PROTOCOL);
    assert_int_equal(client.n_events, 2);
    client_deinit(&client);
    fake_server_stop(&server);
}

static void serve_unasked_event(struct fake_peer *peer)
{
    if (fake_handshake(peer)) {
        (void)fake_send_status(peer, "UP", "127.0.0.9", 9042);
    }
    fake_serve_echo(peer);
}

static void test_unasked_event_is_ignored(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_unasked_event, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_ready(&client);
    struct request request = {0};
    assert_int_equal(request_send(&client, &request, 1, 4), VVCQL_OK);
    client_run_until(&client, &request.n_done, 1);
    assert_true(request.has_answer);
    assert_int_equal(client.n_events, 0);
    client_deinit(&client);
    fake_server_stop(&server);
}

static void serve_unknown_stream(struct fake_peer *peer)
{
    const int16_t *stream = peer->context;
    struct fake_request request;
    if (fake_handshake(peer) && fake_expect(peer, VVCQL_OP_QUERY, &request)) {
        (void)fake_answer_error(peer, *stream, VVCQL_CODE_PROTOCOL_ERROR, "I was not asked");
    }
    fake_hang(peer);
}

static void test_unknown_stream_closes(void **state)
{
    (void)state;
    static int16_t streams[] = {1, 127, 128, 32767, -1, -2, -32768};
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        struct fake_server server = {0};
        fake_server_start(&server, serve_unknown_stream, &streams[i]);
        struct client client;
        client_init(&client, &server);
        client_connect(&client);
        client_run_ready(&client);
        struct request request = {0};
        assert_int_equal(request_send(&client, &request, 1, 4), VVCQL_OK);
        client_run_closed(&client);
        assert_int_equal(client.error.status, VVCQL_PROTOCOL);
        assert_non_null(strstr(client.error.message, "I was not asked"));
        assert_int_equal(request.error.status, VVCQL_PROTOCOL);
        assert_true(request.error.outcome_unknown);
        client_deinit(&client);
        fake_server_stop(&server);
    }
}

/* ---- memory ---- */

/* All of a connection's life with the k-th allocation failing. */
static bool live_with_failure(struct fake_server *server, uint64_t k)
{
    struct client client;
    client_init(&client, server);
    client.options.compress = true;
    client.options.want_events = true;
    client.options.heartbeat_ms = 3600000;
    vv_sim_memory_fail(k);
    client.connection = vvcql_connection_create(&client.loop, &client.options);
    if (client.connection == NULL) {
        client.is_closed = true;
    }
    client_run(&client, &client.is_ready);
    struct request request = {0};
    if (!client.is_closed) {
        enum vvcql_status status = request_send(&client, &request, 1, 100000);
        assert_true(status == VVCQL_OK || status == VVCQL_NO_MEMORY);
        if (status == VVCQL_OK) {
            client_run_until(&client, &request.n_done, 1);
        }
    }
    bool failed = vv_sim_memory_failed();
    if (!failed) {
        assert_true(request.has_answer);
    } else if (client.is_closed && client.error.status != VVCQL_OK) {
        assert_int_equal(client.error.status, VVCQL_NO_MEMORY);
    }
    client_deinit(&client);
    return failed;
}

static void test_memory(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_echo, NULL);
    uint64_t k = 1;
    while (live_with_failure(&server, k)) {
        k++;
    }
    assert_true(k > 5);
    fake_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_completes_calls),
        cmocka_unit_test(test_close_while_connecting),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_done_does_more),
        cmocka_unit_test(test_end_does_more),
        cmocka_unit_test(test_close_when_ready),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_unasked_event_is_ignored),
        cmocka_unit_test(test_unknown_stream_closes),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
