/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's life: open, recover, close; queries; manual steps. */
#include "engine/engine_private.h"

#include "base/log.h"
#include "engine/frozen_found.h"
#include "registry/shared.h"

#include <stdlib.h>

static enum vv_status confirm(void *context, struct vv_error *error)
{
    return vv_engine_confirm(context, error);
}

static enum vv_status create_parts(struct vv_engine *engine, struct vv_error *error)
{
    const struct vv_settings *settings = &engine->settings;
    struct vv_registry_options registry_options = {
        .id_tag = settings->id_tag,
        .tenants_max = (uint32_t)settings->tenants_max,
        .sources_max = (uint32_t)settings->sources_max,
        .metrics_max = (uint32_t)settings->metrics_max,
        .cache_bytes = (size_t)settings->series_cache_bytes,
        .retention_ns = vv_settings_raw_ns(settings),
        .late = vv_engine_late_of(settings),
        .has_spaces = settings->tiers_default,
    };
    enum vv_status status = vv_registry_create(&registry_options, &engine->registry);
    if (status == VV_OK) {
        if (engine->names) {
            vv_names_set_registry(engine->names, engine->registry);
        }
        status = vv_head_create(&engine->head);
    }
    if (status == VV_OK) {
        status = vv_deletions_create((uint64_t)settings->deletion_markers_max, &engine->deletions);
    }
    if (status == VV_OK && engine->store->ops->shared) {
        status = vv_fleet_create(engine->registry, engine->deletions, engine->store, engine->clock,
                                 vv_plans_reach(engine), &engine->fleet);
        engine->frozen_found = vv_frozen_found_create();
        status = status == VV_OK && !engine->frozen_found ? VV_NO_MEMORY : status;
        if (engine->names) {
            vv_names_set_fleet(engine->names, engine->fleet);
            vv_names_set_deletions(engine->names, engine->deletions);
        }
    }
    if (status == VV_OK && engine->fleet && engine->store->ops->shared->cohort_of) {
        status = vv_members_create(engine->registry, engine->store, &engine->members);
    }
    if (status == VV_OK) {
        struct vv_sealer_options sealer_options = {
            .registry = engine->registry,
            .store = engine->store,
            .clock = engine->clock,
            .deletions = engine->deletions,
            .learn = vv_learn_before_seal,
            .learn_context = engine,
            .is_told = vv_is_told,
            .learn_sources = vv_learn_sources,
            .members = engine->members,
            .ledger = vv_engine_ledger_rule(settings),
            .volumes_after_ns = settings->volumes_after_ns,
            .block_bytes_max = (size_t)settings->block_bytes_max,
            .zstd_level = (int)settings->zstd_level,
            .percentile_error = (double)settings->tiers_percentile_error / 10000,
            .confirm = confirm,
            .confirm_context = engine,
            .lead_ns = vv_settings_lead_ns(settings),
            .whole_from = vv_whole_for_tiers,
            .expired = vv_whole_expired,
            .say_whole = vv_whole_said,
            .records_from = vv_whole_for_records,
            .whole_context = engine,
        };
        status = vv_sealer_create(&sealer_options, &engine->sealer);
    }
    if (status == VV_OK) {
        status = vv_load_create(&engine->load);
    }
    if (status == VV_OK && engine->fleet) {
        status = vv_open_units_create(&engine->open_units);
    }
    if (status != VV_OK) {
        return vv_error_set(error, status, "out of memory while starting");
    }
    engine->seal_share =
        (struct vv_share){.percent = settings->seal_share, .most_ns = VV_SEAL_SLICE_NS};
    engine->history.percent = settings->history_share;
    engine->query_context = (struct vv_query_context){.registry = engine->registry,
                                                      .head = engine->head,
                                                      .store = engine->store,
                                                      .clock = engine->clock,
                                                      .deletions = engine->deletions,
                                                      .members = engine->members,
                                                      .whole_from = vv_whole_for_queries,
                                                      .lacked_before = vv_whole_lacked_before,
                                                      .whole_context = engine,
                                                      .regions_in_part = vv_regions_in_part};
    return VV_OK;
}

static void init_locks(struct vv_engine *engine)
{
    pthread_condattr_t monotonic;
    vv_invariant(pthread_condattr_init(&monotonic) == 0);
    vv_invariant(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    vv_invariant(pthread_mutex_init(&engine->delete_lock, NULL) == 0);
    vv_invariant(pthread_mutex_init(&engine->lock, NULL) == 0);
    vv_invariant(pthread_mutex_init(&engine->retentions_lock, NULL) == 0);
    vv_invariant(pthread_mutex_init(&engine->replace_lock, NULL) == 0);
    vv_invariant(pthread_cond_init(&engine->committer_wakes, &monotonic) == 0);
    vv_invariant(pthread_cond_init(&engine->storage_wakes, &monotonic) == 0);
    vv_invariant(pthread_cond_init(&engine->waiters_wake, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
}

/* Only with manual operation can anything wait still: the committer ends with an empty queue. */
static void cancel_waiting(struct vv_engine *engine)
{
    struct vv_submission *submission;
    while ((submission = vv_queue_take_one(&engine->queue)) != NULL) {
        submission->done(submission->context, VV_CANCELLED, "the server is stopping");
        vv_batch_destroy(submission->batch);
        free(submission);
    }
}

static void destroy(struct vv_engine *engine)
{
    cancel_waiting(engine);
    while (engine->job_first) { /* what was not flushed is in the journal */
        struct vv_job *job = engine->job_first;
        engine->job_first = job->next;
        vv_job_destroy(job);
    }
    if (engine->journal) {
        vv_journal_close(engine->journal);
    }
    vv_reroll_job_deinit(engine);
    vv_reroll_destroy(engine->sweep.cutter);
    vv_stale_list_deinit(&engine->sweep.group.stale);
    vv_reroll_destroy(engine->steps_looker);
    vv_sealer_destroy(engine->sealer);
    vv_deletions_destroy(engine->deletions);
    vv_head_destroy(engine->head);
    if (engine->owns_store) {
        engine->store->ops->close(engine->store);
    }
    vv_names_destroy(engine->names);
    vv_members_destroy(engine->members);
    vv_fleet_destroy(engine->fleet);
    vv_frozen_found_destroy(engine->frozen_found);
    free(engine->schema);
    vv_registry_destroy(engine->registry);
    vv_folder_close(engine->folder);
    vv_accounts_deinit(engine);
    vv_buffer_deinit(&engine->round_bytes);
    free(engine->definitions.items);
    free(engine->whole);
    free(engine->retentions);
    free(engine->ending);
    vv_load_destroy(engine->load);
    vv_open_units_destroy(engine->open_units);
    pthread_cond_destroy(&engine->committer_wakes);
    pthread_cond_destroy(&engine->storage_wakes);
    pthread_cond_destroy(&engine->waiters_wake);
    pthread_mutex_destroy(&engine->lock);
    pthread_mutex_destroy(&engine->delete_lock);
    pthread_mutex_destroy(&engine->retentions_lock);
    pthread_mutex_destroy(&engine->replace_lock);
    free(engine);
}

enum vv_status vv_engine_open(const struct vv_engine_options *options,
                              struct vv_engine **engine_out, struct vv_error *error)
{
    struct vv_engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        if (options->take_local) {
            options->take_local->ops->close(options->take_local);
        }
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while starting");
    }
    engine->settings = *options->settings;
    engine->disk = options->disk ? options->disk : vv_disk_posix();
    engine->clock = options->clock ? options->clock : vv_clock_system();
    engine->manual = options->manual;
    engine->accepted_since_ns = INT64_MAX;
    engine->beaten_until_ns = INT64_MIN;
    atomic_store(&engine->whole_until_ns, VV_BEAT_UNKNOWN);
    atomic_store(&engine->recovering, true);
    init_locks(engine);
    enum vv_status status = vv_engine_open_store(engine, options, error);
    if (status == VV_OK) {
        status = create_parts(engine, error);
    }
    if (status != VV_OK) {
        destroy(engine);
        return status;
    }
    *engine_out = engine;
    return VV_OK;
}

static void start_threads(struct vv_engine *engine)
{
    vv_invariant(pthread_create(&engine->committer, NULL, vv_commit_thread, engine) == 0);
    vv_invariant(pthread_create(&engine->storage, NULL, vv_storage_thread, engine) == 0);
    engine->threads_run = true;
}

enum vv_status vv_engine_recover(struct vv_engine *engine, struct vv_error *error)
{
    vv_stamp flushed;
    vv_registry_note_time(engine->registry, engine->clock->wall_ns(engine->clock));
    enum vv_status status = vv_recover_metadata(engine, &flushed, error);
    if (status == VV_OK) {
        status = vv_recover_journal(engine, flushed, error);
    }
    if (status == VV_OK && engine->fleet) {
        status = vv_fleet_load_tentative(engine->fleet, error);
    }
    if (status == VV_OK) {
        vv_whole_end_lives(engine);
    }
    if (status == VV_OK && engine->fleet) {
        engine->replace_is_noted = true; /* perhaps; what is put needs the other hosts */
    } else if (status == VV_OK) {
        status = vv_replace_finish(engine, error);
    }
    if (status != VV_OK) {
        return status;
    }
    status = vv_learn_at_start(engine, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_head_figures head;
    vv_head_read_figures(engine->head, &head);
    engine->replay_is_flushed = head.series == 0;
    engine->clocks_apart_ns =
        engine->clock->wall_ns(engine->clock) - engine->clock->monotonic_ns(engine->clock);
    pthread_mutex_lock(&engine->lock);
    engine->lives_after = engine->flush_requested; /* of what was replayed, if anything was */
    pthread_mutex_unlock(&engine->lock);
    atomic_store(&engine->recovering, false);
    if (!engine->manual) {
        start_threads(engine);
    }
    return VV_OK;
}

void vv_engine_close(struct vv_engine *engine)
{
    if (!engine) {
        return;
    }
    pthread_mutex_lock(&engine->lock);
    engine->stopping = true;
    pthread_cond_broadcast(&engine->committer_wakes);
    pthread_cond_broadcast(&engine->storage_wakes);
    pthread_mutex_unlock(&engine->lock);
    if (engine->threads_run) {
        pthread_join(engine->committer, NULL);
        pthread_join(engine->storage, NULL);
    }
    vv_acks_end(engine);
    destroy(engine);
}

/* ---- queries ---- */

/* A node that could not ask the others for a while does so before it answers. */
void vv_engine_query_begin(struct vv_engine *engine)
{
    int64_t age_ns = vv_settings_hearing_ns(&engine->settings);
    if (engine->fleet && !vv_fleet_is_current(engine->fleet, age_ns)) {
        vv_fleet_learn_for_reader(engine->fleet);
    }
}

bool vv_engine_shares_store(const struct vv_engine *engine)
{
    return engine->store->ops->shared != NULL;
}

const struct vv_query_context *vv_engine_query_context(struct vv_engine *engine)
{
    return &engine->query_context;
}

void vv_engine_query_limits(struct vv_engine *engine, struct vv_query_limits *limits_out)
{
    *limits_out = (struct vv_query_limits){
        .time_ns_max = engine->settings.query_time_ns_max,
        .memory_bytes_max = (uint64_t)engine->settings.query_memory_bytes_max,
        .series_max = (uint64_t)engine->settings.query_series_max,
        .future_ns_max = engine->settings.future_ns_max,
    };
}

void vv_engine_query_done(struct vv_engine *engine, enum vv_request_kind kind,
                          enum vv_status status, const struct vv_result_facts *facts)
{
    struct vv_engine_counters *counters = &engine->counters;
    vv_histogram_add_duration(&counters->query_duration[kind], facts->duration_ns);
    if (status != VV_OK && status != VV_DONE) {
        atomic_fetch_add(&counters->queries_failed[kind], 1);
    }
    atomic_fetch_add(&counters->query_rows, facts->rows);
    atomic_fetch_add(&counters->query_bytes, facts->bytes_read);
    atomic_fetch_add(&counters->query_partitions, facts->partitions_read);
}

/* ---- health ---- */

/* What holds writes up although all works, or works again soon; "": nothing. */
static const char *pressure_of(struct vv_engine *engine)
{
    bool failed = atomic_load(&engine->store_failed);
    if (atomic_load(&engine->journal_full)) {
        return failed ? "the store cannot be written, and the journal has no room for what waits "
                        "(journal.bytes_max, or the disk): writes are refused"
                      : "the journal has no room (journal.bytes_max, or the disk): writes are "
                        "refused until the store has caught up";
    }
    if (vv_engine_is_head_full(engine)) {
        return failed ? "the store cannot be written, and the memory for points that wait for it "
                        "is full (head.bytes_max): writes are refused"
                      : "the memory for points that wait for the store is full "
                        "(head.bytes_max): writes are refused until it has caught up";
    }
    return failed ? "the store cannot be written: what is accepted waits in the journal" : "";
}

void vv_engine_read_health(struct vv_engine *engine, struct vv_engine_health *health_out)
{
    pthread_mutex_lock(&engine->lock);
    bool stopping = engine->stopping;
    size_t held_up = engine->n_damaged;
    pthread_mutex_unlock(&engine->lock);
    const char *reason = "";
    if (stopping) {
        reason = "stopping";
    } else if (atomic_load(&engine->recovering)) {
        reason = "replaying the journal";
    } else if (atomic_load(&engine->reserve_reached)) {
        reason = "the disk's free space is below its reserve";
    }
    bool ready = reason[0] == '\0';
    if (ready && atomic_load(&engine->store_failed) && !engine->outlasts_store) {
        ready = false;
        reason = "the store cannot be written";
    } else if (ready) {
        reason = pressure_of(engine);
    }
    if (ready && !reason[0] && engine->fleet && vv_fleet_leaves_out(engine->fleet)) {
        reason =
            "this node could not take all that others told it of (fleet_not_learnt in the log "
            "says why), and leaves sealing to them; where all nodes do, points expire unsealed "
            "after cassandra.slack: raise the limits, and start it again";
    }
    if (ready && !reason[0] && engine->fleet && vv_fleet_lacks_space(engine->fleet)) {
        reason = "no node can use a class of measurements, as this one can't make the place of its "
                 "late points (class_waits in the log says why)";
    }
    struct vv_parked parked = vv_engine_parked(engine);
    if (ready && !reason[0] && parked.n > 0) {
        reason = "a part of the store is away: what belongs there waits on this node";
    }
    if (ready && !reason[0] && vv_engine_sum_peers(engine).gone > 0) {
        reason = "another node has not been heard of: answers lack what it took and did not write";
    }
    if (ready && !reason[0] && held_up > 0) {
        reason = "something stored is damaged, or newer than this program, and holds up what is to "
                 "be sealed of it: the log says where (seal_damaged)";
    }
    *health_out = (struct vv_engine_health){
        .live = true,
        .ready = ready,
        .recovering = atomic_load(&engine->recovering),
        .reason = reason,
        .replayed_bytes = atomic_load(&engine->replay_done),
        .parked = parked.n,
        .parked_bytes = parked.bytes,
        .parked_since_ns = parked.since_ns,
        .held_up = held_up,
    };
}

/* ---- manual steps ---- */

static enum vv_status step_commit(struct vv_engine *engine)
{
    bool answered = vv_acks_answer(engine);
    enum vv_status status = vv_commit_round(engine);
    enum vv_status cut = vv_commit_cut(engine, false);
    return status == VV_DONE && (cut == VV_OK || answered) ? VV_OK : status;
}

static enum vv_status step_flush(struct vv_engine *engine, struct vv_error *error)
{
    if (!engine->job_first) {
        enum vv_status status = vv_commit_cut(engine, true);
        if (status != VV_OK) {
            return vv_error_set(error, status, "the head cannot be cut now");
        }
    }
    return vv_storage_job(engine, error);
}

enum vv_status vv_engine_step(struct vv_engine *engine, enum vv_engine_task task,
                              struct vv_error *error)
{
    vv_invariant(engine->manual);
    vv_registry_note_time(engine->registry, engine->clock->wall_ns(engine->clock));
    bool more;
    switch (task) {
    case VV_TASK_COMMIT:
        return step_commit(engine);
    case VV_TASK_FLUSH:
        return step_flush(engine, error);
    case VV_TASK_SEAL:
        return vv_storage_seal(engine, VV_SEAL_DUE, error);
    case VV_TASK_SEAL_ALL:
        return vv_storage_seal(engine, VV_SEAL_ALL, error);
    case VV_TASK_EXPIRE:
        return vv_storage_expire(engine, &more, error);
    case VV_TASK_LEARN:
        return vv_storage_learn(engine, error);
    case VV_TASK_BEAT:
        return vv_storage_beat(engine, error);
    case VV_TASK_PLANS:
        return vv_storage_plans(engine, error);
    case VV_TASK_DELIVER:
        return vv_storage_deliver(engine, error);
    case VV_TASK_REROLL:
        return vv_storage_reroll(engine, error);
    case VV_TASK_SWEEP:
        return vv_storage_sweep(engine, error);
    }
    vv_invariant(false);
    return VV_INVALID;
}
