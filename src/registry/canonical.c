/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical form of a tag set. All orders of the same tags give the same text, and different
 * sets different texts: each comma, equals sign, space and backslash of a key or value has a
 * backslash before it, so that unescaped ones only separate.
 */
#include "registry/text.h"

#include <stdio.h>

#define NO_TAGS "-"

static bool needs_escape(char byte)
{
    return byte == ',' || byte == '=' || byte == ' ' || byte == '\\';
}

/* Where a tag with this key goes, behind equal ones, so that the last one stays the last. */
static size_t place_of(const struct vv_tag *tags, size_t n, struct vv_str key)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (vv_str_compare(tags[middle].key, key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Ascending by key, stable. As a rule they come in order. */
static void copy_in_order(const struct vv_tag *tags, size_t n, struct vv_tag *out)
{
    for (size_t i = 0; i < n; i++) {
        size_t place = i;
        if (i > 0 && vv_str_compare(out[i - 1].key, tags[i].key) > 0) {
            place = place_of(out, i, tags[i].key);
            memmove(&out[place + 1], &out[place], (i - place) * sizeof *out);
        }
        out[place] = tags[i];
    }
}

/* Of equal keys the last one counts; then empty values count as absent, and the id tag is taken
 * out. */
static void reduce(struct vv_canonical *canonical, struct vv_str id_tag)
{
    struct vv_tag *tags = canonical->tags;
    size_t kept = 0;
    for (size_t i = 0; i < canonical->n; i++) {
        bool again = i + 1 < canonical->n && vv_str_equal(tags[i].key, tags[i + 1].key);
        if (again || tags[i].value.size == 0) {
            continue;
        }
        if (id_tag.data && vv_str_equal(tags[i].key, id_tag)) {
            canonical->id = tags[i].value;
            canonical->by_id_tag = true;
            continue;
        }
        tags[kept++] = tags[i];
    }
    canonical->n = kept;
}

/* Appends text with escapes; false when it does not fit. */
static bool append_escaped(struct vv_canonical *canonical, size_t *size, struct vv_str text)
{
    for (size_t i = 0; i < text.size; i++) {
        size_t needed = needs_escape(text.data[i]) ? 2 : 1;
        if (*size + needed > sizeof canonical->text) {
            return false;
        }
        if (needed == 2) {
            canonical->text[(*size)++] = '\\';
        }
        canonical->text[(*size)++] = text.data[i];
    }
    return true;
}

static bool append_separator(struct vv_canonical *canonical, size_t *size, char separator)
{
    if (*size == sizeof canonical->text) {
        return false;
    }
    canonical->text[(*size)++] = separator;
    return true;
}

static bool write_text(struct vv_canonical *canonical)
{
    size_t size = 0;
    for (size_t i = 0; i < canonical->n; i++) {
        if ((i > 0 && !append_separator(canonical, &size, ',')) ||
            !append_escaped(canonical, &size, canonical->tags[i].key) ||
            !append_separator(canonical, &size, '=') ||
            !append_escaped(canonical, &size, canonical->tags[i].value)) {
            return false;
        }
    }
    if (canonical->n == 0) {
        memcpy(canonical->text, NO_TAGS, sizeof NO_TAGS - 1);
        size = sizeof NO_TAGS - 1;
    }
    canonical->id = (struct vv_str){canonical->text, size};
    return true;
}

enum vv_status vv_canonical_make(const struct vv_tag *tags, size_t n, struct vv_str id_tag,
                                 struct vv_canonical *out, struct vv_error *error)
{
    if (n > VV_TAGS_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "there are %zu tags, at most %d are allowed", n,
                            VV_TAGS_MAX);
    }
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (tags[i].key.size == 0) {
            return vv_error_set(error, VV_INVALID, "tag %zu has an empty key: give it a name",
                                i + 1);
        }
        bytes += tags[i].key.size + tags[i].value.size;
    }
    out->by_id_tag = false;
    out->n = n;
    copy_in_order(tags, n, out->tags);
    reduce(out, id_tag);
    if (out->by_id_tag ? bytes - out->id.size > VV_SOURCE_ID_BYTES_MAX : !write_text(out)) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "the tags have %zu bytes, with escapes at most %d are allowed", bytes,
                            VV_SOURCE_ID_BYTES_MAX);
    }
    return VV_OK;
}

enum vv_status vv_canonical_check(const struct vv_canonical *canonical, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    char what[96];
    for (size_t i = 0; i < canonical->n && status == VV_OK; i++) {
        struct vv_str key = canonical->tags[i].key;
        snprintf(what, sizeof what, "the key of a tag (number %zu in order of keys)", i + 1);
        status = vv_name_check(key, VV_NAME_BYTES_MAX, what, error);
        if (status == VV_OK) {
            struct vv_str shown = vv_text_cut(key, 48);
            snprintf(what, sizeof what, "the value of tag '%.*s'", VV_STR_ARG(shown));
            status = vv_name_check(canonical->tags[i].value, VV_NAME_BYTES_MAX, what, error);
        }
    }
    if (status == VV_OK && canonical->by_id_tag) {
        status = vv_name_check(canonical->id, VV_NAME_BYTES_MAX, "the id of the source", error);
    }
    return status;
}

static bool is_no_tags(struct vv_str text)
{
    return vv_str_equal(text, VV_STR_LITERAL(NO_TAGS));
}

size_t vv_canonical_count(struct vv_str text)
{
    if (is_no_tags(text)) {
        return 0;
    }
    size_t n = 1;
    for (size_t i = 0; i < text.size; i++) {
        n += text.data[i] == ',';
        i += text.data[i] == '\\';
    }
    return n;
}

/* Copies text without escapes up to an unescaped `end` (which is passed) or the end of text. */
static struct vv_str unescape(struct vv_str text, size_t *at, char end, char **room)
{
    char *start = *room;
    while (*at < text.size && text.data[*at] != end) {
        bool escaped = text.data[*at] == '\\' && *at + 1 < text.size;
        *at += escaped;
        *(*room)++ = text.data[(*at)++];
    }
    *at += *at < text.size;
    return (struct vv_str){start, (size_t)(*room - start)};
}

enum vv_status vv_canonical_parse(struct vv_str text, char *room, struct vv_tag *tags_out, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        tags_out[i].key = unescape(text, &at, '=', &room);
        tags_out[i].value = unescape(text, &at, ',', &room);
        if (tags_out[i].key.size == 0 || tags_out[i].value.size == 0) {
            return VV_CORRUPT;
        }
    }
    return n == 0 || at == text.size ? VV_OK : VV_CORRUPT;
}
