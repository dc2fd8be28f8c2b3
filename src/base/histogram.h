/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram for the metrics page: fixed buckets, each four times as wide as the one before, from
 * 64 µs to over an hour for durations, or from 1 to 16 M for counts. Any thread adds; the page is
 * written from a moment's values that may be torn by a few observations.
 */
#ifndef VV_BASE_HISTOGRAM_H
#define VV_BASE_HISTOGRAM_H

#include "base/bytes.h"

#include <stdatomic.h>
#include <stdint.h>

#define VV_HISTOGRAM_BUCKETS 14

/* Zero-initialised is empty. */
struct vv_histogram {
    _Atomic uint64_t buckets[VV_HISTOGRAM_BUCKETS]; /* not cumulative; the last is +Inf */
    _Atomic uint64_t sum;                           /* ns, or the counts */
};

void vv_histogram_add_duration(struct vv_histogram *histogram, int64_t duration_ns);
void vv_histogram_add_count(struct vv_histogram *histogram, uint64_t count);

/* Appends the series `name_bucket`, `name_sum`, `name_count` in Prometheus text format. `labels` is
 * "" or `key="value"` without braces. The lines HELP and TYPE are the caller's. Durations are
 * written in seconds. */
void vv_histogram_write_durations(const struct vv_histogram *histogram, const char *name,
                                  const char *labels, struct vv_buffer *buffer);
void vv_histogram_write_counts(const struct vv_histogram *histogram, const char *name,
                               const char *labels, struct vv_buffer *buffer);

#endif
