/* SPDX-License-Identifier: Apache-2.0 */
/* Answers: what a handler says, before it is given to libmicrohttpd. One thread at a time. */
#ifndef VV_HTTP_REPLY_H
#define VV_HTTP_REPLY_H

#include "base/bytes.h"

#define VV_REPLY_HEADERS_MAX 6
#define VV_REPLY_HEADER_SIZE 400

struct vv_stream;

struct vv_reply_header {
    const char *name; /* a constant */
    char value[VV_REPLY_HEADER_SIZE];
};

/* Zero-initialised is no answer yet. */
struct vv_reply {
    unsigned code;    /* 0: none yet */
    const char *type; /* Content-Type, a constant; NULL without a body */
    struct vv_buffer body;
    struct vv_reply_header headers[VV_REPLY_HEADERS_MAX];
    size_t n_headers;
    struct vv_stream *stream; /* the body comes from here instead; the exchange owns it */
};

void vv_reply_deinit(struct vv_reply *reply);

/* An answer without a body. Whatever was said before is forgotten. */
void vv_reply_empty(struct vv_reply *reply, unsigned code);
/* Begins an answer with a body; write it into reply->body. */
void vv_reply_begin(struct vv_reply *reply, unsigned code, const char *type);
#define VV_TYPE_JSON "application/json"
#define VV_TYPE_TEXT "text/plain; charset=utf-8"
#define VV_TYPE_CSV  "text/csv; charset=utf-8"

/* Adds a header; what does not belong into one is replaced, what is too long is cut. */
void vv_reply_header(struct vv_reply *reply, const char *name, const char *format, ...)
    VV_PRINTF(3, 4);

/* Begins {"code":…,"message":…,"error":…,"where":… and leaves the object open for more members, to
 * be ended by vv_reply_end_error. `error` repeats the message for InfluxDB's clients. */
void vv_reply_begin_error(struct vv_reply *reply, unsigned code, const char *word,
                          struct vv_str message, struct vv_str where);
void vv_reply_end_error(struct vv_reply *reply);

/* The HTTP code of a status that is not VV_OK. */
unsigned vv_reply_code(enum vv_status status);
/* Seconds for Retry-After, spread by `turn` so that clients do not come back all at once; 0 when
 * repeating the request does not help. */
unsigned vv_reply_retry_seconds(enum vv_status status, unsigned turn);

/* "Bad Request" for 400 and so on. */
const char *vv_reply_phrase(unsigned code);

#endif
