/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a reroll share, and with who takes steps out of records (cut.c). One thread at
 * a time. */
#ifndef VV_SEAL_REROLL_PRIVATE_H
#define VV_SEAL_REROLL_PRIVATE_H

#include "model/merge.h"
#include "seal/pieces.h"
#include "seal/pyramid.h"
#include "seal/reroll.h"
#include "seal/stale.h"
#include "seal/volumes.h"
#include "tier/compare.h"
#include "tier/cover.h"
#include "tier/rollup.h"

struct vv_reroll {
    struct vv_reroll_options options;
    struct vv_pyramid *pyramid;
    struct vv_rollup *rollup; /* to make steps of records of rows */
    struct vv_merge *merge;
    struct vv_piece_list stored;
    struct vv_piece_list built;
    struct vv_piece_list runs; /* that say that the unit is stale, though nobody will build it */
    struct vv_cover covers[VV_SPACES]; /* of what is below */
};

/* One unit that is looked at. */
struct vv_look {
    struct vv_reroll *reroll;
    uint32_t place; /* of the points */
    uint32_t source;
    uint32_t measurement;
    struct vv_tiers tiers;
    struct vv_plans plans;
    const struct vv_reroll_bounds *bounds;
    bool gaps_are_empty; /* what a tier has no record of had nothing, or it was taken out */
    int64_t version;     /* of the record that is there, as the store tells it */
    enum vv_reroll_verdict verdict; /* why it is refused, or VV_REROLL_NOTHING */
    struct vv_error *error;
};

/* Of what a place has of a series; the bounds are borrowed. */
struct vv_look vv_look_of(struct vv_reroll *reroll, uint32_t place, uint32_t source,
                          uint32_t measurement, const struct vv_reroll_bounds *bounds,
                          struct vv_error *error);
/* Visits the records of a tier that begin at or before `from`, as far back as one may, up to `to`.
 */
VV_MUST_CHECK enum vv_status vv_look_visit_tier(const struct vv_look *look, enum vv_space tier,
                                                int64_t from, int64_t to, vv_piece_visit visit,
                                                void *context);
/* Whether all is there that [from, to) of the tier `above` is built of, where [from, to) is made of
 * whole units below: look->verdict is VV_REROLL_NOTHING, or says why not. Errors of the store. */
VV_MUST_CHECK enum vv_status vv_look_prove(struct vv_look *look, int above, int64_t from,
                                           int64_t to);
/* By which units are made stale. */
struct vv_stale_options vv_reroll_stale_options(const struct vv_reroll *reroll);
/* What the source's cohort has of the unit is made of it: it is to be made anew, which is to be
 * durable before the record changes. */
VV_MUST_CHECK enum vv_status vv_reroll_tell_cohort(struct vv_reroll *reroll, enum vv_space tier,
                                                   int64_t now_ns, const struct vv_span_key *key,
                                                   int64_t to, struct vv_error *error);

/* What the unit of the result should be, into reroll->built, to replace a record of that version.
 */
VV_MUST_CHECK enum vv_status vv_reroll_build(struct vv_look *look, enum vv_space tier,
                                             int64_t now_ns, int64_t version,
                                             const struct vv_reroll_result *result);
/* Has the unit of the result, which ends behind over_at, built when it is over; with the next
 * confirm. */
VV_MUST_CHECK enum vv_status vv_reroll_mark_open(struct vv_look *look, enum vv_space tier,
                                                 int64_t now_ns, int64_t over_at,
                                                 struct vv_reroll_result *result);

/* Puts what was built. */
VV_MUST_CHECK enum vv_status vv_reroll_put(struct vv_reroll *reroll, int64_t now_ns,
                                           struct vv_error *error);

/* Whether what was built has anything. */
static inline bool vv_reroll_has_built(const struct vv_reroll *reroll)
{
    return reroll->built.n > 0 && reroll->built.items[0].bytes.size > 0;
}

static inline bool vv_reroll_is_damage(enum vv_status status)
{
    return status == VV_CORRUPT || status == VV_NEWER;
}

/* Compares what is stored with what was built: the verdict, and what is different. What is stored
 * may be damaged: it is different. */
VV_MUST_CHECK enum vv_status vv_reroll_compare(struct vv_reroll *reroll, enum vv_space tier,
                                               struct vv_reroll_result *result,
                                               struct vv_error *error);

#endif
