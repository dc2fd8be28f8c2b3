/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node among others on one shared store: tells them what it saw of names, and learns what they
 * saw. See README.md for the words and who calls what when. Without shared operations of the store
 * there is no fleet.
 */
#ifndef VV_FLEET_FLEET_H
#define VV_FLEET_FLEET_H

#include "base/clock.h"
#include "registry/registry.h"
#include "store/store.h"

struct vv_fleet;

/* Metadata of this kind says that this node has told all that it knows. Part of the format. */
#define VV_META_FLEET 72

/* All borrowed; store->ops->shared is not NULL. The registry is shared from now on: before other
 * threads use it. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_fleet_create(struct vv_registry *registry, struct vv_store *store,
                                             struct vv_clock *clock, struct vv_fleet **fleet_out);
void vv_fleet_destroy(struct vv_fleet *fleet); /* NULL is allowed */

/* At start, when the metadata has been applied and the journal has not: others know these objects,
 * unless the store's metadata says otherwise. */
VV_MUST_CHECK enum vv_status vv_fleet_note_loaded(struct vv_fleet *fleet, struct vv_error *error);
/* The journal had a record of this object: whether others know it is open. */
void vv_fleet_note_replayed(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number);

/* Tells what is this node's own news of an object; nothing for a hole. Durable with the next
 * confirm. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_tell(struct vv_fleet *fleet, enum vv_registry_kind kind,
                                           uint32_t number, struct vv_error *error);
/* Tells up to `most` of the objects that a store held before it was shared; VV_DONE when there are
 * none left. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_tell_rest(struct vv_fleet *fleet, uint32_t most,
                                                struct vv_error *error);
/* After a failure of the store and its recovery: tells again what was told since the last confirm.
 * Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_tell_again(struct vv_fleet *fleet, struct vv_error *error);
/* First plans for sources that have none: agrees on them with the others, takes what was agreed
 * into the registry and tells it. Confirm before a record that holds them is stored. Storage
 * thread. */
VV_MUST_CHECK enum vv_status vv_fleet_agree(struct vv_fleet *fleet, struct vv_first_plan *plans,
                                            size_t n, struct vv_error *error);

/* Learns what others have told. What cannot be taken is left out and counted. VV_IO, VV_OVERLOAD …
 * of the store; VV_NEWER; VV_NO_MEMORY: what was learnt stays, the rest comes again. Any thread. */
VV_MUST_CHECK enum vv_status vv_fleet_learn(struct vv_fleet *fleet, struct vv_error *error);
/* The same for a reader that met something unknown; nothing if it was done a moment ago. */
void vv_fleet_learn_for_reader(struct vv_fleet *fleet);
/* Whether something was learnt that is not in the metadata yet. Any thread. */
bool vv_fleet_has_learnt(struct vv_fleet *fleet);
/* Puts the records of what was learnt, then confirms: instead of the store's own confirm, always.
 * Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_confirm(struct vv_fleet *fleet, struct vv_error *error);

struct vv_fleet_figures {
    uint64_t told;    /* since start */
    uint64_t learnt;  /* visited and taken, also what was known already */
    uint64_t refused; /* visited and left out */
    uint64_t unkept;  /* objects learnt that are not in the metadata yet */
};
void vv_fleet_read_figures(struct vv_fleet *fleet, struct vv_fleet_figures *figures_out);

#endif
