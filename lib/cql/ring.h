/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring of tokens with their owners, and the data centre and rack of each. For placement.c and
 * replicas.c.
 */
#ifndef VVCQL_RING_H
#define VVCQL_RING_H

#include "replicas.h"

struct vvcql_ring_datacenter {
    const char *name; /* borrowed from the hosts */
    uint32_t n_hosts; /* of the owners */
    uint32_t n_racks;
};

struct vvcql_ring_place {
    uint32_t datacenter;
    uint32_t rack; /* numbered through all data centres */
};

/* Only hosts that own a token count; the others have the place of no one. */
struct vvcql_ring {
    int64_t *tokens;  /* ascending, distinct; with each goes what is above the token before it */
    uint32_t *owners; /* of each token: a host */
    size_t n_tokens;
    struct vvcql_ring_place *places; /* of each host */
    size_t n_hosts;
    size_t n_owners;
    struct vvcql_ring_datacenter *datacenters; /* in the order of their names */
    size_t n_datacenters;
    size_t n_racks;
};

/* Names stay borrowed. false: no memory. */
VVCQL_MUST_CHECK bool vvcql_ring_init(struct vvcql_ring *ring, const struct vvcql_ring_host *hosts,
                                      size_t n_hosts);
void vvcql_ring_deinit(struct vvcql_ring *ring);

#endif
