/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes share the store, too, who asks for what a tier lacks since it was changed is told, by
 * all of them. */
#include "tiers_fixture.h"

/* What is said of a query that begins then; VV_OK: it is answered, and lacks what was before a
 * time, or nothing (0). */
static enum vv_status ask_for(struct node *node, int64_t from, const char *step,
                              int64_t *lacks_before_out, struct vv_error *error)
{
    char begin[24];
    snprintf(begin, sizeof begin, "%lld", (long long)from);
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("from"), vv_str_of(begin)},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("count")},
        {VV_STR_LITERAL("step"), vv_str_of(step)},
    };
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    vv_engine_query_limits(node->rig.engine, &limits);
    vv_engine_query_begin(node->rig.engine);
    assert_int_equal(vv_request_parse(VV_REQUEST_QUERY, parameters, 5, now_ns(), &request, error),
                     VV_OK);
    enum vv_status status = vv_result_open(vv_engine_query_context(node->rig.engine), &limits,
                                           request, VV_FORMAT_CSV, &result, error);
    *lacks_before_out = 0;
    if (status == VV_OK) {
        struct vv_result_facts facts;
        vv_result_read_facts(result, &facts);
        *lacks_before_out = facts.has_lacks ? facts.lacks_before : 0;
        vv_result_close(result);
    }
    return status;
}

static enum vv_status ask(struct node *node, int64_t from, const char *step, struct vv_error *error)
{
    int64_t lacks_before;
    enum vv_status status = ask_for(node, from, step, &lacks_before, error);
    return status;
}

static void expect_minutes(int64_t from)
{
    for (size_t n = 0; n < 2; n++) {
        struct vv_error error = {0};
        if (ask(&nodes[n], from, "1m", &error) != VV_OK) {
            fail_msg("node %zu: %s", n, error.message);
        }
    }
}

static void expect_no_minutes(int64_t from)
{
    for (size_t n = 0; n < 2; n++) {
        struct vv_error error = {0};
        assert_int_equal(ask(&nodes[n], from, "1m", &error), VV_INVALID);
        assert_non_null(strstr(error.message, "take a step of 1h"));
        assert_int_equal(ask(&nodes[n], from, "1h", &error), VV_OK);
    }
}

static void set_all(struct node *node, int64_t minute_ns, int64_t hour_ns, int64_t day_ns)
{
    const int64_t kept_ns[VV_SPACES] = {minute_ns, hour_ns, day_ns};
    (void)rig_step(&node->rig, VV_TASK_LEARN);
    set_tiers(node, kept_ns);
    hear_each_other();
}

static void set_minutes(struct node *node, int64_t kept_ns)
{
    set_all(node, kept_ns, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS);
}

static void restart_both(void)
{
    restart_node(&nodes[0], 3);
    restart_node(&nodes[1], 4);
    hear_each_other();
}

/* They are kept for 30 days at first, as points are for 40. */
static void one_that_is_kept_for_longer_lacks_what_had_expired(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_minutes(&nodes[1]);
    live_long(5, 9 * VV_DAY);
    hear_each_other();
    expect_no_minutes(from);
    set_minutes(&nodes[0], 0);
    expect_no_minutes(from);
    restart_both();
    live_long(2, 9 * VV_DAY);
    hear_each_other();
    expect_no_minutes(from);
    end();
}

static struct vv_rerolled go_on(struct node *node, uint64_t id, int64_t each_ns, int most)
{
    struct vv_rerolled rerolled = {.state = VV_REROLLED_RUNNING};
    for (int i = 0; i < most && rerolled.state == VV_REROLLED_RUNNING; i++) {
        advance(each_ns);
        (void)rig_step(&node->rig, VV_TASK_REROLL);
        assert_int_equal(vv_engine_read_reroll(node->rig.engine, id, false, &rerolled, NULL),
                         VV_OK);
    }
    return rerolled;
}

static uint64_t begin_reroll(struct node *node, const char *name, const char *value)
{
    struct vv_request *request;
    struct vv_error error = {0};
    uint64_t id = 0;
    const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
                                              {vv_str_of(name), vv_str_of(value)}};
    assert_int_equal(vv_request_parse(VV_REQUEST_REROLL, parameters, 2, now_ns(), &request, &error),
                     VV_OK);
    assert_int_equal(vv_engine_reroll(node->rig.engine, request, &id, &error), VV_OK);
    vv_request_destroy(request);
    return id;
}

static struct vv_rerolled end_reroll(struct node *node, uint64_t id)
{
    struct vv_rerolled rerolled = {.state = VV_REROLLED_RUNNING};
    for (int i = 0; i < 1000 && rerolled.state == VV_REROLLED_RUNNING; i++) {
        work(node);
        rerolled = go_on(node, id, VV_SECOND, 1);
    }
    assert_int_equal(rerolled.state, VV_REROLLED_DONE);
    return rerolled;
}

static struct vv_rerolled reroll(struct node *node, const char *name, const char *value)
{
    struct vv_rerolled rerolled = end_reroll(node, begin_reroll(node, name, value));
    hear_each_other();
    for (int i = 0; i < 2; i++) { /* what it has marked */
        live_long(1, VV_HOUR);
    }
    return rerolled;
}

static struct vv_rerolled reroll_all(struct node *node)
{
    let_all_know();
    return reroll(node, "dry_run", "false");
}

/* Runs would go. */
static int64_t fill_and_seal(void)
{
    int64_t from = fill_minutes(&nodes[1]);
    live_long(3, VV_DAY);
    hear_each_other();
    return from;
}

static void expect_lacks_nothing(int64_t from, const char *step)
{
    for (size_t n = 0; n < 2; n++) {
        struct vv_error error = {0};
        int64_t lacks_before;
        if (ask_for(&nodes[n], from, step, &lacks_before, &error) != VV_OK) {
            fail_msg("node %zu: %s", n, error.message);
        }
        assert_true(lacks_before == 0);
    }
}

/* Both have the points that came at first, and nothing else, by minutes. */
static void expect_all_minutes(int64_t from)
{
    expect_lacks_nothing(from, "1m");
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(count_by(&nodes[n], VV_SPACE_MINUTE), written);
        assert_int_equal(count_by(&nodes[n], VV_SPACE_HOUR), written);
        assert_int_equal(count_by(&nodes[n], VV_SPACE_DAY), written);
    }
}

/* What is there keeps the end that it was given. */
static void one_that_is_kept_for_longer_lacks_what_was_to_go(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_minutes(&nodes[1]);
    live_long(2, 9 * VV_DAY);
    set_minutes(&nodes[0], 0);
    live_long(2, 9 * VV_DAY);
    hear_each_other();
    expect_minutes(from); /* there are points */
    live_long(3, 9 * VV_DAY);
    hear_each_other();
    expect_no_minutes(from);
    end();
}

static void one_that_was_rerolled_is_kept_for_longer_as_a_whole(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_and_seal();
    live_long(2, 9 * VV_DAY);
    set_minutes(&nodes[0], 0);
    hear_each_other();
    (void)reroll_all(&nodes[0]);
    live_long(5, 9 * VV_DAY);
    hear_each_other();
    expect_all_minutes(from);
    restart_both();
    expect_all_minutes(from);
    set_minutes(&nodes[0], VV_SPACE_OFF_NS);
    set_minutes(&nodes[0], 0); /* it went on */
    expect_all_minutes(from);
    keep_for(&nodes[0], 10 * VV_DAY); /* nor since then, when the points have gone, too */
    hear_each_other();
    live_long(2, 9 * VV_DAY);
    hear_each_other();
    expect_all_minutes(from);
    set_minutes(&nodes[1], 20 * VV_DAY); /* it is not built again behind that */
    live_long(2, 3 * VV_DAY);
    set_minutes(&nodes[1], 0);
    hear_each_other();
    expect_no_minutes(from);
    end();
}

/* They come before there are tiers. */
static int64_t begin_without(void)
{
    begin_with("blocks", 1, false);
    keep_for(&nodes[0], 40 * VV_DAY);
    hear_each_other();
    return fill_and_seal();
}

static void switch_on(struct node *node)
{
    set_all(node, 0, 0, 0);
}

static void let_points_go(void)
{
    live_long(5, 9 * VV_DAY);
    hear_each_other();
}

/* No tier has it, so nothing can be had instead: the answer says so. */
static void expect_lacks(int64_t from, int64_t before)
{
    static const char *const lengths[] = {"1m", "1h", "1d"};
    for (size_t n = 0; n < 2 * 3; n++) {
        struct vv_error error = {0};
        int64_t lacks_before;
        assert_int_equal(ask_for(&nodes[n % 2], from, lengths[n / 2], &lacks_before, &error),
                         VV_OK);
        assert_true(llabs(lacks_before - before) < VV_HOUR);
        assert_int_equal(
            ask_for(&nodes[n % 2], before + VV_HOUR, lengths[n / 2], &lacks_before, &error), VV_OK);
        assert_true(lacks_before == 0);
    }
}

static void expect_hours(int64_t from)
{
    expect_lacks_nothing(from, "1h");
    for (size_t n = 0; n < 2; n++) {
        assert_int_equal(count_by(&nodes[n], VV_SPACE_HOUR), written);
    }
}

static void expect_days(int64_t from)
{
    for (size_t n = 0; n < 2; n++) {
        struct vv_error error = {0};
        assert_int_equal(ask(&nodes[n], from, "1m", &error), VV_INVALID);
        assert_int_equal(ask(&nodes[n], from, "1h", &error), VV_INVALID);
        assert_non_null(strstr(error.message, "take a step of 1d"));
        assert_int_equal(ask(&nodes[n], from, "1d", &error), VV_OK);
    }
}

static void one_that_is_switched_on_lacks_what_was_before(void **state)
{
    (void)state;
    static const char *const some[][2] = {
        {NULL, NULL}, {"dry_run", "true"}, {"measurement", "m"}, {"tier", "day"}};
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        int64_t from = begin_without();
        int64_t on = now_ns();
        switch_on(&nodes[0]);
        expect_minutes(from);
        if (some[i][0]) {
            let_all_know();
            (void)reroll(&nodes[1], some[i][0], some[i][1]);
        }
        let_points_go();
        if (i < 3) {
            expect_lacks(from, on);
        } else {
            expect_days(from);
        }
        end();
    }
}

static void one_that_is_switched_on_and_rerolled_lacks_nothing(void **state)
{
    (void)state;
    int64_t from = begin_without();
    int64_t on = now_ns();
    switch_on(&nodes[0]);
    (void)reroll_all(&nodes[1]);
    let_points_go();
    expect_all_minutes(from);
    restart_both();
    expect_all_minutes(from);
    expect_lacks(from - 60 * VV_DAY, on - 40 * VV_DAY); /* nobody knows what had gone by then */
    end();
}

/* Others may go on without them. */
static void one_that_is_rerolled_before_all_know_lacks_what_was_before(void **state)
{
    (void)state;
    int64_t from = begin_without();
    switch_on(&nodes[0]);
    (void)reroll(&nodes[1], "dry_run", "false");
    let_points_go();
    expect_days(from); /* their unit was not over */
    assert_int_equal(count_by(&nodes[0], VV_SPACE_DAY), written);
    end();
}

/* What it may not have flushed is sealed later. */
static void one_that_is_rerolled_while_a_node_is_behind_lacks_nothing(void **state)
{
    (void)state;
    int64_t from = begin_without();
    switch_on(&nodes[0]);
    let_all_know();
    (void)fill_minutes(&nodes[1]);
    advance(2 * VV_HOUR);
    work(&nodes[1]);
    seal(&nodes[1]);
    (void)reroll(&nodes[1], "dry_run", "false");
    live_long(2, VV_DAY);
    let_points_go();
    expect_all_minutes(from);
    end();
}

/* Switched on, and made longer twice: each time counts. */
static void ones_that_are_made_longer_again_and_again_lack_all_of_it(void **state)
{
    (void)state;
    int64_t from = begin_without();
    int64_t on = now_ns();
    for (int days = 60; days <= 90; days += 30) {
        set_all(&nodes[0], days * VV_DAY, days * VV_DAY, days * VV_DAY);
        live_long(1, VV_DAY);
    }
    switch_on(&nodes[0]);
    let_points_go();
    expect_lacks(from, on);
    end();
}

/* Of what they have another one is built, too. */
static void one_is_built_of_ones_that_were_rerolled(void **state)
{
    (void)state;
    begin_with("blocks", 1, false);
    keep_for(&nodes[0], 40 * VV_DAY);
    set_all(&nodes[0], 30 * VV_DAY, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS);
    int64_t from = fill_and_seal();
    (void)reroll_all(&nodes[0]);
    set_all(&nodes[0], 0, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS);
    (void)reroll_all(&nodes[0]);
    let_points_go();
    set_all(&nodes[0], 0, 0, VV_SPACE_OFF_NS);
    struct vv_rerolled rerolled = reroll_all(&nodes[0]);
    assert_true(rerolled.repaired > 0);
    set_all(&nodes[0], 10 * VV_DAY, 0, VV_SPACE_OFF_NS);
    live_long(20, 2 * VV_DAY);
    hear_each_other();
    expect_hours(from);
    end();
}

/* Wherever that belongs: some part of the store is away while units are marked. */
static void one_whose_unit_could_not_be_marked_lacks_it(void **state)
{
    (void)state;
    int silent = 0;
    for (uint32_t sets = 1; sets < 256; sets <<= 1) {
        int64_t from = begin_without();
        set_all(&nodes[0], VV_SPACE_OFF_NS, VV_SPACE_OFF_NS, 0);
        let_all_know();
        uint64_t id = begin_reroll(&nodes[0], "dry_run", "false");
        vv_sim_cassandra_set_away(model, sets);
        (void)go_on(&nodes[0], id, VV_SECOND / 10, 30);
        vv_sim_cassandra_set_away(model, 0);
        work_all();
        (void)go_on(&nodes[0], id, VV_SECOND, 100);
        hear_each_other();
        live_long(3, VV_HOUR);
        let_points_go();
        struct vv_error error = {0};
        int64_t lacks_before;
        enum vv_status status = ask_for(&nodes[0], from, "1d", &lacks_before, &error);
        bool has_all = count_by(&nodes[0], VV_SPACE_DAY) == written;
        silent += status == VV_OK && lacks_before == 0 && !has_all;
        end();
    }
    assert_int_equal(silent, 0);
}

/* Points at the beginning of a long bucket, and nothing behind. */
static int64_t begin_long_bucket(void)
{
    struct vv_plan plan;
    begin("blocks", 1);
    keep_for(&nodes[0], 0);
    assert_int_equal(change_plan(&nodes[0], 200 * VV_DAY, 1, &plan), VV_OK);
    hear_each_other();
    live_long(3, VV_DAY);
    hear_each_other();
    advance(plan.from_ns > now_ns() ? plan.from_ns - now_ns() : 0);
    int64_t from = fill_and_seal();
    assert_int_equal(read_at(&nodes[0], from).partition.bucket_ns, 200 * VV_DAY);
    return from;
}

static void what_is_ahead_is_passed_over(void **state)
{
    (void)state;
    (void)begin_long_bucket();
    struct vv_rerolled rerolled = reroll_all(&nodes[0]);
    assert_in_range(rerolled.units[VV_REROLL_OPEN], 1, 2 * VV_SPACES);
    end();
}

/* With the points behind the gap, which are looked at as those before it. */
static void what_is_empty_in_a_bucket_is_passed_over(void **state)
{
    (void)state;
    (void)begin_long_bucket();
    uint64_t before = reroll_all(&nodes[0]).units[VV_REROLL_SAME];
    advance(60 * VV_DAY);
    (void)fill_and_seal();
    struct vv_rerolled rerolled = reroll_all(&nodes[0]);
    assert_true(before > 0);
    assert_true(rerolled.units[VV_REROLL_SAME] > before);
    assert_in_range(rerolled.units[VV_REROLL_NOTHING], 0, 2 * 24); /* in spans that have some */
    end();
}

/* Nor what has a metric that can't be learnt then, behind a gap, into which is looked. */
static void what_is_away_ends_no_reroll(void **state)
{
    (void)state;
    uint64_t away = 0;
    for (uint32_t sets = 1; sets < 256; sets <<= 1) {
        char line[80];
        (void)begin_long_bucket();
        let_all_know();
        uint64_t id = begin_reroll(&nodes[1], "dry_run", "true"); /* this learns */
        snprintf(line, sizeof line, "m,id=x w=1 %lld\n", (long long)now_ns() - VV_HOUR);
        rig_write_line(&nodes[0].rig, line);
        (void)rig_step(&nodes[0].rig, VV_TASK_FLUSH);
        vv_sim_cassandra_set_away(model, sets);
        (void)go_on(&nodes[1], id, 1, 200);
        vv_sim_cassandra_set_away(model, 0);
        away += end_reroll(&nodes[1], id).units[VV_REROLL_AWAY];
        end();
    }
    assert_true(away > 0);
}

/* Its first points may be history. */
static void one_that_is_on_before_the_first_point_lacks_nothing(void **state)
{
    (void)state;
    has_tiers = false;
    make_cluster(1);
    for (uint32_t i = 0; i < 2; i++) {
        (void)make_node(i);
    }
    hear_each_other();
    keep_for(&nodes[0], 40 * VV_DAY);
    hear_each_other();
    switch_on(&nodes[1]);
    int64_t from = fill_and_seal();
    let_points_go();
    expect_all_minutes(from);
    expect_lacks_nothing(from - 60 * VV_DAY, "1m");
    end();
}

static void one_that_is_switched_on_again_lacks_what_it_is_built_of(void **state)
{
    (void)state;
    begin("blocks", 1);
    int64_t from = fill_minutes(&nodes[1]);
    set_minutes(&nodes[0], 0);
    live_long(6, 9 * VV_DAY);
    hear_each_other();
    expect_minutes(from);
    int64_t later = fill_minutes(&nodes[1]);
    live_long(2, 2 * VV_DAY);
    set_minutes(&nodes[0], VV_SPACE_OFF_NS);
    expect_no_minutes(from);
    live_long(2, 2 * VV_DAY); /* until then it goes on */
    set_minutes(&nodes[1], 0);
    expect_no_minutes(from);
    expect_minutes(later); /* there are points */
    restart_both();
    expect_no_minutes(from);
    live_long(2, 9 * VV_DAY);
    hear_each_other();
    expect_no_minutes(from);
    expect_minutes(later);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_kept_for_longer_lacks_what_had_expired),
        cmocka_unit_test(one_that_is_kept_for_longer_lacks_what_was_to_go),
        cmocka_unit_test(one_that_was_rerolled_is_kept_for_longer_as_a_whole),
        cmocka_unit_test(one_that_is_switched_on_lacks_what_was_before),
        cmocka_unit_test(one_that_is_switched_on_and_rerolled_lacks_nothing),
        cmocka_unit_test(one_that_is_rerolled_before_all_know_lacks_what_was_before),
        cmocka_unit_test(one_that_is_rerolled_while_a_node_is_behind_lacks_nothing),
        cmocka_unit_test(ones_that_are_made_longer_again_and_again_lack_all_of_it),
        cmocka_unit_test(one_is_built_of_ones_that_were_rerolled),
        cmocka_unit_test(one_whose_unit_could_not_be_marked_lacks_it),
        cmocka_unit_test(what_is_ahead_is_passed_over),
        cmocka_unit_test(what_is_empty_in_a_bucket_is_passed_over),
        cmocka_unit_test(what_is_away_ends_no_reroll),
        cmocka_unit_test(one_that_is_on_before_the_first_point_lacks_nothing),
        cmocka_unit_test(one_that_is_switched_on_again_lacks_what_it_is_built_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
