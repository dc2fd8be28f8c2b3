/* SPDX-License-Identifier: Apache-2.0 */
/* Working memory by thread. */
#include "scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* A buffer above this is freed after use: one huge block must not fatten each thread for good. */
#define KEPT_BYTES_MAX ((size_t)1 << 20)
#define GRANULE        ((size_t)4096)
/* The same for a compressor, which grows with its level and input. */
#define KEPT_COMPRESSOR_BYTES_MAX ((size_t)4 << 20)

struct buffer {
    void *bytes;
    size_t capacity;
};

struct vv_scratch {
    struct buffer buffers[VV_SCRATCH_SLOTS];
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int key_error;

static void destroy_scratch(void *pointer)
{
    struct vv_scratch *scratch = pointer;
    if (scratch == NULL) {
        return;
    }
    for (size_t i = 0; i < VV_SCRATCH_SLOTS; i++) {
        free(scratch->buffers[i].bytes);
    }
    ZSTD_freeCCtx(scratch->compressor);
    ZSTD_freeDCtx(scratch->decompressor);
    free(scratch);
}

static void create_key(void)
{
    key_error = pthread_key_create(&key, destroy_scratch);
}

struct vv_scratch *vv_scratch_acquire(void)
{
    if (pthread_once(&key_once, create_key) != 0 || key_error != 0) {
        return NULL;
    }
    struct vv_scratch *scratch = pthread_getspecific(key);
    if (scratch != NULL) {
        return scratch;
    }
    scratch = calloc(1, sizeof *scratch);
    if (scratch != NULL && pthread_setspecific(key, scratch) != 0) {
        free(scratch);
        return NULL;
    }
    return scratch;
}

static void drop_buffer(struct buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct buffer){NULL, 0};
}

void vv_scratch_relax(struct vv_scratch *scratch)
{
    for (size_t i = 0; i < VV_SCRATCH_SLOTS; i++) {
        if (scratch->buffers[i].capacity > KEPT_BYTES_MAX) {
            drop_buffer(&scratch->buffers[i]);
        }
    }
    if (ZSTD_sizeof_CCtx(scratch->compressor) > KEPT_COMPRESSOR_BYTES_MAX) {
        ZSTD_freeCCtx(scratch->compressor);
        scratch->compressor = NULL;
    }
}

void vv_scratch_release(void)
{
    if (pthread_once(&key_once, create_key) != 0 || key_error != 0) {
        return;
    }
    destroy_scratch(pthread_getspecific(key));
    (void)pthread_setspecific(key, NULL);
}

void *vv_scratch_buffer(struct vv_scratch *scratch, enum vv_scratch_slot slot, size_t size)
{
    struct buffer *buffer = &scratch->buffers[slot];
    if (buffer->bytes != NULL && size <= buffer->capacity) {
        return buffer->bytes;
    }
    if (size > SIZE_MAX - GRANULE) {
        return NULL;
    }
    drop_buffer(buffer);
    size_t capacity = (size + GRANULE - 1) / GRANULE * GRANULE;
    buffer->bytes = malloc(capacity == 0 ? GRANULE : capacity);
    buffer->capacity = buffer->bytes == NULL ? 0 : capacity;
    return buffer->bytes;
}

enum vv_block_status vv_scratch_compress(struct vv_scratch *scratch, int level,
                                         const uint8_t *bytes, size_t size, uint8_t *out,
                                         size_t capacity, size_t *size_out)
{
    *size_out = 0;
    if (scratch->compressor == NULL) {
        scratch->compressor = ZSTD_createCCtx();
        if (scratch->compressor == NULL) {
            return VV_BLOCK_NO_MEMORY;
        }
    }
    size_t result = ZSTD_compressCCtx(scratch->compressor, out, capacity, bytes, size, level);
    if (!ZSTD_isError(result)) {
        *size_out = result;
        return VV_BLOCK_OK;
    }
    bool no_memory = ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation;
    return no_memory ? VV_BLOCK_NO_MEMORY : VV_BLOCK_OK;
}

enum vv_block_status vv_scratch_decompress(struct vv_scratch *scratch, const uint8_t *bytes,
                                           size_t size, uint8_t *out, size_t size_expected)
{
    if (scratch->decompressor == NULL) {
        scratch->decompressor = ZSTD_createDCtx();
        if (scratch->decompressor == NULL) {
            return VV_BLOCK_NO_MEMORY;
        }
    }
    size_t result = ZSTD_decompressDCtx(scratch->decompressor, out, size_expected, bytes, size);
    if (!ZSTD_isError(result)) {
        return result == size_expected ? VV_BLOCK_OK : VV_BLOCK_CORRUPT;
    }
    bool no_memory = ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation;
    return no_memory ? VV_BLOCK_NO_MEMORY : VV_BLOCK_CORRUPT;
}
