/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the head. The shard's lock is held only to find the series and how many of its rows are
 * published; those rows never change, and the generation is held meanwhile.
 */
#include "head/head_private.h"

/* A series in one generation, as seen at one moment. */
struct view {
    const struct vv_chunk *first;
    uint64_t rows;
    int64_t time_min;
    int64_t time_max;
};

static struct view look(struct vv_generation *generation, uint32_t source, uint32_t measurement)
{
    struct vv_head_shard *shard = vv_head_shard_of(generation, source);
    struct view view = {0};
    pthread_mutex_lock(&shard->lock);
    const struct vv_head_series *series =
        shard->n_slots ? *vv_head_slot(shard, source, measurement) : NULL;
    if (series && series->published) {
        view = (struct view){series->first, series->published, series->time_min, series->time_max};
    }
    pthread_mutex_unlock(&shard->lock);
    return view;
}

/* Calls for each row of the view in [from, to), in the order of application. */
struct selection {
    int64_t from;
    int64_t to;
    const uint32_t *metrics;
    size_t n_metrics;
    struct vv_rows *rows; /* NULL while counting */
    size_t n_rows;
};

static bool is_wanted(const struct selection *selection, const uint64_t *row)
{
    int64_t time = (int64_t)row[0];
    return time >= selection->from && time < selection->to;
}

/* Where the metric stands in a row of the shape; UINT32_MAX if it does not. */
static uint32_t position(const struct vv_shape *shape, uint32_t metric)
{
    uint32_t low = 0;
    uint32_t high = shape->n_metrics;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint32_t at = shape->order[middle];
        if (shape->metrics[at] == metric) {
            return at;
        }
        if (shape->metrics[at] < metric) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return UINT32_MAX;
}

static void copy_column(const struct selection *selection, const struct vv_chunk *chunk,
                        uint32_t rows, size_t column_index)
{
    struct vv_column *column = &selection->rows->columns[column_index];
    uint32_t at = position(chunk->shape, selection->metrics[column_index]);
    size_t to = selection->n_rows;
    bool widened = at != UINT32_MAX && vv_head_is_widened(column->type, chunk->shape->said[at]);
    for (uint32_t i = 0; i < rows && at != UINT32_MAX; i++) {
        const uint64_t *row = vv_chunk_row(chunk, i);
        if (is_wanted(selection, row)) {
            column->values[to] = widened ? vv_int_as_float(row[2 + at]) : row[2 + at];
            vv_column_mark(column, to++);
        }
    }
}

static void take_chunk(struct selection *selection, const struct vv_chunk *chunk, uint32_t rows)
{
    size_t n = selection->n_rows;
    for (size_t i = 0; selection->rows && i < selection->n_metrics; i++) {
        copy_column(selection, chunk, rows, i);
    }
    for (uint32_t i = 0; i < rows; i++) {
        const uint64_t *row = vv_chunk_row(chunk, i);
        if (is_wanted(selection, row)) {
            if (selection->rows) {
                selection->rows->times[n] = (int64_t)row[0];
                selection->rows->stamps[n] = row[1];
            }
            n++;
        }
    }
    selection->n_rows = n;
}

static void take_view(struct selection *selection, const struct view *view)
{
    uint64_t left = view->rows;
    if (!left || view->time_max < selection->from || view->time_min >= selection->to) {
        return;
    }
    for (const struct vv_chunk *chunk = view->first; left > 0; chunk = chunk->next) {
        uint32_t rows = atomic_load_explicit(&chunk->rows, memory_order_relaxed);
        rows = rows > left ? (uint32_t)left : rows; /* the last chunk may be growing */
        take_chunk(selection, chunk, rows);
        left -= rows;
        if (left == 0) {
            break; /* `next` belongs to the applier from here on */
        }
    }
}

/* Notes the types that the frames of a view said. */
static void note_types(const struct selection *selection, const struct view *view,
                       struct vv_rows *rows_out)
{
    uint64_t left = view->rows;
    const struct vv_shape *shape = NULL;
    for (const struct vv_chunk *chunk = view->first; left > 0; chunk = chunk->next) {
        uint32_t rows = atomic_load_explicit(&chunk->rows, memory_order_relaxed);
        left -= rows < left ? rows : left;
        for (size_t i = 0; chunk->shape != shape && chunk->shape->typed && i < selection->n_metrics;
             i++) {
            uint32_t at = position(chunk->shape, selection->metrics[i]);
            if (at != UINT32_MAX) {
                vv_head_note_type(&rows_out->columns[i].type, chunk->shape->said[at]);
            }
        }
        shape = chunk->shape;
        if (left == 0) {
            break; /* `next` belongs to the applier from here on */
        }
    }
}

static enum vv_status copy_views(const struct view *views, size_t n, struct selection *selection,
                                 size_t memory_max, struct vv_rows *rows_out)
{
    *rows_out = (struct vv_rows){0};
    for (size_t i = 0; i < n; i++) {
        take_view(selection, &views[i]);
    }
    size_t row_bytes = 2 * sizeof(uint64_t) + selection->n_metrics * (sizeof(uint64_t) + 1);
    if (selection->n_rows == 0) {
        return VV_OK;
    }
    if (memory_max && selection->n_rows > memory_max / row_bytes) {
        return VV_TOO_LARGE;
    }
    enum vv_status status = vv_rows_alloc(selection->n_rows, selection->n_metrics, rows_out);
    if (status != VV_OK) {
        return status;
    }
    for (size_t i = 0; i < selection->n_metrics; i++) {
        rows_out->columns[i].metric = selection->metrics[i];
        rows_out->columns[i].type = VV_HEAD_UNTYPED;
    }
    for (size_t i = 0; i < n; i++) {
        note_types(selection, &views[i], rows_out);
    }
    selection->rows = rows_out;
    selection->n_rows = 0;
    for (size_t i = 0; i < n; i++) {
        take_view(selection, &views[i]);
    }
    return VV_OK;
}

enum vv_status vv_head_read(struct vv_head *head, uint32_t source, uint32_t measurement,
                            int64_t from, int64_t to, const uint32_t *metrics, size_t n_metrics,
                            size_t memory_max, struct vv_rows *rows_out)
{
    struct vv_generation *held[VV_GENERATIONS_MAX];
    struct view views[VV_GENERATIONS_MAX];
    size_t n = vv_head_hold(head, held);
    for (size_t i = 0; i < n; i++) {
        views[i] = look(held[i], source, measurement);
    }
    struct selection selection = {
        .from = from, .to = to, .metrics = metrics, .n_metrics = n_metrics};
    enum vv_status status = copy_views(views, n, &selection, memory_max, rows_out);
    for (size_t i = 0; i < n; i++) {
        vv_generation_release(held[i]);
    }
    return status;
}

bool vv_head_series_times(struct vv_head *head, uint32_t source, uint32_t measurement,
                          int64_t *first_out, int64_t *last_out)
{
    struct vv_generation *held[VV_GENERATIONS_MAX];
    size_t n = vv_head_hold(head, held);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        struct view view = look(held[i], source, measurement);
        if (view.rows) {
            *first_out = any && *first_out < view.time_min ? *first_out : view.time_min;
            *last_out = any && *last_out > view.time_max ? *last_out : view.time_max;
            any = true;
        }
        vv_generation_release(held[i]);
    }
    return any;
}
