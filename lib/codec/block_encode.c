/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding of a block: header, times, stamps, columns, directory, checksum. */
#include <xxhash.h>

#include "bitpack.h"
#include "block.h"
#include "bytes.h"
#include "column.h"
#include "format.h"
#include "scratch.h"
#include "sequence.h"

#define ZSTD_LEVEL_MAX 19

/* What each part takes at most, beside the values themselves. */
#define COLUMN_OVERHEAD  (1u + 1u + 5u + 1u + 4u * 10u + 8u)
#define SECTION_OVERHEAD (2u * VV_VARINT_BYTES_MAX + 2u)

struct encoder {
    const struct vv_rows *rows;
    const struct vv_block_options *options;
    struct vv_scratch *scratch;
    struct vv_writer writer;
    uint64_t stamp_min;
    uint64_t stamp_max;
};

size_t vv_block_bound(const struct vv_rows *rows)
{
    size_t n_rows = rows->n_rows;
    size_t n_columns = rows->n_columns;
    if (n_rows > VV_BLOCK_ROWS_MAX || n_columns > VV_BLOCK_COLUMNS_MAX) {
        return SIZE_MAX;
    }
    /* A column needs its values, its bitmap, its metric and its end. */
    size_t column = COLUMN_OVERHEAD + 8 * n_rows + n_rows / 8 + 1 + 4 + 8;
    size_t times_and_stamps = 2 * SECTION_OVERHEAD + 3 * 8 * n_rows + 2 * 8;
    size_t fixed = VV_FORMAT_FIXED_SIZE + VV_FORMAT_VARINTS_SIZE_MAX + 1 + VV_FORMAT_CHECKSUM_SIZE;
    if (n_columns > (SIZE_MAX - fixed - times_and_stamps) / column) {
        return SIZE_MAX;
    }
    return fixed + times_and_stamps + n_columns * column;
}

static bool in_order(const struct vv_rows *rows)
{
    for (size_t i = 1; i < rows->n_rows; i++) {
        bool ascending =
            rows->times[i - 1] < rows->times[i] ||
            (rows->times[i - 1] == rows->times[i] && rows->stamps[i - 1] <= rows->stamps[i]);
        if (!ascending) {
            return false;
        }
    }
    return true;
}

static bool is_valid(const struct vv_rows *rows, const struct vv_block_options *options)
{
    if (rows->n_rows < 1 || rows->n_rows > VV_BLOCK_ROWS_MAX ||
        rows->n_columns > VV_BLOCK_COLUMNS_MAX || options->zstd_level < 0 ||
        options->zstd_level > ZSTD_LEVEL_MAX) {
        return false;
    }
    for (size_t i = 0; i < rows->n_columns; i++) {
        enum vv_value_type type = rows->columns[i].type;
        if (type != VV_FLOAT64 && type != VV_INT64) {
            return false;
        }
    }
    return in_order(rows);
}

static void find_stamps(struct encoder *encoder)
{
    const uint64_t *stamps = encoder->rows->stamps;
    encoder->stamp_min = stamps[0];
    encoder->stamp_max = stamps[0];
    for (size_t i = 1; i < encoder->rows->n_rows; i++) {
        encoder->stamp_min = stamps[i] < encoder->stamp_min ? stamps[i] : encoder->stamp_min;
        encoder->stamp_max = stamps[i] > encoder->stamp_max ? stamps[i] : encoder->stamp_max;
    }
}

static void write_header(struct encoder *encoder)
{
    const struct vv_rows *rows = encoder->rows;
    struct vv_writer *writer = &encoder->writer;
    uint64_t time_min = (uint64_t)rows->times[0];
    vv_put_byte(writer, VV_FORMAT_MAGIC_0);
    vv_put_byte(writer, VV_FORMAT_MAGIC_1);
    vv_put_byte(writer, VV_FORMAT_VERSION);
    vv_put_byte(writer, encoder->options->with_stats ? VV_FORMAT_FLAG_STATS : 0);
    vv_put_u64(writer, time_min);
    vv_put_u64(writer, encoder->stamp_min);
    vv_put_varint(writer, rows->n_rows);
    vv_put_varint(writer, rows->n_columns);
    vv_put_varint(writer, (uint64_t)rows->times[rows->n_rows - 1] - time_min);
    vv_put_varint(writer, encoder->stamp_max - encoder->stamp_min);
}

/* Metrics as distances from the least; directory has room for one number a column. */
static void write_metrics(struct encoder *encoder, uint64_t *directory)
{
    const struct vv_rows *rows = encoder->rows;
    struct vv_writer *writer = &encoder->writer;
    uint32_t min = rows->n_columns == 0 ? 0 : UINT32_MAX;
    uint32_t max = 0;
    for (size_t i = 0; i < rows->n_columns; i++) {
        uint32_t metric = rows->columns[i].metric;
        min = metric < min ? metric : min;
        max = metric > max ? metric : max;
    }
    for (size_t i = 0; i < rows->n_columns; i++) {
        directory[i] = rows->columns[i].metric - min;
    }
    unsigned width = vv_bit_length(max - min);
    vv_put_varint(writer, min);
    vv_put_byte(writer, width);
    uint8_t *packed = vv_writer_reserve(writer, vv_bitpack_size(rows->n_columns, width));
    if (packed != NULL) {
        vv_bitpack(directory, rows->n_columns, width, packed);
    }
}

static bool evenly_spaced(const struct vv_rows *rows)
{
    uint64_t first = (uint64_t)rows->times[0];
    uint64_t span = (uint64_t)rows->times[rows->n_rows - 1] - first;
    uint64_t n_steps = rows->n_rows - 1;
    if (n_steps == 0) {
        return true;
    }
    uint64_t step = span / n_steps;
    if (step * n_steps != span) {
        return false;
    }
    for (size_t i = 1; i < rows->n_rows; i++) {
        if ((uint64_t)rows->times[i] - (uint64_t)rows->times[i - 1] != step) {
            return false;
        }
    }
    return true;
}

static enum vv_block_status write_times(struct encoder *encoder)
{
    const struct vv_rows *rows = encoder->rows;
    if (evenly_spaced(rows)) {
        return VV_BLOCK_OK;
    }
    uint64_t *numbers =
        vv_scratch_buffer(encoder->scratch, VV_SCRATCH_VALUES, rows->n_rows * sizeof *numbers);
    if (numbers == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    for (size_t i = 0; i < rows->n_rows; i++) {
        numbers[i] = (uint64_t)rows->times[i] - (uint64_t)rows->times[0];
    }
    struct vv_sequence_plan plan;
    enum vv_block_status status =
        vv_sequence_plan(encoder->scratch, VV_SEQUENCE_A, encoder->options->zstd_level, numbers,
                         rows->n_rows, false, &plan);
    if (status == VV_BLOCK_OK) {
        vv_sequence_write_headed(&plan, &encoder->writer);
    }
    return status;
}

/* Splits stamps into runs; both arrays have room for a number a row. */
static size_t find_runs(const struct encoder *encoder, uint64_t *lengths_out, uint64_t *stamps_out)
{
    const uint64_t *stamps = encoder->rows->stamps;
    size_t n_runs = 0;
    for (size_t i = 0; i < encoder->rows->n_rows; i++) {
        if (i > 0 && stamps[i] == stamps[i - 1]) {
            lengths_out[n_runs - 1]++;
        } else {
            lengths_out[n_runs] = 0;
            stamps_out[n_runs] = stamps[i] - encoder->stamp_min;
            n_runs++;
        }
    }
    return n_runs;
}

static enum vv_block_status write_stamps(struct encoder *encoder)
{
    size_t n_rows = encoder->rows->n_rows;
    if (encoder->stamp_min == encoder->stamp_max) {
        return VV_BLOCK_OK;
    }
    uint64_t *lengths =
        vv_scratch_buffer(encoder->scratch, VV_SCRATCH_VALUES, 2 * n_rows * sizeof *lengths);
    if (lengths == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    uint64_t *stamps = lengths + n_rows;
    size_t n_runs = find_runs(encoder, lengths, stamps);
    int zstd_level = encoder->options->zstd_level;
    struct vv_sequence_plan length_plan;
    struct vv_sequence_plan stamp_plan;
    enum vv_block_status status = vv_sequence_plan(encoder->scratch, VV_SEQUENCE_A, zstd_level,
                                                   lengths, n_runs, false, &length_plan);
    if (status == VV_BLOCK_OK) {
        status = vv_sequence_plan(encoder->scratch, VV_SEQUENCE_B, zstd_level, stamps, n_runs,
                                  false, &stamp_plan);
    }
    if (status == VV_BLOCK_OK) {
        vv_put_varint(&encoder->writer, n_runs);
        vv_put_varint(&encoder->writer, vv_sequence_headed_size(&length_plan));
        vv_sequence_write_headed(&length_plan, &encoder->writer);
        vv_sequence_write_headed(&stamp_plan, &encoder->writer);
    }
    return status;
}

/* Writes times, stamps and columns and notes where each ends. */
static enum vv_block_status write_sections(struct encoder *encoder, uint64_t *ends)
{
    const struct vv_rows *rows = encoder->rows;
    const uint8_t *start = encoder->writer.at;
    enum vv_block_status status = write_times(encoder);
    ends[0] = (uint64_t)(encoder->writer.at - start);
    if (status == VV_BLOCK_OK) {
        status = write_stamps(encoder);
        ends[1] = (uint64_t)(encoder->writer.at - start);
    }
    for (size_t i = 0; i < rows->n_columns && status == VV_BLOCK_OK; i++) {
        status = vv_column_encode(encoder->scratch, encoder->options, &rows->columns[i],
                                  rows->n_rows, &encoder->writer);
        ends[i + 2] = (uint64_t)(encoder->writer.at - start);
    }
    return status;
}

static void write_directory(struct encoder *encoder, const uint64_t *ends)
{
    size_t n_ends = encoder->rows->n_columns + 2;
    unsigned width = vv_bit_length(ends[n_ends - 1]);
    uint8_t *packed = vv_writer_reserve(&encoder->writer, vv_bitpack_size(n_ends, width));
    if (packed != NULL) {
        vv_bitpack(ends, n_ends, width, packed);
    }
    vv_put_byte(&encoder->writer, width);
}

static enum vv_block_status encode(struct encoder *encoder, uint8_t *out, size_t *size_out)
{
    uint64_t *directory = vv_scratch_buffer(encoder->scratch, VV_SCRATCH_DIRECTORY,
                                            (encoder->rows->n_columns + 2) * sizeof *directory);
    if (directory == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    find_stamps(encoder);
    write_header(encoder);
    write_metrics(encoder, directory);
    enum vv_block_status status = write_sections(encoder, directory);
    if (status != VV_BLOCK_OK) {
        return status;
    }
    write_directory(encoder, directory);
    size_t size = (size_t)(encoder->writer.at - out);
    vv_put_u64(&encoder->writer, encoder->writer.overflowed ? 0 : XXH3_64bits(out, size));
    if (encoder->writer.overflowed) {
        return VV_BLOCK_TOO_SMALL;
    }
    *size_out = size + VV_FORMAT_CHECKSUM_SIZE;
    return VV_BLOCK_OK;
}

enum vv_block_status vv_block_encode(const struct vv_rows *rows,
                                     const struct vv_block_options *options, uint8_t *out,
                                     size_t capacity, size_t *size_out)
{
    *size_out = 0;
    if (!is_valid(rows, options)) {
        return VV_BLOCK_INVALID;
    }
    struct encoder encoder = {.rows = rows,
                              .options = options,
                              .scratch = vv_scratch_acquire(),
                              .writer = {out, out + capacity, false}};
    if (encoder.scratch == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    enum vv_block_status status = encode(&encoder, out, size_out);
    vv_scratch_relax(encoder.scratch);
    return status;
}
