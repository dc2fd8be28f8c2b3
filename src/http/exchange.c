/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an exchange: headers, body, end, answer; suspending and resuming. */
#include "http/http_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* A client that is slower than this over a while is given up; see guard.h. */
#define BYTES_PER_SECOND_MIN 1024

/* ---- patience ---- */

static int64_t patience(const struct vv_http *http)
{
    return 2 * http->settings.http_idle_ns_max;
}

static void set_deadline(struct vv_exchange *exchange, int64_t deadline_ns)
{
    if (exchange->door) {
        atomic_store_explicit(&exchange->door->deadline_ns, deadline_ns, memory_order_relaxed);
    }
}

static int64_t time_for(size_t bytes)
{
    return (int64_t)bytes * (VV_SECOND / BYTES_PER_SECOND_MIN);
}

/* The client's turn has come (again). */
static void expect_progress(struct vv_exchange *exchange, size_t bytes)
{
    int64_t least = vv_http_now_ns() + patience(exchange->http);
    if (exchange->patience_ns == VV_GUARD_NEVER || exchange->phase == VV_PHASE_HEAD) {
        exchange->patience_ns = least;
    }
    exchange->patience_ns += time_for(bytes);
    set_deadline(exchange, exchange->patience_ns);
}

static void expect_nothing(struct vv_exchange *exchange)
{
    exchange->patience_ns = VV_GUARD_NEVER;
    set_deadline(exchange, VV_GUARD_NEVER);
}

void vv_exchange_sending(struct vv_exchange *exchange, size_t bytes)
{
    exchange->patience_ns = vv_http_now_ns() + patience(exchange->http) + time_for(bytes);
    set_deadline(exchange, exchange->patience_ns);
}

/* ---- looking at the request ---- */

struct vv_str vv_exchange_header(const struct vv_exchange *exchange, const char *name)
{
    const char *value = NULL;
    size_t size = 0;
    if (MHD_lookup_connection_value_n(exchange->connection, MHD_HEADER_KIND, name, strlen(name),
                                      &value, &size) != MHD_YES) {
        return (struct vv_str){NULL, 0};
    }
    return (struct vv_str){value ? value : "", value ? size : 0};
}

struct vv_str vv_exchange_where(const struct vv_exchange *exchange, char *out, size_t size)
{
    int length = snprintf(out, size, "%s %.200s", exchange->method, exchange->path);
    return (struct vv_str){out, length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1};
}

bool vv_exchange_client_gone(const struct vv_exchange *exchange)
{
    struct pollfd polled = {.fd = exchange->fd, .events = POLLRDHUP};
    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Content-Length was checked by libmicrohttpd: here it has only digits. */
static uint64_t declared_body(const struct vv_exchange *exchange)
{
    if (vv_exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING).data) {
        return VV_BODY_UNKNOWN;
    }
    struct vv_str length = vv_exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return length.data ? strtoull(length.data, NULL, 10) : 0;
}

/* ---- errors ---- */

static void refuse(struct vv_exchange *exchange, unsigned code, const char *word,
                   struct vv_str message)
{
    char where[256];
    vv_reply_begin_error(&exchange->reply, code, word, message,
                         vv_exchange_where(exchange, where, sizeof where));
    vv_reply_end_error(&exchange->reply);
}

void vv_exchange_refuse(struct vv_exchange *exchange, unsigned code, const char *word,
                        const char *format, ...)
{
    char message[640];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    refuse(exchange, code, word, vv_str_of(message));
}

void vv_exchange_fail(struct vv_exchange *exchange, enum vv_status status, const char *message)
{
    refuse(exchange, vv_reply_code(status), vv_status_name(status), vv_str_of(message));
    unsigned turn = atomic_fetch_add_explicit(&exchange->http->turn, 1, memory_order_relaxed);
    unsigned seconds = vv_reply_retry_seconds(status, turn);
    if (seconds > 0) {
        vv_reply_header(&exchange->reply, MHD_HTTP_HEADER_RETRY_AFTER, "%u", seconds);
    }
}

/* ---- suspending ---- */

static void unlink_suspended(struct vv_exchange *exchange)
{
    *exchange->link = exchange->next;
    if (exchange->next) {
        exchange->next->link = exchange->link;
    }
    exchange->suspended = false;
}

bool vv_exchange_suspend(struct vv_exchange *exchange, vv_abandon abandon)
{
    struct vv_http *http = exchange->http;
    expect_nothing(exchange);
    pthread_mutex_lock(&http->lock);
    vv_invariant(!exchange->suspended);
    bool allowed = !http->stopped;
    if (allowed) {
        MHD_suspend_connection(exchange->connection);
        exchange->abandon = abandon;
        exchange->suspended = true;
        exchange->next = http->suspended;
        exchange->link = &http->suspended;
        if (exchange->next) {
            exchange->next->link = &exchange->next;
        }
        http->suspended = exchange;
    }
    pthread_mutex_unlock(&http->lock);
    exchange->handed_over = allowed;
    return allowed;
}

/* Under the lock, so that stopping, which waits for the list to be empty, comes after the last
 * call into libmicrohttpd. */
static void resume_locked(struct vv_exchange *exchange)
{
    struct vv_http *http = exchange->http;
    struct MHD_Connection *connection = exchange->connection;
    vv_invariant(exchange->suspended);
    unlink_suspended(exchange);
    /* The last that is done with the exchange: from the resume on it may be freed. */
    atomic_fetch_add_explicit(&exchange->resumes, 1, memory_order_release);
    MHD_resume_connection(connection);
    if (!http->suspended) {
        pthread_cond_broadcast(&http->changed);
    }
}

void vv_exchange_resume(struct vv_exchange *exchange)
{
    struct vv_http *http = exchange->http;
    pthread_mutex_lock(&http->lock);
    resume_locked(exchange);
    pthread_mutex_unlock(&http->lock);
}

/* The MHD thread sees what the last resumer wrote. (libmicrohttpd's own locks order the two as
 * well, but that is its affair.) */
static void see_resumer(struct vv_exchange *exchange)
{
    exchange->handed_over = false;
    exchange->resumes_seen = atomic_load_explicit(&exchange->resumes, memory_order_acquire);
}

void vv_exchange_abandon_all(struct vv_http *http)
{
    pthread_mutex_lock(&http->lock);
    struct vv_exchange *next = NULL;
    for (struct vv_exchange *exchange = http->suspended; exchange; exchange = next) {
        next = exchange->next;
        if (exchange->abandon && exchange->abandon(exchange)) {
            resume_locked(exchange);
        }
    }
    while (http->suspended) {
        pthread_cond_wait(&http->changed, &http->lock);
    }
    pthread_mutex_unlock(&http->lock);
}

/* ---- beginning ---- */

static void refuse_path(struct vv_exchange *exchange, unsigned methods)
{
    if (methods) {
        char allowed[40];
        vv_route_methods(methods, allowed, sizeof allowed);
        vv_exchange_refuse(exchange, MHD_HTTP_METHOD_NOT_ALLOWED, "method_not_allowed",
                           "%.200s does not know the method %.20s; allowed: %s", exchange->path,
                           exchange->method, allowed);
        vv_reply_header(&exchange->reply, MHD_HTTP_HEADER_ALLOW, "%s", allowed);
        return;
    }
    char where[256];
    vv_reply_begin_error(&exchange->reply, MHD_HTTP_NOT_FOUND, "not_found",
                         VV_STR_LITERAL("there is nothing at this path; see \"paths\""),
                         vv_exchange_where(exchange, where, sizeof where));
    struct vv_buffer *body = &exchange->reply.body;
    size_t n = 0;
    const char *const *paths = vv_route_paths(&n);
    vv_buffer_text(body, ",\"paths\":[");
    for (size_t i = 0; i + 1 < n; i++) { /* the last stands for the unknown ones */
        vv_buffer_format(body, "%s\"%s\"", i ? "," : "", paths[i]);
    }
    vv_buffer_text(body, "]");
    vv_reply_end_error(&exchange->reply);
}

static void refuse_large_body(struct vv_exchange *exchange, uint64_t bytes_max)
{
    vv_exchange_refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE, "too_large",
                       "the body is larger than %llu bytes; send it in several requests",
                       (unsigned long long)bytes_max);
}

/* Whether the request is one to go on with; else it has its answer. */
static bool is_acceptable(struct vv_exchange *exchange)
{
    struct vv_http *http = exchange->http;
    struct vv_str coding = vv_exchange_header(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING);
    if (coding.data && (coding.size != 7 || strncasecmp(coding.data, "chunked", 7) != 0)) {
        vv_exchange_refuse(exchange, MHD_HTTP_NOT_IMPLEMENTED, "not_implemented",
                           "of the transfer encodings only 'chunked' is known");
    } else if (atomic_load_explicit(&http->stopping, memory_order_relaxed)) {
        vv_exchange_fail(exchange, VV_CANCELLED, "the server is stopping; try again soon");
    } else if (!exchange->route->while_recovering && !vv_http_recovered(http)) {
        vv_exchange_fail(exchange, VV_OVERLOAD,
                         "the server is starting and reads its journal; see /ready");
    } else {
        const struct vv_handler *handler = exchange->route->handler;
        if (handler->body_bytes_max > 0) {
            exchange->body.limit = handler->body_bytes_max;
            if (exchange->body_declared != VV_BODY_UNKNOWN &&
                exchange->body_declared > handler->body_bytes_max) {
                refuse_large_body(exchange, handler->body_bytes_max);
            }
        }
    }
    return exchange->reply.code == 0;
}

static struct vv_exchange *create(struct vv_http *http, struct MHD_Connection *connection,
                                  const char *url, const char *method)
{
    struct vv_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) {
        return NULL;
    }
    exchange->http = http;
    exchange->connection = connection;
    exchange->method = method;
    exchange->path = url;
    exchange->begun_ns = vv_http_now_ns();
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    exchange->door = info ? info->socket_context : NULL;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    exchange->fd = info ? info->connect_fd : -1;
    exchange->body_declared = declared_body(exchange);
    pthread_mutex_lock(&http->lock);
    http->active++;
    pthread_mutex_unlock(&http->lock);
    return exchange;
}

/* ---- the three steps ---- */

static bool expects_continue(const struct vv_exchange *exchange)
{
    return vv_exchange_header(exchange, MHD_HTTP_HEADER_EXPECT).data != NULL;
}

static enum MHD_Result head(struct vv_exchange *exchange)
{
    unsigned methods = 0;
    exchange->phase = VV_PHASE_HEAD;
    expect_progress(exchange, 0);
    exchange->route = vv_route_find(exchange->path, exchange->method, &methods);
    if (!exchange->route) {
        refuse_path(exchange, methods);
    } else if (is_acceptable(exchange) && exchange->route->handler->begin) {
        exchange->route->handler->begin(exchange);
    }
    bool large =
        exchange->body_declared != VV_BODY_UNKNOWN && exchange->body_declared > VV_DRAIN_BYTES_MAX;
    bool waits = exchange->body_declared > 0 && expects_continue(exchange);
    bool endless = exchange->reply.code == MHD_HTTP_NOT_IMPLEMENTED; /* of unknown encoding */
    if (exchange->reply.code && (large || waits || endless)) {
        vv_guard_linger(exchange->http->guard, exchange->fd);
        return vv_exchange_deliver(exchange);
    }
    return MHD_YES; /* answered in the end: the connection can be used again */
}

/* For routes that collect their body. */
static size_t collect(struct vv_exchange *exchange, const char *bytes, size_t size)
{
    if (exchange->route->handler->body_bytes_max == 0) {
        exchange->drained_bytes += size;
        if (exchange->drained_bytes > VV_DRAIN_BYTES_MAX) {
            refuse_large_body(exchange, 0);
        }
        return size;
    }
    vv_buffer_append(&exchange->body, bytes, size);
    enum vv_status status = vv_buffer_status(&exchange->body);
    if (status == VV_TOO_LARGE) {
        refuse_large_body(exchange, exchange->route->handler->body_bytes_max);
    } else if (status != VV_OK) {
        vv_exchange_fail(exchange, status, "out of memory; send the request again later");
    }
    return size;
}

/* The answer is known: what still comes of the body is thrown away, as far as that is worth it. */
static enum MHD_Result drain(struct vv_exchange *exchange, size_t size)
{
    exchange->drained_bytes += size;
    exchange->body_bytes += size;
    uint64_t left = exchange->body_declared == VV_BODY_UNKNOWN
                        ? 0
                        : exchange->body_declared - exchange->body_bytes;
    bool hurry = left > VV_DRAIN_BYTES_MAX || exchange->drained_bytes > VV_DRAIN_BYTES_MAX;
    return hurry ? vv_exchange_answer_midway(exchange) : MHD_YES;
}

static size_t take(struct vv_exchange *exchange, const char *bytes, size_t size)
{
    const struct vv_handler *handler = exchange->route->handler;
    if (!handler->feed) {
        return collect(exchange, bytes, size);
    }
    if (handler->body_bytes_max > 0 && exchange->body_bytes + size > handler->body_bytes_max) {
        refuse_large_body(exchange, handler->body_bytes_max);
        return size;
    }
    return handler->feed(exchange, bytes, size);
}

static enum MHD_Result body(struct vv_exchange *exchange, const char *bytes, size_t *size)
{
    exchange->phase = VV_PHASE_BODY;
    expect_progress(exchange, *size);
    size_t taken = 0;
    if (!exchange->reply.code) {
        taken = take(exchange, bytes, *size);
        exchange->body_bytes += taken;
        vv_traffic_add(&exchange->http->traffic.bytes_in, taken);
    }
    *size -= taken;
    if (exchange->handed_over || !exchange->reply.code) {
        return MHD_YES;
    }
    size_t rest = *size;
    *size = 0;
    return drain(exchange, rest);
}

static enum MHD_Result end(struct vv_exchange *exchange)
{
    exchange->phase = VV_PHASE_END;
    expect_nothing(exchange);
    if (!exchange->reply.code) {
        exchange->route->handler->finish(exchange);
    }
    if (exchange->handed_over) {
        return MHD_YES; /* the answer is another thread's affair now */
    }
    vv_invariant(exchange->reply.code);
    return vv_exchange_deliver(exchange);
}

enum MHD_Result vv_exchange_handle(void *context, struct MHD_Connection *connection,
                                   const char *url, const char *method, const char *version,
                                   const char *upload, size_t *upload_size, void **slot)
{
    (void)version;
    struct vv_exchange *exchange = *slot;
    if (!exchange) {
        exchange = create(context, connection, url, method);
        *slot = exchange;
        return exchange ? head(exchange) : MHD_NO;
    }
    see_resumer(exchange);
    return *upload_size > 0 ? body(exchange, upload, upload_size) : end(exchange);
}

void vv_exchange_completed(void *context, struct MHD_Connection *connection, void **slot,
                           enum MHD_RequestTerminationCode how)
{
    (void)connection;
    struct vv_http *http = context;
    struct vv_exchange *exchange = *slot;
    if (!exchange) {
        return;
    }
    *slot = NULL;
    see_resumer(exchange);
    vv_invariant(!exchange->suspended);
    if (exchange->route && exchange->route->handler->release) {
        exchange->route->handler->release(exchange);
    }
    int64_t now = vv_http_now_ns();
    /* An answer that was given midway ends like an error. */
    bool whole = how == MHD_REQUEST_TERMINATED_COMPLETED_OK || !exchange->reply.stream;
    vv_traffic_count(&http->traffic, vv_route_path_index(exchange->route),
                     whole ? exchange->sent_code : 0, now - exchange->begun_ns);
    set_deadline(exchange, now + patience(http));
    vv_reply_deinit(&exchange->reply);
    vv_buffer_deinit(&exchange->body);
    free(exchange);
    pthread_mutex_lock(&http->lock);
    if (--http->active == 0) {
        pthread_cond_broadcast(&http->changed);
    }
    pthread_mutex_unlock(&http->lock);
}
