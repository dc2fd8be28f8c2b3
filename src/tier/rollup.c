/* SPDX-License-Identifier: Apache-2.0 */
#include "tier/rollup_private.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/compare.h"

#include <stdlib.h>
#include <string.h>

#define SLICE 256 /* values that are gathered at a time */

static bool is_of_part(const struct vv_rollup *rollup, uint32_t metric)
{
    if (rollup->n_left_out > 0) {
        return bsearch(&metric, rollup->left_out, rollup->n_left_out, sizeof metric,
                       vv_compare_u32) != NULL;
    }
    return rollup->part.metric == VV_ROLLUP_ALL_METRICS || rollup->part.metric == metric;
}

/* Whether what is in the metric's step that begins then is wanted. */
static bool is_taken(const struct vv_rollup *rollup, uint32_t metric, int64_t start)
{
    const struct vv_rollup_part *part = &rollup->part;
    if (rollup->takes == VV_TAKES_ALL) {
        return true;
    }
    bool is_in = start >= part->from && start < part->to && is_of_part(rollup, metric);
    return is_in == (rollup->takes == VV_TAKES_ONLY);
}

/* ---- points ---- */

/* The step has the values already, so its bounds are the sketch's. */
static bool sketch_values(struct vv_sketch *sketch, enum vv_value_type type,
                          const struct vv_step *step, const uint64_t *values, size_t n)
{
    if (type == VV_INT64) {
        return vv_sketch_add_integers(sketch, (const int64_t *)values, n, (int64_t)step->min,
                                      (int64_t)step->max);
    }
    double reals[SLICE];
    memcpy(reals, values, n * sizeof *reals);
    return vv_sketch_add_within(sketch, reals, n, vv_bits_double(step->min),
                                vv_bits_double(step->max));
}

/* n ≤ SLICE values of one step, of the metric's type. */
static enum vv_status add_values(struct vv_rollup *rollup, struct vv_rolled_metric *metric,
                                 size_t step, const int64_t *times, const uint64_t *values,
                                 size_t n, struct vv_error *error)
{
    bool added = true;
    vv_step_add(metric->type, VV_STEP_ALL, &metric->steps[step], times, values, n);
    if (rollup->alpha > 0) {
        added =
            sketch_values(&metric->sketches[step], metric->type, &metric->steps[step], values, n);
    }
    rollup->n_values += n;
    return added ? VV_OK : vv_rollup_no_memory(error);
}

static bool is_nan(enum vv_value_type type, uint64_t value)
{
    double real = vv_bits_double(value);
    return type == VV_FLOAT64 && real != real;
}

struct gathered {
    int64_t times[SLICE];
    uint64_t values[SLICE];
    size_t n;
};

/* Values of rows [first, end), at most SLICE of them, as the metric has them. */
static void gather(const struct vv_rows *rows, const struct vv_column *column,
                   enum vv_value_type type, size_t *first, size_t end, struct gathered *out)
{
    bool widens = column->type != type;
    size_t row = *first;
    out->n = 0;
    for (; row < end && out->n < SLICE; row++) {
        uint64_t value = column->values[row];
        if (vv_column_has(column, row) && !is_nan(column->type, value)) {
            out->times[out->n] = rows->times[row];
            out->values[out->n++] = widens ? vv_int_as_float(value) : value;
        }
    }
    *first = row;
}

/* Whether a column's values of rows [first, end) are what the metric gets, one for each row. */
static bool is_plain(const struct vv_column *column, enum vv_value_type type, size_t first,
                     size_t end)
{
    bool plain = !column->present && column->type == type;
    for (size_t row = first; plain && type == VV_FLOAT64 && row < end; row++) {
        plain = !is_nan(type, column->values[row]);
    }
    return plain;
}

/* Rows [first, end), all in the step that begins at `start`. *metric: the column's, NULL until it
 * is needed. */
static enum vv_status add_column(struct vv_rollup *rollup, const struct vv_rows *rows,
                                 const struct vv_column *column, struct vv_rolled_metric **metric,
                                 int64_t start, size_t first, size_t end, struct vv_error *error)
{
    size_t step;
    enum vv_status status =
        *metric ? VV_OK : vv_rollup_metric(rollup, column->metric, column->type, metric, error);
    if (status == VV_OK) {
        status = vv_rollup_step(rollup, start, &step, error);
    }
    while (first < end && status == VV_OK) {
        size_t slice_end = end - first < SLICE ? end : first + SLICE;
        if (is_plain(column, (*metric)->type, first, slice_end)) {
            status = add_values(rollup, *metric, step, rows->times + first, column->values + first,
                                slice_end - first, error);
            first = slice_end;
            continue;
        }
        struct gathered some;
        gather(rows, column, (*metric)->type, &first, end, &some);
        if (some.n > 0) {
            status = add_values(rollup, *metric, step, some.times, some.values, some.n, error);
        }
    }
    return status;
}

static bool has_any(const struct vv_rows *rows, const struct vv_column *column)
{
    if (!column->present) {
        return true;
    }
    for (size_t i = 0; i < rows->n_rows; i++) {
        if (vv_column_has(column, i)) {
            return true;
        }
    }
    return false;
}

/* Where the rows of the step end that begins at `start`: often as many rows on as the one before.
 */
static size_t end_of_step(const struct vv_rows *rows, size_t first, size_t length, int64_t start,
                          int64_t step_ns)
{
    size_t end = first + 1;
    if (length > 1 && length <= rows->n_rows - first &&
        rows->times[first + length - 1] - start < step_ns) {
        end = first + length;
    }
    while (end < rows->n_rows && rows->times[end] - start < step_ns) {
        end++;
    }
    return end;
}

enum vv_status vv_rollup_add_rows(struct vv_rollup *rollup, const struct vv_rows *rows,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t c = 0; c < rows->n_columns && status == VV_OK; c++) {
        const struct vv_column *column = &rows->columns[c];
        struct vv_rolled_metric *metric = NULL;
        if (!has_any(rows, column)) {
            continue;
        }
        size_t length = 1;
        for (size_t first = 0, end; first < rows->n_rows && status == VV_OK; first = end) {
            int64_t start = vv_time_floor(rows->times[first], rollup->step_ns);
            end = end_of_step(rows, first, length, start, rollup->step_ns);
            length = end - first;
            if (is_taken(rollup, column->metric, start)) {
                status = add_column(rollup, rows, column, &metric, start, first, end, error);
            }
        }
    }
    return status;
}

/* ---- steps of a finer tier ---- */

#define NOWHERE SIZE_MAX

struct finer {
    struct vv_rollup *rollup;
    struct vv_rolled_metric *metric; /* what it is merged into; NULL until it is needed */
    int64_t *starts;
    struct vv_step *steps;
    size_t *into;  /* by step: the one that it is merged into; NOWHERE */
    size_t summed; /* the one whose sketch is being added to; NOWHERE */
    struct vv_sketch_sum sum;
    struct vv_error *error;
};

static enum vv_status merge_step(struct finer *finer, size_t i)
{
    struct vv_rollup *rollup = finer->rollup;
    struct vv_rolled_metric *metric = finer->metric;
    size_t step;
    enum vv_status status = vv_rollup_step(rollup, vv_time_floor(finer->starts[i], rollup->step_ns),
                                           &step, finer->error);
    if (status != VV_OK) {
        return status;
    }
    vv_step_merge(metric->type, VV_STEP_ALL, &metric->steps[step], &finer->steps[i]);
    rollup->n_values += finer->steps[i].count;
    finer->into[i] = step;
    return VV_OK;
}

/* What is added from now on goes to the sketch of another step; NOWHERE: of none. */
static enum vv_status sum_into(struct finer *finer, size_t step)
{
    bool ended = finer->summed == NOWHERE || vv_sketch_sum_end(&finer->sum);
    finer->summed = step;
    if (step != NOWHERE) {
        vv_sketch_sum_begin(&finer->sum, &finer->metric->sketches[step]);
    }
    return ended ? VV_OK : vv_rollup_no_memory(finer->error);
}

static enum vv_status merge_sketch(void *context, uint32_t i, const struct vv_sketch *sketch)
{
    struct finer *finer = context;
    size_t step = finer->into[i];
    if (step == NOWHERE) {
        return VV_OK;
    }
    enum vv_status status = step == finer->summed ? VV_OK : sum_into(finer, step);
    if (status != VV_OK) {
        return status;
    }
    return vv_sketch_sum_add(&finer->sum, sketch) ? VV_OK : vv_rollup_no_memory(finer->error);
}

static enum vv_status merge_sketches(struct finer *finer, const struct vv_chunk *chunk,
                                     uint32_t index)
{
    finer->summed = NOWHERE;
    enum vv_status status =
        vv_chunk_visit_sketches(chunk, index, finer->steps, merge_sketch, finer, finer->error);
    return status == VV_OK ? sum_into(finer, NOWHERE) : status;
}

static enum vv_status add_metric(struct finer *finer, const struct vv_chunk *chunk, uint32_t index)
{
    struct vv_rollup *rollup = finer->rollup;
    uint32_t number;
    enum vv_value_type type;
    enum vv_status status = vv_chunk_metric(chunk, index, &number, &type, finer->error);
    if (status == VV_OK) {
        status = vv_chunk_steps(chunk, index, finer->starts, finer->steps, finer->error);
    }
    finer->metric = NULL;
    for (size_t i = 0; i < chunk->n_steps && status == VV_OK; i++) {
        int64_t start = vv_time_floor(finer->starts[i], rollup->step_ns);
        finer->into[i] = NOWHERE;
        if (finer->steps[i].count == 0 || !is_taken(rollup, number, start)) {
            continue;
        }
        if (!finer->metric) {
            status = vv_rollup_metric(rollup, number, type, &finer->metric, finer->error);
        }
        if (status == VV_OK) {
            if (finer->metric->type != type) {
                vv_step_widen(&finer->steps[i]);
            }
            status = merge_step(finer, i);
        }
    }
    return status == VV_OK && rollup->alpha > 0 ? merge_sketches(finer, chunk, index) : status;
}

enum vv_status vv_rollup_add_chunk(struct vv_rollup *rollup, const struct vv_chunk *chunk,
                                   struct vv_error *error)
{
    if (rollup->step_ns % chunk->step_ns != 0 || (rollup->alpha > 0 && !chunk->has_sketches)) {
        return vv_error_set(error, VV_INVALID,
                            "steps of %lld ns%s cannot be rolled up into steps of %lld ns",
                            (long long)chunk->step_ns, chunk->has_sketches ? "" : " (no sketches)",
                            (long long)rollup->step_ns);
    }
    struct finer finer = {.rollup = rollup,
                          .starts = malloc(chunk->n_steps * sizeof *finer.starts),
                          .steps = calloc(chunk->n_steps, sizeof *finer.steps),
                          .into = malloc(chunk->n_steps * sizeof *finer.into),
                          .error = error};
    bool has_room = finer.starts && finer.steps && finer.into;
    enum vv_status status =
        has_room ? vv_chunk_starts(chunk, finer.starts, error) : vv_rollup_no_memory(error);
    for (uint32_t i = 0; i < chunk->n_metrics && status == VV_OK; i++) {
        status = add_metric(&finer, chunk, i);
    }
    free(finer.starts);
    free(finer.steps);
    free(finer.into);
    return status;
}

/* ---- what came of it ---- */

size_t vv_rollup_steps(const struct vv_rollup *rollup)
{
    return rollup->n_steps;
}

size_t vv_rollup_metrics(const struct vv_rollup *rollup)
{
    return rollup->n_metrics;
}

uint64_t vv_rollup_values(const struct vv_rollup *rollup)
{
    return rollup->n_values;
}

enum vv_status vv_rollup_encode(struct vv_rollup *rollup, size_t first_metric, int zstd_level,
                                struct vv_buffer *out, struct vv_error *error)
{
    struct vv_chunk_metric metrics[VV_CHUNK_METRICS_MAX];
    if (rollup->n_steps == 0 || first_metric >= rollup->n_metrics) {
        return VV_OK;
    }
    size_t left = rollup->n_metrics - first_metric;
    size_t n = left < VV_CHUNK_METRICS_MAX ? left : VV_CHUNK_METRICS_MAX;
    enum vv_status status = vv_rollup_sort(rollup, error);
    for (size_t i = 0; i < n; i++) {
        const struct vv_rolled_metric *from = &rollup->metrics[first_metric + i];
        metrics[i] = (struct vv_chunk_metric){from->metric, from->type, from->steps,
                                              rollup->alpha > 0 ? from->sketches : NULL};
    }
    const struct vv_chunk_content content = {rollup->step_ns, rollup->n_steps, rollup->starts, n,
                                             metrics};
    return status == VV_OK ? vv_chunk_encode(&content, zstd_level, out, error) : status;
}
