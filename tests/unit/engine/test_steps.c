/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deleting what only tiers hold: whole steps go, of all tiers, and do not come back; a part of a
 * step is refused, with the nearest range that can be deleted.
 */
#include "steps_rig.h"

#include "engine/engine_private.h"

/* ---- deleting ---- */

static void delete_hours(struct place *place, const char *name, const char *value, int from, int to)
{
    order_deletion(place, name, value, from * VV_HOUR, to * VV_HOUR);
    sweep_all(place);
}

static void assert_refused(struct place *place, const char *value, int64_t from, int64_t to,
                           const char *steps, const char *nearest)
{
    struct vv_error error = {0};
    struct vv_deleted deleted;
    assert_int_equal(try_delete(place, "tag", value, from, to, &deleted, &error), VV_INVALID);
    if (!strstr(error.message, steps) || !strstr(error.message, nearest)) {
        fail_msg("%s, not %s, %s", error.message, steps, nearest);
    }
}

/* So many hours are gone of one metric of a source, in hours and days, of it and of all sources. */
static void assert_gone(struct place *place, uint64_t gone)
{
    assert_int_equal(hours(place, "m.v", "h=a"), (HOURS - gone) * EACH);
    assert_int_equal(days(place, "m.v", "h=a"), (HOURS - gone) * EACH);
    assert_int_equal(days(place, "m.v", NULL), (2 * HOURS - gone) * EACH);
    assert_int_equal(hours(place, "m.v", NULL), (2 * HOURS - gone) * EACH);
}

static void assert_others_are_whole(struct place *place)
{
    assert_int_equal(hours(place, "m.*", "h=b"), 2 * HOURS * EACH);
    assert_int_equal(days(place, "m.*", "h=b"), 2 * HOURS * EACH);
}

/* ---- tests ---- */

static void whole_steps_go_of_all_tiers(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    assert_gone(&place, 0);
    delete_hours(&place, "tag", "h=a", 1, 3);
    assert_gone(&place, 2);
    seal_all(&place); /* what sources have together is built again */
    assert_gone(&place, 2);
    assert_int_equal(hours(&place, "m.w", "h=a"), (HOURS - 2) * EACH);
    assert_others_are_whole(&place);
    delete_hours(&place, "tag", "h=a", 20, 30); /* parts of two days */
    delete_hours(&place, "tag", "h=a", 48, 72); /* a whole one */
    seal_all(&place);
    assert_gone(&place, 2 + 10 + 24);
    assert_others_are_whole(&place);
    end(&place);
}

static void a_metric_goes_and_the_others_stay(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    order_deletion(&place, "metric", "m.v", 5 * VV_HOUR, 7 * VV_HOUR);
    sweep_all(&place);
    seal_all(&place);
    assert_int_equal(hours(&place, "m.v", "h=a"), (HOURS - 2) * EACH);
    assert_int_equal(days(&place, "m.v", "h=b"), (HOURS - 2) * EACH);
    assert_int_equal(hours(&place, "m.w", "h=a"), HOURS * EACH);
    assert_int_equal(days(&place, "m.w", NULL), 2 * HOURS * EACH);
    assert_int_equal(days(&place, "n.v", "h=dense"), 1800);
    end(&place);
}

static void a_part_of_a_step_is_refused_with_the_nearest_range(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    assert_refused(&place, "h=a", 30 * VV_MINUTE, 130 * VV_MINUTE, "whole hours",
                   "from 2026-01-01T00:00:00Z to 2026-01-01T03:00:00Z");
    assert_refused(&place, "h=a", VV_HOUR, 2 * VV_HOUR + 1, "whole hours",
                   "from 2026-01-01T01:00:00Z to 2026-01-01T03:00:00Z");
    assert_refused(&place, "h=a", VV_HOUR, VV_HOUR + 1, "whole hours",
                   "from 2026-01-01T01:00:00Z to 2026-01-01T02:00:00Z");
    sweep_all(&place);
    assert_gone(&place, 0);
    delete_hours(&place, "tag", "h=a", 0, 3);
    assert_gone(&place, 3);
    end(&place);
}

static void a_day_is_not_cut_where_its_hours_are_gone(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    vv_sim_clock_advance(&place.clock, 60 * VV_DAY);
    expire(&place);
    assert_refused(&place, "h=a", 25 * VV_HOUR, 27 * VV_HOUR, "whole days",
                   "from 2026-01-02T00:00:00Z to 2026-01-03T00:00:00Z");
    assert_int_equal(days(&place, "m.v", "h=a"), HOURS * EACH);
    delete_hours(&place, "tag", "h=a", 24, 48);
    seal_all(&place);
    assert_int_equal(days(&place, "m.v", "h=a"), (HOURS - 24) * EACH);
    assert_int_equal(days(&place, "m.v", NULL), (2 * HOURS - 24) * EACH);
    end(&place);
}

static void minutes_that_are_left_can_be_deleted(void **state)
{
    (void)state;
    struct place place;
    begin_without_points(&place, 0);
    assert_refused(&place, "h=dense", 90 * VV_SECOND, 3 * VV_MINUTE, "whole minutes",
                   "from 2026-01-01T00:01:00Z to 2026-01-01T00:03:00Z");
    order_deletion(&place, "tag", "h=dense", VV_MINUTE, 3 * VV_MINUTE);
    sweep_all(&place);
    assert_int_equal(count(&place, "minute", "1m", "n.v", "h=dense"), 1800 - 60);
    assert_int_equal(hours(&place, "n.v", "h=dense"), 1800 - 60);
    assert_int_equal(days(&place, "n.v", "h=dense"), 1800 - 60);
    /* Where a minute has few points, these are kept, and go one by one. */
    order_deletion(&place, "tag", "h=a", 90 * VV_SECOND, 150 * VV_SECOND);
    sweep_all(&place);
    assert_int_equal(hours(&place, "m.v", "h=a"), HOURS * EACH - 1);
    assert_int_equal(days(&place, "m.v", "h=a"), HOURS * EACH - 1);
    end(&place);
}

/* Of records of minutes nothing is left: what is built of these has nothing, either. */
static void what_goes_in_parts_goes_of_coarser_steps(void **state)
{
    (void)state;
    struct place place;
    begin_without_points(&place, 0);
    for (int half = 0; half < 2; half++) {
        order_deletion(&place, "tag", "h=dense", half * 30 * VV_MINUTE,
                       (half + 1) * 30 * VV_MINUTE);
        sweep_all(&place);
        uint64_t left = 1800 / 2 * (uint64_t)(1 - half);
        assert_int_equal(minutes(&place, "n.v", "h=dense"), left);
        assert_int_equal(hours(&place, "n.v", "h=dense"), left);
        assert_int_equal(days(&place, "n.v", "h=dense"), left);
    }
    /* The second order takes an end from the first one, before that is swept. */
    order_deletion(&place, "tag", "h=a", 24 * VV_HOUR, 48 * VV_HOUR);
    order_deletion(&place, "tag", "h=a", 48 * VV_HOUR - 1, 48 * VV_HOUR + 1);
    sweep_all(&place);
    assert_int_equal(hours(&place, "m.v", "h=a"), (HOURS - 24) * EACH - 1);
    assert_int_equal(days(&place, "m.v", "h=a"), (HOURS - 24) * EACH - 1);
    end(&place);
}

/* Between the order and the sweep; hours, of the same retention, have nothing of that time. What
 * can't be built again stays. */
static void keep_for_less_between(struct place *place, int64_t raw_ns)
{
    expire(place);
    expire(place);
    order_deletion(place, "tag", "h=dense", 0, 30 * VV_MINUTE);
    set_retentions(place, raw_ns, VV_SPACE_OFF_NS, 0);
    expire(place);
    expire(place);
    sweep_all(place);
    assert_true(days(place, "n.v", "h=dense") >= 900);
    assert_int_equal(days(place, "m.v", "h=a"), HOURS * EACH);
    end(place);
}

static void what_goes_before_the_sweep_takes_nothing_with_it(void **state)
{
    (void)state;
    struct place place;
    begin_empty(&place, start - 10 * VV_DAY);
    set_retentions(&place, 0, 0, VV_SPACE_OFF_NS);
    expire(&place);
    vv_sim_clock_advance(&place.clock, 10 * VV_DAY + DAYS * VV_DAY);
    write_all(&place);
    flush(&place);
    vv_sim_clock_advance(&place.clock, 40 * VV_DAY);
    seal_all(&place);
    expire(&place);
    set_retentions(&place, 10 * VV_DAY, 0, 0);
    keep_for_less_between(&place, 10 * VV_DAY); /* minutes go */

    begin_empty(&place, start + DAYS * VV_DAY);
    set_retentions(&place, 0, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS);
    write_all(&place);
    flush(&place);
    vv_sim_clock_advance(&place.clock, 40 * VV_DAY);
    seal_all(&place);
    expire(&place);
    set_retentions(&place, 0, VV_SPACE_OFF_NS, 0);
    keep_for_less_between(&place, 10 * VV_DAY); /* points go */
}

static void reroll_all(struct place *place)
{
    const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), TENANT}};
    struct vv_request *request;
    struct vv_error error = {0};
    struct vv_rerolled rerolled;
    uint64_t id;
    assert_int_equal(vv_request_parse(VV_REQUEST_REROLL, parameters, 1,
                                      place->clock.clock.wall_ns(&place->clock.clock), &request,
                                      &error),
                     VV_OK);
    assert_int_equal(vv_engine_reroll(place->engine, request, &id, &error), VV_OK);
    vv_request_destroy(request);
    step_all(place, VV_TASK_REROLL, VV_SECOND);
    assert_int_equal(vv_engine_read_reroll(place->engine, id, false, &rerolled, &error), VV_OK);
    assert_int_equal(rerolled.state, VV_REROLLED_DONE);
    assert_int_equal(rerolled.units[VV_REROLL_DIFFERENT] + rerolled.units[VV_REROLL_MISSING], 0);
}

static void what_is_deleted_does_not_come_back(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct place place;
        begin(&place);
        order_deletion(&place, "tag", "h=a", VV_HOUR, 3 * VV_HOUR);
        crash(&place, seed); /* it is in the journal only */
        for (uint64_t i = 0; i < seed; i++) {
            vv_sim_clock_advance(&place.clock, VV_SECOND);
            (void)!step(&place, VV_TASK_SWEEP);
        }
        crash(&place, seed + 10);
        sweep_all(&place);
        assert_gone(&place, 2);
        crash(&place, seed + 20);
        seal_all(&place);
        sweep_all(&place);
        reroll_all(&place);
        seal_all(&place);
        vv_sim_clock_advance(&place.clock, 2 * VV_DAY);
        expire(&place);
        assert_gone(&place, 2);
        assert_others_are_whole(&place);
        end(&place);
    }
}

static void nothing_expires_that_a_deletion_is_built_of(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    order_deletion(&place, "tag", "h=a", VV_HOUR, 3 * VV_HOUR);
    vv_sim_clock_advance(&place.clock, 60 * VV_DAY);
    expire(&place);
    sweep_all(&place);
    expire(&place);
    assert_int_equal(days(&place, "m.v", "h=a"), (HOURS - 2) * EACH);
    end(&place);
}

/* Seconds. */
static double held(struct place *place)
{
    static const char name[] = "\nvarve_expiry_held_seconds ";
    struct vv_buffer page = {0};
    vv_engine_write_metrics(place->engine, &page);
    vv_buffer_u8(&page, '\0');
    const char *found = strstr((const char *)page.data, name);
    assert_non_null(found);
    double value = strtod(found + sizeof name - 1, NULL);
    vv_buffer_deinit(&page);
    return value;
}

static void it_is_told_how_long_what_is_not_swept_holds_expiry(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    assert_true(held(&place) == 0);
    order_deletion(&place, "tag", "h=a", VV_HOUR, 3 * VV_HOUR);
    vv_sim_clock_advance(&place.clock, 60 * VV_DAY);
    expire(&place);
    assert_true(held(&place) > 59 * 86400 && held(&place) < 61 * 86400);
    sweep_all(&place);
    seal_all(&place); /* which the sweep has marked */
    expire(&place);
    assert_true(held(&place) == 0);
    end(&place);
}

static enum vv_status damaged_nearest(struct vv_store *store, uint8_t region, uint32_t tenant,
                                      uint32_t source, int64_t from, bool forward,
                                      int64_t *bucket_out, struct vv_error *error)
{
    (void)store;
    (void)region;
    (void)tenant;
    (void)source;
    (void)from;
    (void)forward;
    (void)bucket_out;
    return vv_error_set(error, VV_CORRUPT, "damaged");
}

/* A sweep that never ended would hold expiry for ever. */
static void a_sweep_passes_over_damage(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    const struct vv_store_ops *good = place.store->ops;
    struct vv_store_ops damaged = *good;
    damaged.nearest = damaged_nearest;
    order_deletion(&place, "tag", "h=a", VV_HOUR, 3 * VV_HOUR);
    place.store->ops = &damaged;
    sweep_all(&place);
    place.store->ops = good;
    seal_all(&place);
    expire(&place);
    assert_true(held(&place) == 0);
    assert_int_equal(hours(&place, "m.v", "h=a"), (HOURS - 2) * EACH); /* that could be read */
    assert_int_equal(days(&place, "m.v", "h=a"), (HOURS - 2) * EACH);
    end(&place);
}

static const struct vv_store_ops *undamaged;
static uint32_t damaged_space;

static enum vv_status damaged_read(struct vv_store *store, const struct vv_store_read *read,
                                   vv_piece_visit visit, void *context, struct vv_error *error)
{
    return read->partition.tenant == damaged_space
               ? vv_error_set(error, VV_CORRUPT, "damaged")
               : undamaged->read(store, read, visit, context, error);
}

/* Behind a longer retention the records say how far points can be taken out. */
static void a_sweep_passes_over_damaged_records(void **state)
{
    (void)state;
    struct place place;
    struct vv_error error = {0};
    uint32_t tenant;
    begin_empty(&place, start + DAYS * VV_DAY);
    set_retentions(&place, 40 * VV_DAY, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS);
    expire(&place);
    write_all(&place);
    flush(&place);
    for (int day = 0; day < 42; day++) {
        vv_sim_clock_advance(&place.clock, VV_DAY);
        seal_all(&place);
        expire(&place);
    }
    set_retentions(&place, 100 * VV_DAY, VV_SPACE_OFF_NS, VV_SPACE_OFF_NS);
    assert_int_equal(vv_registry_tenant(place.engine->registry, TENANT, false, &tenant, &error),
                     VV_OK);
    assert_int_equal(vv_registry_space(place.engine->registry, tenant, VV_SPACE_DAY, false,
                                       &damaged_space, &error),
                     VV_OK);
    order_deletion(&place, "tag", "h=a", 0, VV_DAY);
    undamaged = place.store->ops;
    struct vv_store_ops damaged = *undamaged;
    damaged.read = damaged_read;
    place.store->ops = &damaged;
    sweep_all(&place); /* comes to its end */
    place.store->ops = undamaged;
    assert_false(atomic_load(&place.engine->store_failed));
    end(&place);
}

static void all_of_time_can_be_deleted(void **state)
{
    (void)state;
    const struct vv_parameter parameters[] = {{VV_STR_LITERAL("tenant"), TENANT},
                                              {VV_STR_LITERAL("tag"), VV_STR_LITERAL("h=a")},
                                              {VV_STR_LITERAL("time"), VV_STR_LITERAL("all")}};
    struct place place;
    struct vv_request *request;
    struct vv_deleted deleted;
    struct vv_error error = {0};
    begin(&place);
    assert_int_equal(vv_request_parse(VV_REQUEST_DELETE, parameters, 3,
                                      place.clock.clock.wall_ns(&place.clock.clock), &request,
                                      &error),
                     VV_OK);
    assert_int_equal(vv_engine_delete(place.engine, request, &deleted, &error), VV_OK);
    vv_request_destroy(request);
    sweep_all(&place);
    seal_all(&place);
    assert_gone(&place, HOURS);
    assert_others_are_whole(&place);
    end(&place);
}

/* A span of which a part is frozen is not written anew where it is longer than units of tiers. */
static void what_is_deleted_goes_where_long_spans_are_frozen_in_part(void **state)
{
    (void)state;
    static const int hours_deleted[][2] = {{30, 40}, {20, 40}, {4, 40}, {60, 70}};
    for (size_t i = 0; i < sizeof hours_deleted / sizeof *hours_deleted; i++) {
        struct place place;
        int from = hours_deleted[i][0];
        int to = hours_deleted[i][1];
        uint64_t left = (uint64_t)(HOURS - (to - from)) * EACH;
        span_ns = 4 * VV_DAY;
        begin_whole(&place);
        set_retentions(&place, 43 * VV_DAY + 12 * VV_HOUR, 0, 0); /* frozen: a day and some of it */
        expire(&place);
        assert_int_equal(hours(&place, "m.v", "h=a"), HOURS * EACH);
        order_deletion(&place, "tag", "h=a", from * VV_HOUR, to * VV_HOUR);
        sweep_all(&place);
        seal_all(&place);
        assert_int_equal(count(&place, "raw", "1h", "m.v", "h=a"), left);
        assert_int_equal(hours(&place, "m.v", "h=a"), left);
        assert_int_equal(days(&place, "m.v", "h=a"), left);
        assert_int_equal(hours(&place, "m.v", "h=b"), HOURS * EACH);
        end(&place);
        span_ns = VV_HOUR;
    }
}

/* What points are there for is built of them, whatever part of it is deleted. */
static void a_range_may_reach_into_time_that_is_not_frozen(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    set_retentions(&place, 43 * VV_DAY, 0, 0); /* what is before the second noon is frozen */
    expire(&place);
    struct vv_error error = {0};
    struct vv_deleted deleted;
    int64_t to = 60 * VV_HOUR + 30 * VV_MINUTE;
    assert_int_equal(try_delete(&place, "tag", "h=a", VV_HOUR, to, &deleted, &error), VV_OK);
    assert_int_equal(deleted.tiers_from, start + VV_HOUR);
    assert_true(deleted.tiers_to >= start + 36 * VV_HOUR && deleted.tiers_to < start + to);
    sweep_all(&place);
    seal_all(&place);
    assert_int_equal(hours(&place, "m.v", "h=a"), HOURS * EACH - 59 * EACH - EACH / 2);
    assert_int_equal(days(&place, "m.v", "h=a"), HOURS * EACH - 59 * EACH - EACH / 2);
    assert_others_are_whole(&place);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_steps_go_of_all_tiers),
        cmocka_unit_test(a_metric_goes_and_the_others_stay),
        cmocka_unit_test(a_part_of_a_step_is_refused_with_the_nearest_range),
        cmocka_unit_test(a_day_is_not_cut_where_its_hours_are_gone),
        cmocka_unit_test(minutes_that_are_left_can_be_deleted),
        cmocka_unit_test(what_goes_in_parts_goes_of_coarser_steps),
        cmocka_unit_test(what_goes_before_the_sweep_takes_nothing_with_it),
        cmocka_unit_test(what_is_deleted_does_not_come_back),
        cmocka_unit_test(nothing_expires_that_a_deletion_is_built_of),
        cmocka_unit_test(it_is_told_how_long_what_is_not_swept_holds_expiry),
        cmocka_unit_test(a_sweep_passes_over_damage),
        cmocka_unit_test(a_sweep_passes_over_damaged_records),
        cmocka_unit_test(all_of_time_can_be_deleted),
        cmocka_unit_test(a_range_may_reach_into_time_that_is_not_frozen),
        cmocka_unit_test(what_is_deleted_goes_where_long_spans_are_frozen_in_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
