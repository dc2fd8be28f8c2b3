/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the memory store; private to src/store/memory.
 *
 * Four sorted maps under one lock that many may read. What confirm() has not made durable stands in
 * a log of changes, so that crash() and recover() can take it back, the newest first. Blocks and
 * retentions are durable at once and not in it.
 */
#ifndef VV_STORE_MEMORY_MEMORY_H
#define VV_STORE_MEMORY_MEMORY_H

#include "store/era.h"
#include "store/keys.h"
#include "store/memory/map.h"

#include <pthread.h>

/* One change of a map: a node came, a node went, or both (with the same key). */
struct vv_memory_change {
    struct vv_memory_map *map;
    struct vv_memory_node *added;   /* belongs to the map, or to a later change */
    struct vv_memory_node *removed; /* belongs to the log */
};

struct vv_memory_tenant {
    uint32_t tenant;
    int64_t retention_s;
};

struct vv_memory_store {
    struct vv_store store; /* first: a vv_store * of ours is a vv_memory_store * */
    pthread_rwlock_t lock;
    int eras;
    struct vv_memory_map runs;   /* by run key */
    struct vv_memory_map blocks; /* by block key; a node's class is in retention_s */
    struct vv_memory_map marks;  /* by mark key */
    struct vv_memory_map meta;   /* by kind, then key */
    struct vv_memory_change *changes;
    size_t n_changes;
    size_t changes_capacity;
    struct vv_memory_tenant *tenants; /* with a retention; in no order */
    size_t n_tenants;
    size_t tenants_capacity;
    uint32_t fail_wait; /* so many changing calls still succeed, … */
    uint32_t fail_left; /* … then so many fail with fail_status */
    enum vv_status fail_status;
    bool broken; /* a call failed: nothing is written until recover() */
    bool moving; /* blocks may lie in another class than their tenant's */
    uint64_t eras_expired;
    uint64_t recoveries;
};

static inline struct vv_memory_store *vv_memory_of(struct vv_store *store)
{
    return (struct vv_memory_store *)store;
}

/* Every changing call but recover() begins here: takes the lock for writing when it returns VV_OK,
 * to be given back by vv_memory_end(). */
VV_MUST_CHECK enum vv_status vv_memory_begin(struct vv_memory_store *memory,
                                             struct vv_error *error);
void vv_memory_end(struct vv_memory_store *memory);

/* The same for recover(): counts as a changing call, but is not refused when a call failed. */
VV_MUST_CHECK enum vv_status vv_memory_begin_recover(struct vv_memory_store *memory,
                                                     struct vv_error *error);

/* Takes back all changes but the first `keep`. With the lock. */
void vv_memory_undo(struct vv_memory_store *memory, size_t keep);
/* Makes all changes durable. With the lock. */
void vv_memory_settle(struct vv_memory_store *memory);

/* The tenant's class. With the lock. */
int64_t vv_memory_retention_s(const struct vv_memory_store *memory, uint32_t tenant);

/* The operations, by file. */
enum vv_status vv_memory_put_run(struct vv_store *, const struct vv_piece *, struct vv_error *);
enum vv_status vv_memory_put_mark(struct vv_store *, const struct vv_mark *, struct vv_error *);
enum vv_status vv_memory_put_meta(struct vv_store *, uint8_t kind, struct vv_str key,
                                  struct vv_str value, struct vv_error *);
enum vv_status vv_memory_remove_meta(struct vv_store *, uint8_t kind, struct vv_str key,
                                     struct vv_error *);
enum vv_status vv_memory_put_blocks(struct vv_store *, const struct vv_piece *, size_t n,
                                    struct vv_error *);
enum vv_status vv_memory_remove_runs(struct vv_store *, const struct vv_piece *, size_t n,
                                     struct vv_error *);
enum vv_status vv_memory_retire_marks(struct vv_store *, const struct vv_mark *marks, size_t n,
                                      struct vv_error *);
enum vv_status vv_memory_set_retention(struct vv_store *, uint32_t tenant, int64_t retention_ns,
                                       struct vv_error *);
enum vv_status vv_memory_expire(struct vv_store *, int64_t now_ns, uint64_t work_bytes,
                                bool *more_out, struct vv_error *);
enum vv_status vv_memory_read(struct vv_store *, const struct vv_store_read *, vv_piece_visit,
                              void *, struct vv_error *);
enum vv_status vv_memory_nearest(struct vv_store *, uint8_t region, uint32_t tenant,
                                 uint32_t source, int64_t bucket_start, bool forward,
                                 int64_t *bucket_start_out, struct vv_error *);
enum vv_status vv_memory_scan_marks(struct vv_store *, int64_t due_until,
                                    const struct vv_mark *after, vv_mark_visit, void *,
                                    struct vv_error *);
enum vv_status vv_memory_get_meta(struct vv_store *, uint8_t kind, struct vv_str key,
                                  struct vv_buffer *value_out, struct vv_error *);
enum vv_status vv_memory_scan_meta(struct vv_store *, uint8_t kind, struct vv_str prefix,
                                   vv_meta_visit, void *, struct vv_error *);
void vv_memory_read_figures(struct vv_store *, struct vv_store_figures *figures_out);

#endif
