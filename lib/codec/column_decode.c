/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of one column. */
#include "column.h"
#include "decimal.h"
#include "format.h"
#include "groups.h"
#include "presence.h"
#include "sequence.h"
#include "stats.h"

/* What the head and the scale byte say of the values. */
struct body_head {
    struct vv_sequence_head sequence;
    bool decimal;
    bool corrected;
    struct vv_decimal_scale scale;
};

static enum vv_presence presence_of(unsigned head)
{
    return (enum vv_presence)((head >> VV_FORMAT_PRESENCE_SHIFT) & VV_FORMAT_PRESENCE_MASK);
}

enum vv_block_status vv_column_describe(struct vv_reader *reader, bool has_stats,
                                        struct vv_block_column *column_out)
{
    unsigned head = vv_take_byte(reader);
    column_out->head_ = (uint8_t)head;
    column_out->type = (head & VV_FORMAT_HEAD_FLOAT) ? VV_FLOAT64 : VV_INT64;
    column_out->all_present = presence_of(head) == VV_PRESENCE_ALL;
    column_out->stats = (struct vv_block_stats){.valid = false};
    if (has_stats && !reader->failed) {
        bool any_present = presence_of(head) != VV_PRESENCE_NONE;
        (void)vv_stats_read(column_out->type, any_present, reader, &column_out->stats);
    }
    column_out->body_ = reader->at;
    column_out->body_size_ = vv_reader_left(reader);
    return reader->failed ? VV_BLOCK_CORRUPT : VV_BLOCK_OK;
}

static bool read_scale(struct vv_reader *reader, enum vv_value_type type, struct body_head *body)
{
    unsigned scale = vv_take_byte(reader);
    unsigned exponent = scale & VV_FORMAT_SCALE_EXPONENT;
    body->decimal = exponent != VV_FORMAT_EXPONENT_NONE;
    body->corrected = (scale & VV_FORMAT_SCALE_CORRECTIONS) != 0;
    body->scale = (struct vv_decimal_scale){exponent, (scale & VV_FORMAT_SCALE_SINGLE) != 0};
    body->sequence.has_divisor = (scale & VV_FORMAT_SCALE_DIVISOR) != 0;
    if (body->decimal) {
        return type == VV_FLOAT64 && exponent <= VV_FORMAT_EXPONENT_MAX;
    }
    return !body->corrected && !body->scale.single;
}

static bool read_body_head(struct vv_reader *reader, const struct vv_block_column *column,
                           struct body_head *body_out)
{
    *body_out = (struct body_head){.sequence = {.form = column->head_ & VV_FORMAT_HEAD_FORM}};
    if ((column->head_ & VV_FORMAT_HEAD_SCALED) && !read_scale(reader, column->type, body_out)) {
        return false;
    }
    body_out->sequence.as_bits = column->type == VV_FLOAT64 && !body_out->decimal;
    return !reader->failed;
}

/* Adds the corrections, group by group. */
static bool add_corrections(struct vv_reader *reader, size_t count, uint64_t *values)
{
    uint64_t corrections[VV_GROUP_LENGTH];
    struct vv_groups_reader groups = {reader, 0};
    for (size_t start = 0; start < count; start += VV_GROUP_LENGTH) {
        size_t left = count - start;
        size_t length = left < VV_GROUP_LENGTH ? left : VV_GROUP_LENGTH;
        if (!vv_group_read(&groups, length, corrections)) {
            return false;
        }
        for (size_t i = 0; i < length; i++) {
            values[start + i] += corrections[i];
        }
    }
    return true;
}

static bool skip_corrections(struct vv_reader *reader, size_t count)
{
    for (size_t start = 0; start < count && !reader->failed; start += VV_GROUP_LENGTH) {
        size_t left = count - start;
        vv_group_skip(reader, left < VV_GROUP_LENGTH ? left : VV_GROUP_LENGTH);
    }
    return !reader->failed;
}

static enum vv_block_status read_body(struct vv_scratch *scratch, struct vv_reader *reader,
                                      const struct vv_block_column *column, size_t count,
                                      uint64_t *values_out)
{
    struct body_head body;
    if (!read_body_head(reader, column, &body)) {
        return VV_BLOCK_CORRUPT;
    }
    struct vv_reader corrections = *reader;
    if (body.corrected && !skip_corrections(reader, count)) {
        return VV_BLOCK_CORRUPT;
    }
    enum vv_block_status status =
        vv_sequence_read(scratch, body.sequence, reader, count, values_out);
    if (status != VV_BLOCK_OK || !body.decimal) {
        return status;
    }
    vv_decimal_join(values_out, count, body.scale);
    if (body.corrected && !add_corrections(&corrections, count, values_out)) {
        return VV_BLOCK_CORRUPT;
    }
    return VV_BLOCK_OK;
}

enum vv_block_status vv_column_decode(struct vv_scratch *scratch,
                                      const struct vv_block_column *column, size_t n_rows,
                                      uint64_t *values_out, uint8_t *present_out)
{
    struct vv_reader reader = {column->body_, column->body_ + column->body_size_, false};
    enum vv_presence presence = presence_of(column->head_);
    size_t n_present = n_rows;
    if (present_out == NULL && presence != VV_PRESENCE_ALL) {
        return VV_BLOCK_INVALID;
    }
    if (present_out != NULL &&
        !vv_presence_read(presence, &reader, n_rows, present_out, &n_present)) {
        return VV_BLOCK_CORRUPT;
    }
    if (n_present == 0) {
        return reader.at == reader.end ? VV_BLOCK_OK : VV_BLOCK_CORRUPT;
    }
    enum vv_block_status status = read_body(scratch, &reader, column, n_present, values_out);
    if (status == VV_BLOCK_OK && n_present < n_rows) {
        vv_presence_scatter(present_out, n_rows, n_present, values_out);
    }
    return status;
}
