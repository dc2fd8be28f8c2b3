/* SPDX-License-Identifier: Apache-2.0 */
/* /api/v1/reroll: builds tiers again, compares and repairs; and how far that is. */
#include "http/blocking.h"
#include "http/http_private.h"
#include "http/json_text.h"
#include "http/parameters.h"

#include <inttypes.h>

#define BODY_BYTES_MAX (1u << 20)

/* As in enum vv_reroll_verdict. */
static const char *const verdicts[VV_REROLL_VERDICTS] = {
    "nothing", "same",    "different", "missing", "open", "waiting",
    "gone",    "expired", "unsealed",  "damaged", "away"};

static void write_time(struct vv_buffer *body, const char *name, int64_t time)
{
    char text[VV_TIME_TEXT_SIZE];
    vv_time_format(time, text);
    vv_buffer_format(body, ",\"%s\":\"%s\"", name, text);
}

static void write_name(struct vv_buffer *body, const char *name, struct vv_str text)
{
    vv_buffer_format(body, ",\"%s\":", name);
    vv_json_text(body, text);
}

static void write_example(struct vv_engine *engine, const struct vv_rerolled_unit *unit,
                          struct vv_buffer *body)
{
    const struct vv_reroll_result *result = &unit->result;
    vv_buffer_format(body, "{\"tier\":\"%.*s\"", VV_STR_ARG(vv_space_word(unit->tier)));
    write_name(body, "source", vv_engine_source_id(engine, unit->source));
    write_name(body, "measurement", vv_engine_measurement(engine, unit->measurement));
    write_time(body, "from", result->unit.from);
    write_time(body, "to", result->unit.to);
    vv_buffer_format(body, ",\"verdict\":\"%s\",\"repaired\":%s", verdicts[result->verdict],
                     result->is_repaired ? "true" : "false");
    if (result->what) {
        vv_buffer_format(body, ",\"steps\":%" PRIu64, result->steps);
        write_name(body, "metric", vv_engine_metric(engine, result->metric));
        write_time(body, "step", result->start);
        write_name(body, "what", vv_str_of(result->what));
    }
    vv_buffer_text(body, "}");
}

static void write_counts(const struct vv_rerolled *rerolled, const char *name, int first, int end,
                         struct vv_buffer *body)
{
    vv_buffer_format(body, ",\"%s\":{", name);
    for (int i = first; i < end; i++) {
        vv_buffer_format(body, "%s\"%s\":%" PRIu64, i > first ? "," : "", verdicts[i],
                         rerolled->units[i]);
    }
    vv_buffer_text(body, "}");
}

static void write_rerolled(struct vv_engine *engine, const struct vv_rerolled *rerolled,
                           struct vv_buffer *body)
{
    static const char *const states[] = {"running", "done", "cancelled", "failed"};
    vv_buffer_format(body,
                     "{\"id\":%" PRIu64 ",\"state\":\"%s\",\"dry_run\":%s,\"sources\":%" PRIu64
                     ",\"sources_done\":%" PRIu64,
                     rerolled->id, states[rerolled->state], rerolled->dry_run ? "true" : "false",
                     rerolled->sources, rerolled->sources_done);
    write_counts(rerolled, "units", VV_REROLL_SAME, VV_REROLL_EXPIRED, body);
    vv_buffer_format(body, ",\"repaired\":%" PRIu64, rerolled->repaired);
    write_counts(rerolled, "refused", VV_REROLL_EXPIRED, VV_REROLL_VERDICTS, body);
    vv_buffer_text(body, ",\"examples\":[");
    for (size_t i = 0; i < rerolled->n_examples; i++) {
        vv_buffer_text(body, i > 0 ? "," : "");
        write_example(engine, &rerolled->examples[i], body);
    }
    vv_buffer_text(body, "]");
    if (rerolled->state == VV_REROLLED_FAILED) {
        write_name(body, "error", vv_str_of(rerolled->error.message));
    }
    vv_buffer_text(body, "}\n");
}

/* Answers how far it is. */
static void tell(struct vv_exchange *exchange, uint64_t id, bool cancel, unsigned code)
{
    struct vv_error error = {0};
    struct vv_rerolled rerolled;
    struct vv_engine *engine = exchange->http->engine;
    enum vv_status status = vv_engine_read_reroll(engine, id, cancel, &rerolled, &error);
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        return;
    }
    vv_reply_begin(&exchange->reply, code, VV_TYPE_JSON);
    write_rerolled(engine, &rerolled, &exchange->reply.body);
}

static void work_reroll(struct vv_exchange *exchange)
{
    struct vv_error error = {0};
    struct vv_request *request = NULL;
    uint64_t id;
    enum vv_status status = vv_exchange_parse_request(exchange, &request, &error);
    if (status == VV_OK) {
        status = vv_engine_reroll(exchange->http->engine, request, &id, &error);
        vv_request_destroy(request);
    }
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        return;
    }
    tell(exchange, id, false, MHD_HTTP_ACCEPTED);
}

static void finish_reroll(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_reroll);
}

const struct vv_handler vv_reroll_handler = {
    .finish = finish_reroll, .release = vv_blocking_release, .body_bytes_max = BODY_BYTES_MAX};

/* ---- how far it is ---- */

static void work_rerolled(struct vv_exchange *exchange)
{
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    uint64_t id = 0;
    enum vv_status status = vv_parameters_add_url(&parameters, exchange->connection, &error);
    struct vv_str text = vv_parameters_find(&parameters, "id");
    bool cancel = vv_str_equal(vv_parameters_find(&parameters, "cancel"), VV_STR_LITERAL("true"));
    bool is_number = text.size > 0 && text.size < 19;
    for (size_t i = 0; i < text.size && is_number; i++) {
        is_number = text.data[i] >= '0' && text.data[i] <= '9';
        id = id * 10 + (uint64_t)(text.data[i] - '0');
    }
    if (status == VV_OK && !is_number) {
        status = vv_error_set(&error, VV_INVALID,
                              "id must be the number that POST /api/v1/reroll answered");
    }
    if (status == VV_OK) {
        tell(exchange, id, cancel && exchange->route->kind == VV_REROLL_CANCELS, MHD_HTTP_OK);
    } else {
        vv_exchange_fail(exchange, status, error.message);
    }
    vv_parameters_deinit(&parameters);
}

static void finish_rerolled(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_rerolled);
}

const struct vv_handler vv_rerolled_handler = {.finish = finish_rerolled,
                                               .release = vv_blocking_release};
