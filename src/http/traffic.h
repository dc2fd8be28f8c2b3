/* SPDX-License-Identifier: Apache-2.0 */
/* The door's own counters, in Prometheus text format. Any thread; each counter is exact, several
 * of them need not be of the same moment. */
#ifndef VV_HTTP_TRAFFIC_H
#define VV_HTTP_TRAFFIC_H

#include "base/histogram.h"

#define VV_TRAFFIC_ROUTES_MAX 32
#define VV_TRAFFIC_CODES      16

struct vv_traffic_route {
    atomic_uint_least64_t requests[VV_TRAFFIC_CODES];
    struct vv_histogram duration;
};

struct vv_traffic {
    struct vv_traffic_route routes[VV_TRAFFIC_ROUTES_MAX];
    atomic_uint_least64_t accepted; /* connections */
    atomic_uint_least64_t closed;
    atomic_uint_least64_t bytes_in;  /* of bodies, as sent */
    atomic_uint_least64_t bytes_out; /* of bodies, as sent */
    atomic_uint_least64_t queries;   /* running or waiting for their client */
};

static inline void vv_traffic_add(atomic_uint_least64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* A finished request; code 0: ended without an answer. */
void vv_traffic_count(struct vv_traffic *traffic, size_t route, unsigned code, int64_t duration_ns);
/* `paths` has a name for each route that was counted. */
void vv_traffic_write(const struct vv_traffic *traffic, const char *const *paths, size_t n_routes,
                      struct vv_buffer *buffer);

#endif
