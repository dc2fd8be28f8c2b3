/* SPDX-License-Identifier: Apache-2.0 */
/* Flushing: POST /api/v1/flush. */
#include "http/blocking.h"
#include "http/http_private.h"
#include "http/parameters.h"

static bool wants_seal(const struct vv_exchange *exchange, bool *seal_out)
{
    struct vv_parameters parameters = {0};
    struct vv_error error = {0};
    bool valid = vv_parameters_add_url(&parameters, exchange->connection, &error) == VV_OK;
    struct vv_str seal = vv_parameters_find(&parameters, "seal");
    *seal_out = vv_str_equal(seal, VV_STR_LITERAL("true"));
    valid = valid && (*seal_out || !seal.data || vv_str_equal(seal, VV_STR_LITERAL("false")));
    vv_parameters_deinit(&parameters);
    return valid;
}

static void work_flush(struct vv_exchange *exchange)
{
    bool seal = false;
    if (!wants_seal(exchange, &seal)) {
        vv_exchange_fail(exchange, VV_INVALID, "seal must be true or false");
        return;
    }
    struct vv_error error = {0};
    enum vv_status status = vv_engine_flush(exchange->http->engine, seal, &error);
    if (status != VV_OK) {
        vv_exchange_fail(exchange, status, error.message);
        return;
    }
    vv_reply_empty(&exchange->reply, MHD_HTTP_NO_CONTENT);
}

static void finish_flush(struct vv_exchange *exchange)
{
    vv_blocking_finish(exchange, work_flush);
}

const struct vv_handler vv_flush_handler = {.finish = finish_flush, .release = vv_blocking_release};
