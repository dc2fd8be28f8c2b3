/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bins of one sign: indexes with counts, sorted, only those in use. All allocations of
 * lib/sketch are made in store.c.
 *
 * What a full store keeps is a function of what was added, not of the order: the bins with the
 * VV_SKETCH_BINS_MAX highest indexes, the lowest of which also holds all that lay below.
 *
 * Private to lib/sketch.
 */
#ifndef VV_SKETCH_STORE_H
#define VV_SKETCH_STORE_H

#include "sketch.h"

/* Frees the bins and leaves an empty store. */
void vv_sketch_store_deinit(struct vv_sketch_store *store);

/* Empties the store but keeps its memory. */
void vv_sketch_store_clear(struct vv_sketch_store *store);

/* Makes room for n_bins without changing the contents; false when out of memory. */
bool vv_sketch_store_reserve(struct vv_sketch_store *store, uint32_t n_bins);

/* Adds count (1 or more) to a bin; the total must not overflow. False when out of memory. */
bool vv_sketch_store_add(struct vv_sketch_store *store, int32_t index, uint64_t count);

/* Adds n bins (indexes may occur several times), each once; the total must not overflow. False when
 * out of memory: a part may have been added. */
bool vv_sketch_store_add_many(struct vv_sketch_store *store, const int32_t *indexes, size_t n);

/* The same of n bins with their counts (1 or more); the indexes do not descend, at most 512 of
 * them differ. */
bool vv_sketch_store_add_counted(struct vv_sketch_store *store, const int32_t *indexes,
                                 const uint64_t *counts, size_t n);

/* A merge in two steps: prepare may fail and changes nothing; commit or cancel cannot fail. */
struct vv_sketch_store_merge {
    struct vv_sketch_store *into;
    const struct vv_sketch_store *from;
    struct vv_sketch_store target; /* the memory that takes the result */
    uint32_t n_union;
};

bool vv_sketch_store_merge_prepare(struct vv_sketch_store *into, const struct vv_sketch_store *from,
                                   struct vv_sketch_store_merge *merge_out);
void vv_sketch_store_merge_commit(struct vv_sketch_store_merge *merge);
void vv_sketch_store_merge_cancel(struct vv_sketch_store_merge *merge);

/* Bytes of the store's own allocation. */
size_t vv_sketch_store_memory_bytes(const struct vv_sketch_store *store);

#endif
