/* SPDX-License-Identifier: Apache-2.0 */
/* The storage thread's expiry: what is over goes, unless something waits that was due before. */
#include "engine/lives.h"

#include "base/log.h"
#include "registry/shared.h"
#include "seal/gone.h"
#include "tier/unit.h"

#include <stdlib.h>

#define EXPIRE_WORK_BYTES (16u << 20)

/* Since when the oldest mark that is long overdue could have been sealed. */
struct backlog {
    struct vv_engine *engine;
    int64_t since_ns;
};

/* Whether something would go, now or soon, that has to be built of: of a raw span that waits, or of
 * what a unit is built of that waits, or lies around what does. */
static bool is_at_risk(struct vv_engine *engine, const struct vv_mark *mark)
{
    struct vv_registry *registry = engine->registry;
    uint32_t number = mark->key.partition.tenant;
    uint32_t place = vv_registry_place_of(registry, number);
    enum vv_space space;
    bool is_tier = vv_registry_space_of(registry, number, &place, &space);
    struct vv_tiers tiers = vv_registry_tiers_built(registry, place);
    if (!tiers.any) {
        return false;
    }
    int64_t now = engine->clock->wall_ns(engine->clock);
    struct vv_retentions kept = vv_lives_by_clock(engine, place, now);
    struct vv_reroll_bounds before = vv_whole_bounds(engine, place);
    before.raw_from = vv_whole_for_queries(engine, place);
    struct vv_reroll_bounds after = before;
    vv_lives_limit(&after, &kept, now + VV_TIERS_SLACK_NS);
    int64_t start = mark->key.span_start;
    bool is = !is_tier && start < after.raw_from;
    for (int i = is_tier ? (int)space : 0; i < VV_SPACES && !is; i++) {
        enum vv_space tier = (enum vv_space)i;
        int64_t from = vv_gone_whole_below(&tiers, &after, tier);
        is = tiers.spaces[tier] != VV_REGISTRY_NONE &&
             from > vv_gone_whole_below(&tiers, &before, tier) &&
             vv_time_floor(start, vv_tier_unit_ns_max(tier)) < from;
    }
    return is;
}

/* History that is loaded was due long before it came: it waits since then, unless what it is built
 * of would go. Nothing waits for volumes. */
static enum vv_status look_at_mark(void *context, const struct vv_mark *mark)
{
    struct backlog *backlog = context;
    int64_t run_ns = (int64_t)vv_stamp_clock_us(mark->run) * VV_MICROSECOND;
    bool is_of_due = mark->due_ns > run_ns || is_at_risk(backlog->engine, mark);
    int64_t since_ns = is_of_due ? mark->due_ns : run_ns;
    if (since_ns < backlog->since_ns && !vv_volume_is_marked(backlog->engine->registry, mark) &&
        !vv_sealer_is_damaged(backlog->engine->sealer, mark)) {
        backlog->since_ns = since_ns;
    }
    return VV_OK;
}

static void note_held(struct vv_engine *engine, int64_t held_ns)
{
    vv_registry_note_held(engine->registry, held_ns);
    bool was_long = atomic_exchange(&engine->expiry_held_ns, held_ns) > VV_TIERS_SLACK_NS;
    bool is_long = held_ns > VV_TIERS_SLACK_NS;
    if (was_long != is_long) {
        char text[VV_TIME_TEXT_SIZE];
        vv_duration_format(held_ns, text);
        vv_log(is_long ? VV_LOG_WARN : VV_LOG_INFO, is_long ? "expiry_held" : "expiry_goes_on",
               "held=%s message=\"%s\"", text,
               is_long ? "data stays beyond its retention until what waits has been sealed, and "
                         "what is deleted has been swept"
                       : "all that was due long since has been sealed and swept");
    }
}

/* Since when something is deleted that is not swept. */
static void note_unswept(void *context, uint32_t source, const struct vv_marker *marker)
{
    int64_t *since_ns = context;
    int64_t ordered_ns = (int64_t)vv_stamp_clock_us(marker->stamp) * VV_MICROSECOND;
    (void)source;
    *since_ns = ordered_ns < *since_ns ? ordered_ns : *since_ns;
}

enum vv_status vv_storage_expiry_time(struct vv_engine *engine, int64_t *now_out,
                                      struct vv_error *error)
{
    struct vv_store *store = engine->store;
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t overdue = now - VV_TIERS_SLACK_NS;
    struct backlog backlog = {engine, INT64_MAX};
    enum vv_status status = VV_OK;
    if (!store->ops->shared) { /* there what is not sealed is written again */
        status = store->ops->scan_marks(store, overdue, NULL, look_at_mark, &backlog, error);
    }
    bool is_held = backlog.since_ns < overdue;
    *now_out = is_held ? backlog.since_ns : now;
    if (!store->ops->shared) {
        vv_deletions_visit(engine->deletions, VV_MARKER_UNSWEPT, note_unswept, now_out);
    }
    if (status == VV_OK) {
        note_held(engine, now - *now_out);
    }
    return status;
}

enum vv_status vv_storage_note_whole(struct vv_engine *engine, struct vv_error *error)
{
    int64_t now;
    enum vv_status status = vv_storage_expiry_time(engine, &now, error);
    return status == VV_OK ? vv_whole_note(engine, now, error) : status;
}

/* ---- after a start ---- */

/* A machine that was suspended is like one that was off: what is in memory is as if replayed. */
static void note_jump(struct vv_engine *engine, int64_t now)
{
    int64_t apart_ns = engine->clock->wall_ns(engine->clock) - now;
    if (apart_ns - engine->clocks_apart_ns > VV_HOUR) {
        vv_engine_flush_before(engine);
        engine->replay_is_flushed = false;
        engine->replay_until_ns = 0;
    }
    engine->clocks_apart_ns = apart_ns;
}

/* What was replayed may have been taken long ago, when the node was away for long: before it is
 * flushed nothing tells what its units are built of, and that must not go. For a day at most. */
bool vv_storage_waits_for_replayed(struct vv_engine *engine)
{
    int64_t now = vv_storage_now(engine);
    if (engine->fleet) {
        return false;
    }
    note_jump(engine, now);
    if (engine->replay_is_flushed) {
        return false;
    }
    if (engine->replay_until_ns == 0) {
        engine->replay_until_ns = now + VV_DAY;
    }
    engine->replay_is_flushed = vv_lives_are_flushed(engine) || now > engine->replay_until_ns;
    return !engine->replay_is_flushed;
}

/* ---- expiring ---- */

enum vv_status vv_storage_expire(struct vv_engine *engine, bool *more_out, struct vv_error *error)
{
    *more_out = false;
    enum vv_status status = vv_storage_ensure(engine, error);
    if (status != VV_OK) {
        return status;
    }
    pthread_mutex_lock(&engine->lock);
    uint64_t round = ++engine->expire_begun;
    pthread_mutex_unlock(&engine->lock);
    if (vv_storage_waits_for_replayed(engine)) {
        return VV_OK;
    }
    int64_t now;
    status = vv_storage_expiry_time(engine, &now, error);
    if (status == VV_OK) {
        status = vv_lives_end(engine, error);
    }
    if (status == VV_OK) {
        status = vv_storage_tell_retentions(engine, error);
    }
    if (status == VV_OK) {
        status = vv_whole_note(engine, now, error);
    }
    if (status == VV_OK) {
        struct vv_store *store = engine->store;
        status = store->ops->expire(store, now, EXPIRE_WORK_BYTES, more_out, error);
    }
    if (status != VV_OK) {
        vv_storage_failed(engine, "expire_failed", status, error);
    } else if (!*more_out) {
        pthread_mutex_lock(&engine->lock);
        engine->expire_done = round;
        pthread_mutex_unlock(&engine->lock);
    }
    return status;
}

void vv_storage_expire_when_due(struct vv_engine *engine)
{
    if (vv_storage_now(engine) < engine->expire_at_ns) {
        return;
    }
    struct vv_error error = {0};
    bool more;
    enum vv_status status = vv_storage_expire(engine, &more, &error);
    int64_t wait = status == VV_OK && more ? 0 : engine->settings.expire_interval_ns;
    engine->expire_at_ns = vv_storage_now(engine) + wait;
}

bool vv_storage_retention_changed(struct vv_engine *engine)
{
    uint32_t tenants = vv_registry_tenant_count(engine->registry);
    for (uint32_t i = 0; i < tenants; i++) {
        if (i >= engine->n_retentions || engine->retentions[i] != vv_storage_kept_ns(engine, i)) {
            return true;
        }
    }
    return false;
}
