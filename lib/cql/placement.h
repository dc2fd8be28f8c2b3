/* SPDX-License-Identifier: Apache-2.0 */
/* Where Cassandra's replication strategies place the replicas of each token. For replicas.c. */
#ifndef VVCQL_PLACEMENT_H
#define VVCQL_PLACEMENT_H

#include "ring.h"

/* How many replicas, and how many of these, the first ones, are full and not transient. */
struct vvcql_factor {
    uint32_t all;
    uint32_t full;
};

/*
 * The full replicas of each token, as n_tokens rows of *width_out hosts each; the caller frees
 * them. NULL: no memory. `factors` has one element for each data centre; with `is_simple`, the
 * first one is that of the whole ring and the others do not count. The ring has a token.
 */
uint32_t *vvcql_place_replicas(const struct vvcql_ring *ring, bool is_simple,
                               const struct vvcql_factor *factors, size_t *width_out);

#endif
