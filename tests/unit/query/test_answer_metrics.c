/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of metrics. */
#include "query_fixture.h"

static void fill(struct fixture *f)
{
    fixture_init(f);
    uint32_t metric = fixture_metric(f, "press", "temp", VV_FLOAT64);
    (void)fixture_metric(f, "press", "count", VV_INT64);
    (void)fixture_metric(f, "pump", "flow", VV_FLOAT64);
    assert_int_equal(vv_registry_describe(f->registry, metric, VV_STR_LITERAL("°C"),
                                          VV_STR_LITERAL("of the \"ram\", measured"), NULL),
                     VV_OK);
}

static void lists_metrics_by_name(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    expect_csv(&f, VV_REQUEST_METRICS, WORDS("format=csv"),
               "metric,measurement,type,unit,description\n"
               "press.count,press,integer,,\n"
               "press.temp,press,float,°C,\"of the \"\"ram\"\", measured\"\n"
               "pump.flow,pump,float,,\n");
    expect_csv(&f, VV_REQUEST_METRICS, WORDS("format=csv", "metric=*.flow,press.c*"),
               "metric,measurement,type,unit,description\n"
               "press.count,press,integer,,\npump.flow,pump,float,,\n");
    expect_csv(&f, VV_REQUEST_METRICS, WORDS("format=csv", "limit=1"),
               "metric,measurement,type,unit,description\npress.count,press,integer,,\n");
    json_t *answer = ask_json(&f, VV_REQUEST_METRICS, WORDS("metric=press.temp"));
    const json_t *one = json_array_get(json_object_get(answer, "metrics"), 0);
    assert_string_equal(json_string_value(json_object_get(one, "type")), "float");
    assert_string_equal(json_string_value(json_object_get(one, "description")),
                        "of the \"ram\", measured");
    json_decref(answer);
    fixture_deinit(&f);
}

static void more_than_are_written_at_once(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 300; i++) {
        char field[16];
        snprintf(field, sizeof field, "f%d", i);
        (void)fixture_metric(&f, "m", field, VV_FLOAT64);
    }
    json_t *answer = ask_json(&f, VV_REQUEST_METRICS, WORDS("limit=1000"));
    assert_int_equal(json_array_size(json_object_get(answer, "metrics")), 300);
    json_decref(answer);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_metrics_by_name),
        cmocka_unit_test(more_than_are_written_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
