/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows of a column have a value: written as nothing, a bitmap or run lengths, whichever is
 * smallest, so that only present values are stored.
 *
 * Private to lib/codec.
 */
#ifndef VV_CODEC_PRESENCE_H
#define VV_CODEC_PRESENCE_H

#include "bytes.h"
#include "format.h"

static inline size_t vv_presence_bitmap_size(size_t n_rows)
{
    return (n_rows + 7) / 8;
}

static inline bool vv_presence_has(const uint8_t *bitmap, size_t row)
{
    return (bitmap[row >> 3] >> (row & 7)) & 1;
}

struct vv_presence_plan {
    enum vv_presence kind;
    size_t n_present;
};

/* A NULL bitmap means that all rows are present. Bits behind the last row are ignored. */
struct vv_presence_plan vv_presence_plan(const uint8_t *bitmap, size_t n_rows);

/* Writes the bitmap or the runs that the plan calls for. */
void vv_presence_write(enum vv_presence kind, const uint8_t *bitmap, size_t n_rows,
                       struct vv_writer *writer);

/* Reads into a bitmap of vv_presence_bitmap_size() bytes. On failure the reader has failed. */
bool vv_presence_read(enum vv_presence kind, struct vv_reader *reader, size_t n_rows,
                      uint8_t *bitmap_out, size_t *n_present_out);

/* Moves the values of present rows together. */
void vv_presence_gather(const uint8_t *bitmap, size_t n_rows, const uint64_t *values,
                        uint64_t *present_out);

/* The inverse, in place: the first n_present values go to their rows. */
void vv_presence_scatter(const uint8_t *bitmap, size_t n_rows, size_t n_present, uint64_t *values);

#endif
