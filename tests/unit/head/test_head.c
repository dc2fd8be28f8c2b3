/* SPDX-License-Identifier: Apache-2.0 */
/* The head: visibility by publish, forgetting, generations, walking, and readers beside a writer.
 */
#include "base/random.h"
#include "head/head.h"
#include "simulation/sim_memory.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct vv_batch *batch_in(uint32_t measurement, uint32_t source, int64_t time,
                                 uint32_t metric, uint64_t value)
{
    struct vv_batch *batch;
    size_t frame;
    assert_int_equal(vv_batch_create(0, &batch), VV_OK);
    assert_int_equal(vv_batch_frame(batch, measurement, &metric, 1, &frame), VV_OK);
    assert_int_equal(vv_batch_row(batch, frame, source, time, &value), VV_OK);
    return batch;
}

static struct vv_batch *batch_of(uint32_t source, int64_t time, uint32_t metric, uint64_t value)
{
    return batch_in(1, source, time, metric, value);
}

static void apply(struct vv_head *head, struct vv_batch *take_batch, vv_stamp stamp)
{
    assert_int_equal(vv_head_prepare(head, take_batch, stamp), VV_OK);
    vv_head_publish(head);
    vv_batch_destroy(take_batch);
}

static size_t count(struct vv_head *head, uint32_t source, uint32_t metric)
{
    struct vv_rows rows;
    assert_int_equal(vv_head_read(head, source, 1, INT64_MIN, INT64_MAX, &metric, 1, 0, &rows),
                     VV_OK);
    size_t n = rows.n_rows;
    vv_rows_free(&rows);
    return n;
}

static void prepared_rows_are_visible_after_publish_only(void **state)
{
    (void)state;
    struct vv_head *head;
    assert_int_equal(vv_head_create(&head), VV_OK);
    struct vv_batch *first = batch_of(3, 10, 7, 100);
    struct vv_batch *second = batch_of(3, 11, 8, 200);
    assert_int_equal(vv_head_prepare(head, first, 1), VV_OK);
    assert_int_equal(vv_head_prepare(head, second, 2), VV_OK);
    assert_int_equal(count(head, 3, 7), 0);
    vv_head_publish(head);
    assert_int_equal(count(head, 3, 7), 2); /* both rows; the second lacks the metric */
    int64_t low;
    int64_t high;
    assert_true(vv_head_series_times(head, 3, 1, &low, &high));
    assert_int_equal(low, 10);
    assert_int_equal(high, 11);
    assert_false(vv_head_series_times(head, 3, 2, &low, &high));
    vv_batch_destroy(first);
    vv_batch_destroy(second);
    vv_head_destroy(head);
}

static void forgotten_rows_leave_no_trace(void **state)
{
    (void)state;
    struct vv_head *head;
    assert_int_equal(vv_head_create(&head), VV_OK);
    for (uint64_t round = 0; round < 50; round++) {
        apply(head, batch_of(1, (int64_t)round, 7, round), 2 * round + 1);
        struct vv_batch *lost = batch_of(1, 1000, (uint32_t)(7 + round % 2), 1);
        struct vv_batch *lost_too = batch_of(2, 1000, 7, 1);
        assert_int_equal(vv_head_prepare(head, lost, 2 * round + 2), VV_OK);
        assert_int_equal(vv_head_prepare(head, lost_too, 2 * round + 2), VV_OK);
        vv_head_forget(head);
        vv_batch_destroy(lost);
        vv_batch_destroy(lost_too);
    }
    assert_int_equal(count(head, 1, 7), 50);
    assert_int_equal(count(head, 2, 7), 0);
    struct vv_head_figures figures;
    vv_head_read_figures(head, &figures);
    assert_int_equal(figures.points, 50);
    vv_head_destroy(head);
}

static enum vv_status look_at_nothing(void *context, uint32_t source, uint32_t measurement,
                                      struct vv_rows *rows)
{
    (void)context, (void)source, (void)measurement, (void)rows;
    fail_msg("a forgotten row was walked");
    return VV_OK;
}

/* A journal that fails for long must not fill the head for good. */
static void memory_of_forgotten_rows_goes_with_a_cut(void **state)
{
    (void)state;
    struct vv_head *head;
    struct vv_generation *generation;
    struct vv_head_figures figures;
    assert_int_equal(vv_head_create(&head), VV_OK);
    for (vv_stamp stamp = 1; stamp <= 10; stamp++) {
        struct vv_batch *lost = batch_of(1, 1000, 7, 1);
        assert_int_equal(vv_head_prepare(head, lost, stamp), VV_OK);
        vv_head_forget(head);
        vv_batch_destroy(lost);
    }
    assert_int_equal(vv_head_cut(head, &generation), VV_OK);
    assert_int_equal(vv_generation_walk(generation, NULL, look_at_nothing, NULL), VV_OK);
    vv_head_drop(head, generation);
    vv_head_read_figures(head, &figures);
    assert_int_equal(figures.bytes, 0);
    assert_int_equal(vv_head_cut(head, &generation), VV_DONE);
    vv_head_destroy(head);
}

/* What a walk has seen. */
struct walked {
    uint32_t last_source;
    size_t series;
    size_t rows;
    size_t values;
};

static enum vv_status look(void *context, uint32_t source, uint32_t measurement,
                           struct vv_rows *rows)
{
    struct walked *walked = context;
    assert_true(walked->series == 0 || source > walked->last_source);
    assert_int_equal(measurement, 1);
    walked->last_source = source;
    walked->series++;
    walked->rows += rows->n_rows;
    for (size_t c = 0; c < rows->n_columns; c++) {
        assert_true(c == 0 || rows->columns[c].metric > rows->columns[c - 1].metric);
        for (size_t i = 0; i < rows->n_rows; i++) {
            if (vv_column_has(&rows->columns[c], i)) {
                assert_int_equal(rows->columns[c].values[i],
                                 (uint64_t)rows->times[i] * 10 + rows->columns[c].metric);
                walked->values++;
            }
        }
    }
    return VV_OK;
}

static void random_rows(struct vv_head *head, struct vv_random *random, size_t n, vv_stamp *stamp)
{
    for (size_t i = 0; i < n; i++) {
        struct vv_batch *batch;
        assert_int_equal(vv_batch_create(0, &batch), VV_OK);
        for (size_t r = 0; r < 5; r++) {
            uint32_t metrics[2] = {(uint32_t)vv_random_below(random, 4), 0};
            metrics[1] = (metrics[0] + 1) % 4;
            int64_t time = (int64_t)vv_random_below(random, 100);
            uint64_t values[2] = {(uint64_t)time * 10 + metrics[0],
                                  (uint64_t)time * 10 + metrics[1]};
            size_t frame;
            assert_int_equal(vv_batch_frame(batch, 1, metrics, 2, &frame), VV_OK);
            assert_int_equal(
                vv_batch_row(batch, frame, (uint32_t)vv_random_below(random, 40), time, values),
                VV_OK);
        }
        apply(head, batch, (*stamp)++);
    }
}

struct seen {
    uint32_t sources[64];
    size_t n;
};

static enum vv_status note_source(void *context, uint32_t source, uint32_t measurement,
                                  struct vv_rows *rows)
{
    struct seen *seen = context;
    (void)measurement;
    (void)rows;
    if (seen->n == 0 || seen->sources[seen->n - 1] != source) {
        seen->sources[seen->n++] = source;
    }
    return VV_OK;
}

static uint64_t from_behind(void *context, uint32_t source)
{
    (void)context;
    return 1000 - source / 2;
}

static void a_generation_is_walked_in_the_order_that_is_wanted(void **state)
{
    (void)state;
    struct vv_head *head;
    struct vv_random random = {8};
    vv_stamp stamp = 1;
    struct vv_generation *generation;
    const struct vv_head_order order = {from_behind, NULL};
    struct seen seen = {.n = 0};
    assert_int_equal(vv_head_create(&head), VV_OK);
    random_rows(head, &random, 200, &stamp);
    assert_int_equal(vv_head_cut(head, &generation), VV_OK);
    assert_int_equal(vv_generation_walk(generation, &order, note_source, &seen), VV_OK);
    assert_int_equal(seen.n, 40); /* the series of each together */
    for (size_t i = 0; i < seen.n; i++) {
        assert_int_equal(seen.sources[i], 38 - (i / 2) * 2 + i % 2);
    }
    vv_head_drop(head, generation);
    vv_head_destroy(head);
}

struct series {
    uint32_t source;
    uint32_t measurement;
    uint64_t rows;
    int64_t first;
    int64_t last;
};

struct listed {
    struct series all[256];
    size_t n;
};

static enum vv_status list_walked(void *context, uint32_t source, uint32_t measurement,
                                  struct vv_rows *rows)
{
    struct listed *listed = context;
    struct series series = {source, measurement, rows->n_rows, rows->times[0], rows->times[0]};
    for (size_t i = 1; i < rows->n_rows; i++) {
        series.first = rows->times[i] < series.first ? rows->times[i] : series.first;
        series.last = rows->times[i] > series.last ? rows->times[i] : series.last;
    }
    assert_true(listed->n < 256);
    listed->all[listed->n++] = series;
    return VV_OK;
}

static enum vv_status compare_glanced(void *context, uint32_t source, uint32_t measurement,
                                      uint64_t rows, int64_t first, int64_t last)
{
    struct listed *left = context;
    const struct series *expected = &left->all[--left->n];
    assert_int_equal(source, expected->source);
    assert_int_equal(measurement, expected->measurement);
    assert_int_equal(rows, expected->rows);
    assert_int_equal(first, expected->first);
    assert_int_equal(last, expected->last);
    return VV_OK;
}

static void a_glance_says_of_each_series_what_a_walk_shows(void **state)
{
    (void)state;
    struct vv_head *head;
    struct vv_random random = {9};
    vv_stamp stamp = 1;
    struct vv_generation *generation;
    struct listed listed = {.n = 0};
    assert_int_equal(vv_head_create(&head), VV_OK);
    random_rows(head, &random, 200, &stamp);
    apply(head, batch_in(2, 3, 5, 77, 1), stamp++);
    assert_int_equal(vv_head_cut(head, &generation), VV_OK);
    assert_int_equal(vv_generation_walk(generation, NULL, list_walked, &listed), VV_OK);
    for (size_t i = 0; i < listed.n / 2; i++) { /* from the last to the first */
        struct series one = listed.all[i];
        listed.all[i] = listed.all[listed.n - 1 - i];
        listed.all[listed.n - 1 - i] = one;
    }
    vv_sim_memory_fail(2); /* the list is all that it needs memory for: no rows */
    assert_int_equal(vv_generation_glance(generation, compare_glanced, &listed), VV_OK);
    assert_false(vv_sim_memory_failed());
    assert_int_equal(listed.n, 0);
    vv_head_drop(head, generation);
    vv_head_destroy(head);
}

static void a_generation_is_walked_whole_while_the_next_fills(void **state)
{
    (void)state;
    struct vv_head *head;
    struct vv_random random = {7};
    vv_stamp stamp = 1;
    assert_int_equal(vv_head_create(&head), VV_OK);
    struct vv_generation *generation;
    assert_int_equal(vv_head_cut(head, &generation), VV_DONE);
    random_rows(head, &random, 200, &stamp);
    assert_int_equal(vv_head_cut(head, &generation), VV_OK);
    random_rows(head, &random, 100, &stamp);
    struct walked walked = {0};
    assert_int_equal(vv_generation_walk(generation, NULL, look, &walked), VV_OK);
    assert_int_equal(walked.series, 40);
    assert_int_equal(walked.rows, 1000);
    assert_int_equal(walked.values, 2000);
    size_t all = 0;
    for (uint32_t source = 0; source < 40; source++) {
        all += count(head, source, 0);
    }
    assert_int_equal(all, 1500);
    vv_head_drop(head, generation);
    all = 0;
    for (uint32_t source = 0; source < 40; source++) {
        all += count(head, source, 0);
    }
    assert_int_equal(all, 500);
    vv_head_destroy(head);
}

static void reading_takes_the_range_and_the_columns(void **state)
{
    (void)state;
    struct vv_head *head;
    assert_int_equal(vv_head_create(&head), VV_OK);
    for (int64_t time = 0; time < 100; time++) {
        apply(head, batch_of(5, time, time % 2 ? 8 : 9, (uint64_t)time), (vv_stamp)(time + 1));
    }
    uint32_t metrics[2] = {9, 8};
    struct vv_rows rows;
    assert_int_equal(vv_head_read(head, 5, 1, 10, 20, metrics, 2, 0, &rows), VV_OK);
    assert_int_equal(rows.n_rows, 10);
    for (size_t i = 0; i < rows.n_rows; i++) {
        assert_int_equal(rows.times[i], 10 + (int64_t)i);
        assert_int_equal(rows.stamps[i], (vv_stamp)(11 + i));
        assert_int_equal(vv_column_has(&rows.columns[0], i), i % 2 == 0);
        assert_int_equal(vv_column_has(&rows.columns[1], i), i % 2 == 1);
    }
    vv_rows_free(&rows);
    assert_int_equal(vv_head_read(head, 5, 1, 10, 20, metrics, 2, 64, &rows), VV_TOO_LARGE);
    assert_int_equal(vv_head_read(head, 5, 1, 200, 300, metrics, 2, 0, &rows), VV_OK);
    assert_int_equal(rows.n_rows, 0);
    vv_head_destroy(head);
}

static void failed_allocations_forget_the_batch(void **state)
{
    (void)state;
    for (uint64_t fail = 1; fail < 60; fail++) {
        struct vv_head *head;
        struct vv_random random = {3};
        vv_stamp stamp = 1;
        assert_int_equal(vv_head_create(&head), VV_OK);
        random_rows(head, &random, 20, &stamp);
        struct vv_batch *batch;
        assert_int_equal(vv_batch_create(0, &batch), VV_OK);
        for (uint32_t source = 0; source < 500; source++) {
            uint32_t metric = 3;
            uint64_t value = 12343;
            size_t frame;
            assert_int_equal(vv_batch_frame(batch, 1, &metric, 1, &frame), VV_OK);
            assert_int_equal(vv_batch_row(batch, frame, source, 1234, &value), VV_OK);
        }
        vv_sim_memory_fail(fail);
        enum vv_status status = vv_head_prepare(head, batch, stamp);
        vv_sim_memory_failed();
        if (status == VV_OK) {
            vv_head_forget(head);
        } else {
            assert_int_equal(status, VV_NO_MEMORY);
        }
        assert_false(count(head, 499, 3) > 0);
        apply(head, batch, stamp); /* and it works again afterwards */
        assert_int_equal(count(head, 499, 3), 1);
        vv_head_destroy(head);
    }
}

/* ---- readers beside the applier ---- */

struct race {
    struct vv_head *head;
    _Atomic uint64_t published; /* values up to it must be seen */
    _Atomic bool stop;
};

static void *read_all_the_time(void *context)
{
    struct race *race = context;
    while (!atomic_load(&race->stop)) {
        uint64_t least = atomic_load(&race->published);
        uint32_t metric = 4;
        struct vv_rows rows;
        vv_invariant(vv_head_read(race->head, 9, 1, 0, INT64_MAX, &metric, 1, 0, &rows) == VV_OK);
        vv_invariant(rows.n_rows >= least);
        for (size_t i = 0; i < rows.n_rows; i++) {
            vv_invariant(rows.columns[0].values[i] == (uint64_t)rows.times[i] + 1);
        }
        vv_rows_free(&rows);
    }
    return NULL;
}

static void readers_see_what_was_published_before(void **state)
{
    (void)state;
    struct race race = {0};
    assert_int_equal(vv_head_create(&race.head), VV_OK);
    pthread_t readers[2];
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&readers[i], NULL, read_all_the_time, &race), 0);
    }
    for (uint64_t i = 0; i < 3000; i++) {
        apply(race.head, batch_of(9, (int64_t)i, 4, i + 1), i + 1);
        atomic_store(&race.published, i + 1);
        if (i % 500 == 499) { /* generations stay readable while they are cut */
            struct vv_generation *generation;
            assert_int_equal(vv_head_cut(race.head, &generation), VV_OK);
        }
    }
    atomic_store(&race.stop, true);
    for (size_t i = 0; i < 2; i++) {
        pthread_join(readers[i], NULL);
    }
    vv_head_destroy(race.head);
}

/* ---- types ---- */

struct typed {
    enum vv_value_type type;
    uint64_t values[8];
    size_t n;
};

static enum vv_status look_at_types(void *context, uint32_t source, uint32_t measurement,
                                    struct vv_rows *rows)
{
    struct typed *typed = context;
    (void)source;
    (void)measurement;
    assert_int_equal(rows->n_columns, 1);
    assert_int_equal(rows->columns[0].metric, 7);
    typed->type = rows->columns[0].type;
    typed->n = rows->n_rows;
    memcpy(typed->values, rows->columns[0].values, rows->n_rows * sizeof *typed->values);
    return VV_OK;
}

static void integers_become_floats_beside_floats(void **state)
{
    (void)state;
    const double five = 5;
    uint64_t bits;
    memcpy(&bits, &five, sizeof bits);
    for (int last = 0; last < 3; last++) {
        struct vv_head *head;
        uint32_t metric = 7;
        const uint32_t said = last == 0 ? 7 : 7 | VV_METRIC_INT64;
        const enum vv_value_type expected[] = {VV_HEAD_UNTYPED, VV_INT64, VV_FLOAT64};
        assert_int_equal(vv_head_create(&head), VV_OK);
        apply(head, batch_of(3, 10, said, 5), 1);
        apply(head, batch_of(3, 11, last == 2 ? 7 | VV_METRIC_FLOAT64 : said, last == 2 ? bits : 5),
              2);
        apply(head, batch_of(3, 12, said, 5), 3);
        struct vv_rows rows;
        assert_int_equal(vv_head_read(head, 3, 1, 0, 100, &metric, 1, 0, &rows), VV_OK);
        struct vv_generation *generation;
        struct typed typed;
        assert_int_equal(vv_head_cut(head, &generation), VV_OK);
        assert_int_equal(vv_generation_walk(generation, NULL, look_at_types, &typed), VV_OK);
        assert_int_equal(rows.columns[0].type, expected[last]);
        assert_int_equal(typed.type, expected[last]);
        assert_int_equal(typed.n, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(rows.columns[0].values[i], last == 2 ? bits : 5);
            assert_int_equal(typed.values[i], last == 2 ? bits : 5);
        }
        vv_rows_free(&rows);
        vv_head_destroy(head);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prepared_rows_are_visible_after_publish_only),
        cmocka_unit_test(forgotten_rows_leave_no_trace),
        cmocka_unit_test(memory_of_forgotten_rows_goes_with_a_cut),
        cmocka_unit_test(a_generation_is_walked_in_the_order_that_is_wanted),
        cmocka_unit_test(a_glance_says_of_each_series_what_a_walk_shows),
        cmocka_unit_test(a_generation_is_walked_whole_while_the_next_fills),
        cmocka_unit_test(reading_takes_the_range_and_the_columns),
        cmocka_unit_test(failed_allocations_forget_the_batch),
        cmocka_unit_test(readers_see_what_was_published_before),
        cmocka_unit_test(integers_become_floats_beside_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
