/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest value of each source and metric. The metrics of a measurement are looked for together,
 * backwards from the source's last time; where the head alone is certain to have them, the store
 * is not asked.
 */
#include "query/peers.h"
#include "query/result.h"

#include <stdlib.h>

static const char *const columns_json[] = {"source", "metric", "unit", "time", "value"};
static const char *const columns_csv[] = {"source", "metric", "time", "value"};

struct value {
    bool found;
    enum vv_value_type type;
    int64_t time;
    uint64_t bits;
};

struct vv_answer {
    bool with_units;
    size_t source; /* of the selection */
    size_t first;  /* metrics [first, first + n) of one measurement are looked for */
    size_t n;
    uint32_t *metrics; /* as many as the selection has; likewise the next two */
    enum vv_value_type *types;
    struct value *values;
    size_t n_found;
    size_t written; /* metrics that were looked for and written, or not found */
    struct vv_scan *scan;
};

static enum vv_status open_latest(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = calloc(1, sizeof *answer);
    result->answer = answer;
    if (!answer) {
        return vv_result_no_memory(error);
    }
    answer->with_units = result->format == VV_FORMAT_JSON;
    enum vv_status status = vv_result_select_to_read(result, true, true, error);
    if (status != VV_OK) {
        return status;
    }
    const struct vv_selection *selection = &result->selection;
    size_t room = selection->n_metrics ? selection->n_metrics : 1;
    answer->metrics = calloc(room, sizeof *answer->metrics);
    answer->types = calloc(room, sizeof *answer->types);
    answer->values = calloc(room, sizeof *answer->values);
    if (!answer->metrics || !answer->types || !answer->values) {
        return vv_result_no_memory(error);
    }
    for (size_t i = 0; i < selection->n_metrics; i++) {
        answer->metrics[i] = selection->metrics[i].metric;
        answer->types[i] = selection->metrics[i].type;
    }
    result->layout.name = "latest";
    result->layout.columns = answer->with_units ? columns_json : columns_csv;
    result->layout.n_columns = answer->with_units ? 5 : 4;
    return VV_OK;
}

static void close_latest(struct vv_result *result)
{
    struct vv_answer *answer = result->answer;
    vv_scan_close(answer->scan);
    free(answer->metrics);
    free(answer->types);
    free(answer->values);
    free(answer);
}

/* ---- looking ---- */

/* A metric of integers may have become one of floats: before, or while it was read. */
static void keep_value(struct vv_answer *answer, size_t index, const struct vv_rows *rows,
                       size_t row)
{
    struct value *value = &answer->values[answer->first + index];
    const struct vv_column *column = &rows->columns[index];
    enum vv_value_type type = answer->types[answer->first + index];
    uint64_t bits = column->values[row];
    if (column->type == VV_INT64 && type == VV_FLOAT64) {
        bits = vv_int_as_float(bits);
    } else if (column->type != VV_HEAD_UNTYPED) {
        type = column->type;
    }
    answer->n_found += !value->found;
    *value = (struct value){true, type, rows->times[row], bits};
}

/* The head's rows of one instant, in the order of writing: later ones win. */
static void take_instant(struct vv_answer *answer, const struct vv_rows *rows)
{
    for (size_t row = 0; row < rows->n_rows; row++) {
        for (size_t i = 0; i < answer->n; i++) {
            if (vv_column_has(&rows->columns[i], row)) {
                keep_value(answer, i, rows, row);
            }
        }
    }
}

static bool is_shown(const struct vv_query_context *context, uint32_t measurement, int64_t time)
{
    uint32_t place = vv_registry_stay(context->registry, measurement, time).place;
    int64_t now = context->clock->wall_ns(context->clock);
    return time >= vv_scan_oldest_of(context, measurement, place, now);
}

/*
 * The source's last time is read first. If the head has a row at or after it, no later one can be
 * in the store; and what the head has for an instant was written after what the store has for it.
 */
static enum vv_status look_at_head(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    const struct vv_query_context *context = &result->context;
    uint32_t source = result->selection.sources[answer->source];
    uint32_t measurement = result->selection.metrics[answer->first].measurement;
    int64_t first;
    int64_t last;
    int64_t head_first;
    int64_t head_last;
    bool has_deletions =
        context->deletions && vv_deletions_has(context->deletions, source); /* of what it has */
    if (has_deletions || vv_peers_may_write(context) || /* others may have a later one */
        !vv_registry_source_times(context->registry, source, &first, &last) ||
        !vv_head_series_times(context->head, source, measurement, &head_first, &head_last) ||
        head_last < last || head_last < result->from || head_last >= result->to ||
        !is_shown(context, measurement, head_last)) {
        return VV_OK;
    }
    struct vv_rows rows = {0};
    enum vv_status status =
        vv_head_read(context->head, source, measurement, head_last, head_last + 1,
                     answer->metrics + answer->first, answer->n, 0, &rows);
    if (status != VV_OK) {
        return vv_result_no_memory(error);
    }
    if (rows.n_rows > 0) {
        result->facts.points_read += rows.n_rows;
        take_instant(answer, &rows);
        vv_rows_free(&rows);
    }
    return VV_OK;
}

/* The next metrics of one measurement for the present source, or the next source. */
static enum vv_status begin_look(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    const struct vv_selection *selection = &result->selection;
    const struct vv_metric_info *metrics = selection->metrics;
    answer->n = 1;
    while (answer->first + answer->n < selection->n_metrics &&
           metrics[answer->first + answer->n].measurement == metrics[answer->first].measurement) {
        answer->n++;
    }
    memset(answer->values + answer->first, 0, answer->n * sizeof *answer->values);
    answer->n_found = answer->written = 0;
    enum vv_status status = look_at_head(result, error);
    if (status != VV_OK) {
        return status;
    }
    bool certain = answer->n_found == answer->n;
    struct vv_scan_options options = {
        .place = metrics[answer->first].first_place,
        .source = selection->sources[answer->source],
        .measurement = metrics[answer->first].measurement,
        .metrics = answer->metrics + answer->first,
        .types = answer->types + answer->first,
        .n_metrics = answer->n,
        .from = result->from,
        .to = certain ? result->from : result->to, /* nothing is left to be read */
        .descending = true,
        .few = true,
        .memory_max = vv_result_memory_left(result),
    };
    status = vv_scan_open(&result->context, &options, &result->facts, &answer->scan);
    return status == VV_OK ? status : vv_result_no_memory(error);
}

/* Takes what is not found yet, from the newest row on. */
static void take_chunk(struct vv_result *result, const struct vv_rows *rows)
{
    struct vv_answer *answer = result->answer;
    for (size_t i = 0; i < answer->n; i++) {
        const struct vv_column *column = &rows->columns[i];
        size_t row = rows->n_rows;
        while (!answer->values[answer->first + i].found && row > 0) {
            row--;
            result->facts.points_read++;
            if (vv_column_has(column, row)) {
                keep_value(answer, i, rows, row);
            }
        }
    }
}

/* ---- writing ---- */

static void write_value(struct vv_result *result, struct vv_buffer *buffer, size_t metric)
{
    struct vv_answer *answer = result->answer;
    const struct vv_metric_info *info = &result->selection.metrics[metric];
    const struct value *value = &answer->values[metric];
    struct vv_writer *writer = &result->writer;
    uint32_t source = result->selection.sources[answer->source];
    vv_result_begin(result, buffer);
    writer->ops->record_begin(writer, buffer);
    writer->ops->field_text(writer, buffer,
                            vv_registry_source_id(result->context.registry, source));
    writer->ops->field_text(writer, buffer, info->name);
    if (answer->with_units) {
        writer->ops->field_text(writer, buffer, info->unit);
    }
    writer->ops->field_time(writer, buffer, value->time, true);
    writer->ops->field_cell(writer, buffer, vv_cell_of_point(value->type, value->bits));
    writer->ops->record_end(writer, buffer);
    result->facts.rows++;
}

/* Writes what was found, a bounded amount; then goes on to what is looked for next. */
static void write_found(struct vv_result *result, struct vv_buffer *buffer)
{
    struct vv_answer *answer = result->answer;
    size_t before = buffer->size;
    while (answer->written < answer->n && buffer->size - before < VV_RESULT_PIECE_BYTES) {
        size_t metric = answer->first + answer->written++;
        if (answer->values[metric].found) {
            write_value(result, buffer, metric);
        }
    }
    if (answer->written < answer->n) {
        return;
    }
    vv_scan_close(answer->scan);
    answer->scan = NULL;
    answer->first += answer->n;
    if (answer->first == result->selection.n_metrics) {
        answer->first = 0;
        answer->source++;
    }
}

static enum vv_status advance_latest(struct vv_result *result, struct vv_buffer *buffer,
                                     struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    if (!answer->scan) {
        bool more = answer->source < result->selection.n_sources && result->selection.n_metrics > 0;
        return more ? begin_look(result, error) : VV_DONE;
    }
    const struct vv_rows *rows = NULL;
    enum vv_status status =
        answer->n_found == answer->n ? VV_DONE : vv_scan_next(answer->scan, &rows, error);
    if (status == VV_DONE) {
        answer->n_found = answer->n; /* or there is no more to be found */
        write_found(result, buffer);
        return VV_OK;
    }
    if (status == VV_OK && rows) {
        take_chunk(result, rows);
    }
    return status;
}

const struct vv_answer_ops vv_answer_latest = {
    .open = open_latest,
    .advance = advance_latest,
    .close = close_latest,
};
