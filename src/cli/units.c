/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted list of metrics with units. */
#include "cli/units.h"

#include "cli/csv_reader.h"

#include <stdlib.h>

#define NONE SIZE_MAX

static size_t find_cell(const struct vv_csv_reader *csv, const char *name)
{
    for (size_t i = 0; i < csv->n; i++) {
        if (vv_str_equal(csv->cells[i], vv_str_of(name))) {
            return i;
        }
    }
    return NONE;
}

static enum vv_status add(struct vv_units *units, struct vv_str metric, struct vv_str unit)
{
    if (units->n == units->capacity) {
        size_t capacity = units->capacity ? units->capacity * 2 : 32;
        struct vv_unit *larger = realloc(units->rows, capacity * sizeof *larger);
        if (!larger) {
            return VV_NO_MEMORY;
        }
        units->rows = larger;
        units->capacity = capacity;
    }
    struct vv_unit *row = &units->rows[units->n];
    *row = (struct vv_unit){vv_str_duplicate(metric), vv_str_duplicate(unit)};
    units->n++; /* deinit frees it, whole or not */
    units->any = true;
    return row->metric && row->unit ? VV_OK : VV_NO_MEMORY;
}

static enum vv_status read_rows(struct vv_units *units, struct vv_csv_reader *csv,
                                struct vv_str text)
{
    size_t metric = NONE;
    size_t unit = NONE;
    for (bool header = true; text.size > 0; header = false) {
        enum vv_status status = vv_csv_reader_next(csv, text, true);
        if (status != VV_OK) {
            return status;
        }
        if (header) {
            metric = find_cell(csv, "metric");
            unit = find_cell(csv, "unit");
        } else if (metric < csv->n && unit < csv->n && csv->cells[unit].size > 0) {
            status = add(units, csv->cells[metric], csv->cells[unit]);
        }
        if (status != VV_OK) {
            return status;
        }
        text = (struct vv_str){text.data + csv->next, text.size - csv->next};
    }
    return VV_OK;
}

static int compare(const void *a, const void *b)
{
    const struct vv_unit *left = a;
    const struct vv_unit *right = b;
    return strcmp(left->metric, right->metric);
}

enum vv_status vv_units_read(struct vv_units *units, struct vv_str text)
{
    struct vv_csv_reader csv;
    *units = (struct vv_units){0};
    enum vv_status status = vv_csv_reader_init(&csv, ',');
    if (status == VV_OK) {
        status = read_rows(units, &csv, text);
        vv_csv_reader_deinit(&csv);
    }
    if (status == VV_OK && units->n > 0) {
        qsort(units->rows, units->n, sizeof *units->rows, compare);
    }
    return status;
}

void vv_units_deinit(struct vv_units *units)
{
    for (size_t i = 0; i < units->n; i++) {
        free(units->rows[i].metric);
        free(units->rows[i].unit);
    }
    free(units->rows);
    *units = (struct vv_units){0};
}

struct vv_str vv_units_find(const struct vv_units *units, struct vv_str metric)
{
    size_t low = 0;
    size_t high = units->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = vv_str_compare(vv_str_of(units->rows[middle].metric), metric);
        if (order == 0) {
            return vv_str_of(units->rows[middle].unit);
        }
        low = order < 0 ? middle + 1 : low;
        high = order < 0 ? high : middle;
    }
    return (struct vv_str){0};
}
