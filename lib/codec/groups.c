/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of numbers with base, width and exceptions. */
#include "groups.h"

#include "bitpack.h"
#include "format.h"

struct range {
    int64_t min;
    int64_t max;
};

static struct range range_of(const uint64_t *values, size_t count)
{
    struct range range = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        int64_t value = vv_signed(values[i]);
        range.min = value < range.min ? value : range.min;
        range.max = value > range.max ? value : range.max;
    }
    return range;
}

static unsigned range_width(struct range range)
{
    return vv_bit_length((uint64_t)range.max - (uint64_t)range.min);
}

/* A number that is in the middle of the others, unless two of three samples are far off. */
static uint64_t typical_value(const uint64_t *values, size_t count)
{
    int64_t a = vv_signed(values[0]);
    int64_t b = vv_signed(values[count / 2]);
    int64_t c = vv_signed(values[count - 1]);
    int64_t low = a < b ? a : b;
    int64_t high = a < b ? b : a;
    int64_t middle = c < low ? low : c > high ? high : c;
    return (uint64_t)middle;
}

/*
 * Cheap test before the histogram: exceptions can only pay when nearly all numbers need fewer
 * bits than the widest one.
 */
static bool has_outliers(const uint64_t *values, size_t count, uint64_t center)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) {
        all |= vv_zigzag(values[i] - center);
    }
    unsigned length = vv_bit_length(all);
    if (length < 4) {
        return false;
    }
    size_t n_far = 0;
    for (size_t i = 0; i < count; i++) {
        n_far += (vv_zigzag(values[i] - center) >> (length - 3)) != 0;
    }
    return n_far * 6 < count;
}

/* The distance from the center (in bits) below which numbers are packed. */
static unsigned choose_inlier_length(const uint64_t *values, size_t count, uint64_t center)
{
    uint8_t lengths[65] = {0};
    for (size_t i = 0; i < count; i++) {
        lengths[vv_bit_length(vv_zigzag(values[i] - center))]++;
    }
    unsigned best = 64;
    size_t best_bits = SIZE_MAX;
    size_t exception_bits = 0;
    for (unsigned length = 64;; length--) {
        size_t bits = count * length + exception_bits;
        if (bits < best_bits) {
            best_bits = bits;
            best = length;
        }
        if (length == 0) {
            return best;
        }
        exception_bits += lengths[length] * (8 + 8 * ((length + 6) / 7));
    }
}

static struct range inlier_range(const uint64_t *values, size_t count, uint64_t center,
                                 unsigned length)
{
    struct range range = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < count; i++) {
        if (vv_bit_length(vv_zigzag(values[i] - center)) <= length) {
            int64_t value = vv_signed(values[i]);
            range.min = value < range.min ? value : range.min;
            range.max = value > range.max ? value : range.max;
        }
    }
    return range;
}

static bool is_exception(uint64_t offset, unsigned width)
{
    return width < 64 && (offset >> width) != 0;
}

/* Tries a plan with exceptions and keeps it if it is smaller. */
static void plan_exceptions(const uint64_t *values, size_t count, uint64_t center,
                            struct vv_group_plan *plan)
{
    unsigned length = choose_inlier_length(values, count, center);
    struct range range = inlier_range(values, count, center, length);
    if (length == 64 || range.min > range.max) {
        return;
    }
    struct vv_group_plan candidate = {.base = (uint64_t)range.min, .width = range_width(range)};
    candidate.body_size = 1 + vv_bitpack_size(count, candidate.width);
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = values[i] - candidate.base;
        if (is_exception(offset, candidate.width)) {
            candidate.n_exceptions++;
            candidate.body_size += 1 + vv_varint_size(vv_zigzag(offset));
        }
    }
    if (candidate.n_exceptions > 0 && candidate.body_size < plan->body_size) {
        *plan = candidate;
    }
}

void vv_group_plan(const uint64_t *values, size_t count, struct vv_group_plan *plan_out)
{
    struct range range = range_of(values, count);
    plan_out->base = (uint64_t)range.min;
    plan_out->width = range_width(range);
    plan_out->n_exceptions = 0;
    plan_out->body_size = vv_bitpack_size(count, plan_out->width);
    if (plan_out->body_size > 4) {
        uint64_t center = typical_value(values, count);
        if (has_outliers(values, count, center)) {
            plan_exceptions(values, count, center, plan_out);
        }
    }
}

static size_t group_length(size_t left)
{
    return left < VV_GROUP_LENGTH ? left : VV_GROUP_LENGTH;
}

size_t vv_groups_size(const uint64_t *values, size_t count)
{
    size_t size = 0;
    uint64_t base = 0;
    for (size_t start = 0; start < count; start += VV_GROUP_LENGTH) {
        struct vv_group_plan plan;
        vv_group_plan(values + start, group_length(count - start), &plan);
        size += 1 + vv_varint_size(vv_zigzag(plan.base - base)) + plan.body_size;
        base = plan.base;
    }
    return size;
}

static void write_exceptions(const uint64_t *values, size_t count, const struct vv_group_plan *plan,
                             struct vv_writer *writer)
{
    vv_put_byte(writer, plan->n_exceptions);
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = values[i] - plan->base;
        if (is_exception(offset, plan->width)) {
            vv_put_byte(writer, (unsigned)i);
            vv_put_varint(writer, vv_zigzag(offset));
        }
    }
}

static void write_group(const uint64_t *values, size_t count, uint64_t base_before,
                        const struct vv_group_plan *plan, struct vv_writer *writer)
{
    uint64_t offsets[VV_GROUP_LENGTH];
    unsigned marked = plan->n_exceptions > 0 ? VV_FORMAT_GROUP_EXCEPTIONS : 0;
    vv_put_byte(writer, plan->width | marked);
    vv_put_varint(writer, vv_zigzag(plan->base - base_before));
    if (plan->n_exceptions > 0) {
        write_exceptions(values, count, plan, writer);
    }
    uint8_t *packed = vv_writer_reserve(writer, vv_bitpack_size(count, plan->width));
    if (packed == NULL) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = values[i] - plan->base;
        offsets[i] = is_exception(offset, plan->width) ? 0 : offset;
    }
    vv_bitpack(offsets, count, plan->width, packed);
}

void vv_groups_write(const uint64_t *values, size_t count, struct vv_writer *writer)
{
    uint64_t base = 0;
    for (size_t start = 0; start < count; start += VV_GROUP_LENGTH) {
        size_t length = group_length(count - start);
        struct vv_group_plan plan;
        vv_group_plan(values + start, length, &plan);
        write_group(values + start, length, base, &plan, writer);
        base = plan.base;
    }
}

static const uint8_t *skip_exceptions(struct vv_reader *reader, unsigned *n_out)
{
    *n_out = vv_take_byte(reader);
    const uint8_t *start = reader->at;
    for (unsigned i = 0; i < *n_out && !reader->failed; i++) {
        vv_take_byte(reader);
        vv_take_varint(reader);
    }
    return start;
}

static void apply_exceptions(struct vv_reader *reader, const uint8_t *start, unsigned n_exceptions,
                             uint64_t base, size_t count, uint64_t *values)
{
    struct vv_reader exceptions = {start, reader->end, false};
    for (unsigned i = 0; i < n_exceptions; i++) {
        uint8_t position = vv_take_byte(&exceptions);
        uint64_t offset = vv_unzigzag(vv_take_varint(&exceptions));
        if (position >= count) {
            reader->failed = true;
            return;
        }
        values[position] = base + offset;
    }
}

/* A group's parts, found but not decoded. */
struct group_parts {
    unsigned width;
    uint64_t base_step;
    unsigned n_exceptions;
    const uint8_t *exceptions;
    const uint8_t *packed; /* NULL when the reader has failed */
};

static struct group_parts take_group(struct vv_reader *reader, size_t count)
{
    struct group_parts parts = {0};
    unsigned head = vv_take_byte(reader);
    parts.width = head & ~VV_FORMAT_GROUP_EXCEPTIONS;
    parts.base_step = vv_unzigzag(vv_take_varint(reader));
    if (head & VV_FORMAT_GROUP_EXCEPTIONS) {
        parts.exceptions = skip_exceptions(reader, &parts.n_exceptions);
    }
    if (parts.width > 64) {
        reader->failed = true;
    } else {
        parts.packed = vv_take_bytes(reader, vv_bitpack_size(count, parts.width));
    }
    return parts;
}

void vv_group_skip(struct vv_reader *reader, size_t count)
{
    (void)take_group(reader, count);
}

bool vv_group_read(struct vv_groups_reader *groups, size_t count, uint64_t *values_out)
{
    struct vv_reader *reader = groups->reader;
    struct group_parts parts = take_group(reader, count);
    if (parts.packed == NULL) {
        return false;
    }
    uint64_t base = groups->base + parts.base_step;
    groups->base = base;
    vv_bitunpack(parts.packed, count, parts.width, values_out);
    for (size_t i = 0; i < count; i++) {
        values_out[i] += base;
    }
    if (parts.n_exceptions > 0) {
        apply_exceptions(reader, parts.exceptions, parts.n_exceptions, base, count, values_out);
    }
    return !reader->failed;
}

bool vv_groups_read(struct vv_reader *reader, size_t count, uint64_t *values_out)
{
    struct vv_groups_reader groups = {reader, 0};
    for (size_t start = 0; start < count; start += VV_GROUP_LENGTH) {
        if (!vv_group_read(&groups, group_length(count - start), values_out + start)) {
            return false;
        }
    }
    return !reader->failed;
}
