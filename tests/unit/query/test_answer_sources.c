/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of sources: filters, pages, history, both formats. */
#include "query_fixture.h"

static void fill(struct fixture *f)
{
    fixture_init(f);
    uint32_t metric = fixture_metric(f, "m", "v", VV_INT64);
    uint32_t a = fixture_source(f, "a", "north");
    fixture_integer(f, a, metric, 5 * VV_SECOND, 1);
    fixture_integer(f, a, metric, 9 * VV_SECOND, 1);
    (void)fixture_source(f, "b,\"x\"", "so=u,th");
    (void)fixture_source(f, "c", NULL);
}

static void lists_tags_and_times(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    expect_csv(&f, VV_REQUEST_SOURCES, WORDS("format=csv", "time_format=s"),
               "source,tags,first,last\n"
               "a,site=north,5,9\n"
               "\"b,\"\"x\"\"\",\"site=so\\=u\\,th\",,\n"
               "c,,,\n");
    json_t *answer = ask_json(&f, VV_REQUEST_SOURCES, WORDS("time_format=s"));
    const json_t *list = json_object_get(answer, "sources");
    assert_int_equal(json_array_size(list), 3);
    const json_t *second = json_array_get(list, 1);
    assert_string_equal(json_string_value(json_object_get(second, "source")), "b,\"x\"");
    assert_string_equal(json_string_value(json_object_get(json_object_get(second, "tags"), "site")),
                        "so=u,th");
    assert_true(json_is_null(json_object_get(second, "first")));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "last")), 9);
    assert_null(json_object_get(answer, "next"));
    json_decref(answer);
    fixture_deinit(&f);
}

static void filters(void **state)
{
    (void)state;
    struct fixture f;
    fill(&f);
    static const char *const a = "source,tags,first,last\na,site=north,5,9\n";
    static const char *const c = "source,tags,first,last\nc,,,\n";
    expect_csv(&f, VV_REQUEST_SOURCES, WORDS("format=csv", "time_format=s", "tag=site=north"), a);
    expect_csv(&f, VV_REQUEST_SOURCES, WORDS("format=csv", "time_format=s", "source=a"), a);
    expect_csv(&f, VV_REQUEST_SOURCES, WORDS("format=csv", "source=~c*"), c);
    expect_csv(&f, VV_REQUEST_SOURCES, WORDS("format=csv", "tag=site="), c);
    expect_csv(&f, VV_REQUEST_SOURCES, WORDS("format=csv", "tag=site!~n*|s*"), c);
    expect_csv(&f, VV_REQUEST_SOURCES, WORDS("format=csv", "tag=site=", "tag=site!="),
               "source,tags,first,last\n");
    fixture_deinit(&f);
}

static void pages_lead_through_all(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 2503; i++) { /* more than the registry is asked for at once */
        char id[16];
        snprintf(id, sizeof id, "s%d", i);
        (void)fixture_source(&f, id, i % 2 ? "north" : NULL);
    }
    static const char *const limits[] = {"limit=1000", "limit=501", "limit=2503", "limit=9999"};
    for (size_t k = 0; k < 4; k++) {
        char after[32] = "limit=1";
        int next = 0;
        bool more = true;
        for (bool first = true; more; first = false) {
            json_t *answer = first ? ask_json(&f, VV_REQUEST_SOURCES, WORDS(limits[k]))
                                   : ask_json(&f, VV_REQUEST_SOURCES, WORDS(limits[k], after));
            const json_t *list = json_object_get(answer, "sources");
            for (size_t i = 0; i < json_array_size(list); i++) {
                char id[16];
                snprintf(id, sizeof id, "s%d", next++);
                assert_string_equal(
                    json_string_value(json_object_get(json_array_get(list, i), "source")), id);
            }
            const json_t *cursor = json_object_get(answer, "next");
            more = cursor != NULL;
            if (more) {
                snprintf(after, sizeof after, "after=%s", json_string_value(cursor));
            }
            json_decref(answer);
        }
        assert_int_equal(next, 2503);
    }
    fixture_deinit(&f);
}

static void history_shows_versions(void **state)
{
    (void)state;
    struct fixture f;
    fixture_init(&f);
    (void)fixture_source(&f, "a", "north");
    struct vv_tag tags[2] = {{VV_STR_LITERAL("id"), VV_STR_LITERAL("a")},
                             {VV_STR_LITERAL("site"), VV_STR_LITERAL("south")}};
    uint32_t source;
    assert_int_equal(
        vv_registry_source(f.registry, f.tenant, tags, 2, 100 * VV_SECOND, &source, NULL), VV_OK);
    expect_csv(&f, VV_REQUEST_SOURCES, WORDS("format=csv", "time_format=s", "history=true"),
               "source,tags,first,last,from\n"
               "a,site=north,,,0\n"
               "a,site=south,,,100\n");
    json_t *answer = ask_json(&f, VV_REQUEST_SOURCES, WORDS("time_format=s", "history=true"));
    const json_t *one = json_array_get(json_object_get(answer, "sources"), 0);
    const json_t *history = json_object_get(one, "history");
    assert_string_equal(json_string_value(json_object_get(json_object_get(one, "tags"), "site")),
                        "south");
    assert_int_equal(json_array_size(history), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(history, 1), "from")), 100);
    assert_int_equal(f.facts.rows, 1);
    json_decref(answer);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_tags_and_times),
        cmocka_unit_test(filters),
        cmocka_unit_test(pages_lead_through_all),
        cmocka_unit_test(history_shows_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
