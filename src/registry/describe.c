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

static enum vv_status describe_now(struct vv_registry *registry, struct vv_metric *metric,
                                   struct vv_str unit, struct vv_str description,
                                   struct vv_error *error)
{
    bool new_unit = changes(&metric->unit, unit);
    bool new_description = changes(&metric->description, description);
    enum vv_status status = describe(registry, metric, unit, description, error);
    if (status == VV_OK && new_unit) {
        metric->unit_stamp = vv_registry_stamp_above(registry, metric->unit_stamp);
    }
    if (status == VV_OK && new_description) {
        metric->description_stamp = vv_registry_stamp_above(registry, metric->description_stamp);
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
    status = describe_now(registry, metric, unit, description, error);
    pthread_mutex_unlock(&registry->metrics.lock);
    return status;
}

/* ---- among nodes ---- */

void vv_registry_described(struct vv_registry *registry, uint32_t number,
                           struct vv_described *described_out)
{
    struct vv_metric *metric = vv_metric_at(registry, number);
    const struct vv_str empty = {"", 0};
    *described_out = (struct vv_described){.unit = empty, .description = empty};
    if (metric) {
        pthread_mutex_lock(&registry->metrics.lock);
        *described_out = (struct vv_described){.unit = text_at(&metric->unit),
                                               .unit_stamp = metric->unit_stamp,
                                               .description = text_at(&metric->description),
                                               .description_stamp = metric->description_stamp};
        pthread_mutex_unlock(&registry->metrics.lock);
    }
}

/* Whether the learnt text counts. */
static bool is_above(struct vv_str text, vv_stamp stamp, struct vv_str known, vv_stamp known_stamp)
{
    return stamp > known_stamp || (stamp == known_stamp && vv_str_compare(text, known) > 0);
}

static enum vv_status learn(struct vv_registry *registry, struct vv_metric *metric,
                            const struct vv_described *learnt, struct vv_error *error)
{
    const struct vv_str as_it_is = {NULL, 0};
    bool unit_counts =
        is_above(learnt->unit, learnt->unit_stamp, text_at(&metric->unit), metric->unit_stamp);
    bool description_counts = is_above(learnt->description, learnt->description_stamp,
                                       text_at(&metric->description), metric->description_stamp);
    uint64_t before = vv_state_version(&metric->state);
    enum vv_status status = describe(registry, metric, unit_counts ? learnt->unit : as_it_is,
                                     description_counts ? learnt->description : as_it_is, error);
    if (status != VV_OK || (!unit_counts && !description_counts)) {
        return status;
    }
    metric->unit_stamp = unit_counts ? learnt->unit_stamp : metric->unit_stamp;
    metric->description_stamp =
        description_counts ? learnt->description_stamp : metric->description_stamp;
    if (vv_state_version(&metric->state) == before) { /* the same text, set later */
        vv_state_change(&metric->state);
    }
    return VV_OK;
}

enum vv_status vv_registry_learn_described(struct vv_registry *registry, uint32_t number,
                                           const struct vv_described *described,
                                           struct vv_error *error)
{
    struct vv_metric *metric = vv_metric_at(registry, number);
    if (!metric) {
        return vv_error_set(error, VV_NOT_FOUND, "there is no such metric");
    }
    enum vv_status status = check(described->unit, VV_UNIT_BYTES_MAX, "the unit", error);
    if (status == VV_OK) {
        status = check(described->description, VV_DESCRIPTION_BYTES_MAX, "the description", error);
    }
    if (status == VV_OK) {
        status = vv_registry_check_room(registry, error);
    }
    if (status == VV_OK) {
        pthread_mutex_lock(&registry->metrics.lock);
        status = learn(registry, metric, described, error);
        pthread_mutex_unlock(&registry->metrics.lock);
    }
    return status;
}
