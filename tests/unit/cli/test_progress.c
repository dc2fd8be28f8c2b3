/* SPDX-License-Identifier: Apache-2.0 */
/* The line of progress and the figures in it. */
#include "cli/progress.h"

#include "base/clock.h"
#include "cli/load_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect(struct vv_progress progress, struct vv_progress_state state, int64_t now,
                   size_t columns, bool utf8, const char *expected)
{
    struct vv_buffer out = {0};
    vv_progress_format(&progress, &state, now, columns, utf8, &out);
    vv_buffer_u8(&out, '\0');
    assert_string_equal((const char *)out.data, expected);
    vv_buffer_deinit(&out);
}

static void a_share_a_bar_and_what_is_left(void **state)
{
    (void)state;
    struct vv_progress progress = {.bytes_total = 1000, .rate = 1234567};
    struct vv_progress_state at = {.bytes = 500, .points = 7, .file = "a.csv", .trouble = ""};
    expect(progress, at, 10 * VV_SECOND, 100, true,
           " 50 % ██████████            1.23 M points/s  10 s left  a.csv");
    at.bytes = 12;
    expect(progress, at, 500 * VV_MILLISECOND, 100, true,
           "  1 % ▏                     1.23 M points/s  a.csv");
    expect(progress, at, 60 * VV_SECOND, 100, false,
           "  1 % ....................  1.23 M points/s  1 h 22 min left  a.csv");
    at.bytes = 333;
    expect(progress, at, 100 * VV_SECOND, 30, true, " 33 % ██████▋               1.");
    at.bytes = 2000;
    expect(progress, at, 60 * VV_SECOND, 100, false,
           "100 % ####################  1.23 M points/s  a.csv");
}

static void without_a_size_points_are_counted(void **state)
{
    (void)state;
    struct vv_progress progress = {.rate = 5};
    struct vv_progress_state at = {.bytes = 5, .points = 1234567, .file = "standard input"};
    expect(progress, at, VV_SECOND, 100, true, "1,234,567 points  5 points/s  standard input");
}

static void trouble_is_shown(void **state)
{
    (void)state;
    struct vv_progress progress = {.bytes_total = 10};
    struct vv_progress_state at = {.file = "f", .trouble = "the disk is full"};
    expect(progress, at, VV_SECOND, 100, false,
           "  0 % ....................  waiting: the disk is full");
}

static void counts_and_rates_are_short(void **state)
{
    (void)state;
    char out[VV_COUNT_TEXT_SIZE];
    assert_string_equal(vv_count_text(0, out), "0");
    assert_string_equal(vv_count_text(999, out), "999");
    assert_string_equal(vv_count_text(1000, out), "1,000");
    assert_string_equal(vv_count_text(UINT64_MAX, out), "18,446,744,073,709,551,615");
    assert_string_equal(vv_rate_text(0, out), "0");
    assert_string_equal(vv_rate_text(999.4, out), "999");
    assert_string_equal(vv_rate_text(999.6, out), "1.00 k");
    assert_string_equal(vv_rate_text(9994, out), "9.99 k");
    assert_string_equal(vv_rate_text(12345, out), "12.3 k");
    assert_string_equal(vv_rate_text(123456, out), "123 k");
    assert_string_equal(vv_rate_text(1e12, out), "1000 G");
}

static void it_is_off_when_it_should_be(void **state)
{
    (void)state;
    struct vv_progress progress;
    vv_progress_init(&progress, false, 10, 0);
    assert_false(vv_progress_is_due(&progress, VV_HOUR));
    vv_progress_init(&progress, true, 10, 0);
    assert_false(vv_progress_is_due(&progress, VV_MILLISECOND));
    assert_true(vv_progress_is_due(&progress, VV_SECOND));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_a_bar_and_what_is_left),
        cmocka_unit_test(without_a_size_points_are_counted),
        cmocka_unit_test(trouble_is_shown),
        cmocka_unit_test(counts_and_rates_are_short),
        cmocka_unit_test(it_is_off_when_it_should_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
