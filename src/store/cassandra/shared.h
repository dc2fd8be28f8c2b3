/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes share beside runs and blocks: who they are (join.c, learn.c), what they tell each
 * other (tell.c, learn.c), first plans (plans.c), the ledger (ledger.c, ledger_read.c) and who may
 * seal what (pass.c). Private to this folder; the storage thread's unless said otherwise.
 *
 * Sources are divided into shards by the first byte of their UUID. A node owns the shards that the
 * nodes which live give it by a hash of both; each computes that for itself. It is a matter of
 * work only: right is what the stamps of passes make so.
 */
#ifndef VV_STORE_CASSANDRA_SHARED_H
#define VV_STORE_CASSANDRA_SHARED_H

#include "cql/session.h"
#include "store/cassandra/purge.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>

#define VV_CASSANDRA_SHARDS 256
#define VV_REGION_SIZE      VV_REGION_NAME_SIZE

struct vv_cassandra;

/* A node's part of a slot of the ledger, as it was when this node read it. */
struct vv_slot_seen {
    int64_t slot_ms;
    uint32_t node;
    int64_t touched;
};

struct vv_shard {
    /* As of the last answer of Cassandra about it. */
    bool is_known;
    bool exists;
    uint32_t sealer;
    int64_t lease_ns; /* wall time */
    int64_t seal;
    struct vv_purge_numbers purges;
    /* This node's passes. */
    int64_t pass;                   /* the stamp of the last one begun; 0: none */
    uint32_t pass_second;           /* bits: classes of which it writes into the second table */
    bool is_fresh;                  /* nothing was written with it yet */
    _Atomic int64_t leave_until_ns; /* wall time: another node has the lease */
    /* The ledger. */
    _Atomic bool is_owned;
    int64_t read_at_ns;        /* monotonic: when it is due to be read again */
    bool misses_some;          /* what a dead set kept from being read */
    struct vv_slot_seen *seen; /* ascending by slot and node */
    size_t n_seen;
};

struct vv_node_seen {
    uint32_t node;
    int64_t beat;
    int64_t heard_ns; /* monotonic: when the beat changed */
    int64_t flushed_until_ns;
    int64_t slot;    /* of its changes that is read next … */
    int64_t written; /* … behind this one */
    bool is_partial; /* it leaves out something that was told */
};

/* A mark that is on its way to the ledger. */
struct vv_mark_out {
    struct vv_mark mark;
    uint8_t source[16];
    int64_t slot_ms;
    int64_t put_us;
    bool is_parked;
};

/* A slot that marks were written to, which is to be touched. */
struct vv_slot_out {
    uint8_t shard;
    int64_t slot_ms;
    int64_t end_ns; /* of the latest bucket in it */
};

/* Classes that were told of a tenant which this node doesn't know yet: value and name. */
struct vv_classes_told {
    size_t value_size;
    size_t name_size;
    bool is_of_own_region;
    char bytes[];
};

/* What put_blocks wrote last for a span, until the next time. */
struct vv_span_put {
    struct vv_span_key key;
    int64_t seal;
    struct vv_buffer list; /* the runs that the blocks have in them */
};

struct vv_cassandra_shared {
    char region[VV_REGION_SIZE];
    _Atomic uint32_t node;      /* 0: it has not joined */
    _Atomic bool is_partial;    /* this node leaves out something that was told */
    _Atomic int64_t current_ns; /* monotonic: what was told before was learnt; 0: nothing was */
    const struct vvcql_prepared *join, *put_beat, *say_slot, *put_definition, *put_change,
        *put_plan, *read_plan, *read_plans, *put_place, *read_place, *put_move, *read_move,
        *put_ledger, *retire_ledger, *read_ledger, *put_slot, *read_slots, *read_seal, *make_seal,
        *move_seal, *make_purge, *move_purge;

    struct vv_shard shards[VV_CASSANDRA_SHARDS];
    uint8_t read_next;         /* of the shards whose ledger is read in turn */
    struct vv_mark_out *marks; /* not in the ledger yet */
    size_t n_marks;
    struct vv_slot_out *slots; /* in the ledger, not touched yet */
    size_t n_slots;
    size_t slots_capacity;
    struct vv_span_put *put;
    size_t n_put;
    size_t put_capacity;

    struct vv_buffer told; /* since the last confirm */
    size_t told_sent;      /* of it */
    int64_t change_slot;
    size_t change_bytes; /* written to that slot */

    pthread_mutex_t learning; /* one at a time; what follows, and more of struct vv_region_view */
    struct vv_classes_told **unplaced;
    size_t n_unplaced;

    pthread_mutex_t lock; /* of the nodes of struct vv_region_view */
};

/* ---- shared.c ---- */

VV_MUST_CHECK bool vv_shared_init(struct vv_cassandra *store, const char *region);
void vv_shared_deinit(struct vv_cassandra *store);
VV_MUST_CHECK bool vv_shared_prepare(struct vv_cassandra *store);
extern const struct vv_shared_ops vv_cassandra_shared_ops;
/* recover(): what was under way is forgotten, and told again. */
void vv_shared_forget(struct vv_cassandra *store);
/* Whoever told it tells it again; what the store told itself, of classes, stays: nobody else would
 * tell it. */
void vv_shared_forget_told(struct vv_cassandra_shared *shared);
/* What put_blocks wrote last is not to be added to any more. */
void vv_shared_forget_put(struct vv_cassandra_shared *shared);

/* names.c: vv_shared_ops.cohort_of; VV_INVALID, too: a number has no name. */
VV_MUST_CHECK enum vv_status vv_shared_cohort_of(struct vv_store *base, uint32_t tenant,
                                                 uint32_t source, uint32_t *cohort_out,
                                                 uint64_t *id_out);

/* ---- join.c ---- */

/* Finds this node's number, or takes one. VV_IO. */
VV_MUST_CHECK enum vv_status vv_shared_join(struct vv_cassandra *store, struct vv_error *error);
/* The number of an earlier time, if there is one. */
VV_MUST_CHECK enum vv_status vv_shared_load_node(struct vv_cassandra *store,
                                                 struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_shared_beat(struct vv_store *base, int64_t flushed_until_ns,
                                            struct vv_error *error);

/* Whether this node's row is away. */
bool vv_shared_is_self_away(struct vv_cassandra *store);
/* Says which slot changes are in from now on. */
VV_MUST_CHECK enum vv_status vv_shared_say_slot(struct vv_cassandra *store, struct vv_error *error);

/* ---- tell.c ---- */

/* The store's own among what is told: which classes a tenant has. */
#define VV_TOLD_CLASSES 200

VV_MUST_CHECK enum vv_status vv_shared_tell(struct vv_store *base, const struct vv_told *told,
                                            struct vv_error *error);
/* Sends what was told and waits for it, so that what is written next comes after it. */
VV_MUST_CHECK enum vv_status vv_shared_send_told(struct vv_cassandra *store,
                                                 struct vv_error *error);
void vv_change_add(struct vv_buffer *buffer, const struct vv_told *told);
/* What writes a definition, and a change with such entries. NULL: no memory. */
struct vvcql_statement *vv_told_definition(const struct vv_cassandra *store,
                                           const struct vv_told *told, int64_t us);
struct vvcql_statement *vv_told_change(struct vv_cassandra *store, struct vv_str entries,
                                       int64_t us);
/* Whether changes are in a set that is noted: the others would hear of nothing now. */
bool vv_told_is_away(struct vv_cassandra *store);
/* Whether the source's definitions are: who starts would not hear of it. */
bool vv_told_source_is_away(struct vv_cassandra *store, uint32_t tenant, uint32_t source);
/* Writes a change that says nothing: whether what is told next will land. */
VV_MUST_CHECK enum vv_status vv_told_try(struct vv_cassandra *store, struct vv_error *error);
/* The next of what send_told has put into a change; false at the end or where it is damaged. */
struct vv_reader;
bool vv_told_next(struct vv_reader *reader, struct vv_told *told_out);

/* ---- learn.c: any thread ---- */

uint64_t vv_shared_learnt_all(struct vv_store *base);
VV_MUST_CHECK enum vv_status vv_shared_learn(struct vv_store *base, vv_told_visit visit,
                                             void *context, struct vv_error *error);

/* ---- peers.c ---- */

/* Any thread. */
size_t vv_shared_peers(struct vv_store *base, struct vv_peer *peers_out, size_t max);
bool vv_shared_is_gone(const struct vv_cassandra *store, const struct vv_node_seen *node);
/* Which shards this node owns: read from the nodes that live. Storage thread. */
void vv_shared_divide(struct vv_cassandra *store);
void vv_shared_set_partial(struct vv_store *base, bool is_partial); /* as store.h says it */

/* ---- plans.c ---- */

VV_MUST_CHECK enum vv_status vv_shared_agree_plans(struct vv_store *base,
                                                   struct vv_first_plan *plans, size_t n,
                                                   struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_shared_doubt_plans(struct vv_store *base,
                                                   struct vv_plan_doubt *doubts, size_t n,
                                                   struct vv_error *error);

/* ---- places.c ---- */

VV_MUST_CHECK enum vv_status vv_shared_agree_places(struct vv_store *base,
                                                    struct vv_place_wish *wishes, size_t n,
                                                    struct vv_error *error);

/* ---- pass.c ---- */

VV_MUST_CHECK enum vv_status vv_shared_begin_seal(struct vv_store *base,
                                                  const struct vv_mark *marks, size_t n,
                                                  bool *mine_out, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_shared_take_seal(struct vv_store *base, const struct vv_mark *mark,
                                                 bool *mine_out, struct vv_error *error);
/* The stamp to write blocks of these shards with: of a pass that nothing was written with. */
VV_MUST_CHECK enum vv_status vv_shared_take_passes(struct vv_cassandra *store,
                                                   const bool shards[VV_CASSANDRA_SHARDS],
                                                   struct vv_error *error);
/* Whether sealing the mark's span would need a set of replicas that is away; any thread. */
bool vv_shared_is_away(struct vv_cassandra *store, const struct vv_mark *mark, uint8_t shard);
/* Whether the partition's runs or blocks are in one that is away for reading. */
bool vv_shared_is_span_away(struct vv_cassandra *store, const struct vv_partition *partition);
/* Which of the shards have seen no other pass since this node's last one. */
VV_MUST_CHECK enum vv_status vv_shared_check_passes(struct vv_cassandra *store,
                                                    const bool shards[VV_CASSANDRA_SHARDS],
                                                    bool current_out[VV_CASSANDRA_SHARDS],
                                                    struct vv_error *error);

/* The newest purge of a class that has moved each shard. */
VV_MUST_CHECK enum vv_status vv_shared_read_purges(struct vv_cassandra *store, int64_t retention_ns,
                                                   int64_t numbers_out[VV_CASSANDRA_SHARDS],
                                                   struct vv_error *error);
/* Moves these shards, whose stamps were just looked at, to that number: their next passes write
 * into the table that it fills. Those that others have moved meanwhile stay as they are. */
VV_MUST_CHECK enum vv_status vv_shared_move_purge(struct vv_cassandra *store,
                                                  const bool shards[VV_CASSANDRA_SHARDS],
                                                  int64_t retention_ns, int64_t number,
                                                  struct vv_error *error);

/* ---- ledger.c ---- */

VV_MUST_CHECK enum vv_status vv_ledger_put(struct vv_cassandra *store, const struct vv_mark *mark,
                                           struct vv_error *error);
/* Whether the part of the ledger that the mark belongs to is away, or where its slot is listed. */
bool vv_ledger_is_away(struct vv_cassandra *store, const struct vv_mark *mark);
/* Waits for runs; then marks, and then the slots that they are in, to Cassandra. */
VV_MUST_CHECK enum vv_status vv_ledger_send(struct vv_cassandra *store, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_ledger_retire(struct vv_cassandra *store,
                                              const struct vv_mark *marks, size_t n,
                                              struct vv_error *error);
/* Notes in the local store that a node put a mark. */
VV_MUST_CHECK enum vv_status vv_ledger_note(struct vv_cassandra *store, const struct vv_mark *mark,
                                            uint32_t node, int64_t put_us, struct vv_error *error);
struct vv_ledger_scan {
    bool drops; /* the marks of shards that others own now; storage thread */
    bool all;   /* also of spans that can't be sealed now, but be read */
};
/* Any thread. */
VV_MUST_CHECK enum vv_status vv_ledger_scan(struct vv_cassandra *store, int64_t due_until,
                                            const struct vv_mark *after, struct vv_ledger_scan scan,
                                            vv_mark_visit visit, void *context,
                                            struct vv_error *error);

/* ---- ledger_mark.c: any thread ---- */

/* So many shards share a partition of the ledger: what a flush puts goes in few batches, and a
 * partition of a million sources still has some 50,000 rows of a hundred bytes. */
#define VV_LEDGER_SHARDS 4

int32_t vv_ledger_part_of(uint8_t shard);
int64_t vv_ledger_slot_ms(int64_t due_ns);
/* A mark lives as long as the runs that it tells of. */
int64_t vv_ledger_end_of(const struct vv_cassandra *store, const struct vv_mark *mark);

/* Which span a row of the ledger marks, by names; borrowed. */
struct vv_ledger_name {
    int64_t due_ns;
    int64_t bucket_s;
    int64_t bucket_length_s;
    uint16_t split;
    int64_t span_s;
    struct vv_str tenant;
    struct vv_str measurement;
    struct vv_str source;
};

void vv_ledger_write_name(const struct vv_ledger_name *name, struct vv_buffer *out);
/* False for what is not written so. The texts are parts of the one that is read. */
bool vv_ledger_read_name(struct vv_str text, struct vv_ledger_name *name_out);
/* Sets the mark's run and length of the span; false for what is not written so. */
bool vv_ledger_read_newest(struct vv_str bytes, struct vv_mark *mark_out, int64_t *put_us_out);
/* The values of the slot of a shard and a node. */
void vv_ledger_add_part(const struct vv_cassandra *store, struct vvcql_statement *statement,
                        uint8_t shard, int64_t slot_ms, uint32_t node);
/* What puts a mark into the ledger, retires one up to put_us, and touches its slot. NULL: no
 * memory. */
struct vvcql_statement *vv_ledger_mark_statement(const struct vv_cassandra *store,
                                                 const struct vv_mark_out *out);
struct vvcql_statement *vv_ledger_retire_statement(const struct vv_cassandra *store,
                                                   const struct vv_mark *mark, uint8_t shard,
                                                   uint32_t node, int64_t put_us);
struct vvcql_statement *vv_ledger_slot_statement(const struct vv_cassandra *store,
                                                 const struct vv_slot_out *slot, int64_t us);

/* ---- ledger_read.c ---- */

/* Reads some of what other nodes, or this one before it owned the shard, have added. */
VV_MUST_CHECK enum vv_status vv_ledger_read(struct vv_cassandra *store, struct vv_error *error);

/* Any thread. The mark of a row that vv_ledger_slot_question gave; VV_DONE: it is retired;
 * VV_NOT_FOUND: this node does not know one of its names yet. VV_CORRUPT. */
VV_MUST_CHECK enum vv_status vv_ledger_read_row(const struct vv_cassandra *store,
                                                const struct vvcql_result *row,
                                                struct vv_mark *mark_out, int64_t *put_us_out,
                                                struct vv_error *error);
/* The marks that a node has put into a slot; the slots of a shard: slot, node, touched. */
struct vvcql_statement *vv_ledger_slot_question(const struct vv_cassandra *store, uint8_t shard,
                                                int64_t slot_ms, uint32_t node);
struct vvcql_statement *vv_ledger_slots_question(const struct vv_cassandra *store, uint8_t shard);

/* ---- ledger_look.c: any thread ---- */

VV_MUST_CHECK enum vv_status vv_shared_look_at_marks(struct vv_store *base, int64_t due_from,
                                                     uint32_t *part, uint64_t marks_max,
                                                     vv_mark_visit visit, void *context,
                                                     struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_shared_is_marked(struct vv_store *base, const struct vv_mark *mark,
                                                 bool *is_marked_out, struct vv_error *error);

#endif
