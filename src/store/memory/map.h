/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sorted map of byte strings: a skip list whose heights come from a fixed seed, so that every run
 * of a simulation does the same. Private to src/store/memory. Not synchronised.
 */
#ifndef VV_STORE_MEMORY_MAP_H
#define VV_STORE_MEMORY_MAP_H

#include "base/bytes.h"
#include "base/random.h"

#define VV_MEMORY_HEIGHT_MAX 12

struct vv_memory_node {
    struct vv_str key;
    struct vv_str value;
    int64_t retention_s; /* of a block: the class it lies in */
    size_t head_size;    /* of a block: 0: all */
    int height;
    struct vv_memory_node *next[]; /* height; then the key's and the value's bytes */
};

/* Zero-initialised is empty and valid. */
struct vv_memory_map {
    struct vv_memory_node *first[VV_MEMORY_HEIGHT_MAX];
    struct vv_random random;
    size_t bytes; /* of the nodes in the map */
};

/* Copies key and value; NULL when memory is out. The node belongs to the caller until it is linked;
 * it is freed with free(). */
struct vv_memory_node *vv_memory_node_create(struct vv_memory_map *map, struct vv_str key,
                                             struct vv_str value);

/* Puts the node in; returns the node that had its key, now the caller's, or NULL. */
struct vv_memory_node *vv_memory_map_link(struct vv_memory_map *map,
                                          struct vv_memory_node *take_node);
/* Takes the key's node out; returns it, now the caller's, or NULL. */
struct vv_memory_node *vv_memory_map_unlink(struct vv_memory_map *map, struct vv_str key);

/* The first node at or after key; NULL when there is none. Go on with ->next[0]. */
struct vv_memory_node *vv_memory_map_seek(const struct vv_memory_map *map, struct vv_str key);
/* The last node before key; of all when the key's data is NULL. */
struct vv_memory_node *vv_memory_map_before(const struct vv_memory_map *map, struct vv_str key);
/* The node with exactly this key, or NULL. */
struct vv_memory_node *vv_memory_map_find(const struct vv_memory_map *map, struct vv_str key);

/* Frees all nodes. */
void vv_memory_map_clear(struct vv_memory_map *map);

#endif
