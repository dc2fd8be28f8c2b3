/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From when on a reroll has found, or made, all that tiers of a tenant can have: what they lacked
 * as they were off, or kept for less, they have from then on (whole.c). Only one of all sources and
 * measurements says so. One thread.
 */
#ifndef VV_ENGINE_BUILT_AGAIN_H
#define VV_ENGINE_BUILT_AGAIN_H

#include "registry/registry.h"
#include "seal/reroll.h"

struct vv_engine;
struct vv_deletion_order;

struct vv_built_again {
    bool is_of_all;
    int64_t to;
    size_t n;
    uint32_t places[VV_PLACES_MAX];
    int64_t from[VV_PLACES_MAX][VV_SPACES]; /* units from then on are as they should be */
    /* Where nodes share the store: when each was made longer last, of what was known at first. */
    int64_t longer_from[VV_PLACES_MAX][VV_SPACES];
};

void vv_built_begin(struct vv_engine *engine, const struct vv_deletion_order *order,
                    struct vv_built_again *built_out);
/* What was found of a unit. */
void vv_built_note(struct vv_built_again *built, uint32_t place, enum vv_space tier,
                   const struct vv_reroll_result *result);
/* Behind the last one: notes it, durably, of tiers [first, last]. Errors of the store. */
VV_MUST_CHECK enum vv_status vv_built_end(struct vv_engine *engine,
                                          const struct vv_built_again *built, int first, int last,
                                          struct vv_error *error);

#endif
