/* SPDX-License-Identifier: Apache-2.0 */
/* What both writers share: their life, and numbers. */
#include "query/writer.h"

#include "base/bits.h"
#include "query/export_text.h"

#include <math.h>

#define BYTES_AT_ONCE 8192u /* reserved for rows, unless one row may be larger */

static const struct vv_writer_ops *const all_ops[] = {
    [VV_FORMAT_JSON] = &vv_writer_json,
    [VV_FORMAT_CSV] = &vv_writer_csv,
    [VV_FORMAT_LINE] = &vv_writer_lines,
    [VV_FORMAT_JSON_LINES] = &vv_writer_json_lines,
};

void vv_writer_init(struct vv_writer *writer, enum vv_format format,
                    enum vv_time_format time_format, const struct vv_writer_layout *layout)
{
    *writer = (struct vv_writer){
        .ops = all_ops[format],
        .layout = *layout,
        .times.format = time_format,
    };
}

void vv_writer_deinit(struct vv_writer *writer)
{
    vv_buffer_deinit(&writer->prefix);
}

static size_t copy(const char *text, char *out)
{
    size_t size = strlen(text);
    memcpy(out, text, size);
    return size;
}

size_t vv_cell_write(struct vv_cell cell, bool json, char *out)
{
    if (cell.kind == VV_CELL_INTEGER) {
        return vv_integer_format(cell.integer, out);
    }
    if (cell.kind == VV_CELL_NULL) {
        return json ? copy("null", out) : 0;
    }
    if (isfinite(cell.real)) {
        return vv_number_format(cell.real, out);
    }
    if (isnan(cell.real)) {
        return copy(json ? "\"NaN\"" : "NaN", out);
    }
    if (cell.real > 0) {
        return copy(json ? "\"Infinity\"" : "+Inf", out);
    }
    return copy(json ? "\"-Infinity\"" : "-Inf", out);
}

struct vv_cell vv_cell_of_point(enum vv_value_type type, uint64_t bits)
{
    return type == VV_INT64 ? vv_cell_integer((int64_t)bits) : vv_cell_double(vv_bits_double(bits));
}

void vv_writer_points(struct vv_writer *writer, struct vv_buffer *buffer,
                      const struct vv_slice *slice, enum vv_value_type type, size_t first, size_t n,
                      bool backwards)
{
    size_t row_size = writer->ops->row_size_max(writer, 1);
    size_t rows_at_once = row_size < BYTES_AT_ONCE ? BYTES_AT_ONCE / row_size : 1;
    for (size_t done = 0; done < n && !writer->failed;) {
        size_t part = n - done < rows_at_once ? n - done : rows_at_once;
        char *out = (char *)vv_buffer_reserve(buffer, part * row_size);
        if (!out) {
            return;
        }
        size_t size = 0;
        for (size_t i = done; i < done + part; i++) {
            size_t at = backwards ? first + n - 1 - i : first + i;
            struct vv_cell cell = vv_cell_of_point(type, slice->values[at]);
            size += writer->ops->row(writer, out + size, slice->times[at], &cell, 1);
        }
        buffer->size += size;
        done += part;
    }
}

void vv_writer_row(struct vv_writer *writer, struct vv_buffer *buffer, int64_t time,
                   const struct vv_cell *cells, size_t n)
{
    size_t row_size = writer->ops->row_size_max(writer, n);
    char *out = writer->failed ? NULL : (char *)vv_buffer_reserve(buffer, row_size);
    if (out) {
        buffer->size += writer->ops->row(writer, out, time, cells, n);
    }
}
