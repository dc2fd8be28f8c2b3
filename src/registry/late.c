/* SPDX-License-Identifier: Apache-2.0 */
/* What tenants want done with late points. One word each, changed under the tenants' lock. */
#include "registry/registry_private.h"

struct vv_late vv_registry_late(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, vv_registry_owner(registry, number));
    return vv_late_unpack(tenant ? atomic_load_explicit(&tenant->late, memory_order_relaxed) : 0);
}

static void set(struct vv_tenant *tenant, struct vv_late late, vv_stamp stamp)
{
    atomic_store_explicit(&tenant->late, vv_late_pack(late), memory_order_relaxed);
    atomic_store_explicit(&tenant->late_stamp, stamp, memory_order_relaxed);
    vv_state_change(&tenant->state);
}

void vv_registry_set_late(struct vv_registry *registry, uint32_t number, struct vv_late late)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    vv_invariant(vv_late_is_good(late));
    if (!tenant) {
        return;
    }
    pthread_mutex_lock(&registry->tenants.lock);
    if (atomic_load_explicit(&tenant->late, memory_order_relaxed) != vv_late_pack(late)) {
        vv_stamp before = atomic_load_explicit(&tenant->late_stamp, memory_order_relaxed);
        set(tenant, late, vv_registry_stamp_above(registry, before));
    }
    pthread_mutex_unlock(&registry->tenants.lock);
}

void vv_registry_stamped_late(struct vv_registry *registry, uint32_t number,
                              struct vv_late *late_out, vv_stamp *stamp_out)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    *late_out = (struct vv_late){VV_LATE_ACCEPT, 0};
    *stamp_out = 0;
    if (tenant) {
        pthread_mutex_lock(&registry->tenants.lock);
        *late_out = vv_late_unpack(atomic_load_explicit(&tenant->late, memory_order_relaxed));
        *stamp_out = atomic_load_explicit(&tenant->late_stamp, memory_order_relaxed);
        pthread_mutex_unlock(&registry->tenants.lock);
    }
}

enum vv_status vv_registry_learn_late(struct vv_registry *registry, uint32_t number,
                                      struct vv_late late, vv_stamp stamp, struct vv_error *error)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (!tenant) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such tenant");
    }
    if (!vv_late_is_good(late)) {
        return vv_error_set(error, VV_INVALID, "what is to be done with late points is unknown");
    }
    pthread_mutex_lock(&registry->tenants.lock);
    uint64_t known = atomic_load_explicit(&tenant->late, memory_order_relaxed);
    vv_stamp known_stamp = atomic_load_explicit(&tenant->late_stamp, memory_order_relaxed);
    if (stamp > known_stamp || (stamp == known_stamp && vv_late_pack(late) > known)) {
        set(tenant, late, stamp);
    }
    pthread_mutex_unlock(&registry->tenants.lock);
    return VV_OK;
}
