/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the arena. */
#include "base/arena.h"
#include "base/random.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_allocations_are_aligned_and_apart(void **state)
{
    (void)state;
    struct vv_random random = {5};
    struct vv_arena arena = {0};
    enum { COUNT = 3000 };
    static uint8_t *memory[COUNT];
    static size_t sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = (size_t)vv_random_below(&random, i % 100 ? 64 : 20000);
        memory[i] = vv_arena_alloc(&arena, sizes[i]);
        assert_non_null(memory[i]);
        assert_int_equal((uintptr_t)memory[i] % 8, 0);
        memset(memory[i], (int)(i & 0xFF), sizes[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < sizes[i]; j++) {
            assert_int_equal(memory[i][j], i & 0xFF);
        }
    }
    vv_arena_deinit(&arena);
    assert_int_equal(arena.bytes, 0);
}

static void test_little_is_held_for_little(void **state)
{
    (void)state;
    struct vv_arena arena = {0};
    assert_non_null(vv_arena_alloc(&arena, 0));
    assert_in_range(arena.bytes, 1, 8192);
    vv_arena_deinit(&arena);
    size_t used = 0;
    for (size_t i = 0; i < 100000; i++) {
        assert_non_null(vv_arena_alloc(&arena, 48));
        used += 48;
    }
    assert_in_range(arena.bytes, used, used + used / 2);
    vv_arena_deinit(&arena);
}

static void test_a_large_one_wastes_no_chunk(void **state)
{
    (void)state;
    struct vv_arena arena = {0};
    uint8_t *small = vv_arena_alloc(&arena, 16);
    size_t left = arena.left;
    assert_non_null(vv_arena_alloc(&arena, 100000));
    assert_int_equal(arena.left, left);
    assert_ptr_equal(vv_arena_alloc(&arena, 16), small + 16);
    vv_arena_deinit(&arena);
}

static void test_strings_are_copied_and_terminated(void **state)
{
    (void)state;
    struct vv_arena arena = {0};
    struct vv_str copy = vv_arena_str(&arena, (struct vv_str){"abcdef", 3});
    assert_int_equal(copy.size, 3);
    assert_string_equal(copy.data, "abc");
    copy = vv_arena_str(&arena, (struct vv_str){NULL, 0});
    assert_string_equal(copy.data, "");
    uint8_t *zeros = vv_arena_zalloc(&arena, 100);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(zeros[i], 0);
    }
    vv_arena_deinit(&arena);
}

static void test_failed_allocations_give_null(void **state)
{
    (void)state;
    struct vv_arena arena = {0};
    vv_sim_memory_fail(1);
    assert_null(vv_arena_alloc(&arena, 10));
    assert_true(vv_sim_memory_failed());
    assert_int_equal(arena.bytes, 0);
    assert_non_null(vv_arena_alloc(&arena, 10));
    vv_sim_memory_fail(1);
    assert_null(vv_arena_str(&arena, (struct vv_str){(const char[10000]){"x"}, 10000}).data);
    assert_true(vv_sim_memory_failed());
    assert_null(vv_arena_alloc(&arena, SIZE_MAX));
    assert_null(vv_arena_zalloc(&arena, SIZE_MAX - 7));
    assert_null(vv_arena_str(&arena, (struct vv_str){"", SIZE_MAX}).data);
    vv_arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_are_aligned_and_apart),
        cmocka_unit_test(test_little_is_held_for_little),
        cmocka_unit_test(test_a_large_one_wastes_no_chunk),
        cmocka_unit_test(test_strings_are_copied_and_terminated),
        cmocka_unit_test(test_failed_allocations_give_null),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
