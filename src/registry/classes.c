/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of a tenant: places with retentions and tiers of their own, and which measurements go
 * there. Made and changed under the tenants' lock, looked up without one. Patterns are one text,
 * with a line feed behind each: no name of a measurement has one.
 */
#include "registry/registry_private.h"
#include "registry/text.h"

static struct vv_str place_name(struct vv_str tenant, struct vv_str class_name,
                                char room[VV_SPACE_NAME_MAX])
{
    memcpy(room, tenant.data, tenant.size);
    memcpy(room + tenant.size, "/@", 2);
    memcpy(room + tenant.size + 2, class_name.data, class_name.size);
    return (struct vv_str){room, tenant.size + 2 + class_name.size};
}

uint32_t vv_registry_class(struct vv_registry *registry, uint32_t tenant, struct vv_str name)
{
    char room[VV_SPACE_NAME_MAX];
    return vv_space_is_class_name(name)
               ? vv_tenant_find(registry,
                                place_name(vv_registry_tenant_name(registry, tenant), name, room))
               : VV_REGISTRY_NONE;
}

static uint32_t first_of(const struct vv_tenant *tenant)
{
    return tenant ? atomic_load_explicit(&tenant->class_first, memory_order_acquire) : 0;
}

size_t vv_registry_classes(struct vv_registry *registry, uint32_t tenant,
                           uint32_t classes_out[VV_CLASSES_OF_TENANT_MAX])
{
    size_t n = 0;
    uint32_t next = first_of(vv_tenant_at(registry, tenant));
    while (next > 0 && n < VV_CLASSES_OF_TENANT_MAX) {
        classes_out[n++] = next - 1;
        next = vv_tenant_at(registry, next - 1)->class_next;
    }
    return n;
}

void vv_class_link(struct vv_registry *registry, uint32_t tenant, uint32_t number)
{
    struct vv_tenant *linked = vv_tenant_at(registry, number);
    struct vv_tenant *owner = vv_tenant_at(registry, tenant);
    if (atomic_load_explicit(&linked->owner, memory_order_relaxed) > 0) {
        return;
    }
    atomic_store_explicit(&linked->space, VV_SPACES_ALL, memory_order_relaxed);
    linked->class_next = first_of(owner);
    atomic_store_explicit(&linked->owner, tenant + 1, memory_order_release);
    atomic_store_explicit(&owner->class_first, number + 1, memory_order_release);
}

enum vv_status vv_class_check_name(struct vv_str name, struct vv_error *error)
{
    return vv_space_is_class_name(name)
               ? VV_OK
               : vv_error_set(error, VV_INVALID,
                              "the name of a class has 1 to %d letters, digits, '_', '-' and '.'",
                              VV_CLASS_NAME_MAX);
}

enum vv_status vv_registry_make_class(struct vv_registry *registry, uint32_t tenant,
                                      struct vv_str name, int64_t retention_ns, uint32_t *class_out,
                                      struct vv_error *error)
{
    char room[VV_SPACE_NAME_MAX];
    uint32_t known[VV_CLASSES_OF_TENANT_MAX];
    *class_out = vv_registry_class(registry, tenant, name);
    if (*class_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    enum vv_status status = vv_class_check_name(name, error);
    if (status != VV_OK) {
        return status;
    }
    if (vv_registry_classes(registry, tenant, known) == VV_CLASSES_OF_TENANT_MAX) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "a tenant has %d classes at most: give one of them more measurements",
                            VV_CLASSES_OF_TENANT_MAX);
    }
    struct vv_str full = place_name(vv_registry_tenant_name(registry, tenant), name, room);
    return vv_tenant_make(registry, full, retention_ns, class_out, error);
}

/* ---- patterns ---- */

static struct vv_str patterns_of(struct vv_tenant *place)
{
    return place ? vv_text_str(atomic_load_explicit(&place->patterns, memory_order_acquire))
                 : (struct vv_str){"", 0};
}

struct vv_str vv_registry_class_patterns(struct vv_registry *registry, uint32_t number)
{
    return patterns_of(vv_tenant_at(registry, number));
}

bool vv_class_next_pattern(struct vv_str *patterns, struct vv_str *pattern_out)
{
    const char *end = patterns->size > 0 ? memchr(patterns->data, '\n', patterns->size) : NULL;
    if (!end) {
        return false;
    }
    *pattern_out = (struct vv_str){patterns->data, (size_t)(end - patterns->data)};
    size_t taken = pattern_out->size + 1;
    *patterns = (struct vv_str){patterns->data + taken, patterns->size - taken};
    return true;
}

/* Once, at the end. */
static bool has_star(struct vv_str pattern)
{
    return pattern.size > 0 && pattern.data[pattern.size - 1] == '*';
}

enum vv_status vv_class_check_pattern(struct vv_str pattern, struct vv_error *error)
{
    const char *star = pattern.size > 0 ? memchr(pattern.data, '*', pattern.size) : NULL;
    if (star && star != pattern.data + pattern.size - 1) {
        struct vv_str shown = vv_text_cut(pattern, 128);
        return vv_error_set(error, VV_INVALID,
                            "'%.*s': a class takes names of measurements, or how they begin, with "
                            "one '*' at the end",
                            VV_STR_ARG(shown));
    }
    return vv_name_check(pattern, VV_NAME_BYTES_MAX, "the measurement's name", error);
}

bool vv_class_patterns_are_good(struct vv_str patterns)
{
    struct vv_str left = patterns;
    struct vv_str pattern;
    size_t n = 0;
    while (vv_class_next_pattern(&left, &pattern)) {
        if (++n > VV_CLASS_PATTERNS_MAX || vv_class_check_pattern(pattern, NULL) != VV_OK) {
            return false;
        }
    }
    return left.size == 0;
}

/* How well a pattern fits: 0: not; the more of the name it says the better, all of it best. */
static size_t fit_of(struct vv_str pattern, struct vv_str name)
{
    if (!has_star(pattern)) {
        return vv_str_equal(pattern, name) ? VV_NAME_BYTES_MAX + 2 : 0;
    }
    size_t said = pattern.size - 1;
    bool fits = said <= name.size && memcmp(pattern.data, name.data, said) == 0;
    return fits ? said + 1 : 0;
}

uint32_t vv_registry_match_class(struct vv_registry *registry, uint32_t tenant, struct vv_str name)
{
    uint32_t best = tenant;
    size_t best_fit = 0;
    uint32_t next = first_of(vv_tenant_at(registry, tenant));
    while (next > 0) {
        struct vv_tenant *place = vv_tenant_at(registry, next - 1);
        struct vv_str patterns = patterns_of(place);
        struct vv_str pattern;
        while (vv_class_next_pattern(&patterns, &pattern)) {
            size_t fit = fit_of(pattern, name);
            best = fit > best_fit ? next - 1 : best;
            best_fit = fit > best_fit ? fit : best_fit;
        }
        next = place->class_next;
    }
    return best;
}

enum vv_status vv_class_keep_patterns(struct vv_registry *registry, uint32_t number,
                                      struct vv_str patterns)
{
    struct vv_tenant *place = vv_tenant_at(registry, number);
    struct vv_text *kept = vv_registry_keep_text(registry, patterns);
    if (!kept) {
        return VV_NO_MEMORY;
    }
    atomic_store_explicit(&place->patterns, kept, memory_order_release);
    return VV_OK;
}

enum vv_status vv_registry_set_class_patterns(struct vv_registry *registry, uint32_t number,
                                              struct vv_str patterns, struct vv_error *error)
{
    struct vv_tenant *place = vv_tenant_at(registry, number);
    if (!place || vv_str_equal(patterns_of(place), patterns)) {
        return VV_OK;
    }
    enum vv_status status = vv_registry_check_room(registry, error);
    if (status != VV_OK) {
        return status;
    }
    pthread_mutex_lock(&registry->tenants.lock);
    status = vv_class_keep_patterns(registry, number, patterns);
    if (status == VV_OK) {
        vv_state_change(&place->state);
    }
    pthread_mutex_unlock(&registry->tenants.lock);
    return status == VV_OK ? VV_OK : vv_error_set(error, status, "out of memory: try again later");
}

/* ---- places ---- */

uint32_t vv_registry_place(struct vv_registry *registry, uint32_t number)
{
    const struct vv_measurement *measurement = vv_measurement_at(registry, number);
    return measurement ? measurement->place : VV_REGISTRY_NONE;
}

uint32_t vv_registry_place_named(struct vv_registry *registry, uint32_t tenant, struct vv_str name)
{
    uint32_t measurement = vv_measurement_find(registry, tenant, name);
    return measurement != VV_REGISTRY_NONE ? vv_registry_place(registry, measurement)
                                           : vv_registry_match_class(registry, tenant, name);
}

size_t vv_registry_places(struct vv_registry *registry, uint32_t tenant,
                          uint32_t places_out[VV_PLACES_MAX])
{
    places_out[0] = tenant;
    return 1 + vv_registry_classes(registry, tenant, places_out + 1);
}

/* 0 is for ever, which is longest. */
static int64_t longer_of(int64_t a_ns, int64_t b_ns)
{
    return a_ns == 0 || b_ns == 0 ? 0 : a_ns > b_ns ? a_ns : b_ns;
}

int64_t vv_registry_longest_retention(struct vv_registry *registry, uint32_t tenant)
{
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(registry, tenant, places);
    int64_t longest_ns = vv_registry_retention(registry, tenant);
    for (size_t i = 1; i < n; i++) {
        longest_ns = longer_of(longest_ns, vv_registry_retention(registry, places[i]));
    }
    return longest_ns;
}

/* An eighth of a retention: what expires at once is that much of it. */
static int64_t eighth_of(int64_t retention_ns, int64_t least_ns)
{
    int64_t eighth_ns = retention_ns / 8;
    return eighth_ns > 0 && eighth_ns < least_ns ? least_ns : eighth_ns;
}

int64_t vv_registry_bucket_max(struct vv_registry *registry, uint32_t tenant)
{
    uint32_t places[VV_PLACES_MAX];
    size_t n = vv_registry_places(registry, tenant, places);
    int64_t most_ns = eighth_of(vv_registry_retention(registry, tenant), VV_BUCKET_NS_MIN);
    for (size_t i = 1; i < n; i++) {
        int64_t class_ns = eighth_of(vv_registry_retention(registry, places[i]), VV_DAY);
        bool is_less = class_ns > 0 && (most_ns == 0 || class_ns < most_ns);
        most_ns = is_less ? class_ns : most_ns;
    }
    return most_ns;
}
