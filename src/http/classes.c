/* SPDX-License-Identifier: Apache-2.0 */
#include "http/classes.h"

#include "http/changes.h"
#include "http/json_text.h"
#include "http/retention_notes.h"
#include "http/retentions.h"

#include <inttypes.h>

#define MOVES_MAX 1000 /* of a tenant, that are listed */

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
        if (!vv_registry_class_is_ready(registry, classes[i])) {
            vv_buffer_text(body, ",\"ready\":false");
        }
        vv_buffer_text(body, i == 0 ? "}}" : "}");
    }
}

/* By enum vv_move_state. */
static const char *const move_states[] = {"settled", "proposed", "told", "known", "withdrawn"};

static void write_move(struct vv_registry *registry, uint32_t measurement,
                       const struct vv_move *move, struct vv_buffer *body)
{
    char from[VV_TIME_TEXT_SIZE];
    vv_time_format(move->from_ns, from);
    vv_buffer_text(body, "{\"measurement\":");
    vv_json_text(body, vv_registry_measurement_name(registry, measurement));
    vv_buffer_format(body, ",\"from\":\"%s\",\"class\":", from);
    vv_json_text(body, vv_space_class_name(vv_registry_tenant_name(registry, move->place)));
    vv_buffer_format(body, ",\"state\":\"%s\"}", move_states[move->state]);
}

/* Of measurements that have changed their class, or will: the first ones. */
void vv_write_moves(struct vv_registry *registry, uint32_t tenant, struct vv_buffer *body)
{
    uint32_t classes[VV_CLASSES_OF_TENANT_MAX];
    bool may_have = vv_registry_classes(registry, tenant, classes) > 0;
    uint32_t n = may_have ? vv_registry_measurement_count(registry) : 0;
    size_t written = 0;
    for (uint32_t i = 0; i < n && written < MOVES_MAX; i++) {
        struct vv_move moves[VV_MOVES_MAX];
        bool is_its = vv_registry_measurement_tenant(registry, i) == tenant;
        size_t n_moves = is_its ? vv_registry_moves(registry, i, moves) : 0;
        for (size_t k = 0; k < n_moves && written < MOVES_MAX; k++) {
            vv_buffer_text(body, written == 0 ? ",\"moves\":[" : ",");
            write_move(registry, i, &moves[k], body);
            written++;
        }
    }
    vv_buffer_text(body, written > 0 ? "]" : "");
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

static void add_examples(const struct vv_class_names *names, struct vv_buffer *text)
{
    for (uint64_t i = 0; i < names->n && i < VV_CLASS_EXAMPLES; i++) {
        vv_buffer_text(text, i > 0 ? ", " : "");
        vv_buffer_str(text, names->examples[i]);
    }
    vv_buffer_text(text, names->n > VV_CLASS_EXAMPLES ? ", …" : "");
}

static void note_moved(struct vv_str class, const struct vv_class_effect *effect,
                       struct vv_buffer *notes)
{
    struct vv_buffer text = {0};
    char from[VV_TIME_TEXT_SIZE];
    vv_time_format(effect->moved_from, from);
    vv_buffer_format(&text,
                     "class %.*s: %" PRIu64 " of the tenant's measurements had their first point "
                     "before and change on %.10s (UTC): their points from then on are kept as set "
                     "now, earlier ones stay, and are kept, as before: ",
                     VV_STR_ARG(class), effect->moved.n, from);
    add_examples(&effect->moved, &text);
    if (effect->known_by > 0) {
        vv_time_format(effect->known_by, from);
        vv_buffer_format(&text,
                         " (if all nodes know of it, and of the class, by %.16sZ; else they stay "
                         "where they are. GET /api/v1/tenants shows it)",
                         from);
    }
    vv_changes_add_note(notes, &text);
    vv_buffer_deinit(&text);
}

static void note_elsewhere(struct vv_str class, const struct vv_class_effect *effect,
                           struct vv_buffer *notes)
{
    struct vv_buffer text = {0};
    vv_buffer_format(&text,
                     "class %.*s: %" PRIu64
                     " of the tenant's measurements have changed their class "
                     "as often as they can, and stay where they are: ",
                     VV_STR_ARG(class), effect->elsewhere.n);
    add_examples(&effect->elsewhere, &text);
    vv_changes_add_note(notes, &text);
    vv_buffer_deinit(&text);
}

static void note_awaited(struct vv_str class, struct vv_buffer *notes)
{
    struct vv_buffer text = {0};
    vv_buffer_format(
        &text,
        "class %.*s: it takes nothing before all nodes have said that they know it, as "
        "a rule some seconds later; GET /api/v1/tenants shows \"ready\": false until "
        "then, and what comes before stays in the tenant",
        VV_STR_ARG(class));
    vv_changes_add_note(notes, &text);
    vv_buffer_deinit(&text);
}

static void note_empty(struct vv_str class, struct vv_buffer *notes)
{
    struct vv_buffer text = {0};
    vv_buffer_format(&text, "class %.*s: no measurement is named, so it takes none",
                     VV_STR_ARG(class));
    vv_changes_add_note(notes, &text);
    vv_buffer_deinit(&text);
}

/* VV_REGISTRY_NONE: there is none that is used. */
static uint32_t find_class(struct vv_registry *registry, struct vv_str tenant, struct vv_str name)
{
    uint32_t number;
    if (vv_registry_tenant(registry, tenant, false, &number, NULL) != VV_OK) {
        return VV_REGISTRY_NONE;
    }
    uint32_t class = vv_registry_class(registry, number, name);
    bool is_used = class != VV_REGISTRY_NONE && vv_registry_owner(registry, class) == number;
    return is_used ? class : VV_REGISTRY_NONE;
}

/* What became of the class, as it was before. */
static void note_change(struct vv_engine *engine, uint32_t class, struct vv_str name,
                        const struct vv_retentions *before, struct vv_buffer *notes)
{
    const struct vv_retentions after = vv_engine_retentions(engine, class);
    struct vv_buffer whose = {0};
    vv_buffer_format(&whose, "class %.*s", VV_STR_ARG(name));
    vv_note_retentions(engine, (struct vv_str){(const char *)whose.data, whose.size}, before,
                       &after, notes);
    vv_buffer_deinit(&whose);
}

static enum vv_status apply_class(struct vv_engine *engine, struct vv_str tenant,
                                  struct vv_str name, json_t *object, struct vv_buffer *notes,
                                  struct vv_error *error)
{
    struct vv_buffer patterns = {0};
    struct vv_class_effect effect;
    struct vv_class_wish wish = {.name = name, .retentions = vv_retentions_as_is()};
    struct vv_registry *registry = vv_engine_query_context(engine)->registry;
    uint32_t class = find_class(registry, tenant, name);
    struct vv_retentions before = {0};
    enum vv_status status = parse_class(object, &wish, &patterns, error);
    if (class != VV_REGISTRY_NONE) {
        before = vv_engine_retentions(engine, class);
    }
    if (status == VV_OK) {
        status = vv_engine_set_class(engine, tenant, &wish, &effect, error);
    }
    if (status == VV_OK && effect.moved.n > 0) {
        note_moved(name, &effect, notes);
    }
    if (status == VV_OK && effect.elsewhere.n > 0) {
        note_elsewhere(name, &effect, notes);
    }
    if (status == VV_OK && effect.is_awaited) {
        note_awaited(name, notes);
    }
    if (status == VV_OK && class != VV_REGISTRY_NONE) {
        note_change(engine, class, name, &before, notes);
    }
    class = find_class(registry, tenant, name);
    if (status == VV_OK && class != VV_REGISTRY_NONE &&
        vv_registry_class_patterns(registry, class).size == 0) {
        note_empty(name, notes);
    }
    vv_buffer_deinit(&patterns);
    return status;
}

/* ---- of all of a request ---- */

/* What is wrong with a class whatever else there is; *is_new_out: it would be a new one. */
static enum vv_status check_class(struct vv_registry *registry, uint32_t tenant, struct vv_str name,
                                  json_t *object, bool *is_new_out, struct vv_error *error)
{
    struct vv_buffer patterns = {0};
    struct vv_class_wish wish = {.name = name, .retentions = vv_retentions_as_is()};
    enum vv_status status = parse_class(object, &wish, &patterns, error);
    struct vv_str left = wish.measurements;
    struct vv_str pattern;
    while (status == VV_OK && vv_class_next_pattern(&left, &pattern)) {
        status = vv_class_check_pattern(pattern, error);
    }
    *is_new_out =
        tenant == VV_REGISTRY_NONE || vv_registry_class(registry, tenant, name) == VV_REGISTRY_NONE;
    if (status == VV_OK) {
        status = vv_class_check_name(name, error);
    }
    vv_buffer_deinit(&patterns);
    return status;
}

/* Says which class it is that is refused, and that those before it are not. */
static enum vv_status refuse(struct vv_str class, size_t taken, enum vv_status status,
                             struct vv_error *error)
{
    struct vv_error cause = *error;
    int shown = class.size < 64 ? (int)class.size : 64;
    return taken == 0
               ? vv_error_set(error, status, "class %.*s: %s", shown, class.data, cause.message)
               : vv_error_set(error, status,
                              "class %.*s was not taken, nor those behind it; the %zu in front of "
                              "it were: %s",
                              shown, class.data, taken, cause.message);
}

enum vv_status vv_check_classes(struct vv_registry *registry, struct vv_str tenant, json_t *classes,
                                struct vv_error *error)
{
    uint32_t known[VV_CLASSES_OF_TENANT_MAX];
    uint32_t number;
    struct vv_error ignored = {0};
    bool is_known = vv_registry_tenant(registry, tenant, false, &number, &ignored) == VV_OK;
    number = is_known ? number : VV_REGISTRY_NONE;
    size_t n = is_known ? vv_registry_classes(registry, number, known) : 0;
    size_t n_new = 0;
    const char *name = NULL;
    json_t *object = NULL;
    json_object_foreach(classes, name, object)
    {
        bool is_new = false;
        struct vv_str class = vv_str_of(name);
        enum vv_status status = check_class(registry, number, class, object, &is_new, error);
        if (status != VV_OK) {
            return refuse(class, 0, status, error);
        }
        n_new += is_new;
    }
    return n_new == 0 || n + n_new <= VV_CLASSES_SET_MAX
               ? VV_OK
               : vv_error_set(error, VV_TOO_LARGE,
                              "a tenant has %d classes at most, and with these it would have %zu: "
                              "give some of them more measurements",
                              VV_CLASSES_SET_MAX, n + n_new);
}

enum vv_status vv_apply_classes(struct vv_engine *engine, struct vv_str tenant, json_t *classes,
                                struct vv_buffer *notes, struct vv_error *error)
{
    const char *name = NULL;
    json_t *object = NULL;
    size_t taken = 0;
    json_object_foreach(classes, name, object)
    {
        struct vv_str class = vv_str_of(name);
        enum vv_status status = apply_class(engine, tenant, class, object, notes, error);
        if (status != VV_OK) {
            return refuse(class, taken, status, error);
        }
        taken++;
    }
    return VV_OK;
}
