/* SPDX-License-Identifier: Apache-2.0 */
/* Tags of a source for readers: copied, since pairs go when no version holds them any more. */
#include "registry/registry_private.h"
#include "registry/text.h"

static enum vv_status copy_canonical(struct vv_str id, struct vv_arena *arena,
                                     struct vv_tag_version *version_out)
{
    size_t n = vv_canonical_count(id);
    struct vv_tag *tags = vv_arena_alloc(arena, n * sizeof *tags);
    char *room = vv_arena_alloc(arena, id.size);
    if (!tags || !room) {
        return VV_NO_MEMORY;
    }
    vv_invariant(vv_canonical_parse(id, room, tags, n) == VV_OK);
    *version_out = (struct vv_tag_version){.from_ns = VV_TIME_MIN, .n_tags = n, .tags = tags};
    return VV_OK;
}

static enum vv_status copy_version(struct vv_index *index, const struct vv_tags *version,
                                   struct vv_arena *arena, struct vv_tag_version *version_out)
{
    struct vv_tag *tags = vv_arena_alloc(arena, version->n * sizeof *tags);
    if (!tags) {
        return VV_NO_MEMORY;
    }
    for (uint32_t i = 0; i < version->n; i++) {
        const struct vv_tag_pair *pair = vv_index_pair_at(index, version->pairs[i]);
        tags[i].key = vv_arena_str(arena, vv_pair_key(pair));
        tags[i].value = vv_arena_str(arena, vv_pair_value(pair));
        if (!tags[i].key.data || !tags[i].value.data) {
            return VV_NO_MEMORY;
        }
    }
    *version_out =
        (struct vv_tag_version){.from_ns = version->from_ns, .n_tags = version->n, .tags = tags};
    return VV_OK;
}

/* The newest `most` versions, oldest first. */
static enum vv_status copy_versions(struct vv_index *index, const struct vv_tags *newest,
                                    size_t most, struct vv_arena *arena,
                                    struct vv_tag_version *versions_out, size_t *n_out)
{
    size_t n = 0;
    for (const struct vv_tags *version = newest; version && n < most; version = version->older) {
        n++;
    }
    *n_out = n;
    enum vv_status status = VV_OK;
    for (const struct vv_tags *version = newest; n > 0 && status == VV_OK;
         version = version->older) {
        status = copy_version(index, version, arena, &versions_out[--n]);
    }
    return status;
}

static enum vv_status copy_tags(struct vv_registry *registry, uint32_t number, size_t most,
                                struct vv_arena *arena, struct vv_tag_version *versions_out,
                                size_t *n_out)
{
    struct vv_source *source = vv_source_at(registry, number);
    *n_out = 0;
    if (!source) {
        return VV_OK;
    }
    if (vv_source_is_canonical(source)) {
        *n_out = 1;
        return copy_canonical(vv_source_id_str(source), arena, versions_out);
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_rdlock(&index->lock);
    enum vv_status status = copy_versions(index, source->tags, most, arena, versions_out, n_out);
    pthread_rwlock_unlock(&index->lock);
    return status;
}

enum vv_status vv_registry_unknown_tags(struct vv_registry *registry, uint32_t number,
                                        struct vv_arena *arena,
                                        struct vv_tag_version versions_out[VV_TAG_HISTORY_MAX],
                                        size_t *n_out)
{
    struct vv_source *source = vv_source_at(registry, number);
    *n_out = 0;
    if (!source || vv_source_is_canonical(source)) {
        return VV_OK;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    enum vv_status status = VV_OK;
    pthread_rwlock_rdlock(&index->lock);
    size_t n = 0;
    for (const struct vv_tags *each = source->tags; each; each = each->older) {
        n += !each->known && !vv_tags_are_unknown(each);
    }
    *n_out = n;
    for (const struct vv_tags *each = source->tags; n > 0 && status == VV_OK; each = each->older) {
        if (!each->known && !vv_tags_are_unknown(each)) {
            status = copy_version(index, each, arena, &versions_out[--n]);
        }
    }
    pthread_rwlock_unlock(&index->lock);
    return status;
}

enum vv_status vv_registry_source_tags(struct vv_registry *registry, uint32_t source,
                                       struct vv_arena *arena, struct vv_tag_version *version_out)
{
    size_t n = 0;
    *version_out = (struct vv_tag_version){.from_ns = VV_TIME_MIN};
    return copy_tags(registry, source, 1, arena, version_out, &n);
}

enum vv_status vv_registry_source_history(struct vv_registry *registry, uint32_t source,
                                          struct vv_arena *arena,
                                          struct vv_tag_version versions_out[VV_TAG_HISTORY_MAX],
                                          size_t *n_out)
{
    return copy_tags(registry, source, VV_TAG_HISTORY_MAX, arena, versions_out, n_out);
}

struct vv_str vv_registry_source_id_tag(struct vv_registry *registry, uint32_t source)
{
    const struct vv_source *found = vv_source_at(registry, source);
    bool canonical = !found || vv_source_is_canonical(found);
    return canonical ? (struct vv_str){NULL, 0} : registry->id_tag;
}
