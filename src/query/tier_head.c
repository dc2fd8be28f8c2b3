/* SPDX-License-Identifier: Apache-2.0 */
#include "query/tier_head.h"

#include <stdlib.h>

struct times {
    int64_t *items;
    size_t n;
    size_t capacity;
};

static int compare_times(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* The minutes of which there are times, ascending. */
static enum vv_status keep_minutes(struct times *times, struct vv_unit **units_out, size_t *n_out)
{
    size_t kept = 0;
    struct vv_unit *units = malloc(times->n * sizeof *units);
    if (!units) {
        return VV_NO_MEMORY;
    }
    qsort(times->items, times->n, sizeof *times->items, compare_times);
    for (size_t i = 0; i < times->n; i++) {
        int64_t from = vv_time_floor(times->items[i], VV_MINUTE);
        if (kept == 0 || units[kept - 1].from != from) {
            units[kept++] = (struct vv_unit){from, from + VV_MINUTE};
        }
    }
    *units_out = units;
    *n_out = kept;
    return VV_OK;
}

/* Where the head's rows are too many to be copied, all between the first and the last one is taken
 * to be in it. */
static enum vv_status keep_all_between(struct vv_head *head, const struct vv_tier_head_look *look,
                                       struct vv_unit **units_out, size_t *n_out)
{
    struct vv_unit all = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < look->n_sources; i++) {
        int64_t first;
        int64_t last;
        if (vv_head_series_times(head, look->sources[i], look->metric->measurement, &first,
                                 &last)) {
            all.from = first < all.from ? first : all.from;
            all.to = last + 1 > all.to ? last + 1 : all.to;
        }
    }
    if (all.from > all.to) {
        return VV_OK; /* flushed meanwhile: the store has it */
    }
    *units_out = malloc(sizeof **units_out);
    if (!*units_out) {
        return VV_NO_MEMORY;
    }
    **units_out = all;
    *n_out = 1;
    return VV_OK;
}

static enum vv_status add_times(struct times *times, const struct vv_rows *rows, size_t memory_max)
{
    size_t n = times->n + rows->n_rows;
    if (n > memory_max / sizeof *times->items) {
        return VV_TOO_LARGE;
    }
    if (n > times->capacity) {
        size_t capacity = n < 2 * times->capacity ? 2 * times->capacity : n;
        int64_t *items = realloc(times->items, capacity * sizeof *items);
        if (!items) {
            return VV_NO_MEMORY;
        }
        times->items = items;
        times->capacity = capacity;
    }
    memcpy(times->items + times->n, rows->times, rows->n_rows * sizeof *rows->times);
    times->n = n;
    return VV_OK;
}

static enum vv_status read_times(struct vv_head *head, const struct vv_tier_head_look *look,
                                 struct times *times)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < look->n_sources && status == VV_OK; i++) {
        struct vv_rows rows = {0};
        status = vv_head_read(head, look->sources[i], look->metric->measurement, look->range.from,
                              look->range.to, &look->metric->metric, 1, look->memory_max, &rows);
        if (status == VV_OK && rows.n_rows > 0) {
            status = add_times(times, &rows, look->memory_max);
        }
        vv_rows_free(&rows);
    }
    return status;
}

enum vv_status vv_tier_head_look(struct vv_head *head, const struct vv_tier_head_look *look,
                                 struct vv_unit **units_out, size_t *n_out)
{
    struct times times = {0};
    *units_out = NULL;
    *n_out = 0;
    enum vv_status status = read_times(head, look, &times);
    if (status == VV_TOO_LARGE) {
        status = keep_all_between(head, look, units_out, n_out);
    } else if (status == VV_OK && times.n > 0) {
        status = keep_minutes(&times, units_out, n_out);
    }
    free(times.items);
    return status;
}
