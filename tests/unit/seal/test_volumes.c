/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes: what the records of a bucket of hours have, and never what they had before. */
#define PIPELINE_VOLUMES_AFTER_NS (10 * VV_MINUTE)
#include "pyramid_world.h"

#include "seal/cut.h"
#include "seal/volumes.h"
#include "simulation/sim_memory.h"

#define BUCKET (28 * VV_DAY)
#define GAP    (2 * VV_MINUTE) /* 30 points an hour: steps, not rows */

/* ---- what is there ---- */

struct parts {
    struct world *world;
    uint32_t source;
    size_t n;
    uint64_t values;
    uint32_t numbers[64];
    struct vv_unit units[64];
};

/* Each of its steps is the function of the points that were flushed. */
static enum vv_status check_part(void *context, const struct vv_piece *piece)
{
    struct parts *parts = context;
    struct vv_unit_record record;
    struct vv_chunk chunk;
    uint32_t metric;
    enum vv_value_type type;
    assert_int_equal(vv_unit_read(piece->bytes, &record, NULL), VV_OK);
    assert_int_equal(record.kind, VV_UNIT_STEPS);
    assert_int_equal(vv_chunk_open(record.content, &chunk, NULL), VV_OK);
    assert_int_equal(chunk.n_metrics, 1);
    assert_false(chunk.has_sketches);
    assert_int_equal(vv_chunk_metric(&chunk, 0, &metric, &type, NULL), VV_OK);
    assert_int_equal(piece->part / VV_VOLUME_STRETCHES, metric);
    int64_t *starts = calloc(chunk.n_steps, sizeof *starts);
    struct vv_step *steps = calloc(chunk.n_steps, sizeof *steps);
    assert_int_equal(vv_chunk_starts(&chunk, starts, NULL), VV_OK);
    assert_int_equal(vv_chunk_steps(&chunk, 0, starts, steps, NULL), VV_OK);
    for (uint32_t i = 0; i < chunk.n_steps; i++) {
        assert_true(starts[i] >= record.unit.from && starts[i] < record.unit.to);
        struct vv_step wanted =
            expected(parts->world, parts->source, metric_index(&parts->world->p, metric), starts[i],
                     VV_HOUR, INT64_MIN, INT64_MAX);
        assert_int_equal(steps[i].count, wanted.count);
        if (wanted.count > 0) {
            assert_step(&steps[i], &wanted);
        }
        parts->values += wanted.count;
    }
    assert_true(parts->n < 64);
    parts->numbers[parts->n] = piece->part;
    parts->units[parts->n++] = record.unit;
    free(starts);
    free(steps);
    return VV_OK;
}

static struct vv_span_key volume_of(const struct world *world, uint32_t source)
{
    const struct pipeline *p = &world->p;
    uint32_t space = vv_registry_tiers(p->registry, p->tenant).spaces[VV_SPACE_HOUR];
    struct vv_span_key unit = vv_unit_key(VV_SPACE_HOUR, space, source, p->measurement, midnight);
    return vv_volume_key(&unit);
}

/* Of the bucket that holds `midnight`, which is its ninth day. */
static struct parts find_parts(struct world *world, uint32_t source)
{
    struct parts parts = {.world = world, .source = source};
    struct vv_span_key key = volume_of(world, source);
    const struct vv_store_read read = {.partition = key.partition,
                                       .measurement = key.measurement,
                                       .span_from = key.span_start,
                                       .span_to = key.span_start + BUCKET};
    struct vv_store *store = world->p.store;
    assert_int_equal(store->ops->read(store, &read, check_part, &parts, NULL), VV_OK);
    return parts;
}

struct marks {
    struct vv_registry *registry;
    size_t volumes;
    size_t others;
};

static enum vv_status count_mark(void *context, const struct vv_mark *mark)
{
    struct marks *marks = context;
    bool is_volume = vv_volume_is_marked(marks->registry, mark);
    marks->volumes += is_volume;
    marks->others += !is_volume;
    return VV_OK;
}

static struct marks marks_of(struct world *world)
{
    struct marks marks = {world->p.registry, 0, 0};
    struct vv_store *store = world->p.store;
    assert_int_equal(store->ops->scan_marks(store, INT64_MAX, NULL, count_mark, &marks, NULL),
                     VV_OK);
    return marks;
}

/* ---- what is done ---- */

static void fill_days(struct world *world, uint32_t source, int metric, int day, int n_days)
{
    int64_t end = midnight + (day + n_days) * VV_DAY;
    for (int64_t time = midnight + day * VV_DAY; time < end; time += GAP) {
        write_point(world, source, metric, time, (time / GAP) % 97 - 20);
    }
    flush(world);
}

/* All that is due and quiet, as the storage thread does. */
static void seal_due(struct world *world)
{
    struct vv_error error = {0};
    while (vv_sealer_step(world->p.sealer, VV_SEAL_DUE, 8, &error) == VV_OK) {
    }
}

static uint32_t begin(struct world *world)
{
    world_init(world);
    all_tiers(world);
    return pipeline_source(&world->p, "a");
}

/* Two days of both metrics, behind the end of their bucket. */
static uint32_t begin_sealed(struct world *world)
{
    uint32_t source = begin(world);
    fill_days(world, source, 0, 0, 2);
    fill_days(world, source, 1, 0, 2);
    advance_to(world, midnight + 50 * VV_DAY);
    seal_all(world);
    assert_int_equal(find_parts(world, source).n, 2);
    return source;
}

/* ---- tests ---- */

static void a_volume_has_what_its_records_have(void **state)
{
    (void)state;
    struct world world;
    uint32_t source = begin(&world);
    fill_days(&world, source, 0, 0, 3);
    fill_days(&world, source, 0, 4, 2);
    fill_days(&world, source, 1, 4, 2);
    advance_to(&world, midnight + 50 * VV_DAY);
    seal_all(&world);
    struct parts parts = find_parts(&world, source);
    uint32_t first = vv_volume_part(world.p.metrics[0]);
    uint32_t second = vv_volume_part(world.p.metrics[1]);
    const uint32_t numbers[] = {first, first + 1, second, second + 1};
    assert_int_equal(parts.n, 4); /* each metric in each stretch, with values there or without */
    assert_memory_equal(parts.numbers, numbers, sizeof numbers);
    assert_int_equal(parts.units[0].from, midnight);
    assert_int_equal(parts.units[0].to, midnight + 3 * VV_DAY);
    assert_int_equal(parts.units[3].from, midnight + 4 * VV_DAY);
    assert_int_equal(parts.units[3].to, midnight + 6 * VV_DAY);
    assert_int_equal(parts.values, world.n);
    assert_int_equal(marks_of(&world).volumes, 0);
    assert_int_equal(marks_of(&world).others, 0);
    world_deinit(&world);
}

static void a_record_that_is_built_again_takes_its_volume_away(void **state)
{
    (void)state;
    struct world world;
    uint32_t source = begin_sealed(&world);
    write_point(&world, source, 0, midnight + VV_DAY + 1, 1000);
    flush(&world);
    vv_sim_clock_advance(&world.p.clock, 10 * VV_SECOND);
    seal_due(&world);
    assert_int_equal(find_parts(&world, source).n, 0);
    assert_int_equal(marks_of(&world).volumes, 1);
    assert_int_equal(marks_of(&world).others, 0);
    vv_sim_clock_advance(&world.p.clock, PIPELINE_VOLUMES_AFTER_NS);
    seal_due(&world);
    struct parts parts = find_parts(&world, source);
    assert_int_equal(parts.n, 2);
    assert_int_equal(parts.values, world.n);
    assert_int_equal(marks_of(&world).volumes, 0);
    world_deinit(&world);
}

static void an_open_bucket_has_no_volume(void **state)
{
    (void)state;
    struct world world;
    uint32_t source = begin(&world);
    fill_days(&world, source, 0, 0, 2);
    advance_to(&world, midnight + 10 * VV_DAY);
    seal_all(&world);
    seal_due(&world);
    assert_int_equal(find_parts(&world, source).n, 0);
    assert_int_equal(marks_of(&world).volumes, 1);
    advance_to(&world, midnight + 40 * VV_DAY);
    seal_due(&world);
    assert_int_equal(find_parts(&world, source).n, 1);
    world_deinit(&world);
}

/* What is made of the mark now: parts with bytes, or the one that says that there is none. */
static size_t make(struct world *world, uint32_t source)
{
    const struct vv_span_key key = volume_of(world, source);
    const struct vv_mark mark = {.key = key, .span_ns = BUCKET};
    struct vv_piece_list blocks = {0};
    struct vv_rollup *rollup;
    assert_int_equal(vv_rollup_create(0, &rollup), VV_OK);
    assert_int_equal(vv_volume_make(world->p.store, &mark, rollup, 1, &blocks, NULL), VV_OK);
    size_t n = blocks.items[0].bytes.size > 0 ? blocks.n : 0;
    assert_true(n > 0 || blocks.n == 1);
    vv_piece_list_deinit(&blocks);
    vv_rollup_destroy(rollup);
    return n;
}

static void nothing_stale_is_in_a_volume(void **state)
{
    (void)state;
    struct world world;
    uint32_t source = begin_sealed(&world);
    assert_int_equal(make(&world, source), 2);
    write_point(&world, source, 0, midnight + VV_DAY + 1, 1000);
    flush(&world); /* its hours are stale from now on */
    assert_int_equal(make(&world, source), 0);
    seal_all(&world);
    assert_int_equal(make(&world, source), 2);
    world_deinit(&world);
}

static void records_of_rows_have_no_volume(void **state)
{
    (void)state;
    struct world world;
    uint32_t source = begin(&world);
    fill_days(&world, source, 0, 0, 2);
    write_point(&world, source, 0, midnight + 2 * VV_DAY, 1);
    flush(&world);
    advance_to(&world, midnight + 50 * VV_DAY);
    seal_all(&world);
    assert_int_equal(find_parts(&world, source).n, 0);
    assert_int_equal(marks_of(&world).volumes, 0);
    world_deinit(&world);
}

/* Such that the head and the block are good, but no chunk can be made of it: nothing is an error.
 */
static void what_cannot_be_put_together_has_no_volume(void **state)
{
    (void)state;
    struct world world;
    uint32_t source = begin_sealed(&world);
    struct pipeline *p = &world.p;
    int64_t start = midnight + VV_HOUR / 2; /* a step that is none of the tier's */
    int64_t last = start + VV_HOUR - 1;
    uint64_t value = 1;
    struct vv_step step = {0};
    vv_step_add(VV_INT64, VV_STEP_ALL, &step, &start, &value, 1);
    vv_step_add(VV_INT64, VV_STEP_ALL, &step, &last, &value, 1);
    const struct vv_chunk_metric metric = {
        .metric = p->metrics[0], .type = VV_INT64, .steps = &step};
    const struct vv_chunk_content content = {
        .step_ns = VV_HOUR, .n_steps = 1, .starts = &start, .n_metrics = 1, .metrics = &metric};
    const struct vv_unit unit = {midnight, midnight + VV_DAY};
    struct vv_buffer bytes = {0};
    vv_unit_write(&bytes, VV_UNIT_STEPS, &unit);
    assert_int_equal(vv_chunk_encode(&content, 1, &bytes, NULL), VV_OK);
    struct vv_span_key key = volume_of(&world, source);
    key.partition.split = 0;
    key.span_start = midnight;
    const struct vv_piece odd = {.kind = VV_PIECE_BLOCK,
                                 .key = key,
                                 .version = VV_VERSION_NONE,
                                 .bytes = {(char *)bytes.data, bytes.size}};
    assert_int_equal(p->store->ops->put_blocks(p->store, &odd, 1, NULL), VV_OK);
    assert_int_equal(make(&world, source), 0);
    bytes.data[bytes.size - 1] ^= 1;
    assert_int_equal(p->store->ops->put_blocks(p->store, &odd, 1, NULL), VV_OK);
    assert_int_equal(make(&world, source), 0);
    vv_buffer_deinit(&bytes);
    world_deinit(&world);
}

/* Where a record can't be read nothing is taken out of it; the volume has what was deleted, too. */
static void what_is_deleted_is_in_no_volume_and_it_is_made_again(void **state)
{
    (void)state;
    for (int is_damaged = 0; is_damaged < 2; is_damaged++) {
        struct world world;
        uint32_t source = begin_sealed(&world);
        struct pipeline *p = &world.p;
        struct vv_span_key key = volume_of(&world, source);
        struct vv_reroll *reroll;
        struct vv_cut_figures figures = {0};
        struct vv_reroll_bounds bounds = {.raw_from = VV_TIME_MIN, .heard_until = INT64_MAX};
        const struct vv_reroll_options options = {.registry = p->registry,
                                                  .store = p->store,
                                                  .deletions = p->deletions,
                                                  .makes_volumes = true,
                                                  .block_bytes_max = 1 << 20,
                                                  .percentile_error = 0.01};
        const struct vv_cut cut = {.place = p->tenant,
                                   .source = source,
                                   .measurement = p->measurement,
                                   .metric = VV_ROLLUP_ALL_METRICS,
                                   .from = midnight,
                                   .to = midnight + VV_DAY / 2,
                                   .before = INT64_MAX};
        key.partition.split = 0;
        key.span_start = midnight;
        const struct vv_piece bad = {.kind = VV_PIECE_BLOCK,
                                     .key = key,
                                     .version = VV_VERSION_NONE,
                                     .bytes = VV_STR_LITERAL("VU, but no record")};
        if (is_damaged) {
            assert_int_equal(p->store->ops->put_blocks(p->store, &bad, 1, NULL), VV_OK);
        }
        assert_int_equal(vv_reroll_create(&options, &reroll), VV_OK);
        assert_int_equal(find_parts(&world, source).n, 2);
        assert_int_equal(vv_cut_bucket(reroll, VV_SPACE_HOUR, &cut, key.partition.bucket_start,
                                       &bounds, midnight + 50 * VV_DAY, &figures, NULL),
                         VV_OK);
        assert_int_equal(figures.damaged, is_damaged);
        assert_int_equal(find_parts(&world, source).n, 0);
        assert_int_equal(marks_of(&world).volumes, !is_damaged);
        vv_sim_clock_advance(&p->clock, PIPELINE_VOLUMES_AFTER_NS);
        seal_due(&world);
        struct parts parts = find_parts(&world, source);
        assert_int_equal(parts.n, is_damaged ? 0 : 2);
        assert_int_equal(parts.values, is_damaged ? 0 : world.n - world.n / 4);
        assert_int_equal(marks_of(&world).volumes, 0);
        vv_reroll_destroy(reroll);
        world_deinit(&world);
    }
}

/* Whatever is put in the place of a record, and be it nothing. */
static void who_puts_a_record_removes_the_volume(void **state)
{
    (void)state;
    struct world world;
    uint32_t source = begin_sealed(&world);
    struct pipeline *p = &world.p;
    struct vv_span_key volume = volume_of(&world, source);
    struct vv_piece none = {.kind = VV_PIECE_BLOCK, .key = volume, .version = VV_VERSION_NONE};
    struct vv_piece_list list = {0};
    const struct vv_volumes volumes = {.registry = p->registry, .store = p->store};
    none.key.partition.split = 0;
    none.key.span_start = midnight + VV_DAY;
    none.key.measurement++; /* another measurement */
    assert_true(vv_piece_list_add(&list, &none, false));
    none.key.measurement--;
    none.key.partition.bucket_start += BUCKET; /* another bucket */
    none.key.span_start += BUCKET;
    assert_true(vv_piece_list_add(&list, &none, false));
    assert_int_equal(vv_volumes_put(&volumes, &list, NULL), VV_OK);
    assert_int_equal(find_parts(&world, source).n, 2);
    none.key.partition.bucket_start -= BUCKET;
    none.key.span_start -= BUCKET;
    assert_true(vv_piece_list_add(&list, &none, false));
    assert_int_equal(vv_volumes_put(&volumes, &list, NULL), VV_OK);
    assert_int_equal(list.n, 3); /* the list is as it was */
    assert_int_equal(find_parts(&world, source).n, 0);
    vv_piece_list_deinit(&list);
    world_deinit(&world);
}

static void without_memory_there_is_no_volume_and_it_is_told(void **state)
{
    (void)state;
    struct world world;
    uint32_t source = begin_sealed(&world);
    const struct vv_mark mark = {.key = volume_of(&world, source), .span_ns = BUCKET};
    bool failed = true;
    struct vv_rollup *rollup;
    assert_int_equal(vv_rollup_create(0, &rollup), VV_OK);
    for (uint64_t k = 1; failed; k++) {
        struct vv_piece_list blocks = {0};
        vv_sim_memory_fail(k);
        enum vv_status status = vv_volume_make(world.p.store, &mark, rollup, 1, &blocks, NULL);
        failed = vv_sim_memory_failed();
        vv_sim_memory_fail(0);
        assert_true(status == VV_OK || (failed && status == VV_NO_MEMORY));
        assert_true(status != VV_OK || blocks.n == 2);
        vv_piece_list_deinit(&blocks);
    }
    vv_rollup_destroy(rollup);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_volume_has_what_its_records_have),
        cmocka_unit_test(a_record_that_is_built_again_takes_its_volume_away),
        cmocka_unit_test(an_open_bucket_has_no_volume),
        cmocka_unit_test(nothing_stale_is_in_a_volume),
        cmocka_unit_test(records_of_rows_have_no_volume),
        cmocka_unit_test(what_cannot_be_put_together_has_no_volume),
        cmocka_unit_test(what_is_deleted_is_in_no_volume_and_it_is_made_again),
        cmocka_unit_test(who_puts_a_record_removes_the_volume),
        cmocka_unit_test(without_memory_there_is_no_volume_and_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
