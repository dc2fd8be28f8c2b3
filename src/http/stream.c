/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams. While `filling`, a worker owns the buffers and the result; otherwise the MHD thread
 * does. Who finds that it must wait sets `waiting` under the lock; who publishes a piece resumes.
 */
#include "http/stream.h"

#include "http/http_private.h"
#include "http/packer.h"

#include <stdlib.h>

#define PIECE_BYTES     65536u
#define PIECE_BYTES_MAX (16u << 20) /* a single row may be larger than a piece */

struct vv_stream {
    struct vv_job job; /* first: a job is a stream */
    struct vv_http *http;
    struct vv_exchange *exchange;
    enum vv_request_kind kind;
    enum vv_format format;
    struct vv_request *request; /* until the result is open */
    struct vv_result *result;
    bool counted;            /* holds one of query.concurrent_max */
    struct vv_buffer plain;  /* as the query writes it */
    struct vv_buffer out;    /* as it is sent */
    size_t out_at;           /* up to here it has been handed over */
    struct vv_packer packer; /* gzip, unless the client does not take it */
    bool given;              /* something has been handed over */
    enum vv_status status;   /* VV_OK: more to come; VV_DONE: the end is in `out`; else an error */
    struct vv_error error;
    pthread_mutex_t lock;
    bool filling; /* under the lock */
    bool waiting; /* the exchange is suspended until a piece is published */
    bool closed;  /* nobody wants it any more */
};

/* ---- the query's end ---- */

static void end_query(struct vv_stream *stream, enum vv_status status)
{
    if (!stream->counted) {
        return;
    }
    struct vv_result_facts facts = {0};
    if (stream->result) {
        vv_result_read_facts(stream->result, &facts);
    }
    vv_engine_query_done(stream->http->engine, stream->kind, status, &facts);
    vv_result_close(stream->result);
    stream->result = NULL;
    stream->counted = false;
    atomic_fetch_sub_explicit(&stream->http->traffic.queries, 1, memory_order_relaxed);
}

static void destroy(struct vv_stream *stream)
{
    end_query(stream, VV_CANCELLED);
    vv_request_destroy(stream->request);
    vv_packer_close(&stream->packer);
    vv_buffer_deinit(&stream->plain);
    vv_buffer_deinit(&stream->out);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* ---- the worker's side ---- */

static enum vv_status open_result(struct vv_stream *stream)
{
    struct vv_engine *engine = stream->http->engine;
    struct vv_query_limits limits;
    vv_engine_query_begin(engine);
    vv_engine_query_limits(engine, &limits);
    struct vv_request *request = stream->request;
    stream->request = NULL;
    return vv_result_open(vv_engine_query_context(engine), &limits, request, stream->format,
                          &stream->result, &stream->error);
}

/* The query failed or was cancelled. Before anything was sent that is the answer; later the answer
 * is ended such that its reader notices. */
static enum vv_status broke(struct vv_stream *stream, enum vv_status status)
{
    if (!stream->given || !stream->result) {
        vv_buffer_clear(&stream->plain);
        end_query(stream, status);
        return status;
    }
    vv_result_abort(stream->result, &stream->plain, status, &stream->error);
    end_query(stream, status);
    return vv_buffer_status(&stream->plain) == VV_OK ? VV_DONE : VV_NO_MEMORY;
}

static bool client_is_gone(struct vv_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    bool waiting = stream->waiting;
    bool closed = stream->closed;
    pthread_mutex_unlock(&stream->lock);
    return closed || (waiting && vv_exchange_client_gone(stream->exchange));
}

/* Does a bounded amount of work: VV_OK, VV_DONE, or the error. */
static enum vv_status write_some(struct vv_stream *stream)
{
    if (client_is_gone(stream)) {
        vv_error_set(&stream->error, VV_CANCELLED, "the client has closed the connection");
        return broke(stream, VV_CANCELLED);
    }
    enum vv_status status = stream->result ? VV_OK : open_result(stream);
    if (status == VV_OK) {
        size_t enough = PIECE_BYTES - stream->plain.size;
        status = vv_result_write(stream->result, &stream->plain, enough, &stream->error);
    }
    if (status == VV_OK || status == VV_DONE) {
        enum vv_status room = vv_buffer_status(&stream->plain);
        if (room != VV_OK) {
            vv_error_set(&stream->error, room, "out of memory while writing the answer");
            status = room;
        }
    }
    if (status == VV_DONE) {
        end_query(stream, VV_OK);
    }
    return status == VV_OK || status == VV_DONE ? status : broke(stream, status);
}

/* Moves what was written to where it is sent from. */
static enum vv_status pack(struct vv_stream *stream, bool last)
{
    enum vv_status status = vv_packer_add(&stream->packer, &stream->plain, last, &stream->out);
    vv_buffer_clear(&stream->plain);
    return status;
}

/* Whether there is enough to hand over. A first piece is full, or all: so an error comes in time to
 * be the answer. Later ones need not be: a client that waits gets what there is. */
static bool is_piece(struct vv_stream *stream)
{
    if (stream->status != VV_OK) {
        return true;
    }
    size_t pending = stream->plain.size;
    return pending >= PIECE_BYTES || (stream->given && pending > 0);
}

/* Publishes the piece: the MHD thread owns the stream again. */
static void publish(struct vv_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->filling = false;
    bool closed = stream->closed;
    bool waiting = stream->waiting;
    stream->waiting = false;
    pthread_mutex_unlock(&stream->lock);
    if (closed) {
        destroy(stream);
    } else if (waiting) {
        vv_exchange_resume(stream->exchange);
    }
}

static void run(struct vv_job *job, bool cancelled)
{
    struct vv_stream *stream = (struct vv_stream *)job;
    if (cancelled) {
        vv_error_set(&stream->error, VV_CANCELLED, "the server is stopping; try again soon");
        stream->status = broke(stream, VV_CANCELLED);
    } else {
        stream->status = write_some(stream);
    }
    bool finished = stream->status == VV_DONE;
    if (is_piece(stream) && (finished || stream->status == VV_OK)) {
        enum vv_status packed = pack(stream, finished);
        stream->status = packed == VV_OK ? stream->status : packed;
    }
    if (stream->status == VV_OK && stream->out.size == 0) {
        vv_workers_submit(stream->http->query_workers, job); /* others first */
        return;
    }
    publish(stream);
}

/* ---- the MHD thread's side ---- */

enum vv_status vv_stream_open(struct vv_exchange *exchange, enum vv_request_kind kind,
                              struct vv_request *take_request, enum vv_format format, bool compress,
                              struct vv_stream **stream_out, struct vv_error *error)
{
    struct vv_http *http = exchange->http;
    uint64_t most = (uint64_t)http->settings.query_concurrent_max;
    if (atomic_fetch_add_explicit(&http->traffic.queries, 1, memory_order_relaxed) >= most) {
        atomic_fetch_sub_explicit(&http->traffic.queries, 1, memory_order_relaxed);
        vv_request_destroy(take_request);
        return vv_error_set(error, VV_OVERLOAD,
                            "%llu queries are running, as many as query.concurrent_max allows; try "
                            "again soon",
                            (unsigned long long)most);
    }
    struct vv_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        atomic_fetch_sub_explicit(&http->traffic.queries, 1, memory_order_relaxed);
        vv_request_destroy(take_request);
        return vv_error_set(error, VV_NO_MEMORY, "out of memory; try again later");
    }
    stream->job.run = run;
    stream->http = http;
    stream->exchange = exchange;
    stream->kind = kind;
    stream->format = format;
    stream->request = take_request;
    stream->counted = true;
    stream->plain.limit = PIECE_BYTES_MAX;
    stream->packer.wanted = compress;
    pthread_mutex_init(&stream->lock, NULL);
    *stream_out = stream;
    return VV_OK;
}

bool vv_stream_start(struct vv_stream *stream)
{
    stream->filling = true;
    stream->waiting = true;
    if (!vv_exchange_suspend(stream->exchange, NULL)) {
        stream->filling = false;
        stream->waiting = false;
        return false;
    }
    vv_workers_submit(stream->http->query_workers, &stream->job);
    return true;
}

enum vv_status vv_stream_outcome(const struct vv_stream *stream, const char **message_out)
{
    *message_out = stream->error.message;
    return stream->status;
}

bool vv_stream_is_compressed(const struct vv_stream *stream)
{
    return vv_packer_is_open(&stream->packer);
}

void vv_stream_take(struct vv_stream *stream, struct vv_buffer *buffer)
{
    vv_buffer_deinit(buffer);
    *buffer = stream->out;
    stream->out = (struct vv_buffer){0};
}

/* Hands over from the piece; the next one is asked for as soon as this one is empty, so that it is
 * there, or being worked on, while the client reads. */
static ssize_t hand_over(struct vv_stream *stream, char *out, size_t max, bool *refill_out)
{
    size_t left = stream->out.size - stream->out_at;
    size_t size = left < max ? left : max;
    memcpy(out, stream->out.data + stream->out_at, size);
    stream->out_at += size;
    stream->given = true;
    if (size == left && stream->status == VV_OK) {
        vv_buffer_clear(&stream->out);
        stream->out_at = 0;
        stream->filling = true;
        *refill_out = true;
    }
    vv_traffic_add(&stream->http->traffic.bytes_out, size);
    vv_exchange_sending(stream->exchange, size);
    return (ssize_t)size;
}

static ssize_t read_locked(struct vv_stream *stream, char *out, size_t max, bool *refill_out)
{
    if (stream->filling) {
        stream->waiting = vv_exchange_suspend(stream->exchange, NULL);
        return stream->waiting ? 0 : MHD_CONTENT_READER_END_WITH_ERROR;
    }
    if (stream->out_at < stream->out.size) {
        return hand_over(stream, out, max, refill_out);
    }
    return stream->status == VV_DONE ? MHD_CONTENT_READER_END_OF_STREAM
                                     : MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t max)
{
    (void)position;
    struct vv_stream *stream = context;
    bool refill = false;
    pthread_mutex_lock(&stream->lock);
    ssize_t got = read_locked(stream, out, max, &refill);
    pthread_mutex_unlock(&stream->lock);
    if (refill) {
        vv_workers_submit(stream->http->query_workers, &stream->job);
    }
    return got;
}

struct MHD_Response *vv_stream_response(struct vv_stream *stream)
{
    return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BYTES, read_stream, stream,
                                             NULL);
}

void vv_stream_close(struct vv_stream *stream)
{
    if (!stream) {
        return;
    }
    pthread_mutex_lock(&stream->lock);
    bool busy = stream->filling;
    stream->closed = true;
    pthread_mutex_unlock(&stream->lock);
    if (!busy) {
        destroy(stream);
    }
}
