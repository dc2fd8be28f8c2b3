/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pipeline with tiers, the points that were written into it, and whether the records that are
 * there are the function of them.
 */
#ifndef TESTS_UNIT_SEAL_PYRAMID_WORLD_H
#define TESTS_UNIT_SEAL_PYRAMID_WORLD_H

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

static inline void world_init(struct world *world)
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

static inline void world_deinit(struct world *world)
{
    free(world->points);
    free(world->waiting);
    pipeline_deinit(&world->p);
}

static inline void set_point(struct point *points, size_t *n, const struct point *point)
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

static inline void write_point(struct world *world, uint32_t source, int metric, int64_t time,
                               int64_t value)
{
    const struct point point = {source, metric, time, value};
    pipeline_write(&world->p, source, metric, time, (uint64_t)value);
    assert_true(world->n_waiting < POINTS_MAX);
    world->waiting[world->n_waiting++] = point;
}

static inline void flushed(struct world *world)
{
    for (size_t i = 0; i < world->n_waiting; i++) {
        set_point(world->points, &world->n, &world->waiting[i]);
    }
    world->n_waiting = 0;
}

static inline void flush(struct world *world)
{
    if (world->n_waiting > 0) {
        assert_int_equal(pipeline_flush(&world->p), VV_OK);
        flushed(world);
    }
}

static inline void seal_all(struct world *world)
{
    struct vv_error error = {0};
    enum vv_status status;
    while ((status = vv_sealer_step(world->p.sealer, VV_SEAL_ALL, 8, &error)) == VV_OK) {
    }
    if (status != VV_DONE) {
        fail_msg("%s", error.message);
    }
}

static inline void advance_to(struct world *world, int64_t time)
{
    int64_t now = world->p.clock.clock.wall_ns(&world->p.clock.clock);
    assert_true(time >= now);
    vv_sim_clock_advance(&world->p.clock, time - now);
}

/* The step of a metric that begins at `start`, of the flushed points in [from, to). */
static inline struct vv_step expected(const struct world *world, uint32_t source, int metric,
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

static inline enum vv_status find_piece(void *context, const struct vv_piece *piece)
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
static inline void find(struct world *world, enum vv_space tier, uint32_t source,
                        struct found *found)
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

static inline void found_deinit(struct found *found)
{
    for (size_t i = 0; i < found->n; i++) {
        vv_buffer_deinit(&found->bytes[i]);
    }
    vv_cover_deinit(&found->cover);
}

static inline int metric_index(const struct pipeline *p, uint32_t metric)
{
    for (int i = 0; i < PIPELINE_METRICS; i++) {
        if (p->metrics[i] == metric) {
            return i;
        }
    }
    fail();
    return -1;
}

static inline void assert_step(const struct vv_step *step, const struct vv_step *wanted)
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

static inline uint64_t check_chunk(struct found *found, const struct vv_unit *unit,
                                   struct vv_str content)
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

static inline uint64_t check_rows(struct found *found, struct vv_str content)
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

static inline uint64_t points_in(const struct found *found, const struct vv_unit *unit)
{
    uint64_t n = 0;
    for (size_t i = 0; i < found->world->n; i++) {
        const struct point *point = &found->world->points[i];
        n += point->source == found->source && point->time >= unit->from && point->time < unit->to;
    }
    return n;
}

/* Each record that counts has all points of its unit, and nothing else. */
static inline void check_records(struct found *found)
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

static inline struct counts check(struct world *world, enum vv_space tier, uint32_t source)
{
    static struct found found;
    find(world, tier, source, &found);
    check_records(&found);
    struct counts counts = {found.cover.n_records, found.cover.n_stale, found.rows, found.chunks};
    found_deinit(&found);
    return counts;
}

static inline void check_all(struct world *world, uint32_t sources)
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
static inline void assert_complete(struct world *world, uint32_t sources)
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

static inline struct vv_seal_figures figures_of(struct world *world)
{
    struct vv_seal_figures figures;
    vv_sealer_read_figures(world->p.sealer, &figures);
    return figures;
}

/* ---- filling it ---- */

static inline void fill(struct world *world, uint32_t source, int64_t from, int64_t to,
                        int64_t interval)
{
    for (int64_t time = from; time < to; time += interval) {
        write_point(world, source, 0, time, time / VV_SECOND % 1000);
    }
    flush(world);
}

static inline void all_tiers(struct world *world)
{
    for (int tier = 0; tier < VV_SPACES; tier++) {
        pipeline_tier(&world->p, (enum vv_space)tier);
    }
}

#endif
