/* SPDX-License-Identifier: Apache-2.0 */
/* Generated telemetry is the same for a seed and within its bounds; latencies are counted right. */
#include "cli/bench_data.h"

#include "base/clock.h"
#include "cli/latency.h"
#include "cli/line_scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void generate(uint64_t seed, bool whole, size_t lines, struct vv_buffer *out)
{
    struct vv_bench_data data;
    assert_int_equal(vv_bench_data_init(&data, 3, 1000, 10, whole, seed), VV_OK);
    for (size_t i = 0; i < lines; i++) {
        size_t before = out->size;
        size_t series = vv_bench_data_append(&data, out);
        struct vv_line_scan scan;
        struct vv_str line = {(const char *)out->data + before, out->size - before};
        assert_true(vv_line_scan(line, true, &scan));
        assert_int_equal(scan.fields, VV_BENCH_METRICS);
        assert_int_equal(scan.series_size, series);
        assert_int_equal(scan.size, line.size);
        assert_true(scan.timed);
        char time[32];
        snprintf(time, sizeof time, " %zu", 1000 + i / 3 * 10);
        assert_memory_equal(line.data + line.size - strlen(time), time, strlen(time));
        vv_buffer_u8(out, '\n');
    }
    vv_bench_data_deinit(&data);
}

static void a_seed_gives_the_same_points(void **state)
{
    (void)state;
    struct vv_buffer a = {0};
    struct vv_buffer b = {0};
    struct vv_buffer c = {0};
    generate(5, true, 100, &a);
    generate(5, true, 100, &b);
    generate(6, true, 100, &c);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    assert_true(a.size != c.size || memcmp(a.data, c.data, a.size) != 0);
    vv_buffer_deinit(&a);
    vv_buffer_deinit(&b);
    vv_buffer_deinit(&c);
}

static void values_are_percentages(void **state)
{
    (void)state;
    struct vv_buffer out = {0};
    generate(7, false, 2000, &out);
    vv_buffer_u8(&out, '\0');
    size_t values = 0;
    for (char *at = (char *)out.data; (at = strstr(at, "usage_")); values++) {
        at = strchr(at, '=') + 1;
        double value = strtod(at, NULL);
        assert_true(value >= 0 && value <= 100);
    }
    assert_int_equal(values, 2000 * VV_BENCH_METRICS);
    vv_buffer_deinit(&out);
}

static void quantiles_are_within_a_bucket(void **state)
{
    (void)state;
    struct vv_latency *latency = calloc(1, sizeof *latency);
    assert_non_null(latency);
    assert_int_equal(vv_latency_quantile(latency, 0.5), 0);
    for (int64_t i = 1; i <= 1000; i++) {
        vv_latency_add(latency, i * 1000003);
    }
    static const double shares[] = {0.001, 0.5, 0.99, 1};
    for (size_t i = 0; i < 4; i++) {
        double exact = shares[i] * 1000 * 1000003;
        double found = (double)vv_latency_quantile(latency, shares[i]);
        assert_true(found >= exact * 0.999 && found <= exact * 1.04);
    }
    vv_latency_add(latency, -5);
    assert_int_equal(vv_latency_quantile(latency, 0), 0);
    vv_latency_add(latency, INT64_MAX);
    assert_true(vv_latency_quantile(latency, 1) > 1000 * VV_SECOND);
    free(latency);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_the_same_points),
        cmocka_unit_test(values_are_percentages),
        cmocka_unit_test(quantiles_are_within_a_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
