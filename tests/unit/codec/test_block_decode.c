/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding: exact round trips of many shapes, and no harm from damaged or hostile bytes. */
#include <pthread.h>
#include <xxhash.h>

#include "codec/block.h"
#include "shapes.h"

static void round_trip(const struct vv_rows *rows, int zstd_level, bool with_stats)
{
    struct encoded encoded = encode_rows(rows, zstd_level, with_stats);
    assert_block_equal(&encoded, rows);
    free(encoded.bytes);
}

static void every_shape_comes_back(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 2, 3, 4, 5, 8, 9, 64, 127, 128, 129, 257, 360, 1000, 5000};
    struct vv_random random = {111};
    unsigned turn = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (int absence = 0; absence < ABSENCE_END; absence++, turn++) {
            struct vv_rows rows = make_all_shapes(counts[i], (enum timing)(turn % TIMING_END),
                                                  (enum stamping)(turn % STAMPING_END),
                                                  (enum absence)absence, &random);
            round_trip(&rows, 0, turn % 2 == 0);
            round_trip(&rows, 3, turn % 2 == 1);
            free_rows(&rows);
        }
    }
}

static void every_timing_and_stamping_comes_back(void **state)
{
    (void)state;
    struct vv_random random = {112};
    for (int timing = 0; timing < TIMING_END; timing++) {
        for (int stamping = 0; stamping < STAMPING_END; stamping++) {
            for (size_t n_rows = 1; n_rows < 600; n_rows += n_rows < 6 ? 1 : 117) {
                struct vv_rows rows =
                    make_rows(n_rows, 0, (enum timing)timing, (enum stamping)stamping, &random);
                round_trip(&rows, 0, false);
                round_trip(&rows, 1, true);
                free_rows(&rows);
            }
        }
    }
}

static void random_mixtures_come_back(void **state)
{
    (void)state;
    const uint64_t seed = 113;
    struct vv_random random = {seed};
    print_message("seed %llu\n", (unsigned long long)seed);
    for (unsigned turn = 0; turn < 300; turn++) {
        size_t n_rows = 1 + vv_random_below(&random, UINT64_C(1) << vv_random_below(&random, 10));
        size_t n_columns = vv_random_below(&random, 12);
        struct vv_rows rows =
            make_rows(n_rows, n_columns, (enum timing)vv_random_below(&random, TIMING_END),
                      (enum stamping)vv_random_below(&random, STAMPING_END), &random);
        for (size_t i = 0; i < n_columns; i++) {
            uint32_t metric = (uint32_t)vv_random_next(&random) >> vv_random_below(&random, 32);
            set_column(&rows, i, metric, (enum shape)vv_random_below(&random, SHAPE_END),
                       (enum absence)vv_random_below(&random, ABSENCE_END), &random);
        }
        round_trip(&rows, (int)vv_random_below(&random, 6), vv_random_below(&random, 2) == 0);
        free_rows(&rows);
    }
}

static void the_largest_blocks_come_back(void **state)
{
    (void)state;
    struct vv_random random = {114};
    struct vv_rows tall = make_rows(VV_BLOCK_ROWS_MAX, 2, TIMING_JITTER, STAMPING_RUNS, &random);
    set_column(&tall, 0, 7, SHAPE_DECIMAL_NOISE, ABSENCE_SOME, &random);
    set_column(&tall, 1, UINT32_MAX, SHAPE_INT_COUNTER_RESET, ABSENCE_NONE, &random);
    round_trip(&tall, 0, true);
    free_rows(&tall);
    struct vv_rows wide = make_rows(3, VV_BLOCK_COLUMNS_MAX, TIMING_REGULAR, STAMPING_ONE, &random);
    for (uint32_t i = 0; i < VV_BLOCK_COLUMNS_MAX; i++) {
        set_column(&wide, i, i * 1048573u, (enum shape)(i % SHAPE_END), ABSENCE_NONE, &random);
    }
    round_trip(&wide, 1, true);
    free_rows(&wide);
}

static void statistics_are_those_of_the_column(void **state)
{
    (void)state;
    struct vv_random random = {115};
    struct vv_rows rows = make_rows(5, 3, TIMING_REGULAR, STAMPING_ONE, &random);
    set_column(&rows, 0, 1, SHAPE_CONSTANT, ABSENCE_NONE, &random);
    set_column(&rows, 1, 2, SHAPE_INT_NOISE, ABSENCE_NONE, &random);
    set_column(&rows, 2, 3, SHAPE_CONSTANT, ABSENCE_ALL, &random);
    const double values[] = {(double)NAN, 3.25, -1.5, 99.0, 2.0};
    uint8_t present = 0x17; /* all but the 99 */
    for (size_t i = 0; i < 5; i++) {
        rows.columns[0].values[i] = vv_bits_of_double(values[i]);
        rows.columns[1].values[i] = i * 10 - 20;
    }
    rows.columns[0].present = &present;
    struct encoded encoded = encode_rows(&rows, 0, true);
    struct vv_block block;
    struct vv_block_column column;
    assert_int_equal(vv_block_open(encoded.bytes, encoded.size, &block), VV_BLOCK_OK);
    assert_int_equal(vv_block_column_info(&block, 0, &column), VV_BLOCK_OK);
    assert_true(column.stats.valid && !column.all_present && column.stats.count == 3);
    assert_true(vv_bits_double(column.stats.min) == -1.5 &&
                vv_bits_double(column.stats.max) == 3.25);
    assert_true(column.stats.first == vv_bits_of_double((double)NAN) &&
                vv_bits_double(column.stats.last) == 2.0);
    assert_true(column.stats.sum == 3.75);
    assert_int_equal(vv_block_column_info(&block, 1, &column), VV_BLOCK_OK);
    assert_true(column.all_present && column.stats.count == 5 && column.stats.sum == 0.0);
    assert_true(column.stats.min == UINT64_C(0) - 20 && column.stats.max == 20);
    assert_int_equal(vv_block_column_info(&block, 2, &column), VV_BLOCK_OK);
    assert_true(column.stats.valid && column.stats.count == 0 && column.stats.min == 0);
    free(encoded.bytes);
    encoded = encode_rows(&rows, 0, false);
    assert_int_equal(vv_block_open(encoded.bytes, encoded.size, &block), VV_BLOCK_OK);
    assert_int_equal(vv_block_column_info(&block, 0, &column), VV_BLOCK_OK);
    assert_false(column.stats.valid);
    free(encoded.bytes);
    rows.columns[0].present = NULL;
    free_rows(&rows);
}

static void columns_are_found_by_metric(void **state)
{
    (void)state;
    struct vv_random random = {116};
    struct vv_rows rows = make_rows(2, 4, TIMING_REGULAR, STAMPING_ONE, &random);
    const uint32_t metrics[] = {900, 5, UINT32_MAX, 5};
    const enum shape shapes[] = {SHAPE_CONSTANT, SHAPE_SMOOTH, SHAPE_CONSTANT, SHAPE_INT_NOISE};
    uint32_t index = 77;
    struct vv_block block;
    struct vv_block_column column;
    uint64_t values[2];
    for (size_t i = 0; i < 4; i++) {
        set_column(&rows, i, metrics[i], shapes[i], ABSENCE_HALF, &random);
    }
    struct encoded encoded = encode_rows(&rows, 0, false);
    assert_int_equal(vv_block_open(encoded.bytes, encoded.size, &block), VV_BLOCK_OK);
    assert_true(vv_block_find(&block, 900, &index) && index == 0);
    assert_true(vv_block_find(&block, 5, &index) && index == 1);
    assert_true(vv_block_find(&block, UINT32_MAX, &index) && index == 2);
    assert_false(vv_block_find(&block, 6, &index));
    assert_int_equal(vv_block_column_info(&block, 3, &column), VV_BLOCK_OK);
    assert_true(column.metric == 5 && column.type == VV_INT64);
    assert_int_equal(vv_block_column_info(&block, 4, &column), VV_BLOCK_INVALID);
    assert_int_equal(vv_block_values(&block, 4, values, NULL), VV_BLOCK_INVALID);
    assert_int_equal(vv_block_values(&block, 0, values, NULL), VV_BLOCK_INVALID);
    free(encoded.bytes);
    free_rows(&rows);
}

/* Decodes all there is; the answers do not matter, but none may harm. */
static void read_everything(const uint8_t *bytes, size_t size, enum vv_block_status opened)
{
    struct vv_block block;
    enum vv_block_status status = vv_block_open(bytes, size, &block);
    if (status != VV_BLOCK_OK) {
        assert_true(status == VV_BLOCK_CORRUPT || status == VV_BLOCK_NEWER);
        return;
    }
    assert_int_equal(opened, VV_BLOCK_OK);
    if (block.n_rows > 4096) {
        return;
    }
    int64_t *times = exact_array(block.n_rows, sizeof *times);
    uint64_t *values = exact_array(block.n_rows, sizeof *values);
    uint8_t *present = exact_array((block.n_rows + 7) / 8, 1);
    uint32_t index;
    if (vv_block_times(&block, times) == VV_BLOCK_OK) {
        assert_int_equal(times[0], block.time_min);
        assert_int_equal(times[block.n_rows - 1], block.time_max);
    }
    status = vv_block_stamps(&block, values);
    assert_true(status == VV_BLOCK_OK || status == VV_BLOCK_CORRUPT);
    for (uint32_t i = 0; i < block.n_columns; i++) {
        struct vv_block_column column;
        if (vv_block_column_info(&block, i, &column) == VV_BLOCK_OK) {
            assert_true(vv_block_find(&block, column.metric, &index));
        }
        status = vv_block_values(&block, i, values, present);
        assert_true(status == VV_BLOCK_OK || status == VV_BLOCK_CORRUPT);
    }
    free(times);
    free(values);
    free(present);
}

static struct encoded make_victim(int zstd_level, size_t n_rows)
{
    struct vv_random random = {117};
    struct vv_rows rows =
        make_all_shapes(n_rows, TIMING_JITTER, STAMPING_RUNS, ABSENCE_SOME, &random);
    struct encoded encoded = encode_rows(&rows, zstd_level, true);
    free_rows(&rows);
    return encoded;
}

static void flipped_bits_are_seen(void **state)
{
    (void)state;
    struct encoded victim = make_victim(0, 20);
    struct vv_block block;
    for (size_t bit = 0; bit < 8 * victim.size; bit++) {
        victim.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        enum vv_block_status status = vv_block_open(victim.bytes, victim.size, &block);
        bool version = bit / 8 == 2;
        assert_true(status == VV_BLOCK_CORRUPT || (version && status == VV_BLOCK_NEWER));
        victim.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    assert_int_equal(vv_block_open(victim.bytes, victim.size, &block), VV_BLOCK_OK);
    free(victim.bytes);
}

static void fix_checksum(uint8_t *bytes, size_t size)
{
    uint64_t checksum = XXH3_64bits(bytes, size - 8);
    for (size_t i = 0; i < 8; i++) {
        bytes[size - 8 + i] = (uint8_t)(checksum >> (8 * i));
    }
}

/* As if someone had written them on purpose: the checksum is right, the contents are not. */
static void flipped_bits_under_a_right_checksum_do_no_harm(void **state)
{
    (void)state;
    for (int zstd_level = 0; zstd_level <= 3; zstd_level += 3) {
        struct encoded victim = make_victim(zstd_level, 90);
        uint8_t *copy = exact_array(victim.size, 1);
        for (size_t bit = 0; bit < 8 * (victim.size - 8); bit += 1 + bit / 4000) {
            memcpy(copy, victim.bytes, victim.size);
            copy[bit / 8] ^= (uint8_t)(1u << (bit % 8));
            fix_checksum(copy, victim.size);
            read_everything(copy, victim.size, VV_BLOCK_OK);
        }
        free(copy);
        free(victim.bytes);
    }
}

static void truncated_blocks_are_refused(void **state)
{
    (void)state;
    struct encoded victim = make_victim(0, 40);
    for (size_t size = 0; size < victim.size; size++) {
        uint8_t *copy = exact_array(size, 1);
        memcpy(copy, victim.bytes, size);
        struct vv_block block;
        assert_int_equal(vv_block_open(copy, size, &block), VV_BLOCK_CORRUPT);
        if (size >= 8) {
            fix_checksum(copy, size);
            read_everything(copy, size, VV_BLOCK_OK);
        }
        free(copy);
    }
    free(victim.bytes);
}

static void a_newer_version_is_told_apart(void **state)
{
    (void)state;
    struct encoded victim = make_victim(0, 4);
    struct vv_block block;
    victim.bytes[2] = 2;
    assert_int_equal(vv_block_open(victim.bytes, victim.size, &block), VV_BLOCK_NEWER);
    fix_checksum(victim.bytes, victim.size);
    assert_int_equal(vv_block_open(victim.bytes, victim.size, &block), VV_BLOCK_NEWER);
    victim.bytes[2] = 0;
    fix_checksum(victim.bytes, victim.size);
    assert_int_equal(vv_block_open(victim.bytes, victim.size, &block), VV_BLOCK_CORRUPT);
    victim.bytes[2] = 1;
    victim.bytes[3] |= 0x80; /* a flag that this version does not know */
    fix_checksum(victim.bytes, victim.size);
    assert_int_equal(vv_block_open(victim.bytes, victim.size, &block), VV_BLOCK_CORRUPT);
    free(victim.bytes);
}

/* The bytes of version 1, written out: they must be read for as long as the version exists. */
static void version_1_is_read_for_ever(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {
        0x56, 0x42, 0x01, 0x01, 0xe8, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x46, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03, 0x03, 0xc4, 0x13, 0x01, 0xab, 0x02, 0x02,
        0x09, 0x05, 0x00, 0xd0, 0x0f, 0x00, 0xe8, 0x07, 0x02, 0x04, 0x03, 0x01, 0x00, 0x01,
        0x03, 0x01, 0x00, 0x02, 0x93, 0x03, 0x01, 0x3b, 0xf6, 0x01, 0xf5, 0x01, 0x00, 0xcd,
        0xcc, 0xcc, 0xcc, 0xcc, 0x0c, 0x44, 0x40, 0x01, 0x08, 0x3b, 0xf5, 0xf6, 0x00, 0x23,
        0x02, 0x00, 0x01, 0x0b, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x22, 0x40,
        0x05, 0x04, 0x01, 0x0b, 0x82, 0x03, 0x1f, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5,
        0x3f, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5, 0x3f, 0x55, 0x55, 0x55, 0x55, 0x55,
        0x55, 0xd5, 0x3f, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5, 0x3f, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0xf0, 0x3f, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5, 0x3f, 0x87,
        0x08, 0x6a, 0xe7, 0x06, 0x07, 0xe0, 0xb1, 0xbe, 0x6b, 0xbf, 0x9a, 0x9c, 0x82};
    struct vv_block block;
    int64_t times[3];
    uint64_t stamps[3];
    uint64_t values[3];
    uint8_t present;
    assert_int_equal(vv_block_open(bytes, sizeof bytes, &block), VV_BLOCK_OK);
    assert_true(block.n_rows == 3 && block.n_columns == 3);
    assert_int_equal(vv_block_times(&block, times), VV_BLOCK_OK);
    assert_true(times[0] == 1000 && times[1] == 2000 && times[2] == 3500);
    assert_int_equal(vv_block_stamps(&block, stamps), VV_BLOCK_OK);
    assert_true(stamps[0] == 70 && stamps[1] == 70 && stamps[2] == 71);
    assert_int_equal(vv_block_values(&block, 0, values, NULL), VV_BLOCK_OK);
    assert_true(values[0] == vv_bits_of_double(21.5) && values[1] == vv_bits_of_double(21.6) &&
                values[2] == vv_bits_of_double(-3.0));
    assert_int_equal(vv_block_values(&block, 1, values, &present), VV_BLOCK_OK);
    assert_true(present == 5 && values[0] == 10 && values[2] == UINT64_C(0) - 1);
    assert_int_equal(vv_block_values(&block, 2, values, NULL), VV_BLOCK_OK);
    assert_true(values[0] == vv_bits_of_double(1.0 / 3.0) && values[2] == values[0]);
}

static void *round_trips_in_thread(void *argument)
{
    const struct vv_rows *rows = argument;
    for (unsigned turn = 0; turn < 20; turn++) {
        round_trip(rows, (int)(turn % 4), turn % 2 == 0);
    }
    return NULL;
}

static void threads_do_not_meet(void **state)
{
    (void)state;
    struct vv_random random = {118};
    struct vv_rows rows = make_all_shapes(100, TIMING_JITTER, STAMPING_EACH, ABSENCE_SOME, &random);
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, round_trips_in_thread, &rows), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    free_rows(&rows);
}

static void every_status_has_a_text(void **state)
{
    (void)state;
    for (int status = VV_BLOCK_OK; status <= VV_BLOCK_TOO_SMALL; status++) {
        assert_true(strlen(vv_block_status_text((enum vv_block_status)status)) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_comes_back),
        cmocka_unit_test(every_timing_and_stamping_comes_back),
        cmocka_unit_test(random_mixtures_come_back),
        cmocka_unit_test(the_largest_blocks_come_back),
        cmocka_unit_test(statistics_are_those_of_the_column),
        cmocka_unit_test(columns_are_found_by_metric),
        cmocka_unit_test(flipped_bits_are_seen),
        cmocka_unit_test(flipped_bits_under_a_right_checksum_do_no_harm),
        cmocka_unit_test(truncated_blocks_are_refused),
        cmocka_unit_test(a_newer_version_is_told_apart),
        cmocka_unit_test(version_1_is_read_for_ever),
        cmocka_unit_test(threads_do_not_meet),
        cmocka_unit_test(every_status_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
