/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream: a running query whose answer is handed out piece by piece. Workers fill its buffer (a
 * piece of some 64 KiB, a bounded amount of work at a time), the content reader empties it; who has
 * nothing to do with it holds no thread.
 *
 * Flow: vv_stream_open, vv_stream_start (the exchange is suspended and resumed when the first piece
 * or an error is there), then vv_stream_outcome: an error that is answered as such, a whole answer,
 * or one that is streamed with vv_stream_response.
 */
#ifndef VV_HTTP_STREAM_H
#define VV_HTTP_STREAM_H

#include "query/query.h"

struct MHD_Response;
struct vv_exchange;
struct vv_stream;

/* Takes the request in any case. VV_OVERLOAD when query.concurrent_max is reached, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_stream_open(struct vv_exchange *exchange, enum vv_request_kind kind,
                                            struct vv_request *take_request, enum vv_format format,
                                            bool compress, struct vv_stream **stream_out,
                                            struct vv_error *error);
/* Suspends the exchange and lets a worker fill the first piece; false: the server is stopping. */
VV_MUST_CHECK bool vv_stream_start(struct vv_stream *stream);

/* After the resume. VV_OK: more than what is there; VV_DONE: all is there; else the error, before
 * anything was sent. */
VV_MUST_CHECK enum vv_status vv_stream_outcome(const struct vv_stream *stream,
                                               const char **message_out);
/* Whether the bytes are gzip. */
bool vv_stream_is_compressed(const struct vv_stream *stream);
/* Moves a whole answer (VV_DONE) into buffer. */
void vv_stream_take(struct vv_stream *stream, struct vv_buffer *buffer);
/* A response that streams; NULL when memory is out. The stream must outlive it. */
struct MHD_Response *vv_stream_response(struct vv_stream *stream);

/* The answer has been sent, or the client is gone: ends the query, at once or as soon as a worker
 * that is at it has noticed. NULL is allowed. */
void vv_stream_close(struct vv_stream *stream);

#endif
