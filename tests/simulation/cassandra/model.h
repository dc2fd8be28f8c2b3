/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cluster: its tables and replicas, and how a statement becomes an answer. Private to this
 * folder; everything but session.c is called with the cluster's lock.
 */
#ifndef VV_SIMULATION_CASSANDRA_MODEL_H
#define VV_SIMULATION_CASSANDRA_MODEL_H

#include "base/random.h"
#include "cql/session.h"
#include "cql/wire.h"
#include "simulation/cassandra/sim_cassandra.h"
#include "simulation/cassandra/storage.h"

#include <pthread.h>

#define CASS_QUORUM 2 /* of CASS_REPLICAS */

/* A write that a replica has not got yet, or (replica CASS_REPLICAS) a transaction that the next
 * one on the partition decides. */
struct cass_pending_write {
    uint32_t replica;
    struct cass_table *table;
    struct cass_partition *write; /* one reference */
};

struct cass_pending_list {
    struct cass_pending_write *items;
    size_t n;
    size_t capacity;
};

struct cass_request;

#define CASS_TEXTS 4096 /* prepared ones, parsed; slots */

struct vv_sim_cassandra {
    struct vv_sim_cassandra *next; /* of all that there are */
    char name[48];
    struct vv_clock *clock;
    pthread_mutex_t lock; /* what follows */
    struct vv_random random;
    struct vv_sim_cassandra_faults faults;
    int64_t unavailable_from;
    int64_t unavailable_to;
    uint32_t sets_away; /* bits */
    int64_t skews_ns[CASS_REPLICAS];
    int64_t last_us[CASS_REPLICAS]; /* given out by each host */
    int64_t ballot_us;
    struct cass_table *tables;
    struct cass_ast *texts[CASS_TEXTS]; /* by their hash, or behind it */
    size_t n_texts;
    struct cass_pending_list hints;
    struct cass_pending_list open; /* transactions */
    bool is_cut[VV_SIM_CASSANDRA_CLIENTS];
    bool deferred;
    bool alone;
    struct cass_request *requests; /* that wait, in their order */
    size_t n_requests;
    uint32_t sessions;
    vv_sim_cassandra_hook hook;
    void *hook_context;
    struct vv_sim_cassandra_figures figures;
};

/* One statement on its way, not a batch: a part of one is a call of its own. */
struct cass_call {
    struct vv_sim_cassandra *cassandra;
    const struct cass_ast *ast; /* owned when it is not of a prepared text */
    bool owns_ast;
    struct cass_table *table;
    const struct vvcql_statement *values;
    struct vv_arena arena; /* bound values that are not the statement's */
    int64_t now_us;        /* by the clock of the host that coordinates it */
    int64_t write_us;      /* the timestamp of what it writes, unless the text says another */
};

/* What came of a request. */
struct cass_outcome {
    struct vvcql_error error; /* status VVCQL_OK: none */
    struct vvcql_buffer body; /* of a RESULT */
};

/* ---- tables.c ---- */

/* NULL: no such table. */
struct cass_table *cass_table_find(struct vv_sim_cassandra *cassandra, struct vv_str keyspace,
                                   struct vv_str name);
/* Cassandra's own tables, as far as they are looked at. */
void cass_tables_init(struct vv_sim_cassandra *cassandra);
void cass_tables_deinit(struct vv_sim_cassandra *cassandra);
/* The type of a column as readers are told: Cassandra's own maps are blobs here. */
enum vvcql_type cass_shown_type(const struct cass_table *table, const struct cass_column *column);
/* CREATE, ALTER. */
void cass_change_schema(struct cass_call *call, struct cass_outcome *outcome);

/* ---- bind.c ---- */

enum cass_binding { CASS_BOUND, CASS_NULL, CASS_UNSET };
/* A term as a value of the type; what does not fit it ends the program. */
enum cass_binding cass_bind(struct cass_call *call, const struct cass_term *term,
                            enum vvcql_type type, struct vv_str *value_out);
/* The same of a number of at most 8 bytes; `otherwise` for null and unset. */
int64_t cass_bind_number(struct cass_call *call, const struct cass_term *term, enum vvcql_type type,
                         int64_t otherwise);
const struct cass_column *cass_column(const struct cass_call *call, struct vv_str name);
/* Whether a value (data NULL: null) fulfils the condition; of one column. */
bool cass_fulfils(struct cass_call *call, const struct cass_condition *condition,
                  enum vvcql_type type, struct vv_str value);
/* Whether a clustering fulfils a condition of several columns. */
bool cass_fulfils_tuple(struct cass_call *call, const struct cass_condition *condition,
                        const struct cass_clustering *clustering);

/* ---- write.c ---- */

/* What a call changes, with one reference; NULL and outcome->error when Cassandra refuses it. */
struct cass_partition *cass_build_write(struct cass_call *call, struct cass_outcome *outcome);
void cass_refuse(struct cass_outcome *outcome, int32_t code, const char *format, ...)
    VV_PRINTF(3, 4);

/* ---- coordinate.c ---- */

/* Executes a statement or batch once. */
void cass_coordinate(struct vv_sim_cassandra *cassandra, const struct vvcql_statement *statement,
                     enum vvcql_consistency consistency, struct cass_outcome *outcome);
bool cass_happens(struct vv_sim_cassandra *cassandra, uint32_t in_a_million);
/* A prepared text is parsed once. */
const struct cass_ast *cass_parsed(struct vv_sim_cassandra *cassandra, struct vv_str text);
uint32_t cass_replicas_needed(enum vvcql_consistency consistency);
/* Adds what these many replicas, by chance, have of a partition to `into`. */
void cass_read_replicas(struct vv_sim_cassandra *cassandra, struct cass_table *table,
                        uint32_t replicas, struct cass_partition *into);
void cass_pend(struct cass_pending_list *list, uint32_t replica, struct cass_table *table,
               struct cass_partition *write);
void cass_apply(uint32_t replica, struct cass_table *table, const struct cass_partition *write);
void cass_pending_clear(struct cass_pending_list *list);
/* Delivers hint i. */
void cass_deliver_hint(struct vv_sim_cassandra *cassandra, size_t i);

/* ---- sets.c ---- */

/* Too few replicas of the token's partition are alive. */
bool cass_is_unavailable(const struct vv_sim_cassandra *cassandra, int64_t token);
/* The replica set of a prepared statement's partition, of a batch that of its first one; 0: not
 * known. */
uint64_t cass_replica_set(struct vv_sim_cassandra *cassandra,
                          const struct vvcql_statement *statement);

/* ---- transact.c ---- */

/* Conditional statements on one partition. */
void cass_transact(struct cass_call *calls, size_t n, struct cass_outcome *outcome);
/* Decides what an earlier transaction on the partition left open. */
void cass_decide(struct vv_sim_cassandra *cassandra, struct cass_table *table,
                 const struct cass_partition *like);

/* ---- select.c ---- */

void cass_select(struct cass_call *call, enum vvcql_consistency consistency,
                 struct cass_outcome *outcome);

/* ---- rows.c: RESULT bodies ---- */

void cass_put_void(struct vvcql_buffer *body);
/* The columns' part of a body of rows; data NULL: no more pages. */
void cass_put_header(struct vvcql_buffer *body, const struct cass_table *table, size_t n_columns,
                     struct vvcql_bytes paging_state);
void cass_put_column(struct vvcql_buffer *body, const char *name, enum vvcql_type type);
void cass_put_value(struct vvcql_buffer *body, struct vv_str value); /* data NULL: null */
/* A cell's value; null unless it is live. */
struct vv_str cass_cell_value(const struct cass_cell *cell, int64_t deleted_at, int64_t now_s);
/* A column's value in a row, as a reader of that time sees it. */
struct vv_str cass_column_value(const struct cass_table *table,
                                const struct cass_partition *partition, const struct cass_row *row,
                                const struct cass_column *column, int64_t now_s);

#endif
