/* SPDX-License-Identifier: Apache-2.0 */
/* A stretch of time, as scans cut it. Private to src/query. Pure functions, any thread. */
#ifndef VV_QUERY_WINDOW_H
#define VV_QUERY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct vv_window {
    int64_t from; /* [from, to) */
    int64_t to;
};

static inline struct vv_window vv_window_intersect(struct vv_window a, struct vv_window b)
{
    return (struct vv_window){a.from > b.from ? a.from : b.from, a.to < b.to ? a.to : b.to};
}

static inline bool vv_window_is_empty(struct vv_window window)
{
    return window.from >= window.to;
}

static inline bool vv_window_holds(struct vv_window window, int64_t time)
{
    return time >= window.from && time < window.to;
}

#endif
