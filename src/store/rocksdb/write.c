/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs, marks and metadata: into the memory of the default family, without a log. One family keeps
 * all that must become durable in order: its memory is written to files oldest first, and
 * rocksdb/c.h can flush no more than one family at a time.
 */
#include "store/rocksdb/rocksdb.h"

enum vv_status vv_rocksdb_put(struct vv_rocksdb *rocksdb, struct vv_str key, struct vv_str value,
                              struct vv_error *error)
{
    char *message = NULL;
    if (value.data) {
        rocksdb_put_cf(rocksdb->database, rocksdb->options.write, rocksdb->base, key.data, key.size,
                       value.data, value.size, &message);
    } else {
        rocksdb_delete_cf(rocksdb->database, rocksdb->options.write, rocksdb->base, key.data,
                          key.size, &message);
    }
    return vv_rocksdb_wrote(rocksdb, message, "cannot write to the store", error);
}

enum vv_status vv_rocksdb_flush(struct vv_rocksdb *rocksdb, struct vv_error *error)
{
    char *message = NULL;
    vv_rocksdb_reclaim_give_way(rocksdb);
    rocksdb_flush_cf(rocksdb->database, rocksdb->options.flush, rocksdb->base, &message);
    return vv_rocksdb_wrote(rocksdb, message, "cannot make what was stored durable", error);
}

enum vv_status vv_rocksdb_confirm(struct vv_store *store, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    return status == VV_OK ? vv_rocksdb_flush(rocksdb, error) : status;
}

enum vv_status vv_rocksdb_put_run(struct vv_store *store, const struct vv_piece *run,
                                  struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    status = status == VV_OK ? vv_key_check(&run->key, error) : status;
    if (status != VV_OK) {
        return status;
    }
    uint8_t key[1 + VV_KEY_RUN_SIZE] = {VV_AREA_RUN};
    vv_key_from_run(run, key + 1);
    struct vv_str value = run->bytes.size > 0 ? run->bytes : VV_STR_LITERAL("");
    status = vv_rocksdb_put(rocksdb, (struct vv_str){(char *)key, sizeof key}, value, error);
    vv_rocksdb_no_runs_put(rocksdb, run->key.partition.tenant, run->key.partition.source);
    return status;
}

enum vv_status vv_rocksdb_remove_runs(struct vv_store *store, const struct vv_piece *runs, size_t n,
                                      struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();
    for (size_t i = 0; i < n; i++) {
        uint8_t key[1 + VV_KEY_RUN_SIZE] = {VV_AREA_RUN};
        vv_key_from_run(&runs[i], key + 1);
        rocksdb_writebatch_delete_cf(batch, rocksdb->base, (char *)key, sizeof key);
    }
    char *message = NULL;
    rocksdb_write(rocksdb->database, rocksdb->options.write, batch, &message);
    rocksdb_writebatch_destroy(batch);
    return vv_rocksdb_wrote(rocksdb, message, "cannot remove runs", error);
}

/* Reads a record of the default family; *found_out says whether it is there with `size` bytes. */
static enum vv_status get(struct vv_rocksdb *rocksdb, struct vv_str key, uint8_t *bytes_out,
                          size_t size, bool *found_out, struct vv_error *error)
{
    char *message = NULL;
    *found_out = false;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned_cf(
        rocksdb->database, rocksdb->options.get, rocksdb->base, key.data, key.size, &message);
    if (message) {
        return vv_rocksdb_fail(message, "cannot read from the store", error);
    }
    if (!slice) {
        return VV_OK;
    }
    size_t stored;
    const char *bytes = rocksdb_pinnableslice_value(slice, &stored);
    if (stored == size) {
        memcpy(bytes_out, bytes, size);
        *found_out = true;
    }
    rocksdb_pinnableslice_destroy(slice);
    return stored == size ? VV_OK
                          : vv_error_set(error, VV_CORRUPT,
                                         "a record of the store has %zu bytes instead of %zu: "
                                         "restore the store from a backup",
                                         stored, size);
}

enum vv_status vv_rocksdb_get_own(struct vv_rocksdb *rocksdb, char tag, uint64_t *value_out,
                                  struct vv_error *error)
{
    const char key[] = {VV_AREA_OWN, tag};
    uint8_t bytes[8];
    bool found;
    enum vv_status status =
        get(rocksdb, (struct vv_str){key, sizeof key}, bytes, sizeof bytes, &found, error);
    if (status == VV_OK && found) {
        *value_out = vv_key_get_u64(bytes);
    }
    return status;
}

/* Whether a mark may be replaced or retired by one of `run`: no newer one is stored. */
static enum vv_status is_newest(struct vv_rocksdb *rocksdb, struct vv_str key, vv_stamp run,
                                bool *newest_out, struct vv_error *error)
{
    *newest_out = true;
    if (run >= rocksdb->mark_run_max) {
        return VV_OK;
    }
    uint8_t value[VV_MARK_VALUE_SIZE];
    bool found;
    enum vv_status status = get(rocksdb, key, value, sizeof value, &found, error);
    if (status == VV_OK && found) {
        *newest_out = vv_key_get_u64(value) <= run;
    }
    return status;
}

/* Writes the highest run before the first mark that has it, so that it is known after any crash
 * and a flush need not look at the marks that it renews. */
static enum vv_status raise_mark_run(struct vv_rocksdb *rocksdb, vv_stamp run,
                                     struct vv_error *error)
{
    if (run <= rocksdb->mark_run_max) {
        return VV_OK;
    }
    const char key[] = {VV_AREA_OWN, VV_OWN_MARK};
    uint8_t value[8];
    vv_key_put_u64(value, run);
    enum vv_status status = vv_rocksdb_put(rocksdb, (struct vv_str){key, sizeof key},
                                           (struct vv_str){(char *)value, sizeof value}, error);
    if (status == VV_OK) {
        rocksdb->mark_run_max = run;
    }
    return status;
}

static void lower(uint8_t *bound, const uint8_t *mark_key)
{
    if (memcmp(mark_key, bound, VV_KEY_MARK_SIZE) < 0) {
        memcpy(bound, mark_key, VV_KEY_MARK_SIZE);
    }
}

/* After the mark is put: a scan that began before and did not see it then learns of it here, before
 * or after it raised the floor. */
static void lower_floor(struct vv_rocksdb *rocksdb, const uint8_t *mark_key)
{
    pthread_mutex_lock(&rocksdb->lock);
    lower(rocksdb->marks_floor, mark_key);
    lower(rocksdb->marks_lowest_put, mark_key);
    pthread_mutex_unlock(&rocksdb->lock);
}

enum vv_status vv_rocksdb_put_mark(struct vv_store *store, const struct vv_mark *mark,
                                   struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    status = status == VV_OK ? vv_key_check(&mark->key, error) : status;
    if (status != VV_OK) {
        return status;
    }
    uint8_t bytes[1 + VV_KEY_MARK_SIZE] = {VV_AREA_MARK};
    uint8_t value[VV_MARK_VALUE_SIZE];
    vv_key_from_mark(mark, bytes + 1);
    vv_mark_value(mark, value);
    struct vv_str key = {(char *)bytes, sizeof bytes};
    status = raise_mark_run(rocksdb, mark->run, error);
    bool newest = false;
    if (status == VV_OK) {
        status = is_newest(rocksdb, key, mark->run, &newest, error);
    }
    if (status == VV_OK && newest) {
        status = vv_rocksdb_put(rocksdb, key, (struct vv_str){(char *)value, sizeof value}, error);
        lower_floor(rocksdb, bytes + 1);
    }
    return status;
}

static enum vv_status retire_mark(struct vv_rocksdb *rocksdb, const struct vv_mark *mark,
                                  struct vv_error *error)
{
    uint8_t bytes[1 + VV_KEY_MARK_SIZE] = {VV_AREA_MARK};
    vv_key_from_mark(mark, bytes + 1);
    struct vv_str key = {(char *)bytes, sizeof bytes};
    bool newest;
    enum vv_status status = is_newest(rocksdb, key, mark->run, &newest, error);
    if (status == VV_OK && newest) {
        status = vv_rocksdb_put(rocksdb, key, (struct vv_str){0}, error);
    }
    return status;
}

enum vv_status vv_rocksdb_retire_marks(struct vv_store *store, const struct vv_mark *marks,
                                       size_t n, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = retire_mark(rocksdb, &marks[i], error);
    }
    return status;
}

static enum vv_status change_meta(struct vv_store *store, uint8_t kind, struct vv_str key,
                                  struct vv_str value, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = vv_rocksdb_of(store);
    enum vv_status status = vv_rocksdb_writable(rocksdb, error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_buffer full = {0};
    vv_buffer_u8(&full, VV_AREA_META);
    vv_buffer_u8(&full, kind);
    vv_buffer_str(&full, key);
    if (full.failed) {
        status = vv_error_set(error, VV_NO_MEMORY, "no memory to write metadata");
    } else {
        status =
            vv_rocksdb_put(rocksdb, (struct vv_str){(char *)full.data, full.size}, value, error);
    }
    vv_buffer_deinit(&full);
    return status;
}

enum vv_status vv_rocksdb_put_meta(struct vv_store *store, uint8_t kind, struct vv_str key,
                                   struct vv_str value, struct vv_error *error)
{
    return change_meta(store, kind, key, value.size > 0 ? value : VV_STR_LITERAL(""), error);
}

enum vv_status vv_rocksdb_remove_meta(struct vv_store *store, uint8_t kind, struct vv_str key,
                                      struct vv_error *error)
{
    return change_meta(store, kind, key, (struct vv_str){0}, error);
}
