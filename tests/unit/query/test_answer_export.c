/* SPDX-License-Identifier: Apache-2.0 */
/* Exports: order, selection, tags of their time, limits, and how a broken one ends. */
#include "query_fixture.h"

#define HOUR(n) (FIXTURE_NOW - VV_DAY + (n)*VV_HOUR)
#define T0      "1727956800000000000"
#define T1      "1727960400000000000"
#define T2      "1727964000000000000"

static void fill(struct fixture *f)
{
    fixture_init(f);
    /* Numbers in another order than names. */
    uint32_t pump = fixture_metric(f, "pump", "t", VV_FLOAT64);
    uint32_t fan_b = fixture_metric(f, "fan", "b", VV_INT64);
    uint32_t fan_a = fixture_metric(f, "fan", "a", VV_FLOAT64);
    uint32_t fans =
        fixture_metric(f, "fan.x", "c", VV_INT64); /* between fan.a and fan.xb by name */
    uint32_t z = fixture_source(f, "z", "north");
    uint32_t a = fixture_source(f, "a", NULL);
    fixture_point(f, z, pump, HOUR(1), 2);
    fixture_point(f, z, pump, HOUR(0), 1);
    fixture_integer(f, z, fan_b, HOUR(1), 7);
    fixture_point(f, z, fan_a, HOUR(1), 0.5);
    fixture_flush(f);
    fixture_integer(f, z, fans, HOUR(0), -1);
    fixture_integer(f, z, fan_b, HOUR(2), 8);
    fixture_point(f, a, pump, HOUR(2), 3);
}

static void all_points_come_in_one_order(void **state)
{
    (void)state;
    static const char all[] = "pump,id=a t=3 " T2 "\n"
                              "fan,id=z,site=north a=0.5,b=7i " T1 "\n"
                              "fan,id=z,site=north b=8i " T2 "\n"
                              "fan.x,id=z,site=north c=-1i " T0 "\n"
                              "pump,id=z,site=north t=1 " T0 "\n"
                              "pump,id=z,site=north t=2 " T1 "\n";
    struct fixture f;
    fill(&f);
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("format=line"), all);
    assert_int_equal(f.facts.rows, 7); /* values */
    fixture_flush(&f);
    expect_csv(&f, VV_REQUEST_EXPORT, (const char *const[]){"tenant=t", NULL}, all);
    fixture_seal(&f);
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("format=line"), all);
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("format=csv", "source=z", "measurement=fan"),
               "source,measurement,field,time,type,value\n"
               "z,fan,a," T1 ",float,0.5\nz,fan,b," T1 ",int,7\nz,fan,b," T2 ",int,8\n");
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("format=jsonl", "source=a"),
               "{\"measurement\":\"pump\",\"tags\":{\"id\":\"a\"},\"time\":" T2
               ",\"fields\":{\"t\":3.0}}\n");
    fixture_deinit(&f);
}

static void a_part_can_be_asked_for(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("measurement=fan*", "to=" T1),
               "fan.x,id=z,site=north c=-1i " T0 "\n");
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("measurement=pump", "measurement=fan.x", "from=" T1),
               "pump,id=a t=3 " T2 "\npump,id=z,site=north t=2 " T1 "\n");
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("tag=site=north", "metric=fan.b"),
               "fan,id=z,site=north b=7i " T1 "\nfan,id=z,site=north b=8i " T2 "\n");
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("source=nobody"), "");
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("format=csv", "source=nobody"),
               "source,measurement,field,time,type,value\n");
    expect_error(&f, VV_REQUEST_EXPORT, WORDS("measurement=none"), VV_NOT_FOUND, "measurement");
    expect_error(&f, VV_REQUEST_EXPORT, WORDS("metric=none"), VV_NOT_FOUND, "none");
    expect_error(&f, VV_REQUEST_EXPORT, (const char *const[]){"tenant=nobody", NULL}, VV_NOT_FOUND,
                 "nobody");
    fixture_deinit(&f);
}

static void hostile_parameters_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"limit=1", "limit"},
        {"order=desc", "order"},
        {"agg=mean", "agg"},
        {"format=json", "line, jsonl, csv"},
        {"format=", "empty"},
        {"measurement=", "empty"},
        {"measurement=a\nb", "control"},
        {"measurement=\xff", "UTF-8"},
        {"from=x", "from"},
        {"partial=allowed", "partial"},
        {"time_format=s", "time_format"},
    };
    struct fixture f;
    fill(&f);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect_error(&f, VV_REQUEST_EXPORT, WORDS(bad[i][0]), VV_INVALID, bad[i][1]);
    }
    expect_error(&f, VV_REQUEST_QUERY, WORDS("measurement=m"), VV_INVALID, "measurement");
    expect_error(&f, VV_REQUEST_QUERY, WORDS("format=line"), VV_INVALID, "format");
    fixture_deinit(&f);
}

static void tags_are_those_of_the_time(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    uint32_t metric = fixture_metric(&f, "m", "v", VV_INT64);
    static const char *const sites[] = {"north", "south", "east"};
    uint32_t source = 0;
    for (int i = 0; i < 3; i++) {
        struct vv_tag tags[2] = {{VV_STR_LITERAL("id"), VV_STR_LITERAL("a")},
                                 {VV_STR_LITERAL("site"), vv_str_of(sites[i])}};
        assert_int_equal(vv_registry_source(f.registry, f.tenant, tags, 2, HOUR(i), &source, NULL),
                         VV_OK);
        fixture_integer(&f, source, metric, HOUR(i) - 1, i);
        fixture_integer(&f, source, metric, HOUR(i), 10 + i);
    }
    expect_csv(&f, VV_REQUEST_EXPORT, WORDS("format=line"),
               "m,id=a,site=north v=0i 1727956799999999999\n"
               "m,id=a,site=north v=10i " T0 "\n"
               "m,id=a,site=north v=1i 1727960399999999999\n"
               "m,id=a,site=south v=11i " T1 "\n"
               "m,id=a,site=south v=2i 1727963999999999999\n"
               "m,id=a,site=east v=12i " T2 "\n");
    fixture_deinit(&f);
}

/* Neither the time nor the series of queries bound it. */
static void limits_of_queries_do_not_end_it(void **state)
{
    (void)state;
    struct fixture f;
    struct vv_request *request;
    struct vv_result *result;
    struct vv_buffer buffer = {0};
    char *text;
    enum vv_status status = VV_OK;
    fill(&f);
    f.limits.series_max = 1;
    f.limits.time_ns_max = VV_SECOND;
    assert_int_equal(fixture_answer(&f, VV_REQUEST_QUERY, WORDS("format=csv"), 1 << 20, &text),
                     VV_TOO_LARGE);
    assert_int_equal(fixture_request(&f, VV_REQUEST_EXPORT, WORDS("format=line"), &request), VV_OK);
    assert_int_equal(
        vv_result_open(&f.context, &f.limits, request, VV_FORMAT_JSON, &result, &f.error), VV_OK);
    while (status == VV_OK) {
        status = vv_result_write(result, &buffer, 1, &f.error);
        vv_sim_clock_advance(&f.clock, VV_MINUTE);
    }
    assert_int_equal(status, VV_DONE);
    vv_result_close(result);
    vv_buffer_deinit(&buffer);
    fixture_deinit(&f);
}

static void a_broken_one_says_so_in_its_last_line(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        const char *end;
    } cases[] = {
        {"format=line", "\n# error: io_error: it \"broke\" off\n"},
        {"format=csv", "\n# error: io_error: it \"broke\" off\n"},
        {"format=jsonl", "\n{\"error\":\"io_error\",\"message\":\"it \\\"broke\\\" off\"}\n"},
    };
    struct fixture f;
    fill(&f);
    for (size_t i = 0; i < 3; i++) {
        struct vv_request *request;
        struct vv_result *result;
        struct vv_buffer buffer = {0};
        struct vv_error error = {.message = "it \"broke\"\noff"};
        assert_int_equal(fixture_request(&f, VV_REQUEST_EXPORT, WORDS(cases[i].format), &request),
                         VV_OK);
        assert_int_equal(
            vv_result_open(&f.context, &f.limits, request, VV_FORMAT_JSON, &result, &f.error),
            VV_OK);
        while (buffer.size == 0) {
            assert_int_equal(vv_result_write(result, &buffer, 1, &f.error), VV_OK);
        }
        vv_result_abort(result, &buffer, VV_IO, &error);
        vv_buffer_u8(&buffer, 0);
        const char *text = (const char *)buffer.data;
        size_t size = strlen(text);
        assert_true(size > strlen(cases[i].end));
        assert_string_equal(text + size - strlen(cases[i].end), cases[i].end);
        vv_result_close(result);
        vv_buffer_deinit(&buffer);
    }
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_points_come_in_one_order),
        cmocka_unit_test(a_part_can_be_asked_for),
        cmocka_unit_test(hostile_parameters_are_refused),
        cmocka_unit_test(tags_are_those_of_the_time),
        cmocka_unit_test(limits_of_queries_do_not_end_it),
        cmocka_unit_test(a_broken_one_says_so_in_its_last_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
