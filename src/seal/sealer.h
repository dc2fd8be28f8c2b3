/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sealer: spans that are over (or were written to again) become blocks.
 *
 * Flow: marks that are due and quiet → all runs and blocks of the span, merged once → new blocks →
 * exactly the runs that were read are removed, and the mark is retired unless a newer run renewed
 * it. Doing it again gives the same blocks, so a crash in between costs work only. Spans are sealed
 * in small groups, so that one write to the store serves many. Storage thread only.
 */
#ifndef VV_SEAL_SEALER_H
#define VV_SEAL_SEALER_H

#include "base/clock.h"
#include "deletion/deletions.h"
#include "fleet/members.h"
#include "registry/registry.h"
#include "seal/expired.h"
#include "seal/ledger.h"
#include "store/store.h"

struct vv_sealer;

struct vv_sealer_options {
    struct vv_registry *registry;
    struct vv_store *store;
    struct vv_clock *clock;
    struct vv_deletions *deletions; /* NULL: there are none */
    /* For a shared store: learns what other nodes have told. Whoever marks a span since something
     * of it is deleted has told of that before. NULL: nothing is told. */
    enum vv_status (*learn)(void *learn_context, struct vv_error *);
    void *learn_context;
    /* Whether others can have learnt of a tier's space. NULL: they can. */
    bool (*is_told)(void *learn_context, uint32_t space);
    /* For a shared store with cohorts: learns, and says whether all sources of the tenant are known
     * that others had told of before the call; VV_OVERLOAD: that can't be told now. */
    enum vv_status (*learn_sources)(void *learn_context, uint32_t tenant, bool *all_out,
                                    struct vv_error *);
    struct vv_members *members; /* likewise; NULL: no cohorts are built */
    struct vv_ledger_rule ledger;
    int64_t volumes_after_ns; /* of quiet, in a store of one node; 0: none are made (volumes.h) */
    size_t block_bytes_max;   /* of a block's rows before encoding */
    int zstd_level;
    double percentile_error; /* of tiers: relative, as of vv_sketch_init */
    /* Where nodes share the store: confirms it (NULL: its own confirm), and how long it takes until
     * all nodes know what one has told. */
    enum vv_status (*confirm)(void *context, struct vv_error *error);
    void *confirm_context;
    int64_t lead_ns;
    /* As in pyramid.h: from when on all points of a tenant, or a tier's records, are there. */
    int64_t (*whole_from)(void *whole_context, uint32_t tenant);
    /* What of them has expired; where nodes share the store time takes them, and it says nothing.
     */
    void (*expired)(void *whole_context, uint32_t tenant, struct vv_expired *expired_out);
    /* A record of a tenant was written that says what `expired` counts. With it. */
    void (*say_whole)(void *whole_context, uint32_t tenant);
    int64_t (*records_from)(void *whole_context, uint32_t space);
    void *whole_context;
};

struct vv_seal_figures {
    uint64_t spans;     /* sealed */
    uint64_t again;     /* of those, spans that had a block already (late points) */
    uint64_t expired;   /* marks whose span the retention hides: runs removed, nothing sealed */
    uint64_t rows;      /* in new blocks */
    uint64_t bytes_in;  /* of pieces read */
    uint64_t bytes_out; /* of blocks written */
    uint64_t damaged;   /* spans left as they are because a piece could not be decoded */
    uint64_t units;     /* of tiers, built */
    uint64_t kept;      /* of those, units that kept their record: what it is of has expired */
    uint64_t cut;       /* that lost what was deleted since; alone in the store, of those kept */
    uint64_t hidden;    /* values that deletions took out */
    uint64_t put_off;   /* times that a span was left for later, its part of the store being away */
};

VV_MUST_CHECK enum vv_status vv_sealer_create(const struct vv_sealer_options *options,
                                              struct vv_sealer **sealer_out);
void vv_sealer_destroy(struct vv_sealer *sealer);

/*
 * Seals one group of at most `spans_max` (≥ 1) spans; VV_DONE when none is left. `until`:
 * VV_SEAL_DUE for the spans that are due, else every marked span whose last run has at most that
 * stamp, over and quiet or not. After a failure of the store nothing is lost: the marks are still
 * there. Spans of a shared store whose part of it is away are put off for some seconds: VV_OVERLOAD
 * when only such are left.
 */
#define VV_SEAL_DUE ((vv_stamp)0)
#define VV_SEAL_ALL UINT64_MAX
VV_MUST_CHECK enum vv_status vv_sealer_step(struct vv_sealer *sealer, vv_stamp until,
                                            size_t spans_max, struct vv_error *error);
/* From now on spans that are due are sealed if they have been due since that time or later;
 * INT64_MIN: all of them. What is sealed on request is not held back. */
void vv_sealer_hold(struct vv_sealer *sealer, int64_t due_ns);
/* When the first span of the last group was due. */
int64_t vv_sealer_last_due_ns(const struct vv_sealer *sealer);
#define VV_KEPT_UNITS_MAX 256
struct vv_kept_unit {
    struct vv_span_key key;
    int64_t to;
};
/* The last units that were left as they were though something came late for them, each once;
 * returns how many. */
size_t vv_sealer_kept_units(const struct vv_sealer *sealer,
                            struct vv_kept_unit units_out[VV_KEPT_UNITS_MAX]);
#define VV_SEAL_DAMAGED_MAX 256
/* The spans that could not be decoded, and are not tried again before a restart; how many. */
size_t vv_sealer_read_damaged(const struct vv_sealer *sealer,
                              struct vv_span_key keys_out[VV_SEAL_DAMAGED_MAX]);
/* Whether a mark's span could not be decoded, and is not tried again before a restart. */
bool vv_sealer_is_damaged(const struct vv_sealer *sealer, const struct vv_mark *mark);
/* Whether all nodes have had the time to learn of a tier's space since it was first asked for here
 * when it had been told; true where nobody shares the store. */
bool vv_sealer_is_known_to_all(struct vv_sealer *sealer, uint32_t space);
/* The latest wall time by which anything can have been built so far in this process. */
int64_t vv_sealer_latest_ns(const struct vv_sealer *sealer);
void vv_sealer_read_figures(const struct vv_sealer *sealer, struct vv_seal_figures *figures_out);

#endif
