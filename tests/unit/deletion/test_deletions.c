/* SPDX-License-Identifier: Apache-2.0 */
/* All markers: seen when they are published, bounded, kept as records, swept, retired. */
#include "deletion/deletions.h"
#include "model/partition.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MEASUREMENT 5

static struct vv_deletions *create(uint64_t markers_max)
{
    struct vv_deletions *deletions;
    assert_int_equal(vv_deletions_create(markers_max, &deletions), VV_OK);
    return deletions;
}

/* An order for sources [first, first + n): of all of them, or of some of their metrics. */
static struct vv_deletion_order *order_of(uint32_t first, size_t n, size_t n_metrics, int64_t from,
                                          int64_t to)
{
    struct vv_deletion_order *order = vv_deletion_order_create(n_metrics, n);
    assert_non_null(order);
    order->tenant = 1;
    order->scope = n_metrics ? VV_DELETION_METRIC : VV_DELETION_SOURCE;
    order->from = from;
    order->to = to;
    for (size_t i = 0; i < n_metrics; i++) {
        order->numbers[i] = (uint32_t)(100 + i);
    }
    for (size_t i = 0; i < n; i++) {
        order->sources[i] = first + (uint32_t)i;
    }
    return order;
}

static void put(struct vv_deletions *deletions, struct vv_deletion_order *take_order,
                vv_stamp stamp)
{
    assert_int_equal(vv_deletions_prepare(deletions, take_order, stamp), VV_OK);
    vv_deletions_publish(deletions);
    free(take_order);
}

static size_t count(struct vv_deletions *deletions, uint32_t source)
{
    struct vv_deletion_list list;
    assert_int_equal(vv_deletions_of(deletions, source, MEASUREMENT, &list), VV_OK);
    size_t n = list.n;
    vv_deletion_list_deinit(&list);
    return n;
}

static void nothing_is_hidden_before_it_is_published(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    struct vv_deletion_order *first = order_of(3, 2, 0, 0, 10);
    struct vv_deletion_order *second = order_of(4, 1, 0, 50, 60);
    assert_int_equal(vv_deletions_prepare(deletions, first, 7), VV_OK);
    assert_int_equal(vv_deletions_prepare(deletions, second, 8), VV_OK);
    assert_int_equal(count(deletions, 3) + count(deletions, 4), 0);
    assert_false(vv_deletions_has(deletions, 3));
    vv_deletions_forget(deletions);
    assert_int_equal(count(deletions, 3) + count(deletions, 4), 0);
    assert_int_equal(vv_deletions_prepare(deletions, first, 9), VV_OK);
    assert_int_equal(vv_deletions_prepare(deletions, second, 10), VV_OK);
    vv_deletions_publish(deletions);
    assert_int_equal(count(deletions, 3), 1);
    assert_int_equal(count(deletions, 4), 2); /* of both, though they were prepared together */
    assert_true(vv_deletions_has(deletions, 3));
    assert_false(vv_deletions_has(deletions, 5));
    struct vv_deletions_figures figures;
    vv_deletions_read_figures(deletions, &figures);
    assert_int_equal(figures.sources, 2);
    assert_int_equal(figures.markers, 3);
    free(first);
    free(second);
    vv_deletions_destroy(deletions);
}

static void another_measurement_is_not_concerned(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    struct vv_deletion_order *order = order_of(1, 1, 1, 0, 10);
    order->scope = VV_DELETION_MEASUREMENT;
    order->numbers[0] = MEASUREMENT + 1;
    put(deletions, order, 5);
    assert_int_equal(count(deletions, 1), 0);
    order = order_of(1, 1, 1, 0, 10);
    order->scope = VV_DELETION_MEASUREMENT;
    order->numbers[0] = MEASUREMENT;
    put(deletions, order, 6);
    struct vv_deletion_list list;
    assert_int_equal(vv_deletions_of(deletions, 1, MEASUREMENT, &list), VV_OK);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.items[0].metric, VV_DELETION_ALL_METRICS);
    assert_true(vv_deletion_hides(&list.items[0], 9, 5));
    assert_false(vv_deletion_hides(&list.items[0], 9, 6)); /* its own stamp: written with it */
    assert_false(vv_deletion_hides(&list.items[0], 10, 5));
    vv_deletion_list_deinit(&list);
    vv_deletions_destroy(deletions);
}

static void markers_are_bounded_by_source_and_in_all(void **state)
{
    (void)state;
    struct vv_error error = {0};
    struct vv_deletions *deletions = create(100);
    for (int64_t i = 0; i < VV_MARKERS_OF_SOURCE_MAX; i++) {
        put(deletions, order_of(1, 1, 0, i * 10, i * 10 + 5), (vv_stamp)(1 + i));
    }
    struct vv_deletion_order *order = order_of(1, 1, 0, -10, -5);
    assert_int_equal(vv_deletions_check(deletions, order, &error), VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "64"));
    free(order);
    order = order_of(1, 1, 0, -10, 1000); /* covers all of them */
    assert_int_equal(vv_deletions_check(deletions, order, &error), VV_OK);
    free(order);
    order = order_of(10, 36, 0, 0, 1);
    assert_int_equal(vv_deletions_check(deletions, order, &error), VV_OK);
    free(order);
    order = order_of(10, 37, 0, 0, 1);
    assert_int_equal(vv_deletions_check(deletions, order, &error), VV_TOO_LARGE);
    assert_non_null(strstr(error.message, "deletion.markers_max"));
    free(order);
    order = order_of(2, 1, VV_MARKERS_OF_SOURCE_MAX + 1, 0, 1);
    assert_int_equal(vv_deletions_check(deletions, order, &error), VV_TOO_LARGE);
    free(order);
    vv_deletions_destroy(deletions);
}

static void note_swept(struct vv_deletions *deletions, uint32_t source, struct vv_marker *markers,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        markers[i].is_swept = true;
    }
    vv_deletions_note_done(deletions, source, markers, n);
}

static void records_bring_back_what_was_known_in_any_order(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    struct vv_deletions *other = create(1000);
    struct vv_buffer record = {0};
    put(deletions, order_of(2000, 1, 3, VV_TIME_MIN, VV_TIME_MAX + 1), 5);
    put(deletions, order_of(2000, 1, 0, 100, 200), 9);
    struct vv_marker markers[8];
    assert_int_equal(vv_deletions_read(deletions, 2000, VV_MARKER_UNSWEPT, markers, 8), 4);
    note_swept(deletions, 2000, markers, 2);
    assert_true(vv_deletions_encode(deletions, 2000, &record));
    assert_false(vv_deletions_encode(deletions, 2001, &record));
    struct vv_str text = {(const char *)record.data, record.size};
    put(other, order_of(2000, 1, 0, 100, 200), 9); /* the journal's came first */
    assert_int_equal(vv_deletions_apply(other, 2000, text, NULL), VV_OK);
    assert_int_equal(vv_deletions_apply(other, 2000, text, NULL), VV_OK);
    struct vv_marker again[8];
    assert_int_equal(vv_deletions_read(other, 2000, VV_MARKER_UNSWEPT, again, 8), 4);
    for (size_t i = 0; i < text.size; i++) { /* cut short */
        struct vv_str shorter = {text.data, i};
        assert_int_equal(vv_deletions_apply(other, 1, shorter, NULL), VV_CORRUPT);
    }
    record.data[0] = 2;
    assert_int_equal(vv_deletions_apply(other, 1, text, NULL), VV_NEWER);
    vv_buffer_deinit(&record);
    vv_deletions_destroy(deletions);
    vv_deletions_destroy(other);
}

static void what_is_swept_is_not_asked_for_again(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    struct vv_marker marker;
    put(deletions, order_of(5, 1, 0, 0, 10), 5);
    put(deletions, order_of(3000, 1, 0, 0, 10), 6);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNSWEPT), 5);
    assert_int_equal(vv_deletions_read(deletions, 5, VV_MARKER_UNSWEPT, &marker, 1), 1);
    assert_true(vv_deletions_overlap(deletions, 5, MEASUREMENT, 9, 20));
    assert_false(vv_deletions_overlap(deletions, 5, MEASUREMENT, 10, 20));
    assert_false(vv_deletions_overlap(deletions, 6, MEASUREMENT, 0, 10));
    put(deletions, order_of(5, 1, 0, 20, 30), 7); /* while it was swept */
    note_swept(deletions, 5, &marker, 1);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNSWEPT), 5);
    assert_false(vv_deletions_overlap(deletions, 5, MEASUREMENT, 0, 10));
    assert_true(vv_deletions_overlap(deletions, 5, MEASUREMENT, 0, 21));
    struct vv_marker both[2];
    assert_int_equal(vv_deletions_read(deletions, 5, VV_MARKER_UNSWEPT, both, 2), 2);
    note_swept(deletions, 5, both, 2);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNSWEPT), 3000);
    put(deletions, order_of(5, 1, 0, 40, 50), 8); /* is read before what is swept */
    assert_int_equal(vv_deletions_read(deletions, 5, VV_MARKER_UNSWEPT, &marker, 1), 3);
    assert_int_equal(marker.from, 40);
    note_swept(deletions, 5, &marker, 1);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNSWEPT), 3000);
    assert_int_equal(vv_deletions_next(deletions, 0, 0), 5);
    assert_int_equal(vv_deletions_next(deletions, 6, 0), 3000);
    assert_int_equal(vv_deletions_next(deletions, 3001, 0), UINT32_MAX);
    vv_deletions_destroy(deletions);
}

/* ---- what nodes tell each other ---- */

static struct vv_marker learnt_marker(int64_t from, int64_t to, vv_stamp stamp)
{
    return (struct vv_marker){
        .from = from, .to = to, .stamp = stamp, .scope = VV_DELETION_SOURCE, .is_told = true};
}

static void what_is_learnt_holds_beyond_the_bounds(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1);
    struct vv_marker markers[VV_MARKERS_OF_SOURCE_MAX + 8];
    size_t n = sizeof markers / sizeof *markers;
    for (size_t i = 0; i < n; i++) {
        int64_t from = (int64_t)i * 10;
        markers[i] = learnt_marker(from, from + 5, 7);
    }
    assert_int_equal(vv_deletions_newest(deletions, INT64_MAX), 0);
    assert_int_equal(vv_deletions_learn(deletions, 5, markers, n), VV_OK);
    assert_int_equal(vv_deletions_learn(deletions, 5, markers, n), VV_OK); /* changes nothing */
    assert_int_equal(count(deletions, 5), n);
    assert_int_equal(vv_deletions_newest(deletions, INT64_MAX), 7);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNTOLD), UINT32_MAX);
    vv_deletions_destroy(deletions);
}

static void what_is_learnt_while_an_order_is_prepared_holds_behind_it(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    struct vv_marker marker = learnt_marker(100, 200, 9);
    struct vv_deletion_order *order = order_of(5, 1, 0, 0, 10);
    assert_int_equal(vv_deletions_prepare(deletions, order, 12), VV_OK);
    assert_int_equal(vv_deletions_learn(deletions, 5, &marker, 1), VV_OK);
    assert_int_equal(count(deletions, 5), 1); /* at once */
    vv_deletions_publish(deletions);
    assert_int_equal(count(deletions, 5), 2);
    free(order);
    vv_deletions_destroy(deletions);
}

static void what_was_swept_is_told_again_and_then_not(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    struct vv_marker told = learnt_marker(0, 10, 5);
    assert_int_equal(vv_deletions_learn(deletions, 5, &told, 1), VV_OK);
    struct vv_marker swept = told;
    note_swept(deletions, 5, &swept, 1);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNTOLD), 5);
    vv_deletions_note_told(deletions, 5, &told, 1); /* as it was before */
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNTOLD), 5);
    assert_int_equal(vv_deletions_learn(deletions, 5, &told, 1), VV_OK); /* others don't know */
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNTOLD), 5);
    vv_deletions_note_told(deletions, 5, &swept, 1);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNTOLD), UINT32_MAX);
    vv_deletions_note_untold(deletions, 5);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNTOLD), 5);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNSWEPT), UINT32_MAX);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNCLEARED), 5);
    vv_deletions_destroy(deletions);
}

static void what_others_swept_need_not_be_swept(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    put(deletions, order_of(5, 1, 0, 0, 100), 5);
    struct vv_marker part = {.from = 20, .to = 30, .stamp = 5, .scope = VV_DELETION_SOURCE};
    struct vv_marker whole = {.from = 0, .to = 100, .stamp = 5, .scope = VV_DELETION_SOURCE};
    part.is_swept = true;
    whole.is_swept = true;
    struct vv_marker own;
    assert_int_equal(vv_deletions_read(deletions, 5, 0, &own, 1), 1);
    part.scope = own.scope;
    part.number = own.number;
    whole.scope = own.scope;
    whole.number = own.number;
    assert_int_equal(vv_deletions_learn(deletions, 5, &part, 1), VV_OK);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNSWEPT), 5);
    assert_int_equal(vv_deletions_learn(deletions, 5, &whole, 1), VV_OK);
    assert_int_equal(vv_deletions_next(deletions, 0, VV_MARKER_UNSWEPT), UINT32_MAX);
    vv_deletions_destroy(deletions);
}

static void a_marker_stays_while_a_journal_may_have_something_older(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    put(deletions, order_of(5, 1, 0, 0, 10), 5);
    assert_int_equal(vv_deletions_retire(deletions, 5, 10, 5, 0), 0);
    assert_int_equal(vv_deletions_retire(deletions, 5, 10, 6, 0), 1);
    vv_deletions_destroy(deletions);
}

static void a_marker_stays_until_it_is_swept(void **state)
{
    (void)state;
    struct vv_marker marker;
    struct vv_deletions *deletions = create(1000);
    put(deletions, order_of(5, 1, 0, 0, 10), 5);
    assert_int_equal(vv_deletions_retire(deletions, 5, 10, UINT64_MAX, VV_MARKER_UNSWEPT), 0);
    assert_int_equal(vv_deletions_read(deletions, 5, 0, &marker, 1), 1);
    marker.is_swept = true;
    vv_deletions_note_done(deletions, 5, &marker, 1);
    assert_int_equal(vv_deletions_retire(deletions, 5, 10, UINT64_MAX, VV_MARKER_UNSWEPT), 1);
    vv_deletions_destroy(deletions);
}

static void markers_that_end_early_enough_are_retired(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(1000);
    put(deletions, order_of(5, 1, 0, 0, 10), 5);
    put(deletions, order_of(5, 1, 0, 20, 30), 6);
    assert_int_equal(vv_deletions_retire(deletions, 5, 9, UINT64_MAX, 0), 0);
    assert_int_equal(vv_deletions_retire(deletions, 5, 10, UINT64_MAX, 0), 1);
    assert_int_equal(count(deletions, 5), 1);
    assert_int_equal(vv_deletions_retire(deletions, 5, 30, UINT64_MAX, 0), 1);
    assert_false(vv_deletions_has(deletions, 5));
    struct vv_deletions_figures figures;
    vv_deletions_read_figures(deletions, &figures);
    assert_int_equal(figures.sources + figures.markers, 0);
    vv_deletions_destroy(deletions);
}

static void without_memory_an_order_leaves_no_trace(void **state)
{
    (void)state;
    struct vv_deletions *deletions = create(10000);
    struct vv_deletion_order *order = order_of(1000, 100, 2, 0, 10); /* over two pages */
    put(deletions, order_of(1000, 3, 0, 50, 60), 5);
    uint64_t allocations = 1;
    enum vv_status status;
    do {
        vv_sim_memory_fail(allocations++);
        status = vv_deletions_prepare(deletions, order, 7);
        vv_sim_memory_fail(0);
        if (status != VV_OK) {
            assert_int_equal(status, VV_NO_MEMORY);
            vv_deletions_publish(deletions);
            assert_int_equal(count(deletions, 1000), 1);
            assert_int_equal(count(deletions, 1050), 0);
        }
    } while (status != VV_OK);
    assert_true(allocations > 100);
    vv_deletions_publish(deletions);
    assert_int_equal(count(deletions, 1000), 3);
    assert_int_equal(count(deletions, 1099), 2);
    free(order);
    vv_deletions_destroy(deletions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_hidden_before_it_is_published),
        cmocka_unit_test(another_measurement_is_not_concerned),
        cmocka_unit_test(markers_are_bounded_by_source_and_in_all),
        cmocka_unit_test(records_bring_back_what_was_known_in_any_order),
        cmocka_unit_test(what_is_swept_is_not_asked_for_again),
        cmocka_unit_test(without_memory_an_order_leaves_no_trace),
        cmocka_unit_test(what_is_learnt_holds_beyond_the_bounds),
        cmocka_unit_test(what_is_learnt_while_an_order_is_prepared_holds_behind_it),
        cmocka_unit_test(what_was_swept_is_told_again_and_then_not),
        cmocka_unit_test(what_others_swept_need_not_be_swept),
        cmocka_unit_test(a_marker_stays_while_a_journal_may_have_something_older),
        cmocka_unit_test(a_marker_stays_until_it_is_swept),
        cmocka_unit_test(markers_that_end_early_enough_are_retired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
