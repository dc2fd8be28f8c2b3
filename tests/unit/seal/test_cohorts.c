/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of cohorts: one that is not stale has all values of all its sources, whatever came late,
 * and there is none where a source's part is not known.
 */
#include "support/pipeline.h"
#include "tier/chunk.h"
#include "tier/cohort.h"
#include "tier/unit.h"

#include <stdlib.h>

#define SOURCES 3

static const int64_t midnight = 20000 * VV_DAY;

struct world {
    struct pipeline p;
    uint32_t sources[SOURCES];
    uint32_t spaces[VV_SPACES]; /* hour and day are on */
};

static void write_and_flush(struct world *world, int source, int64_t time, int64_t value)
{
    pipeline_write(&world->p, world->sources[source], 0, time, (uint64_t)value);
    assert_int_equal(pipeline_flush(&world->p), VV_OK);
}

/* The first source has a value each minute of the day (steps), the others each hour (rows). */
static void write_day(struct world *world)
{
    for (int64_t minute = 0; minute < 24 * 60; minute++) {
        for (int source = 0; source < SOURCES; source++) {
            if (source == 0 || minute % 60 == 0) {
                pipeline_write(&world->p, world->sources[source], 0, midnight + minute * VV_MINUTE,
                               (uint64_t)(minute + source));
            }
        }
    }
    assert_int_equal(pipeline_flush(&world->p), VV_OK);
}

static void advance(struct world *world, int64_t length)
{
    vv_sim_clock_advance(&world->p.clock, length);
}

static void seal_all(struct world *world)
{
    struct vv_error error = {0};
    enum vv_status status;
    while ((status = vv_sealer_step(world->p.sealer, VV_SEAL_DUE, 8, &error)) == VV_OK) {
    }
    if (status != VV_DONE) {
        fail_msg("%s", error.message);
    }
}

static void tiers_on(struct world *world)
{
    world->spaces[VV_SPACE_HOUR] = pipeline_tier(&world->p, VV_SPACE_HOUR);
    world->spaces[VV_SPACE_DAY] = pipeline_tier(&world->p, VV_SPACE_DAY);
}

static void world_init(struct world *world, bool has_tiers)
{
    char name[8];
    pipeline_init(&world->p, midnight);
    world->p.flush.bucket_ns = VV_DAY;
    world->p.flush.span_ns = VV_HOUR;
    for (int i = 0; i < SOURCES; i++) {
        snprintf(name, sizeof name, "h%d", i);
        world->sources[i] = pipeline_source(&world->p, name);
    }
    if (has_tiers) {
        tiers_on(world);
    }
}

static void world_deinit(struct world *world)
{
    pipeline_deinit(&world->p);
}

/* ---- what is there ---- */

struct found {
    size_t stale;
    size_t records;
    struct vv_step all; /* of the metric, over the whole record */
    uint64_t sketched;  /* values in its sketches */
    size_t steps;
};

static void read_chunk(struct found *found, struct vv_str content)
{
    struct vv_chunk chunk;
    uint32_t metric;
    enum vv_value_type type;
    assert_int_equal(vv_chunk_open(content, &chunk, NULL), VV_OK);
    assert_int_equal(chunk.n_metrics, 1);
    assert_int_equal(vv_chunk_metric(&chunk, 0, &metric, &type, NULL), VV_OK);
    int64_t *starts = calloc(chunk.n_steps, sizeof *starts);
    struct vv_step *steps = calloc(chunk.n_steps, sizeof *steps);
    struct vv_sketch *sketches = calloc(chunk.n_steps, sizeof *sketches);
    assert_int_equal(vv_chunk_starts(&chunk, starts, NULL), VV_OK);
    assert_int_equal(vv_chunk_steps(&chunk, 0, starts, steps, NULL), VV_OK);
    assert_int_equal(vv_chunk_sketches(&chunk, 0, steps, sketches, NULL), VV_OK);
    for (uint32_t i = 0; i < chunk.n_steps; i++) {
        vv_step_merge(type, VV_STEP_ALL, &found->all, &steps[i]);
        found->sketched += vv_sketch_count(&sketches[i]);
        vv_sketch_deinit(&sketches[i]);
    }
    found->steps = chunk.n_steps;
    free(starts);
    free(steps);
    free(sketches);
}

static enum vv_status take(void *context, const struct vv_piece *piece)
{
    struct found *found = context;
    struct vv_unit_record record;
    assert_int_equal(vv_unit_read(piece->bytes, &record, NULL), VV_OK);
    if (piece->kind == VV_PIECE_RUN) {
        assert_int_equal(record.kind, VV_UNIT_STALE);
        found->stale++;
        return VV_OK;
    }
    assert_int_equal(record.kind, VV_UNIT_STEPS);
    found->records++;
    read_chunk(found, record.content);
    return VV_OK;
}

static struct found find(struct world *world, enum vv_space tier, uint32_t number)
{
    struct found found = {0};
    struct vv_unit unit = vv_unit_of(tier, &(struct vv_plan){.span_ns = VV_HOUR}, 1, midnight);
    struct vv_span_key key =
        vv_unit_key(tier, world->spaces[tier], number, world->p.measurement, unit.from);
    struct vv_store_read read = {.partition = key.partition,
                                 .measurement = key.measurement,
                                 .span_from = unit.from,
                                 .span_to = unit.to};
    assert_int_equal(world->p.store->ops->read(world->p.store, &read, take, &found, NULL), VV_OK);
    return found;
}

static struct found find_cohort(struct world *world, enum vv_space tier)
{
    return find(world, tier, vv_cohort_of(world->sources[0]));
}

/* Says that a source's unit is to be built again, without a mark. */
static void soil(struct world *world, enum vv_space tier, uint32_t number, bool with_mark)
{
    struct vv_store *store = world->p.store;
    struct vv_buffer bytes = {0};
    struct vv_unit unit = vv_unit_of(tier, &(struct vv_plan){.span_ns = VV_HOUR}, 1, midnight);
    vv_unit_write(&bytes, VV_UNIT_STALE, &unit);
    struct vv_piece run = {
        .kind = VV_PIECE_RUN,
        .key = vv_unit_key(tier, world->spaces[tier], number, world->p.measurement, unit.from),
        .run = world->p.stamp,
        .bytes = {(char *)bytes.data, bytes.size}};
    struct vv_mark mark = {
        .due_ns = unit.to, .key = run.key, .span_ns = unit.to - unit.from, .run = world->p.stamp};
    assert_int_equal(store->ops->put_run(store, &run, NULL), VV_OK);
    if (with_mark) {
        assert_int_equal(store->ops->put_mark(store, &mark, NULL), VV_OK);
    }
    assert_int_equal(store->ops->confirm(store, NULL), VV_OK);
    vv_buffer_deinit(&bytes);
}

/* ---- tests ---- */

static void a_cohort_has_all_that_its_sources_have(void **state)
{
    (void)state;
    struct world world = {0};
    world_init(&world, true);
    write_day(&world);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    for (int tier = VV_SPACE_HOUR; tier <= VV_SPACE_DAY; tier++) {
        struct found found = find_cohort(&world, (enum vv_space)tier);
        assert_int_equal(found.records, 1);
        assert_int_equal(found.stale, 0);
        assert_int_equal(found.steps, tier == VV_SPACE_HOUR ? 24 : 1);
        assert_int_equal(found.all.count, 24 * 60 + 2 * 24);
        assert_int_equal(found.sketched, found.all.count);
        /* Σ of the minutes; then of the hours, twice, and what the sources add. */
        assert_true(found.all.sum.integer ==
                    1439 * 1440 / 2 + 2 * 60 * (23 * 24 / 2) + 24 * 1 + 24 * 2);
        assert_int_equal(found.all.min, 0);
        assert_int_equal(found.all.max, 1439);
        assert_int_equal(found.all.first, 0); /* of equal times, of the source that came first */
        assert_int_equal(found.all.last, 1439);
    }
    world_deinit(&world);
}

static void late_points_make_a_cohort_stale_until_it_is_built_again(void **state)
{
    (void)state;
    struct world world = {0};
    world_init(&world, true);
    write_day(&world);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    write_and_flush(&world, 2, midnight + VV_HOUR + 1, 5000);
    assert_true(find_cohort(&world, VV_SPACE_HOUR).stale > 0);
    assert_true(find_cohort(&world, VV_SPACE_DAY).stale > 0);
    advance(&world, VV_DAY);
    seal_all(&world);
    for (int tier = VV_SPACE_HOUR; tier <= VV_SPACE_DAY; tier++) {
        struct found found = find_cohort(&world, (enum vv_space)tier);
        assert_int_equal(found.records, 1);
        assert_int_equal(found.stale, 0);
        assert_int_equal(found.all.count, 24 * 60 + 2 * 24 + 1);
        assert_int_equal(found.all.max, 5000);
    }
    world_deinit(&world);
}

static void a_corrected_point_is_in_a_cohort_once(void **state)
{
    (void)state;
    struct world world = {0};
    world_init(&world, true);
    write_day(&world);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    write_and_flush(&world, 1, midnight, 900);
    advance(&world, VV_DAY);
    seal_all(&world);
    struct found found = find_cohort(&world, VV_SPACE_DAY);
    assert_int_equal(found.all.count, 24 * 60 + 2 * 24);
    assert_true(found.all.sum.integer ==
                1439 * 1440 / 2 + 2 * 60 * (23 * 24 / 2) + 24 * 1 + 24 * 2 + 900 - 1);
    world_deinit(&world);
}

static void a_cohort_has_no_record_while_a_source_is_stale(void **state)
{
    (void)state;
    struct world world = {0};
    world_init(&world, true);
    write_day(&world);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    soil(&world, VV_SPACE_HOUR, world.sources[1], false);
    soil(&world, VV_SPACE_HOUR, vv_cohort_of(world.sources[0]), true);
    seal_all(&world);
    struct found found = find_cohort(&world, VV_SPACE_HOUR);
    assert_int_equal(found.records, 0);
    assert_int_equal(found.stale, 0);
    soil(&world, VV_SPACE_HOUR, world.sources[1], true); /* now it is built */
    seal_all(&world);
    assert_int_equal(find_cohort(&world, VV_SPACE_HOUR).records, 1);
    world_deinit(&world);
}

static void a_cohort_has_no_record_where_a_source_has_none_but_points(void **state)
{
    (void)state;
    struct world world = {0};
    world_init(&world, false);
    write_day(&world);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    tiers_on(&world); /* of what is sealed already, nothing is built */
    write_and_flush(&world, 0, midnight + 1, 1);
    advance(&world, VV_DAY);
    seal_all(&world);
    assert_int_equal(find(&world, VV_SPACE_HOUR, world.sources[0]).records, 1);
    assert_int_equal(find_cohort(&world, VV_SPACE_HOUR).records, 0);
    world_deinit(&world);
}

static void a_source_that_is_alone_has_no_cohort(void **state)
{
    (void)state;
    struct world world = {0};
    world_init(&world, true);
    uint32_t other;
    for (int i = 0; i < (int)VV_COHORT_SOURCES; i++) { /* until one is in the next cohort */
        char name[16];
        snprintf(name, sizeof name, "more%d", i);
        other = pipeline_source(&world.p, name);
        if (vv_cohort_of(other) != vv_cohort_of(world.sources[0])) {
            break;
        }
    }
    pipeline_write(&world.p, other, 0, midnight + 1, 7);
    assert_int_equal(pipeline_flush(&world.p), VV_OK);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    struct found found = find(&world, VV_SPACE_HOUR, vv_cohort_of(other));
    assert_int_equal(found.records, 0);
    assert_int_equal(found.stale, 0);
    world_deinit(&world);
}

/* It may never be: alone, the source would make no cohort stale, and the record be wrong. */
static void a_source_that_is_not_journaled_makes_no_cohort(void **state)
{
    (void)state;
    struct world world = {0};
    pipeline_init(&world.p, midnight);
    world.p.flush.bucket_ns = VV_DAY;
    world.p.flush.span_ns = VV_HOUR;
    tiers_on(&world);
    world.sources[0] = pipeline_source(&world.p, "a");
    uint32_t other = pipeline_staged_source(&world.p, "b");
    write_and_flush(&world, 0, midnight, 7);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    assert_int_equal(find_cohort(&world, VV_SPACE_HOUR).records, 0);
    assert_int_equal(find_cohort(&world, VV_SPACE_DAY).records, 0);
    pipeline_settle_source(&world.p, other);
    write_and_flush(&world, 0, midnight + VV_HOUR, 8);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    assert_int_equal(find_cohort(&world, VV_SPACE_HOUR).records, 1);
    assert_int_equal(find_cohort(&world, VV_SPACE_DAY).records, 1);
    world_deinit(&world);
}

static void a_cohort_goes_where_its_tier_has_expired(void **state)
{
    (void)state;
    struct world world = {0};
    world_init(&world, true);
    write_day(&world);
    advance(&world, 60 * VV_DAY);
    seal_all(&world);
    vv_registry_set_retention(world.p.registry, world.spaces[VV_SPACE_HOUR], 30 * VV_DAY);
    soil(&world, VV_SPACE_HOUR, vv_cohort_of(world.sources[0]), true);
    seal_all(&world);
    assert_int_equal(find_cohort(&world, VV_SPACE_HOUR).records, 0);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cohort_has_all_that_its_sources_have),
        cmocka_unit_test(late_points_make_a_cohort_stale_until_it_is_built_again),
        cmocka_unit_test(a_corrected_point_is_in_a_cohort_once),
        cmocka_unit_test(a_cohort_has_no_record_while_a_source_is_stale),
        cmocka_unit_test(a_cohort_has_no_record_where_a_source_has_none_but_points),
        cmocka_unit_test(a_source_that_is_alone_has_no_cohort),
        cmocka_unit_test(a_source_that_is_not_journaled_makes_no_cohort),
        cmocka_unit_test(a_cohort_goes_where_its_tier_has_expired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
