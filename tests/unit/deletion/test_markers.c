/* SPDX-License-Identifier: Apache-2.0 */
/* Uniting markers: whatever their order, they hide exactly what they hid one by one. */
#include "base/random.h"
#include "deletion/private.h"
#include "model/partition.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define TIMES  24
#define STAMPS 12
#define PARTS  4 /* metrics 0 … 3; 0 and 1 of measurement 0, 2 and 3 of measurement 1 */

static bool hides(const struct vv_marker *marker, uint32_t metric, int64_t time, vv_stamp stamp)
{
    bool part = marker->scope == VV_DELETION_SOURCE ||
                (marker->scope == VV_DELETION_MEASUREMENT && marker->number == metric / 2) ||
                (marker->scope == VV_DELETION_METRIC && marker->number == metric);
    return part && time >= marker->from && time < marker->to && stamp < marker->stamp;
}

static bool any_hides(const struct vv_marker *markers, size_t n, uint32_t metric, int64_t time,
                      vv_stamp stamp)
{
    for (size_t i = 0; i < n; i++) {
        if (hides(&markers[i], metric, time, stamp)) {
            return true;
        }
    }
    return false;
}

static struct vv_marker random_marker(struct vv_random *random)
{
    int64_t from = (int64_t)vv_random_below(random, TIMES);
    struct vv_marker marker = {
        .from = from,
        .to = from + 1 + (int64_t)vv_random_below(random, TIMES),
        .stamp = 1 + vv_random_below(random, STAMPS),
        .scope = (uint8_t)(1 + vv_random_below(random, 3)),
    };
    marker.number = marker.scope == VV_DELETION_SOURCE        ? 0
                    : marker.scope == VV_DELETION_MEASUREMENT ? (uint32_t)(from % 2)
                                                              : (uint32_t)(from % PARTS);
    return marker;
}

static void uniting_hides_the_same_points_in_any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct vv_random random = {seed};
        struct vv_marker all[40];
        struct vv_markers markers = {0};
        size_t n = 1 + vv_random_below(&random, 40);
        for (size_t i = 0; i < n; i++) {
            all[i] = random_marker(&random);
            assert_int_equal(vv_markers_add(&markers, &all[i]), VV_OK);
        }
        for (int64_t time = 0; time < 2 * TIMES; time++) {
            for (vv_stamp stamp = 0; stamp <= STAMPS; stamp++) {
                for (uint32_t metric = 0; metric < PARTS; metric++) {
                    if (any_hides(all, n, metric, time, stamp) !=
                        any_hides(markers.items, markers.n, metric, time, stamp)) {
                        fail_msg("seed %d: metric %u, time %d, stamp %d", (int)seed,
                                 (unsigned)metric, (int)time, (int)stamp);
                    }
                }
            }
        }
        free(markers.items);
    }
}

static void add(struct vv_markers *markers, int64_t from, int64_t to, vv_stamp stamp)
{
    const struct vv_marker marker = {
        .from = from, .to = to, .stamp = stamp, .scope = VV_DELETION_SOURCE};
    assert_int_equal(vv_markers_add(markers, &marker), VV_OK);
}

static void what_a_newer_marker_covers_takes_no_room(void **state)
{
    (void)state;
    struct vv_markers markers = {0};
    for (int64_t i = 0; i < 50; i++) {
        add(&markers, i * 10, i * 10 + 10, (vv_stamp)(1 + i));
    }
    assert_int_equal(markers.n, 50);
    add(&markers, 0, 500, 100);
    assert_int_equal(markers.n, 1);
    add(&markers, 100, 200, 50); /* replayed */
    assert_int_equal(markers.n, 1);
    add(&markers, 500, 600, 100); /* adjacent, of the same order */
    assert_int_equal(markers.n, 1);
    assert_int_equal(markers.items[0].to, 600);
    free(markers.items);
}

/* A marker that comes again from the journal must not have its spans looked for again. */
static void what_is_swept_stays_swept_when_it_comes_again(void **state)
{
    (void)state;
    struct vv_markers markers = {0};
    add(&markers, 0, 100, 7);
    markers.items[0].is_swept = true;
    add(&markers, 10, 20, 7);
    assert_int_equal(markers.n, 1);
    assert_true(markers.items[0].is_swept);
    add(&markers, 90, 110, 7);
    assert_int_equal(markers.n, 1);
    assert_false(markers.items[0].is_swept);
    free(markers.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniting_hides_the_same_points_in_any_order),
        cmocka_unit_test(what_a_newer_marker_covers_takes_no_room),
        cmocka_unit_test(what_is_swept_stays_swept_when_it_comes_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
