/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the schema: what tables should be and what they are, in the same form, so that one can be
 * compared with the other. Private to this folder.
 */
#ifndef VV_STORE_CASSANDRA_SCHEMA_PRIVATE_H
#define VV_STORE_CASSANDRA_SCHEMA_PRIVATE_H

#include "store/cassandra/schema.h"

/* An option: "gc_grace_seconds", or of a map "compaction.class"; a class has no package. */
struct vv_schema_option {
    struct vv_str name;
    struct vv_str value;
};

struct vv_schema_column {
    struct vv_str name;
    struct vv_str type;
    struct vv_str kind; /* "partition_key", "clustering", "regular", "static" */
    int32_t position;   /* in its kind; -1 for those that have none */
    bool descending;
    const char *why; /* NULL: needs no words; not of found ones */
};

struct vv_schema_table {
    struct vv_str name;
    const char *why; /* lines of a comment; not of found ones */
    struct vv_schema_column *columns;
    size_t n_columns;
    struct vv_schema_option *options; /* those of a map stand together */
    size_t n_options;
};

/* Zero-initialised is empty and valid. Texts lie in the arena or are constant. */
struct vv_schema {
    struct vv_arena arena;
    const char *keyspace; /* borrowed */
    bool exists;
    struct vv_schema_option *options; /* of the keyspace: "replication.dc1", "durable_writes" */
    size_t n_options;
    struct vv_schema_table *tables;
    size_t n_tables;
    int32_t version; /* 0: none */
};
void vv_schema_deinit(struct vv_schema *schema);
const struct vv_schema_table *vv_schema_find_table(const struct vv_schema *schema,
                                                   struct vv_str name);
const struct vv_schema_column *vv_schema_find_column(const struct vv_schema_table *table,
                                                     struct vv_str name);
/* NULL when there is none. */
const struct vv_schema_option *vv_schema_find_option(const struct vv_schema_option *options,
                                                     size_t n, struct vv_str name);
/* "compaction" of "compaction.class"; the whole name of an option that is no map's. */
struct vv_str vv_schema_group_of(struct vv_str option);

/* schema_tables.c: what the options ask for; they have been checked. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_schema_want(const struct vv_schema_options *options,
                                            struct vv_schema *schema_out);

/* schema_text.c: appends statements, each with ';' and a line feed. */
void vv_schema_put_keyspace(struct vv_buffer *out, const struct vv_schema *wanted);
void vv_schema_put_table(struct vv_buffer *out, const char *keyspace,
                         const struct vv_schema_table *table);
void vv_schema_put_version(struct vv_buffer *out, const char *keyspace, int32_t version);
/* Statements that mend, without ';' and line feed: an option or the map of one, as wanted. */
void vv_schema_alter_keyspace(struct vv_buffer *out, const struct vv_schema *wanted,
                              struct vv_str group);
void vv_schema_alter_options(struct vv_buffer *out, const char *keyspace,
                             const struct vv_schema_table *table, struct vv_str group);
void vv_schema_add_column(struct vv_buffer *out, const char *keyspace, struct vv_str table,
                          const struct vv_schema_column *column);
void vv_schema_drop_column(struct vv_buffer *out, const char *keyspace, struct vv_str table,
                           struct vv_str column);

/* schema_compare.c: adds what is different. VV_NO_MEMORY. */
VV_MUST_CHECK enum vv_status vv_schema_compare(const struct vv_schema *wanted,
                                               const struct vv_schema *found,
                                               struct vv_schema_report *report);

/* schema_found.c: what is there. As vv_schema_failed(). Deinit in any case. */
VV_MUST_CHECK enum vv_status vv_schema_find(struct vvcql_session *session, const char *keyspace,
                                            struct vv_schema *schema_out, struct vv_error *error);
/* What the CQL client reports, with what to do about it: VV_IO, VV_INVALID where asking again can't
 * help, VV_NO_MEMORY. */
enum vv_status vv_schema_failed(const struct vvcql_error *from, const char *doing,
                                struct vv_error *error);
/* Executes a statement that changes the schema, and waits, longer than for others. */
VV_MUST_CHECK enum vv_status vv_schema_change(struct vvcql_session *session, const char *cql,
                                              const char *doing, struct vvcql_result **result_out,
                                              struct vv_error *error);

/* ---- schema_apply.c ---- */

/* From the version before to `version`. In the texts {keyspace} stands for the keyspace; a text
 * with {blocks} is carried out for each table of blocks. A step may be cut off and carried out
 * again from its beginning: ADD IF NOT EXISTS and the like. */
struct vv_schema_step {
    int32_t version;
    const char *const *statements; /* NULL after the last */
};

/* Carries out one statement and waits until all hosts know what it changed. */
struct vv_schema_runner {
    enum vv_status (*run)(void *context, const char *cql, struct vv_error *error);
    void *context;
    vv_schema_progress progress; /* NULL: nobody wants to know */
    void *progress_context;
};

/* Turns `found` into `wanted` (of version wanted->version) as far as making things is enough: steps
 * with versions above found's, the keyspace, tables, the version's record. */
VV_MUST_CHECK enum vv_status vv_schema_bring(const struct vv_schema_runner *runner,
                                             const struct vv_schema *wanted,
                                             const struct vv_schema *found,
                                             const struct vv_schema_step *steps, size_t n_steps,
                                             struct vv_error *error);
/* schema_check.c: VV_NEWER when the keyspace is newer than this program. */
VV_MUST_CHECK enum vv_status vv_schema_refuse_newer(const struct vv_schema *found, int32_t version,
                                                    struct vv_error *error);

#endif
