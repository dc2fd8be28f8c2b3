/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes of writes. The body is decoded and parsed as it comes; when the staged batch reaches
 * its bound it is committed, with the connection suspended, before more is read. So one request may
 * become several batches, each of them durable when the next one begins.
 */
#include "http/write.h"

#include "http/parameters.h"

#include <stdlib.h>

/* Compressed bodies may grow this much beyond http.body_bytes_max. */
#define DECODED_FACTOR_MAX 16u
/* Decoded in one go; then other connections of the thread have their turn. */
#define TURN_BYTES (1u << 20)
/* More writes than this at once share their memory. */
#define WRITES_FULL_SIZE 16u
#define SHARE_BYTES_MIN  65536u

/* ---- beginning ---- */

static struct vv_str tenant_of(enum vv_write_kind kind, const struct vv_parameters *parameters)
{
    struct vv_str name = {NULL, 0};
    if (kind == VV_WRITE_V2) {
        name = vv_parameters_find(parameters, "bucket");
        const char *slash = name.data ? memchr(name.data, '/', name.size) : NULL;
        if (slash) { /* database/retention-policy, as InfluxDB 1.8 maps it */
            name.size = (size_t)(slash - name.data);
        }
    }
    return name.data ? name : vv_parameters_tenant(parameters);
}

/* What the answer waits for: `ack` of the request, else of the settings. */
static enum vv_status parse_ack(const struct vv_exchange *exchange,
                                const struct vv_parameters *parameters, bool *to_store_out,
                                struct vv_error *error)
{
    struct vv_str ack = vv_parameters_find(parameters, "ack");
    if (!ack.data) {
        ack = vv_str_of(exchange->http->settings.ack_kind);
    }
    *to_store_out = vv_str_equal(ack, VV_STR_LITERAL("store"));
    if (!*to_store_out && !vv_str_equal(ack, VV_STR_LITERAL("journal"))) {
        return vv_error_set(error, VV_INVALID, "ack is '%.*s'; allowed: journal, store",
                            (int)(ack.size < 40 ? ack.size : 40), ack.data);
    }
    return VV_OK;
}

static enum vv_status make_parser(struct vv_write *write, enum vv_write_kind kind, int64_t unit_ns)
{
    return kind == VV_WRITE_JSON ? vv_json_parser_create(&write->staging, unit_ns, &write->json)
                                 : vv_line_parser_create(&write->staging, unit_ns, &write->lines);
}

static enum vv_status open_decoder(struct vv_write *write, enum vv_coding coding)
{
    enum vv_status status = vv_decoder_open(&write->decoder, coding);
    if (status == VV_OK && coding != VV_CODING_IDENTITY) {
        write->slice = malloc(VV_WRITE_SLICE_BYTES);
        status = write->slice ? VV_OK : VV_NO_MEMORY;
    }
    return status;
}

/* The staging, the parser and the decoder; false with an answer. */
static bool set_up(struct vv_write *write, const struct vv_parameters *parameters)
{
    struct vv_exchange *exchange = write->exchange;
    enum vv_write_kind kind = (enum vv_write_kind)exchange->route->kind;
    struct vv_error error = {0};
    struct vv_str precision = vv_parameters_find(parameters, "precision");
    int64_t unit_ns = 1;
    if (precision.data && precision.size > 0 &&
        vv_precision_parse(precision, &unit_ns, &error) != VV_OK) {
        vv_exchange_fail(exchange, VV_INVALID, error.message);
        return false;
    }
    if (parse_ack(exchange, parameters, &write->to_store, &error) != VV_OK) {
        vv_exchange_fail(exchange, VV_INVALID, error.message);
        return false;
    }
    enum vv_coding coding = VV_CODING_IDENTITY;
    struct vv_str header = vv_exchange_header(exchange, MHD_HTTP_HEADER_CONTENT_ENCODING);
    if (vv_coding_parse(header, &coding, &error) != VV_OK) {
        vv_exchange_refuse(exchange, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", "%s",
                           error.message);
        return false;
    }
    enum vv_status status = vv_engine_stage(exchange->http->engine, tenant_of(kind, parameters),
                                            &write->staging, &error);
    write->staging_ready = status == VV_OK;
    if (status == VV_TOO_LARGE) { /* not the body: there is no room for another tenant */
        vv_exchange_refuse(exchange, MHD_HTTP_FORBIDDEN, "limit_reached", "%s", error.message);
        return false;
    }
    if (status == VV_OK) {
        status = make_parser(write, kind, unit_ns);
        status = status == VV_OK ? open_decoder(write, coding) : status;
        if (status != VV_OK) {
            vv_error_set(&error, status, "out of memory; send the request again later");
        }
    }
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
    }
    return status == VV_OK;
}

static void refuse_size(struct vv_exchange *exchange, const char *what, uint64_t bytes_max,
                        uint64_t stored)
{
    struct vv_error error = {0};
    vv_error_set(&error, VV_TOO_LARGE,
                 "the %s is larger than %llu bytes (see http.body_bytes_max); send it in several "
                 "requests",
                 what, (unsigned long long)bytes_max);
    vv_write_refuse(exchange, VV_TOO_LARGE, error.message, stored);
}

static bool is_welcome(struct vv_exchange *exchange)
{
    uint64_t bytes_max = (uint64_t)exchange->http->settings.http_body_bytes_max;
    if (exchange->body_declared != VV_BODY_UNKNOWN && exchange->body_declared > bytes_max) {
        refuse_size(exchange, "body", bytes_max, 0);
        return false;
    }
    struct vv_error error = {0};
    enum vv_status status = vv_engine_admit(exchange->http->engine, &error);
    if (status != VV_OK) {
        vv_write_refuse(exchange, status, error.message, 0);
        return false;
    }
    return true;
}

static void begin(struct vv_exchange *exchange)
{
    if (!is_welcome(exchange)) {
        return;
    }
    struct vv_write *write = calloc(1, sizeof *write);
    if (!write) {
        vv_exchange_fail(exchange, VV_NO_MEMORY, "out of memory; send the request again later");
        return;
    }
    write->exchange = exchange;
    exchange->state = write;
    atomic_fetch_add_explicit(&exchange->http->writes, 1, memory_order_relaxed);
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    enum vv_status status = vv_parameters_add_url(&parameters, exchange->connection, &error);
    if (status == VV_OK) {
        set_up(write, &parameters);
    } else {
        vv_exchange_fail(exchange, status, error.message);
    }
    vv_parameters_deinit(&parameters);
}

/* ---- batches ---- */

/* What one request may stage: all of ingest.batch_bytes_max for a few, a fair share for many. */
static size_t batch_bytes_max(struct vv_http *http)
{
    uint64_t most = (uint64_t)http->settings.batch_bytes_max;
    uint64_t writes = atomic_load_explicit(&http->writes, memory_order_relaxed);
    if (writes > WRITES_FULL_SIZE) {
        most = most * WRITES_FULL_SIZE / writes;
    }
    return (size_t)(most > SHARE_BYTES_MIN ? most : SHARE_BYTES_MIN);
}

static bool batch_is_full(const struct vv_write *write)
{
    return vv_staging_bytes(&write->staging) >= batch_bytes_max(write->exchange->http);
}

/* Runs under the door's lock, when the server stops. */
static bool abandon(struct vv_exchange *exchange)
{
    struct vv_write *write = exchange->state;
    return vv_ticket_abandon(write->ticket);
}

/* The staged batch; in the end, where the answer waits for the store and that has not confirmed all
 * that was handed in, an empty one if need be, to wait with. */
static struct vv_batch *next_batch(struct vv_write *write, bool last)
{
    struct vv_batch *batch = vv_staging_take_batch(&write->staging);
    if (!batch && last && write->to_store && write->stored > 0 && !write->confirmed &&
        vv_batch_create(write->staging.options.tenant, &batch) != VV_OK) {
        vv_write_fail(write, VV_NO_MEMORY, "out of memory; send the request again later");
    }
    return batch;
}

/* Hands the staged batch to the engine; the exchange is suspended until it is committed, or has
 * its answer. False when there was nothing to hand in. Only the last waits for the store: it has
 * what came before when it has that. Where rows are in doubt these are decided on first, and the
 * batch is handed in when this is called again. */
static bool submit(struct vv_write *write, bool last)
{
    if (vv_staging_is_in_doubt(&write->staging)) {
        vv_write_decide(write);
        return true;
    }
    struct vv_batch *batch = next_batch(write, last);
    if (!batch) {
        return write->exchange->reply.code != 0;
    }
    struct vv_ticket *ticket = vv_ticket_create(write->exchange, batch->points);
    write->ticket = ticket;
    if (!ticket || !vv_exchange_suspend(write->exchange, abandon)) {
        enum vv_status status = ticket ? VV_CANCELLED : VV_NO_MEMORY;
        free(ticket);
        write->ticket = NULL;
        vv_batch_destroy(batch);
        vv_write_fail(write, status,
                      ticket ? "the server is stopping; send the request again"
                             : "out of memory; send the request again later");
        return true;
    }
    struct vv_engine *engine = write->exchange->http->engine;
    write->confirmed = last && write->to_store; /* once its ticket says so */
    if (write->confirmed) {
        vv_engine_submit_to_store(engine, batch, vv_ticket_done, ticket);
    } else {
        vv_engine_submit(engine, batch, vv_ticket_done, ticket);
    }
    return true;
}

/* The client is gone, or the request failed, with points staged that were never handed in: they
 * were not received as far as the account goes. */
static void forget_staged(struct vv_staging *staging)
{
    struct vv_batch *batch = vv_staging_take_batch(staging);
    vv_staging_forget_doubt(staging);
    if (batch) {
        staging->points_received -= batch->points;
        staging->points_staged -= batch->points;
        vv_batch_destroy(batch);
    }
}

/* Once a request, when nothing of it is to come: before its answer where there is one, so that who
 * has the answer finds it in the account. */
static void account(struct vv_write *write)
{
    if (write->accounted) {
        return;
    }
    write->accounted = true;
    forget_staged(&write->staging);
    vv_engine_account(write->exchange->http->engine, &write->staging);
}

static void fail_staging(struct vv_write *write, enum vv_status status)
{
    const struct vv_error *failure = &write->staging.failure;
    bool is_other = failure->message[0] != '\0';
    vv_write_fail(write, is_other ? VV_OVERLOAD : status,
                  is_other ? failure->message : "out of memory; send the request again later");
}

/* After a resume: takes the outcome of the batch, or of what was in doubt. False with an answer
 * when it failed. */
static bool settle(struct vv_write *write)
{
    struct vv_ticket *ticket = write->ticket;
    if (write->staging.out_of_memory) {
        account(write);
        fail_staging(write, VV_NO_MEMORY);
        return false;
    }
    if (!ticket) {
        return true;
    }
    write->ticket = NULL;
    enum vv_status status = vv_ticket_outcome(ticket);
    if (status == VV_OK) {
        write->stored += ticket->points;
    } else {
        account(write);
        vv_write_fail(write, status, ticket->message);
    }
    vv_ticket_release(ticket);
    return status == VV_OK;
}

/* ---- the body ---- */

static bool parse(struct vv_write *write, const char *bytes, size_t size)
{
    enum vv_status status = write->json ? vv_json_parser_feed(write->json, bytes, size)
                                        : vv_line_parser_feed(write->lines, bytes, size);
    if (status != VV_OK) {
        fail_staging(write, status);
    }
    return status == VV_OK;
}

/* A broken coding: what came before it is good, the line that it cuts is not. */
static void damage(struct vv_write *write, const struct vv_error *error)
{
    write->damaged = true;
    write->damage = *error;
}

/* Decodes and parses some of the input. Stops when all is taken and made, when the batch is full,
 * or when it is others' turn; *again_out says that it stopped before its end. */
static size_t decode(struct vv_write *write, const char *bytes, size_t size, bool *again_out)
{
    uint64_t most = (uint64_t)write->exchange->http->settings.http_body_bytes_max;
    size_t at = 0;
    size_t made_in_turn = 0;
    *again_out = false;
    while (!write->exchange->reply.code && !write->damaged) {
        if (made_in_turn >= TURN_BYTES || batch_is_full(write)) {
            *again_out = true;
            break;
        }
        size_t taken = 0;
        size_t made = 0;
        struct vv_error error = {0};
        enum vv_status status = vv_decoder_step(&write->decoder, bytes + at, size - at, &taken,
                                                write->slice, VV_WRITE_SLICE_BYTES, &made, &error);
        at += taken;
        made_in_turn += made;
        write->decoded_bytes += made;
        if (made > 0 && !parse(write, write->slice, made)) {
            break;
        }
        if (status == VV_CORRUPT) {
            damage(write, &error);
        } else if (status != VV_OK) {
            vv_write_fail(write, status, error.message);
        } else if (write->decoded_bytes / DECODED_FACTOR_MAX > most) {
            refuse_size(write->exchange, "decoded body", most * DECODED_FACTOR_MAX, write->stored);
        } else if (taken == 0 && made == 0) {
            break;
        }
    }
    return write->damaged ? size : at;
}

/* Hands in a full batch, or lets the other connections of this thread have their turn. */
static void pause_decoding(struct vv_write *write)
{
    if (batch_is_full(write)) {
        submit(write, false);
    } else if (vv_exchange_suspend(write->exchange, NULL)) {
        vv_exchange_resume(write->exchange);
    } else {
        vv_write_fail(write, VV_CANCELLED, "the server is stopping; send the request again");
    }
}

static size_t feed(struct vv_exchange *exchange, const char *bytes, size_t size)
{
    struct vv_write *write = exchange->state;
    uint64_t most = (uint64_t)exchange->http->settings.http_body_bytes_max;
    if (!settle(write)) {
        return 0;
    }
    if (exchange->body_bytes + size > most) {
        refuse_size(exchange, "body", most, write->stored);
        return 0;
    }
    if (batch_is_full(write)) {
        submit(write, false);
        return 0;
    }
    if (write->damaged) {
        return size;
    }
    if (write->decoder.coding == VV_CODING_IDENTITY) {
        parse(write, bytes, size);
        return size;
    }
    bool again = false;
    size_t taken = decode(write, bytes, size, &again);
    /* Suspending is only allowed while something is left to be called for. */
    if (again && taken < size && !exchange->reply.code) {
        pause_decoding(write);
    }
    return taken;
}

/* ---- the end ---- */

/* Tells the parser that the body has ended; a body that broke off has no last line. */
static void finish_parsing(struct vv_write *write)
{
    write->parsed = true;
    if (!write->damaged && !vv_decoder_is_complete(&write->decoder)) {
        struct vv_error error = {0};
        vv_error_set(&error, VV_CORRUPT,
                     "the compressed body ends before its end; it was cut on its way");
        damage(write, &error);
    }
    if (write->damaged) {
        vv_staging_refuse_line(&write->staging, write->staging.lines + 1, 0, VV_REASON_SYNTAX,
                               write->damage.message);
        return;
    }
    enum vv_status status =
        write->json ? vv_json_parser_finish(write->json) : vv_line_parser_finish(write->lines);
    if (status != VV_OK) {
        fail_staging(write, status);
    }
}

static void finish(struct vv_exchange *exchange)
{
    struct vv_write *write = exchange->state;
    if (!settle(write)) {
        return;
    }
    if (!write->parsed && !write->damaged && write->decoder.coding != VV_CODING_IDENTITY) {
        bool again = false;
        decode(write, "", 0, &again); /* what the decoder still holds */
        if (again && !exchange->reply.code) {
            pause_decoding(write);
            return;
        }
    }
    if (!write->parsed && !exchange->reply.code) {
        finish_parsing(write);
    }
    if (!exchange->reply.code && !submit(write, true)) {
        account(write);
        vv_write_reply(write);
    }
}

static void release(struct vv_exchange *exchange)
{
    struct vv_write *write = exchange->state;
    if (!write) {
        return;
    }
    if (write->ticket) { /* the server stops: its outcome came, but nobody was to hear it */
        vv_ticket_release(write->ticket);
    }
    vv_line_parser_destroy(write->lines);
    vv_json_parser_destroy(write->json);
    if (write->staging_ready) {
        account(write);
        vv_staging_deinit(&write->staging);
    }
    vv_decoder_close(&write->decoder);
    free(write->slice);
    free(write);
    exchange->state = NULL;
    atomic_fetch_sub_explicit(&exchange->http->writes, 1, memory_order_relaxed);
}

const struct vv_handler vv_write_handler = {
    .begin = begin, .feed = feed, .finish = finish, .release = release};
