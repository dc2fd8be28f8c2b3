/* SPDX-License-Identifier: Apache-2.0 */
/* Iterators with bounds. */
#include "store/rocksdb/rocksdb.h"

#define REMOVED_KEYS_MAX 64 /* that a short cursor passes over at once */

/* Takes the options, which have a snapshot already if there is to be one. */
static enum vv_status open_with(struct vv_rocksdb *rocksdb, rocksdb_column_family_handle_t *family,
                                rocksdb_readoptions_t *take_options, struct vv_str lower,
                                struct vv_str upper, struct vv_rocksdb_cursor *cursor_out,
                                struct vv_error *error)
{
    *cursor_out = (struct vv_rocksdb_cursor){0};
    if (lower.size > 0) {
        rocksdb_readoptions_set_iterate_lower_bound(take_options, lower.data, lower.size);
    }
    if (upper.size > 0) {
        rocksdb_readoptions_set_iterate_upper_bound(take_options, upper.data, upper.size);
    }
    rocksdb_iterator_t *iterator =
        rocksdb_create_iterator_cf(rocksdb->database, take_options, family);
    if (!iterator) {
        rocksdb_readoptions_destroy(take_options);
        return vv_error_set(error, VV_NO_MEMORY, "no memory to read from the store");
    }
    *cursor_out = (struct vv_rocksdb_cursor){take_options, iterator};
    return VV_OK;
}

enum vv_status vv_rocksdb_cursor_open(struct vv_rocksdb *rocksdb,
                                      rocksdb_column_family_handle_t *family,
                                      const rocksdb_snapshot_t *snapshot, struct vv_str lower,
                                      struct vv_str upper, struct vv_rocksdb_cursor *cursor_out,
                                      struct vv_error *error)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    if (snapshot) {
        rocksdb_readoptions_set_snapshot(options, snapshot);
    }
    return open_with(rocksdb, family, options, lower, upper, cursor_out, error);
}

enum vv_status vv_rocksdb_cursor_open_short(struct vv_rocksdb *rocksdb,
                                            rocksdb_column_family_handle_t *family,
                                            struct vv_str lower, struct vv_str upper,
                                            struct vv_rocksdb_cursor *cursor_out,
                                            struct vv_error *error)
{
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    rocksdb_readoptions_set_max_skippable_internal_keys(options, REMOVED_KEYS_MAX);
    return open_with(rocksdb, family, options, lower, upper, cursor_out, error);
}

void vv_rocksdb_cursor_close(struct vv_rocksdb_cursor *cursor)
{
    if (cursor->iterator) {
        rocksdb_iter_destroy(cursor->iterator);
        rocksdb_readoptions_destroy(cursor->options);
        *cursor = (struct vv_rocksdb_cursor){0};
    }
}

bool vv_rocksdb_cursor_valid(const struct vv_rocksdb_cursor *cursor)
{
    return rocksdb_iter_valid(cursor->iterator) != 0;
}

struct vv_str vv_rocksdb_cursor_key(const struct vv_rocksdb_cursor *cursor)
{
    struct vv_str key = {0};
    key.data = rocksdb_iter_key(cursor->iterator, &key.size);
    return key;
}

struct vv_str vv_rocksdb_cursor_value(const struct vv_rocksdb_cursor *cursor)
{
    struct vv_str value = {0};
    value.data = rocksdb_iter_value(cursor->iterator, &value.size);
    return value;
}

enum vv_status vv_rocksdb_cursor_status(const struct vv_rocksdb_cursor *cursor,
                                        struct vv_error *error)
{
    char *message = NULL;
    rocksdb_iter_get_error(cursor->iterator, &message);
    return message ? vv_rocksdb_fail(message, "cannot read from the store", error) : VV_OK;
}

enum vv_status vv_rocksdb_has_prefix(struct vv_rocksdb *rocksdb,
                                     rocksdb_column_family_handle_t *family, struct vv_str prefix,
                                     bool *has_out, struct vv_error *error)
{
    uint8_t bytes[VV_STORED_BLOCK_SIZE];
    vv_invariant(prefix.size <= sizeof bytes);
    if (prefix.size > 0) {
        memcpy(bytes, prefix.data, prefix.size);
    }
    struct vv_str upper = {(char *)bytes, vv_key_successor(bytes, prefix.size)};
    struct vv_rocksdb_cursor cursor;
    enum vv_status status =
        vv_rocksdb_cursor_open(rocksdb, family, NULL, prefix, upper, &cursor, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_iter_seek_to_first(cursor.iterator);
    *has_out = vv_rocksdb_cursor_valid(&cursor);
    status = vv_rocksdb_cursor_status(&cursor, error);
    vv_rocksdb_cursor_close(&cursor);
    return status;
}
