/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of objects by number, and pools. */
#include "registry/objects.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64
#define POOL_MIN   4
#define POOL_MAX   (UINT32_MAX / 4)
#define FREE_TAG   1u /* no item lies at an odd address */

enum vv_status vv_objects_init(struct vv_objects *objects, size_t item_size, unsigned chunk_bits,
                               uint32_t limit)
{
    *objects = (struct vv_objects){.item_size = item_size, .chunk_bits = chunk_bits};
    uint64_t numbers = (uint64_t)VV_OBJECT_CHUNKS << chunk_bits;
    objects->limit = limit < numbers ? limit : (uint32_t)numbers;
    size_t bytes = item_size << chunk_bits;
    objects->chunk_bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    objects->chunks = calloc(VV_OBJECT_CHUNKS, sizeof *objects->chunks);
    if (!objects->chunks) {
        return VV_NO_MEMORY;
    }
    atomic_init(&objects->bytes, VV_OBJECT_CHUNKS * sizeof *objects->chunks);
    pthread_mutex_init(&objects->lock, NULL);
    return VV_OK;
}

void vv_objects_deinit(struct vv_objects *objects)
{
    if (!objects->chunks) {
        return;
    }
    for (size_t i = 0; i < VV_OBJECT_CHUNKS; i++) {
        free(atomic_load_explicit(&objects->chunks[i], memory_order_relaxed));
    }
    free(objects->chunks);
    objects->chunks = NULL;
    pthread_mutex_destroy(&objects->lock);
}

void *vv_objects_room(struct vv_objects *objects, uint32_t number)
{
    void *item = vv_objects_at(objects, number);
    if (item) {
        return item;
    }
    uint8_t *chunk = aligned_alloc(CACHE_LINE, objects->chunk_bytes);
    if (!chunk) {
        return NULL;
    }
    memset(chunk, 0, objects->chunk_bytes);
    atomic_store_explicit(&objects->chunks[number >> objects->chunk_bits], chunk,
                          memory_order_release);
    atomic_fetch_add_explicit(&objects->bytes, objects->chunk_bytes, memory_order_relaxed);
    return vv_objects_at(objects, number);
}

void vv_objects_use(struct vv_objects *objects, uint32_t number)
{
    if (number >= vv_objects_end(objects)) {
        atomic_store_explicit(&objects->end, number + 1, memory_order_release);
    }
}

bool vv_pool_reserve(struct vv_pool *pool)
{
    if (pool->free || pool->end < pool->capacity) {
        return true;
    }
    if (pool->capacity > POOL_MAX) {
        return false;
    }
    uint32_t capacity = pool->capacity ? pool->capacity * 2 : POOL_MIN;
    void **items = realloc(pool->items, capacity * sizeof *items);
    if (!items) {
        return false;
    }
    pool->items = items;
    pool->capacity = capacity;
    return true;
}

/* A free place holds the next free number + 1, marked. */
static void *free_link(uint32_t next)
{
    return (void *)((uintptr_t)next << 1 | FREE_TAG);
}

static bool is_free(const void *item)
{
    return (uintptr_t)item & FREE_TAG;
}

uint32_t vv_pool_put(struct vv_pool *pool, void *item)
{
    if (pool->free) {
        uint32_t number = pool->free - 1;
        pool->free = (uint32_t)((uintptr_t)pool->items[number] >> 1);
        pool->items[number] = item;
        return number;
    }
    vv_invariant(pool->end < pool->capacity);
    pool->items[pool->end] = item;
    return pool->end++;
}

void vv_pool_drop(struct vv_pool *pool, uint32_t number)
{
    pool->items[number] = free_link(pool->free);
    pool->free = number + 1;
}

void *vv_pool_at(const struct vv_pool *pool, uint32_t number)
{
    void *item = number < pool->end ? pool->items[number] : NULL;
    return is_free(item) ? NULL : item;
}

void vv_pool_deinit(struct vv_pool *pool)
{
    free(pool->items);
    *pool = (struct vv_pool){0};
}
