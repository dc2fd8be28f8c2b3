/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that only another region has told. This node's own region is not told of them, as each of
 * its nodes learns them there; but as soon as this node stores something of them, it tells them
 * like any others, so that what the region has can be found without the other one.
 *
 * Metadata of kind VV_META_FLEET, key "far", kind of the object 1, number 4 (big-endian), without a
 * value, says so of an object; it is gone when the object was told.
 */
#include "fleet/fleet_private.h"

#define KEY_SIZE 8

static struct vv_str key_of(enum vv_registry_kind kind, uint32_t number, uint8_t key_out[KEY_SIZE])
{
    memcpy(key_out, "far", 3);
    key_out[3] = (uint8_t)kind;
    vv_registry_key(number, key_out + 4);
    return (struct vv_str){(const char *)key_out, KEY_SIZE};
}

/* Whether the own region knows the object; also when memory is out. Under the lock. */
static bool is_known(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number)
{
    const uint64_t *tenant;
    const bool *measurement;
    const struct vv_known_metric *metric;
    const struct vv_known_source *source;
    switch (kind) {
    case VV_REGISTRY_TENANT:
        tenant = vv_known_tenant(&fleet->known, number);
        return !tenant || *tenant != 0;
    case VV_REGISTRY_MEASUREMENT:
        measurement = vv_known_measurement(&fleet->known, number);
        return !measurement || *measurement;
    case VV_REGISTRY_METRIC:
        metric = vv_known_metric(&fleet->known, number);
        return !metric || metric->type != 0;
    case VV_REGISTRY_SOURCE:
        source = vv_known_source(&fleet->known, number);
        return !source || source->itself;
    case VV_REGISTRY_TIMES:
        break;
    }
    return true;
}

enum vv_status vv_fleet_put_far(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number,
                                struct vv_error *error)
{
    uint8_t key[KEY_SIZE];
    pthread_mutex_lock(&fleet->lock);
    bool known = is_known(fleet, kind, number);
    pthread_mutex_unlock(&fleet->lock);
    if (known) {
        return VV_OK;
    }
    atomic_store_explicit(&fleet->has_far, true, memory_order_relaxed);
    return fleet->store->ops->put_meta(fleet->store, VV_META_FLEET, key_of(kind, number, key),
                                       (struct vv_str){"", 0}, error);
}

static enum vv_status load_one(void *context, struct vv_str key, struct vv_str value)
{
    struct vv_fleet *fleet = context;
    (void)value;
    if (key.size == KEY_SIZE) {
        const uint8_t *bytes = (const uint8_t *)key.data;
        uint32_t number = (uint32_t)bytes[4] << 24 | (uint32_t)bytes[5] << 16 |
                          (uint32_t)bytes[6] << 8 | bytes[7];
        vv_fleet_note_replayed(fleet, (enum vv_registry_kind)bytes[3], number);
        atomic_store_explicit(&fleet->has_far, true, memory_order_relaxed);
    }
    return VV_OK;
}

enum vv_status vv_fleet_load_far(struct vv_fleet *fleet, struct vv_error *error)
{
    return fleet->store->ops->scan_meta(fleet->store, VV_META_FLEET, VV_STR_LITERAL("far"),
                                        load_one, fleet, error);
}

/* ---- what is used ---- */

enum vv_status vv_fleet_use(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number,
                            struct vv_error *error)
{
    if (!atomic_load_explicit(&fleet->has_far, memory_order_relaxed)) {
        return VV_OK;
    }
    pthread_mutex_lock(&fleet->lock);
    bool known = is_known(fleet, kind, number);
    pthread_mutex_unlock(&fleet->lock);
    if (known) {
        return VV_OK;
    }
    uint8_t key[KEY_SIZE];
    enum vv_status status = vv_fleet_tell(fleet, kind, number, error);
    if (status == VV_OK) {
        status = fleet->store->ops->remove_meta(fleet->store, VV_META_FLEET,
                                                key_of(kind, number, key), error);
    }
    return status;
}
