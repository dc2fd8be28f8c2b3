/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of the store on Cassandra: their texts for a configuration, and whether a keyspace has
 * them. Plain functions; the caller's thread waits.
 *
 * The version counts changes of the schema that a program must know of. It is kept in the table
 * varve_schema; a program refuses a newer one, and `varve schema --apply` brings an older one up to
 * date, step by step.
 */
#ifndef VV_STORE_CASSANDRA_SCHEMA_H
#define VV_STORE_CASSANDRA_SCHEMA_H

#include "base/bytes.h"
#include "cql/session.h"

#define VV_SCHEMA_VERSION     1
#define VV_SCHEMA_CLASSES_MAX 16

struct vv_schema_options {
    const char *keyspace; /* letters, digits and '_', at most 48, a letter first */
    /* "dc1:3,dc2:3": replicas by data centre. */
    const char *replication;
    const int64_t *classes_ns; /* retentions that have tables, ascending; for ever has one always */
    size_t n_classes;
    int64_t run_life_ns;        /* how long runs live, as a rule: for their windows */
    int64_t repair_interval_ns; /* how often the operator repairs: for gc_grace_seconds */
};

#define VV_CLASS_NAME_SIZE 24
/* The name of a class in its tables: "7d", "36h", "90m", "45s"; "forever" for 0. */
void vv_schema_class_name(int64_t retention_ns, char out[VV_CLASS_NAME_SIZE]);

/* Seconds of a TWCS window: a retention has 20 to 30 of them; whole minutes, hours or days where
 * that fits. */
struct vv_schema_window {
    const char *unit; /* MINUTES, HOURS, DAYS */
    int64_t size;
};
struct vv_schema_window vv_schema_window_of(int64_t life_ns);

/* gc_grace_seconds for a table of rows that live for life_ns (0: for ever): longer than the repair
 * interval and at least a day. */
int64_t vv_schema_gc_grace_s(int64_t life_ns, int64_t repair_interval_ns);

/* Appends the whole schema as CQL, with comments that say why. VV_INVALID with a message for
 * options that cannot be. */
VV_MUST_CHECK enum vv_status vv_schema_print(const struct vv_schema_options *options,
                                             struct vv_buffer *out, struct vv_error *error);

/* schema_check.c: whether the keyspace has a schema of this version. VV_NOT_FOUND: it has none, or
 * an older one; VV_NEWER; VV_IO; the message says what to do. */
VV_MUST_CHECK enum vv_status vv_schema_check(struct vvcql_session *session, const char *keyspace,
                                             struct vv_error *error);

#endif
