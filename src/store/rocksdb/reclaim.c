/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Freeing the disk of blocks that a tenant has left behind in eras that others still use: such an
 * era's files are merged as a whole, one era at a time, on a thread of its own, since it may take
 * long. A record per era says that it is still to be done, so that a restart does not forget it.
 * Eras that are cold (cold.c) are merged by the same thread, when no other is wanted.
 *
 * RocksDB has one thread that merges. The small files of confirmations wait for it meanwhile, and
 * writes would stall when they are too many: so a merge that takes so long is given up before, and
 * tried again later. A merge reads what nobody may have read for years: what is found to be
 * damaged breaks the store, which recovers; then nothing is merged until the next start.
 *
 * The storage thread calls all functions; the thread touches nothing but the database and one flag.
 */
#include "store/rocksdb/rocksdb.h"

#include "base/log.h"

#include <stdlib.h>

/* Of the base, beside a merge: at 60 RocksDB slows writes (options.c). */
#define SMALL_FILES_MAX 40
#define REST_NS         VV_HOUR /* after a merge that gave way */

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

void vv_rocksdb_reclaim_stop(struct vv_rocksdb *rocksdb)
{
    if (rocksdb->reclaim.era) {
        rocksdb_disable_manual_compaction(rocksdb->database);
        join(rocksdb);
    }
}

static uint64_t property_of_base(struct vv_rocksdb *rocksdb, const char *name)
{
    char *text = rocksdb_property_value_cf(rocksdb->database, rocksdb->base, name);
    uint64_t value = text ? strtoull(text, NULL, 10) : 0;
    rocksdb_free(text);
    return value;
}

void vv_rocksdb_reclaim_give_way(struct vv_rocksdb *rocksdb)
{
    if (!rocksdb->reclaim.era || atomic_load(&rocksdb->reclaim.done) ||
        property_of_base(rocksdb, "rocksdb.num-files-at-level0") < SMALL_FILES_MAX) {
        return;
    }
    vv_log(VV_LOG_INFO, "merging_gave_way", "again_in_s=%lld", (long long)(REST_NS / VV_SECOND));
    vv_rocksdb_reclaim_stop(rocksdb);
    rocksdb_enable_manual_compaction(rocksdb->database);
    rocksdb->reclaim.gave_way = true;
}

static void switch_off(struct vv_rocksdb *rocksdb)
{
    rocksdb->reclaim.is_off = true;
    vv_log(
        VV_LOG_WARN, "merging_stopped",
        "message=\"the store failed while files were merged: no more are until the next start\"");
}

void vv_rocksdb_reclaim_failed(struct vv_rocksdb *rocksdb)
{
    if (rocksdb->reclaim.era) {
        switch_off(rocksdb);
    }
}

/* After the thread has ended. */
static enum vv_status finish(struct vv_rocksdb *rocksdb, struct vv_error *error)
{
    const struct vv_era era = rocksdb->reclaim.era->era;
    bool has_failed = property_of_base(rocksdb, "rocksdb.background-errors") > 0;
    rocksdb->reclaim.era->is_merged = true;
    join(rocksdb);
    if (has_failed) {
        switch_off(rocksdb);
        return VV_OK;
    }
    return rocksdb->reclaim.is_wanted ? forget(rocksdb, &era, error) : VV_OK;
}

static bool rests(struct vv_rocksdb *rocksdb, int64_t now_ns)
{
    if (rocksdb->reclaim.gave_way) {
        rocksdb->reclaim.gave_way = false;
        rocksdb->reclaim.rest_until_ns = now_ns + REST_NS;
    }
    int64_t left = rocksdb->reclaim.rest_until_ns - now_ns;
    return rocksdb->reclaim.is_off || (left > 0 && left <= REST_NS);
}

enum vv_status vv_rocksdb_reclaim_step(struct vv_rocksdb *rocksdb, int64_t now_ns,
                                       struct vv_error *error)
{
    if (rocksdb->reclaim.era) {
        return atomic_load(&rocksdb->reclaim.done) ? finish(rocksdb, error) : VV_OK;
    }
    if (rests(rocksdb, now_ns)) {
        return VV_OK;
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
