/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files, with zlib and zstd. */
#include "cli/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#define BUFFER_BYTES (256u << 10)
#define GZIP_WINDOW  (15 + 16) /* the largest, and a gzip head */
#define ZSTD_WINDOW  27        /* 128 MiB, zstd's own bound for decoders */

enum form { FORM_UNKNOWN, FORM_PLAIN, FORM_GZIP, FORM_ZSTD };

struct vv_input {
    const char *path;
    int file;
    enum form form;
    uint8_t *buffer; /* bytes of the file: [at, filled) are still to be decoded */
    size_t at;
    size_t filled;
    bool ended;  /* the file has no more bytes */
    bool inside; /* a compressed member or frame has begun and not ended */
    uint64_t position;
    z_stream gzip;
    ZSTD_DStream *zstd;
};

enum vv_status vv_input_open(const char *path, struct vv_input **input_out, struct vv_error *error)
{
    bool standard = strcmp(path, "-") == 0;
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        enum vv_status status = errno == ENOENT ? VV_NOT_FOUND : VV_IO;
        return vv_error_set(error, status, "cannot open %.200s: %s", path, strerror(errno));
    }
    struct vv_input *input = calloc(1, sizeof *input);
    uint8_t *buffer = malloc(BUFFER_BYTES);
    if (!input || !buffer) {
        free(input);
        free(buffer);
        if (!standard) {
            close(file);
        }
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    input->path = standard ? "standard input" : path;
    input->file = file;
    input->buffer = buffer;
    *input_out = input;
    return VV_OK;
}

void vv_input_close(struct vv_input *input)
{
    if (!input) {
        return;
    }
    if (input->form == FORM_GZIP) {
        inflateEnd(&input->gzip);
    }
    ZSTD_freeDStream(input->zstd);
    if (input->file != STDIN_FILENO) {
        close(input->file);
    }
    free(input->buffer);
    free(input);
}

uint64_t vv_input_position(const struct vv_input *input)
{
    return input->position - (input->filled - input->at);
}

/* More bytes of the file behind those that are left. */
static enum vv_status fill(struct vv_input *input, struct vv_error *error)
{
    memmove(input->buffer, input->buffer + input->at, input->filled - input->at);
    input->filled -= input->at;
    input->at = 0;
    ssize_t size;
    do {
        size = read(input->file, input->buffer + input->filled, BUFFER_BYTES - input->filled);
    } while (size < 0 && errno == EINTR);
    if (size < 0) {
        return vv_error_set(error, VV_IO, "cannot read %.200s: %s", input->path, strerror(errno));
    }
    input->ended = size == 0;
    input->filled += (size_t)size;
    input->position += (uint64_t)size;
    return VV_OK;
}

static enum vv_status begin_gzip(struct vv_input *input, struct vv_error *error)
{
    if (inflateInit2(&input->gzip, GZIP_WINDOW) != Z_OK) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    input->form = FORM_GZIP;
    return VV_OK;
}

static enum vv_status begin_zstd(struct vv_input *input, struct vv_error *error)
{
    input->zstd = ZSTD_createDStream();
    if (!input->zstd ||
        ZSTD_isError(ZSTD_DCtx_setParameter(input->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW))) {
        return vv_error_set(error, VV_NO_MEMORY, "out of memory");
    }
    input->form = FORM_ZSTD;
    return VV_OK;
}

/* By the first four bytes. */
static enum vv_status recognise(struct vv_input *input, struct vv_error *error)
{
    static const uint8_t gzip[] = {0x1F, 0x8B};
    static const uint8_t zstd[] = {0x28, 0xB5, 0x2F, 0xFD};
    while (input->filled < sizeof zstd && !input->ended) {
        enum vv_status status = fill(input, error);
        if (status != VV_OK) {
            return status;
        }
    }
    if (input->filled >= sizeof gzip && memcmp(input->buffer, gzip, sizeof gzip) == 0) {
        return begin_gzip(input, error);
    }
    if (input->filled >= sizeof zstd && memcmp(input->buffer, zstd, sizeof zstd) == 0) {
        return begin_zstd(input, error);
    }
    input->form = FORM_PLAIN;
    return VV_OK;
}

static enum vv_status damaged(const struct vv_input *input, const char *what,
                              struct vv_error *error)
{
    return vv_error_set(error, VV_CORRUPT, "%.200s: the compressed data is damaged: %s",
                        input->path, what);
}

static enum vv_status inflate_some(struct vv_input *input, uint8_t *bytes, size_t size,
                                   size_t *size_out, struct vv_error *error)
{
    z_stream *gzip = &input->gzip;
    if (!input->inside && inflateReset(gzip) != Z_OK) {
        return damaged(input, "it cannot be begun", error);
    }
    input->inside = true;
    gzip->next_in = input->buffer + input->at;
    gzip->avail_in = (uInt)(input->filled - input->at);
    gzip->next_out = bytes;
    gzip->avail_out = (uInt)size;
    int result = inflate(gzip, Z_NO_FLUSH);
    input->at = input->filled - gzip->avail_in;
    *size_out = size - gzip->avail_out;
    if (result == Z_STREAM_END) {
        input->inside = false; /* another member may follow */
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return damaged(input, gzip->msg ? gzip->msg : "not gzip", error);
    }
    return VV_OK;
}

static enum vv_status unzstd_some(struct vv_input *input, uint8_t *bytes, size_t size,
                                  size_t *size_out, struct vv_error *error)
{
    ZSTD_inBuffer in = {input->buffer + input->at, input->filled - input->at, 0};
    ZSTD_outBuffer out = {bytes, size, 0};
    size_t result = ZSTD_decompressStream(input->zstd, &out, &in);
    input->at += in.pos;
    *size_out = out.pos;
    if (ZSTD_isError(result)) {
        return damaged(input, ZSTD_getErrorName(result), error);
    }
    input->inside = result != 0;
    return VV_OK;
}

static enum vv_status copy_some(struct vv_input *input, uint8_t *bytes, size_t size,
                                size_t *size_out)
{
    size_t left = input->filled - input->at;
    *size_out = left < size ? left : size;
    memcpy(bytes, input->buffer + input->at, *size_out);
    input->at += *size_out;
    return VV_OK;
}

static enum vv_status decode_some(struct vv_input *input, uint8_t *bytes, size_t size,
                                  size_t *size_out, struct vv_error *error)
{
    if (input->form == FORM_GZIP) {
        return inflate_some(input, bytes, size, size_out, error);
    }
    if (input->form == FORM_ZSTD) {
        return unzstd_some(input, bytes, size, size_out, error);
    }
    return copy_some(input, bytes, size, size_out);
}

enum vv_status vv_input_read(struct vv_input *input, void *bytes, size_t size, size_t *size_out,
                             struct vv_error *error)
{
    enum vv_status status = input->form == FORM_UNKNOWN ? recognise(input, error) : VV_OK;
    *size_out = 0;
    while (status == VV_OK) {
        bool had_input = input->at < input->filled;
        if (had_input || input->inside) {
            status = decode_some(input, bytes, size, size_out, error);
        }
        if (status != VV_OK || *size_out > 0) {
            return status;
        }
        if (input->ended && input->at == input->filled) {
            return input->inside ? damaged(input, "the file ends in the middle", error) : VV_DONE;
        }
        if (!had_input || input->at == input->filled) {
            status = input->ended ? VV_OK : fill(input, error);
        }
    }
    return status;
}
