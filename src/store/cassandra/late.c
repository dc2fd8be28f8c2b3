/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Late points that are kept apart: to this store a tenant ("plant/late") whose blocks lie in tables
 * of their own, whose sources have the plans of the tenant that they belong to, and whose runs wait
 * for a fold.
 */
#include "store/cassandra/cassandra.h"

#include "model/space.h"

bool vv_cassandra_is_late(const struct vv_cassandra *store, uint32_t tenant)
{
    return vv_space_is_late_name(vv_cassandra_tenant(store, tenant));
}

static bool is_named(const struct vv_cassandra *store, struct vv_str name, uint32_t *number_out)
{
    return store->names.tenant_named(store->names.context, name, number_out);
}

bool vv_cassandra_late_space(const struct vv_cassandra *store, uint32_t tenant, uint32_t *space_out)
{
    struct vv_str place = vv_space_place_name(vv_cassandra_tenant(store, tenant));
    char suffix[VV_SPACE_SUFFIX_MAX + 1];
    struct vv_buffer name = {0};
    vv_buffer_str(&name, place);
    vv_buffer_str(&name, vv_space_suffix(VV_SPACE_LATE, 1, suffix));
    bool found = !name.failed && place.size > 0 &&
                 is_named(store, (struct vv_str){(char *)name.data, name.size}, space_out);
    vv_buffer_deinit(&name);
    return found;
}

/* Whose plans say where its points lie. */
bool vv_cassandra_is_tentative(struct vv_cassandra *store, const struct vv_partition *partition)
{
    uint32_t tenant = partition->tenant;
    struct vv_parking *parking = &store->parking;
    if (!vv_parking_has_tentative(parking)) {
        return false;
    }
    struct vv_str name = vv_cassandra_tenant(store, tenant);
    bool is_class = vv_space_place_name(name).size == name.size && vv_space_is_name(name);
    if (is_class || vv_space_is_late_name(name)) {
        (void)is_named(store, vv_space_tenant_name(name), &tenant);
    }
    return vv_parking_is_tentative(parking, tenant, partition->source);
}

bool vv_cassandra_may_wait(const struct vv_cassandra *store, uint32_t tenant)
{
    struct vv_str name = vv_cassandra_tenant(store, tenant);
    return vv_space_place_name(name).size < name.size;
}

/* What late points make stale waits as long as they do. */
int64_t vv_cassandra_fold_wait(const struct vv_cassandra *store, uint32_t tenant)
{
    uint32_t late;
    bool waits = store->fold_ns > 0 && vv_cassandra_may_wait(store, tenant) &&
                 vv_cassandra_late_space(store, tenant, &late);
    return waits ? store->fold_ns : 0;
}
