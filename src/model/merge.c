/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge: which pieces to open next, and which rows are complete. See merge.h.
 *
 * Ascending: pieces are opened by their first time; rows before the first time of the next piece
 * cannot meet another value any more. Descending is the mirror image, by last times.
 */
#include "model/merge_private.h"

#include <stdlib.h>
#include <string.h>

static void begin_types(struct vv_merge *merge)
{
    for (size_t i = 0; !merge->all_metrics && i < merge->n_metrics; i++) {
        merge->types[i] = merge->options.types ? merge->options.types[i] : VV_FLOAT64;
        merge->typed[i] = merge->options.types != NULL;
    }
}

enum vv_status vv_merge_create(const struct vv_merge_options *options, struct vv_merge **merge_out)
{
    struct vv_merge *merge = calloc(1, sizeof *merge);
    if (!merge) {
        return VV_NO_MEMORY;
    }
    merge->options = *options;
    merge->all_metrics = options->metrics == NULL;
    merge->n_metrics = merge->all_metrics ? 0 : options->n_metrics;
    size_t room = merge->n_metrics ? merge->n_metrics : 1;
    merge->metrics = calloc(room, sizeof *merge->metrics);
    merge->types = calloc(room, sizeof *merge->types);
    merge->typed = calloc(room, sizeof *merge->typed);
    if (!merge->metrics || !merge->types || !merge->typed) {
        vv_merge_destroy(merge);
        return VV_NO_MEMORY;
    }
    if (merge->n_metrics) {
        memcpy(merge->metrics, options->metrics, merge->n_metrics * sizeof *merge->metrics);
    }
    begin_types(merge);
    merge->stamp_min = UINT64_MAX;
    *merge_out = merge;
    return VV_OK;
}

static void free_inputs(struct vv_merge *merge)
{
    for (size_t i = merge->next_input; i < merge->n_inputs; i++) {
        vv_merge_free_input(merge, &merge->inputs[i]);
    }
    merge->n_inputs = 0;
    merge->next_input = 0;
}

static void deinit_buffers(struct vv_merge *merge)
{
    vv_merge_buffer_deinit(&merge->rows);
    vv_merge_buffer_deinit(&merge->spare);
    vv_merge_buffer_deinit(&merge->out);
    free(merge->view.columns);
    merge->view = (struct vv_rows){0};
}

void vv_merge_destroy(struct vv_merge *merge)
{
    if (!merge) {
        return;
    }
    free_inputs(merge);
    deinit_buffers(merge);
    free(merge->inputs);
    free(merge->metrics);
    free(merge->types);
    free(merge->typed);
    free(merge->bitmaps);
    free(merge->scratch);
    free(merge);
}

void vv_merge_reset(struct vv_merge *merge, int64_t from, int64_t to)
{
    free_inputs(merge);
    merge->options.from = from;
    merge->options.to = to;
    merge->emitted_first = merge->emitted_end = 0;
    merge->started = false;
    merge->stamp_min = UINT64_MAX;
    begin_types(merge);
    if (merge->all_metrics) { /* another range may have other metrics */
        deinit_buffers(merge);
        merge->n_metrics = 0;
    } else if (merge->rows.lanes) {
        vv_merge_buffer_clear(&merge->rows);
        vv_merge_buffer_clear(&merge->out);
    }
}

uint64_t vv_merge_stamp_min(const struct vv_merge *merge)
{
    return merge->stamp_min;
}

void vv_merge_set_deletions(struct vv_merge *merge, const struct vv_deletion_list *deletions)
{
    vv_invariant(!merge->started);
    merge->options.deletions = deletions;
}

/* ---- starting: the order of pieces and the columns ---- */

static int compare_first(const void *a, const void *b)
{
    const struct vv_merge_input *x = a;
    const struct vv_merge_input *y = b;
    if (x->time_min != y->time_min) {
        return x->time_min < y->time_min ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_last(const void *a, const void *b)
{
    const struct vv_merge_input *x = a;
    const struct vv_merge_input *y = b;
    if (x->time_max != y->time_max) {
        return x->time_max > y->time_max ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static enum vv_status want_metric(struct vv_merge *merge, uint32_t metric, enum vv_value_type type)
{
    size_t at = 0;
    while (at < merge->n_metrics && merge->metrics[at] < metric) {
        at++;
    }
    if (at < merge->n_metrics && merge->metrics[at] == metric) {
        merge->types[at] = type == VV_FLOAT64 ? type : merge->types[at];
        return VV_OK;
    }
    size_t room = merge->n_metrics + 1;
    uint32_t *metrics = realloc(merge->metrics, room * sizeof *metrics);
    if (metrics) {
        merge->metrics = metrics;
    }
    enum vv_value_type *types = realloc(merge->types, room * sizeof *types);
    if (types) {
        merge->types = types;
    }
    if (!metrics || !types) {
        return VV_NO_MEMORY;
    }
    size_t behind = merge->n_metrics - at;
    memmove(metrics + at + 1, metrics + at, behind * sizeof *metrics);
    memmove(types + at + 1, types + at, behind * sizeof *types);
    metrics[at] = metric;
    types[at] = type;
    merge->n_metrics++;
    return VV_OK;
}

static enum vv_status want_all_of(struct vv_merge *merge, const struct vv_merge_input *input)
{
    enum vv_status status = VV_OK;
    if (!input->bytes) {
        for (size_t i = 0; i < input->rows.n_columns && status == VV_OK; i++) {
            const struct vv_column *column = &input->rows.columns[i];
            status = want_metric(merge, column->metric, column->type);
        }
        return status;
    }
    struct vv_block block;
    status = vv_merge_block_status(vv_block_open(input->bytes, input->size, &block), NULL);
    for (uint32_t i = 0; status == VV_OK && i < block.n_columns; i++) {
        struct vv_block_column column;
        status = vv_merge_block_status(vv_block_column_info(&block, i, &column), NULL);
        if (status == VV_OK) {
            status = want_metric(merge, column.metric, column.type);
        }
    }
    return status;
}

static enum vv_status init_buffers(struct vv_merge *merge)
{
    if (merge->rows.lanes) {
        return VV_OK;
    }
    merge->view.columns =
        calloc(merge->n_metrics ? merge->n_metrics : 1, sizeof *merge->view.columns);
    bool failed = !merge->view.columns ||
                  vv_merge_buffer_init(&merge->rows, merge->n_metrics) != VV_OK ||
                  vv_merge_buffer_init(&merge->spare, merge->n_metrics) != VV_OK ||
                  vv_merge_buffer_init(&merge->out, merge->n_metrics) != VV_OK;
    if (failed) {
        deinit_buffers(merge);
        return VV_NO_MEMORY;
    }
    return VV_OK;
}

static enum vv_status start(struct vv_merge *merge)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; merge->all_metrics && i < merge->n_inputs && status == VV_OK; i++) {
        status = want_all_of(merge, &merge->inputs[i]);
    }
    if (status == VV_OK) {
        status = init_buffers(merge);
    }
    if (status == VV_OK && merge->n_inputs > 1) {
        qsort(merge->inputs, merge->n_inputs, sizeof *merge->inputs,
              merge->options.descending ? compare_last : compare_first);
    }
    merge->started = status == VV_OK;
    return status;
}

/* ---- emitting ---- */

/* The first row of the sorted buffer with a time of at least `time`. */
static size_t lower_bound(const struct vv_merge_buffer *rows, int64_t time)
{
    size_t low = 0;
    size_t high = rows->n_rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->times[middle] < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Which rows [*first_out, *end_out) no unopened piece can change. */
static void complete_rows(const struct vv_merge *merge, size_t *first_out, size_t *end_out)
{
    *first_out = 0;
    *end_out = merge->rows.n_rows;
    if (merge->next_input == merge->n_inputs) {
        return;
    }
    const struct vv_merge_input *next = &merge->inputs[merge->next_input];
    if (merge->options.descending) {
        *first_out = next->time_max == INT64_MAX ? merge->rows.n_rows
                                                 : lower_bound(&merge->rows, next->time_max + 1);
    } else {
        *end_out = lower_bound(&merge->rows, next->time_min);
    }
}

static bool some_complete(const struct vv_merge *merge, int64_t low, int64_t high)
{
    if (merge->rows.n_rows == 0) {
        return false;
    }
    if (merge->next_input == merge->n_inputs) {
        return true;
    }
    const struct vv_merge_input *next = &merge->inputs[merge->next_input];
    return merge->options.descending ? high > next->time_max : low < next->time_min;
}

static bool all_full(const struct vv_merge_buffer *rows)
{
    for (size_t i = 0; i < rows->n_lanes; i++) {
        if (!rows->lanes[i].full) {
            return false;
        }
    }
    return rows->n_lanes > 0;
}

static enum vv_status fill_bitmaps(struct vv_merge *merge, const struct vv_merge_buffer *rows,
                                   size_t first, size_t n)
{
    size_t each = (n + 7) / 8;
    size_t needed = each * merge->n_metrics;
    if (needed > merge->bitmaps_capacity) {
        uint8_t *bigger = realloc(merge->bitmaps, needed);
        if (!bigger) {
            return VV_NO_MEMORY;
        }
        merge->bitmaps = bigger;
        merge->bitmaps_capacity = needed;
    }
    for (size_t lane = 0; lane < merge->n_metrics; lane++) {
        struct vv_column *column = &merge->view.columns[lane];
        column->present = NULL;
        if (rows->lanes[lane].full) {
            continue;
        }
        column->present = merge->bitmaps + lane * each;
        memset(column->present, 0, each);
        for (size_t i = 0; i < n; i++) {
            column->present[i >> 3] |= (uint8_t)(rows->lanes[lane].has[first + i] << (i & 7));
        }
    }
    return VV_OK;
}

static enum vv_status show(struct vv_merge *merge, const struct vv_merge_buffer *rows, size_t first,
                           size_t end)
{
    merge->view.n_rows = end - first;
    merge->view.times = rows->times + first;
    merge->view.stamps = rows->stamps + first;
    merge->view.n_columns = merge->n_metrics;
    for (size_t i = 0; i < merge->n_metrics; i++) {
        merge->view.columns[i].metric = merge->metrics[i];
        merge->view.columns[i].type = merge->types[i];
        merge->view.columns[i].values = rows->lanes[i].values + first;
    }
    return fill_bitmaps(merge, rows, first, end - first);
}

static void drop_emitted(struct vv_merge *merge)
{
    if (merge->emitted_end == merge->emitted_first) {
        return;
    }
    if (merge->options.descending) {
        vv_merge_buffer_keep(&merge->rows, 0, merge->emitted_first);
    } else {
        vv_merge_buffer_keep(&merge->rows, merge->emitted_end, merge->rows.n_rows);
    }
    merge->emitted_first = merge->emitted_end = 0;
}

/* Widens [*low, *high] by the rows from *seen on. */
static void see_times(const struct vv_merge_buffer *rows, size_t *seen, int64_t *low, int64_t *high)
{
    if (rows->sorted && rows->n_rows > 0) {
        *low = rows->times[0];
        *high = rows->times[rows->n_rows - 1];
    }
    for (size_t i = *seen; i < rows->n_rows && !rows->sorted; i++) {
        *low = rows->times[i] < *low ? rows->times[i] : *low;
        *high = rows->times[i] > *high ? rows->times[i] : *high;
    }
    *seen = rows->n_rows;
}

/* Opens pieces until enough rows are complete, or nothing is left to open. Where pieces overlap so
 * that rows must be sorted, it goes on until there are as many new rows as were held over: each row
 * is then sorted a few times at most, however many pieces overlap. */
static enum vv_status open_until_complete(struct vv_merge *merge, struct vv_error *error)
{
    size_t held = merge->rows.n_rows;
    size_t seen = 0;
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    for (;;) {
        see_times(&merge->rows, &seen, &low, &high);
        size_t row_bytes = (2 + merge->n_metrics) * sizeof(uint64_t);
        bool enough = (merge->rows.sorted || merge->rows.n_rows >= 2 * held) &&
                      merge->rows.n_rows * row_bytes >= merge->options.chunk_bytes;
        if ((enough && some_complete(merge, low, high)) || merge->next_input == merge->n_inputs) {
            return VV_OK;
        }
        enum vv_status status = vv_merge_open_next(merge, error);
        if (status != VV_OK) {
            return status;
        }
    }
}

enum vv_status vv_merge_next(struct vv_merge *merge, const struct vv_rows **rows_out,
                             struct vv_error *error)
{
    enum vv_status status = merge->started ? VV_OK : start(merge);
    while (status == VV_OK) {
        drop_emitted(merge);
        status = open_until_complete(merge, error);
        if (status != VV_OK || merge->rows.n_rows == 0) {
            return status == VV_OK ? VV_DONE : status;
        }
        status = vv_merge_buffer_sort(&merge->rows, &merge->spare);
        if (status != VV_OK) {
            break;
        }
        complete_rows(merge, &merge->emitted_first, &merge->emitted_end);
        *rows_out = &merge->view;
        if (merge->rows.unique && all_full(&merge->rows)) {
            return show(merge, &merge->rows, merge->emitted_first, merge->emitted_end);
        }
        vv_merge_buffer_clear(&merge->out);
        status = vv_merge_buffer_resolve(&merge->rows, merge->emitted_first, merge->emitted_end,
                                         merge->options.join_times, &merge->out);
        if (status == VV_OK && merge->out.n_rows > 0) {
            return show(merge, &merge->out, 0, merge->out.n_rows);
        }
    }
    return vv_error_set(error, status, "out of memory while merging rows");
}

void vv_merge_read_figures(const struct vv_merge *merge, struct vv_merge_figures *figures_out)
{
    *figures_out = merge->figures;
}
