/* SPDX-License-Identifier: Apache-2.0 */
/* A retention is made shorter while something waits to be built of what goes by that: it is built
 * of all first. */
#include "steps_rig.h"

#include "engine/engine_private.h"
#include "registry/shared.h"

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

static void what_is_off_does_not_live_on(void **state)
{
    (void)state;
    struct place place;
    uint32_t tenant;
    begin_whole(&place);
    write_line(&place, LATE);
    flush(&place);
    set_retentions(&place, 0, 30 * VV_DAY, 0);
    struct vv_registry *registry = place.engine->registry;
    int64_t now = place.clock.clock.wall_ns(&place.clock.clock);
    assert_int_equal(vv_registry_tenant(registry, TENANT, false, &tenant, NULL), VV_OK);
    uint32_t minutes = vv_registry_tiers(registry, tenant).spaces[VV_SPACE_MINUTE];
    assert_true(vv_registry_lives_on(registry, minutes, now));
    set_retentions(&place, 0, VV_SPACE_OFF_NS, 0);
    assert_false(vv_registry_lives_on(registry, minutes, now));
    assert_int_equal(vv_storage_kept_ns(place.engine, minutes), VV_SPACE_OFF_NS);
    end(&place);
}

/* What can't be sealed does not keep them for ever. */
static void they_go_some_days_later_anyway(void **state)
{
    (void)state;
    struct place place;
    begin_whole(&place);
    write_line(&place, LATE);
    flush(&place);
    set_retentions(&place, 2 * VV_DAY, 0, 0);
    expire(&place);
    assert_true(lives_on(&place));
    vv_sim_clock_advance(&place.clock, 6 * VV_DAY);
    assert_false(lives_on(&place));
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_late_before_gets_into_all_tiers),
        cmocka_unit_test(where_nothing_waits_points_go_at_once),
        cmocka_unit_test(a_second_change_ends_nothing_that_the_first_let_live),
        cmocka_unit_test(what_is_off_does_not_live_on),
        cmocka_unit_test(they_go_some_days_later_anyway),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
