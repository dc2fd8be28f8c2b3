/* SPDX-License-Identifier: Apache-2.0 */
/* What a write is answered: 204, or JSON that InfluxDB's clients read ("error", "message") with
 * what was stored, what was refused and why. */
#include "http/json_text.h"
#include "http/write.h"

#include <inttypes.h>

static void end_refusal(struct vv_exchange *exchange, uint64_t stored)
{
    vv_buffer_format(&exchange->reply.body, ",\"accepted\":%" PRIu64, stored);
    vv_reply_end_error(&exchange->reply);
    vv_reply_header(&exchange->reply, "X-Influxdb-Version", VV_INFLUX_VERSION);
}

void vv_write_refuse(struct vv_exchange *exchange, enum vv_status status, const char *message,
                     uint64_t stored)
{
    /* Nothing of the batch was stored, and the store may work again: that is worth a retry. */
    unsigned code = status == VV_IO ? MHD_HTTP_SERVICE_UNAVAILABLE : vv_reply_code(status);
    char where[256];
    vv_reply_begin_error(&exchange->reply, code, vv_status_name(status), vv_str_of(message),
                         vv_exchange_where(exchange, where, sizeof where));
    end_refusal(exchange, stored);
    unsigned turn = atomic_fetch_add_explicit(&exchange->http->turn, 1, memory_order_relaxed);
    unsigned seconds = vv_reply_retry_seconds(status, turn);
    if (seconds > 0) {
        vv_reply_header(&exchange->reply, MHD_HTTP_HEADER_RETRY_AFTER, "%u", seconds);
    }
}

void vv_write_fail(struct vv_write *write, enum vv_status status, const char *message)
{
    struct vv_error error = {0};
    if (status == VV_UNKNOWN) {
        vv_error_set(&error, status,
                     "whether all of this was stored cannot be known: %s; send it again, the same "
                     "points again change nothing",
                     message);
    } else if (write->stored > 0) {
        vv_error_set(&error, status,
                     "%s; %" PRIu64 " points were stored before; send all of it again, the same "
                     "points again change nothing",
                     message, write->stored);
    } else {
        vv_error_set(&error, status, "%s", message);
    }
    vv_write_refuse(write->exchange, status, error.message, write->stored);
}

static void write_reasons(const struct vv_staging *staging, struct vv_buffer *body)
{
    bool first = true;
    vv_buffer_text(body, ",\"refused\":{");
    for (int reason = 0; reason < VV_REASON_COUNT; reason++) {
        if (staging->refused[reason] > 0) {
            vv_buffer_format(body, "%s\"%s\":%" PRIu64, first ? "" : ",",
                             vv_reason_name((enum vv_reason)reason), staging->refused[reason]);
            first = false;
        }
    }
    vv_buffer_text(body, "}");
}

static void write_lines(const struct vv_staging *staging, struct vv_buffer *body)
{
    vv_buffer_text(body, ",\"lines\":[");
    for (size_t i = 0; i < staging->n_refusals; i++) {
        const struct vv_refusal *refusal = &staging->refusals[i];
        vv_buffer_format(body, "%s{\"line\":%" PRIu64 ",", i ? "," : "", refusal->line);
        if (refusal->column > 0) {
            vv_buffer_format(body, "\"column\":%u,", refusal->column);
        }
        vv_buffer_format(body, "\"reason\":\"%s\",\"detail\":", vv_reason_name(refusal->reason));
        vv_json_text(body, vv_str_of(refusal->detail));
        vv_buffer_text(body, "}");
    }
    vv_buffer_text(body, "]");
}

/* The first refusal that makes the answer an error; the lenient ones before it do not. */
static const struct vv_refusal *first_strict(const struct vv_staging *staging)
{
    for (size_t i = 0; i < staging->n_refusals; i++) {
        if (!vv_reason_is_lenient(staging->refusals[i].reason)) {
            return &staging->refusals[i];
        }
    }
    return NULL;
}

static void describe_refusals(const struct vv_write *write, struct vv_error *error_out)
{
    const struct vv_refusal *first = first_strict(&write->staging);
    if (write->damaged) {
        vv_error_set(error_out, VV_INVALID,
                     "%s; what came before it was stored (%" PRIu64 " points)",
                     write->damage.message, write->stored);
    } else if (first) {
        vv_error_set(error_out, VV_INVALID,
                     "partial write: stored %" PRIu64 " points, refused %" PRIu64 ": %s %" PRIu64
                     ": %s",
                     write->stored, write->staging.refused_strict, write->json ? "point" : "line",
                     first->line, first->detail);
    } else { /* none of the kept ones */
        vv_error_set(error_out, VV_INVALID,
                     "partial write: stored %" PRIu64 " points, refused %" PRIu64, write->stored,
                     write->staging.refused_strict);
    }
}

static void answer_refusals(struct vv_write *write)
{
    struct vv_exchange *exchange = write->exchange;
    struct vv_error error = {0};
    char where[256];
    describe_refusals(write, &error);
    vv_reply_begin_error(&exchange->reply, MHD_HTTP_BAD_REQUEST, "invalid",
                         vv_str_of(error.message),
                         vv_exchange_where(exchange, where, sizeof where));
    write_reasons(&write->staging, &exchange->reply.body);
    write_lines(&write->staging, &exchange->reply.body);
    end_refusal(exchange, write->stored);
}

/* "string=12 unsigned=1 fields=a,b" */
static void add_lenient(const struct vv_staging *staging, struct vv_reply *reply)
{
    char text[VV_REPLY_HEADER_SIZE] = "";
    size_t at = 0;
    for (int reason = 0; reason < VV_REASON_COUNT; reason++) {
        if (staging->refused[reason] > 0 && at < sizeof text) {
            int length = snprintf(text + at, sizeof text - at, "%s=%" PRIu64 " ",
                                  vv_reason_name((enum vv_reason)reason), staging->refused[reason]);
            at += length > 0 ? (size_t)length : 0;
        }
    }
    if (at > 0) {
        vv_reply_header(reply, "X-Varve-Refused", "%sfields=%s", text, staging->lenient_fields);
    }
}

void vv_write_reply(struct vv_write *write)
{
    const struct vv_staging *staging = &write->staging;
    if (staging->refused_strict > 0 || write->damaged) {
        answer_refusals(write);
        return;
    }
    struct vv_reply *reply = &write->exchange->reply;
    vv_reply_empty(reply, MHD_HTTP_NO_CONTENT);
    vv_reply_header(reply, "X-Varve-Accepted", "%" PRIu64, write->stored);
    add_lenient(staging, reply);
    vv_reply_header(reply, "X-Influxdb-Version", VV_INFLUX_VERSION);
}
