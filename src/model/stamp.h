/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stamp: (hybrid clock in µs, node) in 64 bits, given to a batch when it is journaled. It is
 * the order of writes everywhere: where two values meet for one point, the higher stamp wins.
 * 52 bits of µs reach to the year 2112; 12 bits of node allow 4,096 nodes.
 */
#ifndef VV_MODEL_STAMP_H
#define VV_MODEL_STAMP_H

#include <stdint.h>

typedef uint64_t vv_stamp;

#define VV_STAMP_NODE_BITS 12
#define VV_STAMP_NODE_MAX  ((1u << VV_STAMP_NODE_BITS) - 1)

static inline vv_stamp vv_stamp_make(uint64_t clock_us, uint32_t node)
{
    return clock_us << VV_STAMP_NODE_BITS | (node & VV_STAMP_NODE_MAX);
}

static inline uint64_t vv_stamp_clock_us(vv_stamp stamp)
{
    return stamp >> VV_STAMP_NODE_BITS;
}

static inline uint32_t vv_stamp_node(vv_stamp stamp)
{
    return (uint32_t)(stamp & VV_STAMP_NODE_MAX);
}

/* The next stamp of this node: max(previous + 1 µs, now). The wall clock may have gone back. */
static inline vv_stamp vv_stamp_next(vv_stamp previous, int64_t wall_ns, uint32_t node)
{
    uint64_t now = wall_ns > 0 ? (uint64_t)wall_ns / 1000 : 0;
    uint64_t after = vv_stamp_clock_us(previous) + 1;
    return vv_stamp_make(now > after ? now : after, node);
}

#endif
