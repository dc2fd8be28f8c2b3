/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting: whole steps are taken out of the records of tiers, where what they were built of may be
 * gone. A step of which only a part is deleted is built again of what is below it, where that is
 * certainly whole (as for rerolling); else it stays as it is, so who orders a deletion asks before.
 * A record that keeps rows loses exactly what is deleted. Doing it again changes nothing, as long
 * as no points come there. For a store that is not shared.
 *
 * Threads: one at a time by vv_reroll; vv_cut_look only reads.
 */
#ifndef VV_SEAL_CUT_H
#define VV_SEAL_CUT_H

#include "seal/reroll.h"
#include "tier/rollup.h"

/* What is deleted of a series in a place. */
struct vv_cut {
    uint32_t place;
    uint32_t source; /* has a plan */
    uint32_t measurement;
    uint32_t metric; /* or VV_ROLLUP_ALL_METRICS */
    int64_t from;
    int64_t to;
    int64_t before; /* steps that begin then or later stay: what is above them is built again */
};

/* Whether what the tier has of the series in the step at `start`, of which only a part is deleted,
 * can be built again, or is none: VV_REROLL_NOTHING, else why not, as of vv_reroll_unit. Errors of
 * the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_cut_look(struct vv_reroll *reroll, enum vv_space tier,
                                         const struct vv_cut *cut, int64_t start,
                                         const struct vv_reroll_bounds *bounds,
                                         enum vv_reroll_verdict *verdict_out,
                                         struct vv_error *error);

struct vv_cut_figures { /* added to */
    uint64_t records;   /* that were changed */
    uint64_t kept;      /* steps of which only a part is deleted, and that had to stay */
    uint64_t damaged;   /* records that can't be read */
};

/* Does it in all units of the tier that begin in its bucket at `bucket`; what is finer comes
 * before. Durable when it returns. Errors of the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_cut_bucket(struct vv_reroll *reroll, enum vv_space tier,
                                           const struct vv_cut *cut, int64_t bucket,
                                           const struct vv_reroll_bounds *bounds, int64_t now_ns,
                                           struct vv_cut_figures *figures, struct vv_error *error);

#endif
