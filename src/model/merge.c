/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The merge: which pieces to open next, and which rows are complete. See merge.h.
 *
 * Ascending: pieces are opened by their first time; rows before the first time of the next piece
 * cannot meet another value any more. Descending is the mirror image, by last times.
 */
#include "model/merge.h"

#include "model/merge_buffer.h"

#include <stdlib.h>
#include <string.h>

/* Encoded bytes or decoded rows that wait to be opened. */
struct input {
    int64_t time_min;
    int64_t time_max;
    size_t order; /* of adding: keeps equal keys stable */
    uint8_t *bytes;
    size_t size;
    struct vv_rows rows; /* when bytes is NULL */
};

struct vv_merge {
    struct vv_merge_options options;
    uint32_t *metrics; /* own copy; grows to the union when none were asked for */
    enum vv_value_type *types;
    bool *typed; /* whether the type of a wanted metric is known yet */
    size_t n_metrics;
    bool all_metrics;
    struct input *inputs;
    size_t n_inputs;
    size_t inputs_capacity;
    size_t next_input;
    size_t input_bytes;
    bool started;
    struct vv_merge_buffer rows;  /* opened, not emitted */
    struct vv_merge_buffer spare; /* for sorting */
    struct vv_merge_buffer out;   /* what was resolved */
    size_t emitted_first;         /* rows of `rows` given out by the last call … */
    size_t emitted_end;           /* … to be dropped by the next */
    struct vv_rows view;          /* what the caller sees */
    uint8_t *bitmaps;
    size_t bitmaps_capacity;
    uint8_t *scratch; /* a presence bitmap while decoding */
    size_t scratch_capacity;
    struct vv_merge_figures figures;
};

static enum vv_status from_block_status(enum vv_block_status status, struct vv_error *error)
{
    switch (status) {
    case VV_BLOCK_OK:
        return VV_OK;
    case VV_BLOCK_NO_MEMORY:
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading a block");
    case VV_BLOCK_NEWER:
        return vv_error_set(error, VV_NEWER,
                            "a block was written by a newer version of Varve: upgrade this one");
    default:
        return vv_error_set(error, VV_CORRUPT,
                            "a stored block is damaged (its checksum or structure is wrong)");
    }
}

/* Floats win: see merge.h. */
static void note_type(struct vv_merge *merge, size_t lane, enum vv_value_type type)
{
    if (!merge->typed[lane] || type == VV_FLOAT64) {
        merge->types[lane] = type;
    }
    merge->typed[lane] = true;
}

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
    *merge_out = merge;
    return VV_OK;
}

static void free_input(struct vv_merge *merge, struct input *input)
{
    merge->input_bytes -= input->size;
    free(input->bytes);
    vv_rows_free(&input->rows);
    *input = (struct input){0};
}

static void free_inputs(struct vv_merge *merge)
{
    for (size_t i = merge->next_input; i < merge->n_inputs; i++) {
        free_input(merge, &merge->inputs[i]);
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
    begin_types(merge);
    if (merge->all_metrics) { /* another range may have other metrics */
        deinit_buffers(merge);
        merge->n_metrics = 0;
    } else if (merge->rows.lanes) {
        vv_merge_buffer_clear(&merge->rows);
        vv_merge_buffer_clear(&merge->out);
    }
}

static struct input *new_input(struct vv_merge *merge)
{
    vv_invariant(!merge->started);
    if (merge->n_inputs == merge->inputs_capacity) {
        size_t capacity = merge->inputs_capacity ? merge->inputs_capacity * 2 : 16;
        struct input *bigger = realloc(merge->inputs, capacity * sizeof *bigger);
        if (!bigger) {
            return NULL;
        }
        merge->inputs = bigger;
        merge->inputs_capacity = capacity;
    }
    struct input *input = &merge->inputs[merge->n_inputs];
    *input = (struct input){.order = merge->n_inputs};
    return input;
}

/* Whether the block has any wanted metric, whose types are noted. */
static enum vv_block_status look_for_wanted(struct vv_merge *merge, const struct vv_block *block,
                                            bool *found_out)
{
    enum vv_block_status status = VV_BLOCK_OK;
    *found_out = merge->all_metrics;
    for (size_t i = 0; !merge->all_metrics && i < merge->n_metrics && status == VV_BLOCK_OK; i++) {
        uint32_t index;
        struct vv_block_column column;
        if (vv_block_find(block, merge->metrics[i], &index)) {
            *found_out = true;
            status = vv_block_column_info(block, index, &column);
            if (status == VV_BLOCK_OK) {
                note_type(merge, i, column.type);
            }
        }
    }
    return status;
}

enum vv_status vv_merge_add_block(struct vv_merge *merge, const uint8_t *bytes, size_t size,
                                  struct vv_error *error)
{
    struct vv_block block;
    enum vv_status status = from_block_status(vv_block_open(bytes, size, &block), error);
    if (status != VV_OK) {
        return status;
    }
    merge->figures.pieces_added++;
    if (block.n_rows == 0 || block.time_max < merge->options.from ||
        block.time_min >= merge->options.to) {
        return VV_OK;
    }
    bool wanted = false;
    status = from_block_status(look_for_wanted(merge, &block, &wanted), error);
    if (status != VV_OK || !wanted) {
        return status;
    }
    struct input *input = new_input(merge);
    uint8_t *copy = input ? malloc(size) : NULL;
    if (!copy) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading blocks");
    }
    memcpy(copy, bytes, size);
    input->bytes = copy;
    input->size = size;
    input->time_min = block.time_min;
    input->time_max = block.time_max;
    merge->input_bytes += size;
    merge->n_inputs++;
    return VV_OK;
}

static const struct vv_column *find_column(const struct vv_rows *rows, uint32_t metric)
{
    for (size_t i = 0; i < rows->n_columns; i++) {
        if (rows->columns[i].metric == metric) {
            return &rows->columns[i];
        }
    }
    return NULL;
}

static void note_types_of(struct vv_merge *merge, const struct vv_rows *rows)
{
    for (size_t i = 0; !merge->all_metrics && i < merge->n_metrics; i++) {
        const struct vv_column *column = find_column(rows, merge->metrics[i]);
        if (column) {
            note_type(merge, i, column->type);
        }
    }
}

enum vv_status vv_merge_add_rows(struct vv_merge *merge, struct vv_rows *take_rows)
{
    struct vv_rows rows = *take_rows;
    *take_rows = (struct vv_rows){0};
    if (rows.n_rows == 0) {
        vv_rows_free(&rows);
        return VV_OK;
    }
    struct input *input = new_input(merge);
    if (!input) {
        vv_rows_free(&rows);
        return VV_NO_MEMORY;
    }
    input->time_min = input->time_max = rows.times[0];
    for (size_t i = 1; i < rows.n_rows; i++) {
        input->time_min = rows.times[i] < input->time_min ? rows.times[i] : input->time_min;
        input->time_max = rows.times[i] > input->time_max ? rows.times[i] : input->time_max;
    }
    input->rows = rows;
    merge->n_inputs++;
    note_types_of(merge, &rows);
    return VV_OK;
}

/* ---- starting: the order of pieces and the columns ---- */

static int compare_first(const void *a, const void *b)
{
    const struct input *x = a;
    const struct input *y = b;
    if (x->time_min != y->time_min) {
        return x->time_min < y->time_min ? -1 : 1;
    }
    return x->order < y->order ? -1 : x->order > y->order;
}

static int compare_last(const void *a, const void *b)
{
    const struct input *x = a;
    const struct input *y = b;
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

static enum vv_status want_all_of(struct vv_merge *merge, const struct input *input)
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
    status = from_block_status(vv_block_open(input->bytes, input->size, &block), NULL);
    for (uint32_t i = 0; status == VV_OK && i < block.n_columns; i++) {
        struct vv_block_column column;
        status = from_block_status(vv_block_column_info(&block, i, &column), NULL);
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

/* ---- opening a piece ---- */

static bool fit_scratch(struct vv_merge *merge, size_t rows)
{
    size_t needed = (rows + 7) / 8;
    if (needed > merge->scratch_capacity) {
        uint8_t *bigger = realloc(merge->scratch, needed);
        if (!bigger) {
            return false;
        }
        merge->scratch = bigger;
        merge->scratch_capacity = needed;
    }
    return true;
}

static void spread_bits(const uint8_t *bits, size_t rows, uint8_t *has)
{
    for (size_t i = 0; i < rows; i++) {
        has[i] = bits[i >> 3] >> (i & 7) & 1;
    }
}

/* Narrows rows [first, first + n) of the buffer, ascending in time, to [from, to). */
static void clip(struct vv_merge *merge, size_t first)
{
    struct vv_merge_buffer *rows = &merge->rows;
    size_t low = first;
    size_t high = rows->n_rows;
    while (low < high && rows->times[low] < merge->options.from) {
        low++;
    }
    while (high > low && rows->times[high - 1] >= merge->options.to) {
        high--;
    }
    size_t kept = high - low;
    if (low > first && kept > 0) {
        memmove(rows->times + first, rows->times + low, kept * sizeof *rows->times);
        memmove(rows->stamps + first, rows->stamps + low, kept * sizeof *rows->stamps);
        for (size_t i = 0; i < rows->n_lanes; i++) {
            struct vv_lane *lane = &rows->lanes[i];
            memmove(lane->values + first, lane->values + low, kept * sizeof *lane->values);
            memmove(lane->has + first, lane->has + low, kept);
        }
    }
    rows->n_rows = first + kept;
}

static void widen(uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = vv_int_as_float(values[i]);
    }
}

static enum vv_block_status open_lane(struct vv_merge *merge, const struct vv_block *block,
                                      size_t lane_index, size_t first)
{
    struct vv_lane *lane = &merge->rows.lanes[lane_index];
    uint32_t index;
    if (!vv_block_find(block, merge->metrics[lane_index], &index)) {
        memset(lane->has + first, 0, block->n_rows);
        return VV_BLOCK_OK;
    }
    struct vv_block_column info;
    enum vv_block_status status = vv_block_column_info(block, index, &info);
    if (status != VV_BLOCK_OK) {
        return status;
    }
    if (info.all_present) {
        memset(lane->has + first, 1, block->n_rows);
        status = vv_block_values(block, index, lane->values + first, NULL);
    } else {
        status = vv_block_values(block, index, lane->values + first, merge->scratch);
        if (status == VV_BLOCK_OK) {
            spread_bits(merge->scratch, block->n_rows, lane->has + first);
        }
    }
    if (status == VV_BLOCK_OK && info.type != merge->types[lane_index]) {
        widen(lane->values + first, block->n_rows);
    }
    return status;
}

static enum vv_status open_block(struct vv_merge *merge, const struct input *input,
                                 struct vv_error *error)
{
    struct vv_block block;
    enum vv_block_status status = vv_block_open(input->bytes, input->size, &block);
    if (status != VV_BLOCK_OK) {
        return from_block_status(status, error);
    }
    size_t first = merge->rows.n_rows;
    if (vv_merge_buffer_reserve(&merge->rows, block.n_rows) != VV_OK ||
        !fit_scratch(merge, block.n_rows)) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while decoding a block");
    }
    status = vv_block_times(&block, merge->rows.times + first);
    if (status == VV_BLOCK_OK) {
        status = vv_block_stamps(&block, merge->rows.stamps + first);
    }
    for (size_t i = 0; i < merge->n_metrics && status == VV_BLOCK_OK; i++) {
        status = open_lane(merge, &block, i, first);
    }
    if (status != VV_BLOCK_OK) {
        return from_block_status(status, error);
    }
    merge->rows.n_rows += block.n_rows;
    merge->figures.bytes_opened += input->size;
    merge->figures.rows_opened += block.n_rows;
    clip(merge, first);
    vv_merge_buffer_appended(&merge->rows, first);
    return VV_OK;
}

static enum vv_status open_rows(struct vv_merge *merge, const struct input *input)
{
    const struct vv_rows *rows = &input->rows;
    struct vv_merge_buffer *buffer = &merge->rows;
    size_t first = buffer->n_rows;
    if (vv_merge_buffer_reserve(buffer, rows->n_rows) != VV_OK) {
        return VV_NO_MEMORY;
    }
    for (size_t i = 0; i < rows->n_rows; i++) {
        if (rows->times[i] >= merge->options.from && rows->times[i] < merge->options.to) {
            buffer->times[buffer->n_rows] = rows->times[i];
            buffer->stamps[buffer->n_rows++] = rows->stamps[i];
        }
    }
    for (size_t lane = 0; lane < merge->n_metrics; lane++) {
        const struct vv_column *column = find_column(rows, merge->metrics[lane]);
        size_t to = first;
        if (!column) {
            memset(buffer->lanes[lane].has + first, 0, buffer->n_rows - first);
            continue;
        }
        for (size_t i = 0; i < rows->n_rows; i++) {
            if (rows->times[i] >= merge->options.from && rows->times[i] < merge->options.to) {
                buffer->lanes[lane].values[to] = column->values[i];
                buffer->lanes[lane].has[to++] = vv_column_has(column, i);
            }
        }
        if (column->type != merge->types[lane]) {
            widen(buffer->lanes[lane].values + first, to - first);
        }
    }
    merge->figures.rows_opened += rows->n_rows;
    vv_merge_buffer_appended(buffer, first);
    return VV_OK;
}

static enum vv_status open_next(struct vv_merge *merge, struct vv_error *error)
{
    struct input *input = &merge->inputs[merge->next_input];
    enum vv_status status =
        input->bytes ? open_block(merge, input, error) : open_rows(merge, input);
    merge->figures.pieces_opened += input->bytes != NULL;
    free_input(merge, input);
    merge->next_input++;
    size_t held = vv_merge_buffer_bytes(&merge->rows) + vv_merge_buffer_bytes(&merge->out) +
                  vv_merge_buffer_bytes(&merge->spare) + merge->input_bytes;
    if (status == VV_OK && merge->options.memory_max && held > merge->options.memory_max) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "rows that overlap in time need more than %zu bytes of memory: ask "
                            "for a shorter range or fewer metrics",
                            merge->options.memory_max);
    }
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
    const struct input *next = &merge->inputs[merge->next_input];
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
    const struct input *next = &merge->inputs[merge->next_input];
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

/* Opens pieces until some rows are complete, or nothing is left to open. Where pieces overlap so
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
        bool enough = merge->rows.sorted || merge->rows.n_rows >= 2 * held;
        if ((enough && some_complete(merge, low, high)) || merge->next_input == merge->n_inputs) {
            return VV_OK;
        }
        enum vv_status status = open_next(merge, error);
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
