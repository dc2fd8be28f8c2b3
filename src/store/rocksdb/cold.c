/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eras that are cold: all their time is over, and nothing has been put into them for a while. What
 * RocksDB has left of them in several sorted runs of files is merged once, by the thread that frees
 * disk (reclaim.c): who reads looks into each of the runs, and what was replaced takes room until
 * then. InfluxDB does the same with its shards (`compact-full-write-cold-duration`).
 *
 * Few bytes beside one large run are left as they are, so that a late point now and then does not
 * write an era anew each time; and so is an era that the disk has no room to write a second time.
 *
 * For how long an era was quiet is told by the clock of expiry, which stands still while something
 * holds that up, and jumps afterwards: then one may be merged too early, which costs work only.
 *
 * Storage thread.
 */
#include "store/rocksdb/rocksdb.h"

#include "base/log.h"

#include <sys/statvfs.h>

#define FEW 16 /* a 16th of an era's bytes, beside its largest run */

/* The sorted runs that a look into an era has to pass through. */
struct runs {
    size_t n;
    uint64_t bytes;
    uint64_t largest;
};

static void add_run(struct runs *runs, uint64_t bytes)
{
    runs->n++;
    runs->bytes += bytes;
    runs->largest = bytes > runs->largest ? bytes : runs->largest;
}

/* Each file of the first level is a run, each other level is one. */
static void add_level(struct runs *runs, rocksdb_level_metadata_t *level)
{
    size_t n_files = rocksdb_level_metadata_get_file_count(level);
    if (rocksdb_level_metadata_get_level(level) > 0) {
        if (n_files > 0) {
            add_run(runs, rocksdb_level_metadata_get_size(level));
        }
        return;
    }
    for (size_t i = 0; i < n_files; i++) {
        rocksdb_sst_file_metadata_t *file = rocksdb_level_metadata_get_sst_file_metadata(level, i);
        add_run(runs, rocksdb_sst_file_metadata_get_size(file));
        rocksdb_sst_file_metadata_destroy(file);
    }
}

static struct runs runs_of(struct vv_rocksdb *rocksdb, const struct vv_rocksdb_era *era)
{
    struct runs runs = {0};
    rocksdb_column_family_metadata_t *family =
        rocksdb_get_column_family_metadata_cf(rocksdb->database, era->family);
    size_t n_levels = rocksdb_column_family_metadata_get_level_count(family);
    for (size_t i = 0; i < n_levels; i++) {
        rocksdb_level_metadata_t *level =
            rocksdb_column_family_metadata_get_level_metadata(family, i);
        add_level(&runs, level);
        rocksdb_level_metadata_destroy(level);
    }
    rocksdb_column_family_metadata_destroy(family);
    return runs;
}

/* For its copy, and as much again. */
static bool has_room(const struct vv_rocksdb *rocksdb, uint64_t bytes)
{
    struct statvfs disk;
    if (statvfs(rocksdb->database_path, &disk) != 0) {
        return false;
    }
    uint64_t available = (uint64_t)disk.f_bavail * disk.f_frsize;
    return available >= rocksdb->keep_free_bytes &&
           (available - rocksdb->keep_free_bytes) / 2 >= bytes;
}

static bool is_cold(struct vv_rocksdb *rocksdb, struct vv_rocksdb_era *era, int64_t now_ns)
{
    if (era->quiet_since_ns == 0 || now_ns < era->quiet_since_ns) {
        era->quiet_since_ns = now_ns;
        era->is_merged = false;
    }
    return !era->is_merged && now_ns - era->quiet_since_ns >= rocksdb->merge_after_ns &&
           vv_era_over(&era->era, rocksdb->era_count, now_ns);
}

struct vv_rocksdb_era *vv_rocksdb_cold_era(struct vv_rocksdb *rocksdb, int64_t now_ns)
{
    struct vv_rocksdb_era *found = NULL;
    for (size_t i = 0; i < rocksdb->eras.n && rocksdb->merge_after_ns > 0 && !found; i++) {
        struct vv_rocksdb_era *era = rocksdb->eras.list[i];
        if (!is_cold(rocksdb, era, now_ns)) {
            continue;
        }
        struct runs runs = runs_of(rocksdb, era);
        bool is_worth_it = runs.n > 1 && runs.bytes - runs.largest > runs.bytes / FEW;
        if (is_worth_it && !has_room(rocksdb, runs.bytes)) {
            era->quiet_since_ns = now_ns; /* there may be later */
            continue;
        }
        era->is_merged = !is_worth_it; /* else when it is */
        if (is_worth_it) {
            vv_log(VV_LOG_INFO, "merging", "retention_s=%lld start_s=%lld runs=%zu bytes=%llu",
                   (long long)era->era.retention_s, (long long)era->era.start_s, runs.n,
                   (unsigned long long)runs.bytes);
            found = vv_rocksdb_eras_use(rocksdb, &era->era);
        }
    }
    return found;
}
