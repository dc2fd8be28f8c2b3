/* SPDX-License-Identifier: Apache-2.0 */
/* Requests as JSON objects: the same as their parameters. */
#include "query/request.h"
#include "query_fixture.h"

static struct vv_request *accept(const char *json)
{
    struct vv_request *request;
    struct vv_error error = {0};
    if (vv_request_parse_json(VV_REQUEST_QUERY, vv_str_of(json), FIXTURE_NOW, &request, &error) !=
        VV_OK) {
        fail_msg("%s: %s", json, error.message);
    }
    return request;
}

static void members_are_parameters(void **state)
{
    (void)state;
    struct vv_request *request = accept(
        "{\"metric\": [\"a.b\", \"c,d\"], \"from\": 1700000000, \"epoch\": \"s\","
        " \"limit\": 10, \"tag\": [\"site=north\"], \"agg\": \"mean\", \"order\": \"desc\","
        " \"source\": [], \"where\": [\"value>1.5\", \"value<3\"], \"tenant\": \"\\u00fc\"}");
    assert_int_equal(request->metrics.n, 3);
    assert_true(request->from == 1700000000 * VV_SECOND);
    assert_int_equal(request->limit, 10);
    assert_int_equal(request->n_matchers, 1);
    assert_true(request->descending);
    assert_int_equal(request->ids.n, 0);
    assert_true(request->where.low > 1.5 && request->where.high < 3);
    assert_true(vv_str_equal(vv_request_tenant(request), vv_str_of("ü")));
    vv_request_destroy(request);
    vv_request_destroy(accept("{}"));
}

static void booleans_are_words(void **state)
{
    (void)state;
    struct vv_request *request;
    assert_int_equal(vv_request_parse_json(VV_REQUEST_SOURCES,
                                           VV_STR_LITERAL("{\"history\": true}"), 0, &request,
                                           NULL),
                     VV_OK);
    assert_true(request->history);
    vv_request_destroy(request);
}

static void refuse(const char *json, size_t size, const char *part)
{
    struct vv_request *request;
    struct vv_error error = {0};
    if (vv_request_parse_json(VV_REQUEST_QUERY, (struct vv_str){json, size}, 0, &request, &error) !=
        VV_INVALID) {
        fail_msg("'%s' is accepted", json);
    }
    assert_null(request);
    if (!strstr(error.message, part)) {
        fail_msg("'%s' does not say '%s'", error.message, part);
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"", "the JSON is wrong at line 1"},
        {"[]", "must be a JSON object"},
        {"{\"metric\": \"a\"", "the JSON is wrong at line 1"},
        {"{\"metric\":\n }", "line 2"},
        {"{\"metric\": null}", "'metric' must be a string"},
        {"{\"metric\": {\"a\": 1}}", "'metric' must be a string"},
        {"{\"metric\": [[\"a\"]]}", "'metric' must be a string"},
        {"{\"limit\": 1, \"limit\": 2}", "the JSON is wrong"},
        {"{\"limit\": [1, 2]}", "limit is given twice"},
        {"{\"limit\": 1.5}", "limit '1.5'"},
        {"{\"metrik\": \"a\"}", "did you mean 'metric'"},
        {"{\"a\\u0000b\": \"a\"}", "the JSON is wrong"},
        {"{\"metric\": \"\xff\"}", "the JSON is wrong"},
        {"{\"from\": 99999999999999999999}", "the JSON is wrong"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        refuse(wrong[i][0], strlen(wrong[i][0]), wrong[i][1]);
    }
    refuse(NULL, 0, "the JSON is wrong");
}

static void deep_and_long_input_is_bounded(void **state)
{
    (void)state;
    static char deep[200000];
    memset(deep, '[', sizeof deep);
    refuse(deep, sizeof deep, "the JSON is wrong");
    static char many[400000];
    size_t size = (size_t)snprintf(many, sizeof many, "{\"tag\": [");
    for (int i = 0; i < 66000; i++) {
        size += (size_t)snprintf(many + size, sizeof many - size, "%s\"a\"", i ? "," : "");
    }
    size += (size_t)snprintf(many + size, sizeof many - size, "]}");
    refuse(many, size, "too many parameters");
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    struct vv_str json = VV_STR_LITERAL("{\"metric\": [\"a\", 1, true, 2.5], \"limit\": 3}");
    for (uint64_t k = 1;; k++) {
        struct vv_request *request;
        struct vv_error error = {0};
        vv_sim_memory_fail(k);
        enum vv_status status = vv_request_parse_json(VV_REQUEST_QUERY, json, 0, &request, &error);
        bool failed = vv_sim_memory_failed();
        vv_request_destroy(request);
        if (!failed) {
            assert_int_equal(status, VV_OK);
            break;
        }
        assert_int_equal(status, VV_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_parameters), cmocka_unit_test(booleans_are_words),
        cmocka_unit_test(what_is_refused),        cmocka_unit_test(deep_and_long_input_is_bounded),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
