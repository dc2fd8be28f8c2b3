/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes of one store share of a registry: names and what belongs to them, never numbers. Here
 * is what applies what another node told (learning), and what tells it; src/fleet uses both.
 *
 * Learning is a union: whatever the order in which the same things are learnt, all registries come
 * to the same. Everything is checked as hostile input; a change makes a new, unsettled version, and
 * a failure changes nothing. Beside the statuses named: VV_INVALID (a text or a value that is not
 * allowed), VV_NOT_FOUND (a hole), VV_TOO_LARGE (a limit), VV_NO_MEMORY. Any thread.
 */
#ifndef VV_REGISTRY_SHARED_H
#define VV_REGISTRY_SHARED_H

#include "model/stamp.h"
#include "registry/registry.h"

/*
 * The registry is one of several: retentions, policies for late points, units and descriptions that
 * are set from now on get stamps (above those that they replace), and of two versions of tags from
 * one time the greater one counts: the one with more tags, of as many the one whose texts come
 * later. Before other threads start.
 */
void vv_registry_share(struct vv_registry *registry, vv_stamp (*stamp)(void *context),
                       void *context);

bool vv_registry_is_shared(const struct vv_registry *registry);

/* The retention and when it was set; stamp 0: never, or before the registry was shared. Both 0 for
 * a hole. */
void vv_registry_stamped_retention(struct vv_registry *registry, uint32_t tenant,
                                   int64_t *retention_ns_out, vv_stamp *stamp_out);
/* The higher stamp counts; of equal ones the longer retention. */
VV_MUST_CHECK enum vv_status vv_registry_learn_retention(struct vv_registry *registry,
                                                         uint32_t tenant, int64_t retention_ns,
                                                         vv_stamp stamp, struct vv_error *error);

/* What it wants done with late points, and when that was set, as with the retention. */
void vv_registry_stamped_late(struct vv_registry *registry, uint32_t tenant,
                              struct vv_late *late_out, vv_stamp *stamp_out);
/* The higher stamp counts; of equal ones the greater number (vv_late_pack). */
VV_MUST_CHECK enum vv_status vv_registry_learn_late(struct vv_registry *registry, uint32_t tenant,
                                                    struct vv_late late, vv_stamp stamp,
                                                    struct vv_error *error);

/* What a class takes, and when that was set, as with the retention; of equal stamps the text that
 * comes later counts. */
struct vv_str vv_registry_stamped_patterns(struct vv_registry *registry, uint32_t number,
                                           vv_stamp *stamp_out);
VV_MUST_CHECK enum vv_status vv_registry_learn_patterns(struct vv_registry *registry,
                                                        uint32_t number, struct vv_str patterns,
                                                        vv_stamp stamp, struct vv_error *error);

/* Whether the tenant has classes, or something was seen of one, settled or not: nodes agree on its
 * new measurements then. For ever. Lock-free. */
bool vv_registry_may_have_classes(struct vv_registry *registry, uint32_t tenant);
/* The same of any tenant. */
bool vv_registry_has_classes(struct vv_registry *registry);
/* Of all tenants, those that were ever settled; it only grows. */
uint32_t vv_registry_class_count(struct vv_registry *registry);
/* As vv_registry_make_class, of one that others told of: how long it is kept for they tell, too. */
VV_MUST_CHECK enum vv_status vv_registry_learn_class(struct vv_registry *registry, uint32_t tenant,
                                                     struct vv_str name, uint32_t *class_out,
                                                     struct vv_error *error);
/* Whether it is known how long the class is kept for: not yet of one that is known by its name
 * only.
 */
bool vv_registry_class_is_told(struct vv_registry *registry, uint32_t number);
/* All nodes know the class, so that new measurements may go there, from now on. */
void vv_registry_set_class_ready(struct vv_registry *registry, uint32_t number);

/* Whether all nodes have agreed on the place of a measurement: before that nothing of it is stored,
 * and vv_registry_first_place is a guess. A registry that is not shared places them as it makes
 * them. */
bool vv_registry_is_placed(struct vv_registry *registry, uint32_t measurement);
/* It was agreed on: makes a new, unsettled version. False: another one was before, and stays. */
VV_MUST_CHECK bool vv_registry_set_place(struct vv_registry *registry, uint32_t measurement,
                                         uint32_t place);
/* Something of it is about to be stored. Asked only as long as it has no place. */
void vv_registry_want_place(struct vv_registry *registry, uint32_t measurement);
bool vv_registry_wants_place(struct vv_registry *registry, uint32_t measurement);
/* The first from this number on that has no place yet; VV_REGISTRY_NONE: there is none. Cheap then.
 */
uint32_t vv_registry_next_unplaced(struct vv_registry *registry, uint32_t from);

/* Where its points lie, or may: the first place, and those of its moves, settled or not; returns
 * how many, 1 at least. Lock-free. */
size_t vv_registry_places_of(struct vv_registry *registry, uint32_t measurement,
                             uint32_t places_out[VV_MOVES_MAX]);

/* Moves that nodes agree on (registry.h). */
/* Adds one where nothing is said of that time, else changes nothing: VV_DONE. Leaves room for
 * `spare` more changes; the oldest idle one from before idle_ns makes room. VV_EXISTS: there is
 * none. */
VV_MUST_CHECK enum vv_status vv_registry_add_move(struct vv_registry *registry,
                                                  uint32_t measurement, const struct vv_move *move,
                                                  size_t spare, int64_t idle_ns,
                                                  struct vv_error *error);
/* Gives the one of that time this place and state, if it is in the state `before`; VV_DONE: it is
 * not. */
VV_MUST_CHECK enum vv_status vv_registry_change_move(struct vv_registry *registry,
                                                     uint32_t measurement,
                                                     enum vv_move_state before,
                                                     const struct vv_move *move,
                                                     struct vv_error *error);
/* The one of that time is withdrawn, unless it is settled, or is so; VV_DONE then, and where there
 * is none. */
VV_MUST_CHECK enum vv_status vv_registry_withdraw_move(struct vv_registry *registry,
                                                       uint32_t measurement, int64_t from_ns,
                                                       struct vv_error *error);
/* The first measurement from this number on that has one that is not settled; VV_REGISTRY_NONE:
 * there is none. Cheap then. */
uint32_t vv_registry_next_agreeing(struct vv_registry *registry, uint32_t from);

/* What is older than `from` may have been put when the retention was a shorter one, or the tier was
 * off: of that it lives for `kept_ns` at least; until `until`, for `lived_ns`, where a life that
 * was longer still had not ended when it was made longer again. */
struct vv_lengthened {
    int64_t from; /* > 0 */
    int64_t kept_ns;
    int64_t until;    /* 0: that was not so */
    int64_t lived_ns; /* 0: for ever */
};
/* What was to live for `before_ns` when the retention was made shorter does until `until`. */
struct vv_shortened {
    int64_t until;     /* > 0 */
    int64_t before_ns; /* 0: for ever */
};
/* What a tier lacked since it was made longer, or switched on, for the last time at
 * `longer_from` or before: from `from` on it has all of it, and that lives as long as the retention
 * says. */
struct vv_rebuilt {
    int64_t longer_from; /* 0: nothing is said */
    int64_t from;
};
/* How long what was written lives, where that is not what the retention says: what was put before
 * it was made longer, and, until some time, what was to live as long as a longer one said, as what
 * is built of it may not be yet. */
#define VV_LENGTHENED_MAX 3
#define VV_SHORTENED_MAX  8
struct vv_whole {
    struct vv_lengthened longer[VV_LENGTHENED_MAX]; /* ascending by time */
    size_t n;
    struct vv_shortened shorter[VV_SHORTENED_MAX]; /* ascending by time */
    size_t n_shorter;
    struct vv_rebuilt built;
};
bool vv_whole_is_good(const struct vv_whole *whole);
/* Whether it needs the newer forms. */
bool vv_whole_has_lives(const struct vv_whole *whole);
/* When the last of the lives ends that a shorter retention was to end; 0: there is none. */
static inline int64_t vv_whole_until(const struct vv_whole *whole)
{
    return whole->n_shorter > 0 ? whole->shorter[whole->n_shorter - 1].until : 0;
}
/* From when on all that is put lives as long as the retention says; 0: always. */
static inline int64_t vv_whole_from(const struct vv_whole *whole)
{
    return whole->n > 0 ? whole->longer[whole->n - 1].from : 0;
}
/* How long, seen at a time, what it says lives at least; INT64_MAX: for ever. */
int64_t vv_lengthened_kept_ns(const struct vv_lengthened *longer, int64_t now_ns);
/* What is older may have gone by `at`, for it was to live for less when it was put, seen at a time
 * not after which it is asked for; INT64_MIN: nothing. */
int64_t vv_whole_gone(const struct vv_whole *whole, int64_t at_ns, int64_t now_ns);
/* The same by the i-th time that it was made longer alone. */
int64_t vv_whole_gone_by(const struct vv_whole *whole, size_t i, int64_t at_ns, int64_t now_ns);
/* For records, and for what is told: the first of what was lengthened; the others, behind what was
 * shortened last, as older forms have it (`last`: of these); and what newer forms say beside that
 * (`lives`, `built`). What is read may be no good. */
void vv_whole_encode_first(const struct vv_whole *whole, struct vv_buffer *out);
void vv_whole_encode_rest(const struct vv_whole *whole, struct vv_buffer *out);
void vv_whole_encode_lives(const struct vv_whole *whole, struct vv_buffer *out);
void vv_whole_encode_built(const struct vv_whole *whole, struct vv_buffer *out);
void vv_whole_read_first(struct vv_reader *reader, struct vv_whole *whole_out);
void vv_whole_read_last(struct vv_reader *reader, struct vv_whole *whole);
void vv_whole_read_rest(struct vv_reader *reader, struct vv_whole *whole);
void vv_whole_read_lives(struct vv_reader *reader, struct vv_whole *whole);
void vv_whole_read_built(struct vv_reader *reader, struct vv_whole *whole);

struct vv_whole vv_registry_whole(struct vv_registry *registry, uint32_t tenant);
/* The longest of the lives that have not ended, of those that a shorter retention was to end, if it
 * is longer than that; false: none is. */
bool vv_whole_lives(const struct vv_whole *whole, int64_t retention_ns, int64_t now_ns,
                    struct vv_shortened *longest_out);
/* Taken together with what is known, in whatever order they come. Of more than there is room for
 * rather more is taken for gone than is. Setting makes a new, unsettled version. */
void vv_registry_note_whole(struct vv_registry *registry, uint32_t tenant, struct vv_whole whole);
/* How long is kept what others are built of: as the retention says, or, while longer ones that were
 * shortened still count, as the longest of them did. 0: for ever. */
int64_t vv_registry_life(struct vv_registry *registry, uint32_t tenant, int64_t now_ns);
/* How long the store is to keep what is put: where nodes share the store points as the retention
 * says, as what was put before has an end of its own; what is put of tiers lives like that. */
int64_t vv_registry_kept(struct vv_registry *registry, uint32_t tenant, int64_t now_ns);
/* The same as if nothing were held up. */
int64_t vv_registry_life_by_clock(struct vv_registry *registry, uint32_t tenant, int64_t now_ns);
/* Whether it lives for longer than the retention says. */
bool vv_registry_lives_on(struct vv_registry *registry, uint32_t tenant, int64_t now_ns);
/* What time it is for what ends by itself where nodes share the store: noted before each round of
 * the storage thread, so that nothing ends within one. */
void vv_registry_note_time(struct vv_registry *registry, int64_t now_ns);
/* Where one node has the store: what lives on ends by a clock that is so far behind, as nothing
 * expires that was there when it was due. Until this is noted first, nothing ends. */
void vv_registry_note_held(struct vv_registry *registry, int64_t held_ns);
/* Whether a tier that is off still has what was there when it was switched off, and gets what comes
 * since: until its life ends. Lock-free. */
bool vv_registry_is_ending(struct vv_registry *registry, uint32_t space);
/* Where no other node shares the store: all is built of what was to live for longer. */
void vv_registry_end_life(struct vv_registry *registry, uint32_t tenant);
/* Makes a metric of integers one of floats, for ever; nothing for one of floats. Values that were
 * taken as integers before stay integers where they are, and are converted when they are read:
 * those beyond 2^53 lose precision. */
VV_MUST_CHECK enum vv_status vv_registry_metric_widen(struct vv_registry *registry, uint32_t metric,
                                                      struct vv_error *error);

/* What is said of a metric, each with the time at which it was set. */
struct vv_described {
    struct vv_str unit;
    vv_stamp unit_stamp; /* 0: never set, or before it was shared */
    struct vv_str description;
    vv_stamp description_stamp;
};
void vv_registry_described(struct vv_registry *registry, uint32_t metric,
                           struct vv_described *described_out);
/* Of each text the one with the higher stamp counts; of equal ones the later one in the order of
 * bytes. VV_OVERLOAD beyond VV_DESCRIBE_BYTES_MAX. */
VV_MUST_CHECK enum vv_status vv_registry_learn_described(struct vv_registry *registry,
                                                         uint32_t metric,
                                                         const struct vv_described *described,
                                                         struct vv_error *error);

/* Whether the id is the whole tag set, which never changes. */
bool vv_registry_source_is_canonical(struct vv_registry *registry, uint32_t source);
/* Finds or makes a source by its id. One that is not canonical has no tags then, until the first
 * version of them is learnt or made. VV_EXISTS when it is known as the other sort of source. */
VV_MUST_CHECK enum vv_status vv_registry_learn_source(struct vv_registry *registry, uint32_t tenant,
                                                      struct vv_str id, bool canonical,
                                                      uint32_t *source_out, struct vv_error *error);
/* Adds a version of the tags of a source that is not canonical: tags ascending by key. Of two from
 * one time the greater one counts; the newest VV_TAG_HISTORY_MAX are kept. */
VV_MUST_CHECK enum vv_status vv_registry_learn_tags(struct vv_registry *registry, uint32_t source,
                                                    const struct vv_tag_version *version,
                                                    struct vv_error *error);
/* Adds plans to the source's history in a region (below VV_REGIONS_MAX): valid ones, ascending, the
 * first from VV_TIME_MIN. Those of another region than the own one, 0, make no new version: no
 * record has them. VV_CORRUPT when one is known with another content. */
VV_MUST_CHECK enum vv_status vv_registry_learn_plans(struct vv_registry *registry, uint32_t source,
                                                     uint8_t region, const struct vv_plan *plans,
                                                     size_t n, struct vv_error *error);

/*
 * A source's first plan gives way to another one, since nobody could be asked for it before: makes
 * a new, unsettled version. Until the end of the move readers know that what the store has may be
 * in the place of the old plan or of the new one. One at a time; VV_NO_MEMORY changes nothing.
 */
VV_MUST_CHECK enum vv_status vv_registry_begin_move(struct vv_registry *registry, uint32_t source,
                                                    const struct vv_plan *first,
                                                    struct vv_error *error);
void vv_registry_end_move(struct vv_registry *registry, uint32_t source);

/*
 * A version of tags is known to other nodes when it was learnt from one, told to them, or read from
 * a record (until vv_registry_forget_known). The versions that are not known yet, oldest first, as
 * vv_registry_source_history; n 0 for a canonical source, and where nothing is known of the tags.
 */
VV_MUST_CHECK enum vv_status vv_registry_unknown_tags(
    struct vv_registry *registry, uint32_t source, struct vv_arena *arena,
    struct vv_tag_version versions_out[VV_TAG_HISTORY_MAX], size_t *n_out);
/* This version is known to them from now on, unless it has changed since. */
void vv_registry_note_known(struct vv_registry *registry, uint32_t source,
                            const struct vv_tag_version *version);
/* Nothing is certain any more of who knows the source's tags. */
void vv_registry_forget_known(struct vv_registry *registry, uint32_t source);

#endif
