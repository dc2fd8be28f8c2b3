/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants want done with points that come late. */
#include "engine/engine_private.h"

struct vv_late vv_engine_late_of(const struct vv_settings *settings)
{
    struct vv_late late = {VV_LATE_ACCEPT, 0};
    bool found = vv_late_of_word(vv_str_of(settings->late_policy), &late.policy);
    vv_invariant(found);
    late.limit_ns = late.policy == VV_LATE_ACCEPT ? 0 : settings->late_limit_ns;
    return late;
}

static enum vv_status check(struct vv_engine *engine, struct vv_late late, struct vv_error *error)
{
    (void)engine;
    if (late.policy == VV_LATE_SEPARATE) {
        return vv_error_set(error, VV_INVALID,
                            "late points can't be kept apart yet: take accept or refuse");
    }
    if (!vv_late_is_good(late)) {
        return vv_error_set(error, VV_INVALID,
                            "the limit for late points must be whole seconds, from 1s to 36525d");
    }
    return VV_OK;
}

static enum vv_status journal(struct vv_engine *engine, uint32_t tenant, struct vv_error *error)
{
    struct vv_batch *batch = NULL;
    enum vv_status status = vv_batch_create(tenant, &batch);
    if (status == VV_OK) {
        status = vv_batch_define(batch, VV_REGISTRY_TENANT, tenant);
    }
    if (status != VV_OK) {
        vv_batch_destroy(batch);
        return vv_error_set(error, status, "out of memory: try again later");
    }
    return vv_engine_journal(engine, batch, error);
}

static enum vv_status change(struct vv_engine *engine, uint32_t tenant,
                             const struct vv_late_wish *wish, struct vv_error *error)
{
    struct vv_late before = vv_registry_late(engine->registry, tenant);
    struct vv_late after = before;
    after.policy = wish->has_policy ? wish->policy : before.policy;
    after.limit_ns = wish->limit_ns > 0 ? wish->limit_ns : before.limit_ns;
    if (after.limit_ns == 0 && after.policy != VV_LATE_ACCEPT) {
        after.limit_ns = engine->settings.late_limit_ns;
    }
    enum vv_status status = check(engine, after, error);
    if (status != VV_OK) {
        return status;
    }
    vv_registry_set_late(engine->registry, tenant, after);
    status = journal(engine, tenant, error);
    if (status != VV_OK && status != VV_UNKNOWN) {
        vv_registry_set_late(engine->registry, tenant, before);
    }
    return status;
}

enum vv_status vv_engine_set_late(struct vv_engine *engine, struct vv_str tenant,
                                  const struct vv_late_wish *wish, struct vv_error *error)
{
    uint32_t number;
    pthread_mutex_lock(&engine->retentions_lock);
    enum vv_status status = vv_engine_create_tenant(engine, tenant, error);
    if (status == VV_OK) {
        status = vv_registry_tenant(engine->registry, tenant, false, &number, error);
    }
    if (status == VV_OK) {
        status = change(engine, number, wish, error);
    }
    pthread_mutex_unlock(&engine->retentions_lock);
    return status;
}
