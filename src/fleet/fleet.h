/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node among others on one shared store: tells them what it saw of names, and learns what they
 * saw. See README.md for the words and who calls what when. Without shared operations of the store
 * there is no fleet.
 */
#ifndef VV_FLEET_FLEET_H
#define VV_FLEET_FLEET_H

#include "base/clock.h"
#include "deletion/deletions.h"
#include "registry/registry.h"
#include "store/store.h"

struct vv_fleet;

/* Metadata of this kind says that this node has told all that it knows, and what only another
 * region has told (far.c). Part of the format. */
#define VV_META_FLEET 72

/* All borrowed; store->ops->shared is not NULL. reach_ns: how far ahead of the clock points may
 * lie, and what it takes until all know something. The registry is shared from now on: before other
 * threads use it. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_fleet_create(struct vv_registry *registry,
                                             struct vv_deletions *deletions, struct vv_store *store,
                                             struct vv_clock *clock, int64_t reach_ns,
                                             struct vv_fleet **fleet_out);
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
/* Has what this node has changed of an object by itself, without a batch, recorded and told with
 * the next confirm. VV_NO_MEMORY. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_keep(struct vv_fleet *fleet, enum vv_registry_kind kind,
                                           uint32_t number);
/* Tells up to `most` of the objects that a store held before it was shared; VV_DONE when there are
 * none left. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_tell_rest(struct vv_fleet *fleet, uint32_t most,
                                                struct vv_error *error);
/* Tells the markers of deletion of a source, if any of them is news; and of up to `most` sources
 * that have such: VV_DONE when there is none. Durable with the next confirm. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_tell_markers(struct vv_fleet *fleet, uint32_t source,
                                                   struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_fleet_tell_all_markers(struct vv_fleet *fleet, uint32_t most,
                                                       struct vv_error *error);
/* After a failure of the store and its recovery: tells again what was told since the last confirm.
 * Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_tell_again(struct vv_fleet *fleet, struct vv_error *error);
/* First plans for sources that have none: agrees on them with the others, takes what was agreed
 * into the registry and tells it. A tentative plan is taken with the next confirm, and not told.
 * Confirm before a record that holds them is stored. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_agree(struct vv_fleet *fleet, struct vv_first_plan *plans,
                                            size_t n, struct vv_error *error);

/* Whether the source's plans need not be doubted for points until then: they were asked for no
 * longer ago than points may lie ahead (the reach) of what is known of them, or what is put of the
 * source is parked anyway. Storage thread. */
bool vv_fleet_trusts_plans(struct vv_fleet *fleet, uint32_t source, int64_t until_ns);
/* Asks the store for the plans of sources that have some, of which this node has not heard for too
 * long: `source` and `until_ns` of each are given. As vv_fleet_agree: some may be tentative with
 * the next confirm. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_doubt(struct vv_fleet *fleet, struct vv_plan_doubt *doubts,
                                            size_t n, struct vv_error *error);

/* Something of this object is about to be stored: it is told if only another region has told it.
 * Storage thread; cheap where there is no such object. */
VV_MUST_CHECK enum vv_status vv_fleet_use(struct vv_fleet *fleet, enum vv_registry_kind kind,
                                          uint32_t number, struct vv_error *error);
/* After the journal's replay, before anybody reads: which plans are tentative, and which of them
 * were agreed in the moment in which the process ended. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_fleet_load_tentative(struct vv_fleet *fleet,
                                                     struct vv_error *error);
/* Whether nobody could be asked for the source's first plan yet. Any thread. */
bool vv_fleet_waits_for_plan(struct vv_fleet *fleet, uint32_t source);
/* Ends what readers wait for (below). When all has just been heard (is_current), asks again
 * for some of the plans that are tentative, and settles those that are agreed now; else none is:
 * what is parked of them is placed by what is known, and stays. What cannot be done holds up
 * nothing else, and is tried again. VV_OK: there may be more to do at once; VV_DONE: not now.
 * *failed_out: the store failed, so that what was put since the last confirm may be gone. Storage
 * thread. */
VV_MUST_CHECK enum vv_status vv_fleet_settle(struct vv_fleet *fleet, bool is_current,
                                             bool *failed_out, struct vv_error *error);

/* Whether the other nodes can learn of the tenant, or of a space: it was told, or learnt of one of
 * them, and nothing that this node told is still on its way. Storage thread. */
bool vv_fleet_has_told(struct vv_fleet *fleet, uint32_t tenant);

/* Whether readers of some source wait for vv_fleet_settle, since others told of a plan for it while
 * its own one was tentative. Any thread. */
bool vv_fleet_has_told_moves(const struct vv_fleet *fleet);
/* The same, or a vv_fleet_settle that failed has left something. Storage thread. */
bool vv_fleet_has_moves(const struct vv_fleet *fleet);

/* A plan that the source is to have from plan->from_ns on, which lies ahead of all that any node
 * has taken: agrees on it with the others, takes what was agreed into the registry and tells it.
 * *plan: what was agreed. Storage thread; as vv_fleet_agree. */
VV_MUST_CHECK enum vv_status vv_fleet_change_plan(struct vv_fleet *fleet, uint32_t source,
                                                  struct vv_plan *plan, struct vv_error *error);

/* Learns what others have told. What cannot be taken is left out and counted. VV_IO, VV_OVERLOAD …
 * of the store; VV_NEWER; VV_NO_MEMORY: what was learnt stays, the rest comes again. Any thread. */
VV_MUST_CHECK enum vv_status vv_fleet_learn(struct vv_fleet *fleet, struct vv_error *error);
/* Whether all that others told until `age_ns` ago has been learnt. Any thread. */
bool vv_fleet_is_current(const struct vv_fleet *fleet, int64_t age_ns);
/* The same, and nobody has anything left to tell of the time before: the others could be heard
 * without a break for so long that whoever could not tell before has done it since. Any thread. */
bool vv_fleet_has_heard_all(const struct vv_fleet *fleet, int64_t age_ns);
/* The wall time, by the clock of now, until which all has been heard in this sense, also by an
 * earlier process; INT64_MIN: nothing has. Any thread. */
int64_t vv_fleet_heard_wall_ns(const struct vv_fleet *fleet);
/* The same for a reader that met something unknown; nothing if it was done a moment ago. */
void vv_fleet_learn_for_reader(struct vv_fleet *fleet);
/* Whether something was learnt that is not in the metadata yet. Any thread. */
bool vv_fleet_has_learnt(struct vv_fleet *fleet);
/* Puts the records of what was learnt, then confirms: instead of the store's own confirm, always.
 * Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_confirm(struct vv_fleet *fleet, struct vv_error *error);

/*
 * Classes (classes.c). A measurement on whose place is not agreed is placed before anything of it
 * is stored: where its tenant has no class, in its tenant; else as the nodes agree. Confirms what
 * it has placed, which is told then. VV_OK: there are more, after some seconds; VV_DONE. Storage
 * thread; a failure of the store places no more of them.
 */
VV_MUST_CHECK enum vv_status vv_fleet_place(struct vv_fleet *fleet, struct vv_error *error);
/* Whether something of the measurement may be stored: VV_IO as long as it has no place, or lies in
 * a class of which it is not known how long that is kept. Any thread. */
VV_MUST_CHECK enum vv_status vv_fleet_check_place(struct vv_fleet *fleet, uint32_t measurement,
                                                  struct vv_error *error);
/*
 * Moves (moves.c): from a day on the points of a measurement lie elsewhere. The nodes agree on each
 * before any of them stores a point of then: it is told so long before that whoever was heard
 * within the notice knows of it.
 */
#define VV_FLEET_NOTICE_NS VV_DAY
#define VV_FLEET_IDLE_NS   (3 * VV_DAY) /* so old, what went nowhere may be forgotten */
/* By when all have to know of one that begins at that time, by the clock of each. */
int64_t vv_fleet_move_known_by(const struct vv_fleet *fleet, int64_t from_ns);
/* Brings on what is to be agreed on: tells what was proposed here, is for what it knows of early
 * enough, and asks for what is due. VV_DONE: there was nothing; else durable with the next confirm.
 * Failures are the store's: it is tried again. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_step_moves(struct vv_fleet *fleet, struct vv_error *error);
/* Before points of the measurement up to that time are stored: asks for what they need. *did: a
 * confirm is to follow. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_settle_moves(struct vv_fleet *fleet, uint32_t measurement,
                                                   int64_t until_ns, bool *did,
                                                   struct vv_error *error);
/* Whether it is known where points of the measurement up to `last_ns` lie: VV_IO as long as that is
 * not agreed on, or may have been agreed on without this node: as vv_fleet_moves_known_until says.
 * Any thread. */
VV_MUST_CHECK enum vv_status vv_fleet_check_moves(struct vv_fleet *fleet, uint32_t measurement,
                                                  int64_t last_ns, int64_t known_until_ns,
                                                  struct vv_error *error);
/* Up to when points may be stored by what was heard. known_until_ns: what others told of that and
 * earlier times has been heard (vv_plans_known_until). */
int64_t vv_fleet_moves_known_until(struct vv_fleet *fleet, int64_t known_until_ns);
/* VV_OVERLOAD: a move that begins within the reach is not settled, so that it is not known here
 * where all points lie. Any thread. */
VV_MUST_CHECK enum vv_status vv_fleet_check_waits(struct vv_fleet *fleet, struct vv_error *error);

/* Tells that this node knows the classes that it has learnt; VV_DONE: there is nothing to tell.
 * After a learning that succeeded, durable with the next confirm. Notes, too, which classes all
 * nodes know. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_tell_heard(struct vv_fleet *fleet, struct vv_error *error);

/* Which other regions have told of classes, which can't be read here: a bit by number, kept. Any
 * thread. */
uint32_t vv_fleet_far_classes(const struct vv_fleet *fleet);

struct vv_fleet_figures {
    uint64_t told;    /* since start */
    uint64_t learnt;  /* visited and taken, also what was known already */
    uint64_t refused; /* visited and left out */
    uint64_t unkept;  /* objects learnt that are not in the metadata yet */
};
/* Whether something of classes or places that was told could not be taken: others may have put any
 * measurement into a class that this node does not know. Any thread. */
bool vv_fleet_lacks(const struct vv_fleet *fleet);
#define VV_FLEET_LACKING_MAX 1024 /* tenants that are told from each other */
/* Whether a source or metric that others tell is left out here, as there is too much, or it can't
 * be understood: of the tenant by this name, or of one that can't be told any more. Until all that
 * is told has been learnt once more without that. Any thread. */
bool vv_fleet_lacks_any(struct vv_fleet *fleet, struct vv_str tenant);
/* Whether there is any such tenant, or class. Any thread; does not wait for learning. */
bool vv_fleet_leaves_out(const struct vv_fleet *fleet);
/* Whether a class gets ready nowhere, as the space of its late points, which are kept apart,
 * can't be made here. Any thread. */
bool vv_fleet_lacks_space(const struct vv_fleet *fleet);
void vv_fleet_read_figures(struct vv_fleet *fleet, struct vv_fleet_figures *figures_out);

#endif
