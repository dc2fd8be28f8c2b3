/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A retention that was made longer, on nodes that share a store: what tiers have of points that
 * expired before stays as it is, so what comes for it is refused by any node; what comes for
 * sources that have nothing there gets into all tiers, in however many parts it comes.
 */
#include "longer_fixture.h"

#define EACH 30 /* points that are written at once, within half an hour */

static void set_lives(struct node *node, int64_t life_ns)
{
    struct vv_error error = {0};
    const struct vv_retentions retentions = {.raw_ns = life_ns};
    if (vv_engine_set_retentions(node->rig.engine, VV_STR_LITERAL("t"), &retentions, &error) !=
        VV_OK) {
        fail_msg("%s", error.message);
    }
    hear_each_other();
}

static bool write_hour(struct node *node, const char *series, int64_t from)
{
    uint64_t taken = write_some(node, series, from + VV_SECOND, VV_MINUTE, EACH);
    assert_true(taken == 0 || taken == EACH);
    written += (long long)taken;
    return taken > 0;
}

/* id=x has points of an hour, which expired when all were kept for 40 days; now they are for 366.
 */
static int64_t begin_lengthened(void)
{
    begin("blocks", 1);
    set_lives(&nodes[1], raw_ns);
    int64_t old = fill_minutes(&nodes[1]);
    live_all(4, VV_DAY);
    live_all(9, 6 * VV_DAY);
    assert_int_equal(count_points(&nodes[0]), 0);
    assert_tiers(written);
    set_lives(&nodes[0], 366 * VV_DAY);
    assert_false(write_hour(&nodes[0], "m,id=new", old)); /* others may not know yet */
    let_all_know();
    return old;
}

static void what_tiers_have_of_points_that_expired_is_refused(void **state)
{
    (void)state;
    int64_t old = begin_lengthened();
    long long before = written;
    for (size_t i = 0; i < 2; i++) {
        assert_false(write_hour(&nodes[i], "m,id=x", old));
        assert_false(write_hour(&nodes[i], "m,id=x", old + 30 * VV_MINUTE));
    }
    live_all(2, VV_DAY);
    live_all(2, 30 * VV_DAY);
    assert_false(write_hour(&nodes[0], "m,id=x", old));
    assert_int_equal(written, before);
    assert_tiers(before);
    end();
}

static void what_nothing_is_left_of_gets_into_all_tiers(void **state)
{
    (void)state;
    int64_t old = begin_lengthened();
    assert_true(write_hour(&nodes[0], "m,id=x", old - 60 * VV_DAY)); /* in another unit */
    assert_true(write_hour(&nodes[0], "m,id=new", old));
    settle();
    live_all(2, VV_DAY);
    assert_tiers(written);
    assert_true(write_hour(&nodes[1], "m,id=new", old + 5)); /* the same units */
    settle();
    live_all(2, VV_DAY);
    assert_tiers(written);
    restart_node(&nodes[0], 3);
    hear_each_other();
    assert_true(write_hour(&nodes[0], "m,id=new", old + 7));
    assert_true(write_hour(&nodes[0], "m,id=new", old + VV_DAY));
    live_all(2, VV_DAY);
    live_all(3, 20 * VV_DAY);
    assert_true(write_hour(&nodes[1], "m,id=new", old + 9));
    live_all(2, VV_DAY);
    assert_tiers(written);
    assert_int_equal(count_points(&nodes[0]), 6 * EACH);
    end();
}

/* What came between has an end of its own. */
static void what_expires_once_more_is_refused_from_then_on(void **state)
{
    (void)state;
    int64_t old = begin_lengthened();
    assert_true(write_hour(&nodes[0], "m,id=new", old));
    live_all(3, VV_DAY);
    assert_true(write_hour(&nodes[0], "m,id=new", old + 5));
    live_all(3, VV_DAY);
    set_lives(&nodes[1], 30 * VV_DAY);
    live_all(2, 20 * VV_DAY);
    set_lives(&nodes[0], 0);
    let_all_know();
    assert_false(write_hour(&nodes[0], "m,id=new", old));
    assert_false(write_hour(&nodes[1], "m,id=new", old));
    assert_true(write_hour(&nodes[1], "m,id=newer", old));
    live_all(3, VV_DAY);
    assert_tiers(written);
    end();
}

/* What is built of such and of others can't be built again, also when what it was built of is gone
 * as well. */
static void what_was_built_of_both_is_refused(void **state)
{
    (void)state;
    const struct vv_retentions retentions = {.raw_ns = raw_ns,
                                             .tiers_ns = {VV_SPACE_OFF_NS, 50 * VV_DAY, 0}};
    struct vv_error error = {0};
    begin("blocks", 1);
    assert_int_equal(
        vv_engine_set_retentions(nodes[1].rig.engine, VV_STR_LITERAL("t"), &retentions, &error),
        VV_OK);
    hear_each_other();
    int64_t old = fill_minutes(&nodes[1]);
    live_all(4, VV_DAY);
    live_all(6, 8 * VV_DAY);
    assert_int_equal(count_points(&nodes[0]), 0);
    assert_int_equal(
        vv_engine_set_retention(nodes[1].rig.engine, VV_STR_LITERAL("t"), 366 * VV_DAY, &error),
        VV_OK);
    let_all_know();
    assert_true(write_hour(&nodes[0], "m,id=x", old + 3 * VV_DAY)); /* in the same unit of days */
    live_all(4, VV_DAY);
    assert_int_equal(count_by(&nodes[1], VV_SPACE_DAY), written);
    live_all(8, 10 * VV_DAY);
    assert_false(write_hour(&nodes[0], "m,id=x", old));
    live_all(3, VV_DAY);
    assert_int_equal(count_by(&nodes[1], VV_SPACE_DAY), written);
    end();
}

/* Points from just before a retention is made longer have the end that they were given. */
static void what_was_put_before_it_was_longer_goes_when_it_was_to(void **state)
{
    (void)state;
    begin("blocks", 1);
    set_lives(&nodes[1], raw_ns);
    live_all(4, VV_DAY);
    int64_t young = fill_minutes(&nodes[1]);
    advance(VV_MINUTE);
    set_lives(&nodes[0], 366 * VV_DAY);
    live_all(3, VV_DAY);
    assert_true(write_hour(&nodes[0], "m,id=x", young)); /* they are still there */
    live_all(3, VV_DAY);
    assert_tiers(written);
    live_all(5, 10 * VV_DAY);
    for (size_t i = 0; i < 2; i++) {
        if (write_hour(&nodes[i], "m,id=x", young + 11)) {
            live_all(3, VV_DAY);
        }
        assert_tiers(written);
    }
    end();
}

/* It was to live for 40 days, and still does. */
static void what_waits_over_a_shorter_and_a_longer_retention_is_in_all_tiers(void **state)
{
    (void)state;
    begin("blocks", 1);
    set_lives(&nodes[1], raw_ns);
    let_all_know();
    int64_t old = vv_time_floor(now_ns() - 20 * VV_DAY, VV_HOUR);
    assert_true(write_hour(&nodes[0], "m,id=x", old));
    live_all(3, VV_DAY);
    assert_true(write_hour(&nodes[1], "m,id=x", old + 7));
    set_lives(&nodes[0], 5 * VV_DAY);
    set_lives(&nodes[1], 366 * VV_DAY);
    let_all_know();
    live_all(3, VV_DAY);
    live_all(3, 20 * VV_DAY);
    assert_int_equal(count_by(&nodes[0], VV_SPACE_MINUTE), written);
    assert_tiers(written);
    end();
}

/* Nothing is built of its points: it need not wait until all know. */
static void a_tenant_without_tiers_takes_older_points_at_once(void **state)
{
    (void)state;
    begin_with("blocks", 1, false);
    keep_for(&nodes[0], 30 * VV_DAY);
    assert_false(write_hour(&nodes[0], "m,id=x", RIG_START - 90 * VV_DAY));
    keep_for(&nodes[0], 366 * VV_DAY);
    assert_true(write_hour(&nodes[0], "m,id=x", RIG_START - 90 * VV_DAY));
    end();
}

/* Only points and days are kept, these for ever: a unit of days has points of four days. */
static int64_t begin_days(void)
{
    const struct vv_retentions retentions = {.raw_ns = raw_ns,
                                             .tiers_ns = {VV_SPACE_OFF_NS, VV_SPACE_OFF_NS, 0}};
    struct vv_error error = {0};
    begin("blocks", 1);
    assert_int_equal(
        vv_engine_set_retentions(nodes[1].rig.engine, VV_STR_LITERAL("t"), &retentions, &error),
        VV_OK);
    live_all(2, VV_DAY);
    assert_int_equal(
        vv_engine_set_retention(nodes[1].rig.engine, VV_STR_LITERAL("t"), 60 * VV_DAY, &error),
        VV_OK);
    let_all_know();
    int64_t from = vv_time_floor(now_ns(), 28 * VV_DAY) + 28 * VV_DAY;
    for (int i = 0; i < 4; i++) {
        advance(from + i * VV_DAY + VV_HOUR - now_ns());
        assert_true(write_hour(&nodes[i % 2], "m,id=x", from + i * VV_DAY));
        settle();
    }
    live_all(35, VV_DAY);
    assert_int_equal(count_by(&nodes[0], VV_SPACE_DAY), written);
    live_all(20, 6 * VV_DAY);
    assert_int_equal(count_points(&nodes[0]), 0);
    return from;
}

static void rebuild(void)
{
    sweep();
    settle();
    live_all(4, VV_DAY);
}

/* What came behind a longer retention expires in its turn: then it can't be built again, either. */
static void what_has_expired_since_stays_as_it_is(void **state)
{
    (void)state;
    struct vv_error error = {0};
    int64_t from = begin_days();
    delete_between(&nodes[1], from + VV_DAY, from + 2 * VV_DAY);
    rebuild();
    assert_int_equal(count_by(&nodes[0], VV_SPACE_DAY), written - EACH);
    if (try_replace_as(&nodes[1], "m,id=x", from + 2 * VV_DAY, 1, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    rebuild();
    assert_int_equal(count_by(&nodes[0], VV_SPACE_DAY), written - 2 * EACH + 24);
    end();
}

/* It fails as a whole, and nothing is taken or refused for good. */
static void while_the_store_is_away_nothing_is_decided(void **state)
{
    (void)state;
    int64_t old = begin_lengthened();
    char line[96];
    struct vv_staging staging;
    struct vv_line_parser *parser;
    struct vv_engine *engine = nodes[0].rig.engine;
    vv_sim_cassandra_set_away(model, UINT32_MAX);
    snprintf(line, sizeof line, "m,id=x v=1i %lld\n", (long long)(old - 60 * VV_DAY));
    assert_int_equal(vv_engine_stage(engine, VV_STR_LITERAL("t"), &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, strlen(line)), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    assert_true(vv_staging_is_in_doubt(&staging));
    vv_staging_decide(&staging);
    assert_true(staging.out_of_memory);
    assert_non_null(strstr(staging.failure.message, "send again later"));
    assert_int_equal(staging.refused[VV_REASON_RETENTION], 0);
    assert_null(vv_staging_take_batch(&staging));
    vv_staging_deinit(&staging);
    vv_sim_cassandra_set_away(model, 0);
    advance(20 * VV_SECOND);
    hear_each_other();
    assert_true(write_hour(&nodes[0], "m,id=x", old - 60 * VV_DAY));
    end();
}

/* ---- whatever comes and goes ---- */

static void check_all(uint64_t seed)
{
    live_all(4, VV_DAY); /* all is due */
    for (int tier = 0; tier < VV_SPACES && written > 0; tier++) {
        long long count = count_by(&nodes[0], (enum vv_space)tier);
        if (count != written) {
            fail_msg("seed %llu: tier %d has %lld of %lld", (unsigned long long)seed, tier, count,
                     written);
        }
    }
}

static int64_t life_ns;

static void change_life_to(struct node *node, int64_t next_ns)
{
    life_ns = next_ns;
    set_lives(node, life_ns);
}

static void change_life(void)
{
    static const int64_t lives[] = {5 * VV_DAY, 10 * VV_DAY, 60 * VV_DAY, 0};
    change_life_to(any_node(), lives[below(4)]);
    if (below(2) == 0) {
        let_all_know();
    }
}

static uint64_t live_on(uint64_t seed)
{
    struct node *node = any_node();
    switch (below(9)) {
    case 0:
        change_life();
        return 0;
    case 1:
        live_all(1 + (int)below(10), 12 * VV_HOUR); /* nodes don't stand still for days */
        return 0;
    case 2:
        check_all(seed);
        return 0;
    case 3:
        restart_node(node, below(1000));
        hear_each_other();
        return 0;
    case 4:
        work(node);
        return 0;
    case 5:
        check_all(seed);
        change_life_to(node, 5 * VV_DAY);
        live_all(9, VV_DAY);
        change_life_to(node, 60 * VV_DAY);
        return 0;
    default:
        return write_any();
    }
}

static uint64_t refused; /* in all walks */

static void walk(uint64_t seed)
{
    begin_walk(seed);
    add_nodes(2);
    life_ns = raw_ns;
    change_life(); /* makes the tenant */
    let_all_know();
    for (int i = 0; i < 60; i++) {
        refused += live_on(seed);
    }
    check_all(seed);
    end();
}

static void all_that_is_taken_is_in_all_tiers_for_ever(void **state)
{
    (void)state;
    if (!walk_those_asked_for(walk)) {
        walk(8);
        walk(24);
    }
    assert_true(refused > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_tiers_have_of_points_that_expired_is_refused),
        cmocka_unit_test(what_nothing_is_left_of_gets_into_all_tiers),
        cmocka_unit_test(what_expires_once_more_is_refused_from_then_on),
        cmocka_unit_test(what_was_built_of_both_is_refused),
        cmocka_unit_test(what_was_put_before_it_was_longer_goes_when_it_was_to),
        cmocka_unit_test(what_waits_over_a_shorter_and_a_longer_retention_is_in_all_tiers),
        cmocka_unit_test(a_tenant_without_tiers_takes_older_points_at_once),
        cmocka_unit_test(what_has_expired_since_stays_as_it_is),
        cmocka_unit_test(all_that_is_taken_is_in_all_tiers_for_ever),
        cmocka_unit_test(while_the_store_is_away_nothing_is_decided),
    };
    if (getenv("FIRST")) { /* that alone: for a seed that failed, and for many more */
        cmocka_set_test_filter("all_that*");
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
