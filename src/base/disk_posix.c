/* SPDX-License-Identifier: Apache-2.0 */
/* The disk interface over the real file system. */
#include "base/disk.h"

#include "base/opendir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FILE_MODE   0640
#define FOLDER_MODE 0750

struct posix_file {
    struct vv_file file; /* first: a vv_file * of ours is a posix_file * */
    int descriptor;
    bool shrunk; /* since the last sync */
    char *path;  /* for messages */
};

static struct posix_file *of(struct vv_file *file)
{
    return (struct posix_file *)file;
}

static enum vv_status status_of(int code)
{
    switch (code) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return VV_FULL;
    case ENOENT:
        return VV_NOT_FOUND;
    case EEXIST:
        return VV_EXISTS;
    case ENOMEM:
        return VV_NO_MEMORY;
    default:
        return VV_IO;
    }
}

/* What a person can do about it. */
static const char *advice(int code)
{
    switch (code) {
    case ENOSPC:
        return "; free space on this disk";
    case EDQUOT:
        return "; free space or raise the quota";
    case EFBIG:
        return "; raise the limit on the size of files (ulimit -f)";
    case EACCES:
    case EPERM:
        return "; give the user of this process access to it";
    case EMFILE:
    case ENFILE:
        return "; raise the limit on open files (ulimit -n)";
    case EROFS:
        return "; mount the disk for writing";
    default:
        return "";
    }
}

static enum vv_status fail(struct vv_error *error, const char *what, const char *path, int code)
{
    char text[128];
    return vv_error_set(error, status_of(code), "cannot %s %s: %s%s", what, path,
                        strerror_r(code, text, sizeof text), advice(code));
}

static const struct vv_disk_ops posix_ops;

static enum vv_status posix_open(struct vv_disk *disk, const char *path, enum vv_open_mode mode,
                                 struct vv_file **file_out, struct vv_error *error)
{
    (void)disk;
    int flags = O_CLOEXEC | (mode == VV_OPEN_READ ? O_RDONLY : O_RDWR);
    flags |= mode == VV_OPEN_CREATE ? O_CREAT | O_EXCL : 0;
    struct posix_file *file = calloc(1, sizeof *file);
    char *path_copy = vv_str_duplicate(vv_str_of(path));
    if (!file || !path_copy) {
        free(file);
        free(path_copy);
        return vv_error_set(error, VV_NO_MEMORY, "cannot open %s: out of memory", path);
    }
    int descriptor;
    do {
        descriptor = open(path, flags, FILE_MODE);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) {
        int code = errno;
        free(file);
        free(path_copy);
        return fail(error, mode == VV_OPEN_CREATE ? "create" : "open", path, code);
    }
    *file = (struct posix_file){.file = {&posix_ops}, .descriptor = descriptor, .path = path_copy};
    *file_out = &file->file;
    return VV_OK;
}

static void posix_close(struct vv_file *file)
{
    /* What matters was synced before, so a failure here tells nothing new. */
    (void)close(of(file)->descriptor);
    free(of(file)->path);
    free(of(file));
}

static enum vv_status posix_write(struct vv_file *file, uint64_t offset, const void *bytes,
                                  size_t size, struct vv_error *error)
{
    const char *next = bytes;
    size_t left = size;
    while (left > 0) {
        ssize_t written = pwrite(of(file)->descriptor, next, left, (off_t)offset);
        if (written < 0 && errno != EINTR) {
            return fail(error, "write to", of(file)->path, errno);
        }
        if (written == 0) {
            return fail(error, "write to", of(file)->path, EIO);
        }
        size_t step = written > 0 ? (size_t)written : 0;
        next += step;
        left -= step;
        offset += step;
    }
    return VV_OK;
}

static enum vv_status posix_read(struct vv_file *file, uint64_t offset, void *bytes, size_t size,
                                 size_t *size_out, struct vv_error *error)
{
    char *next = bytes;
    size_t left = size;
    while (left > 0) {
        ssize_t got = pread(of(file)->descriptor, next, left, (off_t)offset);
        if (got < 0 && errno != EINTR) {
            return fail(error, "read", of(file)->path, errno);
        }
        if (got == 0) {
            break;
        }
        size_t step = got > 0 ? (size_t)got : 0;
        next += step;
        left -= step;
        offset += step;
    }
    *size_out = size - left;
    return VV_OK;
}

static enum vv_status posix_sync(struct vv_file *file, struct vv_error *error)
{
    /* Only an interruption is tried again: after a real failure the kernel forgets which pages
     * were not written, and the next call would succeed without them. */
    struct posix_file *posix = of(file);
    int result;
    do {
        /* fdatasync promises only the size that is needed to read the data back. */
        result = posix->shrunk ? fsync(posix->descriptor) : fdatasync(posix->descriptor);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        return fail(error, "sync", posix->path, errno);
    }
    posix->shrunk = false;
    return VV_OK;
}

static enum vv_status posix_truncate(struct vv_file *file, uint64_t size, struct vv_error *error)
{
    int result;
    of(file)->shrunk = true;
    do {
        result = ftruncate(of(file)->descriptor, (off_t)size);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? VV_OK : fail(error, "truncate", of(file)->path, errno);
}

static enum vv_status posix_allocate(struct vv_file *file, uint64_t size, struct vv_error *error)
{
    if (size == 0) {
        return VV_OK;
    }
    int result;
    do {
        result = fallocate(of(file)->descriptor, 0, 0, (off_t)size);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? VV_OK : fail(error, "reserve space for", of(file)->path, errno);
}

static enum vv_status posix_size(struct vv_file *file, uint64_t *size_out, struct vv_error *error)
{
    struct stat info;
    if (fstat(of(file)->descriptor, &info) != 0) {
        return fail(error, "examine", of(file)->path, errno);
    }
    *size_out = (uint64_t)info.st_size;
    return VV_OK;
}

static enum vv_status posix_remove(struct vv_disk *disk, const char *path, struct vv_error *error)
{
    (void)disk;
    return remove(path) == 0 ? VV_OK : fail(error, "remove", path, errno);
}

static enum vv_status posix_rename(struct vv_disk *disk, const char *from, const char *to,
                                   struct vv_error *error)
{
    (void)disk;
    return rename(from, to) == 0 ? VV_OK : fail(error, "rename", from, errno);
}

static enum vv_status posix_make_folder(struct vv_disk *disk, const char *path,
                                        struct vv_error *error)
{
    (void)disk;
    return mkdir(path, FOLDER_MODE) == 0 ? VV_OK : fail(error, "create the folder", path, errno);
}

static enum vv_status posix_sync_folder(struct vv_disk *disk, const char *path,
                                        struct vv_error *error)
{
    (void)disk;
    int descriptor;
    do {
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    } while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0) {
        return fail(error, "open the folder", path, errno);
    }
    int result;
    do {
        result = fsync(descriptor);
    } while (result != 0 && errno == EINTR);
    int code = errno;
    (void)close(descriptor);
    return result == 0 ? VV_OK : fail(error, "sync the folder", path, code);
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static enum vv_status posix_list(struct vv_disk *disk, const char *path,
                                 enum vv_status (*visit)(void *context, const char *name),
                                 void *context, struct vv_error *error)
{
    (void)disk;
    DIR *folder = vv_opendir(path);
    if (!folder) {
        return fail(error, "list the folder", path, errno);
    }
    enum vv_status status = VV_OK;
    while (status == VV_OK) {
        errno = 0;
        struct dirent *entry = readdir(folder);
        if (!entry) {
            status = errno ? fail(error, "list the folder", path, errno) : VV_OK;
            break;
        }
        status = is_dots(entry->d_name) ? VV_OK : visit(context, entry->d_name);
    }
    (void)closedir(folder);
    return status;
}

static enum vv_status posix_free_bytes(struct vv_disk *disk, const char *path, uint64_t *free_out,
                                       uint64_t *total_out, struct vv_error *error)
{
    (void)disk;
    struct statvfs info;
    if (statvfs(path, &info) != 0) {
        return fail(error, "examine the disk of", path, errno);
    }
    *free_out = (uint64_t)info.f_bavail * info.f_frsize;
    *total_out = (uint64_t)info.f_blocks * info.f_frsize;
    return VV_OK;
}

static const struct vv_disk_ops posix_ops = {
    .open = posix_open,
    .close = posix_close,
    .write = posix_write,
    .read = posix_read,
    .sync = posix_sync,
    .truncate = posix_truncate,
    .allocate = posix_allocate,
    .size = posix_size,
    .remove = posix_remove,
    .rename = posix_rename,
    .make_folder = posix_make_folder,
    .sync_folder = posix_sync_folder,
    .list = posix_list,
    .free_bytes = posix_free_bytes,
};

struct vv_disk *vv_disk_posix(void)
{
    static struct vv_disk disk = {&posix_ops};
    return &disk;
}
