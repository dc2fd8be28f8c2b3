/* SPDX-License-Identifier: Apache-2.0 */
/* Every fault of a host or the network, at every step of the handshake and of a request. */
#include "connection_fixture.h"

enum fault {
    FAULT_HEADER_TORN, /* part of a header, then closed */
    FAULT_BODY_TORN,   /* a header and part of its body, then closed */
    FAULT_HALF_HANG,   /* the same, then nothing any more */
    FAULT_HANG,
    FAULT_CLOSE,
    FAULT_RESET,
    FAULT_LENGTH,     /* a length that is far too large */
    FAULT_VERSION,    /* the right answer of another version */
    FAULT_DIRECTION,  /* a request instead of an answer */
    FAULT_COMPRESSED, /* marked as compressed, and isn't */
    FAULT_NOISE,
    N_FAULTS,
};

static const char *const fault_names[] = {
    "header torn", "body torn", "half, then hang", "hang",       "close", "reset",
    "length",      "version",   "direction",       "compressed", "noise"};

static const uint8_t steps[] = {VVCQL_OP_OPTIONS, VVCQL_OP_STARTUP, VVCQL_OP_AUTH_RESPONSE,
                                VVCQL_OP_REGISTER, VVCQL_OP_QUERY};

struct plan {
    uint8_t at; /* the request's opcode; heartbeats are left unanswered from then on */
    enum fault fault;
};

/* A frame's header on the request's stream. */
static void send_header(struct fake_peer *peer, int16_t stream, uint8_t version, uint8_t flags,
                        uint32_t size, size_t bytes)
{
    struct vvcql_buffer header = {0};
    vvcql_write_u8(&header, version);
    vvcql_write_u8(&header, flags);
    vvcql_write_u16(&header, (uint16_t)stream);
    vvcql_write_u8(&header, VVCQL_OP_ERROR);
    vvcql_write_u32(&header, size);
    (void)fake_send(peer, header.data, bytes);
    vvcql_buffer_deinit(&header);
}

static void send_frame(struct fake_peer *peer, int16_t stream, uint8_t version, uint8_t flags)
{
    static const uint8_t body[] = {0, 0, 0, 0x0A, 0, 2, 'n', 'o'};
    send_header(peer, stream, version, flags, sizeof body, VVCQL_FRAME_HEADER_SIZE);
    (void)fake_send(peer, body, sizeof body);
}

static void send_half(struct fake_peer *peer, int16_t stream)
{
    send_header(peer, stream, 0x84, 0, 100, VVCQL_FRAME_HEADER_SIZE);
    (void)fake_send(peer, "half", 4);
}

static void send_noise(struct fake_peer *peer)
{
    uint64_t state = 88172645463325252u;
    uint8_t noise[1000];
    for (size_t i = 0; i < sizeof noise; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        noise[i] = (uint8_t)(state >> 32);
    }
    noise[0] = 0x84; /* so that more than the first byte is looked at */
    (void)fake_send(peer, noise, sizeof noise);
}

static void do_fault(struct fake_peer *peer, enum fault fault, int16_t stream)
{
    switch (fault) {
    case FAULT_HEADER_TORN:
        send_header(peer, stream, 0x84, 0, 10, 5);
        break;
    case FAULT_BODY_TORN:
        send_half(peer, stream);
        break;
    case FAULT_HALF_HANG:
        send_half(peer, stream);
        fake_hang(peer);
        break;
    case FAULT_HANG:
        fake_hang(peer);
        break;
    case FAULT_RESET:
        fake_reset(peer);
        break;
    case FAULT_LENGTH:
        send_header(peer, stream, 0x84, 0, UINT32_MAX, VVCQL_FRAME_HEADER_SIZE);
        fake_hang(peer);
        break;
    case FAULT_VERSION:
        send_frame(peer, stream, 0x86, 0);
        fake_hang(peer);
        break;
    case FAULT_DIRECTION:
        send_frame(peer, stream, 0x04, 0);
        fake_hang(peer);
        break;
    case FAULT_COMPRESSED:
        send_frame(peer, stream, 0x84, VVCQL_FLAG_COMPRESSED);
        fake_hang(peer);
        break;
    case FAULT_NOISE:
        send_noise(peer);
        fake_hang(peer);
        break;
    default:
        break;
    }
}

static void serve_plan(struct fake_peer *peer)
{
    const struct plan *plan = peer->context;
    struct fake_request request;
    while (fake_receive(peer, &request)) {
        if (request.opcode == plan->at) {
            do_fault(peer, plan->fault, request.stream);
            return;
        }
        if (!fake_answer_common(peer, &request)) {
            fake_fail(peer, "opcode 0x%02x came", request.opcode);
        }
    }
}

static enum vvcql_status expected_status(enum fault fault)
{
    switch (fault) {
    case FAULT_HEADER_TORN:
    case FAULT_BODY_TORN:
    case FAULT_CLOSE:
    case FAULT_RESET:
        return VVCQL_LOST;
    case FAULT_HANG:
    case FAULT_HALF_HANG:
        return VVCQL_TIMEOUT;
    default:
        return VVCQL_PROTOCOL;
    }
}

static void assert_outcome(const struct plan *plan, const struct client *client,
                           const struct request *request)
{
    enum vvcql_status expected = expected_status(plan->fault);
    if (client->error.status != expected) {
        fail_msg("%s after 0x%02x: %s: %s", fault_names[plan->fault], plan->at,
                 vvcql_status_name(client->error.status), client->error.message);
    }
    assert_non_null(strchr(client->error.message, ' '));
    assert_int_equal(client->error.code, VVCQL_CODE_NONE);
    assert_int_equal(client->n_ready, plan->at == VVCQL_OP_QUERY);
    assert_int_equal(request->n_done, plan->at == VVCQL_OP_QUERY);
    if (plan->at == VVCQL_OP_QUERY) {
        assert_false(request->has_answer);
        assert_true(request->error.outcome_unknown);
        assert_int_equal(request->error.status, expected == VVCQL_TIMEOUT ? VVCQL_LOST : expected);
    }
}

static void try_fault(const struct plan *plan)
{
    struct fake_server server = {.authenticator = "A", .user = "u", .password = "p"};
    struct plan copy = *plan;
    fake_server_start(&server, serve_plan, &copy);
    struct client client;
    client_init(&client, &server);
    client.options.user = "u";
    client.options.password = "p";
    client.options.want_events = true;
    bool hangs = expected_status(plan->fault) == VVCQL_TIMEOUT;
    if (hangs && plan->at == VVCQL_OP_QUERY) {
        client.options.heartbeat_ms = 25;
    } else if (hangs) {
        client.options.connect_timeout_ms = 60;
    }
    client_connect(&client);
    client_run(&client, &client.is_ready);
    struct request request = {0};
    if (plan->at == VVCQL_OP_QUERY) {
        assert_int_equal(request_send(&client, &request, 1, 4), VVCQL_OK);
    }
    client_run_closed(&client);
    assert_outcome(plan, &client, &request);
    client_deinit(&client);
    fake_server_stop(&server);
}

static void test_all_faults_at_all_steps(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof steps; at++) {
        for (int fault = 0; fault < N_FAULTS; fault++) {
            try_fault(&(struct plan){.at = steps[at], .fault = (enum fault)fault});
        }
    }
}

/* A host that takes connections and says nothing at all. */
static void test_connect_timeout(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_plan,
                      &(struct plan){.at = VVCQL_OP_OPTIONS, .fault = FAULT_HANG});
    struct client client;
    client_init(&client, &server);
    client.options.connect_timeout_ms = 30;
    client_connect(&client);
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_TIMEOUT);
    assert_non_null(strstr(client.error.message, "within 30 ms"));
    client_deinit(&client);
    fake_server_stop(&server);
}

/* ---- what the host said before it closed ---- */

static void serve_last_words(struct fake_peer *peer)
{
    struct fake_request request;
    if (fake_handshake(peer) && fake_expect(peer, VVCQL_OP_QUERY, &request)) {
        (void)fake_answer_error(peer, request.stream, VVCQL_CODE_OVERLOADED, "closing down");
    }
    /* With bytes of the client unread, this is a reset. */
}

static void test_answer_before_close_is_taken(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_last_words, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_ready(&client);
    struct request requests[2] = {0};
    assert_int_equal(request_send(&client, &requests[0], 1, 4), VVCQL_OK);
    assert_int_equal(request_send(&client, &requests[1], 2, 4), VVCQL_OK);
    client_run_closed(&client);
    assert_true(requests[0].has_answer);
    assert_int_equal(requests[0].opcode, VVCQL_OP_ERROR);
    assert_false(requests[1].has_answer);
    assert_int_equal(requests[1].error.status, VVCQL_LOST);
    assert_true(requests[1].error.outcome_unknown);
    client_deinit(&client);
    fake_server_stop(&server);
}

static void serve_words_then_reset(struct fake_peer *peer)
{
    struct fake_request request;
    if (fake_handshake(peer) && fake_expect(peer, VVCQL_OP_QUERY, &request)) {
        (void)fake_answer_error(peer, request.stream, VVCQL_CODE_OVERLOADED, "closing down");
    }
    fake_reset(peer);
}

/* As the loop does before it waits. */
static void flush(struct client *client)
{
    client->loop.dirty = NULL;
    vvcql_connection_flush(client->connection);
}

/* The client finds that it can't write before it reads what came. */
static void test_answer_before_reset_is_taken(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_words_then_reset, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_ready(&client);
    struct request requests[2] = {0};
    assert_int_equal(request_send(&client, &requests[0], 1, 4), VVCQL_OK);
    flush(&client);
    fake_server_wait_closed(&server);
    assert_int_equal(request_send(&client, &requests[1], 2, 4), VVCQL_OK);
    flush(&client);
    assert_false(vvcql_connection_is_ready(client.connection));
    client_run_closed(&client);
    assert_true(requests[0].has_answer);
    assert_int_equal(requests[0].opcode, VVCQL_OP_ERROR);
    assert_int_equal(requests[1].error.status, VVCQL_LOST);
    assert_int_equal(client.error.status, VVCQL_LOST);
    client_deinit(&client);
    fake_server_stop(&server);
}

/* The host closes while much waits to be sent: what was not handed over is known not to be done. */
static void serve_until_let_pass(struct fake_peer *peer)
{
    if (fake_handshake(peer)) {
        (void)fake_wait(peer);
    }
    fake_reset(peer);
}

static void test_reset_under_backlog(void **state)
{
    (void)state;
    struct fake_server server = {0};
    fake_server_start(&server, serve_until_let_pass, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.requests_max = 512;
    client_connect(&client);
    client_run_ready(&client);
    struct request *requests = vv_sim_calloc(512, sizeof *requests);
    uint32_t n = 0;
    while (n < 512 && request_send(&client, &requests[n], n, (size_t)256 << 10) == VVCQL_OK) {
        n++;
        (void)uv_run(&client.loop.uv, UV_RUN_NOWAIT);
    }
    assert_true(n > 1 && n < 512);
    fake_server_let_pass(&server);
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_LOST);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(requests[i].n_done, 1);
        assert_int_equal(requests[i].error.status, VVCQL_LOST);
    }
    assert_true(requests[0].error.outcome_unknown);
    assert_false(requests[n - 1].error.outcome_unknown);
    free(requests);
    client_deinit(&client);
    fake_server_stop(&server);
}

/* ---- answers in pieces ---- */

static void test_pieces(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 8, 9, 10, 17};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct fake_server server = {.piece = pieces[i]};
        fake_server_start(&server, fake_serve_echo, NULL);
        struct client client;
        client_init(&client, &server);
        client_connect(&client);
        client_run_ready(&client);
        struct request requests[5] = {0};
        for (uint32_t k = 0; k < 5; k++) {
            assert_int_equal(request_send(&client, &requests[k], k, 4 + 100 * k), VVCQL_OK);
        }
        client_run_until(&client, &requests[4].n_done, 1);
        for (uint32_t k = 0; k < 5; k++) {
            assert_int_equal(requests[k].first, k);
            assert_int_equal(requests[k].size, 4 + 100 * k);
        }
        client_deinit(&client);
        fake_server_stop(&server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_faults_at_all_steps),
        cmocka_unit_test(test_connect_timeout),
        cmocka_unit_test(test_answer_before_close_is_taken),
        cmocka_unit_test(test_answer_before_reset_is_taken),
        cmocka_unit_test(test_reset_under_backlog),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
