/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: partitions, runs, blocks, marks and metadata, whatever keeps them. No back-end is
 * named here; each is a folder beside this file and passes tests/contract.
 *
 * Words: a run is a columnar block that one flush wrote inside one span of one partition; a block
 * is what sealing made of a span; both may have several parts, ascending in time. A mark notes that
 * a span has unsealed runs. Metadata is small records by kind and key.
 *
 * Threads: all functions that change something are called by ONE thread (the storage thread);
 * reading functions by any thread at the same time.
 *
 * Durability: put_run, put_mark, put_meta, remove_meta, remove_runs and retire_marks become durable
 * with the next successful confirm(). After a crash a part of them may be there without it: with an
 * embedded store a prefix in their order, else any runs, any marks, and metadata only with all runs
 * that were put before. put_blocks is durable when it returns, though what was put before it need
 * not be: confirm what must not be lost if it is not. A run that was removed is not put
 * again.
 * When a changing call fails with VV_IO or VV_FULL, everything since the last successful confirm
 * may be gone: call recover() until it succeeds and write it again (the same keys: that is
 * harmless).
 */
#ifndef VV_STORE_STORE_H
#define VV_STORE_STORE_H

#include "model/partition.h"
#include "model/space.h"
#include "model/stamp.h"

struct vv_store;
struct vv_store_answer;

enum vv_piece_kind { VV_PIECE_RUN, VV_PIECE_BLOCK };

#define VV_VERSION_NONE    INT64_C(-1)
#define VV_BLOCK_PARTS_MAX 0x7fffffffu /* the highest number of a part */

/* One part of a run or block. Parts of one run (or of a span's block) ascend in time and do not
 * overlap but for an equal time at the seam. */
struct vv_piece {
    enum vv_piece_kind kind;
    struct vv_span_key key;
    vv_stamp run;  /* which flush wrote the run; 0 for a block */
    uint32_t part; /* from 0 */
    struct vv_str bytes;
    /* The store's own of what it gives to a visitor, to be handed back: with runs to remove_runs,
     * so that it knows exactly what was read (where nodes share the store it is the wall time in us
     * at which the run was put last); and with a block to put_blocks (of its first part)
     * the version of the block that was read to make it, VV_VERSION_NONE when there was none. 0:
     * not told, whatever is there. */
    int64_t version;
    /* Of a block that is put: so many of its first bytes are all that most readers want
     * (vv_store_read.heads_only), so a store may keep the rest elsewhere. 0: all. */
    size_t head_size;
};

/* A span has unsealed runs, the newest written by flush `run`. `due_ns` is computed from the span
 * by the sealer, always the same for one span, and orders the ledger. */
struct vv_mark {
    int64_t due_ns;
    struct vv_span_key key;
    int64_t span_ns;
    vv_stamp run;
    bool is_of_block; /* not of runs: its block is to be written anew, however it is kept now */
};

#define VV_VALUES_ALL UINT32_MAX

/* Values that are kept by themselves (see vv_store_read.span_ns), of one partition, in [from, to):
 * those with a lower stamp go. Where the store forgets which node wrote a value, those of the same
 * clock go as well. */
struct vv_value_removal {
    struct vv_partition partition;
    int64_t from;
    int64_t to;
    vv_stamp stamp;
    uint32_t measurement; /* or VV_VALUES_ALL */
    uint32_t metric;      /* or VV_VALUES_ALL, of the measurement */
};

/* Borrowed bytes are valid during the call. Return VV_OK to go on, VV_DONE to stop early (the
 * function then returns VV_OK; of single parts the bucket's end is meant), anything else to stop
 * and have it returned. */
typedef enum vv_status (*vv_piece_visit)(void *context, const struct vv_piece *piece);
typedef enum vv_status (*vv_mark_visit)(void *context, const struct vv_mark *mark);
#define VV_MARKS_END UINT32_MAX /* behind the last part of the marks of all nodes */
typedef enum vv_status (*vv_meta_visit)(void *context, struct vv_str key, struct vv_str value);

/* Which pieces to read: one measurement of one partition, spans that start in
 * [span_from, span_to). Of another region that cannot be read here, or that there is not: none. */
struct vv_store_read {
    struct vv_partition partition;
    uint32_t measurement;
    int64_t span_from;
    int64_t span_to;
    /* How long the spans are, for a store that keeps some values by themselves, neither in runs nor
     * in blocks: those in [span_from, span_to) are visited too, as runs that begin anew with each
     * span and come in any order. 0: these are not read, as nothing can seal or remove them. */
    int64_t span_ns;
    /* Where a store keeps a note of a block that was taken away, as what its runs have gone into:
     * that is visited, too, as a block without bytes. For who makes a new block. */
    bool tells_removed;
    /* Of a block that was put with a head nothing else is wanted. A store that keeps all in one
     * place gives all. */
    bool heads_only;
    /* Blocks are not wanted; a store that asks for both at once gives them all the same. */
    bool runs_only;
    /* part_to > 0: of blocks only the parts from part_from on, before part_to and before the first
     * that is missing, of spans that begin with their buckets. They have no heads. VV_DONE of the
     * visitor is to have no more of that bucket. Where a bucket's block is replaced meanwhile they
     * are those of one of the two, or the read returns VV_OVERLOAD: read again. */
    uint32_t part_from;
    uint32_t part_to;
    /* The partition's bucket and those that follow it, so many in all, of the same length: at most
     * the store's buckets_max. 0: the one. */
    uint32_t n_buckets;
};

/*
 * What nodes of one store tell each other, by names, since numbers are each node's own. A node
 * tells what it saw itself, and takes nothing back: what it tells again about the same (kind,
 * tenant, name, item) replaces what it told before; what several nodes tell stands side by side,
 * and src/fleet says what counts.
 */
struct vv_told {
    uint32_t node;
    uint8_t region;       /* as vv_partition.region; ignored by tell() */
    uint8_t kind;         /* src/fleet's */
    struct vv_str tenant; /* name */
    struct vv_str name;   /* of a source, measurement or metric; "" of the tenant */
    int64_t item;
    struct vv_str value;
};
typedef enum vv_status (*vv_told_visit)(void *context, const struct vv_told *told);

/* A source's first plan: what this node would take, and then what all nodes take. */
struct vv_first_plan {
    uint32_t tenant;
    uint32_t source;
    struct vv_plan plan;
    /* Told by agree_plans: nobody could be asked for this one. What is put of the source is parked
     * until the plan is agreed. */
    bool is_tentative;
};

/* A measurement's place: what this node would take, and then what all nodes take. */
struct vv_place_wish {
    int64_t from_ns; /* of points from then on, the beginning of a day; VV_TIME_MIN: the first */
    struct vv_str tenant; /* name */
    struct vv_str measurement;
    char class_name[VV_CLASS_NAME_MAX + 1]; /* "": the tenant itself */
};

/* A source of which others may have agreed on plans that this node does not know. */
struct vv_plan_doubt {
    uint32_t tenant;
    uint32_t source;
    const struct vv_plan *plans; /* that it knows, n > 0 of them */
    size_t n;
    int64_t until_ns; /* the latest time that something is put for */
    /* Told by doubt_plans. */
    bool is_whole;     /* there are no others */
    bool is_tentative; /* what is put of it is parked until settle_plan */
};

/* Another node, as this one saw it last. */
struct vv_peer {
    uint32_t node;            /* unique over all regions */
    uint8_t region;           /* as vv_partition.region. What is said of a node of another region is
                                 what has come here of it, in any order: no promise. */
    bool is_gone;             /* not heard of for a while */
    bool is_partial;          /* it leaves out something that others told */
    int64_t flushed_until_ns; /* what it acknowledged before (by its clock) is in the store, and
                                 what it told until then has been learnt here */
};

#define VV_REGION_NAME_SIZE 49

enum vv_region_state {
    VV_REGION_UNKNOWN,  /* could not be looked at since this node started */
    VV_REGION_ABSENT,   /* what it stores is not kept where this node reads */
    VV_REGION_READABLE, /* what has come here of it is in answers */
    VV_REGION_IN_PART,  /* the same, but for what it keeps in classes of measurements; not said by
                           stores */
};

struct vv_region {
    char name[VV_REGION_NAME_SIZE];
    enum vv_region_state state;
};

/* Of those that are readable the ones in `parts` (a bit by number) are so in part. */
static inline void vv_regions_note_parts(struct vv_region *regions, size_t n, uint32_t parts)
{
    for (size_t i = 0; i < n; i++) {
        if (regions[i].state == VV_REGION_READABLE && parts & 1u << i) {
            regions[i].state = VV_REGION_IN_PART;
        }
    }
}

/* What a node keeps for a part of the store that is away. */
struct vv_parked {
    uint64_t n; /* pieces, marks and definitions */
    uint64_t bytes;
    int64_t since_ns; /* wall time of the oldest; 0: nothing is parked */
    uint64_t n_told;  /* of n: what others are told */
};

/* How far the purge of a class is, where blocks are purged by copying (the back-end's README has
 * the states). */
struct vv_purge_progress {
    char class[24];    /* "30d" */
    const char *state; /* "idle", "moving", "copying", "waiting", "dropping" */
    int64_t number;    /* of the newest one; 0: there was none */
    int64_t since_ns;  /* wall time: it is in that state, of "idle" when it ended */
    bool is_asked;     /* somebody has asked for the next one */
    uint32_t done;     /* of the ranges, while it copies … */
    uint32_t ranges;   /* … of so many */
};
#define VV_PURGES_MAX 17

/* For a store that several nodes share. Storage thread, unless said otherwise. */
struct vv_shared_ops {
    /* This node's number, in its stamps: 1 … VV_STAMP_NODE_MAX, for its life; 0 until it could ask
     * for one. Any thread. */
    uint32_t (*node)(struct vv_store *);
    /* Durable with the next confirm; other nodes can learn it before they can see a run that is put
     * after it. `node` is ignored. */
    enum vv_status (*tell)(struct vv_store *, const struct vv_told *, struct vv_error *);
    /* Visits what others have told since the last call that succeeded (at first: all, of this node
     * too, which may have lost it in a crash), each at
     * least once, that of one node in its order; then notices how far they have flushed. What was
     * visited is visited again after a restart unless a confirm() came between. Any thread, one at
     * a time. */
    enum vv_status (*learn)(struct vv_store *, vv_told_visit, void *context, struct vv_error *);
    /* How often learn() has visited all that is told in this region, from the beginning to the end.
     * While nobody learns; NULL: that is not known. */
    uint64_t (*learnt_all)(struct vv_store *);
    /* Agrees with the other nodes on the first plans of sources, or on what holds from a later date
     * (then never tentatively): who asked first for the same date has chosen. */
    enum vv_status (*agree_plans)(struct vv_store *, struct vv_first_plan *plans, size_t n,
                                  struct vv_error *);
    /* Looks, where plans are agreed on, for others than those known that hold at until_ns or
     * before. Where there are some, or nobody can be asked, the source's first plan is tentative
     * from now on: only hearing the other nodes tells whether they are in use. */
    enum vv_status (*doubt_plans)(struct vv_store *, struct vv_plan_doubt *doubts, size_t n,
                                  struct vv_error *);
    /* Agrees with the other nodes on where measurements lie, or do from a later time on: who asked
     * first for the same time has chosen. VV_IO
     * where too few can be asked: nothing of such a measurement can be stored then. */
    enum vv_status (*agree_places)(struct vv_store *, struct vv_place_wish *wishes, size_t n,
                                   struct vv_error *);
    /* Lets others know that this node lives, and that all that it acknowledged before (by its own
     * clock) is confirmed. */
    enum vv_status (*beat)(struct vv_store *, int64_t flushed_until_ns, struct vv_error *);
    /* Whether this node leaves out something that others told, which it can't seal then: the next
     * beat says so, and its shards go to those that leave out nothing, while there is one. NULL:
     * none is owned by one node only. */
    void (*set_partial)(struct vv_store *, bool is_partial);
    /* The others, of all regions, ascending, at most max; returns how many there are. From memory;
     * any thread. */
    size_t (*peers)(struct vv_store *, struct vv_peer *peers_out, size_t max);
    /* All regions in the order of their numbers, this node's own as the first; returns how many.
     * From memory; any thread. NULL: the store has only the one. */
    size_t (*regions)(struct vv_store *, struct vv_region regions_out[VV_REGIONS_MAX]);
    /* Before the spans of these marks are read to be sealed: mine_out[i] tells whether this node
     * may. What it then writes replaces what others, who began earlier, write later. */
    enum vv_status (*begin_seal)(struct vv_store *, const struct vv_mark *marks, size_t n,
                                 bool *mine_out, struct vv_error *);
    /* The same for one mark that need not be there, also where another node has just begun: that
     * one seals its spans of this shard again. For what is rarely done. NULL: begin_seal will do.
     */
    enum vv_status (*take_seal)(struct vv_store *, const struct vv_mark *mark, bool *mine_out,
                                struct vv_error *);
    /* Whether any node has marked the span, due at mark->due_ns or later, and nobody has retired
     * that. Any thread. NULL: scan_marks knows all marks; likewise below. */
    enum vv_status (*is_marked)(struct vv_store *, const struct vv_mark *mark, bool *is_marked_out,
                                struct vv_error *);
    /* Marks of all nodes that are due at due_from or later, each once, in any order, perhaps some
     * of the hour before; one may have been retired a moment ago. Marks that are parked, or of
     * names that this node has not learnt, are missing. They lie in parts: those of *part (0: the
     * first) and of as many after it as it takes to see marks_max of them; *part is then the next
     * one, or VV_MARKS_END. A part is in memory at a time. Any thread. */
    enum vv_status (*look_at_marks)(struct vv_store *, int64_t due_from, uint32_t *part,
                                    uint64_t marks_max, vv_mark_visit, void *context,
                                    struct vv_error *);
    /* Whether blocks are purged by copying: how far the purges of all classes are. VV_INVALID where
     * what is stored has a TTL. Any thread. */
    enum vv_status (*purges)(struct vv_store *,
                             struct vv_purge_progress progress_out[VV_PURGES_MAX], size_t *n_out,
                             struct vv_error *);
    /* Asks for a purge of all classes, which begins as soon as it may. Likewise. */
    enum vv_status (*ask_purge)(struct vv_store *, struct vv_error *);
    /*
     * What cannot be delivered since the part of the store that it belongs to is away, while others
     * are there, is parked: kept with this node, durable with confirm() and read by it, delivered
     * later (deliver.c of the back-end says when). beat() tells others no later time than that of
     * the oldest of it.
     */
    /* Whether anything of the tenant is parked, so that confirm() did not bring all to the others.
     * Any thread. */
    bool (*has_parked)(struct vv_store *, uint32_t tenant);
    /* Of a tier's partition: whether runs of the source's raw data, or of a finer tier, are parked.
     * A unit that is built before they are delivered lacks them, so runs of this partition wait
     * for them. Of a cohort's: of any of the tenant's sources, or what others are told of them.
     * Storage thread. */
    bool (*has_parked_below)(struct vv_store *, const struct vv_partition *);
    /* Whether what makes the marked unit of a tier stale would be parked with this node now, so
     * that nobody builds it again if this node is lost: the mark, or (has_run) the run, too. Of a
     * cohort's it is enough that another run of it can be put. NULL: nothing ever is. Storage
     * thread. */
    bool (*is_held)(struct vv_store *, const struct vv_mark *, bool has_run);
    /* Of which cohort a source is (tier/cohort.h), for all nodes, and by which id it is named in
     * its records. VV_INVALID: it has no name; VV_NO_MEMORY. Any thread. NULL: there are none. */
    enum vv_status (*cohort_of)(struct vv_store *, uint32_t tenant, uint32_t source,
                                uint32_t *cohort_out, uint64_t *id_out);
    /* All that is parked. From memory; any thread. */
    void (*parked)(struct vv_store *, struct vv_parked *parked_out);
    /* Sources whose plans are tentative: at most max; returns how many there are. */
    size_t (*tentative)(struct vv_store *, struct vv_first_plan *plans_out, size_t max);
    /* What is parked of a source that has a tentative plan is placed by these plans, and stays.
     * Durable when it returns. */
    enum vv_status (*place_parked)(struct vv_store *, uint32_t tenant, uint32_t source,
                                   const struct vv_plan *plans, size_t n, struct vv_error *);
    /* The plans of a source of which the first was tentative have been agreed: the same, and it may
     * be delivered. */
    enum vv_status (*settle_plan)(struct vv_store *, uint32_t tenant, uint32_t source,
                                  const struct vv_plan *plans, size_t n, struct vv_error *);
    /* Runs of sources that are near each other in the order of these numbers can be written
     * together. Any thread. NULL: in no order. */
    uint64_t (*order)(struct vv_store *, uint32_t tenant, uint32_t source);
    /* Delivers some of what is parked, if it is time; *more_out says whether to go on at once. */
    enum vv_status (*deliver)(struct vv_store *, bool *more_out, struct vv_error *);
};

struct vv_store_figures {
    uint64_t disk_bytes;    /* of the store's files */
    uint64_t memory_bytes;  /* buffers and caches, as far as the back-end tells */
    uint64_t eras;          /* that exist now */
    uint64_t eras_expired;  /* since open */
    uint64_t pending_bytes; /* background work (compaction) not done yet */
    uint64_t files;
    uint64_t recoveries; /* successful recover() calls since open */
};

struct vv_store_ops {
    void (*close)(struct vv_store *);

    /* Writing. */
    enum vv_status (*put_run)(struct vv_store *, const struct vv_piece *run, struct vv_error *);
    /* Replaces the mark of the same span; keeps the one with the higher `run`. */
    enum vv_status (*put_mark)(struct vv_store *, const struct vv_mark *, struct vv_error *);
    enum vv_status (*put_meta)(struct vv_store *, uint8_t kind, struct vv_str key,
                               struct vv_str value, struct vv_error *);
    enum vv_status (*remove_meta)(struct vv_store *, uint8_t kind, struct vv_str key,
                                  struct vv_error *);
    enum vv_status (*confirm)(struct vv_store *, struct vv_error *);

    /* Replaces the blocks of n spans at once: `pieces` ascend by key and part; parts that a span
     * had before and that are not given any more are gone; a piece with empty bytes as part 0
     * means that the span has no block any more. Readers see a span's old or new blocks, never a
     * mix. */
    enum vv_status (*put_blocks)(struct vv_store *, const struct vv_piece *pieces, size_t n,
                                 struct vv_error *);
    /* Removes exactly these parts of runs (bytes are ignored): those that were read to make the
     * blocks just put, if any were. */
    enum vv_status (*remove_runs)(struct vv_store *, const struct vv_piece *runs, size_t n,
                                  struct vv_error *);
    /* Removes values that are deleted, whoever put them; durable with the next confirm. What is put
     * later with a lower stamp is this node's to leave out. NULL: the store keeps none by
     * themselves. */
    enum vv_status (*remove_values)(struct vv_store *, const struct vv_value_removal *,
                                    struct vv_error *);
    /* Removes each mark unless a newer run renewed it (its stored `run` is higher), or another node
     * has begun to seal its span since begin_seal: that node's blocks will count. */
    enum vv_status (*retire_marks)(struct vv_store *, const struct vv_mark *marks, size_t n,
                                   struct vv_error *);

    /* The tenant's blocks live for `retention_ns` after their bucket's end; 0: for ever. Takes
     * effect for what is stored too, in the background of expire(). 1 ns: nothing is kept. Durable
     * when it returns. */
    enum vv_status (*set_retention)(struct vv_store *, uint32_t tenant, int64_t retention_ns,
                                    struct vv_error *);
    /* Frees what has expired at `now_ns`, whole eras at once, and goes on moving what
     * set_retention has put into another class, for about `work_bytes`; *more_out says whether
     * there is more to do at once. Never frees a block whose bucket ended less than the retention
     * ago. */
    enum vv_status (*expire)(struct vv_store *, int64_t now_ns, uint64_t work_bytes, bool *more_out,
                             struct vv_error *);
    /* After a failed write: makes the store writable again, or says why not. What was told since
     * the last confirm is to be told again in any case. */
    enum vv_status (*recover)(struct vv_store *, struct vv_error *);

    /* Reading. Sees all that was confirmed before the call, and what the calling thread wrote; runs
     * are visited before blocks, so that what is sealed meanwhile is seen at least once. Runs
     * ascend by bucket, span, run, part; then blocks by bucket, span, part; then, where spans are
     * being sealed, perhaps some of their runs (again). */
    enum vv_status (*read)(struct vv_store *, const struct vv_store_read *, vv_piece_visit, void *,
                           struct vv_error *);
    /*
     * For a store whose answers take their time; all three NULL where asking ahead gains nothing.
     * begin_read asks and returns at once; visit_read waits, then visits as read() does, what was
     * there at some time since begin_read, and may be called again; end_read forgets it, also
     * while it is under way. An answer belongs to one thread at a time.
     */
    enum vv_status (*begin_read)(struct vv_store *, const struct vv_store_read *,
                                 struct vv_store_answer **answer_out, struct vv_error *);
    enum vv_status (*visit_read)(struct vv_store_answer *, vv_piece_visit, void *,
                                 struct vv_error *);
    void (*end_read)(struct vv_store_answer *);
    /* The bucket start nearest to `bucket_start` (at or after it when forward, else at or before
     * it) at which the source has any run or block in the region. VV_DONE when there is none. A
     * store that cannot tell cheaply returns bucket_start itself. */
    enum vv_status (*nearest)(struct vv_store *, uint8_t region, uint32_t tenant, uint32_t source,
                              int64_t bucket_start, bool forward, int64_t *bucket_start_out,
                              struct vv_error *);
    /* Marks in the order of (due_ns, key), those with due_ns <= due_until only, beginning after
     * `after` (NULL: from the first). */
    enum vv_status (*scan_marks)(struct vv_store *, int64_t due_until, const struct vv_mark *after,
                                 vv_mark_visit, void *, struct vv_error *);
    /* Appends the value to `value_out`; VV_NOT_FOUND. */
    enum vv_status (*get_meta)(struct vv_store *, uint8_t kind, struct vv_str key,
                               struct vv_buffer *value_out, struct vv_error *);
    /* Records of a kind whose key begins with prefix, in the order of their keys. */
    enum vv_status (*scan_meta)(struct vv_store *, uint8_t kind, struct vv_str prefix,
                                vv_meta_visit, void *, struct vv_error *);
    void (*read_figures)(struct vv_store *, struct vv_store_figures *figures_out);
    /* Appends what only this back-end has, as lines for Prometheus. NULL: nothing. Any thread. */
    void (*write_metrics)(struct vv_store *, struct vv_buffer *out);
    /* How many values a partition of the tenant should hold at most, where what is written now is
     * kept as single values; 0: it is kept as columns. NULL: always. Storage thread. */
    uint64_t (*values_max)(struct vv_store *, uint32_t tenant);
    /* Whether there may be single values of the tenant, whoever wrote them and when. NULL: never.
     * Any thread. */
    bool (*has_values)(struct vv_store *, uint32_t tenant);
    /* Of how many buckets a read may be, where that costs less than one read for each; 0: of one.
     */
    uint32_t buckets_max;
    const struct vv_shared_ops *shared; /* NULL: the store is one node's */
};

struct vv_store {
    const struct vv_store_ops *ops;
};

/* What opening a store needs beside its folder. */
struct vv_store_options {
    const char *folder;          /* for an embedded store; made if missing; borrowed for the call */
    uint64_t cache_bytes;        /* block cache, at most */
    uint64_t write_buffer_bytes; /* memtables together, at most */
    int eras;                    /* into how many eras a retention is divided, 8 … 64 */
    int64_t merge_after_ns;   /* an era that is over is merged when nothing was put into it for so
                                 long; 0: never … */
    uint64_t keep_free_bytes; /* … and where so much and its bytes are free on the disk then */
};

/* memory/: keeps everything in memory; for tests and the simulation. crash() drops what confirm()
 * has not made durable, but for a prefix chosen by the seed. */
VV_MUST_CHECK enum vv_status vv_store_memory_open(const struct vv_store_options *options,
                                                  struct vv_store **store_out, struct vv_error *);
void vv_store_memory_crash(struct vv_store *store, uint64_t seed);
/* The next `n` changing calls fail with status (0: stop failing). */
void vv_store_memory_fail(struct vv_store *store, enum vv_status status, uint32_t n);
/* The same, after `wait` changing calls that succeed. */
void vv_store_memory_fail_later(struct vv_store *store, enum vv_status status, uint32_t wait,
                                uint32_t n);

/* rocksdb/: the embedded store. VV_LOCKED when another process has it open, VV_NEWER for a format
 * of a newer version. */
VV_MUST_CHECK enum vv_status vv_store_rocksdb_open(const struct vv_store_options *options,
                                                   struct vv_store **store_out, struct vv_error *);

#endif
