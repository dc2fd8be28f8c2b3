/* SPDX-License-Identifier: Apache-2.0 */
/* Writes under way: bounded in number and bytes, the first failure kept. */
#include "store/cassandra/cassandra.h"

#include <stdlib.h>

struct landing {
    struct vv_flight *flight;
    uint32_t cost;
    size_t bytes;
};

void vv_flight_init(struct vv_flight *flight, struct vvcql_session *session, uint32_t requests_max,
                    size_t bytes_max)
{
    *flight = (struct vv_flight){
        .session = session, .requests_max = requests_max, .bytes_max = bytes_max};
    vv_invariant(pthread_mutex_init(&flight->lock, NULL) == 0);
    vv_invariant(pthread_cond_init(&flight->landed, NULL) == 0);
}

void vv_flight_deinit(struct vv_flight *flight)
{
    pthread_cond_destroy(&flight->landed);
    pthread_mutex_destroy(&flight->lock);
}

static enum vv_status report(struct vv_flight *flight, struct vv_error *error)
{
    if (flight->status != VV_OK && error) {
        *error = flight->error;
    }
    return flight->status;
}

/* In the session's thread. */
static void land(void *context, struct vvcql_result *take_result, const struct vvcql_error *error)
{
    struct landing *landing = context;
    struct vv_flight *flight = landing->flight;
    pthread_mutex_lock(&flight->lock);
    flight->requests -= landing->cost;
    flight->bytes -= landing->bytes;
    if (error && flight->status == VV_OK) {
        (void)vv_cassandra_status(error, "writing", &flight->error);
        flight->status = VV_IO; /* for whatever reason: the caller believes that it is written */
    }
    pthread_cond_signal(&flight->landed);
    pthread_mutex_unlock(&flight->lock);
    vvcql_result_destroy(take_result);
    free(landing);
}

enum vv_status vv_flight_send(struct vv_flight *flight, struct vvcql_statement *take_statement,
                              struct vv_error *error)
{
    return vv_flight_send_costly(flight, take_statement, 1, error);
}

enum vv_status vv_flight_send_costly(struct vv_flight *flight,
                                     struct vvcql_statement *take_statement, uint32_t cost,
                                     struct vv_error *error)
{
    struct landing *landing = malloc(sizeof *landing);
    if (!landing || !take_statement) {
        free(landing);
        vvcql_statement_destroy(take_statement);
        return vv_error_set(error, VV_IO, "out of memory while writing");
    }
    *landing = (struct landing){flight, cost, vvcql_statement_size(take_statement)};
    pthread_mutex_lock(&flight->lock);
    /* What is larger than the bound goes alone. */
    while (flight->status == VV_OK && flight->requests > 0 &&
           (flight->requests + cost > flight->requests_max ||
            flight->bytes + landing->bytes > flight->bytes_max)) {
        pthread_cond_wait(&flight->landed, &flight->lock);
    }
    enum vv_status status = report(flight, error);
    if (status == VV_OK) {
        flight->requests += cost;
        flight->bytes += landing->bytes;
    }
    pthread_mutex_unlock(&flight->lock);
    if (status != VV_OK) {
        free(landing);
        vvcql_statement_destroy(take_statement);
        return status;
    }
    vvcql_execute(flight->session, take_statement, land, landing);
    return VV_OK;
}

enum vv_status vv_flight_wait(struct vv_flight *flight, struct vv_error *error)
{
    pthread_mutex_lock(&flight->lock);
    while (flight->requests > 0) {
        pthread_cond_wait(&flight->landed, &flight->lock);
    }
    enum vv_status status = report(flight, error);
    pthread_mutex_unlock(&flight->lock);
    return status;
}

void vv_flight_clear(struct vv_flight *flight)
{
    pthread_mutex_lock(&flight->lock);
    vv_invariant(flight->requests == 0);
    flight->status = VV_OK;
    pthread_mutex_unlock(&flight->lock);
}
