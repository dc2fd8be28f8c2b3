/* SPDX-License-Identifier: Apache-2.0 */
/* The doors for deletions: ours, and that of InfluxDB 2. */
#include "door_fixture.h"

#include "http/influx_delete.h"

#define PATH "/api/v1/delete"

static void a_deletion_says_what_it_concerns(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "POST", PATH, "Content-Type: application/json\r\n", "{\"rows\":5}", 200);
    assert_string_equal(response.body,
                        "{\"dry_run\":false,\"sources\":5,\"metrics\":2,\"markers\":3,"
                        "\"from\":\"1970-01-01T00:00:01Z\",\"to\":\"1970-01-02T00:00:00Z\"}\n");
    response_free(&response);
    response = ask(door, "POST", PATH, "Content-Type: application/x-www-form-urlencoded\r\n",
                   "rows=0&quiet=1", 200);
    assert_string_equal(response.body, "{\"dry_run\":true,\"sources\":0,\"metrics\":2,"
                                       "\"markers\":3,\"from\":null,\"to\":null}\n");
    response_free(&response);
    response = ask(door, "POST", PATH "?rows=7", "", "", 200);
    assert_contains(response.body, "\"sources\":7");
    response_free(&response);
}

static void what_is_wrong_is_said(void **state)
{
    struct door *door = *state;
    char target[64];
    static const struct {
        enum vv_status status;
        int code;
    } cases[] = {{VV_INVALID, 400},  {VV_NOT_FOUND, 404}, {VV_TOO_LARGE, 413},
                 {VV_OVERLOAD, 503}, {VV_FULL, 503},      {VV_NO_MEMORY, 503}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(target, sizeof target, PATH "?rows=1&status=%d", (int)cases[i].status);
        struct response response = ask(door, "POST", target, "", "", cases[i].code);
        assert_contains(response.body, "the test says so");
        response_free(&response);
    }
    expect(door, "POST", PATH "?rows=x", "", "", 400);
    expect(door, "POST", PATH "?rows=1", "", "{\"rows\":1}", 400);
    expect(door, "GET", PATH "?rows=1", "", NULL, 405);
}

static void influxdb_2_deletes_by_a_predicate(void **state)
{
    struct door *door = *state;
    const char *path = "/api/v2/delete?org=o&bucket=del";
    static const char *const bad[] = {"",
                                      "\"\"",
                                      "\"host\"",
                                      "\"host=a\"",
                                      "\"host=\\\"a\\\" OR host=\\\"b\\\"\"",
                                      "\"host!=\\\"a\\\"\"",
                                      "\"host=\\\"a\"",
                                      "\"_field=\\\"v\\\"\"",
                                      "\"host=\\\"a\\\" AND\""};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vv_parameters parameters = {0};
        char body[200];
        int size = snprintf(body, sizeof body, "{\"start\":\"a\",\"stop\":\"b\"%s%s}",
                            bad[i][0] ? ",\"predicate\":" : "", bad[i]);
        struct vv_str text = {body, (size_t)size};
        assert_int_equal(vv_influx_delete_parse((struct vv_str){0}, text, &parameters, NULL),
                         VV_INVALID);
        vv_parameters_deinit(&parameters);
        expect(door, "POST", path, "", body, 400);
    }
    expect(door, "POST", path, "", "{\"predicate\":\"host=\\\"a\\\"\"}", 400);
    expect(door, "POST", path, "", "[]", 400);
    expect(door, "POST", path, "", "", 400);
}

static void assert_parameter(const struct vv_parameters *parameters, const char *name,
                             const char *value)
{
    struct vv_str found = vv_parameters_find(parameters, name);
    assert_true(vv_str_equal(found, vv_str_of(value)));
}

/* In our own words none of its characters may mean anything. */
static void a_predicate_keeps_its_texts(void **state)
{
    (void)state;
    struct vv_parameters parameters = {0};
    struct vv_str body =
        VV_STR_LITERAL("{\"start\":\"a\",\"stop\":\"b\",\"predicate\":"
                       "\" _measurement = 'm*' and \\\"k|=\\\"=\\\"~x\\\\\\\"y!\\\"\"}");
    assert_int_equal(vv_influx_delete_parse(VV_STR_LITERAL("t&t"), body, &parameters, NULL), VV_OK);
    assert_int_equal(parameters.n, 5);
    assert_parameter(&parameters, "tenant", "t&t");
    assert_parameter(&parameters, "from", "a");
    assert_parameter(&parameters, "to", "b");
    assert_parameter(&parameters, "measurement", "m\\*");
    assert_parameter(&parameters, "tag", "k\\|\\==\\~x\"y\\!");
    vv_parameters_deinit(&parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        door_test(a_deletion_says_what_it_concerns),
        door_test(what_is_wrong_is_said),
        door_test(influxdb_2_deletes_by_a_predicate),
        cmocka_unit_test(a_predicate_keeps_its_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
