/* SPDX-License-Identifier: Apache-2.0 */
/* Units and descriptions of metrics. Readers may hold the old texts, so these stay, up to a bound.
 */
#include "registry/registry_private.h"
#include "registry/text.h"

typedef _Atomic(const struct vv_text *) vv_text_place;

static struct vv_str text_at(const vv_text_place *place)
{
    return vv_text_str(atomic_load_explicit(place, memory_order_acquire));
}

/* data NULL leaves what is there. */
static bool changes(const vv_text_place *place, struct vv_str text)
{
    return text.data && !vv_str_equal(text, text_at(place));
}

/* The text to put there; NULL when memory is out. One that is there already is used again. */
static const struct vv_text *kept_text(struct vv_registry *registry, const vv_text_place *place,
                                       struct vv_str text, bool is_new)
{
    return is_new ? vv_registry_keep_text(registry, text)
                  : atomic_load_explicit(place, memory_order_relaxed);
}

enum vv_status vv_metric_describe(struct vv_registry *registry, struct vv_metric *metric,
                                  struct vv_str unit, struct vv_str description, bool *changed_out)
{
    bool new_unit = changes(&metric->unit, unit);
    bool new_description = changes(&metric->description, description);
    const struct vv_text *kept_unit = kept_text(registry, &metric->unit, unit, new_unit);
    const struct vv_text *kept_description =
        kept_text(registry, &metric->description, description, new_description);
    if ((new_unit && !kept_unit) || (new_description && !kept_description)) {
        return VV_NO_MEMORY;
    }
    atomic_store_explicit(&metric->unit, kept_unit, memory_order_release);
    atomic_store_explicit(&metric->description, kept_description, memory_order_release);
    *changed_out = new_unit || new_description;
    return VV_OK;
}

static enum vv_status describe(struct vv_registry *registry, struct vv_metric *metric,
                               struct vv_str unit, struct vv_str description,
                               struct vv_error *error)
{
    struct vv_tenant *tenant = vv_tenant_at(registry, metric->tenant);
    size_t replaced = 0;
    if (changes(&metric->unit, unit)) {
        replaced += text_at(&metric->unit).size;
    }
    if (changes(&metric->description, description)) {
        replaced += text_at(&metric->description).size;
    }
    if (replaced > VV_DESCRIBE_BYTES_MAX - tenant->replaced_bytes) {
        return vv_error_set(error, VV_OVERLOAD,
                            "units and descriptions were changed too often since the start: try "
                            "again after a restart");
    }
    bool changed = false;
    enum vv_status status = vv_metric_describe(registry, metric, unit, description, &changed);
    if (status == VV_OK && changed) {
        tenant->replaced_bytes += (uint32_t)replaced;
        vv_state_change(&metric->state);
    }
    return status;
}

static enum vv_status check(struct vv_str text, size_t size_max, const char *what,
                            struct vv_error *error)
{
    return text.data && text.size ? vv_name_check(text, size_max, what, error) : VV_OK;
}

enum vv_status vv_registry_describe(struct vv_registry *registry, uint32_t number,
                                    struct vv_str unit, struct vv_str description,
                                    struct vv_error *error)
{
    struct vv_metric *metric = vv_metric_at(registry, number);
    if (!metric) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such metric");
    }
    enum vv_status status = check(unit, VV_UNIT_BYTES_MAX, "the unit", error);
    if (status == VV_OK) {
        status = check(description, VV_DESCRIPTION_BYTES_MAX, "the description", error);
    }
    if (status == VV_OK) {
        status = vv_registry_check_room(registry, error);
    }
    if (status != VV_OK) {
        return status;
    }
    pthread_mutex_lock(&registry->metrics.lock);
    status = describe(registry, metric, unit, description, error);
    pthread_mutex_unlock(&registry->metrics.lock);
    return status;
}
