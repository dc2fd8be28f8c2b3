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

#define SEAL_SPANS        256
#define SEAL_SPANS_SHARED 512 /* a group costs an agreement for each of its shards */
#define STOP_DELIVERY_NS  (2 * VV_SECOND)
#define RETRY_FIRST_NS    (250 * VV_MILLISECOND)
#define RETRY_LAST_NS     (5 * VV_SECOND) /* an attempt costs little */
#define EXPIRE_WORK_BYTES (16u << 20)

static int64_t now_of(struct vv_engine *engine)
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

static void note_failure(struct vv_engine *engine, const char *event, enum vv_status status,
                         const struct vv_error *error)
{
    log_failure(event, status, error);
    int64_t wait = engine->retry_wait_ns ? engine->retry_wait_ns * 2 : RETRY_FIRST_NS;
    engine->retry_wait_ns = wait < RETRY_LAST_NS ? wait : RETRY_LAST_NS;
    engine->retry_at_ns = now_of(engine) + engine->retry_wait_ns;
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
        note_failure(engine, "replace_failed", status, error);
    }
    return status;
}

/* VV_OK when the store can be written, as far as is known; VV_OVERLOAD while waiting. */
static enum vv_status ensure_store(struct vv_engine *engine, struct vv_error *error)
{
    if (!atomic_load(&engine->store_failed)) {
        return finish_replacing(engine, error);
    }
    if (now_of(engine) < engine->retry_at_ns) {
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
        note_failure(engine, "store_recover_failed", status, error);
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
        int64_t retention = vv_registry_retention(engine->registry, i);
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
        engine->expire_at_ns = now_of(engine); /* which also notes what is whole from now on */
    }
    return VV_OK;
}

/* ---- history ---- */

static void spend_on_history(struct vv_engine *engine, enum vv_history_work work, int64_t spent_ns)
{
    int64_t now = now_of(engine);
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
        spend_on_history(engine, VV_HISTORY_WRITES, (int64_t)(part * (double)spent_ns));
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
    enum vv_status status = ensure_store(engine, error);
    if (status != VV_OK) {
        return status;
    }
    int64_t start = now_of(engine);
    (void)!vv_learn_if_old(engine, NULL); /* what must be known of plans is looked at later */
    status = vv_job_store(engine, job, error);
    if (status != VV_OK) {
        atomic_fetch_add(&engine->counters.flush_failures, 1);
        note_failure(engine, "flush_failed", status, error);
        return status;
    }
    engine->retry_wait_ns = 0;
    engine->stored_run = job->run;
    engine->seal_unconfirmed = false; /* the job's confirm covered it */
    int64_t spent_ns = now_of(engine) - start;
    vv_share_earn(&engine->seal_share, spent_ns);
    charge_history(engine, job, spent_ns);
    vv_histogram_add_duration(&engine->counters.flush_duration, spent_ns);
    atomic_fetch_add(&engine->counters.flushes, 1);
    finish_job(engine, job);
    engine->beat_at_ns = now_of(engine); /* others see it, and may wait for it */
    return VV_OK;
}

/* ---- sealing ---- */

static const struct vv_outage seal_outage = {"seal_waits", "seal_again", "all spans can be sealed"};

/* How long sealing history has to rest still. */
static int64_t seals_rest_ns(struct vv_engine *engine)
{
    int64_t now = now_of(engine);
    pthread_mutex_lock(&engine->lock);
    int64_t rest_ns = vv_history_rest_ns(&engine->history, VV_HISTORY_SEALS, now);
    pthread_mutex_unlock(&engine->lock);
    return rest_ns;
}

/* What was removed and retired. */
static enum vv_status confirm_seals(struct vv_engine *engine, struct vv_error *error)
{
    int64_t start = now_of(engine);
    enum vv_status status = engine->seal_unconfirmed ? vv_engine_confirm(engine, error) : VV_OK;
    if (status != VV_OK) {
        note_failure(engine, "seal_failed", status, error);
        return status;
    }
    if (engine->seal_unconfirmed && engine->sealed_history) {
        spend_on_history(engine, VV_HISTORY_SEALS, now_of(engine) - start);
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
    enum vv_status status = ensure_store(engine, error);
    if (status == VV_OK) { /* else it would miss what others have put elsewhere */
        status = vv_learn_if_old(engine, error);
    }
    if (status != VV_OK) {
        return status;
    }
    size_t spans_max = engine->store->ops->shared ? SEAL_SPANS_SHARED : SEAL_SPANS;
    int64_t start = now_of(engine);
    bool is_held;
    int64_t old_ns = hold_history(engine, &is_held);
    status = vv_sealer_step(engine->sealer, until, spans_max, error);
    if (status == VV_OK) {
        engine->sealed_history = vv_sealer_last_due_ns(engine->sealer) < old_ns;
    }
    if (status == VV_OK && engine->sealed_history) {
        spend_on_history(engine, VV_HISTORY_SEALS, now_of(engine) - start);
    }
    pthread_mutex_lock(&engine->lock);
    vv_sealer_read_figures(engine->sealer, &engine->seal_figures);
    engine->n_damaged = vv_sealer_read_damaged(engine->sealer, engine->damaged);
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
    note_failure(engine, "seal_failed", status, error);
    return status;
}

/* Seals for a slice of time; VV_DONE when nothing was left, VV_OVERLOAD when only what waits for a
 * part of the store. */
static enum vv_status seal_slice(struct vv_engine *engine, vv_stamp until)
{
    struct vv_error error = {0};
    int64_t start = now_of(engine);
    enum vv_status status;
    do {
        status = vv_storage_seal(engine, until, &error);
    } while (status == VV_OK && now_of(engine) - start < VV_SEAL_SLICE_NS);
    return status;
}

/* Flushes come first: while jobs wait, sealing has a share of the time only. A year of history that
 * is loaded would else take a slice after each of them. */
static void seal_when_due(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool job_waits = engine->job_first != NULL;
    pthread_mutex_unlock(&engine->lock);
    int64_t start = now_of(engine);
    if (start < engine->seal_at_ns || !vv_share_may(&engine->seal_share, job_waits)) {
        return;
    }
    bool more = seal_slice(engine, VV_SEAL_DUE) == VV_OK;
    vv_share_spend(&engine->seal_share, now_of(engine) - start, job_waits);
    int64_t wait_ns = more ? 0 : engine->settings.seal_interval_ns;
    int64_t rest_ns = seals_rest_ns(engine); /* then history has its turn */
    wait_ns = rest_ns > 0 && rest_ns < wait_ns ? rest_ns : wait_ns;
    engine->seal_at_ns = now_of(engine) + wait_ns;
}

/* Whether a request to seal everything waits, and the flush that it came with is done. */
static bool seal_is_requested(const struct vv_engine *engine)
{
    return engine->seal_done != engine->seal_requested && engine->flush_done >= engine->seal_after;
}

/* Serves such a request in slices, so that the head is emptied meanwhile. It takes what was stored
 * when it began: runs that come in meanwhile cannot keep it from ending. */
static void seal_on_request(struct vv_engine *engine)
{
    struct vv_error error = {0};
    pthread_mutex_lock(&engine->lock);
    bool begins = !engine->seal_all_ticket && seal_is_requested(engine);
    pthread_mutex_unlock(&engine->lock);
    if (begins && vv_storage_sweep(engine, &error) == VV_OK) {
        return; /* what is deleted is to be sealed, too: there may be more of it */
    }
    pthread_mutex_lock(&engine->lock);
    if (!engine->seal_all_ticket && seal_is_requested(engine)) {
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

/* ---- retention and space ---- */

/* Since when the oldest mark that is long overdue could have been sealed. */
struct backlog {
    const struct vv_sealer *sealer;
    int64_t since_ns;
};

/* History that is loaded was due long before it came. */
static enum vv_status look_at_mark(void *context, const struct vv_mark *mark)
{
    struct backlog *backlog = context;
    int64_t run_ns = (int64_t)vv_stamp_clock_us(mark->run) * VV_MICROSECOND;
    int64_t since_ns = mark->due_ns > run_ns ? mark->due_ns : run_ns;
    if (since_ns < backlog->since_ns && !vv_sealer_is_damaged(backlog->sealer, mark)) {
        backlog->since_ns = since_ns;
    }
    return VV_OK;
}

static void note_held(struct vv_engine *engine, int64_t held_ns)
{
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

/* Since when something is deleted that is not swept, at most `most_ns`. */
static int64_t unswept_since(struct vv_engine *engine, int64_t most_ns)
{
    struct vv_marker markers[VV_MARKERS_OF_SOURCE_MAX];
    uint32_t source = vv_deletions_next(engine->deletions, 0, VV_MARKER_UNSWEPT);
    for (; source != UINT32_MAX;
         source = vv_deletions_next(engine->deletions, source + 1, VV_MARKER_UNSWEPT)) {
        size_t n = vv_deletions_read(engine->deletions, source, VV_MARKER_UNSWEPT, markers,
                                     VV_MARKERS_OF_SOURCE_MAX);
        for (size_t i = 0; i < n && i < VV_MARKERS_OF_SOURCE_MAX && !markers[i].is_swept; i++) {
            int64_t since_ns = (int64_t)vv_stamp_clock_us(markers[i].stamp) * VV_MICROSECOND;
            most_ns = since_ns < most_ns ? since_ns : most_ns;
        }
    }
    return most_ns;
}

/* What waits to be sealed, or to be built into tiers, and is long overdue holds time up: nothing
 * goes that was there when it was due. Nor does what steps are built of that are deleted in part,
 * until that is done. */
static enum vv_status expiry_time(struct vv_engine *engine, int64_t *now_out,
                                  struct vv_error *error)
{
    struct vv_store *store = engine->store;
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t overdue = now - VV_TIERS_SLACK_NS;
    struct backlog backlog = {engine->sealer, INT64_MAX};
    enum vv_status status = VV_OK;
    if (!store->ops->shared) { /* there what is not sealed is written again */
        status = store->ops->scan_marks(store, overdue, NULL, look_at_mark, &backlog, error);
    }
    bool is_held = backlog.since_ns < overdue;
    *now_out = is_held ? backlog.since_ns : now;
    if (!store->ops->shared) {
        *now_out = unswept_since(engine, *now_out);
    }
    if (status == VV_OK) {
        note_held(engine, now - *now_out);
    }
    return status;
}

/* What may go now, and what is whole then. */
static enum vv_status note_whole(struct vv_engine *engine, int64_t *now_out, struct vv_error *error)
{
    enum vv_status status = expiry_time(engine, now_out, error);
    return status == VV_OK ? vv_whole_note(engine, *now_out, error) : status;
}

enum vv_status vv_storage_expire(struct vv_engine *engine, bool *more_out, struct vv_error *error)
{
    *more_out = false;
    enum vv_status status = ensure_store(engine, error);
    if (status != VV_OK) {
        return status;
    }
    pthread_mutex_lock(&engine->lock);
    uint64_t round = ++engine->expire_begun;
    pthread_mutex_unlock(&engine->lock);
    status = vv_storage_tell_retentions(engine, error);
    if (status == VV_OK) {
        int64_t now;
        struct vv_store *store = engine->store;
        status = note_whole(engine, &now, error);
        if (status == VV_OK) {
            status = store->ops->expire(store, now, EXPIRE_WORK_BYTES, more_out, error);
        }
    }
    if (status != VV_OK) {
        note_failure(engine, "expire_failed", status, error);
    } else if (!*more_out) {
        pthread_mutex_lock(&engine->lock);
        engine->expire_done = round;
        pthread_mutex_unlock(&engine->lock);
    }
    return status;
}

static void expire_when_due(struct vv_engine *engine)
{
    if (now_of(engine) < engine->expire_at_ns) {
        return;
    }
    struct vv_error error = {0};
    bool more;
    enum vv_status status = vv_storage_expire(engine, &more, &error);
    int64_t wait = status == VV_OK && more ? 0 : engine->settings.expire_interval_ns;
    engine->expire_at_ns = now_of(engine) + wait;
}

static bool retention_changed(struct vv_engine *engine)
{
    uint32_t tenants = vv_registry_tenant_count(engine->registry);
    for (uint32_t i = 0; i < tenants; i++) {
        if (i >= engine->n_retentions ||
            engine->retentions[i] != vv_registry_retention(engine->registry, i)) {
            return true;
        }
    }
    return false;
}

static void look_at_space(struct vv_engine *engine)
{
    if (now_of(engine) < engine->space_at_ns) {
        return;
    }
    engine->space_at_ns = now_of(engine) + VV_SECOND;
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
    enum vv_status status = ensure_store(engine, error);
    if (status == VV_OK) {
        status = vv_learning_step(engine, &failed, error);
    }
    if (failed) {
        note_failure(engine, "learnt_not_kept", status, error);
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
    enum vv_status status = ensure_store(engine, error);
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
    enum vv_status status = ensure_store(engine, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_plans_step(engine, error);
    if (status != VV_OK && status != VV_DONE) {
        note_failure(engine, "plan_change_failed", status, error);
    }
    return status;
}

/* ---- what is deleted ---- */

enum vv_status vv_storage_sweep(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = ensure_store(engine, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_sweep_step(engine, error);
    bool waits = status == VV_OVERLOAD && engine->store->ops->shared;
    if (status != VV_OK && status != VV_DONE && !waits) {
        note_failure(engine, "sweep_failed", status, error);
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
    enum vv_status status = ensure_store(engine, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_replace_step(engine, error);
    if (status != VV_OK && status != VV_DONE) {
        note_failure(engine, "replace_failed", status, error);
    }
    return status;
}

/* ---- rerolling ---- */

enum vv_status vv_storage_reroll(struct vv_engine *engine, struct vv_error *error)
{
    enum vv_status status = vv_reroll_is_due(engine) ? ensure_store(engine, error) : VV_DONE;
    if (status != VV_OK) {
        return status;
    }
    int64_t now;
    bool is_noted = vv_whole_is_noted(engine); /* else all of a new tenant may have gone */
    status = is_noted ? VV_OK : note_whole(engine, &now, error);
    if (status == VV_OK) {
        status = vv_reroll_step(engine, error);
    }
    if (status != VV_OK && status != VV_DONE) {
        note_failure(engine, "reroll_failed", status, error);
    }
    return status;
}

/* ---- what is parked ---- */

enum vv_status vv_storage_deliver(struct vv_engine *engine, struct vv_error *error)
{
    bool failed = false;
    enum vv_status status = ensure_store(engine, error);
    if (status == VV_OK) {
        status = vv_parking_step(engine, &failed, error);
    }
    if (failed) {
        note_failure(engine, "plans_not_settled", status, error);
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
    int64_t start = now_of(engine);
    while (engine->fleet && vv_storage_deliver(engine, &error) == VV_OK &&
           now_of(engine) - start < STOP_DELIVERY_NS) {
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
    bool requested = engine->seal_all_ticket || seal_is_requested(engine);
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
    if (stopping || ensure_store(engine, &error) != VV_OK) {
        return; /* a store that failed is tried again even when nothing waits for it */
    }
    learn_when_due(engine);
    deliver_when_due(engine);
    beat_when_due(engine);
    (void)!vv_storage_plans(engine, &error);   /* who waits is told, and it is logged */
    (void)!vv_storage_replace(engine, &error); /* likewise */
    sweep_when_due(engine);
    seal_on_request(engine);
    seal_when_due(engine);
    if (retention_changed(engine)) {
        engine->expire_at_ns = now_of(engine);
    }
    expire_when_due(engine);
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
        enum vv_status status = vv_storage_job(engine, &error);
        pthread_mutex_lock(&engine->lock);
        give_up = status != VV_OK && status != VV_DONE && engine->committed;
        pthread_mutex_unlock(&engine->lock);
        if (give_up) { /* stopping while the store fails: the journal has it all */
            vv_log(VV_LOG_WARN, "stopped_without_flush", "status=%s", vv_status_name(status));
        }
        background_work(engine);
        bool more = now_of(engine) >= engine->seal_at_ns || vv_parking_is_due(engine) ||
                    vv_reroll_is_due(engine);
        busy = status == VV_OK || (more && !atomic_load(&engine->store_failed));
    }
    struct vv_error error = {0};
    if (!give_up) { /* all is flushed: it holds as long as this node is away */
        deliver_last(engine);
        (void)!vv_storage_beat(engine, &error);
    }
    return NULL;
}
