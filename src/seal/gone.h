/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether points that come now for an older time can get into all tiers. A unit whose points have
 * expired in part is not built again where its record has some of them (pyramid_gone.c): what came
 * for it would be in raw data alone. By age that is known before (engine/submit.c) as long as no
 * retention was made longer; behind that the records tell. Any thread.
 */
#ifndef VV_SEAL_GONE_H
#define VV_SEAL_GONE_H

#include "registry/registry.h"
#include "seal/expired.h"
#include "seal/reroll.h"
#include "store/store.h"

/* What a tier is built of is all there from then on, in raw data or in some finer tier. */
int64_t vv_gone_whole_below(const struct vv_tiers *tiers, const struct vv_reroll_bounds *bounds,
                            enum vv_space tier);

/* What is as young, or younger, always can; INT64_MIN: everything can. */
int64_t vv_gone_before(const struct vv_tiers *tiers, const struct vv_reroll_bounds *bounds);

struct vv_gone_question {
    uint32_t place;
    uint32_t source;
    uint32_t measurement;
    int64_t now_ns;
    int64_t time;                   /* for vv_gone_look … */
    struct vv_reroll_bounds bounds; /* … of the place: `raw_from` and `tier_from` count, … */
    struct vv_expired expired;      /* … and what of its points has expired */
};
struct vv_gone_answer {
    bool is_gone;
    struct vv_unit unit; /* the same holds for all times of it */
};
/* Where nodes share the store the source's plans must be those that are told, if any is. Reads the
 * record of each tier, and where these are from before a tier was on those of finer ones in it, at
 * most. Errors of the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_gone_look(struct vv_store *store, struct vv_registry *registry,
                                          const struct vv_gone_question *question,
                                          struct vv_gone_answer *answer_out,
                                          struct vv_error *error);

/* Whether the store has points of a place in [from, to), or in spans that meet it. Errors of the
 * store. */
VV_MUST_CHECK enum vv_status vv_gone_look_for_points(struct vv_store *store,
                                                     struct vv_registry *registry,
                                                     const struct vv_gone_question *question,
                                                     int64_t from, int64_t to, bool *has_out,
                                                     struct vv_error *error);

#endif
