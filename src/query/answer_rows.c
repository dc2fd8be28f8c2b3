/* SPDX-License-Identifier: Apache-2.0 */
/* What answers with steps share: writing rows, the steps themselves and their labels. */
#include "query/answer_rows.h"

#define EXACT_SHARE 4 /* of the query's memory for exact percentiles */

static void begin_series(struct vv_result *result, struct vv_buffer *buffer,
                         const struct vv_writer_series *series)
{
    struct vv_writer *writer = &result->writer;
    if (!writer->in_series) {
        vv_result_begin(result, buffer);
        writer->ops->series_begin(writer, buffer, series);
    }
}

void vv_result_row(struct vv_result *result, struct vv_buffer *buffer,
                   const struct vv_writer_series *series, int64_t start,
                   const struct vv_cell *cells)
{
    begin_series(result, buffer, series);
    vv_writer_row(&result->writer, buffer, start, cells, result->request->n_aggregates);
    result->facts.rows++;
}

size_t vv_result_whole_rows(struct vv_result *result, struct vv_buffer *buffer,
                            const struct vv_writer_series *series, const struct vv_fold_spec *spec,
                            const struct vv_tier_run *steps, bool backwards)
{
    struct vv_writer *writer = &result->writer;
    struct vv_cell cells[VV_AGGREGATES_MAX];
    begin_series(result, buffer, series);
    size_t row_size = writer->ops->row_size_max(writer, spec->n_aggregates);
    size_t fit = row_size < VV_RESULT_PIECE_BYTES ? VV_RESULT_PIECE_BYTES / row_size : 1;
    size_t n = steps->n < fit ? steps->n : fit;
    char *out = writer->failed ? NULL : (char *)vv_buffer_reserve(buffer, n * row_size);
    size_t size = 0;
    for (size_t i = 0; out && i < n; i++) {
        size_t at = backwards ? steps->n - 1 - i : i;
        vv_fold_read_step(spec, &steps->steps[at], cells);
        /* Labelled by their starts: only a row of the whole range may have another label. */
        size += writer->ops->row(writer, out + size, steps->times[at], cells, spec->n_aggregates);
    }
    buffer->size += size;
    result->facts.rows += n;
    return n;
}

bool vv_result_drain(struct vv_result *result, struct vv_buffer *buffer, struct vv_sink *sink,
                     const struct vv_writer_series *series)
{
    struct vv_cell cells[VV_AGGREGATES_MAX];
    int64_t start;
    size_t before = buffer->size;
    bool any = false;
    while (!buffer->failed && buffer->size - before < VV_RESULT_PIECE_BYTES &&
           vv_sink_pull(sink, &start, cells)) {
        vv_result_row(result, buffer, series, start, cells);
        any = true;
    }
    return any;
}

bool vv_result_fold_spec(const struct vv_result *result, struct vv_percentile_budget *budget,
                         struct vv_fold_spec *spec_out)
{
    const struct vv_request *request = result->request;
    *spec_out = (struct vv_fold_spec){
        .needs = request->needs,
        .aggregates = request->aggregates,
        .n_aggregates = request->n_aggregates,
        .budget = budget,
    };
    size_t exact_bytes_max = (size_t)result->limits.memory_bytes_max / EXACT_SHARE;
    return vv_percentile_budget_init(budget, exact_bytes_max);
}

void vv_result_steps(const struct vv_result *result, struct vv_steps *steps_out)
{
    const struct vv_request *request = result->request;
    vv_steps_init(steps_out, result->step_ns, request->zone, result->from, result->to);
}

static bool labels_by_first_time(const struct vv_result *result)
{
    return result->step_ns == 0 && !result->request->has_from;
}

unsigned vv_result_step_parts(const struct vv_result *result)
{
    unsigned ends = labels_by_first_time(result) ? VV_STEP_ENDS : 0;
    return (result->request->needs & VV_STEP_ALL) | ends;
}

struct vv_walk_plan vv_result_walk_plan(const struct vv_result *result,
                                        const struct vv_steps *steps,
                                        const struct vv_metric_info *metric)
{
    unsigned needs = result->request->needs;
    struct vv_walk_plan plan = {
        .steps = steps,
        .changes = (needs & VV_NEED_CHANGE) != 0,
        .step_parts = vv_result_step_parts(result),
        .sketches = (needs & VV_NEED_PERCENTILES) != 0,
        .only = result->selection.n_metrics == 1,
    };
    plan.n_legs = vv_result_legs(result, metric, plan.legs);
    return plan;
}

bool vv_result_has_whole_rows(const struct vv_result *result)
{
    const struct vv_request *request = result->request;
    bool steps_have_all = !(request->needs & ~(unsigned)VV_STEP_ALL);
    return steps_have_all && request->fill == VV_FILL_NONE && request->limit == 0;
}

int64_t vv_result_label(const struct vv_result *result, int64_t start, int64_t first_time)
{
    return labels_by_first_time(result) ? first_time : start;
}
