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
    bool itself : 1;
    bool is_tentative : 1; /* its plan: nobody is told of it */
    uint8_t plans;         /* how many of them; which tags, the registry notes */
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
    struct vv_known_list asked;        /* uint32_t: see doubt.c; there only while it is used */
};

void vv_known_deinit(struct vv_known *known);
/* An item of any list, likewise. */
void *vv_known_item(struct vv_known_list *list, uint32_t number, size_t size);
/* The item of a number; NULL when memory is out. Valid until the next call. */
uint64_t *vv_known_tenant(struct vv_known *known, uint32_t number);
bool *vv_known_measurement(struct vv_known *known, uint32_t number);
struct vv_known_metric *vv_known_metric(struct vv_known *known, uint32_t number);
struct vv_known_source *vv_known_source(struct vv_known *known, uint32_t number);
uint32_t *vv_known_asked(struct vv_known *known, uint32_t number);
/* Never 0. */
uint64_t vv_known_hash(struct vv_str text, uint64_t seed);
/* A tenant's terms: its retention, and what it wants done with late points, with their stamps; and
 * from when on it is whole. */
struct vv_terms {
    int64_t retention_ns;
    vv_stamp retention_stamp;
    struct vv_late late;
    vv_stamp late_stamp;
    struct vv_whole whole;
    struct vv_str patterns; /* of a class */
    vv_stamp patterns_stamp;
};
/* As they are now. */
struct vv_terms vv_terms_of(struct vv_registry *registry, uint32_t tenant);
struct vv_terms vv_terms_told(const struct vv_told_content *content);
uint64_t vv_known_terms(struct vv_terms terms);
struct vv_known_metric vv_known_metric_of(enum vv_value_type type,
                                          const struct vv_described *described);

/* ---- the fleet ---- */

struct vv_fleet_object {
    uint8_t kind;
    bool is_far; /* learnt from other regions only */
    uint32_t number;
    uint64_t version; /* that was put into the metadata */
};

/* What is left to be told of a store that was not shared before. */
struct vv_fleet_rest {
    uint8_t kind; /* 0: nothing */
    uint32_t number;
};

/* A class, and who has said that it knows it. */
struct vv_fleet_class {
    uint32_t number;
    uint64_t learnt_in;  /* `learnings` when it was taken last, or seen */
    bool is_noted;       /* its record is put with the next confirm … */
    bool is_kept;        /* … and is in the metadata */
    bool is_ready_kept;  /* so is that all know it */
    bool is_told;        /* that this node knows it … */
    bool is_confirmed;   /* … and that is in the store … */
    uint64_t told_in;    /* … since when there were so many `learnings` */
    bool is_passed_over; /* some measurement was, which is in the log */
    bool lacks_space;    /* for its late points it can't be made, which is in the log */
    uint32_t *heard;     /* nodes */
    size_t n_heard;
    size_t capacity;
};

/* What the metadata says of classes and places that are not known here. */
struct vv_fleet_lacks {
    bool any;     /* something was left out */
    uint32_t far; /* as vv_fleet_far_classes */
};

/* A tentative plan that has been agreed, perhaps as another one. */
struct vv_fleet_move {
    struct vv_first_plan from;
    struct vv_plan to;
    bool is_growth; /* not agreed, but others have told what follows it */
};

struct vv_fleet_lacking {
    uint64_t tenant; /* hash of its name */
    uint64_t time;   /* in readings of all that is told, from 1; 0: by an earlier process;
                      * UINT64_MAX: until this one ends */
};

struct vv_fleet {
    struct vv_registry *registry;
    struct vv_deletions *deletions;
    struct vv_store *store;
    struct vv_clock *clock;
    int64_t reach_ns;

    pthread_mutex_t lock; /* known */
    struct vv_known known;
    struct vv_fleet_move *told_moves; /* under lock, too: told against tentative plans, … */
    size_t told_moves_capacity;
    _Atomic size_t n_told_moves; /* … and not yet taken by the storage thread */

    pthread_mutex_t learning;       /* one learns, or confirms; before lock */
    struct vv_fleet_object *learnt; /* not in the metadata yet */
    size_t n_learnt;
    size_t learnt_capacity;
    uint32_t refusals_logged;                                  /* by status */
    struct vv_fleet_lacking lacking[VV_FLEET_LACKING_MAX + 1]; /* lacking.c; while learning */
    size_t n_lacking;
    _Atomic bool lacks_names;   /* there are some */
    uint64_t lacking_version;   /* counts its changes */
    uint64_t lacking_kept;      /* the one that is kept */
    bool has_failed;            /* since the last learning that succeeded */
    _Atomic uint64_t learnings; /* that succeeded; written under `learning` */
    struct vv_fleet_class *classes;
    size_t n_classes;
    size_t classes_capacity;
    struct vv_known_list class_at; /* uint32_t: which of them + 1, by number */
    uint32_t linked;               /* classes, when they were looked for last */
    _Atomic bool lacks;            /* something told of classes or places was left out … */
    _Atomic bool lacked;           /* … or was, before this process */
    _Atomic bool lacks_moves;      /* some of it was of moves */
    struct vv_fleet_lacks lacks_kept;
    char lack[256];               /* why; "": there is nothing */
    _Atomic bool lacks_space;     /* a class waits for the space of its late points */
    _Atomic uint32_t far_classes; /* which other regions have some: bit by number */
    int64_t held_until_ns;        /* monotonic: before it nothing counts as heard; 0: now it does */
    _Atomic size_t unkept;
    _Atomic bool has_far;             /* there is something that only other regions have told */
    _Atomic int64_t reader_learnt_ns; /* monotonic; 0: never */
    _Atomic int64_t learnt_ns;        /* when the last one that succeeded began; as above */
    _Atomic int64_t heard_ns;         /* the same of those that count as heard (fleet.c) */
    _Atomic int64_t heard_wall_ns;    /* the same, or of an earlier time; INT64_MIN: never */
    _Atomic int64_t heard_kept_ns;    /* of it, what the metadata says; as above */

    /* Storage thread. */
    struct vv_fleet_object *unconfirmed; /* told since the last confirm */
    size_t n_unconfirmed;
    size_t unconfirmed_capacity;
    struct vv_fleet_rest rest;
    bool record_due;               /* that all is told */
    struct vv_first_plan *pending; /* tentative plans that the store has not confirmed */
    size_t n_pending;
    size_t pending_capacity;
    struct vv_fleet_move *moves; /* plans that are agreed, and not settled with the store */
    size_t n_moves;
    size_t moves_capacity;
    struct vv_first_plan *asking; /* the tentative plans of this round … */
    size_t n_asking;
    size_t asked;           /* … and how many of them were asked for again */
    int64_t moves_again_ns; /* monotonic: not before */
    bool move_waits_logged; /* one into a class that is not known here */

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
                   enum vv_registry_kind kind, uint32_t number, bool is_far);
/* The same of those whose record is put, and their news told, with the next confirm. Under
 * `learning`. */
bool vv_fleet_note_learnt(struct vv_fleet *fleet, enum vv_registry_kind kind, uint32_t number,
                          bool is_far);

/* ---- far.c: the storage thread ---- */

/* Notes in the metadata that only another region has told of the object, if that is so. */
VV_MUST_CHECK enum vv_status vv_fleet_put_far(struct vv_fleet *fleet, enum vv_registry_kind kind,
                                              uint32_t number, struct vv_error *error);
/* What was noted is not known in this region; at start. */
VV_MUST_CHECK enum vv_status vv_fleet_load_far(struct vv_fleet *fleet, struct vv_error *error);

/* ---- heard.c ---- */

/* Whether what is kept of it is worth a confirm of its own. */
bool vv_fleet_heard_is_old(const struct vv_fleet *fleet);

/* lacking.c: notes it; forgets what is not left out any more; keeps the rest, in a confirm; loads
 * that. While learning. */
void vv_fleet_note_lacking(struct vv_fleet *fleet, const struct vv_told *told,
                           enum vv_status refusal);
void vv_fleet_forget_lacking(struct vv_fleet *fleet);
VV_MUST_CHECK enum vv_status vv_fleet_put_lacking(struct vv_fleet *fleet, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_fleet_load_lacking(struct vv_fleet *fleet, struct vv_error *error);
/* Puts it when it is time; heard_out: what is kept once that is confirmed. While nobody learns. */
VV_MUST_CHECK enum vv_status vv_fleet_put_heard(struct vv_fleet *fleet, int64_t *heard_out,
                                                struct vv_error *error);
/* At start. */
VV_MUST_CHECK enum vv_status vv_fleet_load_heard(struct vv_fleet *fleet, struct vv_error *error);

/* ---- tentative.c: storage thread ---- */
/* Whether nobody may be told of the source's plan. Under the lock. */
bool vv_fleet_is_tentative(struct vv_fleet *fleet, uint32_t source);
/* Notes a tentative plan until the store has confirmed it. */
VV_MUST_CHECK enum vv_status vv_fleet_note_pending(struct vv_fleet *fleet,
                                                   const struct vv_first_plan *plan,
                                                   struct vv_error *error);
/* Another node has told of another first plan for a source whose own is tentative: that one holds,
 * and readers wait until the store has placed by it what is parked. Any thread, under the lock. */
VV_MUST_CHECK enum vv_status vv_fleet_begin_told_move(struct vv_fleet *fleet, uint32_t source,
                                                      const struct vv_plan *to,
                                                      struct vv_error *error);
/* Others are about to be found to follow a tentative plan with later ones: before those are taken.
 * The same. */
VV_MUST_CHECK enum vv_status vv_fleet_begin_told_growth(struct vv_fleet *fleet, uint32_t source,
                                                        struct vv_error *error);
/* The store has confirmed them: they hold from now on. */
VV_MUST_CHECK enum vv_status vv_fleet_take_pending(struct vv_fleet *fleet, struct vv_error *error);

static inline bool vv_fleet_has_unkept(const struct vv_fleet *fleet)
{
    return atomic_load_explicit(&fleet->unkept, memory_order_acquire) > 0;
}

/* ---- moves.c, place.c ---- */

/* Something told of moves was left out: any measurement may lie in another class. Any thread. */
bool vv_fleet_lacks_moves(const struct vv_fleet *fleet);
/* The class by this name was agreed on, and can be written to; VV_IO: it is not known here. */
VV_MUST_CHECK enum vv_status vv_fleet_find_agreed(struct vv_fleet *fleet, uint32_t measurement,
                                                  struct vv_str class_name, uint32_t *place_out,
                                                  struct vv_error *error);
/* Tells it, with the measurement and the class; durable with the next confirm. Storage thread. */
VV_MUST_CHECK enum vv_status vv_fleet_tell_move(struct vv_fleet *fleet, uint32_t measurement,
                                                const struct vv_move *move, struct vv_error *error);

/* ---- classes.c: under `learning` ---- */

/* What was told is left out. */
void vv_fleet_note_lack(struct vv_fleet *fleet, const struct vv_told *told,
                        const struct vv_error *why);
/* Puts which classes are ready. */
VV_MUST_CHECK enum vv_status vv_fleet_put_ready(struct vv_fleet *fleet, struct vv_error *error);
/* The region has classes. */
void vv_fleet_note_far_class(struct vv_fleet *fleet, uint8_t region);
/* Puts what it lacks; lacks_out: what is kept once that is confirmed. */
VV_MUST_CHECK enum vv_status vv_fleet_put_lacks(struct vv_fleet *fleet,
                                                struct vv_fleet_lacks *lacks_out,
                                                struct vv_error *error);
/* At start. */
VV_MUST_CHECK enum vv_status vv_fleet_load_lacks(struct vv_fleet *fleet, struct vv_error *error);

/* Tells the class, its tiers and its tenant, though others seem to know them. tell.c. */
VV_MUST_CHECK enum vv_status vv_fleet_tell_class(struct vv_fleet *fleet, uint32_t class,
                                                 struct vv_error *error);
/* A measurement that was made for the class comes to lie in its tenant. */
void vv_fleet_note_passed_over(struct vv_fleet *fleet, uint32_t class, uint32_t measurement);
/* Something was learnt of this class. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_fleet_note_class(struct vv_fleet *fleet, uint32_t number);
/* A node knows the class. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_fleet_note_heard(struct vv_fleet *fleet, uint32_t number,
                                                 uint32_t node);
/* The store has confirmed what was told; or it may be gone. */
void vv_fleet_classes_confirmed(struct vv_fleet *fleet);
void vv_fleet_classes_lost(struct vv_fleet *fleet);
void vv_fleet_free_classes(struct vv_fleet *fleet);

/* ---- learn.c: for shared->learn; under `learning` ---- */
enum vv_status vv_fleet_take(void *fleet, const struct vv_told *told);

#endif
