/* SPDX-License-Identifier: Apache-2.0 */
/* What both writers share: their life, and numbers. */
#include "query/writer.h"

#include <math.h>

void vv_writer_init(struct vv_writer *writer, enum vv_format format,
                    enum vv_time_format time_format, const struct vv_writer_layout *layout)
{
    *writer = (struct vv_writer){
        .ops = format == VV_FORMAT_CSV ? &vv_writer_csv : &vv_writer_json,
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
    if (type == VV_INT64) {
        return vv_cell_integer((int64_t)bits);
    }
    double value;
    memcpy(&value, &bits, sizeof value);
    return vv_cell_double(value);
}
