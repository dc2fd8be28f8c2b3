/* SPDX-License-Identifier: Apache-2.0 */
/* What the store takes. */
#include "store/rocksdb/rocksdb.h"

#include "base/opendir.h"

#include <fcntl.h>
#include <sys/stat.h>

/* Adds the files of one folder. */
static void add_files(const char *path, struct vv_store_figures *figures)
{
    DIR *folder = vv_opendir(path);
    if (!folder) {
        return;
    }
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        struct stat about;
        if (fstatat(dirfd(folder), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(about.st_mode)) {
            figures->disk_bytes += (uint64_t)about.st_blocks * 512;
            figures->files++;
        }
    }
    closedir(folder);
}

static uint64_t property(struct vv_rocksdb *rocksdb, rocksdb_column_family_handle_t *family,
                         const char *name)
{
    uint64_t value = 0;
    return rocksdb_property_int_cf(rocksdb->database, family, name, &value) == 0 ? value : 0;
}

static void add_family(struct vv_rocksdb *rocksdb, rocksdb_column_family_handle_t *family,
                       struct vv_store_figures *figures)
{
    figures->memory_bytes += property(rocksdb, family, "rocksdb.cur-size-all-mem-tables") +
                             property(rocksdb, family, "rocksdb.estimate-table-readers-mem");
    figures->pending_bytes +=
        property(rocksdb, family, "rocksdb.estimate-pending-compaction-bytes");
}

/* The first era behind (retention_s, start_s), of any class; used. */
static struct vv_rocksdb_era *next_era(struct vv_rocksdb *rocksdb, const struct vv_era *behind)
{
    struct vv_rocksdb_era *found = NULL;
    pthread_mutex_lock(&rocksdb->lock);
    for (size_t i = 0; i < rocksdb->eras.n && !found; i++) {
        struct vv_rocksdb_era *era = rocksdb->eras.list[i];
        if (era->era.retention_s > behind->retention_s ||
            (era->era.retention_s == behind->retention_s && era->era.start_s > behind->start_s)) {
            found = era;
            found->uses++;
        }
    }
    pthread_mutex_unlock(&rocksdb->lock);
    return found;
}

void vv_rocksdb_read_figures(struct vv_store *store, struct vv_store_figures *figures_out)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    *figures_out = (struct vv_store_figures){0};
    add_files(rocksdb->folder, figures_out);
    add_files(rocksdb->database_path, figures_out);
    add_files(rocksdb->ingest_path, figures_out);
    pthread_mutex_lock(&rocksdb->lock);
    figures_out->eras = rocksdb->eras.n;
    figures_out->eras_expired = rocksdb->eras_expired;
    figures_out->recoveries = rocksdb->recoveries;
    pthread_mutex_unlock(&rocksdb->lock);
    figures_out->memory_bytes = rocksdb_cache_get_usage(rocksdb->options.cache);
    if (vv_rocksdb_enter(rocksdb, NULL) != VV_OK) {
        return;
    }
    add_family(rocksdb, rocksdb->base, figures_out);
    struct vv_era behind = {.retention_s = -1};
    struct vv_rocksdb_era *era;
    while ((era = next_era(rocksdb, &behind)) != NULL) {
        behind = era->era;
        add_family(rocksdb, era->family, figures_out);
        vv_rocksdb_eras_release(rocksdb, era);
    }
    vv_rocksdb_leave(rocksdb);
}
