/* SPDX-License-Identifier: Apache-2.0 */
#include "store/cassandra/noted.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW    8
#define SLOTS_MIN ((size_t)1 << 12)

static uint64_t mended(uint64_t hash)
{
    return hash ? hash : 1;
}

/* The eight slots in which a hash may be. */
static uint64_t *window_of(const struct vv_noted *noted, uint64_t hash)
{
    return &noted->slots[hash & (noted->n_slots - 1) & ~(uint64_t)(WINDOW - 1)];
}

/* The slot with `wanted` in it, which may be 0; NULL: none. */
static uint64_t *find(uint64_t *window, uint64_t wanted)
{
    for (size_t i = 0; i < WINDOW; i++) {
        if (window[i] == wanted) {
            return &window[i];
        }
    }
    return NULL;
}

/* In a free slot, or instead of another. */
static void put(struct vv_noted *noted, uint64_t hash)
{
    uint64_t *window = window_of(noted, hash);
    uint64_t *slot = find(window, 0);
    if (slot) {
        noted->n++;
    } else {
        slot = &window[hash >> 61];
    }
    *slot = hash;
}

static void grow(struct vv_noted *noted)
{
    size_t n_slots = noted->n_slots > 0 ? noted->n_slots * 2 : SLOTS_MIN;
    struct vv_noted grown = {calloc(n_slots, sizeof *grown.slots), n_slots, 0};
    if (!grown.slots) {
        return;
    }
    for (size_t i = 0; i < noted->n_slots; i++) {
        if (noted->slots[i] != 0) {
            put(&grown, noted->slots[i]);
        }
    }
    free(noted->slots);
    *noted = grown;
}

void vv_noted_deinit(struct vv_noted *noted)
{
    free(noted->slots);
    *noted = (struct vv_noted){0};
}

bool vv_noted_has(const struct vv_noted *noted, uint64_t hash)
{
    hash = mended(hash);
    return noted->n_slots > 0 && find(window_of(noted, hash), hash);
}

void vv_noted_add(struct vv_noted *noted, uint64_t hash)
{
    hash = mended(hash);
    if (vv_noted_has(noted, hash)) {
        return;
    }
    /* Filled to a quarter, one window in 4,000 has had more than it holds. */
    if (noted->n_slots < VV_NOTED_MAX && noted->n >= noted->n_slots / 4) {
        grow(noted);
    }
    if (noted->n_slots > 0) {
        put(noted, hash);
    }
}
