/* SPDX-License-Identifier: Apache-2.0 */
/* JSON: hostile texts come back unchanged, and what is open is closed. */
#include "query/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

static const char *const columns[] = {"text", "number", "time", "tags"};
static const struct vv_writer_layout list = {
    .tenant = {"t\"\\", 3}, .name = "list", .columns = columns, .n_columns = 4};
static const struct vv_result_facts facts = {.complete = true, .duration_ns = 1234567};

static json_t *finish(struct vv_writer *writer, struct vv_buffer *buffer, enum vv_status status)
{
    struct vv_writer_end end = {
        .facts = &facts, .next = {"n\n", 2}, .status = status, .message = "so \"it\" is"};
    writer->ops->end(writer, buffer, &end);
    assert_int_equal(vv_buffer_status(buffer), VV_OK);
    json_t *json = json_loadb((char *)buffer->data, buffer->size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    vv_buffer_deinit(buffer);
    vv_writer_deinit(writer);
    return json;
}

static void texts_come_back(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "plain", "\"", "\\", "a\nb\tc\rd", "\x01\x1f\x7f", "°C 漢", "</script>", "end\\"};
    struct vv_writer writer;
    struct vv_buffer buffer = {0};
    vv_writer_init(&writer, VV_FORMAT_JSON, VV_TIME_MS, &list);
    writer.ops->begin(&writer, &buffer);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct vv_str text = vv_str_of(texts[i]);
        struct vv_tag tag = {text, text};
        writer.ops->record_begin(&writer, &buffer);
        writer.ops->field_text(&writer, &buffer, text);
        writer.ops->field_cell(&writer, &buffer, vv_cell_integer((int64_t)i));
        writer.ops->field_time(&writer, &buffer, 5000000, i > 0);
        writer.ops->field_tags(&writer, &buffer, &tag, i % 2);
        writer.ops->record_end(&writer, &buffer);
    }
    json_t *json = finish(&writer, &buffer, VV_OK);
    const json_t *records = json_object_get(json, "list");
    assert_int_equal(json_array_size(records), sizeof texts / sizeof texts[0]);
    for (size_t i = 0; i < json_array_size(records); i++) {
        const json_t *record = json_array_get(records, i);
        assert_string_equal(json_string_value(json_object_get(record, "text")), texts[i]);
        assert_true(i == 0 || json_integer_value(json_object_get(record, "time")) == 5);
        assert_int_equal(json_object_size(json_object_get(record, "tags")), i % 2);
    }
    assert_string_equal(json_string_value(json_object_get(json, "tenant")), "t\"\\");
    assert_string_equal(json_string_value(json_object_get(json, "next")), "n\n");
    assert_null(json_object_get(json, "error"));
    const json_t *told = json_object_get(json, "facts");
    assert_true(json_number_value(json_object_get(told, "duration_ms")) == 1.235);
    json_decref(json);
}

static void whatever_is_open_is_closed(void **state)
{
    (void)state;
    struct vv_writer_layout layout = {.tenant = {"t", 1}};
    struct vv_writer_series series = {.source = {"s", 1}, .metric = {"m", 1}, .unit = {"", 0}};
    struct vv_cell cell = vv_cell_integer(7);
    for (int depth = 0; depth < 5; depth++) {
        struct vv_writer writer;
        struct vv_buffer buffer = {0};
        vv_writer_init(&writer, VV_FORMAT_JSON, VV_TIME_NS, depth == 4 ? &list : &layout);
        if (depth > 0) {
            writer.ops->begin(&writer, &buffer);
        }
        if (depth == 4) {
            writer.ops->record_begin(&writer, &buffer);
        } else if (depth > 1) {
            writer.ops->series_begin(&writer, &buffer, &series);
        }
        if (depth == 3) {
            vv_writer_row(&writer, &buffer, 1, &cell, 1);
        }
        json_t *json = finish(&writer, &buffer, VV_CORRUPT);
        const json_t *error = json_object_get(json, "error");
        assert_string_equal(json_string_value(json_object_get(error, "code")), "corrupt");
        assert_string_equal(json_string_value(json_object_get(error, "message")), "so \"it\" is");
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(whatever_is_open_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
