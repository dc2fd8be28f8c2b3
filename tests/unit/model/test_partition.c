/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of plans, buckets, splits and spans. */
#include "model/partition.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define SEED 20260101

static int64_t random_time(struct vv_random *random, int64_t from, int64_t to)
{
    return from + (int64_t)vv_random_below(random, (uint64_t)to - (uint64_t)from);
}

static struct vv_plan random_plan(struct vv_random *random, int64_t from)
{
    static const int64_t spans[] = {VV_MINUTE, 15 * VV_MINUTE, VV_HOUR, VV_DAY};
    int64_t span = spans[vv_random_below(random, 4)];
    int64_t most = VV_BUCKET_NS_MAX / span < 40 ? VV_BUCKET_NS_MAX / span : 40;
    return (struct vv_plan){
        .from_ns = from,
        .span_ns = span,
        .bucket_ns = span * (1 + (int64_t)vv_random_below(random, (uint64_t)most)),
        .splits = (uint16_t)(1 + vv_random_below(random, VV_SPLITS_MAX)),
    };
}

/* A history of n plans near `origin`, at times that respect no boundary. */
static void random_history(struct vv_random *random, int64_t origin, size_t n,
                           struct vv_plan *plans_out)
{
    int64_t from = VV_TIME_MIN;
    for (size_t i = 0; i < n; i++) {
        plans_out[i] = random_plan(random, from);
        int64_t step = 1 + random_time(random, 0, 10 * VV_DAY);
        from = i == 0 ? origin : from + step;
    }
}

static bool same_bucket(const struct vv_bucket *a, const struct vv_bucket *b)
{
    return a->start == b->start && a->end == b->end && a->bucket_ns == b->bucket_ns &&
           a->span_ns == b->span_ns && a->splits == b->splits;
}

static void bucket_holds_its_times(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 2000; round++) {
        struct vv_plan plans[5];
        size_t n = 1 + vv_random_below(&random, 5);
        int64_t origin = random_time(&random, -400 * VV_DAY, 400 * VV_DAY);
        random_history(&random, origin, n, plans);
        int64_t time = random_time(&random, origin - 20 * VV_DAY, origin + 60 * VV_DAY);
        struct vv_bucket bucket = vv_bucket_of(plans, n, time);
        assert_true(bucket.start <= time && time < bucket.end);
        assert_true(bucket.end - bucket.start <= bucket.bucket_ns);
        assert_int_equal(vv_time_floor(bucket.start, bucket.bucket_ns), bucket.start);
        int64_t span = vv_span_of(&bucket, time);
        assert_true(span >= bucket.start && span <= time && time < span + bucket.span_ns);
        assert_int_equal((span - bucket.start) % bucket.span_ns, 0);
        /* Every time of the bucket has the same bucket, and the last one too. */
        struct vv_bucket last = vv_bucket_of(plans, n, bucket.end - 1);
        assert_true(same_bucket(&bucket, &last));
    }
}

static void walks_meet_bucket_of(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    for (int round = 0; round < 300; round++) {
        struct vv_plan plans[6];
        size_t n = 1 + vv_random_below(&random, 6);
        int64_t origin = random_time(&random, -40 * VV_DAY, 40 * VV_DAY);
        random_history(&random, origin, n, plans);
        struct vv_bucket bucket = vv_bucket_of(plans, n, origin - VV_DAY);
        for (int step = 0; step < 200; step++) {
            struct vv_bucket next;
            struct vv_bucket back;
            assert_true(vv_bucket_next(plans, n, &bucket, true, &next));
            struct vv_bucket expected = vv_bucket_of(plans, n, bucket.end);
            assert_true(same_bucket(&next, &expected));
            assert_true(vv_bucket_next(plans, n, &next, false, &back));
            assert_true(same_bucket(&back, &bucket));
            bucket = next;
        }
    }
}

static void plan_change_cuts_bucket_short(void **state)
{
    (void)state;
    const struct vv_plan plans[] = {
        {.from_ns = VV_TIME_MIN, .bucket_ns = VV_DAY, .span_ns = VV_HOUR, .splits = 1},
        {.from_ns = 10 * VV_HOUR, .bucket_ns = VV_DAY, .span_ns = VV_HOUR, .splits = 4},
        {.from_ns = 12 * VV_HOUR, .bucket_ns = VV_HOUR, .span_ns = VV_HOUR, .splits = 2},
    };
    struct vv_bucket first = vv_bucket_of(plans, 3, 10 * VV_HOUR - 1);
    assert_int_equal(first.start, 0);
    assert_int_equal(first.end, 10 * VV_HOUR);
    assert_int_equal(first.bucket_ns, VV_DAY);
    struct vv_bucket second = vv_bucket_of(plans, 3, 10 * VV_HOUR);
    assert_int_equal(second.start, 0);
    assert_int_equal(second.end, 12 * VV_HOUR);
    assert_int_equal(second.splits, 4);
    struct vv_bucket third = vv_bucket_of(plans, 3, 12 * VV_HOUR);
    assert_int_equal(third.start, 12 * VV_HOUR);
    assert_int_equal(third.bucket_ns, VV_HOUR);
    /* The one before the second is the first, though both start at 0. */
    struct vv_bucket back;
    assert_true(vv_bucket_next(plans, 3, &second, false, &back));
    assert_true(same_bucket(&back, &first));
}

static void negative_times_round_down(void **state)
{
    (void)state;
    const struct vv_plan plan = {
        .from_ns = VV_TIME_MIN, .bucket_ns = VV_DAY, .span_ns = VV_HOUR, .splits = 1};
    struct vv_bucket bucket = vv_bucket_of(&plan, 1, -1);
    assert_int_equal(bucket.start, -VV_DAY);
    assert_int_equal(bucket.end, 0);
    assert_int_equal(vv_span_of(&bucket, -1), -VV_HOUR);
    assert_int_equal(vv_bucket_of(&plan, 1, -VV_DAY).start, -VV_DAY);
    assert_int_equal(vv_bucket_of(&plan, 1, -VV_DAY - 1).start, -2 * VV_DAY);
}

static void extremes_do_not_overflow(void **state)
{
    (void)state;
    const struct vv_plan plan = {.from_ns = VV_TIME_MIN,
                                 .bucket_ns = VV_BUCKET_NS_MAX,
                                 .span_ns = VV_DAY,
                                 .splits = VV_SPLITS_MAX};
    struct vv_bucket next;
    struct vv_bucket first = vv_bucket_of(&plan, 1, VV_TIME_MIN);
    assert_true(first.start <= VV_TIME_MIN && first.end > VV_TIME_MIN);
    assert_false(vv_bucket_next(&plan, 1, &first, false, &next));
    assert_true(vv_split_of(&first, VV_TIME_MIN) < VV_SPLITS_MAX);
    struct vv_bucket last = vv_bucket_of(&plan, 1, VV_TIME_MAX);
    assert_true(last.start <= VV_TIME_MAX && last.end > VV_TIME_MAX);
    assert_false(vv_bucket_next(&plan, 1, &last, true, &next));
    assert_true(vv_bucket_next(&plan, 1, &last, false, &next));
    assert_int_equal(next.end, last.start);
    assert_true(vv_split_of(&last, VV_TIME_MAX) < VV_SPLITS_MAX);
}

static void splits_are_stable_and_spread(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 2};
    for (int round = 0; round < 200; round++) {
        struct vv_plan plan = random_plan(&random, VV_TIME_MIN);
        struct vv_bucket bucket =
            vv_bucket_of(&plan, 1, random_time(&random, -900 * VV_DAY, 900 * VV_DAY));
        int counts[VV_SPLITS_MAX] = {0};
        int points = 16 * 8 * plan.splits;
        for (int i = 0; i < points; i++) {
            int64_t time = bucket.start + bucket.bucket_ns / points * i;
            uint16_t split = vv_split_of(&bucket, time);
            assert_true(split < plan.splits);
            assert_int_equal(split, vv_split_of(&bucket, time));
            counts[split]++;
        }
        for (int split = 0; split < plan.splits; split++) {
            assert_in_range(counts[split], 96, 160); /* 128 on average */
        }
    }
}

/* A source that reports once in each round of slices must not hit one split alone. */
static void periodic_source_spreads(void **state)
{
    (void)state;
    const struct vv_plan plan = {
        .from_ns = VV_TIME_MIN, .bucket_ns = VV_DAY, .span_ns = VV_HOUR, .splits = 4};
    int counts[4] = {0};
    for (int day = 0; day < 100; day++) {
        struct vv_bucket bucket = vv_bucket_of(&plan, 1, day * VV_DAY);
        for (int round = 0; round < 8; round++) {
            counts[vv_split_of(&bucket, bucket.start + round * (VV_DAY / 8))]++;
        }
    }
    for (int split = 0; split < 4; split++) {
        assert_in_range(counts[split], 140, 260); /* 200 on average */
    }
}

/* Stored partitions depend on these: a change of the hash loses data. */
static void splits_never_change(void **state)
{
    (void)state;
    const struct vv_plan plan = {
        .from_ns = VV_TIME_MIN, .bucket_ns = VV_DAY, .span_ns = VV_HOUR, .splits = 7};
    char text[32];
    size_t at = 0;
    struct vv_bucket bucket = vv_bucket_of(&plan, 1, INT64_C(1767225600) * VV_SECOND);
    for (int hour = 0; hour < 24; hour++) {
        text[at++] = (char)('0' + vv_split_of(&bucket, bucket.start + hour * VV_HOUR));
    }
    text[at] = 0;
    assert_string_equal(text, "024461613135135135350350");
}

static void span_keys_order(void **state)
{
    (void)state;
    const struct vv_span_key base = {{5, 5, -5, VV_HOUR, 5, 0}, 5, -5};
    struct vv_span_key bigger[8];
    for (int i = 0; i < 8; i++) {
        bigger[i] = base;
    }
    bigger[0].partition.tenant++;
    bigger[1].partition.source++;
    bigger[2].partition.bucket_start = 1;
    bigger[3].partition.bucket_ns++;
    bigger[4].partition.split++;
    bigger[5].measurement++;
    bigger[6].span_start = 0;
    bigger[7].partition.region++;
    assert_int_equal(vv_span_key_compare(&base, &base), 0);
    for (int i = 0; i < 8; i++) {
        assert_true(vv_span_key_compare(&base, &bigger[i]) < 0);
        assert_true(vv_span_key_compare(&bigger[i], &base) > 0);
        for (int j = i + 1; j < 8; j++) {
            assert_true(vv_span_key_compare(&bigger[i], &bigger[j]) > 0);
        }
    }
}

static void assert_plan(struct vv_plan plan, int64_t bucket_ns, int64_t span_ns, int splits)
{
    assert_int_equal(vv_plan_check(&plan, NULL), VV_OK);
    assert_int_equal(plan.from_ns, VV_TIME_MIN);
    assert_int_equal(plan.bucket_ns, bucket_ns);
    assert_int_equal(plan.span_ns, span_ns);
    assert_int_equal(plan.splits, splits);
}

static void chosen_plans(void **state)
{
    (void)state;
    assert_plan(vv_plan_choose(0, 0, 0), VV_DAY, VV_HOUR, 1);
    assert_plan(vv_plan_choose(7, VV_SECOND, 0), VV_DAY, VV_HOUR, 1);
    assert_plan(vv_plan_choose(7, VV_SECOND, 7 * VV_DAY / 8), 12 * VV_HOUR, VV_HOUR, 1);
    assert_plan(vv_plan_choose(3600, VV_HOUR, 0), 3 * VV_HOUR, VV_HOUR, 1);
    assert_plan(vv_plan_choose(360, VV_HOUR, 0), VV_DAY, VV_HOUR, 1);
    assert_plan(vv_plan_choose(60, VV_HOUR, 0), 10 * VV_DAY, VV_HOUR, 1);
    assert_plan(vv_plan_choose(144, VV_DAY, 0), 90 * VV_DAY, VV_DAY, 1);
    assert_plan(vv_plan_choose(24, VV_DAY, 0), 360 * VV_DAY, VV_DAY, 1);
    assert_plan(vv_plan_choose(24, VV_DAY, 30 * VV_DAY / 8), 2 * VV_DAY, VV_DAY, 1);
    assert_plan(vv_plan_choose(24, VV_DAY, VV_DAY / 8), 3 * VV_HOUR, VV_HOUR, 1);
    assert_plan(vv_plan_choose(24, VV_DAY, VV_HOUR / 8), 5 * VV_MINUTE, 5 * VV_MINUTE, 1);
    assert_plan(vv_plan_choose(24, VV_DAY, 1), VV_MINUTE, VV_MINUTE, 1);
    /* 100 a second: an hour with splits of at most 65,536 rows. */
    assert_plan(vv_plan_choose(360000, VV_HOUR, 0), VV_HOUR, VV_HOUR, 8);
    assert_plan(vv_plan_choose(UINT64_MAX, 1, 0), VV_HOUR, VV_HOUR, VV_SPLITS_MAX);
    assert_plan(vv_plan_choose(8, INT64_MAX, 0), 360 * VV_DAY, VV_DAY, 1);
}

static void chosen_plans_keep_their_bounds(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 3};
    for (int round = 0; round < 20000; round++) {
        uint64_t rows = vv_random_next(&random) >> vv_random_below(&random, 64);
        int64_t range = (int64_t)(vv_random_next(&random) >> (1 + vv_random_below(&random, 63)));
        int64_t most = (int64_t)(vv_random_next(&random) >> (1 + vv_random_below(&random, 63)));
        struct vv_plan plan = vv_plan_choose(rows, range, most);
        assert_int_equal(vv_plan_check(&plan, NULL), VV_OK);
        if (most >= VV_MINUTE) {
            assert_true(plan.bucket_ns <= most);
        }
    }
}

static void broken_plans_are_refused(void **state)
{
    (void)state;
    const struct vv_plan good = {
        .from_ns = 0, .bucket_ns = VV_DAY, .span_ns = VV_HOUR, .splits = 64};
    struct vv_plan bad[12];
    for (int i = 0; i < 12; i++) {
        bad[i] = good;
    }
    bad[0].from_ns = VV_TIME_MIN - 1;
    bad[1].from_ns = VV_TIME_MAX + 1;
    bad[2].bucket_ns = VV_BUCKET_NS_MAX + VV_HOUR;
    bad[3].bucket_ns = VV_MINUTE - 1;
    bad[4].span_ns = 0;
    bad[5].span_ns = -VV_HOUR;
    bad[6].span_ns = 7 * VV_HOUR;
    bad[7].splits = 0;
    bad[8].splits = 65;
    bad[9].share_bits = VV_SHARE_BITS_MIN; /* with splits */
    bad[10].splits = bad[11].splits = 1;
    bad[10].share_bits = VV_SHARE_BITS_MIN - 1;
    bad[11].share_bits = VV_SHARE_BITS_MAX + 1;
    assert_int_equal(vv_plan_check(&good, NULL), VV_OK);
    for (int i = 0; i < 12; i++) {
        struct vv_error error = {0};
        assert_int_equal(vv_plan_check(&bad[i], &error), VV_INVALID);
        assert_true(error.message[0] != 0);
    }
}

static void some_32_sources_share_a_partition(void **state)
{
    (void)state;
    struct vv_plan plan = vv_plan_choose(360, VV_HOUR, 0);
    for (uint64_t sources = 1; sources < UINT64_C(1) << 34; sources *= 2) {
        plan.share_bits = vv_plan_choose_share(&plan, sources, 360, VV_HOUR);
        assert_int_equal(vv_plan_check(&plan, NULL), VV_OK);
        assert_true(sources >> plan.share_bits <= VV_SHARERS ||
                    plan.share_bits == VV_SHARE_BITS_MAX);
        assert_true(plan.share_bits == VV_SHARE_BITS_MIN ||
                    sources >> plan.share_bits >= VV_SHARERS / 2);
    }
}

static void a_source_that_sends_much_shares_nothing(void **state)
{
    (void)state;
    const struct vv_plan split = vv_plan_choose(1u << 20, VV_HOUR, 0);
    const struct vv_plan day = {.bucket_ns = VV_DAY, .span_ns = VV_HOUR, .splits = 1};
    assert_true(split.splits > 1);
    assert_int_equal(vv_plan_choose_share(&split, 1000, 1u << 20, VV_HOUR), 0);
    assert_int_equal(vv_plan_choose_share(&day, 1000, 3600, VV_HOUR), 0); /* 86,400 a day */
    assert_int_equal(vv_plan_choose_share(&day, 1000, 360, VV_HOUR), VV_SHARE_BITS_MIN);
    assert_int_equal(vv_plan_choose_share(&day, 1000, 7, 0), VV_SHARE_BITS_MIN); /* who knows */
}

static void a_division_is_a_number_that_comes_back(void **state)
{
    (void)state;
    for (uint64_t division = 0; division < 70000; division++) {
        struct vv_plan plan = {.bucket_ns = VV_DAY, .span_ns = VV_HOUR};
        bool is_one = vv_plan_divide(&plan, division);
        uint64_t bits = division >> 8;
        uint64_t splits = division & 0xff;
        bool shares = splits == 1 && bits >= VV_SHARE_BITS_MIN && bits <= VV_SHARE_BITS_MAX;
        assert_int_equal(is_one, shares || (bits == 0 && splits <= VV_SPLITS_MAX));
        assert_true(!is_one || vv_plan_division(&plan) == division);
        assert_true(!is_one || splits == 0 || vv_plan_check(&plan, NULL) == VV_OK);
    }
}

/* Whoever has a partition knows from its name where its runs lie. */
static void the_name_of_a_split_says_what_it_shares(void **state)
{
    (void)state;
    const struct vv_plan plans[] = {
        {.from_ns = VV_TIME_MIN,
         .bucket_ns = VV_DAY,
         .span_ns = VV_HOUR,
         .splits = 1,
         .share_bits = 11},
        {.from_ns = 0, .bucket_ns = VV_DAY, .span_ns = VV_HOUR, .splits = 7},
    };
    struct vv_bucket shared = vv_bucket_of(plans, 2, -1);
    struct vv_bucket own = vv_bucket_of(plans, 2, 0);
    assert_int_equal(vv_split_of(&shared, -1), vv_split_name(&shared, 0));
    assert_int_equal(vv_split_share_bits(vv_split_of(&shared, -1)), 11);
    assert_int_equal(vv_split_index(vv_split_of(&shared, -1)), 0);
    assert_true(vv_split_of(&own, VV_HOUR) < 7);
    assert_true(vv_split_is_name(11 << 8) && vv_split_is_name(63));
    assert_false(vv_split_is_name(64) || vv_split_is_name(11 << 8 | 1) ||
                 vv_split_is_name(7 << 8) || vv_split_is_name(25 << 8));
}

static void a_plan_that_fits_bounds_the_load_of_a_split(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 9};
    for (int round = 0; round < 5000; round++) {
        uint64_t rows = 8 + vv_random_below(&random, 1u << vv_random_below(&random, 24));
        uint64_t load = rows * (1 + vv_random_below(&random, 50));
        int64_t range = 10 * VV_SECOND + random_time(&random, 0, 30 * VV_DAY);
        struct vv_plan plan = vv_plan_fit(rows, load, range, 0);
        assert_int_equal(vv_plan_check(&plan, NULL), VV_OK);
        assert_true(vv_plan_load(&plan, load, range) <= VV_SPLIT_LOAD_MAX ||
                    plan.splits == VV_SPLITS_MAX);
        struct vv_plan same = vv_plan_fit(rows, rows, range, 0);
        struct vv_plan chosen = vv_plan_choose(rows, range, 0);
        assert_int_equal(same.bucket_ns, chosen.bucket_ns);
        assert_int_equal(same.splits, chosen.splits);
        assert_true(plan.bucket_ns <= same.bucket_ns);
    }
}

static void a_plan_begins_with_a_bucket_and_not_before(void **state)
{
    (void)state;
    assert_int_equal(vv_plan_begin(VV_HOUR, 0), 0);
    assert_int_equal(vv_plan_begin(VV_HOUR, 1), VV_HOUR);
    assert_int_equal(vv_plan_begin(VV_HOUR, -1), 0);
    assert_int_equal(vv_plan_begin(VV_DAY, 20000 * VV_DAY), 20000 * VV_DAY);
    assert_int_equal(vv_plan_begin(VV_DAY, 20000 * VV_DAY + 1), 20001 * VV_DAY);
    assert_int_equal(vv_plan_begin(VV_DAY, VV_TIME_MAX), INT64_MAX);
    assert_int_equal(vv_plan_begin(VV_DAY, INT64_MAX), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bucket_holds_its_times),
        cmocka_unit_test(walks_meet_bucket_of),
        cmocka_unit_test(plan_change_cuts_bucket_short),
        cmocka_unit_test(negative_times_round_down),
        cmocka_unit_test(extremes_do_not_overflow),
        cmocka_unit_test(splits_are_stable_and_spread),
        cmocka_unit_test(periodic_source_spreads),
        cmocka_unit_test(splits_never_change),
        cmocka_unit_test(span_keys_order),
        cmocka_unit_test(chosen_plans),
        cmocka_unit_test(chosen_plans_keep_their_bounds),
        cmocka_unit_test(broken_plans_are_refused),
        cmocka_unit_test(some_32_sources_share_a_partition),
        cmocka_unit_test(a_source_that_sends_much_shares_nothing),
        cmocka_unit_test(a_division_is_a_number_that_comes_back),
        cmocka_unit_test(the_name_of_a_split_says_what_it_shares),
        cmocka_unit_test(a_plan_that_fits_bounds_the_load_of_a_split),
        cmocka_unit_test(a_plan_begins_with_a_bucket_and_not_before),
    };
    print_message("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
