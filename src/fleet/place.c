/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placing: in which class, if any, the points of a new measurement lie. Which one this node wishes
 * for was decided when the measurement was made here, as where there are no other nodes; the place
 * is settled when its first points are to be stored. See classes.c for why that holds.
 */
#include "fleet/fleet_private.h"

#include <stdio.h>

#define PLACES_AT_ONCE 64
#define CLASS_STEPS    2 /* what a flush does for a class that it has measurements of */
#define STEP_NS        (2 * VV_SECOND) /* a step ends when it has taken so long */

/* The one place that decides it: nobody has put the measurement anywhere else, nor can. */
static bool asks_nobody(struct vv_fleet *fleet, uint32_t measurement)
{
    uint32_t tenant = vv_registry_measurement_tenant(fleet->registry, measurement);
    return vv_fleet_heard_wall_ns(fleet) != INT64_MIN && !vv_fleet_lacks(fleet) &&
           !vv_registry_may_have_classes(fleet->registry, tenant);
}

/* Its record, and that others do not know it as it is now. */
static enum vv_status take_place(struct vv_fleet *fleet, uint32_t measurement, uint32_t place,
                                 struct vv_error *error)
{
    pthread_mutex_lock(&fleet->learning);
    bool noted = vv_fleet_note_learnt(fleet, VV_REGISTRY_MEASUREMENT, measurement, false);
    if (noted) { /* one that was learnt meanwhile is the same */
        (void)!vv_registry_set_place(fleet->registry, measurement, place);
        vv_fleet_note_replayed(fleet, VV_REGISTRY_MEASUREMENT, measurement);
    }
    pthread_mutex_unlock(&fleet->learning);
    return noted ? VV_OK : vv_error_set(error, VV_NO_MEMORY, "out of memory while flushing");
}

/* The next one of which something is to be stored: not by whoever only knows of it, who has no wish
 * for it, and whom it must not hold up. */
static uint32_t next_of(struct vv_fleet *fleet, uint32_t from)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t at = vv_registry_next_unplaced(registry, from);
    while (at != VV_REGISTRY_NONE && !vv_registry_wants_place(registry, at)) {
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
        if (asks_nobody(fleet, i)) {
            *placed = true;
            status =
                take_place(fleet, i, vv_registry_measurement_tenant(fleet->registry, i), error);
        } else {
            *left = true;
        }
    }
    return status;
}

/* ---- by agreement ---- */

/* The class that it was made for; VV_REGISTRY_NONE: none. */
static uint32_t wished_class(struct vv_fleet *fleet, uint32_t measurement)
{
    uint32_t place = vv_registry_first_place(fleet->registry, measurement);
    return place != vv_registry_measurement_tenant(fleet->registry, measurement) ? place
                                                                                 : VV_REGISTRY_NONE;
}

/* Whether one of those that are left is for a class that this node does not know all to know. */
static bool waits_for_class(struct vv_fleet *fleet)
{
    for (uint32_t i = next_of(fleet, 0); i != VV_REGISTRY_NONE; i = next_of(fleet, i + 1)) {
        uint32_t class = wished_class(fleet, i);
        if (class != VV_REGISTRY_NONE && !vv_registry_class_is_ready(fleet->registry, class)) {
            return true;
        }
    }
    return false;
}

/* A class is brought on where that takes no other node's doing. */
static enum vv_status bring_on(struct vv_fleet *fleet, bool *hears, struct vv_error *error)
{
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
    *hears = vv_fleet_learn(fleet, NULL) == VV_OK;
    status = vv_fleet_tell_heard(fleet, error); /* notes what all know */
    return status == VV_DONE ? VV_OK : status;
}

/* What the others have placed is known then; else no class may be chosen. */
static enum vv_status hear(struct vv_fleet *fleet, bool *hears_out, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    *hears_out = vv_fleet_learn(fleet, NULL) == VV_OK;
    for (int i = 0; i < CLASS_STEPS && *hears_out && status == VV_OK && waits_for_class(fleet);
         i++) {
        status = bring_on(fleet, hears_out, error);
    }
    return status == VV_OK && vv_fleet_has_unkept(fleet) ? vv_fleet_confirm(fleet, error) : status;
}

static struct vv_place_wish wish_of(struct vv_fleet *fleet, uint32_t measurement, bool may_choose)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t tenant = vv_registry_measurement_tenant(registry, measurement);
    uint32_t class = wished_class(fleet, measurement);
    struct vv_place_wish wish = {.from_ns = VV_TIME_MIN,
                                 .tenant = vv_registry_tenant_name(registry, tenant),
                                 .measurement =
                                     vv_registry_measurement_name(registry, measurement)};
    if (may_choose && class != VV_REGISTRY_NONE && vv_registry_class_is_ready(registry, class)) {
        struct vv_str name = vv_space_class_name(vv_registry_tenant_name(registry, class));
        memcpy(wish.class_name, name.data, name.size);
    }
    return wish;
}

static enum vv_status refuse(struct vv_fleet *fleet, uint32_t measurement, struct vv_str class,
                             struct vv_error *error)
{
    char why[sizeof fleet->lack + 80] = "which this node has not heard of yet";
    struct vv_registry *registry = fleet->registry;
    struct vv_str name = vv_registry_measurement_name(registry, measurement);
    uint32_t tenant = vv_registry_measurement_tenant(registry, measurement);
    struct vv_str shown = {name.data, name.size < 64 ? name.size : 64};
    pthread_mutex_lock(&fleet->learning);
    if (fleet->lack[0]) {
        snprintf(why, sizeof why,
                 "and this node could not take all that others told of classes: %s", fleet->lack);
    }
    pthread_mutex_unlock(&fleet->learning);
    return vv_error_set(error, VV_IO,
                        "the measurement %.*s of tenant %.*s is in the class %.*s, %s",
                        VV_STR_ARG(shown), VV_STR_ARG(vv_registry_tenant_name(registry, tenant)),
                        VV_STR_ARG(class), why);
}

enum vv_status vv_fleet_find_agreed(struct vv_fleet *fleet, uint32_t measurement,
                                    struct vv_str class_name, uint32_t *place_out,
                                    struct vv_error *error)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t tenant = vv_registry_measurement_tenant(registry, measurement);
    *place_out = class_name.size == 0 ? tenant : vv_registry_class(registry, tenant, class_name);
    bool is_known = *place_out == tenant || (*place_out != VV_REGISTRY_NONE &&
                                             vv_registry_owner(registry, *place_out) == tenant &&
                                             vv_registry_class_is_told(registry, *place_out));
    return is_known ? VV_OK : refuse(fleet, measurement, class_name, error);
}

static enum vv_status take_agreed(struct vv_fleet *fleet, uint32_t measurement,
                                  const struct vv_place_wish *agreed, struct vv_error *error)
{
    uint32_t place;
    struct vv_str name = vv_str_of(agreed->class_name);
    uint32_t class = wished_class(fleet, measurement);
    enum vv_status status = vv_fleet_find_agreed(fleet, measurement, name, &place, error);
    if (status == VV_OK && name.size == 0 && class != VV_REGISTRY_NONE) {
        vv_fleet_note_passed_over(fleet, class, measurement);
    }
    return status == VV_OK ? take_place(fleet, measurement, place, error) : status;
}

enum vv_status vv_fleet_check_place(struct vv_fleet *fleet, uint32_t measurement,
                                    struct vv_error *error)
{
    struct vv_registry *registry = fleet->registry;
    uint32_t place = vv_registry_first_place(registry, measurement);
    if (!vv_registry_is_placed(registry, measurement)) {
        return vv_error_set(error, VV_IO, "it is not agreed on where a measurement lies");
    }
    return place == vv_registry_measurement_tenant(registry, measurement) ||
                   vv_registry_class_is_told(registry, place)
               ? VV_OK
               : refuse(fleet, measurement,
                        vv_space_class_name(vv_registry_tenant_name(registry, place)), error);
}

static enum vv_status place_some(struct vv_fleet *fleet, const uint32_t *measurements, size_t n,
                                 bool may_choose, struct vv_error *error)
{
    struct vv_place_wish wishes[PLACES_AT_ONCE];
    for (size_t i = 0; i < n; i++) {
        wishes[i] = wish_of(fleet, measurements[i], may_choose);
    }
    enum vv_status status = vv_fleet_ops(fleet)->agree_places(fleet->store, wishes, n, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = take_agreed(fleet, measurements[i], &wishes[i], error);
    }
    return status;
}

static enum vv_status place_by_agreement(struct vv_fleet *fleet, bool *more_out,
                                         struct vv_error *error)
{
    bool hears;
    int64_t begun = fleet->clock->monotonic_ns(fleet->clock);
    enum vv_status status = hear(fleet, &hears, error);
    uint32_t i = next_of(fleet, 0);
    *more_out = false;
    while (i != VV_REGISTRY_NONE && status == VV_OK && !*more_out) {
        uint32_t some[PLACES_AT_ONCE];
        size_t n = 0;
        while (i != VV_REGISTRY_NONE && n < PLACES_AT_ONCE) {
            some[n++] = i;
            i = next_of(fleet, i + 1);
        }
        status = place_some(fleet, some, n, hears && !vv_fleet_lacks(fleet), error);
        *more_out = fleet->clock->monotonic_ns(fleet->clock) - begun >= STEP_NS;
    }
    return status;
}

enum vv_status vv_fleet_place(struct vv_fleet *fleet, struct vv_error *error)
{
    bool placed = false;
    bool left = false;
    bool more = false;
    enum vv_status status =
        vv_fleet_has_unkept(fleet) ? vv_fleet_confirm(fleet, error) : VV_OK; /* classes, too */
    if (status == VV_OK) {
        status = place_plain(fleet, &placed, &left, error);
    }
    if (status == VV_OK && left) {
        status = place_by_agreement(fleet, &more, error);
    }
    if (status == VV_OK && (placed || left)) {
        status = vv_fleet_confirm(fleet, error);
    }
    return status == VV_OK && !more ? VV_DONE : status;
}
