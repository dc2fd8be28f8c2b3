/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all parts of a session's thread share: the libuv loop, the deadlines behind its one timer,
 * the connections that have something to send, the random state. All of it belongs to the session's
 * thread; functions here are called there only, unless said otherwise.
 */
#ifndef VVCQL_LOOP_H
#define VVCQL_LOOP_H

#include "deadlines.h"

#include <stdatomic.h>
#include <uv.h>

struct vvcql_connection;

/* Counters that other threads read while the session's thread writes them. */
struct vvcql_tally {
    _Atomic uint64_t requests, errors, timeouts, retries, speculative, speculative_won, unprepared,
        overloaded, bytes_sent, bytes_received, connections_opened, connections_lost, in_flight,
        orphans, hosts, hosts_up, warnings;
};

static inline void vvcql_tally_add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}
static inline void vvcql_tally_subtract(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_sub_explicit(counter, n, memory_order_relaxed);
}

struct vvcql_loop {
    uv_loop_t uv;
    uv_timer_t timer;     /* runs the deadlines */
    uv_prepare_t prepare; /* before the loop waits: sends what was written, arms the timer */
    struct vvcql_deadlines deadlines;
    struct vvcql_connection *dirty; /* have frames to send: a list by connection's next_dirty_ */
    uint64_t random_state;
    struct vvcql_tally tally;
    void (*log)(void *context, const char *event, const char *text);
    void *log_context;
};

/* false: no memory or no file descriptors left; nothing is held then. */
VVCQL_MUST_CHECK bool vvcql_loop_init(struct vvcql_loop *loop, uint64_t seed);
/* Runs until all handles of others are closed; its own do not keep it running. Blocks SIGPIPE in
 * this thread: what a host closed is told by an error. */
void vvcql_loop_run(struct vvcql_loop *loop);
/* After vvcql_loop_run has returned: closes its own. */
void vvcql_loop_deinit(struct vvcql_loop *loop);
/* Now in ms: of one loop iteration, never going back. */
uint64_t vvcql_loop_now(const struct vvcql_loop *loop);
/* One line about a change of state to the session's log, if it has one. */
void vvcql_loop_log(const struct vvcql_loop *loop, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
