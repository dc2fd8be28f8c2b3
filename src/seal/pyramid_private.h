/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the pyramid share: what is being built, and its parts. One thread at a time. */
#ifndef VV_SEAL_PYRAMID_PRIVATE_H
#define VV_SEAL_PYRAMID_PRIVATE_H

#include "model/merge.h"
#include "model/piece.h"
#include "seal/few.h"
#include "seal/frozen.h"
#include "seal/pyramid.h"
#include "tier/cover.h"
#include "tier/rollup.h"

/* The records of one tier in the range that is being read. */
struct vv_pyramid_level {
    struct vv_cover cover;
    struct vv_piece_list records;
};

struct vv_pyramid {
    struct vv_pyramid_options options;
    struct vv_rollup *rollup;
    struct vv_merge *merge;            /* of what is read */
    struct vv_deletion_list deletions; /* of the series that is being built */
    struct vv_piece_encoder encoder;
    struct vv_pyramid_level levels[VV_SPACES];
    struct vv_few few; /* all that was read so far, and nothing is in the roll-up; or nothing */
    struct vv_frozen frozen; /* of the unit that is being built, and of those above it */
    uint64_t kept;
};

/* What is being built. */
struct vv_build {
    struct vv_pyramid *pyramid;
    uint32_t place; /* of the raw data */
    uint32_t late;  /* where its late points are apart; VV_REGISTRY_NONE: nowhere */
    uint32_t source;
    uint32_t measurement;
    struct vv_tiers tiers;
    struct vv_plans plans;
    bool is_expired;         /* what there is of it goes */
    int64_t whole_from;      /* of raw data */
    enum vv_space tier;      /* of the unit that is being built */
    struct vv_span_key unit; /* where it begins */
    int64_t unit_to;
    bool keeps; /* its record stays as it is */
    struct vv_error *error;
};

/* Of a series, whose deleted points are in nothing that is added. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_build_begin(struct vv_build *build, struct vv_pyramid *pyramid,
                                            uint32_t place, uint32_t source, uint32_t measurement,
                                            struct vv_error *error);
/* Adds what there is of [from, to) in tiers below `above`, or in raw data. */
VV_MUST_CHECK enum vv_status vv_build_gather(struct vv_build *build, int above, int64_t from,
                                             int64_t to);
/* Visits what the store has in a tier that is on, of units that may meet [from, to). */
VV_MUST_CHECK enum vv_status vv_build_read_tier(struct vv_build *build, enum vv_space tier,
                                                int64_t from, int64_t to, vv_piece_visit visit,
                                                void *context);
/* Raw points of [from, to) are to be read, as nothing finer has them: sets `keeps` where they may
 * have expired, and the unit's record, or one of a coarser tier, has some of then: it is all that
 * is left of them. */
VV_MUST_CHECK enum vv_status vv_build_look_at_gone(struct vv_build *build, int64_t from,
                                                   int64_t to);
/* Puts the record that the unit has, if any, as it is; and says so, since what came late for the
 * unit is left out of it. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_build_keep_record(struct vv_build *build, int64_t made_from,
                                                  struct vv_piece_list *blocks_out);
/* Adds the record whose first part is at `index`; the others follow. */
VV_MUST_CHECK enum vv_status vv_build_add_record(struct vv_build *build,
                                                 const struct vv_piece_list *records, size_t index);
/* Appends what was added as a unit's record: rows, all of which are still kept as they are, or
 * steps; an empty one when there are none. `first` is its first part, without bytes. */
VV_MUST_CHECK enum vv_status vv_build_write_record(struct vv_build *build,
                                                   const struct vv_piece *first, bool is_rows,
                                                   const struct vv_unit *unit,
                                                   struct vv_piece_list *blocks_out);

#endif
