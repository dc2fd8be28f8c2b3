/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pyramid: units of tiers are built from what is finer. Private to src/seal; storage thread.
 *
 * A unit is built from the records of the next finer tier where they are there and not stale, else
 * from those below, at last from the raw runs and blocks themselves. So it is right as of now,
 * whatever the tiers between lack, and a crash or another order costs work only.
 */
#ifndef VV_SEAL_PYRAMID_H
#define VV_SEAL_PYRAMID_H

#include "deletion/deletions.h"
#include "fleet/members.h"
#include "registry/registry.h"
#include "seal/expired.h"
#include "seal/pieces.h"
#include "seal/sealer.h"
#include "tier/rollup.h"
#include "tier/unit.h"

struct vv_pyramid;

struct vv_pyramid_options {
    struct vv_registry *registry;
    struct vv_store *store;
    struct vv_deletions *deletions; /* NULL: there are none */
    struct vv_members *members;     /* as of vv_sealer_options */
    struct vv_clock *clock;         /* for cohorts where nodes share the store; else NULL */
    int zstd_level;
    size_t block_bytes_max;  /* of rows that are kept in place of steps, before encoding */
    double percentile_error; /* relative, of sketches */
    /* From when on all points of a tenant are there; what is older may have expired. NULL: all are
     * there. */
    int64_t (*whole_from)(void *whole_context, uint32_t tenant);
    /* What of them has expired. Where nodes share the store its count is the time from when on all
     * that is put lives as long as the longest retention. */
    void (*expired)(void *whole_context, uint32_t tenant, struct vv_expired *expired_out);
    /* A record of a tenant was written that says what `expired` counts. With it. */
    void (*say_whole)(void *whole_context, uint32_t tenant);
    /* The same of the records of a tier's space, with nothing that may have expired; NULL: nothing
     * is certain. */
    int64_t (*records_from)(void *whole_context, uint32_t space);
    void *whole_context;
};

VV_MUST_CHECK enum vv_status vv_pyramid_create(const struct vv_pyramid_options *options,
                                               struct vv_pyramid **pyramid_out);
void vv_pyramid_destroy(struct vv_pyramid *pyramid); /* NULL is allowed */

/* How many units kept the record that they had, since what it was built of may have expired. */
struct vv_pyramid_kept {
    uint64_t as_it_was; /* what came late for them is in no tier */
    /* What was deleted since went from it; where nodes share the store also from records that are
     * built again. */
    uint64_t cut;
};
struct vv_pyramid_kept vv_pyramid_kept(const struct vv_pyramid *pyramid);
/* As vv_sealer_kept_units. */
size_t vv_pyramid_kept_units(const struct vv_pyramid *pyramid,
                             struct vv_kept_unit units_out[VV_KEPT_UNITS_MAX]);

/* What makes the unit stale: of what replaces days of it (tier/unit.h) with bytes, in the order of
 * runs and parts, which is the order in which they are replaced. */
struct vv_pyramid_runs {
    const struct vv_piece_list *list; /* borrowed */
    size_t first;                     /* those before are of other units */
    /* What the record that is there says, borrowed; NULL: there is none, or nobody asks. */
    const struct vv_unit_record *record;
};

/* Appends the records of the units that begin with the mark's and before `to` (one, unless plans
 * have changed), if they are over by now_ns. made_from: of the first, the version of the record
 * that is there. A unit without any value gets an empty record: it has none; nor has one that has
 * expired, of which an older record may still be there. VV_CORRUPT, VV_NEWER: of what it is made
 * of; VV_OVERLOAD: something finer is to be built before; VV_TOO_LARGE: it has more metrics or
 * steps than a record can: what is there stays; errors of the store; VV_NO_MEMORY. After a failure
 * blocks_out may have some of them. */
VV_MUST_CHECK enum vv_status vv_pyramid_build(struct vv_pyramid *pyramid,
                                              const struct vv_mark *mark, int64_t to,
                                              int64_t now_ns, int64_t made_from, bool is_expired,
                                              const struct vv_pyramid_runs *runs,
                                              struct vv_piece_list *blocks_out,
                                              struct vv_error *error);

/* For which finer unit of the series what was built since the span began waits, where it ended with
 * VV_OVERLOAD; NULL: for something else. */
void vv_pyramid_begin_span(struct vv_pyramid *pyramid);
const struct vv_span_key *vv_pyramid_waits_for(const struct vv_pyramid *pyramid);

/* The same of a unit of minutes whose rows the caller has in hand, all of them: begin, add chunk by
 * chunk, end, and no other unit in between. The key is the unit's, in the space of the minutes.
 * Rows ascend in time, one for each time, without what is deleted; they are only borrowed.
 * VV_TOO_LARGE, after which it can only begin anew; errors of the deletions; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_pyramid_begin_minutes(struct vv_pyramid *pyramid,
                                                      const struct vv_unit *unit,
                                                      const struct vv_span_key *key);
VV_MUST_CHECK enum vv_status vv_pyramid_add_minutes(struct vv_pyramid *pyramid,
                                                    const struct vv_rows *rows,
                                                    struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_pyramid_end_minutes(struct vv_pyramid *pyramid,
                                                    const struct vv_unit *unit,
                                                    const struct vv_span_key *key,
                                                    struct vv_piece_list *blocks_out,
                                                    struct vv_error *error);

/* ---- taking steps out of a record (pyramid_cut.c) ---- */

/* What a step is built of: the units of the next finer tier that there is which hold it, or the
 * step itself where only points are finer. The source has a plan. */
struct vv_unit vv_pyramid_below(const struct vv_tiers *tiers, const struct vv_plans *plans,
                                enum vv_space tier, int64_t start);

struct vv_pyramid_cut {
    enum vv_space tier;
    const struct vv_piece_list *records; /* borrowed, with bytes … */
    size_t first;                        /* … and which one is the record's first part */
    struct vv_unit unit;
    bool is_rows;               /* it keeps rows: what is deleted of them goes, whatever follows */
    struct vv_rollup_part gone; /* steps that go */
    int64_t again[2];           /* of these, starts of those that are built of what is finer … */
    size_t n_again;             /* … which is whole there */
};

/* Appends the record without these steps; an empty one when nothing is left of it. Errors as of
 * vv_pyramid_build. */
VV_MUST_CHECK enum vv_status vv_pyramid_cut(struct vv_pyramid *pyramid, uint32_t place,
                                            const struct vv_pyramid_cut *cut,
                                            struct vv_piece_list *blocks_out,
                                            struct vv_error *error);

/* ---- putting other points in the place of some of a record (pyramid_replace.c) ---- */

struct vv_pyramid_replacement {
    enum vv_space tier;
    uint32_t place;
    struct vv_unit unit;
    struct vv_span_key key;
    bool has_record;
    const struct vv_piece_list *records; /* borrowed, with bytes … */
    size_t first;                        /* … and which one is the record's first part */
    bool is_rows;                        /* it keeps rows */
    int64_t made_from;                   /* the version of that record, as of struct vv_piece */
    int64_t from; /* whole steps of the tier: what it has of [from, to) … */
    int64_t to;
    const uint32_t *metrics;    /* … of these metrics, ascending, goes … */
    size_t n_metrics;           /* … at least one … */
    const struct vv_rows *rows; /* … and these come: of the unit and the range, ascending in time,
                                   one for each time */
    size_t n_rows;
};

/* Appends the record as it is then. Errors as of vv_pyramid_build. */
VV_MUST_CHECK enum vv_status vv_pyramid_replace(struct vv_pyramid *pyramid,
                                                const struct vv_pyramid_replacement *replacement,
                                                struct vv_piece_list *blocks_out,
                                                struct vv_error *error);

#endif
