/* SPDX-License-Identifier: Apache-2.0 */
/* Retention: which class a tenant's blocks go to, and dropping the eras that have expired. */
#include "store/rocksdb/rocksdb.h"

#define DROPS_MAX 8 /* in one call of expire() */

/* Whether the era holds any block of the tenant under the generation. */
static enum vv_status era_has_blocks(struct vv_rocksdb *rocksdb, const struct vv_rocksdb_era *era,
                                     uint32_t tenant, uint32_t generation, bool *has_out,
                                     struct vv_error *error)
{
    uint8_t prefix[VV_GENERATION_PREFIX_SIZE];
    vv_rocksdb_key_generation(tenant, generation, prefix);
    return vv_rocksdb_has_prefix(rocksdb, era->family,
                                 (struct vv_str){(char *)prefix, sizeof prefix}, has_out, error);
}

enum vv_status vv_rocksdb_class_has_blocks(struct vv_rocksdb *rocksdb, uint32_t tenant,
                                           const struct vv_rocksdb_class *class, bool *has_out,
                                           struct vv_error *error)
{
    *has_out = false;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < rocksdb->eras.n && !*has_out && status == VV_OK; i++) {
        const struct vv_rocksdb_era *era = rocksdb->eras.list[i];
        if (era->era.retention_s == class->retention_s) {
            status = era_has_blocks(rocksdb, era, tenant, class->generation, has_out, error);
        }
    }
    return status;
}

/* Makes room for another class when a tenant's retention has changed again and again before
 * expire() could move its blocks: moves them now, all of them, wherever they lie. */
static enum vv_status finish_moves(struct vv_rocksdb *rocksdb, struct vv_rocksdb_tenant *where,
                                   struct vv_error *error)
{
    uint64_t work_left = UINT64_MAX;
    enum vv_status status = vv_rocksdb_move(rocksdb, where->tenant, INT64_MIN, &work_left, error);
    vv_rocksdb_tenants_get(rocksdb, where->tenant, where);
    return status;
}

enum vv_status vv_rocksdb_set_retention(struct vv_store *store, uint32_t tenant,
                                        int64_t retention_ns, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    if (retention_ns < 0) {
        return vv_error_set(error, VV_INVALID, "a retention must not be negative");
    }
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    int64_t retention_s = vv_era_retention_s(retention_ns);
    struct vv_rocksdb_tenant where;
    vv_rocksdb_tenants_get(rocksdb, tenant, &where);
    if (where.classes[where.n - 1].retention_s == retention_s) {
        return VV_OK;
    }
    uint32_t generation = where.classes[where.n - 1].generation;
    bool has;
    status = vv_rocksdb_class_has_blocks(rocksdb, tenant, &where.classes[where.n - 1], &has, error);
    if (status != VV_OK) {
        return status;
    }
    if (!has) {
        where.n--; /* nothing to be moved from there */
    }
    if (where.n > 0 && where.classes[where.n - 1].retention_s == retention_s) {
        return vv_rocksdb_tenants_set(rocksdb, &where, error);
    }
    if (where.n == VV_CLASSES_MAX) {
        status = finish_moves(rocksdb, &where, error);
    }
    if (status != VV_OK) {
        return status;
    }
    where.classes[where.n++] = (struct vv_rocksdb_class){generation + 1, retention_s};
    return vv_rocksdb_tenants_set(rocksdb, &where, error);
}

/* Whether the era must wait for a tenant that is moving: because blocks in it are still to be moved
 * out, or because what they replace may be left over in an older class and must not be seen again.
 */
static enum vv_status is_awaited(struct vv_rocksdb *rocksdb, const struct vv_rocksdb_era *era,
                                 bool *awaited_out, struct vv_error *error)
{
    *awaited_out = false;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < rocksdb->tenants.n; i++) {
        const struct vv_rocksdb_tenant *where = &rocksdb->tenants.list[i];
        bool moving = where->n > 1;
        for (uint32_t j = 0; moving && j < where->n && !*awaited_out && status == VV_OK; j++) {
            if (where->classes[j].retention_s == era->era.retention_s) {
                status = era_has_blocks(rocksdb, era, where->tenant, where->classes[j].generation,
                                        awaited_out, error);
            }
        }
    }
    return status;
}

/* Drops a few eras at most: each takes a while. */
static enum vv_status drop_expired(struct vv_rocksdb *rocksdb, int64_t now_ns, bool *more_out,
                                   struct vv_error *error)
{
    int dropped = 0;
    enum vv_status status = VV_OK;
    for (size_t i = rocksdb->eras.n; i > 0 && status == VV_OK; i--) {
        struct vv_rocksdb_era *era = rocksdb->eras.list[i - 1];
        bool awaited = false;
        if (!vv_era_expired(&era->era, rocksdb->era_count, now_ns)) {
            continue;
        }
        if (dropped == DROPS_MAX) {
            *more_out = true;
            break;
        }
        status = is_awaited(rocksdb, era, &awaited, error);
        if (status == VV_OK && !awaited) {
            status = vv_rocksdb_eras_drop(rocksdb, era, error);
            dropped++;
        }
    }
    pthread_mutex_lock(&rocksdb->lock);
    rocksdb->eras_expired += (uint64_t)dropped;
    pthread_mutex_unlock(&rocksdb->lock);
    return status;
}

enum vv_status vv_rocksdb_expire(struct vv_store *store, int64_t now_ns, uint64_t work_bytes,
                                 bool *more_out, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    *more_out = false;
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    uint64_t work_left = work_bytes;
    for (size_t i = 0; i < rocksdb->tenants.n && status == VV_OK; i++) {
        if (rocksdb->tenants.list[i].n > 1 && work_left > 0) {
            uint32_t tenant = rocksdb->tenants.list[i].tenant;
            status = vv_rocksdb_move(rocksdb, tenant, now_ns, &work_left, error);
        }
        *more_out |= rocksdb->tenants.list[i].n > 1;
    }
    status = status == VV_OK ? drop_expired(rocksdb, now_ns, more_out, error) : status;
    return status == VV_OK ? vv_rocksdb_reclaim_step(rocksdb, now_ns, error) : status;
}
