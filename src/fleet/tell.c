/* SPDX-License-Identifier: Apache-2.0 */
/* Telling: an object's state is compared with what others know; what differs is told. */
#include "fleet/fleet_private.h"

#include <stdlib.h>

/* Who is told of, and what. Large: one at a time. */
struct telling {
    struct vv_fleet *fleet;
    enum vv_registry_kind object;
    uint32_t number;
    struct vv_str tenant;
    struct vv_str name;
    struct vv_told_content content;
    struct vv_error *error;
};

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while telling other nodes");
}

static enum vv_status tell(struct telling *telling, enum vv_told_kind kind, int64_t item)
{
    struct vv_fleet *fleet = telling->fleet;
    struct vv_buffer value = {0};
    telling->content.kind = kind;
    vv_told_encode(&telling->content, &value);
    enum vv_status status = vv_buffer_status(&value);
    if (status != VV_OK ||
        !vv_fleet_note(&fleet->unconfirmed, &fleet->n_unconfirmed, &fleet->unconfirmed_capacity,
                       telling->object, telling->number, false)) {
        status = no_memory(telling->error);
    } else {
        struct vv_told told = {.kind = (uint8_t)kind,
                               .tenant = telling->tenant,
                               .name = telling->name,
                               .item = item,
                               .value = {(const char *)value.data, value.size}};
        status = vv_fleet_ops(fleet)->tell(fleet->store, &told, telling->error);
    }
    if (status == VV_OK) {
        atomic_fetch_add_explicit(&fleet->told, 1, memory_order_relaxed);
    }
    vv_buffer_deinit(&value);
    return status;
}

/* ---- tenants ---- */

/* again: though others seem to know them. */
static enum vv_status tell_spaces(struct vv_fleet *fleet, uint32_t place, bool again,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (int i = 0; i < VV_SPACES_ALL && status == VV_OK; i++) {
        uint32_t space;
        if (vv_registry_space(fleet->registry, place, (enum vv_space)i, false, &space, NULL) ==
                VV_OK &&
            vv_registry_place_of(fleet->registry, space) == place) {
            if (again) {
                vv_fleet_note_replayed(fleet, VV_REGISTRY_TENANT, space);
            }
            status = vv_fleet_tell(fleet, VV_REGISTRY_TENANT, space, error);
        }
    }
    return status;
}

/* Who knows a tenant or a class knows its tiers: else points could be stored without their units
 * being marked. And who knows a class knows its tenant. */
static enum vv_status tell_around(struct vv_fleet *fleet, uint32_t place, bool again,
                                  struct vv_error *error)
{
    uint32_t owner = vv_registry_owner(fleet->registry, place);
    enum vv_status status = VV_OK;
    if (owner != place) {
        status = tell_spaces(fleet, owner, again, error);
    }
    if (owner != place && status == VV_OK) {
        if (again) {
            vv_fleet_note_replayed(fleet, VV_REGISTRY_TENANT, owner);
        }
        status = vv_fleet_tell(fleet, VV_REGISTRY_TENANT, owner, error);
    }
    return status == VV_OK ? tell_spaces(fleet, place, again, error) : status;
}

enum vv_status vv_fleet_tell_class(struct vv_fleet *fleet, uint32_t class, struct vv_error *error)
{
    enum vv_status status = tell_around(fleet, class, true, error);
    vv_fleet_note_replayed(fleet, VV_REGISTRY_TENANT, class);
    return status == VV_OK ? vv_fleet_tell(fleet, VV_REGISTRY_TENANT, class, error) : status;
}

static enum vv_status tell_tenant(struct telling *telling, uint32_t number)
{
    struct vv_fleet *fleet = telling->fleet;
    struct vv_told_content *content = &telling->content;
    telling->tenant = vv_registry_tenant_name(fleet->registry, number);
    if (telling->tenant.size == 0) {
        return VV_OK;
    }
    struct vv_terms terms = vv_terms_of(fleet->registry, number);
    content->retention_ns = terms.retention_ns;
    content->retention_stamp = terms.retention_stamp;
    content->late = terms.late;
    content->late_stamp = terms.late_stamp;
    content->whole = terms.whole;
    content->patterns = terms.patterns;
    content->patterns_stamp = terms.patterns_stamp;
    uint64_t present = vv_known_terms(terms);
    pthread_mutex_lock(&fleet->lock);
    uint64_t *known = vv_known_tenant(&fleet->known, number);
    bool is_news = known && *known != present;
    pthread_mutex_unlock(&fleet->lock);
    if (!known) {
        return no_memory(telling->error);
    }
    bool is_place = vv_space_place_name(telling->tenant).size == telling->tenant.size;
    enum vv_status status =
        is_news && is_place ? tell_around(fleet, number, false, telling->error) : VV_OK;
    if (is_news && status == VV_OK) {
        status = tell(telling, VV_TOLD_TENANT, 0);
    }
    if (is_news && status == VV_OK) {
        pthread_mutex_lock(&fleet->lock);
        *vv_known_tenant(&fleet->known, number) = present;
        pthread_mutex_unlock(&fleet->lock);
    }
    return status;
}

/* ---- measurements and metrics ---- */

static enum vv_status tell_measurement(struct telling *telling, uint32_t number)
{
    struct vv_fleet *fleet = telling->fleet;
    telling->name = vv_registry_measurement_name(fleet->registry, number);
    if (telling->name.size == 0) {
        return VV_OK;
    }
    telling->tenant = vv_registry_tenant_name(
        fleet->registry, vv_registry_measurement_tenant(fleet->registry, number));
    if (!vv_registry_is_placed(fleet->registry, number)) {
        return VV_OK; /* it is told when that is agreed on (classes.c) */
    }
    uint32_t place = vv_registry_first_place(fleet->registry, number);
    telling->content.class_name =
        vv_space_class_name(vv_registry_tenant_name(fleet->registry, place));
    pthread_mutex_lock(&fleet->lock);
    bool *known = vv_known_measurement(&fleet->known, number);
    bool is_news = known && !*known;
    pthread_mutex_unlock(&fleet->lock);
    if (!known) {
        return no_memory(telling->error);
    }
    enum vv_status status = is_news ? tell(telling, VV_TOLD_MEASUREMENT, 0) : VV_OK;
    if (status == VV_OK) {
        pthread_mutex_lock(&fleet->lock);
        *vv_known_measurement(&fleet->known, number) = true;
        pthread_mutex_unlock(&fleet->lock);
    }
    return status;
}

enum vv_status vv_fleet_tell_move(struct vv_fleet *fleet, uint32_t measurement,
                                  const struct vv_move *move, struct vv_error *error)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t tenant = vv_registry_measurement_tenant(registry, measurement);
    struct telling telling = {.fleet = fleet,
                              .object = VV_REGISTRY_MEASUREMENT,
                              .number = measurement,
                              .tenant = vv_registry_tenant_name(registry, tenant),
                              .name = vv_registry_measurement_name(registry, measurement),
                              .error = error};
    telling.content.class_name =
        vv_space_class_name(vv_registry_tenant_name(registry, move->place));
    telling.content.is_withdrawn = move->state != VV_MOVE_PROPOSED;
    enum vv_status status = vv_fleet_tell(fleet, VV_REGISTRY_TENANT, move->place, error);
    if (status == VV_OK) {
        status = vv_fleet_tell(fleet, VV_REGISTRY_MEASUREMENT, measurement, error);
    }
    return status == VV_OK ? tell(&telling, VV_TOLD_MOVE, move->from_ns) : status;
}

static bool differs(const struct vv_known_metric *a, const struct vv_known_metric *b)
{
    return a->type != b->type || a->unit != b->unit || a->description != b->description;
}

static enum vv_status tell_metric(struct telling *telling, uint32_t number)
{
    struct vv_fleet *fleet = telling->fleet;
    struct vv_told_content *content = &telling->content;
    struct vv_metric_info info;
    vv_registry_metric_info(fleet->registry, number, &info);
    if (info.name.size == 0) {
        return VV_OK;
    }
    telling->tenant = vv_registry_tenant_name(fleet->registry, info.tenant);
    telling->name = info.name;
    vv_registry_described(fleet->registry, number, &content->described);
    content->type = info.type;
    content->measurement_size =
        vv_registry_measurement_name(fleet->registry, info.measurement).size;
    struct vv_known_metric present = vv_known_metric_of(content->type, &content->described);
    pthread_mutex_lock(&fleet->lock);
    struct vv_known_metric *known = vv_known_metric(&fleet->known, number);
    bool is_news = known && differs(known, &present);
    pthread_mutex_unlock(&fleet->lock);
    if (!known) {
        return no_memory(telling->error);
    }
    enum vv_status status = is_news ? tell(telling, VV_TOLD_METRIC, 0) : VV_OK;
    if (is_news && status == VV_OK) {
        pthread_mutex_lock(&fleet->lock);
        *vv_known_metric(&fleet->known, number) = present;
        pthread_mutex_unlock(&fleet->lock);
    }
    return status;
}

/* ---- sources ---- */

static enum vv_status tell_tags(struct telling *telling, uint32_t number)
{
    struct vv_fleet *fleet = telling->fleet;
    struct vv_arena arena = {0};
    struct vv_tag_version versions[VV_TAG_HISTORY_MAX];
    size_t n = 0;
    enum vv_status status = vv_registry_unknown_tags(fleet->registry, number, &arena, versions, &n);
    if (status != VV_OK) {
        status = no_memory(telling->error);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        telling->content.n = versions[i].n_tags;
        memcpy(telling->content.tags, versions[i].tags,
               versions[i].n_tags * sizeof *versions[i].tags);
        status = tell(telling, VV_TOLD_TAGS, versions[i].from_ns);
        if (status == VV_OK) {
            vv_registry_note_known(fleet->registry, number, &versions[i]);
        }
    }
    vv_arena_deinit(&arena);
    return status;
}

/* Each plan with those before it, so that it can be taken by itself. */
static enum vv_status tell_plans(struct telling *telling, uint32_t number, size_t known)
{
    struct vv_fleet *fleet = telling->fleet;
    struct vv_plans plans = vv_registry_source_plans(fleet->registry, number);
    enum vv_status status = VV_OK;
    for (size_t i = known; i < plans.n && status == VV_OK; i++) {
        telling->content.n = i + 1;
        memcpy(telling->content.plans, plans.plans, (i + 1) * sizeof *plans.plans);
        status = tell(telling, VV_TOLD_PLAN, plans.plans[i].from_ns);
    }
    if (status == VV_OK && plans.n > known) {
        pthread_mutex_lock(&fleet->lock);
        vv_known_source(&fleet->known, number)->plans = (uint8_t)plans.n;
        pthread_mutex_unlock(&fleet->lock);
    }
    return status;
}

static enum vv_status tell_source(struct telling *telling, uint32_t number)
{
    struct vv_fleet *fleet = telling->fleet;
    telling->name = vv_registry_source_id(fleet->registry, number);
    if (telling->name.size == 0) {
        return VV_OK;
    }
    uint32_t tenant = vv_registry_source_tenant(fleet->registry, number);
    telling->tenant = vv_registry_tenant_name(fleet->registry, tenant);
    telling->content.canonical = vv_registry_source_is_canonical(fleet->registry, number);
    pthread_mutex_lock(&fleet->lock);
    const struct vv_known_source *place = vv_known_source(&fleet->known, number);
    struct vv_known_source known = place ? *place : (struct vv_known_source){0};
    pthread_mutex_unlock(&fleet->lock);
    if (!place) {
        return no_memory(telling->error);
    }
    if (!known.itself) { /* its tags may have been learnt, but not in this region */
        vv_registry_forget_known(fleet->registry, number);
    }
    enum vv_status status = known.itself ? VV_OK : tell(telling, VV_TOLD_SOURCE, 0);
    if (!known.itself && status == VV_OK) {
        pthread_mutex_lock(&fleet->lock);
        vv_known_source(&fleet->known, number)->itself = true;
        pthread_mutex_unlock(&fleet->lock);
    }
    if (status == VV_OK) {
        status = tell_tags(telling, number);
    }
    return status == VV_OK && !known.is_tentative ? tell_plans(telling, number, known.plans)
                                                  : status;
}

/* ---- markers of deletion ---- */

#define MARKER_SIZE 48 /* at most, beside the names */
#define PART_SIZE   (VV_TOLD_VALUE_MAX - 4096)

/* Its names, which others are told of first; false for one that has none. */
static bool name_marker(struct vv_fleet *fleet, const struct vv_marker *marker,
                        struct vv_told_marker *out)
{
    struct vv_metric_info info;
    *out = (struct vv_told_marker){.marker = *marker};
    if (marker->scope == VV_DELETION_SOURCE) {
        return true;
    }
    if (marker->scope == VV_DELETION_MEASUREMENT) {
        out->measurement = vv_registry_measurement_name(fleet->registry, marker->number);
        return out->measurement.size > 0;
    }
    vv_registry_metric_info(fleet->registry, marker->number, &info);
    if (info.name.size == 0) {
        return false;
    }
    out->measurement = vv_registry_measurement_name(fleet->registry, info.measurement);
    size_t skip = out->measurement.size + 1;
    out->field = (struct vv_str){info.name.data + skip, info.name.size - skip};
    out->type = info.type;
    return true;
}

/* Others can learn it from this node, also when only another region has told of it so far. */
static enum vv_status tell_name(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number,
                                struct vv_error *error)
{
    enum vv_status status = vv_fleet_use(fleet, kind, number, error);
    return status == VV_OK ? vv_fleet_tell(fleet, kind, number, error) : status;
}

static enum vv_status tell_names(struct vv_fleet *fleet, const struct vv_marker *marker,
                                 struct vv_error *error)
{
    struct vv_metric_info info = {.measurement = marker->number};
    enum vv_status status = VV_OK;
    if (marker->scope == VV_DELETION_METRIC) {
        vv_registry_metric_info(fleet->registry, marker->number, &info);
    }
    if (marker->scope != VV_DELETION_SOURCE) {
        status = tell_name(fleet, VV_REGISTRY_MEASUREMENT, info.measurement, error);
    }
    if (status == VV_OK && marker->scope == VV_DELETION_METRIC) {
        status = tell_name(fleet, VV_REGISTRY_METRIC, marker->number, error);
    }
    return status;
}

/* All of the source's, in as many parts as they need. A part that is not needed any more stays as
 * it was told: what is in it was true. */
static enum vv_status tell_parts(struct telling *telling, const struct vv_marker *markers, size_t n)
{
    struct vv_told_content *content = &telling->content;
    enum vv_status status = VV_OK;
    int64_t part = 0;
    size_t size = 0;
    content->n = 0;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        struct vv_told_marker *next = &content->markers[content->n];
        if (!name_marker(telling->fleet, &markers[i], next)) {
            continue;
        }
        status = tell_names(telling->fleet, &markers[i], telling->error);
        size += MARKER_SIZE + next->measurement.size + next->field.size;
        content->n++;
        if (status == VV_OK && (content->n == VV_TOLD_MARKERS_MAX || size > PART_SIZE)) {
            status = tell(telling, VV_TOLD_MARKERS, part++);
            content->n = 0;
            size = 0;
        }
    }
    bool is_due = content->n > 0 || part == 0;
    return status == VV_OK && is_due ? tell(telling, VV_TOLD_MARKERS, part) : status;
}

static enum vv_status tell_markers(struct telling *telling, const struct vv_marker *markers,
                                   size_t n)
{
    struct vv_fleet *fleet = telling->fleet;
    uint32_t tenant = vv_registry_source_tenant(fleet->registry, telling->number);
    telling->name = vv_registry_source_id(fleet->registry, telling->number);
    if (telling->name.size == 0) {
        return VV_OK;
    }
    telling->tenant = vv_registry_tenant_name(fleet->registry, tenant);
    telling->content.canonical = vv_registry_source_is_canonical(fleet->registry, telling->number);
    enum vv_status status = tell_name(fleet, VV_REGISTRY_TENANT, tenant, telling->error);
    if (status == VV_OK) {
        status = tell_name(fleet, VV_REGISTRY_SOURCE, telling->number, telling->error);
    }
    return status == VV_OK ? tell_parts(telling, markers, n) : status;
}

enum vv_status vv_fleet_tell_markers(struct vv_fleet *fleet, uint32_t source,
                                     struct vv_error *error)
{
    struct telling telling = {.fleet = fleet,
                              .object = (enum vv_registry_kind)VV_META_DELETION,
                              .number = source,
                              .error = error};
    struct vv_marker first;
    size_t room = vv_deletions_read(fleet->deletions, source, VV_MARKER_UNTOLD, &first, 1);
    if (room == 0 || first.is_told) {
        return VV_OK;
    }
    room += VV_TOLD_MARKERS_MAX;
    struct vv_marker *markers = calloc(room, sizeof *markers);
    if (!markers) {
        return no_memory(error);
    }
    size_t n = vv_deletions_read(fleet->deletions, source, VV_MARKER_UNTOLD, markers, room);
    n = n < room ? n : room; /* others may have come meanwhile: they are told next time */
    enum vv_status status = tell_markers(&telling, markers, n);
    if (status == VV_OK) {
        vv_deletions_note_told(fleet->deletions, source, markers, n);
    }
    free(markers);
    return status;
}

enum vv_status vv_fleet_tell_all_markers(struct vv_fleet *fleet, uint32_t most,
                                         struct vv_error *error)
{
    enum vv_status status = VV_DONE;
    uint32_t source = vv_deletions_next(fleet->deletions, 0, VV_MARKER_UNTOLD);
    for (uint32_t i = 0; i < most && source != UINT32_MAX; i++) {
        status = vv_fleet_tell_markers(fleet, source, error);
        if (status != VV_OK) {
            return status;
        }
        source = vv_deletions_next(fleet->deletions, source + 1, VV_MARKER_UNTOLD);
    }
    return status;
}

bool vv_fleet_has_told(struct vv_fleet *fleet, uint32_t tenant)
{
    struct vv_parked parked = {0};
    pthread_mutex_lock(&fleet->lock);
    const uint64_t *known = vv_known_tenant(&fleet->known, tenant);
    bool is_known = known && *known != 0;
    pthread_mutex_unlock(&fleet->lock);
    vv_fleet_ops(fleet)->parked(fleet->store, &parked);
    return is_known && parked.n_told == 0 && fleet->n_unconfirmed == 0;
}

enum vv_status vv_fleet_tell(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number,
                             struct vv_error *error)
{
    struct telling telling = {
        .fleet = fleet, .object = kind, .number = number, .name = {"", 0}, .error = error};
    switch (kind) {
    case VV_REGISTRY_TENANT:
        return tell_tenant(&telling, number);
    case VV_REGISTRY_MEASUREMENT:
        return tell_measurement(&telling, number);
    case VV_REGISTRY_METRIC:
        return tell_metric(&telling, number);
    case VV_REGISTRY_SOURCE:
        return tell_source(&telling, number);
    case VV_REGISTRY_TIMES:
        break;
    }
    return VV_OK;
}
