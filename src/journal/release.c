/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving segments back. They go oldest first, and the removal of one is durable before the next one
 * goes: after a crash those that are left still follow each other without a gap. The last segment
 * stays for its number, but it can be emptied.
 */
#include "journal/journal_private.h"

/* The oldest segment when it can go; false when it has to stay. */
static bool next_to_remove(struct vv_journal *journal, struct vv_journal_position position,
                           uint64_t *number_out)
{
    pthread_mutex_lock(&journal->lock);
    bool found = false;
    if (journal->segments.count > 0) {
        struct vv_journal_segment *first = &journal->segments.items[0];
        bool before = first->number < position.segment ||
                      (first->number == position.segment && first->end <= position.offset);
        bool is_last = journal->segments.count == 1;
        if (before && !first->is_open) {
            first->released = true;
        }
        found = first->released && !is_last;
        *number_out = first->number;
    }
    pthread_mutex_unlock(&journal->lock);
    return found;
}

static enum vv_status remove_segment(struct vv_journal *journal, uint64_t number,
                                     struct vv_error *error)
{
    struct vv_disk *disk = journal->disk;
    if (journal->removal_pending) {
        enum vv_status status = disk->ops->sync_folder(disk, journal->folder, error);
        if (status != VV_OK) {
            return status;
        }
        journal->removal_pending = false;
    }
    char path[VV_SEGMENT_PATH_SIZE];
    vv_segment_path(journal->folder, number, false, path);
    enum vv_status status = disk->ops->remove(disk, path, error);
    if (status == VV_NOT_FOUND) {
        return VV_OK; /* it is what was wanted */
    }
    journal->removal_pending = true; /* also after a failure: who knows */
    return status;
}

enum vv_status vv_journal_release(struct vv_journal *journal, struct vv_journal_position position,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    uint64_t number;
    pthread_mutex_lock(&journal->release_lock);
    while (status == VV_OK && next_to_remove(journal, position, &number)) {
        status = remove_segment(journal, number, error);
        if (status == VV_OK) {
            pthread_mutex_lock(&journal->lock);
            vv_journal_segments_pop_front(&journal->segments);
            pthread_mutex_unlock(&journal->lock);
        }
    }
    pthread_mutex_unlock(&journal->release_lock);
    return status;
}

void vv_journal_empty_released_last(struct vv_journal *journal)
{
    char path[VV_SEGMENT_PATH_SIZE];
    pthread_mutex_lock(&journal->lock);
    struct vv_journal_segment *last = vv_journal_segments_last(&journal->segments);
    bool can_empty = last && last->released && !last->is_open;
    if (can_empty) {
        /* Whether or not the file can be cut: the next segment's header will say so. */
        last->end = last->end < VV_SEGMENT_HEADER_SIZE ? last->end : VV_SEGMENT_HEADER_SIZE;
        vv_segment_path(journal->folder, last->number, false, path);
    }
    pthread_mutex_unlock(&journal->lock);
    struct vv_disk *disk = journal->disk;
    /* A next segment that was given up may come back; its header says that this one is whole. */
    if (can_empty && journal->stray_name) {
        journal->stray_name = disk->ops->sync_folder(disk, journal->folder, NULL) != VV_OK;
        can_empty = !journal->stray_name;
    }
    struct vv_file *file;
    if (!can_empty || disk->ops->open(disk, path, VV_OPEN_WRITE, &file, NULL) != VV_OK) {
        return;
    }
    if (file->ops->truncate(file, VV_SEGMENT_HEADER_SIZE, NULL) == VV_OK) {
        pthread_mutex_lock(&journal->lock);
        vv_journal_segments_last(&journal->segments)->file_bytes = VV_SEGMENT_HEADER_SIZE;
        pthread_mutex_unlock(&journal->lock);
    }
    file->ops->close(file);
}
