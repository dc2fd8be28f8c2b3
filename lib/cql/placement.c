/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replicas of a token are found by walking along the ring from its owner on. Each data centre
 * takes hosts until it has as many as its factor says or as it has hosts: a host of a rack that it
 * has none of yet always, another one only as often as the factor exceeds the number of its racks.
 * SimpleStrategy takes hosts as they come, wherever they are. The first ones are full replicas, and
 * transient ones are the first to be missing.
 *
 * Whether a host is taken is decided when it is met first, and never changes on that walk. So it is
 * enough to walk along the hosts in the order of their next token, and that order is kept from one
 * token to the one before it: its owner moves to the front of a list.
 */
#include "placement.h"

#include <stdlib.h>
#include <string.h>

/* What a data centre may still take. */
struct quota {
    uint32_t left;    /* hosts */
    uint32_t repeats; /* of these, hosts of racks that it has already */
};

struct walk {
    const struct vvcql_ring *ring;
    bool is_simple;
    size_t width; /* of a row */
    size_t n_quotas;
    struct quota *full;   /* of each data centre, before the walk */
    struct quota *quotas; /* and during it */
    size_t *rack_met;     /* of each rack: the token, counted from 1, whose walk met it last */
    /* Hosts in the order of their next token: a circle, opened at n_hosts, which is no host. */
    uint32_t *next;
    uint32_t *previous;
};

static struct quota quota_of(struct vvcql_factor factor, size_t n_hosts, uint32_t n_racks)
{
    size_t left = factor.full < n_hosts ? factor.full : n_hosts;
    return (struct quota){.left = left < VVCQL_REPLICAS_MAX ? (uint32_t)left : VVCQL_REPLICAS_MAX,
                          .repeats = factor.all > n_racks ? factor.all - n_racks : 0};
}

static void fill_quotas(struct walk *walk, const struct vvcql_factor *factors)
{
    const struct vvcql_ring *ring = walk->ring;
    for (size_t i = 0; i < walk->n_quotas; i++) {
        const struct vvcql_ring_datacenter *datacenter = &ring->datacenters[i];
        walk->full[i] = walk->is_simple
                            ? quota_of(factors[i], ring->n_owners, 0)
                            : quota_of(factors[i], datacenter->n_hosts, datacenter->n_racks);
        walk->width += walk->full[i].left;
    }
}

static void walk_deinit(struct walk *walk)
{
    free(walk->full);
    free(walk->quotas);
    free(walk->rack_met);
    free(walk->next);
    free(walk->previous);
}

static bool walk_init(struct walk *walk, const struct vvcql_ring *ring, bool is_simple)
{
    size_t n_quotas = is_simple ? 1 : ring->n_datacenters;
    *walk = (struct walk){.ring = ring, .is_simple = is_simple, .n_quotas = n_quotas};
    walk->full = calloc(n_quotas, sizeof *walk->full);
    walk->quotas = calloc(n_quotas, sizeof *walk->quotas);
    walk->rack_met = calloc(ring->n_racks, sizeof *walk->rack_met);
    walk->next = calloc(ring->n_hosts + 1, sizeof *walk->next);
    walk->previous = calloc(ring->n_hosts + 1, sizeof *walk->previous);
    if (walk->full == NULL || walk->quotas == NULL || walk->rack_met == NULL ||
        walk->next == NULL || walk->previous == NULL) {
        walk_deinit(walk);
        return false;
    }
    return true;
}

static void link_hosts(struct walk *walk, uint32_t first, uint32_t second)
{
    walk->next[first] = second;
    walk->previous[second] = first;
}

static void move_to_front(struct walk *walk, uint32_t host)
{
    uint32_t opening = (uint32_t)walk->ring->n_hosts;
    link_hosts(walk, walk->previous[host], walk->next[host]);
    link_hosts(walk, host, walk->next[opening]);
    link_hosts(walk, opening, host);
}

/* The order of hosts as it is seen from the first token. */
static void fill_order(struct walk *walk)
{
    const struct vvcql_ring *ring = walk->ring;
    uint32_t opening = (uint32_t)ring->n_hosts;
    for (uint32_t i = 0; i < opening; i++) {
        link_hosts(walk, i, i + 1);
    }
    link_hosts(walk, opening, 0);
    for (size_t i = ring->n_tokens; i-- > 0;) {
        move_to_front(walk, ring->owners[i]);
    }
}

static bool take_host(struct walk *walk, uint32_t host, size_t token)
{
    const struct vvcql_ring_place *place = &walk->ring->places[host];
    struct quota *quota = &walk->quotas[walk->is_simple ? 0 : place->datacenter];
    if (quota->left == 0) {
        return false;
    }
    if (walk->rack_met[place->rack] == token + 1) {
        if (quota->repeats == 0) {
            return false;
        }
        quota->repeats--;
    }
    walk->rack_met[place->rack] = token + 1;
    quota->left--;
    return true;
}

static void place_token(struct walk *walk, size_t token, uint32_t *row_out)
{
    uint32_t opening = (uint32_t)walk->ring->n_hosts;
    memcpy(walk->quotas, walk->full, walk->n_quotas * sizeof *walk->quotas);
    size_t n = 0;
    for (uint32_t host = walk->next[opening]; host != opening && n < walk->width;
         host = walk->next[host]) {
        if (take_host(walk, host, token)) {
            row_out[n++] = host;
        }
    }
}

uint32_t *vvcql_place_replicas(const struct vvcql_ring *ring, bool is_simple,
                               const struct vvcql_factor *factors, size_t *width_out)
{
    struct walk walk;
    *width_out = 0;
    if (!walk_init(&walk, ring, is_simple)) {
        return NULL;
    }
    fill_quotas(&walk, factors);
    size_t width = walk.width == 0 ? 1 : walk.width;
    uint32_t *rows =
        width > SIZE_MAX / ring->n_tokens ? NULL : calloc(ring->n_tokens * width, sizeof *rows);
    if (rows != NULL) {
        fill_order(&walk);
        for (size_t i = ring->n_tokens; i-- > 0;) {
            move_to_front(&walk, ring->owners[i]);
            place_token(&walk, i, rows + i * walk.width);
        }
        *width_out = walk.width;
    }
    walk_deinit(&walk);
    return rows;
}
