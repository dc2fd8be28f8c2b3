/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All points: sources in the order of their ids; of a source one measurement after the other by
 * name; of those rows ascending in time, with all their fields. The order depends on nothing but
 * the points, so two servers that hold the same give the same bytes.
 *
 * Tags that change (those of sources with an id tag) are given as they were at each row's time.
 */
#include "query/export_text.h"
#include "query/fetch.h"
#include "query/result.h"

#include <stdlib.h>

static const char *const columns[] = {"source", "measurement", "field", "time", "type", "value"};

struct measurement {
    uint32_t number;
    struct vv_str name;
    size_t first; /* of its metrics */
    size_t n;
};

struct vv_answer {
    struct measurement *measurements;
    size_t n_measurements;
    uint32_t *metrics; /* by measurement, then by field */
    enum vv_value_type *types;
    struct vv_str *fields; /* as they are written; data into `names` */
    struct vv_export_column *columns;
    struct vv_buffer names;
    size_t source; /* the next or present one */
    size_t measurement;
    struct vv_scan *scan;
    const struct vv_rows *rows;
    size_t given; /* of the rows */
    struct vv_arena arena;
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX]; /* of the source; in the arena */
    size_t n_versions;
    bool has_head;
    struct vv_buffer head; /* good for times in [head_from, head_to) */
    int64_t head_from;
    int64_t head_to;
};

/* ---- what is asked for ---- */

static int compare_ids(const void *a, const void *b, void *context)
{
    struct vv_registry *registry = context;
    return vv_str_compare(vv_registry_source_id(registry, *(const uint32_t *)a),
                          vv_registry_source_id(registry, *(const uint32_t *)b));
}

static int compare_metrics(const void *a, const void *b, void *context)
{
    const struct vv_metric_info *x = a;
    const struct vv_metric_info *y = b;
    struct vv_registry *registry = context;
    if (x->measurement == y->measurement) {
        return vv_str_compare(x->name, y->name);
    }
    return vv_str_compare(vv_registry_measurement_name(registry, x->measurement),
                          vv_registry_measurement_name(registry, y->measurement));
}

static bool is_wanted(const struct vv_request *request, struct vv_str measurement)
{
    bool wanted = request->measurements.n == 0;
    for (size_t i = 0; i < request->measurements.n && !wanted; i++) {
        wanted = vv_glob_match(request->measurements.items[i], measurement);
    }
    return wanted;
}

/* Drops the metrics of measurements that are not asked for. */
static enum vv_status choose_measurements(struct vv_result *result, struct vv_error *error)
{
    struct vv_selection *selection = &result->selection;
    size_t before = selection->n_metrics;
    size_t kept = 0;
    for (size_t i = 0; i < selection->n_metrics; i++) {
        struct vv_str name = vv_registry_measurement_name(result->context.registry,
                                                          selection->metrics[i].measurement);
        if (is_wanted(result->request, name)) {
            selection->metrics[kept++] = selection->metrics[i];
        }
    }
    selection->n_metrics = kept;
    if (kept == 0 && before > 0) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such measurement");
    }
    return VV_OK;
}

static struct vv_str field_of(const struct vv_metric_info *metric, struct vv_str measurement)
{
    size_t skipped = measurement.size + 1; /* and the dot */
    return (struct vv_str){metric->name.data + skipped, metric->name.size - skipped};
}

static bool allocate(struct vv_answer *answer, size_t n)
{
    n = n ? n : 1;
    answer->measurements = calloc(n, sizeof *answer->measurements);
    answer->metrics = calloc(n, sizeof *answer->metrics);
    answer->types = calloc(n, sizeof *answer->types);
    answer->fields = calloc(n, sizeof *answer->fields);
    answer->columns = calloc(n, sizeof *answer->columns);
    return answer->measurements && answer->metrics && answer->types && answer->fields &&
           answer->columns;
}

static void add_metric(struct vv_answer *answer, size_t index, const struct vv_metric_info *metric,
                       struct vv_str measurement)
{
    struct measurement *last = &answer->measurements[answer->n_measurements];
    if (index == 0 || last[-1].number != metric->measurement) {
        *last = (struct measurement){metric->measurement, measurement, index, 0};
        answer->n_measurements++;
        last++;
    }
    last[-1].n++;
    answer->metrics[index] = metric->metric;
    answer->types[index] = metric->type;
}

/* The metrics in their order, and the names of their fields as they are written. */
static enum vv_status prepare_metrics(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    struct vv_selection *selection = &result->selection;
    struct vv_registry *registry = result->context.registry;
    enum vv_status status = VV_OK;
    if (!allocate(answer, selection->n_metrics)) {
        return vv_result_no_memory(error);
    }
    if (selection->n_metrics > 1) {
        qsort_r(selection->metrics, selection->n_metrics, sizeof *selection->metrics,
                compare_metrics, registry);
    }
    for (size_t i = 0; i < selection->n_metrics && status == VV_OK; i++) {
        const struct vv_metric_info *metric = &selection->metrics[i];
        struct vv_str name = vv_registry_measurement_name(registry, metric->measurement);
        size_t before = answer->names.size;
        add_metric(answer, i, metric, name);
        status = vv_export_field(&answer->names, result->format, field_of(metric, name), error);
        answer->fields[i].size = answer->names.size - before;
    }
    if (status == VV_OK && vv_buffer_status(&answer->names) != VV_OK) {
        return vv_result_no_memory(error);
    }
    const char *at = (const char *)answer->names.data;
    for (size_t i = 0; i < selection->n_metrics; i++) {
        answer->fields[i].data = at;
        at = at ? at + answer->fields[i].size : NULL;
    }
    result->memory_bytes +=
        answer->names.size +
        selection->n_metrics * (sizeof *answer->metrics + sizeof *answer->types +
                                sizeof *answer->fields + sizeof *answer->columns);
    return status;
}

static enum vv_status open_export(struct vv_result *result, struct vv_error *error)
{
    result->answer = calloc(1, sizeof *result->answer);
    if (!result->answer) {
        return vv_result_no_memory(error);
    }
    if (result->format == VV_FORMAT_CSV) {
        result->layout.name = "points";
        result->layout.columns = columns;
        result->layout.n_columns = sizeof columns / sizeof columns[0];
    }
    result->facts.has_peers = false; /* nothing is said of others: points alone make its bytes */
    result->facts.n_regions = 0;
    /* It is meant to be long: its memory is bounded, its time and its series are not. */
    result->limits.time_ns_max = 0;
    result->limits.series_max = UINT64_MAX;
    enum vv_status status = vv_result_select(result, true, error);
    struct vv_selection *selection = &result->selection;
    status = status == VV_OK ? choose_measurements(result, error) : status;
    status = status == VV_OK ? prepare_metrics(result, error) : status;
    if (status != VV_OK) {
        return status;
    }
    if (selection->n_sources > 1) {
        qsort_r(selection->sources, selection->n_sources, sizeof *selection->sources, compare_ids,
                result->context.registry);
    }
    vv_fetch_expect(result->context.fetch, selection->sources, selection->n_sources, result->from,
                    result->to, false, false);
    return VV_OK;
}

static void close_export(struct vv_result *result)
{
    struct vv_answer *answer = result->answer;
    vv_scan_close(answer->scan);
    free(answer->measurements);
    free(answer->metrics);
    free(answer->types);
    free(answer->fields);
    free(answer->columns);
    vv_buffer_deinit(&answer->names);
    vv_buffer_deinit(&answer->head);
    vv_arena_deinit(&answer->arena);
    free(answer);
}

/* ---- heads ---- */

static enum vv_status read_tags(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    uint32_t source = result->selection.sources[answer->source];
    vv_arena_deinit(&answer->arena);
    answer->arena = (struct vv_arena){0};
    answer->n_versions = 0;
    enum vv_status status = vv_registry_source_history(
        result->context.registry, source, &answer->arena, answer->versions, &answer->n_versions);
    return status == VV_OK ? VV_OK : vv_result_no_memory(error);
}

/* Makes the head for a row of this time. */
static enum vv_status make_head(struct vv_result *result, int64_t time, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    struct vv_registry *registry = result->context.registry;
    uint32_t source = result->selection.sources[answer->source];
    struct vv_export_series series = {
        .measurement = answer->measurements[answer->measurement].name,
        .source = vv_registry_source_id(registry, source),
        .id_tag = vv_registry_source_id_tag(registry, source),
    };
    size_t at = 0;
    while (at + 1 < answer->n_versions && answer->versions[at + 1].from_ns <= time) {
        at++;
    }
    if (answer->n_versions > 0) {
        series.tags = answer->versions[at].tags;
        series.n_tags = answer->versions[at].n_tags;
    }
    answer->head_from = at > 0 ? answer->versions[at].from_ns : INT64_MIN;
    answer->head_to =
        at + 1 < answer->n_versions ? answer->versions[at + 1].from_ns : VV_TIME_MAX + 1;
    vv_buffer_clear(&answer->head);
    enum vv_status status = vv_export_head(&answer->head, result->format, &series, error);
    if (status == VV_OK && vv_buffer_status(&answer->head) != VV_OK) {
        status = vv_result_no_memory(error);
    }
    answer->has_head = status == VV_OK;
    return status;
}

/* ---- rows ---- */

static enum vv_status write_row(struct vv_result *result, struct vv_buffer *buffer, size_t row,
                                struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    int64_t time = answer->rows->times[row];
    enum vv_status status = VV_OK;
    if (!answer->has_head || time < answer->head_from || time >= answer->head_to) {
        status = make_head(result, time, error);
    }
    if (status == VV_OK) {
        struct vv_str head = {(const char *)answer->head.data, answer->head.size};
        status = vv_export_row(buffer, result->format, head, time, answer->columns,
                               answer->rows->n_columns, row, &result->facts.rows, error);
    }
    return status;
}

static enum vv_status write_some(struct vv_result *result, struct vv_buffer *buffer,
                                 struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    size_t before = buffer->size;
    enum vv_status status = VV_OK;
    vv_result_begin(result, buffer);
    while (status == VV_OK && answer->given < answer->rows->n_rows && !buffer->failed &&
           buffer->size - before < VV_RESULT_PIECE_BYTES) {
        status = write_row(result, buffer, answer->given++, error);
    }
    return status;
}

/* The scan's next chunk; its columns stand in the order of the measurement's metrics. */
static enum vv_status read_some(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    const struct measurement *measurement = &answer->measurements[answer->measurement];
    answer->given = 0;
    enum vv_status status = vv_scan_next(answer->scan, &answer->rows, error);
    if (status != VV_OK || !answer->rows) {
        return status;
    }
    const struct vv_rows *rows = answer->rows;
    vv_invariant(rows->n_columns == measurement->n);
    result->facts.points_read += rows->n_rows;
    for (size_t i = 0; i < rows->n_columns; i++) {
        const struct vv_column *column = &rows->columns[i];
        enum vv_value_type type = answer->types[measurement->first + i];
        if (column->type != type) {
            return vv_error_set(error, VV_CORRUPT,
                                "a metric of '%.*s' is stored with another type than it has",
                                VV_STR_ARG(measurement->name));
        }
        answer->columns[i] = (struct vv_export_column){answer->fields[measurement->first + i], type,
                                                       column->values, column->present};
    }
    return VV_OK;
}

/* ---- series ---- */

static enum vv_status open_scan(struct vv_result *result, struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    const struct measurement *measurement = &answer->measurements[answer->measurement];
    struct vv_scan_options options = {
        .place = vv_registry_first_place(result->context.registry, measurement->number),
        .source = result->selection.sources[answer->source],
        .measurement = measurement->number,
        .metrics = &answer->metrics[measurement->first],
        .types = &answer->types[measurement->first],
        .n_metrics = measurement->n,
        .from = result->from,
        .to = result->to,
        .memory_max = vv_result_memory_left(result),
    };
    answer->rows = NULL;
    answer->has_head = false;
    enum vv_status status = vv_scan_open(&result->context, &options, &result->facts, &answer->scan);
    if (status != VV_OK) {
        return vv_result_no_memory(error);
    }
    return answer->measurement == 0 ? read_tags(result, error) : VV_OK;
}

static void next_series(struct vv_answer *answer)
{
    vv_scan_close(answer->scan);
    answer->scan = NULL;
    answer->rows = NULL;
    if (++answer->measurement == answer->n_measurements) {
        answer->measurement = 0;
        answer->source++;
    }
}

static enum vv_status advance_export(struct vv_result *result, struct vv_buffer *buffer,
                                     struct vv_error *error)
{
    struct vv_answer *answer = result->answer;
    if (!answer->scan) {
        bool more = answer->source < result->selection.n_sources && answer->n_measurements > 0;
        return more ? open_scan(result, error) : VV_DONE;
    }
    if (answer->rows && answer->given < answer->rows->n_rows) {
        return write_some(result, buffer, error);
    }
    enum vv_status status = read_some(result, error);
    if (status == VV_DONE) {
        next_series(answer);
        return VV_OK;
    }
    return status;
}

const struct vv_answer_ops vv_answer_export = {
    .open = open_export,
    .advance = advance_export,
    .close = close_export,
};
