/* SPDX-License-Identifier: Apache-2.0 */
/* When a span is due, and whether it is quiet. */
#include "seal/ledger.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct vv_ledger_rule rule = {
    .lateness_ns = 5 * VV_MINUTE, .quiet_ns = 30 * VV_SECOND, .overdue_ns = 10 * VV_MINUTE};

static struct vv_span_key key_of(uint32_t source)
{
    return (struct vv_span_key){.partition = {.source = source, .bucket_ns = VV_DAY},
                                .span_start = 100 * VV_HOUR};
}

static void due_after_end_and_lateness_spread_over_a_span(void **state)
{
    (void)state;
    int64_t earliest = INT64_MAX;
    int64_t latest = 0;
    for (uint32_t source = 0; source < 1000; source++) {
        struct vv_span_key key = key_of(source);
        struct vv_mark mark = vv_ledger_mark(&rule, &key, VV_HOUR, 1);
        struct vv_mark again = vv_ledger_mark(&rule, &key, VV_HOUR, 99);
        assert_int_equal(mark.due_ns, again.due_ns); /* a new run renews the same mark */
        earliest = mark.due_ns < earliest ? mark.due_ns : earliest;
        latest = mark.due_ns > latest ? mark.due_ns : latest;
    }
    int64_t end = 101 * VV_HOUR + 5 * VV_MINUTE;
    assert_in_range(earliest, end, end + VV_MINUTE);
    assert_in_range(latest, end + VV_HOUR - VV_MINUTE, end + VV_HOUR);
}

static struct vv_mark mark_at(int64_t run_ns)
{
    struct vv_span_key key = key_of(1);
    struct vv_mark mark =
        vv_ledger_mark(&rule, &key, VV_HOUR, vv_stamp_make((uint64_t)(run_ns / 1000), 0));
    mark.due_ns = 200 * VV_HOUR;
    return mark;
}

static void quiet_after_the_last_run(void **state)
{
    (void)state;
    int64_t now = 200 * VV_HOUR + VV_MINUTE;
    struct vv_mark fresh = mark_at(now - 29 * VV_SECOND);
    struct vv_mark old = mark_at(now - 31 * VV_SECOND);
    assert_false(vv_ledger_quiet(&rule, &fresh, now));
    assert_true(vv_ledger_quiet(&rule, &old, now));
}

static void overdue_is_sealed_although_runs_keep_coming(void **state)
{
    (void)state;
    int64_t now = 200 * VV_HOUR + 11 * VV_MINUTE;
    struct vv_mark fresh = mark_at(now - VV_SECOND);
    assert_true(vv_ledger_quiet(&rule, &fresh, now));
}

static void late_points_are_folded_at_a_set_time(void **state)
{
    (void)state;
    struct vv_ledger_rule daily = {.fold_every_ns = VV_DAY, .fold_at_ns = 2 * VV_HOUR};
    int64_t midnight = 20000 * VV_DAY;
    assert_int_equal(vv_ledger_fold(&daily, midnight), midnight + 2 * VV_HOUR);
    assert_int_equal(vv_ledger_fold(&daily, midnight + 2 * VV_HOUR - 1), midnight + 2 * VV_HOUR);
    assert_int_equal(vv_ledger_fold(&daily, midnight + 2 * VV_HOUR),
                     midnight + VV_DAY + 2 * VV_HOUR);
    struct vv_ledger_rule often = {.fold_every_ns = VV_HOUR, .fold_at_ns = 90 * VV_MINUTE};
    assert_int_equal(vv_ledger_fold(&often, midnight), midnight + 30 * VV_MINUTE);
    assert_int_equal(vv_ledger_fold(&often, -1), 30 * VV_MINUTE);
}

static void a_span_of_long_ago_is_overdue(void **state)
{
    (void)state;
    int64_t now = INT64_C(1800000000) * VV_SECOND;
    struct vv_mark fresh = mark_at(now - VV_SECOND);
    fresh.due_ns = -INT64_C(9000000000) * VV_SECOND; /* further from now than an int64 says */
    assert_true(vv_ledger_quiet(&rule, &fresh, now));
}

static void a_clock_that_went_back_holds_nothing_up(void **state)
{
    (void)state;
    int64_t now = 200 * VV_HOUR + VV_MINUTE;
    struct vv_mark future = mark_at(now + VV_DAY);
    assert_true(vv_ledger_quiet(&rule, &future, now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(due_after_end_and_lateness_spread_over_a_span),
        cmocka_unit_test(quiet_after_the_last_run),
        cmocka_unit_test(overdue_is_sealed_although_runs_keep_coming),
        cmocka_unit_test(late_points_are_folded_at_a_set_time),
        cmocka_unit_test(a_span_of_long_ago_is_overdue),
        cmocka_unit_test(a_clock_that_went_back_holds_nothing_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
