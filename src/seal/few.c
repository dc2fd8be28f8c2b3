/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/few.h"

#include "base/clock.h"

#include <stdlib.h>

#define FEW_VALUES 20 /* of a step: with fewer, rows take less, and say more */
#define VALUES_MAX (1u << 21)

void vv_few_drop(struct vv_few *few)
{
    for (size_t i = 0; i < few->n; i++) {
        vv_rows_free(&few->items[i]);
    }
    few->n = 0;
    few->takes = false;
}

void vv_few_deinit(struct vv_few *few)
{
    vv_few_drop(few);
    free(few->items);
    *few = (struct vv_few){0};
}

void vv_few_begin(struct vv_few *few, size_t steps_max)
{
    vv_few_drop(few);
    few->n_rows = 0;
    few->n_values = 0;
    few->rows_max = steps_max * FEW_VALUES;
    few->takes = true;
}

enum vv_status vv_few_add(struct vv_few *few, const struct vv_rows *rows, bool *taken_out)
{
    *taken_out = false;
    few->n_rows += rows->n_rows;
    few->n_values += rows->n_rows * rows->n_columns;
    if (!few->takes || few->n_rows > few->rows_max || few->n_values > VALUES_MAX) {
        few->takes = false;
        return VV_OK;
    }
    if (few->n == few->capacity) {
        size_t capacity = few->capacity ? few->capacity * 2 : 32;
        struct vv_rows *bigger = realloc(few->items, capacity * sizeof *bigger);
        if (!bigger) {
            return VV_NO_MEMORY;
        }
        few->items = bigger;
        few->capacity = capacity;
    }
    enum vv_status status = vv_rows_copy(rows, &few->items[few->n]);
    few->n += status == VV_OK;
    *taken_out = status == VV_OK;
    return status;
}

static uint64_t values_of(const struct vv_rows *rows, const struct vv_column *column)
{
    uint64_t n = 0;
    for (size_t row = 0; row < rows->n_rows; row++) {
        n += vv_column_has(column, row);
    }
    return n;
}

static bool is_earlier(const struct vv_few *few, size_t n, uint32_t metric)
{
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) {
        for (size_t c = 0; c < few->items[i].n_columns && !found; c++) {
            found = few->items[i].columns[c].metric == metric;
        }
    }
    return found;
}

/* By the mean over all steps and metrics that there are. */
bool vv_few_is_so(const struct vv_few *few, int64_t step_ns)
{
    uint64_t values = 0;
    uint64_t steps = 0;
    uint64_t metrics = 0;
    int64_t last = 0;
    for (size_t i = 0; i < few->n; i++) {
        const struct vv_rows *rows = &few->items[i];
        for (size_t row = 0; row < rows->n_rows; row++) {
            int64_t start = vv_time_floor(rows->times[row], step_ns);
            steps += steps == 0 || start != last;
            last = start;
        }
        for (size_t c = 0; c < rows->n_columns; c++) {
            values += values_of(rows, &rows->columns[c]);
            metrics += !is_earlier(few, i, rows->columns[c].metric);
        }
    }
    return values < FEW_VALUES * steps * metrics;
}
