/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The open segment: made under a name of its own and renamed when its header is durable, so that a
 * segment's file always has a whole header; filled by one write and one sync per commit.
 *
 * A segment that was closed is never appended to again: the header of the one that follows, which
 * may reach the disk even when making it failed, says where it ends.
 */
#include "base/log.h"
#include "journal/journal_private.h"

/* What the open segment's file may come to hold; 0 bytes_max means any. */
static uint64_t budget_left(struct vv_journal *journal)
{
    if (journal->bytes_max == 0) {
        return UINT64_MAX;
    }
    pthread_mutex_lock(&journal->lock);
    uint64_t used = vv_journal_segments_file_bytes(&journal->segments);
    pthread_mutex_unlock(&journal->lock);
    return used < journal->bytes_max ? journal->bytes_max - used : 0;
}

static enum vv_status over_budget(const struct vv_journal *journal, struct vv_error *error)
{
    return vv_error_set(error, VV_FULL,
                        "the journal has reached its limit of %llu bytes: wait until the store has "
                        "taken what it holds, or raise the limit",
                        (unsigned long long)journal->bytes_max);
}

/* A failed step of making a segment stored no record, whatever its cause. */
static enum vv_status refusal(enum vv_status status)
{
    return status == VV_FULL || status == VV_NO_MEMORY ? status : VV_IO;
}

static void publish(struct vv_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    struct vv_journal_segment *last = vv_journal_segments_last(&journal->segments);
    last->end = journal->end;
    last->file_bytes = journal->file_bytes;
    pthread_mutex_unlock(&journal->lock);
}

/* Reserves space up to `size`. A file system that cannot do it is found out once per segment; then
 * the file grows as it is written. */
static enum vv_status preallocate(struct vv_journal *journal, struct vv_file *file, uint64_t size,
                                  struct vv_error *error)
{
    if (!journal->preallocates) {
        return VV_OK;
    }
    struct vv_error cause = {0};
    enum vv_status status = file->ops->allocate(file, size, &cause);
    if (status == VV_FULL) {
        return vv_error_set(error, status, "%s", cause.message);
    }
    if (status == VV_OK) {
        journal->file_bytes = size;
    } else {
        journal->preallocates = false;
    }
    return VV_OK;
}

/* The header of the segment after the last one. */
static struct vv_segment_header next_header(struct vv_journal *journal)
{
    struct vv_segment_header header = {.number = 1,
                                       .created_ns = journal->clock->wall_ns(journal->clock)};
    pthread_mutex_lock(&journal->lock);
    const struct vv_journal_segment *last = vv_journal_segments_last(&journal->segments);
    if (last) {
        header.number = last->number + 1;
        header.previous_number = last->number;
        header.previous_end = last->end;
    }
    pthread_mutex_unlock(&journal->lock);
    return header;
}

static enum vv_status fill_new_file(struct vv_journal *journal, struct vv_file *file,
                                    struct vv_segment_header *header, uint64_t size,
                                    struct vv_error *error)
{
    uint8_t bytes[VV_SEGMENT_HEADER_SIZE];
    vv_segment_header_encode(header, bytes);
    journal->preallocates = true;
    journal->file_bytes = VV_SEGMENT_HEADER_SIZE;
    enum vv_status status = preallocate(journal, file, size, error);
    if (status == VV_OK) {
        status = file->ops->write(file, 0, bytes, sizeof bytes, error);
    }
    return status == VV_OK ? file->ops->sync(file, error) : status;
}

/* Makes the file and leaves it open in *file_out, durable under its final name. */
static enum vv_status make_file(struct vv_journal *journal, struct vv_segment_header *header,
                                uint64_t size, struct vv_file **file_out, struct vv_error *error)
{
    struct vv_disk *disk = journal->disk;
    char new_path[VV_SEGMENT_PATH_SIZE];
    char path[VV_SEGMENT_PATH_SIZE];
    vv_segment_path(journal->folder, header->number, true, new_path);
    vv_segment_path(journal->folder, header->number, false, path);
    (void)disk->ops->remove(disk, new_path, NULL); /* left by a failure */
    struct vv_file *file;
    enum vv_status status = disk->ops->open(disk, new_path, VV_OPEN_CREATE, &file, error);
    if (status != VV_OK) {
        return status;
    }
    status = fill_new_file(journal, file, header, size, error);
    if (status == VV_OK) {
        status = disk->ops->rename(disk, new_path, path, error);
    }
    if (status == VV_OK) {
        status = disk->ops->sync_folder(disk, journal->folder, error);
    }
    if (status != VV_OK) {
        file->ops->close(file);
        (void)disk->ops->remove(disk, new_path, NULL);
        (void)disk->ops->remove(disk, path, NULL);
        journal->stray_name = true; /* who knows what of this a crash undoes */
        return status;
    }
    journal->stray_name = false;
    *file_out = file;
    return VV_OK;
}

static enum vv_status begin_segment(struct vv_journal *journal, uint64_t commit_bytes,
                                    struct vv_error *error)
{
    uint64_t needed = VV_SEGMENT_HEADER_SIZE + commit_bytes;
    vv_journal_empty_released_last(journal);
    uint64_t left = budget_left(journal);
    if (needed > left) {
        return over_budget(journal, error);
    }
    uint64_t size = journal->segment_bytes < needed ? needed : journal->segment_bytes;
    size = size < left ? size : left;
    pthread_mutex_lock(&journal->lock);
    enum vv_status status = vv_journal_segments_reserve(&journal->segments, error);
    pthread_mutex_unlock(&journal->lock);
    struct vv_segment_header header = next_header(journal);
    if (status == VV_OK) {
        status = make_file(journal, &header, size, &journal->file, error);
    }
    if (status != VV_OK) {
        return refusal(status);
    }
    journal->seed = header.seed;
    journal->end = VV_SEGMENT_HEADER_SIZE;
    journal->commit = 0;
    struct vv_journal_segment segment = {.number = header.number,
                                         .end = journal->end,
                                         .file_bytes = journal->file_bytes,
                                         .is_open = true};
    pthread_mutex_lock(&journal->lock);
    vv_journal_segments_push(&journal->segments, segment);
    pthread_mutex_unlock(&journal->lock);
    return VV_OK;
}

/* Closes the file; the segment ends at journal->end. One without records is not needed. */
static void close_segment(struct vv_journal *journal)
{
    journal->file->ops->close(journal->file);
    journal->file = NULL;
    publish(journal);
    pthread_mutex_lock(&journal->lock);
    struct vv_journal_segment *last = vv_journal_segments_last(&journal->segments);
    last->is_open = false;
    last->released = last->end == VV_SEGMENT_HEADER_SIZE;
    pthread_mutex_unlock(&journal->lock);
}

void vv_journal_end_segment(struct vv_journal *journal)
{
    if (!journal->file) {
        return;
    }
    if (journal->file->ops->truncate(journal->file, journal->end, NULL) == VV_OK) {
        journal->file_bytes = journal->end;
    }
    close_segment(journal);
}

/* Room in the open segment's file: it was cut off by a failure, is empty and too small, or grows.
 */
static enum vv_status extend(struct vv_journal *journal, uint64_t size, struct vv_error *error)
{
    if (size <= journal->file_bytes) {
        return VV_OK;
    }
    uint64_t left = budget_left(journal);
    uint64_t more = size - journal->file_bytes;
    if (more > left) {
        return over_budget(journal, error);
    }
    uint64_t wanted = journal->segment_bytes < size ? size : journal->segment_bytes;
    uint64_t affordable =
        left > UINT64_MAX - journal->file_bytes ? wanted : journal->file_bytes + left;
    enum vv_status status =
        preallocate(journal, journal->file, wanted < affordable ? wanted : affordable, error);
    publish(journal);
    return status == VV_OK ? VV_OK : refusal(status);
}

enum vv_status vv_journal_make_room(struct vv_journal *journal, uint64_t commit_bytes,
                                    struct vv_error *error)
{
    if (journal->file && journal->end > VV_SEGMENT_HEADER_SIZE &&
        (commit_bytes > journal->segment_bytes ||
         journal->end > journal->segment_bytes - commit_bytes || journal->commit == UINT32_MAX)) {
        vv_journal_end_segment(journal);
    }
    if (!journal->file) {
        return begin_segment(journal, commit_bytes, error);
    }
    return extend(journal, journal->end + commit_bytes, error);
}

/* After a failed write or sync: removes what may have been written. What was synced before is not
 * touched by it. True when it is certain that nothing of it stays. */
static bool cut_tail(struct vv_journal *journal)
{
    struct vv_file *file = journal->file;
    if (file->ops->truncate(file, journal->end, NULL) != VV_OK ||
        file->ops->sync(file, NULL) != VV_OK) {
        return false;
    }
    journal->file_bytes = journal->end;
    publish(journal);
    return true;
}

static enum vv_status on_append_failed(struct vv_journal *journal, enum vv_status status,
                                       struct vv_error *error)
{
    if (cut_tail(journal)) {
        return status == VV_FULL ? VV_FULL : VV_IO;
    }
    vv_log(VV_LOG_ERROR, "journal_outcome_unknown", "segment=%016llx offset=%llu",
           (unsigned long long)vv_journal_end(journal).segment, (unsigned long long)journal->end);
    uint64_t written = journal->end + journal->buffer.size;
    journal->file_bytes = journal->file_bytes < written ? written : journal->file_bytes;
    close_segment(journal);
    pthread_mutex_lock(&journal->lock);
    journal->counts.unknown++;
    pthread_mutex_unlock(&journal->lock);
    return vv_error_prefix(error, VV_UNKNOWN,
                           "it is not known whether the journal holds the write; send it again");
}

enum vv_status vv_journal_append(struct vv_journal *journal, struct vv_error *error)
{
    struct vv_file *file = journal->file;
    const struct vv_buffer *buffer = &journal->buffer;
    enum vv_status status = file->ops->write(file, journal->end, buffer->data, buffer->size, error);
    if (status == VV_OK) {
        status = file->ops->sync(file, error);
        pthread_mutex_lock(&journal->lock);
        journal->counts.syncs++;
        journal->counts.sync_failures += status != VV_OK;
        pthread_mutex_unlock(&journal->lock);
    }
    if (status != VV_OK) {
        return on_append_failed(journal, status, error);
    }
    journal->end += buffer->size;
    if (journal->file_bytes < journal->end) {
        journal->file_bytes = journal->end;
    }
    publish(journal);
    return VV_OK;
}
