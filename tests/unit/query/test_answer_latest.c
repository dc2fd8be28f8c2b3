/* SPDX-License-Identifier: Apache-2.0 */
/* The newest values: from head and store, with metrics that stopped, and how little is read. */
#include "query_fixture.h"

#define SEED 9

static void the_newest_of_each(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t temp = fixture_metric(&f, "m", "temp", VV_FLOAT64);
    uint32_t count = fixture_metric(&f, "m", "count", VV_INT64);
    uint32_t a = fixture_source(&f, "a", "north");
    uint32_t b = fixture_source(&f, "b", "south");
    assert_int_equal(vv_registry_describe(f.registry, temp, VV_STR_LITERAL("°C"),
                                          (struct vv_str){NULL, 0}, NULL),
                     VV_OK);
    fixture_point(&f, a, temp, 1000 * VV_SECOND, 1.5);
    fixture_point(&f, a, temp, 2000 * VV_SECOND, 2.5);
    fixture_integer(&f, a, count, 500 * VV_SECOND, 7);
    fixture_point(&f, b, temp, 3000 * VV_SECOND, NAN);
    for (int round = 0; round < 3; round++) {
        expect_csv(&f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"),
                   "source,metric,time,value\n"
                   "a,m.count,500,7\na,m.temp,2000,2.5\nb,m.temp,3000,NaN\n");
        expect_csv(&f, VV_REQUEST_LATEST,
                   WORDS("format=csv", "time_format=s", "tag=site=north", "metric=m.temp"),
                   "source,metric,time,value\na,m.temp,2000,2.5\n");
        expect_csv(&f, VV_REQUEST_LATEST,
                   WORDS("format=csv", "time_format=s", "from=2000", "epoch=s"),
                   "source,metric,time,value\na,m.temp,2000,2.5\nb,m.temp,3000,NaN\n");
        if (round == 0) {
            fixture_flush(&f);
        } else {
            fixture_seal(&f);
        }
    }
    json_t *answer = ask_json(&f, VV_REQUEST_LATEST, WORDS("source=a", "metric=m.temp"));
    const json_t *row = json_array_get(json_object_get(answer, "latest"), 0);
    assert_string_equal(json_string_value(json_object_get(row, "source")), "a");
    assert_string_equal(json_string_value(json_object_get(row, "metric")), "m.temp");
    assert_string_equal(json_string_value(json_object_get(row, "unit")), "°C");
    assert_string_equal(json_string_value(json_object_get(row, "time")), "1970-01-01T00:33:20Z");
    assert_true(json_number_value(json_object_get(row, "value")) == 2.5);
    json_decref(answer);
    fixture_deinit(&f);
}

/* Late points in the head must not hide newer ones in the store, nor older corrections win. */
static void the_head_is_not_always_newest(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_INT64);
    uint32_t source = fixture_source(&f, "a", NULL);
    fixture_integer(&f, source, metric, 1000 * VV_SECOND, 1);
    fixture_flush(&f);
    fixture_integer(&f, source, metric, 10 * VV_SECOND, 2);
    expect_csv(&f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\na,m.v,1000,1\n");
    fixture_integer(&f, source, metric, 1000 * VV_SECOND, 3);
    fixture_integer(&f, source, metric, 1000 * VV_SECOND, 4);
    expect_csv(&f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"),
               "source,metric,time,value\na,m.v,1000,4\n");
    assert_int_equal(f.facts.pieces_read, 0); /* the head was certain */
    fixture_deinit(&f);
}

static void random_worlds(void **state)
{
    (void)state;
    struct vv_random random = {SEED};
    for (int round = 0; round < 60; round++) {
        struct fixture f;
        fixture_init(&f);
        f.flush.bucket_ns = round % 2 ? VV_HOUR : VV_DAY;
        f.flush.span_ns = VV_HOUR;
        uint32_t metrics[3] = {fixture_metric(&f, "m", "a", VV_INT64),
                               fixture_metric(&f, "m", "b", VV_INT64),
                               fixture_metric(&f, "n", "a", VV_INT64)};
        uint32_t sources[3];
        int64_t newest[3][3];
        int64_t values[3][3];
        memset(newest, 0x80, sizeof newest);
        for (int s = 0; s < 3; s++) {
            char id[2] = {(char)('a' + s), 0};
            sources[s] = fixture_source(&f, id, NULL);
        }
        for (int i = 0; i < 80; i++) {
            size_t s = (size_t)vv_random_below(&random, 3);
            size_t k = (size_t)vv_random_below(&random, 3);
            int64_t time = FIXTURE_NOW - (int64_t)vv_random_below(&random, 200) * VV_HOUR;
            fixture_integer(&f, sources[s], metrics[k], time, i);
            if (time >= newest[s][k]) {
                newest[s][k] = time;
                values[s][k] = i;
            }
            if (vv_random_below(&random, 10) == 0) {
                fixture_flush(&f);
            }
            if (vv_random_below(&random, 30) == 0) {
                fixture_seal(&f);
            }
        }
        char expected[1024] = "source,metric,time,value\n";
        static const char *const names[] = {"m.a", "m.b", "n.a"};
        for (int s = 0; s < 3; s++) {
            for (int k = 0; k < 3; k++) {
                if (newest[s][k] > 0) {
                    snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
                             "%c,%s,%lld,%lld\n", 'a' + s, names[k],
                             (long long)(newest[s][k] / VV_SECOND), (long long)values[s][k]);
                }
            }
        }
        expect_csv(&f, VV_REQUEST_LATEST, WORDS("format=csv", "time_format=s"), expected);
        fixture_deinit(&f);
    }
}

/* Ten thousand sources: the head alone, then one span of one partition each. */
static void many_sources_are_cheap(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    f.flush.bucket_ns = VV_DAY;
    f.flush.span_ns = VV_HOUR;
    uint32_t metric = fixture_metric(&f, "m", "v", VV_INT64);
    for (int i = 0; i < 10000; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        uint32_t source = fixture_source(&f, id, NULL);
        for (int k = 0; k < 3; k++) {
            fixture_integer(&f, source, metric, FIXTURE_NOW - (3 - k) * VV_HOUR, i);
        }
    }
    json_decref(ask_json(&f, VV_REQUEST_LATEST, WORDS("metric=m.v")));
    assert_int_equal(f.facts.rows, 10000);
    assert_int_equal(f.facts.pieces_read, 0);
    fixture_flush(&f);
    json_decref(ask_json(&f, VV_REQUEST_LATEST, WORDS("metric=m.v")));
    assert_int_equal(f.facts.rows, 10000);
    assert_int_equal(f.facts.partitions_read, 10000);
    assert_int_equal(f.facts.pieces_read, 10000);
    assert_int_equal(f.facts.points_read, 10000);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_of_each),
        cmocka_unit_test(the_head_is_not_always_newest),
        cmocka_unit_test(random_worlds),
        cmocka_unit_test(many_sources_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
