/* SPDX-License-Identifier: Apache-2.0 */
/* Durations counted in buckets of about 2 %, for quantiles. Any thread. */
#ifndef VV_CLI_LATENCY_H
#define VV_CLI_LATENCY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define VV_LATENCY_STEPS   32 /* buckets for each doubling */
#define VV_LATENCY_BUCKETS (44 * VV_LATENCY_STEPS)

struct vv_latency {
    atomic_uint_least64_t counts[VV_LATENCY_BUCKETS]; /* zero-initialised is empty */
    atomic_uint_least64_t n;
};

void vv_latency_add(struct vv_latency *latency, int64_t duration_ns);
/* The duration that a share of all (0 to 1) did not exceed; 0 when empty. */
int64_t vv_latency_quantile(const struct vv_latency *latency, double share);

#endif
