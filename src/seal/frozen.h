/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of units that must stay: what they were built of has expired in part, so that what would
 * be built now is not all of it. Private to src/seal; storage thread.
 */
#ifndef VV_SEAL_FROZEN_H
#define VV_SEAL_FROZEN_H

#include "seal/pieces.h"

/* The record that a unit has now, stale or not. Zero-initialised is of no unit. */
struct vv_frozen {
    struct vv_piece_list record; /* its parts */
    bool is_read;
};

/* Forgets it, for another unit. */
void vv_frozen_begin(struct vv_frozen *frozen);
/* Whether the record of the unit that begins with the key has steps, or points, that meet
 * [from, to); it is read when this is asked first. One that can't be read has none. Errors of the
 * store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_frozen_has(struct vv_frozen *frozen, struct vv_store *store,
                                           const struct vv_span_key *key, int64_t from, int64_t to,
                                           bool *has_out, struct vv_error *error);
/* Appends the record as it is, made from the version that it has. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_frozen_keep(const struct vv_frozen *frozen, int64_t made_from,
                                            struct vv_piece_list *blocks_out);
void vv_frozen_deinit(struct vv_frozen *frozen);

#endif
