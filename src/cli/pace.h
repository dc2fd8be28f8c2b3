/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bound of points a second (a token bucket of one second): what was not used in a pause is not
 * caught up with, but for a second's worth. Pure, one thread at a time.
 */
#ifndef VV_CLI_PACE_H
#define VV_CLI_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct vv_pace {
    double rate;   /* points a second; 0: no bound */
    double room;   /* points that may go; below 0: too many went */
    int64_t at_ns; /* when the room was looked at last, monotonic; set at the beginning */
};

static inline void vv_pace_take(struct vv_pace *pace, uint32_t points)
{
    pace->room -= points;
}

/* Whether what was taken may go by now. */
static inline bool vv_pace_may_go(struct vv_pace *pace, int64_t now_ns)
{
    double room = pace->room + pace->rate * (double)(now_ns - pace->at_ns) / 1e9;
    pace->room = room < pace->rate ? room : pace->rate;
    pace->at_ns = now_ns;
    return pace->rate == 0 || pace->room >= 0;
}

#endif
