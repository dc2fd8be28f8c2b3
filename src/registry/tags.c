/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions of a source's tags, newest first, under the index's lock. A new version is made whole
 * before anything changes, so that a failed allocation changes nothing.
 */
#include "registry/registry_private.h"
#include "registry/text.h"

static void release_pairs(struct vv_registry *registry, struct vv_index *index,
                          const uint32_t *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vv_index_release(registry, index, pairs[i]);
    }
}

static size_t version_size(size_t n)
{
    return sizeof(struct vv_tags) + n * sizeof(uint32_t);
}

enum vv_status vv_tags_create(struct vv_registry *registry, struct vv_index *index,
                              const struct vv_tag *tags, size_t n, int64_t from_ns,
                              struct vv_tags **tags_out)
{
    struct vv_tags *version = vv_registry_alloc(registry, version_size(n));
    if (!version) {
        return VV_NO_MEMORY;
    }
    *version = (struct vv_tags){.from_ns = from_ns, .n = (uint16_t)n};
    size_t bytes = version_size(n);
    for (size_t i = 0; i < n; i++) {
        enum vv_status status = vv_index_hold(registry, index, tags[i], &version->pairs[i]);
        if (status != VV_OK) {
            release_pairs(registry, index, version->pairs, i);
            vv_registry_free(registry, version, version_size(n));
            return status;
        }
        bytes += tags[i].key.size + tags[i].value.size;
    }
    version->bytes = (uint32_t)bytes;
    *tags_out = version;
    return VV_OK;
}

struct vv_tags *vv_tags_destroy(struct vv_registry *registry, struct vv_index *index,
                                struct vv_tags *take_tags)
{
    if (!take_tags) {
        return NULL;
    }
    struct vv_tags *older = take_tags->older;
    release_pairs(registry, index, take_tags->pairs, take_tags->n);
    vv_registry_free(registry, take_tags, version_size(take_tags->n));
    return older;
}

static bool has_pair(const struct vv_tags *version, uint32_t pair)
{
    for (uint32_t i = 0; version && i < version->n; i++) {
        if (version->pairs[i] == pair) {
            return true;
        }
    }
    return false;
}

void vv_tags_reindex(struct vv_registry *registry, struct vv_index *index, uint32_t source,
                     const struct vv_tags *before, const struct vv_tags *now)
{
    for (uint32_t i = 0; before && i < before->n; i++) {
        if (!has_pair(now, before->pairs[i])) {
            vv_index_remove(registry, index, before->pairs[i], source);
        }
    }
    for (uint32_t i = 0; now && i < now->n; i++) {
        if (!has_pair(before, now->pairs[i])) {
            vv_index_add(registry, index, now->pairs[i], source);
        }
    }
}

bool vv_tags_contain(struct vv_index *index, const struct vv_tags *version,
                     const struct vv_tag *tags, size_t n)
{
    uint32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        int order = -1;
        const struct vv_tag_pair *pair = NULL;
        while (at < version->n && order < 0) {
            pair = vv_index_pair_at(index, version->pairs[at++]);
            order = vv_str_compare(vv_pair_key(pair), tags[i].key);
        }
        if (order != 0 || !vv_str_equal(vv_pair_value(pair), tags[i].value)) {
            return false;
        }
    }
    return true;
}

/* The order of tags from one time, where nodes have made different ones: more are greater, of as
 * many those with the later texts. Numbers of pairs are this registry's own. */
static int compare_tags(struct vv_index *index, const struct vv_tags *version,
                        const struct vv_tag *tags, size_t n)
{
    if (version->n != n) {
        return version->n < n ? -1 : 1;
    }
    int order = 0;
    for (size_t i = 0; i < n && order == 0; i++) {
        const struct vv_tag_pair *pair = vv_index_pair_at(index, version->pairs[i]);
        order = vv_str_compare(vv_pair_key(pair), tags[i].key);
        order = order ? order : vv_str_compare(vv_pair_value(pair), tags[i].value);
    }
    return order;
}

/* The tags of a version with the mentioned ones laid over them, ascending. They borrow from the
 * pairs. SIZE_MAX when there are too many. */
static size_t overlay(struct vv_index *index, const struct vv_tags *version,
                      const struct vv_tag *tags, size_t n, struct vv_tag out[VV_TAGS_MAX])
{
    size_t merged = 0;
    uint32_t at = 0;
    for (size_t i = 0; i < n || at < version->n;) {
        if (merged == VV_TAGS_MAX) {
            return SIZE_MAX;
        }
        const struct vv_tag_pair *pair =
            at < version->n ? vv_index_pair_at(index, version->pairs[at]) : NULL;
        int order = !pair ? 1 : i == n ? -1 : vv_str_compare(vv_pair_key(pair), tags[i].key);
        if (order < 0) {
            out[merged++] = (struct vv_tag){vv_pair_key(pair), vv_pair_value(pair)};
        } else {
            out[merged++] = tags[i++];
        }
        at += order <= 0;
    }
    return merged;
}

static uint64_t history_bytes(const struct vv_registry *registry)
{
    return atomic_load_explicit(&registry->history_bytes, memory_order_relaxed);
}

/* An old version is counted as if it shared nothing: nearly all that it holds may be its own. */
static void count_old(struct vv_registry *registry, const struct vv_tags *version, bool more)
{
    if (more) {
        atomic_fetch_add_explicit(&registry->history_bytes, version->bytes, memory_order_relaxed);
    } else {
        atomic_fetch_sub_explicit(&registry->history_bytes, version->bytes, memory_order_relaxed);
    }
}

static void drop_older_than(struct vv_registry *registry, struct vv_index *index,
                            struct vv_tags *version)
{
    struct vv_tags *old = version->older;
    version->older = NULL;
    while (old) {
        count_old(registry, old, false);
        old = vv_tags_destroy(registry, index, old);
    }
}

/* Keeps the newest versions, as many as are allowed: half of them when memory for old versions is
 * used up, so that one change in many pays for it. */
static void trim(struct vv_registry *registry, struct vv_index *index, struct vv_tags *newest)
{
    size_t n = 0;
    for (struct vv_tags *version = newest; version; version = version->older) {
        n++;
    }
    size_t most = VV_TAG_HISTORY_MAX;
    if (history_bytes(registry) > registry->history_bytes_max) {
        most = n / 2 > 0 ? n / 2 : 1;
    }
    struct vv_tags *last = newest;
    for (size_t i = 1; i < most && last->older; i++) {
        last = last->older;
    }
    drop_older_than(registry, index, last);
}

/* What stood for tags that were not known yet goes when some are. */
static void drop_unknown(struct vv_registry *registry, struct vv_index *index,
                         struct vv_tags *newest)
{
    struct vv_tags *last = newest;
    while (last->older && last->older->older) {
        last = last->older;
    }
    if (last->older && vv_tags_are_unknown(last->older)) {
        drop_older_than(registry, index, last);
    }
}

/* Puts a whole version in front, or in the place of one from the same time. */
static void put_in_front(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                         struct vv_tags *take_version)
{
    struct vv_source *source = vv_source_at(registry, number);
    struct vv_tags *present = source->tags;
    vv_tags_reindex(registry, index, number, present, take_version);
    source->tags = take_version;
    atomic_fetch_add_explicit(&source->tags_epoch, 1, memory_order_release);
    if (present->from_ns == take_version->from_ns) {
        take_version->older = vv_tags_destroy(registry, index, present);
    } else {
        take_version->older = present;
        count_old(registry, present, true);
        trim(registry, index, take_version);
        if (registry->stamp) {
            drop_unknown(registry, index, take_version);
        }
    }
    atomic_fetch_add_explicit(&registry->tag_changes, 1, memory_order_relaxed);
    vv_state_change(&source->state);
}

static enum vv_status change(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                             const struct vv_tag *tags, size_t n, int64_t time,
                             struct vv_error *error)
{
    struct vv_source *source = vv_source_at(registry, number);
    struct vv_tag merged[VV_TAGS_MAX];
    size_t n_merged = overlay(index, source->tags, tags, n, merged);
    size_t bytes = 0;
    for (size_t i = 0; n_merged != SIZE_MAX && i < n_merged; i++) {
        bytes += merged[i].key.size + merged[i].value.size;
    }
    if (n_merged == SIZE_MAX || bytes > VV_SOURCE_ID_BYTES_MAX) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "with its earlier tags the source would have more than %d tags or %d "
                            "bytes of them: send fewer different tags",
                            VV_TAGS_MAX, VV_SOURCE_ID_BYTES_MAX);
    }
    if (registry->stamp && time == source->tags->from_ns &&
        compare_tags(index, source->tags, merged, n_merged) >= 0) {
        return VV_OK; /* other nodes will find the greater ones, too */
    }
    struct vv_tags *version = NULL;
    enum vv_status status = vv_tags_create(registry, index, merged, n_merged, time, &version);
    if (status == VV_OK) {
        put_in_front(registry, index, number, version);
    }
    return status;
}

enum vv_status vv_tags_update(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                              const struct vv_tag *tags, size_t n, int64_t time,
                              struct vv_error *error)
{
    struct vv_source *source = vv_source_at(registry, number);
    if (vv_tags_contain(index, source->tags, tags, n)) {
        return VV_OK;
    }
    if (time < source->tags->from_ns) {
        return VV_OK;
    }
    enum vv_status status = vv_registry_check_room(registry, error);
    return status == VV_OK ? change(registry, index, number, tags, n, time, error) : status;
}

/* Puts a version behind `newer` (NULL: in front), in the place of `same` or of nothing. */
static void insert(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                   struct vv_tags *newer, struct vv_tags *same, struct vv_tags *take_version)
{
    struct vv_source *source = vv_source_at(registry, number);
    struct vv_tags *follows = newer ? newer->older : source->tags;
    take_version->older = same ? same->older : follows;
    if (newer) {
        newer->older = take_version;
        count_old(registry, take_version, true);
        if (same) {
            count_old(registry, same, false);
        }
    } else {
        vv_tags_reindex(registry, index, number, source->tags, take_version);
        source->tags = take_version;
        atomic_fetch_add_explicit(&source->tags_epoch, 1, memory_order_release);
        if (!same) {
            count_old(registry, follows, true);
        }
    }
    vv_tags_destroy(registry, index, same);
    trim(registry, index, source->tags);
    drop_unknown(registry, index, source->tags);
    atomic_fetch_add_explicit(&registry->tag_changes, 1, memory_order_relaxed);
    vv_state_change(&source->state);
}

enum vv_status vv_tags_learn(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                             const struct vv_tag_version *version)
{
    struct vv_source *source = vv_source_at(registry, number);
    struct vv_tags *newer = NULL;
    struct vv_tags *at = source->tags;
    size_t n_newer = 0;
    for (; at && at->from_ns > version->from_ns; at = at->older) {
        newer = at;
        n_newer++;
    }
    struct vv_tags *same = at && at->from_ns == version->from_ns ? at : NULL;
    int order = same ? compare_tags(index, same, version->tags, version->n_tags) : -1;
    if (order == 0) {
        same->known = true;
    }
    if (order >= 0 || n_newer >= VV_TAG_HISTORY_MAX) {
        return VV_OK;
    }
    struct vv_tags *learnt = NULL;
    enum vv_status status =
        vv_tags_create(registry, index, version->tags, version->n_tags, version->from_ns, &learnt);
    if (status == VV_OK) {
        learnt->known = true;
        insert(registry, index, number, newer, same, learnt);
    }
    return status;
}

void vv_tags_note_known(struct vv_index *index, struct vv_tags *newest,
                        const struct vv_tag_version *version)
{
    for (struct vv_tags *each = newest; each; each = each->older) {
        each->known |= each->from_ns == version->from_ns &&
                       compare_tags(index, each, version->tags, version->n_tags) == 0;
    }
}

void vv_tags_replace_all(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                         struct vv_tags *take_tags)
{
    struct vv_source *source = vv_source_at(registry, number);
    struct vv_tags *present = source->tags;
    vv_tags_reindex(registry, index, number, present, take_tags);
    source->tags = take_tags;
    atomic_fetch_add_explicit(&source->tags_epoch, 1, memory_order_release);
    for (struct vv_tags *old = take_tags->older; old; old = old->older) {
        count_old(registry, old, true);
    }
    drop_older_than(registry, index, present);
    vv_tags_destroy(registry, index, present);
    trim(registry, index, take_tags);
}
