/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A streamed CSV answer of the server as a table for people: with units, and a sparkline of each
 * series. Memory is bounded whatever the answer holds. Main thread only.
 */
#ifndef VV_CLI_VIEW_H
#define VV_CLI_VIEW_H

#include "base/bytes.h"

#include <stdio.h>

struct vv_view;

struct vv_view_options {
    FILE *file;
    size_t columns;      /* of the terminal: long texts are cut to fit; 0: no terminal */
    struct vv_str units; /* an answer of /api/v1/metrics in CSV; empty: none. Borrowed */
};

VV_MUST_CHECK enum vv_status vv_view_create(const struct vv_view_options *options,
                                            struct vv_view **view_out);
void vv_view_destroy(struct vv_view *view);
/* The next piece of the answer; VV_INVALID with a message when it is no CSV. */
VV_MUST_CHECK enum vv_status vv_view_feed(struct vv_view *view, const char *bytes, size_t size,
                                          struct vv_error *error);
/* The answer has ended. VV_IO: it says that it is not complete, the message tells why. */
VV_MUST_CHECK enum vv_status vv_view_end(struct vv_view *view, struct vv_error *error);
/* Rows, without the header. */
uint64_t vv_view_rows(const struct vv_view *view);

#endif
