/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the engine. Private to this folder.
 *
 * `lock` guards the queue, the jobs, the tickets and the flags next to it. What only one thread
 * touches stands under its name. Accounts and histograms are atomic.
 */
#ifndef VV_ENGINE_ENGINE_PRIVATE_H
#define VV_ENGINE_ENGINE_PRIVATE_H

#include "base/histogram.h"
#include "deletion/deletions.h"
#include "engine/engine.h"
#include "engine/folder.h"
#include "engine/history.h"
#include "engine/names.h"
#include "engine/queue.h"
#include "engine/schema_options.h"
#include "engine/share.h"
#include "fleet/fleet.h"
#include "flush/flush.h"
#include "journal/journal.h"
#include "seal/pieces.h"
#include "seal/reroll.h"
#include "seal/sealer.h"
#include "seal/stale.h"
#include "seal/volumes.h"

#include <pthread.h>
#include <stdatomic.h>

/* Kinds of journal records beside enum vv_registry_kind, and of metadata; both in the formats. */
#define VV_RECORD_BATCH    16
#define VV_RECORD_DELETION 17
#define VV_META_STATE      64
#define VV_META_ACCOUNT    65
#define VV_META_WHOLE      67 /* whole.c */
#define VV_META_REPLACING  68 /* replace.c */
/* Keys of VV_META_STATE: the highest stamp that the store has confirmed, and its last run. */
#define VV_STATE_FLUSHED "s"
#define VV_STATE_RUN     "r"

struct vv_submission {
    struct vv_submission *next;
    struct vv_batch *batch;
    vv_write_done done;
    void *context;
    int64_t queued_ns; /* monotonic; once it waits for the store, when that began */
    bool to_store;     /* done when the store has confirmed it */
    bool is_history;   /* all its points are old (history.h) */
    vv_stamp stamp;
    enum vv_status status;
    const char *why; /* of the status; NULL: what it means as a rule */
    uint32_t tenant;
    /* Of the first in a list of a tenant that has something parked (acks.c). */
    struct vv_submission *next_list;
    struct vv_submission *list_last;
};

/* Of a tenant of which something lives on: turns (lives_end.c), 0: none. */
struct vv_ending {
    uint64_t announced; /* in which something is to end, or was; taken back when late points came */
    uint64_t ended;     /* the last one in which something ended */
    uint32_t taken_back; /* times, since then */
};

/* Records that were journaled since the last cut, to be stored with the next flush. */
struct vv_definition_list {
    struct vv_definition *items;
    size_t n;
    size_t capacity;
};

struct vv_account_snapshot {
    uint32_t tenant;
    uint64_t accepted;
};

struct vv_job {
    struct vv_job *next;
    struct vv_generation *generation; /* NULL: records only */
    struct vv_journal_position position;
    vv_stamp stamp; /* the highest in it */
    vv_stamp run;   /* of the runs that it writes: above all stamps in it, given out once */
    struct vv_definition_list definitions;
    struct vv_account_snapshot *accounts;
    size_t n_accounts;
    uint64_t points;           /* in it … */
    uint64_t history_points;   /* … and of those, written as history */
    uint64_t ticket;           /* of the flush requests that it fulfils */
    int64_t accepted_since_ns; /* wall time: the least of its batches; INT64_MAX: no points */
};

struct vv_account_cell {
    _Atomic uint64_t received;
    _Atomic uint64_t accepted;
    _Atomic uint64_t accepted_here;
    _Atomic uint64_t switched_at; /* what was accepted before a tier was switched on last, and 1;
                                     0: none was since the start */
    _Atomic uint64_t unknown;
    _Atomic uint64_t refused[VV_REASON_COUNT];
    vv_stamp stored_until; /* recovery: the stored count has the batches up to here */
};
#define VV_ACCOUNT_PAGE  256
#define VV_ACCOUNT_PAGES 4096

/* Somebody waits for a change of a plan: in a list under the lock until the storage thread takes
 * it. */
struct vv_plan_request {
    struct vv_plan_request *next;
    uint32_t source;
    struct vv_plan_wish wish;
    struct vv_plan plan;
    enum vv_status status;
    struct vv_error error;
    bool taken;
    bool done;
};

struct vv_engine_counters {
    struct vv_histogram commit_wait;     /* from submit to done, of live data */
    struct vv_histogram history_wait;    /* and of history */
    struct vv_histogram commit_duration; /* journal write and sync */
    struct vv_histogram commit_batches;  /* in a round */
    struct vv_histogram commit_points;   /* in a round */
    struct vv_histogram ack_wait;        /* of batches that waited for the store */
    _Atomic uint64_t acks_waiting;
    _Atomic uint64_t acks_timed_out;
    struct vv_histogram flush_duration;
    struct vv_histogram query_duration[VV_REQUEST_KINDS]; /* by enum vv_request_kind */
    _Atomic uint64_t queries_failed[VV_REQUEST_KINDS];
    _Atomic uint64_t query_rows;
    _Atomic uint64_t query_bytes;
    _Atomic uint64_t query_partitions;
    _Atomic uint64_t flushes;
    _Atomic uint64_t flush_failures;
    _Atomic uint64_t flush_rows;
    _Atomic uint64_t flush_late_rows;
    _Atomic uint64_t flush_bytes;
    _Atomic uint64_t seal_failures;
    _Atomic uint64_t deletions;     /* orders that were journaled */
    _Atomic uint64_t spans_swept;   /* marked, since something of them is deleted */
    _Atomic uint64_t records_cut;   /* of tiers, of which steps were taken out */
    _Atomic uint64_t days_replaced; /* of a series, that were frozen */
    _Atomic uint64_t sweep_damaged; /* what the sweep could not read, and passed over */
    _Atomic uint64_t plans_changed;
    _Atomic uint64_t plans_outgrown; /* of those, since the source had outgrown the one before */
    _Atomic uint64_t plans_full;     /* not changed, since the history is full */
};

#define VV_SWEEP_SOURCES 1024 /* that are swept together at most … */
#define VV_SWEEP_MARKERS 2048 /* … and their markers, of which a single source may have many */
_Static_assert(VV_SWEEP_MARKERS >= VV_MARKERS_OF_SOURCE_MAX, "those of a source fit");

struct vv_sweep_source {
    uint32_t source;
    size_t first; /* of its markers in the group … */
    size_t n;     /* … and how many they are */
};

/* Sources that are swept together (sweep_group.c). */
struct vv_sweep_group {
    struct vv_sweep_source sources[VV_SWEEP_SOURCES];
    size_t n;
    size_t at;                                  /* the one that is being swept */
    struct vv_marker markers[VV_SWEEP_MARKERS]; /* as they were read */
    unsigned todo[VV_SWEEP_MARKERS];            /* enum vv_marker_lack: what is done now */
    size_t n_markers;
    size_t reads;               /* for it so far */
    size_t alone;               /* so many sources that come next are groups of their own */
    struct vv_stale_list stale; /* units of it that are yet to be made stale … */
    size_t n_before;            /* … and those of sources before the present one */
};

/* Telling the sealer what is deleted (sweep.c). Storage thread. */
struct vv_sweep {
    bool active;
    uint32_t source;
    struct vv_marker *markers; /* of the source, in the group … */
    unsigned *todo;            /* … with what is done now */
    size_t n;
    size_t at;            /* the marker that is being swept … */
    uint32_t measurement; /* … in this measurement … */
    size_t stay_at;       /* … where it lies in this stay of it … */
    bool in_values;       /* … or in values that are kept by themselves, in all places … */
    bool in_range;
    struct vv_stay stay;         /* in_values: of the tenant, and of all time */
    int tier;                    /* … of this tier, or VV_SPACES: of points … */
    int64_t time;                /* … from this time on */
    int64_t first;               /* nothing of the marker's range in the stay is earlier … */
    int64_t to;                  /* … and it ends there */
    int64_t frozen;              /* before, tiers can't be built again */
    struct vv_reroll *cutter;    /* takes steps out of tiers; NULL until it is needed */
    struct vv_sweep_group group; /* the source's */
    bool is_marked;              /* something is since the last confirm */
    uint32_t next_source;        /* of this round */
    int64_t step_at_ns;          /* monotonic: when it goes on */
    int64_t retire_at_ns;
    bool waits;         /* for a part of the store */
    vv_stamp stale_run; /* of what was made stale last, where others build, too */
};

/* Somebody waits for frozen days to be replaced (replace.c). */
struct vv_replace_request {
    const struct vv_batch *batch;
    int64_t day; /* of all its points */
    enum vv_status status;
    struct vv_error error;
    bool taken;
    bool done;
};

/* What the store has parked (parking.c). */
struct vv_parking {
    int64_t deliver_at_ns; /* monotonic: when it is tried again */
    int64_t settle_at_ns;
    bool deliver_failed;
    bool settle_failed;
    bool is_away; /* something was parked when it was looked at last */
    bool seal_waits;
};

struct vv_engine {
    struct vv_settings settings;
    struct vv_clock *clock;
    struct vv_disk *disk;
    struct vv_folder *folder; /* NULL when the store was given */
    struct vv_registry *registry;
    struct vv_head *head;
    struct vv_store *store;
    struct vv_names *names;               /* for a store that needs them; else NULL */
    struct vv_schema_setup *schema;       /* the same */
    struct vv_fleet *fleet;               /* NULL: the store is this node's alone */
    struct vv_members *members;           /* NULL: the same, or it has no cohorts */
    struct vv_frozen_found *frozen_found; /* NULL: the same */
    struct vv_journal *journal;
    struct vv_sealer *sealer;
    struct vv_deletions *deletions;
    struct vv_query_context query_context;
    struct vv_engine_counters counters;
    struct vv_seal_figures seal_figures; /* as of the last step; under lock, as what follows */
    struct vv_span_key damaged[VV_SEAL_DAMAGED_MAX]; /* as the sealer has them */
    size_t n_damaged;
    struct vv_kept_unit kept_units[VV_KEPT_UNITS_MAX]; /* likewise */
    size_t n_kept_units;
    _Atomic(struct vv_account_cell *) accounts[VV_ACCOUNT_PAGES];
    bool manual;
    bool owns_store;
    bool outlasts_store; /* writes are taken while the store is away, up to the head's bound */

    pthread_mutex_t delete_lock;     /* one order at a time, so that bounds hold; before lock */
    struct vv_reroll *steps_looker;  /* looks at tiers under it; NULL until it is needed */
    pthread_mutex_t retentions_lock; /* held while somebody changes some; before `lock` */
    pthread_mutex_t replace_lock;    /* held while somebody replaces days; before `lock` */

    pthread_mutex_t lock;
    pthread_cond_t committer_wakes;
    pthread_cond_t storage_wakes;
    pthread_cond_t waiters_wake;
    pthread_t committer;
    pthread_t storage;
    bool threads_run;
    struct vv_queue queue;
    struct vv_history history;
    struct vv_job *job_first;
    struct vv_job *job_last;
    struct vv_plan_request *plan_request; /* the first */
    vv_stamp confirmed_stamp; /* all of this node up to here is in the store, or parked by it */
    uint64_t deliveries;      /* times at which something that was parked may have been delivered */
    uint64_t flush_requested; /* tickets: requested ≥ cut ≥ done */
    uint64_t flush_cut;
    uint64_t flush_done;
    struct vv_replace_request *replace_request; /* NULL: nobody waits */
    struct vv_reroll_job *reroll_job;           /* what is in it is the storage thread's */
    struct vv_rerolled rerolled;                /* the last one */
    uint64_t seal_requested;
    uint64_t seal_done;
    uint64_t seal_given_up; /* the last request that ended with spans that wait for the store */
    uint64_t seal_after;    /* the flush that the last seal request came with */
    /* Times at which all that had expired was looked for, and freed. */
    uint64_t expire_begun;
    uint64_t expire_done;     /* the last one that came to its end */
    uint64_t expire_after;    /* what tiers that are off had is gone once one begun later is done */
    uint64_t lives_after;     /* no life of what was to live for longer ends before that flush */
    struct vv_ending *ending; /* by tenant */
    uint32_t n_ending;
    int64_t accepted_since_ns; /* as in a job, of the active generation */
    bool stopping;             /* no new submissions; the committer ends when the queue is empty */
    bool committed; /* the committer has ended; the storage thread ends when no job is left */

    _Atomic uint64_t lives_turn; /* odd while lives are about to end (lives_end.c); changed under
                                    the lock */
    _Atomic bool recovering;
    _Atomic bool reserve_reached;
    _Atomic bool store_failed;
    _Atomic bool journal_full;      /* the last commit had no room, and none was made since */
    _Atomic bool acks_parked;       /* somebody waits for what is parked */
    _Atomic int64_t whole_until_ns; /* told when nothing was parked last */
    _Atomic uint64_t replay_done;   /* bytes or records, for progress */

    /* Committer. */
    _Atomic vv_stamp last_stamp; /* given out; the committer's to change */
    vv_stamp applied_stamp; /* of what is in the head or the store: never above the journal's last,
                               so that a restart gives out none at or below it again */
    vv_stamp cut_stamp;     /* of the last job */
    struct vv_submission *ack_first; /* published, waiting for the store; by stamp */
    struct vv_submission *ack_last;
    struct vv_submission *ack_parked; /* job done, but parked: a list for each tenant */
    uint64_t deliveries_seen;
    int64_t generation_since_ns; /* monotonic time of the active generation's first batch; 0 none */
    struct vv_definition_list definitions;
    struct vv_buffer round_bytes;
    uint64_t bytes_since_cut; /* journaled; a large share of journal.bytes_max also cuts */
    uint64_t points_since_cut;
    uint64_t history_since_cut; /* of those */

    /* Storage thread. */
    _Atomic int64_t
        expiry_held_ns;         /* so far behind the clock nothing expires; any thread reads it */
    struct vv_share seal_share; /* of sealing, beside jobs */
    vv_stamp replace_run;       /* of the last request that replaced frozen days */
    bool replace_is_noted;      /* perhaps: what the last process had noted of some */
    int64_t seal_at_ns;         /* monotonic: when the ledger is looked at again */
    int64_t expire_at_ns;
    int64_t space_at_ns;
    int64_t retry_at_ns; /* after a failure of the store */
    int64_t retry_wait_ns;
    bool seal_unconfirmed;
    bool sealed_history;     /* by the last group */
    int64_t beat_at_ns;      /* monotonic: when the other nodes hear of this one again */
    int64_t beaten_until_ns; /* what they heard */
    bool beat_failed;
    int64_t learn_at_ns; /* monotonic: when the others are asked for their news again */
    bool learn_failed;
    struct vv_parking parking;
    struct vv_sweep sweep;
    vv_stamp stored_run;      /* of the last job in the store */
    uint64_t seal_all_ticket; /* the request that is being served; 0: none */
    vv_stamp seal_all_until;
    struct vv_load *load;
    struct vv_whole_note *whole; /* by tenant and space: see whole.c */
    uint32_t n_whole;
    bool replay_is_flushed;  /* what was replayed, if anything (storage_expire.c); … */
    int64_t replay_until_ns; /* … which is waited for until then, monotonic; 0: not yet */
    int64_t clocks_apart_ns; /* the wall clock from the monotonic one, as of the last expiry, or
                                start */
    int64_t *retentions;     /* as the store has them, by tenant; -1: not told yet */
    uint32_t n_retentions;
    struct vv_open_units *open_units; /* NULL: there are no other nodes. The storage thread's */
};

/* This node's number, in the stamps that it gives out. Any thread. */
static inline uint32_t vv_engine_node(const struct vv_engine *engine)
{
    const struct vv_shared_ops *shared = engine->store->ops->shared;
    return shared ? shared->node(engine->store) : 0;
}

/* When spans are due, and may be sealed. */
static inline struct vv_ledger_rule vv_engine_ledger_rule(const struct vv_settings *settings)
{
    return (struct vv_ledger_rule){
        .lateness_ns = settings->seal_lateness_ns,
        .spread_ns = settings->seal_spread_ns,
        .quiet_ns = settings->seal_quiet_ns,
        .overdue_ns = 20 * settings->seal_quiet_ns,
        .fold_every_ns = settings->late_fold_every_ns,
        .fold_at_ns = settings->late_fold_at_ns,
    };
}

/* ---- open_store.c ---- */
/* Opens the store of the settings, unless one is given. */
enum vv_status vv_engine_open_store(struct vv_engine *engine,
                                    const struct vv_engine_options *options,
                                    struct vv_error *error);

/* ---- admin.c ---- */
/* Submits a batch and waits for its outcome. Not from a `done`. */
enum vv_status vv_engine_journal(struct vv_engine *engine, struct vv_batch *take_batch,
                                 struct vv_error *error);
/* The same of a batch whose making had this status: after a failure it is only destroyed, and the
 * error says that memory is out. */
enum vv_status vv_engine_journal_made(struct vv_engine *engine, enum vv_status made,
                                      struct vv_batch *take_batch, struct vv_error *error);

/* ---- accounts.c ---- */
/* The tenant's cell; NULL when memory is out or the tenant is out of range. Any thread. */
struct vv_account_cell *vv_account_of(struct vv_engine *engine, uint32_t tenant);
void vv_accounts_deinit(struct vv_engine *engine);

/* ---- acks.c ---- */
/* Takes a submission that is published, and whose batch is gone. Committer, as the next three. */
void vv_acks_hold(struct vv_engine *engine, struct vv_submission *take_submission);
/* Answers those whose generation the store has confirmed, of tenants that have nothing parked, and
 * those that have waited long enough; whether there were any. */
bool vv_acks_answer(struct vv_engine *engine);
/* Whether the active generation is to be cut for those who wait. Under the lock. */
bool vv_acks_want_cut(const struct vv_engine *engine);
/* How long the committer may sleep because of them, at most `most_ns`; 0: not at all. Under the
 * lock. */
int64_t vv_acks_patience(const struct vv_engine *engine, int64_t most_ns);
/* What is parked may have been delivered: who waits for that is looked at again. Storage thread. */
void vv_acks_look_again(struct vv_engine *engine);
/* When the committer and the storage thread have ended: answers all. */
void vv_acks_end(struct vv_engine *engine);

/* ---- nodes.c ---- */
/* For queries: of which other regions (a bit by number) answers have a part only. Any thread. */
uint32_t vv_regions_in_part(void *engine);

/* ---- classes.c ---- */
/* At start, when the metadata has been applied. VV_INVALID: there are classes and several regions.
 */
VV_MUST_CHECK enum vv_status vv_engine_check_classes(const struct vv_engine *engine,
                                                     struct vv_error *error);

/* ---- moves.c: under retentions_lock ---- */
/* Moves the tenant's measurements that the class names now, and those in it that it does not, to
 * where they would be made, from a day on; where nodes share the store they agree on it until then
 * (fleet/moves.c). Adds to the effect.
 * With an error some of them may have been moved. */
VV_MUST_CHECK enum vv_status vv_engine_move_measurements(struct vv_engine *engine, uint32_t tenant,
                                                         uint32_t class,
                                                         struct vv_class_effect *effect,
                                                         struct vv_error *error);

/* VV_OVERLOAD: nodes have not agreed yet on where all points lie that there may be (learning.c).
 * Any thread. */
VV_MUST_CHECK enum vv_status vv_engine_check_waits(struct vv_engine *engine,
                                                   struct vv_error *error);

/* ---- retentions.c: under retentions_lock ---- */
/* As vv_engine_set_retentions, of a place that there is. */
VV_MUST_CHECK enum vv_status vv_engine_change_retentions(struct vv_engine *engine, uint32_t place,
                                                         const struct vv_retentions *wanted,
                                                         struct vv_error *error);
/* What is in memory is flushed before anything ends that lives on (lives_end.c): it has no
 * marks yet that would tell that something is to be built of it. Waits for nothing. */
void vv_engine_flush_before(struct vv_engine *engine);
/* Gives a new place these, with spaces for its tiers; journaling them is left to the caller. */
VV_MUST_CHECK enum vv_status vv_engine_begin_retentions(struct vv_engine *engine, uint32_t place,
                                                        const struct vv_retentions *wanted,
                                                        struct vv_error *error);
/* Whether a new place may have these: VV_INVALID; VV_OVERLOAD: others could not be heard. */
VV_MUST_CHECK enum vv_status vv_engine_check_retentions(struct vv_engine *engine,
                                                        const struct vv_retentions *retentions,
                                                        struct vv_late late,
                                                        struct vv_error *error);

/* ---- submit.c ---- */
/* How old a point may be; 0: as old as it likes. What is older is frozen: a unit of a tier that it
 * belongs to could not be built again, as some of what it was built of may be gone. Any thread. */
int64_t vv_engine_accepted_age(const struct vv_engine *engine, uint32_t place);
/* The same of any retentions, and of what is done with late points. */
int64_t vv_engine_age_by(const struct vv_engine *engine, const struct vv_retentions *retentions,
                         struct vv_late late);
/* How long a unit that is due may wait for being built, at most, while what it is built of lives.
 */
int64_t vv_engine_build_wait_ns(const struct vv_engine *engine, struct vv_late late);
/* Whether what waits for the store takes all the memory it may: writes are refused. Any thread. */
bool vv_engine_is_head_full(struct vv_engine *engine);

/* ---- frozen.c: any thread ---- */
/* Says what spans are frozen though they are young enough, and by whom that is told. */
void vv_frozen_stage(struct vv_engine *engine, struct vv_staging_options *options);
/* Whether points of a series at a time would be refused, as what tiers have of others can't be
 * built again. Of an embedded store. Errors of the store. */
VV_MUST_CHECK enum vv_status vv_frozen_is(struct vv_engine *engine, uint32_t place, uint32_t source,
                                          uint32_t measurement, int64_t time, bool *is_frozen_out,
                                          struct vv_error *error);

/* ---- commit.c ---- */
VV_MUST_CHECK bool vv_definitions_add(struct vv_definition_list *list, uint8_t kind,
                                      uint32_t number);
/* One round; VV_DONE when nothing waited. Committer. */
enum vv_status vv_commit_round(struct vv_engine *engine);
/* Cuts the active generation into a job when it is due, or anyway. Committer. */
enum vv_status vv_commit_cut(struct vv_engine *engine, bool anyway);
void *vv_commit_thread(void *engine);

/* ---- job.c ---- */
/* Where nodes share the store: agrees with them on where the generation's measurements lie that
 * have no place yet. Errors of the store; VV_NO_MEMORY. Storage thread. */
VV_MUST_CHECK enum vv_status vv_job_place(struct vv_engine *engine,
                                          struct vv_generation *generation, struct vv_error *error);
/* Writes a job into the store and confirms it. Storage thread. */
enum vv_status vv_job_store(struct vv_engine *engine, struct vv_job *job, struct vv_error *error);
void vv_job_destroy(struct vv_job *job);

/* ---- outage.c ---- */
struct vv_outage { /* the log's events, and what the last one says */
    const char *begins;
    const char *ends;
    const char *end_text;
};
/* A try has ended so; *failing is whether the one before had failed. */
void vv_outage_note(bool *failing, const struct vv_outage *outage, enum vv_status status,
                    const struct vv_error *error);

/* ---- beat.c ---- */
/* Points from before a restart: when they were accepted is not known. */
#define VV_BEAT_UNKNOWN INT64_MIN
/* The wall time (ns) such that everything that was acknowledged before it is confirmed in the
 * store; VV_BEAT_UNKNOWN. Any thread. */
int64_t vv_beat_flushed_until(struct vv_engine *engine);
/* Whether the others should hear now. Storage thread; so is the next. */
bool vv_beat_is_due(struct vv_engine *engine);
/* Tells them. VV_DONE when there is nothing to tell, or nobody. */
enum vv_status vv_beat(struct vv_engine *engine, struct vv_error *error);

/* ---- learning.c ---- */
/* Confirms what was put, with the records of what was learnt: in the place of the store's own
 * confirm. Storage thread; so are the next. */
enum vv_status vv_engine_confirm(struct vv_engine *engine, struct vv_error *error);
/* Learns before the threads run, and keeps nothing yet. */
enum vv_status vv_learn_at_start(struct vv_engine *engine, struct vv_error *error);
/* Learns, unless it was done a moment ago: before anything is done that moves data. */
enum vv_status vv_learn_if_old(struct vv_engine *engine, struct vv_error *error);
/* Learns all that was told before the call; for the sealer. */
enum vv_status vv_learn_before_seal(void *engine, struct vv_error *error);
bool vv_is_told(void *engine, uint32_t space); /* to the sealer */
/* As of vv_sealer_options. */
enum vv_status vv_learn_sources(void *engine, uint32_t tenant, bool *all_out,
                                struct vv_error *error);
bool vv_learning_is_due(const struct vv_engine *engine);
/* Learns what other nodes told and tells them what is left to be told. VV_DONE when the store is
 * this node's alone, or nothing had to be confirmed. *failed_out: the store failed, so that what
 * was put since the last confirm may be gone; otherwise only asking the others did. */
enum vv_status vv_learning_step(struct vv_engine *engine, bool *failed_out, struct vv_error *error);

/* ---- plans.c: storage thread ---- */
/* Points with earlier times are placed by plans that this node knows. */
int64_t vv_plans_known_until(struct vv_engine *engine);
/* How far points may lie ahead of when what was told of plans was heard. */
int64_t vv_plans_reach(const struct vv_engine *engine);
/* Gives other plans to sources that have outgrown theirs, and to those that somebody asked for.
 * VV_DONE when there was nothing to do; else the store has failed. */
enum vv_status vv_plans_step(struct vv_engine *engine, struct vv_error *error);

/* ---- commit.c ---- */
/* The next stamp to be given out. Committer. */
vv_stamp vv_engine_next_stamp(const struct vv_engine *engine);

/* ---- sweep.c: storage thread ---- */
/* Marks some of the spans in which something is deleted, so that the sealer writes them anew,
 * removes values that are kept by themselves, and drops markers that nothing can come back from.
 * VV_DONE when there is nothing to do now; VV_OVERLOAD: a source waits for a part of a shared
 * store; else the store has failed. */
enum vv_status vv_sweep_step(struct vv_engine *engine, struct vv_error *error);
bool vv_sweep_is_due(const struct vv_engine *engine);
/* Whether what the store said is that something is damaged, or newer: it stays, and is counted. A
 * sweep that gave up there would begin again for ever, and hold expiry. */
bool vv_sweep_passes_over(struct vv_engine *engine, enum vv_status status);
/* The stamp of the runs that make units stale because of the marker. */
vv_stamp vv_sweep_stale_run(struct vv_engine *engine, const struct vv_marker *marker);
/* The source's first marker from the given one on of which something is to be done. */
void vv_sweep_go_to_marker(struct vv_sweep *sweep, size_t from);
/* Whether it goes on at once, as its group has not come to its end. */
bool vv_sweep_goes_on(const struct vv_engine *engine);
/* Where nodes share the store: lists the units of the sweep's tier and measurement, to be made
 * stale, that begin in the tier's bucket and have something of the marker's range before `to`; the
 * tiers are those in which the bucket was found. Errors of the store; VV_NO_MEMORY.
 * (steps_shared.c) */
VV_MUST_CHECK enum vv_status vv_steps_list_stale(struct vv_engine *engine,
                                                 const struct vv_marker *marker,
                                                 const struct vv_tiers *tiers, int64_t bucket,
                                                 int64_t to, struct vv_error *error);
/* Puts the record of a source's markers, or takes it away. */
enum vv_status vv_sweep_put_record(struct vv_engine *engine, uint32_t source,
                                   struct vv_error *error);

/* ---- sweep_group.c: storage thread ---- */
/* Takes the sources that are swept next, and their markers. VV_OK: there are some (group.n), or
 * there may be some that were not looked at; VV_DONE: the round is over. */
enum vv_status vv_sweep_gather(struct vv_engine *engine);
/* Before the first source of a group is swept. As vv_sweep_step. */
VV_MUST_CHECK enum vv_status vv_sweep_begin_group(struct vv_engine *engine, struct vv_error *error);
/* The group's present source becomes the sweep's. */
void vv_sweep_select(struct vv_engine *engine);
/* The sweep's source has been swept, as far as what it makes stale can be put: the next one
 * follows, or the group is ended. VV_OVERLOAD while the sweep is active: this source waits for a
 * part of the store; else as vv_sweep_step. */
VV_MUST_CHECK enum vv_status vv_sweep_end_source(struct vv_engine *engine, struct vv_error *error);
/* The sweep ended with an error; what comes again, comes again. */
void vv_sweep_fail(struct vv_engine *engine, enum vv_status status);
/* Puts what was listed, if it is much. As vv_sweep_step; nothing is swept any more after a failure.
 */
VV_MUST_CHECK enum vv_status vv_sweep_put_much(struct vv_engine *engine, struct vv_error *error);

/* retire.c: drops markers that nothing can come back from, and confirms. */
enum vv_status vv_retire_markers(struct vv_engine *engine, struct vv_error *error);

/* ---- whole.c: storage thread, or before it runs ---- */
enum vv_status vv_whole_load(struct vv_engine *engine, struct vv_error *error);
/* Behind the replay: what was noted as off had ended, which is not journaled. */
void vv_whole_end_lives(struct vv_engine *engine);
/* Notes, durably, what will be gone when all has expired that may at `expiry_ns`, which is behind
 * the clock while sealing is held up, and which tiers are on as of now. */
enum vv_status vv_whole_note(struct vv_engine *engine, int64_t expiry_ns, struct vv_error *error);
/* That a tier has all of [from, to) that it can have, though it may have lacked it; durably. */
VV_MUST_CHECK enum vv_status vv_whole_note_built(struct vv_engine *engine, uint32_t space,
                                                 int64_t from, int64_t to, struct vv_error *error);
/* Whether it is noted of all tenants and tiers that there are. */
bool vv_whole_is_noted(const struct vv_engine *engine);
/* From when on all is there that was written of a place and its tiers. Any thread; not under the
 * lock. */
struct vv_reroll_bounds vv_whole_bounds(struct vv_engine *engine, uint32_t place);
/* The same in some time, where nodes share the store: what time takes until then counts as gone. */
struct vv_reroll_bounds vv_whole_bounds_in(struct vv_engine *engine, uint32_t place,
                                           int64_t ahead_ns);
/* The same now, of what will be there for so long: what a shorter retention was to end, and lives
 * on for less than that, counts for gone. */
struct vv_reroll_bounds vv_whole_bounds_for(struct vv_engine *engine, uint32_t place,
                                            int64_t ahead_ns);
/* From when on a tenant's points are there for tiers to be built of; where nodes share the store,
 * by how long it keeps them. */
int64_t vv_whole_for_tiers(void *engine, uint32_t tenant);
/* The same of a tier's records, as vv_whole_bounds has it: for the sealer. */
int64_t vv_whole_for_records(void *engine, uint32_t space);
/* What has expired of a tenant's points: for the sealer; and for any thread, in some time, as of
 * vv_whole_bounds_in. */
void vv_whole_expired(void *engine, uint32_t tenant, struct vv_expired *expired_out);
void vv_whole_expired_in(struct vv_engine *engine, uint32_t tenant, int64_t ahead_ns,
                         struct vv_expired *expired_out);
/* The sealer has written a record that says that count. */
void vv_whole_said(void *engine, uint32_t tenant);
/* The same as vv_whole_for_tiers, of a tenant or a space; any thread. */
int64_t vv_whole_for_queries(void *engine, uint32_t number);
/* Before when a tier may lack for good what its retention keeps; VV_TIME_MIN: nothing. Any thread;
 * not under the lock. */
int64_t vv_whole_lacked_before(void *engine, uint32_t space);

/* ---- reroll.c: storage thread ---- */
bool vv_reroll_is_due(struct vv_engine *engine); /* any thread */
/* A slice of the reroll that is under way, if one is: VV_DONE when not; else the store has failed.
 */
enum vv_status vv_reroll_step(struct vv_engine *engine, struct vv_error *error);
void vv_reroll_job_deinit(struct vv_engine *engine);
/* Makes what rerolls by the engine's settings, if *reroll is NULL; for one thread at a time. */
VV_MUST_CHECK enum vv_status vv_reroll_make(struct vv_engine *engine, struct vv_reroll **reroll);

/* ---- replace_notes.c ---- */
/* Notes what a day is replaced by, durably: all or none of it will be put. As vv_replace_finish. */
VV_MUST_CHECK enum vv_status vv_replace_note(struct vv_engine *engine,
                                             const struct vv_piece_list *pieces,
                                             struct vv_error *error);
/* Carries out what is noted of days that were being replaced, if anything is, before anything else
 * is written; storage thread, or before it runs. Errors of the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_replace_finish(struct vv_engine *engine, struct vv_error *error);

/* ---- replace_shared.c: where nodes share the store; storage thread ---- */
/* VV_OVERLOAD: what others have told is not known here. */
VV_MUST_CHECK enum vv_status vv_replace_hear(struct vv_engine *engine, struct vv_error *error);
/* Agrees with other nodes on the first plan of a source that has so many rows from `low` to
 * `high`; it may be tentative then. Errors of the store. */
VV_MUST_CHECK enum vv_status vv_replace_agree(struct vv_engine *engine, uint32_t source,
                                              const struct vv_plan *plan, uint64_t rows,
                                              int64_t low, int64_t high, struct vv_error *error);
/* Tells the names of a series, with the next confirm. Errors of the store. */
VV_MUST_CHECK enum vv_status vv_replace_tell(struct vv_engine *engine, uint32_t source,
                                             uint32_t measurement, const struct vv_rows *rows,
                                             struct vv_error *error);
/* VV_OVERLOAD: some of the runs would be parked with this node. */
VV_MUST_CHECK enum vv_status vv_replace_check_held(struct vv_engine *engine,
                                                   const struct vv_piece_list *runs,
                                                   struct vv_error *error);
/* Puts them, durably. Errors of the store; VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_replace_put_runs(struct vv_engine *engine,
                                                 const struct vv_piece_list *runs,
                                                 struct vv_error *error);

/* ---- replace.c ---- */
/* Serves who waits for that: VV_DONE when nobody does; else the store has failed. Storage thread.
 */
enum vv_status vv_replace_step(struct vv_engine *engine, struct vv_error *error);

/* ---- steps.c: what only tiers hold ---- */
/* Before this time, seen at `now_ns`, what is deleted is taken out of tiers, as these could not be
 * built again: points of it are taken no more, and some may be gone. VV_TIME_MIN: nowhere. Any
 * thread; not under the lock. */
int64_t vv_steps_frozen(struct vv_engine *engine, uint32_t place, int64_t now_ns);
/* The same of a series, with what lives on unseen, and as exactly as points are taken of it: of an
 * embedded store; storage thread. Errors of the store. */
VV_MUST_CHECK enum vv_status vv_steps_frozen_in(struct vv_engine *engine, uint32_t place,
                                                uint32_t source, uint32_t measurement,
                                                int64_t now_ns, int64_t *frozen_out,
                                                struct vv_error *error);
/* The same of a source: raw spans that are longer than units are frozen as a whole where a part of
 * them is, as they are not written anew. */
int64_t vv_steps_frozen_of(struct vv_engine *engine, uint32_t source, int64_t frozen);
/* Whether the order can be carried out there: VV_INVALID with the nearest range that can be, or why
 * none; VV_OVERLOAD: later; VV_TOO_LARGE. Notes in *deleted what of its range lies there. Under the
 * lock of deletions. */
VV_MUST_CHECK enum vv_status vv_steps_check(struct vv_engine *engine,
                                            const struct vv_deletion_order *order,
                                            struct vv_deleted *deleted, struct vv_error *error);
/* Goes on taking out of the tiers what the sweep's marker deletes of its measurement, from the
 * sweep's tier and time on; *is_done_out: all of it is out. Storage thread. */
VV_MUST_CHECK enum vv_status vv_steps_sweep(struct vv_engine *engine, size_t *reads,
                                            size_t reads_max, bool *is_done_out,
                                            struct vv_error *error);

/* ---- parking.c: storage thread ---- */
bool vv_parking_is_due(const struct vv_engine *engine);
/* Delivers some of what is parked, and asks again for plans that are tentative. VV_OK: there is
 * more to do at once; VV_DONE: not now. That others can't be reached is no failure of the store;
 * *failed_out: the store failed, so that what was put since the last confirm may be gone. */
enum vv_status vv_parking_step(struct vv_engine *engine, bool *failed_out, struct vv_error *error);
/* All that is parked; nothing where the store is one node's. Any thread. */
struct vv_parked vv_engine_parked(struct vv_engine *engine);

/* ---- late.c ---- */
/* What new tenants want done with late points. */
struct vv_late vv_engine_late_of(const struct vv_settings *settings);
/* Whether a tenant with these retentions can do that with late points: VV_INVALID. */
VV_MUST_CHECK enum vv_status vv_engine_check_late(const struct vv_engine *engine,
                                                  const struct vv_retentions *retentions,
                                                  struct vv_late late, struct vv_error *error);

/* ---- nodes.c ---- */
struct vv_peers_summary {
    size_t n; /* other nodes */
    size_t gone;
    int64_t flushed_until_ns[VV_REGIONS_MAX]; /* the least, by region; INT64_MAX: there are none */
};
/* What this node acknowledged before that time is with the others; VV_BEAT_UNKNOWN. Any thread. */
int64_t vv_engine_flushed_until(struct vv_engine *engine);
/* Any thread. */
struct vv_peers_summary vv_engine_sum_peers(struct vv_engine *engine);

/* ---- storage.c ---- */
/* Does the oldest job: VV_DONE when there is none. After a failure, waits before it tries again
 * (VV_OVERLOAD meanwhile). Storage thread. */
enum vv_status vv_storage_job(struct vv_engine *engine, struct vv_error *error);
/* The monotonic clock. */
int64_t vv_storage_now(struct vv_engine *engine);
/* VV_OK when the store can be written, as far as is known; VV_OVERLOAD while waiting. */
enum vv_status vv_storage_ensure(struct vv_engine *engine, struct vv_error *error);
/* A call that changes the store failed: it is logged as the event, and tried again later. */
void vv_storage_failed(struct vv_engine *engine, const char *event, enum vv_status status,
                       const struct vv_error *error);
/* Work on history took so long: it rests for its share. */
void vv_storage_spend_on_history(struct vv_engine *engine, enum vv_history_work work,
                                 int64_t spent_ns);
/* Learns from the other nodes. */
enum vv_status vv_storage_learn(struct vv_engine *engine, struct vv_error *error);
/* Changes plans: vv_plans_step. */
enum vv_status vv_storage_plans(struct vv_engine *engine, struct vv_error *error);
/* Tells the sealer what is deleted: vv_sweep_step. */
enum vv_status vv_storage_sweep(struct vv_engine *engine, struct vv_error *error);
/* Replaces days that somebody asks for: vv_replace_step. */
enum vv_status vv_storage_replace(struct vv_engine *engine, struct vv_error *error);
/* Goes on with a reroll: vv_reroll_step. */
enum vv_status vv_storage_reroll(struct vv_engine *engine, struct vv_error *error);
/* How long the store is to keep a tenant or a space; 0: for ever. */
int64_t vv_storage_kept_ns(const struct vv_engine *engine, uint32_t number);
/* The store hears of retentions that have changed: one that was set before points counts. */
VV_MUST_CHECK enum vv_status vv_storage_tell_retentions(struct vv_engine *engine,
                                                        struct vv_error *error);
/* Tells the other nodes that this one lives. */
enum vv_status vv_storage_beat(struct vv_engine *engine, struct vv_error *error);
/* Delivers some of what is parked; VV_DONE when there is nothing to do now. */
enum vv_status vv_storage_deliver(struct vv_engine *engine, struct vv_error *error);
void *vv_storage_thread(void *engine);

/* ---- storage_seal.c: the storage thread ---- */
/* Seals one group; `until` as in vv_sealer_step. */
enum vv_status vv_storage_seal(struct vv_engine *engine, vv_stamp until, struct vv_error *error);
/* Sealing gives way to others after so much time. */
#define VV_SEAL_SLICE_NS (100 * VV_MILLISECOND)
/* A slice, if it is time. */
void vv_storage_seal_when_due(struct vv_engine *engine);
/* A slice of what a request to seal everything asks for. */
void vv_storage_seal_on_request(struct vv_engine *engine);
/* Whether such a request waits, and the flush that it came with is done. Under the lock. */
bool vv_storage_seal_is_requested(const struct vv_engine *engine);

/* ---- storage_expire.c: the storage thread ---- */
/* What is due to be sealed, or to be built, is done within so much time, as a rule: what is finer
 * than a tier lives so much longer than what it is needed for. */
#define VV_TIERS_SLACK_NS (12 * VV_HOUR)
/* Retention: tells the store what tenants' retentions are, and lets it expire. */
enum vv_status vv_storage_expire(struct vv_engine *engine, bool *more_out, struct vv_error *error);
void vv_storage_expire_when_due(struct vv_engine *engine);
/* Whether nothing may be taken for gone yet, as what was replayed is not flushed. */
bool vv_storage_waits_for_replayed(struct vv_engine *engine);
/* What waits to be sealed, or to be built into tiers, and is long overdue holds time up: nothing
 * goes that was there when it was due. Nor does what steps are built of that are deleted in part,
 * until that is done. */
VV_MUST_CHECK enum vv_status vv_storage_expiry_time(struct vv_engine *engine, int64_t *now_out,
                                                    struct vv_error *error);
/* What may go now, and what is whole then. */
enum vv_status vv_storage_note_whole(struct vv_engine *engine, struct vv_error *error);
/* Whether a retention is another one than the store was told. */
bool vv_storage_retention_changed(struct vv_engine *engine);

/* ---- recover.c ---- */
enum vv_status vv_recover_metadata(struct vv_engine *engine, vv_stamp *flushed_out,
                                   struct vv_error *error);
enum vv_status vv_recover_journal(struct vv_engine *engine, vv_stamp flushed,
                                  struct vv_error *error);

#endif
