/* SPDX-License-Identifier: Apache-2.0 */
/* Eras: no block is lost early, and none is kept longer than one era. */
#include "store/era.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SEED 20260103

static struct vv_partition random_partition(struct vv_random *random)
{
    int64_t length = VV_BUCKET_NS_MIN +
                     (int64_t)vv_random_below(random, (uint64_t)(VV_BUCKET_NS_MAX - VV_MINUTE));
    int64_t range = vv_random_below(random, 2) ? VV_TIME_MAX : 400 * VV_DAY;
    int64_t time = (int64_t)vv_random_below(random, (uint64_t)range) * (random->state & 1 ? 1 : -1);
    return (struct vv_partition){1, 1, vv_time_floor(time, length), length, 0, 0};
}

static int64_t random_retention(struct vv_random *random)
{
    uint64_t bits = vv_random_next(random) >> (1 + vv_random_below(random, 62));
    return (int64_t)(bits % (uint64_t)(200 * 366 * VV_DAY)) + 1;
}

static int64_t add_capped(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static void an_era_expires_with_its_last_block(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 50000; round++) {
        int eras = VV_ERAS_MIN + (int)vv_random_below(&random, VV_ERAS_MAX - VV_ERAS_MIN + 1);
        int64_t retention = random_retention(&random) + 1;
        int64_t retention_s = vv_era_retention_s(retention);
        int64_t length = vv_era_length_s(retention_s, eras) * VV_SECOND;
        struct vv_partition partition = random_partition(&random);
        struct vv_era era = vv_era_of(retention_s, eras, &partition);
        int64_t due = add_capped(partition.bucket_start + partition.bucket_ns, retention);
        if (due >= INT64_MAX - length - VV_MINUTE) {
            continue;
        }
        assert_false(vv_era_expired(&era, eras, due - 1));
        assert_false(vv_era_bucket_expired(&partition, retention_s, due - 1));
        /* Rounding up the bucket's end and the retention costs less than a second each, and one
         * more where the retention is below two. */
        int64_t spare = (retention <= VV_SECOND ? 3 : 2) * VV_SECOND;
        assert_true(vv_era_bucket_expired(&partition, retention_s, add_capped(due, spare)));
        assert_true(vv_era_expired(&era, eras, add_capped(due, length + spare)));
        assert_false(vv_era_expired(&era, eras, INT64_MIN));
    }
}

static void nothing_has_expired_at_once(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 1000; round++) {
        struct vv_partition partition = random_partition(&random);
        struct vv_era era = vv_era_of(VV_ERA_NOTHING_S, 16, &partition);
        assert_true(vv_era_expired(&era, 16, VV_TIME_MIN));
        assert_true(vv_era_bucket_expired(&partition, VV_ERA_NOTHING_S, VV_TIME_MIN));
    }
}

static void lengths_are_a_fraction_in_whole_minutes(void **state)
{
    (void)state;
    assert_int_equal(vv_era_length_s(7 * 86400, 8), 7 * 86400 / 8);
    assert_int_equal(vv_era_length_s(1, 64), 60);
    assert_int_equal(vv_era_length_s(3601, 60), 120);
    assert_int_equal(vv_era_retention_s(0), 0);
    assert_int_equal(vv_era_retention_s(1), VV_ERA_NOTHING_S);
    assert_int_equal(vv_era_retention_s(2), 2);
    assert_int_equal(vv_era_retention_s(VV_SECOND), 2);
    assert_int_equal(vv_era_retention_s(VV_SECOND + 1), 2);
    assert_int_equal(vv_era_retention_s(2 * VV_SECOND + 1), 3);
    assert_int_equal(vv_era_count(0), VV_ERAS_DEFAULT);
    assert_int_equal(vv_era_count(1), VV_ERAS_MIN);
    assert_int_equal(vv_era_count(1000), VV_ERAS_MAX);
    assert_int_equal(vv_era_count(20), 20);
}

static void for_ever_never_expires_and_has_few_eras(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    int64_t lowest = INT64_MAX;
    int64_t highest = INT64_MIN;
    for (int round = 0; round < 50000; round++) {
        struct vv_partition partition = random_partition(&random);
        struct vv_era era = vv_era_of(0, 16, &partition);
        assert_false(vv_era_expired(&era, 16, INT64_MAX));
        assert_false(vv_era_bucket_expired(&partition, 0, INT64_MAX));
        lowest = era.start_s < lowest ? era.start_s : lowest;
        int64_t start = era.start_s < 0 ? lowest : era.start_s;
        assert_true(start == lowest || start > 0);
        highest = start > highest ? start : highest;
    }
    /* One unbounded era before 1999, one after 2100, and one per 90 days between. */
    const struct vv_partition first = {1, 1, VV_TIME_MIN - VV_DAY, VV_DAY, 0, 0};
    const struct vv_partition year_1990 = {1, 1, 20 * 365 * VV_DAY, VV_DAY, 0, 0};
    const struct vv_partition year_2200 = {1, 1, 230 * 365 * VV_DAY, VV_DAY, 0, 0};
    const struct vv_partition last = {1, 1, VV_TIME_MAX, VV_BUCKET_NS_MAX, 0, 0};
    assert_int_equal(vv_era_of(0, 16, &first).start_s, vv_era_of(0, 16, &year_1990).start_s);
    assert_int_equal(vv_era_of(0, 16, &last).start_s, vv_era_of(0, 16, &year_2200).start_s);
    assert_true((highest - 0) / (90 * 86400) < 600);
}

/* nearest() may pass over an era only when no bucket of the range can lie in it. */
static void an_era_may_hold_what_it_holds(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 2};
    for (int round = 0; round < 50000; round++) {
        int64_t retention_s =
            vv_random_below(&random, 3) ? vv_era_retention_s(random_retention(&random)) : 0;
        struct vv_partition partition = random_partition(&random);
        struct vv_era era = vv_era_of(retention_s, 16, &partition);
        int64_t start = partition.bucket_start;
        int64_t from = start - (int64_t)vv_random_below(&random, (uint64_t)VV_DAY);
        int64_t to = start + (int64_t)vv_random_below(&random, (uint64_t)VV_DAY);
        assert_true(vv_era_may_hold(&era, 16, partition.bucket_ns, from, to));
        assert_true(vv_era_may_hold(&era, 16, partition.bucket_ns, start, start));
        assert_true(vv_era_may_hold(&era, 16, VV_BUCKET_NS_MAX, INT64_MIN, start));
        assert_true(vv_era_may_hold(&era, 16, VV_BUCKET_NS_MAX, start, INT64_MAX));
    }
    const struct vv_partition day = {1, 1, 100 * VV_DAY, VV_DAY, 0, 0};
    struct vv_era era = vv_era_of(7 * 86400, 8, &day);
    assert_false(vv_era_may_hold(&era, 8, VV_DAY, 103 * VV_DAY, INT64_MAX));
    assert_false(vv_era_may_hold(&era, 8, VV_DAY, INT64_MIN, 98 * VV_DAY));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_era_expires_with_its_last_block),
        cmocka_unit_test(nothing_has_expired_at_once),
        cmocka_unit_test(lengths_are_a_fraction_in_whole_minutes),
        cmocka_unit_test(for_ever_never_expires_and_has_few_eras),
        cmocka_unit_test(an_era_may_hold_what_it_holds),
    };
    print_message("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
