/* SPDX-License-Identifier: Apache-2.0 */
/* Reading pieces: runs, then blocks (read_blocks.c). */
#include "store/rocksdb/rocksdb.h"

enum vv_status vv_rocksdb_damaged_key(size_t size, struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT,
                        "a key of the store has %zu bytes: restore the store from a backup", size);
}

static enum vv_status read_runs(struct vv_rocksdb *rocksdb, const uint8_t *from, const uint8_t *to,
                                vv_piece_visit visit, void *context, struct vv_error *error)
{
    uint8_t lower[1 + VV_KEY_SPAN_SIZE] = {VV_AREA_RUN};
    uint8_t upper[1 + VV_KEY_SPAN_SIZE] = {VV_AREA_RUN};
    memcpy(lower + 1, from, VV_KEY_SPAN_SIZE);
    memcpy(upper + 1, to, VV_KEY_SPAN_SIZE);
    struct vv_rocksdb_cursor cursor;
    enum vv_status status = vv_rocksdb_cursor_open(
        rocksdb, rocksdb->base, NULL, (struct vv_str){(char *)lower, sizeof lower},
        (struct vv_str){(char *)upper, sizeof upper}, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_iter_seek(cursor.iterator, (char *)lower, sizeof lower);
    while (status == VV_OK && vv_rocksdb_cursor_valid(&cursor)) {
        struct vv_str key = vv_rocksdb_cursor_key(&cursor);
        struct vv_piece piece = {.bytes = vv_rocksdb_cursor_value(&cursor)};
        if (key.size != 1 + VV_KEY_RUN_SIZE) {
            status = vv_rocksdb_damaged_key(key.size, error);
        } else {
            vv_key_to_run((const uint8_t *)key.data + 1, &piece);
            status = visit(context, &piece);
            rocksdb_iter_next(cursor.iterator);
        }
    }
    if (status == VV_OK) {
        status = vv_rocksdb_cursor_status(&cursor, error);
    }
    vv_rocksdb_cursor_close(&cursor);
    return status;
}

enum vv_status vv_rocksdb_read(struct vv_store *store, const struct vv_store_read *read,
                               vv_piece_visit visit, void *context, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    uint8_t from[VV_KEY_SPAN_SIZE];
    uint8_t to[VV_KEY_SPAN_SIZE];
    vv_key_read_bounds(read, from, to);
    if (read->partition.region != 0 || memcmp(from, to, sizeof from) >= 0) {
        return VV_OK;
    }
    enum vv_status status = vv_rocksdb_enter(rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    status = read_runs(rocksdb, from, to, visit, context, error);
    if (status == VV_OK) {
        status = vv_rocksdb_read_blocks(rocksdb, read, visit, context, error);
    }
    vv_rocksdb_leave(rocksdb);
    return status == VV_DONE ? VV_OK : status;
}
