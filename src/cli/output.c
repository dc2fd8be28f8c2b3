/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear when they are whole. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define GZIP_LEVEL "wb6"

struct vv_output {
    const char *path; /* NULL: standard output */
    char *partial;    /* the name while it is written; NULL: it is written in place */
    int file;
    gzFile gzip; /* NULL: plain; over a descriptor of its own */
};

static enum vv_status fail(const struct vv_output *output, const char *what, struct vv_error *error)
{
    return vv_error_set(error, VV_IO, "cannot %s %.200s: %s", what,
                        output->path ? output->path : "standard output", strerror(errno));
}

/* ---- opening ---- */

static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* As open() would have made it. */
static void set_mode(int file)
{
    mode_t mask = umask(0);
    umask(mask);
    (void)!fchmod(file, 0666 & ~mask);
}

static enum vv_status open_file(struct vv_output *output, struct vv_error *error)
{
    if (is_special(output->path)) {
        output->file = open(output->path, O_WRONLY | O_CLOEXEC);
    } else if (asprintf(&output->partial, "%s.partial-XXXXXX", output->path) < 0) {
        output->partial = NULL;
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    } else {
        output->file = mkostemp(output->partial, O_CLOEXEC);
        if (output->file >= 0) {
            set_mode(output->file);
        } else {
            free(output->partial); /* there is none to remove */
            output->partial = NULL;
        }
    }
    return output->file < 0 ? fail(output, "create", error) : VV_OK;
}

static enum vv_status open_gzip(struct vv_output *output, struct vv_error *error)
{
    size_t length = strlen(output->path);
    if (length < 4 || strcmp(output->path + length - 3, ".gz") != 0) {
        return VV_OK;
    }
    int file = fcntl(output->file, F_DUPFD_CLOEXEC, 0);
    output->gzip = file >= 0 ? gzdopen(file, GZIP_LEVEL) : NULL;
    if (!output->gzip && file >= 0) {
        close(file);
    }
    return output->gzip ? VV_OK : vv_error_set(error, VV_NO_MEMORY, "out of memory");
}

enum vv_status vv_output_open(const char *path, struct vv_output **output_out,
                              struct vv_error *error)
{
    struct vv_output *output = calloc(1, sizeof *output);
    if (!output) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    bool standard = !path || strcmp(path, "-") == 0;
    output->path = standard ? NULL : path;
    output->file = standard ? STDOUT_FILENO : -1;
    enum vv_status status = standard ? VV_OK : open_file(output, error);
    if (status == VV_OK && !standard) {
        status = open_gzip(output, error);
    }
    if (status != VV_OK) {
        vv_output_discard(output);
        return status;
    }
    *output_out = output;
    return VV_OK;
}

/* ---- writing ---- */

static enum vv_status write_plain(struct vv_output *output, const char *bytes, size_t size,
                                  struct vv_error *error)
{
    while (size > 0) {
        ssize_t written = write(output->file, bytes, size);
        if (written < 0 && errno != EINTR) {
            return fail(output, "write to", error);
        }
        bytes += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return VV_OK;
}

enum vv_status vv_output_write(struct vv_output *output, const char *bytes, size_t size,
                               struct vv_error *error)
{
    if (!output->gzip) {
        return write_plain(output, bytes, size, error);
    }
    while (size > 0) {
        unsigned piece = size < (1u << 30) ? (unsigned)size : 1u << 30;
        if (gzwrite(output->gzip, bytes, piece) <= 0) {
            return fail(output, "write to", error);
        }
        bytes += piece;
        size -= piece;
    }
    return VV_OK;
}

/* ---- the end ---- */

static void destroy(struct vv_output *output)
{
    if (output->gzip) {
        gzclose(output->gzip);
    }
    if (output->path && output->file >= 0) {
        close(output->file);
    }
    free(output->partial);
    free(output);
}

void vv_output_discard(struct vv_output *take_output)
{
    if (take_output) {
        if (take_output->partial) {
            unlink(take_output->partial);
        }
        destroy(take_output);
    }
}

static enum vv_status finish_file(struct vv_output *output, struct vv_error *error)
{
    gzFile gzip = output->gzip;
    output->gzip = NULL;
    if (gzip && gzclose(gzip) != Z_OK) {
        return fail(output, "write to", error);
    }
    if (!output->partial) {
        return VV_OK;
    }
    if (fsync(output->file) != 0) {
        return fail(output, "write to", error);
    }
    if (rename(output->partial, output->path) != 0) {
        return fail(output, "rename to", error);
    }
    return VV_OK;
}

enum vv_status vv_output_finish(struct vv_output *take_output, struct vv_error *error)
{
    enum vv_status status = finish_file(take_output, error);
    if (status != VV_OK) {
        vv_output_discard(take_output);
        return status;
    }
    destroy(take_output);
    return VV_OK;
}
