/* SPDX-License-Identifier: Apache-2.0 */
/* A write that is going on: private to write.c, write_decide.c and write_reply.c. */
#ifndef VV_HTTP_WRITE_H
#define VV_HTTP_WRITE_H

#include "http/decoder.h"
#include "http/http_private.h"
#include "http/ticket.h"
#include "ingest/json_points.h"
#include "ingest/line_protocol.h"

#define VV_WRITE_SLICE_BYTES 65536u

struct vv_write {
    struct vv_exchange *exchange;
    struct vv_staging staging;
    bool staging_ready;
    struct vv_line_parser *lines; /* one of the two */
    struct vv_json_parser *json;
    struct vv_decoder decoder;
    char *slice; /* of decoded bytes, unless the coding is identity */
    uint64_t decoded_bytes;
    struct vv_job decider;    /* decides on rows that are in doubt … */
    int64_t decide_until_ns;  /* … until then at most */
    struct vv_ticket *ticket; /* of the batch that is being committed */
    bool to_store;            /* answered when the store has confirmed all of it … */
    bool confirmed;           /* … as it has */
    uint64_t stored;          /* points of batches that were */
    bool parsed;              /* the parser has seen the end */
    bool accounted;           /* in the tenant's account */
    bool damaged;             /* the body's coding broke; what came before it counts */
    struct vv_error damage;
};

/* Has it decided which rows in doubt are staged: suspends the exchange, or leaves an answer. */
void vv_write_decide(struct vv_write *write);
/* The answer when everything was handed in: 204, or 400 with what was refused. */
void vv_write_reply(struct vv_write *write);
/* A batch, or the request as a whole, failed; tells what was stored before. */
void vv_write_fail(struct vv_write *write, enum vv_status status, const char *message);
/* The same when there is no write yet. */
void vv_write_refuse(struct vv_exchange *exchange, enum vv_status status, const char *message,
                     uint64_t stored);

#endif
