/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers that are built when spans are sealed: a record that is not stale is the function of all
 * points that were flushed, whatever came late or was deleted.
 */
#include "pyramid_world.h"

static void each_step_is_the_function_of_its_points(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + 2 * VV_HOUR, VV_SECOND);
    fill(&world, source, midnight + 2 * VV_HOUR, midnight + 26 * VV_HOUR, VV_MINUTE);
    advance_to(&world, midnight + 50 * VV_DAY);
    seal_all(&world);
    struct counts minutes = check(&world, VV_SPACE_MINUTE, source);
    struct counts hours = check(&world, VV_SPACE_HOUR, source);
    struct counts days = check(&world, VV_SPACE_DAY, source);
    assert_int_equal(minutes.records, 26);
    assert_int_equal(minutes.chunks, 2); /* 60 points a minute; then one, which is kept itself */
    assert_int_equal(minutes.stale, 0);
    assert_int_equal(hours.records, 2);
    assert_int_equal(hours.chunks, 2);
    assert_int_equal(days.records, 1);
    assert_int_equal(pipeline_marks(&world.p), 0);
    assert_complete(&world, 1);
    world_deinit(&world);
}

struct sizes {
    size_t whole;
    size_t heads;
};

static enum vv_status add_head(void *context, const struct vv_piece *piece)
{
    struct sizes *sizes = context;
    struct vv_unit_record record;
    struct vv_chunk chunk;
    assert_int_equal(vv_unit_read(piece->bytes, &record, NULL), VV_OK);
    assert_int_equal(vv_chunk_open_steps(record.content, &chunk, NULL), VV_OK);
    sizes->heads += piece->bytes.size;
    return VV_OK;
}

static enum vv_status add_whole(void *context, const struct vv_piece *piece)
{
    struct sizes *sizes = context;
    sizes->whole += piece->bytes.size;
    return VV_OK;
}

static void steps_are_put_such_that_their_sketches_need_not_be_read(void **state)
{
    (void)state;
    struct world world;
    struct sizes sizes = {0};
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + 24 * VV_HOUR, 10 * VV_SECOND);
    advance_to(&world, midnight + 50 * VV_DAY);
    seal_all(&world);
    struct pipeline *p = &world.p;
    uint32_t space = vv_registry_tiers(p->registry, p->tenant).spaces[VV_SPACE_HOUR];
    struct vv_store_read read = {
        .partition = vv_unit_key(VV_SPACE_HOUR, space, source, p->measurement, midnight).partition,
        .measurement = p->measurement,
        .span_from = midnight,
        .span_to = midnight + VV_DAY};
    assert_int_equal(p->store->ops->read(p->store, &read, add_whole, &sizes, NULL), VV_OK);
    read.heads_only = true;
    assert_int_equal(p->store->ops->read(p->store, &read, add_head, &sizes, NULL), VV_OK);
    assert_true(sizes.heads > 0 && sizes.heads < sizes.whole / 2);
    world_deinit(&world);
}

#define MANY (VV_CHUNK_METRICS_MAX + 50)

/* A row of MANY metrics every second. */
static void fill_many(struct world *world, uint32_t source, int64_t from, int rows)
{
    struct pipeline *p = &world->p;
    uint32_t metrics[MANY];
    uint64_t values[MANY] = {0};
    struct vv_batch *batch;
    size_t frame;
    for (uint32_t i = 0; i < MANY; i++) {
        char name[16];
        enum vv_value_type type = VV_INT64;
        snprintf(name, sizeof name, "many%u", i);
        assert_int_equal(vv_registry_metric(p->registry, p->measurement, vv_str_of(name), VV_INT64,
                                            true, &metrics[i], &type, NULL),
                         VV_OK);
    }
    assert_int_equal(vv_batch_create(p->tenant, &batch), VV_OK);
    assert_int_equal(vv_batch_frame(batch, p->measurement, metrics, MANY, &frame), VV_OK);
    for (int row = 0; row < rows; row++) {
        assert_int_equal(vv_batch_row(batch, frame, source, from + row * VV_SECOND, values), VV_OK);
    }
    p->stamp = vv_stamp_next(p->stamp, p->clock.clock.wall_ns(&p->clock.clock), 0);
    assert_int_equal(vv_head_prepare(p->head, batch, p->stamp), VV_OK);
    vv_head_publish(p->head);
    vv_registry_source_observe(p->registry, source, from, from + rows * VV_SECOND);
    vv_batch_destroy(batch);
    assert_int_equal(pipeline_flush(p), VV_OK);
}

static void more_metrics_than_a_chunk_has_are_in_several_parts(void **state)
{
    (void)state;
    static struct found found;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill_many(&world, source, midnight, 60);
    advance_to(&world, midnight + 50 * VV_DAY);
    seal_all(&world);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        uint32_t metrics = 0;
        find(&world, (enum vv_space)tier, source, &found);
        assert_int_equal(found.cover.n_records, 1);
        assert_int_equal(found.n, 2);
        for (size_t i = 0; i < found.n; i++) {
            struct vv_unit_record record;
            struct vv_chunk chunk;
            struct vv_step step;
            int64_t start;
            struct vv_str bytes = {(char *)found.bytes[i].data, found.bytes[i].size};
            assert_int_equal(found.parts[i], i);
            assert_int_equal(vv_unit_read(bytes, &record, NULL), VV_OK);
            assert_int_equal(record.kind, VV_UNIT_STEPS);
            assert_int_equal(vv_chunk_open(record.content, &chunk, NULL), VV_OK);
            assert_int_equal(chunk.n_steps, 1);
            for (uint32_t m = 0; m < chunk.n_metrics; m++) {
                assert_int_equal(vv_chunk_starts(&chunk, &start, NULL), VV_OK);
                assert_int_equal(vv_chunk_steps(&chunk, m, &start, &step, NULL), VV_OK);
                assert_int_equal(step.count, 60);
            }
            metrics += chunk.n_metrics;
        }
        assert_int_equal(metrics, MANY);
        found_deinit(&found);
    }
    world_deinit(&world);
}

static void a_step_that_would_hold_few_points_keeps_them(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + 2 * VV_DAY, 10 * VV_MINUTE);
    advance_to(&world, midnight + 50 * VV_DAY);
    seal_all(&world);
    struct counts hours = check(&world, VV_SPACE_HOUR, source);
    struct counts days = check(&world, VV_SPACE_DAY, source);
    assert_int_equal(hours.records, 2);
    assert_int_equal(hours.chunks, 0);
    assert_int_equal(days.records, 1);
    assert_int_equal(days.chunks, 1); /* 144 points a day */
    assert_complete(&world, 1);
    world_deinit(&world);
}

static void nothing_is_built_of_a_unit_that_is_not_over(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + 90 * VV_MINUTE, VV_SECOND);
    advance_to(&world, midnight + 90 * VV_MINUTE);
    seal_all(&world);
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).records, 1);
    assert_int_equal(check(&world, VV_SPACE_HOUR, source).records, 0);
    assert_int_equal(check(&world, VV_SPACE_HOUR, source).stale, 1);
    assert_int_equal(check(&world, VV_SPACE_DAY, source).records, 0);
    fill(&world, source, midnight + 90 * VV_MINUTE, midnight + 100 * VV_MINUTE, VV_SECOND);
    advance_to(&world, midnight + VV_DAY);
    seal_all(&world);
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).records, 2);
    assert_int_equal(check(&world, VV_SPACE_HOUR, source).records, 1);
    assert_complete(&world, 1);
    world_deinit(&world);
}

static void late_points_make_all_tiers_stale_until_they_are_built_again(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + 3 * VV_HOUR, VV_SECOND);
    advance_to(&world, midnight + 40 * VV_DAY);
    seal_all(&world);
    struct vv_seal_figures before;
    struct vv_seal_figures after;
    vv_sealer_read_figures(world.p.sealer, &before);
    for (int64_t i = 0; i < 1000; i++) {
        write_point(&world, source, 1, midnight + VV_HOUR + i * VV_SECOND, i);
        if (i % 100 == 99) {
            flush(&world);
        }
    }
    write_point(&world, source, 0, midnight + VV_HOUR, -77); /* a correction */
    flush(&world);
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).records, 2);
    assert_int_equal(check(&world, VV_SPACE_HOUR, source).records, 0);
    assert_int_equal(check(&world, VV_SPACE_DAY, source).records, 0);
    seal_all(&world);
    assert_complete(&world, 1);
    vv_sealer_read_figures(world.p.sealer, &after);
    assert_int_equal(after.spans - before.spans, 1); /* a thousand points, one reseal */
    assert_int_equal(after.units - before.units, 3);
    world_deinit(&world);
}

/* Its bytes may stay for long. */
static void nothing_is_built_of_a_stale_record_that_has_expired(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    struct vv_tiers tiers = vv_registry_tiers(world.p.registry, world.p.tenant);
    fill(&world, source, midnight, midnight + 3 * VV_HOUR, VV_SECOND);
    advance_to(&world, midnight + 40 * VV_DAY);
    seal_all(&world);
    vv_registry_set_retention(world.p.registry, tiers.spaces[VV_SPACE_MINUTE], 3 * VV_DAY);
    write_point(&world, source, 1, midnight + VV_HOUR, 7);
    flush(&world);
    seal_all(&world);
    assert_int_equal(check(&world, VV_SPACE_MINUTE, source).records, 2);
    assert_int_equal(check(&world, VV_SPACE_HOUR, source).records, 1);
    assert_int_equal(check(&world, VV_SPACE_DAY, source).records, 1);
    assert_int_equal(figures_of(&world).expired, 1);
    assert_int_equal(pipeline_marks(&world.p), 0);
    world_deinit(&world);
}

/* As the engine's sweep does for a span that is sealed already. */
static void delete_hour(struct world *world, uint32_t source, int metric, int64_t hour)
{
    struct pipeline *p = &world->p;
    struct vv_deletion_order *order = vv_deletion_order_create(1, 1);
    assert_non_null(order);
    order->scope = VV_DELETION_METRIC;
    order->from = hour;
    order->to = hour + VV_HOUR;
    order->numbers[0] = p->metrics[metric];
    order->sources[0] = source;
    p->stamp = vv_stamp_next(p->stamp, p->clock.clock.wall_ns(&p->clock.clock), 0);
    assert_int_equal(vv_deletions_prepare(p->deletions, order, p->stamp), VV_OK);
    vv_deletions_publish(p->deletions);
    free(order);
    const struct vv_span_key key = {.partition = {.tenant = p->tenant,
                                                  .source = source,
                                                  .bucket_start = vv_time_floor(hour, VV_DAY),
                                                  .bucket_ns = VV_DAY},
                                    .measurement = p->measurement,
                                    .span_start = hour};
    struct vv_mark mark = vv_ledger_mark(&p->flush.ledger, &key, VV_HOUR, p->stamp);
    assert_int_equal(p->store->ops->put_mark(p->store, &mark, NULL), VV_OK);
    size_t kept = 0;
    for (size_t i = 0; i < world->n; i++) {
        const struct point *point = &world->points[i];
        bool is_deleted = point->source == source && point->metric == metric &&
                          point->time >= hour && point->time < hour + VV_HOUR;
        if (!is_deleted) {
            world->points[kept++] = *point;
        }
    }
    world->n = kept;
}

static void what_is_deleted_is_in_no_step(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    uint32_t source = pipeline_source(&world.p, "a");
    fill(&world, source, midnight, midnight + 3 * VV_HOUR, VV_SECOND);
    advance_to(&world, midnight + 40 * VV_DAY);
    seal_all(&world);
    assert_complete(&world, 1);
    delete_hour(&world, source, 0, midnight + VV_HOUR);
    seal_all(&world);
    assert_complete(&world, 1);
    for (int metric = 0; metric < PIPELINE_METRICS; metric++) {
        delete_hour(&world, source, metric, midnight); /* nothing is left of it */
    }
    seal_all(&world);
    assert_complete(&world, 1);
    world_deinit(&world);
}

/* Also where the unit's turn comes before that of the raw span, whose block still has it. */
static void what_is_deleted_is_in_no_step_before_its_span_is_sealed_again(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    all_tiers(&world);
    struct pipeline *p = &world.p;
    uint32_t source = pipeline_source(p, "a");
    fill(&world, source, midnight, midnight + VV_HOUR, VV_SECOND);
    advance_to(&world, midnight + 40 * VV_DAY);
    seal_all(&world);
    const struct vv_stale_options options = {
        .registry = p->registry, .store = p->store, .ledger = p->flush.ledger};
    struct vv_stale stale;
    vv_stamp before = p->stamp;
    vv_stale_begin(&stale, &options, p->tenant, source, p->measurement, before);
    assert_int_equal(vv_stale_range(&stale, midnight, midnight + VV_HOUR, INT64_MAX, NULL), VV_OK);
    delete_hour(&world, source, 0, midnight);
    while (vv_sealer_step(p->sealer, before, 64, NULL) == VV_OK) {
    }
    assert_int_equal(pipeline_marks(p), 1); /* of the raw span */
    assert_complete(&world, 1);
    seal_all(&world);
    assert_complete(&world, 1);
    world_deinit(&world);
}

/* ---- what lies far apart ---- */

static size_t n_reads;
static const struct vv_store_ops *read_ops;

static enum vv_status count_read(struct vv_store *store, const struct vv_store_read *read,
                                 vv_piece_visit visit, void *context, struct vv_error *error)
{
    n_reads++;
    return read_ops->read(store, read, visit, context, error);
}

/* Two plans whose buckets are not aligned to each other, and a day or an hour with points at either
 * side of where the second one begins. */
static void a_unit_is_the_function_of_points_that_lie_far_apart(void **state)
{
    (void)state;
    struct world world;
    world_init(&world);
    struct pipeline *p = &world.p;
    (void)pipeline_tier(p, VV_SPACE_DAY);
    uint32_t source = pipeline_source(p, "a");
    int64_t change = midnight + 10 * VV_DAY + 7 * VV_HOUR;
    const struct vv_plan plans[] = {
        {.from_ns = VV_TIME_MIN, .bucket_ns = 3 * VV_HOUR, .span_ns = VV_HOUR, .splits = 1},
        {.from_ns = change, .bucket_ns = 16 * VV_DAY, .span_ns = VV_DAY, .splits = 1},
        {.from_ns = change + 10 * VV_DAY, .bucket_ns = VV_HOUR, .span_ns = VV_HOUR, .splits = 1}};
    assert_int_equal(vv_registry_source_set_plans(p->registry, source, plans, 3), VV_OK);
    fill(&world, source, midnight, midnight + VV_HOUR, VV_MINUTE);
    fill(&world, source, change + VV_HOUR, change + 2 * VV_HOUR, VV_MINUTE);
    fill(&world, source, midnight + 24 * VV_DAY, midnight + 24 * VV_DAY + VV_HOUR, VV_MINUTE);
    advance_to(&world, midnight + 60 * VV_DAY);
    struct vv_store_ops ops = *p->store->ops;
    read_ops = p->store->ops;
    ops.read = count_read;
    p->store->ops = &ops;
    n_reads = 0;
    seal_all(&world);
    p->store->ops = read_ops;
    assert_complete(&world, 1);
    assert_in_range(n_reads, 1, 40); /* of some two hundred buckets */
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_step_is_the_function_of_its_points),
        cmocka_unit_test(steps_are_put_such_that_their_sketches_need_not_be_read),
        cmocka_unit_test(more_metrics_than_a_chunk_has_are_in_several_parts),
        cmocka_unit_test(a_step_that_would_hold_few_points_keeps_them),
        cmocka_unit_test(nothing_is_built_of_a_unit_that_is_not_over),
        cmocka_unit_test(late_points_make_all_tiers_stale_until_they_are_built_again),
        cmocka_unit_test(nothing_is_built_of_a_stale_record_that_has_expired),
        cmocka_unit_test(what_is_deleted_is_in_no_step),
        cmocka_unit_test(what_is_deleted_is_in_no_step_before_its_span_is_sealed_again),
        cmocka_unit_test(a_unit_is_the_function_of_points_that_lie_far_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
