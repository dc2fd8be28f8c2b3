/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The series cache: raw bytes → source and measurement.
 *
 * Each shard has a ring of entries, oldest first, and a hash table of places in the ring. A new
 * entry is written at the head; what is in its way at the tail goes, but an entry that was used
 * since it was written gets a second chance at the head, a few times per insertion. So memory is
 * bounded to the byte, an insertion costs little, and there is no list to keep in order at a hit.
 *
 * Where tags can change (id tag), an entry holds the source's epoch at a moment when its present
 * tags were those of the raw bytes, and answers as long as that is the epoch.
 */
#include "registry/registry_private.h"

#include <stdalign.h>
#include <stdlib.h>

#define SHARDS_MAX         64
#define SHARD_BYTES_AIM    ((size_t)64 << 10)
#define SHARD_BYTES_MIN    ((size_t)4 << 10)
#define SHARD_BYTES_MAX    ((size_t)8 << 30) /* places count in 8 bytes, in 32 bits */
#define BYTES_PER_SLOT     64
#define RAW_BYTES_MAX      4096
#define SECOND_CHANCES_MAX 4
#define PLACE_UNIT         8
#define FILLER             UINT32_MAX

struct entry {
    uint32_t size; /* of raw; FILLER: nothing up to the ring's end */
    uint32_t hash;
    uint32_t tenant;
    uint32_t source;
    uint32_t measurement;
    uint32_t tags_epoch;
    bool used; /* since it was written here */
    char raw[];
};

struct slot {
    uint32_t hash;
    uint32_t place; /* in the ring, in units, + 1; 0: free */
};

struct shard {
    alignas(128) pthread_mutex_t lock;
    struct slot *slots;
    size_t n_slots; /* a power of two */
    size_t n_entries;
    uint8_t *ring;
    size_t ring_size;
    size_t head; /* where the next entry goes */
    size_t tail; /* the oldest one */
    size_t used; /* bytes between them */
    uint64_t hits;
    uint64_t misses;
};

struct vv_series_cache {
    struct shard *shards;
    size_t n_shards; /* a power of two; 0: nothing is kept */
};

/* ---- life ---- */

/* What is not used of the memory is not touched. False when memory is out. */
static bool shard_init(struct shard *shard, size_t bytes)
{
    *shard = (struct shard){.n_slots = 1};
    while (shard->n_slots * 2 <= bytes / BYTES_PER_SLOT) {
        shard->n_slots *= 2;
    }
    shard->ring_size = (bytes - shard->n_slots * sizeof *shard->slots) / PLACE_UNIT * PLACE_UNIT;
    shard->slots = calloc(shard->n_slots, sizeof *shard->slots);
    shard->ring = malloc(shard->ring_size);
    pthread_mutex_init(&shard->lock, NULL);
    return shard->slots && shard->ring;
}

static void shard_deinit(struct shard *shard)
{
    pthread_mutex_destroy(&shard->lock);
    free(shard->slots);
    free(shard->ring);
}

static size_t shard_count(size_t bytes)
{
    if (bytes < SHARD_BYTES_MIN) {
        return 0;
    }
    size_t n = 1;
    while (n < SHARDS_MAX && bytes / n >= 2 * SHARD_BYTES_AIM) {
        n *= 2;
    }
    return n;
}

enum vv_status vv_series_cache_create(size_t bytes, struct vv_series_cache **out)
{
    struct vv_series_cache *cache = calloc(1, sizeof *cache);
    if (!cache) {
        return VV_NO_MEMORY;
    }
    size_t wanted = shard_count(bytes);
    if (wanted > 0) {
        cache->shards = aligned_alloc(alignof(struct shard), wanted * sizeof *cache->shards);
    }
    bool good = wanted == 0 || cache->shards;
    while (good && cache->n_shards < wanted) {
        size_t share = bytes / wanted;
        good = shard_init(&cache->shards[cache->n_shards++],
                          share < SHARD_BYTES_MAX ? share : SHARD_BYTES_MAX);
    }
    if (!good) {
        vv_series_cache_destroy(cache);
        return VV_NO_MEMORY;
    }
    *out = cache;
    return VV_OK;
}

void vv_series_cache_destroy(struct vv_series_cache *cache)
{
    if (!cache) {
        return;
    }
    for (size_t i = 0; i < cache->n_shards; i++) {
        shard_deinit(&cache->shards[i]);
    }
    free(cache->shards);
    free(cache);
}

/* ---- the table ---- */

static struct entry *entry_at(const struct shard *shard, size_t place)
{
    return (struct entry *)(void *)(shard->ring + place);
}

static size_t entry_size(size_t raw_size)
{
    size_t size = offsetof(struct entry, raw) + raw_size;
    return (size + PLACE_UNIT - 1) / PLACE_UNIT * PLACE_UNIT;
}

static size_t slot_place(const struct slot *slot)
{
    return (size_t)(slot->place - 1) * PLACE_UNIT;
}

static void slot_fill(struct shard *shard, uint32_t hash, size_t place)
{
    size_t mask = shard->n_slots - 1;
    size_t at = hash & mask;
    while (shard->slots[at].place) {
        at = (at + 1) & mask;
    }
    shard->slots[at] = (struct slot){hash, (uint32_t)(place / PLACE_UNIT + 1)};
    shard->n_entries++;
}

static void slot_free(struct shard *shard, uint32_t hash, size_t place)
{
    size_t mask = shard->n_slots - 1;
    size_t at = hash & mask;
    while (slot_place(&shard->slots[at]) != place) {
        vv_invariant(shard->slots[at].place);
        at = (at + 1) & mask;
    }
    for (size_t next = (at + 1) & mask; shard->slots[next].place; next = (next + 1) & mask) {
        size_t home = shard->slots[next].hash & mask;
        if (((next - home) & mask) >= ((next - at) & mask)) {
            shard->slots[at] = shard->slots[next];
            at = next;
        }
    }
    shard->slots[at].place = 0;
    shard->n_entries--;
}

static struct entry *find(const struct shard *shard, uint32_t hash, uint32_t tenant,
                          struct vv_str raw)
{
    size_t mask = shard->n_slots - 1;
    for (size_t at = hash & mask; shard->slots[at].place; at = (at + 1) & mask) {
        if (shard->slots[at].hash != hash) {
            continue;
        }
        struct entry *entry = entry_at(shard, slot_place(&shard->slots[at]));
        if (entry->tenant == tenant && entry->size == raw.size &&
            memcmp(entry->raw, raw.data, raw.size) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* ---- the ring ---- */

/* How much can be written at the head in one piece. */
static size_t room_at_head(const struct shard *shard)
{
    if (shard->used > 0 && shard->head <= shard->tail) {
        return shard->tail - shard->head;
    }
    return shard->ring_size - shard->head;
}

static struct entry *push(struct shard *shard, size_t size)
{
    struct entry *entry = entry_at(shard, shard->head);
    shard->head += size;
    shard->used += size;
    if (shard->head == shard->ring_size) {
        shard->head = 0;
    }
    return entry;
}

static void pass_tail(struct shard *shard, size_t size)
{
    shard->used -= size;
    shard->tail += size;
    if (shard->tail == shard->ring_size) {
        shard->tail = 0;
    }
    if (shard->used == 0) {
        shard->head = 0;
        shard->tail = 0;
    }
}

/* Takes the oldest entry out. One that was used is written again at the head, if it has a chance
 * left and fits there. */
static void evict(struct shard *shard, unsigned *chances)
{
    struct entry *oldest = entry_at(shard, shard->tail);
    if (oldest->size == FILLER) {
        pass_tail(shard, shard->ring_size - shard->tail);
        return;
    }
    size_t size = entry_size(oldest->size);
    bool again = oldest->used && *chances > 0;
    alignas(PLACE_UNIT) uint8_t copy[sizeof(struct entry) + RAW_BYTES_MAX + PLACE_UNIT];
    if (again) {
        memcpy(copy, oldest, size);
    }
    slot_free(shard, oldest->hash, shard->tail);
    pass_tail(shard, size);
    if (again && room_at_head(shard) >= size) {
        (*chances)--;
        size_t place = shard->head;
        struct entry *moved = push(shard, size);
        memcpy(moved, copy, size);
        moved->used = false;
        slot_fill(shard, moved->hash, place);
    }
}

/* Makes room for an entry at the head and in the table. */
static void make_room(struct shard *shard, size_t size)
{
    unsigned chances = SECOND_CHANCES_MAX;
    while (room_at_head(shard) < size ||
           shard->n_entries + 1 > shard->n_slots - shard->n_slots / 4) {
        bool at_end = shard->used > 0 && shard->head > shard->tail;
        size_t left = shard->ring_size - shard->head;
        if (room_at_head(shard) < size && at_end && left > 0) {
            push(shard, left)->size = FILLER;
        } else {
            evict(shard, &chances);
        }
    }
}

/* ---- finding and keeping ---- */

/* NULL when nothing is kept. The slot is fetched into the processor's cache meanwhile. */
static struct shard *shard_of(struct vv_registry *registry, uint32_t tenant, struct vv_str raw,
                              uint32_t *hash_out)
{
    const struct vv_series_cache *cache = registry->series;
    if (cache->n_shards == 0) {
        return NULL;
    }
    uint64_t hash = vv_registry_hash(registry, tenant, raw);
    *hash_out = (uint32_t)hash;
    struct shard *shard = &cache->shards[hash >> 32 & (cache->n_shards - 1)];
    __builtin_prefetch(&shard->slots[*hash_out & (shard->n_slots - 1)]);
    return shard;
}

static bool is_current(struct vv_registry *registry, const struct entry *entry)
{
    if (!registry->id_tag.data) {
        return true; /* tags never change */
    }
    const struct vv_source *source = vv_source_at(registry, entry->source);
    return source &&
           entry->tags_epoch == atomic_load_explicit(&source->tags_epoch, memory_order_acquire);
}

bool vv_registry_series_find(struct vv_registry *registry, uint32_t tenant, struct vv_str raw,
                             struct vv_series *series_out)
{
    uint32_t hash = 0;
    struct shard *shard = shard_of(registry, tenant, raw, &hash);
    if (!shard) {
        return false;
    }
    pthread_mutex_lock(&shard->lock);
    struct entry *entry = find(shard, hash, tenant, raw);
    bool found = entry && is_current(registry, entry);
    if (found) {
        *series_out = (struct vv_series){entry->source, entry->measurement};
        entry->used = true;
    }
    shard->hits += found;
    shard->misses += !found;
    pthread_mutex_unlock(&shard->lock);
    return found;
}

/* A new entry; NULL when the raw bytes are too long to be kept. */
static struct entry *add(struct shard *shard, uint32_t hash, uint32_t tenant, struct vv_str raw)
{
    size_t size = entry_size(raw.size);
    if (raw.size > RAW_BYTES_MAX || size > shard->ring_size / 2) {
        return NULL;
    }
    make_room(shard, size);
    size_t place = shard->head;
    struct entry *entry = push(shard, size);
    entry->size = (uint32_t)raw.size;
    entry->hash = hash;
    entry->tenant = tenant;
    entry->used = false;
    memcpy(entry->raw, raw.data, raw.size);
    slot_fill(shard, hash, place);
    return entry;
}

void vv_series_cache_keep(struct vv_registry *registry, uint32_t tenant, struct vv_str raw,
                          struct vv_series series, uint32_t tags_epoch)
{
    uint32_t hash = 0;
    struct shard *shard = shard_of(registry, tenant, raw, &hash);
    if (!shard) {
        return;
    }
    pthread_mutex_lock(&shard->lock);
    struct entry *entry = find(shard, hash, tenant, raw);
    entry = entry ? entry : add(shard, hash, tenant, raw);
    if (entry) {
        entry->source = series.source;
        entry->measurement = series.measurement;
        entry->tags_epoch = tags_epoch;
    }
    pthread_mutex_unlock(&shard->lock);
}

void vv_series_cache_figures(struct vv_series_cache *cache, struct vv_registry_figures *figures)
{
    for (size_t i = 0; i < cache->n_shards; i++) {
        struct shard *shard = &cache->shards[i];
        pthread_mutex_lock(&shard->lock);
        figures->cache_hits += shard->hits;
        figures->cache_misses += shard->misses;
        figures->bytes += shard->n_slots * sizeof *shard->slots + shard->used;
        pthread_mutex_unlock(&shard->lock);
    }
}
