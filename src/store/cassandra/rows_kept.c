/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A query visits an answer once for each of its metrics, and rows have all metrics of a measurement
 * in many pages: what a first visit made of them is kept, a hundredth of their size, so that they
 * are neither asked for nor decoded again.
 */
#include "store/cassandra/rows.h"

#define BYTES_MAX (4u << 20) /* of one answer */

struct kept_piece {
    int64_t span_start;
    vv_stamp run;
    uint32_t part;
    size_t end; /* of its bytes */
};

void vv_rows_kept_deinit(struct vv_rows_kept *kept)
{
    vv_buffer_deinit(&kept->bytes);
    vv_buffer_deinit(&kept->list);
}

void vv_rows_kept_begin(struct vv_rows_kept *kept)
{
    vv_buffer_clear(&kept->bytes);
    vv_buffer_clear(&kept->list);
}

void vv_rows_kept_add(struct vv_rows_kept *kept, const struct vv_piece *piece)
{
    if (kept->is_too_large) {
        return;
    }
    vv_buffer_str(&kept->bytes, piece->bytes);
    const struct kept_piece one = {
        .span_start = piece->key.span_start,
        .run = piece->run,
        .part = piece->part,
        .end = kept->bytes.size,
    };
    vv_buffer_append(&kept->list, &one, sizeof one);
    if (kept->bytes.failed || kept->list.failed || kept->bytes.size > BYTES_MAX) {
        vv_rows_kept_deinit(kept);
        kept->is_too_large = true;
    }
}

void vv_rows_kept_end(struct vv_rows_kept *kept)
{
    kept->is_whole = !kept->is_too_large;
}

enum vv_status vv_rows_kept_visit(const struct vv_rows_kept *kept, const struct vv_store_read *read,
                                  vv_piece_visit visit, void *context)
{
    struct vv_piece piece = {.kind = VV_PIECE_RUN};
    enum vv_status status = VV_OK;
    size_t start = 0;
    piece.key.partition = read->partition;
    piece.key.measurement = read->measurement;
    for (size_t at = 0; at < kept->list.size && status == VV_OK; at += sizeof(struct kept_piece)) {
        struct kept_piece one;
        memcpy(&one, kept->list.data + at, sizeof one);
        piece.key.span_start = one.span_start;
        piece.run = one.run;
        piece.part = one.part;
        piece.bytes = (struct vv_str){(const char *)kept->bytes.data + start, one.end - start};
        start = one.end;
        status = visit(context, &piece);
    }
    return status;
}
