/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates by source: against a naive model, and the semantics that are easy to get wrong. */
#include "query_model.h"

#define SEEDS    7
#define REQUESTS 60

static void steps_equal_a_naive_model(void **state)
{
    (void)state;
    static struct model m;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_init(&m, seed + 100);
        for (int i = 0; i < REQUESTS; i++) {
            int group = vv_random_below(&m.random, 4) ? 0 : MODEL_WITH_SITE;
            struct model_query q = model_request(&m, true, group);
            model_write_words(&q);
            model_print(seed, &q);
            model_check(&m, &q);
        }
        fixture_deinit(&m.f);
    }
}

static void start(struct fixture *f, enum vv_value_type type, uint32_t *source, uint32_t *metric)
{
    fixture_init(f);
    *source = fixture_source(f, "a", NULL);
    *metric = fixture_metric(f, "m", "v", type);
}

static void first_and_last_have_times(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    for (int64_t i = 3; i < 9; i += i == 5 ? 2 : 1) { /* not of 6 */
        fixture_integer(&f, source, metric, i * VV_SECOND + 1, i);
    }
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "step=2s", "agg=first_time,last_time,last", "fill=zero"),
               "source,metric,time,first_time,last_time,last\n"
               "a,m.v,1970-01-01T00:00:02Z,1970-01-01T00:00:03.000000001Z,"
               "1970-01-01T00:00:03.000000001Z,3\n"
               "a,m.v,1970-01-01T00:00:04Z,1970-01-01T00:00:04.000000001Z,"
               "1970-01-01T00:00:05.000000001Z,5\n"
               "a,m.v,1970-01-01T00:00:06Z,1970-01-01T00:00:07.000000001Z,"
               "1970-01-01T00:00:07.000000001Z,7\n"
               "a,m.v,1970-01-01T00:00:08Z,1970-01-01T00:00:08.000000001Z,"
               "1970-01-01T00:00:08.000000001Z,8\n");
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "step=1s", "agg=last_time,count", "fill=zero",
                     "from=1970-01-01T00:00:05Z", "to=1970-01-01T00:00:08Z", "time_format=s"),
               "source,metric,time,last_time,count\n"
               "a,m.v,5,5,1\na,m.v,6,,0\na,m.v,7,7,1\n");
    json_t *answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("agg=first_time", "group_by=all"));
    json_t *series = json_array_get(json_object_get(answer, "series"), 0);
    json_t *row = json_array_get(json_object_get(series, "points"), 0);
    assert_string_equal(json_string_value(json_array_get(row, 1)),
                        "1970-01-01T00:00:03.000000001Z");
    json_decref(answer);
    fixture_deinit(&f);
}

/* A reading every ten minutes over the days on which the clocks change. */
static void days_follow_the_calendar(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    for (int64_t i = 0; i < 4 * 144; i++) {
        fixture_integer(&f, source, metric, INT64_C(1711753200) * VV_SECOND + i * 10 * VV_MINUTE,
                        1);
    }
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "step=1d", "agg=count", "tz=Europe/Berlin"),
               "source,metric,time,count\n"
               "a,m.v,2024-03-29T23:00:00Z,144\n"
               "a,m.v,2024-03-30T23:00:00Z,138\n" /* 23 hours */
               "a,m.v,2024-03-31T22:00:00Z,144\n"
               "a,m.v,2024-04-01T22:00:00Z,144\n"
               "a,m.v,2024-04-02T22:00:00Z,6\n");
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "step=1d", "agg=count"),
               "source,metric,time,count\n"
               "a,m.v,2024-03-29T00:00:00Z,6\n"
               "a,m.v,2024-03-30T00:00:00Z,144\n"
               "a,m.v,2024-03-31T00:00:00Z,144\n"
               "a,m.v,2024-04-01T00:00:00Z,144\n"
               "a,m.v,2024-04-02T00:00:00Z,138\n");
    /* Weeks begin on Mondays; steps that are not whole days ignore the zone. */
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "step=1w", "agg=count", "tz=Europe/Berlin"),
               "source,metric,time,count\n"
               "a,m.v,2024-03-24T23:00:00Z,282\n"
               "a,m.v,2024-03-31T22:00:00Z,294\n");
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "step=36h", "agg=count", "tz=Europe/Berlin", "limit=1"),
               "source,metric,time,count\na,m.v,2024-03-28T12:00:00Z,6\n");
    fixture_deinit(&f);
}

static void a_step_is_cut_at_the_range(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    for (int64_t i = 0; i < 10; i++) {
        fixture_integer(&f, source, metric, i * VV_MINUTE, i);
    }
    static const char *const expected = "source,metric,time,count,first,last\n"
                                        "a,m.v,1970-01-01T00:00:00Z,2,3,4\n"
                                        "a,m.v,1970-01-01T00:05:00Z,2,5,6\n";
    expect_csv(
        &f, VV_REQUEST_QUERY,
        WORDS("format=csv", "step=5m", "agg=count,first,last", "from=180", "to=420", "epoch=s"),
        expected);
    fixture_deinit(&f);
}

static void one_step_is_labelled_by_its_range(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    fixture_integer(&f, source, metric, 7, 5);
    fixture_integer(&f, source, metric, 9, 6);
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "agg=sum", "time_format=ns"),
               "source,metric,time,sum\na,m.v,7,11\n");
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=sum", "time_format=ns", "from=3", "order=desc"),
               "source,metric,time,sum\na,m.v,3,11\n");
    fixture_deinit(&f);
}

static void sums_of_integers(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    fixture_integer(&f, source, metric, 0, INT64_MAX);
    fixture_integer(&f, source, metric, 1, INT64_MAX);
    fixture_integer(&f, source, metric, 2, INT64_MIN);
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=sum,min,max,mean,delta", "time_format=ns", "from=0"),
               "source,metric,time,sum,min,max,mean,delta\n"
               "a,m.v,0,9223372036854775806,-9223372036854775808,9223372036854775807,"
               "3.0744573456182584e+18,-1.8446744073709552e+19\n");
    fixture_integer(&f, source, metric, 3, INT64_MAX);
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "agg=sum", "time_format=ns", "from=0"),
               "source,metric,time,sum\na,m.v,0,1.8446744073709552e+19\n");
    fixture_deinit(&f);
}

static void deviations_are_of_samples(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    for (int64_t i = 0; i < 4; i++) { /* far from 0, where doubles are coarse */
        fixture_integer(&f, source, metric, i, 1700000000000000000 + (i & 1) * 2);
    }
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "agg=stddev", "time_format=ns", "from=0"),
               "source,metric,time,stddev\na,m.v,0,1.1547005383792515\n");
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=stddev", "time_format=ns", "from=0", "to=1"),
               "source,metric,time,stddev\na,m.v,0,\n"); /* one value has none */
    fixture_deinit(&f);
}

/* Readings each ten seconds; a reset at 40 s; a gap from 60 s to 300 s. */
static void counters(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    static const int64_t times[] = {0, 10, 20, 30, 40, 50, 300, 310};
    static const int64_t values[] = {100, 110, 120, 130, 5, 15, 515, 525};
    for (int i = 0; i < 8; i++) {
        fixture_integer(&f, source, metric, times[i] * VV_SECOND, values[i]);
    }
    for (int descending = 0; descending < 2; descending++) {
        json_t *answer = ask_json(&f, VV_REQUEST_QUERY,
                                  WORDS("agg=increase,rate,delta", "step=30s", "time_format=s",
                                        descending ? "order=desc" : "order=asc"));
        static const double rows[3][4] = {{0, 20, 1, 20},            /* nothing before it */
                                          {30, 25, 25.0 / 30, -105}, /* 120 → 130, 5, 15 */
                                          {300, 510, 510.0 / 260, 510}};
        const json_t *points =
            json_object_get(json_array_get(json_object_get(answer, "series"), 0), "points");
        assert_int_equal(json_array_size(points), 3);
        for (size_t i = 0; i < 3; i++) {
            const json_t *row = json_array_get(points, descending ? 2 - i : i);
            for (size_t k = 0; k < 4; k++) {
                assert_true(model_near(json_number_value(json_array_get(row, k)), rows[i][k]));
            }
        }
        json_decref(answer);
    }
    /* The point before the range is looked for; increases add up to that of the whole. */
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=increase", "time_format=s", "from=30", "epoch=s"),
               "source,metric,time,increase\na,m.v,30,535\n");
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=increase,rate,delta", "time_format=s", "from=0", "to=5",
                     "epoch=s"),
               "source,metric,time,increase,rate,delta\na,m.v,0,,,\n");
    fixture_deinit(&f);
}

static void the_lookback_is_bounded(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    fixture_integer(&f, source, metric, 0, 100);
    fixture_integer(&f, source, metric, 2 * VV_HOUR, 150);
    static const char *const none = "source,metric,time,increase\na,m.v,7200,\n";
    static const char *const some = "source,metric,time,increase\na,m.v,7200,50\n";
    expect_csv(
        &f, VV_REQUEST_QUERY,
        WORDS("format=csv", "agg=increase", "time_format=s", "from=3601", "epoch=s", "step=1h"),
        none);
    expect_csv(
        &f, VV_REQUEST_QUERY,
        WORDS("format=csv", "agg=increase", "time_format=s", "from=3600", "epoch=s", "step=1h"),
        some);
    expect_csv(
        &f, VV_REQUEST_QUERY,
        WORDS("format=csv", "agg=increase", "time_format=s", "from=7200", "epoch=s", "step=2h"),
        some);
    /* Without steps, the range is one. */
    static const char *const whole = "source,metric,time,increase\na,m.v,7000,50\n";
    static const char *const alone = "source,metric,time,increase\na,m.v,7000,\n";
    expect_csv(
        &f, VV_REQUEST_QUERY,
        WORDS("format=csv", "agg=increase", "time_format=s", "from=7000", "to=14000", "epoch=s"),
        whole);
    expect_csv(
        &f, VV_REQUEST_QUERY,
        WORDS("format=csv", "agg=increase", "time_format=s", "from=7000", "to=13999", "epoch=s"),
        alone);
    fixture_deinit(&f);
}

/* Beyond 4,096 values the answer is within a hundredth, and says so. */
static void percentiles_of_many(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_FLOAT64, &source, &metric);
    static int64_t times[20000];
    static uint64_t values[20000];
    for (int i = 0; i < 20000; i++) {
        times[i] = i * VV_SECOND;
        values[i] = vv_bits_of_double((i * 7919 % 20000) + 1);
    }
    fixture_write(&f, source, metric, times, values, 20000);
    static const int64_t counts[] = {4096, 4097, 20000};
    for (int i = 0; i < 3; i++) {
        char to[32];
        snprintf(to, sizeof to, "to=%lld", (long long)counts[i]);
        json_t *answer =
            ask_json(&f, VV_REQUEST_QUERY, WORDS("agg=p0,p50,p99,p100,min,max", to, "epoch=s"));
        const json_t *series = json_array_get(json_object_get(answer, "series"), 0);
        const json_t *row = json_array_get(json_object_get(series, "points"), 0);
        static double sorted[20000];
        size_t n = (size_t)counts[i];
        for (size_t k = 0; k < n; k++) {
            memcpy(&sorted[k], &values[k], sizeof sorted[k]);
        }
        qsort(sorted, n, sizeof sorted[0], model_compare_doubles);
        double error = counts[i] > 4096 ? 0.0101 : 1e-12;
        double median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
        assert_true(fabs(json_number_value(json_array_get(row, 2)) / median - 1) <= error);
        double high = sorted[(size_t)(0.99 * (double)(n - 1))];
        assert_true(fabs(json_number_value(json_array_get(row, 3)) / high - 1) <= error + 1e-3);
        assert_true(json_number_value(json_array_get(row, 1)) == sorted[0]);
        assert_true(json_number_value(json_array_get(row, 4)) == sorted[n - 1]);
        double told = json_number_value(
            json_object_get(json_object_get(answer, "facts"), "percentile_error"));
        assert_true(told == (counts[i] > 4096 ? 0.01 : 0));
        json_decref(answer);
    }
    fixture_deinit(&f);
}

static void filling_goes_as_far_as_the_range_is_given(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    fixture_integer(&f, source, metric, 2 * VV_MINUTE, 10);
    fixture_integer(&f, source, metric, 4 * VV_MINUTE, 20);
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=mean,count", "step=1m", "fill=linear", "time_format=s"),
               "source,metric,time,mean,count\n"
               "a,m.v,120,10,1\na,m.v,180,15,0\na,m.v,240,20,1\n");
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=mean,count", "step=1m", "fill=previous", "time_format=s",
                     "from=60", "to=361", "epoch=s"),
               "source,metric,time,mean,count\n"
               "a,m.v,60,,0\na,m.v,120,10,1\na,m.v,180,10,0\na,m.v,240,20,1\n"
               "a,m.v,300,20,0\na,m.v,360,20,0\n");
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=mean,count", "step=1m", "fill=previous", "time_format=s",
                     "from=60", "to=361", "epoch=s", "order=desc", "limit=3"),
               "source,metric,time,mean,count\n"
               "a,m.v,360,20,0\na,m.v,300,20,0\na,m.v,240,20,1\n");
    fixture_deinit(&f);
}

/* A tiny step over years must neither hang nor fill the memory. */
static void filling_stops_with_time_and_limit(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    start(&f, VV_INT64, &source, &metric);
    fixture_integer(&f, source, metric, 0, 1);
    fixture_integer(&f, source, metric, FIXTURE_NOW, 2);
    json_decref(ask_json(&f, VV_REQUEST_QUERY,
                         WORDS("agg=last", "step=1ns", "fill=previous", "limit=1000")));
    assert_int_equal(f.facts.rows, 1000);
    struct vv_request *request;
    struct vv_result *result;
    struct vv_buffer buffer = {0};
    assert_int_equal(
        fixture_request(&f, VV_REQUEST_QUERY, WORDS("agg=last", "step=1ns", "fill=null"), &request),
        VV_OK);
    assert_int_equal(
        vv_result_open(&f.context, &f.limits, request, VV_FORMAT_CSV, &result, &f.error), VV_OK);
    for (int i = 0; i < 10; i++) {
        size_t before = buffer.size;
        assert_int_equal(vv_result_write(result, &buffer, 1000, &f.error), VV_OK);
        assert_true(buffer.size - before < 64 << 10);
    }
    vv_sim_clock_advance(&f.clock, VV_MINUTE);
    assert_int_equal(vv_result_write(result, &buffer, 1000, &f.error), VV_TIMEOUT);
    vv_result_close(result);
    vv_buffer_deinit(&buffer);
    fixture_deinit(&f);
}

int main(void)
{
    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_equal_a_naive_model),
        cmocka_unit_test(first_and_last_have_times),
        cmocka_unit_test(days_follow_the_calendar),
        cmocka_unit_test(a_step_is_cut_at_the_range),
        cmocka_unit_test(one_step_is_labelled_by_its_range),
        cmocka_unit_test(sums_of_integers),
        cmocka_unit_test(deviations_are_of_samples),
        cmocka_unit_test(counters),
        cmocka_unit_test(the_lookback_is_bounded),
        cmocka_unit_test(percentiles_of_many),
        cmocka_unit_test(filling_goes_as_far_as_the_range_is_given),
        cmocka_unit_test(filling_stops_with_time_and_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
