/* SPDX-License-Identifier: Apache-2.0 */
/* The bucket nearest to a time at which a source has anything. */
#include "store/rocksdb/rocksdb.h"

#define SOURCE_SIZE_MAX (VV_KEY_SOURCE_SIZE + VV_GENERATION_SIZE)

struct search {
    struct vv_rocksdb *rocksdb;
    int64_t bucket_start;
    bool forward;
    bool found;
    int64_t best;
};

static void offer(struct search *search, int64_t bucket_start)
{
    bool nearer = search->forward ? bucket_start < search->best : bucket_start > search->best;
    if (!search->found || nearer) {
        search->found = true;
        search->best = bucket_start;
    }
}

/* Looks in one family, where the source's keys begin with `prefix` and go on with the bucket's
 * start. */
static enum vv_status look(struct search *search, rocksdb_column_family_handle_t *family,
                           const uint8_t *prefix, size_t size, struct vv_error *error)
{
    uint8_t lower[SOURCE_SIZE_MAX];
    uint8_t upper[SOURCE_SIZE_MAX];
    uint8_t at[SOURCE_SIZE_MAX + 8];
    memcpy(lower, prefix, size);
    memcpy(upper, prefix, size);
    memcpy(at, prefix, size);
    vv_key_put_i64(at + size, search->bucket_start);
    size_t upper_size = vv_key_successor(upper, size);
    struct vv_rocksdb_cursor cursor;
    enum vv_status status =
        vv_rocksdb_cursor_open(search->rocksdb, family, NULL, (struct vv_str){(char *)lower, size},
                               (struct vv_str){(char *)upper, upper_size}, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    size_t at_size = size + 8;
    if (search->forward) {
        rocksdb_iter_seek(cursor.iterator, (char *)at, at_size);
    } else if (search->bucket_start == INT64_MAX) {
        rocksdb_iter_seek_to_last(cursor.iterator);
    } else {
        vv_key_put_i64(at + size, search->bucket_start + 1);
        rocksdb_iter_seek_for_prev(cursor.iterator, (char *)at, at_size);
    }
    if (vv_rocksdb_cursor_valid(&cursor)) {
        struct vv_str key = vv_rocksdb_cursor_key(&cursor);
        if (key.size >= at_size) {
            offer(search, vv_key_get_i64((const uint8_t *)key.data + size));
        }
    }
    status = vv_rocksdb_cursor_status(&cursor, error);
    vv_rocksdb_cursor_close(&cursor);
    return status;
}

/* Looks in the eras of one class, the nearest first, as far as they can hold a nearer bucket. */
static enum vv_status look_in_class(struct search *search, uint32_t tenant, uint32_t source,
                                    const struct vv_rocksdb_class *class, int64_t bucket_ns_max,
                                    struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = search->rocksdb;
    uint8_t prefix[SOURCE_SIZE_MAX];
    vv_rocksdb_key_generation(tenant, class->generation, prefix);
    vv_key_put_u32(prefix + VV_GENERATION_PREFIX_SIZE, source);
    enum vv_status status = VV_OK;
    int64_t start_s = search->forward ? INT64_MIN : INT64_MAX;
    struct vv_rocksdb_era *era =
        vv_rocksdb_eras_step(rocksdb, class->retention_s, start_s, search->forward);
    while (era && status == VV_OK) {
        start_s = era->era.start_s;
        int64_t far = search->found ? search->best : search->forward ? INT64_MAX : INT64_MIN;
        int64_t from = search->forward ? search->bucket_start : far;
        int64_t to = search->forward ? far : search->bucket_start;
        if (vv_era_may_hold(&era->era, rocksdb->era_count, bucket_ns_max, from, to)) {
            status = look(search, era->family, prefix, sizeof prefix, error);
        }
        vv_rocksdb_eras_release(rocksdb, era);
        era = status == VV_OK ? vv_rocksdb_eras_step(rocksdb, class->retention_s,
                                                     search->forward ? start_s + 1 : start_s - 1,
                                                     search->forward)
                              : NULL;
    }
    return status;
}

/* The oldest class first, since what moves goes to a later one; and again where that may be one
 * that was not known. */
static enum vv_status look_in_classes(struct search *search, uint32_t tenant, uint32_t source,
                                      struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = search->rocksdb;
    struct vv_rocksdb_tenant where;
    enum vv_status status = VV_OK;
    pthread_mutex_lock(&rocksdb->lock);
    int64_t bucket_ns_max = rocksdb->bucket_ns_max;
    pthread_mutex_unlock(&rocksdb->lock);
    do {
        vv_rocksdb_tenants_get(rocksdb, tenant, &where);
        for (uint32_t i = 0; i < where.n && status == VV_OK; i++) {
            status = look_in_class(search, tenant, source, &where.classes[i], bucket_ns_max, error);
        }
    } while (status == VV_OK && vv_rocksdb_tenants_changed(rocksdb, &where));
    return status;
}

enum vv_status vv_rocksdb_nearest(struct vv_store *store, uint8_t region, uint32_t tenant,
                                  uint32_t source, int64_t bucket_start, bool forward,
                                  int64_t *bucket_start_out, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    if (region != 0) {
        return VV_DONE;
    }
    enum vv_status status = vv_rocksdb_enter(rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    struct search search = {.rocksdb = rocksdb, .bucket_start = bucket_start, .forward = forward};
    uint8_t runs[1 + VV_KEY_SOURCE_SIZE] = {VV_AREA_RUN};
    vv_key_put_u32(runs + 1, tenant);
    vv_key_put_u32(runs + 5, source);
    status = look(&search, rocksdb->base, runs, sizeof runs, error);
    status = status == VV_OK ? look_in_classes(&search, tenant, source, error) : status;
    vv_rocksdb_leave(rocksdb);
    if (status == VV_OK && search.found) {
        *bucket_start_out = search.best;
    }
    return status == VV_OK && !search.found ? VV_DONE : status;
}
