/* SPDX-License-Identifier: Apache-2.0 */
#include "http/retentions.h"

#include "http/changes.h"
#include "http/json_text.h"

/* ---- writing ---- */

void vv_write_retention(struct vv_buffer *body, int64_t retention_ns)
{
    char text[VV_TIME_TEXT_SIZE] = "forever";
    if (retention_ns > 0) {
        vv_duration_format(retention_ns, text);
    }
    vv_buffer_format(body, "\"%s\"", text);
}

void vv_write_tiers(struct vv_registry *registry, uint32_t place, struct vv_buffer *body)
{
    struct vv_tiers tiers = vv_registry_tiers(registry, place);
    bool first = true;
    vv_buffer_text(body, ",\"tiers\":{");
    for (int i = 0; i < VV_SPACES; i++) {
        if (tiers.spaces[i] != VV_REGISTRY_NONE) {
            vv_buffer_text(body, first ? "" : ",");
            vv_json_text(body, vv_space_word((enum vv_space)i));
            vv_buffer_text(body, ":");
            vv_write_retention(body, vv_registry_retention(registry, tiers.spaces[i]));
            first = false;
        }
    }
    vv_buffer_text(body, "}");
}

/* ---- parsing ---- */

struct vv_retentions vv_retentions_as_is(void)
{
    struct vv_retentions retentions = {.raw_ns = VV_RETENTION_AS_IS};
    for (int i = 0; i < VV_SPACES; i++) {
        retentions.tiers_ns[i] = VV_RETENTION_AS_IS;
    }
    return retentions;
}

static bool is_word(const json_t *value, struct vv_str word)
{
    struct vv_str text = vv_changes_text(value);
    return text.data && vv_str_equal(text, word);
}

static bool read_retention(const json_t *value, int64_t *retention_ns_out)
{
    if (is_word(value, VV_STR_LITERAL("forever"))) {
        *retention_ns_out = 0;
        return true;
    }
    struct vv_error ignored = {0};
    struct vv_str text = vv_changes_text(value);
    return text.data && vv_duration_parse(text, retention_ns_out, &ignored) == VV_OK &&
           *retention_ns_out >= VV_RETENTION_NS_MIN;
}

enum vv_status vv_parse_retention(const json_t *value, struct vv_retentions *retentions,
                                  struct vv_error *error)
{
    if (read_retention(value, &retentions->raw_ns)) {
        return VV_OK;
    }
    return vv_error_set(error, VV_INVALID,
                        "retention must be a duration such as \"30d\" or \"12h\", of a second at "
                        "least, or \"forever\"");
}

static bool read_tier(const json_t *value, int64_t *retention_ns_out)
{
    if (is_word(value, VV_STR_LITERAL("off"))) {
        *retention_ns_out = VV_SPACE_OFF_NS;
        return true;
    }
    return read_retention(value, retention_ns_out);
}

static enum vv_status parse_each_tier(json_t *tiers, struct vv_retentions *retentions,
                                      struct vv_error *error)
{
    const char *name = NULL;
    const json_t *value = NULL;
    json_object_foreach(tiers, name, value)
    {
        enum vv_space tier;
        if (!vv_space_of_word(vv_str_of(name), &tier)) {
            return vv_error_set(error, VV_INVALID,
                                "there is no tier '%.100s': there are minute, hour and day", name);
        }
        if (!read_tier(value, &retentions->tiers_ns[tier])) {
            return vv_error_set(error, VV_INVALID,
                                "a tier's retention must be a duration such as \"30d\", of a "
                                "second at least, \"forever\" or \"off\"");
        }
    }
    return VV_OK;
}

enum vv_status vv_parse_tiers(json_t *value, struct vv_retentions *retentions,
                              struct vv_error *error)
{
    if (json_is_object(value)) {
        return parse_each_tier(value, retentions, error);
    }
    bool off = is_word(value, VV_STR_LITERAL("off"));
    if (!off && !is_word(value, VV_STR_LITERAL("default"))) {
        return vv_error_set(error, VV_INVALID,
                            "tiers must be \"default\", \"off\" or an object such as "
                            "{\"minute\": \"30d\", \"hour\": \"365d\", \"day\": \"forever\"}");
    }
    for (int i = 0; i < VV_SPACES; i++) {
        retentions->tiers_ns[i] =
            off ? VV_SPACE_OFF_NS : vv_space_retention_ns_default((enum vv_space)i);
    }
    return VV_OK;
}
