/* SPDX-License-Identifier: Apache-2.0 */
/* Reading pieces: runs, then blocks (read_blocks.c, read_parts.c). */
#include "store/rocksdb/rocksdb.h"

enum vv_status vv_rocksdb_damaged_key(size_t size, struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT,
                        "a key of the store has %zu bytes: restore the store from a backup", size);
}

#define BOUND_SIZE  (1 + VV_KEY_SPAN_SIZE)
#define SOURCE_SIZE (1 + VV_KEY_SOURCE_SIZE)

/* The runs of one bucket of the read. */
static void bounds_of(const struct vv_store_read *read, uint32_t bucket, uint8_t *lower,
                      uint8_t *upper)
{
    lower[0] = upper[0] = VV_AREA_RUN;
    vv_key_read_bounds(read, bucket, lower + 1, upper + 1);
}

/* Stands there or behind it already where nothing of others lies between two buckets. */
static void go_to(struct vv_rocksdb_cursor *cursor, const uint8_t *lower)
{
    struct vv_str bound = {(const char *)lower, BOUND_SIZE};
    if (vv_str_compare(vv_rocksdb_cursor_key(cursor), bound) < 0) {
        rocksdb_iter_seek(cursor->iterator, bound.data, bound.size);
    }
}

static enum vv_status visit_runs(struct vv_rocksdb_cursor *cursor, const uint8_t *upper,
                                 vv_piece_visit visit, void *context, size_t *n_out,
                                 struct vv_error *error)
{
    enum vv_status status = VV_OK;
    while (status == VV_OK && vv_rocksdb_cursor_valid(cursor)) {
        struct vv_str key = vv_rocksdb_cursor_key(cursor);
        struct vv_piece piece = {.bytes = vv_rocksdb_cursor_value(cursor)};
        if (key.size != 1 + VV_KEY_RUN_SIZE) {
            return vv_rocksdb_damaged_key(key.size, error);
        }
        if (memcmp(key.data, upper, BOUND_SIZE) >= 0) {
            break;
        }
        vv_key_to_run((const uint8_t *)key.data + 1, &piece);
        ++*n_out;
        status = visit(context, &piece);
        rocksdb_iter_next(cursor->iterator);
    }
    return status;
}

/* The runs of the read; *n_out counts what was found. */
static enum vv_status read_runs(struct vv_rocksdb *rocksdb, const struct vv_store_read *read,
                                uint32_t n_buckets, vv_piece_visit visit, void *context,
                                size_t *n_out, struct vv_error *error)
{
    uint8_t first[BOUND_SIZE];
    uint8_t last[BOUND_SIZE];
    uint8_t lower[BOUND_SIZE];
    uint8_t upper[BOUND_SIZE];
    bounds_of(read, n_buckets - 1, lower, last);
    bounds_of(read, 0, first, upper);
    struct vv_rocksdb_cursor cursor;
    enum vv_status status = vv_rocksdb_cursor_open(
        rocksdb, rocksdb->base, NULL, (struct vv_str){(char *)first, sizeof first},
        (struct vv_str){(char *)last, sizeof last}, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_iter_seek(cursor.iterator, (char *)first, sizeof first);
    for (uint32_t i = 0; i < n_buckets && status == VV_OK && vv_rocksdb_cursor_valid(&cursor);
         i++) {
        bounds_of(read, i, lower, upper);
        go_to(&cursor, lower);
        status = visit_runs(&cursor, upper, visit, context, n_out, error);
    }
    if (status == VV_OK) {
        status = vv_rocksdb_cursor_status(&cursor, error);
    }
    vv_rocksdb_cursor_close(&cursor);
    return status;
}

/* Whether the source has no runs at all. Where many were removed, so that it takes long to tell,
 * the answer is that it may have some. */
static bool find_none(struct vv_rocksdb *rocksdb, uint32_t tenant, uint32_t source)
{
    uint8_t from[SOURCE_SIZE] = {VV_AREA_RUN};
    uint8_t to[SOURCE_SIZE];
    struct vv_rocksdb_cursor cursor;
    vv_key_from_source(tenant, source, from + 1);
    memcpy(to, from, sizeof from);
    struct vv_str upper = {(char *)to, vv_key_successor(to, sizeof to)};
    if (vv_rocksdb_cursor_open_short(rocksdb, rocksdb->base,
                                     (struct vv_str){(char *)from, sizeof from}, upper, &cursor,
                                     NULL) != VV_OK) {
        return false;
    }
    rocksdb_iter_seek(cursor.iterator, (char *)from, sizeof from);
    bool has_none =
        !vv_rocksdb_cursor_valid(&cursor) && vv_rocksdb_cursor_status(&cursor, NULL) == VV_OK;
    vv_rocksdb_cursor_close(&cursor);
    return has_none;
}

/* Reads of heads and of runs alone are of tiers, where there are mostly none: it is worth to know.
 */
static enum vv_status read_or_skip_runs(struct vv_rocksdb *rocksdb,
                                        const struct vv_store_read *read, uint32_t n_buckets,
                                        vv_piece_visit visit, void *context, struct vv_error *error)
{
    uint32_t tenant = read->partition.tenant;
    uint32_t source = read->partition.source;
    size_t n = 0;
    if (vv_rocksdb_has_no_runs(rocksdb, tenant, source)) {
        return VV_OK;
    }
    uint64_t changes = vv_rocksdb_no_runs_changes(rocksdb, tenant, source);
    enum vv_status status = read_runs(rocksdb, read, n_buckets, visit, context, &n, error);
    bool is_worth = read->heads_only || read->runs_only;
    if (status == VV_OK && n == 0 && is_worth && find_none(rocksdb, tenant, source)) {
        vv_rocksdb_no_runs_found(rocksdb, tenant, source, changes);
    }
    return status;
}

enum vv_status vv_rocksdb_read(struct vv_store *store, const struct vv_store_read *read,
                               vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    uint32_t n_buckets = read->n_buckets > 0 ? read->n_buckets : 1;
    vv_invariant(n_buckets <= VV_ROCKSDB_BUCKETS_MAX);
    if (read->partition.region != 0 || read->span_from >= read->span_to) {
        return VV_OK;
    }
    enum vv_status status = vv_rocksdb_enter(rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    status = read_or_skip_runs(rocksdb, read, n_buckets, visit, context, error);
    if (status == VV_OK && !read->runs_only) {
        status = (read->part_to > 0 ? vv_rocksdb_read_parts : vv_rocksdb_read_blocks)(
            rocksdb, read, n_buckets, visit, context, error);
    }
    vv_rocksdb_leave(rocksdb);
    return status == VV_DONE ? VV_OK : status;
}
