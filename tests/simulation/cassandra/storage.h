/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a replica keeps: partitions of rows of cells, and tombstones. A write is a partition too,
 * with what it changes: applying it, and reading from several replicas, are merging, and merging
 * is where two values of one cell meet. Private to this folder; one thread at a time.
 */
#ifndef VV_SIMULATION_CASSANDRA_STORAGE_H
#define VV_SIMULATION_CASSANDRA_STORAGE_H

#include "base/bytes.h"
#include "cql/types.h"
#include "simulation/cassandra/cql.h"

/* ---- bytes that are shared ---- */

struct cass_blob {
    uint32_t references;
    size_t size;
    uint8_t bytes[];
};
struct cass_blob *cass_blob_create(const void *bytes, size_t size);
struct cass_blob *cass_blob_keep(struct cass_blob *blob);
void cass_blob_drop(struct cass_blob *blob); /* NULL is allowed */

/* ---- tables ---- */

enum cass_column_kind { CASS_PARTITION_KEY, CASS_CLUSTERING, CASS_REGULAR };

struct cass_column {
    char name[64];
    enum vvcql_type type;
    char type_name[64];
    enum cass_column_kind kind;
    size_t position; /* in its kind */
    bool descending;
};

#define CASS_REPLICAS 3

struct cass_partition;

/* A replica's partitions, ascending by token and key. */
struct cass_partitions {
    struct cass_partition **items;
    size_t n;
    size_t capacity;
};

struct cass_table {
    struct cass_table *next;
    char keyspace[64];
    char name[64];
    struct cass_column columns[CASS_LIST_MAX]; /* partition key, clustering, regular by name */
    size_t n_columns;
    size_t n_partition_key;
    size_t n_clustering;
    size_t n_regular;
    int64_t default_ttl_s;
    struct cass_partitions replicas[CASS_REPLICAS];
};

/* NULL: no such column. */
const struct cass_column *cass_find_column(const struct cass_table *table, struct vv_str name);
/* A type by its name; false: not known. */
bool cass_type_of(struct vv_str name, enum vvcql_type *type_out);
/* How many bytes a value of the type has; 0: any number. */
size_t cass_type_size(enum vvcql_type type);
/* Negative, 0, positive, in the type's order. */
int cass_compare_values(enum vvcql_type type, struct vv_str a, struct vv_str b);

/* ---- rows ---- */

/* A written value; what a TTL ends is gone from `ends_s` on, which is INT64_MAX without one. */
struct cass_cell {
    bool is_set;
    bool is_tombstone;
    int64_t timestamp;
    int32_t ttl_s;
    int64_t ends_s;
    struct cass_blob *value; /* NULL for a tombstone */
};

#define CASS_NEVER INT64_MIN /* the timestamp of a deletion that is none */

/* Values of clustering columns, as many as there are (fewer in a bound). */
struct cass_clustering {
    struct vv_str values[CASS_KEY_MAX];
    size_t n;
};

/* Shared by partitions that have the same; changed only in one's own. */
struct cass_row {
    uint32_t references;
    struct cass_blob *key;             /* what clustering.values point into */
    struct cass_clustering clustering; /* whole */
    struct cass_cell liveness;         /* of an INSERT: the row is there without any value */
    int64_t deleted_at;                /* timestamp; CASS_NEVER */
    struct cass_cell cells[];          /* by position of regular columns */
};

/* Rows between two prefixes of the clustering key, both of which may be empty. */
struct cass_range {
    struct cass_blob *key; /* what the bounds point into */
    struct cass_clustering from;
    struct cass_clustering to;
    bool from_included;
    bool to_included;
    int64_t deleted_at;
};

struct cass_partition {
    uint32_t references; /* of a write: replicas that wait for it */
    struct cass_blob *key;
    struct vv_str values[CASS_KEY_MAX]; /* in key */
    int64_t token;
    int64_t deleted_at;
    struct cass_row **rows; /* ascending */
    size_t n_rows;
    size_t rows_capacity;
    struct cass_range *ranges;
    size_t n_ranges;
    size_t ranges_capacity;
};

/* Values one after the other in a blob of their own; the copies point into it. data NULL stays. */
struct cass_blob *cass_keep_values(struct vv_str *values, size_t n);

struct cass_partition *cass_partition_create(const struct cass_table *table,
                                             const struct vv_str *values);
void cass_partition_drop(const struct cass_table *table, struct cass_partition *partition);
/* The row of this clustering to be changed, made if there is none. */
struct cass_row *cass_partition_row(const struct cass_table *table,
                                    struct cass_partition *partition,
                                    const struct cass_clustering *clustering);
/* Puts a copy in its place that has a cell for the column that the table got last. */
void cass_row_lengthen(const struct cass_table *table, struct cass_row **row);
/* Takes the range's key. What lies in another one that is as new goes. */
void cass_partition_delete(const struct cass_table *table, struct cass_partition *partition,
                           const struct cass_range *take_range);
/* The order of rows; a prefix is equal to all that begin with it. */
int cass_compare_clustering(const struct cass_table *table, const struct cass_clustering *a,
                            const struct cass_clustering *b);
/* Adds to `into` all that `from` has. */
void cass_partition_merge(const struct cass_table *table, struct cass_partition *into,
                          const struct cass_partition *from);
/* Frees rows that can't be seen any more, whatever comes: as a compaction does. */
void cass_partition_clean(const struct cass_table *table, struct cass_partition *partition);
/* Puts `cell`, whose value is borrowed, in the place of what is there if it wins. */
void cass_cell_reconcile(struct cass_cell *into, const struct cass_cell *cell);
/* The highest timestamp of the deletions that a row lies under. */
int64_t cass_row_deleted_at(const struct cass_table *table, const struct cass_partition *partition,
                            const struct cass_row *row);
/* Whether a reader at this second sees it. */
bool cass_cell_is_live(const struct cass_cell *cell, int64_t deleted_at, int64_t now_s);
bool cass_row_is_live(const struct cass_table *table, const struct cass_row *row,
                      int64_t deleted_at, int64_t now_s);

/* By token, then key: negative, 0, positive. */
int cass_compare_partitions(const struct cass_table *table, const struct cass_partition *a,
                            const struct cass_partition *b);
/* A replica's partition of the same key as `like`; NULL: none, unless it is made. */
struct cass_partition *cass_partitions_find(const struct cass_table *table,
                                            struct cass_partitions *partitions,
                                            const struct cass_partition *like, bool make);
void cass_partitions_deinit(const struct cass_table *table, struct cass_partitions *partitions);

#endif
