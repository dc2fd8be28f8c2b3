/* SPDX-License-Identifier: Apache-2.0 */
/* Up to when a node says that it has flushed: never more than the store has confirmed. */
#include "nodes_rig.h"

#include <sched.h>

static int64_t now_of(struct rig *rig)
{
    return rig->clock.clock.wall_ns(&rig->clock.clock);
}

/* What a beat says now. */
static int64_t beat(struct rig *rig)
{
    size_t before;
    size_t after;
    (void)fake_shared_last_beat(rig->fake, &before);
    assert_int_equal(rig_step(rig, VV_TASK_BEAT), VV_OK);
    int64_t until = fake_shared_last_beat(rig->fake, &after);
    assert_int_equal(after, before + 1);
    return until;
}

/* A generation is cut and not stored. */
static void cut_only(struct rig *rig)
{
    fake_shared_fail(rig->fake, VV_IO, 1000);
    assert_int_equal(rig_step(rig, VV_TASK_FLUSH), VV_IO);
    fake_shared_fail(rig->fake, VV_OK, 0);
    vv_sim_clock_advance(&rig->clock, VV_MINUTE); /* the store is tried again */
}

static void flush(struct rig *rig)
{
    assert_int_equal(rig_step(rig, VV_TASK_FLUSH), VV_OK);
}

static void a_node_without_points_has_flushed_until_now(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, false);
    assert_int_equal(beat(&rig), RIG_START);
    vv_sim_clock_advance(&rig.clock, VV_HOUR);
    assert_int_equal(beat(&rig), RIG_START + VV_HOUR);
    vv_sim_clock_jump(&rig.clock, RIG_START - VV_HOUR);
    assert_int_equal(beat(&rig), RIG_START - VV_HOUR);
    rig_deinit(&rig);
}

static void what_waits_holds_it_back(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, false);
    int64_t first = now_of(&rig);
    rig_write(&rig);
    vv_sim_clock_advance(&rig.clock, VV_SECOND);
    rig_write(&rig);
    assert_int_equal(beat(&rig), first); /* in the active generation */
    cut_only(&rig);
    int64_t second = now_of(&rig);
    rig_write(&rig);
    vv_sim_clock_advance(&rig.clock, VV_SECOND);
    assert_int_equal(beat(&rig), first); /* in a job */
    flush(&rig);
    assert_int_equal(beat(&rig), second); /* the next generation */
    flush(&rig);
    assert_int_equal(beat(&rig), now_of(&rig));
    rig_deinit(&rig);
}

static void a_clock_that_is_set_back_lowers_it(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, false);
    rig_write(&rig);
    cut_only(&rig);
    vv_sim_clock_jump(&rig.clock, RIG_START + VV_HOUR);
    rig_write(&rig);
    vv_sim_clock_jump(&rig.clock, RIG_START - VV_HOUR);
    rig_write(&rig); /* the same generation, an earlier time */
    vv_sim_clock_jump(&rig.clock, RIG_START + 2 * VV_HOUR);
    vv_sim_clock_advance(&rig.clock, VV_HOUR);
    rig_write(&rig); /* cuts by age: a second job */
    assert_int_equal(beat(&rig), RIG_START - VV_HOUR);
    vv_sim_clock_advance(&rig.clock, VV_MINUTE);
    flush(&rig); /* the first job: the later one still has the least time */
    assert_int_equal(beat(&rig), RIG_START - VV_HOUR);
    flush(&rig);
    assert_int_equal(beat(&rig), now_of(&rig));
    rig_deinit(&rig);
}

/* While the beat reads the clock, a batch is accepted and time goes on. */
struct sly_clock {
    struct vv_sim_clock sim;
    struct rig *rig;
    bool armed;
};

static int64_t (*plain_wall)(struct vv_clock *);

static int64_t sly_wall(struct vv_clock *clock)
{
    struct sly_clock *sly = (struct sly_clock *)clock;
    if (sly->armed) {
        sly->armed = false;
        rig_write(sly->rig);
        vv_sim_clock_advance(&sly->sim, VV_SECOND);
    }
    return plain_wall(clock);
}

static void now_is_read_before_what_waits_is_looked_at(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, false);
    plain_wall = rig.clock.clock.wall_ns;
    vv_engine_close(rig.engine);
    struct sly_clock sly = {.rig = &rig};
    vv_sim_clock_init(&sly.sim, RIG_START);
    sly.sim.clock.wall_ns = sly_wall;
    rig.other_clock = &sly.sim.clock;
    rig_open(&rig);
    sly.armed = true;
    assert_int_equal(beat(&rig), RIG_START);
    assert_false(sly.armed);
    rig_deinit(&rig);
}

static void after_a_restart_nothing_is_said_before_it_is_flushed(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, false);
    rig_write(&rig);
    rig_restart(&rig, 1);
    vv_sim_clock_advance(&rig.clock, VV_SECOND);
    size_t n;
    (void)fake_shared_last_beat(rig.fake, &n);
    assert_int_equal(rig_step(&rig, VV_TASK_BEAT), VV_DONE);
    cut_only(&rig);
    rig_write(&rig);
    assert_int_equal(rig_step(&rig, VV_TASK_BEAT), VV_DONE);
    size_t after;
    (void)fake_shared_last_beat(rig.fake, &after);
    assert_int_equal(after, n);
    int64_t since = now_of(&rig);
    vv_sim_clock_advance(&rig.clock, VV_SECOND);
    flush(&rig);
    assert_int_equal(beat(&rig), since);
    rig_deinit(&rig);
}

/* A beat that fails is no failure of the store; one of the store lets no beat through. */
static void failures_stay_apart(void **state)
{
    (void)state;
    struct rig rig;
    struct vv_engine_health health;
    rig_init(&rig, 3, false);
    fake_shared_set_beats(rig.fake, VV_IO);
    assert_int_equal(rig_step(&rig, VV_TASK_BEAT), VV_IO);
    vv_engine_read_health(rig.engine, &health);
    assert_true(health.ready);
    assert_string_equal(health.reason, "");
    rig_write(&rig);
    flush(&rig);
    fake_shared_set_beats(rig.fake, VV_OK);
    assert_int_equal(beat(&rig), now_of(&rig));
    rig_write(&rig);
    fake_shared_fail(rig.fake, VV_IO, 1000);
    assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_IO);
    size_t tried = rig.fake->n_beats_tried;
    assert_int_equal(rig_step(&rig, VV_TASK_BEAT), VV_OVERLOAD);
    assert_int_equal(rig.fake->n_beats_tried, tried);
    rig_deinit(&rig);
}

static void a_store_of_one_node_hears_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 0, false);
    assert_int_equal(rig_step(&rig, VV_TASK_BEAT), VV_DONE);
    rig_deinit(&rig);
}

/* ---- with threads ---- */

static void wait_for_beats(struct rig *rig, size_t n)
{
    size_t seen = 0;
    while (seen < n) {
        (void)fake_shared_last_beat(rig->fake, &seen);
        sched_yield();
    }
}

static void the_storage_thread_beats(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, true);
    wait_for_beats(&rig, 1);
    rig_write(&rig);
    vv_sim_clock_advance(&rig.clock, VV_MINUTE);
    wait_for_beats(&rig, 2); /* by time */
    size_t n;
    assert_true(fake_shared_last_beat(rig.fake, &n) <= RIG_START);
    assert_int_equal(vv_engine_flush(rig.engine, false, NULL), VV_OK);
    wait_for_beats(&rig, n + 1); /* after a job, though no time went by */
    assert_int_equal(fake_shared_last_beat(rig.fake, &n), now_of(&rig));
    vv_sim_clock_jump(&rig.clock, RIG_START - VV_HOUR);
    wait_for_beats(&rig, n + 1); /* what was said is too much now */
    assert_int_equal(fake_shared_last_beat(rig.fake, &n), RIG_START - VV_HOUR);
    rig_deinit(&rig);
}

static void the_last_beat_comes_after_the_last_flush(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, true);
    wait_for_beats(&rig, 1);
    vv_sim_clock_advance(&rig.clock, VV_SECOND); /* the next one is not due */
    rig_write(&rig);
    vv_sim_clock_advance(&rig.clock, VV_MILLISECOND);
    int64_t now = now_of(&rig);
    vv_engine_close(rig.engine);
    size_t n;
    assert_int_equal(rig.fake->n_runs, 1);
    assert_int_equal(fake_shared_last_beat(rig.fake, &n), now);
    rig_open(&rig);
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_without_points_has_flushed_until_now),
        cmocka_unit_test(what_waits_holds_it_back),
        cmocka_unit_test(a_clock_that_is_set_back_lowers_it),
        cmocka_unit_test(now_is_read_before_what_waits_is_looked_at),
        cmocka_unit_test(after_a_restart_nothing_is_said_before_it_is_flushed),
        cmocka_unit_test(failures_stay_apart),
        cmocka_unit_test(a_store_of_one_node_hears_nothing),
        cmocka_unit_test(the_storage_thread_beats),
        cmocka_unit_test(the_last_beat_comes_after_the_last_flush),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
