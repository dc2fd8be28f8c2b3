/* SPDX-License-Identifier: Apache-2.0 */
/* Records of CSV as lines of line protocol. */
#include "cli/csv_columns.h"

#include "cli/csv_number.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- options ---- */

static enum vv_status add_tags(struct vv_csv_lines *lines, struct vv_error *error)
{
    const char *pair;
    for (size_t at = 0; (pair = vv_arguments_next(lines->arguments, "tag", &at));) {
        const char *equals = strchr(pair, '=');
        struct vv_str key = {pair, equals ? (size_t)(equals - pair) : 0};
        if (!equals || !vv_csv_is_name(key) || !vv_csv_is_name(vv_str_of(equals + 1))) {
            return vv_error_set(error, VV_INVALID, "--tag: '%.64s' is not KEY=VALUE", pair);
        }
        vv_buffer_u8(&lines->prefix, ',');
        vv_csv_escape(&lines->prefix, key, ",= ");
        vv_buffer_u8(&lines->prefix, '=');
        vv_csv_escape(&lines->prefix, vv_str_of(equals + 1), ",= ");
    }
    return VV_OK;
}

static enum vv_status read_options(struct vv_csv_lines *lines, const char *measurement,
                                   struct vv_error *error)
{
    const char *name = vv_arguments_text(lines->arguments, "measurement", measurement);
    const char *form = vv_arguments_text(lines->arguments, "time-format", "rfc3339");
    if (!vv_csv_is_name(vv_str_of(name))) {
        return vv_error_set(error, VV_INVALID, "--measurement: '%.64s' cannot be a name", name);
    }
    vv_csv_escape(&lines->prefix, vv_str_of(name), ", ");
    enum vv_status status = add_tags(lines, error);
    if (status != VV_OK) {
        return status;
    }
    status = vv_time_form_parse(form, &lines->time_form, error);
    if (status != VV_OK) {
        return vv_error_prefix(error, status, "--time-format");
    }
    return vv_buffer_status(&lines->prefix);
}

enum vv_status vv_csv_lines_create(const struct vv_arguments *arguments, const char *measurement,
                                   struct vv_csv_lines **lines_out, struct vv_error *error)
{
    struct vv_csv_lines *lines = calloc(1, sizeof *lines);
    if (!lines) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    lines->arguments = arguments;
    enum vv_status status = read_options(lines, measurement, error);
    if (status != VV_OK) {
        vv_csv_lines_destroy(lines);
        return status;
    }
    *lines_out = lines;
    return VV_OK;
}

void vv_csv_lines_destroy(struct vv_csv_lines *lines)
{
    if (lines) {
        vv_csv_columns_clear(lines);
        vv_buffer_deinit(&lines->prefix);
        free(lines);
    }
}

enum vv_status vv_csv_lines_begin(struct vv_csv_lines *lines, const struct vv_csv_reader *csv,
                                  bool *is_header_out, struct vv_error *error)
{
    const char *header = vv_arguments_text(lines->arguments, "header", "auto");
    *is_header_out = strcmp(header, "yes") == 0 ||
                     (strcmp(header, "auto") == 0 && vv_csv_columns_are_names(csv));
    vv_csv_columns_clear(lines);
    if (csv->n == 0) {
        return vv_error_set(error, VV_INVALID, "the first record has no columns");
    }
    return vv_csv_columns_read(lines, csv, *is_header_out, error);
}

const char *vv_csv_lines_left_out(struct vv_csv_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        struct vv_csv_column *column = &lines->columns[i];
        if (column->role == VV_CSV_LEFT_OUT && !column->announced) {
            column->announced = true;
            return column->name;
        }
    }
    return NULL;
}

/* ---- rows ---- */

static void append_tags(struct vv_csv_lines *lines, const struct vv_csv_reader *csv,
                        struct vv_buffer *buffer)
{
    vv_buffer_append(buffer, lines->prefix.data, lines->prefix.size);
    for (size_t i = 0; i < lines->n; i++) {
        struct vv_str cell = vv_csv_trim(csv->cells[i]);
        if (lines->columns[i].role == VV_CSV_TAG && cell.size > 0) {
            vv_buffer_u8(buffer, ',');
            vv_buffer_str(buffer, lines->columns[i].key);
            vv_csv_escape(buffer, cell, ",= ");
        }
    }
}

static enum vv_csv_number_kind settle_role(struct vv_csv_column *column, struct vv_str cell,
                                           char *number)
{
    enum vv_csv_number_kind kind = vv_csv_number(cell, column->role == VV_CSV_INT, number);
    if (column->role == VV_CSV_UNDECIDED && kind == VV_CSV_VALUE) {
        column->role = VV_CSV_FLOAT;
    } else if (column->role == VV_CSV_UNDECIDED && kind == VV_CSV_TEXT) {
        column->role = VV_CSV_LEFT_OUT;
        return VV_CSV_MISSING;
    }
    return kind;
}

static void refuse_cell(struct vv_csv_line *line, const struct vv_csv_column *column, size_t i,
                        struct vv_str cell)
{
    if (line->refused++ > 0) {
        return;
    }
    int shown = cell.size < VV_CSV_SHOWN_MAX ? (int)cell.size : VV_CSV_SHOWN_MAX;
    line->column = (uint32_t)i + 1;
    (void)vv_error_set(&line->problem, VV_INVALID, "column %.64s: '%.*s' is not a %s", column->name,
                       shown, cell.data, column->role == VV_CSV_INT ? "whole number" : "number");
}

static void append_fields(struct vv_csv_lines *lines, const struct vv_csv_reader *csv,
                          struct vv_buffer *buffer, struct vv_csv_line *line)
{
    for (size_t i = 0; i < lines->n; i++) {
        struct vv_csv_column *column = &lines->columns[i];
        if (column->role != VV_CSV_UNDECIDED && column->role != VV_CSV_FLOAT &&
            column->role != VV_CSV_INT) {
            continue;
        }
        char number[VV_CSV_NUMBER_SIZE];
        struct vv_str cell = vv_csv_trim(csv->cells[i]);
        enum vv_csv_number_kind kind = settle_role(column, cell, number);
        if (kind == VV_CSV_TEXT) {
            refuse_cell(line, column, i, cell);
        } else if (kind == VV_CSV_VALUE) {
            vv_buffer_u8(buffer, line->fields++ ? ',' : ' ');
            vv_buffer_str(buffer, column->key);
            vv_buffer_text(buffer, number);
        }
    }
}

/* What forbids the whole record; false: nothing. */
static bool refuse_record(const struct vv_csv_lines *lines, const struct vv_csv_reader *csv,
                          struct vv_csv_line *line)
{
    line->refused = 1;
    if (csv->problem) {
        (void)vv_error_set(&line->problem, VV_INVALID, "%s", csv->problem);
        return true;
    }
    if (csv->n != lines->n) {
        (void)vv_error_set(&line->problem, VV_INVALID, "%zu cells, but %zu columns", csv->n,
                           lines->n);
        return true;
    }
    struct vv_str time = vv_csv_trim(csv->cells[lines->time]);
    if (time.size == 0) {
        line->timeless = true;
        line->column = (uint32_t)lines->time + 1;
        (void)vv_error_set(&line->problem, VV_INVALID, "no time in column %.64s",
                           lines->columns[lines->time].name);
        return true;
    }
    line->refused = 0;
    return false;
}

/* A tag's value that line protocol cannot hold. */
static bool refuse_tags(const struct vv_csv_lines *lines, const struct vv_csv_reader *csv,
                        struct vv_csv_line *line)
{
    for (size_t i = 0; i < lines->n; i++) {
        struct vv_str cell = vv_csv_trim(csv->cells[i]);
        if (lines->columns[i].role == VV_CSV_TAG && cell.size > 0 && !vv_csv_is_name(cell)) {
            line->refused = 1;
            line->column = (uint32_t)i + 1;
            (void)vv_error_set(&line->problem, VV_INVALID,
                               "column %.64s: a tag cannot hold control characters or end in a "
                               "backslash",
                               lines->columns[i].name);
            return true;
        }
    }
    return false;
}

enum vv_status vv_csv_lines_append(struct vv_csv_lines *lines, const struct vv_csv_reader *csv,
                                   struct vv_buffer *buffer, struct vv_csv_line *line_out)
{
    int64_t time = 0;
    *line_out = (struct vv_csv_line){0};
    if (refuse_record(lines, csv, line_out) || refuse_tags(lines, csv, line_out)) {
        return VV_OK;
    }
    struct vv_str cell = vv_csv_trim(csv->cells[lines->time]);
    if (vv_time_form_read(&lines->time_form, cell, &time, &line_out->problem) != VV_OK) {
        line_out->refused = 1;
        line_out->column = (uint32_t)lines->time + 1;
        return VV_OK;
    }
    size_t before = buffer->size;
    append_tags(lines, csv, buffer);
    line_out->series_size = buffer->size - before;
    append_fields(lines, csv, buffer, line_out);
    if (line_out->fields == 0) {
        buffer->size = before;
    } else {
        vv_buffer_format(buffer, " %" PRId64, time);
    }
    return vv_buffer_status(buffer);
}
