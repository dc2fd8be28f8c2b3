/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers above what is parked: a unit is built of what others can see, and is not built again unless
 * something makes it stale afterwards. So a run that says so waits for the raw data that it is
 * about, and for the runs of finer tiers that it may be built of.
 */
#include "model/space.h"
#include "store/cassandra/cassandra.h"
#include "store/keys.h"

/* What can't be read counts as there. */
static bool has_source(struct vv_cassandra *store, uint32_t tenant, uint32_t source)
{
    uint8_t key[VV_KEY_SOURCE_SIZE];
    vv_key_from_source(tenant, source, key);
    return vv_parked_has_runs(store, key, sizeof key, NULL) != VV_NOT_FOUND;
}

static bool is_named(const struct vv_cassandra *store, struct vv_str name, uint32_t *number_out)
{
    return store->names.tenant_named(store->names.context, name, number_out);
}

/* Of a finer tier, whatever life of it this node knows. */
static bool has_tier(struct vv_cassandra *store, struct vv_str owner, enum vv_space tier,
                     uint32_t source)
{
    bool found = false;
    bool is_known = true;
    for (uint32_t life = 1; life <= VV_SPACE_LIVES_MAX && is_known && !found; life++) {
        struct vv_buffer text = {0};
        char suffix[VV_SPACE_SUFFIX_MAX + 1];
        uint32_t number;
        vv_buffer_str(&text, owner);
        vv_buffer_str(&text, vv_space_suffix(tier, life, suffix));
        const struct vv_str name = {(char *)text.data, text.size};
        is_known = vv_buffer_status(&text) == VV_OK && is_named(store, name, &number);
        found = is_known && has_source(store, number, source);
        vv_buffer_deinit(&text);
    }
    return found;
}

bool vv_parked_below(struct vv_cassandra *store, const struct vv_partition *partition)
{
    enum vv_space tier;
    uint32_t number;
    struct vv_str name = vv_cassandra_tenant(store, partition->tenant);
    if (atomic_load(&store->parking.n_runs) == 0 || !vv_space_of_name(name, &tier)) {
        return false;
    }
    struct vv_str owner = vv_space_tenant_name(name);
    bool found = is_named(store, owner, &number) && has_source(store, number, partition->source);
    found = found || (vv_cassandra_late_space(store, partition->tenant, &number) &&
                      has_source(store, number, partition->source));
    for (int finer = 0; finer < (int)tier && !found; finer++) {
        found = has_tier(store, owner, (enum vv_space)finer, partition->source);
    }
    return found;
}

bool vv_shared_has_parked_below(struct vv_store *base, const struct vv_partition *partition)
{
    return vv_parked_below(vv_cassandra_of(base), partition);
}
