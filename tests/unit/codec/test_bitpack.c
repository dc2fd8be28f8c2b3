/* SPDX-License-Identifier: Apache-2.0 */
/* Packing at every width and count comes back, and touches no byte that is not its own. */
#include "codec/bitpack.h"

#include "shapes.h"

#define COUNT_MAX 130u

static uint64_t mask_of(unsigned width)
{
    return width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
}

static void pack_and_unpack(struct vv_random *random, size_t count, unsigned width)
{
    uint64_t values[COUNT_MAX];
    uint64_t unpacked[COUNT_MAX];
    size_t size = vv_bitpack_size(count, width);
    uint8_t *packed = exact_array(size + VV_BITPACK_SLACK, 1);
    for (size_t i = 0; i < count; i++) {
        values[i] = vv_random_next(random);
    }
    memset(packed + size, 0x5a, VV_BITPACK_SLACK);
    vv_bitpack(values, count, width, packed);
    for (size_t i = 0; i < VV_BITPACK_SLACK; i++) {
        assert_int_equal(packed[size + i], 0x5a);
    }
    vv_bitunpack(packed, count, width, unpacked);
    for (size_t i = 0; i < count; i++) {
        assert_true(unpacked[i] == (values[i] & mask_of(width)));
        if (width <= 57) {
            assert_true(vv_bitpack_get(packed, i, width) == unpacked[i]);
        }
    }
    free(packed);
}

static void every_width_and_count(void **state)
{
    (void)state;
    struct vv_random random = {11};
    for (unsigned width = 0; width <= 64; width++) {
        for (size_t count = 0; count <= COUNT_MAX; count++) {
            pack_and_unpack(&random, count, width);
        }
    }
}

static void bits_stand_lowest_first(void **state)
{
    (void)state;
    const uint64_t values[] = {1, 2, 3, 4, 5};
    uint8_t packed[2];
    vv_bitpack(values, 5, 3, packed);
    assert_int_equal(packed[0], 0xd1); /* 11 010 001 */
    assert_int_equal(packed[1], 0x58); /* 0 101 100 0 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_and_count),
        cmocka_unit_test(bits_stand_lowest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
