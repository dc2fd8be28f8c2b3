/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef VV_FLEET_FLEET_PRIVATE_H
#define VV_FLEET_FLEET_PRIVATE_H

#include "fleet/fleet.h"
#include "fleet/told.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- known.c: what others know of this node's objects, by number ---- */

/* Hashes of what they know; 0: not known. */
struct vv_known_metric {
    uint64_t unit;
    uint64_t description;
    uint8_t type; /* enum vv_value_type + 1; 0: the metric is not known */
};

struct vv_known_source {
    bool itself;
    uint8_t plans; /* how many of them; which tags, the registry notes */
};
_Static_assert(VV_PLANS_MAX <= UINT8_MAX, "the number of plans fits");
_Static_assert(sizeof(struct vv_known_source) == 2, "there may be millions");

/* An array by number that grows, zeroed. */
struct vv_known_list {
    void *items;
    size_t capacity;
};

struct vv_known {
    struct vv_known_list tenants;      /* uint64_t: a hash; 0: not known */
    struct vv_known_list measurements; /* bool */
    struct vv_known_list metrics;      /* struct vv_known_metric */
    struct vv_known_list sources;      /* struct vv_known_source */
};

void vv_known_deinit(struct vv_known *known);
/* The item of a number; NULL when memory is out. Valid until the next call. */
uint64_t *vv_known_tenant(struct vv_known *known, uint32_t number);
bool *vv_known_measurement(struct vv_known *known, uint32_t number);
struct vv_known_metric *vv_known_metric(struct vv_known *known, uint32_t number);
struct vv_known_source *vv_known_source(struct vv_known *known, uint32_t number);
/* Never 0. */
uint64_t vv_known_hash(struct vv_str text, uint64_t seed);
uint64_t vv_known_retention(int64_t retention_ns, vv_stamp stamp);
struct vv_known_metric vv_known_metric_of(enum vv_value_type type,
                                          const struct vv_described *described);

/* ---- the fleet ---- */

struct vv_fleet_object {
    uint8_t kind;
    uint32_t number;
    uint64_t version; /* that was put into the metadata */
};

/* What is left to be told of a store that was not shared before. */
struct vv_fleet_rest {
    uint8_t kind; /* 0: nothing */
    uint32_t number;
};

struct vv_fleet {
    struct vv_registry *registry;
    struct vv_store *store;
    struct vv_clock *clock;

    pthread_mutex_t lock; /* known */
    struct vv_known known;

    pthread_mutex_t learning;       /* one learns, or confirms; before lock */
    struct vv_fleet_object *learnt; /* not in the metadata yet */
    size_t n_learnt;
    size_t learnt_capacity;
    uint32_t refusals_logged; /* by status */
    _Atomic size_t unkept;
    _Atomic int64_t reader_learnt_ns; /* monotonic; 0: never */

    /* Storage thread. */
    struct vv_fleet_object *unconfirmed; /* told since the last confirm */
    size_t n_unconfirmed;
    size_t unconfirmed_capacity;
    struct vv_fleet_rest rest;
    bool record_due; /* that all is told */

    _Atomic uint64_t told;
    _Atomic uint64_t taken;
    _Atomic uint64_t refused;
};

static inline const struct vv_shared_ops *vv_fleet_ops(const struct vv_fleet *fleet)
{
    return fleet->store->ops->shared;
}

/* Appends to a list of objects; false when memory is out. Nothing when it was the last appended. */
bool vv_fleet_note(struct vv_fleet_object **list, size_t *n, size_t *capacity,
                   enum vv_registry_kind kind, uint32_t number);

/* ---- learn.c: for shared->learn; under `learning` ---- */
enum vv_status vv_fleet_take(void *fleet, const struct vv_told *told);

#endif
