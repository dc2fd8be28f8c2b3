/* SPDX-License-Identifier: Apache-2.0 */
#include "tier/cover.h"

#include <stdlib.h>

void vv_cover_clear(struct vv_cover *cover)
{
    cover->n_records = 0;
    cover->n_stale = 0;
}

void vv_cover_deinit(struct vv_cover *cover)
{
    free(cover->records);
    free(cover->stale);
    *cover = (struct vv_cover){0};
}

/* Room for one more; the array, moved perhaps, or NULL. */
static void *fit(void *items, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity) {
        return items;
    }
    size_t larger = *capacity ? *capacity * 2 : 64;
    void *bigger = realloc(items, larger * size);
    *capacity = bigger ? larger : *capacity;
    return bigger;
}

enum vv_status vv_cover_add(struct vv_cover *cover, const struct vv_unit *unit, uint32_t tag)
{
    struct vv_covering *records =
        fit(cover->records, cover->n_records, &cover->records_capacity, sizeof *records);
    if (!records) {
        return VV_NO_MEMORY;
    }
    cover->records = records;
    cover->records[cover->n_records++] = (struct vv_covering){*unit, tag};
    return VV_OK;
}

enum vv_status vv_cover_add_stale(struct vv_cover *cover, const struct vv_unit *unit)
{
    struct vv_unit *stale =
        fit(cover->stale, cover->n_stale, &cover->stale_capacity, sizeof *stale);
    if (!stale) {
        return VV_NO_MEMORY;
    }
    cover->stale = stale;
    cover->stale[cover->n_stale++] = *unit;
    return VV_OK;
}

/* ---- settling ---- */

static int compare_units(const struct vv_unit *a, const struct vv_unit *b)
{
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return (a->to > b->to) - (a->to < b->to);
}

static int compare_stale(const void *a, const void *b)
{
    return compare_units(a, b);
}

/* Of the same unit the last added one, which has the highest tag where tags go up, comes first. */
static int compare_records(const void *a, const void *b)
{
    const struct vv_covering *x = a;
    const struct vv_covering *y = b;
    int order = compare_units(&x->unit, &y->unit);
    return order != 0 ? order : (y->tag > x->tag) - (y->tag < x->tag);
}

/* Makes the stale stretches ascend without overlaps. */
static void unite_stale(struct vv_cover *cover)
{
    size_t n = 0;
    if (cover->n_stale > 0) {
        qsort(cover->stale, cover->n_stale, sizeof *cover->stale, compare_stale);
    }
    for (size_t i = 0; i < cover->n_stale; i++) {
        struct vv_unit unit = cover->stale[i];
        if (n > 0 && unit.from <= cover->stale[n - 1].to) {
            int64_t to = cover->stale[n - 1].to;
            cover->stale[n - 1].to = unit.to > to ? unit.to : to;
        } else {
            cover->stale[n++] = unit;
        }
    }
    cover->n_stale = n;
}

void vv_cover_settle(struct vv_cover *cover)
{
    size_t n = 0;
    size_t stale = 0;
    unite_stale(cover);
    if (cover->n_records > 0) {
        qsort(cover->records, cover->n_records, sizeof *cover->records, compare_records);
    }
    for (size_t i = 0; i < cover->n_records; i++) {
        struct vv_covering record = cover->records[i];
        while (stale < cover->n_stale && cover->stale[stale].to <= record.unit.from) {
            stale++;
        }
        bool is_stale = stale < cover->n_stale && cover->stale[stale].from < record.unit.to;
        bool overlaps = n > 0 && cover->records[n - 1].unit.to > record.unit.from;
        if (!is_stale && !overlaps) {
            cover->records[n++] = record;
        }
    }
    cover->n_records = n;
}

bool vv_cover_is_stale(const struct vv_cover *cover, int64_t from, int64_t to)
{
    for (size_t i = 0; i < cover->n_stale; i++) {
        if (cover->stale[i].from < to && cover->stale[i].to > from) {
            return true;
        }
    }
    return false;
}

/* ---- reading ---- */

/* The first record that ends after `time`. */
static size_t first_after(const struct vv_cover *cover, int64_t time)
{
    size_t low = 0;
    size_t high = cover->n_records;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cover->records[middle].unit.to <= time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The whole steps of a record in [from, to); empty where there are none. */
static struct vv_unit whole_steps(struct vv_unit unit, int64_t step_ns, int64_t from, int64_t to)
{
    if (from > unit.from) { /* the unit's own ends may cut a step: it has all of what is there */
        unit.from = step_ns > 0 ? vv_time_ceil(from, step_ns) : from;
    }
    if (to < unit.to) {
        unit.to = step_ns > 0 ? vv_time_floor(to, step_ns) : to;
    }
    return unit;
}

struct vv_stretch vv_cover_next(const struct vv_cover *cover, int64_t step_ns, int64_t from,
                                int64_t to)
{
    struct vv_stretch gap = {.from = from, .to = to};
    for (size_t i = first_after(cover, from);
         i < cover->n_records && cover->records[i].unit.from < to; i++) {
        struct vv_unit unit = whole_steps(cover->records[i].unit, step_ns, from, to);
        if (unit.from >= unit.to) {
            continue;
        }
        if (unit.from > from) {
            gap.to = unit.from;
            return gap;
        }
        return (struct vv_stretch){
            .from = from, .to = unit.to, .is_covered = true, .tag = cover->records[i].tag};
    }
    return gap;
}

struct vv_stretch vv_cover_last(const struct vv_cover *cover, int64_t step_ns, int64_t from,
                                int64_t to)
{
    struct vv_stretch gap = {.from = from, .to = to};
    size_t end = first_after(cover, to);
    end += end < cover->n_records && cover->records[end].unit.from < to;
    for (size_t i = end; i > 0 && cover->records[i - 1].unit.to > from; i--) {
        struct vv_unit unit = whole_steps(cover->records[i - 1].unit, step_ns, from, to);
        if (unit.from >= unit.to) {
            continue;
        }
        if (unit.to < to) {
            gap.from = unit.to;
            return gap;
        }
        return (struct vv_stretch){
            .from = unit.from, .to = to, .is_covered = true, .tag = cover->records[i - 1].tag};
    }
    return gap;
}
