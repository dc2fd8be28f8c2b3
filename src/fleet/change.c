/* SPDX-License-Identifier: Apache-2.0 */
/* A plan that changes at a date ahead, agreed with the other nodes. */
#include "fleet/fleet_private.h"

/* With those before it, so that it can be taken by itself. What others have added meanwhile lies
 * ahead as well, and stays. */
static enum vv_status take(struct vv_fleet *fleet, uint32_t source, const struct vv_plan *plan,
                           struct vv_error *error)
{
    struct vv_plan plans[VV_PLANS_MAX];
    pthread_mutex_lock(&fleet->lock);
    struct vv_plans known = vv_registry_source_plans(fleet->registry, source);
    size_t n = 0;
    while (n < known.n && n < VV_PLANS_MAX - 1 && known.plans[n].from_ns < plan->from_ns) {
        plans[n] = known.plans[n];
        n++;
    }
    plans[n] = *plan;
    enum vv_status status =
        vv_registry_learn_plans(fleet->registry, source, 0, plans, n + 1, error);
    pthread_mutex_unlock(&fleet->lock);
    return status;
}

enum vv_status vv_fleet_change_plan(struct vv_fleet *fleet, uint32_t source, struct vv_plan *plan,
                                    struct vv_error *error)
{
    struct vv_first_plan one = {.tenant = vv_registry_source_tenant(fleet->registry, source),
                                .source = source,
                                .plan = *plan};
    enum vv_status status = vv_fleet_ops(fleet)->agree_plans(fleet->store, &one, 1, error);
    if (status == VV_OK) {
        *plan = one.plan;
        status = take(fleet, source, plan, error);
    }
    return status == VV_OK ? vv_fleet_tell(fleet, VV_REGISTRY_SOURCE, source, error) : status;
}
