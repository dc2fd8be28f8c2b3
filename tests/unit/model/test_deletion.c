/* SPDX-License-Identifier: Apache-2.0 */
/* Orders in the journal's form; a merge with deletions against a naive model. */
#include "base/random.h"
#include "model/deletion.h"
#include "model/merge.h"
#include "model/partition.h"
#include "model/piece.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- orders ---- */

static struct vv_deletion_order *some_order(void)
{
    struct vv_deletion_order *order = vv_deletion_order_create(2, 3);
    assert_non_null(order);
    order->tenant = 9;
    order->scope = VV_DELETION_METRIC;
    order->from = VV_TIME_MIN;
    order->to = VV_TIME_MAX + 1;
    order->numbers[0] = 4;
    order->numbers[1] = UINT32_MAX - 1;
    order->sources[0] = 0;
    order->sources[1] = 7;
    order->sources[2] = 6;
    return order;
}

static void an_order_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    struct vv_deletion_order *order = some_order();
    struct vv_deletion_order *read;
    vv_deletion_order_encode(order, &buffer);
    struct vv_str bytes = {(const char *)buffer.data, buffer.size};
    assert_int_equal(vv_deletion_order_decode(bytes, &read, NULL), VV_OK);
    assert_int_equal(read->tenant, 9);
    assert_int_equal(read->scope, VV_DELETION_METRIC);
    assert_true(read->from == order->from && read->to == order->to);
    assert_int_equal(read->n_numbers, 2);
    assert_memory_equal(read->numbers, order->numbers, 2 * sizeof *order->numbers);
    assert_int_equal(read->n_sources, 3);
    assert_memory_equal(read->sources, order->sources, 3 * sizeof *order->sources);
    assert_int_equal(vv_deletion_order_markers(read), 6);
    free(read);
    for (size_t size = 0; size < buffer.size; size++) {
        bytes.size = size;
        assert_int_equal(vv_deletion_order_decode(bytes, &read, NULL), VV_CORRUPT);
    }
    vv_buffer_u8(&buffer, 0); /* something follows */
    bytes = (struct vv_str){(const char *)buffer.data, buffer.size};
    assert_int_equal(vv_deletion_order_decode(bytes, &read, NULL), VV_CORRUPT);
    buffer.data[0] = 2;
    assert_int_equal(vv_deletion_order_decode(bytes, &read, NULL), VV_NEWER);
    vv_buffer_deinit(&buffer);
    free(order);
}

static void damaged_orders_are_refused(void **state)
{
    (void)state;
    struct vv_buffer buffer = {0};
    struct vv_deletion_order *order = some_order();
    vv_deletion_order_encode(order, &buffer);
    for (uint64_t seed = 0; seed < 2000; seed++) {
        struct vv_random random = {seed};
        uint8_t bytes[128];
        struct vv_deletion_order *read;
        memcpy(bytes, buffer.data, buffer.size);
        bytes[vv_random_below(&random, buffer.size)] = (uint8_t)vv_random_next(&random);
        struct vv_str text = {(const char *)bytes, buffer.size};
        if (vv_deletion_order_decode(text, &read, NULL) == VV_OK) {
            assert_true(read->from < read->to && read->from >= VV_TIME_MIN);
            free(read);
        }
    }
    vv_buffer_deinit(&buffer);
    free(order);
}

/* ---- the merge ---- */

#define TIMES   120
#define METRICS 3
#define FIRST   10 /* metric */

struct model {
    uint64_t stamp[TIMES][METRICS]; /* 0: nothing */
    uint64_t value[TIMES][METRICS];
};

static struct vv_rows random_rows(struct vv_random *random, uint64_t *next_stamp)
{
    size_t n = 1 + vv_random_below(random, 40);
    struct vv_rows rows;
    assert_int_equal(vv_rows_alloc(n, METRICS, &rows), VV_OK);
    int64_t time = (int64_t)vv_random_below(random, TIMES / 2);
    for (size_t i = 0; i < n; i++) {
        time += (int64_t)vv_random_below(random, 3);
        rows.times[i] = time < TIMES ? time : TIMES - 1;
        rows.stamps[i] = (*next_stamp)++;
        for (uint32_t m = 0; m < METRICS; m++) {
            rows.columns[m].metric = FIRST + m;
            rows.columns[m].type = VV_INT64;
            rows.columns[m].values[i] = vv_random_next(random);
            if (vv_random_below(random, 3) > 0) {
                vv_column_mark(&rows.columns[m], i);
            }
        }
    }
    return rows;
}

static void add_random(struct vv_merge *merge, struct model *model, struct vv_random *random,
                       uint64_t *next_stamp)
{
    struct vv_piece_encoder encoder = {.rows_max = 1000, .bytes_max = 1 << 20};
    struct vv_rows rows = random_rows(random, next_stamp);
    struct vv_str bytes;
    for (size_t i = 0; i < rows.n_rows; i++) {
        for (size_t m = 0; m < METRICS; m++) {
            if (vv_column_has(&rows.columns[m], i)) {
                model->stamp[rows.times[i]][m] = rows.stamps[i];
                model->value[rows.times[i]][m] = rows.columns[m].values[i];
            }
        }
    }
    if (vv_random_below(random, 2) == 0) {
        assert_int_equal(vv_merge_add_rows(merge, &rows), VV_OK);
    } else {
        assert_int_equal(vv_piece_encode(&encoder, &rows, 0, rows.n_rows, &bytes, NULL), VV_OK);
        assert_int_equal(vv_merge_add_block(merge, (const uint8_t *)bytes.data, bytes.size, NULL),
                         VV_OK);
        vv_rows_free(&rows);
    }
    vv_piece_encoder_deinit(&encoder);
}

static bool is_hidden(const struct vv_deletion_list *list, size_t time, size_t metric,
                      uint64_t stamp)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct vv_deletion *each = &list->items[i];
        if ((each->metric == VV_DELETION_ALL_METRICS || each->metric == FIRST + metric) &&
            (int64_t)time >= each->from && (int64_t)time < each->to && stamp < each->stamp) {
            return true;
        }
    }
    return false;
}

static void check(struct vv_merge *merge, struct model *model, const struct vv_deletion_list *list)
{
    const struct vv_rows *rows;
    enum vv_status status;
    while ((status = vv_merge_next(merge, &rows, NULL)) == VV_OK) {
        assert_true(rows->n_rows > 0);
        for (size_t i = 0; i < rows->n_rows; i++) {
            bool any = false;
            for (size_t c = 0; c < rows->n_columns; c++) {
                size_t m = rows->columns[c].metric - FIRST;
                size_t t = (size_t)rows->times[i];
                if (vv_column_has(&rows->columns[c], i)) {
                    any = true;
                    assert_true(model->stamp[t][m] != 0);
                    assert_true(model->value[t][m] == rows->columns[c].values[i]);
                    assert_false(is_hidden(list, t, m, model->stamp[t][m]));
                    model->stamp[t][m] = 0;
                }
            }
            assert_true(any); /* a row with nothing left is no row */
        }
    }
    assert_int_equal(status, VV_DONE);
    for (size_t t = 0; t < TIMES; t++) {
        for (size_t m = 0; m < METRICS; m++) {
            assert_true(model->stamp[t][m] == 0 || is_hidden(list, t, m, model->stamp[t][m]));
        }
    }
}

static void deleted_values_are_in_no_row_and_newer_ones_are(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct vv_random random = {seed};
        struct model model = {0};
        struct vv_deletion items[4];
        struct vv_deletion_list list = {items, vv_random_below(&random, 5)};
        struct vv_merge_options options = {
            .from = 0,
            .to = TIMES,
            .descending = vv_random_below(&random, 2) == 0,
            .join_times = vv_random_below(&random, 2) == 0,
            .deletions = vv_random_below(&random, 2) == 0 ? &list : NULL,
        };
        struct vv_merge *merge;
        uint64_t stamp = 1;
        assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
        size_t pieces = 1 + vv_random_below(&random, 5);
        for (size_t i = 0; i < pieces; i++) {
            add_random(merge, &model, &random, &stamp);
        }
        for (size_t i = 0; i < list.n; i++) {
            int64_t from = (int64_t)vv_random_below(&random, TIMES);
            uint64_t which = vv_random_below(&random, METRICS + 1);
            items[i] = (struct vv_deletion){
                .from = from,
                .to = from + 1 + (int64_t)vv_random_below(&random, TIMES),
                .stamp = vv_random_below(&random, stamp + 2),
                .metric = which < METRICS ? FIRST + (uint32_t)which : VV_DELETION_ALL_METRICS,
            };
        }
        vv_merge_set_deletions(merge, &list);
        check(merge, &model, &list);
        vv_merge_destroy(merge);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_is_read_as_it_was_written),
        cmocka_unit_test(damaged_orders_are_refused),
        cmocka_unit_test(deleted_values_are_in_no_row_and_newer_ones_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
