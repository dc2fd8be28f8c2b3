/* SPDX-License-Identifier: Apache-2.0 */
/* What records of a tier cover of a range. */
#include "tier/cover.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SEED 8821

static struct vv_unit unit(int64_t from, int64_t to)
{
    return (struct vv_unit){from, to};
}

static void add(struct vv_cover *cover, int64_t from, int64_t to, uint32_t tag)
{
    struct vv_unit added = unit(from, to);
    assert_int_equal(vv_cover_add(cover, &added, tag), VV_OK);
}

static void stale(struct vv_cover *cover, int64_t from, int64_t to)
{
    struct vv_unit added = unit(from, to);
    assert_int_equal(vv_cover_add_stale(cover, &added), VV_OK);
}

/* Backwards there are the same stretches as forwards. */
static void assert_same_backwards(const struct vv_cover *cover, int64_t step, int64_t from,
                                  int64_t to)
{
    struct vv_stretch stretches[64];
    size_t n = 0;
    for (int64_t at = from; at < to; at = stretches[n++].to) {
        assert_true(n < 64);
        stretches[n] = vv_cover_next(cover, step, at, to);
    }
    while (n > 0) {
        const struct vv_stretch *next = &stretches[--n];
        struct vv_stretch last = vv_cover_last(cover, step, from, to);
        assert_true(last.from == next->from && last.to == next->to);
        assert_int_equal(last.is_covered, next->is_covered);
        assert_int_equal(last.tag, next->tag);
        to = last.from;
    }
    assert_true(to == from);
}

/* The stretches of [from, to) as text: "10-20:7" a covered one, "20-30" another. */
static void assert_stretches(const struct vv_cover *cover, int64_t step, int64_t from, int64_t to,
                             const char *wanted)
{
    char text[512] = "";
    size_t n = 0;
    assert_same_backwards(cover, step, from, to);
    while (from < to) {
        struct vv_stretch stretch = vv_cover_next(cover, step, from, to);
        assert_int_equal(stretch.from, from);
        assert_true(stretch.to > from && stretch.to <= to);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d-%d", n ? " " : "", (int)stretch.from,
                              (int)stretch.to);
        if (stretch.is_covered) {
            n += (size_t)snprintf(text + n, sizeof text - n, ":%u", stretch.tag);
        }
        from = stretch.to;
    }
    assert_string_equal(text, wanted);
}

static void records_cover_their_units(void **state)
{
    (void)state;
    struct vv_cover cover = {0};
    vv_cover_settle(&cover);
    assert_stretches(&cover, 10, 5, 95, "5-95");
    add(&cover, 60, 80, 3);
    add(&cover, 20, 40, 1);
    add(&cover, 40, 60, 2);
    vv_cover_settle(&cover);
    assert_stretches(&cover, 10, 0, 100, "0-20 20-40:1 40-60:2 60-80:3 80-100");
    assert_stretches(&cover, 10, 20, 80, "20-40:1 40-60:2 60-80:3");
    vv_cover_deinit(&cover);
}

static void what_is_stale_covers_nothing(void **state)
{
    (void)state;
    struct vv_cover cover = {0};
    add(&cover, 0, 20, 0);
    add(&cover, 20, 40, 1);
    add(&cover, 40, 60, 2);
    add(&cover, 60, 80, 3);
    stale(&cover, 70, 75);
    stale(&cover, 20, 40);
    stale(&cover, 25, 30);
    stale(&cover, 100, 120);
    vv_cover_settle(&cover);
    assert_stretches(&cover, 10, 0, 90, "0-20:0 20-40 40-60:2 60-90");
    vv_cover_clear(&cover);
    vv_cover_settle(&cover);
    assert_stretches(&cover, 10, 0, 90, "0-90");
    vv_cover_deinit(&cover);
}

static void a_part_of_a_record_covers_whole_steps(void **state)
{
    (void)state;
    struct vv_cover cover = {0};
    add(&cover, 20, 60, 1);
    add(&cover, 60, 100, 2);
    vv_cover_settle(&cover);
    assert_stretches(&cover, 10, 25, 88, "25-30 30-60:1 60-80:2 80-88");
    assert_stretches(&cover, 10, 31, 39, "31-39");
    assert_stretches(&cover, 0, 25, 88, "25-60:1 60-88:2");
    assert_stretches(&cover, 10, -15, 30, "-15-20 20-30:1");
    vv_cover_deinit(&cover);
}

/* A unit that a plan has cut has all of its last step that there is. */
static void a_unit_may_end_within_a_step(void **state)
{
    (void)state;
    struct vv_cover cover = {0};
    add(&cover, 20, 35, 1);
    add(&cover, 35, 60, 2);
    vv_cover_settle(&cover);
    assert_stretches(&cover, 10, 20, 60, "20-35:1 35-60:2");
    vv_cover_deinit(&cover);
}

static void of_records_that_overlap_one_counts(void **state)
{
    (void)state;
    struct vv_cover cover = {0};
    add(&cover, 0, 40, 1);
    add(&cover, 0, 40, 2);
    add(&cover, 20, 30, 3);
    add(&cover, 30, 60, 4);
    vv_cover_settle(&cover);
    assert_stretches(&cover, 10, 0, 60, "0-40:2 40-60");
    vv_cover_deinit(&cover);
}

/* Of units that begin and end anywhere, with gaps or without. */
static void stretches_are_the_same_from_either_end(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 20000; round++) {
        struct vv_cover cover = {0};
        int64_t at = (int64_t)vv_random_below(&random, 30) - 30;
        for (uint32_t i = 0; i < 8; i++) {
            int64_t length = 1 + (int64_t)vv_random_below(&random, 40);
            add(&cover, at, at + length, i);
            at += length + (int64_t)(vv_random_below(&random, 3) * vv_random_below(&random, 15));
        }
        vv_cover_settle(&cover);
        int64_t from = (int64_t)vv_random_below(&random, 200) - 50;
        int64_t to = from + (int64_t)vv_random_below(&random, 250);
        assert_same_backwards(&cover, vv_random_below(&random, 2) ? 10 : 0, from, to);
        vv_cover_deinit(&cover);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_cover_their_units),
        cmocka_unit_test(what_is_stale_covers_nothing),
        cmocka_unit_test(a_part_of_a_record_covers_whole_steps),
        cmocka_unit_test(a_unit_may_end_within_a_step),
        cmocka_unit_test(of_records_that_overlap_one_counts),
        cmocka_unit_test(stretches_are_the_same_from_either_end),
    };
    print_message("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
