/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When and how often tiers are built: once, behind what they are built of, and right whatever
 * failed in between.
 */
#include "base/random.h"
#include "pyramid_world.h"

static void tiers_are_right_whichever_write_fails(void **state)
{
    (void)state;
    for (uint32_t attempt = 0; attempt < 60; attempt++) {
        struct world world;
        world_init(&world);
        all_tiers(&world);
        uint32_t source = pipeline_source(&world.p, "a");
        fill(&world, source, midnight, midnight + 2 * VV_HOUR, 5 * VV_SECOND);
        advance_to(&world, midnight + 40 * VV_DAY);
        if (attempt % 2) {
            seal_all(&world);
            fill(&world, source, midnight + 1, midnight + VV_HOUR, 10 * VV_MINUTE);
        }
        for (uint32_t steps = 0; steps < attempt / 8; steps++) {
            (void)!vv_sealer_step(world.p.sealer, VV_SEAL_ALL, 8, NULL);
        }
        vv_store_memory_fail(world.p.store, VV_IO, attempt % 8);
        (void)!vv_sealer_step(world.p.sealer, VV_SEAL_ALL, 8, NULL);
        vv_store_memory_fail(world.p.store, VV_OK, 0);
        vv_store_memory_crash(world.p.store, attempt);
        assert_int_equal(world.p.store->ops->recover(world.p.store, NULL), VV_OK);
        check_all(&world, 1);
        seal_all(&world);
        assert_complete(&world, 1);
        assert_int_equal(pipeline_marks(&world.p), 0);
        world_deinit(&world);
    }
}

/* Marks of raw spans and of units lie between each other, wanted and unwanted ones. */
static void a_group_is_of_one_kind(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    for (uint32_t source = 0; source < 6; source++) {
        char name[8];
        snprintf(name, sizeof name, "s%u", source);
        uint32_t number = pipeline_source(&world.p, name);
        fill(&world, number, midnight, midnight + 3 * VV_HOUR, VV_MINUTE);
    }
    advance_to(&world, midnight + 4 * VV_HOUR);
    assert_int_equal(vv_sealer_step(world.p.sealer, VV_SEAL_ALL, 64, NULL), VV_OK);
    assert_int_equal(figures_of(&world).spans, 18); /* all raw spans, though units lie between */
    seal_all(&world);                               /* days and hours are not over */
    assert_int_equal(figures_of(&world).units, 18);
    assert_int_equal(figures_of(&world).damaged, 0);
    assert_complete(&world, 6);
    world_deinit(&world);
}

/* Each unit is built once, behind what it is built of. */
static void nothing_is_built_twice(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    for (int64_t hour = 0; hour < 30; hour++) {
        int64_t from = midnight + hour * VV_HOUR;
        advance_to(&world, from + VV_HOUR + 5 * VV_SECOND);
        fill(&world, source, from, from + VV_HOUR, 10 * VV_SECOND);
        advance_to(&world, from + VV_HOUR + 10 * VV_MINUTE);
        while (vv_sealer_step(world.p.sealer, VV_SEAL_DUE, 64, NULL) == VV_OK) {
        }
    }
    assert_int_equal(figures_of(&world).spans, 30);
    assert_int_equal(figures_of(&world).units, 31); /* an hour of minutes each, a day of hours */
    assert_complete(&world, 1);
    assert_true(check(&world, VV_SPACE_DAY, source).stale == 1);
    world_deinit(&world);
}

/* In the pass that seals it, not of what that has written. */
static void minutes_are_made_with_their_span(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + 2 * VV_HOUR, VV_SECOND);
    advance_to(&world, midnight + 40 * VV_DAY);
    for (uint64_t spans = 1; spans <= 2; spans++) {
        assert_int_equal(vv_sealer_step(world.p.sealer, VV_SEAL_ALL, 1, NULL), VV_OK);
        assert_int_equal(figures_of(&world).spans, spans);
        assert_int_equal(figures_of(&world).units, spans);
    }
    struct counts minutes = check(&world, VV_SPACE_MINUTE, source);
    assert_int_equal(minutes.records, 2);
    assert_int_equal(minutes.stale, 0);
    assert_int_equal(check(&world, VV_SPACE_HOUR, source).stale, 1);
    assert_int_equal(check(&world, VV_SPACE_DAY, source).stale, 1);
    assert_int_equal(pipeline_marks(&world.p), 2);
    fill(&world, source, midnight + 1, midnight + VV_HOUR, VV_MINUTE); /* late */
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).records, 1);
    while (figures_of(&world).spans < 3) {
        assert_int_equal(vv_sealer_step(world.p.sealer, VV_SEAL_ALL, 1, NULL), VV_OK);
    }
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).records, 2);
    seal_all(&world);
    assert_complete(&world, 1);
    world_deinit(&world);
}

/* What has to be joined first, is of a plan that does not count any more, or may have lost some
 * below, goes the long way. */
static void minutes_are_not_made_of_rows_that_are_not_all(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + VV_HOUR, VV_SECOND);
    for (int64_t time = midnight; time < midnight + VV_HOUR; time += VV_SECOND) {
        write_point(&world, source, 1, time, 7); /* of the same times, by another batch */
    }
    flush(&world);
    advance_to(&world, midnight + 40 * VV_DAY);
    assert_int_equal(vv_sealer_step(world.p.sealer, VV_SEAL_ALL, 1, NULL), VV_OK);
    assert_int_equal(figures_of(&world).units, 0);
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).stale, 1);
    seal_all(&world);
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).records, 1);
    assert_complete(&world, 1);
    vv_registry_set_retention(world.p.registry, world.p.tenant, 2 * VV_DAY);
    write_point(&world, source, 2, midnight + VV_HOUR, 7);
    flush(&world);
    uint64_t units = figures_of(&world).units;
    assert_int_equal(vv_sealer_step(world.p.sealer, VV_SEAL_ALL, 1, NULL), VV_OK);
    assert_int_equal(figures_of(&world).units, units);
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).stale, 1);
    world_deinit(&world);
}

/* Whatever lies between in the order in which it is due. */
static void history_is_built_once(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    for (uint32_t source = 0; source < 6; source++) {
        char name[8];
        snprintf(name, sizeof name, "s%u", source);
        uint32_t number = pipeline_source(&world.p, name);
        fill(&world, number, midnight, midnight + 4 * VV_DAY, 20 * VV_MINUTE);
    }
    advance_to(&world, midnight + 50 * VV_DAY);
    while (vv_sealer_step(world.p.sealer, VV_SEAL_ALL, 64, NULL) == VV_OK) {
    }
    assert_int_equal(figures_of(&world).spans, 6 * 4 * 24);
    /* Of each source minutes, hours and days; of their cohort hours and days. */
    assert_int_equal(figures_of(&world).units, 6 * (4 * 24 + 4 + 1) + (4 + 1));
    assert_complete(&world, 6);
    world_deinit(&world);
}

/* The record of a finer tier's unit is overwritten with what no checksum accepts. */
static void damage(struct world *world, uint32_t source, int64_t from)
{
    struct pipeline *p = &world->p;
    uint32_t space = vv_registry_tiers(p->registry, p->tenant).spaces[VV_SPACE_MINUTE];
    struct vv_piece piece = {.kind = VV_PIECE_BLOCK,
                             .key =
                                 vv_unit_key(VV_SPACE_MINUTE, space, source, p->measurement, from),
                             .bytes = VV_STR_LITERAL("VU\1\1 this is no record of any tier")};
    assert_int_equal(p->store->ops->put_blocks(p->store, &piece, 1, NULL), VV_OK);
}

static void a_damaged_record_is_made_up_for_from_what_is_finer(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + 3 * VV_HOUR, 2 * VV_SECOND);
    advance_to(&world, midnight + 6 * VV_HOUR);
    seal_all(&world);
    damage(&world, source, midnight + VV_HOUR);
    advance_to(&world, midnight + 2 * VV_DAY);
    seal_all(&world);
    assert_int_equal(figures_of(&world).damaged, 0);
    assert_int_equal(check(&world, VV_SPACE_HOUR, source).records, 1);
    world_deinit(&world);
}

/* ---- random histories ---- */

static void random_write(struct world *world, struct vv_random *random, uint32_t sources)
{
    int64_t now = world->p.clock.clock.wall_ns(&world->p.clock.clock);
    int64_t back = vv_random_below(random, 3) ? VV_HOUR : 40 * VV_DAY;
    size_t n = 1 + vv_random_below(random, 60);
    uint32_t source = (uint32_t)vv_random_below(random, sources);
    int64_t time = now - (int64_t)vv_random_below(random, (uint64_t)back);
    int64_t interval = VV_SECOND << vv_random_below(random, 8);
    for (size_t i = 0; i < n && time <= now; i++) {
        write_point(world, source, (int)vv_random_below(random, PIPELINE_METRICS),
                    vv_time_floor(time, VV_SECOND), (int64_t)vv_random_next(random) >> 20);
        time += interval;
    }
}

/* The sources' plans grow: other spans from a later date on. */
static void change_plan(struct world *world, struct vv_random *random, uint32_t source)
{
    static const struct vv_plan kinds[] = {{0, VV_DAY, VV_HOUR, 1, 0},
                                           {0, VV_HOUR, 15 * VV_MINUTE, 2, 0},
                                           {0, 8 * VV_DAY, VV_DAY, 1, 0},
                                           {0, VV_DAY, VV_HOUR, 4, 0}};
    struct vv_plans plans = vv_registry_source_plans(world->p.registry, source);
    struct vv_plan grown[VV_PLANS_MAX];
    if (plans.n == 0 || plans.n >= 6) {
        return;
    }
    memcpy(grown, plans.plans, plans.n * sizeof *grown);
    grown[plans.n] = kinds[vv_random_below(random, 4)];
    int64_t now = world->p.clock.clock.wall_ns(&world->p.clock.clock);
    grown[plans.n].from_ns = vv_plan_begin(grown[plans.n].bucket_ns, now + VV_MINUTE);
    if (grown[plans.n].from_ns > plans.plans[plans.n - 1].from_ns) {
        assert_int_equal(
            vv_registry_source_set_plans(world->p.registry, source, grown, plans.n + 1), VV_OK);
    }
}

static void random_step(struct world *world, struct vv_random *random, uint32_t sources)
{
    switch (vv_random_below(random, 10)) {
    case 0:
        vv_sim_clock_advance(&world->p.clock,
                             (int64_t)vv_random_below(random, (uint64_t)(3 * VV_DAY)));
        break;
    case 1:
        vv_sim_clock_advance(&world->p.clock, (int64_t)vv_random_below(random, (uint64_t)VV_HOUR));
        break;
    case 2:
    case 3:
        flush(world);
        break;
    case 4:
        (void)!vv_sealer_step(world->p.sealer, VV_SEAL_DUE, 4, NULL);
        break;
    case 5:
        (void)!vv_sealer_step(world->p.sealer, VV_SEAL_ALL, 4, NULL);
        break;
    case 6:
        change_plan(world, random, (uint32_t)vv_random_below(random, sources));
        break;
    default:
        random_write(world, random, sources);
    }
}

static void tiers_equal_raw_after_random_histories(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct world world;
        struct vv_random random = {seed};
        print_message("seed %" PRIu64 "\n", seed);
        world_init(&world);
        world.p.flush.bucket_ns = seed % 2 ? VV_DAY : 8 * VV_DAY;
        world.p.flush.span_ns = seed % 2 ? VV_HOUR : VV_DAY;
        for (int tier = 0; tier < VV_SPACES; tier++) {
            if (seed % 4 == 0 && vv_random_below(&random, 2)) {
                continue;
            }
            pipeline_tier(&world.p, (enum vv_space)tier);
        }
        (void)pipeline_source(&world.p, "a");
        (void)pipeline_source(&world.p, "b");
        for (int i = 0; i < 150; i++) {
            random_step(&world, &random, 2);
            if (i % 10 == 9) {
                check_all(&world, 2);
            }
        }
        flush(&world);
        seal_all(&world);
        assert_complete(&world, 2);
        vv_sim_clock_advance(&world.p.clock, 60 * VV_DAY);
        seal_all(&world);
        assert_complete(&world, 2);
        assert_int_equal(pipeline_marks(&world.p), 0);
        assert_int_equal(figures_of(&world).damaged, 0);
        world_deinit(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiers_are_right_whichever_write_fails),
        cmocka_unit_test(a_group_is_of_one_kind),
        cmocka_unit_test(nothing_is_built_twice),
        cmocka_unit_test(minutes_are_made_with_their_span),
        cmocka_unit_test(minutes_are_not_made_of_rows_that_are_not_all),
        cmocka_unit_test(history_is_built_once),
        cmocka_unit_test(a_damaged_record_is_made_up_for_from_what_is_finer),
        cmocka_unit_test(tiers_equal_raw_after_random_histories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
