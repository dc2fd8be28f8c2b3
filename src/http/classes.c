/* SPDX-License-Identifier: Apache-2.0 */
#include "http/classes.h"

#include "http/changes.h"
#include "http/json_text.h"
#include "http/retentions.h"

#include <inttypes.h>

/* ---- writing ---- */

static void write_measurements(struct vv_registry *registry, uint32_t class, struct vv_buffer *body)
{
    struct vv_str left = vv_registry_class_patterns(registry, class);
    struct vv_str pattern;
    vv_buffer_text(body, "\"measurements\":[");
    for (bool first = true; vv_class_next_pattern(&left, &pattern); first = false) {
        vv_buffer_text(body, first ? "" : ",");
        vv_json_text(body, pattern);
    }
    vv_buffer_text(body, "],\"retention\":");
}

void vv_write_classes(struct vv_registry *registry, uint32_t tenant, struct vv_buffer *body)
{
    uint32_t classes[VV_CLASSES_OF_TENANT_MAX];
    size_t n = vv_registry_classes(registry, tenant, classes);
    for (size_t i = n; i-- > 0;) { /* the oldest first */
        vv_buffer_text(body, i + 1 == n ? ",\"classes\":{" : ",");
        vv_json_text(body, vv_space_class_name(vv_registry_tenant_name(registry, classes[i])));
        vv_buffer_text(body, ":{");
        write_measurements(registry, classes[i], body);
        vv_write_retention(body, vv_registry_retention(registry, classes[i]));
        vv_write_tiers(registry, classes[i], body);
        vv_buffer_text(body, i == 0 ? "}}" : "}");
    }
}

/* ---- parsing ---- */

static enum vv_status parse_measurements(const json_t *value, struct vv_buffer *patterns,
                                         struct vv_error *error)
{
    size_t n = json_is_array(value) ? json_array_size(value) : 0;
    bool good = json_is_array(value);
    for (size_t i = 0; i < n && good; i++) {
        struct vv_str pattern = vv_changes_text(json_array_get(value, i));
        good = pattern.size > 0 && !memchr(pattern.data, '\n', pattern.size);
        if (good) {
            vv_buffer_str(patterns, pattern);
            vv_buffer_text(patterns, "\n");
        }
    }
    return good ? vv_buffer_status(patterns)
                : vv_error_set(error, VV_INVALID,
                               "a class has measurements: an array of names such as \"energy\" or "
                               "\"debug*\"");
}

static enum vv_status parse_member(const char *key, json_t *value, struct vv_class_wish *wish,
                                   struct vv_buffer *patterns, struct vv_error *error)
{
    if (strcmp(key, "retention") == 0) {
        return vv_parse_retention(value, &wish->retentions, error);
    }
    if (strcmp(key, "tiers") == 0) {
        return vv_parse_tiers(value, &wish->retentions, error);
    }
    if (strcmp(key, "measurements") == 0) {
        wish->has_measurements = true;
        return parse_measurements(value, patterns, error);
    }
    return vv_error_set(error, VV_INVALID,
                        "'%.100s' is not allowed: a class has measurements, retention and tiers",
                        key);
}

static enum vv_status parse_class(json_t *object, struct vv_class_wish *wish,
                                  struct vv_buffer *patterns, struct vv_error *error)
{
    const char *key = NULL;
    json_t *value = NULL;
    if (!json_is_object(object)) {
        return vv_error_set(error, VV_INVALID,
                            "a class is an object such as {\"measurements\": [\"debug*\"], "
                            "\"retention\": \"6h\", \"tiers\": \"off\"}");
    }
    json_object_foreach(object, key, value)
    {
        enum vv_status status = parse_member(key, value, wish, patterns, error);
        if (status != VV_OK) {
            return status;
        }
    }
    wish->measurements =
        (struct vv_str){patterns->data ? (const char *)patterns->data : "", patterns->size};
    return VV_OK;
}

/* ---- changing ---- */

static void note_effect(struct vv_str class, const struct vv_class_effect *effect,
                        struct vv_buffer *notes)
{
    struct vv_buffer text = {0};
    if (effect->elsewhere == 0) {
        return;
    }
    vv_buffer_format(&text,
                     "class %.*s: %" PRIu64 " of the tenant's measurements had their first point "
                     "before and stay where they are: ",
                     VV_STR_ARG(class), effect->elsewhere);
    for (uint64_t i = 0; i < effect->elsewhere && i < VV_CLASS_EXAMPLES; i++) {
        vv_buffer_text(&text, i > 0 ? ", " : "");
        vv_buffer_str(&text, effect->examples[i]);
    }
    vv_buffer_text(&text, effect->elsewhere > VV_CLASS_EXAMPLES ? ", …" : "");
    if (vv_buffer_status(&text) == VV_OK) {
        vv_buffer_text(notes, notes->size > 0 ? "," : "");
        vv_json_text(notes, (struct vv_str){(const char *)text.data, text.size});
    }
    vv_buffer_deinit(&text);
}

static enum vv_status apply_class(struct vv_engine *engine, struct vv_str tenant,
                                  struct vv_str name, json_t *object, struct vv_buffer *notes,
                                  struct vv_error *error)
{
    struct vv_buffer patterns = {0};
    struct vv_class_effect effect;
    struct vv_class_wish wish = {.name = name, .retentions = vv_retentions_as_is()};
    enum vv_status status = parse_class(object, &wish, &patterns, error);
    if (status == VV_OK) {
        status = vv_engine_set_class(engine, tenant, &wish, &effect, error);
    }
    if (status == VV_OK) {
        note_effect(name, &effect, notes);
    }
    vv_buffer_deinit(&patterns);
    return status;
}

enum vv_status vv_apply_classes(struct vv_engine *engine, struct vv_str tenant, json_t *classes,
                                struct vv_buffer *notes, struct vv_error *error)
{
    const char *name = NULL;
    json_t *object = NULL;
    json_object_foreach(classes, name, object)
    {
        enum vv_status status = apply_class(engine, tenant, vv_str_of(name), object, notes, error);
        if (status != VV_OK) {
            return status;
        }
    }
    return VV_OK;
}
