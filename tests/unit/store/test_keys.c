/* SPDX-License-Identifier: Apache-2.0 */
/* Keys keep the order of what they stand for, and give it back. */
#include "store/keys.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SEED 20260102

static int64_t random_i64(struct vv_random *random)
{
    static const int64_t edges[] = {INT64_MIN, -VV_HOUR, -1, 0, 1, 255, 256, VV_HOUR, INT64_MAX};
    return vv_random_below(random, 2) ? edges[vv_random_below(random, 9)]
                                      : (int64_t)vv_random_next(random);
}

static uint32_t random_u32(struct vv_random *random)
{
    static const uint32_t edges[] = {0, 1, 255, 256, 65535, 65536, UINT32_MAX};
    return edges[vv_random_below(random, 7)];
}

/* Parts are often equal, so that later ones decide. */
static struct vv_span_key random_key(struct vv_random *random)
{
    return (struct vv_span_key){
        {random_u32(random) & 1, random_u32(random), random_i64(random), random_i64(random),
         (uint16_t)random_u32(random), 0},
        random_u32(random),
        random_i64(random),
    };
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

static void spans_sort_as_their_keys(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 50000; round++) {
        struct vv_span_key a = random_key(&random);
        struct vv_span_key b = random_key(&random);
        switch (vv_random_below(&random, 6)) { /* let a later part decide */
        case 0:
            b.partition = a.partition;
            break;
        case 1:
            b.partition = a.partition;
            b.measurement = a.measurement;
            break;
        case 2:
            b.partition.tenant = a.partition.tenant;
            b.partition.source = a.partition.source;
            break;
        case 3:
            b = a;
            break;
        default:
            break;
        }
        uint8_t left[VV_KEY_SPAN_SIZE];
        uint8_t right[VV_KEY_SPAN_SIZE];
        vv_key_from_span(&a, left);
        vv_key_from_span(&b, right);
        assert_int_equal(sign(memcmp(left, right, sizeof left)), sign(vv_span_key_compare(&a, &b)));
        struct vv_span_key back;
        vv_key_to_span(left, &back);
        assert_int_equal(vv_span_key_compare(&a, &back), 0);
    }
}

static void pieces_and_marks_come_back(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    for (int round = 0; round < 5000; round++) {
        struct vv_piece run = {VV_PIECE_RUN,
                               random_key(&random),
                               vv_random_next(&random),
                               random_u32(&random),
                               {0},
                               0,
                               0};
        struct vv_piece back = {0};
        uint8_t key[VV_KEY_RUN_SIZE];
        vv_key_from_run(&run, key);
        vv_key_to_run(key, &back);
        assert_int_equal(vv_span_key_compare(&run.key, &back.key), 0);
        assert_true(back.kind == VV_PIECE_RUN && back.run == run.run && back.part == run.part);
        vv_key_from_block(&run, key);
        vv_key_to_block(key, &back);
        assert_true(back.kind == VV_PIECE_BLOCK && back.run == 0 && back.part == run.part);
        struct vv_mark mark = {random_i64(&random), run.key, random_i64(&random), run.run, false};
        struct vv_mark mark_back;
        uint8_t value[VV_MARK_VALUE_SIZE];
        vv_key_from_mark(&mark, key);
        vv_mark_value(&mark, value);
        vv_key_to_mark(key, value, &mark_back);
        assert_true(mark_back.due_ns == mark.due_ns && mark_back.span_ns == mark.span_ns &&
                    mark_back.run == mark.run);
        assert_int_equal(vv_span_key_compare(&mark.key, &mark_back.key), 0);
    }
}

/* The bytes that are on disks. */
static void bytes_never_change(void **state)
{
    (void)state;
    const struct vv_span_key key = {
        {0x01020304, 0x05060708, -1, VV_MINUTE, 0x090a, 0}, 0x0b0c0d0e, 1};
    static const uint8_t expected[VV_KEY_SPAN_SIZE] = {
        1,    2,    3,    4,    5,    6, 7,    8,    0x7f, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0x80, 0,    0, 0x0d, 0xf8, 0x47, 0x58, 0,    9,    10,
        11,   12,   13,   14,   0x80, 0, 0,    0,    0,    0,    0,    1};
    uint8_t bytes[VV_KEY_SPAN_SIZE];
    vv_key_from_span(&key, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
}

static void a_successor_is_the_least_above_all_that_begin_so(void **state)
{
    (void)state;
    uint8_t plain[] = {1, 2, 3};
    uint8_t full[] = {1, 0xff, 0xff};
    uint8_t none[] = {0xff, 0xff};
    assert_int_equal(vv_key_successor(plain, 3), 3);
    assert_int_equal(plain[2], 4);
    assert_int_equal(vv_key_successor(full, 3), 1);
    assert_int_equal(full[0], 2);
    assert_int_equal(vv_key_successor(none, 2), 0);
    assert_int_equal(vv_key_successor(none, 0), 0);
}

/* Times of which a few buckets fit an int64 behind each. */
static int64_t random_bucket_start(struct vv_random *random)
{
    static const int64_t edges[] = {VV_TIME_MIN, -VV_HOUR, -1, 0, 1, 255, VV_HOUR, VV_TIME_MAX};
    return edges[vv_random_below(random, 8)];
}

static void read_bounds_hold_exactly_the_range(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 2};
    for (int round = 0; round < 20000; round++) {
        struct vv_span_key key = random_key(&random);
        uint32_t bucket = (uint32_t)vv_random_below(&random, 4);
        uint32_t other = vv_random_below(&random, 2) ? bucket : 1;
        struct vv_store_read read = {.partition = key.partition,
                                     .measurement = key.measurement,
                                     .span_from = random_i64(&random),
                                     .span_to = random_i64(&random)};
        read.partition.bucket_start = random_bucket_start(&random);
        read.partition.bucket_ns =
            VV_BUCKET_NS_MIN + (int64_t)vv_random_below(&random, VV_BUCKET_NS_MAX);
        key.partition = read.partition;
        key.partition.bucket_start += other * read.partition.bucket_ns;
        uint8_t from[VV_KEY_SPAN_SIZE];
        uint8_t to[VV_KEY_SPAN_SIZE];
        uint8_t run_key[VV_KEY_RUN_SIZE];
        const struct vv_piece run = {VV_PIECE_RUN, key, vv_random_next(&random), 0, {0}, 0, 0};
        vv_key_read_bounds(&read, bucket, from, to);
        vv_key_from_run(&run, run_key);
        bool in = memcmp(run_key, from, sizeof from) >= 0 && memcmp(run_key, to, sizeof to) < 0;
        assert_int_equal(in, bucket == other && key.span_start >= read.span_from &&
                                 key.span_start < read.span_to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_sort_as_their_keys),
        cmocka_unit_test(pieces_and_marks_come_back),
        cmocka_unit_test(bytes_never_change),
        cmocka_unit_test(a_successor_is_the_least_above_all_that_begin_so),
        cmocka_unit_test(read_bounds_hold_exactly_the_range),
    };
    print_message("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
