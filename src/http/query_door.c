/* SPDX-License-Identifier: Apache-2.0 */
/* The routes of queries: parameters from the URL, a form or a JSON object; streamed answers. */
#include "http/http_private.h"
#include "http/packer.h"
#include "http/parameters.h"
#include "http/stream.h"

#include <strings.h>

#define BODY_BYTES_MAX (1u << 20)

static bool contains_word(struct vv_str text, const char *word)
{
    size_t size = strlen(word);
    for (size_t i = 0; text.data && i + size <= text.size; i++) {
        if (strncasecmp(text.data + i, word, size) == 0) {
            return true;
        }
    }
    return false;
}

/* What belongs to the door and not to the query. Credentials are accepted and ignored. */
static void remove_own(struct vv_parameters *parameters)
{
    static const char *const own[] = {"u", "p", "pretty"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        vv_parameters_remove(parameters, own[i]);
    }
}

static struct vv_str body_text(const struct vv_exchange *exchange)
{
    return (struct vv_str){(const char *)exchange->body.data, exchange->body.size};
}

static bool is_json(const struct vv_exchange *exchange, struct vv_str body)
{
    if (contains_word(vv_exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_TYPE), "json")) {
        return true;
    }
    size_t at = 0;
    while (at < body.size && strchr(" \t\r\n", body.data[at])) {
        at++;
    }
    return at < body.size && body.data[at] == '{';
}

static int64_t wall_ns(struct vv_http *http)
{
    struct vv_clock *clock = vv_engine_query_context(http->engine)->clock;
    return clock->wall_ns(clock);
}

static enum vv_status parse_with(struct vv_exchange *exchange, struct vv_parameters *parameters,
                                 struct vv_request **request_out, struct vv_error *error)
{
    enum vv_request_kind kind = (enum vv_request_kind)exchange->route->kind;
    int64_t now = wall_ns(exchange->http);
    struct vv_str body = body_text(exchange);
    enum vv_status status = vv_parameters_add_url(parameters, exchange->connection, error);
    remove_own(parameters);
    if (status != VV_OK) {
        return status;
    }
    if (body.size > 0 && is_json(exchange, body)) {
        if (parameters->n > 0) {
            return vv_error_set(error, VV_INVALID,
                                "parameters are in the URL and in a JSON body; put all of them "
                                "into one of the two");
        }
        return vv_request_parse_json(kind, body, now, request_out, error);
    }
    status = vv_parameters_add_form(parameters, body, error);
    remove_own(parameters);
    return status == VV_OK
               ? vv_request_parse(kind, parameters->items, parameters->n, now, request_out, error)
               : status;
}

enum vv_status vv_exchange_parse_request(struct vv_exchange *exchange,
                                         struct vv_request **request_out, struct vv_error *error)
{
    struct vv_parameters parameters = {0};
    enum vv_status status = parse_with(exchange, &parameters, request_out, error);
    vv_parameters_deinit(&parameters);
    return status;
}

static const char *const types[] = {
    [VV_FORMAT_JSON] = VV_TYPE_JSON,
    [VV_FORMAT_CSV] = VV_TYPE_CSV,
    [VV_FORMAT_LINE] = VV_TYPE_TEXT,
    [VV_FORMAT_JSON_LINES] = "application/x-ndjson",
};

static enum vv_status open_stream(struct vv_exchange *exchange, struct vv_stream **stream_out,
                                  struct vv_error *error)
{
    struct vv_request *request = NULL;
    enum vv_status status = vv_exchange_parse_request(exchange, &request, error);
    if (status != VV_OK) {
        return status;
    }
    bool csv = contains_word(vv_exchange_header(exchange, MHD_HTTP_HEADER_ACCEPT), "text/csv");
    enum vv_format format = vv_request_format(request, csv ? VV_FORMAT_CSV : VV_FORMAT_JSON);
    bool gzip = vv_accepts_gzip(vv_exchange_header(exchange, MHD_HTTP_HEADER_ACCEPT_ENCODING));
    status = vv_stream_open(exchange, (enum vv_request_kind)exchange->route->kind, request, format,
                            gzip, stream_out, error);
    if (status == VV_OK) {
        exchange->reply.type = types[format];
    }
    return status;
}

static void begin_query(struct vv_exchange *exchange)
{
    struct vv_stream *stream = NULL;
    struct vv_error error = {0};
    enum vv_status status = open_stream(exchange, &stream, &error);
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        return;
    }
    exchange->state = stream;
    if (!vv_stream_start(stream)) {
        vv_exchange_fail(exchange, VV_CANCELLED, "the server is stopping; try again soon");
    }
}

/* The first piece, all, or an error is there. */
static void answer_query(struct vv_exchange *exchange)
{
    struct vv_stream *stream = exchange->state;
    const char *message = "";
    enum vv_status status = vv_stream_outcome(stream, &message);
    if (status != VV_OK && status != VV_DONE) {
        vv_exchange_fail(exchange, status, message);
        return;
    }
    vv_reply_begin(&exchange->reply, MHD_HTTP_OK, exchange->reply.type);
    if (vv_stream_is_compressed(stream)) {
        vv_reply_header(&exchange->reply, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
    }
    vv_reply_header(&exchange->reply, MHD_HTTP_HEADER_VARY, "Accept, Accept-Encoding");
    if (status == VV_DONE) {
        vv_stream_take(stream, &exchange->reply.body);
    } else {
        exchange->reply.stream = stream;
    }
}

static void finish(struct vv_exchange *exchange)
{
    if (!exchange->state) {
        begin_query(exchange);
    } else {
        answer_query(exchange);
    }
}

static void release(struct vv_exchange *exchange)
{
    vv_stream_close(exchange->state);
    exchange->state = NULL;
}

const struct vv_handler vv_query_handler = {
    .finish = finish, .release = release, .body_bytes_max = BODY_BYTES_MAX};
