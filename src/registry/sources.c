/* SPDX-License-Identifier: Apache-2.0 */
/* Sources: found under the read lock of their tenant's index, made and changed under the write
 * lock. */
#include "registry/registry_private.h"
#include "registry/text.h"

#include "model/partition.h"

#define UNSETTLED_FIRST (1u << 1) /* version 1 */

static void release_all(struct vv_registry *registry, struct vv_index *index, const uint32_t *pairs,
                        size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vv_index_release(registry, index, pairs[i]);
    }
}

/* Fills an object that nobody sees yet, and shows it. */
static void publish(struct vv_registry *registry, uint32_t tenant,
                    const struct vv_source_new *new_source, struct vv_source *source,
                    struct vv_source_id *id)
{
    id->size = (uint16_t)new_source->id.size;
    id->canonical = new_source->canonical;
    memcpy(id->text, new_source->id.data, new_source->id.size);
    source->tenant = tenant;
    atomic_store_explicit(&source->state, new_source->state, memory_order_relaxed);
    atomic_store_explicit(&source->first_ns, INT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&source->last_ns, INT64_MIN, memory_order_relaxed);
    atomic_store_explicit(&source->id, id, memory_order_release);
    atomic_fetch_add_explicit(&registry->sources.live, 1, memory_order_relaxed);
}

/* Takes a number (NONE: the next one), with the object's own memory. */
static enum vv_status place(struct vv_registry *registry, uint32_t tenant,
                            const struct vv_source_new *new_source, uint32_t number,
                            uint32_t *number_out)
{
    struct vv_objects *sources = &registry->sources;
    pthread_mutex_lock(&sources->lock);
    *number_out = number == VV_REGISTRY_NONE ? vv_objects_end(sources) : number;
    struct vv_source *source = NULL;
    struct vv_source_id *id = NULL;
    if (vv_objects_can_hold(sources, *number_out)) {
        source = vv_objects_room(sources, *number_out);
        id = source ? vv_registry_keep(registry, sizeof *id + new_source->id.size) : NULL;
    }
    if (id) {
        publish(registry, tenant, new_source, source, id);
        vv_objects_use(sources, *number_out);
    }
    pthread_mutex_unlock(&sources->lock);
    return id ? VV_OK : VV_NO_MEMORY;
}

enum vv_status vv_source_check_limits(struct vv_registry *registry, struct vv_error *error)
{
    const struct vv_objects *sources = &registry->sources;
    uint32_t live = atomic_load_explicit(&sources->live, memory_order_relaxed);
    if (live >= sources->limit || !vv_objects_can_hold(sources, vv_objects_end(sources))) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "there are %u sources, which is the limit: raise it, or send fewer "
                            "different tag sets",
                            (unsigned)live);
    }
    return vv_registry_check_room(registry, error);
}

/* The tags: a version, or for a canonical source just the pairs. */
static enum vv_status hold_tags(struct vv_registry *registry, struct vv_index *index,
                                const struct vv_source_new *new_source,
                                struct vv_tags **version_out, uint32_t pairs_out[VV_TAGS_MAX])
{
    if (!new_source->canonical) {
        return vv_tags_create(registry, index, new_source->tags, new_source->n_tags,
                              new_source->from_ns, version_out);
    }
    for (size_t i = 0; i < new_source->n_tags; i++) {
        enum vv_status status = vv_index_hold(registry, index, new_source->tags[i], &pairs_out[i]);
        if (status != VV_OK) {
            release_all(registry, index, pairs_out, i);
            return status;
        }
    }
    return VV_OK;
}

static bool reserve_id(struct vv_registry *registry, struct vv_index *index)
{
    size_t before = vv_slots_bytes(&index->ids);
    bool reserved = vv_slots_reserve(&index->ids);
    vv_registry_charge(registry, vv_slots_bytes(&index->ids) - before);
    return reserved;
}

enum vv_status vv_source_add(struct vv_registry *registry, uint32_t tenant,
                             const struct vv_source_new *new_source, uint32_t number,
                             uint32_t *number_out, struct vv_error *error)
{
    struct vv_index *index = &vv_tenant_at(registry, tenant)->index;
    uint32_t pairs[VV_TAGS_MAX];
    size_t n_pairs = new_source->canonical ? new_source->n_tags : 0;
    struct vv_tags *version = NULL;
    if (!reserve_id(registry, index)) {
        return vv_error_set(error, VV_NO_MEMORY, "there is no memory for another source");
    }
    enum vv_status status = hold_tags(registry, index, new_source, &version, pairs);
    if (status == VV_OK) {
        status = place(registry, tenant, new_source, number, number_out);
        if (status != VV_OK) {
            release_all(registry, index, pairs, n_pairs);
            vv_tags_destroy(registry, index, version);
        }
    }
    if (status != VV_OK) {
        return vv_error_set(error, status, "there is no memory for another source");
    }
    vv_source_at(registry, *number_out)->tags = version;
    for (size_t i = 0; i < n_pairs; i++) {
        vv_index_add(registry, index, pairs[i], *number_out);
    }
    vv_tags_reindex(registry, index, *number_out, NULL, version);
    roaring_bitmap_add(index->sources, *number_out);
    vv_slots_add(&index->ids, vv_registry_hash(registry, tenant, new_source->id), *number_out);
    return VV_OK;
}

/* What a tag set came to. */
struct outcome {
    uint32_t source;
    uint32_t tags_epoch;
    bool is_present; /* the source's present tags are those of the set */
};

/* A known source: whether it has all that is mentioned, so that nothing is to be done. */
static bool is_up_to_date(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                          const struct vv_canonical *canonical)
{
    const struct vv_source *source = vv_source_at(registry, number);
    return !canonical->by_id_tag || !source->tags ||
           vv_tags_contain(index, source->tags, canonical->tags, canonical->n);
}

static void note_outcome(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                         const struct vv_canonical *canonical, struct outcome *out)
{
    const struct vv_source *source = vv_source_at(registry, number);
    out->source = number;
    out->tags_epoch = atomic_load_explicit(&source->tags_epoch, memory_order_acquire);
    out->is_present = is_up_to_date(registry, index, number, canonical);
}

static enum vv_status create_or_update(struct vv_registry *registry, uint32_t tenant,
                                       const struct vv_canonical *canonical, uint64_t hash,
                                       int64_t time, uint32_t *source_out, struct vv_error *error)
{
    struct vv_index *index = &vv_tenant_at(registry, tenant)->index;
    *source_out = vv_index_source(registry, index, canonical->id, hash);
    if (*source_out != VV_NAME_NONE) {
        return is_up_to_date(registry, index, *source_out, canonical)
                   ? VV_OK
                   : vv_tags_update(registry, index, *source_out, canonical->tags, canonical->n,
                                    time, error);
    }
    enum vv_status status = vv_source_check_limits(registry, error);
    if (status != VV_OK) {
        return status;
    }
    const struct vv_source_new new_source = {
        .id = canonical->id,
        .canonical = !canonical->by_id_tag,
        .tags = canonical->tags,
        .n_tags = canonical->n,
        .from_ns = time,
        .state = UNSETTLED_FIRST,
    };
    return vv_source_add(registry, tenant, &new_source, VV_REGISTRY_NONE, source_out, error);
}

static enum vv_status resolve(struct vv_registry *registry, uint32_t tenant_number,
                              const struct vv_canonical *canonical, int64_t time,
                              struct outcome *out, struct vv_error *error)
{
    struct vv_index *index = &vv_tenant_at(registry, tenant_number)->index;
    uint64_t hash = vv_registry_hash(registry, tenant_number, canonical->id);
    pthread_rwlock_rdlock(&index->lock);
    uint32_t number = vv_index_source(registry, index, canonical->id, hash);
    if (number != VV_NAME_NONE) {
        note_outcome(registry, index, number, canonical, out);
    }
    pthread_rwlock_unlock(&index->lock);
    if (out->is_present) {
        return VV_OK;
    }
    enum vv_status status = vv_canonical_check(canonical, error);
    if (status == VV_OK) {
        pthread_rwlock_wrlock(&index->lock);
        status = create_or_update(registry, tenant_number, canonical, hash, time, &number, error);
        if (status == VV_OK) {
            note_outcome(registry, index, number, canonical, out);
        }
        pthread_rwlock_unlock(&index->lock);
    }
    return status;
}

static enum vv_status find_or_create(struct vv_registry *registry, uint32_t tenant,
                                     const struct vv_tag *tags, size_t n, int64_t time,
                                     struct outcome *out, struct vv_error *error)
{
    struct vv_canonical canonical;
    *out = (struct outcome){.source = VV_REGISTRY_NONE};
    if (!vv_tenant_at(registry, tenant)) {
        return vv_error_set(error, VV_INVALID, "there is no such tenant");
    }
    enum vv_status status = vv_canonical_make(tags, n, registry->id_tag, &canonical, error);
    return status == VV_OK ? resolve(registry, tenant, &canonical, time, out, error) : status;
}

enum vv_status vv_registry_source(struct vv_registry *registry, uint32_t tenant,
                                  const struct vv_tag *tags, size_t n, int64_t time,
                                  uint32_t *source_out, struct vv_error *error)
{
    struct outcome outcome;
    enum vv_status status = find_or_create(registry, tenant, tags, n, time, &outcome, error);
    *source_out = outcome.source;
    return status;
}

enum vv_status vv_registry_series(struct vv_registry *registry, uint32_t tenant, struct vv_str raw,
                                  uint32_t measurement, const struct vv_tag *tags, size_t n,
                                  int64_t time, uint32_t *source_out, struct vv_error *error)
{
    struct outcome outcome;
    enum vv_status status = find_or_create(registry, tenant, tags, n, time, &outcome, error);
    *source_out = outcome.source;
    if (status == VV_OK && outcome.is_present) {
        const struct vv_series series = {outcome.source, measurement};
        vv_series_cache_keep(registry, tenant, raw, series, outcome.tags_epoch);
    }
    return status;
}

enum vv_status vv_registry_source_by_id(struct vv_registry *registry, uint32_t tenant_number,
                                        struct vv_str id, uint32_t *source_out)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, tenant_number);
    *source_out = VV_REGISTRY_NONE;
    if (tenant) {
        uint64_t hash = vv_registry_hash(registry, tenant_number, id);
        pthread_rwlock_rdlock(&tenant->index.lock);
        *source_out = vv_index_source(registry, &tenant->index, id, hash);
        pthread_rwlock_unlock(&tenant->index.lock);
    }
    return *source_out == VV_REGISTRY_NONE ? VV_NOT_FOUND : VV_OK;
}

uint64_t vv_registry_tenant_sources(struct vv_registry *registry, uint32_t tenant_number)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, tenant_number);
    if (!tenant) {
        return 0;
    }
    pthread_rwlock_rdlock(&tenant->index.lock);
    uint64_t n = roaring_bitmap_get_cardinality(tenant->index.sources);
    pthread_rwlock_unlock(&tenant->index.lock);
    return n;
}

uint32_t vv_registry_source_count(struct vv_registry *registry)
{
    return vv_objects_end(&registry->sources);
}

uint32_t vv_registry_source_tenant(struct vv_registry *registry, uint32_t number)
{
    struct vv_source *source = vv_source_at(registry, number);
    return source ? source->tenant : VV_REGISTRY_NONE;
}

struct vv_str vv_registry_source_id(struct vv_registry *registry, uint32_t number)
{
    struct vv_source *source = vv_source_at(registry, number);
    return source ? vv_source_id_str(source) : (struct vv_str){"", 0};
}
