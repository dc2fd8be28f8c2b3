/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's public face: open, close, commit, cut, figures. */
#include "journal/journal.h"

#include "journal/journal_private.h"

#include <stdlib.h>

#define FOLDER_SIZE_MAX 4000u
/* A buffer that one very large commit left behind is not kept. */
#define BUFFER_KEPT_MAX ((size_t)16 << 20)

static void destroy(struct vv_journal *journal)
{
    vv_buffer_deinit(&journal->buffer);
    free(journal->segments.items);
    free(journal->folder);
    pthread_mutex_destroy(&journal->lock);
    pthread_mutex_destroy(&journal->release_lock);
    free(journal);
}

static struct vv_journal *create(const struct vv_journal_options *options)
{
    struct vv_journal *journal = calloc(1, sizeof *journal);
    char *folder = vv_str_duplicate(vv_str_of(options->folder));
    if (!journal || !folder) {
        free(journal);
        free(folder);
        return NULL;
    }
    journal->disk = options->disk;
    journal->clock = options->clock;
    journal->folder = folder;
    journal->segment_bytes = options->segment_bytes;
    journal->bytes_max = options->bytes_max;
    vv_invariant(pthread_mutex_init(&journal->lock, NULL) == 0);
    vv_invariant(pthread_mutex_init(&journal->release_lock, NULL) == 0);
    return journal;
}

enum vv_status vv_journal_open(const struct vv_journal_options *options, vv_journal_replay replay,
                               void *context, struct vv_journal **journal_out,
                               struct vv_error *error)
{
    if (strlen(options->folder) > FOLDER_SIZE_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "the journal folder's path has more than %u bytes",
                            FOLDER_SIZE_MAX);
    }
    struct vv_journal *journal = create(options);
    if (!journal) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for the journal");
    }
    enum vv_status status =
        vv_journal_recover(journal, options->skip_damaged, replay, context, error);
    if (status != VV_OK) {
        destroy(journal);
        return status;
    }
    *journal_out = journal;
    return VV_OK;
}

void vv_journal_close(struct vv_journal *journal)
{
    vv_journal_end_segment(journal);
    vv_journal_empty_released_last(journal);
    destroy(journal);
}

static enum vv_status commit_size(const struct vv_journal_record *records, size_t n,
                                  uint64_t *size_out, struct vv_error *error)
{
    uint64_t size = 0;
    for (size_t i = 0; i < n; i++) {
        vv_invariant(records[i].kind != 0);
        if (records[i].size > VV_JOURNAL_RECORD_BYTES_MAX) {
            return vv_error_set(error, VV_TOO_LARGE,
                                "a record of %zu bytes is too large for the journal: at most %u; "
                                "send smaller batches",
                                records[i].size, VV_JOURNAL_RECORD_BYTES_MAX);
        }
        size += vv_segment_record_bytes(records[i].size);
    }
    *size_out = size;
    return VV_OK;
}

static enum vv_status encode_commit(struct vv_journal *journal,
                                    const struct vv_journal_record *records, size_t n,
                                    uint64_t size, struct vv_error *error)
{
    struct vv_buffer *buffer = &journal->buffer;
    vv_buffer_clear(buffer);
    if (vv_buffer_reserve(buffer, (size_t)size)) {
        for (size_t i = 0; i < n; i++) {
            vv_segment_record_encode(buffer, journal->seed, journal->end + buffer->size,
                                     &records[i], journal->commit + 1, i + 1 == n);
        }
    }
    if (vv_buffer_status(buffer) != VV_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory for a commit of %llu bytes",
                            (unsigned long long)size);
    }
    return VV_OK;
}

/* What the figures tell about a commit that succeeded. */
static void count_commit(struct vv_journal *journal, const struct vv_journal_record *records,
                         size_t n)
{
    pthread_mutex_lock(&journal->lock);
    journal->counts.records += n;
    struct vv_journal_segment *last = vv_journal_segments_last(&journal->segments);
    if (last->oldest_ns == 0) {
        last->oldest_ns = (int64_t)(vv_stamp_clock_us(records[0].stamp) * 1000);
    }
    pthread_mutex_unlock(&journal->lock);
}

enum vv_status vv_journal_commit(struct vv_journal *journal,
                                 const struct vv_journal_record *records, size_t n,
                                 struct vv_journal_position *end_out, struct vv_error *error)
{
    uint64_t size = 0;
    enum vv_status status = commit_size(records, n, &size, error);
    if (status == VV_OK && n > 0) {
        status = vv_journal_make_room(journal, size, error);
        if (status == VV_OK) {
            status = encode_commit(journal, records, n, size, error);
        }
        if (status == VV_OK) {
            status = vv_journal_append(journal, error);
        }
        if (journal->buffer.capacity > BUFFER_KEPT_MAX) {
            vv_buffer_deinit(&journal->buffer);
        }
        if (status == VV_OK) {
            journal->commit++;
            count_commit(journal, records, n);
        }
    }
    if (status == VV_OK) {
        *end_out = vv_journal_end(journal);
    }
    return status;
}

struct vv_journal_position vv_journal_end(struct vv_journal *journal)
{
    pthread_mutex_lock(&journal->lock);
    const struct vv_journal_segment *last = vv_journal_segments_last(&journal->segments);
    struct vv_journal_position position = {0, 0};
    if (last) {
        position = (struct vv_journal_position){last->number, last->end};
    }
    pthread_mutex_unlock(&journal->lock);
    return position;
}

struct vv_journal_position vv_journal_cut(struct vv_journal *journal)
{
    struct vv_journal_position end = vv_journal_end(journal);
    if (journal->file && journal->end > VV_SEGMENT_HEADER_SIZE) {
        vv_journal_end_segment(journal);
    }
    return end;
}

void vv_journal_read_figures(struct vv_journal *journal, struct vv_journal_figures *figures_out)
{
    pthread_mutex_lock(&journal->lock);
    struct vv_journal_figures figures = journal->counts;
    figures.segments = journal->segments.count;
    figures.file_bytes = vv_journal_segments_file_bytes(&journal->segments);
    for (size_t i = 0; i < journal->segments.count; i++) {
        const struct vv_journal_segment *segment = &journal->segments.items[i];
        bool has_records = segment->end > VV_SEGMENT_HEADER_SIZE;
        if (segment->released || !has_records) {
            continue;
        }
        figures.bytes += segment->end - VV_SEGMENT_HEADER_SIZE;
        if (figures.oldest_ns == 0 || segment->oldest_ns < figures.oldest_ns) {
            figures.oldest_ns = segment->oldest_ns;
        }
    }
    pthread_mutex_unlock(&journal->lock);
    *figures_out = figures;
}
