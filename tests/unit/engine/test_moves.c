/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves: a measurement that has points gets another class. From a day on its points go there; what
 * is earlier stays where it is, and all is answered, kept, deleted and built by where it lies.
 */
#include "classes_rig.h"

#include "engine/engine_private.h"

#define DAY (RIG_START + VV_DAY) /* from which what is changed at the start is moved */

static const struct vv_retentions as_is = KEEP;
static const struct vv_retentions hours = {3 * VV_DAY, {OFF, 90 * VV_DAY, OFF}};

/* What the class takes from then on; the day. */
static int64_t change(struct rig *rig, const char *measurements, uint64_t moved)
{
    struct vv_class_effect effect;
    struct vv_error error = {0};
    if (try_class(rig, "c", measurements, &as_is, &effect, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(effect.moved.n, moved);
    assert_int_equal(effect.elsewhere.n, 0);
    return effect.moved_from;
}

/* A line of it at that time, when it has come. */
static void write_at(struct rig *rig, const char *measurement, int64_t time)
{
    int64_t now = rig->clock.clock.wall_ns(&rig->clock.clock);
    if (now < time) {
        go_to(rig, time);
        now = time;
    }
    assert_int_equal(write_old(rig, measurement, now - time, NULL), 0);
}

/* "debug1" with a point before the day, one right before it, one right then, and one after it;
 * its class has these retentions. */
static void begin_moved(struct rig *rig, int64_t hour, const struct vv_retentions *retentions)
{
    begin(rig);
    set_tenant(rig, 30 * VV_DAY, hour);
    write_now(rig, "debug1");
    write_now(rig, "energy");
    set_class(rig, "c", "", retentions);
    assert_int_equal(change(rig, "debug*\n", 1), DAY);
    write_at(rig, "debug1", DAY - 1);
    write_at(rig, "debug1", DAY);
    write_at(rig, "debug1", DAY + VV_HOUR);
}

static void points_go_to_the_class_from_the_day_on(void **state)
{
    (void)state;
    for (int sealed = 0; sealed < 2; sealed++) {
        struct rig rig;
        begin_moved(&rig, OFF, &six_hours);
        assert_int_equal(count(&rig, "debug1.v"), 4); /* of the head */
        step(&rig, VV_TASK_FLUSH);
        if (sealed) {
            step_all(&rig, VV_TASK_SEAL_ALL);
        }
        assert_int_equal(count(&rig, "debug1.v"), 4);
        assert_int_equal(pieces_at(&rig, place_of(&rig, NULL), DAY - VV_HOUR), 1);
        assert_int_equal(pieces_at(&rig, place_of(&rig, NULL), DAY + 2 * VV_HOUR), 0);
        assert_int_equal(pieces_at(&rig, place_of(&rig, "c"), DAY - 2 * VV_HOUR), 0);
        assert_int_equal(pieces_at(&rig, place_of(&rig, "c"), DAY + VV_HOUR), 2);
        /* Each is kept as long as its place says. */
        go_to(&rig, DAY + 6 * VV_HOUR + VV_MINUTE);
        assert_int_equal(count(&rig, "debug1.v"), 3);
        go_to(&rig, DAY + 12 * VV_HOUR);
        step_all(&rig, VV_TASK_SEAL_ALL);
        step(&rig, VV_TASK_EXPIRE);
        assert_int_equal(pieces_at(&rig, place_of(&rig, "c"), DAY + VV_HOUR), 0);
        assert_int_equal(count(&rig, "debug1.v"), 2);
        go_to(&rig, DAY + 29 * VV_DAY + VV_HOUR);
        assert_int_equal(count(&rig, "debug1.v"), 1);
        assert_int_equal(count(&rig, "energy.v"), 0);
        rig_deinit(&rig);
    }
}

/* By the place of its time, in both directions. */
static void a_point_is_taken_as_its_place_keeps_it(void **state)
{
    (void)state;
    struct rig rig;
    char detail[160] = "";
    begin_moved(&rig, OFF, &six_hours);
    go_to(&rig, DAY + 10 * VV_HOUR);
    assert_int_equal(write_old(&rig, "debug1", 7 * VV_HOUR, detail), 2);
    assert_non_null(strstr(detail, "class's retention of 6h"));
    assert_int_equal(write_old(&rig, "debug1", 5 * VV_HOUR, NULL), 0);
    assert_int_equal(write_old(&rig, "debug1", 11 * VV_HOUR, NULL), 0);
    assert_int_equal(write_old(&rig, "debug1", 31 * VV_DAY, detail), 2);
    assert_non_null(strstr(detail, "tenant's retention of 30d"));
    rig_deinit(&rig);
}

static void tiers_of_both_places_answer(void **state)
{
    (void)state;
    struct vv_error error = {0};
    for (int tenant_has = 0; tenant_has < 2; tenant_has++) {
        struct rig rig;
        begin_moved(&rig, tenant_has ? 90 * VV_DAY : OFF, &hours);
        go_to(&rig, DAY + 2 * VV_DAY);
        seal(&rig);
        struct vv_registry *registry = registry_of(&rig);
        uint32_t class_hours =
            vv_registry_tiers(registry, place_of(&rig, "c")).spaces[VV_SPACE_HOUR];
        uint32_t tenant_hours =
            vv_registry_tiers(registry, place_of(&rig, NULL)).spaces[VV_SPACE_HOUR];
        assert_true(units_of(&rig, class_hours, DAY) > 0);
        assert_int_equal(units_of(&rig, class_hours, DAY - 1), 0);
        assert_int_equal(ask(&rig, "debug1.v", "auto", false, &error), 4);
        assert_int_equal(ask(&rig, "debug1.v", "raw", false, &error), 4);
        if (!tenant_has) { /* for a part of the range there is none */
            assert_int_equal(ask(&rig, "debug1.v", "hour", false, &error), -1);
            rig_deinit(&rig);
            continue;
        }
        assert_int_equal(units_of(&rig, tenant_hours, DAY), 0);
        assert_true(units_of(&rig, tenant_hours, DAY - 1) > 0);
        assert_int_equal(ask(&rig, "debug1.v", "hour", false, &error), 4);
        assert_true(facts_read.tiers[VV_SPACE_HOUR].sealed_until == DAY + VV_DAY);
        go_to(&rig, DAY + 40 * VV_DAY); /* only tiers are left, of both */
        step(&rig, VV_TASK_EXPIRE);
        assert_int_equal(ask(&rig, "debug1.v", "raw", false, &error), 0);
        assert_int_equal(ask(&rig, "debug1.v", "hour", false, &error), 4);
        rig_deinit(&rig);
    }
}

/* How far back is asked for is what is to lie in each place: the class has no older points. */
static void what_a_class_never_had_has_not_expired(void **state)
{
    (void)state;
    static const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), SIM},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("debug1.v")},
        {VV_STR_LITERAL("agg"), VV_STR_LITERAL("sum")},
        {VV_STR_LITERAL("step"), VV_STR_LITERAL("1m")},
        {VV_STR_LITERAL("from"), VV_STR_LITERAL("2026-01-01T00:00:00Z")},
    };
    struct rig rig;
    struct vv_error error = {0};
    begin_moved(&rig, OFF, &hours);
    go_to(&rig, DAY + 3 * VV_DAY - VV_HOUR);
    seal(&rig);
    assert_int_equal(ask_for(&rig, parameters, 5, false, &error), 4);
    go_to(&rig, DAY + 3 * VV_DAY + 2 * VV_HOUR);
    assert_int_equal(ask_for(&rig, parameters, 5, false, &error), -1);
    assert_non_null(strstr(error.message, "of measurements of class c"));
    rig_deinit(&rig);
}

static enum vv_status try_range(struct rig *rig, const char *from, const char *to,
                                struct vv_deleted *deleted, struct vv_error *error)
{
    const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), SIM},
        {VV_STR_LITERAL("measurement"), VV_STR_LITERAL("debug1")},
        {VV_STR_LITERAL("from"), vv_str_of(from)},
        {VV_STR_LITERAL("to"), vv_str_of(to)},
    };
    return try_delete(rig, parameters, 4, deleted, error);
}

static struct vv_deleted delete_range(struct rig *rig, const char *from, const char *to)
{
    struct vv_deleted deleted;
    struct vv_error error = {0};
    if (try_range(rig, from, to, &deleted, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    return deleted;
}

static void what_is_deleted_goes_in_both_places(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_error error = {0};
    begin_moved(&rig, OFF, &six_hours);
    seal(&rig);
    delete_range(&rig, "2026-01-01T12:00:00Z", "2026-01-02T00:30:00Z");
    assert_int_equal(count(&rig, "debug1.v"), 2);
    assert_int_equal(ask(&rig, "debug1.v", NULL, true, &error), 4);
    step_all(&rig, VV_TASK_SWEEP);
    step_all(&rig, VV_TASK_SEAL_ALL);
    assert_int_equal(ask(&rig, "debug1.v", NULL, true, &error), 2);
    assert_int_equal(count(&rig, "energy.v"), 1);
    rig_deinit(&rig);
}

/* What only tiers hold: whole hours of either place. */
static void steps_are_deleted_in_both_places(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_error error = {0};
    begin_moved(&rig, 90 * VV_DAY, &hours);
    for (int k = 1; k <= 120; k++) { /* else rows are kept, which go one by one */
        write_at(&rig, "debug1", DAY + (k <= 60 ? k : 60 - k) * VV_SECOND);
    }
    go_to(&rig, DAY + 2 * VV_DAY);
    seal(&rig);
    go_to(&rig, DAY + 40 * VV_DAY);
    step(&rig, VV_TASK_EXPIRE);
    assert_int_equal(ask(&rig, "debug1.v", "hour", false, &error), 4);
    static const char *const parts[][2] = {{"2026-01-01T23:00:00Z", "2026-01-02T00:30:00Z"},
                                           {"2026-01-02T00:00:00Z", "2026-01-02T00:30:00Z"},
                                           {"2026-01-01T23:30:00Z", "2026-01-02T00:00:00Z"}};
    for (size_t i = 0; i < 3; i++) {
        struct vv_deleted none;
        assert_int_equal(try_range(&rig, parts[i][0], parts[i][1], &none, &error), VV_INVALID);
        assert_non_null(strstr(error.message, "only whole hours can be deleted there"));
    }
    struct vv_deleted deleted = delete_range(&rig, "2026-01-01T23:00:00Z", "2026-01-02T01:00:00Z");
    assert_true(deleted.tiers_from < deleted.tiers_to);
    step_all(&rig, VV_TASK_SWEEP);
    step_all(&rig, VV_TASK_SEAL_ALL);
    assert_int_equal(ask(&rig, "debug1.v", "hour", true, &error), 2);
    rig_deinit(&rig);
}

static void both_places_are_rolled_again(void **state)
{
    (void)state;
    static const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), SIM}};
    struct rig rig;
    struct vv_error error = {0};
    struct vv_request *request;
    struct vv_rerolled rerolled;
    uint64_t id;
    begin_moved(&rig, 90 * VV_DAY, &hours);
    go_to(&rig, DAY + 2 * VV_DAY);
    seal(&rig);
    int64_t now = rig.clock.clock.wall_ns(&rig.clock.clock);
    assert_int_equal(vv_request_parse(VV_REQUEST_REROLL, parameters, 1, now, &request, NULL),
                     VV_OK);
    assert_int_equal(vv_engine_reroll(rig.engine, request, &id, &error), VV_OK);
    vv_request_destroy(request);
    while (vv_engine_step(rig.engine, VV_TASK_REROLL, &error) == VV_OK) {
    }
    assert_int_equal(vv_engine_read_reroll(rig.engine, id, false, &rerolled, &error), VV_OK);
    assert_int_equal(rerolled.state, VV_REROLLED_DONE);
    assert_int_equal(rerolled.units[VV_REROLL_SAME], 3); /* a day each of debug1, and energy's */
    assert_int_equal(rerolled.units[VV_REROLL_MISSING], 0);
    rig_deinit(&rig);
}

/* Who changes his mind before the day has changed nothing. */
static void what_has_not_come_yet_can_be_taken_back(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_stay stays[VV_STAYS_MAX];
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    write_now(&rig, "debug1");
    set_class(&rig, "c", "", &six_hours);
    assert_int_equal(change(&rig, "debug*\n", 1), DAY);
    assert_int_equal(change(&rig, "debug*\n", 0), 0);
    assert_int_equal(change(&rig, "", 1), DAY);
    assert_int_equal(vv_registry_stays(registry_of(&rig), 0, stays), 1);
    write_at(&rig, "debug1", DAY + VV_HOUR);
    /* And what has come is followed by another change, not undone. */
    assert_int_equal(change(&rig, "debug*\n", 1), DAY + VV_DAY);
    write_at(&rig, "debug1", DAY + VV_DAY);
    write_now(&rig, "debug2"); /* made in the class */
    assert_int_equal(change(&rig, "", 2), DAY + 2 * VV_DAY);
    write_at(&rig, "debug1", DAY + 2 * VV_DAY);
    write_at(&rig, "debug2", DAY + 2 * VV_DAY);
    step(&rig, VV_TASK_FLUSH);
    assert_int_equal(vv_registry_stays(registry_of(&rig), 0, stays), 3);
    go_to(&rig, DAY + 2 * VV_DAY + 7 * VV_HOUR);
    assert_int_equal(count(&rig, "debug1.v"), 3);
    assert_int_equal(count(&rig, "debug2.v"), 1);
    rig_deinit(&rig);
}

/* Points may have come far ahead, by another clock. */
static void the_day_is_behind_all_points(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    rig.clock.wall_ns += 20 * VV_DAY;
    write_now(&rig, "debug1");
    step(&rig, VV_TASK_FLUSH);
    rig.clock.wall_ns -= 20 * VV_DAY;
    set_class(&rig, "c", "", &six_hours);
    assert_int_equal(change(&rig, "debug*\n", 1), RIG_START + 21 * VV_DAY);
    go_to(&rig, RIG_START + 22 * VV_DAY);
    assert_int_equal(count(&rig, "debug1.v"), 1);
    rig_deinit(&rig);
}

/* Nor does a clock that was wrong for a while leave it there. */
static void a_day_that_is_farther_than_it_must_be_is_brought_nearer(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_stay stays[VV_STAYS_MAX];
    begin(&rig);
    set_tenant(&rig, 0, OFF);
    write_now(&rig, "debug1");
    set_class(&rig, "c", "", &as_is);
    rig.clock.wall_ns += 3650 * VV_DAY;
    assert_int_equal(change(&rig, "debug*\n", 1), DAY + 3650 * VV_DAY);
    rig.clock.wall_ns -= 3650 * VV_DAY;
    assert_int_equal(change(&rig, "debug*\n", 1), DAY);
    assert_int_equal(change(&rig, "debug*\n", 0), 0);
    assert_int_equal(vv_registry_stays(registry_of(&rig), 0, stays), 2);
    rig_deinit(&rig);
}

/* The metadata is read before the journal: what it says of a measurement may name a class that was
 * made since the job was cut. */
static void a_crash_behind_an_older_job_loses_nothing(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_stay stays[VV_STAYS_MAX];
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    write_now(&rig, "debug1");
    assert_int_equal(vv_commit_cut(rig.engine, true), VV_OK);
    set_class(&rig, "c", "debug*\n", &hours);
    step(&rig, VV_TASK_FLUSH);
    crash(&rig, 1);
    assert_int_equal(vv_registry_stays(registry_of(&rig), 0, stays), 2);
    assert_int_equal(stays[1].place, place_of(&rig, "c"));
    struct vv_retentions kept = vv_engine_retentions(rig.engine, stays[1].place);
    assert_memory_equal(&kept, &hours, sizeof kept);
    rig_deinit(&rig);
}

static void a_move_outlasts_a_crash(void **state)
{
    (void)state;
    for (int flushed = 0; flushed < 2; flushed++) {
        struct rig rig;
        begin(&rig);
        set_tenant(&rig, 30 * VV_DAY, OFF);
        write_now(&rig, "debug1");
        step(&rig, VV_TASK_FLUSH);
        set_class(&rig, "c", "", &six_hours);
        assert_int_equal(change(&rig, "debug*\n", 1), DAY);
        if (flushed) {
            write_now(&rig, "energy");
            step(&rig, VV_TASK_FLUSH);
        }
        crash(&rig, 1);
        assert_int_equal(vv_registry_stay(registry_of(&rig), 0, DAY - 1).place,
                         place_of(&rig, NULL));
        assert_int_equal(vv_registry_stay(registry_of(&rig), 0, DAY).place, place_of(&rig, "c"));
        write_at(&rig, "debug1", DAY + VV_HOUR);
        crash(&rig, 2);
        assert_int_equal(count(&rig, "debug1.v"), 2);
        step(&rig, VV_TASK_FLUSH);
        crash(&rig, 3);
        assert_int_equal(count(&rig, "debug1.v"), 2);
        rig_deinit(&rig);
    }
}

/* And the same request makes it whole, wherever it was cut short. */
static void a_move_that_is_not_journaled_is_none(void **state)
{
    (void)state;
    bool ended = false;
    for (uint64_t k = 0; !ended && k < 60; k++) {
        bool loses_power = k % 2 == 0; /* or the write fails, and the engine goes on */
        struct rig rig;
        struct vv_class_effect effect;
        struct vv_error error = {0};
        struct vv_stay stays[VV_STAYS_MAX];
        begin(&rig);
        set_tenant(&rig, 30 * VV_DAY, OFF);
        write_now(&rig, "debug1");
        set_class(&rig, "c", "", &six_hours);
        if (loses_power) {
            vv_sim_disk_power_off_after(rig.disk, k / 2 + 1);
        } else {
            vv_sim_disk_fail_call(rig.disk, VV_SIM_WRITE, k / 2 + 1, VV_IO);
        }
        enum vv_status status = try_class(&rig, "c", "debug*\n", &as_is, &effect, &error);
        ended = loses_power && status == VV_OK && !vv_sim_disk_is_off(rig.disk);
        if (loses_power) {
            crash(&rig, k);
        } else {
            vv_sim_disk_heal(rig.disk);
        }
        size_t n = vv_registry_stays(registry_of(&rig), 0, stays);
        assert_true(n == 2 || status != VV_OK);
        if (!loses_power && status != VV_OK && status != VV_UNKNOWN) {
            assert_int_equal(n, 1);
        }
        set_class(&rig, "c", "debug*\n", &as_is); /* again */
        assert_int_equal(vv_registry_stays(registry_of(&rig), 0, stays), 2);
        assert_int_equal(stays[1].from, DAY);
        rig_deinit(&rig);
    }
    assert_true(ended);
}

static void a_measurement_that_changes_too_often_is_told_so(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_class_effect effect;
    struct vv_error error = {0};
    begin(&rig);
    set_tenant(&rig, 0, OFF);
    write_now(&rig, "debug1");
    set_class(&rig, "c", "", &as_is);
    for (int i = 1; i < VV_STAYS_MAX; i++) {
        change(&rig, i % 2 ? "debug*\n" : "", 1);
        go_to(&rig, RIG_START + i * VV_DAY + VV_HOUR);
    }
    write_now(&rig, "debug1");
    write_now(&rig, "energy");
    assert_int_equal(try_class(&rig, "c", "energy\n", &as_is, &effect, &error), VV_OK);
    assert_int_equal(effect.elsewhere.n, 1);
    assert_true(vv_str_equal(effect.elsewhere.examples[0], VV_STR_LITERAL("debug1")));
    assert_int_equal(effect.moved.n, 1); /* the others do change */
    assert_true(vv_str_equal(effect.moved.examples[0], VV_STR_LITERAL("energy")));
    assert_int_equal(count(&rig, "debug1.v"), 2);
    rig_deinit(&rig);
}

/* They are journaled a thousand at a time. */
static void very_many_measurements_move(void **state)
{
    (void)state;
    struct rig rig;
    char name[16];
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    set_class(&rig, "c", "", &six_hours);
    for (int i = 0; i < 2100; i++) {
        snprintf(name, sizeof name, "debug%d", i);
        write_now(&rig, name);
    }
    assert_int_equal(change(&rig, "debug*\n", 2100), DAY);
    crash(&rig, 1);
    uint32_t class = place_of(&rig, "c");
    for (uint32_t i = 0; i < 2100; i++) {
        assert_int_equal(vv_registry_stay(registry_of(&rig), i, DAY).place, class);
    }
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_go_to_the_class_from_the_day_on),
        cmocka_unit_test(a_point_is_taken_as_its_place_keeps_it),
        cmocka_unit_test(tiers_of_both_places_answer),
        cmocka_unit_test(what_a_class_never_had_has_not_expired),
        cmocka_unit_test(what_is_deleted_goes_in_both_places),
        cmocka_unit_test(steps_are_deleted_in_both_places),
        cmocka_unit_test(both_places_are_rolled_again),
        cmocka_unit_test(what_has_not_come_yet_can_be_taken_back),
        cmocka_unit_test(the_day_is_behind_all_points),
        cmocka_unit_test(a_day_that_is_farther_than_it_must_be_is_brought_nearer),
        cmocka_unit_test(a_crash_behind_an_older_job_loses_nothing),
        cmocka_unit_test(a_move_outlasts_a_crash),
        cmocka_unit_test(a_move_that_is_not_journaled_is_none),
        cmocka_unit_test(a_measurement_that_changes_too_often_is_told_so),
        cmocka_unit_test(very_many_measurements_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
