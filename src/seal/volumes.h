/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes (tier/unit.h): the steps of a bucket's records of hours together, in a store of one node,
 * so that a question about months reads few pieces. A copy: what is in doubt has none. Storage
 * thread.
 */
#ifndef VV_SEAL_VOLUMES_H
#define VV_SEAL_VOLUMES_H

#include "registry/registry.h"
#include "seal/ledger.h"
#include "seal/pieces.h"
#include "tier/rollup.h"

/* Whether a mark, of any span, is that of a volume. */
bool vv_volume_is_marked(struct vv_registry *registry, const struct vv_mark *mark);
/* Of the volume that the unit of a tier with volumes belongs to. */
struct vv_mark vv_volume_mark(const struct vv_ledger_rule *rule, const struct vv_span_key *unit,
                              vv_stamp run);
/* Whether the mark's run is so old: history comes day by day. */
bool vv_volume_is_quiet(const struct vv_mark *mark, int64_t quiet_ns, int64_t now_ns);
/* Appends the volume of the mark, made of what the store has; or that there is none, where
 * something is stale, damaged, or can't be put together. `rollup`, without sketches, is worked
 * with. VV_NO_MEMORY; errors of the store but for VV_CORRUPT and VV_NEWER. */
VV_MUST_CHECK enum vv_status vv_volume_make(struct vv_store *store, const struct vv_mark *mark,
                                            struct vv_rollup *rollup, int zstd_level,
                                            struct vv_piece_list *blocks_out,
                                            struct vv_error *error);
/* Who puts blocks. */
struct vv_volumes {
    struct vv_registry *registry;
    struct vv_store *store;
    const struct vv_ledger_rule *rule; /* of marks; NULL: volumes that go are not made again */
    vv_stamp run; /* of marks: the last of what is in the blocks, or when they are repaired */
};

/* Puts n ≥ 1 blocks, in any order, of which the store learns what most readers want of them, and in
 * the same write removes the volumes that have what is written anew, after marking them: all that
 * seals, builds and repairs puts its blocks by it. The marks are to be confirmed. VV_NO_MEMORY;
 * errors of the store. */
VV_MUST_CHECK enum vv_status vv_volumes_put(const struct vv_volumes *volumes,
                                            const struct vv_piece_list *blocks,
                                            struct vv_error *error);

#endif
