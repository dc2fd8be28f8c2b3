/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Cassandra that does what a test tells it: listens on an address of this machine, and runs the
 * test's function for each connection, in a thread of its own with a blocking socket.
 *
 *   static void serve(struct fake_peer *peer)
 *   {
 *       struct fake_request request;
 *       if (fake_handshake(peer) && fake_expect(peer, VVCQL_OP_QUERY, &request)) {
 *           fake_answer_error(peer, request.stream, VVCQL_CODE_OVERLOADED, "busy");
 *       }
 *       fake_hang(peer);
 *   }
 *
 * All requests are recorded. What a thread finds wrong fails the test in fake_server_stop().
 * Answers are made in fake_answers.h.
 */
#ifndef VARVE_TEST_CQL_FAKE_SERVER_H
#define VARVE_TEST_CQL_FAKE_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cql/frame.h"
#include "simulation/sim_memory.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

struct fake_server;
struct fake_peer;

/* Serves one connection; the socket is closed when it returns. */
typedef void (*fake_serve)(struct fake_peer *peer);

struct fake_request {
    uint8_t flags; /* as sent; the body is uncompressed */
    uint8_t opcode;
    int16_t stream;
    const uint8_t *body; /* with the server until fake_server_stop() */
    size_t size;
    int connection; /* from 0, in the order they were accepted */
};

struct fake_peer {
    struct fake_server *server;
    void *context; /* the server's */
    int number;    /* of the connection, from 0 */
    int fd;        /* -1: closed */
    SSL *ssl;      /* NULL: no TLS */
    bool compress; /* what STARTUP asked for */
    pthread_t thread;
    struct fake_peer *next;
};

struct fake_server {
    fake_serve serve;
    void *context;
    SSL_CTX *tls;              /* borrowed; NULL: no TLS */
    bool no_compression;       /* SUPPORTED offers none */
    size_t piece;              /* answers go out so many bytes at a time; 0: whole */
    const char *authenticator; /* AUTHENTICATE names it; NULL: no authentication */
    const char *user;          /* with authentication */
    const char *password;
    char address[INET_ADDRSTRLEN];
    uint16_t port;
    struct sockaddr_storage socket_address;
    int listener;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct fake_peer *peers;
    int n_peers;
    struct fake_request *requests;
    size_t n_requests;
    size_t gate; /* how many may pass */
    bool is_stopping;
    char failure[256];
};

/* ---- what is wrong ---- */

static inline void fake_fail(struct fake_peer *peer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void fake_fail(struct fake_peer *peer, const char *format, ...)
{
    struct fake_server *server = peer->server;
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&server->lock);
    if (server->failure[0] == '\0') {
        (void)vsnprintf(server->failure, sizeof server->failure, format, arguments);
    }
    pthread_mutex_unlock(&server->lock);
    va_end(arguments);
}

/* ---- sockets ---- */

static inline void fake_close(struct fake_peer *peer)
{
    SSL_free(peer->ssl);
    peer->ssl = NULL;
    pthread_mutex_lock(&peer->server->lock);
    if (peer->fd >= 0) {
        (void)close(peer->fd);
        peer->fd = -1;
        pthread_cond_broadcast(&peer->server->changed);
    }
    pthread_mutex_unlock(&peer->server->lock);
}

/* Ends the connection so that the client sees a reset. */
static inline void fake_reset(struct fake_peer *peer)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    (void)setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    fake_close(peer);
}

/* Bytes as they are; false when the client is gone. */
static inline bool fake_send(struct fake_peer *peer, const void *data, size_t size)
{
    const uint8_t *at = data;
    while (size > 0 && peer->fd >= 0) {
        ssize_t sent = peer->ssl != NULL ? SSL_write(peer->ssl, at, (int)size)
                                         : send(peer->fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += sent;
        size -= (size_t)sent;
    }
    return size == 0;
}

/* The same, `piece` bytes at a time. */
static inline bool fake_send_pieces(struct fake_peer *peer, const void *data, size_t size,
                                    size_t piece)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < size; i += piece) {
        if (!fake_send(peer, at + i, piece < size - i ? piece : size - i)) {
            return false;
        }
    }
    return true;
}

/* false when the client closed before `size` bytes came. */
static inline bool fake_read(struct fake_peer *peer, uint8_t *data, size_t size)
{
    while (size > 0 && peer->fd >= 0) {
        ssize_t got = peer->ssl != NULL ? SSL_read(peer->ssl, data, (int)size)
                                        : recv(peer->fd, data, size, 0);
        if (got <= 0) {
            return false;
        }
        data += got;
        size -= (size_t)got;
    }
    return size == 0;
}

/* Says nothing any more until the client closes, or the server is stopped. */
static inline void fake_hang(struct fake_peer *peer)
{
    uint8_t byte;
    while (fake_read(peer, &byte, 1)) {
    }
}

/* Waits until the test lets one more pass; false when the server is stopped. */
static inline bool fake_wait(struct fake_peer *peer)
{
    struct fake_server *server = peer->server;
    pthread_mutex_lock(&server->lock);
    while (server->gate == 0 && !server->is_stopping) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    bool passes = server->gate > 0;
    server->gate -= passes;
    pthread_mutex_unlock(&server->lock);
    return passes;
}

static inline void fake_server_let_pass(struct fake_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->gate++;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

/* ---- requests ---- */

static inline void fake_record(struct fake_server *server, const struct fake_request *request)
{
    pthread_mutex_lock(&server->lock);
    server->requests =
        vv_sim_realloc(server->requests, (server->n_requests + 1) * sizeof *server->requests);
    server->requests[server->n_requests++] = *request;
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
}

static inline uint32_t fake_load(const uint8_t *at, size_t size)
{
    uint32_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value = value << 8 | at[i];
    }
    return value;
}

/* Replaces a compressed body. */
static inline bool fake_uncompress(struct fake_peer *peer, uint8_t **body, size_t *size)
{
    struct vvcql_buffer plain = {0};
    struct vvcql_bytes compressed = {.data = *body, .size = *size};
    if (!peer->compress || vvcql_uncompress(compressed, (size_t)256 << 20, &plain) != VVCQL_OK) {
        fake_fail(peer, "a body of %zu bytes can't be uncompressed", *size);
        vvcql_buffer_deinit(&plain);
        return false;
    }
    free(*body);
    *body = plain.data;
    *size = plain.size;
    return true;
}

/* The next request; false when the client is gone, or what came is no request. */
static inline bool fake_receive(struct fake_peer *peer, struct fake_request *request_out)
{
    uint8_t header[VVCQL_FRAME_HEADER_SIZE];
    if (!fake_read(peer, header, sizeof header)) {
        return false;
    }
    size_t size = fake_load(header + 5, 4);
    if (header[0] != VVCQL_PROTOCOL_VERSION || size > (size_t)256 << 20) {
        fake_fail(peer, "not a request: version 0x%02x, %zu bytes", header[0], size);
        return false;
    }
    uint8_t *body = vv_sim_malloc(size + 1);
    if (!fake_read(peer, body, size) ||
        ((header[1] & VVCQL_FLAG_COMPRESSED) != 0 && !fake_uncompress(peer, &body, &size))) {
        free(body);
        return false;
    }
    *request_out = (struct fake_request){.flags = header[1],
                                         .stream = (int16_t)fake_load(header + 2, 2),
                                         .opcode = header[4],
                                         .body = body,
                                         .size = size,
                                         .connection = peer->number};
    fake_record(peer->server, request_out);
    return true;
}

/* The same; another opcode fails the test. */
static inline bool fake_expect(struct fake_peer *peer, uint8_t opcode,
                               struct fake_request *request_out)
{
    if (!fake_receive(peer, request_out)) {
        return false;
    }
    if (request_out->opcode != opcode) {
        fake_fail(peer, "opcode 0x%02x came where 0x%02x was expected", request_out->opcode,
                  opcode);
        return false;
    }
    return true;
}

/* Whether the bytes are in the request's body. */
static inline bool fake_request_holds(const struct fake_request *request, const char *text)
{
    return memmem(request->body, request->size, text, strlen(text)) != NULL;
}

#define FAKE_ANY 0xFF /* as opcode: all of them */

/* Requests of an opcode that came so far. */
static inline size_t fake_server_count(struct fake_server *server, uint8_t opcode)
{
    pthread_mutex_lock(&server->lock);
    size_t n = 0;
    for (size_t i = 0; i < server->n_requests; i++) {
        n += opcode == FAKE_ANY || server->requests[i].opcode == opcode;
    }
    pthread_mutex_unlock(&server->lock);
    return n;
}

/* The i-th request of an opcode; fails the test when it has not come. */
static inline struct fake_request fake_server_request(struct fake_server *server, uint8_t opcode,
                                                      size_t i)
{
    struct fake_request found = {0};
    pthread_mutex_lock(&server->lock);
    for (size_t at = 0; at < server->n_requests && found.body == NULL; at++) {
        if ((opcode == FAKE_ANY || server->requests[at].opcode == opcode) && i-- == 0) {
            found = server->requests[at];
        }
    }
    pthread_mutex_unlock(&server->lock);
    assert_non_null(found.body);
    return found;
}

/* ---- the server ---- */

static inline void *fake_run_peer(void *context)
{
    struct fake_peer *peer = context;
    sigset_t set; /* OpenSSL writes to sockets that the client has closed */
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    bool is_open = true;
    if (peer->server->tls != NULL) {
        peer->ssl = SSL_new(peer->server->tls);
        (void)SSL_set_fd(peer->ssl, peer->fd);
        /* That it fails is often what is tested. */
        is_open = SSL_accept(peer->ssl) == 1;
    }
    if (is_open) {
        peer->server->serve(peer);
    }
    fake_close(peer);
    return NULL;
}

static inline void fake_accept(struct fake_server *server, int fd)
{
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct fake_peer *peer = vv_sim_calloc(1, sizeof *peer);
    pthread_mutex_lock(&server->lock);
    *peer = (struct fake_peer){.server = server,
                               .context = server->context,
                               .number = server->n_peers++,
                               .fd = fd,
                               .next = server->peers};
    server->peers = peer;
    if (server->is_stopping) {
        (void)shutdown(fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->lock);
    if (pthread_create(&peer->thread, NULL, fake_run_peer, peer) != 0) {
        abort();
    }
}

static inline void *fake_run_server(void *context)
{
    struct fake_server *server = context;
    int fd;
    while ((fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        fake_accept(server, fd);
    }
    return NULL;
}

/* Listens on address (of 127.0.0.0/8) and port (0: any). What isn't an argument may be set before:
 * the structure is zero-initialised by the test. */
static inline void fake_server_start_at(struct fake_server *server, const char *address,
                                        uint16_t port, fake_serve serve, void *context)
{
    server->serve = serve;
    server->context = context;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->listener >= 0);
    int one = 1;
    (void)setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    socklen_t size = sizeof in;
    assert_int_equal(bind(server->listener, (struct sockaddr *)&in, size), 0);
    assert_int_equal(listen(server->listener, 64), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&in, &size), 0);
    /* Not snprintf(): gcc takes an address in the same structure for one that overlaps. */
    assert_true(strlen(address) < sizeof server->address);
    memcpy(server->address, address, strlen(address) + 1);
    server->port = ntohs(in.sin_port);
    memcpy(&server->socket_address, &in, sizeof in);
    assert_int_equal(pthread_mutex_init(&server->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&server->changed, NULL), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, fake_run_server, server), 0);
}

static inline void fake_server_start(struct fake_server *server, fake_serve serve, void *context)
{
    fake_server_start_at(server, "127.0.0.1", 0, serve, context);
}

/* Waits until the server has closed its newest connection. */
static inline void fake_server_wait_closed(struct fake_server *server)
{
    pthread_mutex_lock(&server->lock);
    while (server->peers == NULL || server->peers->fd >= 0) {
        pthread_cond_wait(&server->changed, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
}

static inline void fake_server_free(struct fake_server *server)
{
    while (server->peers != NULL) {
        struct fake_peer *peer = server->peers;
        server->peers = peer->next;
        free(peer);
    }
    for (size_t i = 0; i < server->n_requests; i++) {
        free((void *)(uintptr_t)server->requests[i].body);
    }
    free(server->requests);
    (void)pthread_mutex_destroy(&server->lock);
    (void)pthread_cond_destroy(&server->changed);
}

/* Closes all connections, ends all threads; fails the test when one of them found fault. */
static inline void fake_server_stop(struct fake_server *server)
{
    pthread_mutex_lock(&server->lock);
    server->is_stopping = true;
    (void)shutdown(server->listener, SHUT_RDWR);
    for (struct fake_peer *peer = server->peers; peer != NULL; peer = peer->next) {
        if (peer->fd >= 0) {
            (void)shutdown(peer->fd, SHUT_RDWR);
        }
    }
    pthread_cond_broadcast(&server->changed);
    pthread_mutex_unlock(&server->lock);
    (void)pthread_join(server->thread, NULL);
    for (struct fake_peer *peer = server->peers; peer != NULL; peer = peer->next) {
        (void)pthread_join(peer->thread, NULL);
    }
    (void)close(server->listener);
    char failure[sizeof server->failure];
    memcpy(failure, server->failure, sizeof failure);
    fake_server_free(server);
    memset(server, 0, sizeof *server);
    if (failure[0] != '\0') {
        fail_msg("%s", failure);
    }
}

#endif
