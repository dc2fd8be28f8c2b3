/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that outgrow their plans are noticed, and only those. */
#include "flush/load.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START (20000 * VV_DAY)

static struct vv_load *create(void)
{
    struct vv_load *load;
    assert_int_equal(vv_load_create(&load), VV_OK);
    return load;
}

static struct vv_load_rows day_rows(uint32_t source, int64_t from, int64_t to, uint64_t rows)
{
    return (struct vv_load_rows){
        .source = source,
        .bucket = {.start = vv_time_floor(from, VV_DAY),
                   .end = vv_time_floor(from, VV_DAY) + VV_DAY,
                   .bucket_ns = VV_DAY,
                   .span_ns = VV_HOUR,
                   .splits = 1},
        .first_ns = from,
        .last_ns = to,
        .rows = rows,
        .values = rows,
        .bytes = rows,
    };
}

static size_t count(struct vv_load *load)
{
    struct vv_load_source source;
    size_t n = 0;
    while (vv_load_next(load, &source)) {
        n++;
    }
    return n;
}

static void a_bucket_that_stays_within_its_plan_is_not_noticed(void **state)
{
    (void)state;
    struct vv_load *load = create();
    for (int64_t hour = 0; hour < 24; hour++) { /* 48,000 a day */
        struct vv_load_rows rows =
            day_rows(7, START + hour * VV_HOUR, START + (hour + 1) * VV_HOUR - 1, 2000);
        vv_load_add(load, &rows);
    }
    assert_int_equal(count(load), 0);
    vv_load_destroy(load);
}

static void a_pace_that_is_too_fast_is_noticed_before_the_bucket_is_full(void **state)
{
    (void)state;
    struct vv_load *load = create();
    struct vv_load_source seen;
    uint64_t written = 0;
    for (int64_t i = 0; i < 60 && !vv_load_next(load, &seen); i++) { /* one each 100 ms */
        struct vv_load_rows rows =
            day_rows(7, START + i * VV_MINUTE, START + (i + 1) * VV_MINUTE - 1, 600);
        vv_load_add(load, &rows);
        written += 600;
    }
    assert_int_equal(seen.source, 7);
    assert_int_equal(seen.rows, written);
    assert_true(written < VV_SPLIT_LOAD_MAX / 4);
    assert_int_equal(count(load), 0); /* not again at once */
    vv_load_destroy(load);
}

static void it_is_noticed_again_when_it_has_twice_as_much(void **state)
{
    (void)state;
    struct vv_load *load = create();
    struct vv_load_rows rows = day_rows(7, START, START + VV_HOUR, VV_SPLIT_LOAD_MAX + 1);
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 1);
    rows.rows = VV_SPLIT_LOAD_MAX / 2;
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 0);
    vv_load_add(load, &rows);
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 1);
    vv_load_destroy(load);
}

/* 40 MiB, and 100,000 single values. */
static void wide_rows_and_single_values_weigh_more(void **state)
{
    (void)state;
    struct vv_load *load = create();
    struct vv_load_rows rows = day_rows(7, START, START + VV_DAY - 1, 20000);
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 0);
    rows.source = 8;
    rows.bytes = 41 << 20;
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 1);
    rows.source = 9;
    rows.bytes = 20000;
    rows.values = 101000;
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 0); /* kept as columns */
    rows.source = 10;
    rows.values_max = 100000;
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 1);
    vv_load_destroy(load);
}

static void splits_share_the_load(void **state)
{
    (void)state;
    struct vv_load *load = create();
    struct vv_load_rows rows = day_rows(7, START, START + VV_DAY - 1, 3 * VV_SPLIT_LOAD_MAX);
    rows.bucket.splits = 4;
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 0);
    vv_load_add(load, &rows);
    assert_int_equal(count(load), 1);
    vv_load_destroy(load);
}

/* Thousands of idle sources do not hide a busy one, nor does what comes late. */
static void a_busy_source_is_found_among_many(void **state)
{
    (void)state;
    struct vv_load *load = create();
    struct vv_load_source seen = {0};
    bool found = false;
    for (int64_t i = 0; i < 200 && !found; i++) {
        for (uint32_t source = 100; source < 6100; source++) {
            struct vv_load_rows idle =
                day_rows(source, START + i * VV_MINUTE, START + i * VV_MINUTE, 1);
            vv_load_add(load, &idle);
        }
        struct vv_load_rows busy =
            day_rows(7, START + i * VV_MINUTE, START + (i + 1) * VV_MINUTE - 1, 6000);
        struct vv_load_rows late = day_rows(7, START - VV_DAY, START - VV_DAY, 1);
        vv_load_add(load, &busy);
        vv_load_add(load, &late);
        found = vv_load_next(load, &seen);
    }
    assert_true(found);
    assert_int_equal(seen.source, 7);
    assert_int_equal(seen.bucket_start, START);
    vv_load_destroy(load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bucket_that_stays_within_its_plan_is_not_noticed),
        cmocka_unit_test(a_pace_that_is_too_fast_is_noticed_before_the_bucket_is_full),
        cmocka_unit_test(it_is_noticed_again_when_it_has_twice_as_much),
        cmocka_unit_test(wide_rows_and_single_values_weigh_more),
        cmocka_unit_test(splits_share_the_load),
        cmocka_unit_test(a_busy_source_is_found_among_many),
    };
    return cmocka_run_group_tests_name("flush/load", tests, NULL, NULL);
}
