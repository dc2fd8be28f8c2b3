/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, driving and ending a query, whatever its kind. */
#include "query/result.h"

#include "query/fetch.h"
#include "query/peers.h"

#include <stdlib.h>

#define WORK_ROWS_MAX 200000u               /* one call reads about so many */
#define WORK_NS_MAX   (20 * VV_MILLISECOND) /* and takes about so long */
#define WORK_PIECES   8                     /* between two looks at the clock */

enum vv_status vv_result_no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory for the query");
}

size_t vv_result_memory_left(const struct vv_result *result)
{
    uint64_t limit = result->limits.memory_bytes_max;
    return limit > result->memory_bytes ? (size_t)(limit - result->memory_bytes) : 1;
}

void vv_result_begin(struct vv_result *result, struct vv_buffer *buffer)
{
    if (!result->writer.begun) {
        result->writer.ops->begin(&result->writer, buffer);
    }
}

/* ---- open and close ---- */

static const struct vv_answer_ops *choose_ops(const struct vv_request *request)
{
    switch (request->kind) {
    case VV_REQUEST_LATEST:
        return &vv_answer_latest;
    case VV_REQUEST_SOURCES:
        return &vv_answer_sources;
    case VV_REQUEST_METRICS:
        return &vv_answer_metrics;
    case VV_REQUEST_TAGS:
        return &vv_answer_tags;
    case VV_REQUEST_EXPORT:
        return &vv_answer_export;
    default:
        break;
    }
    if (request->n_aggregates == 0) {
        return &vv_answer_points;
    }
    return request->grouped ? &vv_answer_groups : &vv_answer_steps;
}

/* Without `to`, an answer reaches to the newest point that may have been accepted. */
static void choose_range(struct vv_result *result)
{
    const struct vv_request *request = result->request;
    result->from = request->from;
    result->to = request->to;
    if (!request->has_to) {
        __int128 to = (__int128)request->now_ns + result->limits.future_ns_max + 1;
        if (to < VV_TIME_MIN) {
            to = VV_TIME_MIN;
        }
        result->to = to > VV_TIME_MAX ? VV_TIME_MAX + 1 : (int64_t)to;
    }
}

static enum vv_status open_answer(struct vv_result *result, struct vv_error *error)
{
    const struct vv_request *request = result->request;
    choose_range(result);
    enum vv_status status = vv_registry_tenant(result->context.registry, request->tenant, false,
                                               &result->tenant, error);
    if (status != VV_OK) {
        return status;
    }
    if (request->kind == VV_REQUEST_QUERY) {
        status = vv_result_choose_step(result, error);
        if (status != VV_OK) {
            return status;
        }
    }
    result->layout.tenant = request->tenant;
    status = result->ops->open(result, error);
    if (status == VV_OK) {
        vv_writer_init(&result->writer, result->format, request->time_format, &result->layout);
    }
    return status;
}

enum vv_status vv_result_open(const struct vv_query_context *context,
                              const struct vv_query_limits *limits, struct vv_request *take_request,
                              enum vv_format format, struct vv_result **result_out,
                              struct vv_error *error)
{
    *result_out = NULL;
    struct vv_result *result = calloc(1, sizeof *result);
    if (!result) {
        vv_request_destroy(take_request);
        return vv_result_no_memory(error);
    }
    result->context = *context;
    result->limits = *limits;
    result->request = take_request;
    result->format = vv_request_format(take_request, format);
    result->ops = choose_ops(take_request);
    result->context.partial = take_request->partial;
    result->started_ns = context->clock->monotonic_ns(context->clock);
    result->context.fetch = vv_fetch_create(&result->context, limits->memory_bytes_max);
    enum vv_status status = vv_peers_note(&result->context, &result->facts);
    status = status == VV_OK ? open_answer(result, error) : vv_result_no_memory(error);
    if (status != VV_OK) {
        vv_result_close(result);
        return status;
    }
    *result_out = result;
    return VV_OK;
}

void vv_result_close(struct vv_result *result)
{
    if (!result) {
        return;
    }
    if (result->answer) {
        result->ops->close(result);
    }
    vv_writer_deinit(&result->writer);
    vv_fetch_destroy(result->context.fetch);
    free(result->selection.sources);
    free(result->selection.metrics);
    vv_request_destroy(result->request);
    free(result);
}

/* ---- writing ---- */

static void end(struct vv_result *result, struct vv_buffer *buffer, enum vv_status status,
                const char *message)
{
    int64_t now = result->context.clock->monotonic_ns(result->context.clock);
    result->facts.duration_ns = now - result->started_ns;
    result->facts.complete = status == VV_OK && result->facts.partitions_missing == 0;
    struct vv_writer_end details = {
        .facts = &result->facts,
        .registry = result->context.registry,
        .step_ns = result->step_ns,
        .next = result->next,
        .status = status,
        .message = message,
    };
    result->writer.ops->end(&result->writer, buffer, &details);
    result->ended = true;
}

/* How the writer and the buffer stand between two rows: what a failed piece of work returns to. */
struct mark {
    size_t size;
    bool begun, in_series;
    size_t items, rows;
    uint64_t facts_rows;
};

static struct mark set_mark(const struct vv_result *result, const struct vv_buffer *buffer)
{
    const struct vv_writer *writer = &result->writer;
    return (struct mark){buffer->size,  writer->begun, writer->in_series,
                         writer->items, writer->rows,  result->facts.rows};
}

static void return_to(struct vv_result *result, struct vv_buffer *buffer, const struct mark *mark)
{
    struct vv_writer *writer = &result->writer;
    buffer->size = mark->size;
    writer->begun = mark->begun;
    writer->in_series = mark->in_series;
    writer->in_record = false;
    writer->items = mark->items;
    writer->rows = mark->rows;
    result->facts.rows = mark->facts_rows;
}

static enum vv_status check_buffer(const struct vv_result *result, const struct vv_buffer *buffer,
                                   struct vv_error *error)
{
    enum vv_status status = vv_buffer_status(buffer);
    if (status == VV_TOO_LARGE) {
        return vv_error_set(error, status, "the answer's buffer is too small for a row");
    }
    if (status != VV_OK || result->writer.failed) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for the answer");
    }
    return VV_OK;
}

static enum vv_status check_time(const struct vv_result *result, int64_t now,
                                 struct vv_error *error)
{
    if (result->limits.time_ns_max <= 0 || now - result->started_ns < result->limits.time_ns_max) {
        return VV_OK;
    }
    char limit[VV_TIME_TEXT_SIZE];
    vv_duration_format(result->limits.time_ns_max, limit);
    return vv_error_set(error, VV_TIMEOUT,
                        "the query took longer than %s (query.time_max): narrow from and to, "
                        "source or metric, or take a limit",
                        limit);
}

/* One piece of work, or the end of the answer; all of it or nothing is in the buffer. */
static enum vv_status work(struct vv_result *result, struct vv_buffer *buffer,
                           struct vv_error *error)
{
    struct mark mark = set_mark(result, buffer);
    enum vv_status status = result->ops->advance(result, buffer, error);
    if (status == VV_DONE) {
        end(result, buffer, VV_OK, "");
    }
    if (status == VV_OK || status == VV_DONE) {
        enum vv_status check = check_buffer(result, buffer, error);
        status = check == VV_OK ? status : check;
    }
    if (status != VV_OK && status != VV_DONE) {
        return_to(result, buffer, &mark);
        result->ended = false;
    }
    return status;
}

/* Some pieces of work, until there is enough. */
static enum vv_status work_some(struct vv_result *result, struct vv_buffer *buffer,
                                size_t enough_size, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (int i = 0; i < WORK_PIECES && status == VV_OK && buffer->size < enough_size; i++) {
        status = work(result, buffer, error);
    }
    return status;
}

enum vv_status vv_result_write(struct vv_result *result, struct vv_buffer *buffer, size_t enough,
                               struct vv_error *error)
{
    if (result->ended) {
        return VV_DONE;
    }
    struct vv_clock *clock = result->context.clock;
    struct mark start = set_mark(result, buffer);
    size_t enough_size = enough < SIZE_MAX - start.size ? start.size + enough : SIZE_MAX;
    uint64_t points = result->facts.points_read;
    int64_t now = clock->monotonic_ns(clock);
    int64_t until = now + WORK_NS_MAX;
    enum vv_status status = VV_OK;
    while (status == VV_OK && buffer->size < enough_size && now < until &&
           result->facts.points_read - points < WORK_ROWS_MAX) {
        status = check_time(result, now, error);
        if (status == VV_OK) {
            status = work_some(result, buffer, enough_size, error);
        }
        now = clock->monotonic_ns(clock);
    }
    if (status != VV_OK && status != VV_DONE && !result->written) {
        return_to(result, buffer, &start); /* the caller can still answer with the error alone */
    }
    result->written = result->written || buffer->size > start.size;
    return status;
}

void vv_result_abort(struct vv_result *result, struct vv_buffer *buffer, enum vv_status status,
                     const struct vv_error *error)
{
    if (!result->ended) {
        end(result, buffer, status, error ? error->message : "");
    }
}

void vv_result_read_facts(const struct vv_result *result, struct vv_result_facts *facts_out)
{
    *facts_out = result->facts;
    if (!result->ended) {
        struct vv_clock *clock = result->context.clock;
        facts_out->duration_ns = clock->monotonic_ns(clock) - result->started_ns;
    }
}
