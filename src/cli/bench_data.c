/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts, their tags and their random walks. */
#include "cli/bench_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct vv_bench_host {
    char series[256]; /* measurement and tags */
    double values[VV_BENCH_METRICS];
};

#define METRIC_BYTES_MAX 48 /* of a name and its value */

static const char *const metrics[VV_BENCH_METRICS] = {
    "usage_user", "usage_system",  "usage_idle",  "usage_nice",  "usage_iowait",
    "usage_irq",  "usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice"};

static const char *pick(struct vv_random *random, const char *const *words, size_t n)
{
    return words[vv_random_below(random, n)];
}

static void make_host(struct vv_bench_data *data, size_t i)
{
    static const char *const regions[] = {"us-east-1",      "us-west-1",      "us-west-2",
                                          "eu-west-1",      "eu-central-1",   "ap-southeast-1",
                                          "ap-southeast-2", "ap-northeast-1", "sa-east-1"};
    static const char *const systems[] = {"Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"};
    static const char *const architectures[] = {"x64", "x86"};
    static const char *const teams[] = {"SF", "NYC", "LON", "CHI"};
    static const char *const environments[] = {"production", "staging", "test"};
    struct vv_random *random = &data->random;
    struct vv_bench_host *host = &data->hosts[i];
    const char *region = pick(random, regions, 9);
    snprintf(host->series, sizeof host->series,
             "cpu,hostname=host_%zu,region=%s,datacenter=%s%c,rack=%d,os=%s,arch=%s,team=%s,"
             "service=%d,service_version=%d,service_environment=%s",
             i, region, region, (char)('a' + vv_random_below(random, 3)),
             (int)vv_random_below(random, 100), pick(random, systems, 3),
             pick(random, architectures, 2), pick(random, teams, 4),
             (int)vv_random_below(random, 20), (int)vv_random_below(random, 2),
             pick(random, environments, 3));
    for (size_t metric = 0; metric < VV_BENCH_METRICS; metric++) {
        host->values[metric] = vv_random_unit(random) * 100;
    }
}

enum vv_status vv_bench_data_init(struct vv_bench_data *data, size_t hosts, int64_t start_ns,
                                  int64_t interval_ns, bool whole, uint64_t seed)
{
    *data = (struct vv_bench_data){
        .hosts = calloc(hosts, sizeof *data->hosts),
        .n = hosts,
        .whole = whole,
        .random = {seed},
        .time_ns = start_ns,
        .interval_ns = interval_ns,
    };
    if (!data->hosts) {
        return VV_NO_MEMORY;
    }
    for (size_t i = 0; i < hosts; i++) {
        make_host(data, i);
    }
    return VV_OK;
}

void vv_bench_data_deinit(struct vv_bench_data *data)
{
    free(data->hosts);
    *data = (struct vv_bench_data){0};
}

/* A step of a walk: nearly normal with deviation 1, the sum of four uniform numbers. */
static double walk(struct vv_random *random, double value)
{
    double step = 0;
    for (int i = 0; i < 4; i++) {
        step += vv_random_unit(random) - 0.5;
    }
    value += step * 1.7320508;
    return value < 0 ? 0 : value > 100 ? 100 : value;
}

/* 0 to 100 without printf, which would cost more than the server's work. */
static size_t put_whole(char *out, unsigned value)
{
    size_t size = 0;
    if (value >= 100) {
        out[size++] = (char)('0' + value / 100);
    }
    if (value >= 10) {
        out[size++] = (char)('0' + value / 10 % 10);
    }
    out[size++] = (char)('0' + value % 10);
    out[size++] = 'i';
    return size;
}

static size_t put_value(const struct vv_bench_data *data, char *out, const char *name, double value)
{
    size_t size = (size_t)(stpcpy(out, name) - out);
    out[size++] = '=';
    if (data->whole) {
        return size + put_whole(out + size, (unsigned)value);
    }
    int written = snprintf(out + size, METRIC_BYTES_MAX - size, "%.15g", value);
    return size + (written > 0 ? (size_t)written : 0);
}

size_t vv_bench_data_append(struct vv_bench_data *data, struct vv_buffer *buffer)
{
    struct vv_bench_host *host = &data->hosts[data->next];
    size_t series_size = strlen(host->series);
    vv_buffer_append(buffer, host->series, series_size);
    char *out = (char *)vv_buffer_reserve(buffer, (METRIC_BYTES_MAX + 1) * VV_BENCH_METRICS);
    for (size_t i = 0; out && i < VV_BENCH_METRICS; i++) {
        host->values[i] = walk(&data->random, host->values[i]);
        *out = i ? ',' : ' ';
        size_t size = 1 + put_value(data, out + 1, metrics[i], host->values[i]);
        out += size;
        buffer->size += size;
    }
    vv_buffer_format(buffer, " %" PRId64, data->time_ns);
    data->next++;
    if (data->next == data->n) {
        data->next = 0;
        data->time_ns += data->interval_ns;
    }
    return series_size;
}
