/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that is ready: calls, stream ids, heartbeats, compression, backpressure. */
#include "connection_fixture.h"

#define N_CALLS 100

/* ---- ready ---- */

static void test_ready(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    struct request request = {0};
    assert_false(vvcql_connection_is_ready(client.connection));
    assert_int_equal(vvcql_connection_room(client.connection), 0);
    assert_int_equal(request_send(&client, &request, 1, 4), VVCQL_LOST);
    char name[VVCQL_HOST_MAX];
    (void)snprintf(name, sizeof name, "127.0.0.1:%u", server.port);
    assert_string_equal(vvcql_connection_host(client.connection), name);
    client_run_ready(&client);
    assert_int_equal(vvcql_connection_room(client.connection), 128);
    assert_int_equal(request_send(&client, &request, 7, 4), VVCQL_OK);
    assert_int_equal(vvcql_connection_room(client.connection), 127);
    assert_int_equal(vvcql_connection_in_flight(client.connection), 1);
    assert_int_equal(request.n_done, 0);
    client_run_until(&client, &request.n_done, 1);
    assert_true(request.has_answer);
    assert_int_equal(request.opcode, VVCQL_OP_RESULT);
    assert_int_equal(request.first, 7);
    assert_int_equal(vvcql_connection_in_flight(client.connection), 0);
    assert_int_equal(client.n_room, 0);
    assert_int_equal(atomic_load(&client.loop.tally.connections_opened), 1);
    assert_int_equal(atomic_load(&client.loop.tally.bytes_received),
                     3 * VVCQL_FRAME_HEADER_SIZE + 4 + 52);
    client_deinit(&client);
    assert_int_equal(atomic_load(&client.loop.tally.connections_lost), 0);
    fake_server_stop(&server);
}

static void serve_backwards(struct fake_peer *peer)
{
    struct fake_request requests[N_CALLS];
    if (!fake_handshake(peer)) {
        return;
    }
    for (size_t i = 0; i < N_CALLS; i++) {
        if (!fake_expect(peer, VVCQL_OP_QUERY, &requests[i])) {
            return;
        }
    }
    for (size_t i = N_CALLS; i > 0; i--) {
        (void)fake_echo(peer, &requests[i - 1], 4 + i);
    }
    fake_hang(peer);
}

static void test_answers_out_of_order(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_backwards, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_ready(&client);
    struct request requests[N_CALLS] = {0};
    for (uint32_t i = 0; i < N_CALLS; i++) {
        assert_int_equal(request_send(&client, &requests[i], 1000 + i, 4 + i * 50), VVCQL_OK);
    }
    client_run_until(&client, &requests[0].n_done, 1);
    for (uint32_t i = 0; i < N_CALLS; i++) {
        assert_int_equal(requests[i].n_done, 1);
        assert_true(requests[i].has_answer);
        assert_int_equal(requests[i].first, 1000 + i);
        assert_int_equal(requests[i].size, 5 + i);
    }
    client_deinit(&client);
    fake_server_stop(&server);
}

/* An answer far larger than what is read at once. */
static void serve_large(struct fake_peer *peer)
{
    struct fake_request request;
    if (fake_handshake(peer) && fake_expect(peer, VVCQL_OP_QUERY, &request)) {
        (void)fake_echo(peer, &request, 5000000);
    }
    fake_hang(peer);
}

static void test_large_answer(void **state)
{
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        struct fake_server server = {0};
        fake_server_start(&server, serve_large, NULL);
        struct client client;
        client_init(&client, &server);
        client.options.frame_bytes_max = 4999999 + (size_t)allowed;
        client_connect(&client);
        client_run_ready(&client);
        struct request request = {0};
        assert_int_equal(request_send(&client, &request, 3, 4), VVCQL_OK);
        client_run_until(&client, &request.n_done, 1);
        assert_int_equal(request.has_answer, allowed);
        if (allowed == 1) {
            assert_int_equal(request.size, 5000000);
        } else {
            client_run_closed(&client);
            assert_int_equal(client.error.status, VVCQL_PROTOCOL);
            assert_int_equal(request.error.status, VVCQL_PROTOCOL);
            assert_true(request.error.outcome_unknown);
        }
        client_deinit(&client);
        fake_server_stop(&server);
    }
}

/* ---- compression ---- */

static void serve_compressed(struct fake_peer *peer)
{
    struct fake_request request;
    (void)fake_handshake(peer);
    while (fake_expect(peer, VVCQL_OP_QUERY, &request)) {
        (void)fake_echo(peer, &request, request.size);
    }
}

static void exchange_sizes(bool offered, bool wanted)
{
    struct fake_server server = {.no_compression = !offered};
    fake_server_start(&server, serve_compressed, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.compress = wanted;
    client_connect(&client);
    client_run_ready(&client);
    static const size_t sizes[] = {4, 1023, 1024, 300000};
    for (uint32_t i = 0; i < 4; i++) {
        struct request request = {0};
        assert_int_equal(request_send(&client, &request, i, sizes[i]), VVCQL_OK);
        client_run_until(&client, &request.n_done, 1);
        assert_true(request.has_answer);
        assert_int_equal(request.first, i);
        assert_int_equal(request.size, sizes[i]);
        assert_int_equal(request.flags, 0);
        struct fake_request seen = fake_server_request(&server, VVCQL_OP_QUERY, i);
        assert_int_equal(seen.size, sizes[i]);
        assert_int_equal(seen.body[seen.size - 1] != 0, sizes[i] > 64);
        assert_int_equal(seen.flags,
                         offered && wanted && sizes[i] >= 1024 ? VVCQL_FLAG_COMPRESSED : 0);
    }
    uint64_t received = atomic_load(&client.loop.tally.bytes_received);
    assert_int_equal(received < 100000, offered && wanted);
    client_deinit(&client);
    fake_server_stop(&server);
}

static void test_compression(void **state)
{
    (void)state;
    exchange_sizes(true, true);
    exchange_sizes(true, false);
    exchange_sizes(false, true);
}

/* ---- stream ids ---- */

/* Takes four requests; answers the first when the test says so, then echoes. */
static void serve_late(struct fake_peer *peer)
{
    struct fake_request requests[4];
    (void)fake_handshake(peer);
    for (size_t i = 0; i < 4; i++) {
        if (!fake_expect(peer, VVCQL_OP_QUERY, &requests[i])) {
            return;
        }
    }
    if (!fake_wait(peer)) {
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        (void)fake_echo(peer, &requests[i], 4);
    }
    struct fake_request request;
    while (fake_expect(peer, VVCQL_OP_QUERY, &request)) {
        (void)fake_echo(peer, &request, 4);
    }
}

static void test_orphan_keeps_its_id(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_late, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.requests_max = 4;
    client_connect(&client);
    client_run_ready(&client);
    struct request requests[6] = {0};
    assert_int_equal(request_send(&client, &requests[0], 0, 4), VVCQL_OK);
    vvcql_call_abandon(&requests[0].call);
    vvcql_call_abandon(&requests[0].call); /* nothing more happens */
    assert_int_equal(atomic_load(&client.loop.tally.orphans), 1);
    assert_int_equal(vvcql_connection_in_flight(client.connection), 0);
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(request_send(&client, &requests[i], i, 4), VVCQL_OK);
    }
    assert_int_equal(vvcql_connection_room(client.connection), 0);
    assert_int_equal(request_send(&client, &requests[4], 4, 4), VVCQL_OVERLOADED);
    fake_server_let_pass(&server);
    client_run_until(&client, &requests[3].n_done, 1);
    assert_int_equal(requests[0].n_done, 0);
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(requests[i].n_done, 1);
        assert_int_equal(requests[i].first, i);
    }
    assert_int_equal(client.n_room, 1);
    assert_int_equal(atomic_load(&client.loop.tally.orphans), 0);
    assert_int_equal(vvcql_connection_room(client.connection), 4);
    assert_int_equal(request_send(&client, &requests[5], 5, 4), VVCQL_OK);
    client_run_until(&client, &requests[5].n_done, 1);
    assert_int_equal(requests[5].first, 5);
    for (size_t i = 1; i < 4; i++) {
        assert_int_not_equal(fake_server_request(&server, VVCQL_OP_QUERY, i).stream,
                             fake_server_request(&server, VVCQL_OP_QUERY, 0).stream);
    }
    client_deinit(&client);
    fake_server_stop(&server);
}

static void test_half_orphans_close(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_silence, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.requests_max = 6;
    client_connect(&client);
    client_run_ready(&client);
    struct request requests[4] = {0};
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(request_send(&client, &requests[i], i, 4), VVCQL_OK);
    }
    (void)uv_run(&client.loop.uv, UV_RUN_NOWAIT);
    for (size_t i = 0; i < 3; i++) {
        assert_true(vvcql_connection_is_ready(client.connection));
        vvcql_call_abandon(&requests[i].call);
    }
    assert_false(vvcql_connection_is_ready(client.connection));
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_LOST);
    assert_non_null(strstr(client.error.message, "hung"));
    assert_int_equal(requests[2].n_done, 0);
    assert_int_equal(requests[3].n_done, 1);
    assert_int_equal(requests[3].error.status, VVCQL_LOST);
    assert_true(requests[3].error.outcome_unknown);
    assert_int_equal(atomic_load(&client.loop.tally.connections_lost), 1);
    client_deinit(&client);
    fake_server_stop(&server);
}

/* ---- heartbeats ---- */

static void test_heartbeat_keeps_open(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.heartbeat_ms = 3600000;
    client_connect(&client);
    client_run_ready(&client);
    for (size_t i = 2; i < 5; i++) {
        client_pass_silence(&client);
        assert_int_equal(vvcql_connection_in_flight(client.connection), 1);
        while (vvcql_connection_in_flight(client.connection) > 0) {
            (void)uv_run(&client.loop.uv, UV_RUN_ONCE);
        }
        assert_int_equal(fake_server_count(&server, VVCQL_OP_OPTIONS), i);
        /* Bytes came: at the next deadline all is well. */
        client_reach_deadline(&client);
        assert_int_equal(vvcql_connection_in_flight(client.connection), 0);
        assert_true(vvcql_connection_is_ready(client.connection));
    }
    client_deinit(&client);
    fake_server_stop(&server);
}

/* The deadline may come later than it should: what was answered is answered all the same. */
static void test_heartbeat_with_a_late_deadline(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.heartbeat_ms = 3600000;
    client_connect(&client);
    client_run_ready(&client);
    for (size_t i = 2; i < 5; i++) {
        client_pass_silence(&client);
        assert_true(vvcql_connection_is_ready(client.connection));
        assert_int_equal(vvcql_connection_in_flight(client.connection), 1);
        while (vvcql_connection_in_flight(client.connection) > 0) {
            (void)uv_run(&client.loop.uv, UV_RUN_ONCE);
        }
        assert_int_equal(fake_server_count(&server, VVCQL_OP_OPTIONS), i);
    }
    client_deinit(&client);
    fake_server_stop(&server);
}

/* Answers no request but heartbeats. */
static void serve_heartbeats(struct fake_peer *peer)
{
    struct fake_request request;
    while (fake_receive(peer, &request)) {
        (void)fake_answer_common(peer, &request);
    }
}

static void test_heartbeat_with_calls_in_flight(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_heartbeats, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.heartbeat_ms = 3600000;
    client_connect(&client);
    client_run_ready(&client);
    struct request request = {0};
    assert_int_equal(request_send(&client, &request, 1, 4), VVCQL_OK);
    client_pass_silence(&client);
    assert_int_equal(vvcql_connection_in_flight(client.connection), 2);
    while (vvcql_connection_in_flight(client.connection) > 1) {
        (void)uv_run(&client.loop.uv, UV_RUN_ONCE);
    }
    assert_int_equal(request.n_done, 0);
    client_reach_deadline(&client);
    assert_true(vvcql_connection_is_ready(client.connection));
    client_deinit(&client);
    assert_int_equal(request.error.status, VVCQL_CLOSED);
    assert_true(request.error.outcome_unknown);
    fake_server_stop(&server);
}

static void test_silence_closes(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, fake_serve_silence, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.heartbeat_ms = 3600000;
    client.options.requests_max = 2;
    client_connect(&client);
    client_run_ready(&client);
    struct request requests[2] = {0};
    assert_int_equal(request_send(&client, &requests[0], 1, 4), VVCQL_OK);
    assert_int_equal(request_send(&client, &requests[1], 1, 4), VVCQL_OK);
    (void)uv_run(&client.loop.uv, UV_RUN_NOWAIT);
    client_pass_silence(&client); /* no id is free for a heartbeat: the calls stand for it */
    assert_true(vvcql_connection_is_ready(client.connection));
    client_pass_silence(&client);
    assert_false(vvcql_connection_is_ready(client.connection));
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_TIMEOUT);
    assert_non_null(strstr(client.error.message, "silent"));
    assert_int_equal(requests[0].error.status, VVCQL_LOST);
    assert_true(requests[0].error.outcome_unknown);
    client_deinit(&client);
    fake_server_stop(&server);
}

/* ---- backpressure ---- */

#define LARGE_SIZE ((size_t)256 << 10)
#define N_LARGE    512

static void serve_slowly(struct fake_peer *peer)
{
    struct fake_request request;
    if (!fake_handshake(peer) || !fake_wait(peer)) {
        return;
    }
    while (fake_expect(peer, VVCQL_OP_QUERY, &request)) {
        (void)fake_echo(peer, &request, 4);
    }
}

static void test_backpressure(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_slowly, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.requests_max = N_LARGE;
    client_connect(&client);
    client_run_ready(&client);
    struct request *requests = vv_sim_calloc(N_LARGE, sizeof *requests);
    uint32_t n = 0;
    enum vvcql_status status = VVCQL_OK;
    while (status == VVCQL_OK && n < N_LARGE) {
        status = request_send(&client, &requests[n], n, LARGE_SIZE);
        n += status == VVCQL_OK;
        (void)uv_run(&client.loop.uv, UV_RUN_NOWAIT);
    }
    assert_int_equal(status, VVCQL_OVERLOADED);
    assert_true(n >= ((size_t)16 << 20) / LARGE_SIZE - 1 && n < N_LARGE);
    assert_int_equal(vvcql_connection_room(client.connection), 0);
    assert_int_equal(client.n_room, 0);
    fake_server_let_pass(&server);
    client_run_until(&client, &requests[n - 1].n_done, 1);
    assert_true(client.n_room >= 1);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(requests[i].n_done, 1);
        assert_true(requests[i].has_answer);
        assert_int_equal(requests[i].first, i);
    }
    assert_int_equal(vvcql_transport_backlog(client.connection), 0);
    assert_int_equal(vvcql_connection_room(client.connection), N_LARGE);
    assert_true(atomic_load(&client.loop.tally.bytes_sent) >= n * LARGE_SIZE);
    free(requests);
    client_deinit(&client);
    fake_server_stop(&server);
}

/* One request that is more than may wait: room comes back when it is sent. */
static void test_room_after_one_large_request(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_slowly, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_ready(&client);
    struct request request = {0};
    assert_int_equal(request_send(&client, &request, 1, (size_t)40 << 20), VVCQL_OK);
    (void)uv_run(&client.loop.uv, UV_RUN_NOWAIT);
    assert_int_equal(vvcql_connection_room(client.connection), 0);
    struct request other = {0};
    assert_int_equal(request_send(&client, &other, 2, 4), VVCQL_OVERLOADED);
    assert_int_equal(client.n_room, 0);
    fake_server_let_pass(&server);
    client_run_until(&client, &client.n_room, 1);
    assert_int_equal(request_send(&client, &other, 2, 4), VVCQL_OK);
    client_run_until(&client, &other.n_done, 1);
    assert_true(request.has_answer);
    assert_int_equal(client.n_room, 1);
    client_deinit(&client);
    fake_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_answers_out_of_order),
        cmocka_unit_test(test_large_answer),
        cmocka_unit_test(test_compression),
        cmocka_unit_test(test_orphan_keeps_its_id),
        cmocka_unit_test(test_half_orphans_close),
        cmocka_unit_test(test_heartbeat_keeps_open),
        cmocka_unit_test(test_heartbeat_with_a_late_deadline),
        cmocka_unit_test(test_heartbeat_with_calls_in_flight),
        cmocka_unit_test(test_silence_closes),
        cmocka_unit_test(test_backpressure),
        cmocka_unit_test(test_room_after_one_large_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
