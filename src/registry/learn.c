/* SPDX-License-Identifier: Apache-2.0 */
/* Sources and tags that other nodes of the store told. */
#include "registry/registry_private.h"
#include "registry/text.h"

#define UNSETTLED_FIRST (1u << 1) /* version 1 */

bool vv_registry_source_is_canonical(struct vv_registry *registry, uint32_t number)
{
    const struct vv_source *source = vv_source_at(registry, number);
    return source && vv_source_is_canonical(source);
}

/* ---- sources ---- */

/* Under the write lock of the tenant's index. */
static enum vv_status make(struct vv_registry *registry, uint32_t tenant,
                           const struct vv_source_new *new_source, uint32_t *source_out,
                           struct vv_error *error)
{
    struct vv_index *index = &vv_tenant_at(registry, tenant)->index;
    uint64_t hash = vv_registry_hash(registry, tenant, new_source->id);
    *source_out = vv_index_source(registry, index, new_source->id, hash);
    if (*source_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    enum vv_status status = vv_source_check_limits(registry, error);
    return status == VV_OK
               ? vv_source_add(registry, tenant, new_source, VV_REGISTRY_NONE, source_out, error)
               : status;
}

static enum vv_status make_canonical(struct vv_registry *registry, uint32_t tenant,
                                     struct vv_source_new *new_source, uint32_t *source_out,
                                     struct vv_error *error)
{
    struct vv_canonical canonical;
    char room[VV_SOURCE_ID_BYTES_MAX];
    if (vv_source_tags_of_id(new_source->id, room, &canonical, error) != VV_OK) {
        return VV_INVALID;
    }
    new_source->tags = canonical.tags;
    new_source->n_tags = canonical.n;
    struct vv_index *index = &vv_tenant_at(registry, tenant)->index;
    pthread_rwlock_wrlock(&index->lock);
    enum vv_status status = make(registry, tenant, new_source, source_out, error);
    pthread_rwlock_unlock(&index->lock);
    return status;
}

static enum vv_status make_named(struct vv_registry *registry, uint32_t tenant,
                                 struct vv_source_new *new_source, uint32_t *source_out,
                                 struct vv_error *error)
{
    struct vv_index *index = &vv_tenant_at(registry, tenant)->index;
    new_source->from_ns = VV_TIME_MIN; /* see vv_tags_are_unknown */
    pthread_rwlock_wrlock(&index->lock);
    enum vv_status status = make(registry, tenant, new_source, source_out, error);
    pthread_rwlock_unlock(&index->lock);
    return status;
}

static enum vv_status create(struct vv_registry *registry, uint32_t tenant, struct vv_str id,
                             bool canonical, uint32_t *source_out, struct vv_error *error)
{
    if (!vv_tenant_at(registry, tenant)) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such tenant");
    }
    size_t id_max = canonical ? VV_SOURCE_ID_BYTES_MAX : VV_NAME_BYTES_MAX;
    enum vv_status status = vv_name_check(id, id_max, "the id of the source", error);
    if (status != VV_OK) {
        return status;
    }
    struct vv_source_new new_source = {.id = id, .canonical = canonical, .state = UNSETTLED_FIRST};
    return canonical ? make_canonical(registry, tenant, &new_source, source_out, error)
                     : make_named(registry, tenant, &new_source, source_out, error);
}

enum vv_status vv_registry_learn_source(struct vv_registry *registry, uint32_t tenant,
                                        struct vv_str id, bool canonical, uint32_t *source_out,
                                        struct vv_error *error)
{
    enum vv_status status = vv_registry_source_by_id(registry, tenant, id, source_out);
    if (status != VV_OK) {
        status = create(registry, tenant, id, canonical, source_out, error);
    }
    if (status == VV_OK && vv_registry_source_is_canonical(registry, *source_out) != canonical) {
        struct vv_str shown = vv_text_cut(id, 128);
        return vv_error_set(error, VV_EXISTS,
                            "the source '%.*s' has its id from an id tag on one node and from all "
                            "its tags on another: give all nodes the same id_tag",
                            VV_STR_ARG(shown));
    }
    return status;
}

/* ---- tags ---- */

static enum vv_status check_tags(const struct vv_tag_version *version, struct vv_error *error)
{
    size_t bytes = 0;
    enum vv_status status = VV_OK;
    if (version->n_tags > VV_TAGS_MAX || version->from_ns < VV_TIME_MIN ||
        version->from_ns > VV_TIME_MAX) {
        return vv_error_set(error, VV_INVALID, "too many tags, or a time that cannot be");
    }
    for (size_t i = 0; i < version->n_tags && status == VV_OK; i++) {
        const struct vv_tag *tag = &version->tags[i];
        bytes += tag->key.size + tag->value.size;
        status = vv_name_check(tag->key, VV_NAME_BYTES_MAX, "the key of a tag", error);
        if (status == VV_OK) {
            status = vv_name_check(tag->value, VV_NAME_BYTES_MAX, "the value of a tag", error);
        }
        if (status == VV_OK && i > 0 && vv_str_compare(tag[-1].key, tag->key) >= 0) {
            status = vv_error_set(error, VV_INVALID, "the tags do not ascend by their keys");
        }
    }
    if (status == VV_OK && bytes > VV_SOURCE_ID_BYTES_MAX) {
        status = vv_error_set(error, VV_TOO_LARGE, "the tags have %zu bytes, more than %d", bytes,
                              VV_SOURCE_ID_BYTES_MAX);
    }
    return status;
}

enum vv_status vv_registry_learn_tags(struct vv_registry *registry, uint32_t number,
                                      const struct vv_tag_version *version, struct vv_error *error)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source || vv_source_is_canonical(source)) {
        return vv_error_set(error, source ? VV_INVALID : VV_NOT_FOUND,
                            "there is no such source whose tags can change");
    }
    enum vv_status status = check_tags(version, error);
    if (status == VV_OK) {
        status = vv_registry_check_room(registry, error);
    }
    if (status != VV_OK || (version->n_tags == 0 && version->from_ns == VV_TIME_MIN)) {
        return status;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_wrlock(&index->lock);
    status = vv_tags_learn(registry, index, number, version);
    pthread_rwlock_unlock(&index->lock);
    return status == VV_OK ? VV_OK : vv_error_set(error, status, "there is no memory for the tags");
}

/* ---- who knows them ---- */

void vv_registry_note_known(struct vv_registry *registry, uint32_t number,
                            const struct vv_tag_version *version)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source || vv_source_is_canonical(source)) {
        return;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_wrlock(&index->lock);
    vv_tags_note_known(index, source->tags, version);
    pthread_rwlock_unlock(&index->lock);
}

void vv_registry_forget_known(struct vv_registry *registry, uint32_t number)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (!source || vv_source_is_canonical(source)) {
        return;
    }
    struct vv_index *index = &vv_tenant_at(registry, source->tenant)->index;
    pthread_rwlock_wrlock(&index->lock);
    for (struct vv_tags *each = source->tags; each; each = each->older) {
        each->known = false;
    }
    pthread_rwlock_unlock(&index->lock);
}
