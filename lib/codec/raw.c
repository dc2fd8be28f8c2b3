/* SPDX-License-Identifier: Apache-2.0 */
/* Plain and compressed words. */
#include "raw.h"

/* The marks by which repeated numbers are recognised: one bit for each hash of 12 bits. */
#define MARK_BITS 12u

void vv_raw_write(const uint64_t *numbers, size_t count, struct vv_writer *writer)
{
    uint8_t *out = vv_writer_reserve(writer, count * sizeof *numbers);
    for (size_t i = 0; out != NULL && i < count; i++) {
        vv_store_u64(out + i * sizeof *numbers, numbers[i]);
    }
}

void vv_raw_read(struct vv_reader *reader, size_t count, uint64_t *numbers_out)
{
    const uint8_t *bytes = vv_take_bytes(reader, count * sizeof *numbers_out);
    for (size_t i = 0; bytes != NULL && i < count; i++) {
        numbers_out[i] = vv_load_u64(bytes + i * sizeof *numbers_out);
    }
}

/* Whether at least half of the numbers were probably seen before. */
static bool repeats_often(const uint64_t *numbers, size_t count)
{
    uint64_t marks[(1u << MARK_BITS) / 64] = {0};
    size_t n_distinct = 0;
    size_t n_distinct_max = count / 2;
    for (size_t i = 0; i < count && n_distinct <= n_distinct_max; i++) {
        uint64_t mixed = (numbers[i] ^ (numbers[i] >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
        size_t mark = (size_t)(mixed >> (64 - MARK_BITS));
        uint64_t bit = UINT64_C(1) << (mark % 64);
        n_distinct += (marks[mark / 64] & bit) == 0;
        marks[mark / 64] |= bit;
    }
    return n_distinct <= n_distinct_max;
}

enum vv_block_status vv_raw_plan(struct vv_scratch *scratch, enum vv_scratch_slot slot,
                                 int zstd_level, const uint64_t *numbers, size_t count,
                                 size_t size_limit, struct vv_raw_frame *frame_out)
{
    *frame_out = (struct vv_raw_frame){NULL, 0};
    if (!repeats_often(numbers, count)) {
        return VV_BLOCK_OK;
    }
    size_t size = count * sizeof *numbers;
    uint8_t *words = vv_scratch_buffer(scratch, VV_SCRATCH_PLANES, size);
    uint8_t *frame = vv_scratch_buffer(scratch, slot, size_limit);
    if (words == NULL || frame == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    struct vv_writer writer = {words, words + size, false};
    vv_raw_write(numbers, count, &writer);
    enum vv_block_status status =
        vv_scratch_compress(scratch, zstd_level, words, size, frame, size_limit, &frame_out->size);
    frame_out->bytes = frame_out->size > 0 ? frame : NULL;
    return status;
}

enum vv_block_status vv_raw_read_frame(struct vv_scratch *scratch, struct vv_reader *reader,
                                       size_t count, uint64_t *numbers_out)
{
    size_t size = count * sizeof *numbers_out;
    size_t frame_size = vv_reader_left(reader);
    const uint8_t *frame = vv_take_bytes(reader, frame_size);
    uint8_t *words = vv_scratch_buffer(scratch, VV_SCRATCH_PLANES, size);
    if (frame == NULL) {
        return VV_BLOCK_CORRUPT;
    }
    if (words == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    enum vv_block_status status = vv_scratch_decompress(scratch, frame, frame_size, words, size);
    if (status == VV_BLOCK_OK) {
        struct vv_reader plain = {words, words + size, false};
        vv_raw_read(&plain, count, numbers_out);
    }
    return status;
}
