/* SPDX-License-Identifier: Apache-2.0 */
/* Points in JSON: shapes that are taken and refused, cuts, limits, numbers, memory. */
#include "ingest_fixture.h"

#include "base/random.h"
#include "simulation/sim_memory.h"

#include <jansson.h>

#ifdef __OPTIMIZE__
#define BODIES 4000
#else
#define BODIES 800
#endif
#define SEED 91

struct json_case {
    const char *text;
    const char *rows;
    const char *refusals;
};

#define NOW_TEXT "1000000000000000000"

static const struct json_case cases[] = {
    /* shapes of a body */
    {"{'measurement':'m','fields':{'f':1.5},'time':7}", "m|-|m.f=1.5|7\n", ""},
    {"[{'measurement':'m','fields':{'f':1.5},'time':7}]", "m|-|m.f=1.5|7\n", ""},
    {"{'points':[{'measurement':'m','fields':{'f':1.5},'time':7}]}", "m|-|m.f=1.5|7\n", ""},
    {" { 'points' : [ {'measurement':'m','fields':{'f':1.5},'time':7} ] } \n", "m|-|m.f=1.5|7\n",
     ""},
    {"[]", "", ""},
    {"{'points':[]}", "", ""},
    {" [ ] ", "", ""},
    {"{'measurement':'m','fields':{'f':1},'time':1}\n{'measurement':'m','fields':{'f':2},'time':2}",
     "m|-|m.f=1i|1\nm|-|m.f=2i|2\n", ""},
    {"[{'fields':{'f':1},'time':1,'tags':{'b':'2','a':'1'},'measurement':'m'},\n"
     "{'measurement':'m','tags':{'a':'1','b':'2'},'fields':{'f':2},'time':2}]",
     "m|a=1,b=2|m.f=1i|1\nm|a=1,b=2|m.f=2i|2\n", ""},

    /* what a point may have */
    {"{'measurement':'m','fields':{'f':1}}", "m|-|m.f=1i|" NOW_TEXT "\n", ""},
    {"{'measurement':'m','fields':{'f':1},'time':null,'tags':null}", "m|-|m.f=1i|" NOW_TEXT "\n",
     ""},
    {"{'measurement':'m','fields':{'f':1},'tags':{},'time':-5}", "m|-|m.f=1i|-5\n", ""},
    {"{'measurement':'m','fields':{'f':1},'tags':{'a':'','b':null},'time':1}", "m|-|m.f=1i|1\n",
     ""},
    {"{'measurement':'m','fields':{'f':1},'time':'1970-01-01T00:00:01Z'}",
     "m|-|m.f=1i|1000000000\n", ""},
    {"{'measurement':'m','fields':{'f':1},'time':'1970-01-01T01:00:00.5+01:00'}",
     "m|-|m.f=1i|500000000\n", ""},
    {"{'measurement':'a b,c','tags':{'t=,':' '},'fields':{'f g':1},'time':1}",
     "a b,c|t\\=\\,=\\ |a b,c.f g=1i|1\n", ""},
    {"{'measurement':'\\u00fc','fields':{'\\ud83d\\ude00':1},'time':1}",
     "\xc3\xbc|-|\xc3\xbc.\xf0\x9f\x98\x80=1i|1\n", ""},

    /* values */
    {"{'measurement':'m','fields':{'a':true,'b':false,'c':-3,'d':1e3,'e':-0.0},'time':1}",
     "m|-|m.a=1i m.b=0i m.c=-3i m.d=1000 m.e=-0|1\n", ""},
    {"{'measurement':'m','fields':{'a':9223372036854775807,'b':-9223372036854775808},'time':1}",
     "m|-|m.a=9223372036854775807i m.b=-9223372036854775808i|1\n", ""},
    {"{'measurement':'m','fields':{'a':null,'b':1},'time':1}", "m|-|m.b=1i|1\n", ""},
    {"{'measurement':'m','fields':{'a':null},'time':1}", "", ""},
    {"{'measurement':'m','fields':{'a':1,'b':'text'},'time':1}", "m|-|m.a=1i|1\n", "1:0 string\n"},
    {"{'measurement':'m','fields':{'a':1,'a':2},'time':1}", "m|-|m.a=2i|1\n", ""},
    {"[{'measurement':'m','fields':{'a':1},'time':1},{'measurement':'m','fields':{'a':1.0}}]",
     "m|-|m.a=1i|1\n", "2:0 type\n"},
    {"[{'measurement':'m','fields':{'a':1.5},'time':1},{'measurement':'m','fields':{'a':2},"
     "'time':2}]",
     "m|-|m.a=1.5|1\nm|-|m.a=2|2\n", ""},

    /* one bad point is one bad point */
    {"[{'measurement':'m','fields':{'a':9223372036854775808}},{'measurement':'m','fields':{'a':1},"
     "'time':1}]",
     "m|-|m.a=1i|1\n", "1:52 syntax\n"},
    {"[{'measurement':'m','fields':{'a':1e999}},{'measurement':'m','fields':{'a':1},'time':1}]",
     "m|-|m.a=1i|1\n", "1:38 syntax\n"},
    {"[{'measurement':'m','fields':{'a':}},{'measurement':'m','fields':{'a':1},'time':1}]",
     "m|-|m.a=1i|1\n", "1:34 syntax\n"},
    {"[1,'x',null,[{}],true,-2.5,{'measurement':'m','fields':{'a':1},'time':1}]", "m|-|m.a=1i|1\n",
     "1:0 syntax\n2:0 syntax\n3:0 syntax\n4:0 syntax\n5:0 syntax\n6:0 syntax\n"},
    {"[{},{'measurement':'m'},{'fields':{'f':1}},{'measurement':'m','fields':{}},"
     "{'measurement':'','fields':{'f':1}},{'measurement':1,'fields':{'f':1}},"
     "{'measurement':'m','fields':[1]},{'measurement':'m','fields':1}]",
     "",
     "1:0 syntax\n2:0 syntax\n3:0 syntax\n4:0 syntax\n5:0 syntax\n6:0 syntax\n7:0 syntax\n"
     "8:0 syntax\n"},
    {"[{'measurement':'m','tags':{'a':1},'fields':{'f':1}},"
     "{'measurement':'m','tags':{'a':true},'fields':{'f':1}},"
     "{'measurement':'m','tags':['a'],'fields':{'f':1}},"
     "{'measurement':'m','fields':{'f':[1]}},"
     "{'measurement':'m','fields':{'f':{}}},"
     "{'measurement':'m','fields':{'f':1},'time':1.5},"
     "{'measurement':'m','fields':{'f':1},'time':'soon'},"
     "{'measurement':'m','fields':{'f':1},'timestamp':1},"
     "{'measurement':'m','fields':{'f':1},'time':2}]",
     "m|-|m.f=1i|2\n",
     "1:0 syntax\n2:0 syntax\n3:0 syntax\n4:0 syntax\n5:0 syntax\n6:0 syntax\n7:0 syntax\n"
     "8:0 syntax\n"},
    {"[{'measurement':'m','fields':{'f':1},'time':9223372036854775807},"
     "{'measurement':'m','fields':{'f':1,'g':2},'time':-9223372036854775807}]",
     "", "1:0 future\n2:0 past\n"},
    {"{'points':{'measurement':'m'}}", "", "1:0 syntax\n"},
    {"{'points':[{'measurement':'m\\u0000','fields':{'f':1}}]}", "", "1:24 syntax\n"},
    {"[{'measurement':'m\\u0001','fields':{'f':1}},{'measurement':'m','fields':{'f':1},'time':1}]",
     "m|-|m.f=1i|1\n", "1:1 syntax\n"},
    {"[{'a]}\\'[':1},{'measurement':'m','fields':{'f':1},'time':1}]", "m|-|m.f=1i|1\n",
     "1:0 syntax\n"},
    {"[{'measurement':'m\xff','fields':{'f':1}},{'measurement':'m','fields':{'f':1},'time':1}]",
     "m|-|m.f=1i|1\n", "1:17 syntax\n"},

    /* what cannot be understood around the points */
    {"", "", "1:0 syntax\n"},
    {"  \n", "", "1:0 syntax\n"},
    {"hello", "", "1:0 syntax\n"},
    {"'hello'", "", "1:0 syntax\n"},
    {"m f=1 1", "", "1:0 syntax\n"},
    {"[{'measurement':'m','fields':{'f':1},'time':1}", "m|-|m.f=1i|1\n", "2:0 syntax\n"},
    {"[{'measurement':'m','fields':{'f':1},'time':1},", "m|-|m.f=1i|1\n", "2:0 syntax\n"},
    {"[{'measurement':'m','fields':{'f':1},'time':1},]", "m|-|m.f=1i|1\n", "2:0 syntax\n"},
    {"[{'measurement':'m','fields':{'f':1},'time':1} {'measurement':'m'}]", "m|-|m.f=1i|1\n",
     "2:0 syntax\n"},
    {"[{'measurement':'m','fields':{'f':1},'time':1}]x", "m|-|m.f=1i|1\n", "2:0 syntax\n"},
    {"{'points':[{'measurement':'m','fields':{'f':1},'time':1}],'x':1}", "m|-|m.f=1i|1\n",
     "2:0 syntax\n"},
    {"{'points':[{'measurement':'m','fields':{'f':1},'time':1}]", "m|-|m.f=1i|1\n", "2:0 syntax\n"},
    {"{'measurement':'m','fields':{'f':1", "", "1:0 syntax\n"},
    {"{'poi", "", "1:0 syntax\n"},
    {"{", "", "1:0 syntax\n"},
    {"[,", "", "1:0 syntax\n"},
    {"[}", "", "1:0 syntax\n"},
    {"[1", "", "1:0 syntax\n"},
};

/* The cases are easier to read with single quotes. */
static size_t quoted(const char *text, char *out)
{
    size_t size = strlen(text);
    for (size_t i = 0; i < size; i++) {
        out[i] = text[i] == '\'' ? '"' : text[i];
    }
    return size;
}

static bool check_case(const struct json_case *c, size_t cut, size_t step)
{
    char text[2000];
    size_t size = quoted(c->text, text);
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_json(&fixture, text, size, cut, step, 1);
    bool right = strcmp(fixture_rows(&fixture), c->rows) == 0 &&
                 strcmp(fixture_refusals(&fixture), c->refusals) == 0;
    if (!right) {
        print_error("cut %zu step %zu of\n%s\nrows\n%sexpected\n%srefusals\n%sexpected\n%s\n", cut,
                    step, c->text, fixture_rows(&fixture), c->rows, fixture_refusals(&fixture),
                    c->refusals);
    }
    fixture_deinit(&fixture);
    return right;
}

static void test_cases(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        wrong += !check_case(&cases[i], SIZE_MAX, 0);
    }
    assert_int_equal(wrong, 0);
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t cut = 0; cut < strlen(cases[i].text); cut++) {
            assert_true(check_case(&cases[i], cut, 0));
        }
        assert_true(check_case(&cases[i], 0, 1));
    }
}

static void test_precision(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    const char *text = "[{\"measurement\":\"m\",\"fields\":{\"f\":1},\"time\":5},"
                       "{\"measurement\":\"m\",\"fields\":{\"f\":1},\"time\":99999999999999},"
                       "{\"measurement\":\"m\",\"fields\":{\"f\":1},\"time\":\"1970-01-01\"}]";
    fixture_json(&fixture, text, strlen(text), SIZE_MAX, 0, INT64_C(1000000000));
    assert_string_equal(fixture_rows(&fixture), "m|-|m.f=1i|5000000000\nm|-|m.f=1i|0\n");
    assert_string_equal(fixture_refusals(&fixture), "2:0 future\n");
    fixture_deinit(&fixture);
}

static void test_texts_help(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words[3];
    } helps[] = {
        {"hello", {"expected a point {…}", "an array", "found 'h'"}},
        {"", {"expected", "points", "nothing"}},
        {"{\"measurement\":\"m\",\"fields\":{\"f\":9223372036854775808}}", {"int64", "float", ""}},
        {"{\"measurement\":\"m\",\"fields\":{\"f\":\"x\"}}", {"'f'", "string", "only numbers"}},
        {"{\"measurement\":\"m\",\"tags\":{\"a\":5}}", {"tag 'a'", "is a number", "as a string"}},
        {"{\"measurement\":\"m\",\"time\":[]}", {"'time'", "is an array", "RFC 3339"}},
        {"{\"timestamp\":5}", {"'timestamp'", "unknown", "measurement, tags, time and fields"}},
        {"{\"measurement\":\"m\",\"fields\":[]}", {"'fields'", "is an array", "an object of"}},
        {"[17]", {"is a number", "measurement and fields", ""}},
        {"{\"points\":5}", {"'points'", "array", ""}},
        {"[{\"measurement\" \"m\"}]", {"not JSON", "':' expected", ""}},
    };
    for (size_t i = 0; i < sizeof helps / sizeof helps[0]; i++) {
        struct ingest_fixture fixture;
        fixture_init(&fixture);
        struct vv_staging account =
            fixture_json(&fixture, helps[i].text, strlen(helps[i].text), SIZE_MAX, 0, 1);
        assert_int_equal(account.n_refusals, 1);
        for (size_t w = 0; w < 3; w++) {
            if (!strstr(account.refusals[0].detail, helps[i].words[w])) {
                fail_msg("'%s' is not in '%s'", helps[i].words[w], account.refusals[0].detail);
            }
        }
        fixture_deinit(&fixture);
    }
}

/* A zero byte is as unexpected as any other. */
static void test_zero_bytes(void **state)
{
    (void)state;
    static const char text[] = "[1\0,{\"measurement\":\"m\",\"fields\":{\"f\":1},\"time\":1}]\0";
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    struct vv_staging account = fixture_json(&fixture, text, sizeof text - 1, SIZE_MAX, 0, 1);
    assert_string_equal(fixture_rows(&fixture), "m|-|m.f=1i|1\n");
    assert_string_equal(fixture_refusals(&fixture), "1:0 syntax\n3:0 syntax\n");
    assert_non_null(strstr(account.refusals[1].detail, "nothing is read from here on"));
    fixture_deinit(&fixture);
}

/* ---- limits ---- */

static void test_too_large_points(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct vv_buffer body = {0};
        vv_buffer_text(&body, "[{\"measurement\":\"m\",\"fields\":{\"f\":1},\"time\":1},");
        size_t before = body.size;
        vv_buffer_text(&body, "{\"measurement\":\"");
        while (body.size - before < 1000 - 30 + (size_t)extra) {
            vv_buffer_text(&body, "m");
        }
        vv_buffer_text(&body, "\",\"fields\":{\"f\":2},\"time\":  2}");
        size_t size = body.size - before;
        vv_buffer_text(&body, ",{\"measurement\":\"m\",\"fields\":{\"f\":3},\"time\":3}]");
        assert_int_equal(size, 1000 + extra);
        for (size_t step = 0; step < 100; step += 9) {
            struct ingest_fixture fixture;
            fixture_init(&fixture);
            struct vv_staging account =
                fixture_json(&fixture, (const char *)body.data, body.size, SIZE_MAX, step, 1);
            assert_int_equal(account.points_staged, 3 - extra);
            assert_int_equal(account.refused[VV_REASON_LIMIT], extra);
            fixture_deinit(&fixture);
        }
        vv_buffer_deinit(&body);
    }
}

static void test_other_limits(void **state)
{
    (void)state;
    struct vv_buffer body = {0};
    vv_buffer_text(&body, "[");
    for (int i = 0; i < 33; i++) {
        vv_buffer_text(&body, "[");
    }
    for (int i = 0; i < 33; i++) {
        vv_buffer_text(&body, "]");
    }
    vv_buffer_text(&body, ",{\"measurement\":\"m\",\"fields\":{\"f\":0");
    for (int i = 0; i < 100; i++) {
        vv_buffer_format(&body, ",\"f%d\":1", i);
    }
    vv_buffer_text(&body, "}},{\"measurement\":\"m\",\"fields\":{\"f\":1},\"tags\":{\"t\":\"\"");
    for (int i = 0; i < VV_TAGS_MAX; i++) {
        vv_buffer_format(&body, ",\"t%d\":\"v\"", i);
    }
    vv_buffer_text(&body, "}}]");
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture.options.line_bytes_max = 1 << 16;
    struct vv_staging account =
        fixture_json(&fixture, (const char *)body.data, body.size, SIZE_MAX, 0, 1);
    assert_string_equal(fixture_refusals(&fixture), "1:0 limit\n2:1 limit\n3:0 limit\n");
    assert_int_equal(account.points_received, 3);
    fixture_deinit(&fixture);
    vv_buffer_deinit(&body);
}

/* Memory is bounded by the largest point, however long the text goes on. */
static void test_endless_point(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_json_parser *parser = NULL;
    assert_int_equal(vv_json_parser_create(&fixture.staging, 1, &parser), VV_OK);
    assert_int_equal(vv_json_parser_feed(parser, "[\"", 2), VV_OK);
    char piece[4096];
    memset(piece, '[', sizeof piece);
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(vv_json_parser_feed(parser, piece, sizeof piece), VV_OK);
    }
    assert_int_equal(vv_json_parser_finish(parser), VV_OK);
    vv_json_parser_destroy(parser);
    struct vv_staging account = fixture_finish(&fixture);
    assert_int_equal(account.refused[VV_REASON_LIMIT], 1);
    assert_int_equal(account.lines, 1);
    fixture_deinit(&fixture);
}

/* ---- series known from line protocol ---- */

/* The same tags are the same series in both forms, also with bytes that line protocol escapes, and
 * also where the text that one form would write means something else in the other. */
static void test_same_series_as_line_protocol(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    const char *lines = "m,t=a\\ b,u\\==\\, f=1 1\n";
    fixture_lines(&fixture, lines, strlen(lines), SIZE_MAX, 0, 1);
    const char *json = "{\"measurement\":\"m\",\"tags\":{\"t\":\"a b\",\"u=\":\",\"},"
                       "\"fields\":{\"f\":1.5},\"time\":2}";
    for (int i = 0; i < 2; i++) {
        fixture_json(&fixture, json, strlen(json), SIZE_MAX, 0, 1);
        assert_string_equal(fixture_rows(&fixture), "m|t=a\\ b,u\\==\\,|m.f=1.5|2\n");
    }
    assert_int_equal(vv_registry_source_count(fixture.registry), 1);
    /* the tag a\ with the value b, and the tag "a=b" with nothing behind it */
    const char *backslash = "{\"measurement\":\"m\",\"tags\":{\"a\\\\\":\"b\"},"
                            "\"fields\":{\"f\":1.5},\"time\":3}";
    fixture_json(&fixture, backslash, strlen(backslash), SIZE_MAX, 0, 1);
    fixture_json(&fixture, backslash, strlen(backslash), SIZE_MAX, 0, 1);
    assert_string_equal(fixture_refusals(&fixture), "");
    lines = "m,a\\=b f=1 1\n";
    fixture_lines(&fixture, lines, strlen(lines), SIZE_MAX, 0, 1);
    assert_string_equal(fixture_refusals(&fixture), "1:3 syntax\n");
    fixture_deinit(&fixture);
}

/* ---- random bodies ---- */

static void append_random_point(struct vv_random *random, struct vv_buffer *body)
{
    static const char *const members[] = {
        "\"measurement\":\"m\"",
        "\"measurement\":\"n \\\"]\"",
        "\"fields\":{\"f\":1}",
        "\"fields\":{\"f\":2,\"g\":1}",
        "\"tags\":{\"t\":\"a\"}",
        "\"tags\":{\"t\":\"}\"}",
        "\"time\":5",
        "\"time\":\"2001-01-01\"",
        "\"fields\":{\"f\":\"x\"}",
        "\"x\":[[1,2],{}]",
    };
    vv_buffer_text(body, "{");
    for (uint64_t i = 0, n = vv_random_below(random, 6); i < n; i++) {
        vv_buffer_format(body, "%s%s", i ? "," : "", members[vv_random_below(random, 10)]);
    }
    vv_buffer_text(body, "}");
}

static void append_random_body(struct vv_random *random, struct vv_buffer *body)
{
    static const char *const openings[] = {"[", "{\"points\":[", "", " [\n"};
    static const char *const closings[] = {"]", "]}", "", "]\n"};
    uint64_t form = vv_random_below(random, 4);
    vv_buffer_text(body, openings[form]);
    for (uint64_t i = 0, n = vv_random_below(random, 8); i < n; i++) {
        vv_buffer_text(body, i == 0 ? "" : form == 2 ? "\n" : ",");
        append_random_point(random, body);
    }
    vv_buffer_text(body, closings[form]);
    static const char bytes[] = "{}[]\",:\\ x1\n\0\xff";
    for (uint64_t i = vv_random_below(random, 3); i > 0 && body->size > 0; i--) {
        body->data[vv_random_below(random, body->size)] =
            (uint8_t)bytes[vv_random_below(random, sizeof bytes - 1)];
    }
}

static void check_random_body(struct vv_random *random, const struct vv_buffer *body)
{
    struct ingest_fixture whole;
    struct ingest_fixture pieces;
    fixture_init(&whole);
    fixture_init(&pieces);
    whole.options.line_bytes_max = pieces.options.line_bytes_max = 60;
    size_t cut = vv_random_below(random, body->size + 1);
    size_t step = vv_random_below(random, 2) ? 1 + vv_random_below(random, 30) : 0;
    const char *bytes = (const char *)body->data;
    struct vv_staging first = fixture_json(&whole, bytes, body->size, SIZE_MAX, 0, 1);
    struct vv_staging second = fixture_json(&pieces, bytes, body->size, cut, step, 1);
    assert_string_equal(fixture_rows(&whole), fixture_rows(&pieces));
    assert_string_equal(fixture_refusals(&whole), fixture_refusals(&pieces));
    assert_memory_equal(first.refused, second.refused, sizeof first.refused);
    assert_int_equal(first.lines, second.lines);
    fixture_deinit(&whole);
    fixture_deinit(&pieces);
}

static void test_random_bodies(void **state)
{
    (void)state;
    print_message("seed %d, %d bodies\n", SEED, BODIES);
    struct vv_random random = {SEED};
    for (int i = 0; i < BODIES; i++) {
        struct vv_buffer body = {0};
        append_random_body(&random, &body);
        if (body.size > 0) {
            check_random_body(&random, &body);
        }
        vv_buffer_deinit(&body);
    }
}

/* ---- memory ---- */

static uint64_t jansson_fails_at;

static void *jansson_malloc(size_t size)
{
    return jansson_fails_at > 0 && --jansson_fails_at == 0 ? NULL : malloc(size);
}

/* One run with a failure in Varve's own code (k) or in the JSON library (k_library). */
static bool feed_with_failure(struct ingest_fixture *fixture, const char *text, uint64_t k,
                              uint64_t k_library)
{
    struct vv_json_parser *parser = NULL;
    assert_int_equal(vv_staging_init(&fixture->staging, &fixture->options), VV_OK);
    vv_sim_memory_fail(k);
    jansson_fails_at = k_library;
    enum vv_status status = vv_json_parser_create(&fixture->staging, 1, &parser);
    for (size_t at = 0; at < strlen(text) && status == VV_OK; at += 30) {
        size_t left = strlen(text) - at;
        status = vv_json_parser_feed(parser, text + at, left < 30 ? left : 30);
    }
    if (status == VV_OK) {
        status = vv_json_parser_finish(parser);
    }
    bool failed = vv_sim_memory_failed() || (k_library > 0 && jansson_fails_at == 0);
    jansson_fails_at = 0;
    assert_true(status == VV_OK || (status == VV_NO_MEMORY && failed));
    fixture_check_account(&fixture->staging);
    struct vv_batch *batch = vv_staging_take_batch(&fixture->staging);
    assert_int_equal(batch ? batch->points : 0, fixture->staging.points_staged);
    assert_true(batch || status != VV_OK);
    vv_batch_destroy(batch);
    vv_json_parser_destroy(parser);
    vv_staging_deinit(&fixture->staging);
    return failed;
}

static void test_allocations_fail(void **state)
{
    (void)state;
    const char *text =
        "[{\"measurement\":\"m\",\"tags\":{\"a\":\"1\",\"b\":\"2\"},\"fields\":{\"f\":1,\"g\":2.5}}"
        ","
        "{\"measurement\":\"n\",\"fields\":{\"s\":\"x\",\"b\":true},\"time\":\"2001-01-01\"},"
        "{\"measurement\":\"m\",\"fields\":{\"f\":1}}]";
    for (int library = 0; library < 2; library++) {
        json_set_alloc_funcs(jansson_malloc, free);
        for (uint64_t k = 1;; k++) {
            struct ingest_fixture fixture;
            fixture_init(&fixture);
            bool failed = feed_with_failure(&fixture, text, library ? 0 : k, library ? k : 0);
            fixture_deinit(&fixture);
            if (!failed) {
                assert_true(k > 15);
                break;
            }
        }
        json_set_alloc_funcs(malloc, free);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_precision),
        cmocka_unit_test(test_texts_help),
        cmocka_unit_test(test_zero_bytes),
        cmocka_unit_test(test_too_large_points),
        cmocka_unit_test(test_other_limits),
        cmocka_unit_test(test_endless_point),
        cmocka_unit_test(test_same_series_as_line_protocol),
        cmocka_unit_test(test_random_bodies),
        cmocka_unit_test(test_allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
