/* SPDX-License-Identifier: Apache-2.0 */
/* Collecting lines, and writing them as sorted runs. */
#include "cli/history_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_BUFFER_BYTES (1u << 18)

/* A line, whose text is at an offset of the texts. */
struct entry {
    struct vv_history_line line; /* without its text */
    size_t at;
    uint32_t size;
};

struct vv_history_writer {
    const char *folder;
    size_t memory_max;
    struct entry *entries;
    size_t n;
    size_t capacity;
    struct vv_buffer texts;
};

void vv_history_path(const char *folder, uint64_t number, char out[VV_HISTORY_PATH_SIZE])
{
    snprintf(out, VV_HISTORY_PATH_SIZE, "%.1100s/run-%" PRIu64, folder, number);
}

enum vv_status vv_history_writer_create(const char *folder, size_t memory_max,
                                        struct vv_history_writer **writer_out)
{
    struct vv_history_writer *writer = calloc(1, sizeof *writer);
    *writer_out = writer;
    if (!writer) {
        return VV_NO_MEMORY;
    }
    writer->folder = folder;
    writer->memory_max = memory_max;
    return VV_OK;
}

void vv_history_writer_destroy(struct vv_history_writer *writer)
{
    if (writer) {
        free(writer->entries);
        vv_buffer_deinit(&writer->texts);
        free(writer);
    }
}

static bool fit(struct vv_history_writer *writer)
{
    if (writer->n < writer->capacity) {
        return true;
    }
    size_t capacity = writer->capacity ? writer->capacity * 2 : 1024;
    struct entry *bigger = realloc(writer->entries, capacity * sizeof *bigger);
    if (bigger) {
        writer->entries = bigger;
        writer->capacity = capacity;
    }
    return bigger != NULL;
}

enum vv_status vv_history_add(struct vv_history_writer *writer, const struct vv_history_line *line)
{
    size_t used = writer->texts.size + writer->n * sizeof *writer->entries;
    vv_invariant(line->text.size <= VV_HISTORY_TEXT_MAX);
    if (writer->n > 0 && used + line->text.size > writer->memory_max) {
        return VV_FULL;
    }
    size_t at = writer->texts.size;
    vv_buffer_str(&writer->texts, line->text);
    if (!fit(writer) || vv_buffer_status(&writer->texts) != VV_OK) {
        return VV_NO_MEMORY;
    }
    struct entry *entry = &writer->entries[writer->n++];
    *entry = (struct entry){.line = *line, .at = at, .size = (uint32_t)line->text.size};
    entry->line.text = (struct vv_str){NULL, 0};
    return VV_OK;
}

bool vv_history_is_before(const struct vv_history_line *a, const struct vv_history_line *b)
{
    if (a->slice != b->slice) {
        return a->slice < b->slice;
    }
    if (a->group != b->group) {
        return a->group < b->group;
    }
    return a->time != b->time ? a->time < b->time : a->place < b->place;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    return vv_history_is_before(&y->line, &x->line) - vv_history_is_before(&x->line, &y->line);
}

/* ---- a file ---- */

struct output {
    FILE *file;
    uint64_t bytes;
    struct vv_buffer head;
};

static enum vv_status fail(struct vv_error *error, const char *folder)
{
    return vv_error_set(error, VV_IO, "%.200s: writing failed: %s", folder, strerror(errno));
}

static enum vv_status put(struct output *output, const struct vv_history_line *line)
{
    struct vv_buffer *head = &output->head;
    vv_buffer_clear(head);
    vv_buffer_u32(head, (uint32_t)line->text.size);
    vv_buffer_u32(head, line->series_size);
    vv_buffer_u32(head, line->points);
    vv_buffer_u32(head, line->newlines);
    vv_buffer_u64(head, (uint64_t)line->slice);
    vv_buffer_u64(head, line->group);
    vv_buffer_u64(head, (uint64_t)line->time);
    vv_buffer_u64(head, line->place);
    bool good = vv_buffer_status(head) == VV_OK &&
                fwrite(head->data, 1, head->size, output->file) == head->size &&
                fwrite(line->text.data, 1, line->text.size, output->file) == line->text.size;
    output->bytes += head->size + line->text.size;
    return good ? VV_OK : VV_IO;
}

static enum vv_status put_entries(const struct vv_history_writer *writer, struct output *output)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < writer->n && status == VV_OK; i++) {
        const struct entry *entry = &writer->entries[i];
        struct vv_history_line line = entry->line;
        line.text = (struct vv_str){(const char *)writer->texts.data + entry->at, entry->size};
        status = put(output, &line);
    }
    return status;
}

static enum vv_status put_merged(struct vv_history_merge *merge, struct output *output,
                                 struct vv_error *error)
{
    for (;;) {
        struct vv_history_line line;
        enum vv_status status = vv_history_next(merge, &line, error);
        if (status != VV_OK) {
            return status == VV_DONE ? VV_OK : status;
        }
        status = put(output, &line);
        if (status != VV_OK) {
            return status;
        }
    }
}

/* The file's name is durable, too. */
static bool sync_folder(const char *folder)
{
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = descriptor >= 0 && fsync(descriptor) == 0;
    if (descriptor >= 0) {
        close(descriptor);
    }
    return good;
}

/* Writes the entries, or what the merge has, as a run. */
static enum vv_status write_run(const struct vv_history_writer *writer,
                                struct vv_history_merge *merge, uint64_t number,
                                struct vv_history_run *run_out, struct vv_error *error)
{
    char path[VV_HISTORY_PATH_SIZE];
    struct output output = {0};
    vv_history_path(writer->folder, number, path);
    output.file = fopen(path, "wbe");
    if (!output.file) {
        return fail(error, path);
    }
    setvbuf(output.file, NULL, _IOFBF, FILE_BUFFER_BYTES);
    bool good =
        fwrite(VV_HISTORY_MAGIC, 1, VV_HISTORY_MAGIC_BYTES, output.file) == VV_HISTORY_MAGIC_BYTES;
    output.bytes = VV_HISTORY_MAGIC_BYTES;
    enum vv_status status = !good   ? VV_IO
                            : merge ? put_merged(merge, &output, error)
                                    : put_entries(writer, &output);
    if (status == VV_OK && (fflush(output.file) != 0 || fsync(fileno(output.file)) != 0)) {
        status = VV_IO;
    }
    if (status == VV_IO && (!error || error->message[0] == '\0')) {
        status = fail(error, path);
    }
    fclose(output.file);
    vv_buffer_deinit(&output.head);
    if (status == VV_OK && !sync_folder(writer->folder)) {
        status = fail(error, writer->folder);
    }
    if (status != VV_OK) {
        unlink(path);
    }
    *run_out = (struct vv_history_run){
        .number = number, .bytes = output.bytes, .at = VV_HISTORY_MAGIC_BYTES};
    return status;
}

static int compare_runs(const void *a, const void *b)
{
    const struct vv_history_run *x = a;
    const struct vv_history_run *y = b;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/* Makes one run of the smaller half of them: a line is copied a few times at most, however many
 * there are. */
static enum vv_status merge_small(struct vv_history_writer *writer, struct vv_history_runs *runs,
                                  struct vv_error *error)
{
    struct vv_history_runs small = {.n = VV_HISTORY_RUNS_MAX / 2};
    struct vv_history_merge *merge;
    struct vv_history_run run;
    qsort(runs->items, runs->n, sizeof runs->items[0], compare_runs);
    memcpy(small.items, runs->items, small.n * sizeof small.items[0]);
    enum vv_status status = vv_history_merge_create(writer->folder, &small, &merge, error);
    if (status == VV_OK) {
        status = write_run(writer, merge, runs->next, &run, error);
    }
    vv_history_merge_destroy(merge);
    if (status == VV_OK) {
        runs->n -= small.n;
        memmove(runs->items, runs->items + small.n, runs->n * sizeof runs->items[0]);
        runs->items[runs->n++] = run;
        runs->next++;
    }
    return status;
}

enum vv_status vv_history_write(struct vv_history_writer *writer, struct vv_history_runs *runs,
                                struct vv_error *error)
{
    struct vv_history_runs after = *runs;
    struct vv_history_run run;
    enum vv_status status = VV_OK;
    if (writer->n == 0) {
        return VV_OK;
    }
    if (after.n == VV_HISTORY_RUNS_MAX) {
        status = merge_small(writer, &after, error);
    }
    qsort(writer->entries, writer->n, sizeof *writer->entries, compare_entries);
    if (status == VV_OK) {
        status = write_run(writer, NULL, after.next, &run, error);
    }
    if (status == VV_OK) {
        after.items[after.n++] = run;
        after.next++;
        *runs = after;
        writer->n = 0;
        vv_buffer_clear(&writer->texts);
    }
    return status;
}

/* ---- files that are not needed ---- */

static bool is_kept(const struct vv_history_runs *keep, uint64_t number)
{
    for (size_t i = 0; keep && i < keep->n; i++) {
        if (keep->items[i].number == number) {
            return true;
        }
    }
    return false;
}

void vv_history_remove(const char *folder, const struct vv_history_runs *keep)
{
    DIR *listing = opendir(folder);
    struct dirent *item;
    while (listing && (item = readdir(listing))) {
        char *end = item->d_name;
        bool is_run = strncmp(item->d_name, "run-", 4) == 0;
        uint64_t number = is_run ? strtoull(item->d_name + 4, &end, 10) : 0;
        if (is_run && end > item->d_name + 4 && *end == '\0' && !is_kept(keep, number)) {
            char path[VV_HISTORY_PATH_SIZE];
            vv_history_path(folder, number, path);
            unlink(path);
        }
    }
    if (listing) {
        closedir(listing);
    }
}
