/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the registry share.
 *
 * Locks, in the order in which they are taken: a tenant's index (sources, their tags and plans);
 * the objects of a kind (numbers, and for tenants and metrics what can change of them); the texts.
 * Lookups by number, and by name of tenants, measurements and metrics, take none.
 */
#ifndef VV_REGISTRY_REGISTRY_PRIVATE_H
#define VV_REGISTRY_REGISTRY_PRIVATE_H

#include "registry/names.h"
#include "registry/objects.h"
#include "registry/registry.h"
#include "registry/shared.h"
#include "registry/source_set.h"

#include <pthread.h>

/* Memory for texts and plans, never given back. */
struct vv_text {
    uint32_t size;
    char data[];
};

/* ---- tags ---- */

struct vv_tag_key {
    struct vv_pool pairs; /* of struct vv_tag_pair */
    uint32_t number;      /* in the index */
    uint32_t hash;
    uint32_t n_pairs;
    uint32_t n_sources; /* that have it at present */
    uint32_t size;
    char text[];
};

struct vv_tag_pair {
    struct vv_tag_key *key;
    struct vv_source_set sources; /* that have it at present */
    uint32_t number;              /* in the index */
    uint32_t position;            /* in the key */
    uint32_t refs;                /* versions that hold it, sources whose tags never change */
    uint32_t hash;
    uint32_t size;
    char value[];
};

/* The sources of a tenant, by id and by tags. */
struct vv_index {
    pthread_rwlock_t lock;
    struct vv_slots ids; /* → source */
    roaring_bitmap_t *sources;
    struct vv_slots key_slots;  /* → number in keys */
    struct vv_pool keys;        /* of struct vv_tag_key */
    struct vv_slots pair_slots; /* → number in pairs */
    struct vv_pool pairs;       /* of struct vv_tag_pair */
};

/* A version of a source's tags: numbers of pairs, ascending by key. */
struct vv_tags {
    struct vv_tags *older;
    int64_t from_ns;
    uint32_t bytes; /* of this, and of all its keys and values */
    uint16_t n;
    bool known; /* to other nodes */
    uint32_t pairs[];
};

/* ---- objects ---- */

/* An object's version and whether that is settled, in one word, so that settling an older version
 * than the present one cannot settle it: version * 2 + settled. */
typedef _Atomic uint64_t vv_object_state;

struct vv_tenant {
    _Atomic(const struct vv_text *) name; /* NULL: a hole; likewise below */
    vv_object_state state;
    _Atomic int64_t retention_ns;
    _Atomic vv_stamp retention_stamp; /* 0: none */
    _Atomic uint64_t late;            /* vv_late_pack */
    _Atomic vv_stamp late_stamp;      /* 0: none */
    struct vv_whole whole;            /* under the tenants' lock … */
    _Atomic int64_t lives_until;      /* … and of that vv_whole_until, for readers without it */
    _Atomic uint32_t metric_last;     /* its metrics, linked by `next`; number + 1, 0: none */
    uint32_t replaced_bytes;          /* of units and descriptions; under the metrics' lock */
    _Atomic uint32_t spaces[VV_SPACES_ALL]; /* of a tenant: number + 1, 0: it has none */
    _Atomic uint32_t owner;                 /* of a space: its place's number + 1; of a class: its
                                               tenant's; 0: not known yet */
    _Atomic uint8_t space;                  /* which one it is; VV_SPACES_ALL: a class */
    _Atomic uint32_t class_first;           /* of a tenant: the number of a class + 1, 0: none */
    _Atomic uint32_t n_classes;             /* of a tenant: that are known, linked or not */
    _Atomic bool may_have_classes;          /* something is known of one, or was */
    uint32_t class_next; /* of a class: the next one, likewise; set before it is linked */
    _Atomic(const struct vv_text *) patterns; /* of a class; NULL: "" */
    vv_stamp patterns_stamp;                  /* 0: none; under the tenants' lock */
    _Atomic bool is_ready;                    /* a class that all nodes know */
    struct vv_index index;
};

/* Never changed once it is seen; kept for the registry's life. */
struct vv_moves {
    size_t n; /* < VV_MOVES_MAX; ascending */
    struct vv_move items[];
};

struct vv_measurement {
    _Atomic(const struct vv_text *) name;
    vv_object_state state;
    uint32_t tenant;
    _Atomic uint32_t place;   /* of its first points: the tenant, or a class of it */
    _Atomic bool is_placed;   /* all nodes have agreed on that; set after it */
    _Atomic bool wants_place; /* something of it is about to be stored */
    _Atomic(uint32_t) n_metrics;
    _Atomic(const struct vv_moves *) moves; /* NULL: none */
};

struct vv_metric {
    _Atomic(const struct vv_text *) name; /* measurement.field */
    vv_object_state state;
    _Atomic(const struct vv_text *) unit;        /* NULL: "" */
    _Atomic(const struct vv_text *) description; /* NULL: "" */
    vv_stamp unit_stamp;                         /* 0: none; under the metrics' lock */
    vv_stamp description_stamp;                  /* the same */
    uint32_t tenant;
    uint32_t measurement;
    uint32_t field_at;                /* where the field begins in the name */
    uint32_t next;                    /* metric of the tenant; number + 1, 0: none */
    uint32_t rank;                    /* in its measurement, in the order in which they came */
    _Atomic(enum vv_value_type) type; /* of integers may become of floats */
};

struct vv_source_id {
    uint16_t size;
    bool canonical; /* the id is the whole tag set: its tags never change */
    char text[];
};
_Static_assert(VV_SOURCE_ID_BYTES_MAX <= UINT16_MAX, "the size of an id fits");

/* Plans at the end may be added in place: n grows, what readers hold stays. */
struct vv_plan_list {
    uint16_t capacity;
    _Atomic bool is_moving; /* see vv_registry_begin_move; such a list is one source's alone */
    _Atomic uint32_t n;
    struct vv_plan plans[];
};
/* Where a source's list in a region is found; NULL: it has none. */
typedef _Atomic(struct vv_plan_list *) vv_plan_slot;

struct vv_source {
    _Atomic(const struct vv_source_id *) id;
    vv_object_state state;
    _Atomic int64_t first_ns; /* written after last_ns; INT64_MAX: none */
    _Atomic int64_t last_ns;
    _Atomic uint64_t times_settled; /* the version of the times that is in the metadata */
    struct vv_tags *tags;           /* under the tenant's lock; NULL when canonical */
    vv_plan_slot plans;             /* of the own region */
    uint32_t tenant;
    _Atomic uint32_t tags_epoch; /* changes with the present tags */
};
_Static_assert(sizeof(struct vv_source) == 64, "a source is one cache line");

/* Plans that many sources have in common: one plan from the beginning of time. */
#define VV_SHARED_PLANS_MAX 64

struct vv_series_cache;
struct vv_canonical;

struct vv_registry {
    struct vv_str id_tag; /* data NULL: none; owned */
    size_t bytes_max;
    size_t history_bytes_max;
    int64_t retention_ns;      /* of new tenants */
    struct vv_late late;       /* the same */
    bool has_spaces;           /* the same */
    vv_stamp (*stamp)(void *); /* NULL: the registry is not shared */
    void *stamp_context;
    uint8_t secret[VV_HASH_SECRET_SIZE];

    _Atomic size_t bytes; /* held, without the series cache */
    _Atomic size_t history_bytes;
    _Atomic uint64_t tag_values;
    _Atomic uint64_t tag_changes;

    _Atomic uint32_t n_unplaced;    /* measurements */
    _Atomic int64_t now_ns;         /* vv_registry_note_time */
    _Atomic int64_t held_ns;        /* vv_registry_note_held */
    _Atomic uint32_t n_agreeing;    /* measurements with moves that are not settled */
    _Atomic uint32_t n_linked;      /* classes */
    _Atomic bool has_classes;       /* anything of one, of any tenant */
    _Atomic bool has_stray_classes; /* whose tenant came later */

    struct vv_objects tenants;
    struct vv_objects measurements;
    struct vv_objects metrics;
    struct vv_objects sources;
    struct vv_names tenant_names;      /* under the tenants' lock when adding */
    struct vv_names measurement_names; /* under the metrics' lock when adding */
    struct vv_names metric_names;      /* likewise; by tenant and measurement.field */
    struct vv_names metric_fields;     /* likewise; by measurement and field */

    pthread_mutex_t texts_lock;
    struct vv_arena texts;
    _Atomic uint64_t plan_moves; /* begun and ended */
    struct vv_plan_list *shared_plans[VV_SHARED_PLANS_MAX];
    size_t n_shared_plans;
    /* Slots by source, of each region but the own one; NULL until plans of it are learnt. */
    _Atomic(struct vv_objects *) region_plans[VV_REGIONS_MAX];
    _Atomic uint8_t plan_regions; /* those that are not NULL are below */

    struct vv_series_cache *series;
};

/* ---- registry.c ---- */

/* malloc and free that count; size must be the same for both. */
void *vv_registry_alloc(struct vv_registry *registry, size_t size);
void vv_registry_free(struct vv_registry *registry, void *memory, size_t size);
void vv_registry_charge(struct vv_registry *registry, size_t bytes);
void vv_registry_discharge(struct vv_registry *registry, size_t bytes);
/* VV_TOO_LARGE with a message when bytes_max is reached. */
VV_MUST_CHECK enum vv_status vv_registry_check_room(struct vv_registry *registry,
                                                    struct vv_error *error);
/* Memory for the registry's life; NULL when it is out. */
void *vv_registry_keep(struct vv_registry *registry, size_t size);
struct vv_text *vv_registry_keep_text(struct vv_registry *registry, struct vv_str text);
uint64_t vv_registry_hash(const struct vv_registry *registry, uint32_t owner, struct vv_str text);
/* The stamp of something that is set now in the place of what has the stamp `before`; 0 when the
 * registry is not shared. */
vv_stamp vv_registry_stamp_above(struct vv_registry *registry, vv_stamp before);

static inline struct vv_str vv_text_str(const struct vv_text *text)
{
    return text ? (struct vv_str){text->data, text->size} : (struct vv_str){"", 0};
}

/* The object with a number; NULL for a hole. */
struct vv_tenant *vv_tenant_at(struct vv_registry *registry, uint32_t number);
struct vv_measurement *vv_measurement_at(struct vv_registry *registry, uint32_t number);
struct vv_metric *vv_metric_at(struct vv_registry *registry, uint32_t number);
struct vv_source *vv_source_at(struct vv_registry *registry, uint32_t number);

/* ---- state.c ---- */

/* The present version. */
uint64_t vv_state_version(const vv_object_state *state);
/* A new, unsettled version. Callers hold a lock that orders changes of the object. */
void vv_state_change(vv_object_state *state);
void vv_state_set_settled(vv_object_state *state, uint64_t version);

/* ---- tenants.c, metrics.c: also for records; the caller holds the kind's lock ---- */

/* What both a new tenant and one from a record need; the name is known to be free. */
VV_MUST_CHECK enum vv_status vv_tenant_add(struct vv_registry *registry, uint32_t number,
                                           struct vv_str name, int64_t retention_ns,
                                           uint64_t state);
/* Found or made, also one of a class or a space; takes the tenants' lock. */
VV_MUST_CHECK enum vv_status vv_tenant_make(struct vv_registry *registry, struct vv_str name,
                                            int64_t retention_ns, uint32_t *number_out,
                                            struct vv_error *error);
/* It was settled: a place and those of its spaces that were find each other from now on, as do a
 * tenant and its class. */
void vv_tenant_link(struct vv_registry *registry, uint32_t number);
/* classes.c: for the two above and for records. */
void vv_class_link(struct vv_registry *registry, uint32_t tenant, uint32_t number);
/* A tenant, space or class of this name is about to be seen. */
void vv_class_count(struct vv_registry *registry, struct vv_str name);
/* Whose retention counts: late points are kept as long as those of their place that came in time.
 */
/* Under the tenants' lock, or before other threads start. */
void vv_tenant_set_whole(struct vv_tenant *tenant, const struct vv_whole *whole);
struct vv_tenant *vv_tenant_keeper(struct vv_registry *registry, struct vv_tenant *tenant);
/* The retention of one that is made here, with a stamp; nothing when it has one. */
void vv_retention_begin(struct vv_registry *registry, uint32_t number, int64_t retention_ns);
bool vv_class_patterns_are_good(struct vv_str patterns);
VV_MUST_CHECK enum vv_status vv_class_keep_patterns(struct vv_registry *registry, uint32_t number,
                                                    struct vv_str patterns);
VV_MUST_CHECK enum vv_status vv_measurement_add(struct vv_registry *registry, uint32_t number,
                                                uint32_t tenant, uint32_t place, bool is_placed,
                                                struct vv_str name, uint64_t state);
/* Takes a place, under the kind's lock; the version stays: that is the caller's. */
void vv_measurement_place(struct vv_registry *registry, struct vv_measurement *measurement,
                          uint32_t place, bool is_placed);
/* places.c: under the kind's lock; the version stays. n < VV_MOVES_MAX; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_measurement_set_moves(struct vv_registry *registry,
                                                      struct vv_measurement *measurement,
                                                      const struct vv_move *moves, size_t n);
size_t vv_measurement_moves(struct vv_measurement *measurement,
                            struct vv_move moves_out[VV_MOVES_MAX]);
/* Not too many, from beginnings of days, ascending. */
bool vv_moves_are_good(const struct vv_move *moves, size_t n);
VV_MUST_CHECK enum vv_status vv_metric_add(struct vv_registry *registry, uint32_t number,
                                           uint32_t measurement, struct vv_str field,
                                           enum vv_value_type type, uint64_t state,
                                           struct vv_error *error);
/* data NULL leaves one as it is. The version stays: that is the caller's. */
VV_MUST_CHECK enum vv_status vv_metric_describe(struct vv_registry *registry,
                                                struct vv_metric *metric, struct vv_str unit,
                                                struct vv_str description, bool *changed_out);
/* Makes its type float. */
void vv_metric_widen(struct vv_metric *metric);
static inline enum vv_value_type vv_metric_type(const struct vv_metric *metric)
{
    return atomic_load_explicit(&metric->type, memory_order_acquire);
}
uint32_t vv_tenant_find(struct vv_registry *registry, struct vv_str name);
uint32_t vv_measurement_find(struct vv_registry *registry, uint32_t tenant, struct vv_str name);
void vv_tenant_deinit(struct vv_registry *registry, struct vv_tenant *tenant);

/* ---- index.c: under the index's lock ---- */

VV_MUST_CHECK enum vv_status vv_index_init(struct vv_index *index);
void vv_index_deinit(struct vv_registry *registry, struct vv_index *index);
struct vv_tag_key *vv_index_key(struct vv_registry *registry, struct vv_index *index,
                                struct vv_str key);
struct vv_tag_pair *vv_index_pair(struct vv_registry *registry, struct vv_index *index,
                                  struct vv_str key, struct vv_str value);
static inline struct vv_tag_pair *vv_index_pair_at(struct vv_index *index, uint32_t number)
{
    return vv_pool_at(&index->pairs, number);
}
/* Finds or makes a pair, holds a reference to it and makes sure that a source can be added to it.
 * Every change of the sets goes through add and remove. */
VV_MUST_CHECK enum vv_status vv_index_hold(struct vv_registry *registry, struct vv_index *index,
                                           struct vv_tag tag, uint32_t *pair_out);
void vv_index_release(struct vv_registry *registry, struct vv_index *index, uint32_t pair);
void vv_index_add(struct vv_registry *registry, struct vv_index *index, uint32_t pair,
                  uint32_t source);
void vv_index_remove(struct vv_registry *registry, struct vv_index *index, uint32_t pair,
                     uint32_t source);
uint32_t vv_index_source(struct vv_registry *registry, const struct vv_index *index,
                         struct vv_str id, uint64_t hash);

/* ---- tags.c: versions of tags, under the index's lock ---- */

static inline struct vv_str vv_pair_key(const struct vv_tag_pair *pair)
{
    return (struct vv_str){pair->key->text, pair->key->size};
}

static inline struct vv_str vv_pair_value(const struct vv_tag_pair *pair)
{
    return (struct vv_str){pair->value, pair->size};
}

/* A version with these tags (ascending, not too many); holds its pairs. */
VV_MUST_CHECK enum vv_status vv_tags_create(struct vv_registry *registry, struct vv_index *index,
                                            const struct vv_tag *tags, size_t n, int64_t from_ns,
                                            struct vv_tags **tags_out);
/* Releases its pairs; NULL is allowed. Returns the next older one. */
struct vv_tags *vv_tags_destroy(struct vv_registry *registry, struct vv_index *index,
                                struct vv_tags *take_tags);
/* The index knows the source by `now` instead of `before` (either may be NULL). */
void vv_tags_reindex(struct vv_registry *registry, struct vv_index *index, uint32_t source,
                     const struct vv_tags *before, const struct vv_tags *now);
/* Whether all of n tags (ascending) are among the version's, with the same values. */
bool vv_tags_contain(struct vv_index *index, const struct vv_tags *version,
                     const struct vv_tag *tags, size_t n);
/* Applies what a caller mentions: see vv_registry_source. */
VV_MUST_CHECK enum vv_status vv_tags_update(struct vv_registry *registry, struct vv_index *index,
                                            uint32_t number, const struct vv_tag *tags, size_t n,
                                            int64_t time, struct vv_error *error);
/* Adds one version: see vv_registry_learn_tags; it is known to others. */
VV_MUST_CHECK enum vv_status vv_tags_learn(struct vv_registry *registry, struct vv_index *index,
                                           uint32_t number, const struct vv_tag_version *version);
/* The version is known to others unless it has changed since. */
void vv_tags_note_known(struct vv_index *index, struct vv_tags *newest,
                        const struct vv_tag_version *version);
/* Whether this is what a source has of which nothing is known yet. */
static inline bool vv_tags_are_unknown(const struct vv_tags *version)
{
    return version->n == 0 && version->from_ns == VV_TIME_MIN;
}
/* Makes all versions of a source these (newest first); what was before goes. */
void vv_tags_replace_all(struct vv_registry *registry, struct vv_index *index, uint32_t number,
                         struct vv_tags *take_tags);

/* ---- sources.c ---- */

struct vv_source_new {
    struct vv_str id;
    bool canonical;
    const struct vv_tag *tags; /* of the present version; ascending */
    size_t n_tags;
    int64_t from_ns;
    uint64_t state;
};
/* Under the write lock of the tenant's index; the id is known to be free. number: NONE for the
 * next. */
VV_MUST_CHECK enum vv_status vv_source_add(struct vv_registry *registry, uint32_t tenant,
                                           const struct vv_source_new *new_source, uint32_t number,
                                           uint32_t *number_out, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_source_check_limits(struct vv_registry *registry,
                                                    struct vv_error *error);
static inline struct vv_str vv_source_id_str(const struct vv_source *source)
{
    const struct vv_source_id *id = atomic_load_explicit(&source->id, memory_order_acquire);
    return (struct vv_str){id->text, id->size};
}
static inline bool vv_source_is_canonical(const struct vv_source *source)
{
    return atomic_load_explicit(&source->id, memory_order_acquire)->canonical;
}

/* ---- plans.c: under the write lock of the tenant's index ---- */

/* VV_INVALID, VV_TOO_LARGE. */
VV_MUST_CHECK enum vv_status vv_plans_check(const struct vv_plan *plans, size_t n);
/* The plans have been checked. */
VV_MUST_CHECK enum vv_status vv_plans_replace(struct vv_registry *registry, vv_plan_slot *slot,
                                              const struct vv_plan *plans, size_t n,
                                              bool *changed_out);
/* Of other regions; for the registry's end, and its bytes. */
void vv_plans_deinit(struct vv_registry *registry);
size_t vv_plans_bytes(struct vv_registry *registry);

/* ---- times.c ---- */

/* 0: none; else how wide the times are, + 1: it grows with every change. */
uint64_t vv_times_version(const struct vv_source *source);
void vv_times_widen(struct vv_source *source, int64_t first, int64_t last);

/* ---- source_record.c: the part of a record behind its head; under the index's lock ---- */

void vv_source_encode(struct vv_registry *registry, uint32_t number, struct vv_buffer *buffer);
/* The tags that a canonical id stands for; VV_CORRUPT when it is none. They borrow from room, which
 * has VV_SOURCE_ID_BYTES_MAX bytes, and from canonical. */
VV_MUST_CHECK enum vv_status vv_source_tags_of_id(struct vv_str id, char *room,
                                                  struct vv_canonical *canonical,
                                                  struct vv_error *error);
/* What follows the tenant. The caller sets the state when it is VV_OK. */
VV_MUST_CHECK enum vv_status vv_source_apply(struct vv_registry *registry, uint32_t tenant,
                                             uint32_t number, uint64_t version,
                                             struct vv_reader *reader, struct vv_error *error);

/* ---- series_cache.c ---- */

VV_MUST_CHECK enum vv_status vv_series_cache_create(size_t bytes, struct vv_series_cache **out);
void vv_series_cache_destroy(struct vv_series_cache *cache);
/* Best effort. tags_epoch: the source's, while its present tags were those of the raw bytes. */
void vv_series_cache_keep(struct vv_registry *registry, uint32_t tenant, struct vv_str raw,
                          struct vv_series series, uint32_t tags_epoch);
void vv_series_cache_figures(struct vv_series_cache *cache, struct vv_registry_figures *figures);

#endif
