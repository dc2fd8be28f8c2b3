/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: the one door for writes, queries and administration. HTTP, the command line and the
 * simulation all go through it.
 *
 * Flow of a write: a door fills a vv_staging (ingest), submits its batch; the committer stamps,
 * journals with one sync for all that wait, applies to the head in order, then calls `done`. The
 * storage thread flushes generations of the head into the store and releases the journal; a worker
 * seals spans that are over. Queries run in the caller's thread (see query/query.h).
 *
 * Threads: any thread may call any function, unless it says otherwise. `done` is called by the
 * committer: it must be short and must not call back into the engine's writing functions.
 * With options.manual there are no threads: vv_engine_step does the work of all of them, one step
 * at a time and in the caller's thread, so that a simulation decides the order.
 */
#ifndef VV_ENGINE_ENGINE_H
#define VV_ENGINE_ENGINE_H

#include "base/clock.h"
#include "base/disk.h"
#include "ingest/staging.h"
#include "query/query.h"
#include "seal/reroll.h"
#include "settings/settings.h"
#include "store/store.h"

struct vv_engine;

struct vv_engine_options {
    const struct vv_settings *settings; /* copied */
    struct vv_disk *disk;               /* NULL: the real one */
    struct vv_clock *clock;             /* NULL: the machine's */
    struct vv_store *store;             /* borrowed until close; NULL: the embedded one */
    /* Beside Cassandra, instead of the embedded one: taken, also on failure. For simulations. */
    struct vv_store *take_local;
    bool manual;
};

/* Locks the data folder, opens the store, and prepares replay. Clear errors for a folder in use, of
 * a newer version, or that is not Varve's. Does not replay yet: vv_engine_recover does, so that
 * /health can answer meanwhile. */
VV_MUST_CHECK enum vv_status vv_engine_open(const struct vv_engine_options *options,
                                            struct vv_engine **engine_out, struct vv_error *error);
/* Replays the journal into the head and starts the threads. Once. */
VV_MUST_CHECK enum vv_status vv_engine_recover(struct vv_engine *engine, struct vv_error *error);
/* Stops taking writes, completes what waits, flushes the head when the store lets it (within
 * seconds; else the journal has it), and frees. */
void vv_engine_close(struct vv_engine *engine);

/* ---- writing ---- */

/* Whether a new write may begin: VV_OK; VV_OVERLOAD (recovering, memory bound, too much waiting);
 * VV_FULL (disk reserve); VV_IO (store or journal failed); VV_CANCELLED (stopping). Asked by doors
 * before they read a body, so that refusing costs little. */
VV_MUST_CHECK enum vv_status vv_engine_admit(struct vv_engine *engine, struct vv_error *error);

/* Prepares a staging for a tenant (made if it is new). The caller deinits it, after
 * vv_engine_account. */
VV_MUST_CHECK enum vv_status vv_engine_stage(struct vv_engine *engine, struct vv_str tenant,
                                             struct vv_staging *staging_out,
                                             struct vv_error *error);

/* The batch's outcome: VV_OK: durable and readable. VV_OVERLOAD, VV_FULL, VV_IO, VV_NO_MEMORY,
 * VV_CANCELLED: certainly not stored. VV_UNKNOWN: it cannot be known. */
typedef void (*vv_write_done)(void *context, enum vv_status status, const char *message);

/* Hands a batch over; `done` is called exactly once, perhaps before this returns. */
void vv_engine_submit(struct vv_engine *engine, struct vv_batch *take_batch, vv_write_done done,
                      void *context);

/* The same, but VV_OK means: confirmed by the store, with nothing of the tenant parked, so that the
 * loss of this machine does not lose it. The batch is journaled and readable before, and counted as
 * accepted. VV_UNKNOWN with a message when the store has not confirmed it within ack.timeout, or
 * when the engine is closed before: the journal has it, or this node's part of the store. A batch
 * without points waits for all that was completed before it was handed over. vv_engine_close may
 * call `done`, too. */
void vv_engine_submit_to_store(struct vv_engine *engine, struct vv_batch *take_batch,
                               vv_write_done done, void *context);

/* Counts what a finished request's staging saw (received, refused by reason). Points of batches
 * that were not stored are counted by the engine as refused for overload, or as unknown. */
void vv_engine_account(struct vv_engine *engine, const struct vv_staging *staging);

/* ---- reading ---- */

/* What queries need; valid until close. */
const struct vv_query_context *vv_engine_query_context(struct vv_engine *engine);

/* Whether other nodes may share the store: what is stored goes by itself then. Any thread. */
bool vv_engine_shares_store(const struct vv_engine *engine);
/* Before a query's result is opened. */
void vv_engine_query_begin(struct vv_engine *engine);
void vv_engine_query_limits(struct vv_engine *engine, struct vv_query_limits *limits_out);
/* For the metrics: a query has ended. */
void vv_engine_query_done(struct vv_engine *engine, enum vv_request_kind kind,
                          enum vv_status status, const struct vv_result_facts *facts);

/* ---- administration ---- */

/* Changes that must be durable: journaled like batches; wait until they are. Not from `done`. */
VV_MUST_CHECK enum vv_status vv_engine_create_tenant(struct vv_engine *engine, struct vv_str name,
                                                     struct vv_error *error);
/* Sets unit and description (data NULL: leave) of one existing metric. */
VV_MUST_CHECK enum vv_status vv_engine_describe(struct vv_engine *engine, struct vv_str tenant,
                                                struct vv_str metric, struct vv_str unit,
                                                struct vv_str description, struct vv_error *error);
/* How long a tenant's points and its tiers are kept: ns, 0 for ever; a tier may be off. */
struct vv_retentions {
    int64_t raw_ns;
    int64_t tiers_ns[VV_SPACES]; /* VV_SPACE_OFF_NS: off */
};
#define VV_RETENTION_AS_IS INT64_C(-1)
/* Of retentions without wishes. */
static inline bool vv_retentions_have(const struct vv_retentions *retentions, enum vv_space tier)
{
    return retentions->tiers_ns[tier] != VV_SPACE_OFF_NS;
}
/* What is asked for must be so long, or for ever. */
#define VV_RETENTION_NS_MIN VV_SECOND
/* Changes those that are not VV_RETENTION_AS_IS of a tenant, which is made if it is new: all of
 * them or, with an error other than VV_UNKNOWN, none. A tier is kept of what is written from then
 * on, and of what is sealed from then on; one that is switched off loses all that it had.
 * VV_INVALID when what a tier is built from would be gone too early; VV_OVERLOAD when a tier is
 * switched on again before what it had is gone. */
VV_MUST_CHECK enum vv_status vv_engine_set_retentions(struct vv_engine *engine,
                                                      struct vv_str tenant,
                                                      const struct vv_retentions *retentions,
                                                      struct vv_error *error);
/* Only that of the points. */
VV_MUST_CHECK enum vv_status vv_engine_set_retention(struct vv_engine *engine, struct vv_str tenant,
                                                     int64_t retention_ns, struct vv_error *error);
/* Only those of the tiers. */
VV_MUST_CHECK enum vv_status vv_engine_set_tiers(struct vv_engine *engine, struct vv_str tenant,
                                                 const int64_t retention_ns[VV_SPACES],
                                                 struct vv_error *error);
/* What a class of a tenant shall be: measurements that are kept for a time of their own. */
struct vv_class_wish {
    struct vv_str name;
    bool has_measurements;           /* false: as they are */
    struct vv_str measurements;      /* vv_registry_class_patterns */
    struct vv_retentions retentions; /* VV_RETENTION_AS_IS: of a new class as its tenant's */
};
#define VV_CLASS_EXAMPLES 8
/* Measurements: how many, and the first ones. */
struct vv_class_names {
    uint64_t n;
    struct vv_str examples[VV_CLASS_EXAMPLES];
};
/* Where the wish has measurements: those of the tenant that were made before, and would be in the
 * class, or not be in it, were they made now. */
struct vv_class_effect {
    struct vv_class_names moved; /* their points from a day on are … */
    int64_t moved_from;          /* … this one, … */
    int64_t known_by;            /* … if all nodes know of it by then; 0: it is settled */
    /* They stay where they are: what has changed too often. */
    struct vv_class_names elsewhere;
    bool is_awaited; /* it takes nothing before all nodes that share the store know it */
};
static inline void vv_class_names_add(struct vv_class_names *names, struct vv_str name)
{
    if (names->n < VV_CLASS_EXAMPLES) {
        names->examples[names->n] = name;
    }
    names->n++;
}
/* Makes or changes a class; the tenant is made if it is new. As vv_engine_set_retentions, but that
 * with an error a new class may be left that takes no measurement. Where nodes share a store, it
 * takes some when all of them know it; VV_INVALID where that has several regions, or no table for
 * what is to be kept so long. */
VV_MUST_CHECK enum vv_status vv_engine_set_class(struct vv_engine *engine, struct vv_str tenant,
                                                 const struct vv_class_wish *wish,
                                                 struct vv_class_effect *effect_out,
                                                 struct vv_error *error);
/* How long a place's points and tiers are kept. */
struct vv_retentions vv_engine_retentions(const struct vv_engine *engine, uint32_t place);
/* What a tenant wants done with points that come late. */
struct vv_late_wish {
    bool has_policy; /* false: as it is */
    enum vv_late_policy policy;
    int64_t limit_ns; /* 0: as it is, or as late.limit says */
};
/* Changes that of a tenant, which is made if it is new. It counts for what comes from then on.
 * VV_INVALID: a limit that is none; late points can't be kept apart, or not for so long. */
VV_MUST_CHECK enum vv_status vv_engine_set_late(struct vv_engine *engine, struct vv_str tenant,
                                                const struct vv_late_wish *wish,
                                                struct vv_error *error);
/* What a deletion concerns. */
struct vv_deleted {
    uint64_t sources;
    uint64_t metrics; /* that there are now, of those asked for */
    uint64_t markers;
    int64_t from;
    int64_t to;
    bool dry_run; /* nothing was deleted */
    /* [tiers_from, tiers_to): what of it only tiers may hold, of which whole steps are taken out in
     * the background; equal where there is none. */
    int64_t tiers_from;
    int64_t tiers_to;
};
/* Deletes what a VV_REQUEST_DELETE asks for: VV_OK: it is durable, and in no answer any more, but
 * for what only tiers hold: that is out of answers when it is out of the tiers. VV_INVALID: part of
 * a step, of which only tiers are left; VV_OVERLOAD: such a step waits to be built; VV_NOT_FOUND;
 * VV_TOO_LARGE beyond the bounds of markers; as journaling a batch. */
VV_MUST_CHECK enum vv_status vv_engine_delete(struct vv_engine *engine,
                                              const struct vv_request *request,
                                              struct vv_deleted *deleted_out,
                                              struct vv_error *error);
/* What a source's plan shall be; 0: as it is, or as it fits the others. */
struct vv_plan_wish {
    int64_t bucket_ns;
    int64_t span_ns;
    uint16_t splits;
    bool is_alone; /* its runs are shared no more: it sends much */
};
/* Gives a source another plan from the earliest date that is safe: *plan_out tells it; the present
 * one when nothing changes. VV_NOT_FOUND, also for a source that has no plan yet; VV_INVALID;
 * VV_TOO_LARGE: its history is full. */
VV_MUST_CHECK enum vv_status vv_engine_change_plan(struct vv_engine *engine, struct vv_str tenant,
                                                   struct vv_str source,
                                                   const struct vv_plan_wish *wish,
                                                   struct vv_plan *plan_out,
                                                   struct vv_error *error);
/* Flushes the head and waits until the store has confirmed it; with `seal`, also seals every span
 * that has runs, over or not: VV_OVERLOAD when some of them wait for a part of the store that is
 * away. For tests, backups and benches. */
VV_MUST_CHECK enum vv_status vv_engine_flush(struct vv_engine *engine, bool seal,
                                             struct vv_error *error);

/* What of a tenant's spans and units waits for the sealer, in a range of time. */
struct vv_sealing {
    uint64_t spans;            /* of raw data, over, with runs that are not sealed */
    uint64_t units[VV_SPACES]; /* of tiers, over, which are to be built (again) */
    uint64_t open;             /* of both, not over yet: what they hold is answered all the same */
    uint64_t damaged;          /* what can't be read, and so is not sealed */
    uint64_t due;              /* of spans and units, those whose turn has come */
    uint64_t deletions; /* of sources, of which spans and units may still have to be marked */
    uint64_t kept; /* units that this node left as they were, though something came late for them:
                      that is in raw points alone. At most VV_KEPT_UNITS_MAX, since it began */
};
/* Counts those that meet [from, to), as the store has them: what is in memory is there after a
 * flush. When all but `open` is 0 then, tiers equal the points. Where several nodes share a store,
 * of all of them, but for what they have in memory or parked; `damaged` is what this one found.
 * Where nodes share a store, from *part on (0: the first), until so many marks were read, at least
 * one; *part is then where to go on, counts to be added up, or VV_MARKS_END. Alone it reads as many
 * as there are. VV_NOT_FOUND; VV_OVERLOAD while a part of the store is away. */
VV_MUST_CHECK enum vv_status vv_engine_read_sealing(struct vv_engine *engine, struct vv_str tenant,
                                                    int64_t from, int64_t to, uint32_t *part,
                                                    uint64_t marks_max,
                                                    struct vv_sealing *sealing_out,
                                                    struct vv_error *error);

/* How far the purges of all classes are, and asking for one of each as soon as it may be; any
 * thread. VV_INVALID where nothing is purged by copying; VV_IO. */
VV_MUST_CHECK enum vv_status vv_engine_read_purges(
    struct vv_engine *engine, struct vv_purge_progress progress_out[VV_PURGES_MAX], size_t *n_out,
    struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_engine_ask_purge(struct vv_engine *engine, struct vv_error *error);

/* ---- replacing what is frozen ---- */

/* Up to when days of a tenant are frozen as a whole, in all of its classes: their points are gone,
 * and no more are taken; the beginning of a day. VV_TIME_MIN: none are. VV_INVALID where nodes
 * share a store; VV_NOT_FOUND. */
VV_MUST_CHECK enum vv_status vv_engine_read_frozen(struct vv_engine *engine, struct vv_str tenant,
                                                   int64_t *until_out, struct vv_error *error);
/* A staging that takes points of any time up to now, for vv_engine_replace. As vv_engine_stage, but
 * the tenant is there. */
VV_MUST_CHECK enum vv_status vv_engine_stage_frozen(struct vv_engine *engine, struct vv_str tenant,
                                                    struct vv_staging *staging_out,
                                                    struct vv_error *error);
/*
 * The batch's points become the tiers' steps of their days: of each metric of each source and each
 * UTC day of which it has a point, all steps are replaced by those of the batch (seal/replace.h),
 * durably; the points themselves are not kept. All of it or nothing. The same again changes
 * nothing. Blocks.
 * VV_INVALID: the day can't be replaced, whatever is tried; VV_TOO_LARGE: it is of more than one
 * day, or of too many series; VV_OVERLOAD: not now; as journaling a batch.
 */
#define VV_REPLACE_SERIES_MAX 1000u /* sources and measurements */
VV_MUST_CHECK enum vv_status vv_engine_replace(struct vv_engine *engine,
                                               struct vv_batch *take_batch, struct vv_error *error);

/* ---- rerolling ---- */

enum vv_rerolled_state {
    VV_REROLLED_RUNNING,
    VV_REROLLED_DONE,
    VV_REROLLED_CANCELLED,
    VV_REROLLED_FAILED, /* error says why */
};
#define VV_REROLLED_EXAMPLES 32
struct vv_rerolled_unit {
    enum vv_space tier;
    uint32_t source;
    uint32_t measurement;
    struct vv_reroll_result result;
};
/* How far a reroll is. */
struct vv_rerolled {
    uint64_t id; /* from 1 */
    enum vv_rerolled_state state;
    bool dry_run; /* nothing is repaired */
    uint64_t sources;
    uint64_t sources_done;
    uint64_t units[VV_REROLL_VERDICTS];
    uint64_t repaired;
    size_t n_examples; /* the first ones that were wrong or refused */
    struct vv_rerolled_unit examples[VV_REROLLED_EXAMPLES];
    struct vv_error error;
};
/* Begins to build the tiers of a VV_REQUEST_REROLL again, to compare and, unless it is a dry run,
 * to repair them (seal/reroll.h), in the background. VV_OVERLOAD: another one is under way;
 * VV_NOT_FOUND: no source is selected; as vv_fleet_check_waits, vv_request_order. */
VV_MUST_CHECK enum vv_status vv_engine_reroll(struct vv_engine *engine,
                                              const struct vv_request *request, uint64_t *id_out,
                                              struct vv_error *error);
/* How far the last one is, which goes no further with `cancel`. VV_NOT_FOUND: the last one has
 * another id. */
VV_MUST_CHECK enum vv_status vv_engine_read_reroll(struct vv_engine *engine, uint64_t id,
                                                   bool cancel, struct vv_rerolled *rerolled_out,
                                                   struct vv_error *error);
/* Names for what it tells. Any thread. */
struct vv_str vv_engine_source_id(struct vv_engine *engine, uint32_t source);
struct vv_str vv_engine_measurement(struct vv_engine *engine, uint32_t measurement);
struct vv_str vv_engine_metric(struct vv_engine *engine, uint32_t metric);

/* ---- seeing inside ---- */

struct vv_engine_health {
    bool live;       /* the process does its work (no failed invariant, threads run) */
    bool ready;      /* takes writes: not replaying, no reserve reached, store and journal work */
    bool recovering; /* before the end of vv_engine_recover: no queries either */
    const char *reason;      /* a fixed text while not ready, or ready in spite of it, else "" */
    uint64_t replayed_bytes; /* of the journal, so far */
    uint64_t parked;         /* what waits here for a part of the store that is away */
    uint64_t parked_bytes;
    int64_t parked_since_ns; /* wall time; 0: nothing is parked */
    uint64_t held_up; /* spans and units that can't be sealed, or built, by what is damaged */
};
void vv_engine_read_health(struct vv_engine *engine, struct vv_engine_health *health_out);

/* Appends the engine's metrics in Prometheus text format. */
void vv_engine_write_metrics(struct vv_engine *engine, struct vv_buffer *buffer);

/* A node of the store, as this one sees it. */
struct vv_engine_node {
    uint32_t node;  /* 0: the store is this node's alone */
    uint8_t region; /* an index of what vv_engine_read_regions gives */
    bool is_self;
    bool is_gone;             /* not heard of for a while */
    bool is_partial;          /* it leaves out something that others told */
    bool is_known;            /* the next one is; not while what was replayed is being flushed */
    int64_t flushed_until_ns; /* what it acknowledged before, by its clock, is in the store */
};
/* This node first, then the others, ascending; the caller frees them. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_engine_read_nodes(struct vv_engine *engine,
                                                  struct vv_engine_node **nodes_out, size_t *n_out);
/* The regions that there are, this node's first; returns how many. 0: the store is this node's
 * alone. */
size_t vv_engine_read_regions(struct vv_engine *engine,
                              struct vv_region regions_out[VV_REGIONS_MAX]);

/* One tenant's account; guarantee 7: received = accepted + refused (sum) + unknown. */
struct vv_account {
    uint64_t received;                 /* points, in this process's life */
    uint64_t accepted;                 /* points, survives restarts with the batches */
    uint64_t accepted_here;            /* of those, in this process's life */
    uint64_t refused[VV_REASON_COUNT]; /* in this process's life */
    uint64_t unknown;                  /* points whose outcome is unknown, in this process's life */
};
void vv_engine_read_account(struct vv_engine *engine, uint32_t tenant,
                            struct vv_account *account_out);

/* ---- manual operation (simulation) ---- */

enum vv_engine_task {
    VV_TASK_COMMIT,   /* one round of the committer */
    VV_TASK_FLUSH,    /* flush the oldest generation, cutting one if there is none */
    VV_TASK_SEAL,     /* seal a group of spans that are due */
    VV_TASK_SEAL_ALL, /* seal a group of marked spans, due or not */
    VV_TASK_EXPIRE,   /* retention */
    VV_TASK_LEARN,    /* learn what the nodes that share the store told */
    VV_TASK_BEAT,     /* tell the nodes that share the store that this one lives */
    VV_TASK_PLANS,    /* give other plans to sources that have outgrown theirs */
    VV_TASK_DELIVER,  /* deliver some of what the store has parked */
    VV_TASK_REROLL,   /* a slice of a reroll */
    VV_TASK_SWEEP,    /* mark some of the spans in which something is deleted */
};
/* Does one step; VV_DONE when there was nothing to do. Only with options.manual. */
VV_MUST_CHECK enum vv_status vv_engine_step(struct vv_engine *engine, enum vv_engine_task task,
                                            struct vv_error *error);

#endif
