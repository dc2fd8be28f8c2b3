/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selecting sources. Bitmaps of matchers are intersected, positive ones first; then the ids are
 * looked at. Long scans hold the index's lock in slices, so that new sources wait for one slice at
 * most: what changes meanwhile may or may not be seen.
 */
#include "registry/registry_private.h"

#include <stdlib.h>

#define SLICE_PAIRS 1024

struct selection {
    struct vv_registry *registry;
    struct vv_index *index;
    uint32_t tenant;
};

static bool is_negative(const struct vv_matcher *matcher)
{
    return matcher->op == VV_MATCH_NOT_IN || matcher->op == VV_MATCH_NOT_GLOB;
}

static bool is_glob(const struct vv_matcher *matcher)
{
    return matcher->op == VV_MATCH_GLOB || matcher->op == VV_MATCH_NOT_GLOB;
}

static bool is_for_id_tag(const struct selection *selection, const struct vv_matcher *matcher)
{
    return selection->registry->id_tag.data &&
           vv_str_equal(matcher->key, selection->registry->id_tag);
}

static bool any_glob(const struct vv_str *patterns, size_t n, struct vv_str text)
{
    for (size_t i = 0; i < n; i++) {
        if (vv_glob_match(patterns[i], text)) {
            return true;
        }
    }
    return false;
}

/* ---- what a matcher's values give, be it positive or negative ---- */

static void join_values(const struct selection *selection, const struct vv_matcher *matcher,
                        roaring_bitmap_t *found)
{
    pthread_rwlock_rdlock(&selection->index->lock);
    for (size_t i = 0; i < matcher->n_values; i++) {
        const struct vv_tag_pair *pair =
            vv_index_pair(selection->registry, selection->index, matcher->key, matcher->values[i]);
        if (pair) {
            vv_source_set_join(&pair->sources, found);
        }
    }
    pthread_rwlock_unlock(&selection->index->lock);
}

/* One slice of a key's pairs; false when there are no more. */
static bool join_slice(const struct selection *selection, const struct vv_matcher *matcher,
                       uint32_t start, roaring_bitmap_t *found)
{
    const struct vv_tag_key *key =
        vv_index_key(selection->registry, selection->index, matcher->key);
    uint32_t end = key ? key->pairs.end : 0;
    for (uint32_t at = start; at < end && at - start < SLICE_PAIRS; at++) {
        const struct vv_tag_pair *pair = vv_pool_at(&key->pairs, at);
        if (pair && pair->sources.count &&
            any_glob(matcher->values, matcher->n_values, vv_pair_value(pair))) {
            vv_source_set_join(&pair->sources, found);
        }
    }
    return end > start && end - start > SLICE_PAIRS;
}

static void join_globs(const struct selection *selection, const struct vv_matcher *matcher,
                       roaring_bitmap_t *found)
{
    bool more = true;
    for (uint32_t start = 0; more; start += SLICE_PAIRS) {
        pthread_rwlock_rdlock(&selection->index->lock);
        more = join_slice(selection, matcher, start, found);
        pthread_rwlock_unlock(&selection->index->lock);
    }
}

static roaring_bitmap_t *all_sources(const struct selection *selection)
{
    pthread_rwlock_rdlock(&selection->index->lock);
    roaring_bitmap_t *all = roaring_bitmap_copy(selection->index->sources);
    pthread_rwlock_unlock(&selection->index->lock);
    return all;
}

/* Keeps those whose id is one of the ids or matches one of the patterns. Ids need no lock. */
static enum vv_status keep_ids(const struct selection *selection, const struct vv_str *patterns,
                               size_t n_patterns, bool by_id_tag, const roaring_bitmap_t *among,
                               roaring_bitmap_t *found)
{
    roaring_uint32_iterator_t *at = roaring_create_iterator(among);
    if (!at) {
        return VV_NO_MEMORY;
    }
    for (; n_patterns && at->has_value; roaring_advance_uint32_iterator(at)) {
        const struct vv_source *source = vv_source_at(selection->registry, at->current_value);
        if (!(by_id_tag && vv_source_is_canonical(source)) &&
            any_glob(patterns, n_patterns, vv_source_id_str(source))) {
            roaring_bitmap_add(found, at->current_value);
        }
    }
    roaring_free_uint32_iterator(at);
    return VV_OK;
}

static void join_ids(const struct selection *selection, const struct vv_str *ids, size_t n,
                     bool by_id_tag, roaring_bitmap_t *found)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t number = 0;
        enum vv_status status =
            vv_registry_source_by_id(selection->registry, selection->tenant, ids[i], &number);
        if (status == VV_OK &&
            !(by_id_tag && vv_source_is_canonical(vv_source_at(selection->registry, number)))) {
            roaring_bitmap_add(found, number);
        }
    }
}

/* The sources that have one of the matcher's values, into `found`. `among` bounds what is looked
 * at where that saves work. */
static enum vv_status match(const struct selection *selection, const struct vv_matcher *matcher,
                            const roaring_bitmap_t *among, roaring_bitmap_t *found)
{
    bool for_id = is_for_id_tag(selection, matcher);
    if (for_id && is_glob(matcher)) {
        return keep_ids(selection, matcher->values, matcher->n_values, true, among, found);
    }
    if (for_id) {
        join_ids(selection, matcher->values, matcher->n_values, true, found);
    } else if (is_glob(matcher)) {
        join_globs(selection, matcher, found);
    } else {
        join_values(selection, matcher, found);
    }
    return VV_OK;
}

static enum vv_status apply_matcher(const struct selection *selection,
                                    const struct vv_matcher *matcher, roaring_bitmap_t *selected)
{
    roaring_bitmap_t *found = roaring_bitmap_create();
    if (!found) {
        return VV_NO_MEMORY;
    }
    enum vv_status status = match(selection, matcher, selected, found);
    if (status == VV_OK && is_negative(matcher)) {
        roaring_bitmap_andnot_inplace(selected, found);
    } else if (status == VV_OK) {
        roaring_bitmap_and_inplace(selected, found);
    }
    roaring_bitmap_free(found);
    return status;
}

/* Those that make the selection small go first: values, then patterns, then what is taken out. */
static int turn_of(const struct vv_matcher *matcher)
{
    return (is_negative(matcher) ? 2 : 0) + (is_glob(matcher) ? 1 : 0);
}

static enum vv_status apply_matchers(const struct selection *selection,
                                     const struct vv_selector *selector, roaring_bitmap_t *selected)
{
    enum vv_status status = VV_OK;
    for (int turn = 0; turn < 4; turn++) {
        for (size_t i = 0; i < selector->n_matchers && status == VV_OK; i++) {
            if (turn_of(&selector->matchers[i]) == turn && !roaring_bitmap_is_empty(selected)) {
                status = apply_matcher(selection, &selector->matchers[i], selected);
            }
        }
    }
    return status;
}

static enum vv_status apply_ids(const struct selection *selection,
                                const struct vv_selector *selector, roaring_bitmap_t *selected)
{
    if (selector->n_ids == 0 && selector->n_id_patterns == 0) {
        return VV_OK;
    }
    roaring_bitmap_t *found = roaring_bitmap_create();
    if (!found) {
        return VV_NO_MEMORY;
    }
    join_ids(selection, selector->ids, selector->n_ids, false, found);
    enum vv_status status =
        keep_ids(selection, selector->id_patterns, selector->n_id_patterns, false, selected, found);
    roaring_bitmap_and_inplace(selected, found);
    roaring_bitmap_free(found);
    return status;
}

static enum vv_status hand_over(const roaring_bitmap_t *selected, uint32_t after, size_t limit,
                                uint32_t **sources_out, size_t *n_out)
{
    uint64_t below = after == VV_REGISTRY_NONE ? 0 : roaring_bitmap_rank(selected, after);
    uint64_t above = roaring_bitmap_get_cardinality(selected) - below;
    size_t n = above < limit ? (size_t)above : limit;
    if (n == 0) {
        return VV_OK;
    }
    uint32_t *sources = malloc(n * sizeof *sources);
    roaring_uint32_iterator_t *at = sources ? roaring_create_iterator(selected) : NULL;
    if (!at) {
        free(sources);
        return VV_NO_MEMORY;
    }
    if (below) {
        roaring_move_uint32_iterator_equalorlarger(at, after + 1);
    }
    *n_out = roaring_read_uint32_iterator(at, sources, (uint32_t)n);
    *sources_out = sources;
    roaring_free_uint32_iterator(at);
    return VV_OK;
}

enum vv_status vv_registry_select(struct vv_registry *registry, uint32_t tenant_number,
                                  const struct vv_selector *selector, uint32_t after, size_t limit,
                                  uint32_t **sources_out, size_t *n_out, struct vv_error *error)
{
    *sources_out = NULL;
    *n_out = 0;
    struct vv_tenant *tenant = vv_tenant_at(registry, tenant_number);
    if (!tenant) {
        return VV_OK;
    }
    const struct selection selection = {registry, &tenant->index, tenant_number};
    roaring_bitmap_t *selected = all_sources(&selection);
    enum vv_status status = selected ? VV_OK : VV_NO_MEMORY;
    if (status == VV_OK) {
        status = apply_matchers(&selection, selector, selected);
    }
    if (status == VV_OK) {
        status = apply_ids(&selection, selector, selected);
    }
    if (status == VV_OK) {
        status = hand_over(selected, after, limit, sources_out, n_out);
    }
    if (selected) {
        roaring_bitmap_free(selected);
    }
    return status == VV_OK ? VV_OK
                           : vv_error_set(error, status, "there is no memory to select sources");
}
