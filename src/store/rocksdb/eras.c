/* SPDX-License-Identifier: Apache-2.0 */
/* The table of eras and their families. */
#include "store/rocksdb/rocksdb.h"

#include <stdlib.h>

static int compare(const struct vv_era *a, const struct vv_era *b)
{
    if (a->retention_s != b->retention_s) {
        return a->retention_s < b->retention_s ? -1 : 1;
    }
    return (a->start_s > b->start_s) - (a->start_s < b->start_s);
}

/* Where the first era at or after this one is, or would be. */
static size_t find(const struct vv_rocksdb_eras *eras, const struct vv_era *era)
{
    size_t low = 0;
    size_t high = eras->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(&eras->list[middle]->era, era) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct vv_rocksdb_era *find_exact(const struct vv_rocksdb_eras *eras,
                                         const struct vv_era *era)
{
    size_t index = find(eras, era);
    bool found = index < eras->n && compare(&eras->list[index]->era, era) == 0;
    return found ? eras->list[index] : NULL;
}

static bool reserve(struct vv_rocksdb_eras *eras)
{
    if (eras->n < eras->capacity) {
        return true;
    }
    size_t capacity = eras->capacity ? eras->capacity * 2 : 32;
    struct vv_rocksdb_era **list = realloc(eras->list, capacity * sizeof *list);
    if (!list) {
        return false;
    }
    eras->list = list;
    eras->capacity = capacity;
    return true;
}

enum vv_status vv_rocksdb_eras_add(struct vv_rocksdb *rocksdb, const struct vv_era *era,
                                   rocksdb_column_family_handle_t *take_family,
                                   struct vv_error *error)
{
    struct vv_rocksdb_era *entry = malloc(sizeof *entry);
    pthread_mutex_lock(&rocksdb->lock);
    struct vv_rocksdb_eras *eras = &rocksdb->eras;
    if (!entry || !reserve(eras)) {
        pthread_mutex_unlock(&rocksdb->lock);
        free(entry);
        rocksdb_column_family_handle_destroy(take_family);
        return vv_error_set(error, VV_NO_MEMORY, "no memory for another era");
    }
    *entry = (struct vv_rocksdb_era){.era = *era, .family = take_family, .uses = 1};
    size_t at = find(eras, era);
    memmove(&eras->list[at + 1], &eras->list[at], (eras->n - at) * sizeof eras->list[0]);
    eras->list[at] = entry;
    eras->n++;
    pthread_mutex_unlock(&rocksdb->lock);
    return VV_OK;
}

struct vv_rocksdb_era *vv_rocksdb_eras_use(struct vv_rocksdb *rocksdb, const struct vv_era *era)
{
    pthread_mutex_lock(&rocksdb->lock);
    struct vv_rocksdb_era *found = find_exact(&rocksdb->eras, era);
    if (found) {
        found->uses++;
    }
    pthread_mutex_unlock(&rocksdb->lock);
    return found;
}

struct vv_rocksdb_era *vv_rocksdb_eras_step(struct vv_rocksdb *rocksdb, int64_t retention_s,
                                            int64_t start_s, bool forward)
{
    const struct vv_era from = {retention_s, start_s};
    pthread_mutex_lock(&rocksdb->lock);
    const struct vv_rocksdb_eras *eras = &rocksdb->eras;
    size_t index = find(eras, &from);
    bool exact = index < eras->n && compare(&eras->list[index]->era, &from) == 0;
    if (!forward && !exact) {
        index = index > 0 ? index - 1 : eras->n;
    }
    struct vv_rocksdb_era *found = NULL;
    if (index < eras->n && eras->list[index]->era.retention_s == retention_s) {
        found = eras->list[index];
        found->uses++;
    }
    pthread_mutex_unlock(&rocksdb->lock);
    return found;
}

void vv_rocksdb_eras_release(struct vv_rocksdb *rocksdb, struct vv_rocksdb_era *era)
{
    if (!era) {
        return;
    }
    pthread_mutex_lock(&rocksdb->lock);
    bool last = --era->uses == 0;
    pthread_mutex_unlock(&rocksdb->lock);
    if (last) {
        rocksdb_column_family_handle_destroy(era->family);
        free(era);
    }
}

enum vv_status vv_rocksdb_eras_make(struct vv_rocksdb *rocksdb, const struct vv_era *era,
                                    struct vv_rocksdb_era **era_out, struct vv_error *error)
{
    *era_out = find_exact(&rocksdb->eras, era);
    if (*era_out) {
        return VV_OK;
    }
    if (rocksdb->eras.n >= VV_FAMILIES_MAX) {
        return vv_error_set(error, VV_OVERLOAD,
                            "the store holds %d eras, the most that it can: data of so many times "
                            "needs a longer retention",
                            VV_FAMILIES_MAX);
    }
    char name[VV_FAMILY_NAME_SIZE];
    vv_rocksdb_family_name(era, name);
    char *message = NULL;
    rocksdb_column_family_handle_t *family =
        rocksdb_create_column_family(rocksdb->database, rocksdb->options.blocks, name, &message);
    enum vv_status status = vv_rocksdb_wrote(rocksdb, message, "cannot begin an era", error);
    if (status == VV_OK) {
        status = vv_rocksdb_eras_add(rocksdb, era, family, error);
        rocksdb->broken = status != VV_OK; /* the family is there, but not in the table */
    }
    if (status == VV_OK) {
        *era_out = find_exact(&rocksdb->eras, era);
    }
    return status;
}

enum vv_status vv_rocksdb_eras_drop(struct vv_rocksdb *rocksdb, struct vv_rocksdb_era *era,
                                    struct vv_error *error)
{
    pthread_mutex_lock(&rocksdb->lock);
    struct vv_rocksdb_eras *eras = &rocksdb->eras;
    size_t at = find(eras, &era->era);
    vv_invariant(at < eras->n && eras->list[at] == era);
    eras->n--;
    memmove(&eras->list[at], &eras->list[at + 1], (eras->n - at) * sizeof eras->list[0]);
    pthread_mutex_unlock(&rocksdb->lock);
    char *message = NULL;
    rocksdb_drop_column_family(rocksdb->database, era->family, &message);
    vv_rocksdb_eras_release(rocksdb, era);
    return vv_rocksdb_wrote(rocksdb, message, "cannot drop an era", error);
}

void vv_rocksdb_eras_clear(struct vv_rocksdb *rocksdb)
{
    pthread_mutex_lock(&rocksdb->lock);
    struct vv_rocksdb_eras eras = rocksdb->eras;
    rocksdb->eras = (struct vv_rocksdb_eras){0};
    pthread_mutex_unlock(&rocksdb->lock);
    for (size_t i = 0; i < eras.n; i++) {
        vv_invariant(eras.list[i]->uses == 1);
        rocksdb_column_family_handle_destroy(eras.list[i]->family);
        free(eras.list[i]);
    }
    free(eras.list);
}
