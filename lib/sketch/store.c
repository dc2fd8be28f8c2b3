/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted bins in one allocation: the counts, then the indexes. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 4u
#define WINDOW         512 /* indexes that are counted in an array */
#define FEW            4   /* not worth it */
#define LANES          8   /* numbers that are looked at together */
#define SPARSE         8   /* so many times the bins are there already: they are not all moved */
#define BIN_BYTES      (sizeof(uint64_t) + sizeof(int32_t))

static bool allocate(struct vv_sketch_store *store, uint32_t capacity)
{
    store->counts = malloc(capacity * BIN_BYTES);
    if (store->counts == NULL) {
        return false;
    }
    store->indexes = (int32_t *)(void *)(store->counts + capacity);
    store->capacity = capacity;
    return true;
}

static uint32_t grown_capacity(uint32_t capacity, uint32_t n_bins)
{
    uint32_t grown = capacity < CAPACITY_FIRST ? CAPACITY_FIRST : capacity;
    while (grown < n_bins) {
        grown *= 2;
    }
    return grown < VV_SKETCH_BINS_MAX ? grown : VV_SKETCH_BINS_MAX;
}

void vv_sketch_store_deinit(struct vv_sketch_store *store)
{
    free(store->counts);
    *store = (struct vv_sketch_store){0};
}

void vv_sketch_store_clear(struct vv_sketch_store *store)
{
    store->n_bins = 0;
    store->total = 0;
    store->collapsed = false;
}

bool vv_sketch_store_reserve(struct vv_sketch_store *store, uint32_t n_bins)
{
    if (n_bins <= store->capacity) {
        return true;
    }
    struct vv_sketch_store grown = *store;
    if (!allocate(&grown, grown_capacity(store->capacity, n_bins))) {
        return false;
    }
    if (store->n_bins > 0) {
        memcpy(grown.counts, store->counts, store->n_bins * sizeof *store->counts);
        memcpy(grown.indexes, store->indexes, store->n_bins * sizeof *store->indexes);
    }
    free(store->counts);
    *store = grown;
    return true;
}

/*
 * The bin of an index, if it lies among neighbours without gaps, as most do: then it is as far
 * from a bin `near` it as the indexes are apart. n_bins if it does not.
 */
static inline uint32_t guess_bin(const struct vv_sketch_store *store, uint32_t near, int32_t index)
{
    if (near >= store->n_bins) {
        return store->n_bins;
    }
    int64_t guess = (int64_t)near + index - store->indexes[near];
    bool found = guess >= 0 && guess < store->n_bins && store->indexes[guess] == index;
    return found ? (uint32_t)guess : store->n_bins;
}

/* The first bin whose index is not below the given one; n_bins if there is none. */
static uint32_t find_bin(const struct vv_sketch_store *store, int32_t index)
{
    uint32_t low = 0;
    uint32_t high = store->n_bins;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (store->indexes[middle] < index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void insert_bin(struct vv_sketch_store *store, uint32_t place, int32_t index, uint64_t count)
{
    uint32_t n_behind = store->n_bins - place;
    memmove(store->counts + place + 1, store->counts + place, n_behind * sizeof *store->counts);
    memmove(store->indexes + place + 1, store->indexes + place, n_behind * sizeof *store->indexes);
    store->counts[place] = count;
    store->indexes[place] = index;
    store->n_bins++;
}

/* A new bin in a full store: the lowest of all is folded into the next one. */
static void insert_and_collapse(struct vv_sketch_store *store, uint32_t place, int32_t index,
                                uint64_t count)
{
    store->collapsed = true;
    if (place == 0) {
        store->counts[0] += count;
        return;
    }
    uint64_t lowest = store->counts[0];
    uint32_t n_before = place - 1;
    memmove(store->counts, store->counts + 1, n_before * sizeof *store->counts);
    memmove(store->indexes, store->indexes + 1, n_before * sizeof *store->indexes);
    store->counts[n_before] = count;
    store->indexes[n_before] = index;
    store->counts[0] += lowest;
}

bool vv_sketch_store_add(struct vv_sketch_store *store, int32_t index, uint64_t count)
{
    uint32_t place = guess_bin(store, store->recent, index);
    place = place < store->n_bins ? place : find_bin(store, index);
    if (place < store->n_bins && store->indexes[place] == index) {
        store->counts[place] += count;
        store->recent = place;
    } else if (store->n_bins == VV_SKETCH_BINS_MAX) {
        insert_and_collapse(store, place, index, count);
    } else {
        if (!vv_sketch_store_reserve(store, store->n_bins + 1)) {
            return false;
        }
        insert_bin(store, place, index, count);
    }
    store->total += count;
    return true;
}

/* ---- many ---- */

/* Distinct indexes with their counts, on the stack: values of one time are mostly near each other.
 */
struct counted {
    uint64_t counts[WINDOW];
    int32_t indexes[WINDOW];
    uint32_t n;
};

static void count_window(const int32_t *indexes, size_t n, int32_t low, int32_t high,
                         struct counted *out)
{
    uint32_t window[WINDOW];
    uint32_t length = (uint32_t)(high - low) + 1;
    memset(window, 0, length * sizeof *window);
    for (size_t i = 0; i < n; i++) {
        window[indexes[i] - low]++;
    }
    out->n = 0;
    for (uint32_t i = 0; i < length; i++) {
        out->counts[out->n] = window[i];
        out->indexes[out->n] = low + (int32_t)i;
        out->n += window[i] > 0;
    }
}

/* The first bins of a store. */
static bool fill(struct vv_sketch_store *store, const struct counted *counted, size_t total)
{
    if (!vv_sketch_store_reserve(store, counted->n)) {
        return false;
    }
    memcpy(store->counts, counted->counts, counted->n * sizeof *counted->counts);
    memcpy(store->indexes, counted->indexes, counted->n * sizeof *counted->indexes);
    store->n_bins = counted->n;
    store->total += total;
    return true;
}

/* All at once, which moves each bin that is there once at most. */
static bool add_merging(struct vv_sketch_store *store, struct counted *counted, size_t total)
{
    const struct vv_sketch_store from = {.counts = counted->counts,
                                         .indexes = counted->indexes,
                                         .n_bins = counted->n,
                                         .capacity = counted->n,
                                         .total = total};
    struct vv_sketch_store_merge merge;
    if (!vv_sketch_store_merge_prepare(store, &from, &merge)) {
        return false;
    }
    vv_sketch_store_merge_commit(&merge);
    return true;
}

/* The least and the greatest of n indexes, n at least 1. */
static void find_bounds(const int32_t *indexes, size_t n, int32_t *low_out, int32_t *high_out)
{
    int32_t low[LANES];
    int32_t high[LANES];
    for (size_t lane = 0; lane < LANES; lane++) {
        low[lane] = high[lane] = indexes[0];
    }
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            int32_t index = indexes[i + lane];
            low[lane] = index < low[lane] ? index : low[lane];
            high[lane] = index > high[lane] ? index : high[lane];
        }
    }
    for (; i < n; i++) {
        low[0] = indexes[i] < low[0] ? indexes[i] : low[0];
        high[0] = indexes[i] > high[0] ? indexes[i] : high[0];
    }
    for (size_t lane = 1; lane < LANES; lane++) {
        low[0] = low[lane] < low[0] ? low[lane] : low[0];
        high[0] = high[lane] > high[0] ? high[lane] : high[0];
    }
    *low_out = low[0];
    *high_out = high[0];
}

/* Distinct bins, of which the counts' sum is `total`. */
static bool add_distinct(struct vv_sketch_store *store, struct counted *counted, size_t total)
{
    bool added = true;
    if (store->n_bins == 0) {
        return fill(store, counted, total);
    }
    if (store->n_bins <= SPARSE * counted->n) {
        return add_merging(store, counted, total);
    }
    for (uint32_t i = 0; i < counted->n && added; i++) {
        added = vv_sketch_store_add(store, counted->indexes[i], counted->counts[i]);
    }
    return added;
}

bool vv_sketch_store_add_many(struct vv_sketch_store *store, const int32_t *indexes, size_t n)
{
    bool added = true;
    int32_t low = 0;
    int32_t high = 0;
    if (n >= FEW) {
        find_bounds(indexes, n, &low, &high);
    }
    if (n < FEW || (int64_t)high - low >= WINDOW) {
        for (size_t i = 0; i < n && added; i++) {
            added = vv_sketch_store_add(store, indexes[i], 1);
        }
        return added;
    }
    struct counted counted;
    count_window(indexes, n, low, high, &counted);
    return add_distinct(store, &counted, n);
}

bool vv_sketch_store_add_counted(struct vv_sketch_store *store, const int32_t *indexes,
                                 const uint64_t *counts, size_t n)
{
    struct counted counted;
    uint64_t total = 0;
    counted.n = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_next = i == 0 || indexes[i] != indexes[i - 1];
        counted.n += is_next;
        counted.indexes[counted.n - 1] = indexes[i];
        counted.counts[counted.n - 1] = (is_next ? 0 : counted.counts[counted.n - 1]) + counts[i];
        total += counts[i];
    }
    return n == 0 || add_distinct(store, &counted, total);
}

/* ---- merging ---- */

/* The first bin from `place` on whose index is not below the given one; n_bins if there is none. */
static inline uint32_t find_on(const struct vv_sketch_store *store, uint32_t place, int32_t index)
{
    uint32_t guess = guess_bin(store, place, index);
    if (guess < store->n_bins) {
        return guess;
    }
    while (place < store->n_bins && store->indexes[place] < index) {
        place++;
    }
    return place;
}

static bool has(const struct vv_sketch_store *store, uint32_t place, int32_t index)
{
    return place < store->n_bins && store->indexes[place] == index;
}

static uint32_t count_union(const struct vv_sketch_store *into, const struct vv_sketch_store *from)
{
    uint32_t n_union = into->n_bins;
    uint32_t place = 0;
    for (uint32_t i = 0; i < from->n_bins; i++) {
        place = find_on(into, place, from->indexes[i]);
        n_union += !has(into, place, from->indexes[i]);
    }
    return n_union;
}

/* All bins are there. */
static void add_in_place(struct vv_sketch_store *into, const struct vv_sketch_store *from)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < from->n_bins; i++) {
        place = find_on(into, place, from->indexes[i]);
        into->counts[place] += from->counts[i];
    }
    into->total += from->total;
    into->collapsed = into->collapsed || from->collapsed;
}

bool vv_sketch_store_merge_prepare(struct vv_sketch_store *into, const struct vv_sketch_store *from,
                                   struct vv_sketch_store_merge *merge_out)
{
    uint32_t n_union = count_union(into, from);
    *merge_out = (struct vv_sketch_store_merge){
        .into = into, .from = from, .target = *into, .n_union = n_union};
    if (n_union <= into->capacity) {
        return true;
    }
    return allocate(&merge_out->target, grown_capacity(into->capacity, n_union));
}

void vv_sketch_store_merge_cancel(struct vv_sketch_store_merge *merge)
{
    if (merge->target.counts != merge->into->counts) {
        free(merge->target.counts);
    }
}

/*
 * Merges from the highest bin down. In place this is safe: as long as nothing is collapsed, the
 * place that is written is never below the place that is read next.
 */
void vv_sketch_store_merge_commit(struct vv_sketch_store_merge *merge)
{
    struct vv_sketch_store *into = merge->into;
    const struct vv_sketch_store *from = merge->from;
    struct vv_sketch_store *target = &merge->target;
    if (merge->n_union == into->n_bins) {
        add_in_place(into, from);
        return;
    }
    bool collapse = merge->n_union > VV_SKETCH_BINS_MAX;
    uint32_t n_bins = collapse ? VV_SKETCH_BINS_MAX : merge->n_union;
    uint64_t total = into->total + from->total;
    uint32_t i = into->n_bins;
    uint32_t j = from->n_bins;
    uint64_t folded = 0;
    for (uint32_t place = n_bins; i > 0 || j > 0;) {
        bool take_into = i > 0 && (j == 0 || into->indexes[i - 1] >= from->indexes[j - 1]);
        bool take_from = j > 0 && (i == 0 || from->indexes[j - 1] >= into->indexes[i - 1]);
        int32_t index = take_into ? into->indexes[i - 1] : from->indexes[j - 1];
        uint64_t count =
            (take_into ? into->counts[i - 1] : 0) + (take_from ? from->counts[j - 1] : 0);
        i -= take_into;
        j -= take_from;
        if (place > 0) {
            place--;
            target->indexes[place] = index;
            target->counts[place] = count;
        } else {
            folded += count;
        }
    }
    if (folded > 0) {
        target->counts[0] += folded;
    }
    target->n_bins = n_bins;
    target->total = total;
    target->collapsed = collapse || into->collapsed || from->collapsed;
    if (target->counts != into->counts) {
        free(into->counts);
    }
    *into = *target;
}

size_t vv_sketch_store_memory_bytes(const struct vv_sketch_store *store)
{
    return store->capacity * BIN_BYTES;
}
