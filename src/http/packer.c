/* SPDX-License-Identifier: Apache-2.0 */
/* gzip for answers. */
#include "http/packer.h"

#include <strings.h>

#define PAYS_FROM_BYTES 1024u
#define LEVEL           4  /* half the time of 6 for nine tenths of its gain, on JSON of numbers */
#define GZIP_WINDOW     31 /* 32 KiB, with gzip's header */
#define MEMORY_LEVEL    8
#define STEP_BYTES      16384u

static void swap_empty(struct vv_buffer *plain, struct vv_buffer *out)
{
    struct vv_buffer held = *out;
    *out = *plain;
    *plain = held;
    out->limit = 0;
}

static enum vv_status deflate_all(struct vv_packer *packer, struct vv_buffer *plain, bool last,
                                  struct vv_buffer *out)
{
    z_stream *zlib = &packer->zlib;
    vv_invariant(plain->size <= UINT32_MAX);
    zlib->next_in = plain->data;
    zlib->avail_in = (uInt)plain->size;
    int result = Z_OK;
    do {
        uint8_t *room = vv_buffer_reserve(out, STEP_BYTES);
        if (!room) {
            return vv_buffer_status(out);
        }
        zlib->next_out = room;
        zlib->avail_out = STEP_BYTES;
        result = deflate(zlib, last ? Z_FINISH : Z_NO_FLUSH);
        vv_invariant(result != Z_STREAM_ERROR);
        out->size += STEP_BYTES - zlib->avail_out;
    } while (zlib->avail_out == 0 || (last && result != Z_STREAM_END));
    return VV_OK;
}

enum vv_status vv_packer_add(struct vv_packer *packer, struct vv_buffer *plain, bool last,
                             struct vv_buffer *out)
{
    if (packer->wanted && !packer->open && last && plain->size < PAYS_FROM_BYTES) {
        packer->wanted = false;
    }
    if (!packer->wanted) {
        if (out->size == 0) {
            size_t limit = plain->limit;
            swap_empty(plain, out);
            plain->limit = limit;
            plain->size = 0;
        } else {
            vv_buffer_append(out, plain->data, plain->size);
        }
        return vv_buffer_status(out);
    }
    if (!packer->open) {
        packer->open = deflateInit2(&packer->zlib, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
                                    Z_DEFAULT_STRATEGY) == Z_OK;
        if (!packer->open) {
            return VV_NO_MEMORY;
        }
    }
    return deflate_all(packer, plain, last, out);
}

bool vv_packer_is_open(const struct vv_packer *packer)
{
    return packer->open;
}

void vv_packer_close(struct vv_packer *packer)
{
    if (packer->open) {
        deflateEnd(&packer->zlib);
    }
    *packer = (struct vv_packer){0};
}

/* Whether the parameters after a coding say that it is not wanted: ";q=0", "; q=0.00". */
static bool is_refused(struct vv_str parameters)
{
    const char *q = memchr(parameters.data, '=', parameters.size);
    if (!q) {
        return false;
    }
    const char *end = parameters.data + parameters.size;
    for (const char *c = q + 1; c < end; c++) {
        if (*c >= '1' && *c <= '9') {
            return false;
        }
    }
    return q + 1 < end && q[1] == '0';
}

static struct vv_str trimmed(struct vv_str text)
{
    while (text.size && (text.data[0] == ' ' || text.data[0] == '\t')) {
        text = (struct vv_str){text.data + 1, text.size - 1};
    }
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

static bool is_coding(struct vv_str name, const char *coding)
{
    return name.size == strlen(coding) && strncasecmp(name.data, coding, name.size) == 0;
}

bool vv_accepts_gzip(struct vv_str header)
{
    size_t at = 0;
    while (header.data && at < header.size) {
        const char *start = header.data + at;
        const char *comma = memchr(start, ',', header.size - at);
        size_t size = comma ? (size_t)(comma - start) : header.size - at;
        const char *semicolon = memchr(start, ';', size);
        size_t name_size = semicolon ? (size_t)(semicolon - start) : size;
        struct vv_str name = trimmed((struct vv_str){start, name_size});
        if (is_coding(name, "gzip") || is_coding(name, "*")) {
            return !semicolon || !is_refused((struct vv_str){semicolon, size - name_size});
        }
        at += size + 1;
    }
    return false;
}
