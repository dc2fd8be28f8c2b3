/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant in the layout `rows` whose retention changes lies in tables of several classes: what of
 * one point lies in two of them is what one table would have. */
#include "engines_fixture.h"

#include "model/merge.h"
#include "model/piece.h"

/* The last value of the answer; n parameters besides the tenant, at most three. */
static long long ask(struct node *node, int64_t time, const struct vv_parameter *more, size_t n)
{
    char from[32];
    char to[32];
    snprintf(from, sizeof from, "%lld", (long long)vv_time_floor(time, VV_HOUR));
    snprintf(to, sizeof to, "%lld", (long long)(vv_time_floor(time, VV_HOUR) + VV_HOUR));
    struct vv_parameter parameters[8] = {
        {VV_STR_LITERAL("tenant"), VV_STR_LITERAL("t")},
        {VV_STR_LITERAL("metric"), VV_STR_LITERAL("m.v")},
        {VV_STR_LITERAL("from"), vv_str_of(from)},
        {VV_STR_LITERAL("to"), vv_str_of(to)},
    };
    struct vv_request *request;
    struct vv_result *result = NULL;
    struct vv_query_limits limits;
    struct vv_buffer text = {0};
    struct vv_error error = {0};
    for (size_t i = 0; i < n; i++) {
        parameters[4 + i] = more[i];
    }
    vv_engine_query_limits(node->rig.engine, &limits);
    vv_engine_query_begin(node->rig.engine);
    enum vv_status status =
        vv_request_parse(VV_REQUEST_QUERY, parameters, 4 + n, now_ns(), &request, &error);
    if (status == VV_OK) {
        status = vv_result_open(vv_engine_query_context(node->rig.engine), &limits, request,
                                VV_FORMAT_CSV, &result, &error);
    }
    if (status != VV_OK) {
        fail_msg("%s", error.message);
    }
    while ((status = vv_result_write(result, &text, 65536, &error)) == VV_OK) {
    }
    vv_result_close(result);
    assert_int_equal(status, VV_DONE);
    vv_buffer_u8(&text, 0);
    assert_int_equal(vv_buffer_status(&text), VV_OK);
    const char *last = strrchr((char *)text.data, ',');
    assert_non_null(last);
    long long value = atoll(last + 1);
    vv_buffer_deinit(&text);
    return value;
}

static void expect(struct node *node, int64_t time, long long value)
{
    const struct vv_parameter descending[] = {{VV_STR_LITERAL("order"), VV_STR_LITERAL("desc")}};
    const struct vv_parameter summed[] = {{VV_STR_LITERAL("agg"), VV_STR_LITERAL("sum")},
                                          {VV_STR_LITERAL("step"), VV_STR_LITERAL("1h")},
                                          {VV_STR_LITERAL("tier"), VV_STR_LITERAL("raw")}};
    assert_int_equal(ask(node, time, NULL, 0), value);
    assert_int_equal(ask(node, time, descending, 1), value);
    assert_int_equal(ask(node, time, summed, 3), value);
}

static enum vv_status take_stamp(void *context, const struct vv_piece *piece)
{
    vv_stamp *highest = context;
    *highest = piece->run > *highest ? piece->run : *highest;
    return VV_OK;
}

static void write_value(struct node *node, int64_t time, long long value)
{
    char line[80];
    snprintf(line, sizeof line, "m,id=x v=%lldi %lld\n", value, (long long)time);
    rig_write_line(&node->rig, line);
    work(node);
}

/* What another node has written in the same µs, which lands now. */
static void land(struct node *node, int64_t time, vv_stamp stamp, long long value)
{
    struct vv_store *store = node->rig.engine->store;
    struct vv_store_read read = read_at(node, time);
    struct vv_piece_encoder encoder = {0};
    struct vv_piece piece = {.kind = VV_PIECE_RUN, .run = stamp};
    struct vv_rows rows;
    piece.key.partition = read.partition;
    piece.key.measurement = read.measurement;
    piece.key.span_start = vv_time_floor(time, read.span_ns);
    assert_int_equal(vv_rows_alloc(1, 1, &rows), VV_OK);
    rows.times[0] = time;
    rows.stamps[0] = stamp;
    rows.columns[0].values[0] = (uint64_t)value;
    vv_column_mark(&rows.columns[0], 0);
    assert_int_equal(vv_registry_metric(node->rig.engine->registry, read.measurement,
                                        VV_STR_LITERAL("v"), VV_INT64, false,
                                        &rows.columns[0].metric, &rows.columns[0].type, NULL),
                     VV_OK);
    assert_int_equal(vv_piece_encode(&encoder, &rows, 0, 1, &piece.bytes, NULL), VV_OK);
    assert_int_equal(store->ops->put_run(store, &piece, NULL), VV_OK);
    assert_int_equal(store->ops->confirm(store, NULL), VV_OK);
    vv_piece_encoder_deinit(&encoder);
    vv_rows_free(&rows);
}

static void turn_between(long long value, long long other)
{
    vv_stamp stamp = 0;
    rows_tenants[0] = "t";
    make_cluster(1);
    struct node *node = make_node(0);
    int64_t time = now_ns();
    write_value(node, time, value);
    expect(node, time, value);
    visit_at(node, time, take_stamp, &stamp);
    keep_for(node, 20 * VV_DAY);
    land(node, time, stamp, other);
    expect(node, time, value > other ? value : other);
    keep_for(node, 200 * VV_DAY); /* and whichever is looked at first */
    expect(node, time, value > other ? value : other);
    drop_cluster();
    rows_tenants[0] = NULL;
}

static void what_is_in_two_tables_is_what_one_would_have(void **state)
{
    (void)state;
    turn_between(810, 1084);
    turn_between(1084, 810);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_two_tables_is_what_one_would_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
