/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the embedded store; private to src/store/rocksdb. README.md beside the parent folder tells
 * the flow, keys.h what is stored where.
 *
 * Threads: everything that writes runs on the storage thread. `lock` guards what the readers see
 * change: whether the database is open, the eras, the tenants' classes and the floor of the marks;
 * the storage thread takes it to change them, and may look without. A reader holds no lock while it
 * reads, but is counted (enter/leave), so that the database is closed only when none is left; an
 * era that it uses is counted too, so that a dropped one stays readable.
 */
#ifndef VV_STORE_ROCKSDB_ROCKSDB_H
#define VV_STORE_ROCKSDB_ROCKSDB_H

#include "store/rocksdb/keys.h"

#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>

#define VV_CLASSES_MAX  8 /* that one tenant's blocks lie in while they move */
#define VV_FAMILIES_MAX 1024

struct vv_rocksdb_era {
    struct vv_era era;
    rocksdb_column_family_handle_t *family;
    uint32_t uses; /* the table's one, and one of each reader; under the lock */
    /* Of the storage thread (cold.c). */
    int64_t quiet_since_ns; /* 0: something was put into it since it was looked at last */
    bool is_merged;         /* since it is quiet, or needs not be */
};

/* Sorted by retention, then start. */
struct vv_rocksdb_eras {
    struct vv_rocksdb_era **list;
    size_t n;
    size_t capacity;
};

struct vv_rocksdb_class {
    uint32_t generation;
    int64_t retention_s;
};

/* Where a tenant's blocks lie: oldest class first, new blocks go to the last. */
struct vv_rocksdb_tenant {
    uint32_t tenant;
    uint32_t n; /* 1 … VV_CLASSES_MAX */
    struct vv_rocksdb_class classes[VV_CLASSES_MAX];
};

/* Sorted by tenant; those without a record are in class 0 under generation 0. */
struct vv_rocksdb_tenants {
    struct vv_rocksdb_tenant *list;
    size_t n;
    size_t capacity;
};

/* How RocksDB is to be used; made once, survives recover(). */
struct vv_rocksdb_options {
    rocksdb_options_t *base;   /* the database and its default family */
    rocksdb_options_t *blocks; /* the eras' families */
    rocksdb_block_based_table_options_t *table;
    rocksdb_cache_t *cache;
    rocksdb_writeoptions_t *write;
    rocksdb_flushoptions_t *flush;
    rocksdb_readoptions_t *get;
    rocksdb_envoptions_t *env;
    rocksdb_ingestexternalfileoptions_t *ingest;
};

#define VV_ROCKSDB_CUT_TENANTS 4096u

#define VV_ROCKSDB_NO_RUNS_BITS  12
#define VV_ROCKSDB_NO_RUNS_SLOTS (1u << VV_ROCKSDB_NO_RUNS_BITS)

struct vv_rocksdb_no_runs_slot {
    _Atomic uint64_t none_of; /* the tenant and source, or 0 */
    uint64_t changes;         /* under the lock */
};

struct vv_rocksdb {
    struct vv_store store; /* first: a vv_store * of ours is a vv_rocksdb * */
    char *folder;
    char *database_path;
    char *ingest_path;
    char log_folder[32]; /* of RocksDB's own log, while the database is being opened */
    int era_count;
    struct vv_rocksdb_options options;

    pthread_mutex_t lock;
    pthread_cond_t reader_left;
    pthread_cond_t reopened;
    uint32_t readers;
    bool open;      /* readers may enter */
    bool reopening; /* they soon may: it is worth to wait */
    rocksdb_t *database;
    rocksdb_column_family_handle_t *base;
    struct vv_rocksdb_eras eras;
    struct vv_rocksdb_tenants tenants;
    /* No mark lies below the floor, so a scan need not pass over those that were retired. A scan
     * from the start raises it to the first mark that it found or that was put meanwhile; one at a
     * time does so. */
    uint8_t marks_floor[VV_KEY_MARK_SIZE];
    uint8_t marks_lowest_put[VV_KEY_MARK_SIZE]; /* since that scan began */
    bool marks_scanned;                         /* such a scan is going on */
    uint64_t eras_expired;
    uint64_t recoveries;
    int64_t bucket_ns_max; /* of all blocks, at most */
    /* By the number of a tenant, modulo: whole blocks of it that were read were cut. */
    atomic_bool are_cut[VV_ROCKSDB_CUT_TENANTS];
    struct {
        pthread_mutex_t lock;
        struct vv_rocksdb_no_runs_slot slots[VV_ROCKSDB_NO_RUNS_SLOTS];
    } no_runs;

    /* Of the storage thread alone. */
    bool broken; /* a call failed: nothing is written until recover() */
    vv_stamp mark_run_max;
    uint64_t file_number;   /* of the last file in ingest/ */
    int64_t merge_after_ns; /* as vv_store_options, and */
    uint64_t keep_free_bytes;
    struct {
        struct vv_rocksdb_era *era; /* whose files are being merged; used; NULL when none */
        bool is_wanted;             /* there is a record of it */
        bool gave_way;              /* the last one did, so that … */
        int64_t rest_until_ns;      /* … none is begun before then */
        bool is_off;                /* something failed meanwhile: none until the next start */
        pthread_t thread;
        atomic_bool done; /* set by the thread at its end */
    } reclaim;
};

static inline struct vv_rocksdb *vv_rocksdb_of(struct vv_store *store)
{
    return (struct vv_rocksdb *)store;
}

/* ---- options.c */
VV_MUST_CHECK enum vv_status vv_rocksdb_options_init(struct vv_rocksdb_options *options,
                                                     const struct vv_store_options *wanted,
                                                     struct vv_error *error);
void vv_rocksdb_options_deinit(struct vv_rocksdb_options *options);

/* ---- quiet.c: around every opening of the database */
void vv_rocksdb_quiet_begin(struct vv_rocksdb *rocksdb);
void vv_rocksdb_quiet_end(struct vv_rocksdb *rocksdb);

/* ---- open.c */
/* A reader comes; waits while the database is opened again, VV_OVERLOAD when that did not succeed.
 * Not while the same thread is in already. */
VV_MUST_CHECK enum vv_status vv_rocksdb_enter(struct vv_rocksdb *rocksdb, struct vv_error *error);
void vv_rocksdb_leave(struct vv_rocksdb *rocksdb);

/* ---- status.c */
/* Turns RocksDB's message, which it frees, into a status and a message of ours. */
enum vv_status vv_rocksdb_fail(char *take_message, const char *what, struct vv_error *error);
/* The same for a changing call: the store is broken until recover(). VV_OK when there is no
 * message. */
VV_MUST_CHECK enum vv_status vv_rocksdb_wrote(struct vv_rocksdb *rocksdb, char *take_message,
                                              const char *what, struct vv_error *error);
/* VV_IO when the store is broken: every changing call begins here. */
VV_MUST_CHECK enum vv_status vv_rocksdb_writable(const struct vv_rocksdb *rocksdb,
                                                 struct vv_error *error);

/* ---- eras.c */
/* Adds a family that the database has, or has just got, and takes its handle. */
VV_MUST_CHECK enum vv_status vv_rocksdb_eras_add(struct vv_rocksdb *rocksdb,
                                                 const struct vv_era *era,
                                                 rocksdb_column_family_handle_t *take_family,
                                                 struct vv_error *error);
/* The era, used by the caller until it gives it back with release; NULL when there is none. */
struct vv_rocksdb_era *vv_rocksdb_eras_use(struct vv_rocksdb *rocksdb, const struct vv_era *era);
/* The class's first era at or after start_s (forward), or last at or before it; used likewise. */
struct vv_rocksdb_era *vv_rocksdb_eras_step(struct vv_rocksdb *rocksdb, int64_t retention_s,
                                            int64_t start_s, bool forward);
void vv_rocksdb_eras_release(struct vv_rocksdb *rocksdb, struct vv_rocksdb_era *era);
/* The era of the table, made when it is missing; not counted, for the storage thread alone. */
VV_MUST_CHECK enum vv_status vv_rocksdb_eras_make(struct vv_rocksdb *rocksdb,
                                                  const struct vv_era *era,
                                                  struct vv_rocksdb_era **era_out,
                                                  struct vv_error *error);
/* Drops the era's family and frees its files as soon as no reader uses them. */
VV_MUST_CHECK enum vv_status vv_rocksdb_eras_drop(struct vv_rocksdb *rocksdb,
                                                  struct vv_rocksdb_era *era,
                                                  struct vv_error *error);
/* Forgets all eras before the database is closed; no reader is left. */
void vv_rocksdb_eras_clear(struct vv_rocksdb *rocksdb);

/* ---- tenants.c */
/* Reads the records of all tenants. */
VV_MUST_CHECK enum vv_status vv_rocksdb_tenants_load(struct vv_rocksdb *rocksdb,
                                                     struct vv_error *error);
void vv_rocksdb_tenants_clear(struct vv_rocksdb *rocksdb);
/* A copy of what is known of the tenant. */
void vv_rocksdb_tenants_get(struct vv_rocksdb *rocksdb, uint32_t tenant,
                            struct vv_rocksdb_tenant *tenant_out);
/* Whether its blocks lie, or may lie, elsewhere than in this copy. */
bool vv_rocksdb_tenants_changed(struct vv_rocksdb *rocksdb, const struct vv_rocksdb_tenant *tenant);
/* Stores the tenant's classes durably, then uses them. */
VV_MUST_CHECK enum vv_status vv_rocksdb_tenants_set(struct vv_rocksdb *rocksdb,
                                                    const struct vv_rocksdb_tenant *tenant,
                                                    struct vv_error *error);

/* ---- cursor.c */
/* An iterator with bounds, which are borrowed until it is closed. */
struct vv_rocksdb_cursor {
    rocksdb_readoptions_t *options;
    rocksdb_iterator_t *iterator;
};

/* Positions nowhere: seek first. snapshot may be NULL; an upper bound of size 0 is none. */
VV_MUST_CHECK enum vv_status vv_rocksdb_cursor_open(struct vv_rocksdb *rocksdb,
                                                    rocksdb_column_family_handle_t *family,
                                                    const rocksdb_snapshot_t *snapshot,
                                                    struct vv_str lower, struct vv_str upper,
                                                    struct vv_rocksdb_cursor *cursor_out,
                                                    struct vv_error *error);
/* The same, but where many removed keys are to be passed over it ends, with an error as its status.
 */
VV_MUST_CHECK enum vv_status vv_rocksdb_cursor_open_short(struct vv_rocksdb *rocksdb,
                                                          rocksdb_column_family_handle_t *family,
                                                          struct vv_str lower, struct vv_str upper,
                                                          struct vv_rocksdb_cursor *cursor_out,
                                                          struct vv_error *error);
/* Zero-initialised is closed. */
void vv_rocksdb_cursor_close(struct vv_rocksdb_cursor *cursor);
bool vv_rocksdb_cursor_valid(const struct vv_rocksdb_cursor *cursor);
struct vv_str vv_rocksdb_cursor_key(const struct vv_rocksdb_cursor *cursor);
struct vv_str vv_rocksdb_cursor_value(const struct vv_rocksdb_cursor *cursor);
/* After a loop: why it ended. */
VV_MUST_CHECK enum vv_status vv_rocksdb_cursor_status(const struct vv_rocksdb_cursor *cursor,
                                                      struct vv_error *error);
/* Whether a family holds any key that begins with prefix. */
VV_MUST_CHECK enum vv_status vv_rocksdb_has_prefix(struct vv_rocksdb *rocksdb,
                                                   rocksdb_column_family_handle_t *family,
                                                   struct vv_str prefix, bool *has_out,
                                                   struct vv_error *error);

/* ---- write.c */
/* Puts into or removes from (value NULL) the default family, not durable yet. */
VV_MUST_CHECK enum vv_status vv_rocksdb_put(struct vv_rocksdb *rocksdb, struct vv_str key,
                                            struct vv_str value, struct vv_error *error);
/* Makes durable what was put. */
VV_MUST_CHECK enum vv_status vv_rocksdb_flush(struct vv_rocksdb *rocksdb, struct vv_error *error);
/* Reads one of the store's own 8-byte records; leaves value_out alone when it is missing. */
VV_MUST_CHECK enum vv_status vv_rocksdb_get_own(struct vv_rocksdb *rocksdb, char tag,
                                                uint64_t *value_out, struct vv_error *error);

enum vv_status vv_rocksdb_put_run(struct vv_store *, const struct vv_piece *, struct vv_error *);
enum vv_status vv_rocksdb_put_mark(struct vv_store *, const struct vv_mark *, struct vv_error *);
enum vv_status vv_rocksdb_put_meta(struct vv_store *, uint8_t kind, struct vv_str key,
                                   struct vv_str value, struct vv_error *);
enum vv_status vv_rocksdb_remove_meta(struct vv_store *, uint8_t kind, struct vv_str key,
                                      struct vv_error *);
enum vv_status vv_rocksdb_confirm(struct vv_store *, struct vv_error *);
enum vv_status vv_rocksdb_remove_runs(struct vv_store *, const struct vv_piece *, size_t n,
                                      struct vv_error *);
enum vv_status vv_rocksdb_retire_marks(struct vv_store *, const struct vv_mark *marks, size_t n,
                                       struct vv_error *);

/* ---- no_runs.c */
/* Whether it is known that the source has no runs. */
bool vv_rocksdb_has_no_runs(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source);
/* To be called before a look at all runs of the source, and … */
uint64_t vv_rocksdb_no_runs_changes(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source);
/* … with what that gave, when the look has found none. */
void vv_rocksdb_no_runs_found(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source,
                              uint64_t changes);
/* A run was put, or perhaps; before who puts it may say so. */
void vv_rocksdb_no_runs_put(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source);
/* Where runs may be there again that were removed: the database is opened; no reader is in. */
void vv_rocksdb_no_runs_forget(struct vv_rocksdb *rocksdb);

/* ---- changes.c: changes of blocks, each era's at once by a file that is ingested */
enum vv_rocksdb_phase {
    VV_PHASE_BEFORE, /* removals that must not be outlived by older data */
    VV_PHASE_MAIN,   /* the newest class */
    VV_PHASE_AFTER,  /* removals of what the main phase has replaced */
};

struct vv_rocksdb_change {
    enum vv_rocksdb_phase phase;
    uint32_t generation;
    struct vv_rocksdb_era *era;
    bool removed;
    uint8_t key[VV_STORED_BLOCK_SIZE];
    struct vv_str value; /* borrowed until written */
};

/* Zero-initialised is empty and valid. */
struct vv_rocksdb_changes {
    struct vv_rocksdb_change *list;
    size_t n;
    size_t capacity;
    bool failed; /* memory was out: check once before writing */
};

void vv_rocksdb_changes_deinit(struct vv_rocksdb_changes *changes);
void vv_rocksdb_changes_add(struct vv_rocksdb_changes *changes,
                            const struct vv_rocksdb_change *change);
/* Makes all changes, by phase, then generation, then era: each of these at once and durably. */
VV_MUST_CHECK enum vv_status vv_rocksdb_changes_write(struct vv_rocksdb *rocksdb,
                                                      struct vv_rocksdb_changes *changes,
                                                      struct vv_error *error);
/* Removes the keys from `from` up to, not including, `to`, at once and durably. */
VV_MUST_CHECK enum vv_status vv_rocksdb_remove_range(struct vv_rocksdb *rocksdb,
                                                     struct vv_rocksdb_era *era, struct vv_str from,
                                                     struct vv_str to, struct vv_error *error);

/* ---- read.c, read_blocks.c, read_parts.c */
enum vv_status vv_rocksdb_damaged_key(size_t size, struct vv_error *error);
#define VV_ROCKSDB_BUCKETS_MAX 16u /* of a read */
/* The blocks of a read of n_buckets ≥ 1; the caller has entered. What the visitor returns is
 * returned. */
VV_MUST_CHECK enum vv_status vv_rocksdb_read_blocks(struct vv_rocksdb *rocksdb,
                                                    const struct vv_store_read *read,
                                                    uint32_t n_buckets, vv_piece_visit visit,
                                                    void *context, struct vv_error *error);
/* The same of a read of single parts. VV_OK also when the visitor returned VV_DONE. */
VV_MUST_CHECK enum vv_status vv_rocksdb_read_parts(struct vv_rocksdb *rocksdb,
                                                   const struct vv_store_read *read,
                                                   uint32_t n_buckets, vv_piece_visit visit,
                                                   void *context, struct vv_error *error);

/* ---- blocks.c */
enum vv_status vv_rocksdb_put_blocks(struct vv_store *, const struct vv_piece *, size_t n,
                                     struct vv_error *);

/* ---- finder.c: looks up spans in eras, with one iterator per era. Sees each era as it was when it
 * was first asked about it. */
struct vv_rocksdb_finder {
    struct vv_rocksdb *rocksdb;
    struct vv_rocksdb_finder_entry *entries;
    size_t n;
    size_t capacity;
};

/* Zero-initialised but for rocksdb is ready. */
void vv_rocksdb_finder_deinit(struct vv_rocksdb_finder *finder);
/* A cursor on the first stored part of the span in the class; NULL when the class has none. Valid
 * until the next call. */
VV_MUST_CHECK enum vv_status vv_rocksdb_finder_seek(struct vv_rocksdb_finder *finder,
                                                    const struct vv_rocksdb_class *class,
                                                    const struct vv_span_key *span,
                                                    struct vv_rocksdb_era **era_out,
                                                    struct vv_rocksdb_cursor **cursor_out,
                                                    struct vv_error *error);
/* Whether the cursor stands on a part of the span. */
bool vv_rocksdb_on_span(const struct vv_rocksdb_cursor *cursor, const uint8_t *stored_span);

/* ---- retention.c, move.c */
enum vv_status vv_rocksdb_set_retention(struct vv_store *, uint32_t tenant, int64_t retention_ns,
                                        struct vv_error *);
enum vv_status vv_rocksdb_expire(struct vv_store *, int64_t now_ns, uint64_t work_bytes,
                                 bool *more_out, struct vv_error *);
/* Whether any era of the class holds a block of the tenant. */
VV_MUST_CHECK enum vv_status vv_rocksdb_class_has_blocks(struct vv_rocksdb *rocksdb,
                                                         uint32_t tenant,
                                                         const struct vv_rocksdb_class *class,
                                                         bool *has_out, struct vv_error *error);
/* Goes on moving one tenant's blocks out of its older classes; takes what it did off *work_left. A
 * tenant that is done has one class. */
VV_MUST_CHECK enum vv_status vv_rocksdb_move(struct vv_rocksdb *rocksdb, uint32_t tenant,
                                             int64_t now_ns, uint64_t *work_left,
                                             struct vv_error *error);

/* ---- reclaim.c */
/* Notes that the era holds much that was moved away; durable with what follows. */
VV_MUST_CHECK enum vv_status vv_rocksdb_reclaim_want(struct vv_rocksdb *rocksdb,
                                                     const struct vv_era *era,
                                                     struct vv_error *error);
/* Begins to merge the next era that wants it, or that is cold, or sees whether that is done; never
 * waits. */
VV_MUST_CHECK enum vv_status vv_rocksdb_reclaim_step(struct vv_rocksdb *rocksdb, int64_t now_ns,
                                                     struct vv_error *error);
/* Before what was put is made durable: ends a merge beside which too many small files wait. */
void vv_rocksdb_reclaim_give_way(struct vv_rocksdb *rocksdb);
/* The store is broken: if anything was being merged, that may be why. */
void vv_rocksdb_reclaim_failed(struct vv_rocksdb *rocksdb);
/* Before the database is closed. What was being merged is wanted again after the next opening. */
void vv_rocksdb_reclaim_stop(struct vv_rocksdb *rocksdb);

/* ---- cold.c */
/* An era that is cold and to be merged, used by the caller; NULL: none. It is not named again
 * before something changes in it. Looked for now and then, since that is how it is seen what is
 * quiet. */
struct vv_rocksdb_era *vv_rocksdb_cold_era(struct vv_rocksdb *rocksdb, int64_t now_ns);

/* ---- read.c, scan.c, figures.c */
enum vv_status vv_rocksdb_read(struct vv_store *, const struct vv_store_read *, vv_piece_visit,
                               void *, struct vv_error *);
enum vv_status vv_rocksdb_nearest(struct vv_store *, uint8_t region, uint32_t tenant,
                                  uint32_t source, int64_t bucket_start, bool forward,
                                  int64_t *bucket_start_out, struct vv_error *);
enum vv_status vv_rocksdb_scan_marks(struct vv_store *, int64_t due_until,
                                     const struct vv_mark *after, vv_mark_visit, void *,
                                     struct vv_error *);
enum vv_status vv_rocksdb_get_meta(struct vv_store *, uint8_t kind, struct vv_str key,
                                   struct vv_buffer *value_out, struct vv_error *);
enum vv_status vv_rocksdb_scan_meta(struct vv_store *, uint8_t kind, struct vv_str prefix,
                                    vv_meta_visit, void *, struct vv_error *);
void vv_rocksdb_read_figures(struct vv_store *, struct vv_store_figures *figures_out);

#endif
