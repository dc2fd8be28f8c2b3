/* SPDX-License-Identifier: Apache-2.0 */
/* How long rows live: never 0 by mistake, which is for ever, and never too short. */
#include "store/cassandra/cassandra.h"

#include "base/random.h"
#include "tier/unit.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define NOW       (INT64_C(1750000000) * VV_SECOND) /* 2025 */
#define SLACK     (3 * VV_HOUR)
#define LEAST_S   (SLACK / VV_SECOND + 1) /* from when it is put */
#define LAST_S    INT64_C(2147483000)     /* 2038 */
#define LONGEST_S INT64_C(630720000)      /* 20 years */

static const struct vv_cassandra store = {.slack_ns = SLACK};

/* Of a block whose retention and slack end so long after now. */
static int32_t ttl_in(int64_t left_ns, int64_t now)
{
    const int64_t retention = 7 * VV_DAY;
    return vv_cassandra_block_ttl(&store, now + left_ns - retention - SLACK, retention, now);
}

/* What is built of it has the time to come about. */
static void what_has_ended_lives_for_the_slack(void **state)
{
    (void)state;
    static const int64_t left[] = {0,          -1,        SLACK,   SLACK - 1,
                                   -VV_SECOND, VV_SECOND, -VV_DAY, -100 * 365 * VV_DAY};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        assert_int_equal(ttl_in(left[i], NOW), LEAST_S);
    }
    assert_int_equal(vv_cassandra_block_ttl(&store, VV_TIME_MIN, 1, NOW), LEAST_S);
}

/* Second by second around the end, and around where the least begins to count. */
static void around_zero_it_is_never_zero(void **state)
{
    (void)state;
    for (int64_t seconds = -200; seconds <= LEAST_S + 200; seconds++) {
        int32_t ttl = ttl_in(seconds * VV_SECOND, NOW);
        int64_t expected = seconds + 1 < LEAST_S ? LEAST_S : seconds + 1;
        if (ttl != expected) {
            fail_msg("%" PRId64 " s before the end: %d", seconds, ttl);
        }
    }
    assert_int_equal(ttl_in(SLACK - 1, NOW), LEAST_S);
    assert_int_equal(ttl_in(SLACK + VV_SECOND, NOW), LEAST_S + 1);
}

static void only_what_cassandra_cannot_count_has_no_end(void **state)
{
    (void)state;
    const int64_t left_s = LAST_S - NOW / VV_SECOND;
    assert_int_equal(vv_cassandra_block_ttl(&store, NOW, 0, NOW), 0); /* no retention */
    assert_int_equal(ttl_in((left_s - 1) * VV_SECOND, NOW), left_s);
    assert_int_equal(ttl_in(left_s * VV_SECOND, NOW), 0);
    assert_int_equal(ttl_in((LONGEST_S - 1) * VV_SECOND, VV_DAY), LONGEST_S);
    assert_int_equal(ttl_in(LONGEST_S * VV_SECOND, VV_DAY), 0);
    assert_int_equal(vv_cassandra_block_ttl(&store, VV_TIME_MAX, INT64_MAX, NOW), 0);
}

/* Whatever the times: when Cassandra lets it go, the retention is over. */
static void it_never_ends_too_early(void **state)
{
    (void)state;
    const uint64_t seed = 20250615;
    struct vv_random random = {seed};
    printf("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < 100000; i++) {
        int64_t now = NOW + (int64_t)vv_random_below(&random, 365 * (uint64_t)VV_DAY);
        int64_t end = NOW + (int64_t)vv_random_below(&random, 400 * (uint64_t)VV_DAY);
        int64_t retention = 1 + (int64_t)vv_random_below(&random, 3000 * (uint64_t)VV_DAY);
        int64_t ttl = vv_cassandra_block_ttl(&store, end, retention, now);
        assert_true(ttl == 0 || ttl >= LEAST_S);
        assert_true(ttl == 0 || (now / VV_SECOND + ttl) * VV_SECOND >= end + retention + SLACK);
        ttl = vv_cassandra_run_ttl(&store, end, now);
        int64_t from = end > now ? end : now; /* late ones have the slack from now on */
        assert_true((now / VV_SECOND + ttl) * VV_SECOND >= from + SLACK);
        assert_true(now + ttl * VV_SECOND <= from + SLACK + 2 * VV_SECOND);
    }
}

static struct vv_str name_of(void *context, uint32_t tenant)
{
    static const char *const all[] = {"plant", "plant/minute", "plant/hour", "plant/day",
                                      "plant/late"};
    (void)context;
    return vv_str_of(all[tenant]);
}

/* A day tier's buckets are a year long: what says that a unit is stale must outlive the unit, and
 * not the bucket. */
static void runs_of_tiers_live_until_their_unit_is_built(void **state)
{
    (void)state;
    const struct vv_cassandra named = {.slack_ns = SLACK, .names = {.tenant = name_of}};
    for (int tier = 0; tier < VV_SPACES; tier++) {
        struct vv_span_key key = vv_unit_key((enum vv_space)tier, 1 + (uint32_t)tier, 0, 0,
                                             vv_time_floor(NOW, 364 * VV_DAY));
        int64_t end = vv_cassandra_runs_end(&named, &key);
        int64_t unit_end = key.span_start + vv_tier_unit_ns_max((enum vv_space)tier);
        assert_true(end >= unit_end + vv_tier_spread_ns_max((enum vv_space)tier));
        assert_true(end <= unit_end + 3 * VV_DAY);
    }
    struct vv_span_key raw = {.partition = {.tenant = 0, .bucket_start = NOW, .bucket_ns = VV_DAY},
                              .span_start = NOW};
    assert_int_equal(vv_cassandra_runs_end(&named, &raw), NOW + VV_DAY);
}

static bool number_of(void *context, struct vv_str name, uint32_t *number_out)
{
    *number_out = 4;
    return *(bool *)context && vv_str_equal(name, VV_STR_LITERAL("plant/late"));
}

/* Seconds that runs of the tenant live which are written now. */
static int64_t lives(const struct vv_cassandra *store_of, uint32_t tenant)
{
    const struct vv_span_key old = {
        .partition = {.tenant = tenant, .bucket_start = NOW - 30 * VV_DAY, .bucket_ns = VV_DAY},
        .span_start = NOW - 30 * VV_DAY};
    return vv_cassandra_runs_ttl(store_of, &old, NOW) * VV_SECOND;
}

/* Late points are sealed at a fold that is further away than the slack, and with them is built what
 * they made stale. */
static void what_waits_for_a_fold_lives_until_it_comes(void **state)
{
    (void)state;
    bool has_late = true;
    const int64_t fold_ns = 7 * VV_DAY;
    const struct vv_cassandra named = {
        .slack_ns = SLACK,
        .fold_ns = fold_ns,
        .names = {.context = &has_late, .tenant = name_of, .tenant_named = number_of}};
    for (uint32_t tenant = 1; tenant <= 4; tenant++) {
        assert_true(lives(&named, tenant) >= fold_ns + SLACK);
    }
    assert_true(lives(&named, 0) < 2 * SLACK);
    struct vv_mark mark = {.due_ns = NOW + fold_ns, .key = {.partition = {.tenant = 4}}};
    assert_true(vv_ledger_end_of(&named, &mark) >= NOW + fold_ns);
    has_late = false; /* nothing waits */
    assert_true(lives(&named, 2) < 2 * SLACK);
}

/* Else the runs would count again. */
static void a_cover_outlives_its_runs_whatever_folds_their_writer_has(void **state)
{
    (void)state;
    bool has_late = true;
    struct vv_cassandra writer = {
        .slack_ns = SLACK,
        .fold_ns = VV_LATE_FOLD_NS_MAX,
        .names = {.context = &has_late, .tenant = name_of, .tenant_named = number_of}};
    struct vv_cassandra sealer = writer;
    sealer.fold_ns = VV_HOUR;
    for (uint32_t tenant = 0; tenant <= 4; tenant++) {
        for (int64_t age = 0; age <= 30 * VV_DAY; age += 10 * VV_DAY) {
            const struct vv_span_key key = {
                .partition = {.tenant = tenant, .bucket_start = NOW - age, .bucket_ns = VV_DAY},
                .span_start = NOW - age};
            assert_true(vv_cassandra_cover_ttl(&sealer, &key, NOW + VV_SECOND) >=
                        vv_cassandra_runs_ttl(&writer, &key, NOW) - 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_ended_lives_for_the_slack),
        cmocka_unit_test(around_zero_it_is_never_zero),
        cmocka_unit_test(only_what_cassandra_cannot_count_has_no_end),
        cmocka_unit_test(it_never_ends_too_early),
        cmocka_unit_test(runs_of_tiers_live_until_their_unit_is_built),
        cmocka_unit_test(what_waits_for_a_fold_lives_until_it_comes),
        cmocka_unit_test(a_cover_outlives_its_runs_whatever_folds_their_writer_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
