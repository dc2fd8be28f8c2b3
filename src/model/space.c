/* SPDX-License-Identifier: Apache-2.0 */
#include "model/space.h"

#include "base/clock.h"

static const struct vv_str suffixes[VV_SPACES_ALL] = {[VV_SPACE_MINUTE] = {"/minute", 7},
                                                      [VV_SPACE_HOUR] = {"/hour", 5},
                                                      [VV_SPACE_DAY] = {"/day", 4},
                                                      [VV_SPACE_LATE] = {"/late", 5}};

struct vv_str vv_space_suffix(enum vv_space space)
{
    return suffixes[space];
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

bool vv_space_of_name(struct vv_str name, enum vv_space *space_out)
{
    size_t at = vv_space_tenant_name(name).size;
    for (int i = 0; i < VV_SPACES; i++) {
        if (vv_str_equal(suffixes[i], (struct vv_str){name.data + at, name.size - at})) {
            *space_out = (enum vv_space)i;
            return true;
        }
    }
    return false;
}

bool vv_space_has_good_suffix(struct vv_str name)
{
    size_t at = vv_space_tenant_name(name).size;
    enum vv_space space;
    return !vv_space_is_name(name) || vv_space_of_name(name, &space) ||
           vv_str_equal(suffixes[VV_SPACE_LATE], (struct vv_str){name.data + at, name.size - at});
}
