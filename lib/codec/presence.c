/* SPDX-License-Identifier: Apache-2.0 */
/* Bitmaps and runs of present rows. */
#include "presence.h"

/* How many rows from start on have the given presence. */
static size_t run_length(const uint8_t *bitmap, size_t n_rows, size_t start, bool present)
{
    uint8_t uniform = present ? 0xff : 0;
    size_t row = start;
    while (row < n_rows) {
        if ((row & 7) == 0 && row + 8 <= n_rows && bitmap[row >> 3] == uniform) {
            row += 8;
        } else if (vv_presence_has(bitmap, row) == present) {
            row++;
        } else {
            break;
        }
    }
    return row - start;
}

struct vv_presence_plan vv_presence_plan(const uint8_t *bitmap, size_t n_rows)
{
    if (bitmap == NULL) {
        return (struct vv_presence_plan){VV_PRESENCE_ALL, n_rows};
    }
    struct vv_presence_plan plan = {VV_PRESENCE_BITMAP, 0};
    size_t runs_size = 0;
    bool present = true;
    for (size_t row = 0; row < n_rows; present = !present) {
        size_t length = run_length(bitmap, n_rows, row, present);
        plan.n_present += present ? length : 0;
        runs_size += vv_varint_size(length);
        row += length;
    }
    if (plan.n_present == n_rows) {
        plan.kind = VV_PRESENCE_ALL;
    } else if (plan.n_present == 0) {
        plan.kind = VV_PRESENCE_NONE;
    } else if (runs_size < vv_presence_bitmap_size(n_rows)) {
        plan.kind = VV_PRESENCE_RUNS;
    }
    return plan;
}

static void write_bitmap(const uint8_t *bitmap, size_t n_rows, struct vv_writer *writer)
{
    size_t size = vv_presence_bitmap_size(n_rows);
    uint8_t *out = vv_writer_reserve(writer, size);
    if (out != NULL) {
        memcpy(out, bitmap, size);
        if (n_rows % 8 != 0) {
            out[size - 1] &= (uint8_t)((1u << (n_rows % 8)) - 1);
        }
    }
}

void vv_presence_write(enum vv_presence kind, const uint8_t *bitmap, size_t n_rows,
                       struct vv_writer *writer)
{
    if (kind == VV_PRESENCE_BITMAP) {
        write_bitmap(bitmap, n_rows, writer);
    } else if (kind == VV_PRESENCE_RUNS) {
        bool present = true;
        for (size_t row = 0; row < n_rows; present = !present) {
            size_t length = run_length(bitmap, n_rows, row, present);
            vv_put_varint(writer, length);
            row += length;
        }
    }
}

static void fill(uint8_t *bitmap, size_t n_rows, bool present)
{
    memset(bitmap, present ? 0xff : 0, vv_presence_bitmap_size(n_rows));
    if (present && n_rows % 8 != 0) {
        bitmap[n_rows / 8] = (uint8_t)((1u << (n_rows % 8)) - 1);
    }
}

static bool read_bitmap(struct vv_reader *reader, size_t n_rows, uint8_t *bitmap_out,
                        size_t *n_present_out)
{
    size_t size = vv_presence_bitmap_size(n_rows);
    const uint8_t *bytes = vv_take_bytes(reader, size);
    if (bytes == NULL) {
        return false;
    }
    memcpy(bitmap_out, bytes, size);
    *n_present_out = 0;
    for (size_t i = 0; i < size; i++) {
        *n_present_out += (size_t)__builtin_popcount(bitmap_out[i]);
    }
    if (n_rows % 8 != 0 && bitmap_out[size - 1] >> (n_rows % 8) != 0) {
        reader->failed = true;
    }
    return !reader->failed;
}

static void set_rows(uint8_t *bitmap, size_t start, size_t end)
{
    for (size_t row = start; row < end; row++) {
        if ((row & 7) == 0 && row + 8 <= end) {
            bitmap[row >> 3] = 0xff;
            row += 7;
        } else {
            bitmap[row >> 3] |= (uint8_t)(1u << (row & 7));
        }
    }
}

static bool read_runs(struct vv_reader *reader, size_t n_rows, uint8_t *bitmap_out,
                      size_t *n_present_out)
{
    fill(bitmap_out, n_rows, false);
    *n_present_out = 0;
    bool present = true;
    for (size_t row = 0; row < n_rows && !reader->failed; present = !present) {
        uint64_t length = vv_take_varint(reader);
        if (length > n_rows - row) {
            reader->failed = true;
        } else if (present) {
            set_rows(bitmap_out, row, row + (size_t)length);
            *n_present_out += (size_t)length;
        }
        row += (size_t)length;
    }
    return !reader->failed;
}

bool vv_presence_read(enum vv_presence kind, struct vv_reader *reader, size_t n_rows,
                      uint8_t *bitmap_out, size_t *n_present_out)
{
    if (kind == VV_PRESENCE_BITMAP) {
        return read_bitmap(reader, n_rows, bitmap_out, n_present_out);
    }
    if (kind == VV_PRESENCE_RUNS) {
        return read_runs(reader, n_rows, bitmap_out, n_present_out);
    }
    fill(bitmap_out, n_rows, kind == VV_PRESENCE_ALL);
    *n_present_out = kind == VV_PRESENCE_ALL ? n_rows : 0;
    return !reader->failed;
}

void vv_presence_gather(const uint8_t *bitmap, size_t n_rows, const uint64_t *values,
                        uint64_t *present_out)
{
    size_t n_present = 0;
    for (size_t row = 0; row < n_rows; row++) {
        if (vv_presence_has(bitmap, row)) {
            present_out[n_present++] = values[row];
        }
    }
}

void vv_presence_scatter(const uint8_t *bitmap, size_t n_rows, size_t n_present, uint64_t *values)
{
    size_t left = n_present;
    for (size_t row = n_rows; row-- > 0 && left > 0;) {
        if (vv_presence_has(bitmap, row)) {
            values[row] = values[--left];
        }
    }
}
