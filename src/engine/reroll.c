/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rerolling tiers: one job at a time, done by the storage thread in slices between flushes: source
 * by source, measurement by measurement, tier by tier (the finest first, so that what a coarser one
 * is compared with is right), unit by unit. A job lives as long as the process.
 */
#include "engine/built_again.h"
#include "engine/engine_private.h"
#include "engine/reroll_next.h"
#include "registry/shared.h"

#include <stdlib.h>

#define SLICE_UNITS 64
#define SLICE_NS    (50 * VV_MILLISECOND)
#define SOURCES_MAX (1u << 22)
#define TIMES_ROOM  (400 * VV_DAY) /* so that no bucket of a tier is cut off */

struct vv_reroll_job {
    struct vv_deletion_order *order; /* sources, and measurements if only some are meant */
    int tier_first;
    int tier_last;
    struct vv_reroll *reroll;
    struct vv_built_again built;
    size_t source_at;
    uint32_t measurement; /* of that source … */
    size_t stay_at;       /* … in this stay of it … */
    struct vv_stay stay;
    int tier;     /* … and its tier … */
    int64_t time; /* … from this time on … */
    int64_t end;  /* … up to this one */
    bool in_tier;
    bool is_first; /* of it nothing was looked at yet */
};

/* ---- the order ---- */

static void drop_job(struct vv_engine *engine)
{
    struct vv_reroll_job *job = engine->reroll_job;
    engine->reroll_job = NULL;
    if (job) {
        free(job->order);
        vv_reroll_destroy(job->reroll);
        free(job);
    }
}

void vv_reroll_job_deinit(struct vv_engine *engine)
{
    drop_job(engine);
}

/* Takes the order. Under the lock. */
static enum vv_status begin_job(struct vv_engine *engine, struct vv_deletion_order *order,
                                const struct vv_built_again *built,
                                const struct vv_delete_selection *selection, struct vv_error *error)
{
    struct vv_reroll_job *job = calloc(1, sizeof *job);
    if (!job) {
        free(order);
        return vv_error_set(error, VV_NO_MEMORY, "out of memory: try again later");
    }
    bool all = selection->tier == VV_SPACES;
    job->order = order;
    job->built = *built;
    job->tier_first = all ? 0 : selection->tier;
    job->tier_last = all ? VV_SPACES - 1 : selection->tier;
    job->tier = job->tier_first;
    engine->rerolled = (struct vv_rerolled){.id = engine->rerolled.id + 1,
                                            .state = VV_REROLLED_RUNNING,
                                            .dry_run = selection->dry_run,
                                            .sources = order->n_sources};
    engine->reroll_job = job;
    pthread_cond_signal(&engine->storage_wakes);
    return VV_OK;
}

enum vv_status vv_engine_reroll(struct vv_engine *engine, const struct vv_request *request,
                                uint64_t *id_out, struct vv_error *error)
{
    struct vv_delete_selection selection;
    *id_out = 0;
    enum vv_status status = vv_engine_check_waits(engine, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_request_order(&engine->query_context, request, SOURCES_MAX, &selection, error);
    if (status == VV_OK && !selection.order) {
        status =
            vv_error_set(error, VV_NOT_FOUND,
                         "no source is selected: see `varve sources` for their names and tags");
    }
    if (status != VV_OK) {
        free(selection.order);
        return status;
    }
    struct vv_built_again built;
    vv_built_begin(engine, selection.order, &built);
    built.is_of_all &= !selection.dry_run;
    pthread_mutex_lock(&engine->lock);
    if (engine->reroll_job) {
        free(selection.order);
        status =
            vv_error_set(error, VV_OVERLOAD, "reroll %llu is under way: wait for it, or cancel it",
                         (unsigned long long)engine->rerolled.id);
    } else {
        status = begin_job(engine, selection.order, &built, &selection, error);
        *id_out = engine->rerolled.id;
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

enum vv_status vv_engine_read_reroll(struct vv_engine *engine, uint64_t id, bool cancel,
                                     struct vv_rerolled *rerolled_out, struct vv_error *error)
{
    pthread_mutex_lock(&engine->lock);
    bool is_there = id > 0 && engine->rerolled.id == id;
    if (is_there && cancel && engine->rerolled.state == VV_REROLLED_RUNNING) {
        engine->rerolled.state = VV_REROLLED_CANCELLED; /* the storage thread drops the job */
    }
    *rerolled_out = engine->rerolled;
    pthread_mutex_unlock(&engine->lock);
    return is_there ? VV_OK
                    : vv_error_set(error, VV_NOT_FOUND,
                                   "there is no such reroll: it was another one's turn since, or "
                                   "the server was started anew");
}

struct vv_str vv_engine_source_id(struct vv_engine *engine, uint32_t source)
{
    return vv_registry_source_id(engine->registry, source);
}

struct vv_str vv_engine_measurement(struct vv_engine *engine, uint32_t measurement)
{
    return vv_registry_measurement_name(engine->registry, measurement);
}

struct vv_str vv_engine_metric(struct vv_engine *engine, uint32_t metric)
{
    struct vv_metric_info info;
    vv_registry_metric_info(engine->registry, metric, &info);
    return info.name;
}

/* ---- where it is ---- */

static uint32_t source_of(const struct vv_reroll_job *job)
{
    return job->order->sources[job->source_at];
}

static bool concerns(const struct vv_engine *engine, const struct vv_deletion_order *order,
                     uint32_t measurement)
{
    bool is_meant = order->n_numbers == 0;
    for (size_t i = 0; i < order->n_numbers && !is_meant; i++) {
        is_meant = order->numbers[i] == measurement;
    }
    return is_meant &&
           vv_registry_measurement_tenant(engine->registry, measurement) == order->tenant;
}

/* Times that other nodes wrote are not known: all, of which what is empty is passed over. */
static bool times_of(const struct vv_engine *engine, uint32_t source, int64_t *first, int64_t *last)
{
    *first = VV_TIME_MIN + TIMES_ROOM;
    *last = VV_TIME_MAX - TIMES_ROOM;
    return engine->store->ops->shared ||
           vv_registry_source_times(engine->registry, source, first, last);
}

/* Its range, as far as the source has anything in the stay; false: it has nothing there. */
static bool begin_tier(const struct vv_engine *engine, struct vv_reroll_job *job)
{
    int64_t first;
    int64_t last;
    uint32_t source = source_of(job);
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, job->stay.place);
    if (tiers.spaces[job->tier] == VV_REGISTRY_NONE || !times_of(engine, source, &first, &last) ||
        vv_registry_source_plans(engine->registry, source).n == 0) {
        return false;
    }
    int64_t from = job->stay.from > job->order->from ? job->stay.from : job->order->from;
    int64_t to = job->stay.to < job->order->to ? job->stay.to : job->order->to;
    job->time = first > from ? first : from;
    job->end = last < to ? last + 1 : to;
    job->in_tier = job->time < job->end;
    job->is_first = true;
    return job->in_tier;
}

/* Moves on to a tier of the job's measurement that has something to do; false: it has none left. */
static bool find_tier_of(struct vv_engine *engine, struct vv_reroll_job *job)
{
    struct vv_stay stays[VV_STAYS_MAX];
    bool is_meant = concerns(engine, job->order, job->measurement);
    size_t n = is_meant ? vv_registry_stays(engine->registry, job->measurement, stays) : 0;
    for (; job->stay_at < n; job->stay_at++) {
        job->stay = stays[job->stay_at];
        for (; job->tier <= job->tier_last; job->tier++) {
            if (begin_tier(engine, job)) {
                return true;
            }
        }
        job->tier = job->tier_first;
    }
    return false;
}

/* Moves on to a tier that has something to do; false: there is none left. */
static bool find_tier(struct vv_engine *engine, struct vv_reroll_job *job)
{
    uint32_t measurements = vv_registry_measurement_count(engine->registry);
    while (job->source_at < job->order->n_sources) {
        if (job->measurement >= measurements) {
            job->measurement = 0;
            job->source_at++;
            pthread_mutex_lock(&engine->lock);
            engine->rerolled.sources_done = job->source_at;
            pthread_mutex_unlock(&engine->lock);
            continue;
        }
        if (find_tier_of(engine, job)) {
            return true;
        }
        job->stay_at = 0;
        job->measurement++;
    }
    return false;
}

/* ---- units ---- */

static void note(struct vv_engine *engine, const struct vv_reroll_job *job,
                 const struct vv_reroll_result *result)
{
    enum vv_reroll_verdict verdict = result->verdict;
    bool is_wrong = verdict == VV_REROLL_DIFFERENT || verdict == VV_REROLL_MISSING;
    bool is_refused = verdict >= VV_REROLL_EXPIRED;
    pthread_mutex_lock(&engine->lock);
    struct vv_rerolled *rerolled = &engine->rerolled;
    rerolled->units[verdict]++;
    rerolled->repaired += result->is_repaired;
    /* Half of the room at most for what is refused, which may be much. */
    size_t most = is_refused ? VV_REROLLED_EXAMPLES / 2 : VV_REROLLED_EXAMPLES;
    if ((is_wrong || is_refused) && rerolled->n_examples < most) {
        rerolled->examples[rerolled->n_examples++] =
            (struct vv_rerolled_unit){.tier = (enum vv_space)job->tier,
                                      .source = source_of(job),
                                      .measurement = job->measurement,
                                      .result = *result};
    }
    pthread_mutex_unlock(&engine->lock);
}

/* What is left of the tier is not looked at: a reroll that is asked for later does. */
static void leave_tier(struct vv_engine *engine, struct vv_reroll_job *job,
                       enum vv_reroll_verdict why)
{
    const struct vv_reroll_result result = {.unit = {job->time, job->end}, .verdict = why};
    note(engine, job, &result);
    job->built.is_of_all = false;
    job->time = job->end;
}

/* Moves on to the next time at which there may be something, of the tier or below it. */
static enum vv_status skip_empty(struct vv_engine *engine, struct vv_reroll_job *job,
                                 struct vv_error *error)
{
    const struct vv_reroll_place at = {.place = job->stay.place,
                                       .source = source_of(job),
                                       .measurement = job->measurement,
                                       .tier = (enum vv_space)job->tier,
                                       .time = job->time};
    int64_t next;
    enum vv_status status = vv_reroll_next(engine, &at, &next, error);
    bool is_damaged = status == VV_CORRUPT || status == VV_NEWER;
    if (is_damaged || status == VV_OVERLOAD) {
        error->message[0] = '\0';
        if (engine->store->ops->shared) { /* which may be all times there are */
            leave_tier(engine, job, is_damaged ? VV_REROLL_DAMAGED : VV_REROLL_AWAY);
        }
        return VV_OK; /* else unit by unit */
    }
    job->time = status == VV_OK && next > job->time ? next : job->time;
    return status;
}

/* A tier that was set a moment ago may be unknown to others, who make nothing of it stale. */
static bool is_known_to_all(struct vv_engine *engine, uint32_t space)
{
    int64_t retention_ns;
    vv_stamp stamp;
    int64_t now = engine->clock->wall_ns(engine->clock);
    int64_t lead = vv_settings_lead_ns(&engine->settings) + VV_CLOCKS_DIFFER_NS;
    vv_registry_stamped_retention(engine->registry, space, &retention_ns, &stamp);
    return (int64_t)vv_stamp_clock_us(stamp) * VV_MICROSECOND < now - lead ||
           vv_sealer_is_known_to_all(engine->sealer, space);
}

/* Up to when all that nodes of this region acknowledged is where it can be read. */
static int64_t heard_until(struct vv_engine *engine, const struct vv_reroll_job *job)
{
    struct vv_store *store = engine->store;
    const struct vv_shared_ops *shared = store->ops->shared;
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, job->stay.place);
    uint32_t space = tiers.spaces[job->tier];
    if (!shared) {
        return INT64_MAX;
    }
    bool is_whole = vv_fleet_is_current(engine->fleet, vv_settings_lead_ns(&engine->settings)) &&
                    !shared->has_parked(store, job->stay.place) &&
                    (space == VV_REGISTRY_NONE || is_known_to_all(engine, space));
    for (int tier = 0; tier < VV_SPACES && is_whole; tier++) {
        is_whole = tiers.spaces[tier] == VV_REGISTRY_NONE ||
                   !shared->has_parked(store, tiers.spaces[tier]);
    }
    return is_whole ? vv_engine_sum_peers(engine).flushed_until_ns[0] : INT64_MIN;
}

/* At the end of a tier comes the next one. */
static enum vv_status go_on(struct vv_reroll_job *job, enum vv_status status)
{
    if (job->time >= job->end) {
        job->in_tier = false;
        job->tier++;
    }
    return status;
}

/* Whether nothing can be behind the unit, as it ends later than any point may be. What came under a
 * clock that was ahead, and is now, has its marks, as all that is sealed. */
static bool is_ahead(const struct vv_engine *engine, const struct vv_reroll_result *result)
{
    int64_t now = engine->clock->wall_ns(engine->clock);
    return result->unit.to > now + engine->settings.future_ns_max + VV_CLOCKS_DIFFER_NS;
}

/* The unit at the job's time, and past it. */
static enum vv_status do_unit(struct vv_engine *engine, struct vv_reroll_job *job,
                              struct vv_error *error)
{
    struct vv_reroll_result result;
    if (job->is_first && engine->store->ops->shared) {
        job->is_first = false;
        return go_on(job, skip_empty(engine, job, error));
    }
    struct vv_reroll_bounds bounds = vv_whole_bounds(engine, job->stay.place);
    bounds.heard_until = heard_until(engine, job);
    uint32_t source = source_of(job);
    enum vv_status status = vv_reroll_unit(
        job->reroll, (enum vv_space)job->tier, job->stay.place, source, job->measurement, job->time,
        &bounds, engine->clock->wall_ns(engine->clock), !engine->rerolled.dry_run, &result, error);
    if (status != VV_OK) {
        return status;
    }
    note(engine, job, &result);
    vv_built_note(&job->built, job->stay.place, (enum vv_space)job->tier, &result);
    job->time = is_ahead(engine, &result) ? job->end : result.unit.to;
    bool is_empty = result.verdict == VV_REROLL_NOTHING || result.verdict == VV_REROLL_OPEN;
    if (is_empty && job->time < job->end) { /* behind what is open, the next one may be far */
        status = skip_empty(engine, job, error);
    }
    return go_on(job, status);
}

/* What was deleted is not taken out of tiers before the sweep has told the sealer so. */
static bool waits_for_sweep(const struct vv_engine *engine, const struct vv_reroll_job *job)
{
    uint32_t source = source_of(job);
    return vv_deletions_next(engine->deletions, source, VV_MARKER_UNSWEPT) == source;
}

static void end_job(struct vv_engine *engine, enum vv_rerolled_state state,
                    const struct vv_error *error)
{
    pthread_mutex_lock(&engine->lock);
    if (engine->rerolled.state == VV_REROLLED_RUNNING) {
        engine->rerolled.state = state;
        engine->rerolled.error = error ? *error : (struct vv_error){0};
    }
    drop_job(engine);
    pthread_mutex_unlock(&engine->lock);
}

enum vv_status vv_reroll_make(struct vv_engine *engine, struct vv_reroll **reroll)
{
    const struct vv_reroll_options options = {
        .registry = engine->registry,
        .store = engine->store,
        .deletions = engine->deletions,
        .ledger = {.lateness_ns = engine->settings.seal_lateness_ns,
                   .spread_ns = engine->settings.seal_spread_ns},
        .makes_volumes = engine->settings.volumes_after_ns > 0,
        .zstd_level = (int)engine->settings.zstd_level,
        .block_bytes_max = (size_t)engine->settings.block_bytes_max,
        .percentile_error = (double)engine->settings.tiers_percentile_error / 10000,
        .learn = vv_learn_before_seal,
        .learn_context = engine,
    };
    return *reroll ? VV_OK : vv_reroll_create(&options, reroll);
}

static enum vv_status do_slice(struct vv_engine *engine, struct vv_reroll_job *job,
                               struct vv_error *error)
{
    int64_t begun = engine->clock->monotonic_ns(engine->clock);
    enum vv_status status = vv_reroll_make(engine, &job->reroll);
    (void)!vv_learn_if_old(engine, NULL); /* what is not known then is refused */
    for (size_t i = 0; i < SLICE_UNITS && status == VV_OK; i++) {
        if (!job->in_tier && !find_tier(engine, job)) {
            status = vv_built_end(engine, &job->built, job->tier_first, job->tier_last, error);
            return status == VV_OK ? VV_DONE : status;
        }
        if (waits_for_sweep(engine, job)) {
            leave_tier(engine, job, VV_REROLL_WAITING);
            status = go_on(job, VV_OK);
            continue;
        }
        status = do_unit(engine, job, error);
        if (engine->clock->monotonic_ns(engine->clock) - begun > SLICE_NS) {
            break;
        }
    }
    return status;
}

bool vv_reroll_is_due(struct vv_engine *engine)
{
    pthread_mutex_lock(&engine->lock);
    bool is_due = engine->reroll_job != NULL;
    pthread_mutex_unlock(&engine->lock);
    return is_due;
}

enum vv_status vv_reroll_step(struct vv_engine *engine, struct vv_error *error)
{
    pthread_mutex_lock(&engine->lock);
    struct vv_reroll_job *job = engine->reroll_job;
    bool is_cancelled = engine->rerolled.state != VV_REROLLED_RUNNING;
    pthread_mutex_unlock(&engine->lock);
    if (!job) {
        return VV_DONE;
    }
    enum vv_status status = is_cancelled ? VV_DONE : do_slice(engine, job, error);
    if (status == VV_DONE) {
        end_job(engine, VV_REROLLED_DONE, error);
        return VV_OK;
    }
    if (status == VV_OK || status == VV_IO || status == VV_FULL) {
        return status; /* of the store: the same unit again when it is back */
    }
    if (status == VV_NO_MEMORY) {
        (void)vv_error_set(error, status, "out of memory");
    }
    end_job(engine, VV_REROLLED_FAILED, error); /* no reason to refuse what is written */
    return VV_OK;
}
