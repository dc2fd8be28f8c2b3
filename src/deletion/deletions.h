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

/* Metadata of this kind has a source's markers (record.c). Also their kind where they are listed
 * beside objects of the registry. Part of the format. */
#define VV_META_DELETION 66

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

/* Changes when a marker may have become swept: what was read of the store before need not say what
 * is to be made anew because of it, and vv_deletions_overlap does not any more. */
uint64_t vv_deletions_sweeps(struct vv_deletions *deletions);

/* ---- the metadata ---- */

/* The source's record, documented in record.c; false, and nothing, when it has no markers. Check
 * the buffer's status. */
bool vv_deletions_encode(struct vv_deletions *deletions, uint32_t source, struct vv_buffer *buffer);
/* Applies a record, in any order with others and with orders. VV_CORRUPT, VV_NEWER,
 * VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_deletions_apply(struct vv_deletions *deletions, uint32_t source,
                                                struct vv_str record, struct vv_error *error);

/* ---- other nodes of a shared store ---- */

/* What another node told of a source: holds from now on, beyond the bounds if need be, since it was
 * acknowledged there. Any thread. VV_NO_MEMORY: it left no trace. */
VV_MUST_CHECK enum vv_status vv_deletions_learn(struct vv_deletions *deletions, uint32_t source,
                                                const struct vv_marker *markers, size_t n);
/* The highest stamp of any marker that there has been and that was given by a clock of that hour or
 * of one before (`until_ns` rounded up); what is accepted later needs a higher one. One whose clock
 * was wrong by far does not stand before those. 0: there was none. Any thread. */
vv_stamp vv_deletions_newest(struct vv_deletions *deletions, int64_t until_ns);
/* These markers of the source, as they were read, have been told. Storage thread. */
void vv_deletions_note_told(struct vv_deletions *deletions, uint32_t source,
                            const struct vv_marker *markers, size_t n);
/* What was told of the source may be gone. Storage thread. */
void vv_deletions_note_untold(struct vv_deletions *deletions, uint32_t source);

/* ---- sweeping and retiring: the storage thread ---- */

/* What a marker may lack; to be combined. */
enum vv_marker_lack {
    VV_MARKER_UNSWEPT = 1,
    VV_MARKER_UNCLEARED = 2,
    VV_MARKER_UNTOLD = 4,
};

/* The first source from `source` on that has a marker that lacks one of these (0: any marker);
 * UINT32_MAX: none. */
uint32_t vv_deletions_next(struct vv_deletions *deletions, uint32_t source, unsigned lacks);
/* Copies the source's markers, those that lack one of these first; returns how many there are, at
 * most `max` are copied. */
size_t vv_deletions_read(struct vv_deletions *deletions, uint32_t source, unsigned lacks,
                         struct vv_marker *markers_out, size_t max);
/* Visits all markers that lack one of these, by sources, without the lock: as they were when their
 * source was come to. */
void vv_deletions_visit(struct vv_deletions *deletions, unsigned lacks,
                        void (*visit)(void *context, uint32_t source,
                                      const struct vv_marker *marker),
                        void *context);
/* Markers as they were read, and what they lack no more since then: those that are still there lack
 * it no more either. */
void vv_deletions_note_done(struct vv_deletions *deletions, uint32_t source,
                            const struct vv_marker *markers, size_t n);
/* Drops the markers of the source that end at `before` or earlier, have a lower stamp than `until`
 * and lack none of these; how many. */
size_t vv_deletions_retire(struct vv_deletions *deletions, uint32_t source, int64_t before,
                           vv_stamp until, unsigned lacks);

struct vv_deletions_figures {
    uint64_t sources; /* that have markers */
    uint64_t markers;
};
void vv_deletions_read_figures(struct vv_deletions *deletions,
                               struct vv_deletions_figures *figures_out);

#endif
