/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Freeing the disk of blocks that a tenant has left behind in eras that others still use: such an
 * era's files are merged as a whole, one era at a time, on a thread of its own, since it may take
 * long. A record per era says that it is still to be done, so that a restart does not forget it.
 * Eras that are cold (cold.c) are merged by the same thread, when no other is wanted.
 *
 * The storage thread calls all functions; the thread touches nothing but the database and one flag.
 */
#include "store/rocksdb/rocksdb.h"

#define RECORD_SIZE (2 + 8 + 8) /* area, tag, retention, start */

static void record_of(const struct vv_era *era, uint8_t *out)
{
    out[0] = VV_AREA_OWN;
    out[1] = VV_OWN_RECLAIM;
    vv_key_put_i64(out + 2, era->retention_s);
    vv_key_put_i64(out + 10, era->start_s);
}

enum vv_status vv_rocksdb_reclaim_want(struct vv_rocksdb *rocksdb, const struct vv_era *era,
                                       struct vv_error *error)
{
    uint8_t record[RECORD_SIZE];
    record_of(era, record);
    return vv_rocksdb_put(rocksdb, (struct vv_str){(char *)record, sizeof record},
                          VV_STR_LITERAL(""), error);
}

static enum vv_status forget(struct vv_rocksdb *rocksdb, const struct vv_era *era,
                             struct vv_error *error)
{
    uint8_t record[RECORD_SIZE];
    record_of(era, record);
    return vv_rocksdb_put(rocksdb, (struct vv_str){(char *)record, sizeof record},
                          (struct vv_str){0}, error);
}

/* The first era that is wanted; *found_out false when none is. */
static enum vv_status first_wanted(struct vv_rocksdb *rocksdb, struct vv_era *era_out,
                                   bool *found_out, struct vv_error *error)
{
    static const char lower[] = {VV_AREA_OWN, VV_OWN_RECLAIM};
    static const char upper[] = {VV_AREA_OWN, VV_OWN_RECLAIM + 1};
    struct vv_rocksdb_cursor cursor;
    enum vv_status status =
        vv_rocksdb_cursor_open(rocksdb, rocksdb->base, NULL, (struct vv_str){lower, sizeof lower},
                               (struct vv_str){upper, sizeof upper}, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_iter_seek_to_first(cursor.iterator);
    *found_out = vv_rocksdb_cursor_valid(&cursor);
    if (*found_out) {
        struct vv_str key = vv_rocksdb_cursor_key(&cursor);
        *found_out = key.size == RECORD_SIZE;
        era_out->retention_s = *found_out ? vv_key_get_i64((const uint8_t *)key.data + 2) : 0;
        era_out->start_s = *found_out ? vv_key_get_i64((const uint8_t *)key.data + 10) : 0;
    }
    status = vv_rocksdb_cursor_status(&cursor, error);
    vv_rocksdb_cursor_close(&cursor);
    return status;
}

static void *merge_era(void *context)
{
    struct vv_rocksdb *rocksdb = context;
    rocksdb_compactoptions_t *options = rocksdb_compactoptions_create();
    rocksdb_compactoptions_set_exclusive_manual_compaction(options, 0);
    rocksdb_compact_range_cf_opt(rocksdb->database, rocksdb->reclaim.era->family, options, NULL, 0,
                                 NULL, 0);
    rocksdb_compactoptions_destroy(options);
    atomic_store(&rocksdb->reclaim.done, true);
    return NULL;
}

static void join(struct vv_rocksdb *rocksdb)
{
    pthread_join(rocksdb->reclaim.thread, NULL);
    vv_rocksdb_eras_release(rocksdb, rocksdb->reclaim.era);
    rocksdb->reclaim.era = NULL;
}

enum vv_status vv_rocksdb_reclaim_step(struct vv_rocksdb *rocksdb, int64_t now_ns,
                                       struct vv_error *error)
{
    if (rocksdb->reclaim.era) {
        if (!atomic_load(&rocksdb->reclaim.done)) {
            return VV_OK;
        }
        struct vv_era era = rocksdb->reclaim.era->era;
        join(rocksdb);
        return rocksdb->reclaim.is_wanted ? forget(rocksdb, &era, error) : VV_OK;
    }
    struct vv_era era;
    enum vv_status status = first_wanted(rocksdb, &era, &rocksdb->reclaim.is_wanted, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb->reclaim.era = rocksdb->reclaim.is_wanted ? vv_rocksdb_eras_use(rocksdb, &era)
                                                      : vv_rocksdb_cold_era(rocksdb, now_ns);
    if (!rocksdb->reclaim.era) {
        return rocksdb->reclaim.is_wanted ? forget(rocksdb, &era, error) : VV_OK; /* it is gone */
    }
    atomic_store(&rocksdb->reclaim.done, false);
    if (pthread_create(&rocksdb->reclaim.thread, NULL, merge_era, rocksdb) != 0) {
        vv_rocksdb_eras_release(rocksdb, rocksdb->reclaim.era);
        rocksdb->reclaim.era = NULL; /* tried again with the next step */
    }
    return VV_OK;
}

void vv_rocksdb_reclaim_stop(struct vv_rocksdb *rocksdb)
{
    if (rocksdb->reclaim.era) {
        rocksdb_disable_manual_compaction(rocksdb->database);
        join(rocksdb);
    }
}
