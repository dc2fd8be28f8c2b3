/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes, error messages and invariants: how every function of Varve says what happened.
 *
 * A status is for the program, the message in struct vv_error for the person; a message says what
 * to do. Bugs are invariants, not statuses. Any thread.
 */
#ifndef VV_BASE_STATUS_H
#define VV_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum vv_status {
    VV_OK = 0,
    VV_DONE,      /* an iteration has no more items */
    VV_INVALID,   /* the caller's input is wrong; repeating it will not help */
    VV_NOT_FOUND, /* what was asked for does not exist */
    VV_EXISTS,    /* it exists already, with another content */
    VV_TOO_LARGE, /* beyond a limit; the message names it */
    VV_NO_MEMORY, /* an allocation failed or a memory bound was hit */
    VV_OVERLOAD,  /* refused to protect the rest; try again later */
    VV_FULL,      /* the disk is full, or its reserve is reached; nothing was stored */
    VV_IO,        /* the disk or the network failed; nothing was stored */
    VV_UNKNOWN,   /* the outcome cannot be known: it may or may not have been stored */
    VV_CORRUPT,   /* stored bytes are damaged */
    VV_NEWER,     /* stored by a newer version of the program */
    VV_LOCKED,    /* somebody else is using it */
    VV_TIMEOUT,   /* a time limit passed */
    VV_CANCELLED, /* stopped on request, or because of shutdown */
};

#define VV_MUST_CHECK __attribute__((warn_unused_result))
#define VV_PRINTF(format_index, first_index)                                                       \
    __attribute__((format(printf, format_index, first_index)))

/* A message for a person. Zero-initialise it: `struct vv_error error = {0};`. */
struct vv_error {
    char message[512];
};

/* Writes the message (cut at the buffer's end) unless error is NULL, and returns status, so that
 * `return vv_error_set(error, VV_INVALID, "…")` reads as one step. */
enum vv_status vv_error_set(struct vv_error *error, enum vv_status status, const char *format, ...)
    VV_PRINTF(3, 4);

/* Puts "format…: " before the message that is there. Returns status. */
enum vv_status vv_error_prefix(struct vv_error *error, enum vv_status status, const char *format,
                               ...) VV_PRINTF(3, 4);

/* The status as a stable lower-case word, e.g. "too_large": used in logs, JSON and exit codes. */
const char *vv_status_name(enum vv_status status);

/* Ends the process with the place and text when condition is false. On in every build: going on
 * with broken state would lose data. */
#define vv_invariant(condition)                                                                    \
    ((condition) ? (void)0 : vv_invariant_failed(#condition, __FILE__, __LINE__))
void vv_invariant_failed(const char *text, const char *file, int line) __attribute__((noreturn));

#endif
