/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The staging folder, and what in it is a backfill's. Somebody's own files are never touched: a
 * folder that has some and no state of a backfill is refused, and so is a state of something else.
 *
 *   state.json      how far it is (backfill_state.c); there before any run is
 *   run-…           sorted lines (history.h), as the state names them
 *   refused.lp      refused lines, each below a comment that says why; cut to what the state knows.
 *                   One that has something when a backfill begins is another one's, and stays:
 *                   refused-2.lp … is taken then
 *   backfill.lock   held while a command uses the folder
 */
#include "cli/backfill_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK_NAME     "backfill.lock"
#define REFUSED_NAMES 10000 /* that are tried */

void vv_backfill_path(const struct vv_backfill *backfill, const char *name,
                      char out[VV_HISTORY_PATH_SIZE])
{
    snprintf(out, VV_HISTORY_PATH_SIZE, "%.1100s/%.64s", backfill->folder, name);
}

static enum vv_status fail(const struct vv_backfill *backfill, struct vv_error *error)
{
    return vv_error_set(error, VV_IO,
                        "the staging folder '%.200s' can't be used: %s; --staging names another",
                        backfill->folder, strerror(errno));
}

/* ---- whose it is ---- */

/* What a backfill may leave behind without a state. */
static bool is_harmless(const char *name)
{
    size_t size = strlen(name);
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, LOCK_NAME) == 0 ||
           strcmp(name, VV_BACKFILL_NEW_STATE) == 0 ||
           (strncmp(name, "refused", 7) == 0 && size > 3 && strcmp(name + size - 3, ".lp") == 0);
}

static enum vv_status check_empty(const struct vv_backfill *backfill, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    struct dirent *item;
    DIR *listing = opendir(backfill->folder);
    if (!listing) {
        return fail(backfill, error);
    }
    while (status == VV_OK && (item = readdir(listing))) {
        if (!is_harmless(item->d_name)) {
            status = vv_error_set(error, VV_INVALID,
                                  "the folder '%.200s' has other files, as '%.100s', and no "
                                  "backfill: name an empty or a new one with --staging",
                                  backfill->folder, item->d_name);
        }
    }
    closedir(listing);
    return status;
}

static bool is_state(const json_t *root)
{
    const char *program = json_string_value(json_object_get(root, "program"));
    return program && strcmp(program, VV_BACKFILL_PROGRAM) == 0;
}

static enum vv_status check_folder(const struct vv_backfill *backfill, struct vv_error *error)
{
    char path[VV_HISTORY_PATH_SIZE];
    json_error_t problem;
    vv_backfill_path(backfill, VV_BACKFILL_STATE, path);
    if (mkdir(backfill->folder, 0777) != 0 && errno != EEXIST) {
        return fail(backfill, error);
    }
    if (access(path, F_OK) != 0) {
        return check_empty(backfill, error);
    }
    json_t *root = json_load_file(path, 0, &problem);
    bool is_ours = is_state(root);
    json_decref(root);
    return is_ours ? VV_OK
                   : vv_error_set(error, VV_INVALID,
                                  "'%.200s' is no backfill's, or damaged: name another folder with "
                                  "--staging, or remove it",
                                  path);
}

bool vv_backfill_holds(const struct vv_backfill *backfill, const char *input)
{
    struct stat folder;
    struct stat parent;
    char *path = realpath(input, NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) {
        slash[slash == path] = '\0';
    }
    bool holds = slash && stat(path, &parent) == 0 && stat(backfill->folder, &folder) == 0 &&
                 parent.st_dev == folder.st_dev && parent.st_ino == folder.st_ino;
    free(path);
    return holds;
}

/* Held until the process ends. */
static enum vv_status lock_folder(const struct vv_backfill *backfill, struct vv_error *error)
{
    char path[VV_HISTORY_PATH_SIZE];
    vv_backfill_path(backfill, LOCK_NAME, path);
    int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        return fail(backfill, error);
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        close(descriptor);
        return vv_error_set(error, VV_LOCKED,
                            "another backfill is using '%.200s': wait for it, or name another "
                            "folder with --staging",
                            backfill->folder);
    }
    return VV_OK;
}

enum vv_status vv_backfill_open(struct vv_backfill *backfill, bool restart, struct vv_error *error)
{
    char path[VV_HISTORY_PATH_SIZE];
    json_error_t problem;
    enum vv_status status = check_folder(backfill, error);
    if (status == VV_OK) {
        status = lock_folder(backfill, error);
    }
    vv_backfill_path(backfill, VV_BACKFILL_STATE, path);
    if (status == VV_OK && !restart && access(path, F_OK) == 0) {
        json_t *root = json_load_file(path, 0, &problem);
        status = vv_backfill_read_state(backfill, root, error);
        json_decref(root);
    }
    return status;
}

/* ---- refused lines ---- */

/* Opens a file of the folder if it has at least so many bytes, or, of a new one, none. */
static FILE *open_file(struct vv_backfill *backfill, bool is_new)
{
    struct stat info;
    uint64_t known = backfill->state.refused_bytes;
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT : 0);
    vv_backfill_path(backfill, backfill->state.refused_name, backfill->refused_path);
    int descriptor = open(backfill->refused_path, flags, 0666);
    if (descriptor < 0) {
        return NULL;
    }
    bool good = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
                (is_new ? info.st_size == 0 : (uint64_t)info.st_size >= known) &&
                ftruncate(descriptor, (off_t)known) == 0;
    FILE *file = good ? fdopen(descriptor, "a") : NULL;
    if (!file) {
        close(descriptor);
    } else {
        (void)!fseeko(file, 0, SEEK_END);
    }
    return file;
}

/* What came after the state was written comes again. */
static enum vv_status open_refused(struct vv_backfill *backfill, struct vv_error *error)
{
    struct vv_backfill_state *state = &backfill->state;
    FILE *file = state->refused_name[0] ? open_file(backfill, false) : NULL;
    for (unsigned i = 1; !file && i < REFUSED_NAMES; i++) {
        state->refused_bytes = 0;
        snprintf(state->refused_name, sizeof state->refused_name, "refused.lp");
        if (i > 1) {
            snprintf(state->refused_name, sizeof state->refused_name, "refused-%u.lp", i);
        }
        file = open_file(backfill, true);
    }
    backfill->load.report.refused_file = file;
    return file ? VV_OK : fail(backfill, error);
}

/* ---- begin and end ---- */

enum vv_status vv_backfill_begin(struct vv_backfill *backfill, struct vv_error *error)
{
    enum vv_status status = open_refused(backfill, error);
    if (status == VV_OK) {
        status = vv_backfill_save(backfill, error);
    }
    if (status == VV_OK) {
        vv_history_remove(backfill->folder, &backfill->state.runs);
    }
    return status;
}

void vv_backfill_remove(struct vv_backfill *backfill)
{
    static const char *const names[] = {VV_BACKFILL_NEW_STATE, VV_BACKFILL_STATE, LOCK_NAME};
    char path[VV_HISTORY_PATH_SIZE];
    vv_history_remove(backfill->folder, NULL);
    if (backfill->state.refused_bytes == 0) {
        unlink(backfill->refused_path);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        vv_backfill_path(backfill, names[i], path);
        unlink(path);
    }
    rmdir(backfill->folder); /* unless there is something in it */
}
