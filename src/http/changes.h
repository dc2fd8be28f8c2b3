/* SPDX-License-Identifier: Apache-2.0 */
/* Several administrative changes in one request: each is done, failures are collected. */
#ifndef VV_HTTP_CHANGES_H
#define VV_HTTP_CHANGES_H

#include "http/http_private.h"

#include <jansson.h>

#define VV_FAILURES_KEPT 16

struct vv_changes {
    struct vv_exchange *exchange;
    const char *noun; /* the member that names what a failure is about: "metric", "tenant" */
    uint64_t changed;
    uint64_t failed;
    enum vv_status first_status;
    struct vv_error first;
    struct vv_buffer failures; /* JSON objects of the first ones */
    struct vv_buffer notes;    /* JSON texts: what the caller should know of what was done */
};

/* The text of a JSON value; data NULL: it is not a text. Borrowed from it. */
struct vv_str vv_changes_text(const json_t *value);
/* Does what one element of a body asks for, and notes it. */
typedef void (*vv_changes_apply)(struct vv_changes *changes, void *context, const json_t *element);
/* Applies each element of a body that is a JSON array, or the body; one that is not JSON is noted
 * as a failure. */
void vv_changes_each(struct vv_changes *changes, struct vv_str body, vv_changes_apply apply,
                     void *context);
void vv_changes_note(struct vv_changes *changes, struct vv_str name, enum vv_status status,
                     const struct vv_error *error);
/* Appends a text to notes, unless it is broken. */
void vv_changes_add_note(struct vv_buffer *notes, const struct vv_buffer *text);
/* 200 with {"changed":n}, and "notes" if there are any; or the error of the first failure with the
 * failures. */
void vv_changes_answer(struct vv_changes *changes);

#endif
