/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences: the right form for each shape, all forms exact, damaged ones refused. */
#include "codec/sequence.h"

#include "codec/bitpack.h"
#include "shapes.h"

#define COUNT_MAX 1000u

static size_t round_trip(const uint64_t *numbers, size_t count, int zstd_level,
                         enum vv_form *form_out)
{
    struct vv_scratch *scratch = vv_scratch_acquire();
    struct vv_sequence_plan plan;
    assert_int_equal(
        vv_sequence_plan(scratch, VV_SEQUENCE_A, zstd_level, numbers, count, false, &plan),
        VV_BLOCK_OK);
    size_t size = vv_sequence_headed_size(&plan);
    uint8_t *bytes = exact_array(size + VV_BITPACK_SLACK, 1);
    uint64_t *read = exact_array(count, sizeof *read);
    struct vv_writer writer = {bytes, bytes + size, false};
    vv_sequence_write_headed(&plan, &writer);
    assert_true(!writer.overflowed && writer.at == writer.end);
    struct vv_reader reader = {bytes, bytes + size, false};
    assert_int_equal(vv_sequence_read_headed(scratch, &reader, count, read), VV_BLOCK_OK);
    assert_memory_equal(read, numbers, count * sizeof *read);
    struct vv_reader longer = {bytes, bytes + size + 1, false};
    assert_int_not_equal(vv_sequence_read_headed(scratch, &longer, count, read), VV_BLOCK_OK);
    struct vv_reader shorter = {bytes, bytes + size - 1, false};
    assert_int_not_equal(vv_sequence_read_headed(scratch, &shorter, count, read), VV_BLOCK_OK);
    free(bytes);
    free(read);
    *form_out = plan.form;
    return size;
}

static void every_shape_count_and_level(void **state)
{
    (void)state;
    struct vv_random random = {71};
    uint64_t numbers[COUNT_MAX];
    enum vv_form form;
    for (int shape = 0; shape < SHAPE_END; shape++) {
        for (size_t count = 1; count <= COUNT_MAX; count += count < 20 ? 1 : 97) {
            fill_shape((enum shape)shape, &random, count, numbers);
            size_t plain = round_trip(numbers, count, 0, &form);
            size_t compressed = round_trip(numbers, count, 3, &form);
            assert_true(plain <= 2 + 8 * count);
            assert_true(compressed <= plain);
        }
    }
    vv_scratch_release();
}

static void assert_form(const uint64_t *numbers, size_t count, int zstd_level, enum vv_form form)
{
    enum vv_form chosen;
    round_trip(numbers, count, zstd_level, &chosen);
    assert_int_equal(chosen, form);
}

static void each_form_has_its_use(void **state)
{
    (void)state;
    struct vv_random random = {72};
    uint64_t numbers[COUNT_MAX];
    fill_shape(SHAPE_INT_CONSTANT, &random, COUNT_MAX, numbers);
    assert_form(numbers, COUNT_MAX, 3, VV_FORM_CONSTANT);
    fill_shape(SHAPE_INT_NOISE, &random, COUNT_MAX, numbers);
    assert_form(numbers, COUNT_MAX, 0, VV_FORM_DIRECT);
    fill_shape(SHAPE_INT_COUNTER, &random, COUNT_MAX, numbers);
    assert_form(numbers, COUNT_MAX, 0, VV_FORM_DELTA);
    fill_shape(SHAPE_INT_PARABOLA, &random, COUNT_MAX, numbers);
    assert_form(numbers, COUNT_MAX, 0, VV_FORM_DELTA2);
    fill_shape(SHAPE_INT_RANDOM_BITS, &random, COUNT_MAX, numbers);
    assert_form(numbers, COUNT_MAX, 3, VV_FORM_RAW);
    fill_shape(SHAPE_FEW_VALUES, &random, COUNT_MAX, numbers);
    assert_form(numbers, COUNT_MAX, 0, VV_FORM_TABLE);
    for (size_t i = 0; i < COUNT_MAX; i++) {
        numbers[i] = i < 300 ? vv_random_next(&random) : numbers[vv_random_below(&random, 300)];
    }
    assert_form(numbers, COUNT_MAX, 3, VV_FORM_RAW_ZSTD);
    for (size_t i = 0; i < COUNT_MAX; i++) {
        numbers[i] = (uint64_t)__builtin_ctzll(vv_random_next(&random) | 0x800);
    }
    assert_form(numbers, COUNT_MAX, 3, VV_FORM_DIRECT_PLANES);
    for (size_t i = 1; i < COUNT_MAX; i++) {
        numbers[i] += numbers[i - 1];
    }
    assert_form(numbers, COUNT_MAX, 3, VV_FORM_DELTA_PLANES);
    for (size_t i = 1; i < COUNT_MAX; i++) {
        numbers[i] += numbers[i - 1];
    }
    assert_form(numbers, COUNT_MAX, 3, VV_FORM_DELTA2_PLANES);
    vv_scratch_release();
}

static void common_divisors_save_bits(void **state)
{
    (void)state;
    struct vv_random random = {73};
    uint64_t numbers[COUNT_MAX];
    enum vv_form form;
    fill_shape(SHAPE_INT_JITTER, &random, COUNT_MAX, numbers); /* twenty different milliseconds */
    assert_true(round_trip(numbers, COUNT_MAX, 0, &form) < COUNT_MAX * 7 / 8);
    fill_shape(SHAPE_INT_MULTIPLES, &random, COUNT_MAX, numbers);
    assert_true(round_trip(numbers, COUNT_MAX, 0, &form) < COUNT_MAX * 10 / 8);
    vv_scratch_release();
}

static void unknown_heads_are_refused(void **state)
{
    (void)state;
    uint64_t read[3];
    struct vv_scratch *scratch = vv_scratch_acquire();
    for (unsigned head = 0; head < 256; head++) {
        uint8_t bytes[40] = {(uint8_t)head, 0x5f, 1, 0, 0};
        bool known = head == VV_FORM_CONSTANT;
        struct vv_reader reader = {bytes, bytes + (known ? 2 : 1), false};
        enum vv_block_status status = vv_sequence_read_headed(scratch, &reader, 3, read);
        assert_int_equal(status, known ? VV_BLOCK_OK : VV_BLOCK_CORRUPT);
    }
    vv_scratch_release();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_count_and_level),
        cmocka_unit_test(each_form_has_its_use),
        cmocka_unit_test(common_divisors_save_bits),
        cmocka_unit_test(unknown_heads_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
