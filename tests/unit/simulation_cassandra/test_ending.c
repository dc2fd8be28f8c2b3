/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers that are switched off on nodes that share a store: they go on, unseen, until what is
 * coarser has been built of what they had.
 */
#include "longer_fixture.h"

/* ---- tiers that come and go ---- */

static bool try_lives(struct node *node, const struct vv_retentions *retentions)
{
    struct vv_error error = {0};
    enum vv_status status =
        vv_engine_set_retentions(node->rig.engine, VV_STR_LITERAL("t"), retentions, &error);
    if (status != VV_OK && status != VV_INVALID) {
        fail_msg("%s", error.message);
    }
    hear_each_other();
    return status == VV_OK;
}

static void check_days(uint64_t seed)
{
    live_both(33, VV_DAY); /* the unit of days is over, and all is due */
    long long count = written > 0 ? count_by(&nodes[below(2)], VV_SPACE_DAY) : 0;
    if (count != written) {
        fail_msg("seed %llu: days have %lld of %lld", (unsigned long long)seed, count, written);
    }
}

static int64_t any_of(const int64_t *lives, uint64_t n)
{
    return lives[below(n)];
}

/* Days are kept for ever, and made of what there is. */
static void change_tiers(void)
{
    static const int64_t raw[] = {VV_RETENTION_AS_IS, 5 * VV_DAY, 40 * VV_DAY, 60 * VV_DAY};
    static const int64_t tiers[] = {VV_SPACE_OFF_NS, VV_SPACE_OFF_NS, 40 * VV_DAY, 0};
    struct vv_retentions retentions;
    do {
        retentions =
            (struct vv_retentions){any_of(raw, 4), {any_of(tiers, 4), any_of(tiers, 4), 0}};
    } while (!try_lives(any_node(), &retentions));
    if (below(2) == 0) {
        let_all_know();
    }
}

static uint64_t live_with_tiers(uint64_t seed)
{
    switch (below(8)) {
    case 0:
    case 1:
        change_tiers();
        return 0;
    case 2:
    case 3:
        live_both(1 + (int)below(10), 12 * VV_HOUR);
        return 0;
    case 4:
        restart_node(any_node(), below(1000));
        hear_each_other();
        return 0;
    case 5:
        if (below(4) == 0) {
            check_days(seed);
        }
        return 0;
    default:
        return write_any();
    }
}

static void walk_with_tiers(uint64_t seed)
{
    const struct vv_retentions first = {40 * VV_DAY, {0, 0, 0}};
    random_state = (struct vv_random){seed};
    has_tiers = true;
    make_cluster(seed);
    (void)make_node(0);
    (void)make_node(1);
    hear_each_other();
    assert_true(try_lives(any_node(), &first));
    let_all_know();
    for (int i = 0; i < 60; i++) {
        (void)live_with_tiers(seed);
    }
    check_days(seed);
    end();
}

static void days_have_all_whatever_tiers_are_switched_off(void **state)
{
    (void)state;
    const char *first = getenv("FIRST");
    const char *seeds = getenv("SEEDS");
    uint64_t n = seeds ? strtoull(seeds, NULL, 10) : 1;
    for (uint64_t i = 0; first && i < n; i++) {
        walk_with_tiers(strtoull(first, NULL, 10) + i);
    }
    if (!first) {
        walk_with_tiers(5);
        walk_with_tiers(113);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(days_have_all_whatever_tiers_are_switched_off),
    };
    if (getenv("FIRST")) { /* that alone: for a seed that failed, and for many more */
        cmocka_set_test_filter("days_have*");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
