/* SPDX-License-Identifier: Apache-2.0 */
/* The classes that tenants' blocks lie in, as records and in memory. */
#include "store/rocksdb/rocksdb.h"

#include <stdlib.h>

#define RECORD_KEY_SIZE 6  /* area, tag, tenant */
#define CLASS_SIZE      12 /* generation, retention */
#define RECORD_SIZE_MAX (VV_CLASSES_MAX * CLASS_SIZE)

_Static_assert(CLASS_SIZE == 4 + 8, "a class is a generation and a retention");

static size_t find(const struct vv_rocksdb_tenants *tenants, uint32_t tenant)
{
    size_t low = 0;
    size_t high = tenants->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tenants->list[middle].tenant < tenant) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool reserve(struct vv_rocksdb *rocksdb)
{
    struct vv_rocksdb_tenants *tenants = &rocksdb->tenants;
    if (tenants->n < tenants->capacity) {
        return true;
    }
    size_t capacity = tenants->capacity ? tenants->capacity * 2 : 16;
    struct vv_rocksdb_tenant *list = realloc(tenants->list, capacity * sizeof *list);
    if (!list) {
        return false;
    }
    tenants->list = list;
    tenants->capacity = capacity;
    return true;
}

/* With room reserved. */
static void place(struct vv_rocksdb_tenants *tenants, const struct vv_rocksdb_tenant *tenant)
{
    size_t at = find(tenants, tenant->tenant);
    if (at == tenants->n || tenants->list[at].tenant != tenant->tenant) {
        memmove(&tenants->list[at + 1], &tenants->list[at],
                (tenants->n - at) * sizeof tenants->list[0]);
        tenants->n++;
    }
    tenants->list[at] = *tenant;
}

static bool parse(struct vv_str key, struct vv_str value, struct vv_rocksdb_tenant *tenant_out)
{
    if (key.size != RECORD_KEY_SIZE || value.size == 0 || value.size % CLASS_SIZE != 0 ||
        value.size > RECORD_SIZE_MAX) {
        return false;
    }
    tenant_out->tenant = vv_key_get_u32((const uint8_t *)key.data + 2);
    tenant_out->n = (uint32_t)(value.size / CLASS_SIZE);
    for (uint32_t i = 0; i < tenant_out->n; i++) {
        const uint8_t *bytes = (const uint8_t *)value.data + i * CLASS_SIZE;
        tenant_out->classes[i].generation = vv_key_get_u32(bytes);
        tenant_out->classes[i].retention_s = vv_key_get_i64(bytes + 4);
    }
    return true;
}

enum vv_status vv_rocksdb_tenants_load(struct vv_rocksdb *rocksdb, struct vv_error *error)
{
    static const char lower[] = {VV_AREA_OWN, VV_OWN_TENANT};
    static const char upper[] = {VV_AREA_OWN, VV_OWN_TENANT + 1};
    struct vv_rocksdb_cursor cursor;
    enum vv_status status =
        vv_rocksdb_cursor_open(rocksdb, rocksdb->base, NULL, (struct vv_str){lower, sizeof lower},
                               (struct vv_str){upper, sizeof upper}, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_iter_seek_to_first(cursor.iterator);
    while (status == VV_OK && vv_rocksdb_cursor_valid(&cursor)) {
        struct vv_rocksdb_tenant tenant = {0};
        if (!parse(vv_rocksdb_cursor_key(&cursor), vv_rocksdb_cursor_value(&cursor), &tenant)) {
            status = vv_error_set(error, VV_CORRUPT,
                                  "the record of a tenant's retention is "
                                  "damaged: restore the store from a backup");
        } else if (!reserve(rocksdb)) {
            status = vv_error_set(error, VV_NO_MEMORY, "no memory for the tenants' retentions");
        } else {
            place(&rocksdb->tenants, &tenant);
        }
        rocksdb_iter_next(cursor.iterator);
    }
    if (status == VV_OK) {
        status = vv_rocksdb_cursor_status(&cursor, error);
    }
    vv_rocksdb_cursor_close(&cursor);
    return status;
}

void vv_rocksdb_tenants_clear(struct vv_rocksdb *rocksdb)
{
    free(rocksdb->tenants.list);
    rocksdb->tenants = (struct vv_rocksdb_tenants){0};
}

void vv_rocksdb_tenants_get(struct vv_rocksdb *rocksdb, uint32_t tenant,
                            struct vv_rocksdb_tenant *tenant_out)
{
    pthread_mutex_lock(&rocksdb->lock);
    const struct vv_rocksdb_tenants *tenants = &rocksdb->tenants;
    size_t at = find(tenants, tenant);
    if (at < tenants->n && tenants->list[at].tenant == tenant) {
        *tenant_out = tenants->list[at];
    } else {
        *tenant_out = (struct vv_rocksdb_tenant){.tenant = tenant, .n = 1};
    }
    pthread_mutex_unlock(&rocksdb->lock);
}

bool vv_rocksdb_tenants_changed(struct vv_rocksdb *rocksdb, const struct vv_rocksdb_tenant *tenant)
{
    struct vv_rocksdb_tenant now;
    vv_rocksdb_tenants_get(rocksdb, tenant->tenant, &now);
    bool changed = now.n != tenant->n;
    for (uint32_t i = 0; i < now.n && !changed; i++) {
        changed = now.classes[i].generation != tenant->classes[i].generation ||
                  now.classes[i].retention_s != tenant->classes[i].retention_s;
    }
    return changed;
}

enum vv_status vv_rocksdb_tenants_set(struct vv_rocksdb *rocksdb,
                                      const struct vv_rocksdb_tenant *tenant,
                                      struct vv_error *error)
{
    uint8_t key[RECORD_KEY_SIZE] = {VV_AREA_OWN, VV_OWN_TENANT};
    uint8_t value[RECORD_SIZE_MAX];
    vv_key_put_u32(key + 2, tenant->tenant);
    for (uint32_t i = 0; i < tenant->n; i++) {
        vv_key_put_u32(value + i * CLASS_SIZE, tenant->classes[i].generation);
        vv_key_put_i64(value + i * CLASS_SIZE + 4, tenant->classes[i].retention_s);
    }
    pthread_mutex_lock(&rocksdb->lock);
    bool reserved = reserve(rocksdb);
    pthread_mutex_unlock(&rocksdb->lock);
    if (!reserved) {
        return vv_error_set(error, VV_NO_MEMORY, "no memory for another tenant's retention");
    }
    enum vv_status status =
        vv_rocksdb_put(rocksdb, (struct vv_str){(char *)key, sizeof key},
                       (struct vv_str){(char *)value, tenant->n * CLASS_SIZE}, error);
    if (status == VV_OK) {
        status = vv_rocksdb_flush(rocksdb, error);
    }
    if (status == VV_OK) {
        pthread_mutex_lock(&rocksdb->lock);
        place(&rocksdb->tenants, tenant);
        pthread_mutex_unlock(&rocksdb->lock);
    }
    return status;
}
