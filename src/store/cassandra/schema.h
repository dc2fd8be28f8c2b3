/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the store on Cassandra: their texts for a configuration, whether a keyspace has
 * them, and making what is missing. Plain functions; the caller's thread waits.
 *
 * The version counts changes of the schema that a program must know of. It is kept in the table
 * varve_schema; a program refuses a newer one, and vv_schema_apply brings an older one up to date,
 * step by step. What somebody has changed by hand is reported with the statement that would mend
 * it, and never changed.
 */
#ifndef VV_STORE_CASSANDRA_SCHEMA_H
#define VV_STORE_CASSANDRA_SCHEMA_H

#include "base/arena.h"
#include "base/clock.h"
#include "cql/session.h"

#define VV_SCHEMA_VERSION         8
#define VV_SCHEMA_CLASSES_MAX     16
#define VV_SCHEMA_REPLICAS_MAX    32
#define VV_SCHEMA_CHANGES_LIFE_NS (2 * VV_DAY) /* of rows that nodes learn definitions from */

struct vv_schema_replicas {
    struct vv_str datacenter;
    int64_t replicas; /* 1 … */
};

/* All borrowed. */
struct vv_schema_options {
    const char *keyspace; /* small letters, digits and '_', at most 48, a letter first */
    const struct vv_schema_replicas *replication; /* by data centre */
    size_t n_replication; /* 0: not known; then only what reading and writing needs is compared */
    const int64_t *classes_ns; /* retentions that have tables, ascending; for ever has one always */
    size_t n_classes;
    int64_t run_life_ns;        /* how long runs live, as a rule: for their windows */
    int64_t repair_interval_ns; /* how often the operator repairs; 0: not told */
    int64_t gc_grace_min_ns;    /* gc_grace_seconds is at least that; 0: a day */
    bool purges;                /* classes have two tables of blocks, and of late points */
};

/* ---- figures ---- */

#define VV_CLASS_NAME_SIZE 24
/* The name of a class in its tables: "7d", "36h", "90m", "45s"; "forever" for 0. */
void vv_schema_class_name(int64_t retention_ns, char out[VV_CLASS_NAME_SIZE]);

/* The tables of a class; where they are purged by copying, those of blocks and of late points have
 * a second one. */
struct vv_class_tables {
    char blocks[2][VV_CLASS_NAME_SIZE + 10];
    char rows[VV_CLASS_NAME_SIZE + 10];
    char late[2][VV_CLASS_NAME_SIZE + 10];
};
struct vv_class_tables vv_schema_class_tables(int64_t retention_ns);

struct vv_schema_window {
    const char *unit; /* MINUTES, HOURS, DAYS */
    int64_t size;
};
/* The window of TWCS for rows that live so long: a round one of which a life has at most 30, and at
 * least 20 from 40 minutes on; of these the one that is aligned with most lengths of buckets. */
struct vv_schema_window vv_schema_window_of(int64_t life_ns);

/*
 * gc_grace_seconds for rows that live for life_ns (0: for ever). With a known interval of repairs:
 * longer than it by a quarter and at least by the least, so that a repair may be late. Else by the
 * window: the least below one of a day, 2 days up to that, 7 up to a week, 10 (Cassandra's default)
 * beyond. Never below the least, which is a day unless the operator insists on less, and more than
 * the 3 hours that hints are written for a host that is away.
 */
int64_t vv_schema_gc_grace_s(const struct vv_schema_options *options, int64_t life_ns);

/* ---- texts ---- */

/* VV_INVALID with a message for options that cannot be. */
VV_MUST_CHECK enum vv_status vv_schema_options_check(const struct vv_schema_options *options,
                                                     struct vv_error *error);

/* A statement of the whole schema. */
typedef enum vv_status (*vv_schema_visit)(void *context, struct vv_str what, struct vv_str cql);

/* Visits all statements in their order ("keyspace varve", "table runs", …), with comments that say
 * why; each ends with ';' and a line feed. Returns what the visit returned if that is not VV_OK. */
VV_MUST_CHECK enum vv_status vv_schema_statements(const struct vv_schema_options *options,
                                                  vv_schema_visit visit, void *context,
                                                  struct vv_error *error);
/* Appends them, an empty line between. */
VV_MUST_CHECK enum vv_status vv_schema_print(const struct vv_schema_options *options,
                                             struct vv_buffer *out, struct vv_error *error);

/* ---- what a keyspace has ---- */

enum vv_schema_mend {
    VV_MEND_APPLY, /* vv_schema_apply does it */
    VV_MEND_ALTER, /* the operator, with the statement */
    VV_MEND_NONE,  /* no statement can: the table must be made anew */
};

/* Texts end with a zero byte; they live as long as the report. */
struct vv_schema_difference {
    struct vv_str table; /* "" for the keyspace itself */
    struct vv_str what;  /* "column data", "gc_grace_seconds", "compaction.class" */
    struct vv_str found;
    struct vv_str wanted;
    enum vv_schema_mend mend;
    struct vv_str statement; /* of VV_MEND_ALTER */
    bool breaks;             /* reading or writing would fail or lose something */
};

/* Zero-initialised is empty and valid. */
struct vv_schema_report {
    struct vv_arena arena;
    struct vv_schema_difference *differences;
    size_t n;
    size_t capacity;
    int32_t version; /* of the keyspace; 0: it has none */
};
void vv_schema_report_deinit(struct vv_schema_report *report);

/* Compares a keyspace with the options. VV_NEWER, VV_INVALID (options) or VV_IO with a message.
 * Deinit the report in any case. */
VV_MUST_CHECK enum vv_status vv_schema_inspect(struct vvcql_session *session,
                                               const struct vv_schema_options *options,
                                               struct vv_schema_report *report_out,
                                               struct vv_error *error);

/* Told of each thing that was done: "table runs", "created". */
typedef void (*vv_schema_progress)(void *context, const char *what, const char *done);

/* Makes what is missing and brings an older version up to date, one statement at a time; the report
 * has what is still different. Safe to repeat, and at the same time from several places. As
 * vv_schema_inspect. */
VV_MUST_CHECK enum vv_status vv_schema_apply(struct vvcql_session *session,
                                             const struct vv_schema_options *options,
                                             vv_schema_progress progress, void *context,
                                             struct vv_schema_report *report_out,
                                             struct vv_error *error);

/* ---- before a keyspace is used ---- */

/*
 * Whether the keyspace has the schema that the options ask for, as far as reading and writing need
 * it; other differences are logged as warnings. VV_NOT_FOUND: it has none, or an older one, or
 * tables are missing; VV_INVALID: it was changed by hand so that it can't be used; VV_NEWER; VV_IO;
 * the message says what to do.
 */
VV_MUST_CHECK enum vv_status vv_schema_verify(struct vvcql_session *session,
                                              const struct vv_schema_options *options,
                                              struct vv_error *error);
/* The same of the keyspace and the tables that do not depend on the configuration. */
VV_MUST_CHECK enum vv_status vv_schema_check(struct vvcql_session *session, const char *keyspace,
                                             struct vv_error *error);

#endif
