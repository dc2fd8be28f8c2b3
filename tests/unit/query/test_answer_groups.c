/* SPDX-License-Identifier: Apache-2.0 */
/* Aggregates over groups of sources: against a naive model, bounds of memory. */
#include "query_model.h"

#define SEEDS    6
#define REQUESTS 60

static void groups_equal_a_naive_model(void **state)
{
    (void)state;
    static struct model m;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_init(&m, seed + 200);
        for (int i = 0; i < REQUESTS; i++) {
            int group = vv_random_below(&m.random, 2) ? MODEL_ALL : MODEL_BY_SITE;
            struct model_query q = model_request(&m, true, group);
            model_write_words(&q);
            model_print(seed, &q);
            model_check(&m, &q);
        }
        fixture_deinit(&m.f);
    }
}

/* Of equal times, the source that was seen first gives first and last. */
static void ties_are_decided_by_the_source(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_INT64);
    uint32_t z = fixture_source(&f, "z", "x");
    uint32_t a = fixture_source(&f, "a", "x");
    fixture_integer(&f, a, metric, 5, 1);
    fixture_integer(&f, z, metric, 5, 2);
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=first,last,count", "group_by=site", "time_format=ns"),
               "source,site,metric,time,first,last,count\n,x,m.v,5,2,2,2\n");
    fixture_deinit(&f);
}

/* Rates and increases of a group are the sums of its sources'. */
static void changes_are_added_up(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_INT64);
    for (int s = 0; s < 3; s++) {
        char id[2] = {(char)('a' + s), 0};
        uint32_t source = fixture_source(&f, id, NULL);
        for (int64_t i = 0; i < 3 && s < 2; i++) {
            fixture_integer(&f, source, metric, i * 10 * VV_SECOND, (s + 1) * i * 100);
        }
        if (s == 2) { /* a single point has no change to tell */
            fixture_integer(&f, source, metric, 0, 1000000);
        }
    }
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=rate,increase,delta", "group_by=all", "time_format=ns"),
               "source,metric,time,rate,increase,delta\n,m.v,0,30,600,600\n");
    fixture_deinit(&f);
}

static void groups_are_ordered_by_their_values(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_INT64);
    static const char *const sites[] = {"b", "ab", "", "a", "b"};
    for (int s = 0; s < 5; s++) {
        char id[2] = {(char)('a' + s), 0};
        fixture_integer(&f, fixture_source(&f, id, sites[s]), metric, 0, s);
    }
    expect_csv(&f, VV_REQUEST_QUERY,
               WORDS("format=csv", "agg=sum", "group_by=site,none", "time_format=ns"),
               "source,site,none,metric,time,sum\n"
               ",,,m.v,0,2\n,a,,m.v,0,3\n,ab,,m.v,0,1\n,b,,m.v,0,4\n");
    fixture_deinit(&f);
}

/* Steps beyond the memory are refused; percentiles become sketches before that. */
static void memory_is_bounded(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    static int64_t times[20000];
    static uint64_t values[20000];
    for (int s = 0; s < 4; s++) {
        char id[2] = {(char)('a' + s), 0};
        uint32_t source = fixture_source(&f, id, NULL);
        for (int i = 0; i < 20000; i++) {
            times[i] = FIXTURE_NOW - 20000 * VV_SECOND + i * VV_SECOND;
            values[i] = vv_bits_of_double(i % 100 + 1);
        }
        fixture_write(&f, source, metric, times, values, 20000);
    }
    f.limits.memory_bytes_max = 4 << 20;
    expect_error(&f, VV_REQUEST_QUERY, WORDS("agg=mean", "group_by=all", "step=1s"), VV_TOO_LARGE,
                 "take a longer step");
    json_t *answer =
        ask_json(&f, VV_REQUEST_QUERY, WORDS("agg=p50,count", "group_by=all", "step=15m"));
    assert_int_equal(f.facts.rows, 23);
    json_decref(answer);
    f.limits.memory_bytes_max = 600000;
    answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("agg=p50,count", "group_by=all", "step=15m"));
    assert_int_equal(f.facts.rows, 23);
    assert_true(f.facts.percentile_error == 0.01);
    json_decref(answer);
    fixture_deinit(&f);
}

static void groups_themselves_are_bounded(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_FLOAT64);
    for (int i = 0; i < 5000; i++) {
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        fixture_point(&f, fixture_source(&f, id, id), metric, i * VV_SECOND, i);
    }
    json_t *answer = ask_json(&f, VV_REQUEST_QUERY, WORDS("agg=mean", "group_by=site"));
    assert_int_equal(f.facts.rows, 5000);
    json_decref(answer);
    f.limits.memory_bytes_max = 200000;
    expect_error(&f, VV_REQUEST_QUERY, WORDS("agg=mean", "group_by=site"), VV_TOO_LARGE,
                 "group by fewer tags");
    fixture_deinit(&f);
}

int main(void)
{
    setenv("TZ", "Europe/Berlin", 1);
    tzset();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_equal_a_naive_model),
        cmocka_unit_test(ties_are_decided_by_the_source),
        cmocka_unit_test(changes_are_added_up),
        cmocka_unit_test(groups_are_ordered_by_their_values),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(groups_themselves_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
