/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in a stream of JSON: a small state machine follows brackets and strings and cuts out one
 * point at a time, so that only that is held in memory. What is in a point is checked when it is
 * read; around the points anything unexpected ends the reading, as it would be guessing from there.
 */
#include "ingest/json_private.h"

#include <stdio.h>
#include <stdlib.h>

#define POINT_BYTES_DEFAULT ((size_t)64 * 1024)
#define DEPTH_MAX           32

/* How an object around an array begins, without white space. */
static const char head[] = "{\"points\":[";
#define HEAD_NAME_BEGIN 2 /* within the quotes white space counts */
#define HEAD_NAME_END   9

enum vv_status vv_json_parser_create(struct vv_staging *staging, int64_t unit_ns,
                                     struct vv_json_parser **parser_out)
{
    vv_invariant(unit_ns > 0);
    struct vv_json_parser *parser = malloc(sizeof *parser);
    if (!parser) {
        return VV_NO_MEMORY;
    }
    memset(parser, 0, offsetof(struct vv_json_parser, tags)); /* tags are written before use */
    parser->staging = staging;
    parser->unit_ns = unit_ns;
    parser->point_bytes_max = staging->options.line_bytes_max;
    if (parser->point_bytes_max == 0) {
        parser->point_bytes_max = POINT_BYTES_DEFAULT;
    }
    *parser_out = parser;
    return VV_OK;
}

void vv_json_parser_destroy(struct vv_json_parser *parser)
{
    if (parser) {
        vv_buffer_deinit(&parser->carry);
        vv_buffer_deinit(&parser->raw);
        free(parser);
    }
}

/* Refuses what comes now, and all that follows. */
static void stop(struct vv_json_parser *parser, const char *expected, char found)
{
    char detail[sizeof parser->staging->refusals[0].detail];
    snprintf(detail, sizeof detail, "expected %s, found '%c'; nothing is read from here on",
             expected, found ? found : '?');
    vv_staging_refuse_line(parser->staging, parser->index + 1, 0, VV_REASON_SYNTAX, detail);
    parser->state = VV_JSON_STOPPED;
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/* ---- one point ---- */

static void begin_point(struct vv_json_parser *parser, char first)
{
    parser->state = VV_JSON_POINT;
    parser->index++;
    parser->point_size = 0;
    parser->depth = 0;
    parser->depth_seen = 0;
    parser->in_string = false;
    parser->escaped = false;
    parser->is_dropped = false;
    parser->is_scalar = first != '{' && first != '[' && first != '"';
    vv_buffer_clear(&parser->carry);
}

/* Follows one byte of the point; true when it ends behind it. */
static bool scan_byte(struct vv_json_parser *parser, char byte)
{
    if (parser->escaped) {
        parser->escaped = false;
    } else if (parser->in_string) {
        parser->escaped = byte == '\\';
        parser->in_string = byte != '"';
        return !parser->in_string && parser->depth == 0;
    } else if (byte == '"') {
        parser->in_string = true;
    } else if (byte == '{' || byte == '[') {
        parser->depth++;
        parser->depth_seen += parser->depth > parser->depth_seen;
    } else if (byte == '}' || byte == ']') {
        parser->depth--;
        return parser->depth == 0;
    }
    return false;
}

static bool ends_scalar(char byte)
{
    return is_space(byte) || byte == ',' || byte == ']' || byte == '}';
}

/* Follows the point as far as it goes; returns the bytes that belong to it. */
static size_t scan_point(struct vv_json_parser *parser, const char *bytes, size_t size,
                         bool *ended_out)
{
    for (size_t i = 0; i < size; i++) {
        if (parser->is_scalar && ends_scalar(bytes[i])) {
            *ended_out = true;
            return i;
        }
        if (!parser->is_scalar && scan_byte(parser, bytes[i])) {
            *ended_out = true;
            return i + 1;
        }
    }
    *ended_out = false;
    return size;
}

static void refuse_limit(struct vv_json_parser *parser, const char *detail)
{
    vv_staging_refuse_line(parser->staging, parser->index, 0, VV_REASON_LIMIT, detail);
}

/* A point that has become too large is refused at once and followed without being kept. */
static void check_size(struct vv_json_parser *parser)
{
    if (!parser->is_dropped && parser->point_size > parser->point_bytes_max) {
        char detail[80];
        snprintf(detail, sizeof detail, "a point of more than %zu bytes", parser->point_bytes_max);
        refuse_limit(parser, detail);
        parser->is_dropped = true;
        vv_buffer_clear(&parser->carry);
    }
}

static void keep(struct vv_json_parser *parser, const char *bytes, size_t size)
{
    vv_buffer_append(&parser->carry, bytes, size);
    if (vv_buffer_status(&parser->carry) != VV_OK) {
        parser->staging->out_of_memory = true;
    }
}

/* The point ends with these bytes. */
static void end_point(struct vv_json_parser *parser, const char *bytes, size_t size)
{
    parser->state = parser->in_array ? VV_JSON_ARRAY_AFTER : VV_JSON_TOP;
    if (parser->is_dropped) {
        return;
    }
    if (parser->depth_seen > DEPTH_MAX) {
        refuse_limit(parser, "brackets more than 32 deep");
        return;
    }
    struct vv_str text = {bytes, size};
    if (parser->carry.size > 0) {
        keep(parser, bytes, size);
        text = (struct vv_str){(const char *)parser->carry.data, parser->carry.size};
    }
    if (parser->staging->out_of_memory) {
        vv_staging_refuse_line(parser->staging, parser->index, 0, VV_REASON_OVERLOAD,
                               "memory is out");
        return;
    }
    vv_json_point_stage(parser, text);
}

static size_t consume_point(struct vv_json_parser *parser, const char *bytes, size_t size)
{
    bool ended = false;
    size_t used = scan_point(parser, bytes, size, &ended);
    parser->point_size += used;
    check_size(parser);
    if (ended) {
        end_point(parser, bytes, used);
    } else if (!parser->is_dropped) {
        keep(parser, bytes, used);
    }
    return used;
}

/* ---- around the points ---- */

static void end_array(struct vv_json_parser *parser)
{
    parser->in_array = false;
    parser->state = parser->is_wrapped ? VV_JSON_WRAP_END : VV_JSON_TOP;
}

static void begin_array(struct vv_json_parser *parser, bool is_wrapped)
{
    parser->in_array = true;
    parser->is_wrapped = is_wrapped;
    parser->state = VV_JSON_ARRAY_FIRST;
}

/* Takes a byte when the object goes on like one around an array; else it is a point, whose first
 * bytes are what was seen of the head. Returns the bytes used: 1 or 0. */
static size_t consume_head(struct vv_json_parser *parser, char byte)
{
    bool in_name = parser->head_size >= HEAD_NAME_BEGIN && parser->head_size < HEAD_NAME_END;
    if (is_space(byte) && !in_name) {
        return 1;
    }
    if (byte == head[parser->head_size]) {
        parser->head_size++;
        if (parser->head_size == sizeof head - 1) {
            begin_array(parser, true);
        }
        return 1;
    }
    begin_point(parser, head[0]);
    consume_point(parser, head, parser->head_size);
    return 0;
}

static size_t begin_element(struct vv_json_parser *parser, char byte)
{
    if (byte == ',' || byte == ']' || byte == '}' || byte == ':') {
        stop(parser, "a point: {\"measurement\": …, \"fields\": {…}}", byte);
    } else {
        begin_point(parser, byte);
    }
    return 0;
}

static size_t consume_top(struct vv_json_parser *parser, char byte)
{
    parser->any = true;
    if (byte == '{') {
        parser->head_size = 0;
        parser->state = VV_JSON_HEAD;
        return 0;
    }
    if (byte == '[') {
        begin_array(parser, false);
        return 1;
    }
    stop(parser, "a point {…}, an array of points, or {\"points\": […]}", byte);
    return 0;
}

/* Deals with one byte between points, or with none and another state. Returns the bytes used. */
static size_t consume_between(struct vv_json_parser *parser, char byte)
{
    if (parser->state == VV_JSON_HEAD) {
        return consume_head(parser, byte);
    }
    if (is_space(byte)) {
        return 1;
    }
    switch (parser->state) {
    case VV_JSON_TOP:
        return consume_top(parser, byte);
    case VV_JSON_ARRAY_FIRST:
        if (byte != ']') {
            return begin_element(parser, byte);
        }
        end_array(parser);
        return 1;
    case VV_JSON_ARRAY_NEXT:
        return begin_element(parser, byte);
    case VV_JSON_ARRAY_AFTER:
        if (byte == ',') {
            parser->state = VV_JSON_ARRAY_NEXT;
        } else if (byte == ']') {
            end_array(parser);
        } else {
            stop(parser, "',' or ']' after a point", byte);
        }
        return 1;
    default: /* VV_JSON_WRAP_END */
        if (byte == '}') {
            parser->state = VV_JSON_TOP;
        } else {
            stop(parser, "'}' after the array of points", byte);
        }
        return 1;
    }
}

enum vv_status vv_json_parser_feed(struct vv_json_parser *parser, const char *bytes, size_t size)
{
    while (size > 0 && parser->state != VV_JSON_STOPPED && !parser->staging->out_of_memory) {
        size_t used = parser->state == VV_JSON_POINT ? consume_point(parser, bytes, size)
                                                     : consume_between(parser, *bytes);
        bytes += used;
        size -= used;
    }
    return parser->staging->out_of_memory ? VV_NO_MEMORY : VV_OK;
}

/* What is missing at the end of the stream, or NULL. */
static const char *what_is_missing(const struct vv_json_parser *parser)
{
    switch (parser->state) {
    case VV_JSON_TOP:
        return parser->any ? NULL
                           : "nothing is here: expected a point {…}, an array of points, or "
                             "{\"points\": […]}";
    case VV_JSON_STOPPED:
        return NULL;
    case VV_JSON_HEAD:
        return "the text ends inside an object";
    case VV_JSON_POINT:
        return parser->is_dropped ? NULL : "the text ends inside this point";
    case VV_JSON_WRAP_END:
        return "the text ends before the '}' that closes the object with the points";
    default:
        return "the text ends before the ']' that closes the array";
    }
}

enum vv_status vv_json_parser_finish(struct vv_json_parser *parser)
{
    const char *missing = what_is_missing(parser);
    if (missing && !parser->staging->out_of_memory) {
        uint64_t line = parser->index + (parser->state != VV_JSON_POINT);
        vv_staging_refuse_line(parser->staging, line, 0, VV_REASON_SYNTAX, missing);
    }
    parser->state = VV_JSON_STOPPED;
    return parser->staging->out_of_memory ? VV_NO_MEMORY : VV_OK;
}
