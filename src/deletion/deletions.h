/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The markers of all sources: kept, united, asked for. See README.md for what they promise.
 *
 * Threads: any may ask. One thread (the committer) prepares and publishes; records are applied
 * before other threads start; the storage thread notes what is swept and retires. A source without
 * markers costs one atomic load.
 */
#ifndef VV_DELETION_DELETIONS_H
#define VV_DELETION_DELETIONS_H

#include "base/status.h"
#include "model/deletion.h"
#include "model/merge.h"

#define VV_MARKERS_OF_SOURCE_MAX 64

struct vv_deletions;

VV_MUST_CHECK enum vv_status vv_deletions_create(uint64_t markers_max,
                                                 struct vv_deletions **deletions_out);
void vv_deletions_destroy(struct vv_deletions *deletions); /* NULL is allowed */

/* ---- orders ---- */

/* Whether the order fits the bounds: markers_max in all, VV_MARKERS_OF_SOURCE_MAX of a source after
 * uniting. VV_TOO_LARGE with a message that says what to do; VV_NO_MEMORY. What is published
 * between this and the order's own preparing may take it beyond. */
VV_MUST_CHECK enum vv_status vv_deletions_check(struct vv_deletions *deletions,
                                                const struct vv_deletion_order *order,
                                                struct vv_error *error);
/* Makes ready what the order adds: nobody sees it yet. Several may be prepared. VV_NO_MEMORY: it
 * left no trace. */
VV_MUST_CHECK enum vv_status vv_deletions_prepare(struct vv_deletions *deletions,
                                                  const struct vv_deletion_order *order,
                                                  vv_stamp stamp);
/* All that is prepared holds from now on; cannot fail. */
void vv_deletions_publish(struct vv_deletions *deletions);
void vv_deletions_forget(struct vv_deletions *deletions);

/* ---- asking ---- */

/* What hides points of a series, to be deinited; empty when nothing does. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_deletions_of(struct vv_deletions *deletions, uint32_t source,
                                             uint32_t measurement,
                                             struct vv_deletion_list *list_out);
/* Empties the merge for another series, and has it hide what is deleted of that: `list` is
 * replaced, and stays the merge's until then. `deletions` NULL: nothing is. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_deletions_begin_merge(struct vv_deletions *deletions,
                                                      uint32_t source, uint32_t measurement,
                                                      struct vv_merge *merge,
                                                      struct vv_deletion_list *list);
/* Whether the source has any marker. */
bool vv_deletions_has(struct vv_deletions *deletions, uint32_t source);
/* Whether something of the series in [from, to) was deleted by a marker that is not swept: what was
 * computed from its points may still have them. Once a marker is swept, what is to be made anew
 * because of it is noted in the store. For a metric's marker: of whatever measurement. */
bool vv_deletions_overlap(struct vv_deletions *deletions, uint32_t source, uint32_t measurement,
                          int64_t from, int64_t to);

/* ---- the metadata ---- */

/* The source's record, documented in record.c; false, and nothing, when it has no markers. Check
 * the buffer's status. */
bool vv_deletions_encode(struct vv_deletions *deletions, uint32_t source, struct vv_buffer *buffer);
/* Applies a record, in any order with others and with orders. VV_CORRUPT, VV_NEWER,
 * VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_deletions_apply(struct vv_deletions *deletions, uint32_t source,
                                                struct vv_str record, struct vv_error *error);

/* ---- sweeping and retiring: the storage thread ---- */

/* The first source from `source` on that has markers (with `unswept`: one that is not swept);
 * UINT32_MAX: none. */
uint32_t vv_deletions_next(struct vv_deletions *deletions, uint32_t source, bool unswept);
/* Copies the source's markers, those that are not swept first; returns how many there are, at most
 * `max` are copied. */
size_t vv_deletions_read(struct vv_deletions *deletions, uint32_t source,
                         struct vv_marker *markers_out, size_t max);
/* Of these markers, as they were read, those that are still there are swept. */
void vv_deletions_note_swept(struct vv_deletions *deletions, uint32_t source,
                             const struct vv_marker *markers, size_t n);
/* Drops the markers of the source that end at `before` or earlier; how many. */
size_t vv_deletions_retire(struct vv_deletions *deletions, uint32_t source, int64_t before);

struct vv_deletions_figures {
    uint64_t sources; /* that have markers */
    uint64_t markers;
};
void vv_deletions_read_figures(struct vv_deletions *deletions,
                               struct vv_deletions_figures *figures_out);

#endif
