/* SPDX-License-Identifier: Apache-2.0 */
/* Points as they were stored, series by series. */
#include "query/result.h"

#include <stdlib.h>

#define ROWS_AT_ONCE 64u
#define LIMIT_FEW    4096u

struct vv_answer {
    size_t source; /* of the selection; the next series */
    size_t metric;
    struct vv_feed feed;
    struct vv_slice slice;
    size_t given;   /* points of the slice that were written */
    uint64_t left;  /* rows of the series that may still be written */
    bool in_series; /* its head was written */
};

static enum vv_status open_points(struct vv_result *result, struct vv_error *error)
{
    result->answer = calloc(1, sizeof *result->answer);
    if (!result->answer) {
        return vv_result_no_memory(error);
    }
    const struct vv_request *request = result->request;
    vv_result_layout_series(result);
    return vv_result_select_to_read(result, request->descending,
                                    request->limit > 0 && request->limit <= LIMIT_FEW, error);
}

static void close_points(struct vv_result *result)
{
    vv_feed_deinit(&result->answer->feed);
    free(result->answer);
}

static enum vv_status open_series(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    const struct vv_request *request = result->request;
    struct vv_feed_options options = {
        .place = result->selection.metrics[answer->metric].first_place,
        .source = result->selection.sources[answer->source],
        .metric = &result->selection.metrics[answer->metric],
        .from = result->from,
        .to = result->to,
        .descending = request->descending,
        .few = request->limit > 0 && request->limit <= LIMIT_FEW,
        .where = &request->where,
        .memory_max = vv_result_memory_left(result),
    };
    answer->slice.n = answer->given = 0;
    answer->left = request->limit ? request->limit : UINT64_MAX;
    answer->in_series = false;
    enum vv_status status = vv_feed_open(&answer->feed, &result->context, &options, &result->facts);
    return status == VV_OK ? status : vv_result_no_memory(error);
}

/* Goes on to the next series. Where a whole range has nothing of a measurement, its other metrics
 * are passed over. */
static void next_series(struct vv_result *result, bool found)
{
    struct vv_answer *answer = result->answer;
    const struct vv_selection *selection = &result->selection;
    uint32_t measurement = selection->metrics[answer->metric].measurement;
    do {
        answer->metric++;
    } while (!found && answer->metric < selection->n_metrics &&
             selection->metrics[answer->metric].measurement == measurement);
    if (answer->metric == selection->n_metrics) {
        answer->metric = 0;
        answer->source++;
    }
}

static void end_series(struct vv_result *result, struct vv_buffer *buffer)
{
    struct vv_answer *answer = result->answer;
    bool found = answer->in_series || vv_scan_found(answer->feed.scan);
    if (answer->in_series) {
        result->writer.ops->series_end(&result->writer, buffer);
    }
    vv_feed_close(&answer->feed);
    answer->in_series = false;
    next_series(result, found);
}

static enum vv_status begin_series(struct vv_result *result, struct vv_buffer *buffer)
{
    struct vv_answer *answer = result->answer;
    uint32_t source = result->selection.sources[answer->source];
    struct vv_str values[VV_GROUP_TAGS_MAX];
    struct vv_arena arena = {0};
    enum vv_status status = vv_result_group_values(result, source, &arena, values);
    struct vv_writer_series series =
        vv_result_series(vv_registry_source_id(result->context.registry, source), values,
                         &result->selection.metrics[answer->metric]);
    if (status == VV_OK) {
        vv_result_begin(result, buffer);
        result->writer.ops->series_begin(&result->writer, buffer, &series);
        answer->in_series = true;
    }
    vv_arena_deinit(&arena);
    return status;
}

static void write_rows(struct vv_result *result, struct vv_buffer *buffer)
{
    struct vv_answer *answer = result->answer;
    size_t n = answer->slice.n - answer->given;
    n = n < ROWS_AT_ONCE ? n : ROWS_AT_ONCE;
    n = n < answer->left ? n : (size_t)answer->left;
    bool backwards = result->request->descending;
    size_t first = backwards ? answer->slice.n - answer->given - n : answer->given;
    vv_writer_points(&result->writer, buffer, &answer->slice, answer->feed.type, first, n,
                     backwards);
    answer->given += n;
    answer->left -= n;
    result->facts.rows += n;
}

static void write_some(struct vv_result *result, struct vv_buffer *buffer)
{
    struct vv_answer *answer = result->answer;
    size_t before = buffer->size;
    do {
        write_rows(result, buffer);
    } while (answer->given < answer->slice.n && answer->left > 0 && !buffer->failed &&
             buffer->size - before < VV_RESULT_PIECE_BYTES);
}

static enum vv_status advance_points(struct vv_result *result, struct vv_buffer *buffer,
                                     struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    if (!vv_feed_is_open(&answer->feed)) {
        bool more = answer->source < result->selection.n_sources && result->selection.n_metrics > 0;
        return more ? open_series(result, error) : VV_DONE;
    }
    if (answer->given < answer->slice.n && answer->left > 0) {
        if (!answer->in_series && begin_series(result, buffer) != VV_OK) {
            return vv_result_no_memory(error);
        }
        write_some(result, buffer);
        return VV_OK;
    }
    answer->given = 0;
    enum vv_status status =
        answer->left == 0 ? VV_DONE : vv_feed_next(&answer->feed, &answer->slice, error);
    if (status == VV_DONE) {
        end_series(result, buffer);
        return VV_OK;
    }
    return status;
}

const struct vv_answer_ops vv_answer_points = {
    .open = open_points,
    .advance = advance_points,
    .close = close_points,
};
