/* SPDX-License-Identifier: Apache-2.0 */
/* What a merge is given: pieces that wait to be opened, and the types of their columns. */
#include "model/merge_private.h"

#include <stdlib.h>
#include <string.h>

enum vv_status vv_merge_block_status(enum vv_block_status status, struct vv_error *error)
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

void vv_merge_free_input(struct vv_merge *merge, struct vv_merge_input *input)
{
    merge->input_bytes -= input->size;
    free(input->bytes);
    vv_rows_free(&input->rows);
    *input = (struct vv_merge_input){0};
}

const struct vv_column *vv_merge_find_column(const struct vv_rows *rows, uint32_t metric)
{
    for (size_t i = 0; i < rows->n_columns; i++) {
        if (rows->columns[i].metric == metric) {
            return &rows->columns[i];
        }
    }
    return NULL;
}

/* Floats win: see merge.h. */
static void note_type(struct vv_merge *merge, size_t lane, enum vv_value_type type)
{
    if (!merge->typed[lane] || type == VV_FLOAT64) {
        merge->types[lane] = type;
    }
    merge->typed[lane] = true;
}

static struct vv_merge_input *new_input(struct vv_merge *merge)
{
    vv_invariant(!merge->started);
    if (merge->n_inputs == merge->inputs_capacity) {
        size_t capacity = merge->inputs_capacity ? merge->inputs_capacity * 2 : 16;
        struct vv_merge_input *bigger = realloc(merge->inputs, capacity * sizeof *bigger);
        if (!bigger) {
            return NULL;
        }
        merge->inputs = bigger;
        merge->inputs_capacity = capacity;
    }
    struct vv_merge_input *input = &merge->inputs[merge->n_inputs];
    *input = (struct vv_merge_input){.order = merge->n_inputs};
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
    enum vv_status status = vv_merge_block_status(vv_block_open(bytes, size, &block), error);
    if (status != VV_OK) {
        return status;
    }
    merge->figures.pieces_added++;
    if (block.n_rows == 0 || block.time_max < merge->options.from ||
        block.time_min >= merge->options.to) {
        return VV_OK;
    }
    bool wanted = false;
    status = vv_merge_block_status(look_for_wanted(merge, &block, &wanted), error);
    if (status != VV_OK || !wanted) {
        return status;
    }
    struct vv_merge_input *input = new_input(merge);
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

static void note_types_of(struct vv_merge *merge, const struct vv_rows *rows)
{
    for (size_t i = 0; !merge->all_metrics && i < merge->n_metrics; i++) {
        const struct vv_column *column = vv_merge_find_column(rows, merge->metrics[i]);
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
    struct vv_merge_input *input = new_input(merge);
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
