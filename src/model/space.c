/* SPDX-License-Identifier: Apache-2.0 */
#include "model/space.h"

#include "base/clock.h"

#include <stdio.h>

static const struct vv_str suffixes[VV_SPACES_ALL] = {[VV_SPACE_MINUTE] = {"/minute", 7},
                                                      [VV_SPACE_HOUR] = {"/hour", 5},
                                                      [VV_SPACE_DAY] = {"/day", 4},
                                                      [VV_SPACE_LATE] = {"/late", 5}};

struct vv_str vv_space_suffix(enum vv_space space, uint32_t life,
                              char room[VV_SPACE_SUFFIX_MAX + 1])
{
    vv_invariant(life > 0 && life <= VV_SPACE_LIVES_MAX);
    int size = life == 1 ? snprintf(room, VV_SPACE_SUFFIX_MAX + 1, "%s", suffixes[space].data)
                         : snprintf(room, VV_SPACE_SUFFIX_MAX + 1, "%s.%u", suffixes[space].data,
                                    (unsigned)life);
    return (struct vv_str){room, (size_t)size};
}

struct vv_str vv_space_word(enum vv_space space)
{
    return (struct vv_str){suffixes[space].data + 1, suffixes[space].size - 1};
}

bool vv_space_of_word(struct vv_str word, enum vv_space *space_out)
{
    for (int i = 0; i < VV_SPACES; i++) {
        if (vv_str_equal(word, vv_space_word((enum vv_space)i))) {
            *space_out = (enum vv_space)i;
            return true;
        }
    }
    return false;
}

int64_t vv_space_retention_ns_default(enum vv_space space)
{
    static const int64_t retentions_ns[VV_SPACES] = {
        [VV_SPACE_MINUTE] = 30 * VV_DAY, [VV_SPACE_HOUR] = 365 * VV_DAY, [VV_SPACE_DAY] = 0};
    return retentions_ns[space];
}

struct vv_str vv_space_tenant_name(struct vv_str name)
{
    const char *end = name.size > 0 ? memchr(name.data, '/', name.size) : NULL;
    return end ? (struct vv_str){name.data, (size_t)(end - name.data)} : name;
}

bool vv_space_is_name(struct vv_str name)
{
    return vv_space_tenant_name(name).size < name.size;
}

struct vv_str vv_space_place_name(struct vv_str name)
{
    struct vv_str tenant = vv_space_tenant_name(name);
    bool is_class = tenant.size + 1 < name.size && name.data[tenant.size + 1] == '@';
    if (!is_class) {
        return tenant;
    }
    size_t at = tenant.size + 1;
    const char *end = memchr(name.data + at, '/', name.size - at);
    return end ? (struct vv_str){name.data, (size_t)(end - name.data)} : name;
}

struct vv_str vv_space_class_name(struct vv_str name)
{
    size_t tenant = vv_space_tenant_name(name).size;
    size_t place = vv_space_place_name(name).size;
    size_t skip = place > tenant ? tenant + 2 : place;
    return (struct vv_str){name.data + skip, place - skip};
}

static bool is_class_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-' || byte == '.';
}

bool vv_space_is_class_name(struct vv_str name)
{
    bool good = name.size > 0 && name.size <= VV_CLASS_NAME_MAX;
    for (size_t i = 0; i < name.size && good; i++) {
        good = is_class_byte(name.data[i]);
    }
    return good;
}

/* What follows the name of the place. */
static struct vv_str suffix_of(struct vv_str name)
{
    size_t at = vv_space_place_name(name).size;
    return (struct vv_str){name.data + at, name.size - at};
}

/* ".2" to ".9999"; 0: it is none of these. */
static uint32_t read_life(struct vv_str text)
{
    uint32_t life = 0;
    bool good = text.size >= 2 && text.size <= 5 && text.data[0] == '.' && text.data[1] != '0';
    for (size_t i = 1; i < text.size && good; i++) {
        good = text.data[i] >= '0' && text.data[i] <= '9';
        life = life * 10 + (uint32_t)(text.data[i] - '0');
    }
    return good && life > 1 ? life : 0;
}

/* What of a suffix follows the word of a tier; false: it is of another one, or of none. */
static bool skip_word(struct vv_str suffix, enum vv_space space, struct vv_str *rest_out)
{
    struct vv_str word = suffixes[space];
    if (suffix.size < word.size || memcmp(suffix.data, word.data, word.size) != 0) {
        return false;
    }
    *rest_out = (struct vv_str){suffix.data + word.size, suffix.size - word.size};
    return rest_out->size == 0 || read_life(*rest_out) > 0;
}

bool vv_space_of_name(struct vv_str name, enum vv_space *space_out)
{
    struct vv_str rest;
    for (int i = 0; i < VV_SPACES; i++) {
        if (skip_word(suffix_of(name), (enum vv_space)i, &rest)) {
            *space_out = (enum vv_space)i;
            return true;
        }
    }
    return false;
}

bool vv_space_is_late_name(struct vv_str name)
{
    return vv_str_equal(suffixes[VV_SPACE_LATE], suffix_of(name));
}

uint32_t vv_space_life(struct vv_str name)
{
    enum vv_space space;
    struct vv_str rest = {0};
    bool is_tier = vv_space_of_name(name, &space) && skip_word(suffix_of(name), space, &rest);
    return is_tier && rest.size > 0 ? read_life(rest) : 1;
}

bool vv_space_has_good_suffix(struct vv_str name)
{
    enum vv_space space;
    bool is_class = vv_space_place_name(name).size > vv_space_tenant_name(name).size;
    struct vv_str suffix = suffix_of(name);
    return (!is_class || vv_space_is_class_name(vv_space_class_name(name))) &&
           (suffix.size == 0 || vv_space_of_name(name, &space) || vv_space_is_late_name(name));
}
