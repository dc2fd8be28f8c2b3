/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stale units of tiers: what was written to raw data makes the units of all tiers above it stale,
 * each once for a run, with a mark in the ledger, so that they are built again; and with them those
 * of the source's cohort.
 *
 * Who calls it: the flush, for units that are over (before that nothing can have been built of
 * them); and the sealer, for all units, before the raw runs go. So a unit that has a record is
 * stale from before the head lets go of a point until it is built again. Storage thread only.
 *
 * Beside other nodes, who may build at any moment, units are listed first. What is put of them goes
 * in an order: what makes them stale has landed; finer ones land before coarser ones, which may be
 * built of them. And what is open then is not stale, but only marked, where somebody has to:
 * nothing is built of it anywhere before it is over by this node's clock. It is stale all the same
 * where something below it is parked with this node: what is delivered later than it is built.
 */
#ifndef VV_SEAL_STALE_H
#define VV_SEAL_STALE_H

#include "registry/registry.h"
#include "seal/ledger.h"
#include "seal/open_units.h"
#include "store/store.h"
#include "tier/unit.h"

/* How many parts of a run the store may put in place of one (store/cassandra/parked_tiers.c). */
#define VV_STALE_PARTS 2u

struct vv_stale_options {
    struct vv_registry *registry;
    struct vv_store *store;
    struct vv_ledger_rule ledger;
    /* Where nodes share the store; NULL: the store's own. */
    enum vv_status (*confirm)(void *context, struct vv_error *error);
    void *confirm_context;
    struct vv_open_units *open_units; /* that need not be marked again; NULL: all are */
    /* Lists of units are put whole, or VV_OVERLOAD says that some of them would be parked with this
     * node (vv_shared_ops.is_held): who calls takes away what else leads to these units. */
    bool is_whole;
};

/* Units to be made stale later. Zero-initialised is empty. */
struct vv_stale_unit {
    struct vv_span_key key;
    int64_t to; /* the unit's end */
    int64_t due_ns;
    vv_stamp run;
    enum vv_space tier;
    bool is_open;
    bool is_marked_open; /* marked, if it is not over by then */
    /* Which part of the run it is, and the record, borrowed: one that replaces a day (unit.h).
     * Empty: one that says no more than that the unit is stale. */
    uint32_t part;
    struct vv_str record;
};
struct vv_stale_list {
    struct vv_stale_unit *items;
    size_t n;
    size_t capacity;
};
void vv_stale_list_deinit(struct vv_stale_list *list);

/* Makes one stale. Durable with the next confirm. Errors of the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_stale_put(const struct vv_stale_options *options,
                                          const struct vv_stale_unit *stale,
                                          struct vv_error *error);
/* Only marks it: somebody is to build it, though what there is of it answers until then. */
VV_MUST_CHECK enum vv_status vv_stale_mark(const struct vv_stale_options *options,
                                           const struct vv_stale_unit *stale,
                                           struct vv_error *error);
/* The unit of the source's cohort (tier/cohort.h) that goes with one of its own; VV_DONE where
 * there is none: in other tiers, and, where no other node may know of another source, of one that
 * is alone. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_stale_cohort(const struct vv_stale_options *options,
                                             enum vv_space tier, const struct vv_stale_unit *stale,
                                             struct vv_stale_unit *cohort_out);
/* VV_OVERLOAD where one that ends at `over_at` or before would be parked with this node, though
 * is_whole is wanted, or the mark of one that is open then. */
VV_MUST_CHECK enum vv_status vv_stale_check_held(const struct vv_stale_options *options,
                                                 const struct vv_stale_list *list, int64_t over_at,
                                                 struct vv_error *error);
/* Notes one for later. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_stale_list_add(struct vv_stale_list *list,
                                               const struct vv_stale_unit *unit,
                                               struct vv_error *error);

/* One measurement of one source, by one run. */
struct vv_stale {
    const struct vv_stale_options *options;
    struct vv_stale_list *later; /* set after vv_stale_begin: units are noted there instead */
    struct vv_tiers tiers;
    struct vv_plans plans;
    uint32_t source;
    uint32_t measurement;
    vv_stamp run;
    /* Set after vv_stale_begin: units that end later get one and the same run, not one each time;
     * for an embedded store only, where a run that was removed may come again. */
    int64_t open_at;
    bool marks_open;     /* set after vv_stale_begin: of units that are listed */
    int64_t not_before;  /* units are not due before; see vv_stale_not_before */
    enum vv_space first; /* set after vv_stale_begin: finer tiers are left out */
    bool has_last[VV_SPACES];
    struct vv_unit last[VV_SPACES]; /* that was made stale */
};

/* The source has a plan; the points lie in the place. The options are borrowed. */
void vv_stale_begin(struct vv_stale *stale, const struct vv_stale_options *options, uint32_t place,
                    uint32_t source, uint32_t measurement, vv_stamp run);
/* The unit of the tier, which is on, that holds `time`, as it would be made stale. */
struct vv_stale_unit vv_stale_unit_of(const struct vv_stale *stale, enum vv_space tier,
                                      int64_t time);
/* Makes it stale, with that of its cohort. As vv_stale_times. */
VV_MUST_CHECK enum vv_status vv_stale_unit_put(struct vv_stale *stale, enum vv_space tier,
                                               int64_t time, struct vv_error *error);
/* From now on units are due at this time at the earliest; INT64_MIN: as they are anyway. */
void vv_stale_not_before(struct vv_stale *stale, int64_t not_before);
/* Makes the units stale that hold one of n times, ascending, and end at `over_at` or before.
 * Durable with the next confirm. Errors of the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_stale_times(struct vv_stale *stale, const int64_t *times, size_t n,
                                            int64_t over_at, struct vv_error *error);
/* The same for all units that meet [from, to). */
VV_MUST_CHECK enum vv_status vv_stale_range(struct vv_stale *stale, int64_t from, int64_t to,
                                            int64_t over_at, struct vv_error *error);
/* Makes those of the list stale that end at `over_at` or before, or are above what is parked, marks
 * the others that are to be marked, and empties it. The store is one that nodes share. It confirms
 * in between, and over_at is to be read when what makes them stale has landed. What is wanted whole
 * has landed as well; else it is durable with the next confirm. */
VV_MUST_CHECK enum vv_status vv_stale_put_list(const struct vv_stale_options *options,
                                               struct vv_stale_list *list, int64_t over_at,
                                               struct vv_error *error);

#endif
