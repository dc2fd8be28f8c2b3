/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of sources, in place, few and many: against a model. */
#include "registry/source_set.h"

#include "base/random.h"
#include "registry_fixture.h"

#define RANGE 3000u

static void assert_same(const struct vv_source_set *set, const bool *present)
{
    roaring_bitmap_t *bitmap = roaring_bitmap_create();
    roaring_bitmap_add(bitmap, RANGE); /* join adds to what is there */
    vv_source_set_join(set, bitmap);
    uint32_t count = 0;
    for (uint32_t i = 0; i < RANGE; i++) {
        assert_int_equal(roaring_bitmap_contains(bitmap, i), present[i]);
        count += present[i];
    }
    assert_true(roaring_bitmap_contains(bitmap, RANGE));
    assert_int_equal(set->count, count);
    roaring_bitmap_free(bitmap);
}

static void toggle(struct vv_source_set *set, bool *present, uint32_t source)
{
    if (present[source]) {
        vv_source_set_remove(set, source);
    } else {
        assert_true(vv_source_set_reserve(set));
        vv_source_set_add(set, source);
    }
    present[source] = !present[source];
}

static void grows_and_shrinks(void **state)
{
    (void)state;
    struct vv_source_set set = {0};
    static bool present[RANGE];
    memset(present, 0, sizeof present);
    assert_same(&set, present);
    for (uint32_t i = 0; i < 200; i++) {
        toggle(&set, present, (i * 37) % 200);
        assert_same(&set, present);
    }
    for (uint32_t i = 0; i < 200; i++) {
        toggle(&set, present, (i * 61) % 200);
        assert_same(&set, present);
    }
    assert_int_equal(set.count, 0);
    assert_int_equal(vv_source_set_bytes(&set), 0);
    vv_source_set_deinit(&set);
}

static void random_changes(void **state)
{
    (void)state;
    const uint64_t seed = 3;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    static const uint32_t ranges[] = {2, 5, 70, 200, RANGE};
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        struct vv_source_set set = {0};
        static bool present[RANGE];
        memset(present, 0, sizeof present);
        for (int step = 0; step < 3000; step++) {
            toggle(&set, present, (uint32_t)vv_random_below(&random, ranges[r]));
            if (step % 50 == 0) {
                assert_same(&set, present);
            }
        }
        assert_same(&set, present);
        vv_source_set_deinit(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_shrinks),
        cmocka_unit_test(random_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
