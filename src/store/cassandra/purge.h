/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Purging by copying: README.md has the flow. purge.c says what is next, purge_state.c reads and
 * moves the rows of `purges`, purge_copy.c copies a range of tokens. Private to this folder; the
 * storage thread's, but for what is atomic.
 */
#ifndef VV_STORE_CASSANDRA_PURGE_H
#define VV_STORE_CASSANDRA_PURGE_H

#include "base/bytes.h"
#include "cql/session.h"
#include "store/store.h"

#include <stdatomic.h>

struct vv_cassandra;

/* ---- numbers of purges, in a row of `seals` ---- */

#define VV_PURGE_NUMBERS_MAX 32

/* By retention; a class that is not in it has number 0. Classes that this node does not have stay
 * as they are. */
struct vv_purge_numbers {
    uint32_t n;
    struct {
        int64_t retention_ns;
        int64_t number;
    } of[VV_PURGE_NUMBERS_MAX];
};

/* From the column's bytes, none if it is null; false where they are damaged. */
bool vv_purge_numbers_decode(struct vvcql_bytes bytes, struct vv_purge_numbers *numbers_out);
void vv_purge_numbers_encode(const struct vv_purge_numbers *numbers, struct vv_buffer *out);
int64_t vv_purge_number_of(const struct vv_purge_numbers *numbers, int64_t retention_ns);
/* false: there are too many. */
bool vv_purge_number_set(struct vv_purge_numbers *numbers, int64_t retention_ns, int64_t number);

/* ---- the rows of `purges` ---- */

enum vv_purge_state {
    VV_PURGE_IDLE,
    VV_PURGE_MOVING,
    VV_PURGE_COPYING,
    VV_PURGE_WAITING,
    VV_PURGE_DROPPING,
};

struct vv_purge_row {
    bool exists;
    int64_t number;
    enum vv_purge_state state;
    int64_t since_ms; /* wall time */
    int64_t asked_ms; /* when somebody wanted one; 0: nobody */
    int64_t set_us;   /* the same as since_ms, by the clock of Cassandra */
    uint32_t node;    /* that set it */
};

#define VV_PURGE_RANGES 256

struct vv_purge_statements {
    const struct vvcql_prepared *read_class, *move_class, *ask_class, *read_ranges, *put_range;
};

/* Of a class's table of blocks (0, 1) or of late points (2, 3). */
struct vv_purge_table {
    const char *name; /* NULL: not prepared yet */
    const struct vvcql_prepared *list, *read_rows, *read_seals;
};

VV_MUST_CHECK bool vv_purge_prepare(struct vv_cassandra *store);
/* The rows of all classes, at LOCAL_SERIAL. VV_IO. */
VV_MUST_CHECK enum vv_status vv_purge_read(struct vv_cassandra *store,
                                           struct vv_purge_row *rows_out, struct vv_error *error);
/* From what was read to what is wanted; *row becomes that if it was moved (*moved_out), and must be
 * read again if not. A row that is not there is made idle. */
VV_MUST_CHECK enum vv_status vv_purge_move(struct vv_cassandra *store, size_t class,
                                           struct vv_purge_row *row, enum vv_purge_state state,
                                           int64_t number, bool *moved_out, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_purge_put_asked(struct vv_cassandra *store, size_t class,
                                                const struct vv_purge_row *row,
                                                struct vv_error *error);
/* Which ranges of a purge are done. */
VV_MUST_CHECK enum vv_status vv_purge_read_ranges(struct vv_cassandra *store, size_t class,
                                                  int64_t number, bool done_out[VV_PURGE_RANGES],
                                                  struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_purge_put_range(struct vv_cassandra *store, size_t class,
                                                const struct vv_purge_row *row, uint32_t range,
                                                struct vv_error *error);
/* A number that is the same where nodes read the same tables, for as long. */
int32_t vv_purge_tables(const struct vv_cassandra *store);
/* Whether all nodes that live have the same; the first that does not otherwise. */
VV_MUST_CHECK enum vv_status vv_purge_check_nodes(struct vv_cassandra *store, uint32_t *node_out,
                                                  struct vv_error *error);
/* VV_INVALID where tokens are not those of Murmur3. */
VV_MUST_CHECK enum vv_status vv_purge_check_partitioner(struct vv_cassandra *store,
                                                        struct vv_error *error);
/* join(): says which tables this node reads, and then that nothing is purged that it would not
 * read. VV_INVALID. */
VV_MUST_CHECK enum vv_status vv_purge_join(struct vv_cassandra *store, struct vv_error *error);

/* ---- copying ---- */

/* A range of tokens that is being copied; zero-initialised: none. */
struct vv_purge_range {
    bool is_under_way;
    size_t class;
    int64_t number;
    uint32_t range;
    bool is_late;                    /* the table of late points comes second */
    struct vvcql_result *partitions; /* a page of them */
};

struct vv_purge_figures {
    _Atomic uint64_t copied;     /* partitions … */
    _Atomic uint64_t left;       /* … that were not, since they are over */
    _Atomic uint64_t bytes;      /* copied, as Cassandra gives them */
    _Atomic uint64_t tables;     /* truncated */
    _Atomic int64_t since_ms;    /* wall time: when what is under way came to its state; or 0 */
    _Atomic int64_t last_end_ns; /* wall time: the last purge that this node has ended */
};

void vv_purge_range_end(struct vv_purge_range *range);
/* How much is done in a turn: until either is above what it may be. */
struct vv_purge_turn {
    int64_t now_ns;   /* what is over by then is left out */
    int64_t until_ns; /* monotonic */
    uint64_t work_max;
    uint64_t work; /* bytes, more or less */
};
bool vv_purge_turn_is_over(const struct vv_cassandra *store, const struct vv_purge_turn *turn);
/* *done_out: the whole range is in the new tables, and was looked at. */
VV_MUST_CHECK enum vv_status vv_purge_copy(struct vv_cassandra *store, struct vv_purge_range *range,
                                           struct vv_purge_turn *turn, bool *done_out,
                                           struct vv_error *error);
/* One of the two tables that a purge of the class has copied from. VV_IO. */
VV_MUST_CHECK enum vv_status vv_purge_truncate(struct vv_cassandra *store, size_t class,
                                               int64_t number, bool is_late,
                                               struct vv_error *error);

/* ---- whose turn it is ---- */

/* What a class's row said last, and since when this node has seen that. */
struct vv_purge_seen {
    int64_t number;
    enum vv_purge_state state;
    int64_t since_ms;
    int64_t seen_ns; /* monotonic */
};

struct vv_purge {
    struct vv_purge_statements statements;
    struct vv_purge_table *tables; /* four a class */
    int64_t look_at_ns;            /* monotonic: not before */
    struct vv_purge_range range;
    struct vv_purge_seen *seen; /* by class */
    int64_t log_at_ns;          /* monotonic: when a failure is logged again */
    struct vv_purge_figures figures;
    /* Of a node that does not purge, and reads one table of a class only: */
    _Atomic bool is_elsewhere; /* the others purge by now */
    _Atomic int64_t looked_ns; /* monotonic: when it saw the rows of `purges`; 0: it need not */
};

void vv_purge_deinit(struct vv_cassandra *store);
/* What is to be done now, up to some bytes; *more_out: there is more. What fails is logged, and
 * tried again later. */
void vv_purge_go_on(struct vv_cassandra *store, int64_t now_ns, uint64_t work_bytes,
                    bool *more_out);

/* Notes that a node that does not purge has seen that others do not, either. */
void vv_purge_note_look(struct vv_cassandra *store);
/* Fails where what is asked for may be in tables that this node does not read. Any thread. VV_IO.
 */
VV_MUST_CHECK enum vv_status vv_purge_check_read(struct vv_cassandra *store,
                                                 struct vv_error *error);
/* Whether a read that began then may have seen tables of different times. Any thread. */
bool vv_purge_is_too_long(const struct vv_cassandra *store, int64_t read_since_ns);
/* vv_shared_ops.purges and ask_purge. */
VV_MUST_CHECK enum vv_status vv_shared_purges(struct vv_store *base,
                                              struct vv_purge_progress progress_out[VV_PURGES_MAX],
                                              size_t *n_out, struct vv_error *error);
VV_MUST_CHECK enum vv_status vv_shared_ask_purge(struct vv_store *base, struct vv_error *error);

/* Until no statement of somebody who was held up can be on its way any more. */
int64_t vv_purge_rest_ns(const struct vv_cassandra *store);
/* How long readers and writers may be behind, and then some. */
int64_t vv_purge_wait_ns(const struct vv_cassandra *store);

#endif
