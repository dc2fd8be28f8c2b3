/* SPDX-License-Identifier: Apache-2.0 */
/* A retention is made shorter while something waits to be built of what goes by that: it is built
 * of all first. */
#include "steps_rig.h"

#include "engine/engine_private.h"
#include "registry/shared.h"

#define OFF  VV_SPACE_OFF_NS
#define LATE (start + 6 * VV_HOUR + 30 * VV_SECOND)

static void write_line(struct place *place, int64_t time)
{
    char line[80];
    snprintf(line, sizeof line, "m,h=a v=1,w=1.5 %lld\n", (long long)time);
    write_text(place, vv_str_of(line));
}

static bool lives_on(struct place *place)
{
    struct vv_registry *registry = place->engine->registry;
    uint32_t tenant;
    assert_int_equal(vv_registry_tenant(registry, TENANT, false, &tenant, NULL), VV_OK);
    return vv_registry_lives_on(registry, tenant, place->clock.clock.wall_ns(&place->clock.clock));
}

/* Points are answered until they are too old, from whatever there is of them. */
static uint64_t points(struct place *place)
{
    return count(place, "raw", "1h", "m.v", "h=a");
}

static void expect_built(struct place *place)
{
    assert_int_equal(hours(place, "m.v", "h=a"), HOURS * EACH + 1);
    assert_int_equal(days(place, "m.v", "h=a"), HOURS * EACH + 1);
    assert_int_equal(days(place, "m.v", "h=b"), HOURS * EACH);
    assert_int_equal(points(place), 0);
    expire(place); /* then they go */
    assert_false(lives_on(place));
    expire(place);
    set_retentions(place, 0, 0, 0);
    assert_int_equal(points(place), 0);
    assert_int_equal(days(place, "m.v", "h=a"), HOURS * EACH + 1);
}

static void what_came_late_before_gets_into_all_tiers(void **state)
{
    (void)state;
    for (int flushes_before = 0; flushes_before < 2; flushes_before++) {
        for (int crashes = 0; crashes < 2; crashes++) {
            struct place place;
            begin_whole(&place);
            write_line(&place, LATE);
            if (flushes_before) {
                flush(&place);
            }
            set_retentions(&place, 2 * VV_DAY, 0, 0);
            assert_int_equal(points(&place), 0);
            if (crashes) {
                crash(&place, 7);
                expire(&place); /* not before what was replayed is in the store */
            }
            if (!flushes_before || crashes) {
                flush(&place);
            }
            expire(&place);
            assert_true(lives_on(&place));
            seal_all(&place);
            expect_built(&place);
            end(&place);
        }
    }
}

static void where_nothing_waits_points_go_at_once(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    write_line(&place, place.clock.clock.wall_ns(&place.clock.clock) - VV_HOUR);
    flush(&place); /* that waits, and is younger */
    set_retentions(&place, 2 * VV_DAY, 0, 0);
    expire(&place);
    assert_false(lives_on(&place));
    expire(&place);
    set_retentions(&place, 0, 0, 0);
    assert_int_equal(points(&place), 1);
    end(&place);
}

static void a_second_change_ends_nothing_that_the_first_let_live(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    write_line(&place, LATE);
    flush(&place);
    set_retentions(&place, 20 * VV_DAY, 0, 0);
    expire(&place);
    set_retentions(&place, 2 * VV_DAY, 0, 0);
    expire(&place);
    seal_all(&place);
    expect_built(&place);
    end(&place);
}

/* ---- tiers that are switched off ---- */

#define EMPTY                                                                                      \
    (start + 2 * VV_HOUR + VV_SECOND) /* n,h=dense has nothing then, but in the hour before */

static uint32_t minutes_of(struct place *place)
{
    struct vv_registry *registry = place->engine->registry;
    uint32_t tenant;
    uint32_t space;
    assert_int_equal(vv_registry_tenant(registry, TENANT, false, &tenant, NULL), VV_OK);
    assert_int_equal(vv_registry_space(registry, tenant, VV_SPACE_MINUTE, false, &space, NULL),
                     VV_OK);
    return space;
}

static bool is_ending(struct place *place)
{
    return vv_registry_is_ending(place->engine->registry, minutes_of(place));
}

/* A point comes in a day of which only minutes have the others. */
static uint64_t begin_late(struct place *place)
{
    begin_without_points(place, 0);
    set_retentions(place, 0, 0, 0);
    uint64_t n = days(place, "n.v", "h=dense");
    char line[80];
    snprintf(line, sizeof line, "n,h=dense v=1 %lld\n", (long long)EMPTY);
    write_text(place, vv_str_of(line));
    return n + 1;
}

static enum vv_status try_switch(struct place *place, int64_t minutes_ns)
{
    const int64_t wanted[VV_SPACES] = {minutes_ns, VV_RETENTION_AS_IS, VV_RETENTION_AS_IS};
    struct vv_error error = {0};
    return vv_engine_set_tiers(place->engine, TENANT, wanted, &error);
}

static void one_that_is_off_goes_when_all_is_built_of_it(void **state)
{
    (void)state;
    for (int flushes_before = 0; flushes_before < 2; flushes_before++) {
        for (int crashes = 0; crashes < 2; crashes++) {
            struct place place;
            uint64_t n = begin_late(&place);
            if (flushes_before) {
                flush(&place);
            }
            assert_int_equal(try_switch(&place, VV_SPACE_OFF_NS), VV_OK);
            assert_true(is_ending(&place));
            expire(&place);
            if (crashes) {
                crash(&place, 11);
                expire(&place);
            }
            if (!flushes_before || crashes) {
                flush(&place);
            }
            expire(&place);
            assert_true(is_ending(&place));
            seal_all(&place);
            expire(&place);
            assert_false(is_ending(&place));
            assert_int_equal(hours(&place, "n.v", "h=dense"), n);
            assert_int_equal(days(&place, "n.v", "h=dense"), n);
            assert_int_equal(hours(&place, "m.v", "h=a"), HOURS * EACH);
            assert_int_equal(try_switch(&place, 0), VV_OVERLOAD); /* what it had is removed */
            expire(&place);
            assert_int_equal(try_switch(&place, 0), VV_OK);
            assert_int_equal(minutes(&place, "m.v", "h=a"), 0);
            end(&place);
        }
    }
}

/* As if it had never been off. */
static void one_that_goes_on_can_be_switched_on_again(void **state)
{
    (void)state;
    struct place place;
    uint64_t n = begin_late(&place);
    flush(&place);
    assert_int_equal(try_switch(&place, VV_SPACE_OFF_NS), VV_OK);
    expire(&place);
    assert_int_equal(try_switch(&place, 0), VV_OK);
    expire(&place);
    seal_all(&place);
    expire(&place);
    assert_int_equal(minutes(&place, "n.v", "h=dense"), n);
    assert_int_equal(minutes(&place, "m.v", "h=a"), HOURS * EACH);
    assert_int_equal(hours(&place, "n.v", "h=dense"), n);
    end(&place);
}

static void one_that_nothing_is_to_be_built_of_goes_at_once(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place); /* all points are there */
    expire(&place);      /* and that is known */
    write_line(&place, LATE);
    flush(&place);
    assert_int_equal(try_switch(&place, VV_SPACE_OFF_NS), VV_OK);
    expire(&place);
    assert_false(is_ending(&place));
    assert_int_equal(vv_storage_kept_ns(place.engine, minutes_of(&place)), VV_SPACE_OFF_NS);
    crash(&place, 5); /* nor does it come back by what was journaled */
    assert_false(is_ending(&place));
    seal_all(&place);
    assert_int_equal(hours(&place, "m.v", "h=a"), HOURS * EACH + 1);
    end(&place);
}

/* What is deleted meanwhile is in nothing that is built of it. */
static void what_is_deleted_does_not_come_back_from_one_that_goes_on(void **state)
{
    (void)state;
    struct place place;
    (void)begin_late(&place);
    flush(&place);
    assert_int_equal(try_switch(&place, VV_SPACE_OFF_NS), VV_OK);
    order_deletion(&place, "tag", "h=dense", 0, VV_DAY);
    sweep_all(&place);
    seal_all(&place);
    expire(&place);
    assert_false(is_ending(&place));
    assert_int_equal(hours(&place, "n.v", "h=dense"), 0);
    assert_int_equal(days(&place, "n.v", "h=dense"), 0);
    end(&place);
}

/* What waits holds up expiry, and the ends of lives with it. */
static void what_waits_keeps_them_however_long(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    write_line(&place, LATE);
    flush(&place);
    set_retentions(&place, 2 * VV_DAY, 0, 0);
    vv_sim_clock_advance(&place.clock, 6 * VV_DAY);
    expire(&place);
    assert_true(lives_on(&place));
    seal_all(&place);
    expect_built(&place);
    end(&place);
    uint64_t n = begin_late(&place);
    flush(&place);
    assert_int_equal(try_switch(&place, VV_SPACE_OFF_NS), VV_OK);
    vv_sim_clock_advance(&place.clock, 40 * VV_DAY);
    expire(&place);
    assert_true(is_ending(&place));
    seal_all(&place);
    expire(&place);
    assert_false(is_ending(&place));
    assert_int_equal(hours(&place, "n.v", "h=dense"), n);
    end(&place);
}

/* It holds up nothing, and does not keep them for ever. */
static void what_is_damaged_keeps_them_for_some_days(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    write_line(&place, LATE);
    flush(&place);
    const struct vv_store_ops *undamaged = place.store->ops;
    struct vv_store_ops damaged = *undamaged;
    damaged.read = read_badly;
    place.store->ops = &damaged;
    seal_all(&place);
    place.store->ops = undamaged;
    set_retentions(&place, 2 * VV_DAY, 0, 0);
    expire(&place);
    assert_true(lives_on(&place));
    vv_sim_clock_advance(&place.clock, 6 * VV_DAY);
    expire(&place);
    assert_false(lives_on(&place));
    end(&place);
}

/* ---- answers until then ---- */

/* Points that are hidden already are read where tiers are not built of them yet. */
static void what_is_deleted_is_in_no_answer_when_points_are_hidden(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    order_deletion(&place, "tag", "h=a", VV_HOUR, 3 * VV_HOUR);
    set_retentions(&place, 2 * VV_DAY, 0, 0);
    for (int swept = 0; swept < 2; swept++) {
        assert_int_equal(points(&place), 0);
        assert_int_equal(minutes(&place, "m.v", "h=a"), (HOURS - 2) * EACH);
        assert_int_equal(hours(&place, "m.v", "h=a"), (HOURS - 2) * EACH);
        assert_int_equal(days(&place, "m.v", "h=a"), (HOURS - 2) * EACH);
        sweep_all(&place);
        expire(&place);
    }
    end(&place);
}

static void what_waited_while_the_node_was_away_is_in_answers_at_once(void **state)
{
    (void)state;
    struct place place;
    begin_empty(&place, start + DAYS * VV_DAY);
    set_retentions(&place, 10 * VV_DAY, 0, 0);
    write_all(&place);
    vv_sim_clock_advance(&place.clock, 40 * VV_DAY);
    for (int crashes = 0; crashes < 2; crashes++) {
        assert_int_equal(points(&place), 0);
        assert_int_equal(hours(&place, "m.v", "h=a"), HOURS * EACH);
        assert_int_equal(days(&place, "m.v", "h=a"), HOURS * EACH);
        crash(&place, 3);
    }
    end(&place);
}

/* Nor are they read where no tier has them. */
static void what_no_tier_keeps_is_in_no_answer(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    const struct vv_retentions retentions = {2 * VV_DAY, {OFF, 30 * VV_DAY, OFF}};
    struct vv_error error = {0};
    assert_int_equal(vv_engine_set_retentions(place.engine, TENANT, &retentions, &error), VV_OK);
    assert_int_equal(hours(&place, "m.v", "h=a"), 0);
    end(&place);
}

/* ---- what comes in the meantime ---- */

static struct vv_batch *judge_of(struct place *place, struct vv_str tenant, const char *line)
{
    struct vv_staging staging;
    assert_int_equal(vv_engine_stage(place->engine, tenant, &staging, NULL), VV_OK);
    parse_text(&staging, vv_str_of(line));
    struct vv_batch *batch = vv_staging_take_batch(&staging);
    vv_staging_deinit(&staging);
    assert_non_null(batch);
    return batch;
}

static struct vv_batch *judge(struct place *place, const char *line)
{
    return judge_of(place, TENANT, line);
}

static enum vv_status submit(struct place *place, struct vv_batch *take_batch)
{
    enum vv_status outcome = VV_UNKNOWN;
    vv_engine_submit(place->engine, take_batch, keep_status, &outcome);
    assert_int_equal(step(place, VV_TASK_COMMIT), VV_OK);
    return outcome;
}

static void format_point(struct place *place, int64_t age_ns, char *line_out, size_t size)
{
    int64_t now = place->clock.clock.wall_ns(&place->clock.clock);
    snprintf(line_out, size, "n,h=dense v=1 %lld\n", (long long)(now - age_ns));
}

/* It has no mark yet when expiry looks. */
static void what_is_only_in_memory_is_built_first(void **state)
{
    (void)state;
    struct place place;
    char late[80];
    begin_without_points(&place, 0);
    set_retentions(&place, 0, 0, 0);
    uint64_t n = days(&place, "n.v", "h=dense");
    assert_int_equal(try_switch(&place, VV_SPACE_OFF_NS), VV_OK);
    write_line(&place, place.clock.clock.wall_ns(&place.clock.clock) - VV_SECOND);
    flush(&place);
    snprintf(late, sizeof late, "n,h=dense v=1 %lld\n", (long long)EMPTY);
    write_text(&place, vv_str_of(late));
    expire(&place);
    assert_true(is_ending(&place));
    flush(&place);
    expire(&place); /* now it has one */
    assert_true(is_ending(&place));
    seal_all(&place);
    expire(&place);
    assert_false(is_ending(&place));
    assert_int_equal(hours(&place, "n.v", "h=dense"), n + 1);
    assert_int_equal(days(&place, "n.v", "h=dense"), n + 1);
    end(&place);
}

/* The round finds that nothing is needed, while something is in memory. */
static void announce(struct place *place)
{
    char live[80];
    format_point(place, VV_SECOND, live, sizeof live);
    assert_int_equal(submit(place, judge(place, live)), VV_OK);
    expire(place);
    assert_true(lives_on(place));
}

static void late_points_put_an_end_off(void **state)
{
    (void)state;
    struct place place;
    char late[80];
    begin_whole(&place);
    set_retentions(&place, 20 * VV_DAY, 0, 0);
    announce(&place);
    format_point(&place, VV_DAY, late, sizeof late);
    assert_int_equal(submit(&place, judge(&place, late)), VV_OK);
    flush(&place);
    expire(&place);
    assert_true(lives_on(&place));
    expire(&place);
    assert_false(lives_on(&place));
    end(&place);
}

/* Else one who sends late points all the time would have all kept for weeks. */
static void announce_for_good(struct place *place, const char *late)
{
    for (int i = 0; i < 10; i++) {
        announce(place);
        assert_int_equal(submit(place, judge(place, late)), VV_OK);
        flush(place);
        expire(place);
    }
    announce(place);
}

static void begin_shortened(struct place *place, char *late_out, size_t size)
{
    begin_whole(place);
    set_retentions(place, 20 * VV_DAY, 0, 0);
    format_point(place, VV_DAY, late_out, size);
}

static void late_points_wait_when_they_put_it_off_too_often(void **state)
{
    (void)state;
    struct place place;
    char late[80];
    begin_shortened(&place, late, sizeof late);
    struct vv_batch *before = judge(&place, late);
    announce_for_good(&place, late);
    assert_int_equal(submit(&place, judge(&place, late)), VV_OVERLOAD);
    assert_int_equal(submit(&place, judge_of(&place, VV_STR_LITERAL("other"), late)), VV_OK);
    struct vv_batch *meanwhile = judge(&place, late);
    flush(&place);
    expire(&place);
    assert_false(lives_on(&place));
    assert_int_equal(submit(&place, before), VV_OVERLOAD); /* judged by what has ended */
    assert_int_equal(submit(&place, meanwhile), VV_OVERLOAD);
    assert_int_equal(submit(&place, judge(&place, late)), VV_OK);
    end(&place);
}

static void a_change_meanwhile_ends_the_wait(void **state)
{
    (void)state;
    struct place place;
    char late[80];
    begin_shortened(&place, late, sizeof late);
    announce_for_good(&place, late);
    assert_int_equal(submit(&place, judge(&place, late)), VV_OVERLOAD);
    set_retentions(&place, 30 * VV_DAY, 0, 0);
    assert_int_equal(submit(&place, judge(&place, late)), VV_OK);
    end(&place);
}

static void of_who_had_nothing_it_ends_at_once(void **state)
{
    (void)state;
    struct place place;
    char late[80];
    begin_empty(&place, start);
    set_retentions(&place, 20 * VV_DAY, 0, 0);
    format_point(&place, VV_DAY, late, sizeof late);
    struct vv_batch *first = judge(&place, late);
    expire(&place);
    assert_false(lives_on(&place));
    assert_int_equal(submit(&place, first), VV_OK);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_late_before_gets_into_all_tiers),
        cmocka_unit_test(where_nothing_waits_points_go_at_once),
        cmocka_unit_test(a_second_change_ends_nothing_that_the_first_let_live),
        cmocka_unit_test(one_that_is_off_goes_when_all_is_built_of_it),
        cmocka_unit_test(one_that_goes_on_can_be_switched_on_again),
        cmocka_unit_test(one_that_nothing_is_to_be_built_of_goes_at_once),
        cmocka_unit_test(what_is_deleted_does_not_come_back_from_one_that_goes_on),
        cmocka_unit_test(what_waits_keeps_them_however_long),
        cmocka_unit_test(what_is_damaged_keeps_them_for_some_days),
        cmocka_unit_test(what_is_deleted_is_in_no_answer_when_points_are_hidden),
        cmocka_unit_test(what_waited_while_the_node_was_away_is_in_answers_at_once),
        cmocka_unit_test(what_no_tier_keeps_is_in_no_answer),
        cmocka_unit_test(what_is_only_in_memory_is_built_first),
        cmocka_unit_test(late_points_put_an_end_off),
        cmocka_unit_test(late_points_wait_when_they_put_it_off_too_often),
        cmocka_unit_test(a_change_meanwhile_ends_the_wait),
        cmocka_unit_test(of_who_had_nothing_it_ends_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
