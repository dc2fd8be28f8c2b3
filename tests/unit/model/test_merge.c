/* SPDX-License-Identifier: Apache-2.0 */
/* The merge against a naive model: any pieces, either direction, both ways to treat equal times. */
#include "base/bits.h"
#include "base/random.h"
#include "model/merge.h"
#include "model/piece.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TIMES   200
#define METRICS 4

/* For each time and metric, the value of the highest stamp. */
struct model {
    bool has[TIMES][METRICS];
    uint64_t stamp[TIMES][METRICS];
    uint64_t value[TIMES][METRICS];
};

static int compare_rows(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}

/* A piece of n rows with distinct (time, stamp); every stamp is used for one value of a point. */
static struct vv_rows random_rows(struct vv_random *random, uint64_t *next_stamp, bool sorted)
{
    size_t n = 1 + vv_random_below(random, 40);
    struct vv_rows rows;
    assert_int_equal(vv_rows_alloc(n, METRICS, &rows), VV_OK);
    int64_t order[40][2];
    int64_t base = (int64_t)vv_random_below(random, TIMES);
    for (size_t i = 0; i < n; i++) {
        int64_t time = base + (int64_t)vv_random_below(random, 30);
        order[i][0] = time < TIMES ? time : TIMES - 1;
        order[i][1] = (int64_t)(*next_stamp)++;
    }
    if (sorted) {
        qsort(order, n, sizeof order[0], compare_rows);
    }
    for (size_t i = 0; i < n; i++) {
        rows.times[i] = order[i][0];
        rows.stamps[i] = (uint64_t)order[i][1];
        for (uint32_t m = 0; m < METRICS; m++) {
            rows.columns[m].metric = 10 + m;
            rows.columns[m].type = VV_INT64;
            rows.columns[m].values[i] = vv_random_next(random);
            if (vv_random_below(random, 3) > 0) {
                vv_column_mark(&rows.columns[m], i);
            }
        }
    }
    return rows;
}

static void learn(struct model *model, const struct vv_rows *rows)
{
    for (size_t i = 0; i < rows->n_rows; i++) {
        for (size_t m = 0; m < METRICS; m++) {
            size_t t = (size_t)rows->times[i];
            if (vv_column_has(&rows->columns[m], i) &&
                (!model->has[t][m] || rows->stamps[i] > model->stamp[t][m])) {
                model->has[t][m] = true;
                model->stamp[t][m] = rows->stamps[i];
                model->value[t][m] = rows->columns[m].values[i];
            }
        }
    }
}

static void add_random_pieces(struct vv_merge *merge, struct model *model, struct vv_random *random)
{
    struct vv_piece_encoder encoder = {.rows_max = 1000, .bytes_max = 1 << 20};
    uint64_t next_stamp = 1;
    size_t pieces = vv_random_below(random, 8);
    for (size_t i = 0; i < pieces; i++) {
        bool encoded = vv_random_below(random, 3) > 0;
        struct vv_rows rows = random_rows(random, &next_stamp, encoded);
        learn(model, &rows);
        if (encoded) {
            struct vv_str bytes;
            assert_int_equal(vv_piece_encode(&encoder, &rows, 0, rows.n_rows, &bytes, NULL), VV_OK);
            assert_int_equal(
                vv_merge_add_block(merge, (const uint8_t *)bytes.data, bytes.size, NULL), VV_OK);
            vv_rows_free(&rows);
        } else {
            assert_int_equal(vv_merge_add_rows(merge, &rows), VV_OK);
        }
    }
    vv_piece_encoder_deinit(&encoder);
}

/* Checks each emitted value against the model and crosses it off. */
static void check_rows(struct model *model, const struct vv_rows *rows, const uint32_t *metrics,
                       bool join_times)
{
    for (size_t i = 0; i < rows->n_rows; i++) {
        bool any = false;
        for (size_t c = 0; c < rows->n_columns; c++) {
            if (!vv_column_has(&rows->columns[c], i)) {
                continue;
            }
            size_t m = rows->columns[c].metric - 10;
            size_t t = (size_t)rows->times[i];
            if (metrics) {
                assert_int_equal(rows->columns[c].metric, metrics[c]);
            }
            assert_true(m < METRICS && t < TIMES && model->has[t][m]);
            assert_true(rows->columns[c].values[i] == model->value[t][m]);
            assert_true(join_times || rows->stamps[i] == model->stamp[t][m]);
            assert_int_equal(rows->columns[c].type, VV_INT64);
            model->has[t][m] = false;
            any = true;
        }
        assert_true(any); /* a row without a value is left out */
        assert_true(i == 0 || rows->times[i] > rows->times[i - 1] ||
                    (!join_times && rows->times[i] == rows->times[i - 1] &&
                     rows->stamps[i] > rows->stamps[i - 1]));
    }
}

static void run_seed(uint64_t seed)
{
    struct vv_random random = {seed};
    uint32_t wanted[2] = {12, 10};
    bool all = vv_random_below(&random, 2) == 0;
    struct vv_merge_options options = {
        .from = (int64_t)vv_random_below(&random, TIMES / 2),
        .to = TIMES / 2 + (int64_t)vv_random_below(&random, TIMES / 2 + 10),
        .metrics = all ? NULL : wanted,
        .n_metrics = all ? 0 : 2,
        .descending = vv_random_below(&random, 2) == 0,
        .join_times = vv_random_below(&random, 2) == 0,
        .chunk_bytes = vv_random_below(&random, 2) * vv_random_below(&random, 2000),
    };
    struct vv_merge *merge;
    assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
    for (int again = 0; again < 2; again++) { /* the second time after a reset */
        static struct model model;
        memset(&model, 0, sizeof model);
        add_random_pieces(merge, &model, &random);
        const struct vv_rows *rows;
        enum vv_status status;
        int64_t edge = options.descending ? INT64_MAX : INT64_MIN;
        while ((status = vv_merge_next(merge, &rows, NULL)) == VV_OK) {
            assert_true(rows->n_rows > 0);
            int64_t first = rows->times[0];
            int64_t last = rows->times[rows->n_rows - 1];
            assert_true(options.descending ? last < edge : first > edge);
            edge = options.descending ? first : last;
            assert_true(first >= options.from && last < options.to);
            check_rows(&model, rows, options.metrics, options.join_times);
        }
        assert_int_equal(status, VV_DONE);
        for (int64_t t = options.from; t < options.to && t < TIMES; t++) {
            for (size_t m = 0; m < METRICS; m++) {
                assert_false(model.has[t][m] && (all || m == 0 || m == 2)); /* nothing is missing */
            }
        }
        vv_merge_reset(merge, options.from, options.to);
    }
    vv_merge_destroy(merge);
}

static void test_equals_naive_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        run_seed(seed);
    }
}

/* Pieces that follow each other come as one chunk where chunks are to be large. */
static void test_chunks_are_as_large_as_asked(void **state)
{
    (void)state;
    for (size_t chunk_bytes = 0; chunk_bytes <= 30 * 3 * 8; chunk_bytes += 30 * 3 * 8) {
        struct vv_merge_options options = {
            .from = INT64_MIN, .to = INT64_MAX, .chunk_bytes = chunk_bytes};
        struct vv_merge *merge;
        const struct vv_rows *chunk;
        size_t chunks = 0;
        size_t n_rows = 0;
        assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
        for (int64_t i = 0; i < 6; i++) {
            struct vv_rows rows;
            assert_int_equal(vv_rows_alloc(10, 1, &rows), VV_OK);
            rows.columns[0].metric = 10;
            rows.columns[0].type = VV_INT64;
            for (int64_t j = 0; j < 10; j++) {
                rows.times[j] = i * 10 + j;
                rows.stamps[j] = (uint64_t)i;
                rows.columns[0].values[j] = (uint64_t)j;
                vv_column_mark(&rows.columns[0], (size_t)j);
            }
            assert_int_equal(vv_merge_add_rows(merge, &rows), VV_OK);
        }
        while (vv_merge_next(merge, &chunk, NULL) == VV_OK) {
            chunks++;
            n_rows += chunk->n_rows;
        }
        assert_int_equal(n_rows, 60);
        assert_int_equal(chunks, chunk_bytes ? 2 : 6);
        vv_merge_destroy(merge);
    }
}

static void test_later_row_of_equal_stamp_wins(void **state)
{
    (void)state;
    struct vv_merge_options options = {.from = 0, .to = 100, .join_times = true};
    struct vv_merge *merge;
    struct vv_rows rows;
    assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
    assert_int_equal(vv_rows_alloc(3, 1, &rows), VV_OK);
    for (size_t i = 0; i < 3; i++) {
        rows.times[i] = 7;
        rows.stamps[i] = 5;
        rows.columns[0].values[i] = i;
        vv_column_mark(&rows.columns[0], i);
    }
    assert_int_equal(vv_merge_add_rows(merge, &rows), VV_OK);
    const struct vv_rows *out;
    assert_int_equal(vv_merge_next(merge, &out, NULL), VV_OK);
    assert_int_equal(out->n_rows, 1);
    assert_int_equal(out->columns[0].values[0], 2);
    assert_int_equal(vv_merge_next(merge, &out, NULL), VV_DONE);
    vv_merge_destroy(merge);
}

static void test_memory_limit_is_an_error_that_says_so(void **state)
{
    (void)state;
    struct vv_merge_options options = {.from = 0, .to = 100000, .memory_max = 4096};
    struct vv_merge *merge;
    struct vv_rows rows;
    struct vv_error error = {0};
    assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
    assert_int_equal(vv_rows_alloc(5000, 1, &rows), VV_OK);
    for (size_t i = 0; i < 5000; i++) {
        rows.times[i] = (int64_t)i;
        vv_column_mark(&rows.columns[0], i);
    }
    assert_int_equal(vv_merge_add_rows(merge, &rows), VV_OK);
    const struct vv_rows *out;
    assert_int_equal(vv_merge_next(merge, &out, &error), VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "shorter range"));
    vv_merge_destroy(merge);
}

static void test_damaged_piece_is_corrupt(void **state)
{
    (void)state;
    struct vv_merge_options options = {.from = 0, .to = 100};
    struct vv_merge *merge;
    assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
    uint8_t junk[64] = {1, 2, 3};
    assert_int_equal(vv_merge_add_block(merge, junk, sizeof junk, NULL), VV_CORRUPT);
    vv_merge_destroy(merge);
}

/* Many pieces over the same times: each row is sorted a few times, not once for each piece. */
static void test_many_overlapping_pieces(void **state)
{
    (void)state;
    struct vv_merge_options options = {.from = 0, .to = INT64_MAX, .join_times = true};
    struct vv_merge *merge;
    assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
    const size_t pieces = 500;
    const size_t each = 1000;
    for (size_t p = 0; p < pieces; p++) {
        struct vv_rows rows;
        assert_int_equal(vv_rows_alloc(each, 1, &rows), VV_OK);
        for (size_t i = 0; i < each; i++) {
            rows.times[i] = (int64_t)(i * pieces + p);
            rows.stamps[i] = p;
            vv_column_mark(&rows.columns[0], i);
        }
        assert_int_equal(vv_merge_add_rows(merge, &rows), VV_OK);
    }
    size_t total = 0;
    const struct vv_rows *out;
    while (vv_merge_next(merge, &out, NULL) == VV_OK) {
        total += out->n_rows;
    }
    assert_int_equal(total, pieces * each);
    vv_merge_destroy(merge);
}

/* ---- types ---- */

/* One value of metric 10, and one of metric 11 that is always an integer. */
static struct vv_rows typed_row(int64_t time, uint64_t stamp, enum vv_value_type type, int value)
{
    struct vv_rows rows;
    assert_int_equal(vv_rows_alloc(1, 2, &rows), VV_OK);
    rows.times[0] = time;
    rows.stamps[0] = stamp;
    rows.columns[0].metric = 10;
    rows.columns[0].type = type;
    rows.columns[0].values[0] =
        type == VV_INT64 ? (uint64_t)(int64_t)value : vv_bits_of_double(value);
    rows.columns[1].metric = 11;
    rows.columns[1].type = VV_INT64;
    rows.columns[1].values[0] = (uint64_t)(int64_t)-value;
    vv_column_mark(&rows.columns[0], 0);
    vv_column_mark(&rows.columns[1], 0);
    return rows;
}

static void add_typed(struct vv_merge *merge, int64_t time, enum vv_value_type type, int value,
                      bool encoded)
{
    struct vv_rows rows = typed_row(time, 1 + (uint64_t)time, type, value);
    if (!encoded) {
        assert_int_equal(vv_merge_add_rows(merge, &rows), VV_OK);
        return;
    }
    struct vv_piece_encoder encoder = {.rows_max = 10, .bytes_max = 4096};
    struct vv_str bytes;
    assert_int_equal(vv_piece_encode(&encoder, &rows, 0, 1, &bytes, NULL), VV_OK);
    assert_int_equal(vv_merge_add_block(merge, (const uint8_t *)bytes.data, bytes.size, NULL),
                     VV_OK);
    vv_piece_encoder_deinit(&encoder);
    vv_rows_free(&rows);
}

/* All rows are -4 … 4 at times 0 … 8, of the type. */
static void assert_typed(struct vv_merge *merge, enum vv_value_type type)
{
    const struct vv_rows *rows;
    size_t seen = 0;
    while (vv_merge_next(merge, &rows, NULL) == VV_OK) {
        assert_int_equal(rows->columns[0].type, type);
        assert_int_equal(rows->columns[1].type, VV_INT64);
        for (size_t i = 0; i < rows->n_rows; i++, seen++) {
            int value = (int)rows->times[i] - 4;
            uint64_t bits = type == VV_INT64 ? (uint64_t)(int64_t)value : vv_bits_of_double(value);
            assert_int_equal(rows->columns[0].values[i], bits);
            assert_int_equal(rows->columns[1].values[i], (uint64_t)(int64_t)-value);
        }
    }
    assert_int_equal(seen, 9);
}

static void test_floats_win_over_integers(void **state)
{
    (void)state;
    const uint32_t metrics[] = {10, 11};
    const enum vv_value_type floats[] = {VV_FLOAT64, VV_INT64};
    const enum vv_value_type ints[] = {VV_INT64, VV_INT64};
    for (int mode = 0; mode < 32; mode++) {
        bool descending = mode & 1;
        bool mixed = mode & 2;
        bool all = mode & 4;
        bool encoded = mode & 8;
        bool asked = mode & 16; /* for floats */
        struct vv_merge_options options = {
            .from = -100,
            .to = 100,
            .metrics = all ? NULL : metrics,
            .types = all     ? NULL
                     : asked ? floats
                             : ints,
            .n_metrics = all ? 0 : 2,
            .descending = descending,
            .join_times = !all,
        };
        struct vv_merge *merge;
        assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
        for (int round = 0; round < 2; round++) { /* the second after a reset */
            for (int i = 0; i < 9; i++) {
                bool is_float = mixed && i == 4; /* met in the middle of what is read */
                add_typed(merge, i, is_float ? VV_FLOAT64 : VV_INT64, i - 4, encoded == (i % 2));
            }
            assert_typed(merge, mixed || (asked && !all) ? VV_FLOAT64 : VV_INT64);
            vv_merge_reset(merge, -100, 100);
        }
        vv_merge_destroy(merge);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_naive_model),
        cmocka_unit_test(test_chunks_are_as_large_as_asked),
        cmocka_unit_test(test_later_row_of_equal_stamp_wins),
        cmocka_unit_test(test_memory_limit_is_an_error_that_says_so),
        cmocka_unit_test(test_damaged_piece_is_corrupt),
        cmocka_unit_test(test_many_overlapping_pieces),
        cmocka_unit_test(test_floats_win_over_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
