/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks: steps and sketches → bytes. */
#include "tier/chunk_format.h"

#include "base/bits.h"
#include "codec/frame.h"
#include "tier/squares.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SIZE_BYTES_MAX 10u /* of what says how large something is */

struct encoder {
    const struct vv_chunk_content *content;
    int zstd_level;
    struct vv_buffer *out;
    struct vv_error *error;
    uint8_t *types; /* of each metric */
    struct vv_rows rows;
    uint8_t *bitmaps; /* of each metric */
};

static enum vv_status no_memory(struct vv_error *error)
{
    return vv_error_set(error, VV_NO_MEMORY, "out of memory while encoding steps");
}

/* ---- checking ---- */

static bool is_step_good(const struct vv_chunk_content *content, const struct vv_step *step,
                         int64_t start)
{
    return step->count == 0 ||
           (step->count <= INT64_MAX && step->first_time >= start &&
            step->last_time >= step->first_time && step->last_time - start < content->step_ns);
}

static bool is_good(const struct vv_chunk_content *content)
{
    bool good = content->step_ns > 0 && content->n_steps > 0 &&
                content->n_steps <= VV_CHUNK_STEPS_MAX && content->n_metrics > 0 &&
                content->n_metrics <= VV_CHUNK_METRICS_MAX;
    for (size_t i = 1; i < content->n_steps && good; i++) {
        good = content->starts[i - 1] < content->starts[i];
    }
    for (size_t m = 0; m < content->n_metrics && good; m++) {
        const struct vv_chunk_metric *metric = &content->metrics[m];
        good = (metric->sketches == NULL) == (content->metrics[0].sketches == NULL);
        for (size_t i = 0; i < content->n_steps && good; i++) {
            good = is_step_good(content, &metric->steps[i], content->starts[i]);
        }
    }
    return good;
}

/* ---- columns ---- */

static uint8_t type_of(const struct vv_chunk_metric *metric, size_t n_steps)
{
    uint8_t type = metric->type == VV_INT64 ? VV_CHUNK_TYPE_INTEGER : 0;
    for (size_t i = 0; i < n_steps && type != 0; i++) {
        __int128 sum = metric->steps[i].sum.integer;
        if (metric->steps[i].count > 0 && sum != (int64_t)sum) {
            type |= VV_CHUNK_TYPE_WIDE;
        }
    }
    return type;
}

static uint64_t value_of(enum vv_chunk_column column, enum vv_value_type type,
                         const struct vv_step *step, int64_t start)
{
    union vv_total sum = vv_step_sum(type, step);
    switch (column) {
    case VV_CHUNK_COUNT:
        return step->count;
    case VV_CHUNK_SUM:
        return type == VV_INT64 ? (uint64_t)sum.integer : vv_bits_of_double(sum.real);
    case VV_CHUNK_SUM_HIGH:
        return (uint64_t)(sum.integer >> 64);
    case VV_CHUNK_MIN:
        return step->min;
    case VV_CHUNK_MAX:
        return step->max;
    case VV_CHUNK_FIRST:
        return step->first;
    case VV_CHUNK_LAST:
        return step->last;
    case VV_CHUNK_FIRST_TIME:
        return (uint64_t)(step->first_time - start);
    case VV_CHUNK_LAST_TIME:
        return (uint64_t)(step->last_time - start);
    case VV_CHUNK_SQUARES:
        break;
    }
    return vv_bits_of_double(step->squares);
}

static void fill_column(const struct encoder *encoder, size_t metric, enum vv_chunk_column column,
                        struct vv_column *out)
{
    const struct vv_chunk_content *content = encoder->content;
    const struct vv_chunk_metric *from = &content->metrics[metric];
    for (size_t i = 0; i < content->n_steps; i++) {
        const struct vv_step *step = &from->steps[i];
        out->values[i] =
            step->count > 0 ? value_of(column, from->type, step, content->starts[i]) : 0;
    }
}

/* The squares of a metric of integers; false, and the column is to be filled otherwise, where they
 * are not all to be had as such. */
static bool fill_whole_squares(const struct encoder *encoder, size_t metric, struct vv_column *out)
{
    const struct vv_chunk_metric *from = &encoder->content->metrics[metric];
    bool all = from->type == VV_INT64;
    for (size_t i = 0; i < encoder->content->n_steps && all; i++) {
        out->values[i] = 0;
        all = from->steps[i].count == 0 || vv_squares_to_whole(&from->steps[i], &out->values[i]);
    }
    return all;
}

/* The steps that have values; NULL when all do. */
static uint8_t *fill_bitmap(const struct encoder *encoder, size_t metric)
{
    const struct vv_chunk_content *content = encoder->content;
    uint8_t *bitmap = encoder->bitmaps + metric * ((content->n_steps + 7) / 8);
    bool all = true;
    for (size_t i = 0; i < content->n_steps; i++) {
        bool has = content->metrics[metric].steps[i].count > 0;
        bitmap[i >> 3] = (uint8_t)(bitmap[i >> 3] | (has ? 1u : 0u) << (i & 7));
        all &= has;
    }
    return all ? NULL : bitmap;
}

static enum vv_status alloc_rows(struct encoder *encoder)
{
    const struct vv_chunk_content *content = encoder->content;
    struct vv_rows *rows = &encoder->rows;
    encoder->types = malloc(content->n_metrics);
    if (!encoder->types) {
        return no_memory(encoder->error);
    }
    for (size_t m = 0; m < content->n_metrics; m++) {
        encoder->types[m] = type_of(&content->metrics[m], content->n_steps);
        rows->n_columns += vv_chunk_columns(encoder->types[m]);
    }
    rows->n_rows = content->n_steps;
    rows->times = malloc(rows->n_rows * sizeof *rows->times);
    rows->stamps = calloc(rows->n_rows, sizeof *rows->stamps);
    rows->columns = calloc(rows->n_columns, sizeof *rows->columns);
    encoder->bitmaps = calloc(content->n_metrics, (content->n_steps + 7) / 8);
    uint64_t *values = malloc(rows->n_columns * rows->n_rows * sizeof *values);
    if (!rows->times || !rows->stamps || !rows->columns || !encoder->bitmaps || !values) {
        free(values);
        return no_memory(encoder->error);
    }
    memcpy(rows->times, content->starts, rows->n_rows * sizeof *rows->times);
    for (size_t i = 0; i < rows->n_columns; i++) {
        rows->columns[i].values = values + i * rows->n_rows;
    }
    return VV_OK;
}

static void free_rows(struct encoder *encoder)
{
    if (encoder->rows.columns) {
        free(encoder->rows.columns[0].values);
    }
    free(encoder->rows.columns);
    free(encoder->rows.stamps);
    free(encoder->rows.times);
    free(encoder->bitmaps);
    free(encoder->types);
}

static void fill_rows(struct encoder *encoder)
{
    struct vv_column *at = encoder->rows.columns;
    for (size_t m = 0; m < encoder->content->n_metrics; m++) {
        uint8_t *bitmap = fill_bitmap(encoder, m);
        for (unsigned c = 0; c < VV_CHUNK_COLUMNS; c++) {
            enum vv_chunk_column column = (enum vv_chunk_column)c;
            if (column == VV_CHUNK_SUM_HIGH && !(encoder->types[m] & VV_CHUNK_TYPE_WIDE)) {
                continue;
            }
            at->metric = encoder->content->metrics[m].metric;
            at->present = bitmap;
            if (column == VV_CHUNK_SQUARES && fill_whole_squares(encoder, m, at)) {
                encoder->types[m] |= VV_CHUNK_TYPE_WHOLE;
            } else {
                fill_column(encoder, m, column, at);
            }
            at->type = vv_chunk_column_type(column, encoder->types[m]);
            at++;
        }
    }
}

static enum vv_status make_block(struct encoder *encoder, struct vv_buffer *out)
{
    size_t bound = vv_block_bound(&encoder->rows);
    struct vv_block_options options = {.zstd_level = encoder->zstd_level};
    uint8_t *bytes = bound == SIZE_MAX ? NULL : vv_buffer_reserve(out, bound);
    size_t size = 0;
    if (!bytes) {
        return no_memory(encoder->error);
    }
    enum vv_block_status status = vv_block_encode(&encoder->rows, &options, bytes, bound, &size);
    out->size += size;
    return status == VV_BLOCK_OK ? VV_OK
           : status == VV_BLOCK_NO_MEMORY
               ? no_memory(encoder->error)
               : vv_error_set(encoder->error, VV_INVALID, "steps that a block cannot hold: %s",
                              vv_block_status_text(status));
}

/* ---- sketches ---- */

/* Sized, in place: most sizes are one byte before it, and where one is more it moves. */
static void add_sketch(struct vv_buffer *buffer, const struct vv_sketch *sketch)
{
    size_t bound = vv_sketch_encoded_bound(sketch);
    uint8_t *bytes = vv_buffer_reserve(buffer, SIZE_BYTES_MAX + bound);
    if (!bytes) {
        return;
    }
    size_t size = vv_sketch_encode(sketch, bytes + 1, bound);
    size_t before = 1;
    for (size_t rest = size >> 7; rest > 0; rest >>= 7) {
        before++;
    }
    if (before > 1) {
        memmove(bytes + before, bytes + 1, size);
    }
    vv_buffer_varint(buffer, size);
    buffer->size += size;
}

/* Compressed where that is smaller. */
static void pack(struct encoder *encoder, const struct vv_buffer *plain, struct vv_buffer *packed)
{
    uint8_t *room = NULL;
    size_t size = 0;
    if (encoder->zstd_level > 0 && plain->size > 0) {
        vv_buffer_u8(packed, VV_CHUNK_SKETCHES_ZSTD);
        vv_buffer_varint(packed, plain->size);
        room = vv_buffer_reserve(packed, plain->size);
    }
    if (room && vv_frame_encode(encoder->zstd_level, plain->data, plain->size, room, plain->size,
                                &size) != VV_BLOCK_OK) {
        packed->failed = true;
        return;
    }
    if (size > 0 && packed->size + size < 1 + plain->size) {
        packed->size += size;
        return;
    }
    vv_buffer_clear(packed);
    vv_buffer_u8(packed, VV_CHUNK_SKETCHES_PLAIN);
    vv_buffer_append(packed, plain->data, plain->size);
}

static enum vv_status make_sketches(struct encoder *encoder, struct vv_buffer *out)
{
    struct vv_buffer plain = {0};
    struct vv_buffer packed = {0};
    enum vv_status status = VV_OK;
    for (size_t m = 0; m < encoder->content->n_metrics && status == VV_OK; m++) {
        const struct vv_chunk_metric *metric = &encoder->content->metrics[m];
        vv_buffer_clear(&plain);
        vv_buffer_clear(&packed);
        for (size_t i = 0; i < encoder->content->n_steps; i++) {
            if (metric->steps[i].count > 0) {
                add_sketch(&plain, &metric->sketches[i]);
            }
        }
        status = vv_buffer_status(&plain);
        if (status == VV_OK) {
            pack(encoder, &plain, &packed);
            status = vv_buffer_status(&packed);
        }
        vv_buffer_sized(out, (struct vv_str){(char *)packed.data, packed.size});
    }
    status = status == VV_OK ? vv_buffer_status(out) : status;
    if (status == VV_OK) {
        vv_buffer_u64(out, XXH3_64bits(out->data, out->size));
        status = vv_buffer_status(out);
    }
    vv_buffer_deinit(&plain);
    vv_buffer_deinit(&packed);
    return status == VV_OK ? VV_OK : no_memory(encoder->error);
}

/* ---- the chunk ---- */

static void add_all(struct encoder *encoder, const struct vv_buffer *block,
                    const struct vv_buffer *sketches)
{
    struct vv_buffer *out = encoder->out;
    const struct vv_chunk_content *content = encoder->content;
    size_t begin = out->size;
    vv_buffer_u8(out, VV_CHUNK_MAGIC_0);
    vv_buffer_u8(out, VV_CHUNK_MAGIC_1);
    vv_buffer_u8(out, VV_CHUNK_VERSION);
    vv_buffer_u8(out, sketches->size > 0 ? VV_CHUNK_FLAG_SKETCHES : 0);
    vv_buffer_varint(out, (uint64_t)content->step_ns);
    vv_buffer_varint(out, content->n_metrics);
    vv_buffer_append(out, encoder->types, content->n_metrics);
    vv_buffer_varint(out, block->size);
    vv_buffer_varint(out, sketches->size);
    if (!out->failed) {
        vv_buffer_u64(out, XXH3_64bits(out->data + begin, out->size - begin));
    }
    vv_buffer_append(out, block->data, block->size);
    if (sketches->size > 0) {
        vv_buffer_append(out, sketches->data, sketches->size);
    }
}

static enum vv_status make_all(struct encoder *encoder)
{
    struct vv_buffer block = {0};
    struct vv_buffer sketches = {0};
    fill_rows(encoder);
    enum vv_status status = make_block(encoder, &block);
    if (status == VV_OK && encoder->content->metrics[0].sketches) {
        status = make_sketches(encoder, &sketches);
    }
    if (status == VV_OK) {
        add_all(encoder, &block, &sketches);
    }
    vv_buffer_deinit(&block);
    vv_buffer_deinit(&sketches);
    return status;
}

enum vv_status vv_chunk_encode(const struct vv_chunk_content *content, int zstd_level,
                               struct vv_buffer *out, struct vv_error *error)
{
    struct encoder encoder = {
        .content = content, .zstd_level = zstd_level, .out = out, .error = error};
    size_t begin = out->size;
    if (!is_good(content)) {
        return vv_error_set(error, VV_INVALID, "steps outside of the bounds of a chunk");
    }
    enum vv_status status = alloc_rows(&encoder);
    if (status == VV_OK) {
        status = make_all(&encoder);
    }
    free_rows(&encoder);
    if (status == VV_OK && out->failed) {
        status = no_memory(error);
    }
    if (status != VV_OK) {
        out->failed = false; /* what was there before is whole */
        out->size = begin;
    }
    return status;
}
