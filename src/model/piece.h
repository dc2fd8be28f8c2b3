/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces: consecutive rows encoded for the store, cut into parts of bounded size. Used by the flush
 * (runs) and by sealing (blocks). One encoder belongs to one thread.
 */
#ifndef VV_MODEL_PIECE_H
#define VV_MODEL_PIECE_H

#include "base/bytes.h"
#include "codec/block.h"

/* Zero-initialised but for the options is empty and valid. */
struct vv_piece_encoder {
    struct vv_block_options options;
    size_t rows_max;  /* of a part */
    size_t bytes_max; /* of a part, before encoding */
    struct vv_buffer buffer;
    struct vv_column *columns; /* of the view that is being encoded */
    uint8_t *bitmaps;
    size_t columns_capacity;
    size_t bitmaps_capacity;
};

void vv_piece_encoder_deinit(struct vv_piece_encoder *encoder);

/* How many rows of `rows`, from `first` on and before `end`, make the next part: at least one. */
size_t vv_piece_rows(const struct vv_piece_encoder *encoder, const struct vv_rows *rows,
                     size_t first, size_t end);

/* Encodes rows [first, end), ascending by (time, stamp); columns without any value there are left
 * out. The bytes belong to the encoder until its next call. VV_TOO_LARGE: more columns than a
 * block has; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_piece_encode(struct vv_piece_encoder *encoder,
                                             const struct vv_rows *rows, size_t first, size_t end,
                                             struct vv_str *bytes_out, struct vv_error *error);

#endif
