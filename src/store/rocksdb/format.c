/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FORMAT is one line of text:
 *
 *   varve-store <version> eras <8 … 64> check <16 hexadecimal digits of XXH3-64 of the text before>
 *
 * It is written before anything else, so a folder without it must be empty to become a store.
 */
#include "store/rocksdb/format.h"

#include "base/disk.h"
#include "store/era.h"

#include <stdio.h>
#include <xxhash.h>

#define FORMAT_VERSION  3
#define FORMAT_SIZE_MAX 256
#define PATH_SIZE       4096

static enum vv_status join(char *out, const char *folder, const char *name, struct vv_error *error)
{
    int length = snprintf(out, PATH_SIZE, "%s/%s", folder, name);
    if (length < 0 || length >= PATH_SIZE) {
        return vv_error_set(error, VV_INVALID, "the path of the store's folder is too long");
    }
    return VV_OK;
}

static unsigned long long check_of(const char *text, size_t size)
{
    return (unsigned long long)XXH3_64bits(text, size);
}

static enum vv_status parse(const char *path, char *text, int *version_out, int *eras_out,
                            struct vv_error *error)
{
    int version = 0;
    int eras = 0;
    if (sscanf(text, "varve-store %9d", &version) != 1 || version < 1) {
        return vv_error_set(error, VV_CORRUPT, "%s is damaged: restore the store from a backup",
                            path);
    }
    if (version > FORMAT_VERSION) {
        return vv_error_set(error, VV_NEWER,
                            "%s says format %d, this program knows %d: use a newer program", path,
                            version, FORMAT_VERSION);
    }
    char again[FORMAT_SIZE_MAX];
    int length = -1;
    if (sscanf(text, "varve-store %*d eras %2d", &eras) == 1) {
        length = snprintf(again, sizeof again, "varve-store %d eras %d", version, eras);
    }
    if (length > 0) {
        snprintf(again + length, sizeof again - (size_t)length, " check %016llx\n",
                 check_of(again, (size_t)length));
    }
    if (length <= 0 || strcmp(again, text) != 0 || vv_era_count(eras) != eras) {
        return vv_error_set(error, VV_CORRUPT, "%s is damaged: restore the store from a backup",
                            path);
    }
    *version_out = version;
    *eras_out = eras;
    return VV_OK;
}

static enum vv_status load(const char *folder, int *version_out, int *eras_out,
                           struct vv_error *error)
{
    struct vv_disk *disk = vv_disk_posix();
    char path[PATH_SIZE];
    char text[FORMAT_SIZE_MAX];
    size_t size = 0;
    struct vv_file *file = NULL;
    enum vv_status status = join(path, folder, "FORMAT", error);
    if (status == VV_OK) {
        status = disk->ops->open(disk, path, VV_OPEN_READ, &file, error);
    }
    if (status != VV_OK) {
        return status;
    }
    status = file->ops->read(file, 0, text, sizeof text - 1, &size, error);
    file->ops->close(file);
    if (status != VV_OK) {
        return status;
    }
    text[size] = 0;
    return parse(path, text, version_out, eras_out, error);
}

static enum vv_status write_file(struct vv_disk *disk, const char *path, int eras,
                                 struct vv_error *error)
{
    char text[FORMAT_SIZE_MAX];
    int length = snprintf(text, sizeof text, "varve-store %d eras %d", FORMAT_VERSION, eras);
    int more = snprintf(text + length, sizeof text - (size_t)length, " check %016llx\n",
                        check_of(text, (size_t)length));
    struct vv_file *file;
    enum vv_status status = disk->ops->open(disk, path, VV_OPEN_CREATE, &file, error);
    if (status != VV_OK) {
        return status;
    }
    status = file->ops->write(file, 0, text, (size_t)(length + more), error);
    if (status == VV_OK) {
        status = file->ops->sync(file, error);
    }
    file->ops->close(file);
    return status;
}

static enum vv_status store(const char *folder, int eras, struct vv_error *error)
{
    struct vv_disk *disk = vv_disk_posix();
    char path[PATH_SIZE];
    char path_new[PATH_SIZE];
    enum vv_status status = join(path, folder, "FORMAT", error);
    if (status == VV_OK) {
        status = join(path_new, folder, "FORMAT.new", error);
    }
    if (status == VV_OK) {
        status = disk->ops->remove(disk, path_new, error);
        status = status == VV_NOT_FOUND ? VV_OK : status;
    }
    if (status == VV_OK) {
        status = write_file(disk, path_new, eras, error);
    }
    if (status == VV_OK) {
        status = disk->ops->rename(disk, path_new, path, error);
    }
    if (status == VV_OK) {
        status = disk->ops->sync_folder(disk, folder, error);
    }
    return status;
}

static enum vv_status visit_foreign(void *context, const char *name)
{
    if (strcmp(name, "FORMAT.new") == 0 || strcmp(name, "lost+found") == 0) {
        return VV_OK;
    }
    snprintf(context, FORMAT_SIZE_MAX, "%s", name);
    return VV_OK;
}

enum vv_status vv_rocksdb_format_open(const char *folder, int eras, int *eras_out,
                                      struct vv_error *error)
{
    struct vv_disk *disk = vv_disk_posix();
    enum vv_status status = disk->ops->make_folder(disk, folder, error);
    if (status != VV_OK && status != VV_EXISTS) {
        return status;
    }
    int version = FORMAT_VERSION;
    status = load(folder, &version, eras_out, error);
    if (status == VV_OK &&
        version < FORMAT_VERSION) { /* what it has is good, what comes is newer */
        return store(folder, *eras_out, error);
    }
    if (status != VV_NOT_FOUND) {
        return status;
    }
    char foreign[FORMAT_SIZE_MAX] = "";
    status = disk->ops->list(disk, folder, visit_foreign, foreign, error);
    if (status != VV_OK) {
        return status;
    }
    if (foreign[0]) {
        return vv_error_set(error, VV_INVALID,
                            "%s is no store but holds %s: name an empty folder, or restore its "
                            "FORMAT file",
                            folder, foreign);
    }
    *eras_out = vv_era_count(eras);
    return store(folder, *eras_out, error);
}
