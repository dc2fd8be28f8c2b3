/* SPDX-License-Identifier: Apache-2.0 */
/* Tenants: made under the tenants' lock, found without one. */
#include "registry/registry_private.h"
#include "registry/text.h"

struct wanted {
    struct vv_registry *registry;
    struct vv_str name;
};

static bool is_tenant(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    struct vv_tenant *tenant = vv_tenant_at(wanted->registry, number);
    return tenant && vv_str_equal(vv_text_str(tenant->name), wanted->name);
}

static uint64_t name_hash(struct vv_registry *registry, struct vv_str name)
{
    return vv_registry_hash(registry, VV_REGISTRY_NONE, name);
}

uint32_t vv_tenant_find(struct vv_registry *registry, struct vv_str name)
{
    struct wanted wanted = {registry, name};
    return vv_names_find(&registry->tenant_names, name_hash(registry, name), is_tenant, &wanted);
}

void vv_tenant_deinit(struct vv_registry *registry, struct vv_tenant *tenant)
{
    vv_index_deinit(registry, &tenant->index);
}

enum vv_status vv_tenant_add(struct vv_registry *registry, uint32_t number, struct vv_str name,
                             int64_t retention_ns, uint64_t state)
{
    struct vv_objects *tenants = &registry->tenants;
    struct vv_tenant *tenant = vv_objects_room(tenants, number);
    if (!tenant || !vv_names_reserve(&registry->tenant_names)) {
        return VV_NO_MEMORY;
    }
    struct vv_text *kept = vv_registry_keep_text(registry, name);
    if (!kept || vv_index_init(&tenant->index) != VV_OK) {
        return VV_NO_MEMORY;
    }
    atomic_store_explicit(&tenant->retention_ns, retention_ns, memory_order_relaxed);
    atomic_store_explicit(&tenant->state, state, memory_order_relaxed);
    atomic_store_explicit(&tenant->name, kept, memory_order_release);
    vv_objects_use(tenants, number);
    atomic_fetch_add_explicit(&tenants->live, 1, memory_order_relaxed);
    vv_names_add(&registry->tenant_names, name_hash(registry, name), number);
    return VV_OK;
}

static enum vv_status create_tenant(struct vv_registry *registry, struct vv_str name,
                                    uint32_t *tenant_out, struct vv_error *error)
{
    struct vv_objects *tenants = &registry->tenants;
    *tenant_out = vv_tenant_find(registry, name);
    if (*tenant_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    uint32_t number = vv_objects_end(tenants);
    if (atomic_load(&tenants->live) >= tenants->limit || !vv_objects_can_hold(tenants, number)) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "there are %u tenants, which is the limit: raise it to add more",
                            (unsigned)atomic_load(&tenants->live));
    }
    enum vv_status status = vv_registry_check_room(registry, error);
    if (status == VV_OK) {
        status = vv_tenant_add(registry, number, name, 0, 1 << 1);
    }
    *tenant_out = status == VV_OK ? number : VV_REGISTRY_NONE;
    return status;
}

enum vv_status vv_registry_tenant(struct vv_registry *registry, struct vv_str name, bool create,
                                  uint32_t *tenant_out, struct vv_error *error)
{
    *tenant_out = vv_tenant_find(registry, name);
    if (*tenant_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    enum vv_status status = vv_name_check(name, VV_TENANT_NAME_MAX, "the tenant's name", error);
    if (status != VV_OK) {
        return status == VV_TOO_LARGE ? VV_INVALID : status;
    }
    if (memchr(name.data, '/', name.size)) {
        return vv_error_set(error, VV_INVALID, "the tenant's name contains '/': leave it out");
    }
    if (!create) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no tenant '%.*s'", VV_STR_ARG(name));
    }
    pthread_mutex_lock(&registry->tenants.lock);
    status = create_tenant(registry, name, tenant_out, error);
    pthread_mutex_unlock(&registry->tenants.lock);
    return status;
}

struct vv_str vv_registry_tenant_name(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    return vv_text_str(tenant ? tenant->name : NULL);
}

uint32_t vv_registry_tenant_count(struct vv_registry *registry)
{
    return vv_objects_end(&registry->tenants);
}

int64_t vv_registry_retention(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    return tenant ? atomic_load_explicit(&tenant->retention_ns, memory_order_relaxed) : 0;
}

static void set_retention(struct vv_tenant *tenant, int64_t retention_ns, vv_stamp stamp)
{
    atomic_store_explicit(&tenant->retention_ns, retention_ns, memory_order_relaxed);
    atomic_store_explicit(&tenant->retention_stamp, stamp, memory_order_relaxed);
    vv_state_change(&tenant->state);
}

void vv_registry_set_retention(struct vv_registry *registry, uint32_t number, int64_t retention_ns)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (!tenant) {
        return;
    }
    pthread_mutex_lock(&registry->tenants.lock);
    if (atomic_load_explicit(&tenant->retention_ns, memory_order_relaxed) != retention_ns) {
        vv_stamp before = atomic_load_explicit(&tenant->retention_stamp, memory_order_relaxed);
        set_retention(tenant, retention_ns, vv_registry_stamp_above(registry, before));
    }
    pthread_mutex_unlock(&registry->tenants.lock);
}

void vv_registry_stamped_retention(struct vv_registry *registry, uint32_t number,
                                   int64_t *retention_ns_out, vv_stamp *stamp_out)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    *retention_ns_out = 0;
    *stamp_out = 0;
    if (tenant) {
        pthread_mutex_lock(&registry->tenants.lock);
        *retention_ns_out = atomic_load_explicit(&tenant->retention_ns, memory_order_relaxed);
        *stamp_out = atomic_load_explicit(&tenant->retention_stamp, memory_order_relaxed);
        pthread_mutex_unlock(&registry->tenants.lock);
    }
}

enum vv_status vv_registry_learn_retention(struct vv_registry *registry, uint32_t number,
                                           int64_t retention_ns, vv_stamp stamp,
                                           struct vv_error *error)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, number);
    if (!tenant) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such tenant");
    }
    if (retention_ns < 0) {
        return vv_error_set(error, VV_INVALID, "the retention is negative");
    }
    pthread_mutex_lock(&registry->tenants.lock);
    int64_t known_ns = atomic_load_explicit(&tenant->retention_ns, memory_order_relaxed);
    vv_stamp known = atomic_load_explicit(&tenant->retention_stamp, memory_order_relaxed);
    if (stamp > known || (stamp == known && retention_ns > known_ns)) {
        set_retention(tenant, retention_ns, stamp);
    }
    pthread_mutex_unlock(&registry->tenants.lock);
    return VV_OK;
}
