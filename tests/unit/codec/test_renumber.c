/* SPDX-License-Identifier: Apache-2.0 */
/* Other numbers for the metrics of a block: everything else stays. */
#include "codec/block.h"
#include "shapes.h"

static struct vv_rows some_rows(size_t n_columns, struct vv_random *random)
{
    struct vv_rows rows = make_rows(1 + vv_random_below(random, 400), n_columns,
                                    (enum timing)vv_random_below(random, TIMING_END),
                                    (enum stamping)vv_random_below(random, STAMPING_END), random);
    for (size_t i = 0; i < n_columns; i++) {
        uint32_t metric = (uint32_t)vv_random_next(random) >> vv_random_below(random, 32);
        set_column(&rows, i, metric, (enum shape)vv_random_below(random, SHAPE_END),
                   (enum absence)vv_random_below(random, ABSENCE_END), random);
    }
    return rows;
}

static struct encoded renumber(const struct encoded *from, const uint32_t *metrics)
{
    struct vv_block block;
    assert_int_equal(vv_block_open(from->bytes, from->size, &block), VV_BLOCK_OK);
    struct encoded to = {0};
    size_t bound = vv_block_renumbered_bound(&block, from->size);
    to.bytes = malloc(bound);
    assert_non_null(to.bytes);
    assert_int_equal(vv_block_renumber(from->bytes, from->size, metrics, to.bytes, bound, &to.size),
                     VV_BLOCK_OK);
    return to;
}

static void only_the_numbers_change(void **state)
{
    (void)state;
    const uint64_t seed = 311;
    struct vv_random random = {seed};
    print_message("seed %llu\n", (unsigned long long)seed);
    for (unsigned turn = 0; turn < 200; turn++) {
        size_t n_columns = turn % 12;
        struct vv_rows rows = some_rows(n_columns, &random);
        struct encoded encoded = encode_rows(&rows, (int)(turn % 4), turn % 2 == 0);
        uint32_t metrics[12] = {0};
        for (size_t i = 0; i < n_columns; i++) {
            metrics[i] = (uint32_t)vv_random_next(&random) >> vv_random_below(&random, 32);
            rows.columns[i].metric = metrics[i];
        }
        struct encoded other = renumber(&encoded, metrics);
        assert_block_equal(&other, &rows);
        free(other.bytes);
        free(encoded.bytes);
        free_rows(&rows);
    }
}

static void the_same_numbers_give_the_same_bytes(void **state)
{
    (void)state;
    struct vv_random random = {312};
    struct vv_rows rows = some_rows(9, &random);
    struct encoded encoded = encode_rows(&rows, 1, true);
    uint32_t metrics[9];
    for (size_t i = 0; i < 9; i++) {
        metrics[i] = rows.columns[i].metric;
    }
    struct encoded same = renumber(&encoded, metrics);
    assert_int_equal(same.size, encoded.size);
    assert_memory_equal(same.bytes, encoded.bytes, encoded.size);
    free(same.bytes);
    free(encoded.bytes);
    free_rows(&rows);
}

static void a_block_that_does_not_fit_or_is_damaged_is_refused(void **state)
{
    (void)state;
    struct vv_random random = {313};
    struct vv_rows rows = some_rows(3, &random);
    struct encoded encoded = encode_rows(&rows, 0, true);
    static const uint32_t metrics[3] = {1, UINT32_MAX, 2};
    struct encoded whole = renumber(&encoded, metrics);
    uint8_t *out = malloc(whole.size);
    assert_non_null(out);
    size_t size;
    for (size_t room = 0; room < whole.size; room++) {
        assert_int_equal(vv_block_renumber(encoded.bytes, encoded.size, metrics, out, room, &size),
                         VV_BLOCK_TOO_SMALL);
        assert_int_equal(size, 0);
    }
    encoded.bytes[encoded.size / 2] ^= 1;
    assert_int_equal(
        vv_block_renumber(encoded.bytes, encoded.size, metrics, out, whole.size, &size),
        VV_BLOCK_CORRUPT);
    free(out);
    free(whole.bytes);
    free(encoded.bytes);
    free_rows(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_numbers_change),
        cmocka_unit_test(the_same_numbers_give_the_same_bytes),
        cmocka_unit_test(a_block_that_does_not_fit_or_is_damaged_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
