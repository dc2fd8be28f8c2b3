/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of measurements that have changed their class: as much is read as if they had not,
 * nothing is refused for the sake of a place that has nothing of it, and the facts are of both.
 */
#include "classes_rig.h"

#define DAY (RIG_START + VV_DAY)
#define FROM                                                                                       \
    {                                                                                              \
        VV_STR_LITERAL("from"), VV_STR_LITERAL("2026-01-01T00:00:00Z")                             \
    }
#define HERE                                                                                       \
    {                                                                                              \
        VV_STR_LITERAL("tenant"), SIM                                                              \
    }
#define SUMS                                                                                       \
    {                                                                                              \
        VV_STR_LITERAL("agg"), VV_STR_LITERAL("sum")                                               \
    }
#define OF(words)                                                                                  \
    {                                                                                              \
        VV_STR_LITERAL("metric"), VV_STR_LITERAL(words)                                            \
    }
#define EACH(words)                                                                                \
    {                                                                                              \
        VV_STR_LITERAL("step"), VV_STR_LITERAL(words)                                              \
    }
#define N(parameters) (sizeof(parameters) / sizeof(parameters)[0])

static const struct vv_retentions all = {0, {OFF, 0, OFF}};

static void begin_with(struct rig *rig, const struct vv_retentions *tenant,
                       const struct vv_retentions *class)
{
    begin(rig);
    assert_int_equal(vv_engine_set_retentions(rig->engine, SIM, tenant, NULL), VV_OK);
    set_class(rig, "c", "", class);
}

static void change(struct rig *rig)
{
    static const struct vv_retentions as_is = KEEP;
    set_class(rig, "c", "debug*\n", &as_is);
}

/* Tiers are on, and the range lies ahead: that is no error. */
static void an_empty_range_has_no_rows(void **state)
{
    (void)state;
    struct vv_parameter parameters[] = {
        HERE,
        OF("debug1.v"),
        SUMS,
        EACH("1h"),
        {VV_STR_LITERAL("from"), VV_STR_LITERAL("2026-02-01T00:00:00Z")},
        {VV_STR_LITERAL("group_by"), VV_STR_LITERAL("all")},
    };
    for (int moved = 0; moved < 2; moved++) {
        struct rig rig;
        struct vv_error error = {0};
        begin_with(&rig, &all, &all);
        write_now(&rig, "debug1");
        if (moved) {
            change(&rig);
        }
        assert_int_equal(ask_for(&rig, parameters, N(parameters) - 1, false, &error), 0);
        assert_int_equal(ask_for(&rig, parameters, N(parameters), false, &error), 0);
        rig_deinit(&rig);
    }
}

/* All of a stay has expired, in all tiers: what the other place has is answered. */
static void a_place_that_has_nothing_left_refuses_nothing(void **state)
{
    (void)state;
    static const struct vv_parameter minutes[] = {HERE, OF("debug1.v"), SUMS, EACH("1m"), FROM};
    static const struct vv_parameter points[] = {HERE, OF("debug1.v"), FROM};
    static const struct vv_parameter wish[] = {
        HERE, OF("debug1.v"), SUMS, EACH("1h"), {VV_STR_LITERAL("tier"), VV_STR_LITERAL("hour")},
        FROM,
    };
    static const struct vv_retentions raw = {0, {OFF, OFF, OFF}};
    static const struct vv_retentions month = {30 * VV_DAY, {OFF, 90 * VV_DAY, OFF}};
    static const struct vv_retentions short_lived = {6 * VV_HOUR, {OFF, OFF, OFF}};
    struct rig rig;
    struct vv_error error = {0};
    begin_with(&rig, &month, &raw);
    write_now(&rig, "debug1");
    change(&rig);
    go_to(&rig, DAY + 5 * VV_DAY);
    write_now(&rig, "debug1");
    go_to(&rig, DAY + 50 * VV_DAY); /* hours of the first day are there: they are named */
    assert_int_equal(ask_for(&rig, minutes, N(minutes), false, &error), -1);
    assert_non_null(strstr(error.message, "from 2026-01-02T00:00:00Z on"));
    go_to(&rig, DAY + 200 * VV_DAY);
    assert_int_equal(ask_for(&rig, minutes, N(minutes), false, &error), 1);
    assert_int_equal(ask_for(&rig, points, N(points), false, &error), 1);
    rig_deinit(&rig);
    begin_with(&rig, &short_lived, &all);
    write_now(&rig, "debug1");
    change(&rig);
    assert_int_equal(ask_for(&rig, wish, N(wish), false, &error), -1);
    go_to(&rig, DAY + 5 * VV_DAY);
    write_now(&rig, "debug1");
    go_to(&rig, DAY + 9 * VV_DAY);
    seal(&rig);
    assert_int_equal(ask_for(&rig, wish, N(wish), false, &error), 1);
    assert_int_equal(ask_for(&rig, wish, N(wish) - 1, false, &error), 1);
    rig_deinit(&rig);
}

/* The day is still to come. */
static void a_place_that_has_nothing_yet_refuses_nothing(void **state)
{
    (void)state;
    static const struct vv_parameter wish[] = {
        HERE,
        OF("debug1.v"),
        SUMS,
        EACH("1h"),
        {VV_STR_LITERAL("tier"), VV_STR_LITERAL("hour")},
        FROM,
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("2026-02-01T00:00:00Z")},
    };
    struct rig rig;
    struct vv_error error = {0};
    begin_with(&rig, &all, &six_hours);
    write_now(&rig, "debug1");
    change(&rig);
    assert_int_equal(ask_for(&rig, wish, N(wish), false, &error), 1);
    go_to(&rig, DAY + VV_HOUR);
    assert_int_equal(ask_for(&rig, wish, N(wish), false, &error), -1);
    assert_non_null(strstr(error.message, "of measurements of class c"));
    rig_deinit(&rig);
}

/* A record is read once for all its metrics, of each of two places. */
static void all_metrics_are_read_together(void **state)
{
    (void)state;
    static const struct vv_parameter parameters[] = {HERE, OF("*"), SUMS, EACH("1d"), FROM};
    uint64_t pieces[2];
    for (int moved = 0; moved < 2; moved++) {
        struct rig rig;
        struct vv_error error = {0};
        begin_with(&rig, &all, &all);
        for (int day = 0; day < 12; day++) {
            char line[512];
            int size = snprintf(line, sizeof line, "debug1,h=x ");
            for (int i = 0; i < 20; i++) {
                size +=
                    snprintf(line + size, sizeof line - (size_t)size, "%sf%d=1", i ? "," : "", i);
            }
            snprintf(line + size, sizeof line - (size_t)size, " %lld\n",
                     (long long)rig.clock.clock.wall_ns(&rig.clock.clock));
            rig_write_line(&rig, line);
            if (day == 5 && moved) {
                change(&rig);
            }
            go_to(&rig, RIG_START + (day + 1) * VV_DAY + VV_HOUR);
        }
        seal(&rig);
        assert_int_equal(ask_for(&rig, parameters, N(parameters), false, &error), 12 * 20);
        pieces[moved] = facts_read.pieces_read;
        rig_deinit(&rig);
    }
    assert_true(pieces[1] <= 3 * pieces[0]);
}

/* 0: not moved; 1: the day is still to come, and asked for; 2: some days are there. */
static void what_sources_have_together_is_read_of_both_places(void **state)
{
    (void)state;
    static const struct vv_parameter parameters[] = {
        HERE,
        OF("debug1.v"),
        SUMS,
        EACH("1d"),
        FROM,
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("2026-12-31T00:00:00Z")},
        {VV_STR_LITERAL("group_by"), VV_STR_LITERAL("all")},
    };
    for (int moved = 0; moved < 3; moved++) {
        struct rig rig;
        struct vv_error error = {0};
        begin_with(&rig, &all, &all);
        for (int day = 0; day < 12; day++) {
            for (int source = 0; source < 20; source++) {
                char line[64];
                snprintf(line, sizeof line, "debug1,h=s%d v=1 %lld\n", source,
                         (long long)rig.clock.clock.wall_ns(&rig.clock.clock));
                rig_write_line(&rig, line);
            }
            go_to(&rig, RIG_START + (day + 1) * VV_DAY + VV_HOUR);
            if (day == 5 && moved == 2) {
                change(&rig);
            }
        }
        go_to(&rig, RIG_START + 15 * VV_DAY);
        seal(&rig);
        if (moved == 1) {
            change(&rig);
        }
        assert_int_equal(ask_for(&rig, parameters, N(parameters), false, &error), 12);
        assert_true(facts_read.tiers[VV_SPACE_HOUR].cohorts >= 1u + (moved == 2));
        assert_true(facts_read.pieces_read < 20);
        rig_deinit(&rig);
    }
}

/* The place that has the later points says up to when tiers are built. */
static void tiers_are_sealed_as_far_as_the_later_place_says(void **state)
{
    (void)state;
    static const struct vv_parameter parameters[] = {HERE, OF("debug1.v"), SUMS, EACH("1h"), FROM};
    struct rig rig;
    struct vv_error error = {0};
    begin_with(&rig, &all, &all);
    write_now(&rig, "debug1");
    go_to(&rig, RIG_START + 5 * VV_DAY); /* nothing comes meanwhile */
    change(&rig);
    go_to(&rig, RIG_START + 8 * VV_DAY);
    write_now(&rig, "debug1");
    go_to(&rig, RIG_START + 9 * VV_DAY + VV_HOUR);
    seal(&rig);
    assert_int_equal(ask_for(&rig, parameters, N(parameters), false, &error), 2);
    assert_true(facts_read.tiers[VV_SPACE_HOUR].sealed_until == RIG_START + 9 * VV_DAY);
    rig_deinit(&rig);
}

/* Of a place that is not frozen there nothing is, of the other one what lies there. */
static void a_deletion_tells_of_tiers_where_only_they_are(void **state)
{
    (void)state;
    static const struct vv_parameter parameters[] = {
        HERE,
        {VV_STR_LITERAL("measurement"), VV_STR_LITERAL("debug1")},
        {VV_STR_LITERAL("from"), VV_STR_LITERAL("2026-01-01T00:10:00Z")},
        {VV_STR_LITERAL("to"), VV_STR_LITERAL("2026-01-02T12:00:00Z")},
    };
    static const struct vv_retentions three_days = {3 * VV_DAY, {OFF, 0, OFF}};
    for (int later = 0; later < 2; later++) {
        struct rig rig;
        struct vv_error error = {0};
        struct vv_deleted deleted;
        begin_with(&rig, &all, &three_days);
        write_now(&rig, "debug1");
        change(&rig);
        go_to(&rig, DAY + (later ? 10 * VV_DAY : 13 * VV_HOUR));
        seal(&rig);
        assert_int_equal(try_delete(&rig, parameters, 4, &deleted, &error), VV_OK);
        assert_int_equal(deleted.tiers_from < deleted.tiers_to, later);
        assert_true(!later || deleted.tiers_from == DAY);
        rig_deinit(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_range_has_no_rows),
        cmocka_unit_test(a_place_that_has_nothing_left_refuses_nothing),
        cmocka_unit_test(a_place_that_has_nothing_yet_refuses_nothing),
        cmocka_unit_test(all_metrics_are_read_together),
        cmocka_unit_test(what_sources_have_together_is_read_of_both_places),
        cmocka_unit_test(tiers_are_sealed_as_far_as_the_later_place_says),
        cmocka_unit_test(a_deletion_tells_of_tiers_where_only_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
