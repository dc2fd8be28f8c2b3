/* SPDX-License-Identifier: Apache-2.0 */
/* The stamps that an engine gives out: of batches and of runs, on several nodes, over restarts. */
#include "nodes_rig.h"

#include "engine/engine_private.h"

#define META_STATE 64 /* in the formats */

/* The state record's stamp: of the last batch that was flushed. */
static vv_stamp flushed_stamp(struct rig *rig, const char *key)
{
    struct vv_buffer value = {0};
    assert_int_equal(
        rig->store->ops->get_meta(rig->store, META_STATE, vv_str_of(key), &value, NULL), VV_OK);
    struct vv_reader reader = vv_reader_of(value.data, value.size);
    assert_int_equal(vv_reader_u8(&reader), 1);
    vv_stamp stamp = vv_reader_u64(&reader);
    assert_false(reader.failed);
    vv_buffer_deinit(&value);
    return stamp;
}

static uint32_t node_of(vv_stamp stamp)
{
    return (uint32_t)(stamp & VV_STAMP_NODE_MAX);
}

#define NODES  2
#define ROUNDS 6

static void stamps_of_two_nodes_are_never_equal(void **state)
{
    (void)state;
    static const uint32_t numbers[NODES] = {1, VV_STAMP_NODE_MAX};
    struct rig rigs[NODES];
    vv_stamp batches[NODES * ROUNDS];
    size_t n = 0;
    for (size_t i = 0; i < NODES; i++) {
        rig_init(&rigs[i], numbers[i], false);
    }
    for (int round = 0; round < ROUNDS; round++) { /* at one and the same time */
        for (size_t i = 0; i < NODES; i++) {
            rig_write(&rigs[i]);
            assert_int_equal(rig_step(&rigs[i], VV_TASK_FLUSH), VV_OK);
            batches[n] = flushed_stamp(&rigs[i], "s");
            assert_int_equal(node_of(batches[n]), numbers[i]);
            n++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t other = 0; other < i; other++) {
            assert_true(batches[i] != batches[other]);
        }
    }
    for (size_t i = 0; i < NODES; i++) {
        assert_int_equal(rigs[i].fake->n_runs, ROUNDS);
        for (size_t run = 0; run < ROUNDS; run++) {
            assert_int_equal(node_of(rigs[i].fake->runs[run]), numbers[i]);
        }
        rig_deinit(&rigs[i]);
    }
}

static void a_run_is_above_all_stamps_in_it_and_below_all_later_ones(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, false);
    for (size_t round = 0; round < ROUNDS; round++) {
        rig_write(&rig);
        rig_write(&rig);
        assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
        vv_stamp run = rig.fake->runs[round];
        assert_true(run > flushed_stamp(&rig, "s"));
        assert_true(run == flushed_stamp(&rig, "r"));
        assert_true(round == 0 || flushed_stamp(&rig, "s") > rig.fake->runs[round - 1]);
    }
    rig_deinit(&rig);
}

/* The clock is set back over each restart: a run's stamp that was used again would replace the
 * rows that were stored under it. */
static void a_restart_gives_out_no_run_again(void **state)
{
    (void)state;
    struct rig rig;
    rig_init(&rig, 3, false);
    for (size_t round = 0; round < ROUNDS; round++) {
        rig_write(&rig);
        assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
        vv_stamp run = rig.fake->runs[rig.fake->n_runs - 1];
        vv_sim_clock_jump(&rig.clock, RIG_START - (int64_t)(round % 2) * VV_MINUTE);
        rig_restart(&rig, round);
        rig_write(&rig);
        assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
        assert_true(rig.fake->runs[rig.fake->n_runs - 1] > run);
        assert_true(flushed_stamp(&rig, "s") > run);
        struct vv_result_facts facts;
        assert_int_equal(rig_count(&rig, &facts), rig.points);
    }
    rig_deinit(&rig);
}

/* What an unconfirmed flush left behind does no harm, under whatever run it comes again. */
static void a_flush_that_was_cut_short_comes_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rig rig;
        rig_init(&rig, 3, false);
        rig_write(&rig);
        assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
        rig_write(&rig);
        rig.fake->store->ops = rig.fake->inner;
        vv_store_memory_fail_later(rig.store, VV_IO, (uint32_t)(seed % 10), 1000);
        rig.fake->store->ops = &rig.fake->ops;
        enum vv_status status = rig_step(&rig, VV_TASK_FLUSH);
        assert_true(status == VV_IO || status == VV_OK);
        rig_restart(&rig, seed);
        rig_write(&rig);
        assert_int_equal(rig_step(&rig, VV_TASK_FLUSH), VV_OK);
        struct vv_result_facts facts;
        assert_int_equal(rig_count(&rig, &facts), rig.points);
        rig_deinit(&rig);
    }
}

static void learn_marker(struct rig *rig, vv_stamp stamp)
{
    const struct vv_marker marker = {.from = 0,
                                     .to = RIG_START + (int64_t)(stamp % VV_DAY),
                                     .stamp = stamp,
                                     .scope = VV_DELETION_SOURCE,
                                     .is_told = true};
    assert_int_equal(vv_deletions_learn(rig->engine->deletions, 0, &marker, 1), VV_OK);
}

static vv_stamp stamp_at(int64_t ns)
{
    return vv_stamp_make((uint64_t)ns / 1000, 7);
}

/* One that is wrong by hours takes nobody with it, and hides no other that is only a little ahead,
 * whichever was heard of first. */
static void new_points_are_above_markers_though_another_is_far_ahead(void **state)
{
    (void)state;
    const vv_stamp far[] = {stamp_at(RIG_START + 5 * VV_HOUR), stamp_at(RIG_START + 40 * VV_DAY)};
    const vv_stamp near[] = {stamp_at(RIG_START + VV_MINUTE), stamp_at(RIG_START + 2 * VV_MINUTE)};
    for (int far_first = 0; far_first < 2; far_first++) {
        struct rig rig;
        rig_init(&rig, 3, false);
        rig_write(&rig);
        for (int i = 0; i < 4; i++) {
            bool is_far = (i < 2) == far_first;
            learn_marker(&rig, is_far ? far[i % 2] : near[i % 2]);
        }
        vv_stamp next = vv_engine_next_stamp(rig.engine);
        assert_true(next > near[1]);
        assert_true(next < far[0]);
        vv_sim_clock_jump(&rig.clock, RIG_START + 5 * VV_HOUR - VV_MINUTE); /* not far any more */
        next = vv_engine_next_stamp(rig.engine);
        assert_true(next > far[0]);
        assert_true(next < far[1]);
        rig_deinit(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_of_two_nodes_are_never_equal),
        cmocka_unit_test(a_run_is_above_all_stamps_in_it_and_below_all_later_ones),
        cmocka_unit_test(a_restart_gives_out_no_run_again),
        cmocka_unit_test(a_flush_that_was_cut_short_comes_again),
        cmocka_unit_test(new_points_are_above_markers_though_another_is_far_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
