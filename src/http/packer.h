/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of answers with gzip, where the client takes it and it pays. One thread at a time. */
#ifndef VV_HTTP_PACKER_H
#define VV_HTTP_PACKER_H

#include "base/bytes.h"

#include <zlib.h>

/* Zero-initialised, it passes on what it is given. */
struct vv_packer {
    bool wanted; /* set by the owner before the first piece */
    bool open;
    z_stream zlib;
};

/* Moves the content of `plain` to the end of `out`, packed or as it is; with `last`, ends it. What
 * was added may stay inside until more comes. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_packer_add(struct vv_packer *packer, struct vv_buffer *plain,
                                           bool last, struct vv_buffer *out);
/* Whether what it makes is gzip. */
bool vv_packer_is_open(const struct vv_packer *packer);
void vv_packer_close(struct vv_packer *packer);

/* Whether an Accept-Encoding header (data NULL: there is none) allows gzip. */
bool vv_accepts_gzip(struct vv_str header);

#endif
