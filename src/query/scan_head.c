/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head's part of a scan. Looking through the head's rows of a series takes time for all of
 * them, so a scan of many windows copies what it needs once, sorted, and cuts windows from the
 * copy. That the copy is older than what is read from the store later does no harm: what was
 * acknowledged before it is in the copy, or was in the store by then. Where the copy would take too
 * much memory, each window reads the head for itself.
 */
#include "query/scan_private.h"

#include <stdlib.h>

#define HEAD_SHARE           4 /* of the scan's memory for rows of the head */
#define WINDOWS_WITHOUT_COPY 4 /* where few rows are wanted */

struct place {
    int64_t time;
    size_t row;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return x->row < y->row ? -1 : x->row > y->row; /* of equal times the order of writing stays */
}

static bool is_ascending(const struct vv_rows *rows)
{
    for (size_t i = 1; i < rows->n_rows; i++) {
        if (rows->times[i] < rows->times[i - 1]) {
            return false;
        }
    }
    return true;
}

/* Rows [first, first + n) of `from`, in the order of places if there are any, as new rows. */
static enum vv_status copy_rows(const struct vv_rows *from, const struct place *places,
                                size_t first, size_t n, struct vv_rows *rows_out)
{
    enum vv_status status = vv_rows_alloc(n, from->n_columns, rows_out);
    if (status != VV_OK) {
        return status;
    }
    for (size_t i = 0; i < n; i++) {
        size_t row = places ? places[i].row : first + i;
        rows_out->times[i] = from->times[row];
        rows_out->stamps[i] = from->stamps[row];
    }
    for (size_t c = 0; c < from->n_columns; c++) {
        const struct vv_column *column = &from->columns[c];
        struct vv_column *out = &rows_out->columns[c];
        out->metric = column->metric;
        out->type = column->type;
        for (size_t i = 0; i < n; i++) {
            size_t row = places ? places[i].row : first + i;
            if (vv_column_has(column, row)) {
                out->values[i] = column->values[row];
                vv_column_mark(out, i);
            }
        }
    }
    return VV_OK;
}

static enum vv_status sort_rows(struct vv_rows *rows)
{
    if (is_ascending(rows)) {
        return VV_OK;
    }
    struct place *places = malloc(rows->n_rows * sizeof *places);
    if (!places) {
        return VV_NO_MEMORY;
    }
    for (size_t i = 0; i < rows->n_rows; i++) {
        places[i] = (struct place){rows->times[i], i};
    }
    qsort(places, rows->n_rows, sizeof *places, compare_places);
    struct vv_rows sorted = {0};
    enum vv_status status = copy_rows(rows, places, 0, rows->n_rows, &sorted);
    free(places);
    if (status == VV_OK) {
        vv_rows_free(rows);
        *rows = sorted;
    }
    return status;
}

static enum vv_status read_head(const struct vv_scan *scan, struct vv_window window,
                                struct vv_rows *rows_out)
{
    const struct vv_scan_options *options = &scan->options;
    *rows_out = (struct vv_rows){0};
    enum vv_status status = vv_head_read(
        scan->context->head, options->source, options->measurement, window.from, window.to,
        options->metrics, options->n_metrics, options->memory_max / HEAD_SHARE, rows_out);
    for (size_t i = 0; status == VV_OK && i < rows_out->n_columns; i++) {
        if (rows_out->columns[i].type == VV_HEAD_UNTYPED) {
            rows_out->columns[i].type = options->types[i];
        }
    }
    return status;
}

static enum vv_status copy_head(struct vv_scan *scan)
{
    scan->copy_tried = true;
    enum vv_status status = read_head(scan, scan->left, &scan->copy);
    if (status == VV_OK) {
        status = sort_rows(&scan->copy);
    }
    scan->copied = status == VV_OK;
    if (status == VV_TOO_LARGE) {
        return VV_OK; /* window by window, then */
    }
    return status;
}

enum vv_status vv_scan_look_at_head(struct vv_scan *scan)
{
    bool many = !scan->options.few || scan->n_windows >= WINDOWS_WITHOUT_COPY;
    if (many && !scan->copy_tried) {
        enum vv_status status = copy_head(scan);
        if (status != VV_OK) {
            return status;
        }
    }
    int64_t first = 0;
    int64_t last = 0;
    if (scan->copied) {
        scan->has_head = scan->copy.n_rows > 0;
        first = scan->has_head ? scan->copy.times[0] : 0;
        last = scan->has_head ? scan->copy.times[scan->copy.n_rows - 1] : 0;
    } else {
        scan->has_head = vv_head_series_times(scan->context->head, scan->options.source,
                                              scan->options.measurement, &first, &last);
    }
    scan->head = scan->has_head ? (struct vv_window){first, last + 1} : (struct vv_window){0, 0};
    return VV_OK;
}

/* The first row of the copy at or after `time`. */
static size_t copy_bound(const struct vv_scan *scan, int64_t time)
{
    size_t low = 0;
    size_t high = scan->copy.n_rows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (scan->copy.times[middle] < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

enum vv_status vv_scan_add_head(struct vv_scan *scan)
{
    if (!scan->has_head || vv_window_is_empty(vv_window_intersect(scan->window, scan->head))) {
        return VV_OK;
    }
    struct vv_rows rows = {0};
    enum vv_status status = VV_OK;
    if (scan->copied) {
        size_t first = copy_bound(scan, scan->window.from);
        size_t n = copy_bound(scan, scan->window.to) - first;
        status = n > 0 ? copy_rows(&scan->copy, NULL, first, n, &rows) : VV_OK;
    } else {
        status = read_head(scan, scan->window, &rows);
    }
    if (status != VV_OK || rows.n_rows == 0) {
        return status;
    }
    scan->found = true;
    return vv_merge_add_rows(scan->merge, &rows);
}
