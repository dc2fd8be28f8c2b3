/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The storage thread: the only one that changes the store. Jobs come first, so that the head stays
 * small; between them it delivers what is parked and seals, in slices, expires what is over, and
 * looks at the free space.
 */
#include "engine/engine_private.h"

#include "base/log.h"
#include "registry/shared.h"

#include <stdlib.h>

#define STOP_DELIVERY_NS (2 * VV_SECOND)
#define RETRY_FIRST_NS   (250 * VV_MILLISECOND)
#define RETRY_LAST_NS    (5 * VV_SECOND) /* an attempt costs little */

int64_t vv_storage_now(struct vv_engine *engine)
{
    return engine->clock->monotonic_ns(engine->clock);
}

static void log_failure(const char *event, enum vv_status status, const struct vv_error *error)
{
    char text[600];
    vv_log(VV_LOG_ERROR, event, "status=%s message=%s", vv_status_name(status),
           vv_log_quote(error->message, strlen(error->message), text, sizeof text));
}

/* ---- failures of the store ---- */

void vv_storage_failed(struct vv_engine *engine, const char *event, enum vv_status status,
                       const struct vv_error *error)
{
    log_failure(event, status, error);
    int64_t wait = engine->retry_wait_ns ? engine->retry_wait_ns * 2 : RETRY_FIRST_NS;
    engine->retry_wait_ns = wait < RETRY_LAST_NS ? wait : RETRY_LAST_NS;
    engine->retry_at_ns = vv_storage_now(engine) + engine->retry_wait_ns;
    atomic_store(&engine->store_failed, true);
    vv_open_units_clear(engine->open_units);
    engine->sweep.active = false; /* begins anew: recovering forgets the marks that it has put */
    engine->sweep.next_source = 0;
    pthread_mutex_lock(&engine->lock);
    pthread_cond_broadcast(&engine->waiters_wake); /* who waits for a flush learns of it */
    pthread_mutex_unlock(&engine->lock);
}

/* What the last process had noted comes before anything else is written. */
static enum vv_status finish_replacing(struct vv_engine *engine, struct vv_error *error)
{
    if (!engine->replace_is_noted) {
        return VV_OK;
    }
    enum vv_status status = vv_replace_finish(engine, error);
    if (status == VV_OK) {
        engine->replace_is_noted = false;
    } else {
        vv_storage_failed(engine, "replace_failed", status, error);
    }
    return status;
}

enum vv_status vv_storage_ensure(struct vv_engine *engine, struct vv_error *error)
{
    if (!atomic_load(&engine->store_failed)) {
        return finish_replacing(engine, error);
    }
    if (vv_storage_now(engine) < engine->retry_at_ns) {
        return vv_error_set(error, VV_OVERLOAD, "the store failed; it is tried again soon");
    }
    enum vv_status status = engine->store->ops->recover(engine->store, error);
    if (status == VV_OK && engine->fleet) {
        status = vv_fleet_tell_again(engine->fleet, error);
    }
    if (status == VV_OK) {
        status = vv_replace_finish(engine, error);
    }
    if (status != VV_OK) {
        vv_storage_failed(engine, "store_recover_failed", status, error);
        return status;
    }
    engine->replace_is_noted = false;
    vv_log(VV_LOG_INFO, "store_recovered", "wait_ms=%lld",
           (long long)(engine->retry_wait_ns / VV_MILLISECOND));
    atomic_store(&engine->store_failed, false);
    return VV_OK;
}

/* A class may be known by its name only, and so are its spaces then: not how long they are kept. */
static bool is_told(struct vv_registry *registry, uint32_t tenant)
{
    return vv_registry_class_is_told(registry, vv_registry_place_of(registry, tenant));
}

/* ---- retentions ---- */

/* A shared store ends what it holds by itself. */
int64_t vv_storage_kept_ns(const struct vv_engine *engine, uint32_t number)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    return vv_registry_kept(engine->registry, number, now);
}

enum vv_status vv_storage_tell_retentions(struct vv_engine *engine, struct vv_error *error)
{
    uint32_t tenants = vv_registry_tenant_count(engine->registry);
    if (tenants > engine->n_retentions) {
        int64_t *bigger = realloc(engine->retentions, tenants * sizeof *bigger);
        if (!bigger) {
            return vv_error_set(error, VV_NO_MEMORY, "out of memory");
        }
        for (uint32_t i = engine->n_retentions; i < tenants; i++) {
            bigger[i] = -1;
        }
        engine->retentions = bigger;
        engine->n_retentions = tenants;
    }
    for (uint32_t i = 0; i < tenants; i++) {
        int64_t retention = vv_storage_kept_ns(engine, i);
        if (retention == engine->retentions[i] ||
            (engine->fleet && !is_told(engine->registry, i))) {
            continue;
        }
        struct vv_store *store = engine->store;
        enum vv_status status = store->ops->set_retention(store, i, retention, error);
        if (status != VV_OK) {
            return status;
        }
        engine->retentions[i] = retention;
        engine->expire_at_ns =
            vv_storage_now(engine); /* which also notes what is whole from now on */
    }
    return VV_OK;
}

/* ---- history ---- */

void vv_storage_spend_on_history(struct vv_engine *engine, enum vv_history_work work,
                                 int64_t spent_ns)
{
    int64_t now = vv_storage_now(engine);
    pthread_mutex_lock(&engine->lock);
    vv_history_spend(&engine->history, work, now, spent_ns);
    pthread_mutex_unlock(&engine->lock);
}

/* ---- jobs ---- */

static void finish_job(struct vv_engine *engine, struct vv_job *job)
{
    struct vv_error error = {0};
    if (job->generation) {
        vv_head_drop(engine->head, job->generation);
    }
    enum vv_status status = vv_journal_release(engine->journal, job->position, &error);
    atomic_store(&engine->journal_full, false); /* as far as is known */
    if (status != VV_OK) { /* harmless: replay skips what the store has, the next release retries */
        log_failure("journal_release_failed", status, &error);
    }
    pthread_mutex_lock(&engine->lock);
    engine->job_first = job->next;
    engine->job_last = engine->job_first ? engine->job_last : NULL;
    engine->flush_done = job->ticket;
    engine->confirmed_stamp = job->stamp;
    if (atomic_load(&engine->lives_turn) % 2 == 1) { /* late points wait for what comes next */
        engine->expire_at_ns = vv_storage_now(engine);
    }
    pthread_cond_broadcast(&engine->waiters_wake);
    pthread_cond_signal(&engine->committer_wakes); /* who waits for the store is answered there */
    pthread_mutex_unlock(&engine->lock);
    vv_job_destroy(job);
}

/* History's part of a flush delays further history. Where the store is elsewhere the time goes into
 * waiting for it, which takes nothing from live data. */
static void charge_history(struct vv_engine *engine, const struct vv_job *job, int64_t spent_ns)
{
    if (job->history_points > 0 && !engine->store->ops->shared) {
        double part = (double)job->history_points / (double)job->points;
        vv_storage_spend_on_history(engine, VV_HISTORY_WRITES, (int64_t)(part * (double)spent_ns));
    }
}

enum vv_status vv_storage_job(struct vv_engine *engine, struct vv_error *error)
{
    pthread_mutex_lock(&engine->lock);
    struct vv_job *job = engine->job_first;
    pthread_mutex_unlock(&engine->lock);
    if (!job) {
        return VV_DONE;
    }
    enum vv_status status = vv_storage_ensure(engine, error);
    if (status != VV_OK) {
        return status;
    }
    int64_t start = vv_storage_now(engine);
    (void)!vv_learn_if_old(engine, NULL); /* what must be known of plans is looked at later */
    status = vv_job_store(engine, job, error);
    if (status != VV_OK) {
        atomic_fetch_add(&engine->counters.flush_failures, 1);
        vv_storage_failed(engine, "flush_failed", status, error);
        return status;
    }
    engine->retry_wait_ns = 0;
    engine->stored_run = job->run;
    engine->seal_unconfirmed = false; /* the job's confirm covered it */
    int64_t spent_ns = vv_storage_now(engine) - start;
    vv_share_earn(&engine->seal_share, spent_ns);
    charge_history(engine, job, spent_ns);
    vv_histogram_add_duration(&engine->counters.flush_duration, spent_ns);
    atomic_fetch_add(&engine->counters.flushes, 1);
    finish_job(engine, job);
    engine->beat_at_ns = vv_storage_now(engine); /* others see it, and may wait for it */
    return VV_OK;
}

/* ---- space ---- */

static void look_at_space(struct vv_engine *engine)
{
    if (vv_storage_now(engine) < engine->space_at_ns) {
        return;
    }
    engine->space_at_ns = vv_storage_now(engine) + VV_SECOND;
    uint64_t free_bytes;
    uint64_t total;
    struct vv_error error = {0};
    enum vv_status status = engine->disk->ops->free_bytes(engine->disk, engine->settings.data,
                                                          &free_bytes, &total, &error);
    if (status != VV_OK) {
        log_failure("free_space_unknown", status, &error);
        return;
    }
    bool reached = free_bytes < (uint64_t)engine->settings.disk_reserve_bytes;
    if (reached != atomic_load(&engine->reserve_reached)) {
        vv_log(reached ? VV_LOG_ERROR : VV_LOG_INFO,
               reached ? "disk_reserve_reached" : "disk_reserve_free_again",
               "free_bytes=%llu reserve_bytes=%lld", (unsigned long long)free_bytes,
               (long long)engine->settings.disk_reserve_bytes);
        atomic_store(&engine->reserve_reached, reached);
    }
}

/* ---- other nodes ---- */

enum vv_status vv_storage_learn(struct vv_engine *engine, struct vv_error *error)
{
    bool failed = false;
    enum vv_status status = vv_storage_ensure(engine, error);
    if (status == VV_OK) {
        status = vv_learning_step(engine, &failed, error);
    }
    if (failed) {
        vv_storage_failed(engine, "learnt_not_kept", status, error);
    }
    return status;
}

static void learn_when_due(struct vv_engine *engine)
{
    struct vv_error error = {0};
    if (vv_learning_is_due(engine)) {
        (void)!vv_storage_learn(engine, &error); /* tried again, and logged by it */
    }
}

enum vv_status vv_storage_beat(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = vv_storage_ensure(engine, error);
    return status == VV_OK ? vv_beat(engine, error) : status;
}

static void beat_when_due(struct vv_engine *engine)
{
    struct vv_error error = {0};
    if (vv_beat_is_due(engine)) {
        (void)!vv_storage_beat(engine, &error); /* tried again, and logged by it */
    }
}

/* ---- plans ---- */

enum vv_status vv_storage_plans(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = vv_storage_ensure(engine, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_plans_step(engine, error);
    if (status != VV_OK && status != VV_DONE) {
        vv_storage_failed(engine, "plan_change_failed", status, error);
    }
    return status;
}

/* ---- what is deleted ---- */

enum vv_status vv_storage_sweep(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = vv_storage_ensure(engine, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_sweep_step(engine, error);
    bool waits = status == VV_OVERLOAD && engine->store->ops->shared;
    if (status != VV_OK && status != VV_DONE && !waits) {
        vv_storage_failed(engine, "sweep_failed", status, error);
    }
    return status;
}

static void sweep_when_due(struct vv_engine *engine)
{
    struct vv_error error = {0};
    if (vv_sweep_is_due(engine)) {
        (void)!vv_storage_sweep(engine, &error); /* tried again, and logged by it */
    }
}

/* ---- replacing what is frozen ---- */

enum vv_status vv_storage_replace(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = vv_storage_ensure(engine, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_replace_step(engine, error);
    if (status != VV_OK && status != VV_DONE) {
        vv_storage_failed(engine, "replace_failed", status, error);
    }
    return status;
}

/* ---- rerolling ---- */

enum vv_status vv_storage_reroll(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = vv_reroll_is_due(engine) ? vv_storage_ensure(engine, error) : VV_DONE;
    if (status != VV_OK) {
        return status;
    }
    bool is_noted = vv_whole_is_noted(engine); /* else all of a new tenant may have gone */
    if (!is_noted && vv_storage_waits_for_replayed(engine)) {
        return VV_DONE; /* it is flushed within a minute */
    }
    status = is_noted ? VV_OK : vv_storage_note_whole(engine, error);
    if (status == VV_OK) {
        status = vv_reroll_step(engine, error);
    }
    if (status != VV_OK && status != VV_DONE) {
        vv_storage_failed(engine, "reroll_failed", status, error);
    }
    return status;
}

/* ---- what is parked ---- */

enum vv_status vv_storage_deliver(struct vv_engine *engine, struct vv_error *error)
{
    bool failed = false;
    enum vv_status status = vv_storage_ensure(engine, error);
    if (status == VV_OK) {
        status = vv_parking_step(engine, &failed, error);
    }
    if (failed) {
        vv_storage_failed(engine, "plans_not_settled", status, error);
    }
    return status;
}

static void deliver_when_due(struct vv_engine *engine)
{
    struct vv_error error = {0};
    if (vv_parking_is_due(engine)) {
        (void)!vv_storage_deliver(engine, &error); /* tried again, and logged by it */
    }
}

/* Stopping: what can be delivered soon is. */
static void deliver_last(struct vv_engine *engine)
{
    struct vv_error error = {0};
    int64_t start = vv_storage_now(engine);
    while (engine->fleet && vv_storage_deliver(engine, &error) == VV_OK &&
           vv_storage_now(engine) - start < STOP_DELIVERY_NS) {
    }
}

/* ---- the thread ---- */

/* Waits for a job, a request or the next tick. Returns false when the thread shall end. */
static bool wait_for_storage_work(struct vv_engine *engine, bool busy)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 200 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&engine->lock);
    bool requested = engine->seal_all_ticket || vv_storage_seal_is_requested(engine);
    bool finished = engine->committed && !engine->job_first;
    bool blocked = atomic_load(&engine->store_failed); /* only time helps */
    bool is_asked =
        (requested && !engine->learn_failed) || engine->plan_request || engine->replace_request;
    if (!finished && !busy && (blocked || (!engine->job_first && !is_asked))) {
        pthread_cond_timedwait(&engine->storage_wakes, &engine->lock, &until);
    }
    pthread_mutex_unlock(&engine->lock);
    return !finished;
}

static void background_work(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool stopping = engine->stopping;
    pthread_mutex_unlock(&engine->lock);
    look_at_space(engine);
    struct vv_error error = {0};
    if (stopping || vv_storage_ensure(engine, &error) != VV_OK) {
        return; /* a store that failed is tried again even when nothing waits for it */
    }
    learn_when_due(engine);
    deliver_when_due(engine);
    beat_when_due(engine);
    (void)!vv_storage_plans(engine, &error);   /* who waits is told, and it is logged */
    (void)!vv_storage_replace(engine, &error); /* likewise */
    sweep_when_due(engine);
    vv_storage_seal_on_request(engine);
    vv_storage_seal_when_due(engine);
    if (vv_storage_retention_changed(engine)) {
        engine->expire_at_ns = vv_storage_now(engine);
    }
    vv_storage_expire_when_due(engine);
    (void)!vv_storage_reroll(engine, &error); /* tried again, and logged by it */
}

void *vv_storage_thread(void *context)
{
    struct vv_engine *engine = context;
    pthread_setname_np(pthread_self(), "storage");
    bool busy = true;
    bool give_up = false;
    while (!give_up && wait_for_storage_work(engine, busy)) {
        struct vv_error error = {0};
        vv_registry_note_time(engine->registry, engine->clock->wall_ns(engine->clock));
        enum vv_status status = vv_storage_job(engine, &error);
        pthread_mutex_lock(&engine->lock);
        give_up = status != VV_OK && status != VV_DONE && engine->committed;
        pthread_mutex_unlock(&engine->lock);
        if (give_up) { /* stopping while the store fails: the journal has it all */
            vv_log(VV_LOG_WARN, "stopped_without_flush", "status=%s", vv_status_name(status));
        }
        background_work(engine);
        bool more = vv_storage_now(engine) >= engine->seal_at_ns || vv_parking_is_due(engine) ||
                    vv_sweep_goes_on(engine) || vv_reroll_is_due(engine);
        busy = status == VV_OK || (more && !atomic_load(&engine->store_failed));
    }
    struct vv_error error = {0};
    if (!give_up) { /* all is flushed: it holds as long as this node is away */
        deliver_last(engine);
        (void)!vv_storage_beat(engine, &error);
    }
    return NULL;
}
