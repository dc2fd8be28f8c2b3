/* SPDX-License-Identifier: Apache-2.0 */
/* Hash tables from text to number, pools and objects by number. */
#include "registry/names.h"

#include "base/random.h"
#include "registry/objects.h"
#include "registry_fixture.h"

#define COUNT 5000u

/* The text of a number is the number; this many share a hash. */
static bool is_number(const void *context, uint32_t number)
{
    return *(const uint32_t *)context == number;
}

static uint64_t weak_hash(uint32_t number)
{
    return (number % 97) * UINT64_C(0x100000001);
}

static void names_are_found(void **state)
{
    (void)state;
    struct vv_names names = {0};
    uint32_t wanted = 5;
    assert_int_equal(vv_names_find(&names, 1, is_number, &wanted), VV_NAME_NONE);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(vv_names_reserve(&names));
        vv_names_add(&names, weak_hash(i), i);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(vv_names_find(&names, weak_hash(i), is_number, &i), i);
    }
    wanted = COUNT;
    assert_int_equal(vv_names_find(&names, weak_hash(COUNT), is_number, &wanted), VV_NAME_NONE);
    vv_names_deinit(&names);
}

static void slots_follow_a_model(void **state)
{
    (void)state;
    const uint64_t seed = 11;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    struct vv_slots slots = {0};
    static bool present[512];
    size_t count = 0;
    for (int step = 0; step < 40000; step++) {
        uint32_t number = (uint32_t)vv_random_below(&random, 512);
        uint32_t found = vv_slots_find(&slots, weak_hash(number), is_number, &number);
        assert_int_equal(found, present[number] ? number : VV_NAME_NONE);
        if (present[number]) {
            vv_slots_remove(&slots, (uint32_t)weak_hash(number), number);
            count--;
        } else {
            assert_true(vv_slots_reserve(&slots));
            vv_slots_add(&slots, weak_hash(number), number);
            count++;
        }
        present[number] = !present[number];
        assert_int_equal(slots.count, count);
    }
    for (uint32_t i = 0; i < 512; i++) {
        uint32_t found = vv_slots_find(&slots, weak_hash(i), is_number, &i);
        assert_int_equal(found, present[i] ? i : VV_NAME_NONE);
    }
    vv_slots_deinit(&slots);
}

static void hashes_depend_on_secret_owner_and_text(void **state)
{
    (void)state;
    uint8_t a[VV_HASH_SECRET_SIZE];
    uint8_t b[VV_HASH_SECRET_SIZE];
    assert_int_equal(vv_hash_secret(a), VV_OK);
    assert_int_equal(vv_hash_secret(b), VV_OK);
    uint64_t hash = vv_hash(a, 1, TEXT("host"));
    assert_true(hash == vv_hash(a, 1, TEXT("host")));
    assert_true(hash != vv_hash(b, 1, TEXT("host")));
    assert_true(hash != vv_hash(a, 2, TEXT("host")));
    assert_true(hash != vv_hash(a, 1, TEXT("hosu")));
}

static void pools_use_numbers_again(void **state)
{
    (void)state;
    struct vv_pool pool = {0};
    static uint64_t items[100];
    assert_null(vv_pool_at(&pool, 0));
    for (uint32_t i = 0; i < 100; i++) {
        assert_true(vv_pool_reserve(&pool));
        assert_int_equal(vv_pool_put(&pool, &items[i]), i);
    }
    vv_pool_drop(&pool, 40);
    vv_pool_drop(&pool, 7);
    assert_null(vv_pool_at(&pool, 40));
    assert_null(vv_pool_at(&pool, 7));
    assert_null(vv_pool_at(&pool, 100));
    assert_true(vv_pool_reserve(&pool));
    assert_int_equal(vv_pool_put(&pool, &items[7]), 7);
    assert_int_equal(vv_pool_put(&pool, &items[40]), 40);
    for (uint32_t i = 0; i < 100; i++) {
        assert_ptr_equal(vv_pool_at(&pool, i), &items[i]);
    }
    vv_pool_deinit(&pool);
}

static void objects_stay_where_they_are(void **state)
{
    (void)state;
    struct vv_objects objects;
    assert_int_equal(vv_objects_init(&objects, 24, 3, 1000), VV_OK);
    assert_null(vv_objects_at(&objects, 0));
    uint8_t *first = vv_objects_room(&objects, 0);
    assert_non_null(first);
    assert_int_equal(vv_objects_end(&objects), 0);
    vv_objects_use(&objects, 0);
    assert_int_equal(vv_objects_end(&objects), 1);
    for (uint32_t i = 0; i < 1000; i++) {
        uint8_t *item = vv_objects_room(&objects, i);
        assert_non_null(item);
        assert_int_equal(item[23], 0);
        item[23] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(((uint8_t *)vv_objects_at(&objects, i))[23], (uint8_t)i);
    }
    assert_ptr_equal(vv_objects_at(&objects, 0), first);
    assert_true(vv_objects_can_hold(&objects, 8 * VV_OBJECT_CHUNKS - 1));
    assert_false(vv_objects_can_hold(&objects, 8 * VV_OBJECT_CHUNKS));
    assert_null(vv_objects_at(&objects, UINT32_MAX));
    vv_objects_deinit(&objects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(slots_follow_a_model),
        cmocka_unit_test(hashes_depend_on_secret_owner_and_text),
        cmocka_unit_test(pools_use_numbers_again),
        cmocka_unit_test(objects_stay_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
