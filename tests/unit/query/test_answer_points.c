/* SPDX-License-Identifier: Apache-2.0 */
/* Points: against a naive model, the shapes of the answers, and how little is read. */
#include "query_model.h"

#define SEEDS    12
#define REQUESTS 40

static void points_equal_a_naive_model(void **state)
{
    (void)state;
    static struct model m;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_init(&m, seed);
        for (int i = 0; i < REQUESTS; i++) {
            int group = vv_random_below(&m.random, 2) ? MODEL_WITH_SITE : 0;
            struct model_query q = model_request(&m, false, group);
            model_write_words(&q);
            model_print(seed, &q);
            model_check(&m, &q);
        }
        fixture_deinit(&m.f);
    }
}

static void init_minutes(struct fixture *f, uint32_t *source, uint32_t *metric)
{
    fixture_init(f);
    *source = fixture_source(f, "a", "north");
    *metric = fixture_metric(f, "m", "v", VV_FLOAT64);
    for (int i = 0; i < 5; i++) {
        fixture_point(f, *source, *metric, FIXTURE_NOW - VV_HOUR + i * VV_MINUTE, i);
    }
}

static void the_shape_of_json(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    init_minutes(&f, &source, &metric);
    assert_int_equal(
        vv_registry_describe(f.registry, metric, VV_STR_LITERAL("°C"), VV_STR_LITERAL(""), NULL),
        VV_OK);
    char *text;
    assert_int_equal(
        fixture_answer(&f, VV_REQUEST_QUERY, WORDS("limit=2", "group_by=source,site"), 1, &text),
        VV_OK);
    assert_string_equal(
        text, "{\"tenant\":\"t\",\"series\":[\n"
              "{\"source\":\"a\",\"tags\":{\"site\":\"north\"},\"metric\":\"m.v\",\"unit\":\"°C\","
              "\"columns\":[\"time\",\"value\"],\"points\":[[\"2024-10-04T11:00:00Z\",0],"
              "[\"2024-10-04T11:01:00Z\",1]]}],\n"
              "\"facts\":{\"tier\":\"raw\",\"resolution\":null,\"complete\":true,\"rows\":2,"
              "\"points_read\":5,\"partitions_read\":0,\"pieces_read\":0,\"bytes_read\":0,"
              "\"percentile_error\":0,\"duration_ms\":0}}\n");
    free(text);
    fixture_deinit(&f);
}

static void the_shape_of_csv(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    init_minutes(&f, &source, &metric);
    uint32_t odd = fixture_source(&f, "x,\"y\"", "line one");
    fixture_point(&f, odd, metric, FIXTURE_NOW, 1.5);
    expect_csv(
        &f, VV_REQUEST_QUERY,
        WORDS("format=csv", "order=desc", "limit=2", "time_format=s", "group_by=source,site,none"),
        "source,site,none,metric,time,value\n"
        "a,north,,m.v,1728039840,4\n"
        "a,north,,m.v,1728039780,3\n"
        "\"x,\"\"y\"\"\",line one,,m.v,1728043200,1.5\n");
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "source=nobody"),
               "source,metric,time,value\n");
    fixture_deinit(&f);
}

static void values_that_are_not_finite(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t source = fixture_source(&f, "a", NULL);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    static const double values[] = {NAN, INFINITY, -INFINITY, -0.0};
    for (int i = 0; i < 4; i++) {
        fixture_point(&f, source, metric, i, values[i]);
    }
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=ns"),
               "source,metric,time,value\n"
               "a,m.v,0,NaN\na,m.v,1,+Inf\na,m.v,2,-Inf\na,m.v,3,-0\n");
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=ns", "where=value<=5"),
               "source,metric,time,value\na,m.v,2,-Inf\na,m.v,3,-0\n");
    json_t *answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("time_format=ns"));
    const json_t *points =
        json_object_get(json_array_get(json_object_get(answer, "series"), 0), "points");
    static const char *const texts[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(json_string_value(json_array_get(json_array_get(points, i), 1)),
                            texts[i]);
    }
    json_decref(answer);
    fixture_deinit(&f);
}

static void integers_stay_exact(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t source = fixture_source(&f, "a", NULL);
    uint32_t metric = fixture_metric(&f, "m", "n", VV_INT64);
    fixture_integer(&f, source, metric, 0, INT64_MAX);
    fixture_integer(&f, source, metric, 1, INT64_MIN);
    fixture_integer(&f, source, metric, 2, 9007199254740993);
    for (int flushed = 0; flushed < 2; flushed++) {
        expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=ns"),
                   "source,metric,time,value\n"
                   "a,m.n,0,9223372036854775807\n"
                   "a,m.n,1,-9223372036854775808\n"
                   "a,m.n,2,9007199254740993\n");
        fixture_flush(&f);
    }
    fixture_deinit(&f);
}

static void the_last_write_of_a_point_counts(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    init_minutes(&f, &source, &metric);
    fixture_flush(&f);
    fixture_seal(&f);
    fixture_point(&f, source, metric, FIXTURE_NOW - VV_HOUR, 50);
    fixture_flush(&f);
    fixture_point(&f, source, metric, FIXTURE_NOW - VV_HOUR, 60);
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=s", "limit=2"),
               "source,metric,time,value\na,m.v,1728039600,60\na,m.v,1728039660,1\n");
    fixture_deinit(&f);
}

static void expired_points_are_hidden(void **state)
{
    (void)state;
    struct fixture f;
    uint32_t source;
    uint32_t metric;
    init_minutes(&f, &source, &metric);
    vv_registry_set_retention(f.registry, f.tenant, VV_HOUR - 3 * VV_MINUTE);
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\na,m.v,1728039780,3\na,m.v,1728039840,4\n");
    vv_registry_set_retention(f.registry, f.tenant, VV_MINUTE);
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv"), "source,metric,time,value\n");
    expect_csv(&f, VV_REQUEST_LATEST, WORDS("format=csv"), "source,metric,time,value\n");
    fixture_deinit(&f);
}

static void series_come_by_source_then_metric(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metrics[3] = {fixture_metric(&f, "m", "z", VV_INT64),
                           fixture_metric(&f, "l", "z", VV_INT64),
                           fixture_metric(&f, "m", "b", VV_INT64)};
    uint32_t sources[2] = {fixture_source(&f, "second", NULL), fixture_source(&f, "first", NULL)};
    for (int s = 0; s < 2; s++) {
        for (int k = 0; k < 3; k++) {
            fixture_integer(&f, sources[s], metrics[k], 0, s * 3 + k);
        }
    }
    expect_csv(&f, VV_REQUEST_QUERY, WORDS("format=csv", "time_format=ns", "metric=m.*"),
               "source,metric,time,value\n"
               "second,m.b,0,2\nsecond,m.z,0,0\nfirst,m.b,0,5\nfirst,m.z,0,3\n");
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "time_format=ns", "metric=l.z,m.b", "source=~f*"),
               "source,metric,time,value\nfirst,l.z,0,4\nfirst,m.b,0,5\n");
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_equal_a_naive_model),
        cmocka_unit_test(the_shape_of_json),
        cmocka_unit_test(the_shape_of_csv),
        cmocka_unit_test(values_that_are_not_finite),
        cmocka_unit_test(integers_stay_exact),
        cmocka_unit_test(the_last_write_of_a_point_counts),
        cmocka_unit_test(expired_points_are_hidden),
        cmocka_unit_test(series_come_by_source_then_metric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
