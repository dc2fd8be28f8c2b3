/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of measurements among nodes: where a new measurement's points go.
 *
 * A node that knows no class of a tenant places the tenant's measurements in the tenant, asks
 * nobody, and tells. So a class takes nothing before every node has told that it knows it: behind
 * all that it placed before in that way, in the order in which it is heard. From then on every node
 * asks, and the first one that asks has chosen, whatever the others know of what classes take. A
 * node that comes later learns everything before it places anything.
 */
#include "fleet/fleet_private.h"

#include <stdlib.h>

#define PEERS_MAX      256
#define PLACES_AT_ONCE 64
#define CLASS_STEPS    2 /* what a flush does for a class that it has measurements of */

/* ---- who knows a class: under `learning` ---- */

static struct vv_fleet_class *class_of(struct vv_fleet *fleet, uint32_t number)
{
    for (size_t i = 0; i < fleet->n_classes; i++) {
        if (fleet->classes[i].number == number) {
            return &fleet->classes[i];
        }
    }
    struct vv_fleet_class *more =
        realloc(fleet->classes, (fleet->n_classes + 1) * sizeof *fleet->classes);
    if (!more) {
        return NULL;
    }
    fleet->classes = more;
    more[fleet->n_classes] = (struct vv_fleet_class){.number = number};
    return &more[fleet->n_classes++];
}

/* Its tiers are learnt with it: what is told of both is whole after the next learning. */
enum vv_status vv_fleet_note_class(struct vv_fleet *fleet, uint32_t number)
{
    struct vv_fleet_class *class = class_of(fleet, number);
    if (class && !class->is_told) {
        class->learnt_in = fleet->learnings;
    }
    return class ? VV_OK : VV_NO_MEMORY;
}

static bool has_heard(const struct vv_fleet_class *class, uint32_t node)
{
    for (size_t i = 0; i < class->n_heard; i++) {
        if (class->heard[i] == node) {
            return true;
        }
    }
    return false;
}

enum vv_status vv_fleet_note_heard(struct vv_fleet *fleet, uint32_t number, uint32_t node)
{
    struct vv_fleet_class *class = class_of(fleet, number);
    if (!class) {
        return VV_NO_MEMORY;
    }
    if (has_heard(class, node)) {
        return VV_OK;
    }
    if (class->n_heard == class->capacity) {
        size_t capacity = class->capacity ? 2 * class->capacity : 8;
        uint32_t *more = realloc(class->heard, capacity * sizeof *more);
        if (!more) {
            return VV_NO_MEMORY;
        }
        class->heard = more;
        class->capacity = capacity;
    }
    class->heard[class->n_heard++] = node;
    return VV_OK;
}

void vv_fleet_classes_confirmed(struct vv_fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_classes; i++) {
        struct vv_fleet_class *class = &fleet->classes[i];
        if (class->is_told && !class->is_confirmed) {
            class->is_confirmed = true;
            class->told_in = fleet->learnings;
        }
    }
}

void vv_fleet_classes_lost(struct vv_fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_classes; i++) {
        fleet->classes[i].is_told &= fleet->classes[i].is_confirmed;
    }
}

void vv_fleet_free_classes(struct vv_fleet *fleet)
{
    for (size_t i = 0; i < fleet->n_classes; i++) {
        free(fleet->classes[i].heard);
    }
    free(fleet->classes);
}

/* ---- telling ---- */

/* What is parked may be what this node placed before it knew the class: that is told first. */
static bool is_all_told(struct vv_fleet *fleet)
{
    struct vv_parked parked;
    vv_fleet_ops(fleet)->parked(fleet->store, &parked);
    return parked.n_told == 0;
}

static enum vv_status tell_one(struct vv_fleet *fleet, struct vv_fleet_class *class,
                               struct vv_error *error)
{
    struct vv_buffer value = {0};
    const struct vv_told_content content = {.kind = VV_TOLD_HEARD};
    /* One of its own others must have been told before. */
    enum vv_status status = vv_fleet_tell(fleet, VV_REGISTRY_TENANT, class->number, error);
    vv_told_encode(&content, &value);
    if (status == VV_OK && vv_buffer_status(&value) != VV_OK) {
        status = vv_error_set(error, VV_NO_MEMORY, "out of memory while telling other nodes");
    }
    if (status == VV_OK) {
        struct vv_told told = {.kind = VV_TOLD_HEARD,
                               .tenant = vv_registry_tenant_name(fleet->registry, class->number),
                               .name = {"", 0},
                               .value = {(const char *)value.data, value.size}};
        status = vv_fleet_ops(fleet)->tell(fleet->store, &told, error);
    }
    vv_buffer_deinit(&value);
    class->is_told = status == VV_OK;
    return status;
}

/* One that was settled once is linked to its tenant. */
static bool is_class(struct vv_registry *registry, uint32_t number)
{
    return vv_space_class_name(vv_registry_tenant_name(registry, number)).size > 0 &&
           vv_registry_place_of(registry, number) == number &&
           vv_registry_owner(registry, number) != number;
}

/* All other nodes of this region, as they were seen after the class could be known to everybody who
 * comes. */
static bool all_have_heard(struct vv_fleet *fleet, const struct vv_fleet_class *class)
{
    struct vv_peer peers[PEERS_MAX];
    size_t n = vv_fleet_ops(fleet)->peers(fleet->store, peers, PEERS_MAX);
    bool all = n <= PEERS_MAX && class->is_confirmed && fleet->learnings > class->told_in;
    for (size_t i = 0; i < n && all; i++) {
        all = peers[i].region != 0 || has_heard(class, peers[i].node);
    }
    return all;
}

/* Under `learning`. */
static enum vv_status go_on_with(struct vv_fleet *fleet, uint32_t number, bool *told,
                                 struct vv_error *error)
{
    struct vv_fleet_class *class = class_of(fleet, number);
    if (!class) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while telling other nodes");
    }
    bool is_kept = fleet->n_learnt == 0; /* what this node has placed is told with it */
    if (!class->is_told && is_kept && fleet->learnings > class->learnt_in && is_all_told(fleet)) {
        *told = true;
        return tell_one(fleet, class, error);
    }
    if (!vv_registry_class_is_ready(fleet->registry, number) && is_all_told(fleet) &&
        all_have_heard(fleet, class)) {
        vv_registry_set_class_ready(fleet->registry, number);
    }
    return VV_OK;
}

enum vv_status vv_fleet_tell_heard(struct vv_fleet *fleet, struct vv_error *error)
{
    uint32_t n = vv_registry_tenant_count(fleet->registry);
    enum vv_status status = VV_OK;
    bool told = false;
    pthread_mutex_lock(&fleet->learning);
    for (uint32_t i = 0; i < n && status == VV_OK; i++) {
        if (is_class(fleet->registry, i)) {
            status = go_on_with(fleet, i, &told, error);
        }
    }
    pthread_mutex_unlock(&fleet->learning);
    return status == VV_OK && !told ? VV_DONE : status;
}

/* ---- placing ---- */

/* Nothing of it is stored, so nobody needs to be asked where nobody can choose something else. */
static bool is_plain(struct vv_fleet *fleet, uint32_t measurement)
{
    uint32_t classes[VV_CLASSES_OF_TENANT_MAX];
    uint32_t tenant = vv_registry_measurement_tenant(fleet->registry, measurement);
    return vv_fleet_heard_wall_ns(fleet) != INT64_MIN &&
           vv_registry_classes(fleet->registry, tenant, classes) == 0;
}

/* Its record, and that others do not know it as it is now. */
static enum vv_status take_place(struct vv_fleet *fleet, uint32_t measurement, uint32_t place,
                                 struct vv_error *error)
{
    pthread_mutex_lock(&fleet->learning);
    bool noted = vv_fleet_note(&fleet->learnt, &fleet->n_learnt, &fleet->learnt_capacity,
                               VV_REGISTRY_MEASUREMENT, measurement, false);
    if (noted) { /* one that was learnt meanwhile is the same */
        (void)!vv_registry_set_place(fleet->registry, measurement, place);
        vv_fleet_note_replayed(fleet, VV_REGISTRY_MEASUREMENT, measurement);
        atomic_store_explicit(&fleet->unkept, fleet->n_learnt, memory_order_release);
    }
    pthread_mutex_unlock(&fleet->learning);
    return noted ? VV_OK : vv_error_set(error, VV_NO_MEMORY, "out of memory while flushing");
}

/* The next one that is journaled, or known from others. */
static uint32_t next_of(struct vv_fleet *fleet, uint32_t from)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t at = vv_registry_next_unplaced(registry, from);
    while (at != VV_REGISTRY_NONE && !vv_registry_settled(registry, VV_REGISTRY_MEASUREMENT, at)) {
        at = vv_registry_next_unplaced(registry, at + 1);
    }
    return at;
}

static enum vv_status place_plain(struct vv_fleet *fleet, bool *placed, bool *left,
                                  struct vv_error *error)
{
    enum vv_status status = VV_OK;
    for (uint32_t i = next_of(fleet, 0); i != VV_REGISTRY_NONE && status == VV_OK;
         i = next_of(fleet, i + 1)) {
        if (is_plain(fleet, i)) {
            *placed = true;
            status =
                take_place(fleet, i, vv_registry_measurement_tenant(fleet->registry, i), error);
        } else {
            *left = true;
        }
    }
    return status;
}

/* Whether one of those that are left would go to a class that this node does not know all to know.
 */
static bool waits_for_class(struct vv_fleet *fleet)
{
    struct vv_registry *registry = fleet->registry;
    for (uint32_t i = next_of(fleet, 0); i != VV_REGISTRY_NONE; i = next_of(fleet, i + 1)) {
        uint32_t tenant = vv_registry_measurement_tenant(registry, i);
        struct vv_str name = vv_registry_measurement_name(registry, i);
        if (vv_registry_match_class(registry, tenant, name) !=
            vv_registry_match_ready_class(registry, tenant, name)) {
            return true;
        }
    }
    return false;
}

/* What the others have placed is known then; else no class may be chosen. A class is brought on
 * where that takes no other node's doing. */
static enum vv_status hear(struct vv_fleet *fleet, bool *hears_out, struct vv_error *error)
{
    *hears_out = vv_fleet_learn(fleet, NULL) == VV_OK;
    for (int i = 0; i < CLASS_STEPS && *hears_out && waits_for_class(fleet); i++) {
        enum vv_status status = vv_fleet_confirm(fleet, error); /* what was learnt is settled */
        if (status == VV_OK) {
            status = vv_fleet_tell_heard(fleet, error);
        }
        if (status == VV_OK) {
            status = vv_fleet_confirm(fleet, error);
        }
        if (status != VV_OK && status != VV_DONE) {
            return status;
        }
        *hears_out = vv_fleet_learn(fleet, NULL) == VV_OK;
        status = vv_fleet_tell_heard(fleet, error); /* notes what all know */
        if (status != VV_OK && status != VV_DONE) {
            return status;
        }
    }
    return VV_OK;
}

static struct vv_place_wish wish_of(struct vv_fleet *fleet, uint32_t measurement, bool hears)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t tenant = vv_registry_measurement_tenant(registry, measurement);
    struct vv_place_wish wish = {.tenant = vv_registry_tenant_name(registry, tenant),
                                 .measurement =
                                     vv_registry_measurement_name(registry, measurement)};
    if (hears) {
        uint32_t place = vv_registry_match_ready_class(registry, tenant, wish.measurement);
        struct vv_str class_name = vv_space_class_name(vv_registry_tenant_name(registry, place));
        memcpy(wish.class_name, class_name.data, class_name.size);
    }
    return wish;
}

static enum vv_status take_agreed(struct vv_fleet *fleet, uint32_t measurement,
                                  const struct vv_place_wish *agreed, struct vv_error *error)
{
    uint32_t tenant = vv_registry_measurement_tenant(fleet->registry, measurement);
    uint32_t place = tenant;
    if (agreed->class_name[0]) {
        place = vv_registry_class(fleet->registry, tenant, vv_str_of(agreed->class_name));
    }
    bool is_known =
        place != VV_REGISTRY_NONE && vv_registry_owner(fleet->registry, place) == tenant;
    return is_known ? take_place(fleet, measurement, place, error)
                    : vv_error_set(error, VV_IO,
                                   "another node has put a measurement into the class %s, which "
                                   "this node has not heard of yet",
                                   agreed->class_name);
}

static enum vv_status place_some(struct vv_fleet *fleet, const uint32_t *measurements, size_t n,
                                 bool hears, struct vv_error *error)
{
    struct vv_place_wish wishes[PLACES_AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        wishes[i] = wish_of(fleet, measurements[i], hears);
    }
    enum vv_status status = vv_fleet_ops(fleet)->agree_places(fleet->store, wishes, n, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = take_agreed(fleet, measurements[i], &wishes[i], error);
    }
    return status;
}

static enum vv_status place_by_agreement(struct vv_fleet *fleet, struct vv_error *error)
{
    bool hears;
    enum vv_status status = hear(fleet, &hears, error);
    for (uint32_t i = next_of(fleet, 0); i != VV_REGISTRY_NONE && status == VV_OK;) {
        uint32_t some[PLACES_AT_ONCE];
        size_t n = 0;
        while (i != VV_REGISTRY_NONE && n < PLACES_AT_ONCE) {
            some[n++] = i;
            i = next_of(fleet, i + 1);
        }
        status = place_some(fleet, some, n, hears, error);
    }
    return status;
}

enum vv_status vv_fleet_place(struct vv_fleet *fleet, struct vv_error *error)
{
    bool placed = false;
    bool left = false;
    enum vv_status status = place_plain(fleet, &placed, &left, error);
    if (status == VV_OK && left) {
        status = place_by_agreement(fleet, error);
    }
    return status == VV_OK && (placed || left) ? vv_fleet_confirm(fleet, error) : status;
}
