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

/* Under the tenants' lock. Whoever is asked for the tenant's classes from now on knows of it. */
void vv_class_count(struct vv_registry *registry, struct vv_str name)
{
    if (vv_space_class_name(name).size == 0) {
        return;
    }
    atomic_store_explicit(&registry->has_classes, true, memory_order_release);
    uint32_t tenant = vv_tenant_find(registry, vv_space_tenant_name(name));
    struct vv_tenant *owner = tenant != VV_REGISTRY_NONE ? vv_tenant_at(registry, tenant) : NULL;
    if (!owner) {
        atomic_store_explicit(&registry->has_stray_classes, true, memory_order_release);
        return;
    }
    bool is_class = vv_space_place_name(name).size == name.size;
    atomic_fetch_add_explicit(&owner->n_classes, is_class, memory_order_relaxed);
    atomic_store_explicit(&owner->may_have_classes, true, memory_order_release);
}

static uint32_t count_of(struct vv_registry *registry, uint32_t tenant)
{
    struct vv_tenant *owner = vv_tenant_at(registry, tenant);
    return owner ? atomic_load_explicit(&owner->n_classes, memory_order_acquire) : 0;
}

bool vv_registry_may_have_classes(struct vv_registry *registry, uint32_t tenant)
{
    struct vv_tenant *owner = vv_tenant_at(registry, tenant);
    return (owner && atomic_load_explicit(&owner->may_have_classes, memory_order_acquire)) ||
           atomic_load_explicit(&registry->has_stray_classes, memory_order_acquire);
}

bool vv_registry_has_classes(struct vv_registry *registry)
{
    return atomic_load_explicit(&registry->has_classes, memory_order_acquire);
}

uint32_t vv_registry_class_count(struct vv_registry *registry)
{
    return atomic_load_explicit(&registry->n_linked, memory_order_acquire);
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
    atomic_fetch_add_explicit(&registry->n_linked, 1, memory_order_release);
}

enum vv_status vv_class_check_name(struct vv_str name, struct vv_error *error)
{
    return vv_space_is_class_name(name)
               ? VV_OK
               : vv_error_set(error, VV_INVALID,
                              "the name of a class has 1 to %d letters, digits, '_', '-' and '.'",
                              VV_CLASS_NAME_MAX);
}

static enum vv_status find_or_make(struct vv_registry *registry, uint32_t tenant,
                                   struct vv_str name, int64_t retention_ns, uint32_t *class_out,
                                   struct vv_error *error)
{
    char room[VV_SPACE_NAME_MAX];
    *class_out = vv_registry_class(registry, tenant, name);
    if (*class_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    enum vv_status status = vv_class_check_name(name, error);
    if (status != VV_OK) {
        return status;
    }
    if (count_of(registry, tenant) >= VV_CLASSES_OF_TENANT_MAX) {
        return vv_error_set(error, VV_TOO_LARGE, "a tenant has %d classes at most",
                            VV_CLASSES_OF_TENANT_MAX);
    }
    struct vv_str full = place_name(vv_registry_tenant_name(registry, tenant), name, room);
    return vv_tenant_make(registry, full, retention_ns, class_out, error);
}

enum vv_status vv_registry_make_class(struct vv_registry *registry, uint32_t tenant,
                                      struct vv_str name, int64_t retention_ns, uint32_t *class_out,
                                      struct vv_error *error)
{
    enum vv_status status = find_or_make(registry, tenant, name, retention_ns, class_out, error);
    if (status == VV_OK) { /* of two nodes that make it the later one has chosen */
        vv_retention_begin(registry, *class_out, retention_ns);
    }
    return status;
}

enum vv_status vv_registry_learn_class(struct vv_registry *registry, uint32_t tenant,
                                       struct vv_str name, uint32_t *class_out,
                                       struct vv_error *error)
{
    return find_or_make(registry, tenant, name, 0, class_out, error);
}

bool vv_registry_class_is_told(struct vv_registry *registry, uint32_t number)
{
    int64_t retention_ns;
    vv_stamp stamp;
    vv_registry_stamped_retention(registry, number, &retention_ns, &stamp);
    struct vv_str name = vv_registry_tenant_name(registry, number);
    bool is_class =
        vv_space_class_name(name).size > 0 && vv_space_place_name(name).size == name.size;
    return !is_class || stamp > 0 || retention_ns > 0 ||
           vv_registry_class_patterns(registry, number).size > 0;
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

bool vv_registry_class_is_ready(struct vv_registry *registry, uint32_t number)
{
    struct vv_tenant *place = vv_tenant_at(registry, number);
    return !vv_registry_is_shared(registry) ||
           (place && atomic_load_explicit(&place->is_ready, memory_order_acquire));
}

void vv_registry_set_class_ready(struct vv_registry *registry, uint32_t number)
{
    atomic_store_explicit(&vv_tenant_at(registry, number)->is_ready, true, memory_order_release);
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

/* Under the tenants' lock. */
static enum vv_status set_patterns(struct vv_registry *registry, uint32_t number,
                                   struct vv_str patterns, vv_stamp stamp)
{
    struct vv_tenant *place = vv_tenant_at(registry, number);
    enum vv_status status = vv_class_keep_patterns(registry, number, patterns);
    if (status == VV_OK) {
        place->patterns_stamp = stamp;
        vv_state_change(&place->state);
    }
    return status;
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
    status = set_patterns(registry, number, patterns,
                          vv_registry_stamp_above(registry, place->patterns_stamp));
    pthread_mutex_unlock(&registry->tenants.lock);
    return status == VV_OK ? VV_OK : vv_error_set(error, status, "out of memory: try again later");
}

struct vv_str vv_registry_stamped_patterns(struct vv_registry *registry, uint32_t number,
                                           vv_stamp *stamp_out)
{
    struct vv_tenant *place = vv_tenant_at(registry, number);
    struct vv_str patterns = {"", 0};
    *stamp_out = 0;
    if (place) {
        pthread_mutex_lock(&registry->tenants.lock);
        patterns = patterns_of(place);
        *stamp_out = place->patterns_stamp;
        pthread_mutex_unlock(&registry->tenants.lock);
    }
    return patterns;
}

static bool is_later(struct vv_str a, struct vv_str b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;
    return order != 0 ? order > 0 : a.size > b.size;
}

enum vv_status vv_registry_learn_patterns(struct vv_registry *registry, uint32_t number,
                                          struct vv_str patterns, vv_stamp stamp,
                                          struct vv_error *error)
{
    struct vv_tenant *place = vv_tenant_at(registry, number);
    if (!place || !vv_class_patterns_are_good(patterns)) {
        return vv_error_set(error, VV_INVALID, "what a class takes is damaged");
    }
    enum vv_status status = vv_registry_check_room(registry, error);
    pthread_mutex_lock(&registry->tenants.lock);
    bool is_newer = stamp > place->patterns_stamp ||
                    (stamp == place->patterns_stamp && is_later(patterns, patterns_of(place)));
    if (is_newer && status == VV_OK) {
        status = set_patterns(registry, number, patterns, stamp);
    }
    pthread_mutex_unlock(&registry->tenants.lock);
    return is_newer ? status : VV_OK;
}
