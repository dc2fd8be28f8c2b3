/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to src/journal: the journal's state, and the steps that its files share.
 *
 * The list of segments is oldest first; the last one may be open for appending. Only the owner adds
 * to it or changes its last item; a releaser removes from its front, never the last. The owner's
 * fields need no lock. `lock` is held for moments only, never during a call of the disk;
 * `release_lock` is held while segments are removed, one releaser at a time.
 */
#ifndef VV_JOURNAL_JOURNAL_PRIVATE_H
#define VV_JOURNAL_JOURNAL_PRIVATE_H

#include "journal/segment.h"

#include <pthread.h>

struct vv_journal_segment {
    uint64_t number;
    uint64_t end;        /* behind the last record that counts */
    uint64_t file_bytes; /* what the file takes, preallocated space included */
    int64_t oldest_ns;   /* of the first record's stamp; 0 without records */
    bool is_open;
    bool released; /* not needed any more; it can go when a segment follows it */
};

struct vv_journal_segments {
    struct vv_journal_segment *items;
    size_t count;
    size_t capacity;
};

struct vv_journal {
    struct vv_disk *disk;
    struct vv_clock *clock;
    char *folder;
    uint64_t segment_bytes;
    uint64_t bytes_max;

    pthread_mutex_t lock;
    struct vv_journal_segments segments;
    struct vv_journal_figures counts; /* only what counts upwards */

    pthread_mutex_t release_lock;
    bool removal_pending; /* a removal was not made durable yet */

    /* The owner's: the open segment, when file is not NULL. */
    struct vv_file *file;
    bool stray_name; /* the name of a segment that was given up may come back after a crash */
    uint64_t seed;
    uint64_t end;
    uint64_t file_bytes;
    uint32_t commit; /* the last one's number in this segment */
    bool preallocates;
    struct vv_buffer buffer; /* of a commit, reused */
};

/* segments.c: the list; the caller holds journal->lock, or is alone. */

/* Makes room for one more, so that the next push cannot fail. */
VV_MUST_CHECK enum vv_status vv_journal_segments_reserve(struct vv_journal_segments *segments,
                                                         struct vv_error *error);
void vv_journal_segments_push(struct vv_journal_segments *segments,
                              struct vv_journal_segment segment);
void vv_journal_segments_pop_front(struct vv_journal_segments *segments);
/* NULL when there is none. */
struct vv_journal_segment *vv_journal_segments_last(struct vv_journal_segments *segments);
uint64_t vv_journal_segments_file_bytes(const struct vv_journal_segments *segments);

/* replay.c: replays what the folder holds and fills the list. */
VV_MUST_CHECK enum vv_status vv_journal_recover(struct vv_journal *journal, bool skip_damaged,
                                                vv_journal_replay replay, void *context,
                                                struct vv_error *error);

/* writer.c: the open segment; owner only. */

/* Sees to it that a segment is open which has room for a commit of this many bytes. VV_FULL, VV_IO
 * and VV_NO_MEMORY leave what was committed as it is. */
VV_MUST_CHECK enum vv_status vv_journal_make_room(struct vv_journal *journal, uint64_t commit_bytes,
                                                  struct vv_error *error);
/* Writes and syncs journal->buffer behind the last commit. Statuses as vv_journal_commit. */
VV_MUST_CHECK enum vv_status vv_journal_append(struct vv_journal *journal, struct vv_error *error);
/* Closes the open segment, if there is one; what was preallocated is given back. */
void vv_journal_end_segment(struct vv_journal *journal);

/* release.c */

/* Gives back the space of the last segment when it is closed and released; from then on its records
 * do not count. Owner only. */
void vv_journal_empty_released_last(struct vv_journal *journal);

#endif
