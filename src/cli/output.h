/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a client writes what it got: standard output, or a file that has its name only when it is
 * whole. A name that ends with .gz is written compressed. One thread.
 */
#ifndef VV_CLI_OUTPUT_H
#define VV_CLI_OUTPUT_H

#include "base/bytes.h"

struct vv_output;

/* NULL or "-": standard output. A file is written under a name of its own beside `path` (borrowed
 * until the end) and renamed by vv_output_finish; what is there and no regular file, such as a
 * pipe, is written to as it is. VV_IO with a message. */
VV_MUST_CHECK enum vv_status vv_output_open(const char *path, struct vv_output **output_out,
                                            struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_output_write(struct vv_output *output, const char *bytes,
                                             size_t size, struct vv_error *error);
/* All was written: syncs, renames and frees. On failure there is no file, as after a discard. */
VV_MUST_CHECK enum vv_status vv_output_finish(struct vv_output *take_output,
                                              struct vv_error *error);
/* Removes what was written and frees. NULL is allowed. */
void vv_output_discard(struct vv_output *take_output);

#endif
