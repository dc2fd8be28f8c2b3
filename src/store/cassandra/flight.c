/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes under way: bounded in number and bytes, the first failure kept.
 *
 * Cassandra wakes and parks threads for requests that come slower than it works: measured on one
 * node, one by one they cost 120 us of CPU each, 128 at a time 80, 2,000 at a time 57, and without
 * a pause 47. So they are gathered first, and then go one behind the other.
 */
#include "store/cassandra/cassandra.h"

#include <stdlib.h>

#define GATHERED_MAX         2048
#define GATHERED_BYTES_SHARE 2 /* of what may be under way */

struct vv_landing {
    struct vv_flight *flight;
    struct vv_landing *next;           /* of those that are gathered */
    struct vvcql_statement *statement; /* until it is sent */
    uint32_t cost;
    size_t bytes;
    uint64_t set; /* 0: none is noted as dead */
};

void vv_flight_init(struct vv_flight *flight, struct vvcql_session *session, struct vv_dead *dead,
                    uint32_t requests_max, size_t bytes_max)
{
    *flight = (struct vv_flight){
        .session = session, .dead = dead, .requests_max = requests_max, .bytes_max = bytes_max};
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
    struct vv_landing *landing = context;
    struct vv_flight *flight = landing->flight;
    bool is_noted = error && vv_dead_note(flight->dead, error, VV_DEAD_BY_WRITE);
    if (!error && landing->set != 0) {
        vv_dead_alive(flight->dead, landing->set, VV_DEAD_BY_WRITE);
    }
    pthread_mutex_lock(&flight->lock);
    flight->requests -= landing->cost;
    flight->bytes -= landing->bytes;
    if (error) {
        flight->goes_on = is_noted && (flight->status == VV_OK || flight->goes_on);
    }
    if (error && flight->status == VV_OK) {
        (void)vv_cassandra_status(error, "writing", &flight->error);
        flight->status = VV_IO; /* for whatever reason: the caller believes that it is written */
    }
    pthread_cond_signal(&flight->landed);
    pthread_mutex_unlock(&flight->lock);
    vvcql_result_destroy(take_result);
    free(landing);
}

/* Counts it as under way once there is room: what is larger than the bound goes alone. What is
 * known to fail too is left out: a flight that goes on has failed already. */
static enum vv_status board(struct vv_flight *flight, struct vv_landing *landing, bool *is_left_out,
                            struct vv_error *error)
{
    if (vv_dead_any(flight->dead)) {
        landing->set = vvcql_statement_replicas(flight->session, landing->statement);
    }
    pthread_mutex_lock(&flight->lock);
    while ((flight->status == VV_OK || flight->goes_on) && flight->requests > 0 &&
           (flight->requests + landing->cost > flight->requests_max ||
            flight->bytes + landing->bytes > flight->bytes_max)) {
        pthread_cond_wait(&flight->landed, &flight->lock);
    }
    enum vv_status status = flight->goes_on ? VV_OK : report(flight, error);
    *is_left_out = flight->goes_on && vv_dead_is(flight->dead, landing->set, VV_DEAD_BY_WRITE);
    if (status == VV_OK && !*is_left_out) {
        flight->requests += landing->cost;
        flight->bytes += landing->bytes;
    }
    pthread_mutex_unlock(&flight->lock);
    return status;
}

/* After a failure the rest is dropped, as the caller does all of it again. */
static enum vv_status send_gathered(struct vv_flight *flight, struct vv_error *error)
{
    enum vv_status status = VV_OK;
    struct vv_landing *next;
    for (struct vv_landing *landing = flight->gathered_first; landing; landing = next) {
        bool is_left_out = true;
        next = landing->next;
        if (status == VV_OK) {
            status = board(flight, landing, &is_left_out, error);
        }
        if (status == VV_OK && !is_left_out) {
            vvcql_execute(flight->session, landing->statement, land, landing);
        } else {
            vvcql_statement_destroy(landing->statement);
            free(landing);
        }
    }
    flight->gathered_first = NULL;
    flight->gathered_last = NULL;
    flight->gathered = 0;
    flight->gathered_bytes = 0;
    return status;
}

enum vv_status vv_flight_gather(struct vv_flight *flight, struct vvcql_statement *take_statement,
                                uint32_t cost, struct vv_error *error)
{
    struct vv_landing *landing = malloc(sizeof *landing);
    if (!landing || !take_statement) {
        free(landing);
        vvcql_statement_destroy(take_statement);
        return vv_error_set(error, VV_IO, "out of memory while writing");
    }
    *landing = (struct vv_landing){.flight = flight,
                                   .statement = take_statement,
                                   .cost = cost,
                                   .bytes = vvcql_statement_size(take_statement)};
    if (flight->gathered_last) {
        flight->gathered_last->next = landing;
    } else {
        flight->gathered_first = landing;
    }
    flight->gathered_last = landing;
    flight->gathered++;
    flight->gathered_bytes += landing->bytes;
    bool is_enough = flight->gathered >= GATHERED_MAX ||
                     flight->gathered_bytes >= flight->bytes_max / GATHERED_BYTES_SHARE;
    return is_enough ? send_gathered(flight, error) : VV_OK;
}

enum vv_status vv_flight_send(struct vv_flight *flight, struct vvcql_statement *take_statement,
                              struct vv_error *error)
{
    enum vv_status status = vv_flight_gather(flight, take_statement, 1, error);
    return status == VV_OK ? send_gathered(flight, error) : status;
}

enum vv_status vv_flight_wait(struct vv_flight *flight, struct vv_error *error)
{
    (void)!send_gathered(flight, NULL); /* a failure is the flight's */
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
    vv_invariant(flight->requests == 0 && !flight->gathered_first);
    flight->status = VV_OK;
    flight->goes_on = false;
    pthread_mutex_unlock(&flight->lock);
}
