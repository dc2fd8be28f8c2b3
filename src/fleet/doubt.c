/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources whose plans may have changed without this node having heard of it: the store itself is
 * asked for them, where all plans are agreed on before they are told. What it said holds as long as
 * something heard then would; until then the source is not asked for again.
 */
#include "fleet/fleet_private.h"

/* When it was asked for, in seconds of the monotonic clock and rounded down, and one; 0: never. */
static uint32_t stamp_of(int64_t monotonic_ns)
{
    return (uint32_t)(monotonic_ns / VV_SECOND) + 1;
}

/* The wall time of then, by the clock of now. */
static int64_t wall_of(const struct vv_fleet *fleet, uint32_t asked)
{
    int64_t age =
        fleet->clock->monotonic_ns(fleet->clock) - (int64_t)(asked - 1) * (int64_t)VV_SECOND;
    return fleet->clock->wall_ns(fleet->clock) - age;
}

bool vv_fleet_trusts_plans(struct vv_fleet *fleet, uint32_t source, int64_t until_ns)
{
    pthread_mutex_lock(&fleet->lock);
    bool is_tentative = vv_fleet_is_tentative(fleet, source);
    uint32_t asked =
        source < fleet->known.asked.capacity ? *vv_known_asked(&fleet->known, source) : 0;
    pthread_mutex_unlock(&fleet->lock);
    int64_t end;
    return is_tentative ||
           (asked > 0 && (__builtin_add_overflow(wall_of(fleet, asked), fleet->reach_ns, &end) ||
                          until_ns < end));
}

static enum vv_status take(struct vv_fleet *fleet, const struct vv_plan_doubt *doubt,
                           uint32_t asked, struct vv_error *error)
{
    if (doubt->is_tentative) {
        const struct vv_first_plan plan = {doubt->tenant, doubt->source, doubt->plans[0], true};
        return vv_fleet_note_pending(fleet, &plan, error);
    }
    if (!doubt->is_whole) { /* what is to come later is not for these points */
        return VV_OK;
    }
    pthread_mutex_lock(&fleet->lock);
    uint32_t *place = vv_known_asked(&fleet->known, doubt->source);
    if (place) {
        *place = asked;
    }
    pthread_mutex_unlock(&fleet->lock);
    return VV_OK; /* without memory it is asked for again */
}

enum vv_status vv_fleet_doubt(struct vv_fleet *fleet, struct vv_plan_doubt *doubts, size_t n,
                              struct vv_error *error)
{
    uint32_t asked = stamp_of(fleet->clock->monotonic_ns(fleet->clock));
    for (size_t i = 0; i < n; i++) {
        struct vv_plans plans = vv_registry_source_plans(fleet->registry, doubts[i].source);
        doubts[i].tenant = vv_registry_source_tenant(fleet->registry, doubts[i].source);
        doubts[i].plans = plans.plans;
        doubts[i].n = plans.n;
    }
    enum vv_status status = vv_fleet_ops(fleet)->doubt_plans(fleet->store, doubts, n, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = take(fleet, &doubts[i], asked, error);
    }
    return status;
}
