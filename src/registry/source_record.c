/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a source's record that follows the head (see records.c):
 *
 *   tenant
 *   u8 flags: 1 when the id is the whole tag set in canonical form, whose tags never change
 *   id
 *   unless flag 1:
 *     number of tags in all versions together; for each: key, value
 *     number of versions, at least 1, oldest first; for each: from in ns (signed, ascending),
 *     number of tags, for each (ascending by key): its place in the list above
 *   number of plans; for each: from in ns (signed), bucket in ns, span in ns, division
 */
#include "registry/registry_private.h"
#include "registry/text.h"

#include <stdlib.h>

#define FLAG_CANONICAL 1u
#define PAIRS_MAX      (VV_TAG_HISTORY_MAX * VV_TAGS_MAX)
#define PAIR_SIZE_MIN  4 /* two texts of one byte each */

/* ---- encoding ---- */

static int compare_pairs(const struct vv_tag_pair *a, const struct vv_tag_pair *b)
{
    int order = vv_str_compare(vv_pair_key(a), vv_pair_key(b));
    return order ? order : vv_str_compare(vv_pair_value(a), vv_pair_value(b));
}

static int compare_numbers(const void *a, const void *b, void *context)
{
    struct vv_index *index = context;
    return compare_pairs(vv_index_pair_at(index, *(const uint32_t *)a),
                         vv_index_pair_at(index, *(const uint32_t *)b));
}

/* The pairs of all versions, each once, in the order of their texts: the same tags give the same
 * bytes, whatever numbers they have here. */
static size_t collect_pairs(struct vv_index *index, const struct vv_tags *newest,
                            uint32_t pairs[PAIRS_MAX])
{
    size_t n = 0;
    for (const struct vv_tags *version = newest; version; version = version->older) {
        memcpy(&pairs[n], version->pairs, version->n * sizeof *pairs);
        n += version->n;
    }
    qsort_r(pairs, n, sizeof *pairs, compare_numbers, index);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || pairs[kept - 1] != pairs[i]) {
            pairs[kept++] = pairs[i];
        }
    }
    return kept;
}

/* Where a pair stands among them. */
static size_t place_of(struct vv_index *index, const uint32_t *pairs, size_t n, uint32_t pair)
{
    size_t low = 0;
    size_t high = n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (compare_numbers(&pairs[middle], &pair, index) <= 0) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void encode_version(struct vv_index *index, const struct vv_tags *version,
                           const uint32_t *pairs, size_t n_pairs, struct vv_buffer *buffer)
{
    vv_buffer_zigzag(buffer, version->from_ns);
    vv_buffer_varint(buffer, version->n);
    for (uint32_t i = 0; i < version->n; i++) {
        vv_buffer_varint(buffer, place_of(index, pairs, n_pairs, version->pairs[i]));
    }
}

static void encode_tags(struct vv_index *index, const struct vv_tags *newest,
                        struct vv_buffer *buffer)
{
    uint32_t pairs[PAIRS_MAX];
    size_t n_pairs = collect_pairs(index, newest, pairs);
    vv_buffer_varint(buffer, n_pairs);
    for (size_t i = 0; i < n_pairs; i++) {
        const struct vv_tag_pair *pair = vv_index_pair_at(index, pairs[i]);
        vv_buffer_sized(buffer, vv_pair_key(pair));
        vv_buffer_sized(buffer, vv_pair_value(pair));
    }
    const struct vv_tags *versions[VV_TAG_HISTORY_MAX];
    size_t n = 0;
    for (const struct vv_tags *version = newest; version; version = version->older) {
        versions[n++] = version;
    }
    vv_buffer_varint(buffer, n);
    while (n > 0) {
        encode_version(index, versions[--n], pairs, n_pairs, buffer);
    }
}

static void encode_plans(struct vv_plans plans, struct vv_buffer *buffer)
{
    vv_buffer_varint(buffer, plans.n);
    for (size_t i = 0; i < plans.n; i++) {
        vv_buffer_zigzag(buffer, plans.plans[i].from_ns);
        vv_buffer_varint(buffer, (uint64_t)plans.plans[i].bucket_ns);
        vv_buffer_varint(buffer, (uint64_t)plans.plans[i].span_ns);
        vv_buffer_varint(buffer, vv_plan_division(&plans.plans[i]));
    }
}

void vv_source_encode(struct vv_registry *registry, uint32_t number, struct vv_buffer *buffer)
{
    struct vv_source *source = vv_source_at(registry, number);
    bool canonical = vv_source_is_canonical(source);
    vv_buffer_varint(buffer, source->tenant);
    vv_buffer_u8(buffer, canonical ? FLAG_CANONICAL : 0);
    vv_buffer_sized(buffer, vv_source_id_str(source));
    if (!canonical) {
        encode_tags(&vv_tenant_at(registry, source->tenant)->index, source->tags, buffer);
    }
    encode_plans(vv_registry_source_plans(registry, number), buffer);
}

/* ---- applying ---- */

static enum vv_status damaged(struct vv_error *error, const char *why)
{
    return vv_error_set(error, VV_CORRUPT, "%s", why);
}

static bool is_tag(struct vv_tag tag)
{
    return vv_name_check(tag.key, VV_NAME_BYTES_MAX, "", NULL) == VV_OK &&
           vv_name_check(tag.value, VV_NAME_BYTES_MAX, "", NULL) == VV_OK;
}

/* The tags of all versions; the caller frees them. */
static enum vv_status read_pairs(struct vv_reader *reader, struct vv_tag **tags_out, size_t *n_out,
                                 struct vv_error *error)
{
    uint64_t n = vv_reader_varint(reader);
    if (reader->failed || n > PAIRS_MAX || n > vv_reader_left(reader) / PAIR_SIZE_MIN) {
        return damaged(error, "the number of its tags is damaged");
    }
    struct vv_tag *tags = malloc((size_t)(n ? n : 1) * sizeof *tags);
    if (!tags) {
        return VV_NO_MEMORY;
    }
    bool good = true;
    for (size_t i = 0; i < n && good; i++) {
        tags[i].key = vv_reader_sized(reader);
        tags[i].value = vv_reader_sized(reader);
        good = !reader->failed && is_tag(tags[i]);
    }
    if (!good) {
        free(tags);
        return damaged(error, "its tags are damaged");
    }
    *tags_out = tags;
    *n_out = (size_t)n;
    return VV_OK;
}

static bool read_version(struct vv_reader *reader, const struct vv_tag *pairs, size_t n_pairs,
                         struct vv_tag tags_out[VV_TAGS_MAX], size_t *n_out)
{
    uint64_t n = vv_reader_varint(reader);
    size_t bytes = 0;
    for (size_t i = 0; i < n && n <= VV_TAGS_MAX; i++) {
        uint64_t place = vv_reader_varint(reader);
        if (reader->failed || place >= n_pairs) {
            return false;
        }
        tags_out[i] = pairs[place];
        bytes += tags_out[i].key.size + tags_out[i].value.size;
        if (i > 0 && vv_str_compare(tags_out[i - 1].key, tags_out[i].key) >= 0) {
            return false;
        }
    }
    *n_out = (size_t)n;
    return !reader->failed && n <= VV_TAGS_MAX && bytes <= VV_SOURCE_ID_BYTES_MAX;
}

static void destroy_all(struct vv_registry *registry, struct vv_index *index,
                        struct vv_tags *take_newest)
{
    while (take_newest) {
        take_newest = vv_tags_destroy(registry, index, take_newest);
    }
}

/* Makes the versions, newest first. On failure what was made is in *newest all the same. */
static enum vv_status make_versions(struct vv_registry *registry, struct vv_index *index,
                                    struct vv_reader *reader, const struct vv_tag *pairs,
                                    size_t n_pairs, struct vv_tags **newest, struct vv_error *error)
{
    uint64_t n = vv_reader_varint(reader);
    if (n == 0 || n > VV_TAG_HISTORY_MAX) {
        return damaged(error, "the number of its versions is damaged");
    }
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        struct vv_tag tags[VV_TAGS_MAX];
        size_t n_tags = 0;
        int64_t from_ns = vv_reader_zigzag(reader);
        if (!read_version(reader, pairs, n_pairs, tags, &n_tags) ||
            (*newest && from_ns <= (*newest)->from_ns)) {
            return damaged(error, "a version of its tags is damaged");
        }
        struct vv_tags *older = *newest;
        status = vv_tags_create(registry, index, tags, n_tags, from_ns, newest);
        if (status == VV_OK) {
            (*newest)->older = older;
            (*newest)->known = true;
        }
    }
    return status;
}

static enum vv_status read_plans(struct vv_reader *reader, struct vv_plan plans_out[VV_PLANS_MAX],
                                 size_t *n_out, struct vv_error *error)
{
    uint64_t n = vv_reader_varint(reader);
    bool good = n <= VV_PLANS_MAX;
    for (size_t i = 0; i < n && good; i++) {
        plans_out[i] = (struct vv_plan){.from_ns = vv_reader_zigzag(reader)};
        plans_out[i].bucket_ns = (int64_t)vv_reader_varint(reader);
        plans_out[i].span_ns = (int64_t)vv_reader_varint(reader);
        good = vv_plan_divide(&plans_out[i], vv_reader_varint(reader));
    }
    *n_out = good ? (size_t)n : 0;
    good = good && !reader->failed && vv_reader_left(reader) == 0 &&
           (n == 0 || vv_plans_check(plans_out, (size_t)n) == VV_OK);
    return good ? VV_OK : damaged(error, "its plans are damaged");
}

struct source_record {
    uint32_t tenant;
    uint32_t number;
    bool canonical;
    struct vv_str id;
    struct vv_tags *versions; /* newest first; NULL when canonical */
    struct vv_plan plans[VV_PLANS_MAX];
    size_t n_plans;
};

static enum vv_status read_body(struct vv_registry *registry, struct vv_index *index,
                                struct vv_reader *reader, struct source_record *record,
                                struct vv_error *error)
{
    enum vv_status status = VV_OK;
    if (!record->canonical) {
        struct vv_tag *pairs = NULL;
        size_t n_pairs = 0;
        status = read_pairs(reader, &pairs, &n_pairs, error);
        if (status == VV_OK) {
            status =
                make_versions(registry, index, reader, pairs, n_pairs, &record->versions, error);
        }
        free(pairs);
    }
    return status == VV_OK ? read_plans(reader, record->plans, &record->n_plans, error) : status;
}

enum vv_status vv_source_tags_of_id(struct vv_str id, char *room, struct vv_canonical *canonical,
                                    struct vv_error *error)
{
    struct vv_tag tags[VV_TAGS_MAX];
    size_t n = vv_canonical_count(id);
    const struct vv_str no_id_tag = {NULL, 0};
    if (n > VV_TAGS_MAX || vv_canonical_parse(id, room, tags, n) != VV_OK ||
        vv_canonical_make(tags, n, no_id_tag, canonical, NULL) != VV_OK ||
        !vv_str_equal(canonical->id, id) || vv_canonical_check(canonical, NULL) != VV_OK) {
        return damaged(error, "its id is not the canonical text of a tag set");
    }
    return VV_OK;
}

static enum vv_status add_source(struct vv_registry *registry, const struct source_record *record,
                                 struct vv_error *error)
{
    struct vv_canonical canonical;
    char room[VV_SOURCE_ID_BYTES_MAX];
    struct vv_source_new new_source = {
        .id = record->id,
        .canonical = record->canonical,
        .from_ns = VV_TIME_MIN, /* of a version without tags, replaced at once */
    };
    if (record->canonical) {
        enum vv_status status = vv_source_tags_of_id(record->id, room, &canonical, error);
        if (status != VV_OK) {
            return status;
        }
        new_source.tags = canonical.tags;
        new_source.n_tags = canonical.n;
    }
    uint32_t number = 0;
    return vv_source_add(registry, record->tenant, &new_source, record->number, &number, error);
}

/* Makes the source if it is not there, and puts tags and plans into it. */
static enum vv_status commit(struct vv_registry *registry, struct vv_index *index,
                             struct source_record *record, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    if (!vv_source_at(registry, record->number)) {
        status = add_source(registry, record, error);
    }
    bool changed = false;
    if (status == VV_OK && record->n_plans > 0) {
        status = vv_plans_replace(registry, &vv_source_at(registry, record->number)->plans,
                                  record->plans, record->n_plans, &changed);
    }
    if (status == VV_OK && record->versions) {
        vv_tags_replace_all(registry, index, record->number, record->versions);
        record->versions = NULL;
    }
    return status;
}

/* Whether number and id belong together, or both are free. */
static bool is_consistent(struct vv_registry *registry, const struct vv_index *index,
                          const struct source_record *record)
{
    struct vv_source *source = vv_source_at(registry, record->number);
    uint64_t hash = vv_registry_hash(registry, record->tenant, record->id);
    uint32_t known = vv_index_source(registry, index, record->id, hash);
    return known == (source ? record->number : VV_REGISTRY_NONE) &&
           (!source || vv_source_is_canonical(source) == record->canonical);
}

enum vv_status vv_source_apply(struct vv_registry *registry, uint32_t tenant, uint32_t number,
                               uint64_t version, struct vv_reader *reader, struct vv_error *error)
{
    struct vv_index *index = &vv_tenant_at(registry, tenant)->index;
    struct source_record record = {.tenant = tenant, .number = number};
    uint8_t flags = vv_reader_u8(reader);
    record.canonical = flags & FLAG_CANONICAL;
    record.id = vv_reader_sized(reader);
    size_t id_max = record.canonical ? VV_SOURCE_ID_BYTES_MAX : VV_NAME_BYTES_MAX;
    if (reader->failed || flags > FLAG_CANONICAL ||
        vv_name_check(record.id, id_max, "", NULL) != VV_OK) {
        return damaged(error, "its id is damaged");
    }
    if (!is_consistent(registry, index, &record)) {
        return damaged(error, "its id and number belong to different sources");
    }
    struct vv_source *source = vv_source_at(registry, number);
    if (source && version <= vv_state_version(&source->state)) {
        return VV_OK;
    }
    enum vv_status status = read_body(registry, index, reader, &record, error);
    if (status == VV_OK) {
        status = commit(registry, index, &record, error);
    }
    destroy_all(registry, index, record.versions);
    return status;
}
