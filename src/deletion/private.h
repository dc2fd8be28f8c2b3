/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef VV_DELETION_PRIVATE_H
#define VV_DELETION_PRIVATE_H

#include "deletion/deletions.h"

#include <pthread.h>
#include <stdatomic.h>

/* Markers of one source, in no order. */
struct vv_markers {
    struct vv_marker *items;
    size_t n;
    size_t capacity;
};

/* Adds a marker, uniting where that hides exactly the same points: what a newer one covers is
 * dropped or cut, what is covered by a newer one is left out, and ranges of one stamp are joined.
 * VV_NO_MEMORY leaves them as they were. */
VV_MUST_CHECK enum vv_status vv_markers_add(struct vv_markers *markers,
                                            const struct vv_marker *marker);
/* Room for so many more. */
VV_MUST_CHECK enum vv_status vv_markers_reserve(struct vv_markers *markers, size_t more);

struct vv_marked_source {
    struct vv_markers now;
    struct vv_markers next; /* prepared, when is_pending */
    bool is_pending;
};

#define VV_MARKED_PAGE 1024

/* The highest stamp of each hour of the clocks that gave them, descending; of the latest hours, if
 * there are more. */
#define VV_NEWEST_HOURS 256
struct vv_newest {
    vv_stamp stamps[VV_NEWEST_HOURS];
    size_t n;
};
void vv_newest_note(struct vv_newest *newest, vv_stamp stamp);

struct vv_deletions {
    pthread_rwlock_t lock; /* all that follows but the atomics */
    uint64_t markers_max;
    struct vv_marked_source **pages; /* of VV_MARKED_PAGE sources by number; NULL: none has any */
    size_t n_pages;
    uint32_t *pending; /* sources */
    size_t n_pending;
    size_t pending_capacity;
    _Atomic uint64_t n_markers;
    _Atomic uint64_t n_sources;
    _Atomic uint64_t n_sweeps; /* changed under the lock */
    struct vv_newest hours;
    _Atomic vv_stamp newest; /* of all */
};

/* Whether the marker hides nothing that the one that was read did not. */
bool vv_marker_is_within(const struct vv_marker *marker, const struct vv_marker *read);
/* Raises the newest stamps. Under the lock. */
void vv_marked_note_newest(struct vv_deletions *deletions, const struct vv_markers *markers);
/* The source's place; NULL when there is none. Under the lock. */
struct vv_marked_source *vv_marked_find(const struct vv_deletions *deletions, uint32_t source);
/* The same, made when it is missing; NULL when memory is out. */
struct vv_marked_source *vv_marked_make(struct vv_deletions *deletions, uint32_t source);
/* Puts other markers in the place of the present ones, which are freed; keeps count. */
void vv_marked_replace(struct vv_deletions *deletions, struct vv_marked_source *place,
                       struct vv_markers *take_markers);

#endif
