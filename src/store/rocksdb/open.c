/* SPDX-License-Identifier: Apache-2.0 */
/* Opening, closing and recovering the embedded store. */
#include "store/rocksdb/rocksdb.h"

#include "base/disk.h"
#include "base/log.h"
#include "store/rocksdb/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PATH_SIZE       4096
#define TRIAL_BYTES     262144 /* more than a new manifest takes */
#define REOPENING_S_MAX 5      /* that a reader waits for; it takes milliseconds on a good disk */

static const char base_name[] = "default";

/* ---- the families of a database that is about to be opened */

struct families {
    size_t n;
    char **names; /* RocksDB's list, or none */
    const char **all_names;
    const rocksdb_options_t **options;
    rocksdb_column_family_handle_t **handles;
    struct vv_era *eras; /* of the name, unused for the default family */
};

static void families_deinit(struct families *families)
{
    if (families->names) {
        rocksdb_list_column_families_destroy(families->names, families->n);
    }
    free(families->all_names);
    free(families->options);
    free(families->handles);
    free(families->eras);
}

/* The names that the database has; only the default one when it is new. */
static enum vv_status families_list(struct vv_rocksdb *rocksdb, bool is_new,
                                    struct families *families, struct vv_error *error)
{
    *families = (struct families){.n = 1};
    char *message = NULL;
    if (!is_new) {
        families->names = rocksdb_list_column_families(
            rocksdb->options.base, rocksdb->database_path, &families->n, &message);
    }
    if (message) {
        families->names = NULL;
        return vv_rocksdb_fail(message, "cannot read the store's manifest", error);
    }
    families->all_names = calloc(families->n, sizeof families->all_names[0]);
    families->options = calloc(families->n, sizeof families->options[0]);
    families->handles = calloc(families->n, sizeof families->handles[0]);
    families->eras = calloc(families->n, sizeof families->eras[0]);
    if (!families->all_names || !families->options || !families->handles || !families->eras) {
        return vv_error_set(error, VV_NO_MEMORY, "no memory to open the store");
    }
    for (size_t i = 0; i < families->n; i++) {
        const char *name = is_new ? base_name : families->names[i];
        bool is_base = strcmp(name, base_name) == 0;
        families->all_names[i] = name;
        families->options[i] = is_base ? rocksdb->options.base : rocksdb->options.blocks;
        if (!is_base && !vv_rocksdb_family_parse(name, &families->eras[i])) {
            return vv_error_set(error, VV_NEWER,
                                "the store has a part %s that this program does not know: use a "
                                "newer program",
                                name);
        }
    }
    return VV_OK;
}

/* Hands the opened families to the store. */
static enum vv_status families_take(struct vv_rocksdb *rocksdb, struct families *families,
                                    struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < families->n; i++) {
        if (families->options[i] == rocksdb->options.base) {
            rocksdb->base = families->handles[i];
        } else if (status == VV_OK) {
            status = vv_rocksdb_eras_add(rocksdb, &families->eras[i], families->handles[i], error);
        } else {
            rocksdb_column_family_handle_destroy(families->handles[i]);
        }
    }
    vv_invariant(rocksdb->base != NULL);
    return status;
}

/* ---- the database */

static enum vv_status visit_sst(void *context, const char *name)
{
    size_t size = strlen(name);
    bool *has_sst = context;
    *has_sst |= size > 4 && strcmp(name + size - 4, ".sst") == 0;
    return VV_OK;
}

/* A database is new when it has no CURRENT file; then it must have no data either, which RocksDB
 * would remove. */
static enum vv_status find_new(struct vv_rocksdb *rocksdb, bool *is_new_out, struct vv_error *error)
{
    struct vv_disk *disk = vv_disk_posix();
    char path[PATH_SIZE];
    int length = snprintf(path, sizeof path, "%s/CURRENT", rocksdb->database_path);
    vv_invariant(length > 0 && (size_t)length < sizeof path);
    *is_new_out = access(path, F_OK) != 0;
    if (!*is_new_out) {
        return VV_OK;
    }
    bool has_sst = false;
    enum vv_status status =
        disk->ops->list(disk, rocksdb->database_path, visit_sst, &has_sst, error);
    if (status == VV_OK && has_sst) {
        return vv_error_set(error, VV_CORRUPT,
                            "%s is missing beside the store's data: restore the store from a "
                            "backup",
                            path);
    }
    return status;
}

static enum vv_status visit_leftover(void *context, const char *name)
{
    char path[PATH_SIZE];
    int length = snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    if (length > 0 && (size_t)length < sizeof path) {
        (void)unlink(path); /* a file of that name is written over anyway */
    }
    return VV_OK;
}

static enum vv_status load_records(struct vv_rocksdb *rocksdb, struct vv_error *error)
{
    uint64_t longest = 0;
    rocksdb->mark_run_max = 0;
    vv_rocksdb_no_runs_forget(rocksdb);
    memset(rocksdb->marks_floor, 0, sizeof rocksdb->marks_floor);
    enum vv_status status = vv_rocksdb_get_own(rocksdb, VV_OWN_MARK, &rocksdb->mark_run_max, error);
    if (status == VV_OK) {
        status = vv_rocksdb_get_own(rocksdb, VV_OWN_LONGEST, &longest, error);
    }
    if (status == VV_OK && longest > (uint64_t)VV_BUCKET_NS_MAX) {
        status = vv_error_set(error, VV_CORRUPT,
                              "the record of the longest bucket is damaged: "
                              "restore the store from a backup");
    }
    rocksdb->bucket_ns_max = (int64_t)longest;
    return status == VV_OK ? vv_rocksdb_tenants_load(rocksdb, error) : status;
}

static void database_close(struct vv_rocksdb *rocksdb)
{
    vv_rocksdb_reclaim_stop(rocksdb);
    vv_rocksdb_eras_clear(rocksdb);
    vv_rocksdb_tenants_clear(rocksdb);
    if (rocksdb->base) {
        rocksdb_column_family_handle_destroy(rocksdb->base);
        rocksdb->base = NULL;
    }
    if (rocksdb->database) {
        rocksdb_close(rocksdb->database);
        rocksdb->database = NULL;
    }
}

static char *open_families(struct vv_rocksdb *rocksdb, bool read_only, struct families *families)
{
    char *message = NULL;
    vv_rocksdb_quiet_begin(rocksdb);
    if (read_only) {
        rocksdb->database = rocksdb_open_for_read_only_column_families(
            rocksdb->options.base, rocksdb->database_path, (int)families->n, families->all_names,
            families->options, families->handles, 0, &message);
    } else {
        rocksdb->database = rocksdb_open_column_families(
            rocksdb->options.base, rocksdb->database_path, (int)families->n, families->all_names,
            families->options, families->handles, &message);
    }
    vv_rocksdb_quiet_end(rocksdb);
    return message;
}

static enum vv_status database_open(struct vv_rocksdb *rocksdb, bool read_only,
                                    struct vv_error *error)
{
    struct vv_disk *disk = vv_disk_posix();
    struct families families = {0};
    bool is_new;
    enum vv_status status = find_new(rocksdb, &is_new, error);
    if (status == VV_OK) {
        status = families_list(rocksdb, is_new, &families, error);
    }
    if (status == VV_OK) {
        rocksdb_options_set_create_if_missing(rocksdb->options.base, is_new);
        char *message = open_families(rocksdb, read_only, &families);
        status = message ? vv_rocksdb_fail(message, "cannot open the store", error)
                         : families_take(rocksdb, &families, error);
    }
    families_deinit(&families);
    if (status == VV_OK) {
        status = disk->ops->list(disk, rocksdb->ingest_path, visit_leftover, rocksdb->ingest_path,
                                 error);
    }
    if (status == VV_OK) {
        status = load_records(rocksdb, error);
    }
    if (status != VV_OK) {
        database_close(rocksdb);
    }
    return status;
}

/* ---- readers */

enum vv_status vv_rocksdb_enter(struct vv_rocksdb *rocksdb, struct vv_error *error)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += REOPENING_S_MAX;
    pthread_mutex_lock(&rocksdb->lock);
    int result = 0;
    while (rocksdb->reopening && result == 0) {
        result = pthread_cond_timedwait(&rocksdb->reopened, &rocksdb->lock, &until);
    }
    bool open = rocksdb->open;
    if (open) {
        rocksdb->readers++;
    }
    pthread_mutex_unlock(&rocksdb->lock);
    return open ? VV_OK
                : vv_error_set(error, VV_OVERLOAD,
                               "the store is being recovered after a failed write: try again");
}

void vv_rocksdb_leave(struct vv_rocksdb *rocksdb)
{
    pthread_mutex_lock(&rocksdb->lock);
    rocksdb->readers--;
    if (rocksdb->readers == 0) {
        pthread_cond_signal(&rocksdb->reader_left);
    }
    pthread_mutex_unlock(&rocksdb->lock);
}

/* Lets no reader in any more and waits for those that are there. */
static void shut_out_readers(struct vv_rocksdb *rocksdb)
{
    pthread_mutex_lock(&rocksdb->lock);
    rocksdb->open = false;
    rocksdb->reopening = true;
    while (rocksdb->readers > 0) {
        pthread_cond_wait(&rocksdb->reader_left, &rocksdb->lock);
    }
    pthread_mutex_unlock(&rocksdb->lock);
}

/* Ends the wait of those who came meanwhile: with the database open, or in vain. */
static void let_in_readers(struct vv_rocksdb *rocksdb, bool open)
{
    pthread_mutex_lock(&rocksdb->lock);
    rocksdb->open = open;
    rocksdb->reopening = false;
    pthread_cond_broadcast(&rocksdb->reopened);
    pthread_mutex_unlock(&rocksdb->lock);
}

/* ---- the store */

/* Whether the disk takes a file of the size that opening needs. Asked while the database is still
 * open, so that it can be read as long as the disk is full or refuses to write. */
static enum vv_status try_disk(struct vv_rocksdb *rocksdb, struct vv_error *error)
{
    static const char zeros[TRIAL_BYTES];
    struct vv_disk *disk = vv_disk_posix();
    char path[PATH_SIZE];
    int length = snprintf(path, sizeof path, "%s/trial", rocksdb->ingest_path);
    vv_invariant(length > 0 && (size_t)length < sizeof path);
    (void)disk->ops->remove(disk, path, NULL); /* left by a trial that failed to remove it */
    struct vv_file *file;
    enum vv_status status = disk->ops->open(disk, path, VV_OPEN_CREATE, &file, error);
    if (status != VV_OK) {
        return status;
    }
    status = file->ops->write(file, 0, zeros, sizeof zeros, error);
    if (status == VV_OK) {
        status = file->ops->sync(file, error);
    }
    file->ops->close(file);
    (void)disk->ops->remove(disk, path, NULL);
    return status;
}

static enum vv_status rocksdb_recover(struct vv_store *store, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    if (!rocksdb->broken) {
        return VV_OK;
    }
    enum vv_status status = try_disk(rocksdb, error);
    if (status != VV_OK) {
        return status == VV_FULL ? status : VV_IO;
    }
    vv_rocksdb_reclaim_failed(rocksdb);
    shut_out_readers(rocksdb);
    database_close(rocksdb);
    status = database_open(rocksdb, false, error);
    rocksdb->broken = status != VV_OK;
    /* Without space a database cannot be opened for writing, but still be read. */
    bool readable = status == VV_OK || database_open(rocksdb, true, NULL) == VV_OK;
    pthread_mutex_lock(&rocksdb->lock);
    rocksdb->recoveries += status == VV_OK;
    pthread_mutex_unlock(&rocksdb->lock);
    let_in_readers(rocksdb, readable);
    return status;
}

static void store_destroy(struct vv_rocksdb *rocksdb)
{
    vv_rocksdb_options_deinit(&rocksdb->options);
    pthread_cond_destroy(&rocksdb->reader_left);
    pthread_cond_destroy(&rocksdb->reopened);
    pthread_mutex_destroy(&rocksdb->no_runs.lock);
    pthread_mutex_destroy(&rocksdb->lock);
    free(rocksdb->ingest_path);
    free(rocksdb->database_path);
    free(rocksdb->folder);
    free(rocksdb);
}

static void rocksdb_store_close(struct vv_store *store)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    shut_out_readers(rocksdb);
    database_close(rocksdb);
    store_destroy(rocksdb);
}

static const struct vv_store_ops rocksdb_ops = {
    .close = rocksdb_store_close,
    .put_run = vv_rocksdb_put_run,
    .put_mark = vv_rocksdb_put_mark,
    .put_meta = vv_rocksdb_put_meta,
    .remove_meta = vv_rocksdb_remove_meta,
    .confirm = vv_rocksdb_confirm,
    .put_blocks = vv_rocksdb_put_blocks,
    .remove_runs = vv_rocksdb_remove_runs,
    .retire_marks = vv_rocksdb_retire_marks,
    .set_retention = vv_rocksdb_set_retention,
    .expire = vv_rocksdb_expire,
    .recover = rocksdb_recover,
    .read = vv_rocksdb_read,
    .nearest = vv_rocksdb_nearest,
    .scan_marks = vv_rocksdb_scan_marks,
    .get_meta = vv_rocksdb_get_meta,
    .scan_meta = vv_rocksdb_scan_meta,
    .read_figures = vv_rocksdb_read_figures,
    .buckets_max = VV_ROCKSDB_BUCKETS_MAX,
};

/* A path in the store's folder, with room for names in it. */
static enum vv_status path_of(const char *folder, const char *name, char **path_out,
                              struct vv_error *error)
{
    char path[PATH_SIZE];
    int length = snprintf(path, sizeof path, "%s%s", folder, name);
    if (length < 0 || (size_t)length >= sizeof path - VV_FAMILY_NAME_SIZE) {
        return vv_error_set(error, VV_INVALID, "the path of the store's folder is too long");
    }
    *path_out = vv_str_duplicate(vv_str_of(path));
    return *path_out ? VV_OK : vv_error_set(error, VV_NO_MEMORY, "no memory to open the store");
}

static void init_locks(struct vv_rocksdb *rocksdb)
{
    pthread_condattr_t monotonic;
    vv_invariant(pthread_condattr_init(&monotonic) == 0);
    vv_invariant(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0);
    vv_invariant(pthread_mutex_init(&rocksdb->lock, NULL) == 0);
    vv_invariant(pthread_mutex_init(&rocksdb->no_runs.lock, NULL) == 0);
    vv_invariant(pthread_cond_init(&rocksdb->reader_left, NULL) == 0);
    vv_invariant(pthread_cond_init(&rocksdb->reopened, &monotonic) == 0);
    pthread_condattr_destroy(&monotonic);
}

/* The store without its database. */
static enum vv_status store_create(const struct vv_store_options *options,
                                   struct vv_rocksdb **rocksdb_out, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = calloc(1, sizeof *rocksdb);
    if (!rocksdb) {
        return vv_error_set(error, VV_NO_MEMORY, "no memory to open the store");
    }
    rocksdb->store.ops = &rocksdb_ops;
    init_locks(rocksdb);
    enum vv_status status = path_of(options->folder, "", &rocksdb->folder, error);
    if (status == VV_OK) {
        status = path_of(options->folder, "/db", &rocksdb->database_path, error);
    }
    if (status == VV_OK) {
        status = path_of(options->folder, "/ingest", &rocksdb->ingest_path, error);
    }
    if (status == VV_OK) {
        status = vv_rocksdb_options_init(&rocksdb->options, options, error);
    }
    if (status != VV_OK) {
        store_destroy(rocksdb);
        return status;
    }
    *rocksdb_out = rocksdb;
    return VV_OK;
}

static enum vv_status make_folder(const char *path, struct vv_error *error)
{
    struct vv_disk *disk = vv_disk_posix();
    enum vv_status status = disk->ops->make_folder(disk, path, error);
    return status == VV_EXISTS ? VV_OK : status;
}

enum vv_status vv_store_rocksdb_open(const struct vv_store_options *options,
                                     struct vv_store **store_out, struct vv_error *error)
{
    int era_count;
    enum vv_status status =
        vv_rocksdb_format_open(options->folder, options->eras, &era_count, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_rocksdb *rocksdb = NULL;
    status = store_create(options, &rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb->era_count = era_count;
    rocksdb->merge_after_ns = options->merge_after_ns;
    rocksdb->keep_free_bytes = options->keep_free_bytes;
    status = make_folder(rocksdb->database_path, error);
    if (status == VV_OK) {
        status = make_folder(rocksdb->ingest_path, error);
    }
    if (status == VV_OK) {
        status = database_open(rocksdb, false, error);
    }
    if (status != VV_OK) {
        store_destroy(rocksdb);
        return status;
    }
    if (options->eras != 0 && vv_era_count(options->eras) != era_count) {
        vv_log(VV_LOG_WARN, "store_eras_kept", "stored=%d configured=%d", era_count, options->eras);
    }
    let_in_readers(rocksdb, true);
    *store_out = &rocksdb->store;
    return VV_OK;
}
