/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replacing a day of a series that only tiers hold: the points of a whole UTC day, which are
 * frozen, become its steps in all tiers that keep them. Of the measurement's metrics those that the
 * points have are replaced, whole steps at a time; the others stay as they are, and so does every
 * other day. The points themselves are kept nowhere.
 *
 * In a store of one node the records are made here, and who calls writes them, all or none. Where
 * nodes share the store another one may build a record at any moment, and those who build must not
 * take from each other: so the points are put as runs that make the units stale (tier/unit.h), and
 * whoever builds the unit puts them into its record. Storage thread.
 */
#ifndef VV_SEAL_REPLACE_H
#define VV_SEAL_REPLACE_H

#include "seal/pieces.h"
#include "seal/reroll.h"

/* A day of one measurement of one source. */
struct vv_replace {
    uint32_t place; /* of the day's points */
    uint32_t source;
    uint32_t measurement;
    struct vv_plans plans;      /* of the source, or those that it is to have; not none */
    int64_t day;                /* where it begins */
    const struct vv_rows *rows; /* of it, ascending in time, one for each time … */
    size_t n_rows;              /* … in so many pieces, at least one */
    vv_stamp run;               /* of the runs, where nodes share the store, at least */
};

/* Why it can't be replaced. */
enum vv_replace_verdict {
    VV_REPLACE_GOOD,
    VV_REPLACE_GONE,   /* no tier keeps so old a day */
    VV_REPLACE_WAITS,  /* what the finest tier has of it is to be built again: later it can be; or,
                          where nodes share the store, very much waits to be put into a unit */
    VV_REPLACE_SHARED, /* only a unit keeps it that has younger days, too, not all of them frozen */
    VV_REPLACE_DIVIDED, /* a tier has units there that the source's plans do not know, or can't be
                           read */
};

/* Appends the records that tiers have then, and puts what makes others stale that are built of
 * them, to be durable before the records are written; where nodes share the store the runs, with
 * those that make others stale. Errors of the store; VV_TOO_LARGE: more metrics or steps than a
 * record has, or more points than a run; VV_NO_MEMORY. *waits_for_out: with VV_REPLACE_WAITS, the
 * unit that is to be built again. */
VV_MUST_CHECK enum vv_status vv_replace_day(struct vv_reroll *reroll,
                                            const struct vv_replace *replace,
                                            const struct vv_reroll_bounds *bounds, int64_t now_ns,
                                            struct vv_piece_list *records_out,
                                            enum vv_replace_verdict *verdict_out,
                                            struct vv_span_key *waits_for_out,
                                            struct vv_error *error);

#endif
