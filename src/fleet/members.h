/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members: which sources of a tenant are in which cohort (tier/cohort.h), where nodes share a
 * store. Of those that this node knows: made here, or learnt. Any thread; asked for one that is not
 * in it yet, it takes in what the registry has got since, so it is never behind it.
 */
#ifndef VV_FLEET_MEMBERS_H
#define VV_FLEET_MEMBERS_H

#include "registry/registry.h"
#include "store/store.h"

struct vv_members;

/* A member, and the id that it has on all nodes. */
struct vv_member {
    uint64_t id;
    uint32_t source;
};

/* Zero-initialised is empty. */
struct vv_member_list {
    struct vv_member *items; /* ascending by id */
    size_t n;
    size_t capacity;
};
void vv_member_list_deinit(struct vv_member_list *list);

/* Both are borrowed; the store has cohorts. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_members_create(struct vv_registry *registry, struct vv_store *store,
                                               struct vv_members **members_out);
void vv_members_destroy(struct vv_members *members); /* NULL is allowed */

/* All sources of the tenant that are in the cohort, now. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_members_of(struct vv_members *members, uint32_t tenant,
                                           uint32_t cohort, struct vv_member_list *list_out);
/* How many these are. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_members_count(struct vv_members *members, uint32_t tenant,
                                              uint32_t cohort, size_t *n_out);
/* Orders sources by cohort, then by id: on all nodes alike. VV_NO_MEMORY: they are as they were. */
VV_MUST_CHECK enum vv_status vv_members_order(struct vv_members *members, uint32_t *sources,
                                              size_t n);
/* The cohort of a source, and its id. VV_NOT_FOUND: there is no such source; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_members_find(struct vv_members *members, uint32_t source,
                                             uint32_t *cohort_out, uint64_t *id_out);

#endif
