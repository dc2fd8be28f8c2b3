/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies compressed with LZ4: the uncompressed length (4 bytes, big-endian), the block. */
#include "frame.h"

#include <lz4.h>

#define LENGTH_SIZE 4
/* No byte of an LZ4 block stands for more than this many. */
#define EXPANSION_MAX 255

size_t vvcql_compress(struct vvcql_buffer *out, struct vvcql_bytes body)
{
    if (body.size > LZ4_MAX_INPUT_SIZE) {
        out->failed = true;
        return 0;
    }
    int bound = LZ4_compressBound((int)body.size);
    uint8_t *at = vvcql_buffer_reserve(out, LENGTH_SIZE + (size_t)bound);
    if (at == NULL) {
        return 0;
    }
    const char *from = body.size > 0 ? (const char *)body.data : "";
    int written = LZ4_compress_default(from, (char *)at + LENGTH_SIZE, (int)body.size, bound);
    if (written <= 0) {
        out->failed = true;
        return 0;
    }
    vvcql_store_u32(at, (uint32_t)body.size);
    out->size += LENGTH_SIZE + (size_t)written;
    return LENGTH_SIZE + (size_t)written;
}

enum vvcql_status vvcql_uncompress(struct vvcql_bytes bytes, size_t bytes_max,
                                   struct vvcql_buffer *out)
{
    vvcql_buffer_clear(out);
    struct vvcql_reader reader = vvcql_reader_of(bytes);
    size_t size = vvcql_read_u32(&reader);
    if (reader.failed || size > bytes_max || size > INT32_MAX || reader.left > INT32_MAX ||
        size > reader.left * EXPANSION_MAX) {
        return VVCQL_PROTOCOL;
    }
    uint8_t *at = vvcql_buffer_reserve(out, size);
    if (at == NULL) {
        return VVCQL_NO_MEMORY;
    }
    if (size == 0) { /* with or without the block of nothing */
        return VVCQL_OK;
    }
    int written =
        LZ4_decompress_safe((const char *)reader.at, (char *)at, (int)reader.left, (int)size);
    if (written < 0 || (size_t)written != size) {
        return VVCQL_PROTOCOL;
    }
    out->size = size;
    return VVCQL_OK;
}
