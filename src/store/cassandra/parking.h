/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one dead replica set blocks must not stop anything else. Inside the store on Cassandra:
 * which sets are dead (dead.c), what is kept in the local store until they are back (park.c),
 * reading it (parked_read.c), delivering it (deliver.c), and plans that nobody could be asked for
 * (recut.c). The storage thread's unless said otherwise.
 */
#ifndef VV_STORE_CASSANDRA_PARKING_H
#define VV_STORE_CASSANDRA_PARKING_H

#include "base/bytes.h"
#include "base/clock.h"
#include "cql/session.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

struct vv_cassandra;
struct vv_mark_out;
struct vv_slot_out;

/* ---- dead.c: any thread ---- */

#define VV_DEAD_MAX 512

/* How sure a failure makes that a set is dead. */
enum vv_dead_by {
    VV_DEAD_BY_READ,        /* for readers; for writers too if Cassandra says so */
    VV_DEAD_BY_TRANSACTION, /* only if Cassandra says so: it may be that nodes met */
    VV_DEAD_BY_WRITE,
    VV_DEAD_BY_LOOKING, /* for writers; that it answers does not mean that it can be written */
};

struct vv_dead_set {
    uint64_t set;         /* as vvcql_statement_replicas() */
    int64_t failed_at_ns; /* monotonic: the last failure */
    uint32_t round;       /* of recovery, in which it was noted last */
    uint32_t rounds;      /* in which it failed since a write succeeded */
    bool is_for_writers;
    bool is_doubted; /* it answered when it was looked at: it is tried once more */
};

struct vv_dead {
    struct vv_clock *clock;
    bool is_off; /* nothing may be parked, so that nothing is noted */
    _Atomic uint32_t n;
    pthread_mutex_t lock; /* what follows */
    struct vv_dead_set sets[VV_DEAD_MAX];
    uint32_t round;
    bool is_partial; /* others answered when they were looked at: else nothing is parked */
};

void vv_dead_init(struct vv_dead *dead, struct vv_clock *clock, bool is_off);
void vv_dead_deinit(struct vv_dead *dead);
/* Notes the set of a request that failed; false when the failure says nothing of its set. */
bool vv_dead_note(struct vv_dead *dead, const struct vvcql_error *error, enum vv_dead_by by);
/* A write to the set succeeded, or (by VV_DEAD_BY_READ) a read. */
void vv_dead_alive(struct vv_dead *dead, uint64_t set, enum vv_dead_by by);
/* The set answered when it was looked at after a failure. */
void vv_dead_doubt(struct vv_dead *dead, uint64_t set);
void vv_dead_next_round(struct vv_dead *dead);
void vv_dead_clear(struct vv_dead *dead);
/* Whether nothing should be written to the set, or (VV_DEAD_BY_READ) read from it. */
bool vv_dead_is(struct vv_dead *dead, uint64_t set, enum vv_dead_by by);
/* Whether it is time that something which is parked is tried again. */
bool vv_dead_is_due(struct vv_dead *dead, uint64_t set);
static inline bool vv_dead_any(const struct vv_dead *dead)
{
    return atomic_load_explicit(&dead->n, memory_order_relaxed) > 0;
}

/* Whether the statement is for a set that is noted. */
bool vv_cassandra_is_away(struct vv_cassandra *store, const struct vvcql_statement *statement,
                          enum vv_dead_by by);
/* As vv_cassandra_ask, each for itself: statuses_out[i] says how it went, results_out (may be NULL)
 * has what succeeded. Fails when a failure says nothing of its set, as when no host is there. Any
 * number of statements, which are taken. */
VV_MUST_CHECK enum vv_status vv_cassandra_ask_each(struct vv_cassandra *store, enum vv_dead_by by,
                                                   struct vvcql_statement *const *take_statements,
                                                   size_t n, struct vvcql_result **results_out,
                                                   enum vv_status *statuses_out,
                                                   struct vv_error *error);

/* After a failure: whether a part of Cassandra answers while another may not. VV_IO: none does; the
 * sets are forgotten. */
VV_MUST_CHECK enum vv_status vv_cassandra_probe(struct vv_cassandra *store, struct vv_error *error);

/* ---- park.c ---- */

/*
 * Records in the local store, integers big-endian; each value begins with the version 1 of its
 * format.
 *
 *   run     key: tenant, source … span, run, part as VV_KEY_RUN_SIZE
 *           value: µs of the write clock 8, bytes
 *   mark    key: due, span as VV_KEY_MARK_SIZE
 *           value: run 8, span length 8
 *   slot    key: shard 1, slot in ms 8
 *           value: end of the latest bucket 8
 *   bucket  key: partition as VV_KEY_PARTITION_SIZE, split 0
 *           value: retention of what was put into it 8, ns (0: for ever); older records
 *           have none
 *   told    key: kind 1, item 8, size of the tenant's name 4, tenant, name
 *           value: what is told
 *   plan    key: tenant 4, source 4
 *           value: bucket length 8, span length 8, division 2
 *   state   key: "since"
 *           value: wall time of the oldest 8, what beats say meanwhile 8
 */
enum vv_parked_kind {
    VV_PARKED_RUN,
    VV_PARKED_MARK,
    VV_PARKED_SLOT,
    VV_PARKED_BUCKET,
    VV_PARKED_TOLD,
    VV_PARKED_PLAN,
    VV_PARKED_KINDS,
};

#define VV_LOCAL_PARKED         210 /* and the kinds after it */
#define VV_LOCAL_PARKED_STATE   (VV_LOCAL_PARKED + VV_PARKED_KINDS)
#define VV_PARKED_OVERHEAD      64 /* bytes that a record costs beside its own */
#define VV_PARKED_VERSION       1
#define VV_PARKED_SLOT_KEY_SIZE 9
#define VV_PARKED_TOLD_HEAD     13 /* of a key: kind, item, size of the tenant's name */

/* A partition that has parked runs; n 0: not any more. */
struct vv_parked_partition {
    uint8_t key[32]; /* VV_KEY_PARTITION_SIZE bytes */
    uint32_t n;
    bool is_used;
};

struct vv_parked_tenant {
    uint64_t whose; /* a tenant's number; for what is told, a hash of its name */
    uint64_t n;     /* of what other nodes would see */
};

struct vv_parking {
    uint64_t bytes_max;
    _Atomic bool is_loading; /* all may be parked */
    _Atomic uint64_t n_runs;
    _Atomic uint64_t n_buckets;
    _Atomic uint64_t n_seen; /* of what other nodes would see */
    _Atomic uint64_t n_tentative;
    pthread_mutex_t lock; /* what follows; changed by the storage thread only */
    uint64_t n[VV_PARKED_KINDS];
    uint64_t bytes;
    struct vv_parked_partition *partitions; /* by a hash, or behind it */
    size_t n_partitions;                    /* used */
    size_t capacity;                        /* a power of two */
    struct vv_parked_tenant *tenants;
    size_t n_tenants;
    struct vv_first_plan *tentative;
    size_t tentative_capacity;
    int64_t since_ns;
    int64_t beat_ns; /* others are told no later time */
    /* The storage thread's own. */
    int64_t beaten_ns;     /* what others were told last */
    int64_t deliver_at_ns; /* monotonic */
    size_t place;          /* of `partitions`, where delivering goes on */
    size_t looked;         /* at so many since something could be delivered, or a pause */
};

VV_MUST_CHECK bool vv_parking_init(struct vv_parking *parking, uint64_t bytes_max);
void vv_parking_deinit(struct vv_parking *parking);
/* Reads what the local store has. */
VV_MUST_CHECK enum vv_status vv_parking_load(struct vv_cassandra *store, struct vv_error *error);

/* Keeps a record. All that park are durable with the next confirm, and replace what has the same
 * key. VV_IO when too much is parked already. */
VV_MUST_CHECK enum vv_status vv_park_record(struct vv_cassandra *store, enum vv_parked_kind kind,
                                            struct vv_str key, const struct vv_buffer *value,
                                            struct vv_error *error);
/* Takes a record away. */
VV_MUST_CHECK enum vv_status vv_unpark(struct vv_cassandra *store, enum vv_parked_kind kind,
                                       struct vv_str key, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_parked_scan(struct vv_cassandra *store, enum vv_parked_kind kind,
                                            struct vv_str prefix, vv_meta_visit visit,
                                            void *context, struct vv_error *error);

/* ---- parked.c: records, and plans that are tentative ---- */

/* Replaces what is parked of the same key, unless that has a higher version. */
VV_MUST_CHECK enum vv_status vv_park_run(struct vv_cassandra *store, const struct vv_piece *run,
                                         struct vv_error *error);
/* The version of what is parked of the run's key; 0: nothing is. */
VV_MUST_CHECK enum vv_status vv_parked_version(struct vv_cassandra *store,
                                               const struct vv_piece *run, int64_t *version_out,
                                               struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_park_mark(struct vv_cassandra *store, const struct vv_mark *mark,
                                          struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_park_slot(struct vv_cassandra *store,
                                          const struct vv_slot_out *slot, struct vv_error *error);
/* Of what is put into it for the retention. What is parked of it for a longer one stays so. */
VV_MUST_CHECK enum vv_status vv_park_bucket(struct vv_cassandra *store,
                                            const struct vv_partition *partition,
                                            int64_t retention_ns, struct vv_error *error);
/* The longer one of the retention and the one that a parked note's value has. */
int64_t vv_parked_bucket_retention(struct vv_str value, int64_t retention_ns);
VV_MUST_CHECK enum vv_status vv_park_told(struct vv_cassandra *store, const struct vv_told *told,
                                          struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_park_plan(struct vv_cassandra *store,
                                          const struct vv_first_plan *plan, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_unpark_plan(struct vv_cassandra *store, uint32_t tenant,
                                            uint32_t source, struct vv_error *error);
/* What was told before of the same, if it is there. */
VV_MUST_CHECK enum vv_status vv_unpark_told(struct vv_cassandra *store, const struct vv_told *told,
                                            struct vv_error *error);
/* What a record says; the bytes are borrowed. VV_CORRUPT. */
VV_MUST_CHECK enum vv_status vv_parked_run(struct vv_str key, struct vv_str value,
                                           struct vv_piece *run_out);
VV_MUST_CHECK enum vv_status vv_parked_mark(struct vv_str key, struct vv_str value,
                                            struct vv_mark *mark_out);
VV_MUST_CHECK enum vv_status vv_parked_told(struct vv_str key, struct vv_str value,
                                            struct vv_told *told_out);

/* The replica set that its runs, or rows, belong to; 0: not known. Any thread. */
uint64_t vv_cassandra_partition_set(struct vv_cassandra *store,
                                    const struct vv_partition *partition);
/* The one that its blocks belong to. */
uint64_t vv_cassandra_blocks_set(struct vv_cassandra *store, const struct vv_partition *partition);
VV_MUST_CHECK enum vv_status vv_parked_slot(struct vv_str key, struct vv_str value,
                                            struct vv_slot_out *slot_out);
/* Takes a tentative plan into the list, from its record. VV_CORRUPT, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_parking_load_plan(struct vv_parking *parking, struct vv_str key,
                                                  struct vv_str value);

/* ---- park.c: asking ---- */

bool vv_parking_has_any(struct vv_parking *parking);
/* Whether a run of the partition is to be parked: its set is noted, its source's plan is tentative,
 * or it says of a unit of a tier that it is stale, and something below waits. */
bool vv_park_wants_run(struct vv_cassandra *store, const struct vv_partition *partition);
/* Whether the set that keeps the partition is away. */
bool vv_park_is_away(struct vv_cassandra *store, const struct vv_partition *partition);
/* Of a tier's partition: whether runs of the source's raw data, or of a finer tier, are parked, or
 * notes of their buckets. A unit that is built before they are delivered lacks them, so what makes
 * it stale comes after them. Storage thread. */
bool vv_parked_below(struct vv_cassandra *store, const struct vv_partition *partition);
/* Whether what makes a cohort's unit stale, and is parked, is put at once, too: its set is there.
 */
bool vv_park_puts_now(struct vv_cassandra *store, const struct vv_partition *partition);
/* Whether the units above a mark's span, or the cohort above its unit, lie in sets that are away:
 * sealing waits until what it makes stale can be put. For the span's first time. */
bool vv_parked_above_is_away(struct vv_cassandra *store, const struct vv_mark *mark);
/* Makes of a run of a cohort's unit, whose set is away, one that says that its record is not to be
 * trusted (tier/cohort.h); false where that can't be put either. */
bool vv_park_doubts(struct vv_cassandra *store, struct vv_piece *run);
/* What goes with a run of a source's unit when it is delivered: one that says that the unit of its
 * cohort is stale, which others may have built since. Its version is this time of the write clock,
 * a new one for each time. NULL: there is none, or nowhere to put it. */
struct vvcql_statement *vv_parked_cohort_run(struct vv_cassandra *store, const struct vv_piece *run,
                                             int64_t version);
/* Both as store.h says them. */
bool vv_shared_has_parked_below(struct vv_store *base, const struct vv_partition *partition);
bool vv_shared_is_held(struct vv_store *base, const struct vv_mark *mark, bool has_run);
/* Any thread. */
/* Whether any is. */
bool vv_parking_has_tentative(struct vv_parking *parking);
bool vv_parking_is_tentative(struct vv_parking *parking, uint32_t tenant, uint32_t source);
/* Any thread: false when no run of it is parked. */
bool vv_parking_has_partition(struct vv_parking *parking, const struct vv_partition *partition);
/* VV_OK: a run is parked whose key begins so; VV_NOT_FOUND: none. */
VV_MUST_CHECK enum vv_status vv_parked_has_runs(struct vv_cassandra *store, const uint8_t *key,
                                                size_t size, struct vv_error *error);
/* The same for the runs of a span. */
VV_MUST_CHECK enum vv_status vv_parked_has_span(struct vv_cassandra *store,
                                                const struct vv_span_key *span,
                                                struct vv_error *error);
#define VV_PARKED_PLACES_MAX 160 /* more than a tenant has */
/* The places of a tenant that have something parked: itself, classes, and the late points of each;
 * at most max. */
size_t vv_parked_places(struct vv_cassandra *store, uint32_t tenant, uint32_t *places_out,
                        size_t max);
/* What others may be told instead of a time. */
int64_t vv_parking_bound(struct vv_parking *parking, int64_t flushed_until_ns);
bool vv_shared_has_parked(struct vv_store *base, uint32_t tenant);
void vv_shared_parked(struct vv_store *base, struct vv_parked *parked_out);
size_t vv_shared_tentative(struct vv_store *base, struct vv_first_plan *plans_out, size_t max);

/* ---- parked_read.c: any thread ---- */

/* Runs that are parked, copied; zero-initialised is empty. */
struct vv_parked_runs {
    struct vv_piece *items; /* their bytes lie in `bytes` once all are there */
    size_t n;
    size_t capacity;
    struct vv_buffer bytes;
};
/* Adds a copy of the run; its bytes are found when all are there. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_parked_runs_add(struct vv_parked_runs *runs,
                                                const struct vv_piece *run);
void vv_parked_runs_end(struct vv_parked_runs *runs);
VV_MUST_CHECK enum vv_status vv_parked_collect(struct vv_cassandra *store,
                                               const struct vv_store_read *read,
                                               struct vv_parked_runs *runs, struct vv_error *error);
void vv_parked_runs_deinit(struct vv_parked_runs *runs);
VV_MUST_CHECK enum vv_status vv_parked_give(const struct vv_parked_runs *runs, vv_piece_visit visit,
                                            void *context);
/* The nearest bucket of the source that a parked note names; VV_DONE: none. */
VV_MUST_CHECK enum vv_status vv_parked_nearest(struct vv_cassandra *store, uint32_t tenant,
                                               uint32_t source, int64_t bucket_start, bool forward,
                                               int64_t *bucket_start_out, struct vv_error *error);

/* ---- delivery.c: parked records on their way, each with the statements that it needs ---- */

struct vv_delivery_item {
    size_t key_at; /* in `keys` */
    size_t key_size;
    bool failed;
};

/* Zero-initialised but for the store and the kind is empty. */
struct vv_delivery {
    struct vv_cassandra *store;
    enum vv_parked_kind kind;
    struct vv_buffer keys;
    struct vv_delivery_item *items;
    size_t n_items;
    size_t items_capacity;
    struct vvcql_statement **statements;
    size_t *whose; /* of each statement: its item */
    size_t n;
    size_t capacity;
    size_t bytes;
};

/* The next statements are of the record with this key. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_delivery_begin(struct vv_delivery *delivery, struct vv_str key);
/* VV_NO_MEMORY, also for NULL: the record stays. */
VV_MUST_CHECK enum vv_status vv_delivery_add(struct vv_delivery *delivery,
                                             struct vvcql_statement *take_statement);
/* The record can't be sent now. */
void vv_delivery_give_up(struct vv_delivery *delivery);
/* Sends all and waits; items of which a statement failed have `failed` set. Fails as
 * vv_cassandra_ask_each. */
VV_MUST_CHECK enum vv_status vv_delivery_send(struct vv_delivery *delivery, struct vv_error *error);
struct vv_str vv_delivery_key(const struct vv_delivery *delivery, size_t item);
/* Takes away what has not failed; how many that were is added to *delivered. */
VV_MUST_CHECK enum vv_status vv_delivery_finish(struct vv_delivery *delivery, size_t *delivered,
                                                struct vv_error *error);
void vv_delivery_deinit(struct vv_delivery *delivery);

/* ---- deliver.c, recut.c ---- */

VV_MUST_CHECK enum vv_status vv_shared_deliver(struct vv_store *base, bool *more_out,
                                               struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_shared_place_parked(struct vv_store *base, uint32_t tenant,
                                                    uint32_t source, const struct vv_plan *plans,
                                                    size_t n, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_shared_settle_plan(struct vv_store *base, uint32_t tenant,
                                                   uint32_t source, const struct vv_plan *plans,
                                                   size_t n, struct vv_error *error);

#endif
