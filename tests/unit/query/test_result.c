/* SPDX-License-Identifier: Apache-2.0 */
/* Results: bounded pieces of work, limits, broken answers, and memory that runs out. */
#include "query_fixture.h"

/* Two sources with a float and an integer metric, minutes of two days: store and head. */
static void fill(struct fixture *f)
{
    fixture_init(f);
    f->flush.bucket_ns = VV_DAY;
    f->flush.span_ns = VV_HOUR;
    uint32_t metrics[2] = {fixture_metric(f, "press", "temp", VV_FLOAT64),
                           fixture_metric(f, "press", "count", VV_INT64)};
    uint32_t sources[2] = {fixture_source(f, "a", "north"), fixture_source(f, "b", "south")};
    static int64_t times[2880];
    static uint64_t values[2880];
    for (int s = 0; s < 2; s++) {
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < 2880; i++) {
                times[i] = FIXTURE_NOW - 2 * VV_DAY + i * VV_MINUTE;
                values[i] = k ? (uint64_t)i : vv_bits_of_double(20 + i % 100 * 0.25);
            }
            fixture_write(f, sources[s], metrics[k], times, values, 1440);
            fixture_flush(f);
            fixture_write(f, sources[s], metrics[k], times + 1440, values + 1440, 1440);
        }
    }
    fixture_seal(f);
}

static const char *const requests[][8] = {
    {"tenant=t", NULL},
    {"tenant=t", "format=csv", "order=desc", "group_by=source,site", NULL},
    {"tenant=t", "agg=mean,p99,rate", "step=1h", "fill=linear", NULL},
    {"tenant=t", "agg=mean,p99,rate", "step=1h", "group_by=site", "from=-3d", "fill=null", NULL},
    {"tenant=t", "agg=count", "group_by=", "format=csv", NULL},
};
#define REQUEST_COUNT (sizeof requests / sizeof requests[0])

static const struct {
    enum vv_request_kind kind;
    const char *words[5];
} lists[] = {
    {VV_REQUEST_LATEST, {"tenant=t", NULL}},
    {VV_REQUEST_LATEST, {"tenant=t", "format=csv", NULL}},
    {VV_REQUEST_SOURCES, {"tenant=t", "history=true", NULL}},
    {VV_REQUEST_SOURCES, {"tenant=t", "history=true", "format=csv", NULL}},
    {VV_REQUEST_SOURCES, {"tenant=t", "limit=1", NULL}},
    {VV_REQUEST_METRICS, {"tenant=t", NULL}},
    {VV_REQUEST_TAGS, {"tenant=t", NULL}},
    {VV_REQUEST_TAGS, {"tenant=t", "key=site", NULL}},
    {VV_REQUEST_EXPORT, {"tenant=t", NULL}},
    {VV_REQUEST_EXPORT, {"tenant=t", "format=jsonl", NULL}},
    {VV_REQUEST_EXPORT, {"tenant=t", "format=csv", NULL}},
};
#define LIST_COUNT (sizeof lists / sizeof lists[0])

/* The standing clock makes durations equal, so that whole answers can be compared. */
static void pieces_make_the_same_answer(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 100, 4096, 65536};
    struct fixture f;
    fill(&f);
    for (size_t i = 0; i < REQUEST_COUNT + LIST_COUNT; i++) {
        bool list = i >= REQUEST_COUNT;
        enum vv_request_kind kind = list ? lists[i - REQUEST_COUNT].kind : VV_REQUEST_QUERY;
        const char *const *words = list ? lists[i - REQUEST_COUNT].words : requests[i];
        char *whole;
        assert_int_equal(fixture_answer(&f, kind, words, SIZE_MAX, &whole), VV_OK);
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            char *text;
            assert_int_equal(fixture_answer(&f, kind, words, sizes[k], &text), VV_OK);
            assert_string_equal(text, whole);
            free(text);
        }
        free(whole);
    }
    fixture_deinit(&f);
}

static struct vv_result *open_result(struct fixture *f, enum vv_request_kind kind,
                                     const char *const *words)
{
    struct vv_request *request;
    struct vv_result *result;
    assert_int_equal(fixture_request(f, kind, words, &request), VV_OK);
    assert_int_equal(
        vv_result_open(&f->context, &f->limits, request, VV_FORMAT_JSON, &result, &f->error),
        VV_OK);
    return result;
}

static void a_call_gives_little_more_than_enough(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    struct vv_result *result = open_result(&f, VV_REQUEST_QUERY, requests[0]);
    struct vv_buffer buffer = {0};
    enum vv_status status = VV_OK;
    while (status == VV_OK) {
        size_t before = buffer.size;
        status = vv_result_write(result, &buffer, 1000, &f.error);
        assert_true(buffer.size - before < 64 << 10);
        assert_true(status == VV_DONE || buffer.size - before >= 1000 || buffer.size == before);
    }
    assert_int_equal(status, VV_DONE);
    size_t size = buffer.size;
    assert_int_equal(vv_result_write(result, &buffer, 1000, &f.error), VV_DONE);
    assert_int_equal(buffer.size, size); /* the end is written once */
    vv_result_close(result);
    vv_buffer_deinit(&buffer);
    fixture_deinit(&f);
}

/* A clock that goes on with every look at it. */
struct running_clock {
    struct vv_clock clock;
    int64_t now_ns;
    int64_t step_ns;
};

static int64_t running_ns(struct vv_clock *clock)
{
    struct running_clock *running = (struct running_clock *)(void *)clock;
    running->now_ns += running->step_ns;
    return running->now_ns;
}

static void work_is_bounded_by_time(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    struct running_clock running = {{running_ns, running_ns}, FIXTURE_NOW, 5 * VV_MILLISECOND};
    f.context.clock = &running.clock;
    struct vv_result *result = open_result(&f, VV_REQUEST_QUERY, WORDS("agg=mean", "group_by=all"));
    struct vv_buffer buffer = {0};
    int calls = 0;
    while (vv_result_write(result, &buffer, SIZE_MAX, &f.error) == VV_OK) {
        calls++;
    }
    assert_true(calls > 5); /* four looks at the clock are 20 ms */
    vv_result_close(result);
    vv_buffer_deinit(&buffer);
    fixture_deinit(&f);
}

static void time_runs_out_before_the_first_row(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    struct vv_result *result = open_result(&f, VV_REQUEST_QUERY, requests[0]);
    struct vv_buffer buffer = {0};
    vv_sim_clock_advance(&f.clock, 31 * VV_SECOND);
    assert_int_equal(vv_result_write(result, &buffer, 100, &f.error), VV_TIMEOUT);
    assert_int_equal(buffer.size, 0);
    assert_non_null(strstr(f.error.message, "longer than 30s (query.time_max)"));
    vv_result_close(result);
    fixture_deinit(&f);
}

/* The answer breaks in the middle, while the client takes its time: it must still be JSON. */
static void a_broken_answer_is_closed(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    for (size_t i = 0; i < REQUEST_COUNT; i++) {
        struct vv_result *result = open_result(&f, VV_REQUEST_QUERY, requests[i]);
        struct vv_buffer buffer = {0};
        while (buffer.size == 0) {
            assert_int_not_equal(vv_result_write(result, &buffer, 1, &f.error), VV_TIMEOUT);
        }
        size_t size = buffer.size;
        vv_sim_clock_advance(&f.clock, VV_MINUTE);
        enum vv_status status = vv_result_write(result, &buffer, 1, &f.error);
        if (status == VV_DONE) { /* it was complete */
            vv_result_close(result);
            vv_buffer_deinit(&buffer);
            continue;
        }
        assert_int_equal(status, VV_TIMEOUT);
        assert_int_equal(buffer.size, size);
        vv_result_abort(result, &buffer, status, &f.error);
        vv_result_abort(result, &buffer, status, &f.error); /* once only */
        if (buffer.data[0] != '{') {
            vv_buffer_u8(&buffer, 0);
            assert_non_null(strstr((char *)buffer.data, "\n# error: timeout: the query took"));
        } else {
            json_t *json = json_loadb((char *)buffer.data, buffer.size, 0, NULL);
            assert_non_null(json);
            assert_true(json_is_false(json_object_get(json_object_get(json, "facts"), "complete")));
            assert_string_equal(
                json_string_value(json_object_get(json_object_get(json, "error"), "code")),
                "timeout");
            json_decref(json);
        }
        vv_result_close(result);
        vv_buffer_deinit(&buffer);
    }
    fixture_deinit(&f);
}

static void an_answer_may_be_aborted_before_it_begins(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    struct vv_result *result = open_result(&f, VV_REQUEST_QUERY, requests[0]);
    struct vv_buffer buffer = {0};
    vv_result_abort(result, &buffer, VV_CANCELLED, NULL);
    json_t *json = json_loadb((char *)buffer.data, buffer.size, 0, NULL);
    assert_non_null(json);
    json_decref(json);
    vv_result_close(result);
    vv_buffer_deinit(&buffer);
    fixture_deinit(&f);
}

static void a_full_buffer_leaves_whole_rows(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    for (size_t limit = 200; limit < 3000; limit += 37) {
        struct vv_result *result = open_result(&f, VV_REQUEST_QUERY, requests[2]);
        struct vv_buffer buffer = {.limit = limit};
        enum vv_status status = VV_OK;
        while (status == VV_OK) {
            status = vv_result_write(result, &buffer, 100, &f.error);
        }
        assert_int_equal(status, VV_TOO_LARGE);
        struct vv_buffer whole = {0};
        vv_buffer_append(&whole, buffer.data, buffer.size);
        vv_result_abort(result, &whole, status, &f.error);
        json_t *json = json_loadb((char *)whole.data, whole.size, 0, NULL);
        assert_non_null(json);
        json_decref(json);
        vv_result_close(result);
        vv_buffer_deinit(&buffer);
        vv_buffer_deinit(&whole);
    }
    fixture_deinit(&f);
}

static void names_must_exist(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    static const char *const other[] = {"tenant=other", NULL};
    expect_error(&f, VV_REQUEST_QUERY, other, VV_NOT_FOUND, "other");
    expect_error(&f, VV_REQUEST_QUERY, WORDS("metric=press.tmp"), VV_NOT_FOUND, "press.tmp");
    expect_error(&f, VV_REQUEST_METRICS, WORDS("metric=press.tmp"), VV_NOT_FOUND, "press.tmp");
    expect_error(&f, VV_REQUEST_SOURCES, WORDS("after=z"), VV_NOT_FOUND, "after");
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("source=z", "format=csv"), "source,metric,time,value\n");
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("metric=none.*", "format=csv", "agg=count"),
               "source,metric,time,count\n");
    fixture_deinit(&f);
}

static void series_are_bounded(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    f.limits.series_max = 4;
    json_decref(ask_json(&f, VV_REQUEST_QUERY, WORDS("limit=1")));
    f.limits.series_max = 3;
    expect_error(&f, VV_REQUEST_QUERY, WORDS("limit=1"), VV_TOO_LARGE, "query.series_max");
    expect_error(&f, VV_REQUEST_LATEST, WORDS("from=-1d"), VV_TOO_LARGE, "more than 3 series");
    json_decref(ask_json(&f, VV_REQUEST_QUERY, WORDS("limit=1", "source=a")));
    f.limits.series_max = 1;
    expect_error(&f, VV_REQUEST_QUERY, WORDS("source=a"), VV_TOO_LARGE, "query.series_max");
    json_decref(ask_json(&f, VV_REQUEST_SOURCES, WORDS("limit=1")));
    fixture_deinit(&f);
}

static void the_newest_accepted_future_is_shown(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_INT64);
    uint32_t source = fixture_source(&f, "a", NULL);
    fixture_integer(&f, source, metric, FIXTURE_NOW + 10 * VV_MINUTE, 1);
    fixture_integer(&f, source, metric, FIXTURE_NOW + 10 * VV_MINUTE + 1, 2);
    json_t *answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("metric=m.v"));
    assert_int_equal(f.facts.rows, 1);
    json_decref(answer);
    answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("to=+1h"));
    assert_int_equal(f.facts.rows, 2);
    json_decref(answer);
    fixture_deinit(&f);
}

static void tenants_see_their_own(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    uint32_t first = f.tenant;
    assert_int_equal(vv_registry_tenant(f.registry, VV_STR_LITERAL("u"), true, &f.tenant, NULL),
                     VV_OK);
    uint32_t source = fixture_source(&f, "a", "west");
    uint32_t metric = fixture_metric(&f, "press", "temp", VV_FLOAT64);
    fixture_point(&f, source, metric, FIXTURE_NOW, 7);
    static const char *const words[] = {"tenant=u", "format=csv", NULL};
    expect_csv(&f, VV_REQUEST_QUERY, words,
               "source,metric,time,value\na,press.temp,2024-10-04T12:00:00Z,7\n");
    expect_csv(&f, VV_REQUEST_SOURCES, words,
               "source,tags,first,last\n"
               "a,site=west,2024-10-04T12:00:00Z,2024-10-04T12:00:00Z\n");
    f.tenant = first;
    fixture_deinit(&f);
}

static void facts_are_told(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    json_t *answer = ask_json(
        &f, VV_REQUEST_QUERY,
        WORDS("metric=press.temp", "source=a", "agg=p90", "step=90m", "from=-36h", "to=-24h"));
    const json_t *facts = json_object_get(answer, "facts");
    assert_string_equal(json_string_value(json_object_get(facts, "tier")), "raw");
    assert_string_equal(json_string_value(json_object_get(facts, "resolution")), "1h30m");
    assert_true(json_is_true(json_object_get(facts, "complete")));
    assert_int_equal(json_integer_value(json_object_get(facts, "points_read")), 720);
    assert_int_equal(json_integer_value(json_object_get(facts, "partitions_read")), 1);
    assert_int_equal(json_integer_value(json_object_get(facts, "pieces_read")),
                     f.facts.pieces_read);
    assert_true(json_integer_value(json_object_get(facts, "bytes_read")) > 0);
    assert_int_equal(json_integer_value(json_object_get(facts, "rows")), 8);
    assert_true(json_number_value(json_object_get(facts, "percentile_error")) == 0);
    assert_true(json_is_number(json_object_get(facts, "duration_ms")));
    json_decref(answer);
    fixture_deinit(&f);
}

/* The k-th allocation of a whole query fails, for all k. */
static void fail_allocations(struct fixture *f, enum vv_request_kind kind, const char *const *words)
{
    char *expected;
    assert_int_equal(fixture_answer(f, kind, words, 300, &expected), VV_OK);
    uint64_t failures = 0;
    for (uint64_t k = 1;; k += 1 + k / 100) {
        char *text = NULL;
        vv_sim_memory_fail(k);
        enum vv_status status = fixture_answer(f, kind, words, 300, &text);
        bool failed = vv_sim_memory_failed();
        if (status == VV_OK) { /* nothing failed, or the answer could do without */
            assert_string_equal(text, expected);
        } else {
            assert_true(failed);
            if (status != VV_NO_MEMORY) {
                fail_msg("%s: %s", vv_status_name(status), f->error.message);
            }
            failures++;
        }
        free(text);
        if (!failed) {
            break;
        }
    }
    assert_true(failures > 5);
    free(expected);
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    for (size_t i = 0; i < REQUEST_COUNT; i++) {
        fail_allocations(&f, VV_REQUEST_QUERY, requests[i]);
    }
    for (size_t i = 0; i < LIST_COUNT; i++) {
        fail_allocations(&f, lists[i].kind, lists[i].words);
    }
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_make_the_same_answer),
        cmocka_unit_test(a_call_gives_little_more_than_enough),
        cmocka_unit_test(work_is_bounded_by_time),
        cmocka_unit_test(time_runs_out_before_the_first_row),
        cmocka_unit_test(a_broken_answer_is_closed),
        cmocka_unit_test(an_answer_may_be_aborted_before_it_begins),
        cmocka_unit_test(a_full_buffer_leaves_whole_rows),
        cmocka_unit_test(names_must_exist),
        cmocka_unit_test(series_are_bounded),
        cmocka_unit_test(the_newest_accepted_future_is_shown),
        cmocka_unit_test(tenants_see_their_own),
        cmocka_unit_test(facts_are_told),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
