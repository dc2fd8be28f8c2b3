/* SPDX-License-Identifier: Apache-2.0 */
/* History gives way to live data: it has its share of the time while that comes, all of it when
 * none does, and holds up nothing. */
#include "base/random.h"
#include "engine/engine_private.h"
#include "place.h"

#define NOW (20000 * VV_DAY)

/* ---- the share ---- */

/* Pieces of 1 to 50 ms, each as soon as it may be; returns what they took of the time. */
static int64_t run(struct vv_history *history, enum vv_history_work work, int64_t for_ns,
                   bool is_live)
{
    struct vv_random random = {(uint64_t)history->percent};
    int64_t took_ns = 0;
    for (int64_t now = NOW; now < NOW + for_ns;) {
        if (is_live) {
            vv_history_note_live(history, now);
            vv_history_note_answered(history);
        }
        int64_t rest_ns = vv_history_rest_ns(history, work, now);
        if (rest_ns == 0) {
            int64_t piece_ns = (1 + (int64_t)vv_random_below(&random, 50)) * VV_MILLISECOND;
            took_ns += piece_ns;
            rest_ns = piece_ns;
            vv_history_spend(history, work, now + piece_ns, piece_ns);
        }
        now += rest_ns;
    }
    return took_ns;
}

static void history_has_its_share_of_the_time_while_live_data_comes(void **state)
{
    (void)state;
    for (int work = 0; work < VV_HISTORY_WORKS; work++) {
        for (int64_t percent = 1; percent <= 100; percent += 3) {
            struct vv_history history = {.percent = percent};
            int64_t took = run(&history, (enum vv_history_work)work, VV_HOUR, true);
            assert_true(took * 100 <= VV_HOUR * percent + VV_MINUTE);
            assert_true(took * 100 >= VV_HOUR * percent - VV_MINUTE);
        }
    }
}

static void history_has_all_of_the_time_when_no_live_data_comes(void **state)
{
    (void)state;
    struct vv_history history = {.percent = 1};
    assert_true(run(&history, VV_HISTORY_WRITES, VV_HOUR, false) >= VV_HOUR);
    vv_history_note_live(&history, NOW);
    vv_history_spend(&history, VV_HISTORY_SEALS, NOW, VV_HOUR);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_SEALS, NOW), VV_HISTORY_REST_NS_MAX);
    vv_history_note_live(&history, NOW - 8 * VV_SECOND); /* the last of it */
    assert_true(vv_history_rest_ns(&history, VV_HISTORY_SEALS, NOW + VV_SECOND) > 0);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_SEALS, NOW + 2 * VV_SECOND), 0);
}

static void writing_history_waits_for_its_turn_but_not_for_long(void **state)
{
    (void)state;
    struct vv_history history = {.percent = 50};
    vv_history_note_live(&history, NOW);
    vv_history_spend(&history, VV_HISTORY_WRITES, NOW, VV_SECOND);
    vv_history_note_answered(&history);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_WRITES, NOW), VV_SECOND);
    int64_t rested = NOW + VV_SECOND;
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_WRITES, rested), 0);
    vv_history_end_turn(&history);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_WRITES, rested), VV_HISTORY_TURN_NS);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_WRITES, rested + VV_HISTORY_TURN_NS),
                     0);
    assert_int_equal(vv_history_rest_ns(&history, VV_HISTORY_SEALS, rested), 0);
}

/* ---- in the engine ---- */

/* A clock by which what is looked at twice has taken a millisecond. */
struct slow_clock {
    struct vv_clock clock;
    struct vv_sim_clock *sim;
};

static int64_t slow_wall_ns(struct vv_clock *clock)
{
    struct vv_clock *sim = &((struct slow_clock *)clock)->sim->clock;
    return sim->wall_ns(sim);
}

static int64_t slow_monotonic_ns(struct vv_clock *clock)
{
    struct vv_sim_clock *sim = ((struct slow_clock *)clock)->sim;
    vv_sim_clock_advance(sim, VV_MILLISECOND);
    return sim->clock.monotonic_ns(&sim->clock);
}

static struct slow_clock slow = {{slow_wall_ns, slow_monotonic_ns}, NULL};

static void begin(struct place *place)
{
    begin_empty(place, NOW);
    slow.sim = &place->clock;
    place->engine->clock = &slow.clock;
}

/* Writes one point that is so old; its outcome is VV_UNKNOWN until it is answered. */
static void submit(struct place *place, int64_t age_ns, enum vv_status *outcome)
{
    char line[80];
    int64_t time = place->clock.clock.wall_ns(&place->clock.clock) - age_ns;
    int size = snprintf(line, sizeof line, "m,h=a v=1 %lld", (long long)time);
    struct vv_staging staging;
    struct vv_line_parser *parser;
    *outcome = VV_UNKNOWN;
    assert_int_equal(vv_engine_stage(place->engine, TENANT, &staging, NULL), VV_OK);
    assert_int_equal(vv_line_parser_create(&staging, 1, &parser), VV_OK);
    assert_int_equal(vv_line_parser_feed(parser, line, (size_t)size), VV_OK);
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    vv_engine_submit(place->engine, vv_staging_take_batch(&staging), keep_status, outcome);
    vv_staging_deinit(&staging);
}

static void commit(struct place *place)
{
    (void)step(place, VV_TASK_COMMIT);
}

static void history_alone_is_written_at_once(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    for (int i = 0; i < 20; i++) {
        enum vv_status outcome;
        submit(&place, VV_DAY + i, &outcome);
        commit(&place);
        assert_int_equal(outcome, VV_OK);
    }
    end(&place);
}

static void history_rests_beside_live_data_which_does_not_wait(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    place.engine->history.percent = 1;
    enum vv_status live;
    enum vv_status old[2];
    submit(&place, 0, &live);
    submit(&place, VV_DAY, &old[0]);
    commit(&place);
    assert_int_equal(live, VV_OK);
    commit(&place); /* behind the live one */
    assert_int_equal(old[0], VV_OK);
    submit(&place, VV_DAY + 1, &old[1]);
    for (int i = 0; i < 5; i++) {
        submit(&place, VV_MINUTE + i, &live);
        commit(&place);
        assert_int_equal(live, VV_OK);
        commit(&place);
        assert_int_equal(old[1], VV_UNKNOWN);
    }
    vv_sim_clock_advance(&place.clock, VV_HISTORY_REST_NS_MAX);
    commit(&place);
    assert_int_equal(old[1], VV_OK);
    end(&place);
}

static void history_that_waits_has_no_live_data_refused(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    place.engine->settings.head_bytes_max = 64 << 10;
    enum vv_status live;
    enum vv_status old[400];
    submit(&place, 0, &live);
    commit(&place);
    submit(&place, VV_DAY, &old[0]);
    commit(&place);
    commit(&place);
    size_t n = 1;
    do {
        assert_in_range(n, 1, 399);
        submit(&place, VV_DAY + (int64_t)n, &old[n]);
    } while (old[n++] == VV_UNKNOWN);
    assert_int_equal(old[n - 1], VV_OVERLOAD);
    assert_int_equal(vv_engine_admit(place.engine, NULL), VV_OK);
    submit(&place, 0, &live);
    commit(&place);
    assert_int_equal(live, VV_OK);
    for (size_t i = 0; i < n; i++) { /* all that was taken is answered in the end */
        vv_sim_clock_advance(&place.clock, VV_HISTORY_REST_NS_MAX);
        commit(&place);
    }
    for (size_t i = 0; i < n - 1; i++) {
        assert_int_equal(old[i], VV_OK);
    }
    end(&place);
}

static uint64_t sealed(struct place *place)
{
    return place->engine->seal_figures.spans;
}

static void sealing_history_rests_beside_live_data(void **state)
{
    (void)state;
    struct place place;
    begin(&place);
    enum vv_status outcome;
    for (int64_t hour = 0; hour < 2; hour++) {
        submit(&place, 20 * VV_DAY + hour * VV_HOUR, &outcome);
        commit(&place);
        flush(&place);
    }
    vv_sim_clock_advance(&place.clock, VV_MINUTE);
    submit(&place, 0, &outcome);
    commit(&place);
    while (step(&place, VV_TASK_SEAL) == VV_OK) {
    }
    assert_int_equal(sealed(&place), 2);
    submit(&place, 21 * VV_DAY, &outcome);
    commit(&place);
    commit(&place);
    flush(&place);
    vv_sim_clock_advance(&place.clock, 9 * VV_SECOND); /* quiet, and live data still comes */
    vv_history_note_live(&place.engine->history,
                         place.clock.clock.monotonic_ns(&place.clock.clock));
    vv_history_spend(&place.engine->history, VV_HISTORY_SEALS,
                     place.clock.clock.monotonic_ns(&place.clock.clock), VV_SECOND);
    assert_int_equal(step(&place, VV_TASK_SEAL), VV_DONE);
    assert_int_equal(sealed(&place), 2);
    vv_sim_clock_advance(&place.clock, VV_HISTORY_REST_NS_MAX);
    assert_int_equal(step(&place, VV_TASK_SEAL), VV_OK);
    assert_int_equal(sealed(&place), 3);
    int64_t now = place.clock.clock.monotonic_ns(&place.clock.clock);
    assert_true(vv_history_rest_ns(&place.engine->history, VV_HISTORY_SEALS, now) > 0);
    end(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_has_its_share_of_the_time_while_live_data_comes),
        cmocka_unit_test(history_has_all_of_the_time_when_no_live_data_comes),
        cmocka_unit_test(writing_history_waits_for_its_turn_but_not_for_long),
        cmocka_unit_test(history_alone_is_written_at_once),
        cmocka_unit_test(history_rests_beside_live_data_which_does_not_wait),
        cmocka_unit_test(history_that_waits_has_no_live_data_refused),
        cmocka_unit_test(sealing_history_rests_beside_live_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
