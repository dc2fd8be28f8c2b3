/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of lib/cql (session.h) with a cluster of the model; this file takes the place of
 * lib/cql's session.c and looking.c. There is no thread: a request is carried out in the thread
 * that executes it or, deferred, in one that waits, and its callback is called there.
 *
 * Waiting threads come here through the linker (--wrap=pthread_cond_wait).
 */
#include "simulation/cassandra/requests.h"

#include "cql/prepared.h"
#include "cql/statement_private.h"
#include "simulation/sim_memory.h"

#include <stdio.h>
#include <stdlib.h>

struct vvcql_session {
    struct cass_client client;
    struct vvcql_prepared_texts prepared;
};

bool vvcql_session_is_own_thread(const struct vvcql_session *session);

bool vvcql_session_is_own_thread(const struct vvcql_session *session)
{
    (void)session;
    return false;
}

enum vvcql_status vvcql_session_open(const struct vvcql_options *options, bool patient,
                                     struct vvcql_session **session_out, struct vvcql_error *error)
{
    struct vvcql_session *session = vv_sim_calloc(1, sizeof *session);
    session->client.consistency =
        options->consistency == VVCQL_ANY ? VVCQL_LOCAL_QUORUM : options->consistency;
    session->client.retries_max = options->retries_max ? options->retries_max : 3;
    *session_out = NULL;
    vv_invariant(vvcql_prepared_init(&session->prepared));
    if (!cass_client_open(&session->client, options->contact_points) && !patient) {
        vvcql_session_close(session);
        return vvcql_error_set(error, VVCQL_UNREACHABLE, "no contact point could be reached: %s",
                               options->contact_points);
    }
    *session_out = session;
    return VVCQL_OK;
}

void vvcql_session_close(struct vvcql_session *session)
{
    if (session) {
        cass_client_close(&session->client);
        vvcql_prepared_deinit(&session->prepared);
        free(session);
    }
}

const struct vvcql_prepared *vvcql_prepare(struct vvcql_session *session, const char *cql)
{
    return vvcql_prepared_find(&session->prepared, cql);
}

void vvcql_execute(struct vvcql_session *session, struct vvcql_statement *take_statement,
                   vvcql_done done, void *context)
{
    struct vvcql_error error = {.code = VVCQL_CODE_NONE};
    if (vvcql_statement_check(take_statement, &error) != VVCQL_OK) {
        vvcql_statement_destroy(take_statement);
        done(context, NULL, &error);
        return;
    }
    cass_client_ask(&session->client, take_statement, done, context);
}

/* ---- looking at it ---- */

void vvcql_session_counters(struct vvcql_session *session, struct vvcql_counters *counters_out)
{
    (void)session;
    *counters_out = (struct vvcql_counters){.hosts = CASS_REPLICAS, .hosts_up = CASS_REPLICAS};
}

size_t vvcql_session_hosts(struct vvcql_session *session, struct vvcql_host_info *hosts_out,
                           size_t capacity)
{
    (void)session;
    for (size_t i = 0; i < CASS_REPLICAS && i < capacity; i++) {
        hosts_out[i] = (struct vvcql_host_info){
            .datacenter = "dc1", .rack = "r1", .release = "5.0.0", .is_local = true, .is_up = true};
        snprintf(hosts_out[i].address, sizeof hosts_out[i].address, "model:%zu", i);
    }
    return CASS_REPLICAS;
}

void vvcql_session_datacenter(struct vvcql_session *session, char datacenter_out[128])
{
    (void)session;
    snprintf(datacenter_out, 128, "dc1");
}

size_t vvcql_session_replicas(struct vvcql_session *session, const char *keyspace, int64_t token,
                              struct vvcql_host_info *hosts_out, size_t capacity)
{
    (void)keyspace;
    (void)token;
    return vvcql_session_hosts(session, hosts_out, capacity);
}

uint64_t vvcql_statement_replicas(struct vvcql_session *session,
                                  const struct vvcql_statement *statement)
{
    struct vv_sim_cassandra *cassandra = session->client.cassandra;
    uint64_t paused = vv_sim_memory_pause();
    uint64_t set = 0;
    if (cassandra) {
        pthread_mutex_lock(&cassandra->lock);
        set = cass_replica_set(cassandra, statement);
        pthread_mutex_unlock(&cassandra->lock);
    }
    vv_sim_memory_resume(paused);
    return set;
}

/* ---- waiting ---- */

int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);

/* To be woken for nothing is allowed, so whoever waits looks again after each request. Without one
 * the lock is kept until the real function gives it up: no signal is missed. */
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    if (!cass_has_requests()) {
        if (cass_is_alone()) {
            cass_give_up(NULL, "the only thread waits for what nothing ends");
        }
        return __real_pthread_cond_wait(condition, mutex);
    }
    pthread_mutex_unlock(mutex);
    cass_carry_out_any();
    pthread_mutex_lock(mutex);
    return 0;
}
