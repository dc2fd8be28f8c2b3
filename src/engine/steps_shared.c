/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is deleted of what only tiers hold, where nodes share the store: whoever sweeps makes the
 * units stale that have something there, and all above them, the finest tier first, as if a point
 * had come late: one above that has no record yet may be in the making of what was read before.
 * They are only listed here, those of a group of sources together (sweep_group.c): what is finer
 * lands before what is coarser, since that is built of it, and others must see it first. Who
 * owns them takes the steps out when it builds them, under its stamp (seal/pyramid_apply.c). So
 * neither a stale sealer nor a second sweep does harm.
 */
#include "engine/engine_private.h"
#include "registry/shared.h"
#include "seal/stale.h"

struct listing {
    struct vv_engine *engine;
    const struct vv_marker *marker;
    struct vv_stale *stale;
    enum vv_space tier;
    int64_t to; /* what is deleted later is not frozen */
    struct vv_error *error;
};

/* One that can't be read is stale, too: who can read it builds it. */
static enum vv_status list_unit(void *context, const struct vv_piece *piece)
{
    struct listing *listing = context;
    struct vv_unit_record record;
    if (piece->kind != VV_PIECE_BLOCK || piece->part > 0 || piece->bytes.size == 0) {
        return VV_OK;
    }
    enum vv_status status = vv_unit_read(piece->bytes, &record, NULL);
    int64_t time = piece->key.span_start;
    struct vv_unit unit = {time, time + vv_tier_unit_ns_max(listing->tier)};
    if (!vv_sweep_passes_over(listing->engine, status)) {
        unit = record.unit;
    }
    if (unit.from >= listing->to || unit.to <= listing->marker->from) {
        return VV_OK;
    }
    return vv_stale_range(listing->stale, time, time + 1, INT64_MAX, listing->error);
}

/* A tier may be switched off at any moment, so these were looked up once. */
enum vv_status vv_steps_list_stale(struct vv_engine *engine, const struct vv_marker *marker,
                                   const struct vv_tiers *tiers, int64_t bucket, int64_t to,
                                   struct vv_error *error)
{
    struct vv_sweep *sweep = &engine->sweep;
    const struct vv_stale_options options = {
        .registry = engine->registry,
        .store = engine->store,
        .ledger = vv_engine_ledger_rule(&engine->settings),
    };
    enum vv_space tier = (enum vv_space)sweep->tier;
    struct vv_stale stale;
    vv_stale_begin(&stale, &options, sweep->stay.place, sweep->source, sweep->measurement,
                   vv_sweep_stale_run(engine, marker));
    stale.tiers = *tiers;
    stale.later = &sweep->group.stale;
    stale.marks_open = true;
    stale.first = tier; /* the finer ones were swept before */
    const struct vv_span_key key =
        vv_unit_key(tier, tiers->spaces[tier], sweep->source, sweep->measurement, bucket);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = sweep->measurement,
                                       .span_from = vv_unit_earliest(tier, marker->from),
                                       .span_to = to};
    struct listing listing = {engine, marker, &stale, tier, to, error};
    enum vv_status status =
        engine->store->ops->read(engine->store, &read, list_unit, &listing, error);
    return status == VV_OK ? vv_sweep_put_much(engine, error) : status;
}
