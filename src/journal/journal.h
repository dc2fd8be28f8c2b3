/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal: segment files of accepted records, durable before the answer.
 *
 * Words: a record is bytes with a stamp and a kind; a segment is a preallocated file
 * `journal/<16 hex digits>.seg`, numbered upwards; a position is (segment, offset).
 * Flow: vv_journal_commit appends many records with one write and one sync. When the store has what
 * a segment holds, vv_journal_release unlinks it. At open, all records that are left are replayed
 * in the order in which they were committed.
 * Threads: one owner (the committer) commits; any thread may release and read the figures.
 */
#ifndef VV_JOURNAL_JOURNAL_H
#define VV_JOURNAL_JOURNAL_H

#include "base/clock.h"
#include "base/disk.h"
#include "model/stamp.h"

struct vv_journal;

/* A record's payload is at most this large. */
#define VV_JOURNAL_RECORD_BYTES_MAX (64u << 20)

struct vv_journal_record {
    vv_stamp stamp;
    uint8_t kind; /* the owner's; 0 is reserved */
    const void *bytes;
    size_t size;
};

/* Everything before it is in lower segments or at lower offsets. */
struct vv_journal_position {
    uint64_t segment;
    uint64_t offset;
};

struct vv_journal_options {
    struct vv_disk *disk;
    struct vv_clock *clock;
    const char *folder;     /* must exist; borrowed for the call */
    uint64_t segment_bytes; /* size to preallocate; a larger commit gets a larger segment */
    uint64_t bytes_max;     /* all files together; beyond it a commit is VV_FULL; 0: no limit */
    /* false: a damaged record anywhere but at the torn tail of a segment refuses to open
     * (VV_CORRUPT, the message names file and offset). true: what follows it in that segment is
     * skipped and reported in the figures. */
    bool skip_damaged;
};

/* Called at open for each record in order; bytes are valid during the call. `position` is the end
 * of the record. Anything but VV_OK stops and is returned by open. */
typedef enum vv_status (*vv_journal_replay)(void *context, const struct vv_journal_record *record,
                                            struct vv_journal_position position);

/* Replays what is there, cuts off a torn tail, and opens for appending in a new segment.
 * VV_NEWER for a segment of a newer version, VV_CORRUPT as above. */
VV_MUST_CHECK enum vv_status vv_journal_open(const struct vv_journal_options *options,
                                             vv_journal_replay replay, void *context,
                                             struct vv_journal **journal_out,
                                             struct vv_error *error);
/* Does not sync: what was committed is durable already. */
void vv_journal_close(struct vv_journal *journal);

/*
 * Appends n records in order and syncs once. VV_OK: durable; *end_out is the position after them.
 * VV_FULL, VV_IO: certainly not stored, now or after a restart (the tail was cut off durably).
 * VV_UNKNOWN: the sync failed and the tail could not be cut off durably: a restart may or may not
 * find them; the journal goes on in a new segment, and once another commit succeeded they are
 * certainly not found. VV_TOO_LARGE (a record is too large), VV_NO_MEMORY: nothing was written.
 */
VV_MUST_CHECK enum vv_status vv_journal_commit(struct vv_journal *journal,
                                               const struct vv_journal_record *records, size_t n,
                                               struct vv_journal_position *end_out,
                                               struct vv_error *error);

/* The position after the last committed record. */
struct vv_journal_position vv_journal_end(struct vv_journal *journal);

/* Closes the current segment, so that all before the returned position can be released as whole
 * segments. Owner only. */
struct vv_journal_position vv_journal_cut(struct vv_journal *journal);

/* What lies before the position is no longer needed: unlinks segments that end at or before it,
 * oldest first. The last segment keeps its number until another follows it; when it is closed and
 * released, its records do not count any more and its space is given back by the next commit or by
 * close. What was released may still be replayed after a crash. VV_IO: some could not be unlinked;
 * the next call tries again. */
VV_MUST_CHECK enum vv_status vv_journal_release(struct vv_journal *journal,
                                                struct vv_journal_position position,
                                                struct vv_error *error);

struct vv_journal_figures {
    uint64_t bytes;      /* of records not released */
    uint64_t file_bytes; /* of segment files */
    uint64_t segments;
    uint64_t records;       /* committed since open */
    uint64_t syncs;         /* since open */
    uint64_t sync_failures; /* since open */
    uint64_t unknown;       /* commits with unknown outcome since open */
    uint64_t replayed;      /* records replayed at open */
    uint64_t damaged;       /* places skipped at open because of damage */
    int64_t oldest_ns;      /* clock of the oldest stamp not released, 0 when empty */
};
void vv_journal_read_figures(struct vv_journal *journal, struct vv_journal_figures *figures_out);

#endif
