/* SPDX-License-Identifier: Apache-2.0 */
/* Connections over TLS: what is trusted, what is refused, and what is said then. */
#include "certificates.h"
#include "connection_fixture.h"

static struct {
    char folder[64];
    struct identity authority;
    struct identity other_authority;
    struct identity server; /* for 127.0.0.1 and db.example */
    struct identity client;
} all;

static const char *path_of(const char *name)
{
    static char paths[16][128]; /* more than a test uses at a time */
    static size_t at;
    char *path = paths[at++ % 16];
    (void)snprintf(path, sizeof paths[0], "%s/%s", all.folder, name);
    return path;
}

static int make_all(void **state)
{
    (void)state;
    (void)snprintf(all.folder, sizeof all.folder, "/tmp/varve-test-tls-XXXXXX");
    assert_non_null(mkdtemp(all.folder));
    all.authority = make_identity("authority", NULL, NULL, -1, 10);
    all.other_authority = make_identity("other authority", NULL, NULL, -1, 10);
    all.server =
        make_identity("server", &all.authority, "IP:127.0.0.1,IP:::1,DNS:db.example", -1, 10);
    all.client = make_identity("client", &all.authority, "DNS:client", -1, 10);
    write_pem(all.folder, "ca.pem", all.authority.certificate, NULL, NULL);
    write_pem(all.folder, "other-ca.pem", all.other_authority.certificate, NULL, NULL);
    write_pem(all.folder, "client.pem", all.client.certificate, NULL, NULL);
    write_pem(all.folder, "client.key", NULL, all.client.key, NULL);
    write_pem(all.folder, "locked.key", NULL, all.client.key, "open sesame");
    write_pem(all.folder, "empty.pem", NULL, NULL, NULL);
    struct identity expired = make_identity("expired", &all.authority, "DNS:client", -9, -2);
    write_pem(all.folder, "expired.pem", expired.certificate, NULL, NULL);
    write_pem(all.folder, "expired.key", NULL, expired.key, NULL);
    free_identity(&expired);
    struct identity stranger =
        make_identity("stranger", &all.other_authority, "DNS:client", -1, 10);
    write_pem(all.folder, "stranger.pem", stranger.certificate, NULL, NULL);
    write_pem(all.folder, "stranger.key", NULL, stranger.key, NULL);
    free_identity(&stranger);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    static const char *const files[] = {
        "ca.pem",    "other-ca.pem", "client.pem",  "client.key",   "locked.key",
        "empty.pem", "expired.pem",  "expired.key", "stranger.pem", "stranger.key"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        (void)unlink(path_of(files[i]));
    }
    (void)rmdir(all.folder);
    free_identity(&all.authority);
    free_identity(&all.other_authority);
    free_identity(&all.server);
    free_identity(&all.client);
    return 0;
}

static struct vvcql_tls_options trusting(void)
{
    return (struct vvcql_tls_options){.enabled = true, .ca_file = path_of("ca.pem")};
}

static struct vvcql_tls_context *make_context(const struct vvcql_tls_options *options)
{
    struct vvcql_tls_context *context;
    struct vvcql_error error;
    if (vvcql_tls_context_create(options, &context, &error) != VVCQL_OK) {
        fail_msg("%s", error.message);
    }
    return context;
}

/* ---- accepted ---- */

struct attempt {
    const struct identity *server;
    const struct identity *client_authority; /* the server wants a client's certificate */
    int version_max;                         /* of the server; 0: any */
    struct vvcql_tls_options options;
    const char *name;
};

static SSL_CTX *server_tls(const struct attempt *attempt)
{
    SSL_CTX *tls = make_server_tls(attempt->server, attempt->client_authority);
    if (attempt->version_max != 0) {
        assert_int_equal(SSL_CTX_set_max_proto_version(tls, attempt->version_max), 1);
        assert_int_equal(SSL_CTX_set_cipher_list(tls, "ALL:@SECLEVEL=0"), 1);
    }
    return tls;
}

static void assert_accepted(const struct attempt *attempt)
{
    SSL_CTX *tls = server_tls(attempt);
    struct fake_server server = {.tls = tls};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct vvcql_tls_context *context = make_context(&attempt->options);
    struct client client;
    client_init(&client, &server);
    client.options.tls = context;
    client.options.name = attempt->name;
    client_connect(&client);
    client_run_ready(&client);
    struct request requests[3] = {0};
    static const size_t sizes[] = {4, 20000, 3000000};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(request_send(&client, &requests[i], i, sizes[i]), VVCQL_OK);
    }
    client_run_until(&client, &requests[2].n_done, 1);
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(requests[i].has_answer);
        assert_int_equal(requests[i].first, i);
        assert_int_equal(requests[i].size, sizes[i]);
        struct fake_request seen = fake_server_request(&server, VVCQL_OP_QUERY, i);
        assert_int_equal(seen.body[seen.size - 1], (uint8_t)(i == 0 ? 0 : (sizes[i] - 1) / 64));
    }
    client_deinit(&client);
    fake_server_stop(&server);
    vvcql_tls_context_destroy(context);
    SSL_CTX_free(tls);
}

static void test_accepted(void **state)
{
    (void)state;
    struct attempt attempt = {.server = &all.server, .options = trusting()};
    assert_accepted(&attempt);
    attempt.version_max = TLS1_2_VERSION;
    assert_accepted(&attempt);
    attempt.name = "db.example";
    assert_accepted(&attempt);
    attempt.name = "elsewhere.example"; /* the address is right */
    assert_accepted(&attempt);
}

static void test_accepted_by_name(void **state)
{
    (void)state;
    struct identity named = make_identity("named", &all.authority, "DNS:db.example", -1, 10);
    struct attempt attempt = {.server = &named, .options = trusting(), .name = "db.example"};
    assert_accepted(&attempt);
    attempt.name = NULL;
    attempt.options.skip_name_check = true;
    assert_accepted(&attempt);
    free_identity(&named);
}

static void test_accepted_with_client_certificate(void **state)
{
    (void)state;
    struct attempt attempt = {
        .server = &all.server, .client_authority = &all.authority, .options = trusting()};
    attempt.options.certificate_file = path_of("client.pem");
    attempt.options.key_file = path_of("client.key");
    assert_accepted(&attempt);
    attempt.version_max = TLS1_2_VERSION;
    assert_accepted(&attempt);
    attempt.options.key_file = path_of("locked.key");
    attempt.options.key_password = "open sesame";
    assert_accepted(&attempt);
}

/* ---- refused ---- */

static struct vvcql_error failure_of(struct fake_server *server, fake_serve serve,
                                     const struct attempt *attempt)
{
    fake_server_start(server, serve, NULL);
    struct vvcql_tls_context *context = make_context(&attempt->options);
    struct client client;
    client_init(&client, server);
    client.options.tls = context;
    client.options.name = attempt->name;
    client_connect(&client);
    client_run_closed(&client);
    assert_int_equal(client.n_ready, 0);
    struct vvcql_error error = client.error;
    client_deinit(&client);
    fake_server_stop(server);
    vvcql_tls_context_destroy(context);
    return error;
}

static void assert_refused(const struct attempt *attempt, const char *text)
{
    SSL_CTX *tls = server_tls(attempt);
    struct fake_server server = {.tls = tls};
    struct vvcql_error error = failure_of(&server, fake_serve_echo, attempt);
    SSL_CTX_free(tls);
    if (error.status != VVCQL_REFUSED || strstr(error.message, text) == NULL) {
        fail_msg("not '%s': %s: %s", text, vvcql_status_name(error.status), error.message);
    }
    assert_non_null(strstr(error.message, "127.0.0.1"));
}

static void test_refused_authority(void **state)
{
    (void)state;
    struct attempt attempt = {.server = &all.server, .options = trusting()};
    attempt.options.ca_file = path_of("other-ca.pem");
    assert_refused(&attempt, "signed by an authority that is not in ");
    assert_refused(&attempt, "/other-ca.pem");
    attempt.options.skip_name_check = true; /* of names only */
    assert_refused(&attempt, "/other-ca.pem");
    attempt.options.ca_file = NULL;
    assert_refused(&attempt, "the system's list");
    struct identity lonely = make_identity("lonely", NULL, "IP:127.0.0.1", -1, 10);
    attempt = (struct attempt){.server = &lonely, .options = trusting()};
    assert_refused(&attempt, "signed by an authority that is not in ");
    free_identity(&lonely);
}

static void test_refused_time(void **state)
{
    (void)state;
    struct identity expired = make_identity("expired", &all.authority, "IP:127.0.0.1", -9, -2);
    struct attempt attempt = {.server = &expired, .options = trusting()};
    assert_refused(&attempt, "has expired");
    free_identity(&expired);
    struct identity early = make_identity("early", &all.authority, "IP:127.0.0.1", 2, 9);
    attempt.server = &early;
    assert_refused(&attempt, "not yet valid");
    free_identity(&early);
}

static void test_refused_name(void **state)
{
    (void)state;
    struct identity other =
        make_identity("127.0.0.1", &all.authority, "IP:127.0.0.2,DNS:db.example", -1, 10);
    struct attempt attempt = {.server = &other, .options = trusting()};
    assert_refused(&attempt, "the certificate of 127.0.0.1 is not for that address");
    attempt.name = "elsewhere.example";
    assert_refused(&attempt, "not for that address, nor for the name 'elsewhere.example'");
    free_identity(&other);
}

static void test_refused_client(void **state)
{
    (void)state;
    static const int versions[] = {0, TLS1_2_VERSION};
    for (size_t i = 0; i < 2; i++) {
        struct attempt attempt = {.server = &all.server,
                                  .client_authority = &all.authority,
                                  .version_max = versions[i],
                                  .options = trusting()};
        assert_refused(&attempt, "wants a client certificate, and none is configured");
        attempt.options.certificate_file = path_of("stranger.pem");
        attempt.options.key_file = path_of("stranger.key");
        assert_refused(&attempt, "with this client certificate: unknown CA");
    }
}

static void test_refused_version(void **state)
{
    (void)state;
    struct attempt attempt = {
        .server = &all.server, .version_max = TLS1_1_VERSION, .options = trusting()};
    assert_refused(&attempt, "protocol version");
}

/* ---- servers that do something else ---- */

static void serve_without_tls(struct fake_peer *peer)
{
    (void)fake_answer_error(peer, 0, VVCQL_CODE_PROTOCOL_ERROR, "what is that?");
    fake_hang(peer);
}

static void serve_noise(struct fake_peer *peer)
{
    uint8_t noise[400] = {0x16, 0x03, 0x03, 0x00, 0x80, 0x02};
    memset(noise + 6, 0x5A, sizeof noise - 6);
    (void)fake_send(peer, noise, sizeof noise);
    fake_hang(peer);
}

static void serve_close(struct fake_peer *peer)
{
    uint8_t byte;
    (void)fake_read(peer, &byte, 1);
}

static void test_servers_without_tls(void **state)
{
    (void)state;
    struct attempt attempt = {.server = &all.server, .options = trusting()};
    struct fake_server server = {0};
    struct vvcql_error error = failure_of(&server, serve_without_tls, &attempt);
    assert_int_equal(error.status, VVCQL_PROTOCOL);
    assert_non_null(strstr(error.message, "does not answer with TLS"));
    error = failure_of(&server, serve_noise, &attempt);
    assert_int_equal(error.status, VVCQL_PROTOCOL);
    assert_non_null(strstr(error.message, "TLS with 127.0.0.1 failed: "));
    error = failure_of(&server, serve_close, &attempt);
    assert_int_equal(error.status, VVCQL_LOST);
    assert_non_null(strstr(error.message, "before the end of the TLS handshake came"));
}

static void serve_hang(struct fake_peer *peer)
{
    fake_hang(peer);
}

static void test_hang_in_handshake(void **state)
{
    (void)state;
    struct vvcql_tls_options options = trusting();
    struct vvcql_tls_context *context = make_context(&options);
    struct fake_server server = {0};
    fake_server_start(&server, serve_hang, NULL);
    struct client client;
    client_init(&client, &server);
    client.options.tls = context;
    client.options.connect_timeout_ms = 50;
    client_connect(&client);
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_TIMEOUT);
    client_deinit(&client);
    fake_server_stop(&server);
    vvcql_tls_context_destroy(context);
}

/* A client without TLS at a port that wants it. */
static void test_client_without_tls(void **state)
{
    (void)state;
    SSL_CTX *tls = make_server_tls(&all.server, NULL);
    struct fake_server server = {.tls = tls};
    fake_server_start(&server, fake_serve_echo, NULL);
    struct client client;
    client_init(&client, &server);
    client_connect(&client);
    client_run_closed(&client);
    assert_true(client.error.status == VVCQL_PROTOCOL || client.error.status == VVCQL_LOST);
    assert_non_null(strstr(client.error.message, "TLS"));
    client_deinit(&client);
    fake_server_stop(&server);
    SSL_CTX_free(tls);
}

static void shut_down(struct fake_peer *peer)
{
    (void)SSL_shutdown(peer->ssl);
}

static void cut_off(struct fake_peer *peer)
{
    SSL_set_quiet_shutdown(peer->ssl, 1);
}

static void serve_once(struct fake_peer *peer)
{
    struct fake_request request;
    if (fake_handshake(peer) && fake_expect(peer, VVCQL_OP_QUERY, &request)) {
        void (*const *end)(struct fake_peer *) = peer->context;
        (void)fake_answer_void(peer, request.stream);
        (*end)(peer);
    }
}

/* Closed well, or just cut off: lost in both cases, with what came before. */
static void test_end_of_channel(void **state)
{
    (void)state;
    void (*const ends[])(struct fake_peer *) = {shut_down, cut_off};
    for (size_t i = 0; i < 2; i++) {
        SSL_CTX *tls = make_server_tls(&all.server, NULL);
        struct fake_server server = {.tls = tls};
        void (*end)(struct fake_peer *) = ends[i];
        fake_server_start(&server, serve_once, &end);
        struct vvcql_tls_options options = trusting();
        struct vvcql_tls_context *context = make_context(&options);
        struct client client;
        client_init(&client, &server);
        client.options.tls = context;
        client_connect(&client);
        client_run_ready(&client);
        struct request requests[2] = {0};
        assert_int_equal(request_send(&client, &requests[0], 1, 4), VVCQL_OK);
        assert_int_equal(request_send(&client, &requests[1], 2, 4), VVCQL_OK);
        client_run_closed(&client);
        assert_true(requests[0].has_answer);
        assert_int_equal(requests[1].error.status, VVCQL_LOST);
        assert_true(requests[1].error.outcome_unknown);
        assert_int_equal(client.error.status, VVCQL_LOST);
        client_deinit(&client);
        fake_server_stop(&server);
        vvcql_tls_context_destroy(context);
        SSL_CTX_free(tls);
    }
}

/* Asks for new keys for ever, and takes no answer. */
static void serve_new_keys(struct fake_peer *peer)
{
    if (!fake_handshake(peer) || !fake_wait(peer)) {
        return;
    }
    while (SSL_key_update(peer->ssl, SSL_KEY_UPDATE_REQUESTED) == 1 &&
           SSL_do_handshake(peer->ssl) == 1) {
    }
}

static void test_too_many_new_keys(void **state)
{
    (void)state;
    SSL_CTX *tls = make_server_tls(&all.server, NULL);
    struct fake_server server = {.tls = tls};
    fake_server_start(&server, serve_new_keys, NULL);
    struct vvcql_tls_options options = trusting();
    struct vvcql_tls_context *context = make_context(&options);
    struct client client;
    client_init(&client, &server);
    client.options.tls = context;
    client_connect(&client);
    client_run_ready(&client);
    client.connection->is_writing = true; /* as if the kernel took nothing any more */
    fake_server_let_pass(&server);
    client_run_closed(&client);
    assert_int_equal(client.error.status, VVCQL_PROTOCOL);
    assert_non_null(strstr(client.error.message, "does not take them"));
    client_deinit(&client);
    fake_server_stop(&server);
    vvcql_tls_context_destroy(context);
    SSL_CTX_free(tls);
}

/* ---- files ---- */

static void assert_invalid(const struct vvcql_tls_options *options, const char *text)
{
    struct vvcql_tls_context *context = (struct vvcql_tls_context *)(uintptr_t)1;
    struct vvcql_error error;
    assert_int_equal(vvcql_tls_context_create(options, &context, &error), VVCQL_INVALID);
    assert_null(context);
    if (strstr(error.message, text) == NULL) {
        fail_msg("not '%s': %s", text, error.message);
    }
}

static void test_files(void **state)
{
    (void)state;
    struct vvcql_tls_options options = {.ca_file = path_of("none.pem")};
    assert_invalid(&options, "ca_file '");
    assert_invalid(&options, "none.pem' can't be read: No such file or directory");
    options.ca_file = path_of("empty.pem");
    assert_invalid(&options, "empty.pem' can't be used: ");
    options = trusting();
    options.certificate_file = path_of("client.pem");
    assert_invalid(&options, "certificate_file and key_file are needed together");
    options.key_file = path_of("none.key");
    assert_invalid(&options, "key_file '");
    options.key_file = path_of("stranger.key");
    assert_invalid(&options, "is not the key of the certificate");
    options.key_file = path_of("client.pem");
    assert_invalid(&options, "can't be used");
    options.key_file = path_of("locked.key");
    assert_invalid(&options, "needs key_password");
    options.key_password = "wrong";
    assert_invalid(&options, "can't be read with key_password");
    options.certificate_file = path_of("expired.pem");
    options.key_file = path_of("expired.key");
    assert_invalid(&options, "expired.pem' has expired on ");
    options.certificate_file = path_of("client.key");
    assert_invalid(&options, "certificate_file '");
    options.certificate_file = path_of("none.pem");
    assert_invalid(&options, "none.pem' can't be read");
}

/* ---- memory ---- */

/* All of a connection's life with the k-th allocation failing. */
static bool live_with_failure(struct fake_server *server, uint64_t k)
{
    struct vvcql_tls_options options = trusting();
    options.key_password = "none";
    struct vvcql_tls_context *context;
    struct vvcql_error error = {0};
    struct client client;
    client_init(&client, server);
    vv_sim_memory_fail(k);
    if (vvcql_tls_context_create(&options, &context, &error) == VVCQL_OK) {
        client.options.tls = context;
        client.connection = vvcql_connection_create(&client.loop, &client.options);
        client.is_closed = client.connection == NULL;
        client_run(&client, &client.is_ready);
        struct request request = {0};
        if (!client.is_closed && request_send(&client, &request, 1, 50000) == VVCQL_OK) {
            client_run_until(&client, &request.n_done, 1);
        }
        if (client.error.status != VVCQL_OK) {
            assert_int_equal(client.error.status, VVCQL_NO_MEMORY);
        }
    } else {
        assert_int_equal(error.status, VVCQL_NO_MEMORY);
    }
    bool failed = vv_sim_memory_failed();
    client_deinit(&client);
    vvcql_tls_context_destroy(context);
    return failed;
}

static void test_memory(void **state)
{
    (void)state;
    SSL_CTX *tls = make_server_tls(&all.server, NULL);
    struct fake_server server = {.tls = tls};
    fake_server_start(&server, fake_serve_echo, NULL);
    uint64_t k = 1;
    while (live_with_failure(&server, k)) {
        k++;
    }
    assert_true(k > 8);
    fake_server_stop(&server);
    SSL_CTX_free(tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_accepted_by_name),
        cmocka_unit_test(test_accepted_with_client_certificate),
        cmocka_unit_test(test_refused_authority),
        cmocka_unit_test(test_refused_time),
        cmocka_unit_test(test_refused_name),
        cmocka_unit_test(test_refused_client),
        cmocka_unit_test(test_refused_version),
        cmocka_unit_test(test_servers_without_tls),
        cmocka_unit_test(test_hang_in_handshake),
        cmocka_unit_test(test_client_without_tls),
        cmocka_unit_test(test_end_of_channel),
        cmocka_unit_test(test_too_many_new_keys),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make_all, remove_all);
}
