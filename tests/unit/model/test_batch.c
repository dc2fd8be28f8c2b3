/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: building, the journal's form and back, damage, and allocations that fail. */
#include "model/batch.h"

#include "base/random.h"
#include "model/partition.h"
#include "simulation/sim_memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct vv_batch *batch_create(uint32_t tenant)
{
    struct vv_batch *batch = NULL;
    assert_int_equal(vv_batch_create(tenant, &batch), VV_OK);
    return batch;
}

static size_t frame_of(struct vv_batch *batch, uint32_t measurement, const uint32_t *metrics,
                       uint32_t n)
{
    size_t frame = SIZE_MAX;
    assert_int_equal(vv_batch_frame(batch, measurement, metrics, n, &frame), VV_OK);
    return frame;
}

static void add_row(struct vv_batch *batch, size_t frame, uint32_t source, int64_t time,
                    const uint64_t *values)
{
    assert_int_equal(vv_batch_row(batch, frame, source, time, values), VV_OK);
}

static void assert_frames_equal(const struct vv_frame *a, const struct vv_frame *b)
{
    assert_int_equal(a->measurement, b->measurement);
    assert_int_equal(a->n_metrics, b->n_metrics);
    assert_int_equal(a->n_rows, b->n_rows);
    assert_memory_equal(a->metrics, b->metrics, a->n_metrics * sizeof *a->metrics);
    assert_memory_equal(a->sources, b->sources, a->n_rows * sizeof *a->sources);
    assert_memory_equal(a->times, b->times, a->n_rows * sizeof *a->times);
    assert_memory_equal(a->values, b->values, a->n_rows * a->n_metrics * sizeof *a->values);
}

static struct vv_str encode(const struct vv_batch *batch, struct vv_buffer *buffer)
{
    vv_batch_encode(batch, buffer);
    assert_int_equal(vv_buffer_status(buffer), VV_OK);
    return (struct vv_str){(const char *)buffer->data, buffer->size};
}

/* Encodes, decodes, and compares all but frames without rows. Returns the encoded size. */
static size_t assert_round_trip(const struct vv_batch *batch)
{
    struct vv_buffer buffer = {0};
    struct vv_str bytes = encode(batch, &buffer);
    struct vv_batch *again = NULL;
    struct vv_error error = {0};
    assert_int_equal(vv_batch_decode(bytes, &again, &error), VV_OK);
    assert_int_equal(again->tenant, batch->tenant);
    assert_int_equal(again->points, batch->points);
    size_t filled = 0;
    for (size_t i = 0; i < batch->n_frames; i++) {
        if (batch->frames[i].n_rows) {
            assert_true(filled < again->n_frames);
            assert_frames_equal(&batch->frames[i], &again->frames[filled++]);
        }
    }
    assert_int_equal(again->n_frames, filled);
    vv_batch_destroy(again);
    size_t size = buffer.size;
    vv_buffer_deinit(&buffer);
    return size;
}

static void same_metrics_share_a_frame(void **state)
{
    (void)state;
    struct vv_batch *batch = batch_create(3);
    const uint32_t metrics[] = {7, 5, 9};
    const uint32_t other_order[] = {5, 7, 9};
    size_t a = frame_of(batch, 1, metrics, 3);
    size_t b = frame_of(batch, 1, other_order, 3);
    size_t c = frame_of(batch, 2, metrics, 3);
    size_t d = frame_of(batch, 1, metrics, 2);
    assert_true(a != b && a != c && a != d && b != c && b != d && c != d);
    assert_int_equal(frame_of(batch, 1, metrics, 3), a);
    assert_int_equal(frame_of(batch, 1, other_order, 3), b);
    assert_int_equal(frame_of(batch, 2, metrics, 3), c);
    assert_int_equal(frame_of(batch, 1, metrics, 2), d);
    assert_int_equal(batch->n_frames, 4);
    vv_batch_destroy(batch);
}

static void many_frames_are_found_again(void **state)
{
    (void)state;
    struct vv_batch *batch = batch_create(0);
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t metrics[] = {i, i + 1};
        frame_of(batch, i % 7, metrics, 2);
    }
    size_t made = batch->n_frames;
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t metrics[] = {i, i + 1};
        size_t frame = frame_of(batch, i % 7, metrics, 2);
        assert_int_equal(batch->frames[frame].metrics[0], i);
        assert_int_equal(batch->frames[frame].measurement, i % 7);
    }
    /* A few may have been given up on, and made twice; nearly all are found. */
    assert_in_range(batch->n_frames, made, made + 50);
    vv_batch_destroy(batch);
}

static void too_many_metrics_are_refused(void **state)
{
    (void)state;
    struct vv_batch *batch = batch_create(0);
    uint32_t *metrics = calloc(VV_FRAME_METRICS_MAX + 1, sizeof *metrics);
    assert_non_null(metrics);
    for (uint32_t i = 0; i <= VV_FRAME_METRICS_MAX; i++) {
        metrics[i] = i;
    }
    size_t frame = 0;
    assert_int_equal(vv_batch_frame(batch, 0, metrics, VV_FRAME_METRICS_MAX + 1, &frame),
                     VV_TOO_LARGE);
    assert_int_equal(vv_batch_frame(batch, 0, metrics, VV_FRAME_METRICS_MAX, &frame), VV_OK);
    uint64_t *values = calloc(VV_FRAME_METRICS_MAX, sizeof *values);
    assert_non_null(values);
    add_row(batch, frame, 1, 2, values);
    assert_round_trip(batch);
    free(values);
    free(metrics);
    vv_batch_destroy(batch);
}

static void rows_keep_their_order_and_bits(void **state)
{
    (void)state;
    struct vv_batch *batch = batch_create(UINT32_MAX - 1);
    const uint32_t metrics[] = {4, 2};
    size_t frame = frame_of(batch, 9, metrics, 2);
    frame_of(batch, 10, metrics, 1); /* stays empty */
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t values[] = {UINT64_C(0x7FF8000000000001) + i, UINT64_MAX - i};
        add_row(batch, frame, 1000 - i, (int64_t)i % 3, values);
    }
    assert_int_equal(batch->points, 2000);
    assert_int_equal(batch->frames[frame].sources[999], 1);
    assert_int_equal(batch->frames[frame].values[1999], UINT64_MAX - 999);
    assert_round_trip(batch);
    vv_batch_destroy(batch);
}

/* Rows of one measurement with changing fields, many for the same points: walking the frames in
 * order, the last value met of each (source, time, metric) is the one that was added last. */
static void a_later_row_never_stands_before_an_older_one_of_its_point(void **state)
{
    (void)state;
    static uint64_t expected[4][8][3];
    static uint64_t found[4][8][3];
    struct vv_random random = {42};
    struct vv_batch *batch;
    memset(expected, 0, sizeof expected);
    memset(found, 0, sizeof found);
    assert_int_equal(vv_batch_create(0, &batch), VV_OK);
    const uint32_t shapes[3][2] = {{0, 1}, {1, 2}, {2, 0}};
    for (uint64_t value = 1; value < 3000; value++) {
        const uint32_t *metrics = shapes[vv_random_below(&random, 3)];
        uint32_t source = (uint32_t)vv_random_below(&random, 4);
        int64_t time = (int64_t)vv_random_below(&random, 8);
        uint64_t values[2] = {value, value};
        size_t frame;
        assert_int_equal(vv_batch_frame(batch, 5, metrics, 2, &frame), VV_OK);
        assert_int_equal(vv_batch_row(batch, frame, source, time, values), VV_OK);
        expected[source][time][metrics[0]] = value;
        expected[source][time][metrics[1]] = value;
    }
    for (size_t f = 0; f < batch->n_frames; f++) {
        const struct vv_frame *frame = &batch->frames[f];
        for (size_t row = 0; row < frame->n_rows; row++) {
            for (size_t m = 0; m < 2; m++) {
                found[frame->sources[row]][frame->times[row]][frame->metrics[m]] =
                    frame->values[row * 2 + m];
            }
        }
    }
    assert_memory_equal(found, expected, sizeof found);
    assert_int_equal(batch->points, 2 * 2999);
    vv_batch_destroy(batch);
}

static void an_empty_batch_comes_back(void **state)
{
    (void)state;
    struct vv_batch *batch = batch_create(5);
    assert_int_equal(assert_round_trip(batch), 9);
    vv_batch_destroy(batch);
}

/* One frame of one metric and two rows whose sources and times differ by so much. */
static size_t encoded_size(uint32_t source, uint32_t sources_apart, int64_t time,
                           int64_t times_apart)
{
    struct vv_batch *batch = batch_create(0);
    const uint32_t metric = 1;
    const uint64_t value = 42;
    size_t frame = frame_of(batch, 0, &metric, 1);
    add_row(batch, frame, source + sources_apart, time, &value);
    add_row(batch, frame, source, time + times_apart, &value);
    size_t size = assert_round_trip(batch);
    vv_batch_destroy(batch);
    return size;
}

static void columns_take_the_width_they_need(void **state)
{
    (void)state;
    size_t base = 9 + 28 + 4 + 16;
    assert_int_equal(encoded_size(5, 0, 17, 0), base);
    assert_int_equal(encoded_size(5, 255, 17, 0), base + 2);
    assert_int_equal(encoded_size(5, 256, 17, 0), base + 4);
    assert_int_equal(encoded_size(5, 65536, 17, 0), base + 8);
    assert_int_equal(encoded_size(0, UINT32_MAX, 17, 0), base + 8);
    assert_int_equal(encoded_size(5, 0, 17, 255), base + 2);
    assert_int_equal(encoded_size(5, 0, 17, 256 * VV_SECOND), base + 4);
    assert_int_equal(encoded_size(5, 0, 17, 255 * VV_SECOND), base + 2);
    assert_int_equal(encoded_size(5, 0, 17, 65536 * VV_MILLISECOND + VV_SECOND), base + 8);
    assert_int_equal(encoded_size(5, 0, -17, 65535 * VV_MICROSECOND), base + 4);
    assert_int_equal(encoded_size(5, 0, 17, INT64_C(1) << 33), base + 16);
    assert_int_equal(encoded_size(5, 0, VV_TIME_MIN, VV_TIME_MAX), base + 16);
}

static void the_whole_range_of_time_fits(void **state)
{
    (void)state;
    struct vv_batch *batch = batch_create(0);
    const uint32_t metric = 1;
    const uint64_t value = 0;
    size_t frame = frame_of(batch, 0, &metric, 1);
    add_row(batch, frame, 0, VV_TIME_MIN, &value);
    add_row(batch, frame, UINT32_MAX - 1, VV_TIME_MAX, &value);
    add_row(batch, frame, 0, 1, &value);
    assert_round_trip(batch);
    vv_batch_destroy(batch);
}

static struct vv_batch *random_batch(struct vv_random *random)
{
    struct vv_batch *batch = batch_create((uint32_t)vv_random_below(random, 1000));
    size_t rows = vv_random_below(random, 400);
    uint64_t time_bits = vv_random_below(random, 60);
    static const int64_t units[] = {1, 1000, 1000000, 1000000000};
    int64_t unit = units[vv_random_below(random, 4)];
    for (size_t i = 0; i < rows; i++) {
        uint32_t metrics[8];
        uint64_t values[8];
        uint32_t n = 1 + (uint32_t)vv_random_below(random, 8);
        uint32_t first = (uint32_t)vv_random_below(random, 3);
        for (uint32_t k = 0; k < n; k++) {
            metrics[k] = 100 * first - k + 50;
            values[k] = vv_random_next(random);
        }
        size_t frame = frame_of(batch, (uint32_t)vv_random_below(random, 2), metrics, n);
        int64_t above = (int64_t)(vv_random_next(random) >> (63 - time_bits));
        above = above > VV_TIME_MAX / unit ? VV_TIME_MAX / unit : above;
        add_row(batch, frame, (uint32_t)vv_random_next(random) >> vv_random_below(random, 32),
                above * unit, values);
    }
    return batch;
}

static void random_batches_come_back(void **state)
{
    (void)state;
    const uint64_t seed = 20240501;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    for (int i = 0; i < 300; i++) {
        struct vv_batch *batch = random_batch(&random);
        assert_round_trip(batch);
        vv_batch_destroy(batch);
    }
}

static void damage_is_found_or_harmless(void **state)
{
    (void)state;
    const uint64_t seed = 77;
    print_message("seed %llu\n", (unsigned long long)seed);
    struct vv_random random = {seed};
    for (int i = 0; i < 40; i++) {
        struct vv_batch *batch = random_batch(&random);
        struct vv_buffer buffer = {0};
        struct vv_str bytes = encode(batch, &buffer);
        for (size_t cut = 0; cut < bytes.size; cut += 1 + cut / 50) {
            struct vv_batch *again = NULL;
            char *part = malloc(cut ? cut : 1);
            assert_non_null(part);
            memcpy(part, bytes.data, cut);
            enum vv_status status = vv_batch_decode((struct vv_str){part, cut}, &again, NULL);
            assert_int_equal(status, VV_CORRUPT);
            free(part);
        }
        for (int flip = 0; flip < 200; flip++) {
            size_t at = vv_random_below(&random, bytes.size);
            uint8_t was = buffer.data[at];
            buffer.data[at] = (uint8_t)vv_random_next(&random);
            struct vv_batch *again = NULL;
            if (vv_batch_decode(bytes, &again, NULL) == VV_OK) {
                assert_true(again->bytes <= 4096 + 8 * bytes.size);
                vv_batch_destroy(again);
            }
            buffer.data[at] = was;
        }
        vv_buffer_deinit(&buffer);
        vv_batch_destroy(batch);
    }
}

static void bytes_behind_the_end_and_bad_headers_are_refused(void **state)
{
    (void)state;
    struct vv_batch *batch = batch_create(0);
    const uint32_t metrics[] = {1, 2};
    const uint64_t values[] = {0, 0};
    add_row(batch, frame_of(batch, 0, metrics, 2), 4, 4, values);
    struct vv_buffer buffer = {0};
    encode(batch, &buffer);
    vv_batch_destroy(batch);

    struct vv_batch *again = NULL;
    struct vv_error error = {0};
    vv_buffer_u8(&buffer, 0);
    struct vv_str bytes = {(const char *)buffer.data, buffer.size};
    assert_int_equal(vv_batch_decode(bytes, &again, &error), VV_CORRUPT);
    bytes.size--;
    buffer.data[0] = 3;
    assert_int_equal(vv_batch_decode(bytes, &again, &error), VV_NEWER);
    assert_non_null(strstr(error.message, "newer"));
    buffer.data[0] = 0;
    assert_int_equal(vv_batch_decode(bytes, &again, &error), VV_CORRUPT);
    buffer.data[0] = 1;
    buffer.data[9 + 28] = 2; /* both metrics are 2 now */
    assert_int_equal(vv_batch_decode(bytes, &again, &error), VV_CORRUPT);
    buffer.data[9 + 28] = 9; /* not ascending, but different */
    assert_int_equal(vv_batch_decode(bytes, &again, &error), VV_OK);
    vv_batch_destroy(again);
    vv_buffer_deinit(&buffer);
}

static void types_of_values_come_back(void **state)
{
    (void)state;
    const uint32_t ints[] = {3 | VV_METRIC_INT64, 4 | VV_METRIC_INT64};
    const uint32_t floats[] = {3 | VV_METRIC_FLOAT64, 4 | VV_METRIC_INT64};
    const uint32_t plain[] = {3, 4};
    const uint64_t values[] = {1, 2};
    struct vv_batch *batch = batch_create(1);
    size_t first = frame_of(batch, 2, ints, 2);
    size_t second = frame_of(batch, 2, floats, 2); /* the metric has become one of floats */
    assert_true(first != second);
    assert_int_equal(vv_metric_number(ints[0]), 3);
    add_row(batch, first, 7, 1, values);
    add_row(batch, second, 7, 1, values);
    struct vv_buffer buffer = {0};
    struct vv_str bytes = encode(batch, &buffer);
    assert_int_equal(bytes.data[0], 2);
    assert_round_trip(batch);
    struct vv_batch *again;
    buffer.data[0] = 1; /* that version has no types */
    assert_int_equal(vv_batch_decode(bytes, &again, NULL), VV_CORRUPT);
    vv_batch_destroy(batch);
    vv_buffer_clear(&buffer);

    batch = batch_create(1);
    add_row(batch, frame_of(batch, 2, plain, 2), 7, 1, values);
    bytes = encode(batch, &buffer);
    assert_int_equal(bytes.data[0], 1); /* as a single node has always written it */
    vv_batch_destroy(batch);
    vv_buffer_clear(&buffer);

    const uint32_t bad[][2] = {{3 | VV_METRIC_TYPED, 4}, {4 | VV_METRIC_INT64, 4}};
    for (size_t i = 0; i < 2; i++) {
        batch = batch_create(1);
        add_row(batch, frame_of(batch, 2, bad[i], 2), 7, 1, values);
        bytes = encode(batch, &buffer);
        assert_int_equal(vv_batch_decode(bytes, &again, NULL), VV_CORRUPT);
        vv_batch_destroy(batch);
        vv_buffer_clear(&buffer);
    }
    vv_buffer_deinit(&buffer);
}

static void definitions_are_noted_once(void **state)
{
    (void)state;
    struct vv_batch *batch = batch_create(0);
    for (int pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < 100; i++) {
            for (uint8_t kind = 1; kind <= 4; kind++) {
                assert_int_equal(vv_batch_define(batch, kind, i), VV_OK);
            }
        }
    }
    assert_in_range(batch->n_definitions, 400, 410);
    assert_int_equal(batch->definitions[0].kind, 1);
    assert_int_equal(batch->definitions[5].kind, 2);
    assert_int_equal(batch->definitions[5].number, 1);
    vv_batch_destroy(batch);
}

/* What a client's request does; VV_NO_MEMORY when an allocation failed. */
static enum vv_status build(struct vv_batch **batch_out)
{
    enum vv_status status = vv_batch_create(1, batch_out);
    for (uint32_t i = 0; i < 40 && status == VV_OK; i++) {
        uint32_t metrics[] = {i % 9, 50};
        uint64_t values[] = {i, i};
        size_t frame = 0;
        status = vv_batch_frame(*batch_out, 0, metrics, 2, &frame);
        uint64_t points = (*batch_out)->points;
        status = status == VV_OK ? vv_batch_row(*batch_out, frame, i, i, values) : status;
        assert_int_equal((*batch_out)->points, points + (status == VV_OK ? 2 : 0));
        status = status == VV_OK ? vv_batch_define(*batch_out, 4, i) : status;
    }
    return status;
}

static void failed_allocations_leave_the_batch_as_it_was(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vv_batch *batch = NULL;
        vv_sim_memory_fail(k);
        enum vv_status status = build(&batch);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        if (batch) {
            assert_round_trip(batch);
        }
        vv_batch_destroy(batch);
        assert_true(k < 1000);
    }
}

static void failed_allocations_when_decoding(void **state)
{
    (void)state;
    struct vv_batch *batch = NULL;
    assert_int_equal(build(&batch), VV_OK);
    const uint32_t unsorted[] = {9, 3};
    const uint64_t values[] = {1, 2};
    add_row(batch, frame_of(batch, 3, unsorted, 2), 1, 1, values);
    struct vv_buffer buffer = {0};
    struct vv_str bytes = encode(batch, &buffer);
    bool failed = true;
    for (uint64_t k = 1; failed; k++) {
        struct vv_batch *again = NULL;
        struct vv_error error = {0};
        vv_sim_memory_fail(k);
        enum vv_status status = vv_batch_decode(bytes, &again, &error);
        failed = vv_sim_memory_failed();
        assert_int_equal(status, failed ? VV_NO_MEMORY : VV_OK);
        vv_batch_destroy(failed ? NULL : again);
        assert_true(k < 1000);
    }
    vv_buffer_deinit(&buffer);
    vv_batch_destroy(batch);
}

static void a_full_buffer_is_told(void **state)
{
    (void)state;
    struct vv_batch *batch = NULL;
    assert_int_equal(build(&batch), VV_OK);
    struct vv_buffer buffer = {.limit = 100};
    vv_batch_encode(batch, &buffer);
    assert_int_equal(vv_buffer_status(&buffer), VV_TOO_LARGE);
    vv_buffer_deinit(&buffer);
    vv_batch_destroy(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_metrics_share_a_frame),
        cmocka_unit_test(many_frames_are_found_again),
        cmocka_unit_test(too_many_metrics_are_refused),
        cmocka_unit_test(rows_keep_their_order_and_bits),
        cmocka_unit_test(a_later_row_never_stands_before_an_older_one_of_its_point),
        cmocka_unit_test(an_empty_batch_comes_back),
        cmocka_unit_test(columns_take_the_width_they_need),
        cmocka_unit_test(the_whole_range_of_time_fits),
        cmocka_unit_test(random_batches_come_back),
        cmocka_unit_test(damage_is_found_or_harmless),
        cmocka_unit_test(bytes_behind_the_end_and_bad_headers_are_refused),
        cmocka_unit_test(types_of_values_come_back),
        cmocka_unit_test(definitions_are_noted_once),
        cmocka_unit_test(failed_allocations_leave_the_batch_as_it_was),
        cmocka_unit_test(failed_allocations_when_decoding),
        cmocka_unit_test(a_full_buffer_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
