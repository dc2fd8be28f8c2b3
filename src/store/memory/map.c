/* SPDX-License-Identifier: Apache-2.0 */
/* The skip list. */
#include "store/memory/map.h"

#include <stdlib.h>

static size_t node_bytes(const struct vv_memory_node *node)
{
    return sizeof *node + (size_t)node->height * sizeof node->next[0] + node->key.size +
           node->value.size;
}

static int random_height(struct vv_memory_map *map)
{
    int height = 1;
    uint64_t bits = vv_random_next(&map->random);
    while (height < VV_MEMORY_HEIGHT_MAX && (bits & 3) == 0) {
        bits >>= 2;
        height++;
    }
    return height;
}

struct vv_memory_node *vv_memory_node_create(struct vv_memory_map *map, struct vv_str key,
                                             struct vv_str value)
{
    int height = random_height(map);
    size_t links = (size_t)height * sizeof(struct vv_memory_node *);
    struct vv_memory_node *node = malloc(sizeof *node + links + key.size + value.size);
    if (!node) {
        return NULL;
    }
    char *bytes = (char *)node->next + links;
    if (key.size > 0) {
        memcpy(bytes, key.data, key.size);
    }
    if (value.size > 0) {
        memcpy(bytes + key.size, value.data, value.size);
    }
    node->key = (struct vv_str){bytes, key.size};
    node->value = (struct vv_str){bytes + key.size, value.size};
    node->retention_s = 0;
    node->head_size = 0;
    node->height = height;
    return node;
}

/* For each height the link that leads to the first node at or after key. A NULL key lies behind
 * all. */
static void find_links(struct vv_memory_map *map, struct vv_str key,
                       struct vv_memory_node **links_out[VV_MEMORY_HEIGHT_MAX])
{
    struct vv_memory_node **level = map->first;
    for (int height = VV_MEMORY_HEIGHT_MAX - 1; height >= 0; height--) {
        while (level[height] && (!key.data || vv_str_compare(level[height]->key, key) < 0)) {
            level = level[height]->next;
        }
        links_out[height] = &level[height];
    }
}

struct vv_memory_node *vv_memory_map_unlink(struct vv_memory_map *map, struct vv_str key)
{
    struct vv_memory_node **links[VV_MEMORY_HEIGHT_MAX];
    find_links(map, key, links);
    struct vv_memory_node *node = *links[0];
    if (!node || !vv_str_equal(node->key, key)) {
        return NULL;
    }
    for (int height = 0; height < node->height; height++) {
        *links[height] = node->next[height];
    }
    map->bytes -= node_bytes(node);
    return node;
}

struct vv_memory_node *vv_memory_map_link(struct vv_memory_map *map,
                                          struct vv_memory_node *take_node)
{
    struct vv_memory_node *old = vv_memory_map_unlink(map, take_node->key);
    struct vv_memory_node **links[VV_MEMORY_HEIGHT_MAX];
    find_links(map, take_node->key, links);
    for (int height = 0; height < take_node->height; height++) {
        take_node->next[height] = *links[height];
        *links[height] = take_node;
    }
    map->bytes += node_bytes(take_node);
    return old;
}

struct vv_memory_node *vv_memory_map_before(const struct vv_memory_map *map, struct vv_str key)
{
    struct vv_memory_node *last = NULL;
    struct vv_memory_node *const *level = map->first;
    for (int height = VV_MEMORY_HEIGHT_MAX - 1; height >= 0; height--) {
        while (level[height] && (!key.data || vv_str_compare(level[height]->key, key) < 0)) {
            last = level[height];
            level = last->next;
        }
    }
    return last;
}

struct vv_memory_node *vv_memory_map_seek(const struct vv_memory_map *map, struct vv_str key)
{
    struct vv_memory_node *last = vv_memory_map_before(map, key);
    return last ? last->next[0] : map->first[0];
}

struct vv_memory_node *vv_memory_map_find(const struct vv_memory_map *map, struct vv_str key)
{
    struct vv_memory_node *node = vv_memory_map_seek(map, key);
    return node && vv_str_equal(node->key, key) ? node : NULL;
}

void vv_memory_map_clear(struct vv_memory_map *map)
{
    struct vv_memory_node *node = map->first[0];
    while (node) {
        struct vv_memory_node *next = node->next[0];
        free(node);
        node = next;
    }
    *map = (struct vv_memory_map){0};
}
