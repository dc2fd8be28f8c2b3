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
    int64_t stale_us; /* when the newest run was put that makes something stale */
};

struct vv_pyramid {
    struct vv_pyramid_options options;
    struct vv_rollup *rollup;
    struct vv_merge *merge;            /* of what is read */
    struct vv_deletion_list deletions; /* of the series that is being built */
    bool *lacks; /* by their index: something that was added lacks it; as vv_build_lacks_none() */
    struct vv_piece_encoder encoder;
    struct vv_pyramid_level levels[VV_SPACES];
    struct vv_few few; /* all that was read so far, and nothing is in the roll-up; or nothing */
    struct vv_frozen frozen; /* of the unit that is being built, and of those above it */
    struct vv_pyramid_kept kept;
    struct vv_kept_unit kept_units[VV_KEPT_UNITS_MAX]; /* a ring */
    size_t n_kept_units;
    size_t next_kept_unit;
    bool waits; /* the last unit: something finer is to be built before */
    struct vv_span_key waits_for;
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
    bool is_expired;           /* what there is of it goes */
    int64_t whole_from;        /* of raw data, … */
    struct vv_expired expired; /* … what has gone of it … */
    uint64_t whole_at;         /* … and what the record says of that (struct vv_unit_record) */
    enum vv_space tier;        /* of the unit that is being built */
    struct vv_span_key unit;   /* where it begins */
    int64_t unit_to;
    bool keeps;       /* its record stays, but for what is deleted … */
    bool is_late;     /* … and that may leave out something that came late */
    bool found;       /* the raw bucket that was read last has something of the measurement */
    bool is_question; /* nothing is built: what is stale will have been by then */
    const int64_t
        *tiers_from; /* of a question, borrowed: from when on the records of each are there */
    int64_t now_ns;
    struct vv_error *error;
};

/* Where nodes share the store. */
static inline bool vv_build_is_shared(const struct vv_build *build)
{
    return build->pyramid->options.store->ops->shared != NULL;
}
/* Of a series, whose deleted points are in nothing that is added. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_build_begin(struct vv_build *build, struct vv_pyramid *pyramid,
                                            uint32_t place, uint32_t source, uint32_t measurement,
                                            struct vv_error *error);
/* Adds what there is of [from, to) in tiers below `above`, or in raw data. Of a question it adds
 * nothing, and sets `keeps` as when the unit is built, once all that is finer has been. */
VV_MUST_CHECK enum vv_status vv_build_gather(struct vv_build *build, int above, int64_t from,
                                             int64_t to);
/* Visits what the store has in a tier that is on, of units that may meet [from, to). */
VV_MUST_CHECK enum vv_status vv_build_read_tier(struct vv_build *build, enum vv_space tier,
                                                int64_t from, int64_t to, vv_piece_visit visit,
                                                void *context);
/* Raw points of [from, to) are to be read, as nothing finer has them: sets `keeps` where they may
 * have expired, and the unit's record, or one of a coarser tier, has some of then: it is all that
 * is left of them. VV_OVERLOAD: a finer record has some that is to be built first. */
VV_MUST_CHECK enum vv_status vv_build_look_at_gone(struct vv_build *build, int64_t from,
                                                   int64_t to);
/* Visits what the store has of raw points, late ones, too, of [from, to) in a bucket. */
VV_MUST_CHECK enum vv_status vv_build_read_points(struct vv_build *build,
                                                  const struct vv_bucket *bucket, int64_t from,
                                                  int64_t to, vv_piece_visit visit, void *context);
/* Lists what the store has of a tier in [from, to), as its level, settled; *damaged_out (NULL: not
 * wanted): some of it can't be read, and counts as stale. */
VV_MUST_CHECK enum vv_status vv_build_list_records(struct vv_build *build, enum vv_space tier,
                                                   int64_t from, int64_t to, bool *damaged_out);
/* The unit waits for a finer one of the series, which begins then. */
void vv_build_wait_for(struct vv_build *build, enum vv_space tier, int64_t from);
/* Adds what the cut leaves of a record's steps, and those that are made anew. */
VV_MUST_CHECK enum vv_status vv_build_cut_steps(struct vv_build *build,
                                                const struct vv_pyramid_cut *cut);
/* Puts the record that the unit has, if any, without what was deleted since; where that is nothing
 * it says so, since what came late for the unit is left out of it. VV_OVERLOAD: something finer is
 * to be built before; errors of the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_build_keep_record(struct vv_build *build, int64_t made_from,
                                                  struct vv_piece_list *blocks_out);
/* A unit begins: what is added from now on is its own. */
void vv_build_begin_unit(struct vv_pyramid *pyramid, enum vv_space tier,
                         const struct vv_unit *unit);
/* Adds rows that ascend in time. VV_NO_MEMORY, VV_TOO_LARGE. */
VV_MUST_CHECK enum vv_status vv_build_add_rows(struct vv_build *build, const struct vv_rows *rows);
/* Appends what was added since vv_build_begin_unit() as the record of build->unit. */
VV_MUST_CHECK enum vv_status vv_build_write_unit(struct vv_build *build, enum vv_space tier,
                                                 const struct vv_unit *unit, int64_t made_from,
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

/* ---- days that runs replace (pyramid_replace.c) ---- */

/* A unit that was built. */
struct vv_built {
    struct vv_unit unit;
    int64_t made_from;
    size_t first; /* of its record's pieces, which are the last ones */
};
/* Puts the days that runs replace into the record. VV_CORRUPT: one of them can't be read; as of
 * vv_pyramid_build. */
VV_MUST_CHECK enum vv_status vv_build_replace_days(struct vv_build *build,
                                                   const struct vv_built *built,
                                                   const struct vv_pyramid_runs *runs,
                                                   struct vv_piece_list *blocks);
/* Whether there are some, and all of them replace days. */
bool vv_runs_only_replace(const struct vv_pyramid_runs *runs);

/* ---- deletions that records have in them, where nodes share the store ---- */

/* Whether a deletion of the series meets [from, to); false where the store is one node's. */
bool vv_build_concerns(const struct vv_build *build, size_t index, int64_t from, int64_t to);
/* Whether a record does not list the deletion, though it meets its unit; and whether what is made
 * of it then does not have that one, or any, in it. */
bool vv_build_is_new(const struct vv_build *build, size_t index,
                     const struct vv_unit_record *record);
bool vv_build_lacks(const struct vv_build *build, size_t index,
                    const struct vv_unit_record *record);
bool vv_build_lacks_any(const struct vv_build *build, const struct vv_unit_record *record);
/* Nothing is added yet that lacks something. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_build_lacks_none(struct vv_build *build);
/* What is built of the record lacks what that one lacks. */
void vv_build_note_lacks(struct vv_build *build, const struct vv_unit_record *record);
/* Whether a deletion is in what was built and not in the record that was there. */
bool vv_build_has_news(const struct vv_build *build, const struct vv_unit_record *was);
/* Appends what a record of the unit says of them. */
void vv_build_list_applied(const struct vv_build *build, const struct vv_unit *unit,
                           struct vv_buffer *out);
/* Takes out of the unit's record, which is replaced, what it lacks; empty bytes when nothing is
 * left; sets *is_cut_out then. As of vv_build_keep_record. */
VV_MUST_CHECK enum vv_status vv_build_apply_deletions(struct vv_build *build,
                                                      struct vv_piece_list *record,
                                                      bool *is_cut_out);

#endif
