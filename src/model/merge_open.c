/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a piece: its rows in the range, the wanted columns only, behind those that are open. */
#include "model/merge_private.h"

#include <stdlib.h>
#include <string.h>

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

static void note_stamps(struct vv_merge *merge, size_t first)
{
    const struct vv_merge_buffer *rows = &merge->rows;
    for (size_t i = first; merge->options.notes_stamps && i < rows->n_rows; i++) {
        uint64_t stamp = rows->stamps[i];
        merge->stamp_min = stamp < merge->stamp_min ? stamp : merge->stamp_min;
    }
}

/* ---- deletions ---- */

static uint64_t hide_row(struct vv_merge *merge, const struct vv_deletion *deletion, size_t row)
{
    uint64_t hidden = 0;
    for (size_t i = 0; i < merge->n_metrics; i++) {
        if (deletion->metric == VV_DELETION_ALL_METRICS || deletion->metric == merge->metrics[i]) {
            hidden += merge->rows.lanes[i].has[row];
            merge->rows.lanes[i].has[row] = 0;
        }
    }
    return hidden;
}

/* Takes the hidden values out of the rows from `first` on: for the merge they were never there. */
static void hide(struct vv_merge *merge, size_t first, const struct vv_merge_input *input)
{
    const struct vv_deletion_list *list = merge->options.deletions;
    const struct vv_merge_buffer *rows = &merge->rows;
    for (size_t i = 0; list && i < list->n; i++) {
        const struct vv_deletion *deletion = &list->items[i];
        if (deletion->to <= input->time_min || deletion->from > input->time_max) {
            continue;
        }
        for (size_t row = first; row < rows->n_rows; row++) {
            if (vv_deletion_hides(deletion, rows->times[row], rows->stamps[row])) {
                merge->figures.values_hidden += hide_row(merge, deletion, row);
            }
        }
    }
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

static enum vv_status open_block(struct vv_merge *merge, const struct vv_merge_input *input,
                                 struct vv_error *error)
{
    struct vv_block block;
    enum vv_block_status status = vv_block_open(input->bytes, input->size, &block);
    if (status != VV_BLOCK_OK) {
        return vv_merge_block_status(status, error);
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
        return vv_merge_block_status(status, error);
    }
    merge->rows.n_rows += block.n_rows;
    merge->figures.bytes_opened += input->size;
    merge->figures.rows_opened += block.n_rows;
    clip(merge, first);
    note_stamps(merge, first);
    hide(merge, first, input);
    vv_merge_buffer_appended(&merge->rows, first);
    return VV_OK;
}

static enum vv_status open_rows(struct vv_merge *merge, const struct vv_merge_input *input)
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
        const struct vv_column *column = vv_merge_find_column(rows, merge->metrics[lane]);
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
    note_stamps(merge, first);
    hide(merge, first, input);
    vv_merge_buffer_appended(buffer, first);
    return VV_OK;
}

enum vv_status vv_merge_open_next(struct vv_merge *merge, struct vv_error *error)
{
    struct vv_merge_input *input = &merge->inputs[merge->next_input];
    enum vv_status status =
        input->bytes ? open_block(merge, input, error) : open_rows(merge, input);
    merge->figures.pieces_opened += input->bytes != NULL;
    vv_merge_free_input(merge, input);
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
