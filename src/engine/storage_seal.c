/* SPDX-License-Identifier: Apache-2.0 */
/* The storage thread's sealing: in slices, beside jobs, and history in its share of the time. */
#include "engine/engine_private.h"

#define SEAL_SPANS        256
#define SEAL_SPANS_SHARED 512 /* a group costs an agreement for each of its shards */

static const struct vv_outage seal_outage = {"seal_waits", "seal_again", "all spans can be sealed"};

/* How long sealing history has to rest still. */
static int64_t seals_rest_ns(struct vv_engine *engine)
{
    int64_t now = vv_storage_now(engine);
    pthread_mutex_lock(&engine->lock);
    int64_t rest_ns = vv_history_rest_ns(&engine->history, VV_HISTORY_SEALS, now);
    pthread_mutex_unlock(&engine->lock);
    return rest_ns;
}

/* What was removed and retired. */
static enum vv_status confirm_seals(struct vv_engine *engine, struct vv_error *error)
{
    int64_t start = vv_storage_now(engine);
    enum vv_status status = engine->seal_unconfirmed ? vv_engine_confirm(engine, error) : VV_OK;
    if (status != VV_OK) {
        vv_storage_failed(engine, "seal_failed", status, error);
        return status;
    }
    if (engine->seal_unconfirmed && engine->sealed_history) {
        vv_storage_spend_on_history(engine, VV_HISTORY_SEALS, vv_storage_now(engine) - start);
    }
    engine->seal_unconfirmed = false;
    return VV_OK;
}

/* What was due before the time that it returns is history; while that rests, the sealer passes it
 * over. A store that nodes share waits for nobody: its spans have to be sealed before runs expire.
 * Nor does what holds up that something expires. */
static int64_t hold_history(struct vv_engine *engine, bool *is_held_out)
{
    int64_t old_ns = engine->clock->wall_ns(engine->clock) - engine->settings.history_age_ns;
    bool is_alone = !engine->store->ops->shared;
    *is_held_out =
        is_alone && seals_rest_ns(engine) > 0 && atomic_load(&engine->expiry_held_ns) == 0;
    vv_sealer_hold(engine->sealer, *is_held_out ? old_ns : INT64_MIN);
    return is_alone ? old_ns : INT64_MIN;
}

enum vv_status vv_storage_seal(struct vv_engine *engine, vv_stamp until, struct vv_error *error)
{
    enum vv_status status = vv_storage_ensure(engine, error);
    if (status == VV_OK) { /* else it would miss what others have put elsewhere */
        status = vv_learn_if_old(engine, error);
    }
    if (status != VV_OK) {
        return status;
    }
    size_t spans_max = engine->store->ops->shared ? SEAL_SPANS_SHARED : SEAL_SPANS;
    int64_t start = vv_storage_now(engine);
    bool is_held;
    int64_t old_ns = hold_history(engine, &is_held);
    status = vv_sealer_step(engine->sealer, until, spans_max, error);
    if (status == VV_OK) {
        engine->sealed_history = vv_sealer_last_due_ns(engine->sealer) < old_ns;
    }
    if (status == VV_OK && engine->sealed_history) {
        vv_storage_spend_on_history(engine, VV_HISTORY_SEALS, vv_storage_now(engine) - start);
    }
    pthread_mutex_lock(&engine->lock);
    vv_sealer_read_figures(engine->sealer, &engine->seal_figures);
    engine->n_damaged = vv_sealer_read_damaged(engine->sealer, engine->damaged);
    engine->n_kept_units = vv_sealer_kept_units(engine->sealer, engine->kept_units);
    pthread_mutex_unlock(&engine->lock);
    if (status == VV_OK) {
        engine->seal_unconfirmed = true;
        engine->retry_wait_ns = 0;
        return VV_OK;
    }
    if (status == VV_DONE && is_held && engine->sealed_history) {
        return VV_DONE; /* more of it comes after the rest, and one sync does for many groups */
    }
    bool waits = status == VV_OVERLOAD && engine->store->ops->shared;
    if (status == VV_DONE || waits) { /* for a part of the store that is away, the rest is sealed */
        vv_outage_note(&engine->parking.seal_waits, &seal_outage, waits ? status : VV_OK, error);
        enum vv_status confirmed = confirm_seals(engine, error);
        return confirmed == VV_OK ? status : confirmed;
    }
    atomic_fetch_add(&engine->counters.seal_failures, 1);
    vv_storage_failed(engine, "seal_failed", status, error);
    return status;
}

/* Seals for a slice of time; VV_DONE when nothing was left, VV_OVERLOAD when only what waits for a
 * part of the store. */
static enum vv_status seal_slice(struct vv_engine *engine, vv_stamp until)
{
    struct vv_error error = {0};
    int64_t start = vv_storage_now(engine);
    enum vv_status status;
    do {
        status = vv_storage_seal(engine, until, &error);
    } while (status == VV_OK && vv_storage_now(engine) - start < VV_SEAL_SLICE_NS);
    return status;
}

/* Flushes come first: while jobs wait, sealing has a share of the time only. A year of history that
 * is loaded would else take a slice after each of them. */
void vv_storage_seal_when_due(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool job_waits = engine->job_first != NULL;
    pthread_mutex_unlock(&engine->lock);
    int64_t start = vv_storage_now(engine);
    if (start < engine->seal_at_ns || !vv_share_may(&engine->seal_share, job_waits)) {
        return;
    }
    bool more = seal_slice(engine, VV_SEAL_DUE) == VV_OK;
    vv_share_spend(&engine->seal_share, vv_storage_now(engine) - start, job_waits);
    int64_t wait_ns = more ? 0 : engine->settings.seal_interval_ns;
    int64_t rest_ns = seals_rest_ns(engine); /* then history has its turn */
    wait_ns = rest_ns > 0 && rest_ns < wait_ns ? rest_ns : wait_ns;
    engine->seal_at_ns = vv_storage_now(engine) + wait_ns;
}

bool vv_storage_seal_is_requested(const struct vv_engine *engine)
{
    return engine->seal_done != engine->seal_requested && engine->flush_done >= engine->seal_after;
}

/* Serves such a request in slices, so that the head is emptied meanwhile. It takes what was stored
 * when it began: runs that come in meanwhile cannot keep it from ending. */
void vv_storage_seal_on_request(struct vv_engine *engine)
{
    struct vv_error error = {0};
    pthread_mutex_lock(&engine->lock);
    bool begins = !engine->seal_all_ticket && vv_storage_seal_is_requested(engine);
    pthread_mutex_unlock(&engine->lock);
    if (begins && vv_storage_sweep(engine, &error) == VV_OK) {
        return; /* what is deleted is to be sealed, too: there may be more of it */
    }
    pthread_mutex_lock(&engine->lock);
    if (!engine->seal_all_ticket && vv_storage_seal_is_requested(engine)) {
        engine->seal_all_ticket = engine->seal_requested;
        engine->seal_all_until = engine->stored_run;
    }
    pthread_mutex_unlock(&engine->lock);
    enum vv_status status =
        engine->seal_all_ticket ? seal_slice(engine, engine->seal_all_until) : VV_OK;
    if (status != VV_DONE && (status != VV_OVERLOAD || atomic_load(&engine->store_failed))) {
        return;
    }
    pthread_mutex_lock(&engine->lock);
    engine->seal_done = engine->seal_all_ticket;
    engine->seal_given_up = status == VV_OVERLOAD ? engine->seal_done : engine->seal_given_up;
    engine->seal_all_ticket = 0;
    pthread_cond_broadcast(&engine->waiters_wake);
    pthread_mutex_unlock(&engine->lock);
}
