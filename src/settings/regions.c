/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions and their keyspaces. `{region}` in cassandra.keyspace stands for the name of the region,
 * as far as the name of a keyspace can have it: small letters, and _ for -.
 */
#include "settings/list.h"
#include "settings/settings.h"
#include "settings/table.h"

#define PLACE VV_STR_LITERAL("{region}")

static const char small_letters[] = "abcdefghijklmnopqrstuvwxyz";

/* ---- names ---- */

/* Names without quotes are made small by Cassandra, and must then be found again. */
static enum vv_status check_keyspace(const char *name, struct vv_error *error)
{
    static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    size_t size = strlen(name);
    if (size <= VV_SETTINGS_NAME_BYTES_MAX && strspn(name, small_letters) > 0 &&
        strspn(name, others) == size) {
        return VV_OK;
    }
    return vv_error_set(error, VV_INVALID,
                        "cassandra.keyspace: '%.64s' is no name; allowed: small letters, digits "
                        "and _, at most %d, a letter first; {region} stands for the region's name",
                        name, VV_SETTINGS_NAME_BYTES_MAX);
}

static enum vv_status check_region(const char *setting, struct vv_str name, struct vv_error *error)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    bool good = name.size > 0 && name.size <= VV_SETTINGS_NAME_BYTES_MAX;
    for (size_t i = 0; i < name.size && good; i++) {
        good = name.data[i] != '\0' && strchr(allowed, name.data[i]) != NULL;
    }
    if (good) {
        return VV_OK;
    }
    return vv_error_set(
        error, VV_INVALID, "%s: '%.*s' is no name; allowed: letters, digits, - and _, at most %d",
        setting, name.size > 64 ? 64 : (int)name.size, name.data, VV_SETTINGS_NAME_BYTES_MAX);
}

/* ---- keyspaces ---- */

static char in_keyspace(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '-' ? '_' : c;
}

/* The keyspace that the template gives to a region. */
static enum vv_status name_keyspace(const char *template, const char *region,
                                    char out[VV_SETTINGS_NAME_BYTES_MAX + 1],
                                    struct vv_error *error)
{
    char name[VV_SETTING_TEXT_MAX];
    size_t size = 0;
    for (const char *at = template; *at && size + 1 < sizeof name;) {
        if (strncmp(at, PLACE.data, PLACE.size) != 0) {
            name[size++] = *at++;
            continue;
        }
        for (const char *c = region; *c && size + 1 < sizeof name; c++) {
            name[size++] = in_keyspace(*c);
        }
        at += PLACE.size;
    }
    name[size] = '\0';
    enum vv_status status = check_keyspace(name, error);
    if (status == VV_OK) {
        memcpy(out, name, size + 1);
    }
    return status;
}

static enum vv_status name_keyspaces(const char *template, struct vv_settings_regions *regions,
                                     struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < regions->n && status == VV_OK; i++) {
        struct vv_settings_region *one = &regions->regions[i];
        status = name_keyspace(template, one->name, one->keyspace, error);
        for (size_t j = 0; j < i && status == VV_OK; j++) {
            if (strcmp(regions->regions[j].keyspace, one->keyspace) == 0) {
                status = vv_error_set(
                    error, VV_INVALID,
                    "cassandra.keyspace: '%.64s' gives the regions %s and %s one keyspace, and "
                    "each must have its own: name it with {region} in it, such as varve_{region}",
                    template, regions->regions[j].name, one->name);
            }
        }
    }
    return status;
}

/* ---- the list ---- */

static enum vv_status add_region(struct vv_settings_regions *regions, struct vv_str name,
                                 struct vv_error *error)
{
    enum vv_status status = check_region("cassandra.regions", name, error);
    if (status != VV_OK) {
        return status;
    }
    for (size_t i = 0; i < regions->n; i++) {
        if (vv_str_equal(vv_str_of(regions->regions[i].name), name)) {
            return vv_error_set(error, VV_INVALID, "cassandra.regions: '%.*s' is named twice",
                                VV_STR_ARG(name));
        }
    }
    if (regions->n == VV_SETTINGS_REGIONS_MAX) {
        return vv_error_set(error, VV_INVALID,
                            "cassandra.regions: '%.*s' is one too many; at most %d",
                            VV_STR_ARG(name), VV_SETTINGS_REGIONS_MAX);
    }
    memcpy(regions->regions[regions->n].name, name.data, name.size);
    regions->n++;
    return VV_OK;
}

static enum vv_status find_own(struct vv_settings_regions *regions, const char *own,
                               struct vv_error *error)
{
    while (regions->own < regions->n && strcmp(regions->regions[regions->own].name, own) != 0) {
        regions->own++;
    }
    if (regions->own < regions->n) {
        return VV_OK;
    }
    return vv_error_set(error, VV_INVALID,
                        "cassandra.region: '%s' is not in cassandra.regions, which names all of "
                        "them, the same on all nodes: append it there",
                        own);
}

enum vv_status vv_settings_regions(const struct vv_settings *settings,
                                   struct vv_settings_regions *regions_out, struct vv_error *error)
{
    const char *own = settings->cassandra_region;
    struct vv_str rest = vv_list_trim(vv_str_of(settings->cassandra_regions));
    struct vv_str element;
    *regions_out = (struct vv_settings_regions){0};
    enum vv_status status = check_region("cassandra.region", vv_str_of(own), error);
    rest = rest.size > 0 ? rest : vv_str_of(own);
    while (status == VV_OK && vv_list_next(&rest, &element)) {
        status = add_region(regions_out, element, error);
    }
    if (status == VV_OK) {
        status = find_own(regions_out, own, error);
    }
    return status == VV_OK ? name_keyspaces(settings->cassandra_keyspace, regions_out, error)
                           : status;
}
