/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's form of a batch, versions 1 and 2. Little-endian, no padding.
 *
 *   u8   version (1; 2 when the metrics of any frame have types)
 *   u32  tenant
 *   u32  number of frames, none of them empty
 *   frames, each:
 *     u32  measurement
 *     u32  metrics, 1 … 4096
 *     u32  rows, at least 1
 *     u32  the least source
 *     i64  the least time
 *     u8   width of a source: 0, 1, 2 or 4 bytes
 *     u8   width of a time: 0, 1, 2, 4 or 8 bytes
 *     u8   unit of a time: 0 ns, 1 µs, 2 ms, 3 s
 *     u8   0
 *     u32  × metrics: their numbers, all different; in version 2 with bit 31 where the values are
 *          int64, bit 30 where they are float64
 *     sources: what each row is above the least one, in `width` bytes
 *     times: what each row is above the least one, in units, in `width` bytes
 *     values: u64 × rows × metrics, by row
 *
 * Values are copied as they are: making them small is the business of the columnar block, and
 * costs more here than the journal's disk does.
 */
#include "base/compare.h"
#include "model/batch_private.h"
#include "model/partition.h"

#include <stdlib.h>

#define FORMAT_PLAIN      1
#define FORMAT_TYPED      2
#define HEADER_SIZE       9
#define FRAME_HEADER_SIZE 28
#define UNITS             4
#define CHUNK_ROWS        128 /* decoded at once, on the stack */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are copied as they are");
_Static_assert(HEADER_SIZE == 1 + 4 + 4, "version, tenant, frames");
_Static_assert(FRAME_HEADER_SIZE == 4 * 4 + 8 + 4, "as above");

struct columns {
    uint32_t source_least;
    int64_t time_least;
    uint8_t source_width;
    uint8_t time_width;
    uint8_t time_unit;
};

static const uint64_t units_ns[UNITS] = {1, 1000, 1000000, 1000000000};

/* The bytes that hold values up to `most`. */
static uint8_t width_of(uint64_t most)
{
    if (most == 0) {
        return 0;
    }
    if (most <= UINT8_MAX) {
        return 1;
    }
    if (most <= UINT16_MAX) {
        return 2;
    }
    return most <= UINT32_MAX ? 4 : 8;
}

/* The first row at or after `row` whose time is no multiple of `unit` above the least. Inlined with
 * a constant unit, so that no division is made. */
static inline size_t skip_multiples(const struct vv_frame *frame, uint64_t least, size_t row,
                                    uint64_t unit)
{
    while (row < frame->n_rows && ((uint64_t)frame->times[row] - least) % unit == 0) {
        row++;
    }
    return row;
}

/* The largest unit that all times are multiples of, counted from the least. */
static uint8_t unit_of(const struct vv_frame *frame, int64_t time_least)
{
    uint64_t least = (uint64_t)time_least;
    size_t row = skip_multiples(frame, least, 0, 1000000000);
    if (row == frame->n_rows) {
        return 3;
    }
    row = skip_multiples(frame, least, row, 1000000);
    if (row == frame->n_rows) {
        return 2;
    }
    return skip_multiples(frame, least, row, 1000) == frame->n_rows ? 1 : 0;
}

static struct columns columns_of(const struct vv_frame *frame)
{
    uint32_t source_least = frame->sources[0];
    uint32_t source_most = frame->sources[0];
    int64_t time_least = frame->times[0];
    int64_t time_most = frame->times[0];
    for (size_t row = 1; row < frame->n_rows; row++) {
        uint32_t source = frame->sources[row];
        source_least = source < source_least ? source : source_least;
        source_most = source > source_most ? source : source_most;
        int64_t time = frame->times[row];
        time_least = time < time_least ? time : time_least;
        time_most = time > time_most ? time : time_most;
    }
    uint8_t unit = time_least == time_most ? 0 : unit_of(frame, time_least);
    uint64_t range = ((uint64_t)time_most - (uint64_t)time_least) / units_ns[unit];
    return (struct columns){
        .source_least = source_least,
        .time_least = time_least,
        .source_width = width_of(source_most - source_least),
        .time_width = width_of(range),
        .time_unit = unit,
    };
}

static size_t frame_body_size(size_t metrics, size_t rows, const struct columns *columns)
{
    return metrics * sizeof(uint32_t) + rows * (columns->source_width + columns->time_width) +
           rows * metrics * sizeof(uint64_t);
}

/* Little-endian, `width` bytes. Inlined with a constant width, so that it is one instruction. */
static inline void put(uint8_t *out, uint64_t value, size_t width)
{
    memcpy(out, &value, width);
}

static inline uint64_t get(const uint8_t *bytes, size_t width)
{
    uint64_t value = 0;
    memcpy(&value, bytes, width);
    return value;
}

static inline void write_sources_in(const struct vv_frame *frame, uint32_t least, size_t width,
                                    uint8_t *out)
{
    for (size_t row = 0; row < frame->n_rows; row++) {
        put(out + row * width, frame->sources[row] - least, width);
    }
}

static uint8_t *write_sources(const struct vv_frame *frame, const struct columns *columns,
                              uint8_t *out)
{
    switch (columns->source_width) {
    case 0:
        break;
    case 1:
        write_sources_in(frame, columns->source_least, 1, out);
        break;
    case 2:
        write_sources_in(frame, columns->source_least, 2, out);
        break;
    default:
        write_sources_in(frame, columns->source_least, 4, out);
        break;
    }
    return out + frame->n_rows * columns->source_width;
}

static inline uint64_t in_unit(uint64_t above_ns, uint8_t unit)
{
    switch (unit) {
    case 3:
        return above_ns / 1000000000;
    case 2:
        return above_ns / 1000000;
    case 1:
        return above_ns / 1000;
    default:
        return above_ns;
    }
}

static inline void write_times_in(const struct vv_frame *frame, const struct columns *columns,
                                  size_t width, uint8_t *out)
{
    uint64_t least = (uint64_t)columns->time_least;
    uint8_t unit = columns->time_unit;
    for (size_t row = 0; row < frame->n_rows; row++) {
        put(out + row * width, in_unit((uint64_t)frame->times[row] - least, unit), width);
    }
}

static uint8_t *write_times(const struct vv_frame *frame, const struct columns *columns,
                            uint8_t *out)
{
    switch (columns->time_width) {
    case 0:
        break;
    case 1:
        write_times_in(frame, columns, 1, out);
        break;
    case 2:
        write_times_in(frame, columns, 2, out);
        break;
    case 4:
        write_times_in(frame, columns, 4, out);
        break;
    default:
        write_times_in(frame, columns, 8, out);
        break;
    }
    return out + frame->n_rows * columns->time_width;
}

static void frame_encode(const struct vv_frame *frame, struct vv_buffer *buffer)
{
    vv_invariant(frame->n_rows <= UINT32_MAX);
    struct columns columns = columns_of(frame);
    size_t body_size = frame_body_size(frame->n_metrics, frame->n_rows, &columns);
    if (!vv_buffer_reserve(buffer, FRAME_HEADER_SIZE + body_size)) {
        return;
    }
    vv_buffer_u32(buffer, frame->measurement);
    vv_buffer_u32(buffer, frame->n_metrics);
    vv_buffer_u32(buffer, (uint32_t)frame->n_rows);
    vv_buffer_u32(buffer, columns.source_least);
    vv_buffer_u64(buffer, (uint64_t)columns.time_least);
    vv_buffer_u8(buffer, columns.source_width);
    vv_buffer_u8(buffer, columns.time_width);
    vv_buffer_u8(buffer, columns.time_unit);
    vv_buffer_u8(buffer, 0);
    uint8_t *out = vv_buffer_reserve(buffer, body_size);
    vv_invariant(out);
    memcpy(out, frame->metrics, frame->n_metrics * sizeof *frame->metrics);
    out += frame->n_metrics * sizeof *frame->metrics;
    out = write_sources(frame, &columns, out);
    out = write_times(frame, &columns, out);
    memcpy(out, frame->values, frame->n_rows * frame->n_metrics * sizeof *frame->values);
    buffer->size += body_size;
}

static bool is_typed(const struct vv_frame *frame)
{
    uint32_t any = 0;
    for (uint32_t i = 0; i < frame->n_metrics; i++) {
        any |= frame->metrics[i];
    }
    return any & VV_METRIC_TYPED;
}

void vv_batch_encode(const struct vv_batch *batch, struct vv_buffer *buffer)
{
    uint32_t filled = 0;
    bool typed = false;
    for (size_t i = 0; i < batch->n_frames; i++) {
        filled += batch->frames[i].n_rows > 0;
        typed |= is_typed(&batch->frames[i]);
    }
    vv_buffer_u8(buffer, typed ? FORMAT_TYPED : FORMAT_PLAIN);
    vv_buffer_u32(buffer, batch->tenant);
    vv_buffer_u32(buffer, filled);
    for (size_t i = 0; i < batch->n_frames; i++) {
        if (batch->frames[i].n_rows > 0) {
            frame_encode(&batch->frames[i], buffer);
        }
    }
}

static bool is_width(uint8_t width)
{
    return width <= 2 || width == 4 || width == 8;
}

/* The header of a frame, and that its body is there: from then on nothing of it is unbounded. */
static bool frame_header_read(struct vv_reader *reader, struct vv_frame *header_out,
                              struct columns *columns_out)
{
    header_out->measurement = vv_reader_u32(reader);
    header_out->n_metrics = vv_reader_u32(reader);
    header_out->n_rows = vv_reader_u32(reader);
    columns_out->source_least = vv_reader_u32(reader);
    columns_out->time_least = (int64_t)vv_reader_u64(reader);
    columns_out->source_width = vv_reader_u8(reader);
    columns_out->time_width = vv_reader_u8(reader);
    columns_out->time_unit = vv_reader_u8(reader);
    uint8_t zero = vv_reader_u8(reader);
    if (reader->failed || zero != 0 || header_out->n_metrics == 0 || header_out->n_rows == 0 ||
        header_out->n_metrics > VV_FRAME_METRICS_MAX || columns_out->time_unit >= UNITS ||
        !is_width(columns_out->source_width) || columns_out->source_width > 4 ||
        !is_width(columns_out->time_width)) {
        return false;
    }
    /* At most 2^32 rows of 2^12 metrics: no overflow. */
    return frame_body_size(header_out->n_metrics, header_out->n_rows, columns_out) <=
           vv_reader_left(reader);
}

static bool ascend(const uint32_t *numbers, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        if (numbers[i] <= numbers[i - 1]) {
            return false;
        }
    }
    return true;
}

/* No type in version 1, at most one of a metric in version 2. */
static bool types_are_allowed(const struct vv_frame *frame, uint8_t version)
{
    for (uint32_t i = 0; i < frame->n_metrics; i++) {
        uint32_t type = frame->metrics[i] & VV_METRIC_TYPED;
        if (type == VV_METRIC_TYPED || (type && version == FORMAT_PLAIN)) {
            return false;
        }
    }
    return true;
}

static enum vv_status metrics_read(struct vv_reader *reader, uint8_t version,
                                   struct vv_frame *frame)
{
    size_t size = frame->n_metrics * sizeof *frame->metrics;
    memcpy(frame->metrics, vv_reader_bytes(reader, size), size);
    if (!types_are_allowed(frame, version)) {
        return VV_CORRUPT;
    }
    if (!is_typed(frame) && ascend(frame->metrics, frame->n_metrics)) {
        return VV_OK;
    }
    uint32_t *sorted = malloc(size);
    if (!sorted) {
        return VV_NO_MEMORY;
    }
    for (uint32_t i = 0; i < frame->n_metrics; i++) {
        sorted[i] = vv_metric_number(frame->metrics[i]);
    }
    qsort(sorted, frame->n_metrics, sizeof *sorted, vv_compare_u32);
    bool distinct = ascend(sorted, frame->n_metrics);
    free(sorted);
    return distinct ? VV_OK : VV_CORRUPT;
}

/* Reads n numbers into out and returns the largest. */
static inline uint64_t read_numbers_in(const uint8_t *bytes, size_t n, size_t width, uint64_t *out)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = get(bytes + i * width, width);
        most = out[i] > most ? out[i] : most;
    }
    return most;
}

static uint64_t read_numbers(const uint8_t *bytes, size_t n, size_t width, uint64_t *out)
{
    switch (width) {
    case 0:
        memset(out, 0, n * sizeof *out);
        return 0;
    case 1:
        return read_numbers_in(bytes, n, 1, out);
    case 2:
        return read_numbers_in(bytes, n, 2, out);
    case 4:
        return read_numbers_in(bytes, n, 4, out);
    default:
        return read_numbers_in(bytes, n, 8, out);
    }
}

static bool sources_read(struct vv_reader *reader, const struct columns *columns,
                         struct vv_frame *frame, size_t rows)
{
    const uint8_t *bytes = vv_reader_bytes(reader, rows * columns->source_width);
    uint32_t least = columns->source_least;
    for (size_t start = 0; start < rows; start += CHUNK_ROWS) {
        uint64_t above[CHUNK_ROWS];
        size_t n = rows - start < CHUNK_ROWS ? rows - start : CHUNK_ROWS;
        uint64_t most =
            read_numbers(bytes + start * columns->source_width, n, columns->source_width, above);
        if (most > UINT32_MAX - least) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            frame->sources[start + i] = least + (uint32_t)above[i];
        }
    }
    return true;
}

static bool times_read(struct vv_reader *reader, const struct columns *columns,
                       struct vv_frame *frame, size_t rows)
{
    const uint8_t *bytes = vv_reader_bytes(reader, rows * columns->time_width);
    if (columns->time_least < VV_TIME_MIN || columns->time_least > VV_TIME_MAX) {
        return false;
    }
    uint64_t least = (uint64_t)columns->time_least;
    uint64_t unit = units_ns[columns->time_unit];
    for (size_t start = 0; start < rows; start += CHUNK_ROWS) {
        uint64_t above[CHUNK_ROWS];
        size_t n = rows - start < CHUNK_ROWS ? rows - start : CHUNK_ROWS;
        uint64_t most =
            read_numbers(bytes + start * columns->time_width, n, columns->time_width, above);
        if (most > ((uint64_t)VV_TIME_MAX - least) / unit) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            frame->times[start + i] = (int64_t)(least + above[i] * unit);
        }
    }
    return true;
}

static enum vv_status frame_decode(struct vv_reader *reader, uint8_t version,
                                   struct vv_batch *batch)
{
    struct vv_frame header = {0};
    struct columns columns = {0};
    if (!frame_header_read(reader, &header, &columns)) {
        return VV_CORRUPT;
    }
    struct vv_frame *frame = vv_batch_add_frame(batch, header.measurement, header.n_metrics);
    if (!frame || !vv_batch_frame_room(batch, frame, header.n_rows)) {
        return VV_NO_MEMORY;
    }
    enum vv_status status = metrics_read(reader, version, frame);
    if (status != VV_OK) {
        return status;
    }
    if (!sources_read(reader, &columns, frame, header.n_rows) ||
        !times_read(reader, &columns, frame, header.n_rows)) {
        return VV_CORRUPT;
    }
    size_t values = header.n_rows * header.n_metrics;
    memcpy(frame->values, vv_reader_bytes(reader, values * sizeof *frame->values),
           values * sizeof *frame->values);
    frame->n_rows = header.n_rows;
    batch->points += values;
    return VV_OK;
}

static enum vv_status frames_decode(struct vv_reader *reader, uint8_t version, uint32_t n,
                                    struct vv_batch *batch)
{
    enum vv_status status = VV_OK;
    for (uint32_t i = 0; i < n && status == VV_OK; i++) {
        status = frame_decode(reader, version, batch);
    }
    return status == VV_OK && vv_reader_left(reader) > 0 ? VV_CORRUPT : status;
}

enum vv_status vv_batch_decode(struct vv_str bytes, struct vv_batch **batch_out,
                               struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    uint8_t version = vv_reader_u8(&reader);
    if (version > FORMAT_TYPED) {
        return vv_error_set(error, VV_NEWER,
                            "the batch has format version %u, this program knows up to %d: use a "
                            "newer program",
                            (unsigned)version, FORMAT_TYPED);
    }
    uint32_t tenant = vv_reader_u32(&reader);
    uint32_t n_frames = vv_reader_u32(&reader);
    if (reader.failed || version == 0) {
        return vv_error_set(error, VV_CORRUPT, "the batch's header is damaged");
    }
    struct vv_batch *batch = NULL;
    enum vv_status status = vv_batch_create(tenant, &batch);
    if (status == VV_OK) {
        status = frames_decode(&reader, version, n_frames, batch);
    }
    if (status != VV_OK) {
        const char *why = status == VV_CORRUPT ? "is damaged" : "does not fit in memory";
        size_t frames = batch ? batch->n_frames : 0;
        vv_batch_destroy(batch);
        return vv_error_set(error, status, "frame %zu of the batch %s (near byte %zu of %zu)",
                            frames, why, reader.at, bytes.size);
    }
    *batch_out = batch;
    return VV_OK;
}
