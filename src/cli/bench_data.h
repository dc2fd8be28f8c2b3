/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generated telemetry in the shape of TSBS's cpu-only load: hosts with ten tags report ten metrics
 * of their CPU together, each a random walk between 0 and 100. The same seed gives the same bytes.
 * One thread at a time.
 */
#ifndef VV_CLI_BENCH_DATA_H
#define VV_CLI_BENCH_DATA_H

#include "base/bytes.h"
#include "base/random.h"

#define VV_BENCH_METRICS 10

struct vv_bench_host;

struct vv_bench_data {
    struct vv_bench_host *hosts;
    size_t n;
    bool whole; /* values are whole numbers, else floating point */
    struct vv_random random;
    size_t next;     /* host to report */
    int64_t time_ns; /* of the present round of reports */
    int64_t interval_ns;
};

VV_MUST_CHECK enum vv_status vv_bench_data_init(struct vv_bench_data *data, size_t hosts,
                                                int64_t start_ns, int64_t interval_ns, bool whole,
                                                uint64_t seed);
void vv_bench_data_deinit(struct vv_bench_data *data);

/* Appends the next line, without newline; the size of its series. Check the buffer's status. */
size_t vv_bench_data_append(struct vv_bench_data *data, struct vv_buffer *buffer);

#endif
