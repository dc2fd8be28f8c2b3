/* SPDX-License-Identifier: Apache-2.0 */
/* What the system tables said becomes the cluster's hosts and token map; all of it or nothing. */
#include "address.h"
#include "cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The new state while it is made. */
struct change {
    struct vvcql_found_host **found; /* local ones first */
    struct vvcql_host **hosts;       /* in the same order */
    bool *is_new;
    uint32_t n;
    uint32_t n_local;
    struct vvcql_token_map *map;
};

static const struct vvcql_found_host *control_host(const struct vvcql_topology *topology)
{
    for (size_t i = 0; i < topology->n_hosts; i++) {
        if (topology->hosts[i].is_control)
            return &topology->hosts[i];
    }
    return NULL;
}

static void sort_hosts(struct change *change, struct vvcql_topology *topology,
                       const char *local_datacenter)
{
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < topology->n_hosts; i++) {
            struct vvcql_found_host *found = &topology->hosts[i];
            bool is_local = strcmp(found->datacenter, local_datacenter) == 0;
            if (is_local == (pass == 0))
                change->found[change->n++] = found;
        }
        if (pass == 0)
            change->n_local = change->n;
    }
}

static struct vvcql_host *known_host(const struct vvcql_cluster *cluster,
                                     const struct vvcql_found_host *found)
{
    for (uint32_t i = 0; i < cluster->n_hosts; i++) {
        struct vvcql_host *host = cluster->hosts[i];
        if (memcmp(host->id, found->id, sizeof(host->id)) == 0 &&
            vvcql_address_equal(&host->address, &found->address))
            return host;
    }
    return NULL;
}

/* false: no memory. */
static bool make_hosts(struct change *change, struct vvcql_cluster *cluster)
{
    for (uint32_t i = 0; i < change->n; i++) {
        change->hosts[i] = known_host(cluster, change->found[i]);
        change->is_new[i] = change->hosts[i] == NULL;
        if (!change->is_new[i])
            continue;
        change->hosts[i] = vvcql_host_create(cluster, &change->found[i]->address);
        if (change->hosts[i] == NULL)
            return false;
        memcpy(change->hosts[i]->id, change->found[i]->id, sizeof(change->hosts[i]->id));
    }
    return true;
}

/* false: no memory. */
static bool make_map(struct change *change, const struct vvcql_topology *topology)
{
    struct vvcql_ring_host *hosts = calloc(change->n + 1, sizeof(*hosts));
    struct vvcql_ring_keyspace *keyspaces = calloc(topology->n_keyspaces + 1, sizeof(*keyspaces));
    if (hosts != NULL && keyspaces != NULL) {
        for (uint32_t i = 0; i < change->n; i++)
            hosts[i] = (struct vvcql_ring_host){
                .datacenter = change->found[i]->datacenter,
                .rack = change->found[i]->rack,
                .tokens = change->found[i]->tokens,
                .n_tokens = change->found[i]->n_tokens,
            };
        for (size_t i = 0; i < topology->n_keyspaces; i++)
            keyspaces[i] = (struct vvcql_ring_keyspace){
                .name = topology->keyspaces[i].name,
                .keys = (const char *const *)topology->keyspaces[i].keys,
                .values = (const char *const *)topology->keyspaces[i].values,
                .n = topology->keyspaces[i].n,
            };
        change->map = vvcql_token_map_create(hosts, change->n, keyspaces, topology->n_keyspaces);
    }
    free(hosts);
    free(keyspaces);
    return change->map != NULL;
}

static bool prepare_change(struct change *change, struct vvcql_cluster *cluster,
                           struct vvcql_topology *topology, const char *local_datacenter)
{
    size_t n = topology->n_hosts + 1; /* never an array of nothing */
    change->found = calloc(n, sizeof(*change->found));
    change->hosts = calloc(n, sizeof(*change->hosts));
    change->is_new = calloc(n, sizeof(*change->is_new));
    if (change->found == NULL || change->hosts == NULL || change->is_new == NULL)
        return false;
    sort_hosts(change, topology, local_datacenter);
    return make_hosts(change, cluster) && make_map(change, topology);
}

static void discard(struct change *change)
{
    for (uint32_t i = 0; change->hosts != NULL && i < change->n; i++) {
        if (change->is_new[i] && change->hosts[i] != NULL)
            vvcql_host_destroy(change->hosts[i]);
    }
    free(change->hosts);
}

static void update_host(struct vvcql_host *host, const struct vvcql_found_host *found,
                        bool is_local)
{
    memcpy(host->datacenter, found->datacenter, sizeof(host->datacenter));
    memcpy(host->rack, found->rack, sizeof(host->rack));
    memcpy(host->release, found->release, sizeof(host->release));
    host->is_local = is_local;
    host->is_found = true;
}

/* Puts the new state in place; change->hosts and change->map become the old ones. */
static uint32_t exchange(struct vvcql_cluster *cluster, struct change *change,
                         const char *local_datacenter)
{
    uint32_t n_old = cluster->n_hosts;
    struct vvcql_host **hosts = cluster->hosts;
    struct vvcql_token_map *map = cluster->map;
    for (uint32_t i = 0; i < n_old; i++)
        hosts[i]->is_found = false;
    pthread_mutex_lock(&cluster->lock);
    for (uint32_t i = 0; i < change->n; i++)
        update_host(change->hosts[i], change->found[i], i < change->n_local);
    cluster->hosts = change->hosts;
    cluster->map = change->map;
    cluster->n_hosts = change->n;
    cluster->n_local = change->n_local;
    pthread_mutex_unlock(&cluster->lock);
    snprintf(cluster->local_datacenter, sizeof(cluster->local_datacenter), "%s", local_datacenter);
    change->hosts = hosts;
    change->map = map;
    return n_old;
}

static void remove_old(struct vvcql_cluster *cluster, struct change *change, uint32_t n_old)
{
    for (uint32_t i = 0; i < n_old; i++) {
        struct vvcql_host *host = change->hosts[i];
        if (host->is_found)
            continue;
        vvcql_loop_log(cluster->loop, "host_removed", "%s", host->name);
        host->is_removed = true;
        vvcql_host_disconnect(host);
    }
    free(change->hosts);
    vvcql_token_map_destroy(change->map);
}

static void connect_hosts(struct vvcql_cluster *cluster, const struct change *change,
                          const struct vvcql_candidate *found_at)
{
    bool remote_hosts = cluster->settings->options.remote_hosts;
    for (uint32_t i = 0; i < cluster->n_hosts; i++) {
        struct vvcql_host *host = cluster->hosts[i];
        if (change->is_new[i])
            vvcql_loop_log(cluster->loop, "host_added", "%s in %s, rack %s, Cassandra %s",
                           host->name, host->datacenter, host->rack, host->release);
        if (change->found[i]->is_control) {
            if (!vvcql_address_equal(&host->address, &found_at->address))
                host->other = found_at->address;
            if (found_at->name != NULL)
                host->found_by = found_at->name;
        }
        bool was_wanted = host->is_wanted;
        host->is_wanted = host->is_local || remote_hosts;
        if (host->is_wanted && !was_wanted)
            vvcql_host_connect(host);
        else if (!host->is_wanted && was_wanted)
            vvcql_host_disconnect(host);
    }
}

static enum vvcql_status check_datacenter(const struct vvcql_cluster *cluster,
                                          struct vvcql_error *error)
{
    char text[VVCQL_MESSAGE_MAX] = "";
    size_t size = 0;
    if (cluster->n_local > 0)
        return VVCQL_OK;
    for (uint32_t i = 0; i < cluster->n_hosts && size < sizeof(text); i++) {
        bool is_named = false;
        for (uint32_t k = 0; k < i && !is_named; k++)
            is_named = strcmp(cluster->hosts[k]->datacenter, cluster->hosts[i]->datacenter) == 0;
        if (!is_named)
            size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%s", i > 0 ? ", " : "",
                                     cluster->hosts[i]->datacenter);
    }
    return vvcql_error_set(error, VVCQL_INVALID,
                           "no host is in the local data centre %s; data centres there are: %s",
                           cluster->local_datacenter, text);
}

enum vvcql_status vvcql_cluster_apply(struct vvcql_cluster *cluster,
                                      struct vvcql_topology *topology,
                                      const struct vvcql_candidate *found_at,
                                      struct vvcql_error *error)
{
    char local_datacenter[sizeof(cluster->local_datacenter)];
    struct change change = {0};
    const struct vvcql_found_host *control = control_host(topology);
    snprintf(local_datacenter, sizeof(local_datacenter), "%s",
             cluster->local_datacenter[0] == '\0' && control != NULL ? control->datacenter
                                                                     : cluster->local_datacenter);
    bool has_memory = prepare_change(&change, cluster, topology, local_datacenter);
    if (has_memory) {
        uint32_t n_old = exchange(cluster, &change, local_datacenter);
        atomic_store_explicit(&cluster->loop->tally.hosts, cluster->n_hosts, memory_order_relaxed);
        remove_old(cluster, &change, n_old);
        connect_hosts(cluster, &change, found_at);
    } else {
        discard(&change);
    }
    free(change.found);
    free(change.is_new);
    if (!has_memory)
        return vvcql_error_set(error, VVCQL_NO_MEMORY, "out of memory");
    return check_datacenter(cluster, error);
}
