/* SPDX-License-Identifier: Apache-2.0 */
/* Tag keys and values in order. They are copied first, in slices of the index's lock, so that the
 * caller's function runs without it. */
#include "registry/registry_private.h"

#include <stdlib.h>

#define SLICE_ITEMS 1024

struct listed {
    struct vv_str text;
    uint64_t sources;
};

struct list {
    struct vv_arena texts;
    struct listed *items;
    size_t n;
    size_t capacity;
};

static bool list_add(struct list *list, struct vv_str text, uint64_t sources)
{
    if (sources == 0) {
        return true; /* only older versions have it */
    }
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        struct listed *items = realloc(list->items, capacity * sizeof *items);
        if (!items) {
            return false;
        }
        list->items = items;
        list->capacity = capacity;
    }
    struct vv_str copy = vv_arena_str(&list->texts, text);
    list->items[list->n] = (struct listed){copy, sources};
    list->n += copy.data != NULL;
    return copy.data != NULL;
}

static const struct vv_pool *pool_of(struct vv_registry *registry, struct vv_index *index,
                                     struct vv_str key_text)
{
    if (!key_text.data) {
        return &index->keys;
    }
    const struct vv_tag_key *key = vv_index_key(registry, index, key_text);
    return key ? &key->pairs : NULL;
}

static bool add_item(struct list *list, const void *item, bool is_key)
{
    if (!item) {
        return true;
    }
    if (is_key) {
        const struct vv_tag_key *key = item;
        return list_add(list, (struct vv_str){key->text, key->size}, key->n_sources);
    }
    const struct vv_tag_pair *pair = item;
    return list_add(list, vv_pair_value(pair), pair->sources.count);
}

/* One slice; *more_out says whether there is another one. False when memory is out. */
static bool add_slice(struct vv_registry *registry, struct vv_index *index, struct vv_str key,
                      uint32_t start, struct list *list, bool *more_out)
{
    const struct vv_pool *pool = pool_of(registry, index, key);
    uint32_t end = pool ? pool->end : 0;
    *more_out = end > start && end - start > SLICE_ITEMS;
    for (uint32_t at = start; at < end && at - start < SLICE_ITEMS; at++) {
        if (!add_item(list, vv_pool_at(pool, at), !key.data)) {
            return false;
        }
    }
    return true;
}

static enum vv_status fill(struct vv_registry *registry, struct vv_index *index, struct vv_str key,
                           struct list *list)
{
    bool more = true;
    bool good = true;
    for (uint32_t start = 0; good && more; start += SLICE_ITEMS) {
        pthread_rwlock_rdlock(&index->lock);
        good = add_slice(registry, index, key, start, list, &more);
        pthread_rwlock_unlock(&index->lock);
    }
    return good ? VV_OK : VV_NO_MEMORY;
}

static int compare_texts(const void *a, const void *b)
{
    return vv_str_compare(((const struct listed *)a)->text, ((const struct listed *)b)->text);
}

enum vv_status vv_registry_tags(struct vv_registry *registry, uint32_t tenant_number,
                                struct vv_str key,
                                bool (*visit)(void *context, struct vv_str text, uint64_t sources),
                                void *context)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, tenant_number);
    if (!tenant) {
        return VV_OK;
    }
    struct list list = {0};
    enum vv_status status = fill(registry, &tenant->index, key, &list);
    if (status == VV_OK && list.n > 0) {
        qsort(list.items, list.n, sizeof *list.items, compare_texts);
        for (size_t i = 0; i < list.n; i++) {
            /* A value that went and came back between two slices is there twice. */
            bool again = i > 0 && vv_str_equal(list.items[i - 1].text, list.items[i].text);
            if (!again && !visit(context, list.items[i].text, list.items[i].sources)) {
                break;
            }
        }
    }
    free(list.items);
    vv_arena_deinit(&list.texts);
    return status;
}
