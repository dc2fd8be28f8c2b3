/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing chunks: what depends on the order in which values came is no difference. */
#include "tier/compare.h"

#include "base/bits.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START (INT64_C(1700000000) * VV_SECOND / VV_MINUTE * VV_MINUTE)

static void make(const double *values, size_t n, struct vv_buffer *bytes, struct vv_chunk *chunk)
{
    struct vv_step step = {0};
    const int64_t start = START;
    for (size_t i = 0; i < n; i++) {
        struct vv_step one = {0};
        int64_t time = START + (int64_t)i;
        uint64_t bits = vv_bits_of_double(values[i]);
        vv_step_add(VV_FLOAT64, VV_STEP_ALL, &one, &time, &bits, 1);
        vv_step_merge(VV_FLOAT64, VV_STEP_ALL, &step, &one);
    }
    const struct vv_chunk_metric metric = {.metric = 3, .type = VV_FLOAT64, .steps = &step};
    const struct vv_chunk_content content = {
        .step_ns = VV_MINUTE, .n_steps = 1, .starts = &start, .n_metrics = 1, .metrics = &metric};
    assert_int_equal(vv_chunk_encode(&content, 1, bytes, NULL), VV_OK);
    const struct vv_str text = {(const char *)bytes->data, bytes->size};
    assert_int_equal(vv_chunk_open(text, chunk, NULL), VV_OK);
}

/* What is said of two steps of so many values each; NULL: nothing. */
static const char *compare(const double *a, const double *b, size_t n)
{
    struct vv_buffer bytes[2] = {{0}, {0}};
    struct vv_chunk chunks[2];
    struct vv_comparison comparison;
    make(a, n, &bytes[0], &chunks[0]);
    make(b, n, &bytes[1], &chunks[1]);
    assert_int_equal(vv_chunk_compare(&chunks[0], 1, &chunks[1], 1, &comparison, NULL), VV_OK);
    vv_buffer_deinit(&bytes[0]);
    vv_buffer_deinit(&bytes[1]);
    return comparison.steps > 0 ? comparison.what : NULL;
}

static void what_depends_on_the_order_is_no_difference(void **state)
{
    (void)state;
    static const double cases[][2][5] = {
        {{1, 0.0, -0.0, 0.0, 1}, {1, -0.0, 0.0, 0.0, 1}},
        {{1, -0.0, 0.0, 0.0, 1}, {1, 0.0, 0.0, -0.0, 1}},
        {{1, 1e200, -1e200, 1e300, 1}, {1, 1e300, -1e200, 1e200, 1}},
        {{1, 1.5e308, 1.5e308, -1.5e308, 1}, {1, 1.5e308, -1.5e308, 1.5e308, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(compare(cases[i][0], cases[i][1], 5));
        assert_null(compare(cases[i][1], cases[i][0], 5));
    }
}

static void another_value_is_a_difference(void **state)
{
    (void)state;
    static const double a[4] = {1, 2, 3, 4};
    static const double other_min[4] = {1, 0.5, 4.5, 4};
    static const double other_last[4] = {1, 2, 4, 3};
    static const double other_sum[4] = {1, 2.5, 3, 4};
    assert_null(compare(a, a, 4));
    assert_string_equal(compare(a, other_min, 4), "min or max");
    assert_string_equal(compare(a, other_last, 4), "first or last");
    assert_string_equal(compare(a, other_sum, 4), "sum");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_depends_on_the_order_is_no_difference),
        cmocka_unit_test(another_value_is_a_difference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
