/* SPDX-License-Identifier: Apache-2.0 */
/* An array by source, in which the sources of a cohort are a chain; and the chains' heads by
 * tenant. Numbers that were not in use when they were looked at are looked at again: one of them
 * might be a source by now. */
#include "fleet/members.h"

#include "tier/cohort.h"

#include <pthread.h>
#include <stdlib.h>

struct entry {
    uint64_t id;
    uint32_t next;   /* of the same tenant and cohort; VV_REGISTRY_NONE: the last one */
    uint32_t cohort; /* 0: not in use */
};

struct chain {
    uint32_t first;
    uint32_t n;
};

struct vv_members {
    struct vv_registry *registry;
    struct vv_store *store;
    pthread_mutex_t lock; /* of what follows */
    struct entry *entries;
    uint32_t n; /* entries; numbers below were looked at */
    uint32_t capacity;
    uint32_t *holes;
    size_t n_holes;
    size_t holes_capacity;
    struct chain **tenants; /* VV_COHORTS_SHARED chains each, or NULL */
    uint32_t n_tenants;
};

/* ---- life ---- */

enum vv_status vv_members_create(struct vv_registry *registry, struct vv_store *store,
                                 struct vv_members **members_out)
{
    struct vv_members *members = calloc(1, sizeof *members);
    *members_out = members;
    if (!members) {
        return VV_NO_MEMORY;
    }
    members->registry = registry;
    members->store = store;
    vv_invariant(pthread_mutex_init(&members->lock, NULL) == 0);
    return VV_OK;
}

void vv_members_destroy(struct vv_members *members)
{
    if (!members) {
        return;
    }
    for (uint32_t i = 0; i < members->n_tenants; i++) {
        free(members->tenants[i]);
    }
    pthread_mutex_destroy(&members->lock);
    free(members->tenants);
    free(members->entries);
    free(members->holes);
    free(members);
}

void vv_member_list_deinit(struct vv_member_list *list)
{
    free(list->items);
    *list = (struct vv_member_list){0};
}

/* ---- taking sources in ---- */

static enum vv_status fit_tenant(struct vv_members *members, uint32_t tenant)
{
    if (tenant >= members->n_tenants) {
        uint32_t n = tenant + 16;
        struct chain **tenants = realloc(members->tenants, n * sizeof *tenants);
        if (!tenants) {
            return VV_NO_MEMORY;
        }
        memset(tenants + members->n_tenants, 0, (n - members->n_tenants) * sizeof *tenants);
        members->tenants = tenants;
        members->n_tenants = n;
    }
    if (!members->tenants[tenant]) {
        struct chain *chains = malloc(VV_COHORTS_SHARED * sizeof *chains);
        for (size_t i = 0; chains && i < VV_COHORTS_SHARED; i++) {
            chains[i] = (struct chain){.first = VV_REGISTRY_NONE};
        }
        members->tenants[tenant] = chains;
    }
    return members->tenants[tenant] ? VV_OK : VV_NO_MEMORY;
}

/* VV_NOT_FOUND: the number is not in use, or has no name yet. */
static enum vv_status take(struct vv_members *members, uint32_t source)
{
    struct vv_store *store = members->store;
    struct entry entry = {0};
    uint32_t tenant = vv_registry_source_tenant(members->registry, source);
    if (tenant == VV_REGISTRY_NONE) {
        return VV_NOT_FOUND;
    }
    enum vv_status status = fit_tenant(members, tenant);
    if (status == VV_OK) {
        status = store->ops->shared->cohort_of(store, tenant, source, &entry.cohort, &entry.id);
    }
    if (status != VV_OK) {
        return status == VV_INVALID ? VV_NOT_FOUND : VV_NO_MEMORY;
    }
    struct chain *chain = &members->tenants[tenant][entry.cohort & ~VV_COHORT_NUMBER];
    entry.next = chain->first;
    chain->first = source;
    chain->n++;
    members->entries[source] = entry;
    return VV_OK;
}

static enum vv_status take_holes(struct vv_members *members)
{
    size_t kept = 0;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < members->n_holes; i++) {
        enum vv_status taken = status == VV_OK ? take(members, members->holes[i]) : status;
        if (taken != VV_OK) {
            members->holes[kept++] = members->holes[i];
            status = taken == VV_NOT_FOUND ? status : taken;
        }
    }
    members->n_holes = kept;
    return status;
}

static enum vv_status add_hole(struct vv_members *members, uint32_t source)
{
    if (members->n_holes == members->holes_capacity) {
        size_t capacity = members->holes_capacity ? 2 * members->holes_capacity : 16;
        uint32_t *holes = realloc(members->holes, capacity * sizeof *holes);
        if (!holes) {
            return VV_NO_MEMORY;
        }
        members->holes = holes;
        members->holes_capacity = capacity;
    }
    members->holes[members->n_holes++] = source;
    return VV_OK;
}

static enum vv_status fit_entries(struct vv_members *members, uint32_t count)
{
    if (count > members->capacity) {
        uint32_t capacity = count + count / 2 + 64;
        struct entry *entries = realloc(members->entries, capacity * sizeof *entries);
        if (!entries) {
            return VV_NO_MEMORY;
        }
        members->entries = entries;
        members->capacity = capacity;
    }
    return VV_OK;
}

/* Under the lock. */
static enum vv_status catch_up(struct vv_members *members)
{
    uint32_t count = vv_registry_source_count(members->registry);
    enum vv_status status = take_holes(members);
    if (status == VV_OK) {
        status = fit_entries(members, count);
    }
    while (members->n < count && status == VV_OK) {
        members->entries[members->n] = (struct entry){.next = VV_REGISTRY_NONE};
        status = take(members, members->n);
        status = status == VV_NOT_FOUND ? add_hole(members, members->n) : status;
        members->n += status == VV_OK;
    }
    return status;
}

/* ---- asking ---- */

static const struct chain *chain_of(const struct vv_members *members, uint32_t tenant,
                                    uint32_t cohort)
{
    static const struct chain none = {.first = VV_REGISTRY_NONE};
    uint32_t which = cohort & ~VV_COHORT_NUMBER;
    bool has = tenant < members->n_tenants && members->tenants[tenant] && which < VV_COHORTS_SHARED;
    return has ? &members->tenants[tenant][which] : &none;
}

static int compare(const void *a, const void *b)
{
    const struct vv_member *x = a;
    const struct vv_member *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static enum vv_status fit_list(struct vv_member_list *list, size_t n)
{
    if (n > list->capacity) {
        struct vv_member *items = realloc(list->items, n * sizeof *items);
        if (!items) {
            return VV_NO_MEMORY;
        }
        list->items = items;
        list->capacity = n;
    }
    return VV_OK;
}

enum vv_status vv_members_of(struct vv_members *members, uint32_t tenant, uint32_t cohort,
                             struct vv_member_list *list_out)
{
    list_out->n = 0;
    pthread_mutex_lock(&members->lock);
    enum vv_status status = catch_up(members);
    const struct chain *chain = chain_of(members, tenant, cohort);
    if (status == VV_OK) {
        status = fit_list(list_out, chain->n);
    }
    for (uint32_t at = chain->first; status == VV_OK && at != VV_REGISTRY_NONE;
         at = members->entries[at].next) {
        list_out->items[list_out->n++] =
            (struct vv_member){.id = members->entries[at].id, .source = at};
    }
    pthread_mutex_unlock(&members->lock);
    if (list_out->n > 1) {
        qsort(list_out->items, list_out->n, sizeof *list_out->items, compare);
    }
    return status;
}

enum vv_status vv_members_count(struct vv_members *members, uint32_t tenant, uint32_t cohort,
                                size_t *n_out)
{
    pthread_mutex_lock(&members->lock);
    enum vv_status status = catch_up(members);
    *n_out = chain_of(members, tenant, cohort)->n;
    pthread_mutex_unlock(&members->lock);
    return status;
}

enum vv_status vv_members_find(struct vv_members *members, uint32_t source, uint32_t *cohort_out,
                               uint64_t *id_out)
{
    pthread_mutex_lock(&members->lock);
    bool is_known = source < members->n && members->entries[source].cohort != 0;
    enum vv_status status = is_known ? VV_OK : catch_up(members);
    if (status == VV_OK) {
        is_known = source < members->n && members->entries[source].cohort != 0;
        *cohort_out = is_known ? members->entries[source].cohort : 0;
        *id_out = is_known ? members->entries[source].id : 0;
        status = is_known ? VV_OK : VV_NOT_FOUND;
    }
    pthread_mutex_unlock(&members->lock);
    return status;
}

/* ---- ordering ---- */

struct placed {
    uint64_t id;
    uint32_t cohort;
    uint32_t source;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *x = a;
    const struct placed *y = b;
    if (x->cohort != y->cohort) {
        return x->cohort < y->cohort ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

enum vv_status vv_members_order(struct vv_members *members, uint32_t *sources, size_t n)
{
    struct placed *placed = malloc((n ? n : 1) * sizeof *placed);
    enum vv_status status = placed ? VV_OK : VV_NO_MEMORY;
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        placed[i] = (struct placed){.source = sources[i]};
        status = vv_members_find(members, sources[i], &placed[i].cohort, &placed[i].id);
        status = status == VV_NOT_FOUND ? VV_OK : status; /* it comes first */
    }
    if (status == VV_OK && n > 1) {
        qsort(placed, n, sizeof *placed, compare_placed);
    }
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        sources[i] = placed[i].source;
    }
    free(placed);
    return status;
}
