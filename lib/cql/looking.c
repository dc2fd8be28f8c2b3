/* SPDX-License-Identifier: Apache-2.0 */
/* Counters, hosts and replicas, for any thread. */
#include "plan.h"
#include "replica_sets.h"
#include "session_private.h"
#include "token.h"

#include <string.h>

static uint64_t read_counter(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void vvcql_session_counters(struct vvcql_session *session, struct vvcql_counters *counters_out)
{
    struct vvcql_tally *tally = &session->loop.tally;
    *counters_out = (struct vvcql_counters){
        .requests = read_counter(&tally->requests),
        .errors = read_counter(&tally->errors),
        .timeouts = read_counter(&tally->timeouts),
        .retries = read_counter(&tally->retries),
        .speculative = read_counter(&tally->speculative),
        .speculative_won = read_counter(&tally->speculative_won),
        .unprepared = read_counter(&tally->unprepared),
        .overloaded = read_counter(&tally->overloaded),
        .bytes_sent = read_counter(&tally->bytes_sent),
        .bytes_received = read_counter(&tally->bytes_received),
        .connections_opened = read_counter(&tally->connections_opened),
        .connections_lost = read_counter(&tally->connections_lost),
        .in_flight = read_counter(&tally->in_flight),
        .orphans = read_counter(&tally->orphans),
        .hosts = read_counter(&tally->hosts),
        .hosts_up = read_counter(&tally->hosts_up),
        .warnings = read_counter(&tally->warnings),
    };
}

/* Under the cluster's lock. */
static void describe(struct vvcql_host *host, struct vvcql_host_info *info_out)
{
    memset(info_out, 0, sizeof(*info_out));
    memcpy(info_out->address, host->name, sizeof(info_out->address));
    memcpy(info_out->datacenter, host->datacenter, sizeof(info_out->datacenter));
    memcpy(info_out->rack, host->rack, sizeof(info_out->rack));
    memcpy(info_out->release, host->release, sizeof(info_out->release));
    info_out->is_local = host->is_local;
    info_out->connections = atomic_load_explicit(&host->n_ready, memory_order_relaxed);
    info_out->is_up = info_out->connections > 0;
    info_out->in_flight = atomic_load_explicit(&host->in_flight, memory_order_relaxed);
}

size_t vvcql_session_hosts(struct vvcql_session *session, struct vvcql_host_info *hosts_out,
                           size_t capacity)
{
    struct vvcql_cluster *cluster = &session->cluster;
    pthread_mutex_lock(&cluster->lock);
    size_t n = cluster->n_hosts;
    for (size_t i = 0; i < n && i < capacity; i++)
        describe(cluster->hosts[i], &hosts_out[i]);
    pthread_mutex_unlock(&cluster->lock);
    return n;
}

void vvcql_session_datacenter(struct vvcql_session *session, char datacenter_out[128])
{
    struct vvcql_cluster *cluster = &session->cluster;
    pthread_mutex_lock(&cluster->lock);
    memcpy(datacenter_out, cluster->local_datacenter, sizeof(cluster->local_datacenter));
    pthread_mutex_unlock(&cluster->lock);
}

size_t vvcql_session_replicas(struct vvcql_session *session, const char *keyspace, int64_t token,
                              struct vvcql_host_info *hosts_out, size_t capacity)
{
    struct vvcql_cluster *cluster = &session->cluster;
    size_t n;
    pthread_mutex_lock(&cluster->lock);
    const uint32_t *replicas = vvcql_token_map_find(cluster->map, keyspace, token, &n);
    for (size_t i = 0; i < n && i < capacity; i++)
        describe(cluster->hosts[replicas[i]], &hosts_out[i]);
    pthread_mutex_unlock(&cluster->lock);
    return n;
}

uint64_t vvcql_statement_replicas(struct vvcql_session *session,
                                  const struct vvcql_statement *statement)
{
    const struct vvcql_statement *first = statement != NULL ? vvcql_plan_routed(statement) : NULL;
    struct vvcql_buffer key = {0};
    char keyspace[sizeof(first->prepared->keyspace)];
    uint64_t set = 0;
    if (first == NULL)
        return 0;
    pthread_mutex_lock(&session->prepared.lock);
    bool is_known = vvcql_prepared_key(first->prepared, first, &key);
    memcpy(keyspace, first->prepared->keyspace, sizeof(keyspace));
    pthread_mutex_unlock(&session->prepared.lock);
    if (is_known) {
        pthread_mutex_lock(&session->cluster.lock);
        set = vvcql_replica_set(&session->cluster, keyspace, vvcql_token(key.data, key.size));
        pthread_mutex_unlock(&session->cluster.lock);
    }
    vvcql_buffer_deinit(&key);
    return set;
}
