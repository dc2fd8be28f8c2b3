/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes: measurements with retentions and tiers of their own. What one is not told of the other
 * keeps, deletes and builds; over restarts, and wherever a change is cut short.
 */
#include "classes_rig.h"

static void a_class_is_kept_for_a_time_of_its_own(void **state)
{
    (void)state;
    for (int sealed = 0; sealed < 2; sealed++) {
        struct rig rig;
        begin(&rig);
        set_tenant(&rig, 30 * VV_DAY, OFF);
        set_class(&rig, "debug", "debug*\n", &six_hours);
        int64_t now = rig.clock.clock.wall_ns(&rig.clock.clock);
        write_now(&rig, "energy");
        write_now(&rig, "debug1");
        assert_int_equal(count(&rig, "*"), 4);
        step(&rig, VV_TASK_FLUSH);
        if (sealed) {
            step_all(&rig, VV_TASK_SEAL_ALL);
        }
        assert_int_equal(count(&rig, "*"), 4);
        assert_int_equal(pieces_at(&rig, place_of(&rig, NULL), now), 1);
        assert_int_equal(pieces_at(&rig, place_of(&rig, "debug"), now), 1);
        rig.clock.wall_ns += 6 * VV_HOUR + VV_MINUTE; /* exactly, though it expires later */
        assert_int_equal(count(&rig, "*"), 2);
        assert_int_equal(count(&rig, "debug*"), 0);
        rig.clock.wall_ns += 3 * VV_HOUR;
        step_all(&rig, VV_TASK_SEAL_ALL);
        step(&rig, VV_TASK_EXPIRE);
        assert_int_equal(pieces_at(&rig, place_of(&rig, NULL), now), 1);
        assert_int_equal(pieces_at(&rig, place_of(&rig, "debug"), now), 0);
        assert_int_equal(count(&rig, "energy*"), 2);
        rig_deinit(&rig);
    }
}

static void a_class_has_tiers_of_its_own(void **state)
{
    (void)state;
    static const struct vv_retentions hours = {3 * VV_DAY, {OFF, 90 * VV_DAY, OFF}};
    for (int class_has = 0; class_has < 2; class_has++) {
        struct rig rig;
        struct vv_error error = {0};
        begin(&rig);
        set_tenant(&rig, 30 * VV_DAY, class_has ? OFF : 90 * VV_DAY);
        set_class(&rig, "c", "debug*\n", class_has ? &hours : &six_hours);
        int64_t now = rig.clock.clock.wall_ns(&rig.clock.clock);
        write_now(&rig, "energy");
        write_now(&rig, "debug1");
        rig.clock.wall_ns += 2 * VV_DAY;
        step(&rig, VV_TASK_FLUSH);
        step_all(&rig, VV_TASK_SEAL_ALL);
        struct vv_registry *registry = registry_of(&rig);
        uint32_t with = place_of(&rig, class_has ? "c" : NULL);
        uint32_t without = place_of(&rig, class_has ? NULL : "c");
        assert_false(vv_registry_tiers(registry, without).any);
        assert_int_equal(
            units_of(&rig, vv_registry_tiers(registry, with).spaces[VV_SPACE_HOUR], now), 1);
        const char *name = class_has ? "debug*" : "energy.*";
        const char *other = class_has ? "energy.*" : "debug*";
        assert_int_equal(ask(&rig, name, "hour", false, &error), 2);
        assert_int_equal(ask(&rig, other, "hour", false, &error), -1);
        assert_int_equal(ask(&rig, "*", "hour", false, &error), -1);
        assert_int_equal(strstr(error.message, "class c") != NULL, !class_has);
        assert_int_equal(ask(&rig, "*", "auto", false, &error), class_has ? 4 : 2);
        rig.clock.wall_ns += 40 * VV_DAY; /* now only the records are left */
        step(&rig, VV_TASK_EXPIRE);
        assert_int_equal(count(&rig, name), 0);
        assert_int_equal(ask(&rig, name, "hour", false, &error), 2);
        rig_deinit(&rig);
    }
}

static void what_sources_of_a_class_have_together_is_kept(void **state)
{
    (void)state;
    static const struct vv_retentions hours = {3 * VV_DAY, {OFF, 90 * VV_DAY, OFF}};
    struct rig rig;
    struct vv_error error = {0};
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    set_class(&rig, "c", "debug*\n", &hours);
    for (int i = 0; i < 40; i++) { /* so that steps pay */
        rig.clock.wall_ns += VV_SECOND;
        write_now(&rig, "debug1");
        write_now(&rig, "debug1,g=2"); /* another source */
    }
    rig.clock.wall_ns += 2 * VV_DAY;
    step(&rig, VV_TASK_FLUSH);
    step_all(&rig, VV_TASK_SEAL_ALL);
    assert_int_equal(ask(&rig, "debug*", "hour", false, &error), 2);
    assert_true(facts_read.tiers[VV_SPACE_HOUR].cohorts > 0);
    rig_deinit(&rig);
}

/* What waits to be sealed of a tenant is that of its classes, too; and so is what is rolled again.
 */
static void what_waits_and_what_is_rolled_again_is_of_all_classes(void **state)
{
    (void)state;
    static const struct vv_retentions hours = {30 * VV_DAY, {OFF, 90 * VV_DAY, OFF}};
    static const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), SIM}};
    struct rig rig;
    struct vv_error error = {0};
    uint32_t part = 0;
    struct vv_sealing sealing;
    struct vv_request *request;
    struct vv_rerolled rerolled;
    uint64_t id;
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    set_class(&rig, "c", "debug*\n", &hours);
    write_now(&rig, "energy");
    write_now(&rig, "debug1");
    rig.clock.wall_ns += 2 * VV_DAY;
    step(&rig, VV_TASK_FLUSH);
    assert_int_equal(vv_engine_read_sealing(rig.engine, SIM, VV_TIME_MIN, VV_TIME_MAX, &part, 1,
                                            &sealing, &error),
                     VV_OK);
    assert_int_equal(sealing.spans, 2);
    assert_int_equal(sealing.units[VV_SPACE_HOUR], 1);
    step(&rig, VV_TASK_EXPIRE); /* notes what is whole */
    step_all(&rig, VV_TASK_SEAL_ALL);
    assert_int_equal(vv_request_parse(VV_REQUEST_REROLL, parameters, 1,
                                      rig.clock.clock.wall_ns(&rig.clock.clock), &request, &error),
                     VV_OK);
    assert_int_equal(vv_engine_reroll(rig.engine, request, &id, &error), VV_OK);
    vv_request_destroy(request);
    step_all(&rig, VV_TASK_REROLL);
    assert_int_equal(vv_engine_read_reroll(rig.engine, id, false, &rerolled, &error), VV_OK);
    assert_int_equal(rerolled.state, VV_REROLLED_DONE);
    assert_int_equal(rerolled.units[VV_REROLL_SAME], 1);
    rig_deinit(&rig);
}

static void a_point_older_than_its_class_keeps_is_refused(void **state)
{
    (void)state;
    struct rig rig;
    char detail[160];
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    set_class(&rig, "debug", "debug*\n", &six_hours);
    set_class(&rig, "long", "history\n", &(struct vv_retentions){0, {OFF, OFF, OFF}});
    for (int known = 0; known < 2; known++) { /* the measurement is made by its first point */
        assert_int_equal(write_old(&rig, "energy", 7 * VV_HOUR, NULL), 0);
        assert_int_equal(write_old(&rig, "debug1", 7 * VV_HOUR, detail), 2);
        assert_non_null(strstr(detail, "class's retention of 6h"));
        assert_int_equal(write_old(&rig, "debug1", 5 * VV_HOUR, NULL), 0);
        assert_int_equal(write_old(&rig, "energy", 31 * VV_DAY, detail), 2);
        assert_non_null(strstr(detail, "tenant's retention of 30d"));
        assert_int_equal(write_old(&rig, "history", 3000 * VV_DAY, NULL), 0);
    }
    assert_int_equal(count(&rig, "*"), 6);
    rig_deinit(&rig);
}

static void what_is_deleted_of_a_class_goes(void **state)
{
    (void)state;
    static const struct vv_parameter parameters[] = {
        {VV_STR_LITERAL("tenant"), SIM},
        {VV_STR_LITERAL("measurement"), VV_STR_LITERAL("debug1")},
        {VV_STR_LITERAL("time"), VV_STR_LITERAL("all")},
    };
    struct rig rig;
    struct vv_error error = {0};
    struct vv_deleted deleted;
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    set_class(&rig, "debug", "debug*\n", &six_hours);
    write_now(&rig, "energy");
    write_now(&rig, "debug1");
    step(&rig, VV_TASK_FLUSH);
    step_all(&rig, VV_TASK_SEAL_ALL);
    assert_int_equal(try_delete(&rig, parameters, 3, &deleted, &error), VV_OK);
    assert_int_equal(count(&rig, "*"), 2);
    assert_int_equal(ask(&rig, "*", NULL, true, &error), 4);
    step_all(&rig, VV_TASK_SWEEP);
    step_all(&rig, VV_TASK_SEAL_ALL);
    assert_int_equal(ask(&rig, "*", NULL, true, &error), 2);
    rig_deinit(&rig);
}

static void late_points_of_a_class_are_kept_apart_in_it(void **state)
{
    (void)state;
    static const struct vv_late_wish apart = {true, VV_LATE_SEPARATE, VV_HOUR};
    static const struct vv_retentions week = {7 * VV_DAY, {OFF, OFF, OFF}};
    for (int class_first = 0; class_first < 2; class_first++) {
        struct rig rig;
        begin(&rig);
        set_tenant(&rig, 30 * VV_DAY, OFF);
        if (class_first) {
            set_class(&rig, "debug", "debug*\n", &week);
        }
        assert_int_equal(vv_engine_set_late(rig.engine, SIM, &apart, NULL), VV_OK);
        if (!class_first) {
            set_class(&rig, "debug", "debug*\n", &week);
        }
        int64_t now = rig.clock.clock.wall_ns(&rig.clock.clock);
        write_now(&rig, "debug1");
        assert_int_equal(write_old(&rig, "debug1", 5 * VV_HOUR, NULL), 0);
        step(&rig, VV_TASK_FLUSH);
        uint32_t late = vv_registry_late_space(registry_of(&rig), place_of(&rig, "debug"));
        assert_int_not_equal(late, VV_REGISTRY_NONE);
        assert_int_equal(pieces_at(&rig, late, now - 5 * VV_HOUR), 1);
        assert_int_equal(pieces_at(&rig, place_of(&rig, "debug"), now), 1);
        assert_int_equal(count(&rig, "debug*"), 4);
        rig_deinit(&rig);
    }
}

static void points_that_were_there_stay_and_are_told(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_class_effect effect;
    struct vv_error error = {0};
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    write_now(&rig, "debug1");
    assert_int_equal(try_class(&rig, "debug", "debug*\n", &six_hours, &effect, &error), VV_OK);
    assert_int_equal(effect.moved.n, 1);
    assert_int_equal(effect.elsewhere.n, 0);
    assert_false(effect.is_awaited);
    assert_true(vv_str_equal(effect.moved.examples[0], VV_STR_LITERAL("debug1")));
    write_now(&rig, "debug2");
    rig.clock.wall_ns += 7 * VV_HOUR;
    assert_int_equal(count(&rig, "*"), 2);
    rig_deinit(&rig);
}

static void what_a_class_is_not_told_is_its_tenants(void **state)
{
    (void)state;
    struct rig rig;
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, 90 * VV_DAY);
    set_class(&rig, "c", "x\n", &(struct vv_retentions)KEEP);
    struct vv_retentions kept = vv_engine_retentions(rig.engine, place_of(&rig, "c"));
    assert_int_equal(kept.raw_ns, 30 * VV_DAY);
    assert_int_equal(kept.tiers_ns[VV_SPACE_HOUR], 90 * VV_DAY);
    assert_int_equal(kept.tiers_ns[VV_SPACE_DAY], OFF);
    set_class(&rig, "c", NULL, &(struct vv_retentions){10 * VV_DAY, {AS, AS, AS}});
    kept = vv_engine_retentions(rig.engine, place_of(&rig, "c"));
    assert_int_equal(kept.raw_ns, 10 * VV_DAY);
    assert_int_equal(kept.tiers_ns[VV_SPACE_HOUR], 90 * VV_DAY);
    assert_int_equal(vv_engine_retentions(rig.engine, place_of(&rig, NULL)).raw_ns, 30 * VV_DAY);
    assert_true(vv_str_equal(vv_registry_class_patterns(registry_of(&rig), place_of(&rig, "c")),
                             VV_STR_LITERAL("x\n")));
    rig_deinit(&rig);
}

/* What a class had is not taken for what it was not told. */
static void a_change_that_is_not_journaled_changes_nothing(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_class_effect effect;
    struct vv_error error = {0};
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    set_class(&rig, "c", "x\n", &six_hours);
    vv_sim_disk_fail_call(rig.disk, VV_SIM_WRITE, 1, VV_IO);
    assert_int_equal(try_class(&rig, "c", "y\n", &(struct vv_retentions)KEEP, &effect, &error),
                     VV_IO);
    for (int again = 0; again < 2; again++) {
        assert_true(vv_str_equal(vv_registry_class_patterns(registry_of(&rig), place_of(&rig, "c")),
                                 again ? VV_STR_LITERAL("z\n") : VV_STR_LITERAL("x\n")));
        assert_int_equal(vv_engine_retentions(rig.engine, place_of(&rig, "c")).raw_ns, 6 * VV_HOUR);
        vv_sim_disk_heal(rig.disk);
        set_class(&rig, "c", "z\n", &(struct vv_retentions)KEEP);
    }
    rig_deinit(&rig);
}

static void bad_classes_are_refused(void **state)
{
    (void)state;
    static const struct vv_retentions short_raw = {VV_HOUR, {OFF, 90 * VV_DAY, OFF}};
    static const struct vv_retentions keep = KEEP;
    struct rig rig;
    struct vv_class_effect effect;
    struct vv_error error = {0};
    begin(&rig);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    set_class(&rig, "a", "x*\n", &keep);
    assert_int_equal(try_class(&rig, "b", "y\nx*\n", &keep, &effect, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "taken by the class a"));
    assert_int_equal(try_class(&rig, "b", "x*y\n", &keep, &effect, &error), VV_INVALID);
    assert_int_equal(try_class(&rig, "b/c", "y\n", &keep, &effect, &error), VV_INVALID);
    assert_int_equal(try_class(&rig, "b", "y\n", &short_raw, &effect, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "the hour tier"));
    assert_int_equal(place_of(&rig, "b"), VV_REGISTRY_NONE);
    assert_int_equal(try_class(&rig, "a", "x*\n", &short_raw, &effect, &error), VV_INVALID);
    rig_deinit(&rig);
}

/* Alone on its store, a node waits for nobody. */
static void a_node_of_a_shared_store_puts_measurements_into_classes(void **state)
{
    (void)state;
    static const struct vv_retentions keep = KEEP;
    struct rig rig;
    uint32_t tenant;
    rig_init(&rig, 1, false);
    rig.prepare = prepare;
    vv_engine_close(rig.engine);
    rig_open(&rig);
    (void)!vv_engine_step(rig.engine, VV_TASK_LEARN, NULL);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    set_class(&rig, "debug", "debug*\n", &six_hours);
    write_now(&rig, "debug1");
    write_now(&rig, "energy");
    step(&rig, VV_TASK_FLUSH);
    assert_int_equal(vv_registry_tenant(registry_of(&rig), SIM, false, &tenant, NULL), VV_OK);
    assert_int_equal(
        vv_registry_place_named(registry_of(&rig), tenant, VV_STR_LITERAL("debug1"), 0),
        place_of(&rig, "debug"));
    assert_int_equal(
        vv_registry_place_named(registry_of(&rig), tenant, VV_STR_LITERAL("energy"), 0), tenant);
    assert_int_equal(count(&rig, "debug1.v"), 1);
    crash(&rig, 3);
    assert_int_equal(
        vv_registry_place_named(registry_of(&rig), tenant, VV_STR_LITERAL("debug1"), 0),
        place_of(&rig, "debug"));
    assert_int_equal(count(&rig, "debug1.v"), 1);
    set_class(&rig, "debug", "debug*\n", &keep);
    rig_deinit(&rig);
}

static void what_cassandra_has_no_table_for_is_refused(void **state)
{
    (void)state;
    static const struct vv_retentions long_raw = {400 * VV_DAY, {AS, AS, AS}};
    static const struct vv_retentions for_ever = {0, {AS, AS, AS}};
    struct rig rig;
    struct vv_class_effect effect;
    struct vv_error error = {0};
    rig_init(&rig, 1, false);
    (void)!vv_engine_step(rig.engine, VV_TASK_LEARN, NULL);
    set_tenant(&rig, 30 * VV_DAY, OFF);
    assert_int_equal(try_class(&rig, "a", "x*\n", &long_raw, &effect, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "cassandra.classes"));
    assert_int_equal(place_of(&rig, "a"), VV_REGISTRY_NONE);
    set_class(&rig, "a", "x*\n", &for_ever);
    fake_shared_add_region(rig.fake, "one", VV_REGION_READABLE, NULL);
    fake_shared_add_region(rig.fake, "two", VV_REGION_READABLE, NULL);
    assert_int_equal(try_class(&rig, "b", "y*\n", &for_ever, &effect, &error), VV_INVALID);
    assert_non_null(strstr(error.message, "several regions"));
    rig_deinit(&rig);
}

/* By the journal, and by the store's metadata. */
static void a_measurement_is_in_its_class_after_a_restart(void **state)
{
    (void)state;
    for (int flushed = 0; flushed < 2; flushed++) {
        struct rig rig;
        begin(&rig);
        set_tenant(&rig, 30 * VV_DAY, OFF);
        write_now(&rig, "debug0");
        set_class(&rig, "debug", "debug*\n", &six_hours);
        write_now(&rig, "debug1");
        if (flushed) {
            step(&rig, VV_TASK_FLUSH);
        }
        crash(&rig, 1);
        assert_int_equal(count(&rig, "*"), 4);
        step(&rig, VV_TASK_FLUSH);
        crash(&rig, 2);
        write_now(&rig, "debug2");
        assert_int_equal(count(&rig, "*"), 6);
        rig.clock.wall_ns += 7 * VV_HOUR;
        assert_int_equal(count(&rig, "*"), 2);
        rig_deinit(&rig);
    }
}

/* No measurement in a class that has not all that was asked for. */
static void a_class_is_whole_or_takes_nothing_wherever_it_is_cut_short(void **state)
{
    (void)state;
    static const struct vv_retentions hours = {3 * VV_DAY, {OFF, 90 * VV_DAY, OFF}};
    bool ended = false;
    for (uint64_t k = 0; !ended && k < 60; k++) {
        struct rig rig;
        struct vv_class_effect effect;
        struct vv_error error = {0};
        begin(&rig);
        set_tenant(&rig, 30 * VV_DAY, OFF);
        vv_sim_disk_power_off_after(rig.disk, k + 1);
        enum vv_status status = try_class(&rig, "c", "debug*\n", &hours, &effect, &error);
        ended = status == VV_OK && !vv_sim_disk_is_off(rig.disk);
        vv_engine_close(rig.engine);
        vv_store_memory_crash(rig.store, k);
        vv_sim_disk_crash(rig.disk);
        vv_sim_disk_heal(rig.disk);
        rig_open(&rig);
        uint32_t class = place_of(&rig, "c");
        bool takes = class != VV_REGISTRY_NONE &&
                     vv_registry_match_class(registry_of(&rig), place_of(&rig, NULL),
                                             VV_STR_LITERAL("debug1")) == class;
        assert_true(takes || status != VV_OK);
        if (takes) {
            struct vv_retentions kept = vv_engine_retentions(rig.engine, class);
            assert_memory_equal(&kept, &hours, sizeof kept);
        }
        set_class(&rig, "c", "debug*\n", &hours); /* again */
        rig_deinit(&rig);
    }
    assert_true(ended);
}

/* What a class is not told is its tenant's, also where it was told so once before in vain. */
static void a_class_that_was_cut_short_is_made_whole_by_the_same_request(void **state)
{
    (void)state;
    static const struct vv_retentions as_is = KEEP;
    static const struct vv_retentions whole = {30 * VV_DAY, {OFF, 90 * VV_DAY, OFF}};
    bool ended = false;
    for (uint64_t k = 0; !ended && k < 120; k++) {
        bool loses_power = k % 2 == 0; /* or the write fails, and the engine goes on */
        struct rig rig;
        struct vv_class_effect effect;
        struct vv_error error = {0};
        begin(&rig);
        set_tenant(&rig, 30 * VV_DAY, 90 * VV_DAY);
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
        set_class(&rig, "c", "debug*\n", &as_is); /* again */
        struct vv_retentions kept = vv_engine_retentions(rig.engine, place_of(&rig, "c"));
        assert_memory_equal(&kept, &whole, sizeof kept);
        rig_deinit(&rig);
    }
    assert_true(ended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_class_is_kept_for_a_time_of_its_own),
        cmocka_unit_test(a_class_has_tiers_of_its_own),
        cmocka_unit_test(what_sources_of_a_class_have_together_is_kept),
        cmocka_unit_test(what_waits_and_what_is_rolled_again_is_of_all_classes),
        cmocka_unit_test(a_point_older_than_its_class_keeps_is_refused),
        cmocka_unit_test(what_is_deleted_of_a_class_goes),
        cmocka_unit_test(late_points_of_a_class_are_kept_apart_in_it),
        cmocka_unit_test(points_that_were_there_stay_and_are_told),
        cmocka_unit_test(what_a_class_is_not_told_is_its_tenants),
        cmocka_unit_test(a_change_that_is_not_journaled_changes_nothing),
        cmocka_unit_test(bad_classes_are_refused),
        cmocka_unit_test(a_node_of_a_shared_store_puts_measurements_into_classes),
        cmocka_unit_test(what_cassandra_has_no_table_for_is_refused),
        cmocka_unit_test(a_measurement_is_in_its_class_after_a_restart),
        cmocka_unit_test(a_class_is_whole_or_takes_nothing_wherever_it_is_cut_short),
        cmocka_unit_test(a_class_that_was_cut_short_is_made_whole_by_the_same_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
