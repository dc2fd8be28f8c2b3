/* SPDX-License-Identifier: Apache-2.0 */
/* The skip list against a sorted array. */
#include "store/memory/map.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define SEED 20260104
#define KEYS 500

/* The value of each key that is in the map, 0 for none; keys are decimal texts of three digits. */
static int values[KEYS];

static struct vv_str text_of(int number, char *out)
{
    int length = snprintf(out, 16, "%03d", number);
    return (struct vv_str){out, (size_t)length};
}

static void check(const struct vv_memory_map *map)
{
    const struct vv_memory_node *node = map->first[0];
    for (int i = 0; i < KEYS; i++) {
        char text[16];
        struct vv_str key = text_of(i, text);
        if (values[i] == 0) {
            assert_null(vv_memory_map_find(map, key));
            continue;
        }
        assert_non_null(node);
        assert_true(vv_str_equal(node->key, key));
        char value[16];
        assert_true(vv_str_equal(node->value, text_of(values[i], value)));
        assert_ptr_equal(vv_memory_map_find(map, key), node);
        node = node->next[0];
    }
    assert_null(node);
}

static void check_neighbours(const struct vv_memory_map *map, int number)
{
    char text[16];
    struct vv_str key = text_of(number, text);
    int after = number;
    int before = number - 1;
    while (after < KEYS && values[after] == 0) {
        after++;
    }
    while (before >= 0 && values[before] == 0) {
        before--;
    }
    const struct vv_memory_node *next = vv_memory_map_seek(map, key);
    const struct vv_memory_node *last = vv_memory_map_before(map, key);
    char expected[16];
    assert_int_equal(next != NULL, after < KEYS);
    assert_true(!next || vv_str_equal(next->key, text_of(after, expected)));
    assert_int_equal(last != NULL, before >= 0);
    assert_true(!last || vv_str_equal(last->key, text_of(before, expected)));
}

static void any_changes_keep_the_order(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    struct vv_memory_map map = {0};
    memset(values, 0, sizeof values);
    for (int round = 1; round < 20000; round++) {
        int number = (int)vv_random_below(&random, KEYS);
        char key_text[16];
        char value_text[16];
        struct vv_str key = text_of(number, key_text);
        if (vv_random_below(&random, 2)) {
            struct vv_memory_node *node =
                vv_memory_node_create(&map, key, text_of(round, value_text));
            assert_non_null(node);
            struct vv_memory_node *old = vv_memory_map_link(&map, node);
            assert_int_equal(old != NULL, values[number] != 0);
            free(old);
            values[number] = round;
        } else {
            struct vv_memory_node *old = vv_memory_map_unlink(&map, key);
            assert_int_equal(old != NULL, values[number] != 0);
            free(old);
            values[number] = 0;
        }
        check_neighbours(&map, (int)vv_random_below(&random, KEYS));
        if (round % 500 == 0) {
            check(&map);
        }
    }
    const struct vv_memory_node *last = vv_memory_map_before(&map, (struct vv_str){0});
    assert_non_null(last);
    assert_null(last->next[0]);
    assert_true(map.bytes > 0);
    for (int i = 0; i < KEYS; i++) {
        char text[16];
        free(vv_memory_map_unlink(&map, text_of(i, text)));
    }
    assert_int_equal(map.bytes, 0);
    assert_null(map.first[0]);
}

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    struct vv_memory_map map = {0};
    assert_null(vv_memory_map_seek(&map, VV_STR_LITERAL("")));
    assert_null(vv_memory_map_before(&map, VV_STR_LITERAL("a")));
    assert_null(vv_memory_map_before(&map, (struct vv_str){0}));
    assert_null(vv_memory_map_find(&map, VV_STR_LITERAL("a")));
    assert_null(vv_memory_map_unlink(&map, VV_STR_LITERAL("a")));
    vv_memory_map_clear(&map);
}

static void empty_keys_and_values_are_kept(void **state)
{
    (void)state;
    struct vv_memory_map map = {0};
    struct vv_memory_node *node =
        vv_memory_node_create(&map, VV_STR_LITERAL(""), (struct vv_str){0});
    assert_non_null(node);
    assert_null(vv_memory_map_link(&map, node));
    assert_ptr_equal(vv_memory_map_find(&map, VV_STR_LITERAL("")), node);
    assert_int_equal(node->value.size, 0);
    vv_memory_map_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_changes_keep_the_order),
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(empty_keys_and_values_are_kept),
    };
    print_message("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
