/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file or standard input as a stream of bytes: plain, gzip or zstd, told by its first bytes.
 * Memory is bounded whatever the file holds. One thread at a time.
 */
#ifndef VV_CLI_INPUT_H
#define VV_CLI_INPUT_H

#include "base/bytes.h"

struct vv_input;

/* "-" is standard input. VV_NOT_FOUND, VV_IO, VV_NO_MEMORY. `path` is borrowed until close. */
VV_MUST_CHECK enum vv_status vv_input_open(const char *path, struct vv_input **input_out,
                                           struct vv_error *error);
void vv_input_close(struct vv_input *input);

/* Up to `size` bytes, at least one; VV_DONE at the end. VV_CORRUPT for a damaged or cut compressed
 * file, VV_IO. */
VV_MUST_CHECK enum vv_status vv_input_read(struct vv_input *input, void *bytes, size_t size,
                                           size_t *size_out, struct vv_error *error);

/* Bytes of the file (compressed ones, if it is) read so far. */
uint64_t vv_input_position(const struct vv_input *input);

#endif
