/* SPDX-License-Identifier: Apache-2.0 */
/* Everything else of the door: health, administration, InfluxQL, paths and methods, and clients
 * that do not speak HTTP well. */
#include "door_fixture.h"
#include "http/http_private.h"

#include <jansson.h>
#include <sched.h>

static json_t *parsed(const struct response *response)
{
    json_error_t problem;
    json_t *root = json_loadb(response->body, response->body_size, 0, &problem);
    if (!root) {
        fail_msg("no JSON (%s): %s", problem.text, response->body);
    }
    return root;
}

static void test_root_lists_the_paths(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "GET", "/", "", NULL, 200);
    json_t *root = parsed(&response);
    assert_string_equal(json_string_value(json_object_get(root, "name")), "varve");
    assert_true(json_array_size(json_object_get(root, "paths")) > 10);
    json_decref(root);
    response_free(&response);
}

static void test_health(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "GET", "/ping", "", NULL, 204);
    assert_header(&response, "X-Influxdb-Version", "1.8.10-varve");
    assert_header(&response, "X-Influxdb-Build", "Varve");
    response_free(&response);
    response = ask(door, "GET", "/health", "", NULL, 200);
    assert_contains(response.body, "\"status\":\"pass\"");
    response_free(&response);
    response = ask(door, "GET", "/ready", "", NULL, 200);
    assert_contains(response.body, "\"status\":\"ready\"");
    assert_null(strstr(response.body, "reason"));
    response_free(&response);
    atomic_store(&door->engine->in_spite, true);
    response = ask(door, "GET", "/ready", "", NULL, 200);
    assert_contains(response.body, "\"status\":\"ready\"");
    assert_contains(response.body, "\"reason\":\"the test says so\"");
    response_free(&response);
    response = ask(door, "GET", "/health", "", NULL, 200);
    assert_contains(response.body, "\"ready\":true,\"message\":\"the test says so\"");
    response_free(&response);
    atomic_store(&door->engine->in_spite, false);
    atomic_store(&door->engine->admit, VV_FULL);
    response = ask(door, "GET", "/ready", "", NULL, 503);
    assert_contains(response.body, "\"reason\":\"the test says so\"");
    assert_null(strstr(response.body, "replayed_bytes"));
    response_free(&response);
    expect(door, "GET", "/health", "", NULL, 200);
    expect(door, "GET", "/api/v1/query?rows=1", "", NULL, 200); /* reading goes on */
}

static void test_plans(void **state)
{
    struct door *door = *state;
    struct vv_registry *registry = door->engine->context.registry;
    const struct vv_tag tag = {VV_STR_LITERAL("host"), VV_STR_LITERAL("a b")};
    const char *path = "/api/v1/plans?tenant=plans&source=host%3Da%5C%20b";
    uint32_t tenant;
    uint32_t source;
    assert_int_equal(vv_registry_tenant(registry, VV_STR_LITERAL("plans"), true, &tenant, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_source(registry, tenant, &tag, 1, 0, &source, NULL), VV_OK);
    struct response response = ask(door, "GET", path, "", NULL, 200);
    assert_contains(response.body, "\"plans\":[]");
    response_free(&response);
    char change[160];
    snprintf(change, sizeof change, "%s&bucket=1h&splits=4", path);
    response = ask(door, "PUT", change, "", "", 200);
    assert_contains(response.body, "{\"source\":\"host=a\\\\ b\",\"plans\":[\n{\"from\":null,"
                                   "\"bucket\":\"1h\",\"span\":\"1m\",\"splits\":4,"
                                   "\"state\":\"present\"}]}");
    response_free(&response);
    const struct vv_plan plans[] = {{VV_TIME_MIN, VV_DAY, VV_HOUR, 1, 0},
                                    {VV_DAY, VV_HOUR, VV_HOUR, 2, 0},
                                    {VV_TIME_MAX - VV_DAY, 2 * VV_HOUR, VV_HOUR, 3, 0}};
    assert_int_equal(vv_registry_source_set_plans(registry, source, plans, 3), VV_OK);
    response = ask(door, "GET", path, "", NULL, 200);
    assert_contains(response.body, "\"splits\":1,\"state\":\"past\"}");
    assert_contains(response.body, "{\"from\":\"1970-01-02T00:00:00Z\",\"bucket\":\"1h\"");
    assert_contains(response.body, "\"splits\":2,\"state\":\"present\"}");
    assert_contains(response.body, "\"splits\":3,\"state\":\"ahead\"}");
    response_free(&response);
    static const char *const wrong[] = {
        "&splits=0",  "&splits=65",         "&splits=x",   "&bucket=soon",
        "&bucket=0s", "&span=2h&bucket=1h", "&buckets=1h", ""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(change, sizeof change, "%s%s", path, wrong[i]);
        expect(door, "PUT", change, "", "", 400);
    }
    snprintf(change, sizeof change, "%s&bucket=1h", path);
    expect(door, "GET", change, "", NULL, 400);
    expect(door, "GET", "/api/v1/plans?tenant=plans", "", NULL, 400);
    expect(door, "GET", "/api/v1/plans?tenant=plans&source=none", "", NULL, 404);
    expect(door, "PUT", "/api/v1/plans?tenant=none&source=none&splits=2", "", "", 404);
}

static void test_nodes(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "GET", "/api/v1/nodes", "", NULL, 200);
    json_t *root = parsed(&response);
    const json_t *nodes = json_object_get(root, "nodes");
    assert_int_equal(json_array_size(nodes), 3);
    const json_t *self = json_array_get(nodes, 0);
    assert_int_equal(json_integer_value(json_object_get(self, "node")), 2);
    assert_true(json_is_true(json_object_get(self, "self")));
    assert_string_equal(json_string_value(json_object_get(self, "state")), "live");
    assert_true(json_real_value(json_object_get(self, "age_seconds")) == 0); /* not below */
    const json_t *gone = json_array_get(nodes, 1);
    assert_string_equal(json_string_value(json_object_get(gone, "state")), "gone");
    assert_true(json_is_false(json_object_get(gone, "self")));
    assert_true(json_is_false(json_object_get(self, "partial")));
    assert_true(json_is_true(json_object_get(gone, "partial")));
    assert_string_equal(json_string_value(json_object_get(gone, "flushed_until")),
                        "1970-01-01T00:01:30Z");
    assert_true(json_real_value(json_object_get(gone, "age_seconds")) > 1e9);
    const json_t *unknown = json_array_get(nodes, 2);
    assert_true(json_is_null(json_object_get(unknown, "flushed_until")));
    assert_true(json_is_null(json_object_get(unknown, "age_seconds")));
    assert_string_equal(json_string_value(json_object_get(self, "region")), "east");
    assert_string_equal(json_string_value(json_object_get(gone, "region")), "west");
    assert_contains(response.body, "{\"region\":\"east\",\"self\":true,\"state\":\"readable\"}");
    assert_contains(response.body, "{\"region\":\"west\",\"self\":false,\"state\":\"absent\"}");
    json_decref(root);
    response_free(&response);
    atomic_store(&door->engine->alone, true);
    response = ask(door, "GET", "/api/v1/nodes", "", NULL, 200);
    root = parsed(&response);
    assert_int_equal(json_array_size(json_object_get(root, "nodes")), 1);
    assert_null(json_object_get(root, "regions"));
    assert_null(json_object_get(json_array_get(json_object_get(root, "nodes"), 0), "region"));
    json_decref(root);
    response_free(&response);
    expect(door, "POST", "/api/v1/nodes", "", "", 405);
}

static void test_recovering(void **state)
{
    struct door *door = *state;
    atomic_store(&door->engine->recovering, true);
    struct response response = ask(door, "GET", "/ready", "", NULL, 503);
    assert_contains(response.body, "\"replayed_bytes\":42");
    response_free(&response);
    expect(door, "GET", "/health", "", NULL, 200);
    expect(door, "GET", "/ping", "", NULL, 204);
    expect(door, "GET", "/metrics", "", NULL, 200);
    expect(door, "GET", "/", "", NULL, 200);
    expect(door, "POST", "/write?db=a", "", "m v=1\n", 503);
    expect(door, "GET", "/api/v1/query?rows=1", "", NULL, 503);
    expect(door, "GET", "/api/v1/tenants", "", NULL, 503);
    expect(door, "GET", "/api/v1/nodes", "", NULL, 503);
    expect(door, "GET", "/query?q=SHOW+DATABASES", "", NULL, 503);
    atomic_store(&door->engine->recovering, false);
    expect(door, "POST", "/write?db=a", "", "m v=1\n", 204);
    expect(door, "GET", "/api/v1/query?rows=1", "", NULL, 200);
}

static void test_metrics(void **state)
{
    struct door *door = *state;
    expect(door, "POST", "/write?db=a", "", "m v=1\n", 204);
    expect(door, "GET", "/nowhere", "", NULL, 404);
    /* Counted when an answer's last byte has gone, which may be a little after it was read here. */
    for (bool seen = false; !seen;) {
        struct response response = ask(door, "GET", "/metrics", "", NULL, 200);
        assert_header(&response, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
        assert_contains(response.body, "fake_engine 1\n");
        assert_contains(response.body, "varve_http_connections ");
        seen =
            strstr(response.body, "varve_http_requests_total{path=\"/write\",code=\"204\"} 1\n") &&
            strstr(response.body, "varve_http_requests_total{path=\"other\",code=\"404\"} 1\n") &&
            strstr(response.body, "varve_http_received_bytes_total 6\n");
        response_free(&response);
    }
}

static void test_paths_and_methods(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "GET", "/api/v1/nothing", "", NULL, 404);
    json_t *root = parsed(&response);
    assert_int_equal(json_array_size(json_object_get(root, "paths")), 25);
    assert_string_equal(json_string_value(json_object_get(root, "where")), "GET /api/v1/nothing");
    json_decref(root);
    response_free(&response);
    response = ask(door, "DELETE", "/api/v1/metrics", "", NULL, 405);
    assert_header(&response, "Allow", "GET, HEAD, POST, PUT");
    response_free(&response);
    response = ask(door, "GET", "/write", "", NULL, 405);
    assert_header(&response, "Allow", "POST");
    response_free(&response);
    expect(door, "POST", "/nowhere", "", "a body that nobody wants", 404);
    expect(door, "GET", "/%ff\"quoted", "", NULL, 404);
    expect(door, "POST", "/write?db=a", "Transfer-Encoding: gzip\r\n", NULL, 501);
}

static void test_describe(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "PUT", "/api/v1/metrics?tenant=plant", "",
                                   "{\"metric\":\"pump.t\",\"unit\":\"\xC2\xB0"
                                   "C\",\"description\":\"outlet\"}",
                                   200);
    assert_string_equal(response.body, "{\"changed\":1}\n");
    response_free(&response);
    struct fake_seen seen = fake_look(door->engine);
    assert_string_equal(seen.last_tenant, "plant");
    assert_string_equal(seen.last_metric, "pump.t");
    assert_string_equal(seen.last_unit, "\xC2\xB0"
                                        "C");
    response = ask(door, "POST", "/api/v1/metrics?db=b", "Content-Type: text/csv\r\n",
                   "metric,unit,description\na,bar,\n\"b,c\",,x\n", 200);
    assert_string_equal(response.body, "{\"changed\":2}\n");
    response_free(&response);
    seen = fake_look(door->engine);
    assert_string_equal(seen.last_tenant, "b");
    assert_string_equal(seen.last_metric, "b,c");
    /* One fails, the others are done. */
    response = ask(door, "PUT", "/api/v1/metrics", "",
                   "[{\"metric\":\"a\",\"unit\":\"x\"},{\"metric\":\"missing\",\"unit\":\"x\"},"
                   "{\"metric\":\"b\",\"unit\":1},7]",
                   404);
    json_t *root = parsed(&response);
    assert_int_equal(json_integer_value(json_object_get(root, "changed")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "failures")), 3);
    assert_int_equal(json_array_size(json_object_get(root, "failed")), 3);
    json_decref(root);
    response_free(&response);
    assert_string_equal(fake_look(door->engine).last_tenant, "default");
    static const char *const bad[] = {"",
                                      "{",
                                      "{}",
                                      "7",
                                      "[1]",
                                      "{\"metric\":1}",
                                      "{\"metric\":\"a\",\"units\":\"x\"}",
                                      "{\"metric\":\"a\",\"metric\":\"b\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect(door, "PUT", "/api/v1/metrics", "", bad[i], 400);
    }
    expect(door, "PUT", "/api/v1/metrics", "Content-Type: text/csv\r\n", "a,\"b", 400);
    atomic_store(&door->engine->admin_outcome, VV_OVERLOAD);
    expect(door, "PUT", "/api/v1/metrics", "", "{\"metric\":\"a\",\"unit\":\"x\"}", 503);
}

static void test_tenants(void **state)
{
    struct door *door = *state;
    expect(door, "PUT", "/api/v1/tenants", "", "{\"tenant\":\"a\",\"retention\":\"30d\"}", 200);
    expect(door, "POST", "/api/v1/tenants", "",
           "[{\"tenant\":\"b\"},{\"tenant\":\"c \\\"q\\\"\",\"retention\":\"forever\"}]", 200);
    struct response response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
    json_t *root = parsed(&response);
    json_t *tenants = json_object_get(root, "tenants");
    assert_int_equal(json_array_size(tenants), 3);
    json_t *first = json_array_get(tenants, 0);
    assert_string_equal(json_string_value(json_object_get(first, "tenant")), "a");
    assert_string_equal(json_string_value(json_object_get(first, "retention")), "30d");
    json_t *account = json_object_get(first, "account");
    assert_int_equal(json_integer_value(json_object_get(account, "received")), 10);
    json_t *refused = json_object_get(account, "refused");
    assert_int_equal(json_integer_value(json_object_get(refused, "syntax")), 5);
    json_t *third = json_array_get(tenants, 2);
    assert_string_equal(json_string_value(json_object_get(third, "tenant")), "c \"q\"");
    assert_string_equal(json_string_value(json_object_get(third, "retention")), "forever");
    json_decref(root);
    response_free(&response);
    static const char *const bad[] = {"",
                                      "[7]",
                                      "{}",
                                      "{\"tenant\":\"\"}",
                                      "{\"tenant\":\"x/y\"}",
                                      "{\"tenant\":\"x\",\"retention\":\"soon\"}",
                                      "{\"tenant\":\"x\",\"retention\":30}",
                                      "{\"tenant\":\"x\",\"retention\":\"0\"}",
                                      "{\"tenant\":\"x\",\"tiers\":\"on\"}",
                                      "{\"tenant\":\"x\",\"tiers\":true}",
                                      "{\"tenant\":\"x\",\"tiers\":{\"week\":\"1d\"}}",
                                      "{\"tenant\":\"x\",\"tiers\":{\"hour\":7}}",
                                      "{\"tenant\":\"x\",\"tiers\":{\"hour\":\"default\"}}",
                                      "{\"tenant\":\"x\",\"late\":\"drop\"}",
                                      "{\"tenant\":\"x\",\"late\":1}",
                                      "{\"tenant\":\"x\",\"late_limit\":\"soon\"}",
                                      "{\"tenant\":\"x\",\"late_limit\":\"1500ms\"}",
                                      "{\"tenant\":\"x\",\"late_limit\":\"0s\"}",
                                      "{\"tenant\":\"x\",\"classes\":[]}",
                                      "{\"tenant\":\"x\",\"classes\":{\"c\":7}}",
                                      "{\"tenant\":\"x\",\"classes\":{\"c d\":{}}}",
                                      "{\"tenant\":\"x\",\"classes\":{\"c\":{\"late\":1}}}",
                                      "{\"tenant\":\"x\",\"classes\":{\"c\":"
                                      "{\"measurements\":\"m\"}}}",
                                      "{\"tenant\":\"x\",\"classes\":{\"c\":"
                                      "{\"measurements\":[1]}}}",
                                      "{\"tenant\":\"x\",\"classes\":{\"c\":"
                                      "{\"measurements\":[\"a\\nb\"]}}}",
                                      "{\"tenant\":\"x\",\"classes\":{\"c\":"
                                      "{\"retention\":\"soon\"}}}",
                                      "{\"tenant\":\"x\",\"quota\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        expect(door, "PUT", "/api/v1/tenants", "", bad[i], 400);
    }
}

static void test_a_retention_has_a_second_at_least(void **state)
{
    struct door *door = *state;
    static const char *const bad[] = {
        "\"retention\":\"1ns\"",
        "\"retention\":\"999ms\"",
        "\"tiers\":{\"minute\":\"1ns\"}",
        "\"classes\":{\"c\":{\"retention\":\"7ns\"}}",
        "\"classes\":{\"c\":{\"tiers\":{\"hour\":\"1ns\"}}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char body[128];
        snprintf(body, sizeof body, "{\"tenant\":\"x\",%s}", bad[i]);
        struct response response = ask(door, "PUT", "/api/v1/tenants", "", body, 400);
        assert_contains(response.body, "of a second at least");
        response_free(&response);
    }
    expect(door, "PUT", "/api/v1/tenants", "",
           "{\"tenant\":\"x\",\"retention\":\"1s\",\"tiers\":{\"minute\":\"1s\"}}", 200);
    struct response response =
        ask(door, "POST", "/query", "", "q=CREATE+DATABASE+y+WITH+DURATION+1ns", 200);
    assert_contains(response.body, "\"error\":\"DURATION must be INF, or of a second at least");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
    assert_null(strstr(response.body, "\"y\""));
    response_free(&response);
}

static void assert_tiers(struct door *door, const char *expected)
{
    struct response response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
    json_t *root = parsed(&response);
    json_t *tenant = json_array_get(json_object_get(root, "tenants"), 0);
    char *tiers = json_dumps(json_object_get(tenant, "tiers"), JSON_COMPACT);
    assert_string_equal(tiers, expected);
    free(tiers);
    json_decref(root);
    response_free(&response);
}

static void test_tiers(void **state)
{
    struct door *door = *state;
    static const struct {
        const char *body;
        const char *tiers;
    } cases[] = {
        {"{\"tenant\":\"a\"}", "{}"},
        {"{\"tenant\":\"a\",\"tiers\":\"default\"}",
         "{\"minute\":\"30d\",\"hour\":\"365d\",\"day\":\"forever\"}"},
        {"{\"tenant\":\"a\",\"tiers\":{\"hour\":\"off\",\"day\":\"400d\"}}",
         "{\"minute\":\"30d\",\"day\":\"400d\"}"},
        {"{\"tenant\":\"a\",\"tiers\":{},\"retention\":\"90d\"}",
         "{\"minute\":\"30d\",\"day\":\"400d\"}"},
        {"{\"tenant\":\"a\",\"tiers\":\"off\"}", "{}"},
        {"{\"tenant\":\"a\",\"tiers\":{\"hour\":\"12h\"}}", "{\"hour\":\"12h\"}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(door, "PUT", "/api/v1/tenants", "", cases[i].body, 200);
        assert_tiers(door, cases[i].tiers);
    }
}

/* What a class is told, and what of it its caller is told. */
static void test_classes(void **state)
{
    struct door *door = *state;
    static const struct {
        const char *class;
        const char *classes; /* of the tenant then */
    } cases[] = {
        {"{\"measurements\":[\"debug*\",\"trace\"],\"retention\":\"6h\",\"tiers\":\"off\"}",
         "{\"c\":{\"measurements\":[\"debug*\",\"trace\"],\"retention\":\"6h\",\"tiers\":{}}}"},
        {"{\"tiers\":{\"hour\":\"90d\"}}",
         "{\"c\":{\"measurements\":[\"debug*\",\"trace\"],\"retention\":\"6h\",\"tiers\":{"
         "\"hour\":\"90d\"}}}"},
        {"{\"measurements\":[]}",
         "{\"c\":{\"measurements\":[],\"retention\":\"6h\",\"tiers\":{\"hour\":\"90d\"}}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"tenant\":\"a\",\"classes\":{\"c\":%s}}", cases[i].class);
        struct response response = ask(door, "PUT", "/api/v1/tenants", "", body, 200);
        json_t *root = parsed(&response);
        json_t *note = json_array_get(json_object_get(root, "notes"), 0);
        assert_string_equal(json_string_value(note),
                            "class c: 1 of the tenant's measurements have changed their class as "
                            "often as they can, and stay where they are: old");
        json_decref(root);
        response_free(&response);
        response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
        root = parsed(&response);
        json_t *tenant = json_array_get(json_object_get(root, "tenants"), 0);
        char *classes = json_dumps(json_object_get(tenant, "classes"), JSON_COMPACT);
        assert_string_equal(classes, cases[i].classes);
        free(classes);
        json_decref(root);
        response_free(&response);
    }
}

/* What a change of retentions does to what is there is said; of a new tenant there is nothing. */
static void test_what_goes_is_noted(void **state)
{
    struct door *door = *state;
    static const struct {
        const char *change;
        const char *notes[3];
    } cases[] = {
        {"\"retention\":\"30d\",\"tiers\":{\"hour\":\"90d\"}", {NULL}},
        {"\"retention\":\"40d\",\"tiers\":{\"hour\":\"100d\"}", {NULL}},
        {"\"retention\":\"7d\"", {"t: points from before 2", "what tiers have of them stays\""}},
        {"\"retention\":\"6d\",\"tiers\":{\"minute\":\"8d\"}",
         {"but tiers that are switched on now have nothing of them",
          "t: minute: this tier has what is sealed from now on", "varve reroll"}},
        {"\"tiers\":{\"minute\":\"off\",\"hour\":\"9d\"}",
         {"t: what the minute tier had is in no answer any more", "t: hours from before 2"}},
        {"\"classes\":{\"z\":{\"measurements\":[\"z\"],\"retention\":\"5d\"}}", {NULL}},
        {"\"classes\":{\"z\":{\"retention\":\"4d\"}}", {"class z: points from before 2"}},
        {"\"classes\":{\"y\":{}}", {"class y: no measurement is named"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[256];
        snprintf(body, sizeof body, "{\"tenant\":\"t\",%s}", cases[i].change);
        struct response response = ask(door, "PUT", "/api/v1/tenants", "", body, 200);
        for (size_t n = 0; n < 3 && cases[i].notes[n]; n++) {
            assert_contains(response.body, cases[i].notes[n]);
        }
        if (!cases[i].notes[0]) {
            assert_null(strstr(response.body, "from before"));
            assert_null(strstr(response.body, " tier "));
        }
        response_free(&response);
    }
}

/* Where nodes share the store what is there goes by itself. */
static void test_what_is_not_made_longer_is_noted(void **state)
{
    struct door *door = *state;
    static const char note[] = "t: hours that are there go when they were to";
    for (int is_shared = 0; is_shared < 2; is_shared++) {
        atomic_store(&door->engine->alone, !is_shared);
        for (int days = 90; days < 92; days++) {
            char body[128];
            snprintf(body, sizeof body,
                     "{\"tenant\":\"t\",\"retention\":\"30d\",\"tiers\":{\"hour\":\"%dd\"}}", days);
            struct response response = ask(door, "PUT", "/api/v1/tenants", "", body, 200);
            assert_int_equal(strstr(response.body, note) != NULL, is_shared && days > 90);
            response_free(&response);
        }
    }
}

static void test_a_class_that_takes_nothing_yet_is_noted(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "PUT", "/api/v1/tenants", "",
                                   "{\"tenant\":\"x\",\"classes\":{\"awaited\":{},\"c\":{}}}", 200);
    assert_contains(response.body, "class awaited: it takes nothing before all nodes have said");
    assert_null(strstr(response.body, "class c: it takes"));
    response_free(&response);
}

static void test_what_changes_its_class_is_noted(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "PUT", "/api/v1/tenants", "",
            "{\"tenant\":\"w\",\"classes\":{\"moved\":{\"measurements\":[\"*\"]}}}", 200);
    assert_contains(response.body, "class moved: 9 of the tenant's measurements had their first "
                                   "point before and change on 2024-10-04 (UTC)");
    assert_contains(response.body, "as before: old, x, x, x, x, x, x, x, …");
    response_free(&response);
}

/* What is wrong with one of them is found before anything is changed. */
static void test_bad_classes_change_nothing(void **state)
{
    struct door *door = *state;
    static const struct {
        const char *class; /* the last one */
        const char *message;
        int code;
    } cases[] = {
        {"\"c\":{\"retention\":\"soon\"}", "class c: retention must be", 400},
        {"\"c d\":{}", "class c d: the name of a class", 400},
        {"\"c\":{\"measurements\":[\"a*b\"]}", "class c: 'a*b'", 400},
        {"\"1\":{},\"2\":{},\"3\":{},\"4\":{},\"5\":{},\"6\":{},\"7\":{},\"8\":{},\"9\":{},"
         "\"10\":{},\"11\":{},\"12\":{},\"13\":{},\"14\":{},\"15\":{},\"16\":{}",
         "it would have 17", 413},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "{\"tenant\":\"x\",\"retention\":\"30d\",\"classes\":{\"good\":{},%s}}",
                 cases[i].class);
        struct response response = ask(door, "PUT", "/api/v1/tenants", "", body, cases[i].code);
        assert_contains(response.body, cases[i].message);
        response_free(&response);
        response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
        assert_null(strstr(response.body, "\"x\""));
        response_free(&response);
    }
}

static void test_a_class_that_is_refused_is_named(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "PUT", "/api/v1/tenants", "",
            "{\"tenant\":\"x\",\"classes\":{\"b\":{},\"a\":{},\"refused\":{},\"d\":{}}}", 503);
    assert_contains(response.body, "class refused was not taken, nor those behind it; the 2 in "
                                   "front of it were: the test says so");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
    assert_contains(response.body, "\"classes\":{\"b\":{");
    assert_contains(response.body, "\"a\":{");
    assert_null(strstr(response.body, "\"d\":{"));
    response_free(&response);
}

static void test_late(void **state)
{
    struct door *door = *state;
    static const struct {
        const char *body;
        const char *late; /* and the limit */
    } cases[] = {
        {"{\"tenant\":\"a\"}", "accept -"},
        {"{\"tenant\":\"a\",\"late\":\"refuse\",\"late_limit\":\"2h\"}", "refuse 2h"},
        {"{\"tenant\":\"a\",\"late_limit\":\"90s\",\"retention\":\"9d\"}", "refuse 1m30s"},
        {"{\"tenant\":\"a\",\"late\":\"accept\"}", "accept -"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect(door, "PUT", "/api/v1/tenants", "", cases[i].body, 200);
        struct response response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
        json_t *root = parsed(&response);
        json_t *tenant = json_array_get(json_object_get(root, "tenants"), 0);
        const char *limit = json_string_value(json_object_get(tenant, "late_limit"));
        char found[64];
        snprintf(found, sizeof found, "%s %s", json_string_value(json_object_get(tenant, "late")),
                 limit ? limit : "-");
        assert_string_equal(found, cases[i].late);
        json_decref(root);
        response_free(&response);
    }
}

static void test_flush(void **state)
{
    struct door *door = *state;
    expect(door, "POST", "/api/v1/flush", "", NULL, 204);
    assert_false(fake_look(door->engine).last_seal);
    expect(door, "POST", "/api/v1/flush?seal=true", "", "", 204);
    assert_true(fake_look(door->engine).last_seal);
    assert_int_equal(fake_look(door->engine).flushes, 2);
    expect(door, "POST", "/api/v1/flush?seal=perhaps", "", NULL, 400);
    expect(door, "GET", "/api/v1/flush", "", NULL, 405);
    atomic_store(&door->engine->admin_outcome, VV_IO);
    expect(door, "POST", "/api/v1/flush", "", NULL, 500);
}

static void test_what_waits_to_be_sealed_is_told(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "GET",
                                   "/api/v1/sealing?tenant=plant&from=1970-01-01T00:00:01Z&"
                                   "to=1970-01-01T00:00:02Z",
                                   "", NULL, 200);
    assert_string_equal(
        response.body,
        "{\"sealed\":false,\"waiting\":10,\"due\":6,\"raw\":1,\"minute\":2,"
        "\"hour\":3,\"day\":4,\"open\":5,\"deletions\":0,\"damaged\":0,\"kept\":0}\n");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/sealing", "", NULL, 200);
    assert_contains(response.body, "\"sealed\":true,\"waiting\":0");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/sealing?limit=100", "", NULL, 200);
    assert_contains(response.body, "{\"sealed\":false,\"waiting\":0");
    assert_contains(response.body, ",\"next\":100}");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/sealing?limit=100&after=200", "", NULL, 200);
    assert_contains(response.body, "{\"sealed\":false,\"waiting\":0");
    assert_null(strstr(response.body, "next"));
    response_free(&response);
    expect(door, "GET", "/api/v1/sealing?limit=0", "", NULL, 400);
    expect(door, "GET", "/api/v1/sealing?limit=all", "", NULL, 400);
    expect(door, "GET", "/api/v1/sealing?limit=99999999999999999999", "", NULL, 400);
    expect(door, "GET", "/api/v1/sealing?after=", "", NULL, 400);
    expect(door, "GET", "/api/v1/sealing?from=yesterday", "", NULL, 400);
    expect(door, "GET", "/api/v1/sealing?from=1970-01-02&to=1970-01-01", "", NULL, 400);
    expect(door, "POST", "/api/v1/sealing", "", NULL, 405);
    atomic_store(&door->engine->admin_outcome, VV_NOT_FOUND);
    expect(door, "GET", "/api/v1/sealing", "", NULL, 404);
    atomic_store(&door->engine->admin_outcome, VV_OVERLOAD);
    expect(door, "GET", "/api/v1/sealing", "", NULL, 503);
}

static void test_frozen_days_are_told_and_replaced(void **state)
{
    struct door *door = *state;
    static const char lines[] = "m,h=a v=1,w=2 1600000000\nm,h=a v=x 1600000001\n";
    static const char texts[] = "m,h=a v=1 1600000000\nm,h=a v=\"x\" 1600000001\n";
    static const char good[] = "m,h=a v=1,w=2 1600000000\nm,h=a v=3 1600000001\n";
    struct response response = ask(door, "GET", "/api/v1/replace?tenant=plant", "", NULL, 200);
    assert_contains(response.body, "{\"frozen_until\":\"2024-03-01T00:00:00Z\"");
    response_free(&response);
    expect(door, "POST", "/api/v1/replace?precision=s", "", "m v=1 1600000000", 204);
    assert_int_equal(fake_look(door->engine).points_stored, 1);
    response = ask(door, "POST", "/api/v1/replace?precision=s", "", lines, 400);
    assert_contains(response.body, "\"refused\":{\"syntax\":3}"); /* the others with it */
    assert_contains(response.body, "\"accepted\":0");
    response_free(&response);
    response = ask(door, "POST", "/api/v1/replace?precision=s", "", texts, 400);
    assert_contains(response.body, "\"refused\":{\"type\":1,\"string\":1}");
    response_free(&response);
    assert_int_equal(fake_look(door->engine).points_stored, 1);
    expect(door, "POST", "/api/v1/replace?precision=s", "Content-Encoding: gzip\r\n", lines, 415);
    expect(door, "POST", "/api/v1/replace?precision=x", "", lines, 400);
    expect(door, "POST", "/api/v1/replace", "", "", 204);
    atomic_store(&door->engine->admin_outcome, VV_INVALID);
    response = ask(door, "POST", "/api/v1/replace?precision=s", "", good, 400);
    assert_contains(response.body, "\"refused\":{\"retention\":3}");
    assert_contains(response.body, "\"accepted\":0");
    response_free(&response);
    atomic_store(&door->engine->admin_outcome, VV_TOO_LARGE);
    response = ask(door, "POST", "/api/v1/replace?precision=s", "", good, 400);
    assert_contains(response.body, "\"refused\":{\"limit\":3}");
    response_free(&response);
    struct fake_seen seen = fake_look(door->engine);
    assert_int_equal(seen.received, seen.staged + seen.refused);
    atomic_store(&door->engine->admin_outcome, VV_INVALID);
    expect(door, "GET", "/api/v1/replace", "", NULL, 400);
    atomic_store(&door->engine->admin_outcome, VV_OVERLOAD);
    expect(door, "POST", "/api/v1/replace?precision=s", "", good, 503);
}

/* The answer to a head that announces a body of which nothing is sent. */
static void expect_before_body(struct door *door, const char *headers, int code)
{
    struct client client = client_connect(door->address);
    struct vv_buffer head = {0};
    vv_buffer_format(&head, "POST /api/v1/replace?precision=s HTTP/1.1\r\nHost: t\r\n%s\r\n",
                     headers);
    assert_true(client_send(&client, head.data, head.size));
    struct response response = client_receive(&client, true);
    assert_int_equal(response.code, code);
    response_free(&response);
    vv_buffer_deinit(&head);
    client_close(&client);
}

static void test_frozen_days_are_admitted_before_their_body_comes(void **state)
{
    struct door *door = *state;
    static const char large[] = "Content-Length: 50000000\r\n";
    static const int refusing[] = {VV_OVERLOAD, VV_FULL, VV_IO, VV_CANCELLED};
    for (size_t i = 0; i < sizeof refusing / sizeof refusing[0]; i++) {
        atomic_store(&door->engine->admit, refusing[i]);
        expect_before_body(door, large, 503);
    }
    atomic_store(&door->engine->admit, VV_OK);
    expect_before_body(door, "Content-Length: 67108865\r\n", 413);
    expect_before_body(door, "Content-Length: 50000000\r\nContent-Encoding: gzip\r\n", 415);
    expect(door, "POST", "/api/v1/replace?precision=s", "", "m v=1 1600000000", 204);
}

static void await_bytes(struct door *door, uint64_t bytes)
{
    while (atomic_load(&door->http->replacing_bytes) != bytes) {
        sched_yield();
    }
}

static void test_bodies_of_frozen_days_have_a_bounded_memory_together(void **state)
{
    struct door *door = *state;
    static const char line[] = "m,h=a v=1 1600000000\n";
    static const uint64_t others = (64u << 20) - sizeof line; /* by requests that are under way */
    struct vv_buffer two = {0};
    vv_buffer_format(&two, "%s%s", line, line);
    atomic_store(&door->http->replacing_bytes, others);
    expect(door, "POST", "/api/v1/replace?precision=s", "", line, 204);
    assert_int_equal(atomic_load(&door->http->replacing_bytes),
                     others); /* whoever has the answer */
    struct response response =
        client_request(door->address, "POST", "/api/v1/replace", "", two.data, two.size);
    assert_int_equal(response.code, 503);
    char seconds[16];
    assert_non_null(response_header(&response, "Retry-After", seconds, sizeof seconds));
    response_free(&response);
    expect_before_body(door, "Content-Length: 50000000\r\n", 503);
    static const char chunked[] = "POST /api/v1/replace?precision=s HTTP/1.1\r\nHost: t\r\n"
                                  "Transfer-Encoding: chunked\r\n\r\n";
    struct client client = client_connect(door->address);
    struct vv_buffer body = {0};
    vv_buffer_format(&body, "%s%zx\r\n%s\r\n%zx\r\n%s\r\n0\r\n\r\n", chunked, sizeof line - 1, line,
                     sizeof line - 1, line);
    assert_true(client_send(&client, body.data, body.size));
    response = client_receive(&client, true);
    assert_int_equal(response.code, 503);
    response_free(&response);
    client_close(&client);
    await_bytes(door, others);
    assert_int_equal(fake_look(door->engine).points_stored, 1);
    vv_buffer_deinit(&body);
    vv_buffer_deinit(&two);
}

static void test_a_body_of_frozen_days_that_breaks_off_holds_nothing(void **state)
{
    struct door *door = *state;
    static const char half[] = "POST /api/v1/replace?precision=s HTTP/1.1\r\nHost: t\r\n"
                               "Content-Length: 100\r\n\r\nm v=1";
    door->settings.http_idle_ns_max = VV_SECOND; /* an end may be noticed by that only */
    door_reopen(door);
    struct client client = client_connect(door->address);
    assert_true(client_send(&client, half, sizeof half - 1));
    await_bytes(door, 5);
    client_close(&client);
    await_bytes(door, 0);
    expect(door, "POST", "/api/v1/replace?precision=s", "", "m v=1 1600000000", 204);
    struct fake_seen seen = fake_look(door->engine);
    assert_int_equal(seen.points_stored, 1);
    assert_int_equal(seen.received, seen.staged + seen.refused);
}

static void test_a_reroll_is_begun_followed_and_ended(void **state)
{
    struct door *door = *state;
    struct response response = ask(door, "POST", "/api/v1/reroll", "", "", 202);
    assert_contains(response.body, "{\"id\":7,\"state\":\"running\"");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/reroll?id=7", "", NULL, 200);
    assert_contains(response.body, "\"units\":{\"same\":3,\"different\":1,\"missing\":0");
    assert_contains(response.body,
                    "\"refused\":{\"expired\":4,\"unsealed\":0,\"damaged\":0,\"away\":0}");
    assert_contains(response.body,
                    "\"examples\":[{\"tier\":\"hour\",\"source\":\"a\",\"measurement\":\"m\","
                    "\"from\":\"1970-01-01T00:00:00Z\",\"to\":\"1970-01-02T00:00:00Z\","
                    "\"verdict\":\"different\",\"repaired\":true,\"steps\":5,\"metric\":\"m.v\","
                    "\"step\":\"1970-01-01T01:00:00Z\",\"what\":\"count\"}]}");
    response_free(&response);
    response = ask(door, "PUT", "/api/v1/reroll?id=7&cancel=true", "", "", 200);
    assert_contains(response.body, "\"cancelled\"");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/reroll?id=7&cancel=true", "", NULL, 200);
    assert_contains(response.body, "\"running\"");
    response_free(&response);
    expect(door, "GET", "/api/v1/reroll?id=8", "", NULL, 404);
    expect(door, "GET", "/api/v1/reroll?id=seven", "", NULL, 400);
    expect(door, "GET", "/api/v1/reroll", "", NULL, 400);
    atomic_store(&door->engine->admin_outcome, VV_OVERLOAD);
    expect(door, "POST", "/api/v1/reroll", "", "", 503);
}

static void test_influxql(void **state)
{
    struct door *door = *state;
    struct response response =
        ask(door, "POST", "/query", "", "q=CREATE+DATABASE+%22my+plant%22", 200);
    assert_string_equal(response.body, "{\"results\":[{\"statement_id\":0}]}\n");
    assert_header(&response, "X-Influxdb-Version", "1.8.10-varve");
    response_free(&response);
    response = ask(door, "GET",
                   "/query?q=CREATE%20DATABASE%20x%20WITH%20DURATION%2030d;"
                   "show+databases&u=a&p=b",
                   "", NULL, 200);
    assert_string_equal(response.body,
                        "{\"results\":[{\"statement_id\":0},{\"statement_id\":1,\"series\":"
                        "[{\"name\":\"databases\",\"columns\":[\"name\"],\"values\":"
                        "[[\"my plant\"],[\"x\"]]}]}]}\n");
    response_free(&response);
    response = ask(door, "GET", "/api/v1/tenants", "", NULL, 200);
    assert_contains(response.body, "{\"tenant\":\"x\",\"retention\":\"30d\"");
    response_free(&response);
    /* An existing tenant keeps its retention. */
    response = ask(door, "POST", "/query", "", "q=CREATE+DATABASE+x+WITH+DURATION+1h", 200);
    assert_contains(response.body, "\"level\":\"warning\"");
    response_free(&response);
    response = ask(door, "GET", "/query?q=SELECT+*+FROM+cpu", "", NULL, 400);
    assert_contains(response.body, "\"error\":\"error parsing query");
    assert_contains(response.body, "/api/v1/query");
    response_free(&response);
    expect(door, "GET", "/query", "", NULL, 400);
    expect(door, "GET", "/query?q=+;+;", "", NULL, 400);
    response = ask(door, "GET", "/query?q=CREATE+DATABASE+%22a/b%22", "", NULL, 200);
    assert_contains(response.body, "\"statement_id\":0,\"error\":");
    response_free(&response);
    atomic_store(&door->engine->admin_outcome, VV_FULL);
    expect(door, "GET", "/query?q=CREATE+DATABASE+y", "", NULL, 503);
}

/* What is no HTTP, or too much of it, is answered or closed; the server goes on. */
static void test_nonsense(void **state)
{
    struct door *door = *state;
    door->settings.http_idle_ns_max = VV_SECOND; /* libmicrohttpd may notice an end only then */
    door_reopen(door);
    static const char *const texts[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /ping\r\n\r\n",
        "GET /ping HTTP/9.9\r\nHost: t\r\n\r\n",
        "GET /ping HTTP/1.1\r\nno colon\r\n\r\n",
        "POST /write HTTP/1.1\r\nHost: t\r\nContent-Length: many\r\n\r\n",
        "POST /write HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST /write HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /write HTTP/1.1\r\nHost:t\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
        "POST /write HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX\r\n",
        "\x16\x03\x01\x02", /* the beginning of TLS */
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct client client = client_connect(door->address);
        client_send(&client, texts[i], strlen(texts[i]));
        shutdown(client.fd, SHUT_WR);
        while (client_more(&client)) {
        }
        client_close(&client);
    }
    expect(door, "GET", "/ping", "", NULL, 204);
}

static void test_huge_headers(void **state)
{
    struct door *door = *state;
    size_t size = 1u << 20;
    char *value = malloc(size + 1);
    memset(value, 'a', size);
    value[size] = '\0';
    struct vv_buffer requests[2] = {{0}, {0}};
    vv_buffer_format(&requests[0], "GET /%s HTTP/1.1\r\nHost: t\r\n\r\n", value);
    vv_buffer_format(&requests[1], "GET /ping HTTP/1.1\r\nHost: t\r\nX: %s\r\n\r\n", value);
    for (int i = 0; i < 2; i++) {
        struct client client = client_connect(door->address);
        client_send(&client, requests[i].data, requests[i].size); /* may be cut off */
        while (client_more(&client)) {
        }
        client_close(&client);
        vv_buffer_deinit(&requests[i]);
    }
    free(value);
    expect(door, "GET", "/ping", "", NULL, 204);
}

/* A client that keeps its connection alive with single bytes of a header does not keep it. */
static void test_slow_headers_are_cut_off(void **state)
{
    struct door *door = *state;
    door->settings.http_idle_ns_max = 100 * VV_MILLISECOND;
    door_reopen(door);
    struct client client = client_connect(door->address);
    client_send(&client, "GET /ping HTTP/1.1\r\nX: ", 23);
    while (client_send(&client, "a", 1)) {
        sched_yield();
    }
    client_close(&client);
    expect(door, "GET", "/ping", "", NULL, 204);
}

static void test_many_connections(void **state)
{
    struct door *door = *state;
    door->settings.http_idle_ns_max = VV_HOUR; /* however slow this machine is */
    door_reopen(door);
    enum { MANY = 300 };
    static struct client clients[MANY];
    for (int i = 0; i < MANY; i++) {
        clients[i] = client_connect(door->address);
    }
    static const char request[] = "GET /ping HTTP/1.1\r\nHost: t\r\n\r\n";
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            client_send(&clients[i], request, sizeof request - 1);
        }
        for (int i = 0; i < MANY; i++) {
            struct response response = client_receive(&clients[i], true);
            assert_int_equal(response.code, 204);
            response_free(&response);
        }
    }
    for (int i = 0; i < MANY; i++) {
        client_close(&clients[i]);
    }
}

/* As many requests at once as libmicrohttpd asks the kernel for in one call, and none after them:
 * all are answered, though all clients wait. */
static void test_as_many_requests_as_events(void **state)
{
    struct door *door = *state;
    door->settings.http_threads = 1;
    door_reopen(door);
    enum { EVENTS = 128 };
    static const char request[] = "GET /ping HTTP/1.1\r\nHost: t\r\n\r\n";
    static struct client clients[EVENTS];
    for (int i = 0; i < EVENTS; i++) { /* by the same thread, if it may have so many */
        clients[i] = client_connect(door->address);
        client_send(&clients[i], request, sizeof request - 1);
        struct response response = client_receive(&clients[i], true);
        assert_int_equal(response.code, 204);
        response_free(&response);
    }
    static const char busy[] = "GET /ready HTTP/1.1\r\nHost: t\r\n\r\n";
    struct client holder = client_connect(door->address);
    atomic_store(&door->engine->hold, true);
    client_send(&holder, busy, sizeof busy - 1);
    while (!atomic_load(&door->engine->held)) {
        sched_yield();
    }
    for (int i = 0; i < EVENTS; i++) {
        client_send(&clients[i], request, sizeof request - 1);
    }
    atomic_store(&door->engine->hold, false);
    for (int i = 0; i < EVENTS; i++) {
        struct response response = client_receive(&clients[i], true);
        assert_int_equal(response.code, 204);
        response_free(&response);
        client_close(&clients[i]);
    }
    client_close(&holder);
}

/* Stopping again and again with connections open and requests half sent. */
static void test_stop_and_start(void **state)
{
    struct door *door = *state;
    for (int i = 0; i < 8; i++) {
        struct client idle = client_connect(door->address);
        struct client half = client_connect(door->address);
        client_send(&half, "POST /write HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\nm v=1",
                    57);
        expect(door, "GET", "/ping", "", NULL, 204);
        vv_http_stop(door->http, 0);
        assert_int_equal(recv(idle.fd, &(char){0}, 1, 0) > 0, 0);
        client_close(&idle);
        client_close(&half);
        door_open(door);
    }
}

static void test_bad_starts(void **state)
{
    struct door *door = *state;
    struct vv_settings settings = door->settings;
    struct vv_http *http = NULL;
    struct vv_error error = {0};
    snprintf(settings.listen, sizeof settings.listen, "%s", door->address);
    assert_int_equal(vv_http_start(&settings, door->engine, &http, &error), VV_LOCKED);
    snprintf(settings.listen, sizeof settings.listen, "nonsense");
    assert_int_equal(vv_http_start(&settings, door->engine, &http, &error), VV_INVALID);
    settings = door->settings;
    settings.http_threads = 1;
    assert_int_equal(vv_http_start(&settings, door->engine, &http, &error), VV_OK);
    struct response response = client_request(vv_http_address(http), "GET", "/ping", "", NULL, 0);
    assert_int_equal(response.code, 204);
    response_free(&response);
    vv_http_stop(http, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        door_test(test_root_lists_the_paths),
        door_test(test_health),
        door_test(test_nodes),
        door_test(test_plans),
        door_test(test_recovering),
        door_test(test_metrics),
        door_test(test_paths_and_methods),
        door_test(test_describe),
        door_test(test_tenants),
        door_test(test_a_retention_has_a_second_at_least),
        door_test(test_classes),
        door_test(test_what_goes_is_noted),
        door_test(test_what_is_not_made_longer_is_noted),
        door_test(test_a_class_that_takes_nothing_yet_is_noted),
        door_test(test_what_changes_its_class_is_noted),
        door_test(test_bad_classes_change_nothing),
        door_test(test_a_class_that_is_refused_is_named),
        door_test(test_late),
        door_test(test_tiers),
        door_test(test_flush),
        door_test(test_what_waits_to_be_sealed_is_told),
        door_test(test_frozen_days_are_told_and_replaced),
        door_test(test_frozen_days_are_admitted_before_their_body_comes),
        door_test(test_bodies_of_frozen_days_have_a_bounded_memory_together),
        door_test(test_a_body_of_frozen_days_that_breaks_off_holds_nothing),
        door_test(test_a_reroll_is_begun_followed_and_ended),
        door_test(test_influxql),
        door_test(test_nonsense),
        door_test(test_huge_headers),
        door_test(test_slow_headers_are_cut_off),
        door_test(test_many_connections),
        door_test(test_as_many_requests_as_events),
        door_test(test_stop_and_start),
        door_test(test_bad_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
