/* SPDX-License-Identifier: Apache-2.0 */
/* Opening of a block and decoding of its times, stamps and columns. */
#include <xxhash.h>

#include "bitpack.h"
#include "block.h"
#include "bytes.h"
#include "column.h"
#include "format.h"
#include "presence.h"
#include "scratch.h"
#include "sequence.h"

/* The sections before the first column. */
enum { SECTION_TIMES = 0, SECTION_STAMPS = 1, SECTION_COLUMNS = 2 };

/* What stands behind the sections beside their ends: end_width and checksum. */
#define TAIL_SIZE (1u + VV_FORMAT_CHECKSUM_SIZE)

static_assert(TAIL_SIZE > VV_BITPACK_SLACK, "packed numbers are always followed by the slack");

static enum vv_block_status check_envelope(const uint8_t *bytes, size_t size)
{
    if (size < VV_FORMAT_FIXED_SIZE + TAIL_SIZE || bytes[0] != VV_FORMAT_MAGIC_0 ||
        bytes[1] != VV_FORMAT_MAGIC_1) {
        return VV_BLOCK_CORRUPT;
    }
    if (bytes[2] > VV_FORMAT_VERSION) {
        return VV_BLOCK_NEWER;
    }
    size_t checked = size - VV_FORMAT_CHECKSUM_SIZE;
    bool intact = vv_load_u64(bytes + checked) == XXH3_64bits(bytes, checked);
    bool known = bytes[2] == VV_FORMAT_VERSION && (bytes[3] & ~VV_FORMAT_FLAG_STATS) == 0;
    return intact && known ? VV_BLOCK_OK : VV_BLOCK_CORRUPT;
}

static bool read_header(struct vv_reader *reader, struct vv_block *block)
{
    block->flags_ = vv_take_bytes(reader, 4)[3];
    uint64_t time_min = vv_take_u64(reader);
    block->stamp_min = vv_take_u64(reader);
    uint64_t n_rows = vv_take_varint(reader);
    uint64_t n_columns = vv_take_varint(reader);
    uint64_t time_span = vv_take_varint(reader);
    uint64_t stamp_span = vv_take_varint(reader);
    block->time_min = vv_signed(time_min);
    block->time_max = vv_signed(time_min + time_span);
    block->stamp_max = block->stamp_min + stamp_span;
    block->n_rows = (uint32_t)n_rows;
    block->n_columns = (uint32_t)n_columns;
    bool times_fit = time_span <= (uint64_t)INT64_MAX - time_min;
    bool stamps_fit = stamp_span <= UINT64_MAX - block->stamp_min;
    return !reader->failed && n_rows >= 1 && n_rows <= VV_BLOCK_ROWS_MAX &&
           n_columns <= VV_BLOCK_COLUMNS_MAX && times_fit && stamps_fit;
}

static bool read_metrics(struct vv_reader *reader, struct vv_block *block)
{
    uint64_t metric_min = vv_take_varint(reader);
    block->metric_min_ = (uint32_t)metric_min;
    block->metric_width_ = vv_take_byte(reader);
    if (metric_min > UINT32_MAX || block->metric_width_ > VV_FORMAT_METRIC_WIDTH_MAX) {
        return false;
    }
    size_t size = vv_bitpack_size(block->n_columns, block->metric_width_);
    block->metrics_ = vv_take_bytes(reader, size);
    return block->metrics_ != NULL;
}

/* The ends stand at the end: sections are what is left between them and the metrics. */
static bool find_sections(const struct vv_reader *reader, struct vv_block *block)
{
    size_t n_ends = (size_t)block->n_columns + SECTION_COLUMNS;
    size_t left = vv_reader_left(reader);
    if (left < TAIL_SIZE) {
        return false;
    }
    left -= TAIL_SIZE;
    block->end_width_ = reader->at[left];
    if (block->end_width_ > VV_FORMAT_END_WIDTH_MAX) {
        return false;
    }
    size_t ends_size = vv_bitpack_size(n_ends, block->end_width_);
    if (ends_size > left) {
        return false;
    }
    block->sections_ = reader->at;
    block->sections_size_ = left - ends_size;
    block->ends_ = reader->at + block->sections_size_;
    return true;
}

static size_t section_end(const struct vv_block *block, size_t section)
{
    return (size_t)vv_bitpack_get(block->ends_, section, block->end_width_);
}

static bool ends_ascend(const struct vv_block *block)
{
    size_t n_ends = (size_t)block->n_columns + SECTION_COLUMNS;
    uint64_t before = 0;
    for (size_t i = 0; i < n_ends; i++) {
        uint64_t end = vv_bitpack_get(block->ends_, i, block->end_width_);
        if (end < before) {
            return false;
        }
        before = end;
    }
    return before == block->sections_size_;
}

enum vv_block_status vv_block_open(const uint8_t *bytes, size_t size, struct vv_block *block_out)
{
    enum vv_block_status status = check_envelope(bytes, size);
    if (status != VV_BLOCK_OK) {
        return status;
    }
    struct vv_reader reader = {bytes, bytes + size, false};
    bool sound = read_header(&reader, block_out) && read_metrics(&reader, block_out) &&
                 find_sections(&reader, block_out) && ends_ascend(block_out);
    return sound ? VV_BLOCK_OK : VV_BLOCK_CORRUPT;
}

static struct vv_reader section_reader(const struct vv_block *block, size_t section)
{
    size_t start = section == 0 ? 0 : section_end(block, section - 1);
    size_t end = section_end(block, section);
    return (struct vv_reader){block->sections_ + start, block->sections_ + end, false};
}

uint32_t vv_block_metric(const struct vv_block *block, uint32_t index)
{
    uint64_t offset = vv_bitpack_get(block->metrics_, index, block->metric_width_);
    return block->metric_min_ + (uint32_t)offset;
}

enum vv_block_status vv_block_column_info(const struct vv_block *block, uint32_t index,
                                          struct vv_block_column *out)
{
    if (index >= block->n_columns) {
        return VV_BLOCK_INVALID;
    }
    struct vv_reader reader = section_reader(block, SECTION_COLUMNS + (size_t)index);
    out->metric = vv_block_metric(block, index);
    return vv_column_describe(&reader, (block->flags_ & VV_FORMAT_FLAG_STATS) != 0, out);
}

bool vv_block_find(const struct vv_block *block, uint32_t metric, uint32_t *index_out)
{
    for (uint32_t i = 0; i < block->n_columns; i++) {
        if (vv_block_metric(block, i) == metric) {
            *index_out = i;
            return true;
        }
    }
    return false;
}

static enum vv_block_status spread_times(const struct vv_block *block, int64_t *times_out)
{
    uint64_t time = (uint64_t)block->time_min;
    uint64_t span = (uint64_t)block->time_max - time;
    uint64_t n_steps = block->n_rows - 1;
    uint64_t step = n_steps == 0 ? 0 : span / n_steps;
    if (step * n_steps != span) {
        return VV_BLOCK_CORRUPT;
    }
    for (uint32_t i = 0; i < block->n_rows; i++) {
        times_out[i] = vv_signed(time);
        time += step;
    }
    return VV_BLOCK_OK;
}

/* Numbers to times, in place; they must ascend from time_min to time_max. */
static enum vv_block_status check_times(const struct vv_block *block, int64_t *times)
{
    bool ascending = true;
    for (uint32_t i = 0; i < block->n_rows; i++) {
        times[i] = vv_signed((uint64_t)times[i] + (uint64_t)block->time_min);
        ascending &= i == 0 || times[i - 1] <= times[i];
    }
    bool sound =
        ascending && times[0] == block->time_min && times[block->n_rows - 1] == block->time_max;
    return sound ? VV_BLOCK_OK : VV_BLOCK_CORRUPT;
}

enum vv_block_status vv_block_times(const struct vv_block *block, int64_t *times_out)
{
    struct vv_reader reader = section_reader(block, SECTION_TIMES);
    if (vv_reader_left(&reader) == 0) {
        return spread_times(block, times_out);
    }
    struct vv_scratch *scratch = vv_scratch_acquire();
    if (scratch == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    /* int64_t and uint64_t may stand for each other in memory. */
    enum vv_block_status status =
        vv_sequence_read_headed(scratch, &reader, block->n_rows, (uint64_t *)times_out);
    vv_scratch_relax(scratch);
    return status == VV_BLOCK_OK ? check_times(block, times_out) : status;
}

/* Writes each stamp as often as its run is long; the runs must fill the rows exactly. */
static enum vv_block_status spread_stamps(const struct vv_block *block, const uint64_t *lengths,
                                          const uint64_t *stamps, size_t n_runs,
                                          uint64_t *stamps_out)
{
    uint64_t span = block->stamp_max - block->stamp_min;
    size_t row = 0;
    for (size_t i = 0; i < n_runs; i++) {
        if (stamps[i] > span || lengths[i] >= block->n_rows - row) {
            return VV_BLOCK_CORRUPT;
        }
        size_t end = row + (size_t)lengths[i] + 1;
        for (; row < end; row++) {
            stamps_out[row] = block->stamp_min + stamps[i];
        }
    }
    return row == block->n_rows ? VV_BLOCK_OK : VV_BLOCK_CORRUPT;
}

static enum vv_block_status read_stamps(const struct vv_block *block, struct vv_scratch *scratch,
                                        struct vv_reader *reader, uint64_t *stamps_out)
{
    uint64_t n_runs = vv_take_varint(reader);
    uint64_t lengths_size = vv_take_varint(reader);
    if (reader->failed || n_runs < 1 || n_runs > block->n_rows ||
        lengths_size > vv_reader_left(reader)) {
        return VV_BLOCK_CORRUPT;
    }
    uint64_t *lengths =
        vv_scratch_buffer(scratch, VV_SCRATCH_VALUES, 2 * (size_t)n_runs * sizeof *lengths);
    if (lengths == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    uint64_t *stamps = lengths + n_runs;
    struct vv_reader lengths_reader = {reader->at, reader->at + lengths_size, false};
    struct vv_reader stamps_reader = {lengths_reader.end, reader->end, false};
    enum vv_block_status status =
        vv_sequence_read_headed(scratch, &lengths_reader, (size_t)n_runs, lengths);
    if (status == VV_BLOCK_OK) {
        status = vv_sequence_read_headed(scratch, &stamps_reader, (size_t)n_runs, stamps);
    }
    if (status != VV_BLOCK_OK) {
        return status;
    }
    return spread_stamps(block, lengths, stamps, (size_t)n_runs, stamps_out);
}

enum vv_block_status vv_block_stamps(const struct vv_block *block, uint64_t *stamps_out)
{
    struct vv_reader reader = section_reader(block, SECTION_STAMPS);
    if (vv_reader_left(&reader) == 0) {
        for (uint32_t i = 0; i < block->n_rows; i++) {
            stamps_out[i] = block->stamp_min;
        }
        return block->stamp_min == block->stamp_max ? VV_BLOCK_OK : VV_BLOCK_CORRUPT;
    }
    struct vv_scratch *scratch = vv_scratch_acquire();
    if (scratch == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    enum vv_block_status status = read_stamps(block, scratch, &reader, stamps_out);
    vv_scratch_relax(scratch);
    return status;
}

enum vv_block_status vv_block_values(const struct vv_block *block, uint32_t index,
                                     uint64_t *values_out, uint8_t *present_out)
{
    struct vv_block_column column;
    enum vv_block_status status = vv_block_column_info(block, index, &column);
    if (status != VV_BLOCK_OK) {
        return status;
    }
    struct vv_scratch *scratch = vv_scratch_acquire();
    if (scratch == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    status = vv_column_decode(scratch, &column, block->n_rows, values_out, present_out);
    vv_scratch_relax(scratch);
    return status;
}

void vv_block_release_thread_memory(void)
{
    vv_scratch_release();
}

const char *vv_block_status_text(enum vv_block_status status)
{
    switch (status) {
    case VV_BLOCK_OK:
        return "ok";
    case VV_BLOCK_NO_MEMORY:
        return "out of memory";
    case VV_BLOCK_CORRUPT:
        return "the block is damaged";
    case VV_BLOCK_NEWER:
        return "the block was written by a newer version of this program";
    case VV_BLOCK_INVALID:
        return "rows, options or column index are outside the bounds of a block";
    case VV_BLOCK_TOO_SMALL:
        return "the block does not fit the space given for it";
    }
    return "unknown block status";
}
