/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens at open: find the segments, check that they follow each other, replay their records,
 * and make the end of the last one certain.
 *
 * A segment that another follows ends where that one's header says: up to there every record must
 * be whole, what lies behind does not count. The last one ends at its first record that does not
 * validate. Then its tail is cut off, and its last commit, which may stand in the page cache alone
 * after a sync that failed, is written and synced again: what was replayed stays.
 */
#include "base/log.h"
#include "journal/journal_private.h"
#include "journal/scan.h"

#include <stdio.h>
#include <stdlib.h>

#define NUMBER_MAX ((uint64_t)INT64_MAX)

struct found_segment {
    uint64_t number;
    struct vv_segment_header header;
    bool header_valid;
    bool end_known;
    uint64_t end;
};

struct recovery {
    struct vv_journal *journal;
    bool skip_damaged;
    vv_journal_replay replay;
    void *context;
    struct vv_error *error;
    struct found_segment *found; /* by number */
    size_t count;
    size_t capacity;
    uint64_t *leftovers; /* numbers of ".new" files */
    size_t leftover_count;
};

static enum vv_status add_found(struct recovery *recovery, uint64_t number)
{
    if (recovery->count == recovery->capacity) {
        size_t capacity = recovery->capacity ? recovery->capacity * 2 : 16;
        struct found_segment *found = realloc(recovery->found, capacity * sizeof *found);
        if (!found) {
            return vv_error_set(recovery->error, VV_NO_MEMORY, "out of memory for %zu segments",
                                capacity);
        }
        recovery->found = found;
        recovery->capacity = capacity;
    }
    recovery->found[recovery->count++] = (struct found_segment){.number = number};
    return VV_OK;
}

static enum vv_status add_leftover(struct recovery *recovery, uint64_t number)
{
    size_t count = recovery->leftover_count + 1;
    uint64_t *leftovers = realloc(recovery->leftovers, count * sizeof *leftovers);
    if (!leftovers) {
        return vv_error_set(recovery->error, VV_NO_MEMORY, "out of memory for %zu files", count);
    }
    leftovers[recovery->leftover_count++] = number;
    recovery->leftovers = leftovers;
    return VV_OK;
}

static enum vv_status visit_name(void *context, const char *name)
{
    struct recovery *recovery = context;
    uint64_t number;
    bool is_new;
    if (!vv_segment_name_parse(name, &number, &is_new)) {
        return VV_OK; /* somebody else's file */
    }
    if (is_new) {
        return add_leftover(recovery, number);
    }
    if (number == 0 || number > NUMBER_MAX) {
        return vv_error_set(recovery->error, VV_CORRUPT,
                            "%s/%s cannot be a segment's name: move the file away",
                            recovery->journal->folder, name);
    }
    return add_found(recovery, number);
}

static int compare_found(const void *a, const void *b)
{
    uint64_t left = ((const struct found_segment *)a)->number;
    uint64_t right = ((const struct found_segment *)b)->number;
    return (left > right) - (left < right);
}

static enum vv_status find_segments(struct recovery *recovery)
{
    struct vv_disk *disk = recovery->journal->disk;
    enum vv_status status =
        disk->ops->list(disk, recovery->journal->folder, visit_name, recovery, recovery->error);
    if (status == VV_OK && recovery->count) {
        qsort(recovery->found, recovery->count, sizeof *recovery->found, compare_found);
    }
    /* A ".new" file was never used; should it not go, it is replaced when its number comes up. */
    for (size_t i = 0; status == VV_OK && i < recovery->leftover_count; i++) {
        char path[VV_SEGMENT_PATH_SIZE];
        vv_segment_path(recovery->journal->folder, recovery->leftovers[i], true, path);
        (void)disk->ops->remove(disk, path, NULL);
    }
    return status;
}

/* Counts a damaged place when damage is to be skipped; else VV_CORRUPT, with the advice. */
static enum vv_status on_damage(struct recovery *recovery, const char *what)
{
    if (!recovery->skip_damaged) {
        return vv_error_set(recovery->error, VV_CORRUPT,
                            "%s: restore the file from a copy, or open the journal with "
                            "skip_damaged to go on without what is lost",
                            what);
    }
    char quoted[512];
    vv_log(VV_LOG_WARN, "journal_damage_skipped", "place=%s",
           vv_log_quote(what, strlen(what), quoted, sizeof quoted));
    recovery->journal->counts.damaged++;
    return VV_OK;
}

static enum vv_status read_header(struct recovery *recovery, struct found_segment *found)
{
    struct vv_disk *disk = recovery->journal->disk;
    char path[VV_SEGMENT_PATH_SIZE];
    vv_segment_path(recovery->journal->folder, found->number, false, path);
    struct vv_file *file;
    enum vv_status status = disk->ops->open(disk, path, VV_OPEN_READ, &file, recovery->error);
    if (status != VV_OK) {
        return status;
    }
    uint8_t bytes[VV_SEGMENT_HEADER_SIZE];
    size_t size = 0;
    status = file->ops->read(file, 0, bytes, sizeof bytes, &size, recovery->error);
    file->ops->close(file);
    if (status != VV_OK) {
        return status;
    }
    struct vv_error damage = {0};
    status = vv_segment_header_decode(bytes, size, path, &found->header, &damage);
    if (status == VV_OK && found->header.number != found->number) {
        status = vv_error_set(&damage, VV_CORRUPT, "%s has the header of segment %llu", path,
                              (unsigned long long)found->header.number);
    }
    found->header_valid = status == VV_OK;
    if (status == VV_CORRUPT) {
        /* When the next one says that nothing in it counts, it was skipped before. */
        return found->end_known && found->end == 0 ? VV_OK : on_damage(recovery, damage.message);
    }
    return status == VV_OK ? VV_OK : vv_error_set(recovery->error, status, "%s", damage.message);
}

/* Takes the end of segment i from the header of the one after it. */
static enum vv_status link_next(struct recovery *recovery, size_t i)
{
    struct found_segment *found = &recovery->found[i];
    const struct found_segment *next = &recovery->found[i + 1];
    if (!next->header_valid) {
        return VV_OK;
    }
    if (next->header.previous_number == found->number) {
        found->end_known = true;
        found->end = next->header.previous_end;
        return VV_OK;
    }
    char what[160];
    snprintf(what, sizeof what,
             "segment %016llx follows %016llx, but only %016llx is there: a file is missing",
             (unsigned long long)next->number, (unsigned long long)next->header.previous_number,
             (unsigned long long)found->number);
    return on_damage(recovery, what);
}

/* From the last to the first, since each header says where the segment before it ends. */
static enum vv_status read_headers(struct recovery *recovery)
{
    enum vv_status status = VV_OK;
    for (size_t i = recovery->count; status == VV_OK && i-- > 0;) {
        if (i + 1 < recovery->count) {
            status = link_next(recovery, i);
        }
        if (status == VV_OK) {
            status = read_header(recovery, &recovery->found[i]);
        }
    }
    return status;
}

/* Makes what the scan found durable, and what is behind it go. */
static enum vv_status settle_end(struct vv_segment_scan *scan, struct vv_error *error)
{
    struct vv_file *file = scan->file;
    enum vv_status status = file->ops->truncate(file, scan->at, error);
    uint64_t offset = scan->commit_start;
    while (status == VV_OK && offset < scan->at) {
        uint8_t bytes[16384];
        uint64_t left = scan->at - offset;
        size_t size = left < sizeof bytes ? (size_t)left : sizeof bytes;
        size_t got = 0;
        status = file->ops->read(file, offset, bytes, size, &got, error);
        if (status == VV_OK && got != size) {
            status = vv_error_set(error, VV_IO,
                                  "the journal's last segment shrank while it was "
                                  "read: see that no other process uses it");
        }
        if (status == VV_OK) {
            status = file->ops->write(file, offset, bytes, size, error);
        }
        offset += size;
    }
    return status == VV_OK ? file->ops->sync(file, error) : status;
}

static enum vv_status deliver(struct recovery *recovery, const struct vv_journal_record *record,
                              struct vv_journal_position position)
{
    enum vv_status status =
        recovery->replay ? recovery->replay(recovery->context, record, position) : VV_OK;
    if (status == VV_OK) {
        recovery->journal->counts.replayed++;
    } else if (recovery->error && recovery->error->message[0] == '\0') {
        return vv_error_set(recovery->error, status,
                            "the record before offset %llu of segment %016llx was refused at "
                            "replay: %s",
                            (unsigned long long)position.offset,
                            (unsigned long long)position.segment, vv_status_name(status));
    }
    return status;
}

/* VV_OK at the end of the valid records; *invalid_out: something stands there that is none. */
static enum vv_status replay_records(struct recovery *recovery, struct vv_segment_scan *scan,
                                     struct vv_journal_segment *segment, bool *invalid_out)
{
    *invalid_out = false;
    for (;;) {
        struct vv_journal_record record;
        enum vv_status status = vv_segment_scan_next(scan, &record, recovery->error);
        if (status == VV_DONE || status == VV_CORRUPT) {
            *invalid_out = status == VV_CORRUPT;
            return VV_OK;
        }
        if (status == VV_OK) {
            status =
                deliver(recovery, &record, (struct vv_journal_position){segment->number, scan->at});
        }
        if (status != VV_OK) {
            return status;
        }
        if (segment->oldest_ns == 0) {
            segment->oldest_ns = (int64_t)(vv_stamp_clock_us(record.stamp) * 1000);
        }
    }
}

/* The scan met a record that does not validate: a torn tail, or damage? */
static enum vv_status on_invalid(struct recovery *recovery, struct vv_segment_scan *scan,
                                 const struct found_segment *found, const char *path,
                                 bool *damage_out)
{
    *damage_out = found->end_known;
    if (!found->end_known) {
        enum vv_status status = vv_segment_scan_is_damage(scan, damage_out, recovery->error);
        if (status != VV_OK || !*damage_out) {
            return status;
        }
    }
    char what[VV_SEGMENT_PATH_SIZE + 128];
    snprintf(what, sizeof what, "the record at offset %llu of %s is damaged",
             (unsigned long long)scan->at, path);
    return on_damage(recovery, what);
}

static enum vv_status scan_file(struct recovery *recovery, const struct found_segment *found,
                                bool is_last, struct vv_file *file, const char *path,
                                struct vv_journal_segment *segment)
{
    struct vv_segment_scan scan;
    uint64_t limit = found->end_known ? found->end : VV_SEGMENT_END_OF_FILE;
    enum vv_status status =
        vv_segment_scan_init(&scan, file, found->header.seed, limit, recovery->error);
    if (status != VV_OK) {
        return status;
    }
    bool invalid;
    bool damage = false;
    status = replay_records(recovery, &scan, segment, &invalid);
    if (status == VV_OK && invalid) {
        status = on_invalid(recovery, &scan, found, path, &damage);
    }
    if (status == VV_OK && is_last && !damage) {
        status = settle_end(&scan, recovery->error);
    }
    segment->end = found->end_known ? found->end : scan.at;
    segment->released = scan.at == VV_SEGMENT_HEADER_SIZE && !damage;
    vv_segment_scan_deinit(&scan);
    return status;
}

static enum vv_status replay_segment(struct recovery *recovery, size_t i)
{
    struct vv_journal *journal = recovery->journal;
    const struct found_segment *found = &recovery->found[i];
    bool is_last = i + 1 == recovery->count;
    struct vv_journal_segment segment = {.number = found->number, .end = found->end};
    char path[VV_SEGMENT_PATH_SIZE];
    vv_segment_path(journal->folder, found->number, false, path);
    struct vv_file *file;
    enum vv_status status = journal->disk->ops->open(
        journal->disk, path, is_last ? VV_OPEN_WRITE : VV_OPEN_READ, &file, recovery->error);
    if (status != VV_OK) {
        return status;
    }
    if (found->header_valid) {
        status = scan_file(recovery, found, is_last, file, path, &segment);
    }
    if (status == VV_OK) {
        status = file->ops->size(file, &segment.file_bytes, recovery->error);
    }
    file->ops->close(file);
    if (status == VV_OK) {
        status = vv_journal_segments_reserve(&journal->segments, recovery->error);
    }
    if (status == VV_OK) {
        vv_journal_segments_push(&journal->segments, segment);
    }
    return status;
}

enum vv_status vv_journal_recover(struct vv_journal *journal, bool skip_damaged,
                                  vv_journal_replay replay, void *context, struct vv_error *error)
{
    struct recovery recovery = {.journal = journal,
                                .skip_damaged = skip_damaged,
                                .replay = replay,
                                .context = context,
                                .error = error};
    struct vv_disk *disk = journal->disk;
    /* A process that was killed may have left removals that are not durable: this one must not
     * build on them. */
    enum vv_status status = disk->ops->sync_folder(disk, journal->folder, error);
    if (status == VV_OK) {
        status = find_segments(&recovery);
    }
    if (status == VV_OK) {
        status = read_headers(&recovery);
    }
    for (size_t i = 0; status == VV_OK && i < recovery.count; i++) {
        status = replay_segment(&recovery, i);
    }
    free(recovery.found);
    free(recovery.leftovers);
    return status;
}
