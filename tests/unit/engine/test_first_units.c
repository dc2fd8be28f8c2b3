/* SPDX-License-Identifier: Apache-2.0 */
/* A unit that is built for the first time, when the points of its beginning have expired, has all
 * that finer tiers have, in whichever order the units have their turn. */
#include "steps_rig.h"

#include "engine/engine_private.h"
#include "seal/seal_private.h"

#define UNIT_END (start + 14 * VV_DAY) /* of the unit of days */

static void write_line(struct place *place, int64_t time)
{
    char line[80];
    snprintf(line, sizeof line, "m,h=a v=1,w=1.5 %lld\n", (long long)time);
    write_text(place, vv_str_of(line));
    flush(place);
}

/* Before the unit of days is over a point comes late, where points have expired and are kept for
 * longer since: minutes and hours wait to be built again. */
static void begin_with_stale_hours(struct place *place, int64_t minute_ns)
{
    begin_whole_after(place, 4 * VV_DAY);
    assert_int_equal(hours(place, "m.v", "h=a"), HOURS * EACH);
    assert_int_equal(days(place, "m.v", "h=a"), HOURS * EACH);
    set_retentions(place, 3 * VV_DAY, minute_ns, 0);
    expire(place);
    expire(place);
    set_retentions(place, 60 * VV_DAY, minute_ns ? 60 * VV_DAY : 0, 0);
    write_line(place, start + 6 * VV_HOUR + 30 * VV_SECOND);
    int64_t now = place->clock.clock.wall_ns(&place->clock.clock);
    vv_sim_clock_advance(&place->clock, UNIT_END + 2 * VV_DAY - now);
}

/* As a sealer that has come as far as this in the ledger. */
static void seal_from(struct place *place, int64_t due_ns)
{
    struct vv_sealer *sealer = place->engine->sealer;
    sealer->cursor = (struct vv_mark){.due_ns = due_ns};
    sealer->has_cursor = true;
    seal_all(place);
}

static void a_day_waits_for_its_hours(void **state)
{
    (void)state;
    static const int64_t minutes_ns[] = {0, 3 * VV_DAY};
    for (size_t i = 0; i < 2; i++) {
        struct place place;
        begin_with_stale_hours(&place, minutes_ns[i]);
        assert_int_equal(step(&place, VV_TASK_SEAL_ALL), VV_OK); /* the point's span */
        seal_from(&place, UNIT_END - 1);
        assert_true(hours(&place, "m.v", "h=a") >= HOURS * EACH);
        assert_int_equal(days(&place, "m.v", "h=a"), hours(&place, "m.v", "h=a"));
        assert_int_equal(days(&place, "m.v", "h=b"), HOURS * EACH);
        assert_int_equal(days(&place, "n.v", "h=dense"), 60 * 30);
        end(&place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_waits_for_its_hours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
