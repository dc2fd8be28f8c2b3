/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same block with other numbers of its metrics. Sections and the directory behind them do not
 * say where they stand, so they are copied as they are; only the metrics before them are packed
 * anew.
 */
#include "bitpack.h"
#include "block.h"
#include "bytes.h"
#include "format.h"
#include "scratch.h"

#include <xxhash.h>

size_t vv_block_renumbered_bound(const struct vv_block *block, size_t size)
{
    return size + VV_FORMAT_VARINTS_SIZE_MAX +
           vv_bitpack_size(block->n_columns, VV_FORMAT_METRIC_WIDTH_MAX);
}

static void put_metrics(struct vv_writer *writer, const uint32_t *metrics, uint32_t n,
                        uint64_t *numbers)
{
    uint32_t min = n == 0 ? 0 : UINT32_MAX;
    uint32_t max = 0;
    for (uint32_t i = 0; i < n; i++) {
        min = metrics[i] < min ? metrics[i] : min;
        max = metrics[i] > max ? metrics[i] : max;
    }
    for (uint32_t i = 0; i < n; i++) {
        numbers[i] = metrics[i] - min;
    }
    unsigned width = vv_bit_length(max - min);
    vv_put_varint(writer, min);
    vv_put_byte(writer, width);
    uint8_t *packed = vv_writer_reserve(writer, vv_bitpack_size(n, width));
    if (packed != NULL) {
        vv_bitpack(numbers, n, width, packed);
    }
}

static void put_bytes(struct vv_writer *writer, const uint8_t *bytes, size_t size)
{
    uint8_t *at = vv_writer_reserve(writer, size);
    if (at != NULL) {
        memcpy(at, bytes, size);
    }
}

enum vv_block_status vv_block_renumber(const uint8_t *bytes, size_t size, const uint32_t *metrics,
                                       uint8_t *out, size_t capacity, size_t *size_out)
{
    struct vv_block block;
    *size_out = 0;
    enum vv_block_status status = vv_block_open(bytes, size, &block);
    if (status != VV_BLOCK_OK) {
        return status;
    }
    struct vv_scratch *scratch = vv_scratch_acquire();
    uint64_t *numbers = scratch ? vv_scratch_buffer(scratch, VV_SCRATCH_DIRECTORY,
                                                    ((size_t)block.n_columns + 1) * sizeof *numbers)
                                : NULL;
    if (numbers == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    struct vv_writer writer = {out, out + capacity, false};
    put_bytes(&writer, bytes, VV_FORMAT_FIXED_SIZE);
    vv_put_varint(&writer, block.n_rows);
    vv_put_varint(&writer, block.n_columns);
    vv_put_varint(&writer, (uint64_t)block.time_max - (uint64_t)block.time_min);
    vv_put_varint(&writer, block.stamp_max - block.stamp_min);
    put_metrics(&writer, metrics, block.n_columns, numbers);
    vv_scratch_relax(scratch);
    const uint8_t *end = bytes + size - VV_FORMAT_CHECKSUM_SIZE;
    put_bytes(&writer, block.sections_, (size_t)(end - block.sections_));
    size_t written = (size_t)(writer.at - out);
    vv_put_u64(&writer, writer.overflowed ? 0 : XXH3_64bits(out, written));
    if (writer.overflowed) {
        return VV_BLOCK_TOO_SMALL;
    }
    *size_out = written + VV_FORMAT_CHECKSUM_SIZE;
    return VV_BLOCK_OK;
}
