/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guard: one thread that closes connections which make no progress, and lingers on those that
 * were answered before their body had come.
 *
 * libmicrohttpd's timeout starts again with each byte, so a client that sends one byte now and then
 * holds its connection for ever. A door is a connection's deadline: whoever makes progress moves
 * it; the guard shuts down the socket when it has passed.
 *
 * A socket that is closed while the client is still sending is reset, and the client loses the
 * answer that it has not read yet. Lingering keeps a second descriptor of the socket open and
 * throws away what comes, until the client has seen the end.
 */
#ifndef VV_HTTP_GUARD_H
#define VV_HTTP_GUARD_H

#include "base/clock.h"

#include <stdatomic.h>

struct vv_guard;

#define VV_GUARD_NEVER INT64_MAX

struct vv_door {
    atomic_int_least64_t deadline_ns; /* of the monotonic clock; VV_GUARD_NEVER: not guarded */
    /* private */
    int fd;
    struct vv_door *next;
    struct vv_door **link;
};

VV_MUST_CHECK enum vv_status vv_guard_create(struct vv_guard **guard_out, struct vv_error *error);
/* Ends the thread and closes what it lingers on. All doors must be closed. NULL is allowed. */
void vv_guard_destroy(struct vv_guard *guard);

/* A new connection; NULL when memory is out (it is not guarded then). Any thread. */
struct vv_door *vv_guard_open(struct vv_guard *guard, int fd, int64_t deadline_ns);
/* Before its descriptor is closed. NULL is allowed. */
void vv_guard_close(struct vv_guard *guard, struct vv_door *take_door);
/* Lingers on a connection that will be closed after its answer. Best effort; fd stays the
 * caller's. */
void vv_guard_linger(struct vv_guard *guard, int fd);

#endif
