/* SPDX-License-Identifier: Apache-2.0 */
/* Several administrative changes in one request: each is done, failures are collected. */
#ifndef VV_HTTP_CHANGES_H
#define VV_HTTP_CHANGES_H

#include "http/http_private.h"

#define VV_FAILURES_KEPT 16

struct vv_changes {
    struct vv_exchange *exchange;
    const char *noun; /* the member that names what a failure is about: "metric", "tenant" */
    uint64_t changed;
    uint64_t failed;
    enum vv_status first_status;
    struct vv_error first;
    struct vv_buffer failures; /* JSON objects of the first ones */
};

void vv_changes_note(struct vv_changes *changes, struct vv_str name, enum vv_status status,
                     const struct vv_error *error);
/* 200 with {"changed":n}, or the error of the first failure with the failures. */
void vv_changes_answer(struct vv_changes *changes);

#endif
