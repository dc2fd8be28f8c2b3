/* SPDX-License-Identifier: Apache-2.0 */
/* What records of a tier cover of a range. */
#include "tier/cover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

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

/* The stretches of [from, to) as text: "10-20:7" a covered one, "20-30" another. */
static void assert_stretches(const struct vv_cover *cover, int64_t step, int64_t from, int64_t to,
                             const char *wanted)
{
    char text[512] = "";
    size_t n = 0;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_cover_their_units),
        cmocka_unit_test(what_is_stale_covers_nothing),
        cmocka_unit_test(a_part_of_a_record_covers_whole_steps),
        cmocka_unit_test(a_unit_may_end_within_a_step),
        cmocka_unit_test(of_records_that_overlap_one_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
