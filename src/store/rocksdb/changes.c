/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of blocks. What changes in one era is written to a file of its own, puts and removals
 * together, and ingested: RocksDB syncs the file and its manifest, and a reader sees all of it or
 * nothing.
 */
#include "store/rocksdb/rocksdb.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH_SIZE 4096

void vv_rocksdb_changes_deinit(struct vv_rocksdb_changes *changes)
{
    free(changes->list);
    *changes = (struct vv_rocksdb_changes){0};
}

void vv_rocksdb_changes_add(struct vv_rocksdb_changes *changes,
                            const struct vv_rocksdb_change *change)
{
    if (changes->n == changes->capacity) {
        size_t capacity = changes->capacity ? changes->capacity * 2 : 64;
        struct vv_rocksdb_change *list = realloc(changes->list, capacity * sizeof *list);
        if (!list) {
            changes->failed = true;
            return;
        }
        changes->list = list;
        changes->capacity = capacity;
    }
    changes->list[changes->n++] = *change;
}

static int compare_groups(const struct vv_rocksdb_change *a, const struct vv_rocksdb_change *b)
{
    if (a->phase != b->phase) {
        return a->phase < b->phase ? -1 : 1;
    }
    if (a->phase == VV_PHASE_BEFORE && a->generation != b->generation) {
        return a->generation < b->generation ? -1 : 1;
    }
    return a->era == b->era ? 0 : (uintptr_t)a->era < (uintptr_t)b->era ? -1 : 1;
}

static int compare(const void *left, const void *right)
{
    const struct vv_rocksdb_change *a = left;
    const struct vv_rocksdb_change *b = right;
    int order = compare_groups(a, b);
    return order ? order : memcmp(a->key, b->key, sizeof a->key);
}

/* A file on its way into an era. */
struct file {
    rocksdb_sstfilewriter_t *writer;
    char path[PATH_SIZE];
};

static enum vv_status file_begin(struct vv_rocksdb *rocksdb, struct file *file,
                                 struct vv_error *error)
{
    int length = snprintf(file->path, sizeof file->path, "%s/%llu.sst", rocksdb->ingest_path,
                          (unsigned long long)++rocksdb->file_number);
    vv_invariant(length > 0 && (size_t)length < sizeof file->path);
    file->writer = rocksdb_sstfilewriter_create(rocksdb->options.env, rocksdb->options.blocks);
    char *message = NULL;
    rocksdb_sstfilewriter_open(file->writer, file->path, &message);
    return vv_rocksdb_wrote(rocksdb, message, "cannot begin a file of blocks", error);
}

/* Ends what file_begin() began, also when that or what came since has failed. */
static enum vv_status file_end(struct vv_rocksdb *rocksdb, struct file *file, enum vv_status status,
                               rocksdb_column_family_handle_t *family, struct vv_error *error)
{
    char *message = NULL;
    if (status == VV_OK) {
        rocksdb_sstfilewriter_finish(file->writer, &message);
        status = vv_rocksdb_wrote(rocksdb, message, "cannot write a file of blocks", error);
    }
    rocksdb_sstfilewriter_destroy(file->writer);
    if (status == VV_OK) {
        const char *const paths[] = {file->path};
        rocksdb_ingest_external_file_cf(rocksdb->database, family, paths, 1,
                                        rocksdb->options.ingest, &message);
        status = vv_rocksdb_wrote(rocksdb, message, "cannot take in a file of blocks", error);
    }
    (void)unlink(file->path); /* a second name of what was taken in, or a leftover */
    return status;
}

/* Writes n changes of one era. */
static enum vv_status write_group(struct vv_rocksdb *rocksdb,
                                  const struct vv_rocksdb_change *changes, size_t n,
                                  struct vv_error *error)
{
    struct file file;
    enum vv_status status = file_begin(rocksdb, &file, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        const struct vv_rocksdb_change *change = &changes[i];
        char *message = NULL;
        if (change->removed) {
            rocksdb_sstfilewriter_delete(file.writer, (const char *)change->key, sizeof change->key,
                                         &message);
        } else {
            rocksdb_sstfilewriter_put(file.writer, (const char *)change->key, sizeof change->key,
                                      change->value.data, change->value.size, &message);
        }
        status = vv_rocksdb_wrote(rocksdb, message, "cannot write a file of blocks", error);
    }
    changes[0].era->quiet_since_ns = 0;
    return file_end(rocksdb, &file, status, changes[0].era->family, error);
}

enum vv_status vv_rocksdb_changes_write(struct vv_rocksdb *rocksdb,
                                        struct vv_rocksdb_changes *changes, struct vv_error *error)
{
    if (changes->failed) {
        return vv_error_set(error, VV_NO_MEMORY, "no memory to change %zu blocks", changes->n);
    }
    if (changes->n == 0) {
        return VV_OK;
    }
    qsort(changes->list, changes->n, sizeof changes->list[0], compare);
    enum vv_status status = VV_OK;
    size_t begin = 0;
    for (size_t i = 1; i <= changes->n && status == VV_OK; i++) {
        if (i == changes->n || compare_groups(&changes->list[begin], &changes->list[i]) != 0) {
            status = write_group(rocksdb, &changes->list[begin], i - begin, error);
            begin = i;
        }
    }
    return status;
}

enum vv_status vv_rocksdb_remove_range(struct vv_rocksdb *rocksdb, struct vv_rocksdb_era *era,
                                       struct vv_str from, struct vv_str to, struct vv_error *error)
{
    struct file file;
    enum vv_status status = file_begin(rocksdb, &file, error);
    if (status == VV_OK) {
        char *message = NULL;
        rocksdb_sstfilewriter_delete_range(file.writer, from.data, from.size, to.data, to.size,
                                           &message);
        status = vv_rocksdb_wrote(rocksdb, message, "cannot remove moved blocks", error);
    }
    era->quiet_since_ns = 0;
    return file_end(rocksdb, &file, status, era->family, error);
}
