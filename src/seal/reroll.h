/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rerolling: a unit of a tier is built again of what is below it, compared with its record, and put
 * in its place where it differs. Only where what is below is certainly whole: its raw spans sealed
 * and not expired, or each stretch in a record of a finer tier that is not stale, or certainly
 * without points; all of it readable. Where nodes share the store any of them may do it: what is
 * wrong is built with the stamp of a pass of its own, as when it is sealed. Storage thread only.
 */
#ifndef VV_SEAL_REROLL_H
#define VV_SEAL_REROLL_H

#include "deletion/deletions.h"
#include "registry/registry.h"
#include "seal/ledger.h"
#include "store/store.h"
#include "tier/unit.h"

struct vv_reroll;

struct vv_reroll_options {
    struct vv_registry *registry;
    struct vv_store *store;
    struct vv_deletions *deletions; /* NULL: there are none */
    struct vv_ledger_rule ledger;
    bool makes_volumes; /* the sealer does (volumes.h) */
    int zstd_level;
    size_t block_bytes_max;
    double percentile_error;
    /* As of struct vv_sealer_options. */
    enum vv_status (*learn)(void *learn_context, struct vv_error *);
    void *learn_context;
};

VV_MUST_CHECK enum vv_status vv_reroll_create(const struct vv_reroll_options *options,
                                              struct vv_reroll **reroll_out);
void vv_reroll_destroy(struct vv_reroll *reroll); /* NULL is allowed */

/* From when on all is there that was written: raw data that has not expired; tiers that were on
 * when it came, and have not expired. VV_TIME_MIN: always; INT64_MAX: nothing is certain. */
struct vv_reroll_bounds {
    int64_t raw_from;
    int64_t tier_from[VV_SPACES];
    /* Records in buckets of the tier that end before may go at any time, and count as gone;
     * INT64_MIN: none do. */
    int64_t tier_gone[VV_SPACES];
    /* Up to when other nodes have flushed all that they acknowledged; alone INT64_MAX. */
    int64_t heard_until;
};

enum vv_reroll_verdict {
    VV_REROLL_NOTHING,   /* it has no points, and no record */
    VV_REROLL_SAME,      /* the record is as it should be */
    VV_REROLL_DIFFERENT, /* it is not, or there is one and no points: that one is never removed */
    VV_REROLL_MISSING,   /* there are points, and no record */
    VV_REROLL_OPEN,      /* the unit is not over; it is built when it is */
    VV_REROLL_WAITING,   /* it is to be built again by the sealer anyway */
    VV_REROLL_GONE,      /* it has expired itself */
    /* Refused: it can't be proved that what is below is whole. */
    VV_REROLL_EXPIRED,  /* some of it has expired, or is from before that tier was on */
    VV_REROLL_UNSEALED, /* some of it waits to be sealed or built */
    VV_REROLL_DAMAGED,  /* some of it, or the unit itself, can't be read, or is too large */
    VV_REROLL_AWAY,     /* another node may have more of it, or a part of the store is away */
    VV_REROLL_VERDICTS,
};

struct vv_reroll_result {
    enum vv_reroll_verdict verdict;
    struct vv_unit unit;
    bool is_repaired;
    bool is_marked; /* though it is refused: it is built when other nodes have flushed all */
    /* Of VV_REROLL_DIFFERENT, where single steps are: how many, and the first. */
    uint64_t steps;
    uint32_t metric;
    int64_t start;
    const char *what; /* a fixed text; NULL: the whole record */
};

/* The unit of a place's tier that holds `time`, of a source that has a plan; `repair`: what is
 * different or missing is put right, durably. Errors of the store but VV_CORRUPT and VV_NEWER, and
 * VV_OVERLOAD of a shared one, which are the unit's and a verdict; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_reroll_unit(struct vv_reroll *reroll, enum vv_space tier,
                                            uint32_t place, uint32_t source, uint32_t measurement,
                                            int64_t time, const struct vv_reroll_bounds *bounds,
                                            int64_t now_ns, bool repair,
                                            struct vv_reroll_result *result_out,
                                            struct vv_error *error);

#endif
