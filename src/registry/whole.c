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

/* The later one, and of what was before it the shorter life; of lives before a shorter one, too:
 * rather less is taken for whole than is. */
static struct vv_whole merge(struct vv_whole a, struct vv_whole b)
{
    struct vv_whole merged = a.until > b.until ? a : b;
    if (a.until == b.until && a.until > 0) {
        bool is_shorter = a.before_ns != 0 && (b.before_ns == 0 || a.before_ns < b.before_ns);
        merged.before_ns = is_shorter ? a.before_ns : b.before_ns;
    }
    merged.from = a.from > b.from ? a.from : b.from;
    bool is_of_b = a.from == 0 || (b.from > 0 && b.kept_ns < a.kept_ns);
    merged.kept_ns = is_of_b ? b.kept_ns : a.kept_ns;
    return merged;
}

static bool is_same(struct vv_whole a, struct vv_whole b)
{
    return a.from == b.from && a.kept_ns == b.kept_ns && a.until == b.until &&
           a.before_ns == b.before_ns;
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
    if (!is_same(after, tenant->whole)) {
        tenant->whole = after;
        vv_state_change(&tenant->state);
    }
    pthread_mutex_unlock(&registry->tenants.lock);
}

int64_t vv_registry_life(struct vv_registry *registry, uint32_t number, int64_t now_ns)
{
    int64_t retention = vv_registry_retention(registry, number);
    if (retention == 0 || retention == VV_SPACE_OFF_NS) { /* what is off has nothing to live on */
        return retention;
    }
    struct vv_tenant *tenant = vv_tenant_keeper(registry, vv_tenant_at(registry, number));
    pthread_mutex_lock(&registry->tenants.lock);
    struct vv_whole whole = tenant->whole;
    pthread_mutex_unlock(&registry->tenants.lock);
    bool was_longer = whole.before_ns == 0 || whole.before_ns > retention;
    return now_ns < whole.until && was_longer ? whole.before_ns : retention;
}

bool vv_registry_lives_on(struct vv_registry *registry, uint32_t number, int64_t now_ns)
{
    return vv_registry_life(registry, number, now_ns) != vv_registry_retention(registry, number);
}

void vv_registry_end_life(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (tenant) {
        pthread_mutex_lock(&registry->tenants.lock);
        tenant->whole.until = tenant->whole.before_ns = 0;
        pthread_mutex_unlock(&registry->tenants.lock);
    }
}
