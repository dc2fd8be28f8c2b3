/* SPDX-License-Identifier: Apache-2.0 */
/* From the first frame to READY, and what is said when it does not come to that. */
#include "connection_fixture.h"

/* What a server does at one request; it answers the others as it should. */
struct turn {
    uint8_t at; /* the request's opcode */
    bool (*answer)(struct fake_peer *peer, const struct fake_request *request);
    const void *data; /* for the function */
    size_t size;
    uint8_t opcode;
    int16_t stream;
    int32_t code;
};

static void serve_turn(struct fake_peer *peer)
{
    const struct turn *turn = peer->context;
    struct fake_request request;
    while (fake_receive(peer, &request)) {
        bool is_known = request.opcode == turn->at ? turn->answer(peer, &request)
                                                   : fake_answer_common(peer, &request);
        if (!is_known) {
            fake_fail(peer, "opcode 0x%02x came", request.opcode);
        }
    }
}

static bool answer_bytes(struct fake_peer *peer, const struct fake_request *request)
{
    (void)request;
    const struct turn *turn = peer->context;
    (void)fake_send(peer, turn->data, turn->size);
    return true;
}

static bool answer_opcode(struct fake_peer *peer, const struct fake_request *request)
{
    (void)request;
    const struct turn *turn = peer->context;
    (void)fake_answer_empty(peer, turn->stream, turn->opcode);
    return true;
}

static bool answer_error(struct fake_peer *peer, const struct fake_request *request)
{
    (void)request;
    const struct turn *turn = peer->context;
    (void)fake_answer_error(peer, turn->stream, turn->code, turn->data);
    return true;
}

static void serve_common(struct fake_peer *peer)
{
    peer->context = &(struct turn){.at = 0xFF};
    serve_turn(peer);
}

/* Connects to the server, which is stopped at the end, and gives why the connection was closed. */
static struct vvcql_error failure_of(struct fake_server *server, bool has_user)
{
    struct client client;
    client_init(&client, server);
    client.options.user = has_user ? "varve" : NULL;
    client.options.password = has_user ? "secret" : NULL;
    client.options.want_events = true;
    client_connect(&client);
    client_run_closed(&client);
    struct vvcql_error error = client.error;
    assert_int_equal(client.n_ready, 0);
    assert_int_equal(atomic_load(&client.loop.tally.connections_opened), 0);
    char name[VVCQL_HOST_MAX];
    (void)snprintf(name, sizeof name, "127.0.0.1:%u", server->port);
    assert_string_equal(error.host, name);
    assert_false(error.outcome_unknown);
    client_deinit(&client);
    fake_server_stop(server);
    return error;
}

static struct vvcql_error failure_at(const struct turn *turn)
{
    struct fake_server server = {.authenticator = "org.apache.cassandra.auth.PasswordAuthenticator",
                                 .user = "varve",
                                 .password = "secret"};
    struct turn copy = *turn;
    fake_server_start(&server, serve_turn, &copy);
    return failure_of(&server, true);
}

/* ---- success ---- */

static void assert_opcodes(struct fake_server *server, const uint8_t *opcodes, size_t n)
{
    assert_int_equal(fake_server_count(server, FAKE_ANY), n);
    for (size_t i = 0; i < n; i++) {
        struct fake_request request = fake_server_request(server, FAKE_ANY, i);
        assert_int_equal(request.opcode, opcodes[i]);
        assert_int_equal(request.stream, 0);
        assert_int_equal(request.flags, 0);
    }
}

/* Connects and closes again; pieces: how the server sends. */
static void connect_well(struct fake_server *server, bool compress, bool want_events, size_t piece)
{
    server->piece = piece;
    fake_server_start(server, serve_common, NULL);
    struct client client;
    client_init(&client, server);
    client.options.compress = compress;
    client.options.want_events = want_events;
    client.options.user = server->user;
    client.options.password = server->password;
    client_connect(&client);
    client_run_ready(&client);
    assert_int_equal(vvcql_connection_room(client.connection), 128);
    client_deinit(&client);
    assert_int_equal(client.n_ready, 1);
}

static void test_plain(void **state)
{
    (void)state;
    struct fake_server server = {0};
    connect_well(&server, false, false, 0);
    assert_opcodes(&server, (const uint8_t[]){VVCQL_OP_OPTIONS, VVCQL_OP_STARTUP}, 2);
    struct fake_request startup = fake_server_request(&server, VVCQL_OP_STARTUP, 0);
    assert_true(fake_request_holds(&startup, "CQL_VERSION"));
    assert_true(fake_request_holds(&startup, "3.0.0"));
    assert_true(fake_request_holds(&startup, "DRIVER_NAME"));
    assert_false(fake_request_holds(&startup, "COMPRESSION"));
    assert_int_equal(fake_server_request(&server, VVCQL_OP_OPTIONS, 0).size, 0);
    fake_server_stop(&server);
}

static void test_compression_is_asked_for(void **state)
{
    (void)state;
    for (int offered = 0; offered < 2; offered++) {
        struct fake_server server = {.no_compression = offered == 0};
        connect_well(&server, true, false, 0);
        struct fake_request startup = fake_server_request(&server, VVCQL_OP_STARTUP, 0);
        assert_int_equal(fake_request_holds(&startup, "COMPRESSION"), offered);
        fake_server_stop(&server);
    }
}

static void test_password_and_events(void **state)
{
    (void)state;
    static const size_t pieces[] = {0, 1, 2, 7};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        struct fake_server server = {.authenticator = "PasswordAuthenticator",
                                     .user = "varve",
                                     .password = "s\xC3\xA9same \"'"};
        connect_well(&server, true, true, pieces[i]);
        static const uint8_t opcodes[] = {VVCQL_OP_OPTIONS, VVCQL_OP_STARTUP,
                                          VVCQL_OP_AUTH_RESPONSE, VVCQL_OP_REGISTER};
        assert_opcodes(&server, opcodes, 4);
        struct fake_request events = fake_server_request(&server, VVCQL_OP_REGISTER, 0);
        assert_true(fake_request_holds(&events, "TOPOLOGY_CHANGE"));
        fake_server_stop(&server);
    }
}

/* Users that are given where none is asked for. */
static void test_password_is_not_asked_for(void **state)
{
    (void)state;
    struct fake_server server = {.user = "varve", .password = "secret"};
    connect_well(&server, false, true, 0);
    assert_opcodes(&server,
                   (const uint8_t[]){VVCQL_OP_OPTIONS, VVCQL_OP_STARTUP, VVCQL_OP_REGISTER}, 3);
    fake_server_stop(&server);
}

/* A warning stands before the content. */
static bool answer_with_warning(struct fake_peer *peer, const struct fake_request *request)
{
    struct vvcql_buffer body = {0};
    vvcql_write_u16(&body, 1);
    vvcql_write_string(&body, "old");
    fake_put_supported(&body, true);
    struct vvcql_buffer frame = {0};
    fake_put_frame(&frame, VVCQL_FLAG_WARNING, request->stream, VVCQL_OP_SUPPORTED, &body, false);
    (void)fake_send(peer, frame.data, frame.size);
    vvcql_buffer_deinit(&body);
    vvcql_buffer_deinit(&frame);
    return true;
}

static void test_warning(void **state)
{
    (void)state;
    struct turn turn = {.at = VVCQL_OP_OPTIONS, .answer = answer_with_warning};
    struct fake_server server = {0};
    fake_server_start(&server, serve_turn, &turn);
    struct client client;
    client_init(&client, &server);
    client.options.compress = true;
    client_connect(&client);
    client_run_ready(&client);
    struct fake_request startup = fake_server_request(&server, VVCQL_OP_STARTUP, 0);
    assert_true(fake_request_holds(&startup, "lz4"));
    client_deinit(&client);
    fake_server_stop(&server);
}

/* ---- authentication ---- */

static void test_wrong_password(void **state)
{
    (void)state;
    struct fake_server server = {
        .authenticator = "PasswordAuthenticator", .user = "varve", .password = "other"};
    fake_server_start(&server, serve_common, NULL);
    struct vvcql_error error = failure_of(&server, true);
    assert_int_equal(error.status, VVCQL_REFUSED);
    assert_int_equal(error.code, VVCQL_CODE_BAD_CREDENTIALS);
    assert_non_null(strstr(error.message, "Provided username and/or password are incorrect"));
}

static void test_no_user(void **state)
{
    (void)state;
    struct fake_server server = {
        .authenticator = "com.example.TheirAuthenticator", .user = "", .password = ""};
    fake_server_start(&server, serve_common, NULL);
    struct vvcql_error error = failure_of(&server, false);
    assert_int_equal(error.status, VVCQL_REFUSED);
    assert_non_null(strstr(error.message, "needs user and password"));
    assert_non_null(strstr(error.message, "com.example.TheirAuthenticator"));
}

static void test_challenge(void **state)
{
    (void)state;
    struct vvcql_error error = failure_at(&(struct turn){
        .at = VVCQL_OP_AUTH_RESPONSE, .answer = answer_opcode, .opcode = VVCQL_OP_AUTH_CHALLENGE});
    assert_int_equal(error.status, VVCQL_REFUSED);
    assert_non_null(strstr(error.message, "SASL PLAIN"));
}

/* ---- other servers ---- */

static void test_other_versions(void **state)
{
    (void)state;
    struct vvcql_error error =
        failure_at(&(struct turn){.at = VVCQL_OP_OPTIONS,
                                  .answer = answer_error,
                                  .code = VVCQL_CODE_PROTOCOL_ERROR,
                                  .data = "Invalid or unsupported protocol version (4)"});
    assert_int_equal(error.status, VVCQL_PROTOCOL);
    assert_non_null(strstr(error.message, "unsupported protocol version (4)"));
    static const struct {
        uint8_t version;
        const char *text;
    } versions[] = {{0x83, "version 3"}, {0x85, "version 5"}, {0x82, "version 2"}};
    for (size_t i = 0; i < 3; i++) {
        uint8_t frame[] = {versions[i].version,
                           0,
                           0,
                           0,
                           VVCQL_OP_ERROR,
                           0,
                           0,
                           0,
                           9,
                           0,
                           0,
                           0,
                           0x0A,
                           0,
                           3,
                           'o',
                           'l',
                           'd'};
        error = failure_at(&(struct turn){
            .at = VVCQL_OP_OPTIONS, .answer = answer_bytes, .data = frame, .size = sizeof frame});
        assert_int_equal(error.status, VVCQL_PROTOCOL);
        assert_non_null(strstr(error.message, versions[i].text));
        assert_non_null(strstr(error.message, "version 4 is needed"));
    }
}

static void test_strangers(void **state)
{
    (void)state;
    static const char *const answers[] = {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-x\r\n",
                                          "\x15\x03\x01\x00\x02\x02\x46"};
    for (size_t i = 0; i < 3; i++) {
        struct vvcql_error error = failure_at(&(struct turn){
            .at = VVCQL_OP_OPTIONS, .answer = answer_bytes, .data = answers[i], .size = 7});
        assert_int_equal(error.status, VVCQL_PROTOCOL);
        assert_non_null(strstr(error.message, "check address, port and TLS"));
    }
}

/* ---- ERROR, and answers to other requests ---- */

static const uint8_t steps[] = {VVCQL_OP_OPTIONS, VVCQL_OP_STARTUP, VVCQL_OP_AUTH_RESPONSE,
                                VVCQL_OP_REGISTER};

static void test_errors(void **state)
{
    (void)state;
    static const struct {
        int32_t code;
        enum vvcql_status status;
    } errors[] = {{VVCQL_CODE_BAD_CREDENTIALS, VVCQL_REFUSED},
                  {VVCQL_CODE_UNAUTHORIZED, VVCQL_REFUSED},
                  {VVCQL_CODE_PROTOCOL_ERROR, VVCQL_PROTOCOL},
                  {VVCQL_CODE_SERVER_ERROR, VVCQL_LOST},
                  {VVCQL_CODE_IS_BOOTSTRAPPING, VVCQL_LOST},
                  {VVCQL_CODE_OVERLOADED, VVCQL_LOST},
                  {0x7777, VVCQL_LOST}};
    static const int16_t streams[] = {0, 1, -1}; /* of a broken request the stream isn't known */
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        for (size_t at = 0; at < sizeof steps; at++) {
            struct vvcql_error error = failure_at(&(struct turn){.at = steps[at],
                                                                 .answer = answer_error,
                                                                 .stream = streams[i % 3],
                                                                 .code = errors[i].code,
                                                                 .data = "said the server"});
            assert_int_equal(error.status, errors[i].status);
            assert_int_equal(error.code, errors[i].code);
            assert_non_null(strstr(error.message, "said the server"));
        }
    }
}

static bool is_answer_at(uint8_t at, uint8_t opcode)
{
    return opcode == VVCQL_OP_ERROR || (at == VVCQL_OP_OPTIONS && opcode == VVCQL_OP_SUPPORTED) ||
           (at == VVCQL_OP_STARTUP &&
            (opcode == VVCQL_OP_READY || opcode == VVCQL_OP_AUTHENTICATE)) ||
           (at == VVCQL_OP_AUTH_RESPONSE &&
            (opcode == VVCQL_OP_AUTH_SUCCESS || opcode == VVCQL_OP_AUTH_CHALLENGE)) ||
           (at == VVCQL_OP_REGISTER && opcode == VVCQL_OP_READY);
}

static void test_unexpected_answers(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof steps; at++) {
        for (uint8_t opcode = 0; opcode < 0x12; opcode++) {
            if (is_answer_at(steps[at], opcode)) {
                continue;
            }
            struct vvcql_error error = failure_at(
                &(struct turn){.at = steps[at], .answer = answer_opcode, .opcode = opcode});
            assert_int_equal(error.status, VVCQL_PROTOCOL);
            assert_non_null(strstr(error.message, "instead of an answer to"));
        }
    }
}

/* The right answer on a stream that wasn't used. */
static void test_wrong_stream(void **state)
{
    (void)state;
    static const uint8_t answers[] = {VVCQL_OP_SUPPORTED, VVCQL_OP_READY, VVCQL_OP_AUTH_SUCCESS,
                                      VVCQL_OP_READY};
    static const int16_t streams[] = {1, -1, 32767};
    for (size_t at = 0; at < sizeof steps; at++) {
        for (size_t i = 0; i < 3; i++) {
            struct vvcql_error error = failure_at(&(struct turn){.at = steps[at],
                                                                 .answer = answer_opcode,
                                                                 .opcode = answers[at],
                                                                 .stream = streams[i]});
            assert_int_equal(error.status, VVCQL_PROTOCOL);
        }
    }
}

/* Opcodes that are right, with bodies that are not. */
static void test_empty_bodies(void **state)
{
    (void)state;
    struct vvcql_error error = failure_at(&(struct turn){
        .at = VVCQL_OP_OPTIONS, .answer = answer_opcode, .opcode = VVCQL_OP_SUPPORTED});
    assert_int_equal(error.status, VVCQL_PROTOCOL);
    error = failure_at(&(struct turn){
        .at = VVCQL_OP_STARTUP, .answer = answer_opcode, .opcode = VVCQL_OP_AUTHENTICATE});
    assert_int_equal(error.status, VVCQL_PROTOCOL);
    for (size_t at = 0; at < sizeof steps; at++) {
        error = failure_at(
            &(struct turn){.at = steps[at], .answer = answer_opcode, .opcode = VVCQL_OP_ERROR});
        assert_int_equal(error.status, VVCQL_PROTOCOL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_compression_is_asked_for),
        cmocka_unit_test(test_password_and_events),
        cmocka_unit_test(test_password_is_not_asked_for),
        cmocka_unit_test(test_warning),
        cmocka_unit_test(test_wrong_password),
        cmocka_unit_test(test_no_user),
        cmocka_unit_test(test_challenge),
        cmocka_unit_test(test_other_versions),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_unexpected_answers),
        cmocka_unit_test(test_wrong_stream),
        cmocka_unit_test(test_empty_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
