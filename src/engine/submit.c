/* SPDX-License-Identifier: Apache-2.0 */
/* The way in: whether a write may begin, its staging, and the queue to the committer. */
#include "engine/engine_private.h"

#include "registry/shared.h"
#include "tier/unit.h"

#include <stdlib.h>

bool vv_engine_is_head_full(struct vv_engine *engine)
{
    struct vv_head_figures head;
    vv_head_read_figures(engine->head, &head);
    return head.bytes >= (uint64_t)engine->settings.head_bytes_max;
}

enum vv_status vv_engine_admit(struct vv_engine *engine, struct vv_error *error)
{
    pthread_mutex_lock(&engine->lock);
    bool stopping = engine->stopping;
    bool crowded = engine->queue.bytes > (size_t)engine->settings.head_bytes_max / 4;
    pthread_mutex_unlock(&engine->lock);
    if (stopping) {
        return vv_error_set(error, VV_CANCELLED, "the server is stopping: send again later");
    }
    if (atomic_load(&engine->recovering)) {
        return vv_error_set(error, VV_OVERLOAD,
                            "the server is replaying its journal: send again in some seconds");
    }
    if (atomic_load(&engine->reserve_reached)) {
        return vv_error_set(error, VV_FULL,
                            "the disk's free space is below store.disk_reserve_bytes: free some "
                            "space, or shorten the retention");
    }
    if (atomic_load(&engine->store_failed) && !engine->outlasts_store) {
        return vv_error_set(error, VV_IO, "the store cannot be written: see the server's log");
    }
    if (crowded || vv_engine_is_head_full(engine)) {
        return vv_error_set(error, VV_OVERLOAD,
                            "the memory for points that wait for the store is full "
                            "(head.bytes_max): send again later");
    }
    return VV_OK;
}

int64_t vv_engine_build_wait_ns(const struct vv_engine *engine, struct vv_late late)
{
    bool folds = late.policy == VV_LATE_SEPARATE;
    return VV_TIERS_SLACK_NS + (folds ? engine->settings.late_fold_every_ns : 0);
}

/* A unit of any tier must find all that it is built of, at its start, too; late points that are
 * kept apart, when they are folded. */
int64_t vv_engine_age_by(const struct vv_engine *engine, const struct vv_retentions *retentions,
                         struct vv_late late)
{
    int64_t age_ns = retentions->raw_ns;
    int64_t finer_ns = age_ns;
    int64_t wait_ns = vv_engine_build_wait_ns(engine, late);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        if (retentions->tiers_ns[tier] == VV_SPACE_OFF_NS) {
            continue;
        }
        if (finer_ns > 0) {
            int64_t left_ns = finer_ns - vv_tier_unit_ns_max((enum vv_space)tier) - wait_ns;
            left_ns = left_ns > 1 ? left_ns : 1;
            age_ns = age_ns == 0 || left_ns < age_ns ? left_ns : age_ns;
        }
        finer_ns = vv_retention_longer(finer_ns, retentions->tiers_ns[tier]);
    }
    return age_ns;
}

struct vv_retentions vv_engine_retentions(const struct vv_engine *engine, uint32_t place)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, place);
    struct vv_retentions retentions = {.raw_ns = vv_registry_retention(engine->registry, place)};
    for (int i = 0; i < VV_SPACES; i++) {
        bool is_on = tiers.spaces[i] != VV_REGISTRY_NONE;
        retentions.tiers_ns[i] =
            is_on ? vv_registry_retention(engine->registry, tiers.spaces[i]) : VV_SPACE_OFF_NS;
    }
    return retentions;
}

int64_t vv_engine_accepted_age(const struct vv_engine *engine, uint32_t place)
{
    struct vv_retentions retentions = vv_engine_retentions(engine, place);
    return vv_engine_age_by(engine, &retentions, vv_registry_late(engine->registry, place));
}

/* Where nodes share the store, and tiers are built of points, a longer retention counts when all
 * nodes know of it: what one of them put before that may go when the shorter one said. */
static bool await_longer(struct vv_engine *engine, uint32_t number, int64_t *kept_ns)
{
    bool awaits = false;
    struct vv_whole whole = vv_registry_whole(engine->registry, number);
    int64_t now = engine->clock->wall_ns(engine->clock);
    for (size_t i = 0; i < whole.n; i++) {
        int64_t before_ns = whole.longer[i].kept_ns; /* 0: the tier was off */
        bool counts = now < whole.longer[i].from && before_ns > 0;
        if (counts && vv_retention_is_longer(*kept_ns, before_ns)) {
            *kept_ns = before_ns;
            awaits = true;
        }
    }
    return awaits;
}

/* What was switched off beside that goes on for longer than that takes: else nothing might be left
 * that coarser tiers are built of, and no point would be taken. */
static void add_ending(struct vv_engine *engine, uint32_t place, struct vv_retentions *retentions)
{
    struct vv_tiers built = vv_registry_tiers_built(engine->registry, place);
    int64_t now = engine->clock->wall_ns(engine->clock);
    for (int i = 0; i < VV_SPACES; i++) {
        bool is_ending = built.spaces[i] != VV_REGISTRY_NONE &&
                         vv_registry_is_ending(engine->registry, built.spaces[i]);
        retentions->tiers_ns[i] = is_ending
                                      ? vv_registry_life(engine->registry, built.spaces[i], now)
                                      : retentions->tiers_ns[i];
    }
}

static int64_t accepted_age_now(struct vv_engine *engine, uint32_t place)
{
    struct vv_tiers tiers = vv_registry_tiers(engine->registry, place);
    struct vv_retentions retentions = vv_engine_retentions(engine, place);
    bool awaits = tiers.any && await_longer(engine, place, &retentions.raw_ns);
    for (int i = 0; i < VV_SPACES; i++) {
        if (tiers.spaces[i] != VV_REGISTRY_NONE) {
            awaits |= await_longer(engine, tiers.spaces[i], &retentions.tiers_ns[i]);
        }
    }
    if (awaits) {
        add_ending(engine, place, &retentions);
    }
    return vv_engine_age_by(engine, &retentions, vv_registry_late(engine->registry, place));
}

static void stage_classes(struct vv_engine *engine, uint32_t tenant,
                          struct vv_staging_options *options)
{
    uint32_t classes[VV_CLASSES_OF_TENANT_MAX];
    options->n_classes = vv_registry_classes(engine->registry, tenant, classes);
    for (size_t i = 0; i < options->n_classes; i++) {
        options->classes[i] = (struct vv_staging_class){
            .place = classes[i],
            .retention_ns = accepted_age_now(engine, classes[i]),
            .freezes = vv_registry_tiers(engine->registry, classes[i]).any,
        };
    }
}

enum vv_status vv_engine_stage(struct vv_engine *engine, struct vv_str tenant,
                               struct vv_staging *staging_out, struct vv_error *error)
{
    uint32_t number;
    uint64_t turn = atomic_load(&engine->lives_turn); /* before anything is judged */
    enum vv_status status = vv_registry_tenant(engine->registry, tenant, true, &number, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_late late = vv_registry_late(engine->registry, number);
    struct vv_staging_options options = {
        .registry = engine->registry,
        .turn = turn,
        .tenant = number,
        .now_ns = engine->clock->wall_ns(engine->clock),
        .future_ns_max = engine->settings.future_ns_max,
        .past_ns_max = engine->settings.past_ns_max,
        .retention_ns = accepted_age_now(engine, number),
        .freezes = vv_registry_tiers(engine->registry, number).any,
        .late_ns_max = late.policy == VV_LATE_REFUSE ? late.limit_ns : 0,
        .fields_max = (uint32_t)engine->settings.fields_max,
        .line_bytes_max = (uint32_t)engine->settings.line_bytes_max,
    };
    stage_classes(engine, number, &options);
    vv_frozen_stage(engine, &options);
    status = vv_staging_init(staging_out, &options);
    if (status != VV_OK) {
        return vv_error_set(error, status, "out of memory: send again later");
    }
    return VV_OK;
}

/* What waits of history is bounded by itself: it must not have live data refused, and while that
 * comes whoever sends it should be answered before losing patience. */
static bool is_crowded(const struct vv_engine *engine, const struct vv_submission *submission)
{
    size_t part = (size_t)engine->settings.head_bytes_max / 8;
    bool is_live = vv_history_is_live(&engine->history, submission->queued_ns);
    return submission->is_history ? engine->queue.history_bytes > (is_live ? part : 3 * part)
                                  : engine->queue.bytes > 3 * part;
}

static enum vv_status enqueue(struct vv_engine *engine, struct vv_submission *submission)
{
    enum vv_status status = VV_OK;
    pthread_mutex_lock(&engine->lock);
    if (engine->stopping) {
        status = VV_CANCELLED;
    } else if (atomic_load(&engine->recovering) || is_crowded(engine, submission)) {
        status = VV_OVERLOAD;
    } else {
        vv_queue_add(&engine->queue, submission);
        if (submission->batch->points > 0 && !submission->is_history) {
            vv_history_note_live(&engine->history, submission->queued_ns);
        }
        pthread_cond_signal(&engine->committer_wakes);
    }
    pthread_mutex_unlock(&engine->lock);
    return status;
}

static bool is_history(const struct vv_engine *engine, const struct vv_batch *batch)
{
    int64_t before_ns = engine->clock->wall_ns(engine->clock) - engine->settings.history_age_ns;
    return engine->history.percent < 100 && vv_history_has(batch, before_ns);
}

static void submit(struct vv_engine *engine, struct vv_batch *take_batch, bool to_store,
                   vv_write_done done, void *context)
{
    struct vv_submission *submission = calloc(1, sizeof *submission);
    enum vv_status status = VV_NO_MEMORY;
    if (submission) {
        *submission = (struct vv_submission){.batch = take_batch,
                                             .tenant = take_batch->tenant,
                                             .to_store = to_store,
                                             .done = done,
                                             .context = context};
        submission->queued_ns = engine->clock->monotonic_ns(engine->clock);
        submission->is_history = is_history(engine, take_batch);
        status = enqueue(engine, submission);
    }
    if (status == VV_OK) {
        return;
    }
    struct vv_account_cell *cell = vv_account_of(engine, take_batch->tenant);
    if (cell && take_batch->points) {
        atomic_fetch_add(&cell->refused[VV_REASON_OVERLOAD], take_batch->points);
    }
    done(context, status,
         status == VV_CANCELLED ? "the server is stopping: send again later"
                                : "too many points wait to be written: send again later");
    vv_batch_destroy(take_batch);
    free(submission);
}

void vv_engine_submit(struct vv_engine *engine, struct vv_batch *take_batch, vv_write_done done,
                      void *context)
{
    submit(engine, take_batch, false, done, context);
}

void vv_engine_submit_to_store(struct vv_engine *engine, struct vv_batch *take_batch,
                               vv_write_done done, void *context)
{
    submit(engine, take_batch, true, done, context);
}
