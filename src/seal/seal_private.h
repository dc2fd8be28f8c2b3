/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the sealer share: its state, which spans it chooses (choose.c), and what it
 * makes of one (span.c). Private to src/seal; storage thread. */
#ifndef VV_SEAL_SEAL_PRIVATE_H
#define VV_SEAL_SEAL_PRIVATE_H

#include "model/merge.h"
#include "model/piece.h"
#include "seal/cohorts.h"
#include "seal/pieces.h"
#include "seal/put_off.h"
#include "seal/pyramid.h"
#include "seal/sealer.h"
#include "seal/stale.h"
#include "seal/volumes.h"

#define VV_SEAL_AHEAD   16 /* spans that are asked for before their turn */
#define VV_SEAL_RAW     (-1)
#define VV_SEAL_COHORTS VV_SPACES       /* and from there on: cohorts' units, by tier */
#define VV_SEAL_VOLUMES (2 * VV_SPACES) /* and likewise: volumes */

/* A space of which a mark was seen. */
struct vv_tier_seen {
    uint32_t space;
    int64_t since_ns; /* monotonic */
};

struct vv_sealer {
    struct vv_sealer_options options;
    struct vv_stale_options stale;
    struct vv_pyramid *pyramid;
    struct vv_cohorts *cohorts;
    struct vv_rollup *volumes; /* what one is made in */
    struct vv_piece_encoder encoder;
    struct vv_merge *merge;
    struct vv_deletion_list deletions; /* of the series that is being sealed */
    struct vv_mark *marks;             /* of this group */
    size_t n_marks;
    size_t marks_capacity;
    struct vv_store_answer *answers[VV_SEAL_AHEAD]; /* of marks that were asked for, by index */
    size_t n_asked;
    struct vv_mark *settled; /* of those, the ones whose span is done, and of units with them */
    size_t n_settled;
    bool *is_mine;               /* of marks, by index */
    struct vv_buffer applied;    /* deletions that the record has which is read */
    struct vv_piece_list blocks; /* new */
    struct vv_piece_list runs;   /* read, to be removed */
    struct vv_seal_figures figures;
    struct vv_mark cursor; /* the last mark looked at: a pass goes on behind it */
    bool has_cursor;
    struct vv_span_key damaged[VV_SEAL_DAMAGED_MAX]; /* not tried again before a restart */
    size_t n_damaged;
    struct vv_put_off put_off;
    int64_t hold_ns; /* what was due before waits */
    int64_t last_due_ns;
    size_t passed_over; /* of the marks that were looked at for this group */
    int64_t latest_ns;  /* the latest wall time at which spans were chosen */
    int kind; /* of the group's spans: a tier's, its cohorts' or volumes', or VV_SEAL_RAW */
    vv_stamp stale_run; /* the last one of stale_run() */
    size_t alone;       /* so many next groups have one span: it can't be told which one failed */
    struct vv_stale_list later; /* units to be made stale, beside other nodes … */
    struct vv_stale_list told;  /* … and cohorts' behind the records that are written */
    struct vv_stale_list above; /* what one span would make stale */
    struct vv_tier_seen *tiers_seen;
    size_t n_tiers_seen;
};

static inline int64_t vv_seal_monotonic(const struct vv_sealer *sealer)
{
    return sealer->options.clock->monotonic_ns(sealer->options.clock);
}

/* Whether a span could not be reached now, while others can be. */
static inline bool vv_seal_is_away(const struct vv_sealer *sealer, enum vv_status status)
{
    return status == VV_OVERLOAD && sealer->options.store->ops->shared;
}

/* From when on nobody can have built a unit yet. */
int64_t vv_seal_stale_at(const struct vv_sealer *sealer);

/* Up to when units are over, by the clocks of all nodes. */
static inline int64_t vv_seal_over_ns(const struct vv_sealer *sealer, int64_t now_ns)
{
    return sealer->options.store->ops->shared ? now_ns - VV_CLOCKS_DIFFER_NS : now_ns;
}

/* Whether it is a span that can't be sealed as something is damaged. */
bool vv_seal_has_damaged(const struct vv_sealer *sealer, const struct vv_span_key *key);
/* A span is not tried again for some seconds. */
void vv_seal_put_off(struct vv_sealer *sealer, const struct vv_mark *mark,
                     const struct vv_error *why);
/* The next group, of one kind: at most spans_max marks; none when none is left. */
VV_MUST_CHECK enum vv_status vv_seal_choose(struct vv_sealer *sealer, vv_stamp until,
                                            size_t spans_max, struct vv_error *error);
/* What is new of the span of the mark at an index goes to the lists of blocks and runs. */
VV_MUST_CHECK enum vv_status vv_seal_span(struct vv_sealer *sealer, size_t at,
                                          struct vv_error *error);
/* What was asked for ahead: of one span that is not read, or all. */
void vv_seal_forget_answer(struct vv_sealer *sealer, size_t at);
void vv_seal_forget_answers(struct vv_sealer *sealer);

#endif
