/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: measurements of a tenant that are kept for a time of their own. A class is a place with
 * spaces as a tenant has (model/space.h); which one a measurement is in is decided when it is made,
 * and stands in its record, as does from which day on it is in another one (moves.c).
 *
 * A new class is journaled before it takes any measurement, its spaces before it, and what it takes
 * at last: wherever the journal ends, a class that is there has the retentions that were asked for
 * with it, and no measurement is in one that is not there. Where nodes share a store, it takes some
 * when all of them know it (fleet/classes.c).
 */
#include "base/log.h"
#include "engine/engine_private.h"
#include "registry/shared.h"

/* Each region would agree on places by itself, and what one has could not be read in another. */
static bool has_regions(const struct vv_engine *engine)
{
    const struct vv_shared_ops *shared = engine->store->ops->shared;
    struct vv_region regions[VV_REGIONS_MAX];
    return shared && shared->regions && shared->regions(engine->store, regions) > 1;
}

static enum vv_status check_regions(const struct vv_engine *engine, struct vv_error *error)
{
    return has_regions(engine)
               ? vv_error_set(error, VV_INVALID,
                              "where there are several regions, measurements can't be kept for "
                              "times of their own (classes): give them a tenant of their own")
               : VV_OK;
}

enum vv_status vv_engine_check_classes(const struct vv_engine *engine, struct vv_error *error)
{
    bool may_have = vv_registry_has_classes(engine->registry) && has_regions(engine);
    uint32_t n = may_have ? vv_registry_tenant_count(engine->registry) : 0;
    for (uint32_t i = 0; i < n; i++) {
        struct vv_str name = vv_registry_tenant_name(engine->registry, i);
        struct vv_str class_name = vv_space_class_name(name);
        if (class_name.size > 0) {
            struct vv_str tenant = vv_space_tenant_name(name);
            return vv_error_set(error, VV_INVALID,
                                "the tenant %.*s has the class %.*s, and nodes of several regions "
                                "(cassandra.regions) can't share classes: keep the one region, or "
                                "move such measurements to a tenant of their own in a new keyspace",
                                VV_STR_ARG(tenant), VV_STR_ARG(class_name));
        }
    }
    if (engine->fleet && vv_fleet_far_classes(engine->fleet) != 0) {
        return vv_error_set(error, VV_INVALID,
                            "another region of this keyspace has classes of measurements, and "
                            "nodes of several regions (cassandra.regions) can't share classes: "
                            "keep the one region, or move such measurements to a tenant of their "
                            "own in a new keyspace");
    }
    return VV_OK;
}

/* What is kept for a retention lies in the table of its class of cassandra.classes. */
static enum vv_status check_table(const struct vv_engine *engine, const struct vv_class_wish *wish,
                                  struct vv_error *error)
{
    int64_t classes_ns[VV_SETTINGS_CLASSES_MAX];
    int64_t kept_ns = wish->retentions.raw_ns;
    size_t n = 0;
    enum vv_status status =
        engine->fleet ? vv_settings_classes(&engine->settings, classes_ns, &n, error) : VV_OK;
    if (status != VV_OK || kept_ns <= 0 || n == 0 || kept_ns <= classes_ns[n - 1]) {
        return status;
    }
    return vv_error_set(error, VV_INVALID,
                        "the class would be kept for %d days, and no class of cassandra.classes "
                        "is as long: add one on all nodes and run 'varve schema --apply', keep "
                        "it for less, or for ever",
                        (int)(kept_ns / VV_DAY));
}

static bool has_pattern(struct vv_str patterns, struct vv_str wanted)
{
    struct vv_str pattern;
    while (vv_class_next_pattern(&patterns, &pattern)) {
        if (vv_str_equal(pattern, wanted)) {
            return true;
        }
    }
    return false;
}

/* One pattern in two classes would leave open which of them counts. */
static enum vv_status check_pattern(struct vv_engine *engine, uint32_t tenant, uint32_t class,
                                    struct vv_str pattern, struct vv_error *error)
{
    uint32_t classes[VV_CLASSES_OF_TENANT_MAX];
    size_t n = vv_registry_classes(engine->registry, tenant, classes);
    enum vv_status status = vv_class_check_pattern(pattern, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        bool has = classes[i] != class &&
                   has_pattern(vv_registry_class_patterns(engine->registry, classes[i]), pattern);
        if (has) {
            struct vv_str other =
                vv_space_class_name(vv_registry_tenant_name(engine->registry, classes[i]));
            status = vv_error_set(
                error, VV_INVALID, "'%.*s' is taken by the class %.*s: leave it out of one of them",
                (int)(pattern.size < 128 ? pattern.size : 128), pattern.data, VV_STR_ARG(other));
        }
    }
    return status;
}

static enum vv_status check_measurements(struct vv_engine *engine, uint32_t tenant, uint32_t class,
                                         const struct vv_class_wish *wish, struct vv_error *error)
{
    struct vv_str left = wish->measurements;
    struct vv_str pattern;
    size_t n = 0;
    enum vv_status status = VV_OK;
    if (left.size > VV_CLASS_PATTERNS_BYTES_MAX) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "the names of a class have %d bytes at most in all: use '*'",
                            VV_CLASS_PATTERNS_BYTES_MAX);
    }
    while (status == VV_OK && vv_class_next_pattern(&left, &pattern)) {
        if (++n > VV_CLASS_PATTERNS_MAX) {
            return vv_error_set(error, VV_TOO_LARGE, "a class has %d measurements at most: use '*'",
                                VV_CLASS_PATTERNS_MAX);
        }
        status = check_pattern(engine, tenant, class, pattern, error);
    }
    vv_invariant(status != VV_OK || left.size == 0);
    return status;
}

/* ---- making one ---- */

static int64_t pick(int64_t wanted_ns, int64_t otherwise_ns)
{
    return wanted_ns == VV_RETENTION_AS_IS ? otherwise_ns : wanted_ns;
}

/* What a new class is not told is as its tenant has it. */
static void complete(const struct vv_engine *engine, uint32_t tenant,
                     struct vv_retentions *retentions)
{
    struct vv_retentions present = vv_engine_retentions(engine, tenant);
    retentions->raw_ns = pick(retentions->raw_ns, present.raw_ns);
    for (int i = 0; i < VV_SPACES; i++) {
        retentions->tiers_ns[i] = pick(retentions->tiers_ns[i], present.tiers_ns[i]);
    }
}

/* Its spaces first, as for a tenant. */
static enum vv_status journal_class(struct vv_engine *engine, uint32_t tenant, uint32_t class,
                                    struct vv_error *error)
{
    struct vv_batch *batch = NULL;
    uint32_t late;
    enum vv_status status = VV_OK;
    if (vv_registry_late(engine->registry, tenant).policy == VV_LATE_SEPARATE) {
        status = vv_registry_space(engine->registry, class, VV_SPACE_LATE, true, &late, error);
    }
    if (status != VV_OK) {
        return status;
    }
    status = vv_batch_create(tenant, &batch);
    if (status == VV_OK) {
        status = vv_registry_define_tenant(engine->registry, class, batch);
    }
    return vv_engine_journal_made(engine, status, batch, error);
}

static enum vv_status check_room(struct vv_engine *engine, uint32_t tenant, struct vv_error *error)
{
    uint32_t known[VV_CLASSES_OF_TENANT_MAX];
    return vv_registry_classes(engine->registry, tenant, known) < VV_CLASSES_SET_MAX
               ? VV_OK
               : vv_error_set(error, VV_TOO_LARGE,
                              "a tenant has %d classes at most: give one of them more measurements",
                              VV_CLASSES_SET_MAX);
}

/* One that is not settled is not used by anybody: what was tried with it before is overwritten. But
 * it counts as one that there may be, so what can be known not to work is not tried. */
static enum vv_status find_or_make(struct vv_engine *engine, uint32_t tenant,
                                   struct vv_class_wish *wish, uint32_t *class_out,
                                   struct vv_error *error)
{
    struct vv_registry *registry = engine->registry;
    *class_out = vv_registry_class(registry, tenant, wish->name);
    if (*class_out != VV_REGISTRY_NONE && vv_registry_owner(registry, *class_out) == tenant) {
        return VV_OK; /* it was settled once, and has retentions of its own since */
    }
    complete(engine, tenant, &wish->retentions);
    enum vv_status status = check_room(engine, tenant, error);
    if (status == VV_OK) {
        status = vv_engine_check_retentions(engine, &wish->retentions,
                                            vv_registry_late(registry, tenant), error);
    }
    if (status == VV_OK) {
        status = vv_registry_make_class(registry, tenant, wish->name, wish->retentions.raw_ns,
                                        class_out, error);
    }
    if (status == VV_OK) {
        status = vv_engine_begin_retentions(engine, *class_out, &wish->retentions, error);
    }
    return status == VV_OK ? journal_class(engine, tenant, *class_out, error) : status;
}

/* ---- what it takes ---- */

static enum vv_status set_measurements(struct vv_engine *engine, uint32_t tenant, uint32_t class,
                                       struct vv_str measurements, struct vv_error *error)
{
    struct vv_registry *registry = engine->registry;
    struct vv_str before = vv_registry_class_patterns(registry, class);
    enum vv_status status = vv_registry_set_class_patterns(registry, class, measurements, error);
    if (status == VV_OK) {
        status = journal_class(engine, tenant, class, error);
    }
    if (status != VV_OK && status != VV_UNKNOWN &&
        vv_registry_set_class_patterns(registry, class, before, NULL) != VV_OK) {
        vv_log(VV_LOG_WARN, "class_not_set_back", "message=\"out of memory\"");
    }
    return status;
}

static enum vv_status set_class(struct vv_engine *engine, uint32_t tenant,
                                struct vv_class_wish *wish, struct vv_error *error)
{
    uint32_t class = vv_registry_class(engine->registry, tenant, wish->name);
    enum vv_status status = check_measurements(engine, tenant, class, wish, error);
    if (status == VV_OK) {
        status = find_or_make(engine, tenant, wish, &class, error);
    }
    if (status == VV_OK) {
        status = vv_engine_change_retentions(engine, class, &wish->retentions, error);
    }
    if (status == VV_OK && wish->has_measurements) {
        status = set_measurements(engine, tenant, class, wish->measurements, error);
    }
    return status;
}

enum vv_status vv_engine_set_class(struct vv_engine *engine, struct vv_str tenant,
                                   const struct vv_class_wish *wish,
                                   struct vv_class_effect *effect_out, struct vv_error *error)
{
    uint32_t number = VV_REGISTRY_NONE;
    struct vv_class_wish completed = *wish;
    *effect_out = (struct vv_class_effect){0};
    pthread_mutex_lock(&engine->retentions_lock);
    enum vv_status status = check_regions(engine, error);
    if (status == VV_OK) {
        status = check_table(engine, wish, error);
    }
    if (status == VV_OK) {
        status = vv_engine_create_tenant(engine, tenant, error);
    }
    if (status == VV_OK) {
        status = vv_registry_tenant(engine->registry, tenant, false, &number, error);
    }
    if (status == VV_OK) {
        status = set_class(engine, number, &completed, error);
    }
    if (status == VV_OK) {
        uint32_t class = vv_registry_class(engine->registry, number, wish->name);
        if (wish->has_measurements) {
            status = vv_engine_move_measurements(engine, number, class, effect_out, error);
        }
        effect_out->is_awaited = !vv_registry_class_is_ready(engine->registry, class);
    }
    pthread_mutex_unlock(&engine->retentions_lock);
    return status;
}
