/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store has parked, since the part of it that it belongs to is away: it is delivered in
 * slices between jobs, and tentative plans are asked for again. That the part is still away is no
 * failure of the store: what this node knows goes on, and it tries again.
 */
#include "engine/engine_private.h"

#include "base/log.h"

#define LOOK_NS   (200 * VV_MILLISECOND) /* the store says itself when it is time */
#define RETRY_NS  VV_SECOND
#define SETTLE_NS (2 * VV_SECOND) /* between rounds */

static const struct vv_outage deliver_outage = {"deliver_failed", "deliver_again",
                                                "what is parked is delivered again"};
static const struct vv_outage settle_outage = {"settle_failed", "settle_again",
                                               "plans are agreed on again"};

static int64_t now_of(const struct vv_engine *engine)
{
    return engine->clock->monotonic_ns(engine->clock);
}

struct vv_parked vv_engine_parked(struct vv_engine *engine)
{
    struct vv_parked parked = {0};
    if (engine->store->ops->shared) {
        engine->store->ops->shared->parked(engine->store, &parked);
    }
    return parked;
}

bool vv_parking_is_due(const struct vv_engine *engine)
{
    return engine->fleet && now_of(engine) >= engine->parking.deliver_at_ns;
}

static void note_parked(struct vv_engine *engine)
{
    struct vv_parked parked = vv_engine_parked(engine);
    bool is_away = parked.n > 0;
    if (is_away != engine->parking.is_away) {
        vv_log(is_away ? VV_LOG_WARN : VV_LOG_INFO, is_away ? "parked" : "delivered",
               "parked=%llu bytes=%llu %s", (unsigned long long)parked.n,
               (unsigned long long)parked.bytes,
               is_away ? "a part of the store is away: what belongs there waits here"
                       : "the store has all that was parked");
    }
    engine->parking.is_away = is_away;
}

static enum vv_status deliver(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_parking *parking = &engine->parking;
    struct vv_store *store = engine->store;
    struct vv_error own = {0};
    bool more = false;
    enum vv_status status = store->ops->shared->deliver(store, &more, &own);
    vv_outage_note(&parking->deliver_failed, &deliver_outage, status, &own);
    note_parked(engine);
    vv_acks_look_again(engine);
    int64_t wait = status != VV_OK ? RETRY_NS : more ? 0 : LOOK_NS;
    parking->deliver_at_ns = now_of(engine) + wait;
    if (status != VV_OK) {
        return vv_error_set(error, status, "%s", own.message);
    }
    return more ? VV_OK : VV_DONE;
}

static enum vv_status settle(struct vv_engine *engine, bool *failed_out, struct vv_error *error)
{
    struct vv_parking *parking = &engine->parking;
    struct vv_error own = {0};
    *failed_out = false;
    bool is_urgent = vv_fleet_has_told_moves(engine->fleet); /* readers wait */
    if (!engine->manual && !is_urgent && now_of(engine) < parking->settle_at_ns) {
        return VV_DONE;
    }
    bool is_current =
        vv_fleet_has_heard_all(engine->fleet, vv_settings_hearing_ns(&engine->settings));
    if (!is_current && !vv_fleet_has_moves(engine->fleet)) {
        return VV_DONE; /* others may have told what follows a plan */
    }
    enum vv_status status = vv_fleet_settle(engine->fleet, is_current, failed_out, &own);
    bool worked = status == VV_OK || status == VV_DONE;
    vv_outage_note(&parking->settle_failed, &settle_outage, worked ? VV_OK : status, &own);
    parking->settle_at_ns = now_of(engine) + (status == VV_OK ? 0 : SETTLE_NS);
    return worked ? status : vv_error_set(error, status, "%s", own.message);
}

enum vv_status vv_parking_step(struct vv_engine *engine, bool *failed_out, struct vv_error *error)
{
    *failed_out = false;
    if (!engine->fleet) {
        return VV_DONE;
    }
    enum vv_status settled = settle(engine, failed_out, error);
    if (*failed_out) {
        return settled;
    }
    enum vv_status delivered = deliver(engine, error);
    return delivered == VV_DONE ? settled : delivered;
}
