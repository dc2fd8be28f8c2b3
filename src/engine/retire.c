/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When markers of deletion may go: when nothing that they hide can come back.
 *
 * What they hide in the store is gone when the retention has passed their range twice: by then it
 * is expired and freed. Where the retention is for ever, they stay. Beside other nodes, what was
 * accepted before a marker may also be in a journal, or parked: each node tells up to when all that
 * it has acknowledged is in the store, so a marker stays until all of them, those that are gone
 * too, have told a time a day behind it. A node that never comes back is taken out of the table of
 * nodes.
 */
#include "engine/engine_private.h"
#include "registry/shared.h"

#define STAMPS_NS VV_DAY /* that a stamp may differ from when its batch was acknowledged */

/* Markers of the source that end at or before this can go; VV_TIME_MIN: none. */
static int64_t retired_before(struct vv_engine *engine, uint32_t source)
{
    uint32_t tenant = vv_registry_source_tenant(engine->registry, source);
    int64_t retention = vv_registry_longest_retention(engine->registry, tenant);
    struct vv_plans plans = vv_registry_source_plans(engine->registry, source);
    int64_t bucket = 0;
    for (size_t i = 0; i < plans.n; i++) {
        bucket = plans.plans[i].bucket_ns > bucket ? plans.plans[i].bucket_ns : bucket;
    }
    int64_t now = engine->clock->wall_ns(engine->clock);
    bool passes = retention > 0 && retention < INT64_MAX / 4 &&
                  now > VV_TIME_MIN / 2 + 2 * retention + bucket + VV_DAY;
    return passes ? now - 2 * retention - bucket - VV_DAY : VV_TIME_MIN;
}

/* No journal has anything with a stamp below; 0: that is not known. */
static vv_stamp stored_until(struct vv_engine *engine)
{
    if (!engine->fleet) {
        return UINT64_MAX;
    }
    int64_t until = vv_engine_flushed_until(engine);
    struct vv_peers_summary peers = vv_engine_sum_peers(engine);
    for (size_t i = 0; i < VV_REGIONS_MAX; i++) {
        until = peers.flushed_until_ns[i] < until ? peers.flushed_until_ns[i] : until;
    }
    return until > STAMPS_NS ? vv_stamp_make((uint64_t)(until - STAMPS_NS) / 1000, 0) : 0;
}

enum vv_status vv_retire_markers(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    unsigned lacks = engine->fleet ? 0 : VV_MARKER_UNSWEPT; /* tiers may have it still */
    vv_stamp until = stored_until(engine);
    uint32_t source = vv_deletions_next(engine->deletions, 0, 0);
    while (source != UINT32_MAX && status == VV_OK) {
        int64_t before = retired_before(engine, source);
        if (before > VV_TIME_MIN &&
            vv_deletions_retire(engine->deletions, source, before, until, lacks) > 0) {
            status = vv_sweep_put_record(engine, source, error);
        }
        source = vv_deletions_next(engine->deletions, source + 1, 0);
    }
    return status == VV_OK ? vv_engine_confirm(engine, error) : status;
}

enum vv_status vv_sweep_put_record(struct vv_engine *engine, uint32_t source,
                                   struct vv_error *error)
{
    struct vv_store *store = engine->store;
    struct vv_buffer value = {0};
    uint8_t bytes[4];
    vv_registry_key(source, bytes);
    struct vv_str key = {(const char *)bytes, sizeof bytes};
    bool has = vv_deletions_encode(engine->deletions, source, &value);
    enum vv_status status = vv_buffer_status(&value);
    if (status != VV_OK) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory while sweeping");
    } else if (has) {
        status = store->ops->put_meta(store, VV_META_DELETION, key,
                                      (struct vv_str){(const char *)value.data, value.size}, error);
    } else {
        status = store->ops->remove_meta(store, VV_META_DELETION, key, error);
    }
    vv_buffer_deinit(&value);
    return status;
}
