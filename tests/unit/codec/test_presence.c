/* SPDX-License-Identifier: Apache-2.0 */
/* Presence: the smallest kind is chosen, all kinds come back, hostile runs are refused. */
#include "codec/presence.h"

#include "shapes.h"

#define ROWS_MAX 700u

static void round_trip(const uint8_t *bitmap, size_t n_rows)
{
    uint8_t bytes[ROWS_MAX / 8 + 1];
    uint8_t *read = exact_array(vv_presence_bitmap_size(n_rows), 1);
    size_t n_present = 0;
    struct vv_presence_plan plan = vv_presence_plan(bitmap, n_rows);
    struct vv_writer writer = {bytes, bytes + vv_presence_bitmap_size(n_rows), false};
    vv_presence_write(plan.kind, bitmap, n_rows, &writer);
    assert_false(writer.overflowed);
    struct vv_reader reader = {bytes, writer.at, false};
    assert_true(vv_presence_read(plan.kind, &reader, n_rows, read, &n_present));
    assert_ptr_equal(reader.at, reader.end);
    assert_int_equal(n_present, plan.n_present);
    for (size_t i = 0; i < n_rows; i++) {
        assert_int_equal(is_present(read, i), is_present(bitmap, i));
    }
    free(read);
}

static void every_absence_and_count(void **state)
{
    (void)state;
    struct vv_random random = {51};
    for (int absence = 0; absence < ABSENCE_END; absence++) {
        for (size_t n_rows = 1; n_rows <= ROWS_MAX; n_rows++) {
            uint8_t *bitmap = make_presence((enum absence)absence, &random, n_rows);
            round_trip(bitmap, n_rows);
            free(bitmap);
        }
    }
}

static void the_smallest_kind_is_chosen(void **state)
{
    (void)state;
    struct vv_random random = {52};
    const enum vv_presence expected[ABSENCE_END] = {
        [ABSENCE_NONE] = VV_PRESENCE_ALL,    [ABSENCE_SOME] = VV_PRESENCE_BITMAP,
        [ABSENCE_MOST] = VV_PRESENCE_BITMAP, [ABSENCE_HALF] = VV_PRESENCE_RUNS,
        [ABSENCE_ALL] = VV_PRESENCE_NONE,
    };
    for (int absence = 0; absence < ABSENCE_END; absence++) {
        uint8_t *bitmap = make_presence((enum absence)absence, &random, ROWS_MAX);
        assert_int_equal(vv_presence_plan(bitmap, ROWS_MAX).kind, expected[absence]);
        free(bitmap);
    }
    assert_int_equal(vv_presence_plan(NULL, 9).kind, VV_PRESENCE_ALL);
}

static void gather_and_scatter(void **state)
{
    (void)state;
    struct vv_random random = {53};
    uint64_t values[ROWS_MAX];
    uint64_t moved[ROWS_MAX];
    for (size_t n_rows = 1; n_rows <= ROWS_MAX; n_rows += 13) {
        uint8_t *bitmap = make_presence(ABSENCE_SOME, &random, n_rows);
        size_t n_present = vv_presence_plan(bitmap, n_rows).n_present;
        fill_shape(SHAPE_INT_RANDOM_BITS, &random, n_rows, values);
        vv_presence_gather(bitmap, n_rows, values, moved);
        vv_presence_scatter(bitmap, n_rows, n_present, moved);
        for (size_t i = 0; i < n_rows; i++) {
            assert_true(!is_present(bitmap, i) || moved[i] == values[i]);
        }
        free(bitmap);
    }
}

static void hostile_bytes_are_refused(void **state)
{
    (void)state;
    uint8_t read[2];
    size_t n_present;
    const uint8_t too_long[] = {5, 5}; /* of nine rows */
    struct vv_reader runs = {too_long, too_long + 2, false};
    assert_false(vv_presence_read(VV_PRESENCE_RUNS, &runs, 9, read, &n_present));
    const uint8_t endless[] = {0, 0, 0, 0};
    struct vv_reader zeros = {endless, endless + 4, false};
    assert_false(vv_presence_read(VV_PRESENCE_RUNS, &zeros, 9, read, &n_present));
    const uint8_t behind[] = {0xff, 0x02};
    struct vv_reader bitmap = {behind, behind + 2, false};
    assert_false(vv_presence_read(VV_PRESENCE_BITMAP, &bitmap, 9, read, &n_present));
    struct vv_reader shorter = {behind, behind + 1, false};
    assert_false(vv_presence_read(VV_PRESENCE_BITMAP, &shorter, 9, read, &n_present));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_absence_and_count),
        cmocka_unit_test(the_smallest_kind_is_chosen),
        cmocka_unit_test(gather_and_scatter),
        cmocka_unit_test(hostile_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
