/* SPDX-License-Identifier: Apache-2.0 */
/* How an answer reaches the client: through libmicrohttpd, or past it in the middle of a body. */
#include "http/http_private.h"
#include "http/stream.h"

#include <sys/socket.h>

static struct MHD_Response *make_response(struct vv_reply *reply, struct vv_exchange *exchange)
{
    if (reply->stream) {
        struct MHD_Response *response = vv_stream_response(reply->stream);
        if (response && strcmp(exchange->method, MHD_HTTP_METHOD_HEAD) == 0) {
            /* Else the end of a chunked body would be sent, without a body. */
            MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
        }
        return response;
    }
    if (vv_buffer_status(&reply->body) != VV_OK) {
        vv_reply_empty(reply, MHD_HTTP_SERVICE_UNAVAILABLE); /* memory is out */
    }
    size_t size = reply->body.size;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, size ? reply->body.data : NULL,
                                        size ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (response && size) {
        reply->body.data = NULL; /* the response's now */
        reply->body.size = reply->body.capacity = 0;
        vv_traffic_add(&exchange->http->traffic.bytes_out, size);
    }
    return response;
}

static bool add_headers(struct vv_exchange *exchange, struct MHD_Response *response)
{
    struct vv_reply *reply = &exchange->reply;
    bool added = !reply->type || MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                                         reply->type) == MHD_YES;
    for (size_t i = 0; added && i < reply->n_headers; i++) {
        added = MHD_add_response_header(response, reply->headers[i].name,
                                        reply->headers[i].value) == MHD_YES;
    }
    if (added && atomic_load_explicit(&exchange->http->stopping, memory_order_relaxed)) {
        added = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") == MHD_YES;
    }
    return added;
}

enum MHD_Result vv_exchange_deliver(struct vv_exchange *exchange)
{
    size_t size = exchange->reply.body.size;
    struct MHD_Response *response = make_response(&exchange->reply, exchange);
    if (!response) {
        return MHD_NO;
    }
    enum MHD_Result queued = MHD_NO;
    if (add_headers(exchange, response)) {
        vv_exchange_sending(exchange, size);
        exchange->sent_code = exchange->reply.code;
        queued = MHD_queue_response(exchange->connection, exchange->reply.code, response);
    }
    MHD_destroy_response(response);
    return queued;
}

enum MHD_Result vv_exchange_answer_midway(struct vv_exchange *exchange)
{
    struct vv_reply *reply = &exchange->reply;
    struct vv_buffer text = {0};
    vv_buffer_format(&text, "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Length: %zu\r\n",
                     reply->code, vv_reply_phrase(reply->code), reply->body.size);
    if (reply->type) {
        vv_buffer_format(&text, "Content-Type: %s\r\n", reply->type);
    }
    for (size_t i = 0; i < reply->n_headers; i++) {
        vv_buffer_format(&text, "%s: %s\r\n", reply->headers[i].name, reply->headers[i].value);
    }
    vv_buffer_text(&text, "\r\n");
    vv_buffer_append(&text, reply->body.data, reply->body.size);
    if (vv_buffer_status(&text) == VV_OK && vv_buffer_status(&reply->body) == VV_OK) {
        /* A few hundred bytes into an empty buffer: all or, for a client that is gone, nothing. */
        ssize_t sent = send(exchange->fd, text.data, text.size, MSG_NOSIGNAL | MSG_DONTWAIT);
        exchange->sent_code = sent > 0 ? reply->code : 0;
        vv_guard_linger(exchange->http->guard, exchange->fd);
    }
    vv_buffer_deinit(&text);
    return MHD_NO; /* closes */
}
