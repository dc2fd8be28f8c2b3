/* SPDX-License-Identifier: Apache-2.0 */
/*
 * History on its way in: lines of line protocol with times in ns, sorted by time in a folder, in
 * bounded memory. A writer collects lines and writes sorted runs; a merge reads all runs as one
 * sequence, from where each of them was left. One thread at a time.
 *
 * A run is a file, "run-" and a number. It is private to one machine and one program's life, so it
 * has no checksum; its length is known, and every length in it is checked:
 *
 *   run    = magic "VVHIST2\n", records that ascend by (slice, group, time, place)
 *   record = u32 size of the text, u32 size of its series, u32 points, u32 newlines,
 *            i64 slice, u64 group, i64 time in ns, u64 place, text
 *
 * The place is where a line came from: of equal times the later one comes later. Slice and group
 * come before the time, for lines that are to stay together.
 */
#ifndef VV_CLI_HISTORY_H
#define VV_CLI_HISTORY_H

#include "base/bytes.h"

#include <stdio.h>

#define VV_HISTORY_RUNS_MAX 64 /* that are read at once: more are merged into one */

#define VV_HISTORY_TEXT_MAX  (8u << 20) /* bytes of a line */
#define VV_HISTORY_PATH_SIZE 1200

struct vv_history_line {
    int64_t slice;
    uint64_t group;
    int64_t time;
    uint64_t place;
    struct vv_str text;
    uint32_t series_size;
    uint32_t points;
    uint32_t newlines;
};

/* ---- runs ---- */

struct vv_history_run {
    uint64_t number; /* of its name */
    uint64_t bytes;  /* its length */
    uint64_t at;     /* what was read of it so far */
};

struct vv_history_runs {
    struct vv_history_run items[VV_HISTORY_RUNS_MAX];
    size_t n;
    uint64_t next; /* the number of the next one */
};

/* ---- writing ---- */

struct vv_history_writer;

/* `folder` is borrowed. memory_max: of what is collected before it is written. */
VV_MUST_CHECK enum vv_status vv_history_writer_create(const char *folder, size_t memory_max,
                                                      struct vv_history_writer **writer_out);
void vv_history_writer_destroy(struct vv_history_writer *writer); /* NULL is allowed */
/* Copies the line, of VV_HISTORY_TEXT_MAX bytes at most. VV_FULL: there is no room until
 * vv_history_write. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_history_add(struct vv_history_writer *writer,
                                            const struct vv_history_line *line);
/* Writes what was collected, if anything, as a run, durably, and adds it to the runs; where there
 * are too many then, they are merged into one first. On failure `runs` is as it was, and the lines
 * are kept. Files that `runs` does not name any more are the caller's to remove, when it has noted
 * that. VV_IO, VV_NO_MEMORY, VV_CORRUPT. */
VV_MUST_CHECK enum vv_status vv_history_write(struct vv_history_writer *writer,
                                              struct vv_history_runs *runs, struct vv_error *error);

/* Removes all files of runs in the folder but those of `keep` (NULL: all). */
void vv_history_remove(const char *folder, const struct vv_history_runs *keep);

/* ---- reading ---- */

struct vv_history_merge;

/* Opens all runs where they were left; `folder` and `runs` are borrowed until destroy, and each
 * run's `at` is moved as lines are read. VV_CORRUPT: a run is not as long as it was; VV_IO,
 * VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_history_merge_create(const char *folder,
                                                     struct vv_history_runs *runs,
                                                     struct vv_history_merge **merge_out,
                                                     struct vv_error *error);
void vv_history_merge_destroy(struct vv_history_merge *merge); /* NULL is allowed */
/* Looks at the next line, without taking it: `at` stays. As vv_history_next. */
VV_MUST_CHECK enum vv_status vv_history_peek(struct vv_history_merge *merge,
                                             struct vv_history_line *line_out,
                                             struct vv_error *error);
/* The next line, borrowed until the next call; VV_DONE behind the last. VV_CORRUPT, VV_IO,
 * VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_history_next(struct vv_history_merge *merge,
                                             struct vv_history_line *line_out,
                                             struct vv_error *error);

#endif
