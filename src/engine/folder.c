/* SPDX-License-Identifier: Apache-2.0 */
/* The data folder: made, checked, locked. */
#include "engine/folder.h"

#include "base/bytes.h"
#include "base/opendir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT      1
#define FIRST_LINE  "varve data folder"
#define FILE_NAME   "VARVE"
#define STAGED_NAME "VARVE.new"

struct vv_folder {
    int file; /* VARVE, locked */
    char journal[PATH_MAX];
    char store[PATH_MAX];
};

static enum vv_status io_error(struct vv_error *error, const char *what, const char *path)
{
    return vv_error_set(error, VV_IO, "cannot %s %s: %s", what, path, strerror(errno));
}

static enum vv_status make_folder(const char *path, struct vv_error *error)
{
    return mkdir(path, 0750) == 0 || errno == EEXIST ? VV_OK : io_error(error, "make", path);
}

/* VV_NOT_FOUND when the folder has no entry, VV_OK when it has some. */
static enum vv_status has_entries(const char *path, struct vv_error *error)
{
    DIR *folder = vv_opendir(path);
    if (!folder) {
        return io_error(error, "open folder", path);
    }
    enum vv_status status = VV_NOT_FOUND;
    for (struct dirent *entry; (entry = readdir(folder));) {
        bool own = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                   strcmp(entry->d_name, STAGED_NAME) == 0 ||
                   strcmp(entry->d_name, "lost+found") == 0;
        status = own ? status : VV_OK;
    }
    closedir(folder);
    return status;
}

static enum vv_status sync_folder(const char *path, struct vv_error *error)
{
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fsync(folder) != 0) {
        enum vv_status status = io_error(error, "sync folder", path);
        if (folder >= 0) {
            close(folder);
        }
        return status;
    }
    close(folder);
    return VV_OK;
}

/* Written aside and renamed, so that it is whole whenever it is there. */
static enum vv_status write_format(const char *path, const char *file, struct vv_error *error)
{
    char staged[PATH_MAX + 16];
    snprintf(staged, sizeof staged, "%s/%s", path, STAGED_NAME);
    FILE *out = fopen(staged, "w");
    if (!out) {
        return io_error(error, "write", staged);
    }
    bool written = fprintf(out, "%s\nformat: %d\n", FIRST_LINE, FORMAT) > 0 && fflush(out) == 0 &&
                   fsync(fileno(out)) == 0;
    if (fclose(out) != 0 || !written || rename(staged, file) != 0) {
        return io_error(error, "write", file);
    }
    return sync_folder(path, error);
}

static enum vv_status check_format(const char *path, int file, struct vv_error *error)
{
    char text[256] = {0};
    ssize_t size = pread(file, text, sizeof text - 1, 0);
    if (size < 0) {
        return io_error(error, "read the format of", path);
    }
    int format = 0;
    if (strncmp(text, FIRST_LINE "\n", sizeof FIRST_LINE) != 0 ||
        sscanf(text + sizeof FIRST_LINE, "format: %d", &format) != 1 || format < 1) {
        return vv_error_set(error, VV_INVALID,
                            "%s has a file %s that Varve did not write: choose another data folder",
                            path, FILE_NAME);
    }
    if (format > FORMAT) {
        return vv_error_set(error, VV_NEWER,
                            "%s was written by a newer version of Varve (format %d, this one knows "
                            "%d): upgrade Varve, or choose another data folder",
                            path, format, FORMAT);
    }
    return VV_OK;
}

static enum vv_status open_file(const char *path, int *file_out, struct vv_error *error)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/%s", path, FILE_NAME);
    int file = open(name, O_RDWR | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        enum vv_status status = has_entries(path, error);
        if (status == VV_OK) {
            return vv_error_set(error, VV_INVALID,
                                "%s is not empty and not a data folder of Varve (it has no file "
                                "%s): choose an empty or new folder",
                                path, FILE_NAME);
        }
        status = status == VV_NOT_FOUND ? write_format(path, name, error) : status;
        if (status != VV_OK) {
            return status;
        }
        file = open(name, O_RDWR | O_CLOEXEC);
    }
    if (file < 0) {
        return io_error(error, "open", name);
    }
    *file_out = file;
    return VV_OK;
}

static enum vv_status lock_file(const char *path, int file, struct vv_error *error)
{
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        return VV_OK;
    }
    if (errno != EWOULDBLOCK) {
        return io_error(error, "lock", path);
    }
    return vv_error_set(error, VV_LOCKED,
                        "another Varve server is using the data folder %s: stop it, or choose "
                        "another folder with --data",
                        path);
}

enum vv_status vv_folder_open(const char *path, struct vv_folder **folder_out,
                              struct vv_error *error)
{
    if (strlen(path) > PATH_MAX - 64) {
        return vv_error_set(error, VV_INVALID, "the data folder's path is too long");
    }
    struct vv_folder *folder = calloc(1, sizeof *folder);
    if (!folder) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    folder->file = -1;
    snprintf(folder->journal, sizeof folder->journal, "%s/journal", path);
    snprintf(folder->store, sizeof folder->store, "%s/store", path);
    enum vv_status status = make_folder(path, error);
    if (status == VV_OK) {
        status = open_file(path, &folder->file, error);
    }
    if (status == VV_OK) {
        status = lock_file(path, folder->file, error);
    }
    if (status == VV_OK) {
        status = check_format(path, folder->file, error);
    }
    if (status == VV_OK) {
        status = make_folder(folder->journal, error);
    }
    if (status == VV_OK) {
        status = make_folder(folder->store, error);
    }
    if (status == VV_OK) {
        status = sync_folder(path, error);
    }
    if (status != VV_OK) {
        vv_folder_close(folder);
        return status;
    }
    *folder_out = folder;
    return VV_OK;
}

void vv_folder_close(struct vv_folder *folder)
{
    if (folder && folder->file >= 0) {
        close(folder->file); /* and with it the lock */
    }
    free(folder);
}

const char *vv_folder_journal(const struct vv_folder *folder)
{
    return folder->journal;
}

const char *vv_folder_store(const struct vv_folder *folder)
{
    return folder->store;
}
