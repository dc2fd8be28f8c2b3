/* SPDX-License-Identifier: Apache-2.0 */
/* Reading sorted runs as one sequence: a heap of their front lines. */
#include "cli/history_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#define FILE_BUFFER_BYTES (1u << 17)

/* A run that is being read; its front line is there. */
struct front {
    struct vv_history_run *run;
    FILE *file;
    uint64_t at; /* behind the front line */
    struct vv_history_line line;
    struct vv_buffer text;
};

struct vv_history_merge {
    struct front fronts[VV_HISTORY_RUNS_MAX];
    size_t n;
    struct front *heap[VV_HISTORY_RUNS_MAX]; /* the least first */
    size_t n_heap;
    bool is_given; /* the least one's line: it is moved on by the next call */
};

static enum vv_status damaged(struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT,
                        "the staging folder is damaged: begin anew with --restart");
}

/* ---- a run ---- */

/* Reads the line at `at`. VV_DONE at the run's end. */
static enum vv_status read_line(struct front *front, struct vv_error *error)
{
    uint8_t head[VV_HISTORY_HEAD_BYTES];
    uint64_t left = front->run->bytes - front->at;
    if (left == 0) {
        return VV_DONE;
    }
    if (left < sizeof head || fread(head, 1, sizeof head, front->file) != sizeof head) {
        return damaged(error);
    }
    struct vv_reader reader = vv_reader_of(head, sizeof head);
    uint32_t size = vv_reader_u32(&reader);
    front->line.series_size = vv_reader_u32(&reader);
    front->line.points = vv_reader_u32(&reader);
    front->line.newlines = vv_reader_u32(&reader);
    front->line.slice = (int64_t)vv_reader_u64(&reader);
    front->line.group = vv_reader_u64(&reader);
    front->line.time = (int64_t)vv_reader_u64(&reader);
    front->line.place = vv_reader_u64(&reader);
    if (size > left - sizeof head || size > VV_HISTORY_TEXT_MAX || front->line.series_size > size ||
        front->line.newlines > size + 1u) {
        return damaged(error);
    }
    vv_buffer_clear(&front->text);
    uint8_t *text = vv_buffer_reserve(&front->text, size + 1u);
    if (!text) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    if (fread(text, 1, size, front->file) != size) {
        return damaged(error);
    }
    front->line.text = (struct vv_str){(const char *)text, size};
    front->at += sizeof head + size;
    return VV_OK;
}

static enum vv_status open_run(struct front *front, const char *folder, struct vv_history_run *run,
                               struct vv_error *error)
{
    char path[VV_HISTORY_PATH_SIZE];
    struct stat info;
    vv_history_path(folder, run->number, path);
    *front = (struct front){.run = run, .at = run->at};
    front->file = fopen(path, "rbe");
    if (!front->file) {
        return errno == ENOENT ? damaged(error)
                               : vv_error_set(error, VV_IO, "%.200s: %s", path, strerror(errno));
    }
    setvbuf(front->file, NULL, _IOFBF, FILE_BUFFER_BYTES);
    if (fstat(fileno(front->file), &info) != 0 || (uint64_t)info.st_size != run->bytes ||
        run->at > run->bytes || run->at < VV_HISTORY_MAGIC_BYTES ||
        fseeko(front->file, (off_t)run->at, SEEK_SET) != 0) {
        return damaged(error);
    }
    return read_line(front, error);
}

/* ---- the heap ---- */

static bool is_before(const struct front *a, const struct front *b)
{
    return vv_history_is_before(&a->line, &b->line);
}

static void swap(struct front **a, struct front **b)
{
    struct front *front = *a;
    *a = *b;
    *b = front;
}

static void sift_down(struct vv_history_merge *merge, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < merge->n_heap; child++) {
            least = is_before(merge->heap[child], merge->heap[least]) ? child : least;
        }
        if (least == at) {
            return;
        }
        swap(&merge->heap[at], &merge->heap[least]);
        at = least;
    }
}

/* ---- all runs ---- */

enum vv_status vv_history_merge_create(const char *folder, struct vv_history_runs *runs,
                                       struct vv_history_merge **merge_out, struct vv_error *error)
{
    struct vv_history_merge *merge = calloc(1, sizeof *merge);
    *merge_out = merge;
    if (!merge) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < runs->n; i++) {
        struct front *front = &merge->fronts[merge->n++];
        enum vv_status status = open_run(front, folder, &runs->items[i], error);
        if (status != VV_OK && status != VV_DONE) {
            return status;
        }
        if (status == VV_OK) {
            merge->heap[merge->n_heap++] = front;
        }
    }
    for (size_t i = merge->n_heap / 2; i-- > 0;) {
        sift_down(merge, i);
    }
    return VV_OK;
}

void vv_history_merge_destroy(struct vv_history_merge *merge)
{
    for (size_t i = 0; merge && i < merge->n; i++) {
        if (merge->fronts[i].file) {
            fclose(merge->fronts[i].file);
        }
        vv_buffer_deinit(&merge->fronts[i].text);
    }
    free(merge);
}

enum vv_status vv_history_peek(struct vv_history_merge *merge, struct vv_history_line *line_out,
                               struct vv_error *error)
{
    if (merge->is_given) {
        enum vv_status status = read_line(merge->heap[0], error);
        if (status == VV_DONE) {
            merge->heap[0] = merge->heap[--merge->n_heap];
        } else if (status != VV_OK) {
            return status;
        }
        merge->is_given = false;
        sift_down(merge, 0);
    }
    if (merge->n_heap == 0) {
        return VV_DONE;
    }
    *line_out = merge->heap[0]->line;
    return VV_OK;
}

enum vv_status vv_history_next(struct vv_history_merge *merge, struct vv_history_line *line_out,
                               struct vv_error *error)
{
    enum vv_status status = vv_history_peek(merge, line_out, error);
    if (status == VV_OK) {
        struct front *front = merge->heap[0];
        front->run->at = front->at;
        merge->is_given = true;
    }
    return status;
}
