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

#endif
