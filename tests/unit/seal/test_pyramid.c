/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers that are built when spans are sealed: a record that is not stale is the function of all
 * points that were flushed, whatever came late, and whatever failed in between.
 */
#include "base/random.h"
#include "seal/stale.h"
#include "support/pipeline.h"
#include "tier/chunk.h"
#include "tier/cover.h"
#include "tier/step.h"

#include <inttypes.h>
#include <stdlib.h>

static const int64_t midnight = 20000 * VV_DAY;

#define POINTS_MAX 40000

/* ---- what should be there ---- */

struct point {
    uint32_t source;
    int metric;
    int64_t time;
    int64_t value;
};

struct world {
    struct pipeline p;
    struct point *points; /* flushed; each (source, metric, time) once */
    size_t n;
    struct point *waiting; /* in the head */
    size_t n_waiting;
};

static void world_init(struct world *world)
{
    pipeline_init(&world->p, midnight);
    world->p.flush.bucket_ns = VV_DAY;
    world->p.flush.span_ns = VV_HOUR;
    world->points = calloc(POINTS_MAX, sizeof *world->points);
    world->waiting = calloc(POINTS_MAX, sizeof *world->waiting);
    world->n = 0;
    world->n_waiting = 0;
    assert_non_null(world->points);
    assert_non_null(world->waiting);
}

static void world_deinit(struct world *world)
{
    free(world->points);
    free(world->waiting);
    pipeline_deinit(&world->p);
}

static void set_point(struct point *points, size_t *n, const struct point *point)
{
    for (size_t i = 0; i < *n; i++) {
        if (points[i].source == point->source && points[i].metric == point->metric &&
            points[i].time == point->time) {
            points[i] = *point;
            return;
        }
    }
    assert_true(*n < POINTS_MAX);
    points[(*n)++] = *point;
}

static void write_point(struct world *world, uint32_t source, int metric, int64_t time,
                        int64_t value)
{
    const struct point point = {source, metric, time, value};
    pipeline_write(&world->p, source, metric, time, (uint64_t)value);
    assert_true(world->n_waiting < POINTS_MAX);
    world->waiting[world->n_waiting++] = point;
}

static void flushed(struct world *world)
{
    for (size_t i = 0; i < world->n_waiting; i++) {
        set_point(world->points, &world->n, &world->waiting[i]);
    }
    world->n_waiting = 0;
}

static void flush(struct world *world)
{
    if (world->n_waiting > 0) {
        assert_int_equal(pipeline_flush(&world->p), VV_OK);
        flushed(world);
    }
}

static void seal_all(struct world *world)
{
    struct vv_error error = {0};
    enum vv_status status;
    while ((status = vv_sealer_step(world->p.sealer, VV_SEAL_ALL, 8, &error)) == VV_OK) {
    }
    if (status != VV_DONE) {
        fail_msg("%s", error.message);
    }
}

static void advance_to(struct world *world, int64_t time)
{
    int64_t now = world->p.clock.clock.wall_ns(&world->p.clock.clock);
    assert_true(time >= now);
    vv_sim_clock_advance(&world->p.clock, time - now);
}

/* The step of a metric that begins at `start`, of the flushed points in [from, to). */
static struct vv_step expected(const struct world *world, uint32_t source, int metric,
                               int64_t start, int64_t length, int64_t from, int64_t to)
{
    struct vv_step step = {0};
    for (size_t i = 0; i < world->n; i++) {
        const struct point *point = &world->points[i];
        if (point->source == source && point->metric == metric && point->time >= start &&
            point->time < start + length && point->time >= from && point->time < to) {
            struct vv_step one = {0};
            uint64_t value = (uint64_t)point->value;
            vv_step_add(VV_INT64, VV_STEP_ALL, &one, &point->time, &value, 1);
            vv_step_merge(VV_INT64, VV_STEP_ALL, &step, &one);
        }
    }
    return step;
}

/* ---- what is there ---- */

struct found {
    struct world *world;
    enum vv_space tier;
    uint32_t source;
    struct vv_cover cover;
    struct vv_buffer bytes[4096];
    uint32_t parts[4096]; /* of a record; 0: it is a further part */
    size_t n;
    size_t rows;
    size_t chunks;
};

static enum vv_status find_piece(void *context, const struct vv_piece *piece)
{
    struct found *found = context;
    struct vv_unit_record record;
    assert_int_equal(vv_unit_read(piece->bytes, &record, NULL), VV_OK);
    assert_int_equal(record.unit.from, piece->key.span_start);
    if (record.kind == VV_UNIT_STALE) {
        assert_int_equal(piece->kind, VV_PIECE_RUN);
        assert_int_equal(vv_cover_add_stale(&found->cover, &record.unit), VV_OK);
        return VV_OK;
    }
    assert_int_equal(piece->kind, VV_PIECE_BLOCK);
    assert_true(found->n < 4096);
    if (piece->part == 0) {
        assert_int_equal(vv_cover_add(&found->cover, &record.unit, (uint32_t)found->n), VV_OK);
    }
    found->parts[found->n] = piece->part;
    vv_buffer_str(&found->bytes[found->n++], piece->bytes);
    return VV_OK;
}

/* All records of a tier of a source, of 100 days around the first midnight. */
static void find(struct world *world, enum vv_space tier, uint32_t source, struct found *found)
{
    struct pipeline *p = &world->p;
    uint32_t space = vv_registry_tiers(p->registry, p->tenant).spaces[tier];
    int64_t bucket_ns = vv_tier_plan(tier).bucket_ns;
    memset(found, 0, sizeof *found);
    found->world = world;
    found->tier = tier;
    found->source = source;
    for (int64_t at = vv_time_floor(midnight - 50 * VV_DAY, bucket_ns); at < midnight + 50 * VV_DAY;
         at += bucket_ns) {
        struct vv_span_key key = vv_unit_key(tier, space, source, p->measurement, at);
        struct vv_store_read read = {.partition = key.partition,
                                     .measurement = p->measurement,
                                     .span_from = VV_TIME_MIN,
                                     .span_to = VV_TIME_MAX};
        assert_int_equal(p->store->ops->read(p->store, &read, find_piece, found, NULL), VV_OK);
    }
    vv_cover_settle(&found->cover);
}

static void found_deinit(struct found *found)
{
    for (size_t i = 0; i < found->n; i++) {
        vv_buffer_deinit(&found->bytes[i]);
    }
    vv_cover_deinit(&found->cover);
}

static int metric_index(const struct pipeline *p, uint32_t metric)
{
    for (int i = 0; i < PIPELINE_METRICS; i++) {
        if (p->metrics[i] == metric) {
            return i;
        }
    }
    fail();
    return -1;
}

static void assert_step(const struct vv_step *step, const struct vv_step *wanted)
{
    assert_int_equal(step->count, wanted->count);
    assert_true(step->sum.integer == wanted->sum.integer);
    assert_int_equal(step->min, wanted->min);
    assert_int_equal(step->max, wanted->max);
    assert_int_equal(step->first, wanted->first);
    assert_int_equal(step->last, wanted->last);
    assert_int_equal(step->first_time, wanted->first_time);
    assert_int_equal(step->last_time, wanted->last_time);
}

static uint64_t check_chunk(struct found *found, const struct vv_unit *unit, struct vv_str content)
{
    struct vv_chunk chunk;
    uint64_t values = 0;
    assert_int_equal(vv_chunk_open(content, &chunk, NULL), VV_OK);
    int64_t *starts = calloc(chunk.n_steps, sizeof *starts);
    struct vv_step *steps = calloc(chunk.n_steps, sizeof *steps);
    struct vv_sketch *sketches = calloc(chunk.n_steps, sizeof *sketches);
    assert_int_equal(chunk.step_ns, vv_tier_step_ns(found->tier));
    assert_int_equal(vv_chunk_starts(&chunk, starts, NULL), VV_OK);
    for (uint32_t i = 0; i < chunk.n_metrics; i++) {
        uint32_t metric;
        enum vv_value_type type;
        assert_int_equal(vv_chunk_metric(&chunk, i, &metric, &type, NULL), VV_OK);
        assert_int_equal(vv_chunk_steps(&chunk, i, starts, steps, NULL), VV_OK);
        assert_int_equal(vv_chunk_sketches(&chunk, i, steps, sketches, NULL), VV_OK);
        for (uint32_t j = 0; j < chunk.n_steps; j++) {
            struct vv_step wanted =
                expected(found->world, found->source, metric_index(&found->world->p, metric),
                         starts[j], chunk.step_ns, unit->from, unit->to);
            assert_step(&steps[j], &wanted);
            assert_true(vv_sketch_count(&sketches[j]) == wanted.count);
            values += wanted.count;
            vv_sketch_deinit(&sketches[j]);
        }
    }
    free(starts);
    free(steps);
    free(sketches);
    found->chunks++;
    return values;
}

static uint64_t check_rows(struct found *found, struct vv_str content)
{
    const struct vv_merge_options options = {
        .from = INT64_MIN, .to = INT64_MAX, .join_times = true};
    struct vv_merge *merge;
    const struct vv_rows *rows;
    uint64_t values = 0;
    assert_int_equal(vv_merge_create(&options, &merge), VV_OK);
    assert_int_equal(vv_merge_add_block(merge, (const uint8_t *)content.data, content.size, NULL),
                     VV_OK);
    while (vv_merge_next(merge, &rows, NULL) == VV_OK) {
        for (size_t c = 0; c < rows->n_columns; c++) {
            int metric = metric_index(&found->world->p, rows->columns[c].metric);
            for (size_t row = 0; row < rows->n_rows; row++) {
                if (vv_column_has(&rows->columns[c], row)) {
                    struct vv_step wanted = expected(found->world, found->source, metric,
                                                     rows->times[row], 1, INT64_MIN, INT64_MAX);
                    assert_int_equal(wanted.count, 1);
                    assert_int_equal(wanted.first, rows->columns[c].values[row]);
                    values++;
                }
            }
        }
    }
    vv_merge_destroy(merge);
    found->rows++;
    return values;
}

static uint64_t points_in(const struct found *found, const struct vv_unit *unit)
{
    uint64_t n = 0;
    for (size_t i = 0; i < found->world->n; i++) {
        const struct point *point = &found->world->points[i];
        n += point->source == found->source && point->time >= unit->from && point->time < unit->to;
    }
    return n;
}

/* Each record that counts has all points of its unit, and nothing else. */
static void check_records(struct found *found)
{
    for (size_t r = 0; r < found->cover.n_records; r++) {
        const struct vv_covering *covering = &found->cover.records[r];
        uint64_t values = 0;
        for (size_t i = covering->tag; i < found->n && (i == covering->tag || found->parts[i] > 0);
             i++) {
            struct vv_unit_record record;
            struct vv_str bytes = {(char *)found->bytes[i].data, found->bytes[i].size};
            assert_int_equal(vv_unit_read(bytes, &record, NULL), VV_OK);
            values += record.kind == VV_UNIT_STEPS
                          ? check_chunk(found, &covering->unit, record.content)
                          : check_rows(found, record.content);
        }
        assert_int_equal(values, points_in(found, &covering->unit));
    }
}

/* Counts what of a tier covers and what is stale, after checking it. */
struct counts {
    size_t records;
    size_t stale;
    size_t rows;
    size_t chunks;
};

static struct counts check(struct world *world, enum vv_space tier, uint32_t source)
{
    static struct found found;
    find(world, tier, source, &found);
    check_records(&found);
    struct counts counts = {found.cover.n_records, found.cover.n_stale, found.rows, found.chunks};
    found_deinit(&found);
    return counts;
}

static void check_all(struct world *world, uint32_t sources)
{
    struct vv_tiers tiers = vv_registry_tiers(world->p.registry, world->p.tenant);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        for (uint32_t source = 0; source < sources; source++) {
            if (tiers.spaces[tier] != VV_REGISTRY_NONE) {
                (void)check(world, (enum vv_space)tier, source);
            }
        }
    }
}

/* All flushed points are in records of every tier whose units are over. */
static void assert_complete(struct world *world, uint32_t sources)
{
    struct vv_tiers tiers = vv_registry_tiers(world->p.registry, world->p.tenant);
    int64_t now = world->p.clock.clock.wall_ns(&world->p.clock.clock);
    for (int tier = 0; tier < VV_SPACES; tier++) {
        for (uint32_t source = 0; source < sources; source++) {
            static struct found found;
            struct vv_plans plans = vv_registry_source_plans(world->p.registry, source);
            if (tiers.spaces[tier] == VV_REGISTRY_NONE || plans.n == 0) {
                continue;
            }
            find(world, (enum vv_space)tier, source, &found);
            check_records(&found);
            for (size_t i = 0; i < world->n; i++) {
                const struct point *point = &world->points[i];
                struct vv_unit unit =
                    vv_unit_of((enum vv_space)tier, plans.plans, plans.n, point->time);
                if (point->source == source && unit.to <= now) {
                    assert_true(
                        vv_cover_next(&found.cover, 0, point->time, point->time + 1).is_covered);
                }
            }
            found_deinit(&found);
        }
    }
}

static struct vv_seal_figures figures_of(struct world *world)
{
    struct vv_seal_figures figures;
    vv_sealer_read_figures(world->p.sealer, &figures);
    return figures;
}

/* ---- tests ---- */

static void fill(struct world *world, uint32_t source, int64_t from, int64_t to, int64_t interval)
{
    for (int64_t time = from; time < to; time += interval) {
        write_point(world, source, 0, time, time / VV_SECOND % 1000);
    }
    flush(world);
}

static void all_tiers(struct world *world)
{
    for (int tier = 0; tier < VV_SPACES; tier++) {
        pipeline_tier(&world->p, (enum vv_space)tier);
    }
}

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
    vv_stale_begin(&stale, &options, source, p->measurement, before);
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
    static const struct vv_plan kinds[] = {{0, VV_DAY, VV_HOUR, 1},
                                           {0, VV_HOUR, 15 * VV_MINUTE, 2},
                                           {0, 8 * VV_DAY, VV_DAY, 1},
                                           {0, VV_DAY, VV_HOUR, 4}};
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
        cmocka_unit_test(each_step_is_the_function_of_its_points),
        cmocka_unit_test(more_metrics_than_a_chunk_has_are_in_several_parts),
        cmocka_unit_test(a_step_that_would_hold_few_points_keeps_them),
        cmocka_unit_test(nothing_is_built_of_a_unit_that_is_not_over),
        cmocka_unit_test(late_points_make_all_tiers_stale_until_they_are_built_again),
        cmocka_unit_test(nothing_is_built_of_a_stale_record_that_has_expired),
        cmocka_unit_test(what_is_deleted_is_in_no_step),
        cmocka_unit_test(what_is_deleted_is_in_no_step_before_its_span_is_sealed_again),
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
