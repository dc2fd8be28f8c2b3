/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the server of fake_server.h. Each is sent whole; false when the client is gone. */
#ifndef VARVE_TEST_CQL_FAKE_ANSWERS_H
#define VARVE_TEST_CQL_FAKE_ANSWERS_H

#include "fake_server.h"

/* Appends a frame of any kind; its body is compressed when `compress` is set. */
static inline void fake_put_frame(struct vvcql_buffer *out, uint8_t flags, int16_t stream,
                                  uint8_t opcode, const struct vvcql_buffer *body, bool compress)
{
    struct vvcql_buffer content = {0};
    struct vvcql_bytes bytes = {.data = body->data, .size = body->size};
    if (compress) {
        (void)vvcql_compress(&content, bytes);
        flags |= VVCQL_FLAG_COMPRESSED;
    } else {
        vvcql_write_bytes(&content, bytes.data, bytes.size);
    }
    vvcql_write_u8(out, 0x80 | VVCQL_PROTOCOL_VERSION);
    vvcql_write_u8(out, flags);
    vvcql_write_u16(out, (uint16_t)stream);
    vvcql_write_u8(out, opcode);
    vvcql_write_u32(out, (uint32_t)content.size);
    vvcql_write_bytes(out, content.data, content.size);
    if (content.failed || out->failed) {
        abort();
    }
    vvcql_buffer_deinit(&content);
}

/* Sends a frame and frees its body; compressed where that was agreed and it is not short. */
static inline bool fake_answer(struct fake_peer *peer, int16_t stream, uint8_t opcode,
                               struct vvcql_buffer *take_body)
{
    struct vvcql_buffer frame = {0};
    fake_put_frame(&frame, 0, stream, opcode, take_body, peer->compress && take_body->size > 100);
    size_t piece = peer->server->piece;
    bool is_sent = fake_send_pieces(peer, frame.data, frame.size, piece > 0 ? piece : frame.size);
    vvcql_buffer_deinit(take_body);
    vvcql_buffer_deinit(&frame);
    return is_sent;
}

static inline bool fake_answer_empty(struct fake_peer *peer, int16_t stream, uint8_t opcode)
{
    return fake_answer(peer, stream, opcode, &(struct vvcql_buffer){0});
}

/* RESULT of kind void. */
static inline bool fake_answer_void(struct fake_peer *peer, int16_t stream)
{
    struct vvcql_buffer body = {0};
    vvcql_write_u32(&body, 1);
    return fake_answer(peer, stream, VVCQL_OP_RESULT, &body);
}

static inline bool fake_answer_error(struct fake_peer *peer, int16_t stream, int32_t code,
                                     const char *message)
{
    struct vvcql_buffer body = {0};
    vvcql_write_u32(&body, (uint32_t)code);
    vvcql_write_string(&body, message);
    return fake_answer(peer, stream, VVCQL_OP_ERROR, &body);
}

static inline void fake_put_supported(struct vvcql_buffer *body, bool offers_lz4)
{
    vvcql_write_u16(body, 2);
    vvcql_write_string(body, "CQL_VERSION");
    vvcql_write_u16(body, 1);
    vvcql_write_string(body, "3.4.7");
    vvcql_write_string(body, "COMPRESSION");
    vvcql_write_u16(body, offers_lz4 ? 2 : 1);
    vvcql_write_string(body, "snappy");
    if (offers_lz4) {
        vvcql_write_string(body, "lz4");
    }
}

static inline bool fake_answer_supported(struct fake_peer *peer, int16_t stream)
{
    struct vvcql_buffer body = {0};
    fake_put_supported(&body, !peer->server->no_compression);
    return fake_answer(peer, stream, VVCQL_OP_SUPPORTED, &body);
}

static inline bool fake_answer_authenticate(struct fake_peer *peer, int16_t stream,
                                            const char *class)
{
    struct vvcql_buffer body = {0};
    vvcql_write_string(&body, class);
    return fake_answer(peer, stream, VVCQL_OP_AUTHENTICATE, &body);
}

/* EVENT: the change of status ("UP", "DOWN") of an IPv4 address. */
static inline bool fake_send_status(struct fake_peer *peer, const char *change, const char *address,
                                    uint16_t port)
{
    struct in_addr in;
    (void)inet_pton(AF_INET, address, &in);
    struct vvcql_buffer body = {0};
    vvcql_write_string(&body, "STATUS_CHANGE");
    vvcql_write_string(&body, change);
    vvcql_write_u8(&body, sizeof in);
    vvcql_write_bytes(&body, &in, sizeof in);
    vvcql_write_u32(&body, port);
    return fake_answer(peer, -1, VVCQL_OP_EVENT, &body);
}

/* ---- the handshake ---- */

/* Takes OPTIONS and STARTUP; the latter is not answered. */
static inline bool fake_take_startup(struct fake_peer *peer, struct fake_request *startup_out)
{
    struct fake_request options;
    if (!fake_expect(peer, VVCQL_OP_OPTIONS, &options) ||
        !fake_answer_supported(peer, options.stream) ||
        !fake_expect(peer, VVCQL_OP_STARTUP, startup_out)) {
        return false;
    }
    peer->compress = fake_request_holds(startup_out, "lz4");
    return true;
}

/* All of a handshake without authentication, but REGISTER. */
static inline bool fake_handshake(struct fake_peer *peer)
{
    struct fake_request startup;
    return fake_take_startup(peer, &startup) &&
           fake_answer_empty(peer, startup.stream, VVCQL_OP_READY);
}

/* STARTUP, as the server is set up. */
static inline bool fake_answer_startup(struct fake_peer *peer, const struct fake_request *request)
{
    const char *class = peer->server->authenticator;
    bool is_sent = class != NULL ? fake_answer_authenticate(peer, request->stream, class)
                                 : fake_answer_empty(peer, request->stream, VVCQL_OP_READY);
    peer->compress = fake_request_holds(request, "lz4");
    return is_sent;
}

/* AUTH_RESPONSE: whether it is SASL PLAIN with the right user and password. */
static inline bool fake_answer_password(struct fake_peer *peer, const struct fake_request *request)
{
    struct vvcql_buffer right = {0};
    const char *user = peer->server->user;
    const char *password = peer->server->password;
    vvcql_write_u32(&right, (uint32_t)(strlen(user) + strlen(password) + 2));
    vvcql_write_u8(&right, 0);
    vvcql_write_bytes(&right, user, strlen(user) + 1);
    vvcql_write_bytes(&right, password, strlen(password));
    bool is_right = request->size == right.size && !right.failed &&
                    memcmp(request->body, right.data, right.size) == 0;
    vvcql_buffer_deinit(&right);
    if (!is_right) {
        return fake_answer_error(peer, request->stream, VVCQL_CODE_BAD_CREDENTIALS,
                                 "Provided username and/or password are incorrect");
    }
    struct vvcql_buffer token = {0};
    vvcql_write_u32(&token, UINT32_MAX);
    return fake_answer(peer, request->stream, VVCQL_OP_AUTH_SUCCESS, &token);
}

/* For servers that only answer: what belongs to the handshake or is a heartbeat. false: it is
 * another request. */
static inline bool fake_answer_common(struct fake_peer *peer, const struct fake_request *request)
{
    switch (request->opcode) {
    case VVCQL_OP_OPTIONS:
        (void)fake_answer_supported(peer, request->stream);
        return true;
    case VVCQL_OP_STARTUP:
        (void)fake_answer_startup(peer, request);
        return true;
    case VVCQL_OP_AUTH_RESPONSE:
        (void)fake_answer_password(peer, request);
        return true;
    case VVCQL_OP_REGISTER:
        (void)fake_answer_empty(peer, request->stream, VVCQL_OP_READY);
        return true;
    default:
        return false;
    }
}

/* ---- echoes ---- */

/* Answers a request with a RESULT of the request's bytes, made `size` long. */
static inline bool fake_echo(struct fake_peer *peer, const struct fake_request *request,
                             size_t size)
{
    struct vvcql_buffer body = {0};
    vvcql_write_bytes(&body, request->body, request->size < size ? request->size : size);
    while (body.size < size && !body.failed) {
        vvcql_write_u8(&body, (uint8_t)(body.size / 100));
    }
    return fake_answer(peer, request->stream, VVCQL_OP_RESULT, &body);
}

/* Handshakes, heartbeats, and an echo of all other requests. */
static inline void fake_serve_echo(struct fake_peer *peer)
{
    struct fake_request request;
    while (fake_receive(peer, &request)) {
        if (!fake_answer_common(peer, &request)) {
            (void)fake_echo(peer, &request, request.size);
        }
    }
}

/* A handshake without authentication, and then nothing any more. */
static inline void fake_serve_silence(struct fake_peer *peer)
{
    (void)fake_handshake(peer);
    fake_hang(peer);
}

#endif
