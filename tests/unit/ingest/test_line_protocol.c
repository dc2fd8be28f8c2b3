/* SPDX-License-Identifier: Apache-2.0 */
/* Line protocol as a stream: long lines, lost quotes, pieces of any size, hostile bytes. */
#include "ingest_fixture.h"

#include "base/random.h"
#include "simulation/sim_memory.h"

#ifdef __OPTIMIZE__
#define BODIES 5000
#else
#define BODIES 1000
#endif
#define SEED 77

static void append_repeated(struct vv_buffer *body, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        vv_buffer_text(body, text);
    }
}

static void check_body(const struct vv_buffer *body, const char *rows, const char *refusals)
{
    assert_int_equal(vv_buffer_status(body), VV_OK);
    for (size_t step = 0; step < 70; step += step < 3 ? 1 : 33) {
        struct ingest_fixture fixture;
        fixture_init(&fixture);
        fixture_lines(&fixture, (const char *)body->data, body->size, SIZE_MAX, step, 1);
        assert_string_equal(fixture_rows(&fixture), rows);
        assert_string_equal(fixture_refusals(&fixture), refusals);
        fixture_deinit(&fixture);
    }
}

static void test_longest_line(void **state)
{
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct vv_buffer body = {0};
        vv_buffer_text(&body, "m f=1 1\nm,t=");
        append_repeated(&body, "x", 1000 - strlen("m,t= f=2 2") + (size_t)extra);
        vv_buffer_text(&body, " f=2 2\nm f=3 3\n");
        struct ingest_fixture fixture;
        fixture_init(&fixture);
        struct vv_staging account =
            fixture_lines(&fixture, (const char *)body.data, body.size, SIZE_MAX, 7, 1);
        assert_int_equal(account.points_staged, 3 - extra);
        assert_int_equal(account.refused[VV_REASON_LIMIT], extra);
        assert_int_equal(account.lines, 3);
        fixture_deinit(&fixture);
        vv_buffer_deinit(&body);
    }
}

static void test_too_long_line_is_skipped(void **state)
{
    (void)state;
    struct vv_buffer body = {0};
    vv_buffer_text(&body, "m f=1 1\nm,t=");
    append_repeated(&body, "long \"", 20000);
    vv_buffer_text(&body, "\nm f=2 2\n");
    append_repeated(&body, "y", 1001);
    check_body(&body, "m|-|m.f=1|1\nm|-|m.f=2|2\n", "2:1 limit\n4:1 limit\n");
    vv_buffer_deinit(&body);
}

static void test_long_comment_is_no_line(void **state)
{
    (void)state;
    struct vv_buffer body = {0};
    vv_buffer_text(&body, "m f=1 1\n  #");
    append_repeated(&body, "comment ", 500);
    vv_buffer_text(&body, "\nm f=2 2\n");
    check_body(&body, "m|-|m.f=1|1\nm|-|m.f=2|2\n", "");
    vv_buffer_deinit(&body);
}

/* A quote that is missing costs one line, not the rest of the body. */
static void test_lost_quote(void **state)
{
    (void)state;
    struct vv_buffer body = {0};
    vv_buffer_text(&body, "m f=1 1\nm s=\"lost 2\n");
    append_repeated(&body, "m f=3 3\n", 300);
    struct ingest_fixture fixture;
    for (size_t step = 0; step < 3; step++) {
        fixture_init(&fixture);
        struct vv_staging account =
            fixture_lines(&fixture, (const char *)body.data, body.size, SIZE_MAX, step, 1);
        assert_int_equal(account.points_staged, 301);
        assert_string_equal(fixture_refusals(&fixture), "2:5 limit\n");
        assert_non_null(strstr(account.refusals[0].detail, "not closed within the 1000 bytes"));
        fixture_deinit(&fixture);
    }
    vv_buffer_deinit(&body);
}

/* Many lines inside of one string, up to the limit, and then a field: one row. */
static void test_newlines_in_string(void **state)
{
    (void)state;
    struct vv_buffer body = {0};
    vv_buffer_text(&body, "m s=\"");
    append_repeated(&body, "a=\\\"x\\\",\n", 90);
    vv_buffer_text(&body, "\",t=\"\n\n\",f=1 1\nm f=2 2\n");
    check_body(&body, "m|-|m.f=1|1\nm|-|m.f=2|2\n", "1:3 string\n1:818 string\n");
    vv_buffer_deinit(&body);
}

/* Strings that each reach over a newline, as many as fit: the work must stay proportional, which
 * the time limit of the test shows in the worst case. */
static void test_many_open_strings(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture.options.line_bytes_max = 1 << 20;
    fixture.options.fields_max = 4096;
    struct vv_buffer body = {0};
    for (int round = 0; round < 8; round++) {
        vv_buffer_text(&body, "m ");
        append_repeated(&body, "f=\"\n\",", 4000);
        vv_buffer_text(&body, "g=1 1\n");
        append_repeated(&body, "m a=\"\nm a=\"x=\"\n", 4000);
    }
    struct vv_staging account =
        fixture_lines(&fixture, (const char *)body.data, body.size, SIZE_MAX, 0, 1);
    assert_int_equal(account.points_staged, 8);
    fixture_deinit(&fixture);
    vv_buffer_deinit(&body);
}

static void test_limits_of_a_line(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture.options.line_bytes_max = 65536;
    struct vv_buffer body = {0};
    vv_buffer_text(&body, "m f0=1");
    for (int i = 1; i < 100; i++) {
        vv_buffer_format(&body, ",f%d=1", i);
    }
    vv_buffer_text(&body, " 1\nm f0=1");
    for (int i = 1; i < 101; i++) {
        vv_buffer_format(&body, ",f%d=%s", i, i % 3 ? "1" : "\"\"");
    }
    vv_buffer_text(&body, " 2\nm");
    for (int i = 0; i < VV_TAGS_MAX + 1; i++) {
        vv_buffer_format(&body, ",t%d=1", i);
    }
    vv_buffer_text(&body, " f0=1 3\nm f0=1 4\n");
    struct vv_staging account =
        fixture_lines(&fixture, (const char *)body.data, body.size, SIZE_MAX, 0, 1);
    assert_int_equal(account.points_staged, 101);
    assert_int_equal(account.refused[VV_REASON_LIMIT], 2);
    assert_string_equal(fixture_refusals(&fixture), "2:1 limit\n3:1684 limit\n");
    assert_non_null(strstr(account.refusals[0].detail, "more than 100 fields"));
    assert_non_null(strstr(account.refusals[1].detail, "more than 256 tags"));
    fixture_deinit(&fixture);
    vv_buffer_deinit(&body);
}

/* Batches can be taken between any two pieces. */
static void test_batches_in_between(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_line_parser *parser = NULL;
    assert_int_equal(vv_line_parser_create(&fixture.staging, 1, &parser), VV_OK);
    const char *text = "m f=1,g=2 1\nm f=3,g=4 2\nm g=5,f=6 3\n";
    for (size_t i = 0; i < strlen(text); i++) {
        assert_int_equal(vv_line_parser_feed(parser, text + i, 1), VV_OK);
        fixture_take(&fixture);
        assert_null(vv_staging_take_batch(&fixture.staging));
    }
    assert_int_equal(vv_line_parser_finish(parser), VV_OK);
    vv_line_parser_destroy(parser);
    fixture_finish(&fixture);
    assert_string_equal(fixture_rows(&fixture), "m|-|m.f=1 m.g=2|1\nm|-|m.f=3 m.g=4|2\n"
                                                "m|-|m.f=6 m.g=5|3\n");
    fixture_deinit(&fixture);
}

/* ---- random bodies ---- */

static const char *pick(struct vv_random *random, const char *const *words, size_t n)
{
    return words[vv_random_below(random, n)];
}

static void append_random_line(struct vv_random *random, struct vv_buffer *body)
{
    static const char *const keys[] = {"m",   "m,t=a", "m,t=b,u=c", "n\\ x,t=\\,", "m,u=c,t=b",
                                       "m,t", "m\\",   "",          "#",           "  m"};
    static const char *const names[] = {"f", "g", "h", "long_field_name", "e\\=", "", "f\\"};
    static const char *const values[] = {"1",
                                         "2.5",
                                         "3i",
                                         "t",
                                         "false",
                                         "\"x\"",
                                         "-7",
                                         "1e300",
                                         "\"a\nb\"",
                                         "\"\\\"\"",
                                         "99999999999999999999u",
                                         "",
                                         "nan",
                                         "\"",
                                         "5u"};
    static const char *const ends[] = {" 1\n",  "\n",   " 2\r\n", "\n\n",
                                       " -3\n", " x\n", "",       " 99\n"};
    bool good = vv_random_below(random, 4) > 0;
    vv_buffer_text(body, pick(random, keys, good ? 5 : 10));
    vv_buffer_text(body, " ");
    size_t n = 1 + vv_random_below(random, 4);
    for (size_t i = 0; i < n; i++) {
        vv_buffer_text(body, i ? "," : "");
        vv_buffer_text(body, pick(random, names, good ? 5 : 7));
        vv_buffer_text(body, "=");
        vv_buffer_text(body, pick(random, values, good ? 10 : 15));
    }
    vv_buffer_text(body, pick(random, ends, good ? 5 : 8));
}

static void damage(struct vv_random *random, struct vv_buffer *body)
{
    static const char bytes[] = "\",= \\\n\r#0ie.\0\xff";
    for (uint64_t i = vv_random_below(random, 4); i > 0 && body->size > 0; i--) {
        size_t at = vv_random_below(random, body->size);
        body->data[at] = (uint8_t)bytes[vv_random_below(random, sizeof bytes - 1)];
    }
}

static void check_random_body(struct vv_random *random, struct vv_buffer *body)
{
    struct ingest_fixture whole;
    struct ingest_fixture pieces;
    fixture_init(&whole);
    fixture_init(&pieces);
    whole.options.line_bytes_max = pieces.options.line_bytes_max =
        20 + (uint32_t)vv_random_below(random, 100);
    whole.options.fields_max = pieces.options.fields_max = 3;
    size_t cut = vv_random_below(random, body->size + 1);
    size_t step = vv_random_below(random, 2) ? 1 + vv_random_below(random, 40) : 0;
    const char *bytes = (const char *)body->data;
    struct vv_staging first = fixture_lines(&whole, bytes, body->size, SIZE_MAX, 0, 1);
    struct vv_staging second = fixture_lines(&pieces, bytes, body->size, cut, step, 1);
    assert_string_equal(fixture_rows(&whole), fixture_rows(&pieces));
    assert_string_equal(fixture_refusals(&whole), fixture_refusals(&pieces));
    assert_memory_equal(first.refused, second.refused, sizeof first.refused);
    assert_int_equal(first.lines, second.lines);
    assert_string_equal(first.lenient_fields, second.lenient_fields);
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
        for (uint64_t n = vv_random_below(&random, 12); n > 0; n--) {
            append_random_line(&random, &body);
        }
        damage(&random, &body);
        if (body.size > 0) {
            check_random_body(&random, &body);
        }
        vv_buffer_deinit(&body);
    }
}

/* ---- memory ---- */

/* Feeds a body while the k-th allocation fails; the counts add up, and nothing is staged after the
 * failure. False when there was no such allocation. */
static bool feed_with_failure(struct ingest_fixture *fixture, const struct vv_buffer *body,
                              uint64_t k)
{
    struct vv_line_parser *parser = NULL;
    vv_sim_memory_fail(k);
    enum vv_status status = vv_staging_init(&fixture->staging, &fixture->options);
    if (status != VV_OK) {
        assert_int_equal(status, VV_NO_MEMORY);
        assert_true(vv_sim_memory_failed());
        return true;
    }
    status = vv_line_parser_create(&fixture->staging, 1, &parser);
    for (size_t at = 0; at < body->size && status == VV_OK; at += 50) {
        size_t piece = body->size - at < 50 ? body->size - at : 50;
        status = vv_line_parser_feed(parser, (const char *)body->data + at, piece);
    }
    if (status == VV_OK) {
        status = vv_line_parser_finish(parser);
    }
    bool failed = vv_sim_memory_failed();
    if (parser) {
        assert_int_equal(status == VV_NO_MEMORY, fixture->staging.out_of_memory);
    }
    assert_true(status == VV_OK || (status == VV_NO_MEMORY && failed));
    fixture_check_account(&fixture->staging);
    struct vv_batch *batch = vv_staging_take_batch(&fixture->staging);
    assert_int_equal(batch ? batch->points : 0, fixture->staging.points_staged);
    vv_batch_destroy(batch);
    vv_line_parser_destroy(parser);
    vv_staging_deinit(&fixture->staging);
    return failed;
}

static void test_allocations_fail(void **state)
{
    (void)state;
    struct vv_buffer body = {0};
    vv_buffer_text(&body, "m\\ x,t=a,u=\\, f=1,g\\ =2,s=\"x\" 1\n");
    for (int i = 0; i < 60; i++) {
        vv_buffer_format(&body, "%sf%d=%d", i ? "," : "n ", i, i);
    }
    vv_buffer_text(&body, " 2\nn");
    for (int i = 0; i < 40; i++) {
        vv_buffer_format(&body, "%cs%d=\"\"", i ? ',' : ' ', i);
    }
    vv_buffer_text(&body, " 3\nn f1=1,f0=2 4\nbad\nm,v=w f=1 5\n");
    for (int i = 0; i < 20; i++) {
        vv_buffer_format(&body, "o%d f=1 5\n", i);
    }
    for (uint64_t k = 1;; k++) {
        struct ingest_fixture fixture;
        fixture_init(&fixture);
        bool failed = feed_with_failure(&fixture, &body, k);
        fixture_deinit(&fixture);
        if (!failed) {
            assert_true(k > 30);
            break;
        }
    }
    vv_buffer_deinit(&body);
}

static void test_nothing_after_failure(void **state)
{
    (void)state;
    struct ingest_fixture fixture;
    fixture_init(&fixture);
    fixture_begin(&fixture);
    struct vv_line_parser *parser = NULL;
    assert_int_equal(vv_line_parser_create(&fixture.staging, 1, &parser), VV_OK);
    fixture.staging.out_of_memory = true;
    assert_int_equal(vv_line_parser_feed(parser, "m f=1 1\n", 8), VV_NO_MEMORY);
    assert_int_equal(vv_line_parser_finish(parser), VV_NO_MEMORY);
    assert_int_equal(fixture.staging.lines, 0);
    vv_line_parser_destroy(parser);
    fixture_finish(&fixture);
    fixture_deinit(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_longest_line),
        cmocka_unit_test(test_too_long_line_is_skipped),
        cmocka_unit_test(test_long_comment_is_no_line),
        cmocka_unit_test(test_lost_quote),
        cmocka_unit_test(test_newlines_in_string),
        cmocka_unit_test(test_many_open_strings),
        cmocka_unit_test(test_limits_of_a_line),
        cmocka_unit_test(test_batches_in_between),
        cmocka_unit_test(test_random_bodies),
        cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_nothing_after_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
