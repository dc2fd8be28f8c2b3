/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects by number: an array in chunks that never move, so that readers need no lock.
 *
 * Numbers are given from 0 upwards. Who adds an object holds the lock, fills the object and
 * publishes it with a release store that its readers acquire (its name). A pool is the other kind
 * of array: items by number under the caller's lock, where numbers are used again.
 */
#ifndef VV_REGISTRY_OBJECTS_H
#define VV_REGISTRY_OBJECTS_H

#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define VV_OBJECT_CHUNKS 8192

struct vv_objects {
    pthread_mutex_t lock;
    size_t item_size;
    unsigned chunk_bits;
    uint32_t limit;             /* live ones, at most; records may go beyond */
    _Atomic(uint8_t *) *chunks; /* VV_OBJECT_CHUNKS */
    _Atomic uint32_t end;       /* all numbers in use are below */
    _Atomic uint32_t live;
    size_t chunk_bytes;   /* each */
    _Atomic size_t bytes; /* held */
};

/* A chunk has 2^chunk_bits items. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_objects_init(struct vv_objects *objects, size_t item_size,
                                             unsigned chunk_bits, uint32_t limit);
void vv_objects_deinit(struct vv_objects *objects);

/* The item, zeroed as long as it was not used; NULL when no number near it was. Any thread. */
static inline void *vv_objects_at(const struct vv_objects *objects, uint32_t number)
{
    uint32_t chunk = number >> objects->chunk_bits;
    if (chunk >= VV_OBJECT_CHUNKS) {
        return NULL;
    }
    uint8_t *items = atomic_load_explicit(&objects->chunks[chunk], memory_order_acquire);
    uint32_t index = number & ((1u << objects->chunk_bits) - 1);
    return items ? items + index * objects->item_size : NULL;
}

static inline uint32_t vv_objects_end(const struct vv_objects *objects)
{
    return atomic_load_explicit(&objects->end, memory_order_acquire);
}

/* Whether there can be an object with this number. */
static inline bool vv_objects_can_hold(const struct vv_objects *objects, uint32_t number)
{
    return number >> objects->chunk_bits < VV_OBJECT_CHUNKS;
}

/* Makes room for the item; NULL when memory is out. Under the lock; vv_objects_can_hold. */
void *vv_objects_room(struct vv_objects *objects, uint32_t number);
/* The number counts as used from now on. Under the lock. */
void vv_objects_use(struct vv_objects *objects, uint32_t number);

/* A zero-initialised pool is empty and valid. */
struct vv_pool {
    void **items;
    uint32_t end;
    uint32_t capacity;
    uint32_t free; /* the first free number + 1; 0: none */
};

/* Makes sure that the next put succeeds; false when memory is out. */
bool vv_pool_reserve(struct vv_pool *pool);
uint32_t vv_pool_put(struct vv_pool *pool, void *item);
void vv_pool_drop(struct vv_pool *pool, uint32_t number);
/* The item; NULL when the number is not in use. */
void *vv_pool_at(const struct vv_pool *pool, uint32_t number);
void vv_pool_deinit(struct vv_pool *pool); /* not the items */
static inline size_t vv_pool_bytes(const struct vv_pool *pool)
{
    return pool->capacity * sizeof *pool->items;
}

#endif
