/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/built_again.h"

#include "engine/engine_private.h"
#include "engine/lacks.h"
#include "registry/shared.h"

/* Sources that come later have what tiers there are. */
void vv_built_begin(struct vv_engine *engine, const struct vv_deletion_order *order,
                    struct vv_built_again *built_out)
{
    *built_out = (struct vv_built_again){
        .is_of_all =
            order->n_numbers == 0 &&
            order->n_sources == vv_registry_tenant_sources(engine->registry, order->tenant),
        .to = order->to,
    };
    built_out->n = vv_registry_places(engine->registry, order->tenant, built_out->places);
    for (size_t i = 0; i < built_out->n; i++) {
        struct vv_tiers tiers = vv_registry_tiers(engine->registry, built_out->places[i]);
        for (int tier = 0; tier < VV_SPACES; tier++) {
            struct vv_whole whole = vv_registry_whole(engine->registry, tiers.spaces[tier]);
            built_out->from[i][tier] = order->from;
            built_out->longer_from[i][tier] = vv_whole_from(&whole);
        }
    }
}

/* The sealer builds what is open, waits, or was marked, before what it is built of goes. */
static bool is_good(const struct vv_reroll_result *result)
{
    return result->is_repaired || result->verdict == VV_REROLL_NOTHING ||
           result->verdict == VV_REROLL_SAME || result->verdict == VV_REROLL_OPEN ||
           result->verdict == VV_REROLL_WAITING || result->is_marked;
}

void vv_built_note(struct vv_built_again *built, uint32_t place, enum vv_space tier,
                   const struct vv_reroll_result *result)
{
    size_t i = 0;
    while (i < built->n && built->places[i] != place) {
        i++;
    }
    if (i == built->n || is_good(result)) {
        built->is_of_all &= i < built->n;
        return;
    }
    int64_t *from = &built->from[i][tier];
    *from = result->unit.to > *from ? result->unit.to : *from;
}

static enum vv_status end_tier(struct vv_engine *engine, const struct vv_built_again *built,
                               size_t i, int tier, struct vv_error *error)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, built->places[i]);
    uint32_t space = tiers.spaces[tier];
    if (space == VV_REGISTRY_NONE) {
        return VV_OK;
    }
    if (engine->store->ops->shared) {
        return vv_lacks_note_built(engine, space, built->longer_from[i][tier], built->from[i][tier],
                                   built->to);
    }
    return vv_whole_note_built(engine, space, built->from[i][tier], built->to, error);
}

enum vv_status vv_built_end(struct vv_engine *engine, const struct vv_built_again *built, int first,
                            int last, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < built->n && built->is_of_all; i++) {
        for (int tier = first; tier <= last && status == VV_OK; tier++) {
            status = end_tier(engine, built, i, tier, error);
        }
    }
    bool is_told = status == VV_OK && built->is_of_all && engine->fleet;
    return is_told ? vv_engine_confirm(engine, error) : status;
}
