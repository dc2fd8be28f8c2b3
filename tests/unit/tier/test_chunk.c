/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: what is put in comes out; damage is told. */
#include "tier/chunk.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/random.h"
#include "simulation/sim_memory.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include <cmocka.h>

#define SEED    91
#define STEPS   40
#define METRICS 5
#define START   (INT64_C(1700000000) * VV_SECOND)

struct world {
    int64_t starts[STEPS];
    struct vv_step steps[METRICS][STEPS];
    struct vv_sketch sketches[METRICS][STEPS];
    struct vv_chunk_metric metrics[METRICS];
    struct vv_chunk_content content;
};

static uint64_t random_value(struct vv_random *random, const struct vv_chunk_metric *metric)
{
    if (metric->type == VV_INT64) { /* those of metric 13 have sums that need 128 bits */
        return metric->metric == 13 ? (uint64_t)INT64_MAX - vv_random_below(random, 99)
                                    : vv_random_below(random, 1000) - 300;
    }
    return vv_bits_of_double((double)(int64_t)vv_random_below(random, 2000) / 10 - 50);
}

static void fill_step(struct vv_random *random, struct world *world, size_t m, size_t i)
{
    const struct vv_chunk_metric *metric = &world->metrics[m];
    size_t n = vv_random_below(random, 3) == 0 ? 0 : 1 + vv_random_below(random, 60);
    for (size_t j = 0; j < n; j++) {
        int64_t time = world->starts[i] + (int64_t)j * VV_SECOND;
        uint64_t value = random_value(random, metric);
        double real = metric->type == VV_INT64 ? (double)(int64_t)value : vv_bits_double(value);
        vv_step_add(metric->type, VV_STEP_ALL, &world->steps[m][i], &time, &value, 1);
        assert_true(vv_sketch_add(&world->sketches[m][i], real, 1));
    }
}

static struct world *make_world(struct vv_random *random, bool with_sketches)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    size_t n_steps = 1 + vv_random_below(random, STEPS);
    size_t n_metrics = 1 + vv_random_below(random, METRICS);
    for (size_t i = 0; i < n_steps; i++) {
        int64_t gap = vv_random_below(random, 5) == 0 ? VV_HOUR : VV_MINUTE;
        world->starts[i] = i == 0 ? START : world->starts[i - 1] + gap;
    }
    for (size_t m = 0; m < n_metrics; m++) {
        world->metrics[m] =
            (struct vv_chunk_metric){.metric = 10 + (uint32_t)m,
                                     .type = m % 2 ? VV_INT64 : VV_FLOAT64,
                                     .steps = world->steps[m],
                                     .sketches = with_sketches ? world->sketches[m] : NULL};
        for (size_t i = 0; i < n_steps; i++) {
            (void)vv_sketch_init(&world->sketches[m][i], 0);
            fill_step(random, world, m, i);
        }
    }
    world->content = (struct vv_chunk_content){.step_ns = VV_MINUTE,
                                               .n_steps = n_steps,
                                               .starts = world->starts,
                                               .n_metrics = n_metrics,
                                               .metrics = world->metrics};
    return world;
}

static void free_world(struct world *world)
{
    for (size_t m = 0; m < world->content.n_metrics; m++) {
        for (size_t i = 0; i < world->content.n_steps; i++) {
            vv_sketch_deinit(&world->sketches[m][i]);
        }
    }
    free(world);
}

static struct vv_str bytes_of(const struct vv_buffer *buffer)
{
    return (struct vv_str){(char *)buffer->data, buffer->size};
}

/* ---- comparing ---- */

static void assert_step(enum vv_value_type type, const struct vv_step *found,
                        const struct vv_step *wanted)
{
    assert_int_equal(found->count, wanted->count);
    if (wanted->count == 0) {
        return;
    }
    assert_int_equal(found->first_time, wanted->first_time);
    assert_int_equal(found->last_time, wanted->last_time);
    assert_int_equal(found->first, wanted->first);
    assert_int_equal(found->last, wanted->last);
    assert_int_equal(found->min, wanted->min);
    assert_int_equal(found->max, wanted->max);
    assert_true(fabs(found->squares - wanted->squares) <= 1e-12 * wanted->squares);
    union vv_total x = vv_step_sum(type, found);
    union vv_total y = vv_step_sum(type, wanted);
    assert_true(type == VV_INT64 ? x.integer == y.integer : x.real == y.real);
}

static void assert_sketch(const struct vv_sketch *found, const struct vv_sketch *wanted)
{
    assert_int_equal(vv_sketch_count(found), vv_sketch_count(wanted));
    for (double q = 0; q <= 1 && vv_sketch_count(wanted) > 0; q += 0.25) {
        assert_true(vv_sketch_quantile(found, q) == vv_sketch_quantile(wanted, q));
    }
}

/* What is left of a step where only some parts are wanted. Moments are counted from the sum's mean.
 */
static struct vv_step only(const struct vv_step *whole, unsigned parts)
{
    struct vv_step step = {.count = whole->count};
    if (parts & (VV_STEP_SUM | VV_STEP_MOMENTS)) {
        step.sum = whole->sum;
    }
    if (parts & VV_STEP_BOUNDS) {
        step.min = whole->min;
        step.max = whole->max;
    }
    if (parts & VV_STEP_MOMENTS) {
        step.reference = whole->reference;
        step.mean = whole->mean;
        step.squares = whole->squares;
    }
    if (parts & VV_STEP_ENDS) {
        step.first_time = whole->first_time;
        step.last_time = whole->last_time;
        step.first = whole->first;
        step.last = whole->last;
    }
    return step;
}

static bool equal_steps(const struct vv_step *a, const struct vv_step *b)
{
    return a->count == b->count && a->first_time == b->first_time && a->last_time == b->last_time &&
           a->first == b->first && a->last == b->last && a->min == b->min && a->max == b->max &&
           a->sum.integer == b->sum.integer && a->reference == b->reference && a->mean == b->mean &&
           a->squares == b->squares;
}

static void assert_parts(const struct vv_chunk *chunk, uint32_t m, const int64_t *starts,
                         const struct vv_step *whole)
{
    for (unsigned parts = 0; parts <= VV_STEP_ALL; parts++) {
        struct vv_step steps[STEPS];
        memset(steps, 0xab, sizeof steps);
        assert_int_equal(vv_chunk_step_parts(chunk, m, starts, parts, steps, NULL), VV_OK);
        for (uint32_t i = 0; i < chunk->n_steps; i++) {
            struct vv_step wanted = only(&whole[i], parts);
            assert_true(equal_steps(&steps[i], &wanted));
        }
    }
}

static void assert_found(const struct vv_chunk *chunk, uint32_t m, uint32_t metric,
                         enum vv_value_type type)
{
    uint32_t index;
    enum vv_value_type found;
    assert_true(vv_chunk_find(chunk, metric, &index, &found));
    assert_int_equal(index, m);
    assert_int_equal(found, type);
    assert_false(vv_chunk_find(chunk, 10 + chunk->n_metrics, &index, &found));
}

struct visiting {
    const struct vv_chunk_metric *wanted;
    uint32_t next; /* step that may come */
    uint64_t values;
};

static enum vv_status visit_sketch(void *context, uint32_t step, const struct vv_sketch *sketch)
{
    struct visiting *visiting = context;
    assert_true(step >= visiting->next);
    assert_sketch(sketch, &visiting->wanted->sketches[step]);
    visiting->next = step + 1;
    visiting->values += vv_sketch_count(sketch);
    return VV_OK;
}

static enum vv_status refuse_sketch(void *context, uint32_t step, const struct vv_sketch *sketch)
{
    (void)sketch;
    (void)step;
    (*(uint32_t *)context)++;
    return VV_OVERLOAD;
}

static void assert_visited(const struct vv_chunk *chunk, uint32_t m, const struct vv_step *steps,
                           const struct vv_chunk_metric *wanted)
{
    struct visiting visiting = {.wanted = wanted};
    uint32_t n_refused = 0;
    uint64_t values = 0;
    enum vv_status status = vv_chunk_visit_sketches(chunk, m, steps, visit_sketch, &visiting, NULL);
    assert_int_equal(status, chunk->has_sketches ? VV_OK : VV_INVALID);
    for (uint32_t i = 0; i < chunk->n_steps && chunk->has_sketches; i++) {
        values += steps[i].count;
    }
    assert_int_equal(visiting.values, values);
    if (values > 0) {
        status = vv_chunk_visit_sketches(chunk, m, steps, refuse_sketch, &n_refused, NULL);
        assert_int_equal(status, VV_OVERLOAD);
        assert_int_equal(n_refused, 1);
    }
}

static void assert_metric(const struct vv_chunk *chunk, uint32_t m, const struct world *world)
{
    struct vv_step steps[STEPS];
    struct vv_sketch sketches[STEPS];
    int64_t starts[STEPS];
    uint32_t metric;
    enum vv_value_type type;
    const struct vv_chunk_metric *wanted = &world->metrics[m];
    assert_int_equal(vv_chunk_metric(chunk, m, &metric, &type, NULL), VV_OK);
    assert_int_equal(metric, wanted->metric);
    assert_int_equal(type, wanted->type);
    assert_true(!chunk->has_sketches || wanted->sketches);
    assert_int_equal(vv_chunk_starts(chunk, starts, NULL), VV_OK);
    assert_memory_equal(starts, world->starts, chunk->n_steps * sizeof *starts);
    assert_int_equal(vv_chunk_steps(chunk, m, starts, steps, NULL), VV_OK);
    for (uint32_t i = 0; i < chunk->n_steps; i++) {
        assert_step(type, &steps[i], &wanted->steps[i]);
    }
    assert_parts(chunk, m, starts, steps);
    assert_found(chunk, m, metric, type);
    enum vv_status status = vv_chunk_sketches(chunk, m, steps, sketches, NULL);
    assert_int_equal(status, chunk->has_sketches ? VV_OK : VV_INVALID);
    for (uint32_t i = 0; i < chunk->n_steps && status == VV_OK; i++) {
        assert_sketch(&sketches[i], &wanted->sketches[i]);
        vv_sketch_deinit(&sketches[i]);
    }
    assert_visited(chunk, m, steps, wanted);
}

static void what_is_put_in_comes_out(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 300; round++) {
        struct world *world = make_world(&random, round % 3 > 0);
        struct vv_buffer buffer = {0};
        struct vv_chunk chunk;
        vv_buffer_u8(&buffer, 7); /* what was there stays */
        assert_int_equal(vv_chunk_encode(&world->content, round % 2 * 3, &buffer, NULL), VV_OK);
        assert_int_equal(buffer.data[0], 7);
        struct vv_str bytes = {(char *)buffer.data + 1, buffer.size - 1};
        assert_int_equal(vv_chunk_open(bytes, &chunk, NULL), VV_OK);
        assert_int_equal(chunk.n_steps, world->content.n_steps);
        assert_int_equal(chunk.n_metrics, world->content.n_metrics);
        assert_int_equal(chunk.step_ns, VV_MINUTE);
        for (uint32_t m = 0; m < chunk.n_metrics; m++) {
            assert_metric(&chunk, m, world);
        }
        vv_buffer_deinit(&buffer);
        free_world(world);
    }
}

/* Steps from a chunk go on being merged as those from points are. */
static void steps_of_a_chunk_can_be_merged(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 1};
    for (int round = 0; round < 50; round++) {
        struct world *world = make_world(&random, false);
        struct vv_buffer buffer = {0};
        struct vv_chunk chunk;
        struct vv_step steps[STEPS];
        assert_int_equal(vv_chunk_encode(&world->content, 1, &buffer, NULL), VV_OK);
        assert_int_equal(vv_chunk_open(bytes_of(&buffer), &chunk, NULL), VV_OK);
        for (uint32_t m = 0; m < chunk.n_metrics; m++) {
            enum vv_value_type type = world->metrics[m].type;
            struct vv_step found = {0};
            struct vv_step wanted = {0};
            assert_int_equal(vv_chunk_steps(&chunk, m, world->starts, steps, NULL), VV_OK);
            for (uint32_t i = 0; i < chunk.n_steps; i++) {
                vv_step_merge(type, VV_STEP_ALL, &found, &steps[i]);
                vv_step_merge(type, VV_STEP_ALL, &wanted, &world->steps[m][i]);
            }
            assert_int_equal(found.count, wanted.count);
            if (wanted.count > 1) {
                double deviation = vv_step_stddev(&wanted);
                assert_true(fabs(vv_step_stddev(&found) - deviation) <= 1e-9 * deviation);
                double mean = vv_step_mean(type, &wanted);
                assert_true(fabs(vv_step_mean(type, &found) - mean) <= 1e-12 * fabs(mean) + 1e-12);
            }
        }
        vv_buffer_deinit(&buffer);
        free_world(world);
    }
}

/* ---- damage ---- */

/* Damage of a version, of which there are two, is told as a newer one. */
static size_t assert_damage_is_told(struct vv_buffer *buffer, size_t steps_size, size_t at)
{
    struct vv_chunk chunk;
    buffer->data[at] ^= 0x10;
    enum vv_status told = vv_chunk_open(bytes_of(buffer), &chunk, NULL);
    assert_true(told == VV_CORRUPT || told == VV_NEWER);
    assert_int_equal(vv_chunk_open_steps(bytes_of(buffer), &chunk, NULL),
                     at < steps_size ? told : VV_OK);
    buffer->data[at] ^= 0x10;
    return told == VV_NEWER;
}

static void any_damaged_byte_is_told(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 2};
    struct world *world = make_world(&random, true);
    struct vv_buffer buffer = {0};
    struct vv_chunk chunk;
    struct vv_chunk_head head;
    struct vv_chunk_head head_of_cut;
    assert_int_equal(vv_chunk_encode(&world->content, 1, &buffer, NULL), VV_OK);
    assert_int_equal(vv_chunk_look(bytes_of(&buffer), &head, NULL), VV_OK);
    size_t newer = 0;
    for (size_t i = 0; i < buffer.size; i++) {
        newer += assert_damage_is_told(&buffer, head.steps_size, i);
    }
    assert_int_equal(newer, 2);
    for (size_t size = 0; size < buffer.size; size++) {
        struct vv_str cut = {(char *)buffer.data, size};
        assert_int_equal(vv_chunk_open(cut, &chunk, NULL), VV_CORRUPT);
        assert_int_equal(vv_chunk_look(cut, &head_of_cut, NULL),
                         size == head.steps_size ? VV_OK : VV_CORRUPT);
        assert_false(head_of_cut.has_sketches);
        assert_int_equal(vv_chunk_open_steps(cut, &chunk, NULL),
                         size < head.steps_size ? VV_CORRUPT : VV_OK);
    }
    assert_int_equal(vv_chunk_open(bytes_of(&buffer), &chunk, NULL), VV_OK);
    vv_buffer_deinit(&buffer);
    free_world(world);
}

static void steps_are_read_without_their_sketches(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 5};
    for (int has_sketches = 0; has_sketches < 2; has_sketches++) {
        struct world *world = make_world(&random, has_sketches);
        struct vv_buffer buffer = {0};
        struct vv_chunk chunk;
        struct vv_chunk_head head;
        assert_int_equal(vv_chunk_encode(&world->content, 1, &buffer, NULL), VV_OK);
        assert_int_equal(vv_chunk_look(bytes_of(&buffer), &head, NULL), VV_OK);
        assert_int_equal(head.has_sketches, has_sketches);
        assert_int_equal(head.step_ns, world->content.step_ns);
        assert_true(has_sketches ? head.steps_size < buffer.size : head.steps_size == buffer.size);
        struct vv_str first = {(char *)buffer.data, head.steps_size};
        assert_int_equal(vv_chunk_open_steps(first, &chunk, NULL), VV_OK);
        assert_false(chunk.has_sketches);
        assert_int_equal(chunk.n_metrics, world->content.n_metrics);
        for (uint32_t m = 0; m < chunk.n_metrics; m++) {
            assert_metric(&chunk, m, world);
        }
        vv_buffer_deinit(&buffer);
        free_world(world);
    }
}

/* Of two values of 0 and of 1 each: squares of 0.5 are those of integers, of 0.4 are not. */
static void encode_two(double squares, struct vv_buffer *buffer)
{
    struct vv_step step = {0};
    const int64_t times[] = {START, START + 1};
    const uint64_t values[] = {0, 1};
    vv_step_add(VV_INT64, VV_STEP_ALL, &step, times, values, 2);
    step.squares = squares;
    const struct vv_chunk_metric metric = {.metric = 1, .type = VV_INT64, .steps = &step};
    const int64_t start = START;
    const struct vv_chunk_content content = {
        .step_ns = VV_MINUTE, .n_steps = 1, .starts = &start, .n_metrics = 1, .metrics = &metric};
    assert_int_equal(vv_chunk_encode(&content, 1, buffer, NULL), VV_OK);
}

/* As if another program had written it: the head's checksum is right. */
static void set_version(struct vv_buffer *buffer, uint8_t version)
{
    struct vv_reader reader = vv_reader_of(buffer->data, buffer->size);
    struct vv_buffer checksum = {0};
    (void)vv_reader_u32(&reader); /* magic, version, flags */
    (void)vv_reader_varint(&reader);
    (void)vv_reader_bytes(&reader, vv_reader_varint(&reader));
    (void)vv_reader_varint(&reader);
    (void)vv_reader_varint(&reader);
    buffer->data[2] = version;
    vv_buffer_u64(&checksum, XXH3_64bits(buffer->data, reader.at));
    memcpy(buffer->data + reader.at, checksum.data, checksum.size);
    vv_buffer_deinit(&checksum);
}

static double squares_of(const struct vv_buffer *buffer)
{
    struct vv_chunk chunk;
    struct vv_step step;
    const int64_t start = START;
    assert_int_equal(vv_chunk_open(bytes_of(buffer), &chunk, NULL), VV_OK);
    assert_int_equal(vv_chunk_steps(&chunk, 0, &start, &step, NULL), VV_OK);
    return step.squares;
}

/* What an older program has written has squares as doubles, as what is not of integers. */
static void chunks_of_version_2_are_read(void **state)
{
    (void)state;
    struct vv_buffer whole = {0};
    struct vv_buffer real = {0};
    struct vv_chunk chunk;
    encode_two(0.5, &whole);
    encode_two(0.4, &real);
    assert_int_equal(whole.data[2], 3);
    assert_true(whole.size < real.size);
    assert_true(squares_of(&whole) == 0.5);
    assert_true(squares_of(&real) == 0.4);
    set_version(&real, 2);
    assert_true(squares_of(&real) == 0.4);
    set_version(&real, 1);
    assert_int_equal(vv_chunk_open(bytes_of(&real), &chunk, NULL), VV_CORRUPT);
    set_version(&real, 4);
    assert_int_equal(vv_chunk_open(bytes_of(&real), &chunk, NULL), VV_NEWER);
    vv_buffer_deinit(&whole);
    vv_buffer_deinit(&real);
}

static void what_no_chunk_can_hold_is_refused(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 3};
    struct world *world = make_world(&random, true);
    struct vv_buffer buffer = {0};
    int64_t minute_later = world->starts[0] + VV_MINUTE;
    uint64_t value = 0;
    struct vv_step outside = {0};
    struct vv_chunk_metric metric = {.metric = 1, .type = VV_INT64, .steps = &outside};
    vv_step_add(VV_INT64, VV_STEP_ALL, &outside, &minute_later, &value, 1);
    struct vv_chunk_content bad[] = {world->content, world->content, world->content,
                                     world->content};
    bad[0].n_steps = 0;
    bad[1].n_metrics = VV_CHUNK_METRICS_MAX + 1;
    bad[2].step_ns = 0;
    bad[3].n_steps = bad[3].n_metrics = 1;
    bad[3].metrics = &metric;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(vv_chunk_encode(&bad[i], 1, &buffer, NULL), VV_INVALID);
        assert_int_equal(buffer.size, 0);
    }
    vv_buffer_deinit(&buffer);
    free_world(world);
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    struct vv_random random = {SEED + 4};
    struct world *world = make_world(&random, true);
    struct vv_chunk chunk;
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vv_buffer buffer = {0};
        vv_sim_memory_fail(k);
        enum vv_status status = vv_chunk_encode(&world->content, 1, &buffer, NULL);
        failed = vv_sim_memory_failed();
        vv_sim_memory_fail(0);
        assert_true(status == VV_OK || (failed && status == VV_NO_MEMORY));
        assert_int_equal(vv_chunk_open(bytes_of(&buffer), &chunk, NULL),
                         status == VV_OK ? VV_OK : VV_CORRUPT); /* whole, or nothing */
        vv_buffer_deinit(&buffer);
    }
    struct vv_buffer buffer = {0};
    assert_int_equal(vv_chunk_encode(&world->content, 1, &buffer, NULL), VV_OK);
    assert_int_equal(vv_chunk_open(bytes_of(&buffer), &chunk, NULL), VV_OK);
    struct vv_step steps[STEPS];
    failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vv_sketch sketches[STEPS];
        vv_sim_memory_fail(k);
        enum vv_status status = vv_chunk_steps(&chunk, 0, world->starts, steps, NULL);
        if (status == VV_OK) {
            status = vv_chunk_sketches(&chunk, 0, steps, sketches, NULL);
        }
        failed = vv_sim_memory_failed();
        vv_sim_memory_fail(0);
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        for (uint32_t i = 0; i < chunk.n_steps && status == VV_OK; i++) {
            vv_sketch_deinit(&sketches[i]);
        }
    }
    assert_int_equal(vv_chunk_steps(&chunk, 0, world->starts, steps, NULL), VV_OK);
    failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct visiting visiting = {.wanted = &world->metrics[0]};
        vv_sim_memory_fail(k);
        enum vv_status status =
            vv_chunk_visit_sketches(&chunk, 0, steps, visit_sketch, &visiting, NULL);
        failed = vv_sim_memory_failed();
        vv_sim_memory_fail(0);
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
    }
    vv_buffer_deinit(&buffer);
    free_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_in_comes_out),
        cmocka_unit_test(steps_of_a_chunk_can_be_merged),
        cmocka_unit_test(any_damaged_byte_is_told),
        cmocka_unit_test(steps_are_read_without_their_sketches),
        cmocka_unit_test(chunks_of_version_2_are_read),
        cmocka_unit_test(what_no_chunk_can_hold_is_refused),
        cmocka_unit_test(memory_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
