/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content codings of request bodies: identity, gzip (deflate with zlib's header too) and zstd,
 * decoded piece by piece into a buffer of the caller, so that memory does not depend on the ratio.
 * One thread at a time.
 */
#ifndef VV_HTTP_DECODER_H
#define VV_HTTP_DECODER_H

#include "base/bytes.h"

#include <zlib.h>
#include <zstd.h>

enum vv_coding { VV_CODING_IDENTITY, VV_CODING_GZIP, VV_CODING_ZSTD };

/* The coding of a Content-Encoding header; data NULL or empty is identity. VV_INVALID lists what is
 * allowed. */
VV_MUST_CHECK enum vv_status vv_coding_parse(struct vv_str header, enum vv_coding *coding_out,
                                             struct vv_error *error);

/* Zero-initialised is closed. */
struct vv_decoder {
    enum vv_coding coding;
    z_stream zlib;
    ZSTD_DCtx *zstd;
    bool begun;    /* a member has begun */
    bool complete; /* and ended */
};

/* VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_decoder_open(struct vv_decoder *decoder, enum vv_coding coding);
void vv_decoder_close(struct vv_decoder *decoder);

/*
 * Decodes some of `in`: takes up to in_size bytes and makes up to out_size. Neither taken nor made:
 * there is nothing more to do without more input. Several members one after the other are one body.
 * VV_CORRUPT with a message, VV_NO_MEMORY.
 */
VV_MUST_CHECK enum vv_status vv_decoder_step(struct vv_decoder *decoder, const char *in,
                                             size_t in_size, size_t *taken_out, char *out,
                                             size_t out_size, size_t *made_out,
                                             struct vv_error *error);
/* Whether the body may end here. */
bool vv_decoder_is_complete(const struct vv_decoder *decoder);

#endif
