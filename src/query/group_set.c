/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping sources by the values of their tags. */
#include "query/group_set.h"

#include <stdlib.h>
#include <xxhash.h>

#define SLOTS_MIN 64u

static uint64_t hash_of(const struct vv_group_set *set, const struct vv_str *values)
{
    uint64_t hash = set->seed;
    for (size_t i = 0; i < set->n_tags; i++) {
        hash = XXH3_64bits_withSeed(values[i].data, values[i].size, hash + i);
    }
    return hash;
}

static bool equal(const struct vv_group_set *set, const struct vv_str *a, const struct vv_str *b)
{
    for (size_t i = 0; i < set->n_tags; i++) {
        if (!vv_str_equal(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

static uint32_t *find_slot(const struct vv_group_set *set, const struct vv_str *values)
{
    size_t slot = (size_t)hash_of(set, values) & (set->n_slots - 1);
    while (set->slots[slot] && !equal(set, set->groups[set->slots[slot] - 1].values, values)) {
        slot = (slot + 1) & (set->n_slots - 1);
    }
    return &set->slots[slot];
}

static bool grow_slots(struct vv_group_set *set)
{
    size_t n_slots = set->n_slots ? set->n_slots * 2 : SLOTS_MIN;
    uint32_t *slots = calloc(n_slots, sizeof *slots);
    if (!slots) {
        return false;
    }
    free(set->slots);
    set->slots = slots;
    set->n_slots = n_slots;
    for (size_t i = 0; i < set->n_groups; i++) {
        *find_slot(set, set->groups[i].values) = (uint32_t)i + 1;
    }
    return true;
}

static bool grow_groups(struct vv_group_set *set)
{
    size_t capacity = set->groups_capacity ? set->groups_capacity * 2 : 16;
    struct vv_group *groups = realloc(set->groups, capacity * sizeof *groups);
    if (!groups) {
        return false;
    }
    set->groups = groups;
    set->groups_capacity = capacity;
    return true;
}

static bool add_group(struct vv_group_set *set, const struct vv_str *values)
{
    if ((set->n_groups == set->groups_capacity && !grow_groups(set)) ||
        (set->n_groups * 2 >= set->n_slots && !grow_slots(set))) {
        return false;
    }
    struct vv_group *group = &set->groups[set->n_groups];
    *group = (struct vv_group){
        .values = vv_arena_alloc(&set->arena, set->n_tags * sizeof *group->values)};
    if (!group->values) {
        return false;
    }
    for (size_t i = 0; i < set->n_tags; i++) {
        group->values[i] = vv_arena_str(&set->arena, values[i]);
        if (!group->values[i].data) {
            return false;
        }
    }
    *find_slot(set, values) = (uint32_t)set->n_groups + 1;
    set->n_groups++;
    return true;
}

static bool add_member(struct vv_group_set *set, uint32_t group)
{
    if (set->n_sources == set->members_capacity) {
        size_t capacity = set->members_capacity ? set->members_capacity * 2 : 256;
        uint32_t *members = realloc(set->members, capacity * sizeof *members);
        if (!members) {
            return false;
        }
        set->members = members;
        set->members_capacity = capacity;
    }
    set->members[set->n_sources++] = group;
    set->groups[group].n++;
    return true;
}

bool vv_group_set_add(struct vv_group_set *set, const struct vv_str *values)
{
    uint32_t *slot = set->n_slots ? find_slot(set, values) : NULL;
    uint32_t group = (uint32_t)set->n_groups;
    if (slot && *slot) {
        group = *slot - 1;
    } else if (!add_group(set, values)) {
        return false;
    }
    bool added = add_member(set, group);
    set->bytes = set->arena.bytes + set->groups_capacity * sizeof *set->groups +
                 (set->n_slots + set->members_capacity) * sizeof *set->slots;
    return added;
}

static int compare_groups(const void *a, const void *b, void *context)
{
    const struct vv_group_set *set = context;
    const struct vv_group *x = &set->groups[*(const uint32_t *)a];
    const struct vv_group *y = &set->groups[*(const uint32_t *)b];
    int order = 0;
    for (size_t i = 0; i < set->n_tags && order == 0; i++) {
        order = vv_str_compare(x->values[i], y->values[i]);
    }
    return order;
}

/* Puts groups into the order of `order`, and gives each its place among the sources. */
static void place_groups(struct vv_group_set *set, const uint32_t *order, struct vv_group *ordered)
{
    size_t first = 0;
    for (size_t i = 0; i < set->n_groups; i++) {
        struct vv_group *group = &set->groups[order[i]];
        group->first = first;
        first += group->n;
        ordered[i] = *group;
    }
}

/* Puts sources where their groups say; `first` of a group moves on as it is filled. */
static void place_sources(struct vv_group_set *set, uint32_t *sources, uint32_t *placed)
{
    for (size_t i = 0; i < set->n_sources; i++) {
        placed[set->groups[set->members[i]].first++] = sources[i];
    }
    memcpy(sources, placed, set->n_sources * sizeof *sources);
}

bool vv_group_set_order(struct vv_group_set *set, uint32_t *sources)
{
    if (set->n_groups == 0) {
        return true;
    }
    uint32_t *order = malloc(set->n_groups * sizeof *order);
    uint32_t *placed = malloc(set->n_sources * sizeof *placed);
    struct vv_group *ordered = malloc(set->n_groups * sizeof *ordered);
    bool done = order && placed && ordered;
    if (done) {
        for (size_t i = 0; i < set->n_groups; i++) {
            order[i] = (uint32_t)i;
        }
        qsort_r(order, set->n_groups, sizeof *order, compare_groups, set);
        place_groups(set, order, ordered);
        place_sources(set, sources, placed);
        memcpy(set->groups, ordered, set->n_groups * sizeof *ordered);
    }
    free(order);
    free(placed);
    free(ordered);
    return done;
}

void vv_group_set_deinit(struct vv_group_set *set)
{
    vv_arena_deinit(&set->arena);
    free(set->groups);
    free(set->slots);
    free(set->members);
    *set = (struct vv_group_set){.n_tags = set->n_tags, .seed = set->seed};
}
