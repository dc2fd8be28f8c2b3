/* SPDX-License-Identifier: Apache-2.0 */
/* Administration: definitions that are journaled like batches and waited for; flush on request. */
#include "engine/engine_private.h"

#include <stdlib.h>

/* A waiting caller. */
struct outcome {
    struct vv_engine *engine;
    bool known;
    enum vv_status status;
    struct vv_error *error;
};

static void set_outcome(void *context, enum vv_status status, const char *message)
{
    struct outcome *outcome = context;
    pthread_mutex_lock(&outcome->engine->lock);
    outcome->known = true;
    outcome->status = status;
    if (status != VV_OK) {
        vv_error_set(outcome->error, status, "%s", message);
    }
    pthread_cond_broadcast(&outcome->engine->waiters_wake);
    pthread_mutex_unlock(&outcome->engine->lock);
}

enum vv_status vv_engine_journal(struct vv_engine *engine, struct vv_batch *take_batch,
                                 struct vv_error *error)
{
    struct outcome outcome = {.engine = engine, .error = error};
    vv_engine_submit(engine, take_batch, set_outcome, &outcome);
    if (engine->manual) {
        vv_commit_round(engine);
    }
    pthread_mutex_lock(&engine->lock);
    while (!outcome.known) {
        pthread_cond_wait(&engine->waiters_wake, &engine->lock);
    }
    pthread_mutex_unlock(&engine->lock);
    return outcome.status;
}

enum vv_status vv_engine_journal_made(struct vv_engine *engine, enum vv_status made,
                                      struct vv_batch *take_batch, struct vv_error *error)
{
    if (made != VV_OK) {
        vv_batch_destroy(take_batch);
        return vv_error_set(error, made, "out of memory: try again later");
    }
    return vv_engine_journal(engine, take_batch, error);
}

/* Journals a tenant, if it is new, and a metric of it, or none. */
static enum vv_status journal_names(struct vv_engine *engine, uint32_t tenant, uint32_t metric,
                                    struct vv_error *error)
{
    struct vv_batch *batch = NULL;
    enum vv_status status = vv_batch_create(tenant, &batch);
    if (status == VV_OK) {
        status = vv_registry_define_tenant(engine->registry, tenant, batch);
    }
    if (status == VV_OK && metric != VV_REGISTRY_NONE) {
        status = vv_batch_define(batch, VV_REGISTRY_METRIC, metric);
    }
    return vv_engine_journal_made(engine, status, batch, error);
}

enum vv_status vv_engine_create_tenant(struct vv_engine *engine, struct vv_str name,
                                       struct vv_error *error)
{
    uint32_t tenant;
    enum vv_status status = vv_registry_tenant(engine->registry, name, true, &tenant, error);
    if (status == VV_OK && !vv_registry_settled(engine->registry, VV_REGISTRY_TENANT, tenant)) {
        status = journal_names(engine, tenant, VV_REGISTRY_NONE, error);
    }
    return status;
}

/* The metric of exactly this name. */
static enum vv_status metric_named(struct vv_engine *engine, uint32_t tenant, struct vv_str name,
                                   uint32_t *metric_out, struct vv_error *error)
{
    struct vv_buffer escaped = {0};
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '*' || name.data[i] == '?' || name.data[i] == '\\') {
            vv_buffer_u8(&escaped, '\\');
        }
        vv_buffer_u8(&escaped, (uint8_t)name.data[i]);
    }
    struct vv_str pattern = {(const char *)escaped.data, escaped.size};
    uint32_t *metrics = NULL;
    size_t n = 0;
    enum vv_status status = vv_buffer_status(&escaped);
    if (status == VV_OK) {
        status =
            vv_registry_find_metrics(engine->registry, tenant, &pattern, 1, &metrics, &n, error);
    }
    if (status == VV_OK && n == 0) {
        status = vv_error_set(error, VV_NOT_FOUND, "there is no metric %.*s", VV_STR_ARG(name));
    }
    if (status == VV_OK) {
        *metric_out = metrics[0];
    }
    free(metrics);
    vv_buffer_deinit(&escaped);
    return status;
}

enum vv_status vv_engine_describe(struct vv_engine *engine, struct vv_str tenant,
                                  struct vv_str metric, struct vv_str unit,
                                  struct vv_str description, struct vv_error *error)
{
    uint32_t number;
    enum vv_status status = vv_registry_tenant(engine->registry, tenant, false, &number, error);
    if (status != VV_OK) {
        return status;
    }
    uint32_t described;
    status = metric_named(engine, number, metric, &described, error);
    if (status == VV_OK) {
        status = vv_registry_describe(engine->registry, described, unit, description, error);
    }
    if (status == VV_OK) {
        status = journal_names(engine, number, described, error);
    }
    return status;
}

enum vv_status vv_engine_flush(struct vv_engine *engine, bool seal, struct vv_error *error)
{
    vv_invariant(!engine->manual);
    pthread_mutex_lock(&engine->lock);
    uint64_t ticket = ++engine->flush_requested;
    uint64_t seal_ticket = seal ? ++engine->seal_requested : 0;
    engine->seal_after = seal ? ticket : engine->seal_after;
    pthread_cond_broadcast(&engine->committer_wakes);
    pthread_cond_broadcast(&engine->storage_wakes);
    while (!engine->committed && !atomic_load(&engine->store_failed) &&
           (engine->flush_done < ticket || engine->seal_done < seal_ticket)) {
        pthread_cond_wait(&engine->waiters_wake, &engine->lock);
    }
    bool finished = engine->flush_done >= ticket && engine->seal_done >= seal_ticket;
    bool some_wait = seal && engine->seal_given_up >= seal_ticket;
    pthread_mutex_unlock(&engine->lock);
    if (finished && some_wait) {
        return vv_error_set(error, VV_OVERLOAD,
                            "all is flushed, but some spans wait to be sealed until a part of the "
                            "store is there again: try again later");
    }
    if (!finished) {
        return vv_error_set(error, VV_IO,
                            "the flush did not finish: the store cannot be written, or the server "
                            "is stopping; the journal has everything");
    }
    return VV_OK;
}
