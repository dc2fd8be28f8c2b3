/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node tells the others of its store: that it lives, and up to when it has flushed.
 *
 * What is told holds for every acknowledgement that there was until then. Each generation, active
 * or in a job, keeps the LEAST wall time at which one of its batches was accepted, noted before the
 * batch is answered and forgotten after the store has confirmed it. Now is read before these are
 * looked at. So whatever is not confirmed either lowers the result to its own time, or is accepted
 * after now was read. A clock that is set back makes later batches lower the time of their
 * generation, and the result is told again at once when it falls below what was told: nothing here
 * takes for granted that time only goes on.
 */
#include "engine/engine_private.h"

static const struct vv_outage beat_outage = {"beat_failed", "beat_again",
                                             "other nodes hear of this one again"};

int64_t vv_beat_flushed_until(struct vv_engine *engine)
{
    int64_t until = engine->clock->wall_ns(engine->clock); /* before looking */
    pthread_mutex_lock(&engine->lock);
    until = engine->accepted_since_ns < until ? engine->accepted_since_ns : until;
    for (const struct vv_job *job = engine->job_first; job; job = job->next) {
        until = job->accepted_since_ns < until ? job->accepted_since_ns : until;
    }
    pthread_mutex_unlock(&engine->lock);
    return until;
}

bool vv_beat_is_due(struct vv_engine *engine)
{
    return engine->store->ops->shared &&
           (engine->clock->monotonic_ns(engine->clock) >= engine->beat_at_ns ||
            vv_beat_flushed_until(engine) < engine->beaten_until_ns);
}

enum vv_status vv_beat(struct vv_engine *engine, struct vv_error *error)
{
    struct vv_store *store = engine->store;
    struct vv_error own = {0};
    if (!store->ops->shared) {
        return VV_DONE;
    }
    engine->beat_at_ns =
        engine->clock->monotonic_ns(engine->clock) + engine->settings.fleet_beat_ns;
    int64_t until = vv_beat_flushed_until(engine);
    if (until == VV_BEAT_UNKNOWN) {
        return VV_DONE; /* what others know from before the restart still holds */
    }
    if (store->ops->shared->set_partial && engine->fleet) {
        store->ops->shared->set_partial(store, vv_fleet_leaves_out(engine->fleet));
    }
    enum vv_status status = store->ops->shared->beat(store, until, &own);
    vv_outage_note(&engine->beat_failed, &beat_outage, status, &own);
    if (status != VV_OK) {
        return vv_error_set(error, status, "%s", own.message);
    }
    engine->beaten_until_ns = until;
    if (vv_engine_parked(engine).n == 0) { /* after `until` was found */
        atomic_store(&engine->whole_until_ns, until);
    }
    return VV_OK;
}
