/* SPDX-License-Identifier: Apache-2.0 */
/* Records of units under the numbers of another node. */
#include "tier/record_metrics.h"

#include "base/clock.h"
#include "codec/block.h"
#include "tier/chunk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define START   (INT64_C(1700006400) * VV_SECOND)
#define STEPS   3
#define METRICS 3

static const struct vv_unit unit = {START, START + VV_HOUR};
static const uint32_t theirs[METRICS] = {70000, 3, 900};
static const uint32_t ours[METRICS] = {1, 2000000, 5};

struct world {
    int64_t starts[STEPS];
    struct vv_step steps[METRICS][STEPS];
    struct vv_sketch sketches[METRICS][STEPS];
    struct vv_chunk_metric metrics[METRICS];
};

static enum vv_value_type type_of(size_t metric)
{
    return metric == 1 ? VV_FLOAT64 : VV_INT64;
}

static void fill(struct world *world)
{
    for (size_t m = 0; m < METRICS; m++) {
        world->metrics[m] = (struct vv_chunk_metric){.metric = theirs[m],
                                                     .type = type_of(m),
                                                     .steps = world->steps[m],
                                                     .sketches = world->sketches[m]};
        for (size_t i = 0; i < STEPS; i++) {
            world->starts[i] = START + (int64_t)i * VV_MINUTE;
            (void)vv_sketch_init(&world->sketches[m][i], 0);
            if ((m + i) % 3 == 2) {
                continue; /* no values */
            }
            int64_t time = world->starts[i] + 1;
            /* Of metric 2 sums need 128 bits. */
            uint64_t value = m == 2 ? (uint64_t)INT64_MAX : 7 + m + i;
            for (int n = 0; n < 2; n++) {
                vv_step_add(type_of(m), VV_STEP_ALL, &world->steps[m][i], &time, &value, 1);
                assert_true(vv_sketch_add(&world->sketches[m][i], (double)value, 1));
                time++;
            }
        }
    }
}

static void write_steps(struct vv_buffer *out)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    fill(world);
    const struct vv_chunk_content content = {.step_ns = VV_MINUTE,
                                             .n_steps = STEPS,
                                             .starts = world->starts,
                                             .n_metrics = METRICS,
                                             .metrics = world->metrics};
    vv_unit_write(out, VV_UNIT_STEPS, &unit);
    assert_int_equal(vv_chunk_encode(&content, 1, out, NULL), VV_OK);
    for (size_t i = 0; i < METRICS * STEPS; i++) {
        vv_sketch_deinit(&world->sketches[i / STEPS][i % STEPS]);
    }
    free(world);
}

static void write_rows(struct vv_buffer *out)
{
    uint8_t bytes[1024];
    size_t size;
    int64_t times[2] = {START, START + 5};
    uint64_t stamps[2] = {1, 2};
    uint64_t values[2] = {10, 11};
    struct vv_column columns[METRICS];
    for (size_t i = 0; i < METRICS; i++) {
        columns[i] = (struct vv_column){.metric = theirs[i], .type = VV_INT64, .values = values};
    }
    const struct vv_rows rows = {
        .n_rows = 2, .times = times, .stamps = stamps, .n_columns = METRICS, .columns = columns};
    const struct vv_block_options options = {0};
    assert_int_equal(vv_block_encode(&rows, &options, bytes, sizeof bytes, &size), VV_BLOCK_OK);
    vv_unit_write(out, VV_UNIT_ROWS, &unit);
    vv_buffer_append(out, bytes, size);
}

static struct vv_str str(const struct vv_buffer *buffer)
{
    return (struct vv_str){(const char *)buffer->data, buffer->size};
}

static void assert_metrics(const struct vv_buffer *record, const uint32_t *expected)
{
    struct vv_buffer numbers = {0};
    assert_true(vv_record_is(str(record)));
    assert_int_equal(vv_record_metrics(str(record), &numbers), VV_OK);
    assert_int_equal(numbers.size, METRICS * sizeof *expected);
    assert_memory_equal(numbers.data, expected, numbers.size);
    vv_buffer_deinit(&numbers);
}

/* All that the chunk says of a metric but for its number. */
static void assert_same_steps(struct vv_str a, struct vv_str b)
{
    struct vv_chunk chunks[2];
    int64_t starts[2][STEPS];
    struct vv_step steps[2][STEPS];
    struct vv_sketch sketches[2][STEPS];
    assert_int_equal(vv_chunk_open(a, &chunks[0], NULL), VV_OK);
    assert_int_equal(vv_chunk_open(b, &chunks[1], NULL), VV_OK);
    assert_int_equal(chunks[1].n_metrics, METRICS);
    for (uint32_t m = 0; m < METRICS; m++) {
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(vv_chunk_starts(&chunks[i], starts[i], NULL), VV_OK);
            assert_int_equal(vv_chunk_steps(&chunks[i], m, starts[i], steps[i], NULL), VV_OK);
            assert_int_equal(vv_chunk_sketches(&chunks[i], m, steps[i], sketches[i], NULL), VV_OK);
        }
        assert_memory_equal(starts[0], starts[1], sizeof starts[0]);
        assert_memory_equal(steps[0], steps[1], sizeof steps[0]);
        for (size_t i = 0; i < STEPS; i++) {
            assert_int_equal(vv_sketch_count(&sketches[0][i]), vv_sketch_count(&sketches[1][i]));
            vv_sketch_deinit(&sketches[0][i]);
            vv_sketch_deinit(&sketches[1][i]);
        }
    }
}

static void steps_get_other_numbers_and_stay_as_they_are(void **state)
{
    struct vv_buffer record = {0};
    struct vv_buffer other = {0};
    struct vv_unit_record before;
    struct vv_unit_record after;
    (void)state;
    write_steps(&record);
    assert_metrics(&record, theirs);
    assert_int_equal(vv_record_renumber(str(&record), ours, METRICS, &other), VV_OK);
    assert_metrics(&other, ours);
    assert_int_equal(vv_unit_read(str(&record), &before, NULL), VV_OK);
    assert_int_equal(vv_unit_read(str(&other), &after, NULL), VV_OK);
    assert_int_equal(after.kind, VV_UNIT_STEPS);
    assert_int_equal(after.unit.from, unit.from);
    assert_int_equal(after.unit.to, unit.to);
    assert_same_steps(before.content, after.content);
    vv_buffer_deinit(&record);
    vv_buffer_deinit(&other);
}

static void rows_get_other_numbers(void **state)
{
    struct vv_buffer record = {0};
    struct vv_buffer other = {0};
    (void)state;
    write_rows(&record);
    assert_metrics(&record, theirs);
    assert_int_equal(vv_record_renumber(str(&record), ours, METRICS, &other), VV_OK);
    assert_metrics(&other, ours);
    vv_buffer_deinit(&record);
    vv_buffer_deinit(&other);
}

static void what_is_stale_has_no_metrics(void **state)
{
    struct vv_buffer record = {0};
    struct vv_buffer other = {0};
    (void)state;
    vv_unit_write(&record, VV_UNIT_STALE, &unit);
    assert_int_equal(vv_record_metrics(str(&record), &other), VV_OK);
    assert_int_equal(other.size, 0);
    assert_int_equal(vv_record_renumber(str(&record), ours, 0, &other), VV_OK);
    assert_int_equal(other.size, record.size);
    assert_memory_equal(other.data, record.data, record.size);
    vv_buffer_deinit(&record);
    vv_buffer_deinit(&other);
}

static void damage_and_another_count_are_told(void **state)
{
    struct vv_buffer record = {0};
    struct vv_buffer other = {0};
    (void)state;
    write_steps(&record);
    assert_int_equal(vv_record_renumber(str(&record), ours, METRICS - 1, &other), VV_CORRUPT);
    struct vv_unit_record whole;
    struct vv_chunk_head head;
    assert_int_equal(vv_unit_read(str(&record), &whole, NULL), VV_OK);
    assert_int_equal(vv_chunk_look(whole.content, &head, NULL), VV_OK);
    /* Behind the record's head, which has no checksum; sketches are their reader's matter. */
    size_t end = record.size - whole.content.size + head.steps_size;
    for (size_t i = 20; i < end; i++) {
        record.data[i] ^= 0x10;
        vv_buffer_clear(&other);
        enum vv_status status = vv_record_renumber(str(&record), ours, METRICS, &other);
        assert_true(status == VV_CORRUPT || status == VV_NEWER);
        record.data[i] ^= 0x10;
    }
    for (size_t size = 0; size < record.size; size++) {
        struct vv_str cut = {(char *)record.data, size};
        vv_buffer_clear(&other);
        assert_int_equal(vv_record_metrics(cut, &other) == VV_OK, size == end);
        assert_int_equal(vv_record_head_size(cut), 0);
    }
    assert_int_equal(vv_record_head_size(str(&record)), end);
    assert_false(vv_record_is(VV_STR_LITERAL("VB")));
    vv_buffer_deinit(&record);
    vv_buffer_deinit(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_get_other_numbers_and_stay_as_they_are),
        cmocka_unit_test(rows_get_other_numbers),
        cmocka_unit_test(what_is_stale_has_no_metrics),
        cmocka_unit_test(damage_and_another_count_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
