/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host of the cluster and its connections: opens them, opens them again with growing waits, and
 * gives the one with the most room. Belongs to the session's thread; what other threads may read is
 * said.
 *
 * A host is reached at the address that the system tables tell. One that was found behind another
 * address (a contact point that forwards) is tried there too while it can't be reached at its own.
 */
#ifndef VVCQL_HOST_H
#define VVCQL_HOST_H

#include "connection.h"

#include <stdatomic.h>

#define VVCQL_CONNECTIONS_MAX 16

struct vvcql_cluster;     /* cluster.h */
struct vvcql_preparation; /* preparation.h */

/* A place of the pool; lives as long as its host, which a connection's callbacks find by it. */
struct vvcql_host_slot {
    struct vvcql_host *host;
    struct vvcql_connection *connection; /* NULL: none */
    bool is_ready;
};

struct vvcql_host {
    /* Fixed: */
    char name[VVCQL_HOST_MAX]; /* "address:port" */
    struct sockaddr_storage address;
    uint8_t id[16]; /* host_id: Cassandra's own name of it */
    struct vvcql_cluster *cluster;
    /* Changed by the session's thread under the cluster's lock: */
    char datacenter[128];
    char rack[128];
    char release[32];
    bool is_local; /* of the local data centre */
    /* Any thread may read them: */
    _Atomic uint32_t n_ready;
    _Atomic uint32_t in_flight; /* requests that were sent and not answered */
    /* The session's thread only: */
    bool is_wanted;  /* connections are kept to it: local, or remote hosts are allowed */
    bool is_removed; /* no longer in the cluster; freed when its connections are gone */
    bool is_found;   /* while a topology is applied */
    bool has_failed; /* at all addresses, since it was last connected */
    struct sockaddr_storage other; /* where it was found; ss_family AF_UNSPEC: nowhere else */
    bool use_other;
    const char *found_by; /* the contact point's name, for TLS; NULL: an address */
    struct vvcql_host_slot slots[VVCQL_CONNECTIONS_MAX];
    uint32_t n_connections;          /* created and not closed, ready or not */
    uint32_t failures;               /* since the last success */
    struct vvcql_deadline reconnect; /* always set: VVCQL_NEVER when nothing is due */
    struct vvcql_preparation *preparations;
    struct vvcql_error last_error; /* why the last connection failed */
};

/* NULL: no memory. */
struct vvcql_host *vvcql_host_create(struct vvcql_cluster *cluster,
                                     const struct sockaddr_storage *address);
/* Of a host without connections. */
void vvcql_host_destroy(struct vvcql_host *host);
/* Opens what is missing to the wanted number of connections, at once; a single one first to a host
 * that failed before. Nothing when it isn't wanted. */
void vvcql_host_connect(struct vvcql_host *host);
/* Closes all; none is opened again. A removed host without connections is freed. */
void vvcql_host_disconnect(struct vvcql_host *host);
/* The ready connection with the most room; NULL when none has any. */
struct vvcql_connection *vvcql_host_choose(const struct vvcql_host *host);

static inline bool vvcql_host_is_up(const struct vvcql_host *host)
{
    return atomic_load_explicit(&host->n_ready, memory_order_relaxed) > 0;
}

#endif
