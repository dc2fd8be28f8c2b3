/* SPDX-License-Identifier: Apache-2.0 */
/* What building (batch.c) and decoding (batch_codec.c) of batches share. */
#ifndef VV_MODEL_BATCH_PRIVATE_H
#define VV_MODEL_BATCH_PRIVATE_H

#include "model/batch.h"

/* Appends a frame without rows whose metrics are not filled in yet; NULL when memory is out. It is
 * borrowed from the batch until the next frame is added. */
struct vv_frame *vv_batch_add_frame(struct vv_batch *batch, uint32_t measurement,
                                    uint32_t n_metrics);

/* Makes the frame's capacity `rows`, at least its n_rows; false when memory is out. */
bool vv_batch_frame_room(struct vv_batch *batch, struct vv_frame *frame, size_t rows);

/* Begins to watch the order of rows: the measurement that is added has a frame already. False when
 * memory is out. */
bool vv_batch_order_begin(struct vv_batch *batch);

/* Moves *frame_inout to a new frame with the same metrics where the row would otherwise stand
 * before an older row for the same point, and remembers the row. Only after vv_batch_order_begin.
 */
VV_MUST_CHECK enum vv_status vv_batch_order_place(struct vv_batch *batch, uint32_t source,
                                                  int64_t time, size_t *frame_inout);

#endif
