/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/replace: frozen days of a tenant are made of other points; and which days these are. */
#include "http/blocking.h"
#include "http/json_text.h"
#include "http/parameters.h"
#include "http/write.h"

#include <inttypes.h>
#include <stdlib.h>

#define BODY_BYTES_MAX (64u << 20)
/* Of all bodies that are under way: a day is taken as a whole, so all of its points are in memory.
 */
#define BODIES_BYTES_MAX BODY_BYTES_MAX

/* ---- POST ---- */

struct replacing {
    struct vv_write write;
    uint64_t bytes; /* of the body, that count */
};

/* Gives back what it holds. */
static void forget(struct replacing *replacing)
{
    struct vv_write *write = &replacing->write;
    vv_line_parser_destroy(write->lines);
    write->lines = NULL;
    if (write->staging_ready) {
        vv_staging_deinit(&write->staging);
        write->staging_ready = false;
    }
    atomic_fetch_sub_explicit(&write->exchange->http->replacing_bytes, replacing->bytes,
                              memory_order_relaxed);
    replacing->bytes = 0;
}

static void refuse_more(struct vv_exchange *exchange)
{
    vv_write_refuse(exchange, VV_OVERLOAD,
                    "the memory for days that are being replaced is taken by other requests: send "
                    "again later",
                    0);
}

static bool is_plain(struct vv_exchange *exchange)
{
    enum vv_coding coding = VV_CODING_IDENTITY;
    struct vv_error error = {0};
    struct vv_str header = vv_exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_ENCODING);
    return vv_coding_parse(header, &coding, &error) == VV_OK && coding == VV_CODING_IDENTITY;
}

/* Before anything of the body is kept; what comes counts from then on. */
static bool is_welcome(struct vv_exchange *exchange)
{
    struct vv_error error = {0};
    if (!is_plain(exchange)) {
        vv_exchange_refuse(exchange, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding",
                           "send it without Content-Encoding: it is not unpacked here");
        return false;
    }
    enum vv_status status = vv_engine_admit(exchange->http->engine, &error);
    if (status != VV_OK) {
        vv_write_refuse(exchange, status, error.message, 0);
        return false;
    }
    uint64_t declared = exchange->body_declared == VV_BODY_UNKNOWN ? 0 : exchange->body_declared;
    uint64_t taken = atomic_load_explicit(&exchange->http->replacing_bytes, memory_order_relaxed);
    if (taken + declared > BODIES_BYTES_MAX) {
        refuse_more(exchange);
        return false;
    }
    return true;
}

static enum vv_status set_up(struct replacing *replacing, const struct vv_parameters *parameters,
                             struct vv_error *error)
{
    struct vv_write *write = &replacing->write;
    int64_t unit_ns = 1;
    struct vv_str precision = vv_parameters_find(parameters, "precision");
    enum vv_status status =
        precision.size > 0 ? vv_precision_parse(precision, &unit_ns, error) : VV_OK;
    if (status == VV_OK) {
        status = vv_engine_stage_frozen(write->exchange->http->engine,
                                        vv_parameters_tenant(parameters), &write->staging, error);
        write->staging_ready = status == VV_OK;
    }
    if (status == VV_OK &&
        vv_line_parser_create(&write->staging, unit_ns, &write->lines) != VV_OK) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory; send the request again later");
    }
    return status;
}

static void begin_replace(struct vv_exchange *exchange)
{
    if (!is_welcome(exchange)) {
        return;
    }
    struct replacing *replacing = calloc(1, sizeof *replacing);
    if (!replacing) {
        vv_exchange_fail(exchange, VV_NO_MEMORY, "out of memory; send the request again later");
        return;
    }
    replacing->write.exchange = exchange;
    exchange->state = replacing;
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    enum vv_status status = vv_parameters_add_url(&parameters, exchange->connection, &error);
    if (status == VV_OK) {
        status = set_up(replacing, &parameters, &error);
    }
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        forget(replacing);
    }
    vv_parameters_deinit(&parameters);
}

static size_t feed_replace(struct vv_exchange *exchange, const char *bytes, size_t size)
{
    struct replacing *replacing = exchange->state;
    struct vv_write *write = &replacing->write;
    uint64_t before =
        atomic_fetch_add_explicit(&exchange->http->replacing_bytes, size, memory_order_relaxed);
    replacing->bytes += size;
    if (before + size > BODIES_BYTES_MAX) {
        refuse_more(exchange);
    } else if (vv_line_parser_feed(write->lines, bytes, size) != VV_OK ||
               write->staging.out_of_memory) {
        vv_exchange_fail(exchange, VV_NO_MEMORY, "out of memory; send the request again later");
    }
    if (exchange->reply.code) {
        forget(replacing);
    }
    return size;
}

/* Of what was refused already; one that makes the answer an error. VV_REASON_COUNT: nothing was. */
static enum vv_reason refused_reason(const struct vv_staging *staging)
{
    enum vv_reason found = VV_REASON_COUNT;
    for (int reason = VV_REASON_COUNT - 1; reason >= 0; reason--) {
        if (staging->refused[reason] > 0 &&
            (found == VV_REASON_COUNT || !vv_reason_is_lenient((enum vv_reason)reason))) {
            found = (enum vv_reason)reason;
        }
    }
    return found < VV_REASON_COUNT && vv_reason_is_lenient(found) ? VV_REASON_TYPE : found;
}

/* All or nothing: what can never be is refused as a whole, and so is what has a line or a field
 * that is refused, as the day would be made of the others. */
static void replace(struct vv_write *write)
{
    struct vv_error error = {0};
    struct vv_batch *batch = vv_staging_take_batch(&write->staging);
    uint64_t points = batch ? batch->points : 0;
    enum vv_reason reason = refused_reason(&write->staging);
    enum vv_status status = VV_OK;
    if (batch && reason != VV_REASON_COUNT) {
        vv_batch_destroy(batch);
        status = vv_error_set(&error, VV_INVALID,
                              "it goes with others that are refused: the day would be replaced "
                              "without them; mend or remove these and send all of it again");
    } else if (batch) {
        reason = VV_REASON_RETENTION;
        status = vv_engine_replace(write->exchange->http->engine, batch, &error);
    }
    if (status == VV_OK) {
        write->stored = points;
    } else if (status == VV_INVALID || status == VV_TOO_LARGE) {
        reason = status == VV_TOO_LARGE ? VV_REASON_LIMIT : reason;
        vv_staging_refuse_staged(&write->staging, points, reason, error.message);
    }
    vv_engine_account(write->exchange->http->engine, &write->staging);
    if (status == VV_OK || status == VV_INVALID || status == VV_TOO_LARGE) {
        vv_write_reply(write);
    } else {
        vv_write_fail(write, status, error.message);
    }
}

/* Before the answer it gives back what it holds: who has the answer may send the next. */
static void work_replace(struct vv_exchange *exchange)
{
    struct replacing *replacing = exchange->state;
    struct vv_write *write = &replacing->write;
    enum vv_status status = vv_line_parser_finish(write->lines);
    if (status == VV_OK && !write->staging.out_of_memory) {
        replace(write);
    } else {
        vv_exchange_fail(exchange, VV_NO_MEMORY, "out of memory; send the request again later");
    }
    forget(replacing);
}

static void finish_replace(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_replace);
}

static void release_replace(struct vv_exchange *exchange)
{
    vv_blocking_release(exchange);
    if (exchange->state) {
        forget(exchange->state);
        free(exchange->state);
        exchange->state = NULL;
    }
}

const struct vv_handler vv_replace_handler = {.begin = begin_replace,
                                              .feed = feed_replace,
                                              .finish = finish_replace,
                                              .release = release_replace,
                                              .body_bytes_max = BODY_BYTES_MAX};

/* ---- GET ---- */

static void write_frozen(const struct vv_http *http, int64_t until, struct vv_buffer *body)
{
    char text[VV_TIME_TEXT_SIZE];
    vv_buffer_text(body, "{\"frozen_until\":");
    if (until > VV_TIME_MIN) {
        vv_time_format(until, text);
        vv_buffer_format(body, "\"%s\",\"frozen_until_ns\":%" PRId64, text, until);
    } else {
        vv_buffer_text(body, "null");
    }
    vv_buffer_text(body, ",\"id_tag\":");
    vv_json_text(body, vv_str_of(http->settings.id_tag));
    vv_buffer_format(body, ",\"body_bytes_max\":%u}\n", BODY_BYTES_MAX);
}

static void work_frozen(struct vv_exchange *exchange)
{
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    int64_t until;
    enum vv_status status = vv_parameters_add_url(&parameters, exchange->connection, &error);
    if (status == VV_OK) {
        status = vv_engine_read_frozen(exchange->http->engine, vv_parameters_tenant(&parameters),
                                       &until, &error);
    }
    if (status == VV_OK) {
        vv_reply_begin(&exchange->reply, MHD_HTTP_OK, VV_TYPE_JSON);
        write_frozen(exchange->http, until, &exchange->reply.body);
    } else {
        vv_exchange_fail(exchange, status, error.message);
    }
    vv_parameters_deinit(&parameters);
}

static void finish_frozen(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_frozen);
}

const struct vv_handler vv_frozen_handler = {.finish = finish_frozen,
                                             .release = vv_blocking_release};
