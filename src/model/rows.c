/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that own their memory. */
#include "model/merge.h"

#include <stdlib.h>
#include <string.h>

enum vv_status vv_rows_alloc(size_t n_rows, size_t n_columns, struct vv_rows *rows_out)
{
    struct vv_rows rows = {.n_rows = n_rows, .n_columns = n_columns};
    size_t room = n_rows ? n_rows : 1; /* calloc(0) may give NULL */
    rows.times = calloc(room, sizeof *rows.times);
    rows.stamps = calloc(room, sizeof *rows.stamps);
    rows.columns = calloc(n_columns ? n_columns : 1, sizeof *rows.columns);
    bool failed = !rows.times || !rows.stamps || !rows.columns;
    for (size_t i = 0; i < n_columns && !failed; i++) {
        rows.columns[i].values = calloc(room, sizeof *rows.columns[i].values);
        rows.columns[i].present = calloc((room + 7) / 8, 1);
        failed = !rows.columns[i].values || !rows.columns[i].present;
    }
    if (failed) {
        vv_rows_free(&rows);
        *rows_out = (struct vv_rows){0};
        return VV_NO_MEMORY;
    }
    *rows_out = rows;
    return VV_OK;
}

void vv_rows_free(struct vv_rows *rows)
{
    free(rows->times);
    free(rows->stamps);
    for (size_t i = 0; rows->columns && i < rows->n_columns; i++) {
        free(rows->columns[i].values);
        free(rows->columns[i].present);
    }
    free(rows->columns);
    *rows = (struct vv_rows){0};
}

enum vv_status vv_rows_copy(const struct vv_rows *rows, struct vv_rows *copy_out)
{
    size_t bitmap_size = (rows->n_rows + 7) / 8;
    enum vv_status status = vv_rows_alloc(rows->n_rows, rows->n_columns, copy_out);
    if (status != VV_OK) {
        return status;
    }
    memcpy(copy_out->times, rows->times, rows->n_rows * sizeof *rows->times);
    memcpy(copy_out->stamps, rows->stamps, rows->n_rows * sizeof *rows->stamps);
    for (size_t i = 0; i < rows->n_columns; i++) {
        struct vv_column *to = &copy_out->columns[i];
        const struct vv_column *from = &rows->columns[i];
        to->metric = from->metric;
        to->type = from->type;
        memcpy(to->values, from->values, rows->n_rows * sizeof *to->values);
        if (from->present) {
            memcpy(to->present, from->present, bitmap_size);
        } else {
            memset(to->present, 0xff, bitmap_size);
        }
    }
    return VV_OK;
}
