/* SPDX-License-Identifier: Apache-2.0 */
/* Points, or finer steps, rolled up are what adding each value to its step gives. */
#include "tier/rollup.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/random.h"
#include "model/merge.h"
#include "simulation/sim_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED    17
#define ROWS    900
#define METRICS 4
#define STEPS   700
#define ALPHA   0.01
#define START   (INT64_C(1700000000) * VV_SECOND / VV_DAY * VV_DAY)

/* What each step should be, by index of the step from START on. */
struct truth {
    enum vv_value_type types[METRICS];
    struct vv_step steps[METRICS][STEPS];
    struct vv_sketch sketches[METRICS][STEPS];
};

static void make_rows(struct vv_random *random, int64_t from, int64_t apart, struct vv_rows *rows)
{
    assert_int_equal(vv_rows_alloc(ROWS, METRICS, rows), VV_OK);
    for (size_t c = 0; c < METRICS; c++) {
        rows->columns[c].metric = (uint32_t)(c * 3 + 5);
        rows->columns[c].type = c % 2 == 0 ? VV_INT64 : VV_FLOAT64;
    }
    for (size_t i = 0; i < ROWS; i++) {
        rows->times[i] = from + (int64_t)i * apart + (int64_t)vv_random_below(random, 3);
        rows->stamps[i] = i;
        for (size_t c = 0; c < METRICS; c++) {
            int64_t value = (int64_t)vv_random_below(random, 100000) - 20000;
            rows->columns[c].values[i] = rows->columns[c].type == VV_INT64
                                             ? (uint64_t)value
                                             : vv_bits_of_double((double)value / 7);
            if (vv_random_below(random, 4) > 0) {
                vv_column_mark(&rows->columns[c], i);
            }
        }
    }
}

static void add_truth(struct truth *truth, const struct vv_rows *rows, int64_t step_ns)
{
    for (size_t c = 0; c < METRICS; c++) {
        const struct vv_column *column = &rows->columns[c];
        for (size_t i = 0; i < rows->n_rows; i++) {
            if (!vv_column_has(column, i)) {
                continue;
            }
            size_t at = (size_t)((rows->times[i] - START) / step_ns);
            assert_in_range(at, 0, STEPS - 1);
            if (truth->steps[c][at].count == 0) {
                assert_true(vv_sketch_init(&truth->sketches[c][at], ALPHA));
            }
            uint64_t value = column->values[i];
            double real = column->type == VV_INT64 ? (double)(int64_t)value : vv_bits_double(value);
            if (column->type != truth->types[c]) {
                value = vv_bits_of_double(real);
            }
            vv_step_add(truth->types[c], VV_STEP_ALL, &truth->steps[c][at], &rows->times[i], &value,
                        1);
            assert_true(vv_sketch_add(&truth->sketches[c][at], real, 1));
        }
    }
}

static struct truth *make_truth(void)
{
    struct truth *truth = calloc(1, sizeof *truth);
    assert_non_null(truth);
    for (size_t c = 0; c < METRICS; c++) {
        truth->types[c] = c % 2 == 0 ? VV_INT64 : VV_FLOAT64;
    }
    return truth;
}

static void free_truth(struct truth *truth)
{
    for (size_t c = 0; c < METRICS; c++) {
        for (size_t i = 0; i < STEPS; i++) {
            if (truth->steps[c][i].count > 0) {
                vv_sketch_deinit(&truth->sketches[c][i]);
            }
        }
    }
    free(truth);
}

static void assert_near(double a, double b)
{
    double scale = fabs(a) > fabs(b) ? fabs(a) : fabs(b);
    assert_true(fabs(a - b) <= 1e-9 * (scale > 1 ? scale : 1));
}

static void check_step(enum vv_value_type type, const struct vv_step *is, const struct vv_step *be)
{
    assert_int_equal(is->count, be->count);
    assert_int_equal(is->first_time, be->first_time);
    assert_int_equal(is->last_time, be->last_time);
    assert_int_equal(is->first, be->first);
    assert_int_equal(is->last, be->last);
    assert_int_equal(is->min, be->min);
    assert_int_equal(is->max, be->max);
    union vv_total a = vv_step_sum(type, is);
    union vv_total b = vv_step_sum(type, be);
    if (type == VV_INT64) {
        assert_true(a.integer == b.integer);
    } else {
        assert_near(a.real, b.real);
    }
    assert_near(vv_step_mean(type, is), vv_step_mean(type, be));
    if (is->count > 1) {
        assert_near(vv_step_stddev(is), vv_step_stddev(be));
    }
}

static void check_metric(const struct truth *truth, const struct vv_chunk *chunk, uint32_t index,
                         const int64_t *starts)
{
    struct vv_error error = {0};
    struct vv_step *steps = calloc(chunk->n_steps, sizeof *steps);
    struct vv_sketch *sketches = calloc(chunk->n_steps, sizeof *sketches);
    uint32_t metric;
    enum vv_value_type type;
    assert_non_null(steps);
    assert_non_null(sketches);
    assert_int_equal(vv_chunk_metric(chunk, index, &metric, &type, &error), VV_OK);
    assert_int_equal(metric, index * 3 + 5);
    assert_int_equal(type, truth->types[index]);
    assert_int_equal(vv_chunk_steps(chunk, index, starts, steps, &error), VV_OK);
    assert_int_equal(vv_chunk_sketches(chunk, index, steps, sketches, &error), VV_OK);
    size_t seen = 0;
    for (size_t i = 0; i < chunk->n_steps; i++) {
        size_t at = (size_t)((starts[i] - START) / chunk->step_ns);
        const struct vv_step *be = &truth->steps[index][at];
        assert_int_equal(starts[i], START + (int64_t)at * chunk->step_ns);
        assert_int_equal(steps[i].count, be->count);
        if (be->count > 0) {
            check_step(type, &steps[i], be);
            for (double q = 0; q <= 1; q += 0.25) {
                assert_true(vv_sketch_quantile(&sketches[i], q) ==
                            vv_sketch_quantile(&truth->sketches[index][at], q));
            }
        }
        vv_sketch_deinit(&sketches[i]);
        seen += be->count > 0;
    }
    for (size_t i = 0; i < STEPS; i++) {
        seen -= truth->steps[index][i].count > 0;
    }
    assert_int_equal(seen, 0); /* none is missing */
    free(steps);
    free(sketches);
}

static void check(const struct truth *truth, const struct vv_buffer *bytes, int64_t step_ns)
{
    struct vv_chunk chunk;
    struct vv_error error = {0};
    assert_int_equal(
        vv_chunk_open((struct vv_str){(const char *)bytes->data, bytes->size}, &chunk, &error),
        VV_OK);
    assert_int_equal(chunk.step_ns, step_ns);
    assert_int_equal(chunk.n_metrics, METRICS);
    int64_t *starts = malloc(chunk.n_steps * sizeof *starts);
    assert_non_null(starts);
    assert_int_equal(vv_chunk_starts(&chunk, starts, &error), VV_OK);
    for (uint32_t m = 0; m < chunk.n_metrics; m++) {
        check_metric(truth, &chunk, m, starts);
    }
    free(starts);
}

static struct vv_rollup *make_rollup(void)
{
    struct vv_rollup *rollup = NULL;
    assert_int_equal(vv_rollup_create(ALPHA, &rollup), VV_OK);
    return rollup;
}

/* The columns as if all rows had values: without bitmaps, which `kept` takes. */
static void drop_bitmaps(struct vv_rows *rows, uint8_t **kept)
{
    for (size_t c = 0; c < rows->n_columns; c++) {
        struct vv_column *column = &rows->columns[c];
        for (size_t row = 0; row < rows->n_rows; row++) {
            if (!vv_column_has(column, row)) {
                column->values[row] =
                    column->type == VV_INT64 ? row : vv_bits_of_double((double)row);
            }
        }
        kept[c] = column->present;
        column->present = NULL;
    }
}

static void give_bitmaps_back(struct vv_rows *rows, uint8_t **kept)
{
    for (size_t c = 0; c < rows->n_columns; c++) {
        rows->columns[c].present = kept[c];
    }
}

static void encode(struct vv_rollup *rollup, struct vv_buffer *out)
{
    struct vv_error error = {0};
    vv_buffer_clear(out);
    assert_int_equal(vv_rollup_encode(rollup, 0, 1, out, &error), VV_OK);
}

/* Twice with the same roll-up: nothing stays of what was before. */
static void steps_are_what_their_values_make(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    struct vv_rollup *rollup = make_rollup();
    struct vv_buffer bytes = {0};
    static const int64_t apart[] = {VV_SECOND, 7 * VV_SECOND, 40 * VV_SECOND};
    for (size_t i = 0; i < 6; i++) {
        struct truth *truth = make_truth();
        struct vv_rows rows;
        uint8_t *kept[METRICS];
        make_rows(&random, START, apart[i % 3], &rows);
        assert_in_range(rows.n_columns, 1, METRICS);
        if (i >= 3) {
            drop_bitmaps(&rows, kept);
        }
        add_truth(truth, &rows, VV_MINUTE);
        vv_rollup_begin(rollup, VV_MINUTE);
        assert_int_equal(vv_rollup_add_rows(rollup, &rows, NULL), VV_OK);
        assert_int_equal(vv_rollup_metrics(rollup), METRICS);
        encode(rollup, &bytes);
        check(truth, &bytes, VV_MINUTE);
        if (i >= 3) {
            give_bitmaps_back(&rows, kept);
        }
        vv_rows_free(&rows);
        free_truth(truth);
    }
    vv_buffer_deinit(&bytes);
    vv_rollup_destroy(rollup);
}

/* As those of splits do. */
static void parts_come_in_any_order(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    struct vv_rollup *rollup = make_rollup();
    struct vv_buffer bytes = {0};
    struct truth *truth = make_truth();
    vv_rollup_begin(rollup, VV_MINUTE);
    static const int64_t at[] = {5, 0, 9, 2, 1};
    for (size_t i = 0; i < 5; i++) {
        struct vv_rows rows;
        make_rows(&random, START + at[i] * VV_HOUR, 2 * VV_SECOND, &rows);
        add_truth(truth, &rows, VV_MINUTE);
        assert_int_equal(vv_rollup_add_rows(rollup, &rows, NULL), VV_OK);
        vv_rows_free(&rows);
    }
    encode(rollup, &bytes);
    check(truth, &bytes, VV_MINUTE);
    free_truth(truth);
    vv_buffer_deinit(&bytes);
    vv_rollup_destroy(rollup);
}

static void add_chunk(struct vv_rollup *rollup, const struct vv_buffer *bytes,
                      enum vv_status expected)
{
    struct vv_chunk chunk;
    struct vv_error error = {0};
    assert_int_equal(
        vv_chunk_open((struct vv_str){(const char *)bytes->data, bytes->size}, &chunk, &error),
        VV_OK);
    assert_int_equal(vv_rollup_add_chunk(rollup, &chunk, &error), expected);
}

static void hours_of_minutes_are_hours_of_points(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 2};
    struct vv_rollup *minutes = make_rollup();
    struct vv_rollup *hours = make_rollup();
    struct vv_buffer bytes = {0};
    struct truth *truth = make_truth();
    vv_rollup_begin(hours, VV_HOUR);
    for (int64_t i = 0; i < 12; i++) {
        struct vv_rows rows;
        make_rows(&random, START + i * 2 * VV_HOUR, 7 * VV_SECOND, &rows);
        add_truth(truth, &rows, VV_HOUR);
        vv_rollup_begin(minutes, VV_MINUTE);
        assert_int_equal(vv_rollup_add_rows(minutes, &rows, NULL), VV_OK);
        encode(minutes, &bytes);
        add_chunk(hours, &bytes, VV_OK);
        vv_rows_free(&rows);
    }
    encode(hours, &bytes);
    check(truth, &bytes, VV_HOUR);
    vv_rollup_begin(minutes, VV_MINUTE * 7);
    add_chunk(minutes, &bytes, VV_INVALID); /* hours don't make seven minutes */
    free_truth(truth);
    vv_buffer_deinit(&bytes);
    vv_rollup_destroy(minutes);
    vv_rollup_destroy(hours);
}

/* A metric that had integers first, and one that had floats first. */
static void floats_beside_integers_make_floats(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 3};
    struct vv_rollup *rollup = make_rollup();
    struct vv_buffer bytes = {0};
    struct truth *truth = make_truth();
    truth->types[0] = truth->types[2] = VV_FLOAT64;
    vv_rollup_begin(rollup, VV_MINUTE);
    for (int64_t i = 0; i < 2; i++) {
        struct vv_rows rows;
        make_rows(&random, START + i * VV_HOUR, 2 * VV_SECOND, &rows);
        for (size_t c = 0; c < METRICS; c++) {
            bool was_float = rows.columns[c].type == VV_FLOAT64;
            rows.columns[c].type = i == 0      ? rows.columns[c].type
                                   : was_float ? VV_INT64
                                               : VV_FLOAT64;
            for (size_t r = 0; r < ROWS && i > 0; r++) {
                int64_t value = (int64_t)vv_random_below(&random, 999);
                rows.columns[c].values[r] =
                    was_float ? (uint64_t)value : vv_bits_of_double((double)value);
            }
        }
        add_truth(truth, &rows, VV_MINUTE);
        assert_int_equal(vv_rollup_add_rows(rollup, &rows, NULL), VV_OK);
        vv_rows_free(&rows);
    }
    encode(rollup, &bytes);
    check(truth, &bytes, VV_MINUTE);
    free_truth(truth);
    vv_buffer_deinit(&bytes);
    vv_rollup_destroy(rollup);
}

static void check_numbers_among_others(bool with_bitmaps)
{
    struct vv_rollup *rollup = make_rollup();
    struct vv_buffer bytes = {0};
    struct vv_rows rows;
    struct vv_chunk chunk;
    int64_t start;
    uint8_t *kept[2];
    struct vv_step step;
    assert_int_equal(vv_rows_alloc(60, 2, &rows), VV_OK);
    for (uint32_t c = 0; c < 2; c++) {
        rows.columns[c].metric = c;
        rows.columns[c].type = VV_FLOAT64;
        for (size_t row = 0; row < 60; row++) {
            bool is_number = c == 0 && row % 3 > 0;
            rows.times[row] = START + (int64_t)row * VV_SECOND;
            rows.columns[c].values[row] = vv_bits_of_double(is_number ? (double)row : NAN);
            vv_column_mark(&rows.columns[c], row);
        }
    }
    if (!with_bitmaps) {
        drop_bitmaps(&rows, kept);
    }
    vv_rollup_begin(rollup, VV_MINUTE);
    assert_int_equal(vv_rollup_add_rows(rollup, &rows, NULL), VV_OK);
    assert_int_equal(vv_rollup_values(rollup), 40);
    encode(rollup, &bytes);
    assert_int_equal(vv_chunk_open((struct vv_str){(char *)bytes.data, bytes.size}, &chunk, NULL),
                     VV_OK);
    assert_int_equal(chunk.n_steps, 1);
    assert_int_equal(vv_chunk_starts(&chunk, &start, NULL), VV_OK);
    for (uint32_t c = 0; c < 2; c++) {
        assert_int_equal(vv_chunk_steps(&chunk, c, &start, &step, NULL), VV_OK);
        assert_int_equal(step.count, c == 0 ? 40 : 0);
    }
    if (!with_bitmaps) {
        give_bitmaps_back(&rows, kept);
    }
    vv_rows_free(&rows);
    vv_buffer_deinit(&bytes);
    vv_rollup_destroy(rollup);
}

static void not_a_number_is_no_value(void **state)
{
    (void)state;
    check_numbers_among_others(true);
    check_numbers_among_others(false);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 4};
    struct vv_rollup *rollup = make_rollup();
    struct vv_error error = {0};
    struct vv_rows rows;
    enum vv_status status = VV_OK;
    make_rows(&random, START, VV_HOUR, &rows);
    vv_rollup_begin(rollup, VV_SECOND);
    for (int64_t i = 0; i < 100 && status == VV_OK; i++) {
        status = vv_rollup_add_rows(rollup, &rows, &error);
        for (size_t r = 0; r < ROWS; r++) {
            rows.times[r] += VV_SECOND;
        }
    }
    assert_int_equal(status, VV_TOO_LARGE);
    assert_true(vv_rollup_steps(rollup) <= VV_CHUNK_STEPS_MAX);
    status = VV_OK;
    vv_rollup_destroy(rollup); /* each metric gets room for as many steps as there were */
    rollup = make_rollup();
    vv_rollup_begin(rollup, VV_DAY);
    for (uint32_t i = 0; i < VV_ROLLUP_METRICS_MAX && status == VV_OK; i++) {
        rows.columns[0].metric = 1000 + i;
        status = vv_rollup_add_rows(rollup, &rows, &error);
    }
    assert_int_equal(status, VV_TOO_LARGE);
    assert_int_equal(vv_rollup_metrics(rollup), VV_ROLLUP_METRICS_MAX);
    vv_rollup_begin(rollup, VV_DAY); /* memory is not kept for all of them … */
    status = VV_OK;
    for (uint32_t i = 0; i < 1000 && status == VV_OK; i++) {
        rows.columns[0].metric = 1000 + i;
        status = vv_rollup_add_rows(rollup, &rows, &error);
    }
    assert_int_equal(status, VV_OK);
    vv_rollup_begin(rollup, VV_SECOND); /* … nor is it taken for so many steps of all */
    for (int64_t i = 0; i < 5 && status == VV_OK; i++) {
        status = vv_rollup_add_rows(rollup, &rows, &error);
        for (size_t r = 0; r < ROWS; r++) {
            rows.times[r] += VV_SECOND;
        }
    }
    assert_int_equal(status, VV_OK);
    for (uint32_t i = 0; i < 1000 && status == VV_OK; i++) {
        rows.columns[0].metric = 1000 + i;
        status = vv_rollup_add_rows(rollup, &rows, &error);
    }
    assert_int_equal(status, VV_TOO_LARGE);
    vv_rows_free(&rows);
    vv_rollup_destroy(rollup);
}

/* Some 90 steps of 600 metrics, then as many again. */
static void add_many(struct vv_rollup *rollup, struct vv_rows *rows, struct vv_buffer *out)
{
    struct vv_error error = {0};
    vv_rollup_begin(rollup, 10 * VV_MINUTE);
    for (int64_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < 600; i++) {
            rows->columns[0].metric = 1000 + i;
            if (vv_rollup_add_rows(rollup, rows, &error) != VV_OK) {
                fail_msg("%s", error.message);
            }
        }
        for (size_t r = 0; r < rows->n_rows; r++) {
            rows->times[r] += turn == 0 ? VV_DAY : -VV_DAY;
        }
    }
    vv_buffer_clear(out);
    assert_int_equal(vv_rollup_encode(rollup, 0, 1, out, &error), VV_OK);
    assert_int_equal(vv_rollup_encode(rollup, VV_CHUNK_METRICS_MAX, 1, out, &error), VV_OK);
}

static void what_fits_does_not_depend_on_what_was_before(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 6};
    struct vv_rollup *rollup = make_rollup();
    struct vv_rollup *fresh = make_rollup();
    struct vv_buffer bytes = {0};
    struct vv_buffer wanted = {0};
    struct vv_error error = {0};
    struct vv_rows rows;
    make_rows(&random, START, 10 * VV_MINUTE, &rows);
    vv_rollup_begin(rollup, VV_SECOND);
    for (int64_t i = 0; i < 2; i++) { /* more than 1,024 steps */
        assert_int_equal(vv_rollup_add_rows(rollup, &rows, &error), VV_OK);
        for (size_t r = 0; r < ROWS; r++) {
            rows.times[r] += 10 * VV_SECOND;
        }
    }
    rows.n_rows = 90;
    add_many(rollup, &rows, &bytes);
    add_many(fresh, &rows, &wanted);
    assert_int_equal(bytes.size, wanted.size);
    assert_memory_equal(bytes.data, wanted.data, wanted.size);
    rows.n_rows = ROWS;
    vv_rows_free(&rows);
    vv_buffer_deinit(&bytes);
    vv_buffer_deinit(&wanted);
    vv_rollup_destroy(rollup);
    vv_rollup_destroy(fresh);
}

static enum vv_status roll_up(struct vv_rollup *rollup, const struct vv_rows *rows,
                              struct vv_buffer *out, struct vv_error *error)
{
    vv_buffer_clear(out);
    vv_rollup_begin(rollup, VV_MINUTE);
    enum vv_status status = vv_rollup_add_rows(rollup, rows, error);
    return status == VV_OK ? vv_rollup_encode(rollup, 0, 1, out, error) : status;
}

static void without_memory_it_fails_and_can_go_on(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 5};
    struct vv_error error = {0};
    struct vv_rows rows;
    make_rows(&random, START, 20 * VV_SECOND, &rows);
    struct truth *truth = make_truth();
    add_truth(truth, &rows, VV_MINUTE);
    struct vv_rollup *rollup = make_rollup();
    struct vv_buffer expected = {0};
    assert_int_equal(roll_up(rollup, &rows, &expected, &error), VV_OK);
    check(truth, &expected, VV_MINUTE);
    vv_rollup_destroy(rollup);
    uint64_t k = 1;
    for (bool failed = true; failed; k += 1 + k / 16) {
        struct vv_buffer bytes = {0};
        rollup = make_rollup();
        vv_sim_memory_fail(k);
        enum vv_status status = roll_up(rollup, &rows, &bytes, &error);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        assert_int_equal(roll_up(rollup, &rows, &bytes, &error), VV_OK);
        assert_int_equal(bytes.size, expected.size);
        assert_memory_equal(bytes.data, expected.data, expected.size);
        vv_buffer_deinit(&bytes);
        vv_rollup_destroy(rollup);
    }
    assert_true(k > 10);
    vv_buffer_deinit(&expected);
    free_truth(truth);
    vv_rows_free(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_what_their_values_make),
        cmocka_unit_test(parts_come_in_any_order),
        cmocka_unit_test(hours_of_minutes_are_hours_of_points),
        cmocka_unit_test(floats_beside_integers_make_floats),
        cmocka_unit_test(not_a_number_is_no_value),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(what_fits_does_not_depend_on_what_was_before),
        cmocka_unit_test(without_memory_it_fails_and_can_go_on),
    };
    printf("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
