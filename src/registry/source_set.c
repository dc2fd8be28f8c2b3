/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of source numbers in three sizes. */
#include "registry/source_set.h"

#include <stdlib.h>
#include <string.h>

#define FEW_MIN  2u
#define FEW_MAX  64u
#define FEW_LEFT 32u /* a bitmap that shrinks to this becomes an array again */
#define MANY     UINT32_MAX

/* A bitmap's own structures, and what a member costs in an array container. */
#define MANY_BYTES   256u
#define MEMBER_BYTES 2u

void vv_source_set_deinit(struct vv_source_set *set)
{
    if (set->capacity == MANY) {
        roaring_bitmap_free(set->many);
    } else if (set->capacity) {
        free(set->few);
    }
    *set = (struct vv_source_set){0};
}

static bool make_many(struct vv_source_set *set)
{
    roaring_bitmap_t *many = roaring_bitmap_of_ptr(set->count, set->few);
    if (!many) {
        return false;
    }
    free(set->few);
    set->many = many;
    set->capacity = MANY;
    return true;
}

bool vv_source_set_reserve(struct vv_source_set *set)
{
    if (set->count == 0 || set->capacity == MANY || set->count < set->capacity) {
        return true;
    }
    if (set->capacity == FEW_MAX) {
        return make_many(set);
    }
    uint32_t capacity = set->capacity ? set->capacity * 2 : FEW_MIN;
    uint32_t *few = realloc(set->capacity ? set->few : NULL, capacity * sizeof *few);
    if (!few) {
        return false;
    }
    if (set->capacity == 0) {
        few[0] = set->one;
    }
    set->few = few;
    set->capacity = capacity;
    return true;
}

/* The first place whose member is not below the source. */
static uint32_t place_of(const struct vv_source_set *set, uint32_t source)
{
    uint32_t low = 0;
    uint32_t high = set->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (set->few[middle] < source) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void vv_source_set_add(struct vv_source_set *set, uint32_t source)
{
    if (set->capacity == MANY) {
        roaring_bitmap_add(set->many, source);
    } else if (set->capacity) {
        vv_invariant(set->count < set->capacity);
        uint32_t place = place_of(set, source);
        memmove(&set->few[place + 1], &set->few[place], (set->count - place) * sizeof *set->few);
        set->few[place] = source;
    } else {
        vv_invariant(set->count == 0);
        set->one = source;
    }
    set->count++;
}

/* A few again, if memory allows; a bitmap is right as well. */
static void make_few(struct vv_source_set *set)
{
    uint32_t *few = malloc(FEW_MAX * sizeof *few);
    if (few) {
        roaring_bitmap_to_uint32_array(set->many, few);
        roaring_bitmap_free(set->many);
        set->few = few;
        set->capacity = FEW_MAX;
    }
}

void vv_source_set_remove(struct vv_source_set *set, uint32_t source)
{
    vv_invariant(set->count > 0);
    set->count--;
    if (set->capacity == MANY) {
        roaring_bitmap_remove(set->many, source);
        if (set->count <= FEW_LEFT) {
            make_few(set);
        }
    } else if (set->capacity) {
        uint32_t place = place_of(set, source); /* among one less: still the right place */
        memmove(&set->few[place], &set->few[place + 1], (set->count - place) * sizeof *set->few);
    }
    if (set->count == 0) {
        vv_source_set_deinit(set);
    }
}

void vv_source_set_join(const struct vv_source_set *set, roaring_bitmap_t *bitmap)
{
    if (set->capacity == MANY) {
        roaring_bitmap_or_inplace(bitmap, set->many);
    } else if (set->capacity) {
        roaring_bitmap_add_many(bitmap, set->count, set->few);
    } else if (set->count) {
        roaring_bitmap_add(bitmap, set->one);
    }
}

size_t vv_source_set_bytes(const struct vv_source_set *set)
{
    if (set->capacity == MANY) {
        return MANY_BYTES + (size_t)set->count * MEMBER_BYTES;
    }
    return set->capacity * sizeof *set->few;
}
