/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When markers of deletion may go: when nothing that they hide can come back.
 *
 * What they hide in the store is gone when the retention has passed their range twice: by then it
 * is expired and freed. Where the retention is for ever, they stay. Alone, that counts in the time
 * of expiry, which what is not built into tiers yet holds up, and not before all that was replayed
 * is flushed: a node that was away for long finds hidden points in its journal. Beside other nodes,
 * what was accepted before a marker may also be in a journal, or parked: each node tells up to when
 * all that it has acknowledged is in the store, so a marker stays until all of them, those that are
 * gone too, have told a time a day behind it. A node that never comes back is taken out of the
 * table of nodes. There a tier's record may still have it as long as its unit waits to be built, so
 * of a tenant with tiers it stays until it is swept, and for a month.
 */
#include "engine/engine_private.h"
#include "registry/shared.h"

#define STAMPS_NS VV_DAY        /* that a stamp may differ from when its batch was acknowledged */
#define BUILT_NS  (30 * VV_DAY) /* after which what a deletion made stale has been built */

#define LIFE_NS VV_DAY /* that what has ended may still be there */

/* Of all points of the tenant; alone with what lives on unseen, which is built of. */
static int64_t longest_retention(struct vv_engine *engine, uint32_t tenant, int64_t now)
{
    struct vv_registry *registry = engine->registry;
    uint32_t places[VV_PLACES_MAX];
    size_t n = engine->fleet ? 0 : vv_registry_places(registry, tenant, places);
    int64_t longest_ns = vv_registry_longest_retention(registry, tenant);
    for (size_t i = 0; i < n; i++) {
        longest_ns =
            vv_retention_longer(longest_ns, vv_registry_life(registry, places[i], now - LIFE_NS));
    }
    return longest_ns;
}

/* Markers of the source that end at or before this can go; VV_TIME_MIN: none. */
static int64_t retired_before(struct vv_engine *engine, uint32_t source, int64_t now)
{
    uint32_t tenant = vv_registry_source_tenant(engine->registry, source);
    struct vv_plans plans = vv_registry_source_plans(engine->registry, source);
    int64_t bucket = 0;
    for (size_t i = 0; i < plans.n; i++) {
        bucket = plans.plans[i].bucket_ns > bucket ? plans.plans[i].bucket_ns : bucket;
    }
    int64_t retention = longest_retention(engine, tenant, now);
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

static bool has_tiers(struct vv_engine *engine, uint32_t source)
{
    uint32_t places[VV_PLACES_MAX];
    uint32_t tenant = vv_registry_source_tenant(engine->registry, source);
    size_t n = vv_registry_places(engine->registry, tenant, places);
    bool any = false;
    for (size_t i = 0; i < n && !any; i++) {
        any = vv_registry_tiers(engine->registry, places[i]).any;
    }
    return any;
}

/* Those of the source that end at `before` or earlier and may go; how many went. */
static size_t retire(struct vv_engine *engine, uint32_t source, int64_t before, vv_stamp until)
{
    bool is_built_later = engine->fleet && has_tiers(engine, source);
    unsigned lacks = !engine->fleet || is_built_later ? VV_MARKER_UNSWEPT : 0;
    int64_t built = engine->clock->wall_ns(engine->clock) - BUILT_NS;
    if (is_built_later) {
        vv_stamp wanted = built > 0 ? vv_stamp_make((uint64_t)built / 1000, 0) : 0;
        until = wanted < until ? wanted : until;
    }
    return vv_deletions_retire(engine->deletions, source, before, until, lacks);
}

enum vv_status vv_retire_markers(struct vv_engine *engine, struct vv_error *error)
{
    int64_t now;
    enum vv_status status = vv_storage_expiry_time(engine, &now, error);
    vv_stamp until = stored_until(engine);
    uint32_t source = vv_deletions_next(engine->deletions, 0, 0);
    while (source != UINT32_MAX && status == VV_OK) {
        int64_t before = retired_before(engine, source, now);
        if (before > VV_TIME_MIN && retire(engine, source, before, until) > 0) {
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
