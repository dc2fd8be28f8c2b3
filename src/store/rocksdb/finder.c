/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up the stored parts of many spans. */
#include "store/rocksdb/rocksdb.h"

#include <stdlib.h>

struct vv_rocksdb_finder_entry {
    struct vv_rocksdb_era *era;
    struct vv_rocksdb_cursor cursor;
};

void vv_rocksdb_finder_deinit(struct vv_rocksdb_finder *finder)
{
    for (size_t i = 0; i < finder->n; i++) {
        vv_rocksdb_cursor_close(&finder->entries[i].cursor);
        vv_rocksdb_eras_release(finder->rocksdb, finder->entries[i].era);
    }
    free(finder->entries);
    finder->entries = NULL;
    finder->n = 0;
    finder->capacity = 0;
}

/* Takes the era's use over. */
static enum vv_status add(struct vv_rocksdb_finder *finder, struct vv_rocksdb_era *take_era,
                          struct vv_rocksdb_finder_entry **entry_out, struct vv_error *error)
{
    if (finder->n == finder->capacity) {
        size_t capacity = finder->capacity ? finder->capacity * 2 : 8;
        struct vv_rocksdb_finder_entry *entries =
            realloc(finder->entries, capacity * sizeof *entries);
        if (!entries) {
            vv_rocksdb_eras_release(finder->rocksdb, take_era);
            return vv_error_set(error, VV_NO_MEMORY, "no memory to look up blocks");
        }
        finder->entries = entries;
        finder->capacity = capacity;
    }
    struct vv_rocksdb_finder_entry *entry = &finder->entries[finder->n];
    *entry = (struct vv_rocksdb_finder_entry){.era = take_era};
    enum vv_status status =
        vv_rocksdb_cursor_open(finder->rocksdb, take_era->family, NULL, (struct vv_str){0},
                               (struct vv_str){0}, &entry->cursor, error);
    if (status != VV_OK) {
        vv_rocksdb_eras_release(finder->rocksdb, take_era);
        return status;
    }
    finder->n++;
    *entry_out = entry;
    return VV_OK;
}

static struct vv_rocksdb_finder_entry *find_entry(const struct vv_rocksdb_finder *finder,
                                                  const struct vv_era *era)
{
    for (size_t i = finder->n; i > 0; i--) {
        const struct vv_era *known = &finder->entries[i - 1].era->era;
        if (known->retention_s == era->retention_s && known->start_s == era->start_s) {
            return &finder->entries[i - 1];
        }
    }
    return NULL;
}

enum vv_status vv_rocksdb_finder_seek(struct vv_rocksdb_finder *finder,
                                      const struct vv_rocksdb_class *class,
                                      const struct vv_span_key *span,
                                      struct vv_rocksdb_era **era_out,
                                      struct vv_rocksdb_cursor **cursor_out, struct vv_error *error)
{
    struct vv_rocksdb *rocksdb = finder->rocksdb;
    struct vv_era era = vv_era_of(class->retention_s, rocksdb->era_count, &span->partition);
    struct vv_rocksdb_finder_entry *entry = find_entry(finder, &era);
    *era_out = NULL;
    *cursor_out = NULL;
    if (!entry) {
        struct vv_rocksdb_era *used = vv_rocksdb_eras_use(rocksdb, &era);
        if (!used) {
            return VV_OK;
        }
        enum vv_status status = add(finder, used, &entry, error);
        if (status != VV_OK) {
            return status;
        }
    }
    uint8_t key[VV_KEY_SPAN_SIZE];
    uint8_t stored[VV_STORED_SPAN_SIZE];
    vv_key_from_span(span, key);
    vv_rocksdb_key_store(key, sizeof key, class->generation, stored);
    rocksdb_iter_seek(entry->cursor.iterator, (const char *)stored, sizeof stored);
    enum vv_status status = vv_rocksdb_cursor_status(&entry->cursor, error);
    if (status == VV_OK && vv_rocksdb_on_span(&entry->cursor, stored)) {
        *era_out = entry->era;
        *cursor_out = &entry->cursor;
    }
    return status;
}

bool vv_rocksdb_on_span(const struct vv_rocksdb_cursor *cursor, const uint8_t *stored_span)
{
    if (!vv_rocksdb_cursor_valid(cursor)) {
        return false;
    }
    struct vv_str key = vv_rocksdb_cursor_key(cursor);
    return key.size == VV_STORED_BLOCK_SIZE &&
           memcmp(key.data, stored_span, VV_STORED_SPAN_SIZE) == 0;
}
