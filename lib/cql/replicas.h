/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token map: for each keyspace, which hosts keep a token. Built from the hosts' tokens and the
 * keyspaces' replication settings, as SimpleStrategy and NetworkTopologyStrategy place replicas
 * (Cassandra's documentation, "Dynamo": data partitioning and replication). Immutable once built;
 * whoever replaces it must know that nobody reads it any more.
 */
#ifndef VVCQL_REPLICAS_H
#define VVCQL_REPLICAS_H

#include "types.h"

/* Of each data centre (SimpleStrategy: of all), so that memory stays bounded where a small keyspace
 * is kept by every host of a large cluster: the first ones of the ring's order. */
#define VVCQL_REPLICAS_MAX 8

struct vvcql_token_map;

/* Borrowed for the call. Hosts are numbered by their place in the array. A host without tokens
 * keeps nothing; a token that two hosts claim is the first one's. NULL is an unknown name, "". */
struct vvcql_ring_host {
    const char *datacenter;
    const char *rack;
    const int64_t *tokens;
    size_t n_tokens;
};

/* A keyspace's replication map, e.g. class → "…NetworkTopologyStrategy", dc1 → "3". Of "3/1"
 * (transient replication) the 3 - 1 full replicas count, which are the first ones. What is not a
 * replication factor counts as 0. Other strategies (LocalStrategy, EverywhereStrategy) have no
 * entry in the map. */
struct vvcql_ring_keyspace {
    const char *name;
    const char *const *keys;
    const char *const *values;
    size_t n;
};

/* NULL: no memory. */
struct vvcql_token_map *vvcql_token_map_create(const struct vvcql_ring_host *hosts, size_t n_hosts,
                                               const struct vvcql_ring_keyspace *keyspaces,
                                               size_t n_keyspaces);
void vvcql_token_map_destroy(struct vvcql_token_map *map); /* NULL is allowed */

/* Borrowed from the map: hosts that keep the token, the primary one first; n_out 0 where the
 * keyspace isn't known. map may be NULL. */
const uint32_t *vvcql_token_map_find(const struct vvcql_token_map *map, const char *keyspace,
                                     int64_t token, size_t *n_out);

#endif
