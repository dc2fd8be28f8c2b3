/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates by source: each series' steps are written as they end. */
#include "query/answer_rows.h"
#include "query/walk.h"

#include <stdlib.h>

struct vv_answer {
    size_t source; /* of the selection; the series */
    size_t metric;
    struct vv_steps steps;
    struct vv_percentile_budget budget;
    struct vv_fold_spec spec;
    struct vv_fold fold;
    struct vv_walk walk;
    struct vv_sink sink;
    struct vv_arena arena; /* the series' tags */
    struct vv_str values[VV_GROUP_TAGS_MAX];
    struct vv_writer_series series;
    bool ended; /* the walk has; what is left is in the sink */
};

static enum vv_status open_steps(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = calloc(1, sizeof *answer);
    result->answer = answer;
    if (!answer || !vv_result_fold_spec(result, &answer->budget, &answer->spec)) {
        return vv_result_no_memory(error);
    }
    const struct vv_request *request = result->request;
    bool is_descending = request->descending && result->step_ns > 0;
    vv_result_layout_series(result);
    enum vv_status status =
        vv_result_select_to_read(result, is_descending, request->limit > 0, error);
    vv_result_steps(result, &answer->steps);
    return status;
}

static void close_steps(struct vv_result *result)
{
    struct vv_answer *answer = result->answer;
    vv_fold_deinit(&answer->spec, &answer->fold);
    vv_percentile_budget_deinit(&answer->budget);
    vv_walk_deinit(&answer->walk);
    vv_arena_deinit(&answer->arena);
    free(answer);
}

static enum vv_status open_series(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    const struct vv_request *request = result->request;
    uint32_t source = result->selection.sources[answer->source];
    const struct vv_metric_info *metric = &result->selection.metrics[answer->metric];
    vv_arena_deinit(&answer->arena);
    if (vv_result_group_values(result, source, &answer->arena, answer->values) != VV_OK) {
        return vv_result_no_memory(error);
    }
    answer->series = vv_result_series(vv_registry_source_id(result->context.registry, source),
                                      answer->values, metric);
    answer->ended = false;
    answer->spec.type = metric->type;
    vv_fold_clear(&answer->spec, &answer->fold);
    vv_sink_begin(&answer->sink, request, &answer->steps);
    struct vv_feed_options options = {
        .place = metric->first_place,
        .source = source,
        .metric = metric,
        .from = result->from,
        .to = result->to,
        .descending = request->descending && result->step_ns > 0,
        .few = request->limit > 0,
        .skip_nan = true,
        .where = &request->where,
        .memory_max = vv_result_memory_left(result),
    };
    struct vv_walk_plan plan = vv_result_walk_plan(result, &answer->steps, metric);
    plan.whole = vv_result_has_whole_rows(result);
    enum vv_status status =
        vv_walk_open(&answer->walk, &result->context, &options, &plan, &result->facts);
    return status == VV_OK ? status : vv_result_no_memory(error);
}

/* As for points: other metrics of a measurement that has nothing are passed over. */
static void end_series(struct vv_result *result, struct vv_buffer *buffer)
{
    struct vv_answer *answer = result->answer;
    const struct vv_selection *selection = &result->selection;
    uint32_t measurement = selection->metrics[answer->metric].measurement;
    if (result->writer.in_series) {
        result->writer.ops->series_end(&result->writer, buffer);
    }
    vv_walk_close(&answer->walk);
    do {
        answer->metric++;
    } while (!answer->walk.found && answer->metric < selection->n_metrics &&
             selection->metrics[answer->metric].measurement == measurement);
    if (answer->metric == selection->n_metrics) {
        answer->metric = 0;
        answer->source++;
    }
}

static void end_step(struct vv_result *result, struct vv_buffer *buffer, int64_t start)
{
    struct vv_answer *answer = result->answer;
    struct vv_cell cells[VV_AGGREGATES_MAX];
    vv_fold_read(&answer->spec, &answer->fold, cells);
    int64_t label = vv_result_label(result, start, answer->fold.step.first_time);
    if (vv_sink_pass(&answer->sink)) {
        vv_result_row(result, buffer, &answer->series, label, cells);
    } else {
        vv_sink_push(&answer->sink, label, cells);
    }
    vv_fold_clear(&answer->spec, &answer->fold);
    result->facts.percentile_error = answer->budget.error;
}

static enum vv_status take_event(struct vv_result *result, struct vv_buffer *buffer,
                                 struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    struct vv_walk_event event;
    enum vv_status status = vv_walk_next(&answer->walk, &event, error);
    if (status != VV_OK) {
        return status;
    }
    switch (event.kind) {
    case VV_WALK_PART:
        status = vv_fold_add(&answer->spec, &answer->fold, event.part.times, event.part.values,
                             event.part.n);
        return status == VV_OK ? status : vv_result_no_memory(error);
    case VV_WALK_MERGED:
        status = vv_fold_merge(&answer->spec, &answer->fold, event.merged.steps,
                               event.merged.sketches, event.merged.n);
        if (status == VV_OK && event.ends) {
            end_step(result, buffer, event.start);
        }
        return status == VV_OK ? status : vv_result_no_memory(error);
    case VV_WALK_WHOLE:
        vv_walk_take(&answer->walk,
                     vv_result_whole_rows(result, buffer, &answer->series, &answer->spec,
                                          &event.merged, answer->walk.options.descending));
        return VV_OK;
    case VV_WALK_STEP:
        vv_rate_add(answer->spec.type, &event.segment, &answer->fold.rate);
        end_step(result, buffer, event.start);
        return VV_OK;
    case VV_WALK_END:
        vv_sink_finish(&answer->sink);
        answer->ended = true;
        return VV_OK;
    default:
        return VV_OK;
    }
}

static enum vv_status advance_steps(struct vv_result *result, struct vv_buffer *buffer,
                                    struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    if (!vv_walk_is_open(&answer->walk)) {
        bool more = answer->source < result->selection.n_sources && result->selection.n_metrics > 0;
        return more ? open_series(result, error) : VV_DONE;
    }
    size_t before = buffer->size;
    enum vv_status status = VV_OK;
    do {
        if (vv_sink_is_pending(&answer->sink) &&
            vv_result_drain(result, buffer, &answer->sink, &answer->series)) {
            continue;
        }
        if (answer->ended || vv_sink_is_full(&answer->sink)) {
            end_series(result, buffer);
            return VV_OK;
        }
        status = take_event(result, buffer, error);
    } while (status == VV_OK && vv_walk_is_ready(&answer->walk) && !buffer->failed &&
             buffer->size - before < VV_RESULT_PIECE_BYTES);
    return status;
}

const struct vv_answer_ops vv_answer_steps = {
    .open = open_steps,
    .advance = advance_steps,
    .close = close_steps,
};
