/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout `rows`: each value a row that any CQL client can read. Inside the store on Cassandra:
 * which tenants have it (layout.c), writing it (rows.c), reading it (rows_read.c).
 *
 * A value at `time` (ns): event_time = time / 10^6 rounded down, nanos the rest, 0 … 999,999;
 * metric `measurement.field`; the value in `value` or, of an integer, in `value_int`. The CQL
 * timestamp is the µs of the value's stamp, so the higher stamp wins whichever is written first.
 */
#ifndef VV_STORE_CASSANDRA_ROWS_H
#define VV_STORE_CASSANDRA_ROWS_H

#include "store/cassandra/cassandra.h"

/* Of a batch: about a hundred rows. Cassandra's batch_size_warn_threshold is for batches of several
 * partitions only. */
#define VV_ROWS_BATCH_BYTES_MAX (16u << 10)

/* layout.c: the layout that the settings want for the tenant. Any thread. */
uint8_t vv_cassandra_layout(const struct vv_cassandra *store, uint32_t tenant);
/* retention.c: notes in the local store in which layout the tenant is written, that of the settings
 * as soon as others know it; it lasts with the next confirm, as what is written does. Storage
 * thread. */
VV_MUST_CHECK enum vv_status vv_cassandra_note_layout(struct vv_cassandra *store, uint32_t tenant,
                                                      struct vv_error *error);

/* The partition that the rows lie in: of their own, also where runs of the source are shared. */
static inline struct vv_partition vv_cassandra_rows_partition(const struct vv_partition *partition)
{
    struct vv_partition own = *partition;
    own.split = vv_split_index(partition->split);
    return own;
}

/* ---- rows.c: the storage thread ---- */

VV_MUST_CHECK enum vv_status vv_cassandra_put_rows(struct vv_cassandra *store,
                                                   const struct vv_piece *run,
                                                   struct vv_error *error);

/* ---- rows_remove.c: the storage thread ---- */

VV_MUST_CHECK enum vv_status vv_cassandra_remove_values(struct vv_store *base,
                                                        const struct vv_value_removal *removal,
                                                        struct vv_error *error);
/* Removes one value that was deleted by `us`: its time and `measurement.field`. The class is an
 * index. */
struct vvcql_statement *vv_cassandra_remove_value(const struct vv_cassandra *store, uint8_t class,
                                                  const struct vv_partition *partition,
                                                  int64_t time, struct vv_str metric, int64_t us,
                                                  struct vv_error *error);

/* ---- rows_read.c: any thread ---- */

/* The statement that asks one class (an index) for the first page of a read, which is not empty. */
struct vvcql_statement *vv_cassandra_rows_question(const struct vv_store_answer *answer,
                                                   uint8_t class, enum vv_status *status_out,
                                                   struct vv_error *error);
/* Visits the values of an answer's read as pieces, from the newest to the oldest, whatever class
 * they are in; the pages must be there. VV_DONE when the visitor stopped. */
VV_MUST_CHECK enum vv_status vv_cassandra_visit_rows(struct vv_store_answer *answer,
                                                     vv_piece_visit visit, void *context,
                                                     struct vv_error *error);

/* ---- rows_kept.c: the pieces of a read, for its next visit; one thread at a time ---- */

/* Zero-initialised is empty and valid. */
struct vv_rows_kept {
    struct vv_buffer bytes;
    struct vv_buffer list; /* where in `bytes` each piece ends, and what it is */
    bool is_whole;
    bool is_too_large;
};

void vv_rows_kept_deinit(struct vv_rows_kept *kept);
void vv_rows_kept_begin(struct vv_rows_kept *kept); /* forgets what is there */
/* Notes one more piece, unless there are too many or memory is out. */
void vv_rows_kept_add(struct vv_rows_kept *kept, const struct vv_piece *piece);
/* All were added: from now on they can be visited, unless that would be too much. */
void vv_rows_kept_end(struct vv_rows_kept *kept);
VV_MUST_CHECK enum vv_status vv_rows_kept_visit(const struct vv_rows_kept *kept,
                                                const struct vv_store_read *read,
                                                vv_piece_visit visit, void *context);

#endif
