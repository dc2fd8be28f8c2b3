/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flush: a cut generation of the head becomes runs and marks in the store.
 *
 * Flow: for each series of the generation: its plan (chosen from what is seen, when the source has
 * none yet) → bucket, span, split of each row → runs, each inside one span of one partition →
 * marks. Nothing is confirmed here but plans that other nodes must know: the engine adds its own
 * records, confirms, and only then drops the generation and releases the journal. A flush that
 * failed is done again as a whole, with the same run stamp: it writes the same keys. Storage thread
 * only.
 */
#ifndef VV_FLUSH_FLUSH_H
#define VV_FLUSH_FLUSH_H

#include "fleet/fleet.h"
#include "flush/load.h"
#include "head/head.h"
#include "registry/registry.h"
#include "seal/ledger.h"
#include "seal/open_units.h"
#include "store/store.h"

struct vv_flush_options {
    struct vv_registry *registry;
    struct vv_store *store;
    struct vv_fleet *fleet; /* agrees on first plans with other nodes; NULL: there are none */
    struct vv_ledger_rule ledger;
    int64_t bucket_ns; /* plan of new sources; 0: chosen from what is seen */
    int64_t span_ns;   /* 0: chosen */
    uint16_t splits;   /* 0: 1 */
    /* With a fleet: points before it are placed by plans that this node knows of. For others the
     * store is asked for plans, and what it said holds for points that lie less than its reach
     * ahead of when it was asked. */
    int64_t plans_known_until_ns;
    struct vv_clock *clock; /* by its wall time, what is over is stale in the tiers above … */
    int64_t over_at_ns;     /* … and by this one: what has been built by then */
    struct vv_load *load;   /* counts what is written; NULL: nothing does */
    /* With a fleet: within this time of when one told of a tier all nodes have learnt of it, and
     * nobody builds it before. */
    int64_t lead_ns;
    /* Of tiers; what a flush that failed has noted is to be forgotten. NULL: all are marked. */
    struct vv_open_units *open_units;
};

struct vv_flush_figures {
    uint64_t series;
    uint64_t rows;
    uint64_t runs;  /* parts written */
    uint64_t bytes; /* encoded */
    uint64_t plans; /* chosen */
    uint64_t late;  /* of rows, those that were kept apart */
};

/* The first plan of a source of which so many rows were seen from `low` to `high`; of the options
 * it needs the registry and what is set of plans. */
struct vv_plan vv_flush_choose_plan(const struct vv_flush_options *options, uint32_t source,
                                    uint64_t rows, int64_t low, int64_t high);

/* With how many bits of its id it is to share partitions of runs, where nodes share the store; 0:
 * with none. Of the store's it needs what never changes. */
uint8_t vv_flush_choose_share(struct vv_registry *registry, struct vv_store *store, uint32_t source,
                              const struct vv_plan *plan, uint64_t rows, int64_t low, int64_t high);

/* Puts the registry's record of a number of the kind into the store. Durable with the next confirm.
 * Errors of the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_flush_put_record(struct vv_registry *registry,
                                                 struct vv_store *store, enum vv_registry_kind kind,
                                                 uint32_t number, struct vv_error *error);

/* `run` is higher than the run of every earlier flush, and the same when a flush is repeated. */
VV_MUST_CHECK enum vv_status vv_flush_generation(const struct vv_flush_options *options,
                                                 struct vv_generation *generation, vv_stamp run,
                                                 struct vv_flush_figures *figures_out,
                                                 struct vv_error *error);

#endif
