/* SPDX-License-Identifier: Apache-2.0 */
/* From when on a tenant's points live as long as its present retention says. Under the tenants'
 * lock. */
#include "registry/registry_private.h"

struct vv_whole vv_registry_whole(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    struct vv_whole whole = {0};
    if (tenant) {
        pthread_mutex_lock(&registry->tenants.lock);
        whole = tenant->whole;
        pthread_mutex_unlock(&registry->tenants.lock);
    }
    return whole;
}

/* The later one, and of what was before it the shorter life. */
static struct vv_whole merge(struct vv_whole a, struct vv_whole b)
{
    if (a.from == 0 || b.from == 0) {
        return a.from == 0 ? b : a;
    }
    return (struct vv_whole){.from = a.from > b.from ? a.from : b.from,
                             .kept_ns = a.kept_ns < b.kept_ns ? a.kept_ns : b.kept_ns};
}

void vv_registry_note_whole(struct vv_registry *registry, uint32_t number, struct vv_whole whole)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    vv_invariant(vv_whole_is_good(whole));
    if (!tenant) {
        return;
    }
    pthread_mutex_lock(&registry->tenants.lock);
    struct vv_whole after = merge(tenant->whole, whole);
    if (after.from != tenant->whole.from || after.kept_ns != tenant->whole.kept_ns) {
        tenant->whole = after;
        vv_state_change(&tenant->state);
    }
    pthread_mutex_unlock(&registry->tenants.lock);
}
