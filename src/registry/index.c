/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tenant's index: keys, pairs of key and value with the sources that have them at present, and
 * the sources by id. A pair lives as long as a version of a source's tags holds it, a key as long
 * as it has pairs. Everything here is under the index's lock.
 */
#include "registry/registry_private.h"

#include <stdlib.h>

struct wanted {
    const struct vv_index *index;
    const struct vv_tag_key *key;
    struct vv_str text;
};

enum vv_status vv_index_init(struct vv_index *index)
{
    *index = (struct vv_index){.sources = roaring_bitmap_create()};
    if (!index->sources) {
        return VV_NO_MEMORY;
    }
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    /* A stream of readers must not keep a new source waiting for ever. */
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&index->lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    return VV_OK;
}

void vv_index_deinit(struct vv_registry *registry, struct vv_index *index)
{
    for (uint32_t i = 0; i < index->pairs.end; i++) {
        struct vv_tag_pair *pair = vv_pool_at(&index->pairs, i);
        if (pair) {
            vv_source_set_deinit(&pair->sources);
            vv_registry_free(registry, pair, sizeof *pair + pair->size);
        }
    }
    for (uint32_t i = 0; i < index->keys.end; i++) {
        struct vv_tag_key *key = vv_pool_at(&index->keys, i);
        if (key) {
            vv_pool_deinit(&key->pairs);
            vv_registry_free(registry, key, sizeof *key + key->size);
        }
    }
    vv_pool_deinit(&index->pairs);
    vv_pool_deinit(&index->keys);
    vv_slots_deinit(&index->pair_slots);
    vv_slots_deinit(&index->key_slots);
    vv_slots_deinit(&index->ids);
    roaring_bitmap_free(index->sources);
    pthread_rwlock_destroy(&index->lock);
}

/* ---- keys ---- */

static bool is_key(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    const struct vv_tag_key *key = vv_pool_at(&wanted->index->keys, number);
    return vv_str_equal((struct vv_str){key->text, key->size}, wanted->text);
}

struct vv_tag_key *vv_index_key(struct vv_registry *registry, struct vv_index *index,
                                struct vv_str text)
{
    struct wanted wanted = {index, NULL, text};
    uint64_t hash = vv_registry_hash(registry, VV_REGISTRY_NONE, text);
    uint32_t number = vv_slots_find(&index->key_slots, hash, is_key, &wanted);
    return number == VV_NAME_NONE ? NULL : vv_pool_at(&index->keys, number);
}

static struct vv_tag_key *create_key(struct vv_registry *registry, struct vv_index *index,
                                     struct vv_str text)
{
    size_t before = vv_slots_bytes(&index->key_slots) + vv_pool_bytes(&index->keys);
    bool reserved = vv_slots_reserve(&index->key_slots) && vv_pool_reserve(&index->keys);
    vv_registry_charge(registry,
                       vv_slots_bytes(&index->key_slots) + vv_pool_bytes(&index->keys) - before);
    struct vv_tag_key *key = reserved ? vv_registry_alloc(registry, sizeof *key + text.size) : NULL;
    if (!key) {
        return NULL;
    }
    uint64_t hash = vv_registry_hash(registry, VV_REGISTRY_NONE, text);
    *key = (struct vv_tag_key){.hash = (uint32_t)hash, .size = (uint32_t)text.size};
    memcpy(key->text, text.data, text.size);
    key->number = vv_pool_put(&index->keys, key);
    vv_slots_add(&index->key_slots, hash, key->number);
    return key;
}

static void destroy_key_without_pairs(struct vv_registry *registry, struct vv_index *index,
                                      struct vv_tag_key *key)
{
    if (key->n_pairs > 0) {
        return;
    }
    vv_slots_remove(&index->key_slots, key->hash, key->number);
    vv_pool_drop(&index->keys, key->number);
    vv_registry_discharge(registry, vv_pool_bytes(&key->pairs));
    vv_pool_deinit(&key->pairs);
    vv_registry_free(registry, key, sizeof *key + key->size);
}

/* ---- pairs ---- */

static bool is_pair(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    const struct vv_tag_pair *pair = vv_pool_at(&wanted->index->pairs, number);
    return pair->key == wanted->key && vv_str_equal(vv_pair_value(pair), wanted->text);
}

static struct vv_tag_pair *find_pair(struct vv_registry *registry, struct vv_index *index,
                                     struct vv_tag_key *key, struct vv_str value)
{
    struct wanted wanted = {index, key, value};
    uint64_t hash = vv_registry_hash(registry, key->number, value);
    uint32_t number = vv_slots_find(&index->pair_slots, hash, is_pair, &wanted);
    return number == VV_NAME_NONE ? NULL : vv_pool_at(&index->pairs, number);
}

struct vv_tag_pair *vv_index_pair(struct vv_registry *registry, struct vv_index *index,
                                  struct vv_str key_text, struct vv_str value)
{
    struct vv_tag_key *key = vv_index_key(registry, index, key_text);
    return key ? find_pair(registry, index, key, value) : NULL;
}

static size_t pair_table_bytes(const struct vv_index *index, const struct vv_tag_key *key)
{
    return vv_slots_bytes(&index->pair_slots) + vv_pool_bytes(&index->pairs) +
           vv_pool_bytes(&key->pairs);
}

static struct vv_tag_pair *create_pair(struct vv_registry *registry, struct vv_index *index,
                                       struct vv_tag_key *key, struct vv_str value)
{
    size_t before = pair_table_bytes(index, key);
    bool reserved = vv_slots_reserve(&index->pair_slots) && vv_pool_reserve(&index->pairs) &&
                    vv_pool_reserve(&key->pairs);
    vv_registry_charge(registry, pair_table_bytes(index, key) - before);
    struct vv_tag_pair *pair =
        reserved ? vv_registry_alloc(registry, sizeof *pair + value.size) : NULL;
    if (!pair) {
        return NULL;
    }
    uint64_t hash = vv_registry_hash(registry, key->number, value);
    *pair = (struct vv_tag_pair){
        .key = key,
        .hash = (uint32_t)hash,
        .size = (uint32_t)value.size,
    };
    memcpy(pair->value, value.data, value.size);
    pair->number = vv_pool_put(&index->pairs, pair);
    pair->position = vv_pool_put(&key->pairs, pair);
    vv_slots_add(&index->pair_slots, hash, pair->number);
    key->n_pairs++;
    atomic_fetch_add_explicit(&registry->tag_values, 1, memory_order_relaxed);
    return pair;
}

static void destroy_pair(struct vv_registry *registry, struct vv_index *index,
                         struct vv_tag_pair *pair)
{
    vv_invariant(pair->sources.count == 0);
    struct vv_tag_key *key = pair->key;
    vv_slots_remove(&index->pair_slots, pair->hash, pair->number);
    vv_pool_drop(&index->pairs, pair->number);
    vv_pool_drop(&key->pairs, pair->position);
    key->n_pairs--;
    vv_registry_discharge(registry, vv_source_set_bytes(&pair->sources));
    vv_source_set_deinit(&pair->sources);
    vv_registry_free(registry, pair, sizeof *pair + pair->size);
    atomic_fetch_sub_explicit(&registry->tag_values, 1, memory_order_relaxed);
    destroy_key_without_pairs(registry, index, key);
}

static bool reserve_source(struct vv_registry *registry, struct vv_tag_pair *pair)
{
    size_t before = vv_source_set_bytes(&pair->sources);
    bool reserved = vv_source_set_reserve(&pair->sources);
    vv_registry_charge(registry, vv_source_set_bytes(&pair->sources) - before);
    return reserved;
}

enum vv_status vv_index_hold(struct vv_registry *registry, struct vv_index *index,
                             struct vv_tag tag, uint32_t *pair_out)
{
    struct vv_tag_key *key = vv_index_key(registry, index, tag.key);
    key = key ? key : create_key(registry, index, tag.key);
    if (!key) {
        return VV_NO_MEMORY;
    }
    struct vv_tag_pair *pair = find_pair(registry, index, key, tag.value);
    pair = pair ? pair : create_pair(registry, index, key, tag.value);
    if (!pair) {
        destroy_key_without_pairs(registry, index, key);
        return VV_NO_MEMORY;
    }
    pair->refs++;
    if (!reserve_source(registry, pair)) {
        vv_index_release(registry, index, pair->number);
        return VV_NO_MEMORY;
    }
    *pair_out = pair->number;
    return VV_OK;
}

void vv_index_release(struct vv_registry *registry, struct vv_index *index, uint32_t number)
{
    struct vv_tag_pair *pair = vv_index_pair_at(index, number);
    pair->refs--;
    if (pair->refs == 0) {
        destroy_pair(registry, index, pair);
    }
}

void vv_index_add(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                  uint32_t source)
{
    struct vv_tag_pair *pair = vv_index_pair_at(index, number);
    size_t before = vv_source_set_bytes(&pair->sources);
    vv_source_set_add(&pair->sources, source);
    vv_registry_charge(registry, vv_source_set_bytes(&pair->sources) - before);
    pair->key->n_sources++;
}

void vv_index_remove(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                     uint32_t source)
{
    struct vv_tag_pair *pair = vv_index_pair_at(index, number);
    size_t before = vv_source_set_bytes(&pair->sources);
    vv_source_set_remove(&pair->sources, source);
    vv_registry_discharge(registry, before - vv_source_set_bytes(&pair->sources));
    pair->key->n_sources--;
}

/* ---- ids ---- */

struct wanted_id {
    struct vv_registry *registry;
    struct vv_str id;
};

static bool is_source(const void *context, uint32_t number)
{
    const struct wanted_id *wanted = context;
    struct vv_source *source = vv_source_at(wanted->registry, number);
    return vv_str_equal(vv_source_id_str(source), wanted->id);
}

uint32_t vv_index_source(struct vv_registry *registry, const struct vv_index *index,
                         struct vv_str id, uint64_t hash)
{
    struct wanted_id wanted = {registry, id};
    return vv_slots_find(&index->ids, hash, is_source, &wanted);
}
