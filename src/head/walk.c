/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a cut generation for the flush: series by series, rows as columns. */
#include "head/head_private.h"

#include <stdlib.h>
#include <string.h>

/* Reused from series to series. */
struct walker {
    struct vv_rows rows;
    size_t rows_capacity;
    size_t columns_capacity;
};

struct entry {
    uint64_t order;
    struct vv_head_series *series;
};

static int compare_entries(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    if (left->order != right->order) {
        return left->order < right->order ? -1 : 1;
    }
    const struct vv_head_series *x = left->series;
    const struct vv_head_series *y = right->series;
    if (x->source != y->source) {
        return x->source < y->source ? -1 : 1;
    }
    return x->measurement < y->measurement ? -1 : x->measurement > y->measurement;
}

static struct entry *list_series(struct vv_generation *generation,
                                 const struct vv_head_order *order, size_t *n_out)
{
    size_t n = 0;
    size_t total = atomic_load(&generation->series);
    struct entry *list = malloc((total ? total : 1) * sizeof *list);
    for (size_t i = 0; list && i < VV_HEAD_SHARDS; i++) {
        const struct vv_head_shard *shard = &generation->shards[i];
        for (size_t slot = 0; slot < shard->n_slots; slot++) {
            struct vv_head_series *series = shard->slots[slot];
            if (series && series->published) {
                list[n++] = (struct entry){
                    order ? order->number(order->context, series->source) : 0, series};
            }
        }
    }
    if (list) {
        qsort(list, n, sizeof *list, compare_entries);
    }
    *n_out = n;
    return list;
}

static enum vv_status fit(struct walker *walker, size_t n_rows, size_t n_columns)
{
    if (n_rows <= walker->rows_capacity && n_columns <= walker->columns_capacity) {
        return VV_OK;
    }
    size_t rows = n_rows > walker->rows_capacity ? n_rows : walker->rows_capacity;
    size_t columns = n_columns > walker->columns_capacity ? n_columns : walker->columns_capacity;
    walker->rows.n_columns = walker->columns_capacity; /* free all of them */
    vv_rows_free(&walker->rows);
    walker->rows_capacity = walker->columns_capacity = 0;
    enum vv_status status = vv_rows_alloc(rows, columns, &walker->rows);
    if (status == VV_OK) {
        walker->rows_capacity = rows;
        walker->columns_capacity = columns;
    }
    return status;
}

static int compare_metric(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* The types that the shape says; floats win. */
static void note_types(struct walker *walker, const struct vv_shape *shape)
{
    size_t column = 0;
    for (uint32_t each = 0; shape->typed && each < shape->n_metrics; each++) {
        uint32_t at = shape->order[each];
        while (walker->rows.columns[column].metric != shape->metrics[at]) {
            column++;
        }
        vv_head_note_type(&walker->rows.columns[column].type, shape->said[at]);
    }
}

/* Sets the columns' metrics to the ascending union of the series' shapes. */
static enum vv_status set_columns(struct walker *walker, const struct vv_head_series *series)
{
    size_t room = 0;
    const struct vv_shape *shape = NULL;
    for (const struct vv_chunk *chunk = series->first; chunk; chunk = chunk->next) {
        room += chunk->shape != shape ? chunk->shape->n_metrics : 0;
        shape = chunk->shape;
    }
    uint32_t *metrics = malloc((room ? room : 1) * sizeof *metrics);
    if (!metrics) {
        return VV_NO_MEMORY;
    }
    size_t n = 0;
    shape = NULL;
    for (const struct vv_chunk *chunk = series->first; chunk; chunk = chunk->next) {
        if (chunk->shape != shape) {
            shape = chunk->shape;
            memcpy(metrics + n, shape->metrics, shape->n_metrics * sizeof *metrics);
            n += shape->n_metrics;
        }
    }
    qsort(metrics, n, sizeof *metrics, compare_metric);
    size_t unique = 0;
    for (size_t i = 0; i < n; i++) {
        if (unique == 0 || metrics[unique - 1] != metrics[i]) {
            metrics[unique++] = metrics[i];
        }
    }
    enum vv_status status = fit(walker, series->published, unique);
    for (size_t i = 0; i < unique && status == VV_OK; i++) {
        walker->rows.columns[i].metric = metrics[i];
        walker->rows.columns[i].type = VV_HEAD_UNTYPED;
    }
    walker->rows.n_columns = status == VV_OK ? unique : 0;
    for (const struct vv_chunk *chunk = series->first; status == VV_OK && chunk;
         chunk = chunk->next) {
        note_types(walker, chunk->shape);
    }
    free(metrics);
    return status;
}

static void copy_chunk(struct walker *walker, const struct vv_chunk *chunk, uint32_t n)
{
    struct vv_rows *rows = &walker->rows;
    const struct vv_shape *shape = chunk->shape;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *row = vv_chunk_row(chunk, i);
        rows->times[rows->n_rows + i] = (int64_t)row[0];
        rows->stamps[rows->n_rows + i] = row[1];
    }
    size_t column = 0;
    for (uint32_t each = 0; each < shape->n_metrics; each++) { /* both ascend by metric */
        uint32_t at = shape->order[each];
        while (rows->columns[column].metric != shape->metrics[at]) {
            column++;
        }
        bool widened = vv_head_is_widened(rows->columns[column].type, shape->said[at]);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t value = vv_chunk_row(chunk, i)[2 + at];
            rows->columns[column].values[rows->n_rows + i] =
                widened ? vv_int_as_float(value) : value;
            vv_column_mark(&rows->columns[column], rows->n_rows + i);
        }
    }
    rows->n_rows += n;
}

static enum vv_status gather(struct walker *walker, const struct vv_head_series *series)
{
    enum vv_status status = set_columns(walker, series);
    if (status != VV_OK) {
        return status;
    }
    for (size_t i = 0; i < walker->rows.n_columns; i++) {
        memset(walker->rows.columns[i].present, 0, (series->published + 7) / 8);
    }
    walker->rows.n_rows = 0;
    for (const struct vv_chunk *chunk = series->first; chunk; chunk = chunk->next) {
        copy_chunk(walker, chunk, atomic_load(&chunk->rows));
    }
    vv_invariant(walker->rows.n_rows == series->published);
    return VV_OK;
}

enum vv_status vv_generation_walk(struct vv_generation *generation,
                                  const struct vv_head_order *order, vv_head_visit visit,
                                  void *context)
{
    size_t n;
    struct entry *list = list_series(generation, order, &n);
    struct walker walker = {0};
    enum vv_status status = list ? VV_OK : VV_NO_MEMORY;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        const struct vv_head_series *series = list[i].series;
        status = gather(&walker, series);
        if (status == VV_OK) {
            status = visit(context, series->source, series->measurement, &walker.rows);
        }
    }
    walker.rows.n_columns = walker.columns_capacity;
    vv_rows_free(&walker.rows);
    free(list);
    return status;
}

enum vv_status vv_generation_glance(struct vv_generation *generation, vv_head_glance visit,
                                    void *context)
{
    size_t n;
    struct entry *list = list_series(generation, NULL, &n);
    enum vv_status status = list ? VV_OK : VV_NO_MEMORY;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        const struct vv_head_series *series = list[i].series;
        status = visit(context, series->source, series->measurement, series->published,
                       series->time_min, series->time_max);
    }
    free(list);
    return status;
}
