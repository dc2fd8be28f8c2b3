/* SPDX-License-Identifier: Apache-2.0 */
/* A bucket is the position of the highest bit and the five bits below it. */
#include "cli/latency.h"

#define STEP_BITS 5 /* log2 of VV_LATENCY_STEPS */

static size_t bucket_of(uint64_t value)
{
    if (value < VV_LATENCY_STEPS) {
        return (size_t)value;
    }
    unsigned top = 63u - (unsigned)__builtin_clzll(value);
    size_t bucket = (size_t)(top - STEP_BITS + 1) * VV_LATENCY_STEPS +
                    (size_t)(value >> (top - STEP_BITS) & (VV_LATENCY_STEPS - 1));
    return bucket < VV_LATENCY_BUCKETS ? bucket : VV_LATENCY_BUCKETS - 1;
}

/* The largest value of a bucket. */
static int64_t bucket_end(size_t bucket)
{
    if (bucket < VV_LATENCY_STEPS) {
        return (int64_t)bucket;
    }
    size_t shift = bucket / VV_LATENCY_STEPS - 1;
    uint64_t start = (uint64_t)(VV_LATENCY_STEPS + bucket % VV_LATENCY_STEPS) << shift;
    return (int64_t)(start + (UINT64_C(1) << shift) - 1);
}

void vv_latency_add(struct vv_latency *latency, int64_t duration_ns)
{
    uint64_t value = duration_ns > 0 ? (uint64_t)duration_ns : 0;
    atomic_fetch_add_explicit(&latency->counts[bucket_of(value)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&latency->n, 1, memory_order_relaxed);
}

int64_t vv_latency_quantile(const struct vv_latency *latency, double share)
{
    uint64_t n = atomic_load_explicit(&latency->n, memory_order_relaxed);
    double wanted = share * (double)n;
    uint64_t seen = 0;
    for (size_t i = 0; i < VV_LATENCY_BUCKETS; i++) {
        seen += atomic_load_explicit(&latency->counts[i], memory_order_relaxed);
        if (seen > 0 && (double)seen >= wanted) {
            return bucket_end(i);
        }
    }
    return 0;
}
