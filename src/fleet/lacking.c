/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of which tenants a source or metric that others told was left out here: what is made of all their
 * sources can't be made by this node. What is left out is not visited again by and by, so this is
 * kept beside what was learnt, in the same confirm. It ends when all that is told was read once
 * more, as after a start with higher limits, and nothing of it was left out.
 *
 * Metadata of kind VV_META_FLEET, key "lacking": u64 hashes of tenants' names; one more than may be
 * noted stands for any.
 */
#include "fleet/fleet_private.h"

#include "base/random.h"

#define LACKING_KEY VV_STR_LITERAL("lacking")

static uint64_t hash_of(struct vv_str name)
{
    struct vv_random random = {name.size};
    for (size_t i = 0; i < name.size; i++) {
        random.state = random.state * 31 + (uint8_t)name.data[i];
    }
    return vv_random_next(&random);
}

/* All that is told has been read so often, as far as the store says. */
static uint64_t learnt_all(const struct vv_fleet *fleet)
{
    uint64_t (*ask)(struct vv_store *) = vv_fleet_ops(fleet)->learnt_all;
    return ask ? ask(fleet->store) : 0;
}

/* More than may be noted. */
static bool lacks_all(const struct vv_fleet *fleet)
{
    return fleet->n_lacking > VV_FLEET_LACKING_MAX;
}

static struct vv_fleet_lacking *find(struct vv_fleet *fleet, uint64_t hash)
{
    struct vv_fleet_lacking *end = fleet->lacking + fleet->n_lacking;
    struct vv_fleet_lacking *at = fleet->lacking;
    while (at < end && at->tenant != hash) {
        at++;
    }
    return at < end ? at : NULL;
}

/* What comes when there is no more room is noted with the last one, which stands for all. */
static void note(struct vv_fleet *fleet, uint64_t hash, uint64_t time)
{
    struct vv_fleet_lacking *found = find(fleet, hash);
    if (!found && lacks_all(fleet)) {
        found = &fleet->lacking[VV_FLEET_LACKING_MAX];
    } else if (!found) {
        found = &fleet->lacking[fleet->n_lacking++];
        *found = (struct vv_fleet_lacking){.tenant = hash};
        fleet->lacking_version++;
    }
    found->time = found->time > time ? found->time : time;
    atomic_store_explicit(&fleet->lacks_names, true, memory_order_release);
}

/* ---- what is left out ---- */

/* Without the definition of a source, or of a metric, something is not known here that others know;
 * without a plan for which there was no room, where it is. What else this node does not take of a
 * source is not asked for. */
static bool is_unknown(const struct vv_fleet *fleet, const struct vv_told *told,
                       enum vv_status refusal)
{
    uint32_t tenant;
    uint32_t source;
    if (told->kind == VV_TOLD_TENANT || told->kind == VV_TOLD_HEARD) {
        return false;
    }
    if (told->kind == VV_TOLD_METRIC || told->kind == VV_TOLD_MEASUREMENT ||
        told->kind == VV_TOLD_MOVE) {
        return true;
    }
    if (told->kind == VV_TOLD_PLAN && refusal == VV_TOO_LARGE) {
        return true;
    }
    return vv_registry_tenant(fleet->registry, told->tenant, false, &tenant, NULL) != VV_OK ||
           vv_registry_source_by_id(fleet->registry, tenant, told->name, &source) != VV_OK;
}

/* What this node itself has told is read at its start only. */
void vv_fleet_note_lacking(struct vv_fleet *fleet, const struct vv_told *told,
                           enum vv_status refusal)
{
    bool is_own = told->node == vv_fleet_ops(fleet)->node(fleet->store);
    if (told->region == 0 &&
        is_unknown(fleet, told, refusal)) { /* of other regions nothing is made here */
        note(fleet, hash_of(told->tenant), is_own ? UINT64_MAX : learnt_all(fleet) + 1);
    }
}

bool vv_fleet_lacks_any(struct vv_fleet *fleet, struct vv_str tenant)
{
    pthread_mutex_lock(&fleet->learning);
    bool lacks = lacks_all(fleet) || find(fleet, hash_of(tenant)) != NULL;
    pthread_mutex_unlock(&fleet->learning);
    return lacks;
}

/* ---- what is not any more ---- */

/* All that is told has been visited since. A reading may have been under way when it was noted, or
 * not yet begun: so a second one has to have ended, but for what an earlier process noted. */
static bool is_over(const struct vv_fleet_lacking *lacking, uint64_t now)
{
    return lacking->time < now;
}

void vv_fleet_forget_lacking(struct vv_fleet *fleet)
{
    uint64_t now = learnt_all(fleet);
    size_t before = fleet->n_lacking;
    size_t kept = 0;
    /* While there is more than is noted, whose it is can't be told. */
    bool keeps_all = lacks_all(fleet) && !is_over(&fleet->lacking[VV_FLEET_LACKING_MAX], now);
    for (size_t i = 0; i < before; i++) {
        if (keeps_all || !is_over(&fleet->lacking[i], now)) {
            fleet->lacking[kept++] = fleet->lacking[i];
        }
    }
    fleet->n_lacking = kept;
    fleet->lacking_version += kept != before;
    atomic_store_explicit(&fleet->lacks_names, kept > 0, memory_order_release);
}

bool vv_fleet_leaves_out(const struct vv_fleet *fleet)
{
    return vv_fleet_lacks(fleet) || atomic_load_explicit(&fleet->lacks_names, memory_order_acquire);
}

/* ---- what is kept ---- */

enum vv_status vv_fleet_put_lacking(struct vv_fleet *fleet, struct vv_error *error)
{
    struct vv_buffer value = {0};
    if (fleet->lacking_version == fleet->lacking_kept) {
        return VV_OK;
    }
    for (size_t i = 0; i < fleet->n_lacking; i++) {
        vv_buffer_u64(&value, fleet->lacking[i].tenant);
    }
    enum vv_status status = vv_buffer_status(&value);
    if (status == VV_OK) {
        const struct vv_str bytes = {value.size ? (const char *)value.data : "", value.size};
        status =
            fleet->store->ops->put_meta(fleet->store, VV_META_FLEET, LACKING_KEY, bytes, error);
    } else {
        vv_error_set(error, status, "out of memory while keeping what was learnt");
    }
    vv_buffer_deinit(&value);
    return status;
}

enum vv_status vv_fleet_load_lacking(struct vv_fleet *fleet, struct vv_error *error)
{
    struct vv_buffer value = {0};
    enum vv_status status =
        fleet->store->ops->get_meta(fleet->store, VV_META_FLEET, LACKING_KEY, &value, error);
    struct vv_reader reader = vv_reader_of(value.data, value.size);
    while (status == VV_OK && vv_reader_left(&reader) >= 8) {
        note(fleet, vv_reader_u64(&reader), 0);
    }
    fleet->lacking_kept = fleet->lacking_version;
    vv_buffer_deinit(&value);
    return status == VV_NOT_FOUND ? VV_OK : status;
}
