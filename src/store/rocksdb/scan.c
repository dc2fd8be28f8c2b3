/* SPDX-License-Identifier: Apache-2.0 */
/* Scanning marks and metadata. */
#include "store/rocksdb/rocksdb.h"

#define AREA_MARK_SIZE (1 + VV_KEY_MARK_SIZE)

/* Begins a scan of the marks from the start: writes where to begin; returns whether this scan may
 * raise the floor at its end. */
static bool floor_begin(struct vv_rocksdb *rocksdb, uint8_t *from_out)
{
    pthread_mutex_lock(&rocksdb->lock);
    memcpy(from_out, rocksdb->marks_floor, VV_KEY_MARK_SIZE);
    bool raising = !rocksdb->marks_scanned;
    if (raising) {
        rocksdb->marks_scanned = true;
        memset(rocksdb->marks_lowest_put, 0xff, VV_KEY_MARK_SIZE);
    }
    pthread_mutex_unlock(&rocksdb->lock);
    return raising;
}

/* first: the least key at which the scan found a mark, or up to which it found none. */
static void floor_end(struct vv_rocksdb *rocksdb, const uint8_t *first)
{
    pthread_mutex_lock(&rocksdb->lock);
    const uint8_t *put = rocksdb->marks_lowest_put;
    memcpy(rocksdb->marks_floor, memcmp(put, first, VV_KEY_MARK_SIZE) < 0 ? put : first,
           VV_KEY_MARK_SIZE);
    rocksdb->marks_scanned = false;
    pthread_mutex_unlock(&rocksdb->lock);
}

static enum vv_status visit_mark(const struct vv_rocksdb_cursor *cursor, vv_mark_visit visit,
                                 void *context, struct vv_error *error)
{
    struct vv_str key = vv_rocksdb_cursor_key(cursor);
    struct vv_str value = vv_rocksdb_cursor_value(cursor);
    if (key.size != AREA_MARK_SIZE || value.size != VV_MARK_VALUE_SIZE) {
        return vv_error_set(error, VV_CORRUPT,
                            "a mark has %zu and %zu bytes: restore the store from a backup",
                            key.size, value.size);
    }
    struct vv_mark mark;
    vv_key_to_mark((const uint8_t *)key.data + 1, (const uint8_t *)value.data, &mark);
    return visit(context, &mark);
}

/* Scans [from, to); first_out, all 0xff before, gets the first mark's key without the area. */
static enum vv_status scan_marks(struct vv_rocksdb *rocksdb, struct vv_str from, struct vv_str to,
                                 uint8_t *first_out, vv_mark_visit visit, void *context,
                                 struct vv_error *error)
{
    struct vv_rocksdb_cursor cursor;
    enum vv_status status =
        vv_rocksdb_cursor_open(rocksdb, rocksdb->base, NULL, from, to, &cursor, error);
    if (status != VV_OK) {
        memset(first_out, 0, VV_KEY_MARK_SIZE);
        return status;
    }
    rocksdb_iter_seek_to_first(cursor.iterator);
    if (vv_rocksdb_cursor_valid(&cursor) && vv_rocksdb_cursor_key(&cursor).size == AREA_MARK_SIZE) {
        memcpy(first_out, vv_rocksdb_cursor_key(&cursor).data + 1, VV_KEY_MARK_SIZE);
    }
    while (status == VV_OK && vv_rocksdb_cursor_valid(&cursor)) {
        status = visit_mark(&cursor, visit, context, error);
        rocksdb_iter_next(cursor.iterator);
    }
    if (status == VV_OK) {
        status = vv_rocksdb_cursor_status(&cursor, error);
    }
    vv_rocksdb_cursor_close(&cursor);
    return status == VV_DONE ? VV_OK : status;
}

enum vv_status vv_rocksdb_scan_marks(struct vv_store *store, int64_t due_until,
                                     const struct vv_mark *after, vv_mark_visit visit,
                                     void *context, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    enum vv_status status = vv_rocksdb_enter(rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    uint8_t from[AREA_MARK_SIZE + 1] = {VV_AREA_MARK}; /* with a zero: behind that very key */
    uint8_t to[1 + 8] = {VV_AREA_MARK};
    uint8_t first[VV_KEY_MARK_SIZE];
    vv_key_put_i64(to + 1, due_until);
    struct vv_str upper = {(char *)to, vv_key_successor(to, sizeof to)};
    struct vv_str lower = {(char *)from, after ? sizeof from : AREA_MARK_SIZE};
    bool raising = false;
    if (after) {
        vv_key_from_mark(after, from + 1);
    } else {
        raising = floor_begin(rocksdb, from + 1);
    }
    /* Without a mark, all up to the end of the scan is known to be empty. */
    memset(first, 0xff, sizeof first);
    vv_key_put_i64(first, due_until);
    if (vv_str_compare(lower, upper) < 0) {
        status = scan_marks(rocksdb, lower, upper, first, visit, context, error);
    } else {
        memcpy(first, from + 1, sizeof first);
    }
    if (raising) {
        if (status != VV_OK) {
            memset(first, 0, sizeof first);
        }
        floor_end(rocksdb, first);
    }
    vv_rocksdb_leave(rocksdb);
    return status;
}

enum vv_status vv_rocksdb_get_meta(struct vv_store *store, uint8_t kind, struct vv_str key,
                                   struct vv_buffer *value_out, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    struct vv_buffer full = {0};
    vv_buffer_u8(&full, VV_AREA_META);
    vv_buffer_u8(&full, kind);
    vv_buffer_str(&full, key);
    enum vv_status status = full.failed ? vv_error_set(error, VV_NO_MEMORY, "no memory to read")
                                        : vv_rocksdb_enter(rocksdb, error);
    if (status != VV_OK) {
        vv_buffer_deinit(&full);
        return status;
    }
    char *message = NULL;
    rocksdb_pinnableslice_t *slice =
        rocksdb_get_pinned_cf(rocksdb->database, rocksdb->options.get, rocksdb->base,
                              (char *)full.data, full.size, &message);
    if (message) {
        status = vv_rocksdb_fail(message, "cannot read from the store", error);
    } else if (!slice) {
        status = vv_error_set(error, VV_NOT_FOUND, "there is no such metadata of kind %u", kind);
    } else {
        struct vv_str value = {0};
        value.data = rocksdb_pinnableslice_value(slice, &value.size);
        vv_buffer_str(value_out, value);
        status = vv_buffer_status(value_out);
        if (status != VV_OK) {
            vv_error_set(error, status, "no room for metadata of kind %u", kind);
        }
    }
    if (slice) {
        rocksdb_pinnableslice_destroy(slice);
    }
    vv_rocksdb_leave(rocksdb);
    vv_buffer_deinit(&full);
    return status;
}

static enum vv_status scan_meta(struct vv_rocksdb *rocksdb, struct vv_str from, struct vv_str to,
                                vv_meta_visit visit, void *context, struct vv_error *error)
{
    struct vv_rocksdb_cursor cursor;
    enum vv_status status =
        vv_rocksdb_cursor_open(rocksdb, rocksdb->base, NULL, from, to, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_iter_seek_to_first(cursor.iterator);
    while (status == VV_OK && vv_rocksdb_cursor_valid(&cursor)) {
        struct vv_str key = vv_rocksdb_cursor_key(&cursor);
        key = (struct vv_str){key.data + 2, key.size - 2}; /* bounded to begin with both */
        status = visit(context, key, vv_rocksdb_cursor_value(&cursor));
        rocksdb_iter_next(cursor.iterator);
    }
    if (status == VV_OK) {
        status = vv_rocksdb_cursor_status(&cursor, error);
    }
    vv_rocksdb_cursor_close(&cursor);
    return status == VV_DONE ? VV_OK : status;
}

enum vv_status vv_rocksdb_scan_meta(struct vv_store *store, uint8_t kind, struct vv_str prefix,
                                    vv_meta_visit visit, void *context, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    struct vv_buffer from = {0};
    struct vv_buffer to = {0};
    vv_buffer_u8(&from, VV_AREA_META);
    vv_buffer_u8(&from, kind);
    vv_buffer_str(&from, prefix);
    vv_buffer_append(&to, from.data, from.size);
    enum vv_status status = from.failed || to.failed
                                ? vv_error_set(error, VV_NO_MEMORY, "no memory to read")
                                : vv_rocksdb_enter(rocksdb, error);
    if (status == VV_OK) {
        struct vv_str upper = {(char *)to.data, vv_key_successor(to.data, to.size)};
        status = scan_meta(rocksdb, (struct vv_str){(char *)from.data, from.size}, upper, visit,
                           context, error);
        vv_rocksdb_leave(rocksdb);
    }
    vv_buffer_deinit(&from);
    vv_buffer_deinit(&to);
    return status;
}
