/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding: what is refused, how much space it takes, and that small and typical blocks are small.
 */
#include "codec/block.h"

#include "shapes.h"

static void wrong_rows_are_refused(void **state)
{
    (void)state;
    struct vv_random random = {101};
    struct vv_rows rows = make_rows(4, 1, TIMING_REGULAR, STAMPING_EACH, &random);
    set_column(&rows, 0, 1, SHAPE_CONSTANT, ABSENCE_NONE, &random);
    struct vv_block_options options = {0, false};
    size_t capacity = vv_block_bound(&rows);
    uint8_t *out = exact_array(capacity, 1);
    size_t size = 1;
    struct vv_rows none = rows;
    none.n_rows = 0;
    assert_int_equal(vv_block_encode(&none, &options, out, capacity, &size), VV_BLOCK_INVALID);
    assert_int_equal(size, 0);
    struct vv_rows many = rows;
    many.n_rows = VV_BLOCK_ROWS_MAX + 1;
    assert_int_equal(vv_block_encode(&many, &options, out, capacity, &size), VV_BLOCK_INVALID);
    assert_true(vv_block_bound(&many) == SIZE_MAX);
    struct vv_rows wide = rows;
    wide.n_columns = VV_BLOCK_COLUMNS_MAX + 1;
    assert_int_equal(vv_block_encode(&wide, &options, out, capacity, &size), VV_BLOCK_INVALID);
    assert_true(vv_block_bound(&wide) == SIZE_MAX);
    struct vv_block_options level = {20, false};
    assert_int_equal(vv_block_encode(&rows, &level, out, capacity, &size), VV_BLOCK_INVALID);
    level.zstd_level = -1;
    assert_int_equal(vv_block_encode(&rows, &level, out, capacity, &size), VV_BLOCK_INVALID);
    rows.columns[0].type = (enum vv_value_type)2;
    assert_int_equal(vv_block_encode(&rows, &options, out, capacity, &size), VV_BLOCK_INVALID);
    free(out);
    free_rows(&rows);
}

static void rows_out_of_order_are_refused(void **state)
{
    (void)state;
    struct vv_random random = {102};
    struct vv_rows rows = make_rows(3, 0, TIMING_REGULAR, STAMPING_ONE, &random);
    struct vv_block_options options = {0, false};
    uint8_t out[500];
    size_t size;
    rows.times[1] = rows.times[0];
    assert_int_equal(vv_block_encode(&rows, &options, out, sizeof out, &size), VV_BLOCK_OK);
    rows.stamps[0]++; /* the same time with a lower stamp */
    assert_int_equal(vv_block_encode(&rows, &options, out, sizeof out, &size), VV_BLOCK_INVALID);
    rows.times[1]++;
    assert_int_equal(vv_block_encode(&rows, &options, out, sizeof out, &size), VV_BLOCK_OK);
    rows.times[2] = rows.times[1] - 1;
    assert_int_equal(vv_block_encode(&rows, &options, out, sizeof out, &size), VV_BLOCK_INVALID);
    free_rows(&rows);
}

static void every_capacity_is_respected(void **state)
{
    (void)state;
    struct vv_random random = {103};
    struct vv_block_options options = {3, true};
    struct vv_rows rows = make_all_shapes(70, TIMING_JITTER, STAMPING_RUNS, ABSENCE_SOME, &random);
    struct encoded encoded = encode_rows(&rows, options.zstd_level, options.with_stats);
    for (size_t capacity = 0; capacity <= encoded.size; capacity++) {
        uint8_t *out = exact_array(capacity, 1);
        size_t size = 1;
        enum vv_block_status status = vv_block_encode(&rows, &options, out, capacity, &size);
        if (capacity < encoded.size) {
            assert_int_equal(status, VV_BLOCK_TOO_SMALL);
            assert_int_equal(size, 0);
        } else {
            assert_int_equal(status, VV_BLOCK_OK);
            assert_memory_equal(out, encoded.bytes, size);
        }
        free(out);
    }
    free(encoded.bytes);
    free_rows(&rows);
}

/* Values that nothing makes smaller still fit the bound, at any count and level. */
static void the_bound_is_enough(void **state)
{
    (void)state;
    static const enum shape worst[] = {SHAPE_RANDOM_BITS, SHAPE_EXTREME_DOUBLES,
                                       SHAPE_INT_RANDOM_BITS, SHAPE_INT_EXTREMES};
    struct vv_random random = {104};
    for (size_t n_rows = 1; n_rows < 300; n_rows += 7) {
        for (int level = 0; level <= 3; level += 3) {
            struct vv_rows rows = make_rows(n_rows, 4, TIMING_DUPLICATES, STAMPING_RANDOM, &random);
            for (size_t i = 0; i < 4; i++) {
                uint32_t metric = (uint32_t)vv_random_next(&random);
                enum absence absence = i % 2 == 0 ? ABSENCE_NONE : ABSENCE_SOME;
                set_column(&rows, i, metric, worst[i], absence, &random);
            }
            struct encoded encoded = encode_rows(&rows, level, true);
            assert_true(encoded.size <= vv_block_bound(&rows));
            assert_block_equal(&encoded, &rows);
            free(encoded.bytes);
            free_rows(&rows);
        }
    }
}

static size_t size_of(size_t n_rows, size_t n_columns, enum shape shape, int level)
{
    struct vv_random random = {105};
    struct vv_rows rows = make_rows(n_rows, n_columns, TIMING_REGULAR, STAMPING_ONE, &random);
    for (size_t i = 0; i < n_columns; i++) {
        set_column(&rows, i, (uint32_t)(5000 + i), shape, ABSENCE_NONE, &random);
    }
    struct encoded encoded = encode_rows(&rows, level, false);
    assert_block_equal(&encoded, &rows);
    free(encoded.bytes);
    free_rows(&rows);
    return encoded.size;
}

static void small_runs_are_small(void **state)
{
    (void)state;
    /* Nothing to gain: eight bytes a value, under three bytes a column, and the frame. */
    for (size_t n_rows = 1; n_rows <= 4; n_rows++) {
        assert_true(size_of(n_rows, 10, SHAPE_RANDOM_BITS, 0) <= 8 * 10 * n_rows + 3 * 10 + 45);
        assert_true(size_of(n_rows, 1, SHAPE_RANDOM_BITS, 0) <= 8 * n_rows + 50);
    }
    assert_true(size_of(1, 10, SHAPE_DECIMAL_NOISE, 0) <= 10 * 6 + 45);
    assert_true(size_of(4, 10, SHAPE_DECIMAL_NOISE, 0) <= 10 * 12 + 45);
}

static void typical_columns_are_small(void **state)
{
    (void)state;
    assert_true(size_of(360, 10, SHAPE_CONSTANT, 0) <= 120);
    assert_true(size_of(360, 10, SHAPE_INT_COUNTER, 0) <= 200);
    assert_true(size_of(360, 10, SHAPE_DECIMAL_WALK, 0) <= 3600 * 5 / 10);
    assert_true(size_of(360, 10, SHAPE_DECIMAL_NOISE, 0) <= 3600 * 13 / 10);
    assert_true(size_of(360, 10, SHAPE_AVERAGES, 0) <= 3600 * 25 / 10);
    assert_true(size_of(360, 10, SHAPE_SINGLES, 0) <= 3600 * 3);
    assert_true(size_of(360, 10, SHAPE_SINGLE_DECIMALS, 0) <= 3600 * 11 / 10);
    assert_true(size_of(360, 10, SHAPE_RANDOM_BITS, 3) <= 3600 * 8 + 100);
}

static void encoding_is_repeatable(void **state)
{
    (void)state;
    struct vv_random random = {106};
    struct vv_rows rows = make_all_shapes(333, TIMING_GAPS, STAMPING_EACH, ABSENCE_SOME, &random);
    struct encoded first = encode_rows(&rows, 5, true);
    vv_block_release_thread_memory();
    struct encoded second = encode_rows(&rows, 5, true);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.bytes, second.bytes, first.size);
    free(first.bytes);
    free(second.bytes);
    free_rows(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_rows_are_refused),
        cmocka_unit_test(rows_out_of_order_are_refused),
        cmocka_unit_test(every_capacity_is_respected),
        cmocka_unit_test(the_bound_is_enough),
        cmocka_unit_test(small_runs_are_small),
        cmocka_unit_test(typical_columns_are_small),
        cmocka_unit_test(encoding_is_repeatable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
