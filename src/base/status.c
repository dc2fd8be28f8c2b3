/* SPDX-License-Identifier: Apache-2.0 */
/* Status words, error messages and failed invariants. */
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum vv_status vv_error_set(struct vv_error *error, enum vv_status status, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

/* Appends as much of text as fits behind the `used` bytes that are there. */
static size_t append_cut(struct vv_error *error, size_t used, const char *text)
{
    while (*text && used + 1 < sizeof error->message) {
        error->message[used++] = *text++;
    }
    error->message[used] = '\0';
    return used;
}

enum vv_status vv_error_prefix(struct vv_error *error, enum vv_status status, const char *format,
                               ...)
{
    if (error) {
        char old[sizeof error->message];
        memcpy(old, error->message, sizeof old);
        va_list arguments;
        va_start(arguments, format);
        int written = vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
        if (written >= 0 && (size_t)written < sizeof error->message) {
            size_t used = append_cut(error, (size_t)written, ": ");
            append_cut(error, used, old);
        }
    }
    return status;
}

const char *vv_status_name(enum vv_status status)
{
    static const char *const names[] = {
        [VV_OK] = "ok",
        [VV_DONE] = "done",
        [VV_INVALID] = "invalid",
        [VV_NOT_FOUND] = "not_found",
        [VV_EXISTS] = "exists",
        [VV_TOO_LARGE] = "too_large",
        [VV_NO_MEMORY] = "no_memory",
        [VV_OVERLOAD] = "overload",
        [VV_FULL] = "disk_full",
        [VV_IO] = "io_error",
        [VV_UNKNOWN] = "outcome_unknown",
        [VV_CORRUPT] = "corrupt",
        [VV_NEWER] = "newer_version",
        [VV_LOCKED] = "locked",
        [VV_TIMEOUT] = "timeout",
        [VV_CANCELLED] = "cancelled",
    };
    size_t index = (size_t)status;
    return index < sizeof names / sizeof names[0] && names[index] ? names[index] : "unlisted";
}

void vv_invariant_failed(const char *text, const char *file, int line)
{
    fprintf(stderr, "varve: invariant failed at %s:%d: %s\n", file, line, text);
    fflush(stderr);
    abort();
}
