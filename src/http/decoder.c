/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of request bodies with zlib and zstd. */
#include "http/decoder.h"

#include <limits.h>
#include <strings.h>

#define ZLIB_ANY_HEADER     (15 + 32) /* the largest window; gzip's and zlib's headers */
#define ZSTD_WINDOW_LOG_MAX 23        /* 8 MiB a body: what levels up to 19 need */

static bool equals(struct vv_str text, const char *word)
{
    return text.size == strlen(word) && strncasecmp(text.data, word, text.size) == 0;
}

enum vv_status vv_coding_parse(struct vv_str header, enum vv_coding *coding_out,
                               struct vv_error *error)
{
    if (!header.data || header.size == 0 || equals(header, "identity")) {
        *coding_out = VV_CODING_IDENTITY;
    } else if (equals(header, "gzip") || equals(header, "x-gzip") || equals(header, "deflate")) {
        *coding_out = VV_CODING_GZIP;
    } else if (equals(header, "zstd")) {
        *coding_out = VV_CODING_ZSTD;
    } else {
        return vv_error_set(error, VV_INVALID,
                            "Content-Encoding '%.*s' is not known; allowed are gzip, deflate, zstd "
                            "and identity",
                            (int)(header.size > 64 ? 64 : header.size), header.data);
    }
    return VV_OK;
}

enum vv_status vv_decoder_open(struct vv_decoder *decoder, enum vv_coding coding)
{
    *decoder = (struct vv_decoder){.coding = coding};
    if (coding == VV_CODING_GZIP && inflateInit2(&decoder->zlib, ZLIB_ANY_HEADER) != Z_OK) {
        decoder->coding = VV_CODING_IDENTITY;
        return VV_NO_MEMORY;
    }
    if (coding == VV_CODING_ZSTD) {
        decoder->zstd = ZSTD_createDCtx();
        if (!decoder->zstd) {
            return VV_NO_MEMORY;
        }
        size_t set =
            ZSTD_DCtx_setParameter(decoder->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
        vv_invariant(!ZSTD_isError(set));
    }
    return VV_OK;
}

void vv_decoder_close(struct vv_decoder *decoder)
{
    if (decoder->coding == VV_CODING_GZIP) {
        inflateEnd(&decoder->zlib);
    }
    ZSTD_freeDCtx(decoder->zstd);
    *decoder = (struct vv_decoder){0};
}

static enum vv_status corrupt(const char *coding, const char *why, struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT, "the body is not valid %s: %s", coding, why);
}

static enum vv_status step_zlib(struct vv_decoder *decoder, const char *in, size_t in_size,
                                size_t *taken_out, char *out, size_t out_size, size_t *made_out,
                                struct vv_error *error)
{
    z_stream *zlib = &decoder->zlib;
    if (decoder->complete && in_size > 0) {
        if (inflateReset(zlib) != Z_OK) {
            return corrupt("gzip", "it cannot be begun again", error);
        }
        decoder->complete = false;
    }
    zlib->next_in = (Bytef *)(uintptr_t)in; /* only read: its type is from before const */
    zlib->avail_in = (uInt)(in_size > INT_MAX ? INT_MAX : in_size);
    zlib->next_out = (Bytef *)out;
    zlib->avail_out = (uInt)(out_size > INT_MAX ? INT_MAX : out_size);
    uInt in_before = zlib->avail_in;
    uInt out_before = zlib->avail_out;
    int result = decoder->complete ? Z_BUF_ERROR : inflate(zlib, Z_NO_FLUSH);
    *taken_out = in_before - zlib->avail_in;
    *made_out = out_before - zlib->avail_out;
    zlib->next_in = NULL;
    switch (result) {
    case Z_STREAM_END:
        decoder->complete = true;
        return VV_OK;
    case Z_OK:
    case Z_BUF_ERROR:
        return VV_OK;
    case Z_MEM_ERROR:
        return vv_error_set(error, VV_NO_MEMORY, "out of memory; send the request again later");
    default:
        return corrupt("gzip", zlib->msg ? zlib->msg : "unexpected bytes", error);
    }
}

static enum vv_status step_zstd(struct vv_decoder *decoder, const char *in, size_t in_size,
                                size_t *taken_out, char *out, size_t out_size, size_t *made_out,
                                struct vv_error *error)
{
    ZSTD_inBuffer input = {.src = in, .size = in_size};
    ZSTD_outBuffer output = {.dst = out, .size = out_size};
    size_t result = ZSTD_decompressStream(decoder->zstd, &output, &input);
    *taken_out = input.pos;
    *made_out = output.pos;
    if (ZSTD_isError(result)) {
        return corrupt("zstd", ZSTD_getErrorName(result), error);
    }
    if (input.pos > 0 || output.pos > 0) {
        decoder->complete = result == 0;
    }
    return VV_OK;
}

static enum vv_status step_identity(const char *in, size_t in_size, size_t *taken_out, char *out,
                                    size_t out_size, size_t *made_out)
{
    size_t size = in_size < out_size ? in_size : out_size;
    if (size > 0) {
        memcpy(out, in, size);
    }
    *taken_out = size;
    *made_out = size;
    return VV_OK;
}

enum vv_status vv_decoder_step(struct vv_decoder *decoder, const char *in, size_t in_size,
                               size_t *taken_out, char *out, size_t out_size, size_t *made_out,
                               struct vv_error *error)
{
    *taken_out = 0;
    *made_out = 0;
    decoder->begun = decoder->begun || in_size > 0;
    switch (decoder->coding) {
    case VV_CODING_GZIP:
        return step_zlib(decoder, in, in_size, taken_out, out, out_size, made_out, error);
    case VV_CODING_ZSTD:
        return step_zstd(decoder, in, in_size, taken_out, out, out_size, made_out, error);
    case VV_CODING_IDENTITY:
        break;
    }
    return step_identity(in, in_size, taken_out, out, out_size, made_out);
}

bool vv_decoder_is_complete(const struct vv_decoder *decoder)
{
    return decoder->coding == VV_CODING_IDENTITY || !decoder->begun || decoder->complete;
}
