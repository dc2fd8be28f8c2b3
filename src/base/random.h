/* SPDX-License-Identifier: Apache-2.0 */
/* A small seeded generator (splitmix64, Steele et al. 2014) for jitter, simulations and data
 * generators; not for secrets. One thread each. */
#ifndef VV_BASE_RANDOM_H
#define VV_BASE_RANDOM_H

#include <stdint.h>

struct vv_random {
    uint64_t state;
};

static inline uint64_t vv_random_next(struct vv_random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* 0 … bound - 1; bound > 0. The bias is below bound / 2^64. */
static inline uint64_t vv_random_below(struct vv_random *random, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)vv_random_next(random) * bound) >> 64);
}

/* 0 ≤ x < 1 with 53 bits. */
static inline double vv_random_unit(struct vv_random *random)
{
    return (double)(vv_random_next(random) >> 11) * 0x1.0p-53;
}

#endif
