/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements and metrics: made under the metrics' lock, found without one. */
#include "registry/registry_private.h"
#include "registry/text.h"

#define METRIC_NAME_BYTES_MAX (2 * VV_NAME_BYTES_MAX + 1)

struct wanted {
    struct vv_registry *registry;
    uint32_t owner; /* tenant or measurement */
    struct vv_str name;
};

static bool is_measurement(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    struct vv_measurement *measurement = vv_measurement_at(wanted->registry, number);
    return measurement && measurement->tenant == wanted->owner &&
           vv_str_equal(vv_text_str(measurement->name), wanted->name);
}

static bool is_metric(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    struct vv_metric *metric = vv_metric_at(wanted->registry, number);
    return metric && metric->tenant == wanted->owner &&
           vv_str_equal(vv_text_str(metric->name), wanted->name);
}

static struct vv_str field_of(const struct vv_metric *metric)
{
    struct vv_str name = vv_text_str(metric->name);
    return (struct vv_str){name.data + metric->field_at, name.size - metric->field_at};
}

static bool is_field(const void *context, uint32_t number)
{
    const struct wanted *wanted = context;
    struct vv_metric *metric = vv_metric_at(wanted->registry, number);
    return metric && metric->measurement == wanted->owner &&
           vv_str_equal(field_of(metric), wanted->name);
}

uint32_t vv_measurement_find(struct vv_registry *registry, uint32_t tenant, struct vv_str name)
{
    struct wanted wanted = {registry, tenant, name};
    return vv_names_find(&registry->measurement_names, vv_registry_hash(registry, tenant, name),
                         is_measurement, &wanted);
}

uint32_t vv_registry_metric_named(struct vv_registry *registry, uint32_t tenant, struct vv_str name)
{
    struct wanted wanted = {registry, tenant, name};
    return vv_names_find(&registry->metric_names, vv_registry_hash(registry, tenant, name),
                         is_metric, &wanted);
}

static uint32_t find_field(struct vv_registry *registry, uint32_t measurement, struct vv_str field)
{
    struct wanted wanted = {registry, measurement, field};
    return vv_names_find(&registry->metric_fields, vv_registry_hash(registry, measurement, field),
                         is_field, &wanted);
}

/* Whether one more measurement or metric is allowed, and its number. */
static enum vv_status next_number(struct vv_registry *registry, const struct vv_objects *objects,
                                  uint32_t *number_out, struct vv_error *error)
{
    uint32_t live =
        atomic_load(&registry->measurements.live) + atomic_load(&registry->metrics.live);
    *number_out = vv_objects_end(objects);
    if (live >= registry->metrics.limit || !vv_objects_can_hold(objects, *number_out)) {
        return vv_error_set(error, VV_TOO_LARGE,
                            "there are %u measurements and metrics, which is the limit: raise it, "
                            "or send fewer different fields",
                            (unsigned)live);
    }
    return vv_registry_check_room(registry, error);
}

void vv_measurement_place(struct vv_registry *registry, struct vv_measurement *measurement,
                          uint32_t place, bool is_placed)
{
    bool was_placed = atomic_load_explicit(&measurement->is_placed, memory_order_relaxed);
    atomic_store_explicit(&measurement->place, place, memory_order_relaxed);
    atomic_store_explicit(&measurement->is_placed, is_placed, memory_order_release);
    if (was_placed != is_placed) {
        atomic_fetch_add_explicit(&registry->n_unplaced, is_placed ? UINT32_MAX : 1,
                                  memory_order_relaxed);
    }
}

enum vv_status vv_measurement_add(struct vv_registry *registry, uint32_t number, uint32_t tenant,
                                  uint32_t place, bool is_placed, struct vv_str name,
                                  uint64_t state)
{
    struct vv_objects *measurements = &registry->measurements;
    struct vv_measurement *measurement = vv_objects_room(measurements, number);
    if (!measurement || !vv_names_reserve(&registry->measurement_names)) {
        return VV_NO_MEMORY;
    }
    struct vv_text *kept = vv_registry_keep_text(registry, name);
    if (!kept) {
        return VV_NO_MEMORY;
    }
    measurement->tenant = tenant;
    atomic_store_explicit(&measurement->is_placed, true, memory_order_relaxed);
    vv_measurement_place(registry, measurement, place, is_placed);
    atomic_store_explicit(&measurement->state, state, memory_order_relaxed);
    atomic_store_explicit(&measurement->name, kept, memory_order_release);
    vv_objects_use(measurements, number);
    atomic_fetch_add_explicit(&measurements->live, 1, memory_order_relaxed);
    vv_names_add(&registry->measurement_names, vv_registry_hash(registry, tenant, name), number);
    return VV_OK;
}

static enum vv_status create_measurement(struct vv_registry *registry, uint32_t tenant,
                                         struct vv_str name, uint32_t *measurement_out,
                                         struct vv_error *error)
{
    *measurement_out = vv_measurement_find(registry, tenant, name);
    if (*measurement_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    uint32_t number = 0;
    enum vv_status status = next_number(registry, &registry->measurements, &number, error);
    if (status == VV_OK) {
        uint32_t place = vv_registry_match_class(registry, tenant, name);
        bool is_placed = !vv_registry_is_shared(registry); /* else it is a wish, to be agreed on */
        status = vv_measurement_add(registry, number, tenant, place, is_placed, name, 1 << 1);
    }
    *measurement_out = status == VV_OK ? number : VV_REGISTRY_NONE;
    return status;
}

enum vv_status vv_registry_measurement(struct vv_registry *registry, uint32_t tenant,
                                       struct vv_str name, bool create, uint32_t *measurement_out,
                                       struct vv_error *error)
{
    *measurement_out = vv_measurement_find(registry, tenant, name);
    if (*measurement_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    enum vv_status status = vv_name_check(name, VV_NAME_BYTES_MAX, "the measurement's name", error);
    if (status != VV_OK) {
        return status;
    }
    if (!create || !vv_tenant_at(registry, tenant)) {
        struct vv_str shown = vv_text_cut(name, 128);
        return vv_error_set(error, VV_NOT_FOUND, "there is no measurement '%.*s'",
                            VV_STR_ARG(shown));
    }
    pthread_mutex_lock(&registry->metrics.lock);
    status = create_measurement(registry, tenant, name, measurement_out, error);
    pthread_mutex_unlock(&registry->metrics.lock);
    return status;
}

struct vv_str vv_registry_measurement_name(struct vv_registry *registry, uint32_t number)
{
    struct vv_measurement *measurement = vv_measurement_at(registry, number);
    return vv_text_str(measurement ? measurement->name : NULL);
}

uint32_t vv_registry_measurement_count(struct vv_registry *registry)
{
    return vv_objects_end(&registry->measurements);
}

uint32_t vv_registry_measurement_tenant(struct vv_registry *registry, uint32_t number)
{
    const struct vv_measurement *measurement = vv_measurement_at(registry, number);
    return measurement ? measurement->tenant : VV_REGISTRY_NONE;
}

/* Fills a metric that nobody sees yet, and shows it. */
static void publish_metric(struct vv_registry *registry, struct vv_metric *metric, uint32_t number,
                           struct vv_text *name, uint64_t state)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, metric->tenant);
    metric->next = atomic_load_explicit(&tenant->metric_last, memory_order_relaxed);
    atomic_store_explicit(&metric->state, state, memory_order_relaxed);
    atomic_store_explicit(&metric->name, name, memory_order_release);
    atomic_store_explicit(&tenant->metric_last, number + 1, memory_order_release);
    vv_objects_use(&registry->metrics, number);
    atomic_fetch_add_explicit(&registry->metrics.live, 1, memory_order_relaxed);
}

enum vv_status vv_metric_add(struct vv_registry *registry, uint32_t number, uint32_t measurement,
                             struct vv_str field, enum vv_value_type type, uint64_t state,
                             struct vv_error *error)
{
    struct vv_measurement *owner = vv_measurement_at(registry, measurement);
    struct vv_str prefix = vv_text_str(owner->name);
    char joined[METRIC_NAME_BYTES_MAX];
    struct vv_str name = {joined, prefix.size + 1 + field.size};
    memcpy(joined, prefix.data, prefix.size);
    joined[prefix.size] = '.';
    memcpy(joined + prefix.size + 1, field.data, field.size);
    if (vv_registry_metric_named(registry, owner->tenant, name) != VV_REGISTRY_NONE) {
        struct vv_str shown = vv_text_cut(name, 256);
        return vv_error_set(error, VV_EXISTS,
                            "another measurement has a metric with the name '%.*s' already: rename "
                            "the measurement or the field",
                            VV_STR_ARG(shown));
    }
    struct vv_metric *metric = vv_objects_room(&registry->metrics, number);
    if (!metric || !vv_names_reserve(&registry->metric_names) ||
        !vv_names_reserve(&registry->metric_fields)) {
        return VV_NO_MEMORY;
    }
    struct vv_text *kept = vv_registry_keep_text(registry, name);
    if (!kept) {
        return VV_NO_MEMORY;
    }
    metric->tenant = owner->tenant;
    metric->measurement = measurement;
    metric->field_at = (uint32_t)prefix.size + 1;
    metric->rank = atomic_fetch_add_explicit(&owner->n_metrics, 1, memory_order_relaxed);
    atomic_store_explicit(&metric->type, type, memory_order_relaxed);
    publish_metric(registry, metric, number, kept, state);
    vv_names_add(&registry->metric_names, vv_registry_hash(registry, owner->tenant, name), number);
    vv_names_add(&registry->metric_fields, vv_registry_hash(registry, measurement, field), number);
    return VV_OK;
}

static enum vv_status create_metric(struct vv_registry *registry, uint32_t measurement,
                                    struct vv_str field, enum vv_value_type type,
                                    uint32_t *metric_out, struct vv_error *error)
{
    *metric_out = find_field(registry, measurement, field);
    if (*metric_out != VV_REGISTRY_NONE) {
        return VV_OK;
    }
    uint32_t number = 0;
    enum vv_status status = next_number(registry, &registry->metrics, &number, error);
    if (status == VV_OK) {
        status = vv_metric_add(registry, number, measurement, field, type, 1 << 1, error);
    }
    *metric_out = status == VV_OK ? number : VV_REGISTRY_NONE;
    return status;
}

static enum vv_status find_or_create(struct vv_registry *registry, uint32_t measurement,
                                     struct vv_str field, enum vv_value_type type, bool create,
                                     uint32_t *metric_out, struct vv_error *error)
{
    enum vv_status status = vv_name_check(field, VV_NAME_BYTES_MAX, "the field's name", error);
    if (status != VV_OK) {
        return status;
    }
    if (!create || !vv_measurement_at(registry, measurement)) {
        struct vv_str shown = vv_text_cut(field, 128);
        return vv_error_set(error, VV_NOT_FOUND, "the measurement has no field '%.*s'",
                            VV_STR_ARG(shown));
    }
    pthread_mutex_lock(&registry->metrics.lock);
    status = create_metric(registry, measurement, field, type, metric_out, error);
    pthread_mutex_unlock(&registry->metrics.lock);
    return status;
}

enum vv_status vv_registry_metric(struct vv_registry *registry, uint32_t measurement,
                                  struct vv_str field, enum vv_value_type type, bool create,
                                  uint32_t *metric_out, enum vv_value_type *type_out,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    *metric_out = find_field(registry, measurement, field);
    if (*metric_out == VV_REGISTRY_NONE) {
        status = find_or_create(registry, measurement, field, type, create, metric_out, error);
    }
    if (status == VV_OK) {
        *type_out = vv_metric_type(vv_metric_at(registry, *metric_out));
    }
    return status;
}

void vv_metric_widen(struct vv_metric *metric)
{
    atomic_store_explicit(&metric->type, VV_FLOAT64, memory_order_release);
}

enum vv_status vv_registry_metric_widen(struct vv_registry *registry, uint32_t number,
                                        struct vv_error *error)
{
    struct vv_metric *metric = vv_metric_at(registry, number);
    if (!metric) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such metric");
    }
    pthread_mutex_lock(&registry->metrics.lock);
    if (vv_metric_type(metric) == VV_INT64) {
        vv_metric_widen(metric);
        vv_state_change(&metric->state);
    }
    pthread_mutex_unlock(&registry->metrics.lock);
    return VV_OK;
}

uint32_t vv_registry_metrics_of(struct vv_registry *registry, uint32_t measurement)
{
    struct vv_measurement *owner = vv_measurement_at(registry, measurement);
    return owner ? atomic_load_explicit(&owner->n_metrics, memory_order_relaxed) : 0;
}

uint32_t vv_registry_metric_rank(struct vv_registry *registry, uint32_t metric)
{
    const struct vv_metric *one = vv_metric_at(registry, metric);
    return one ? one->rank : UINT32_MAX;
}

uint32_t vv_registry_metric_count(struct vv_registry *registry)
{
    return vv_objects_end(&registry->metrics);
}

void vv_registry_metric_info(struct vv_registry *registry, uint32_t number,
                             struct vv_metric_info *info_out)
{
    const struct vv_str empty = {"", 0};
    *info_out = (struct vv_metric_info){
        .metric = number,
        .tenant = VV_REGISTRY_NONE,
        .measurement = VV_REGISTRY_NONE,
        .first_place = VV_REGISTRY_NONE,
        .name = empty,
        .unit = empty,
        .description = empty,
    };
    struct vv_metric *metric = vv_metric_at(registry, number);
    if (metric) {
        info_out->tenant = metric->tenant;
        info_out->measurement = metric->measurement;
        info_out->first_place = vv_registry_first_place(registry, metric->measurement);
        info_out->type = vv_metric_type(metric);
        info_out->name = vv_text_str(metric->name);
        info_out->unit = vv_text_str(atomic_load_explicit(&metric->unit, memory_order_acquire));
        info_out->description =
            vv_text_str(atomic_load_explicit(&metric->description, memory_order_acquire));
    }
}
