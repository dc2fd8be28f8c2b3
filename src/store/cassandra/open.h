/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store on Apache Cassandra; README.md has the words and the flow. Kept here: what opening it
 * needs beside store.h.
 */
#ifndef VV_STORE_CASSANDRA_OPEN_H
#define VV_STORE_CASSANDRA_OPEN_H

#include "base/clock.h"
#include "codec/block.h"
#include "cql/session.h"
#include "model/deletion.h"
#include "store/cassandra/schema.h"
#include "store/store.h"

/*
 * Numbers are this node's own; in Cassandra, which many nodes share, things go by their names. Any
 * thread calls these; what they return is valid for the store's life. An unknown number gives an
 * empty text.
 */
struct vv_store_names {
    void *context;
    struct vv_str (*tenant)(void *context, uint32_t tenant);
    struct vv_str (*source)(void *context, uint32_t source); /* its id, unique in its tenant */
    struct vv_str (*measurement)(void *context, uint32_t measurement);
    /* The metric's field, "" when there is none; its measurement and type too. */
    struct vv_str (*field)(void *context, uint32_t metric, uint32_t *measurement_out,
                           enum vv_value_type *type_out);
    /* By its id (vv_cassandra_metric_id) in a measurement; false when this node doesn't know it. */
    bool (*metric)(void *context, uint32_t measurement, int64_t metric_id, uint32_t *metric_out);
    /* By `measurement.field`, which is unique in a tenant; false when this node doesn't know it. */
    bool (*metric_named)(void *context, uint32_t tenant, struct vv_str name, uint32_t *metric_out);
    /* By their names; false when this node doesn't know them. */
    bool (*tenant_named)(void *context, struct vv_str name, uint32_t *tenant_out);
    bool (*source_named)(void *context, uint32_t tenant, struct vv_str id, uint32_t *source_out);
    bool (*measurement_named)(void *context, uint32_t tenant, struct vv_str name,
                              uint32_t *measurement_out);
    /* How long the tenant's blocks must be there at least; 0: for ever. NULL: as its retention
     * says. */
    int64_t (*life)(void *context, uint32_t tenant, int64_t now_ns);
    /* What hides points of a series, to be deinited: not names, but also the caller's.
     * VV_NO_MEMORY. NULL: nothing is ever deleted. */
    enum vv_status (*deletions)(void *context, uint32_t source, uint32_t measurement,
                                struct vv_deletion_list *list_out);
};

struct vv_cassandra_region {
    const char *name; /* letters, digits, '-' and '_' */
    const char *keyspace;
};

struct vv_cassandra_options {
    struct vvcql_options cql; /* borrowed for the call */
    /* All regions in the same order on all nodes, and which of them is this node's, whose keyspace
     * is written. Borrowed for the call. */
    struct vv_cassandra_region regions[VV_REGIONS_MAX];
    size_t n_regions;
    size_t own_region;
    /* What the tables should be; outlives the store. Harmless differences are logged. NULL: only
     * what reading and writing needs is looked at. */
    const struct vv_schema_options *schema;
    const int64_t *classes_ns; /* retention classes, ascending; there is always one for ever */
    size_t n_classes;          /* 0 … VV_CASSANDRA_CLASSES_MAX */
    /* Names of tenants, with commas, whose values are written each as a row; "*" for all; NULL or
     * "" for none. Borrowed for the call. */
    const char *rows_tenants;
    /* How long it takes, at most, until all nodes know what one has told, and have ended what they
     * did without it: before that no node writes where others might not look. 0: at once. */
    int64_t lead_ns;
    int64_t gone_ns;        /* a node is gone when it is silent for longer; 0: for 30 s */
    int64_t purge_every_ns; /* blocks are purged by copying so often; 0: they have a TTL */
    int64_t slack_ns;       /* kept longer than must be: for runs not sealed yet */
    int64_t fold_ns;        /* late points that are kept apart wait so long at most */
    uint32_t requests_max;  /* writes under way, at most */
    size_t bytes_max;       /* of writes under way, at most */
    uint64_t parked_max;    /* bytes that are kept here while a part of Cassandra is away */
};

#define VV_CASSANDRA_CLASSES_MAX 16

/* The id of a metric in Cassandra: names.c. false: no memory. */
bool vv_cassandra_metric_id(struct vv_str measurement, struct vv_str field, int64_t *id_out);

/*
 * Opens the store. `local` keeps what belongs to this node alone (its numbers, the state of its
 * journal, its part of the ledger); taken, also on failure. names and clock outlive the store.
 * When no host can be reached it opens as a store that has failed: writes are refused and reads put
 * off until recover() succeeds. VV_NOT_FOUND: the schema is missing; VV_INVALID: it is not as it
 * must be; VV_NEWER; VV_IO: a host turned it away; the message says what to do.
 */
VV_MUST_CHECK enum vv_status vv_store_cassandra_open(const struct vv_cassandra_options *options,
                                                     struct vv_store *take_local,
                                                     const struct vv_store_names *names,
                                                     struct vv_clock *clock,
                                                     struct vv_store **store_out,
                                                     struct vv_error *error);

#endif
