/* SPDX-License-Identifier: Apache-2.0 */
/* Runs, marks and metadata, and how they are read. */
#include "contract.h"

#include "tier/cohort.h"

#include <string.h>

static void a_run_is_read_before_it_is_confirmed(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    put_run(c, &key, 7, 0, "a");
    assert_string_equal(pieces_text(c, &key.partition), "R3.7.0=a");
}

static void runs_ascend_by_span_run_and_part_then_blocks(void **state)
{
    struct contract *c = *state;
    struct vv_span_key early = span_of(1, 1, 10, 0);
    struct vv_span_key late = span_of(1, 1, 10, 23);
    static const char *const parts[] = {"x", "y"};
    put_span(c, &late, 2, parts);
    put_block(c, &early, "w");
    put_run(c, &late, 300, 0, "d");
    put_run(c, &late, 2, 1, "c");
    put_run(c, &late, 2, 0, "b");
    put_run(c, &early, 5, 0, "a");
    assert_string_equal(pieces_text(c, &early.partition),
                        "R0.5.0=a R23.2.0=b R23.2.1=c R23.300.0=d B0.0=w B23.0=x B23.1=y");
}

static void a_read_takes_the_spans_that_start_in_its_range(void **state)
{
    struct contract *c = *state;
    for (int hour = 0; hour < 5; hour++) {
        struct vv_span_key key = span_of(1, 1, 10, hour);
        put_run(c, &key, 1, 0, "r");
        put_block(c, &key, "b");
    }
    struct vv_store_read read = {.partition = partition_of(1, 1, 10),
                                 .measurement = 1,
                                 .span_from = 10 * VV_DAY + VV_HOUR,
                                 .span_to = 10 * VV_DAY + 3 * VV_HOUR};
    assert_string_equal(read_text(c, &read), "R1.1.0=r R2.1.0=r B1.0=b B2.0=b");
    read.span_from++;
    assert_string_equal(read_text(c, &read), "R2.1.0=r B2.0=b");
    read.span_to = read.span_from;
    assert_string_equal(read_text(c, &read), "");
    read.span_to = INT64_MIN;
    assert_string_equal(read_text(c, &read), "");
}

/* Every part of the key counts. */
static void a_read_sees_its_measurement_of_its_partition_only(void **state)
{
    struct contract *c = *state;
    struct vv_span_key keys[7];
    for (int i = 0; i < 7; i++) {
        keys[i] = span_of(5, 5, 10, 1);
    }
    keys[1].partition.tenant++;
    keys[2].partition.source--;
    keys[3].partition.bucket_start -= VV_DAY;
    keys[4].partition.bucket_ns = VV_HOUR;
    keys[5].partition.split = 1;
    keys[6].measurement = 2;
    char text[2] = "a";
    for (int i = 0; i < 7; i++, text[0]++) {
        put_run(c, &keys[i], 1, 0, text);
        put_block(c, &keys[i], text);
    }
    text[0] = 'a';
    for (int i = 0; i < 7; i++, text[0]++) {
        struct vv_store_read read = {.partition = keys[i].partition,
                                     .measurement = keys[i].measurement,
                                     .span_from = keys[i].span_start,
                                     .span_to = keys[i].span_start + 1};
        int hour = i == 3 ? 25 : 1;
        char expected[64];
        snprintf(expected, sizeof expected, "R%d.1.0=%s B%d.0=%s", hour, text, hour, text);
        assert_string_equal(read_text(c, &read), expected);
    }
}

static void a_run_written_again_is_one_run(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    put_run(c, &key, 7, 0, "a");
    confirm(c);
    put_run(c, &key, 7, 0, "a");
    put_run(c, &key, 7, 1, "old");
    put_run(c, &key, 7, 1, "new");
    assert_string_equal(pieces_text(c, &key.partition), "R3.7.0=a R3.7.1=new");
}

static void exactly_these_runs_are_removed(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    struct vv_span_key other = span_of(1, 2, 10, 3);
    put_run(c, &key, 1, 0, "a");
    put_run(c, &key, 1, 1, "b");
    put_run(c, &key, 2, 0, "c");
    put_run(c, &other, 1, 0, "d");
    confirm(c);
    remove_run(c, &key, 1, 1);
    remove_run(c, &key, 3, 0); /* never there */
    assert_string_equal(pieces_text(c, &key.partition), "R3.1.0=a R3.2.0=c");
    assert_string_equal(pieces_text(c, &other.partition), "R3.1.0=d");
    const struct vv_piece both[] = {{VV_PIECE_RUN, key, 2, 0, {0}, 0, 0},
                                    {VV_PIECE_RUN, key, 1, 0, {0}, 0, 0}};
    assert_ok(c->store->ops->remove_runs(c->store, both, 2, NULL));
    assert_ok(c->store->ops->remove_runs(c->store, both, 0, NULL));
    assert_string_equal(pieces_text(c, &key.partition), "");
}

static enum vv_status compare_bytes(void *context, const struct vv_piece *piece)
{
    const struct vv_str *expected = context;
    assert_true(vv_str_equal(piece->bytes, *expected));
    return VV_OK;
}

static void bytes_come_back_exactly(void **state)
{
    struct contract *c = *state;
    static char bytes[300000];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 31 >> 3);
    }
    struct vv_span_key key = span_of(1, 1, 10, 3);
    struct vv_str value = {bytes, sizeof bytes};
    const struct vv_piece run = {VV_PIECE_RUN, key, 1, 0, value, 0, 0};
    const struct vv_piece block = {VV_PIECE_BLOCK, key, 0, 0, value, 0, 0};
    const struct vv_store_read read = {
        .partition = key.partition, .measurement = 1, .span_from = INT64_MIN, .span_to = INT64_MAX};
    struct vv_str name = {"a\0b", 3};
    struct vv_buffer got = {0};
    assert_ok(c->store->ops->put_run(c->store, &run, NULL));
    assert_ok(c->store->ops->put_blocks(c->store, &block, 1, NULL));
    assert_ok(c->store->ops->read(c->store, &read, compare_bytes, &value, NULL));
    assert_ok(c->store->ops->put_meta(c->store, 9, name, value, NULL));
    assert_ok(c->store->ops->get_meta(c->store, 9, name, &got, NULL));
    assert_int_equal(got.size, sizeof bytes);
    assert_memory_equal(got.data, bytes, sizeof bytes);
    vv_buffer_deinit(&got);
    assert_int_equal(c->store->ops->get_meta(c->store, 9, vv_str_of("a"), &got, NULL),
                     VV_NOT_FOUND);
}

/* ---- visitors */

struct stopping {
    int calls;
    int stop_at;
    enum vv_status with;
};

static enum vv_status stop(struct stopping *stopping)
{
    return ++stopping->calls == stopping->stop_at ? stopping->with : VV_OK;
}

static enum vv_status stop_piece(void *context, const struct vv_piece *piece)
{
    (void)piece;
    return stop(context);
}

static enum vv_status stop_mark(void *context, const struct vv_mark *mark)
{
    (void)mark;
    return stop(context);
}

static enum vv_status stop_meta(void *context, struct vv_str key, struct vv_str value)
{
    (void)key;
    (void)value;
    return stop(context);
}

static void a_visitor_stops_and_its_status_is_returned(void **state)
{
    struct contract *c = *state;
    struct vv_store *store = c->store;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    put_run(c, &key, 1, 0, "a");
    put_run(c, &key, 2, 0, "b");
    put_block(c, &key, "c");
    put_mark(c, &key, 1, 1);
    put_mark(c, &key, 2, 1);
    put_meta(c, 1, "a", "");
    put_meta(c, 1, "b", "");
    const struct vv_store_read read = {
        .partition = key.partition, .measurement = 1, .span_from = INT64_MIN, .span_to = INT64_MAX};
    for (int at = 1; at <= 3; at++) {
        struct stopping done = {0, at, VV_DONE};
        struct stopping error = {0, at, VV_TIMEOUT};
        assert_ok(store->ops->read(store, &read, stop_piece, &done, NULL));
        assert_int_equal(done.calls, at);
        assert_int_equal(store->ops->read(store, &read, stop_piece, &error, NULL), VV_TIMEOUT);
        assert_int_equal(error.calls, at);
    }
    struct stopping done = {0, 1, VV_DONE};
    struct stopping error = {0, 1, VV_CANCELLED};
    assert_ok(store->ops->scan_marks(store, 9, NULL, stop_mark, &done, NULL));
    assert_int_equal(store->ops->scan_marks(store, 9, NULL, stop_mark, &error, NULL), VV_CANCELLED);
    assert_int_equal(done.calls + error.calls, 2);
    done.calls = 0;
    error.calls = 0;
    assert_ok(store->ops->scan_meta(store, 1, vv_str_of(""), stop_meta, &done, NULL));
    assert_int_equal(store->ops->scan_meta(store, 1, vv_str_of(""), stop_meta, &error, NULL),
                     VV_CANCELLED);
    assert_int_equal(done.calls + error.calls, 2);
}

/* ---- marks */

static void marks_come_in_the_order_of_due_and_key(void **state)
{
    struct contract *c = *state;
    struct vv_span_key a = span_of(1, 1, 10, 3);
    struct vv_span_key b = span_of(1, 2, 10, 1);
    put_mark(c, &b, 50, 1);
    put_mark(c, &a, 50, 2);
    put_mark(c, &a, -5, 3);
    put_mark(c, &b, 60, 4);
    assert_string_equal(marks_text(c, INT64_MAX, NULL), "-5/1.3=3 50/1.3=2 50/2.1=1 60/2.1=4");
    assert_string_equal(marks_text(c, 59, NULL), "-5/1.3=3 50/1.3=2 50/2.1=1");
    assert_string_equal(marks_text(c, 50, NULL), "-5/1.3=3 50/1.3=2 50/2.1=1");
    assert_string_equal(marks_text(c, 49, NULL), "-5/1.3=3");
    assert_string_equal(marks_text(c, -6, NULL), "");
    const struct vv_mark after = {50, a, VV_HOUR, 0, false};
    assert_string_equal(marks_text(c, INT64_MAX, &after), "50/2.1=1 60/2.1=4");
    assert_string_equal(marks_text(c, 50, &after), "50/2.1=1");
    assert_string_equal(marks_text(c, 40, &after), "");
}

static void a_mark_keeps_the_higher_run(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    put_mark(c, &key, 50, 5);
    put_mark(c, &key, 50, 4);
    assert_string_equal(marks_text(c, 50, NULL), "50/1.3=5");
    put_mark(c, &key, 50, 6);
    confirm(c);
    contract_crash(c, 1);
    put_mark(c, &key, 50, 3);
    assert_string_equal(marks_text(c, 50, NULL), "50/1.3=6");
}

static void a_mark_is_retired_unless_it_was_renewed(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    put_mark(c, &key, 50, 5);
    retire_mark(c, &key, 50, 4);
    assert_string_equal(marks_text(c, 50, NULL), "50/1.3=5");
    retire_mark(c, &key, 51, 9); /* another due is another mark */
    assert_string_equal(marks_text(c, 50, NULL), "50/1.3=5");
    retire_mark(c, &key, 50, 5);
    assert_string_equal(marks_text(c, 50, NULL), "");
    retire_mark(c, &key, 50, 5);
    put_mark(c, &key, 50, 7);
    retire_mark(c, &key, 50, 9);
    assert_string_equal(marks_text(c, 50, NULL), "");
    put_mark(c, &key, 50, 6); /* after it was retired, any mark counts */
    assert_string_equal(marks_text(c, 50, NULL), "50/1.3=6");
}

/* A queue: marks come at the end and go at the front, and one may come late, before all. */
static void marks_are_found_wherever_they_are_put(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 3);
    for (int due = 0; due < 200; due++) {
        put_mark(c, &key, due, 1);
    }
    for (int due = 0; due < 200; due++) {
        retire_mark(c, &key, due, 1);
        if (due % 10 == 0) {
            char first[32];
            snprintf(first, sizeof first, "%d/1.3=1", due + 1);
            assert_memory_equal(marks_text(c, INT64_MAX, NULL), first, strlen(first));
        }
    }
    assert_string_equal(marks_text(c, INT64_MAX, NULL), "");
    put_mark(c, &key, 5, 2);
    assert_string_equal(marks_text(c, 4, NULL), "");
    assert_string_equal(marks_text(c, 5, NULL), "5/1.3=2");
    put_mark(c, &key, 3, 2);
    put_mark(c, &key, 100, 2);
    assert_string_equal(marks_text(c, INT64_MAX, NULL), "3/1.3=2 5/1.3=2 100/1.3=2");
    confirm(c);
    retire_mark(c, &key, 3, 2);
    retire_mark(c, &key, 5, 2);
    assert_string_equal(marks_text(c, 99, NULL), "");
    assert_string_equal(marks_text(c, 100, NULL), "100/1.3=2");
}

/* ---- metadata */

static void metadata_is_put_replaced_and_removed(void **state)
{
    struct contract *c = *state;
    struct vv_buffer value = {0};
    assert_int_equal(c->store->ops->get_meta(c->store, 1, vv_str_of("k"), &value, NULL),
                     VV_NOT_FOUND);
    put_meta(c, 1, "k", "one");
    assert_ok(c->store->ops->get_meta(c->store, 1, vv_str_of("k"), &value, NULL));
    put_meta(c, 1, "k", "two");
    assert_ok(c->store->ops->get_meta(c->store, 1, vv_str_of("k"), &value, NULL));
    vv_buffer_u8(&value, 0);
    assert_string_equal((char *)value.data, "onetwo"); /* values are appended */
    vv_buffer_deinit(&value);
    remove_meta(c, 1, "k");
    remove_meta(c, 1, "never");
    assert_int_equal(c->store->ops->get_meta(c->store, 1, vv_str_of("k"), &value, NULL),
                     VV_NOT_FOUND);
    vv_buffer_deinit(&value);
}

static void metadata_is_scanned_by_prefix_in_order(void **state)
{
    struct contract *c = *state;
    put_meta(c, 1, "b", "3");
    put_meta(c, 1, "ab", "2");
    put_meta(c, 1, "a", "1");
    put_meta(c, 1, "\xff\xff", "4");
    put_meta(c, 1, "", "0");
    put_meta(c, 0, "a", "kind 0");
    put_meta(c, 2, "a", "kind 2");
    put_meta(c, 255, "\xff", "kind 255");
    assert_string_equal(meta_text(c, 1, ""), "=0 a=1 ab=2 b=3 \xff\xff=4");
    assert_string_equal(meta_text(c, 1, "a"), "a=1 ab=2");
    assert_string_equal(meta_text(c, 1, "ab"), "ab=2");
    assert_string_equal(meta_text(c, 1, "abc"), "");
    assert_string_equal(meta_text(c, 1, "\xff"), "\xff\xff=4");
    assert_string_equal(meta_text(c, 0, ""), "a=kind 0");
    assert_string_equal(meta_text(c, 255, ""), "\xff=kind 255");
    assert_string_equal(meta_text(c, 255, "\xff"), "\xff=kind 255");
    assert_string_equal(meta_text(c, 3, ""), "");
}

#define SOURCE_MAX (VV_COHORT_NUMBER - 1) /* above are numbers of cohorts */

static void extreme_keys_are_kept_apart(void **state)
{
    struct contract *c = *state;
    const struct vv_span_key keys[] = {
        {{0, 0, VV_TIME_MIN - VV_DAY, VV_DAY, 0, 0}, 0, VV_TIME_MIN - VV_DAY},
        {{0, 0, -VV_DAY, VV_DAY, 0, 0}, 0, -VV_DAY},
        {{0, 0, 0, VV_BUCKET_NS_MIN, 0, 0}, 0, 0},
        {{UINT32_MAX, SOURCE_MAX, VV_TIME_MAX, VV_BUCKET_NS_MAX, VV_SHARE_BITS_MAX << 8, 0},
         UINT32_MAX,
         VV_TIME_MAX},
    };
    set_retention(c, UINT32_MAX, 7 * VV_DAY);
    for (size_t i = 0; i < 4; i++) {
        put_run(c, &keys[i], UINT64_MAX, UINT32_MAX, "r");
        put_block(c, &keys[i], "b");
        put_mark(c, &keys[i], i == 0 ? INT64_MIN : INT64_MAX, UINT64_MAX);
    }
    for (size_t i = 0; i < 4; i++) {
        const struct vv_store_read read = {.partition = keys[i].partition,
                                           .measurement = keys[i].measurement,
                                           .span_from = INT64_MIN,
                                           .span_to = INT64_MAX};
        assert_string_equal(read_text(c, &read), "R0.18446744073709551615.4294967295=r B0.0=b");
    }
    assert_string_equal(marks_text(c, INT64_MIN, NULL),
                        "-9223372036854775808/0.0=18446744073709551615");
    assert_non_null(strstr(marks_text(c, INT64_MAX, NULL), "9223372036854775807/2147483647.0="));
}

static void a_bucket_outside_of_time_is_refused(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 0);
    key.partition.bucket_ns = VV_BUCKET_NS_MAX + 1;
    const struct vv_piece run = {VV_PIECE_RUN, key, 1, 0, vv_str_of("a"), 0, 0};
    const struct vv_piece block = {VV_PIECE_BLOCK, key, 0, 0, vv_str_of("a"), 0, 0};
    struct vv_error error = {0};
    assert_int_equal(c->store->ops->put_run(c->store, &run, &error), VV_INVALID);
    assert_true(error.message[0] != 0);
    assert_int_equal(c->store->ops->put_blocks(c->store, &block, 1, NULL), VV_INVALID);
    put_meta(c, 1, "still", "writable");
}

static void another_region_is_not_written_and_has_nothing(void **state)
{
    struct contract *c = *state;
    struct vv_span_key key = span_of(1, 1, 10, 0);
    int64_t start = 0;
    put_run(c, &key, 1, 0, "a");
    put_block(c, &key, "b");
    confirm(c);
    key.partition.region = 1;
    const struct vv_piece run = {VV_PIECE_RUN, key, 2, 0, vv_str_of("c"), 0, 0};
    const struct vv_piece block = {VV_PIECE_BLOCK, key, 0, 0, vv_str_of("d"), 0, 0};
    const struct vv_mark mark = {0, key, VV_HOUR, 2, false};
    assert_int_equal(c->store->ops->put_run(c->store, &run, NULL), VV_INVALID);
    assert_int_equal(c->store->ops->put_blocks(c->store, &block, 1, NULL), VV_INVALID);
    assert_int_equal(c->store->ops->put_mark(c->store, &mark, NULL), VV_INVALID);
    assert_string_equal(pieces_text(c, &key.partition), "");
    assert_int_equal(c->store->ops->nearest(c->store, 1, 1, 1, 0, true, &start, NULL), VV_DONE);
    key.partition.region = 0;
    assert_string_equal(pieces_text(c, &key.partition), "R0.1.0=a B0.0=b");
}

const struct contract_case write_cases[] = {
    CONTRACT_CASE(a_run_is_read_before_it_is_confirmed),
    CONTRACT_CASE(runs_ascend_by_span_run_and_part_then_blocks),
    CONTRACT_CASE(a_read_takes_the_spans_that_start_in_its_range),
    CONTRACT_CASE(a_read_sees_its_measurement_of_its_partition_only),
    CONTRACT_CASE(a_run_written_again_is_one_run),
    CONTRACT_CASE(exactly_these_runs_are_removed),
    CONTRACT_CASE(bytes_come_back_exactly),
    CONTRACT_CASE(a_visitor_stops_and_its_status_is_returned),
    CONTRACT_CASE(marks_come_in_the_order_of_due_and_key),
    CONTRACT_CASE(a_mark_keeps_the_higher_run),
    CONTRACT_CASE(a_mark_is_retired_unless_it_was_renewed),
    CONTRACT_CASE(marks_are_found_wherever_they_are_put),
    CONTRACT_CASE(metadata_is_put_replaced_and_removed),
    CONTRACT_CASE(metadata_is_scanned_by_prefix_in_order),
    CONTRACT_CASE(extreme_keys_are_kept_apart),
    CONTRACT_CASE(a_bucket_outside_of_time_is_refused),
    CONTRACT_CASE(another_region_is_not_written_and_has_nothing),
    {0},
};
