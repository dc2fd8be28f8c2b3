/* SPDX-License-Identifier: Apache-2.0 */
/* Tables: used for few distinct numbers only, and safe on places that do not exist. */
#include "codec/table.h"

#include "codec/bitpack.h"
#include "shapes.h"

#define COUNT 400u

static void few_numbers_make_a_table(void **state)
{
    (void)state;
    struct vv_random random = {61};
    uint64_t numbers[COUNT];
    uint64_t read[COUNT];
    struct vv_table table;
    struct vv_scratch *scratch = vv_scratch_acquire();
    fill_shape(SHAPE_FEW_VALUES, &random, COUNT, numbers);
    assert_int_equal(vv_table_plan(scratch, VV_SCRATCH_TABLE_A, numbers, COUNT, 2000, &table),
                     VV_BLOCK_OK);
    assert_int_equal(table.n_entries, 20);
    assert_true(table.size > 20 * 8 && table.size < 20 * 8 + COUNT);
    uint8_t *bytes = exact_array(table.size + VV_BITPACK_SLACK, 1);
    struct vv_writer writer = {bytes, bytes + table.size, false};
    vv_table_write(&table, &writer);
    assert_true(!writer.overflowed && writer.at == writer.end);
    struct vv_reader reader = {bytes, bytes + table.size, false};
    assert_true(vv_table_read(&reader, COUNT, read));
    assert_memory_equal(read, numbers, sizeof read);
    bytes[0] = 18; /* one entry less: the last eight bytes are taken for groups */
    struct vv_reader damaged = {bytes, bytes + table.size, false};
    assert_false(vv_table_read(&damaged, COUNT, read));
    free(bytes);
    vv_scratch_release();
}

static void too_many_numbers_make_none(void **state)
{
    (void)state;
    uint64_t numbers[COUNT];
    struct vv_table table;
    struct vv_scratch *scratch = vv_scratch_acquire();
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] = i < 257 ? i << 40 : 0;
    }
    assert_int_equal(vv_table_plan(scratch, VV_SCRATCH_TABLE_A, numbers, COUNT, 8 * COUNT, &table),
                     VV_BLOCK_OK);
    assert_int_equal(table.size, 0);
    assert_int_equal(vv_table_plan(scratch, VV_SCRATCH_TABLE_A, numbers, 256, 8 * COUNT, &table),
                     VV_BLOCK_OK);
    assert_int_equal(table.n_entries, 256);
    assert_int_equal(vv_table_plan(scratch, VV_SCRATCH_TABLE_A, numbers, 256, 1000, &table),
                     VV_BLOCK_OK);
    assert_int_equal(table.size, 0);
    vv_scratch_release();
}

static void a_place_behind_the_table_is_refused(void **state)
{
    (void)state;
    uint64_t read[3];
    uint8_t bytes[1 + 16 + 3 + VV_BITPACK_SLACK] = {1}; /* two entries */
    bytes[17] = 2;                                      /* width */
    bytes[19] = 0x24;                                   /* places 0, 1, 2 */
    struct vv_reader reader = {bytes, bytes + 20, false};
    assert_false(vv_table_read(&reader, 3, read));
    bytes[19] = 0x14; /* places 0, 1, 1 */
    struct vv_reader good = {bytes, bytes + 20, false};
    assert_true(vv_table_read(&good, 3, read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_numbers_make_a_table),
        cmocka_unit_test(too_many_numbers_make_none),
        cmocka_unit_test(a_place_behind_the_table_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
