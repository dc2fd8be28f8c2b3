/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of connections to one host. */
#include "host.h"

#include "address.h"
#include "cluster.h"
#include "policy.h"

#include <stdlib.h>
#include <string.h>

static const struct vvcql_options *options_of(const struct vvcql_host *host)
{
    return &host->cluster->settings->options;
}

static void set_reconnect(struct vvcql_host *host, uint64_t at_ms)
{
    /* It is set at all times, but for the call of expired(): there is a place for it. */
    (void)!vvcql_deadline_set(&host->cluster->loop->deadlines, &host->reconnect, at_ms);
}

static void on_reconnect(struct vvcql_deadline *deadline)
{
    struct vvcql_host *host =
        (struct vvcql_host *)((char *)deadline - offsetof(struct vvcql_host, reconnect));
    set_reconnect(host, VVCQL_NEVER);
    vvcql_host_connect(host);
}

struct vvcql_host *vvcql_host_create(struct vvcql_cluster *cluster,
                                     const struct sockaddr_storage *address)
{
    struct vvcql_host *host = calloc(1, sizeof(*host));
    if (host == NULL)
        return NULL;
    host->cluster = cluster;
    host->address = *address;
    vvcql_address_name(address, host->name);
    for (size_t i = 0; i < VVCQL_CONNECTIONS_MAX; i++)
        host->slots[i].host = host;
    host->reconnect.expired = on_reconnect;
    if (!vvcql_deadline_set(&cluster->loop->deadlines, &host->reconnect, VVCQL_NEVER)) {
        free(host);
        return NULL;
    }
    return host;
}

void vvcql_host_destroy(struct vvcql_host *host)
{
    vvcql_deadline_clear(&host->cluster->loop->deadlines, &host->reconnect);
    free(host);
}

/* A host that turned the session away is asked again, but not soon: somebody must change something
 * first. */
static void reconnect_later(struct vvcql_host *host)
{
    const struct vvcql_options *options = options_of(host);
    uint64_t *random_state = &host->cluster->loop->random_state;
    uint64_t now_ms = vvcql_loop_now(host->cluster->loop);
    uint32_t first_ms = host->last_error.status == VVCQL_REFUSED ? options->reconnect_last_ms
                                                                 : options->reconnect_first_ms;
    uint64_t at_ms = now_ms + vvcql_backoff_ms(first_ms, options->reconnect_last_ms, host->failures,
                                               random_state);
    if (at_ms < host->reconnect.at_ms)
        set_reconnect(host, at_ms);
}

static void on_ready(void *context, struct vvcql_connection *connection)
{
    struct vvcql_host_slot *slot = context;
    struct vvcql_host *host = slot->host;
    (void)connection;
    slot->is_ready = true;
    host->failures = 0;
    host->has_failed = false;
    if (atomic_fetch_add_explicit(&host->n_ready, 1, memory_order_relaxed) == 0) {
        vvcql_tally_add(&host->cluster->loop->tally.hosts_up, 1);
        vvcql_loop_log(host->cluster->loop, "host_up", "%s in %s", host->name, host->datacenter);
    }
    vvcql_host_connect(host);
    vvcql_cluster_host_ready(host->cluster);
}

static void on_room(void *context, struct vvcql_connection *connection)
{
    struct vvcql_host_slot *slot = context;
    (void)connection;
    slot->host->cluster->on_room(slot->host->cluster->context);
}

static void not_ready_any_more(struct vvcql_host_slot *slot)
{
    struct vvcql_host *host = slot->host;
    slot->is_ready = false;
    if (atomic_fetch_sub_explicit(&host->n_ready, 1, memory_order_relaxed) > 1)
        return;
    vvcql_tally_subtract(&host->cluster->loop->tally.hosts_up, 1);
    if (host->cluster->is_closing)
        return;
    vvcql_loop_log(host->cluster->loop, "host_down", "%s: %s", host->name,
                   host->last_error.message);
    host->cluster->on_room(host->cluster->context);
}

/* All connections that were being opened have failed: try the other address, or wait. */
static void failed(struct vvcql_host *host, bool was_ready)
{
    bool is_down = !vvcql_host_is_up(host);
    if (is_down && host->n_connections > 0)
        return; /* one may still succeed */
    host->failures++;
    if (is_down && !was_ready && host->other.ss_family != AF_UNSPEC) {
        host->use_other = !host->use_other;
        if (host->use_other) {
            vvcql_host_connect(host);
            return;
        }
    }
    if (is_down)
        host->has_failed = true;
    reconnect_later(host);
    vvcql_cluster_host_failed(host->cluster, host);
}

static void on_closed(void *context, struct vvcql_connection *connection,
                      const struct vvcql_error *error)
{
    struct vvcql_host_slot *slot = context;
    struct vvcql_host *host = slot->host;
    struct vvcql_cluster *cluster = host->cluster;
    bool was_ready = slot->is_ready;
    (void)connection;
    slot->connection = NULL;
    host->n_connections--;
    cluster->n_connections--;
    host->last_error = *error;
    if (was_ready)
        not_ready_any_more(slot);
    if (!host->is_removed && !cluster->is_closing)
        failed(host, was_ready);
    else if (host->is_removed && host->n_connections == 0)
        vvcql_host_destroy(host);
    vvcql_cluster_check_closed(cluster);
}

static bool open_slot(struct vvcql_host_slot *slot)
{
    struct vvcql_host *host = slot->host;
    struct vvcql_connection_options options;
    struct vvcql_candidate candidate = {
        .address = host->use_other ? host->other : host->address,
        .name = host->found_by,
    };
    vvcql_cluster_connection_options(host->cluster, &candidate, &options);
    options.context = slot;
    options.on_ready = on_ready;
    options.on_room = on_room;
    options.on_closed = on_closed;
    slot->is_ready = false;
    slot->connection = vvcql_connection_create(host->cluster->loop, &options);
    if (slot->connection == NULL)
        return false;
    host->n_connections++;
    host->cluster->n_connections++;
    return true;
}

void vvcql_host_connect(struct vvcql_host *host)
{
    if (!host->is_wanted || host->is_removed || host->cluster->is_closing)
        return;
    uint32_t n_slots = options_of(host)->connections_per_host;
    uint32_t wanted = host->failures > 0 && !vvcql_host_is_up(host) ? 1 : n_slots;
    for (uint32_t i = 0; i < n_slots && host->n_connections < wanted; i++) {
        if (host->slots[i].connection == NULL && !open_slot(&host->slots[i])) {
            vvcql_error_set(&host->last_error, VVCQL_NO_MEMORY, "out of memory");
            failed(host, false);
            return;
        }
    }
}

void vvcql_host_disconnect(struct vvcql_host *host)
{
    set_reconnect(host, VVCQL_NEVER);
    host->is_wanted = false;
    if (host->is_removed && host->n_connections == 0) {
        vvcql_host_destroy(host);
        return;
    }
    for (size_t i = 0; i < VVCQL_CONNECTIONS_MAX; i++) {
        if (host->slots[i].connection != NULL)
            vvcql_connection_close(host->slots[i].connection);
    }
}

struct vvcql_connection *vvcql_host_choose(const struct vvcql_host *host)
{
    struct vvcql_connection *best = NULL;
    size_t best_room = 0;
    if (!vvcql_host_is_up(host))
        return NULL;
    for (size_t i = 0; i < VVCQL_CONNECTIONS_MAX; i++) {
        if (!host->slots[i].is_ready)
            continue;
        size_t room = vvcql_connection_room(host->slots[i].connection);
        if (room > best_room) {
            best = host->slots[i].connection;
            best_room = room;
        }
    }
    return best;
}
