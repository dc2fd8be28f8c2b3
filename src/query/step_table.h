/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step table: the folds of a group's steps, by the start of the step. Private to src/query. One
 * thread at a time. Folds do not move while the table lives.
 */
#ifndef VV_QUERY_STEP_TABLE_H
#define VV_QUERY_STEP_TABLE_H

#include "query/fold.h"

struct vv_step_entry {
    int64_t start;
    struct vv_fold fold;
};

/* Zero-initialised is empty and valid. */
struct vv_step_table {
    struct vv_step_entry **chunks;
    size_t n_chunks;
    size_t n;        /* entries, numbered in the order in which they were made */
    uint32_t *slots; /* hash table: entry + 1, 0 free */
    size_t n_slots;  /* a power of two */
    size_t last;     /* entry found last */
    uint32_t *order; /* after sorting */
    size_t bytes;    /* memory held, percentiles not counted */
};

/* The fold of a step, made when it is new; NULL when memory is out. */
struct vv_fold *vv_step_table_find(struct vv_step_table *table, int64_t start);
struct vv_step_entry *vv_step_table_entry(const struct vv_step_table *table, size_t index);
/* Sorts by start: vv_step_table_sorted then gives the entries in that order. */
VV_MUST_CHECK bool vv_step_table_sort(struct vv_step_table *table);
struct vv_step_entry *vv_step_table_sorted(const struct vv_step_table *table, size_t index);
/* Empties it. */
void vv_step_table_clear(const struct vv_fold_spec *spec, struct vv_step_table *table);

#endif
