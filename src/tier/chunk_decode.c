/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: bytes → steps. */
#include "tier/chunk_format.h"

#include "base/bits.h"
#include "tier/squares.h"

#include <stdlib.h>
#include <xxhash.h>

#define STEPS_FEW 64u

static enum vv_status from_block(enum vv_block_status status, struct vv_error *error)
{
    switch (status) {
    case VV_BLOCK_OK:
        return VV_OK;
    case VV_BLOCK_NO_MEMORY:
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading steps");
    case VV_BLOCK_NEWER:
        return vv_error_set(error, VV_NEWER, "a chunk of steps is of a newer version of Varve");
    default:
        return vv_chunk_corrupt(error);
    }
}

/* ---- opening ---- */

/* Whether the next 8 bytes are the checksum of those before them. */
static bool is_checksum_next(struct vv_reader *reader)
{
    size_t size = reader->at;
    uint64_t checksum = vv_reader_u64(reader);
    return !reader->failed && checksum == XXH3_64bits(reader->data, size);
}

static bool are_types_good(const struct vv_chunk *chunk)
{
    uint32_t columns = 0;
    for (uint32_t i = 0; i < chunk->n_metrics; i++) {
        uint8_t type = chunk->types_[i];
        bool is_integer = type & VV_CHUNK_TYPE_INTEGER;
        if ((type & ~VV_CHUNK_TYPE_BITS) != 0 || (type != 0 && !is_integer)) {
            return false;
        }
        columns += vv_chunk_columns(type);
    }
    return columns == chunk->block_.n_columns;
}

struct head {
    uint64_t step_ns;
    uint64_t n_metrics;
    const uint8_t *types;
    uint64_t block_size;
    uint64_t sketches_size;
};

/* Ends where the block begins. */
static enum vv_status read_head(struct vv_reader *reader, struct head *head, struct vv_error *error)
{
    bool is_chunk =
        vv_reader_u8(reader) == VV_CHUNK_MAGIC_0 && vv_reader_u8(reader) == VV_CHUNK_MAGIC_1;
    uint8_t version = vv_reader_u8(reader);
    uint8_t flags = vv_reader_u8(reader);
    if (is_chunk && !reader->failed && version > VV_CHUNK_VERSION) {
        return vv_error_set(error, VV_NEWER, "a chunk of steps is of a newer version of Varve");
    }
    head->step_ns = vv_reader_varint(reader);
    head->n_metrics = vv_reader_varint(reader);
    if (!is_chunk || reader->failed || version < VV_CHUNK_VERSION_OLD || head->step_ns == 0 ||
        head->step_ns > INT64_MAX || head->n_metrics == 0 ||
        head->n_metrics > VV_CHUNK_METRICS_MAX) {
        return vv_chunk_corrupt(error);
    }
    head->types = vv_reader_bytes(reader, head->n_metrics);
    head->block_size = vv_reader_varint(reader);
    head->sketches_size = vv_reader_varint(reader);
    bool is_good = is_checksum_next(reader) && flags <= VV_CHUNK_FLAG_SKETCHES &&
                   (flags == 0) == (head->sketches_size == 0) &&
                   head->block_size <= vv_reader_left(reader);
    return is_good ? VV_OK : vv_chunk_corrupt(error);
}

/* The same of a chunk that is there with its sketches. */
static enum vv_status read_whole_head(struct vv_reader *reader, struct head *head,
                                      struct vv_error *error)
{
    enum vv_status status = read_head(reader, head, error);
    if (status != VV_OK) {
        return status;
    }
    return head->sketches_size == vv_reader_left(reader) - head->block_size
               ? VV_OK
               : vv_chunk_corrupt(error);
}

enum vv_status vv_chunk_look(struct vv_str bytes, struct vv_chunk_head *head_out,
                             struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    struct head head;
    *head_out = (struct vv_chunk_head){0};
    enum vv_status status = read_head(&reader, &head, error);
    uint64_t sketches_size = status == VV_OK ? vv_reader_left(&reader) - head.block_size : 0;
    if (sketches_size > 0 && sketches_size != head.sketches_size) {
        status = vv_chunk_corrupt(error);
    }
    if (status == VV_OK) {
        *head_out = (struct vv_chunk_head){.step_ns = (int64_t)head.step_ns,
                                           .has_sketches = sketches_size > 0,
                                           .steps_size = reader.at + (size_t)head.block_size};
    }
    return status;
}

/* Ends where the sketches begin. */
static enum vv_status read_steps(struct vv_reader *reader, const struct head *head,
                                 struct vv_chunk *chunk, struct vv_error *error)
{
    const uint8_t *block = vv_reader_bytes(reader, (size_t)head->block_size);
    chunk->step_ns = (int64_t)head->step_ns;
    chunk->n_metrics = (uint32_t)head->n_metrics;
    chunk->types_ = head->types;
    enum vv_status status =
        from_block(vv_block_open(block, (size_t)head->block_size, &chunk->block_), error);
    if (status != VV_OK) {
        return status;
    }
    chunk->n_steps = chunk->block_.n_rows;
    return chunk->n_steps <= VV_CHUNK_STEPS_MAX && are_types_good(chunk) ? VV_OK
                                                                         : vv_chunk_corrupt(error);
}

enum vv_status vv_chunk_open_steps(struct vv_str bytes, struct vv_chunk *chunk_out,
                                   struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    struct head head;
    *chunk_out = (struct vv_chunk){0};
    enum vv_status status = read_head(&reader, &head, error);
    return status == VV_OK ? read_steps(&reader, &head, chunk_out, error) : status;
}

static bool are_sketches_whole(struct vv_reader sketches)
{
    if (sketches.size < VV_CHUNK_CHECKSUM_SIZE) {
        return false;
    }
    sketches.at = sketches.size - VV_CHUNK_CHECKSUM_SIZE;
    return is_checksum_next(&sketches);
}

enum vv_status vv_chunk_open(struct vv_str bytes, struct vv_chunk *chunk_out,
                             struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    struct head head;
    *chunk_out = (struct vv_chunk){0};
    enum vv_status status = read_whole_head(&reader, &head, error);
    if (status == VV_OK) {
        status = read_steps(&reader, &head, chunk_out, error);
    }
    if (status != VV_OK || head.sketches_size == 0) {
        return status;
    }
    struct vv_reader sketches = vv_reader_of(reader.data + reader.at, (size_t)head.sketches_size);
    if (!are_sketches_whole(sketches)) {
        return vv_chunk_corrupt(error);
    }
    sketches.size -= VV_CHUNK_CHECKSUM_SIZE;
    chunk_out->sketches_ = sketches;
    chunk_out->has_sketches = true;
    return VV_OK;
}

/* ---- steps ---- */

static uint32_t first_column(const struct vv_chunk *chunk, uint32_t index)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < index; i++) {
        first += vv_chunk_columns(chunk->types_[i]);
    }
    return first;
}

static enum vv_value_type type_at(const struct vv_chunk *chunk, uint32_t index)
{
    return chunk->types_[index] & VV_CHUNK_TYPE_INTEGER ? VV_INT64 : VV_FLOAT64;
}

enum vv_status vv_chunk_metric(const struct vv_chunk *chunk, uint32_t index, uint32_t *metric_out,
                               enum vv_value_type *type_out, struct vv_error *error)
{
    struct vv_block_column column;
    enum vv_status status = from_block(
        vv_block_column_info(&chunk->block_, first_column(chunk, index), &column), error);
    *metric_out = status == VV_OK ? column.metric : 0;
    *type_out = type_at(chunk, index);
    return status;
}

bool vv_chunk_find(const struct vv_chunk *chunk, uint32_t metric, uint32_t *index_out,
                   enum vv_value_type *type_out)
{
    uint32_t column = 0;
    for (uint32_t i = 0; i < chunk->n_metrics; i++) {
        if (vv_block_metric(&chunk->block_, column) == metric) {
            *index_out = i;
            *type_out = type_at(chunk, i);
            return true;
        }
        column += vv_chunk_columns(chunk->types_[i]);
    }
    return false;
}

enum vv_status vv_chunk_starts(const struct vv_chunk *chunk, int64_t *starts_out,
                               struct vv_error *error)
{
    enum vv_status status = from_block(vv_block_times(&chunk->block_, starts_out), error);
    for (uint32_t i = 1; i < chunk->n_steps && status == VV_OK; i++) {
        status = starts_out[i - 1] < starts_out[i] ? VV_OK : vv_chunk_corrupt(error);
    }
    return status;
}

/* One of the metric's columns, and which of the steps have it. */
static enum vv_status read_column(const struct vv_chunk *chunk, uint32_t at,
                                  enum vv_value_type type, uint64_t *values, uint8_t *present,
                                  struct vv_error *error)
{
    struct vv_block_column column;
    enum vv_status status = from_block(vv_block_column_info(&chunk->block_, at, &column), error);
    if (status == VV_OK && column.type != type) {
        return vv_chunk_corrupt(error);
    }
    return status == VV_OK ? from_block(vv_block_values(&chunk->block_, at, values, present), error)
                           : status;
}

/* Squares as an integer are in `reference` until finish_steps. */
static void take_value(struct vv_step *step, enum vv_chunk_column column, uint64_t bits,
                       uint8_t flags, int64_t start)
{
    switch (column) {
    case VV_CHUNK_COUNT:
        step->count = bits;
        break;
    case VV_CHUNK_SUM:
        if (flags & VV_CHUNK_TYPE_INTEGER) {
            step->sum.integer = (int64_t)bits;
        } else {
            step->sum.real.high = vv_bits_double(bits);
        }
        break;
    case VV_CHUNK_SUM_HIGH:
        step->sum.integer = (__int128)((unsigned __int128)bits << 64 | (uint64_t)step->sum.integer);
        break;
    case VV_CHUNK_MIN:
        step->min = bits;
        break;
    case VV_CHUNK_MAX:
        step->max = bits;
        break;
    case VV_CHUNK_FIRST:
        step->first = bits;
        break;
    case VV_CHUNK_LAST:
        step->last = bits;
        break;
    case VV_CHUNK_FIRST_TIME: /* modulo 2^64: checked afterwards */
        step->first_time = (int64_t)((uint64_t)start + bits);
        break;
    case VV_CHUNK_LAST_TIME:
        step->last_time = (int64_t)((uint64_t)start + bits);
        break;
    case VV_CHUNK_SQUARES:
        if (flags & VV_CHUNK_TYPE_WHOLE) {
            step->reference = bits;
        } else {
            step->squares = vv_bits_double(bits);
        }
        break;
    }
}

/* Moments are counted from the mean, which is that of the sum. */
static void set_reference(struct vv_step *step, enum vv_value_type type)
{
    if (type == VV_FLOAT64) {
        step->reference = vv_bits_of_double(vv_step_mean(type, step));
        return;
    }
    __int128 count = (__int128)step->count;
    __int128 whole = step->sum.integer / count;
    whole = whole < INT64_MIN ? INT64_MIN : whole > INT64_MAX ? INT64_MAX : whole;
    step->reference = (uint64_t)(int64_t)whole;
    step->mean = (double)(step->sum.integer - whole * count) / (double)step->count;
}

static bool are_ends_good(const struct vv_chunk *chunk, const struct vv_step *step, int64_t start)
{
    uint64_t first = (uint64_t)step->first_time - (uint64_t)start;
    uint64_t last = (uint64_t)step->last_time - (uint64_t)start;
    return first <= last && last < (uint64_t)chunk->step_ns && step->first_time <= step->last_time;
}

static enum vv_status finish_steps(const struct vv_chunk *chunk, uint8_t flags,
                                   const int64_t *starts, unsigned parts, const uint8_t *present,
                                   struct vv_step *steps, struct vv_error *error)
{
    enum vv_value_type type = flags & VV_CHUNK_TYPE_INTEGER ? VV_INT64 : VV_FLOAT64;
    bool moments = parts & VV_STEP_MOMENTS;
    bool whole_squares = moments && (flags & VV_CHUNK_TYPE_WHOLE);
    for (uint32_t i = 0; i < chunk->n_steps; i++) {
        if (!(present[i >> 3] >> (i & 7) & 1)) {
            continue;
        }
        bool is_good = steps[i].count > 0 && steps[i].count <= INT64_MAX &&
                       (!(parts & VV_STEP_ENDS) || are_ends_good(chunk, &steps[i], starts[i]));
        if (is_good && whole_squares) {
            is_good = vv_squares_from_whole(&steps[i], steps[i].reference, &steps[i].squares);
        }
        if (!is_good) {
            return vv_chunk_corrupt(error);
        }
        if (moments) {
            set_reference(&steps[i], type);
        }
    }
    return VV_OK;
}

/* For which parts a column is read. */
static const unsigned column_parts[VV_CHUNK_COLUMNS] = {
    [VV_CHUNK_COUNT] = 0, /* always */
    [VV_CHUNK_SUM] = VV_STEP_SUM | VV_STEP_MOMENTS,
    [VV_CHUNK_SUM_HIGH] = VV_STEP_SUM | VV_STEP_MOMENTS,
    [VV_CHUNK_MIN] = VV_STEP_BOUNDS,
    [VV_CHUNK_MAX] = VV_STEP_BOUNDS,
    [VV_CHUNK_FIRST] = VV_STEP_ENDS,
    [VV_CHUNK_LAST] = VV_STEP_ENDS,
    [VV_CHUNK_FIRST_TIME] = VV_STEP_ENDS,
    [VV_CHUNK_LAST_TIME] = VV_STEP_ENDS,
    [VV_CHUNK_SQUARES] = VV_STEP_MOMENTS,
};

/* Where the columns of a metric are decoded to, those that are wanted. */
struct decoding {
    enum vv_chunk_column columns[VV_CHUNK_COLUMNS];
    unsigned n;
    uint64_t *values; /* n_steps of each, one after the other */
    uint8_t *present;
    uint8_t *counted; /* as of the first column: it holds for all */
};

static enum vv_status decode_column(const struct vv_chunk *chunk, uint32_t at, uint8_t flags,
                                    enum vv_chunk_column column, struct decoding *into,
                                    struct vv_error *error)
{
    size_t bitmap = (chunk->n_steps + 7) / 8;
    bool is_first = column == VV_CHUNK_COUNT;
    uint8_t *present = is_first ? into->counted : into->present;
    uint64_t *values = into->values + (size_t)into->n * chunk->n_steps;
    enum vv_status status =
        read_column(chunk, at, vv_chunk_column_type(column, flags), values, present, error);
    if (status == VV_OK && !is_first && memcmp(into->counted, present, bitmap) != 0) {
        status = vv_chunk_corrupt(error);
    }
    into->columns[into->n++] = column;
    return status;
}

static enum vv_status decode_columns(const struct vv_chunk *chunk, uint32_t index, unsigned parts,
                                     struct decoding *into, struct vv_error *error)
{
    uint32_t at = first_column(chunk, index);
    uint8_t flags = chunk->types_[index];
    enum vv_status status = VV_OK;
    for (unsigned c = 0; c < VV_CHUNK_COLUMNS && status == VV_OK; c++) {
        enum vv_chunk_column column = (enum vv_chunk_column)c;
        if (column == VV_CHUNK_SUM_HIGH && !(flags & VV_CHUNK_TYPE_WIDE)) {
            continue;
        }
        if (column == VV_CHUNK_COUNT || (column_parts[column] & parts)) {
            status = decode_column(chunk, at, flags, column, into, error);
        }
        at++;
    }
    return status;
}

/* Step by step, as one is more than a line of the processor's cache. */
static void fill_steps(const struct vv_chunk *chunk, uint8_t flags, const int64_t *starts,
                       const struct decoding *from, struct vv_step *steps)
{
    for (uint32_t i = 0; i < chunk->n_steps; i++) {
        steps[i] = (struct vv_step){0};
        for (unsigned c = 0; c < from->n && (from->counted[i >> 3] >> (i & 7) & 1); c++) {
            uint64_t bits = from->values[(size_t)c * chunk->n_steps + i];
            take_value(&steps[i], from->columns[c], bits, flags, starts[i]);
        }
    }
}

enum vv_status vv_chunk_step_parts(const struct vv_chunk *chunk, uint32_t index,
                                   const int64_t *starts, unsigned parts, struct vv_step *steps_out,
                                   struct vv_error *error)
{
    uint64_t few[STEPS_FEW * VV_CHUNK_COLUMNS + 2 * STEPS_FEW / 64]; /* a day of hours and its bits:
                                                                       no allocation */
    uint8_t flags = chunk->types_[index];
    size_t bitmap = (chunk->n_steps + 7) / 8;
    size_t n_values = (size_t)chunk->n_steps * VV_CHUNK_COLUMNS;
    bool is_few = chunk->n_steps <= STEPS_FEW;
    uint64_t *values = is_few ? few : malloc(n_values * sizeof *values + 2 * bitmap);
    if (!values) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading steps");
    }
    uint8_t *bits = (uint8_t *)(values + n_values);
    struct decoding into = {.values = values, .present = bits, .counted = bits + bitmap};
    enum vv_status status = decode_columns(chunk, index, parts, &into, error);
    if (status == VV_OK) {
        fill_steps(chunk, flags, starts, &into, steps_out);
        status = finish_steps(chunk, flags, starts, parts, into.counted, steps_out, error);
    }
    if (!is_few) {
        free(values);
    }
    return status;
}

enum vv_status vv_chunk_steps(const struct vv_chunk *chunk, uint32_t index, const int64_t *starts,
                              struct vv_step *steps_out, struct vv_error *error)
{
    return vv_chunk_step_parts(chunk, index, starts, VV_STEP_ALL, steps_out, error);
}
