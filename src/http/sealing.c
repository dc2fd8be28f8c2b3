/* SPDX-License-Identifier: Apache-2.0 */
/* GET /api/v1/sealing: what of a tenant waits to be sealed, or to be built into tiers. */
#include "http/blocking.h"
#include "http/http_private.h"
#include "http/parameters.h"

#include <inttypes.h>

#define DEFAULT_TENANT VV_STR_LITERAL("default")
#define LIMIT_DEFAULT  1000000
#define LIMIT_MOST     10000000

struct asked {
    struct vv_parameters parameters;
    struct vv_str tenant;
    int64_t from;
    int64_t to;
    uint64_t limit; /* of marks that are looked at */
    uint64_t after; /* a part, as another answer had it */
};

static enum vv_status read_time(const struct asked *asked, const char *name, int64_t *time_out,
                                struct vv_error *error)
{
    struct vv_str text = vv_parameters_find(&asked->parameters, name);
    enum vv_status status = text.data ? vv_time_parse(text, time_out, error) : VV_OK;
    return status == VV_OK ? VV_OK : vv_error_prefix(error, status, "%s", name);
}

static enum vv_status read_number(const struct asked *asked, const char *name, uint64_t least,
                                  uint64_t most, uint64_t *number_out, struct vv_error *error)
{
    struct vv_str text = vv_parameters_find(&asked->parameters, name);
    uint64_t number = 0;
    bool is_good = text.size > 0 && text.size <= 18;
    for (size_t i = 0; i < text.size && is_good; i++) {
        is_good = text.data[i] >= '0' && text.data[i] <= '9';
        number = 10 * number + (uint64_t)(text.data[i] - '0');
    }
    if (!text.data) {
        return VV_OK;
    }
    *number_out = number;
    return is_good && number >= least && number <= most
               ? VV_OK
               : vv_error_set(error, VV_INVALID, "%s must be a number from %" PRIu64 " to %" PRIu64,
                              name, least, most);
}

static enum vv_status read_asked(struct vv_exchange *exchange, struct asked *asked,
                                 struct vv_error *error)
{
    enum vv_status status = vv_parameters_add_url(&asked->parameters, exchange->connection, error);
    struct vv_str tenant = vv_parameters_find(&asked->parameters, "tenant");
    asked->tenant = tenant.data ? tenant : DEFAULT_TENANT;
    if (status == VV_OK) {
        status = read_time(asked, "from", &asked->from, error);
    }
    if (status == VV_OK) {
        status = read_time(asked, "to", &asked->to, error);
    }
    if (status == VV_OK && asked->from >= asked->to) {
        status = vv_error_set(error, VV_INVALID, "from must be before to");
    }
    if (status == VV_OK) {
        status = read_number(asked, "limit", 1, LIMIT_MOST, &asked->limit, error);
    }
    if (status == VV_OK) {
        status = read_number(asked, "after", 1, UINT32_MAX - 1, &asked->after, error);
    }
    return status;
}

/* Nothing is said to be sealed as a whole of which only a part was looked at. */
static void write_sealing(const struct vv_sealing *sealing, const struct asked *asked,
                          uint32_t part, struct vv_buffer *body)
{
    bool is_all = asked->after == 0 && part == VV_MARKS_END;
    uint64_t waiting = sealing->spans;
    for (int tier = 0; tier < VV_SPACES; tier++) {
        waiting += sealing->units[tier];
    }
    uint64_t left = waiting + sealing->deletions + sealing->damaged;
    vv_buffer_format(body,
                     "{\"sealed\":%s,\"waiting\":%" PRIu64 ",\"due\":%" PRIu64 ",\"raw\":%" PRIu64
                     ",\"minute\":%" PRIu64 ",\"hour\":%" PRIu64 ",\"day\":%" PRIu64
                     ",\"open\":%" PRIu64 ",\"deletions\":%" PRIu64 ",\"damaged\":%" PRIu64
                     ",\"kept\":%" PRIu64,
                     is_all && left == 0 ? "true" : "false", waiting, sealing->due, sealing->spans,
                     sealing->units[VV_SPACE_MINUTE], sealing->units[VV_SPACE_HOUR],
                     sealing->units[VV_SPACE_DAY], sealing->open, sealing->deletions,
                     sealing->damaged, sealing->kept);
    if (part != VV_MARKS_END) {
        vv_buffer_format(body, ",\"next\":%" PRIu32, part);
    }
    vv_buffer_text(body, "}\n");
}

static void work_sealing(struct vv_exchange *exchange)
{
    struct vv_error error = {0};
    struct vv_sealing sealing;
    struct asked asked = {.from = INT64_MIN, .to = INT64_MAX, .limit = LIMIT_DEFAULT};
    enum vv_status status = read_asked(exchange, &asked, &error);
    uint32_t part = (uint32_t)asked.after;
    if (status == VV_OK) {
        status = vv_engine_read_sealing(exchange->http->engine, asked.tenant, asked.from, asked.to,
                                        &part, asked.limit, &sealing, &error);
    }
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
    } else {
        vv_reply_begin(&exchange->reply, MHD_HTTP_OK, VV_TYPE_JSON);
        write_sealing(&sealing, &asked, part, &exchange->reply.body);
    }
    vv_parameters_deinit(&asked.parameters);
}

static void finish_sealing(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_sealing);
}

const struct vv_handler vv_sealing_handler = {.finish = finish_sealing,
                                              .release = vv_blocking_release};
