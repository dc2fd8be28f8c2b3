/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the system tables say of the cluster: hosts from system.local and system.peers_v2 (or
 * system.peers), keyspaces from system_schema.keyspaces. Rows are not trusted: what is missing or
 * garbled leaves its host or token out. Pure functions.
 */
#ifndef VVCQL_TOPOLOGY_H
#define VVCQL_TOPOLOGY_H

#include "result.h"

#include <sys/socket.h>

#define VVCQL_QUERY_LOCAL     "SELECT * FROM system.local WHERE key = 'local'"
#define VVCQL_QUERY_PEERS_V2  "SELECT * FROM system.peers_v2"
#define VVCQL_QUERY_PEERS     "SELECT * FROM system.peers"
#define VVCQL_QUERY_KEYSPACES "SELECT keyspace_name, replication FROM system_schema.keyspaces"

struct vvcql_found_host {
    uint8_t id[16];
    struct sockaddr_storage address;
    char datacenter[128];
    char rack[128];
    char release[32];
    int64_t *tokens;
    size_t n_tokens;
    bool is_control; /* the row of system.local */
};

struct vvcql_found_keyspace {
    char *name;
    char **keys;
    char **values;
    size_t n;
};

/* Zero-initialised is empty. */
struct vvcql_topology {
    struct vvcql_found_host *hosts;
    size_t n_hosts;
    size_t hosts_capacity;
    struct vvcql_found_keyspace *keyspaces;
    size_t n_keyspaces;
    bool has_no_tokens; /* a partitioner whose tokens aren't Murmur3Partitioner's */
};

void vvcql_topology_deinit(struct vvcql_topology *topology);

/* Results are walked through. `control` is the address that the row of system.local was read
 * from: it stands for an address that isn't told. VVCQL_PROTOCOL: no such row, or one that names
 * neither a host nor a data centre; VVCQL_NO_MEMORY. First of the three. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_topology_add_local(struct vvcql_topology *topology,
                                                            struct vvcql_result *result,
                                                            const struct sockaddr_storage *control,
                                                            uint16_t port,
                                                            struct vvcql_error *error);
/* `port` stands for one that isn't told. VVCQL_NO_MEMORY. */
VVCQL_MUST_CHECK enum vvcql_status vvcql_topology_add_peers(struct vvcql_topology *topology,
                                                            struct vvcql_result *result,
                                                            uint16_t port,
                                                            struct vvcql_error *error);
VVCQL_MUST_CHECK enum vvcql_status vvcql_topology_add_keyspaces(struct vvcql_topology *topology,
                                                                struct vvcql_result *result,
                                                                struct vvcql_error *error);

#endif
