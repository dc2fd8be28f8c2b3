/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: bytes → steps and sketches. */
#include "tier/chunk_format.h"

#include "base/bits.h"
#include "codec/frame.h"

#include <stdlib.h>
#include <xxhash.h>

#define SKETCHES_BYTES_MAX (64u << 20) /* of a metric */

static enum vv_status corrupt(struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT, "a chunk of steps is damaged");
}

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
        return corrupt(error);
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
        bool wide_double = type == VV_CHUNK_TYPE_WIDE;
        if ((type & ~VV_CHUNK_TYPE_BITS) != 0 || wide_double) {
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
    if (!is_chunk || reader->failed || version != VV_CHUNK_VERSION || head->step_ns == 0 ||
        head->step_ns > INT64_MAX || head->n_metrics == 0 ||
        head->n_metrics > VV_CHUNK_METRICS_MAX) {
        return corrupt(error);
    }
    head->types = vv_reader_bytes(reader, head->n_metrics);
    head->block_size = vv_reader_varint(reader);
    head->sketches_size = vv_reader_varint(reader);
    bool is_good = is_checksum_next(reader) && flags <= VV_CHUNK_FLAG_SKETCHES &&
                   (flags == 0) == (head->sketches_size == 0) &&
                   head->block_size <= vv_reader_left(reader);
    return is_good ? VV_OK : corrupt(error);
}

/* The same of a chunk that is there with its sketches. */
static enum vv_status read_whole_head(struct vv_reader *reader, struct head *head,
                                      struct vv_error *error)
{
    enum vv_status status = read_head(reader, head, error);
    if (status != VV_OK) {
        return status;
    }
    return head->sketches_size == vv_reader_left(reader) - head->block_size ? VV_OK
                                                                            : corrupt(error);
}

enum vv_status vv_chunk_look(struct vv_str bytes, struct vv_chunk_head *head_out,
                             struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(bytes.data, bytes.size);
    struct head head;
    *head_out = (struct vv_chunk_head){0};
    enum vv_status status = read_whole_head(&reader, &head, error);
    if (status == VV_OK) {
        *head_out = (struct vv_chunk_head){.step_ns = (int64_t)head.step_ns,
                                           .has_sketches = head.sketches_size > 0,
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
    return chunk->n_steps <= VV_CHUNK_STEPS_MAX && are_types_good(chunk) ? VV_OK : corrupt(error);
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
        return corrupt(error);
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

enum vv_status vv_chunk_starts(const struct vv_chunk *chunk, int64_t *starts_out,
                               struct vv_error *error)
{
    enum vv_status status = from_block(vv_block_times(&chunk->block_, starts_out), error);
    for (uint32_t i = 1; i < chunk->n_steps && status == VV_OK; i++) {
        status = starts_out[i - 1] < starts_out[i] ? VV_OK : corrupt(error);
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
        return corrupt(error);
    }
    return status == VV_OK ? from_block(vv_block_values(&chunk->block_, at, values, present), error)
                           : status;
}

static void take_value(struct vv_step *step, enum vv_chunk_column column, uint64_t bits,
                       enum vv_value_type type, int64_t start)
{
    switch (column) {
    case VV_CHUNK_COUNT:
        step->count = bits;
        break;
    case VV_CHUNK_SUM:
        if (type == VV_INT64) {
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
        step->squares = vv_bits_double(bits);
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

static bool is_step_good(const struct vv_chunk *chunk, const struct vv_step *step, int64_t start)
{
    uint64_t first = (uint64_t)step->first_time - (uint64_t)start;
    uint64_t last = (uint64_t)step->last_time - (uint64_t)start;
    return step->count > 0 && step->count <= INT64_MAX && first <= last &&
           last < (uint64_t)chunk->step_ns && step->first_time <= step->last_time;
}

static enum vv_status finish_steps(const struct vv_chunk *chunk, enum vv_value_type type,
                                   const int64_t *starts, const uint8_t *present,
                                   struct vv_step *steps, struct vv_error *error)
{
    for (uint32_t i = 0; i < chunk->n_steps; i++) {
        bool has = present[i >> 3] >> (i & 7) & 1;
        if (!has) {
            steps[i] = (struct vv_step){0};
            continue;
        }
        if (!is_step_good(chunk, &steps[i], starts[i])) {
            return corrupt(error);
        }
        set_reference(&steps[i], type);
    }
    return VV_OK;
}

enum vv_status vv_chunk_steps(const struct vv_chunk *chunk, uint32_t index, const int64_t *starts,
                              struct vv_step *steps_out, struct vv_error *error)
{
    size_t bitmap = (chunk->n_steps + 7) / 8;
    uint32_t at = first_column(chunk, index);
    uint8_t flags = chunk->types_[index];
    enum vv_value_type type = type_at(chunk, index);
    uint64_t *values = malloc(chunk->n_steps * sizeof *values + 2 * bitmap);
    if (!values) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading steps");
    }
    uint8_t *present = (uint8_t *)(values + chunk->n_steps);
    uint8_t *counted = present + bitmap; /* as of the first column */
    enum vv_status status = VV_OK;
    memset(steps_out, 0, chunk->n_steps * sizeof *steps_out);
    for (unsigned c = 0; c < VV_CHUNK_COLUMNS && status == VV_OK; c++) {
        enum vv_chunk_column column = (enum vv_chunk_column)c;
        if (column == VV_CHUNK_SUM_HIGH && !(flags & VV_CHUNK_TYPE_WIDE)) {
            continue;
        }
        status =
            read_column(chunk, at++, vv_chunk_column_type(column, flags), values, present, error);
        if (status == VV_OK && column == VV_CHUNK_COUNT) {
            memcpy(counted, present, bitmap);
        }
        if (status == VV_OK && memcmp(counted, present, bitmap) != 0) {
            status = corrupt(error);
        }
        for (uint32_t i = 0; i < chunk->n_steps && status == VV_OK; i++) {
            if (present[i >> 3] >> (i & 7) & 1) {
                take_value(&steps_out[i], column, values[i], type, starts[i]);
            }
        }
    }
    if (status == VV_OK) {
        status = finish_steps(chunk, type, starts, counted, steps_out, error);
    }
    free(values);
    return status;
}

/* ---- sketches ---- */

/* The sketches' bytes as they are: borrowed, or unpacked into `room`. */
static enum vv_status unpack(struct vv_str packed, struct vv_buffer *room, struct vv_reader *out,
                             struct vv_error *error)
{
    struct vv_reader reader = vv_reader_of(packed.data, packed.size);
    uint8_t form = vv_reader_u8(&reader);
    uint64_t size = form == VV_CHUNK_SKETCHES_ZSTD ? vv_reader_varint(&reader) : 0;
    if (reader.failed || form > VV_CHUNK_SKETCHES_ZSTD || size > SKETCHES_BYTES_MAX) {
        return corrupt(error);
    }
    if (form == VV_CHUNK_SKETCHES_PLAIN) {
        *out = vv_reader_of(reader.data + reader.at, vv_reader_left(&reader));
        return VV_OK;
    }
    const uint8_t *frame = reader.data + reader.at;
    size_t left = vv_reader_left(&reader);
    if (vv_frame_content_size(frame, left) != size) { /* before memory is given to it */
        return corrupt(error);
    }
    uint8_t *bytes = vv_buffer_reserve(room, size);
    if (!bytes) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading sketches");
    }
    enum vv_block_status status = vv_frame_decode(frame, left, bytes, size);
    if (status == VV_BLOCK_NO_MEMORY) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory while reading sketches");
    }
    if (status != VV_BLOCK_OK) {
        return corrupt(error);
    }
    *out = vv_reader_of(bytes, size);
    return VV_OK;
}

static enum vv_status read_sketch(struct vv_reader *reader, const struct vv_step *step,
                                  struct vv_sketch *out, struct vv_error *error)
{
    (void)vv_sketch_init(out, 0);
    if (step->count == 0) {
        return VV_OK;
    }
    struct vv_str bytes = vv_reader_sized(reader);
    enum vv_sketch_status status = vv_sketch_decode((const uint8_t *)bytes.data, bytes.size, out);
    if (status == VV_SKETCH_OK && vv_sketch_count(out) == step->count) {
        return VV_OK;
    }
    vv_sketch_deinit(out);
    return status == VV_SKETCH_NO_MEMORY
               ? vv_error_set(error, VV_NO_MEMORY, "out of memory while reading sketches")
           : status == VV_SKETCH_NEWER
               ? vv_error_set(error, VV_NEWER, "a sketch is of a newer version of Varve")
               : corrupt(error);
}

static enum vv_status read_sketches(const struct vv_chunk *chunk, struct vv_reader *reader,
                                    const struct vv_step *steps, struct vv_sketch *sketches_out,
                                    struct vv_error *error)
{
    enum vv_status status = VV_OK;
    uint32_t n = 0;
    while (n < chunk->n_steps && status == VV_OK) {
        status = read_sketch(reader, &steps[n], &sketches_out[n], error);
        n += status == VV_OK;
    }
    if (status == VV_OK && vv_reader_left(reader) > 0) {
        status = corrupt(error);
    }
    while (status != VV_OK && n > 0) {
        vv_sketch_deinit(&sketches_out[--n]);
    }
    return status;
}

enum vv_status vv_chunk_sketches(const struct vv_chunk *chunk, uint32_t index,
                                 const struct vv_step *steps, struct vv_sketch *sketches_out,
                                 struct vv_error *error)
{
    struct vv_reader all = chunk->sketches_;
    struct vv_str packed = {0};
    struct vv_buffer room = {0};
    struct vv_reader reader;
    if (!chunk->has_sketches) {
        return vv_error_set(error, VV_INVALID, "these steps were kept without sketches");
    }
    for (uint32_t i = 0; i <= index; i++) {
        packed = vv_reader_sized(&all);
    }
    if (all.failed) {
        return corrupt(error);
    }
    enum vv_status status = unpack(packed, &room, &reader, error);
    if (status == VV_OK) {
        status = read_sketches(chunk, &reader, steps, sketches_out, error);
    }
    vv_buffer_deinit(&room);
    return status;
}
