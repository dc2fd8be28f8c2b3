/* SPDX-License-Identifier: Apache-2.0 */
/* The step table: entries in chunks that do not move, found by a hash of their start. */
#include "query/step_table.h"

#include "base/random.h"

#include <stdlib.h>

#define CHUNK_ENTRIES 64u
#define SLOTS_MIN     64u
#define ENTRIES_MAX   (UINT32_MAX / 4)

struct vv_step_entry *vv_step_table_entry(const struct vv_step_table *table, size_t index)
{
    return &table->chunks[index / CHUNK_ENTRIES][index % CHUNK_ENTRIES];
}

/* Starts are multiples of the step: they are mixed so that neighbours spread. */
static size_t slot_of(const struct vv_step_table *table, int64_t start)
{
    struct vv_random hash = {.state = (uint64_t)start};
    return (size_t)vv_random_next(&hash) & (table->n_slots - 1);
}

static uint32_t *find_slot(const struct vv_step_table *table, int64_t start)
{
    size_t slot = slot_of(table, start);
    while (table->slots[slot] &&
           vv_step_table_entry(table, table->slots[slot] - 1)->start != start) {
        slot = (slot + 1) & (table->n_slots - 1);
    }
    return &table->slots[slot];
}

static bool grow_slots(struct vv_step_table *table)
{
    size_t n_slots = table->n_slots ? table->n_slots * 2 : SLOTS_MIN;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots) {
        return false;
    }
    free(table->slots);
    table->bytes += (n_slots - table->n_slots) * sizeof *slots;
    table->slots = slots;
    table->n_slots = n_slots;
    for (size_t i = 0; i < table->n; i++) {
        *find_slot(table, vv_step_table_entry(table, i)->start) = (uint32_t)i + 1;
    }
    return true;
}

static bool add_chunk(struct vv_step_table *table)
{
    size_t n = table->n_chunks + 1;
    struct vv_step_entry **chunks = realloc(table->chunks, n * sizeof *chunks);
    if (!chunks) {
        return false;
    }
    table->chunks = chunks;
    chunks[n - 1] = calloc(CHUNK_ENTRIES, sizeof *chunks[n - 1]);
    if (!chunks[n - 1]) {
        return false;
    }
    table->n_chunks = n;
    table->bytes += CHUNK_ENTRIES * sizeof *chunks[n - 1] + sizeof *chunks;
    return true;
}

static struct vv_fold *add_entry(struct vv_step_table *table, int64_t start)
{
    bool full = table->n == ENTRIES_MAX;
    if (full || (table->n == table->n_chunks * CHUNK_ENTRIES && !add_chunk(table)) ||
        (table->n * 2 >= table->n_slots && !grow_slots(table))) {
        return NULL;
    }
    struct vv_step_entry *entry = vv_step_table_entry(table, table->n);
    entry->start = start;
    *find_slot(table, start) = (uint32_t)table->n + 1;
    table->last = table->n++;
    return &entry->fold;
}

struct vv_fold *vv_step_table_find(struct vv_step_table *table, int64_t start)
{
    /* Each source goes through the steps in order: mostly it is the one found last or the next. */
    for (size_t i = table->last; i < table->n && i < table->last + 2; i++) {
        struct vv_step_entry *entry = vv_step_table_entry(table, i);
        if (entry->start == start) {
            table->last = i;
            return &entry->fold;
        }
    }
    uint32_t *slot = table->n_slots ? find_slot(table, start) : NULL;
    if (!slot || *slot == 0) {
        return add_entry(table, start);
    }
    table->last = *slot - 1;
    return &vv_step_table_entry(table, table->last)->fold;
}

static int compare_starts(const void *a, const void *b, void *context)
{
    const struct vv_step_table *table = context;
    int64_t x = vv_step_table_entry(table, *(const uint32_t *)a)->start;
    int64_t y = vv_step_table_entry(table, *(const uint32_t *)b)->start;
    return (x > y) - (x < y);
}

bool vv_step_table_sort(struct vv_step_table *table)
{
    free(table->order);
    table->order = malloc((table->n ? table->n : 1) * sizeof *table->order);
    if (!table->order) {
        return false;
    }
    for (size_t i = 0; i < table->n; i++) {
        table->order[i] = (uint32_t)i;
    }
    qsort_r(table->order, table->n, sizeof *table->order, compare_starts, table);
    return true;
}

struct vv_step_entry *vv_step_table_sorted(const struct vv_step_table *table, size_t index)
{
    return vv_step_table_entry(table, table->order[index]);
}

void vv_step_table_clear(const struct vv_fold_spec *spec, struct vv_step_table *table)
{
    for (size_t i = 0; i < table->n; i++) {
        vv_fold_deinit(spec, &vv_step_table_entry(table, i)->fold);
    }
    for (size_t i = 0; i < table->n_chunks; i++) {
        free(table->chunks[i]);
    }
    free(table->chunks);
    free(table->slots);
    free(table->order);
    *table = (struct vv_step_table){0};
}
