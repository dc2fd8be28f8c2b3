/* SPDX-License-Identifier: Apache-2.0 */
/* Points as line protocol, JSON lines and CSV. */
#include "query/export_text.h"

#include "base/bits.h"
#include "query/words.h"

#include <math.h>

/* Values at one time may have come in several lines; together they could be more than one may
 * hold. */
#define LINE_FIELDS_MAX 250u
#define LINE_BYTES_MAX  (64u << 10)

/* ---- names ---- */

/* In line protocol a backslash stands for itself, but before a special byte; so it can be anything
 * but the last byte. */
static enum vv_status line_name(struct vv_buffer *buffer, struct vv_str name, bool equals,
                                struct vv_error *error)
{
    if (name.size > 0 && name.data[name.size - 1] == '\\') {
        char shown[VV_SHOWN_SIZE];
        return vv_error_set(error, VV_INVALID,
                            "line protocol has no form for '%s', which ends with a backslash: "
                            "export with format=jsonl or csv",
                            vv_shown(name, shown));
    }
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        if (c == ',' || c == ' ' || (c == '=' && equals)) {
            vv_buffer_u8(buffer, '\\');
        }
        vv_buffer_u8(buffer, (uint8_t)c);
    }
    return VV_OK;
}

/* Names have no control characters. */
static void json_text(struct vv_buffer *buffer, struct vv_str text)
{
    vv_buffer_u8(buffer, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"' || text.data[i] == '\\') {
            vv_buffer_u8(buffer, '\\');
        }
        vv_buffer_u8(buffer, (uint8_t)text.data[i]);
    }
    vv_buffer_u8(buffer, '"');
}

/* ---- heads ---- */

/* Visits the tags in order, the id tag among them. */
typedef enum vv_status (*tag_visit)(struct vv_buffer *buffer, size_t index, struct vv_tag tag,
                                    struct vv_error *error);

static enum vv_status each_tag(struct vv_buffer *buffer, const struct vv_export_series *series,
                               tag_visit visit, struct vv_error *error)
{
    bool id_due = series->id_tag.data != NULL;
    struct vv_tag id = {series->id_tag, series->source};
    size_t index = 0;
    enum vv_status status = VV_OK;
    for (size_t i = 0; i < series->n_tags && status == VV_OK; i++) {
        if (id_due && vv_str_compare(id.key, series->tags[i].key) < 0) {
            status = visit(buffer, index++, id, error);
            id_due = false;
        }
        status = status == VV_OK ? visit(buffer, index++, series->tags[i], error) : status;
    }
    return id_due && status == VV_OK ? visit(buffer, index, id, error) : status;
}

static enum vv_status line_tag(struct vv_buffer *buffer, size_t index, struct vv_tag tag,
                               struct vv_error *error)
{
    (void)index;
    vv_buffer_u8(buffer, ',');
    enum vv_status status = line_name(buffer, tag.key, true, error);
    vv_buffer_u8(buffer, '=');
    return status == VV_OK ? line_name(buffer, tag.value, true, error) : status;
}

static enum vv_status json_tag(struct vv_buffer *buffer, size_t index, struct vv_tag tag,
                               struct vv_error *error)
{
    (void)error;
    if (index > 0) {
        vv_buffer_u8(buffer, ',');
    }
    json_text(buffer, tag.key);
    vv_buffer_u8(buffer, ':');
    json_text(buffer, tag.value);
    return VV_OK;
}

static enum vv_status line_head(struct vv_buffer *buffer, const struct vv_export_series *series,
                                struct vv_error *error)
{
    struct vv_str name = series->measurement;
    if (name.size > 0 && name.data[0] == '#') {
        char shown[VV_SHOWN_SIZE];
        return vv_error_set(error, VV_INVALID,
                            "line protocol has no form for the measurement '%s', which would be a "
                            "comment: export with format=jsonl or csv",
                            vv_shown(name, shown));
    }
    enum vv_status status = line_name(buffer, name, false, error);
    status = status == VV_OK ? each_tag(buffer, series, line_tag, error) : status;
    vv_buffer_u8(buffer, ' ');
    return status;
}

static enum vv_status json_head(struct vv_buffer *buffer, const struct vv_export_series *series,
                                struct vv_error *error)
{
    vv_buffer_text(buffer, "{\"measurement\":");
    json_text(buffer, series->measurement);
    vv_buffer_text(buffer, ",\"tags\":{");
    enum vv_status status = each_tag(buffer, series, json_tag, error);
    vv_buffer_text(buffer, "},\"time\":");
    return status;
}

enum vv_status vv_export_head(struct vv_buffer *buffer, enum vv_format format,
                              const struct vv_export_series *series, struct vv_error *error)
{
    if (format == VV_FORMAT_LINE) {
        return line_head(buffer, series, error);
    }
    if (format == VV_FORMAT_JSON_LINES) {
        return json_head(buffer, series, error);
    }
    vv_csv_text(buffer, series->source);
    vv_buffer_u8(buffer, ',');
    vv_csv_text(buffer, series->measurement);
    vv_buffer_u8(buffer, ',');
    return VV_OK;
}

enum vv_status vv_export_field(struct vv_buffer *buffer, enum vv_format format, struct vv_str name,
                               struct vv_error *error)
{
    if (format == VV_FORMAT_LINE) {
        enum vv_status status = line_name(buffer, name, true, error);
        vv_buffer_u8(buffer, '=');
        return status;
    }
    if (format == VV_FORMAT_JSON_LINES) {
        json_text(buffer, name);
        vv_buffer_u8(buffer, ':');
        return VV_OK;
    }
    vv_csv_text(buffer, name);
    vv_buffer_u8(buffer, ',');
    return VV_OK;
}

/* ---- rows ---- */

/* A number that is an integer to the reader has neither point nor exponent. */
static bool looks_whole(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.' || text[i] == 'e') {
            return false;
        }
    }
    return true;
}

static size_t write_value(enum vv_format format, enum vv_value_type type, uint64_t bits, char *out)
{
    size_t size = vv_cell_write(vv_cell_of_point(type, bits), false, out);
    if (type == VV_INT64 && format == VV_FORMAT_LINE) {
        out[size++] = 'i';
    } else if (type == VV_FLOAT64 && format == VV_FORMAT_JSON_LINES && looks_whole(out, size)) {
        memcpy(out + size, ".0", 2);
        size += 2;
    }
    return size;
}

/* A line that is being written. */
struct line {
    struct vv_buffer *buffer;
    enum vv_format format;
    struct vv_str head;
    int64_t time;
    size_t start;
    size_t fields; /* 0: it was not begun */
};

static void write_time(struct line *line)
{
    char text[VV_NUMBER_TEXT_SIZE];
    vv_buffer_append(line->buffer, text, vv_integer_format(line->time, text));
}

static void begin_line(struct line *line)
{
    line->start = line->buffer->size;
    vv_buffer_str(line->buffer, line->head);
    if (line->format == VV_FORMAT_JSON_LINES) {
        write_time(line);
        vv_buffer_text(line->buffer, ",\"fields\":{");
    }
}

static void end_line(struct line *line)
{
    if (line->fields == 0) {
        return;
    }
    if (line->format == VV_FORMAT_LINE) {
        vv_buffer_u8(line->buffer, ' ');
        write_time(line);
        vv_buffer_u8(line->buffer, '\n');
    } else {
        vv_buffer_text(line->buffer, "}}\n");
    }
    line->fields = 0;
}

static void add_field(struct line *line, struct vv_str field, const char *value, size_t size)
{
    if (line->fields == LINE_FIELDS_MAX ||
        (line->fields > 0 && line->buffer->size - line->start + field.size > LINE_BYTES_MAX)) {
        end_line(line);
    }
    if (line->fields++ == 0) {
        begin_line(line);
    } else {
        vv_buffer_u8(line->buffer, ',');
    }
    vv_buffer_str(line->buffer, field);
    vv_buffer_append(line->buffer, value, size);
}

/* A line of its own. */
static void add_csv(struct line *line, const struct vv_export_column *column, const char *value,
                    size_t size)
{
    vv_buffer_str(line->buffer, line->head);
    vv_buffer_str(line->buffer, column->field);
    write_time(line);
    vv_buffer_text(line->buffer, column->type == VV_INT64 ? ",int," : ",float,");
    vv_buffer_append(line->buffer, value, size);
    vv_buffer_u8(line->buffer, '\n');
}

static bool has(const struct vv_export_column *column, size_t row)
{
    return !column->present || (column->present[row >> 3] >> (row & 7) & 1) != 0;
}

static enum vv_status not_finite(struct vv_str head, struct vv_error *error)
{
    char shown[VV_SHOWN_SIZE];
    return vv_error_set(error, VV_INVALID,
                        "'%s' has a value that is not a finite number, which only format=csv holds",
                        vv_shown(head, shown));
}

enum vv_status vv_export_row(struct vv_buffer *buffer, enum vv_format format, struct vv_str head,
                             int64_t time, const struct vv_export_column *columns, size_t n,
                             size_t row, uint64_t *values_out, struct vv_error *error)
{
    struct line line = {.buffer = buffer, .format = format, .head = head, .time = time};
    for (size_t i = 0; i < n; i++) {
        const struct vv_export_column *column = &columns[i];
        if (!has(column, row)) {
            continue;
        }
        char text[VV_CELL_TEXT_SIZE + 2];
        uint64_t bits = column->values[row];
        size_t size = write_value(format, column->type, bits, text);
        *values_out += 1;
        if (format == VV_FORMAT_CSV) {
            add_csv(&line, column, text, size);
        } else if (column->type == VV_FLOAT64 && !isfinite(vv_bits_double(bits))) {
            return not_finite(head, error);
        } else {
            add_field(&line, column->field, text, size);
        }
    }
    end_line(&line);
    return VV_OK;
}

/* ---- begin and end ---- */

static void begin(struct vv_writer *writer, struct vv_buffer *buffer)
{
    (void)buffer;
    writer->begun = true;
}

static void end_lines(struct vv_writer *writer, struct vv_buffer *buffer,
                      const struct vv_writer_end *end)
{
    begin(writer, buffer);
    if (end->status != VV_OK) {
        vv_buffer_format(buffer, "# error: %s: ", vv_status_name(end->status));
        for (const char *at = end->message; *at; at++) {
            vv_buffer_u8(buffer, (uint8_t)(*at == '\n' || *at == '\r' ? ' ' : *at));
        }
        vv_buffer_u8(buffer, '\n');
    }
}

static void end_json_lines(struct vv_writer *writer, struct vv_buffer *buffer,
                           const struct vv_writer_end *end)
{
    begin(writer, buffer);
    if (end->status != VV_OK) {
        char text[sizeof((struct vv_error *)0)->message];
        size_t size = 0;
        for (const char *at = end->message; *at && size < sizeof text; at++) {
            text[size++] = (uint8_t)*at < ' ' ? ' ' : *at;
        }
        vv_buffer_format(buffer, "{\"error\":\"%s\",\"message\":", vv_status_name(end->status));
        json_text(buffer, (struct vv_str){text, size});
        vv_buffer_text(buffer, "}\n");
    }
}

const struct vv_writer_ops vv_writer_lines = {.begin = begin, .end = end_lines};
const struct vv_writer_ops vv_writer_json_lines = {.begin = begin, .end = end_json_lines};
