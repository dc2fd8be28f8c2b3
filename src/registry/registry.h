/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: tenants, measurements, metrics and sources, by name and by number, with the tag
 * index. Kept in memory, bounded by its limits; its records are in the journal before their first
 * use and in the store's metadata after a flush.
 *
 * Words: numbers are dense, count from 0 over all tenants of this node, and never change; number
 * VV_REGISTRY_NONE is none. A source's id is the text by which users know it. A record is the
 * encoded present state of one object; applying it again, or an older version of it later, changes
 * nothing. An object is settled when its present version is in the journal. A number that is not
 * in use is a hole (its object was made, but its batch never reached the journal): asking about a
 * hole gives an empty answer and is no error.
 *
 * Texts (names, tag keys and values, ids) are UTF-8 without control characters.
 *
 * Threads: any thread may call anything unless said otherwise; what is returned by reference is
 * immutable for the registry's life (tags are copied out instead, since they change). Lookups of
 * known objects take a read lock or none; a tenant's sources have a lock of their own.
 *
 * Memory: bounded by bytes_max and cache_bytes. A failed allocation is VV_NO_MEMORY and changes
 * nothing; only libroaring, which keeps the larger sets of the tag index, ends the process then.
 */
#ifndef VV_REGISTRY_REGISTRY_H
#define VV_REGISTRY_REGISTRY_H

#include "base/arena.h"
#include "codec/block.h"
#include "model/late.h"
#include "model/partition.h"
#include "model/space.h"

struct vv_registry;

#define VV_REGISTRY_NONE UINT32_MAX

/* Kinds of records in the journal and in the store's metadata. Values are part of the formats. */
enum vv_registry_kind {
    VV_REGISTRY_TENANT = 1,
    VV_REGISTRY_MEASUREMENT = 2,
    VV_REGISTRY_METRIC = 3,
    VV_REGISTRY_SOURCE = 4, /* id, tags with history, plans */
    VV_REGISTRY_TIMES = 5,  /* a source's first and last time; metadata only, not journaled */
};

struct vv_registry_options {
    const char *id_tag; /* this tag's value is the source's id, the others are its tags; "" or
                           NULL: the whole tag set in canonical order is the id */
    uint32_t tenants_max;
    uint32_t sources_max; /* over all tenants */
    uint32_t metrics_max; /* over all tenants, measurements count too */
    size_t cache_bytes;   /* the series cache, at most */
    int64_t retention_ns; /* of new tenants; 0: for ever. Not of those that other nodes told of */
    struct vv_late late;  /* what the same tenants want done with late points; a good one */
    bool has_spaces;      /* the same tenants have all spaces, kept as long as by default */
    size_t bytes_max;     /* all but the series cache, at most; 0: 64 MiB and 1 KiB per source of
                             sources_max. Beyond it new objects and new tags are VV_TOO_LARGE. */
};

/* More objects of a kind than these are not possible, whatever the options say. */
#define VV_SOURCES_LIMIT (1u << 26)
#define VV_TENANTS_LIMIT (1u << 19)
#define VV_METRICS_LIMIT (1u << 22) /* and measurements */

VV_MUST_CHECK enum vv_status vv_registry_create(const struct vv_registry_options *options,
                                                struct vv_registry **registry_out);
void vv_registry_destroy(struct vv_registry *registry);

/* ---- tenants ---- */

#define VV_TENANT_NAME_MAX 128
/* Finds, or with `create` makes, a tenant. A name has 1 to 128 bytes of UTF-8 without control
 * characters or '/'. VV_NOT_FOUND, VV_INVALID, VV_TOO_LARGE (tenants_max), VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_registry_tenant(struct vv_registry *registry, struct vv_str name,
                                                bool create, uint32_t *tenant_out,
                                                struct vv_error *error);
struct vv_str vv_registry_tenant_name(struct vv_registry *registry, uint32_t tenant);
uint32_t vv_registry_tenant_count(struct vv_registry *registry);
/* Whether the number is a tenant's: not a space's, nor one that was never journaled. */
bool vv_registry_is_tenant(struct vv_registry *registry, uint32_t number);

#define VV_SPACE_NAME_MAX (VV_TENANT_NAME_MAX + VV_CLASS_SUFFIX_MAX + VV_SPACE_SUFFIX_MAX)
/* Finds, or with `create` makes, a place's space, in its latest life: its number. As
 * vv_registry_tenant. What is said here of a tenant's spaces holds for those of a class. */
VV_MUST_CHECK enum vv_status vv_registry_space(struct vv_registry *registry, uint32_t tenant,
                                               enum vv_space space, bool create,
                                               uint32_t *space_out, struct vv_error *error);
/* Makes the next life of a place's tier, whose space there is: its number. As vv_registry_tenant;
 * VV_TOO_LARGE: it has had VV_SPACE_LIVES_MAX. */
VV_MUST_CHECK enum vv_status vv_registry_next_space(struct vv_registry *registry, uint32_t tenant,
                                                    enum vv_space tier, uint32_t *space_out,
                                                    struct vv_error *error);
/* A tenant's spaces that are on; VV_REGISTRY_NONE: there is none that was ever settled, or it is
 * off. Lock-free. */
struct vv_tiers {
    uint32_t spaces[VV_SPACES];
    bool any;
};
struct vv_tiers vv_registry_tiers(struct vv_registry *registry, uint32_t tenant);
/* The same with those that were switched off, and that others are still to be built of: what is in
 * them is as good as ever, but not for answers (vv_registry_is_ending). */
struct vv_tiers vv_registry_tiers_built(struct vv_registry *registry, uint32_t tenant);
/* The coarsest tier that is on and finer than `above`; below 0: only points are. */
int vv_tiers_below(const struct vv_tiers *tiers, int above);
/* Where a tenant's late points are kept apart; VV_REGISTRY_NONE: nowhere, and they never were.
 * Lock-free. */
uint32_t vv_registry_late_space(struct vv_registry *registry, uint32_t tenant);
/* The same, also where it was only learnt so far: what other nodes have put there is to be read. */
uint32_t vv_registry_late_seen(struct vv_registry *registry, uint32_t tenant);
/* The tenant that a space or a class is of; a tenant is its own. Lock-free. */
uint32_t vv_registry_owner(struct vv_registry *registry, uint32_t number);
/* The place that a space is of, of any kind; a place is its own. Lock-free. */
uint32_t vv_registry_place_of(struct vv_registry *registry, uint32_t number);
/* Of a tier's space: which one it is, and of which place; false for others, and for places.
 * Lock-free. */
bool vv_registry_space_of(struct vv_registry *registry, uint32_t number, uint32_t *place_out,
                          enum vv_space *space_out);
/* A tenant and its spaces, as far as their present versions are not in the journal; returns how
 * many. In an order in which a journal may end early: a new tenant comes last. */
size_t vv_registry_unsettled(struct vv_registry *registry, uint32_t tenant,
                             uint32_t numbers_out[VV_SPACES_ALL + 1]);
/* Notes these in a batch, so that they are in the journal with it. VV_NO_MEMORY. */
struct vv_batch;
VV_MUST_CHECK enum vv_status vv_registry_define_tenant(struct vv_registry *registry,
                                                       uint32_t tenant, struct vv_batch *batch);
/* A tenant or a space by its name. */
VV_MUST_CHECK enum vv_status vv_registry_space_named(struct vv_registry *registry,
                                                     struct vv_str name, bool create,
                                                     uint32_t *number_out, struct vv_error *error);

/* Raw data lives this long (0: for ever), late points too; a former life of a tier is off. Setting
 * makes a new, unsettled version. */
int64_t vv_registry_retention(struct vv_registry *registry, uint32_t tenant);
void vv_registry_set_retention(struct vv_registry *registry, uint32_t tenant, int64_t retention_ns);

/* What the tenant wants done with late points; of a class, its tenant. Setting a good one makes a
 * new, unsettled version. Lock-free to read. */
struct vv_late vv_registry_late(struct vv_registry *registry, uint32_t tenant);
void vv_registry_set_late(struct vv_registry *registry, uint32_t tenant, struct vv_late late);

/* ---- classes: see model/space.h ---- */

#define VV_CLASSES_SET_MAX          16 /* a tenant that has as many gets no more … */
#define VV_CLASSES_OF_TENANT_MAX    64 /* … but from nodes that set some at the same time */
#define VV_PLACES_MAX               (1 + VV_CLASSES_OF_TENANT_MAX)
#define VV_CLASS_PATTERNS_MAX       64
#define VV_CLASS_PATTERNS_BYTES_MAX 15360

/* A tenant's class of this name; VV_REGISTRY_NONE: there is none. */
uint32_t vv_registry_class(struct vv_registry *registry, uint32_t tenant, struct vv_str name);
/* Finds or makes one; a new one takes no measurement, and none before it is settled. VV_INVALID,
 * VV_TOO_LARGE, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_registry_make_class(struct vv_registry *registry, uint32_t tenant,
                                                    struct vv_str name, int64_t retention_ns,
                                                    uint32_t *class_out, struct vv_error *error);
/* A tenant's classes that were ever settled, the youngest first; returns how many. Lock-free. */
size_t vv_registry_classes(struct vv_registry *registry, uint32_t tenant,
                           uint32_t classes_out[VV_CLASSES_OF_TENANT_MAX]);
/* Which measurements a class takes: names, or how they begin with a '*' behind it, each with a line
 * feed at its end. Setting good ones makes a new, unsettled version. */
struct vv_str vv_registry_class_patterns(struct vv_registry *registry, uint32_t number);
VV_MUST_CHECK enum vv_status vv_registry_set_class_patterns(struct vv_registry *registry,
                                                            uint32_t number, struct vv_str patterns,
                                                            struct vv_error *error);
/* Takes the first pattern off; false: there is none. */
bool vv_class_next_pattern(struct vv_str *patterns, struct vv_str *pattern_out);
VV_MUST_CHECK enum vv_status vv_class_check_pattern(struct vv_str pattern, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_class_check_name(struct vv_str name, struct vv_error *error);
/* The place that a new measurement of this name goes to: a class that names it, else the one that
 * says most of how it begins, else the tenant. Lock-free. */
uint32_t vv_registry_match_class(struct vv_registry *registry, uint32_t tenant, struct vv_str name);
/* Whether all nodes know it (shared.h); where there are no others, always. */
bool vv_registry_class_is_ready(struct vv_registry *registry, uint32_t number);
/* Where a measurement's points lie until it is moved for the first time: fixed when it is made, or
 * agreed on (shared.h); VV_REGISTRY_NONE: there is no such one. Lock-free. */
uint32_t vv_registry_first_place(struct vv_registry *registry, uint32_t measurement);
/* A stay: a measurement's points of [from, to) lie there. All of time is in one of its stays, the
 * first from INT64_MIN, the last to INT64_MAX; in between they change at beginnings of UTC days,
 * so that no step of a tier is divided. */
struct vv_stay {
    uint32_t place;
    int64_t from;
    int64_t to;
};
#define VV_STAYS_MAX 16
/* That of points of a time; the place is VV_REGISTRY_NONE where there is no such measurement.
 * Lock-free, as are those below. */
struct vv_stay vv_registry_stay(struct vv_registry *registry, uint32_t measurement, int64_t time);
/* All of them, ascending; returns how many, 0 for a hole. */
size_t vv_registry_stays(struct vv_registry *registry, uint32_t measurement,
                         struct vv_stay stays_out[VV_STAYS_MAX]);
/*
 * Moves (places.c): points from a time on, the beginning of a day, lie in another place. Where
 * nodes share a store they agree on each, by the measurement and the day: until it is settled it
 * counts for nothing here, and points of then have no place. src/fleet/moves.c says what the states
 * are for.
 */
/* Part of the format, below 128. */
enum vv_move_state {
    VV_MOVE_SETTLED = 0,
    VV_MOVE_PROPOSED = 1,  /* here; others may not know of it */
    VV_MOVE_TOLD = 2,      /* all can know of it */
    VV_MOVE_SURE = 3,      /* … and could early enough: this node is for it */
    VV_MOVE_WITHDRAWN = 4, /* somebody is against it, and asks */
};
struct vv_move {
    int64_t from_ns;
    uint32_t place;
    enum vv_move_state state;
    bool is_own; /* it was proposed here: what becomes of it is told instead */
};
#define VV_MOVES_MAX 64 /* there are fewer */
/* All of a measurement, ascending; returns how many. A settled one may go where the points were
 * before (idle). Lock-free. */
size_t vv_registry_moves(struct vv_registry *registry, uint32_t measurement,
                         struct vv_move moves_out[VV_MOVES_MAX]);
/* From when on, until_ns at most, it is not known here where its points lie: nodes have not agreed
 * on that yet; 0: it is known. */
int64_t vv_registry_waits_from(struct vv_registry *registry, uint32_t measurement,
                               int64_t until_ns);
/* Whether points of [from, to) may lie in the place. */
bool vv_registry_stays_in(struct vv_registry *registry, uint32_t measurement, uint32_t place,
                          int64_t from, int64_t to);
/* Moves those from `from_ns` on, the beginning of a day, instead of what was said of then and later
 * before: makes a new, unsettled version. The caller sees to it that none is stored, nor will be
 * before that is settled. *before_out: how it was, for the registry's life. VV_EXISTS:
 * it has as many stays as there may be. VV_TOO_LARGE, VV_NOT_FOUND, VV_NO_MEMORY. */
struct vv_moves;
VV_MUST_CHECK enum vv_status vv_registry_move(struct vv_registry *registry, uint32_t measurement,
                                              uint32_t place, int64_t from_ns,
                                              const struct vv_moves **before_out,
                                              struct vv_error *error);
/* Makes it as it was, which is a new version, too; nobody has moved it since. */
void vv_registry_take_back(struct vv_registry *registry, uint32_t measurement,
                           const struct vv_moves *before);
/* Measurements have numbers below this; there may be holes. */
uint32_t vv_registry_measurement_count(struct vv_registry *registry);
/* Whose measurement it is; VV_REGISTRY_NONE for a hole. */
uint32_t vv_registry_measurement_tenant(struct vv_registry *registry, uint32_t measurement);
/* The place of points of a time by the measurement's name; also of one that is still to be made. */
uint32_t vv_registry_place_named(struct vv_registry *registry, uint32_t tenant, struct vv_str name,
                                 int64_t time);
/* The tenant, then its classes. */
size_t vv_registry_places(struct vv_registry *registry, uint32_t tenant,
                          uint32_t places_out[VV_PLACES_MAX]);
/* Of the points of all places, also of what was put before one was made shorter the last time,
 * where nodes share the store; 0: for ever. */
int64_t vv_registry_longest_retention(struct vv_registry *registry, uint32_t tenant);
/* How long a bucket of a tenant's source may be: an eighth of the retention, so that data does not
 * outlive it by more; of a class at least a day, since the plan is that of all measurements. 0: any
 * length. */
int64_t vv_registry_bucket_max(struct vv_registry *registry, uint32_t tenant);

/* ---- measurements and metrics ---- */

#define VV_NAME_BYTES_MAX 4096 /* of a measurement, field, tag key or tag value */

VV_MUST_CHECK enum vv_status vv_registry_measurement(struct vv_registry *registry, uint32_t tenant,
                                                     struct vv_str name, bool create,
                                                     uint32_t *measurement_out,
                                                     struct vv_error *error);
struct vv_str vv_registry_measurement_name(struct vv_registry *registry, uint32_t measurement);

/* A metric is a field of a measurement; its name is `measurement.field`. Two fields of different
 * measurements that would have the same name (`a.b` + `c`, `a` + `b.c`): the second is refused with
 * VV_EXISTS. The type is fixed at first sight; *type_out tells it. */
VV_MUST_CHECK enum vv_status vv_registry_metric(struct vv_registry *registry, uint32_t measurement,
                                                struct vv_str field, enum vv_value_type type,
                                                bool create, uint32_t *metric_out,
                                                enum vv_value_type *type_out,
                                                struct vv_error *error);
/* How many a measurement has, and as which of them one came, from 0: a block has room for
 * VV_BLOCK_COLUMNS_MAX, and who makes metrics for clients makes no more. Lock-free. */
uint32_t vv_registry_metrics_of(struct vv_registry *registry, uint32_t measurement);
uint32_t vv_registry_metric_rank(struct vv_registry *registry, uint32_t metric);
/* The tenant's metric with this name (`measurement.field`); VV_REGISTRY_NONE when there is none. */
uint32_t vv_registry_metric_named(struct vv_registry *registry, uint32_t tenant,
                                  struct vv_str name);
/* Metrics have numbers below this; there may be holes. */
uint32_t vv_registry_metric_count(struct vv_registry *registry);
struct vv_metric_info {
    uint32_t metric;
    uint32_t tenant;
    uint32_t measurement;
    uint32_t first_place; /* as it was known then: see vv_registry_first_place */
    enum vv_value_type type;
    struct vv_str name;        /* measurement.field */
    struct vv_str unit;        /* "" if unset */
    struct vv_str description; /* "" if unset */
};
void vv_registry_metric_info(struct vv_registry *registry, uint32_t metric,
                             struct vv_metric_info *info_out);
/* data NULL leaves one as it is. At most 64 bytes of unit and 1,024 of description (VV_TOO_LARGE).
 * Older texts stay valid for those who hold them; so that they stay few, a tenant may replace
 * VV_DESCRIBE_BYTES_MAX of them in a process's life: beyond, VV_OVERLOAD. */
#define VV_UNIT_BYTES_MAX        64
#define VV_DESCRIPTION_BYTES_MAX 1024
#define VV_DESCRIBE_BYTES_MAX    (1u << 20)
VV_MUST_CHECK enum vv_status vv_registry_describe(struct vv_registry *registry, uint32_t metric,
                                                  struct vv_str unit, struct vv_str description,
                                                  struct vv_error *error);
/* The tenant's metrics whose name equals one of the patterns ('*' and '?' as in a shell; a
 * backslash escapes), in the order of names; all when n is 0. The caller frees *metrics_out. A
 * pattern without wildcards that matches nothing: VV_NOT_FOUND, the message names it. */
VV_MUST_CHECK enum vv_status vv_registry_find_metrics(struct vv_registry *registry, uint32_t tenant,
                                                      const struct vv_str *patterns, size_t n,
                                                      uint32_t **metrics_out, size_t *n_out,
                                                      struct vv_error *error);

/* ---- sources ---- */

struct vv_tag {
    struct vv_str key;
    struct vv_str value;
};

#define VV_TAGS_MAX            256
#define VV_SOURCE_ID_BYTES_MAX 8192 /* also of all the tags of a source together */

/*
 * The source of a tag set, made when it is new. `tags` in any order; a key that occurs twice: the
 * last value counts; an empty value: as if absent.
 *
 * By default, and where the id tag is not among them, the canonical text of the whole set is the
 * id: keys ascending, `k=v` joined by commas, with a backslash before each comma, equals sign,
 * space and backslash; "-" when there are no tags. Such a source's tags never change.
 *
 * With an id tag, its value is the id. Tags that differ from the present ones become a new version
 * from `time` on; a tag that is not mentioned stays. What is older than the present version's
 * from_ns does not change the tags: history is not rewritten by late points.
 *
 * VV_INVALID, VV_TOO_LARGE (sources_max, bytes_max, or too many or too long tags), VV_NO_MEMORY;
 * the message says which.
 */
VV_MUST_CHECK enum vv_status vv_registry_source(struct vv_registry *registry, uint32_t tenant,
                                                const struct vv_tag *tags, size_t n, int64_t time,
                                                uint32_t *source_out, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_registry_source_by_id(struct vv_registry *registry, uint32_t tenant,
                                                      struct vv_str id, uint32_t *source_out);
uint32_t vv_registry_source_count(struct vv_registry *registry);
/* Of one tenant. */
uint64_t vv_registry_tenant_sources(struct vv_registry *registry, uint32_t tenant);
uint32_t vv_registry_source_tenant(struct vv_registry *registry, uint32_t source);
struct vv_str vv_registry_source_id(struct vv_registry *registry, uint32_t source);
/* The tag whose value the id is, which is not among the source's tags; data NULL where the tags
 * together are the id. */
struct vv_str vv_registry_source_id_tag(struct vv_registry *registry, uint32_t source);

/* A version of a source's tags: ascending by key, valid from `from_ns`; the oldest one that is kept
 * also counts for all time before. VV_TIME_MIN where tags never change. */
struct vv_tag_version {
    int64_t from_ns;
    size_t n_tags;
    const struct vv_tag *tags;
};
/* The present tags, copied into the caller's arena. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_registry_source_tags(struct vv_registry *registry, uint32_t source,
                                                     struct vv_arena *arena,
                                                     struct vv_tag_version *version_out);
/*
 * Older and present versions, oldest first, copied into the caller's arena. At most
 * VV_TAG_HISTORY_MAX of a source are kept, and old versions of all sources together take at most a
 * quarter of bytes_max: beyond either, a change drops the source's own oldest ones.
 */
#define VV_TAG_HISTORY_MAX 32
VV_MUST_CHECK enum vv_status vv_registry_source_history(
    struct vv_registry *registry, uint32_t source, struct vv_arena *arena,
    struct vv_tag_version versions_out[VV_TAG_HISTORY_MAX], size_t *n_out);

/* First and last time of a source's points; false when it has none. Lock-free. */
bool vv_registry_source_times(struct vv_registry *registry, uint32_t source, int64_t *first_out,
                              int64_t *last_out);
/* The latest of all sources of the tenant, as this node knows them; INT64_MIN: there is none. Looks
 * at each source that there is. */
int64_t vv_registry_last_time(struct vv_registry *registry, uint32_t tenant);
/* Widens them; nothing for a hole. One thread (who applies to the head). */
void vv_registry_source_observe(struct vv_registry *registry, uint32_t source, int64_t first,
                                int64_t last);

/* A source's plans, ascending; n 0 while it has none. Immutable arrays, at most VV_PLANS_MAX long.
 */
#define VV_PLANS_MAX 64
struct vv_plans {
    const struct vv_plan *plans;
    size_t n;
    bool is_moving; /* what the store has is being placed anew: see vv_registry_plans_hold */
};
struct vv_plans vv_registry_source_plans(struct vv_registry *registry, uint32_t source);
/* The same of a region (as in struct vv_partition). Those of others are in memory only, as they
 * were learnt; they take 8 bytes a source of that region and its neighbours by number. */
struct vv_plans vv_registry_source_plans_in(struct vv_registry *registry, uint32_t source,
                                            uint8_t region);
/* Regions of which plans were learnt are below this: 1 where there are none but the own one's. */
uint8_t vv_registry_plan_regions(struct vv_registry *registry);
/* Whether what was read from the store by these plans is all there was: they did not move, and none
 * of them has given way to another one since they were asked for. Else read again. Any thread. */
bool vv_registry_plans_hold(struct vv_registry *registry, uint32_t source,
                            const struct vv_plans *plans);
/* How often a source's plans have begun and ended to move: what was asked for before the last time
 * may have been asked for in the wrong place. */
uint64_t vv_registry_plan_moves(const struct vv_registry *registry);
/*
 * Replaces the history (copied): n ≥ 1 valid plans, ascending, the first from VV_TIME_MIN. Makes a
 * new, unsettled version unless nothing changes. A history that only grows at its end shares its
 * memory with the old one; other changes keep the old array for those who hold it, so they should
 * be rare. VV_INVALID, VV_TOO_LARGE, VV_NO_MEMORY.
 */
VV_MUST_CHECK enum vv_status vv_registry_source_set_plans(struct vv_registry *registry,
                                                          uint32_t source,
                                                          const struct vv_plan *plans, size_t n);

/* ---- the series cache: raw text → source and measurement ---- */

struct vv_series {
    uint32_t source;
    uint32_t measurement;
};
/* `raw` is what stands before the fields in line protocol (or any other bytes that always mean the
 * same measurement and tags). Keyed hash, bytes compared, tenant included, bounded. Where tags can
 * change (id tag), it is found only while the source's present tags are those of the raw bytes. */
bool vv_registry_series_find(struct vv_registry *registry, uint32_t tenant, struct vv_str raw,
                             struct vv_series *series_out);
/* As vv_registry_source, for raw bytes that were not found: they will be, as a rule, from now on,
 * with this source and measurement. */
VV_MUST_CHECK enum vv_status vv_registry_series(struct vv_registry *registry, uint32_t tenant,
                                                struct vv_str raw, uint32_t measurement,
                                                const struct vv_tag *tags, size_t n, int64_t time,
                                                uint32_t *source_out, struct vv_error *error);

/* ---- selecting sources by the tag index ---- */

enum vv_match_op {
    VV_MATCH_IN,       /* the tag has one of the values */
    VV_MATCH_NOT_IN,   /* it has none of them, or the tag is absent */
    VV_MATCH_GLOB,     /* the value matches one of the patterns */
    VV_MATCH_NOT_GLOB, /* no value matches, or the tag is absent */
};
struct vv_matcher {
    struct vv_str key;
    enum vv_match_op op;
    const struct vv_str *values;
    size_t n_values;
};
/* Sources that have one of the ids or match one of the id patterns (if any of either is given),
 * and match all matchers, by their present tags. A matcher for the id tag looks at the id. An empty
 * selector is all sources of the tenant. */
struct vv_selector {
    const struct vv_str *ids;
    size_t n_ids;
    const struct vv_str *id_patterns;
    size_t n_id_patterns;
    const struct vv_matcher *matchers;
    size_t n_matchers;
};
/* Numbers ascending; those above `after` (VV_REGISTRY_NONE: from the first), at most `limit`. The
 * caller frees *sources_out. An id that does not exist is not an error. */
VV_MUST_CHECK enum vv_status vv_registry_select(struct vv_registry *registry, uint32_t tenant,
                                                const struct vv_selector *selector, uint32_t after,
                                                size_t limit, uint32_t **sources_out, size_t *n_out,
                                                struct vv_error *error);
/* Tag keys of a tenant (key.data NULL), or the values of one key, ascending, with the number of
 * sources that have it at present; the id tag is not among them. visit returns false to stop; it is
 * called without locks, the text is valid during the call. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_registry_tags(
    struct vv_registry *registry, uint32_t tenant, struct vv_str key,
    bool (*visit)(void *context, struct vv_str text, uint64_t sources), void *context);

/* '*', '?', '\' as in a shell, over bytes; linear in time × pattern, never exponential. */
bool vv_glob_match(struct vv_str pattern, struct vv_str text);

/* ---- records: journal and metadata ---- */

/* Whether the object's present version is in the journal (for VV_REGISTRY_TIMES: in the metadata).
 * True for a hole. Cheap; hot path. */
bool vv_registry_settled(struct vv_registry *registry, enum vv_registry_kind kind, uint32_t number);
/* Appends the record of an object to buffer (check its status) and returns its version; 0 and
 * nothing for a hole. The version of VV_REGISTRY_TIMES tells how wide they were. */
uint64_t vv_registry_encode(struct vv_registry *registry, enum vv_registry_kind kind,
                            uint32_t number, struct vv_buffer *buffer);
/* The version that encode returned is in the journal now. */
void vv_registry_settle(struct vv_registry *registry, enum vv_registry_kind kind, uint32_t number,
                        uint64_t version);
/* Applies a record: at replay, or when loading metadata, before other threads start. Records may
 * come in any order within a kind, kinds in ascending order; numbers may have gaps meanwhile.
 * The object counts as settled. VV_CORRUPT, VV_NEWER, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_registry_apply(struct vv_registry *registry,
                                               enum vv_registry_kind kind, struct vv_str record,
                                               struct vv_error *error);
/* Numbers up to this one are not given to new objects: something refers to it though its record may
 * be lost. VV_CORRUPT when no object can have such a number. Before other threads start. */
VV_MUST_CHECK enum vv_status vv_registry_reserve(struct vv_registry *registry,
                                                 enum vv_registry_kind kind, uint32_t number);
/* The number in a record. VV_CORRUPT. */
VV_MUST_CHECK enum vv_status vv_registry_record_number(enum vv_registry_kind kind,
                                                       struct vv_str record, uint32_t *number_out);
/* The metadata key of an object: its number, big-endian. */
void vv_registry_key(uint32_t number, uint8_t key_out[4]);

struct vv_registry_figures {
    uint64_t tenants, measurements, metrics, sources, tag_values;
    uint64_t bytes; /* memory, with the index and the cache */
    uint64_t cache_hits, cache_misses;
    uint64_t tag_changes; /* versions of tags made since start */
};
void vv_registry_read_figures(struct vv_registry *registry, struct vv_registry_figures *out);

#endif
