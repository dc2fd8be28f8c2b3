/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aggregates over groups of sources. One group and metric at a time: all its sources are folded
 * into the group's steps, which are kept together in memory, then written in order.
 */
#include "query/answer_rows.h"
#include "query/group_set.h"
#include "query/group_walk.h"
#include "query/step_table.h"

#include <stdlib.h>

/* 3/4 of the query's memory is for the groups and the steps of one, percentiles included. */
#define TABLE_SHARE_MAX 3
#define SHARES          4
#define SOURCES_AT_ONCE 1024u

enum phase { GROUPING, FOLDING, WRITING };

struct vv_answer {
    enum phase phase;
    struct vv_group_set set;
    size_t group; /* the group and metric that is being folded */
    size_t metric;
    uint8_t *absent; /* by ordered source: it has nothing of the metric's measurement */
    struct vv_steps steps;
    struct vv_percentile_budget budget;
    struct vv_fold_spec spec;
    struct vv_step_table table;
    size_t base_bytes; /* of the query, without the table */
    bool is_walking;
    struct vv_group_walk walk;
    struct vv_sink sink;
    size_t written; /* entries of the table that went into the sink */
    bool finished;  /* the sink knows */
};

static enum vv_status open_groups(struct vv_result *result, struct vv_error *error)
{
    const struct vv_request *request = result->request;
    struct vv_answer *answer = calloc(1, sizeof *answer);
    result->answer = answer;
    if (!answer || !vv_result_fold_spec(result, &answer->budget, &answer->spec)) {
        return vv_result_no_memory(error);
    }
    answer->set.n_tags = request->n_group_tags;
    answer->set.seed = (uint64_t)result->started_ns ^ (uint64_t)(uintptr_t)result;
    vv_result_layout_series(result);
    enum vv_status status = vv_result_select_to_read(result, false, false, error);
    vv_result_steps(result, &answer->steps);
    return status;
}

static void close_groups(struct vv_result *result)
{
    struct vv_answer *answer = result->answer;
    vv_group_walk_deinit(&answer->walk);
    vv_step_table_clear(&answer->spec, &answer->table);
    vv_percentile_budget_deinit(&answer->budget);
    vv_group_set_deinit(&answer->set);
    free(answer->absent);
    free(answer);
}

/* ---- grouping ---- */

static enum vv_status check_memory(struct vv_result *result, struct vv_error *error)
{
    const struct vv_answer *answer = result->answer;
    uint64_t limit = result->limits.memory_bytes_max;
    if (result->memory_bytes <= limit / SHARES * TABLE_SHARE_MAX) {
        return VV_OK;
    }
    if (answer->phase == GROUPING) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "the groups do not fit the query's memory (query.memory_bytes_max): "
                            "narrow it with source or tag, or group by fewer tags");
    }
    return vv_error_set(error, VV_TOO_LARGE,
                        "the steps of a group do not fit the query's memory "
                        "(query.memory_bytes_max): take a longer step, a shorter range, or "
                        "aggregates other than percentiles");
}

static enum vv_status add_source(struct vv_result *result, uint32_t source)
{
    struct vv_str values[VV_GROUP_TAGS_MAX];
    struct vv_arena arena = {0};
    enum vv_status status = vv_result_group_values(result, source, &arena, values);
    if (status == VV_OK && !vv_group_set_add(&result->answer->set, values)) {
        status = VV_NO_MEMORY;
    }
    vv_arena_deinit(&arena);
    return status;
}

/* Where nodes share the store, the sources of a cohort side by side, on all nodes in one order. */
static bool order_by_cohort(struct vv_result *result)
{
    const struct vv_group_set *set = &result->answer->set;
    struct vv_members *members = result->context.members;
    bool done = true;
    for (size_t i = 0; members && i < set->n_groups && done; i++) {
        const struct vv_group *group = &set->groups[i];
        uint32_t *sources = result->selection.sources + group->first;
        done = group->n < 2 || vv_members_order(members, sources, group->n) == VV_OK;
    }
    return done;
}

static enum vv_status finish_grouping(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    size_t n = result->selection.n_sources;
    answer->absent = calloc(n ? n : 1, 1);
    if (!answer->absent || !vv_group_set_order(&answer->set, result->selection.sources) ||
        !order_by_cohort(result)) {
        return vv_result_no_memory(error);
    }
    answer->base_bytes = result->memory_bytes + n;
    answer->phase = FOLDING;
    return VV_OK;
}

static enum vv_status group_some(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    const struct vv_selection *selection = &result->selection;
    size_t before = answer->set.bytes;
    for (size_t i = 0; i < SOURCES_AT_ONCE; i++) {
        if (answer->set.n_sources == selection->n_sources) {
            return finish_grouping(result, error);
        }
        if (add_source(result, selection->sources[answer->set.n_sources]) != VV_OK) {
            return vv_result_no_memory(error);
        }
    }
    result->memory_bytes += answer->set.bytes - before;
    return check_memory(result, error);
}

/* ---- folding ---- */

static const struct vv_group *group_of(const struct vv_answer *answer)
{
    return &answer->set.groups[answer->group];
}

static void begin_writing(struct vv_result *result)
{
    struct vv_answer *answer = result->answer;
    answer->phase = WRITING;
    answer->written = 0;
    answer->finished = false;
    vv_sink_begin(&answer->sink, result->request, &answer->steps);
}

static void begin_folding(struct vv_result *result)
{
    struct vv_answer *answer = result->answer;
    const struct vv_group *group = group_of(answer);
    const struct vv_group_walk_options options = {
        .result = result,
        .steps = &answer->steps,
        .metric = &result->selection.metrics[answer->metric],
        .sources = result->selection.sources + group->first,
        .n = group->n,
        .absent = answer->absent + group->first,
    };
    answer->spec.type = options.metric->type;
    answer->is_walking = true;
    vv_group_walk_open(&answer->walk, &options);
}

static enum vv_status fold_event(struct vv_result *result, const struct vv_walk_event *event,
                                 struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    struct vv_fold *fold = vv_step_table_find(&answer->table, event->start);
    if (!fold) {
        return vv_result_no_memory(error);
    }
    if (event->kind == VV_WALK_STEP) {
        vv_rate_add(answer->spec.type, &event->segment, &fold->rate);
        return VV_OK;
    }
    enum vv_status status = event->kind == VV_WALK_MERGED
                                ? vv_fold_merge(&answer->spec, fold, event->merged.steps,
                                                event->merged.sketches, event->merged.n)
                                : vv_fold_add(&answer->spec, fold, event->part.times,
                                              event->part.values, event->part.n);
    if (status != VV_OK) {
        return vv_result_no_memory(error);
    }
    result->memory_bytes = answer->base_bytes + answer->table.bytes + answer->budget.bytes;
    return check_memory(result, error);
}

static enum vv_status fold_some(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    struct vv_walk_event event;
    if (!answer->is_walking) {
        begin_folding(result);
    }
    enum vv_status status;
    do {
        status = vv_group_walk_next(&answer->walk, &event, error);
        if (status != VV_OK || event.kind == VV_WALK_WORK) {
            return status;
        }
        if (event.kind != VV_WALK_END) {
            status = fold_event(result, &event, error);
        }
    } while (status == VV_OK && vv_group_walk_is_ready(&answer->walk));
    if (status != VV_OK || event.kind != VV_WALK_END) {
        return status;
    }
    vv_group_walk_close(&answer->walk);
    answer->is_walking = false;
    begin_writing(result);
    return vv_step_table_sort(&answer->table) ? VV_OK : vv_result_no_memory(error);
}

/* ---- writing ---- */

static void push_next(struct vv_result *result)
{
    struct vv_answer *answer = result->answer;
    struct vv_cell cells[VV_AGGREGATES_MAX];
    size_t n = answer->table.n;
    size_t index = result->request->descending ? n - 1 - answer->written : answer->written;
    struct vv_step_entry *entry = vv_step_table_sorted(&answer->table, index);
    vv_fold_read(&answer->spec, &entry->fold, cells);
    vv_sink_push(&answer->sink, vv_result_label(result, entry->start, entry->fold.step.first_time),
                 cells);
    answer->written++;
    result->facts.percentile_error = answer->budget.error;
}

static void next_metric(struct vv_result *result, struct vv_buffer *buffer)
{
    struct vv_answer *answer = result->answer;
    const struct vv_selection *selection = &result->selection;
    const struct vv_group *group = group_of(answer);
    uint32_t measurement = selection->metrics[answer->metric].measurement;
    if (result->writer.in_series) {
        result->writer.ops->series_end(&result->writer, buffer);
    }
    vv_step_table_clear(&answer->spec, &answer->table);
    result->memory_bytes = answer->base_bytes;
    if (++answer->metric == selection->n_metrics) {
        answer->metric = 0;
        answer->group++;
    } else if (selection->metrics[answer->metric].measurement != measurement) {
        memset(answer->absent + group->first, 0, group->n);
    }
    answer->phase = FOLDING;
}

static void write_some(struct vv_result *result, struct vv_buffer *buffer)
{
    struct vv_answer *answer = result->answer;
    struct vv_writer_series series =
        vv_result_series((struct vv_str){NULL, 0}, group_of(answer)->values,
                         &result->selection.metrics[answer->metric]);
    if (vv_result_drain(result, buffer, &answer->sink, &series)) {
        return;
    }
    if (answer->written < answer->table.n && !vv_sink_is_full(&answer->sink)) {
        push_next(result);
    } else if (!answer->finished) {
        vv_sink_finish(&answer->sink);
        answer->finished = true;
    } else {
        next_metric(result, buffer);
    }
}

static enum vv_status advance_groups(struct vv_result *result, struct vv_buffer *buffer,
                                     struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    if (answer->phase == GROUPING) {
        return group_some(result, error);
    }
    if (answer->group == answer->set.n_groups || result->selection.n_metrics == 0) {
        return VV_DONE;
    }
    if (answer->phase == FOLDING) {
        return fold_some(result, error);
    }
    write_some(result, buffer);
    return VV_OK;
}

const struct vv_answer_ops vv_answer_groups = {
    .open = open_groups,
    .advance = advance_groups,
    .close = close_groups,
};
