/* SPDX-License-Identifier: Apache-2.0 */
/* zstd frames for others than blocks. */
#include "frame.h"

#include "scratch.h"

#include <zstd.h>

enum vv_block_status vv_frame_encode(int level, const uint8_t *bytes, size_t size, uint8_t *out,
                                     size_t capacity, size_t *size_out)
{
    *size_out = 0;
    struct vv_scratch *scratch = vv_scratch_acquire();
    if (scratch == NULL) {
        return VV_BLOCK_NO_MEMORY;
    }
    enum vv_block_status status =
        vv_scratch_compress(scratch, level, bytes, size, out, capacity, size_out);
    vv_scratch_relax(scratch);
    return status;
}

uint64_t vv_frame_content_size(const uint8_t *bytes, size_t size)
{
    unsigned long long content = ZSTD_getFrameContentSize(bytes, size);
    bool said = content != ZSTD_CONTENTSIZE_UNKNOWN && content != ZSTD_CONTENTSIZE_ERROR;
    return said ? content : UINT64_MAX;
}

enum vv_block_status vv_frame_decode(const uint8_t *bytes, size_t size, uint8_t *out,
                                     size_t size_expected)
{
    struct vv_scratch *scratch = vv_scratch_acquire();
    return scratch == NULL ? VV_BLOCK_NO_MEMORY
                           : vv_scratch_decompress(scratch, bytes, size, out, size_expected);
}
