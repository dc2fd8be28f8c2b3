/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding consecutive rows as one part of a run or block. */
#include "model/piece.h"

#include <stdlib.h>
#include <string.h>

void vv_piece_encoder_deinit(struct vv_piece_encoder *encoder)
{
    vv_buffer_deinit(&encoder->buffer);
    free(encoder->columns);
    free(encoder->bitmaps);
    encoder->columns = NULL;
    encoder->bitmaps = NULL;
    encoder->columns_capacity = encoder->bitmaps_capacity = 0;
}

size_t vv_piece_rows(const struct vv_piece_encoder *encoder, const struct vv_rows *rows,
                     size_t first, size_t end)
{
    size_t row_bytes = (1 + rows->n_columns) * sizeof(uint64_t);
    size_t n = encoder->bytes_max / row_bytes;
    n = n > encoder->rows_max ? encoder->rows_max : n;
    n = n ? n : 1;
    return n < end - first ? n : end - first;
}

static bool fit(struct vv_piece_encoder *encoder, size_t n_columns, size_t bitmap_bytes)
{
    if (n_columns > encoder->columns_capacity) {
        struct vv_column *columns = realloc(encoder->columns, n_columns * sizeof *columns);
        if (!columns) {
            return false;
        }
        encoder->columns = columns;
        encoder->columns_capacity = n_columns;
    }
    if (n_columns * bitmap_bytes > encoder->bitmaps_capacity) {
        uint8_t *bitmaps = realloc(encoder->bitmaps, n_columns * bitmap_bytes);
        if (!bitmaps) {
            return false;
        }
        encoder->bitmaps = bitmaps;
        encoder->bitmaps_capacity = n_columns * bitmap_bytes;
    }
    return true;
}

/* Copies bits [first, first + n) to bit 0 of out; returns how many are set. */
static size_t shift_bits(const uint8_t *bits, size_t first, size_t n, uint8_t *out)
{
    size_t set = 0;
    memset(out, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++) {
        uint8_t bit = bits[(first + i) >> 3] >> ((first + i) & 7) & 1;
        out[i >> 3] = (uint8_t)(out[i >> 3] | bit << (i & 7));
        set += bit;
    }
    return set;
}

static enum vv_status encode_view(struct vv_piece_encoder *encoder, const struct vv_rows *view,
                                  struct vv_str *bytes_out, struct vv_error *error)
{
    size_t bound = vv_block_bound(view);
    if (view->n_columns > VV_BLOCK_COLUMNS_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "there are %zu metrics in a span, and %u fit",
                            view->n_columns, (unsigned)VV_BLOCK_COLUMNS_MAX);
    }
    vv_buffer_clear(&encoder->buffer);
    uint8_t *out = bound == SIZE_MAX ? NULL : vv_buffer_reserve(&encoder->buffer, bound);
    size_t size = 0;
    enum vv_block_status status =
        out ? vv_block_encode(view, &encoder->options, out, bound, &size) : VV_BLOCK_NO_MEMORY;
    if (status == VV_BLOCK_NO_MEMORY) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while encoding %zu rows",
                            view->n_rows);
    }
    vv_invariant(status == VV_BLOCK_OK);
    *bytes_out = (struct vv_str){(const char *)out, size};
    return VV_OK;
}

enum vv_status vv_piece_encode(struct vv_piece_encoder *encoder, const struct vv_rows *rows,
                               size_t first, size_t end, struct vv_str *bytes_out,
                               struct vv_error *error)
{
    size_t n = end - first;
    size_t bitmap_bytes = (n + 7) / 8;
    if (!fit(encoder, rows->n_columns, bitmap_bytes)) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while encoding %zu rows", n);
    }
    size_t used = 0;
    for (size_t i = 0; i < rows->n_columns; i++) {
        struct vv_column column = rows->columns[i];
        column.values += first;
        if (column.present) {
            uint8_t *bitmap = encoder->bitmaps + used * bitmap_bytes;
            size_t set = shift_bits(column.present, first, n, bitmap);
            column.present = set == n ? NULL : bitmap;
            if (set == 0) {
                continue;
            }
        }
        encoder->columns[used++] = column;
    }
    struct vv_rows view = {.n_rows = n,
                           .times = rows->times + first,
                           .stamps = rows->stamps + first,
                           .n_columns = used,
                           .columns = encoder->columns};
    return encode_view(encoder, &view, bytes_out, error);
}
