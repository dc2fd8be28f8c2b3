/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the store on Cassandra. Private to this folder. */
#ifndef VV_STORE_CASSANDRA_CASSANDRA_H
#define VV_STORE_CASSANDRA_CASSANDRA_H

#include "model/late.h"
#include "store/cassandra/noted.h"
#include "store/cassandra/open.h"
#include "store/cassandra/parking.h"
#include "store/cassandra/purge.h"
#include "store/cassandra/schema.h"
#include "store/cassandra/shared.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- flight.c: writes under way ---- */

struct vv_landing;

struct vv_flight {
    struct vvcql_session *session;
    struct vv_dead *dead;
    uint32_t requests_max;
    size_t bytes_max;
    pthread_mutex_t lock;
    pthread_cond_t landed;
    uint32_t requests; /* under way, by what they cost */
    size_t bytes;
    enum vv_status status; /* the first failure since it was cleared */
    bool goes_on;          /* after failures of dead sets only: to find all of them at once */
    struct vv_error error;
    struct vv_landing *gathered_first; /* not sent yet; of the thread that sends */
    struct vv_landing *gathered_last;
    uint32_t gathered;
    size_t gathered_bytes;
};

void vv_flight_init(struct vv_flight *flight, struct vvcql_session *session, struct vv_dead *dead,
                    uint32_t requests_max, size_t bytes_max);
void vv_flight_deinit(struct vv_flight *flight);
/* Waits until there is room, then sends, what is gathered first; the failure of one that was sent
 * before is returned here or, when only sets of replicas are dead, by vv_flight_wait. VV_IO for any
 * failure, as what was put before may be in the statement. */
VV_MUST_CHECK enum vv_status vv_flight_send(struct vv_flight *flight,
                                            struct vvcql_statement *take_statement,
                                            struct vv_error *error);
/* The same for what costs Cassandra as much as `cost` writes of one row, and may stay here until
 * others go with it or vv_flight_wait is called. */
VV_MUST_CHECK enum vv_status vv_flight_gather(struct vv_flight *flight,
                                              struct vvcql_statement *take_statement, uint32_t cost,
                                              struct vv_error *error);
/* Sends what is gathered, and waits for all that was sent. */
VV_MUST_CHECK enum vv_status vv_flight_wait(struct vv_flight *flight, struct vv_error *error);
void vv_flight_clear(struct vv_flight *flight); /* forgets a failure; nothing may be under way */

/* ---- the store ---- */

/* A change of the local store that waits for the writes before it. */
struct vv_local_change {
    struct vv_local_change *next;
    bool is_removal;
    uint8_t kind;
    size_t key_size;
    size_t value_size;
    char bytes[]; /* key, value */
};

/* Of the table of runs that have partitions of their own, or of the one of those that share. */
struct vv_run_statements {
    const struct vvcql_prepared *put; /* a run or a cover */
    const struct vvcql_prepared *read_cover;
};

struct vv_block_statements {
    const struct vvcql_prepared *put;
    const struct vvcql_prepared *newest_seal;
    const struct vvcql_prepared *drop_seals;
};

struct vv_class {
    int64_t retention_ns;                      /* 0: for ever */
    struct vv_block_statements blocks[2];      /* the second: where blocks are purged by copying */
    struct vv_block_statements late[2];        /* the same of the tables of late points */
    const struct vvcql_prepared *put_value[2]; /* by enum vv_value_type */
    const struct vvcql_prepared *remove_value;
    const struct vvcql_prepared *remove_range; /* of whole ms … */
    const struct vvcql_prepared *remove_parts; /* … and of one ms */
};

/* What is read of a region, and what was heard of its nodes. */
struct vv_region_view {
    char name[VV_REGION_NAME_SIZE];
    char keyspace[64];
    const struct vvcql_prepared *read_runs, *read_shared_runs, *bucket_after, *bucket_before,
        *read_nodes, *read_definitions, *read_changes;
    /* By class, as those of struct vv_class. */
    const struct vvcql_prepared *read_blocks[VV_CASSANDRA_CLASSES_MAX + 1][2];
    const struct vvcql_prepared *read_heads[VV_CASSANDRA_CLASSES_MAX + 1][2]; /* no tails */
    const struct vvcql_prepared *read_late[VV_CASSANDRA_CLASSES_MAX + 1][2];
    const struct vvcql_prepared *read_values[VV_CASSANDRA_CLASSES_MAX + 1];
    _Atomic int state;             /* enum vv_region_state */
    _Atomic uint32_t classes;      /* bits: those that it has the tables of … */
    _Atomic uint32_t late_classes; /* … and those of which it has that of late points */
    _Atomic bool lacks_names;      /* something of it was read that has names which are not known */
    /* Who learns has what follows (shared.learning); the nodes are changed under shared.lock. */
    struct vv_node_seen *nodes; /* but for this one; ascending */
    size_t n_nodes;
    bool is_read[VV_CASSANDRA_SHARDS]; /* its definitions, since all of them were wanted */
    uint32_t shard_next;               /* of those that are not read */
    bool has_definitions;              /* all were read once */
    uint64_t definitions_read;         /* so often all of them were */
    bool has_heard_itself;
    int64_t heard_all_ns; /* monotonic: all changes since then are heard, or will be */
    /* Of other regions, all monotonic. */
    int64_t look_at_ns;     /* when its keyspace is looked at again */
    int64_t ask_at_ns;      /* when its nodes may be asked for, after a failure */
    int64_t again_at_ns;    /* when its newest changes are read again */
    uint32_t whole_next;    /* while all definitions are read: the shard that is next */
    int64_t whole_at_ns;    /* when they are read again */
    int64_t whole_after_ns; /* not before, whoever wants it */
    bool came_back;         /* since they were read: some of its nodes */
    bool has_failed;        /* the last time; so that it is logged once */
};

/* How raw data is kept; a tenant's layout may change, what was written stays. */
enum vv_layout {
    VV_LAYOUT_BLOCKS = 1, /* runs, and blocks of sealed spans */
    VV_LAYOUT_ROWS = 2,   /* each value a row (rows.h) */
};

/* In which classes and layouts a tenant's data is looked for, and where it is written. */
struct vv_tenant_classes {
    uint32_t tenant;
    uint8_t layouts; /* bits of enum vv_layout */
    uint8_t layout;  /* the one that this node writes; 0: it has written nothing yet */
    int64_t retention_ns;
    uint32_t n;
    uint8_t classes[VV_CASSANDRA_CLASSES_MAX + 1]; /* indexes of `classes`; blocks are written into
                                                      the first */
};

/* A tenant that waits to be written into another class or layout: turn.c. */
struct vv_turn {
    uint32_t tenant;
    int64_t at_ns; /* monotonic; 0: others have not been told yet */
};

/* Runs or rows of one partition that are not sent yet: gather.c. */
struct vv_open_batch {
    struct vvcql_statement *statement; /* NULL: free */
    uint32_t n;                        /* statements in it */
    uint8_t partition[26]; /* its key (store/keys.h); of one that is shared with what its
                              sources have in common as their number */
    uint64_t used;         /* when something was added, by `uses` */
};

#define VV_OPEN_BATCHES 64 /* of 16 KiB */
struct vv_open_batches {
    struct vv_open_batch open[VV_OPEN_BATCHES];
    uint32_t last; /* that was used */
    uint64_t uses;
};

struct vv_cassandra {
    struct vv_store base;
    struct vvcql_session *session;
    struct vv_store *local;
    struct vv_store_names names;
    struct vv_clock *clock;
    int64_t slack_ns;
    int64_t lead_ns;
    int64_t gone_ns;   /* others are gone when they are silent for longer */
    int64_t fold_ns;   /* late points wait so long to be sealed, at most */
    char keyspace[64]; /* this region's */
    struct vv_region_view views[VV_REGIONS_MAX]; /* this region's first */
    size_t n_views;
    size_t own_region;                                     /* its place in the list of all */
    char *rows_tenants;                                    /* names with commas, or "*" */
    const struct vv_schema_options *schema;                /* may be NULL */
    bool has_joined;                                       /* since it was opened */
    bool has_checked;                                      /* the schema, since then */
    struct vv_class classes[VV_CASSANDRA_CLASSES_MAX + 1]; /* ascending, the last for ever */
    size_t n_classes;
    bool purges; /* blocks are purged by copying, and have no TTL */
    int64_t purge_every_ns;
    struct vv_run_statements runs, shared_runs;
    const struct vvcql_prepared *put_bucket;
    struct vv_cassandra_shared shared;
    struct vv_dead dead;
    struct vv_parking parking;

    /* The storage thread's. */
    struct vv_flight flight;
    struct vv_open_batches batches;
    struct vv_delivery *delivery; /* NULL: batches go to the flight */
    struct vv_noted noted;        /* buckets that need not be noted with each run */

    struct vv_turn *turns;
    size_t n_turns;
    size_t turns_capacity;

    int64_t refresh_at_ns; /* when old runs are looked for again */
    bool refresh_goes_on;  /* behind this mark: */
    struct vv_mark refresh_after;

    struct vv_purge purge;

    pthread_mutex_t lock; /* what follows */
    struct vv_local_change *changes_first;
    struct vv_local_change *changes_last;
    size_t n_changes;
    uint64_t write_us;                 /* the write clock: the last one given out */
    uint64_t write_us_bound;           /* kept in the local store: given out are those below */
    struct vv_tenant_classes *tenants; /* that have a record; ascending */
    size_t n_tenants;

    _Atomic bool failed;
    _Atomic(uintptr_t) writer; /* the thread that writes: it sees what it wrote */
    _Atomic uint64_t runs_refreshed;
    _Atomic uint64_t recoveries;
    _Atomic uint64_t reads, rows_read, bytes_read;
};

static inline struct vv_cassandra *vv_cassandra_of(struct vv_store *store)
{
    return (struct vv_cassandra *)(void *)store;
}

/* Own records in the local store, beyond the kinds of the engine. */
#define VV_LOCAL_CLASSES 200 /* by tenant */
#define VV_LOCAL_CLOCK   201
#define VV_LOCAL_OWNER   202 /* this node's id and number */
#define VV_LOCAL_RUNS    203 /* what was put of a mark, by node: ledger.c */

#define VV_MARKS_OUT_MAX  4096 /* that wait until they go to the ledger together */
#define VV_PLANS_AT_ONCE  256
#define VV_PLACES_AT_ONCE 64

/* write.c: for the thread that writes, waits for what it wrote; nothing for others. */
VV_MUST_CHECK enum vv_status vv_cassandra_see_own(struct vv_cassandra *store,
                                                  struct vv_error *error);
/* open.c: VV_IO while a failure waits for recover(). To be called by whoever writes. */
VV_MUST_CHECK enum vv_status vv_cassandra_check(struct vv_cassandra *store, struct vv_error *error);
/* Notes a failure of a write; returns the status. */
enum vv_status vv_cassandra_failed(struct vv_cassandra *store, enum vv_status status);
/* The write clock's next µs. Storage thread. */
VV_MUST_CHECK enum vv_status vv_cassandra_write_us(struct vv_cassandra *store, int64_t *us_out,
                                                   struct vv_error *error);

/* ask.c: executes n ≤ VV_CASSANDRA_ASK_MAX statements at once and waits. The statements are taken;
 * the caller destroys the results, all NULL on failure. */
#define VV_CASSANDRA_ASK_MAX 2176
VV_MUST_CHECK enum vv_status vv_cassandra_ask(struct vv_cassandra *store,
                                              struct vvcql_statement *const *take_statements,
                                              size_t n, struct vvcql_result **results_out,
                                              struct vv_error *error);
/* Likewise, but of a failure, the first one, only those results are NULL that failed. */
VV_MUST_CHECK enum vv_status vv_cassandra_ask_any(struct vv_cassandra *store,
                                                  struct vvcql_statement *const *take_statements,
                                                  size_t n, struct vvcql_result **results_out,
                                                  struct vv_error *error);

/* open.c: prepares a text in which '@' stands for the table. */
const struct vvcql_prepared *vv_cassandra_prepare(struct vv_cassandra *store, const char *text,
                                                  const char *table);

const struct vvcql_prepared *vv_cassandra_prepare_in(struct vv_cassandra *store,
                                                     const char *keyspace, const char *text,
                                                     const char *table);

#define VV_ROWS_COLUMNS      "tenant, source, bucket, bucket_s, split"
#define VV_ROWS_ARE          "tenant = ? AND source = ? AND bucket = ? AND bucket_s = ? AND split = ?"
#define VV_PARTITION_COLUMNS "region, " VV_ROWS_COLUMNS
#define VV_PARTITION_IS      "region = ? AND " VV_ROWS_ARE
/* Of one source's runs in a partition that several share. */
#define VV_SHARED_COLUMNS "region, tenant, share, bucket, bucket_s, source"
#define VV_SHARED_IS                                                                               \
    "region = ? AND tenant = ? AND share = ? AND bucket = ? AND bucket_s = ? AND source = ?"

/* ---- regions.c ---- */

void vv_regions_init(struct vv_cassandra *store, const struct vv_cassandra_options *options);
void vv_regions_deinit(struct vv_cassandra *store);
VV_MUST_CHECK bool vv_regions_prepare(struct vv_cassandra *store);
/* VV_INVALID when the regions are not those, in the order, of the last time. */
VV_MUST_CHECK enum vv_status vv_regions_check_order(struct vv_cassandra *store,
                                                    struct vv_error *error);
/* Looks whether another region can be read here; under shared.learning, or while opening. */
void vv_regions_look(struct vv_cassandra *store, struct vv_region_view *view);
void vv_regions_look_at_all(struct vv_cassandra *store);
/* NULL when there is no such region, or it can't be read here. Any thread. */
const struct vv_region_view *vv_regions_view(const struct vv_cassandra *store, uint8_t region);
/* Whether it has the tables of a class; is_late: that of its late points. */
bool vv_regions_has_class(const struct vv_region_view *view, uint8_t class, bool is_late);
/* How many tables of blocks, or of late points, are read of each class: 1 or 2. */
static inline uint32_t vv_cassandra_tables(const struct vv_cassandra *store)
{
    return store->purges ? 2 : 1;
}
/* Something of the region was read whose names are not known: they are to be learnt, though what
 * came before and after them has been. Any thread. */
void vv_regions_lack_names(struct vv_cassandra *store, uint8_t region);
size_t vv_shared_regions(struct vv_store *base, struct vv_region regions_out[VV_REGIONS_MAX]);

/* status.c */
enum vv_status vv_cassandra_status(const struct vvcql_error *from, const char *doing,
                                   struct vv_error *error);

/* names.c */
struct vv_str vv_cassandra_tenant(const struct vv_cassandra *store, uint32_t tenant);
bool vv_cassandra_is_tier(const struct vv_cassandra *store, uint32_t tenant);
struct vv_str vv_cassandra_measurement(const struct vv_cassandra *store, uint32_t measurement);
/* VV_INVALID: a number has no name. */
VV_MUST_CHECK enum vv_status vv_cassandra_source_id(const struct vv_cassandra *store,
                                                    uint32_t tenant, uint32_t source,
                                                    uint8_t uuid_out[16], struct vv_error *error);
/* Of a source's UUID. */
static inline uint8_t vv_cassandra_shard_of(const uint8_t source[16])
{
    return source[0];
}
/* As vv_shared_ops.order: sources that share runs come together. */
uint64_t vv_shared_order(struct vv_store *base, uint32_t tenant, uint32_t source);
VV_MUST_CHECK enum vv_status vv_cassandra_shard(const struct vv_cassandra *store,
                                                const struct vv_partition *partition,
                                                uint8_t *shard_out, struct vv_error *error);
/* The shard of a definition. false: no memory. */
bool vv_cassandra_definition_shard(struct vv_str tenant, struct vv_str name, uint8_t *shard_out);
/* The ids of a piece's columns, or of the metrics of a tier's record, 8 bytes each; empty for bytes
 * that are neither. */
VV_MUST_CHECK enum vv_status vv_cassandra_metrics(const struct vv_cassandra *store,
                                                  struct vv_str piece, struct vv_buffer *out);
/* What a piece's columns are here: appends a number for each id, or nothing when the bytes say the
 * same. VV_NOT_FOUND when this node doesn't know one of them; VV_CORRUPT, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_cassandra_numbers(const struct vv_cassandra *store,
                                                  uint32_t measurement, struct vvcql_bytes ids,
                                                  struct vvcql_bytes piece, struct vv_buffer *out);
/* The piece with these numbers; replaces out's content. VV_CORRUPT, VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_cassandra_renumber(struct vvcql_bytes piece,
                                                   const struct vv_buffer *numbers,
                                                   struct vv_buffer *out);

/* keys.c: the values of a partition key: of runs and blocks, and of rows, which have no region.
 * VV_INVALID when a number has no name. */
VV_MUST_CHECK enum vv_status vv_cassandra_add_rows_partition(const struct vv_cassandra *store,
                                                             struct vvcql_statement *statement,
                                                             const struct vv_partition *partition,
                                                             struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_add_partition(const struct vv_cassandra *store,
                                                        struct vvcql_statement *statement,
                                                        const struct vv_partition *partition,
                                                        struct vv_error *error);
/* Of the partition of its runs: of `runs`, or of `shared_runs` and then of the source in it. */
VV_MUST_CHECK enum vv_status vv_cassandra_add_runs_partition(const struct vv_cassandra *store,
                                                             struct vvcql_statement *statement,
                                                             const struct vv_partition *partition,
                                                             struct vv_error *error);
/* What is asked of the table that has the partition's runs. */
static inline const struct vv_run_statements *vv_cassandra_runs_of(
    const struct vv_cassandra *store, const struct vv_partition *partition)
{
    return vv_split_share_bits(partition->split) > 0 ? &store->shared_runs : &store->runs;
}
/* By which sources share runs: the first bits of the UUID, and above them how many. */
int32_t vv_cassandra_share_of(const uint8_t source[16], uint8_t share_bits);
void vv_cassandra_add_str(struct vvcql_statement *statement, struct vv_str text);
/* The values of a tenant and a source. As vv_cassandra_source_id. */
VV_MUST_CHECK enum vv_status vv_cassandra_add_source(const struct vv_cassandra *store,
                                                     struct vvcql_statement *statement,
                                                     uint32_t tenant, uint32_t source,
                                                     struct vv_error *error);
/* Text or bytes of a row, valid as long as the result; "" for null. */
struct vv_str vv_cassandra_text(const struct vvcql_result *row, size_t column);
/* An unsigned stamp as a bigint of the same order, and back. */
int64_t vv_cassandra_from_stamp(uint64_t stamp);
uint64_t vv_cassandra_to_stamp(int64_t value);
/* A stamp given out before this node had joined has no number in it yet. */
static inline vv_stamp vv_cassandra_own(const struct vv_cassandra *store, vv_stamp run)
{
    return (run & VV_STAMP_NODE_MAX) != 0 ? run : run | store->shared.node;
}
/* Times of partitions and spans are whole minutes, so ms are exact. */
static inline int64_t vv_cassandra_ms(int64_t time_ns)
{
    return time_ns / VV_MILLISECOND;
}

/* retention.c */
struct vv_tenant_classes vv_cassandra_classes_of(struct vv_cassandra *store, uint32_t tenant);
/* Seconds to live; 0: without an end. */
int32_t vv_cassandra_block_ttl(const struct vv_cassandra *store, int64_t bucket_end_ns,
                               int64_t retention_ns, int64_t now_ns);
int32_t vv_cassandra_run_ttl(const struct vv_cassandra *store, int64_t end_ns, int64_t now_ns);
/* The same of a span's runs that are written now, and of a cover of any that are there. */
int32_t vv_cassandra_runs_ttl(const struct vv_cassandra *store, const struct vv_span_key *key,
                              int64_t now_ns);
int32_t vv_cassandra_cover_ttl(const struct vv_cassandra *store, const struct vv_span_key *key,
                               int64_t now_ns);
/* By when what a span's runs say is due to be sealed, or built into a unit of a tier, as a rule:
 * they live until then, and the slack. */
int64_t vv_cassandra_runs_end(const struct vv_cassandra *store, const struct vv_span_key *key);
VV_MUST_CHECK enum vv_status vv_cassandra_load_classes(struct vv_cassandra *store,
                                                       struct vv_error *error);
/* Another node has told which classes and layouts a tenant has. VV_NOT_FOUND: this one doesn't know
 * the tenant yet. Any thread. */
VV_MUST_CHECK enum vv_status vv_cassandra_learn_classes(struct vv_cassandra *store,
                                                        struct vv_str tenant, struct vv_str value,
                                                        bool is_of_own_region,
                                                        struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_set_retention(struct vv_store *base, uint32_t tenant,
                                                        int64_t retention_ns,
                                                        struct vv_error *error);
/* What is known of a tenant, without what the settings want; *found_out: anything. */
struct vv_tenant_classes vv_cassandra_recorded(struct vv_cassandra *store, uint32_t tenant,
                                               bool *found_out);
/* For how long what is put of it now is kept; 0: for ever. */
int64_t vv_cassandra_retention(struct vv_cassandra *store, uint32_t tenant);
/* The layout that the tenant's runs are written in now. */
uint8_t vv_cassandra_written_layout(struct vv_cassandra *store, uint32_t tenant);
/* Puts the class of its retention at the front. */
void vv_cassandra_prefer_own(const struct vv_cassandra *store, struct vv_tenant_classes *classes);
/* Puts the record into the local store, and into memory. Storage thread. */
VV_MUST_CHECK enum vv_status vv_cassandra_put_classes(struct vv_cassandra *store,
                                                      const struct vv_tenant_classes *classes,
                                                      struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_keep_classes(struct vv_cassandra *store,
                                                       const struct vv_tenant_classes *classes,
                                                       struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_expire(struct vv_store *base, int64_t now_ns,
                                                 uint64_t work_bytes, bool *more_out,
                                                 struct vv_error *error);

/* late.c: any thread. */

/* Whether a tenant is the space of another one's late points. */
bool vv_cassandra_is_late(const struct vv_cassandra *store, uint32_t tenant);
/* The space of a tenant's, or of its tier's, late points; false: this node knows of none. */
bool vv_cassandra_late_space(const struct vv_cassandra *store, uint32_t tenant,
                             uint32_t *space_out);
/* Whether the plans by which the partition was chosen are tentative. */
bool vv_cassandra_is_tentative(struct vv_cassandra *store, const struct vv_partition *partition);
/* Whether runs of the tenant may wait for a fold before they are due; how long they do, at most. */
bool vv_cassandra_may_wait(const struct vv_cassandra *store, uint32_t tenant);
int64_t vv_cassandra_fold_wait(const struct vv_cassandra *store, uint32_t tenant);

/* turn.c: storage thread. */

/* Whether this node has heard of all that others told until a while ago. */
bool vv_cassandra_is_current(struct vv_cassandra *store);
/* Notes that a tenant is to be written elsewhere as soon as others know it; what was told of it
 * must be among what is sent next. */
VV_MUST_CHECK enum vv_status vv_cassandra_wish_turn(struct vv_cassandra *store, uint32_t tenant,
                                                    struct vv_error *error);
bool vv_cassandra_waits_for_turn(const struct vv_cassandra *store, uint32_t tenant);
/* Turns those whose time has come. Not between a run and its mark. */
VV_MUST_CHECK enum vv_status vv_cassandra_turn(struct vv_cassandra *store, struct vv_error *error);

/* open.c; any thread */
bool vv_cassandra_has_values(struct vv_store *base, uint32_t tenant);

/* write.c */
VV_MUST_CHECK enum vv_status vv_cassandra_put_run(struct vv_store *base, const struct vv_piece *run,
                                                  struct vv_error *error);
/* The same of a run that others see, so that it does not expire. */
VV_MUST_CHECK enum vv_status vv_cassandra_put_run_again(struct vv_cassandra *store,
                                                        const struct vv_piece *run,
                                                        struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_put_mark(struct vv_store *base,
                                                   const struct vv_mark *mark,
                                                   struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_retire_marks(struct vv_store *base,
                                                       const struct vv_mark *marks, size_t n,
                                                       struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_put_meta(struct vv_store *base, uint8_t kind,
                                                   struct vv_str key, struct vv_str value,
                                                   struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_remove_meta(struct vv_store *base, uint8_t kind,
                                                      struct vv_str key, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_confirm(struct vv_store *base, struct vv_error *error);
/* Waits for what is under way and applies the changes that wait for it. */
VV_MUST_CHECK enum vv_status vv_cassandra_settle(struct vv_cassandra *store,
                                                 struct vv_error *error);
void vv_cassandra_forget_changes(struct vv_cassandra *store);
/* What writes a run. A copy of one that is there stays below what its own node may write later;
 * else its timestamp is its version, if it has one. */
VV_MUST_CHECK enum vv_status vv_cassandra_run_statement(struct vv_cassandra *store,
                                                        const struct vv_piece *run, bool is_copy,
                                                        struct vvcql_statement **statement_out,
                                                        struct vv_error *error);
/* Adds to the batch of the partition, by its name here, or begins another where it would have more
 * than bytes_max; sent sooner or later, or by vv_cassandra_send_batches. */
VV_MUST_CHECK enum vv_status vv_cassandra_gather(struct vv_cassandra *store,
                                                 const struct vv_partition *partition,
                                                 size_t bytes_max,
                                                 struct vvcql_statement *take_statement,
                                                 struct vv_error *error);
/* Sends what was gathered, or hands it to store->delivery. */
VV_MUST_CHECK enum vv_status vv_cassandra_send_batches(struct vv_cassandra *store,
                                                       struct vv_error *error);
void vv_cassandra_forget_batches(struct vv_cassandra *store);

/* refresh.c: for expire(); does about work_bytes, *more_out when there is more at once. */
VV_MUST_CHECK enum vv_status vv_cassandra_refresh(struct vv_cassandra *store, int64_t now_ns,
                                                  uint64_t work_bytes, bool *more_out,
                                                  struct vv_error *error);

/* blocks.c. Covers stand under this run, which no flush has. */
#define VV_CASSANDRA_COVERS UINT64_C(0)
#define VV_COVER_SIZE       20 /* of each run in it: blocks.c */
VV_MUST_CHECK enum vv_status vv_cassandra_put_blocks(struct vv_store *base,
                                                     const struct vv_piece *pieces, size_t n,
                                                     struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_remove_runs(struct vv_store *base,
                                                      const struct vv_piece *runs, size_t n,
                                                      struct vv_error *error);

/* answer.c, read.c, nearest.c, scan.c */
VV_MUST_CHECK enum vv_status vv_cassandra_begin_read(struct vv_store *base,
                                                     const struct vv_store_read *read,
                                                     struct vv_store_answer **answer_out,
                                                     struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_visit_read(struct vv_store_answer *answer,
                                                     vv_piece_visit visit, void *context,
                                                     struct vv_error *error);
void vv_cassandra_end_read(struct vv_store_answer *answer);
enum vv_status vv_cassandra_put_off(enum vv_status status);
VV_MUST_CHECK enum vv_status vv_cassandra_read(struct vv_store *base,
                                               const struct vv_store_read *read,
                                               vv_piece_visit visit, void *context,
                                               struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_nearest(struct vv_store *base, uint8_t region,
                                                  uint32_t tenant, uint32_t source,
                                                  int64_t bucket_start, bool forward,
                                                  int64_t *bucket_start_out,
                                                  struct vv_error *error);
/* What notes a partition's bucket, with what is put for the retention in it: two statements. */
VV_MUST_CHECK enum vv_status vv_cassandra_bucket_notes(struct vv_cassandra *store,
                                                       const struct vv_partition *partition,
                                                       int64_t retention_ns,
                                                       struct vvcql_statement *notes_out[2],
                                                       struct vv_error *error);
/* The same by names, without an end: of a bucket of which something is copied. */
VV_MUST_CHECK enum vv_status vv_cassandra_note_again(struct vv_cassandra *store,
                                                     struct vv_str tenant, const uint8_t source[16],
                                                     int64_t bucket_ms, int32_t bucket_s,
                                                     struct vv_error *error);
/* Notes that a partition's bucket has something; storage thread. */
VV_MUST_CHECK enum vv_status vv_cassandra_note_bucket(struct vv_cassandra *store,
                                                      const struct vv_partition *partition,
                                                      struct vv_error *error);
/* Whether that was done for the retention of now; false where it is not known. */
bool vv_cassandra_is_noted(struct vv_cassandra *store, const struct vv_partition *partition);
VV_MUST_CHECK enum vv_status vv_cassandra_scan_marks(struct vv_store *base, int64_t due_until,
                                                     const struct vv_mark *after,
                                                     vv_mark_visit visit, void *context,
                                                     struct vv_error *error);
/* Also those of spans that can't be sealed now, as what else that needs is away: their runs are
 * written again all the same. */
VV_MUST_CHECK enum vv_status vv_cassandra_scan_all_marks(struct vv_cassandra *store,
                                                         int64_t due_until,
                                                         const struct vv_mark *after,
                                                         vv_mark_visit visit, void *context,
                                                         struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_get_meta(struct vv_store *base, uint8_t kind,
                                                   struct vv_str key, struct vv_buffer *value_out,
                                                   struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_cassandra_scan_meta(struct vv_store *base, uint8_t kind,
                                                    struct vv_str prefix, vv_meta_visit visit,
                                                    void *context, struct vv_error *error);

/* figures.c: any thread */
void vv_cassandra_read_figures(struct vv_store *base, struct vv_store_figures *figures_out);
void vv_cassandra_write_metrics(struct vv_store *base, struct vv_buffer *out);

#endif
