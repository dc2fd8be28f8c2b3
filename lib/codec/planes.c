/* SPDX-License-Identifier: Apache-2.0 */
/* Byte planes and their compression. */
#include "planes.h"

static void split(const uint64_t *values, size_t count, uint64_t base, unsigned n_planes,
                  uint8_t *planes_out)
{
    for (unsigned plane = 0; plane < n_planes; plane++) {
        uint8_t *out = planes_out + plane * count;
        unsigned shift = 8 * plane;
        for (size_t i = 0; i < count; i++) {
            out[i] = (uint8_t)((values[i] - base) >> shift);
        }
    }
}

static void join(const uint8_t *planes, size_t count, uint64_t base, unsigned n_planes,
                 uint64_t *values_out)
{
    for (size_t i = 0; i < count; i++) {
        values_out[i] = base + planes[i];
    }
    for (unsigned plane = 1; plane < n_planes; plane++) {
        const uint8_t *bytes = planes + plane * count;
        unsigned shift = 8 * plane;
        for (size_t i = 0; i < count; i++) {
            values_out[i] += (uint64_t)bytes[i] << shift;
        }
    }
}

enum vv_block_status vv_planes_plan(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                    int zstd_level, const uint64_t *values, size_t count,
                                    size_t size_limit, struct vv_planes *planes_out)
{
    int64_t min = INT64_MAX;
    int64_t max = INT64_MIN;
    for (size_t i = 0; i < count; i++) {
        int64_t value = vv_signed(values[i]);
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    uint64_t base = (uint64_t)min;
    unsigned n_planes = (vv_bit_length((uint64_t)max - base) + 7) / 8;
    *planes_out = (struct vv_planes){.base = base, .n_planes = n_planes};
    size_t overhead = vv_varint_size(vv_zigzag(base)) + 1;
    if (n_planes == 0 || size_limit <= overhead) {
        return VV_BLOCK_OK;
    }
    size_t capacity = size_limit - overhead;
    uint8_t *split_bytes = vv_scratch_buffer(scratch, VV_SCRATCH_PLANES, n_planes * count);
    uint8_t *frame = vv_scratch_buffer(scratch, slot, capacity);
    if (split_bytes == NULL || frame == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    split(values, count, base, n_planes, split_bytes);
    enum vv_block_status status =
        vv_scratch_compress(scratch, zstd_level, split_bytes, n_planes * count, frame, capacity,
                            &planes_out->frame_size);
    if (status == VV_BLOCK_OK && planes_out->frame_size > 0) {
        planes_out->frame = frame;
        planes_out->size = overhead + planes_out->frame_size;
    }
    return status;
}

void vv_planes_write(const struct vv_planes *planes, struct vv_writer *writer)
{
    vv_put_varint(writer, vv_zigzag(planes->base));
    vv_put_byte(writer, planes->n_planes);
    vv_put_bytes(writer, planes->frame, planes->frame_size);
}

enum vv_block_status vv_planes_read(struct vv_scratch *scratch, struct vv_reader *reader,
                                    size_t count, uint64_t *values_out)
{
    uint64_t base = vv_unzigzag(vv_take_varint(reader));
    unsigned n_planes = vv_take_byte(reader);
    size_t size = vv_reader_left(reader);
    const uint8_t *frame = vv_take_bytes(reader, size);
    if (frame == NULL || n_planes < 1 || n_planes > 8) {
        return VV_BLOCK_CORRUPT;
    }
    uint8_t *planes = vv_scratch_buffer(scratch, VV_SCRATCH_PLANES, n_planes * count);
    if (planes == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    enum vv_block_status status =
        vv_scratch_decompress(scratch, frame, size, planes, n_planes * count);
    if (status == VV_BLOCK_OK) {
        join(planes, count, base, n_planes, values_out);
    }
    return status;
}
