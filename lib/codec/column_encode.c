/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding of one column. */
#include "column.h"
#include "decimal.h"
#include "format.h"
#include "groups.h"
#include "presence.h"
#include "sequence.h"
#include "stats.h"

/* Exact decimals this small are not compared with the plain bits, which could hardly win. */
#define GOOD_BYTES_EACH 4u

/* How the present values of a column will be written. */
struct body_plan {
    struct vv_sequence_plan sequence;
    bool decimal;
    struct vv_decimal_scale scale;
    const uint64_t *corrections; /* NULL = none */
    size_t size;                 /* with the scale byte */
};

static bool is_scaled(const struct body_plan *body)
{
    return body->decimal || body->sequence.divisor != 1;
}

static enum vv_block_status plan_plain(struct vv_scratch *scratch, int zstd_level,
                                       const uint64_t *values, size_t count, bool as_bits,
                                       struct body_plan *body_out)
{
    *body_out = (struct body_plan){0};
    enum vv_block_status status = vv_sequence_plan(scratch, VV_SEQUENCE_A, zstd_level, values,
                                                   count, as_bits, &body_out->sequence);
    body_out->size = body_out->sequence.size + (is_scaled(body_out) ? 1 : 0);
    return status;
}

static enum vv_block_status plan_decimals(struct vv_scratch *scratch, int zstd_level,
                                          const uint64_t *values, size_t count,
                                          struct vv_decimal_scale scale, struct body_plan *body_out)
{
    *body_out = (struct body_plan){.decimal = true, .scale = scale};
    uint64_t *numbers = vv_scratch_buffer(scratch, VV_SCRATCH_NUMBERS, count * sizeof *numbers);
    uint64_t *corrections =
        vv_scratch_buffer(scratch, VV_SCRATCH_CORRECTIONS, count * sizeof *corrections);
    if (numbers == NULL || corrections == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    bool corrected = vv_decimal_split(values, count, scale, numbers, corrections);
    enum vv_block_status status = vv_sequence_plan(scratch, VV_SEQUENCE_B, zstd_level, numbers,
                                                   count, false, &body_out->sequence);
    body_out->size = 1 + body_out->sequence.size;
    if (corrected) {
        body_out->corrections = corrections;
        body_out->size += vv_groups_size(corrections, count);
    }
    return status;
}

static enum vv_block_status plan_floats(struct vv_scratch *scratch, int zstd_level,
                                        const uint64_t *values, size_t count,
                                        struct body_plan *body_out)
{
    struct vv_decimal_scale scale;
    if (!vv_decimal_choose(values, count, &scale)) {
        return plan_plain(scratch, zstd_level, values, count, true, body_out);
    }
    enum vv_block_status status =
        plan_decimals(scratch, zstd_level, values, count, scale, body_out);
    bool good = body_out->corrections == NULL && body_out->size <= GOOD_BYTES_EACH * count;
    if (status != VV_BLOCK_OK || good) {
        return status;
    }
    struct body_plan plain;
    status = plan_plain(scratch, zstd_level, values, count, true, &plain);
    if (status == VV_BLOCK_OK && plain.size <= body_out->size) {
        *body_out = plain;
    }
    return status;
}

static void write_scale(const struct body_plan *body, struct vv_writer *writer)
{
    unsigned scale = body->decimal ? body->scale.exponent : VV_FORMAT_EXPONENT_NONE;
    scale |= body->decimal && body->scale.single ? VV_FORMAT_SCALE_SINGLE : 0;
    scale |= body->corrections != NULL ? VV_FORMAT_SCALE_CORRECTIONS : 0;
    scale |= body->sequence.divisor != 1 ? VV_FORMAT_SCALE_DIVISOR : 0;
    vv_put_byte(writer, scale);
}

static void write_body(const struct body_plan *body, size_t count, struct vv_writer *writer)
{
    if (is_scaled(body)) {
        write_scale(body, writer);
    }
    if (body->corrections != NULL) {
        vv_groups_write(body->corrections, count, writer);
    }
    vv_sequence_write(&body->sequence, writer);
}

/* The present values in a row: the column's own array where nothing is absent. */
static const uint64_t *gather(struct vv_scratch *scratch, const struct vv_column *column,
                              size_t n_rows, struct vv_presence_plan presence)
{
    if (presence.n_present == n_rows) {
        return column->values;
    }
    uint64_t *values =
        vv_scratch_buffer(scratch, VV_SCRATCH_VALUES, presence.n_present * sizeof *values);
    if (values != NULL) {
        vv_presence_gather(column->present, n_rows, column->values, values);
    }
    return values;
}

static unsigned head_of(enum vv_value_type type, enum vv_presence presence,
                        const struct body_plan *body)
{
    unsigned head = (unsigned)presence << VV_FORMAT_PRESENCE_SHIFT;
    head |= type == VV_FLOAT64 ? VV_FORMAT_HEAD_FLOAT : 0;
    head |= (unsigned)body->sequence.form;
    head |= is_scaled(body) ? VV_FORMAT_HEAD_SCALED : 0;
    return head;
}

static void write_stats(enum vv_value_type type, const uint64_t *values, size_t count,
                        struct vv_writer *writer)
{
    struct vv_block_stats stats;
    vv_stats_compute(type, values, count, &stats);
    vv_stats_write(type, &stats, count, writer);
}

enum vv_block_status vv_column_encode(struct vv_scratch *scratch,
                                      const struct vv_block_options *options,
                                      const struct vv_column *column, size_t n_rows,
                                      struct vv_writer *writer)
{
    struct vv_presence_plan presence = vv_presence_plan(column->present, n_rows);
    const uint64_t *values = gather(scratch, column, n_rows, presence);
    if (values == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    size_t count = presence.n_present;
    enum vv_block_status status = VV_BLOCK_OK;
    struct body_plan body = {.sequence = {.form = VV_FORM_CONSTANT, .divisor = 1}};
    if (count > 0 && column->type == VV_FLOAT64) {
        status = plan_floats(scratch, options->zstd_level, values, count, &body);
    } else if (count > 0) {
        status = plan_plain(scratch, options->zstd_level, values, count, false, &body);
    }
    if (status != VV_BLOCK_OK) {
        return status;
    }
    vv_put_byte(writer, head_of(column->type, presence.kind, &body));
    if (options->with_stats) {
        write_stats(column->type, values, count, writer);
    }
    vv_presence_write(presence.kind, column->present, n_rows, writer);
    if (count > 0) {
        write_body(&body, count, writer);
    }
    return VV_BLOCK_OK;
}
