/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of units that must stay: what they were built of has expired in part, so that what would
 * be built now is not all of it. Private to src/seal; storage thread.
 */
#ifndef VV_SEAL_FROZEN_H
#define VV_SEAL_FROZEN_H

#include "model/space.h"
#include "seal/expired.h"
#include "seal/pieces.h"
#include "tier/unit.h"

/* Records of a tier, stale or not, with all of their parts. */
struct vv_frozen_records {
    struct vv_piece_list parts;
    bool is_read;
};
/* That of a unit, in its tier, and those of coarser tiers that it is in. Zero-initialised is of no
 * unit. */
struct vv_frozen {
    struct vv_frozen_records tiers[VV_SPACES];
};

/* Forgets them, for another unit. */
void vv_frozen_begin(struct vv_frozen *frozen);
/* Takes a piece of the store, if it is part of a record; `records` as context. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_frozen_take(void *records, const struct vv_piece *piece);
/* Of what meets a stretch. */
struct vv_frozen_found {
    bool has;           /* some record has steps, or points, there */
    bool covers;        /* some record is of all of it */
    bool is_unreadable; /* some record can't be read, and so has and is of none */
};
/* A record that can be made again of raw points is not looked at, and covers. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_frozen_look(const struct vv_frozen_records *records, int64_t from,
                                            int64_t to, const struct vv_expired *expired,
                                            struct vv_frozen_found *found_out);
/* Whether a record says that it can be made again of raw points, though such may have expired. */
bool vv_frozen_is_whole(const struct vv_unit_record *record, const struct vv_expired *expired);
/* Whether a part of a record has steps, or points, that meet [from, to); not one that can't be
 * read. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_frozen_meets(struct vv_str bytes, int64_t from, int64_t to,
                                             bool *has_out);
/* Appends the records as they are, made from the version that they have. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_frozen_keep(const struct vv_frozen_records *records,
                                            int64_t made_from, struct vv_piece_list *blocks_out);
void vv_frozen_deinit(struct vv_frozen *frozen);

#endif
