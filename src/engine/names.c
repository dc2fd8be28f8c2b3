/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics by id: a table of those seen so far, open addressing; asked for one that is not in it,
 * the metrics that were made since are added.
 */
#include "engine/names.h"

#include "registry/shared.h"
#include "tier/cohort.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* No source has such an id: it has a control character. */
#define COHORT_NAME      "\001cohort %u"
#define COHORT_NAME_SIZE 16

struct entry {
    int64_t id;
    uint32_t metric;
    uint32_t measurement;
    bool used;
};

struct vv_names {
    struct vv_registry *registry;
    struct vv_fleet *fleet; /* NULL: there are no other nodes */
    struct vv_deletions *deletions;
    pthread_mutex_t lock;
    struct entry *entries; /* a power of two, at most half of them used */
    size_t capacity;
    size_t n;
    uint32_t seen;                                         /* metrics below are in the table */
    char cohorts[VV_COHORTS_SHARED + 1][COHORT_NAME_SIZE]; /* and what is doubted of them */
};

struct vv_names *vv_names_create(void)
{
    struct vv_names *names = calloc(1, sizeof *names);
    if (names) {
        vv_invariant(pthread_mutex_init(&names->lock, NULL) == 0);
        for (unsigned i = 0; i <= VV_COHORTS_SHARED; i++) {
            snprintf(names->cohorts[i], COHORT_NAME_SIZE, COHORT_NAME, i);
        }
    }
    return names;
}

void vv_names_destroy(struct vv_names *names)
{
    if (names) {
        pthread_mutex_destroy(&names->lock);
        free(names->entries);
        free(names);
    }
}

void vv_names_set_registry(struct vv_names *names, struct vv_registry *registry)
{
    names->registry = registry;
}

void vv_names_set_fleet(struct vv_names *names, struct vv_fleet *fleet)
{
    names->fleet = fleet;
}

void vv_names_set_deletions(struct vv_names *names, struct vv_deletions *deletions)
{
    names->deletions = deletions;
}

/* ---- numbers to names ---- */

static struct vv_str tenant_name(void *context, uint32_t tenant)
{
    const struct vv_names *names = context;
    return vv_registry_tenant_name(names->registry, tenant);
}

static struct vv_str source_id(void *context, uint32_t source)
{
    const struct vv_names *names = context;
    if (vv_cohort_is(source)) {
        uint32_t which = source & ~VV_COHORT_NUMBER;
        return vv_str_of(which <= VV_COHORTS_SHARED ? names->cohorts[which] : "");
    }
    return vv_registry_source_id(names->registry, source);
}

static struct vv_str measurement_name(void *context, uint32_t measurement)
{
    const struct vv_names *names = context;
    return vv_registry_measurement_name(names->registry, measurement);
}

/* A metric's name is `measurement.field`. */
static struct vv_str field_name(void *context, uint32_t metric, uint32_t *measurement_out,
                                enum vv_value_type *type_out)
{
    const struct vv_names *names = context;
    struct vv_metric_info info;
    vv_registry_metric_info(names->registry, metric, &info);
    *measurement_out = info.measurement;
    *type_out = info.type;
    if (info.name.size == 0) {
        return info.name;
    }
    size_t skip = vv_registry_measurement_name(names->registry, info.measurement).size + 1;
    return (struct vv_str){info.name.data + skip, info.name.size - skip};
}

/* ---- ids to numbers ---- */

static struct entry *slot_of(const struct vv_names *names, uint32_t measurement, int64_t id)
{
    size_t at = ((uint64_t)id ^ measurement * UINT64_C(0x9E3779B97F4A7C15)) & (names->capacity - 1);
    while (names->entries[at].used &&
           (names->entries[at].id != id || names->entries[at].measurement != measurement)) {
        at = (at + 1) & (names->capacity - 1);
    }
    return &names->entries[at];
}

static bool grow(struct vv_names *names)
{
    struct vv_names bigger = *names;
    bigger.capacity = names->capacity ? names->capacity * 2 : 64;
    bigger.entries = calloc(bigger.capacity, sizeof *bigger.entries);
    if (!bigger.entries) {
        return false;
    }
    for (size_t i = 0; i < names->capacity; i++) {
        if (names->entries[i].used) {
            *slot_of(&bigger, names->entries[i].measurement, names->entries[i].id) =
                names->entries[i];
        }
    }
    free(names->entries);
    names->entries = bigger.entries;
    names->capacity = bigger.capacity;
    return true;
}

/* A hole, whose metric was made but never journaled, is passed over. */
static bool add_metric(struct vv_names *names, uint32_t metric)
{
    uint32_t measurement;
    enum vv_value_type type;
    int64_t id;
    struct vv_str field = field_name(names, metric, &measurement, &type);
    if (field.size == 0) {
        return true;
    }
    struct vv_str name = vv_registry_measurement_name(names->registry, measurement);
    if (!vv_cassandra_metric_id(name, field, &id) ||
        (2 * names->n >= names->capacity && !grow(names))) {
        return false;
    }
    struct entry *entry = slot_of(names, measurement, id);
    names->n += !entry->used;
    *entry = (struct entry){id, metric, measurement, true};
    return true;
}

static bool look_up(struct vv_names *names, uint32_t measurement, int64_t id, uint32_t *metric_out)
{
    pthread_mutex_lock(&names->lock);
    bool found = names->capacity > 0 && slot_of(names, measurement, id)->used;
    if (!found) {
        uint32_t count = vv_registry_metric_count(names->registry);
        while (names->seen < count && add_metric(names, names->seen)) {
            names->seen++;
        }
        found = names->capacity > 0 && slot_of(names, measurement, id)->used;
    }
    if (found) {
        *metric_out = slot_of(names, measurement, id)->metric;
    }
    pthread_mutex_unlock(&names->lock);
    return found;
}

/* Another node may have made it: its rows can be seen no sooner than what it told. */
static bool find_metric(void *context, uint32_t measurement, int64_t id, uint32_t *metric_out)
{
    struct vv_names *names = context;
    if (look_up(names, measurement, id, metric_out)) {
        return true;
    }
    if (names->fleet) {
        vv_fleet_learn_for_reader(names->fleet);
    }
    return names->fleet && look_up(names, measurement, id, metric_out);
}

/* ---- full names to numbers ---- */

/* Of a space, too, sources, measurements and metrics are its tenant's. */
static uint32_t owner_of(const struct vv_names *names, uint32_t number)
{
    return vv_registry_owner(names->registry, number);
}

static bool find_named(void *context, uint32_t tenant, struct vv_str name, uint32_t *metric_out)
{
    const struct vv_names *names = context;
    uint32_t owner = owner_of(names, tenant);
    *metric_out = vv_registry_metric_named(names->registry, owner, name);
    if (*metric_out == VV_REGISTRY_NONE && names->fleet) {
        vv_fleet_learn_for_reader(names->fleet);
        *metric_out = vv_registry_metric_named(names->registry, owner, name);
    }
    return *metric_out != VV_REGISTRY_NONE;
}

static bool find_tenant(void *context, struct vv_str name, uint32_t *tenant_out)
{
    struct vv_names *names = context;
    return vv_registry_space_named(names->registry, name, false, tenant_out, NULL) == VV_OK;
}

static int64_t find_life(void *context, uint32_t tenant, int64_t now_ns)
{
    const struct vv_names *names = context;
    return vv_registry_life(names->registry, tenant, now_ns);
}

static bool find_cohort(const struct vv_names *names, struct vv_str id, uint32_t *cohort_out)
{
    for (uint32_t i = 0; i <= VV_COHORTS_SHARED; i++) {
        if (vv_str_equal(id, vv_str_of(names->cohorts[i]))) {
            *cohort_out = VV_COHORT_NUMBER | i;
            return true;
        }
    }
    return false;
}

static bool find_source(void *context, uint32_t tenant, struct vv_str id, uint32_t *source_out)
{
    struct vv_names *names = context;
    if (id.size > 0 && id.data[0] == COHORT_NAME[0]) {
        return find_cohort(names, id, source_out);
    }
    return vv_registry_source_by_id(names->registry, owner_of(names, tenant), id, source_out) ==
           VV_OK;
}

static bool find_measurement(void *context, uint32_t tenant, struct vv_str name,
                             uint32_t *measurement_out)
{
    struct vv_names *names = context;
    return vv_registry_measurement(names->registry, owner_of(names, tenant), name, false,
                                   measurement_out, NULL) == VV_OK;
}

static enum vv_status find_deletions(void *context, uint32_t source, uint32_t measurement,
                                     struct vv_deletion_list *list_out)
{
    const struct vv_names *names = context;
    *list_out = (struct vv_deletion_list){0};
    return names->deletions ? vv_deletions_of(names->deletions, source, measurement, list_out)
                            : VV_OK;
}

struct vv_store_names vv_names_of_store(struct vv_names *names)
{
    return (struct vv_store_names){
        .context = names,
        .tenant = tenant_name,
        .source = source_id,
        .measurement = measurement_name,
        .field = field_name,
        .metric = find_metric,
        .metric_named = find_named,
        .tenant_named = find_tenant,
        .source_named = find_source,
        .measurement_named = find_measurement,
        .life = find_life,
        .deletions = find_deletions,
    };
}
