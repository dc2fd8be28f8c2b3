/* SPDX-License-Identifier: Apache-2.0 */
/* The ring out of the hosts' own accounts: sorted tokens, numbered data centres and racks. */
#include "ring.h"

#include <stdlib.h>
#include <string.h>

struct ring_entry {
    int64_t token;
    uint32_t host;
};

static int compare_entries(const void *a_data, const void *b_data)
{
    const struct ring_entry *a = a_data;
    const struct ring_entry *b = b_data;
    if (a->token != b->token) {
        return a->token < b->token ? -1 : 1;
    }
    return (a->host > b->host) - (a->host < b->host);
}

static size_t count_tokens(const struct vvcql_ring_host *hosts, size_t n_hosts)
{
    size_t n = 0;
    for (size_t i = 0; i < n_hosts; i++) {
        n += hosts[i].n_tokens;
    }
    return n;
}

static void fill_entries(struct ring_entry *entries, const struct vvcql_ring_host *hosts,
                         size_t n_hosts)
{
    for (size_t i = 0; i < n_hosts; i++) {
        for (size_t k = 0; k < hosts[i].n_tokens; k++) {
            *entries++ = (struct ring_entry){hosts[i].tokens[k], (uint32_t)i};
        }
    }
}

static void fill_ring(struct vvcql_ring *ring, const struct ring_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && entries[i].token == entries[i - 1].token) {
            continue;
        }
        ring->tokens[ring->n_tokens] = entries[i].token;
        ring->owners[ring->n_tokens] = entries[i].host;
        ring->n_tokens++;
    }
}

static bool init_tokens(struct vvcql_ring *ring, const struct vvcql_ring_host *hosts,
                        size_t n_hosts)
{
    size_t n = count_tokens(hosts, n_hosts);
    struct ring_entry *entries = calloc(n + 1, sizeof *entries);
    ring->tokens = calloc(n + 1, sizeof *ring->tokens);
    ring->owners = calloc(n + 1, sizeof *ring->owners);
    bool is_ready = entries != NULL && ring->tokens != NULL && ring->owners != NULL;
    if (is_ready) {
        fill_entries(entries, hosts, n_hosts);
        qsort(entries, n, sizeof *entries, compare_entries);
        fill_ring(ring, entries, n);
    }
    free(entries);
    return is_ready;
}

/* ---- data centres and racks ---- */

struct location {
    const char *datacenter;
    const char *rack;
    uint32_t host;
    bool is_owner; /* of a token */
};

static int compare_locations(const void *a_data, const void *b_data)
{
    const struct location *a = a_data;
    const struct location *b = b_data;
    int order = strcmp(a->datacenter, b->datacenter);
    return order != 0 ? order : strcmp(a->rack, b->rack);
}

static const char *name_of(const char *name)
{
    return name == NULL ? "" : name;
}

static void fill_locations(struct location *locations, const struct vvcql_ring *ring,
                           const struct vvcql_ring_host *hosts)
{
    for (size_t i = 0; i < ring->n_hosts; i++) {
        locations[i] = (struct location){.datacenter = name_of(hosts[i].datacenter),
                                         .rack = name_of(hosts[i].rack),
                                         .host = (uint32_t)i};
    }
    for (size_t i = 0; i < ring->n_tokens; i++) {
        locations[ring->owners[i]].is_owner = true;
    }
}

/* Numbers data centres and racks; locations are sorted. */
static void fill_places(struct vvcql_ring *ring, const struct location *locations)
{
    const struct location *previous = NULL;
    for (size_t i = 0; i < ring->n_hosts; i++) {
        const struct location *location = &locations[i];
        if (!location->is_owner) {
            continue;
        }
        if (previous == NULL || strcmp(previous->datacenter, location->datacenter) != 0) {
            ring->datacenters[ring->n_datacenters] =
                (struct vvcql_ring_datacenter){.name = location->datacenter};
            ring->n_datacenters++;
        }
        struct vvcql_ring_datacenter *datacenter = &ring->datacenters[ring->n_datacenters - 1];
        if (previous == NULL || compare_locations(previous, location) != 0) {
            datacenter->n_racks++;
            ring->n_racks++;
        }
        datacenter->n_hosts++;
        ring->n_owners++;
        ring->places[location->host] = (struct vvcql_ring_place){
            .datacenter = (uint32_t)ring->n_datacenters - 1, .rack = (uint32_t)ring->n_racks - 1};
        previous = location;
    }
}

static bool init_places(struct vvcql_ring *ring, const struct vvcql_ring_host *hosts,
                        size_t n_hosts)
{
    ring->n_hosts = n_hosts;
    struct location *locations = calloc(n_hosts + 1, sizeof *locations);
    ring->places = calloc(n_hosts + 1, sizeof *ring->places);
    ring->datacenters = calloc(n_hosts + 1, sizeof *ring->datacenters);
    bool is_ready = locations != NULL && ring->places != NULL && ring->datacenters != NULL;
    if (is_ready) {
        fill_locations(locations, ring, hosts);
        qsort(locations, n_hosts, sizeof *locations, compare_locations);
        fill_places(ring, locations);
    }
    free(locations);
    return is_ready;
}

bool vvcql_ring_init(struct vvcql_ring *ring, const struct vvcql_ring_host *hosts, size_t n_hosts)
{
    *ring = (struct vvcql_ring){0};
    if (n_hosts >= UINT32_MAX || !init_tokens(ring, hosts, n_hosts) ||
        !init_places(ring, hosts, n_hosts)) {
        vvcql_ring_deinit(ring);
        return false;
    }
    return true;
}

void vvcql_ring_deinit(struct vvcql_ring *ring)
{
    free(ring->tokens);
    free(ring->owners);
    free(ring->places);
    free(ring->datacenters);
    *ring = (struct vvcql_ring){0};
}
