/* SPDX-License-Identifier: Apache-2.0 */
/* One point in JSON: its shape is checked in full before the first field is staged. */
#include "base/clock.h"
#include "ingest/decimal.h"
#include "ingest/json_private.h"

#include <jansson.h>
#include <stdio.h>

#define NAME_SHOWN_MAX 48

/* The members of a point; those that are absent or null are NULL. */
struct point {
    const json_t *measurement;
    json_t *tags;
    const json_t *time;
    json_t *fields;
};

/* Refuses the whole point, and returns false so that the caller can say so. */
static bool refuse(struct vv_json_parser *parser, const char *detail)
{
    vv_staging_refuse_line(parser->staging, parser->index, 0, VV_REASON_SYNTAX, detail);
    return false;
}

/* The same, about something with a name. */
static bool refuse_named(struct vv_json_parser *parser, const char *what, const char *name,
                         const char *problem)
{
    char detail[sizeof parser->staging->refusals[0].detail];
    snprintf(detail, sizeof detail, "%s '%.*s' %s", what, NAME_SHOWN_MAX, name, problem);
    return refuse(parser, detail);
}

static const char *type_text(const json_t *value)
{
    static const char *const texts[] = {
        [JSON_OBJECT] = "is an object", [JSON_ARRAY] = "is an array", [JSON_STRING] = "is a string",
        [JSON_INTEGER] = "is a number", [JSON_REAL] = "is a number",  [JSON_TRUE] = "is a boolean",
        [JSON_FALSE] = "is a boolean",  [JSON_NULL] = "is null",
    };
    return texts[json_typeof(value)];
}

static bool refuse_type(struct vv_json_parser *parser, const char *what, const char *name,
                        const json_t *value, const char *wanted)
{
    char problem[100];
    snprintf(problem, sizeof problem, "%s: %s", type_text(value), wanted);
    return refuse_named(parser, what, name, problem);
}

/* ---- members ---- */

static bool take_member(struct vv_json_parser *parser, struct point *point, const char *key,
                        json_t *value)
{
    json_t *present = json_is_null(value) ? NULL : value;
    if (strcmp(key, "measurement") == 0) {
        point->measurement = present;
    } else if (strcmp(key, "tags") == 0) {
        point->tags = present;
    } else if (strcmp(key, "time") == 0) {
        point->time = present;
    } else if (strcmp(key, "fields") == 0) {
        point->fields = present;
    } else if (strcmp(key, "points") == 0) {
        return refuse(parser, "'points' must be an array, and alone in its object");
    } else {
        return refuse_named(parser, "member", key,
                            "is unknown: a point has measurement, tags, time and fields");
    }
    return true;
}

static bool take_members(struct vv_json_parser *parser, json_t *root, struct point *point)
{
    if (!json_is_object(root)) {
        char detail[100];
        snprintf(detail, sizeof detail, "this %s: a point is an object with measurement and fields",
                 type_text(root));
        return refuse(parser, detail);
    }
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value)
    {
        if (!take_member(parser, point, key, value)) {
            return false;
        }
    }
    return true;
}

static bool check_measurement(struct vv_json_parser *parser, const struct point *point)
{
    if (!point->measurement) {
        return refuse(parser, "no measurement: name one, as in \"measurement\": \"pump\"");
    }
    if (!json_is_string(point->measurement)) {
        return refuse_type(parser, "member", "measurement", point->measurement, "write a string");
    }
    if (json_string_length(point->measurement) == 0) {
        return refuse(parser, "the measurement is empty");
    }
    return true;
}

static bool check_tags(struct vv_json_parser *parser, const struct point *point, size_t *n_out)
{
    *n_out = 0;
    if (!point->tags) {
        return true;
    }
    if (!json_is_object(point->tags)) {
        return refuse_type(parser, "member", "tags", point->tags, "write an object of strings");
    }
    if (json_object_size(point->tags) > VV_TAGS_MAX) {
        vv_staging_refuse_line(parser->staging, parser->index, 0, VV_REASON_LIMIT,
                               "more than 256 tags");
        return false;
    }
    const char *key;
    json_t *value;
    json_object_foreach(point->tags, key, value)
    {
        if (json_is_null(value)) {
            continue;
        }
        if (!json_is_string(value)) {
            return refuse_type(parser, "tag", key, value, "write its value as a string");
        }
        parser->tags[*n_out].key = vv_str_of(key);
        parser->tags[*n_out].value =
            (struct vv_str){json_string_value(value), json_string_length(value)};
        *n_out += 1;
    }
    return true;
}

static bool check_time(struct vv_json_parser *parser, const struct point *point, int64_t *time_out)
{
    *time_out = parser->staging->options.now_ns;
    if (!point->time) {
        return true;
    }
    if (json_is_integer(point->time)) {
        *time_out = vv_decimal_scale(json_integer_value(point->time), parser->unit_ns);
        return true;
    }
    if (!json_is_string(point->time)) {
        return refuse_type(parser, "member", "time", point->time,
                           "write a whole number or RFC 3339 text");
    }
    struct vv_error error = {0};
    struct vv_str text = {json_string_value(point->time), json_string_length(point->time)};
    if (vv_time_parse(text, time_out, &error) != VV_OK) {
        return refuse(parser, error.message);
    }
    return true;
}

static bool check_fields(struct vv_json_parser *parser, const struct point *point)
{
    if (!point->fields) {
        return refuse(parser, "no fields: give values, as in \"fields\": {\"temperature\": 73.9}");
    }
    if (!json_is_object(point->fields)) {
        return refuse_type(parser, "member", "fields", point->fields,
                           "write an object of names and values");
    }
    if (json_object_size(point->fields) == 0) {
        return refuse(parser, "the fields are empty");
    }
    const char *key;
    json_t *value;
    json_object_foreach(point->fields, key, value)
    {
        if (json_is_object(value) || json_is_array(value)) {
            return refuse_type(parser, "field", key, value, "write a number or a boolean");
        }
    }
    return true;
}

/* ---- the series cache ---- */

/* Appends a name as line protocol writes it. */
static void append_escaped(struct vv_buffer *raw, struct vv_str name, bool equals)
{
    for (size_t i = 0; i < name.size; i++) {
        char byte = name.data[i];
        if (byte == ',' || byte == ' ' || (byte == '=' && equals)) {
            vv_buffer_u8(raw, '\\');
        }
        vv_buffer_u8(raw, (uint8_t)byte);
    }
}

/* A name with a backslash has no form of its own in line protocol: what it would be escaped to
 * could also be something else. */
static bool is_writable(struct vv_str name)
{
    return name.size > 0 && !memchr(name.data, '\\', name.size);
}

/* Measurement and tags as line protocol has them, so that both ways share one series cache; empty
 * when that cannot be done. */
static struct vv_str raw_text(struct vv_json_parser *parser, struct vv_str measurement, size_t n)
{
    struct vv_buffer *raw = &parser->raw;
    vv_buffer_clear(raw);
    bool writable = is_writable(measurement);
    append_escaped(raw, measurement, false);
    for (size_t i = 0; i < n; i++) {
        const struct vv_tag *tag = &parser->tags[i];
        writable = writable && is_writable(tag->key) && is_writable(tag->value);
        vv_buffer_u8(raw, ',');
        append_escaped(raw, tag->key, true);
        vv_buffer_u8(raw, '=');
        append_escaped(raw, tag->value, true);
    }
    if (!writable || vv_buffer_status(raw) != VV_OK) {
        return (struct vv_str){NULL, 0};
    }
    return (struct vv_str){(const char *)raw->data, raw->size};
}

/* ---- staging ---- */

static void stage_field(struct vv_staging *staging, const char *key, const json_t *value)
{
    struct vv_str name = vv_str_of(key);
    switch (json_typeof(value)) {
    case JSON_INTEGER:
        vv_staging_int(staging, name, json_integer_value(value), 0);
        break;
    case JSON_REAL:
        vv_staging_float(staging, name, json_real_value(value), 0);
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        vv_staging_bool(staging, name, json_is_true(value), 0);
        break;
    case JSON_STRING:
        vv_staging_refuse_field(staging, name, VV_REASON_STRING, 0);
        break;
    default: /* null: no value */
        break;
    }
}

static void stage_point(struct vv_json_parser *parser, const struct point *point, size_t n_tags,
                        int64_t time)
{
    struct vv_staging *staging = parser->staging;
    struct vv_str measurement = {json_string_value(point->measurement),
                                 json_string_length(point->measurement)};
    if (!vv_staging_begin(staging, raw_text(parser, measurement, n_tags), parser->index)) {
        vv_staging_identify(staging, measurement, parser->tags, n_tags);
    }
    const char *key;
    json_t *value;
    json_object_foreach(point->fields, key, value)
    {
        stage_field(staging, key, value);
    }
    vv_staging_end(staging, time);
}

/* Says what is wrong with text that is not JSON. */
static void refuse_text(struct vv_json_parser *parser, const json_error_t *error)
{
    char detail[sizeof parser->staging->refusals[0].detail];
    struct vv_staging *staging = parser->staging;
    enum json_error_code code = json_error_code(error);
    if (error->text[0] == '\0' || code == json_error_out_of_memory) {
        staging->out_of_memory = true;
        vv_staging_refuse_line(staging, parser->index, 0, VV_REASON_OVERLOAD, "memory is out");
        return;
    }
    if (code == json_error_numeric_overflow) {
        snprintf(detail, sizeof detail,
                 "a number beyond int64 or float64; with a fraction it is a float (%.60s)",
                 error->text);
    } else {
        snprintf(detail, sizeof detail, "not JSON: %.140s", error->text);
    }
    uint32_t column = error->position > 0 ? (uint32_t)error->position : 0;
    vv_staging_refuse_line(staging, parser->index, column, VV_REASON_SYNTAX, detail);
}

void vv_json_point_stage(struct vv_json_parser *parser, struct vv_str text)
{
    json_error_t error = {0};
    json_t *root = json_loadb(text.data, text.size, JSON_DECODE_ANY, &error);
    if (!root) {
        refuse_text(parser, &error);
        return;
    }
    struct point point = {0};
    size_t n_tags = 0;
    int64_t time = 0;
    if (take_members(parser, root, &point) && check_measurement(parser, &point) &&
        check_tags(parser, &point, &n_tags) && check_time(parser, &point, &time) &&
        check_fields(parser, &point)) {
        stage_point(parser, &point, n_tags, time);
    }
    json_decref(root);
}
