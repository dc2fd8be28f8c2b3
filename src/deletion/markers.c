/* SPDX-License-Identifier: Apache-2.0 */
/* The markers of one source, united where that is exact. */
#include "deletion/private.h"

#include <stdlib.h>

enum vv_status vv_markers_reserve(struct vv_markers *markers, size_t more)
{
    size_t needed = markers->n + more;
    if (needed <= markers->capacity) {
        return VV_OK;
    }
    size_t capacity = markers->capacity * 2 > needed ? markers->capacity * 2 : needed;
    struct vv_marker *bigger = realloc(markers->items, capacity * sizeof *bigger);
    if (!bigger) {
        return VV_NO_MEMORY;
    }
    markers->items = bigger;
    markers->capacity = capacity;
    return VV_OK;
}

static bool is_same_part(const struct vv_marker *a, const struct vv_marker *b)
{
    return a->scope == b->scope && a->number == b->number;
}

/* Whether a hides all of the source that b hides, as far as the range goes: what a measurement has
 * is not known here. */
static bool outdoes(const struct vv_marker *a, const struct vv_marker *b)
{
    return a->stamp >= b->stamp && (a->scope == VV_DELETION_SOURCE || is_same_part(a, b));
}

/* Takes off `marker` what the newer one covers, where one range is left; false: nothing is. */
static bool cut(struct vv_marker *marker, const struct vv_marker *newer)
{
    if (newer->from <= marker->from && newer->to > marker->from) {
        marker->from = newer->to;
    }
    if (newer->to >= marker->to && newer->from < marker->to) {
        marker->to = newer->from;
    }
    return marker->from < marker->to;
}

static bool touch(const struct vv_marker *a, const struct vv_marker *b)
{
    return a->from <= b->to && b->from <= a->to;
}

/* Of two that are joined: whether it holds for all of the range. */
static bool hold(const struct vv_marker *a, bool of_a, const struct vv_marker *b, bool of_b)
{
    bool a_covers = a->from <= b->from && a->to >= b->to;
    bool b_covers = b->from <= a->from && b->to >= a->to;
    return (of_a && of_b) || (of_a && a_covers) || (of_b && b_covers);
}

/* Joins b into a when they have one stamp and their ranges make one. What the others know of it is
 * told again when this node knows better. */
static bool join(struct vv_marker *a, const struct vv_marker *b)
{
    if (a->stamp != b->stamp || !is_same_part(a, b) || !touch(a, b)) {
        return false;
    }
    bool is_swept = hold(a, a->is_swept, b, b->is_swept);
    bool is_told = hold(a, a->is_told && (a->is_swept || !is_swept), b,
                        b->is_told && (b->is_swept || !is_swept));
    a->is_cleared = hold(a, a->is_cleared, b, b->is_cleared);
    a->is_swept = is_swept;
    a->is_told = is_told;
    a->from = a->from < b->from ? a->from : b->from;
    a->to = a->to > b->to ? a->to : b->to;
    return true;
}

enum vv_status vv_markers_add(struct vv_markers *markers, const struct vv_marker *marker)
{
    struct vv_marker added = *marker;
    if (vv_markers_reserve(markers, 1) != VV_OK) {
        return VV_NO_MEMORY;
    }
    size_t kept = 0;
    bool is_left = true;
    for (size_t i = 0; i < markers->n; i++) {
        struct vv_marker each = markers->items[i];
        if (is_left && join(&added, &each)) {
            continue;
        }
        if (is_left && outdoes(&each, &added)) {
            is_left = cut(&added, &each);
        } else if (is_left && outdoes(&added, &each) && !cut(&each, &added)) {
            continue;
        }
        markers->items[kept++] = each;
    }
    markers->n = kept;
    if (is_left) {
        markers->items[markers->n++] = added;
    }
    return VV_OK;
}
