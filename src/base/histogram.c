/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms with buckets that quadruple. */
#include "base/histogram.h"

#define DURATION_FIRST_NS UINT64_C(64000)

static void add(struct vv_histogram *histogram, uint64_t value, uint64_t first)
{
    size_t bucket = 0;
    for (uint64_t bound = first; bucket + 1 < VV_HISTOGRAM_BUCKETS && value > bound; bound *= 4) {
        bucket++;
    }
    atomic_fetch_add_explicit(&histogram->buckets[bucket], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&histogram->sum, value, memory_order_relaxed);
}

void vv_histogram_add_duration(struct vv_histogram *histogram, int64_t duration_ns)
{
    add(histogram, duration_ns > 0 ? (uint64_t)duration_ns : 0, DURATION_FIRST_NS);
}

void vv_histogram_add_count(struct vv_histogram *histogram, uint64_t count)
{
    add(histogram, count, 1);
}

static void write_all(const struct vv_histogram *histogram, const char *name, const char *labels,
                      uint64_t first, double unit, struct vv_buffer *buffer)
{
    const char *comma = labels[0] ? "," : "";
    uint64_t total = 0;
    double bound = (double)first * unit;
    for (size_t i = 0; i < VV_HISTOGRAM_BUCKETS; i++, bound *= 4) {
        total += atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
        if (i + 1 < VV_HISTOGRAM_BUCKETS) {
            vv_buffer_format(buffer, "%s_bucket{%s%sle=\"%.9g\"} %llu\n", name, labels, comma,
                             bound, (unsigned long long)total);
        } else {
            vv_buffer_format(buffer, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, comma,
                             (unsigned long long)total);
        }
    }
    double sum = (double)atomic_load_explicit(&histogram->sum, memory_order_relaxed) * unit;
    const char *open = labels[0] ? "{" : "";
    const char *close = labels[0] ? "}" : "";
    vv_buffer_format(buffer, "%s_sum%s%s%s %.9g\n", name, open, labels, close, sum);
    vv_buffer_format(buffer, "%s_count%s%s%s %llu\n", name, open, labels, close,
                     (unsigned long long)total);
}

void vv_histogram_write_durations(const struct vv_histogram *histogram, const char *name,
                                  const char *labels, struct vv_buffer *buffer)
{
    write_all(histogram, name, labels, DURATION_FIRST_NS, 1e-9, buffer);
}

void vv_histogram_write_counts(const struct vv_histogram *histogram, const char *name,
                               const char *labels, struct vv_buffer *buffer)
{
    write_all(histogram, name, labels, 1, 1, buffer);
}
