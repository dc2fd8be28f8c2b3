/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of source numbers: one in place, a few in an ascending array, many in a roaring bitmap.
 * Most tag values belong to one source (a host's name) or to very many (a region). Under the
 * caller's lock. Zero-initialised is empty and valid.
 */
#ifndef VV_REGISTRY_SOURCE_SET_H
#define VV_REGISTRY_SOURCE_SET_H

#include "base/status.h"

#include <roaring/roaring.h>
#include <stdint.h>

struct vv_source_set {
    uint32_t count;
    uint32_t capacity; /* 0: in place, UINT32_MAX: bitmap */
    union {
        uint32_t one;
        uint32_t *few;
        roaring_bitmap_t *many;
    };
};

void vv_source_set_deinit(struct vv_source_set *set);
/* Makes sure that one more can be added; false when memory is out. */
bool vv_source_set_reserve(struct vv_source_set *set);
/* Adds a source that is not in it; reserved. */
void vv_source_set_add(struct vv_source_set *set, uint32_t source);
/* Removes a source that is in it. */
void vv_source_set_remove(struct vv_source_set *set, uint32_t source);
/* Adds all of the set's sources to the bitmap. */
void vv_source_set_join(const struct vv_source_set *set, roaring_bitmap_t *bitmap);
/* Memory held beside the struct; an estimate for a bitmap. */
size_t vv_source_set_bytes(const struct vv_source_set *set);

#endif
