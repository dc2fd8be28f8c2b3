/* SPDX-License-Identifier: Apache-2.0 */
/* What of a tenant and a range waits to be sealed, or to be built into tiers. */
#include "engine/engine_private.h"

struct counting {
    const struct vv_engine *engine;
    uint32_t tenant;
    int64_t from;
    int64_t to;
    int64_t now_ns;
    struct vv_sealing *sealing;
    size_t n_damaged;
    struct vv_span_key damaged[VV_SEAL_DAMAGED_MAX];
};

static bool is_damaged(const struct counting *counting, const struct vv_mark *mark)
{
    for (size_t i = 0; i < counting->n_damaged; i++) {
        if (vv_span_key_compare(&counting->damaged[i], &mark->key) == 0) {
            return true;
        }
    }
    return false;
}

static enum vv_status count_mark(void *context, const struct vv_mark *mark)
{
    struct counting *counting = context;
    struct vv_sealing *sealing = counting->sealing;
    struct vv_registry *registry = counting->engine->registry;
    uint32_t tenant = vv_registry_owner(registry, mark->key.partition.tenant);
    uint32_t same;
    enum vv_space tier = VV_SPACE_MINUTE;
    bool is_unit = vv_registry_space_of(registry, mark->key.partition.tenant, &same, &tier);
    int64_t end = mark->key.span_start + mark->span_ns;
    bool is_meant = tenant == counting->tenant && mark->key.span_start < counting->to &&
                    end > counting->from && !vv_volume_is_marked(registry, mark);
    if (!is_meant) {
        return VV_OK;
    }
    if (is_damaged(counting, mark)) {
        sealing->damaged++;
    } else if (end > counting->now_ns) {
        sealing->open++;
    } else {
        sealing->due += mark->due_ns <= counting->now_ns;
        sealing->units[tier] += is_unit;
        sealing->spans += !is_unit;
    }
    return VV_OK;
}

/* Of the tenant and its classes, in the first part that is asked for. */
static void count_kept(struct vv_engine *engine, struct counting *counting)
{
    pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->n_kept_units; i++) {
        const struct vv_kept_unit *unit = &engine->kept_units[i];
        uint32_t owner = vv_registry_owner(engine->registry, unit->key.partition.tenant);
        counting->sealing->kept += owner == counting->tenant &&
                                   unit->key.span_start < counting->to && unit->to > counting->from;
    }
    pthread_mutex_unlock(&engine->lock);
}

static void count_deletion(void *context, uint32_t source, const struct vv_marker *marker)
{
    struct counting *counting = context;
    counting->sealing->deletions +=
        vv_registry_source_tenant(counting->engine->registry, source) == counting->tenant &&
        marker->from < counting->to && marker->to > counting->from;
}

enum vv_status vv_engine_read_sealing(struct vv_engine *engine, struct vv_str tenant, int64_t from,
                                      int64_t to, uint32_t *part, uint64_t marks_max,
                                      struct vv_sealing *sealing_out, struct vv_error *error)
{
    struct vv_store *store = engine->store;
    struct counting counting = {.engine = engine,
                                .from = from,
                                .to = to,
                                .now_ns = engine->clock->wall_ns(engine->clock),
                                .sealing = sealing_out};
    *sealing_out = (struct vv_sealing){0};
    if (engine->fleet) {
        vv_fleet_learn_for_reader(engine->fleet); /* what others have marked has names */
    }
    enum vv_status status =
        vv_registry_tenant(engine->registry, tenant, false, &counting.tenant, error);
    if (status != VV_OK) {
        return status;
    }
    pthread_mutex_lock(&engine->lock);
    counting.n_damaged = engine->n_damaged;
    memcpy(counting.damaged, engine->damaged, engine->n_damaged * sizeof engine->damaged[0]);
    pthread_mutex_unlock(&engine->lock);
    if (*part == 0) {
        count_kept(engine, &counting);
        vv_deletions_visit(engine->deletions, VV_MARKER_UNSWEPT, count_deletion, &counting);
    }
    const struct vv_shared_ops *shared = store->ops->shared;
    if (shared && shared->look_at_marks) { /* nothing is due before it is over */
        return shared->look_at_marks(store, from, part, marks_max, count_mark, &counting, error);
    }
    *part = VV_MARKS_END;
    return store->ops->scan_marks(store, INT64_MAX, NULL, count_mark, &counting, error);
}
