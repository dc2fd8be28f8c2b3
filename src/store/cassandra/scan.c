/* SPDX-License-Identifier: Apache-2.0 */
/* Marks and metadata: what the local store has, and the changes that wait to get there. */
#include "store/cassandra/cassandra.h"

#include <stdlib.h>

static enum vv_status scan(struct vv_cassandra *store, int64_t due_until,
                           const struct vv_mark *after, bool all, vv_mark_visit visit,
                           void *context, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    uintptr_t writer = atomic_load(&store->writer); /* 0: nothing was written yet */
    bool is_writer = writer == 0 || writer == (uintptr_t)pthread_self();
    if (is_writer && !atomic_load(&store->failed)) {
        status = vv_cassandra_failed(store, vv_ledger_send(store, error));
        if (status == VV_OK && !after) {
            status = vv_ledger_read(store, error);
        }
    }
    const struct vv_ledger_scan how = {.drops = is_writer, .all = all};
    return status == VV_OK ? vv_ledger_scan(store, due_until, after, how, visit, context, error)
                           : status;
}

enum vv_status vv_cassandra_scan_marks(struct vv_store *base, int64_t due_until,
                                       const struct vv_mark *after, vv_mark_visit visit,
                                       void *context, struct vv_error *error)
{
    return scan(vv_cassandra_of(base), due_until, after, false, visit, context, error);
}

enum vv_status vv_cassandra_scan_all_marks(struct vv_cassandra *store, int64_t due_until,
                                           const struct vv_mark *after, vv_mark_visit visit,
                                           void *context, struct vv_error *error)
{
    return scan(store, due_until, after, true, visit, context, error);
}

/* ---- metadata ---- */

/* A waiting change, copied; `order` tells which of two came later. */
struct waiting {
    struct vv_str key;
    struct vv_str value;
    bool is_removal;
    size_t order;
    char *bytes;
};

struct waiting_list {
    struct waiting *items;
    size_t n;
    size_t capacity;
};

static void free_waiting(struct waiting_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].bytes);
    }
    free(list->items);
}

static bool add_waiting(struct waiting_list *list, const struct vv_local_change *change)
{
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        struct waiting *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    size_t size = change->key_size + change->value_size;
    char *bytes = malloc(size + 1);
    if (!bytes) {
        return false;
    }
    memcpy(bytes, change->bytes, size);
    list->items[list->n] = (struct waiting){
        .key = {bytes, change->key_size},
        .value = {bytes + change->key_size, change->value_size},
        .is_removal = change->is_removal,
        .order = list->n,
        .bytes = bytes,
    };
    list->n++;
    return true;
}

static bool begins_with(const struct vv_local_change *change, uint8_t kind, struct vv_str prefix)
{
    return change->kind == kind && change->key_size >= prefix.size &&
           (prefix.size == 0 || memcmp(change->bytes, prefix.data, prefix.size) == 0);
}

static int compare_waiting(const void *a, const void *b)
{
    const struct waiting *x = a;
    const struct waiting *y = b;
    int order = vv_str_compare(x->key, y->key);
    return order != 0 ? order : x->order < y->order ? -1 : x->order > y->order;
}

/* Sorted by key, the last change of each. */
static enum vv_status collect(struct vv_cassandra *store, uint8_t kind, struct vv_str prefix,
                              struct waiting_list *list)
{
    bool fits = true;
    pthread_mutex_lock(&store->lock);
    for (const struct vv_local_change *change = store->changes_first; change && fits;
         change = change->next) {
        if (begins_with(change, kind, prefix)) {
            fits = add_waiting(list, change);
        }
    }
    pthread_mutex_unlock(&store->lock);
    if (!fits) {
        return VV_NO_MEMORY;
    }
    if (list->n > 1) {
        qsort(list->items, list->n, sizeof *list->items, compare_waiting);
    }
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (i + 1 < list->n && vv_str_equal(list->items[i].key, list->items[i + 1].key)) {
            free(list->items[i].bytes);
        } else {
            list->items[kept++] = list->items[i];
        }
    }
    list->n = kept;
    return VV_OK;
}

struct merging {
    struct waiting_list list;
    size_t at;
    vv_meta_visit visit;
    void *context;
    bool stopped;
};

/* Gives what waits and comes before `key` (all when it is NULL). */
static enum vv_status give_before(struct merging *merging, const struct vv_str *key)
{
    enum vv_status status = VV_OK;
    while (merging->at < merging->list.n && status == VV_OK) {
        const struct waiting *one = &merging->list.items[merging->at];
        if (key && vv_str_compare(one->key, *key) >= 0) {
            break;
        }
        merging->at++;
        if (!one->is_removal) {
            status = merging->visit(merging->context, one->key, one->value);
        }
    }
    merging->stopped = status == VV_DONE;
    return status;
}

static enum vv_status merge_record(void *context, struct vv_str key, struct vv_str value)
{
    struct merging *merging = context;
    enum vv_status status = give_before(merging, &key);
    if (status != VV_OK) {
        return status;
    }
    if (merging->at < merging->list.n && vv_str_equal(merging->list.items[merging->at].key, key)) {
        return VV_OK; /* replaced or removed: it comes with the next key */
    }
    status = merging->visit(merging->context, key, value);
    merging->stopped = status == VV_DONE;
    return status;
}

enum vv_status vv_cassandra_scan_meta(struct vv_store *base, uint8_t kind, struct vv_str prefix,
                                      vv_meta_visit visit, void *context, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    struct vv_store *local = store->local;
    struct merging merging = {.visit = visit, .context = context};
    enum vv_status status = collect(store, kind, prefix, &merging.list);
    if (status == VV_OK) {
        status = local->ops->scan_meta(local, kind, prefix, merge_record, &merging, error);
    } else {
        vv_error_set(error, status, "out of memory while reading");
    }
    if (status == VV_OK && !merging.stopped) {
        status = give_before(&merging, NULL);
    }
    free_waiting(&merging.list);
    return status == VV_DONE ? VV_OK : status;
}

/* The last change of exactly this key. */
enum vv_status vv_cassandra_get_meta(struct vv_store *base, uint8_t kind, struct vv_str key,
                                     struct vv_buffer *value_out, struct vv_error *error)
{
    struct vv_cassandra *store = vv_cassandra_of(base);
    const struct vv_local_change *last = NULL;
    enum vv_status status = VV_OK;
    pthread_mutex_lock(&store->lock);
    for (const struct vv_local_change *change = store->changes_first; change;
         change = change->next) {
        if (change->key_size == key.size && begins_with(change, kind, key)) {
            last = change;
        }
    }
    bool is_removed = last && last->is_removal;
    if (last && !is_removed) {
        vv_buffer_append(value_out, last->bytes + last->key_size, last->value_size);
        status = vv_buffer_status(value_out);
    }
    pthread_mutex_unlock(&store->lock);
    if (is_removed) {
        return VV_NOT_FOUND;
    }
    return last ? status : store->local->ops->get_meta(store->local, kind, key, value_out, error);
}
