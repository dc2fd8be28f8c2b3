/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/series_group.h"

#define HASH_FIRST UINT64_C(14695981039346656037) /* FNV-1a */
#define HASH_PRIME UINT64_C(1099511628211)

static uint64_t mix(uint64_t hash)
{
    hash ^= hash >> 31;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Up to a comma that is not escaped; *at is behind it then. */
static struct vv_str next_part(struct vv_str text, size_t *at)
{
    size_t begin = *at;
    size_t end = begin;
    while (end < text.size && text.data[end] != ',') {
        end += text.data[end] == '\\' && end + 1 < text.size ? 2 : 1;
    }
    *at = end + 1;
    return (struct vv_str){text.data + begin, end - begin};
}

/* Without backslashes, whatever they stand before: what is the same without them has the same. */
static uint64_t hash_of(struct vv_str text)
{
    uint64_t hash = HASH_FIRST;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] != '\\') {
            hash = (hash ^ (unsigned char)text.data[i]) * HASH_PRIME;
        }
    }
    return mix(hash);
}

/* Where a tag's key ends. */
static size_t key_size(struct vv_str tag)
{
    size_t end = 0;
    while (end < tag.size && tag.data[end] != '=') {
        end += tag.data[end] == '\\' && end + 1 < tag.size ? 2 : 1;
    }
    return end;
}

struct tag {
    uint64_t key;
    uint64_t value;
    bool is_empty;
};

static struct tag tag_of(struct vv_str text)
{
    size_t end = key_size(text);
    struct vv_str value = {text.data + end, text.size - end};
    return (struct tag){.key = hash_of((struct vv_str){text.data, end}),
                        .value = hash_of(value),
                        .is_empty = value.size <= 1};
}

/* Whether a tag of the same key comes behind `at`: it counts then. */
static bool comes_again(struct vv_str series, size_t at, uint64_t key)
{
    bool again = false;
    while (at < series.size && !again) {
        again = tag_of(next_part(series, &at)).key == key;
    }
    return again;
}

uint64_t vv_series_group(struct vv_str series, struct vv_str id_tag)
{
    size_t at = 0;
    uint64_t measurement = hash_of(next_part(series, &at));
    uint64_t id_key = hash_of(id_tag);
    uint64_t tags = 0; /* the sum: in whatever order they come */
    while (at < series.size) {
        struct tag tag = tag_of(next_part(series, &at));
        if (tag.is_empty || comes_again(series, at, tag.key)) {
            continue;
        }
        if (id_tag.size > 0 && tag.key == id_key) {
            return measurement + 3 * tag.value;
        }
        tags += mix(tag.key + 5 * tag.value);
    }
    return measurement + 3 * tags;
}
