/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group set: sources put together by the present values of some tags. Private to src/query. One
 * thread at a time.
 *
 * Use: add each source, then order once; groups are then ordered by their values, byte by byte,
 * and the sources of a group stand together, in the order in which they were added.
 */
#ifndef VV_QUERY_GROUP_SET_H
#define VV_QUERY_GROUP_SET_H

#include "base/arena.h"

struct vv_group {
    struct vv_str *values; /* one for each tag */
    size_t first;          /* sources of it: [first, first + n) of the ordered ones */
    size_t n;
};

/* Zero-initialised but for n_tags and seed is empty and valid. */
struct vv_group_set {
    size_t n_tags;
    uint64_t seed; /* of the hash: the values come from outside */
    struct vv_arena arena;
    struct vv_group *groups;
    size_t n_groups;
    size_t groups_capacity;
    uint32_t *slots; /* hash table: group + 1, 0 free */
    size_t n_slots;
    uint32_t *members; /* the group of each source added */
    size_t n_sources;
    size_t members_capacity;
    size_t bytes; /* memory held */
};

/* False when memory is out. The values are copied. */
VV_MUST_CHECK bool vv_group_set_add(struct vv_group_set *set, const struct vv_str *values);
/* Orders groups, and `sources`, which are as many as were added and in that order. */
VV_MUST_CHECK bool vv_group_set_order(struct vv_group_set *set, uint32_t *sources);
void vv_group_set_deinit(struct vv_group_set *set);

#endif
