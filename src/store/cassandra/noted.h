/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded memory of 64-bit hashes, for what need not be done again but may be: open addressing in
 * windows of eight (a cache line), doubled while it fills up; the largest forgets something for
 * each new one. One thread.
 */
#ifndef VV_STORE_CASSANDRA_NOTED_H
#define VV_STORE_CASSANDRA_NOTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VV_NOTED_MAX                                                                               \
    ((size_t)1 << 22) /* slots, 32 MiB: a bucket each of a million sources and more */

struct vv_noted {    /* zeros: empty */
    uint64_t *slots; /* 0: free */
    size_t n_slots;  /* a power of two, or 0 */
    size_t n;
};

void vv_noted_deinit(struct vv_noted *noted); /* it is empty then */
bool vv_noted_has(const struct vv_noted *noted, uint64_t hash);
/* Without memory, others or this one are forgotten. */
void vv_noted_add(struct vv_noted *noted, uint64_t hash);

#endif
