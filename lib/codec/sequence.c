/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing, writing and reading the form of a sequence. */
#include "sequence.h"

#include "groups.h"
#include "predict.h"

/* Below this a zstd frame with its header wins little, and takes long for it: of the columns of
 * minutes half of the time that compressing took, for 0.4 % of their bytes. */
#define COMPRESSED_FROM_BYTES 256u
/* A table is tried when the other forms take more than this for each number. */
#define TABLE_FROM_BYTES_EACH 2u

static bool is_planes(unsigned form)
{
    return form >= VV_FORM_DIRECT_PLANES && form <= VV_FORM_DELTA2_PLANES;
}

static bool has_residuals(unsigned form)
{
    return form >= VV_FORM_DIRECT && form <= VV_FORM_DELTA2_PLANES;
}

static unsigned order_of(unsigned form)
{
    return is_planes(form) ? form - VV_FORM_DIRECT_PLANES : form - VV_FORM_DIRECT;
}

/* Divisor, remainder and the numbers before the residuals. */
static size_t prefix_size(const struct vv_sequence_plan *plan, unsigned order)
{
    size_t size = 0;
    if (plan->divisor != 1) {
        size += vv_varint_size(plan->divisor) + vv_varint_size(plan->remainder);
    }
    if (order >= 1) {
        size += vv_varint_size(vv_zigzag(plan->numbers[0]));
    }
    if (order >= 2) {
        size += vv_varint_size(vv_zigzag(plan->numbers[1] - plan->numbers[0]));
    }
    return size;
}

static bool divisor_pays(size_t count, uint64_t divisor, uint64_t remainder)
{
    size_t saved_bits = (count - 1) * (vv_bit_length(divisor) - 1);
    return saved_bits > 8 * (1 + vv_varint_size(divisor) + vv_varint_size(remainder));
}

/* Fills the residuals of one order, divided if that pays. */
static void prepare_order(struct vv_sequence_plan *plan, unsigned order, uint64_t *residuals)
{
    size_t count = plan->n_numbers - order;
    plan->form = (enum vv_form)(VV_FORM_DIRECT + order);
    plan->residuals = residuals;
    vv_predict_residuals(plan->numbers, plan->n_numbers, order, residuals);
    vv_predict_divisor(residuals, count, &plan->divisor, &plan->remainder);
    if (plan->divisor == 1) {
        return;
    }
    if (divisor_pays(count, plan->divisor, plan->remainder)) {
        vv_predict_divide(residuals, count, plan->divisor, plan->remainder);
    } else {
        plan->divisor = 1;
        plan->remainder = 0;
    }
}

static void plan_groups(struct vv_sequence_plan *plan, uint64_t *residuals)
{
    struct vv_sequence_plan candidate = *plan;
    plan->size = SIZE_MAX;
    for (unsigned order = 0; order <= VV_PREDICT_ORDER_MAX && order < plan->n_numbers; order++) {
        prepare_order(&candidate, order, residuals);
        candidate.size =
            prefix_size(&candidate, order) + vv_groups_size(residuals, candidate.n_numbers - order);
        if (candidate.size < plan->size) {
            *plan = candidate;
        }
    }
    if (candidate.form != plan->form) {
        prepare_order(plan, order_of(plan->form), residuals);
    }
}

/* A compressed form must save at least a sixteenth, since it is slower to read. */
static size_t compressed_limit(size_t size)
{
    return size - size / 16;
}

static enum vv_block_status plan_planes(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                        int zstd_level, const struct vv_sequence_plan *groups,
                                        struct vv_sequence_plan *best)
{
    unsigned order = order_of(groups->form);
    size_t overhead = prefix_size(groups, order);
    size_t limit = compressed_limit(best->size);
    struct vv_planes planes;
    if (limit <= overhead) {
        return VV_BLOCK_OK;
    }
    enum vv_block_status status =
        vv_planes_plan(scratch, slot, zstd_level, groups->residuals, groups->n_numbers - order,
                       limit - overhead, &planes);
    if (status == VV_BLOCK_OK && planes.frame != NULL) {
        *best = *groups;
        best->form = (enum vv_form)(VV_FORM_DIRECT_PLANES + order);
        best->size = overhead + planes.size;
        best->planes = planes;
    }
    return status;
}

static enum vv_block_status plan_table(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                       struct vv_sequence_plan *plan)
{
    enum vv_block_status status =
        vv_table_plan(scratch, slot, plan->numbers, plan->n_numbers, plan->size, &plan->table);
    if (status == VV_BLOCK_OK && plan->table.size > 0) {
        plan->form = VV_FORM_TABLE;
        plan->size = plan->table.size;
        plan->divisor = 1;
    }
    return status;
}

static enum vv_block_status plan_raw_frame(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                           int zstd_level, struct vv_sequence_plan *plan)
{
    enum vv_block_status status =
        vv_raw_plan(scratch, slot, zstd_level, plan->numbers, plan->n_numbers,
                    compressed_limit(plan->size), &plan->raw_frame);
    if (status == VV_BLOCK_OK && plan->raw_frame.bytes != NULL) {
        plan->form = VV_FORM_RAW_ZSTD;
        plan->size = plan->raw_frame.size;
        plan->divisor = 1;
    }
    return status;
}

/* Tries what can be smaller than groups. */
static enum vv_block_status improve(struct vv_scratch *scratch, enum vv_sequence_side side,
                                    int zstd_level, struct vv_sequence_plan *plan)
{
    enum vv_scratch_slot frame = (enum vv_scratch_slot)(VV_SCRATCH_FRAME_A + side);
    enum vv_scratch_slot table = (enum vv_scratch_slot)(VV_SCRATCH_TABLE_A + side);
    enum vv_scratch_slot raw_frame = (enum vv_scratch_slot)(VV_SCRATCH_RAW_FRAME_A + side);
    const struct vv_sequence_plan groups = *plan;
    enum vv_block_status status = VV_BLOCK_OK;
    if (plan->size > TABLE_FROM_BYTES_EACH * plan->n_numbers) {
        status = plan_table(scratch, table, plan);
    }
    if (zstd_level == 0 || plan->size < COMPRESSED_FROM_BYTES) {
        return status;
    }
    if (status == VV_BLOCK_OK) {
        status = plan_planes(scratch, frame, zstd_level, &groups, plan);
    }
    if (status == VV_BLOCK_OK) {
        status = plan_raw_frame(scratch, raw_frame, zstd_level, plan);
    }
    return status;
}

static enum vv_block_status plan_residuals(struct vv_scratch *scratch, enum vv_sequence_side side,
                                           int zstd_level, struct vv_sequence_plan *plan)
{
    enum vv_scratch_slot slot = (enum vv_scratch_slot)(VV_SCRATCH_RESIDUALS_A + side);
    uint64_t *residuals = vv_scratch_buffer(scratch, slot, plan->n_numbers * sizeof *residuals);
    if (residuals == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    plan_groups(plan, residuals);
    return improve(scratch, side, zstd_level, plan);
}

static bool all_equal(const uint64_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (numbers[i] != numbers[0]) {
            return false;
        }
    }
    return true;
}

static size_t constant_size(const struct vv_sequence_plan *plan)
{
    return plan->as_bits ? sizeof(uint64_t) : vv_varint_size(vv_zigzag(plan->numbers[0]));
}

enum vv_block_status vv_sequence_plan(struct vv_scratch *scratch, enum vv_sequence_side side,
                                      int zstd_level, const uint64_t *numbers, size_t count,
                                      bool as_bits, struct vv_sequence_plan *plan_out)
{
    *plan_out = (struct vv_sequence_plan){.form = VV_FORM_CONSTANT,
                                          .as_bits = as_bits,
                                          .divisor = 1,
                                          .numbers = numbers,
                                          .n_numbers = count};
    enum vv_block_status status = VV_BLOCK_OK;
    if (all_equal(numbers, count)) {
        plan_out->size = constant_size(plan_out);
    } else {
        status = plan_residuals(scratch, side, zstd_level, plan_out);
    }
    if (plan_out->size >= count * sizeof *numbers) {
        plan_out->form = VV_FORM_RAW;
        plan_out->size = count * sizeof *numbers;
        plan_out->divisor = 1;
    }
    return status;
}

static void write_residuals(const struct vv_sequence_plan *plan, struct vv_writer *writer)
{
    unsigned order = order_of(plan->form);
    if (plan->divisor != 1) {
        vv_put_varint(writer, plan->divisor);
        vv_put_varint(writer, plan->remainder);
    }
    if (order >= 1) {
        vv_put_varint(writer, vv_zigzag(plan->numbers[0]));
    }
    if (order >= 2) {
        vv_put_varint(writer, vv_zigzag(plan->numbers[1] - plan->numbers[0]));
    }
    if (is_planes(plan->form)) {
        vv_planes_write(&plan->planes, writer);
    } else {
        vv_groups_write(plan->residuals, plan->n_numbers - order, writer);
    }
}

void vv_sequence_write(const struct vv_sequence_plan *plan, struct vv_writer *writer)
{
    if (plan->form == VV_FORM_RAW) {
        vv_raw_write(plan->numbers, plan->n_numbers, writer);
    } else if (plan->form == VV_FORM_RAW_ZSTD) {
        vv_put_bytes(writer, plan->raw_frame.bytes, plan->raw_frame.size);
    } else if (plan->form == VV_FORM_TABLE) {
        vv_table_write(&plan->table, writer);
    } else if (plan->form != VV_FORM_CONSTANT) {
        write_residuals(plan, writer);
    } else if (plan->as_bits) {
        vv_put_u64(writer, plan->numbers[0]);
    } else {
        vv_put_varint(writer, vv_zigzag(plan->numbers[0]));
    }
}

static void read_constant(struct vv_reader *reader, bool as_bits, size_t count,
                          uint64_t *numbers_out)
{
    uint64_t number = as_bits ? vv_take_u64(reader) : vv_unzigzag(vv_take_varint(reader));
    for (size_t i = 0; i < count; i++) {
        numbers_out[i] = number;
    }
}

static enum vv_block_status read_residuals(struct vv_scratch *scratch, struct vv_sequence_head head,
                                           struct vv_reader *reader, size_t count,
                                           uint64_t *numbers_out)
{
    unsigned order = order_of(head.form);
    uint64_t divisor = head.has_divisor ? vv_take_varint(reader) : 1;
    uint64_t remainder = head.has_divisor ? vv_take_varint(reader) : 0;
    if (order >= count) {
        return VV_BLOCK_CORRUPT;
    }
    if (order >= 1) {
        numbers_out[0] = vv_unzigzag(vv_take_varint(reader));
    }
    if (order >= 2) {
        numbers_out[1] = numbers_out[0] + vv_unzigzag(vv_take_varint(reader));
    }
    uint64_t *residuals = numbers_out + order;
    if (is_planes(head.form)) {
        enum vv_block_status status = vv_planes_read(scratch, reader, count - order, residuals);
        if (status != VV_BLOCK_OK) {
            return status;
        }
    } else if (!vv_groups_read(reader, count - order, residuals)) {
        return VV_BLOCK_CORRUPT;
    }
    if (head.has_divisor) {
        vv_predict_multiply(residuals, count - order, divisor, remainder);
    }
    vv_predict_restore(numbers_out, count, order);
    return VV_BLOCK_OK;
}

enum vv_block_status vv_sequence_read(struct vv_scratch *scratch, struct vv_sequence_head head,
                                      struct vv_reader *reader, size_t count, uint64_t *numbers_out)
{
    enum vv_block_status status = VV_BLOCK_OK;
    if (head.form >= VV_FORM_END || (head.has_divisor && !has_residuals(head.form))) {
        return VV_BLOCK_CORRUPT;
    }
    if (head.form == VV_FORM_RAW) {
        vv_raw_read(reader, count, numbers_out);
    } else if (head.form == VV_FORM_RAW_ZSTD) {
        status = vv_raw_read_frame(scratch, reader, count, numbers_out);
    } else if (head.form == VV_FORM_TABLE) {
        (void)vv_table_read(reader, count, numbers_out);
    } else if (head.form == VV_FORM_CONSTANT) {
        read_constant(reader, head.as_bits, count, numbers_out);
    } else {
        status = read_residuals(scratch, head, reader, count, numbers_out);
    }
    bool whole = !reader->failed && reader->at == reader->end;
    return status == VV_BLOCK_OK && !whole ? VV_BLOCK_CORRUPT : status;
}

size_t vv_sequence_headed_size(const struct vv_sequence_plan *plan)
{
    return (plan->divisor == 1 ? 1 : 2) + plan->size;
}

void vv_sequence_write_headed(const struct vv_sequence_plan *plan, struct vv_writer *writer)
{
    if (plan->divisor == 1) {
        vv_put_byte(writer, plan->form);
    } else {
        vv_put_byte(writer, plan->form | VV_FORMAT_HEAD_SCALED);
        vv_put_byte(writer, VV_FORMAT_EXPONENT_NONE | VV_FORMAT_SCALE_DIVISOR);
    }
    vv_sequence_write(plan, writer);
}

enum vv_block_status vv_sequence_read_headed(struct vv_scratch *scratch, struct vv_reader *reader,
                                             size_t count, uint64_t *numbers_out)
{
    unsigned head = vv_take_byte(reader);
    struct vv_sequence_head sequence = {.form = head & VV_FORMAT_HEAD_FORM};
    if (head & VV_FORMAT_HEAD_SCALED) {
        unsigned scale = vv_take_byte(reader);
        sequence.has_divisor = true;
        if (scale != (VV_FORMAT_EXPONENT_NONE | VV_FORMAT_SCALE_DIVISOR)) {
            return VV_BLOCK_CORRUPT;
        }
    }
    if (head & ~(VV_FORMAT_HEAD_FORM | VV_FORMAT_HEAD_SCALED)) {
        return VV_BLOCK_CORRUPT;
    }
    return vv_sequence_read(scratch, sequence, reader, count, numbers_out);
}
