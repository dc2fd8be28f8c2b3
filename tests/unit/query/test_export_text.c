/* SPDX-License-Identifier: Apache-2.0 */
/* Exported lines: their exact text, and that reading them gives the same points. */
#include "base/bits.h"
#include "base/random.h"
#include "ingest/json_points.h"
#include "ingest/line_protocol.h"
#include "query/export_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct point {
    const char *field;
    enum vv_value_type type;
    uint64_t bits;
};

#define POINTS_MAX 600

/* One row as text, for the caller to deinit. */
static enum vv_status write_row(enum vv_format format, const struct vv_export_series *series,
                                int64_t time, const struct point *points, size_t n,
                                struct vv_buffer *out, struct vv_error *error)
{
    struct vv_buffer head = {0};
    struct vv_buffer fields[POINTS_MAX] = {0};
    struct vv_export_column columns[POINTS_MAX];
    uint64_t values = 0;
    enum vv_status status = vv_export_head(&head, format, series, error);
    for (size_t i = 0; i < n && status == VV_OK; i++) {
        status = vv_export_field(&fields[i], format, vv_str_of(points[i].field), error);
        columns[i] = (struct vv_export_column){
            .field = {(const char *)fields[i].data, fields[i].size},
            .type = points[i].type,
            .values = &points[i].bits,
        };
    }
    if (status == VV_OK) {
        status = vv_export_row(out, format, (struct vv_str){(const char *)head.data, head.size},
                               time, columns, n, 0, &values, error);
    }
    assert_true(status != VV_OK || values == n);
    for (size_t i = 0; i < n; i++) {
        vv_buffer_deinit(&fields[i]);
    }
    vv_buffer_deinit(&head);
    return status;
}

static void expect_row(enum vv_format format, const struct vv_export_series *series, int64_t time,
                       const struct point *points, size_t n, const char *expected)
{
    struct vv_buffer out = {0};
    struct vv_error error = {0};
    if (write_row(format, series, time, points, n, &out, &error) != VV_OK) {
        fail_msg("%s", error.message);
    }
    vv_buffer_u8(&out, 0);
    assert_string_equal((const char *)out.data, expected);
    vv_buffer_deinit(&out);
}

/* ---- exact texts ---- */

static void names_are_escaped_where_they_must_be(void **state)
{
    (void)state;
    const struct vv_tag tags[] = {{VV_STR_LITERAL("a b"), VV_STR_LITERAL("x,y=z \\w")},
                                  {VV_STR_LITERAL("k=1"), VV_STR_LITERAL("\"é\\,\"")}};
    const struct vv_export_series series = {.measurement = VV_STR_LITERAL("m,1 = \\n"),
                                            .source = VV_STR_LITERAL("the,id \"1\""),
                                            .tags = tags,
                                            .n_tags = 2};
    const struct point points[] = {{"f,=\\ g\"", VV_INT64, 7}};
    expect_row(VV_FORMAT_LINE, &series, -5, points, 1,
               "m\\,1\\ =\\ \\n,a\\ b=x\\,y\\=z\\ \\w,k\\=1=\"é\\\\,\" f\\,\\=\\\\ g\"=7i -5\n");
    expect_row(VV_FORMAT_JSON_LINES, &series, -5, points, 1,
               "{\"measurement\":\"m,1 = \\\\n\",\"tags\":{\"a b\":\"x,y=z \\\\w\",\"k=1\":"
               "\"\\\"é\\\\,\\\"\"},\"time\":-5,\"fields\":{\"f,=\\\\ g\\\"\":7}}\n");
    expect_row(VV_FORMAT_CSV, &series, -5, points, 1,
               "\"the,id \"\"1\"\"\",\"m,1 = \\n\",\"f,=\\ g\"\"\",-5,int,7\n");
}

static void the_id_tag_stands_in_its_place(void **state)
{
    (void)state;
    const struct vv_tag tags[] = {{VV_STR_LITERAL("a"), VV_STR_LITERAL("1")},
                                  {VV_STR_LITERAL("z"), VV_STR_LITERAL("2")}};
    struct vv_export_series series = {.measurement = VV_STR_LITERAL("m"),
                                      .source = VV_STR_LITERAL("press 4"),
                                      .id_tag = VV_STR_LITERAL("host"),
                                      .tags = tags,
                                      .n_tags = 2};
    const struct point points[] = {{"v", VV_FLOAT64, vv_bits_of_double(1.5)}};
    expect_row(VV_FORMAT_LINE, &series, 1, points, 1, "m,a=1,host=press\\ 4,z=2 v=1.5 1\n");
    series.n_tags = 1;
    expect_row(VV_FORMAT_LINE, &series, 1, points, 1, "m,a=1,host=press\\ 4 v=1.5 1\n");
    series.n_tags = 0;
    expect_row(VV_FORMAT_LINE, &series, 1, points, 1, "m,host=press\\ 4 v=1.5 1\n");
    expect_row(VV_FORMAT_JSON_LINES, &series, 1, points, 1,
               "{\"measurement\":\"m\",\"tags\":{\"host\":\"press 4\"},\"time\":1,"
               "\"fields\":{\"v\":1.5}}\n");
    series.id_tag = (struct vv_str){0}; /* no tags at all */
    expect_row(VV_FORMAT_LINE, &series, 1, points, 1, "m v=1.5 1\n");
}

static void numbers_keep_every_bit(void **state)
{
    (void)state;
    const struct vv_export_series series = {.measurement = VV_STR_LITERAL("m"),
                                            .source = VV_STR_LITERAL("-")};
    const struct point points[] = {
        {"a", VV_INT64, (uint64_t)INT64_MAX},
        {"b", VV_INT64, (uint64_t)INT64_MIN},
        {"c", VV_FLOAT64, vv_bits_of_double(-0.0)},
        {"d", VV_FLOAT64, vv_bits_of_double(5e-324)},
        {"e", VV_FLOAT64, vv_bits_of_double(3)},
        {"f", VV_FLOAT64, vv_bits_of_double(0.1)},
        {"g", VV_FLOAT64, vv_bits_of_double(-1.7976931348623157e308)},
    };
    expect_row(VV_FORMAT_LINE, &series, INT64_C(1385932500000000001), points, 7,
               "m a=9223372036854775807i,b=-9223372036854775808i,c=-0,d=4.94065645841247e-324,e=3,"
               "f=0.1,g=-1.7976931348623157e+308 1385932500000000001\n");
    expect_row(VV_FORMAT_JSON_LINES, &series, 0, points, 7,
               "{\"measurement\":\"m\",\"tags\":{},\"time\":0,\"fields\":{\"a\":"
               "9223372036854775807,\"b\":-9223372036854775808,\"c\":-0.0,\"d\":"
               "4.94065645841247e-324,\"e\":3.0,\"f\":0.1,\"g\":-1.7976931348623157e+308}}\n");
    expect_row(VV_FORMAT_CSV, &series, 0, points + 2, 1, "-,m,c,0,float,-0\n");
}

static void what_line_protocol_cannot_hold_is_refused(void **state)
{
    (void)state;
    const struct vv_tag odd = {VV_STR_LITERAL("k"), VV_STR_LITERAL("ends\\")};
    const struct vv_export_series plain = {.measurement = VV_STR_LITERAL("m")};
    const struct vv_export_series bad[] = {
        {.measurement = VV_STR_LITERAL("m\\")},
        {.measurement = VV_STR_LITERAL("#m")},
        {.measurement = VV_STR_LITERAL("m"), .tags = &odd, .n_tags = 1},
        {.measurement = VV_STR_LITERAL("m"),
         .source = VV_STR_LITERAL("x\\"),
         .id_tag = VV_STR_LITERAL("id")},
    };
    const struct point one[] = {{"v", VV_INT64, 1}};
    const struct point odd_field[] = {{"v\\", VV_INT64, 1}};
    struct vv_buffer out = {0};
    struct vv_error error = {0};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(write_row(VV_FORMAT_LINE, &bad[i], 0, one, 1, &out, &error), VV_INVALID);
        assert_non_null(strstr(error.message, "format=jsonl"));
        assert_int_equal(write_row(VV_FORMAT_JSON_LINES, &bad[i], 0, one, 1, &out, &error), VV_OK);
    }
    assert_int_equal(write_row(VV_FORMAT_LINE, &plain, 0, odd_field, 1, &out, &error), VV_INVALID);
    static const double odd_values[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        const struct point point = {"v", VV_FLOAT64, vv_bits_of_double(odd_values[i])};
        assert_int_equal(write_row(VV_FORMAT_LINE, &plain, 0, &point, 1, &out, &error), VV_INVALID);
        assert_int_equal(write_row(VV_FORMAT_JSON_LINES, &plain, 0, &point, 1, &out, &error),
                         VV_INVALID);
        assert_int_equal(write_row(VV_FORMAT_CSV, &plain, 0, &point, 1, &out, &error), VV_OK);
    }
    vv_buffer_deinit(&out);
}

static void ids_do_not_look_like_comments_in_csv(void **state)
{
    (void)state;
    const struct vv_export_series series = {.measurement = VV_STR_LITERAL("m"),
                                            .source = VV_STR_LITERAL("# error: x")};
    const struct point one[] = {{"v", VV_INT64, 1}};
    expect_row(VV_FORMAT_CSV, &series, 0, one, 1, "\"# error: x\",m,v,0,int,1\n");
}

/* ---- reading them back ---- */

struct rig {
    struct vv_registry *registry;
    uint32_t tenant;
    struct vv_staging staging;
};

static void rig_init(struct rig *rig, const char *id_tag)
{
    struct vv_registry_options options = {.id_tag = id_tag,
                                          .tenants_max = 2,
                                          .sources_max = 100000,
                                          .metrics_max = 100000,
                                          .cache_bytes = 1 << 16};
    assert_int_equal(vv_registry_create(&options, &rig->registry), VV_OK);
    assert_int_equal(
        vv_registry_tenant(rig->registry, VV_STR_LITERAL("t"), true, &rig->tenant, NULL), VV_OK);
}

static void rig_stage(struct rig *rig, const struct vv_buffer *text, bool json)
{
    struct vv_staging_options options = {.registry = rig->registry,
                                         .tenant = rig->tenant,
                                         .future_ns_max = INT64_MAX / 4,
                                         .fields_max = 1000,
                                         .line_bytes_max = 256 << 10};
    assert_int_equal(vv_staging_init(&rig->staging, &options), VV_OK);
    struct vv_line_parser *lines = NULL;
    struct vv_json_parser *points = NULL;
    if (json) {
        assert_int_equal(vv_json_parser_create(&rig->staging, 1, &points), VV_OK);
        assert_int_equal(vv_json_parser_feed(points, (const char *)text->data, text->size), VV_OK);
        assert_int_equal(vv_json_parser_finish(points), VV_OK);
    } else {
        assert_int_equal(vv_line_parser_create(&rig->staging, 1, &lines), VV_OK);
        assert_int_equal(vv_line_parser_feed(lines, (const char *)text->data, text->size), VV_OK);
        assert_int_equal(vv_line_parser_finish(lines), VV_OK);
    }
    vv_line_parser_destroy(lines);
    vv_json_parser_destroy(points);
    if (rig->staging.n_refusals > 0) {
        fail_msg("%s: %.*s", rig->staging.refusals[0].detail, (int)text->size,
                 (const char *)text->data);
    }
}

static void random_name(struct vv_random *random, char *out)
{
    static const char *const parts[] = {",", "=", " ", "\\", "\"", "é", "a", "#", "'", "_", "{"};
    size_t n = 1 + (size_t)vv_random_below(random, 6);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        strcat(out, parts[vv_random_below(random, sizeof parts / sizeof parts[0])]);
    }
    if (out[0] == '#') { /* what line protocol cannot hold */
        out[0] = 'x';
    }
    if (out[strlen(out) - 1] == '\\') {
        strcat(out, "x");
    }
}

static uint64_t random_bits(struct vv_random *random, enum vv_value_type type)
{
    for (;;) {
        uint64_t bits = vv_random_next(random);
        bits = vv_random_below(random, 4) == 0 ? bits & UINT64_C(0x800FFFFFFFFFFFFF) : bits;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (type == VV_INT64 || isfinite(value)) {
            return bits;
        }
    }
}

/* The one point that was staged is this one of this source. */
static void expect_staged(struct rig *rig, uint32_t source, const char *measurement,
                          const struct point *point, int64_t time)
{
    const struct vv_batch *batch = rig->staging.batch;
    assert_non_null(batch);
    assert_int_equal(batch->n_frames, 1);
    const struct vv_frame *frame = &batch->frames[0];
    assert_int_equal(frame->n_rows, 1);
    assert_int_equal(frame->sources[0], source);
    assert_true(frame->times[0] == time);
    assert_true(frame->values[0] == point->bits);
    struct vv_metric_info info;
    char name[256];
    vv_registry_metric_info(rig->registry, frame->metrics[0], &info);
    snprintf(name, sizeof name, "%s.%s", measurement, point->field);
    assert_true(vv_str_equal(info.name, vv_str_of(name)));
    assert_int_equal(info.type, point->type);
}

static void read_back_one(struct vv_random *random, const char *id_tag)
{
    struct rig rig;
    char texts[8][64];
    struct vv_tag tags[3];
    struct vv_arena arena = {0};
    struct vv_tag_version version;
    uint32_t source;
    rig_init(&rig, id_tag);
    for (size_t i = 0; i < 8; i++) {
        random_name(random, texts[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        tags[i] = (struct vv_tag){vv_str_of(texts[2 * i]), vv_str_of(texts[2 * i + 1])};
    }
    if (id_tag) {
        tags[0].key = vv_str_of(id_tag);
    }
    assert_int_equal(vv_registry_source(rig.registry, rig.tenant, tags, 3, 0, &source, NULL),
                     VV_OK);
    assert_int_equal(vv_registry_source_tags(rig.registry, source, &arena, &version), VV_OK);
    const struct vv_export_series series = {
        .measurement = vv_str_of(texts[6]),
        .source = vv_registry_source_id(rig.registry, source),
        .id_tag = vv_registry_source_id_tag(rig.registry, source),
        .tags = version.tags,
        .n_tags = version.n_tags,
    };
    assert_int_equal(series.id_tag.data != NULL, id_tag != NULL);
    enum vv_value_type type = vv_random_below(random, 2) ? VV_INT64 : VV_FLOAT64;
    const struct point point = {texts[7], type, random_bits(random, type)};
    int64_t time = (int64_t)vv_random_below(random, UINT64_C(1) << 60) - (INT64_C(1) << 59);
    for (int json = 0; json < 2; json++) {
        struct vv_buffer text = {0};
        struct vv_error error = {0};
        assert_int_equal(write_row(json ? VV_FORMAT_JSON_LINES : VV_FORMAT_LINE, &series, time,
                                   &point, 1, &text, &error),
                         VV_OK);
        rig_stage(&rig, &text, json != 0);
        expect_staged(&rig, source, texts[6], &point, time);
        vv_staging_deinit(&rig.staging);
        vv_buffer_deinit(&text);
    }
    vv_arena_deinit(&arena);
    vv_registry_destroy(rig.registry);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct vv_random random = {.state = 42};
    for (int round = 0; round < 2000; round++) {
        read_back_one(&random, round % 2 ? "id" : NULL);
    }
}

static void a_wide_row_becomes_lines_that_are_accepted(void **state)
{
    (void)state;
    static char names[POINTS_MAX][1001];
    struct point points[POINTS_MAX];
    static const size_t lengths[] = {4, 1000};
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < POINTS_MAX; i++) {
            memset(names[i], 'x', lengths[k]);
            names[i][lengths[k]] = '\0';
            snprintf(names[i], 5, "%04zu", i);
            names[i][4] = k ? 'x' : '\0';
            points[i] = (struct point){names[i], VV_INT64, i};
        }
        struct rig rig;
        struct vv_buffer text = {0};
        struct vv_error error = {0};
        const struct vv_export_series series = {.measurement = VV_STR_LITERAL("m")};
        rig_init(&rig, NULL);
        assert_int_equal(write_row(VV_FORMAT_LINE, &series, 9, points, POINTS_MAX, &text, &error),
                         VV_OK);
        size_t lines = 0;
        size_t longest = 0;
        for (size_t i = 0, start = 0; i < text.size; i++) {
            if (text.data[i] == '\n') {
                lines++;
                longest = i - start > longest ? i - start : longest;
                start = i + 1;
            }
        }
        assert_true(lines >= 3 && longest < (70u << 10));
        rig_stage(&rig, &text, false);
        assert_int_equal(rig.staging.points_staged, POINTS_MAX);
        vv_staging_deinit(&rig.staging);
        vv_registry_destroy(rig.registry);
        vv_buffer_deinit(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_escaped_where_they_must_be),
        cmocka_unit_test(the_id_tag_stands_in_its_place),
        cmocka_unit_test(numbers_keep_every_bit),
        cmocka_unit_test(what_line_protocol_cannot_hold_is_refused),
        cmocka_unit_test(ids_do_not_look_like_comments_in_csv),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_wide_row_becomes_lines_that_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
