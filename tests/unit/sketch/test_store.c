/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bins: order, collapsing, and each allocation that fails. store.c holds all allocations of
 * the sketch; it is built into this test with an allocator that can fail.
 */
#include <stdbool.h>
#include <stdlib.h>

static unsigned n_calls;
static unsigned failing_call; /* 0 = none */

static void *test_malloc(size_t size)
{
    n_calls++;
    return n_calls == failing_call ? NULL : malloc(size);
}

#define malloc test_malloc
#include "sketch/store.c"
#undef malloc

#include "samples.h"

static void bins_are_sorted_and_summed(void **state)
{
    (void)state;
    struct vv_sketch_store store = {0};
    static const int32_t indexes[] = {5, -3, 5, 100, 0, -3, 5};
    static const int32_t sorted[] = {-3, 0, 5, 100};
    static const uint64_t counts[] = {2, 1, 3, 1};
    for (size_t i = 0; i < 7; i++) {
        assert_true(vv_sketch_store_add(&store, indexes[i], 1));
    }
    assert_int_equal(store.n_bins, 4);
    assert_int_equal(store.total, 7);
    assert_memory_equal(store.indexes, sorted, sizeof sorted);
    assert_memory_equal(store.counts, counts, sizeof counts);
    vv_sketch_store_deinit(&store);
    assert_null(store.counts);
}

static void a_full_store_collapses_its_lowest_bins(void **state)
{
    (void)state;
    struct vv_sketch_store store = {0};
    for (int32_t i = 0; i < (int32_t)VV_SKETCH_BINS_MAX; i++) {
        assert_true(vv_sketch_store_add(&store, 2 * i, 1));
    }
    assert_false(store.collapsed);
    assert_true(vv_sketch_store_add(&store, -1, 10)); /* below all: into the lowest */
    assert_true(store.collapsed && store.indexes[0] == 0 && store.counts[0] == 11);
    assert_true(vv_sketch_store_add(&store, 1, 1)); /* the new lowest takes all below it */
    assert_true(store.indexes[0] == 1 && store.counts[0] == 12 && store.indexes[1] == 2);
    assert_true(vv_sketch_store_add(&store, 100000, 1)); /* now bin 2 is the lowest */
    assert_true(store.indexes[0] == 2 && store.counts[0] == 13);
    assert_int_equal(store.n_bins, VV_SKETCH_BINS_MAX);
    assert_int_equal(store.total, VV_SKETCH_BINS_MAX + 12);
    vv_sketch_store_deinit(&store);
}

static void a_failed_add_changes_nothing(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    struct vv_sketch same;
    unsigned n_failed = 0;
    (void)vv_sketch_init(&sketch, 0.0);
    (void)vv_sketch_init(&same, 0.0);
    for (int i = 1; i < 200; i++) {
        double value = pow(-1.1, i);
        n_calls = 0;
        failing_call = 1;
        bool added = vv_sketch_add(&sketch, value, 1);
        failing_call = 0;
        n_failed += added ? 0 : 1;
        if (!added) {
            assert_sketch_equal(&sketch, &same);
            add_one(&sketch, value);
        }
        add_one(&same, value);
        assert_sketch_equal(&sketch, &same);
    }
    assert_true(n_failed >= 10);
    vv_sketch_deinit(&sketch);
    vv_sketch_deinit(&same);
}

/* Bins that are few, near each other, far apart, and more than there are. */
static void adding_many_tells_of_each_failed_allocation(void **state)
{
    (void)state;
    static const int32_t distances[] = {1, 50, 1000000};
    for (size_t d = 0; d < 3; d++) {
        for (unsigned call = 1;; call++) {
            struct vv_sketch_store store = {0};
            int32_t indexes[40];
            for (int32_t i = 0; i < 40; i++) {
                indexes[i] = i * 7 % 10 * distances[d];
            }
            n_calls = 0;
            failing_call = call;
            bool added = vv_sketch_store_add_many(&store, indexes, 3) &&
                         vv_sketch_store_add_many(&store, indexes, 40);
            bool failed = n_calls >= call;
            failing_call = 0;
            assert_int_equal(added, !failed);
            assert_true(vv_sketch_store_add_many(&store, indexes, 40));
            assert_true(store.total >= 40 && store.n_bins == 10);
            vv_sketch_store_deinit(&store);
            if (!failed) {
                assert_true(call > 1 && store.n_bins == 0);
                break;
            }
        }
    }
}

static void a_failed_merge_changes_nothing(void **state)
{
    (void)state;
    struct vv_random random = {221};
    struct vv_sketch from;
    (void)vv_sketch_init(&from, 0.0);
    for (size_t i = 0; i < 300; i++) {
        add_one(&from, sample(DISTRIBUTION_AROUND_ZERO, &random));
    }
    for (unsigned call = 1;; call++) {
        struct vv_sketch into;
        struct vv_sketch before;
        (void)vv_sketch_init(&into, 0.0);
        (void)vv_sketch_init(&before, 0.0);
        add_one(&into, 1e6);
        add_one(&into, -1e6);
        assert_true(vv_sketch_merge(&before, &into));
        n_calls = 0;
        failing_call = call;
        bool merged = vv_sketch_merge(&into, &from);
        bool failed = n_calls >= call;
        failing_call = 0;
        assert_int_equal(merged, !failed);
        if (failed) {
            assert_sketch_equal(&into, &before);
        }
        vv_sketch_deinit(&into);
        vv_sketch_deinit(&before);
        if (!failed) {
            assert_int_equal(call, 3);
            break;
        }
    }
    vv_sketch_deinit(&from);
}

static void a_failed_decode_holds_nothing(void **state)
{
    (void)state;
    struct vv_sketch sketch;
    (void)vv_sketch_init(&sketch, 0.0);
    add_one(&sketch, 1.0);
    add_one(&sketch, -1.0);
    struct encoded_sketch encoded = encode_sketch(&sketch);
    vv_sketch_deinit(&sketch);
    for (unsigned call = 1; call <= 2; call++) {
        n_calls = 0;
        failing_call = call;
        assert_int_equal(vv_sketch_decode(encoded.bytes, encoded.size, &sketch),
                         VV_SKETCH_NO_MEMORY);
        failing_call = 0;
        assert_int_equal(vv_sketch_memory_bytes(&sketch), sizeof sketch);
    }
    free(encoded.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_are_sorted_and_summed),
        cmocka_unit_test(a_full_store_collapses_its_lowest_bins),
        cmocka_unit_test(a_failed_add_changes_nothing),
        cmocka_unit_test(adding_many_tells_of_each_failed_allocation),
        cmocka_unit_test(a_failed_merge_changes_nothing),
        cmocka_unit_test(a_failed_decode_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
